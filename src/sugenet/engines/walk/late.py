"""What a walk by blocks needs of a problem: which layers it takes in planes, and who judges the patterns
behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.bits import unpack
from sugenet.bnn.arrays import Ints
from sugenet.bnn.packed import Rows
from sugenet.engines.walk.blocks import fits, in_planes, thresholds
from sugenet.engines.walk.judge import PatternJudge
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock

__all__ = ["LateJudge", "Told"]


@dataclass(frozen=True, eq=False)
class LateJudge:
    """The layers behind the first that go in planes, and who judges what comes out: 1 is a violation."""

    judge: PatternJudge
    layers: list[tuple[Ints, Ints]]
    """Weights and tau over lanes, then over the layer before."""
    rows: Rows

    @classmethod
    def of(cls, judge: PatternJudge) -> LateJudge | None:
        """None where the network has no second layer, or weights other than -1, 0 and 1 in it."""
        if judge.later is None:
            return None
        weights, taus, _ = judge.later
        n_layers = in_planes(list(zip(weights, taus, strict=True))[:-1])
        if not n_layers:
            return None
        try:
            rows = Rows.of(weights[n_layers:], taus[n_layers:], None, "auto")
        except TooLargeError:
            return None
        lanes = 64 * judge.words
        first = np.zeros((len(taus[0]), lanes), np.int64)
        first[:, : weights[0].shape[1]] = weights[0]
        return cls(judge, list(zip([first, *weights[1:n_layers]], taus[:n_layers], strict=True)), rows)

    def reads(self, rows: Any) -> bool:
        """Whether the planes of moves that add `rows` to the lanes are small enough."""
        return fits(rows)

    def guards(self, bits: Any, _label: int) -> tuple[Ints, Ints] | None:
        """Of each case an inequality that fails at the sample, whose failing excludes the case."""
        assert self.judge.later is not None
        if len(self.layers) < len(self.judge.later[0]) - 1 or not all(self.judge.goal.cases):
            return None
        try:
            weights, min_sums = self.judge.goal.neurons(self.judge.first_layer.neighbourhood.network.cut.head)
        except TooLargeError:
            return None
        missing = min_sums - weights @ bits
        failing = [max(case, key=missing.__getitem__) for case in self.judge.goal.members]
        return thresholds(-weights[failing], 1 - min_sums[failing]) if failing else None

    def labels(self, patterns: Any) -> Ints:
        """Whether patterns are violations."""
        words = patterns
        if self.rows.inputs is not None:
            words = self.rows.words(unpack(patterns, len(self.layers[-1][1])))
        counts = self.rows.network.match_counts(words, threads=1).astype(np.int64)
        assert self.judge.later is not None
        return np.asarray(self.judge.goal.shortfall(counts + self.judge.later[2]) <= 0).astype(np.int64)


class Told:
    """Tells a clock's listener how far a walk is, one share of ten after another."""

    def __init__(self, clock: Clock, total: float, engine: str = "flips") -> None:
        self.clock, self.total, self.engine, self.done, self.told = clock, total, engine, 0, 0

    def __call__(self, sets: int) -> None:
        self.done += sets
        share = int(10 * self.done / self.total)
        if share > self.told and share < 10:
            self.told = share
            self.clock.tell(f"{self.engine}: {10 * share} % of {int(self.total):,} changes")
