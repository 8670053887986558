"""Bit-sliced addition in vectors: the building blocks of `blocks`.

To be ensured: each function does what its docstring says. A block of sets is a vector of words with one bit
per set. Integers that differ between sets are stored as one such vector per binary digit.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped"

import numba as nb
from llvmlite import ir
from numba.core import cgutils

from sugenet.checker.accelerate.vectors import (
    WORD,
    bits_in,
    emitted,
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
"""Number of words of a block."""
SLOT = 3 * WORDS
"""Number of words of a neuron that has turned for some sets: the sets for which it has not, no sets, and the
sets for which it has. Its gain in another neuron, -1, 0 or 1, says which of these parts count.
"""
MOST = 1 << 12
"""Largest number of neurons of a layer, so that their sums have few digits."""
DIGITS = MOST.bit_length()

_I64, _U64 = nb.types.int64, nb.types.uint64
_SHORT = ir.IntType(16)
_BLOCK = ir.VectorType(WORD, WORDS)
_COUNTED = 5  # digits of the number of inputs that turn


def _told(b, values, to, has, sets):
    """Fill a slot; return 0, 1 or 2 if none, all or some of the sets have it."""
    not_ = b.xor(has, sets)
    stored(b, values, to, not_)
    stored(b, values, b.add(to, number(2 * WORDS)), has)
    yes, no = some_of(b, has), some_of(b, not_)
    return b.add(b.zext(yes, WORD), b.zext(b.and_(yes, no), WORD))


@emitted(nb.types.UniTuple(_U64, 2))
def sides(b, sums, at, min_gains, max_gains, of):
    """Return, for 64 sums, which are 0 or more with the smallest gain of one more unit, and which with the
    largest.
    """
    vector = ir.VectorType(ir.IntType(32), 64)
    here = loaded(b, sums, at, vector)
    return [signs(b, b.add(here, loaded(b, gains, of, vector))) for gains in (min_gains, max_gains)]


@emitted(nb.types.UniTuple(_U64, 2))
def bounds(
    b, base, index, rows, at, step, turned, first, n_turned, open_, begin, some, max_unusual, usual, low
):
    """Return, for 64 neurons, which are certainly active and which may be active, with `n_turned` turned
    inputs.

    There are `some` open inputs, of which at most `max_unusual` per set differ from `usual`. The smallest
    value of each neuron is written to `low`.
    """
    vector = ir.VectorType(_SHORT, 64)
    zero = ir.Constant(vector, [0] * 64)
    start = loaded(b, base, index, vector)
    sums = [cgutils.alloca_once_value(b, start) for _ in range(2)]

    def row(array, place):
        which = b.load(b.gep(array, [place]))
        return b.sext(
            loaded(b, rows, b.add(at, b.mul(which, step)), ir.VectorType(ir.IntType(8), 64)), vector
        )

    with cgutils.for_range(b, n_turned) as loop:
        added = row(turned, b.add(first, loop.index))
        for end in sums:
            b.store(b.add(b.load(end), added), end)
    middle = cgutils.alloca_once_value(b, b.load(sums[0]))
    with cgutils.for_range(b, some) as loop:
        added = row(open_, b.add(begin, loop.index))
        flag = b.load(b.gep(usual, [b.add(begin, loop.index)]))
        b.store(b.add(b.load(middle), b.and_(added, everywhere(b, flag, vector))), middle)
        for end, sign in zip(sums, "<>", strict=True):
            part = b.select(b.icmp_signed(sign, added, zero), added, zero)
            b.store(b.add(b.load(end), part), end)
    (smallest, largest), alone = (b.load(end) for end in sums), b.load(middle)
    stored(b, low, index, smallest)
    change = everywhere(b, b.trunc(max_unusual, _SHORT), vector)
    sure = b.or_(signs(b, smallest), signs(b, b.sub(alone, change)))
    return [sure, b.and_(signs(b, largest), signs(b, b.add(alone, change)))]


@emitted(_I64)
def parted(b, adds, at, need, flip, valid, values, to):
    """Fill a slot with the `valid` sets that have turned a neuron; return 0, 1 or 2 for none, all or some of
    them.

    These are the sets whose units add at least `need` to it or, if `flip` is all ones, less.
    """
    vector = ir.VectorType(adds.type.pointee, 64 * WORDS)
    threshold = need if vector.element == WORD else b.trunc(need, vector.element)
    reached = b.icmp_signed(">=", loaded(b, adds, at, vector), everywhere(b, threshold, vector))
    sets = loaded(b, valid, number(0), _BLOCK)
    has = b.and_(b.xor(b.bitcast(reached, _BLOCK), everywhere(b, flip, _BLOCK)), sets)
    return _told(b, values, to, has, sets)


@emitted(_I64)
def apart(b, values, at, n_open, valid, size, usual, first):
    """Return the largest number of open inputs at ``values[at:]`` in which a set differs from the majority of
    a block of that size, or the number of open inputs.

    ``usual[first:]`` is set to -1 for inputs that most sets turn, else 0.
    """

    def unusual(t, sets):
        index = b.add(b.add(at, b.mul(t, number(SLOT))), number(2 * WORDS))
        has = loaded(b, values, index, _BLOCK)
        twice = b.shl(bits_in(b, has), number(1))
        flag = b.sext(b.icmp_signed(">", twice, size), WORD)
        b.store(b.trunc(flag, _SHORT), b.gep(usual, [b.add(first, t)]))
        return b.xor(has, b.and_(sets, everywhere(b, flag, _BLOCK)))

    return _most(b, n_open, loaded(b, valid, number(0), _BLOCK), unusual)


def _most(b, n_inputs, sets, bits):
    """Return the largest number of inputs whose bit a set has, or the number of inputs if there are too many
    to count.
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
        for k in reversed(range(_COUNTED)):  # the sets with the largest count so far
            has = b.and_(sets, b.load(sums[k]))
            some = some_of(b, has)
            sets = b.select(some, has, sets)
            max_count = b.or_(max_count, b.select(some, number(1 << k), number(0)))
        b.store(max_count, result)
    return b.load(result)


