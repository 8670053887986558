"""Exhaustion: every combination of moves of a neighbourhood that allows them all (docs/theory.md 7.4).

Features are fixed one after another, those that matter most first. Where no fragile neuron can turn or turn
back any more, whatever the rest does, one combination stands for all; the last few features are gone through
as one table of what they add together.

Many combinations of many fragile neurons are walked by blocks, which keep no patterns.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from sugenet.engines.protocol import Engine
from sugenet.engines.walk.combined import Combined, gains_of, options_of, sums_of
from sugenet.engines.walk.judge import PatternJudge
from sugenet.engines.walk.sweep import WALKERS, lanes_for, sweep
from sugenet.problem.clock import Clock
from sugenet.problem.problem import ENUMERATED, Enumerated, Holds, Open, Outcome, Problem, replayed
from sugenet.problem.sizes import combinations_of, see_time, sets_within

__all__ = ["EXHAUST", "MOST_COMBINATIONS", "ends_of", "exhaust", "is_for_blocks"]

MOST_COMBINATIONS = 2.0**34
"""More are not gone through."""
_BLOCK = 1 << 9
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
        judge = PatternJudge(problem.front, problem.goal)
        combined = Combined.of(problem, judge)
        if combined is not None:
            return _outcome(problem, combined.walk(clock))
    return _outcome(problem, exhaust(problem, clock))


def _has_many(problem: Problem) -> bool:
    """Whether there are too many combinations and fragile neurons for patterns to be kept."""
    return combinations_of(problem.near) >= _MANY and len(problem.front.fragile) > _LANES


def is_for_blocks(problem: Problem) -> bool:
    """Whether all combinations are walked by blocks."""
    return _has_many(problem) and Combined.of(problem, PatternJudge(problem.front, problem.goal)) is not None


def _outcome(problem: Problem, found: Enumerated | None) -> Outcome:
    if found is None:
        return Open("exhaust", "the time was up", {})
    if found.violation is not None:
        return replayed(problem, "exhaust", found.violation)
    return Holds("exhaust", ENUMERATED, found.sets)


EXHAUST = Engine("exhaust", _exhaust)
"""Walks all combinations of moves of a region without a budget."""


def exhaust(problem: Problem, clock: Clock) -> Enumerated | None:
    """Go through all combinations of moves, which the neighbourhood must allow, until one reaches the goal;
    None when the time was up.
    """
    from sugenet.engines.walk.kernels import HEAD, LEAF, SETS, WALKER
    from sugenet.engines.walk.twins import walk_choices

    near = problem.near
    see_time(near, clock)
    judge = PatternJudge(problem.front, problem.goal)
    if judge.shortfall(np.zeros((1, judge.words), np.uint64))[0] <= 0:
        return Enumerated(1, 1, ())
    start, rows = lanes_for(problem.front)
    features = options_of(near, rows)
    tail = len(features)  # the features from here on make up the table
    while tail and prod(len(options) for options in features[tail - 1 :]) <= _BLOCK:
        tail -= 1
    gains = [gains_of(options, rows) for options in features]
    block = sums_of(gains[tail:], start)
    least, most = (ends_of(gains, tail, start, pick) for pick in (np.min, np.max))
    first = np.cumsum([0, *(len(options) for options in gains[:tail])])
    sizes = np.array([prod(len(options) for options in features[d:]) for d in range(tail + 1)], np.int64)
    split = next((d for d in range(tail) if sizes[0] // sizes[d] >= 8 * WALKERS), tail)
    fixed = (np.concatenate([*gains[:tail], start[None]]), first, block, least, most, sizes, split, WALKERS)
    states = np.zeros((WALKERS, HEAD + tail), np.int64)
    states[:, WALKER] = range(WALKERS)

    def walk(state: Any, quota: int, want: Any, recent: Any, found: Any, counts: Any) -> bool:
        steps = min(quota, int(sizes[0]) // WALKERS)
        return bool(walk_choices(steps, state, quota, want, *fixed, recent, found, counts))

    swept = sweep(judge, walk, states, int(sizes[0]), clock)
    if swept is None:
        return None
    if swept.state is None:
        return Enumerated(swept.sets, swept.patterns, None)
    depth = int(swept.state[SETS])
    chosen = [
        options[k] for options, k in zip(features, swept.state[HEAD : HEAD + depth].tolist(), strict=False)
    ]
    if depth == tail:
        chosen += next(c for n, c in enumerate(product(*features[tail:])) if n == swept.state[LEAF])
    return Enumerated(swept.sets, swept.patterns, tuple(near.moves[k] for k in chosen if k is not None))


def ends_of(gains: list[Any], tail: int, start: Any, pick: Any) -> Any:
    """The least or most that the features from each of the first ones on can add."""
    rows = [pick(options, axis=0) for options in gains]
    ends = [sum(rows[d:], np.zeros(len(start), np.int64)) for d in range(tail + 1)]
    return np.array(ends).astype(start.dtype)
