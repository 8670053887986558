"""Read integer networks in ONNX files, as `onnxruntime.quantization` writes them. Both formats are supported:
QuantizeLinear and DequantizeLinear around float operators (QDQ), and integer operators (QLinearConv, QGemm,
MatMulInteger, ...).

The graph is processed once, in order. Every tensor of integers becomes a wire of levels. Every quantizer
becomes the steps of a staircase, computed with the arithmetic of ONNX Runtime (see `runtime`). Parts that
ONNX Runtime computes in floats, in an undefined order of additions, are refused by name. With
``strict=False`` they are read in exact numbers.
"""

from dataclasses import replace
from math import inf, prod
from typing import Any

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.integers import remapped
from sugenet.io.onnx.flow import OPEN_BATCH
from sugenet.io.onnx.graph import Graph, Node
from sugenet.io.onnx.operators import axis_within, rearrangement
from sugenet.io.onnx.quantized import sums
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.sums import (
    adding,
    biased,
    convolved,
    dense,
    quantized,
    tensor_of,
)
from sugenet.io.onnx.quantized.values import (
    DequantizedTensor,
    FixedArray,
    FixedLevelArray,
    LevelArray,
    LevelTensor,
    Pending,
    PendingConcat,
    PendingSum,
    QuantTail,
    RawInput,
    Value,
    clip_to,
    ends_of,
    floats_of,
    integer_levels,
    integers_of,
    number_of,
    rising,
    row_of,
    word,
    zero_of,
)
from sugenet.io.onnx.quantized.walk import ADVICE, IntegerProgram, Rule, Walk
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn.arrays import Ints

__all__ = ["is_quantized", "read_program"]

# -- value by value ----


