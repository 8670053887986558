"""Layers as sums and staircases of levels: multipliers carried to the layer before, ranges of sums, and the
largest worth of a neuron (docs/theory.md 7.10).

A layer of thresholds or staircases gives ``step_j(M_j)``, with match counts ``M = base + W a`` of the levels
a before it. It has one multiplier per neuron. Pooling gives the maximum (or minimum) of some levels and has
one multiplier per tap. Arrays have one row per set of multipliers. Convolutions are not unrolled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.nn import ConvLayer, Layer, PoolLayer, QuantizedConv
from sugenet.nn.arrays import Ints

__all__ = ["Best", "Pieces", "Pool", "QuantizedSums", "Range", "Reading", "reading_of"]

Reals: TypeAlias = npt.NDArray[Any]
"""Floats that guide, or integers that decide."""


class Range(NamedTuple):
    """Minimum and maximum of each sum or level."""

    low: Ints
    high: Ints

    @property
    def empty(self) -> bool:
        """Whether the range of some value is empty."""
        return bool((self.low > self.high).any())


class Best(NamedTuple):
    """Largest worth of every neuron, one row per set of multipliers, and the level and sum that reach it."""

    value: Reals
    level: Ints
    at: Ints
    """Sums, or the levels of the taps."""


class Pieces(NamedTuple):
    """The flat pieces of staircases over a range, consecutively."""

    neuron: Ints
    level: Ints
    low: Ints
    high: Ints
    starts: Ints
    """Index of the first piece of each neuron."""

    @classmethod
    def of(cls, steps: Ints, reach: Range) -> Pieces:
        """Return the pieces that contain an integer of the range."""
        first, last = ((steps <= ends[:, None]).sum(axis=1) for ends in reach)
        n_pieces = last - first + 1
        neuron = np.repeat(np.arange(len(n_pieces)), n_pieces)
        level = np.arange(len(neuron)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces) + first[neuron]
        padded = np.concatenate([steps, steps[:, :1]], axis=1)  # pieces after the last step are ignored
        low = np.where(level == first[neuron], reach.low[neuron], padded[neuron, level - 1])
        high = np.where(level == last[neuron], reach.high[neuron], padded[neuron, level] - 1)
        some = low <= high
        neuron = neuron[some]
        return cls(
            neuron, level[some], low[some], high[some], np.searchsorted(neuron, np.arange(len(n_pieces)))
        )

    def of_neuron(self, neuron: int) -> slice:
        """Return the pieces of one neuron."""
        stop = len(self.neuron) if neuron + 1 == len(self.starts) else int(self.starts[neuron + 1])
        return slice(int(self.starts[neuron]), stop)

    def best(self, worth: Reals, slopes: Reals) -> Best:
        """Return the largest ``worth_j level - slope_j s`` of every neuron."""
        mine = worth[:, self.neuron] * self.level
        lean = slopes[:, self.neuron]
        at = np.where(lean > 0, self.low, self.high)
        values = mine - lean * at
        best = np.maximum.reduceat(values, self.starts, axis=1) if len(self.starts) else values
        n_pieces = np.diff(np.append(self.starts, len(self.neuron)))
        indices = np.where(values == np.repeat(best, n_pieces, axis=1), np.arange(len(self.neuron)), -1)
        index = np.maximum.reduceat(indices, self.starts, axis=1) if len(self.starts) else indices
        return Best(best, self.level[index], np.take_along_axis(at, index, axis=1))


class QuantizedSums(ABC):
    """Sums of levels: match counts ``base + W a``, with rising steps."""

    def __init__(self, base: Ints, steps: Ints, sizes: Ints, inputs: int) -> None:
        self.base, self.steps, self.sizes, self.inputs = base, steps, sizes, inputs
        self.outputs = self.multipliers = len(steps)
        self.top = steps.shape[1]
        self.dense: Ints | None = None
        """W as a dense matrix."""

    @abstractmethod
    def forward(self, levels: Reals) -> Reals:
        """Return W a, row by row."""

    @abstractmethod
    def back(self, multipliers: Reals) -> Reals:
        """Carry multipliers to the inputs: return W' lambda, row by row."""

    @abstractmethod
    def spread(self, inputs: Range) -> Range:
        """Return the minimum and maximum of every W a."""

    def reach(self, inputs: Range) -> Range:
        """Return the minimum and maximum match counts."""
        low, high = self.spread(inputs)
        return Range(self.base + low, self.base + high)

    def levels(self, reach: Range) -> Range:
        """Return the levels at the ends of a range of match counts."""
        return Range(*((self.steps <= end[:, None]).sum(axis=1) for end in reach))

    def within(self, reach: Range, neuron: int, low: int, high: int) -> None:
        """Narrow a range to some levels of a neuron."""
        if low > 0:
            reach.low[neuron] = max(int(reach.low[neuron]), int(self.steps[neuron, low - 1]))
        if high < self.top:
            reach.high[neuron] = min(int(reach.high[neuron]), int(self.steps[neuron, high]) - 1)


