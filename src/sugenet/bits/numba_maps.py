"""Convolutions and pooling for the compiled engine, over bits and levels: arranges a chain of them as flat
arrays for the kernel, and calls it.

Every layer has its input in the *arena*, padding included, for as many samples as keep the maps in the second
cache. The padding is written once, when an arena is created; the kernel writes inside it. Limits of bits are
stored once for all positions with the same ones. These are all positions of a convolution without padding, or
all but those at the border of one with padding.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits import level_kernels
from sugenet.bits.conv import LevelConv, LevelMap, MapLayer, PackedConv, PackedPool
from sugenet.bits.kernels import (
    BLOCK,
    DENSE,
    LANES,
    LEVEL_LANES,
    LEVEL_NEURONS,
    LEVELS,
    NEURONS,
    PITCH,
    POOL,
    TERNARY,
)
from sugenet.bits.lines import clipped_steps, lines_of, slopes_of
from sugenet.bits.numba_engine import (
    PRODUCTS_PER_HANDOVER,
    NumbaProgram,
    kernel_named,
    laid_out,
    on_a_line,
)
from sugenet.bits.numpy_engine import NumpyLevels, NumpyMaps
from sugenet.bits.threads import help_out, share
from sugenet.bits.words import Words, pack, tail_mask, words_for

__all__ = ["PROGRAMS", "NumbaLevels", "NumbaMaps"]

_Ints = npt.NDArray[np.int64]
_Values = npt.NDArray[Any]

_ARENA = 1 << 18  # bytes of all maps of bits of the samples that pass through the layers together
_LEVEL_ARENA = 1 << 19  # the same of maps of levels
_MAX_BATCH = 64  # largest number of such samples
_LEVEL_PRODUCTS_PER_HANDOVER = 1 << 23  # about 50 microseconds on one core, more than waking a thread costs
_PRODUCTS_PER_TEAM = 1 << 24  # products of one sample from which waking threads pays
_NEVER = (1 << 31) - 1  # no sum of levels reaches this
_ALONE = np.zeros(0, np.int64)
_SPARE = 64  # bytes after the last map: complete vectors and quads may be read and written there


def _split(layers: tuple[Any, ...], fits: Callable[[Any], bool], compiled: Any, plain: Any) -> Any:
    """Prepare a chain to run, part by part: layers that do not fit the kernel run with NumPy."""
    runs = [(fit, tuple(run)) for fit, run in groupby(layers, fits)]
    parts = tuple((compiled if fit else plain)(run) for fit, run in runs)
    return parts[0] if len(parts) == 1 else _Parts(parts)


@dataclass(frozen=True)
class _Parts:
    """Programs that run one after another."""

    parts: tuple[Any, ...]

    def activity(self, inputs: _Values, threads: int | None) -> _Values:
        for part in self.parts:
            inputs = part.activity(inputs, threads)
        return inputs

    def levels(self, inputs: _Values, threads: int | None) -> _Values:
        for part in self.parts:
            inputs = part.levels(inputs, threads)
        return inputs

    def sums(self, inputs: _Values, threads: int | None) -> _Values:
        levels = _Parts(self.parts[:-1]).levels(inputs, threads)
        return np.asarray(self.parts[-1].sums(levels, threads))


@dataclass
class _Plan:
    """Flat arrays of a kernel, extended layer by layer; each kernel has its own."""

    rows: list[list[int]] = field(default_factory=list)
    blocks: list[list[int]] = field(default_factory=list)
    positions: list[_Ints] = field(default_factory=list)
    offsets: list[_Values] = field(default_factory=list)
    weights: list[_Values] = field(default_factory=list)
    limits: list[_Ints] = field(default_factory=list)
    lines: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    steps: list[npt.NDArray[np.int32]] = field(default_factory=list)
    masks: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    def add_weights(self, words: Words) -> int:
        return _append(self.weights, np.concatenate([words, np.zeros(-len(words) % LANES, np.uint64)]))

    def add_limits(self, limits: _Ints, rest: int, neurons: int, dtype: Any) -> _Ints:
        """Add limits of shape (outputs, positions) and return the index of the limits of each position."""
        kept, which = np.unique(limits.T, axis=0, return_inverse=True)
        row = -(-len(limits) // neurons) * neurons
        table = np.full((len(kept), row), rest, dtype)
        table[:, : len(limits)] = kept
        begin = _append(self.limits, table.reshape(-1).view(np.int64)) * 8 // table.itemsize
        return begin + which.reshape(-1).astype(np.int64) * row


def _append(parts: list[Any], values: npt.NDArray[Any]) -> int:
    begin = sum(map(len, parts))
    parts.append(values)
    return begin


def _fits_maps(layer: MapLayer) -> bool:
    """Return whether the levels that a layer reads are bytes, and their sums fit into 31 bits."""
    if not isinstance(layer, PackedConv) or layer.top is None:
        return True
    return layer.top <= 255 and int(layer.sizes.max()) < _NEVER


def _with_inner(layers: tuple[Any, ...]) -> Iterator[tuple[Any, _Ints]]:
    """Yield each layer, and the indices of its pixels in the padded input of the next one."""
    inner = (layer.slide.inner for layer in layers[1:])
    return zip(layers, (*inner, np.arange(layers[-1].slide.count)), strict=True)


class _Rooms:
    """Work memory of threads, reused by later calls."""

    def __init__(self) -> None:
        self._spare: deque[tuple[Any, ...]] = deque()

    def _room(self) -> tuple[Any, ...]:
        try:
            return self._spare.pop()
        except IndexError:
            return self._new_room()

    def _new_room(self) -> tuple[Any, ...]:
        raise NotImplementedError


class NumbaMaps(_Rooms):
    """A chain of convolutions and pooling as flat arrays, so that one compiled call passes a group of samples
    through all of them.
    """

    def __init__(self, layers: tuple[MapLayer, ...]) -> None:
        super().__init__()
        self._layers = layers
        self._run = kernel_named("maps")
        first = layers[0]
        self._levels = isinstance(first, PackedConv) and first.top is not None
        channels, height, width = layers[-1].output_shape
        self._out = height * width, words_for(channels)
        sizes = [0 if self._levels and layer is first else _words(layer) for layer in layers] + [
            height * width * words_for(channels)
        ]
        self._batch = max(1, min(_MAX_BATCH, _ARENA // (8 * sum(sizes))))
        self._sizes, starts = sizes, [int(begin) * self._batch for begin in np.cumsum([0, *sizes])]
        plan = _Plan()
        for number, (layer, inner) in enumerate(_with_inner(layers)):
            out_plane = sizes[number + 1] // words_for(layer.output_shape[0])
            kind, starts_in, limits, *last = _laid(plan, layer, out_plane)
            index = _append(plan.positions, np.stack([starts_in, inner, limits], axis=1))
            in_size = sizes[number] or _bytes(layer)
            plan.rows.append(
                [
                    kind,
                    starts[number],
                    in_size,
                    starts[number + 1],
                    sizes[number + 1],
                    layer.slide.count,
                    index,
                    *last,
                ]
            )
        self._arrays = (
            self._source(first),
            np.array(plan.rows, np.int64),
            np.array(plan.blocks, np.int64).reshape(-1, 6),
            np.concatenate(plan.positions),
            np.concatenate(plan.offsets),
            on_a_line(np.concatenate(plan.weights)),
            on_a_line(np.concatenate([*plan.limits, np.zeros(0, np.int64)])),
        )
        self._patch_words = (1 + max([int(words) for _, words, *_ in plan.blocks], default=0)) * PITCH
        self._grain = -(-PRODUCTS_PER_HANDOVER // sum(layer.products for layer in layers))
        self._no_words, self._no_octets = np.empty((0, 0, 0), np.uint64), np.empty((0, 0), np.uint8)

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Words:
        """Return the packed maps of the last layer."""
        octets = np.ascontiguousarray(inputs, np.uint8) if self._levels else self._no_octets
        words = self._no_words if self._levels else inputs
        out = np.empty((len(inputs), *self._out), np.uint64)

        def task(start: int, stop: int) -> None:
            room = self._room()
            self._run(words, octets, start, stop, self._batch, *self._arrays, *room, out)
            self._spare.append(room)

        share(task, len(inputs), self._grain, threads)
        return out

    def _source(self, layer: MapLayer) -> _Ints:
        (channels, height, width), padded = layer.slide.shape, layer.slide.padded
        begin = int(layer.slide.inner[0])
        mask = int(np.uint64(tail_mask(channels)).view(np.int64))
        if self._levels:
            return np.array(
                [channels, height, width, 0, 0, _bytes(layer), begin * channels, padded[1]], np.int64
            )
        return np.array(
            [channels, height, width, words_for(channels), mask, _words(layer), begin, padded[1]], np.int64
        )

    @cached_property
    def _fresh(self) -> Words:
        """Return the maps of a group of samples before the first run, filled with the value of padding."""
        parts = []
        for layer, size in zip(self._layers, self._sizes, strict=False):
            fill = pack(layer.every) if isinstance(layer, PackedPool) else np.zeros(1, np.uint64)
            parts.append(np.tile(np.repeat(fill, size // len(fill)), self._batch))
        return np.concatenate([*parts, np.zeros(self._sizes[-1] * self._batch + LANES, np.uint64)])

    def _new_room(self) -> tuple[Words, npt.NDArray[np.uint8], Words, _Ints]:
        octets = _bytes(self._layers[0]) * self._batch + 8 if self._levels else 0
        patches = on_a_line(np.zeros(self._patch_words, np.uint64))
        return on_a_line(self._fresh), np.zeros(octets, np.uint8), patches, np.zeros((3, BLOCK), np.int64)


def _words(layer: MapLayer) -> int:
    """Return the words of one padded input."""
    return words_for(layer.slide.shape[0]) * layer.slide.padded[0] * layer.slide.padded[1]


def _bytes(layer: MapLayer) -> int:
    return layer.slide.shape[0] * layer.slide.padded[0] * layer.slide.padded[1]


def _laid(plan: _Plan, layer: MapLayer, out_plane: int) -> tuple[Any, ...]:
    """Add a layer; return its kind, the starts of its positions and of their limits, and the end of its row
    in the plan.
    """
    if isinstance(layer, PackedPool):
        return _laid_pool(plan, layer)
    return _laid_conv(plan, layer, out_plane) if layer.top is None else _laid_levels(plan, layer, out_plane)


def _laid_pool(plan: _Plan, layer: PackedPool) -> tuple[Any, ...]:
    slide, words = layer.slide, words_for(layer.slide.shape[0])
    taps, mask = _append(plan.offsets, slide.offsets), plan.add_weights(pack(layer.every))
    return (
        POOL,
        slide.starts,
        np.zeros(slide.count, np.int64),
        slide.positions[1],
        slide.stride[1],
        0,
        words,
        taps,
        len(slide.offsets),
        mask,
    )


def _laid_conv(plan: _Plan, layer: PackedConv, out_plane: int) -> tuple[Any, ...]:
    slide, outs, per_in = layer.slide, *layer.weights.shape[:2]
    positive, negative = layer.literals()
    plane = slide.padded[0] * slide.padded[1]
    spans, dense = [], bool((np.abs(layer.weights) == layer.copies).all())
    for begin in range(0, outs, NEURONS):  # the words that contain the groups of 16 neurons
        groups = [row * layer.groups // outs for row in (begin, min(begin + NEURONS, outs) - 1)]
        spans.append((groups[0] * per_in // 64, words_for((groups[1] + 1) * per_in)))
        inside = (
            groups[0] == groups[1]
            and per_in * groups[0] % 64 == 0
            and ((groups[1] + 1) * per_in % 64 == 0 or layer.groups == 1)
        )
        dense = dense and inside
    limits = plan.add_limits(layer.allowed, -1, NEURONS, np.int64)
    first, indices = len(plan.blocks), dict[tuple[int, int], int]()
    for block, (low, high) in enumerate(spans):
        rows = slice(block * NEURONS, (block + 1) * NEURONS)
        if (low, high) not in indices:
            offsets = (
                slide.offsets[:, None, None]
                + np.zeros((layer.copies, 1), np.int64)
                + np.arange(low, high) * plane
            )
            indices[low, high] = _append(plan.offsets, offsets.reshape(-1))
        up, down = (part[rows, :, :, low:high].reshape(len(part[rows]), -1) for part in (positive, negative))
        laid = laid_out(
            np.bitwise_xor.accumulate(up, axis=1)[:, :, None] if dense else np.stack([up, down], axis=2)
        )
        renew = block == 0 or spans[block - 1] != (low, high)
        out = block * NEURONS // 64 * out_plane * 4 + block * NEURONS % 64 // 16
        plan.blocks.append(
            [plan.add_weights(laid), up.shape[1], indices[low, high], block * NEURONS, out, int(renew)]
        )
    end = (first, len(plan.blocks), 0, 0, 0)
    return DENSE if dense else TERNARY, slide.starts, limits, slide.positions[1], slide.stride[1], *end


def _laid_levels(plan: _Plan, layer: PackedConv, out_plane: int) -> tuple[Any, ...]:
    slide, channels = layer.slide, layer.slide.shape[0]
    (high, wide), outs = slide.kernel, len(layer.weights)
    taps = layer.spread().transpose(0, 2, 1).reshape(outs, high, wide, channels)
    # The bytes of neighbouring pixels are consecutive: a row of the kernel is one run of bytes,
    # unless it is dilated.
    runs = (
        taps.reshape(outs, high, wide * channels)
        if slide.dilation[1] == 1
        else taps.reshape(outs, high * wide, channels)
    )
    begins = slide.offsets.reshape(high, wide)[:, 0] if slide.dilation[1] == 1 else slide.offsets
    quads = -(-runs.shape[2] // 4)
    blocks = -(-outs // LEVEL_NEURONS)
    octets = np.zeros((blocks * LEVEL_NEURONS, runs.shape[1], quads * 4), np.int8)
    octets[:outs, :, : runs.shape[2]] = runs
    count = runs.shape[1] * quads
    lanes = octets.reshape(blocks, LEVEL_NEURONS // LEVEL_LANES, LEVEL_LANES, count, 4).transpose(
        0, 3, 1, 2, 4
    )
    offsets = _append(plan.offsets, (begins[:, None] * channels + 4 * np.arange(quads)).reshape(-1))
    limits = plan.add_limits(layer.least, _NEVER, LEVEL_NEURONS, np.int32)
    first = len(plan.blocks)
    for block in range(blocks):
        index = plan.add_weights(np.ascontiguousarray(lanes[block]).reshape(-1).view(np.uint64))
        out = block * LEVEL_NEURONS // 64 * out_plane * 4 + block * LEVEL_NEURONS % 64 // 16
        plan.blocks.append([index, count, offsets, block * LEVEL_NEURONS, out, 0])
    end = (first, len(plan.blocks), 0, 0, 0)
    return LEVELS, slide.starts * channels, limits, slide.positions[1], slide.stride[1], *end


# -- levels ------------------------------------------------------------------------------------------------


def _fits_levels(layer: LevelMap) -> bool:
    """Return whether a layer's levels and weights are bytes, and its sums and steps fit into 31 bits."""
    if (layer.top or 1) > 255 or layer.gives > 255:
        return False
    if isinstance(layer, PackedPool):
        return True
    return int(layer.weights.min()) >= -128 and int(layer.weights.max()) <= 127 and layer.largest < _NEVER


