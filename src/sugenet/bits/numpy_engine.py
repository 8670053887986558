"""The engine that needs no compiler. It counts bits with `numpy.bitwise_count`, word by word. For levels it
uses an exact product of matrices in floating point, and a search among the thresholds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.conv import LevelConv, LevelMap, MapLayer, PackedConv, PackedPool
from sugenet.bits.threads import share
from sugenet.bits.words import Words, pack, tail_mask, words_for

__all__ = ["PROGRAMS", "NumpyLevels", "NumpyMaps", "NumpyProgram"]

_Values = npt.NDArray[Any]

_VALUES = 1 << 18  # gathered words or levels at once
_EXACT = 1 << 24  # float32 is exact for all integers up to here
_CELLS = 1 << 15  # samples x neurons counted at once: their words, counts and sums stay in the second cache


@dataclass(frozen=True)
class NumpyProgram:
    """A chain of layers, run one after another for a block of samples at a time."""

    layers: tuple[Any, ...]

    def match_counts(self, words: Words, threads: int | None) -> npt.NDArray[np.int32]:
        """Return the match counts of the last layer."""
        *hidden, last = self.layers
        out = np.empty((len(words), len(last.tau)), np.int32)

        def task(start: int, stop: int) -> None:
            block = words[start:stop]
            for layer in hidden:
                block = pack(_match_counts(layer, block) >= layer.tau)
            out[start:stop] = _match_counts(last, block)

        widest = max(len(layer.tau) for layer in self.layers)
        share(task, len(words), max(1, _CELLS // widest), threads)
        return out

    def activity(self, words: Words, threads: int | None) -> Words:
        """Return the packed activity of the last layer."""
        last = self.layers[-1]
        return pack(self.match_counts(words, threads) >= last.tau)


def _match_counts(layer: Any, words: Words) -> npt.NDArray[np.int64]:
    if not layer.is_dense:
        return np.asarray(layer.lam_sizes - _missed_counts(layer.positive, layer.negative, words))
    words = words.copy()
    words[:, -1] &= np.uint64(tail_mask(layer.width))
    if len(words) == 1:  # all words at once
        return np.asarray(layer.width - _counted(words ^ layer.positive))
    weights = np.ascontiguousarray(layer.positive.T)
    missed = _summed(len(words), weights.shape, lambda here, k: words[here, k, None] ^ weights[k])
    return np.asarray(layer.width - missed)


def _missed_counts(positive: Words, negative: Words, words: Words) -> npt.NDArray[np.int64]:
    """Count the literals, given as packed rows per neuron, that do not hold, one row per sample."""
    if len(words) == 1:
        return _counted((~words & positive) | (words & negative))
    positive, negative = np.ascontiguousarray(positive.T), np.ascontiguousarray(negative.T)

    def missing(here: slice, k: int) -> Words:
        x = words[here, k, None]
        return np.asarray((~x & positive[k]) | (x & negative[k]))

    return _summed(len(words), positive.shape, missing)


def _counted(missed: Words) -> npt.NDArray[np.int64]:
    """Count the bits of each row of words, as one row."""
    return np.asarray(np.bitwise_count(missed).sum(axis=1, dtype=np.int64)[None])


def _summed(
    batch: int, shape: tuple[int, ...], missing: Callable[[slice, int], Words]
) -> npt.NDArray[np.int64]:
    words, neurons = shape
    out = np.zeros((batch, neurons), np.int64)
    rows = max(1, _CELLS // neurons)
    for start in range(0, batch, rows):
        here = slice(start, start + rows)
        for k in range(words):
            out[here] += np.bitwise_count(missing(here, k))
    return out


class _NumpyChain:
    """Layers run one after another, for a few samples at a time."""

    layers: tuple[Any, ...]

    def _run(self, inputs: _Values, out: _Values, widest: int, threads: int | None) -> Any:
        """Fill `out`; a gathered window has up to `widest` values."""
        size = max(1, _VALUES // widest)

        def task(start: int, stop: int) -> None:
            for base in range(start, stop, size):
                values = inputs[base : min(base + size, stop)]
                for run in self._made:
                    values = run(values)
                out[base : base + len(values)] = values

        share(task, len(inputs), size, threads)
        return out

    @cached_property
    def _made(self) -> list[Callable[[_Values], _Values]]:
        return [_made(layer) for layer in self.layers]


@dataclass(frozen=True)
class NumpyMaps(_NumpyChain):
    """A chain of convolutions and pooling that gives bits."""

    layers: tuple[MapLayer, ...]

    def activity(self, inputs: _Values, threads: int | None) -> Words:
        """Return the packed maps of the last layer."""
        channels, height, width = self.layers[-1].output_shape
        out = np.empty((len(inputs), height * width, words_for(channels)), np.uint64)
        if inputs.ndim == 3:
            inputs = inputs.copy()
            inputs[:, :, -1] &= np.uint64(tail_mask(self.layers[0].slide.shape[0]))
        widest = max(layer.slide.taps.size * _per_pixel(layer) for layer in self.layers)
        return np.asarray(self._run(inputs, out, widest, threads))


@dataclass(frozen=True)
class NumpyLevels(_NumpyChain):
    """A chain of layers over levels."""

    layers: tuple[LevelMap, ...]

    def levels(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the levels of the last layer, flat."""
        return self._flat(inputs, np.min_scalar_type(self.layers[-1].gives), threads)

    def sums(self, inputs: _Values, threads: int | None) -> _Values:
        """Return the sums of the last layer, which has no steps."""
        return self._flat(inputs, np.dtype(np.int32), threads)

    def _flat(self, inputs: _Values, dtype: Any, threads: int | None) -> _Values:
        out = np.empty((len(inputs), int(np.prod(self.layers[-1].output_shape))), dtype)
        widest = max(layer.slide.taps.size * layer.slide.shape[0] for layer in self.layers)
        return np.asarray(self._run(inputs, out, widest, threads))


