"""Kinds of questions, as values: each describes itself, and a table of its fields converts it to and from
JSON.

A question about a sample may also be asked about `each` sample of a data set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Final, NamedTuple, Self, final

import numpy as np

from sugenet.capacity.arguments import rating_text, read_number
from sugenet.capacity.thresholds import exact_number
from sugenet.checker.form import exact
from sugenet.errors import QuestionError, refuse
from sugenet.nn import Network, OneHot
from sugenet.nn.laws import some_obey
from sugenet.problem import (
    BALLS,
    L0,
    L2,
    AnyInput,
    Box,
    Cost,
    Free,
    Hamming,
    LabelGoal,
    Linf,
    Neighbourhood,
    Prices,
    Problem,
    Region,
    Ties,
    feature_index,
    limits_data,
    limits_of,
    plain_row,
    region_data,
    region_of,
    row_of,
)
from sugenet.reprs import ShortRepr, cut, quoted

__all__ = [
    "Agree",
    "Always",
    "Asking",
    "Count",
    "Fair",
    "Limited",
    "Monotone",
    "Never",
    "OfSample",
    "Predict",
    "Robust",
    "Rules",
    "Suffices",
    "WhatIf",
    "Why",
    "Written",
    "class_of",
    "each",
    "named_cost",
    "named_region",
    "raw_of",
    "see_that_it_obeys",
    "see_that_some_obey",
]


# -- what questions name -------------------------------------------------------------------------------------


@final
class _Each:
    """Type of `each`, with a single instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "each"

    def __reduce__(self) -> str:
        return "each"


each: Final = _Each()
"""Placeholder for the sample, in a question about every sample of a data set."""


def raw_of(network: Network, row: Iterable[Any]) -> tuple[Any, ...]:
    """Return a raw sample from its JSON; numbers written as text are exact fractions."""
    pairs = zip(network.encoder.codings, row, strict=True)
    return tuple(value if isinstance(coding, OneHot) else _number_in(value) for coding, value in pairs)


def _number_in(value: Any) -> Any:
    """Return a number that may be written as a fraction; other text is returned unchanged."""
    return exact(value) if isinstance(value, str) and str(exact(value)) == value else value


def class_of(network: Network, label: Any) -> int:
    """Return the index of a class given by name or index."""
    if isinstance(label, str) and label in network.classes:
        return network.classes.index(label)
    if (
        isinstance(label, bool)
        or not isinstance(label, int | np.integer)
        or not 0 <= label < len(network.classes)
    ):
        raise QuestionError(
            f"there is no class {quoted(label)}. The {len(network.classes)} classes are "
            f"{cut(', '.join(network.class_texts), letters=200)}, numbered from 0."
        )
    return int(label)


def _class_or_none(network: Network, label: Any) -> int | None:
    """Return the index of a class, or None if none is given."""
    return None if label is None else class_of(network, label)


def named_region(region: Any) -> Any:
    """Return a region that may be given by name: ``"L0(1)"``, ``"Linf(0.5)"`` or ``"AnyInput"``."""
    if not isinstance(region, str):
        return region
    parts = re.fullmatch(r"\s*(\w+)\s*\(\s*([^()]*?)\s*\)\s*", region)
    if region.strip() in ("AnyInput", "AnyInput()"):
        return AnyInput()
    if parts is None or parts[1] not in BALLS or not parts[2]:
        raise QuestionError(
            f"Unknown region {quoted(region)}. Write 'L0(1)', 'L1(2)', 'L2(1.5)', 'Linf(8)', 'Hamming(2)' or "
            f"'AnyInput'."
        )
    return BALLS[parts[1]](read_number(parts[2], "radius"))


def _share_of(precision: Any, ties: Ties) -> Fraction | None:
    """Return a share of the inputs as the decimal that was written; None for all of them."""
    if precision is None:
        return None
    share = Fraction(str(read_number(precision, "precision", QuestionError)))
    refuse(
        QuestionError,
        (not 0 < share <= 1, f"precision={quoted(precision)} must be above 0 and at most 1, such as 0.95."),
        (
            share < 1 and ties != "lowest",
            "precision= counts inputs by class, where ties go to the lowest. Leave out ties='against'.",
        ),
    )
    return share if share < 1 else None


def _part_text(precision: Fraction | None) -> str:
    """Return a share of the inputs in words; nothing for all of them."""
    return "" if precision is None else f", for at least {rating_text(100 * precision)} % of the inputs"


