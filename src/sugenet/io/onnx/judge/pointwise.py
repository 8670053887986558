"""Operators that treat every element alike, with broadcasting, and those that decide: signs, comparisons and quantizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.judge.tensors import ROUND, SINGLE, Call, Tensor, UncomparableError, constant, is_single, made_of

__all__ = ["POINTWISE"]

_Operator: TypeAlias = Callable[[Call], Tensor]


def _given(call: Call, most: int | None = None) -> list[Tensor]:
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


def _floats(tensor: Tensor, data: bool) -> Array:
    """The values as the operator computes with them: floats beside data in float64."""
    return tensor.values.astype(np.float64, copy=False) if data and tensor.kind.kind == "f" else tensor.values


def _rounding(tensors: Sequence[Tensor], result: Array, exactly: Array | bool, kind: np.dtype[Any]) -> Array:
    """What one rounded operation adds to the bound.

    Constants are computed in their own kind, correctly rounded as the file's. Data are computed in float64; values that stem from signs
    may have been worked out in the file's float32.
    """
    if not any(tensor.data for tensor in tensors) or kind.kind != "f":
        return np.zeros(())
    if kind == np.float32 and all(tensor.signs for tensor in tensors if tensor.data):
        fine = exactly & is_single(result)
        if all(tensor.exact for tensor in tensors) and np.all(fine):
            return np.zeros(())
        return SINGLE * np.abs(result)
    return np.zeros(()) if np.all(exactly) else np.where(exactly, 0.0, ROUND * np.abs(result))


def _kind(tensors: Sequence[Tensor]) -> np.dtype[Any]:
    return next((tensor.kind for tensor in tensors if tensor.data), tensors[0].kind)


def _sum_of(left: Tensor, right: Tensor, sign: int) -> Tensor:
    data = left.data or right.data
    a, b = _floats(left, data), _floats(right, data)
    result = np.asarray(a + b if sign > 0 else a - b)
    kind = _kind((left, right))
    if kind.kind != "f":
        return made_of((left, right), result, kind, left.error + right.error)
    b = b if sign > 0 else -b
    part = result - a
    lost = (a - (result - part)) + (b - part)
    return made_of((left, right), result, kind, left.error + right.error + _rounding((left, right), result, lost == 0, kind))


def _add(call: Call) -> Tensor:
    left, right = _given(call, 2)
    return _sum_of(left, right, -1 if call.node.op == "Sub" else 1)


def _multiply(call: Call) -> Tensor:
    left, right = _given(call, 2)
    return _product(left, right)


def _product(left: Tensor, right: Tensor) -> Tensor:
    data = left.data or right.data
    a, b = _floats(left, data), _floats(right, data)
    result, kind = np.asarray(a * b), _kind((left, right))
    error = np.abs(a) * right.error + np.abs(b) * left.error + left.error * right.error
    if kind.kind == "f":
        error = error + _rounding((left, right), result, is_single(a) & is_single(b), kind)
    return made_of((left, right), result, kind, error)


def _quotient(left: Tensor, right: Tensor) -> Tensor:
    data = left.data or right.data
    a, b = _floats(left, data), _floats(right, data)
    kind = _kind((left, right))
    if kind.kind in "iu":
        if not np.all(b):
            raise UncomparableError("it divides whole numbers by zero.")
        if not (left.exact and right.exact):
            raise UncomparableError("it divides whole numbers that are not certain.")
        return made_of((left, right), (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(kind), kind, np.zeros(()))
    result = np.asarray(a / b)
    room = np.abs(b) - right.error
    spread = np.where(room > 0, (left.error + np.abs(result) * right.error) / np.where(room > 0, room, 1), np.inf)
    exactly = is_single(result) & is_single(b) & (result * b == a)
    error = np.zeros(()) if left.exact and right.exact else spread
    return made_of((left, right), result, kind, error + _rounding((left, right), result, exactly, kind))


def _divide(call: Call) -> Tensor:
    left, right = _given(call, 2)
    return _quotient(left, right)


def _sum_all(call: Call) -> Tensor:
    first, *others = _given(call)
    for other in others:
        first = _sum_of(first, other, 1)
    if call.node.op == "Mean":
        count = constant(np.asarray(len(call.inputs), first.values.dtype), first.kind)
        return _quotient(first, count)
    return first


def _extreme(call: Call) -> Tensor:
    tensors = _given(call)
    data = any(tensor.data for tensor in tensors)
    choose = np.maximum if call.node.op == "Max" else np.minimum
    ends = [np.asarray(_floats(tensors[0], data) + side * tensors[0].error) for side in (-1, 1)]
    values = _floats(tensors[0], data)
    for tensor in tensors[1:]:
        more = _floats(tensor, data)
        values, ends = choose(values, more), [choose(end, more + side * tensor.error) for end, side in zip(ends, (-1, 1), strict=True)]
    error = np.zeros(()) if all(tensor.exact for tensor in tensors) else np.maximum(ends[1] - values, values - ends[0])
    return made_of(tensors, values, _kind(tensors), error)


def _clip(call: Call) -> Tensor:
    x = call.tensor(0)
    call.made(x.shape)
    values: Any = x.values
    ends: list[Any] = [values + side * x.error for side in (-1, 1)]
    for place, name, choose in ((1, "min", np.maximum), (2, "max", np.minimum)):
        bound = call.optional(place)
        if bound is not None and (bound.data or bound.values.size != 1 or bound.values.ndim > 1):
            raise UncomparableError(f"its {name} is no single number.")
        end = call.attribute(name) if bound is None else bound.values.reshape(())
        if end is not None:
            limit = np.asarray(end).astype(values.dtype)
            values, ends = choose(values, limit), [choose(side, limit) for side in ends]
    return made_of((x,), values, x.kind, np.zeros(()) if x.exact else np.maximum(ends[1] - values, values - ends[0]))


def _linear_map(factor: int) -> _Operator:
    def run(call: Call) -> Tensor:
        (x,) = _given(call, 1)
        return made_of((x,), np.abs(x.values) if factor == 0 else -x.values, x.kind, x.error)

    return run


def _rising(function: Callable[[Array], Any], roundings: float = 8.0) -> _Operator:
    """A function that never falls: its values at both ends of what x may be bound it."""

    def run(call: Call) -> Tensor:
        (x,) = _given(call, 1)
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


def _erf(array: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(array).astype(array.dtype))


def _sigmoid(array: Array) -> Array:
    small = np.exp(-np.abs(array))
    return np.asarray(np.where(array >= 0, 1 / (1 + small), small / (1 + small)))


def _root(call: Call) -> Tensor:
    """Correctly rounded, so that of a constant nothing is uncertain."""
    (x,) = _given(call, 1)
    if not x.data and x.exact:
        return constant(np.sqrt(x.values), x.kind)
    return _rising(np.sqrt, 1.0)(call)


def _inverse(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    return _quotient(constant(np.ones((), x.values.dtype), x.kind), x)


def _rsqrt(call: Call) -> Tensor:
    root = _root(call)
    return _quotient(constant(np.ones((), root.values.dtype), root.kind), root)


def _power(call: Call) -> Tensor:
    base, exponent = _given(call, 2)
    if base.data or exponent.data:
        raise UncomparableError("it takes powers of data.")
    result = np.power(base.values, exponent.values).astype(base.kind)
    if not (base.exact and exponent.exact):
        raise UncomparableError("it takes powers of rounded numbers.")
    unit = 0.0 if base.kind.kind in "iu" else 8 * SINGLE
    return Tensor(result, base.kind, np.asarray(unit * np.abs(result)), False)


def _hard_sigmoid(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    alpha, beta = (np.asarray(call.real(name, default)) for name, default in (("alpha", 0.2), ("beta", 0.5)))
    scaled = _product(x, constant(alpha, x.kind))
    moved = _sum_of(scaled, constant(beta, x.kind), 1)
    return made_of((x,), np.clip(moved.values, 0, 1), x.kind, moved.error)


def _identity(call: Call) -> Tensor:
    return call.tensor(0)


def _dropout(call: Call) -> Tensor:
    call.attribute("ratio"), call.attribute("seed")  # how much would be dropped in training
    training = call.optional(2)
    if training is not None and training.values.any():
        raise UncomparableError("it drops values at random.")
    return call.tensor(0)


def _cast(call: Call) -> Tensor:
    x = call.tensor(0)
    call.made(x.shape)
    call.attribute("saturate"), call.attribute("round_mode")  # of 8-bit floats
    to = call.number("to", -1)
    if to not in DTYPES:
        raise UncomparableError(f"it casts to element type {to}.")
    kind = np.dtype(DTYPES[to]).newbyteorder("=")
    if kind.kind == "f":
        if x.data and kind == np.float16:
            raise UncomparableError("it rounds data to float16.")
        narrow = x.data and x.kind == np.float64 and kind == np.float32
        lost = np.where(is_single(x.values), 0.0, SINGLE * np.abs(x.values)) if narrow else 0.0
        return made_of((x,), x.values.astype(np.float64 if x.data else kind), kind, x.error + lost)
    if kind.kind == "b":
        unsure = np.abs(x.values) <= x.error
        return made_of((x,), x.values != 0, kind, np.where(unsure & (x.error > 0), 1.0, 0.0))
    if x.kind.kind == "f":
        error = np.zeros(()) if x.exact else np.where(x.error > 0, np.trunc(x.values + x.error) - np.trunc(x.values - x.error), 0.0)
        if not np.isfinite(x.values).all() or np.abs(x.values).max(initial=0) >= 2.0**62:
            raise UncomparableError("it casts numbers that do not fit.")
        return made_of((x,), np.trunc(x.values).astype(np.int64).astype(kind), kind, error)
    return made_of((x,), x.values.astype(kind), kind, x.error)


# -- booleans and choices --------------------------------------------------------------------------------------------------------


def _logic(function: Callable[..., Any], count: int) -> _Operator:
    def run(call: Call) -> Tensor:
        tensors = _given(call, count)
        error: Any = np.zeros(())
        for tensor in tensors:
            error = np.maximum(error, tensor.error)
        return made_of(tensors, function(*(t.values for t in tensors)), np.dtype(bool), error)

    return run


def _where(call: Call) -> Tensor:
    test, yes, no = _given(call, 3)
    data = test.data or yes.data or no.data
    kind = _kind((yes, no))
    a, b = (t.values.astype(np.float64) if data and kind.kind == "f" else t.values for t in (yes, no))
    error = np.where(test.values, yes.errors, no.errors) if not (yes.exact and no.exact) else np.zeros(())
    if not test.exact:
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64)) + yes.error + no.error
        error = np.where(test.errors > 0, apart, error)
    return made_of((test, yes, no), np.where(test.values, a, b), kind, error)


# -- decisions -------------------------------------------------------------------------------------------------------------------


def _sign(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    unsure = (np.abs(x.values) <= x.error) & (x.error > 0)
    if x.data:
        call.decide(x.values, x.values > 0, x.values < 0, x.error)
    return Tensor(np.sign(x.values), x.kind, np.where(unsure, 2.0, 0.0), x.data, x.data)


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}


def _compare(call: Call) -> Tensor:
    left, right = _given(call, 2)
    data = left.data or right.data
    a, b = _floats(left, data), _floats(right, data)
    found = np.asarray(_TESTS[call.node.op](a, b))
    if a.dtype.kind == "b" or b.dtype.kind == "b":
        return made_of((left, right), found, np.dtype(bool), np.maximum(left.error, right.error))
    with np.errstate(invalid="ignore"):
        apart = a.astype(np.float64) - b.astype(np.float64)
    margin = np.asarray(left.error + right.error)
    unsure = (np.abs(apart) <= margin) & (margin > 0)
    if data and call.node.op != "Equal":
        up = found if call.node.op.startswith("Greater") else ~found
        call.decide(apart, up, ~up, margin)
    return Tensor(found, np.dtype(bool), np.where(unsure, 1.0, 0.0), data, data)


def _bipolar(call: Call) -> Tensor:
    x, scale = _given(call, 2)
    up = x.values >= 0
    if x.data:
        call.decide(x.values, up, ~up, x.error)
    unsure = (np.abs(x.values) <= x.error) & (x.error > 0)
    sign = Tensor(np.where(up, 1.0, -1.0).astype(x.values.dtype), x.kind, np.where(unsure, 2.0, 0.0), x.data, x.data)
    return _product(sign, scale)


def _steps(call: Call) -> Tensor:
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
    count, unsure = np.zeros(x.shape), np.zeros(x.shape)
    for column in rows.values.T:
        apart = x.values - column.reshape(shape).astype(np.float64)
        count += apart >= 0
        unsure += (np.abs(apart) <= x.error) & (x.error > 0)
        if x.data:
            call.decide(apart, apart >= 0, apart < 0, x.error)
    number = Tensor(count, np.dtype(np.float32), unsure, x.data, x.data)
    scale, bias = (constant(np.asarray(call.real(k, v)), number.kind) for k, v in (("out_scale", 1.0), ("out_bias", 0.0)))
    return _sum_of(_product(number, scale), bias, 1)


def _away(array: Array) -> Any:
    return np.ceil(np.abs(array)) * np.sign(array)


def _half(up: bool) -> Callable[[Array], Any]:
    return lambda array: np.sign(array) * (np.floor(np.abs(array) + 0.5) if up else np.ceil(np.abs(array) - 0.5))


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


def _quantize(call: Call) -> Tensor:
    """QONNX's Quant: whole steps of a scale, between the ends that a number of bits has."""
    x, scale, zero, bits = _given(call, 4)
    signed, narrow = bool(call.number("signed", 1)), bool(call.number("narrow", 0))
    rounding = _ROUNDINGS.get(call.text("rounding_mode", "ROUND").upper())
    width = float(bits.values.reshape(-1)[0]) if bits.values.size == 1 and not bits.data else 0.0
    if rounding is None or not 1 <= width <= 32 or width != int(width) or scale.data or zero.data:
        raise UncomparableError("it quantizes in a way that is not known.")
    high = 2 ** (int(width) - 1) - 1 if signed else 2 ** int(width) - 1 - narrow
    low = -(2 ** (int(width) - 1)) + narrow if signed else 0
    place = _sum_of(_quotient(x, scale), zero, 1)
    inside = np.clip(place.values, low, high)
    step = np.asarray(rounding(inside))
    error = np.zeros(())
    if not place.exact:
        ends = [np.asarray(rounding(np.clip(place.values + side * place.error, low, high))) for side in (-1, 1)]
        error = np.maximum(ends[1] - step, step - ends[0])
    if x.data and high - low == 1:
        middle = low + 0.5
        call.decide(place.values - middle, step == high, step == low, place.error)
    level = Tensor(step, x.kind, error, x.data, x.data)
    return _product(_sum_of(level, zero, -1), scale)


