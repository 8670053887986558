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

__all__ = ["BLOCK", "NEURONS", "add_up_4", "add_up_6", "add_up_11", "lowest", "ones", "sure_of"]

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
        one = self.b.insert_element(
            ir.Constant(self.kind, ir.Undefined), value, ir.Constant(_INDEX, 0)
        )
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, self.size), [0] * self.size))

    def loop(self, many, step, begin, turn):
        """Values that `turn` makes of a number and the values before, from 0 on in steps; `begin` at first."""
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


def _adder(digits):
    """An intrinsic that adds planes up in so many binary digits: enough for sums of up to 2^digits."""

    @intrinsic
    def add_up(_typing, planes, base, places, inputs, first, kinds, row, step, many, least, valid, out, where):
        """Whether a sum of planes is `least` or more, which is 1 or more: that plane and its complement, at
        ``out[where:]``; and 0, 1 or 2: nowhere, everywhere or somewhere within `valid`.

        Summand t is at ``base + places[first + t] + step * kinds[row + inputs[first + t]]``; there are `many`,
        a multiple of 4.
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

            # counting begins at 2^digits - least, so that the digits overflow when the sum is reached
            start = b.sub(_number(1 << digits), least)
            bits = [v.spread(b.neg(b.and_(b.lshr(start, _number(k)), _number(1)))) for k in range(digits)]
            reached = v.loop(many, 4, [*bits, v.zero], four_more)[digits]
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

        return signature, emit

    return add_up


add_up_4, add_up_6, add_up_11 = _adder(4), _adder(6), _adder(11)


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
