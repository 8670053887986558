"""All combinations of few free features, walked by blocks (docs/theory.md 7.4).

Several features are taken as one, whose moves are all their combinations. With one move of each such group at
most, the combinations are sets of moves without a budget, and `blocks` judges 512 of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sugenet.engines.walk.blocks import BlockWalk
from sugenet.engines.walk.judge import PatternJudge
from sugenet.engines.walk.late import LateJudge, Told
from sugenet.engines.walk.sweep import lanes_for
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.problem.problem import Enumerated, Problem

__all__ = ["Combined", "Options", "gains_of", "options_of", "sums_of"]

_GROUP = 1 << 9
"""Combinations of the features of one group, at most: as many as are judged at once."""

Options = list[int | None]
"""What a feature may do: numbers of its moves, and None to stay."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Features in groups, and the layers that are walked in planes."""

    problem: Problem
    late: LateJudge
    start: Any
    rows: Any
    """What each move of a group adds to the lanes."""
    groups: list[list[Options]]
    """The features of each group."""

    @classmethod
    def of(cls, problem: Problem, judge: PatternJudge) -> Combined | None:
        """None if the layers or the sums are too large for planes."""
        late = LateJudge.of(judge)
        if late is None:
            return None
        start, rows = lanes_for(problem.front)
        groups: list[list[Options]] = []
        for options in options_of(problem.near, rows):
            if groups and prod(map(len, [*groups[-1], options])) <= _GROUP:
                groups[-1].append(options)
            else:
                groups.append([options])
        added = [sums_of([gains_of(options, rows) for options in own], start)[1:] for own in groups]
        if not late.reads(moves := np.concatenate(added)):
            return None
        return cls(problem, late, start, moves, groups)

    def walk(self, clock: Clock) -> Enumerated | None:
        """Walk all combinations until one reaches the goal; None when the time was up. The sample itself is
        known not to. What is found does not depend on the number of threads.
        """
        sizes = [prod(map(len, own)) - 1 for own in self.groups]
        total = prod(size + 1 for size in sizes)
        judge = self.late.judge
        bad = judge.shortfall(judge.pack(self.start + self.rows >= 0)) <= 0
        if bad.any():
            return Enumerated(1 + len(bad), None, self._moves((int(np.argmax(bad)),)))
        if len(sizes) == 1:
            return Enumerated(total, None, None)
        before = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
        weight, many = np.ones(len(before), np.int64), len(sizes)
        layers, labels, guards = self.late.layers, self.late.labels, self.late.guards
        blocks = BlockWalk(self.start, self.rows, weight, before, many, many, layers, labels, 2, guards)
        lasts = np.flatnonzero(before > 0).tolist()
        told = Told(clock, total, "exhaust")
        found = blocks.run(lasts, np.array([False, True]), clock.up, clock.threads, told)
        sets = 1 + len(bad) + sum(met.sets for met in found.values())
        for _, met in sorted(found.items()):
            if met.stopped is not None:
                return Enumerated(sets, None, self._moves(met.stopped))
        if len(found) < len(lasts):
            return None
        assert sets == total, "a combination was left out"
        return Enumerated(total, None, None)

    def _moves(self, chosen: tuple[int, ...]) -> tuple[Any, ...]:
        """The moves of the features, from one move of each of some groups."""
        moves: list[int] = []
        first = 0
        for own in self.groups:
            combinations = list(product(*own))[1:]  # without the one in which all stay
            for number in chosen:
                if first <= number < first + len(combinations):
                    moves += [k for k in combinations[number - first] if k is not None]
            first += len(combinations)
        return tuple(self.problem.near.moves[k] for k in sorted(moves))


def options_of(near: Neighbourhood, rows: Any) -> list[Options]:
    """The options of every feature that may move, to stay first;
    features that change the lanes most come first.
    """
    found: list[Options] = [[None, *range(moves.start, moves.stop)] for moves in near.places.values()]
    return sorted(
        found, key=lambda options: -int(np.abs(rows[options[1:]].astype(np.int64)).max(axis=0).sum())
    )


def gains_of(options: Options, rows: Any) -> Any:
    """What each option of a feature adds to the lanes."""
    nothing = np.zeros_like(rows[0])
    return np.array([nothing if k is None else rows[k] for k in options])


def sums_of(gains: list[Any], start: Any) -> Any:
    """What every combination of features adds to the lanes, in the order of `itertools.product`."""
    sums = np.zeros((1, len(start)), start.dtype)
    for options in gains:
        sums = (sums[:, None] + options[None]).reshape(len(sums) * len(options), len(start))
    return np.ascontiguousarray(sums)
