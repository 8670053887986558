"""What the walks by blocks add up, as vector instructions: planes digit by digit, literals that hold
(docs/theory.md 7.12).

Numba keeps compiled code on disk by the file that it stands in, so a change of *this* file does not renew
that of the walks: touch `engines/walk/planes.py` too.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "BLOCK",
    "NEURONS",
    "add_fours_4",
    "add_fours_6",
    "add_fours_11",
    "add_up_4",
    "add_up_6",
    "add_up_11",
    "fours",
    "lowest",
    "ones",
    "signs",
    "sure_of",
    "within",
]

BLOCK = 4  # words of a plane that are worked on together
NEURONS = 64  # of a layer that are looked at together
_WORD, _INDEX = ir.IntType(64), ir.IntType(32)


def _number(value):
    return ir.Constant(_WORD, value)


class _Vectors:
    """Vectors of words, as the instructions of one intrinsic use them."""

    def __init__(self, context, builder, kinds, arguments, size):
        self.context, self.b, self.kinds, self.arguments, self.size = context, builder, kinds, arguments, size
        self.kind = ir.VectorType(_WORD, size)
        self.zero = ir.Constant(self.kind, [0] * size)

    def data(self, k):
        """Where the numbers of an array are."""
        return self.context.make_array(self.kinds[k])(self.context, self.b, self.arguments[k]).data

    def at(self, pointer, place):
        return self.b.bitcast(self.b.gep(pointer, [place]), self.kind.as_pointer())

    def load(self, pointer, place):
        value = self.b.load(self.at(pointer, place))
        value.align = 8
        return value

    def store(self, value, pointer, place):
        self.b.store(value, self.at(pointer, place)).align = 8

    def spread(self, value):
        """The same number everywhere."""
        one = self.b.insert_element(ir.Constant(self.kind, ir.Undefined), value, ir.Constant(_INDEX, 0))
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, self.size), [0] * self.size))

    def loop(self, many, step, begin, turn):
        """Values that `turn` makes of a number, from 0 on in steps, and the values before; first `begin`."""
        b = self.b
        entry, loop, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
        b.branch(loop)
        b.position_at_end(loop)
        at = b.phi(_WORD)
        values = [b.phi(self.kind) for _ in begin]
        new = turn(at, values)
        following = b.add(at, _number(step))
        for phi, first, value in zip([at, *values], [_number(0), *begin], [following, *new], strict=True):
            phi.add_incoming(first, entry)
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", following, many), loop, done)
        b.position_at_end(done)
        return new


def _reached(v, many, step, least, digits, turn, to):
    """Count up to `least` or more by `turn`, and say where that was reached."""
    b, (at_valid, at_out, where) = v.b, to
    # counting begins at 2^digits - least, so that the digits overflow when the sum is reached
    start = b.sub(_number(1 << digits), least)
    bits = [v.spread(b.neg(b.and_(b.lshr(start, _number(k)), _number(1)))) for k in range(digits)]
    reached = v.loop(many, step, [*bits, v.zero], turn)[digits]
    missed, inside = b.not_(reached), v.load(at_valid, _number(0))
    v.store(reached, at_out, where)
    v.store(missed, at_out, b.add(where, _number(BLOCK)))
    join = cgutils.get_or_insert_function(
        b.module, ir.FunctionType(_WORD, [v.kind]), f"llvm.vector.reduce.or.v{BLOCK}i64"
    )
    some, other = (
        b.icmp_unsigned("!=", b.call(join, [b.and_(value, inside)]), _number(0))
        for value in (reached, missed)
    )
    return b.add(b.zext(some, _WORD), b.zext(b.and_(some, other), _WORD))


def _adder(digits):
    """An intrinsic that adds planes up in so many binary digits: enough for sums of up to 2^digits."""

    @intrinsic
    def add_up(
        _typing, planes, base, places, inputs, first, kinds, row, step, many, least, valid, out, where
    ):
        """Whether a sum of planes is `least` or more, which is 1 or more: that plane and its complement, at
        ``out[where:]``; and 0, 1 or 2: nowhere, everywhere or somewhere within `valid`.

        Summand t is at ``base + places[first + t] + step * kinds[row + inputs[first + t]]``; their number
        `many` is a multiple of 4.
        """
        del base, first, row, step, many, least, where
        whole = types.int64
        signature = whole(planes, whole, places, inputs, whole, kinds, *[whole] * 4, valid, out, whole)

        def emit(context, b, signature, arguments):
            v = _Vectors(context, b, signature.args, arguments, BLOCK)
            at_planes, at_places, at_inputs, at_kinds, at_valid, at_out = map(v.data, (0, 2, 3, 5, 10, 11))
            base, first, row, step, many, least, where = (arguments[k] for k in (1, 4, 6, 7, 8, 9, 12))

            def summand(t):
                kind = b.load(b.gep(at_kinds, [b.add(row, b.load(b.gep(at_inputs, [t])))]))
                place = b.add(b.load(b.gep(at_places, [t])), b.mul(b.zext(kind, _WORD), step))
                return v.load(at_planes, b.add(base, place))

            def full(x, y, z):
                differ = b.xor(x, y)
                return b.xor(differ, z), b.or_(b.and_(x, y), b.and_(z, differ))

            def four_more(t, digit):
                x = [summand(b.add(b.add(first, t), _number(k))) for k in range(4)]
                new = list(digit)
                new[0], low = full(digit[0], x[0], x[1])
                new[0], high = full(new[0], x[2], x[3])
                new[1], carry = full(digit[1], low, high)
                for k in range(2, digits):
                    new[k], carry = b.xor(digit[k], carry), b.and_(digit[k], carry)
                new[digits] = b.or_(digit[digits], carry)
                return new

            return _reached(v, many, 4, least, digits, four_more, (at_valid, at_out, where))

        return signature, emit

    return add_up


add_up_4, add_up_6, add_up_11 = _adder(4), _adder(6), _adder(11)


@intrinsic
def signs(_typing, columns, base, inputs, first, stride, into, at):
    """Of 64 neurons the signs of 8 inputs as one byte each: words at ``columns[base + stride * input]``, the
    bytes go to ``into[at:]``.
    """
    del base, first, stride, at
    whole = types.int64
    signature = types.void(columns, whole, inputs, whole, whole, into, whole)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, 8)
        at_columns, at_inputs, at_into = map(v.data, (0, 2, 5))
        base, first, stride, at = (arguments[k] for k in (1, 3, 4, 6))
        rows = ir.Constant(v.kind, ir.Undefined)
        for k in range(8):
            place = b.mul(stride, b.load(b.gep(at_inputs, [b.add(first, _number(k))])))
            word = b.load(b.gep(at_columns, [b.add(base, place)]))
            rows = b.insert_element(rows, word, ir.Constant(_INDEX, k))
        many = ir.VectorType(ir.IntType(8), 64)
        order = ir.Constant(ir.VectorType(_INDEX, 64), [8 * (k % 8) + k // 8 for k in range(64)])
        rows = b.bitcast(rows, many)
        x = b.bitcast(b.shuffle_vector(rows, rows, order), v.kind)  # 8 squares of 8 x 8 bits, each turned
        for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
            by, only = v.spread(_number(shift)), v.spread(_number(mask))
            swap = b.and_(b.xor(x, b.lshr(x, by)), only)
            x = b.xor(b.xor(x, swap), b.shl(swap, by))
        b.store(b.bitcast(x, many), b.bitcast(b.gep(at_into, [at]), many.as_pointer())).align = 1
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def fours(_typing, planes, base, places, first, table, at):
    """Sums of four planes for all 16 choices of their signs, a bit that is set for a weight of 1: three
    binary digits each, to ``table[at:]``. Planes are at ``base + places[first:]``.
    """
    del base, first, at
    whole = types.int64
    signature = types.void(planes, whole, places, whole, table, whole)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_planes, at_places, at_table = map(v.data, (0, 2, 4))
        base, first, at = (arguments[k] for k in (1, 3, 5))
        x = []
        for k in range(4):
            place = b.load(b.gep(at_places, [b.add(first, _number(k))]))
            plane = v.load(at_planes, b.add(base, place))
            x.append((b.not_(plane), plane))
        pairs = [
            [(b.xor(x[t][s & 1], x[t + 1][s >> 1]), b.and_(x[t][s & 1], x[t + 1][s >> 1])) for s in range(4)]
            for t in (0, 2)
        ]
        for s in range(16):
            (one, two), (other, more) = pairs[0][s & 3], pairs[1][s >> 2]
            digits = b.xor(one, other), b.xor(b.xor(two, more), b.and_(one, other)), b.and_(two, more)
            for d, digit in enumerate(digits):
                v.store(digit, at_table, b.add(at, _number((3 * s + d) * BLOCK)))
        return context.get_dummy_value()

    return signature, emit


def _four_adder(digits):
    """An intrinsic that adds the sums of `fours` up in so many binary digits."""

    @intrinsic
    def add_fours(_typing, table, bytes_, place, stride, many, least, valid, out, where):
        """As `_adder` says, of `many` groups of four inputs; the signs of two groups are a byte, at
        ``bytes_[place]`` and every `stride` behind it.
        """
        del place, stride, many, least, where
        whole = types.int64
        signature = whole(table, bytes_, *[whole] * 4, valid, out, whole)

        def emit(context, b, signature, arguments):
            v = _Vectors(context, b, signature.args, arguments, BLOCK)
            at_table, at_bytes, at_valid, at_out = map(v.data, (0, 1, 6, 7))
            place, stride, many, least, where = (arguments[k] for k in (2, 3, 4, 5, 8))

            def one_more(t, digit):
                half = b.shl(b.and_(t, _number(1)), _number(2))
                byte = b.load(b.gep(at_bytes, [b.add(place, b.mul(stride, b.lshr(t, _number(1))))]))
                choice = b.and_(b.lshr(b.zext(byte, _WORD), half), _number(15))
                row = b.mul(b.add(b.shl(t, _number(4)), choice), _number(3 * BLOCK))
                x = [v.load(at_table, b.add(row, _number(d * BLOCK))) for d in range(3)]
                new = list(digit)
                new[0], carry = b.xor(digit[0], x[0]), b.and_(digit[0], x[0])
                for k in (1, 2):
                    differ = b.xor(digit[k], x[k])
                    new[k], carry = (
                        b.xor(differ, carry),
                        b.or_(b.and_(digit[k], x[k]), b.and_(carry, differ)),
                    )
                for k in range(3, digits):
                    new[k], carry = b.xor(digit[k], carry), b.and_(digit[k], carry)
                new[digits] = b.or_(digit[digits], carry)
                return new

            return _reached(v, many, 1, least, digits, one_more, (at_valid, at_out, where))

        return signature, emit

    return add_fours


add_fours_4, add_fours_6, add_fours_11 = _four_adder(4), _four_adder(6), _four_adder(11)


@intrinsic
def sure_of(_typing, positive, negative, place, stride, words, on, here, open_, where, tau, at, left):
    """Of 64 neurons, those that are active whatever their open inputs are, and those that these decide; what
    each misses without them goes to ``left[at:]``.

    Literals of weight 1 and -1 begin at `place`, those of the next word of inputs `stride` behind it; inputs
    that are on begin at `here`, those that are open at `where`; tau is at `at`.
    """
    del place, stride, words, here, where, at
    whole = types.int64
    signature = types.UniTuple(types.uint64, 2)(
        positive, negative, whole, whole, whole, on, whole, open_, whole, tau, whole, left
    )

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, NEURONS)
        at_plus, at_minus, at_on, at_open, at_tau, at_left = map(v.data, (0, 1, 5, 7, 9, 11))
        place, stride, words, here, where, at = (arguments[k] for k in (2, 3, 4, 6, 8, 10))
        ones_of = cgutils.get_or_insert_function(
            b.module, ir.FunctionType(v.kind, [v.kind]), f"llvm.ctpop.v{NEURONS}i64"
        )

        def one_more(w, counts):
            held, unknown = b.load(b.gep(at_on, [b.add(here, w)])), b.load(b.gep(at_open, [b.add(where, w)]))
            off = b.not_(b.or_(held, unknown))
            there = b.add(place, b.mul(w, stride))
            plus, minus = v.load(at_plus, there), v.load(at_minus, there)
            hold = b.or_(b.and_(plus, v.spread(held)), b.and_(minus, v.spread(off)))
            may = b.and_(b.or_(plus, minus), v.spread(unknown))
            return [b.add(count, b.call(ones_of, [x])) for count, x in zip(counts, (hold, may), strict=True)]

        held, more = v.loop(words, 1, [v.zero, v.zero], one_more)
        missing = b.sub(v.load(at_tau, at), held)
        v.store(missing, at_left, at)
        sure = b.icmp_signed("<=", missing, v.zero)
        decided = b.and_(b.not_(sure), b.icmp_signed("<=", missing, more))
        pair = [b.bitcast(bits, _WORD) for bits in (sure, decided)]
        return context.make_tuple(b, signature.return_type, pair)

    return signature, emit


@intrinsic
def within(_typing, weights, place, most):
    """Which of 64 numbers, from a place on, are `most` or less."""
    del place, most
    signature = types.uint64(weights, types.int64, types.int64)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, NEURONS)
        return b.bitcast(b.icmp_signed("<=", v.load(v.data(0), arguments[1]), v.spread(arguments[2])), _WORD)

    return signature, emit


@intrinsic
def ones(_typing, word):  # noqa: ARG001 numba reads the names
    """How many bits of a word are set."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return signature, emit


@intrinsic
def lowest(_typing, word):  # noqa: ARG001 numba reads the names
    """The place of the lowest bit of a word that is not 0."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return signature, emit
