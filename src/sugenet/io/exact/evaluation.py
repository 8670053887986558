"""Operations computed in float64, as their file's authors would: what readers are checked against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
    Stairs,
)

__all__ = ["apply", "laid_out", "nearest", "passed"]

_Array = npt.NDArray[np.float64]


def laid_out(chain: OpChain, X: Any) -> _Array:
    """Samples as their source has them, flat or not, in the shape that the chain reads: channels first."""
    x = np.asarray(X, dtype=np.float64)
    if chain.channels_last and len(chain.shape) == 3:
        return x.reshape(len(x), *chain.shape[1:], chain.shape[0]).transpose(0, 3, 1, 2)
    return x.reshape(len(x), *chain.shape)


def passed(ops: Iterable[Op], x: _Array) -> _Array:
    """A batch behind some operations."""
    for op in ops:
        x = apply(op, x)
    return x


def apply(op: Op, x: _Array) -> _Array:
    """One operation on a batch, in float64."""
    match op:
        case LinearOp():
            return _biased(x @ _floats(op.weights).T, op.bias)
        case Convolution():
            return _convolved(op, x)
        case Affine():
            return _along(op.scale, x) * x + _along(op.shift, x)
        case BatchNorm():
            gamma, beta, mean, var = (_along(column, x) for column in (op.gamma, op.beta, op.mean, op.var))
            return np.asarray(gamma * (x - mean) / np.sqrt(var + op.eps) + beta)
        case Branches():
            return np.asarray(sum(passed(branch, x) for branch in op.branches))
        case Clip():
            return np.clip(x, op.low, op.high)
        case Sign():
            middle = {1: op.high, -1: op.low, 0: (op.low + op.high) / 2}[op.zero]
            return np.where(x > 0, op.high, np.where(x < 0, op.low, middle))
        case Stairs():
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


def _floats(values: Any) -> _Array:
    return np.asarray(values, dtype=np.float64)


def _along(values: Any, x: _Array) -> _Array:
    """Parameters laid along the channels."""
    return _floats(values).reshape(-1, *[1] * (x.ndim - 2))


def _biased(sums: _Array, bias: Any) -> _Array:
    return sums if bias is None else sums + _along(bias, sums)


def _padded(x: _Array, pads: tuple[int, int, int, int], value: float) -> _Array:
    top, left, bottom, right = pads
    x = x[:, :, max(-top, 0) : x.shape[2] - max(-bottom, 0), max(-left, 0) : x.shape[3] - max(-right, 0)]
    around = ((0, 0), (0, 0), (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)))
    return np.pad(x, around, constant_values=value)


def _windows(
    x: _Array, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int] = (1, 1)
) -> _Array:
    """Shape (samples, channels, out height, out width, kernel height, kernel width)."""
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    return np.asarray(views[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]])


def _convolved(op: Convolution, x: _Array) -> _Array:
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


def _counted(op: Stairs, x: _Array) -> _Array:
    """How many thresholds of its channel each value reaches."""
    rows = _floats(op.thresholds)
    found = np.empty(x.shape)
    for c, row in enumerate(rows):
        part = x if len(rows) == 1 else x[:, c]
        counts = np.searchsorted(row[~op.strict], part, side="right")
        counts = counts + np.searchsorted(row[op.strict], part, side="left")
        if len(rows) == 1:
            return counts.astype(np.float64)
        found[:, c] = counts
    return found


def nearest(op: Stairs, x: _Array) -> _Array:
    """How far each value is from the threshold of its channel that is nearest to it."""
    rows = _floats(op.thresholds)
    found = np.empty(x.shape)
    for c, row in enumerate(rows):
        part = x if len(rows) == 1 else x[:, c]
        ends = np.concatenate([[-np.inf], row, [np.inf]])
        place = np.searchsorted(row, part, side="right")
        below, above = part - ends[place], part - ends[place + 1]
        near: _Array = np.where(np.abs(below) <= np.abs(above), below, above)
        if len(rows) == 1:
            return near
        found[:, c] = near
    return found


def _averaged(op: AveragePool, x: _Array) -> _Array:
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
