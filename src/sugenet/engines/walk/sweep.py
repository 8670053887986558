"""Walks over all sets of moves, shared between threads. New patterns are evaluated.

A walk collects patterns until its buffer is full. Those that are not in the table of its thread are evaluated
and added to it. A full table is emptied. The result does not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.threads import Search, search_in_order
from sugenet.engines.walk.patterns import PatternGoal, Walked
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Ints, make_sure
from sugenet.problem import Clock, FirstLayer, reach

__all__ = ["lanes_for", "sweep_sets"]

_WALKS, _SHORT = 16, 1 << 12
"""Largest number of walks that share all sets, and number of sets below which no walk is added."""
_QUOTA = 1 << 20  # largest number of sets between two evaluations
_TABLE = 1 << 27  # largest size of a table in bytes
_HEAVY = 1 << 60
_SHARED = 4  # moves of the sets that are dealt to the walks, each with all that it begins


def lanes_for(first_layer: FirstLayer) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the lanes in the smallest type that holds all sums.

    They are the distance of each fragile neuron past its turn at the sample (0 or more: it has turned), and
    the contribution of every move. After the last come neurons that never turn.
    """
    near, active = first_layer.neighbourhood, first_layer.margins >= 0
    start = np.where(active, -1 - first_layer.margins, first_layer.margins)
    moves = np.where(active, -first_layer.deltas, first_layer.deltas)
    far = (
        np.maximum(reach(near, first_layer.deltas), reach(near, -first_layer.deltas))
        + np.abs(first_layer.margins)
        + 1
    )
    largest = max(int(far.max(initial=0)), int(np.abs(moves).max(initial=0)))
    kinds = [kind for kind in (np.int8, np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max]
    if not kinds:
        raise TooLargeError("the first layer's sums are too large for a walk: they must stay below 2^63.")
    width = max(1, -(-len(start) // 64)) * 64
    lanes, rows = np.full(width, -1, kinds[0]), np.zeros((len(moves), width), kinds[0])
    lanes[: len(start)], rows[:, : len(start)] = start, moves
    return lanes, rows


def sweep_sets(
    patterns: PatternGoal,
    start: npt.NDArray[Any],
    moves: tuple[npt.NDArray[Any], Ints, Ints],
    budget: int | None,
    together: int,
    about: int,
    clock: Clock,
) -> Walked | None:
    """Walk all sets of moves of different features within a budget, or all if it is None, until one reaches
    the goal; None if the time was up.

    Parameters
    ----------
    patterns
        The goal. The sample's own pattern is known not to reach it.
    start, moves
        The lanes at the sample; the contribution of each move, its weight, and the first move of the next
        feature.
    budget, together
        Limit on the sum of the weights, below 2^60, and the largest number of moves within it.
    about
        Approximate number of sets.
    clock
        Checked often, from any thread, one at a time.
    """
    from sugenet.engines.walk.kernels import DEPTH, HEAD, LEAF, SETS, WALK
    from sugenet.engines.walk.twins import walk_sets

    rows, weight, after = moves
    lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], 4 * _HEAVY)
    n_walks = max(1, min(_WALKS, about // _SHORT))
    shared = 1 if budget is not None else max(1, min(_SHARED, together - 1))
    limit, ends = _HEAVY if budget is None else budget, _ends(rows, after, whole=budget is None)
    fixed = (np.ascontiguousarray(rows), weight, after, lightest, limit, n_walks, shared, *ends)
    none = np.zeros(0, np.uint64)

    def searcher() -> Search[Walked]:
        memory = _Memory(patterns, about)

        def search(number: int, is_stopped: Callable[[], bool]) -> Walked | None:
            state, quota = np.zeros(HEAD + together - 1, np.int64), _SHORT
            state[WALK] = number
            while state[DEPTH] >= 0:
                if is_stopped():
                    return None
                before, steps = state.copy(), min(quota, about // n_walks)
                room = memory.recent, memory.fresh
                pattern = memory.first_reached(walk_sets(steps, state, quota, none, start, fixed, *room))
                if pattern is not None:  # from its last position to the first set with this pattern
                    walk_sets(steps, before, quota, pattern, start, fixed, *room)
                    depth = int(before[SETS])
                    return Walked(
                        int(state[SETS]), [*before[HEAD : HEAD + depth].tolist(), int(before[LEAF])]
                    )
                quota = min(2 * quota, _QUOTA)
            return Walked(int(state[SETS]), None)

        return search

    results = search_in_order(
        n_walks, searcher, lambda walked: walked.moves is not None, clock.up, clock.threads
    )
    sets = 1 + sum(walked.sets for walked in results.values())
    chosen = next((walked.moves for _, walked in sorted(results.items()) if walked.moves is not None), None)
    return None if chosen is None and len(results) < n_walks else Walked(sets, chosen)


def _ends(rows: npt.NDArray[Any], after: Ints, *, whole: bool) -> tuple[Any, Any, Ints]:
    """Return the minimum and maximum total contribution of the moves from each on, at most one per feature,
    and the number of their nonempty sets. Empty if not all of them are allowed.
    """
    if not whole:
        return rows[:0], rows[:0], np.zeros(0, np.int64)
    lowest, highest = np.zeros((2, len(rows) + 1, rows.shape[1]), rows.dtype)
    below = np.zeros(len(rows) + 1, np.int64)
    stop = len(rows)
    while stop:
        first = int(np.searchsorted(after, stop))
        lowest[first] = lowest[stop] + np.minimum(rows[first:stop].min(axis=0), 0)
        highest[first] = highest[stop] + np.maximum(rows[first:stop].max(axis=0), 0)
        below[first] = (below[stop] + 1) * (stop - first + 1) - 1
        stop = first
    return lowest, highest, below


class _Memory:
    """Patterns that a thread has met."""

    def __init__(self, patterns: PatternGoal, about: int) -> None:
        from sugenet.engines.walk.kernels import CHUNK, RECENT

        self.patterns, words = patterns, patterns.words
        room = min(patterns.batch, about) + CHUNK + 1
        n_recent = max(1 << 8, min(RECENT, 1 << (about >> 4).bit_length()) >> (words - 1).bit_length())
        n_known = 4 << room.bit_length()
        make_sure(
            8 * words * (room + n_recent + n_known), "the patterns of a walk", "Ask about a smaller region."
        )
        self.recent = np.zeros((n_recent, words), np.uint64)
        self.fresh = np.empty((room, words), np.uint64)
        """Patterns of the last part of a walk."""
        self.table, self.n_known = np.zeros((n_known, words), np.uint64), 0

    def first_reached(self, count: int) -> npt.NDArray[np.uint64] | None:
        """Return the first of `count` fresh patterns that reaches the goal, if one does."""
        from sugenet.engines.walk.twins import unseen

        if 2 * (self.n_known + count) > len(self.table):
            size = 4 * len(self.table) if 4 * self.table.nbytes <= _TABLE else len(self.table)
            self.table, self.n_known = np.zeros((size, self.patterns.words), np.uint64), 0
        n_new = unseen(count, self.table, self.fresh, count)
        self.n_known += n_new
        is_reached = self.patterns.reached(self.fresh[:n_new])
        return self.fresh[np.argmax(is_reached)].copy() if is_reached.any() else None
