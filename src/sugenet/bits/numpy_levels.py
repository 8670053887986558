"""Layers of staircases without a compiler: gathered levels, an exact product of matrices in floating point,
and a search among the steps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.stairs import LevelConv, LevelPool, StairMap
from sugenet.bits.threads import share

__all__ = ["NumpyLevels"]

_Values = npt.NDArray[Any]

_ROOM = 1 << 18  # gathered levels at once
_EXACT = 1 << 24  # up to here float32 holds every integer


@dataclass(frozen=True)
class NumpyLevels:
    """A chain of layers, run one after the other for a few samples at a time."""

    layers: tuple[StairMap, ...]

    def levels(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the levels of the last layer, flat."""
        return self._run(inputs, np.min_scalar_type(self.layers[-1].gives), threads)

    def sums(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the sums of the last layer, which has no steps."""
        return self._run(inputs, np.dtype(np.int32), threads)

    def _run(self, inputs: _Values, dtype: Any, threads: int | None) -> _Values:
        out = np.empty((len(inputs), int(np.prod(self.layers[-1].output_shape))), dtype)
        largest = max(layer.slide.taps.size * layer.slide.shape[0] for layer in self.layers)
        size = max(1, _ROOM // largest)

        def task(start: int, stop: int) -> None:
            for base in range(start, stop, size):
                values = inputs[base : min(base + size, stop)]
                for layer in self._made:
                    values = layer(values)
                out[base : base + len(values)] = values

        share(task, len(inputs), size, threads)
        return out

    @cached_property
    def _made(self) -> list["_LevelConv | _LevelPool"]:
        return [
            _LevelConv(layer) if isinstance(layer, LevelConv) else _LevelPool(layer) for layer in self.layers
        ]


class _LevelConv:
    def __init__(self, layer: LevelConv) -> None:
        self.layer = layer
        self.dtype = np.float32 if layer.largest < _EXACT else np.float64  # no partial sum is rounded
        outs = len(layer.weights)
        grouped = layer.weights.reshape(layer.groups, outs // layer.groups, -1)
        self.weights = grouped.transpose(0, 2, 1).astype(self.dtype)  # groups, channels x taps, neurons

    def __call__(self, values: _Values) -> _Values:
        layer, slide = self.layer, self.layer.slide
        count, taps, (channels, *_) = slide.count, len(slide.offsets), slide.shape
        maps = values.reshape(len(values), channels, slide.pixels)
        around = np.concatenate([maps, np.full((len(maps), channels, 1), layer.pad, maps.dtype)], axis=2)
        rows = around[:, :, slide.taps].astype(self.dtype)  # samples, channels, positions, taps
        rows = rows.reshape(len(maps), layer.groups, channels // layer.groups, count, taps)
        rows = rows.transpose(1, 0, 3, 2, 4).reshape(layer.groups, len(maps) * count, -1)
        sums = np.matmul(rows, self.weights).astype(np.int64)  # groups, samples x positions, neurons
        sums = sums.reshape(layer.groups, len(maps), count, -1).transpose(0, 3, 1, 2)
        found = sums.reshape(len(layer.weights), len(maps), count)
        if layer.steps is not None:
            found = np.stack(
                [
                    np.searchsorted(steps, row, side="right")
                    for steps, row in zip(layer.steps, found, strict=True)
                ]
            )
        return np.asarray(found.transpose(1, 0, 2).reshape(len(maps), -1))


class _LevelPool:
    def __init__(self, layer: LevelPool) -> None:
        self.layer = layer

    def __call__(self, values: _Values) -> _Values:
        slide, every = self.layer.slide, self.layer.every[:, None, None]
        maps = values.reshape(len(values), slide.shape[0], slide.pixels).astype(np.int64)
        inside = slide.taps >= 0
        found = maps[:, :, slide.taps]
        least = np.where(inside, found, self.layer.top).min(axis=3)
        most = np.where(inside, found, 0).max(axis=3)
        return np.asarray(np.where(every[:, 0], least, most).reshape(len(maps), -1))
