"""Networks as arrays, for compiled rules.

To be ensured: layer by layer, the levels are those of the network's form (`network`). A layer has *match
counts* and thresholds on them. A match count is the weighted sum of the inputs minus the smallest possible
sum. A layer of one step gives bits. The file is read here a second time, as arrays, without writing out
convolutions. Weights are summed as floats, which is fast, only if no sum can exceed the range in which such
floats are exact, in any order of addition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.limit import MEMORY
from sugenet.checker.network import (
    NEVER,
    Categories,
    Coding,
    NetworkForm,
    NetworkSource,
    Numbers,
    positions_of,
)
from sugenet.errors import TooLargeError

__all__ = [
    "Arrays",
    "Backed",
    "Bits",
    "Gathering",
    "Ints",
    "Layer",
    "Picking",
    "Sliding",
    "Summing",
    "Taps",
    "backed",
    "bits_layer",
    "dense_counts",
    "expansions_of",
    "products",
    "sliding_quantized",
    "summing_quantized",
    "through",
]

Bits: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]


def dense_counts(weights: Ints, bits: Bits) -> Ints:
    """Return match counts of neurons for rows of bits: the weights of active inputs, plus the absolute
    negative weights of the others.
    """
    return np.asarray(products(bits, weights) - np.minimum(weights, 0).sum(axis=1))


def through(layers: Iterable[tuple[Ints, Ints]], bits: Bits) -> Bits:
    """Return rows of bits after layers, given as weights and tau."""
    for weights, tau in layers:
        bits = np.asarray(dense_counts(weights, bits) >= tau)
    return bits


def products(rows: npt.NDArray[Any], weights: Ints, top: int = 1) -> Ints:
    """Return weighted sums of rows of bits, or of values up to a top; floats represent all partial sums
    exactly.
    """
    largest = int(np.abs(weights).sum(axis=1).max(initial=0)) * top
    exact: Any = np.float32 if largest < 1 << 24 else np.float64 if largest < 1 << 53 else np.int64
    return np.asarray(rows.astype(exact) @ weights.T.astype(exact)).astype(np.int64)


_CELLS = 1 << 22
"""Number of values under the taps of windows that are gathered at a time."""


# -- layers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Weighted(ABC):
    """Base of layers with weights."""

    weights: Ints
    steps: Ints
    """Thresholds on match counts, one row per neuron, rising."""
    tops: Ints
    """The largest level of each input."""

    @cached_property
    def lowest(self) -> Ints:
        """The smallest sum of each neuron."""
        return np.asarray(self.sums(self.tops[None], np.minimum(self.weights, 0))[0])

    @cached_property
    def sizes(self) -> Ints:
        """The largest match count of each neuron."""
        return np.asarray(self.sums(self.tops[None], np.abs(self.weights))[0])

    @cached_property
    def tau(self) -> Ints:
        """The thresholds of a layer of one step; unreachable ones are just above the largest match count."""
        (column,) = self.steps.T
        return np.asarray(np.clip(column, 0, self.sizes + 1))

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.tops)

    @property
    def tallest(self) -> int:
        """The largest level of its inputs."""
        return int(self.tops.max(initial=1))

    @property
    def outputs(self) -> int:
        """Number of neurons."""
        return len(self.steps)

    @property
    def top(self) -> int:
        """The largest level of its outputs."""
        return int(self.steps.shape[1])

    @abstractmethod
    def sums(self, rows: npt.NDArray[Any], weights: Ints) -> Ints:
        """Return weighted sums of rows of values, with its weights or others of their shape."""

    @abstractmethod
    def rows(self) -> Ints:
        """Return the weights of each neuron, written out."""

    def dense(self) -> Summing:
        """Return the layer written out over bits; each level becomes as many bits as its top."""
        rows = self.rows()
        if not (self.tops == 1).all():
            rows = np.repeat(rows, self.tops, axis=1)
        return Summing(rows, self.steps, np.ones(rows.shape[1], np.int64))

    def match_counts(self, rows: npt.NDArray[Any]) -> Ints:
        """Return match counts of all neurons for rows of values."""
        return np.asarray(self.sums(rows, self.weights) - self.lowest)

    def levels(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return levels, or bits if there is one step."""
        counts = self.match_counts(rows)
        if self.top == 1:
            return np.asarray(counts >= self.steps[:, 0])
        return sum((counts >= column for column in self.steps.T), np.zeros(counts.shape, np.int64))


