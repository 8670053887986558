"""Layers whose neurons read few of many inputs, such as gates, stored as the inputs that each neuron reads.

They are evaluated, bounded, stored and checked without the zeros. Code that needs one number per neuron and
input gets the dense layer, if that fits into memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError
from sugenet.nn.arrays import Bits, Ints, integer_array
from sugenet.nn.conv import see_unrolled
from sugenet.nn.layers import DenseLayer, Layer, check_size, check_tau
from sugenet.reprs import quoted, set_fields

__all__ = ["SparseLayer", "in_lanes"]

_Words: TypeAlias = npt.NDArray[np.uint64]
"""Words of 64 samples, one word per input or neuron."""
_LANES = 64
"""Samples that are evaluated together, one per bit of a word."""
_COUNTED = 7
"""Largest match count of a layer that is counted in planes of words."""
_ALL = np.uint64((1 << 64) - 1)


@dataclass(frozen=True, eq=False, init=False)
class SparseLayer(Layer):
    """Neurons over bits that read few inputs each: neuron j adds ``factors[j, k]`` if input ``reads[j, k]``
    is on.

    Weights of 0 are removed, and several weights of one neuron for one input are added. Then the inputs of
    each neuron rise, and unused places at the end of a row are 0.

    Parameters
    ----------
    reads : array of int
        One row per neuron: the inputs that it reads, numbered from 0.
    factors : array of int
        Their weights, in the same shape; 0 for an unused place.
    tau : array of int
        One threshold on the match count per neuron.
    inputs : int
        Number of inputs of the layer.

    Raises
    ------
    NetworkError
        If shapes do not fit, an input does not exist, or match counts could reach 2^31.

    Examples
    --------
    >>> layer = SparseLayer([[0, 3], [2, 2]], [[+1, -1], [+1, 0]], tau=[2, 1], inputs=4)
    >>> layer.activity([[True, False, True, False]])
    array([[ True,  True]])
    >>> layer.weights
    array([[ 1,  0,  0, -1],
           [ 0,  0,  1,  0]])

    See Also
    --------
    DenseLayer : neurons with a weight for every input.
    """

    kind = "sparse"
    fingerprint_name = "SparseLayer"

    reads: Ints
    factors: Ints
    tau: Ints
    width: int

    def __init__(self, reads: Any, factors: Any, tau: Any, inputs: int) -> None:
        indices, values = integer_array(reads, 2, "reads"), integer_array(factors, 2, "factors")
        taus = integer_array(tau, 1, "tau")
        if indices.shape != values.shape or len(indices) != len(taus):
            raise NetworkError(
                f"reads of shape {indices.shape}, factors of shape {values.shape} and {len(taus)} values of "
                "tau do not fit. Every neuron has one row of each."
            )
        if not isinstance(inputs, int | np.integer) or inputs < 0:
            raise NetworkError(f"inputs is {quoted(inputs)}, but it must be an integer from 0.")
        wrong = (values != 0) & ((indices < 0) | (indices >= inputs))
        if wrong.any():
            j, k = (int(index) for index in np.argwhere(wrong)[0])
            raise NetworkError(f"neuron {j + 1} reads input {indices[j, k]}, but there are {inputs}.")
        check_size(values.reshape(-1, 1))  # so small that sums of them do not wrap
        indices, values = _canonical(indices, values)
        check_size(values)
        check_tau(taus)
        set_fields(self, reads=indices, factors=values, tau=taus, width=int(inputs))

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.width

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.tau)

    @cached_property
    def sizes(self) -> Ints:
        """Largest match count of each neuron."""
        return np.asarray(np.abs(self.factors).sum(axis=1))

    @cached_property
    def lowest(self) -> Ints:
        """Smallest sum of each neuron, at match count 0."""
        return np.asarray(np.minimum(self.factors, 0).sum(axis=1))

    @property
    def weights(self) -> Ints:  # type: ignore[override]  # made when asked for: it is large
        """One row per neuron, zeros included."""
        return self._dense.weights

    def sums(self, values: Any) -> Any:
        """Return plain weighted sums of integers, one row per sample."""
        return self.weighted(values, self.factors)

    def weighted(self, values: Any, factors: Ints) -> npt.NDArray[Any]:
        """Return sums with other weights for the inputs that the neurons read."""
        columns = np.ascontiguousarray(np.asarray(values, np.int64).T)
        total = np.zeros((self.outputs, columns.shape[1]), np.int64)
        for k in range(factors.shape[1]):
            total += factors[:, k, None] * columns[self.reads[:, k]]
        return total.T

    def activity(self, inputs: Any) -> Bits:
        """Return which neurons are active in which sample."""
        bits = self._checked(inputs)
        if self.is_counted:
            return in_lanes(bits, self.after)
        return np.asarray(self.sums(bits) - self.lowest >= self.tau)

    @property
    def is_counted(self) -> bool:
        """Whether match counts are so small that `after` counts them."""
        return bool(self.sizes.max(initial=0) <= _COUNTED)

    def after(self, lanes: _Words) -> _Words:
        """Return the outputs for 64 samples: one word per input, and one per neuron, with a bit per sample.

        Matching literals are counted in planes of such words.
        """
        literals, flips, tau = self._literals
        words = np.append(lanes, np.uint64(0))
        planes = np.zeros((_COUNTED.bit_length(), self.outputs), np.uint64)
        for reads, flip in zip(literals, flips, strict=True):
            carry = words[reads] ^ flip
            for plane in planes:
                carry, plane[:] = plane & carry, plane ^ carry
        reached = np.full(self.outputs, _ALL)
        for plane, bit in zip(planes, tau, strict=True):  # from the lowest bit: count >= tau
            reached = (plane & ~bit) | (~(plane ^ bit) & reached)
        reached[self.tau > self.sizes] = 0
        return reached

    @cached_property
    def _literals(self) -> tuple[list[Ints], list[Any], list[Any]]:
        """Inputs that match one by one, whether they match if they are off, and the bits of tau.

        A weight of 2 counts as two literals. The input after the last is always off.
        """
        literals, flips = [], []
        for k in range(self.factors.shape[1]):
            for size in range(int(np.abs(self.factors[:, k]).max(initial=0))):
                used = np.abs(self.factors[:, k]) > size
                literals.append(np.where(used, self.reads[:, k], self.width))
                flips.append(np.where(used & (self.factors[:, k] < 0), _ALL, np.uint64(0)))
        tau = np.clip(self.tau, 0, _COUNTED)
        bits = [np.where(tau >> b & 1, _ALL, np.uint64(0)) for b in range(_COUNTED.bit_length())]
        return literals, flips, bits

    def row(self, j: int) -> Ints:
        """Return the weights of neuron j, from 0, over all inputs."""
        row = np.zeros(self.width, np.int64)
        np.add.at(row, self.reads[j], self.factors[j])
        return row

    def column(self, index: int) -> tuple[Ints, Ints]:
        """Return the neurons, numbered from 0, that read the input at an index, and their weights."""
        order, starts = self._readers
        cells = order[starts[index] : starts[index + 1]]
        return cells // max(1, self.reads.shape[1]), self.factors.reshape(-1)[cells]

    @cached_property
    def _readers(self) -> tuple[Ints, Ints]:
        """Used places, ordered by the input that they read, and where those of each input begin."""
        used = np.flatnonzero(self.factors)
        read = self.reads.reshape(-1)[used]
        order = np.argsort(read, kind="stable")
        return used[order], np.searchsorted(read[order], np.arange(self.width + 1))

    def terms(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the inputs that each neuron reads, and their weights."""
        for reads, factors in zip(self.reads.tolist(), self.factors.tolist(), strict=True):
            count = len(factors) - factors.count(0)
            yield reads[:count], factors[:count]

    def dense(self) -> Layer:
        """Return the same neurons as a dense layer over the same inputs."""
        return self._dense

    def unrolled(self) -> DenseLayer:
        """Return the same neurons as a dense layer."""
        return self._dense

    @cached_property
    def _dense(self) -> DenseLayer:
        see_unrolled(self.outputs, self.inputs, "It is stored and asked without its zeros.")
        rows = np.zeros((self.outputs, self.width), np.int64)
        neurons, columns = np.nonzero(self.factors)
        rows[neurons, self.reads[neurons, columns]] = self.factors[neurons, columns]
        return DenseLayer(rows, self.tau)

    def spelled(self) -> list[Any]:
        """Return text and arrays that define what the layer computes."""
        return [json.dumps(self.width), self.reads, self.factors, self.tau]


