"""Compiled walks that evaluate blocks of sets through the layers: one bit per set, one word per 64 sets
(docs/theory.md 7.12).

A *plane* is one truth value for every set of a block. The sets of a block share their moves and differ in one
more piece, which is a move or two. Most neurons are the same throughout a block. The planes of the others are
computed from those before them by addition, digit by digit. Few patterns are left after the second or third
layer, so a small, lossy cache suffices to label each of them about once.

The planes of the lanes and of each layer are stored in `work.planes`, three for each neuron that differs: the
plane, its complement, and zeros. Row k of `work.inputs` has the inputs of layer k to which they belong. The
named tuples are those of `blocks`. Code shared with other walks is in `lanes`. Everything else is in this
file, because the cache on disk is renewed only if *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg,call-overload,var-annotated"

import numba as nb

from sugenet.compiling import njit
from sugenet.engines.walk.adders import (
    APART,
    BLOCK,
    SLOT,
    add_fours,
    add_up,
    apart_of,
    fours,
    reached_by,
    signs,
    sure_of_any,
    sure_of_near,
    sure_of_whole,
    within,
)
from sugenet.engines.walk.lanes import GOLDEN, LANES, lowest, ones, turned

__all__ = ["DEPTH", "HEAD", "NEXT", "SETS", "settle_waiting", "walk_blocks"]

SETS, DEPTH, NEXT, PIECE, HEAD = range(5)
"""State of a walk: sets walked, moves chosen, the next one to choose, the next piece after them plus 1 or 0;
then the moves.
"""
_WAITS = nb.uint64(1 << 32)
_PROBES = 4
_FEW_OPEN = 4  # inputs up to which the number that differ at once is not computed
_SHARED = 6  # neurons from which sums of four inputs are shared


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _bound(number, tail, work):
    """Find the neurons of a layer that its open inputs decide, and return their number. Neurons that are
    active for any values go to the next row of `on`, the shortfalls of the others to `left`. `apart`
    has the number of open inputs and of those that differ from the value in most sets.
    """
    n, base = 0, number * tail.tau.shape[1]
    index, stride = number * tail.positive.shape[1] * tail.positive.shape[2], tail.positive.shape[2]
    row, where = (number + 1) * work.on.shape[1], number * work.open.shape[1]
    words = (tail.widths[number] + 63) >> 6
    plus, minus, on, open_, tau = tail.positive, tail.negative, work.on, work.open, tail.tau
    left, apart = work.left, work.apart
    for w in range((tail.neurons[number] + 63) >> 6):
        first, at = index + 64 * w, base + 64 * w
        if not tail.both[number]:
            sure, rest = sure_of_any(
                plus, minus, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        elif apart[1] >= apart[0]:
            sure, rest = sure_of_whole(
                plus, minus, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        else:
            sure, rest = sure_of_near(
                plus, minus, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        work.on[number + 2, w] = sure
        while rest != nb.uint64(0):
            work.chosen[number, n] = 64 * w + lowest(rest)
            n += 1
            rest &= rest - nb.uint64(1)
    return n


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _mark_open(inputs, row, n_open, number, tail, work):
    """Mark the open inputs of a layer: `n_open` of a row of their indices."""
    for w in range((tail.widths[number] + 63) >> 6):
        work.open[number, w] = nb.uint64(0)
    for v in range(n_open):
        q = inputs[row, v]
        work.open[number, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
    work.apart[0] = work.apart[1] = n_open


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _share_sums(number, n_open, tail, work):
    """If all weights of a layer are 1 or -1: compute the sums of four inputs each, with every choice of
    signs, once for all neurons. Return the number of groups.
    """
    first = work.inputs.shape[1] * number
    words = tail.columns.shape[0] // (tail.neurons.shape[0] * tail.width)
    groups = (n_open + 3) >> 2
    for t in range(n_open, n_open + 8):  # a plane of zeros, and a weight of 1
        work.inputs[number, t] = tail.width - 1
    for k in range(SLOT * (first + n_open), SLOT * (first + 4 * groups)):
        work.planes[k] = nb.uint64(0)
    for t in range(0, n_open, 8):
        for w in range(words):
            signs(
                tail.columns,
                number * tail.width * words + w,
                work.inputs,
                first + t,
                words,
                work.bytes,
                8 * t * words + 64 * w,
            )
    for t in range(groups):
        fours(work.planes, first + 4 * t, work.table, 48 * BLOCK * t)
    return groups


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _padded(number, n_inputs, tail, work):
    """Pad the open inputs of a layer to a multiple of 4 by some without a weight; return their number."""
    while n_inputs & 3 or n_inputs == 0:
        work.inputs[number, n_inputs] = tail.width - 1
        n_inputs += 1
    return n_inputs


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _raise(number, n_open, some, tail, work):
    """Compute the planes of the neurons of a layer that differ within the block, of some that may, and return
    their number. Neurons that are active throughout go to a row of `on`.
    """
    stride = tail.tau.shape[1] * number
    first, room = work.inputs.shape[1] * number, SLOT * work.inputs.shape[1] * (number + 1)
    words = tail.columns.shape[0] // (tail.neurons.shape[0] * tail.width)
    shared = tail.both[number] and some >= _SHARED
    groups = _share_sums(number, n_open, tail, work) if shared else 0
    padded = 0 if shared else _padded(number, n_open, tail, work)
    table, bytes_, inputs, valid, planes = work.table, work.bytes, work.inputs, work.valid, work.planes
    n = 0
    for i in range(some):
        q = work.chosen[number, i]
        min_sum, where = work.left[stride + q], room + n * SLOT
        if shared:
            outcome = add_fours(table, bytes_, q, 64 * words, groups, min_sum, valid, planes, where)
        else:
            row = (stride + q) * tail.width
            outcome = add_up(inputs, first, tail.kinds, row, padded, min_sum, valid, planes, where)
        # no branch, because it would be unpredictable
        work.on[number + 2, q >> 6] |= nb.uint64(outcome == 1) << nb.uint64(q & 63)
        work.inputs[number + 1, n] = q
        n += outcome == 2
    return n


@njit(nogil=True, cache=True, _nrt=False)
def _home(keys, row):
    """Return the home index of a pattern in the cache."""
    h = keys[row, 0]
    for w in range(1, keys.shape[1]):
        h = (h ^ (h >> nb.uint64(29))) * GOLDEN ^ keys[row, w]
    h *= GOLDEN
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _remember(row, n_sets, memory, keys):
    """Add `n_sets` sets to a pattern: to the tally of its label if that is known, else to the waiting ones;
    return True if it is new among these.

    A row of `known` is a pattern and its label plus 1, or `_WAITS` and its index among the waiting ones. A
    pattern without a free row replaces another.
    """
    known, sizes = memory.known, memory.sizes
    words, mask = keys.shape[1], nb.uint64(known.shape[0] - 1)
    home = _home(keys, row) & mask
    index = home
    for probe in range(_PROBES + 1):
        if probe == _PROBES:
            sizes[1] += 1
            index = (home + nb.uint64(sizes[1] & (_PROBES - 1))) & mask
            break
        label = known[index, words]
        if label == nb.uint64(0):
            break
        differ = nb.uint64(0)
        for w in range(words):
            differ |= known[index, w] ^ keys[row, w]
        if differ == nb.uint64(0):
            if label >= _WAITS:
                memory.waiting_sets[nb.intp(label - _WAITS)] += n_sets
            else:
                memory.tally[nb.intp(label) - 1] += n_sets
            return False
        index = (index + nb.uint64(1)) & mask
    n = sizes[0]
    known[index, words] = _WAITS + nb.uint64(n)
    for w in range(words):
        known[index, w] = memory.waiting[n, w] = keys[row, w]
    memory.waiting_sets[n] = n_sets
    sizes[0] = n + 1
    return True


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _part(number, n_open, work):
    """Partition the sets of a block by their patterns of a layer; return the number of patterns."""
    keys, masks, planes = work.keys, work.masks, work.planes
    words = keys.shape[1]
    for w in range(BLOCK):
        masks[0, w] = work.valid[w]
    for w in range(words):
        keys[0, w] = work.on[number + 2, w]
    parts = 1
    for v in range(n_open):
        q, at = work.inputs[number + 1, v], SLOT * (work.inputs.shape[1] * (number + 1) + v)
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(BLOCK):
                inside |= masks[p, w] & planes[at + w]
                outside |= masks[p, w] & ~planes[at + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] |= bit
                continue
            for w in range(BLOCK):
                masks[parts, w] = masks[p, w] & planes[at + w]
                masks[p, w] &= ~planes[at + w]
            for w in range(words):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] |= bit
            parts += 1
    return parts


@njit(nogil=True, cache=True, _nrt=False)
def _deal(number, n_open, memory, work, state, depth, begin):
    """Partition the sets of a block by their patterns of a layer, and remember each."""
    for p in range(_part(number, n_open, work)):
        size = 0
        for w in range(BLOCK):
            size += ones(work.masks[p, w])
        if _remember(p, size, memory, work.keys):
            n = memory.sizes[0] - 1
            memory.met[n, 0] = depth
            for d in range(depth):
                memory.met[n, 1 + d] = state[HEAD + d]
            for w in range(BLOCK - 1, -1, -1):
                if work.masks[p, w] != nb.uint64(0):
                    memory.met[n, 1 + depth] = begin + 64 * w + lowest(work.masks[p, w])


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _far(n_open, tail, ball, work, size):
    """Count the sets of a block that turn more neurons of a layer than the radius of the ball, relative to
    its pattern, which is the last row of `kinds`. Only those stay in `valid`.
    """
    home, number = ball.home, ball.layer + 1
    turned_ = 0
    for w in range(home.shape[0]):
        turned_ += ones(work.on[number + 1, w] ^ home[w])
    for v in range(n_open):  # these depend on the set
        q = work.inputs[number, v]
        turned_ -= nb.int64(home[q >> 6] >> nb.uint64(q & 63) & nb.uint64(1))
    if turned_ + n_open <= ball.radius:
        return 0
    if turned_ > ball.radius:
        return size
    padded, first = _padded(number, n_open, tail, work), number * work.inputs.shape[1]
    where, min_sum = SLOT * (first + padded), ball.radius + 1 - turned_
    row = tail.kinds.shape[0] - tail.width
    add_up(work.inputs, first, tail.kinds, row, padded, min_sum, work.valid, work.planes, where)
    left = 0
    for w in range(BLOCK):
        work.valid[w] &= work.planes[where + w]
        left += ones(work.valid[w])
    return left


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _unguarded(number, n_open, guards, work, size):
    """Count the sets of a block that lack one of the `guards`, which are the neurons of a layer; `valid`
    keeps only those.
    """
    held = n_open
    for w in range((guards + 63) >> 6):
        held += ones(work.on[number + 2, w])
    if held < guards:
        return size
    room, left = SLOT * work.inputs.shape[1] * (number + 1), 0
    for w in range(BLOCK):
        lacks = nb.uint64(0)
        for v in range(n_open):
            lacks |= ~work.planes[room + v * SLOT + w]
        work.valid[w] &= lacks
        left += ones(work.valid[w])
    return left


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _are_guarded(number, others, guards, tail, work):
    """Return whether all guards, the neurons of the next layer, hold for any values of a layer's open
    neurons.
    """
    _mark_open(work.chosen, number, others, number + 1, tail, work)
    _bound(number + 1, tail, work)
    sure = 0
    for w in range((guards + 63) >> 6):
        sure += ones(work.on[number + 3, w])
    return sure == guards


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _fit(moves, begin, pieces, left, pairs, valid):
    """Find the pieces of a block that may be the last one; return their number. With `pairs`, none is
    single.
    """
    size = 0
    for w in range(BLOCK):
        here, mask = begin + 64 * w, nb.uint64(0)
        if here + 64 <= pieces:
            mask = ~nb.uint64(0)
        elif here < pieces:
            mask = (nb.uint64(1) << nb.uint64(pieces - here)) - nb.uint64(1)
        if not moves.alike and mask != nb.uint64(0):
            mask &= within(moves.piece_weights, here, left)
        if pairs and mask != nb.uint64(0):
            mask &= ~moves.single[here >> 6]
        valid[w] = mask
        size += ones(mask)
    return size


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _near_lanes(depth, moves, work):
    """Count the lanes that one more piece can change. Lanes that are always on go to row 0 of `on`."""
    n_near, lanes = 0, moves.rows.shape[1]
    for w in range(lanes // LANES):
        here = depth * lanes + w * LANES
        held = turned(work.sums, here, moves.ends, w * LANES)
        rest = turned(work.sums, here, moves.ends, lanes + w * LANES) & ~held
        work.on[0, w] = held
        while rest != nb.uint64(0):
            work.near[n_near] = w * LANES + lowest(rest)
            n_near += 1
            rest &= rest - nb.uint64(1)
    return n_near


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _open_lanes(begin, n_near, depth, moves, work):
    """Find which of some lanes differ within a block, and return their number. Lanes that are on throughout
    join row 1 of `on`, which begins as row 0.
    """
    for w in range(work.on.shape[1]):
        work.on[1, w] = work.on[0, w]
    n, stride = 0, moves.adds.shape[1]
    for t in range(n_near):
        lane = work.near[t]
        need = -nb.int64(work.sums[depth, lane])
        outcome = reached_by(moves.adds, lane * stride + begin, need, work.valid, work.planes, n * SLOT)
        work.on[1, lane >> 6] |= nb.uint64(outcome == 1) << nb.uint64(lane & 63)
        work.inputs[0, n] = lane
        n += outcome == 2
    return n


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _through(n, size, tail, ball, work):
    """Evaluate a block of `size` sets, with n open lanes, through the layers. Return how many sets may not
    have the sample's label (only these stay in `valid`), and how many neurons of the last layer differ among
    them.
    """
    layers, guards = tail.neurons.shape[0], ball.guards
    last = layers - 1 - (guards > 0)
    varies, far = n, size
    for number in range(layers):
        _mark_open(work.inputs, number, n, number, tail, work)
        if number > 0 and tail.both[number] and _FEW_OPEN < n <= APART:
            for w in range((tail.widths[number] + 63) >> 6):
                work.apart[2 + w] = 0
            first = number * work.inputs.shape[1]
            work.apart[1] = apart_of(work.planes, work.inputs, first, n, work.valid, work.apart)
        others = _bound(number, tail, work)
        if number == last and guards > 0 and _are_guarded(number, others, guards, tail, work):
            return 0, varies
        n = _raise(number, n, others, tail, work)
        if number == ball.layer:
            far = _far(n, tail, ball, work, far)
            if far == 0:
                return 0, varies
        if number == last:
            varies = n
    if guards > 0:
        far = _unguarded(layers - 1, n, guards, work, far)
    return far, varies


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _next_prefix(state, depth, last, moves, budget, work):
    """Choose the moves before the next pieces; return their number, 0 at the end."""
    while True:
        k, beyond = state[NEXT], last + 1
        if depth > 0:
            beyond = moves.before[state[HEAD + depth - 1]]
        if depth == state.shape[0] - HEAD:
            k = beyond
        more = 2 if moves.paired and depth > 0 else 1
        while (
            k < beyond
            and work.spent[depth] + moves.weight[k] + more * moves.lightest[moves.before[k]] > budget
        ):
            k += 1
        if k < beyond:
            _choose(depth, k, moves, work)
            state[HEAD + depth], state[NEXT] = k, 0
            return depth + 1
        if depth == 0:
            state[NEXT] = beyond
            return 0
        depth -= 1
        state[NEXT] = state[HEAD + depth] + 1


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _choose(depth, k, moves, work):
    """Compute lanes and weight with one more move."""
    for lane in range(moves.rows.shape[1]):
        work.sums[depth + 1, lane] = work.sums[depth, lane] + moves.rows[k, lane]
    work.spent[depth + 1] = work.spent[depth] + moves.weight[k]


@njit(nogil=True, cache=True, _nrt=False)
def walk_blocks(state, quota, last, moves, budget, tail, ball, memory, work):
    """Walk sets of two or more moves of different features whose weights sum to at most `budget` and whose
    largest is `last`, from `state` on.

    A set is a block's moves and a piece: a smaller move or two, always two after several moves; without
    pieces of two, always one. Patterns of one layer within the ball have the sample's label. So do patterns
    for which all guards hold, which are the neurons of one more layer, if there are any. Other patterns of
    the last layer go to the cache, or wait with one of their sets. The walk stops after about `quota` blocks,
    or if many patterns wait; it returns True at the end.
    """
    last_layer = tail.neurons.shape[0] - 1 - (ball.guards > 0)
    work.spent[0] = 0
    for lane in range(moves.rows.shape[1]):
        work.sums[0, lane] = moves.start[lane]
    depth, piece, done = state[DEPTH], state[PIECE] - 1, 0
    for d in range(depth):
        _choose(d, state[HEAD + d], moves, work)
    while True:
        if piece < 0:
            depth, piece = _next_prefix(state, depth, last, moves, budget, work), 0
            if depth == 0:
                state[DEPTH] = state[PIECE] = 0
                return True
        n_near = _near_lanes(depth, moves, work)
        pieces, left = moves.upto[moves.before[state[HEAD + depth - 1]]], budget - work.spent[depth]
        for begin in range(piece, pieces, 64 * BLOCK):
            if done >= quota or memory.sizes[0] + 64 * BLOCK > memory.waiting.shape[0]:
                state[DEPTH], state[PIECE] = depth, begin + 1
                return False
            size = _fit(moves, begin, pieces, left, moves.paired and depth > 1, work.valid)
            if size == 0:
                continue
            done += 1
            state[SETS] += size
            n = _open_lanes(begin, n_near, depth, moves, work)
            far, varies = _through(n, size, tail, ball, work)
            memory.tally[ball.label] += size - far
            if far > 0:
                _deal(last_layer, varies, memory, work, state, depth, begin)
        piece = -1


@njit(nogil=True, cache=True, _nrt=False)
def settle_waiting(known, waiting, size, labels):
    """Write the labels of waiting patterns to the rows that the cache still has."""
    words, mask = waiting.shape[1], nb.uint64(known.shape[0] - 1)
    for n in range(size):
        index = _home(waiting, n) & mask
        for _ in range(2 * _PROBES):
            if known[index, words] == _WAITS + nb.uint64(n):
                known[index, words] = nb.uint64(labels[n] + 1)
                break
            index = (index + nb.uint64(1)) & mask