class Summing(_Weighted):
    """Neurons that read all values, with one row of weights each."""

    def sums(self, rows: npt.NDArray[Any], weights: Ints) -> Ints:
        if weights is not self.weights:
            return products(rows, weights, self.tallest)
        some, owner = self.runs
        return products(rows, some, self.tallest)[:, owner]

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """Rows of weights without consecutive repetitions, and the row index of each neuron."""
        new = np.append(True, (self.weights[1:] != self.weights[:-1]).any(axis=1))[: self.outputs]
        return self.weights[new], np.cumsum(new) - 1

    def rows(self) -> Ints:
        return self.weights


@dataclass(frozen=True, eq=False)
class Gathering(_Weighted):
    """Neurons that read few values each: the weights of the values whose positions `reads` lists."""

    reads: Ints

    def sums(self, rows: npt.NDArray[Any], weights: Ints) -> Ints:
        largest = int(np.abs(weights).sum(axis=1).max(initial=0)) * self.tallest
        exact: Any = np.int8 if largest < 1 << 7 else np.int64  # no partial sum is larger
        columns = np.ascontiguousarray(rows.T).astype(exact)
        total = np.zeros((self.outputs, len(rows)), exact)
        for reads, factors in zip(self.reads.T, weights.T.astype(exact), strict=True):
            total += factors[:, None] * columns[reads]
        return total.T.astype(np.int64)

    def rows(self) -> Ints:
        if 16 * self.outputs * self.inputs > MEMORY:
            raise TooLargeError(
                f"a layer of {self.outputs:,} neurons over {self.inputs:,} inputs is too large."
            )
        rows = np.zeros((self.outputs, self.inputs), np.int64)
        np.add.at(rows, (np.arange(self.outputs)[:, None], self.reads), self.weights)
        return rows


@dataclass(frozen=True, eq=False)
class Taps:
    """The positions of a window: channels, height and width of its input, and the pixel of each tap for each
    position, row by row; -1 on padding.
    """

    shape: tuple[int, int, int]
    taps: npt.NDArray[np.intp]

    def gathered(self, rows: npt.NDArray[Any], padding: int = 0) -> npt.NDArray[Any]:
        """Return the values under the taps: row, channel, position, tap."""
        maps = rows.reshape(len(rows), self.shape[0], self.shape[1] * self.shape[2])
        return np.asarray(
            np.append(maps, np.full((*maps.shape[:2], 1), padding, maps.dtype), axis=2)[:, :, self.taps]
        )


