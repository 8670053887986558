"""The layers behind the first, for patterns of the first that a walk has met.

To be ensured: the match counts of the classes are those of the definition. Three forms: bits of literals
for what is small enough to be written out, the definition itself, and for large networks only those places
worked out again that something before them has changed.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, DenseLayer, Network, PoolLayer
from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.layer import Layer
from sugenet.bnn.layers import match_counts
from sugenet.checker.limit import Limit
from sugenet.checker.products import dense_counts, products
from sugenet.checker.vectors import ones, reaches

__all__ = ["Patterns", "States", "bits_of", "cores", "judge_of", "splitmix64", "states_of"]

_BATCH = 1 << 14  # patterns that are judged at a time, at most
_WORK = 1 << 27  # words of literals for all of them
_BEYOND = 1 << 60  # more than any match count

Patterns: TypeAlias = npt.NDArray[np.uint64]
"""Rows of words; bit j of a row: whether loose neuron j has turned."""


def cores() -> int:
    """How many threads may work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def judge_of(
    active: npt.NDArray[np.bool_], loose: Any, layers: list[Any], head: Ints, limit: Limit
) -> _Later | _Defined:
    """Who takes patterns through the layers behind the first."""
    written = all(isinstance(layer, tuple) and len(layer[1]) for layer in layers) and len(active) > 0
    return _Later(active, loose, layers, head, limit) if written else _Defined(active, loose, layers, head)


class _Defined:
    """The layers behind the first as the definition has them, for those that would be large as bits
    of their literals.
    """

    batch = 1 << 6

    def __init__(self, active: npt.NDArray[np.bool_], loose: Any, layers: list[Any], head: Ints) -> None:
        self.active, self.loose, self.layers, self.head = active, loose, layers, head

    def counts(self, patterns: Patterns) -> Ints:
        """Match counts of the classes, one row a pattern."""
        bits = np.repeat(self.active[None], len(patterns), axis=0)
        bits[:, self.loose] ^= bits_of(patterns, len(self.loose))
        for layer in self.layers:
            bits = (
                match_counts(layer[0], bits) >= layer[1] if isinstance(layer, tuple) else layer.activity(bits)
            )
        return match_counts(self.head, bits)


