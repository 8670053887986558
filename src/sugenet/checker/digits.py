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

__all__ = [
    "DIGITS",
    "MOST",
    "SLOT",
    "WORDS",
    "bounds",
    "copy",
    "lowest",
    "ones",
    "reached_4",
    "reached_8",
    "reached_12",
    "reached_16",
    "reached_32",
    "reached_any",
    "sides",
    "together",
]

WORDS = 4
"""Of a block."""
SLOT = 3 * WORDS
"""Words of a neuron that has turned for some sets: for which it has not; none; for which it has. What it adds
to another neuron, -1, 0 or 1, says which of them count.
"""
MOST = 1 << 12
"""Neurons of a layer, so that their sums have few digits."""
DIGITS = MOST.bit_length()

_I64, _U64 = nb.types.int64, nb.types.uint64
_WORD, _SHORT = ir.IntType(64), ir.IntType(16)
_BLOCK = ir.VectorType(_WORD, WORDS)


def _number(value):
    return ir.Constant(_WORD, value)


def _loaded(context, b, kind, array, place, vector):
    """What stands in an array from a place on, as a vector."""
    spot = b.gep(context.make_array(kind)(context, b, array).data, [place])
    value = b.load(b.bitcast(spot, vector.as_pointer()))
    value.align = vector.element.width // 8
    return value


def _stored(context, b, kind, array, place, value):
    spot = b.gep(context.make_array(kind)(context, b, array).data, [place])
    b.store(value, b.bitcast(spot, value.type.as_pointer())).align = value.type.element.width // 8


def _everywhere(b, value, vector):
    """A vector of equal numbers."""
    none = ir.Constant(vector, ir.Undefined)
    lone = b.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
    places = ir.VectorType(ir.IntType(32), vector.count)
    return b.shuffle_vector(lone, none, ir.Constant(places, [0] * vector.count))


def _signs(b, numbers):
    """A bit for each of 64 numbers: it is not negative."""
    zero = ir.Constant(numbers.type, [0] * 64)
    return b.bitcast(b.icmp_signed(">=", numbers, zero), _WORD)


@intrinsic
def lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """Number of the lowest bit that is set."""

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return _I64(_U64), emit


@intrinsic
def ones(_typing, word):  # noqa: ARG001
    """How many bits are set."""

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return _I64(_U64), emit


@intrinsic
def sides(_typing, sums, at, least, most, of):  # noqa: ARG001
    """Of 64 sums which are 0 or more with the least that one option more adds, and which with the most."""
    signature = nb.types.UniTuple(_U64, 2)(sums, _I64, least, most, _I64)

    def emit(context, b, signature, arguments):
        sums, at, least, most, of = arguments
        kinds, vector = signature.args, ir.VectorType(ir.IntType(32), 64)
        here = _loaded(context, b, kinds[0], sums, at, vector)
        ends = [
            _signs(b, b.add(here, _loaded(context, b, kinds[k], array, of, vector)))
            for k, array in ((2, least), (3, most))
        ]
        return context.make_tuple(b, signature.return_type, ends)

    return signature, emit


