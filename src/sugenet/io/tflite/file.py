"""Parse a TensorFlow Lite file: tensors, constants and operators with their options, within limits.

The reader and the interpreter share this module: the bytes and the table of operators, and nothing else.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import check_maps
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.refusals import named, refuse_if, required
from sugenet.io.tflite.flat import Flat, FlatTable, flex_map
from sugenet.nn import Window
from sugenet.nn.arrays import Array, Ints
from sugenet.reading import read_file

__all__ = [
    "ACTIVATIONS",
    "PADDINGS",
    "FileTensor",
    "Operator",
    "Options",
    "Quantization",
    "TfliteFile",
    "kernel_of",
    "padding_of",
    "picks_class",
    "read_tflite_file",
    "window_of",
]

_MAX_BYTES = 1 << 28
_VALUES = 1 << 22
"""Largest number of values of one tensor that is not a constant."""

_NAMES = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP
FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC
LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX
SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD
UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE
UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX
DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER
GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL
NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT
LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2
ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND
HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY
SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D
IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL
BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD
UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION
STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE
STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR
STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH
STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE
STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL
STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE
STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
""".split()  # noqa: SIM905
"""Names of the built-in operators, by their codes."""
_CUSTOM = _NAMES.index("CUSTOM")
_KINDS = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 5: "string", 6: "bool", 7: "int16",
    8: "complex64", 9: "int8", 10: "float64", 12: "uint64", 15: "uint32", 16: "uint16", 17: "int4",
}  # fmt: skip
_ARRAYS = {"float32": "f4", "int32": "i4", "uint8": "u1", "int64": "i8", "int8": "i1", "int16": "i2"}
PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

_WINDOW: dict[str, tuple[int, str, Any]] = {
    "padding": (0, "b", 0), "stride_w": (1, "i", 0), "stride_h": (2, "i", 0),
}  # fmt: skip
_POOL = {
    **_WINDOW, "filter_width": (3, "i", 0), "filter_height": (4, "i", 0),
    "fused_activation_function": (5, "b", 0),
}  # fmt: skip
_OPTIONS: dict[str, tuple[int, dict[str, tuple[int, str, Any]]]] = {
    "ADD": (11, {"fused_activation_function": (0, "b", 0), "pot_scale_int16": (1, "?", True)}),
    "ARG_MAX": (40, {"output_type": (0, "b", 0)}),
    "AVERAGE_POOL_2D": (5, _POOL),
    "CONCATENATION": (10, {"axis": (0, "i", 0), "fused_activation_function": (1, "b", 0)}),
    "CONV_2D": (
        1,
        {
            **_WINDOW, "fused_activation_function": (3, "b", 0), "dilation_w_factor": (4, "i", 1),
            "dilation_h_factor": (5, "i", 1), "quantized_bias_type": (6, "b", 0),
        },
    ),
    "DEPTHWISE_CONV_2D": (
        2,
        {
            **_WINDOW, "depth_multiplier": (3, "i", 0), "fused_activation_function": (4, "b", 0),
            "dilation_w_factor": (5, "i", 1), "dilation_h_factor": (6, "i", 1),
        },
    ),
    "FULLY_CONNECTED": (
        8,
        {
            "fused_activation_function": (0, "b", 0), "weights_format": (1, "b", 0),
            "keep_num_dims": (2, "?", False), "asymmetric_quantize_inputs": (3, "?", False),
            "quantized_bias_type": (4, "b", 0),
        },
    ),
    "LEAKY_RELU": (75, {"alpha": (0, "f", 0.0)}),
    "MAX_POOL_2D": (5, _POOL),
    "MEAN": (27, {"keep_dims": (0, "?", False)}),
    "MUL": (21, {"fused_activation_function": (0, "b", 0)}),
    "PACK": (59, {"values_count": (0, "i", 0), "axis": (1, "i", 0)}),
    "RESHAPE": (17, {"new_shape": (0, "i4", None)}),
    "SOFTMAX": (9, {"beta": (0, "f", 0.0)}),
    "SHAPE": (55, {"out_type": (0, "b", 0)}),
    "STRIDED_SLICE": (
        32,
        {
            "begin_mask": (0, "i", 0), "end_mask": (1, "i", 0), "ellipsis_mask": (2, "i", 0),
            "new_axis_mask": (3, "i", 0), "shrink_axis_mask": (4, "i", 0), "offset": (5, "?", False),
        },
    ),
    "SUB": (28, {"fused_activation_function": (0, "b", 0), "pot_scale_int16": (1, "?", True)}),
    "SQUEEZE": (30, {"squeeze_dims": (0, "i4", None)}),
}  # fmt: skip
"""For operators with options: the type of their table, and slot, kind and default of each option."""


