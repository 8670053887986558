"""Convolutions and pooling as layers of neurons, stored as kernel and geometry and unrolled on demand.

A tap on padding is not a literal, so the neuron there has fewer literals and its own tau (docs/theory.md
4.1). Padding with +1 or -1 is folded into that tau too. Maps are flattened channel by channel, row by row:
the flat input and output indices are those of NCHW arrays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.errors import NetworkError, TooLargeError
from sugenet.nn.arrays import Bits, Ints, integer_array, make_sure
from sugenet.nn.layers import (
    WIDEST,
    DenseLayer,
    Layer,
    check_size,
    check_tau,
    checked_marks,
    checked_steps,
    dense_layer,
)
from sugenet.nn.neuron import NEVER, Neuron, QuantizedNeuron
from sugenet.reprs import set_fields

__all__ = ["ConvLayer", "PoolLayer", "QuantizedConv", "see_unrolled"]

UNROLL_LIMIT = 1 << 28  # weights of an unrolled layer


class _MapForm(Layer):
    """Base of convolutions and pooling: one kernel per output channel, at all positions of a window."""

    kind = "conv"
    window: Window
    top: int | None
    """Largest level of each input value; None if the input is bits."""
    pad: int = 0
    """Level of taps on padding."""

    def _set(self, weights: Any, window: Window, groups: int, top: int | None) -> None:
        """Check a kernel against its window."""
        kernel = integer_array(weights, 4, "kernel")
        channels = window.shape[0]
        if not len(kernel):
            raise NetworkError("the kernel has no output channel. Give at least one, or leave the layer out.")
        if groups < 1 or channels % groups or kernel.shape[0] % groups:
            raise NetworkError(
                f"{groups} groups do not divide {channels} input and {kernel.shape[0]} output channels."
            )
        expected = (channels // groups, *window.kernel)
        if kernel.shape[1:] != expected:
            raise NetworkError(
                f"the kernel has shape {kernel.shape}, but (outputs, "
                f"{', '.join(map(str, expected))}) is needed."
            )
        if top is not None and not 0 <= top < 1 << 20:
            raise NetworkError(f"top={top} must be a small integer: the largest level of an input value.")
        check_size(kernel.reshape(len(kernel), -1), *((top, WIDEST) if top is not None else ()))
        tops = None if top is None else np.full(window.inputs, top)
        set_fields(self, weights=kernel, window=window, groups=groups, top=top, tops=tops)

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

    def sums(self, values: Any) -> Ints:
        """Return weighted sums of all taps, those on padding included: values are -1 and +1, or levels.

        Shape (samples, outputs).
        """
        sums = self.window.sums(np.asarray(values, np.int64), self.weights, self.groups)
        return np.asarray(sums.reshape(len(sums), self.outputs) + self.rim)

    @property
    def rim(self) -> Ints | int:
        """Contribution of the taps on padding to the sum of each neuron."""
        return self._over_taps(self.weights, inside=False) * self.pad if self.pad else 0

    @property
    def lowest(self) -> Ints:
        """Smallest sum of each neuron, at match count 0."""
        return np.asarray(self._over_taps(np.minimum(self.weights, 0)) * self._top + self.rim)

    @property
    def sizes(self) -> Ints:
        """Largest match count of each neuron, over the taps inside the input."""
        return self._over_taps(np.abs(self.weights)) * self._top

    def _over_taps(self, kernel: Ints, *, inside: bool = True) -> Ints:
        return self.window.over_taps(kernel, inside=inside).reshape(-1)

    @property
    def _top(self) -> int:
        return 1 if self.top is None else self.top

    @property
    def marks(self) -> dict[str, Any]:
        """Marks that folding left for each neuron: those of its channel."""
        marks, positions = super().marks, len(self.window.taps)
        return {name: None if flags is None else np.repeat(flags, positions) for name, flags in marks.items()}

    def row(self, j: int) -> Ints:
        """Return the weights of neuron j, from 0, over all input values."""
        out, position = divmod(j, len(self.window.taps))
        channels, height, width = self.window.shape
        per_in, group = channels // self.groups, out // (len(self.weights) // self.groups)
        row = np.zeros((channels, height * width), np.int64)
        pixels = self.window.taps[position]
        inside = pixels >= 0
        kernel = self.weights[out].reshape(per_in, -1)[:, inside]
        row[group * per_in : (group + 1) * per_in, pixels[inside]] = kernel
        return row.reshape(-1)

    def column(self, index: int) -> tuple[Ints, Ints]:
        """Return the neurons, numbered from 0, that read the input value at an index, and their weights."""
        channel, pixel = divmod(index, self.window.shape[1] * self.window.shape[2])
        group, inner = divmod(channel, self.window.shape[0] // self.groups)
        per_out = len(self.weights) // self.groups
        positions, taps = np.nonzero(self.window.taps == pixel)
        outs = np.arange(group * per_out, (group + 1) * per_out)
        neurons = outs[:, None] * len(self.window.taps) + positions
        return neurons.reshape(-1), self.weights[outs, inner].reshape(per_out, -1)[:, taps].reshape(-1)

    def rows(self) -> Ints:
        """Return the weights of all neurons over all input values."""
        see_unrolled(self.outputs, self.inputs)
        return super().rows()

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        return [repr(self.window), json.dumps([self.groups, self.top]), self.weights, self.tau]

    def dense(self) -> Layer:
        """Return the same neurons as a dense layer over the same inputs."""
        return dense_layer(self.rows(), self.tau, self.tops)

    def unrolled(self) -> DenseLayer:
        """Return the same neurons as a dense layer over bits."""
        see_unrolled(self.outputs, self.inputs * self._top)
        return super().unrolled()


@dataclass(frozen=True, eq=False, init=False)
class ConvLayer(_MapForm):
    """Convolution: one neuron per output channel and position, all positions with the same kernel.

    Parameters
    ----------
    weights : array of int
        Shape (out channels, in channels / groups, kernel height, kernel width).
    tau : array of int
        Thresholds on the match count of the taps inside the input, of shape (out channels, height, width), or
        (out channels,) if they are the same at all positions.
    window : Window
        Input shape and geometry.
    groups : int, default: 1
        Number of channel groups; the number of channels for a depthwise convolution.
    top : int, default: None
        Largest level of each input value, as in `LevelLayer`. None: the input is bits.
    flipped : array of bool, default: None
        Output channels whose weights folding reversed, for `summary`. No effect on results.
    ties : array of bool, default: None
        Output channels that can have a sum of exactly zero, for `summary`. No effect on results.

    Raises
    ------
    NetworkError
        If a shape does not fit the window, a number is not an integer, or match counts could be too large.

    Examples
    --------
    >>> layer = ConvLayer(np.ones((1, 1, 2, 2), int), tau=[3], window=Window((1, 3, 3), kernel=2))
    >>> x = np.array([[1, 1, 0, 1, 1, 0, 0, 1, 0]], bool)
    >>> layer.match_counts(x).tolist(), layer.activity(x).tolist()
    ([[4, 2, 3, 2]], [[True, False, True, False]])

    See Also
    --------
    fold_conv : makes one from a kernel and batch norm.
    QuantizedConv : convolution that gives levels.
    """

    fingerprint_name = "ConvLayer"

    weights: Ints
    tau: Ints
    window: Window
    groups: int = 1
    top: int | None = None
    flipped: Bits | None = field(default=None, compare=False)
    ties: Bits | None = field(default=None, compare=False)

    def __init__(
        self,
        weights: Any,
        tau: Any,
        window: Window,
        groups: int = 1,
        top: int | None = None,
        *,
        flipped: Any = None,
        ties: Any = None,
    ) -> None:
        self._set(weights, window, groups, top)
        full, thresholds = self.output_shape, np.asarray(tau)
        if thresholds.shape == full[:1]:
            thresholds = np.broadcast_to(thresholds[:, None, None], full)
        if thresholds.shape != full:
            raise NetworkError(f"tau has shape {thresholds.shape}, but {full} or {full[:1]} is needed.")
        marks = checked_marks(full[:1], "output channels", flipped=flipped, ties=ties)
        set_fields(self, tau=integer_array(thresholds.reshape(-1), 1, "tau"), **marks)
        check_tau(self.tau)


@dataclass(frozen=True, eq=False, init=False)
class QuantizedConv(_MapForm):
    """Convolution over levels that gives levels: one staircase per output channel, at all positions.

    Parameters
    ----------
    weights : array of int
        Shape (out channels, in channels / groups, kernel height, kernel width).
    steps : array of int
        One row per output channel: rising thresholds on the plain sum over all taps, padding included.
    window : Window
        Input shape and geometry.
    groups : int, default: 1
        Number of channel groups; the number of channels for a depthwise convolution.
    top : int
        Largest level of each input value.
    pad : int, default: 0
        Level of taps on padding.

    Raises
    ------
    NetworkError
        If a shape does not fit the window, steps do not rise, `pad` is not a level, or match counts could be
        too large.

    Examples
    --------
    >>> layer = QuantizedConv(np.ones((1, 1, 2, 2), int), [[2, 6]], Window((1, 2, 2), kernel=2), top=3)
    >>> x = np.array([[1, 2, 3, 1]])
    >>> layer.sums(x).tolist(), layer.activity(x).tolist()
    ([[7]], [[2]])

    See Also
    --------
    ConvLayer : convolution that gives bits.
    QuantizedLayer : the dense layer with steps.
    """

    fingerprint_name = "StairConv"

    weights: Ints
    steps: Ints
    window: Window
    groups: int
    top: int
    pad: int
    is_binary = False

    def __init__(
        self, weights: Any, steps: Any, window: Window, groups: int = 1, *, top: int, pad: int = 0
    ) -> None:
        if not 0 <= pad <= top:
            raise NetworkError(f"pad={pad} is not a level in 0..{top}.")
        self._set(weights, window, groups, top)
        flat = self.weights.reshape(len(self.weights), -1)
        check_size(flat, top)
        low, high = np.minimum(flat, 0).sum(axis=1) * top, np.maximum(flat, 0).sum(axis=1) * top
        set_fields(self, pad=pad, steps=checked_steps(steps, low, high))

    @property
    def height(self) -> int:
        """Largest level that a neuron can give: its number of steps."""
        return int(self.steps.shape[1])

    @property
    def tau(self) -> Ints:  # type: ignore[override]  # made when asked for: it is large
        """Thresholds of each neuron on the match count, over the taps inside the input."""
        rows = np.repeat(self.steps, len(self.window.taps), axis=0)
        taus = np.where(rows == NEVER, NEVER, np.maximum(rows - self.lowest[:, None], 0))
        return np.where(taus > self.sizes[:, None], NEVER, taus)

    def thresholds_of(self, j: int) -> list[int]:
        """Return the thresholds of neuron j, from 0, on the match count."""
        steps = self.steps[j // len(self.window.taps)]
        return [int(step) for step in np.where(steps == NEVER, NEVER, steps - int(self.lowest[j]))]

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        geometry = [repr(self.window), json.dumps([self.groups, self.top]), json.dumps(self.pad)]
        return [*geometry, self.weights, self.steps]

    def expanded(self) -> ConvLayer:
        """Return one binary channel per step, channel by channel, over the same levels."""
        taus = self.tau.reshape(len(self.weights), -1, self.height).transpose(0, 2, 1)
        full = taus.reshape(len(self.weights) * self.height, *self.window.positions)
        kernel = np.repeat(self.weights, self.height, axis=0)
        return ConvLayer(kernel, full, self.window, self.groups, self.top)


@dataclass(frozen=True, eq=False, init=False)
class PoolLayer(_MapForm):
    """Max pooling: active iff any input of the window is active (a possibility measure), or, with `every`,
    iff all are active (a necessity measure). For levels it gives the maximum or the minimum.

    Pooling before batch norm and sign is the same as pooling after them: a positive scale gives *any*,
    a negative one *every*.

    Parameters
    ----------
    window : Window
        Input shape and geometry; padding never counts.
    every : bool or array of bool, default: False
        Whether all inputs must be active, for all channels or for each.
    top : int, default: None
        Largest level of each input value. None: the input is bits.

    Raises
    ------
    NetworkError
        If `top` is out of range, or a position of the window covers padding only.
    ValueError
        If `every` does not have one value per channel.

    Examples
    --------
    >>> pool = PoolLayer(Window((2, 2, 2), kernel=2, stride=2), every=[False, True])
    >>> pool.activity(np.array([[1, 0, 0, 0, 1, 0, 0, 0]], bool))
    array([[ True, False]])

    See Also
    --------
    ConvLayer : convolution over the same windows.
    Window : the geometry.
    """

    fingerprint_name = "PoolLayer"

    window: Window
    every: Bits
    top: int | None = None
    kind = "pool"

    def __init__(self, window: Window, every: Any = False, top: int | None = None) -> None:
        if top is not None and not 0 < top < 1 << 20:
            raise NetworkError(f"top={top} must be a small integer: the largest level of an input value.")
        marks = np.array(np.broadcast_to(np.asarray(every, dtype=bool), window.shape[:1]))
        marks.flags.writeable = False
        empty = (window.taps < 0).all(axis=1)
        if empty.any():
            raise NetworkError(f"the window at position {int(np.argmax(empty))} lies in the padding alone.")
        channels = window.shape[0]
        self._set(np.ones((channels, 1, *window.kernel), np.int64), window, channels, top)
        counted = np.tile((window.taps >= 0).sum(axis=1), channels)  # 1 for any; for every, the bits
        tau = np.where(np.repeat(marks, len(window.taps)), counted, 1)
        set_fields(self, every=marks, is_binary=top is None, tau=tau)

    @property
    def height(self) -> int:
        """Largest level of an input, and so of an output."""
        return self._top

    def match_counts(self, inputs: Any) -> Ints:
        """Count the active inputs of each window."""
        if self.top is not None:
            raise NetworkError("pooling of levels counts no matches: its cut into bits does.")
        return super().match_counts(inputs)

    @property
    def constant(self) -> Bits:
        """No window is constant."""
        return np.zeros(self.outputs, bool)

    def activity(self, inputs: Any) -> npt.NDArray[Any]:
        """Return which windows are active; for levels, the maximum or minimum of each window."""
        if self.top is None:
            return super().activity(inputs)
        array = np.asarray(self._checked(inputs))
        maps = array.reshape(len(array), self.window.shape[0], -1)
        inside = self.window.taps >= 0
        values = maps[:, :, self.window.taps]  # taps on padding read a value that is ignored
        largest = np.where(inside, values, 0).max(axis=3)
        smallest = np.where(inside, values, self.top).min(axis=3)
        pooled = np.where(self.every[:, None], smallest, largest)
        return np.asarray(pooled.reshape(len(array), self.outputs))

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        return [repr(self.window), *([] if self.top is None else [json.dumps(self.top)]), self.every]

    def expanded(self) -> PoolLayer:
        """Return one pool of bits for each level of each channel, channel by channel."""
        top = self._top
        return self if self.is_binary else PoolLayer(self.window.widened(top), np.repeat(self.every, top))

    def unrolled(self) -> DenseLayer:
        """Return the same neurons as a dense layer over bits."""
        return super().unrolled() if self.is_binary else self.expanded().unrolled()

    def neuron(self, j: int) -> Neuron | QuantizedNeuron:
        """Return neuron j, numbered from 1."""
        if self.top is not None and self.index_of(j) >= 0:
            raise NetworkError(
                "pooling of levels takes the largest or the least, it counts nothing: its cut has neurons."
            )
        return super().neuron(j)


def see_unrolled(
    outputs: int, inputs: int, instead: str = "Ask for single neurons instead: layer.neuron(j)."
) -> None:
    """Raise `TooLargeError` if a layer with a weight for every input would be too large."""
    if outputs * inputs > UNROLL_LIMIT:
        raise TooLargeError(f"unrolling would give {outputs:,} neurons over {inputs:,} inputs. {instead}")
    make_sure(8 * outputs * inputs, f"unrolling to {outputs:,} neurons over {inputs:,} inputs", instead)
