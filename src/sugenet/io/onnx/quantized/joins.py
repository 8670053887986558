"""Branches that meet, averages and pools: sums of levels with weights of their own."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire, Pooling, Staircase, remapped
from sugenet.io.exact.requantize import joined, steps_of
from sugenet.io.onnx.graph import Node
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.numbers import (
    clip_to,
    exact,
    fits_evenly,
    rising,
    row_of,
    word,
)
from sugenet.io.onnx.quantized.points import of_input
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.sums import biased, tensor_of, window_of
from sugenet.io.onnx.quantized.values import (
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
    image,
)
from sugenet.io.onnx.quantized.walk import Walk

__all__ = [
    "added",
    "adding",
    "average",
    "averaged",
    "concat",
    "global_average",
    "pooled",
    "side_by_side",
    "sum_of_two",
]


def adding(node: Node, left: Value | None, right: Value | None) -> PendingAddition:
    """Two tensors, or one and a constant, to be added."""
    pair = [value for value in (left, right) if isinstance(value, LevelTensor) and value.grid is not None]
    if not pair or not all(isinstance(value, LevelTensor | FixedLevelArray) for value in (left, right)):
        raise FileError(f"it adds {word(left)} and {word(right)}; both must be quantized.")
    shapes = [value.shape for value in pair]
    if len(pair) == 2 and shapes[0] != shapes[1]:
        raise FileError(f"it adds tensors of shapes {shapes[0]} and {shapes[1]}, which differ.")
    assert isinstance(left, LevelTensor | FixedLevelArray)
    assert isinstance(right, LevelTensor | FixedLevelArray)
    return PendingAddition(str(node), left, right, shapes[0])


def sum_of_two(
    walk: Walk, node: Node, value: PendingAddition, grid: QuantGrid, kind: Any, name: str
) -> LevelArray:
    """An addition with its quantizer: one staircase over both, or a function of single levels."""
    left, right = value.left, value.right
    sides = [side for side in (left, right) if isinstance(side, LevelTensor)]
    kinds = [side.levels.kind for side in sides]
    clips = walk.live_clips(value.clips, grid)
    bytes_ = {np.dtype(k).itemsize for k in [*kinds, np.dtype(kind)]}
    if bytes_ != {1}:
        raise FileError("it adds numbers of 16 bits. Quantize additions to 8 bits.")
    by, fused = 0, not clips
    if node.op == "QuantizeLinear" and fused:
        names = [side.levels.name for side in sides]
        kept = [
            "uint8" if np.dtype(k) == np.uint8 or walk.kept_as_uint8(n) else "int8"
            for k, n in zip([*kinds, kind], [*names, name], strict=True)
        ]
        if any(isinstance(side, FixedLevelArray) for side in (left, right)):
            fused = fused and all(
                side.scale.size == 1 for side in (left, right) if isinstance(side, FixedLevelArray)
            )
        fused = fused and len(set(kept)) == 1
        by = 128 if fused and np.dtype(kind) == np.int8 and kept[0] == "uint8" else 0
    made = walk.levels_on(name, value.shape, grid, kind)
    channels = image(value.shape)[0]
    if len(sides) == 2:
        assert isinstance(left, LevelTensor)
        assert isinstance(right, LevelTensor)
        table = _pairs(left, right, grid, by, value.clips if not fused else None)
        p, q, steps, wrong = joined(table, grid.top)
        if wrong:
            raise FileError(
                f"{wrong:,} of its {table.size:,} pairs of levels do not agree with any weighted sum of "
                f"the two, because of float rounding next to ties. Choose other scales for this addition."
            )
        each = _eye(channels)
        wires = tuple(side.levels.wire for side in (left, right))
        if wires[0] == wires[1]:
            weights, wires = (p + q) * each, wires[:1]
        else:
            weights = np.concatenate([p * each, q * each], axis=1)
        window = Window((channels * len(wires), *image(value.shape)[1:]), 1)
        walk.operations.append(
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
    constant = right if isinstance(right, FixedLevelArray) else left
    assert isinstance(constant, FixedLevelArray)
    rows = []
    assert side.grid is not None
    places = row_of(constant.q, value.shape, channels)
    spread = image(value.shape)[1] * image(value.shape)[2] > 1 or constant.q.size == 1 < prod(value.shape)
    for c in range(channels):
        if fused:
            fixed = QuantGrid(constant.scale[0], int(constant.zero[0]), int(places[c]), int(places[c]))
            one, other = (side.grid, fixed) if constant is right or spread else (fixed, side.grid)
            found = runtime.added(one.moved(by), other.moved(by), grid.moved(by)).reshape(-1)
        else:
            shift = row_of(constant.floats, value.shape, channels)[c]
            found = runtime.quantized(clip_to(side.table + shift, value.clips), grid)
        rows.append(rising(found, grid.top)[0])
    walk.operations.append(remapped(side.levels.wire, name, np.array(rows), value.where, image(value.shape)))
    return made


def _pairs(left: LevelTensor, right: LevelTensor, grid: QuantGrid, by: int, clips: Any) -> Ints:
    """The level of every pair of levels."""
    if clips is None:
        assert left.grid is not None
        assert right.grid is not None
        return runtime.added(left.grid.moved(by), right.grid.moved(by), grid.moved(by))
    return runtime.quantized(clip_to(left.table[:, None] + right.table[None, :], clips), grid)


def average(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """AveragePool, which waits for its quantizer."""
    source = tensor_of(given[0])
    window = window_of(node, source.shape, ())
    if node.attributes.get("ceil_mode", 0) and not fits_evenly(window):
        raise FileError("its ceil_mode adds windows that reach beyond the image.")
    counted = int(node.attributes.get("count_include_pad", 0))
    if any(window.pads) and not counted:
        raise FileError(
            "windows at the rim average fewer values (count_include_pad is 0). Pool without padding."
        )
    everything = window.kernel == image(source.shape)[1:] and not any(window.pads)
    return _averaging(node, source, window, everything)


def global_average(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """GlobalAveragePool, which waits for its quantizer."""
    source = tensor_of(given[0])
    return _averaging(node, source, Window(image(source.shape), image(source.shape)[1:]), True)


def _averaging(node: Node, source: LevelTensor, window: Window, everything: bool) -> PendingAverage:
    if len(source.shape) not in (2, 3):
        raise FileError(f"it averages data of shape {source.shape}, but images are needed.")
    positions = window.positions if len(source.shape) == 3 else window.positions[1:]
    return PendingAverage(str(node), source, window, everything, (source.shape[0], *positions))


def averaged(
    walk: Walk, node: Node, value: PendingAverage, grid: QuantGrid, kind: Any, name: str
) -> LevelArray:
    """Averages with their quantizer: a depthwise convolution of ones."""
    wire, given = value.source.levels.wire, value.source.grid
    assert given is not None
    zero, count = given.zero - value.source.levels.low, prod(value.window.kernel)
    if walk.live_clips(value.clips, grid):
        raise FileError("averages are clipped in front of their quantizer, which runtimes compute in floats.")
    if node.op == "QuantizeLinear" and {value.source.levels.kind, np.dtype(kind)} not in (
        {np.dtype(np.uint8)},
        {np.dtype(np.int8)},
    ):
        raise FileError("its input and its output have different element types, or 16 bits.")
    if any(value.window.pads) and not 0 <= zero <= wire.top:
        raise FileError(f"its zero point {given.zero} lies outside its own range.")
    if value.everything:
        with np.errstate(over="ignore"):
            factor = np.array([given.scale / np.float32(grid.scale * np.float32(count))], np.float32)
        if not (np.isfinite(factor).all() and (factor > 0).all()):
            raise FileError("its scales are so far apart that their ratio is 0 or infinite in float32.")
        level = runtime.requantizer(factor, np.zeros(1, np.int64), grid)
        low, high = np.array([-zero * count]), np.array([(wire.top - zero) * count])
        steps = steps_of(level, low, high, grid.top)
        steps = np.where(steps == NEVER, NEVER, steps + zero * count)
    else:
        source = QuantGrid(
            given.scale, given.zero, value.source.levels.low, value.source.levels.low + wire.top
        )
        least, largest, many = runtime.averages(source, count, count, grid)
        undecided = int((least != largest).sum())
        if many or undecided:
            why = "float32 sums depend on their order" + (
                f", and that decides {undecided} of its {count * wire.top + 1} sums" if undecided else ""
            )
            walk.float_path(value.where, why)
            steps_row = runtime.exact_steps(
                exact(given.scale) / count,
                -exact(given.scale) / count * zero * count,
                grid,
                [],
                0,
                count * wire.top,
            )
            steps = np.array([steps_row])
        else:
            steps = rising(least, grid.top)
    channels = image(value.shape)[0]
    made = walk.levels_on(name, value.shape, grid, kind)
    walk.operations.append(
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


def pooled(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """MaxPool: the largest level of each window."""
    source = given[0]
    if not isinstance(source, LevelTensor | LevelArray):
        raise FileError(f"it pools {word(source)}, but a quantized tensor is needed.")
    if len(source.shape) not in (2, 3):
        raise FileError(f"it pools data of shape {source.shape}, but images are needed.")
    window = window_of(node, source.shape, ())
    if node.attributes.get("ceil_mode", 0) and not fits_evenly(window):
        raise FileError("its ceil_mode adds windows that reach beyond the image. Crop or pad it first.")
    if not (window.taps >= 0).any(axis=1).all():
        raise FileError("some of its windows hold nothing but padding.")
    levels = source.levels if isinstance(source, LevelTensor) else source
    if isinstance(source, LevelTensor) and (np.diff(source.table) < 0).any():
        raise FileError("it pools values that fall with their level.")
    positions = window.positions if len(source.shape) == 3 else window.positions[1:]
    shape = (source.shape[0], *positions)
    name = node.outputs[0]
    wire = LevelWire(name, image(shape), levels.wire.top)
    walk.operations.append(Pooling(str(node), (levels.wire,), wire, window))
    walk.lows[wire.name] = levels.low
    made = replace(
        levels, name=name if isinstance(source, LevelArray) else levels.name, wire=wire, shape=shape
    )
    return made if isinstance(source, LevelArray) else replace(source, levels=made, shape=shape)


def concat(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Tensors side by side along their channels."""
    parts = [tensor_of(value) for value in given]
    axis = int(node.attributes.get("axis", 1))
    rank = len(parts[0].shape) + 1
    if axis % rank != 1 or len({part.shape[1:] for part in parts}) > 1:
        raise FileError("it joins tensors along another axis than their channels.")
    return PendingConcat(str(node), tuple(parts), (sum(part.shape[0] for part in parts), *parts[0].shape[1:]))


