"""Compiled walks that take whole blocks of sets through the layers: a bit for each set, a word for 64 of them
(docs/theory.md 7.12).

A *plane* is one truth value for every set of a block: sets that are the same moves and one more. Most neurons
are the same throughout a block; the planes of the others come from those before them by adding up, digit by
digit. Few patterns are left behind the second or third layer, so a small memory that may forget suffices to
judge each of them about once. What other walks need too is in `lanes`; all else is in this file, since the
cache on disk is renewed when *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.engines.walk.lanes import GOLDEN, LANES, turned

__all__ = ["BLOCK", "DEPTH", "HEAD", "NEXT", "SETS", "WIDEST", "settle_waiting", "walk_blocks"]

BLOCK = 4  # words of a plane that are worked on together
WIDEST = 2000  # neurons of a layer that may be open together, at most
SETS, DEPTH, NEXT, HEAD = range(4)
"""A walk's state: sets walked, moves chosen, the next one to choose; then the moves."""
_WAITS = nb.uint64(1 << 32)
_PROBES = 4


def _adder(digits):
    """An intrinsic that adds planes up in so many binary digits."""

    @intrinsic
    def add_up(_typing, planes, base, places, inputs, kinds, row, step, many, least, valid, out, where):  # noqa: ARG001
        """Whether the sum of planes is `least` or more: that plane and its complement, at ``out[where:]``;
        0, 1 or 2: nowhere, everywhere or somewhere within `valid`.

        Summand t is at ``base + places[t] + step * kinds[row + inputs[t]]``; their number is a multiple of 4.
        """
        whole = types.int64
        signature = whole(planes, whole, places, inputs, kinds, *[whole] * 4, valid, out, whole)

        def emit(context, b, signature, arguments):
            word, vector = ir.IntType(64), ir.VectorType(ir.IntType(64), BLOCK)
            arrays = [context.make_array(signature.args[k])(context, b, arguments[k]) for k in (0, 2, 3, 4, 9, 10)]
            at_planes, at_places, at_inputs, at_kinds, at_valid, at_out = (array.data for array in arrays)
            base_, row_, step_, many_, least_, where_ = (arguments[k] for k in (1, 5, 6, 7, 8, 11))

            def number(value):
                return ir.Constant(word, value)

            def planes_at(pointer, place):
                return b.bitcast(b.gep(pointer, [place]), vector.as_pointer())

            def load(pointer, place):
                value = b.load(planes_at(pointer, place))
                value.align = 8
                return value

            def spread(value):
                none, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
                one = b.insert_element(none, value, ir.Constant(index, 0))
                return b.shuffle_vector(one, none, ir.Constant(ir.VectorType(index, BLOCK), [0] * BLOCK))

            def full(x, y, z):
                """The digit and the carry of three."""
                differ = b.xor(x, y)
                return b.xor(differ, z), b.or_(b.and_(x, y), b.and_(z, differ))

            # counting begins at 2^digits - least, so that the digits overflow when the sum is reached
            begin = b.sub(number(1 << digits), least_)
            first = [spread(b.neg(b.and_(b.lshr(begin, number(k)), number(1)))) for k in range(digits)]
            first.append(ir.Constant(vector, [0] * BLOCK))
            entry, loop, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
            b.branch(loop)
            b.position_at_end(loop)
            t = b.phi(word)
            t.add_incoming(number(0), entry)
            counters = [b.phi(vector) for _ in range(digits + 1)]
            for phi, value in zip(counters, first, strict=True):
                phi.add_incoming(value, entry)
            summands = []
            for k in range(4):
                here = b.add(t, number(k))
                kind = b.load(b.gep(at_kinds, [b.add(row_, b.load(b.gep(at_inputs, [here])))]))
                place = b.add(b.load(b.gep(at_places, [here])), b.mul(b.zext(kind, word), step_))
                summands.append(load(at_planes, b.add(base_, place)))
            new = list(counters)
            new[0], low = full(new[0], summands[0], summands[1])
            new[0], high = full(new[0], summands[2], summands[3])
            new[1], carry = full(new[1], low, high)
            for k in range(2, digits):
                new[k], carry = b.xor(counters[k], carry), b.and_(counters[k], carry)
            new[digits] = b.or_(counters[digits], carry)
            following = b.add(t, number(4))
            t.add_incoming(following, loop)
            for phi, value in zip(counters, new, strict=True):
                phi.add_incoming(value, loop)
            b.cbranch(b.icmp_signed("<", following, many_), loop, done)
            b.position_at_end(done)
            reached, inside = new[digits], load(at_valid, number(0))
            missed = b.not_(reached)
            for value, place in ((reached, where_), (missed, b.add(where_, number(BLOCK)))):
                b.store(value, planes_at(at_out, place)).align = 8
            reduce = cgutils.get_or_insert_function(
                b.module, ir.FunctionType(word, [vector]), f"llvm.vector.reduce.or.v{BLOCK}i64"
            )
            some, other = (
                b.icmp_unsigned("!=", b.call(reduce, [b.and_(value, inside)]), number(0))
                for value in (reached, missed)
            )
            return b.add(b.zext(some, word), b.zext(b.and_(some, other), word))

        return signature, emit

    return add_up


