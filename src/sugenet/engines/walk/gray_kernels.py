"""Compiled walk through combinations in Gray-code order: one feature changes at a time, and every layer is
brought up to date from what changed in the layer before (docs/theory.md 7.4).

Match counts of the later layers are kept *bit-sliced*: plane b holds bit b of ``M - tau`` of every neuron,
512 neurons to a vector, in two's complement modulo 2^planes. A neuron that turns adds 1 to the neurons of one
sign and takes 1 from those of the other: rows of bits, summed by full adders, up to 15 rows at a time. The
number of rows is owed by all neurons alike, and kept as one number beside the planes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg,var-annotated"

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.compiling import njit
from sugenet.engines.walk.lanes import LANES, turned

__all__ = ["BLOCK", "GROUP", "walk_gray"]

BLOCK = 8  # words of a vector
GROUP = 15  # rows that are summed before they are added to the planes
_SMALL = 7
_VECTOR = ir.VectorType(ir.IntType(64), BLOCK)


def _at(context, b, kind, array, place):
    """The address of a vector in an array taken as flat."""
    data = context.make_array(kind)(context, b, array).data
    return b.bitcast(b.gep(data, [place]), _VECTOR.as_pointer())


def _load(b, address):
    value = b.load(address)
    value.align = 8
    return value


def _store(b, value, address):
    b.store(value, address).align = 8


def _full(b, x, y, z):
    """Sum and carry of three bits."""
    both = b.xor(x, y)
    return b.xor(both, z), b.or_(b.and_(x, y), b.and_(both, z))


def _summed(b, rows):
    """Bits of the sum of rows of bits, the lowest first."""
    level, out = list(rows), []
    while level:
        above = []
        while len(level) > 2:
            total, carry = _full(b, *level[:3])
            level = [*level[3:], total]
            above.append(carry)
        if len(level) == 2:
            level, above = [b.xor(*level)], [*above, b.and_(*level)]
        out.append(level[0])
        level = above
    return out


def _adder(many):
    @intrinsic
    def add(_typing, planes, place, count, shift, rows, chosen, first, offset):  # noqa: ARG001
        signature = types.void(
            planes, types.intp, types.intp, types.intp, rows, chosen, types.intp, types.intp
        )

        def emit(context, b, signature, arguments):
            planes, place, count, shift, rows, chosen, first, offset = arguments
            kinds = signature.args
            numbers = context.make_array(kinds[5])(context, b, chosen).data
            word = place.type
            given = []
            for k in range(many):
                number = b.load(b.gep(numbers, [b.add(first, ir.Constant(word, k))]))
                given.append(_load(b, _at(context, b, kinds[4], rows, b.add(number, offset))))
            sums = _summed(b, given)
            zero = ir.Constant(_VECTOR, [0] * BLOCK)
            carry = zero
            here = b.add(place, b.mul(shift, ir.Constant(word, BLOCK)))
            for bit in sums:
                address = _at(context, b, kinds[0], planes, here)
                total, carry = _full(b, _load(b, address), bit, carry)
                _store(b, total, address)
                here = b.add(here, ir.Constant(word, BLOCK))
            kept = cgutils.alloca_once_value(b, carry)
            left = b.sub(b.sub(count, shift), ir.Constant(word, len(sums)))
            with cgutils.for_range(b, left) as loop:
                spot = b.add(here, b.mul(loop.index, ir.Constant(word, BLOCK)))
                address = _at(context, b, kinds[0], planes, spot)
                old, up = _load(b, address), b.load(kept)
                _store(b, b.xor(old, up), address)
                b.store(b.and_(old, up), kept)
            return context.get_dummy_value()

        return signature, emit

    return add


_add_small, _add_large = _adder(_SMALL), _adder(GROUP)


@intrinsic
def _active(_typing, planes, place, count, owed, out, where):  # noqa: ARG001 numba reads the names
    """Write the bits of 512 neurons: planes less what is owed, at least 0."""
    signature = types.void(planes, types.intp, types.intp, types.uint64, out, types.intp)

    def emit(context, b, signature, arguments):
        planes, place, count, owed, out, where = arguments
        kinds, word = signature.args, place.type
        full, zero = ir.Constant(_VECTOR, [-1] * BLOCK), ir.Constant(_VECTOR, [0] * BLOCK)
        carry, last = cgutils.alloca_once_value(b, full), cgutils.alloca_once_value(b, zero)
        with cgutils.for_range(b, count) as loop:  # planes + ~owed + 1
            address = _at(
                context, b, kinds[0], planes, b.add(place, b.mul(loop.index, ir.Constant(word, BLOCK)))
            )
            bit = b.and_(b.lshr(owed, loop.index), ir.Constant(owed.type, 1))
            own = b.sub(bit, ir.Constant(owed.type, 1))  # all ones where the bit of ~owed is set
            spread = b.insert_element(ir.Constant(_VECTOR, ir.Undefined), own, ir.Constant(ir.IntType(32), 0))
            spread = b.shuffle_vector(
                spread,
                ir.Constant(_VECTOR, ir.Undefined),
                ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK),
            )
            total, above = _full(b, _load(b, address), spread, b.load(carry))
            b.store(above, carry)
            b.store(total, last)
        _store(b, b.xor(b.load(last), full), _at(context, b, kinds[4], out, where))
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def _lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """Number of the lowest bit that is set."""

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), emit


@njit(nogil=True, cache=True)
def _turns(now, before, there, at, words, per, size, base, none, chosen):
    """Places of the rows of the neurons that differ, in `chosen`, padded with that of no row; how many
    neurons.
    """
    n = many = 0
    for w in range(words):
        word = now[at + w]
        differ = (word ^ before[at + w]) & there[at + w]
        before[at + w] = word
        while differ != nb.uint64(0):
            j = _lowest(differ)
            differ &= differ - nb.uint64(1)
            place = base + (2 * (64 * w + nb.intp(j)) + nb.intp((word >> j) & nb.uint64(1))) * per * size
            chosen[n] = place
            if per == 2:
                chosen[n + 1] = place + size
            n += per
            many += 1
    for k in range(n, n + GROUP):
        chosen[k] = none
    return many


@njit(nogil=True, cache=True)
def _passed(layers, shapes, planes, rows, owed, before, now, there, chosen, votes, missing):
    """Bring all layers up to date with the pattern at the start of `now`; how much each inequality misses."""
    for layer in range(layers):
        # words that it reads, its blocks, planes, rows a turn; where its rows, planes, empty row and the
        # words that it reads begin
        read, blocks, count = shapes[layer, 0], shapes[layer, 1], shapes[layer, 2]
        per, first, place = shapes[layer, 3], shapes[layer, 4], shapes[layer, 5]
        many = _turns(
            now, before, there, shapes[layer, 7], read, per, BLOCK * blocks, first, shapes[layer, 6], chosen
        )
        if many == 0:
            return
        n = many * per
        owed[layer] += nb.uint64(many)
        for block in range(blocks):
            here = place + block * count * BLOCK
            k = 0
            while n - k > _SMALL:
                _add_large(planes, here, count, 2 - per, rows, chosen, k, block * BLOCK)
                k += GROUP
            if n - k > 0:
                _add_small(planes, here, count, 2 - per, rows, chosen, k, block * BLOCK)
            _active(planes, here, count, owed[layer], now, shapes[layer + 1, 7] + block * BLOCK)
    at = shapes[layers, 7]
    for w in range(shapes[layers, 0]):
        word = now[at + w]
        differ = (word ^ before[at + w]) & there[at + w]
        before[at + w] = word
        while differ != nb.uint64(0):
            j = _lowest(differ)
            differ &= differ - nb.uint64(1)
            sign = 1 - 2 * nb.intp((word >> j) & nb.uint64(1))
            for q in range(missing.shape[0]):
                missing[q] += sign * votes[64 * w + nb.intp(j), q]


@njit(nogil=True, cache=True)
def _reached(missing, cases, members):
    for c in range(cases.shape[0] - 1):
        all_hold = True
        for m in range(cases[c], cases[c + 1]):
            all_hold &= missing[members[m]] <= 0
        if all_hold:
            return True
    return False


@njit(nogil=True, cache=True)
def walk_gray(
    lanes,
    choices,
    options,
    first,
    layers,
    shapes,
    planes,
    rows,
    owed,
    now,
    there,
    votes,
    missing,
    cases,
    members,
):
    """Walk all combinations of one option a feature, the first of `choices` moving most often; True, with the
    options in `choices`, at the first that reaches the goal.

    Rows first[f]..first[f+1]-1 of `options` are what the options of feature f add to the lanes, which hold
    the sums at the options chosen. The state of the network (`planes`, `owed`, `now`, `missing`) is that of
    the sample and is brought up to date first; `there` has a bit for every neuron.
    """
    width, features = lanes.shape[0], first.shape[0] - 1
    before = now.copy()
    chosen = np.zeros(2 * 64 * len(now) + 2 * GROUP, np.int64)
    step = np.ones(features, np.int64)
    still = np.zeros(width, lanes.dtype)
    while True:
        for w in range(width // LANES):
            now[w] = turned(lanes, w * LANES, still, w * LANES)
        _passed(layers, shapes, planes, rows, owed, before, now, there, chosen, votes, missing)
        for q in range(missing.shape[0]):
            if missing[q] <= 0:
                if _reached(missing, cases, members):
                    return True
                break
        f = 0
        while f < features:  # reflected: at an end the direction turns and the next feature moves
            option = choices[f] + step[f]
            if 0 <= option < first[f + 1] - first[f]:
                break
            step[f] = -step[f]
            f += 1
        if f == features:
            return False
        new, old = first[f] + option, first[f] + choices[f]
        for lane in range(width):
            lanes[lane] += options[new, lane] - options[old, lane]
        choices[f] = option