def named_cost(cost: Any) -> Any:
    """Return a cost that may be given by name, such as ``"L1"``."""
    if not isinstance(cost, str):
        return cost
    if cost not in BALLS:
        raise QuestionError(f"Unknown cost {quoted(cost)}. Use {_COSTS}, or Prices({{...}}).")
    return BALLS[cost]


_COSTS = "'L0', 'L1', 'L2', 'Linf' or 'Hamming'"


def _tuple_of(features: Any) -> tuple[Any, ...]:
    """Return features as a tuple; a single one may be given alone."""
    return (features,) if isinstance(features, str | int) else tuple(features)


def see_that_it_obeys(network: Network, values: Sequence[Any]) -> None:
    """Check that the sample itself can occur."""
    broken = network.domain.broken(values)
    if broken is not None:
        raise QuestionError(
            f'the sample itself breaks the law "{broken}", so it cannot occur. Ask without that law.'
        )


def see_that_some_obey(network: Network, near: Neighbourhood, box: Box) -> None:
    """Check that some input within limits obeys the laws, as far as this can be decided."""
    clauses, ways = [clause for law in network.domain.laws for clause in law.clauses], near.moves.ways
    states = {f: (state, *(way.state for way in ways.get(f, ()))) for f, state in enumerate(near.states)}
    if not some_obey(clauses, near.network.encoder, states):
        limits = f" with {box}" if box.limits else ""
        raise QuestionError(f"there are no {network.domain}{limits}, so there is nothing to ask about.")


# -- fields as JSON ------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """Conversion of a field of a question to JSON and back; None if it follows from the other fields."""

    write: Callable[[Any, Network], Any]
    """Write the field: from the question."""
    read: Callable[[Network, Mapping[str, Any]], Any] | None
    """Read the field: from the JSON of the question."""
    name: str = ""
    """Name of the attribute (default: the name in JSON)."""


def _as_is(name: str) -> Written:
    return Written(lambda question, _: getattr(question, name), lambda _, data: data[name])


def _read_sample(network: Network, data: Mapping[str, Any]) -> Any:
    sample = data["sample"]
    return sample if sample is None else each if sample == "each" else raw_of(network, sample)


def _read_region(network: Network, data: Mapping[str, Any]) -> Region | None:
    return None if data["region"] is None else region_of(data["region"], network)


def _read_limits(network: Network, data: Mapping[str, Any]) -> Box:
    """Return limits, with features by name."""
    names = network.encoder.names
    return Box([(names[feature], limit) for feature, limit in limits_of(data["where"], network).limits])


_SAMPLE = Written(lambda question, network: question.sample_data(network), _read_sample)
_OWN_CLASS = Written(lambda question, network: question.label(network), None)
_TARGET = Written(
    lambda question, network: _class_or_none(network, question.target), lambda _, data: data["target"]
)
_REGION = Written(
    lambda question, network: (
        None if question.region is None else region_data(network, question.checked_region())
    ),
    _read_region,
)


def _if_given(field: Written, name: str) -> Written:
    """Return a field that is left out of the JSON if it is None."""

    def write(question: Any, network: Network) -> Any:
        value = field.write(question, network)
        return ... if value is None else value

    assert field.read is not None
    read = field.read
    return Written(write, lambda network, data: read(network, {name: None, **data}))


_PRECISION = Written(
    lambda question, _: ... if question.precision is None else str(question.precision),
    lambda _, data: exact(data["precision"]) if "precision" in data else None,
)
_WHERE = Written(lambda question, network: limits_data(network, question.box), _read_limits)


class Asking(ShortRepr):
    """Base class of all questions."""

    kind: ClassVar[str]
    written: ClassVar[Mapping[str, Written]]
    """The fields in JSON."""

    def data(self, network: Network) -> dict[str, Any]:
        """Return the question as JSON data."""
        fields = {name: field.write(self, network) for name, field in self.written.items()}
        return {"kind": self.kind, **{name: value for name, value in fields.items() if value is not ...}}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any], **more: Any) -> Self:
        """Return the question from its JSON; `more`: fields that are not in it."""
        fields = {
            field.name or name: field.read(network, data)
            for name, field in cls.written.items()
            if field.read is not None
        }
        return cls(**fields, **more)


# -- questions about a sample --------------------------------------------------------------------------------


