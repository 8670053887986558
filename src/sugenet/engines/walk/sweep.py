"""Walks shared between threads, and the store of all patterns that they find;
each pattern is judged once, when it is new.

Work goes in rounds. First every walk goes on for a while and puts what it finds into parts by hash; then
every part takes what is new into its table and has it judged. Neither step needs a lock, and what is found
does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bits.threads import share
from sugenet.bnn.arrays import Ints
from sugenet.bnn.memory import make_sure
from sugenet.engines.walk.judge import PatternJudge
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.first_layer import FirstLayer, reach

__all__ = ["Swept", "Walk", "lanes_for", "sweep_sets"]

WALKERS = 16
_ROOM = 1 << 10  # patterns of one walk and part in a round
_QUOTA = 1 << 20  # sets of one walk in a round, at most
_CALM = 1 << 18  # with fewer new patterns in a round, the next is twice as large
_TABLES = 1 << 31  # bytes of all tables
_HEAVY = 1 << 60
_SHARED = 4  # moves of the sets that are dealt out to the walks, each with all that it begins

Walk: TypeAlias = Callable[..., bool]
"""From a state, a quota, a wanted pattern, recent patterns, room for what is found and its counts: go on;
True when at the end.
"""


@dataclass(frozen=True)
class Swept:
    """All sets walked, or all up to the end of the round in which a violation was found."""

    sets: int
    patterns: int
    state: Ints | None
    """State of a walk at a violation."""


def lanes_for(first_layer: FirstLayer) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The lanes: how far each fragile neuron is past its turn at the sample (0 or more: it has turned), and
    what every move adds to that; in as few bytes as hold all sums. Behind the last, neurons that never turn.
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
    judge: PatternJudge,
    start: npt.NDArray[Any],
    moves: tuple[npt.NDArray[Any], Ints, Ints],
    budget: int | None,
    together: int,
    about: int,
    clock: Clock,
) -> tuple[Swept, list[int]] | None:
    """Walk all sets of moves of different features, but the empty one, within a budget, or all where it is
    None: what was met, and the moves of a violation; None when the time was up.

    Parameters
    ----------
    judge
        Of the patterns. The sample's own is known to be no violation, and is counted.
    start, moves
        The lanes at the sample; what each move adds to them, its weight, and the first move of the next
        feature.
    budget, together
        What the weights may sum to, below 2^60, and how many moves that allows at most.
    about
        About how many sets there are.
    clock
        Asked often, from any thread, one at a time.
    """
    from sugenet.engines.walk.kernels import HEAD, LEAF, SETS, WALKER
    from sugenet.engines.walk.twins import walk_sets

    rows, weight, after = moves
    lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], 4 * _HEAVY)
    ends = _ends(rows, after, whole=budget is None)
    shared = 1 if budget is not None else max(1, min(_SHARED, together - 1))
    limit = _HEAVY if budget is None else budget
    fixed = (np.ascontiguousarray(rows), weight, after, lightest, limit, WALKERS, shared, *ends)
    states = np.zeros((WALKERS, HEAD + together - 1), np.int64)
    states[:, WALKER] = range(WALKERS)

    def walk(state: Any, quota: int, want: Any, recent: Any, buckets: Any, counts: Any) -> bool:
        steps = min(quota, about // WALKERS)
        return bool(walk_sets(steps, state, quota, want, start, fixed, recent, buckets, counts))

    swept = _Sweep(judge, walk, states, about, clock).run()
    if swept is None or swept.state is None:
        return None if swept is None else (swept, [])
    depth = int(swept.state[SETS])
    return swept, [*swept.state[HEAD : HEAD + depth].tolist(), int(swept.state[LEAF])]


def _ends(rows: npt.NDArray[Any], after: Ints, *, whole: bool) -> tuple[Any, Any, Ints]:
    """The least and the most that moves from each on add together, one of each feature at most, and how many
    sets these have but the empty one; nothing where not all of them are allowed.
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


