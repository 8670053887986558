"""Compiled walks over sets of moves and over all combinations, and the store of patterns that both fill
(docs/theory.md 7.3).

A *pattern* is the set of fragile neurons that have turned, one bit each; the sample's own is 0. Lanes hold
how far each neuron is past its turn, so that adding a move and comparing with zero gives 64 bits of pattern
in a few instructions. Patterns repeat a great deal: a small memory of recent ones drops most repeats without
a branch, the rest go into *parts* by their hash, and each part has a table of its own that stays in the
cache. What other walks need too is in `lanes`; all else is in this file, since the cache on disk is renewed
when *this* file changes.
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
    "WALKER",
    "rehash",
    "settle",
    "shortfalls",
    "walk_sets",
]

CHUNK = 256  # sets between two looks at whether there is room
RECENT = 1 << 16  # patterns that a walk remembers at most, to drop repeats
AHEAD = 16  # patterns between asking for a place of a table and looking at it
DEPTH, LEAF, SETS, WALKER, TURN, HEAD = range(6)
"""A walk's state: moves chosen, next last move, sets walked, its number, prefixes dealt out; then moves."""
_FOUND, _DONE = -2, -1


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
def _line(acc, depth, rows, first, end, weight, high, recent, line):
    """Patterns of the sets that add one of the rows first..end-1, without most repeats; how many,
    and how many sets.

    Both steps go without a branch that depends on a pattern: such a one costs more than all the rest.
    """
    lanes, words = rows.shape[1], line.shape[1]
    here, mask = depth * lanes, nb.uint64(recent.shape[0] - 1)
    n = sets = nb.uint64(0)
    if words == 1:
        for k in range(first, end):
            line[sets, 0] = turned(acc, here, rows, k * lanes)
            sets += nb.uint64(weight[k] <= high)
        for i in range(nb.intp(sets)):
            key = line[nb.uint64(i), 0]
            index = ((key * GOLDEN) >> nb.uint64(40)) & mask
            line[n, 0] = key
            n += nb.uint64(recent[index, 0] != key)
            recent[index, 0] = key
        return nb.intp(n), nb.intp(sets)
    for k in range(first, end):
        for w in range(words):
            line[sets, nb.uint64(w)] = turned(acc, here + w * LANES, rows, k * lanes + w * LANES)
        sets += nb.uint64(weight[k] <= high)
    for i in range(nb.intp(sets)):
        index = ((_folded(line, nb.uint64(i)) * GOLDEN) >> nb.uint64(40)) & mask
        differ = nb.uint64(0)
        for w in range(words):
            key = line[nb.uint64(i), nb.uint64(w)]
            differ |= recent[index, nb.uint64(w)] ^ key
            recent[index, nb.uint64(w)] = line[n, nb.uint64(w)] = key
        n += nb.uint64(differ != nb.uint64(0))
    return nb.intp(n), nb.intp(sets)


@njit(nogil=True, cache=True)
def _spread(line, n, buckets, counts):
    """Put patterns into their parts; the size of the fullest."""
    parts = nb.uint64(buckets.shape[0] - 1)
    fullest = 0
    for i in range(n):
        part = ((_folded(line, nb.uint64(i)) * GOLDEN) >> nb.uint64(56)) & parts
        index = counts[part]
        for w in range(line.shape[1]):
            buckets[part, nb.uint64(index), nb.uint64(w)] = line[nb.uint64(i), nb.uint64(w)]
        counts[part] = index + 1
        fullest = max(fullest, index + 1)
    return fullest


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
    rows, weight, after, lightest, budget, walkers, shared, lowest, highest, below = moves
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
            if state[TURN] % walkers != state[WALKER]:
                k += 1
                continue
        _add(acc, depth, rows, k)
        if below.shape[0] > 0 and _are_alike(acc, depth + 1, lowest, highest, after[k]):
            if depth + 1 >= shared or state[WALKER] == 0:
                state[SETS] += below[after[k]]
            k += 1
            continue
        sums[depth + 1] = sums[depth] + weight[k]
        state[HEAD + depth], state[LEAF] = k, after[k]
        return depth + 1


@njit(nogil=True, cache=True)
def walk_sets(state, quota, want, start, moves, recent, buckets, counts):
    """Walk sets of moves of different features whose weights sum to at most a budget, from `state` on.

    A set is a prefix and a last move behind it. Prefixes come in the order of their numbers, each before
    those that it begins; those of `shared` moves, with all that they begin, belong to the walks in turn,
    shorter ones to the first walk. Of `moves` there is what they add to the lanes, their weights, the first
    move of the next feature, the least weight from each on, the budget, how many walks there are, and
    `shared`; and where everything fits the budget, the least and the most that moves from each on add
    together, and how many sets these have: where no neuron depends on them, one set stands for all.
    Stops after about `quota` sets or when a part is full, True when all are walked. With a pattern to `want`,
    stops at the first set that has it: the prefix is in the state, the last move in its `LEAF`,
    and `DEPTH` is -2.
    """
    rows, weight, lightest, budget, shared = moves[0], moves[1], moves[3], moves[4], moves[6]
    max_size, room = state.shape[0] - HEAD, buckets.shape[1]
    line = np.empty((CHUNK + 1, buckets.shape[2]), np.uint64)
    acc = np.empty((max_size + 1, rows.shape[1]), rows.dtype)
    sums = np.zeros(max_size + 1, np.int64)
    _put(acc, 0, start)
    depth = state[DEPTH]
    for d in range(depth):
        k = state[HEAD + d]
        _add(acc, d, rows, k)
        sums[d + 1] = sums[d] + weight[k]
    walked = fullest = 0
    while depth >= 0:
        first, high = state[LEAF], budget - sums[depth]
        end = _end_of_light(lightest, first, high) if state[WALKER] == 0 or depth >= shared else first
        while first < end:
            if want.shape[0] > 0:
                for k in range(first, end):
                    if weight[k] <= high and _is_wanted(acc, depth, rows, k, want):
                        state[LEAF], state[SETS], state[DEPTH] = k, depth, _FOUND
                        return True
                first = end
                continue
            if walked >= quota or fullest + CHUNK > room:
                state[DEPTH], state[LEAF] = depth, first
                state[SETS] += walked
                return False
            stop = min(first + CHUNK, end)
            n, sets = _line(acc, depth, rows, first, stop, weight, high, recent, line)
            fullest = max(fullest, _spread(line, n, buckets, counts))
            walked += sets
            first = stop
        depth = _next_prefix(state, depth, acc, sums, moves)
    state[DEPTH] = _DONE
    state[SETS] += walked
    return True


