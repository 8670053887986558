"""Read 8-bit TensorFlow Lite files as integer operations over tensors of levels.

The operators are processed once, in order. Every 8-bit tensor becomes a wire of levels. Every operator
becomes a staircase: weights, and for each output channel the thresholds at which its output rises, found by
bisection in the kernel's own integer arithmetic (see `arithmetic`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.integers import LevelWire, Operation, Pooling, Staircase, remapped, side_by_side
from sugenet.io.exact.integers import added as summed_wires
from sugenet.io.exact.requantize import steps_of
from sugenet.io.exact.signals import ends_of, flat_order
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.values import DequantizedTensor, LevelArray, QuantTail, RawInput, rising
from sugenet.io.onnx.quantized.walk import IntegerProgram
from sugenet.io.plain.refusals import expected, refuse_if, required, within
from sugenet.io.tflite.arithmetic import (
    Kernels,
    activation_range,
    added,
    fixed,
    quantized,
    rescaled,
    rescaler,
)
from sugenet.io.tflite.file import (
    ACTIVATIONS,
    FileTensor,
    Operator,
    Options,
    TfliteFile,
    kernel_of,
    padding_of,
    picks_class,
    window_of,
)
from sugenet.nn import NEVER, Window
from sugenet.nn.arrays import Ints

__all__ = ["read_integer_program"]

_REACH = (1 << 31) - 1
_DENSE = 1 << 24
"""Largest number of weights of a layer that moves values or averages windows of different sizes."""
_LOW, _TOP = -128, 255
_ADVICE = {
    **dict.fromkeys(
        ("LceQuantize", "LceBconv2d", "LceBMaxPool2d", "LceDequantize"),
        "binarized layers are read in files without 8-bit layers only. Convert the model without them",
    ),
    "MUL": "only additions of branches are supported",
    "SUB": "only additions of branches are supported",
    "TANH": "only Relu, Relu6, Relu_N1_to_1 and LeakyRelu are supported between layers",
    "HARD_SWISH": "it falls and rises. Only Relu, Relu6, Relu_N1_to_1 and LeakyRelu are supported",
    "TRANSPOSE_CONV": "it is not supported. Write it as Resize and convolution",
}


@dataclass(frozen=True, eq=False)
class _Held:
    """An 8-bit tensor while the file is read."""

    tensor: FileTensor
    levels: LevelArray
    shape: tuple[int, ...]
    """Shape in the file, without the batch."""
    order: Ints
    """For each position in the file, the position in the wire."""
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Pixels of the zero point around it that are not in the wire yet."""

    @property
    def zero(self) -> int:
        """The level that represents 0."""
        return self.tensor.grid[1] - self.levels.low


@dataclass(frozen=True, eq=False)
class _Float:
    """A dequantized tensor."""

    held: _Held
    levels: DequantizedTensor


_Value: TypeAlias = _Held | _Float | RawInput | QuantTail


def _order(shape: tuple[int, ...]) -> Ints:
    """Return the position in a wire of each position in the file: images are channel by channel there."""
    if len(shape) != 3:
        return np.arange(prod(shape))
    height, width, channels = shape
    return np.asarray(flat_order(np.arange(prod(shape)), (channels, height, width), "HWC"))


