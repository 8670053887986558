"""Exhaustion: every combination of moves of a neighbourhood that allows them all (docs/theory.md 7.4).

They are sets of moves without a budget, walked as in `sets`, features that matter most first. Where no
fragile neuron can turn or turn back any more, whatever the rest does, one combination stands for all; the
last few features are one, whose moves are all their combinations.

Many combinations of many fragile neurons are walked by blocks, which keep no patterns.
"""

from __future__ import annotations

import numpy as np

from sugenet.engines.protocol import Engine
from sugenet.engines.walk.combined import Combined, Groups
from sugenet.engines.walk.judge import PatternJudge
from sugenet.engines.walk.sweep import lanes_for, sweep_sets
from sugenet.problem.clock import Clock
from sugenet.problem.problem import ENUMERATED, Enumerated, Holds, Open, Outcome, Problem, replayed
from sugenet.problem.sizes import combinations_of, see_time, sets_within

__all__ = ["EXHAUST", "MOST_COMBINATIONS", "exhaust", "is_for_blocks"]

MOST_COMBINATIONS = 2.0**34
"""More are not gone through."""
_MANY = 2.0**20
"""From so many combinations on, and with more fragile neurons than a word has bits, patterns are not kept."""
_LANES = 64


def _exhaust(problem: Problem, clock: Clock) -> Outcome:
    combinations = combinations_of(problem.near)
    if sets_within(problem.near) != combinations:
        return Open("exhaust", "exhaustion is for regions without a budget, and this one has one", {})
    if combinations > MOST_COMBINATIONS:
        return Open("exhaust", f"there are {combinations:.3g} combinations, too many to go through", {})
    if _has_many(problem):
        see_time(problem.near, clock)
        judge = PatternJudge(problem.first_layer, problem.goal)
        combined = Combined.of(problem, judge)
        if combined is not None:
            return _outcome(problem, combined.walk(clock))
    return _outcome(problem, exhaust(problem, clock))


def _has_many(problem: Problem) -> bool:
    """Whether there are too many combinations and fragile neurons for patterns to be kept."""
    return combinations_of(problem.near) >= _MANY and len(problem.first_layer.fragile) > _LANES


def is_for_blocks(problem: Problem) -> bool:
    """Whether all combinations are walked by blocks."""
    return (
        _has_many(problem)
        and Combined.of(problem, PatternJudge(problem.first_layer, problem.goal)) is not None
    )


def _outcome(problem: Problem, enumerated: Enumerated | None) -> Outcome:
    if enumerated is None:
        return Open("exhaust", "the time was up", {})
    if enumerated.violation is not None:
        return replayed(problem, "exhaust", enumerated.violation)
    return Holds("exhaust", ENUMERATED, enumerated.sets)


EXHAUST = Engine("exhaust", _exhaust)
"""Walks all combinations of moves of a region without a budget."""


def exhaust(problem: Problem, clock: Clock) -> Enumerated | None:
    """Go through all combinations of moves, which the neighbourhood must allow, until one reaches the goal;
    None when the time was up.
    """
    see_time(problem.near, clock)
    judge = PatternJudge(problem.first_layer, problem.goal)
    if judge.shortfall(np.zeros((1, judge.words), np.uint64))[0] <= 0:
        return Enumerated(1, 1, ())
    start, rows = lanes_for(problem.first_layer)
    if not len(rows):
        return Enumerated(1, 1, None)
    groups = Groups.last_together(problem.near, start, rows)
    sizes, total = groups.sizes, int(combinations_of(problem.near))
    moves = (groups.rows, np.zeros(sum(sizes), np.int64), np.repeat(np.cumsum(sizes), sizes))
    swept = sweep_sets(judge, start, moves, None, len(sizes), total, clock)
    if swept is None:
        return None
    met, chosen = swept
    return Enumerated(met.sets + 1, met.patterns, groups.moves(chosen) if chosen else None)
