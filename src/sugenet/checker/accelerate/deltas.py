"""The layers after the first, from the neurons that turned: a neuron is recomputed only if it reads one that
turned.

To be ensured: M - tau of a neuron is its value at the sample, plus the gain of each neuron before it that
turned. Every layer is one of windows: a dense layer has one position with one tap, and a pool is a
convolution whose weights are 1. The definition is `later.LaterLayers`.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-arg"

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import (
    Bits,
    Gathering,
    Ints,
    Layer,
    Picking,
    Sliding,
    Summing,
    dense_counts,
)
from sugenet.checker.accelerate.later import cores
from sugenet.checker.limit import Limit
from sugenet.compiling import njit

__all__ = ["Deltas"]

_LARGEST = 1 << 14
"""Largest sum that fits twice into 16 bits."""

_LANES = 32
"""Number of neurons that are compared at once."""


class Deltas:
    """The layers after the first at a sample, and what turned neurons change.

    Parameters
    ----------
    active
        The first layer at the sample.
    layers, head
        The layers after it, and the weights of the classes.
    limit
        Time and memory.
    """

    def __init__(self, active: Bits, layers: Sequence[Layer], head: Ints, limit: Limit) -> None:
        self.head, self.shapes, self.tables = np.ascontiguousarray(head.T), [], []
        bits = active
        for layer in layers:
            windows, weights, groups, (channels, pixels) = _windows(layer)
            positions, outputs = len(windows), layer.outputs // max(1, len(windows))
            margins = (layer.match_counts(bits[None])[0] - layer.tau).reshape(outputs, positions)
            limit.take(
                2 * weights.size + 3 * margins.size + 12 * windows.size, "the layers of a large network"
            )
            begins, reads = _readers(windows, pixels)
            self.shapes.append((channels, pixels, positions, outputs, groups))
            self.tables.append(
                (
                    bits.astype(np.uint8),
                    np.ascontiguousarray(margins.T, np.int16),
                    begins,
                    reads,
                    np.ascontiguousarray(weights, np.int16),
                )
            )
            bits = margins.reshape(-1) >= 0
        self.last, self.counts_here = bits, dense_counts(head, bits[None])[0]

    @staticmethod
    def fits(layers: Sequence[Layer], head: Ints) -> bool:
        """Return whether all sums are small enough for the kernel, which reads rows and windows."""
        if any(isinstance(layer, Gathering) for layer in layers):
            return False
        sums = [int(layer.sizes.max(initial=0)) + int(np.abs(layer.tau).max(initial=0)) for layer in layers]
        sums.append(int(np.abs(head).sum(axis=1).max(initial=0)))
        return max(sums) < _LARGEST and all(layer.outputs and layer.inputs for layer in layers)

    def counts(self, patterns: Sequence[Ints]) -> Ints:
        """Return match counts of the classes, one row per list of neurons of the first layer that turned."""
        lengths = np.array([len(one) for one in patterns], np.int64)
        ends = np.cumsum(np.append(0, lengths))
        turned = np.concatenate([np.zeros(0, np.int64), *patterns]).astype(np.int64)
        out = np.empty((len(patterns), len(self.counts_here)), np.int64)
        parts = max(1, min(cores(), len(patterns)))
        steps = [len(patterns) * k // parts for k in range(parts + 1)]

        def run(k: int) -> None:
            self._run(ends[steps[k] : steps[k + 1] + 1], turned, out[steps[k] : steps[k + 1]])

        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(run, range(parts)))
        return out

    def _run(self, ends: Ints, turned: Ints, out: Ints) -> None:
        """Compute rows of match counts, layer by layer for all patterns."""
        out[:] = self.counts_here
        here, bounds = turned[ends[0] : ends[-1]], ends - ends[0]
        for shape, (bits, margins, begins, reads, weights) in zip(self.shapes, self.tables, strict=True):
            room = np.empty(max(1024, 4 * len(here)), np.int64)
            fresh = np.zeros(len(bounds), np.int64)
            row, n, works = 0, 0, margins.copy()
            marks = np.zeros(shape[2], np.uint8)
            while row < len(bounds) - 1:
                row, n = _layer(
                    row,
                    n,
                    here,
                    bounds,
                    bits,
                    works,
                    margins,
                    begins,
                    reads,
                    weights,
                    *shape,
                    marks,
                    room,
                    fresh,
                )
                if row < len(bounds) - 1:
                    room = np.append(room, np.empty(max(len(room), margins.size), np.int64))
            here, bounds = room[:n], fresh
        _head(here, bounds, self.last.astype(np.uint8), self.head, out)


def _windows(layer: Layer) -> tuple[npt.NDArray[Any], Ints, int, tuple[int, int]]:
    """Return the pixels under each position, the weights by tap, channel and output, the number of groups,
    and the numbers of channels and pixels.
    """
    if isinstance(layer, Summing):
        return np.zeros((1, 1), np.int64), layer.weights.T[None], 1, (layer.inputs, 1)
    assert not isinstance(layer, Gathering)
    channels, height, width = layer.window.shape
    if isinstance(layer, Picking):
        ones = np.ones((layer.window.taps.shape[1], channels, 1), np.int64)
        return layer.window.taps, ones, channels, (channels, height * width)
    assert isinstance(layer, Sliding)
    per = len(layer.weights) // layer.groups
    kernels = layer.weights.reshape(layer.groups, per, channels // layer.groups, -1)
    by_tap = kernels.transpose(3, 0, 2, 1).reshape(-1, channels, per)
    return layer.window.taps, by_tap, layer.groups, (channels, height * width)


def _readers(windows: npt.NDArray[Any], pixels: int) -> tuple[Ints, Ints]:
    """Return where the readers of each pixel begin, and all readers: pairs of position and tap."""
    position, tap = np.nonzero(windows >= 0)
    pixel = windows[position, tap]
    order = np.argsort(pixel, kind="stable")
    begins = np.searchsorted(pixel[order], np.arange(pixels + 1))
    return begins.astype(np.int64), np.stack([position, tap], axis=1)[order].astype(np.int64)


@njit(nogil=True, cache=True)
def _layer(
    row, n, here, bounds, bits, works, margins, begins, reads, weights,
    channels, pixels, positions, outputs, groups, marks, room, fresh,
):  # fmt: skip
    """Write the neurons of a layer that turn to `room`, pattern by pattern from `row` on, until it is full.

    `works` equals `margins`, and `marks` are 0, before and after each pattern. Return the next pattern, and
    the number of entries.
    """
    per_in, per_out = channels // groups, outputs // groups
    touched = np.empty(positions, np.int64)
    while row < len(bounds) - 1:
        n_touched = 0
        for k in range(bounds[row], bounds[row + 1]):
            channel, pixel = here[k] // pixels, here[k] % pixels
            first = channel // per_in * per_out
            is_on = bits[here[k]] != 0
            for read in range(begins[pixel], begins[pixel + 1]):
                position, tap = reads[read, 0], reads[read, 1]
                if marks[position] == 0:
                    marks[position] = 1
                    touched[n_touched] = position
                    n_touched += 1
                sums, gains = works[position, first : first + per_out], weights[tap, channel]
                if is_on:
                    for j in range(per_out):
                        sums[j] -= gains[j]
                else:
                    for j in range(per_out):
                        sums[j] += gains[j]
        is_full = n + n_touched * outputs > len(room)
        for k in range(n_touched):
            position = touched[k]
            marks[position] = 0
            sums, before = works[position], margins[position]
            for start in range(0, outputs, _LANES):
                end = min(start + _LANES, outputs)
                differs = np.int16(0)
                for j in range(start, end):
                    differs |= sums[j] ^ before[j]
                if differs < 0 and not is_full:
                    for j in range(start, end):
                        if (sums[j] ^ before[j]) < 0:
                            room[n] = j * positions + position
                            n += 1
            for j in range(outputs):
                sums[j] = before[j]
        if is_full:
            return row, n
        row += 1
        fresh[row] = n
    return row, n


@njit(nogil=True, cache=True)
def _head(here, bounds, bits, weights, out):
    for row in range(len(bounds) - 1):
        for k in range(bounds[row], bounds[row + 1]):
            for j in range(out.shape[1]):
                out[row, j] += -weights[here[k], j] if bits[here[k]] else weights[here[k], j]
