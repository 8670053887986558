"""Layers: neurons over one input space (paper section 3.3), evaluated by definition in exact integers.

A neuron gives the number of its thresholds that its match count reaches. With one threshold it is the binary
neuron of the paper; with several it gives levels (docs/theory.md 3.4). An input with levels 0..t represents
its t thermometer bits, all with the weight of the input. So a uint8 pixel is 255 bits that are never written
out (docs/theory.md 3.1). A bit is the case t = 1.

`Layer` is the common interface. Dense layers are in this module, convolutions and pooling in
`sugenet.nn.conv`. Each exists in up to three forms: over bits, over levels, and with several thresholds per
neuron.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.errors import NetworkError
from sugenet.nn.arrays import Bits, ByContents, Ints, integer_array
from sugenet.nn.neuron import NEVER, Neuron, QuantizedNeuron
from sugenet.reprs import ShortRepr, set_fields

__all__ = [
    "SUM_BITS",
    "WIDEST",
    "DenseLayer",
    "Layer",
    "LevelLayer",
    "QuantizedLayer",
    "check_size",
    "check_tau",
    "checked_levels",
    "checked_marks",
    "checked_steps",
    "checked_tops",
    "dense_layer",
    "narrowed",
]

SUM_BITS = 31
"""Maximum bits of the match counts of hidden neurons."""
_GLANCE = 8  # weights that distinguish most rows that differ
_BITS = 1 << SUM_BITS
"""Upper limit of match counts over bits."""
WIDEST = 1 << 56
"""Upper limit of match counts over levels. It is large because raw inputs are rescaled by large weights,
and sums of several match counts still fit into 64 bits.
"""
_FAR = 1 << 62


class Layer(ByContents, ShortRepr, ABC):
    """Neurons over the same inputs, which are bits or levels; each gives a bit or a level.

    This is the common interface of all layers. An attribute that a kind of layer does not have is None, or a
    neutral value.

    Raises
    ------
    NetworkError
        If samples do not fit the inputs, or a neuron does not exist.

    Examples
    --------
    >>> layer = DenseLayer([[+1, +1, -1]], tau=[2])
    >>> isinstance(layer, Layer), layer.kind, layer.inputs, layer.outputs
    (True, 'dense', 3, 1)
    >>> print(layer.neuron(1))
    active iff at least 2 of 3 literals hold

    See Also
    --------
    DenseLayer : neurons over bits.
    ConvLayer : convolution.
    RealLayer : first layer over real numbers.
    """

    kind: ClassVar[str]
    """``dense``, ``conv``, ``pool`` or ``real``."""
    fingerprint_name: ClassVar[str]
    """Class name in fingerprints; it stays if the class is renamed."""
    weights: Ints
    """One row per neuron; for maps, one kernel per output channel. For pooling, all are 1."""
    tau: Ints
    """Thresholds on the match count: one number per neuron of a binary layer, else one row per neuron."""
    is_binary: bool = True
    """Whether the layer gives bits."""
    steps: Ints
    """For a layer that gives levels, the thresholds on plain sums for each row of weights; `NEVER` for a
    threshold that is never reached.
    """
    tops: Ints | None = None
    """Largest level of each input; None if the inputs are bits."""
    window: Window | None = None
    """Geometry of a convolution or of pooling."""
    groups: int = 1
    every: Bits | None = None
    """For pooling, whether all inputs of a window count, per channel."""
    flipped: Bits | None = None
    """Neurons whose weights a negative batch-norm scale reversed; None if unknown."""
    ties: Bits | None = None
    """Neurons for which a sum of exactly zero can occur; None if unknown."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Number of inputs."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of neurons."""

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """Largest match count of each neuron."""

    @property
    @abstractmethod
    def lowest(self) -> Ints:
        """Smallest sum of each neuron, at match count 0."""

    @abstractmethod
    def sums(self, values: Any) -> Any:
        """Return plain weighted sums of integers, one row per sample."""

    @abstractmethod
    def row(self, j: int) -> Ints:
        """Return the weights of neuron j, from 0, over all inputs."""

    @abstractmethod
    def column(self, index: int) -> tuple[Ints, Ints]:
        """Return the neurons, numbered from 0, that read the input at an index, and their weights."""

    @abstractmethod
    def dense(self) -> Layer:
        """Return the same neurons as a dense layer over the same inputs."""

    # -- derived from these ----------------------------------------------------------------------------------

    @property
    def height(self) -> int:
        """Largest level that a neuron can give: its number of thresholds."""
        return 1 if self.is_binary else int(self.tau.shape[1])

    @property
    def max_level(self) -> int | None:
        """Largest level that the layer gives; None if it gives bits."""
        return None if self.is_binary else self.height

    @property
    def output_shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of the output of maps; None for dense layers."""
        return None

    @property
    def input_tops(self) -> Ints:
        """Largest level of each input: 1 for a bit."""
        return np.ones(self.inputs, np.int64) if self.tops is None else self.tops

    @property
    def thresholds(self) -> Ints:
        """Thresholds on the match count: one row per neuron, one column per level above 0."""
        return self.tau[:, None] if self.is_binary else self.tau

    @property
    def sum_thresholds(self) -> Ints:
        """Thresholds on the plain sums, in the same shape; `NEVER` for one that is never reached."""
        if self.is_binary:  # clipping tau changes no decision and avoids overflow
            return (np.clip(self.tau, 0, self.sizes + 1) + self.lowest)[:, None]
        return np.where(self.tau == NEVER, NEVER, self.tau + self.lowest[:, None])

    @property
    def constant(self) -> Bits:
        """Which neurons have a constant output."""
        tau = self.thresholds
        return np.asarray(((tau <= 0) | (tau > self.sizes[:, None])).all(axis=1))

    @property
    def marks(self) -> dict[str, Any]:
        """Marks that folding left for each neuron."""
        return {"flipped": self.flipped, "ties": self.ties}

    def match_counts(self, inputs: Any) -> Ints:
        """Return M of every sample (rows) and neuron (columns): the sum minus its smallest value."""
        return np.asarray(self.sums(self._checked(inputs)) - self.lowest)

    def activity(self, inputs: Any) -> npt.NDArray[Any]:
        """Return which neurons are active in which sample, or the level of each."""
        counts = self.match_counts(inputs)
        return np.asarray(counts >= self.tau) if self.is_binary else _climbed(counts, self.tau)

    def _checked(self, inputs: Any) -> npt.NDArray[Any]:
        return _bits(inputs, self.inputs) if self.tops is None else checked_levels(inputs, self.tops)

    def rows(self) -> Ints:
        """Return the weights of all neurons over all inputs."""
        return np.array([self.row(j) for j in range(self.outputs)], np.int64).reshape(
            self.outputs, self.inputs
        )

    def neuron(self, j: int) -> Neuron | QuantizedNeuron:
        """Return neuron j, numbered from 1 like the literals of the next layer.

        A binary neuron over levels is returned as one over their thermometer bits.
        """
        row, taus = self.row(self.index_of(j)), self.thresholds_of(j - 1)
        if not self.is_binary:
            return QuantizedNeuron(row.tolist(), taus, self.input_tops.tolist())
        return Neuron((row if self.tops is None else np.repeat(row, self.tops)).tolist(), taus[0])

    def index_of(self, j: int) -> int:
        """Return the index from 0 of neuron j, numbered from 1."""
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        return j - 1

    def thresholds_of(self, j: int) -> list[int]:
        """Return the thresholds of neuron j, from 0."""
        return [int(tau) for tau in np.atleast_1d(self.tau[j])]

    def expanded(self) -> Layer:
        """Return one binary neuron per threshold over the same inputs; the result `is_binary`."""
        return self

    def unrolled(self) -> DenseLayer:
        """Return the same neurons over bits.

        Levels become thermometer bits, input by input, lowest level first. Layers with several thresholds
        must be cut first.
        """
        assert self.is_binary
        rows = self.rows()
        return DenseLayer(
            rows if self.tops is None else np.repeat(rows, self.tops, axis=1), self.tau, **self.marks
        )

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes, for fingerprints; the order counts.

        For a binary layer over levels the tops are omitted, because the encoder states them.
        """
        return [self.weights, self.tau]


class _DenseForm(Layer):
    """Base of dense layers: one row of weights per neuron."""

    kind = "dense"
    _limit: ClassVar[int] = _BITS
    """Upper limit of match counts."""

    def _set(self, weights: Any) -> None:
        rows = integer_array(weights, 2, "weights")
        check_size(rows, limit=self._limit)
        set_fields(self, weights=rows)

    def _set_tau(self, tau: Any, flipped: Any, ties: Any) -> None:
        """Set one threshold per neuron."""
        taus = integer_array(tau, 1, "tau")
        if len(self.weights) != len(taus):
            raise NetworkError(
                f"{len(self.weights)} rows of weights but {len(taus)} values of tau. "
                "Every neuron has one of each."
            )
        check_tau(taus)
        set_fields(self, tau=taus, **checked_marks(taus.shape, "neurons", flipped=flipped, ties=ties))

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.weights)

    def row(self, j: int) -> Ints:
        """Return the weights of neuron j, from 0."""
        return np.asarray(self.weights[j])

    def rows(self) -> Ints:
        """Return the weights of all neurons."""
        return self.weights

    def column(self, index: int) -> tuple[Ints, Ints]:
        """Return the neurons, numbered from 0, that read the input at an index, and their weights: all
        neurons, some with weight 0.
        """
        return np.arange(self.outputs), self.weights[:, index]

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """Rows of weights without those that repeat the row before (as the steps of one neuron do), and for
        each neuron the index of its row.
        """
        repeats = (self.weights[1:, :_GLANCE] == self.weights[:-1, :_GLANCE]).all(axis=1)
        for j in np.flatnonzero(repeats).tolist():
            repeats[j] = np.array_equal(self.weights[j], self.weights[j + 1])
        firsts = np.append(True, ~repeats)[: self.outputs]
        return (self.weights if firsts.all() else self.weights[firsts]), np.cumsum(firsts) - 1

    @cached_property
    def columns(self) -> Ints:
        """Rows of `runs`, transposed: one row per input."""
        return np.ascontiguousarray(self.runs[0].T)

    @cached_property
    def run_lowest(self) -> Ints:
        """Smallest sum of each row of `runs`: that of its negative weights."""
        return np.asarray(np.minimum(self.runs[0], 0) @ self.input_tops)

    @cached_property
    def lowest(self) -> Ints:
        """Smallest sum of each neuron, at match count 0."""
        return np.asarray(self.run_lowest[self.runs[1]])

    @cached_property
    def sizes(self) -> Ints:
        """Largest match count of each neuron."""
        return np.asarray(np.abs(self.weights) @ self.input_tops)

    def sums(self, values: Any) -> Ints:
        """Return plain weighted sums of levels or bits, one row per sample."""
        rows, owner = self.runs
        return np.asarray(np.asarray(values, np.int64) @ rows.T)[:, owner]

    def dense(self) -> Layer:
        """Return the layer itself."""
        return self


@dataclass(frozen=True, eq=False, init=False)
class DenseLayer(_DenseForm):
    """Neurons over the same bits: neuron j is active iff its match count reaches ``tau[j]``.

    Parameters
    ----------
    weights : array of int
        One row per neuron, one column per input: -1, 0 or +1 in a BNN.
    tau : array of int
        One threshold per neuron.
    flipped : array of bool, default: None
        Neurons whose weights folding reversed, for `summary`. No effect on results.
    ties : array of bool, default: None
        Neurons that can have a sum of exactly zero, for `summary`. No effect on results.

    Raises
    ------
    NetworkError
        If shapes do not fit, a number is not an integer, or match counts could reach 2^31.

    Examples
    --------
    >>> layer = DenseLayer([[+1, +1, -1, +1], [-1, 0, 0, +1]], tau=[2, 1])
    >>> layer.match_counts([[True, False, True, False]])
    array([[1, 0]])
    >>> layer.activity([[True, True, True, False]])
    array([[ True, False]])

    See Also
    --------
    fold : makes one from weights and batch norm.
    LevelLayer : neurons over levels.
    QuantizedLayer : neurons that give levels.
    """

    fingerprint_name = "DenseLayer"

    weights: Ints
    tau: Ints
    flipped: Bits | None = field(default=None, compare=False)
    ties: Bits | None = field(default=None, compare=False)

    def __init__(self, weights: Any, tau: Any, *, flipped: Any = None, ties: Any = None) -> None:
        self._set(weights)
        self._set_tau(tau, flipped, ties)

    def unrolled(self) -> DenseLayer:
        """Return the layer itself."""
        return self


@dataclass(frozen=True, eq=False, init=False)
class LevelLayer(_DenseForm):
    """Neurons over integer features: feature i has levels 0..tops[i]; each level step is one literal with the
    weight of the feature.

    A feature adds to the match count its level if the weight is positive, and top minus level if it is
    negative. Each is multiplied by the size of the weight.

    Parameters
    ----------
    weights : array of int
        One row per neuron, one column per feature.
    tau : array of int
        One threshold per neuron.
    tops : array of int
        Largest level of each feature.
    flipped : array of bool, default: None
        Neurons whose weights folding reversed, for `summary`. No effect on results.
    ties : array of bool, default: None
        Neurons that can have a sum of exactly zero, for `summary`. No effect on results.

    Raises
    ------
    NetworkError
        If shapes do not fit, a number is not an integer, a top is negative, or match counts could reach 2^56.

    Examples
    --------
    >>> layer = LevelLayer([[+1, -1]], tau=[300], tops=[255, 255])
    >>> layer.match_counts([[100, 30]]), layer.activity([[100, 30]])
    (array([[325]]), array([[ True]]))
    >>> LevelLayer([[+1, -1]], [2], tops=[2, 1]).unrolled()
    DenseLayer(weights=array([[ 1,  1, -1]]), tau=array([2]), flipped=None, ties=None)

    See Also
    --------
    fold_levels : makes one from weights and batch norm.
    DenseLayer : neurons over bits.
    RealLayer : neurons over real numbers.
    """

    fingerprint_name = "LevelLayer"

    weights: Ints
    tau: Ints
    tops: Ints = field(repr=False)
    flipped: Bits | None = field(default=None, compare=False)
    ties: Bits | None = field(default=None, compare=False)
    _limit = WIDEST

    def __init__(self, weights: Any, tau: Any, tops: Any, *, flipped: Any = None, ties: Any = None) -> None:
        self._set(weights)
        self._set_tau(tau, flipped, ties)
        set_fields(self, tops=checked_tops(tops, self.weights, WIDEST))


@dataclass(frozen=True, eq=False, init=False)
class QuantizedLayer(_DenseForm):
    """Neurons over the same levels: neuron j gives the number of its steps that its match count reaches.

    Clipping, ReLU, saturation and rounding are all expressed as steps. A signed value is a level with an
    offset, which the steps of the next layer absorb.

    Parameters
    ----------
    weights : array of int
        One row per neuron, one column per input.
    tau : array of int
        One row per neuron: rising thresholds on its match count, as in `LevelLayer`. A step at 0 or below is
        always reached, one beyond the largest match count never. Neurons with fewer steps than the others are
        padded with such steps.
    tops : array of int
        Largest level of each input: 1 for a bit.

    Raises
    ------
    NetworkError
        If shapes do not fit, a number is not an integer, steps do not rise, a top is negative, or match
        counts could reach 2^31.

    Examples
    --------
    >>> layer = QuantizedLayer([[+1, -1]], tau=[[2, 4, 5]], tops=[3, 3])
    >>> layer.match_counts([[3, 1], [0, 3]]), layer.activity([[3, 1], [0, 3]]), layer.height
    (array([[5],
           [0]]), array([[3],
           [0]]), 3)
    >>> QuantizedLayer.from_sums([[+1, -1]], [[-1, 1, 2]], tops=[3, 3]) == layer
    True

    See Also
    --------
    QuantizedConv : the convolution with steps.
    LevelLayer : neurons with one threshold.
    """

    fingerprint_name = "StairLayer"

    weights: Ints
    tau: Ints
    tops: Ints
    is_binary = False

    def __init__(self, weights: Any, tau: Any, tops: Any) -> None:
        self._set(weights)
        set_fields(self, tops=checked_tops(tops, self.weights))
        set_fields(self, tau=checked_steps(tau, np.zeros(self.outputs, np.int64), self.sizes))

    @classmethod
    def from_sums(cls, weights: Any, steps: Any, tops: Any) -> QuantizedLayer:
        """Return the layer given by thresholds on the plain sums ``weights @ levels``, integers of any
        size.
        """
        rows, highest = integer_array(weights, 2, "weights"), integer_array(tops, 1, "tops")
        below = (-np.minimum(rows, 0) @ highest).tolist()
        taus = [
            [_integer(step, j, m) + low for m, step in enumerate(neuron_steps)]
            for j, (neuron_steps, low) in enumerate(zip(steps, below, strict=True))
        ]
        return cls(rows, narrowed(taus), highest)

    @property
    def steps(self) -> Ints:  # type: ignore[override]
        """Thresholds on the plain sums; `NEVER` for one that is never reached."""
        return self.sum_thresholds

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        return [self.weights, self.tau, self.tops]

    def expanded(self) -> LevelLayer:
        """Return one binary neuron per step, neuron by neuron, over the same levels."""
        return LevelLayer(np.repeat(self.weights, self.height, axis=0), self.tau.reshape(-1), self.tops)


def dense_layer(weights: Any, tau: Any, tops: Any = None, **marks: Any) -> Layer:
    """Return a dense layer over bits, or over levels if `tops` is given; with several thresholds per neuron
    if `tau` has rows.

    Examples
    --------
    >>> dense_layer([[1, 1]], [2]).is_binary, dense_layer([[1, 1]], [[1, 2]]).height
    (True, 2)
    """
    if np.ndim(tau) == 2:
        return QuantizedLayer(weights, tau, np.ones(np.shape(weights)[1], np.int64) if tops is None else tops)
    return DenseLayer(weights, tau, **marks) if tops is None else LevelLayer(weights, tau, tops, **marks)


# -- checks ------------------------------------------------------------------------------------------------


def check_size(weights: Ints, top: int = 1, limit: int = _BITS) -> None:
    """Raise an error if match counts of weights over levels up to `top` could reach a limit."""
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    if largest * max(weights.shape[1], 1) * top < limit:
        return
    if largest >= limit or _largest_sum(weights, [top] * weights.shape[1]) >= limit:
        raise NetworkError(
            f"a weight of size {largest} is too large: match counts must stay below "
            f"2^{limit.bit_length() - 1}."
        )


def _largest_sum(weights: Ints, tops: Sequence[int]) -> int:
    """Return the largest match count of any row, as a Python integer of any size."""
    return int(max((sum(map(operator.mul, row, tops)) for row in np.abs(weights).tolist()), default=0))


def check_tau(tau: Ints) -> None:
    """Raise an error for thresholds so far from all match counts that their difference, or twice it,
    could exceed 64 bits.
    """
    if tau.size and max(int(tau.max()), -int(tau.min())) > _FAR:
        index = int(np.argmax(np.abs(tau // 2)))
        raise NetworkError(
            f"tau[{index}] is beyond 2^62. Write 0 for always active and 2^31 for never, which is the same."
        )


def checked_marks(shape: tuple[int, ...], what: str, **marks: Any) -> dict[str, Bits | None]:
    """Check the marks that folding left: one per element of `shape`, or None."""
    checked: dict[str, Bits | None] = {}
    for name, flags in marks.items():
        array = None if flags is None else np.array(flags, dtype=bool)
        if array is not None:
            if array.shape != shape:
                raise NetworkError(f"{name} has shape {array.shape}, but there are {shape[0]} {what}.")
            array.flags.writeable = False
        checked[name] = array
    return checked


def checked_tops(tops: Any, weights: Ints, limit: int = _BITS) -> Ints:
    """Check the largest level of each input, one per column of the weights; sums must stay below a limit."""
    highest = integer_array(tops, 1, "tops")
    if len(highest) != weights.shape[1]:
        raise NetworkError(f"{len(highest)} tops for {weights.shape[1]} features. Every feature has one.")
    if (highest < 0).any():
        raise NetworkError(f"tops[{int(np.argmax(highest < 0))}] is negative; levels run from 0 to the top.")
    top_sum, largest = sum(highest.tolist()), max(int(weights.max(initial=1)), -int(weights.min(initial=1)))
    # row by row only if both fit, so that no product exceeds 64 bits
    if top_sum * largest >= limit and (
        max(top_sum, largest) >= limit or _largest_sum(weights, highest.tolist()) >= limit
    ):
        raise NetworkError(
            f"the levels are too many: match counts must stay below 2^{limit.bit_length() - 1}."
        )
    return highest


def checked_levels(levels: Any, tops: Ints) -> Ints:
    """Check the levels of samples, each at most its top; bits are levels 0 and 1."""
    array = integer_array(levels, 2, "levels")
    if array.shape[1] != len(tops):
        raise NetworkError(f"levels has {array.shape[1]} columns, but the layer reads {len(tops)} features.")
    wrong = (array < 0) | (array > tops)
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        raise NetworkError(
            f"level {array[row, column]} of feature {column} in sample {row} is not in 0..{tops[column]}."
        )
    return array


def _bits(bits: Any, n: int) -> Bits:
    array = np.asarray(bits)
    if array.dtype != bool:
        raise NetworkError(
            f"bits have dtype {array.dtype}, but True and False are needed: write x > 0 for bipolar x."
        )
    if array.ndim != 2 or array.shape[1] != n:
        raise NetworkError(
            f"bits have shape {array.shape}, but the layer reads samples of {n} bits: "
            f"give shape (samples, {n})."
        )
    return array


def _climbed(counts: Ints, steps: Ints) -> Ints:
    """Return how many steps of its neuron each count reaches."""
    out = np.zeros(counts.shape, np.int64)
    for j, neuron_steps in enumerate(steps):
        out[:, j] = np.searchsorted(neuron_steps, counts[:, j], side="right")
    return out


def checked_steps(values: Any, low: Ints, high: Ints) -> Ints:
    """Return rising thresholds; those always reached become the smallest count, those never reached
    `NEVER`.
    """
    rows = integer_array(narrowed(values), 2, "steps")
    if len(rows) != len(low) or not rows.shape[1]:
        raise NetworkError(
            f"steps of shape {rows.shape} for {len(low)} neurons. Every neuron has a row of at least one."
        )
    falls = (np.diff(rows, axis=1) < 0).any(axis=1)
    if falls.any():
        raise NetworkError(f"the steps of neuron {int(np.argmax(falls)) + 1} do not rise. Sort them.")
    kept = np.where(rows > high[:, None], NEVER, np.maximum(rows, low[:, None]))
    kept.flags.writeable = False
    return kept


def narrowed(values: Any) -> npt.NDArray[Any]:
    """Clip integers of any size to 63 bits, far beyond all match counts."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    return np.array(
        [
            [max(-_FAR, min(_FAR, _integer(v, j, m))) for m, v in enumerate(row)]
            for j, row in enumerate(values)
        ],
        np.int64,
    ).reshape(len(values), -1)


def _integer(value: Any, j: int, m: int) -> int:
    try:
        if int(value) == value:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise NetworkError(f"step {m + 1} of neuron {j + 1} is {value!r}, which is not an integer.")