class _Sweep:
    """All walks on their way to their ends, or to the first round with a violation."""

    def __init__(self, judge: PatternJudge, walk: Walk, states: Ints, sets: int, clock: Clock) -> None:
        from sugenet.engines.walk.kernels import RECENT

        self.judge, self.walk, self.states, self.clock = judge, walk, states, clock
        words = judge.words
        parts = 1 << max(0, min(8, (sets >> 16).bit_length()) - (words >> 3).bit_length())
        recent = max(1 << 8, min(RECENT, 1 << (sets >> 8).bit_length()) >> (words - 1).bit_length())
        room = len(states) * (parts * _ROOM + recent) + (parts << 8)
        make_sure(8 * words * room, "the patterns of a walk", "Ask about a smaller region.")
        self.found = np.empty((len(states), parts, _ROOM, words), np.uint64)
        self.counts = np.zeros((len(states), parts), np.int64)
        self.recent = np.zeros((len(states), recent, words), np.uint64)
        self.recent[:, 0, 0] = 1  # 0 belongs to this place, and is not yet known
        self.table = np.zeros((parts, 1 << 8, words), np.uint64)
        self.sizes = np.zeros(parts, np.int64)
        self.lock, self.stopped = Lock(), False
        self.bad: list[tuple[int, ...]] = []

    def run(self) -> Swept | None:
        """Take all walks to their ends; None when the time was up."""
        from sugenet.engines.walk.kernels import DEPTH

        none = np.zeros(0, np.uint64)
        quota, live = 1 << 12, list(range(len(self.states)))
        while live and not self._give_up():
            before, known = self.states.copy(), int(self.sizes.sum())
            self.counts[:] = 0

            def go_on(start: int, stop: int, live: list[int] = live, quota: int = quota) -> None:
                for w in live[start:stop]:
                    if self._give_up():
                        return
                    self.walk(self.states[w], quota, none, self.recent[w], self.found[w], self.counts[w])

            share(go_on, len(live), 1, self.clock.threads)
            if self.stopped:
                return None
            self._make_room(int(self.counts.sum(axis=0).max()))
            share(self._settle, len(self.sizes), 1, self.clock.threads)
            if self.stopped:
                return None
            if self.bad:
                return self._swept(self._replay(np.array(min(self.bad), np.uint64), before))
            live = [w for w in live if self.states[w, DEPTH] >= 0]
            if int(self.sizes.sum()) - known < _CALM:
                quota = min(2 * quota, _QUOTA)
        return None if self.stopped else self._swept(None)

    def _give_up(self) -> bool:
        with self.lock:
            self.stopped = self.stopped or self.clock.up()
            return self.stopped

    def _make_room(self, coming: int) -> None:
        """Tables that stay at most three quarters full, whatever comes."""
        size = self.table.shape[1]
        while 4 * (int(self.sizes.max()) + coming) > 3 * size:
            size *= 2
        if size == self.table.shape[1]:
            return
        room = len(self.table) * size * 8 * self.judge.words
        make_sure(room, "the patterns of a walk", "Use another engine, or ask about a smaller region.")
        if room > _TABLES:
            raise TooLargeError(
                f"over {int(self.sizes.sum()):,} different patterns: too many to keep. Use another engine."
            )
        from sugenet.engines.walk.twins import rehash

        old, self.table = self.table, np.zeros((len(self.table), size, self.judge.words), np.uint64)

        def move(start: int, stop: int) -> None:
            rehash((stop - start) * old.shape[1], start, stop, old, self.table)

        share(move, len(old), 1, self.clock.threads)

    def _settle(self, part: int, stop: int) -> None:
        """Take what was found into some parts, and judge what is new."""
        from sugenet.engines.walk.twins import settle

        room = max(1 << 14, int(self.counts[:, part:stop].sum(axis=0).max())) + 1
        fresh = np.empty((room, self.judge.words), np.uint64)
        while part < stop:
            coming = int(self.counts[:, part:stop].sum())
            part, new = settle(coming, part, stop, self.table, self.sizes, self.found, self.counts, fresh)
            for k in range(0, new, self.judge.batch):
                if self._give_up():
                    return
                batch = fresh[k : min(k + self.judge.batch, new)]
                short = np.asarray(self.judge.shortfall(batch) <= 0)
                if short.any():
                    self.bad += [tuple(row) for row in batch[short].tolist()]

    def _replay(self, pattern: npt.NDArray[np.uint64], before: Ints) -> Ints:
        """Walk the last round once more to the first set with this pattern."""
        for w in range(len(before)):
            state: Ints = before[w]
            met = any(
                (self.found[w, p, :n] == pattern).all(axis=1).any()
                for p, n in enumerate(self.counts[w].tolist())
            )
            if met:
                self.walk(state, 0, pattern, self.recent[w], self.found[w], self.counts[w])
                return state
        raise AssertionError("a pattern that no walk has found")

    def _swept(self, state: Ints | None) -> Swept:
        from sugenet.engines.walk.kernels import SETS

        return Swept(int(self.states[:, SETS].sum()), int(self.sizes.sum()) + 1, state)
