"""Run FINN's dataflow nodes like FINN: count matches, compare with thresholds, cut windows, pool, and pick
the largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.interpreter.moves import MOVES
from sugenet.io.onnx.interpreter.pointwise import POINTWISE
from sugenet.io.onnx.interpreter.tensors import OpCall, Operator, Tensor, constant
from sugenet.io.onnx.interpreter.windows import WINDOWS
from sugenet.io.onnx.operators import DATAFLOW_ENDINGS, checked
from sugenet.io.plain.refusals import refuse_if

__all__ = ["DATAFLOW_OPERATORS", "HARDWARE", "LABELS"]


def _inner(
    call: OpCall, operators: Mapping[str, Any], op: str, inputs: list[Tensor], attributes: Mapping[str, Any]
) -> Any:
    """Return the result of another operator in place of this one, under its name."""
    node = replace(call.node, op=op, inputs=(), attributes=attributes, origin=str(call.node))
    return operators[op](replace(call, node=checked(node), inputs=[*inputs]))


def _whole(call: OpCall, name: str, default: int = 0) -> int:
    value = call.node.attributes.get(name, default)
    if not isinstance(value, int):
        raise FileError(f"its attribute {name} is not an integer.")
    return value


def _is_bipolar(call: OpCall, name: str) -> bool:
    return str(call.node.attributes.get(name, "")) == "BIPOLAR"


def _matches(call: OpCall, x: Tensor, weights: Array, low: int) -> Tensor:
    """Return how many weights each row of values equals."""
    refuse_if(
        not (np.isin(x.values, (low, 1)) | (x.errors > 0)).all() or not np.isin(weights, (low, 1)).all(),
        f"it counts matches of numbers that are not {low} and 1.",
    )
    call.made((*x.shape[:-1], *weights.shape))
    on = (x.values > (low + 1) / 2).astype(np.float64)
    up = (weights == 1).astype(np.float64)
    count = on @ up + (1 - on) @ (1 - up)
    error = np.zeros(()) if x.exact else x.errors.sum(axis=-1, keepdims=True) / (1 - low)
    return Tensor(count, np.dtype(np.float32), error, x.data)


def _unit(call: OpCall) -> Tensor:
    x, weights = call.tensor(0), call.tensor(1)
    if _whole(call, "binaryXnorMode"):
        sums = _matches(call, x, weights.values, 0)
    elif _is_bipolar(call, "inputDataType") and _is_bipolar(call, "weightDataType"):
        sums = _matches(call, x, weights.values, -1)
    else:
        sums = _inner(call, WINDOWS, "MatMul", [x, weights], {})
    return sums if _whole(call, "noActivation") else _reached(call, sums, call.tensor(2))


def _reached(call: OpCall, x: Tensor, thresholds: Tensor) -> Tensor:
    """Return how many thresholds of its channel, the last axis, each value reaches."""
    scale, bias = (2.0, -1.0) if _is_bipolar(call, "outputDataType") else (1.0, float(_whole(call, "ActVal")))
    attributes = {"out_scale": scale, "out_bias": bias, "data_layout": "NHWC"}
    levels: Tensor = _inner(call, POINTWISE, "MultiThreshold", [x, thresholds], attributes)
    return levels


def _windows(call: OpCall) -> Tensor:
    refuse_if(
        _whole(call, "depthwise") or _whole(call, "is1D"), "it makes windows in a way that is not known."
    )
    names = (("kernel_size", "ConvKernelDim"), ("stride", "Stride"), ("dilations", "Dilation"))
    sizes = {ours: call.numbers(theirs, 1) for ours, theirs in names}
    windows: Tensor = _inner(call, WINDOWS, "Im2Col", [call.tensor(0)], sizes)
    return windows


def _pool(call: OpCall) -> Tensor:
    side = call.numbers("PoolDim") or (0,)
    side = side * 2 if len(side) == 1 else side
    sizes = {"kernel_shape": side, "strides": side, "pads": (0, 0, 0, 0)}
    pooled: Tensor = _inner(call, WINDOWS, "MaxPoolNHWC", [call.tensor(0)], sizes)
    return pooled


def _label(call: OpCall) -> Tensor:
    count = constant(np.array([_whole(call, "K", 1)]))
    indices: Tensor = _inner(call, MOVES, "TopK", [call.tensor(0), count], {})[1]
    return indices


def _named(operator: Operator, *names: str) -> dict[str, Operator]:
    """Return the operator under each name, with every ending that FINN has used."""
    return {name + ending: operator for name in names for ending in ("", *DATAFLOW_ENDINGS)}


_LABEL = _named(_label, "LabelSelect")
LABELS = set(_LABEL)
"""Operators at the end of a network."""
HARDWARE: dict[str, Operator] = {
    **_named(_unit, "MVAU", "MatrixVectorActivation", "StreamingFCLayer"),
    **_named(lambda call: _reached(call, call.tensor(0), call.tensor(1)), "Thresholding"),
    **_named(_windows, "ConvolutionInputGenerator"),
    **_named(_pool, "StreamingMaxPool"),
    **_named(
        lambda call: call.tensor(0), "IODMA", "StreamingDataWidthConverter", "StreamingFIFO", "TLastMarker"
    ),
    **_LABEL,
}
"""Nodes whose attributes mostly describe hardware. These attributes are skipped."""
DATAFLOW_OPERATORS: dict[str, Operator] = {
    "XnorPopcountMatMul": lambda call: _matches(call, call.tensor(0), call.tensor(1).values, 0),
    **HARDWARE,
}