_add_up_4, _add_up_6, _add_up_11 = _adder(4), _adder(6), _adder(11)


@intrinsic
def _ones(_typing, word):  # noqa: ARG001 numba reads the names
    """How many bits of a word are set."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return signature, emit


@intrinsic
def _lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """The place of the lowest bit of a word that is not 0."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return signature, emit


@njit(nogil=True, cache=True)
def _bound(tail, number, on, open_, after, count, free, chosen):
    """What a layer counts whatever its open inputs are; which of its neurons they may turn, and how many.

    The neurons that are active in any case are written to `after`.
    """
    positive, negative, tau, size = tail[0][number], tail[1][number], tail[3][number], tail[4][number]
    for q in range(size):
        count[q] = free[q] = 0
    for w in range((tail[5][number] + 63) // 64):
        plus, minus, held, unknown = positive[w], negative[w], on[w], open_[w]
        off = ~(held | unknown)
        for q in range(size):
            count[q] += _ones((plus[q] & held) | (minus[q] & off))
            free[q] += _ones((plus[q] | minus[q]) & unknown)
    n = 0
    for w in range((size + 63) // 64):
        active = nb.uint64(0)
        for q in range(64 * w, min(64 * w + 64, size)):
            sure = count[q] >= tau[q]
            active |= nb.uint64(sure) << nb.uint64(q & 63)
            chosen[n] = q
            n += (not sure) & (count[q] + free[q] >= tau[q])
        after[w] = active
    return n


@njit(nogil=True, cache=True)
def _raise(planes, base, step, places, inputs, many, tail, number, count, chosen, candidates, valid, after, out, slots):
    """The planes of those neurons of a layer that differ within the block: how many. Those that are active
    throughout go to `after`.
    """
    kinds, tau = tail[2][number], tail[3][number]
    width, flat = kinds.shape[1], kinds.reshape(-1)
    while many & 3 or many == 0:  # summands without a weight
        places[many], inputs[many] = 0, width - 1
        many += 1
    n = 0
    for i in range(candidates):
        q = chosen[i]
        least, where, row = tau[q] - count[q], n * 3 * BLOCK, q * width
        if many <= 16:
            found = _add_up_4(planes, base, places, inputs, flat, row, step, many, least, valid, out, where)
        elif many <= 64:
            found = _add_up_6(planes, base, places, inputs, flat, row, step, many, least, valid, out, where)
        else:
            found = _add_up_11(planes, base, places, inputs, flat, row, step, many, least, valid, out, where)
        if found == 1:
            after[q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
        slots[n] = q
        n += found == 2
    return n


@njit(nogil=True, cache=True)
def _home(key):
    """Where a pattern belongs."""
    h = key[0]
    for w in range(1, key.shape[0]):
        h = (h ^ (h >> nb.uint64(29))) * GOLDEN ^ key[w]
    h *= GOLDEN
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True)
def _remember(key, many, memory, waiting, waiting_many):
    """Add so many sets to a pattern: to the tally of its label where that is known, else to those that wait;
    True when it is new among these.

    A row of the memory is a pattern and its label plus 1, or `_WAITS` and its place among those that wait.
    What finds no place of its own replaces another.
    """
    known, tally, sizes = memory
    words, mask = key.shape[0], nb.uint64(known.shape[0] - 1)
    home = _home(key) & mask
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
            differ |= known[place, w] ^ key[w]
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
        known[place, w] = waiting[n, w] = key[w]
    waiting_many[n] = many
    sizes[0] = n + 1
    return True


@njit(nogil=True, cache=True)
def _deal(on, planes, slots, many, valid, masks, keys, memory, store, state, depth, begin):
    """Part the sets of a block by their patterns, and remember each."""
    waiting, waiting_many, met = store
    words = waiting.shape[1]
    for w in range(BLOCK):
        masks[0, w] = valid[w]
    for w in range(words):
        keys[0, w] = on[w]
    parts = 1
    for v in range(many):
        q, here = slots[v], v * 3 * BLOCK
        for p in range(parts):
            inside = outside = nb.uint64(0)
            for w in range(BLOCK):
                inside |= masks[p, w] & planes[here + w]
                outside |= masks[p, w] & ~planes[here + w]
            if inside == nb.uint64(0):
                continue
            bit = nb.uint64(1) << nb.uint64(q & 63)
            if outside == nb.uint64(0):
                keys[p, q >> 6] |= bit
                continue
            for w in range(BLOCK):
                masks[parts, w] = masks[p, w] & planes[here + w]
                masks[p, w] &= ~planes[here + w]
            for w in range(words):
                keys[parts, w] = keys[p, w]
            keys[parts, q >> 6] |= bit
            parts += 1
    for p in range(parts):
        size = 0
        for w in range(BLOCK):
            size += _ones(masks[p, w])
        if _remember(keys[p], size, memory, waiting, waiting_many):
            n = memory[2][0] - 1
            met[n, 0] = depth
            for d in range(depth):
                met[n, 1 + d] = state[HEAD + d]
            for w in range(BLOCK):
                if masks[p, w] != nb.uint64(0):
                    met[n, 1 + depth] = begin + 64 * w + _lowest(masks[p, w])
                    break


@njit(nogil=True, cache=True)
def _fit(weight, begin, leaves, alike, left, valid):
    """Which moves of a block may be the last one; how many."""
    size = 0
    for w in range(BLOCK):
        here, mask = begin + 64 * w, nb.uint64(0)
        if alike:
            if here + 64 <= leaves:
                mask = ~nb.uint64(0)
            elif here < leaves:
                mask = (nb.uint64(1) << nb.uint64(leaves - here)) - nb.uint64(1)
        else:
            for k in range(here, min(here + 64, leaves)):
                mask |= nb.uint64(weight[k] <= left) << nb.uint64(k - here)
        valid[w] = mask
        size += _ones(mask)
    return size


@njit(nogil=True, cache=True)
def walk_blocks(state, quota, last, moves, budget, planes, tail, memory, store, work):
    """Walk sets of two or more moves of different features whose weights sum to at most `budget` and whose
    largest is `last`, from `state` on.

    A set is a block's moves and a smaller one. Of `moves` there is what they add to the lanes, the lanes at
    the sample, their weights, the first move of the same feature, the least weight before each, the least and
    largest that any adds to each lane, and the least of all. Plane ``planes[j, t]`` says of all moves whether
    they add more than t and that least to lane j; behind it are its complement and zeros. `tail` has of each
    layer the literals of weight 1 and -1 as words, the kind of every weight (0: 1, 1: -1, 2: none, and one
    none more), tau, and how many neurons and inputs it has. Patterns of the last layer go to the memory, or
    wait with a set that has them. Stops after about `quota` blocks, or when many wait; True at the end.
    """
    rows, start, weight, before, lightest, ends, low, alike = moves
    on, open_, count, free, chosen, places, inputs, out, slots, masks, keys, valid = work
    lanes, most, sizes = rows.shape[1], state.shape[0] - HEAD, memory[2]
    flat, step, row = planes.reshape(-1), planes.shape[3], planes.shape[2] * planes.shape[3]
    acc = np.empty((most + 1, lanes), rows.dtype)
    spent = np.zeros(most + 1, np.int64)
    for lane in range(lanes):
        acc[0, lane] = start[lane]
    depth = state[DEPTH]
    for d in range(depth):
        for lane in range(lanes):
            acc[d + 1, lane] = acc[d, lane] + rows[state[HEAD + d], lane]
        spent[d + 1] = spent[d] + weight[state[HEAD + d]]
    done = 0
    while True:
        k, beyond = state[NEXT], last + 1
        if depth > 0:
            beyond = before[state[HEAD + depth - 1]]
        if depth == most:
            k = beyond
        while k < beyond and spent[depth] + weight[k] + lightest[before[k]] > budget:
            k += 1
        if k >= beyond:
            if depth == 0:
                state[DEPTH], state[NEXT] = 0, beyond
                return True
            depth -= 1
            state[NEXT] = state[HEAD + depth] + 1
            continue
        if done >= quota or sizes[0] + before[k] > store[0].shape[0]:
            state[DEPTH], state[NEXT] = depth, k
            return False
        for lane in range(lanes):
            acc[depth + 1, lane] = acc[depth, lane] + rows[k, lane]
        spent[depth + 1] = spent[depth] + weight[k]
        state[HEAD + depth] = k
        state[NEXT] = 0
        depth += 1
        many = 0
        for w in range(lanes // LANES):
            here = depth * lanes + w * LANES
            held = turned(acc, here, ends, w * LANES)
            rest = turned(acc, here, ends, lanes + w * LANES) & ~held
            on[0, w], open_[0, w] = held, rest
            while rest != nb.uint64(0):
                lane = w * LANES + _lowest(rest)
                inputs[0, many] = lane
                places[0, many] = (lane * planes.shape[1] - nb.int64(acc[depth, lane]) - low - 1) * row
                many += 1
                rest &= rest - nb.uint64(1)
        candidates = _bound(tail, 0, on[0], open_[0], on[1], count[0], free, chosen[0])
        leaves, left = before[k], budget - spent[depth]
        for begin in range(0, leaves, 64 * BLOCK):
            size = _fit(weight, begin, leaves, alike, left, valid)
            if size == 0:
                continue
            done += 1
            state[SETS] += size
            for w in range(on.shape[1]):
                on[2, w] = on[1, w]
            n = _raise(
                flat, begin >> 6, step, places[0], inputs[0], many, tail, 0, count[0], chosen[0], candidates,
                valid, on[2], out[0], slots[0],
            )
            at = 0
            for number in range(1, tail[4].shape[0]):
                for w in range(open_.shape[1]):
                    open_[1, w] = nb.uint64(0)
                for v in range(n):
                    q = slots[at, v]
                    open_[1, q >> 6] |= nb.uint64(1) << nb.uint64(q & 63)
                    places[1, v], inputs[1, v] = v * 3 * BLOCK, q
                here, there = 2 + at, 3 - at
                some = _bound(tail, number, on[here], open_[1], on[there], count[1], free, chosen[1])
                n = _raise(
                    out[at], 0, BLOCK, places[1], inputs[1], n, tail, number, count[1], chosen[1], some,
                    valid, on[there], out[1 - at], slots[1 - at],
                )
                at = 1 - at
            _deal(on[2 + at], out[at], slots[at], n, valid, masks, keys, memory, store, state, depth, begin)


@njit(nogil=True, cache=True)
def settle_waiting(known, waiting, size, labels):
    """Write the labels of patterns that waited to where the memory still has them."""
    words, mask = waiting.shape[1], nb.uint64(known.shape[0] - 1)
    for n in range(size):
        place = _home(waiting[n]) & mask
        for _ in range(2 * _PROBES):
            if known[place, words] == _WAITS + nb.uint64(n):
                known[place, words] = nb.uint64(labels[n] + 1)
                break
            place = (place + nb.uint64(1)) & mask
