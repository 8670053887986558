"""Compiled walks over sets of moves and over all combinations, and the table of their patterns
(docs/theory.md 7.3).

A *pattern* is the set of fragile neurons that have turned, one bit each; the sample's own is 0. Lanes hold
how far each neuron is past its turn, so that adding a move and comparing with zero gives 64 bits of pattern
in a few instructions. Patterns repeat a great deal: a small memory of recent ones drops most repeats without
a branch, a hash table the others. Shared instructions are in `lanes`; all else is in this file, since the
cache on disk is renewed when *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from __future__ import annotations

import numba as nb
import numpy as np

from sugenet.compiling import njit
from sugenet.engines.walk.lanes import GOLDEN, LANES, fetch, turned

__all__ = [
    "AHEAD",
    "CHUNK",
    "DEPTH",
    "HEAD",
    "LANES",
    "LEAF",
    "RECENT",
    "SETS",
    "TURN",
    "WALK",
    "shortfalls",
    "unseen",
    "walk_sets",
]

CHUNK = 256  # sets between two looks at whether there is room
RECENT = 1 << 16  # patterns that a walk remembers at most, to drop repeats
AHEAD = 16  # patterns between asking for an element of a table and looking at it
DEPTH, LEAF, SETS, WALK, TURN, HEAD = range(6)
"""A walk's state: moves chosen, next last move, sets walked, its number, prefixes dealt out; then moves."""


@njit(nogil=True, cache=True, inline="always")
def _mixed(key):
    """A hash all of whose bits are good."""
    h = key * GOLDEN
    h = (h ^ (h >> nb.uint64(32))) * nb.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True, inline="always")
def _folded(keys, row):
    """One word of a pattern's words."""
    h = keys[row, 0]
    for w in range(1, keys.shape[1]):
        h = (h ^ (h >> nb.uint64(29))) * GOLDEN ^ keys[row, w]
    return h


@njit(nogil=True, cache=True)
def _put(to, row, start):
    """Copy lanes into a row."""
    for lane in range(start.shape[0]):
        to[row, lane] = start[lane]


@njit(nogil=True, cache=True)
def _add(acc, depth, rows, k):
    """The lanes of the next depth, with one row more."""
    for lane in range(rows.shape[1]):
        acc[depth + 1, lane] = acc[depth, lane] + rows[k, lane]


@njit(nogil=True, cache=True)
def _line(acc, depth, rows, first, end, weight, high, recent, fresh, begin):
    """Write patterns of the sets that add one of the rows first..end-1 from an index on, without most
    repeats; the index after the last one, and how many sets there are.

    Both steps go without a branch that depends on a pattern: such a one costs more than all the rest.
    """
    lanes, words = rows.shape[1], fresh.shape[1]
    here, mask = depth * lanes, nb.uint64(recent.shape[0] - 1)
    n = last = nb.uint64(begin)
    if words == 1:
        for k in range(first, end):
            fresh[last, 0] = turned(acc, here, rows, k * lanes)
            last += nb.uint64(weight[k] <= high)
        for i in range(begin, nb.intp(last)):
            key = fresh[nb.uint64(i), 0]
            index = ((key * GOLDEN) >> nb.uint64(40)) & mask
            fresh[n, 0] = key
            n += nb.uint64(recent[index, 0] != key)
            recent[index, 0] = key
        return nb.intp(n), nb.intp(last) - begin
    for k in range(first, end):
        for w in range(words):
            fresh[last, nb.uint64(w)] = turned(acc, here + w * LANES, rows, k * lanes + w * LANES)
        last += nb.uint64(weight[k] <= high)
    for i in range(begin, nb.intp(last)):
        index = ((_folded(fresh, nb.uint64(i)) * GOLDEN) >> nb.uint64(40)) & mask
        differ = nb.uint64(0)
        for w in range(words):
            key = fresh[nb.uint64(i), nb.uint64(w)]
            differ |= recent[index, nb.uint64(w)] ^ key
            recent[index, nb.uint64(w)] = fresh[n, nb.uint64(w)] = key
        n += nb.uint64(differ != nb.uint64(0))
    return nb.intp(n), nb.intp(last) - begin


