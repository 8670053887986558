"""The layers after the first, for patterns of the first layer that a walk has found.

To be ensured: the match counts of the classes are those of the definition. There are three forms:

- gains of turning, for networks small enough to write out,
- the definition itself,
- for large networks, a recomputation only at positions whose input has changed.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-arg"

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils

from sugenet.checker.accelerate.arrays import (
    Bits,
    Gathering,
    Ints,
    Layer,
    Picking,
    Summing,
    dense_counts,
    products,
)
from sugenet.checker.accelerate.vectors import emitted, loaded, lowest, signs, stored
from sugenet.checker.limit import Limit
from sugenet.compiling import njit

__all__ = ["LaterLayers", "Patterns", "bits_of", "cores", "counts_after"]

_BATCH = 1 << 14  # largest number of patterns evaluated at a time
_WORK = 1 << 32  # largest number of sums for all of them
_BLOCK = 1 << 6  # patterns that pass through a convolution at a time

Patterns: TypeAlias = npt.NDArray[np.uint64]
"""Rows of words; bit j of a row tells whether loose neuron j has turned."""


def cores() -> int:
    """Return the number of threads to use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LaterLayers:
    """The layers after the first by the definition. Windows are recomputed only at positions whose input has
    changed.

    Parameters
    ----------
    active
        The first layer at the sample.
    layers, head
        The layers after it, and the weights of the classes.
    """

    def __init__(self, active: Bits, layers: Sequence[Layer], head: Ints) -> None:
        self.layers, self.head, self.states = layers, head, [active]
        self.batch = _BATCH if all(isinstance(layer, Summing) for layer in layers) else _BLOCK
        for layer in layers:
            self.states.append(layer.levels(self.states[-1][None])[0])

    def counts(self, active: Bits) -> Ints:
        """Return match counts of the classes for activities of the first layer, one row each."""
        parts = []
        for start in range(0, max(1, len(active)), self.batch):
            bits = active[start : start + self.batch]
            for number, layer in enumerate(self.layers):
                bits = _again(layer, bits, self.states[number], self.states[number + 1])
            parts.append(dense_counts(self.head, bits))
        return np.concatenate(parts)

    def counts_of(self, active: Bits, patterns: Patterns, loose: Ints) -> Ints:
        """Return match counts of the classes for patterns of loose neurons that turned from an activity."""
        parts = []
        for start in range(0, max(1, len(patterns)), self.batch):
            turned = bits_of(patterns[start : start + self.batch], len(loose))
            bits = np.repeat(active[None], len(turned), axis=0)
            bits[:, loose] ^= turned
            parts.append(self.counts(bits))
        return np.concatenate(parts)


def counts_after(
    active: Bits, loose: Ints, layers: Sequence[Layer], head: Ints, limit: Limit
) -> tuple[int, Callable[[Patterns], Ints]]:
    """Return the largest number of patterns at a time, and the function from patterns to match counts."""
    if len(active) and all(isinstance(layer, Summing) and layer.outputs for layer in layers):
        written = _Later(active, loose, [(layer.dense().weights, layer.tau) for layer in layers], head, limit)
        return written.batch, written.counts
    later = LaterLayers(active, layers, head)
    return later.batch, lambda patterns: later.counts_of(active, patterns, loose)


