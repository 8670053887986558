"""Products, additions, averages and joined tensors of levels, and the steps of their quantizers.

Each is a pending value until a quantizer reads it. Then it becomes one staircase: weights over tensors of
levels and, for each output channel, the thresholds at which the level rises in ONNX Runtime's arithmetic.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire, Pooling, Staircase, added, remapped, side_by_side
from sugenet.io.exact.requantize import steps_of
from sugenet.io.exact.signals import ends_of
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.onnx.operators import axis_within
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.values import (
    DequantizedTensor,
    FixedArray,
    FixedLevelArray,
    LevelArray,
    LevelTensor,
    PendingAddition,
    PendingAverage,
    PendingConcat,
    PendingSum,
    RawInput,
    Value,
    clip_to,
    exact,
    fits_evenly,
    floats_of,
    image,
    integer_levels,
    rising,
    row_of,
    word,
)
from sugenet.io.onnx.quantized.walk import Walk
from sugenet.io.plain.refusals import expected, refuse_if, required
from sugenet.nn import NEVER, Window
from sugenet.nn.arrays import Ints

__all__ = [
    "adding",
    "average",
    "biased",
    "concat",
    "conv",
    "convolved",
    "dense",
    "dequantize",
    "gemm",
    "matmul",
    "pooled",
    "quantize",
    "quantized",
    "tensor_of",
]

_REACH = (1 << 31) - 1
"""The largest sum of 32 bits."""
_TAPS = 1 << 22
"""Largest product of the number of positions of a window and its size."""


# -- quantizers ----------------------------------------------------------------------------------------------


def dequantize(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read DequantizeLinear."""
    levels = required(
        integer_levels(inputs[0]), f"it dequantizes {word(inputs[0])}, but integers are required."
    )
    grid, _ = walk.grid(node, inputs, levels.kind)
    return DequantizedTensor.of(levels, grid.scale, grid.zero)


