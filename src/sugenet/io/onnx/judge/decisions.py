"""Operators that decide: signs, comparisons and quantizers.

What they saw and decided is kept for the comparison layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.judge.arithmetic import Operator, floats, given, product, quotient, rising, sum_of
from sugenet.io.onnx.judge.tensors import OpCall, Tensor, UncomparableError, constant, made_of

__all__ = ["DECISIONS"]


def _unsure(apart: Array, margin: Array) -> Array:
    """Where a value so far from its threshold may be on the other side."""
    return np.asarray((np.abs(apart) <= margin) & (margin > 0))


def _bits(call: OpCall, x: Tensor, up: Array) -> Tensor:
    """+1 where the data are up, -1 elsewhere."""
    if x.data:
        call.decide(x.values, up, ~up, x.error)
    error = np.where(_unsure(x.values, x.error), 2.0, 0.0)
    return Tensor(np.where(up, 1.0, -1.0).astype(x.values.dtype), x.kind, error, x.data, x.data)


def _sign(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    if x.data:
        call.decide(x.values, x.values > 0, x.values < 0, x.error)
    error = np.where(_unsure(x.values, x.error), 2.0, 0.0)
    return Tensor(np.sign(x.values), x.kind, error, x.data, x.data)


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}


def _compare(call: OpCall) -> Tensor:
    left, right = given(call, 2)
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    found = np.asarray(_TESTS[call.node.op](a, b))
    if a.dtype.kind == "b" or b.dtype.kind == "b":
        return made_of((left, right), found, np.dtype(bool), np.maximum(left.error, right.error))
    with np.errstate(invalid="ignore"):
        apart = a.astype(np.float64) - b.astype(np.float64)
    margin = np.asarray(left.error + right.error)
    if data and call.node.op != "Equal":
        up = found if call.node.op.startswith("Greater") else ~found
        call.decide(apart, up, ~up, margin)
    return Tensor(found, np.dtype(bool), np.where(_unsure(apart, margin), 1.0, 0.0), data, data)


def _bipolar(call: OpCall) -> Tensor:
    x, scale = given(call, 2)
    return product(_bits(call, x, x.values >= 0), scale)


def _steps(call: OpCall) -> Tensor:
    """MultiThreshold: how many thresholds of its channel each value reaches."""
    x, rows = call.tensor(0), call.tensor(1)
    call.attribute("out_dtype")  # the name of the datatype, which the values follow
    if rows.data or rows.values.ndim != 2 or x.values.ndim < 2 or len(call.inputs) != 2:
        raise UncomparableError("its thresholds are no matrix of the file, or its data have no channels.")
    last = call.text("data_layout", "NCHW").upper().endswith("C") and x.values.ndim > 2
    axis = x.values.ndim - 1 if last else 1
    if len(rows.values) not in (1, x.shape[axis]):
        raise UncomparableError(f"it has thresholds for {len(rows.values)} of {x.shape[axis]} channels.")
    call.made((*x.shape, rows.shape[1]))
    shape = [1] * x.values.ndim
    shape[axis] = len(rows.values)
    count, unsure, nearest = np.zeros(x.shape), np.zeros(x.shape), np.full(x.shape, np.inf)
    for column in rows.values.T:
        apart = x.values - column.reshape(shape).astype(np.float64)
        count += apart >= 0
        unsure += _unsure(apart, x.error)
        nearest = np.where(np.abs(apart) < np.abs(nearest), apart, nearest)
    if x.data:
        call.count(nearest, count, x.error)
    number = Tensor(count, np.dtype(np.float32), unsure, x.data, x.data)
    scale, bias = (
        constant(np.asarray(call.real(k, v)), number.kind) for k, v in (("out_scale", 1.0), ("out_bias", 0.0))
    )
    return sum_of(product(number, scale), bias, 1)


def _away(array: Array) -> Any:
    return np.ceil(np.abs(array)) * np.sign(array)


def _half(up: bool) -> Callable[[Array], Any]:
    return lambda array: (
        np.sign(array) * (np.floor(np.abs(array) + 0.5) if up else np.ceil(np.abs(array) - 0.5))
    )


_ROUNDINGS: dict[str, Callable[[Array], Any]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ROUND_TO_ZERO": np.trunc,
    "DOWN": np.trunc,
    "UP": _away,
    "HALF_UP": _half(True),
    "HALF_DOWN": _half(False),
}


def _quantize(call: OpCall) -> Tensor:
    """QONNX's Quant: whole steps of a scale, between the ends that a number of bits has."""
    x, scale, zero, bits = given(call, 4)
    signed, narrow = bool(call.number("signed", 1)), bool(call.number("narrow", 0))
    mode = call.text("rounding_mode", "ROUND").upper()
    rounding = _ROUNDINGS.get(mode)
    width = float(bits.values.reshape(-1)[0]) if bits.values.size == 1 and not bits.data else 0.0
    if rounding is None or not 1 <= width <= 32 or width != int(width) or scale.data or zero.data:
        raise UncomparableError("it quantizes in a way that is not known.")
    high = 2 ** (int(width) - 1) - 1 if signed else 2 ** int(width) - 1 - narrow
    low = -(2 ** (int(width) - 1)) + narrow if signed else 0
    halves = mode == "ROUND" or mode.startswith("HALF")
    if not x.data:
        return _coded(x, scale, zero, low, high, rounding)
    place = sum_of(quotient(x, scale), zero, 1)
    step = np.asarray(rounding(np.clip(place.values, low, high)))
    error = np.zeros(())
    if not place.exact:
        ends = [
            np.asarray(rounding(np.clip(place.values + side * place.error, low, high))) for side in (-1, 1)
        ]
        error = np.maximum(ends[1] - step, step - ends[0])
    cut = np.floor(place.values) + 0.5 if halves else np.rint(place.values)
    reach = 0.5 if halves else 0.0
    call.count(place.values - np.clip(cut, low + reach, high - reach), step - low, place.error)
    level = Tensor(step, x.kind, error, x.data, x.data)
    return product(sum_of(level, zero, -1), scale)