@njit(nogil=True, cache=True)
def _place(table, keys, row):
    """Where in an open hash table a pattern is, or the empty place where it belongs; True if it is there."""
    words, mask = nb.uint64(table.shape[1]), nb.uint64(table.shape[0] - 1)
    index = _mixed(_folded(keys, row)) & mask
    while True:
        used = differ = nb.uint64(0)
        for w in range(words):
            used |= table[index, nb.uint64(w)]
            differ |= table[index, nb.uint64(w)] ^ keys[row, nb.uint64(w)]
        if differ == nb.uint64(0) or used == nb.uint64(0):
            return index, used != nb.uint64(0)
        index = (index + nb.uint64(1)) & mask


@njit(nogil=True, cache=True)
def _settle_words(part_table, keys, count, fresh):
    """As `settle`, for one walk and part and patterns of one word: much faster, with a branch less."""
    mask = nb.uint64(part_table.shape[0] - 1)
    n = nb.uint64(0)
    for i in range(count):
        if i + AHEAD < count:
            fetch(part_table, nb.intp(_mixed(keys[nb.uint64(i + AHEAD), nb.uint64(0)]) & mask))
        key = keys[nb.uint64(i), nb.uint64(0)]
        index = _mixed(key) & mask
        there = part_table[index, nb.uint64(0)]
        while there != key and there != nb.uint64(0):
            index = (index + nb.uint64(1)) & mask
            there = part_table[index, nb.uint64(0)]
        part_table[index, nb.uint64(0)] = fresh[n, nb.uint64(0)] = key
        n += nb.uint64(there != key)
    return nb.intp(n)


@njit(nogil=True, cache=True)
def settle(part, stop, table, sizes, buckets, counts, fresh):
    """Take what the walks found for the parts from `part` on into their tables,
    as long as `fresh` has room for what is new.

    A place of 0 is empty, so the pattern 0, the sample's own, is never new.
    Returns the next part and the number of new patterns.
    """
    words, mask = table.shape[2], nb.uint64(table.shape[1] - 1)
    n = 0
    while part < stop:
        coming = 0
        for walker in range(counts.shape[0]):
            coming += counts[walker, part]
        if n + coming >= fresh.shape[0]:  # one row more, where something may be written that does not count
            break
        for walker in range(counts.shape[0]):
            keys, part_table = buckets[walker, part], table[part]
            if words == 1:
                new = _settle_words(part_table, keys, counts[walker, part], fresh[n:])
                sizes[part] += new
                n += new
                continue
            for i in range(counts[walker, part]):
                if i + AHEAD < counts[walker, part]:
                    fetch(part_table, nb.intp(_mixed(_folded(keys, nb.uint64(i + AHEAD))) & mask) * words)
                index, known = _place(part_table, keys, nb.uint64(i))
                if not known:
                    some = nb.uint64(0)
                    for w in range(words):
                        part_table[index, nb.uint64(w)] = fresh[n, w] = keys[nb.uint64(i), nb.uint64(w)]
                        some |= keys[nb.uint64(i), nb.uint64(w)]
                    if some != nb.uint64(0):
                        sizes[part] += 1
                        n += 1
        part += 1
    return part, n


@njit(nogil=True, cache=True)
def rehash(part, stop, old, table):
    """Move the parts part..stop-1 to larger tables."""
    for p in range(part, stop):
        keys, part_table = old[p], table[p]
        if table.shape[2] == 1:
            mask = nb.uint64(table.shape[1] - 1)
            for i in range(old.shape[1]):
                key = keys[nb.uint64(i), nb.uint64(0)]
                if key != nb.uint64(0):
                    index = _mixed(key) & mask
                    while part_table[index, nb.uint64(0)] != nb.uint64(0):
                        index = (index + nb.uint64(1)) & mask
                    part_table[index, nb.uint64(0)] = key
            continue
        for i in range(old.shape[1]):
            some = nb.uint64(0)
            for w in range(table.shape[2]):
                some |= keys[nb.uint64(i), nb.uint64(w)]
            if some != nb.uint64(0):
                index, _ = _place(part_table, keys, nb.uint64(i))
                for w in range(table.shape[2]):
                    part_table[index, nb.uint64(w)] = keys[nb.uint64(i), nb.uint64(w)]


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
