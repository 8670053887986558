"""What stands behind the last sign, where all of it is affine: averages, batch norms, rescaling and float
layers, put together into one row of whole numbers a class.

The operations are taken back to front. A class score is a sum of coefficients over the values in front of an
operation and a constant; each operation turns these coefficients into those of the values in front of it. All
numbers are exact, but for the square roots of batch norms: coefficients with such a root are rounded to some
`_GRID` bits, and how far scores can be from the exact ones is worked out and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Head
from sugenet.bnn.head import WIDE
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Convolution, Flatten, LinearOp, Op, Pad
from sugenet.io.exact.rounding import shape_behind
from sugenet.io.exact.signals import LevelSignal, flat_order
from sugenet.io.exact.steps import pipelines
from sugenet.io.exact.sums import averaged_window
from sugenet.io.exact.units import bias_of, exact_weights

__all__ = ["head_of_tail", "is_affine"]

_AFFINE = Affine | AveragePool | BatchNorm | Convolution | Flatten | LinearOp | Pad
_DIGITS = 256
"""Bits behind the point that a square root has before coefficients are rounded."""
_GRID = 56
"""Bits of rounded coefficients: finer than floats, with room for differences of many classes."""
_MOST = 1 << 22
"""Coefficients of one operation, each an exact number."""


def is_affine(ops: Sequence[Op]) -> bool:
    """Whether operations are such as `head_of_tail` takes: a layer at least, and nothing but affine maps."""
    return any(isinstance(op, LinearOp | Convolution) for op in ops) and all(
        isinstance(op, _AFFINE) for op in ops
    )


def head_of_tail(levels: LevelSignal, ops: Sequence[Op], source: str) -> tuple[Head, str | None, float]:
    """The head that computes the operations from levels to class scores; a remark where it is rounded, and
    how far scores can be off.

    Raises
    ------
    FileError
        Where the scores need more than `WIDE` bits, or there are too many coefficients.
    """
    assert is_affine(ops)
    assert levels.pad is None
    roots = [op for op in ops if isinstance(op, BatchNorm) and not _is_rational(op)]
    made = _over_levels(levels, _Backwards(levels, tuple(ops)).run())
    if roots:
        made, grid = _rounded(made, levels.top)
    else:
        grid = lcm(*{value.denominator for value in made.rows.reshape(-1).tolist()}, 1)
    if (head := _fitted(levels, made, grid)) is not None and (not roots or made.error < Fraction(1, 1 << 20)):
        return head, _remark(made, roots), float(made.error)
    raise FileError(
        f"{source}: as whole numbers the weights of its last layer leave {WIDE} bits "
        f"({ops[-1].where}). Round them to a common grid before they are exported, as multiples of 2^-20."
    )


def _remark(made: _Affine, roots: Sequence[BatchNorm]) -> str | None:
    if not roots:
        return None
    return (
        f"the batch norm {roots[0].where} has square roots in front of the last layer: scores are rationals "
        f"within {float(made.error):.1g} of what the file says, and only classes nearer to each other than "
        "twice that could change places"
    )


@dataclass(frozen=True, eq=False)
class _Affine:
    """Scores as sums of coefficients over values, and how far they can be off."""

    rows: npt.NDArray[Any]
    """Exact numbers, one row a class, one column a value."""
    offset: list[Fraction]
    error: Fraction


class _Backwards:
    """The coefficients of the values in front of each operation, from the last one on."""

    def __init__(self, levels: LevelSignal, ops: tuple[Op, ...]) -> None:
        self.levels, self.ops = levels, ops
        self.shapes = [levels.shape]
        for op in ops:
            self.shapes.append(shape_behind(op, self.shapes[-1]))

    def run(self) -> _Affine:
        count = prod(self.shapes[-1])
        rows = np.full((count, count), Fraction(0), dtype=object)
        rows[np.arange(count), np.arange(count)] = Fraction(1)
        self.offset, self.error = [Fraction(0)] * count, Fraction(0)
        for place in range(len(self.ops) - 1, -1, -1):
            _small(count * prod(self.shapes[place]), self.ops[place])
            rows = self._before(rows, place)
        return _Affine(rows, self.offset, self.error)

    def _before(self, rows: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
        """The coefficients of what an operation reads, from those of what it gives."""
        op, shape, after = self.ops[place], self.shapes[place], self.shapes[place + 1]
        match op:
            case LinearOp():
                if len(shape) != 1 or op.weights.shape[1] != shape[0]:
                    raise FileError(
                        f"{op.where}: {op.weights.shape[1]} weights a neuron for values of shape {shape}. "
                        "Is a flatten missing?"
                    )
                self._shift(rows, bias_of(op))
                weights = exact_weights(op.weights, op.where)
                return weights if _is_one(rows) else rows @ weights
            case Affine():
                scale, shift = (_each(values, after) for values in (op.scale, op.shift))
                self._shift(rows, shift)
                return np.asarray(rows * np.array(scale, dtype=object))
            case BatchNorm():
                return self._normed(rows, op, place)
            case Flatten():
                order = flat_order(np.arange(prod(shape)), shape, op.order)
                laid = np.empty_like(rows)
                laid[:, order] = rows
                return laid
            case AveragePool():
                return _averaged(rows, op, shape)
            case Convolution():
                return self._convolved(rows, op, shape, after)
            case Pad() if op.value == 0 and min(op.pads) >= 0:
                top, left, bottom, right = op.pads
                maps = rows.reshape(len(rows), *after)
                inside = maps[:, :, top : after[1] - bottom, left : after[2] - right]
                return np.asarray(inside.reshape(len(rows), -1))
        raise FileError(f"{op.where}: padding with {getattr(op, 'value', None)} in front of the last layer.")

    def _shift(self, rows: npt.NDArray[Any], values: Sequence[Fraction]) -> None:
        if any(values):
            moved = rows @ np.array([*values], dtype=object)
            self.offset = [a + b for a, b in zip(self.offset, moved.tolist(), strict=True)]

    def _normed(self, rows: npt.NDArray[Any], op: BatchNorm, place: int) -> npt.NDArray[Any]:
        after = self.shapes[place + 1]
        channels, per = after[0], prod(after[1:])
        factors, means, betas, off = [], [], [], []
        for line in pipelines([op], channels):
            (root,) = line.parts
            factor, error = _divided(root.gamma, root.v, _DIGITS)  # type: ignore[union-attr]
            factors.append(factor)
            off.append(error)
            means.append(root.mean)  # type: ignore[union-attr]
            betas.append(root.beta)  # type: ignore[union-attr]
        if any(off):
            reach = [
                max(abs(low - m), abs(high - m))
                for (low, high), m in zip(self._ends(place), means, strict=True)
            ]
            slack = np.repeat(np.array([e * r for e, r in zip(off, reach, strict=True)], dtype=object), per)
            self.error += max((np.abs(rows) @ slack).tolist())
        self._shift(
            rows, [b - f * m for f, m, b in zip(factors, means, betas, strict=True) for _ in range(per)]
        )
        return np.asarray(rows * np.repeat(np.array(factors, dtype=object), per))

    def _ends(self, place: int) -> list[tuple[Fraction, Fraction]]:
        """Least and largest value of each channel in front of an operation."""
        channels = self.shapes[0][0] if len(self.shapes[0]) == 3 else len(self.levels.order)
        first, last = (row.reshape(channels, -1) for row in (self.levels.start, self.levels.end))
        ends = list(
            zip(np.minimum(first, last).min(axis=1), np.maximum(first, last).max(axis=1), strict=True)
        )
        for number, op in enumerate(self.ops[:place]):
            ends = _past(op, ends, self.shapes[number])
        return ends

    def _convolved(
        self, rows: npt.NDArray[Any], op: Convolution, shape: tuple[int, ...], after: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        self._shift(rows, [b for b in bias_of(op) for _ in range(prod(after[1:]))])
        weights = exact_weights(op.weights, op.where)
        top, left, bottom, right = op.pads
        wide = np.full(
            (len(rows), shape[0], shape[1] + top + bottom, shape[2] + left + right), Fraction(0), object
        )
        maps, per = rows.reshape(len(rows), *after), after[0] // op.groups
        for o, c, i, j in np.argwhere(weights != 0).tolist():  # most are 0 where lanes are added
            y, x = i * op.dilation[0], j * op.dilation[1]
            ys = slice(y, y + (after[1] - 1) * op.stride[0] + 1, op.stride[0])
            xs = slice(x, x + (after[2] - 1) * op.stride[1] + 1, op.stride[1])
            wide[:, o // per * weights.shape[1] + c, ys, xs] += maps[:, o] * weights[o, c, i, j]
        inside = wide[:, :, top : top + shape[1], left : left + shape[2]]
        return np.asarray(inside.reshape(len(rows), -1))


def _averaged(rows: npt.NDArray[Any], op: AveragePool, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if len(shape) != 3:
        raise FileError(f"{op.where}: average pooling of flat values.")
    window, counts = averaged_window(shape, op)
    shares = rows.reshape(len(rows), shape[0], -1) / np.array(counts, dtype=object)
    wide = np.full((len(rows), shape[0], prod(shape[1:])), Fraction(0), dtype=object)
    for tap in window.taps.T:
        held = np.flatnonzero(tap >= 0)
        wide[:, :, tap[held]] += shares[:, :, held]  # a tap meets no pixel twice
    return np.asarray(wide.reshape(len(rows), -1))


def _past(
    op: Op, ends: list[tuple[Fraction, Fraction]], shape: tuple[int, ...]
) -> list[tuple[Fraction, Fraction]]:
    """What the values of each channel can be behind an operation."""
    match op:
        case Affine() | BatchNorm():
            lines = pipelines([op], len(ends))
            return [
                (min(pair), max(pair))
                for line, both in zip(lines, ends, strict=True)
                for pair in [[_near(line, end) for end in both]]
            ]
        case Pad():
            return [(min(low, Fraction(0)), max(high, Fraction(0))) for low, high in ends]
        case AveragePool() if op.count_pads:
            return [(min(low, Fraction(0)), max(high, Fraction(0))) for low, high in ends]
        case Flatten():
            per = prod(shape[1:])
            order = flat_order(np.arange(prod(shape)), shape, op.order).tolist()
            return [ends[j // per] for j in order]
        case LinearOp() | Convolution():
            largest = max(max(abs(low), abs(high)) for low, high in ends)
            sizes = np.abs(exact_weights(op.weights, op.where)).reshape(len(op.weights), -1).sum(axis=1)
            reach = [s * largest + abs(b) for s, b in zip(sizes.tolist(), bias_of(op), strict=True)]
            return [(-r, r) for r in reach]
    return ends


def _near(line: Any, end: Fraction) -> Fraction:
    """A value behind a batch norm, for bounds: its float, a little further out."""
    value = line(end)
    return value.p if not value.divided and not value.q else Fraction(float(value)) * Fraction(1001, 1000)


def _divided(gamma: Fraction, v: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """``gamma / sqrt(v)``, and how far it is off: by nothing where the root is rational.

    Examples
    --------
    >>> _divided(Fraction(3), Fraction(9, 4), 8), _divided(Fraction(1), Fraction(2), 4)
    ((Fraction(2, 1), Fraction(0, 1)), (Fraction(11, 16), Fraction(1, 16)))
    """
    square = gamma * gamma / v
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    sign = -1 if gamma < 0 else 1
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(sign * top, bottom), Fraction(0)
    near = isqrt((square.numerator << 2 * bits) // square.denominator)
    return Fraction(sign * near, 1 << bits), Fraction(1, 1 << bits)


def _is_rational(op: BatchNorm) -> bool:
    lines = pipelines([op], max(np.size(getattr(op, name)) for name in ("gamma", "beta", "mean", "var")))
    return all(not _divided(root.gamma, root.v, 1)[1] for line in lines for root in line.parts)  # type: ignore[union-attr]


def _over_levels(levels: LevelSignal, made: _Affine) -> _Affine:
    """Coefficients of levels, from those of what they stand for."""
    offset = [o + s for o, s in zip(made.offset, (made.rows @ levels.start).tolist(), strict=True)]
    return _Affine(np.asarray(made.rows * levels.step), offset, made.error)


def _rounded(made: _Affine, top: int) -> tuple[_Affine, int]:
    """Coefficients and constants rounded to the finest power of two that they fit in, and this grid."""
    size = int(max((np.abs(made.rows) * top).sum(axis=1).tolist())) + 1
    grid = 1 << max(0, _GRID - size.bit_length())
    rows = np.array(
        [[Fraction(round(value * grid), grid) for value in row] for row in made.rows.tolist()], dtype=object
    )
    error = made.error + Fraction(top * rows.shape[1] + 1, 2 * grid)
    return _Affine(rows, [Fraction(round(value * grid), grid) for value in made.offset], error), grid


def _fitted(levels: LevelSignal, made: _Affine, grid: int) -> Head | None:
    """The head with these coefficients, all of them multiples of one part of `grid`; None where they leave
    its bits.
    """
    whole = np.array([[int(value * grid) for value in row] for row in made.rows.tolist()], dtype=object)
    common = gcd(*whole.reshape(-1).tolist()) or 1
    whole = whole // common
    if int(np.abs(whole).sum(axis=1).max(initial=0)) * levels.top >> WIDE:
        return None
    weights = np.zeros(whole.shape, np.int64)
    weights[:, levels.order] = whole.astype(np.int64)
    unit = Fraction(common, grid)
    totals = whole.sum(axis=1).tolist()
    bias = [o + unit * levels.top * int(t) / 2 for o, t in zip(made.offset, totals, strict=True)]
    tops = None if levels.top == 1 else np.full(len(levels.order), levels.top)
    return Head(weights, bias, unit / 2, tops)


def _each(values: Any, shape: tuple[int, ...]) -> list[Fraction]:
    """Numbers for all values, for each channel or for each feature, as one a value."""
    row, count = [Fraction(value) for value in np.asarray(values).reshape(-1).tolist()], prod(shape)
    if len(row) not in (1, shape[0]):
        raise FileError(f"{len(row)} numbers for {shape[0]} channels or features.")
    return [value for value in row for _ in range(count // len(row))]


def _is_one(rows: npt.NDArray[Any]) -> bool:
    return len(rows) == len(rows.T) and bool((rows == np.eye(len(rows), dtype=int)).all())


def _small(size: int, op: Op) -> None:
    if size > _MOST:
        raise FileError(
            f"{op.where}: {size:,} exact coefficients are more than the {_MOST:,} that are worked out."
        )