class OfSample(Asking):
    """Base class of questions about one sample."""

    sample: Any
    region: Any

    def about(self, x: Any) -> Self:
        """Return the same question about one sample.

        Examples
        --------
        >>> from sugenet import Hamming, Robust, each
        >>> Robust(each, Hamming(2)).about([1, -1])
        Robust(sample=[1, -1], region=Hamming(radius=2), target=None, ties='lowest')
        """
        return replace(self, sample=x)  # type: ignore[type-var]  # all of them are dataclasses

    def values(self, network: Network) -> list[Any]:
        """Return the sample as a list in the order of the features."""
        if self.sample is each:
            raise QuestionError(
                "each stands for every sample of a data set, and here one is asked about. "
                "Give a sample, or ask all of them: sweep(network, X, question)."
            )
        kept = self.__dict__.get("_values")
        if kept is None or kept[0] is not network.encoder:
            kept = self.__dict__["_values"] = (network.encoder, tuple(network.encoder.values(self.sample)))
        return list(kept[1])

    def sample_data(self, network: Network) -> Any:
        """Return the sample as JSON: its values, or the word each."""
        if self.sample is None or self.sample is each:
            return None if self.sample is None else "each"
        return plain_row(self.values(network), network)

    def checked_region(self) -> Region:
        """Return the region after checking its type."""
        if not hasattr(self.region, "around"):
            raise QuestionError(
                f"region={quoted(self.region)} is not a region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or AnyInput()."
            )
        region: Region = self.region
        return region

    def described_region(self, network: Network) -> str:
        """Return the region in words; a box without limits leaves every feature unchanged."""
        region: Any = self.region
        return region.words(network) if isinstance(region, Box) and region.limits else str(region)


@dataclass(frozen=True, eq=False)
class Predict(OfSample):
    """Ask for the class of a sample, with its match counts.

    Parameters
    ----------
    sample : array, list, mapping or each
        One raw sample: values in the order of the features, or by name; or `each`.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import ask
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> ask(net, Predict([1, 1, 1])).label
    'on'

    See Also
    --------
    Network.predict : the same for many samples.
    sweep : asks it about each sample of a data set.
    """

    kind: ClassVar[str] = "predict"
    written: ClassVar[Mapping[str, Written]] = {"sample": _SAMPLE}

    sample: Any

    def describe(self, network: Network) -> str:  # noqa: ARG002 as the other questions
        """Return the question in words."""
        return f"the class of {'each' if self.sample is each else 'the'} sample"


class _ClassOf(OfSample):
    """Base class of questions about the class of a sample."""

    target: Any
    ties: Ties

    def label_goal(self, network: Network) -> LabelGoal:
        """Return the property."""
        kept = self.__dict__.get("_keeps")
        if kept is None or kept.network is not network:
            values = self.values(network)
            row = row_of(values)
            counts = network.match_counts(row)
            see_that_it_obeys(network, values)
            label = int(network.head.classes(counts)[0])
            kept = LabelGoal(network, label, _class_or_none(network, self.target), self.ties)
            self.__dict__["_keeps"], self.__dict__["_counts"] = kept, counts
            self.__dict__["_row"] = row
        return kept

    def asked_in(self, network: Network, near: Neighbourhood) -> Problem:
        """Return the problem whether the property fails somewhere in a neighbourhood of the sample."""
        goal = self.label_goal(network).goal
        return Problem(near, goal, self.__dict__["_counts"] if near.network is network else None)

    def label(self, network: Network) -> int | None:
        """Return the class of the sample; None if the question is about `each`."""
        if self.sample is not each:
            return self.label_goal(network).label
        target = _class_or_none(network, self.target)
        LabelGoal(network, int(target == 0), target, self.ties)  # rejects targets that are always invalid
        return None

    def claim(self, network: Network) -> str:
        """Return the claim about the class, in words."""
        if self.label(network) is not None:
            return str(self.label_goal(network))
        tie = "; a tie counts as a change" if self.ties == "against" else ""
        target = _class_or_none(network, self.target)
        goal = "stays what it is" if target is None else f"does not become {network.class_texts[target]}"
        return f"the class {goal}{tie}"


