"""Runs a quantized ONNX graph in whole numbers and float32, operator by operator, to judge an import.

It shares the parser of the file with the reader and nothing else. A float operator between quantizers keeps
its whole sums until the quantizer comes, and is rounded as ONNX Runtime's integer operators round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node
from sugenet.io.onnx.judge.tensors import UncomparableError

__all__ = ["WholeRun"]

_f = np.float32
_Floats: TypeAlias = npt.NDArray[np.float32]
_SAME = {"Identity", "Dropout"}
_ENDS = {"Softmax", "LogSoftmax", "ArgMax", "Hardmax", "Sigmoid"}


@dataclass
class _WholeSums:
    """Whole sums with one factor an output channel, on axis 1."""

    sums: Array
    factor: _Floats
    shift: _Floats | None = None
    clips: tuple[tuple[float, float], ...] = ()
    floats: bool = False


@dataclass
class _Pair:
    """Two dequantized tensors to be added."""

    names: tuple[str, str]
    clips: tuple[tuple[float, float], ...] = ()


@dataclass
class _Mean:
    """Windows to be averaged: the name of the dequantized tensor, and the node."""

    name: str
    node: Node
    clips: tuple[tuple[float, float], ...] = ()


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
        return self.whole.astype(np.int64) - self._laid(self.zero)

    @property
    def values(self) -> _Floats:
        return np.asarray(self.centred.astype(_f) * self._laid(self.scale))

    def _laid(self, row: Array) -> Array:
        if row.size == 1:
            return row.reshape(())
        shape = [1] * self.whole.ndim
        shape[self.axis] = -1
        return row.reshape(shape)


class WholeRun:
    """A graph that is run on batches; `tensors` of a run are its whole tensors by name."""

    def __init__(self, graph: Graph, scores: str) -> None:
        self.graph, self.scores = graph, scores
        needed, kept = {scores}, []
        for node in reversed(graph.nodes):
            if any(name in needed for name in node.outputs if name):
                needed |= set(node.inputs)
                kept.append(node)
        self.nodes = kept[::-1]
        self.reads: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self.reads.setdefault(name, []).append(node)
        self.ends = {port.name for port in graph.outputs}
        self.input = graph.inputs[0]
        self.unsure = np.zeros(0, bool)

    def __call__(self, x: Array) -> tuple[Array, dict[str, Array], npt.NDArray[np.bool_]]:
        """Scores, whole tensors, and which samples hang on how floats are rounded."""
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
            except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
                raise UncomparableError(f"{node}: it does not fit its inputs ({str(error)[:100]}).") from None
        made = self.known[self.scores]
        if isinstance(made, _WholeSums):
            made = self._floats(made)
        values = made.values if isinstance(made, _Scaled) else np.asarray(made)
        return values.reshape(len(x), -1), self.seen, self.unsure

    def _run(self, node: Node) -> Any:
        given: list[Any] = [self.known[name] if name else None for name in node.inputs]
        first: Any = given[0] if given else None
        get = node.attributes.get
        match node.op:
            case "QuantizeLinear":
                return self._quantize(node, given)
            case "DequantizeLinear":
                zero = np.zeros(1, np.int64) if len(given) < 3 or given[2] is None else given[2]
                axis = int(get("axis", 1))
                return _Scaled(
                    np.asarray(first), _row(given[1]), zero.astype(np.int64).reshape(-1), axis, node.inputs[0]
                )
            case "Conv" | "Gemm" | "MatMul":
                return self._product(node, given)
            case "QLinearConv":
                x = _Scaled(given[0], _row(given[1]), _zero(given[2]), 1, node.inputs[0])
                w = _Scaled(given[3], _row(given[4]), _zero(given[5]), 0, "")
                made = self._conv(node, x, w)
                if len(given) > 8 and given[8] is not None:
                    made = replace(made, sums=made.sums + _channels(given[8].astype(np.int64), made.sums))
                return self._whole(node, made, given[6], given[7], x.whole.dtype)
            case "QLinearMatMul":
                x = _Scaled(given[0], _row(given[1]), _zero(given[2]), 1, node.inputs[0])
                w = _Scaled(given[3], _row(given[4]), _zero(given[5]), 1, "")
                sums = x.centred @ w.centred
                return self._whole(node, _WholeSums(sums, _factors(x, w)), given[6], given[7], x.whole.dtype)
            case "QGemm":
                given = given + [None] * (9 - len(given))
                turn = bool(get("transB", 0))
                x = _Scaled(given[0], _row(given[1]), _zero(given[2]), 1, node.inputs[0])
                w = _Scaled(given[3], _row(given[4]), _zero(given[5]), 0 if turn else 1, "")
                right = w.centred.T if turn else w.centred
                sums = x.centred @ right + (0 if given[6] is None else given[6].astype(np.int64).reshape(-1))
                made = _WholeSums(sums, _factors(x, w))
                return (
                    made if given[7] is None else self._whole(node, made, given[7], given[8], x.whole.dtype)
                )
            case "MatMulInteger" | "ConvInteger":
                given = given + [None] * (4 - len(given))
                ones = np.ones(1, _f)
                x = _Scaled(given[0], ones, _zero(given[2]), 1, node.inputs[0])
                w = _Scaled(given[1], ones, _zero(given[3]), 0 if node.op == "ConvInteger" else 1, "")
                return self._conv(node, x, w).sums if node.op == "ConvInteger" else x.centred @ w.centred
            case "QLinearAdd":
                a = _Scaled(given[0], _row(given[1]), _zero(given[2]), 1, node.inputs[0])
                b = _Scaled(given[3], _row(given[4]), _zero(given[5]), 1, node.inputs[3])
                kind = (
                    given[7].dtype if len(given) > 7 and given[7] is not None else np.asarray(given[0]).dtype
                )
                zero = int(_zero(given[7] if len(given) > 7 else None)[0])
                whole = _added(
                    a, b, _row(given[6])[0], zero, 0, kind, isinstance(self._constant(node, 0), str)
                )
                return self._show(node.outputs[0], whole)
            case "QLinearAveragePool" | "QLinearGlobalAveragePool":
                x = _Scaled(given[0], _row(given[1]), _zero(given[2]), 1, node.inputs[0])
                zero_ = given[4] if len(given) > 4 else None
                whole = self._mean(x, node, _row(given[3])[0], int(_zero(zero_)[0]), x.whole.dtype)
                return self._show(node.outputs[0], whole)
            case "QLinearConcat":
                parts = [
                    _Scaled(given[k], _row(given[k + 1]), _zero(given[k + 2]), 1, "").values
                    for k in range(2, len(given), 3)
                ]
                both = np.concatenate(parts, axis=int(get("axis", 1)))
                return self._show(node.outputs[0], _to_whole(both, given[0], given[1], None))
            case "Add":
                return self._add(node, given)
            case "Relu" | "Clip":
                return self._clip(node, given)
            case "AveragePool" | "GlobalAveragePool":
                return _Mean(node.inputs[0], node)
            case "MaxPool":
                whole = first.whole if isinstance(first, _Scaled) else np.asarray(first)
                least = -np.inf if whole.dtype.kind == "f" else np.iinfo(whole.dtype).min
                pooled = _windows(whole, node, None, least).max(axis=-1)
                if whole.dtype.kind in "iu":  # the largest stays the largest when it is scaled
                    self._show(node.outputs[0], pooled)
                return replace(first, whole=pooled) if isinstance(first, _Scaled) else pooled
            case "Concat":
                return np.concatenate([_plain(value) for value in given], axis=int(get("axis", 1)))
            case "Flatten":
                return self._shaped(first, lambda a: a.reshape(len(a), -1))
            case "Reshape":
                return self._shaped(first, lambda a: a.reshape(len(a), *_target(a, given[1])))
            case "Squeeze":
                return self._shaped(first, lambda a: a.reshape(len(a), *(n for n in a.shape[1:] if n > 1)))
            case "Cast":
                return np.asarray(first).astype(DTYPES[int(get("to", 1))])
            case "Mul" | "Sub" | "Div":
                how = {"Mul": np.multiply, "Sub": np.subtract, "Div": np.divide}[node.op]
                return np.asarray(how(_plain(first), _plain(given[1])))
            case "Transpose":
                if isinstance(first, _Scaled) and first.whole.ndim == 2:
                    return replace(first, whole=first.whole.T, axis=1 - first.axis % 2)
            case "Constant":
                held = [node.attributes[name] for name in node.attributes]
                return np.asarray(held[0])
        if node.op in _SAME:
            return first
        raise UncomparableError(f"{node}: the interpreter of quantized files does not know this operator.")

    def _constant(self, node: Node, place: int) -> str | None:
        return node.inputs[place] if node.inputs[place] in self.graph.constants else None

    def _show(self, name: str, whole: Array) -> Array:
        self.seen[name] = whole
        return whole

    def _shaped(self, value: Any, move: Any) -> Any:
        if isinstance(value, _Scaled):
            return replace(value, whole=move(value.whole))
        if isinstance(value, _WholeSums):
            if value.sums.ndim > 2 and value.sums.shape[2:] != (1, 1):
                raise UncomparableError("it reshapes sums.")
            return replace(value, sums=move(value.sums))
        return move(np.asarray(value))

    # -- products --------------------------------------------------------------------------------------------

    def _product(self, node: Node, given: list[Any]) -> _WholeSums:
        x, w = given[0], given[1]
        if not isinstance(x, _Scaled) or not isinstance(w, _Scaled):
            raise UncomparableError(f"{node}: it does not read quantized numbers.")
        if node.op == "Conv":
            made = self._conv(node, x, w)
        elif node.op == "Gemm" and node.attributes.get("transB", 0):
            made = _WholeSums(x.centred @ w.centred.T, _factors(x, w))
        else:
            made = _WholeSums(x.centred @ w.centred, _factors(x, w))
        if len(given) > 2 and given[2] is not None:
            bias = given[2]
            if isinstance(bias, _Scaled):
                made = replace(made, sums=made.sums + _channels(bias.centred.reshape(-1), made.sums))
            else:
                made = replace(made, shift=_row(bias), floats=True)
        kinds = {np.asarray(x.whole).dtype}
        made.floats |= any(kind.itemsize > 1 for kind in kinds)
        made.floats |= x.quantized in self.narrow or w.quantized in self.narrow
        made.floats |= kinds == {np.dtype(np.int8)} and not self._turned(x.quantized)
        return made

    def _conv(self, node: Node, x: _Scaled, w: _Scaled) -> _WholeSums:
        weights, groups = w.centred, int(node.attributes.get("group", 1))
        taps = _windows(x.centred, node, weights.shape[2:], 0)  # (batch, channels, positions..., taps)
        out, each = weights.shape[:2]
        rows = weights.reshape(groups, out // groups, each, -1)
        cut = taps.reshape(len(taps), groups, each, *taps.shape[2:])
        sums = np.einsum("goct,bgc...t->bgo...", rows, cut)
        return _WholeSums(sums.reshape(len(taps), out, *taps.shape[2:-1]), _factors(x, w))

    def _turned(self, name: str) -> bool:
        """Whether an int8 tensor between a quantizer and a single use is kept as uint8."""
        readers = self.reads.get(name, [])
        made = any(node.op == "QuantizeLinear" and name in node.outputs for node in self.graph.nodes)
        if not made or name in self.ends or len(readers) != 1 or readers[0].op != "DequantizeLinear":
            return False
        inner = readers[0].outputs[0]
        return len(self.reads.get(inner, [])) + (inner in self.ends) == 1

    # -- quantizers ------------------------------------------------------------------------------------------

    def _quantize(self, node: Node, given: list[Any]) -> Any:
        value, name = given[0], node.outputs[0]
        zero = given[2] if len(given) > 2 else None
        width = self.graph.widths.get(node.inputs[2]) if zero is not None else None
        if zero is None and node.attributes.get("output_dtype", 0):
            zero = np.zeros(1, DTYPES[int(node.attributes["output_dtype"])])
        kind = np.dtype(np.uint8) if zero is None else zero.dtype
        if width:
            self.narrow.add(name)
        if isinstance(value, _WholeSums):
            mixed = kind == np.int8 and not self._turned(name)
            floats = value.floats or mixed or bool(width) or kind.itemsize > 1
            return self._whole(node, replace(value, floats=floats), given[1], zero, kind, width)
        scale, offset = _row(given[1])[0], int(_zero(zero)[0])
        if isinstance(value, _Pair):
            return self._show(name, self._pair(value, name, scale, offset, kind))
        if isinstance(value, _Mean):
            source = self.known[value.name]
            if not isinstance(source, _Scaled):
                raise UncomparableError(f"{node}: it averages what is not quantized.")
            return self._show(name, self._mean(source, value.node, scale, offset, kind))
        if isinstance(value, np.ndarray) and node.inputs[0] in self.graph.constants:
            axis = int(node.attributes.get("axis", 1))
            scales, zeros = _row(given[1]), _zero(zero)
            shape = [1] * value.ndim
            if scales.size > 1:
                shape[axis] = -1
                scales, zeros = scales.reshape(shape), zeros.reshape(shape) if zeros.size > 1 else zeros
            low, high = _span(kind, width)
            return np.asarray(np.clip(np.rint(value / scales) + zeros, low, high).astype(kind))
        return self._show(name, _to_whole(_plain(value), given[1], zero, width))

    def _whole(
        self, node: Node, value: _WholeSums, scale: Any, zero: Any, kind: Any, width: int | None = None
    ) -> Array:
        low, high = _span(kind if zero is None else zero.dtype, width)
        offset, unit = int(_zero(zero)[0]), _row(scale)[0]
        least, most = (float(unit) * (end - offset) for end in (low, high))
        live = [(a, b) for a, b in value.clips if a > least or b < most]
        if value.floats or live:
            wide = self._doubles(value)
            for a, b in value.clips:
                wide = np.clip(wide, a, b)
            ratio = wide / np.float64(unit)
            close = np.abs(np.abs(ratio - np.floor(ratio)) - 0.5) < 1e-4
            self.unsure |= close.reshape(len(ratio), -1).any(axis=1)
            whole = np.clip(np.rint(ratio) + offset, low, high)
        else:
            factor = (value.factor / unit).astype(_f)
            product = value.sums.astype(_f) * _channels(factor, value.sums)
            whole = np.clip(np.rint(product).astype(np.float64) + offset, low, high)
        return self._show(
            node.outputs[0], whole.astype(np.int64).astype(kind if zero is None else zero.dtype)
        )

    def _doubles(self, value: _WholeSums) -> Array:
        wide = value.sums * _channels(value.factor.astype(np.float64), value.sums)
        return wide if value.shift is None else wide + _channels(value.shift.astype(np.float64), value.sums)

    def _floats(self, value: _WholeSums) -> Array:
        if value.shift is not None or value.clips:
            return self._doubles(value)
        return np.asarray(value.sums.astype(_f) * _channels(value.factor, value.sums))

    # -- sums of two, averages, clips ------------------------------------------------------------------------

    def _add(self, node: Node, given: list[Any]) -> Any:
        left, right = given
        for value, other in ((left, right), (right, left)):
            if isinstance(value, _WholeSums) and isinstance(other, np.ndarray | _Scaled):
                return replace(value, shift=_plain(other).reshape(-1), floats=True)
        if isinstance(left, _Scaled) and isinstance(right, _Scaled):
            return _Pair((node.inputs[0], node.inputs[1]))
        return np.asarray(_plain(left) + _plain(right))

    def _pair(self, value: _Pair, name: str, scale: Any, zero: int, kind: Any) -> Array:
        a, b = (self.known[one] for one in value.names)
        low, high = _span(kind)
        least, most = (float(scale) * (end - zero) for end in (low, high))
        live = any(x > least or y < most for x, y in value.clips)
        tensors = [side.quantized for side in (a, b) if side.quantized not in self.graph.constants]
        held = ["u" if kind == np.uint8 or self._turned(one) else "s" for one in [*tensors, name]]
        many = any(side.scale.size > 1 for side in (a, b))
        if live or len(set(held)) > 1 or many or any(side.whole.dtype != kind for side in (a, b)):
            total = a.values + b.values
            for x, y in value.clips:
                total = np.clip(total, _f(x), _f(y))
            return np.asarray(
                np.clip(np.rint(total / scale).astype(np.float64) + zero, low, high).astype(kind)
            )
        by = 128 if kind == np.int8 and held[0] == "u" else 0
        return _added(a, b, scale, zero, by, kind, a.quantized in self.graph.constants)

    def _mean(self, x: _Scaled, node: Node, scale: Any, zero: int, kind: Any) -> Array:
        low, high = _span(kind)
        size = x.whole.shape[2:]
        kernel = tuple(node.attributes.get("kernel_shape", size))
        whole = kernel == size and not any(node.attributes.get("pads", (0,)))
        if whole:
            count = int(np.prod(size))
            factor = x.scale[0] / _f(scale * _f(count))
            sums = x.centred.reshape(*x.whole.shape[:2], -1).sum(axis=-1)
            made = np.rint(sums.astype(_f) * factor).astype(np.float64) + zero
            return np.asarray(np.clip(made, low, high).astype(kind).reshape(*made.shape, *(1,) * len(size)))
        taps = _windows(x.values, node, None, 0.0)
        total = np.zeros(taps.shape[:-1], _f)
        for k in range(taps.shape[-1]):
            total = total + taps[..., k]
        made = np.rint(total / _f(taps.shape[-1]) / scale + _f(zero))
        exact = x.centred
        wide = _windows(exact, node, None, 0).sum(axis=-1) * np.float64(x.scale[0]) / taps.shape[-1] / scale
        close = np.abs(np.abs(wide - np.floor(wide)) - 0.5) < 1e-4
        self.unsure |= close.reshape(len(made), -1).any(axis=1)
        return np.asarray(np.clip(made, low, high).astype(kind))

    def _clip(self, node: Node, given: list[Any]) -> Any:
        low, high = 0.0, np.inf
        if node.op == "Clip":
            low = float(node.attributes.get("min", -np.inf))
            high = float(node.attributes.get("max", np.inf))
            low = low if len(given) < 2 or given[1] is None else float(given[1].reshape(-1)[0])
            high = high if len(given) < 3 or given[2] is None else float(given[2].reshape(-1)[0])
        value = given[0]
        if isinstance(value, _WholeSums | _Pair | _Mean):
            return replace(value, clips=(*value.clips, (low, high)))
        array = _plain(value)
        made = np.clip(array, *((_f(low), _f(high)) if array.dtype.kind == "f" else (low, high)))
        return made.astype(array.dtype)


def _added(a: _Scaled, b: _Scaled, scale: Any, zero: int, by: int, kind: Any, first: bool) -> Array:
    """QLinearAdd: two fused multiplications and additions, each rounded once, in extended precision here."""
    wide = np.longdouble

    def once(x: Any, y: Any, z: Any) -> Any:
        return (np.asarray(x, wide) * np.asarray(y, wide) + np.asarray(z, wide)).astype(_f)

    shape = np.broadcast_shapes(a.whole.shape, b.whole.shape)
    one = a.whole.reshape(-1).size == 1 or (len(shape) > 2 and int(np.prod(shape[2:])) > 1)
    start = _f(zero + by) - once(
        _f(a.scale[0] / scale), _f(int(a.zero[0]) + by), _f(_f(b.scale[0] / scale) * _f(int(b.zero[0]) + by))
    )
    if first and one and a.whole.size < int(np.prod(shape)):
        start = _f(zero + by) - once(
            _f(b.scale[0] / scale),
            _f(int(b.zero[0]) + by),
            _f(_f(a.scale[0] / scale) * _f(int(a.zero[0]) + by)),
        )
        a, b = b, a
    inner = once(b.whole.astype(np.int64) + by, _f(b.scale[0] / scale), start)
    total = once(a.whole.astype(np.int64) + by, _f(a.scale[0] / scale), inner)
    low, high = _span(kind)
    return np.asarray(np.clip(np.rint(total).astype(np.float64) - by, low, high).astype(kind))


def _windows(x: Array, node: Node, kernel: Any, fill: Any) -> Array:
    """All windows of images: (batch, channels, positions..., taps)."""
    rank = x.ndim - 2
    get = node.attributes.get
    sizes = tuple(get("kernel_shape", kernel))
    strides, spreads = tuple(get("strides", (1,) * rank)), tuple(get("dilations", (1,) * rank))
    pads = tuple(get("pads", (0,) * 2 * rank))
    mode = get("auto_pad", "NOTSET") or "NOTSET"
    if mode.startswith("SAME"):
        total = [
            max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            for n, s, d, k in zip(x.shape[2:], strides, spreads, sizes, strict=True)
        ]
        less = [n // 2 if mode == "SAME_UPPER" else n - n // 2 for n in total]
        pads = (*less, *(n - m for n, m in zip(total, less, strict=True)))
    wide = np.pad(
        x, [(0, 0), (0, 0), *((pads[k], pads[k + rank]) for k in range(rank))], constant_values=fill
    )
    grids = []
    for k in range(rank):
        count = (wide.shape[2 + k] - spreads[k] * (sizes[k] - 1) - 1) // strides[k] + 1
        grids.append(np.arange(count)[:, None] * strides[k] + np.arange(sizes[k])[None, :] * spreads[k])
    if rank == 1:
        return wide[:, :, grids[0]]
    rows, columns = grids
    found = wide[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return found.reshape(*found.shape[:4], -1)


def _to_whole(values: Array, scale: Any, zero: Any, width: int | None) -> Array:
    kind = np.dtype(np.uint8) if zero is None else zero.dtype
    low, high = _span(kind, width)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.rint(values.astype(_f) / _row(scale)[0]).astype(np.float64)
    return np.asarray(np.clip(ratio + int(_zero(zero)[0]), low, high).astype(kind))


def _span(kind: Any, width: int | None = None) -> tuple[int, int]:
    if width:
        return (
            (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if np.dtype(kind).kind == "i" else (0, 2**width - 1)
        )
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _row(value: Any) -> _Floats:
    return np.asarray(value, _f).reshape(-1)


def _zero(value: Any) -> Array:
    return np.zeros(1, np.int64) if value is None else np.asarray(value).astype(np.int64).reshape(-1)


def _factors(x: _Scaled, w: _Scaled) -> _Floats:
    return np.asarray(x.scale[0] * w.scale, _f)


def _channels(row: Array, like: Array) -> Array:
    return row if row.size == 1 else row.reshape(-1, *(1,) * (like.ndim - 2))


def _plain(value: Any) -> Array:
    return value.values if isinstance(value, _Scaled) else np.asarray(value)


def _target(a: Array, shape: Any) -> tuple[int, ...]:
    sizes = [a.shape[k] if n == 0 else int(n) for k, n in enumerate(shape.reshape(-1).tolist())][1:]
    return tuple(sizes)
