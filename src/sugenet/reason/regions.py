"""Regions around a sample, in raw features: which values each feature may take there, and how much a change uses up.

Every region comes down to the same thing, a `Neighbourhood`: for each feature the moves it may make (to another legal state of its
coding, at the nearest raw value), the weight of each move as a whole number, and a budget for their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import Network
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import EncodingError, QuestionError

__all__ = ["L0", "L1", "L2", "Anything", "Cost", "Free", "Hamming", "Linf", "Move", "Neighbourhood", "Region", "surroundings"]


@dataclass(frozen=True)
class Move:
    """A feature taken to another state, at the nearest raw value that has it."""

    feature: int
    state: int
    value: Any
    distance: Fraction
    """Size of the raw change."""
    weight: int
    """What it uses of the budget, in whole units of the neighbourhood."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """All samples that a region allows around one: at most one move a feature, weights summing to at most the budget."""

    network: Network
    sample: tuple[Any, ...]
    states: tuple[int, ...]
    moves: tuple[Move, ...]
    """Ordered by feature."""
    budget: int | None
    """None: any set of moves."""
    unit: Fraction
    """What one unit of weight is worth in the region's own terms."""

    @cached_property
    def inputs(self) -> Any:
        """What the first layer reads at the sample itself: one row of levels or bits."""
        return self.network.inputs(_row(self.sample))

    def moved(self, moves: Iterable[Move]) -> tuple[Any, ...]:
        """The raw sample after some moves."""
        values = list(self.sample)
        for move in moves:
            values[move.feature] = move.value
        return tuple(values)


def _row(values: Iterable[Any]) -> Any:
    row = tuple(values)
    array = np.empty((1, len(row)), dtype=object)
    array[0] = row
    return array


Weigh: TypeAlias = Callable[[Fraction, int], Fraction | None]
"""From the size of a raw change and the number of bits it flips to its weight; None when the move is not allowed."""


def _build(network: Network, x: Any, weigh: Weigh, budget: Fraction | None, movable: Iterable[int] | None = None) -> Neighbourhood:
    values = np.asarray(x, dtype=object).reshape(-1).tolist()
    encoder = network.encoder
    if len(values) != encoder.features:
        raise EncodingError(f"the sample has {len(values)} values, but the network reads {encoder.features} features.")
    states = [int(state) for state in encoder.levels(_row(values))[0]]
    allowed = set(range(encoder.features)) if movable is None else set(movable)
    found: list[tuple[int, int, Any, Fraction, Fraction]] = []
    for feature, coding in enumerate(encoder.codings):
        if feature not in allowed:
            continue
        here = coding.bits(states[feature])
        for state in range(coding.states):
            move = coding.move(values[feature], state) if state != states[feature] else None
            if move is None:
                continue
            weight = weigh(move.distance, int((coding.bits(state) != here).sum()))
            if weight is not None and (budget is None or weight <= budget):
                found.append((feature, state, move.value, move.distance, weight))
    whole = lcm(1, *(weight.denominator for *_, weight in found), *(() if budget is None else (Fraction(budget).denominator,)))
    moves = tuple(Move(f, s, v, d, int(w * whole)) for f, s, v, d, w in found)
    limit = None if budget is None else int(Fraction(budget) * whole)
    return Neighbourhood(network, tuple(values), tuple(states), moves, limit, Fraction(1, whole))


def surroundings(
    network: Network, x: Any, cost: type[Cost], budget: Fraction | None, movable: Iterable[int] | None = None
) -> Neighbourhood:
    """All moves around a sample, weighed by a cost, with or without a budget."""
    return _build(network, x, cost.weigh, budget, movable)


def _radius(value: Any, what: str) -> Fraction:
    radius = Fraction(exact_number(value, what))
    if radius < 0:
        raise QuestionError(f"{what} is {value}, but a radius is not negative.")
    return radius


@dataclass(frozen=True)
class Hamming:
    """At most `radius` bits flipped, legal patterns only.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    >>> near = Hamming(2).around(net, [1, -1, 1])
    >>> [(move.feature, move.value, move.weight) for move in near.moves], near.budget
    ([(0, 0, 1), (1, 1, 1), (2, 0, 1)], 2)
    """

    radius: Any

    @staticmethod
    def weigh(_distance: Fraction, bits: int) -> Fraction:
        """Bits flipped."""
        return Fraction(bits)

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        return _build(network, x, self.weigh, _radius(self.radius, "radius"))

    def __str__(self) -> str:
        return f"up to {self.radius} bit{'' if self.radius == 1 else 's'} flipped"


@dataclass(frozen=True)
class L0:
    """At most `radius` raw features changed, each to anything."""

    radius: Any

    @staticmethod
    def weigh(_distance: Fraction, _bits: int) -> Fraction:
        """One for each feature."""
        return Fraction(1)

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        return _build(network, x, self.weigh, _radius(self.radius, "radius"))

    def __str__(self) -> str:
        return f"up to {self.radius} feature{'' if self.radius == 1 else 's'} changed"


@dataclass(frozen=True)
class L1:
    """Raw changes summing to at most `radius`."""

    radius: Any

    @staticmethod
    def weigh(distance: Fraction, _bits: int) -> Fraction:
        """Size of the raw change."""
        return distance

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        return _build(network, x, self.weigh, _radius(self.radius, "radius"))

    def __str__(self) -> str:
        return f"raw changes of up to {self.radius} in all"


@dataclass(frozen=True)
class L2:
    """Squares of raw changes summing to at most the square of `radius`."""

    radius: Any

    @staticmethod
    def weigh(distance: Fraction, _bits: int) -> Fraction:
        """Square of the raw change."""
        return distance**2

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        return _build(network, x, self.weigh, _radius(self.radius, "radius") ** 2)

    def __str__(self) -> str:
        return f"raw changes within a distance of {self.radius}"


@dataclass(frozen=True)
class Linf:
    """Every raw feature changed by at most `radius`."""

    radius: Any

    @staticmethod
    def weigh(distance: Fraction, _bits: int) -> Fraction:
        """Size of the raw change; the largest counts."""
        return distance

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        radius = _radius(self.radius, "radius")
        return _build(network, x, lambda distance, _: distance if distance <= radius else None, None)

    def __str__(self) -> str:
        return f"every feature changed by up to {self.radius}"


@dataclass(frozen=True)
class Free:
    """Some features free, by name or number from 0, the others as they are."""

    features: tuple[Any, ...]

    def __init__(self, features: Iterable[Any]) -> None:
        object.__setattr__(self, "features", tuple(features))

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample."""
        places = {name: place for place, name in enumerate(network.encoder.names)}
        chosen = []
        for feature in self.features:
            place = places.get(feature) if isinstance(feature, str) else feature
            if not isinstance(place, int) or not 0 <= place < network.encoder.features:
                raise QuestionError(
                    f"there is no feature {feature!r}. Features have names, or numbers from 0 to {network.encoder.features - 1}."
                )
            chosen.append(place)
        return _build(network, x, lambda distance, _: distance, None, chosen)

    def __str__(self) -> str:
        return f"{len(self.features)} features free"


@dataclass(frozen=True)
class Anything:
    """All inputs."""

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample: everything."""
        return _build(network, x, lambda distance, _: distance, None)

    def __str__(self) -> str:
        return "any input"


Cost: TypeAlias = Hamming | L0 | L1 | L2 | Linf
Region: TypeAlias = Hamming | L0 | L1 | L2 | Linf | Free | Anything
