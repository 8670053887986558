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
    "inner_moebius",
    "integers",
    "max_zeta",
    "moebius_signs",
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
    """Return a table of fractions as integers over their common denominator, and this; any other table
    unchanged, and 1.
    """
    if table.dtype != object:
        return table, 1
    fractions = [Fraction(value) for value in table.tolist()]
    unit = lcm(1, *{value.denominator for value in fractions})
    exact = [value.numerator * (unit // value.denominator) for value in fractions]
    small = unit.bit_length() + len(exact).bit_length() < 63  # then sums of all values fit, too
    return np.array(exact, dtype=np.int64 if small else object), unit


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

    Floats are split into integer digits of 62 - n bits, so that the transform of each digit fits into 64
    bits. Carries are then moved up.
    """
    exact, _ = integers(table)
    if exact.dtype == np.float64:
        width, digits = 62 - exact.size.bit_length() + 1, []
        rest = exact
        while rest.any():
            rest, digit = np.modf(np.ldexp(rest, width))
            digits.append(digit.astype(np.int64))
        transformed = [additive_moebius(digit) for digit in digits] or [np.zeros(exact.size, np.int64)]
        lower = np.zeros(exact.size, bool)
        for number in range(len(transformed) - 1, 0, -1):
            lower |= (transformed[number] & ((1 << width) - 1)) != 0
            transformed[number - 1] = transformed[number - 1] + (transformed[number] >> width)
        return np.where(transformed[0] < 0, -1, (transformed[0] > 0) | lower).astype(np.int8)
    moebius = additive_moebius(exact.astype(np.int64) if exact.dtype != object else exact)
    return np.asarray(moebius > 0).astype(np.int8) - np.asarray(moebius < 0).astype(np.int8)