@dataclass(frozen=True, eq=False)
class _Kept(_ClassOf):
    """Base class of claims about the class of a sample throughout a region."""

    written: ClassVar[Mapping[str, Written]] = {
        "sample": _SAMPLE,
        "label": _OWN_CLASS,
        "region": _REGION,
        "target": _TARGET,
        "ties": _as_is("ties"),
    }

    sample: Any
    region: Region
    target: Any = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "region", named_region(self.region))

    def near(self, network: Network) -> Neighbourhood:
        """Return the region around the sample."""
        kept = self.__dict__.get("_keeps")
        known = kept is not None and kept.network is network
        return self.checked_region().around(
            network.lawful, self.__dict__["_row"] if known else self.values(network)
        )

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        return f"{self.claim(network)}, with {self.described_region(network)}"


@dataclass(frozen=True, eq=False)
class Robust(_Kept):
    """Claim that the class of a sample stays the same throughout a region.

    Parameters
    ----------
    sample : array, list, mapping or each
        One raw sample: values in the order of the features, or by name; or `each`.
    region : region or str
        `Hamming`, `L0`, `L1`, `L2`, `Linf`, `Free`, `Box` or `AnyInput`; or text such as ``"L0(1)"``.
    target : str or int, default: None
        Class that must not be reached, by name or index. None: any other class.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import Hamming, verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Robust([1, 1, -1], Hamming(1))).outcome
    'proved'

    See Also
    --------
    verify : decides it; ``verify(network, x, region)`` is short.
    sweep : asks it about each sample of a data set.
    """

    kind: ClassVar[str] = "robust"


@dataclass(frozen=True, eq=False)
class Why(_Kept):
    """Ask which features suffice for the class of a sample, whatever the others do inside a region.

    Parameters
    ----------
    sample : array, list, mapping or each
        One raw sample: values in the order of the features, or by name; or `each`.
    region : region or str
        `Hamming`, `L0`, `L1`, `L2`, `Linf`, `Free`, `Box` or `AnyInput`; or text such as ``"L0(1)"``.
    target : str or int, default: None
        Explain why the class is not this one.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.
    precision : float, Fraction or str, default: None
        Share of the inputs that must keep the class. None: all of them.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import ask
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> ask(net, Why([1, 1, 1], "AnyInput")).conditions()
    ['x1 = +1', 'x2 = +1']

    See Also
    --------
    why : answers it.
    """

    kind: ClassVar[str] = "why"
    written: ClassVar[Mapping[str, Written]] = {**_Kept.written, "precision": _PRECISION}

    precision: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "precision", _share_of(self.precision, self.ties))

    def describe(self, network: Network) -> str:
        """Return the question in words."""
        return f"why {super().describe(network)}{_part_text(self.precision)}"


@dataclass(frozen=True, eq=False)
class Suffices(_Kept):
    """Claim that some features, fixed at their values, suffice for the class of a sample; claimed by a
    reason.

    Parameters
    ----------
    sample : array, list, mapping or each
        One raw sample: values in the order of the features, or by name; or `each`.
    region : region or str
        `Hamming`, `L0`, `L1`, `L2`, `Linf`, `Free`, `Box` or `AnyInput`; or text such as ``"L0(1)"``.
    target : str or int, default: None
        Class that must not be reached, by name or index. None: any other class.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.
    fixed : tuple of int, default: ()
        The features that stay.
    precision : float, Fraction or str, default: None
        Share of the inputs that must keep the class. None: all of them.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> Suffices([1, 1, -1], "AnyInput", fixed=(0, 1)).describe(net)
    'the class stays on, with any input, while x1, x2 must stay'

    See Also
    --------
    why : finds features that suffice.
    Reason : makes this claim.
    """

    kind: ClassVar[str] = "reason"
    written: ClassVar[Mapping[str, Written]] = {
        **_Kept.written,
        "fixed": Written(lambda question, _: list(question.fixed), lambda _, data: tuple(data["fixed"])),
        "precision": _PRECISION,
    }

    fixed: tuple[int, ...] = ()
    """Feature indices from 0, in increasing order."""
    precision: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "precision", _share_of(self.precision, self.ties))

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        names = ", ".join(network.encoder.feature_text[feature] for feature in self.fixed)
        stays = f"{super().describe(network)}, while {names or 'nothing'} must stay"
        return f"{stays}{_part_text(self.precision)}"


def _write_cost(question: WhatIf, network: Network) -> dict[str, Any]:
    cost, named = question.cost, {"kind": question.cost_name}
    if not isinstance(cost, Prices):
        return named
    prices = [[f, str(p)] for f, p in sorted(cost.exact(network).items())]
    return named | {"prices": prices, "per_unit": bool(cost.per_unit)}


