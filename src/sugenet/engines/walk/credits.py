"""Branch and bound over sets of moves within a budget, before one hidden layer (docs/theory.md 7.14).

An inequality of the goal needs neurons that do not count at the sample. A neuron needs a certain gain, and a
move has credit for the part that it brings. If the moves that still fit into the budget have too little
credit together, none of their sets is a violation. Each case of the goal is searched separately.
"""

from typing import Any

import numpy as np

from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Ints, make_sure
from sugenet.problem import (
    ENUMERATED,
    Clock,
    FeatureMove,
    Holds,
    Open,
    Outcome,
    Problem,
    features_that_fit,
    replayed,
)

__all__ = ["branch_within_budget"]

_SLICE = 1 << 20
"""Steps between two checks of the clock, a few milliseconds."""
_BRIEF = 1 << 23
"""Steps of a brief search."""
_CELLS = 1 << 24
"""Largest number of moves times neurons; the checker walks larger questions set by set."""
_LARGEST = 1 << 62
_REACH = 256
"""Numbers of features for which the reach of a neuron is computed; with more, all features count."""


def branch_within_budget(problem: Problem, clock: Clock, *, briefly: bool = False) -> Outcome:
    """Decide a problem with a budget and at most one hidden layer; briefly, with few steps over all cases."""
    if len(problem.near.moves) * len(problem.first_layer.active) > _CELLS:
        return Open("branch", "the first layer is too large for branching within a budget", {})
    moves, steps, nodes = _Moves(problem), 0, 0
    for number, case in enumerate(problem.goal.members, start=1):
        clock.tell(f"branch: case {number} of {len(problem.goal.members)}")
        search = _CreditSearch(moves, case)
        while not search.is_over:
            if clock.up():
                return Open("branch", f"the time was up after {nodes + search.nodes:,} nodes", {})
            if briefly and steps > _BRIEF:
                return Open("branch", f"{nodes + search.nodes:,} nodes were not enough", {})
            steps += _SLICE
            violation = search.go_on(_SLICE)
            if violation is not None:
                return replayed(problem, "branch", violation)
        nodes += search.nodes
    return Holds("branch", ENUMERATED)


class _Moves:
    """The moves of a problem, and the neurons that they can turn."""

    def __init__(self, problem: Problem) -> None:
        near, first_layer = problem.near, problem.first_layer
        assert near.budget is not None
        self.near, self.budget = near, near.budget
        self.deltas, self.margins = first_layer.deltas, first_layer.margins
        make_sure(80 * self.deltas.size, "what all changes do to the neurons", "Ask about fewer features.")
        self.weights, self.least = problem.goal.neurons(near.network.expanded.head)
        settled = first_layer.active.copy()
        settled[first_layer.fragile] = False
        self.least = self.least - self.weights @ settled
        self.weights = self.weights[:, first_layer.fragile]
        self.places = [moves.start for moves in near.places.values()]
        self.fits = features_that_fit(near)
        self.prices = near.columns.weights.astype(np.int64)
        sizes = np.diff([*self.places, len(self.prices)])
        self.features = np.repeat(np.arange(len(sizes)), sizes)
        lightest = np.minimum.reduceat(self.prices, self.places) if len(self.prices) else self.prices
        self.lightest = np.cumsum(np.sort(lightest))

    def reach(self, gains: Ints) -> Ints:
        """Return how much sets of moves of 0, 1, 2, ... features can add to each lane at most."""
        best = np.maximum.reduceat(gains, self.places, axis=0) if len(gains) else gains
        best = -np.sort(-np.maximum(best, 0), axis=0)
        sums = np.concatenate([np.zeros((1, gains.shape[1]), np.int64), np.cumsum(best, axis=0)])
        few = min(self.fits, _REACH)
        return np.concatenate([sums[: few + 1], sums[-1:]]) if self.fits > few else sums[: few + 1]