def _coded(
    x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int, rounding: Callable[[Array], Any]
) -> Tensor:
    """Quantized numbers of the file: whole codes times a scale, not rounded to the file's floats."""
    wide, size, shift = np.broadcast_arrays(*(t.values.astype(np.float64) for t in (x, scale, zero)))
    place = wide / size + shift
    # a float cannot tell on which side of a half or a whole number it is when it is this near
    flat, doubles = place.reshape(-1).copy(), 2 * place.reshape(-1)
    for k in np.flatnonzero(np.abs(doubles - np.rint(doubles)) <= 1e-9 * (1 + np.abs(doubles))).tolist():
        ratio = Fraction(float(wide.flat[k])) / Fraction(float(size.flat[k]))
        whole, rest = divmod(ratio + Fraction(float(shift.flat[k])), 1)
        flat[k] = float(whole) + (
            float(rest) if rest in (0, Fraction(1, 2)) else 0.25 if rest < 0.5 else 0.75
        )
    codes = np.asarray(rounding(np.clip(flat.reshape(place.shape), low, high)))
    return Tensor((codes - shift) * size, x.kind, np.zeros(()), False)


def _round(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    found = rising(np.rint, 0)(call)
    if x.data:
        call.count(x.values - (np.floor(x.values) + 0.5), found.values, x.error, unbased=True)
    return Tensor(found.values, found.kind, found.error, found.data, found.data)


def _binarizer(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    apart = x.values - call.real("threshold", 0.0)
    if x.data:
        call.decide(apart, apart > 0, apart <= 0, x.error)
    error = np.where(_unsure(apart, x.error), 1.0, 0.0)
    return Tensor((apart > 0).astype(x.values.dtype), x.kind, error, x.data, x.data)


def _lce(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    return _bits(call, x, ~(x.values < 0))


DECISIONS: dict[str, Operator] = {
    "Binarizer": _binarizer,
    "BipolarQuant": _bipolar,
    "Equal": _compare,
    "Greater": _compare,
    "GreaterOrEqual": _compare,
    "IntQuant": _quantize,
    "LceQuantize": _lce,
    "Less": _compare,
    "LessOrEqual": _compare,
    "MultiThreshold": _steps,
    "Quant": _quantize,
    "Round": _round,
    "Sign": _sign,
}
"""By the name of the operator."""
