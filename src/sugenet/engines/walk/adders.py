"""Additions of the walks by blocks as vector instructions: planes digit by digit, and literals that hold
(docs/theory.md 7.12).

Numba caches compiled code by the file that contains it, so a change of *this* file does not recompile the
walks: touch `engines/walk/planes.py` too.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from __future__ import annotations

from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "APART",
    "BLOCK",
    "NEURONS",
    "SLOT",
    "add_fours",
    "add_up",
    "apart_of",
    "fours",
    "reached_by",
    "signs",
    "sure_of_any",
    "sure_of_near",
    "sure_of_whole",
    "within",
]

BLOCK = 8  # words of a plane that are processed together
SLOT = 3 * BLOCK  # words of an input: its plane, the complement, and zeros
APART = 63  # largest number of planes that can be distinguished
NEURONS = 64  # neurons of a layer that are processed together
_DIGITS = 12  # digits of sums of up to 4000 planes
_FEW = 8  # groups of four inputs that are added without a loop
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
        """Return a pointer to the numbers of an array."""
        return self.context.make_array(self.kinds[k])(self.context, self.b, self.arguments[k]).data

    def at(self, pointer, index):
        return self.b.bitcast(self.b.gep(pointer, [index]), self.kind.as_pointer())

    def load(self, pointer, index):
        value = self.b.load(self.at(pointer, index))
        value.align = 8
        return value

    def store(self, value, pointer, index):
        self.b.store(value, self.at(pointer, index)).align = 8

    def spread(self, value):
        """Return a vector with the same number in every lane."""
        one = self.b.insert_element(ir.Constant(self.kind, ir.Undefined), value, ir.Constant(_INDEX, 0))
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, self.size), [0] * self.size))

    def joined(self, value):
        """Return the bitwise or of all words of a vector."""
        return self._reduced("or", value)

    def added(self, value):
        """Return how many bits of a vector are set."""
        count = cgutils.get_or_insert_function(
            self.b.module, ir.FunctionType(self.kind, [self.kind]), f"llvm.ctpop.v{self.size}i64"
        )
        return self._reduced("add", self.b.call(count, [value]))

    def _reduced(self, how, value):
        kind = ir.FunctionType(_WORD, [self.kind])
        name = f"llvm.vector.reduce.{how}.v{self.size}i64"
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), [value])

    def full(self, x, y, z):
        """Return the digits of x + y + z, bit by bit: three instructions, if one has three operands."""
        differ = self.b.xor(x, y)
        return self.b.xor(differ, z), self.b.xor(x, self.b.and_(differ, self.b.xor(x, z)))

    def half(self, x, y):
        """Return the digits of x + y."""
        return self.b.xor(x, y), self.b.and_(x, y)

    def first_of(self, choices, otherwise):
        """Return the result of the first choice whose condition holds, or the alternative."""
        b, done, values = self.b, self.b.append_basic_block("made"), []
        for condition, make in choices:
            yes, no = b.append_basic_block("yes"), b.append_basic_block("no")
            b.cbranch(condition, yes, no)
            b.position_at_end(yes)
            values.append((make(), b.block))
            b.branch(done)
            b.position_at_end(no)
        values.append((otherwise(), b.block))
        b.branch(done)
        b.position_at_end(done)
        chosen = b.phi(self.kind)
        for value, block in values:
            chosen.add_incoming(value, block)
        return chosen

    def loop(self, count, step, begin, turn):
        """Return the values of a loop: `turn` maps an index, from 0 in steps, and the last values to the
        next.
        """
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
        b.cbranch(b.icmp_signed("<", following, count), loop, done)
        b.position_at_end(done)
        return new


def _start(v, min_sum, digits):
    """Return the initial digits of the count, those of 2^digits - min_sum, so that it overflows if the sum is
    reached.
    """
    start = v.b.sub(_number(1 << digits), min_sum)
    return [v.spread(v.b.neg(v.b.and_(v.b.lshr(start, _number(k)), _number(1)))) for k in range(digits)]


def _told(v, reached, at_valid, at_out, where):
    """Write a plane and its complement; return whether it is 0, 1 or both within `valid`."""
    b = v.b
    missed, inside = b.not_(reached), v.load(at_valid, _number(0))
    v.store(reached, at_out, where)
    v.store(missed, at_out, b.add(where, _number(BLOCK)))
    some, other = (
        b.icmp_unsigned("!=", v.joined(b.and_(value, inside)), _number(0)) for value in (reached, missed)
    )
    return b.add(b.zext(some, _WORD), b.zext(b.and_(some, other), _WORD))


@intrinsic
def add_up(_typing, inputs, first, kinds, row, n_planes, min_sum, valid, planes, where):
    """Write whether a sum of planes is at least `min_sum` (1 or more): that plane and its complement, at
    ``planes[where:]``. Return 0, 1 or 2: nowhere, everywhere or somewhere within `valid`.

    Summand t is the plane of slot ``first + t`` that ``kinds[row + inputs[first + t]]`` selects; their number
    `n_planes` is a multiple of 4.
    """
    del first, row, n_planes, min_sum, where
    integer = types.int64
    signature = integer(inputs, integer, kinds, integer, integer, integer, valid, planes, integer)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_inputs, at_kinds, at_valid, at_planes = map(v.data, (0, 2, 6, 7))
        first, row, count, threshold, where = (arguments[k] for k in (1, 3, 4, 5, 8))

        def summand(t):
            kind = b.load(b.gep(at_kinds, [b.add(row, b.load(b.gep(at_inputs, [t])))]))
            index = b.add(b.mul(t, _number(SLOT)), b.mul(b.zext(kind, _WORD), _number(BLOCK)))
            return v.load(at_planes, index)

        def reached(digits):
            def four_more(t, digit):
                x = [summand(b.add(b.add(first, t), _number(k))) for k in range(4)]
                new = list(digit)
                new[0], low = v.full(digit[0], x[0], x[1])
                new[0], high = v.full(new[0], x[2], x[3])
                new[1], carry = v.full(digit[1], low, high)
                for k in range(2, digits):
                    new[k], carry = b.xor(digit[k], carry), b.and_(digit[k], carry)
                new[digits] = b.or_(digit[digits], carry)
                return new

            return v.loop(count, 4, [*_start(v, threshold, digits), v.zero], four_more)[digits]

        few = [
            (b.icmp_signed("<=", threshold, _number(1 << digits)), partial(reached, digits))
            for digits in (4, 6)
        ]
        return _told(v, v.first_of(few, partial(reached, _DIGITS)), at_valid, at_planes, where)

    return signature, emit


@intrinsic
def signs(_typing, columns, base, inputs, first, stride, into, at):
    """Write the signs of 8 inputs for 64 neurons, one byte per neuron, to ``into[at:]``. The words are at
    ``columns[base + stride * input]``.
    """
    del base, first, stride, at
    integer = types.int64
    signature = types.void(columns, integer, inputs, integer, integer, into, integer)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, 8)
        at_columns, at_inputs, at_into = map(v.data, (0, 2, 5))
        base, first, stride, at = (arguments[k] for k in (1, 3, 4, 6))
        rows = ir.Constant(v.kind, ir.Undefined)
        for k in range(8):
            index = b.mul(stride, b.load(b.gep(at_inputs, [b.add(first, _number(k))])))
            word = b.load(b.gep(at_columns, [b.add(base, index)]))
            rows = b.insert_element(rows, word, ir.Constant(_INDEX, k))
        byte_vector = ir.VectorType(ir.IntType(8), 64)
        order = ir.Constant(ir.VectorType(_INDEX, 64), [8 * (k % 8) + k // 8 for k in range(64)])
        rows = b.bitcast(rows, byte_vector)
        x = b.bitcast(b.shuffle_vector(rows, rows, order), v.kind)  # 8 squares of 8 x 8 bits, each transposed
        for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
            by, only = v.spread(_number(shift)), v.spread(_number(mask))
            swap = b.and_(b.xor(x, b.lshr(x, by)), only)
            x = b.xor(b.xor(x, swap), b.shl(swap, by))
        b.store(
            b.bitcast(x, byte_vector), b.bitcast(b.gep(at_into, [at]), byte_vector.as_pointer())
        ).align = 1
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def reached_by(_typing, adds, at, need, valid, planes, where):
    """Write which sets of a block add at least `need`: a plane and its complement; return as `add_up`."""
    del at, need, where
    integer = types.int64
    signature = integer(adds, integer, integer, valid, planes, integer)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_adds, at_valid, at_planes = map(v.data, (0, 3, 4))
        kind = ir.VectorType(ir.IntType(signature.args[0].dtype.bitwidth), 64 * BLOCK)
        numbers = b.load(b.bitcast(b.gep(at_adds, [arguments[1]]), kind.as_pointer()))
        numbers.align = 1
        one = b.insert_element(
            ir.Constant(kind, ir.Undefined), b.trunc(arguments[2], kind.element), ir.Constant(_INDEX, 0)
        )
        index_vector = ir.VectorType(_INDEX, kind.count)
        needed = b.shuffle_vector(one, one, ir.Constant(index_vector, [0] * kind.count))
        reached = b.bitcast(b.icmp_signed(">=", numbers, needed), v.kind)
        return _told(v, reached, at_valid, at_planes, arguments[5])

    return signature, emit


@intrinsic
def fours(_typing, planes, first, table, at):
    """Write the sums of four planes for all 16 choices of their signs (a set bit is a weight of 1), three
    binary digits each, to ``table[at:]``. The planes are those of slot `first` and the next ones.
    """
    del first, at
    integer = types.int64
    signature = types.void(planes, integer, table, integer)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_planes, at_table = v.data(0), v.data(2)
        first, at = arguments[1], arguments[3]
        x = []
        for k in range(4):
            plane = v.load(at_planes, b.mul(b.add(first, _number(k)), _number(SLOT)))
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


def _summed(v, numbers, digits):
    """Add numbers given by their binary digits, lowest first; return the digit `digits` of the sum, which has
    no higher one.
    """
    rows = [[number[k] for number in numbers if k < len(number)] for k in range(digits + 1)]
    for k in range(digits):
        while len(rows[k]) > 1:
            three, rows[k] = rows[k][:3], rows[k][3:]
            total, carry = v.full(*three) if len(three) == 3 else v.half(*three)
            rows[k].append(total)
            rows[k + 1].append(carry)
    top_digit = rows[digits][0]
    for carry in rows[digits][1:]:
        top_digit = v.b.or_(top_digit, carry)
    return top_digit


@intrinsic
def add_fours(_typing, table, bytes_, index, stride, n_groups, min_sum, valid, out, where):
    """Do the same as `add_up` for groups of four inputs with the sums of `fours`; `min_sum` is at most the
    number of inputs. The signs of two groups are one byte, at ``bytes_[index]`` and every `stride` after it.
    """
    del index, stride, n_groups, min_sum, where
    integer = types.int64
    signature = integer(table, bytes_, *[integer] * 4, valid, out, integer)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_table, at_bytes, at_valid, at_out = map(v.data, (0, 1, 6, 7))
        position, stride, count, threshold, where = (arguments[k] for k in (2, 3, 4, 5, 8))

        def group(t):
            """Return the digits of the sum of group t."""
            half = b.shl(b.and_(t, _number(1)), _number(2))
            byte = b.load(b.gep(at_bytes, [b.add(position, b.mul(stride, b.lshr(t, _number(1))))]))
            choice = b.and_(b.lshr(b.zext(byte, _WORD), half), _number(15))
            row = b.mul(b.add(b.shl(t, _number(4)), choice), _number(3 * BLOCK))
            return [v.load(at_table, b.add(row, _number(d * BLOCK))) for d in range(3)]

        def summed(groups):
            digits = (4 * groups - 1).bit_length()
            sums = [group(_number(t)) for t in range(groups)]
            return _summed(v, [_start(v, threshold, digits), *sums], digits)

        def one_more(t, digit):
            x = group(t)
            new = list(digit)
            new[0], carry = v.half(digit[0], x[0])
            for k in (1, 2):
                new[k], carry = v.full(digit[k], x[k], carry)
            for k in range(3, _DIGITS):
                new[k], carry = v.half(digit[k], carry)
            new[_DIGITS] = b.or_(digit[_DIGITS], carry)
            return new

        def counted():
            return v.loop(count, 1, [*_start(v, threshold, _DIGITS), v.zero], one_more)[_DIGITS]

        few = [
            (b.icmp_signed("==", count, _number(groups)), partial(summed, groups))
            for groups in range(1, _FEW + 1)
        ]
        return _told(v, v.first_of(few, counted), at_valid, at_out, where)

    return signature, emit


def _looker(full_rows, near):
    """Return an intrinsic that computes the effect of open inputs on neurons. With `full_rows` no weight is
    0; with `near` an upper bound on the distance of a set from a pattern is known.
    """

    @intrinsic
    def sure_of(_typing, plus, minus, index, stride, words, on, here, open_, where, tau, at, left, apart):
        """Return which of 64 neurons are active for any values of their open inputs, and which depend on
        these; write what each misses without them to ``left[at:]``.

        Literals of weight 1 and -1 begin at `place`, those of the next word of inputs `stride` later. Inputs
        that are on begin at `here`, open ones at `where`; tau is at `at`. `apart` has the number of open
        inputs, the largest number of them that differ from a pattern in a set, and that pattern.
        """
        del index, stride, words, here, where, at
        integer = types.int64
        signature = types.UniTuple(types.uint64, 2)(
            plus, minus, integer, integer, integer, on, integer, open_, integer, tau, integer, left, apart
        )

        def emit(context, b, signature, arguments):
            v = _Vectors(context, b, signature.args, arguments, NEURONS)
            at_plus, at_minus, at_on, at_open, at_tau, at_left, at_apart = map(
                v.data, (0, 1, 5, 7, 9, 11, 12)
            )
            position, stride, words, here, where, at = (arguments[k] for k in (2, 3, 4, 6, 8, 10))
            ones_of = cgutils.get_or_insert_function(
                b.module, ir.FunctionType(v.kind, [v.kind]), f"llvm.ctpop.v{NEURONS}i64"
            )

            def one_more(w, counts):
                held = b.load(b.gep(at_on, [b.add(here, w)]))
                unknown = b.load(b.gep(at_open, [b.add(where, w)]))
                there = b.add(position, b.mul(w, stride))
                plus, minus = v.load(at_plus, there), v.load(at_minus, there)
                off = b.not_(b.or_(held, unknown))
                masks = [b.or_(b.and_(plus, v.spread(held)), b.and_(minus, v.spread(off)))]
                if not full_rows:
                    masks.append(b.and_(b.or_(plus, minus), v.spread(unknown)))
                if near:
                    like = b.load(b.gep(at_apart, [b.add(w, _number(2))]))
                    like_on, like_off = b.or_(held, like), b.or_(off, b.and_(unknown, b.not_(like)))
                    masks.append(b.or_(b.and_(plus, v.spread(like_on)), b.and_(minus, v.spread(like_off))))
                return [b.add(count, b.call(ones_of, [x])) for count, x in zip(counts, masks, strict=True)]

            counts = 1 + (not full_rows) + near
            held, *others = v.loop(words, 1, [v.zero] * counts, one_more)
            more = v.spread(b.load(b.gep(at_apart, [_number(0)]))) if full_rows else others[0]
            tau = v.load(at_tau, at)
            missing = b.sub(tau, held)
            v.store(missing, at_left, at)
            sure, may = b.icmp_signed("<=", missing, v.zero), b.icmp_signed("<=", missing, more)
            if near:
                far = v.spread(b.load(b.gep(at_apart, [_number(1)])))
                missed = b.sub(tau, others[-1])
                sure = b.or_(sure, b.icmp_signed("<=", b.add(missed, far), v.zero))
                may = b.and_(may, b.icmp_signed("<=", missed, far))
            pair = [b.bitcast(bits, _WORD) for bits in (sure, b.and_(may, b.not_(sure)))]
            return context.make_tuple(b, signature.return_type, pair)

        return signature, emit

    return sure_of


sure_of_any, sure_of_whole, sure_of_near = _looker(False, False), _looker(True, False), _looker(True, True)


@intrinsic
def apart_of(_typing, planes, inputs, first, n_planes, valid, apart):
    """Write the majority value of each of `n_planes` planes, from slot `first` on, to the bits of
    ``apart[2:]`` given by `inputs`, which are 0 before. Return the largest number of differences from it in a
    set.
    """
    del first, n_planes
    integer = types.int64
    signature = integer(planes, inputs, integer, integer, valid, apart)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, BLOCK)
        at_planes, at_inputs, at_valid, at_apart = map(v.data, (0, 1, 4, 5))
        first, count = arguments[2], arguments[3]
        valid = v.load(at_valid, _number(0))
        size = v.added(valid)

        def one_more(t, digits):
            at = b.add(first, t)
            plane = b.and_(v.load(at_planes, b.mul(at, _number(SLOT))), valid)
            majority = b.icmp_signed(">", b.shl(v.added(plane), _number(1)), size)
            which = b.load(b.gep(at_inputs, [at]))
            word = b.gep(at_apart, [b.add(_number(2), b.lshr(which, _number(6)))])
            bit = b.shl(b.zext(majority, _WORD), b.and_(which, _number(63)))
            b.store(b.or_(b.load(word), bit), word)
            carry = b.xor(plane, b.and_(valid, v.spread(b.neg(b.zext(majority, _WORD)))))
            new = []
            for digit in digits:
                total, carry = v.half(digit, carry)
                new.append(total)
            return new

        sets, largest = valid, _number(0)
        digits = v.loop(count, 1, [v.zero] * APART.bit_length(), one_more)
        for k in reversed(range(len(digits))):  # sets with the largest number so far
            has = b.and_(sets, digits[k])
            some = b.icmp_unsigned("!=", v.joined(has), _number(0))
            sets = b.select(some, has, sets)
            largest = b.or_(largest, b.select(some, _number(1 << k), _number(0)))
        return largest

    return signature, emit


@intrinsic
def within(_typing, weights, index, limit):
    """Return which of 64 numbers, from an index on, are at most `limit`."""
    del index, limit
    signature = types.uint64(weights, types.int64, types.int64)

    def emit(context, b, signature, arguments):
        v = _Vectors(context, b, signature.args, arguments, NEURONS)
        return b.bitcast(b.icmp_signed("<=", v.load(v.data(0), arguments[1]), v.spread(arguments[2])), _WORD)

    return signature, emit
