"""The arithmetic of ONNX Runtime's integer operators on x86-64, exactly as in its CPU provider.

The formulas are from its sources. They were confirmed on all 65,536 pairs of levels and on sums next to ties
(version 1.31). Its default optimizations were on. They turn DequantizeLinear, operator and QuantizeLinear
into one integer operator:

- QuantizeLinear: ``round(x / scale) + zero`` in float32, half to even, saturated.
- QLinearConv, QLinearMatMul, QGemm: integer sums in 32 bits, then ``round(float32(sum) * m)`` with
  ``m = (x_scale * w_scale) / y_scale``, each step in float32.
- QLinearAdd: ``fma(a, A/C, fma(b, B/C, F))`` with ``F = c - fma(A/C, a0, (B/C) * b0)``.
- QLinearGlobalAveragePool: integer sums, then ``m = x_scale / (y_scale * count)``.
- QLinearAveragePool: float32 sums of dequantized values, row by row, ``/ count / y_scale + zero``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.requantize import Requantizer
from sugenet.nn import NEVER
from sugenet.nn.arrays import Ints

__all__ = [
    "QuantGrid",
    "added",
    "averages",
    "dequantized",
    "exact_steps",
    "multipliers",
    "quantized",
    "requantizer",
    "with_fma",
]

Floats: TypeAlias = npt.NDArray[np.float32]
_f = np.float32


class QuantGrid:
    """The numbers of a quantized tensor: ``scale * (q - zero)`` for integers q in low..high."""

    def __init__(self, scale: Any, zero: int, low: int, high: int) -> None:
        self.scale, self.zero, self.low, self.high = _f(scale), int(zero), int(low), int(high)

    @property
    def top(self) -> int:
        """The largest level. Level 0 is `low`."""
        return self.high - self.low

    @property
    def values(self) -> Ints:
        """All q."""
        return np.arange(self.low, self.high + 1)

    def moved(self, by: int) -> QuantGrid:
        """Return the same numbers with other q, as for an int8 tensor kept as uint8."""
        return QuantGrid(self.scale, self.zero + by, self.low + by, self.high + by)


def quantized(x: Floats, grid: QuantGrid) -> Ints:
    """Return the levels of float32 numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = x.astype(_f) / grid.scale
    inside = np.minimum(np.maximum(ratio, _f(grid.low - grid.zero)), _f(grid.high - grid.zero))
    return np.asarray(np.rint(inside).astype(np.int64) + (grid.zero - grid.low))


def dequantized(q: Ints, grid: QuantGrid) -> Floats:
    """Return the float32 numbers of integers q."""
    return np.asarray((q - grid.zero).astype(_f) * grid.scale)


def multipliers(x: Any, w: Any, y: Any) -> Floats:
    """Return the float32 factors of the sums."""
    return np.asarray((_f(x) * np.asarray(w, _f)) / _f(y), _f)


def requantizer(factors: Floats, bias: Ints, grid: QuantGrid) -> Requantizer:
    """Return a function from integer sums to levels, one row per channel."""

    def level(sums: Ints) -> Ints:
        with np.errstate(over="ignore"):
            product = (sums + bias[:, None]).astype(_f) * factors[:, None]
        inside = np.minimum(np.maximum(product, _f(grid.low - grid.zero)), _f(grid.high - grid.zero))
        return np.asarray(np.rint(inside).astype(np.int64) + (grid.zero - grid.low))

    return level


def with_fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return ``a * b + c`` rounded once, if one factor has at most 16 bits.

    In float64 the product is exact. The sum may be rounded twice, which is corrected if it matters.
    """
    product, other = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + other
    part = total - other
    lost = (product - part) + (other - (total - part))
    near = total.astype(_f)
    back = near.astype(np.float64)
    neighbour = np.nextafter(near, np.where(total > back, _f(np.inf), _f(-np.inf)).astype(_f))
    tie = (total - back == (neighbour.astype(np.float64) - back) / 2) & (total != back)
    up = np.maximum(near, neighbour)
    down = np.minimum(near, neighbour)
    return np.asarray(np.where(tie & (lost > 0), up, np.where(tie & (lost < 0), down, near)), _f)


def added(left: QuantGrid, right: QuantGrid, out: QuantGrid) -> Ints:
    """Return the levels of the sum of two quantized numbers: rows are the q of `left`, columns those of
    `right`.
    """
    ra, rb = _f(left.scale / out.scale), _f(right.scale / out.scale)
    fixed = _f(out.zero) - with_fma(np.array(ra), np.array(_f(left.zero)), np.array(_f(rb * _f(right.zero))))
    inner = with_fma(right.values.astype(_f), np.array(rb), np.array(fixed))
    total = with_fma(left.values.astype(_f)[:, None], np.array(ra), inner[None, :])
    return np.asarray(np.clip(np.rint(total), out.low, out.high).astype(np.int64) - out.low)


def averages(
    grid: QuantGrid, count: int, divisor: int, out: QuantGrid, limit: int = 1 << 22
) -> tuple[Ints, Ints, int]:
    """For every sum of `count` levels, return the smallest and the largest level of their average.

    All terms and orders with this sum are considered. Also return the examined sums if there are too many
    cases. Float32 sums depend on their order, so this follows the different partial sums that occur.
    """
    values = dequantized(grid.values, grid)
    keys, sums = np.arange(grid.top + 1), values.copy()
    for _ in range(count - 1):
        if len(keys) * (grid.top + 1) > limit:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), len(keys)
        all_keys = (keys[:, None] + np.arange(grid.top + 1)[None, :]).ravel()
        all_sums = (sums[:, None] + values[None, :]).ravel() + _f(0)
        pairs = np.unique((all_keys << 32) | all_sums.view(np.uint32))
        keys, sums = pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.uint32).view(_f)
    mean = sums / _f(divisor)
    levels = np.clip(np.rint(mean / out.scale + _f(out.zero)), out.low, out.high).astype(np.int64) - out.low
    smallest, largest = np.full(count * grid.top + 1, out.top), np.zeros(count * grid.top + 1, np.int64)
    np.minimum.at(smallest, keys, levels)
    np.maximum.at(largest, keys, levels)
    return smallest, largest, 0


def exact_steps(
    unit: Fraction, offset: Fraction, grid: QuantGrid, clips: list[tuple[float, float]], low: int, high: int
) -> list[int]:
    """Return thresholds on integer sums s in low..high for the levels of ``unit * s + offset``.

    The values are clipped, in exact numbers, and rounded half to even.
    """
    scale = Fraction(float(grid.scale))

    def level(value: Fraction) -> int:
        return min(max(round(value / scale) + grid.zero, grid.low), grid.high) - grid.low

    ends = [_clipped(unit * s + offset, clips) for s in (low, high)]
    first, last = level(ends[0]), level(ends[1])
    steps = []
    for m in range(1, grid.top + 1):
        if m <= first or m > last:
            steps.append(low if m <= first else NEVER)
            continue
        n = grid.low + m - grid.zero
        boundary = (scale * (n - Fraction(1, 2)) - offset) / unit
        ceiling = -(-boundary.numerator // boundary.denominator)
        steps.append(ceiling + 1 if ceiling == boundary and n % 2 else ceiling)
    return steps


def _clipped(value: Fraction, clips: list[tuple[float, float]]) -> Fraction:
    for low, high in clips:
        value = max(value, Fraction(low)) if np.isfinite(low) else value
        value = min(value, Fraction(high)) if np.isfinite(high) else value
    return value
