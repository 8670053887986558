"""Compiled walks over sets of moves and over all combinations, and the table of their patterns
(docs/theory.md 7.3).

A *pattern* is the set of fragile neurons that have turned, one bit each; that of the sample is 0. Lanes hold
the distance of each neuron past its turn. Adding a move and comparing with zero then gives 64 bits of pattern
in a few instructions. Patterns repeat often: a small cache of recent ones drops most repeats without a
branch, a hash table the others. Shared instructions are in `lanes`. Everything else is in this file, because
the cache on disk is renewed only if *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

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

CHUNK = 256  # sets between two checks for free space
RECENT = 1 << 16  # largest number of patterns that a walk remembers to drop repeats
AHEAD = 16  # patterns between the prefetch of an element of a table and its use
DEPTH, LEAF, SETS, WALK, TURN, HEAD = range(6)
"""State of a walk: moves chosen, next last move, sets walked, its index, prefixes dealt out; then moves."""


@njit(nogil=True, cache=True, inline="always")
def _mixed(key):
    """Return a hash whose bits are all well mixed."""
    h = key * GOLDEN
    h = (h ^ (h >> nb.uint64(32))) * nb.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True, inline="always")
def _folded(keys, row):
    """Fold the words of a pattern into one."""
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
    """Compute the lanes of the next depth, with one more row."""
    for lane in range(rows.shape[1]):
        acc[depth + 1, lane] = acc[depth, lane] + rows[k, lane]


@njit(nogil=True, cache=True)
def _line(acc, depth, rows, first, end, weight, high, recent, fresh, begin):
    """Write the patterns of the sets that add one of the rows first..end-1, from an index on, without most
    repeats. Return the index after the last one, and the number of sets.

    Neither step has a branch that depends on a pattern: such a branch would cost more than everything else.
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
    """Return whether all sets have one pattern, for any added moves from k on."""
    lanes, same = acc.shape[1], True
    for w in range(lanes // LANES):
        at, of = depth * lanes + w * LANES, k * lanes + w * LANES
        same &= turned(acc, at, lowest, of) == turned(acc, at, highest, of)
    return same


@njit(nogil=True, cache=True)
def _end_of_light(lightest, first, high):
    """Return the first move from which on all are too heavy."""
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
    """Advance to the next prefix of this walk, or to one that begins such a prefix; return its number of
    moves, -1 at the end.
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

    A set is a prefix and a last move after it. Prefixes come in the order of their numbers, each before those
    that it begins. Prefixes of `shared` moves, with all that they begin, are dealt to the walks in turn;
    shorter ones belong to the first walk. `moves` has their contributions to the lanes, their weights, the
    first move of the next feature, the smallest weight from each on, the budget, the number of walks, and
    `shared`. If everything fits the budget, it also has the minimum and maximum total contribution of the
    moves from each on, and the number of their sets. If no neuron depends on them, one set represents all.

    The walk stops after about `quota` sets or if `fresh` is full, and returns the number of patterns; `DEPTH`
    is -1 if all sets are walked. With a pattern to `want`, it stops at the first set that has it: the prefix
    is in the state, its length in `SETS`, the last move in `LEAF`.
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
    """Move the patterns that an open hash table does not hold to the front, add them to the table, and return
    their number. An element of 0 is empty, so the pattern 0, that of the sample, is never new.
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
    """Compute the shortfall of the nearest case at its worst inequality, for each row of match counts.

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
