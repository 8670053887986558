"""Evaluate the layers for blocks of sets: the compiled part of `words`.

To be ensured: a set of a block has the bits that the definition gives its neurons. All states are relative to
the sample: a neuron has *turned* for all sets of a block, for none, or for some. In the last case the bits
of its words tell for which. M - tau of a neuron is its value at the sample plus the gains of earlier neurons
that turned. If bounds do not decide the sign for all sets alike, the neurons that turned for some sets are
added up (`digits`). Layers and lists are those of `turning`.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-overload"
# mypy: disable-error-code="call-arg,var-annotated"

import numba as nb

from sugenet.checker.accelerate.digits import (
    SLOT,
    WORDS,
    apart,
    bounds,
    parted,
    reached_4,
    reached_8,
    reached_12,
    reached_16,
    reached_32,
    reached_any,
    sides,
)
from sugenet.checker.accelerate.vectors import lowest, ones
from sugenet.compiling import njit

__all__ = ["visit"]


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _sum_up(number, row, n_inputs, starts, needed, flips, q, to, kinds, opens, values, valid):
    """Call `reached` for a number of inputs that is a multiple of 4."""
    at, first = opens.shape[1] * SLOT * number, opens.shape[1] * number
    if n_inputs == 4:
        return reached_4(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)
    if n_inputs == 8:
        return reached_8(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)
    if n_inputs == 12:
        return reached_12(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)
    if n_inputs == 16:
        return reached_16(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)
    if n_inputs <= 32:
        return reached_32(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)
    return reached_any(values, at, kinds, row, opens, first, n_inputs, starts, needed, valid, flips, q, to)


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _padded(number, n_inputs, opens, none):
    """Pad the open inputs of a layer with inputs that never count, up to a multiple of 4."""
    while n_inputs & 3:
        opens[number, n_inputs] = none
        n_inputs += 1
    return n_inputs


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _settle(number, max_unusual, network, lists):
    """List the neurons of a layer that have turned for all sets, and those that open inputs decide; return
    both numbers.
    """
    _, rows, home, sizes, wide, _, _ = network
    turned, opens, counts, depends, low, base, usual = lists
    size = base.shape[1]
    n = k = 0
    for c in range(sizes[number]):
        index = number * size + 64 * c
        sure, may = bounds(
            base,
            index,
            rows,
            number * wide * size + 64 * c,
            size,
            turned,
            number * turned.shape[1],
            counts[number, 0],
            opens,
            number * opens.shape[1],
            counts[number, 1],
            max_unusual,
            usual,
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


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _decide(number, n, candidates, network, lists, kinds, values, valid):
    """Add up the inputs of the candidates to decide them; return the lists of the layer with them."""
    base, _, _, _, wide, flips, starts = network
    turned, opens, counts, depends, low, _, _ = lists
    size = base.shape[1]
    padded = _padded(number, counts[number, 1], opens, wide - 1)
    begin, kept = opens.shape[1] * SLOT * (number + 1), 0
    for i in range(candidates):
        q = depends[number, i]
        index, to = number * size + q, begin + SLOT * kept
        needed = -nb.int64(low[index])
        outcome = _sum_up(
            number, index * wide, padded, starts, needed, flips, index, to, kinds, opens, values, valid
        )
        turned[number + 1, n] = q
        n += outcome == 1
        opens[number + 1, kept] = q
        kept += outcome == 2
    counts[number + 1, 0], counts[number + 1, 1] = n, kept


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _possible(number, network, lists, cases):
    """Return whether the sets of a block may meet all inequalities of some case, and how many inequalities
    are decided and not decided.

    The inequalities are the neurons of this layer. The result is as precise as its lists.
    """
    turned, _, counts, depends, _, _, _ = lists
    n, candidates = _settle(number, counts[number, 1], network, lists)
    met = network[2][number, 0]
    for i in range(n):
        met ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    for i in range(candidates):
        met |= nb.uint64(1) << nb.uint64(depends[number, i])
    some = False
    for case in cases:
        some |= case & ~met == nb.uint64(0)
    return some, n, candidates


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _may_meet(number, n, candidates, network, lists, cases):
    """Return whether the sets may meet a case if each candidate of the previous layer may turn or not."""
    _, opens, counts, depends, _, _, _ = lists
    for i in range(candidates):
        opens[number, i] = depends[number - 1, i]
    counts[number, 0], counts[number, 1] = n, candidates
    return _possible(number, network, lists, cases)[0]


@njit(nogil=True, cache=True, _nrt=False)
def _met(number, network, lists, kinds, values, valid, cases, meets):
    """Keep the sets that meet all inequalities of some case; return whether there are any."""
    home = network[2]
    turned, opens, counts, _, _, _, _ = lists
    some, n, candidates = _possible(number, network, lists, cases)
    if not some:
        return False
    _decide(number, n, candidates, network, lists, kinds, values, valid)
    sure = home[number, 0]
    for i in range(counts[number + 1, 0]):
        sure ^= nb.uint64(1) << nb.uint64(turned[number + 1, i])
    begin = opens.shape[1] * SLOT * (number + 1)
    for w in range(WORDS):
        meets[w] = 0
        for case in cases:
            rest, inside = case, valid[w]
            for v in range(counts[number + 1, 1]):
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


@njit(nogil=True, cache=True, _nrt=False)
def _tell(keys, sets, parts, known, set_counts, state):
    """Add the sets of each pattern to the table."""
    last = nb.uint64(len(known) - 1)
    for p in range(parts):
        mixed = nb.uint64(0)
        for w in range(keys.shape[1]):
            mixed = (mixed ^ keys[p, w]) * nb.uint64(0xD1342543DE82EF95)
            mixed ^= mixed >> nb.uint64(31)
        index = mixed & last
        while set_counts[index] > 0:
            same = True
            for w in range(keys.shape[1]):
                same &= known[index, w] == keys[p, w]
            if same:
                break
            index = (index + nb.uint64(1)) & last
        if set_counts[index] == 0:
            state[1] += 1
            for w in range(keys.shape[1]):
                known[index, w] = keys[p, w]
        for w in range(WORDS):
            set_counts[index] += ones(sets[p, w])


@njit(nogil=True, cache=True, _nrt=False)
def _part(number, home, lists, values, valid, keys, sets):
    """Split the sets of a block by the pattern of a layer; return the number of patterns."""
    turned, opens, counts, _, _, _, _ = lists
    parts = 1
    for w in range(WORDS):
        sets[0, w] = valid[w]
    for w in range(keys.shape[1]):
        keys[0, w] = home[number - 1, w]
    for t in range(counts[number, 0]):
        q = turned[number, t]
        keys[0, q >> 6] ^= nb.uint64(1) << nb.uint64(q & 63)
    begin = opens.shape[1] * SLOT * number + 2 * WORDS
    for t in range(counts[number, 1]):
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


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _fitting(block, begin, end, spent, weight, heaviest, budget, valid):
    """Mark the units of a block that may be the last; return their number."""
    size = 0
    for w in range(WORDS):
        fits, here = nb.uint64(0), 64 * (block + w)
        low, high = max(begin, here), min(end, here + 64)
        if low < high and spent + heaviest <= budget:
            fits = ~nb.uint64(0) >> nb.uint64(64 - high + low) << nb.uint64(low - here)
        else:
            for k in range(low, high):
                fits |= nb.uint64(spent + weight[k] <= budget) << nb.uint64(k - here)
        valid[w] = fits
        size += ones(fits)
    return size


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _opened(sums, depth, row, first_layer, network, lists, lanes):
    """List the first-layer neurons that one more unit can change; return their number.

    The gains of neurons that have turned in any case are added to the sums of the next layer.
    """
    gains, min_gains, max_gains, active, _ = first_layer
    base, rows, node = network[0], network[1], lists[5]
    size, k = base.shape[1], 0
    for q in range(size):
        node[0, q] = base[0, q]
    for w in range(gains.shape[1] >> 6):
        sure, may = sides(
            sums, depth * gains.shape[1] + 64 * w, min_gains, max_gains, row * gains.shape[1] + 64 * w
        )
        some = may & ~sure
        always = (sure ^ active[w]) & ~some
        while always != nb.uint64(0):
            at = (64 * w + lowest(always)) * size
            always &= always - nb.uint64(1)
            for q in range(size):
                node[0, q] += rows[at + q]
        while some != nb.uint64(0):
            lanes[k] = 64 * w + lowest(some)
            some &= some - nb.uint64(1)
            k += 1
    return k


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _begun(block, some, lanes, sums, depth, first_layer, lists, values, valid):
    """Fill the lists of the first layer for a block: the neurons that turned for all its sets, and those that
    turned for some.
    """
    turned, opens, counts, _, _, _, _ = lists
    _, _, _, active, adds = first_layer
    n = k = 0
    for t in range(some):
        j = lanes[t]
        flip = nb.uint64(0) - (active[j >> 6] >> nb.uint64(j & 63) & nb.uint64(1))
        at, need = j * adds.shape[1] + 64 * block, -nb.int64(sums[depth, j])
        outcome = parted(adds, at, need, flip, valid, values, SLOT * k)
        turned[0, n] = j  # no branch, since it would be unpredictable
        n += outcome == 1
        opens[0, k] = j
        k += outcome == 2
    counts[0, 0], counts[0, 1] = n, k


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _through(size, layers, network, kinds, cases, lists, values, valid, meets):
    """Evaluate the layers for a block of that size; return whether some sets meet a case.

    `valid` then keeps only those sets. Without cases, all sets are kept.
    """
    _, opens, counts, _, _, _, usual = lists
    for number in range(layers):
        begin, some = number * opens.shape[1], counts[number, 1]
        max_unusual = apart(values, begin * SLOT, some, valid, size, usual, begin)
        n, candidates = _settle(number, max_unusual, network, lists)
        last = number + 1 == layers and len(cases) > 0
        if last and not _may_meet(layers, n, candidates, network, lists, cases):
            return False
        _decide(number, n, candidates, network, lists, kinds, values, valid)
    return len(cases) == 0 or _met(layers, network, lists, kinds, values, valid, cases, meets)


@njit(nogil=True, cache=True, _nrt=False)
def visit(state, path, options, units, first_layer, network, kinds, cases, lists, room, table, steps):
    """Enumerate the sets with a given beginning.

    Sets that meet no case are only counted. For the others, the table counts the patterns of the last layer.
    Return True if it stops early: after `steps` blocks, or with the table half full.

    ``state[0]`` is the number of chosen options, and ``chosen[d]`` the last option tried after them.
    ``state[1]`` is the number of patterns in the table, and ``state[2]`` the number of sets counted.
    ``state[3]`` and ``state[4]`` are the kind of units and the block at which to resume.
    """
    chosen, sums, spent = path
    behind, lightest, budget = options
    weight, heaviest, starts, ends = units
    lanes, values, valid, meets, keys, sets = room
    layers, end, pairs = network[3].shape[0] - (len(cases) > 0), len(behind), nb.int64(ends[1] > 0)
    more = 1 + pairs  # options of the smallest unit after two chosen ones
    while state[0] > 0:
        if steps < 0:
            return True
        depth = state[0]
        begin = behind[chosen[depth - 1]]
        if chosen[depth] < begin < end:  # first, all sets with one unit more
            for kind in range(max(state[3], pairs * (depth > 1)), more):
                first = starts[kind, begin]
                if first >= ends[kind]:
                    continue
                some = _opened(sums, depth, kind * end + begin, first_layer, network, lists, lanes)
                for block in range(max(state[4], first >> 6), (ends[kind] + 63) >> 6, WORDS):
                    if steps < 0 or 2 * state[1] > len(table[0]):
                        state[3], state[4] = kind, block
                        return True
                    size = _fitting(
                        block, first, ends[kind], spent[depth], weight, heaviest[kind], budget, valid
                    )
                    if size == 0:
                        continue
                    steps -= 1
                    _begun(block, some, lanes, sums, depth, first_layer, lists, values, valid)
                    if _through(size, layers, network, kinds, cases, lists, values, valid, meets):
                        for w in range(WORDS):
                            size -= ones(valid[w])
                        parts = _part(layers, network[2], lists, values, valid, keys, sets)
                        _tell(keys, sets, parts, *table, state)
                    state[2] += size
                state[4] = 0
            state[3] = 0
        steps -= 1
        k = max(chosen[depth] + 1, begin)
        if spent[depth] + (1 + more) * lightest[k] > budget:  # no unit fits after one more
            k = end
        while k < end and spent[depth] + weight[k] + more * lightest[behind[k]] > budget:
            k += 1
        if k == end or depth == len(chosen) - 1:
            state[0] -= 1
            continue
        chosen[depth] = k
        for j in range(sums.shape[1]):
            sums[depth + 1, j] = sums[depth, j] + first_layer[0][k, j]
        spent[depth + 1] = spent[depth] + weight[k]
        chosen[depth + 1] = -1
        state[0] += 1
    return False
