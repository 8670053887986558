"""Handle signs of values that were clipped at zero: ReLU followed by sign has the values 0 and 1, not -1, 0
and +1.

If the sign of 0 is 0, a chain can be exact only if zero cannot occur. After a clip at zero it occurs all the
time, and is then simply the lower (or upper) of two values. No rule for sign(0) that a user could declare
would express that.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, isinf
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Flatten,
    Leaky,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Quantize,
    Sign,
)
from sugenet.io.plain.refusals import refuse_if

__all__ = ["sharpened"]

_Ends: TypeAlias = Sequence[tuple[Any, Any]]
"""Smallest and largest value, one pair for all values or one per channel; exact, or infinite."""
_ENDLESS: _Ends = ((-inf, inf),)


def sharpened(chain: OpChain) -> OpChain:
    """Replace signs with sign(0) = 0 by two-valued signs, if their inputs never lie on one side of 0.

    Raises
    ------
    FileError
        If only some channels are clipped at zero.

    Examples
    --------
    >>> ops = (Clip("relu", 0.0, inf), Sign("sign", zero=0))
    >>> sharpened(OpChain("example", (2,), ops)).ops[1]
    Sign(where='sign', zero=-1, low=0.0, high=1.0)
    """
    return replace(chain, ops=_sharpened(chain.ops, _ENDLESS)[0])


def _sharpened(chain: tuple[Op, ...], ends: _Ends) -> tuple[tuple[Op, ...], _Ends]:
    ops: list[Op] = []
    for op in chain:
        now = op
        if isinstance(op, Branches):
            pairs = [_sharpened(branch, ends) for branch in op.branches]
            now = replace(op, branches=tuple(branch for branch, _ in pairs))
            ends = _added([end for _, end in pairs])
        elif isinstance(op, Sign):
            now = _two_valued(op, ends) if op.zero == 0 else op
            # a sign may negate its input
            ends = ((Fraction(min(now.low, now.high)), Fraction(max(now.low, now.high))),)
        elif isinstance(op, Quantize):
            ends = ((Fraction(0), Fraction(op.top)),)
        else:
            ends = _past(op, ends)
        ops.append(now)
    return tuple(ops), ends


def _added(ends: Sequence[_Ends]) -> _Ends:
    """Return the ends of a sum, if all parts have the same number of channels or one pair for all."""
    count = max(map(len, ends))
    if any(len(end) not in (1, count) for end in ends):
        return _ENDLESS
    pairs = [[end[c % len(end)] for end in ends] for c in range(count)]
    return [(sum(low for low, _ in row), sum(high for _, high in row)) for row in pairs]


def _two_valued(op: Sign, ends: _Ends) -> Sign:
    middle = (op.low + op.high) / 2
    if all(low >= 0 for low, _ in ends):
        return replace(op, zero=-1, low=middle)
    if all(high <= 0 for _, high in ends):
        return replace(op, zero=1, high=middle)
    refuse_if(
        any(0 in pair for pair in ends),
        op.where,
        "sign of values that are clipped at zero in some channels only, so it has two "
        "values there and three elsewhere. Write the sign as a comparison, such as Where(x > 0, 1, -1).",
    )
    return op


def _past(op: Op, ends: _Ends) -> _Ends:
    """Return the possible values after an operation."""
    match op:
        case Clip():
            bottom, top = (end if isinf(end) else Fraction(end) for end in (op.low, op.high))
            return [tuple(min(max(value, bottom), top) for value in pair) for pair in ends]
        case Leaky():
            slopes = _row(op.slope)
            if len(ends) not in (1, len(slopes)) and len(slopes) != 1:
                return _ENDLESS
            return [
                (_bent(low, slope), _bent(high, slope))
                for slope, (low, high) in zip(
                    slopes * (len(ends) if len(slopes) == 1 else 1),
                    [*ends] * (len(slopes) if len(ends) == 1 else 1),
                    strict=True,
                )
            ]
        case Affine():
            return _moved(_row(op.scale), _row(op.shift), ends)
        case BatchNorm() if not np.any(
            op.beta
        ):  # its root is positive, so its direction is that of gamma * (x - mean)
            gamma, mean = (np.array(_row(values), dtype=object) for values in (op.gamma, op.mean))
            return _moved(gamma.tolist(), (-gamma * mean).tolist(), ends)
        case Pad():
            return _with(Fraction(op.value), ends)
        case AveragePool() if op.count_pads and any(op.pads):
            return _with(Fraction(0), ends)
        case MaxPool() | AveragePool():
            return ends
        case Flatten() if len(set(ends)) == 1:
            return ends[:1]
    return _ENDLESS


def _bent(end: Any, slope: Fraction) -> Any:
    return end if end >= 0 else end * slope if slope else Fraction(0)


def _with(value: Fraction, ends: _Ends) -> _Ends:
    return [(min(low, value), max(high, value)) for low, high in ends]


def _row(values: Any) -> list[Fraction]:
    return [Fraction(value) for value in np.asarray(values).reshape(-1).tolist()]


def _moved(scale: Sequence[Fraction], shift: Sequence[Fraction], ends: _Ends) -> _Ends:
    """Return the ends of values that are scaled and shifted."""
    count = max(len(scale), len(shift), len(ends))
    if any(len(row) not in (1, count) for row in (scale, shift, ends)):
        return _ENDLESS
    moved = []
    for k in range(count):
        a, b = scale[k % len(scale)], shift[k % len(shift)]
        sides = [b if a == 0 else a * end + b for end in ends[k % len(ends)]]
        moved.append((min(sides), max(sides)))
    return moved
