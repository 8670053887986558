"""Compiled walks that take whole blocks of sets through the layers: a bit for each set, a word for 64 of them
(docs/theory.md 7.12).

A *plane* is one truth value for every set of a block: sets that are the same moves and one piece more, which
is a move or two. Most neurons
are the same throughout a block; the planes of the others come from those before them by adding up, digit by
digit. Few patterns are left behind the second or third layer, so a small memory that may forget suffices to
judge each of them about once. What other walks need too is in `lanes`; all else is in this file, since the
cache on disk is renewed when *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg,call-overload,var-annotated"

from __future__ import annotations

import numba as nb

from sugenet.compiling import njit
from sugenet.engines.walk.adders import (
    APART,
    BLOCK,
    add_fours,
    add_fours_1,
    add_fours_2,
    add_fours_3,
    add_fours_4,
    add_fours_5,
    add_fours_6,
    add_fours_7,
    add_fours_8,
    add_up_4,
    add_up_6,
    add_up_11,
    apart_of,
    fours,
    lowest,
    ones,
    signs,
    sure_of_any,
    sure_of_near,
    sure_of_whole,
    within,
)
from sugenet.engines.walk.lanes import GOLDEN, LANES, turned

__all__ = ["DEPTH", "HEAD", "NEXT", "SETS", "settle_waiting", "walk_blocks"]

SETS, DEPTH, NEXT, PIECE, HEAD = range(5)
"""A walk's state: sets walked, moves chosen, the next one to choose, the next piece behind them plus 1 or 0;
then the moves.
"""
_WAITS = nb.uint64(1 << 32)
_PROBES = 4
_FEW_OPEN = 4  # inputs up to which it is not asked how many differ at once
_SHARED = 6  # neurons from which on sums of four inputs are shared


@njit(nogil=True, cache=True, _nrt=False)
def _bound(positive, negative, tau, size, words, number, on, here, open_, left, chosen, both, apart):
    """Which neurons of a layer its open inputs decide: how many; those that are active in any case go to the
    next row of `on`, what the others miss to `left`. Of `apart` there is how many inputs are open and how
    many of them differ from what most sets have.
    """
    n, base = 0, number * tau.shape[1]
    place, stride = number * positive.shape[1] * positive.shape[2], positive.shape[2]
    row, where = here * on.shape[1], number * open_.shape[1]
    for w in range((size + 63) >> 6):
        first, at = place + 64 * w, base + 64 * w
        if not both[number]:
            sure, rest = sure_of_any(
                positive, negative, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        elif apart[1] >= apart[0]:
            sure, rest = sure_of_whole(
                positive, negative, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        else:
            sure, rest = sure_of_near(
                positive, negative, first, stride, words, on, row, open_, where, tau, at, left, apart
            )
        on[here + 1, w] = sure
        while rest != nb.uint64(0):
            chosen[number, n] = 64 * w + lowest(rest)
            n += 1
            rest &= rest - nb.uint64(1)
    return n


@njit(nogil=True, cache=True, _nrt=False)
def _raise_shared(
    planes,
    base,
    step,
    places,
    inputs,
    many,
    width,
    number,
    left,
    chosen,
    some,
    valid,
    on,
    to,
    out,
    slots,
    columns,
    table,
    bytes_,
):
    """The same as `_raise`, where all weights are 1 or -1: sums of four inputs each are made once for all
    neurons, with every choice of signs.
    """
    stride, first = left.shape[0] // slots.shape[0] * number, places.shape[1] * number
    room, words = out.shape[0] // slots.shape[0] * number, columns.shape[0] // (slots.shape[0] * width)
    groups = (many + 3) >> 2
    for t in range(many, many + 8):  # a plane of zeros, and a weight of 1
        places[number, t], inputs[number, t] = 2 * step, width - 1
    for t in range(0, many, 8):
        for w in range(words):
            signs(
                columns, number * width * words + w, inputs, first + t, words, bytes_, 8 * t * words + 64 * w
            )
    for t in range(groups):
        fours(planes, base, places, first + 4 * t, table, 48 * BLOCK * t)
    n = 0
    for i in range(some):
        q = chosen[number, i]
        least, where = left[stride + q], room + n * 3 * BLOCK
        if groups == 1:
            found = add_fours_1(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 2:
            found = add_fours_2(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 3:
            found = add_fours_3(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 4:
            found = add_fours_4(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 5:
            found = add_fours_5(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 6:
            found = add_fours_6(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 7:
            found = add_fours_7(table, bytes_, q, 64 * words, least, valid, out, where)
        elif groups == 8:
            found = add_fours_8(table, bytes_, q, 64 * words, least, valid, out, where)
        else:
            found = add_fours(table, bytes_, q, 64 * words, groups, least, valid, out, where)
        # no branch: there is no telling which it will be
        on[to, q >> 6] |= nb.uint64(found == 1) << nb.uint64(q & 63)
        slots[number, n] = q
        n += found == 2
    return n


@njit(nogil=True, cache=True, _nrt=False)
def _raise(
    planes,
    base,
    step,
    places,
    inputs,
    many,
    kinds,
    width,
    number,
    left,
    chosen,
    some,
    valid,
    on,
    to,
    out,
    slots,
    shared,
):
    """The planes of the neurons of a layer that differ within the block, of some that may: how many. Those
    that are active throughout go to row `to` of `on`.
    """
    columns, both, table, bytes_ = shared
    if both[number] and some >= _SHARED:
        return _raise_shared(
            planes,
            base,
            step,
            places,
            inputs,
            many,
            width,
            number,
            left,
            chosen,
            some,
            valid,
            on,
            to,
            out,
            slots,
            columns,
            table,
            bytes_,
        )
    stride, first = left.shape[0] // slots.shape[0] * number, places.shape[1] * number
    room = out.shape[0] // slots.shape[0] * number
    while many & 3 or many == 0:  # summands without a weight
        places[number, many], inputs[number, many] = 0, width - 1
        many += 1
    n = 0
    for i in range(some):
        q = chosen[number, i]
        row, least, where = (stride + q) * width, left[stride + q], room + n * 3 * BLOCK
        if least <= 16:
            found = add_up_4(
                planes, base, places, inputs, first, kinds, row, step, many, least, valid, out, where
            )
        elif least <= 64:
            found = add_up_6(
                planes, base, places, inputs, first, kinds, row, step, many, least, valid, out, where
            )
        else:
            found = add_up_11(
                planes, base, places, inputs, first, kinds, row, step, many, least, valid, out, where
            )
        # no branch: there is no telling which it will be
        on[to, q >> 6] |= nb.uint64(found == 1) << nb.uint64(q & 63)
        slots[number, n] = q
        n += found == 2
    return n


@njit(nogil=True, cache=True, _nrt=False)
def _home(keys, row):
    """Where a pattern belongs."""
    h = keys[row, 0]
    for w in range(1, keys.shape[1]):
        h = (h ^ (h >> nb.uint64(29))) * GOLDEN ^ keys[row, w]
    h *= GOLDEN
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True, _nrt=False)
def _remember(keys, row, many, known, tally, sizes, waiting, waiting_many):
    """Add so many sets to a pattern: to the tally of its label where that is known, else to those that wait;
    True when it is new among these.

    A row of `known` is a pattern and its label plus 1, or `_WAITS` and its place among those that wait. What
    finds no place of its own replaces another.
    """
    words, mask = keys.shape[1], nb.uint64(known.shape[0] - 1)
    home = _home(keys, row) & mask
    place = home
    for probe in range(_PROBES + 1):
        if probe == _PROBES:
            sizes[1] += 1
            place = (home + nb.uint64(sizes[1] & (_PROBES - 1))) & mask
            break
        label = known[place, words]
        if label == nb.uint64(0):
            break
        differ = nb.uint64(0)
        for w in range(words):
            differ |= known[place, w] ^ keys[row, w]
        if differ == nb.uint64(0):
            if label >= _WAITS:
                waiting_many[nb.intp(label - _WAITS)] += many
            else:
                tally[nb.intp(label) - 1] += many
            return False
        place = (place + nb.uint64(1)) & mask
    n = sizes[0]
    known[place, words] = _WAITS + nb.uint64(n)
    for w in range(words):
        known[place, w] = waiting[n, w] = keys[row, w]
    waiting_many[n] = many
    sizes[0] = n + 1
    return True


@njit(nogil=True, cache=True, _nrt=False)
def _deal(
    on,
    number,
    out,
    slots,
    many,
    valid,
    masks,
    keys,
    known,
    tally,
    sizes,
    waiting,
    waiting_many,
    met,
    state,
    depth,
    begin,
):
    """Part the sets of a block by their patterns of a layer, and remember each."""
    words = keys.shape[1]
    for w in range(BLOCK):
        masks[0, w] = valid[w]
    for w in range(words):
        keys[0, w] = on[number + 2, w]
    parts = 1
    for v in range(many):
        q, at = slots[number, v], out.shape[0] // slots.shape[0] * number + v * 3 * BLOCK
        bit = nb.uint64(1) << nb.uint64(q & 63)
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(BLOCK):
                inside |= masks[p, w] & out[at + w]
                outside |= masks[p, w] & ~out[at + w]
            if inside == nb.uint64(0):
                continue
            if outside == nb.uint64(0):
                keys[p, q >> 6] |= bit
                continue
            for w in range(BLOCK):
                masks[parts, w] = masks[p, w] & out[at + w]
                masks[p, w] &= ~out[at + w]
            for w in range(words):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] |= bit
            parts += 1
    for p in range(parts):
        size = 0
        for w in range(BLOCK):
            size += ones(masks[p, w])
        if _remember(keys, p, size, known, tally, sizes, waiting, waiting_many):
            n = sizes[0] - 1
            met[n, 0] = depth
            for d in range(depth):
                met[n, 1 + d] = state[HEAD + d]
            for w in range(BLOCK - 1, -1, -1):
                if masks[p, w] != nb.uint64(0):
                    met[n, 1 + depth] = begin + 64 * w + lowest(masks[p, w])


@njit(nogil=True, cache=True, _nrt=False)
def _far(on, number, out, slots, many, kinds, width, home, radius, places, inputs, valid, size):
    """How many sets of a block turn more than `radius` neurons of a layer against its pattern `home`, which
    is on as a row of `kinds` behind all others; `valid` keeps those alone.
    """
    room = out.shape[0] // slots.shape[0] * number
    turned_ = 0
    for w in range(home.shape[0]):
        turned_ += ones(on[number + 2, w] ^ home[w])
    for v in range(many):  # of these it depends on the set
        q = slots[number, v]
        turned_ -= nb.int64(home[q >> 6] >> nb.uint64(q & 63) & nb.uint64(1))
        places[number, v], inputs[number, v] = room + v * 3 * BLOCK, q
    if turned_ + many <= radius:
        return 0
    if turned_ > radius:
        return size
    padded = many
    while padded & 3:
        places[number, padded], inputs[number, padded] = places[number, 0], width - 1
        padded += 1
    row, first, where = kinds.shape[0] - width, number * places.shape[1], room + many * 3 * BLOCK
    least = radius + 1 - turned_
    if least <= 16:
        add_up_4(out, 0, places, inputs, first, kinds, row, BLOCK, padded, least, valid, out, where)
    elif least <= 64:
        add_up_6(out, 0, places, inputs, first, kinds, row, BLOCK, padded, least, valid, out, where)
    else:
        add_up_11(out, 0, places, inputs, first, kinds, row, BLOCK, padded, least, valid, out, where)
    left = 0
    for w in range(BLOCK):
        valid[w] &= out[where + w]
        left += ones(valid[w])
    return left


@njit(nogil=True, cache=True, _nrt=False)
def _unguarded(on, number, out, slots, many, guards, valid, size):
    """How many sets of a block lack one of the `guards`, which are the neurons of a layer; `valid` keeps
    those alone.
    """
    held = many
    for w in range((guards + 63) >> 6):
        held += ones(on[number + 2, w])
    if held < guards:
        return size
    room, left = out.shape[0] // slots.shape[0] * number, 0
    for w in range(BLOCK):
        lacks = nb.uint64(0)
        for v in range(many):
            lacks |= ~out[room + v * 3 * BLOCK + w]
        valid[w] &= lacks
        left += ones(valid[w])
    return left


@njit(nogil=True, cache=True, _nrt=False)
def _fit(weights, begin, pieces, alike, left, single, pairs, valid):
    """Which pieces of a block may be the last one; how many. With `pairs` those are not single."""
    size = 0
    for w in range(BLOCK):
        here, mask = begin + 64 * w, nb.uint64(0)
        if here + 64 <= pieces:
            mask = ~nb.uint64(0)
        elif here < pieces:
            mask = (nb.uint64(1) << nb.uint64(pieces - here)) - nb.uint64(1)
        if not alike and mask != nb.uint64(0):
            mask &= within(weights, here, left)
        if pairs and mask != nb.uint64(0):
            mask &= ~single[here >> 6]
        valid[w] = mask
        size += ones(mask)
    return size


@njit(nogil=True, cache=True, _nrt=False)
def _open(planes, base, nearby, lanes, many, valid, on, open_, places, inputs):
    """Which of some lanes differ within a block: how many. Those that are on throughout join row 1 of `on`,
    which begins as row 0.
    """
    for w in range(on.shape[1]):
        on[1, w] = on[0, w]
        open_[0, w] = nb.uint64(0)
    n = 0
    for t in range(many):
        at, lane = base + nearby[t], lanes[t]
        some = other = nb.uint64(0)
        for w in range(BLOCK):
            some |= planes[at + w] & valid[w]
            other |= ~planes[at + w] & valid[w]
        bit = nb.uint64(1) << nb.uint64(lane & 63)
        if other == nb.uint64(0):
            on[1, lane >> 6] |= bit
        elif some != nb.uint64(0):
            open_[0, lane >> 6] |= bit
            places[0, n], inputs[0, n] = nearby[t], lane
            n += 1
    return n


@njit(nogil=True, cache=True, _nrt=False)
def walk_blocks(state, quota, last, moves, budget, planes, tail, ball, memory, store, work):
    """Walk sets of two or more moves of different features whose weights sum to at most `budget` and whose
    largest is `last`, from `state` on.

    A set is a block's moves and a piece: a smaller move or two, two behind several moves; without pieces of
    two, one in any case. Of `moves` there is what they add to the lanes, the lanes at the sample, their
    weights, the first move of the same feature, the least weight before each, the least and largest that any
    piece adds to each lane, the least of all, how many planes a lane has, whether all weights are the same,
    how many pieces there are of the moves before each, which pieces are single, their weights, and whether
    there are others. Planes say of all pieces whether they add more than that least, and one more, and so on;
    behind each is its complement, and zeros. `tail` has of each layer the literals of weight 1 and -1 as
    words, the kind of every weight (0: 1, 1: -1, 2: none), tau, and how many neurons and inputs it has.
    Patterns of one layer within a ball, which has a pattern, a radius and the number of the layer, have the
    sample's label. So has what all guards hold of, which are the neurons of one layer more, if there are any.
    Other patterns of the last layer go to the memory, or wait with a set that has them. Stops after about
    `quota` blocks, or when many wait; True at the end.
    """
    rows, start, weight, before, lightest, ends, low, many_planes, step, alike, split = moves
    upto, single, of_pieces, paired = split
    positive, negative, kinds, tau, neurons, widths, width, columns, both = tail
    home, radius, label, middle, guards = ball
    known, tally, sizes = memory
    waiting, waiting_many, met = store
    on, open_, left, chosen, places, inputs, out, slots, masks, keys, valid, acc, spent, rooms = work
    nearby, near, table, bytes_, apart = rooms
    shared = columns, both, table, bytes_
    lanes, most, layers = rows.shape[1], state.shape[0] - HEAD, neurons.shape[0]
    last_layer = layers - 1 - (guards > 0)
    spent[0] = 0
    for lane in range(lanes):
        acc[0, lane] = start[lane]
    depth, piece, done = state[DEPTH], state[PIECE] - 1, 0
    for d in range(depth):
        for lane in range(lanes):
            acc[d + 1, lane] = acc[d, lane] + rows[state[HEAD + d], lane]
        spent[d + 1] = spent[d] + weight[state[HEAD + d]]
    while True:
        if piece < 0:
            k, beyond = state[NEXT], last + 1
            if depth > 0:
                beyond = before[state[HEAD + depth - 1]]
            if depth == most:
                k = beyond
            more = 2 if paired and depth > 0 else 1
            while k < beyond and spent[depth] + weight[k] + more * lightest[before[k]] > budget:
                k += 1
            if k >= beyond:
                if depth == 0:
                    state[DEPTH], state[NEXT], state[PIECE] = 0, beyond, 0
                    return True
                depth -= 1
                state[NEXT] = state[HEAD + depth] + 1
                continue
            for lane in range(lanes):
                acc[depth + 1, lane] = acc[depth, lane] + rows[k, lane]
            spent[depth + 1] = spent[depth] + weight[k]
            state[HEAD + depth] = k
            state[NEXT] = 0
            depth += 1
            piece = 0
        many = 0
        for w in range(lanes // LANES):
            here = depth * lanes + w * LANES
            held = turned(acc, here, ends, w * LANES)
            rest = turned(acc, here, ends, lanes + w * LANES) & ~held
            on[0, w] = held
            while rest != nb.uint64(0):
                lane = w * LANES + lowest(rest)
                near[many] = lane
                nearby[many] = (lane * many_planes - nb.int64(acc[depth, lane]) - low - 1) * 3 * step
                many += 1
                rest &= rest - nb.uint64(1)
        pieces, rest_budget = upto[before[state[HEAD + depth - 1]]], budget - spent[depth]
        for begin in range(piece, pieces, 64 * BLOCK):
            if done >= quota or sizes[0] + 64 * BLOCK > waiting.shape[0]:
                state[DEPTH], state[PIECE] = depth, begin + 1
                return False
            pairs = paired and depth > 1
            size = _fit(of_pieces, begin, pieces, alike, rest_budget, single, pairs, valid)
            if size == 0:
                continue
            done += 1
            state[SETS] += size
            n = _open(planes, begin >> 6, nearby, near, many, valid, on, open_, places, inputs)
            varies, far = n, size
            for number in range(layers):
                words = (widths[number] + 63) >> 6
                if number > 0:
                    for w in range(words):
                        open_[number, w] = nb.uint64(0)
                    for v in range(n):
                        q = slots[number - 1, v]
                        open_[number, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
                        places[number, v], inputs[number, v] = v * 3 * BLOCK, q
                apart[0] = apart[1] = n
                if number > 0 and both[number] and _FEW_OPEN < n <= APART:
                    for w in range(words):
                        apart[2 + w] = 0
                    apart[1] = apart_of(
                        out,
                        out.shape[0] // layers * (number - 1),
                        places,
                        inputs,
                        number * places.shape[1],
                        n,
                        valid,
                        apart,
                    )
                others = _bound(
                    positive,
                    negative,
                    tau,
                    neurons[number],
                    words,
                    number,
                    on,
                    number + 1,
                    open_,
                    left,
                    chosen,
                    both,
                    apart,
                )
                if number == last_layer and guards > 0:  # do they hold whatever is still open?
                    for w in range((widths[number + 1] + 63) >> 6):
                        open_[number + 1, w] = nb.uint64(0)
                    for v in range(others):
                        q = chosen[number, v]
                        open_[number + 1, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
                    apart[0] = apart[1] = others
                    _bound(
                        positive,
                        negative,
                        tau,
                        guards,
                        (widths[number + 1] + 63) >> 6,
                        number + 1,
                        on,
                        number + 2,
                        open_,
                        left,
                        chosen,
                        both,
                        apart,
                    )
                    sure = 0
                    for w in range((guards + 63) >> 6):
                        sure += ones(on[number + 3, w])
                    if sure == guards:
                        far = 0
                        break
                n = _raise(
                    out if number > 0 else planes,
                    out.shape[0] // layers * (number - 1) if number > 0 else begin >> 6,
                    BLOCK if number > 0 else step,
                    places,
                    inputs,
                    n,
                    kinds,
                    width,
                    number,
                    left,
                    chosen,
                    others,
                    valid,
                    on,
                    number + 2,
                    out,
                    slots,
                    shared,
                )
                if number == middle:
                    far = _far(
                        on, middle, out, slots, n, kinds, width, home, radius, places, inputs, valid, far
                    )
                    if far == 0:
                        break
                if number == last_layer:
                    varies = n
            if far > 0 and guards > 0:
                far = _unguarded(on, layers - 1, out, slots, n, guards, valid, far)
            tally[label] += size - far
            if far == 0:
                continue
            _deal(
                on,
                last_layer,
                out,
                slots,
                varies,
                valid,
                masks,
                keys,
                known,
                tally,
                sizes,
                waiting,
                waiting_many,
                met,
                state,
                depth,
                begin,
            )
        piece = -1


@njit(nogil=True, cache=True, _nrt=False)
def settle_waiting(known, waiting, size, labels):
    """Write the labels of patterns that waited to where the memory still has them."""
    words, mask = waiting.shape[1], nb.uint64(known.shape[0] - 1)
    for n in range(size):
        place = _home(waiting, n) & mask
        for _ in range(2 * _PROBES):
            if known[place, words] == _WAITS + nb.uint64(n):
                known[place, words] = nb.uint64(labels[n] + 1)
                break
            place = (place + nb.uint64(1)) & mask
