"""Regions around a sample, in raw features: the allowed values of each feature, and the cost of each change.

Every region becomes a `Neighbourhood`. It lists the moves of each feature, to another legal state of its
coding at the nearest raw value. Each move has an integer weight, and a budget limits the sum of weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from sugenet.capacity.arguments import number_text, read_number
from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.nn import Network, Span
from sugenet.problem.boxes import Box, limits_data, limits_of
from sugenet.problem.neighbourhood import Neighbourhood, Weigh, build, feature_index, pairs_of
from sugenet.reprs import ShortRepr

__all__ = [
    "BALLS",
    "L0",
    "L1",
    "L2",
    "REGIONS",
    "AnyInput",
    "Box",
    "Cost",
    "Free",
    "Hamming",
    "Linf",
    "Prices",
    "Region",
    "region_data",
    "region_of",
    "surroundings",
]


Limited: TypeAlias = Mapping[int, Span] | None
"""Limits on features in addition to a region."""


def surroundings(
    network: Network,
    x: Any,
    cost: type[Cost] | Prices,
    budget: Fraction | None,
    movable: Iterable[int],
    region: Region | None = None,
) -> Neighbourhood:
    """Return all moves around a sample within a region, weighed by a cost, with or without a budget."""
    features, far, limits = set(movable), None, None
    match region:
        case Linf():
            far = region.size
        case Free():
            features &= {feature_index(network, feature) for feature in region.features}
        case Box():
            limits = region.see(network, x)
            features &= set(limits)
    if isinstance(cost, Prices):
        weigh = cost.weigher(network)
        return build(network, x, weigh, budget, features, by_feature=True, far=far, limits=limits)
    return build(network, x, cost.weigh, budget, features, far=far, limits=limits)


@dataclass(frozen=True)
class _Ball:
    """All samples within a radius; each subclass weighs a move in its own way."""

    radius: Any
    wording: ClassVar[str] = "raw changes of up to {radius} in all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", read_number(self.radius, "radius"))

    @classmethod
    def phrase(cls, radius: str) -> str:
        """Return the region in words, with its radius.

        Parameters
        ----------
        radius : str
            The radius as text.

        Returns
        -------
        str
            Words such as ``up to 2 features changed``.
        """
        return cls.wording.format(radius=radius, s="" if radius == "1" else "s")

    def __str__(self) -> str:
        return self.phrase(number_text(self.radius))

    @staticmethod
    def weigh(_feature: int, distance: Fraction, _bits: int) -> Fraction:
        """Return the weight of a move: by default the size of the raw change.

        Parameters
        ----------
        _feature : int
            Index of the feature, from 0.
        distance : Fraction
            Size of the raw change.
        _bits : int
            Number of bits that change.

        Returns
        -------
        Fraction
            The weight.
        """
        return distance

    def around(self, network: Network, x: Any, limits: Limited = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample, its moves and the budget.
        """
        return build(network, x, self.weigh, self.size, limits=limits)

    @property
    def size(self) -> Fraction:
        """The radius as an exact number."""
        radius = Fraction(self.radius)
        if radius < 0:
            raise QuestionError(f"radius is {self.radius}, but a radius is not negative.")
        return radius


@dataclass(frozen=True)
class Hamming(_Ball):
    """Region of the inputs with at most `radius` bits flipped, legal patterns only.

    Parameters
    ----------
    radius : int, float, Fraction or str
        Radius, read exactly: a float is the decimal number that it prints.

    Raises
    ------
    QuestionError
        If the radius is negative, when a question is asked.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    >>> near = Hamming(2).around(net, [1, -1, 1])
    >>> [(move.feature, move.value, move.weight) for move in near.moves], near.budget
    ([(0, 0, 1), (1, 1, 1), (2, 0, 1)], 2)

    See Also
    --------
    verify : ``verify(network, x, region)``.
    whatif : takes the class, or its name, as a cost.
    """

    wording: ClassVar[str] = "up to {radius} bit{s} flipped"

    @staticmethod
    def weigh(_feature: int, _distance: Fraction, bits: int) -> Fraction:
        """Return the number of bits flipped.

        Parameters
        ----------
        _feature : int
            Index of the feature, from 0.
        _distance : Fraction
            Size of the raw change.
        bits : int
            Number of bits that change.

        Returns
        -------
        Fraction
            The weight.
        """
        return Fraction(bits)