class _Later:
    """The layers behind the first, as bits of their literals: one whose weight has the binary digit b adds
    2^b where it holds.
    """

    def __init__(
        self,
        active: npt.NDArray[np.bool_],
        loose: Any,
        layers: list[tuple[Ints, Ints]],
        head: Ints,
        limit: Limit,
    ) -> None:
        layers = [(np.asarray(weights), np.asarray(tau)) for weights, tau in layers]
        every = [weights for weights, _ in layers] + [head]
        self.sizes = np.array([*(len(tau) for _, tau in layers), len(head)], np.int64)
        widest = int(self.sizes.max()) + 63
        digits = [int(np.abs(weights).max(initial=0)).bit_length() for weights in every]
        inside = sum(
            max(1, many) * -(-weights.shape[1] // 64) for many, weights in zip(digits, every, strict=True)
        )
        self.batch = max(16, min(_BATCH, _WORK // (widest * inside)))
        limit.take(
            64 * widest * inside + 48 * sum(weights.size for weights in every), "the later layers in bits"
        )
        self.least = np.full((len(self.sizes), widest), -_BEYOND)  # 0 where a match count is tau
        for number, (_, tau) in enumerate(layers):
            self.least[number, : len(tau)] = -tau
        rows, places = [], []
        self.start = np.zeros((len(every), widest), np.int64)
        # literals that hold whatever the loose neurons do
        held = np.where(active, np.maximum(every[0], 0), np.maximum(-every[0], 0))
        held[:, loose] = 0
        self.start[0, : len(held)] = held.sum(axis=1)
        every[0] = np.where(active, -every[0], every[0])[:, loose]  # literals over what has turned
        for number, weights in enumerate(every):
            for digit in range(max(1, int(np.abs(weights).max(initial=0)).bit_length())):
                has = (np.abs(weights) >> digit & 1).astype(bool)
                both = np.stack([_bits(has & (weights > 0)), _bits(has & (weights < 0))])
                places += [(number, word, digit) for word in range(both.shape[2])]
                rows += [
                    np.pad(both[:, :, word], ((0, 0), (0, widest - len(weights))))
                    for word in range(both.shape[2])
                ]
        self.places = np.array(places, np.int64).reshape(-1, 3)
        self.positive, self.negative = (
            np.array(rows, np.uint64).reshape(-1, 2, widest).transpose(1, 0, 2).copy()
        )

    def counts(self, patterns: Patterns) -> Ints:
        """Match counts of the classes, one row a pattern."""
        out = np.empty((len(patterns), self.sizes[-1]), np.int64)
        _run(patterns, self.start, self.places, self.positive, self.negative, self.least, self.sizes, out)
        return out


def bits_of(patterns: Patterns, width: int) -> Bits:
    """Rows of words as truth values."""
    octets = patterns.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").astype(bool)


def _bits(truths: npt.NDArray[np.bool_]) -> Patterns:
    """Rows of truth values as words, the first in the lowest bit."""
    padded = np.pad(truths, ((0, 0), (0, -truths.shape[1] % 64))).reshape(len(truths), -1, 64)
    words: Patterns = (padded.astype(np.uint64) << np.arange(64, dtype=np.uint64)).sum(
        axis=2, dtype=np.uint64
    )
    return words


@nb.njit(nogil=True, cache=True)
def _run(patterns, start, places, positive, negative, least, sizes, out):  # type: ignore[no-untyped-def]
    """Match counts of the last layer.

    Row r of `places`: the layer, input word and binary digit that row r of the weights is for.
    """
    words = np.zeros(max(patterns.shape[1], (sizes.max() + 63) // 64), np.uint64)
    count = np.zeros(start.shape[1], np.int64)
    for row in range(len(patterns)):
        for w in range(patterns.shape[1]):
            words[w] = patterns[row, w]
        r = 0
        for layer in range(len(sizes)):
            size = sizes[layer]
            for i in range(size):
                count[i] = start[layer, i]
            while r < len(places) and places[r, 0] == layer:
                word, digit = words[places[r, 1]], nb.uint64(places[r, 2])
                for i in range(size):
                    count[i] += ones((word & positive[r, i]) | (~word & negative[r, i])) << digit
                r += 1
            if layer < len(sizes) - 1:
                for w in range((size + 63) // 64):  # behind the last neuron nothing is enough
                    words[w] = reaches(count, 64 * w, least, layer * least.shape[1] + 64 * w)
        for k in range(sizes[-1]):
            out[row, k] = count[k]


@nb.njit(nogil=True, cache=True)
def splitmix64(value):  # type: ignore[no-untyped-def]
    """The mixed digits of a number of 64 bits, or of each in an array: what digests of walks are made of."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# -- large networks ------------------------------------------------------------------------------------------


class States(list[Bits]):
    """Activity of every layer at the sample, with the match counts behind each, those of the classes last."""

    counts: list[Ints]
    layers: tuple[Layer, ...]
    head: Ints
    """Weights of the head."""

    def changed(self, bits: Bits) -> Ints:
        """Match counts of the classes for other activities of the first layer, one row each."""
        for number, layer in enumerate(self.layers):
            bits = _again(layer, bits, self[number], self[number + 1])
        return dense_counts(self.head, bits)


def states_of(network: Network, active: Bits) -> States:
    """The layers of a network, from the activity of the first one."""
    found = States([active])
    found.counts, found.layers = [], network.layers[1:]
    for layer in found.layers:
        found.counts.append(layer.match_counts(found[-1][None])[0])
        found.append(found.counts[-1] >= layer.tau)
    found.head = network.head.weights
    found.counts.append(match_counts(found.head, found[-1][None])[0])
    return found


def _again(layer: Layer, bits: Bits, before: Bits, after: Bits) -> Bits:
    """Activity of a layer for rows of bits, where it gives `after` for the bits `before`: worked out where
    something is different.
    """
    if isinstance(layer, DenseLayer):
        return np.asarray(dense_counts(layer.weights, bits) >= layer.tau)
    assert isinstance(layer, ConvLayer | PoolLayer)
    channels, height, width = layer.window.shape
    maps = np.zeros((len(bits), channels, height * width + 1), bool)  # the last one is padding
    maps[:, :, :-1] = bits.reshape(len(bits), channels, -1)
    differ = np.append((bits != before).any(axis=0).reshape(channels, -1).any(axis=0), False)
    where = np.flatnonzero(differ[layer.window.taps].any(axis=1))
    if not len(where):
        return np.repeat(after[None], len(bits), axis=0)
    taps = layer.window.taps[where]
    out = np.repeat(after[None], len(bits), axis=0).reshape(len(bits), -1, len(layer.window.taps))
    tau = layer.tau.reshape(out.shape[1:])[:, where]
    if isinstance(layer, PoolLayer):
        out[:, :, where] = maps[:, :, taps].sum(axis=3) >= tau
        return out.reshape(len(bits), -1)
    inside, least = taps >= 0, np.minimum(layer.weights, 0)
    for group in range(layer.groups):
        into = slice(group * channels // layer.groups, (group + 1) * channels // layer.groups)
        outs = slice(
            group * len(layer.weights) // layer.groups, (group + 1) * len(layer.weights) // layer.groups
        )
        kernel = layer.weights[outs].reshape(outs.stop - outs.start, -1)
        patches = maps[:, into][:, :, taps].transpose(0, 2, 1, 3).reshape(len(bits) * len(where), -1)
        # what idle inputs of negative weight count
        held = least[outs].reshape(len(kernel), -1, taps.shape[1]).sum(axis=1) @ inside.T
        sums = products(patches, kernel).reshape(len(bits), len(where), -1).transpose(0, 2, 1) - held
        out[:, outs, where] = sums >= tau[outs]
    return out.reshape(len(bits), -1)
