"""Elementwise operators with broadcasting, including signs, comparisons and quantizers.

The inputs and decisions of the latter are kept for the comparison layer by layer.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from math import erf
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.interpreter.tensors import (
    SINGLE,
    OpCall,
    Operator,
    Tensor,
    constant,
    floats,
    is_single,
    kind_of,
    made_of,
    monotone,
    of_tensors,
    operands,
    product,
    quotient,
    rising,
    sum_of,
)
from sugenet.io.plain.refusals import refuse_if

__all__ = ["POINTWISE"]


def _sum_all(call: OpCall) -> Tensor:
    first, *others = operands(call)
    for other in others:
        first = sum_of(first, other)
    if call.node.op == "Mean":
        return quotient(first, constant(np.asarray(len(call.inputs), first.values.dtype), first.kind))
    return first


def _extreme(choose: Callable[[Any, Any], Any]) -> Operator:
    return of_tensors(partial(monotone, lambda *arrays: reduce(choose, arrays)))


def _clip(call: OpCall) -> Tensor:
    x = call.tensor(0)
    call.made(x.shape)
    limits = []
    for index, name, choose in ((1, "min", np.maximum), (2, "max", np.minimum)):
        bound = call.optional(index)
        refuse_if(
            bound is not None and (bound.data or bound.values.size != 1 or bound.values.ndim > 1),
            f"its {name} is not a single number.",
        )
        end = call.node.attributes.get(name) if bound is None else bound.values.reshape(())
        if end is not None:
            limits.append((choose, np.asarray(end).astype(x.values.dtype)))
    return monotone(lambda array: reduce(lambda held, end: end[0](held, end[1]), limits, array), x)


def _erf(array: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(array).astype(array.dtype))


def _sigmoid(array: Array) -> Array:
    small = np.exp(-np.abs(array))
    return np.asarray(np.where(array >= 0, 1 / (1 + small), small / (1 + small)))


def _root(call: OpCall) -> Tensor:
    """Return a correctly rounded root, so that the root of a constant has no uncertainty."""
    (x,) = operands(call)
    if not x.data and x.exact:
        return constant(np.sqrt(x.values), x.kind)
    return rising(np.sqrt, 1.0)(call)


def _inverse(x: Tensor) -> Tensor:
    return quotient(constant(np.ones((), x.values.dtype), x.kind), x)


def _power(base: Tensor, exponent: Tensor) -> Tensor:
    if base.data and not exponent.data and exponent.values.size == 1 and exponent.values.item() in (2, 3, 4):
        power = base
        for _ in range(int(exponent.values.item()) - 1):
            power = product(power, base)
        return power
    refuse_if(base.data or exponent.data, "it takes powers of data.")
    result = np.power(base.values, exponent.values).astype(base.kind)
    refuse_if(not (base.exact and exponent.exact), "it takes powers of rounded numbers.")
    unit = 0.0 if base.kind.kind in "iu" else 8 * SINGLE
    return Tensor(result, base.kind, np.asarray(unit * np.abs(result)), False)


def _hard_sigmoid(call: OpCall) -> Tensor:
    (x,) = operands(call)
    alpha, beta = (np.asarray(call.real(name)) for name in ("alpha", "beta"))
    moved = sum_of(product(x, constant(alpha, x.kind)), constant(beta, x.kind))
    return made_of((x,), np.clip(moved.values, 0, 1), x.kind, moved.error)


def _leaky(call: OpCall) -> Tensor:
    x, *slopes = operands(call)
    low = product(x, slopes[0] if slopes else constant(np.asarray(call.real("alpha")), x.kind))
    values, error = np.where(x.values >= 0, x.values, low.values), np.maximum(x.error, low.error)
    return made_of((x, *slopes), values, x.kind, error)


def _identity(call: OpCall) -> Tensor:
    return call.tensor(0)


def _dropout(call: OpCall) -> Tensor:
    training = call.optional(2)
    refuse_if(training is not None and training.values.any(), "it drops values at random.")
    return call.tensor(0)


def _cast(call: OpCall) -> Tensor:
    x = call.tensor(0)
    call.made(x.shape)
    to = call.node.attributes.get("to", 0)
    refuse_if(to not in DTYPES, f"it casts to element type {to}.")
    kind = np.dtype(DTYPES[to]).newbyteorder("=")
    if kind.kind == "f":
        refuse_if(x.data and kind == np.float16, "it rounds data to float16.")
        narrow = x.data and x.kind == np.float64 and kind == np.float32
        lost = np.where(is_single(x.values), 0.0, SINGLE * np.abs(x.values)) if narrow else 0.0
        return made_of((x,), x.values.astype(np.float64 if x.data else kind), kind, x.error + lost)
    if kind.kind == "b":
        unsure = np.abs(x.values) <= x.error
        return made_of((x,), x.values != 0, kind, np.where(unsure & (x.error > 0), 1.0, 0.0))
    if x.kind.kind == "f":
        error = (
            np.zeros(())
            if x.exact
            else np.where(x.error > 0, np.trunc(x.values + x.error) - np.trunc(x.values - x.error), 0.0)
        )
        refuse_if(
            not np.isfinite(x.values).all() or np.abs(x.values).max(initial=0) >= 2.0**62,
            "it casts numbers that do not fit.",
        )
        return made_of((x,), np.trunc(x.values).astype(np.int64).astype(kind), kind, error)
    return made_of((x,), x.values.astype(kind), kind, x.error)


# -- booleans and choices ------------------------------------------------------------------------------------


def _logic(function: Callable[..., Any]) -> Operator:
    def run(*tensors: Tensor) -> Tensor:
        error = reduce(np.maximum, [tensor.error for tensor in tensors])
        return made_of(tensors, function(*(t.values for t in tensors)), np.dtype(bool), error)

    return of_tensors(run)


def _where(test: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    data = test.data or yes.data or no.data
    kind = kind_of((yes, no))
    a, b = (t.values.astype(np.float64) if data and kind.kind == "f" else t.values for t in (yes, no))
    error = np.where(test.values, yes.errors, no.errors) if not (yes.exact and no.exact) else np.zeros(())
    if not test.exact:
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64)) + yes.error + no.error
        error = np.where(test.errors > 0, apart, error)
    return made_of((test, yes, no), np.where(test.values, a, b), kind, error)


# -- decisions -----------------------------------------------------------------------------------------------


def _unsure(apart: Array, margin: Array) -> Array:
    """Return where a value at this distance from its threshold may be on the other side."""
    return np.asarray((np.abs(apart) <= margin) & (margin > 0))


def _decided(call: OpCall, seen: Tensor, values: Array, up: Array, down: Array, gap: float) -> Tensor:
    """Return values that depend on the side of 0; `gap` is their difference."""
    if seen.data:
        call.decide(seen.values, up, down, seen.error)
    error = np.where(_unsure(seen.values, seen.error), gap, 0.0)
    return Tensor(values, seen.kind, error, seen.data, seen.data)


def _bits(call: OpCall, x: Tensor, up: Array) -> Tensor:
    """Return +1 where the data are up, -1 elsewhere."""
    return _decided(call, x, np.where(up, 1.0, -1.0).astype(x.values.dtype), up, ~up, 2.0)


def _sign(call: OpCall) -> Tensor:
    (x,) = operands(call)
    return _decided(call, x, np.sign(x.values), x.values > 0, x.values < 0, 2.0)


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}


def _compare(call: OpCall) -> Tensor:
    left, right = operands(call)
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    holds = np.asarray(_TESTS[call.node.op](a, b))
    if a.dtype.kind == "b" or b.dtype.kind == "b":
        return made_of((left, right), holds, np.dtype(bool), np.maximum(left.error, right.error))
    with np.errstate(invalid="ignore"):
        apart = a.astype(np.float64) - b.astype(np.float64)
    margin = np.asarray(left.error + right.error)
    if data and call.node.op != "Equal":
        up = holds if call.node.op.startswith("Greater") else ~holds
        call.decide(apart, up, ~up, margin)
    return Tensor(holds, np.dtype(bool), np.where(_unsure(apart, margin), 1.0, 0.0), data, data)


def _bipolar(call: OpCall) -> Tensor:
    x, scale = operands(call)
    return product(_bits(call, x, x.values >= 0), scale)


def _steps(call: OpCall) -> Tensor:
    """Apply MultiThreshold: count the thresholds of its channel that each value reaches."""
    x, rows = call.tensor(0), call.tensor(1)
    refuse_if(
        rows.data or rows.values.ndim != 2 or x.values.ndim < 2 or len(call.inputs) != 2,
        "its thresholds are not a matrix of the file, or its data have no channels.",
    )
    last = call["data_layout"].upper().endswith("C") and x.values.ndim > 2
    axis = x.values.ndim - 1 if last else 1
    refuse_if(
        len(rows.values) not in (1, x.shape[axis]),
        f"it has thresholds for {len(rows.values)} of {x.shape[axis]} channels.",
    )
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
    scale, bias = (constant(np.asarray(call.real(name)), number.kind) for name in ("out_scale", "out_bias"))
    return sum_of(product(number, scale), bias)


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
    """Apply QONNX's Quant: integer multiples of a scale, within the range of a number of bits."""
    x, scale, zero, bits = operands(call)
    signed, narrow = bool(call["signed"]), bool(call["narrow"])
    mode = call["rounding_mode"].upper()
    rounding = _ROUNDINGS.get(mode)
    width = float(bits.values.reshape(-1)[0]) if bits.values.size == 1 and not bits.data else 0.0
    if rounding is None or not 1 <= width <= 32 or width != int(width) or scale.data or zero.data:
        raise FileError("it quantizes in a way that is not known.")
    if width == 1 and signed:  # QONNX's program makes a sign of one signed bit
        refuse_if(zero.values.any(), "it has a sign with a zero point.")
        return product(_bits(call, x, x.values >= 0), scale)
    high = 2 ** (int(width) - 1) - 1 if signed else 2 ** int(width) - 1 - narrow
    low = -(2 ** (int(width) - 1)) + narrow if signed else 0
    halves = mode == "ROUND" or mode.startswith("HALF")
    if not x.data:
        return _coded(x, scale, zero, low, high, rounding)
    index = sum_of(quotient(x, scale), zero)
    step = np.asarray(rounding(np.clip(index.values, low, high)))
    error = np.zeros(())
    if not index.exact:
        ends = [
            np.asarray(rounding(np.clip(index.values + side * index.error, low, high))) for side in (-1, 1)
        ]
        error = np.maximum(ends[1] - step, step - ends[0])
    edge = np.floor(index.values) + 0.5 if halves else np.rint(index.values)
    reach = 0.5 if halves else 0.0
    call.count(index.values - np.clip(edge, low + reach, high - reach), step - low, index.error)
    level = Tensor(step, x.kind, error, x.data, x.data)
    return product(sum_of(level, zero, -1), scale)


