"""The supported operators of ONNX, QONNX, FINN and Larq: their domains, number of inputs, and attributes with
types and defaults. The readers and the interpreters share these tables.

Every attribute is either read by the rule of its operator or listed in `_IRRELEVANT`. Irrelevant attributes
are about training, about an output that is not used, or about unsupported element types. Any other attribute
is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.plain.ledger import Ledger
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "ATTRIBUTES",
    "BEHIND_TAILS",
    "DATAFLOW",
    "DATAFLOW_ENDINGS",
    "DOMAINS",
    "INPUTS",
    "MANY",
    "OLD_DOMAIN",
    "TAILS",
    "checked",
    "constant_value",
    "left_over",
]

DOMAINS = frozenset(
    {
        "",
        "ai.onnx.ml",
        "onnx.brevitas",
        "finn.custom_op.general",
        "qonnx.custom_op.general",
        "larq",
        "lq",
    }
)
OLD_DOMAIN = "finn"
DATAFLOW = frozenset(
    {"finn.custom_op.fpgadataflow", "finn.custom_op.fpgadataflow.hls", "finn.custom_op.fpgadataflow.rtl"}
)
"""Domains of FINN's dataflow graphs."""
DATAFLOW_ENDINGS = ("_Batch", "_hls", "_rtl")
"""Endings of the names of dataflow operators, in all versions."""