@dataclass(frozen=True, eq=False)
class Sliding(_Weighted):
    """A convolution: kernels with channels and taps, and a threshold for each position."""

    window: Taps
    groups: int

    def sums(self, rows: npt.NDArray[Any], weights: Ints) -> Ints:
        taps, (channels, *_), n_kernels = self.window.taps, self.window.shape, len(weights)
        per, out = channels // self.groups, n_kernels // self.groups
        totals = np.empty((len(rows), n_kernels, len(taps)), np.int64)
        step = max(1, _CELLS // max(1, channels * taps.size))
        for start in range(0, len(rows), step):
            patches = self.window.gathered(rows[start : start + step])
            for group in range(self.groups):
                group_patches = patches[:, group * per : (group + 1) * per].transpose(0, 2, 1, 3)
                kernel = weights[group * out : (group + 1) * out].reshape(out, per * taps.shape[1])
                flat = group_patches.reshape(-1, kernel.shape[1])
                sums = products(flat, kernel, self.tallest).reshape(len(group_patches), len(taps), out)
                totals[start : start + step, group * out : (group + 1) * out] = sums.transpose(0, 2, 1)
        return totals.reshape(len(rows), self.outputs)

    def gains(self, indices: npt.NDArray[Any]) -> Ints:
        """Return the weights of some inputs in all neurons, one row per input."""
        channels, height, width = self.window.shape
        per, out = channels // self.groups, len(self.weights) // self.groups
        gains = np.zeros((len(indices), len(self.weights), len(self.window.taps)), np.int64)
        for row, index in zip(gains, indices.tolist(), strict=True):
            channel, pixel = divmod(index, height * width)
            group = channel // per
            kernels = self.weights[group * out : (group + 1) * out, channel % per]
            positions, taps = np.nonzero(self.window.taps == pixel)
            row[group * out : (group + 1) * out, positions] = kernels[:, taps]
        return gains.reshape(len(indices), self.outputs)

    def rows(self) -> Ints:
        channels, height, width = self.window.shape
        per, out = channels // self.groups, len(self.weights) // self.groups
        taps = self.window.taps
        rows = np.zeros((len(self.weights), len(taps), channels, height * width + 1), np.int64)
        for number, kernel in enumerate(self.weights):
            start = number // out * per
            for position, pixels in enumerate(taps):  # padding goes to the last column, which is cut off
                rows[number, position, start : start + per, pixels] = kernel.T
        return rows[..., :-1].reshape(self.outputs, self.inputs)


@dataclass(frozen=True, eq=False)
class Picking:
    """The largest level under a window for each channel; the smallest if `every`."""

    window: Taps
    every: Bits
    top: int = 1

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        channels, height, width = self.window.shape
        return channels * height * width

    @property
    def outputs(self) -> int:
        """Number of windows."""
        return len(self.every) * len(self.window.taps)

    @cached_property
    def sizes(self) -> Ints:
        """Number of values of each window."""
        return np.tile((self.window.taps >= 0).sum(axis=1), len(self.every))

    @cached_property
    def tau(self) -> Ints:
        """Number of bits of a window that must be on."""
        return np.where(np.repeat(self.every, len(self.window.taps)), self.sizes, 1)

    def match_counts(self, rows: Bits) -> Ints:
        """Return the number of bits of each window that are on."""
        return np.asarray(
            self.window.gathered(rows.astype(np.int64)).sum(axis=3).reshape(len(rows), self.outputs)
        )

    def levels(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return levels, or bits."""
        maxima = self.window.gathered(rows).max(axis=3)
        minima = self.window.gathered(rows, self.top).min(axis=3)
        return np.asarray(np.where(self.every[:, None], minima, maxima).reshape(len(rows), self.outputs))

    def dense(self) -> Summing:
        """Return the layer with one row of weights for each window, over bits."""
        ones = np.ones((len(self.every), 1, self.window.taps.shape[1]), np.int64)
        tops = np.ones(self.inputs, np.int64)
        return Sliding(ones, self.tau[:, None], tops, self.window, len(self.every)).dense()


Layer: TypeAlias = Summing | Sliding | Gathering | Picking


# -- networks ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arrays:
    """A network: the inputs of its first layer, its layers, and the weights of its classes."""

    codings: tuple[Coding, ...]
    reads_levels: bool
    layers: tuple[Layer, ...]
    head: Ints
    lines: list[tuple[Fraction, Fraction]]
    """For each class, the slope and offset that turn its match count into its score."""
    reads_silent: bool = False
    """Whether the first layer also reads the bits of silent cuts."""

    @cached_property
    def is_direct(self) -> bool:
        """Whether the first layer reads all levels unchanged, or one bit of each feature."""
        kinds = {id(coding): coding for coding in self.codings}.values()
        heard = all(len(self.bits(coding)) == coding.width for coding in kinds)
        single = all(isinstance(coding, Numbers) and coding.width == 1 for coding in kinds)
        return heard and (self.reads_levels or single)

    @cached_property
    def places(self) -> list[Ints]:
        """For each feature, its positions among the inputs of the first layer."""
        sizes = [1 if self.reads_levels else len(self.bits(coding)) for coding in self.codings]
        ends = np.cumsum([0, *sizes])
        return [np.arange(a, b) for a, b in pairwise(ends)]

    @cached_property
    def width(self) -> int:
        """Number of inputs of the first layer."""
        return len(self.codings) if self.is_direct else sum(map(len, self.places))

    def bits(self, coding: Coding) -> list[int]:
        """Return the positions of a coding that are read."""
        silent = () if self.reads_silent or isinstance(coding, Categories) else coding.silent
        return [index for index in range(coding.width) if index not in silent]

    def reads_of(self, feature: int, states: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the inputs of the first layer for a feature in some states, one row each: a
        level, or bits.
        """
        coding, column = self.codings[feature], states[:, None]
        read_indices = np.array(self.bits(coding), np.int64)
        if self.reads_levels:
            return np.asarray((read_indices < column).sum(axis=1, keepdims=True))
        return np.asarray(read_indices == column if isinstance(coding, Categories) else read_indices < column)

    def inputs_at(self, states: Any) -> npt.NDArray[Any]:
        """Return the inputs of the first layer for given states of the features, one row per input."""
        rows = np.asarray(states, np.int64).reshape(-1, len(self.codings))
        if self.is_direct:
            return rows if self.reads_levels else np.asarray(rows > 0)
        parts = [self.reads_of(feature, column) for feature, column in enumerate(rows.T)]
        return np.concatenate([np.zeros((len(rows), 0), bool), *parts], axis=1)

    def changes(self, feature: int, here: npt.NDArray[Any], states: Sequence[int]) -> Ints:
        """Return by how much some states of a feature change the first-layer inputs `here`, one row each."""
        there = self.reads_of(feature, np.array(states, np.int64)).astype(np.int64)
        return there - here[self.places[feature]].astype(np.int64)

    def margins(self, here: npt.NDArray[Any]) -> Ints:
        """Return M - tau of the first layer or, without one, of the bits themselves."""
        if not self.layers:
            return here.astype(np.int64) - 1
        return np.asarray(self.layers[0].match_counts(here[None])[0] - self.layers[0].tau)

    def columns(self, feature: int, here: npt.NDArray[Any], margins: Ints) -> Ints:
        """Return the gain in first-layer neurons of one more in each value of a feature, one row per value.

        Match counts are linear, so this is computed at the input `here`, at which the first layer has these
        margins.
        """
        indices = self.places[feature]
        if not self.layers:
            return np.asarray(indices[:, None] == np.arange(self.width), np.int64)
        first = self.layers[0]
        if isinstance(first, Summing):
            return np.asarray(first.weights[:, indices].T)
        if isinstance(first, Sliding):
            return first.gains(indices)
        steps = np.where(here[indices] > 0, -1, 1)
        rows = np.repeat(here[None], len(indices), axis=0)
        for row, index, step in zip(rows, indices.tolist(), steps.tolist(), strict=True):
            row[index] = row[index] + step if rows.dtype != bool else step > 0
        return np.asarray((first.match_counts(rows) - first.tau - margins) * steps[:, None])

    @cached_property
    def tops(self) -> Ints:
        """The largest level of each value that the head reads."""
        if not self.layers:
            return np.ones(self.width, np.int64)
        return np.full(self.layers[-1].outputs, self.layers[-1].top)

    def counts_at(self, states: Any) -> Ints:
        """Return match counts of the classes for given states of the features."""
        values = self.inputs_at(states)
        for layer in self.layers:
            values = layer.levels(values)
        return Summing(self.head, np.zeros((len(self.head), 0), np.int64), self.tops).match_counts(values)

    @cached_property
    def integers(self) -> tuple[list[int], list[int]]:
        """Slopes and offsets as integers, all multiplied by the same number."""
        unit = lcm(1, *(number.denominator for line in self.lines for number in line))
        slopes, offsets = zip(*((int(a * unit), int(b * unit)) for a, b in self.lines), strict=True)
        return list(slopes), list(offsets)

    def classes(self, counts: Ints) -> Ints:
        """Return the class of each row of match counts; among equal scores the lowest class."""
        slopes, offsets = self.integers
        max_score = max(
            abs(a) * int(size) + abs(b)
            for a, b, size in zip(slopes, offsets, np.abs(self.head) @ self.tops, strict=True)
        )
        kind: Any = np.int64 if max_score < 1 << 62 else object
        scores = counts.astype(kind) * np.array(slopes, kind) + np.array(offsets, kind)
        return np.asarray(scores.argmax(axis=1))


@dataclass(frozen=True)
class Backed(NetworkForm):
    """A network that compiled rules can read as arrays."""

    make_arrays: Callable[[], tuple[Layer, ...]] = field(default=tuple, compare=False)
    reads_silent: bool = False
    """Whether it was built for laws, and reads the bits of silent cuts."""
    is_plain: bool = False
    """Whether samples are evaluated in plain form."""

    @cached_property
    def quantized(self) -> Arrays:
        """Its layers as they are; with laws, the binary expansion, in which a class counts broken clauses."""
        if self.clauses:
            return _lawful(self, _expanded(_plain_arrays(self)))
        return _plain_arrays(self)

    @cached_property
    def expanded(self) -> Arrays:
        """The network over bits, with one neuron for each step of a layer."""
        return self.quantized if self.clauses else _expanded(self.quantized)

    def scores(self, states: Sequence[int]) -> list[Fraction]:
        """Return exact scores of the classes, layer by layer."""
        if self.is_plain and not self.reads_silent:
            return super().scores(states)
        counts = self.quantized.counts_at([states])[0].tolist()
        return [a * count + b for (a, b), count in zip(self.quantized.lines, counts, strict=True)]


def backed(form: NetworkForm) -> Backed:
    """Return a network that was read from a file in a form that compiled rules can read as arrays."""
    if isinstance(form, Backed):
        return form
    source = form.source
    assert source is not None
    values = {one.name: getattr(form, one.name) for one in fields(NetworkForm)}
    return Backed(**values, make_arrays=lambda: _layers_of(source, form.codings, form.reads_levels))


def expansions_of(networks: Sequence[NetworkForm]) -> tuple[Arrays, ...]:
    """Return the networks of a setting over bits only."""
    return tuple(backed(network).expanded for network in networks)


def _plain_arrays(form: Backed) -> Arrays:
    head = form.head
    width = len(head.weights[0]) if head.weights else 0
    weights = np.array(head.weights, np.int64).reshape(len(head.weights), width)
    lines = [(2 * s, b - s * n) for s, b, n in zip(head.scale, head.bias, head.sizes, strict=True)]
    return Arrays(form.codings, form.reads_levels, form.make_arrays(), weights, lines, form.reads_silent)


# -- laws ----------------------------------------------------------------------------------------------------


def _lawful(form: NetworkForm, expanded: Arrays) -> Arrays:
    """Return a network over bits that also computes which clauses are broken.

    Each clause is a neuron that is active iff all its literals fail, and the last class counts them.
    """
    reading = Arrays(form.codings, False, (), expanded.head, expanded.lines, reads_silent=True)
    is_read = [
        index in set(expanded.bits(coding)) for coding in form.codings for index in range(coding.width)
    ]
    first = _first_dense(expanded)
    weights = np.zeros((first.outputs + len(form.clauses), reading.width), np.int64)
    weights[: first.outputs, is_read] = first.weights
    for number, clause in enumerate(form.clauses, start=first.outputs):
        for feature, at, on in clause:
            coding = form.codings[feature]
            known = coding.categories if isinstance(coding, Categories) else coding.cuts
            weights[number, reading.places[feature][known.index(at)]] = -1 if on else 1
    rest = [len(clause) for clause in form.clauses]
    layers, eye = [bits_layer(weights, [*first.tau, *rest])], np.eye(len(rest), dtype=np.int64)
    for layer in expanded.layers[1:]:
        dense = layer.dense()
        layers.append(bits_layer(_blocks(dense.weights, eye), [*dense.tau, *(1 for _ in rest)]))
    head = _blocks(expanded.head, np.ones((1, len(rest)), np.int64))
    return Arrays(form.codings, False, tuple(layers), head, expanded.lines, reads_silent=True)


def _first_dense(expanded: Arrays) -> Summing:
    """Return the first layer over bits or, without layers, the bits themselves."""
    if expanded.layers:
        return expanded.layers[0].dense()
    return bits_layer(np.eye(expanded.width, dtype=np.int64), [1] * expanded.width)


def bits_layer(weights: Ints, tau: Sequence[int] | Ints) -> Summing:
    """Return neurons with one threshold that read bits."""
    return Summing(weights, np.array(tau, np.int64)[:, None], np.ones(weights.shape[1], np.int64))


def _blocks(a: Ints, b: Ints) -> Ints:
    out = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]), np.int64)
    out[: a.shape[0], : a.shape[1]], out[a.shape[0] :, a.shape[1] :] = a, b
    return out