def _read_cost(network: Network, data: Mapping[str, Any]) -> type[Cost] | Prices:
    names, kind = network.encoder.names, data["cost"]["kind"]
    if kind == "Prices":
        prices = [(names[feature], exact(price)) for feature, price in data["cost"]["prices"]]
        return Prices(prices, data["cost"]["per_unit"])
    if kind not in BALLS:
        raise QuestionError(f"there is no cost {str(kind)[:40]!r}.")
    return BALLS[kind]


def _read_most(_network: Network, data: Mapping[str, Any]) -> Fraction | None:
    """Return the limit; for L2 it is a distance, which JSON stores as its square."""
    limit = None if data["limit"] is None else exact(data["limit"])
    if limit is None or data["cost"]["kind"] != "L2":
        return limit
    return Fraction(isqrt(limit.numerator), isqrt(limit.denominator))


def _read_fixed(network: Network, data: Mapping[str, Any]) -> list[str]:
    movable = set(data["movable"])
    return [name for feature, name in enumerate(network.encoder.names) if feature not in movable]


@dataclass(frozen=True, eq=False)
class WhatIf(_ClassOf):
    """Ask for the cheapest change to a sample that gives it another class.

    Parameters
    ----------
    sample : array, list, mapping or each
        One raw sample: values in the order of the features, or by name; or `each`.
    cost : str, cost or Prices, default: L0
        Cost of a change, as in `whatif`.
    target : str or int, default: None
        Class to reach. None: any other class.
    keep : iterable, default: ()
        Features that must stay as they are.
    region : Linf, Free, Box or str, default: None
        Region in which the changed sample must lie.
    max_cost : int, float or Fraction, default: None
        Largest cost to look for.
    ties : {"lowest", "against"}, default: "lowest"
        ``"lowest"``: a tie goes to the lowest class, as in `predict`. ``"against"``: a tie counts as a
        change.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import ask
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> ask(net, WhatIf([1, 1, 1])).cost
    Fraction(1, 1)

    See Also
    --------
    whatif : answers it.
    """

    kind: ClassVar[str] = "whatif"
    written: ClassVar[Mapping[str, Written]] = {
        "sample": _SAMPLE,
        "label": _OWN_CLASS,
        "target": _TARGET,
        "ties": _as_is("ties"),
        "cost": Written(_write_cost, _read_cost),
        "movable": Written(lambda question, network: question.movable(network), _read_fixed, "keep"),
        "region": _REGION,
        "limit": Written(
            lambda question, _: None if question.most is None else str(question.most), _read_most, "max_cost"
        ),
    }

    sample: Any
    cost: type[Cost] | Prices = L0
    target: Any = None
    keep: Iterable[Any] = ()
    region: Region | None = None
    max_cost: Any = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", named_cost(self.cost))
        object.__setattr__(self, "region", named_region(self.region))
        refuse(
            QuestionError,
            (
                not isinstance(self.cost, Prices) and self.cost not in BALLS.values(),
                f"cost={quoted(self.cost)} is not a cost. Use {_COSTS}, or Prices({{...}}).",
            ),
            (
                self.region is not None and not isinstance(self.region, Linf | Free | Box | AnyInput),
                f"region={quoted(self.region)} has a budget of its own. Use Linf, Free or Box, "
                f"and max_cost= for the cost.",
            ),
        )
        object.__setattr__(self, "keep", _tuple_of(self.keep))

    @property
    def cost_name(self) -> str:
        """``L0``, ``L1``, ``L2``, ``Linf``, ``Hamming`` or ``Prices``."""
        return "Prices" if isinstance(self.cost, Prices) else self.cost.__name__

    @property
    def most(self) -> Fraction | None:
        """Return the maximum cost; for L2 the sum of squares."""
        if self.max_cost is None:
            return None
        limit = Fraction(exact_number(self.max_cost, "max_cost"))
        if limit < 0:
            raise QuestionError(f"a largest cost of {quoted(self.max_cost)} is negative. Give 0 or more.")
        return limit ** (2 if self.cost is L2 else 1)

    def movable(self, network: Network) -> list[int]:
        """Return the indices of features that may change, from 0."""
        fixed = {feature_index(network, name) for name in self.keep}
        return [index for index in range(network.encoder.features) if index not in fixed]

    def describe(self, network: Network) -> str:
        """Return the question in words."""
        target, names = _class_or_none(network, self.target), network.class_texts
        label = self.label(network)
        current = "what it is" if label is None else names[label]
        goal = f"not {current}" if target is None else names[target]
        return f"the least change by {self.cost_name} with which the class is {goal}"


