"""Run a quantized ONNX graph in integers and float32, operator by operator, to verify an import.

It shares only the parser of the file, the tables of operators and the rules of their shapes with the reader.
A float operator between quantizers keeps its integer sums until the quantizer. It is then rounded like the
integer operators of ONNX Runtime.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.onnx.interpreter.windows import cut, window_axes
from sugenet.io.onnx.operators import checked, constant_value, rearrangement
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn.arrays import Bits

__all__ = ["IntegerRun"]

_f = np.float32
_Floats: TypeAlias = npt.NDArray[np.float32]
_Clips: TypeAlias = tuple[tuple[float, float], ...]
_MAX_INPUTS = 9
_UINT8: np.dtype[Any] = np.dtype(np.uint8)
_SAMPLES = 1_000_003
"""A prime that replaces the batch size where only the shape of a sample matters."""


@dataclass
class _IntegerSums:
    """Integer sums with one factor per output channel, on axis 1."""

    sums: Array
    factor: _Floats
    shift: _Floats | None = None
    clips: _Clips = ()
    floats: bool = False

    @property
    def doubles(self) -> Array:
        wide = self.sums * _channels(self.factor.astype(np.float64), self.sums)
        return wide if self.shift is None else wide + _channels(self.shift.astype(np.float64), self.sums)

    @property
    def values(self) -> Array:
        if self.shift is not None or self.clips:
            return self.doubles
        return np.asarray(self.sums.astype(_f) * _channels(self.factor, self.sums))


@dataclass
class _Pair:
    """Two dequantized tensors to be added."""

    names: tuple[str, str]
    clips: _Clips = ()


@dataclass
class _Mean:
    """Windows to be averaged: the name of the dequantized tensor, and the node."""

    name: str
    node: Node
    clips: _Clips = ()


@dataclass
class _Scaled:
    """A dequantized tensor."""

    whole: Array
    scale: _Floats
    zero: Array
    axis: int
    quantized: str

    @property
    def centred(self) -> Array:
        return self.whole.astype(np.int64) - _laid(self.zero, self.whole.ndim, self.axis)

    @property
    def values(self) -> _Floats:
        return np.asarray(self.centred.astype(_f) * _laid(self.scale, self.whole.ndim, self.axis))


@dataclass
class _LevelGrid:
    """The grid that a tensor is quantized to."""

    scale: np.float32
    zero: int
    kind: np.dtype[Any]
    width: int | None = None

    @property
    def ends(self) -> tuple[int, int]:
        if self.width:
            half = 2 ** (self.width - 1)
            return (-half, half - 1) if self.kind.kind == "i" else (0, 2 * half - 1)
        return int(np.iinfo(self.kind).min), int(np.iinfo(self.kind).max)

    def live(self, clips: _Clips) -> bool:
        """Return whether a clip cuts off more than the ends do."""
        low, high = (float(self.scale) * (end - self.zero) for end in self.ends)
        return any(a > low or b < high for a, b in clips)

    def levels(self, ratio: Array, zero: Any) -> Array:
        """Return values in units of the scale, rounded, shifted and cut off at the ends."""
        return np.asarray(np.clip(np.rint(ratio).astype(np.float64) + zero, *self.ends).astype(self.kind))


def _grid(scale: Any, zero: Any, kind: np.dtype[Any] = _UINT8, width: int | None = None) -> _LevelGrid:
    """Return one scale and zero point, whose element type is that of the tensor (default: `kind`)."""
    return _LevelGrid(_row(scale)[0], int(_zero(zero)[0]), kind if zero is None else zero.dtype, width)


class IntegerRun:
    """A graph that is run on batches; `tensors` of a run are its integer tensors by name."""

    def __init__(self, graph: Graph, scores: str) -> None:
        self.graph, self.scores = graph, scores
        self.nodes, _ = graph.leading_to(scores)
        self.reads: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self.reads.setdefault(name, []).append(node)
        self.ends = {port.name for port in graph.outputs}
        self.input = graph.inputs[0]
        self.unsure = np.zeros(0, bool)

    def __call__(self, x: Array) -> tuple[Array, dict[str, Array], Bits]:
        """Return scores, integer tensors, and the samples that depend on the rounding of floats."""
        assert self.input.shape is not None
        kind = np.dtype(DTYPES[self.input.dtype])
        self.known: dict[str, Any] = dict(self.graph.constants)
        self.known[self.input.name] = x.reshape(len(x), *self.input.shape[1:]).astype(kind)
        self.seen: dict[str, Array] = {}
        self.unsure = np.zeros(len(x), bool)
        self.narrow = set(self.graph.widths)
        for node in self.nodes:
            try:
                self.known[node.outputs[0]] = self._run(node)
            except FileError as error:
                raise UncomparableError(f"{node}: {error}") from None
            except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
                raise UncomparableError(f"{node}: it does not fit its inputs ({str(error)[:100]}).") from None
        return _plain(self.known[self.scores]).reshape(len(x), -1), self.seen, self.unsure

    def _run(self, node: Node) -> Any:
        rule = required(
            _RULES.get(node.op), "the interpreter of quantized files does not know this operator."
        )
        inputs = [self.known[name] if name else None for name in node.inputs]
        return rule(self, checked(node), [*inputs, *[None] * (_MAX_INPUTS - len(inputs))])

    def _show(self, node: Node, levels: Array) -> Array:
        self.seen[node.outputs[0]] = levels
        return levels

    def _doubt(self, ratio: Array) -> None:
        """Mark the samples with a value so close to a tie that floats may round it either way."""
        close = np.abs(np.abs(ratio - np.floor(ratio)) - 0.5) < 1e-4
        self.unsure |= close.reshape(len(ratio), -1).any(axis=1)

    def _unturned(self, name: str) -> bool:
        """Return whether an int8 tensor stays int8. Between a quantizer and a single use it is kept as
        uint8.
        """
        readers = self.reads.get(name, [])
        made = any(node.op == "QuantizeLinear" and name in node.outputs for node in self.graph.nodes)
        if not made or name in self.ends or len(readers) != 1 or readers[0].op != "DequantizeLinear":
            return True
        inner = readers[0].outputs[0]
        return len(self.reads.get(inner, [])) + (inner in self.ends) != 1

    # -- products --------------------------------------------------------------------------------------------

    def _sums(self, node: Node, x: _Scaled, w: _Scaled) -> _IntegerSums:
        factor = np.asarray(x.scale[0] * w.scale, _f)
        if "Conv" not in node.op:
            return _IntegerSums(x.centred @ (w.centred.T if _is_turned(node) else w.centred), factor)
        weights, groups = w.centred, node.attributes["group"]
        taps = _windows(x.centred, node, weights.shape[2:], 0)  # (batch, channels, positions..., taps)
        out, each = weights.shape[:2]
        rows = weights.reshape(groups, out // groups, each, -1)
        laid = taps.reshape(len(taps), groups, each, *taps.shape[2:])
        sums = np.einsum("goct,bgc...t->bgo...", rows, laid)
        return _IntegerSums(sums.reshape(len(taps), out, *taps.shape[2:-1]), factor)

    def _product(self, node: Node, inputs: list[Any]) -> _IntegerSums:
        x, w, bias = inputs[:3]
        scaled = isinstance(x, _Scaled) and isinstance(w, _Scaled)
        refuse_if(not scaled, "it does not read quantized numbers.")
        made = self._sums(node, x, w)
        if isinstance(bias, _Scaled):
            made.sums = made.sums + _channels(bias.centred.reshape(-1), made.sums)
        elif bias is not None:
            made.shift, made.floats = _row(bias), True
        kind = np.asarray(x.whole).dtype
        made.floats |= kind.itemsize > 1 or x.quantized in self.narrow or w.quantized in self.narrow
        made.floats |= kind == np.int8 and self._unturned(x.quantized)
        return made

    def _fused(self, node: Node, inputs: list[Any]) -> Any:
        """Return an integer product with its quantizer."""
        bias, scale = (6, 7) if node.op == "QGemm" else (8, 6)
        x = _operand(inputs, 0, node.inputs[0])
        made = self._sums(node, x, _operand(inputs, 3, axis=_weight_axis(node)))
        if inputs[bias] is not None:
            made.sums = made.sums + _channels(inputs[bias].astype(np.int64).reshape(-1), made.sums)
        if inputs[scale] is None:
            return made
        return self._whole(node, made, _grid(inputs[scale], inputs[scale + 1], x.whole.dtype))

    def _product_in_integers(self, node: Node, inputs: list[Any]) -> Array:
        ones = np.ones(1, _f)
        x = _Scaled(inputs[0], ones, _zero(inputs[2]), 1, node.inputs[0])
        return self._sums(node, x, _Scaled(inputs[1], ones, _zero(inputs[3]), _weight_axis(node), "")).sums

    # -- quantizers ------------------------------------------------------------------------------------------

    def _quantize(self, node: Node, inputs: list[Any]) -> Any:
        value, scale, zero = inputs[:3]
        width = self.graph.widths.get(node.inputs[2]) if zero is not None else None
        if zero is None and node.attributes["output_dtype"]:
            zero = np.zeros(1, DTYPES[node.attributes["output_dtype"]])
        if width:
            self.narrow.add(node.outputs[0])
        grid = _grid(scale, zero, width=width)
        if isinstance(value, _IntegerSums):
            mixed = grid.kind == np.int8 and self._unturned(node.outputs[0])
            floats = value.floats or mixed or bool(width) or grid.kind.itemsize > 1
            return self._whole(node, replace(value, floats=floats), grid)
        if isinstance(value, _Pair):
            return self._show(node, self._pair(value, node.outputs[0], grid))
        if isinstance(value, _Mean):
            source = self.known[value.name]
            refuse_if(not isinstance(source, _Scaled), "it averages what is not quantized.")
            return self._show(node, self._mean(source, value.node, grid))
        if isinstance(value, np.ndarray) and node.inputs[0] in self.graph.constants:
            scales, zeros = (
                _laid(row, value.ndim, node.attributes["axis"]) for row in (_row(scale), _zero(zero))
            )
            return grid.levels(value / scales, zeros)
        return self._show(node, _to_integer(_plain(value), grid))

    def _whole(self, node: Node, value: _IntegerSums, grid: _LevelGrid) -> Array:
        if value.floats or grid.live(value.clips):
            wide = value.doubles
            for a, b in value.clips:
                wide = np.clip(wide, a, b)
            ratio: Array = wide / np.float64(grid.scale)
            self._doubt(ratio)
        else:
            ratio = value.sums.astype(_f) * _channels((value.factor / grid.scale).astype(_f), value.sums)
        return self._show(node, grid.levels(ratio, grid.zero))

    # -- sums of two, averages, clips ------------------------------------------------------------------------

    def _add(self, node: Node, inputs: list[Any]) -> Any:
        left, right = inputs[:2]
        for value, other in ((left, right), (right, left)):
            if isinstance(value, _IntegerSums) and isinstance(other, np.ndarray | _Scaled):
                return replace(value, shift=_plain(other).reshape(-1), floats=True)
        if isinstance(left, _Scaled) and isinstance(right, _Scaled):
            return _Pair((node.inputs[0], node.inputs[1]))
        return np.asarray(_plain(left) + _plain(right))

    def _pair(self, value: _Pair, name: str, grid: _LevelGrid) -> Array:
        a, b = (self.known[one] for one in value.names)
        kind = grid.kind
        tensors = [side.quantized for side in (a, b) if side.quantized not in self.graph.constants]
        held = ["s" if kind != np.uint8 and self._unturned(one) else "u" for one in [*tensors, name]]
        mixed = any(side.scale.size > 1 or side.whole.dtype != kind for side in (a, b))
        if mixed or len(set(held)) > 1 or grid.live(value.clips):
            total = a.values + b.values
            for x, y in value.clips:
                total = np.clip(total, _f(x), _f(y))
            return grid.levels(total / grid.scale, grid.zero)
        by = 128 if kind == np.int8 and held[0] == "u" else 0
        return _added(a, b, grid, by, a.quantized in self.graph.constants)

    def _quantized_add(self, node: Node, inputs: list[Any]) -> Array:
        a, b = (_operand(inputs, index, node.inputs[index]) for index in (0, 3))
        grid = _grid(inputs[6], inputs[7], np.asarray(inputs[0]).dtype)
        return self._show(node, _added(a, b, grid, 0, node.inputs[0] in self.graph.constants))

    def _mean(self, x: _Scaled, node: Node, grid: _LevelGrid) -> Array:
        size = x.whole.shape[2:]
        kernel, pads = (
            node.attributes.get(name, value) for name, value in (("kernel_shape", size), ("pads", ()))
        )
        if tuple(kernel) == size and not any(pads):
            factor = x.scale[0] / _f(grid.scale * _f(int(np.prod(size))))
            sums = x.centred.reshape(*x.whole.shape[:2], -1).sum(axis=-1)
            made = grid.levels(sums.astype(_f) * factor, grid.zero)
            return made.reshape(*made.shape, *(1,) * len(size))
        taps = _windows(x.values, node, None, 0.0)
        count = taps.shape[-1]
        total = np.zeros(taps.shape[:-1], _f)
        for k in range(count):
            total = total + taps[..., k]
        exact = _windows(x.centred, node, None, 0).sum(axis=-1)
        self._doubt(exact * np.float64(x.scale[0]) / count / grid.scale)
        return grid.levels(total / _f(count) / grid.scale + _f(grid.zero), 0)

    def _quantized_mean(self, node: Node, inputs: list[Any]) -> Array:
        x = _operand(inputs, 0, node.inputs[0])
        grid = replace(_grid(inputs[3], inputs[4]), kind=x.whole.dtype)
        return self._show(node, self._mean(x, node, grid))

    def _clip(self, node: Node, inputs: list[Any]) -> Any:
        low, high = 0.0, np.inf
        if node.op == "Clip":
            low, high = (
                float(node.attributes.get(name, end) if bound is None else bound.reshape(-1)[0])
                for name, end, bound in (("min", -np.inf, inputs[1]), ("max", np.inf, inputs[2]))
            )
        value = inputs[0]
        if isinstance(value, _IntegerSums | _Pair | _Mean):
            return replace(value, clips=(*value.clips, (low, high)))
        array = _plain(value)
        made = np.clip(array, *((_f(low), _f(high)) if array.dtype.kind == "f" else (low, high)))
        return made.astype(array.dtype)

    # -- the rest --------------------------------------------------------------------------------------------

    def _max_pool(self, node: Node, inputs: list[Any]) -> Any:
        first = inputs[0]
        array = first.whole if isinstance(first, _Scaled) else np.asarray(first)
        lowest = -np.inf if array.dtype.kind == "f" else int(np.iinfo(array.dtype).min)
        pooled = _windows(array, node, None, lowest).max(axis=-1)
        if array.dtype.kind in "iu":  # the largest stays the largest when it is scaled
            self._show(node, pooled)
        return replace(first, whole=pooled) if isinstance(first, _Scaled) else pooled

    def _rearranged(self, node: Node, inputs: list[Any]) -> Any:
        """Apply Flatten, Reshape or Squeeze to every sample, for any batch size in the file."""
        value = inputs[0]
        name = {_Scaled: "whole", _IntegerSums: "sums"}.get(type(value), "")
        array = getattr(value, name) if name else np.asarray(value)
        refuse_if(
            isinstance(value, _IntegerSums) and array.ndim > 2 and array.shape[2:] != (1, 1),
            "it reshapes sums.",
        )
        if node.op == "Reshape":
            inputs = [value, np.array([0, *inputs[1].reshape(-1)[1:]])]
        move = rearrangement(node.op, (_SAMPLES, *array.shape[1:]), inputs, node.attributes)
        moved = array.reshape(len(array), *move.sizes[1:])
        return replace(value, **{name: moved}) if name else moved

    def _transpose(self, _: Node, inputs: list[Any]) -> _Scaled:
        first = inputs[0]
        if not isinstance(first, _Scaled) or first.whole.ndim != 2:
            raise FileError("it transposes other things than a quantized matrix.")
        return replace(first, whole=first.whole.T, axis=1 - first.axis % 2)

    def _concat(self, node: Node, inputs: list[Any]) -> Array:
        parts = [_plain(value) for value in inputs if value is not None]
        return np.concatenate(parts, axis=node.attributes.get("axis", 1))

    def _quantized_concat(self, node: Node, inputs: list[Any]) -> Array:
        parts = [_operand(inputs, k).values for k in range(2, len(node.inputs), 3)]
        both = np.concatenate(parts, axis=node.attributes.get("axis", 1))
        return self._show(node, _to_integer(both, _grid(inputs[0], inputs[1])))

    def _same(self, _: Node, inputs: list[Any]) -> Any:
        return inputs[0]


def _elementwise(function: Callable[[Any, Any], Any]) -> Callable[[IntegerRun, Node, list[Any]], Array]:
    return lambda _, __, inputs: np.asarray(function(_plain(inputs[0]), _plain(inputs[1])))


_RULES: Mapping[str, Callable[[IntegerRun, Node, list[Any]], Any]] = {
    "Add": IntegerRun._add,
    "AveragePool": lambda _, node, __: _Mean(node.inputs[0], node),
    "Cast": lambda _, node, inputs: np.asarray(inputs[0]).astype(DTYPES[node.attributes.get("to", 0)]),
    "Clip": IntegerRun._clip,
    "Concat": IntegerRun._concat,
    "Constant": lambda _, node, __: constant_value(node.attributes),
    "Conv": IntegerRun._product,
    "ConvInteger": IntegerRun._product_in_integers,
    "DequantizeLinear": lambda _, node, inputs: _operand(inputs, 0, node.inputs[0], node.attributes["axis"]),
    "Div": _elementwise(np.divide),
    "Dropout": IntegerRun._same,
    "Flatten": IntegerRun._rearranged,
    "Gemm": IntegerRun._product,
    "GlobalAveragePool": lambda _, node, __: _Mean(node.inputs[0], node),
    "Identity": IntegerRun._same,
    "MatMul": IntegerRun._product,
    "MatMulInteger": IntegerRun._product_in_integers,
    "MaxPool": IntegerRun._max_pool,
    "Mul": _elementwise(np.multiply),
    "QGemm": IntegerRun._fused,
    "QLinearAdd": IntegerRun._quantized_add,
    "QLinearAveragePool": IntegerRun._quantized_mean,
    "QLinearConcat": IntegerRun._quantized_concat,
    "QLinearConv": IntegerRun._fused,
    "QLinearGlobalAveragePool": IntegerRun._quantized_mean,
    "QLinearMatMul": IntegerRun._fused,
    "QuantizeLinear": IntegerRun._quantize,
    "Relu": IntegerRun._clip,
    "Reshape": IntegerRun._rearranged,
    "Squeeze": IntegerRun._rearranged,
    "Sub": _elementwise(np.subtract),
    "Transpose": IntegerRun._transpose,
}


def _operand(inputs: list[Any], index: int, name: str = "", axis: int = 1) -> _Scaled:
    """Return a tensor, its scale and its zero point."""
    value, scale, zero = inputs[index : index + 3]
    refuse_if(scale is None, "its scale is missing.")
    return _Scaled(np.asarray(value), _row(scale), _zero(zero), axis, name)


def _is_turned(node: Node) -> bool:
    return bool(node.attributes.get("transB", 0))


def _weight_axis(node: Node) -> int:
    """Return the axis of the weights that holds the outputs."""
    return 0 if "Conv" in node.op or _is_turned(node) else 1


def _added(a: _Scaled, b: _Scaled, grid: _LevelGrid, by: int, first: bool) -> Array:
    """Compute QLinearAdd: two fused multiplications and additions, each rounded once, in extended precision
    here.
    """
    wide = np.longdouble

    def once(x: Any, y: Any, z: Any) -> Any:
        return (np.asarray(x, wide) * np.asarray(y, wide) + np.asarray(z, wide)).astype(_f)

    shape = np.broadcast_shapes(a.whole.shape, b.whole.shape)
    one = a.whole.size == 1 or (len(shape) > 2 and int(np.prod(shape[2:])) > 1)
    if first and one and a.whole.size < int(np.prod(shape)):
        a, b = b, a
    units = [_f(side.scale[0] / grid.scale) for side in (a, b)]
    zeros = [_f(int(side.zero[0]) + by) for side in (a, b)]
    start = _f(grid.zero + by) - once(units[0], zeros[0], _f(units[1] * zeros[1]))
    inner = once(b.whole.astype(np.int64) + by, units[1], start)
    return grid.levels(once(a.whole.astype(np.int64) + by, units[0], inner), -by)


def _windows(x: Array, node: Node, kernel: Any, fill: Any) -> Array:
    """Return all windows of images: (batch, channels, positions..., taps)."""
    axes = window_axes(node.attributes, x.shape[2:], node.attributes.get("kernel_shape", kernel), _free)
    windows = cut(x, axes, fill, _free)
    return windows.reshape(*windows.shape[: x.ndim], -1)


def _free(_: int) -> None:
    """Count nothing, since samples are few."""


def _to_integer(values: Array, grid: _LevelGrid) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return grid.levels(values.astype(_f) / grid.scale, grid.zero)


def _row(value: Any) -> _Floats:
    return np.asarray(value, _f).reshape(-1)


def _zero(value: Any) -> Array:
    return np.zeros(1, np.int64) if value is None else np.asarray(value).astype(np.int64).reshape(-1)


def _laid(row: Array, rank: int, axis: int) -> Array:
    """Return one number, or one for each position along an axis."""
    if row.size == 1:
        return row.reshape(())
    shape = [1] * rank
    shape[axis] = -1
    return row.reshape(shape)


def _channels(row: Array, like: Array) -> Array:
    return row if row.size == 1 else row.reshape(-1, *(1,) * (like.ndim - 2))


def _plain(value: Any) -> Array:
    return value.values if isinstance(value, _Scaled | _IntegerSums) else np.asarray(value)
