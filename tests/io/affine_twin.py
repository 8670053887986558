"""Chains of operations worked out one number at a time, in fractions: the slow twin of what reads rescaled
inputs. Square roots have a hundred digits.
"""

from __future__ import annotations

from decimal import Context
from fractions import Fraction
from itertools import product

import numpy as np

from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Pad,
    Sign,
)

__all__ = ["followed"]

_CONTEXT = Context(prec=100)


def root(value: Fraction) -> Fraction:
    quotient = _CONTEXT.divide(value.numerator, value.denominator)
    return Fraction(_CONTEXT.sqrt(quotient))


def followed(ops, values, shape):
    """What every sign gives and the scores at the end, for one sample whose values enter the chain."""
    x = np.array([Fraction(value) for value in values], dtype=object).reshape(shape)
    bits = []
    for op in ops:
        x = _after(op, x)
        if isinstance(op, Sign):
            bits.append([value == op.high for value in x.reshape(-1)])
    return bits, x.reshape(-1).tolist()


def _each(values, x):
    row = np.array([Fraction(v) for v in np.asarray(values).reshape(-1).tolist()], dtype=object)
    return row.reshape(-1, *[1] * (x.ndim - 1))


def _after(op, x):
    match op:
        case Affine():
            return _each(op.scale, x) * x + _each(op.shift, x)
        case BatchNorm():
            roots = np.array(
                [root(Fraction(v) + Fraction(op.eps)) for v in np.asarray(op.var).tolist()], object
            )
            scaled = _each(op.gamma, x) * (x - _each(op.mean, x)) / roots.reshape(-1, *[1] * (x.ndim - 1))
            return scaled + _each(op.beta, x)
        case Sign():
            zero = {1: op.high, -1: op.low}[op.zero]
            return np.vectorize(
                lambda v: Fraction(op.high if v > 0 else op.low if v < 0 else zero), otypes=[object]
            )(x)
        case LinearOp():
            sums = _each(op.weights, np.zeros(1)).reshape(op.weights.shape) @ x
            return sums if op.bias is None else sums + _each(op.bias, sums)
        case Convolution():
            return _convolved(op, x)
        case Pad():
            top, left, bottom, right = op.pads
            return np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=Fraction(op.value))
        case MaxPool() | AveragePool():
            height, width = op.kernel
            pooled = np.max if isinstance(op, MaxPool) else np.mean
            rows = range(0, x.shape[1] - height + 1, op.stride[0])
            columns = range(0, x.shape[2] - width + 1, op.stride[1])
            found = [
                [pooled(x[:, y : y + height, z : z + width], axis=(1, 2)) for z in columns] for y in rows
            ]
            return np.array(found, dtype=object).transpose(2, 0, 1)
        case Flatten():
            return (x if op.order == "CHW" else x.transpose(1, 2, 0)).reshape(-1)
    raise AssertionError(op)


def _convolved(op, x):
    top, left, bottom, right = op.pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=Fraction(0))
    outs, per_in, height, width = op.weights.shape
    rows = range(0, x.shape[1] - height + 1, op.stride[0])
    columns = range(0, x.shape[2] - width + 1, op.stride[1])
    found = np.empty((outs, len(rows), len(columns)), dtype=object)
    for o, (i, y), (j, z) in product(range(outs), enumerate(rows), enumerate(columns)):
        first = o // (outs // op.groups) * per_in
        total = Fraction(0) if op.bias is None else Fraction(op.bias[o].item())
        for c, dy, dz in product(range(per_in), range(height), range(width)):
            total += Fraction(op.weights[o, c, dy, dz].item()) * x[first + c, y + dy, z + dz]
        found[o, i, j] = total
    return found
