"""Bounds on every layer, worked out again in plain integers.

To be ensured: no change that the question allows turns a neuron that is said to be settled, and no more
neurons turn together than is said; then an inequality of a violation that cannot be met for such neurons
cannot be met at all.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.integers import Demand, Whole, over_neurons, reachable
from sugenet.checker.accelerate.products import Bits, Ints
from sugenet.checker.limit import Limit
from sugenet.checker.problem import max_together
from sugenet.errors import CertificateError

__all__ = ["check_bounds", "exclude", "swing"]


def _max_features(problem: Whole) -> int:
    return max_together((min(price for price, _ in options) for options in problem.features), problem.budget)


def check_bounds(problem: Whole) -> str:
    """See that bounds alone exclude every violation."""
    problem.limit.fits(48 * len(problem.base) * len(problem.features), "the bounds of the first layer")
    low, high = reachable(problem.base, problem.features, _max_features(problem))
    state = problem.base >= 0
    loose = (low >= 0) != (high >= 0)
    limit = _max_turned(problem, loose)
    for weights, tau in problem.layers:
        problem.limit.look()
        problem.limit.fits(40 * weights.size, "the bounds of a layer")
        counts = _count(weights, state)
        min_change, max_change = swing(weights, state, loose, limit)
        loose = (counts + min_change >= tau) != (counts + max_change >= tau)
        state = counts >= tau
        limit = int(loose.sum())
    return exclude(problem.cases, problem.head, state, loose, limit, problem.limit)


def exclude(
    cases: list[list[Demand]], head: Ints, state: Bits, loose: Bits, turning: int, limit: Limit
) -> str:
    """See that no case can be met, where at most so many of the loose neurons before the head turn."""
    for case in cases:
        limit.look()
        rows = [over_neurons(head, *part) for part in case]
        if not (_contradict(rows) or any(_is_impossible(*row, state, loose, turning) for row in rows)):
            raise CertificateError("bounds do not exclude a violation, against what the certificate claims.")
    return "bounds through all layers exclude every violation"


def _count(weights: Ints, state: Bits) -> Ints:
    """Match counts: positive weights of active inputs, negative ones of idle inputs."""
    return np.asarray((np.abs(weights) * np.where(weights > 0, state, ~state)).sum(axis=1))


def swing(weights: Ints, state: Bits, loose: Bits, limit: int) -> tuple[Ints, Ints]:
    """How much the sums can fall and rise when at most `limit` loose inputs turn."""
    part = weights[:, loose]
    turning = np.where(state[loose], -part, part)
    falls, rises = (
        np.sort(np.minimum(turning, 0), axis=1)[:, :limit],
        np.sort(np.maximum(turning, 0), axis=1)[:, ::-1][:, :limit],
    )
    return falls.sum(axis=1), rises.sum(axis=1)


def _is_impossible(row: npt.NDArray[Any], bound: int, state: Bits, loose: Bits, turning: int) -> bool:
    """Whether an inequality over neurons cannot hold, whichever of the loose ones turn."""
    gains = np.where(state, -row, row)[loose]
    return bool(row[state].sum() + sum(sorted(np.maximum(gains, 0), reverse=True)[:turning]) < bound)


def _contradict(rows: list[tuple[npt.NDArray[Any], int]]) -> bool:
    """Whether two inequalities over neurons say ``s >= a`` and ``-s >= b`` of the same sum s,
    with a + b above 0.
    """
    return any((p == -q).all() and a + b > 0 for (p, a), (q, b) in combinations(rows, 2))


def _max_turned(problem: Whole, loose: Bits) -> int:
    """How many loose first-layer neurons can turn together: each needs its distance, and the features bring
    only so much in all.
    """
    count = int(loose.sum())
    if problem.budget is None or not count:
        return count
    fits, state = _max_features(problem), problem.base >= 0
    need = np.where(state, problem.base + 1, -problem.base)[loose]
    sign = np.where(state, -1, 1)[loose]
    if fits <= 1:
        return max(
            (int((sign * gain[loose] >= need).sum()) for options in problem.features for _, gain in options),
            default=0,
        )
    brought = [
        max(int(np.maximum(sign * gain[loose], 0).sum()) for _, gain in options)
        for options in problem.features
    ]
    return max_together(need.tolist(), sum(sorted(brought)[::-1][:fits]))
