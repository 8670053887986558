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
from math import floor, lcm
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import Network, Steps
from sugenet.errors import QuestionError

__all__ = ["Move", "Neighbourhood", "Weigh", "build", "place_of", "row_of", "whole_weights"]

_BITS = 60


@dataclass(frozen=True)
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


def build(network: Network, x: Any, weigh: Weigh, budget: Fraction | None, movable: Iterable[int] | None = None) -> Neighbourhood:
    """All moves of some features that a weighing allows, within a budget."""
    encoder = network.encoder
    values = encoder.values(x)
    states = [int(state) for state in encoder.levels(row_of(values))[0]]
    allowed = set(range(encoder.features)) if movable is None else set(movable)
    found: list[tuple[int, int, Any, Fraction, Fraction]] = []
    for feature, coding in enumerate(encoder.codings):
        if feature not in allowed:
            continue
        for state in range(coding.states):
            move = coding.move(values[feature], state) if state != states[feature] else None
            if move is None:
                continue
            here = values[feature]  # a fraction that no float is, or a large number, is taken exactly
            exact = isinstance(coding, Steps) and (isinstance(here, Fraction) or (isinstance(here, int) and abs(here) > 1 << 53))
            distance = abs(Fraction(move.value) - Fraction(here)) if exact else move.distance
            weight = weigh(feature, distance, coding.flips(states[feature], state))
            if weight is not None:
                found.append((feature, state, move.value, distance, weight))
    scale = whole_weights([weight for *_, weight in found])
    limit = None if budget is None else floor(Fraction(budget) * scale)
    moves = (Move(f, s, v, d, w, floor(w * scale)) for f, s, v, d, w in found)
    kept = tuple(move for move in moves if limit is None or move.weight <= limit)
    return Neighbourhood(network, tuple(values), tuple(states), kept, limit, Fraction(1, scale), budget)


def whole_weights(prices: Iterable[Fraction]) -> int:
    """How many units make one: a common denominator of all prices, or a power of two where their sum would leave 60 bits."""
    listed = list(prices)
    scale, total = lcm(1, *(price.denominator for price in listed)), sum(listed, Fraction(0))
    return scale if total * scale < 1 << _BITS else 1 << max(0, _BITS - 1 - floor(total).bit_length())