def quantize(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read QuantizeLinear."""
    return quantized(walk, node, inputs[0], *walk.grid(node, inputs))


def quantized(walk: Walk, node: Node, value: Value | None, grid: QuantGrid, kind: Any) -> LevelArray:
    """Return the levels of a float tensor, by the arithmetic of the operator that computed it."""
    name = node.outputs[0]
    match value:
        case RawInput():
            refuse_if(
                walk.start is not None, "the input is quantized twice. Let one quantizer feed all branches."
            )
            made = walk.levels(name, value.shape, grid.low, grid.high, kind)
            walk.start, walk.start_grid, walk.first = made.wire, grid, value
            return made
        case LevelTensor():
            steps = rising(runtime.quantized(value.table, grid), grid.top)
            walk.operations.append(remapped(value.wire, name, steps, str(node)))
            made = walk.levels(name, value.shape, grid.low, grid.high, kind)
            return replace(made, wire=LevelWire(name, value.wire.shape, grid.top))
        case PendingSum():
            make: Callable[[LevelWire], Staircase] = partial(_summed, walk, node, value, grid)
        case PendingAddition():
            make = partial(_added, walk, node, value, grid, np.dtype(kind))
        case PendingAverage():
            make = partial(_averaged, walk, node, value, grid, kind)
        case PendingConcat():
            make = partial(_side_by_side, value, grid)
        case _:
            raise FileError(f"it quantizes {word(value)}, which is not supported.")
    made = walk.levels(name, value.shape, grid.low, grid.high, kind)
    walk.operations.append(make(made.wire))
    return made


def _pad_of(source: DequantizedTensor, window: Window) -> int:
    """Return the level of the zero point, which padding has."""
    zero, top = source.grid.zero - source.low, source.wire.top
    refuse_if(
        any(window.pads) and not 0 <= zero <= top,
        f"its zero point {source.grid.zero} lies outside its own range.",
    )
    return zero


# -- products ------------------------------------------------------------------------------------------------


def _summed(walk: Walk, node: Node, value: PendingSum, grid: QuantGrid, result: LevelWire) -> Staircase:
    """Return a product with its quantizer: a staircase for each output channel."""
    wire, source_grid = value.source.wire, value.source.grid
    zero = source_grid.zero - value.source.low
    shift = zero * value.weights.sum(axis=(1, 2, 3))
    low, high = ends_of(value.weights, wire.top).T - shift
    _pad_of(value.source, value.window)
    max_sum = int(
        max(np.abs(low + value.bias).max(), np.abs(high + value.bias).max(), -low.min(), high.max())
    )
    refuse_if(
        max_sum > _REACH,
        f"its sums can reach {max_sum:,}, beyond the 32 bits of runtimes, where they wrap around. "
        f"Use smaller weights or fewer inputs.",
    )
    clips, why = walk.live_clips(value.clips, grid), value.floats
    if clips and not why and not value.rescaled:
        why = f"it is clipped to {clips[0]} before a quantizer that reaches beyond"
    if not why and not value.rescaled and node.op == "QuantizeLinear":
        why = _unfused(walk, value, node, grid)
    if value.rescaled:
        steps = steps_of(_spelled(value, grid), low, high, grid.top)
    elif why:
        walk.float_path(value.where, why)
        steps = _exact_steps(value, grid, low.tolist(), high.tolist())
    else:
        factors = runtime.multipliers(source_grid.scale, value.scales, grid.scale)
        refuse_if(
            not np.isfinite(factors).all(),
            "its scales are so far apart that their ratio is infinite in float32.",
        )
        steps = steps_of(runtime.requantizer(factors, value.bias, grid), low, high, grid.top)
    steps = np.where(steps == NEVER, NEVER, steps + shift[:, None])
    pad = min(max(zero, 0), wire.top)
    return Staircase(value.where, (wire,), result, value.weights, steps, value.window, value.groups, pad)


def _exact_steps(value: PendingSum, grid: QuantGrid, low: list[int], high: list[int]) -> Ints:
    """Return the steps of sums in exact numbers."""
    rows = []
    for c, scale in enumerate(value.scales):
        unit = exact(value.source.grid.scale) * exact(scale)
        offset = unit * int(value.bias[c]) + (0 if value.shift is None else exact(value.shift[c]))
        rows.append(runtime.exact_steps(unit, offset, grid, list(value.clips), low[c], high[c]))
    return np.array(rows)


def _unfused(walk: Walk, value: PendingSum, node: Node, grid: QuantGrid) -> str:
    """Return why a runtime does not fuse the quantizers around an operator; empty if it does."""
    kinds = {value.source.kind, walk.kind_of(node)}
    if any(kind.itemsize > 1 for kind in kinds):
        return "its tensors have 16 bits"
    if value.source.wire.top != 255 or grid.top != 255:
        return "its tensors have 4 bits"
    if len(kinds) > 1:
        return "its input and its output have different element types"
    if kinds == {np.dtype(np.int8)}:
        for name in (value.source.name, node.outputs[0]):
            if not walk.kept_as_uint8(name):
                return (
                    f"{name!r} is int8 and read more than once, or an end of the graph. Quantize "
                    "activations to uint8, or with QuantFormat.QOperator"
                )
    return ""


def _spelled(value: PendingSum, grid: QuantGrid) -> Callable[[Ints], Ints]:
    """Quantize sums that the file itself rescales in float32."""

    def level(sums: Ints) -> Ints:
        made: Any = sums
        for step in value.rescaled:
            made = step(made)
        return runtime.quantized(made, grid)

    return level


def tensor_of(value: Value | None) -> DequantizedTensor:
    """Return a dequantized tensor, or refuse."""
    refuse_if(
        isinstance(value, LevelTensor) and not isinstance(value, DequantizedTensor),
        "its input is clipped and not quantized again, so ONNX Runtime computes it in floats. Quantize "
        "its input too; without ActivationSymmetric a Relu becomes part of its quantizer.",
    )
    wrong = f"its input is {word(value)}, but a quantized tensor is needed."
    return expected(value, DequantizedTensor, wrong)


def _weighted(
    source: DequantizedTensor, weights: Value | None, bias: Value | None, out_axis: int
) -> tuple[Ints, Array, Ints, str, Array | None]:
    """Return integer weights, their scales and the bias, and why the product is computed in floats."""
    wrong = "its weights are not quantized. Quantize this layer too, or no layer after it."
    held_weights = expected(weights, FixedLevelArray, wrong)
    scales = required(
        held_weights.scales(out_axis),
        "its weights have a scale for each input, but one for each output is needed.",
    )
    count, why, shift = len(scales), "its weights have 4 bits" if held_weights.width else "", None
    integer_bias = np.zeros(count, np.int64)
    if isinstance(bias, FixedLevelArray):
        wanted = np.float32(source.grid.scale) * scales
        refuse_if(
            bias.q.size not in (1, count) or bias.zero.size not in (1, bias.q.size) or bias.zero.any(),
            f"its bias has shape {bias.q.shape} for {count} outputs, or a zero point.",
        )
        held = np.broadcast_to(bias.scale.reshape(-1), count) if bias.scale.size in (1, count) else None
        if held is None or (np.abs(held - wanted) > 4e-7 * np.abs(wanted)).any():
            raise FileError(
                "the scale of its bias is not the scale of its input times that of its weights, which "
                "runtimes assume."
            )
        integer_bias = np.broadcast_to(bias.q.reshape(-1), count).astype(np.int64)
    elif isinstance(bias, FixedArray):
        shift = np.broadcast_to(floats_of(bias).reshape(-1), count) if bias.array.size in (1, count) else None
        if shift is None:
            raise FileError(f"its bias has shape {bias.array.shape} for {count} outputs.")
        if shift.any():
            why = "its bias is not quantized"
    elif bias is not None:
        raise FileError("its bias depends on the input.")
    return held_weights.whole, scales, integer_bias, why, shift


def matmul(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read MatMul of a dequantized tensor and weights."""
    source = tensor_of(inputs[0])
    return dense(node, source, inputs[1], None, transposed=False)


def gemm(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Gemm of a dequantized tensor, weights and a bias."""
    source = tensor_of(inputs[0])
    refuse_if(
        node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("beta", 1.0) != 1,
        "its alpha or beta is not 1. Fold them into the weights before quantizing.",
    )
    refuse_if(node.attributes.get("transA", 0), "it transposes its input.")
    bias = inputs[2] if len(inputs) > 2 else None
    return dense(node, source, inputs[1], bias, transposed=bool(node.attributes.get("transB", 0)))


def dense(
    node: Node, source: DequantizedTensor, weights: Value | None, bias: Value | None, *, transposed: bool
) -> PendingSum:
    """Return a dense product that waits for its quantizer."""
    refuse_if(len(source.shape) != 1, f"it multiplies data of shape {source.shape}. Flatten them first.")
    integer_weights, scales, added, why, shift = _weighted(source, weights, bias, 0 if transposed else 1)
    refuse_if(
        integer_weights.ndim != 2, f"its weights have shape {integer_weights.shape}, but two axes are needed."
    )
    rows = integer_weights if transposed else integer_weights.T
    refuse_if(
        rows.shape[1] != source.shape[0],
        f"its weights are for {rows.shape[1]} inputs, but there are {source.shape[0]}.",
    )
    return PendingSum(
        where=str(node),
        shape=(len(rows),),
        op=node.op,
        source=source,
        weights=rows[:, :, None, None],
        scales=scales,
        bias=added,
        window=Window((source.shape[0], 1, 1), 1),
        floats=why,
        shift=shift,
    )


def conv(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read Conv of a dequantized tensor, weights and a bias."""
    source = tensor_of(inputs[0])
    bias = inputs[2] if len(inputs) > 2 else None
    integer_weights, scales, added, why, shift = _weighted(source, inputs[1], bias, 0)
    return convolved(node, source, integer_weights, scales, added, why, shift)


def convolved(
    node: Node, source: DequantizedTensor, weights: Ints, scales: Array, bias: Ints, why: str, shift: Any
) -> PendingSum:
    """Return a convolution that waits for its quantizer."""
    refuse_if(
        len(source.shape) not in (2, 3) or weights.ndim != len(source.shape) + 1,
        f"it convolves data of shape {source.shape} with weights of shape {weights.shape}.",
    )
    kernel = weights if weights.ndim == 4 else weights[:, :, None, :]
    window = _window_of(node, source.shape, kernel.shape[2:])
    groups = int(node.attributes.get("group", 1))
    refuse_if(
        groups < 1 or window.shape[0] != kernel.shape[1] * groups or len(kernel) % groups,
        f"its weights of shape {weights.shape} in {groups} groups do not fit {source.shape}.",
    )
    return PendingSum(
        where=str(node),
        shape=_behind(source, window, len(kernel)),
        op=node.op,
        source=source,
        weights=kernel,
        scales=scales,
        bias=bias,
        window=window,
        groups=groups,
        floats=why,
        shift=shift,
    )


def _behind(source: LevelArray, window: Window, channels: int) -> tuple[int, ...]:
    """Return the shape after a window: an image, or a row if the source has rows."""
    return (channels, *window.positions) if len(source.shape) == 3 else (channels, window.positions[1])


def _window_of(node: Node, shape: tuple[int, ...], kernel: tuple[int, ...]) -> Window:
    """Return kernel, strides, dilations and pads of a node."""
    flat = len(shape) == 2
    named = node.attributes.get("kernel_shape", kernel[1:] if flat else kernel)
    sizes = (1, *named) if flat else tuple(named)
    refuse_if(
        kernel and sizes != tuple(kernel), f"its kernel_shape is {named}, but its weights have {kernel}."
    )

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
    refuse_if(
        min(pads) < 0 or max(*pads, *sizes, *stride, *dilation) > 1 << 12,
        f"its window has pads {pads}, kernel {sizes}, strides {stride}, which do not fit.",
    )
    window = Window(image(shape), sizes, stride, dilation, pads)
    refuse_if(
        prod(window.positions) * prod(window.kernel) > _TAPS
        or prod(window.positions) * window.shape[0] > _TAPS,
        f"its windows of {sizes} at {window.positions} places are too many to follow.",
    )
    return window


def biased(value: PendingSum, other: FixedArray | FixedLevelArray) -> PendingSum:
    """Add a bias after a product."""
    array = floats_of(other) if isinstance(other, FixedArray) else other.floats
    row = row_of(array, value.shape, len(value.weights))
    if value.op == "sums":
        refuse_if(not value.rescaled, "it adds to sums of 32 bits that were not rescaled.")
        return replace(value, rescaled=(*value.rescaled, lambda x: np.asarray(x + row[:, None])))
    refuse_if(value.clips or value.shift is not None, "it adds after another addition or a clip.")
    return replace(value, shift=row, floats=value.floats or "its bias is a float Add of its own")


# -- additions -----------------------------------------------------------------------------------------------


def adding(node: Node, left: Value | None, right: Value | None) -> PendingAddition:
    """Return the pending sum of two tensors, or of one and a constant."""
    tensors = tuple(value for value in (left, right) if isinstance(value, LevelTensor))
    constants = [value for value in (left, right) if isinstance(value, FixedLevelArray)]
    shapes = [value.shape for value in tensors if isinstance(value, DequantizedTensor)]
    refuse_if(
        not shapes or len(tensors) + len(constants) < 2,
        f"it adds {word(left)} and {word(right)}; both must be quantized.",
    )
    refuse_if(
        shapes[0] != shapes[-1],
        f"it adds tensors of shapes {shapes[0]} and {shapes[-1]}, which differ.",
    )
    return PendingAddition(
        where=str(node),
        shape=shapes[0],
        tensors=tensors,
        constant=constants[0] if constants else None,
        is_constant_last=isinstance(right, FixedLevelArray),
    )


def _added(
    walk: Walk,
    node: Node,
    value: PendingAddition,
    grid: QuantGrid,
    kind: np.dtype[Any],
    result: LevelWire,
) -> Staircase:
    """Return an addition with its quantizer: one staircase over both, or a function of single levels."""
    refuse_if(
        {k.itemsize for k in (*(side.kind for side in value.tensors), kind)} != {1},
        "it adds numbers of 16 bits. Quantize additions to 8 bits.",
    )
    by = None if walk.live_clips(value.clips, grid) else _fused(walk, node, value, kind)
    if value.constant is None:
        return _two_tensors(value, grid, by, result)
    return _with_constant(value, value.constant, grid, by, result)


def _fused(walk: Walk, node: Node, value: PendingAddition, kind: np.dtype[Any]) -> int | None:
    """Return the shift of the numbers of an addition that a runtime fuses into one integer operator; None if
    it is not fused.
    """
    if node.op != "QuantizeLinear":
        return 0
    tensors = [*((side.kind, side.name) for side in value.tensors), (kind, node.outputs[0])]
    kept = {np.dtype(k) == np.uint8 or walk.kept_as_uint8(name) for k, name in tensors}
    if len(kept) > 1 or (value.constant is not None and value.constant.scale.size > 1):
        return None
    return 128 if kind == np.int8 and kept == {True} else 0


def _two_tensors(value: PendingAddition, grid: QuantGrid, by: int | None, result: LevelWire) -> Staircase:
    left, right = value.tensors
    if by is not None and isinstance(left, DequantizedTensor) and isinstance(right, DequantizedTensor):
        table = runtime.added(left.grid.moved(by), right.grid.moved(by), grid.moved(by))
    else:
        table = runtime.quantized(clip_to(left.table[:, None] + right.table[None, :], value.clips), grid)
    why = "because of float rounding next to ties"
    return added(value.where, left.wire, right.wire, result, table, why)


def _with_constant(
    value: PendingAddition, constant: FixedLevelArray, grid: QuantGrid, by: int | None, result: LevelWire
) -> Staircase:
    (side,) = value.tensors
    shape = image(value.shape)
    indices = row_of(constant.q, value.shape, shape[0])
    spread = shape[1] * shape[2] > 1 or constant.q.size == 1 < prod(value.shape)
    rows = []
    for c in range(shape[0]):
        if by is not None and isinstance(side, DequantizedTensor):
            fixed = QuantGrid(constant.scale[0], int(constant.zero[0]), int(indices[c]), int(indices[c]))
            one, other = (side.grid, fixed) if value.is_constant_last or spread else (fixed, side.grid)
            levels = runtime.added(one.moved(by), other.moved(by), grid.moved(by)).reshape(-1)
        else:
            shift = row_of(constant.floats, value.shape, shape[0])[c]
            levels = runtime.quantized(clip_to(side.table + shift, value.clips), grid)
        rows.append(rising(levels, grid.top)[0])
    ones = np.ones((shape[0], 1, 1, 1), np.int64)
    return Staircase(value.where, (side.wire,), result, ones, np.array(rows), Window(shape, 1), shape[0])


# -- averages, pools and joined tensors ----------------------------------------------------------------------


def average(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read AveragePool and GlobalAveragePool, which wait for their quantizer."""
    source = tensor_of(inputs[0])
    size = image(source.shape)
    window = Window(size, size[1:]) if "Global" in node.op else _window_of(node, source.shape, ())
    refuse_if(
        node.attributes.get("ceil_mode", 0) and not fits_evenly(window),
        "its ceil_mode adds windows that reach beyond the image.",
    )
    refuse_if(
        not int(node.attributes.get("count_include_pad", 0)) and any(window.pads),
        "windows at the rim average fewer values (count_include_pad is 0). Pool without padding.",
    )
    refuse_if(
        len(source.shape) not in (2, 3),
        f"it averages data of shape {source.shape}, but images are needed.",
    )
    return PendingAverage(
        where=str(node),
        shape=_behind(source, window, source.shape[0]),
        source=source,
        window=window,
        everything=window.kernel == size[1:] and not any(window.pads),
    )


def _averaged(
    walk: Walk, node: Node, value: PendingAverage, grid: QuantGrid, kind: Any, result: LevelWire
) -> Staircase:
    """Return averages with their quantizer: a depthwise convolution of ones."""
    wire, source_grid = value.source.wire, value.source.grid
    refuse_if(
        walk.live_clips(value.clips, grid),
        "averages are clipped before their quantizer, which runtimes compute in floats.",
    )
    refuse_if(
        node.op == "QuantizeLinear"
        and {value.source.kind, np.dtype(kind)}
        not in (
            {np.dtype(np.uint8)},
            {np.dtype(np.int8)},
        ),
        "its input and its output have different element types, or 16 bits.",
    )
    zero = _pad_of(value.source, value.window)
    averages = _of_everything if value.everything else _of_windows
    steps = averages(walk, value, source_grid, grid, zero)
    channels = image(value.shape)[0]
    ones = np.ones((channels, 1, *value.window.kernel), np.int64)
    pad, each = min(max(zero, 0), wire.top), np.repeat(steps, channels, axis=0)
    return Staircase(value.where, (wire,), result, ones, each, value.window, channels, pad)


def _of_everything(
    _walk: Walk, value: PendingAverage, source_grid: QuantGrid, grid: QuantGrid, zero: int
) -> Ints:
    """Return the steps of integer sums, times one factor."""
    count, top = prod(value.window.kernel), value.source.wire.top
    with np.errstate(over="ignore"):
        factor = np.array([source_grid.scale / np.float32(grid.scale * np.float32(count))], np.float32)
    refuse_if(
        not (np.isfinite(factor).all() and (factor > 0).all()),
        "its scales are so far apart that their ratio is 0 or infinite in float32.",
    )
    level = runtime.requantizer(factor, np.zeros(1, np.int64), grid)
    steps = steps_of(level, np.array([-zero * count]), np.array([(top - zero) * count]), grid.top)
    return np.where(steps == NEVER, NEVER, steps + zero * count)


def _of_windows(
    walk: Walk, value: PendingAverage, source_grid: QuantGrid, grid: QuantGrid, zero: int
) -> Ints:
    """Return the steps of float32 sums, whose order of additions must not matter."""
    count, low, top = prod(value.window.kernel), value.source.low, value.source.wire.top
    source = QuantGrid(source_grid.scale, source_grid.zero, low, low + top)
    smallest, largest, n_sums = runtime.averages(source, count, count, grid)
    undecided = int((smallest != largest).sum())
    if not n_sums and not undecided:
        return rising(smallest, grid.top)
    why = "float32 sums depend on their order" + (
        f", and that decides {undecided} of its {count * top + 1} sums" if undecided else ""
    )
    walk.float_path(value.where, why)
    unit = exact(source_grid.scale) / count
    return np.array([runtime.exact_steps(unit, -unit * zero * count, grid, [], 0, count * top)])


def pooled(walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read MaxPool: the largest level of each window."""
    wrong = f"it pools {word(inputs[0])}, but a quantized tensor is needed."
    source = expected(inputs[0], LevelArray, wrong)
    refuse_if(
        len(source.shape) not in (2, 3), f"it pools data of shape {source.shape}, but images are needed."
    )
    window = _window_of(node, source.shape, ())
    refuse_if(
        node.attributes.get("ceil_mode", 0) and not fits_evenly(window),
        "its ceil_mode adds windows that reach beyond the image. Crop or pad it first.",
    )
    refuse_if(not (window.taps >= 0).any(axis=1).all(), "some of its windows hold nothing but padding.")
    refuse_if(
        isinstance(source, LevelTensor) and (np.diff(source.table) < 0).any(),
        "it pools values that fall with their level.",
    )
    shape, name = _behind(source, window, source.shape[0]), node.outputs[0]
    wire = LevelWire(name, image(shape), source.wire.top)
    walk.operations.append(Pooling(str(node), (source.wire,), wire, window))
    walk.lows[name] = source.low
    return replace(
        source, name=source.name if isinstance(source, LevelTensor) else name, wire=wire, shape=shape
    )


def concat(_walk: Walk, node: Node, inputs: list[Value | None]) -> Value:
    """Read tensors joined along their channels."""
    parts = [tensor_of(value) for value in inputs]
    axis = int(node.attributes.get("axis", 1))
    rank = len(parts[0].shape) + 1
    refuse_if(
        axis_within(axis, rank) != 1 or len({part.shape[1:] for part in parts}) > 1,
        "it joins tensors along another axis than their channels.",
    )
    shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
    return PendingConcat(where=str(node), shape=shape, parts=tuple(parts))


def _side_by_side(value: PendingConcat, grid: QuantGrid, result: LevelWire) -> Staircase:
    """Return joined tensors with their quantizer: each level is looked up."""
    steps = []
    for part in value.parts:
        row = rising(runtime.quantized(clip_to(part.table, value.clips), grid), grid.top)
        steps.append(np.repeat(row, image(part.shape)[0], axis=0))
    return side_by_side(value.where, [part.wire for part in value.parts], result, np.concatenate(steps))
