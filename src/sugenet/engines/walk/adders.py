"""Additions of the walks by blocks as vector instructions: planes digit by digit, and literals that hold
(docs/theory.md 7.12).

Numba caches compiled code by the file that contains it, so a change of *this* file does not recompile the
walks: touch `engines/walk/planes.py` too.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

from functools import partial

from llvmlite import ir
from numba import types

from sugenet.bits.emitters import I8, I32, I64, call, emitted, everywhere, int64, load

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


class _Vectors:
    """Vectors of words, as the instructions of one function use them."""

    def __init__(self, b, size):
        self.b, self.size = b, size
        self.kind = ir.VectorType(I64, size)
        self.zero = ir.Constant(self.kind, [0] * size)

    def load(self, pointer, index):
        return load(self.b, self.b.gep(pointer, [index]), self.kind, 8)

    def store(self, value, pointer, index):
        self.b.store(value, self.b.bitcast(self.b.gep(pointer, [index]), self.kind.as_pointer())).align = 8

    def spread(self, value):
        """Return a vector with the same number in every lane."""
        return everywhere(self.b, value, self.size)

    def joined(self, value):
        """Return the bitwise or of all words of a vector."""
        return call(self.b, f"llvm.vector.reduce.or.v{self.size}i64", I64, [value])

    def ones(self, value):
        """Return how many bits of each word are set."""
        return call(self.b, f"llvm.ctpop.v{self.size}i64", self.kind, [value])

    def added(self, value):
        """Return how many bits of a vector are set."""
        return call(self.b, f"llvm.vector.reduce.add.v{self.size}i64", I64, [self.ones(value)])

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
        at = b.phi(I64)
        values = [b.phi(self.kind) for _ in begin]
        new = turn(at, values)
        following = b.add(at, int64(step))
        for phi, first, value in zip([at, *values], [int64(0), *begin], [following, *new], strict=True):
            phi.add_incoming(first, entry)
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", following, count), loop, done)
        b.position_at_end(done)
        return new


def _start(v, min_sum, digits):
    """Return the initial digits of the count, those of 2^digits - min_sum, so that it overflows if the sum is
    reached.
    """
    start = v.b.sub(int64(1 << digits), min_sum)
    return [v.spread(v.b.neg(v.b.and_(v.b.lshr(start, int64(k)), int64(1)))) for k in range(digits)]


def _told(v, reached, valid, out, where):
    """Write a plane and its complement; return whether it is 0, 1 or both within `valid`."""
    b = v.b
    missed, inside = b.not_(reached), v.load(valid, int64(0))
    v.store(reached, out, where)
    v.store(missed, out, b.add(where, int64(BLOCK)))
    some, other = (
        b.icmp_unsigned("!=", v.joined(b.and_(value, inside)), int64(0)) for value in (reached, missed)
    )
    return b.add(b.zext(some, I64), b.zext(b.and_(some, other), I64))


@partial(emitted, result=types.int64)
def add_up(_, b, inputs, first, kinds, row, n_planes, min_sum, valid, planes, where):
    """Write whether a sum of planes is at least `min_sum` (1 or more): that plane and its complement, at
    ``planes[where:]``. Return 0, 1 or 2: nowhere, everywhere or somewhere within `valid`.

    Summand t is the plane of slot ``first + t`` that ``kinds[row + inputs[first + t]]`` selects; their number
    `n_planes` is a multiple of 4.
    """
    v = _Vectors(b, BLOCK)

    def summand(t):
        kind = b.load(b.gep(kinds, [b.add(row, b.load(b.gep(inputs, [t])))]))
        index = b.add(b.mul(t, int64(SLOT)), b.mul(b.zext(kind, I64), int64(BLOCK)))
        return v.load(planes, index)

    def reached(digits):
        def four_more(t, digit):
            x = [summand(b.add(b.add(first, t), int64(k))) for k in range(4)]
            new = list(digit)
            new[0], low = v.full(digit[0], x[0], x[1])
            new[0], high = v.full(new[0], x[2], x[3])
            new[1], carry = v.full(digit[1], low, high)
            for k in range(2, digits):
                new[k], carry = b.xor(digit[k], carry), b.and_(digit[k], carry)
            new[digits] = b.or_(digit[digits], carry)
            return new

        return v.loop(n_planes, 4, [*_start(v, min_sum, digits), v.zero], four_more)[digits]

    few = [(b.icmp_signed("<=", min_sum, int64(1 << digits)), partial(reached, digits)) for digits in (4, 6)]
    return _told(v, v.first_of(few, partial(reached, _DIGITS)), valid, planes, where)


@emitted
def signs(_, b, columns, base, inputs, first, stride, into, at):
    """Write the signs of 8 inputs for 64 neurons, one byte per neuron, to ``into[at:]``. The words are at
    ``columns[base + stride * input]``.
    """
    v = _Vectors(b, 8)
    rows = ir.Constant(v.kind, ir.Undefined)
    for k in range(8):
        index = b.mul(stride, b.load(b.gep(inputs, [b.add(first, int64(k))])))
        word = b.load(b.gep(columns, [b.add(base, index)]))
        rows = b.insert_element(rows, word, ir.Constant(I32, k))
    byte_vector = ir.VectorType(I8, 64)
    order = ir.Constant(ir.VectorType(I32, 64), [8 * (k % 8) + k // 8 for k in range(64)])
    rows = b.bitcast(rows, byte_vector)
    x = b.bitcast(b.shuffle_vector(rows, rows, order), v.kind)  # 8 squares of 8 x 8 bits, each transposed
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        by, only = v.spread(int64(shift)), v.spread(int64(mask))
        swap = b.and_(b.xor(x, b.lshr(x, by)), only)
        x = b.xor(b.xor(x, swap), b.shl(swap, by))
    b.store(b.bitcast(x, byte_vector), b.bitcast(b.gep(into, [at]), byte_vector.as_pointer())).align = 1


@partial(emitted, result=types.int64)
def reached_by(_, b, adds, at, need, valid, planes, where):
    """Write which sets of a block add at least `need`: a plane and its complement; return as `add_up`."""
    v = _Vectors(b, BLOCK)
    numbers = load(b, b.gep(adds, [at]), ir.VectorType(adds.type.pointee, 64 * BLOCK))
    needed = everywhere(b, b.trunc(need, adds.type.pointee), 64 * BLOCK)
    return _told(v, b.bitcast(b.icmp_signed(">=", numbers, needed), v.kind), valid, planes, where)


@emitted
def fours(_, b, planes, first, table, at):
    """Write the sums of four planes for all 16 choices of their signs (a set bit is a weight of 1), three
    binary digits each, to ``table[at:]``. The planes are those of slot `first` and the next ones.
    """
    v = _Vectors(b, BLOCK)
    x = []
    for k in range(4):
        plane = v.load(planes, b.mul(b.add(first, int64(k)), int64(SLOT)))
        x.append((b.not_(plane), plane))
    pairs = [
        [(b.xor(x[t][s & 1], x[t + 1][s >> 1]), b.and_(x[t][s & 1], x[t + 1][s >> 1])) for s in range(4)]
        for t in (0, 2)
    ]
    for s in range(16):
        (one, two), (other, more) = pairs[0][s & 3], pairs[1][s >> 2]
        digits = b.xor(one, other), b.xor(b.xor(two, more), b.and_(one, other)), b.and_(two, more)
        for d, digit in enumerate(digits):
            v.store(digit, table, b.add(at, int64((3 * s + d) * BLOCK)))


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


@partial(emitted, result=types.int64)
def add_fours(_, b, table, bytes_, index, stride, n_groups, min_sum, valid, out, where):
    """Do the same as `add_up` for groups of four inputs with the sums of `fours`; `min_sum` is at most the
    number of inputs. The signs of two groups are one byte, at ``bytes_[index]`` and every `stride` after it.
    """
    v = _Vectors(b, BLOCK)

    def group(t):
        """Return the digits of the sum of group t."""
        half = b.shl(b.and_(t, int64(1)), int64(2))
        byte = b.load(b.gep(bytes_, [b.add(index, b.mul(stride, b.lshr(t, int64(1))))]))
        choice = b.and_(b.lshr(b.zext(byte, I64), half), int64(15))
        row = b.mul(b.add(b.shl(t, int64(4)), choice), int64(3 * BLOCK))
        return [v.load(table, b.add(row, int64(d * BLOCK))) for d in range(3)]

    def summed(groups):
        digits = (4 * groups - 1).bit_length()
        sums = [group(int64(t)) for t in range(groups)]
        return _summed(v, [_start(v, min_sum, digits), *sums], digits)

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
        return v.loop(n_groups, 1, [*_start(v, min_sum, _DIGITS), v.zero], one_more)[_DIGITS]

    few = [
        (b.icmp_signed("==", n_groups, int64(groups)), partial(summed, groups))
        for groups in range(1, _FEW + 1)
    ]
    return _told(v, v.first_of(few, counted), valid, out, where)


def _looker(full_rows, near):
    """Return an intrinsic that computes the effect of open inputs on neurons. With `full_rows` no weight is
    0; with `near` an upper bound on the distance of a set from a pattern is known.
    """

    @partial(emitted, result=types.UniTuple(types.uint64, 2))
    def sure_of(_, b, plus, minus, index, stride, words, on, here, open_, where, tau, at, left, apart):
        """Return which of 64 neurons are active for any values of their open inputs, and which depend on
        these; write what each misses without them to ``left[at:]``.

        Literals of weight 1 and -1 begin at `place`, those of the next word of inputs `stride` later. Inputs
        that are on begin at `here`, open ones at `where`; tau is at `at`. `apart` has the number of open
        inputs, the largest number of them that differ from a pattern in a set, and that pattern.
        """
        v = _Vectors(b, NEURONS)

        def one_more(w, counts):
            held = b.load(b.gep(on, [b.add(here, w)]))
            unknown = b.load(b.gep(open_, [b.add(where, w)]))
            there = b.add(index, b.mul(w, stride))
            for_on, for_off = v.load(plus, there), v.load(minus, there)
            off = b.not_(b.or_(held, unknown))
            masks = [b.or_(b.and_(for_on, v.spread(held)), b.and_(for_off, v.spread(off)))]
            if not full_rows:
                masks.append(b.and_(b.or_(for_on, for_off), v.spread(unknown)))
            if near:
                like = b.load(b.gep(apart, [b.add(w, int64(2))]))
                like_on, like_off = b.or_(held, like), b.or_(off, b.and_(unknown, b.not_(like)))
                masks.append(b.or_(b.and_(for_on, v.spread(like_on)), b.and_(for_off, v.spread(like_off))))
            return [b.add(count, v.ones(x)) for count, x in zip(counts, masks, strict=True)]

        counts = 1 + (not full_rows) + near
        held, *others = v.loop(words, 1, [v.zero] * counts, one_more)
        more = v.spread(b.load(b.gep(apart, [int64(0)]))) if full_rows else others[0]
        needed = v.load(tau, at)
        missing = b.sub(needed, held)
        v.store(missing, left, at)
        sure, may = b.icmp_signed("<=", missing, v.zero), b.icmp_signed("<=", missing, more)
        if near:
            far = v.spread(b.load(b.gep(apart, [int64(1)])))
            missed = b.sub(needed, others[-1])
            sure = b.or_(sure, b.icmp_signed("<=", b.add(missed, far), v.zero))
            may = b.and_(may, b.icmp_signed("<=", missed, far))
        return [b.bitcast(bits, I64) for bits in (sure, b.and_(may, b.not_(sure)))]

    return sure_of


sure_of_any, sure_of_whole, sure_of_near = _looker(False, False), _looker(True, False), _looker(True, True)


@partial(emitted, result=types.int64)
def apart_of(_, b, planes, inputs, first, n_planes, valid, apart):
    """Write the majority value of each of `n_planes` planes, from slot `first` on, to the bits of
    ``apart[2:]`` given by `inputs`, which are 0 before. Return the largest number of differences from it in a
    set.
    """
    v = _Vectors(b, BLOCK)
    inside = v.load(valid, int64(0))
    size = v.added(inside)

    def one_more(t, digits):
        at = b.add(first, t)
        plane = b.and_(v.load(planes, b.mul(at, int64(SLOT))), inside)
        majority = b.icmp_signed(">", b.shl(v.added(plane), int64(1)), size)
        which = b.load(b.gep(inputs, [at]))
        word = b.gep(apart, [b.add(int64(2), b.lshr(which, int64(6)))])
        bit = b.shl(b.zext(majority, I64), b.and_(which, int64(63)))
        b.store(b.or_(b.load(word), bit), word)
        carry = b.xor(plane, b.and_(inside, v.spread(b.neg(b.zext(majority, I64)))))
        new = []
        for digit in digits:
            total, carry = v.half(digit, carry)
            new.append(total)
        return new

    sets, largest = inside, int64(0)
    digits = v.loop(n_planes, 1, [v.zero] * APART.bit_length(), one_more)
    for k in reversed(range(len(digits))):  # sets with the largest number so far
        has = b.and_(sets, digits[k])
        some = b.icmp_unsigned("!=", v.joined(has), int64(0))
        sets = b.select(some, has, sets)
        largest = b.or_(largest, b.select(some, int64(1 << k), int64(0)))
    return largest


@partial(emitted, result=types.uint64)
def within(_, b, weights, index, limit):
    """Return which of 64 numbers, from an index on, are at most `limit`."""
    v = _Vectors(b, NEURONS)
    return b.bitcast(b.icmp_signed("<=", v.load(weights, index), v.spread(limit)), I64)
