"""Flip enumeration: all sets of moves, level by level of cost, each judged by its signature (DESIGN section 4).

Signatures repeat a great deal, so the network behind the first layer runs once for each new one. A level that is walked through without a
violation is proved; the first violation found is of least cost, because levels rise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.layers import Ints
from sugenet.errors import TooLargeError
from sugenet.reason.front import Front, reach
from sugenet.reason.regions import Move

__all__ = ["FlipLevel", "flip_level", "insert", "prepare_flips"]

_LANES = 64
_NEW = 1 << 14
_TABLE = 1 << 16
_LARGEST_TABLE = 1 << 26


@dataclass(frozen=True)
class FlipLevel:
    """What was found among the sets of moves whose weights sum to more than `floor` and at most `budget`."""

    floor: int
    budget: int
    sets: int
    """Sets walked through."""
    signatures: int
    """Different activities of the fragile neurons seen so far, the sample's own included."""
    violation: tuple[Move, ...] | None
    """A set of moves of this level that violates the property, or None: then none of this level does."""


def flip_level(
    front: Front,
    violates: Callable[[Ints], npt.NDArray[np.bool_]],
    floor: int,
    budget: int,
    stop: Callable[[], bool] = lambda: False,
) -> FlipLevel | None:
    """Walk all sets of moves whose weights sum to more than `floor` and at most `budget`, until one violates.

    Parameters
    ----------
    front
        The neighbourhood, seen from the first layer; its own budget must allow `budget`.
    violates
        From match counts of the classes, one row a case, to whether the property is violated.
    floor, budget
        The level, in units of the neighbourhood.
    stop
        Asked now and then whether to give up; the answer is then None.
    """
    return _Walk(front, violates, stop).level(floor, budget)


def prepare_flips(notify: Callable[[str], None] | None = None) -> None:
    """Load the compiled walk; `notify` is told first where it has to be compiled."""
    from sugenet.reason.flip_kernels import prepare

    prepare(notify)


class _Walk:
    """The tables that one enumeration keeps from level to level."""

    def __init__(self, front: Front, violates: Callable[[Ints], npt.NDArray[np.bool_]], stop: Callable[[], bool]) -> None:
        self.front, self.violates, self.stop = front, violates, stop
        self.moves = front.neighbourhood.moves
        lanes = max(1, -(-len(front.fragile) // _LANES)) * _LANES
        near = front.neighbourhood
        farthest = np.maximum(reach(near, front.deltas), reach(near, -front.deltas)) + np.abs(front.margins)
        if int(farthest.max(initial=0)) >= 1 << 15:
            raise TooLargeError("the first layer's sums are too large for flip enumeration: they must stay below 2^15.")
        self.deltas = np.zeros((len(self.moves), lanes), np.int16)
        self.deltas[:, : len(front.fragile)] = front.deltas
        self.margins = np.full(lanes, -1, np.int16)
        self.margins[: len(front.fragile)] = front.margins
        self.feature = np.array([move.feature for move in self.moves], np.int64)
        if sum(move.weight for move in self.moves) >= 1 << 62:
            raise TooLargeError("the costs are too finely divided for flip enumeration: as whole numbers they leave 62 bits")
        self.weight = np.array([move.weight for move in self.moves], np.int64)
        self.words = lanes // _LANES
        self._tables(_TABLE)

    def _tables(self, capacity: int) -> None:
        self.table = np.zeros((capacity, self.words), np.uint64)
        self.filled = np.zeros(capacity, np.uint8)
        self.state = np.zeros(3, np.int64)  # entries, sets walked, new signatures

    def level(self, floor: int, budget: int) -> FlipLevel | None:
        """Walk one level, the sets that begin with each move in turn."""
        lightest = int(self.weight.min(initial=1))
        largest = min(len(set(self.feature.tolist())), budget // max(lightest, 1))
        for size in range(1, largest + 1):
            chunk = len(self.moves) if size < 3 else 1
            for first in range(0, len(self.moves), chunk):
                if self.stop():
                    return None
                violation = self._chunk(size, first, min(first + chunk, len(self.moves)), floor, budget)
                if violation is not None:
                    return FlipLevel(floor, budget, int(self.state[1]), int(self.state[0]), violation)
        return FlipLevel(floor, budget, int(self.state[1]), int(self.state[0]), None)

    def _chunk(self, size: int, first: int, end: int, floor: int, budget: int) -> tuple[Move, ...] | None:
        """Walk the sets of one size whose first move is one of first..end-1."""
        from sugenet.reason.flip_kernels import scan

        prefix = self._start(size, first)
        last = first if size == 1 else 0
        new = np.zeros((_NEW, self.words), np.uint64)
        sets = np.zeros((_NEW, size), np.int64)
        while prefix is not None and last != -1:
            arrays = (self.deltas, self.margins, self.feature, self.weight, floor, budget, self.table, self.filled, self.state, new, sets)
            last = scan(size, last, prefix, end, *arrays)
            bad = self._judge(new[: int(self.state[2])])
            if bad is not None:
                return tuple(self.moves[int(number)] for number in sets[bad])
            self.state[2] = 0
            if last != -1 and 2 * int(self.state[0]) >= len(self.table):
                self._grow()
        return None

    def _start(self, size: int, first: int) -> npt.NDArray[np.int64] | None:
        """The first size - 1 moves of different features, beginning with `first`; None when there are too few features."""
        later = np.flatnonzero(np.diff(self.feature, prepend=-1))
        later = later[later > first]
        chosen = [first, *later[self.feature[later] != self.feature[first]].tolist()]
        return np.array(chosen[: size - 1], np.int64) if len(chosen) >= size else None

    def _judge(self, signatures: npt.NDArray[np.uint64]) -> int | None:
        """Number of the first signature that violates the property."""
        if not len(signatures):
            return None
        octets = np.ascontiguousarray(signatures).view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, : len(self.front.fragile)]
        bad = self.violates(self.front.scores(bits))
        return int(np.argmax(bad)) if bad.any() else None

    def _grow(self) -> None:
        """A table twice as large, with the same signatures."""
        if 2 * len(self.table) > _LARGEST_TABLE:
            raise TooLargeError(f"over {len(self.table) // 2:,} different signatures: too many to keep. Use another engine.")
        old, entries = self.table[self.filled == 1], self.state.copy()
        self._tables(2 * len(self.table))
        self.state[:] = entries
        insert(self.table, self.filled, old)


def insert(table: Any, filled: Any, keys: Any) -> None:
    """Put keys into an empty hash table, with the hash of the compiled walk."""
    mask = np.uint64(len(table) - 1)
    with np.errstate(over="ignore"):
        h = np.full(len(keys), 1469598103934665603, np.uint64)
        for w in range(keys.shape[1]):
            h = (h ^ keys[:, w]) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
    for place, key in zip((h & mask).astype(np.int64).tolist(), keys, strict=True):
        while filled[place]:
            place = (place + 1) & int(mask)
        filled[place] = 1
        table[place] = key
