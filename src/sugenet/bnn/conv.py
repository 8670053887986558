"""Convolutions and pooling as layers of neurons, kept as kernel and geometry and unrolled on demand.

A tap that falls on padding is no literal: the neuron there has fewer, and its own tau (docs/theory.md 4.1).
Padding with +1 or -1 is folded into that tau too. Maps are flattened channel by channel, row by row, so flat
input and output numbers are those of NCHW arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints, integer_array
from sugenet.bnn.geometry import Window
from sugenet.bnn.layers import WIDEST, DenseLayer, check_size, check_tau
from sugenet.bnn.memory import make_sure
from sugenet.bnn.neuron import Neuron
from sugenet.brief import Brief
from sugenet.errors import NetworkError, TooLargeError

__all__ = ["ConvLayer", "PoolLayer"]

CHUNK_VALUES = 1 << 24  # gathered taps at a time, to bound memory
UNROLL_LIMIT = 1 << 28  # weights of an unrolled layer


@dataclass(frozen=True, eq=False)
class ConvLayer(Brief):
    """One neuron for each output channel and position, all positions with the same kernel.

    Parameters
    ----------
    weights
        Integers of shape (out channels, in channels / groups, kernel height, kernel width).
    tau
        Thresholds on the match count of the taps inside the input: of shape (out channels, height, width), or
        (out channels,) for the same everywhere.
    window
        Input shape and geometry.
    groups
        Channel groups; as many as channels for a depthwise convolution.
    top
        None when the input is bits; else the largest level of each input value, as in `LevelLayer`.

    Examples
    --------
    >>> layer = ConvLayer(np.ones((1, 1, 2, 2), int), tau=[3], window=Window((1, 3, 3), kernel=2))
    >>> x = np.array([[1, 1, 0, 1, 1, 0, 0, 1, 0]], bool)
    >>> layer.match_counts(x).tolist(), layer.activity(x).tolist()
    ([[4, 2, 3, 2]], [[True, False, True, False]])
    """

    weights: Ints
    tau: Ints
    window: Window
    groups: int = 1
    top: int | None = None
    flipped: Bits | None = None
    ties: Bits | None = None

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
        full = (len(kernel), *window.positions)
        given = np.asarray(tau)
        if given.shape == full[:1]:
            given = np.broadcast_to(given[:, None, None], full)
        if given.shape != full:
            raise NetworkError(f"tau has shape {given.shape}, but {full} or {full[:1]} is needed.")
        if top is not None and not 0 <= top < 1 << 20:
            raise NetworkError(
                f"top={top} must be a small whole number: the largest level of an input value."
            )
        check_size(kernel.reshape(len(kernel), -1), *((top, WIDEST) if top is not None else ()))
        object.__setattr__(self, "weights", kernel)
        object.__setattr__(self, "tau", integer_array(given.reshape(-1), 1, "tau"))
        check_tau(self.tau)
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "top", top)
        for name, marks in (("flipped", flipped), ("ties", ties)):
            kept = None if marks is None else np.array(marks, dtype=bool)
            if kept is not None and kept.shape != full[:1]:
                raise NetworkError(
                    f"{name} has shape {kept.shape}, but there are {len(kernel)} output channels."
                )
            object.__setattr__(self, name, kept)

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
        return len(self.tau)

    def sums(self, values: Any) -> Ints:
        """Weighted sums of the taps inside the input: values are -1 and +1, or levels.

        Shape (samples, outputs).
        """
        channels, height, width = self.window.shape
        maps = np.asarray(values, dtype=np.int64).reshape(len(values), channels, height * width)
        taps = self.window.taps
        # tap -1 reads the zero behind the last pixel
        padded = np.concatenate([maps, np.zeros((*maps.shape[:2], 1), np.int64)], axis=2)
        out = np.empty((len(maps), len(self.weights), len(taps)), np.int64)
        step = max(1, CHUNK_VALUES // max(1, maps.shape[1] * taps.size))
        per_in, per_out = maps.shape[1] // self.groups, len(self.weights) // self.groups
        for start in range(0, len(maps), step):
            for group in range(self.groups):
                patches = padded[start : start + step, group * per_in : (group + 1) * per_in][:, :, taps]
                kernel = self.weights[group * per_out : (group + 1) * per_out].reshape(per_out, per_in, -1)
                out[start : start + step, group * per_out : (group + 1) * per_out] = np.einsum(
                    "ncpk,ock->nop", patches, kernel
                )
        return out.reshape(len(maps), self.outputs)

    def match_counts(self, inputs: Any) -> Ints:
        """M of every sample and neuron, over the taps inside the input."""
        array = np.asarray(inputs)
        if array.ndim != 2 or array.shape[1] != self.inputs:
            raise NetworkError(f"the layer reads samples of {self.inputs} values, not shape {array.shape}.")
        if self.top is None:
            if array.dtype != bool:
                raise NetworkError(f"bits have dtype {array.dtype}, but True and False are needed.")
            return np.asarray((self.sums(np.where(array, 1, -1)) + self.sizes) // 2)
        if array.size and (array.min() < 0 or array.max() > self.top):
            raise NetworkError(
                f"levels must be in 0..{self.top}, but range from {array.min()} to {array.max()}."
            )
        return np.asarray(self.sums(array) - self.lowest)

    @property
    def lowest(self) -> Ints:
        """The least sum of levels of each neuron, where its match count is 0."""
        return self._constant_sums(np.minimum(self.weights, 0)) * (1 if self.top is None else self.top)

    def _constant_sums(self, kernel: Ints) -> Ints:
        """Sum of a kernel over the taps inside the input, for every neuron."""
        inside = self.window.taps >= 0
        return np.asarray(
            (kernel.reshape(len(kernel), kernel.shape[1], -1).sum(axis=1) @ inside.T).reshape(-1)
        )

    @property
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""
        return self._constant_sums(np.abs(self.weights)) * (1 if self.top is None else self.top)

    @property
    def constant(self) -> Bits:
        """Which neurons never change."""
        return np.asarray((self.tau <= 0) | (self.tau > self.sizes))

    def activity(self, inputs: Any) -> Bits:
        """Which neurons are active in which sample."""
        return np.asarray(self.match_counts(inputs) >= self.tau)

    def row(self, j: int) -> Ints:
        """Weights of neuron j, from 0, over all input values."""
        out, position = divmod(j, len(self.window.taps))
        channels, height, width = self.window.shape
        per_in, group = channels // self.groups, out // (len(self.weights) // self.groups)
        row = np.zeros((channels, height * width), np.int64)
        pixels = self.window.taps[position]
        inside = pixels >= 0
        kernel = self.weights[out].reshape(per_in, -1)[:, inside]
        row[group * per_in : (group + 1) * per_in, pixels[inside]] = kernel
        return row.reshape(-1)

    def column(self, place: int) -> tuple[Ints, Ints]:
        """Which neurons, numbered from 0, read the input value at a place, and with what weight."""
        channel, pixel = divmod(place, self.window.shape[1] * self.window.shape[2])
        group, inner = divmod(channel, self.window.shape[0] // self.groups)
        per_out = len(self.weights) // self.groups
        positions, taps = np.nonzero(self.window.taps == pixel)
        outs = np.arange(group * per_out, (group + 1) * per_out)
        neurons = outs[:, None] * len(self.window.taps) + positions
        return neurons.reshape(-1), self.weights[outs, inner].reshape(per_out, -1)[:, taps].reshape(-1)

    def neuron(self, j: int) -> Neuron:
        """Neuron j, numbered from 1, over all input values;
        over thermometer bits where the input is levels.
        """
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        row = self.row(j - 1)
        return Neuron((row if self.top is None else np.repeat(row, self.top)).tolist(), int(self.tau[j - 1]))

    def rows(self) -> Ints:
        """Weights of all neurons over all input values."""
        _fits(self.outputs, self.inputs)
        return np.array([self.row(j) for j in range(self.outputs)], np.int64).reshape(self.outputs, -1)

    def unrolled(self) -> DenseLayer:
        """The same neurons as a dense layer over bits."""
        _fits(self.outputs, self.inputs * (self.top or 1))
        rows = self.rows()
        marks = {
            name: None if kept is None else np.repeat(kept, len(self.window.taps))
            for name, kept in (("flipped", self.flipped), ("ties", self.ties))
        }
        return DenseLayer(rows if self.top is None else np.repeat(rows, self.top, axis=1), self.tau, **marks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConvLayer):
            return NotImplemented
        same = (self.window, self.groups, self.top) == (other.window, other.groups, other.top)
        return same and np.array_equal(self.weights, other.weights) and np.array_equal(self.tau, other.tau)

    def __hash__(self) -> int:
        return hash((self.window, self.groups, self.top, self.weights.tobytes(), self.tau.tobytes()))


@dataclass(frozen=True, eq=False)
class PoolLayer(Brief):
    """Max pooling: active iff any input of the window is (a possibility measure), or, where `every`,
    iff all are (a necessity). Of levels the largest, or the least.

    Pooling in front of batch norm and sign is the same as behind it: a positive scale gives *any*,
    a negative one *every*.

    Parameters
    ----------
    window
        Input shape and geometry; padding never counts.
    every
        For each channel whether all inputs must be active; False for all channels unless said.
    top
        None when the input is bits; else the largest level of each input value.

    Examples
    --------
    >>> pool = PoolLayer(Window((2, 2, 2), kernel=2, stride=2), every=[False, True])
    >>> pool.activity(np.array([[1, 0, 0, 0, 1, 0, 0, 0]], bool))
    array([[ True, False]])
    """

    window: Window
    every: Bits
    top: int | None = None

    def __init__(self, window: Window, every: Any = False, top: int | None = None) -> None:
        if top is not None and not 0 < top < 1 << 20:
            raise NetworkError(
                f"top={top} must be a small whole number: the largest level of an input value."
            )
        marks = np.array(np.broadcast_to(np.asarray(every, dtype=bool), window.shape[:1]))
        marks.flags.writeable = False
        if (self_empty := (window.taps < 0).all(axis=1)).any():
            raise NetworkError(
                f"the window at position {int(np.argmax(self_empty))} lies in the padding alone."
            )
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "every", marks)
        object.__setattr__(self, "top", top)

    @property
    def inputs(self) -> int:
        """Number of input values."""
        return self.window.inputs

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (self.window.shape[0], *self.window.positions)

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return int(np.prod(self.output_shape))

    def match_counts(self, bits: Any) -> Ints:
        """How many inputs of each window are active."""
        if self.top is not None:
            raise NetworkError("pooling of levels counts no matches: its cut into bits does.")
        array = np.asarray(bits)
        if array.dtype != bool or array.ndim != 2 or array.shape[1] != self.inputs:
            raise NetworkError(
                f"pooling reads bits of shape (samples, {self.inputs}), "
                f"not {array.dtype} of shape {array.shape}."
            )
        channels, height, width = self.window.shape
        maps = array.reshape(len(array), channels, height * width)
        padded = np.concatenate([maps, np.zeros((*maps.shape[:2], 1), bool)], axis=2)
        return np.asarray(padded[:, :, self.window.taps].sum(axis=3).reshape(len(array), self.outputs))

    @property
    def sizes(self) -> Ints:
        """Number of inputs of each window."""
        return np.tile((self.window.taps >= 0).sum(axis=1), self.window.shape[0])

    @property
    def tau(self) -> Ints:
        """1 for any, the size of the window for every; of bits."""
        return np.asarray(np.where(np.repeat(self.every, len(self.window.taps)), self.sizes, 1))

    @property
    def constant(self) -> Bits:
        """No window is constant."""
        return np.zeros(self.outputs, bool)

    def activity(self, inputs: Any) -> npt.NDArray[Any]:
        """Which windows are active; of levels the largest of each window, or the least."""
        if self.top is None:
            return np.asarray(self.match_counts(inputs) >= self.tau)
        array = np.asarray(inputs)
        if array.ndim != 2 or array.shape[1] != self.inputs or array.dtype.kind not in "biu":
            raise NetworkError(f"pooling reads levels of shape (samples, {self.inputs}), not {array.shape}.")
        if array.size and (array.min() < 0 or array.max() > self.top):
            raise NetworkError(
                f"levels must be in 0..{self.top}, but range from {array.min()} to {array.max()}."
            )
        maps = array.astype(np.int64).reshape(len(array), self.window.shape[0], -1)
        inside = self.window.taps >= 0
        values = maps[:, :, self.window.taps]  # a tap on padding reads something that does not count
        largest = np.where(inside, values, 0).max(axis=3)
        least = np.where(inside, values, self.top).min(axis=3)
        pooled = np.where(self.every[:, None], least, largest)
        return np.asarray(pooled.reshape(len(array), self.outputs))

    def cut(self) -> PoolLayer:
        """One pool of bits for each level of each channel, channel by channel."""
        if self.top is None:
            return self
        channels, height, width = self.window.shape
        window = Window(
            (channels * self.top, height, width),
            self.window.kernel,
            self.window.stride,
            self.window.dilation,
            self.window.pads,
        )
        return PoolLayer(window, np.repeat(self.every, self.top))

    def unrolled(self) -> DenseLayer:
        """The same neurons as a dense layer."""
        if self.top is not None:
            return self.cut().unrolled()
        _fits(self.outputs, self.inputs)
        rows = np.empty((self.outputs, self.inputs), np.int64)
        for j in range(self.outputs):
            rows[j] = self._row(j)
        return DenseLayer(rows, self.tau)

    def column(self, place: int) -> tuple[Ints, Ints]:
        """Which neurons, numbered from 0, read the input at a place, each with weight 1."""
        channel, pixel = divmod(place, self.window.shape[1] * self.window.shape[2])
        positions, _ = np.nonzero(self.window.taps == pixel)
        return channel * len(self.window.taps) + positions, np.ones(len(positions), np.int64)

    def _row(self, j: int) -> Ints:
        channel, position = divmod(j, len(self.window.taps))
        row = np.zeros((self.window.shape[0], self.window.shape[1] * self.window.shape[2]), np.int64)
        pixels = self.window.taps[position]
        row[channel, pixels[pixels >= 0]] = 1
        return row.reshape(-1)

    def neuron(self, j: int) -> Neuron:
        """Neuron j, numbered from 1."""
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        if self.top is not None:
            raise NetworkError(
                "pooling of levels takes the largest or the least, it counts nothing: its cut has neurons."
            )
        return Neuron(self._row(j - 1).tolist(), int(self.tau[j - 1]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PoolLayer):
            return NotImplemented
        return (self.window, self.top) == (other.window, other.top) and np.array_equal(
            self.every, other.every
        )

    def __hash__(self) -> int:
        return hash((self.window, self.top, self.every.tobytes()))


def _fits(outputs: int, inputs: int) -> None:
    instead = "Ask for single neurons instead: layer.neuron(j)."
    if outputs * inputs > UNROLL_LIMIT:
        raise TooLargeError(f"unrolling would give {outputs:,} neurons over {inputs:,} inputs. {instead}")
    make_sure(8 * outputs * inputs, f"unrolling to {outputs:,} neurons over {inputs:,} inputs", instead)