def in_lanes(bits: Bits, after: Callable[[_Words], _Words]) -> Bits:
    """Return what a function from words to words gives for samples, which are the bits of the words."""
    parts = []
    for start in range(0, max(1, len(bits)), _LANES):
        some = bits[start : start + _LANES]
        octets = np.zeros((some.shape[1], 8), np.uint8)
        packed = np.packbits(some.T, axis=1)
        octets[:, : packed.shape[1]] = packed
        words = after(octets.view(np.uint64)[:, 0])
        parts.append(np.unpackbits(words[:, None].view(np.uint8), axis=1, count=len(some)).view(bool).T)
    return np.concatenate(parts)


def _canonical(reads: Ints, factors: Ints) -> tuple[Ints, Ints]:
    """Return rows whose inputs rise, each once and with a weight other than 0; zeros fill their ends."""
    order = np.argsort(np.where(factors == 0, np.iinfo(np.int64).max, reads), axis=1, kind="stable")
    reads, factors = (np.take_along_axis(part, order, axis=1) for part in (reads, factors))
    same = (reads[:, 1:] == reads[:, :-1]) & (factors[:, 1:] != 0) & (factors[:, :-1] != 0)
    if same.any():  # add the weights of one input at its last place
        for k in range(same.shape[1]):
            factors[:, k + 1] += np.where(same[:, k], factors[:, k], 0)
            factors[:, k] = np.where(same[:, k], 0, factors[:, k])
        return _canonical(reads, factors)
    used = int((factors != 0).sum(axis=1).max(initial=0))
    reads, factors = np.where(factors == 0, 0, reads)[:, :used], np.ascontiguousarray(factors[:, :used])
    reads = np.ascontiguousarray(reads)
    reads.flags.writeable = factors.flags.writeable = False
    return reads, factors
