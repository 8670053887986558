"""Matrix products and convolutions of levels, and the steps of their quantizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.integers import Staircase
from sugenet.io.exact.requantize import steps_of
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.numbers import (
    exact,
    floats_of,
    row_of,
    word,
)
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.values import (
    FixedArray,
    FixedLevelArray,
    LevelArray,
    LevelTensor,
    PendingSum,
    Value,
    image,
)
from sugenet.io.onnx.quantized.walk import Walk

__all__ = ["biased", "conv", "convolved", "dense", "gemm", "matmul", "summed", "tensor_of", "window_of"]

_REACH = (1 << 31) - 1
"""The largest sum of 32 bits."""
_TAPS = 1 << 22
"""Places of a window times its size."""


def summed(walk: Walk, node: Node, value: PendingSum, grid: QuantGrid, kind: Any, name: str) -> LevelArray:
    """A product with its quantizer: a staircase for each output channel."""
    source, wire = value.source.levels, value.source.levels.wire
    assert value.source.grid is not None
    zero = value.source.grid.zero - source.low
    rows = value.weights.reshape(len(value.weights), -1)
    shift = zero * rows.sum(axis=1)
    low = np.minimum(rows, 0).sum(axis=1) * wire.top - shift
    high = np.maximum(rows, 0).sum(axis=1) * wire.top - shift
    if any(value.window.pads) and not 0 <= zero <= wire.top:
        raise FileError(f"its zero point {value.source.grid.zero} lies outside its own range.")
    most = int(max(np.abs(low + value.bias).max(), np.abs(high + value.bias).max(), -low.min(), high.max()))
    if most > _REACH:
        raise FileError(
            f"its sums can reach {most:,}, beyond the 32 bits of runtimes, where they wrap around. "
            f"Use smaller weights or fewer inputs."
        )
    clips, why = walk.live_clips(value.clips, grid), value.floats
    if clips and not why and not value.rescaled:
        why = f"it is clipped to {clips[0]} in front of a quantizer that reaches beyond"
    if not why and not value.rescaled and node.op == "QuantizeLinear":
        why = _unfused(walk, value, node, grid)
    if value.rescaled:
        steps = steps_of(_spelled(value, grid), low, high, grid.top)
    elif why:
        walk.float_path(value.where, why)
        scale = float(value.source.grid.scale)
        steps = np.array(
            [
                runtime.exact_steps(
                    exact(scale) * exact(value.scales[c]),
                    exact(scale) * exact(value.scales[c]) * int(value.bias[c])
                    + (0 if value.shift is None else exact(value.shift[c])),
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
    made = walk.levels_on(name, value.shape, grid, kind)
    walk.operations.append(
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


def _unfused(walk: Walk, value: PendingSum, node: Node, grid: QuantGrid) -> str:
    """Why a runtime does not fuse the quantizers around an operator; empty where it does."""
    kinds = {value.source.levels.kind, walk.kind_of(node)}
    if any(kind.itemsize > 1 for kind in kinds):
        return "its tensors have 16 bits"
    if value.source.levels.wire.top != 255 or grid.top != 255:
        return "its tensors have 4 bits"
    if len(kinds) > 1:
        return "its input and its output have different element types"
    if kinds == {np.dtype(np.int8)}:
        for name in (value.source.levels.name, node.outputs[0]):
            if not walk.kept_as_uint8(name):
                return (
                    f"{name!r} is int8 and read more than once, or an end of the graph. Quantize "
                    "activations to uint8, or with QuantFormat.QOperator"
                )
    return ""


def tensor_of(value: Value | None) -> LevelTensor:
    """A dequantized tensor, or a refusal."""
    if isinstance(value, LevelTensor) and value.grid is None:
        raise FileError(
            "its input is clipped and not quantized again, so ONNX Runtime computes it in floats. Quantize "
            "its input too; without ActivationSymmetric a Relu becomes part of its quantizer."
        )
    if not isinstance(value, LevelTensor) or value.grid is None:
        raise FileError(f"its input is {word(value)}, but a quantized tensor is needed.")
    return value


def _weighted(
    source: LevelTensor, weights: Value | None, bias: Value | None, out_axis: int
) -> tuple[Ints, Array, Ints, str, Array | None]:
    """Whole weights, their scales and the bias; and why it is computed in floats."""
    if not isinstance(weights, FixedLevelArray):
        raise FileError("its weights are not quantized. Quantize this layer too, or none behind it.")
    scales = weights.scales(out_axis)
    if scales is None:
        raise FileError("its weights have a scale for each input, but one for each output is needed.")
    count, why, shift = len(scales), "its weights have 4 bits" if weights.width else "", None
    whole = np.zeros(count, np.int64)
    assert source.grid is not None
    if isinstance(bias, FixedLevelArray):
        wanted = np.float32(source.grid.scale) * scales
        if bias.q.size not in (1, count) or bias.zero.size not in (1, bias.q.size) or bias.zero.any():
            raise FileError(f"its bias has shape {bias.q.shape} for {count} outputs, or a zero point.")
        held = np.broadcast_to(bias.scale.reshape(-1), count) if bias.scale.size in (1, count) else None
        if held is None or (np.abs(held - wanted) > 4e-7 * np.abs(wanted)).any():
            raise FileError(
                "the scale of its bias is not that of its input times that of its weights, as runtimes "
                "take for granted."
            )
        whole = np.broadcast_to(bias.q.reshape(-1), count).astype(np.int64)
    elif isinstance(bias, FixedArray):
        shift = np.broadcast_to(floats_of(bias).reshape(-1), count) if bias.array.size in (1, count) else None
        if shift is None:
            raise FileError(f"its bias has shape {bias.array.shape} for {count} outputs.")
        if shift.any():
            why = "its bias is not quantized"
    elif bias is not None:
        raise FileError("its bias depends on the input.")
    return weights.whole, scales, whole, why, shift


def matmul(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """MatMul of a dequantized tensor and weights."""
    source = tensor_of(given[0])
    return dense(node, source, given[1], None, transposed=False)


def gemm(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Gemm of a dequantized tensor, weights and a bias."""
    source = tensor_of(given[0])
    if node.attributes.get("alpha", 1.0) != 1 or node.attributes.get("beta", 1.0) != 1:
        raise FileError("its alpha or beta is not 1. Fold them into the weights before quantizing.")
    if node.attributes.get("transA", 0):
        raise FileError("it transposes its input.")
    bias = given[2] if len(given) > 2 else None
    return dense(node, source, given[1], bias, transposed=bool(node.attributes.get("transB", 0)))