def _flat(parts: list[Any], dtype: Any) -> npt.NDArray[Any]:
    return on_a_line(np.concatenate([*parts, np.zeros(level_kernels.LANES, dtype)]).astype(dtype))


class NumbaLevels(_Rooms):
    """A chain of layers as flat arrays, so that one compiled call passes a group of samples through all."""

    def __init__(self, layers: tuple[LevelMap, ...]) -> None:
        super().__init__()
        self._run = kernel_named("levels")
        self._outputs = int(np.prod(layers[-1].output_shape))
        pixels = [layers[0].slide.shape[0], *(_rounded_up(layer.output_shape[0]) for layer in layers)]
        sizes = [
            pixel * int(np.prod(layer.slide.padded)) for pixel, layer in zip(pixels, layers, strict=False)
        ]
        sizes.append(pixels[-1] * layers[-1].slide.count)
        self._batch = max(1, min(level_kernels.ROOM, _LEVEL_ARENA // sum(sizes)))
        starts = [int(begin) * self._batch for begin in np.cumsum([0, *sizes])]
        plan = _Plan()
        for number, (layer, inner) in enumerate(_with_inner(layers)):
            indices = np.stack([layer.slide.starts * pixels[number], inner * pixels[number + 1]], axis=1)
            begin = [starts[number], sizes[number], starts[number + 1], sizes[number + 1], layer.slide.count]
            begin.append(_append(plan.positions, indices))
            kind, *end = _laid_level(plan, layer, pixels[number])
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
        self._fresh = _fresh_levels(layers, pixels, sizes, self._batch)
        self._grain = -(-_LEVEL_PRODUCTS_PER_HANDOVER // sum(layer.products for layer in layers))
        apart = [layer.products for layer in layers if layer.slide.count >= 2 * level_kernels.ROWS]
        self._shared = sum(apart) >= _PRODUCTS_PER_TEAM
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
            room = self._room()  # one per thread
            self._run(octets, start, stop, self._batch, *self._arrays, *room, _ALONE, out, sums)
            self._spare.append(room)

        share(task, len(octets), self._grain, threads)

    def _call_together(self, octets: _Values, out: _Values, sums: _Values, threads: int | None) -> None:
        """Compute one sample with all threads, layer by layer."""
        team = np.zeros(2 * len(self._arrays[1]) + 2, np.int64)
        room = self._room()

        def helper() -> None:
            thread_room = _own_room()
            self._run(octets, 0, 1, 1, *self._arrays, room[0], *thread_room, team, self._no_levels, sums)

        def lead() -> None:
            self._run(octets, 0, 1, 1, *self._arrays, *room, team, out, sums)

        help_out(lead, helper, threads)
        self._spare.append(room)

    def _new_room(self) -> tuple[_Values, _Ints, npt.NDArray[np.int32]]:
        """Return an arena, and the other work memory of a thread."""
        return on_a_line(self._fresh), *_own_room()


def _own_room() -> tuple[_Ints, npt.NDArray[np.int32]]:
    return np.zeros((2, level_kernels.ROOM), np.int64), on_a_line(
        np.zeros(level_kernels.ROWS * max(level_kernels.VECTORS) * level_kernels.LANES, np.int32)
    )


def _rounded_up(channels: int) -> int:
    """Round channels up to complete vectors."""
    return -(-channels // level_kernels.LANES) * level_kernels.LANES


def _source(layer: LevelMap, size: int) -> _Ints:
    (channels, height, width), padded = layer.slide.shape, layer.slide.padded
    first = int(layer.slide.inner[0]) * channels
    return np.array([channels, height, width, size, channels, first, padded[1]], np.int64)


def _fresh_levels(layers: tuple[LevelMap, ...], pixels: list[int], sizes: list[int], batch: int) -> _Values:
    """Return the maps of a group of samples before the first run, filled with the value of padding."""
    parts = []
    for layer, pixel, size in zip(layers, pixels, sizes, strict=False):
        fill = np.zeros(pixel, np.uint8)
        fill[: layer.slide.shape[0]] = (
            layer.pad if isinstance(layer, LevelConv) else np.where(layer.every, 255, 0)
        )
        parts.append(np.tile(fill, size // pixel * batch))
    return np.concatenate([*parts, np.zeros(sizes[-1] * batch + _SPARE, np.uint8)])


def _laid_level(plan: _Plan, layer: LevelMap, pixel: int) -> list[int]:
    """Add a layer; return its kind and the end of its row in the plan."""
    if isinstance(layer, PackedPool):
        mask = np.zeros(_rounded_up(pixel), np.uint8)
        mask[: len(layer.every)] = np.where(layer.every, 255, 0)
        taps = _append(plan.offsets, (layer.slide.offsets * pixel).astype(np.int32))
        return [level_kernels.MAXIMUM, pixel, taps, len(layer.slide.offsets), _append(plan.masks, mask)]
    first, neuron, outs = len(plan.blocks), 0, len(layer.weights)
    while neuron < outs:
        neuron += _laid_block(plan, layer, pixel, neuron)
    return [level_kernels.CONV, first, len(plan.blocks), 0, 0]


def _laid_block(plan: _Plan, layer: LevelConv, pixel: int, neuron: int) -> int:
    """Add a block of neurons of the cheapest width; return its number of lanes."""
    left = -(-(len(layer.weights) - neuron) // level_kernels.LANES)
    made = {
        v: _quads(layer, pixel, neuron, v * level_kernels.LANES) for v in level_kernels.VECTORS if v <= left
    }
    # products for one vector of neurons; narrow blocks read their quads more often
    vectors = min(made, key=lambda v: (len(made[v][0]) * (1 + 0.5 / v), -v))
    offsets, octets = made[vectors]
    stop = min(neuron + vectors * level_kernels.LANES, len(layer.weights))
    then, index, count = _finish(plan, layer, neuron, stop, vectors * level_kernels.LANES)
    plan.blocks.append(
        [
            vectors,
            _append(plan.weights, octets.reshape(-1)),
            len(offsets),
            _append(plan.offsets, offsets),
            *(neuron, stop - neuron, then, index, count),
        ]
    )
    return vectors * level_kernels.LANES


def _quads(
    layer: LevelConv, pixel: int, neuron: int, lanes: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Return the starts of the quads of a block of neurons, and their weights as (quads, lanes, 4), without
    quads that have no weight.
    """
    slide, rows = layer.slide, layer.weights[neuron : neuron + lanes]
    per_in = layer.weights.shape[1]
    group = np.arange(neuron, neuron + len(rows)) * layer.groups // len(layer.weights)
    low, high = int(group[0]) * per_in, (int(group[-1]) + 1) * per_in
    wide = np.zeros((lanes, len(slide.offsets), high - low), np.int8)
    for lane, (row, part) in enumerate(zip(rows, group, strict=True)):
        begin = int(part) * per_in - low
        wide[lane, :, begin : begin + per_in] = row.reshape(per_in, -1).T
    indices = slide.offsets[:, None] * pixel + np.arange(low, high)
    # consecutive bytes are one run: a row of the window, if pixels have no bytes in between
    runs = slide.kernel[0] if high - low == pixel and slide.dilation[1] == 1 else len(slide.offsets)
    wide, indices = wide.reshape(lanes, runs, -1), indices.reshape(runs, -1)
    width = -(-wide.shape[2] // 4) * 4
    full = np.zeros((lanes, runs, width), np.int8)
    full[:, :, : wide.shape[2]] = wide
    quads = full.reshape(lanes, runs * width // 4, 4).transpose(1, 0, 2)
    used = quads.any(axis=(1, 2))
    return indices[:, ::4].reshape(-1)[used].astype(np.int32), np.ascontiguousarray(quads[used])


def _finish(plan: _Plan, layer: LevelConv, start: int, stop: int, lanes: int) -> tuple[int, int, int]:
    """Add the processing of the sums of a block; return its kind, its index, and the number of steps."""
    if layer.steps is None:
        return level_kernels.COUNTED, 0, 0
    steps, lower, upper = layer.steps[start:stop], layer.least[start:stop], layer.most[start:stop]
    steps = clipped_steps(steps, lower, upper)
    slopes = slopes_of(steps, lower, upper)
    for then, dtype in ((level_kernels.LINE, np.float32), (level_kernels.LONG_LINE, np.float64)):
        lines = lines_of(steps, lower, upper, dtype, slopes)
        if lines.proved.all():
            parts = (lines.slope, lines.offset, lines.low, lines.high)
            full = [np.concatenate([part, np.zeros(lanes - len(part), part.dtype)]) for part in parts]
            return then, _append(plan.lines, np.concatenate([part.view(np.uint8) for part in full])), 0
    compared = np.full((steps.shape[1], lanes), _NEVER, np.int32)
    compared[:, : stop - start] = steps.T
    return level_kernels.COMPARED, _append(plan.steps, compared.reshape(-1)), steps.shape[1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "layers": NumbaProgram,
    "maps": partial(_split, fits=_fits_maps, compiled=NumbaMaps, plain=NumpyMaps),
    "levels": partial(_split, fits=_fits_levels, compiled=NumbaLevels, plain=NumpyLevels),
}
"""Functions that prepare chains of each kind."""
