"""Enumerate all sets of options, and evaluate each distinct pattern of neurons once.

To be ensured: no set within the budget is missing, and each distinct pattern of the first layer is evaluated
through all later layers (`later`). No code is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-arg"

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Ints, Layer, Summing, bits_layer
from sugenet.checker.accelerate.integers import ArrayProblem, Options, OptionTable, joined
from sugenet.checker.accelerate.later import Patterns, cores, counts_after
from sugenet.checker.accelerate.vectors import fetch, reaches
from sugenet.checker.limit import Limit
from sugenet.compiling import njit
from sugenet.errors import TooLargeError

__all__ = ["SetWalk", "WalkSeen", "walk", "walk_seen"]

_CHUNK = 1 << 17  # words of patterns that a thread finds before they are merged
_LINE = 1 << 8  # sets that are visited without checking the space for patterns
_AHEAD = 16  # patterns between prefetching a table entry and reading it
_STEPS = 1 << 22  # sets times words that a thread visits between checks of the clock
_TOO_HEAVY = 1 << 60
_RECENT = 1 << 16  # words of patterns that a thread caches before it looks them up
_TOGETHER = 1 << 9  # combinations of the last features that are merged into options of one
_SHARED = 2  # sets of this many options are distributed over the threads, each with all its extensions
_WRITTEN = 1 << 22
"""Up to this many weights of later layers, convolutions are written out as neurons, which is faster."""


@dataclass(frozen=True)
class WalkSeen:
    """Results of a walk over all sets of options."""

    sets: int
    """Number of sets, including the empty one."""
    patterns: int
    """Number of distinct sets of first-layer neurons that they turn, including the empty one."""
    bad: bool
    """Whether some pattern is a violation."""


def walk_seen(integer_problem: ArrayProblem) -> int | None:
    """Return the number of sets, or None if one of them is a violation."""
    problem = (
        integer_problem.base,
        integer_problem.features,
        integer_problem.budget,
        _behind(integer_problem),
        integer_problem.head,
        integer_problem.violates,
    )
    seen = walk(*problem, limit=integer_problem.limit)
    return None if seen.bad else seen.sets


def _behind(problem: ArrayProblem) -> Sequence[Layer]:
    """Return the later layers written out, or as they are if some would be large or have no neurons."""
    size = sum(layer.outputs * layer.inputs for layer in problem.later if not isinstance(layer, Summing))
    is_empty = not len(problem.base) or any(layer.outputs == 0 for layer in problem.later)
    if is_empty or size > _WRITTEN:
        return problem.later
    return [bits_layer(weights, tau) for weights, tau in problem.layers]


def walk(
    base: Ints,
    features: Options,
    budget: int | None,
    layers: Sequence[Layer],
    head: Ints,
    violates: Callable[[Ints], npt.NDArray[np.bool_]],
    threads: int | None = None,
    limit: Limit | None = None,
) -> WalkSeen:
    """Visit every set with at most one option per feature and weights within the budget; evaluate every
    pattern.

    Parameters
    ----------
    base
        M - tau of the first layer at the sample.
    features
        For each feature its options: an integer weight, and the gains of the option in `base`.
    budget
        Largest sum of the weights; None allows every set.
    layers
        The layers after the first.
    head
        Weights of the head, one row per class.
    violates
        Function that tells whether match counts of the classes, one row per pattern, are a violation. It is
        called from several threads.
    threads
        Number of threads; None for one per core.
    limit
        Limit of time and memory.
    """
    limit = limit or Limit(None, None)
    count = threads or cores()
    sets = SetWalk(base, features, budget, limit, count)
    words = sets.words
    batch, counts = counts_after(np.asarray(base) >= 0, sets.loose, layers, head, limit)
    tally = _Tally(count, words, limit)
    with ThreadPoolExecutor(count) as pool, tally:
        tables = list(pool.map(lambda turn: _share(sets, turn, tally), range(count)))
        known, size = tables[0]
        for others, n_patterns in tables[1:]:
            known, size = tally.put(0, known, size, _listed(others, n_patterns))
        tables.clear()
        limit.fits(16 * words * (size + 1), "all patterns of a walk")
        patterns = np.concatenate([_listed(known, size), np.zeros((1, words), np.uint64)])
        del known

        def is_bad(k: int) -> bool:
            limit.look()
            return bool(np.any(violates(counts(patterns[k : k + batch]))))

        bad = any(pool.map(is_bad, range(0, len(patterns), batch)))
    return WalkSeen(sum(tally.walked), len(patterns), bad)


class SetWalk:
    """All sets of options of different features within a budget, for the kernel that enumerates them.

    Parameters
    ----------
    base, features, budget, limit
        As in `walk`.
    threads
        Number of threads that enumerate them.
    """

    def __init__(self, base: Ints, features: Options, budget: int | None, limit: Limit, threads: int) -> None:
        used = [list(options) for options in features if len(options)]
        heaviest = _heaviest(used, budget)
        free = sum(max(price for price, _ in options) for options in used) <= heaviest
        if free:  # prices do not matter
            used, heaviest = joined(used, _TOGETHER), 0
        table = OptionTable(base, used, heaviest, limit)
        low, high, gains = table.low, table.high, table.gains
        self.together, self.loose = table.together, table.loose
        # every sum, also an intermediate one, is between these ends, and no option adds more than they allow
        far = [np.abs(part[self.loose]).max(initial=0) for end in (low, high) for part in (end, end - base)]
        largest, n_loose = int(max(far)), len(self.loose)
        kind = np.dtype(np.int8 if largest < 1 << 7 else np.int32 if largest < 1 << 31 else np.int64)
        self.words = max(1, -(-n_loose // 64))
        n_ends = 2 * (len(gains) + 1) if free else 0
        limit.take(
            64 * self.words * kind.itemsize * (len(gains) + 1 + n_ends + threads * (self.together + 3)),
            "all changes of a walk",
        )
        lanes = np.zeros((len(gains) + 1, 64 * self.words), kind)
        lanes[0] = -1  # neurons that never turn, after the last
        lanes[0, :n_loose], lanes[1:, :n_loose] = base[self.loose], gains[:, self.loose]
        options = (table.weight, table.behind, table.lightest, heaviest)
        ends = _ends(lanes[1:], [len(row) for row in used], free=free)
        self.fixed = (lanes[0], lanes[1:], options, ends)

    def visits(self, turn: int, turns: int, recent: int) -> Iterator[tuple[Patterns, int]]:
        """Enumerate one of `turns` shares of the sets.

        Yield patterns of the neurons that turn, as bits in an array that is reused, and the number of sets
        visited so far, including the empty one. `recent` is the number of patterns to remember. Of equal
        patterns within that distance only one is yielded. The empty pattern, and sets equivalent to an
        earlier one, are skipped. With 0, there is one pattern for every set but the empty one.
        """
        start, rows, options, ends = self.fixed
        if not recent:
            ends = (rows[:0], rows[:0], np.zeros(0, np.int64))
        chosen = np.full(self.together, -1, np.int64)
        state = np.zeros(4, np.int64)
        state[3] = turn == 0  # the empty set
        chunk = np.zeros((max(2 * _LINE, _CHUNK // self.words), self.words), np.uint64)
        known = np.zeros((recent, self.words), np.uint64)
        steps, more = max(1, _STEPS // self.words), True
        while more:
            more, n_patterns = _visit(
                state, chosen, start, rows, options, ends, turn, turns, _each(self.words), known, chunk, steps
            )
            yield chunk[:n_patterns], int(state[3])


def _ends(rows: npt.NDArray[Any], sizes: list[int], *, free: bool) -> tuple[Any, Any, Ints]:
    """Return bounds for each option: the smallest and largest gain of it and those after it, and the number
    of their nonempty sets. Return nothing if not all sets are allowed.
    """
    begins = np.cumsum([0, *sizes])
    if not free or prod(size + 1 for size in sizes) >= _TOO_HEAVY:
        return rows[:0], rows[:0], np.zeros(0, np.int64)
    min_sums, max_sums = np.zeros((2, len(rows) + 1, rows.shape[1]), rows.dtype)
    below = np.zeros(len(rows) + 1, np.int64)
    for first, stop in reversed(list(pairwise(begins.tolist()))):
        min_sums[first] = min_sums[stop] + np.minimum(rows[first:stop].min(axis=0), 0)
        max_sums[first] = max_sums[stop] + np.maximum(rows[first:stop].max(axis=0), 0)
        below[first] = (below[stop] + 1) * (stop - first + 1) - 1
    return min_sums, max_sums, below


def _each(words: int) -> Any:
    """Return the words of a pattern for compiled loops: one word is a tuple, whose length the
    compiler knows.
    """
    return (0,) if words == 1 else np.zeros(words, np.int64)


class _Tally:
    """The results of all threads of a walk."""

    def __init__(self, threads: int, words: int, limit: Limit) -> None:
        self.threads, self.words, self.limit = threads, words, limit
        self.walked = [0] * threads  # sets of each thread
        self.room = [0] * threads  # bytes of each thread's table
        self.stopped = False

    def __enter__(self) -> _Tally:
        return self

    def __exit__(self, *error: object) -> None:
        self.stopped = True  # an error or an interrupt in one thread soon ends the others

    def put(self, turn: int, known: Patterns, size: int, more: Patterns) -> tuple[Patterns, int]:
        """Add patterns to a thread's table; use a larger table if it is too full and memory allows it."""
        if 2 * (size + len(more)) > len(known):
            room = 1 << (2 * (size + len(more))).bit_length()
            self.room[turn] = 8 * self.words * room
            self.limit.fits(sum(self.room) + 16 * self.words * size, "the patterns of a walk")
            old, known = _listed(known, size), np.zeros((room, self.words), np.uint64)
            _put(known, old, _each(self.words))
        size += int(_put(known, more, _each(self.words)))
        return known, size


