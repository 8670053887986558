"""A first layer over real numbers, which are kept unchanged: no cuts, no levels (docs/theory.md 3.6).

A raw float is read as an exact rational, and a neuron is active iff its exact weighted sum reaches theta.
Floats decide only if their rounding error, which is bounded, cannot matter. Otherwise integers decide.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.capacity.arguments import exact_number, nearest_float
from sugenet.errors import CapacityError, NetworkError
from sugenet.nn.arrays import Bits, Ints, integer_array
from sugenet.nn.codings import Refused
from sugenet.nn.conv import ConvLayer
from sugenet.nn.layers import WIDEST, Layer, LevelLayer
from sugenet.reprs import set_fields

__all__ = ["Placed", "RealLayer", "Theta"]

Theta: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""Thresholds on sums of real numbers, each between two exact numbers."""

_ROUNDING = 2.0**-52  # twice the rounding error of one float operation
_TINY = 2.0**-1000  # above any loss by underflow
_VALUES = 1 << 23  # taps gathered at a time, to bound memory
_WIDTH = 1 << 12  # levels of the widest side of a box


@dataclass(frozen=True, eq=False)
class Placed:
    """A real layer over one box, as a layer over levels. The raw value of level z of a feature is
    ``low + unit * z``. Real levels have the thresholds `theta`, integer levels the tau of the layer.
    """

    layer: LevelLayer | ConvLayer
    theta: Theta
    low: tuple[int, ...]
    unit: int

    def levels(self, values: Sequence[Fraction]) -> list[Fraction]:
        """Return raw values as real levels."""
        return [(value - low) / self.unit for value, low in zip(values, self.low, strict=True)]

    def raw(self, levels: Sequence[Fraction]) -> list[Fraction]:
        """Return real levels as raw values."""
        return [low + self.unit * level for level, low in zip(levels, self.low, strict=True)]


def _refused(what: str) -> Any:
    return Refused(
        f"a layer over real numbers has no {what}: they are not literals. Ask about boxes of real inputs, "
        "or import the network with inputs=Integers(...)."
    )


