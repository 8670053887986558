"""All combinations of few free features, walked by blocks (docs/theory.md 7.4).

Several features are taken as one, whose moves are all their combinations. With one move of each such group at
most, the combinations are sets of moves without a budget, and `blocks` judges 512 of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from sugenet.engines.walk.blocks import BlockWalk
from sugenet.engines.walk.judge import PatternJudge
from sugenet.engines.walk.late import LateJudge, Told
from sugenet.engines.walk.sweep import lanes_for
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood
from sugenet.problem.problem import Enumerated, Problem

__all__ = ["Combined", "Groups", "Options", "sums_of"]

_GROUP = 1 << 9
"""Combinations of the features of one group, at most: as many as are judged at once."""

Options = list[int | None]
"""What a feature may do: numbers of its moves, and None to stay."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Features in groups, each of which is one feature, whose moves are the combinations of their moves."""

    near: Neighbourhood
    features: list[list[Options]]
    """Of each group."""
    rows: Any
    """What each move of a group adds to the lanes, group by group."""

    @classmethod
    def of(cls, near: Neighbourhood, start: Any, rows: Any) -> Groups:
        """Groups of as many features as there is room for."""
        features: list[list[Options]] = []
        for options in _options_of(near, rows):
            if features and prod(map(len, [*features[-1], options])) <= _GROUP:
                features[-1].append(options)
            else:
                features.append([options])
        return cls._made(near, start, rows, features)

    @classmethod
    def last_together(cls, near: Neighbourhood, start: Any, rows: Any) -> Groups:
        """The last features in one group, all others alone."""
        options = _options_of(near, rows)
        tail = len(options) - 1
        while tail and prod(map(len, options[tail - 1 :])) <= _GROUP:
            tail -= 1
        return cls._made(near, start, rows, [*([one] for one in options[:tail]), options[tail:]])

    @classmethod
    def _made(cls, near: Neighbourhood, start: Any, rows: Any, features: list[list[Options]]) -> Groups:
        gains = [[_gains_of(options, rows) for options in group] for group in features]
        return cls(near, features, np.concatenate([sums_of(group_gains, start)[1:] for group_gains in gains]))

    @property
    def sizes(self) -> list[int]:
        """How many moves each group has."""
        return [prod(map(len, group)) - 1 for group in self.features]

    def moves(self, chosen: Sequence[int]) -> tuple[FeatureMove, ...]:
        """The moves of the features, from one move of each of some groups."""
        moves: list[int] = []
        first = 0
        for group, size in zip(self.features, self.sizes, strict=True):
            for number in chosen:
                if first <= number < first + size:  # without the one in which all stay
                    (combination,) = islice(product(*group), number - first + 1, number - first + 2)
                    moves += [k for k in combination if k is not None]
            first += size
        return tuple(self.near.moves[k] for k in sorted(moves))


@dataclass(frozen=True, eq=False)
class Combined:
    """Features in groups, and the layers that are walked in planes."""

    late: LateJudge
    start: Any
    groups: Groups

    @classmethod
    def of(cls, problem: Problem, judge: PatternJudge) -> Combined | None:
        """None if the layers are too large for planes."""
        late = LateJudge.of(judge)
        if late is None:
            return None
        start, rows = lanes_for(problem.first_layer)
        groups = Groups.of(problem.near, start, rows)
        return cls(late, start, groups) if late.reads(groups.rows) else None

    def walk(self, clock: Clock) -> Enumerated | None:
        """Walk all combinations until one reaches the goal; None when the time was up. The sample itself is
        known not to. What is found does not depend on the number of threads.
        """
        sizes, rows = self.groups.sizes, self.groups.rows
        total = prod(size + 1 for size in sizes)
        judge = self.late.judge
        bad = judge.shortfall(judge.pack(self.start + rows >= 0)) <= 0
        if bad.any():
            return Enumerated(1 + len(bad), None, self.groups.moves([int(np.argmax(bad))]))
        if len(sizes) == 1:
            return Enumerated(total, None, None)
        before = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
        weight, n_groups = np.ones(len(before), np.int64), len(sizes)
        layers, labels, guards = self.late.layers, self.late.labels, self.late.guards
        blocks = BlockWalk(self.start, rows, weight, before, n_groups, n_groups, layers, labels, 2, guards)
        lasts = np.flatnonzero(before > 0).tolist()
        told = Told(clock, total, "exhaust")
        met_by_last = blocks.run(lasts, np.array([False, True]), clock.up, clock.threads, told)
        sets = 1 + len(bad) + sum(met.sets for met in met_by_last.values())
        for _, met in sorted(met_by_last.items()):
            if met.stopped is not None:
                return Enumerated(sets, None, self.groups.moves(met.stopped))
        if len(met_by_last) < len(lasts):
            return None
        assert sets == total, "a combination was left out"
        return Enumerated(total, None, None)


def _options_of(near: Neighbourhood, rows: Any) -> list[Options]:
    """The options of every feature that may move, to stay first;
    features that change the lanes most come first.
    """
    all_options: list[Options] = [[None, *range(moves.start, moves.stop)] for moves in near.places.values()]
    return sorted(
        all_options, key=lambda options: -int(np.abs(rows[options[1:]].astype(np.int64)).max(axis=0).sum())
    )


def _gains_of(options: Options, rows: Any) -> Any:
    """What each option of a feature adds to the lanes."""
    nothing = np.zeros_like(rows[0])
    return np.array([nothing if k is None else rows[k] for k in options])


def sums_of(gains: list[Any], start: Any) -> Any:
    """What every combination of features adds to the lanes, in the order of `itertools.product`."""
    sums = np.zeros((1, len(start)), start.dtype)
    for options in gains:
        sums = (sums[:, None] + options[None]).reshape(len(sums) * len(options), len(start))
    return np.ascontiguousarray(sums)
