"""Compute class scores: the head of the last sums, or of an affine tail in floats, and the functions after
it.

Scores are exact if they are rational. If a batch norm has square roots, they are rounded, but only after a
proof that no decision changes.

An affine tail consists of averages, batch norms, rescaling and float layers. Its operations are processed
from last to first. A class score is a sum of coefficients over the values before an operation, and a
constant. Each operation turns these coefficients into those of the values before it. Coefficients with a
square root are rounded to about `_GRID` bits. The report says how far scores can be from the exact ones.

Functions after the scores, such as softmax, are increasing in exact arithmetic, so the class is the same
without them. In 32-bit floats, a sigmoid of 22 and one of 30 are both 1. So every pair of possible scores of
two classes is compared, with a margin for the rounding of any implementation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import gcd, isqrt, lcm, prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import shape_behind
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Convolution,
    Flatten,
    LinearOp,
    Op,
    Pad,
    every,
)
from sugenet.io.exact.signals import LevelSignal, averaged_window, flat_order
from sugenet.io.exact.steps import Pipeline, Surd, pipelines, rational_root
from sugenet.io.exact.units import bias_of, exact_weights
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Head
from sugenet.nn.arrays import Array, Doubles, Indices, Ints
from sugenet.nn.head import WIDE

__all__ = ["head_of", "head_of_tail", "is_affine", "see_apart"]

_BITS = 200
_PAIRS = 1 << 22


def head_of(
    weights: Ints,
    units: Sequence[Fraction],
    offsets: Sequence[Fraction],
    lines: Sequence[Pipeline],
    where: str,
    top: int = 1,
) -> tuple[Head, str | None]:
    """Return the head whose score of class k is ``lines[k](units[k] * s + offsets[k])``.

    Here s is the sum of weighted levels 0..top. Also return a remark if scores had to be rounded.
    """
    # the head counts from the middle: twice the sum minus the sum with all levels at their top
    totals = weights.sum(axis=1).tolist()
    offsets = [o + u * top * t / 2 for o, u, t in zip(offsets, units, totals, strict=True)]
    units = [u / 2 for u in units]
    refuse_if(
        not all(line.is_affine for line in lines),
        where,
        "class scores are clipped, so classes can tie that the network keeps apart.",
    )
    rational = [line.line() for line in lines]
    if all(pair is not None for pair in rational):
        pairs = [pair for pair in rational if pair is not None]
        scores = [(a * u, a * o + b) for (a, b), u, o in zip(pairs, units, offsets, strict=True)]
        return _signed(weights, scores, top), None
    near = map(_near, lines)
    scores = [(a * u, a * o + b) for (a, b), u, o in zip(near, units, offsets, strict=True)]
    head = _signed(weights, scores, top)
    if len(set(lines)) > 1:
        _prove_order(weights, units, offsets, lines, scores, where, top)
    return (
        head,
        (
            "scores are rounded to about 16 digits (a batch norm has a square root); the order of classes is "
            "proved unchanged"
        ),
    )


def _signed(weights: Ints, scores: Sequence[tuple[Fraction, Fraction]], top: int) -> Head:
    """Move negative scales into the weights."""
    turned = np.array([[-1 if scale < 0 else 1] for scale, _ in scores])
    tops = None if top == 1 else np.full(weights.shape[1], top)
    return Head(weights * turned, [shift for _, shift in scores], [abs(scale) for scale, _ in scores], tops)


def _near(line: Pipeline) -> tuple[Fraction, Fraction]:
    """Return scale and shift rounded to floats."""
    at_0, at_1 = line(Fraction(0)), line(Fraction(1))
    return Fraction(float(_decimal(at_1) - _decimal(at_0))), Fraction(float(_decimal(at_0)))


def _decimal(value: Surd) -> Fraction:
    """Return a surd to 200 bits after the point."""
    return value.enclosed(_BITS)[0]


def _prove_order(
    weights: Ints,
    units: Sequence[Fraction],
    offsets: Sequence[Fraction],
    lines: Sequence[Pipeline],
    scores: Sequence[tuple[Fraction, Fraction]],
    where: str,
    top: int,
) -> None:
    """Check that rounding preserves the order of every two scores of different classes, for all possible
    sums.
    """
    values = []
    for k, row in enumerate(weights):
        size = int(np.abs(row).sum()) * top
        refuse_if(
            size * len(weights) > _PAIRS,
            where,
            "too many possible scores to prove that rounding them changes no decision.",
        )
        for s in range(-size, size + 1, 2):
            values.append((_decimal(lines[k](units[k] * s + offsets[k])), scores[k][0] * s + scores[k][1], k))
    values.sort()
    largest: dict[int, Fraction] = {}
    for exact, rounded, k in values:
        for other, max_score in largest.items():
            if other != k and max_score >= rounded:
                raise FileError(
                    f"{where}: classes {other} and {k} can have scores so close (about {float(exact):.17g}) "
                    "that rounding their batch norm could swap them. Fold the batch norm of the scores in "
                    "exact numbers first."
                )
        largest[k] = max(rounded, largest.get(k, rounded))


_AFFINE = Affine | AveragePool | BatchNorm | Convolution | Flatten | LinearOp | Pad
_ROOT_BITS = 256
"""Fractional bits of a square root before coefficients are rounded."""
_GRID = 56
"""Bits of rounded coefficients: finer than floats, with a margin for differences of many classes."""
_MOST = 1 << 22
"""Largest number of coefficients of one operation, each an exact number."""


def is_affine(ops: Sequence[Op]) -> bool:
    """Return whether `head_of_tail` takes these operations: only affine maps, with at least one layer."""
    return any(isinstance(op, LinearOp | Convolution) for op in every(ops)) and all(
        isinstance(op, _AFFINE) for op in every(ops)
    )


def head_of_tail(levels: LevelSignal, ops: Sequence[Op], source: str) -> tuple[Head, str | None, float]:
    """Return the head that computes the operations from levels to class scores.

    Also return a remark if it is rounded, and how far scores can be from the exact ones.

    Raises
    ------
    FileError
        If the scores need more than `WIDE` bits, or there are too many coefficients.
    """
    assert is_affine(ops)
    assert levels.pad is None
    roots = [op for op in every(ops) if isinstance(op, BatchNorm) and not _is_rational(op)]
    made = _Backwards(levels, tuple(ops)).run()
    if roots:
        made, grid = _rounded(made, levels.top)
    else:
        grid = lcm(*{value.denominator for value in made.rows.reshape(-1).tolist()}, 1)
    if (head := _fitted(levels, made, grid)) is not None and (not roots or made.error < Fraction(1, 1 << 20)):
        return head, _remark(made, roots), float(made.error)
    raise FileError(
        f"{source}: as integers the weights of its last layer leave {WIDE} bits "
        f"({ops[-1].where}). Round them to a common grid before they are exported, as multiples of 2^-20."
    )


def _remark(made: _Affine, roots: Sequence[BatchNorm]) -> str | None:
    if not roots:
        return None
    return (
        f"the batch norm {roots[0].where} has square roots before the last layer: scores are rationals "
        f"within {float(made.error):.1g} of what the file says, and only classes nearer to each other than "
        "twice that could change places"
    )


@dataclass(frozen=True, eq=False)
class _Affine:
    """Scores as sums of coefficients over values, with error bounds."""

    rows: Array
    """Exact numbers, one row per class, one column per value."""
    offset: list[Fraction]
    error: Fraction


class _Backwards:
    """Computation of the coefficients of the values before each operation, from last to first.

    The result is the coefficients of the levels that represent the first values.
    """

    def __init__(self, levels: LevelSignal, ops: tuple[Op, ...]) -> None:
        self.levels, self.ops = levels, ops
        self.count = prod(_shapes(ops, levels.shape)[-1])

    def run(self) -> _Affine:
        rows = np.full((self.count, self.count), Fraction(0), dtype=object)
        rows[np.arange(self.count), np.arange(self.count)] = Fraction(1)
        self.offset, self.error = [Fraction(0)] * self.count, Fraction(0)
        rows = self._through(rows, self.ops, self.levels.shape, self._first_ends)
        self._shift(rows, self.levels.start.tolist())
        return _Affine(np.asarray(rows * self.levels.step), self.offset, self.error)

    def _through(self, rows: Array, ops: Sequence[Op], shape: tuple[int, ...], ends: _Bounds) -> Array:
        """Return the coefficients of values of a shape from those after some operations on them."""
        shapes, bounds = _shapes(ops, shape), [ends]
        for op, before in zip(ops, shapes, strict=False):
            bounds.append(partial(_past, op, bounds[-1], before))
        for index in range(len(ops) - 1, -1, -1):
            _small(self.count * prod(shapes[index]), ops[index])
            rows = self._before(rows, ops[index], shapes[index], shapes[index + 1], bounds[index])
        return rows

    def _before(
        self, rows: Array, op: Op, shape: tuple[int, ...], after: tuple[int, ...], ends: _Bounds
    ) -> Array:
        """Return the coefficients of the inputs of an operation from those of its outputs."""
        match op:
            case LinearOp():
                refuse_if(
                    (len(shape) != 1 and op.maps is None) or op.weights.shape[1] != prod(shape),
                    op.where,
                    f"{op.weights.shape[1]} weights a neuron for values of shape {shape}. "
                    "Is a flatten missing?",
                )
                self._shift(rows, bias_of(op))
                weights = exact_weights(op.weights, op.where)
                return weights if _is_one(rows) else rows @ weights
            case Affine():
                scale, shift = (_each(values, after) for values in (op.scale, op.shift))
                self._shift(rows, shift)
                return np.asarray(rows * np.array(scale, dtype=object))
            case BatchNorm():
                return self._normed(rows, op, after, ends)
            case Branches():
                return np.asarray(sum(self._through(rows, branch, shape, ends) for branch in op.branches))
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
        raise FileError(f"{op.where}: padding with {getattr(op, 'value', None)} before the last layer.")

    def _shift(self, rows: Array, values: Sequence[Fraction]) -> None:
        if any(values):
            moved = rows @ np.array([*values], dtype=object)
            self.offset = [a + b for a, b in zip(self.offset, moved.tolist(), strict=True)]

    def _normed(self, rows: Array, op: BatchNorm, after: tuple[int, ...], ends: _Bounds) -> Array:
        channels, per = after[0], prod(after[1:])
        factors, means, betas, off = [], [], [], []
        for line in pipelines([op], channels):
            (root,) = line.parts
            factor, error = _divided(root.gamma, root.v, _ROOT_BITS)  # type: ignore[union-attr]
            factors.append(factor)
            off.append(error)
            means.append(root.mean)  # type: ignore[union-attr]
            betas.append(root.beta)  # type: ignore[union-attr]
        if any(off):
            reach = [max(abs(low - m), abs(high - m)) for (low, high), m in zip(ends(), means, strict=True)]
            slack = np.repeat(np.array([e * r for e, r in zip(off, reach, strict=True)], dtype=object), per)
            self.error += max((np.abs(rows) @ slack).tolist())
        self._shift(
            rows, [b - f * m for f, m, b in zip(factors, means, betas, strict=True) for _ in range(per)]
        )
        return np.asarray(rows * np.repeat(np.array(factors, dtype=object), per))

    def _first_ends(self) -> list[tuple[Fraction, Fraction]]:
        """Return the smallest and largest value of each channel of the levels."""
        channels = self.levels.shape[0] if len(self.levels.shape) == 3 else len(self.levels.order)
        first, last = (row.reshape(channels, -1) for row in (self.levels.start, self.levels.end))
        return list(
            zip(np.minimum(first, last).min(axis=1), np.maximum(first, last).max(axis=1), strict=True)
        )

    def _convolved(
        self, rows: Array, op: Convolution, shape: tuple[int, ...], after: tuple[int, ...]
    ) -> Array:
        self._shift(rows, [b for b in bias_of(op) for _ in range(prod(after[1:]))])
        weights = exact_weights(op.weights, op.where)
        top, left, bottom, right = op.pads
        wide = np.full(
            (len(rows), shape[0], shape[1] + top + bottom, shape[2] + left + right), Fraction(0), object
        )
        maps, per = rows.reshape(len(rows), *after), after[0] // op.groups
        for o, c, i, j in np.argwhere(weights != 0).tolist():  # most are 0 if lanes are added
            y, x = i * op.dilation[0], j * op.dilation[1]
            ys = slice(y, y + (after[1] - 1) * op.stride[0] + 1, op.stride[0])
            xs = slice(x, x + (after[2] - 1) * op.stride[1] + 1, op.stride[1])
            wide[:, o // per * weights.shape[1] + c, ys, xs] += maps[:, o] * weights[o, c, i, j]
        inside = wide[:, :, top : top + shape[1], left : left + shape[2]]
        return np.asarray(inside.reshape(len(rows), -1))


def _averaged(rows: Array, op: AveragePool, shape: tuple[int, ...]) -> Array:
    refuse_if(len(shape) != 3, op.where, "average pooling of flat values.")
    window, counts = averaged_window(shape, op)
    shares = rows.reshape(len(rows), shape[0], -1) / np.array(counts, dtype=object)
    wide = np.full((len(rows), shape[0], prod(shape[1:])), Fraction(0), dtype=object)
    for tap in window.taps.T:
        held = np.flatnonzero(tap >= 0)
        wide[:, :, tap[held]] += shares[:, :, held]  # a tap meets no pixel twice
    return np.asarray(wide.reshape(len(rows), -1))


_Bounds: TypeAlias = Callable[[], list[tuple[Fraction, Fraction]]]
"""The possible values of each channel at one point, computed if a batch norm needs them."""


def _shapes(ops: Sequence[Op], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the shape before each operation, and after the last."""
    shapes = [shape]
    for op in ops:
        shapes.append(shape_behind(op, shapes[-1]))
    return shapes


