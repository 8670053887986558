"""Moves of features, stored compactly, and the states that codings can reach from a value.

An image of bytes has hundreds of thousands of single changes. Features with the same coding and value have
the same moves, so these are stored once, and a move object is created on access.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple, TypeAlias, overload
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from sugenet.nn import Coding, Span, Steps

__all__ = ["FeatureMove", "Leads", "MoveColumns", "Moves", "Reached", "Way"]


class FeatureMove(NamedTuple):
    """A move of a feature to another state, at the nearest raw value with that state."""

    feature: int
    state: int
    value: Any
    distance: Fraction
    """Size of the raw change."""
    price: Fraction
    """Exact cost."""
    weight: int
    """Share of the budget, in integer units of the neighbourhood."""


class Way(NamedTuple):
    """A move without its feature."""

    state: int
    value: Any
    distance: Fraction
    price: Fraction
    weight: int


class MoveColumns(NamedTuple):
    """Moves as arrays, in their order."""

    features: npt.NDArray[np.int64]
    states: npt.NDArray[np.int64]
    weights: npt.NDArray[Any]
    """Integers; Python integers if they exceed 62 bits."""


_Ways: TypeAlias = tuple[Way, ...]


class Moves(Sequence[FeatureMove]):
    """The moves of many features, ordered by feature.

    Examples
    --------
    >>> up = (Way(1, 1, Fraction(1), Fraction(1), 1), Way(2, 2, Fraction(2), Fraction(2), 2))
    >>> moves = Moves({0: up, 3: up})
    >>> light = moves.where(lambda way: way.weight == 1)
    >>> len(moves), moves[2].feature, [(move.feature, move.state) for move in light]
    (4, 3, [(0, 1), (3, 1)])
    """

    def __init__(self, ways: Mapping[int, _Ways]) -> None:
        self.ways = {feature: rows for feature, rows in ways.items() if rows}
        """The moves of each feature that can move, without the feature."""
        self._owners = list(self.ways)
        self._starts = [0, *accumulate(map(len, self.ways.values()))]

    @cached_property
    def places(self) -> dict[int, slice]:
        """The slice of the moves of each feature."""
        return dict(zip(self.ways, map(slice, self._starts, self._starts[1:]), strict=True))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> FeatureMove: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[FeatureMove, ...]: ...
    def __getitem__(self, index: int | slice) -> FeatureMove | tuple[FeatureMove, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        number = range(len(self))[index]
        owner = bisect_right(self._starts, number) - 1
        feature = self._owners[owner]
        return FeatureMove(feature, *self.ways[feature][number - self._starts[owner]])

    def __iter__(self) -> Iterator[FeatureMove]:
        return (FeatureMove(feature, *way) for feature, rows in self.ways.items() for way in rows)

    def where(self, keep: Callable[[Way], bool]) -> Moves:
        """Return some of the moves; features that share moves also share the selected ones."""
        known: dict[int, _Ways] = {}
        for key, rows in self.distinct.items():
            kept = tuple(way for way in rows if keep(way))
            known[key] = rows if len(kept) == len(rows) else kept
        return Moves({feature: known[id(rows)] for feature, rows in self.ways.items()})

    def columns(self) -> MoveColumns:
        """Return the moves as arrays."""
        arrays = {key: _arrays(rows) for key, rows in self.distinct.items()}
        feature_arrays = [arrays[id(rows)] for rows in self.ways.values()]
        features = np.repeat(np.array(self._owners, np.int64), np.diff(self._starts))
        if not feature_arrays:
            return MoveColumns(features, features, features)
        states, weights = (np.concatenate(parts) for parts in zip(*feature_arrays, strict=True))
        return MoveColumns(features, states, weights)

    @property
    def distinct(self) -> dict[int, _Ways]:
        """The distinct tuples of moves, by identity: features that are alike share one tuple."""
        return {id(rows): rows for rows in self.ways.values()}


def _arrays(rows: _Ways) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    weights = [way.weight for way in rows]
    large = max(weights) >= 1 << 62
    return np.array([way.state for way in rows], np.int64), np.array(weights, object if large else np.int64)


# -- states reached from a value -----------------------------------------------------------------------------


class Reached(NamedTuple):
    """Another state of a feature: its nearest raw value, how far that is, and how many bits flip."""

    state: int
    value: Any
    distance: Fraction
    flips: int


_Answers: TypeAlias = tuple[dict[Any, list[Reached]], dict[Any, tuple[Way, ...]]]
"""The states reached from each value, and the same moves with the distance as price."""


class Leads:
    """Cache of the states that codings reach from a value: samples of a data set repeat the same values."""

    _kept: ClassVar[WeakKeyDictionary[Steps, dict[Any, _Answers]]] = WeakKeyDictionary()
    _most, _short = 1 << 12, 16
    """Largest number of cached answers per coding, and largest length of each."""
    _domain = 1 << 10
    """Codings with at most this many values are computed for all values at once."""

    def __init__(self, far: Fraction | None) -> None:
        self.far = far
        self.own: dict[tuple[int, type], _Answers] = {}

    def __call__(self, coding: Coding, here: Any, state: int, span: Span | None) -> list[Reached]:
        if span is not None or not isinstance(coding, Steps):  # equal codings may have values of other types
            return _reached(coding, here, state, self.far, span)
        known = self._of(coding, type(here))[0]
        reached = known.get(here)
        if reached is None:
            reached = _reached(coding, here, state, self.far, None)
            if len(reached) <= self._short:
                known[here] = reached
        return reached

    def ways(
        self, coding: Coding, values: Sequence[Any], states: Sequence[int]
    ) -> dict[Any, tuple[Way, ...]] | None:
        """Return the moves of some values of one type, for a coding of few integers, with the distance as
        price.

        Return None for other codings, and if prices together might exceed 60 bits.
        """
        if self.far is None or not isinstance(coding, Steps) or not coding.whole:
            return None
        if coding.states > self._short or len(values) * coding.states * self.far >= 1 << 60:
            return None
        ways_by_value = self._of(coding, type(values[0]))[1]
        missing = set(values) - ways_by_value.keys()
        if not missing:
            return ways_by_value
        anywhere = Leads(None)
        small = type(values[0]) is int and coding.high - coding.low < self._domain
        if small and not anywhere._of(coding, int)[0]:  # compute all values, for later samples
            for value in range(ceil(coding.low), floor(coding.high) + 1):
                anywhere(coding, value, coding.state(value), None)
        for value in missing:
            reached = anywhere(coding, value, states[values.index(value)], None)
            near = (way for way in reached if way.distance <= self.far)
            ways_by_value[value] = tuple(
                Way(way.state, way.value, way.distance, way.distance, int(way.distance)) for way in near
            )
        return ways_by_value

    def _of(self, coding: Steps, kind: type) -> _Answers:
        key = (id(coding), kind)
        if key not in self.own:
            parts = self._kept.setdefault(coding, {})
            if sum(len(known) for known, _ in parts.values()) >= self._most:
                parts.clear()
            self.own[key] = parts.setdefault((kind, self.far), ({}, {}))
        return self.own[key]


def _reached(
    coding: Coding, here: Any, origin: int, far: Fraction | None, span: Span | None
) -> list[Reached]:
    """Return the other states that can occur, up and down from the own state; numbers only as
    far as `far`.
    """
    if isinstance(coding, Steps) and coding.every_step:  # very many states, all of them integers
        low = int(coding.low)
        max_distance = coding.states if far is None else min(coding.states, floor(far))
        return [
            Reached(state, low + state, _fraction(abs(state - origin)), abs(state - origin))
            for state in range(max(0, origin - max_distance), min(coding.states, origin + max_distance + 1))
            if state != origin and (span is None or span.holds(low + state))
        ]
    reached = []
    for states in (range(origin - 1, -1, -1), range(origin + 1, coding.states)):
        for state in states:
            move = coding.move(here, state, span)
            if move is None:
                continue
            if far is not None and move.distance > far and isinstance(coding, Steps):
                break  # all others in this direction are further away, whatever the limits
            reached.append(Reached(state, move.value, move.distance, coding.flips(origin, state)))
    return sorted(reached, key=lambda way: way.state)


@cache
def _fraction(number: int) -> Fraction:
    return Fraction(number)