@dataclass(frozen=True)
class L0(_Ball):
    """Region of the inputs with at most `radius` raw features changed, each to any value.

    Parameters
    ----------
    radius : int, float, Fraction or str
        Radius, read exactly: a float is the decimal number that it prints.

    Raises
    ------
    QuestionError
        If the radius is negative, when a question is asked.

    Examples
    --------
    >>> print(L0(1))
    up to 1 feature changed

    See Also
    --------
    verify : ``verify(network, x, region)``.
    whatif : takes the class, or its name, as a cost.
    """

    wording: ClassVar[str] = "up to {radius} feature{s} changed"

    @staticmethod
    def weigh(_feature: int, _distance: Fraction, _bits: int) -> Fraction:
        """Return 1 for each feature.

        Parameters
        ----------
        _feature : int
            Index of the feature, from 0.
        _distance : Fraction
            Size of the raw change.
        _bits : int
            Number of bits that change.

        Returns
        -------
        Fraction
            The weight.
        """
        return Fraction(1)


@dataclass(frozen=True)
class L1(_Ball):
    """Region of the inputs whose raw changes sum to at most `radius`.

    Parameters
    ----------
    radius : int, float, Fraction or str
        Radius, read exactly: a float is the decimal number that it prints.

    Raises
    ------
    QuestionError
        If the radius is negative, when a question is asked.

    Examples
    --------
    >>> print(L1(2.5))
    raw changes of up to 2.5 in all

    See Also
    --------
    verify : ``verify(network, x, region)``.
    whatif : takes the class, or its name, as a cost.
    """