_INPUTS = {
    **dict.fromkeys(
        ("ADD", "ARG_MAX", "MEAN", "MUL", "PAD", "RESHAPE", "SUB", "TRANSPOSE", "EXPAND_DIMS"), 2
    ),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "PADV2"), 3),
    "CONCATENATION": 1 << 10,
    "LceBconv2d": 5,
    "PACK": 1 << 10,
    "STRIDED_SLICE": 4,
}
"""Largest number of inputs, if it is not 1."""


_SPELLED = {
    **{f"stride_{side}": f"stride_{side[0]}" for side in ("height", "width")},
    **{f"dilation_{side}_factor": f"dilation_{side[0]}_factor" for side in ("height", "width")},
}
"""The names of options of Larq Compute Engine, as those of other operators."""


@dataclass(frozen=True, eq=False)
class Quantization:
    """Numbers of a tensor: ``scale * (q - zero)``, with one of each for all, or one per index of an axis."""

    scale: npt.NDArray[np.float32]
    zero: Ints
    axis: int


@dataclass(frozen=True, eq=False)
class FileTensor:
    """A tensor of the file."""

    index: int
    name: str
    shape: tuple[int, ...]
    kind: str
    quantization: Quantization | None
    data: Array | None
    """The values of a constant."""

    @property
    def key(self) -> str:
        """A name that no other tensor has."""
        return f"{self.name[:60]} (tensor {self.index})"

    @property
    def grid(self) -> tuple[np.float32, int]:
        """The only scale and zero point."""
        q = self.quantization
        if q is None or q.scale.size != 1:
            raise FileError(f"{self.key} has {0 if q is None else q.scale.size} scales, but one is needed.")
        return q.scale[0], int(q.zero[0])

    @property
    def constant(self) -> Array:
        """The values of a constant; anything else is refused."""
        return required(self.data, f"{self.key} depends on the input, but a constant is needed.")


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator."""

    number: int
    name: str
    inputs: tuple[FileTensor | None, ...]
    outputs: tuple[FileTensor, ...]
    options: dict[str, Any]
    defaults: dict[str, Any]
    """The value of each option that is not stated."""

    def __str__(self) -> str:
        made = f" ({self.outputs[0].name[:60]})" if self.outputs and self.outputs[0].name else ""
        return f"operator {self.number}, {self.name}{made}"

    def input(self, index: int) -> FileTensor:
        """Return an input that must be there."""
        return required(self.optional(index), f"its input {index} is missing.")

    def optional(self, index: int) -> FileTensor | None:
        """Return an input; None if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def output(self) -> FileTensor:
        """The only output."""
        refuse_if(len(self.outputs) != 1, f"it has {len(self.outputs)} outputs, but one is needed.")
        return self.outputs[0]


