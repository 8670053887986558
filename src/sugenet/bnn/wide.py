"""Sums of levels with weights of many bits: as fast as float64, and exact (docs/theory.md 3.6).

A product of float64 matrices is exact where no sum on the way can leave 53 bits. Weights that are too long
for that are cut into parts that are not, and the sums of the parts are put together in 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.conv import ConvLayer
from sugenet.bnn.layers import Layer, LevelLayer

__all__ = ["Wide", "is_wide_sum", "parts_of"]

_EXACT = 1 << 53  # floats hold every whole number up to here
_PACKED = 1 << 31  # sums of the kernels over levels stay below


def is_wide_sum(layer: Layer) -> bool:
    """Whether match counts over levels can leave the 31 bits of the kernels."""
    return layer.every is None and layer.is_binary and bool(layer.sizes.max(initial=0) >= _PACKED)


def parts_of(weights: Ints, top: int, exact: int = _EXACT) -> list[tuple[int, npt.NDArray[np.float64]]]:
    """Rows of weights as sums of ``2**shift * part``, each part so short that its sums over levels up to
    `top` stay below `exact`, where floats hold every whole number: float64 unless said.

    Examples
    --------
    >>> [(shift, part.tolist()) for shift, part in parts_of(np.array([[(1 << 50) + 3, -5]]), 255)]
    [(0, [[3.0, -5.0]]), (44, [[64.0, 0.0]])]
    """
    room = (exact - 1) // max(1, top * max(1, weights.shape[1]))
    bits = room.bit_length() - 1
    if bits < 1:
        raise OverflowError("so many levels have no exact sums in floats")
    sizes, signs, parts, shift = np.abs(weights), np.sign(weights), [], 0
    while shift == 0 or (sizes >> shift).any():
        part = (sizes >> shift) & ((1 << bits) - 1)
        if shift == 0 or part.any():
            parts.append((shift, (part * signs).astype(np.float64)))
        shift += bits
    return parts


@dataclass(frozen=True)
class Wide:
    """A first layer over levels whose sums do not fit the kernels."""

    layer: LevelLayer | ConvLayer

    def bits(self, values: npt.NDArray[Any], threads: int | None = None) -> Bits:  # noqa: ARG002
        """Activity of the layer."""
        layer, floats = self.layer, np.asarray(values, np.float64)
        total = np.zeros((len(floats), layer.outputs), np.int64)
        for shift, part in self._parts:
            if isinstance(layer, ConvLayer):
                sums = layer.window.sums(floats, part, layer.groups).reshape(total.shape)
            else:
                sums = (floats @ part.T)[:, layer.runs[1]]
            total += sums.astype(np.int64) << shift
        return np.asarray(total >= self._least)

    def hidden(self, values: npt.NDArray[Any]) -> list[Bits]:
        """The same, as a list of one."""
        return [self.bits(values)]

    @cached_property
    def _least(self) -> Ints:
        """The least plain sum at which each neuron is active."""
        return self.layer.sum_thresholds[:, 0]

    @cached_property
    def _parts(self) -> list[tuple[int, npt.NDArray[np.float64]]]:
        layer = self.layer
        weights = layer.weights if isinstance(layer, ConvLayer) else layer.runs[0]
        return parts_of(weights.reshape(len(weights), -1), int(layer.input_tops.max(initial=1)))
