"""Blocks of sets go through the layers: the compiled part of `words`.

To be ensured: a set of a block has the bits that the definition gives its neurons. All is said against the
sample: a neuron has *turned*, for all sets of a block, for none, or for some, and then the bits of its words
tell which. M - tau of a neuron is that at the sample and what the turned neurons before it add. Where bounds
on that do not tell for all sets alike whether it is negative, those that turned for some sets are added up
(`digits`). Layers and lists are those of `turning`.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-overload"
# mypy: disable-error-code="call-arg,var-annotated"

from __future__ import annotations

import numba as nb

from sugenet.checker.digits import (
    SLOT,
    WORDS,
    bounds,
    copy,
    reached_4,
    reached_8,
    reached_12,
    reached_16,
    reached_32,
    reached_any,
    sides,
    together,
)
from sugenet.checker.vectors import lowest, ones

__all__ = ["visit"]


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _sum_up(number, row, many, starts, least, flips, q, to, kinds, opens, values, valid):
    """`reached` for so many inputs, a multiple of 4."""
    at, first = opens.shape[1] * SLOT * number, opens.shape[1] * number
    if many == 4:
        return reached_4(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 8:
        return reached_8(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 12:
        return reached_12(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many == 16:
        return reached_16(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    if many <= 32:
        return reached_32(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)
    return reached_any(values, at, kinds, row, opens, first, many, starts, least, valid, flips, q, to)


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _padded(number, many, opens, none):
    """So many open inputs of a layer, and behind them some that never count, up to a multiple of 4."""
    while many & 3:
        opens[number, many] = none
        many += 1
    return many


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _settle(number, most, network, lists):
    """Neurons of a layer that have turned for all sets go to its list, those that open inputs decide to
    another: how many of both.
    """
    base, rows, home, sizes, wide, _, _ = network
    turned, opens, many, depends, low = lists
    size = base.shape[1]
    n = k = 0
    for c in range(sizes[number]):
        place = number * size + 64 * c
        sure, may = bounds(
            base,
            place,
            rows,
            number * wide * size + 64 * c,
            size,
            turned,
            number * turned.shape[1],
            many[number, 0],
            opens,
            number * opens.shape[1],
            many[number, 1],
            most,
            low,
        )
        some = may & ~sure
        always = (sure ^ home[number, c]) & ~some
        while always != nb.uint64(0):
            turned[number + 1, n] = 64 * c + lowest(always)
            always &= always - nb.uint64(1)
            n += 1
        while some != nb.uint64(0):
            depends[number, k] = 64 * c + lowest(some)
            some &= some - nb.uint64(1)
            k += 1
    return n, k


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _decide(number, n, candidates, network, lists, kinds, values, valid):
    """Add up what decides those candidates: the lists of the layer with them."""
    base, _, _, _, wide, flips, starts = network
    turned, opens, many, depends, low = lists
    size = base.shape[1]
    padded = _padded(number, many[number, 1], opens, wide - 1)
    begin, kept = opens.shape[1] * SLOT * (number + 1), 0
    for i in range(candidates):
        q = depends[number, i]
        place, to = number * size + q, begin + SLOT * kept
        least = -nb.int64(low[place])
        found = _sum_up(
            number, place * wide, padded, starts, least, flips, place, to, kinds, opens, values, valid
        )
        turned[number + 1, n] = q
        n += found == 1
        opens[number + 1, kept] = q
        kept += found == 2
    many[number + 1, 0], many[number + 1, 1] = n, kept


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _possible(number, network, lists, cases):
    """Whether the sets of a block may meet all inequalities of some case, which are the neurons of this
    layer, as far as its lists tell; and how many of them are decided, and how many are not.
    """
    turned, _, many, depends, _ = lists
    n, candidates = _settle(number, many[number, 1], network, lists)
    met = network[2][number, 0]
    for i in range(n):
        met ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    for i in range(candidates):
        met |= nb.uint64(1) << nb.uint64(depends[number, i])
    some = False
    for case in cases:
        some |= case & ~met == nb.uint64(0)
    return some, n, candidates


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _may_meet(number, n, candidates, network, lists, cases):
    """Whether they may when each candidate of the layer before may turn or not."""
    _, opens, many, depends, _ = lists
    for i in range(candidates):
        opens[number, i] = depends[number - 1, i]
    many[number, 0], many[number, 1] = n, candidates
    return _possible(number, network, lists, cases)[0]


@nb.njit(nogil=True, cache=True, _nrt=False)
def _met(number, network, lists, kinds, values, valid, cases, meets):
    """Keep the sets that meet all inequalities of some case; whether there are any."""
    home = network[2]
    turned, opens, many, _, _ = lists
    some, n, candidates = _possible(number, network, lists, cases)
    if not some:
        return False
    _decide(number, n, candidates, network, lists, kinds, values, valid)
    sure = home[number, 0]
    for i in range(many[number + 1, 0]):
        sure ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    begin = opens.shape[1] * SLOT * (number + 1)
    for w in range(WORDS):
        meets[w] = 0
        for case in cases:
            rest, inside = case, valid[w]
            for v in range(many[number + 1, 1]):
                q = nb.uint64(opens[number + 1, v])
                if (rest >> q) & nb.uint64(1):
                    rest &= ~(nb.uint64(1) << q)
                    active = nb.uint64(0) - ((sure >> q) & nb.uint64(1))
                    inside &= values[begin + SLOT * v + 2 * WORDS + w] ^ active
            if rest & ~sure == nb.uint64(0):
                meets[w] |= inside
    some = False
    for w in range(WORDS):
        valid[w] = meets[w]
        some |= meets[w] != nb.uint64(0)
    return some


@nb.njit(nogil=True, cache=True, _nrt=False)
def _tell(keys, sets, parts, known, many, state):
    """Add the sets of each pattern to the table."""
    last = nb.uint64(len(known) - 1)
    for p in range(parts):
        mixed = nb.uint64(0)
        for w in range(keys.shape[1]):
            mixed = (mixed ^ keys[p, w]) * nb.uint64(0xD1342543DE82EF95)
            mixed ^= mixed >> nb.uint64(31)
        place = mixed & last
        while many[place] > 0:
            same = True
            for w in range(keys.shape[1]):
                same &= known[place, w] == keys[p, w]
            if same:
                break
            place = (place + nb.uint64(1)) & last
        if many[place] == 0:
            state[1] += 1
            for w in range(keys.shape[1]):
                known[place, w] = keys[p, w]
        for w in range(WORDS):
            many[place] += ones(sets[p, w])


@nb.njit(nogil=True, cache=True, _nrt=False)
def _part(number, home, lists, values, valid, keys, sets):
    """Part the sets of a block by the pattern of a layer: how many patterns there are."""
    turned, opens, many, _, _ = lists
    parts = 1
    for w in range(WORDS):
        sets[0, w] = valid[w]
    for w in range(keys.shape[1]):
        keys[0, w] = home[number - 1, w]
    for t in range(many[number, 0]):
        q = turned[number, t]
        keys[0, q >> 6] ^= nb.uint64(1) << nb.uint64(q & 63)
    begin = opens.shape[1] * SLOT * number + 2 * WORDS
    for t in range(many[number, 1]):
        q, where = opens[number, t], begin + SLOT * t
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(WORDS):
                inside |= sets[p, w] & values[where + w]
                outside |= sets[p, w] & ~values[where + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] ^= bit
                continue
            for w in range(WORDS):
                sets[parts, w] = sets[p, w] & values[where + w]
                sets[p, w] &= ~values[where + w]
            for w in range(keys.shape[1]):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] ^= bit
            parts += 1
    return parts


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _fitting(block, begin, options, spent, weight, heaviest, budget, valid):
    """Which options of a block may be the last; how many."""
    size = 0
    for w in range(WORDS):
        fits, here = nb.uint64(0), 64 * (block + w)
        low, high = max(begin, here), min(options, here + 64)
        if low < high and spent + heaviest <= budget:
            fits = ~nb.uint64(0) >> nb.uint64(64 - high + low) << nb.uint64(low - here)
        else:
            for k in range(low, high):
                fits |= nb.uint64(spent + weight[k] <= budget) << nb.uint64(k - here)
        valid[w] = fits
        size += ones(fits)
    return size


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _opened(sums, depth, begin, front, lists, places):
    """The lists of the first layer behind some options: neurons that one more cannot change, and those that
    it can, with the words that tell which do.
    """
    gains, least, most, active, floor, steps, words = front
    turned, opens, many, _, _ = lists
    n = k = 0
    for w in range(gains.shape[1] >> 6):
        sure, may = sides(sums, depth * gains.shape[1] + 64 * w, least, most, begin * gains.shape[1] + 64 * w)
        some = may & ~sure
        always = (sure ^ active[w]) & ~some
        while always != nb.uint64(0):
            turned[0, n] = 64 * w + lowest(always)
            always &= always - nb.uint64(1)
            n += 1
        while some != nb.uint64(0):
            j = 64 * w + lowest(some)
            some &= some - nb.uint64(1)
            opens[0, k] = j
            t = -nb.int64(sums[depth, j]) - floor - 1  # the last option must add more than that
            places[k] = (j * steps + t) * words
            k += 1
    many[0, 0], many[0, 1] = n, k


@nb.njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _through(layers, n, candidates, network, kinds, close, lists, values, valid, meets):
    """Take a block through the layers, from candidates of the first of them on: whether some sets meet a
    case; `valid` keeps those alone. Without cases all sets do that are not near the sample.
    """
    radius, near, cases = close
    _, opens, many, _, _ = lists
    _decide(0, n, candidates, network, lists, kinds, values, valid)
    for number in range(1, layers):
        most = together(values, number * opens.shape[1] * SLOT, many[number, 1], valid)
        if number == near and many[number, 0] + most <= radius:
            return False
        n, candidates = _settle(number, most, network, lists)
        last = number + 1 == layers and len(cases) > 0
        if last and not _may_meet(layers, n, candidates, network, lists, cases):
            return False
        _decide(number, n, candidates, network, lists, kinds, values, valid)
    return len(cases) == 0 or _met(layers, network, lists, kinds, values, valid, cases, meets)


@nb.njit(nogil=True, cache=True, _nrt=False)
def visit(state, path, options, front, planes, network, kinds, close, lists, room, table, steps):
    """Go through the sets that begin as chosen, from there on: those that meet no case are counted, of the
    others the table adds up what pattern of the last layer they have. True when it ends early: after so many
    blocks, or with the table half full.

    ``state[0]`` is how many options are chosen, ``chosen[d]`` the last one tried behind them; ``state[1]``
    how many patterns the table has, and ``state[2]`` how many sets were counted.
    """
    chosen, sums, spent = path
    weight, behind, lightest, heaviest, budget = options
    many, (places, values, valid, meets, keys, sets) = lists[2], room
    layers, end, lanes = network[3].shape[0] - (len(close[2]) > 0), len(weight), sums.shape[1]
    while state[0] > 0:
        if steps < 0 or 2 * state[1] > len(table[0]):
            return True
        depth = state[0]
        begin = behind[chosen[depth - 1]]
        if chosen[depth] < begin < end:  # first, all sets with one option more
            _opened(sums, depth, begin, front, lists, places)
            n, candidates = _settle(0, many[0, 1], network, lists)
            for block in range(begin >> 6, (end + 63) >> 6, WORDS):
                size = _fitting(block, begin, end, spent[depth], weight, heaviest, budget, valid)
                if size == 0:
                    continue
                steps -= 1
                for t in range(many[0, 1]):
                    copy(planes, places[t] + block, values, SLOT * t)
                if _through(layers, n, candidates, network, kinds, close, lists, values, valid, meets):
                    for w in range(WORDS):
                        size -= ones(valid[w])
                    parts = _part(layers, network[2], lists, values, valid, keys, sets)
                    _tell(keys, sets, parts, *table, state)
                state[2] += size
        k = max(chosen[depth] + 1, begin)
        if spent[depth] + 2 * lightest[k] > budget:  # no two more
            k = end
        while k < end and spent[depth] + weight[k] + lightest[behind[k]] > budget:
            k += 1
        if k == end or depth == len(chosen) - 1:
            state[0] -= 1
            continue
        chosen[depth] = k
        for j in range(lanes):
            sums[depth + 1, j] = sums[depth, j] + front[0][k, j]
        spent[depth + 1] = spent[depth] + weight[k]
        chosen[depth + 1] = -1
        state[0] += 1
    return False
