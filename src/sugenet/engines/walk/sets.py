"""Flip enumeration: all sets of moves up to a budget, by the fragile neurons that each set turns
(docs/theory.md 7.3).

Sets with the same pattern share one evaluation, so the later layers run about once per pattern. If no two
features fit into the budget together, `singles` needs no table of the effect of every move on every neuron. A
budget that is enumerated without a violation is proved; a violation has the minimum cost if all smaller
budgets have been enumerated.
"""

from math import comb
from typing import Any

import numpy as np

from sugenet.engines.protocol import Engine
from sugenet.engines.walk.patterns import PatternGoal, PlaneGoal
from sugenet.engines.walk.singles import walk_singles
from sugenet.engines.walk.sweep import lanes_for, sweep_sets
from sugenet.errors import TooLargeError
from sugenet.problem import (
    ENUMERATED,
    Clock,
    Enumerated,
    Holds,
    Interrupted,
    Neighbourhood,
    Open,
    Outcome,
    Problem,
    features_that_fit,
    replayed,
    see_time,
    sets_within,
)

__all__ = ["FLIPS", "flip_level"]

_HEAVY = 1 << 60
_CLOSE = 16
"""Number of neurons by which features are ordered, in `blocks`."""
_MANY = 1 << 24
"""Number of sets from which patterns are not stored: `blocks`."""


def _flips(problem: Problem, clock: Clock) -> Outcome:
    near = problem.near
    if near.budget is None:
        return Open("flips", "flip enumeration needs a budget, and the region has none", {})
    proved: dict[str, Any] = {}
    sets = 0
    for level in _levels(near):
        try:
            enumerated = flip_level(problem, level, clock)
        except KeyboardInterrupt:
            raise Interrupted(proved) from None
        if enumerated is None:
            return Open("flips", f"the time was up on the way to {level * near.unit}", proved)
        if enumerated.violation is not None:
            return replayed(problem, "flips", enumerated.violation)
        clock.tell(f"flips: none of the {enumerated.sets:,} changes up to {level * near.unit} is a violation")
        proved, sets = {"proved_up_to": str(level * near.unit), "proof": ENUMERATED}, enumerated.sets
    return Holds("flips", ENUMERATED, sets)


FLIPS = Engine("flips", _flips)
"""Walks all sets of moves within the budget."""


def _levels(near: Neighbourhood) -> list[int]:
    """Return the budgets to walk, each much more work than the one before, the full budget last."""
    assert near.budget is not None
    levels: list[int] = []
    done = 0.0
    lightest = near.lightest
    for parts in range(1, 8):
        level = lightest * parts
        if level >= near.budget or lightest == 0:
            break
        sets = sets_within(near, level)
        if sets > 50 * max(done, 1e4):
            levels.append(level)
            done = sets
    return [*levels, near.budget]


def flip_level(problem: Problem, budget: int, clock: Clock) -> Enumerated | None:
    """Walk all sets of moves whose weights sum to at most `budget`, until one reaches the goal; None if the
    time was up.

    Parameters
    ----------
    problem
        The problem; the budget of its neighbourhood must allow `budget`.
    budget
        Budget in units of the neighbourhood.
    clock
        The answer does not depend on the number of threads.
    """
    near = problem.near
    assert near.budget is None or budget <= near.budget, (
        "other moves could be needed, and other neurons fragile"
    )
    if sum(near.columns.weights.tolist()) >= _HEAVY:
        raise TooLargeError(
            "the costs are too finely divided for flip enumeration: as integers they exceed 60 bits."
        )
    see_time(near, clock)
    together = features_that_fit(near, budget)
    if together <= 1:
        return walk_singles(problem, budget, clock)
    patterns = PatternGoal(problem.first_layer, problem.goal)
    if patterns.reached(np.zeros((1, patterns.words), np.uint64))[0]:
        return Enumerated(1, ())
    start, rows = lanes_for(problem.first_layer)
    options = max(moves.stop - moves.start for moves in near.places.values())
    about = sum(comb(len(near.places), k) * options**k for k in range(together + 1))
    planes = PlaneGoal.of(patterns, rows) if about >= _MANY else None
    order = _order(near, patterns, start, rows) if planes is None else _alike(near, start, rows)
    weight = near.columns.weights[order]
    runs = np.cumsum(np.diff(near.columns.features[order], prepend=-1) != 0)
    if planes is None:
        moves = rows[order], weight, np.searchsorted(runs, runs, side="right")
        walked = sweep_sets(patterns, start, moves, min(budget, _HEAVY), together, about, clock)
    else:
        moves, total = (rows[order], weight, np.searchsorted(runs, runs)), sets_within(near, budget)
        walked = planes.walk(start, moves, budget, together, "flips", total, clock)
    return (
        None if walked is None else walked.enumerated(lambda chosen: (near.moves[order[k]] for k in chosen))
    )


def _alike(near: Neighbourhood, start: Any, rows: Any) -> list[int]:
    """Return the indices of the moves, feature by feature: light features first. Among equal weights,
    features with the same effect on the neurons nearest to their turn are adjacent, so that fewer differ
    within a block.
    """
    close = np.argsort(np.abs(2 * start.astype(np.int64) + 1), kind="stable")[:_CLOSE]
    weights = near.columns.weights
    features = sorted(
        near.places.values(),
        key=lambda moves: (int(weights[moves].min()), *rows[moves.start, close].tolist()),
    )
    return [k for moves in features for k in range(moves.start, moves.stop)]


def _order(near: Neighbourhood, patterns: PatternGoal, start: Any, rows: Any) -> list[int]:
    """Return the indices of the moves, feature by feature: light features first. Among equal weights, those
    with a move of the smallest shortfall come first, unless that is slow to compute.
    """
    is_quick = patterns.later is not None or len(rows) <= patterns.batch
    short = patterns.shortfall(patterns.pack(start + rows >= 0)).tolist() if is_quick else [0] * len(rows)
    features, _, weights = (column.tolist() for column in near.columns)
    best: dict[int, tuple[int, Any]] = {}
    for feature, pair in zip(features, zip(weights, short, strict=True), strict=True):
        best[feature] = min(best.get(feature, pair), pair)
    return sorted(range(len(features)), key=lambda k: (best[features[k]], features[k], weights[k]))
