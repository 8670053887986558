"""Layers of staircases for the compiled engine: lays out a chain of them as flat arrays for the kernel,
and calls it.

Every layer has its input in the *arena*, padding included, for as many samples as keep the maps in the second
cache. The padding is written once, when an arena is made; the kernel writes inside it.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.engine import LevelProgram
from sugenet.bits.level_kernels import (
    COMPARED,
    CONV,
    COUNTED,
    LANES,
    LINE,
    LONG_LINE,
    MAXIMUM,
    ROOM,
    ROWS,
    VECTORS,
)
from sugenet.bits.lines import clipped_steps, lines_of, slopes_of
from sugenet.bits.numba_engine import kernel_named, on_a_line
from sugenet.bits.numpy_levels import NumpyLevels
from sugenet.bits.stairs import LevelConv, LevelPool, StairMap
from sugenet.bits.threads import help_out, share

__all__ = ["NumbaLevels", "level_program"]

_Ints = npt.NDArray[np.int64]
_Values = npt.NDArray[Any]

_ARENA = 1 << 19  # bytes of all maps of the samples that go through the layers together
_MOST = ROOM  # samples that do so at most
_PRODUCTS_PER_HANDOVER = (
    1 << 23
)  # some 50 microseconds of work on one core, above the cost of waking a thread
_PRODUCTS_PER_TEAM = 1 << 24  # of one sample, that it is worth waking threads for it
_NEVER = (1 << 31) - 1  # no sum reaches this
_ALONE = np.zeros(0, np.int64)
_SPARE = 64  # bytes behind the last map: whole vectors and quads may be read and written there


def level_program(layers: tuple[StairMap, ...]) -> LevelProgram:
    """Make a chain ready to run; layers beyond bytes are done by the NumPy twin."""
    runs = [(fits, tuple(run)) for fits, run in groupby(layers, _fits)]
    parts: list[LevelProgram] = [NumbaLevels(run) if fits else NumpyLevels(run) for fits, run in runs]
    return parts[0] if len(parts) == 1 else _Parts(tuple(parts))


def _fits(layer: StairMap) -> bool:
    """Whether a layer's levels and weights are bytes, and its sums and steps fit into 31 bits."""
    if layer.top > 255 or layer.gives > 255:
        return False
    if isinstance(layer, LevelPool):
        return True
    return int(layer.weights.min()) >= -128 and int(layer.weights.max()) <= 127 and layer.largest < _NEVER


@dataclass(frozen=True)
class _Parts:
    parts: tuple[LevelProgram, ...]

    def levels(self, inputs: _Values, threads: int | None) -> _Values:
        for part in self.parts:
            inputs = part.levels(inputs, threads)
        return inputs

    def sums(self, inputs: _Values, threads: int | None) -> _Values:
        *front, last = self.parts
        for part in front:
            inputs = part.levels(inputs, threads)
        return last.sums(inputs, threads)


@dataclass
class _LevelPlan:
    """The flat arrays of the kernel as they grow, layer by layer."""

    rows: list[list[int]] = field(default_factory=list)
    blocks: list[list[int]] = field(default_factory=list)
    positions: list[_Ints] = field(default_factory=list)
    offsets: list[npt.NDArray[np.int32]] = field(default_factory=list)
    weights: list[npt.NDArray[np.int8]] = field(default_factory=list)
    lines: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    steps: list[npt.NDArray[np.int32]] = field(default_factory=list)
    masks: list[npt.NDArray[np.uint8]] = field(default_factory=list)


def _append(parts: list[Any], values: npt.NDArray[Any]) -> int:
    begin = sum(map(len, parts))
    parts.append(values)
    return begin


def _flat(parts: list[Any], dtype: Any) -> npt.NDArray[Any]:
    return on_a_line(np.concatenate([*parts, np.zeros(LANES, dtype)]).astype(dtype))


