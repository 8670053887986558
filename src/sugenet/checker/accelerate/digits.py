"""Adding up digit by digit, in vectors: what `blocks` is made of.

To be ensured: each function does what its docstring says. A block of sets is a vector of words with one bit
for each set; whole numbers that differ from set to set are such vectors, one for each binary digit.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped"

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.checker.accelerate.vectors import (
    WORD,
    bits_in,
    everywhere,
    loaded,
    number,
    signs,
    some_of,
    stored,
    summed,
)

__all__ = [
    "DIGITS",
    "MOST",
    "SLOT",
    "WORDS",
    "apart",
    "bounds",
    "parted",
    "reached_4",
    "reached_8",
    "reached_12",
    "reached_16",
    "reached_32",
    "reached_any",
    "sides",
]

WORDS = 8
"""Of a block."""
SLOT = 3 * WORDS
"""Words of a neuron that has turned for some sets: for which it has not; none; for which it has. What it adds
to another neuron, -1, 0 or 1, says which of them count.
"""
MOST = 1 << 12
"""Neurons of a layer, so that their sums have few digits."""
DIGITS = MOST.bit_length()

_I64, _U64 = nb.types.int64, nb.types.uint64
_SHORT = ir.IntType(16)
_BLOCK = ir.VectorType(WORD, WORDS)
_COUNTED = 5  # digits of how many turn


def _told(context, b, kind, values, to, has, sets):
    """Fill a slot; 0, 1 or 2: none of the sets has it, all or some."""
    not_ = b.xor(has, sets)
    stored(context, b, kind, values, to, not_)
    stored(context, b, kind, values, b.add(to, number(2 * WORDS)), has)
    yes, no = some_of(b, has), some_of(b, not_)
    return b.add(b.zext(yes, WORD), b.zext(b.and_(yes, no), WORD))


@intrinsic
def sides(_typing, sums, at, min_gains, max_gains, of):
    """Of 64 sums which are 0 or more with the least that one unit more adds, and which with the most."""
    signature = nb.types.UniTuple(_U64, 2)(sums, _I64, min_gains, max_gains, _I64)

    def emit(context, b, signature, arguments):
        sums, at, min_gains, max_gains, of = arguments
        kinds, vector = signature.args, ir.VectorType(ir.IntType(32), 64)
        here = loaded(context, b, kinds[0], sums, at, vector)
        ends = [
            signs(b, b.add(here, loaded(context, b, kinds[k], array, of, vector)))
            for k, array in ((2, min_gains), (3, max_gains))
        ]
        return context.make_tuple(b, signature.return_type, ends)

    return signature, emit


@intrinsic
def bounds(
    _typing,
    base,
    index,
    rows,
    at,
    step,
    turned,
    first,
    n_turned,
    open_,
    begin,
    some,
    max_unusual,
    usual,
    low,
):
    """Of 64 neurons which are active whatever the `some` open inputs do, of which up to `max_unusual` in a
    set are not as `usual`, and which may be: with `n_turned` inputs that turned. What each then has at
    least goes to `low`.
    """
    signature = nb.types.UniTuple(_U64, 2)(
        base, _I64, rows, _I64, _I64, turned, _I64, _I64, open_, _I64, _I64, _I64, usual, low
    )

    def emit(context, b, signature, arguments):
        (
            base,
            position,
            rows,
            at,
            step,
            turned,
            first,
            n_turned,
            open_,
            begin,
            some,
            max_unusual,
            usual,
            low,
        ) = arguments
        kinds, vector = signature.args, ir.VectorType(_SHORT, 64)
        zero = ir.Constant(vector, [0] * 64)
        start = loaded(context, b, kinds[0], base, position, vector)
        sums = [cgutils.alloca_once_value(b, start) for _ in range(2)]

        def row(array, kind, number):
            which = b.load(b.gep(context.make_array(kind)(context, b, array).data, [number]))
            bytes_ = ir.VectorType(ir.IntType(8), 64)
            return b.sext(loaded(context, b, kinds[2], rows, b.add(at, b.mul(which, step)), bytes_), vector)

        with cgutils.for_range(b, n_turned) as loop:
            added = row(turned, kinds[5], b.add(first, loop.index))
            for end in sums:
                b.store(b.add(b.load(end), added), end)
        middle = cgutils.alloca_once_value(b, b.load(sums[0]))
        flags = context.make_array(kinds[12])(context, b, usual).data
        with cgutils.for_range(b, some) as loop:
            added = row(open_, kinds[8], b.add(begin, loop.index))
            flag = b.load(b.gep(flags, [b.add(begin, loop.index)]))
            b.store(b.add(b.load(middle), b.and_(added, everywhere(b, flag, vector))), middle)
            for end, sign in zip(sums, "<>", strict=True):
                part = b.select(b.icmp_signed(sign, added, zero), added, zero)
                b.store(b.add(b.load(end), part), end)
        (smallest, largest), alone = (b.load(end) for end in sums), b.load(middle)
        stored(context, b, kinds[13], low, position, smallest)
        change = everywhere(b, b.trunc(max_unusual, _SHORT), vector)
        sure = b.or_(signs(b, smallest), signs(b, b.sub(alone, change)))
        may = b.and_(signs(b, largest), signs(b, b.add(alone, change)))
        return context.make_tuple(b, signature.return_type, [sure, may])

    return signature, emit


@intrinsic
def parted(_typing, adds, at, need, flip, valid, values, to):
    """Fill a slot: which of the sets that are `valid` have turned a neuron, as they do whose units add at
    least `need` to it, or less where `flip` is all ones; 0, 1 or 2: none of them, all or some.
    """
    signature = _I64(adds, _I64, _I64, _U64, valid, values, _I64)

    def emit(context, b, signature, arguments):
        adds, at, need, flip, valid, values, to = arguments
        kinds = signature.args
        vector = ir.VectorType(ir.IntType(kinds[0].dtype.bitwidth), 64 * WORDS)
        threshold = need if vector.element == WORD else b.trunc(need, vector.element)
        reached = b.icmp_signed(
            ">=", loaded(context, b, kinds[0], adds, at, vector), everywhere(b, threshold, vector)
        )
        sets = loaded(context, b, kinds[4], valid, number(0), _BLOCK)
        has = b.and_(b.xor(b.bitcast(reached, _BLOCK), everywhere(b, flip, _BLOCK)), sets)
        return _told(context, b, kinds[5], values, to, has, sets)

    return signature, emit


@intrinsic
def apart(_typing, values, at, n_open, valid, size, usual, first):
    """In how many of the open inputs at ``values[at:]`` a set of a block of that size differs from what most
    of them have of each, at most, or how many there are; ``usual[first:]`` is -1 for inputs that most turn,
    else 0.
    """
    signature = _I64(values, _I64, _I64, valid, _I64, usual, _I64)

    def emit(context, b, signature, arguments):
        values, at, n_open, valid, size, usual, first = arguments
        kinds = signature.args
        flags = context.make_array(kinds[5])(context, b, usual).data

        def unusual(t, sets):
            index = b.add(b.add(at, b.mul(t, number(SLOT))), number(2 * WORDS))
            has = loaded(context, b, kinds[0], values, index, _BLOCK)
            twice = b.shl(bits_in(b, has), number(1))
            flag = b.sext(b.icmp_signed(">", twice, size), WORD)
            b.store(b.trunc(flag, _SHORT), b.gep(flags, [b.add(first, t)]))
            return b.xor(has, b.and_(sets, everywhere(b, flag, _BLOCK)))

        return _most(b, n_open, loaded(context, b, kinds[3], valid, number(0), _BLOCK), unusual)

    return signature, emit


def _most(b, n_inputs, sets, bits):
    """The largest number of inputs of which a set has the bit; or how many there are, if they are more than
    are counted.
    """
    none = ir.Constant(_BLOCK, [0] * WORDS)
    result = cgutils.alloca_once_value(b, n_inputs)
    few = b.icmp_unsigned("<", n_inputs, number(1 << _COUNTED))
    with b.if_then(few):
        sums = [cgutils.alloca_once_value(b, none) for _ in range(_COUNTED)]
        with cgutils.for_range(b, n_inputs) as loop:
            carry = bits(loop.index, sets)
            for digit in sums:
                old = b.load(digit)
                b.store(b.xor(old, carry), digit)
                carry = b.and_(old, carry)
        max_count = number(0)
        for k in reversed(range(_COUNTED)):  # sets with the largest count so far
            has = b.and_(sets, b.load(sums[k]))
            some = some_of(b, has)
            sets = b.select(some, has, sets)
            max_count = b.or_(max_count, b.select(some, number(1 << k), number(0)))
        b.store(max_count, result)
    return b.load(result)


def _reached(inputs_, groups=None):
    """Adding up to so many inputs, in groups of four: in a loop, or where it is said how many there are,
    all at once.
    """
    digits = (inputs_ - 1).bit_length()

    @intrinsic
    def reached(
        _typing,
        values,
        at,
        kinds,
        row,
        inputs,
        first,
        n_inputs,
        starts,
        needed,
        valid,
        flips,
        q,
        to,
    ):
        """Whether a neuron has turned, for every set of a block: to the slot ``values[to:]``; 0, 1 or 2: for
        none, for all or for some of those that are `valid`.

        It is active where at least so many of its inputs count, so counting begins there where it overflows
        then: at ``2^digits - needed``, which stands in `starts`. Of input t the part of the slot at
        ``values[at + SLOT * t:]`` counts that stands at ``kinds[row + inputs[first + t]]``. ``flips[q]`` is
        all ones where the neuron is active at the sample.
        """
        signature = _I64(
            values, _I64, kinds, _I64, inputs, _I64, _I64, starts, _I64, valid, flips, _I64, _I64
        )

        def emit(context, b, signature, arguments):
            values, at, _, row, _, first, n_inputs, _, needed, valid, _, q, to = arguments
            types = signature.args

            def data(k):
                return context.make_array(types[k])(context, b, arguments[k]).data

            def one(t):
                which = b.load(b.gep(data(4), [b.add(first, t)]))
                part = b.zext(b.load(b.gep(data(2), [b.add(row, which)])), WORD)
                position = b.add(b.add(at, b.mul(t, number(SLOT))), part)
                return loaded(context, b, types[0], values, position, _BLOCK)

            begin = b.mul(b.sub(number(1 << digits), needed), number(DIGITS))
            start = [
                everywhere(b, b.load(b.gep(data(7), [b.add(begin, number(k))])), _BLOCK)
                for k in range(digits)
            ]
            if groups is not None:
                bits = [[one(number(t)) for t in range(4 * groups)], *([] for _ in range(digits - 1))]
                _, over = summed(b, [[*bits[k], start[k]] for k in range(digits)])
                active = over[0] if len(over) == 1 else b.or_(*over)
            else:
                sums = [
                    cgutils.alloca_once_value(b, value)
                    for value in [*start, ir.Constant(_BLOCK, [0] * WORDS)]
                ]
                with cgutils.for_range_slice(b, number(0), n_inputs, number(4), WORD, inc=True) as (t, _):
                    before = [b.load(slot) for slot in sums]
                    input_bits = [one(b.add(t, number(k))) for k in range(4)]
                    after, over = summed(b, [[*input_bits, before[0]], *([digit] for digit in before[1:-1])])
                    for value, index in zip([*after, b.or_(before[-1], over[0])], sums, strict=True):
                        b.store(value, index)
                active = b.load(sums[-1])
            sets = loaded(context, b, types[9], valid, number(0), _BLOCK)
            flip = everywhere(b, b.load(b.gep(data(10), [q])), _BLOCK)
            has = b.and_(b.xor(active, flip), sets)
            return _told(context, b, types[0], values, to, has, sets)

        return signature, emit

    return reached


reached_4, reached_8, reached_12, reached_16 = (
    _reached(n_inputs, n_inputs // 4) for n_inputs in (4, 8, 12, 16)
)
reached_32, reached_any = _reached(32), _reached(MOST)
