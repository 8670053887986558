"""Evaluate operations in float64, like the authors of their file, and bound the distance to the exact
numbers.

Readers are compared with these values. A float interpreter can have a value on the wrong side of 0 only if
the exact value is within the bound before the sign. Sums of multiples of one power of two, if not too large,
are exact in floats. There the bound is 0, and even a tie counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, log2, prod
from typing import Any

import numpy as np

from sugenet.io.exact.domains import Bits, Inputs, Integers
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    Leaky,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Quantize,
    Sign,
)
from sugenet.nn import Window
from sugenet.nn.arrays import Doubles

__all__ = [
    "DOUBLE",
    "SINGLE",
    "Floats",
    "Rounding",
    "apply",
    "laid_out",
    "nearest",
    "passed",
    "rounding_of",
    "shape_behind",
]


def laid_out(chain: OpChain, X: Any) -> Doubles:
    """Return samples of the source, flat or not, in the shape that the chain reads: channels first."""
    x = np.asarray(X, dtype=np.float64)
    if chain.channels_last and len(chain.shape) == 3:
        return x.reshape(len(x), *chain.shape[1:], chain.shape[0]).transpose(0, 3, 1, 2)
    return x.reshape(len(x), *chain.shape)


def passed(
    ops: Iterable[Op],
    x: Doubles,
    watch: Callable[[Sign | Quantize, Doubles, Doubles], None] | None = None,
) -> Doubles:
    """Return a batch after some operations.

    `watch` gets every sign and quantizer, branches included, with the values before and after it.
    """
    for op in ops:
        before = x
        if isinstance(op, Branches):
            x = np.asarray(sum(passed(branch, before, watch) for branch in op.branches))
        else:
            x = apply(op, before)
        if watch is not None and isinstance(op, Sign | Quantize):
            watch(op, before, x)
    return x


def apply(op: Op, x: Doubles) -> Doubles:
    """Apply one operation to a batch, in float64."""
    match op:
        case LinearOp():
            flat = x.reshape(len(x), -1) if op.maps is not None else x
            return _biased(flat @ _floats(op.weights).T, op.bias).reshape(len(x), *(op.maps or (-1,)))
        case Convolution():
            return _convolved(op, x)
        case Affine():
            return _along(op.scale, x) * x + _along(op.shift, x)
        case BatchNorm():
            gamma, beta, mean, var = (_along(column, x) for column in (op.gamma, op.beta, op.mean, op.var))
            return np.asarray(gamma * (x - mean) / np.sqrt(var + op.eps) + beta)
        case Branches():
            return passed([op], x)
        case Clip():
            return np.clip(x, op.low, op.high)
        case Leaky():
            return np.where(x >= 0, x, _along(op.slope, x) * x)
        case Sign():
            middle = {1: op.high, -1: op.low, 0: (op.low + op.high) / 2}[op.zero]
            return np.where(x > 0, op.high, np.where(x < 0, op.low, middle))
        case Quantize():
            return _counted(op, x)
        case MaxPool():
            return np.asarray(
                _windows(_padded(x, op.pads, -np.inf), op.kernel, op.stride, op.dilation).max(axis=(4, 5))
            )
        case AveragePool():
            return _averaged(op, x)
        case Pad():
            return _padded(x, op.pads, op.value)
        case Flatten():
            return (x if op.order == "CHW" else x.transpose(0, 2, 3, 1)).reshape(len(x), -1)


def _floats(values: Any) -> Doubles:
    return np.asarray(values, dtype=np.float64)


def _along(values: Any, x: Doubles) -> Doubles:
    """Return parameters in a shape that broadcasts along the channels."""
    return _floats(values).reshape(-1, *[1] * (x.ndim - 2))


def _biased(sums: Doubles, bias: Any) -> Doubles:
    return sums if bias is None else sums + _along(bias, sums)


def _padded(x: Doubles, pads: tuple[int, int, int, int], value: float) -> Doubles:
    top, left, bottom, right = pads
    x = x[:, :, max(-top, 0) : x.shape[2] - max(-bottom, 0), max(-left, 0) : x.shape[3] - max(-right, 0)]
    around = ((0, 0), (0, 0), (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)))
    return np.pad(x, around, constant_values=value)


def _windows(
    x: Doubles, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int] = (1, 1)
) -> Doubles:
    """Return windows of shape (samples, channels, out height, out width, kernel height, kernel width)."""
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    return np.asarray(views[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]])


def _convolved(op: Convolution, x: Doubles) -> Doubles:
    weights = _floats(op.weights)
    windows = _windows(_padded(x, op.pads, 0.0), (weights.shape[2], weights.shape[3]), op.stride, op.dilation)
    into, out = x.shape[1] // op.groups, len(weights) // op.groups
    parts = [
        np.tensordot(
            windows[:, g * into : (g + 1) * into],
            weights[g * out : (g + 1) * out],
            axes=((1, 4, 5), (1, 2, 3)),
        )
        for g in range(op.groups)
    ]
    return _biased(np.concatenate(parts, axis=3).transpose(0, 3, 1, 2), op.bias)


def _by_channel(op: Quantize, x: Doubles, function: Callable[[Doubles, Doubles], Doubles]) -> Doubles:
    """Apply a function to the thresholds and the values of each channel."""
    rows = _floats(op.thresholds)
    if len(rows) == 1:
        return function(rows[0], x)
    return np.stack([function(row, x[:, c]) for c, row in enumerate(rows)], axis=1)


def _counted(op: Quantize, x: Doubles) -> Doubles:
    """Return how many thresholds of its channel each value reaches."""

    def count(row: Doubles, part: Doubles) -> Doubles:
        reached = np.searchsorted(row[~op.strict], part, side="right")
        return np.asarray(reached + np.searchsorted(row[op.strict], part, side="left"), np.float64)

    return _by_channel(op, x, count)


def nearest(op: Quantize, x: Doubles) -> Doubles:
    """Return the distance of each value to the nearest threshold of its channel."""

    def gap(row: Doubles, part: Doubles) -> Doubles:
        ends = np.concatenate([[-np.inf], row, [np.inf]])
        index = np.searchsorted(row, part, side="right")
        below, above = part - ends[index], part - ends[index + 1]
        return np.asarray(np.where(np.abs(below) <= np.abs(above), below, above))

    return _by_channel(op, x, gap)


def _averaged(op: AveragePool, x: Doubles) -> Doubles:
    if op.kernel is None:
        return np.asarray(x.mean(axis=(2, 3), keepdims=True))
    sums = _windows(_padded(x, op.pads, 0.0), op.kernel, op.stride).sum(axis=(4, 5))
    top, left, bottom, right = op.pads
    inside = _padded(
        np.ones_like(x[:1, :1]),
        (top, left, bottom - op.beyond[0], right - op.beyond[1]),
        float(op.count_pads),
    )
    inside = _padded(inside, (0, 0, *op.beyond), 0.0)
    return np.asarray(sums / _windows(inside, op.kernel, op.stride).sum(axis=(4, 5)))


_MORE = 8
"""Roundings of one operation beyond those of its sum: scale, shift, square root, division, and steps that a
reader merged.
"""


@dataclass(frozen=True)
class Floats:
    """A float format with a number of bits.

    If `whole`, sums keep all of them: no fast algorithm trades bits for speed.
    """

    bits: int
    whole: bool = True

    @property
    def unit(self) -> float:
        """The largest relative error of one rounding."""
        return 2.0**-self.bits


DOUBLE = Floats(53)
SINGLE = Floats(24, whole=False)


@dataclass(frozen=True)
class Rounding:
    """Bounds on the difference between the values of a float interpreter and the exact ones.

    A bound is 0 if floats are exact.
    """

    signs: Mapping[int, float]
    """Bound before each sign or quantizer, by its index among all operations of the chain."""
    scores: float
    after_sums: frozenset[int] = frozenset()
    """Signs whose sums are exact in these floats, so that only the steps between sum and sign are rounded. An
    interpreter then decides the same for every input with that sum.
    """


@dataclass(frozen=True)
class _Known:
    """Knowledge about numbers: the largest absolute value, the largest error, and the power of two that all
    of them are multiples of.
    """

    size: float
    error: float
    grid: int | None


def rounding_of(
    chain: OpChain,
    inputs: Inputs | None,
    floats: Floats = DOUBLE,
    *,
    largest: float = 1.0,
    clean: bool = True,
    others: Sequence[Op] | None = None,
    reaches: Sequence[float] | None = None,
) -> Rounding:
    """Return error bounds for an interpreter of a chain.

    Parameters
    ----------
    chain, inputs
        The operations, and the domain of the samples.
    floats
        The float format of the interpreter.
    largest
        The largest absolute value of a raw number in the samples, if the inputs do not define it.
    clean
        Whether the interpreter's signs have exactly their two values. ``x + (sign(x) - x)`` does not: it
        keeps the rounding of x.
    others
        The operations with the interpreter's own numbers, if these were computed in other floats than those
        of the chain.
    reaches
        For each operation, the largest intermediate number of the interpreter, if it takes several steps.

    Examples
    --------
    >>> first, head = np.array([[1.0, -1.0]]), np.array([[0.5], [-0.5]])
    >>> ops = (LinearOp("fc", first), Sign("sign"), LinearOp("head", head))
    >>> rounding_of(OpChain("example", (2,), ops), Integers(0, 3))
    Rounding(signs={1: 0.0}, scores=0.0, after_sums=frozenset())
    >>> rounding_of(OpChain("example", (2,), ops), Integers(0, 3, step=Fraction(1, 3))).signs[1] < 1e-13
    True
    """
    walk = _RoundingWalk(floats, clean, others, reaches)
    end = walk.run(chain.ops, _start(inputs, floats, largest), chain.shape)
    return Rounding(walk.signs, end.error, frozenset(walk.after_sums))


@dataclass
class _RoundingWalk:
    """Knowledge about an interpreter, and how many operations it has passed."""

    floats: Floats
    clean: bool
    others: Sequence[Op] | None
    reaches: Sequence[float] | None
    signs: dict[int, float] = field(default_factory=dict)
    after_sums: set[int] = field(default_factory=set)
    is_sum_exact: bool = True
    number: int = 0

    def run(self, ops: Sequence[Op], now: _Known, shape: tuple[int, ...]) -> _Known:
        for op in ops:
            if isinstance(op, Branches):
                ends = [self.run(branch, now, shape) for branch in op.branches]
                grids = [end.grid for end in ends if end.grid is not None]
                size, error = sum(end.size for end in ends), sum(end.error for end in ends)
                grid = min(grids) if len(grids) == len(ends) else None
                now = _settled(size, len(ends), error, grid, self.floats)
                self.is_sum_exact = not now.error
            else:
                now = self._one(op, now, shape)
                self.number += 1
            shape = shape_behind(op, shape)
        return now

    def _one(self, op: Op, now: _Known, shape: tuple[int, ...]) -> _Known:
        number, floats = self.number, self.floats
        mine = op if self.others is None else self.others[number]
        if isinstance(op, Sign | Quantize) and self.is_sum_exact and now.error:
            self.after_sums.add(number)
        if isinstance(op, Sign):
            self.signs[number] = now.error
            return _signed(op, now, floats, self.clean)
        if isinstance(op, Quantize):
            assert isinstance(mine, Quantize)
            self.signs[number] = now.error + _most(_minus(op.thresholds, mine.thresholds))
            error = 0.0 if self.clean else 4 * floats.unit * (now.size + op.top)
            return _Known(float(op.top), error, 0 if self.clean else None)
        after = _past(op, mine, now, floats, shape)
        if isinstance(op, LinearOp | Convolution | AveragePool):
            self.is_sum_exact = not after.error
        reach = 0.0 if self.reaches is None else self.reaches[number]
        far = reach > 4 * max(now.size, after.size)
        return _Known(after.size, after.error + _MORE * floats.unit * reach, None) if far else after


def _start(inputs: Inputs | None, floats: Floats, largest: float) -> _Known:
    if isinstance(inputs, Integers):
        ends = [inputs.value(x, k) for k in range(inputs.channels) for x in (inputs.low, inputs.high)]
        values = np.array([*ends, *inputs.starts, *inputs.steps], dtype=object)
        return _settled(float(max(map(abs, ends))), 1, 0.0, _grid(values), floats)
    if isinstance(inputs, Bits):
        values = np.array([Fraction(inputs.low), Fraction(inputs.high)], dtype=object)
        return _settled(float(max(abs(values))), 1, 0.0, _grid(values), floats)
    return _Known(largest, 0.0, None)


def _signed(op: Sign, before: _Known, floats: Floats, clean: bool) -> _Known:
    size = max(abs(op.low), abs(op.high))
    grid = _grid(np.array([op.low, op.high, (op.low + op.high) / 2]))
    return _Known(size, 0.0 if clean else 4 * floats.unit * (before.size + size), grid if clean else None)


def _past(op: Op, other: Op, x: _Known, floats: Floats, shape: tuple[int, ...]) -> _Known:
    match op, other:
        case ((LinearOp() | Convolution()), (LinearOp() | Convolution())):
            rows = _sizes(op.weights).reshape(len(op.weights), -1)
            gap = _sizes(_minus(op.weights, other.weights)).reshape(rows.shape)
            scale, shift = _most(rows.sum(axis=1)), _most(op.bias)
            error = scale * x.error + _most(gap.sum(axis=1)) * x.size + _most(_minus(op.bias, other.bias))
            grid = (
                _product(_grid(op.weights), x.grid, _grid(op.bias))
                if floats.whole or isinstance(op, LinearOp)
                else None
            )
            return _settled(scale * x.size + shift, rows.shape[1], error, grid, floats)
        case Affine(), Affine():
            scale, shift = _most(op.scale), _most(op.shift)
            error = (
                scale * x.error
                + _most(_minus(op.scale, other.scale)) * x.size
                + _most(_minus(op.shift, other.shift))
            )
            return _settled(
                scale * x.size + shift, 1, error, _product(_grid(op.scale), x.grid, _grid(op.shift)), floats
            )
        case BatchNorm(), BatchNorm():
            mine, theirs = _normed(op), _normed(other)
            reach = x.size + _most(op.mean)
            error = _most(mine) * (x.error + _most(_minus(op.mean, other.mean)))
            error += _most(_minus(mine, theirs)) * reach + _most(_minus(op.beta, other.beta))
            plain = bool(np.all(_numbers(op.var) + op.eps == 1))
            means = _product(_grid(op.gamma), _grid(op.mean), _grid(op.beta))
            grid = _product(_grid(op.gamma), x.grid, means) if plain else None
            return _settled(_most(mine) * reach + _most(op.beta), 1, error, grid, floats)
        case Clip(), Clip():
            ends = [end for end in (op.low, op.high) if isfinite(end)]
            size = max(map(abs, ends)) if len(ends) == 2 else max([x.size, *map(abs, ends)])
            moved = max(
                (abs(a - b) for a, b in ((op.low, other.low), (op.high, other.high)) if a != b), default=0.0
            )
            grids = [_grid(np.array(ends)), x.grid]
            return _Known(
                size, x.error + moved, None if None in grids else min(g for g in grids if g is not None)
            )
        case Leaky(), Leaky():
            steepest = max(_most(op.slope), 1.0)
            error = steepest * x.error + _most(_minus(op.slope, other.slope)) * x.size
            return _settled(steepest * x.size, 1, error, _product(_grid(op.slope), x.grid, x.grid), floats)
        case Pad(), _:
            grid = _grid(np.array([op.value]))
            return _Known(
                max(x.size, abs(op.value)),
                x.error,
                None if grid is None or x.grid is None else min(grid, x.grid),
            )
        case AveragePool(), _:
            count = prod(shape[1:] if op.kernel is None else op.kernel)
            halves = log2(count)
            grid = (
                x.grid - int(halves) if x.grid is not None and halves.is_integer() and _regular(op) else None
            )
            return _settled(x.size, count, x.error, grid, floats)
    return x


def _settled(size: float, terms: int, error: float, grid: int | None, floats: Floats) -> _Known:
    """Return the result of a sum of this many terms. It is exact if its multiples of the grid have few enough
    bits.
    """
    if grid is not None and not error and (size == 0 or log2(size) - grid <= floats.bits):
        return _Known(size, 0.0, grid)
    return _Known(size, error + (terms + _MORE) * floats.unit * size, None)


def _regular(op: AveragePool) -> bool:
    """Return whether all windows are divided by the size of the kernel."""
    return not any(op.pads) or (op.count_pads and not any(op.beyond))


def shape_behind(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of one sample after an operation."""
    match op:
        case Branches():
            for inner in op.branches[0]:
                shape = shape_behind(inner, shape)
            return shape
        case LinearOp():
            return (len(op.weights),) if op.maps is None else op.maps
        case Flatten():
            return (prod(shape),)
        case Pad():
            top, left, bottom, right = op.pads
            return (shape[0], shape[1] + top + bottom, shape[2] + left + right)
        case Convolution():
            kernel = op.weights.shape[2:]
            return (len(op.weights), *Window(shape, kernel, op.stride, op.dilation, op.pads).positions)
        case MaxPool():
            return (shape[0], *Window(shape, op.kernel, op.stride, op.dilation, op.pads).positions)
        case AveragePool():
            if op.kernel is None:
                return (shape[0], 1, 1)
            return (shape[0], *Window(shape, op.kernel, op.stride, 1, op.pads).positions)
    return shape