@dataclass(frozen=True)
class L2(_Ball):
    """Region of the inputs whose squared raw changes sum to at most the square of `radius`.

    Parameters
    ----------
    radius : int, float, Fraction or str
        Radius, read exactly: a float is the decimal number that it prints.

    Raises
    ------
    QuestionError
        If the radius is negative, when a question is asked.

    Examples
    --------
    >>> print(L2(2))
    raw changes within a distance of 2

    See Also
    --------
    verify : ``verify(network, x, region)``.
    whatif : takes the class, or its name, as a cost.
    """

    wording: ClassVar[str] = "raw changes within a distance of {radius}"

    @staticmethod
    def weigh(_feature: int, distance: Fraction, _bits: int) -> Fraction:
        """Return the square of the raw change.

        Parameters
        ----------
        _feature : int
            Index of the feature, from 0.
        distance : Fraction
            Size of the raw change.
        _bits : int
            Number of bits that change.

        Returns
        -------
        Fraction
            The weight.
        """
        return distance**2

    def around(self, network: Network, x: Any, limits: Limited = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample, its moves and the budget.
        """
        return build(network, x, self.weigh, self.size**2, limits=limits)


@dataclass(frozen=True)
class Linf(_Ball):
    """Region of the inputs with every raw feature changed by at most `radius`.

    As a cost, it is the largest change.

    Parameters
    ----------
    radius : int, float, Fraction or str
        Radius, read exactly: a float is the decimal number that it prints.

    Raises
    ------
    QuestionError
        If the radius is negative, when a question is asked.

    Examples
    --------
    >>> print(Linf(8))
    every feature changed by up to 8

    See Also
    --------
    verify : ``verify(network, x, region)``.
    whatif : takes the class, or its name, as a cost.
    """

    wording: ClassVar[str] = "every feature changed by up to {radius}"

    def around(self, network: Network, x: Any, limits: Limited = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample and its moves.
        """
        return build(network, x, None, None, far=self.size, limits=limits)


@dataclass(frozen=True)
class Free(ShortRepr):
    """Region in which some features are free and the others stay as they are.

    Parameters
    ----------
    features : iterable
        Features by name or by index from 0.

    Raises
    ------
    QuestionError
        If one of these is not a feature, when a question is asked.

    Examples
    --------
    >>> print(Free(["age", 3]))
    2 features free

    See Also
    --------
    verify : ``verify(network, x, region)``.
    Box : features within limits.
    """

    features: tuple[Any, ...]

    def __init__(self, features: Iterable[Any]) -> None:
        try:
            chosen = (features,) if isinstance(features, str | int) else tuple(features)
            object.__setattr__(self, "features", tuple(dict.fromkeys(chosen)))
        except TypeError:
            raise QuestionError(
                f"Free({str(features)[:60]}) needs features by name or number, such as Free(['age', 3])."
            ) from None

    def around(self, network: Network, x: Any, limits: Limited = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample and its moves.
        """
        chosen = [feature_index(network, feature) for feature in self.features]
        return build(network, x, None, None, chosen, limits=limits)

    def __str__(self) -> str:
        return f"{len(self.features)} feature{'' if len(self.features) == 1 else 's'} free"


@dataclass(frozen=True)
class AnyInput:
    """Region of all inputs.

    Examples
    --------
    >>> print(AnyInput())
    any input

    See Also
    --------
    verify : ``verify(network, x, region)``.
    """

    def around(self, network: Network, x: Any, limits: Limited = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample, which contains every input; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample and its moves.
        """
        return build(network, x, None, None, limits=limits)

    def __str__(self) -> str:
        return "any input"


@dataclass(frozen=True)
class Prices(ShortRepr):
    """Cost with your own price per feature; a feature without a price stays fixed.

    Parameters
    ----------
    prices : mapping
        The price of changing each feature, by name or by index from 0; not negative.
    per_unit : bool, default: False
        Whether the price is per unit of raw change, not per change. A change of category is one unit.

    Raises
    ------
    QuestionError
        If a price is negative, or a feature has two.

    Examples
    --------
    >>> Prices({"age": 2, "income": 0.5}, per_unit=True).per_unit
    True

    See Also
    --------
    whatif : ``whatif(network, x, cost=Prices({...}))``.
    """

    prices: tuple[tuple[Any, Any], ...]
    per_unit: bool = False

    def __init__(self, prices: Mapping[Any, Any] | Iterable[tuple[Any, Any]], per_unit: bool = False) -> None:
        read = [(f, read_number(price, f"price of {f}")) for f, price in pairs_of(prices, "prices")]
        object.__setattr__(self, "prices", tuple(read))
        object.__setattr__(self, "per_unit", per_unit)

    def exact(self, network: Network) -> dict[int, Fraction]:
        """Return the prices by index of the feature.

        Parameters
        ----------
        network : Network
            The network that is asked about.

        Returns
        -------
        dict
            Exact price by index.
        """
        by_index: dict[int, Fraction] = {}
        for feature, price in self.prices:
            value = Fraction(price)
            if value < 0:
                raise QuestionError(f"the price of {feature} is {price}, but a price is not negative.")
            index = feature_index(network, feature)
            if index in by_index:
                raise QuestionError(f"feature {network.encoder.names[index]} has two prices. Give one.")
            by_index[index] = value
        return by_index

    def weigher(self, network: Network) -> Weigh:
        """Return the function that gives the cost of each move.

        Parameters
        ----------
        network : Network
            The network that is asked about.

        Returns
        -------
        function
            Function of feature, distance and number of bits; None for a feature without a price.
        """
        prices = self.exact(network)

        def weigh(feature: int, distance: Fraction, _bits: int) -> Fraction | None:
            return None if feature not in prices else prices[feature] * (distance if self.per_unit else 1)

        return weigh

    def __str__(self) -> str:
        return "own prices"


Cost: TypeAlias = Hamming | L0 | L1 | L2 | Linf
Region: TypeAlias = Hamming | L0 | L1 | L2 | Linf | Free | Box | AnyInput

BALLS: dict[str, type[Cost]] = {"Hamming": Hamming, "L0": L0, "L1": L1, "L2": L2, "Linf": Linf}
"""Regions with a radius, which are also costs, by their names in JSON."""
REGIONS: dict[str, type[Region]] = {**BALLS, "Free": Free, "Box": Box, "AnyInput": AnyInput}


def region_data(network: Network, region: Region) -> dict[str, Any]:
    """Return a region as JSON, with features by index."""
    kind = type(region).__name__
    match region:
        case AnyInput():
            return {"kind": kind}
        case Box():
            return {"kind": kind, "limits": limits_data(network, region)}
        case Free():
            return {
                "kind": kind,
                "features": list(dict.fromkeys(feature_index(network, f) for f in region.features)),
            }
    return {"kind": kind, "radius": str(Fraction(region.radius))}


def region_of(data: Mapping[str, Any], network: Network) -> Region:
    """Return the region that `region_data` wrote, for the same network.

    Examples
    --------
    >>> from sugenet.nn import Head
    >>> net = Network.of_bits([], Head([[1, 1], [1, -1]]))
    >>> region_of(region_data(net, Linf(0.5)), net), region_of({"kind": "Free", "features": [1]}, net)
    (Linf(radius=0.5), Free(features=(1,)))
    """
    kind = data["kind"]
    if kind == "AnyInput":
        return AnyInput()
    if kind == "Box":
        return limits_of(data["limits"], network)
    if kind == "Free":
        return Free(data["features"])
    return BALLS[kind](_given(data["radius"]))


def _given(text: str) -> Any:
    """Return the number that a text denotes: an integer, a float if it is exactly that number,
    or a fraction.
    """
    number = exact(text)
    if number.denominator == 1:
        return int(number)
    return float(number) if number < 1 << 1000 and Fraction(float(number)) == number else number
