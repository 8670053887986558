"""Transforms of a table of 2^n values: monotonicity, qualitative and additive Moebius, and back
(docs/theory.md 6.2).

A table is indexed by bit mask. Reshaped to (rest, 2, step), its middle axis is one criterion out or in. So
every transform is n sweeps over the whole table, O(n 2^n).
"""

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from sugenet.capacity.scales import Codes

__all__ = [
    "additive_moebius",
    "additive_zeta",
    "has_top_weight",
    "inner_moebius",
    "integers",
    "max_zeta",
    "moebius_signs",
    "rises",
    "rotated",
    "rounding_error",
    "sizes",
    "violation",
]


def _halves(table: Codes) -> Iterator[tuple[Codes, Codes]]:
    """Yield, for each criterion in turn, views of the table without it and with it."""
    n = table.size.bit_length() - 1
    for index in range(n):
        pairs = table.reshape(-1, 2, 1 << index)
        yield pairs[:, 0], pairs[:, 1]


def sizes(n: int) -> Codes:
    """Return the number of criteria in each of the 2^n sets."""
    return np.bitwise_count(np.arange(1 << n, dtype=np.uint32)).astype(np.int8)


def integers(table: Codes) -> tuple[Codes, int]:
    """Return a table as integers over their common denominator, and this: a table of fractions, or of floats
    in [0, 1] that are multiples of 2^-62. Any other table is returned unchanged, with 1.
    """
    if table.dtype == np.float64:
        exact = np.empty(table.size, np.int64)
        for start in range(0, table.size, CHUNK):
            scaled, part = table[start : start + CHUNK] * 2.0**FLOAT_BITS, exact[start : start + CHUNK]
            part[:] = scaled
            if np.any(part != scaled):
                return table, 1
        zeros = _trailing_zeros(int(np.bitwise_or.reduce(exact)))
        exact >>= zeros
        return exact, 1 << (FLOAT_BITS - zeros)
    if table.dtype != object:
        return table, 1
    fractions = [Fraction(value) for value in table.tolist()]
    unit = lcm(1, *{value.denominator for value in fractions})
    values = [value.numerator * (unit // value.denominator) for value in fractions]
    small = unit.bit_length() + len(values).bit_length() < 63  # then sums of all values fit, too
    return np.array(values, dtype=np.int64 if small else object), unit


FLOAT_BITS = 62
"""Floats in [0, 1] are read as multiples of 2 to the power of minus this, which fit into 64 bits."""

CHUNK = 1 << 16
"""Number of values that are converted at a time, so that they stay in the cache."""


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else FLOAT_BITS


def rotated(table: Codes, count: int) -> Codes:
    """Return the table with the first `count` criteria moved after the others."""
    return np.ascontiguousarray(table.reshape(-1, 1 << count).T).ravel()


def rises(table: Codes) -> Iterator[Codes]:
    """Yield, for each criterion in any order, what it adds to each set of the other criteria.

    Sets may be in another order, too, but the set with index p has as many members as p has bits. The first
    criteria are moved after the others: NumPy is slow if neighbours in memory differ in the criterion. There
    is one array, which the next criterion overwrites.
    """
    n = table.size.bit_length() - 1
    first, out = n // 3, np.empty(table.size // 2, table.dtype)
    for part, indices in ((table, range(first, n)), (rotated(table, first), range(n - first, n))):
        for index in indices:
            pairs = part.reshape(-1, 2, 1 << index)
            np.subtract(pairs[:, 1], pairs[:, 0], out=out.reshape(-1, 1 << index))
            yield out


def violation(table: Codes) -> tuple[int, int] | None:
    """Return masks A, B with A a subset of B, one criterion apart, and a larger value on A; None if the table
    is monotone.
    """
    for position, (without, within) in enumerate(_halves(table)):
        falls = np.asarray(without > within)
        if falls.any():
            rest, step = divmod(int(falls.argmax()), falls.shape[1])
            mask = (rest << (position + 1)) + step
            return mask, mask | 1 << position
    return None


def inner_moebius(table: Codes, bottom: Any) -> Codes:
    """Return mu_#(A) = mu(A) if it exceeds mu on every proper subset, else bottom.

    Comparing with the subsets that have one criterion fewer is enough.
    """
    focal = np.asarray(table != bottom)
    for (without, within), (_, marks) in zip(_halves(table), _halves(focal), strict=True):
        marks &= np.asarray(within > without, dtype=bool)
    return np.asarray(np.where(focal, table, bottom), dtype=table.dtype)


def max_zeta(table: Codes) -> Codes:
    """Return the largest value on the subsets of each set; inverts `inner_moebius`."""
    out = table.copy()
    for without, within in _halves(out):
        np.maximum(within, without, out=within)
    return out


def additive_moebius(table: Codes) -> Codes:
    """Return the usual (additive) Moebius transform: sum over subsets B of A of (-1)^(|A| - |B|) mu(B)."""
    out = table.copy()
    for without, within in _halves(out):
        within -= without
    return out


def additive_zeta(table: Codes) -> Codes:
    """Return the sum over the subsets of each set; inverts `additive_moebius`."""
    out = table.copy()
    for without, within in _halves(out):
        within += without
    return out


def rounding_error(a: Codes, b: Codes, total: Codes) -> Codes:
    """Return a + b - total for floats and their rounded sum, exactly (Knuth's two-sum)."""
    part = total - a
    return np.asarray((a - (total - part)) + (b - part))


def moebius_signs(table: Codes) -> Codes:
    """Return the signs of the additive Moebius transform of values in [0, 1], exactly.

    Integers are transformed modulo 2^64. If the absolute values of the result have a sum below 2^63, it is
    exact: transformed back, neither it nor the table leaves the 64-bit range, so that equal modulo 2^64 is
    equal, and a table has one transform. Otherwise, the table is split into digits (docs/theory.md 6.9).
    """
    exact, _ = integers(table)
    moebius = None
    if exact.dtype != np.float64:
        moebius = additive_moebius(exact.astype(np.int64) if exact.dtype != object else exact)
    if moebius is None or (table.dtype == np.float64 and not _sum_fits(moebius)):
        return _signs_by_digits(table)
    return np.asarray(moebius > 0).astype(np.int8) - np.asarray(moebius < 0).astype(np.int8)


def has_top_weight(table: Codes) -> bool:
    """Return whether the additive Moebius weight of the full set, of values in [0, 1], is seen not to be 0.

    Integers are added modulo 2^64, so a weight that is not 0 may be missed.
    """
    exact, _ = integers(table)
    parts, width = ([exact], 0) if exact.dtype != np.float64 else _digits(exact)
    weight = 0
    for part in parts:
        fold = part.astype(np.int64) if part.dtype == np.int8 else part
        while fold.size > 1:
            fold = fold[fold.size // 2 :] - fold[: fold.size // 2]
        weight = (weight << width) + int(fold[0])
    return weight != 0


def _sum_fits(values: Codes) -> bool:
    """Return whether the absolute values of 64-bit integers are known to have a sum below 2^63.

    Each is less than 2^k (h + 1), where h are its bits above the lowest k, and there are 2^k of them.
    """
    k = values.size.bit_length() - 1
    high = np.abs(values).view(np.uint64) >> np.uint64(k)
    return int(high.sum()) + values.size <= 1 << (63 - k)


def _digits(table: Codes) -> tuple[list[Codes], int]:
    """Split floats in [0, 1] into integer digits of 62 - n bits, highest first, and return this width.

    The transform of each digit fits into 64 bits.
    """
    width, digits = 62 - table.size.bit_length() + 1, []
    rest = table
    while rest.any():
        rest = np.ldexp(rest, width)
        digits.append(rest.astype(np.int64))
        rest = rest - digits[-1]
    return digits or [np.zeros(table.size, np.int64)], width


def _signs_by_digits(table: Codes) -> Codes:
    """Return the signs of the additive Moebius transform of floats in [0, 1]: transform each digit, then move
    carries up.
    """
    digits, width = _digits(table)
    transformed = [additive_moebius(digit) for digit in digits]
    lower = np.zeros(table.size, bool)
    for number in range(len(transformed) - 1, 0, -1):
        lower |= (transformed[number] & ((1 << width) - 1)) != 0
        transformed[number - 1] = transformed[number - 1] + (transformed[number] >> width)
    return np.where(transformed[0] < 0, -1, (transformed[0] > 0) | lower).astype(np.int8)