def _reached(inputs_, groups=None):
    """Return a function that adds up to `inputs_` inputs in groups of four: in a loop, or unrolled if
    `groups` is given.
    """
    digits = (inputs_ - 1).bit_length()

    @emitted(_I64)
    def reached(b, values, at, kinds, row, inputs, first, n_inputs, starts, needed, valid, flips, q, to):
        """Compute for every set of a block whether a neuron has turned, and write the slot ``values[to:]``.

        Return 0, 1 or 2 if it turned for none, all or some of the `valid` sets.

        A neuron is active if at least `needed` of its inputs count. So the count starts at ``2^digits -
        needed``, which is stored in `starts`, and overflows exactly then. For input t, the slot at
        ``values[at + SLOT * t:]`` is read at the part ``kinds[row + inputs[first + t]]``. ``flips[q]`` is all
        ones if the neuron is active at the sample.
        """

        def one(t):
            which = b.load(b.gep(inputs, [b.add(first, t)]))
            part = b.zext(b.load(b.gep(kinds, [b.add(row, which)])), WORD)
            return loaded(b, values, b.add(b.add(at, b.mul(t, number(SLOT))), part), _BLOCK)

        begin = b.mul(b.sub(number(1 << digits), needed), number(DIGITS))
        start = [
            everywhere(b, b.load(b.gep(starts, [b.add(begin, number(k))])), _BLOCK) for k in range(digits)
        ]
        if groups is not None:
            bits = [[one(number(t)) for t in range(4 * groups)], *([] for _ in range(digits - 1))]
            _, over = summed(b, [[*bits[k], start[k]] for k in range(digits)])
            active = over[0] if len(over) == 1 else b.or_(*over)
        else:
            sums = [
                cgutils.alloca_once_value(b, value) for value in [*start, ir.Constant(_BLOCK, [0] * WORDS)]
            ]
            with cgutils.for_range_slice(b, number(0), n_inputs, number(4), WORD, inc=True) as (t, _):
                before = [b.load(slot) for slot in sums]
                input_bits = [one(b.add(t, number(k))) for k in range(4)]
                after, over = summed(b, [[*input_bits, before[0]], *([digit] for digit in before[1:-1])])
                for value, index in zip([*after, b.or_(before[-1], over[0])], sums, strict=True):
                    b.store(value, index)
            active = b.load(sums[-1])
        sets = loaded(b, valid, number(0), _BLOCK)
        has = b.and_(b.xor(active, everywhere(b, b.load(b.gep(flips, [q])), _BLOCK)), sets)
        return _told(b, values, to, has, sets)

    return reached


reached_4, reached_8, reached_12, reached_16 = (
    _reached(n_inputs, n_inputs // 4) for n_inputs in (4, 8, 12, 16)
)
reached_32, reached_any = _reached(32), _reached(MOST)