def dense(
    node: Node, source: LevelTensor, weights: Value | None, bias: Value | None, *, transposed: bool
) -> PendingSum:
    """A dense product that waits for its quantizer."""
    if len(source.shape) != 1:
        raise FileError(f"it multiplies data of shape {source.shape}. Flatten them first.")
    whole, scales, added, why, shift = _weighted(source, weights, bias, 0 if transposed else 1)
    if whole.ndim != 2:
        raise FileError(f"its weights have shape {whole.shape}, but two axes are needed.")
    rows = whole if transposed else whole.T
    if rows.shape[1] != source.shape[0]:
        raise FileError(f"its weights are for {rows.shape[1]} inputs, but there are {source.shape[0]}.")
    window = Window((source.shape[0], 1, 1), 1)
    return PendingSum(
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


def conv(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Conv of a dequantized tensor, weights and a bias."""
    source = tensor_of(given[0])
    bias = given[2] if len(given) > 2 else None
    whole, scales, added, why, shift = _weighted(source, given[1], bias, 0)
    return convolved(node, source, whole, scales, added, why, shift)


def convolved(
    node: Node, source: LevelTensor, whole: Ints, scales: Array, bias: Ints, why: str, shift: Any
) -> PendingSum:
    """A convolution that waits for its quantizer."""
    if len(source.shape) not in (2, 3) or whole.ndim != len(source.shape) + 1:
        raise FileError(f"it convolves data of shape {source.shape} with weights of shape {whole.shape}.")
    kernel = whole if whole.ndim == 4 else whole[:, :, None, :]
    window = window_of(node, source.shape, kernel.shape[2:])
    groups = int(node.attributes.get("group", 1))
    if groups < 1 or window.shape[0] != kernel.shape[1] * groups or len(kernel) % groups:
        raise FileError(f"its weights of shape {whole.shape} in {groups} groups do not fit {source.shape}.")
    shape = (len(kernel), *window.positions) if len(source.shape) == 3 else (len(kernel), window.positions[1])
    return PendingSum(str(node), node.op, source, kernel, scales, bias, window, groups, shape, why, shift)


def window_of(node: Node, shape: tuple[int, ...], kernel: tuple[int, ...]) -> Window:
    """Kernel, strides, dilations and pads of a node."""
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
        raise FileError(f"its window has pads {pads}, kernel {sizes}, strides {stride}, which do not fit.")
    window = Window(image(shape), sizes, stride, dilation, pads)
    if (
        prod(window.positions) * prod(window.kernel) > _TAPS
        or prod(window.positions) * window.shape[0] > _TAPS
    ):
        raise FileError(f"its windows of {sizes} at {window.positions} places are too many to follow.")
    return window


def biased(value: PendingSum, other: FixedArray | FixedLevelArray) -> PendingSum:
    """A bias behind a product."""
    array = floats_of(other) if isinstance(other, FixedArray) else other.floats
    row = row_of(array, value.shape, len(value.weights))
    if value.op == "sums":
        if not value.rescaled:
            raise FileError("it adds to sums of 32 bits that were not rescaled.")
        return replace(value, rescaled=(*value.rescaled, lambda x: np.asarray(x + row[:, None])))
    if value.clips or value.shift is not None:
        raise FileError("it adds behind another addition or a clip.")
    return replace(value, shift=row, floats=value.floats or "its bias is a float Add of its own")


def _spelled(value: PendingSum, grid: QuantGrid) -> Callable[[Ints], Ints]:
    """Sums that the file itself rescales in float32, quantized."""

    def level(sums: Ints) -> Ints:
        made: Any = sums
        for step in value.rescaled:
            made = step(made)
        return runtime.quantized(made, grid)

    return level
