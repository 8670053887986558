"""Two levels added, scaled and rounded, as one staircase over a weighted sum of them: a table of all pairs
in, whole weights and steps out, or how many pairs no such sum can explain.

A table that rises in both levels is a staircase over ``p a + q b`` iff one ratio p / q keeps, for every step,
the pairs that reach it apart from those that do not. Each two such pairs bound the ratio from one side; the
simplest fraction between all bounds is taken, and every pair is looked at once more.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sugenet.bnn import NEVER
from sugenet.bnn.arrays import Ints

__all__ = ["joined"]

_FAR = 1 << 40


def joined(table: Ints, height: int) -> tuple[int, int, Ints, int]:
    """Weights p and q, steps (1, height) and how many pairs differ from `table`, where ``table[a, b]`` is
    the level in 0..height of levels a and b.

    Examples
    --------
    >>> a, b = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    >>> joined((2 * a + 3 * b) // 4, 3)
    (2, 3, array([[ 4,  8, 12]]), 0)
    """
    low, high = _bounds(table, height)
    p, q = _simplest(low, high)
    sums = p * np.arange(table.shape[0])[:, None] + q * np.arange(table.shape[1])[None, :]
    steps = np.array(
        [[int(sums[table >= m].min()) if (table >= m).any() else NEVER for m in range(1, height + 1)]]
    )
    steps = np.maximum.accumulate(steps, axis=1)
    made = np.searchsorted(steps[0], sums.ravel(), side="right").reshape(sums.shape)
    return p, q, steps, int((made != table).sum())


def _bounds(table: Ints, height: int) -> tuple[Fraction, Fraction]:
    """The ratios p / q between which every step is a threshold; crossed where there are none."""
    rows, columns = table.shape
    apart = (
        np.arange(rows)[:, None] - np.arange(rows)[None, :]
    )  # a - a', where (a, b) reaches and (a', b') not
    low, high = Fraction(0), Fraction(_FAR)
    for m in range(1, height + 1):
        first = (table < m).sum(axis=1)  # the least b that reaches m, `columns` where none does
        reach, miss = first < columns, first > 0
        gap = (first[None, :] - 1) - first[:, None]  # b' - b: p (a - a') > q (b' - b)
        pair = reach[:, None] & miss[None, :]
        above, below = pair & (apart > 0) & (gap >= 0), pair & (apart < 0)
        if above.any():
            low = max(low, _extreme(gap[above], apart[above], largest=True))
        if below.any():
            high = min(high, _extreme(-gap[below], -apart[below], largest=False))
    return low, high


def _extreme(over: Ints, under: Ints, *, largest: bool) -> Fraction:
    """The largest or least of fractions of whole numbers below 2^20, exactly: no two of those that are
    different are as near as float64 rounds.
    """
    k = int((np.argmax if largest else np.argmin)(over / under))
    return Fraction(int(over[k]), int(under[k]))


def _simplest(low: Fraction, high: Fraction) -> tuple[int, int]:
    """The fraction of least numbers strictly between two; where there is none, the one nearest to both."""
    if low >= high:
        middle = ((low + high) / 2).limit_denominator(1 << 10)
        return max(middle.numerator, 0), middle.denominator
    whole = int(low)
    if whole + 1 < high:
        return whole + 1, 1
    if low == whole:
        under = int(1 / (high - whole)) + 1
        return whole * under + 1, under
    over, under = _simplest(1 / (high - whole), 1 / (low - whole))
    return whole * over + under, over
