"""Operators that treat every element alike, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import erf
from typing import Any

import numpy as np

from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.judge.arithmetic import (
    Operator,
    floats,
    given,
    kind_of,
    product,
    quotient,
    rising,
    sum_of,
)
from sugenet.io.onnx.judge.decisions import DECISIONS
from sugenet.io.onnx.judge.tensors import (
    SINGLE,
    OpCall,
    Tensor,
    UncomparableError,
    constant,
    is_single,
    made_of,
)

__all__ = ["POINTWISE"]


def _add(call: OpCall) -> Tensor:
    left, right = given(call, 2)
    return sum_of(left, right, -1 if call.node.op == "Sub" else 1)


def _multiply(call: OpCall) -> Tensor:
    return product(*given(call, 2))


def _divide(call: OpCall) -> Tensor:
    return quotient(*given(call, 2))


def _sum_all(call: OpCall) -> Tensor:
    first, *others = given(call)
    for other in others:
        first = sum_of(first, other, 1)
    if call.node.op == "Mean":
        return quotient(first, constant(np.asarray(len(call.inputs), first.values.dtype), first.kind))
    return first


def _extreme(call: OpCall) -> Tensor:
    tensors = given(call)
    data = any(tensor.data for tensor in tensors)
    choose = np.maximum if call.node.op == "Max" else np.minimum
    ends = [np.asarray(floats(tensors[0], data) + side * tensors[0].error) for side in (-1, 1)]
    values = floats(tensors[0], data)
    for tensor in tensors[1:]:
        more = floats(tensor, data)
        values, ends = (
            choose(values, more),
            [choose(end, more + side * tensor.error) for end, side in zip(ends, (-1, 1), strict=True)],
        )
    error = (
        np.zeros(())
        if all(tensor.exact for tensor in tensors)
        else np.maximum(ends[1] - values, values - ends[0])
    )
    return made_of(tensors, values, kind_of(tensors), error)


def _clip(call: OpCall) -> Tensor:
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
    return made_of(
        (x,), values, x.kind, np.zeros(()) if x.exact else np.maximum(ends[1] - values, values - ends[0])
    )


def _linear_map(factor: int) -> Operator:
    def run(call: OpCall) -> Tensor:
        (x,) = given(call, 1)
        return made_of((x,), np.abs(x.values) if factor == 0 else -x.values, x.kind, x.error)

    return run


def _erf(array: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(array).astype(array.dtype))


def _sigmoid(array: Array) -> Array:
    small = np.exp(-np.abs(array))
    return np.asarray(np.where(array >= 0, 1 / (1 + small), small / (1 + small)))


def _root(call: OpCall) -> Tensor:
    """Correctly rounded, so that of a constant nothing is uncertain."""
    (x,) = given(call, 1)
    if not x.data and x.exact:
        return constant(np.sqrt(x.values), x.kind)
    return rising(np.sqrt, 1.0)(call)


def _inverse(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    return quotient(constant(np.ones((), x.values.dtype), x.kind), x)


def _rsqrt(call: OpCall) -> Tensor:
    root = _root(call)
    return quotient(constant(np.ones((), root.values.dtype), root.kind), root)


def _power(call: OpCall) -> Tensor:
    base, exponent = given(call, 2)
    if base.data or exponent.data:
        raise UncomparableError("it takes powers of data.")
    result = np.power(base.values, exponent.values).astype(base.kind)
    if not (base.exact and exponent.exact):
        raise UncomparableError("it takes powers of rounded numbers.")
    unit = 0.0 if base.kind.kind in "iu" else 8 * SINGLE
    return Tensor(result, base.kind, np.asarray(unit * np.abs(result)), False)


def _hard_sigmoid(call: OpCall) -> Tensor:
    (x,) = given(call, 1)
    alpha, beta = (np.asarray(call.real(name, default)) for name, default in (("alpha", 0.2), ("beta", 0.5)))
    moved = sum_of(product(x, constant(alpha, x.kind)), constant(beta, x.kind), 1)
    return made_of((x,), np.clip(moved.values, 0, 1), x.kind, moved.error)


def _identity(call: OpCall) -> Tensor:
    return call.tensor(0)


def _dropout(call: OpCall) -> Tensor:
    call.attribute("ratio"), call.attribute("seed")  # how much would be dropped in training
    training = call.optional(2)
    if training is not None and training.values.any():
        raise UncomparableError("it drops values at random.")
    return call.tensor(0)


def _cast(call: OpCall) -> Tensor:
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
        error = (
            np.zeros(())
            if x.exact
            else np.where(x.error > 0, np.trunc(x.values + x.error) - np.trunc(x.values - x.error), 0.0)
        )
        if not np.isfinite(x.values).all() or np.abs(x.values).max(initial=0) >= 2.0**62:
            raise UncomparableError("it casts numbers that do not fit.")
        return made_of((x,), np.trunc(x.values).astype(np.int64).astype(kind), kind, error)
    return made_of((x,), x.values.astype(kind), kind, x.error)


# -- booleans and choices ------------------------------------------------------------------------------------


def _logic(function: Callable[..., Any], count: int) -> Operator:
    def run(call: OpCall) -> Tensor:
        tensors = given(call, count)
        error = reduce(np.maximum, [tensor.error for tensor in tensors])
        return made_of(tensors, function(*(t.values for t in tensors)), np.dtype(bool), error)

    return run


def _where(call: OpCall) -> Tensor:
    test, yes, no = given(call, 3)
    data = test.data or yes.data or no.data
    kind = kind_of((yes, no))
    a, b = (t.values.astype(np.float64) if data and kind.kind == "f" else t.values for t in (yes, no))
    error = np.where(test.values, yes.errors, no.errors) if not (yes.exact and no.exact) else np.zeros(())
    if not test.exact:
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64)) + yes.error + no.error
        error = np.where(test.errors > 0, apart, error)
    return made_of((test, yes, no), np.where(test.values, a, b), kind, error)


POINTWISE: dict[str, Operator] = {
    **DECISIONS,
    "Abs": _linear_map(0),
    "Add": _add,
    "And": _logic(np.logical_and, 2),
    "Asinh": rising(np.arcsinh),
    "Atan": rising(np.arctan),
    "Cast": _cast,
    "Ceil": rising(np.ceil, 0),
    "Clip": _clip,
    "Div": _divide,
    "Dropout": _dropout,
    "Erf": rising(_erf),
    "Exp": rising(np.exp),
    "Floor": rising(np.floor, 0),
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "LceDequantize": _identity,
    "Log": rising(np.log),
    "Max": _extreme,
    "Mean": _sum_all,
    "Min": _extreme,
    "Mul": _multiply,
    "Neg": _linear_map(-1),
    "Not": _logic(np.logical_not, 1),
    "Or": _logic(np.logical_or, 2),
    "Pow": _power,
    "Reciprocal": _inverse,
    "Relu": rising(lambda x: np.maximum(x, np.zeros((), x.dtype)), 0),
    "Rsqrt": _rsqrt,
    "Sigmoid": rising(_sigmoid),
    "Sinh": rising(np.sinh),
    "Softsign": rising(lambda x: x / (1 + np.abs(x))),
    "Sqrt": _root,
    "Sub": _add,
    "Sum": _sum_all,
    "Tanh": rising(np.tanh),
    "Where": _where,
    "Xor": _logic(np.logical_xor, 2),
}
"""By the name of the operator."""
