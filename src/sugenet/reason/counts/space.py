"""A region as numbers for counting: what each option adds to the fragile neurons, and the class of each
pattern.

A *pattern* is the set of fragile neurons that differ from the sample, one bit each. If the head reads the
inputs directly, comparisons of every two classes replace the first layer. Later layers are written as sums
over turned neurons. Neurons that no pattern can turn are folded into the next layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits import pack, words_for
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Bits, Ints, make_sure
from sugenet.problem.first_layer import first_layer, margins_of, move_gains, reach
from sugenet.problem.neighbourhood import Neighbourhood, one_more

__all__ = ["Space", "Tail", "combinations_within", "ways"]

_LARGE = 1 << 61


@dataclass(frozen=True, eq=False)
class Tail:
    """The layers after the first one, over the turned neurons: sums of 0/1 values with integer weights."""

    layers: tuple[tuple[Ints, Ints], ...]
    """Weights and the minimum sum that activates each neuron, layer by layer."""
    classes: tuple[int, ...]
    """Classes that can win."""
    weights: Ints
    """One row per class that can win, over the last hidden neurons."""
    slopes: tuple[int, ...]
    offsets: tuple[int, ...]
    """Class k scores ``slopes[k] * (weights[k] @ active) + offsets[k]``; in a tie the lowest class wins."""

    def labels(self, turned: Bits) -> Ints:
        """Return the classes of patterns, one row of truth values each, in plain NumPy."""
        values = np.asarray(turned).astype(np.int64)
        for weights, bounds in self.layers:
            values = (values @ weights.T >= bounds).astype(np.int64)
        kind = object if self.is_large else np.int64
        scores = (values @ self.weights.T).astype(kind) * np.array(self.slopes, kind) + np.array(
            self.offsets, kind
        )
        return np.asarray(np.array(self.classes)[np.argmax(scores, axis=1)])

    @cached_property
    def is_large(self) -> bool:
        """Whether scores need more than 62 bits."""
        sums = np.abs(self.weights).sum(axis=1).tolist()
        parts = zip(self.slopes, self.offsets, sums, strict=True)
        return max(abs(a) * max(int(n), 1) + abs(b) for a, b, n in parts) >= 1 << 62


@dataclass(frozen=True, eq=False)
class Space:
    """All combinations of options that a neighbourhood allows."""

    near: Neighbourhood
    features: tuple[int, ...]
    """Features that can change, in order."""
    weights: tuple[Ints, ...]
    """For each of them, the part of the budget that its options use.

    The state at the sample is not an option, and uses nothing.
    """
    gains: tuple[Ints, ...]
    """For each of them one row per option: what it adds to the lanes."""
    start: Ints
    """The lanes at the sample: one for each fragile neuron, at least 0 if it has turned."""
    budget: int | None
    """None: all combinations are allowed."""
    tail: Tail

    @classmethod
    def of(cls, near: Neighbourhood) -> Space:
        """Return the space of a neighbourhood, as seen from the first layer."""
        margins, deltas, active, behind = _first(near)
        up, down = reach(near, deltas), reach(near, -deltas)
        fragile = np.flatnonzero(np.where(active, margins - down < 0, margins + up >= 0))
        tail = _tail(behind, active, fragile)
        sign = np.where(active, -1, 1)
        start = np.where(active, -1 - margins, margins)[fragile]
        lanes = deltas[:, fragile] * sign[fragile]
        rows = near.places
        weights = [near.columns.weights[row] for row in rows.values()]
        budget = near.budget
        if budget is not None and budget >= sum(int(row.max()) for row in weights):
            budget = None
        return cls(
            near, tuple(rows), tuple(weights), tuple(lanes[row] for row in rows.values()), start, budget, tail
        )

    @cached_property
    def total(self) -> int:
        """Number of combinations."""
        return self.count(self.features)

    def count(self, features: Iterable[int], budget: int | None = None) -> int:
        """Return the number of combinations of some features, within the budget or a smaller one."""
        indices = [self.features.index(feature) for feature in features]
        limit = self.budget if budget is None else budget
        if limit is None:
            return prod(len(self.weights[index]) + 1 for index in indices)
        return sum(ways([self.weights[index].tolist() for index in indices], limit).values())

    @property
    def words(self) -> int:
        """Number of words of a pattern."""
        return max(1, words_for(len(self.start)))

    def pack(self, turned: Any) -> npt.NDArray[np.uint64]:
        """Return patterns as words, one row each."""
        rows = np.asarray(turned, dtype=bool)
        return pack(rows) if rows.shape[1] else np.zeros((len(rows), 1), np.uint64)

    def only(self, features: Iterable[int], budget: int | None) -> Space:
        """Return the same space with fewer features that can change, or with another budget."""
        chosen = [index for index, feature in enumerate(self.features) if feature in set(features)]
        kept = tuple(self.features[index] for index in chosen)
        weights, gains = (tuple(row[index] for index in chosen) for row in (self.weights, self.gains))
        return Space(self.near, kept, weights, gains, self.start, budget, self.tail)


def combinations_within(near: Neighbourhood) -> int:
    """Return the exact number of allowed combinations of moves."""
    if near.budget is None:
        return prod(int(moves.stop) - int(moves.start) + 1 for moves in near.places.values())
    return sum(
        ways((near.columns.weights[moves].tolist() for moves in near.places.values()), near.budget).values()
    )


def ways(weights: Iterable[Iterable[int]], limit: int) -> dict[int, int]:
    """Return, for every sum up to a limit, how many choices of at most one option per feature use exactly
    that.
    """
    counts = {0: 1}
    for row in weights:
        counts = one_more(counts, Counter(row), limit)
        if len(counts) > 1 << 20:
            raise TooLargeError(
                "the costs are too finely divided: combinations cannot be counted by what they use."
            )
    return counts


# -- the layers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Behind:
    """Layers after the first one as sums over active neurons, and the scores of the classes."""

    layers: list[tuple[Ints, Ints]]
    head: Ints
    slopes: list[int]
    offsets: list[int]


def _first(near: Neighbourhood) -> tuple[Ints, Ints, Bits, _Behind]:
    """Return M - tau at the sample, the contributions of moves, activity, and the later layers."""
    network = near.network.expanded
    head, (slopes, offsets, _) = network.head, network.head.integers
    shift = np.minimum(head.weights, 0).sum(axis=1).tolist()
    ends = [b - a * int(s) for a, b, s in zip(slopes, offsets, shift, strict=True)]
    outputs = network.layers[0].outputs if network.layers else network.encoder.width
    room = 3 * len(near.moves) * outputs + sum(
        2 * layer.inputs * layer.outputs for layer in network.layers[1:]
    )
    make_sure(8 * room, "the region seen from the first layer", "Count a smaller region.")
    first = first_layer(network)
    deltas = move_gains(near, first)
    if not network.layers:
        return _comparisons(near, first, deltas, slopes, ends)
    margins = margins_of(near, first)
    later = [layer.unrolled() for layer in network.layers[1:]]
    layers = [(layer.weights, layer.tau + np.minimum(layer.weights, 0).sum(axis=1)) for layer in later]
    return margins, deltas, margins >= 0, _Behind(layers, head.weights, slopes, ends)


def _comparisons(
    near: Neighbourhood, bits: Any, deltas: Ints, slopes: list[int], ends: list[int]
) -> tuple[Ints, Ints, Bits, _Behind]:
    """Return, for networks without a hidden layer, whether k scores more than j, for every two classes j < k.

    The class that wins all its comparisons wins.
    """
    head = near.network.head
    rows = head.weights.astype(object) * np.array(slopes, dtype=object)[:, None]
    pairs = list(combinations(range(head.outputs), 2))
    active = (margins_of(near, bits) >= 0).astype(np.int64)
    weights = np.array([rows[k] - rows[j] for j, k in pairs], dtype=object).reshape(len(pairs), head.inputs)
    bounds = np.array([ends[j] - ends[k] + 1 for j, k in pairs], dtype=object)
    if int(np.abs(weights).sum(axis=1).max(initial=0)) + int(np.abs(bounds).max(initial=0)) >= _LARGE:
        raise TooLargeError(
            "the scores of the classes are too finely divided: as integers they exceed 61 bits."
        )
    integer_weights = weights.astype(np.int64)
    margins = integer_weights @ active - bounds.astype(np.int64)
    wins = np.zeros((head.outputs, len(pairs)), np.int64)
    for number, (j, k) in enumerate(pairs):
        wins[k, number], wins[j, number] = 1, -1
    offsets = [int((row < 0).sum()) for row in wins]
    return margins, deltas @ integer_weights.T, margins >= 0, _Behind([], wins, [1] * head.outputs, offsets)


def _tail(behind: _Behind, active: Bits, fragile: Any) -> Tail:
    """Return sums over turned neurons, without neurons that cannot turn."""
    turned, kept, held = np.where(active, -1, 1), np.asarray(fragile), active.astype(np.int64)
    layers = []
    for (
        rows,
        bound,
    ) in behind.layers:  # a neuron's input is held + turned * t for those kept, held for the others
        min_sums = bound - rows @ held
        weights = (rows * turned)[:, kept]
        always, never = (
            np.minimum(weights, 0).sum(axis=1) >= min_sums,
            np.maximum(weights, 0).sum(axis=1) < min_sums,
        )
        kept = np.flatnonzero(~always & ~never)
        layers.append((weights[kept], min_sums[kept]))
        turned, held = np.ones(len(rows), np.int64), always.astype(np.int64)
    offsets = [
        b + a * int(s) for a, b, s in zip(behind.slopes, behind.offsets, behind.head @ held, strict=True)
    ]
    weights = (behind.head * turned)[:, kept]
    winners = _winners(weights, behind.slopes, offsets)
    scored = tuple(behind.slopes[k] for k in winners), tuple(offsets[k] for k in winners)
    return Tail(tuple(layers), tuple(winners), weights[winners], *scored)


def _winners(weights: Ints, slopes: list[int], offsets: list[int]) -> list[int]:
    """Return the classes that no other class beats in every case."""
    rows = weights.astype(object) * np.array(slopes, dtype=object)[:, None]

    def beats(j: int, k: int) -> bool:  # class j is better than k for every pattern
        min_lead = sum(min(int(v), 0) for v in rows[j] - rows[k]) + offsets[j] - offsets[k]
        return min_lead > 0 or (min_lead == 0 and j < k)

    return [k for k in range(len(rows)) if not any(beats(j, k) for j in range(len(rows)) if j != k)]
