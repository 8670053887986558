"""Exhaustion: every combination of moves of a neighbourhood that allows them all (docs/theory.md 7.4).

Features are fixed one after another, those that matter most first. Where no fragile neuron can turn or turn
back any more, whatever the rest does, one combination stands for all; the last few features are gone through
as one table of what they add together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sugenet.engines.walk.judge import Judge
from sugenet.engines.walk.sweep import WALKERS, lanes_for, sweep
from sugenet.errors import QuestionError, TooLargeError
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Move, Neighbourhood

__all__ = ["Exhausted", "combinations", "exhaust"]

_BLOCK = 1 << 9
_MOST = 1 << 40


@dataclass(frozen=True)
class Exhausted:
    """What was found among all combinations."""

    sets: int
    """Combinations covered, no move at all included."""
    patterns: int
    """Different sets of first-layer neurons that they turn."""
    digest: str
    """Of those patterns, as in `FlipLevel`; empty when there is a violation."""
    violation: tuple[Move, ...] | None
    """Moves that reach the goal, or None: then no combination does."""


def combinations(near: Neighbourhood) -> int | None:
    """Number of combinations of moves, none included; None where the budget does not allow them all."""
    if (
        near.budget is not None
        and sum(int(near.columns.weights[moves].max()) for moves in near.places.values()) > near.budget
    ):
        return None
    return prod(int(moves.stop) - int(moves.start) + 1 for moves in near.places.values())


def exhaust(
    problem: Problem, *, threads: int | None = None, stop: Callable[[], bool] = lambda: False
) -> Exhausted | None:
    """Go through all combinations of moves until one reaches the goal; None when stopped.

    Parameters
    ----------
    problem
        What is asked; its neighbourhood has no budget, or one that allows everything.
    threads, stop
        As in `flip_level`.
    """
    from sugenet.engines.walk.kernels import HEAD, LEAF, SETS, WALKER, walk_choices

    near = problem.near
    sets = combinations(near)
    if sets is None:
        raise QuestionError(
            f"a budget of {near.budget} does not allow all combinations of moves; "
            f"walk the sets within it by flip_level."
        )
    if sets > _MOST:
        raise TooLargeError(f"{sets:,} combinations are too many to go through.")
    judge = Judge(problem.front, problem.goal)
    if judge.shortfall(np.zeros((1, judge.words), np.uint64))[0] <= 0:
        return Exhausted(1, 1, "", ())
    start, rows = lanes_for(problem.front)
    features = _features(near, rows)
    tail = len(features)  # the features from here on make up the table
    while tail and prod(len(options) for options in features[tail - 1 :]) <= _BLOCK:
        tail -= 1
    gains = [
        np.array([np.zeros_like(start) if k is None else rows[k] for k in options]) for options in features
    ]
    block = _sums(gains[tail:], start)
    least, most = (_bounds(gains, tail, pick) for pick in (np.min, np.max))
    first = np.cumsum([0, *(len(options) for options in gains[:tail])])
    sizes = np.array([prod(len(options) for options in features[d:]) for d in range(tail + 1)], np.int64)
    split = next((d for d in range(tail) if sizes[0] // sizes[d] >= 8 * WALKERS), tail)
    fixed = (np.concatenate([*gains[:tail], start[None]]), first, block, least, most, sizes, split, WALKERS)
    states = np.zeros((WALKERS, HEAD + tail), np.int64)
    states[:, WALKER] = range(WALKERS)

    def walk(state: Any, quota: int, want: Any, recent: Any, found: Any, counts: Any) -> bool:
        return bool(walk_choices(state, quota, want, *fixed, recent, found, counts))

    swept = sweep(judge, walk, states, sets, everything=True, threads=threads, stop=stop)
    if swept is None:
        return None
    if swept.state is None:
        return Exhausted(swept.sets, swept.patterns, swept.digest, None)
    depth = int(swept.state[SETS])
    chosen = [
        options[k] for options, k in zip(features, swept.state[HEAD : HEAD + depth].tolist(), strict=False)
    ]
    if depth == tail:
        chosen += next(c for n, c in enumerate(product(*features[tail:])) if n == swept.state[LEAF])
    return Exhausted(swept.sets, swept.patterns, "", tuple(near.moves[k] for k in chosen if k is not None))


def _features(near: Neighbourhood, rows: Any) -> list[list[int | None]]:
    """The options of every feature that may move, to stay (None) first;
    features that change the lanes most come first.
    """
    found: list[list[int | None]] = [
        [None, *range(moves.start, moves.stop)] for moves in near.places.values()
    ]
    return sorted(
        found, key=lambda options: -int(np.abs(rows[options[1:]].astype(np.int64)).max(axis=0).sum())
    )


def _sums(gains: list[Any], start: Any) -> Any:
    """What every combination of features adds, in the order of `itertools.product`."""
    sums = np.zeros((1, len(start)), start.dtype)
    for options in gains:
        sums = (sums[:, None] + options[None]).reshape(-1, len(start))
    return np.ascontiguousarray(sums)


def _bounds(gains: list[Any], tail: int, pick: Any) -> Any:
    """The least or most that the features from each of the first ones on can add."""
    rows = [pick(options, axis=0) for options in gains]
    width = gains[0].shape[1] if gains else 64
    return np.array([sum(rows[d:], np.zeros(width, np.int64)) for d in range(tail + 1)]).astype(
        gains[0].dtype if gains else np.int8
    )
