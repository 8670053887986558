"""A first layer over real numbers, which are kept as they are: no cuts, no levels (docs/theory.md 3.6).

A raw float is the rational number that it is, and a neuron is active iff its weighted sum of them reaches
theta, exactly. Floats decide only where their own rounding, which is bounded, cannot matter; the rest is
worked out in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, inf, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints, integer_array
from sugenet.bnn.conv import ConvLayer
from sugenet.bnn.geometry import Window
from sugenet.bnn.layers import WIDEST, LevelLayer, Theta, exact_pairs
from sugenet.bnn.neuron import Neuron
from sugenet.brief import Brief
from sugenet.errors import NetworkError, QuestionError

__all__ = ["Placed", "RealLayer"]

_ROUNDING = 2.0**-52  # twice that of one float operation
_TINY = 2.0**-1000  # above what underflow can lose
_VALUES = 1 << 23  # gathered taps at a time, to bound memory
_WIDTH = 1 << 12  # levels of the widest side of a box


@dataclass(frozen=True, eq=False)
class Placed:
    """A real layer over one box, as a layer over levels: the raw value of level z of a feature
    is ``low + unit * z``.
    """

    layer: LevelLayer | ConvLayer
    low: tuple[int, ...]
    unit: int

    def levels(self, values: Sequence[Fraction]) -> list[Fraction]:
        """Raw values as real levels."""
        return [(value - low) / self.unit for value, low in zip(values, self.low, strict=True)]

    def raw(self, levels: Sequence[Fraction]) -> list[Fraction]:
        """Real levels as raw values."""
        return [low + self.unit * level for level, low in zip(levels, self.low, strict=True)]


@dataclass(frozen=True, eq=False)
class RealLayer(Brief):
    """Neurons over real numbers: active iff the weighted sum of the raw values is at least theta.

    Parameters
    ----------
    weights
        Whole numbers below 2^56: one row a neuron; or a kernel of shape (out channels, in channels / groups,
        height, width) where there is a window.
    theta
        One number a neuron, or a pair that it lies between: active from the second on, not below the first.
        Between the two, where only rounding in the source could decide, it counts as not active.
    window, groups
        Of a convolution, as in `ConvLayer`; taps on padding add nothing.

    Examples
    --------
    >>> layer = RealLayer([[1, -3]], theta=[Fraction(1, 10)])
    >>> layer.activity([[0.1, 0.0], [0.7, 0.2]]).tolist()  # the float 0.1 is a little above 1/10
    [[True], [False]]
    """

    weights: Ints
    theta: Theta
    window: Window | None = None
    groups: int = 1

    def __init__(self, weights: Any, theta: Any, window: Window | None = None, groups: int = 1) -> None:
        rows = integer_array(weights, 2 if window is None else 4, "weights")
        largest = max(int(rows.max(initial=0)), -int(rows.min(initial=0)))
        if largest >= WIDEST:
            raise NetworkError(f"a weight of size {largest} is too large: weights must stay below 2^56.")
        if window is not None:
            ConvLayer(np.sign(rows), np.zeros(len(rows), np.int64), window, groups)  # refuses other shapes
        object.__setattr__(self, "weights", rows)
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "groups", groups)
        ends = exact_pairs(theta)
        if len(ends) != self.outputs:
            raise NetworkError(f"{len(ends)} values of theta, but there are {self.outputs} neurons.")
        object.__setattr__(self, "theta", tuple(ends))

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
        """Which neurons never change: those that read nothing."""
        return np.array([not weights.any() for _, weights in self.reads()], bool)

    def reads(self) -> Iterator[tuple[npt.NDArray[np.intp], Ints]]:
        """Of every neuron the inputs that it reads, and their weights."""
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
                places = np.arange(first, first + per_in)[:, None] * (height * width) + pixels[inside]
                yield places.reshape(-1), kernel[:, inside].reshape(-1)

    def sums(self, x: Sequence[Any]) -> list[Fraction]:
        """The exact weighted sums of one raw sample."""
        whole, unit = _over_one_unit(x)
        return [Fraction(_sum(whole, places, weights), unit) for places, weights in self.reads()]

    def activity(self, inputs: Any) -> Bits:
        """Which neurons are active in which sample; floats are the exact numbers that they are."""
        array = np.asarray(inputs)
        if array.ndim != 2 or array.shape[1] != self.inputs:
            raise NetworkError(f"the layer reads samples of {self.inputs} values, not shape {array.shape}.")
        if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            return self._by_floats(array.astype(np.float64))
        return np.array([self._exactly(row, range(self.outputs)) for row in array.tolist()], bool).reshape(
            len(array), self.outputs
        )

    def _exactly(self, x: Sequence[Any], neurons: Sequence[int]) -> list[bool]:
        """Activity of some neurons in whole numbers."""
        whole, unit = _over_one_unit(x)
        return [
            _sum(whole, *self.every[j]) * self.theta[j][1].denominator >= self.theta[j][1].numerator * unit
            for j in neurons
        ]

    @cached_property
    def every(self) -> list[tuple[npt.NDArray[np.intp], Ints]]:
        """What `reads` gives, kept."""
        return list(self.reads())

    def _by_floats(self, values: npt.NDArray[np.float64]) -> Bits:
        """Activity where the rounding of a float product cannot matter, the rest exactly.

        A float sum of n products is off by at most about n roundings of the sum of their sizes; it is taken
        twice as large, with something for the rounded weights, theta and underflow.
        """
        found = np.empty((len(values), self.outputs), bool)
        edge = np.array([_float(high) for _, high in self.theta])
        step = max(1, _VALUES // max(1, self.inputs if self.window is None else self._taps))
        for start in range(0, len(values), step):
            part = values[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                sums, sizes = self._floats(part, self._weights), self._floats(np.abs(part), self._sizes)
                off = (self._terms + 8) * _ROUNDING * (sizes + np.abs(edge)) + _TINY
                near = ~(np.abs(sums - edge) > off)  # also where something is infinite
            found[start : start + step] = sums >= edge
            for k in np.flatnonzero(near.any(axis=1)).tolist():
                neurons = np.flatnonzero(near[k]).tolist()
                found[start + k, neurons] = self._exactly(part[k].tolist(), neurons)
        return found

    @property
    def _terms(self) -> int:
        return int(np.prod(self.weights.shape[1:]))

    @property
    def _taps(self) -> int:
        return 1 if self.window is None else self.window.taps.size * (self.window.shape[0] // self.groups)

    @cached_property
    def _weights(self) -> npt.NDArray[np.float64]:
        return self.weights.reshape(len(self.weights), -1).astype(np.float64)

    @cached_property
    def _sizes(self) -> npt.NDArray[np.float64]:
        return np.abs(self._weights)

    def _floats(
        self, values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        if self.window is None:
            return np.asarray(values @ weights.T)
        channels, height, width = self.window.shape
        maps = np.zeros((len(values), channels, height * width + 1))  # tap -1 reads the zero behind
        maps[:, :, :-1] = values.reshape(len(values), channels, height * width)
        per_in, per_out = channels // self.groups, len(weights) // self.groups
        parts = []
        for group in range(self.groups):
            seen = maps[:, group * per_in : (group + 1) * per_in][:, :, self.window.taps]
            rows = seen.transpose(0, 2, 1, 3).reshape(len(values), len(self.window.taps), -1)
            parts.append(rows @ weights[group * per_out : (group + 1) * per_out].T)
        return np.concatenate(parts, axis=2).transpose(0, 2, 1).reshape(len(values), -1)

    def placed(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Placed:
        """The same neurons over a box, as a layer over levels with thresholds on real values: level 0 of a
        feature is a whole number at its lower end or less than 1 below.

        Weights that are too long for sums over the box are rounded, and the thresholds taken as much further
        apart as that can matter: what such a layer shows is true of this one.
        """
        low = tuple(floor(value) for value in lower)
        width = max((ceil(high) - start for start, high in zip(low, upper, strict=True)), default=1)
        unit = 1 << max(0, (-(-width // _WIDTH) - 1).bit_length())
        tops = [max(1, ceil(Fraction(high - start) / unit)) for start, high in zip(low, upper, strict=True)]
        if self.window is not None:
            tops = [max(tops, default=1)] * len(tops)
        most = max((_sum(tops, places, np.abs(weights)) for places, weights in self.every), default=0)
        coarse = 1 << max(0, most.bit_length() - _SUMS)
        rounded = np.asarray((self.weights + coarse // 2) // coarse)
        theta, taus = [], []
        for (places, weights), (start, end) in zip(self.every, self.theta, strict=True):
            near = (weights + coarse // 2) // coarse
            off = _sum(tops, places, np.abs(weights - near * coarse)) * unit if coarse > 1 else 0
            base = _sum(low, places, weights)
            ends = tuple(Fraction(e) / (unit * coarse) for e in (start - base - off, end - base + off))
            least = _sum(tops, places, np.minimum(near, 0))
            size = _sum(tops, places, np.abs(near))
            theta.append(ends)
            taus.append(min(max(ceil(ends[1]) - least, 0), size + 1))
        if self.window is None:
            return Placed(LevelLayer(rounded, taus, tops, theta=theta), low, unit)
        tau = np.array(taus, np.int64).reshape(len(self.weights), *self.window.positions)
        top = max(tops, default=1)
        return Placed(ConvLayer(rounded, tau, self.window, self.groups, top, theta=theta), low, unit)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RealLayer):
            return NotImplemented
        same = (self.theta, self.window, self.groups) == (other.theta, other.window, other.groups)
        return same and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.weights.tobytes(), self.theta, self.window, self.groups))

    # -- what neurons over bits have, and these have not -----------------------------------------------------

    def _refused(self, what: str) -> QuestionError:
        return QuestionError(
            f"a layer over real numbers has no {what}: they are no literals. Ask about boxes of real inputs, "
            "or import the network with inputs=Integers(...)."
        )

    @property
    def tau(self) -> Ints:
        """Refused: there are thresholds on sums alone (`theta`)."""
        raise self._refused("thresholds on match counts")

    @property
    def sizes(self) -> Ints:
        """Refused: sums have no largest."""
        raise self._refused("largest match counts")

    def match_counts(self, inputs: Any) -> Ints:  # noqa: ARG002
        """Refused: there are sums alone (`sums`)."""
        raise self._refused("match counts")

    def column(self, place: int) -> tuple[Ints, Ints]:  # noqa: ARG002
        """Refused: a feature has no levels."""
        raise self._refused("levels")

    def neuron(self, j: int) -> Neuron:  # noqa: ARG002
        """Refused: a neuron over real numbers has no literals."""
        raise self._refused("literals")


_SUMS = 44
"""Bits of sums over a box: what is left to 58 is for its grid."""


def _sum(values: Sequence[int], places: npt.NDArray[np.intp], weights: Ints) -> int:
    """A weighted sum of whole numbers of any size."""
    return sum(values[i] * w for i, w in zip(places.tolist(), weights.tolist(), strict=True) if w)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _over_one_unit(x: Sequence[Any]) -> tuple[list[int], int]:
    """Exact numbers over their common denominator."""
    exact = [Fraction(value) for value in x]
    unit = lcm(*(value.denominator for value in exact))
    return [value.numerator * (unit // value.denominator) for value in exact], unit
