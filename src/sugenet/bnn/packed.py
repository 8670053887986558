"""The network on packed words: how the definition's layers are handed to the kernels of `sugenet.bits`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits import PackedLayer, PackedNetwork, pack, unpack
from sugenet.bnn.conv import Layer
from sugenet.bnn.head import Head
from sugenet.bnn.layers import Bits, DenseLayer, Ints, LevelLayer

__all__ = ["Packed", "fast_levels", "unmerged"]


def unmerged(weights: Sequence[Ints]) -> tuple[list[npt.NDArray[np.int8]], npt.NDArray[np.intp], list[npt.NDArray[np.intp]]]:
    """Split weights larger than 1 into several inputs that are copies of one another.

    Returns weights in -1, 0, +1 for each layer, which original input each input of the first one copies, and which original neuron
    each row of every later layer's inputs copies.
    """
    signs: list[npt.NDArray[np.int8]] = []
    copies: list[npt.NDArray[np.intp]] = []
    for rows in weights:
        repeats = np.maximum(np.abs(rows).max(axis=0, initial=0), 1)
        source = np.repeat(np.arange(rows.shape[1]), repeats)
        turn = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)  # 0, 1, ... within the copies of an input
        wide = rows[:, source]
        signs.append(np.where(np.abs(wide) > turn, np.sign(wide), 0).astype(np.int8))
        copies.append(source)
    for number in range(len(signs) - 1):
        signs[number] = signs[number][copies[number + 1]]
    return signs, copies[0], copies[1:]


@dataclass(frozen=True)
class Packed:
    """A network compiled for one engine of `sugenet.bits`."""

    front: tuple[Layer, ...]
    """Layers up to the last that is not dense over bits; packing starts behind them."""
    inputs: npt.NDArray[np.intp] | None
    """Which bit each packed input copies; None when they are the bits themselves."""
    firsts: tuple[npt.NDArray[np.bool_], ...]
    """For each packed layer, which of its outputs are the first copy of a neuron."""
    network: PackedNetwork

    @classmethod
    def of(cls, layers: Sequence[Layer], head: Head, engine: Any = "auto") -> Packed:
        """Pack the weights of a network."""
        split = max((number for number, layer in enumerate(layers, start=1) if not isinstance(layer, DenseLayer)), default=0)
        dense = [layer for layer in layers[split:] if isinstance(layer, DenseLayer)]
        signs, inputs, copies = unmerged([*(layer.weights for layer in dense), head.weights])
        taus = [layer.tau[source] for layer, source in zip(dense, copies, strict=True)]
        signs = [np.pad(rows, [(0, int(not size)) for size in rows.shape]) for rows in signs]  # kernels need at least one of each
        taus = [np.pad(tau, (0, int(not len(tau))), constant_values=1) for tau in taus]
        packed = [PackedLayer.from_arrays(rows, tau, engine=engine) for rows, tau in zip(signs, taus, strict=False)]
        last = PackedLayer.from_arrays(signs[-1], np.zeros(len(signs[-1]), np.int64), engine=engine)
        plain = np.array_equal(inputs, np.arange(len(inputs)))
        firsts = tuple(np.diff(source, prepend=-1) > 0 for source in copies)
        return cls(tuple(layers[:split]), None if plain else inputs, firsts, PackedNetwork(packed, last))

    def match_counts(self, inputs: npt.NDArray[Any], threads: int | None = None) -> Ints:
        """Match counts of the classes, from what the first layer reads."""
        *_, last = self._front(inputs)
        return self.network.match_counts(self._words(last), threads=threads).astype(np.int64)

    def hidden(self, inputs: npt.NDArray[Any]) -> list[Bits]:
        """Activity of every hidden layer."""
        _, *front = seen = list(self._front(inputs))
        packed = self.network.hidden(self._words(seen[-1]))
        rear = [unpack(words, len(first))[:, first] for words, first in zip(packed, self.firsts, strict=True)]
        return front + rear

    def _front(self, inputs: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
        """The inputs, then the activity of each layer in front of the packed ones."""
        yield inputs
        for layer in self.front:
            inputs = fast_levels(layer, inputs) if isinstance(layer, LevelLayer) else layer.activity(inputs)
            yield inputs

    def _words(self, bits: npt.NDArray[Any]) -> Any:
        if self.inputs is not None:
            bits = bits[:, self.inputs]
        return pack(bits if bits.shape[1] else np.zeros((len(bits), 1), bool))


def fast_levels(layer: LevelLayer, levels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Activity of a level layer by a floating-point matrix product that is exact: every partial sum is an integer below 2^24 or 2^53."""
    largest = int(layer.sizes.max(initial=0))
    dtype = np.float32 if largest < 1 << 24 else np.float64
    sums = levels.astype(dtype) @ layer.weights.T.astype(dtype)
    return np.asarray(sums >= layer.tau + np.minimum(layer.weights, 0) @ layer.tops)
