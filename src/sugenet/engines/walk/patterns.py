"""Patterns of fragile neurons: the distance of each from a goal, one by one or by blocks.

A *pattern* holds one bit per fragile neuron, set if it has turned relative to the sample. The second layer
reads patterns directly. Its columns are the fragile neurons, with the sign reversed for those active at the
sample. The contribution of all other neurons is part of its tau.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.bits import pack, unpack, words_for
from sugenet.engines.walk.blocks import BlockWalk, fits, in_planes, thresholds
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.packed import Rows, is_wide
from sugenet.problem import Clock, Enumerated, FeatureMove, FirstLayer, Goal

__all__ = ["PatternGoal", "Patterns", "PlaneGoal", "Walked"]

_UNROLLED = 1 << 22

Patterns = npt.NDArray[np.uint64]
"""One row per pattern: words of 64 fragile neurons each."""


class PatternGoal:
    """Distance of patterns from a goal.

    Parameters
    ----------
    first_layer
        The first layer as seen from a neighbourhood.
    goal
        The goal, over match counts of the classes.
    """

    def __init__(self, first_layer: FirstLayer, goal: Goal) -> None:
        self.first_layer, self.goal = first_layer, goal
        self.words = max(1, words_for(len(first_layer.fragile)))
        self.batch = 1 << 13 if self._rows is not None else 1 << 9

    def shortfall(self, patterns: Patterns) -> npt.NDArray[Any]:
        """Return the shortfall of each pattern; 0 or less: the goal is reached.

        Safe to call from several threads.
        """
        parts = [self._shortfall(patterns[k : k + self.batch]) for k in range(0, len(patterns), self.batch)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def reached(self, patterns: Patterns) -> npt.NDArray[np.bool_]:
        """Return whether each pattern reaches the goal."""
        return np.asarray(self.shortfall(patterns) <= 0)

    def pack(self, turned: Any) -> Patterns:
        """Pack truth values, one column per fragile neuron or lane, into patterns."""
        bits = np.asarray(turned)[:, : len(self.first_layer.fragile)]
        return pack(bits) if bits.shape[1] else np.zeros((len(bits), 1), np.uint64)

    def turned(self, patterns: Patterns) -> Bits:
        """Return which fragile neurons have turned, one column each."""
        count = len(self.first_layer.fragile)
        return unpack(patterns, count) if count else np.zeros((len(patterns), 0), bool)

    def _shortfall(self, patterns: Patterns) -> npt.NDArray[Any]:
        if self._rows is None or self.later is None:
            return self.goal.shortfall(
                self.first_layer.scores(
                    self.turned(patterns) ^ self.first_layer.active[self.first_layer.fragile]
                )
            )
        rows, shift = self._rows, self.later[2]
        words = patterns if rows.inputs is None else rows.words(self.turned(patterns))
        counts = rows.network.match_counts(words, threads=1)
        if self.votes is None:
            return self.goal.shortfall(counts.astype(np.int64) + shift)
        from sugenet.engines.walk.twins import shortfalls

        out = np.empty(len(counts), np.int64)
        shortfalls(len(counts) * len(self.votes[1]), counts, shift, self.votes, out)
        return out

    @cached_property
    def later(self) -> tuple[list[Ints], list[Ints], Ints] | None:
        """Weights and tau of the later layers over patterns, the head last, and the offsets of its match
        counts.

        None if a layer that is not dense would be too large as a dense one.
        """
        network = self.first_layer.neighbourhood.network.expanded
        sizes = [layer.outputs * layer.inputs for layer in network.layers[1:] if layer.kind != "dense"]
        if sum(sizes) > _UNROLLED or not len(self.first_layer.fragile):
            return None
        layers = [layer.unrolled() for layer in network.layers[1:]]
        none = np.zeros(network.head.outputs, np.int64)
        weights, taus = (
            [*(layer.weights for layer in layers), network.head.weights],
            [*(layer.tau for layer in layers), none],
        )
        active, fragile = self.first_layer.active, self.first_layer.fragile
        # literals that hold at the sample
        held = np.where(active, np.maximum(weights[0], 0), np.maximum(-weights[0], 0))
        held[:, fragile] = 0
        weights[0] = np.where(active, -weights[0], weights[0])[:, fragile]
        if not layers:
            return weights, taus, held.sum(axis=1)
        taus[0] = taus[0] - held.sum(axis=1)
        return weights, taus, none

    @cached_property
    def _rows(self) -> Rows | None:
        """The later layers in packed words; None if they are too large for that, or if weights over steps are
        wide, because levels are then faster.
        """
        if self.later is None or (
            (self.first_layer.neighbourhood.network.has_levels or any(map(is_wide, self.later[0])))
            and self._packed_size > _UNROLLED
        ):
            return None
        try:
            return Rows.of(self.later[0], self.later[1], None, "auto")
        except TooLargeError:
            return None

    @property
    def _packed_size(self) -> int:
        """Number of weights of the later layers, once those larger than 1 are split."""
        assert self.later is not None
        copies = [np.maximum(np.abs(rows).max(axis=0, initial=0), 1) for rows in self.later[0]]
        outputs = [int(layer_copies.sum()) for layer_copies in copies[1:]] + [len(self.later[0][-1])]
        return sum(
            int(layer_copies.sum()) * count for layer_copies, count in zip(copies, outputs, strict=True)
        )

    @cached_property
    def votes(self) -> tuple[Any, ...] | None:
        """The goal as flat arrays; None if its numbers are too large."""
        factors = self.goal.factors
        if factors.dtype == object:
            return None
        ends = np.cumsum([0, *np.count_nonzero(factors, axis=1)])
        rows, classes = np.nonzero(factors)
        cases = np.cumsum([0, *map(len, self.goal.members)])
        members = np.array([number for case in self.goal.members for number in case], np.int64)
        return (
            ends.astype(np.int64),
            classes.astype(np.int64),
            factors[rows, classes],
            self.goal.least,
            cases.astype(np.int64),
            members,
        )


class Walked(NamedTuple):
    """Result of a walk over all sets of moves."""

    sets: int
    """Number of sets walked, including the empty one."""
    moves: list[int] | None
    """Indices of the moves of a set that reaches the goal; None if none does."""

    def enumerated(self, moves_of: Callable[[list[int]], Iterable[FeatureMove]]) -> Enumerated:
        """Return the result with moves in place of their indices."""
        return Enumerated(self.sets, None if self.moves is None else tuple(moves_of(self.moves)))


@dataclass(frozen=True, eq=False)
class PlaneGoal:
    """Layers after the first that are walked in planes, and labels of the patterns after them: 1 reaches the
    goal.
    """

    patterns: PatternGoal
    layers: list[tuple[Ints, Ints]]
    """Weights and tau over lanes, then over the layer before."""
    rows: Rows

    @classmethod
    def of(cls, patterns: PatternGoal, gains: Any) -> PlaneGoal | None:
        """Return the goal in planes.

        It is None if the network has no second layer, or one with weights other than -1, 0 and 1. It is also
        None if the planes of moves that add `gains` to the lanes are too large.
        """
        if patterns.later is None or not fits(gains):
            return None
        weights, taus, _ = patterns.later
        n_layers = in_planes(list(zip(weights, taus, strict=True))[:-1])
        if not n_layers:
            return None
        try:
            rows = Rows.of(weights[n_layers:], taus[n_layers:], None, "auto")
        except TooLargeError:
            return None
        first = np.zeros((len(taus[0]), 64 * patterns.words), np.int64)
        first[:, : weights[0].shape[1]] = weights[0]
        return cls(patterns, list(zip([first, *weights[1:n_layers]], taus[:n_layers], strict=True)), rows)

    def walk(
        self,
        start: Any,
        moves: tuple[Any, Ints, Ints],
        budget: int,
        together: int,
        engine: str,
        total: float,
        clock: Clock,
    ) -> Walked | None:
        """Walk all sets of moves within a budget, single moves first, until one reaches the goal; None if the
        time was up. The sample itself is known not to reach it.

        Parameters
        ----------
        start, moves, budget, together
            As in `BlockWalk`: lanes at the sample; the contribution of each move, its weight, and the first
            move of the same feature.
        engine, total
            Name of the walk and approximate number of sets, for progress reports.
        clock
            The result does not depend on its number of threads.
        """
        rows, weight, before = moves
        light = np.flatnonzero(weight <= budget)
        sets, is_bad = 1 + len(light), self.patterns.reached(self.patterns.pack(start + rows[light] >= 0))
        if is_bad.any():
            return Walked(sets, [int(light[np.argmax(is_bad)])])
        lasts = np.flatnonzero(before > 0).tolist()
        if not lasts:
            return Walked(sets, None)
        shown = [0, sets]

        def tell(more: int) -> None:
            shown[1] += more
            share = int(10 * shown[1] / total)
            if shown[0] < share < 10:
                shown[0] = share
                clock.tell(f"{engine}: {10 * share} % of {int(total):,} changes")

        blocks = BlockWalk(start, *moves, budget, together, self.layers, self.labels, 2, self.guards)
        met_by_last = blocks.run(lasts, np.array([False, True]), clock.up, clock.threads, tell)
        sets += sum(met.sets for met in met_by_last.values())
        stopped = [met.stopped for _, met in sorted(met_by_last.items()) if met.stopped is not None]
        if stopped:
            return Walked(sets, list(stopped[0]))
        return Walked(sets, None) if len(met_by_last) == len(lasts) else None

    def guards(self, bits: Any, _label: int) -> tuple[Ints, Ints] | None:
        """Return for each case an inequality that fails at the sample; while it fails, the case is
        excluded.
        """
        assert self.patterns.later is not None
        goal = self.patterns.goal
        if len(self.layers) < len(self.patterns.later[0]) - 1 or not all(goal.cases):
            return None
        try:
            weights, min_sums = goal.neurons(self.patterns.first_layer.neighbourhood.network.expanded.head)
        except TooLargeError:
            return None
        missing = min_sums - weights @ bits
        failing = [max(case, key=missing.__getitem__) for case in goal.members]
        return thresholds(-weights[failing], 1 - min_sums[failing]) if failing else None

    def labels(self, patterns: Any) -> Ints:
        """Return whether patterns of the last layer in planes reach the goal."""
        words = patterns
        if self.rows.inputs is not None:
            words = self.rows.words(unpack(patterns, len(self.layers[-1][1])))
        counts = self.rows.network.match_counts(words, threads=1).astype(np.int64)
        assert self.patterns.later is not None
        return np.asarray(self.patterns.goal.violates(counts + self.patterns.later[2])).astype(np.int64)
