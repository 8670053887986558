"""Layers of threshold neurons over one input space (paper section 3.3), evaluated as the definition says,
in exact integers.

`DenseLayer` reads bits, `LevelLayer` reads the levels of integer features (docs/theory.md 3.1): a feature
with levels 0..t stands for its t thermometer bits, all with the feature's one weight, so a uint8 pixel is 255
bits that are never written out.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sugenet.bnn.arrays import Bits, Ints, integer_array
from sugenet.bnn.neuron import Neuron
from sugenet.brief import Brief
from sugenet.errors import NetworkError

__all__ = [
    "ROOM",
    "WIDEST",
    "DenseLayer",
    "LevelLayer",
    "check_size",
    "check_tau",
    "checked_levels",
    "checked_tops",
    "match_counts",
]

ROOM = 31
"""Bits that the match counts of hidden neurons stay in."""
_GLANCE = 8  # weights by which most rows that differ are told apart
_BITS = 1 << ROOM
"""Match counts over bits stay below."""
WIDEST = 1 << 56
"""Match counts over levels stay below: weights that raw inputs are rescaled by are wide. Several of them add
up in 64 bits.
"""

"""For each neuron an enclosure of its threshold on real values;
both ends are equal where the threshold is rational.
"""


def check_size(weights: Ints, top: int = 1, limit: int = _BITS) -> None:
    """Refuse weights over levels up to `top` whose match counts could reach a limit."""
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    if largest * max(weights.shape[1], 1) * top < limit:
        return
    if largest >= limit or _largest_sum(weights, [top] * weights.shape[1]) >= limit:
        raise NetworkError(
            f"a weight of size {largest} is too large: match counts must stay below "
            f"2^{limit.bit_length() - 1}."
        )


def _largest_sum(weights: Ints, tops: Sequence[int]) -> int:
    """The largest match count of any row, in exact numbers however large they are."""
    most = max((sum(map(operator.mul, row, tops)) for row in np.abs(weights).tolist()), default=0)
    return int(most)


def check_tau(tau: Ints) -> None:
    """Refuse thresholds so far from all match counts that a difference of the two, or twice it,
    could leave 64 bits.
    """
    if tau.size and max(int(tau.max()), -int(tau.min())) > 1 << 62:
        place = int(np.argmax(np.abs(tau // 2)))
        raise NetworkError(
            f"tau[{place}] is beyond 2^62. Write 0 for always active and 2^31 for never, which is the same."
        )


def checked_tops(tops: Any, weights: Ints, limit: int = _BITS) -> Ints:
    """The largest level of each input, one a column of the weights; sums stay below a limit."""
    highest = integer_array(tops, 1, "tops")
    if len(highest) != weights.shape[1]:
        raise NetworkError(f"{len(highest)} tops for {weights.shape[1]} features. Every feature has one.")
    if (highest < 0).any():
        raise NetworkError(f"tops[{int(np.argmax(highest < 0))}] is negative; levels run from 0 to the top.")
    most, largest = sum(highest.tolist()), max(int(weights.max(initial=1)), -int(weights.min(initial=1)))
    # row by row only where both fit, so that no product leaves 64 bits
    if most * largest >= limit and (
        max(most, largest) >= limit or _largest_sum(weights, highest.tolist()) >= limit
    ):
        raise NetworkError(
            f"the levels are too many: match counts must stay below 2^{limit.bit_length() - 1}."
        )
    return highest


def checked_levels(levels: Any, inputs: int, tops: Ints) -> Ints:
    """Levels of samples, each within its top; bits are levels 0 and 1."""
    array = integer_array(levels, 2, "levels")
    if array.shape[1] != inputs:
        raise NetworkError(f"levels has {array.shape[1]} columns, but the layer reads {inputs} features.")
    wrong = (array < 0) | (array > tops)
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        raise NetworkError(
            f"level {array[row, column]} of feature {column} in sample {row} is not in 0..{tops[column]}."
        )
    return array


def match_counts(weights: Ints, bits: Bits, sizes: Ints | None = None) -> Ints:
    """M of every sample and neuron: the weight sizes of the literals that hold; `sizes` are those of all
    literals of each neuron, where they are known.
    """
    signed = np.where(bits, 1, -1).astype(np.int64) @ weights.T
    return np.asarray((signed + (np.abs(weights).sum(axis=1) if sizes is None else sizes)) // 2)


@dataclass(frozen=True, eq=False)
class _Thresholds(Brief, ABC):
    """What both kinds of layer share: integer weights, thresholds,
    and what folding noticed about each neuron.
    """

    weights: Ints
    tau: Ints
    flipped: Bits | None = None
    """Where a negative batch-norm scale reversed the weights; None when unknown."""
    ties: Bits | None = None
    """Where a sum of exactly zero can occur; None when unknown."""
    _limit: ClassVar[int] = _BITS
    """What match counts stay below."""

    def __init__(self, weights: Any, tau: Any, *, flipped: Any = None, ties: Any = None) -> None:
        rows, taus = integer_array(weights, 2, "weights"), integer_array(tau, 1, "tau")
        if len(rows) != len(taus):
            raise NetworkError(
                f"{len(rows)} rows of weights but {len(taus)} values of tau. Every neuron has one of each."
            )
        check_size(rows, limit=self._limit)
        check_tau(taus)
        object.__setattr__(self, "weights", rows)
        object.__setattr__(self, "tau", taus)
        for name, marks in (("flipped", flipped), ("ties", ties)):
            kept = None if marks is None else np.array(marks, dtype=bool)
            if kept is not None:
                if kept.shape != taus.shape:
                    raise NetworkError(f"{name} has shape {kept.shape}, but there are {len(taus)} neurons.")
                kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.tau)

    def column(self, place: int) -> tuple[Ints, Ints]:
        """Which neurons, numbered from 0, read the input at a place, and with what weight: all of them,
        some with weight 0.
        """
        return np.arange(self.outputs), self.weights[:, place]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, _Thresholds)
        return np.array_equal(self.weights, other.weights) and np.array_equal(self.tau, other.tau)

    def __hash__(self) -> int:
        return hash((type(self), self.weights.tobytes(), self.tau.tobytes()))

    def _row(self, j: int) -> int:
        if not 1 <= j <= self.outputs:
            raise NetworkError(f"there is no neuron {j}: the layer has {self.outputs}, numbered from 1.")
        return j - 1

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """The rows of weights without those that repeat the one before, as the steps of a staircase do, and
        for each neuron the number of its row.
        """
        repeats = (self.weights[1:, :_GLANCE] == self.weights[:-1, :_GLANCE]).all(axis=1)
        for j in np.flatnonzero(repeats).tolist():
            repeats[j] = np.array_equal(self.weights[j], self.weights[j + 1])
        firsts = np.append(True, ~repeats)[: self.outputs]
        return (self.weights if firsts.all() else self.weights[firsts]), np.cumsum(firsts) - 1

    @cached_property
    def columns(self) -> Ints:
        """The rows of `runs` input by input: one row an input."""
        return np.ascontiguousarray(self.runs[0].T)

    @cached_property
    def lowest(self) -> Ints:
        """The least weighted sum of bits of each row of `runs`: that of its negative weights."""
        return np.asarray(np.minimum(self.runs[0], 0).sum(axis=1))

    @abstractmethod
    def match_counts(self, inputs: Any) -> Ints:
        """M of every sample (rows) and neuron (columns)."""

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""

    def activity(self, inputs: Any) -> Bits:
        """Which neurons are active in which sample."""
        return np.asarray(self.match_counts(inputs) >= self.tau)

    @property
    def constant(self) -> Bits:
        """Which neurons never change."""
        return np.asarray((self.tau <= 0) | (self.tau > self.sizes))


class DenseLayer(_Thresholds):
    """Neurons over the same bits: neuron j is active iff its match count reaches ``tau[j]``.

    Parameters
    ----------
    weights
        One row a neuron, one column an input: -1, 0 or +1 in a BNN.
    tau
        One threshold a neuron.
    flipped, ties
        Optional marks that folding leaves for `summary`; they do not change what the layer computes.

    Examples
    --------
    >>> layer = DenseLayer([[+1, +1, -1, +1], [-1, 0, 0, +1]], tau=[2, 1])
    >>> layer.match_counts([[True, False, True, False]])
    array([[1, 0]])
    >>> layer.activity([[True, True, True, False]])
    array([[ True, False]])
    """

    def match_counts(self, bits: Any) -> Ints:
        """M of every sample (rows) and neuron (columns)."""
        rows, owner = self.runs
        return match_counts(rows, _bits(bits, self.inputs), self._run_sizes)[:, owner]

    @cached_property
    def _run_sizes(self) -> Ints:
        return np.asarray(np.abs(self.runs[0]).sum(axis=1))

    @property
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""
        return np.asarray(np.abs(self.weights).sum(axis=1))

    def neuron(self, j: int) -> Neuron:
        """Neuron j, numbered from 1 like the literals of the next layer."""
        row = self._row(j)
        return Neuron(self.weights[row].tolist(), int(self.tau[row]))


class LevelLayer(_Thresholds):
    """Neurons over integer features: feature i has levels 0..tops[i],
    each level step one literal with the feature's weight.

    The match count is the level where the weight is positive and what is left to the top
    where it is negative.

    Parameters
    ----------
    weights, tau, flipped, ties
        As in `DenseLayer`.
    tops
        The largest level of each feature.

    Examples
    --------
    >>> layer = LevelLayer([[+1, -1]], tau=[300], tops=[255, 255])
    >>> layer.match_counts([[100, 30]]), layer.activity([[100, 30]])
    (array([[325]]), array([[ True]]))
    >>> LevelLayer([[+1, -1]], [2], tops=[2, 1]).unrolled()
    DenseLayer(weights=array([[ 1,  1, -1]]), tau=array([2]), flipped=None, ties=None)
    """

    tops: Ints
    _limit = WIDEST

    def __init__(self, weights: Any, tau: Any, tops: Any, *, flipped: Any = None, ties: Any = None) -> None:
        _Thresholds.__init__(self, weights, tau, flipped=flipped, ties=ties)
        object.__setattr__(self, "tops", checked_tops(tops, self.weights, WIDEST))

    def match_counts(self, levels: Any) -> Ints:
        """M of every sample and neuron, from the levels of the features."""
        array = checked_levels(levels, self.inputs, self.tops)
        rows, owner = self.runs
        counts = np.asarray(array @ rows.T - np.minimum(rows, 0) @ self.tops)
        return np.asarray(counts[:, owner], np.int64)

    @property
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""
        return np.asarray(np.abs(self.weights) @ self.tops)

    def unrolled(self) -> DenseLayer:
        """The same neurons over thermometer bits, feature by feature, lowest level first."""
        return DenseLayer(
            np.repeat(self.weights, self.tops, axis=1), self.tau, flipped=self.flipped, ties=self.ties
        )

    def neuron(self, j: int) -> Neuron:
        """Neuron j, numbered from 1, over thermometer bits."""
        row = self._row(j)
        return Neuron(np.repeat(self.weights[row], self.tops).tolist(), int(self.tau[row]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelLayer):
            return NotImplemented
        return _Thresholds.__eq__(self, other) and np.array_equal(self.tops, other.tops)

    def __hash__(self) -> int:
        return hash((_Thresholds.__hash__(self), self.tops.tobytes()))


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