# -- expanding -----------------------------------------------------------------------------------------------


def _expanded(network: Arrays) -> Arrays:
    """Return the same network over bits: a neuron of several steps becomes one neuron per step."""
    layers, levels = network.layers, network.reads_levels
    if all(layer.top == 1 for layer in layers):
        return network
    needed = sum(
        8 * layer.weights.size * layer.top * (layer.tallest if number else 1)
        for number, layer in enumerate(layers)
        if not isinstance(layer, Picking)
    )
    if needed > MEMORY:
        n_neurons = sum(layer.outputs * layer.top for layer in layers)
        raise TooLargeError(f"a network of {n_neurons:,} neurons, one for each step, takes {needed:,} bytes.")
    made: list[Layer] = []
    source: npt.NDArray[np.intp] | None = None  # the value that each bit belongs to; None: as before
    for number, layer in enumerate(layers):
        if number == 0 and isinstance(layer, Picking) and levels:  # the bits of each feature in turn
            dense, levels = _over_bits(layer, None).dense(), False
            order = np.argsort(_by_channel(layer.window.shape, layer.top), kind="stable")
            bits: Layer = Summing(dense.weights[:, order], dense.steps, dense.tops)
        else:
            bits = _over_bits(layer, source)
        following = layers[number + 1] if number + 1 < len(layers) else None
        here, there = _owners(layer, None), _owners(layer, following)
        if not np.array_equal(here, there):  # the bits of a value are in the order of their levels
            order = np.empty(len(here), np.intp)
            order[np.argsort(there, kind="stable")] = np.argsort(here, kind="stable")
            if not isinstance(bits, Summing):
                bits, levels = bits.dense(), levels and number > 0  # written out, it reads bits
            bits = Summing(bits.weights[order], bits.steps[order], bits.tops)
        made.append(bits)
        source = there
    head = network.head if source is None else np.ascontiguousarray(network.head[:, source])
    return Arrays(network.codings, levels, tuple(made), head, network.lines, network.reads_silent)


