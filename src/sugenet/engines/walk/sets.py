"""Flip enumeration: all sets of moves up to a budget, each judged by the fragile neurons that it turns
(docs/theory.md 7.3).

Sets with one pattern share one judgement, so the network behind the first layer runs once for each different
pattern. Where no two features fit into the budget together, `singles` does it without a table of what every
move does to every neuron. A level that is walked through without a violation is proved; a violation is of
least cost when all levels below have been.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np

from sugenet.engines.walk.judge import Judge
from sugenet.engines.walk.singles import walk_singles
from sugenet.engines.walk.sweep import WALKERS, lanes_for, sweep
from sugenet.errors import TooLargeError
from sugenet.problem.front import features_that_fit
from sugenet.problem.goal import Goal
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Move, Neighbourhood

__all__ = ["FlipLevel", "flip_level", "prepare_flips"]

_HEAVY = 1 << 60


@dataclass(frozen=True)
class FlipLevel:
    """What was found among the sets of moves whose weights sum to more than `floor` and at most `budget`.

    With `floor` 0 these are all sets up to the budget, the empty one included.
    """

    floor: int
    budget: int
    sets: int
    """Sets walked through."""
    patterns: int
    """Different sets of first-layer neurons that they turn."""
    digest: str
    """Of those patterns, in any order: the sum of splitmix64(z) modulo 2^64, where z is the XOR of
    splitmix64(j + 1) over the neurons j, counted from 0, that are turned. Empty when there is a violation.
    """
    violation: tuple[Move, ...] | None
    """A set of moves of this level that reaches the goal, or None: then none of this level does."""


def flip_level(
    problem: Problem,
    floor: int,
    budget: int,
    *,
    threads: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> FlipLevel | None:
    """Walk all sets of moves whose weights sum to more than `floor` and at most `budget`,
    until one reaches the goal.

    Parameters
    ----------
    problem
        What is asked; the budget of its neighbourhood must allow `budget`.
    floor, budget
        The level, in units of the neighbourhood. A floor of 0 takes in everything up to the budget,
        no move at all included.
    threads
        How many threads may work at once; one per core when not given. The answer does not depend on it.
    stop
        Asked often whether to give up; the answer is then None. May be asked from any thread, one at a time.
    """
    from sugenet.engines.walk.kernels import HEAD, LEAF, SETS, WALKER, walk_sets

    near = problem.near
    assert near.budget is None or budget <= near.budget, (
        "other moves could be needed, and other neurons fragile"
    )
    if sum(near.columns.weights.tolist()) >= _HEAVY:
        raise TooLargeError(
            "the costs are too finely divided for flip enumeration: as whole numbers they leave 60 bits."
        )
    if features_that_fit(replace(near, budget=budget)) <= 1:
        if floor == 0 and problem.replays(()):
            return FlipLevel(floor, budget, 1, 1, "", ())
        found = walk_singles(
            problem, floor if floor > 0 else -1, budget, empty=floor == 0, threads=threads, stop=stop
        )
        return (
            None
            if found is None
            else FlipLevel(floor, budget, found.sets, found.patterns, found.digest, found.violation)
        )
    judge = Judge(problem.front, problem.goal)
    if floor == 0 and judge.shortfall(np.zeros((1, judge.words), np.uint64))[0] <= 0:
        return FlipLevel(floor, budget, 1, 1, "", ())
    start, rows = lanes_for(problem.front)
    quick = judge.later is not None or len(rows) <= judge.batch  # it is only for a good order
    order = _order(
        near, judge.shortfall(judge.pack(start + rows >= 0)) if quick else np.zeros(len(rows), np.int64)
    )
    weight = np.array([near.moves[k].weight for k in order], np.int64)
    runs = np.cumsum(np.diff([near.moves[k].feature for k in order], prepend=-1) != 0)
    after = np.searchsorted(runs, runs, side="right")
    lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], 2 * _HEAVY)
    heaviest = np.append(np.maximum.accumulate(weight[::-1])[::-1], 0)
    low, high = floor if floor > 0 else -1, min(budget, _HEAVY)
    fixed = (np.ascontiguousarray(rows[order]), start, weight, after, lightest, heaviest, low, high, WALKERS)
    together, options = _sizes(near, budget)
    states = np.zeros((WALKERS, HEAD + max(together - 1, 0)), np.int64)
    states[:, WALKER] = range(WALKERS)
    states[1:, LEAF] = len(order)  # single moves are walked once
    about = sum(comb(int(runs[-1]) if len(runs) else 0, k) * options**k for k in range(together + 1))

    def walk(state: Any, quota: int, want: Any, recent: Any, found: Any, counts: Any) -> bool:
        return bool(walk_sets(state, quota, want, *fixed, recent, found, counts))

    swept = sweep(judge, walk, states, about, everything=floor == 0, threads=threads, stop=stop)
    if swept is None:
        return None
    violation = None
    if swept.state is not None:
        chosen = [*swept.state[HEAD : HEAD + swept.state[SETS]], swept.state[LEAF]]
        violation = tuple(near.moves[order[k]] for k in chosen)
    return FlipLevel(floor, budget, swept.sets + (floor == 0), swept.patterns, swept.digest, violation)


def _order(near: Neighbourhood, short: Any) -> list[int]:
    """Numbers of the moves, feature by feature: light features first, among equals those with a move that
    misses least of the goal.
    """
    best: dict[int, tuple[int, Any]] = {}
    for move, missing in zip(near.moves, short.tolist(), strict=True):
        best[move.feature] = min(best.get(move.feature, (move.weight, missing)), (move.weight, missing))
    return sorted(
        range(len(near.moves)),
        key=lambda k: (best[near.moves[k].feature], near.moves[k].feature, near.moves[k].weight),
    )


def _sizes(near: Neighbourhood, budget: int) -> tuple[int, int]:
    """How many features can move together within a budget, and the largest number of moves of one feature."""
    lightest = sorted(int(near.columns.weights[moves].min()) for moves in near.places.values())
    many = (moves.stop - moves.start for moves in near.places.values())
    return sum(1 for used in accumulate(lightest) if used <= budget), max(many, default=0)


def prepare_flips(notify: Callable[[str], None] | None = None) -> None:
    """Load the compiled walks and search; `notify` is told first where something has to be compiled."""
    from sugenet.bnn import DenseLayer, Head, Network
    from sugenet.engines.walk.anneal import search
    from sugenet.engines.walk.choices import exhaust
    from sugenet.engines.walk.kernels import prepare
    from sugenet.problem.regions import L0

    network = Network.of_bits([DenseLayer([[1, 1]], [2])], Head([[1], [-1]]))
    problem = Problem(L0(2).around(network, [1, -1]), Goal(()))
    prepare(
        notify,
        lambda: (
            flip_level(problem, 0, 2),
            exhaust(problem),
            search(problem.front, problem.goal, restarts=1),
        ),
    )