# -- questions about all inputs within limits ----------------------------------------------------------------


class Limited(Asking):
    """Base class of questions about all inputs within limits."""

    where: Any

    @property
    def box(self) -> Box:
        """Return the limits."""
        return self.where if isinstance(self.where, Box) else Box({} if self.where is None else self.where)


@dataclass(frozen=True, eq=False)
class _OfClass(Limited):
    """Base class of claims about the class of all inputs within limits."""

    verb: ClassVar[str]
    written: ClassVar[Mapping[str, Written]] = {
        "label": Written(
            lambda question, network: class_of(network, question.label), lambda _, data: data["label"]
        ),
        "where": _WHERE,
    }

    label: Any
    where: Any = None

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        label = network.class_texts[class_of(network, self.label)]
        return f"the class {self.verb} {label} for {self.box.words(network)}"


@dataclass(frozen=True, eq=False)
class Always(_OfClass):
    """Claim that every input within limits has a class.

    Parameters
    ----------
    label : str or int
        The class, by name or index.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Always("on", {"x1": 1, "x2": 1})).outcome
    'proved'

    See Also
    --------
    verify : decides it.
    """

    kind: ClassVar[str] = "always"
    verb: ClassVar[str] = "is"


@dataclass(frozen=True, eq=False)
class Never(_OfClass):
    """Claim that no input within limits has a class.

    Parameters
    ----------
    label : str or int
        The class, by name or index.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Never("on", {"x1": -1, "x2": -1})).outcome
    'proved'

    See Also
    --------
    verify : decides it.
    """

    kind: ClassVar[str] = "never"
    verb: ClassVar[str] = "is never"


@dataclass(frozen=True, eq=False)
class Monotone(Limited):
    """Claim that raising one feature never lowers the class; or, with a label, never loses that class.

    Parameters
    ----------
    feature : str or int
        Feature by name or number from 0; a number, not a category.
    label : str or int, default: None
        Class that raising the feature must not lose. None: classes are ordered by their index.
    rising : bool, default: True
        False: lowering the feature instead.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Monotone("x1")).outcome
    'proved'

    See Also
    --------
    verify : decides it.
    """

    kind: ClassVar[str] = "monotone"
    written: ClassVar[Mapping[str, Written]] = {
        "feature": Written(
            lambda question, network: feature_index(network, question.feature),
            lambda network, data: network.encoder.names[data["feature"]],
        ),
        "label": Written(
            lambda question, network: _class_or_none(network, question.label), lambda _, data: data["label"]
        ),
        "rising": Written(lambda question, _: bool(question.rising), lambda _, data: data["rising"]),
        "where": _WHERE,
    }

    feature: Any
    label: Any = None
    rising: bool = True
    where: Any = None

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        name, label = network.encoder.feature_text[feature_index(network, self.feature)], self.label
        kept = None if label is None else network.class_texts[class_of(network, label)]
        effect = "lowers the class" if kept is None else f"loses class {kept}"
        return (
            f"{'raising' if self.rising else 'lowering'} {name} never {effect}, for {self.box.words(network)}"
        )


@dataclass(frozen=True, eq=False)
class Fair(Limited):
    """Claim that no two inputs that differ in protected features alone get different classes.

    Parameters
    ----------
    protected : iterable
        Features by name or number from 0.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Fair(["x1"])).outcome
    'refuted'

    See Also
    --------
    verify : decides it.
    """

    kind: ClassVar[str] = "fair"
    written: ClassVar[Mapping[str, Written]] = {
        "protected": Written(
            lambda question, network: question.features(network),
            lambda network, data: [network.encoder.names[feature] for feature in data["protected"]],
        ),
        "where": _WHERE,
    }

    protected: Iterable[Any]
    where: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "protected", _tuple_of(self.protected))

    def features(self, network: Network) -> list[int]:
        """Return the indices of the protected features from 0, each once."""
        return list(dict.fromkeys(feature_index(network, feature) for feature in self.protected))

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        names = ", ".join(
            network.encoder.feature_text[feature_index(network, feature)] for feature in self.protected
        )
        return f"the class does not depend on {names}, for {self.box.words(network)}"


