"""A neighbourhood of a sample: the moves that each feature may make, what each weighs, and a budget for their sum.

Weights are whole numbers of a common unit. Where exact costs are too finely divided for 60 bits (differences of floats, say), they are
rounded down to multiples of a power of two: then the budget admits a little more than it should, never less. A proof for such a
neighbourhood holds for the exact one; a violation counts only when its exact cost is within the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import floor, lcm
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, Steps
from sugenet.bnn.codings import Coding
from sugenet.bnn.memory import make_sure
from sugenet.errors import EncodingError, QuestionError

__all__ = ["Columns", "Move", "Neighbourhood", "Weigh", "build", "place_of", "row_of", "whole_weights"]

_BITS = 60
_MOVE_BYTES = 200
"""Of one move, with what it points to."""


@dataclass(frozen=True, slots=True)
class Move:
    """A feature taken to another state, at the nearest raw value that has it."""

    feature: int
    state: int
    value: Any
    distance: Fraction
    """Size of the raw change."""
    price: Fraction
    """What it costs, exactly."""
    weight: int
    """What it uses of the budget, in whole units of the neighbourhood."""


class Columns(NamedTuple):
    """Moves as arrays, in their order."""

    features: npt.NDArray[np.int64]
    states: npt.NDArray[np.int64]
    weights: npt.NDArray[Any]
    """Whole numbers; Python's own where they leave 63 bits."""


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
    limit: Fraction | None = None
    """What prices may sum to exactly; None: anything."""

    def admits(self, moves: Iterable[Move]) -> bool:
        """Whether a set of moves is allowed, by exact prices."""
        chosen = list(moves)
        if len({move.feature for move in chosen}) < len(chosen):
            return False
        return self.limit is None or sum((move.price for move in chosen), Fraction(0)) <= self.limit

    @cached_property
    def columns(self) -> Columns:
        """The moves as arrays."""
        count = len(self.moves)
        features = np.fromiter((move.feature for move in self.moves), np.int64, count)
        states = np.fromiter((move.state for move in self.moves), np.int64, count)
        large = any(move.weight >= 1 << 62 for move in self.moves)
        return Columns(features, states, np.fromiter((move.weight for move in self.moves), object if large else np.int64, count))

    @cached_property
    def places(self) -> dict[int, slice]:
        """For each feature that can move, where its moves are."""
        features = self.columns.features
        ends = [*np.flatnonzero(np.diff(features, prepend=-1)).tolist(), len(features)]
        return {int(features[start]): slice(start, stop) for start, stop in pairwise(ends)}

    @cached_property
    def inputs(self) -> Any:
        """What the first layer reads at the sample itself: one row of levels or bits."""
        return self.network.inputs(row_of(self.sample))

    def moved(self, moves: Iterable[Move]) -> tuple[Any, ...]:
        """The raw sample after some moves."""
        values = list(self.sample)
        for move in moves:
            values[move.feature] = move.value
        return tuple(values)


def row_of(values: Iterable[Any]) -> Any:
    """One raw sample as an array: of whole numbers or floats where all are, which is read fastest, else of the values as they are."""
    row = tuple(values)
    kinds = set(map(type, row))
    if len(kinds) == 1 and kinds <= {int, float} and all(-(1 << 53) < value < 1 << 53 for value in row):
        return np.array([row])
    array = np.empty((1, len(row)), dtype=object)
    array[0] = row
    return array


Weigh: TypeAlias = Callable[[int, Fraction, int], Fraction | None]
"""From the feature, the size of the raw change and the number of bits it flips to its weight; None when the move is not allowed."""


def place_of(network: Network, feature: Any) -> int:
    """Number of a feature given by name or number from 0."""
    names = network.encoder.names
    place = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        raise QuestionError(f"there is no feature {feature!r}. Features have names ({shown}), or numbers from 0 to {len(names) - 1}.")
    return int(place)


def build(network: Network, x: Any, weigh: Weigh, budget: Fraction | None, movable: Iterable[int] | None = None, *, by_feature: bool = False) -> Neighbourhood:
    """All moves of some features that a weighing allows, within a budget; `by_feature`: the weighing looks at the feature, too."""
    values = np.asarray(x, dtype=object).reshape(-1).tolist()
    encoder = network.encoder
    if len(values) != encoder.features:
        raise EncodingError(f"the sample has {len(values)} values, but the network reads {encoder.features} features.")
    states = [int(state) for state in encoder.levels(row_of(values))[0]]
    allowed = set(range(encoder.features)) if movable is None else set(movable)
    most = sum(coding.states - 1 for feature, coding in enumerate(encoder.codings) if feature in allowed)
    make_sure(_MOVE_BYTES * most, f"{most:,} possible changes", "Let fewer features change.")
    groups: dict[Any, list[tuple[int, Any, Fraction, Fraction]]] = {}  # features alike share their moves: there can be very many
    owners: dict[int, Any] = {}
    for feature, coding in enumerate(encoder.codings):
        if feature not in allowed:
            continue
        owners[feature] = key = (id(coding), type(values[feature]), values[feature], feature if by_feature else -1)
        if key not in groups:
            priced = ((way, weigh(feature, way.distance, way.flips)) for way in _ways(coding, values[feature], states[feature]))
            groups[key] = [(way.state, way.value, way.distance, price) for way, price in priced if price is not None]
    sums = {key: sum((price for *_, price in group), Fraction(0)) for key, group in groups.items()}
    prices = {price for group in groups.values() for *_, price in group}
    scale = _scale(prices, sum((sums[key] for key in owners.values()), Fraction(0)))
    limit = None if budget is None else floor(Fraction(budget) * scale)
    rows = {key: [(*row, floor(row[-1] * scale)) for row in group] for key, group in groups.items()}
    kept = {key: [row for row in group if limit is None or row[-1] <= limit] for key, group in rows.items()}
    moves = tuple(Move(feature, *row) for feature, key in owners.items() for row in kept[key])
    return Neighbourhood(network, tuple(values), tuple(states), moves, limit, Fraction(1, scale), budget)


class _Way(NamedTuple):
    """Another state of a feature: its nearest raw value, how far that is, and how many bits flip."""

    state: int
    value: Any
    distance: Fraction
    flips: int


def _ways(coding: Coding, here: Any, own: int) -> list[_Way]:
    # a fraction that no float is, or a large number, is taken exactly
    exact = isinstance(coding, Steps) and (isinstance(here, Fraction) or (isinstance(here, int) and abs(here) > 1 << 53))
    found = []
    for state in range(coding.states):
        move = coding.move(here, state) if state != own else None
        if move is not None:
            distance = abs(Fraction(move.value) - Fraction(here)) if exact else move.distance
            found.append(_Way(state, move.value, distance, coding.flips(own, state)))
    return found


def whole_weights(prices: Iterable[Fraction]) -> int:
    """How many units make one: a common denominator of all prices, or a power of two where their sum would leave 60 bits."""
    listed = list(prices)
    return _scale(set(listed), sum(listed, Fraction(0)))


def _scale(prices: set[Fraction], total: Fraction) -> int:
    scale = lcm(1, *(price.denominator for price in prices))
    return scale if total * scale < 1 << _BITS else 1 << max(0, _BITS - 1 - floor(total).bit_length())
