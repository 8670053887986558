"""Packed convolutions and pooling without a compiler: gathered words and `numpy.bitwise_count`;
levels by a matrix product.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.conv import MapLayer, PackedConv, PackedPool
from sugenet.bits.numpy_engine import missed_counts
from sugenet.bits.threads import share
from sugenet.bits.words import Words, pack, tail_mask, words_for

__all__ = ["NumpyMaps"]

_VALUES = 1 << 18  # gathered words or levels at once
_EXACT = 1 << 24  # up to here float32 holds every integer


@dataclass(frozen=True)
class NumpyMaps:
    """A chain of convolutions and pooling, run one after the other for a few samples at a time."""

    layers: tuple[MapLayer, ...]

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Words:
        """Return the packed maps of the last layer."""
        channels, height, width = self.layers[-1].output_shape
        out = np.empty((len(inputs), height * width, words_for(channels)), np.uint64)
        largest = max(layer.slide.taps.size * _values(layer) for layer in self.layers)
        size = max(1, _VALUES // largest)

        def task(start: int, stop: int) -> None:
            for base in range(start, stop, size):
                maps = inputs[base : min(base + size, stop)]
                if maps.ndim == 3:
                    maps = maps.copy()
                    maps[:, :, -1] &= np.uint64(tail_mask(self.layers[0].slide.shape[0]))
                for run in self._steps:
                    maps = run.activity(maps)
                out[base : base + len(maps)] = maps

        share(task, len(inputs), size, threads)
        return out

    @cached_property
    def _steps(self) -> list["_Pool | _Levels | _Conv"]:
        return [
            _Pool(layer)
            if isinstance(layer, PackedPool)
            else _Conv(layer)
            if layer.top is None
            else _Levels(layer)
            for layer in self.layers
        ]


def _values(layer: MapLayer) -> int:
    """Words, or levels, of a pixel in a gathered window."""
    if isinstance(layer, PackedConv):
        return words_for(layer.slide.shape[0]) * layer.copies if layer.top is None else layer.slide.shape[0]
    return words_for(layer.slide.shape[0])


class _Conv:
    def __init__(self, layer: PackedConv) -> None:
        self.taps, self.copies, self.limits = layer.slide.taps, layer.copies, layer.allowed.T
        self.positive, self.negative = (words.reshape(len(layer.weights), -1) for words in layer.literals())

    def activity(self, maps: Words) -> Words:
        # tap -1 reads the zero at the end
        around = np.concatenate([maps, np.zeros((len(maps), 1, maps.shape[2]), np.uint64)], axis=1)
        rows = np.repeat(around[:, self.taps], self.copies, axis=2).reshape(len(maps) * len(self.taps), -1)
        missed = missed_counts(self.positive, self.negative, rows)
        return pack(missed.reshape(len(maps), len(self.taps), -1) <= self.limits)


class _Levels:
    def __init__(self, layer: PackedConv) -> None:
        wide = layer.spread()
        bound = int(np.abs(wide.astype(np.int64)).sum(axis=(1, 2)).max()) * (layer.top or 0)
        self.dtype = np.float32 if bound < _EXACT else np.float64  # no partial sum is rounded
        self.channels, self.taps, self.limits = layer.slide.shape[0], layer.slide.taps, layer.least.T
        self.weights = wide.transpose(2, 1, 0).reshape(-1, len(wide)).astype(self.dtype)

    def activity(self, levels: npt.NDArray[Any]) -> Words:
        maps = levels.reshape(len(levels), self.channels, -1)
        around = np.zeros((len(maps), maps.shape[2] + 1, self.channels), self.dtype)
        around[:, :-1] = maps.transpose(0, 2, 1)
        rows = around[:, self.taps].reshape(len(maps) * len(self.taps), -1)
        return pack((rows @ self.weights).reshape(len(maps), len(self.taps), -1) >= self.limits)


class _Pool:
    def __init__(self, layer: PackedPool) -> None:
        self.taps, self.every = layer.slide.taps, pack(layer.every)

    def activity(self, maps: Words) -> Words:
        around = np.concatenate(
            [maps ^ self.every, np.zeros((len(maps), 1, maps.shape[2]), np.uint64)], axis=1
        )
        found: Words = np.bitwise_or.reduce(around[:, self.taps], axis=2) ^ self.every
        return found