def _round(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    found = _rising(np.rint, 0)(call)
    levels = np.unique(found.values) if x.data else np.zeros(0)
    if len(levels) == 2 and levels[1] - levels[0] == 1:
        call.decide(x.values - levels.mean(), found.values == levels[1], found.values == levels[0], x.error)
    return Tensor(found.values, found.kind, found.error, found.data, found.data)


def _binarizer(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    apart = x.values - call.real("threshold", 0.0)
    if x.data:
        call.decide(apart, apart > 0, apart <= 0, x.error)
    unsure = (np.abs(apart) <= x.error) & (x.error > 0)
    return Tensor((apart > 0).astype(x.values.dtype), x.kind, np.where(unsure, 1.0, 0.0), x.data, x.data)


def _lce(call: Call) -> Tensor:
    (x,) = _given(call, 1)
    up = ~(x.values < 0)
    if x.data:
        call.decide(x.values, up, ~up, x.error)
    unsure = (np.abs(x.values) <= x.error) & (x.error > 0)
    return Tensor(np.where(up, 1.0, -1.0).astype(x.values.dtype), x.kind, np.where(unsure, 2.0, 0.0), x.data, x.data)


POINTWISE: dict[str, _Operator] = {
    "Abs": _linear_map(0),
    "Add": _add,
    "And": _logic(np.logical_and, 2),
    "Asinh": _rising(np.arcsinh),
    "Atan": _rising(np.arctan),
    "Binarizer": _binarizer,
    "BipolarQuant": _bipolar,
    "Cast": _cast,
    "Ceil": _rising(np.ceil, 0),
    "Clip": _clip,
    "Div": _divide,
    "Dropout": _dropout,
    "Equal": _compare,
    "Erf": _rising(_erf),
    "Exp": _rising(np.exp),
    "Floor": _rising(np.floor, 0),
    "Greater": _compare,
    "GreaterOrEqual": _compare,
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "IntQuant": _quantize,
    "LceDequantize": _identity,
    "LceQuantize": _lce,
    "Less": _compare,
    "LessOrEqual": _compare,
    "Log": _rising(np.log),
    "Max": _extreme,
    "Mean": _sum_all,
    "Min": _extreme,
    "Mul": _multiply,
    "MultiThreshold": _steps,
    "Neg": _linear_map(-1),
    "Not": _logic(np.logical_not, 1),
    "Or": _logic(np.logical_or, 2),
    "Pow": _power,
    "Quant": _quantize,
    "Reciprocal": _inverse,
    "Relu": _rising(lambda x: np.maximum(x, np.zeros((), x.dtype)), 0),
    "Round": _round,
    "Rsqrt": _rsqrt,
    "Sigmoid": _rising(_sigmoid),
    "Sign": _sign,
    "Sinh": _rising(np.sinh),
    "Softsign": _rising(lambda x: x / (1 + np.abs(x))),
    "Sqrt": _root,
    "Sub": _add,
    "Sum": _sum_all,
    "Tanh": _rising(np.tanh),
    "Where": _where,
    "Xor": _logic(np.logical_xor, 2),
}
"""By the name of the operator."""