@intrinsic
def bounds(_typing, base, place, rows, at, step, turned, first, many, open_, begin, some, most, low):  # noqa: ARG001
    """Which of 64 neurons are active whatever the `some` open inputs do, of which up to `most` turn in a set,
    and which may be: with `many` inputs that turned. What each then has at least goes to `low`.
    """
    signature = nb.types.UniTuple(_U64, 2)(
        base, _I64, rows, _I64, _I64, turned, _I64, _I64, open_, _I64, _I64, _I64, low
    )

    def emit(context, b, signature, arguments):
        base, place, rows, at, step, turned, first, many, open_, begin, some, most, low = arguments
        kinds, vector = signature.args, ir.VectorType(_SHORT, 64)
        zero = ir.Constant(vector, [0] * 64)
        start = _loaded(context, b, kinds[0], base, place, vector)
        sums = [cgutils.alloca_once_value(b, start) for _ in range(2)]

        def row(array, kind, number):
            which = b.load(b.gep(context.make_array(kind)(context, b, array).data, [number]))
            bytes_ = ir.VectorType(ir.IntType(8), 64)
            return b.sext(
                _loaded(context, b, kinds[2], rows, b.add(at, b.mul(which, step)), bytes_), vector
            )

        with cgutils.for_range(b, many) as loop:
            added = row(turned, kinds[5], b.add(first, loop.index))
            for end in sums:
                b.store(b.add(b.load(end), added), end)
        alone = b.load(sums[0])
        with cgutils.for_range(b, some) as loop:
            added = row(open_, kinds[8], b.add(begin, loop.index))
            for end, sign in zip(sums, "<>", strict=True):
                part = b.select(b.icmp_signed(sign, added, zero), added, zero)
                b.store(b.add(b.load(end), part), end)
        least, largest = (b.load(end) for end in sums)
        _stored(context, b, kinds[12], low, place, least)
        change = _everywhere(b, b.trunc(most, _SHORT), vector)
        sure = b.or_(_signs(b, least), _signs(b, b.sub(alone, change)))
        may = b.and_(_signs(b, largest), _signs(b, b.add(alone, change)))
        return context.make_tuple(b, signature.return_type, [sure, may])

    return signature, emit


@intrinsic
def copy(_typing, planes, at, values, to):  # noqa: ARG001
    """Fill a slot with words that tell who has turned."""
    signature = nb.types.void(planes, _I64, values, _I64)

    def emit(context, b, signature, arguments):
        planes, at, values, to = arguments
        has = _loaded(context, b, signature.args[0], planes, at, _BLOCK)
        not_ = b.xor(has, ir.Constant(_BLOCK, [-1] * WORDS))
        _stored(context, b, signature.args[2], values, to, not_)
        _stored(context, b, signature.args[2], values, b.add(to, _number(2 * WORDS)), has)
        return context.get_dummy_value()

    return signature, emit


_COUNTED = 5  # digits


@intrinsic
def together(_typing, values, at, many, valid):  # noqa: ARG001
    """How many of the open inputs at ``values[at:]`` turn in a set of a block, at most; or how many there
    are, where they are more than are counted.
    """
    signature = _I64(values, _I64, _I64, valid)

    def emit(context, b, signature, arguments):
        values, at, many, valid = arguments
        kinds, none = signature.args, ir.Constant(_BLOCK, [0] * WORDS)
        found = cgutils.alloca_once_value(b, many)
        few = b.icmp_unsigned("<", many, _number(1 << _COUNTED))
        with b.if_then(few):
            sums = [cgutils.alloca_once_value(b, none) for _ in range(_COUNTED)]
            with cgutils.for_range(b, many) as loop:
                place = b.add(b.add(at, b.mul(loop.index, _number(SLOT))), _number(2 * WORDS))
                carry = _loaded(context, b, kinds[0], values, place, _BLOCK)
                for digit in sums:
                    old = b.load(digit)
                    b.store(b.xor(old, carry), digit)
                    carry = b.and_(old, carry)
            sets = _loaded(context, b, kinds[3], valid, _number(0), _BLOCK)
            most = _number(0)
            for k in reversed(range(_COUNTED)):  # sets with the largest count so far
                has = b.and_(sets, b.load(sums[k]))
                some = b.icmp_unsigned("!=", _any(b, has), _number(0))
                sets = b.select(some, has, sets)
                most = b.or_(most, b.select(some, _number(1 << k), _number(0)))
            b.store(most, found)
        return b.load(found)

    return signature, emit


def _any(b, block):
    """A word that is 0 where all of a block are."""
    join = cgutils.get_or_insert_function(
        b.module, ir.FunctionType(_WORD, [_BLOCK]), f"llvm.vector.reduce.or.v{WORDS}i64"
    )
    return b.call(join, [block])