class _CreditSearch:
    """Search of one case with `credit_kernels`."""

    def __init__(self, moves: _Moves, case: tuple[int, ...]) -> None:
        from sugenet.engines.walk import credit_kernels

        self.kernels: Any = credit_kernels
        self.near, self.is_over = moves.near, False
        needs, worth, min_sums, rows = [], [], [], [0]
        gains = []
        for q in case:
            weights = moves.weights[q]
            lanes = np.flatnonzero(weights)
            sign, size = np.sign(weights[lanes]), np.abs(weights[lanes])
            min_sums.append(int(moves.least[q]) - int(weights[weights < 0].sum()))
            needs.append(np.where(sign > 0, -moves.margins[lanes], moves.margins[lanes] + 1))
            gains.append(moves.deltas[:, lanes] * sign)
            worth.append(size)
            rows.append(rows[-1] + len(lanes))
        deltas = moves.deltas
        reach = moves.fits * max(int(deltas.max(initial=0)), -int(deltas.min(initial=0)))
        largest = max(
            (
                self.kernels.SCALE * (int(size.sum()) + abs(bound) + 1) + (2 * reach + 1) * len(size)
                for size, bound in zip(worth, min_sums, strict=True)
            ),
            default=0,
        )
        if largest * (moves.fits + 1) >= _LARGEST:
            raise TooLargeError("the scores are too finely divided or the sums too large for branching.")
        table = np.concatenate([np.zeros((len(moves.prices), 0), np.int64), *gains], axis=1)
        need, count = np.concatenate([np.zeros(0, np.int64), *needs]).astype(np.int64), table.shape[1]
        lanes, moved = np.nonzero(table.T)  # lane by lane, the moves that help first
        amounts = table.T[lanes, moved]
        order = np.lexsort((moved, amounts < 0, lanes))
        lanes, moved, amounts = lanes[order], moved[order], amounts[order]
        begins = np.searchsorted(lanes, np.arange(count + 1))
        rising = begins[:-1] + np.bincount(lanes[amounts > 0], minlength=count)
        taken_by, lane_of = np.nonzero(table)
        self.moves = (
            moves.features,
            moves.prices,
            moves.lightest,
            rising.astype(np.int64),
            begins.astype(np.int64),
            moved.astype(np.int64),
            amounts.astype(np.int64),
            np.searchsorted(taken_by, np.arange(len(table) + 1)).astype(np.int64),
            lane_of.astype(np.int64),
            table[taken_by, lane_of].astype(np.int64),
        )
        self.goal = (
            np.array(rows, np.int64),
            np.concatenate([np.zeros(0, np.int64), *worth]).astype(np.int64),
            np.array(min_sums, np.int64),
            moves.reach(table),
        )
        depths, options = moves.fits + 2, len(table)
        make_sure(8 * depths * (count + 2 * options), "the stack of a search", "Ask about fewer features.")
        self.stack = (
            np.zeros((depths, count), np.int64),
            np.zeros(depths, np.int64),
            np.zeros(options, np.bool_),
            np.zeros(len(moves.lightest), np.bool_),
            np.zeros((depths, options), np.int64),
            np.zeros((depths, options), np.int64),
            np.zeros(depths, np.int64),
            np.zeros(depths, np.int64),
            np.full(depths, -1),
        )
        self.stack[0][0], self.stack[1][0] = need, moves.budget
        self.work = np.zeros(options, np.int64), np.zeros(options, np.int64), np.zeros(len(case), np.int64)
        self.state = np.zeros(self.kernels.STATE, np.int64)

    @property
    def nodes(self) -> int:
        """Number of nodes so far."""
        return int(self.state[self.kernels.NODES])

    def go_on(self, quota: int) -> tuple[FeatureMove, ...] | None:
        """Search for some steps; return the moves of a violation if there is one."""
        status = self.kernels.search(self.state, quota, self.moves, self.goal, self.stack, self.work)
        self.is_over = status != self.kernels.GOES_ON
        if status != self.kernels.VIOLATION:
            return None
        order, following = self.stack[4], self.stack[8]
        depths = range(int(self.state[self.kernels.DEPTH]))
        return tuple(self.near.moves[int(order[depth, following[depth] - 1])] for depth in depths)