class _DenseSums(QuantizedSums):
    def __init__(self, weights: Ints, base: Ints, steps: Ints, sizes: Ints) -> None:
        super().__init__(base, steps, sizes, weights.shape[1])
        self.weights = self.dense = weights
        self.floats = weights.astype(np.float64)

    def forward(self, levels: Reals) -> Reals:
        return np.asarray(levels @ (self.floats if levels.dtype == np.float64 else self.weights).T)

    def back(self, multipliers: Reals) -> Reals:
        return np.asarray(multipliers @ (self.floats if multipliers.dtype == np.float64 else self.weights))

    def spread(self, inputs: Range) -> Range:
        middle, half = inputs.low + inputs.high, inputs.high - inputs.low
        there, far = self.weights @ middle, np.abs(self.weights) @ half
        return Range((there - far) // 2, (there + far) // 2)


class _SlidingSums(QuantizedSums):
    def __init__(
        self, kernel: Ints, window: Window, groups: int, base: Ints, steps: Ints, sizes: Ints
    ) -> None:
        super().__init__(base, steps, sizes, window.inputs)
        self.window, self.groups = window, groups
        self.weights = kernel.reshape(groups, len(kernel) // groups, -1)  # group, output, (input, tap)
        self.floats = self.weights.astype(np.float64)
        self.pixels = window.shape[1] * window.shape[2]

    def _sums(self, levels: Reals, kernel: Reals) -> Reals:
        n_rows, taps = len(levels), self.window.taps
        maps = np.zeros((n_rows, self.window.shape[0], self.pixels + 1), levels.dtype)
        maps[:, :, :-1] = levels.reshape(n_rows, -1, self.pixels)
        patches = maps[:, :, taps.T].reshape(n_rows, self.groups, -1, len(taps))
        return np.asarray((kernel @ patches).reshape(n_rows, -1))

    def forward(self, levels: Reals) -> Reals:
        return self._sums(levels, self.floats if levels.dtype == np.float64 else self.weights)

    def back(self, multipliers: Reals) -> Reals:
        n_rows, taps = len(multipliers), self.window.taps
        kernel = self.floats if multipliers.dtype == np.float64 else self.weights
        asked = kernel.transpose(0, 2, 1) @ multipliers.reshape(n_rows, self.groups, -1, len(taps))
        asked = asked.reshape(n_rows, self.window.shape[0], taps.shape[1], len(taps))
        out = np.zeros((n_rows, self.window.shape[0], self.pixels + 1), multipliers.dtype)
        for tap in range(taps.shape[1]):  # a tap reads each pixel at most once; padding is last
            out[:, :, taps[:, tap]] += asked[:, :, tap]
        return out[:, :, :-1].reshape(n_rows, -1)

    def spread(self, inputs: Range) -> Range:
        there = self._sums((inputs.low + inputs.high)[None], self.weights)[0]
        far = self._sums((inputs.high - inputs.low)[None], np.abs(self.weights))[0]
        return Range((there - far) // 2, (there + far) // 2)


class Pool:
    """The maximum of the levels of a window, or for some channels the minimum."""

    def __init__(self, layer: PoolLayer) -> None:
        self.window, self.inputs, self.outputs = layer.window, layer.inputs, layer.outputs
        taps, (channels, height, width) = layer.window.taps, layer.window.shape
        indices = np.arange(channels)[:, None, None] * height * width + taps
        self.inside = np.broadcast_to(taps >= 0, indices.shape).reshape(self.outputs, -1)
        self.taps = np.where(taps >= 0, indices, 0).reshape(self.outputs, -1)
        self.sign = np.where(
            np.repeat(layer.every, len(taps)), -1, 1
        )  # the minimum is the maximum of the negatives
        self.top = getattr(layer, "top", None) or 1
        self.multipliers = self.taps.size
        self.sizes = np.full(self.multipliers, self.top)

    def back(self, multipliers: Reals) -> Reals:
        """Carry multipliers to the inputs, row by row."""
        out = np.zeros((len(multipliers), self.inputs), multipliers.dtype)
        for tap in range(self.taps.shape[1]):
            is_inside = self.inside[:, tap]
            part = multipliers.reshape(len(multipliers), self.outputs, -1)[:, is_inside, tap]
            for row, values in zip(out, part, strict=True):
                np.add.at(row, self.taps[is_inside, tap], values)
        return out

    def taps_of(self, inputs: Range) -> tuple[Ints, Ints]:
        """Return the ends of every tap, with the sign of its neuron, so that the maximum counts."""
        low, high = (np.where(self.sign[:, None] > 0, end[self.taps], 0) for end in inputs)
        low = np.where(self.sign[:, None] > 0, low, -inputs.high[self.taps])
        high = np.where(self.sign[:, None] > 0, high, -inputs.low[self.taps])
        return np.where(self.inside, low, -self.top - 1), np.where(self.inside, high, -self.top - 1)

    def reach(self, inputs: Range) -> Range:
        """Return the minimum and maximum level of every window."""
        low, high = (ends.max(axis=1) for ends in self.taps_of(inputs))
        return Range(np.where(self.sign > 0, low, -high), np.where(self.sign > 0, high, -low))

    def levels(self, reach: Range) -> Range:
        """Return the range itself: the outputs are levels."""
        return reach

    def within(self, reach: Range, neuron: int, low: int, high: int) -> None:
        """Narrow a range to some levels of a neuron."""
        reach.low[neuron] = max(int(reach.low[neuron]), low)
        reach.high[neuron] = min(int(reach.high[neuron]), high)

    def best(self, worth: Reals, slopes: Reals, inputs: Range, reach: Range) -> Best:
        """Return the largest ``worth_j v - sum of slope_t x_t`` over levels x_t of the taps, none above v.

        As a function of v it is concave, with kinks only at the upper ends of the taps.
        """
        low, high = self.taps_of(inputs)
        first = np.where(self.sign > 0, reach.low, -reach.high)
        last = np.where(self.sign > 0, reach.high, -reach.low)
        lean = np.where(self.inside, slopes.reshape(len(slopes), *self.taps.shape), 0) * self.sign[:, None]
        value, level, at = None, None, None
        for mark in (first, last, *high.T):
            v = np.clip(mark, first, last)
            here = np.where(lean > 0, low, np.minimum(high, v[:, None]))
            total = worth * (self.sign * v) - (lean * here).sum(axis=2)
            if value is None or level is None or at is None:
                value, level, at = total, np.broadcast_to(v, total.shape), here
            else:
                better = total > value
                value, level = np.where(better, total, value), np.where(better, v, level)
                at = np.where(better[:, :, None], here, at)
        assert value is not None
        assert level is not None
        assert at is not None
        signed = np.where(self.inside, at * self.sign[:, None], 0)
        return Best(value, level * self.sign, signed.reshape(len(slopes), -1))


Reading: TypeAlias = QuantizedSums | Pool


def reading_of(layer: Layer) -> Reading:
    """Return the sums or the pool of a layer of any kind."""
    if isinstance(layer, PoolLayer):
        return Pool(layer)
    base, steps, sizes = -layer.lowest, layer.thresholds, layer.sizes
    if isinstance(layer, ConvLayer | QuantizedConv):
        base = base + layer.rim  # taps on padding do not count
        return _SlidingSums(layer.weights, layer.window, layer.groups, base, steps, sizes)
    return _DenseSums(layer.weights, base, steps, sizes)