@dataclass(frozen=True, eq=False, init=False)
class RealLayer(Layer):
    """Neurons over real numbers: active iff the weighted sum of the raw values is at least theta.

    Parameters
    ----------
    weights : array of int
        One row per neuron, or with a window a kernel of shape (out channels, in channels / groups, height,
        width). Sizes must be below 2^56.
    theta : sequence of numbers or pairs
        One number per neuron, or a pair of bounds: active from the second on, inactive below the first.
        Between the two, only rounding in the source could decide; the neuron is active from the middle on.
    window : Window, default: None
        Geometry of a convolution; taps on padding add nothing. None: the layer is dense.
    groups : int, default: 1
        Number of channel groups of a convolution.

    Raises
    ------
    NetworkError
        If shapes do not fit, a weight is not an integer or too large, or a theta is not a number or a pair
        of rising bounds.

    Examples
    --------
    >>> layer = RealLayer([[1, -3]], theta=[Fraction(1, 10)])
    >>> layer.activity([[0.1, 0.0], [0.7, 0.2]]).tolist()  # the float 0.1 is a little above 1/10
    [[True], [False]]

    See Also
    --------
    Encoder.of_reals : the encoder for such a layer.
    LevelLayer : neurons over integer features.
    """

    fingerprint_name = "RealLayer"

    weights: Ints
    theta: Theta
    window: Window | None = None
    groups: int = 1
    kind = "real"

    def __init__(self, weights: Any, theta: Any, window: Window | None = None, groups: int = 1) -> None:
        rows = integer_array(weights, 2 if window is None else 4, "weights")
        largest = max(int(rows.max(initial=0)), -int(rows.min(initial=0)))
        if largest >= WIDEST:
            raise NetworkError(f"a weight of size {largest} is too large: weights must stay below 2^56.")
        if window is not None:
            ConvLayer(np.sign(rows), np.zeros(len(rows), np.int64), window, groups)  # checks the shapes
        set_fields(self, weights=rows, window=window, groups=groups, theta=tuple(_exact_pairs(theta)))
        if len(self.theta) != self.outputs:
            raise NetworkError(f"{len(self.theta)} values of theta, but there are {self.outputs} neurons.")

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[1]) if self.window is None else self.window.inputs

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.weights) * (1 if self.window is None else len(self.window.taps))

    @property
    def constant(self) -> Bits:
        """Which neurons are constant: those that read no input."""
        return np.array([not weights.any() for _, weights in self.reads()], bool)

    def reads(self) -> Iterator[tuple[npt.NDArray[np.intp], Ints]]:
        """Yield the inputs that each neuron reads, and their weights."""
        if self.window is None:
            every = np.arange(self.inputs)
            yield from ((every, row) for row in self.weights)
            return
        channels, height, width = self.window.shape
        per_in, per_out = channels // self.groups, len(self.weights) // self.groups
        for out, kernel in enumerate(self.weights.reshape(len(self.weights), per_in, -1)):
            first = out // per_out * per_in
            for pixels in self.window.taps:
                inside = pixels >= 0
                indices = np.arange(first, first + per_in)[:, None] * (height * width) + pixels[inside]
                yield indices.reshape(-1), kernel[:, inside].reshape(-1)

    def sums(self, x: Sequence[Any]) -> list[Fraction]:
        """Return the exact weighted sums of one raw sample."""
        totals, unit = self.sums_over(x)
        return [Fraction(total, unit) for total in totals]

    def sums_over(self, x: Sequence[Any]) -> tuple[list[int], int]:
        """Return the exact weighted sums of one raw sample, over a common denominator."""
        integers, unit = _over_one_unit(x)
        return self._integer_sums(integers, self.weights), unit

    def activity(self, inputs: Any) -> Bits:
        """Return which neurons are active in which sample; floats are read as exact numbers."""
        array = np.asarray(inputs)
        if array.ndim != 2 or array.shape[1] != self.inputs:
            raise NetworkError(f"the layer reads samples of {self.inputs} values, not shape {array.shape}.")
        if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            return self._by_floats(array.astype(np.float64))
        return np.array([self._exactly(row, range(self.outputs)) for row in array.tolist()], bool).reshape(
            len(array), self.outputs
        )

    def _exactly(self, x: Sequence[Any], neurons: Sequence[int]) -> list[bool]:
        """Return the activity of some neurons, computed in integers."""
        integers, unit = _over_one_unit(x)
        return [
            _sum(integers, *self._reads[j]) * self.edges[j].denominator >= self.edges[j].numerator * unit
            for j in neurons
        ]

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """Sum from which each neuron is active."""
        known = {ends: (ends[0] + ends[1]) / 2 for ends in set(self.theta)}
        return tuple(known[ends] for ends in self.theta)

    @cached_property
    def _reads(self) -> list[tuple[npt.NDArray[np.intp], Ints]]:
        return list(self.reads())

    def row(self, j: int) -> Ints:
        """Return the weights of neuron j, from 0, over all inputs."""
        row = np.zeros(self.inputs, np.int64)
        row[self._reads[j][0]] = self._reads[j][1]
        return row

    def _by_floats(self, values: npt.NDArray[np.float64]) -> Bits:
        """Return the activity by a float product if its rounding cannot matter, otherwise exactly.

        A float sum of n products is off by at most about n roundings of the sum of their absolute values. The
        bound used is twice as large, plus a margin for the rounded weights, theta and underflow.
        """
        active = np.empty((len(values), self.outputs), bool)
        edge = self._edges
        step = max(1, _VALUES // max(1, self.inputs if self.window is None else self._taps))
        for start in range(0, len(values), step):
            part = values[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                sums, sizes = self._sums(part, self._weights), self._sums(np.abs(part), self._sizes)
                off = (self._terms + 8) * _ROUNDING * (sizes + np.abs(edge)) + _TINY
                near = ~(np.abs(sums - edge) > off)  # also if a value is infinite
            active[start : start + step] = sums >= edge
            for k in np.flatnonzero(near.any(axis=1)).tolist():
                neurons = np.flatnonzero(near[k]).tolist()
                active[start + k, neurons] = self._exactly(part[k].tolist(), neurons)
        return active

    @property
    def _terms(self) -> int:
        return int(np.prod(self.weights.shape[1:]))

    @property
    def _taps(self) -> int:
        return 1 if self.window is None else self.window.taps.size * (self.window.shape[0] // self.groups)

    @cached_property
    def _edges(self) -> npt.NDArray[np.float64]:
        return np.array([nearest_float(value) for value in self.edges])

    @cached_property
    def _weights(self) -> npt.NDArray[np.float64]:
        return self.weights.reshape(len(self.weights), -1).astype(np.float64)

    @cached_property
    def _sizes(self) -> npt.NDArray[np.float64]:
        return np.abs(self._weights)

    def _integer_sums(self, values: Sequence[int], weights: Ints) -> list[int]:
        """Return the sums of one row of integers of any size, with other weights of the same shape."""
        max_sum = max(map(abs, values), default=0) * int(np.abs(weights).max(initial=0)) * max(1, self._terms)
        kind: Any = np.int64 if max_sum < 1 << 62 else object
        rows = weights.reshape(len(weights), -1).astype(kind)
        return list(self._sums(np.array([values], kind), rows)[0].tolist())

    def _sums(self, values: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the weighted sums of every row of values, floats or integers."""
        if self.window is None:
            return np.asarray(values @ weights.T)
        return self.window.sums(values, weights, self.groups).reshape(len(values), -1)

    def placed(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Placed:
        """Return the same neurons over a box, as a layer over levels with thresholds on real values. Level 0
        of a feature is an integer at its lower end or less than 1 below.

        Weights that are too long for sums over the box are rounded, and the thresholds are moved apart by the
        possible error. Every property proved for such a layer holds for this one.
        """
        low = tuple(floor(value) for value in lower)
        width = max((ceil(high) - start for start, high in zip(low, upper, strict=True)), default=1)
        unit = 1 << max(0, (-(-width // _WIDTH) - 1).bit_length())
        tops = [max(1, ceil(Fraction(high - start) / unit)) for start, high in zip(low, upper, strict=True)]
        if self.window is not None:
            tops = [max(tops, default=1)] * len(tops)
        max_sum = max(self._integer_sums(tops, np.abs(self.weights)), default=0)
        coarse = 1 << max(0, max_sum.bit_length() - _SUMS)
        rounded = np.asarray((self.weights + coarse // 2) // coarse)
        bases = self._integer_sums(low, self.weights)
        offs = self._integer_sums(tops, np.abs(self.weights - rounded * coarse))
        min_sums = self._integer_sums(tops, np.minimum(rounded, 0))
        sizes = self._integer_sums(tops, np.abs(rounded))
        theta, taus = [], []
        for j, (start, end) in enumerate(self.theta):
            off = offs[j] * unit
            first = (start - bases[j] - off) / (unit * coarse)
            last = first if start == end and not off else (end - bases[j] + off) / (unit * coarse)
            theta.append((first, last))
            taus.append(min(max(ceil(last) - min_sums[j], 0), sizes[j] + 1))
        layer: LevelLayer | ConvLayer
        if self.window is None:
            layer = LevelLayer(rounded, taus, tops)
        else:
            tau = np.array(taus, np.int64).reshape(len(self.weights), *self.window.positions)
            layer = ConvLayer(rounded, tau, self.window, self.groups, max(tops, default=1))
        return Placed(layer, tuple(theta), low, unit)

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        theta = [[str(end) for end in ends] for ends in self.theta]
        return [repr(self.window), json.dumps(self.groups), self.weights, json.dumps(theta)]

    # -- attributes of neurons over bits that this layer does not have ---------------------------------------

    tau = _refused("thresholds on match counts")
    sizes = _refused("largest match counts")
    lowest = match_counts = _refused("match counts")
    column = _refused("levels")
    neuron = _refused("literals")
    dense = unrolled = Refused(
        "the first layer reads real numbers as they are: it has no neurons over bits to cut, unroll or "
        "simplify.",
        NetworkError,
    )


_SUMS = 44
"""Bits of sums over a box; the rest of 58 is for its grid."""


def _exact_pairs(theta: Any) -> list[tuple[Fraction, Fraction]]:
    """Return thresholds on sums of real values, each one number or (low, high), as pairs of exact numbers."""
    known: dict[Any, tuple[Fraction, Fraction]] = {}
    pairs = []
    for j, threshold in enumerate(theta):
        key = tuple(threshold) if isinstance(threshold, list | tuple) else (threshold, threshold)
        if key not in known:
            try:
                low, high = (Fraction(exact_number(end, f"theta of neuron {j + 1}")) for end in key)
            except (CapacityError, ValueError) as error:
                raise NetworkError(
                    f"theta of neuron {j + 1} is {threshold!r}, but a number or a pair of them is needed."
                ) from error
            if low > high:
                raise NetworkError(f"theta of neuron {j + 1} lies between {low} and {high}, which is empty.")
            known[key] = low, high
        pairs.append(known[key])
    return pairs


def _sum(values: Sequence[int], indices: npt.NDArray[np.intp], weights: Ints) -> int:
    """Return a weighted sum of integers of any size."""
    return sum(values[i] * w for i, w in zip(indices.tolist(), weights.tolist(), strict=True) if w)


def _over_one_unit(x: Sequence[Any]) -> tuple[list[int], int]:
    """Return exact numbers over their common denominator."""
    exact = [Fraction(value) for value in x]
    unit = lcm(*(value.denominator for value in exact))
    return [value.numerator * (unit // value.denominator) for value in exact], unit