def _over_bits(layer: Layer, source: npt.NDArray[np.intp] | None) -> Layer:
    """Return a layer that gives bits and, unless it is the first, reads bits."""
    top = layer.top
    if isinstance(layer, Picking):
        return Picking(_wider(layer.window, top), np.repeat(layer.every, top))
    layer = layer.dense() if isinstance(layer, Gathering) else layer
    if isinstance(layer, Summing):
        weights = np.repeat(layer.weights, top, axis=0)
        tops = layer.tops
        if source is not None:
            weights, tops = weights[:, source], np.ones(len(source), np.int64)
        return Summing(np.ascontiguousarray(weights), layer.steps.reshape(-1, 1), tops)
    weights, window, tops = np.repeat(layer.weights, top, axis=0), layer.window, layer.tops
    if source is not None:
        times = layer.tallest
        weights, window = np.repeat(weights, times, axis=1), _wider(window, times)
        tops = np.ones(len(source), np.int64)
    positions = len(window.taps)
    steps = layer.steps.reshape(-1, positions, top).transpose(0, 2, 1).reshape(-1, 1)
    return Sliding(weights, steps, tops, window, layer.groups)


def _wider(window: Taps, times: int) -> Taps:
    """Return a window over `times` bits for each channel."""
    channels, height, width = window.shape
    return Taps((channels * times, height, width), window.taps)


