"""Which attributes and how many inputs each operation of an ONNX graph has;
what a node has beyond them is refused by name.

Every attribute is read by the rule of its operation or stands in `_IRRELEVANT`, because it says something
about training, about an output that is not made, or about element types that are not read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Node
from sugenet.io.plain.ledger import Ledger

__all__ = ["ATTRIBUTES", "INPUTS", "checked", "left_over"]

_AXES: dict[str, type] = {"axes": tuple}
_AXIS: dict[str, type] = {"axis": int}
_REDUCE: dict[str, type] = {"axes": tuple, "keepdims": int, "noop_with_empty_axes": int}
_WINDOW: dict[str, type] = {
    "auto_pad": str,
    "dilations": tuple,
    "kernel_shape": tuple,
    "pads": tuple,
    "strides": tuple,
}
_QUANT: dict[str, type] = {"narrow": int, "rounding_mode": str, "signed": int}

ATTRIBUTES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "ArgMax": {"axis": int, "keepdims": int, "select_last_index": int},
    "AveragePool": {**_WINDOW, "ceil_mode": int, "count_include_pad": int},
    "BatchNormalization": {"epsilon": float, "momentum": float, "spatial": int, "training_mode": int},
    "Binarizer": {"threshold": float},
    "Cast": {"round_mode": str, "saturate": int, "to": int},
    "Clip": {"max": float, "min": float},
    "Concat": {**_AXIS},
    "Constant": {
        "value": np.ndarray,
        "value_float": float,
        "value_floats": tuple,
        "value_int": int,
        "value_ints": tuple,
    },
    "ConstantOfShape": {"value": np.ndarray},
    "Conv": {**_WINDOW, "group": int},
    "ConvInteger": {**_WINDOW, "group": int},
    "DequantizeLinear": {"axis": int, "block_size": int, "output_dtype": int},
    "Dropout": {"ratio": float, "seed": int},
    "Flatten": {**_AXIS},
    "Gather": {**_AXIS},
    "Gemm": {"alpha": float, "beta": float, "transA": int, "transB": int},
    "HardSigmoid": {"alpha": float, "beta": float},
    "Hardmax": {**_AXIS},
    "Im2Col": {
        "depthwise": int,
        "dilations": (int, tuple),
        "input_shape": str,
        "kernel_size": (int, tuple),
        "pad_amount": (int, tuple),
        "pad_value": (int, float),
        "stride": (int, tuple),
    },
    "IntQuant": {**_QUANT},
    "LogSoftmax": {**_AXIS},
    "MaxPool": {**_WINDOW, "ceil_mode": int, "storage_order": int},
    "MaxPoolNHWC": {"ceil_mode": int, "kernel_shape": tuple, "pads": tuple, "strides": tuple},
    "MultiThreshold": {"data_layout": str, "out_bias": float, "out_dtype": str, "out_scale": float},
    "Pad": {"mode": str, "pads": tuple, "value": float},
    "QGemm": {"alpha": float, "transA": int, "transB": int},
    "QLinearAveragePool": {**_WINDOW, "ceil_mode": int, "channels_last": int, "count_include_pad": int},
    "QLinearConcat": {**_AXIS},
    "QLinearConv": {**_WINDOW, "group": int},
    "QLinearGlobalAveragePool": {"channels_last": int},
    "Quant": {**_QUANT},
    "QuantizeLinear": {
        "axis": int,
        "block_size": int,
        "output_dtype": int,
        "precision": int,
        "saturate": int,
    },
    "ReduceMax": {**_REDUCE},
    "ReduceMean": {**_REDUCE},
    "ReduceMin": {**_REDUCE},
    "ReduceProd": {**_REDUCE},
    "ReduceSum": {**_REDUCE},
    "Reshape": {"allowzero": int},
    "Shape": {"end": int, "start": int},
    "Slice": {"axes": tuple, "ends": tuple, "starts": tuple},
    "Softmax": {**_AXIS},
    "Squeeze": {**_AXES},
    "TopK": {"axis": int, "k": int, "largest": int, "sorted": int},
    "Transpose": {"perm": tuple},
    "Unsqueeze": {**_AXES},
}
"""Name and type of the attributes that are read, over all operator sets;
operations that are not listed have none.
"""

_MANY = 1 << 20
INPUTS: dict[str, int] = {
    "Add": 2,
    "And": 2,
    "BatchNormalization": 5,
    "BipolarQuant": 2,
    "Clip": 3,
    "Concat": _MANY,
    "Constant": 0,
    "Conv": 3,
    "ConvInteger": 4,
    "DequantizeLinear": 3,
    "Div": 2,
    "Dropout": 3,
    "Equal": 2,
    "Expand": 2,
    "Gather": 2,
    "Gemm": 3,
    "Greater": 2,
    "GreaterOrEqual": 2,
    "IntQuant": 4,
    "Less": 2,
    "LessOrEqual": 2,
    "MatMul": 2,
    "MatMulInteger": 4,
    "Max": _MANY,
    "Mean": _MANY,
    "Min": _MANY,
    "Mul": 2,
    "MultiThreshold": 2,
    "Or": 2,
    "Pad": 4,
    "Pow": 2,
    "QGemm": 9,
    "QLinearAdd": 8,
    "QLinearAveragePool": 5,
    "QLinearConcat": _MANY,
    "QLinearConv": 9,
    "QLinearGlobalAveragePool": 5,
    "QLinearMatMul": 8,
    "Quant": 4,
    "QuantizeLinear": 3,
    "Range": 3,
    "ReduceMax": 2,
    "ReduceMean": 2,
    "ReduceMin": 2,
    "ReduceProd": 2,
    "ReduceSum": 2,
    "Reshape": 2,
    "Slice": 5,
    "Squeeze": 2,
    "Sub": 2,
    "Sum": _MANY,
    "TopK": 2,
    "Unsqueeze": 2,
    "Where": 3,
    "Xor": 2,
}
"""How many inputs an operation may have; one where it is not listed."""

_IRRELEVANT: dict[str, set[str]] = {
    "ArgMax": {"keepdims"},  # the shape of the class, not which
    "BatchNormalization": {"momentum"},  # of training
    "Cast": {"round_mode", "saturate"},  # of 8-bit floats, which are not read
    "Dropout": {"ratio", "seed"},  # of training
    "Im2Col": {"input_shape"},  # known from the data
    "MaxPool": {"storage_order"},  # of the second output
    "MultiThreshold": {"out_dtype"},  # a name for the values
    "TopK": {"k", "sorted"},  # the first is the largest score in any case
}


def checked(node: Node) -> Node:
    """The node with attributes that are counted; refuses one that its operation does not have, or of the
    wrong type, and inputs beyond.
    """
    known = ATTRIBUTES.get(node.op, {})
    for key, value in node.attributes.items():
        if key not in known:
            raise FileError(
                f"its attribute {key[:60]!r} is not known. Known are {', '.join(sorted(known)) or 'none'}."
            )
        if not isinstance(value, known[key]):
            raise FileError(f"its attribute {key} is {str(value)[:60]!r}, which is of the wrong type.")
    most = INPUTS.get(node.op, 1)
    if any(node.inputs[most:]):
        raise FileError(f"it has {len(node.inputs)} inputs, but {most} at most are known.")
    if most == _MANY and not all(node.inputs):
        raise FileError("one of its inputs is left out.")
    return replace(node, attributes=Ledger(node.attributes))


def left_over(node: Node) -> str | None:
    """An attribute that nothing asked for; None where all are used or known to be irrelevant."""
    left = node.attributes.left() if isinstance(node.attributes, Ledger) else node.attributes
    return min(set(left) - _IRRELEVANT.get(node.op, set()), default=None)