def _heaviest(used: list[list[tuple[int, Ints]]], budget: int | None) -> int:
    """Return the largest allowed sum of the weights of options."""
    weights = [int(weight) for options in used for weight, _ in options]
    if any(weight < 0 for weight in weights):
        raise ValueError("an option has a negative weight.")
    if sum(weights) >= _TOO_HEAVY:
        raise TooLargeError("the costs are too finely divided to walk through again.")
    if budget is not None and budget < 0:
        raise ValueError(f"a budget of {budget} does not even allow the empty set.")
    return sum(weights) if budget is None else min(int(budget), sum(weights))


def _share(sets: SetWalk, turn: int, tally: _Tally) -> tuple[Patterns, int]:
    """Compute one thread's share of the sets.

    Return a table of their distinct patterns except the empty one (0 marks a free entry), and its size.
    """
    words = tally.words
    known, size = np.zeros((64, words), np.uint64), 0
    for patterns, seen in sets.visits(turn, tally.threads, 1 << max(6, (_RECENT // words).bit_length() - 1)):
        tally.walked[turn] = seen
        known, size = tally.put(turn, known, size, patterns)
        if tally.stopped:
            break
        tally.limit.look()
    return known, size


@njit(nogil=True, cache=True)
def _put(known, patterns, words):
    """Add patterns to the table, in which 0 marks a free entry; return the number of new nonzero patterns."""
    new, last = 0, nb.uint64(len(known) - 1)  # the size is a power of 2
    for row in range(len(patterns)):
        if row + _AHEAD < len(patterns):
            fetch(known, nb.int64(_mix(patterns, nb.uint64(row + _AHEAD)) & last) * len(words))
        index = _mix(patterns, nb.uint64(row)) & last
        while True:
            free = same = True
            for w in range(len(words)):
                free &= known[index, w] == 0
                same &= known[index, w] == patterns[row, w]
            if free or same:
                break
            index = (index + nb.uint64(1)) & last
        new += not same
        for w in range(len(words)):
            known[index, w] = patterns[row, w]
    return new


@njit(nogil=True, cache=True)
def _listed(known, size):
    """Return the patterns in a table."""
    out = np.empty((size, known.shape[1]), np.uint64)
    n = 0
    for index in range(len(known)):
        some = nb.uint64(0)
        for w in range(known.shape[1]):
            some |= known[index, w]
        if some != nb.uint64(0):
            for w in range(known.shape[1]):
                out[n, w] = known[index, w]
            n += 1
    return out


@njit(nogil=True, cache=True)
def _mix(patterns, row):
    mixed = nb.uint64(0)
    for w in range(patterns.shape[1]):
        mixed = nb.uint64((mixed ^ patterns[row, nb.uint64(w)]) * nb.uint64(0xD1342543DE82EF95))
        mixed ^= mixed >> nb.uint64(31)
    return mixed


@njit(nogil=True, cache=True)
def _line(sums, depth, rows, first, stop, weight, left, active, words, recent, chunk, size):
    """Write the patterns of the sets that add one of the options first..stop-1, within the remaining budget.

    Return the number of patterns in the chunk, and the number of sets. A pattern that was written recently,
    or is empty, is not written again, unless nothing is stored in `recent`. No branch depends on a pattern,
    since that would cost more than all the rest.
    """
    lanes = rows.shape[1]
    begin = n = nb.uint64(size)
    for k in range(first, stop):
        for w in range(len(words)):
            key = reaches(sums, depth * lanes + 64 * w, rows, k * lanes + 64 * w) ^ active[w]
            chunk[n, nb.uint64(w)] = key
        n += nb.uint64(weight[k] <= left)
    if len(recent) == 0:
        return nb.int64(n), nb.int64(n - begin)
    kept, last = begin, nb.uint64(len(recent) - 1)
    for i in range(begin, n):
        index, differ = _mix(chunk, nb.uint64(i)) & last, nb.uint64(0)
        for w in range(len(words)):
            key = chunk[nb.uint64(i), nb.uint64(w)]
            differ |= recent[index, nb.uint64(w)] ^ key
            recent[index, nb.uint64(w)] = chunk[kept, nb.uint64(w)] = key
        kept += nb.uint64(differ != nb.uint64(0))
    return nb.int64(kept), nb.int64(n - begin)


@njit(nogil=True, cache=True)
def _are_alike(sums, depth, min_sums, max_sums, k):
    """Return whether no neuron depends on the options from k on."""
    lanes, same = sums.shape[1], True
    for w in range(lanes >> 6):
        at, of = depth * lanes + 64 * w, k * lanes + 64 * w
        same &= reaches(sums, at, min_sums, of) == reaches(sums, at, max_sums, of)
    return same


@njit(nogil=True, cache=True)
def _visit(state, chosen, start, rows, options, ends, turn, turns, words, recent, chunk, steps):
    """Visit sets, starting from `state` and `chosen`, and write the neurons that each turns.

    It stops when the chunk is full, or after `steps` steps. Return whether there are more sets, and the
    number of patterns written.

    A set is a *beginning* and a last option after it; beginnings are visited depth first. ``state`` contains
    the number of options of the beginning, the next last option, the number of beginnings of `_SHARED`
    options visited, and the number of sets visited. Such beginnings, with their extensions, are assigned to
    the threads in turn; shorter ones belong to the first thread. If everything fits the budget, `ends`
    contains the smallest and largest gains of the options from each one on, and the number of their sets. If
    no neuron depends on them, one set represents all.
    """
    weight, behind, lightest, limit = options
    min_sums, max_sums, below = ends
    n_options, lanes = rows.shape
    sums, spent = np.zeros((len(chosen) + 1, lanes), start.dtype), np.zeros(len(chosen) + 1, np.int64)
    active = np.zeros(lanes >> 6, np.uint64)
    for j in range(lanes):
        sums[0, j] = start[j]
        active[j >> 6] |= nb.uint64(start[j] >= 0) << nb.uint64(j & 63)
    depth, size = state[0], 0
    for d in range(depth):
        for j in range(lanes):
            sums[d + 1, j] = sums[d, j] + rows[chosen[d], j]
        spent[d + 1] = spent[d] + weight[chosen[d]]
    while depth >= 0:
        left = limit - spent[depth]
        while state[1] < n_options and lightest[state[1]] <= left and (turn == 0 or depth >= _SHARED):
            if steps < 0 or size + _LINE > len(chunk):
                state[0] = depth
                return True, size
            stop = min(state[1] + _LINE, n_options)
            size, sets = _line(
                sums, depth, rows, state[1], stop, weight, left, active, words, recent, chunk, size
            )
            state[1], state[3] = stop, state[3] + sets
            steps -= sets
        k = n_options  # the option that forms the next beginning
        if depth < len(chosen):
            k = behind[chosen[depth - 1]] if depth else 0
        while depth >= 0:
            while k < n_options and spent[depth] + weight[k] + lightest[behind[k]] > limit:
                k += 1
            if k >= n_options:
                depth -= 1
                k = chosen[depth] + 1 if depth >= 0 else n_options
                continue
            steps -= 1
            if depth + 1 == _SHARED:
                state[2] += 1
                if state[2] % turns != turn:
                    k += 1
                    continue
            for j in range(lanes):
                sums[depth + 1, j] = sums[depth, j] + rows[k, j]
            if len(below) > 0 and _are_alike(sums, depth + 1, min_sums, max_sums, behind[k]):
                if turn == 0 or depth + 1 >= _SHARED:
                    state[3] += below[behind[k]]
                k += 1
                continue
            spent[depth + 1] = spent[depth] + weight[k]
            chosen[depth], state[1] = k, behind[k]
            depth += 1
            break
    return False, size