def _owners(layer: Layer, following: Layer | None) -> npt.NDArray[np.intp]:
    """Return the value that each bit belongs to.

    Bits of maps are ordered by channel, level and pixel; others value by value.
    """
    maps = None
    if isinstance(layer, Sliding | Picking):
        channels = len(layer.every if isinstance(layer, Picking) else layer.weights)
        maps = channels, len(layer.window.taps), 1
    if isinstance(following, Sliding | Picking):
        maps = following.window.shape
    if maps is None:
        return np.repeat(np.arange(layer.outputs), layer.top)
    return _by_channel(maps, layer.top)


def _by_channel(shape: tuple[int, int, int], top: int) -> npt.NDArray[np.intp]:
    channels, pixels = shape[0], shape[1] * shape[2]
    values = np.arange(channels * pixels).reshape(channels, 1, pixels)
    return np.broadcast_to(values, (channels, top, pixels)).reshape(-1)


# -- files ---------------------------------------------------------------------------------------------------


def _layers_of(source: NetworkSource, codings: Sequence[Coding], levels: bool) -> tuple[Layer, ...]:
    tops = np.ones(sum(coding.width for coding in codings), np.int64)
    if levels:
        tops = np.array([coding.width for coding in codings], np.int64)
    layers: list[Layer] = []
    for number, part in enumerate(source.document["layers"], start=1):
        layers.append(_layer_of(source, f"layer{number}", part, tops))
        tops = np.full(layers[-1].outputs, layers[-1].top, np.int64)
    return tuple(layers)


