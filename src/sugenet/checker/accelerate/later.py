"""The layers behind the first, for patterns of the first that a walk has met.

To be ensured: the match counts of the classes are those of the definition. Three forms: what turning adds,
for what is small enough to be written out, the definition itself, and for large networks only those places
worked out again that something before them has changed.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-arg"

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from sugenet.checker.accelerate.arrays import Arrays, Layer, Picking, Summing
from sugenet.checker.accelerate.products import Bits, Ints, dense_counts, products
from sugenet.checker.accelerate.vectors import loaded, lowest, signs, stored
from sugenet.checker.limit import Limit
from sugenet.compiling import njit

__all__ = ["Patterns", "States", "bits_of", "cores", "judge_of", "states_of"]

_BATCH = 1 << 14  # patterns that are judged at a time, at most
_WORK = 1 << 32  # sums for all of them, at most

_I64, _U64 = nb.types.int64, nb.types.uint64

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
                dense_counts(layer[0], bits) >= layer[1] if isinstance(layer, tuple) else layer.levels(bits)
            )
        return dense_counts(self.head, bits)


class _Later:
    """The layers behind the first against the sample: M - tau of a neuron is what it is there, and what each
    neuron before it adds that has turned.
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
        limit.take(8 * wide * sum(inputs) + 48 * max(w.size for w, _ in every), "what turning neurons add")
        margins, gains, largest = [], [], 0
        for number, (weights, tau) in enumerate(every):
            weights = np.asarray(weights)
            max_counts = np.abs(weights).sum(axis=1) + 1  # no match count is larger
            margin = dense_counts(weights, active[None])[0] - tau
            if number < len(layers):  # far from tau is as good as further
                margin = np.clip(margin, -max_counts, max_counts)
            largest = max(largest, 2 * int(max_counts.max(initial=0)))
            rows = np.where(active, -weights, weights).T
            margins.append(margin)
            gains.append(rows[loose] if number == 0 else rows)
            active = margin >= 0
        kind = np.int16 if largest < 1 << 15 else np.int64
        self.margins = np.full((len(every), wide), -1, kind)  # behind the last neuron nothing ever turns
        self.gains = np.zeros((sum(inputs), wide), kind)
        self.begins = np.cumsum([0, *inputs])
        for number, (margin, rows) in enumerate(zip(margins, gains, strict=True)):
            self.margins[number, : len(margin)] = margin
            self.gains[self.begins[number] : self.begins[number + 1], : len(margin)] = rows

    def counts(self, patterns: Patterns) -> Ints:
        """Match counts of the classes, one row a pattern."""
        out = np.empty((len(patterns), self.sizes[-1]), np.int64)
        _run(patterns, self.margins, self.gains, self.begins, self.sizes, out)
        return out


def bits_of(patterns: Patterns, width: int) -> Bits:
    """Rows of words as truth values."""
    octets = patterns.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").astype(bool)


@intrinsic
def _moved(_typing, margins, at, gains, of, size, turned, n_turned, out, to):  # noqa: ARG001
    """Add the rows of `gains`, of `size` numbers, that `turned` names to 64 margins, and write these to
    `out`: which are not negative then.
    """
    signature = _U64(margins, _I64, gains, _I64, _I64, turned, _I64, out, _I64)

    def emit(context, b, signature, arguments):
        margins, at, gains, of, size, turned, n_turned, out, to = arguments
        kinds = signature.args
        vector = ir.VectorType(ir.IntType(kinds[0].dtype.bitwidth), 64)
        numbers = context.make_array(kinds[5])(context, b, turned).data
        total = cgutils.alloca_once_value(b, loaded(context, b, kinds[0], margins, at, vector))
        with cgutils.for_range(b, n_turned) as loop:
            index = b.add(of, b.mul(b.load(b.gep(numbers, [loop.index])), size))
            b.store(b.add(b.load(total), loaded(context, b, kinds[2], gains, index, vector)), total)
        stored(context, b, kinds[7], out, to, b.load(total))
        return signs(b, b.load(total))

    return signature, emit


@njit(nogil=True, cache=True)
def _run(patterns, margins, gains, begins, sizes, out):
    """Match counts of the last layer. Row ``begins[k] + j`` of `gains` is what neuron j before layer k adds
    when it turns.
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


def states_of(network: Arrays, active: Bits) -> States:
    """The layers of a network, from the activity of the first one."""
    states = States([active])
    states.counts, states.layers = [], network.layers[1:]
    for layer in states.layers:
        states.counts.append(layer.match_counts(states[-1][None])[0])
        states.append(states.counts[-1] >= layer.tau)
    states.head = network.head
    states.counts.append(dense_counts(states.head, states[-1][None])[0])
    return states


def _again(layer: Layer, bits: Bits, before: Bits, after: Bits) -> Bits:
    """Activity of a layer for rows of bits, where it gives `after` for the bits `before`: worked out where
    something is different.
    """
    if isinstance(layer, Summing):
        return np.asarray(dense_counts(layer.weights, bits) >= layer.tau)
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
        # what idle inputs of negative weight count
        held = negatives[outs].reshape(len(kernel), -1, taps.shape[1]).sum(axis=1) @ inside.T
        sums = products(patches, kernel).reshape(len(bits), len(where), -1).transpose(0, 2, 1) - held
        out[:, outs, where] = sums >= tau[outs]
    return out.reshape(len(bits), -1)