def _per_pixel(layer: MapLayer) -> int:
    """Return the number of words, or levels, of a pixel in a gathered window."""
    if layer.top is not None:
        return layer.slide.shape[0]
    return words_for(layer.slide.shape[0]) * (layer.copies if isinstance(layer, PackedConv) else 1)


def _made(layer: Any) -> Callable[[_Values], _Values]:
    """Return the function of a layer on the values of some samples."""
    if isinstance(layer, PackedPool):
        return _pool_of_bits(layer) if layer.top is None else _pool_of_levels(layer)
    return _conv_of_bits(layer) if layer.top is None else _conv_of_levels(layer)


def _conv_of_bits(layer: PackedConv) -> Callable[[_Values], _Values]:
    taps, limits = layer.slide.taps, layer.allowed.T
    positive, negative = (words.reshape(len(layer.weights), -1) for words in layer.literals())

    def run(maps: _Values) -> _Values:
        # tap -1 reads the zero at the end
        around = np.concatenate([maps, np.zeros((len(maps), 1, maps.shape[2]), np.uint64)], axis=1)
        rows = np.repeat(around[:, taps], layer.copies, axis=2).reshape(len(maps) * len(taps), -1)
        missed = _missed_counts(positive, negative, rows)
        return pack(missed.reshape(len(maps), len(taps), -1) <= limits)

    return run


def _conv_of_levels(layer: PackedConv | LevelConv) -> Callable[[_Values], _Values]:
    """Return the function of a convolution of levels; one that gives bits packs them."""
    slide = layer.slide
    largest = int(layer.sizes.max()) if isinstance(layer, PackedConv) else layer.largest
    dtype = np.float32 if largest < _EXACT else np.float64  # no partial sum is rounded
    kernel = layer.weights.astype(dtype)
    pad = layer.pad if isinstance(layer, LevelConv) else 0
    rim = slide.over_taps(layer.weights, inside=False) * pad

    def run(values: _Values) -> _Values:
        sums = slide.sums(values.astype(dtype), kernel, layer.groups)
        if isinstance(layer, PackedConv):
            return pack((sums >= layer.least).transpose(0, 2, 1))
        made = sums.astype(np.int64) + rim
        if layer.steps is not None:
            for channel, steps in enumerate(layer.steps):
                made[:, channel] = np.searchsorted(steps, made[:, channel], side="right")
        return made.reshape(len(values), -1)

    return run


def _pool_of_bits(layer: PackedPool) -> Callable[[_Values], _Values]:
    every = pack(layer.every)

    def run(maps: _Values) -> _Values:
        around = np.concatenate([maps ^ every, np.zeros((len(maps), 1, maps.shape[2]), np.uint64)], axis=1)
        return np.asarray(np.bitwise_or.reduce(around[:, layer.slide.taps], axis=2) ^ every)

    return run


def _pool_of_levels(layer: PackedPool) -> Callable[[_Values], _Values]:
    slide, inside = layer.slide, layer.slide.taps >= 0

    def run(values: _Values) -> _Values:
        maps = values.reshape(len(values), slide.shape[0], slide.pixels).astype(np.int64)
        gathered = maps[:, :, slide.taps]
        smallest = np.where(inside, gathered, layer.gives).min(axis=3)
        largest = np.where(inside, gathered, 0).max(axis=3)
        return np.asarray(np.where(layer.every[:, None], smallest, largest).reshape(len(maps), -1))

    return run


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "layers": NumpyProgram,
    "maps": NumpyMaps,
    "levels": NumpyLevels,
}
"""Functions that prepare chains of each kind."""
