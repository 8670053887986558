"""The judge of patterns: what the network says once some fragile neurons have turned,
and how far that is from a goal.

A *pattern* holds one bit for each fragile neuron, set where it has turned against the sample. The layer
behind the first reads patterns as they are: its columns are the fragile neurons, with the sign reversed where
one is active at the sample, and what all the other neurons contribute is part of its tau.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits import pack, unpack, words_for
from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.packed import Rows, is_wide
from sugenet.errors import TooLargeError
from sugenet.problem.first_layer import FirstLayer
from sugenet.problem.goal import Goal

__all__ = ["PatternJudge", "Patterns"]

_UNROLLED = 1 << 22

Patterns = npt.NDArray[np.uint64]
"""One row a pattern: words of 64 fragile neurons each."""


class PatternJudge:
    """Tells how far patterns are from a goal.

    Parameters
    ----------
    front
        The first layer seen from a neighbourhood.
    goal
        What to reach.
    """

    def __init__(self, first_layer: FirstLayer, goal: Goal) -> None:
        self.first_layer, self.goal = first_layer, goal
        self.words = max(1, words_for(len(first_layer.fragile)))
        self.batch = 1 << 13 if self._rows is not None else 1 << 9

    def shortfall(self, patterns: Patterns) -> npt.NDArray[Any]:
        """What each pattern misses of the goal; 0 or less: it is reached.

        Safe to call from several threads.
        """
        parts = [self._shortfall(patterns[k : k + self.batch]) for k in range(0, len(patterns), self.batch)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def pack(self, turned: Any) -> Patterns:
        """Patterns from truth values, one column a fragile neuron or lane."""
        bits = np.asarray(turned)[:, : len(self.first_layer.fragile)]
        return pack(bits) if bits.shape[1] else np.zeros((len(bits), 1), np.uint64)

    def turned(self, patterns: Patterns) -> Bits:
        """Which fragile neurons have turned, one column each."""
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
        """Weights and tau of the later layers over patterns, the head last,
        and what to add to its match counts.

        None where a layer that is not dense would be too large as a dense one.
        """
        network = self.first_layer.neighbourhood.network.cut
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
        """The later layers in packed words; None where they are too large for that, or where wide weights
        over steps are: levels are then faster.
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
        """Weights of the later layers, once those larger than 1 are split."""
        assert self.later is not None
        copies = [np.maximum(np.abs(rows).max(axis=0, initial=0), 1) for rows in self.later[0]]
        outputs = [int(layer_copies.sum()) for layer_copies in copies[1:]] + [len(self.later[0][-1])]
        return sum(
            int(layer_copies.sum()) * count for layer_copies, count in zip(copies, outputs, strict=True)
        )

    @cached_property
    def votes(self) -> tuple[Any, ...] | None:
        """The goal as flat arrays; None where its numbers are too large."""
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
