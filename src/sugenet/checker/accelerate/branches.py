"""Fix one feature after another until no violation is left.

To be ensured: each case of a violation is searched, and the search starts from the question itself. This form
is for one hidden layer and for questions without a budget. There an inequality is a sum over neurons, each of
which turns or does not (`branching`). No code is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call"

from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Bits, Ints
from sugenet.checker.accelerate.branching import GOES_ON, NODES, SET_ASIDE, TOP, VECTOR, VIOLATION, search
from sugenet.checker.accelerate.integers import ArrayProblem, over_neurons, reachable
from sugenet.checker.accelerate.later import cores
from sugenet.checker.limit import Limit
from sugenet.errors import TooLargeError

__all__ = ["branches_seen"]

_PART = 1 << 12
"""Number of nodes between two checks of the clock."""
_SHORT = 1 << 14
"""Number of nodes after which a search is shared between threads."""
_DEEPEST, _ASIDE = 8, 1 << 10
_LARGE, _SUM = 1 << 62, 1 << 31
_DIGITS = 20


def branches_seen(problem: ArrayProblem, threads: int | None = None) -> int | None:
    """Return the number of combinations, or None if one of them is a violation."""
    low, high = reachable(problem.base, problem.features, len(problem.features))
    loose = np.flatnonzero((low >= 0) != (high >= 0))
    if max(np.abs(low).max(initial=0), np.abs(high).max(initial=0)) >= _SUM // 2:
        raise TooLargeError("the sums of the first layer are too large for branch and bound.")
    problem.limit.take(40 * len(loose) * sum(map(len, problem.offered)), "all changes")
    gains = [np.array([gain[loose] for _, gain in row]) for row in problem.offered]
    turning = _Turning(problem.base[loose], gains)
    on = np.flatnonzero(low >= 0)  # active whatever changes
    for case in problem.cases:
        demands = []
        for factors, threshold in case:
            row, bound = over_neurons(problem.head, factors, threshold)
            if sum(map(abs, row.tolist())) + abs(bound) >= _LARGE:
                raise TooLargeError("the scores are too finely divided for branch and bound.")
            demands.append((row[loose].astype(np.int64), bound - int(row[on].sum())))
        lanes = [turning.lanes(*demand) for demand in demands]
        if None not in lanes and _Searching(turning.first, lanes, problem.limit).is_met(threads):
            return None
    return prod(len(options) + 1 for options in problem.features)


class _Turning:
    """The neurons that can turn: slacks and losses if being active helps, and if being idle helps."""

    def __init__(self, base: Ints, gains: list[Ints]) -> None:
        self.first = np.cumsum([0, *map(len, gains)]).astype(np.int64)
        none = np.zeros((0, len(base)), np.int64)
        max_gains, min_gains = (
            np.array([pick(options, axis=0) for options in gains]).reshape(len(gains), len(base))
            for pick in (np.max, np.min)
        )
        self.slack = {1: base + max_gains.sum(axis=0), -1: -1 - base - min_gains.sum(axis=0)}
        self.loss = {
            1: np.concatenate(
                [none, *(top - options for top, options in zip(max_gains, gains, strict=True))]
            ),
            -1: np.concatenate(
                [none, *(options - low for low, options in zip(min_gains, gains, strict=True))]
            ),
        }
        self.spread = (max_gains - min_gains).sum(axis=0)

    def lanes(self, weights: Ints, threshold: int) -> tuple[Any, ...] | None:
        """Return an inequality over these neurons as lanes: slacks, losses, the worth of each word of lanes,
        and the amount that must still count. Return None if it cannot be met.

        A neuron of negative weight counts the absolute weight if it is idle, and the bound rises accordingly.
        """
        good = np.where(weights > 0, self.slack[1], self.slack[-1])
        size = np.abs(weights)
        counts = (size > 0) & (good >= 0)
        always = counts & (good >= self.spread)
        counts &= ~always
        must = threshold - int(weights[weights < 0].sum()) - int(size[always].sum())
        if int(size[counts].sum()) < must:
            return None
        slacks, losses, worth = [], [], []
        for value in np.unique(size[counts]).tolist():
            some = np.flatnonzero(counts & (size == value))
            words = -(-len(some) // 64)
            slack = np.full(64 * words, -1, np.int32)
            slack[: len(some)] = good[some]
            loss = np.zeros((int(self.first[-1]), 64 * words), np.int32)
            lane_losses = np.where(weights[some] > 0, self.loss[1][:, some], self.loss[-1][:, some])
            loss[:, : len(some)] = np.minimum(
                lane_losses, good[some] + 1
            )  # a larger loss is not needed to lose a lane
            slacks.append(slack)
            losses.append(loss)
            worth += [value] * words
        more = -len(worth) % VECTOR
        slacks.append(np.full(64 * more, -1, np.int32))
        losses.append(np.zeros((int(self.first[-1]), 64 * more), np.int32))
        return np.concatenate(slacks), np.concatenate(losses, axis=1), worth + [0] * more, must


class _Searching:
    """The search of one case: all its inequalities must be met."""

    def __init__(self, first: Ints, lanes: list[Any], limit: Limit) -> None:
        self.first, self.limit = first, limit
        options, features = int(first[-1]), len(first) - 1
        self.slack = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in lanes)])
        loss = np.concatenate([np.zeros((options, 0), np.int32), *(part[1] for part in lanes)], axis=1)
        begin = np.cumsum([0, *(len(part[2]) for part in lanes)]).astype(np.int64)
        worth = np.array([value for part in lanes for value in part[2]], np.int64)
        self.must = np.array([part[3] for part in lanes], np.int64)
        amounts = np.unique(loss)
        amounts = amounts[amounts > 0] if amounts.any() else np.ones(1, np.int32)
        rows = options + 2 + features  # largest number of waiting nodes: other options of every feature
        size = loss.size * (4 + len(amounts)) + (rows + _ASIDE) * (4 * len(self.slack) + 8 * features)
        limit.take(2 * size, "the search for a violation")
        planes = np.concatenate([_bits(loss == amount) for amount in amounts.tolist()])
        shift = max(0, (64 * int(worth.sum())).bit_length() - _DIGITS)
        self.question = (begin, worth, self.must, amounts, first, planes.reshape(-1), loss, shift)
        self.rows = rows

    def is_met(self, threads: int | None) -> bool:
        """Return whether some combination meets all inequalities."""
        if not len(self.must):
            return True
        start = (self.slack, np.arange(len(self.first) - 1))
        outcome, _ = self._searched(start, _SHORT)
        if outcome != GOES_ON:
            return outcome == VIOLATION
        outcome, nodes = self._searched(start, None, _DEEPEST)
        if outcome == VIOLATION:
            return True
        with ThreadPoolExecutor(threads or cores()) as pool:
            met = any(one == VIOLATION for one, _ in pool.map(self._searched, nodes))
            pool.shutdown(cancel_futures=True)
            return met

    def _searched(self, node: Any, max_nodes: int | None = None, deepest: int = -1) -> tuple[int, list[Any]]:
        """Search from a node, through at most `max_nodes` nodes; return the result and the deferred nodes."""
        features, words, options = len(self.first) - 1, len(self.slack) // 64, int(self.first[-1])
        slack, free = node
        stack = (
            np.zeros((self.rows, len(self.slack)), np.int32),
            np.zeros((self.rows, features), np.int64),
            np.zeros(self.rows, np.int64),
            np.zeros(self.rows, np.int64),
        )
        stack[0][0], stack[1][0, : len(free)], stack[2][0] = slack, free, len(free)
        n_aside = _ASIDE if deepest >= 0 else 0
        aside = (
            np.zeros((n_aside, len(self.slack)), np.int32),
            np.zeros((n_aside, features), np.int64),
            np.zeros(n_aside, np.int64),
        )
        work = (
            np.zeros(words, np.uint64),
            np.zeros(words * len(self.question[3]), np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(len(self.must), np.int64),
            np.zeros(options * words, np.uint64),
            np.zeros((options, len(self.must)), np.int64),
            np.zeros(options, np.bool_),
            np.zeros(words, np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(options, np.int64),
            np.zeros(features, np.int64),
            np.zeros((features, 2), np.int64),
        )
        state = np.zeros(3, np.int64)
        state[TOP] = 1
        outcome = GOES_ON
        while outcome == GOES_ON and (max_nodes is None or state[NODES] < max_nodes):
            self.limit.look()
            outcome = int(search(state, _PART, deepest, self.question, stack, aside, work))
        indices = range(int(state[SET_ASIDE]))
        return outcome, [(aside[0][k], aside[1][k, : aside[2][k]]) for k in indices]


def _bits(truths: Bits) -> npt.NDArray[np.uint64]:
    """Return rows of truth values, 64 per word, the first in the lowest bit."""
    return np.packbits(truths, axis=1, bitorder="little").view(np.uint64)
