"""The integer operators: QLinearConv, QLinearMatMul, QGemm, QLinearAdd, averages, sums of 32 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.onnx.graph import Node
from sugenet.io.onnx.quantized.joins import adding, average, concat, global_average
from sugenet.io.onnx.quantized.numbers import (
    ends_of,
    floats_of,
    whole_of,
    word,
    zero_of,
)
from sugenet.io.onnx.quantized.quantizers import quantized
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.sums import convolved, dense, tensor_of
from sugenet.io.onnx.quantized.values import (
    FixedArray,
    FixedLevelArray,
    LevelArray,
    LevelTensor,
    PendingConcat,
    Value,
)
from sugenet.io.onnx.quantized.walk import ADVICE, Walk

__all__ = [
    "integer_product",
    "qgemm",
    "qlinear_add",
    "qlinear_average",
    "qlinear_concat",
    "qlinear_conv",
    "qlinear_matmul",
]


def _operand(given: list[Value | None], place: int) -> tuple[Value | None, QuantGrid]:
    """A whole tensor with the scale and zero point behind it."""
    value, scale = given[place], floats_of(given[place + 1]).reshape(-1)
    zero = given[place + 2] if len(given) > place + 2 else None
    if scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0:
        raise FileError(f"its scale {scale[:3]} must be one positive number.")
    if isinstance(value, LevelArray):
        found = zero_of(zero, value.kind)
        return LevelTensor.of(
            value, QuantGrid(scale[0], found, value.low, value.low + value.wire.top)
        ), QuantGrid(scale[0], found, value.low, value.low + value.wire.top)
    if isinstance(value, FixedArray):
        found = zero_of(zero, value.array.dtype)
        levels = FixedLevelArray(value.array.astype(np.int64), scale.astype(np.float32), np.array([found]), 0)
        return levels, QuantGrid(scale[0], found, *ends_of(value.array.dtype, value.width))
    raise FileError(f"its input {place} is {word(value)}, but whole numbers are needed.")


def _weights(given: list[Value | None], place: int, axis: int) -> FixedLevelArray:
    value, zero = given[place], given[place + 2] if len(given) > place + 2 else None
    if not isinstance(value, FixedArray) or value.array.dtype.kind not in "iu":
        raise FileError("its weights are no whole constants.")
    scale = floats_of(given[place + 1]).reshape(-1)
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise FileError("a scale of its weights is not positive.")
    zeros = np.zeros(1, np.int64) if zero is None else whole_of(zero).reshape(-1)
    kinds = {value.array.dtype} | ({zero.array.dtype} if isinstance(zero, FixedArray) else set())
    if len(kinds) > 1 or value.array.dtype.itemsize > 1:
        named = " and ".join(sorted(map(str, kinds)))
        raise FileError(
            f"its weights and their zero point are {named}, but int8 or uint8 is needed for both."
        )
    long = value.array.shape[axis] if value.array.ndim > axis else 0
    if scale.size not in (1, long) or zeros.size not in (1, long):
        raise FileError(
            f"it has {scale.size} scales and {zeros.size} zero points for weights of shape "
            f"{value.array.shape}. One for all, or one for each of {long} outputs."
        )
    return FixedLevelArray(value.array.astype(np.int64), scale, zeros, axis)


def _target(given: list[Value | None], place: int, kind: Any) -> tuple[QuantGrid, Any]:
    scale = floats_of(given[place]).reshape(-1)
    zero = given[place + 1] if len(given) > place + 1 else None
    if scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0:
        raise FileError(f"the scale of its output, {scale[:3]}, must be one positive number.")
    if isinstance(zero, FixedArray):
        kind = zero.array.dtype
    if np.dtype(kind).kind not in "iu" or np.dtype(kind).itemsize > 1:
        raise FileError(f"the zero point of its output is {kind}, but int8 or uint8 is needed.")
    return QuantGrid(scale[0], zero_of(zero, kind), *ends_of(kind)), kind


def _bias(value: Value | None, count: int) -> Ints:
    """A bias of 32 bits, one for each output."""
    found = whole_of(value).reshape(-1)
    if not isinstance(value, FixedArray) or value.array.dtype != np.int32 or found.size != count:
        raise FileError(f"its bias must be int32 with one number for each of {count} outputs.")
    return found


def qlinear_conv(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QLinearConv."""
    given = given + [None] * (9 - len(given))
    source, _ = _operand(given, 0)
    weights, tensor = _weights(given, 3, 0), tensor_of(source)
    bias = given[8]
    whole, scales = weights.whole, weights.scales(0)
    assert scales is not None
    added = np.zeros(len(whole), np.int64) if bias is None else _bias(bias, len(whole))
    linear = convolved(node, tensor, whole, scales, added, "", None)
    grid, kind = _target(given, 6, tensor.levels.kind)
    return quantized(walk, node, linear, grid, kind, node.outputs[0])


