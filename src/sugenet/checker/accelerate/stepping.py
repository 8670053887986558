"""From one combination of options to the next: the compiled part of `combinations`.

To be ensured: after every step all neurons and inequalities have what the definition gives them. Match counts
stand in *planes*: 512 neurons have their bits of the same binary digit of ``M - tau``, in two's complement,
in one vector. A neuron that turns adds -1, 0 or 1 to each neuron behind it: rows of bits, whose digits are
summed for all that turned, less 1 for each of them, and then added to the planes.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-overload"
# mypy: disable-error-code="call-arg,var-annotated"

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.checker.accelerate.vectors import (
    WORD,
    everywhere,
    loaded,
    lowest,
    number,
    ones,
    signs,
    stored,
    summed,
)
from sugenet.compiling import njit

__all__ = ["DIGITS", "INEQUALITIES", "VECTOR", "step_through"]

VECTOR = 8
"""Words of a vector of neurons."""
INEQUALITIES = 8
"""Numbers of a vector of them."""
_GROUP = 8
"""Rows that are summed at once."""
DIGITS = 7
"""Binary digits of such sums, of which one is the sign."""
_MOST = 120
"""Rows that are summed before they are added to the planes: a multiple of `_GROUP`, and half of it below
``2^(DIGITS - 1)``.
"""

_AT_ONCE = 4  # neurons that are listed
_I64, _U64 = nb.types.int64, nb.types.uint64
_PLANE, _SCORES = ir.VectorType(WORD, VECTOR), ir.VectorType(WORD, INEQUALITIES)


@intrinsic
def _moved(_typing, sums, at, changes, of):  # noqa: ARG001 numba reads the names
    """Add 64 changes to sums; which of these are not negative then."""
    signature = _U64(sums, _I64, changes, _I64)

    def emit(context, b, signature, arguments):
        sums, at, changes, of = arguments
        kinds, vector = signature.args, ir.VectorType(ir.IntType(signature.args[0].dtype.bitwidth), 64)
        change = loaded(context, b, kinds[2], changes, of, vector)
        after = b.add(loaded(context, b, kinds[0], sums, at, vector), change)
        stored(context, b, kinds[0], sums, at, after)
        return signs(b, after)

    return signature, emit


@intrinsic
def _scored(_typing, short, at, worth, size, turned, many):  # noqa: ARG001
    """Add the rows of `worth` that `turned` names, of `size` numbers, to eight numbers from a place on."""
    signature = nb.types.void(short, _I64, worth, _I64, turned, _I64)

    def emit(context, b, signature, arguments):
        short, at, worth, size, turned, many = arguments
        kinds = signature.args
        rows = context.make_array(kinds[4])(context, b, turned).data
        total = cgutils.alloca_once_value(b, loaded(context, b, kinds[0], short, at, _SCORES))
        with cgutils.for_range(b, many) as loop:
            place = b.add(b.mul(b.load(b.gep(rows, [loop.index])), size), at)
            b.store(b.add(b.load(total), loaded(context, b, kinds[2], worth, place, _SCORES)), total)
        stored(context, b, kinds[0], short, at, b.load(total))
        return context.get_dummy_value()

    return signature, emit


def _counted(shift):
    neurons = _GROUP if shift else _GROUP // 2  # at once

    @intrinsic
    def counted(_typing, planes, at, digits, rows, begin, size, turned, first, many, start, odd, read, to):  # noqa: ARG001
        """Add 2^shift times the sum of `start` and of the rows of `many` neurons, and 1 where `odd` is all
        ones, to 512 numbers of so many digits; write to `read` which are not negative. Rows have `size`
        words; there are two of them for a neuron, unless they count twice.
        """
        signature = nb.types.void(
            planes, _I64, _I64, rows, _I64, _I64, turned, _I64, _I64, _I64, _U64, read, _I64
        )

        def emit(context, b, signature, arguments):
            planes, at, digits, rows, begin, size, turned, first, many, start, odd, read, to = arguments
            kinds = signature.args
            numbers = context.make_array(kinds[6])(context, b, turned).data

            def one(t):
                """The rows of a neuron."""
                which = b.mul(b.load(b.gep(numbers, [b.add(first, t)])), number(1 if shift else 2))
                for k in range(1 if shift else 2):
                    place = b.add(b.mul(b.add(which, number(k)), size), begin)
                    yield loaded(context, b, kinds[3], rows, place, _PLANE)

            sums = []
            for k in range(DIGITS):
                digit = b.sub(number(0), b.and_(b.ashr(start, number(k)), number(1)))
                sums.append(cgutils.alloca_once_value(b, everywhere(b, digit, _PLANE)))
            with cgutils.for_range_slice(b, number(0), many, number(neurons), WORD, inc=True) as (t, _):
                given = [row for k in range(neurons) for row in one(b.add(t, number(k)))]
                before = [b.load(place) for place in sums]
                after, _ = summed(b, [[*given, before[0]], *([digit] for digit in before[1:])])
                for value, place in zip(after, sums, strict=True):
                    b.store(value, place)
            total = [b.load(place) for place in sums]

            def add(place, digit, carry):
                """Add a digit and what was carried to the plane at a place: the sum, and what is carried."""
                (value,), over = summed(
                    b, [[loaded(context, b, kinds[0], planes, place, _PLANE), digit, carry]]
                )
                stored(context, b, kinds[0], planes, place, value)
                return value, over[0]

            carry = everywhere(b, odd, _PLANE)
            if shift:
                none = ir.Constant(_PLANE, [0] * VECTOR)
                _, carry = add(at, none, carry)
            for k, digit in enumerate(total):
                value, carry = add(b.add(at, number((shift + k) * VECTOR)), digit, carry)
            top, kept = cgutils.alloca_once_value(b, value), cgutils.alloca_once_value(b, carry)
            beyond = number(shift + DIGITS)
            with cgutils.for_range_slice(b, beyond, digits, number(1), WORD, inc=True) as (k, _):
                value, over = add(b.add(at, b.mul(k, number(VECTOR))), total[-1], b.load(kept))
                b.store(value, top)
                b.store(over, kept)
            stored(context, b, kinds[11], read, to, b.xor(b.load(top), ir.Constant(_PLANE, [-1] * VECTOR)))
            return context.get_dummy_value()

        return signature, emit

    return counted


_counted_once, _counted_twice = _counted(0), _counted(1)


@njit(nogil=True, cache=True, forceinline=True)
def _listed(word, base, turned, n):
    """Append the numbers of the bits that are set, counted from `base`; how many there are then."""
    left = nb.int64(ones(word))
    while True:  # some more than there are, so that little depends on how many
        for k in range(_AT_ONCE):
            turned[n + nb.uint64(k)] = base + lowest(word)
            word &= word - nb.uint64(1)
        n += nb.uint64(min(left, _AT_ONCE))
        left -= _AT_ONCE
        if left <= 0:
            return n


@njit(nogil=True, cache=True, forceinline=True)
def _told(read, seen, inside, begin, end, turned):
    """Numbers of the neurons that turned since they were told: that of a neuron that is on now, for one that
    is off as many more as there are bits; behind them that of a row of nothing. How many.
    """
    n, width = nb.uint64(0), 64 * (end - begin)
    for w in range(begin, end):
        word = read[w]
        differ = (word ^ seen[w]) & inside[w]
        if differ == nb.uint64(0):
            continue
        seen[w] = word
        n = _listed(differ & word, 64 * (w - begin), turned, n)
        n = _listed(differ & ~word, width + 64 * (w - begin), turned, n)
    for k in range(_GROUP):
        turned[n + nb.uint64(k)] = 2 * width
    return nb.int64(n)


@njit(nogil=True, cache=True, forceinline=True)
def _count(planes, at, digits, twice, rows, begin, turned, many, words, read, to):
    """Bring a layer up to date after so many neurons before it turned: each adds its rows less 1."""
    done = 0
    while done < many:
        n = min(_MOST if twice else _MOST // 2, many - done)
        for w in range(0, words, VECTOR):
            here, row, out = at + w * digits, begin + w, to + w
            if twice:  # 2 S - n is twice S - ceil(n / 2), and 1 where n is odd
                odd, half = nb.uint64(0) - nb.uint64(n & 1), (n + 1) >> 1
                _counted_twice(planes, here, digits, rows, row, words, turned, done, n, -half, odd, read, out)
            else:
                _counted_once(planes, here, digits, rows, row, words, turned, done, n, -n, 0, read, out)
        done += n


@njit(nogil=True, cache=True)
def step_through(sums, chosen, changes, first, state, layers, head):
    """Whether a combination of the options of some features is a violation: all are met, each but the first
    by one step of one feature up or down.

    Rows ``first[f]..`` of ``changes[0]`` are what a step up from each option of feature f adds to the sums of
    the first layer, and of ``changes[1]`` what the step back down does; the very last row is none.
    """
    read, planes, short = state
    inside, ends, starts_at, digits, rows, begins, twice = layers
    worth, members = head
    features, many_layers = len(chosen), len(digits)
    seen = read.copy()  # what the next layer has been told
    way = np.ones(features, np.int64)
    turned = np.zeros(64 * len(read) + _GROUP + _AT_ONCE, np.int64)
    lanes = len(sums)
    step = changes.shape[0] - lanes  # the row that adds nothing
    while True:
        for w in range(lanes >> 6):
            read[w] = _moved(sums, 64 * w, changes, step + 64 * w)
        for layer in range(many_layers):
            words = ends[layer + 2] - ends[layer + 1]
            many = _told(read, seen, inside, ends[layer], ends[layer + 1], turned)
            if many == 0:
                break
            _count(
                planes,
                starts_at[layer],
                digits[layer],
                twice[layer],
                rows,
                begins[layer],
                turned,
                many,
                words,
                read,
                ends[layer + 1],
            )
        many = _told(read, seen, inside, ends[many_layers], ends[many_layers + 1], turned)
        for q in range(0, len(short), INEQUALITIES):
            _scored(short, q, worth, len(short), turned, many)
        some = False
        for q in range(members.shape[1]):
            some |= short[q] <= 0
        if some or members.shape[1] == 0:
            for case in range(len(members)):
                met = True
                for q in range(members.shape[1]):
                    met &= not members[case, q] or short[q] <= 0
                if met:
                    return True
        f = 0
        while f < features and not 0 <= chosen[f] + way[f] < first[f + 1] - first[f]:
            way[f] = -way[f]  # at its end: the next feature moves, then this one goes back
            f += 1
        if f == features:
            return False
        down = 0 if way[f] > 0 else 1
        step = (down * first[features] + first[f] + chosen[f] - down) * lanes
        chosen[f] += way[f]