def _coded(
    x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int, rounding: Callable[[Array], Any]
) -> Tensor:
    """Return quantized numbers of the file: integer codes times a scale, not rounded to the file's floats."""
    wide, size, shift = np.broadcast_arrays(*(t.values.astype(np.float64) for t in (x, scale, zero)))
    index = wide / size + shift
    # a float this near cannot tell on which side of a half or an integer it is
    flat, doubles = index.reshape(-1).copy(), 2 * index.reshape(-1)
    for k in np.flatnonzero(np.abs(doubles - np.rint(doubles)) <= 1e-9 * (1 + np.abs(doubles))).tolist():
        ratio = Fraction(float(wide.flat[k])) / Fraction(float(size.flat[k]))
        integer, rest = divmod(ratio + Fraction(float(shift.flat[k])), 1)
        flat[k] = float(integer) + (
            float(rest) if rest in (0, Fraction(1, 2)) else 0.25 if rest < 0.5 else 0.75
        )
    codes = np.asarray(rounding(np.clip(flat.reshape(index.shape), low, high)))
    return Tensor((codes - shift) * size, x.kind, np.zeros(()), False)


def _round(call: OpCall) -> Tensor:
    (x,) = operands(call)
    rounded = rising(np.rint, 0)(call)
    if x.data:
        call.count(x.values - (np.floor(x.values) + 0.5), rounded.values, x.error, unbased=True)
    return Tensor(rounded.values, rounded.kind, rounded.error, rounded.data, rounded.data)