def _maps(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return (shape[2], shape[0], shape[1]) if len(shape) == 3 else (prod(shape), 1, 1)


def read_integer_program(file: TfliteFile, kernels: Kernels) -> IntegerProgram:
    """Return the integer operations of a file.

    Raises
    ------
    FileError
        If something cannot be read exactly. The message names the operator.
    """
    with within(file.source, NetworkError):
        return _IntegerWalk(file, kernels).program()


@dataclass
class _IntegerWalk:
    """One graph being read."""

    file: TfliteFile
    kernels: Kernels
    values: dict[int, _Value] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    lows: dict[str, int] = field(default_factory=dict)
    start: LevelWire | None = None
    grid: QuantGrid | None = None
    raw: RawInput | LevelArray | None = None

    def program(self) -> IntegerProgram:
        file = self.file
        port, output = file.ends
        self._input(port)
        for operator in file.needed:
            with within(operator, NetworkError):
                self._take(operator)
        value = self.values.get(output.index)
        tail = value if isinstance(value, QuantTail) else None
        scores: Any = tail.scores if tail is not None else value
        held = scores.held if isinstance(scores, _Float) else scores
        wrong = f"its output {output.key} does not depend on 8-bit layers."
        held = self._in_order(expected(held, _Held, wrong))
        end: LevelArray = held.levels
        if isinstance(scores, _Float):
            end = DequantizedTensor.of(end, *held.tensor.grid)
        assert self.raw is not None
        return IntegerProgram(
            file.source,
            port.name[:60] or "the input",
            self.raw,
            self.start,
            self.grid,
            tuple(self.operations),
            end,
            held.tensor.key,
            output.key,
            self.lows,
            (),
            () if tail is None else tail.left_out,
            tail is not None and tail.picks,
            True,
            channels_last=True,
        )

    def _input(self, tensor: FileTensor) -> None:
        shape = tensor.shape[1:]
        refuse_if(
            not tensor.shape or tensor.shape[0] != 1 or not shape or not prod(shape),
            f"its input {tensor.key} has shape {tensor.shape}, but the first number must be 1, one sample.",
        )
        maps = _maps(shape)
        flat = maps if len(shape) == 3 else (maps[0],)
        if tensor.kind == "float32":
            self.raw = RawInput(flat)
            self.values[tensor.index] = self.raw
            return
        refuse_if(
            tensor.kind not in ("int8", "uint8"),
            f"its input {tensor.key} is {tensor.kind}, but float32, int8 or uint8 is read.",
        )
        held = self._new(tensor, shape, -128 if tensor.kind == "int8" else 0)
        self.raw = LevelArray(held.levels.name, held.levels.wire, held.levels.low, held.levels.kind, flat)
        self.values[tensor.index] = held

    def _new(
        self, tensor: FileTensor, shape: tuple[int, ...], low: int = _LOW, top: int = _TOP, how: str = ""
    ) -> _Held:
        """Return a tensor that is still to be made; `how` says what an inner one is."""
        tensor.grid  # noqa: B018  # refuses a tensor without one scale
        name = tensor.key + how
        self.lows[name] = low
        wire = LevelWire(name, _maps(shape), top)
        return _Held(
            tensor, LevelArray(name, wire, low, np.dtype(tensor.kind), wire.shape), shape, _order(shape)
        )

    def _take(self, operator: Operator) -> None:
        advice = _ADVICE.get(operator.name, "it is not supported in 8-bit files")
        rule, out = required(_RULES.get(operator.name), f"{advice}."), operator.output
        first = self.values.get(operator.input(0).index)
        if isinstance(first, QuantTail):
            refuse_if(
                operator.name not in ("DEQUANTIZE", "RESHAPE", "SQUEEZE", "QUANTIZE"),
                f"it comes after {first.left_out[-1]}, which must be the end of the network.",
            )
            self.values[out.index] = first
            return
        options = Options(operator)
        made = rule(self, operator, options)
        options.check()
        if isinstance(made, _Held):
            refuse_if(
                made.levels.wire.name == out.key and out.kind not in ("int8", "uint8"),
                f"its output is {out.kind}, but 8 bits are needed.",
            )
            refuse_if(
                out.shape != (1, *made.shape),
                f"its output has shape {out.shape} in the file, but {(1, *made.shape)} is computed.",
            )
        self.values[out.index] = made

    # -- values ----------------------------------------------------------------------------------------------

    def held(self, tensor: FileTensor, *, padded: bool = False) -> _Held:
        """Return an 8-bit tensor."""
        value = self.values.get(tensor.index)
        if isinstance(value, RawInput):
            raise FileError("it computes with the input in floats. Quantize the whole model to 8 bits.")
        wrong = f"its input {tensor.key} is not an 8-bit tensor that depends on the input."
        held = expected(value, _Held, wrong)
        return held if padded else self._settled(held)

    def _settled(self, held: _Held) -> _Held:
        """Write pads out."""
        if not any(held.pads):
            return held
        source = held.levels.wire
        made = self._new(held.tensor, held.shape, held.levels.low, source.top, " with pads")
        (height, width, channels), pads = held.shape, held.pads
        inner = (channels, height - pads[0] - pads[2], width - pads[1] - pads[3])
        window = Window(inner, 1, pads=pads)
        steps = np.broadcast_to(np.arange(1, source.top + 1), (channels, source.top))
        ones, name = np.ones((channels, 1, 1, 1), np.int64), made.levels.name
        self.operations.append(
            Staircase(name, (source,), made.levels.wire, ones, steps, window, channels, held.zero)
        )
        return made

    def _in_order(self, held: _Held) -> _Held:
        """Return a tensor whose wire has the order that its shape asks for."""
        held, wanted = self._settled(held), _order(held.shape)
        raw = self.start or (self.raw.wire if isinstance(self.raw, LevelArray) else None)
        seen_alike = held.levels.wire != raw or raw.shape[1:] == (1, 1) or raw.shape == _maps(held.shape)
        if np.array_equal(held.order, wanted) and seen_alike:
            return held
        source, size = held.levels.wire, len(wanted)
        refuse_if(
            size * size > _DENSE, f"it moves {size:,} values between pixels and channels, which is too many."
        )
        made = self._new(held.tensor, held.shape, held.levels.low, source.top, " in another order")
        rows = np.zeros((size, size), np.int64)
        rows[wanted, held.order] = 1
        steps = np.broadcast_to(np.arange(1, source.top + 1), (size, source.top))
        self.operations.append(_dense(made.levels.name, source, made.levels.wire, rows, steps))
        return made

    def image(self, tensor: FileTensor, *, padded: bool = False) -> _Held:
        """Return a tensor of images."""
        held = self.held(tensor, padded=padded)
        refuse_if(len(held.shape) != 3, f"its input has shape {tensor.shape}, but images are needed.")
        return held if any(held.pads) else self._in_order(held)

    def table(self, held: _Held, out: FileTensor, values: Ints, where: str) -> _Held:
        """Return a rising function of every level: its integers, one row for all or one per channel."""
        rows = np.array([rising(row - _LOW, _TOP)[0] for row in np.atleast_2d(values)])
        turned = not np.array_equal(held.order, _order(held.shape))
        made = self._new(out, held.shape, how=" in another order" if turned else "")
        result = remapped(held.levels.wire, made.levels.name, rows, where)
        self.operations.append(result)
        levels = replace(made.levels, wire=result.result, shape=result.result.shape)
        return _Held(out, levels, held.shape, held.order)


def _dense(where: str, source: LevelWire, wire: LevelWire, rows: Ints, steps: Ints) -> Staircase:
    return Staircase(where, (source,), wire, rows[:, :, None, None], steps, Window((rows.shape[1], 1, 1), 1))


def _activation(options: Options, out: FileTensor) -> tuple[int, int]:
    """Return the range that the fused activation lets through."""
    name = options.choice("fused_activation_function", ACTIVATIONS)
    refuse_if(name in ("TANH", "SIGN_BIT"), f"its fused activation is {name}, which is not supported.")
    return activation_range(name, *out.grid)


# -- ends ----------------------------------------------------------------------------------------------------


def _quantize(walk: _IntegerWalk, operator: Operator, _options: Options) -> _Value:
    """Read QUANTIZE: of the input, of dequantized levels, or of integers."""
    out, source = operator.outputs[0], operator.input(0)
    refuse_if(out.kind not in ("int8", "uint8"), f"it quantizes to {out.kind}, but 8 bits are needed.")
    scale, zero = out.grid
    low = _LOW if out.kind == "int8" else 0
    value = walk.values.get(source.index)
    if isinstance(value, RawInput):
        refuse_if(
            walk.start is not None, "the input is quantized twice. Let one quantizer feed all branches."
        )
        refuse_if(out.kind != "int8", "it quantizes the input to uint8. Quantize it to int8.")
        made = walk._new(out, source.shape[1:])

        def rounded(x: Any) -> Any:
            return (quantized(x, scale, zero, low, low + _TOP) - zero).astype(np.float32)

        walk.raw = RawInput(value.shape, (rounded,))
        walk.start, walk.grid = made.levels.wire, QuantGrid(1, zero, low, low + _TOP)
        return made
    if isinstance(value, _Float):
        refuse_if(out.kind != "int8", "it quantizes to uint8 inside the network.")
        integers = quantized(value.levels.table, scale, zero, low, low + _TOP)
        return walk.table(value.held, out, integers, str(operator))
    held = walk.held(source)
    (old, old_zero), q = source.grid, held.levels.values
    integers = np.clip(rescaled(q - old_zero, *fixed(float(old) / float(scale))) + zero, low, low + _TOP)
    if low == 0:  # an end of the network for programs that want bytes: the same integers, 128 higher
        refuse_if(
            not np.array_equal(integers, q + 128),
            "it quantizes to uint8 with another scale. Give the output the scale of the last layer.",
        )
        return _Held(source, held.levels, held.shape, held.order)
    return walk.table(held, out, integers, str(operator))


def _dequantize(walk: _IntegerWalk, operator: Operator, _options: Options) -> _Value:
    """Read DEQUANTIZE."""
    held = walk.held(operator.input(0))
    return _Float(held, DequantizedTensor.of(held.levels, *held.tensor.grid))


def _tail(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read SOFTMAX, LOG_SOFTMAX, LOGISTIC and ARG_MAX at the end. The class scores are before them."""
    source = operator.input(0)
    value = walk.values.get(source.index)
    scores = value if isinstance(value, _Float) else walk.held(source)
    held = scores.held if isinstance(scores, _Float) else scores
    picks = picks_class(operator, options, held.shape)
    ties = "" if isinstance(scores, _Float) or picks else "; its 8-bit outputs can tie where scores differ"
    return QuantTail(scores, held.tensor.key, (f"{operator}{ties}",), picks)  # type: ignore[arg-type]


# -- shapes --------------------------------------------------------------------------------------------------


def _reshape(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read RESHAPE, SQUEEZE and EXPAND_DIMS, which move nothing."""
    out, source = operator.outputs[0], operator.input(0)
    refuse_if(
        not out.shape or out.shape[0] != 1 or prod(out.shape) != prod(source.shape),
        f"it reshapes {source.shape} to {out.shape}, across samples.",
    )
    stated = options.take("new_shape") if operator.name == "RESHAPE" else None
    options.take("squeeze_dims")
    shape_tensor = operator.optional(1)
    if shape_tensor is not None:
        refuse_if(shape_tensor.data is None, "its new shape depends on the input.")
        stated = tuple(shape_tensor.constant.reshape(-1).tolist())
    if operator.name == "RESHAPE" and stated is not None:
        fits = len(stated) == len(out.shape) and all(
            a in (-1, b) for a, b in zip(stated, out.shape, strict=True)
        )
        refuse_if(not fits, f"it reshapes to {stated}, but its output has shape {out.shape}.")
    value = walk.values.get(source.index)
    if isinstance(value, RawInput):
        raise FileError("it reshapes the input before its quantizer. Quantize the input first.")
    floats = isinstance(value, _Float)
    held = value.held if isinstance(value, _Float) else walk.held(source)
    same = out.quantization is None or source.quantization is None or out.grid == source.grid
    refuse_if(not floats and not same, "its output has another scale than its input.")
    made = _Held(held.tensor, held.levels, out.shape[1:], held.order)
    return _Float(made, DequantizedTensor.of(made.levels, *held.tensor.grid)) if floats else made


def _transpose(walk: _IntegerWalk, operator: Operator, _options: Options) -> _Value:
    """Read TRANSPOSE."""
    held = walk.held(operator.input(0))
    perm = operator.input(1).constant.reshape(-1).tolist()
    rank = len(held.shape) + 1
    refuse_if(
        sorted(perm) != list(range(rank)) or perm[0] != 0, f"it transposes axes {perm}, across samples."
    )
    axes = [axis - 1 for axis in perm[1:]]
    order = held.order.reshape(held.shape).transpose(axes).reshape(-1)
    return _Held(held.tensor, held.levels, tuple(held.shape[axis] for axis in axes), order)


def _pad(walk: _IntegerWalk, operator: Operator, _options: Options) -> _Value:
    """Read PAD and PADV2 of images. The default is the zero point."""
    held = walk.image(operator.input(0))
    top, left, bottom, right = padding_of(operator)
    if operator.name == "PADV2":
        value = operator.input(2).constant.reshape(-1).tolist()
        refuse_if(value != [held.tensor.grid[1]], f"it pads with {value}, which is not the zero point.")
    _same_grid(operator)
    height, width, channels = held.shape
    shape = (height + top + bottom, width + left + right, channels)
    return _Held(held.tensor, held.levels, shape, held.order, (top, left, bottom, right))


# -- products ------------------------------------------------------------------------------------------------


def _weights(operator: Operator, axis: int) -> tuple[Ints, Any]:
    """Return integer weights and one scale per output, or refuse."""
    tensor = operator.input(1)
    refuse_if(tensor.kind != "int8", f"its weights are {tensor.kind}, but int8 is needed.")
    q, array = required(tensor.quantization, "its weights have no scale."), tensor.constant.astype(np.int64)
    refuse_if(array.ndim <= axis, f"its weights have shape {array.shape}.")
    refuse_if(q.zero.any(), "the zero point of its weights is not 0.")
    refuse_if(q.scale.size > 1 and q.axis != axis, "its weights have scales along another axis than outputs.")
    return array, np.broadcast_to(q.scale, array.shape[axis]).astype(np.float32)


def _bias(operator: Operator, count: int) -> Ints:
    tensor = operator.optional(2)
    if tensor is None:
        return np.zeros(count, np.int64)
    refuse_if(
        tensor.kind != "int32" or tensor.constant.size != count,
        f"its bias must be int32 with one number for each of {count} outputs.",
    )
    return tensor.constant.astype(np.int64).reshape(-1)


def _summed(
    walk: _IntegerWalk,
    operator: Operator,
    source: _Held,
    weights: Ints,
    bias: Ints,
    level: Any,
    window: Window,
    groups: int,
) -> _Held:
    """Add a product with its staircase. `level` maps sums with bias to integers of the output."""
    out = operator.outputs[0]
    wire, zero = source.levels.wire, source.zero
    refuse_if(source.tensor.kind != "int8", "its input is uint8. Quantize it to int8 first.")
    refuse_if(
        any(window.pads) and not 0 <= zero <= wire.top, "the zero point of its input lies outside of 8 bits."
    )
    shift = zero * weights.sum(axis=(1, 2, 3))
    low, high = ends_of(weights, wire.top).T - shift
    reach = int(max(np.abs(low + bias).max(), np.abs(high + bias).max(), -low.min(), high.max()))
    refuse_if(reach > _REACH, f"its sums can reach {reach:,}, beyond the 32 bits that kernels have.")
    steps = steps_of(lambda sums: level(sums + bias[:, None]) - _LOW, low, high, _TOP)
    steps = np.where(steps == NEVER, NEVER, steps + shift[:, None])
    made = walk._new(out, out.shape[1:])
    refuse_if(
        made.levels.wire.shape != (len(weights), *window.positions),
        f"its output has shape {out.shape} in the file, but {len(weights)} channels of "
        f"{window.positions} are computed.",
    )
    pad = min(max(zero, 0), wire.top)
    walk.operations.append(
        Staircase(str(operator), (wire,), made.levels.wire, weights, steps, window, groups, pad)
    )
    return made


def _requantizer(
    walk: _IntegerWalk, operator: Operator, options: Options, scales: Any
) -> Callable[[Ints], Ints]:
    out = operator.outputs[0]
    refuse_if(out.kind != "int8", f"its output is {out.kind}, but int8 is needed.")
    (scale, zero), (low, high) = out.grid, _activation(options, out)
    dense = operator.name == "FULLY_CONNECTED"
    factor = rescaler(walk.kernels, dense, operator.input(0).grid[0], scales, scale)
    return lambda sums: np.clip(factor(sums) + zero, low, high)


def _connected(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read FULLY_CONNECTED."""
    source = walk.held(operator.input(0))
    weights, scales = _weights(operator, 0)
    options.take("keep_num_dims")
    refuse_if(weights.ndim != 2, f"its weights have shape {weights.shape}.")
    refuse_if(
        weights.shape[1] != len(source.order),
        f"its weights are for {weights.shape[1]} inputs, but there are {len(source.order)}.",
    )
    rows = np.zeros_like(weights)
    rows[:, source.order] = weights
    level = _requantizer(walk, operator, options, scales)
    window = Window((rows.shape[1], 1, 1), 1)
    kernel, bias = rows[:, :, None, None], _bias(operator, len(rows))
    return _summed(walk, operator, source, kernel, bias, level, window, 1)


def _convolved(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read CONV_2D and DEPTHWISE_CONV_2D."""
    source = walk.image(operator.input(0), padded=True)
    kernel, scales = _weights(operator, 3 if operator.name == "DEPTHWISE_CONV_2D" else 0)
    weights, groups = kernel_of(operator, options, kernel, source.shape[2])
    window = window_of(operator, options, source.shape, weights.shape[2:], source.pads)
    level = _requantizer(walk, operator, options, scales)
    return _summed(walk, operator, source, weights, _bias(operator, len(weights)), level, window, groups)


# -- pools ---------------------------------------------------------------------------------------------------


def _max_pool(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read MAX_POOL_2D: the largest integer of each window, then the activation."""
    source, out = walk.image(operator.input(0)), operator.outputs[0]
    kernel = options.take("filter_height"), options.take("filter_width")
    window = window_of(operator, options, source.shape, kernel)
    refuse_if(not (window.taps >= 0).any(axis=1).all(), "some of its windows hold nothing but padding.")
    shape = (*window.positions, source.shape[2])
    low, top = source.levels.low, source.levels.wire.top
    pooled = walk._new(out, shape, low, top, " before its activation")
    walk.operations.append(Pooling(str(operator), (source.levels.wire,), pooled.levels.wire, window))
    levels = np.clip(pooled.levels.values, *_activation(options, out))
    return walk.table(pooled, out, levels, str(operator))


def _average_pool(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read AVERAGE_POOL_2D: integer sums of the values inside, divided and rounded half away from zero."""
    source, out = walk.image(operator.input(0)), operator.outputs[0]
    _same_grid(operator)
    kernel = options.take("filter_height"), options.take("filter_width")
    window = window_of(operator, options, source.shape, kernel)
    low, high = _activation(options, out)

    def level(total: Ints, count: int) -> Ints:
        half = count // 2
        mean = np.where(total > 0, (total + half) // count, -((half - total) // count))
        return np.asarray(np.clip(mean, low, high))

    return _averaged(walk, operator, source, window, level)


def _same_grid(operator: Operator) -> None:
    refuse_if(
        operator.outputs[0].grid != operator.input(0).grid, "its output has another scale than its input."
    )


def _averaged(
    walk: _IntegerWalk, operator: Operator, source: _Held, window: Window, level: Callable[[Ints, int], Ints]
) -> _Held:
    """Add a function of the sums of windows. `level` maps sums of integers and their number to integers."""
    (height, width, channels), wire, low = source.shape, source.levels.wire, source.levels.low
    single = Window((1, height, width), window.kernel, window.stride, window.dilation, window.pads)
    counts = (single.taps >= 0).sum(axis=1)
    refuse_if(not counts.all(), "some of its windows hold nothing but padding.")
    made = walk._new(operator.outputs[0], (*window.positions, channels))

    def steps(count: int) -> Ints:
        sums = np.arange(count * wire.top + 1) + count * low
        return np.asarray(rising(level(sums, count) - _LOW, _TOP)[0])

    by_count = {int(count): steps(int(count)) for count in np.unique(counts)}
    if len(by_count) == 1 and not any(window.pads):
        ones = np.ones((channels, 1, *window.kernel), np.int64)
        each = np.broadcast_to(by_count[int(counts[0])], (channels, _TOP))
        walk.operations.append(
            Staircase(str(operator), (wire,), made.levels.wire, ones, each, window, channels)
        )
        return made
    size, area = wire.size, height * width
    refuse_if(
        channels * len(counts) * size > _DENSE,
        "windows at the rim average fewer values, and its maps are too large to write them out.",
    )
    rows = np.zeros((channels, len(counts), channels, area), np.int64)
    for position, taps in enumerate(single.taps):
        for c in range(channels):
            rows[c, position, c, taps[taps >= 0]] = 1
    each = np.stack([by_count[int(count)] for _ in range(channels) for count in counts])
    walk.operations.append(
        _dense(str(operator), wire, made.levels.wire, rows.reshape(channels * len(counts), size), each)
    )
    return made


def _mean(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read MEAN over height and width."""
    source, out = walk.image(operator.input(0)), operator.outputs[0]
    axes = sorted(axis % 4 for axis in operator.input(1).constant.reshape(-1).tolist())
    keep = options.take("keep_dims")
    refuse_if(axes != [1, 2], f"it averages axes {axes}, but only height and width are supported.")
    (scale, zero), (new, new_zero) = source.tensor.grid, out.grid
    height, width, channels = source.shape
    factor = fixed(float(scale) / float(new))

    def level(total: Ints, count: int) -> Ints:
        return np.asarray(np.clip(_mean_of(total - zero * count, count, *factor) + new_zero, -128, 127))

    made = _averaged(walk, operator, source, Window((channels, height, width), (height, width)), level)
    shape = (1, 1, channels) if keep else (channels,)
    return _Held(out, made.levels, shape, _order(shape))


def _mean_of(total: Ints, count: int, multiplier: int, shift: int) -> Ints:
    """Return the rescaled mean: the multiplier is divided by the number of values first."""
    more = min(63 - (64 - count.bit_length()), 32, 31 + shift)
    return rescaled(total, (multiplier << more) // count, shift - more)


# -- pointwise -----------------------------------------------------------------------------------------------


def _relu(walk: _IntegerWalk, operator: Operator, _options: Options) -> _Value:
    """Read RELU, RELU6 and RELU_N1_TO_1."""
    source, out = walk.held(operator.input(0)), operator.outputs[0]
    (scale, zero), (new, new_zero) = source.tensor.grid, out.grid
    moved = rescaled(source.levels.values - zero, *fixed(float(scale) / float(new))) + new_zero
    return walk.table(
        source, out, np.clip(moved, *activation_range(operator.name, new, new_zero)), str(operator)
    )


def _leaky(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read LEAKY_RELU."""
    source, out = walk.held(operator.input(0)), operator.outputs[0]
    alpha = float(np.float32(options.take("alpha")))
    refuse_if(not 0 <= alpha < 1 << 10, f"its alpha is {alpha}, but it must rise.")
    (scale, zero), (new, new_zero) = source.tensor.grid, out.grid
    x, ratio = source.levels.values - zero, float(scale) / float(new)
    moved = np.where(
        x >= 0, rescaled(x, *fixed(ratio)), rescaled(x, *fixed(float(scale) * alpha / float(new)))
    )
    return walk.table(source, out, np.clip(moved + new_zero, -128, 127), str(operator))


def _add(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read ADD of two tensors, or of one and a constant."""
    one, other, out = operator.input(0), operator.input(1), operator.outputs[0]
    clip = _activation(options, out)
    options.take("pot_scale_int16")
    if one.data is not None:
        one, other = other, one
    if other.data is not None:
        return _add_constant(walk, operator, one, other, clip)
    left, right = (walk._in_order(walk.held(tensor)) for tensor in (one, other))
    refuse_if(left.shape != right.shape, f"it adds tensors of shapes {one.shape} and {other.shape}.")
    a, b = left.levels.values[:, None], right.levels.values[None, :]
    table = np.clip(added(one.grid, other.grid, out.grid, a, b), *clip) - _LOW
    made, wires = walk._new(out, left.shape), (left.levels.wire, right.levels.wire)
    why = "because both are rounded before they are added"
    walk.operations.append(summed_wires(str(operator), *wires, made.levels.wire, table, why))
    return made


def _add_constant(
    walk: _IntegerWalk, operator: Operator, one: FileTensor, other: FileTensor, clip: tuple[int, int]
) -> _Held:
    held, out = walk._in_order(walk.held(one)), operator.outputs[0]
    refuse_if(other.kind != "int8", f"it adds a constant of {other.kind}, but int8 is needed.")
    full = np.broadcast_to(other.constant.astype(np.int64), (1, *held.shape)).reshape(-1)
    channels = _maps(held.shape)[0]
    by_channel = np.empty_like(full)
    by_channel[held.order] = full
    rows = by_channel.reshape(channels, -1)
    refuse_if((rows != rows[:, :1]).any(), "it adds a constant that differs within a channel.")
    table = added(one.grid, other.grid, out.grid, held.levels.values[None, :], rows[:, :1])
    return walk.table(held, out, np.clip(table, *clip), str(operator))


def _concat(walk: _IntegerWalk, operator: Operator, options: Options) -> _Value:
    """Read CONCATENATION along channels."""
    out = operator.outputs[0]
    low, high = _activation(options, out)
    refuse_if((low, high) != (-128, 127), "it clips joined tensors. Clip them first.")
    axis = int(options.take("axis"))
    parts = [walk._in_order(walk.held(operator.input(k))) for k in range(len(operator.inputs))]
    rank = len(parts[0].shape)
    refuse_if(
        axis % (rank + 1) != rank or rank not in (1, 3) or len({part.shape[:-1] for part in parts}) > 1,
        "it joins tensors along another axis than their channels.",
    )
    refuse_if(any(part.tensor.grid != out.grid for part in parts), "it joins tensors of different scales.")
    made = walk._new(out, (*parts[0].shape[:-1], sum(part.shape[-1] for part in parts)))
    steps = np.broadcast_to(np.arange(1, _TOP + 1), (made.levels.wire.shape[0], _TOP))
    wires = [part.levels.wire for part in parts]
    walk.operations.append(side_by_side(str(operator), wires, made.levels.wire, steps))
    return made


_Rule: TypeAlias = Callable[[_IntegerWalk, Operator, Options], _Value]
_RULES: dict[str, _Rule] = {
    "ADD": _add,
    "ARG_MAX": _tail,
    "AVERAGE_POOL_2D": _average_pool,
    "CONCATENATION": _concat,
    "CONV_2D": _convolved,
    "DEPTHWISE_CONV_2D": _convolved,
    "DEQUANTIZE": _dequantize,
    "EXPAND_DIMS": _reshape,
    "FULLY_CONNECTED": _connected,
    "LEAKY_RELU": _leaky,
    "LOGISTIC": _tail,
    "LOG_SOFTMAX": _tail,
    "MAX_POOL_2D": _max_pool,
    "MEAN": _mean,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _quantize,
    "RELU": _relu,
    "RELU6": _relu,
    "RELU_N1_TO_1": _relu,
    "RESHAPE": _reshape,
    "SOFTMAX": _tail,
    "SQUEEZE": _reshape,
    "TRANSPOSE": _transpose,
}
