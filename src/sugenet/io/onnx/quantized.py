"""Integer networks in ONNX files, as `onnxruntime.quantization` writes them: QuantizeLinear and
DequantizeLinear around float operators (QDQ), or integer operators (QLinearConv, QGemm, MatMulInteger, ...).

The graph is walked once, in order. Every tensor of whole numbers becomes a wire of levels, every quantizer
the steps of a staircase, found on the arithmetic of ONNX Runtime (see `runtime`). What that computes in
floats, whose order of additions nothing fixes, is refused by name unless ``strict=False``, which reads it in
exact numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.integers import Operation, Pooling, Staircase, Wire, remapped
from sugenet.io.exact.joining import joined
from sugenet.io.exact.requantize import steps_of
from sugenet.io.onnx import runtime
from sugenet.io.onnx.attributes import checked, left_over
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node, Subgraph
from sugenet.io.onnx.quantized_values import (
    Added,
    Averaged,
    Fixed,
    FixedLevels,
    Joined,
    Levels,
    Linear,
    Raw,
    Tail,
    Tensor,
    Value,
    image,
)
from sugenet.io.onnx.runtime import Grid

__all__ = ["KNOWN", "Program", "is_quantized", "read_program"]

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
_REACH = (1 << 31) - 1
_DYNAMIC = (
    "dynamic quantization takes its scales from each input, so the file is no fixed function of levels. "
    "Quantize statically: onnxruntime.quantization.quantize_static with calibration data"
)
_ADVICE: dict[str, str] = {
    "DynamicQuantizeLinear": _DYNAMIC,
    "DynamicQuantizeMatMul": _DYNAMIC,
    "MatMulIntegerToFloat": _DYNAMIC,
    "QLinearSoftmax": "classes can tie behind a quantized softmax. Leave the softmax out of the model, or out "
    "of its quantization (nodes_to_exclude)",
    "QLinearMul": "a product of two tensors is no sum. Only additions of branches are supported",
    "QLinearSigmoid": "only Relu and Clip are supported between layers",
    "QLinearLeakyRelu": "only Relu and Clip are supported between layers",
    "MatMulNBits": "weights in blocks are not supported. Quantize to 8 bits with one scale for each channel",
    "Transpose": "only channels-first data are supported. Export the model channels-first (NCHW)",
}
_TAILS = {"Softmax", "LogSoftmax", "ArgMax", "Hardmax", "Sigmoid"}
_STRICT = (
    "strict=False reads it in exact numbers, which can differ from runtimes where a sum lies next to a tie"
)


@dataclass(frozen=True, eq=False)
class Program:
    """A quantized graph in integer operations."""

    graph: Graph
    raw: Raw | Levels
    """The input: floats in front of the first quantizer, or whole numbers."""
    start: Wire | None
    """The quantized input; None where it is whole numbers already."""
    start_grid: Grid | None
    operations: tuple[Operation, ...]
    end: Tensor | Levels | Linear
    """What the class scores are."""
    scores: str
    """The name of that tensor."""
    output: str
    lows: dict[str, int]
    """For each tensor of levels the whole number that level 0 is."""
    remarks: tuple[str, ...]
    left_out: tuple[str, ...]
    picks: bool
    exact: bool
    """Whether ONNX Runtime gives the same everywhere, by its own arithmetic."""


def is_quantized(graph: Graph) -> bool:
    """Whether a file holds integer quantization."""
    return any(node.op in _MARKS for node in graph.nodes)


def read_program(graph: Graph, *, strict: bool = True) -> Program:
    """The integer operations of a file.

    Raises
    ------
    FileError
        Where something cannot be read exactly: the message names the node and says what to do.
    """
    try:
        return _Walk(graph, strict).program()
    except FileError as error:
        raise FileError(f"{graph.source}: {error}") from error
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise FileError(
            f"{graph.source}: it could not be understood ({error!r}). If other programs read it, "
            f"please report it."
        ) from error


class _Walk:
    def __init__(self, graph: Graph, strict: bool) -> None:
        self.graph, self.strict = graph, strict
        self.values: dict[str, Value] = {
            name: Fixed(array, graph.widths.get(name)) for name, array in graph.constants.items()
        }
        self.operations: list[Operation] = []
        self.lows: dict[str, int] = {}
        self.remarks: list[str] = []
        self.start: Wire | None = None
        self.start_grid: Grid | None = None
        self.inexact = False
        needed = {port.name for port in graph.outputs}
        for node in reversed(graph.nodes):
            if any(name in needed for name in node.outputs if name):
                needed |= set(node.inputs)
        self.nodes = [node for node in graph.nodes if any(name in needed for name in node.outputs if name)]
        self.reads = Counter(name for node in self.nodes for name in node.inputs if name)
        self.reads.update(port.name for port in graph.outputs)
        self.readers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in node.inputs:
                self.readers.setdefault(name, []).append(node)
        self.makers = {name: node for node in self.nodes for name in node.outputs if name}
        unused = [name for name in graph.constants if name not in needed]
        if unused:
            raise FileError(
                f"the constant {unused[0][:60]!r} is not used by anything that leads to an output. "
                f"Remove it, or make it count."
            )
        idle = [port.name for port in graph.inputs if port.name not in needed]
        if idle:
            raise FileError(f"the input {idle[0][:60]!r} does not lead to any output. Remove it.")

    def program(self) -> Program:
        graph = self.graph
        if len(graph.inputs) != 1:
            raise FileError(f"it has {len(graph.inputs)} data inputs, but one is needed.")
        if len(graph.outputs) != 1:
            named = ", ".join(repr(port.name[:40]) for port in graph.outputs[:5])
            raise FileError(
                f"it has {len(graph.outputs)} outputs ({named}). Keep the class scores as the only output."
            )
        port = graph.inputs[0]
        raw = self._input(port)
        self.values[port.name] = raw
        for node in self.nodes:
            try:
                self._take(node)
            except FileError as error:
                raise FileError(f"{node}: {error}") from None
        output = graph.outputs[0].name
        value = self.values[output]
        tail = value if isinstance(value, Tail) else Tail(value, output, (), False)
        end = tail.scores
        if not isinstance(end, Tensor | Levels | Linear):
            raise FileError(
                f"its output {output[:60]!r} is {_word(end)}, which is not quantized. "
                f"Let a quantizer or a matrix product be the last operation."
            )
        return Program(
            graph,
            raw,
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

    def _input(self, port: Any) -> Raw | Levels:
        if port.shape is None or len(port.shape) < 2 or any(not size for size in port.shape[1:]):
            raise FileError(
                f"the data input {port.name[:60]!r} has shape {port.shape}, but only the batch may be open. "
                f"Export the model for one size of samples."
            )
        shape = tuple(int(size) for size in port.shape[1:])
        if prod(shape) > 1 << 20 or len(shape) > 3:
            raise FileError(f"the data input {port.name[:60]!r} has shape {port.shape}, which is too large.")
        kind = np.dtype(DTYPES.get(port.dtype, "V"))
        if kind == np.float32:
            return Raw(shape)
        if kind.kind in "iu" and kind.itemsize <= 2:
            return self._levels(port.name, shape, *_ends(kind), kind)
        raise FileError(
            f"the data input {port.name[:60]!r} has element type {port.dtype}. Use float32 or uint8."
        )

    def _levels(self, name: str, shape: tuple[int, ...], low: int, high: int, kind: Any) -> Levels:
        self.lows[name] = low
        return Levels(name, Wire(name, image(shape), high - low), low, np.dtype(kind), shape)

    # -- one node --------------------------------------------------------------------------------------------

    def _take(self, node: Node) -> None:
        if (node.domain, node.op) in self.graph.functions:
            raise FileError("it is a function that the file defines itself. Write functions out first.")
        if node.domain not in ("", "com.microsoft"):
            raise FileError(f"its domain {node.domain[:60]!r} is not known in quantized files.")
        if node.op not in KNOWN:
            raise FileError(f"{_ADVICE.get(node.op, 'it is not supported in quantized files')}.")
        if any(isinstance(value, Subgraph) for value in node.attributes.values()):
            raise FileError("it holds a graph, which is not supported.")
        counted = checked(node)
        given = [self.values[name] if name else None for name in node.inputs]
        if any(isinstance(value, Tail) for value in given):
            made = self._behind(counted, given)
        elif all(value is None or isinstance(value, Fixed | FixedLevels) for value in given):
            made = self._constant(counted, given)
        else:
            made = KNOWN[node.op](self, counted, given)
        unused = left_over(counted)
        if unused is not None:
            raise FileError(
                f"its attribute {unused} is {str(node.attributes[unused])[:60]!r}, which is not "
                f"supported here."
            )
        if any(node.outputs[1:]) and any(self.reads[name] for name in node.outputs[1:]):
            raise FileError("only its first output is supported.")
        self.values[node.outputs[0]] = made

    def _behind(self, node: Node, given: list[Value | None]) -> Value:
        tail = given[0]
        if not isinstance(tail, Tail) or node.op not in ("Identity", "Flatten", "Reshape", "Cast", "Squeeze"):
            raise FileError("it stands behind a softmax or the like, which must be the end of the network.")
        for name in node.attributes:
            node.attributes.get(name)
        return tail

    def _constant(self, node: Node, given: list[Value | None]) -> Value:
        if node.op == "Constant":
            found = [node.attributes[name] for name in node.attributes]
            if len(found) != 1:
                raise FileError(f"it has {len(found)} values, but one is needed.")
            array = (
                found[0]
                if isinstance(found[0], np.ndarray)
                else np.asarray(
                    found[0],
                    np.int64
                    if isinstance(found[0], int)
                    or (isinstance(found[0], tuple) and all(isinstance(v, int) for v in found[0]))
                    else np.float32,
                )
            )
            return Fixed(array)
        first = given[0]
        if node.op == "DequantizeLinear" and isinstance(first, Fixed):
            scale, zero, _ = self._grids(node, given, first.array.dtype)
            return FixedLevels(first.array.astype(np.int64), scale, zero, self._axis(node, first.array.ndim))
        if node.op == "QuantizeLinear":
            array = first.floats if isinstance(first, FixedLevels) else _floats(first)
            scale, zero, kind = self._grids(node, given, None)
            axis = self._axis(node, array.ndim)
            shape = [1] * array.ndim
            if scale.size > 1:
                shape[axis] = scale.size
            low, high = self._range(given, kind)
            with np.errstate(over="ignore"):
                ratio = np.rint(array / (scale.reshape(shape) if scale.size > 1 else scale.reshape(())))
            zeros = zero.reshape(shape) if zero.size > 1 else zero.reshape(())
            return Fixed(np.clip(ratio.astype(np.float64) + zeros, low, high).astype(kind))
        if node.op in ("Identity", "Dropout") and first is not None:
            return first
        if node.op == "Transpose" and isinstance(first, FixedLevels) and first.q.ndim == 2:
            perm = node.attributes.get("perm", (1, 0))
            if tuple(perm) == (1, 0):
                return FixedLevels(first.q.T, first.scale, first.zero, 1 - first.axis % 2)
        if node.op == "Mul" and all(isinstance(v, Fixed) for v in given):
            return Fixed(np.asarray(_floats(given[0]) * _floats(given[1]), np.float32))
        raise FileError("it computes constants. Fold them first: onnxruntime.quantization.quant_pre_process.")

    # -- quantizers ------------------------------------------------------------------------------------------

    def _grids(self, node: Node, given: list[Value | None], kind: Any) -> tuple[Array, Ints, Any]:
        """Scales, zero points and element type of QuantizeLinear or DequantizeLinear."""
        scale = _floats(given[1]).reshape(-1)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise FileError(f"its scale {scale[~(np.isfinite(scale) & (scale > 0))][0]} is not positive.")
        if node.attributes.get("block_size", 0):
            raise FileError("it quantizes in blocks, which is not supported. Quantize by tensor or channel.")
        if node.attributes.get("precision", 0) not in (0, 1):
            raise FileError("its precision is not float32.")
        node.attributes.get("saturate")  # of 8-bit floats
        said = node.attributes.get("output_dtype", 0)
        zero = given[2] if len(given) > 2 else None
        if zero is None:
            found = np.zeros(1, np.int64)
            if kind is None:
                kind = np.dtype(DTYPES.get(said, "V")) if said else np.dtype(np.uint8)
        else:
            if not isinstance(zero, Fixed):
                raise FileError("its zero point is no constant.")
            if kind is not None and zero.array.dtype != kind:
                raise FileError(f"its zero point is {zero.array.dtype}, but its input {kind}.")
            found, kind = zero.array.astype(np.int64).reshape(-1), zero.array.dtype
            if node.op == "QuantizeLinear" and said and np.dtype(DTYPES.get(said, "V")) != kind:
                raise FileError(f"its output_dtype {said} is not that of its zero point.")
        if np.dtype(kind).kind not in "iu":
            raise FileError(f"it quantizes to {kind}, but whole numbers are needed.")
        return scale.astype(np.float32), found, np.dtype(kind)

    def _axis(self, node: Node, rank: int) -> int:
        axis = int(node.attributes.get("axis", 1))
        return axis % rank if rank else 0

    def _range(self, given: list[Value | None], kind: Any) -> tuple[int, int]:
        zero = given[2] if len(given) > 2 else None
        width = zero.width if isinstance(zero, Fixed) else None
        return _ends(kind, width)

    def _grid(self, node: Node, given: list[Value | None], kind: Any = None) -> tuple[Grid, Any]:
        """One scale and zero point for a whole tensor."""
        node.attributes.get("axis")
        scale, zero, found = self._grids(node, given, kind)
        if scale.size != 1 or zero.size != 1:
            raise FileError(
                f"it has {max(scale.size, zero.size)} scales for one tensor of activations. "
                f"Quantize activations by tensor."
            )
        return Grid(scale[0], zero[0], *self._range(given, found)), found

    def dequantize(self, node: Node, given: list[Value | None]) -> Value:
        levels = given[0]
        if not isinstance(levels, Levels):
            raise FileError(f"it dequantizes {_word(levels)}, but whole numbers are needed.")
        grid, _ = self._grid(node, given, levels.kind)
        return Tensor.of(levels, Grid(grid.scale, grid.zero, levels.low, levels.low + levels.wire.top))

    def quantize(self, node: Node, given: list[Value | None]) -> Value:
        grid, kind = self._grid(node, given)
        return self._quantized(node, given[0], grid, kind, node.outputs[0])

    def _quantized(self, node: Node, value: Value | None, grid: Grid, kind: Any, name: str) -> Levels:
        match value:
            case Raw():
                if self.start is not None:
                    raise FileError("the input is quantized twice. Let one quantizer feed all branches.")
                made = self._levels(name, value.shape, grid.low, grid.high, kind)
                self.start, self.start_grid, self.first = made.wire, grid, value
                return made
            case Tensor():
                return self._mapped(node, value, grid, kind, name)
            case Linear():
                return self._summed(node, value, grid, kind, name)
            case Added():
                return self._sum_of_two(node, value, grid, kind, name)
            case Averaged():
                return self._average(node, value, grid, kind, name)
            case Joined():
                return self._side_by_side(value, grid, kind, name)
        raise FileError(f"it quantizes {_word(value)}, which is not supported.")

    def _result(self, name: str, shape: tuple[int, ...], grid: Grid, kind: Any) -> Levels:
        return self._levels(name, shape, grid.low, grid.high, kind)

    def _mapped(self, node: Node, value: Tensor, grid: Grid, kind: Any, name: str) -> Levels:
        table = runtime.quantized(value.table, grid)
        made = self._result(name, value.shape, grid, kind)
        wire = value.levels.wire
        self.operations.append(remapped(wire, name, _rising(table, grid.top), str(node)))
        return replace(made, wire=Wire(name, wire.shape, grid.top))

    # -- matrix products and convolutions --------------------------------------------------------------------

    def _summed(self, node: Node, value: Linear, grid: Grid, kind: Any, name: str) -> Levels:
        source, wire = value.source.levels, value.source.levels.wire
        assert value.source.grid is not None
        zero = value.source.grid.zero - source.low
        rows = value.weights.reshape(len(value.weights), -1)
        shift = zero * rows.sum(axis=1)
        low = np.minimum(rows, 0).sum(axis=1) * wire.top - shift
        high = np.maximum(rows, 0).sum(axis=1) * wire.top - shift
        if any(value.window.pads) and not 0 <= zero <= wire.top:
            raise FileError(f"its zero point {value.source.grid.zero} lies outside its own range.")
        most = int(
            max(np.abs(low + value.bias).max(), np.abs(high + value.bias).max(), -low.min(), high.max())
        )
        if most > _REACH:
            raise FileError(
                f"its sums can reach {most:,}, beyond the 32 bits of runtimes, where they wrap around. "
                f"Use smaller weights or fewer inputs."
            )
        clips, why = self._clipped(value.clips, grid), value.floats
        if clips and not why and not value.rescaled:
            why = f"it is clipped to {clips[0]} in front of a quantizer that reaches beyond"
        if not why and not value.rescaled and node.op == "QuantizeLinear":
            why = self._unfused(value, node)
        if value.rescaled:
            steps = steps_of(_spelled(value, grid), low, high, grid.top)
        elif why:
            self._float_path(value.where, why)
            scale = float(value.source.grid.scale)
            steps = np.array(
                [
                    runtime.exact_steps(
                        _exact(scale) * _exact(value.scales[c]),
                        _exact(scale) * _exact(value.scales[c]) * int(value.bias[c])
                        + (0 if value.shift is None else _exact(value.shift[c])),
                        grid,
                        list(value.clips),
                        int(low[c]),
                        int(high[c]),
                    )
                    for c in range(len(rows))
                ]
            )
        else:
            factors = runtime.multipliers(value.source.grid.scale, value.scales, grid.scale)
            if not np.isfinite(factors).all():
                raise FileError("its scales are so far apart that their ratio is infinite in float32.")
            steps = steps_of(runtime.requantizer(factors, value.bias, grid), low, high, grid.top)
        steps = np.where(steps == NEVER, NEVER, steps + shift[:, None])
        made = self._result(name, value.shape, grid, kind)
        self.operations.append(
            Staircase(
                value.where,
                (wire,),
                made.wire,
                value.weights,
                steps,
                value.window,
                value.groups,
                min(max(zero, 0), wire.top),
            )
        )
        return made

    def _float_path(self, where: str, why: str) -> None:
        if self.strict:
            raise FileError(f"ONNX Runtime computes {where} in floats, because {why}. {_STRICT}.")
        self.inexact = True
        self.remarks.append(f"{where}: read in exact numbers; ONNX Runtime rounds its sums, because {why}")

    def _clipped(self, clips: Any, grid: Grid) -> list[tuple[float, float]]:
        """The clips that a saturating quantizer does not make needless."""
        low, high = (float(grid.scale) * (end - grid.zero) for end in (grid.low, grid.high))
        return [(a, b) for a, b in clips if a > low or b < high]

    def _unfused(self, value: Linear, node: Node) -> str:
        """Why a runtime does not fuse the quantizers around an operator; empty where it does."""
        kinds = {value.source.levels.kind, self._zero_kind(node)}
        if any(kind.itemsize > 1 for kind in kinds):
            return "its tensors have 16 bits"
        if len(kinds) > 1:
            return "its input and its output have different element types"
        if kinds == {np.dtype(np.int8)}:
            for name in (value.source.levels.name, node.outputs[0]):
                if not self._as_uint8(name):
                    return (
                        f"{name!r} is int8 and read more than once, or an end of the graph. Quantize "
                        "activations to uint8, or with QuantFormat.QOperator"
                    )
        return ""

    def _zero_kind(self, node: Node) -> np.dtype[Any]:
        zero = self.values[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] else None
        return zero.array.dtype if isinstance(zero, Fixed) else np.dtype(np.uint8)

    def _as_uint8(self, name: str) -> bool:
        """Whether an int8 tensor is kept as uint8: made by a quantizer, read by one dequantizer that one node
        reads.
        """
        maker, readers = self.makers.get(name), self.readers.get(name, [])
        return (
            maker is not None
            and maker.op == "QuantizeLinear"
            and self.reads[name] == 1
            and len(readers) == 1
            and readers[0].op == "DequantizeLinear"
            and self.reads[readers[0].outputs[0]] == 1
        )

    def _tensor(self, value: Value | None) -> Tensor:
        if not isinstance(value, Tensor) or value.grid is None:
            raise FileError(f"its input is {_word(value)}, but a quantized tensor is needed.")
        return value

    def _weighted(
        self, node: Node, source: Tensor, weights: Value | None, bias: Value | None, out_axis: int
    ) -> tuple[Ints, Array, Ints, str, Array | None]:
        """Whole weights, their scales and the bias; and why it is computed in floats."""
        if not isinstance(weights, FixedLevels):
            raise FileError("its weights are not quantized. Quantize this layer too, or none behind it.")
        scales = weights.scales(out_axis)
        if scales is None:
            raise FileError("its weights have a scale for each input, but one for each output is needed.")
        count, why, shift = len(scales), "", None
        whole = np.zeros(count, np.int64)
        assert source.grid is not None
        if isinstance(bias, FixedLevels):
            wanted = np.float32(source.grid.scale) * scales
            if bias.q.size not in (1, count) or bias.zero.any():
                raise FileError(f"its bias has shape {bias.q.shape} for {count} outputs, or a zero point.")
            held = np.broadcast_to(bias.scale.reshape(-1), count) if bias.scale.size in (1, count) else None
            if held is None or (np.abs(held - wanted) > 4e-7 * np.abs(wanted)).any():
                raise FileError(
                    "the scale of its bias is not that of its input times that of its weights, as runtimes "
                    "take for granted."
                )
            whole = np.broadcast_to(bias.q.reshape(-1), count).astype(np.int64)
        elif isinstance(bias, Fixed):
            shift = (
                np.broadcast_to(_floats(bias).reshape(-1), count) if bias.array.size in (1, count) else None
            )
            if shift is None:
                raise FileError(f"its bias has shape {bias.array.shape} for {count} outputs.")
            if shift.any():
                why = "its bias is not quantized"
        elif bias is not None:
            raise FileError("its bias depends on the input.")
        return weights.whole, scales, whole, why, shift

    def matmul(self, node: Node, given: list[Value | None]) -> Value:
        source = self._tensor(given[0])
        return self._dense(node, source, given[1], None, transposed=False)

    def gemm(self, node: Node, given: list[Value | None]) -> Value:
        source = self._tensor(given[0])
        if node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("beta", 1.0) != 1:
            raise FileError("its alpha or beta is not 1. Fold them into the weights before quantizing.")
        if node.attributes.get("transA", 0):
            raise FileError("it transposes its input.")
        bias = given[2] if len(given) > 2 else None
        return self._dense(node, source, given[1], bias, transposed=bool(node.attributes.get("transB", 0)))

    def _dense(
        self, node: Node, source: Tensor, weights: Value | None, bias: Value | None, *, transposed: bool
    ) -> Linear:
        if len(source.shape) != 1:
            raise FileError(f"it multiplies data of shape {source.shape}. Flatten them first.")
        whole, scales, added, why, shift = self._weighted(node, source, weights, bias, 0 if transposed else 1)
        if whole.ndim != 2:
            raise FileError(f"its weights have shape {whole.shape}, but two axes are needed.")
        rows = whole if transposed else whole.T
        if rows.shape[1] != source.shape[0]:
            raise FileError(f"its weights are for {rows.shape[1]} inputs, but there are {source.shape[0]}.")
        window = Window((source.shape[0], 1, 1), 1)
        return Linear(
            str(node),
            node.op,
            source,
            rows[:, :, None, None],
            scales,
            added,
            window,
            1,
            (len(rows),),
            why,
            shift,
        )

    def conv(self, node: Node, given: list[Value | None]) -> Value:
        source = self._tensor(given[0])
        bias = given[2] if len(given) > 2 else None
        whole, scales, added, why, shift = self._weighted(node, source, given[1], bias, 0)
        return self._convolved(node, source, whole, scales, added, why, shift)

    def _convolved(
        self, node: Node, source: Tensor, whole: Ints, scales: Array, bias: Ints, why: str, shift: Any
    ) -> Linear:
        if len(source.shape) not in (2, 3) or whole.ndim != len(source.shape) + 1:
            raise FileError(f"it convolves data of shape {source.shape} with weights of shape {whole.shape}.")
        kernel = whole if whole.ndim == 4 else whole[:, :, None, :]
        window = self._window(node, source.shape, kernel.shape[2:])
        groups = int(node.attributes.get("group", 1))
        if groups < 1 or window.shape[0] != kernel.shape[1] * groups or len(kernel) % groups:
            raise FileError(
                f"its weights of shape {whole.shape} in {groups} groups do not fit {source.shape}."
            )
        shape = (
            (len(kernel), *window.positions) if len(source.shape) == 3 else (len(kernel), window.positions[1])
        )
        return Linear(str(node), node.op, source, kernel, scales, bias, window, groups, shape, why, shift)

    def _window(self, node: Node, shape: tuple[int, ...], kernel: tuple[int, ...]) -> Window:
        flat = len(shape) == 2
        named = node.attributes.get("kernel_shape", kernel[1:] if flat else kernel)
        sizes = (1, *named) if flat else tuple(named)
        if kernel and sizes != tuple(kernel):
            raise FileError(f"its kernel_shape is {named}, but its weights have {kernel}.")

        def two(name: str) -> tuple[int, int]:
            held = tuple(node.attributes.get(name, (1,) * (len(shape) - 1)))
            return (1, held[0]) if flat else (held[0], held[1])

        stride, dilation = two("strides"), two("dilations")
        held = tuple(node.attributes.get("pads", (0,) * (2 * (len(shape) - 1))))
        pads = (0, held[0], 0, held[1]) if flat else held
        mode = node.attributes.get("auto_pad", "NOTSET") or "NOTSET"
        _, height, width = image(shape)
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            ends = [
                max((-(-long // step) - 1) * step + spread * (size - 1) + 1 - long, 0)
                for long, step, spread, size in zip((height, width), stride, dilation, sizes, strict=True)
            ]
            less = [end // 2 if mode == "SAME_UPPER" else end - end // 2 for end in ends]
            pads = (less[0], less[1], ends[0] - less[0], ends[1] - less[1])
        elif mode not in ("NOTSET", "VALID"):
            raise FileError(f"its auto_pad is {mode!r}.")
        elif mode == "VALID" and any(pads):
            raise FileError("it has both pads and auto_pad.")
        if min(pads) < 0 or max(*pads, *sizes, *stride, *dilation) > 1 << 12:
            raise FileError(
                f"its window has pads {pads}, kernel {sizes}, strides {stride}, which do not fit."
            )
        return Window(image(shape), sizes, stride, dilation, pads)

    # -- the integer operators -------------------------------------------------------------------------------

    def _operand(self, node: Node, given: list[Value | None], place: int) -> tuple[Value | None, Grid]:
        """A whole tensor with the scale and zero point behind it."""
        value, scale = given[place], _floats(given[place + 1]).reshape(-1)
        zero = given[place + 2] if len(given) > place + 2 else None
        if scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0:
            raise FileError(f"its scale {scale[:3]} must be one positive number.")
        if isinstance(value, Levels):
            found = _zero(zero, value.kind)
            return Tensor.of(value, Grid(scale[0], found, value.low, value.low + value.wire.top)), Grid(
                scale[0], found, value.low, value.low + value.wire.top
            )
        if isinstance(value, Fixed):
            found = _zero(zero, value.array.dtype)
            levels = FixedLevels(value.array.astype(np.int64), scale.astype(np.float32), np.array([found]), 0)
            return levels, Grid(scale[0], found, *_ends(value.array.dtype, value.width))
        raise FileError(f"its input {place} is {_word(value)}, but whole numbers are needed.")

    def _weights(self, given: list[Value | None], place: int, axis: int) -> FixedLevels:
        value, zero = given[place], given[place + 2] if len(given) > place + 2 else None
        if not isinstance(value, Fixed) or value.array.dtype.kind not in "iu":
            raise FileError("its weights are no whole constants.")
        scale = _floats(given[place + 1]).reshape(-1)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise FileError("a scale of its weights is not positive.")
        zeros = np.zeros(1, np.int64) if zero is None else _whole(zero).reshape(-1)
        return FixedLevels(value.array.astype(np.int64), scale, zeros, axis)

    def _target(self, given: list[Value | None], place: int, kind: Any) -> tuple[Grid, Any]:
        scale = _floats(given[place]).reshape(-1)
        zero = given[place + 1] if len(given) > place + 1 else None
        if scale.size != 1 or not np.isfinite(scale[0]) or scale[0] <= 0:
            raise FileError(f"the scale of its output, {scale[:3]}, must be one positive number.")
        if isinstance(zero, Fixed):
            kind = zero.array.dtype
        return Grid(scale[0], _zero(zero, kind), *_ends(kind)), kind

    def qlinear_conv(self, node: Node, given: list[Value | None]) -> Value:
        given = given + [None] * (9 - len(given))
        source, _ = self._operand(node, given, 0)
        weights, tensor = self._weights(given, 3, 0), self._tensor(source)
        bias = given[8]
        whole, scales = weights.whole, weights.scales(0)
        assert scales is not None
        added = np.zeros(len(whole), np.int64) if bias is None else _whole(bias).reshape(-1)
        linear = self._convolved(node, tensor, whole, scales, added, "", None)
        grid, kind = self._target(given, 6, tensor.levels.kind)
        return self._quantized(node, linear, grid, kind, node.outputs[0])

    def qlinear_matmul(self, node: Node, given: list[Value | None]) -> Value:
        source, _ = self._operand(node, given, 0)
        tensor = self._tensor(source)
        linear = self._dense(node, tensor, self._weights(given, 3, 1), None, transposed=False)
        grid, kind = self._target(given, 6, tensor.levels.kind)
        return self._quantized(node, linear, grid, kind, node.outputs[0])

    def qgemm(self, node: Node, given: list[Value | None]) -> Value:
        given = given + [None] * (9 - len(given))
        source, _ = self._operand(node, given, 0)
        tensor = self._tensor(source)
        if node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("transA", 0):
            raise FileError("its alpha is not 1, or it transposes its input.")
        transposed = bool(node.attributes.get("transB", 0))
        weights = self._weights(given, 3, 0 if transposed else 1)
        linear = self._dense(node, tensor, weights, None, transposed=transposed)
        if given[6] is not None:
            bias = _whole(given[6]).reshape(-1)
            linear = replace(linear, bias=np.broadcast_to(bias, len(linear.weights)).astype(np.int64))
        if given[7] is None:
            return linear
        grid, kind = self._target(given, 7, tensor.levels.kind)
        return self._quantized(node, linear, grid, kind, node.outputs[0])

    def qlinear_add(self, node: Node, given: list[Value | None]) -> Value:
        left, _ = self._operand(node, given, 0)
        right, _ = self._operand(node, given, 3)
        value = self._adding(node, left, right)
        kind = next(v.levels.kind for v in (left, right) if isinstance(v, Tensor))
        grid, kind = self._target(given, 6, kind)
        return self._quantized(node, value, grid, kind, node.outputs[0])

    def qlinear_average(self, node: Node, given: list[Value | None]) -> Value:
        source, _ = self._operand(node, given, 0)
        if node.attributes.get("channels_last", 0):
            raise FileError(_ADVICE["Transpose"] + ".")
        value = (self.global_average if node.op == "QLinearGlobalAveragePool" else self.average)(
            node, [source]
        )
        tensor = self._tensor(source)
        grid, kind = self._target(given, 3, tensor.levels.kind)
        return self._quantized(node, value, grid, kind, node.outputs[0])

    def qlinear_concat(self, node: Node, given: list[Value | None]) -> Value:
        parts = []
        for place in range(2, len(given), 3):
            parts.append(self._operand(node, given, place)[0])
        value = self.concat(node, list(parts))
        assert isinstance(value, Joined)
        grid, kind = self._target(given, 0, value.parts[0].levels.kind)
        return self._quantized(node, value, grid, kind, node.outputs[0])

    def integer_product(self, node: Node, given: list[Value | None]) -> Value:
        """MatMulInteger and ConvInteger: the sums themselves, in 32 bits."""
        given = given + [None] * (4 - len(given))
        levels = given[0]
        if not isinstance(levels, Levels):
            raise FileError(f"its input is {_word(levels)}, but whole numbers are needed.")
        grid = Grid(1, _zero(given[2], levels.kind), levels.low, levels.low + levels.wire.top)
        one = Fixed(np.ones(1, np.float32))
        axis = 0 if node.op == "ConvInteger" else 1
        weights = self._weights([given[1], one, given[3]], 0, axis)
        source = Tensor.of(levels, grid)
        if node.op == "MatMulInteger":
            linear = self._dense(node, source, weights, None, transposed=False)
        else:
            scales = np.ones(len(weights.q), np.float32)
            linear = self._convolved(
                node, source, weights.whole, scales, np.zeros(len(weights.q), np.int64), "", None
            )
        return replace(linear, op="sums")

    # -- additions, averages, pools --------------------------------------------------------------------------

    def add(self, node: Node, given: list[Value | None]) -> Value:
        left, right = given
        for value, other in ((left, right), (right, left)):
            if isinstance(value, Raw) and isinstance(other, Fixed):
                return self._raw(node, value, other)
            if isinstance(value, Linear) and isinstance(other, Fixed | FixedLevels):
                return self._biased(value, other)
        return self._adding(node, left, right)

    def _adding(self, node: Node, left: Value | None, right: Value | None) -> Added:
        pair = [value for value in (left, right) if isinstance(value, Tensor) and value.grid is not None]
        if not pair or not all(isinstance(value, Tensor | FixedLevels) for value in (left, right)):
            raise FileError(f"it adds {_word(left)} and {_word(right)}; both must be quantized.")
        shapes = [value.shape for value in pair]
        if len(pair) == 2 and shapes[0] != shapes[1]:
            raise FileError(f"it adds tensors of shapes {shapes[0]} and {shapes[1]}, which differ.")
        assert isinstance(left, Tensor | FixedLevels) and isinstance(right, Tensor | FixedLevels)
        return Added(str(node), left, right, shapes[0])

    def _biased(self, value: Linear, other: Fixed | FixedLevels) -> Linear:
        """A bias behind a product."""
        array = _floats(other) if isinstance(other, Fixed) else other.floats
        row = _row(array, value.shape, len(value.weights))
        if value.op == "sums":
            if not value.rescaled:
                raise FileError("it adds to sums of 32 bits that were not rescaled.")
            return replace(value, rescaled=(*value.rescaled, lambda x: np.asarray(x + row[:, None])))
        if value.clips or value.shift is not None:
            raise FileError("it adds behind another addition or a clip.")
        return replace(value, shift=row, floats=value.floats or "its bias is a float Add of its own")

    def _sum_of_two(self, node: Node, value: Added, grid: Grid, kind: Any, name: str) -> Levels:
        left, right = value.left, value.right
        sides = [side for side in (left, right) if isinstance(side, Tensor)]
        kinds = [side.levels.kind for side in sides]
        clips = self._clipped(value.clips, grid)
        bytes_ = {np.dtype(k).itemsize for k in [*kinds, np.dtype(kind)]}
        if bytes_ != {1}:
            raise FileError("it adds numbers of 16 bits. Quantize additions to 8 bits.")
        by, fused = 0, not clips
        if node.op == "QuantizeLinear" and fused:
            names = [side.levels.name for side in sides]
            kept = [
                "uint8" if np.dtype(k) == np.uint8 or self._as_uint8(n) else "int8"
                for k, n in zip([*kinds, kind], [*names, name], strict=True)
            ]
            if any(isinstance(side, FixedLevels) for side in (left, right)):
                fused = fused and all(
                    side.scale.size == 1 for side in (left, right) if isinstance(side, FixedLevels)
                )
            fused = fused and len(set(kept)) == 1
            by = 128 if fused and np.dtype(kind) == np.int8 and kept[0] == "uint8" else 0
        made = self._result(name, value.shape, grid, kind)
        channels = image(value.shape)[0]
        if len(sides) == 2:
            assert isinstance(left, Tensor) and isinstance(right, Tensor)
            table = self._pairs(left, right, grid, by, value.clips if not fused else None)
            p, q, steps, wrong = joined(table, grid.top)
            if wrong:
                raise FileError(
                    f"{wrong:,} of its {table.size:,} pairs of levels do not agree with any weighted sum of "
                    f"the two, because of float rounding next to ties. Choose other scales for this addition."
                )
            each = np.eye(channels, dtype=np.int64)
            wires = tuple(side.levels.wire for side in (left, right))
            if wires[0] == wires[1]:
                weights, wires = (p + q) * each, wires[:1]
            else:
                weights = np.concatenate([p * each, q * each], axis=1)
            window = Window((channels * len(wires), *image(value.shape)[1:]), 1)
            self.operations.append(
                Staircase(
                    value.where,
                    wires,
                    made.wire,
                    weights[:, :, None, None],
                    np.repeat(steps, channels, axis=0),
                    window,
                )
            )
            return made
        side = sides[0]
        constant = right if isinstance(right, FixedLevels) else left
        assert isinstance(constant, FixedLevels)
        rows = []
        assert side.grid is not None
        places = _row(constant.q, value.shape, channels)
        spread = image(value.shape)[1] * image(value.shape)[2] > 1 or constant.q.size == 1 < prod(value.shape)
        for c in range(channels):
            if fused:
                fixed = Grid(constant.scale[0], int(constant.zero[0]), int(places[c]), int(places[c]))
                one, other = (side.grid, fixed) if constant is right or spread else (fixed, side.grid)
                found = runtime.added(one.moved(by), other.moved(by), grid.moved(by)).reshape(-1)
            else:
                shift = _row(constant.floats, value.shape, channels)[c]
                found = runtime.quantized(_clip(side.table + shift, value.clips), grid)
            rows.append(_rising(found, grid.top)[0])
        self.operations.append(
            remapped(side.levels.wire, name, np.array(rows), value.where, image(value.shape))
        )
        return made

    def _pairs(self, left: Tensor, right: Tensor, grid: Grid, by: int, clips: Any) -> Ints:
        """The level of every pair of levels."""
        if clips is None:
            assert left.grid is not None and right.grid is not None
            return runtime.added(left.grid.moved(by), right.grid.moved(by), grid.moved(by))
        return runtime.quantized(_clip(left.table[:, None] + right.table[None, :], clips), grid)

    def average(self, node: Node, given: list[Value | None]) -> Value:
        source = self._tensor(given[0])
        window = self._window(node, source.shape, ())
        if node.attributes.get("ceil_mode", 0) and not _fits_evenly(window):
            raise FileError("its ceil_mode adds windows that reach beyond the image.")
        counted = int(node.attributes.get("count_include_pad", 0))
        if any(window.pads) and not counted:
            raise FileError(
                "windows at the rim average fewer values (count_include_pad is 0). Pool without padding."
            )
        everything = window.kernel == image(source.shape)[1:] and not any(window.pads)
        return self._averaging(node, source, window, everything)

    def global_average(self, node: Node, given: list[Value | None]) -> Value:
        source = self._tensor(given[0])
        return self._averaging(node, source, Window(image(source.shape), image(source.shape)[1:]), True)

    def _averaging(self, node: Node, source: Tensor, window: Window, everything: bool) -> Averaged:
        if len(source.shape) not in (2, 3):
            raise FileError(f"it averages data of shape {source.shape}, but images are needed.")
        positions = window.positions if len(source.shape) == 3 else window.positions[1:]
        return Averaged(str(node), source, window, everything, (source.shape[0], *positions))

    def _average(self, node: Node, value: Averaged, grid: Grid, kind: Any, name: str) -> Levels:
        wire, given = value.source.levels.wire, value.source.grid
        assert given is not None
        zero, count = given.zero - value.source.levels.low, prod(value.window.kernel)
        if self._clipped(value.clips, grid):
            raise FileError(
                "averages are clipped in front of their quantizer, which runtimes compute in floats."
            )
        if node.op == "QuantizeLinear" and {value.source.levels.kind, np.dtype(kind)} not in (
            {np.dtype(np.uint8)},
            {np.dtype(np.int8)},
        ):
            raise FileError("its input and its output have different element types, or 16 bits.")
        if any(value.window.pads) and not 0 <= zero <= wire.top:
            raise FileError(f"its zero point {given.zero} lies outside its own range.")
        if value.everything:
            factor = np.array([given.scale / np.float32(grid.scale * np.float32(count))], np.float32)
            level = runtime.requantizer(factor, np.zeros(1, np.int64), grid)
            low, high = np.array([-zero * count]), np.array([(wire.top - zero) * count])
            steps = steps_of(level, low, high, grid.top)
            steps = np.where(steps == NEVER, NEVER, steps + zero * count)
        else:
            source = Grid(
                given.scale, given.zero, value.source.levels.low, value.source.levels.low + wire.top
            )
            least, largest, many = runtime.averages(source, count, count, grid)
            undecided = int((least != largest).sum())
            if many or undecided:
                why = "float32 sums depend on their order" + (
                    f", and that decides {undecided} of its {count * wire.top + 1} sums" if undecided else ""
                )
                self._float_path(value.where, why)
                exact = runtime.exact_steps(
                    _exact(given.scale) / count,
                    -_exact(given.scale) / count * zero * count,
                    grid,
                    [],
                    0,
                    count * wire.top,
                )
                steps = np.array([exact])
            else:
                steps = _rising(least, grid.top)
        channels = image(value.shape)[0]
        made = self._result(name, value.shape, grid, kind)
        self.operations.append(
            Staircase(
                value.where,
                (wire,),
                made.wire,
                np.ones((channels, 1, *value.window.kernel), np.int64),
                np.repeat(steps, channels, axis=0),
                value.window,
                channels,
                min(max(zero, 0), wire.top),
            )
        )
        return made

    def pool(self, node: Node, given: list[Value | None]) -> Value:
        source = given[0]
        if not isinstance(source, Tensor | Levels):
            raise FileError(f"it pools {_word(source)}, but a quantized tensor is needed.")
        if len(source.shape) not in (2, 3):
            raise FileError(f"it pools data of shape {source.shape}, but images are needed.")
        window = self._window(node, source.shape, ())
        if node.attributes.get("ceil_mode", 0) and not _fits_evenly(window):
            raise FileError("its ceil_mode adds windows that reach beyond the image. Crop or pad it first.")
        if not (window.taps >= 0).any(axis=1).all():
            raise FileError("some of its windows hold nothing but padding.")
        levels = source.levels if isinstance(source, Tensor) else source
        if isinstance(source, Tensor) and (np.diff(source.table) < 0).any():
            raise FileError("it pools values that fall with their level.")
        positions = window.positions if len(source.shape) == 3 else window.positions[1:]
        shape = (source.shape[0], *positions)
        name = node.outputs[0]
        wire = Wire(name, image(shape), levels.wire.top)
        self.operations.append(Pooling(str(node), (levels.wire,), wire, window))
        self.lows[wire.name] = levels.low
        made = replace(
            levels, name=name if isinstance(source, Levels) else levels.name, wire=wire, shape=shape
        )
        return made if isinstance(source, Levels) else replace(source, levels=made, shape=shape)

    def concat(self, node: Node, given: list[Value | None]) -> Value:
        parts = [self._tensor(value) for value in given]
        axis = int(node.attributes.get("axis", 1))
        rank = len(parts[0].shape) + 1
        if axis % rank != 1 or len({part.shape[1:] for part in parts}) > 1:
            raise FileError("it joins tensors along another axis than their channels.")
        return Joined(str(node), tuple(parts), (sum(part.shape[0] for part in parts), *parts[0].shape[1:]))

    def _side_by_side(self, value: Joined, grid: Grid, kind: Any, name: str) -> Levels:
        steps = []
        for part in value.parts:
            row = _rising(runtime.quantized(_clip(part.table, value.clips), grid), grid.top)
            steps.append(np.repeat(row, image(part.shape)[0], axis=0))
        wires = tuple(part.levels.wire for part in value.parts)
        if len(set(wires)) < len(wires):
            raise FileError("it joins a tensor with itself.")
        made = self._result(name, value.shape, grid, kind)
        channels, *size = image(value.shape)
        self.operations.append(
            Staircase(
                value.where,
                wires,
                made.wire,
                np.eye(channels, dtype=np.int64)[:, :, None, None],
                np.concatenate(steps),
                Window((channels, *size), 1),
            )
        )
        return made

    # -- value by value --------------------------------------------------------------------------------------

    def clip(self, node: Node, given: list[Value | None]) -> Value:
        low, high = 0.0, inf
        if node.op == "Clip":
            ends = [given[k] if k < len(given) else None for k in (1, 2)]
            low, high = (
                float(node.attributes.get(name, default)) if end is None else float(_number(end))
                for name, end, default in (("min", ends[0], -inf), ("max", ends[1], inf))
            )
        value = given[0]
        if isinstance(value, Tensor):
            return replace(value, table=_clip(value.table, ((low, high),)), grid=None)
        if isinstance(value, Levels):
            table = np.clip(value.values, low, high).astype(np.int64) - value.low
            name = node.outputs[0]
            wire = Wire(name, value.wire.shape, value.wire.top)
            self.operations.append(remapped(value.wire, name, _rising(table, value.wire.top), str(node)))
            self.lows[name] = value.low
            return replace(value, name=name, wire=wire)
        if isinstance(value, Linear) and value.op == "sums":
            return replace(value, rescaled=(*value.rescaled, lambda x: _clip(x, ((low, high),))))
        if isinstance(value, Linear | Added | Averaged | Joined):
            return replace(value, clips=(*value.clips, (low, high)))
        if isinstance(value, Raw):
            return replace(value, steps=(*value.steps, lambda x: _clip(x, ((low, high),))))
        raise FileError(f"it clips {_word(value)}.")

    def scale(self, node: Node, given: list[Value | None]) -> Value:
        """Mul, Sub and Div of the input, or of sums that are rescaled."""
        left, right = given
        if isinstance(left, Fixed) and node.op == "Mul":
            left, right = right, left
        if isinstance(left, Raw) and isinstance(right, Fixed):
            return self._raw(node, left, right)
        if isinstance(left, Linear) and left.op == "sums" and isinstance(right, Fixed) and node.op == "Mul":
            if not left.rescaled:
                raise FileError("it multiplies sums of 32 bits. Cast them to float first.")
            row = _row(_floats(right), left.shape, len(left.weights))
            if (row < 0).any():
                raise FileError("a scale is negative.")
            return replace(left, rescaled=(*left.rescaled, lambda x: np.asarray(x * row[:, None])))
        raise FileError(f"it combines {_word(left)} with {_word(right)}; write it as part of a layer.")

    def _raw(self, node: Node, value: Raw, other: Fixed) -> Raw:
        """Arithmetic of the input in float32, such as its normalization."""
        array = _floats(other)
        held = np.broadcast_to(
            array.reshape(array.shape[-len(value.shape) :] if array.ndim > len(value.shape) else array.shape),
            value.shape,
        ).reshape(-1)
        if node.op in ("Mul", "Div") and (held <= 0).any():
            raise FileError("it turns the input around: factors must be positive.")
        apply = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[node.op]
        return replace(value, steps=(*value.steps, lambda x: np.asarray(apply(x, held), np.float32)))

    def cast(self, node: Node, given: list[Value | None]) -> Value:
        value = given[0]
        if node.attributes.get("to") != 1:
            raise FileError("it casts to something else than float32.")
        node.attributes.get("saturate"), node.attributes.get("round_mode")
        if isinstance(value, Linear) and value.op == "sums" and not value.rescaled:
            return replace(value, rescaled=(lambda x: x.astype(np.float32),))
        if isinstance(value, Levels):
            return Tensor.of(value, Grid(1, 0, value.low, value.low + value.wire.top))
        raise FileError(f"it casts {_word(value)}.")

    def reshape(self, node: Node, given: list[Value | None]) -> Value:
        value = given[0]
        shape = getattr(value, "shape", None)
        if shape is None or not isinstance(value, Raw | Levels | Tensor | Linear):
            raise FileError(f"it reshapes {_word(value)}.")
        size = prod(shape)
        if node.op == "Flatten":
            if int(node.attributes.get("axis", 1)) != 1:
                raise FileError("its axis is not 1.")
            new: tuple[int, ...] = (size,)
        elif node.op == "Squeeze":
            axes = node.attributes.get("axes") or (
                _whole(given[1]).reshape(-1).tolist() if len(given) > 1 and given[1] is not None else None
            )
            if axes is None:
                axes = [k + 1 for k, long in enumerate(shape) if long == 1]
            drop = {int(axis) % (len(shape) + 1) for axis in axes}
            if 0 in drop or any(shape[axis - 1] != 1 for axis in drop):
                raise FileError(f"it squeezes axes {list(axes)} of data of shape {shape}.")
            new = tuple(long for k, long in enumerate(shape) if k + 1 not in drop)
        else:
            target = _whole(given[1]).reshape(-1).tolist()
            if node.attributes.get("allowzero", 0) and 0 in target:
                raise FileError("its allowzero makes an empty tensor.")
            kept = [shape[k - 1] if long == 0 and k else long for k, long in enumerate(target)][1:]
            known = prod(long for long in kept if long > 0)
            new = tuple(size // max(known, 1) if long == -1 else long for long in kept)
            if prod(new) != size or not new or (target[0] == -1 and -1 in target[1:]):
                raise FileError(f"it reshapes samples of shape {shape} to {target}, across the batch.")
        if isinstance(value, Linear):
            if len(new) != 1 or value.window.positions != (1, 1):
                raise FileError("it reshapes sums in front of their quantizer.")
            return replace(value, shape=new)
        if isinstance(value, Tensor | Levels):
            levels = value.levels if isinstance(value, Tensor) else value
            moved = replace(levels, shape=new)
            return moved if isinstance(value, Levels) else replace(value, levels=moved, shape=new)
        return replace(value, shape=new)

    def same(self, node: Node, given: list[Value | None]) -> Value:
        if given[0] is None or any(value is not None for value in given[1:]):
            for value in given[1:]:
                if value is not None and not isinstance(value, Fixed):
                    raise FileError("it has another input that depends on the data.")
        assert given[0] is not None
        return given[0]

    def tail(self, node: Node, given: list[Value | None]) -> Value:
        value = given[0]
        if not isinstance(value, Tensor | Levels | Linear):
            raise FileError(f"it takes {_word(value)}.")
        rank = len(value.shape) + 1
        axis = node.attributes.get("axis", 0 if node.op == "ArgMax" else -1)
        if node.op != "Sigmoid" and (rank != 2 or axis % rank != 1):
            raise FileError(f"its axis is {axis}, but class scores lie on axis 1 of 2.")
        for name in ("keepdims", "axis"):
            node.attributes.get(name)
        if node.attributes.get("select_last_index", 0):
            raise FileError("a tie goes to the last class there. Let it go to the first.")
        return Tail(value, node.inputs[0], (str(node),), node.op in ("ArgMax", "Hardmax"))


Rule: TypeAlias = Callable[[_Walk, Node, list[Value | None]], Value]

KNOWN: dict[str, Rule] = {
    "Add": _Walk.add,
    "AveragePool": _Walk.average,
    "Cast": _Walk.cast,
    "Clip": _Walk.clip,
    "Concat": _Walk.concat,
    "Constant": _Walk.same,
    "Conv": _Walk.conv,
    "ConvInteger": _Walk.integer_product,
    "DequantizeLinear": _Walk.dequantize,
    "Div": _Walk.scale,
    "Dropout": _Walk.same,
    "Flatten": _Walk.reshape,
    "Gemm": _Walk.gemm,
    "GlobalAveragePool": _Walk.global_average,
    "Identity": _Walk.same,
    "MatMul": _Walk.matmul,
    "MatMulInteger": _Walk.integer_product,
    "MaxPool": _Walk.pool,
    "Mul": _Walk.scale,
    "QGemm": _Walk.qgemm,
    "QLinearAdd": _Walk.qlinear_add,
    "QLinearAveragePool": _Walk.qlinear_average,
    "QLinearConcat": _Walk.qlinear_concat,
    "QLinearConv": _Walk.qlinear_conv,
    "QLinearGlobalAveragePool": _Walk.qlinear_average,
    "QLinearMatMul": _Walk.qlinear_matmul,
    "QuantizeLinear": _Walk.quantize,
    "Relu": _Walk.clip,
    "Reshape": _Walk.reshape,
    "Squeeze": _Walk.reshape,
    "Sub": _Walk.scale,
    "Transpose": _Walk.same,
    **dict.fromkeys(_TAILS, _Walk.tail),
}


def _spelled(value: Linear, grid: Grid) -> Callable[[Ints], Ints]:
    """Sums that the file itself rescales in float32, quantized."""

    def level(sums: Ints) -> Ints:
        made: Any = sums
        for step in value.rescaled:
            made = step(made)
        return runtime.quantized(made, grid)

    return level


def _rising(table: Ints, height: int) -> Ints:
    """A rising table of levels as thresholds on its index."""
    if (np.diff(table) < 0).any():
        raise FileError("its levels fall where its input rises.")
    first = np.searchsorted(table, np.arange(1, height + 1), side="left")
    return np.where(first == len(table), NEVER, first)[None, :]


def _clip(x: Any, clips: Any) -> Any:
    for low, high in clips:
        x = np.minimum(np.maximum(x, np.float32(low)), np.float32(high))
    return np.asarray(x, np.float32)


def _ends(kind: Any, width: int | None = None) -> tuple[int, int]:
    if width is not None:
        return (
            (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            if np.dtype(kind).kind == "i"
            else (0, (1 << width) - 1)
        )
    if np.dtype(kind).kind not in "iu":
        raise FileError(f"it quantizes to {kind}, but whole numbers are needed.")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _floats(value: Value | None) -> Array:
    if not isinstance(value, Fixed) or value.array.dtype != np.float32:
        raise FileError("one of its constants is missing or is not float32.")
    if not np.isfinite(value.array).all():
        raise FileError("one of its constants is not finite.")
    return value.array


def _whole(value: Value | None) -> Ints:
    if not isinstance(value, Fixed) or value.array.dtype.kind not in "iu":
        raise FileError("one of its constants is missing or holds no whole numbers.")
    return value.array.astype(np.int64)


def _number(value: Value) -> Any:
    if not isinstance(value, Fixed) or value.array.size != 1:
        raise FileError("one of its bounds is no single constant.")
    return value.array.reshape(-1)[0]


def _zero(value: Value | None, kind: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, Fixed) or value.array.size != 1 or value.array.dtype != np.dtype(kind):
        raise FileError("its zero point is not one constant of the element type of its tensor.")
    return int(value.array.reshape(-1)[0])


def _row(array: Array, shape: tuple[int, ...], channels: int) -> Array:
    """One number for each channel, where a constant is added to data of a shape."""
    while array.ndim > len(shape) and array.shape[0] == 1:
        array = array[0]
    full = np.broadcast_to(array, shape).reshape(channels, -1)
    if (full != full[:, :1]).any():
        raise FileError("it adds a constant that differs within a channel.")
    return full[:, 0]


def _exact(value: Any) -> Fraction:
    return Fraction(float(value))


def _fits_evenly(window: Window) -> bool:
    (top, left, bottom, right), (_, height, width) = window.pads, window.shape
    reach = [d * (k - 1) + 1 for d, k in zip(window.dilation, window.kernel, strict=True)]
    return (height + top + bottom - reach[0]) % window.stride[0] == 0 and (
        width + left + right - reach[1]
    ) % window.stride[1] == 0


def _word(value: Value | None) -> str:
    words = {
        Fixed: "a constant",
        FixedLevels: "a quantized constant",
        Raw: "the unquantized input",
        Levels: "whole numbers",
        Tensor: "a float tensor of levels",
        Linear: "a product in front of its quantizer",
        Added: "a sum in front of its quantizer",
        Averaged: "averages in front of their quantizer",
        Joined: "joined tensors in front of their quantizer",
        Tail: "a softmax or the like",
    }
    return "nothing" if value is None else words[type(value)]