def _clipped(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Relu and Clip."""
    low, high = 0.0, inf
    if node.op == "Clip":
        ends = [inputs[k] if k < len(inputs) else None for k in (1, 2)]
        low, high = (
            float(node.attributes.get(name, default)) if end is None else float(number_of(end))
            for name, end, default in (("min", ends[0], -inf), ("max", ends[1], inf))
        )
    value = inputs[0]
    if isinstance(value, LevelTensor):
        table = clip_to(value.table, ((low, high),))
        return LevelTensor(value.name, value.wire, value.low, value.kind, value.shape, table)
    if isinstance(value, LevelArray):
        table = np.clip(value.values, low, high).astype(np.int64) - value.low
        name = node.outputs[0]
        walk.operations.append(remapped(value.wire, name, rising(table, value.wire.top), str(node)))
        walk.lows[name] = value.low
        return replace(value, name=name, wire=walk.operations[-1].result)
    if isinstance(value, PendingSum) and value.op == "sums":
        return replace(value, rescaled=(*value.rescaled, lambda x: clip_to(x, ((low, high),))))
    if isinstance(value, Pending):
        return replace(value, clips=(*value.clips, (low, high)))
    if isinstance(value, RawInput):
        return replace(value, steps=(*value.steps, lambda x: clip_to(x, ((low, high),))))
    raise FileError(f"it clips {word(value)}.")


def _scaled(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Mul, Sub and Div of the input, or of sums that are rescaled."""
    left, right = inputs
    if isinstance(left, FixedArray) and node.op == "Mul":
        left, right = right, left
    if isinstance(left, RawInput) and isinstance(right, FixedArray):
        return _of_input(node, left, right)
    if (
        isinstance(left, PendingSum)
        and left.op == "sums"
        and isinstance(right, FixedArray)
        and node.op == "Mul"
    ):
        refuse_if(not left.rescaled, "it multiplies sums of 32 bits. Cast them to float first.")
        row = row_of(floats_of(right), left.shape, len(left.weights))
        refuse_if((row < 0).any(), "a scale is negative.")
        return replace(left, rescaled=(*left.rescaled, lambda x: np.asarray(x * row[:, None])))
    raise FileError(f"it combines {word(left)} with {word(right)}; write it as part of a layer.")


def _added(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Add: of branches, of a bias, or to the raw input."""
    left, right = inputs
    for value, other in ((left, right), (right, left)):
        if isinstance(value, RawInput) and isinstance(other, FixedArray):
            return _of_input(node, value, other)
        if isinstance(value, PendingSum) and isinstance(other, FixedArray | FixedLevelArray):
            return biased(value, other)
    return adding(node, left, right)


def _of_input(node: Node, value: RawInput, other: FixedArray) -> RawInput:
    """Apply arithmetic to the input in float32, such as its normalization."""
    array = floats_of(other)
    held = np.broadcast_to(
        array.reshape(array.shape[-len(value.shape) :] if array.ndim > len(value.shape) else array.shape),
        value.shape,
    ).reshape(-1)
    refuse_if(
        node.op in ("Mul", "Div") and (held <= 0).any(),
        "it turns the input around: factors must be positive.",
    )
    apply = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[node.op]
    return replace(value, steps=(*value.steps, lambda x: np.asarray(apply(x, held), np.float32)))


def _cast(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Cast to float32, of sums or of integers."""
    value = inputs[0]
    refuse_if(node.attributes.get("to") != 1, "it casts to something else than float32.")
    node.attributes.get("saturate"), node.attributes.get("round_mode")
    if isinstance(value, PendingSum) and value.op == "sums" and not value.rescaled:
        return replace(value, rescaled=(lambda x: x.astype(np.float32),))
    if (levels := integer_levels(value)) is not None:
        return DequantizedTensor.of(levels, 1, 0)
    raise FileError(f"it casts {word(value)}.")


def _reshaped(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Flatten, Reshape and Squeeze, which move nothing."""
    value = inputs[0]
    if not isinstance(value, RawInput | LevelArray | PendingSum):
        raise FileError(f"it reshapes {word(value)}.")
    target: Any = None
    if node.op == "Reshape":
        target = integers_of(inputs[1]).reshape(-1)
        refuse_if(np.count_nonzero(target == -1) > 1, f"it reshapes to {target.tolist()}, across the batch.")
        target = [OPEN_BATCH, *target[1:].tolist()]
    elif len(inputs) > 1 and inputs[1] is not None:
        target = integers_of(inputs[1])
    batch, *sizes = rearrangement(
        node.op, (OPEN_BATCH, *value.shape), [None, target, None, None, None], node.attributes
    ).sizes
    new = tuple(sizes)
    refuse_if(
        batch != OPEN_BATCH or prod(new) != prod(value.shape) or not new,
        f"it reshapes samples of shape {value.shape} to {new}, across the batch.",
    )
    refuse_if(
        isinstance(value, PendingSum) and (len(new) != 1 or value.window.positions != (1, 1)),
        "it reshapes sums before their quantizer.",
    )
    return replace(value, shape=new)


def _unchanged(_walk: Walk, _node: Node, inputs: list[Value | None]) -> Value:
    """Read Identity and Dropout."""
    refuse_if(
        any(value is not None and not isinstance(value, FixedArray) for value in inputs[1:]),
        "it has another input that depends on the data.",
    )
    assert inputs[0] is not None
    return inputs[0]


def _turned(_walk: Walk, _node: Node, _inputs: list[Value | None]) -> Value:
    """Refuse transposed data."""
    raise FileError(f"{ADVICE['Transpose']}.")


def _at_the_end(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Softmax and similar operators. The class scores are before them."""
    value = inputs[0]
    if not isinstance(value, LevelArray | PendingSum):
        raise FileError(f"it takes {word(value)}.")
    rank = len(value.shape) + 1
    axis = node.attributes.get("axis", 0 if node.op == "ArgMax" else -1)
    refuse_if(
        node.op != "Sigmoid" and (rank != 2 or axis_within(axis, rank) != 1),
        f"its axis is {axis}, but class scores lie on axis 1 of 2.",
    )
    for name in ("keepdims", "axis"):
        node.attributes.get(name)
    refuse_if(
        node.attributes.get("select_last_index", 0),
        "a tie goes to the last class there. Let it go to the first.",
    )
    return QuantTail(value, node.inputs[0], (str(node),), node.op in ("ArgMax", "Hardmax"))


# -- integer operators ---------------------------------------------------------------------------------------


def _operand(inputs: list[Value | None], index: int) -> DequantizedTensor | FixedLevelArray:
    """Return an integer tensor with its scale and zero point."""
    value, scale = inputs[index], floats_of(inputs[index + 1]).reshape(-1)
    zero = inputs[index + 2] if len(inputs) > index + 2 else None
    refuse_if(
        scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0,
        f"its scale {scale[:3]} must be one positive number.",
    )
    if (levels := integer_levels(value)) is not None:
        return DequantizedTensor.of(levels, scale[0], zero_of(zero, levels.kind))
    if isinstance(value, FixedArray):
        zeros = np.array([zero_of(zero, value.array.dtype)])
        ends_of(value.array.dtype, value.width)
        return FixedLevelArray(value.array.astype(np.int64), scale.astype(np.float32), zeros, 0)
    raise FileError(f"its input {index} is {word(value)}, but integers are required.")


def _weights(inputs: list[Value | None], index: int, axis: int) -> FixedLevelArray:
    value, zero = inputs[index], inputs[index + 2] if len(inputs) > index + 2 else None
    if not isinstance(value, FixedArray) or value.array.dtype.kind not in "iu":
        raise FileError("its weights are not integer constants.")
    scale = floats_of(inputs[index + 1]).reshape(-1)
    refuse_if(not (np.isfinite(scale).all() and (scale > 0).all()), "a scale of its weights is not positive.")
    zeros = np.zeros(1, np.int64) if zero is None else integers_of(zero).reshape(-1)
    kinds = {value.array.dtype} | ({zero.array.dtype} if isinstance(zero, FixedArray) else set())
    if len(kinds) > 1 or value.array.dtype.itemsize > 1:
        named = " and ".join(sorted(map(str, kinds)))
        raise FileError(
            f"its weights and their zero point are {named}, but int8 or uint8 is needed for both."
        )
    long = value.array.shape[axis] if value.array.ndim > axis else 0
    refuse_if(
        scale.size not in (1, long) or zeros.size not in (1, long),
        f"it has {scale.size} scales and {zeros.size} zero points for weights of shape "
        f"{value.array.shape}. One for all, or one for each of {long} outputs.",
    )
    return FixedLevelArray(value.array.astype(np.int64), scale, zeros, axis)


def _requantized(
    walk: Walk, node: Node, inputs: list[Value | None], value: Value, index: int, kind: Any
) -> LevelArray:
    """Return a value with the scale and the zero point of its output, which are at a position of the
    inputs.
    """
    scale = floats_of(inputs[index]).reshape(-1)
    zero = inputs[index + 1] if len(inputs) > index + 1 else None
    refuse_if(
        scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0,
        f"the scale of its output, {scale[:3]}, must be one positive number.",
    )
    if isinstance(zero, FixedArray):
        kind = zero.array.dtype
    refuse_if(
        np.dtype(kind).kind not in "iu" or np.dtype(kind).itemsize > 1,
        f"the zero point of its output is {kind}, but int8 or uint8 is needed.",
    )
    return quantized(walk, node, value, QuantGrid(scale[0], zero_of(zero, kind), *ends_of(kind)), kind)


def _bias(value: Value | None, count: int) -> Ints:
    """Return a bias of 32 bits, one per output."""
    bias = integers_of(value).reshape(-1)
    if not isinstance(value, FixedArray) or value.array.dtype != np.int32 or bias.size != count:
        raise FileError(f"its bias must be int32 with one number for each of {count} outputs.")
    return bias


def _qlinear_conv(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QLinearConv."""
    inputs = inputs + [None] * (9 - len(inputs))
    source = _operand(inputs, 0)
    weights, tensor = _weights(inputs, 3, 0), tensor_of(source)
    kernel, scales = weights.whole, weights.scales(0)
    assert scales is not None
    bias = np.zeros(len(kernel), np.int64) if inputs[8] is None else _bias(inputs[8], len(kernel))
    linear = convolved(node, tensor, kernel, scales, bias, "", None)
    return _requantized(walk, node, inputs, linear, 6, tensor.kind)


def _qlinear_matmul(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QLinearMatMul."""
    tensor = tensor_of(_operand(inputs, 0))
    linear = dense(node, tensor, _weights(inputs, 3, 1), None, transposed=False)
    return _requantized(walk, node, inputs, linear, 6, tensor.kind)


def _qgemm(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QGemm. Without a quantizer, its sums wait."""
    inputs = inputs + [None] * (9 - len(inputs))
    tensor = tensor_of(_operand(inputs, 0))
    refuse_if(
        node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("transA", 0),
        "its alpha is not 1, or it transposes its input.",
    )
    transposed = bool(node.attributes.get("transB", 0))
    weights = _weights(inputs, 3, 0 if transposed else 1)
    linear = dense(node, tensor, weights, None, transposed=transposed)
    if inputs[6] is not None:
        linear = replace(linear, bias=_bias(inputs[6], len(linear.weights)))
    return linear if inputs[7] is None else _requantized(walk, node, inputs, linear, 7, tensor.kind)


def _qlinear_add(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QLinearAdd."""
    value = adding(node, _operand(inputs, 0), _operand(inputs, 3))
    return _requantized(walk, node, inputs, value, 6, value.tensors[0].kind)


def _qlinear_average(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QLinearAveragePool and QLinearGlobalAveragePool."""
    source = _operand(inputs, 0)
    refuse_if(node.attributes.get("channels_last", 0), ADVICE["Transpose"] + ".")
    value = sums.average(walk, node, [source])
    return _requantized(walk, node, inputs, value, 3, tensor_of(source).kind)


def _qlinear_concat(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QLinearConcat."""
    value = sums.concat(walk, node, [_operand(inputs, index) for index in range(2, len(inputs), 3)])
    assert isinstance(value, PendingConcat)
    return _requantized(walk, node, inputs, value, 0, value.parts[0].kind)


def _integer_product(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read MatMulInteger and ConvInteger: the sums themselves, in 32 bits."""
    inputs = inputs + [None] * (4 - len(inputs))
    levels = required(
        integer_levels(inputs[0]), f"its input is {word(inputs[0])}, but integers are required."
    )
    zero = zero_of(inputs[2], levels.kind)
    weights = _weights(
        [inputs[1], FixedArray(np.ones(1, np.float32)), inputs[3]], 0, int(node.op != "ConvInteger")
    )
    source = DequantizedTensor.of(levels, 1, zero)
    if node.op == "MatMulInteger":
        return replace(dense(node, source, weights, None, transposed=False), op="sums")
    ones, none = np.ones(len(weights.q), np.float32), np.zeros(len(weights.q), np.int64)
    return replace(convolved(node, source, weights.whole, ones, none, "", None), op="sums")


# -- the file ----


_MARKS = {
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearConv",
    "QLinearMatMul",
    "QGemm",
    "QLinearAdd",
    "QLinearConcat",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "MatMulInteger",
    "ConvInteger",
}
_TAILS = {"Softmax", "LogSoftmax", "ArgMax", "Hardmax", "Sigmoid"}
_KNOWN: dict[str, Rule] = {
    "Add": _added,
    "AveragePool": sums.average,
    "Cast": _cast,
    "Clip": _clipped,
    "Concat": sums.concat,
    "Constant": _unchanged,
    "Conv": sums.conv,
    "ConvInteger": _integer_product,
    "DequantizeLinear": sums.dequantize,
    "Div": _scaled,
    "Dropout": _unchanged,
    "Flatten": _reshaped,
    "Gemm": sums.gemm,
    "GlobalAveragePool": sums.average,
    "Identity": _unchanged,
    "MatMul": sums.matmul,
    "MatMulInteger": _integer_product,
    "MaxPool": sums.pooled,
    "Mul": _scaled,
    "QGemm": _qgemm,
    "QLinearAdd": _qlinear_add,
    "QLinearAveragePool": _qlinear_average,
    "QLinearConcat": _qlinear_concat,
    "QLinearConv": _qlinear_conv,
    "QLinearGlobalAveragePool": _qlinear_average,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": sums.quantize,
    "Relu": _clipped,
    "Reshape": _reshaped,
    "Squeeze": _reshaped,
    "Sub": _scaled,
    "Transpose": _turned,
    **dict.fromkeys(_TAILS, _at_the_end),
}


def is_quantized(graph: Graph) -> bool:
    """Return whether a file contains integer quantization."""
    return any(node.op in _MARKS for node in graph.nodes)


def read_program(graph: Graph, *, strict: bool = True) -> IntegerProgram:
    """Return the integer operations of a file.

    Raises
    ------
    FileError
        If something cannot be read exactly. The message names the node and a fix.
    """
    try:
        return Walk(graph, strict, _KNOWN).program()
    except (FileError, NetworkError) as error:
        raise FileError(f"{graph.source}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise FileError(
            f"{graph.source}: it could not be understood ({error!r}). If other programs read it, "
            f"please report it."
        ) from error
