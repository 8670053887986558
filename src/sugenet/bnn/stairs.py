"""Layers of staircases: neurons over levels that give levels (docs/theory.md 3.4).

A neuron with M steps gives the level ``#{m : match count >= tau_m}`` in 0..M. With one step it is a threshold
neuron; clipping, ReLU, saturation and rounding are all steps, and a value that is signed outside is a level
with an offset that the next layer's steps take in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints, integer_array
from sugenet.bnn.conv import ConvLayer
from sugenet.bnn.geometry import Window
from sugenet.bnn.layers import LevelLayer, check_size, checked_levels, checked_tops
from sugenet.bnn.stair import NEVER, Stair
from sugenet.brief import Brief
from sugenet.errors import NetworkError

__all__ = ["StairConv", "StairLayer"]

_FAR = 1 << 62


@dataclass(frozen=True, eq=False)
class StairLayer(Brief):
    """Neurons over the same levels: neuron j gives the number of its steps that its match count reaches.

    Parameters
    ----------
    weights
        Whole numbers, one row a neuron, one column an input.
    tau
        One row a neuron: rising thresholds on its match count, as in `LevelLayer`. A step at 0 or below is
        always reached, one beyond the largest match count never; a neuron with fewer steps than the others
        is filled up with such.
    tops
        The largest level of each input: 1 for a bit.

    Examples
    --------
    >>> layer = StairLayer([[+1, -1]], tau=[[2, 4, 5]], tops=[3, 3])
    >>> layer.match_counts([[3, 1], [0, 3]]), layer.activity([[3, 1], [0, 3]]), layer.height
    (array([[5],
           [0]]), array([[3],
           [0]]), 3)
    >>> StairLayer.from_sums([[+1, -1]], [[-1, 1, 2]], tops=[3, 3]) == layer
    True
    """

    weights: Ints
    tau: Ints
    tops: Ints

    def __init__(self, weights: Any, tau: Any, tops: Any) -> None:
        rows = integer_array(weights, 2, "weights")
        check_size(rows)
        highest = checked_tops(tops, rows)
        sizes = np.abs(rows) @ highest
        object.__setattr__(self, "weights", rows)
        object.__setattr__(self, "tops", highest)
        object.__setattr__(self, "tau", _steps(tau, len(rows), np.zeros(len(rows), np.int64), sizes))

    @classmethod
    def from_sums(cls, weights: Any, steps: Any, tops: Any) -> StairLayer:
        """The same from thresholds on the plain sums ``weights @ levels``, whole numbers of any size."""
        rows, highest = integer_array(weights, 2, "weights"), integer_array(tops, 1, "tops")
        below = (-np.minimum(rows, 0) @ highest).tolist()
        taus = [
            [_whole(step, j, m) + low for m, step in enumerate(own)]
            for j, (own, low) in enumerate(zip(steps, below, strict=True))
        ]
        return cls(rows, _narrow(taus), highest)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.weights)

    @property
    def height(self) -> int:
        """The largest level that a neuron can give: its number of steps."""
        return int(self.tau.shape[1])

    @property
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""
        return np.asarray(np.abs(self.weights) @ self.tops)

    @property
    def lowest(self) -> Ints:
        """The least sum of each neuron, where its match count is 0."""
        return np.asarray(np.minimum(self.weights, 0) @ self.tops)

    @property
    def steps(self) -> Ints:
        """The thresholds on the plain sums; `NEVER` where none is reached."""
        return np.where(self.tau == NEVER, NEVER, self.tau + self.lowest[:, None])

    @property
    def constant(self) -> Bits:
        """Which neurons never change their level."""
        return np.asarray(((self.tau == 0) | (self.tau == NEVER)).all(axis=1))

    def sums(self, levels: Any) -> Ints:
        """Plain weighted sums, one row a sample."""
        return np.asarray(checked_levels(levels, self.inputs, self.tops) @ self.weights.T)

    def match_counts(self, levels: Any) -> Ints:
        """M of every sample and neuron: the sum above its least value."""
        return self.sums(levels) - self.lowest

    def activity(self, levels: Any) -> Ints:
        """The level of every neuron in every sample."""
        return _climbed(self.match_counts(levels), self.tau)

    def column(self, place: int) -> tuple[Ints, Ints]:
        """Which neurons, numbered from 0, read the input at a place, and with what weight: all of them,
        some with weight 0.
        """
        return np.arange(self.outputs), self.weights[:, place]

    def neuron(self, j: int) -> Stair:
        """Neuron j, numbered from 1."""
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        return Stair(self.weights[j - 1].tolist(), self.tau[j - 1].tolist(), self.tops.tolist())

    def cut(self) -> LevelLayer:
        """One binary neuron a step, neuron by neuron, over the same levels."""
        return LevelLayer(np.repeat(self.weights, self.height, axis=0), self.tau.reshape(-1), self.tops)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StairLayer):
            return NotImplemented
        return (
            np.array_equal(self.weights, other.weights)
            and np.array_equal(self.tau, other.tau)
            and np.array_equal(self.tops, other.tops)
        )

    def __hash__(self) -> int:
        return hash((self.weights.tobytes(), self.tau.tobytes(), self.tops.tobytes()))


@dataclass(frozen=True, eq=False)
class StairConv(Brief):
    """A convolution of levels that gives levels: one staircase for each output channel, at all positions.

    Parameters
    ----------
    weights
        Whole numbers of shape (out channels, in channels / groups, kernel height, kernel width).
    steps
        One row an output channel: rising thresholds on the plain sum over all taps, padding included.
    window
        Input shape and geometry.
    groups
        Channel groups; as many as channels for a depthwise convolution.
    top
        The largest level of each input value.
    pad
        The level that taps on padding hold.

    Examples
    --------
    >>> layer = StairConv(np.ones((1, 1, 2, 2), int), [[2, 6]], Window((1, 2, 2), kernel=2), top=3)
    >>> x = np.array([[1, 2, 3, 1]])
    >>> layer.sums(x).tolist(), layer.activity(x).tolist()
    ([[7]], [[2]])
    """

    weights: Ints
    steps: Ints
    window: Window
    groups: int
    top: int
    pad: int

    def __init__(
        self, weights: Any, steps: Any, window: Window, groups: int = 1, *, top: int, pad: int = 0
    ) -> None:
        if not 0 <= pad <= top:
            raise NetworkError(f"pad={pad} is no level in 0..{top}.")
        kernel = integer_array(weights, 4, "kernel")
        plain = ConvLayer(kernel, np.zeros(len(kernel), np.int64), window, groups, top)
        object.__setattr__(self, "weights", plain.weights)
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "top", top)
        object.__setattr__(self, "pad", pad)
        flat = kernel.reshape(len(kernel), -1)
        check_size(flat, top)
        low, high = np.minimum(flat, 0).sum(axis=1) * top, np.maximum(flat, 0).sum(axis=1) * top
        object.__setattr__(self, "steps", _steps(_narrow(steps), len(kernel), low, high))

    @property
    def inputs(self) -> int:
        """Number of input values."""
        return self.window.inputs

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (len(self.weights), *self.window.positions)

    @property
    def outputs(self) -> int:
        """Number of neurons: output channels times positions."""
        return len(self.weights) * len(self.window.taps)

    @property
    def height(self) -> int:
        """The largest level that a neuron can give: its number of steps."""
        return int(self.steps.shape[1])

    @cached_property
    def _conv(self) -> ConvLayer:
        """The same taps and kernel, for plain sums."""
        return ConvLayer(
            self.weights, np.zeros(len(self.weights), np.int64), self.window, self.groups, self.top
        )

    @cached_property
    def rim(self) -> Ints:
        """What the taps on padding add to the sum of each neuron."""
        kernel = self.weights.reshape(*self.weights.shape[:2], -1).sum(axis=1)
        return np.asarray((kernel @ (self.window.taps < 0).T).reshape(-1) * self.pad)

    @property
    def sizes(self) -> Ints:
        """The largest match count of each neuron, over the taps inside the input."""
        return self._conv.sizes

    @property
    def lowest(self) -> Ints:
        """The least sum of each neuron, where its match count is 0."""
        kernel = np.minimum(self.weights, 0).reshape(*self.weights.shape[:2], -1).sum(axis=1)
        return np.asarray((kernel @ (self.window.taps >= 0).T).reshape(-1) * self.top + self.rim)

    @property
    def tau(self) -> Ints:
        """For each neuron its thresholds on the match count, over the taps inside the input."""
        rows = np.repeat(self.steps, len(self.window.taps), axis=0)
        taus = np.where(rows == NEVER, NEVER, np.maximum(rows - self.lowest[:, None], 0))
        return np.where(taus > self.sizes[:, None], NEVER, taus)

    @property
    def constant(self) -> Bits:
        """Which neurons never change their level."""
        tau = self.tau
        return np.asarray(((tau == 0) | (tau == NEVER)).all(axis=1))

    def sums(self, levels: Any) -> Ints:
        """Weighted sums over all taps, padding included; one row a sample."""
        array = checked_levels(levels, self.inputs, np.full(self.inputs, self.top))
        return np.asarray(self._conv.sums(array) + self.rim)

    def match_counts(self, levels: Any) -> Ints:
        """M of every sample and neuron: the sum above its least value."""
        return self.sums(levels) - self.lowest

    def activity(self, levels: Any) -> Ints:
        """The level of every neuron in every sample."""
        return _climbed(self.sums(levels), np.repeat(self.steps, len(self.window.taps), axis=0))

    def column(self, place: int) -> tuple[Ints, Ints]:
        """Which neurons, numbered from 0, read the input value at a place, and with what weight."""
        return self._conv.column(place)

    def neuron(self, j: int) -> Stair:
        """Neuron j, numbered from 1, over all input values."""
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        row = self._conv.row(j - 1)
        steps = self.steps[(j - 1) // len(self.window.taps)]
        taus = np.where(steps == NEVER, NEVER, steps - int(self.lowest[j - 1]))
        return Stair(row.tolist(), taus.tolist(), [self.top] * self.inputs)

    def cut(self) -> ConvLayer:
        """One binary channel a step, channel by channel, over the same levels."""
        taus = self.tau.reshape(len(self.weights), -1, self.height).transpose(0, 2, 1)
        full = taus.reshape(len(self.weights) * self.height, *self.window.positions)
        kernel = np.repeat(self.weights, self.height, axis=0)
        return ConvLayer(kernel, full, self.window, self.groups, self.top)

    def dense(self) -> StairLayer:
        """The same neurons as a dense layer over the same levels."""
        rows = self._conv.rows()
        return StairLayer(rows, self.tau, np.full(self.inputs, self.top))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StairConv):
            return NotImplemented
        return (
            (self.window, self.groups, self.top, self.pad)
            == (other.window, other.groups, other.top, other.pad)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.steps, other.steps)
        )

    def __hash__(self) -> int:
        return hash(
            (self.window, self.groups, self.top, self.pad, self.weights.tobytes(), self.steps.tobytes())
        )


def _climbed(counts: Ints, steps: Ints) -> Ints:
    """How many steps of its neuron each count reaches."""
    out = np.zeros(counts.shape, np.int64)
    for j, own in enumerate(steps):
        out[:, j] = np.searchsorted(own, counts[:, j], side="right")
    return out


def _steps(values: Any, count: int, low: Ints, high: Ints) -> Ints:
    """Rising thresholds, those always reached written as the least count, those never as `NEVER`."""
    rows = integer_array(_narrow(values), 2, "steps")
    if len(rows) != count or not rows.shape[1]:
        raise NetworkError(
            f"steps of shape {rows.shape} for {count} neurons. Every neuron has a row of at least one."
        )
    falls = (np.diff(rows, axis=1) < 0).any(axis=1)
    if falls.any():
        raise NetworkError(f"the steps of neuron {int(np.argmax(falls)) + 1} do not rise. Sort them.")
    kept = np.where(rows > high[:, None], NEVER, np.maximum(rows, low[:, None]))
    kept.flags.writeable = False
    return kept


def _narrow(values: Any) -> npt.NDArray[Any]:
    """Whole numbers of any size within 63 bits, far beyond all match counts."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    return np.array(
        [[max(-_FAR, min(_FAR, _whole(v, j, m))) for m, v in enumerate(own)] for j, own in enumerate(values)],
        np.int64,
    ).reshape(len(values), -1)


def _whole(value: Any, j: int, m: int) -> int:
    try:
        if int(value) == value:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise NetworkError(f"step {m + 1} of neuron {j + 1} is {value!r}, which is not a whole number.")
