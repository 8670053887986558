"""Process a quantized graph: the value of each name, the attributes that were used, and the grids of
quantizers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.integers import LevelWire, Operation
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node, Port, Subgraph
from sugenet.io.onnx.operators import checked, constant_value, left_over
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.values import (
    FixedArray,
    FixedLevelArray,
    LevelArray,
    PendingSum,
    QuantTail,
    RawInput,
    Value,
    ends_of,
    floats_of,
    image,
    word,
)
from sugenet.io.plain.refusals import expected, refuse_if
from sugenet.nn.arrays import Ints

__all__ = ["ADVICE", "IntegerProgram", "Rule", "Walk"]

_DYNAMIC = (
    "dynamic quantization takes its scales from each input, so the file is not a fixed function of levels. "
    "Quantize statically: onnxruntime.quantization.quantize_static with calibration data"
)
ADVICE: dict[str, str] = {
    "DynamicQuantizeLinear": _DYNAMIC,
    "DynamicQuantizeMatMul": _DYNAMIC,
    "MatMulIntegerToFloat": _DYNAMIC,
    "QLinearSoftmax": "classes can tie after a quantized softmax. Leave the softmax out of the model, or "
    "out of its quantization (nodes_to_exclude)",
    "QLinearMul": "a product of two tensors is not a sum. Only additions of branches are supported",
    "QLinearSigmoid": "only Relu and Clip are supported between layers",
    "QLinearLeakyRelu": "only Relu and Clip are supported between layers",
    "MatMulNBits": "weights in blocks are not supported. Quantize to 8 bits with one scale for each channel",
    "BatchNormalization": "fold it into the previous layer before quantizing; in PyTorch "
    "torch.nn.utils.fusion has fuse_conv_bn_eval and fuse_linear_bn_eval",
    "ReduceMean": "ONNX Runtime averages it in floats, whose order of additions nothing fixes. Let the float "
    "model have GlobalAveragePool or AveragePool there, which have integer kernels: PyTorch writes them for "
    "nn.AvgPool2d, and for nn.AdaptiveAvgPool2d with torch.onnx.export(..., dynamo=False)",
    "Transpose": "only channels-first data are supported. Export the model channels-first (NCHW)",
}
_DOMAINS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), ("", "com.microsoft")),
    **dict.fromkeys(
        ("QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool"),
        ("com.microsoft",),
    ),
}
"""Domains of operators that are not defined in ONNX itself."""
_STRICT = "strict=False reads it in exact numbers, which can differ from runtimes next to ties"


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """A quantized graph in integer operations."""

    source: str
    """File, for messages."""
    port: str
    """Name of the input."""
    raw: RawInput | LevelArray
    """The input: floats before the first quantizer, or integers."""
    start: LevelWire | None
    """The quantized input; None if the input consists of integers."""
    start_grid: QuantGrid | None
    operations: tuple[Operation, ...]
    end: LevelArray | PendingSum
    """The class scores."""
    scores: str
    """The name of that tensor."""
    output: str
    lows: dict[str, int]
    """For each tensor of levels, the integer of level 0."""
    remarks: tuple[str, ...]
    left_out: tuple[str, ...]
    picks: bool
    exact: bool
    """Whether the runtime computes the same everywhere, by its own arithmetic."""
    channels_last: bool = False
    """Whether raw samples have the shape (height, width, channels)."""


class Walk:
    """One graph being read."""

    def __init__(self, graph: Graph, strict: bool, rules: Mapping[str, Rule]) -> None:
        self.graph, self.strict, self.rules = graph, strict, rules
        self.values: dict[str, Value] = {
            name: FixedArray(array, graph.widths.get(name)) for name, array in graph.constants.items()
        }
        self.operations: list[Operation] = []
        self.lows: dict[str, int] = {}
        self.remarks = list(graph.unread)
        self.start: LevelWire | None = None
        self.start_grid: QuantGrid | None = None
        self.first: RawInput | None = None
        self.inexact = False
        self.nodes, needed = graph.leading_to(*(port.name for port in graph.outputs))
        self.readers: dict[str, list[Node | Port]] = defaultdict(list)
        """The nodes that read a tensor, once per input, and the graph outputs that it is."""
        for node in self.nodes:
            for name in node.inputs:
                self.readers[name].append(node)
        for port in graph.outputs:
            self.readers[port.name].append(port)
        self.makers = {name: node for node in self.nodes for name in node.outputs if name}
        idle = [port.name for port in graph.inputs if port.name not in needed]
        if idle:
            raise FileError(f"the input {idle[0][:60]!r} does not lead to any output. Remove it.")

    def program(self) -> IntegerProgram:
        graph = self.graph
        refuse_if(len(graph.inputs) != 1, f"it has {len(graph.inputs)} data inputs, but one is needed.")
        if len(graph.outputs) != 1:
            named = ", ".join(repr(port.name[:40]) for port in graph.outputs[:5])
            raise FileError(
                f"it has {len(graph.outputs)} outputs ({named}). Keep the class scores as the only output."
            )
        port = graph.inputs[0]
        raw = self._input(port)
        self.values[port.name] = raw
        for node in self.nodes:
            refuse_if(ADVICE.get(node.op) == _DYNAMIC, f"{node}: {_DYNAMIC}.")
        for node in self.nodes:
            try:
                self._take(node)
            except (FileError, NetworkError) as error:
                raise FileError(f"{node}: {error}") from None
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                MemoryError,
                TypeError,
                ValueError,
            ) as error:
                raise FileError(
                    f"{node}: its inputs and attributes do not fit together ({error}). If other programs run "
                    f"the file, please report it."
                ) from error
        output = graph.outputs[0].name
        value = self.values[output]
        tail = value if isinstance(value, QuantTail) else QuantTail(value, output, (), False)
        end = tail.scores
        if not isinstance(end, LevelArray | PendingSum):
            raise FileError(
                f"its output {output[:60]!r} is {word(end)}, which is not quantized. "
                f"Let a quantizer or a matrix product be the last operation."
            )
        return IntegerProgram(
            graph.source,
            port.name,
            raw if self.first is None else replace(self.first, shape=raw.shape),
            self.start,
            self.start_grid,
            tuple(self.operations),
            end,
            tail.scores_name,
            output,
            self.lows,
            tuple(self.remarks),
            tail.left_out,
            tail.picks,
            not self.inexact,
        )

    def _input(self, port: Any) -> RawInput | LevelArray:
        if port.shape is None or len(port.shape) < 2 or any(not size for size in port.shape[1:]):
            raise FileError(
                f"the data input {port.name[:60]!r} has shape {port.shape}, but only the batch may be open. "
                f"Export the model for one size of samples."
            )
        shape = tuple(int(size) for size in port.shape[1:])
        refuse_if(
            prod(shape) > 1 << 20 or len(shape) > 3,
            f"the data input {port.name[:60]!r} has shape {port.shape}, which is too large.",
        )
        kind = np.dtype(DTYPES.get(port.dtype, "V"))
        if kind == np.float32:
            return RawInput(shape)
        if kind.kind in "iu" and kind.itemsize <= 2:
            return self.levels(port.name, shape, *ends_of(kind), kind)
        raise FileError(
            f"the data input {port.name[:60]!r} has element type {port.dtype}. Use float32 or uint8."
        )

    def levels(self, name: str, shape: tuple[int, ...], low: int, high: int, kind: Any) -> LevelArray:
        self.lows[name] = low
        return LevelArray(name, LevelWire(name, image(shape), high - low), low, np.dtype(kind), shape)

    def _take(self, node: Node) -> None:
        refuse_if(
            (node.domain, node.op) in self.graph.functions,
            "it is a function that the file defines itself. Write functions out first.",
        )
        refuse_if(
            node.domain not in ("", "com.microsoft"),
            f"its domain {node.domain[:60]!r} is not known in quantized files.",
        )
        refuse_if(
            node.op not in self.rules or node.domain not in _DOMAINS.get(node.op, ("",)),
            f"{ADVICE.get(node.op, 'it is not supported in quantized files')}.",
        )
        refuse_if(
            any(isinstance(value, Subgraph) for value in node.attributes.values()),
            "it holds a graph, which is not supported.",
        )
        counted = checked(node)
        inputs = [self.values[name] if name else None for name in node.inputs]
        if any(isinstance(value, QuantTail) for value in inputs):
            made = self._behind(counted, inputs)
        elif all(value is None or isinstance(value, FixedArray | FixedLevelArray) for value in inputs):
            made = self._constant(counted, inputs)
        else:
            made = self.rules[node.op](self, counted, inputs)
        unused = left_over(counted)
        if unused is not None:
            raise FileError(
                f"its attribute {unused} is {str(node.attributes[unused])[:60]!r}, which is not "
                f"supported here."
            )
        refuse_if(
            any(name and self.readers[name] for name in node.outputs[1:]),
            "only its first output is supported.",
        )
        self.values[node.outputs[0]] = made

    def _behind(self, node: Node, inputs: list[Value | None]) -> Value:
        tail = inputs[0]
        if not isinstance(tail, QuantTail) or node.op not in (
            "Identity",
            "Flatten",
            "Reshape",
            "Cast",
            "Squeeze",
        ):
            behind = next(value for value in inputs if isinstance(value, QuantTail)).left_out[-1]
            raise FileError(
                f"it comes after {behind}, which must be the end of the network. Leave that out of the "
                f"model, or out of its quantization (nodes_to_exclude)."
            )
        for name in node.attributes:
            node.attributes.get(name)
        return tail

    def _constant(self, node: Node, inputs: list[Value | None]) -> Value:
        """Return a value that is computed only from constants."""
        first = inputs[0] if inputs else None
        match node.op:
            case "Constant":
                return FixedArray(constant_value(node.attributes))
            case "DequantizeLinear" if isinstance(first, FixedArray):
                return self._dequantized(node, inputs, first)
            case "QuantizeLinear":
                return self._quantized(node, inputs)
            case "Identity" | "Dropout" if first is not None:
                return first
            case "Transpose" if isinstance(first, FixedLevelArray) and first.q.ndim == 2:
                if tuple(node.attributes.get("perm", (1, 0))) == (1, 0):
                    return replace(first, q=first.q.T, axis=1 - first.axis % 2)
            case "Mul" if all(isinstance(v, FixedArray) for v in inputs):
                return FixedArray(np.asarray(floats_of(inputs[0]) * floats_of(inputs[1]), np.float32))
        raise FileError("it computes constants. Fold them first: onnxruntime.quantization.quant_pre_process.")

    def _dequantized(self, node: Node, inputs: list[Value | None], first: FixedArray) -> Value:
        scale, zero, _ = self.grids(node, inputs, first.array.dtype)
        axis = self.axis(node, first.array.ndim)
        long = first.array.shape[axis] if first.array.ndim else 1
        refuse_if(
            scale.size not in (1, long) or zero.size not in (1, scale.size),
            f"it has {scale.size} scales and {zero.size} zero points for a constant of shape "
            f"{first.array.shape}, whose axis {axis} has {long}. One for all, or one for each.",
        )
        return FixedLevelArray(first.array.astype(np.int64), scale, zero, axis, first.width)

    def _quantized(self, node: Node, inputs: list[Value | None]) -> Value:
        first = inputs[0]
        array = first.floats if isinstance(first, FixedLevelArray) else floats_of(first)
        scale, zero, kind = self.grids(node, inputs, None)
        shape, axis = [1] * array.ndim, self.axis(node, array.ndim)
        if scale.size > 1:
            shape[axis] = scale.size
        low, high = self.range_of(inputs, kind)
        scales, zeros = (row.reshape(shape if row.size > 1 else ()) for row in (scale, zero))
        with np.errstate(over="ignore"):
            ratio = np.rint(array / scales)
        return FixedArray(np.clip(ratio.astype(np.float64) + zeros, low, high).astype(kind))

    def grids(self, node: Node, inputs: list[Value | None], kind: Any) -> tuple[Array, Ints, Any]:
        """Return scales, zero points and element type of QuantizeLinear or DequantizeLinear."""
        refuse_if(len(inputs) < 2, "its scale is missing.")
        scale = floats_of(inputs[1]).reshape(-1)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise FileError(f"its scale {scale[~(np.isfinite(scale) & (scale > 0))][0]} is not positive.")
        refuse_if(
            node.attributes.get("block_size", 0),
            "it quantizes in blocks, which is not supported. Quantize by tensor or channel.",
        )
        refuse_if(node.attributes.get("precision", 0) not in (0, 1), "its precision is not float32.")
        node.attributes.get("saturate")  # for 8-bit floats
        declared = node.attributes.get("output_dtype", 0)
        refuse_if(
            node.op == "DequantizeLinear" and declared not in (0, 1), "its output_dtype is not float32."
        )
        zero = inputs[2] if len(inputs) > 2 else None
        if zero is None:
            zeros = np.zeros(1, np.int64)
            if kind is None:
                kind = np.dtype(DTYPES.get(declared, "V")) if declared else np.dtype(np.uint8)
        else:
            zero = expected(zero, FixedArray, "its zero point is not a constant.")
            refuse_if(
                kind is not None and zero.array.dtype != kind,
                f"its zero point is {zero.array.dtype}, but its input {kind}.",
            )
            zeros, kind = zero.array.astype(np.int64).reshape(-1), zero.array.dtype
            refuse_if(
                node.op == "QuantizeLinear" and declared and np.dtype(DTYPES.get(declared, "V")) != kind,
                f"its output_dtype {declared} is not that of its zero point.",
            )
        refuse_if(
            np.dtype(kind).kind not in "iu" or (node.op == "QuantizeLinear" and kind.itemsize > 2),
            f"it quantizes to {kind}, but integers of up to 16 bits are required.",
        )
        return scale.astype(np.float32), zeros, np.dtype(kind)

    def axis(self, node: Node, rank: int) -> int:
        axis = int(node.attributes.get("axis", 1))
        refuse_if(
            "axis" in node.attributes and not -rank <= axis < max(rank, 2),
            f"its axis is {axis}, but its input has {rank} axes.",
        )
        return axis % rank if rank else 0

    def range_of(self, inputs: list[Value | None], kind: Any) -> tuple[int, int]:
        zero = inputs[2] if len(inputs) > 2 else None
        width = zero.width if isinstance(zero, FixedArray) else None
        return ends_of(kind, width)

    def grid(self, node: Node, inputs: list[Value | None], kind: Any = None) -> tuple[QuantGrid, Any]:
        """Return one scale and zero point for a whole tensor."""
        node.attributes.get("axis")
        scale, zero, element_type = self.grids(node, inputs, kind)
        refuse_if(
            scale.size != 1 or zero.size != 1,
            f"it has {max(scale.size, zero.size)} scales for one tensor of activations. "
            f"Quantize activations by tensor.",
        )
        return QuantGrid(scale[0], zero[0], *self.range_of(inputs, element_type)), element_type

    def float_path(self, where: str, why: str) -> None:
        refuse_if(self.strict, f"ONNX Runtime computes {where} in floats, because {why}. {_STRICT}.")
        self.inexact = True
        self.remarks.append(f"{where}: read in exact numbers; ONNX Runtime rounds its sums, because {why}")

    def kept_as_uint8(self, name: str) -> bool:
        """Return whether an int8 tensor is kept as uint8.

        This is so if a quantizer makes it, and one dequantizer reads it, which one node reads.
        """
        maker, readers = self.makers.get(name), self.readers[name]
        return (
            maker is not None
            and maker.op == "QuantizeLinear"
            and len(readers) == 1
            and isinstance(readers[0], Node)
            and readers[0].op == "DequantizeLinear"
            and len(self.readers[readers[0].outputs[0]]) == 1
        )

    def kind_of(self, node: Node) -> np.dtype[Any]:
        zero = self.values[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] else None
        return zero.array.dtype if isinstance(zero, FixedArray) else np.dtype(np.uint8)

    def live_clips(self, clips: Any, grid: QuantGrid) -> list[tuple[float, float]]:
        """Return the clips that a saturating quantizer does not make redundant."""
        low, high = (float(grid.scale) * (end - grid.zero) for end in (grid.low, grid.high))
        return [(a, b) for a, b in clips if a > low or b < high]


Rule: TypeAlias = Callable[[Walk, Node, list[Value | None]], Value]