def _past(op: Op, before: _Bounds, shape: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """Return the possible values of each channel after an operation."""
    ends = before()
    match op:
        case Branches():
            sums = [(Fraction(0), Fraction(0))] * shape_behind(op, shape)[0]
            for branch in op.branches:
                bounds: _Bounds = lambda: ends  # noqa: E731
                for inner, size in zip(branch, _shapes(branch, shape), strict=False):
                    bounds = partial(_past, inner, bounds, size)
                sums = [(a + low, b + high) for (a, b), (low, high) in zip(sums, bounds(), strict=True)]
            return sums
        case Affine() | BatchNorm():
            lines = pipelines([op], len(ends))
            return [
                (min(pair), max(pair))
                for line, both in zip(lines, ends, strict=True)
                for pair in [[_value_near(line, end) for end in both]]
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


def _value_near(line: Any, end: Fraction) -> Fraction:
    """Return a value after a batch norm, for bounds: its float, moved slightly outwards."""
    value = line(end)
    return value.rational if len(value.terms) == 1 else Fraction(float(value)) * Fraction(1001, 1000)


def _divided(gamma: Fraction, v: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return ``gamma / sqrt(v)`` and its error bound, which is 0 if the root is rational.

    Examples
    --------
    >>> _divided(Fraction(3), Fraction(9, 4), 8), _divided(Fraction(1), Fraction(2), 4)
    ((Fraction(2, 1), Fraction(0, 1)), (Fraction(11, 16), Fraction(1, 16)))
    """
    square, sign = gamma * gamma / v, -1 if gamma < 0 else 1
    root = rational_root(square)
    if root is not None:
        return sign * root, Fraction(0)
    near = isqrt((square.numerator << 2 * bits) // square.denominator)
    return Fraction(sign * near, 1 << bits), Fraction(1, 1 << bits)


def _is_rational(op: BatchNorm) -> bool:
    lines = pipelines([op], max(np.size(getattr(op, name)) for name in ("gamma", "beta", "mean", "var")))
    return all(not _divided(root.gamma, root.v, 1)[1] for line in lines for root in line.parts)  # type: ignore[union-attr]


def _rounded(made: _Affine, top: int) -> tuple[_Affine, int]:
    """Round coefficients and constants to the finest power of two that fits; return them and this grid."""
    size = int(max((np.abs(made.rows) * top).sum(axis=1).tolist())) + 1
    grid = 1 << max(0, _GRID - size.bit_length())
    rows = np.array(
        [[Fraction(round(value * grid), grid) for value in row] for row in made.rows.tolist()], dtype=object
    )
    error = made.error + Fraction(top * rows.shape[1] + 1, 2 * grid)
    return _Affine(rows, [Fraction(round(value * grid), grid) for value in made.offset], error), grid


def _fitted(levels: LevelSignal, made: _Affine, grid: int) -> Head | None:
    """Return the head with these coefficients, all multiples of one fraction of `grid`; None if they need too
    many bits.
    """
    coefficients = np.array(
        [[int(value * grid) for value in row] for row in made.rows.tolist()], dtype=object
    )
    common = gcd(*coefficients.reshape(-1).tolist()) or 1
    coefficients = coefficients // common
    if int(np.abs(coefficients).sum(axis=1).max(initial=0)) * levels.top >> WIDE:
        return None
    weights = np.zeros(coefficients.shape, np.int64)
    weights[:, levels.order] = coefficients.astype(np.int64)
    unit = Fraction(common, grid)
    totals = coefficients.sum(axis=1).tolist()
    bias = [o + unit * levels.top * int(t) / 2 for o, t in zip(made.offset, totals, strict=True)]
    tops = None if levels.top == 1 else np.full(len(levels.order), levels.top)
    return Head(weights, bias, unit / 2, tops)


def _each(values: Any, shape: tuple[int, ...]) -> list[Fraction]:
    """Return one number per value from numbers for all values, per channel or per feature."""
    row, count = [Fraction(value) for value in np.asarray(values).reshape(-1).tolist()], prod(shape)
    refuse_if(len(row) not in (1, shape[0]), f"{len(row)} numbers for {shape[0]} channels or features.")
    return [value for value in row for _ in range(count // len(row))]


def _is_one(rows: Array) -> bool:
    return len(rows) == len(rows.T) and bool((rows == np.eye(len(rows), dtype=int)).all())


def _small(size: int, op: Op) -> None:
    refuse_if(
        size > _MOST,
        op.where,
        f"{size:,} exact coefficients are more than the {_MOST:,} that are worked out.",
    )


_CURVES: dict[str, Callable[[Doubles], Doubles]] = {
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "log_sigmoid_forward": lambda x: -np.logaddexp(0, -x),
    "tanh": np.tanh,
    "log": np.log,
}
_SHARES = ("softmax", "log_softmax", "logsoftmax")
_SCORES = 1 << 20
"""Largest number of scores of all classes."""
_STEP = 2.0**-16
"""Softmax subtracts the largest score. It keeps scores apart that are lower by at least this."""
_ROOM = 2.0**-20
"""Relative difference that two results must have: 8 roundings of a 32-bit float."""
_LEAST = 2.0**-110
"""Results nearer to 0 may be rounded to 0."""


def see_apart(head: Head, left_out: Iterable[str], source: str) -> None:
    """Check that functions that were left out at the end keep different scores of classes different.

    Parameters
    ----------
    head
        The class scores.
    left_out
        The functions after them, in order. Each text starts with the name of the function.
    source
        File or module, for messages.

    Raises
    ------
    FileError
        If classes with different scores can tie after one of these functions.
    """
    named = [(_function(name), name) for name in left_out]
    curves = [(kind, name) for kind, name in named if kind in _CURVES or kind in _SHARES]
    if not curves:
        return
    kind, name = curves[0]
    advice = "Remove it: the scores alone have the same order."
    if any(other != "log" for other, _ in curves[1:]):
        raise FileError(f"{source}: {curves[1][1]} comes after {name}. Remove both, and keep the scores.")
    if kind in _SHARES:
        steps = [2 * scale for scale, size in zip(head.scale, head.sizes, strict=True) if scale and size]
        if steps and min(steps) < _STEP:
            raise FileError(
                f"{source}: scores only {float(min(steps)):.3g} apart can tie after {name}. {advice}"
            )
        return
    values, others = _reachable(head, f"{source}: {name}:")
    pairs = others >= 0
    for kind, name in curves:
        with np.errstate(all="ignore"):
            after = _CURVES[kind](values)
        high, low = after[pairs], after[others[pairs]]
        size = np.maximum(np.abs(high), np.abs(low))
        tie = ~((high - low > _ROOM * size) & (size > _LEAST))
        if tie.any():
            at = int(np.flatnonzero(pairs)[np.argmax(tie)])
            raise FileError(
                f"{source}: after {name}, classes with the scores {values[others[at]]:.6g} and "
                f"{values[at]:.6g} tie in 32-bit floats. {advice}"
            )
        values = after


def _function(name: str) -> str:
    """Return the name of a function that was left out: ``tanh at 3 (Tanh)``, ``node 16 (Softmax 'x')``."""
    match = re.match(r"(?:node \d+ \()?(\w+)", name)
    return "" if match is None else match[1].lower()


def _reachable(head: Head, what: str) -> tuple[Doubles, Indices]:
    """Return all possible scores of classes, rising.

    For each, also return the position of the next lower score of another class, or -1 if there is none.
    """
    refuse_if(
        int(head.sizes.sum()) > _SCORES,
        f"{what} too many possible scores to see that no two classes tie. Remove it.",
    )
    rows = sorted(
        (scale * (2 * matches - int(size)) + bias, k)
        for k, (scale, bias, size) in enumerate(zip(head.scale, head.bias, head.sizes, strict=True))
        for matches in range(int(size) + 1)
    )
    below, last, first = np.full(len(rows), -1), dict[int, int](), 0  # the first of those that are as large
    for at, (score, k) in enumerate(rows):
        if score > rows[first][0]:
            for index in range(first, at):  # the last position of each class, the largest scores last
                last.pop(rows[index][1], None)
                last[rows[index][1]] = index
            first = at
        below[at] = next((position for other, position in reversed(last.items()) if other != k), -1)
    return np.array([float(score) for score, _ in rows]), below