def side_by_side(walk: Walk, value: PendingConcat, grid: QuantGrid, kind: Any, name: str) -> LevelArray:
    """Joined tensors with their quantizer: each level looked up."""
    steps = []
    for part in value.parts:
        row = rising(runtime.quantized(clip_to(part.table, value.clips), grid), grid.top)
        steps.append(np.repeat(row, image(part.shape)[0], axis=0))
    wires = tuple(part.levels.wire for part in value.parts)
    if len(set(wires)) < len(wires):
        raise FileError("it joins a tensor with itself. Let each part be a tensor of its own.")
    made = walk.levels_on(name, value.shape, grid, kind)
    channels, *size = image(value.shape)
    walk.operations.append(
        Staircase(
            value.where,
            wires,
            made.wire,
            _eye(channels)[:, :, None, None],
            np.concatenate(steps),
            Window((channels, *size), 1),
        )
    )
    return made


def added(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Add: of branches, of a bias, or to the raw input."""
    left, right = given
    for value, other in ((left, right), (right, left)):
        if isinstance(value, RawInput) and isinstance(other, FixedArray):
            return of_input(node, value, other)
        if isinstance(value, PendingSum) and isinstance(other, FixedArray | FixedLevelArray):
            return biased(value, other)
    return adding(node, left, right)


def _eye(channels: int) -> Ints:
    """Each channel by itself."""
    if channels > 1 << 13:
        raise FileError(
            f"it joins {channels:,} channels, but {1 << 13:,} are supported. Join images, not rows."
        )
    return np.eye(channels, dtype=np.int64)