def _layer_of(source: NetworkSource, name: str, part: dict[str, Any], tops: Ints) -> Layer:
    kind, tensors = part["kind"], source.tensors
    n_steps = part.get("steps", 1)
    if kind == "sparse":
        shape = part["outputs"], part["reads"]
        reads, weights = (
            np.asarray(tensors[f"{name}.{one}"][0], np.int64).reshape(shape) for one in ("reads", "weights")
        )
        return Gathering(weights, np.asarray(tensors[f"{name}.tau"][0], np.int64)[:, None], tops, reads)
    if "shape" not in part:
        weights = _weights(source, name, part["weights"], part["inputs"])
        steps = np.asarray(tensors[f"{name}.tau"][0], np.int64).reshape(len(weights), n_steps)
        return summing_quantized(weights, steps, tops) if kind == "stairs" else Summing(weights, steps, tops)
    window = _taps(part)
    if "pool" in kind:
        packed = np.asarray(tensors[f"{name}.every"][0], np.uint8)
        every = np.unpackbits(packed, count=part["shape"][0], bitorder="little")
        return Picking(window, every.astype(bool), part.get("top") or 1)
    per, size = part["shape"][0] // part["groups"], part["kernel"][0] * part["kernel"][1]
    weights = _weights(source, name, part["weights"], per * size).reshape(-1, per, size)
    if kind == "stairs conv":
        steps = np.asarray(tensors[f"{name}.steps"][0], np.int64).reshape(len(weights), n_steps)
        return sliding_quantized(weights, steps, tops, window, part["groups"], part["pad"])
    thresholds = np.asarray(tensors[f"{name}.tau"][0], np.int64).reshape(len(weights), -1)
    tau = np.broadcast_to(thresholds, (len(weights), len(window.taps))).reshape(-1, 1)
    return Sliding(weights, tau, tops, window, part["groups"])


def summing_quantized(weights: Ints, steps: Ints, tops: Ints) -> Summing:
    """Return neurons with steps, some of which may exceed every match count."""
    beyond = Summing(weights, steps, tops).sizes[:, None] + 1
    return Summing(weights, np.where(steps == NEVER, beyond, steps), tops)


def sliding_quantized(weights: Ints, steps: Ints, tops: Ints, window: Taps, groups: int, pad: int) -> Sliding:
    """Return a convolution whose thresholds are on the sums over all taps, including padding."""
    positions = len(window.taps)
    bare = Sliding(weights, np.zeros((len(weights) * positions, 0), np.int64), tops, window, groups)
    rim = pad * (weights.sum(axis=1) @ (window.taps < 0).T).reshape(-1, 1)
    wide = np.repeat(steps, positions, axis=0)
    beyond = bare.sizes[:, None] + 1
    thresholds = np.where(wide == NEVER, beyond, wide - rim - bare.lowest[:, None])
    return Sliding(weights, thresholds, tops, window, groups)


def _weights(source: NetworkSource, name: str, form: str, width: int) -> Ints:
    """Return rows of weights: integers, or packed signs with or without zeros."""

    def packed(which: str) -> Ints:
        numbers, shape = source.tensors[f"{name}.{which}"]
        rows = np.asarray(numbers, np.uint8).reshape(shape)
        return np.unpackbits(rows, axis=1, count=width, bitorder="little").astype(np.int64)

    if form == "integer":
        numbers, shape = source.tensors[f"{name}.weights"]
        return np.asarray(numbers, np.int64).reshape(shape)
    signs = 2 * packed("positive") - 1
    return signs if form == "binary" else signs * packed("nonzero")


def _taps(part: dict[str, Any]) -> Taps:
    """Return the window of a layer."""
    channels, height, width = part["shape"]
    rows, columns = (
        np.arange(count)[:, None] * step - pad + np.arange(size) * spread
        for count, step, pad, size, spread in zip(
            positions_of(part),
            part["stride"],
            part["pads"][:2],
            part["kernel"],
            part["dilation"],
            strict=True,
        )
    )
    y, x = rows[:, None, :, None], columns[None, :, None, :]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    pixels = np.where(inside, y * width + x, -1)
    return Taps((channels, height, width), pixels.reshape(len(rows) * len(columns), -1))