@njit(nogil=True, cache=True)
def _is_wanted(acc, depth, rows, k, want):
    lanes, same = rows.shape[1], True
    for w in range(want.shape[0]):
        same &= turned(acc, depth * lanes + w * LANES, rows, k * lanes + w * LANES) == want[w]
    return same


@njit(nogil=True, cache=True)
def _are_alike(acc, depth, lowest, highest, k):
    """Whether all sets have one pattern, whatever moves from k on they add."""
    lanes, same = acc.shape[1], True
    for w in range(lanes // LANES):
        at, of = depth * lanes + w * LANES, k * lanes + w * LANES
        same &= turned(acc, at, lowest, of) == turned(acc, at, highest, of)
    return same


@njit(nogil=True, cache=True)
def _end_of_light(lightest, first, high):
    """The first move from which on all are too heavy."""
    end, beyond = first, lightest.shape[0] - 1
    while end < beyond:
        middle = (end + beyond) // 2
        if lightest[middle] <= high:
            end = middle + 1
        else:
            beyond = middle
    return end


@njit(nogil=True, cache=True)
def _next_prefix(state, depth, acc, sums, moves):
    """Go on to the next prefix of this walk, or one that begins such a prefix: how many moves it has, -1 at
    the end.
    """
    rows, weight, after, lightest, budget, n_walks, shared, lowest, highest, below = moves
    count, k = rows.shape[0], rows.shape[0]
    if depth < state.shape[0] - HEAD:
        k = after[state[HEAD + depth - 1]] if depth > 0 else 0
    while True:
        while k < count and sums[depth] + weight[k] + lightest[after[k]] > budget:
            k += 1
        if k >= count:
            depth -= 1
            if depth < 0:
                return depth
            k = state[HEAD + depth] + 1
            continue
        if depth + 1 == shared:
            state[TURN] += 1
            if state[TURN] % n_walks != state[WALK]:
                k += 1
                continue
        _add(acc, depth, rows, k)
        if below.shape[0] > 0 and _are_alike(acc, depth + 1, lowest, highest, after[k]):
            if depth + 1 >= shared or state[WALK] == 0:
                state[SETS] += below[after[k]]
            k += 1
            continue
        sums[depth + 1] = sums[depth] + weight[k]
        state[HEAD + depth], state[LEAF] = k, after[k]
        return depth + 1


@njit(nogil=True, cache=True)
def walk_sets(state, quota, want, start, moves, recent, fresh):
    """Walk sets of moves of different features whose weights sum to at most a budget, from `state` on.

    A set is a prefix and a last move behind it. Prefixes come in the order of their numbers, each before
    those that it begins; those of `shared` moves, with all that they begin, belong to the walks in turn,
    shorter ones to the first walk. Of `moves` there is what they add to the lanes, their weights, the first
    move of the next feature, the least weight from each on, the budget, how many walks there are, and
    `shared`; and where everything fits the budget, the least and the most that moves from each on add
    together, and how many sets these have: where no neuron depends on them, one set stands for all.
    Stops after about `quota` sets or when `fresh` is full of patterns: how many there are; `DEPTH` is -1 when
    all sets are walked. With a pattern to `want`, stops at the first set that has it: the prefix is in the
    state, its length in `SETS`, the last move in `LEAF`.
    """
    rows, weight, lightest, budget, shared = moves[0], moves[1], moves[3], moves[4], moves[6]
    max_size, room = state.shape[0] - HEAD, fresh.shape[0] - CHUNK - 1
    acc = np.empty((max_size + 1, rows.shape[1]), rows.dtype)
    sums = np.zeros(max_size + 1, np.int64)
    _put(acc, 0, start)
    depth = state[DEPTH]
    for d in range(depth):
        k = state[HEAD + d]
        _add(acc, d, rows, k)
        sums[d + 1] = sums[d] + weight[k]
    walked = n = 0
    while depth >= 0:
        first, high = state[LEAF], budget - sums[depth]
        end = _end_of_light(lightest, first, high) if state[WALK] == 0 or depth >= shared else first
        while first < end:
            if want.shape[0] > 0:
                for k in range(first, end):
                    if weight[k] <= high and _is_wanted(acc, depth, rows, k, want):
                        state[LEAF], state[SETS] = k, depth
                        return n
                first = end
                continue
            if walked >= quota or n > room:
                state[DEPTH], state[LEAF] = depth, first
                state[SETS] += walked
                return n
            stop = min(first + CHUNK, end)
            n, sets = _line(acc, depth, rows, first, stop, weight, high, recent, fresh, n)
            walked += sets
            first = stop
        depth = _next_prefix(state, depth, acc, sums, moves)
    state[DEPTH] = -1
    state[SETS] += walked
    return n


@njit(nogil=True, cache=True)
def unseen(table, fresh, count):
    """Move those of so many patterns to the front that an open hash table does not hold, and put them there;
    how many. An element of 0 is empty, so the pattern 0, the sample's own, is never new.
    """
    words, mask = table.shape[1], nb.uint64(table.shape[0] - 1)
    n = nb.uint64(0)
    for i in range(count):
        if i + AHEAD < count:
            fetch(table, nb.intp(_mixed(_folded(fresh, nb.uint64(i + AHEAD))) & mask) * words)
        index = _mixed(_folded(fresh, nb.uint64(i))) & mask
        while True:
            used = differ = nb.uint64(0)
            for w in range(words):
                used |= table[index, nb.uint64(w)]
                differ |= table[index, nb.uint64(w)] ^ fresh[nb.uint64(i), nb.uint64(w)]
            if differ == nb.uint64(0) or used == nb.uint64(0):
                break
            index = (index + nb.uint64(1)) & mask
        for w in range(words):
            table[index, nb.uint64(w)] = fresh[n, nb.uint64(w)] = fresh[nb.uint64(i), nb.uint64(w)]
        n += nb.uint64(differ != nb.uint64(0))
    return nb.intp(n)


@njit(nogil=True, cache=True)
def shortfalls(counts, shift, votes, out):
    """What the nearest case of a goal misses at its worst inequality, for each row of match counts.

    Inequality q sums ``factors[i]`` times the match count of ``classes[i]`` for i in
    starts[q]..starts[q+1]-1; case c needs those numbered ``members[cases[c]:cases[c+1]]``.
    """
    starts, classes, factors, min_sums, cases, members = votes
    block = 512
    columns = np.empty((counts.shape[1], block), np.int64)
    missing, worst = np.empty((min_sums.shape[0], block), np.int64), np.empty(block, np.int64)
    for first in range(0, counts.shape[0], block):
        size = min(block, counts.shape[0] - first)
        for k in range(counts.shape[1]):
            for row in range(size):
                columns[k, row] = counts[first + row, k] + shift[k]
        for q in range(min_sums.shape[0]):
            for row in range(size):
                missing[q, row] = min_sums[q]
            for i in range(starts[q], starts[q + 1]):
                factor, column = factors[i], columns[classes[i]]
                for row in range(size):
                    missing[q, row] -= factor * column[row]
        best = out[first : first + size]
        for row in range(size):
            best[row] = 1
        for c in range(cases.shape[0] - 1):
            for row in range(size):
                worst[row] = 0
            for m in range(cases[c], cases[c + 1]):
                for row in range(size):
                    worst[row] = (
                        missing[members[m], row]
                        if m == cases[c]
                        else max(worst[row], missing[members[m], row])
                    )
            for row in range(size):
                best[row] = worst[row] if c == 0 else min(best[row], worst[row])
