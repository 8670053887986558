"""Exhaustion: every combination of moves of a neighbourhood that allows them all (docs/theory.md 7.4).

Several features are combined into one, whose moves are all their combinations. Then the combinations are sets
of moves without a budget, walked as in `sets`, with the features that matter most first. Once no fragile
neuron can turn or turn back for any remaining moves, one combination represents all.

If there are many combinations of many fragile neurons, they are walked by blocks, which store no patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from sugenet.engines.protocol import Engine
from sugenet.engines.walk.patterns import PatternGoal, PlaneGoal
from sugenet.engines.walk.sweep import lanes_for, sweep_sets
from sugenet.problem import (
    ENUMERATED,
    Clock,
    Enumerated,
    FeatureMove,
    Holds,
    Neighbourhood,
    Open,
    Outcome,
    Problem,
    combinations_of,
    replayed,
    see_time,
    sets_within,
)

__all__ = ["EXHAUST", "MAX_COMBINATIONS", "exhaust", "is_for_blocks", "sums_of"]

MAX_COMBINATIONS = 2.0**34
"""Largest number of combinations that are enumerated."""
_MANY, _LANES = 2.0**20, 64
"""Numbers of combinations and of fragile neurons from which combinations are walked by blocks."""
_GROUP = 1 << 9
"""Largest number of combinations of the features of one group, which are evaluated at once."""

Options = list[int | None]
"""Options of a feature: indices of its moves, and None to stay."""


def _exhaust(problem: Problem, clock: Clock) -> Outcome:
    combinations = combinations_of(problem.near)
    if sets_within(problem.near) != combinations:
        return Open("exhaust", "exhaustion is for regions without a budget, and this one has one", {})
    if combinations > MAX_COMBINATIONS:
        return Open("exhaust", f"there are {combinations:.3g} combinations, too many to enumerate", {})
    enumerated = exhaust(problem, clock)
    if enumerated is None:
        return Open("exhaust", "the time was up", {})
    if enumerated.violation is not None:
        return replayed(problem, "exhaust", enumerated.violation)
    return Holds("exhaust", ENUMERATED, enumerated.sets)


EXHAUST = Engine("exhaust", _exhaust)
"""Walks all combinations of moves of a region without a budget."""


def exhaust(problem: Problem, clock: Clock) -> Enumerated | None:
    """Enumerate all combinations of moves, which the neighbourhood must allow, until one reaches the goal;
    None if the time was up.
    """
    near = problem.near
    see_time(near, clock)
    patterns = PatternGoal(problem.first_layer, problem.goal)
    if patterns.reached(np.zeros((1, patterns.words), np.uint64))[0]:
        return Enumerated(1, ())
    start, rows = lanes_for(problem.first_layer)
    if not len(rows):
        return Enumerated(1, None)
    planes = PlaneGoal.of(patterns, rows) if _has_many(problem) else None
    groups = _Groups.of(near, start, rows, are_all=planes is not None)
    sizes, total = groups.sizes, int(combinations_of(near))
    ends, weight = np.cumsum([0, *sizes]), np.ones(sum(sizes), np.int64)
    if planes is None:
        moves = groups.rows, 0 * weight, np.repeat(ends[1:], sizes)
        walked = sweep_sets(patterns, start, moves, None, len(sizes), total, clock)
    else:
        moves = groups.rows, weight, np.repeat(ends[:-1], sizes)
        walked = planes.walk(start, moves, len(sizes), len(sizes), "exhaust", total, clock)
    if walked is None:
        return None
    assert walked.moves is not None or walked.sets == total, "a combination was left out"
    return walked.enumerated(groups.moves)


def _has_many(problem: Problem) -> bool:
    """Return whether there are too many combinations and fragile neurons to store patterns."""
    return combinations_of(problem.near) >= _MANY and len(problem.first_layer.fragile) > _LANES


def is_for_blocks(problem: Problem) -> bool:
    """Return whether all combinations are walked by blocks."""
    if not _has_many(problem):
        return False
    patterns = PatternGoal(problem.first_layer, problem.goal)
    return PlaneGoal.of(patterns, lanes_for(problem.first_layer)[1]) is not None


@dataclass(frozen=True, eq=False)
class _Groups:
    """Features in groups. Each group is one feature, whose moves are the combinations of their moves."""

    near: Neighbourhood
    features: list[list[Options]]
    """Options of each group."""
    rows: Any
    """Contribution of each move of a group to the lanes, group by group."""

    @classmethod
    def of(cls, near: Neighbourhood, start: Any, rows: Any, *, are_all: bool) -> _Groups:
        """Return groups with as many features as fit; or only one group, of the last features, and all others
        alone.
        """
        options, n_alone = _options_of(near, rows), 0
        while not are_all and n_alone < len(options) - 1 and prod(map(len, options[n_alone:])) > _GROUP:
            n_alone += 1
        features = [[one] for one in options[: n_alone + 1]]
        for one in options[n_alone + 1 :]:
            if prod(map(len, [*features[-1], one])) <= _GROUP:
                features[-1].append(one)
            else:
                features.append([one])
        gains = [[_gains_of(one, rows) for one in group] for group in features]
        return cls(near, features, np.concatenate([sums_of(group, start)[1:] for group in gains]))

    @property
    def sizes(self) -> list[int]:
        """Number of moves of each group."""
        return [prod(map(len, group)) - 1 for group in self.features]

    def moves(self, chosen: Sequence[int]) -> tuple[FeatureMove, ...]:
        """Return the moves of the features, from one move of each of some groups."""
        moves: list[int] = []
        first = 0
        for group, size in zip(self.features, self.sizes, strict=True):
            for number in chosen:
                if first <= number < first + size:  # without the one in which all stay
                    (combination,) = islice(product(*group), number - first + 1, number - first + 2)
                    moves += [k for k in combination if k is not None]
            first += size
        return tuple(self.near.moves[k] for k in sorted(moves))


def _options_of(near: Neighbourhood, rows: Any) -> list[Options]:
    """Return the options of every feature that may move, with staying first; features that change the lanes
    most come first.
    """
    all_options: list[Options] = [[None, *range(moves.start, moves.stop)] for moves in near.places.values()]
    return sorted(
        all_options, key=lambda options: -int(np.abs(rows[options[1:]].astype(np.int64)).max(axis=0).sum())
    )


def _gains_of(options: Options, rows: Any) -> Any:
    """Return the contribution of each option of a feature to the lanes."""
    nothing = np.zeros_like(rows[0])
    return np.array([nothing if k is None else rows[k] for k in options])


def sums_of(gains: list[Any], start: Any) -> Any:
    """Return the contribution of every combination of features, in the order of `itertools.product`."""
    sums = np.zeros((1, len(start)), start.dtype)
    for options in gains:
        sums = (sums[:, None] + options[None]).reshape(len(sums) * len(options), len(start))
    return np.ascontiguousarray(sums)
