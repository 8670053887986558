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
from sugenet.bnn.layers import LevelLayer

__all__ = ["Wide", "is_wide_sum", "parts_of"]

_EXACT = 1 << 53  # floats hold every whole number up to here
_PACKED = 1 << 31  # sums of the kernels over levels stay below
_VALUES = 1 << 23  # gathered taps at a time, to bound memory


def is_wide_sum(layer: LevelLayer | ConvLayer) -> bool:
    """Whether match counts over levels can leave the 31 bits of the kernels."""
    return bool(layer.sizes.max(initial=0) >= _PACKED)


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
    sizes, signs, found, shift = np.abs(weights), np.sign(weights), [], 0
    while shift == 0 or (sizes >> shift).any():
        part = (sizes >> shift) & ((1 << bits) - 1)
        if shift == 0 or part.any():
            found.append((shift, (part * signs).astype(np.float64)))
        shift += bits
    return found


@dataclass(frozen=True)
class Wide:
    """A first layer over levels whose sums do not fit the kernels."""

    layer: LevelLayer | ConvLayer

    def bits(self, values: npt.NDArray[Any], threads: int | None = None) -> Bits:  # noqa: ARG002
        """Activity of the layer."""
        sums = self._dense(values) if isinstance(self.layer, LevelLayer) else self._slid(values)
        return np.asarray(sums >= self._least)

    def hidden(self, values: npt.NDArray[Any]) -> list[Bits]:
        """The same, as a list of one."""
        return [self.bits(values)]

    @cached_property
    def _least(self) -> Ints:
        """The least plain sum at which each neuron is active."""
        layer = self.layer
        tau = np.clip(layer.tau, 0, layer.sizes + 1)
        if isinstance(layer, LevelLayer):
            return np.asarray(tau + np.minimum(layer.weights, 0) @ layer.tops)
        return np.asarray(tau + layer.lowest)

    @cached_property
    def _parts(self) -> list[tuple[int, npt.NDArray[np.float64]]]:
        layer = self.layer
        top = int(layer.tops.max(initial=1)) if isinstance(layer, LevelLayer) else int(layer.top or 1)
        weights = layer.runs[0] if isinstance(layer, LevelLayer) else layer.weights
        return parts_of(weights.reshape(len(weights), -1), top)

    def _product(self, values: npt.NDArray[np.float64], rows: slice = slice(None)) -> Ints:
        """Sums of rows of values with some of the rows of weights."""
        total = np.zeros((len(values), len(self._parts[0][1][rows])), np.int64)
        for shift, part in self._parts:
            total += (values @ part[rows].T).astype(np.int64) << shift
        return total

    def _dense(self, values: npt.NDArray[Any]) -> Ints:
        assert isinstance(self.layer, LevelLayer)
        return self._product(np.asarray(values, np.float64))[:, self.layer.runs[1]]

    def _slid(self, values: npt.NDArray[Any]) -> Ints:
        layer = self.layer
        assert isinstance(layer, ConvLayer)
        channels, height, width = layer.window.shape
        taps, groups = layer.window.taps, layer.groups
        maps = np.zeros((len(values), channels, height * width + 1))  # tap -1 reads the zero behind
        maps[:, :, :-1] = np.asarray(values).reshape(len(values), channels, height * width)
        outs, per_in, per_out = len(layer.weights), channels // groups, len(layer.weights) // groups
        found = np.empty((len(values), outs, len(taps)), np.int64)
        step = max(1, _VALUES // max(1, per_in * taps.size))
        for start in range(0, len(values), step):
            for group in range(groups):
                seen = maps[start : start + step, group * per_in : (group + 1) * per_in][:, :, taps]
                rows = seen.transpose(0, 2, 1, 3).reshape(-1, per_in * taps.shape[1])
                sums = self._product(rows, slice(group * per_out, (group + 1) * per_out))
                found[start : start + step, group * per_out : (group + 1) * per_out] = sums.reshape(
                    seen.shape[0], len(taps), per_out
                ).transpose(0, 2, 1)
        return found.reshape(len(values), -1)
