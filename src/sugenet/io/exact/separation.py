"""Write a sign of a real combination of integers as a sign of an integer combination.

Let ``a[0] u[0] + a[1] u[1] + ...`` be compared with a threshold. Each u[k] is an integer of 0..tops[k]. Each
a[k] is positive: a rational times a square root, as a batch norm has it. There are finitely many sums, so
some integers p have sums that are on the same side of an integer threshold. They are multiples of a, rounded,
and are verified at all combinations: for each choice of all u but one, the two sums at the threshold decide.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from sugenet.io.exact.steps import Surd
from sugenet.nn.arrays import Ints

__all__ = ["Separation", "separated"]

_BITS = 42
"""Fractional bits of the integers that decide all combinations that are not near the threshold."""
_MOST = 1 << 21
"""Largest number of choices of all integers but one."""
_NEAR = 1 << 14
"""Largest number of combinations near the threshold, which are decided by exact numbers."""

_LARGEST = 1 << 30
"""Largest integer sum."""


class Separation(NamedTuple):
    """Integer factors, and the smallest integer sum that is on."""

    factors: tuple[int, ...]
    least: int
    met: bool
    """Whether a combination is exactly at the threshold."""


def separated(
    sizes: Sequence[Surd], tops: Sequence[int], end: Surd, closed: bool
) -> Separation | bool | None:
    """Return integers p with ``p @ u >= least`` iff ``sizes @ u`` reaches `end`, for all u in 0..tops.

    Parameters
    ----------
    sizes
        Positive numbers.
    tops
        The largest value of each integer.
    end
        The threshold.
    closed
        Whether reaching it is enough. If not, sums must be above it.

    Returns
    -------
    Separation, bool or None
        A bool if all sums are on the same side. None if no small factors were found.

    Examples
    --------
    >>> two, three = (Surd.of(1).times(Fraction(1), Fraction(n)) for n in (2, 3))
    >>> separated([two, three], [4, 4], Surd.of(7), True)  # sqrt(2) a + sqrt(3) b >= 7
    Separation(factors=(1, 1), least=5, met=False)
    """
    all_on = _sum([size.times(Fraction(top)) for size, top in zip(sizes, tops, strict=True)])
    if end.sign() < 0 or (closed and end.sign() == 0):
        return True
    beyond = all_on.minus(end).sign()
    if beyond < 0 or (beyond == 0 and not closed):
        return False
    unit = Fraction(max(float(size) for size in sizes)) / (1 << _BITS)
    rounded = [(size.enclosed(256)[0] / unit).__floor__() for size in sizes]
    goal, error = (end.enclosed(256)[0] / unit).__floor__(), 2 * sum(tops) + 4
    steady = [k for k, value in enumerate(rounded) if value >= 1 << (_BITS - 12)]
    last = max(steady, key=lambda k: tops[k])
    others = [k for k in range(len(tops)) if k != last]
    if prod(tops[k] + 1 for k in others) > _MOST or max(tops) >= 1 << 15:
        return None
    sums = _grid([rounded[k] for k in others], [tops[k] for k in others])
    low, first = (
        np.clip(-((sums + off - goal) // rounded[last]), 0, tops[last] + 1) for off in (error, -error)
    )
    near = np.flatnonzero(low < first)
    if len(near) > _NEAR:
        return None
    met = False
    for row in near.tolist():
        chosen = np.unravel_index(row, [tops[k] + 1 for k in others])
        rest = _sum([sizes[k].times(Fraction(int(u))) for k, u in zip(others, chosen, strict=True)])
        for u in range(int(low[row]), int(first[row])):
            side = rest.plus_surd(sizes[last].times(Fraction(u))).minus(end).sign()
            met |= side == 0
            if side > 0 or (side == 0 and closed):
                first[row] = u
                break
    return _factors(rounded, tops, last, first, sums, met)


def _sum(values: Sequence[Surd]) -> Surd:
    total = Surd.of(0)
    for value in values:
        total = total.plus_surd(value)
    return total


def _grid(factors: Sequence[int], tops: Sequence[int]) -> Ints:
    """Return the sums of all combinations, the last integer fastest."""
    sums = np.zeros(1, np.int64)
    for factor, top in zip(factors, tops, strict=True):
        sums = (sums[:, None] + factor * np.arange(top + 1, dtype=np.int64)).reshape(-1)
    return sums


def _factors(
    rounded: Sequence[int],
    tops: Sequence[int],
    last: int,
    first: Ints,
    sums: Ints,
    met: bool,
) -> Separation | None:
    """Return the smallest multiples of the sizes that agree with all combinations.

    `first` is the smallest last integer that is on, for each choice of the others, and beyond its top if none
    is. `sums` are the sums of the others.
    """
    others = [k for k in range(len(tops)) if k != last]
    on, off = first <= tops[last], first > 0
    above, below = (sums + rounded[last] * first)[on], (sums + rounded[last] * (first - 1))[off]
    gap = int(above.min()) - int(below.max())
    enough = (sum(tops) << _BITS) // max(gap, 1) + 1
    closest = [_closest(np.flatnonzero(on), above), _closest(np.flatnonzero(off), -below)]
    multiple = 1
    while multiple <= 2 * enough:
        p = [(value * multiple + (1 << (_BITS - 1))) >> _BITS for value in rounded]
        if sum(factor * top for factor, top in zip(p, tops, strict=True)) > _LARGEST:
            return None
        factors, whole = [p[k] for k in others], [tops[k] for k in others]
        if _apart(factors, whole, p[last], first, *closest) is not None:
            every = np.arange(len(first))
            min_sum = _apart(factors, whole, p[last], first, every[on], every[off])
            if min_sum is not None:
                return Separation(tuple(p), min_sum, met)
        multiple += max(1, multiple // 400)
    return None


def _closest(rows: Ints, distance: Ints) -> Ints:
    """Return the rows of the smallest distances: if these disagree, others need no look."""
    few = 1000
    return rows if len(rows) <= few else rows[np.argpartition(distance, few)[:few]]


def _apart(
    factors: Sequence[int], tops: Sequence[int], factor: int, first: Ints, on: Ints, off: Ints
) -> int | None:
    """Return the smallest sum that is on, if all others are below it."""
    min_on = int((_sums_at(factors, tops, on) + factor * first[on]).min())
    max_off = int((_sums_at(factors, tops, off) + factor * (first[off] - 1)).max())
    return min_on if max_off < min_on else None


def _sums_at(factors: Sequence[int], tops: Sequence[int], rows: Ints) -> Ints:
    sums = np.zeros(len(rows), np.int64)
    for factor, top in zip(factors[::-1], tops[::-1], strict=True):
        sums, rows = sums + factor * (rows % (top + 1)), rows // (top + 1)
    return sums
