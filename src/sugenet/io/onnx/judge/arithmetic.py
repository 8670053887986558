"""Arithmetic on values with bounds on their rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.judge.tensors import ROUND, SINGLE, OpCall, Tensor, UncomparableError, is_single, made_of

__all__ = ["Operator", "floats", "given", "kind_of", "product", "quotient", "rising", "sum_of"]

Operator: TypeAlias = Callable[[OpCall], Tensor]


def given(call: OpCall, most: int | None = None) -> list[Tensor]:
    """All inputs, none of which may be missing, with room for their broadcast."""
    found = [call.tensor(place) for place in range(len(call.inputs))]
    if most is not None and len(found) != most:
        raise UncomparableError(f"it has {len(found)} inputs, but {most} are needed.")
    if not found:
        raise UncomparableError("it has no input.")
    try:
        call.made(np.broadcast_shapes(*(tensor.shape for tensor in found)))
    except ValueError:
        raise UncomparableError("its inputs have shapes that do not fit together.") from None
    return found


def floats(tensor: Tensor, data: bool) -> Array:
    """The values as the operator computes with them: floats beside data in float64."""
    return tensor.values.astype(np.float64, copy=False) if data and tensor.kind.kind == "f" else tensor.values


def _rounding(tensors: Sequence[Tensor], result: Array, exactly: Array | bool, kind: np.dtype[Any]) -> Array:
    """What one rounded operation adds to the bound.

    Constants are computed in their own kind, correctly rounded as the file's. Data are computed in float64;
    values that stem from signs may have been worked out in the file's float32.
    """
    if not any(tensor.data for tensor in tensors) or kind.kind != "f":
        return np.zeros(())
    if kind == np.float32 and all(tensor.signs for tensor in tensors if tensor.data):
        fine = exactly & is_single(result)
        if all(tensor.exact for tensor in tensors) and np.all(fine):
            return np.zeros(())
        return SINGLE * np.abs(result)
    return np.zeros(()) if np.all(exactly) else np.where(exactly, 0.0, ROUND * np.abs(result))


def kind_of(tensors: Sequence[Tensor]) -> np.dtype[Any]:
    """The kind of the result: that of the data."""
    return next((tensor.kind for tensor in tensors if tensor.data), tensors[0].kind)


def sum_of(left: Tensor, right: Tensor, sign: int) -> Tensor:
    """The sum of two, or with sign -1 their difference."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    result = np.asarray(a + b if sign > 0 else a - b)
    kind = kind_of((left, right))
    if kind.kind != "f":
        return made_of((left, right), result, kind, left.error + right.error)
    b = b if sign > 0 else -b
    part = result - a
    lost = (a - (result - part)) + (b - part)
    return made_of(
        (left, right),
        result,
        kind,
        left.error + right.error + _rounding((left, right), result, lost == 0, kind),
    )


def product(left: Tensor, right: Tensor) -> Tensor:
    """The product of two."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    result, kind = np.asarray(a * b), kind_of((left, right))
    error = np.abs(a) * right.error + np.abs(b) * left.error + left.error * right.error
    if kind.kind == "f":
        error = error + _rounding((left, right), result, is_single(a) & is_single(b), kind)
    return made_of((left, right), result, kind, error)


def quotient(left: Tensor, right: Tensor) -> Tensor:
    """The quotient of two; whole numbers are divided towards zero."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    kind = kind_of((left, right))
    if kind.kind in "iu":
        if not np.all(b):
            raise UncomparableError("it divides whole numbers by zero.")
        if not (left.exact and right.exact):
            raise UncomparableError("it divides whole numbers that are not certain.")
        return made_of(
            (left, right),
            (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(kind),
            kind,
            np.zeros(()),
        )
    result = np.asarray(a / b)
    room = np.abs(b) - right.error
    spread = np.where(
        room > 0, (left.error + np.abs(result) * right.error) / np.where(room > 0, room, 1), np.inf
    )
    exactly = is_single(result) & is_single(b) & (result * b == a)
    error = np.zeros(()) if left.exact and right.exact else spread
    return made_of((left, right), result, kind, error + _rounding((left, right), result, exactly, kind))


def rising(function: Callable[[Array], Any], roundings: float = 8.0) -> Operator:
    """A function that never falls: its values at both ends of what x may be bound it."""

    def run(call: OpCall) -> Tensor:
        (x,) = given(call, 1)
        wide = x.values.astype(np.float64)
        result = np.asarray(function(wide if x.data else x.values))
        error = np.zeros(())
        if not x.exact:
            ends = [np.asarray(function(wide + side * x.error), np.float64) for side in (-1, 1)]
            error = np.maximum(ends[1] - result, result - ends[0])
            error = np.where(np.isnan(error), np.inf, error)
        if roundings and x.kind.kind == "f":
            unit = ROUND if x.data and not (x.kind == np.float32 and x.signs) else SINGLE
            error = error + roundings * unit * np.where(np.isfinite(result), np.abs(result), 0)
        return made_of((x,), result, x.kind, error)

    return run