def qlinear_matmul(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QLinearMatMul."""
    source, _ = _operand(given, 0)
    tensor = tensor_of(source)
    linear = dense(node, tensor, _weights(given, 3, 1), None, transposed=False)
    grid, kind = _target(given, 6, tensor.levels.kind)
    return quantized(walk, node, linear, grid, kind, node.outputs[0])


def qgemm(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QGemm, whose sums wait where it has no quantizer."""
    given = given + [None] * (9 - len(given))
    source, _ = _operand(given, 0)
    tensor = tensor_of(source)
    if node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("transA", 0):
        raise FileError("its alpha is not 1, or it transposes its input.")
    transposed = bool(node.attributes.get("transB", 0))
    weights = _weights(given, 3, 0 if transposed else 1)
    linear = dense(node, tensor, weights, None, transposed=transposed)
    if given[6] is not None:
        linear = replace(linear, bias=_bias(given[6], len(linear.weights)))
    if given[7] is None:
        return linear
    grid, kind = _target(given, 7, tensor.levels.kind)
    return quantized(walk, node, linear, grid, kind, node.outputs[0])


def qlinear_add(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QLinearAdd."""
    left, _ = _operand(given, 0)
    right, _ = _operand(given, 3)
    value = adding(node, left, right)
    kind = next(v.levels.kind for v in (left, right) if isinstance(v, LevelTensor))
    grid, kind = _target(given, 6, kind)
    return quantized(walk, node, value, grid, kind, node.outputs[0])


def qlinear_average(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QLinearAveragePool and QLinearGlobalAveragePool."""
    source, _ = _operand(given, 0)
    if node.attributes.get("channels_last", 0):
        raise FileError(ADVICE["Transpose"] + ".")
    averaging = global_average if node.op == "QLinearGlobalAveragePool" else average
    value = averaging(walk, node, [source])
    tensor = tensor_of(source)
    grid, kind = _target(given, 3, tensor.levels.kind)
    return quantized(walk, node, value, grid, kind, node.outputs[0])


def qlinear_concat(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QLinearConcat."""
    parts = []
    for place in range(2, len(given), 3):
        parts.append(_operand(given, place)[0])
    value = concat(walk, node, list(parts))
    assert isinstance(value, PendingConcat)
    grid, kind = _target(given, 0, value.parts[0].levels.kind)
    return quantized(walk, node, value, grid, kind, node.outputs[0])


def integer_product(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """MatMulInteger and ConvInteger: the sums themselves, in 32 bits."""
    given = given + [None] * (4 - len(given))
    levels = given[0]
    if not isinstance(levels, LevelArray):
        raise FileError(f"its input is {word(levels)}, but whole numbers are needed.")
    grid = QuantGrid(1, zero_of(given[2], levels.kind), levels.low, levels.low + levels.wire.top)
    one = FixedArray(np.ones(1, np.float32))
    axis = 0 if node.op == "ConvInteger" else 1
    weights = _weights([given[1], one, given[3]], 0, axis)
    source = LevelTensor.of(levels, grid)
    if node.op == "MatMulInteger":
        linear = dense(node, source, weights, None, transposed=False)
    else:
        scales = np.ones(len(weights.q), np.float32)
        linear = convolved(node, source, weights.whole, scales, np.zeros(len(weights.q), np.int64), "", None)
    return replace(linear, op="sums")