class NumbaLevels:
    """A chain of layers as flat arrays, so that one compiled call takes a group of samples through all."""

    def __init__(self, layers: tuple[StairMap, ...]) -> None:
        self._run = kernel_named("levels")
        self._outputs = int(np.prod(layers[-1].output_shape))
        pixels = [layers[0].slide.shape[0], *(_whole(layer.output_shape[0]) for layer in layers)]
        sizes = [
            pixel * int(np.prod(layer.slide.padded)) for pixel, layer in zip(pixels, layers, strict=False)
        ]
        sizes.append(pixels[-1] * layers[-1].slide.count)
        self._most = max(1, min(_MOST, _ARENA // sum(sizes)))
        starts = [int(begin) * self._most for begin in np.cumsum([0, *sizes])]
        plan = _LevelPlan()
        for number, layer in enumerate(layers):
            following = layers[number + 1] if number + 1 < len(layers) else None
            inner = np.arange(layer.slide.count) if following is None else following.slide.inner
            places = np.stack([layer.slide.starts * pixels[number], inner * pixels[number + 1]], axis=1)
            begin = [starts[number], sizes[number], starts[number + 1], sizes[number + 1], layer.slide.count]
            begin.append(_append(plan.positions, places))
            kind, *end = _laid(plan, layer, pixels[number])
            plan.rows.append([kind, *begin, *end, layer.output_shape[0]])
        self._arrays = (
            _source(layers[0], sizes[0]),
            np.array(plan.rows, np.int64),
            np.array(plan.blocks, np.int64).reshape(-1, 9),
            np.concatenate(plan.positions).astype(np.int64),
            _flat(plan.offsets, np.int32),
            _flat(plan.weights, np.int8),
            _flat(plan.lines, np.uint8),
            _flat(plan.steps, np.int32),
            _flat(plan.masks, np.uint8),
        )
        self._fresh = _fresh(layers, pixels, sizes, self._most)
        products = sum(
            layer.weights.size * layer.slide.count for layer in layers if isinstance(layer, LevelConv)
        )
        self._grain = -(-_PRODUCTS_PER_HANDOVER // max(1, products))
        apart = [
            layer.weights.size * layer.slide.count
            for layer in layers
            if isinstance(layer, LevelConv) and layer.slide.count >= 2 * ROWS
        ]
        self._shared = sum(apart) >= _PRODUCTS_PER_TEAM
        self._spare: deque[tuple[_Values, _Ints, npt.NDArray[np.int32]]] = deque()
        self._no_levels, self._no_sums = np.empty((0, 0), np.uint8), np.empty((0, 0), np.int32)

    def levels(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the levels of the last layer, flat."""
        out = np.empty((len(inputs), self._outputs), np.uint8)
        self._call(inputs, out, self._no_sums, threads)
        return out

    def sums(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the sums of the last layer, which has no steps."""
        out = np.empty((len(inputs), self._outputs), np.int32)
        self._call(inputs, self._no_levels, out, threads)
        return out

    def _call(self, inputs: _Values, out: _Values, sums: _Values, threads: int | None) -> None:
        octets = np.ascontiguousarray(inputs, np.uint8)
        if len(octets) == 1 and self._shared and threads != 1:
            self._call_together(octets, out, sums, threads)
            return

        def task(start: int, stop: int) -> None:
            room = self._room()  # one for each thread
            self._run(octets, start, stop, self._most, *self._arrays, *room, _ALONE, out, sums)
            self._spare.append(room)

        share(task, len(octets), self._grain, threads)

    def _call_together(self, octets: _Values, out: _Values, sums: _Values, threads: int | None) -> None:
        """One sample by all threads, layer by layer."""
        team = np.zeros(2 * len(self._arrays[1]) + 2, np.int64)
        room = self._room()

        def helper() -> None:
            own = _own_room()
            self._run(octets, 0, 1, 1, *self._arrays, room[0], *own, team, self._no_levels, sums)

        def lead() -> None:
            self._run(octets, 0, 1, 1, *self._arrays, *room, team, out, sums)

        help_out(lead, helper, threads)
        self._spare.append(room)

    def _room(self) -> tuple[_Values, _Ints, npt.NDArray[np.int32]]:
        """An arena and what a thread needs beside it; those of earlier calls are used again."""
        try:
            return self._spare.pop()
        except IndexError:
            return on_a_line(self._fresh), *_own_room()


def _own_room() -> tuple[_Ints, npt.NDArray[np.int32]]:
    return np.zeros((2, ROOM), np.int64), on_a_line(np.zeros(ROWS * max(VECTORS) * LANES, np.int32))


def _whole(channels: int) -> int:
    """Channels filled up to whole vectors."""
    return -(-channels // LANES) * LANES


def _source(layer: StairMap, size: int) -> _Ints:
    (channels, height, width), padded = layer.slide.shape, layer.slide.padded
    first = int(layer.slide.inner[0]) * channels
    return np.array([channels, height, width, size, channels, first, padded[1]], np.int64)


def _fresh(layers: tuple[StairMap, ...], pixels: list[int], sizes: list[int], most: int) -> _Values:
    """The maps of a group of samples before the first run: what padding must hold is everywhere."""
    parts = []
    for layer, pixel, size in zip(layers, pixels, sizes, strict=False):
        fill = np.zeros(pixel, np.uint8)
        fill[: layer.slide.shape[0]] = (
            layer.pad if isinstance(layer, LevelConv) else np.where(layer.every, 255, 0)
        )
        parts.append(np.tile(fill, size // pixel * most))
    return np.concatenate([*parts, np.zeros(sizes[-1] * most + _SPARE, np.uint8)])


def _laid(plan: _LevelPlan, layer: StairMap, pixel: int) -> list[int]:
    """Add a layer: its kind and the end of its row in the plan."""
    if isinstance(layer, LevelPool):
        mask = np.zeros(_whole(pixel), np.uint8)
        mask[: len(layer.every)] = np.where(layer.every, 255, 0)
        taps = _append(plan.offsets, (layer.slide.offsets * pixel).astype(np.int32))
        return [MAXIMUM, pixel, taps, len(layer.slide.offsets), _append(plan.masks, mask)]
    first, neuron, outs = len(plan.blocks), 0, len(layer.weights)
    while neuron < outs:
        neuron += _laid_block(plan, layer, pixel, neuron)
    return [CONV, first, len(plan.blocks), 0, 0]


def _laid_block(plan: _LevelPlan, layer: LevelConv, pixel: int, neuron: int) -> int:
    """Add a block of neurons, as wide as makes it cheapest; return how many lanes it has."""
    left = -(-(len(layer.weights) - neuron) // LANES)
    made = {v: _quads(layer, pixel, neuron, v * LANES) for v in VECTORS if v <= left}
    # products for one vector of neurons; narrow blocks read their quads more often
    vectors = min(made, key=lambda v: (len(made[v][0]) * (1 + 0.5 / v), -v))
    offsets, octets = made[vectors]
    stop = min(neuron + vectors * LANES, len(layer.weights))
    then, place, count = _finish(plan, layer, neuron, stop, vectors * LANES)
    plan.blocks.append(
        [
            vectors,
            _append(plan.weights, octets.reshape(-1)),
            len(offsets),
            _append(plan.offsets, offsets),
            *(neuron, stop - neuron, then, place, count),
        ]
    )
    return vectors * LANES


def _quads(
    layer: LevelConv, pixel: int, neuron: int, lanes: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Where the quads of a block of neurons begin, and their weights as (quads, lanes, 4);
    without those that have none.
    """
    slide, rows = layer.slide, layer.weights[neuron : neuron + lanes]
    per_in = layer.weights.shape[1]
    group = np.arange(neuron, neuron + len(rows)) * layer.groups // len(layer.weights)
    low, high = int(group[0]) * per_in, (int(group[-1]) + 1) * per_in
    wide = np.zeros((lanes, len(slide.offsets), high - low), np.int8)
    for lane, (row, part) in enumerate(zip(rows, group, strict=True)):
        begin = int(part) * per_in - low
        wide[lane, :, begin : begin + per_in] = row.reshape(per_in, -1).T
    places = slide.offsets[:, None] * pixel + np.arange(low, high)
    # bytes that follow each other are one run: a row of the window, where pixels have no bytes in between
    runs = slide.kernel[0] if high - low == pixel and slide.dilation[1] == 1 else len(slide.offsets)
    wide, places = wide.reshape(lanes, runs, -1), places.reshape(runs, -1)
    width = -(-wide.shape[2] // 4) * 4
    full = np.zeros((lanes, runs, width), np.int8)
    full[:, :, : wide.shape[2]] = wide
    quads = full.reshape(lanes, runs * width // 4, 4).transpose(1, 0, 2)
    used = quads.any(axis=(1, 2))
    return places[:, ::4].reshape(-1)[used].astype(np.int32), np.ascontiguousarray(quads[used])


def _finish(plan: _LevelPlan, layer: LevelConv, start: int, stop: int, lanes: int) -> tuple[int, int, int]:
    """What becomes of the sums of a block: how, by what, and how many steps."""
    if layer.steps is None:
        return COUNTED, 0, 0
    steps, least, most = layer.steps[start:stop], layer.least[start:stop], layer.most[start:stop]
    steps = clipped_steps(steps, least, most)
    slopes = slopes_of(steps, least, most)
    for then, dtype in ((LINE, np.float32), (LONG_LINE, np.float64)):
        lines = lines_of(steps, least, most, dtype, slopes)
        if lines.proved.all():
            parts = (lines.slope, lines.offset, lines.low, lines.high)
            full = [np.concatenate([part, np.zeros(lanes - len(part), part.dtype)]) for part in parts]
            return then, _append(plan.lines, np.concatenate([part.view(np.uint8) for part in full])), 0
    compared = np.full((steps.shape[1], lanes), _NEVER, np.int32)
    compared[:, : stop - start] = steps.T
    return COMPARED, _append(plan.steps, compared.reshape(-1)), steps.shape[1]
