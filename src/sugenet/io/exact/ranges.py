"""Signs of values that were clipped at zero: ReLU and then sign has the values 0 and 1, not -1, 0 and +1.

Where a sign is neither at zero, a chain can be exact only if zero cannot occur. Behind a clip at zero it
occurs all the time, and is then simply the lower (or upper) of two values; no rule for sign(0) that a user
could declare would say that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Flatten,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
    Stairs,
)

__all__ = ["sharpened"]

_Ends: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Least and largest value, one of each for all values or one a channel; exact, or infinite."""


def sharpened(chain: OpChain) -> OpChain:
    """The chain with every sign that is neither at zero, but never sees one side of it,
    as a sign with two values.

    Raises
    ------
    FileError
        Where only some channels are clipped at zero.

    Examples
    --------
    >>> ops = (Clip("relu", 0.0, inf), Sign("sign", zero=0))
    >>> sharpened(OpChain("example", (2,), ops)).ops[1]
    Sign(where='sign', zero=-1, low=0.0, high=1.0)
    """
    return replace(chain, ops=_sharpened(chain.ops, _endless())[0])


def _sharpened(chain: tuple[Op, ...], ends: _Ends) -> tuple[tuple[Op, ...], _Ends]:
    ops: list[Op] = []
    for op in chain:
        now = op
        if isinstance(op, Branches):
            found = [_sharpened(branch, ends) for branch in op.branches]
            ops.append(replace(op, branches=tuple(branch for branch, _ in found)))
            ends = _added([end for _, end in found])
            continue
        if isinstance(op, Sign):
            now = _two_valued(op, ends) if op.zero == 0 else op
            # a sign may turn its input around
            ends = (
                _single(min(now.low, now.high)),
                _single(max(now.low, now.high)),
            )
        elif isinstance(op, Stairs):
            ends = _single(0), _single(op.top)
        else:
            ends = _past(op, ends)
        ops.append(now)
    return tuple(ops), ends


def _added(ends: Sequence[_Ends]) -> _Ends:
    """Of a sum, where all parts have as many channels or say one thing of all."""
    count = max(len(row) for end in ends for row in end)
    if any(len(row) not in (1, count) for end in ends for row in end):
        return _endless()
    low, high = (
        np.array([sum(end[k][c % len(end[k])] for end in ends) for c in range(count)], dtype=object)
        for k in (0, 1)
    )
    return low, high


def _endless() -> _Ends:
    return np.array([-inf], dtype=object), np.array([inf], dtype=object)


def _single(value: float) -> npt.NDArray[Any]:
    return np.array([Fraction(value)], dtype=object)


def _two_valued(op: Sign, ends: _Ends) -> Sign:
    low, high = ends
    middle = (op.low + op.high) / 2
    if all(value >= 0 for value in low):
        return replace(op, zero=-1, low=middle)
    if all(value <= 0 for value in high):
        return replace(op, zero=1, high=middle)
    if any(value == 0 for row in ends for value in row):
        raise FileError(
            f"{op.where}: sign of values that are clipped at zero in some channels only, so it has two "
            "values there and three elsewhere. Write the sign as a comparison, such as Where(x > 0, 1, -1)."
        )
    return op


def _past(op: Op, ends: _Ends) -> _Ends:
    """What values can be behind an operation."""
    low, high = ends
    match op:
        case Clip():
            bottom, top = _exact(op.low), _exact(op.high)
            return _each(lambda v: min(max(v, bottom), top), low), _each(
                lambda v: min(max(v, bottom), top), high
            )
        case Affine():
            return _moved(op, ends)
        case BatchNorm() if not np.any(
            op.beta
        ):  # its root is positive: it turns where gamma * (x - mean) does
            gamma, mean = (
                np.asarray([Fraction(v) for v in np.asarray(row).reshape(-1).tolist()], dtype=object)
                for row in (op.gamma, op.mean)
            )
            return _moved(Affine(op.where, gamma, -gamma * mean), ends)
        case Pad():
            value = Fraction(op.value)
            return _each(lambda v: min(v, value), low), _each(lambda v: max(v, value), high)
        case AveragePool() if op.count_pads and any(op.pads):
            return _each(lambda v: min(v, Fraction(0)), low), _each(lambda v: max(v, Fraction(0)), high)
        case MaxPool() | AveragePool():
            return ends
        case Flatten() if len(low) == len(high) == 1 or (len(set(low)) == 1 and len(set(high)) == 1):
            return low[:1], high[:1]
    return _endless()


def _moved(op: Affine, ends: _Ends) -> _Ends:
    scale, shift = (
        [Fraction(v) for v in np.asarray(values).reshape(-1).tolist()] for values in (op.scale, op.shift)
    )
    count = max(len(scale), len(shift), len(ends[0]), len(ends[1]))
    if any(len(row) not in (1, count) for row in (scale, shift, *ends)):
        return _endless()
    lows, highs = [], []
    for k in range(count):
        a, b = scale[k % len(scale)], shift[k % len(shift)]
        sides = [b if a == 0 else a * row[k % len(row)] + b for row in ends]
        lows.append(min(sides))
        highs.append(max(sides))
    return np.array(lows, dtype=object), np.array(highs, dtype=object)


def _exact(value: float) -> Any:
    return value if value in (inf, -inf) else Fraction(value)


def _each(function: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([function(value) for value in values], dtype=object)