TAILS = frozenset({"ArgMax", "Hardmax", "LogSoftmax", "Sigmoid", "Softmax", "TopK"})
"""Operators at the end of a network. The class scores are before them."""
BEHIND_TAILS = frozenset({"Cast", "Dropout", "Flatten", "Identity", "Log", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that may follow them."""

_Attributes = Mapping[str, Any]
_REDUCE: _Attributes = {"axes": tuple, "keepdims": 1, "noop_with_empty_axes": 0}
_WINDOW: _Attributes = {
    "auto_pad": "NOTSET",
    "dilations": tuple,
    "kernel_shape": tuple,
    "pads": tuple,
    "strides": tuple,
}
_QUANT: _Attributes = {"narrow": 0, "rounding_mode": "ROUND", "signed": 1}

ATTRIBUTES: Mapping[str, _Attributes] = {
    "ArgMax": {"axis": 0, "keepdims": 1, "select_last_index": 0},
    "AveragePool": {**_WINDOW, "ceil_mode": 0, "count_include_pad": 0},
    "BatchNormalization": {"epsilon": 1e-5, "momentum": float, "spatial": 1, "training_mode": 0},
    "Binarizer": {"threshold": 0.0},
    "Cast": {"round_mode": str, "saturate": int, "to": int},
    "Clip": {"max": float, "min": float},
    "Concat": {"axis": int},
    "Constant": {
        "value": np.ndarray,
        "value_float": float,
        "value_floats": tuple,
        "value_int": int,
        "value_ints": tuple,
    },
    "ConstantOfShape": {"value": np.zeros(1, np.float32)},
    "Conv": {**_WINDOW, "group": 1},
    "ConvInteger": {**_WINDOW, "group": 1},
    "DequantizeLinear": {"axis": 1, "block_size": 0, "output_dtype": 0},
    "Dropout": {"ratio": float, "seed": int},
    "Flatten": {"axis": 1},
    "Gather": {"axis": 0},
    "GatherElements": {"axis": 0},
    "Gemm": {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "Hardmax": {"axis": int},
    "Im2Col": {
        "depthwise": 0,
        "dilations": (int, tuple),
        "input_shape": str,
        "kernel_size": (int, tuple),
        "pad_amount": (int, tuple),
        "pad_value": (int, float),
        "stride": (int, tuple),
    },
    "IntQuant": _QUANT,
    "LeakyRelu": {"alpha": 0.01},
    "LogSoftmax": {"axis": int},
    "MaxPool": {**_WINDOW, "ceil_mode": 0, "storage_order": 0},
    "MaxPoolNHWC": {"ceil_mode": 0, "kernel_shape": tuple, "pads": tuple, "strides": tuple},
    "MultiThreshold": {"data_layout": "NCHW", "out_bias": 0.0, "out_dtype": str, "out_scale": 1.0},
    "Pad": {"mode": "constant", "pads": tuple, "value": 0.0},
    "QGemm": {"alpha": 1.0, "transA": 0, "transB": 0},
    "QLinearAveragePool": {**_WINDOW, "ceil_mode": 0, "channels_last": 0, "count_include_pad": 0},
    "QLinearConcat": {"axis": int},
    "QLinearConv": {**_WINDOW, "group": 1},
    "QLinearGlobalAveragePool": {"channels_last": 0},
    "Quant": _QUANT,
    "QuantizeLinear": {"axis": 1, "block_size": 0, "output_dtype": 0, "precision": 0, "saturate": int},
    "ReduceMax": _REDUCE,
    "ReduceMean": _REDUCE,
    "ReduceMin": _REDUCE,
    "ReduceProd": _REDUCE,
    "ReduceSum": _REDUCE,
    "Reshape": {"allowzero": 0},
    "Shape": {"end": int, "start": 0},
    "Slice": {"axes": tuple, "ends": tuple, "starts": tuple},
    "Softmax": {"axis": int},
    "Squeeze": {"axes": tuple},
    "TopK": {"axis": -1, "k": int, "largest": 1, "sorted": 1},
    "Transpose": {"perm": tuple},
    "Unsqueeze": {"axes": tuple},
}
"""The attributes of each operator over all operator sets, each with its default, or with its type if it has
no default or the default depends on the operator set. Operators that are not listed have none.
"""

MANY = 1 << 20
INPUTS: Mapping[str, int] = {
    **dict.fromkeys(
        ["Add", "And", "BipolarQuant", "Div", "Equal", "Expand", "Gather", "GatherElements", "Greater"], 2
    ),
    **dict.fromkeys(
        ["GreaterOrEqual", "Less", "LessOrEqual", "MatMul", "Mul", "MultiThreshold", "Or", "PRelu"], 2
    ),
    **dict.fromkeys(["Pow", "Reshape", "Squeeze", "Sub", "TopK", "Unsqueeze", "Xor"], 2),
    **dict.fromkeys(
        ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "XnorPopcountMatMul"], 2
    ),
    **dict.fromkeys(
        ["Clip", "Conv", "DequantizeLinear", "Dropout", "Gemm", "QuantizeLinear", "Range", "Where"], 3
    ),
    **dict.fromkeys(["ConvInteger", "IntQuant", "MatMulInteger", "Pad", "Quant"], 4),
    **dict.fromkeys(["BatchNormalization", "QLinearAveragePool", "QLinearGlobalAveragePool", "Slice"], 5),
    **dict.fromkeys(["QLinearAdd", "QLinearMatMul"], 8),
    **dict.fromkeys(["QGemm", "QLinearConv"], 9),
    **dict.fromkeys(["Concat", "Max", "Mean", "Min", "QLinearConcat", "Sum"], MANY),
    "Constant": 0,
    "XnorPopcountMatMul": 2,
}
"""Largest number of inputs of an operator; one if it is not listed."""

_IRRELEVANT: Mapping[str, set[str]] = {
    "ArgMax": {"keepdims"},  # changes the shape of the class, not the class
    "BatchNormalization": {"momentum"},  # for training
    "Cast": {"round_mode", "saturate"},  # for 8-bit floats, which are not supported
    "Dropout": {"ratio", "seed"},  # for training
    "Im2Col": {"input_shape"},  # known from the data
    "MaxPool": {"storage_order"},  # for the second output
    "MultiThreshold": {"out_dtype"},  # a name for the values
    "TopK": {"k", "sorted"},  # the first is the largest score in any case
}
_NO_DEFAULT = (type, tuple)


class _Counted(Ledger[Any]):
    """The attributes of a node that counts which were read, with the defaults of its operator."""

    def __init__(self, entries: Mapping[str, Any], known: _Attributes) -> None:
        super().__init__(entries)
        self._known = known

    def __getitem__(self, name: str) -> Any:
        default = self._known.get(name)
        if name in self or default is None or isinstance(default, _NO_DEFAULT):
            return super().__getitem__(name)
        return default


def checked(node: Node) -> Node:
    """Return the node with counted attributes and their defaults.

    Unknown attributes, attributes of the wrong type, and too many inputs are refused.
    """
    known = ATTRIBUTES.get(node.op, {})
    for key, value in node.attributes.items():
        refuse_if(
            key not in known,
            f"its attribute {key[:60]!r} is not known. Known are {', '.join(sorted(known)) or 'none'}.",
        )
        kind = known[key] if isinstance(known[key], _NO_DEFAULT) else type(known[key])
        refuse_if(
            not isinstance(value, kind),
            f"its attribute {key} is {str(value)[:60]!r}, which is of the wrong type.",
        )
    max_inputs = INPUTS.get(node.op, 1)
    refuse_if(
        any(node.inputs[max_inputs:]),
        f"it has {len(node.inputs)} inputs, but {max_inputs} at most are known.",
    )
    refuse_if(max_inputs == MANY and not all(node.inputs), "one of its inputs is left out.")
    return replace(node, attributes=_Counted(node.attributes, known))


def left_over(node: Node) -> str | None:
    """Return an attribute that was not read; None if all were read or are irrelevant."""
    left = node.attributes.left() if isinstance(node.attributes, Ledger) else node.attributes
    return min(set(left) - _IRRELEVANT.get(node.op, set()), default=None)


def constant_value(attributes: Mapping[str, Any]) -> Array:
    """Return the numbers of a Constant."""
    for name, dtype in (
        ("value", None),
        ("value_float", np.float32),
        ("value_int", np.int64),
        ("value_floats", np.float32),
        ("value_ints", np.int64),
    ):
        if name in attributes:
            array = np.asarray(attributes[name], dtype)
            if array.dtype.kind in "fiub":
                return array
            break
    raise FileError("it holds no numbers that can be read.")