def _numbers(values: Any) -> Doubles:
    return np.zeros(1) if values is None else np.asarray(values, dtype=np.float64)


def _sizes(values: Any) -> Doubles:
    return np.abs(_numbers(values))


def _minus(a: Any, b: Any) -> Doubles:
    return np.zeros(np.shape(a)) if a is b else np.asarray(_numbers(a) - _numbers(b))


def _most(values: Any) -> float:
    return float(_sizes(values).max(initial=0.0))


def _normed(op: BatchNorm) -> Doubles:
    return np.asarray(_numbers(op.gamma) / np.sqrt(_numbers(op.var) + op.eps))


def _product(scale: int | None, x: int | None, shift: int | None) -> int | None:
    """Return the grid of ``scale * x + shift``."""
    return None if scale is None or x is None or shift is None else min(scale + x, shift)


def _grid(values: Any) -> int | None:
    """Return the largest e such that all values are multiples of 2**e; None if a value is not a float.

    Zeros are on any grid.
    """
    if values is None:
        return _COARSE
    array = np.asarray(values)
    numbers = array.astype(np.float64)
    if array.dtype == object and any(
        Fraction(a) != Fraction(b) for a, b in zip(array.reshape(-1), numbers.reshape(-1), strict=True)
    ):
        return None
    numbers = numbers[numbers != 0]
    if not numbers.size:
        return _COARSE
    mantissa, power = np.frexp(np.abs(numbers))
    integers = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2((integers & -integers).astype(np.float64))
    return int((power - 53 + lowest).min())


_COARSE = 1 << 20
"""A grid that restricts nothing."""
