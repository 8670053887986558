"""The engine that needs no compiler: the same counts with `numpy.bitwise_count`, word by word."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sugenet.bits.conv import MapLayer
from sugenet.bits.engine import Counts, LevelProgram, MapProgram, Neurons
from sugenet.bits.stairs import StairMap
from sugenet.bits.threads import share
from sugenet.bits.words import Words, pack, tail_mask

__all__ = ["NumpyEngine", "NumpyProgram", "missed_counts"]

_CELLS = 1 << 15  # samples x neurons counted at once: their words, counts and sums stay in the second cache


@dataclass(frozen=True)
class NumpyEngine:
    """Counts with `numpy.bitwise_count`."""

    name: str = "numpy"

    def program(self, layers: Sequence[Neurons]) -> "NumpyProgram":
        """Make a chain of layers ready to run."""
        return NumpyProgram(tuple(layers))

    def maps(self, layers: Sequence[MapLayer]) -> MapProgram:
        """Make a chain of convolutions and pooling ready to run."""
        from sugenet.bits.numpy_maps import NumpyMaps

        return NumpyMaps(tuple(layers))

    def levels(self, layers: Sequence[StairMap]) -> LevelProgram:
        """Make a chain of layers of staircases ready to run."""
        from sugenet.bits.numpy_levels import NumpyLevels

        return NumpyLevels(tuple(layers))

    def prepare(self, notify: Callable[[str], None] | None = None, *, levels: bool = False) -> None:
        """Do nothing: this engine has nothing to compile."""


@dataclass(frozen=True)
class NumpyProgram:
    """A chain of layers, run one after the other for a block of samples at a time."""

    layers: tuple[Neurons, ...]

    def match_counts(self, words: Words, threads: int | None) -> Counts:
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


def _match_counts(layer: Neurons, words: Words) -> npt.NDArray[np.int64]:
    if not layer.is_dense:
        return layer.lam_sizes - missed_counts(layer.positive, layer.negative, words)
    words = words.copy()
    words[:, -1] &= np.uint64(tail_mask(layer.width))
    if len(words) == 1:  # all words at once
        return layer.width - _counted(words ^ layer.positive)
    weights = np.ascontiguousarray(layer.positive.T)
    return layer.width - _summed(len(words), weights.shape, lambda here, k: words[here, k, None] ^ weights[k])


def missed_counts(positive: Words, negative: Words, words: Words) -> npt.NDArray[np.int64]:
    """Return how many literals, given as packed rows for each neuron, do not hold, one row a sample."""
    if len(words) == 1:
        return _counted((~words & positive) | (words & negative))
    positive, negative = np.ascontiguousarray(positive.T), np.ascontiguousarray(negative.T)

    def missing(here: slice, k: int) -> Words:
        x = words[here, k, None]
        missed: Words = (~x & positive[k]) | (x & negative[k])
        return missed

    return _summed(len(words), positive.shape, missing)


def _counted(missed: Words) -> npt.NDArray[np.int64]:
    """The bits of each row of words, as one row."""
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