def _sum(b, columns):
    """Binary digits of a sum, the lowest first; of each digit there are some summands."""
    found, carries = [], []
    for column in columns:
        rest, carries = [*column, *carries], []
        while len(rest) > 1:
            *rest, x, y = rest
            z = rest.pop() if rest else None
            half = b.xor(x, y)
            carries.append(b.and_(x, y) if z is None else b.or_(b.and_(x, y), b.and_(z, half)))
            rest.insert(0, half if z is None else b.xor(half, z))
        found.append(rest[0])
    return found, carries


def _reached(inputs_, groups=None):
    """Adding up to so many inputs, in groups of four: in a loop, or where it is said how many there are,
    all at once.
    """
    digits = (inputs_ - 1).bit_length()

    @intrinsic
    def reached(_typing, values, at, kinds, row, inputs, first, many, starts, least, valid, flips, q, to):  # noqa: ARG001
        """Whether a neuron has turned, for every set of a block: to the slot ``values[to:]``; 0, 1 or 2: for
        none, for all or for some of those that are `valid`.

        It is active where at least so many of its inputs count, so counting begins there where it overflows
        then: at ``2^digits - least``, which stands in `starts`. Of input t the part of the slot at
        ``values[at + SLOT * t:]`` counts that stands at ``kinds[row + inputs[first + t]]``. ``flips[q]`` is
        all ones where the neuron is active at the sample.
        """
        signature = _I64(
            values, _I64, kinds, _I64, inputs, _I64, _I64, starts, _I64, valid, flips, _I64, _I64
        )

        def emit(context, b, signature, arguments):
            values, at, kinds, row, inputs, first, many, starts, least, valid, flips, q, to = arguments
            types = signature.args

            def data(k):
                return context.make_array(types[k])(context, b, arguments[k]).data

            def one(t):
                which = b.load(b.gep(data(4), [b.add(first, t)]))
                part = b.zext(b.load(b.gep(data(2), [b.add(row, which)])), _WORD)
                place = b.add(b.add(at, b.mul(t, _number(SLOT))), part)
                return _loaded(context, b, types[0], values, place, _BLOCK)

            begin = b.mul(b.sub(_number(1 << digits), least), _number(DIGITS))
            start = [
                _everywhere(b, b.load(b.gep(data(7), [b.add(begin, _number(k))])), _BLOCK)
                for k in range(digits)
            ]
            if groups is not None:
                bits = [[one(_number(t)) for t in range(4 * groups)], *([] for _ in range(digits - 1))]
                _, over = _sum(b, [[*bits[k], start[k]] for k in range(digits)])
                active = over[0] if len(over) == 1 else b.or_(*over)
            else:
                sums = [
                    cgutils.alloca_once_value(b, value)
                    for value in [*start, ir.Constant(_BLOCK, [0] * WORDS)]
                ]
                with cgutils.for_range_slice(b, _number(0), many, _number(4), _WORD, inc=True) as (t, _):
                    before = [b.load(place) for place in sums]
                    given = [one(b.add(t, _number(k))) for k in range(4)]
                    after, over = _sum(b, [[*given, before[0]], *([digit] for digit in before[1:-1])])
                    for value, place in zip([*after, b.or_(before[-1], over[0])], sums, strict=True):
                        b.store(value, place)
                active = b.load(sums[-1])
            sets = _loaded(context, b, types[9], valid, _number(0), _BLOCK)
            flip = _everywhere(b, b.load(b.gep(data(10), [q])), _BLOCK)
            has = b.and_(b.xor(active, flip), sets)
            not_ = b.xor(has, sets)
            _stored(context, b, types[0], values, to, not_)
            _stored(context, b, types[0], values, b.add(to, _number(2 * WORDS)), has)
            yes, no = (b.icmp_unsigned("!=", _any(b, part), _number(0)) for part in (has, not_))
            return b.add(b.zext(yes, _WORD), b.zext(b.and_(yes, no), _WORD))

        return signature, emit

    return reached


reached_4, reached_8, reached_12, reached_16 = (_reached(many, many // 4) for many in (4, 8, 12, 16))
reached_32, reached_any = _reached(32), _reached(MOST)
