"""FINN's dataflow nodes as FINN executes them: matches counted one by one, thresholds reached, windows cut,
pooled and the largest picked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.judge.moves import MOVES
from sugenet.io.onnx.judge.pointwise import POINTWISE
from sugenet.io.onnx.judge.tensors import OpCall, Tensor, UncomparableError
from sugenet.io.onnx.judge.windows import WINDOWS

__all__ = ["DATAFLOW_DOMAINS", "DATAFLOW_OPERATORS", "LABELS"]

_Operator: TypeAlias = Callable[[OpCall], Tensor]

DATAFLOW_DOMAINS = {"finn", *(f"finn.custom_op.fpgadataflow{more}" for more in ("", ".hls", ".rtl"))}


def _inner(call: OpCall, inputs: list[Tensor], attributes: Mapping[str, Any]) -> OpCall:
    """A call of another operator in the place of this one, under its name."""
    node = replace(call.node, attributes=attributes)
    return OpCall(node, call.opset, [*inputs], call.spend, call.decisions)


def _all_asked(call: OpCall) -> None:
    """What hardware a node is made of says nothing about values."""
    call.asked |= set(call.node.attributes)


def _matches(call: OpCall, x: Tensor, weights: Array, low: int) -> Tensor:
    """How many weights each row of values equals."""
    if not (np.isin(x.values, (low, 1)) | (x.errors > 0)).all() or not np.isin(weights, (low, 1)).all():
        raise UncomparableError(f"it counts matches of numbers that are not {low} and 1.")
    call.made((*x.shape[:-1], *weights.shape))
    on = (x.values > (low + 1) / 2).astype(np.float64)
    up = (weights == 1).astype(np.float64)
    count = on @ up + (1 - on) @ (1 - up)
    error = np.zeros(()) if x.exact else x.errors.sum(axis=-1, keepdims=True) / (1 - low)
    return Tensor(count, np.dtype(np.float32), error, x.data)


def _popcount(call: OpCall) -> Tensor:
    return _matches(call, call.tensor(0), call.tensor(1).values, 0)


def _unit(call: OpCall) -> Tensor:
    x, weights = call.tensor(0), call.tensor(1)
    types = [str(call.attribute(f"{name}DataType", "")) for name in ("input", "weight")]
    if call.number("binaryXnorMode"):
        found = _matches(call, x, weights.values, 0)
    elif types == ["BIPOLAR", "BIPOLAR"]:
        found = _matches(call, x, weights.values, -1)
    else:
        product = WINDOWS["MatMul"](_inner(call, [x, weights], {}))
        assert isinstance(product, Tensor)
        found = product
    bare = call.number("noActivation")
    made = found if bare else _reached(call, found, call.tensor(2))
    _all_asked(call)
    return made


def _reached(call: OpCall, x: Tensor, thresholds: Tensor) -> Tensor:
    """How many thresholds of its channel, the last axis, each value reaches."""
    bipolar = str(call.attribute("outputDataType", "")) == "BIPOLAR"
    attributes = {
        "out_scale": 2.0 if bipolar else 1.0,
        "out_bias": -1.0 if bipolar else float(call.number("ActVal")),
        "data_layout": "NHWC",
    }
    found = POINTWISE["MultiThreshold"](_inner(call, [x, thresholds], attributes))
    assert isinstance(found, Tensor)
    return found


def _thresholding(call: OpCall) -> Tensor:
    made = _reached(call, call.tensor(0), call.tensor(1))
    _all_asked(call)
    return made


def _windows(call: OpCall) -> Tensor:
    sizes = {
        ours: call.numbers(theirs, 1)
        for ours, theirs in (
            ("kernel_size", "ConvKernelDim"),
            ("stride", "Stride"),
            ("dilations", "Dilation"),
        )
    }
    if call.number("depthwise") or call.number("is1D"):
        raise UncomparableError("it makes windows in a way that is not known.")
    found = WINDOWS["Im2Col"](_inner(call, [call.tensor(0)], sizes))
    _all_asked(call)
    assert isinstance(found, Tensor)
    return found


def _pool(call: OpCall) -> Tensor:
    side = call.numbers("PoolDim") or (0,)
    side = side * 2 if len(side) == 1 else side
    found = WINDOWS["MaxPoolNHWC"](
        _inner(call, [call.tensor(0)], {"kernel_shape": side, "strides": side, "pads": (0, 0, 0, 0)})
    )
    _all_asked(call)
    assert isinstance(found, Tensor)
    return found


def _same(call: OpCall) -> Tensor:
    _all_asked(call)
    return call.tensor(0)


def _label(call: OpCall) -> Tensor:
    count = Tensor(np.array([call.number("K", 1)]), np.dtype(np.int64), np.zeros(()), False)
    _, places = MOVES["TopK"](_inner(call, [call.tensor(0), count], {}))  # type: ignore[misc]
    _all_asked(call)
    assert isinstance(places, Tensor)
    return places


def _named(operator: _Operator, *names: str) -> dict[str, _Operator]:
    """Under each name, with every ending that FINN has had."""
    return {name + ending: operator for name in names for ending in ("", "_Batch", "_hls", "_rtl")}


_LABEL = _named(_label, "LabelSelect")
LABELS = set(_LABEL)
"""Ends of a network."""
DATAFLOW_OPERATORS: dict[str, _Operator] = {
    "XnorPopcountMatMul": _popcount,
    **_named(_unit, "MVAU", "MatrixVectorActivation", "StreamingFCLayer"),
    **_named(_thresholding, "Thresholding"),
    **_named(_windows, "ConvolutionInputGenerator"),
    **_named(_pool, "StreamingMaxPool"),
    **_named(_same, "IODMA", "StreamingDataWidthConverter", "StreamingFIFO", "TLastMarker"),
    **_LABEL,
}
