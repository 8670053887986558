"""Polarized bounds through all layers: what no allowed set of moves can change (DESIGN section 4).

The first layer is bounded feature by feature, with the budget. Behind it an unknown neuron counts as both off and on, and with a budget
it also counts *how many* can turn at once: a neuron is settled when not even the worst choice of that many carries it over its threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sugenet.bnn.conv import dense_of
from sugenet.bnn.layers import Bits, Ints
from sugenet.errors import NetworkError
from sugenet.reason.front import Front, features_that_fit
from sugenet.reason.outcomes import Holds, Open
from sugenet.reason.problem import Problem

__all__ = ["Bounded", "bound", "by_bounds", "turned_at_once"]


@dataclass(frozen=True)
class Bounded:
    """What bounds say about a problem."""

    unsettled: tuple[int, ...]
    """Neurons of each layer that may turn."""
    open_cases: tuple[int, ...]
    """Cases of the goal that bounds do not exclude; none: no violation exists."""


def by_bounds(problem: Problem) -> Holds | Open:
    """Settle a problem by bounds alone, where they suffice."""
    try:
        found = bound(problem)
    except NetworkError as error:
        return Open("bounds", str(error), {})
    if not found.open_cases:
        return Holds("bounds", {"kind": "bounds"})
    facts = {"unsettled": list(found.unsettled), "open_cases": len(found.open_cases), "cases": len(problem.goal.cases)}
    return Open("bounds", f"bounds leave {len(found.open_cases)} of {len(problem.goal.cases)} cases open", facts)


def bound(problem: Problem) -> Bounded:
    """Bound every layer and the inequalities of the goal."""
    front, network = problem.front, problem.near.network
    unknown = np.zeros(len(front.active), bool)
    unknown[front.fragile] = True
    active, most = front.active, turned_at_once(front)
    counts = [int(unknown.sum())]
    for layer in network.layers[1:]:
        dense = dense_of(layer)
        least = dense.tau + np.minimum(dense.weights, 0).sum(axis=1)
        low, high = _sums(dense.weights, active, unknown, most)
        active = dense.weights @ active >= least
        unknown = (low >= least) != (high >= least)
        most = int(unknown.sum())
        counts.append(most)
    weights, least = problem.goal.neurons(network.head)
    high = _sums(weights, active, unknown, most)[1]
    possible = high >= least
    cases = tuple(
        number for number, case in enumerate(problem.goal.members) if possible[list(case)].all() and not _contradict(weights, least, case)
    )
    return Bounded(tuple(counts), cases)


def _contradict(weights: Ints, least: Ints, case: tuple[int, ...]) -> bool:
    """Whether two inequalities of a case over opposite weights cannot both hold."""
    bounds: dict[bytes, int] = {}
    for row in case:
        same = weights[row].tobytes()
        bounds[same] = max(bounds.get(same, int(least[row])), int(least[row]))
    return any(bounds.get((-weights[row]).tobytes(), -int(least[row])) + int(least[row]) > 0 for row in case)


def _sums(weights: Ints, active: Bits, unknown: Bits, most: int) -> tuple[Ints, Ints]:
    """Least and largest weighted sum of active inputs, when at most `most` of the unknown ones differ from what they are."""
    here = weights @ active
    change = np.where(active, -weights, weights)[:, unknown]  # what turning an input adds
    if most < change.shape[1]:
        change = np.sort(change, axis=1)
        return here + np.minimum(change[:, :most], 0).sum(axis=1), here + np.maximum(change[:, change.shape[1] - most :], 0).sum(axis=1)
    return here + np.minimum(change, 0).sum(axis=1), here + np.maximum(change, 0).sum(axis=1)


def turned_at_once(front: Front) -> int:
    """No allowed set of moves turns more first-layer neurons than this.

    Each neuron needs its distance to the threshold; a set of moves brings at most what its features bring together to all of them.
    """
    fragile, near = len(front.fragile), front.neighbourhood
    if near.budget is None or not fragile:
        return fragile
    fits = features_that_fit(near)
    toward = np.where(front.active[front.fragile], -front.deltas, front.deltas)  # what a move does towards turning each neuron
    need = np.where(front.margins >= 0, front.margins + 1, -front.margins)
    if fits <= 1:
        return int((toward >= need).sum(axis=1).max(initial=0))
    brought = np.maximum(toward, 0).sum(axis=1)
    best: dict[int, int] = {}
    for move, gain in zip(near.moves, brought.tolist(), strict=True):
        best[move.feature] = max(best.get(move.feature, 0), gain)
    total = sum(sorted(best.values(), reverse=True)[:fits])
    return min(fragile, int((np.cumsum(np.sort(need)) <= total).sum()))