class _Later:
    """The layers after the first relative to the sample: M - tau of a neuron is its value there, plus the
    gain of each earlier neuron that has turned.
    """

    def __init__(
        self,
        active: npt.NDArray[np.bool_],
        loose: Any,
        layers: list[tuple[Ints, Ints]],
        head: Ints,
        limit: Limit,
    ) -> None:
        every = [*layers, (head, np.zeros(len(head), np.int64))]
        self.sizes = np.array([len(tau) for _, tau in every], np.int64)
        wide = 64 * -(-int(self.sizes.max()) // 64)
        inputs = [len(loose), *(len(tau) for _, tau in layers)]
        self.batch = max(16, min(_BATCH, _WORK // (wide * (1 + sum(inputs)))))
        limit.take(
            8 * wide * sum(inputs) + 48 * max(w.size for w, _ in every), "the table of gains of neurons"
        )
        margins, gains, largest = [], [], 0
        for number, (weights, tau) in enumerate(every):
            weights = np.asarray(weights)
            max_counts = np.abs(weights).sum(axis=1) + 1  # upper bounds of the match counts
            margin = dense_counts(weights, active[None])[0] - tau
            if number < len(layers):  # distances from tau beyond this bound are equivalent
                margin = np.clip(margin, -max_counts, max_counts)
            largest = max(largest, 2 * int(max_counts.max(initial=0)))
            rows = np.where(active, -weights, weights).T
            margins.append(margin)
            gains.append(rows[loose] if number == 0 else rows)
            active = margin >= 0
        kind = np.int16 if largest < 1 << 15 else np.int64
        self.margins = np.full((len(every), wide), -1, kind)  # after the last neuron nothing ever turns
        self.gains = np.zeros((sum(inputs), wide), kind)
        self.begins = np.cumsum([0, *inputs])
        for number, (margin, rows) in enumerate(zip(margins, gains, strict=True)):
            self.margins[number, : len(margin)] = margin
            self.gains[self.begins[number] : self.begins[number + 1], : len(margin)] = rows

    def counts(self, patterns: Patterns) -> Ints:
        """Return match counts of the classes, one row per pattern."""
        out = np.empty((len(patterns), self.sizes[-1]), np.int64)
        _run(patterns, self.margins, self.gains, self.begins, self.sizes, out)
        return out


def bits_of(patterns: Patterns, width: int) -> Bits:
    """Return rows of words as truth values."""
    octets = patterns.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").astype(bool)


@emitted(nb.types.uint64)
def _moved(b, margins, at, gains, of, size, turned, n_turned, out, to):
    """Add the rows of `gains`, of `size` numbers, with the indices in `turned` to 64 margins, and write the
    result to `out`. Return which of them are not negative.
    """
    vector = ir.VectorType(margins.type.pointee, 64)
    total = cgutils.alloca_once_value(b, loaded(b, margins, at, vector))
    with cgutils.for_range(b, n_turned) as loop:
        index = b.add(of, b.mul(b.load(b.gep(turned, [loop.index])), size))
        b.store(b.add(b.load(total), loaded(b, gains, index, vector)), total)
    stored(b, out, to, b.load(total))
    return signs(b, b.load(total))


@njit(nogil=True, cache=True)
def _run(patterns, margins, gains, begins, sizes, out):
    """Compute the match counts of the last layer.

    Row ``begins[k] + j`` of `gains` is the gain of neuron j before layer k when it turns.
    """
    last, wide = len(sizes) - 1, margins.shape[1]
    home = np.zeros((len(sizes), wide >> 6), np.uint64)
    for layer in range(len(sizes)):
        for j in range(wide):
            home[layer, j >> 6] |= nb.uint64(margins[layer, j] >= 0) << nb.uint64(j & 63)
    turned, sums = np.zeros(64 * max(patterns.shape[1], wide >> 6), np.int64), np.zeros(wide, margins.dtype)
    words = np.zeros(max(patterns.shape[1], wide >> 6), np.uint64)
    for row in range(len(patterns)):
        n_words = patterns.shape[1]
        for w in range(n_words):
            words[w] = patterns[row, w]
        for layer in range(len(sizes)):
            n = 0
            for w in range(n_words):
                word = words[w]
                while word != nb.uint64(0):
                    turned[n] = 64 * w + lowest(word)
                    word &= word - nb.uint64(1)
                    n += 1
            n_words = (sizes[layer] + 63) >> 6
            for w in range(n_words):
                at, of = layer * wide + 64 * w, begins[layer] * wide + 64 * w
                words[w] = _moved(margins, at, gains, of, wide, turned, n, sums, 64 * w) ^ home[layer, w]
        for k in range(sizes[last]):
            out[row, k] = sums[k]


# -- large networks ------------------------------------------------------------------------------------------


def _again(layer: Layer, bits: Bits, before: Bits, after: Bits) -> Bits:
    """Return the activity of a layer for rows of bits, recomputed only at positions that differ.

    The layer gives `after` for the bits `before`.
    """
    if isinstance(layer, Summing):
        return np.asarray(dense_counts(layer.weights, bits) >= layer.tau)
    if isinstance(layer, Gathering):
        return np.asarray(layer.levels(bits))
    channels, height, width = layer.window.shape
    maps = np.zeros((len(bits), channels, height * width + 1), bool)  # the last pixel is padding
    maps[:, :, :-1] = bits.reshape(len(bits), channels, -1)
    differ = np.append((bits != before).any(axis=0).reshape(channels, -1).any(axis=0), False)
    where = np.flatnonzero(differ[layer.window.taps].any(axis=1))
    if not len(where):
        return np.repeat(after[None], len(bits), axis=0)
    taps = layer.window.taps[where]
    out = np.repeat(after[None], len(bits), axis=0).reshape(len(bits), -1, len(layer.window.taps))
    tau = layer.tau.reshape(out.shape[1:])[:, where]
    if isinstance(layer, Picking):
        out[:, :, where] = maps[:, :, taps].sum(axis=3) >= tau
        return out.reshape(len(bits), -1)
    inside, negatives = taps >= 0, np.minimum(layer.weights, 0)
    for group in range(layer.groups):
        into = slice(group * channels // layer.groups, (group + 1) * channels // layer.groups)
        outs = slice(
            group * len(layer.weights) // layer.groups, (group + 1) * len(layer.weights) // layer.groups
        )
        kernel = layer.weights[outs].reshape(outs.stop - outs.start, -1)
        patches = maps[:, into][:, :, taps].transpose(0, 2, 1, 3).reshape(len(bits) * len(where), -1)
        # contribution of idle inputs with negative weight
        held = negatives[outs].reshape(len(kernel), -1, taps.shape[1]).sum(axis=1) @ inside.T
        sums = products(patches, kernel).reshape(len(bits), len(where), -1).transpose(0, 2, 1) - held
        out[:, outs, where] = sums >= tau[outs]
    return out.reshape(len(bits), -1)