def _binarizer(call: OpCall) -> Tensor:
    (x,) = operands(call)
    apart = replace(x, values=x.values - call.real("threshold"))
    up = apart.values > 0
    return _decided(call, apart, up.astype(x.values.dtype), up, ~up, 1.0)


def _lce(call: OpCall) -> Tensor:
    (x,) = operands(call)
    return _bits(call, x, ~(x.values < 0))


_DECISIONS: dict[str, Operator] = {
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

POINTWISE: dict[str, Operator] = {
    **_DECISIONS,
    "Abs": of_tensors(lambda x: made_of((x,), np.abs(x.values), x.kind, x.error)),
    "Add": of_tensors(sum_of),
    "And": _logic(np.logical_and),
    "Asinh": rising(np.arcsinh),
    "Atan": rising(np.arctan),
    "Cast": _cast,
    "Ceil": rising(np.ceil, 0),
    "Clip": _clip,
    "Div": of_tensors(quotient),
    "Dropout": _dropout,
    "Erf": rising(_erf),
    "Exp": rising(np.exp),
    "Floor": rising(np.floor, 0),
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "LceDequantize": _identity,
    "LeakyRelu": _leaky,
    "Log": rising(np.log),
    "Max": _extreme(np.maximum),
    "Mean": _sum_all,
    "Min": _extreme(np.minimum),
    "Mul": of_tensors(product),
    "Neg": of_tensors(lambda x: made_of((x,), -x.values, x.kind, x.error)),
    "Not": _logic(np.logical_not),
    "Or": _logic(np.logical_or),
    "PRelu": _leaky,
    "Pow": of_tensors(_power),
    "Reciprocal": of_tensors(_inverse),
    "Relu": rising(lambda x: np.maximum(x, np.zeros((), x.dtype)), 0),
    "Rsqrt": lambda call: _inverse(_root(call)),
    "Sigmoid": rising(_sigmoid),
    "Sinh": rising(np.sinh),
    "Softsign": rising(lambda x: x / (1 + np.abs(x))),
    "Sqrt": _root,
    "Sub": of_tensors(lambda left, right: sum_of(left, right, -1)),
    "Sum": _sum_all,
    "Tanh": rising(np.tanh),
    "Where": of_tensors(_where),
    "Xor": _logic(np.logical_xor),
}
"""By the name of the operator."""