@dataclass(frozen=True, eq=False)
class Agree(OfSample, Limited):
    """Claim that another network over the same features gives the same class to every input within limits.

    Parameters
    ----------
    other : Network
        The other network.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.
    sample : array, list or mapping, default: None
        One raw sample. None: the claim is about all inputs within limits.
    region : region or str, default: None
        Region around the sample, other than `Hamming`, since the networks may read other bits.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, Agree(net)).outcome
    'proved'

    See Also
    --------
    verify : decides it.
    """

    kind: ClassVar[str] = "agree"
    written: ClassVar[Mapping[str, Written]] = {
        "other": Written(lambda question, _: question.other.fingerprint, None),
        "where": _WHERE,
        "sample": _if_given(_SAMPLE, "sample"),
        "region": _if_given(_REGION, "region"),
    }

    other: Network
    where: Any = None
    sample: Any = None
    region: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "region", named_region(self.region))
        refuse(
            QuestionError,
            (
                (self.region is None) != (self.sample is None),
                "give a sample and a region around it, or none.",
            ),
            (
                isinstance(self.region, Hamming),
                f"the two networks may read a feature as other bits, so {self.region} has no meaning. "
                "Use L0, L1, L2 or Linf.",
            ),
        )
        if self.region is not None:
            self.checked_region()

    def describe(self, network: Network) -> str:
        """Return the claim in words."""
        words = self.box.words(network)
        if self.region is not None:
            words = self.described_region(network) + (f" and {words}" if self.box.limits else "")
            return f"the two networks give the same class, with {words}"
        return f"the two networks give the same class, for {words}"


# -- how many inputs, and all rules --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Count(OfSample, Limited):
    """Ask how many inputs of each class there are around a sample, within limits, or in the whole domain.

    Parameters
    ----------
    sample : array, list, mapping or each, default: None
        One raw sample. None: all inputs.
    region : region or str, default: None
        Region around the sample.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import ask
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> ask(net, Count()).counts
    (4, 4)

    See Also
    --------
    count : answers it.
    """

    kind: ClassVar[str] = "count"
    written: ClassVar[Mapping[str, Written]] = {"sample": _SAMPLE, "region": _REGION, "where": _WHERE}

    sample: Any = None
    region: Region | None = None
    where: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "region", named_region(self.region))
        refuse(
            QuestionError,
            (
                self.region is None and self.sample is not None,
                "a sample needs a region around it, such as Hamming(2) or AnyInput().",
            ),
            (
                self.region is not None and not hasattr(self.region, "around"),
                f"region={quoted(self.region)} is not a region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or AnyInput().",
            ),
            (
                self.region is not None and self.sample is None,
                "a region needs a sample: count(network, x, region). For limits alone, where={...}.",
            ),
        )

    def near(self, network: Network) -> Neighbourhood:
        """Return the region in which inputs are counted."""
        if self.region is None:
            near = self.box.of(network.lawful)
        else:
            values = super().values(network)
            near = self.region.around(network.lawful, values, self.box.spans(network) or None)
            see_that_it_obeys(network, values)
        see_that_some_obey(network, near, self.box)
        return near

    def values(self, network: Network) -> list[Any] | None:  # type: ignore[override]
        """Return the sample as a list in the order of the features, if there is one."""
        return None if self.sample is None else super().values(network)

    def describe(self, network: Network) -> str:
        """Return a description of the region in which inputs are counted."""
        if self.region is None:
            return self.box.words(network)
        text = self.described_region(network)
        return f"{text} and {self.box.words(network)}" if self.box.limits else text


@dataclass(frozen=True, eq=False)
class Rules(Asking):
    """Ask for rules of a network, or of some of its classes; `rulebook` answers it.

    Parameters
    ----------
    classes : tuple of int
        Indices of the classes, from 0.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> Rules((0, 1)).describe(net)
    'rules for off, on'

    See Also
    --------
    rulebook : answers it.
    """

    kind: ClassVar[str] = "rules"
    written: ClassVar[Mapping[str, Written]] = {
        "classes": Written(
            lambda question, network: [network.classes[label] for label in question.classes],
            lambda network, data: tuple(class_of(network, name) for name in data["classes"]),
        )
    }

    classes: tuple[int, ...]

    def describe(self, network: Network) -> str:
        """Return the question in words."""
        return f"rules for {', '.join(network.classes[label] for label in self.classes)}"
