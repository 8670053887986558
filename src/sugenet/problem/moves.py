"""Moves of features: what one is, and very many of them without an object each.

An image of bytes has hundreds of thousands of single changes, but features of one coding and one value have
the same ways to go, so these are kept once, and a move is made when somebody looks at it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "FeatureMove", "Moves", "Way", "columns_of", "listed"]


@dataclass(frozen=True, slots=True)
class FeatureMove:
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


class Way(NamedTuple):
    """A move without its feature."""

    state: int
    value: Any
    distance: Fraction
    price: Fraction
    weight: int


class Columns(NamedTuple):
    """Moves as arrays, in their order."""

    features: npt.NDArray[np.int64]
    states: npt.NDArray[np.int64]
    weights: npt.NDArray[Any]
    """Whole numbers; Python's own where they leave 62 bits."""


_FEW = 1 << 14
"""Moves that are made at once."""

_Ways: TypeAlias = tuple[Way, ...]


class Moves(Sequence[FeatureMove]):
    """The moves of many features, ordered by feature.

    Examples
    --------
    >>> up = (Way(1, 1, Fraction(1), Fraction(1), 1), Way(2, 2, Fraction(2), Fraction(2), 2))
    >>> moves = Moves({0: up, 3: up})
    >>> light = moves.where(lambda feature, way: way.weight == 1)
    >>> len(moves), moves[2].feature, [(move.feature, move.state) for move in light]
    (4, 3, [(0, 1), (3, 1)])
    """

    def __init__(self, ways: Mapping[int, _Ways]) -> None:
        self.ways = {feature: rows for feature, rows in ways.items() if rows}
        self._owners = list(self.ways)
        self._starts = np.cumsum([0, *map(len, self.ways.values())]).tolist()

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, place: int) -> FeatureMove: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[FeatureMove, ...]: ...
    def __getitem__(self, place: int | slice) -> FeatureMove | tuple[FeatureMove, ...]:
        if isinstance(place, slice):
            return tuple(self[k] for k in range(*place.indices(len(self))))
        number = range(len(self))[place]
        owner = bisect_right(self._starts, number) - 1
        feature = self._owners[owner]
        return FeatureMove(feature, *self.ways[feature][number - self._starts[owner]])

    def __iter__(self) -> Iterator[FeatureMove]:
        return (FeatureMove(feature, *way) for feature, rows in self.ways.items() for way in rows)

    def where(self, keep: Callable[[int, Way], bool], *, by_feature: bool = False) -> Moves:
        """Some of the moves; features that share their ways share what is kept of them,
        unless it depends on the feature too.
        """
        known: dict[int, _Ways] = {}
        found: dict[int, _Ways] = {}
        for feature, rows in self.ways.items():
            if by_feature or id(rows) not in known:
                kept = tuple(way for way in rows if keep(feature, way))
                known[id(rows)] = rows if len(kept) == len(rows) else kept
            found[feature] = known[id(rows)]
        return Moves(found)

    def columns(self) -> Columns:
        """The moves as arrays."""
        unlike = {id(rows): rows for rows in self.ways.values()}
        arrays = {
            key: _arrays([way.state for way in rows], [way.weight for way in rows])
            for key, rows in unlike.items()
        }
        own = [arrays[id(rows)] for rows in self.ways.values()]
        features = np.repeat(np.array(self._owners, np.int64), np.diff(self._starts))
        if not own:
            return Columns(features, features, features)
        return Columns(
            features,
            np.concatenate([states for states, _ in own]),
            np.concatenate([weights for _, weights in own]),
        )


def listed(moves: Moves) -> Sequence[FeatureMove]:
    """The moves one by one where they are few, else as they are."""
    return tuple(moves) if len(moves) <= _FEW else moves


def columns_of(moves: Sequence[FeatureMove]) -> Columns:
    """Moves as arrays."""
    if isinstance(moves, Moves):
        return moves.columns()
    features = np.fromiter((move.feature for move in moves), np.int64, len(moves))
    return Columns(features, *_arrays([move.state for move in moves], [move.weight for move in moves]))


def _arrays(states: list[int], weights: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    large = max(weights, default=0) >= 1 << 62
    return np.array(states, np.int64), np.array(weights, object if large else np.int64)