class Options:
    """Options of an operator. Each must be used, or have its default."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.left = operator, dict(operator.options)

    def take(self, name: str) -> Any:
        """Return an option."""
        self.left.pop(name, None)
        return self.operator.options.get(name, self.operator.defaults.get(name))

    def choice(self, name: str, among: tuple[str, ...]) -> str:
        """Return an option that is one of several words, or the number of one."""
        value = self.take(name)
        if isinstance(value, str):
            value = among.index(value.upper()) if value.upper() in among else -1
        refuse_if(
            value is None or not 0 <= int(value) < len(among), f"its {name} is {value}, which is not known."
        )
        return among[int(value)]

    @property
    def padding(self) -> str:
        """SAME or VALID."""
        return self.choice("padding", PADDINGS)

    def check(self) -> None:
        """Refuse options that were not used."""
        for name, value in self.left.items():
            refuse_if(
                value != self.operator.defaults.get(name),
                f"its option {name[:40]} is {value!r}, which is not read.",
            )


def _same_pads(
    sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int], kernel: Sequence[int]
) -> tuple[int, int, int, int]:
    """Return the pads of SAME: top, left, bottom, right."""
    ends = [
        max((-(-long // step) - 1) * step + spread * (size - 1) + 1 - long, 0)
        for long, step, spread, size in zip(sizes, stride, dilation, kernel, strict=True)
    ]
    return ends[0] // 2, ends[1] // 2, ends[0] - ends[0] // 2, ends[1] - ends[1] // 2


def window_of(
    operator: Operator,
    options: Options,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Window:
    """Return the window of an operator over images of a shape in the file; `pads` of it are pads before."""
    stride, dilation = (options.take("stride_h"), options.take("stride_w")), (1, 1)
    if "POOL" not in operator.name.upper():
        dilation = options.take("dilation_h_factor"), options.take("dilation_w_factor")
    refuse_if(
        any(not isinstance(size, int) or not 1 <= size <= 1 << 12 for size in (*kernel, *stride, *dilation)),
        f"its window has size {tuple(kernel)}, strides {stride} and dilations {dilation}.",
    )
    more = (0, 0, 0, 0)
    if options.padding == "SAME":
        more = _same_pads(shape[:2], stride, dilation, kernel)
    inner = (shape[2], shape[0] - pads[0] - pads[2], shape[1] - pads[1] - pads[3])
    around = tuple(a + b for a, b in zip(pads, more, strict=True))
    window = Window(inner, kernel, stride, dilation, around)
    check_maps(str(operator), (shape[2], *window.positions), kernel)
    return window


def kernel_of(operator: Operator, options: Options, kernel: Array, channels: int) -> tuple[Array, int]:
    """Return the weights of a convolution, (out, in / groups, height, width), and the number of groups."""
    wrong = f"its weights have shape {kernel.shape} for {channels} channels."
    refuse_if(kernel.ndim != 4, wrong)
    if operator.name == "DEPTHWISE_CONV_2D":
        refuse_if(kernel.shape[::3] != (1, channels * options.take("depth_multiplier")), wrong)
        return kernel.transpose(3, 0, 1, 2), channels
    groups = channels // max(kernel.shape[3], 1)
    refuse_if(not groups or kernel.shape[3] * groups != channels or len(kernel) % groups, wrong)
    return kernel.transpose(0, 3, 1, 2), groups


def padding_of(operator: Operator) -> tuple[int, int, int, int]:
    """Return the pads of PAD and PADV2 around images: top, left, bottom, right."""
    ends = operator.input(1).constant.reshape(-1, 2).tolist()
    refuse_if(
        len(ends) != 4 or any(ends[0]) or any(ends[3]) or min(map(min, ends)) < 0,
        f"it pads {ends}, but only height and width of images can be padded.",
    )
    refuse_if(max(map(max, ends)) > 1 << 12, f"it pads {ends}, which is too much.")
    return ends[1][0], ends[2][0], ends[1][1], ends[2][1]


def picks_class(operator: Operator, options: Options, shape: tuple[int, ...]) -> bool:
    """Return whether an operator at the end gives the class, and refuse other axes than that of scores."""
    refuse_if(len(shape) != 1, f"its input has shape {operator.input(0).shape}, but (1, classes) is needed.")
    refuse_if(operator.name == "SOFTMAX" and not options.take("beta") > 0, "its beta is not positive.")
    if operator.name != "ARG_MAX":
        return False
    options.take("output_type")
    axis = operator.input(1).constant.reshape(-1).tolist()
    refuse_if(axis not in ([1], [-1]), f"its axis is {axis}, but class scores lie on axis 1.")
    return True


@dataclass(frozen=True, eq=False)
class TfliteFile:
    """A file with one graph."""

    source: str
    tensors: tuple[FileTensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[FileTensor, ...]
    outputs: tuple[FileTensor, ...]

    @property
    def ends(self) -> tuple[FileTensor, FileTensor]:
        """The only input and the only output."""
        for ends, what in ((self.inputs, "inputs"), (self.outputs, "outputs")):
            refuse_if(len(ends) != 1, f"it has {len(ends)} {what}, but one is needed.")
        return self.inputs[0], self.outputs[0]

    @property
    def needed(self) -> list[Operator]:
        """The operators that lead to the first output, in order."""
        makers = {tensor.index: operator for operator in self.operators for tensor in operator.outputs}
        wanted, waiting = set[int](), [tensor.index for tensor in self.outputs[:1]]
        while waiting:
            maker = makers.get(waiting.pop())
            if maker is not None and maker.number not in wanted:
                wanted.add(maker.number)
                waiting += [tensor.index for tensor in maker.inputs if tensor is not None]
        return [operator for operator in self.operators if operator.number in wanted]

    @property
    def is_integer(self) -> bool:
        """Whether it computes in 8-bit integers anywhere."""
        return any(
            tensor.data is None and tensor.kind in ("int8", "uint8", "int16") for tensor in self.tensors
        )


def read_tflite_file(source: str | os.PathLike[str] | bytes) -> TfliteFile:
    """Read a file from a path (also ending in ``.gz``) or from its bytes.

    Raises
    ------
    FileError
        If the file is missing, too large, damaged, or not a TensorFlow Lite file.

    Examples
    --------
    >>> read_tflite_file(b"")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: the TensorFlow Lite file: it does not start like one: TFL3 is not in its head.
    """
    shown = "the TensorFlow Lite file" if isinstance(source, bytes) else Path(source).name
    with named(shown):
        raw = source if isinstance(source, bytes) else read_file(source, _MAX_BYTES)
        raw = unzipped(raw, _MAX_BYTES)
        refuse_if(raw[4:8] != b"TFL3", "it does not start like one: TFL3 is not in its head.")
        return _file(shown, Flat(raw).root)


def _file(source: str, model: FlatTable) -> TfliteFile:
    refuse_if(model.number(0, "I") != 3, f"its version is {model.number(0, 'I')}, but 3 is read.")
    graphs = model.tables(2)
    refuse_if(len(graphs) != 1, f"it has {len(graphs)} graphs, but one is read.")
    buffers, graph = model.tables(4), graphs[0]
    tensors = tuple(_tensor(index, table, buffers) for index, table in enumerate(graph.tables(0)))
    codes = [_code(table) for table in model.tables(1)]
    known, operators = list(tensors), list[Operator]()
    for number, table in enumerate(graph.tables(3)):
        operator = _operator(number, table, codes, tuple(known))
        shape = _shape(operator)
        if shape is None:
            operators.append(operator)
        else:
            made = operator.outputs[0]
            known[made.index] = replace(made, data=shape)
    tensors = tuple(known)
    inputs, outputs = (_picked(graph.array(slot, "i4"), tensors) for slot in (1, 2))
    return TfliteFile(source, tensors, tuple(operators), inputs, outputs)  # type: ignore[arg-type]


def _shape(operator: Operator) -> Array | None:
    """Return what an operator computes from shapes alone; None for any other operator."""
    options = Options(operator)
    inputs = [None if tensor is None else tensor.data for tensor in operator.inputs]
    made: Any = None
    if len(operator.outputs) != 1 or operator.outputs[0].kind not in ("int32", "int64"):
        return None
    if operator.name == "SHAPE" and len(inputs) == 1:
        options.take("out_type")
        made = operator.input(0).shape
    elif operator.name == "STRIDED_SLICE" and len(inputs) == 4:
        row, begin, end, stride = (None if array is None else array.reshape(-1) for array in inputs)
        single = options.take("shrink_axis_mask") == 1
        if row is None or begin is None or end is None or stride is None or not single or len(begin) != 1:
            return None
        made = row[int(begin[0])] if 0 <= begin[0] < len(row) else None
    elif operator.name == "PACK":
        options.take("values_count"), options.take("axis")
        made = [None if array is None or array.size != 1 else array.reshape(-1)[0] for array in inputs]
    if made is None or (isinstance(made, list) and None in made):
        return None
    with named(str(operator)):
        options.check()
    return np.array(made, operator.outputs[0].kind)


def _code(table: FlatTable) -> str:
    code = max(int(table.number(0, "b")), int(table.number(3, "i")))
    refuse_if(not 0 <= code < len(_NAMES), f"it has an operator of code {code}, which is not known.")
    return table.text(1) if code == _CUSTOM else _NAMES[code]


def _picked(
    indices: Array | None, tensors: tuple[FileTensor, ...], *, optional: bool = False
) -> tuple[FileTensor | None, ...]:
    chosen = [] if indices is None else indices.tolist()
    refuse_if(len(chosen) > 1 << 10, f"it reads {len(chosen):,} tensors at once.")
    for index in chosen:
        refuse_if(
            not (-1 if optional else 0) <= index < len(tensors),
            f"it is damaged: there is no tensor {index}; it has {len(tensors)}.",
        )
    return tuple(None if index == -1 else tensors[index] for index in chosen)


def _tensor(index: int, table: FlatTable, buffers: list[FlatTable]) -> FileTensor:
    name, where = table.text(3), f"tensor {index}"
    shape = table.array(0, "i4")
    sizes = () if shape is None else tuple(int(size) for size in shape[:9])
    refuse_if(len(sizes) > 8 or any(size < 0 for size in sizes), where, f"its shape is {sizes}.")
    code, buffer_index = int(table.number(1, "b")), int(table.number(2, "I"))
    kind = _KINDS.get(code, f"type {code}")
    refuse_if(
        buffer_index >= max(len(buffers), 1), where, f"it is damaged: there is no buffer {buffer_index}."
    )
    refuse_if(
        table.number(5, "?") or 6 in table.slots, where, "it is a variable, or sparse, which is not read."
    )
    refuse_if(table.tables(9), where, "it holds other tensors, which is not read.")
    raw = buffers[buffer_index].array(0, "u1") if buffer_index else None
    if buffer_index and (
        buffers[buffer_index].number(1, "Q") > 1 or buffers[buffer_index].number(2, "Q") > 1
    ):
        raise FileError(f"{where}: its values lie after the end of the buffer table, which is not read.")
    data = None
    if raw is not None and len(raw):
        refuse_if(kind not in _ARRAYS, where, f"its values are {kind}, which is not read.")
        made = np.dtype(_ARRAYS[kind]).newbyteorder("<")
        refuse_if(
            len(raw) != prod(sizes) * made.itemsize,
            where,
            f"it is damaged: {len(raw):,} bytes for {prod(sizes):,} values of {kind}.",
        )
        data = np.frombuffer(raw.tobytes(), made).reshape(sizes)
        refuse_if(kind == "float32" and not np.isfinite(data).all(), where, "its values are not finite.")
    refuse_if(
        data is None and prod(sizes) > _VALUES, where, f"it has {prod(sizes):,} values; {_VALUES:,} are read."
    )
    quantized = table.table(4)
    return FileTensor(
        index, name, sizes, kind, None if quantized is None else _grid(quantized, where, sizes), data
    )


def _grid(table: FlatTable, where: str, shape: tuple[int, ...]) -> Quantization | None:
    scale, zero = table.array(2, "f4"), table.array(3, "i8")
    refuse_if(table.number(4, "B"), where, "it is quantized in a way of its own, which is not read.")
    if scale is None or not len(scale):
        return None
    axis = int(table.number(6, "i"))
    zeros = np.zeros(len(scale), np.int64) if zero is None or not len(zero) else zero.astype(np.int64)
    if len(zeros) == 1:
        zeros = np.repeat(zeros, len(scale))
    size = shape[axis] if 0 <= axis < len(shape) else 0
    refuse_if(
        len(zeros) != len(scale) or (len(scale) > 1 and len(scale) != size),
        where,
        f"it has {len(scale)} scales and {len(zeros)} zero points for {size} channels.",
    )
    refuse_if(
        not np.isfinite(scale).all() or (scale <= 0).any() or (np.abs(zeros) > 1 << 15).any(),
        where,
        "a scale is not a positive number, or a zero point is too large.",
    )
    return Quantization(scale.astype(np.float32), zeros, axis)


def _operator(number: int, table: FlatTable, codes: list[str], tensors: tuple[FileTensor, ...]) -> Operator:
    code = int(table.number(0, "I"))
    refuse_if(code >= len(codes), f"operator {number}: it is damaged: there is no operator code {code}.")
    name = codes[code]
    with named(f"operator {number}, {name[:60]}"):
        inputs = _picked(table.array(1, "i4"), tensors, optional=True)
        outputs = _picked(table.array(2, "i4"), tensors)
        n_inputs = _INPUTS.get(name, 1)
        known_name = name in _OPTIONS or name in _INPUTS or name.startswith("Lce") or name == "QUANTIZE"
        refuse_if(
            known_name and len(inputs) > n_inputs,
            f"it has {len(inputs)} inputs, but at most {n_inputs} are read.",
        )
        kind, options = int(table.number(3, "B")), table.table(4)
        custom = table.array(5, "u1")
        refuse_if(
            table.slots & {9, 10} or table.number(6, "b"), "its options are in a format that is not read."
        )
        wanted, known = _OPTIONS.get(name, (kind, {}))
        values: dict[str, Any] = {}
        if options is not None and name in _OPTIONS:
            refuse_if(kind != wanted, f"its options are of type {kind}, not {wanted}.")
            unknown = options.slots - {slot for slot, _, _ in known.values()}
            refuse_if(unknown, f"it has an option that is not known (field {min(unknown, default=0)}).")
            for key, (slot, how, _) in known.items():
                if slot in options.slots:
                    row = options.array(slot, how) if len(how) > 1 else None
                    values[key] = options.number(slot, how) if row is None else tuple(row[:9].tolist())
        elif options is not None:
            values = {f"number {slot}": "not read" for slot in options.slots}
        if custom is not None and len(custom):
            values |= {_SPELLED.get(key, key): value for key, value in flex_map(custom.tobytes()).items()}
        defaults = {key: default for key, (_, _, default) in known.items()}
        return Operator(number, name, inputs, outputs, values, defaults)  # type: ignore[arg-type]
