"""Local search: greedy moves with restarts. Finds most violations in milliseconds; proves nothing."""

from __future__ import annotations

import numpy as np

from sugenet.reason.front import Front
from sugenet.reason.goal import Goal
from sugenet.reason.regions import Move

__all__ = ["search"]


def search(front: Front, goal: Goal, *, seed: int = 0, restarts: int = 8) -> tuple[Move, ...] | None:
    """A set of moves inside the neighbourhood that violates the property, made as light as dropping moves can; or None.

    Each round starts from the sample (later rounds from a few random moves), always takes the move that brings the scores nearest to a
    violation, and prefers light moves among equals.
    """
    near = front.neighbourhood
    if not near.moves or not len(front.fragile):
        return None
    rng = np.random.default_rng(seed)
    weights = np.array([move.weight for move in near.moves], dtype=object)
    features = np.array([move.feature for move in near.moves])
    best: list[int] | None = None
    for attempt in range(restarts):
        chosen = _random_start(rng, len(near.moves), features, weights, near.budget) if attempt else []
        found = _descend(front, goal, chosen, weights, features, _budget_below(best, weights, near.budget))
        if found is not None:
            found = _thinned(front, goal, found, weights)
            if best is None or sum(weights[found]) < sum(weights[best]):
                best = found
    return None if best is None else tuple(near.moves[number] for number in sorted(best))


def _budget_below(best: list[int] | None, weights: np.ndarray, budget: int | None) -> int | None:
    """Once something is found, only lighter sets are of interest."""
    if best is None:
        return budget
    return int(sum(weights[best])) - 1


def _random_start(rng: np.random.Generator, count: int, features: np.ndarray, weights: np.ndarray, budget: int | None) -> list[int]:
    chosen: list[int] = []
    for number in rng.permutation(count)[: int(rng.integers(1, 4))].tolist():
        lighter = budget is None or sum(weights[chosen]) + weights[number] <= budget
        if lighter and features[number] not in features[chosen]:
            chosen.append(number)
    return chosen


def _descend(
    front: Front, goal: Goal, chosen: list[int], weights: np.ndarray, features: np.ndarray, budget: int | None
) -> list[int] | None:
    chosen = list(chosen)
    margins = front.margins + front.deltas[chosen].sum(axis=0)
    seen = None
    for _ in range(len(set(features.tolist()))):
        room = None if budget is None else budget - sum(weights[chosen])
        free = [n for n in range(len(weights)) if features[n] not in features[chosen] and (room is None or weights[n] <= room)]
        if not free:
            return None
        after = (margins + front.deltas[free]) >= 0
        counts = front.scores(after)
        bad = goal.violates(counts)
        if bad.any():
            options = np.flatnonzero(bad)
            return [*chosen, free[min(options.tolist(), key=lambda k: weights[free[k]])]]
        short = goal.shortfall(counts)
        slack = np.abs(2 * (margins + front.deltas[free]) + 1).sum(axis=1)  # among equals, the one that loosens most neurons
        pick = min(range(len(free)), key=lambda k: (short[k], slack[k], weights[free[k]]))
        if seen is not None and short[pick] > seen:
            return None
        seen = short[pick]
        chosen.append(free[pick])
        margins = margins + front.deltas[free[pick]]
    return None


def _thinned(front: Front, goal: Goal, chosen: list[int], weights: np.ndarray) -> list[int]:
    """Drop moves, heaviest first, as long as the rest still violates."""
    for number in sorted(chosen, key=lambda n: -weights[n]):
        rest = [n for n in chosen if n != number]
        after = (front.margins + front.deltas[rest].sum(axis=0)) >= 0
        if goal.violates(front.scores(after[None, :]))[0]:
            chosen = rest
    return chosen
