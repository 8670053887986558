"""The supported operators of ONNX, QONNX, FINN and Larq: their domains, number of inputs, attributes with
types and defaults, and shape rules. The readers and the interpreters share them.

Every attribute is either read by the rule of its operator or listed in `_IRRELEVANT`. Irrelevant attributes
are about training, about an output that is not used, or about unsupported element types. Any other attribute
is refused by name. Shape rules define the result of Reshape, Flatten, Transpose, Squeeze, Unsqueeze and
Expand, and the axes of an operator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.plain.refusals import Ledger, refuse_if

__all__ = [
    "ATTRIBUTES",
    "BEHIND_TAILS",
    "DATAFLOW",
    "DATAFLOW_ENDINGS",
    "DOMAINS",
    "INPUTS",
    "MANY",
    "OLD_DOMAIN",
    "REARRANGING",
    "TAILS",
    "Rearrangement",
    "axes_of",
    "axis_within",
    "checked",
    "constant_value",
    "integers",
    "left_over",
    "rearrangement",
    "reduced_axes",
    "tail_axis",
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


_Inputs: TypeAlias = Sequence[Any]
"""Arrays, or None for an omitted optional input; five of them, or more."""
_Shape: TypeAlias = tuple[int, ...]


def integers(value: Any, what: str, length: int | None = None) -> tuple[int, ...]:
    """Check a list of integers of reasonable size, from an attribute or a constant."""
    array = np.asarray(value)
    empty = array.size == 0 and array.ndim == 1
    refuse_if(
        not empty
        and (
            array.dtype.kind not in "iu"
            or array.ndim > 1
            or array.size > 64
            or any(abs(v) >= 1 << 62 for v in array.ravel().tolist())
        ),
        f"{what} should be a short list of integers.",
    )
    numbers = tuple(int(v) for v in array.reshape(-1))
    refuse_if(
        length is not None and len(numbers) != length,
        f"{what} has {len(numbers)} numbers, but {length} are needed.",
    )
    return numbers


def axis_within(axis: Any, rank: int, last: int = -1) -> int:
    """Return an axis counted from the front; `last` is the largest allowed (default: the last axis)."""
    refuse_if(
        not isinstance(axis, int) or not -rank <= axis <= (rank - 1 if last < 0 else last),
        f"its axis is {axis}, but the data have {rank} axes.",
    )
    return int(axis + rank if axis < 0 else axis)


def axes_of(inputs: _Inputs, attributes: _Attributes, rank: int, index: int = 1) -> tuple[int, ...] | None:
    """Return the axes of an operator, from an attribute, or from an input since opset 13; None if it names
    none.
    """
    named = attributes.get("axes") if inputs[index] is None else inputs[index]
    if named is None:
        return None
    axes = integers(named, "axes")
    refuse_if(
        any(not -rank <= axis < rank for axis in axes),
        f"axes {list(axes)} do not exist in {rank} dimensions.",
    )
    return tuple(axis % rank for axis in axes)


def reduced_axes(inputs: _Inputs, attributes: _Attributes, rank: int) -> tuple[int, ...] | None:
    """Return the axes that Reduce... reduces, in order; None if it leaves everything as it is."""
    axes, noop = axes_of(inputs, attributes, rank), attributes["noop_with_empty_axes"]
    if not axes:
        return None if noop else tuple(range(rank))
    return tuple(sorted(set(axes)))


def tail_axis(node: Node, opset: int, rank: int) -> int:
    """Return the axis of Softmax, ArgMax and similar operators (default: the last; before opset 13, the
    second).
    """
    return axis_within(node.attributes.get("axis", -1 if opset >= 13 else 1), rank)


@dataclass(frozen=True)
class Rearrangement:
    """The values of a tensor, unchanged, in another shape, or with its axes in another order."""

    sizes: _Shape
    order: tuple[int, ...] | None = None
    copies: bool = False
    """Whether values are repeated."""

    def __call__(self, array: Array) -> Array:
        """Return the array rearranged."""
        if self.order is not None:
            return np.transpose(array, self.order)
        return np.broadcast_to(array, self.sizes) if self.copies else array.reshape(self.sizes)


def rearrangement(op: str, shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the effect of an operator of `REARRANGING` on a tensor.

    Parameters
    ----------
    op
        The operator.
    shape
        Shape of its first input.
    inputs
        All its inputs. The first is ignored.
    attributes
        The attributes of the node, with defaults.

    Raises
    ------
    FileError
        If the result is not a shape, or does not fit this tensor.
    """
    return REARRANGING[op](shape, inputs, attributes)


def _reshape(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return a shape in which 0 copies a size and -1 is inferred."""
    sizes = list(integers(inputs[1], "its shape"))
    if not attributes["allowzero"]:
        refuse_if(0 in sizes[len(shape) :], f"it copies an axis that does not exist into shape {sizes}.")
        sizes = [shape[k] if size == 0 else size for k, size in enumerate(sizes)]
    empty = 0 in sizes and (prod(shape) > 0 or -1 in sizes)
    refuse_if(
        sizes.count(-1) > 1 or min(sizes, default=1) < -1 or empty,
        f"it makes shape {sizes}, which is not a shape.",
    )
    if -1 in sizes:
        rest, left = divmod(prod(shape), prod(size for size in sizes if size != -1))
        refuse_if(left, f"it makes shape {sizes} of {prod(shape)} values.")
        sizes[sizes.index(-1)] = rest
    return Rearrangement(tuple(sizes))


def _flatten(shape: _Shape, _: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return two axes: those before `axis`, and the others."""
    axis = axis_within(attributes["axis"], len(shape), len(shape))
    return Rearrangement((prod(shape[:axis]), prod(shape[axis:])))


def _transpose(shape: _Shape, _: _Inputs, attributes: _Attributes) -> Rearrangement:
    rank = len(shape)
    order = integers(attributes.get("perm", tuple(range(rank))[::-1]), "perm")
    refuse_if(
        sorted(order) != list(range(rank)), f"its perm is {list(order)}, but the data have {rank} axes."
    )
    return Rearrangement(tuple(shape[axis] for axis in order), order)


def _squeeze(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the shape without axes of size 1."""
    axes = axes_of(inputs, attributes, len(shape))
    dropped = [k for k, size in enumerate(shape) if size == 1] if axes is None else axes
    refuse_if(any(shape[axis] != 1 for axis in dropped), "it drops an axis that is larger than 1.")
    return Rearrangement(tuple(size for k, size in enumerate(shape) if k not in dropped))


def _unsqueeze(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the shape with more axes of size 1."""
    count = len(integers(attributes.get("axes", ()) if inputs[1] is None else inputs[1], "axes"))
    axes = axes_of(inputs, attributes, len(shape) + count) or ()
    refuse_if(len(set(axes)) != count, "it adds an axis twice.")
    rest = iter(shape)
    return Rearrangement(tuple(1 if k in axes else next(rest) for k in range(len(shape) + count)))


def _expand(shape: _Shape, inputs: _Inputs, _: _Attributes) -> Rearrangement:
    sizes = integers(inputs[1], "its shape")
    try:
        target = np.broadcast_shapes(shape, sizes)
    except ValueError:
        raise FileError(f"its shape {list(sizes)} does not fit the data.") from None
    return Rearrangement(target, copies=prod(target) != prod(shape))


REARRANGING: dict[str, Callable[[_Shape, _Inputs, _Attributes], Rearrangement]] = {
    "Expand": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Operators that leave every value as it is."""
