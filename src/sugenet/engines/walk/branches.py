"""Branch and bound over the free features of a network with one hidden layer (docs/theory.md 7.13).

An inequality of the goal is a sum over hidden neurons, each of which counts or does not. For the most
favourable options of all features that are not fixed, a neuron either can still count or is lost permanently.
The neurons that can still count bound the sum. Each case of the goal is searched separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.bits import pack
from sugenet.bits.threads import search_in_order
from sugenet.engines.protocol import Engine
from sugenet.engines.walk.credits import branch_within_budget
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
    TimeUpError,
    heaviest,
    replayed,
    see_time,
)

__all__ = ["BRANCH", "BRANCH_BRIEFLY"]

_BRIEF = 1 << 11
"""Nodes of a brief search, over all cases."""
_LIGHT = 1 << 20
"""Largest number of moves times neurons that can turn for a brief search."""
_SLICE = 1 << 12
"""Nodes between two checks of the clock, a few milliseconds."""
_FIRST = 1 << 14
"""Nodes of each case before a long search of one case in all threads."""
_DEEPEST, _ROOM = 8, 1 << 10
"""Depth at which a long search is split into subtrees, and their maximum number."""
_WIDEST = 1 << 12
"""Maximum words of lanes: if more are needed, the weights of neurons differ too much."""
_DIGITS = 20
"""Binary digits of losses that are used to choose a feature."""


def _branch(problem: Problem, clock: Clock, max_nodes: int | None = None) -> Outcome:
    near = problem.near
    see_time(near, clock)
    if len(near.network.expanded.layers) > 1:
        return Open("branch", "branching is for networks with one hidden layer, and this one has more", {})
    if max_nodes is not None and len(near.moves) * len(problem.first_layer.fragile) > _LIGHT:
        return Open("branch", "there is too much to look at briefly", {})
    if near.budget is not None and near.budget < heaviest(near):
        return branch_within_budget(problem, clock, briefly=max_nodes is not None)
    lanes = _Lanes(problem)
    searches = [search for case in problem.goal.members if (search := lanes.search(case)) is not None]
    searches.sort(key=lambda search: -search.gap)  # violations are most likely there
    try:
        left = max_nodes
        for search in searches:
            if search.run(_FIRST if left is None else left, clock.up):
                return replayed(problem, "branch", lanes.moves(search.violation))
            if left is not None:
                left -= search.nodes
                if not search.is_whole:
                    return Open("branch", f"{max_nodes:,} nodes were not enough", {})
        long = [search for search in searches if not search.is_whole]
        for number, search in enumerate(long):
            clock.tell(f"branch: case {number + 1} of {len(long)}")
            chosen = search.at_length(clock)
            if chosen is not None:
                return replayed(problem, "branch", lanes.moves(chosen))
    except TimeUpError:
        nodes = sum(search.nodes for search in searches)
        return Open("branch", f"the time was up after {nodes:,} nodes", {})
    return Holds("branch", ENUMERATED)


BRANCH = Engine("branch", _branch)
"""Branches over the features of a region without a budget, before one hidden layer."""
BRANCH_BRIEFLY = Engine("branch", lambda problem, clock: _branch(problem, clock, _BRIEF))
"""The same for a few milliseconds."""


class _Lanes:
    """Losses of the neurons that can turn under the options of all features, for either sign."""

    def __init__(self, problem: Problem) -> None:
        self.near, self.first_layer = problem.near, problem.first_layer
        first_layer, near = self.first_layer, self.near
        n_fragile = len(first_layer.fragile)
        sizes = [1 + moves.stop - moves.start for moves in near.places.values()]
        self.first = np.cumsum([0, *sizes]).astype(np.int64)
        rows = int(self.first[-1])
        make_sure(40 * rows * n_fragile, "what all changes do to the neurons", "Ask about fewer features.")
        self.options: list[int | None] = [
            k for moves in near.places.values() for k in (None, *range(moves.start, moves.stop))
        ]
        gains = np.zeros((rows, n_fragile), np.int64)
        gains[[k is not None for k in self.options]] = first_layer.deltas
        max_gains, min_gains = (
            np.ufunc.reduceat(pick, gains, self.first[:-1], axis=0) if rows else gains
            for pick in (np.maximum, np.minimum)
        )
        self.slacks = np.stack(
            [first_layer.margins + max_gains.sum(axis=0), -1 - first_layer.margins - min_gains.sum(axis=0)]
        )
        self.losses = np.stack(
            [np.repeat(max_gains, sizes, axis=0) - gains, gains - np.repeat(min_gains, sizes, axis=0)]
        )
        self.all_of_them = (max_gains - min_gains).sum(axis=0)
        self.weights, self.least = problem.goal.neurons(near.network.expanded.head)
        settled = first_layer.active.copy()
        settled[first_layer.fragile] = False
        self.least = self.least - self.weights @ settled
        self.weights = self.weights[:, first_layer.fragile]

    def search(self, case: tuple[int, ...]) -> _CaseSearch | None:
        """Return the search of one case; None if one of its inequalities can never hold."""
        rows, begin, worth, min_sums = [0], [0], [], []
        slacks: list[Ints] = []
        losses: list[Ints] = []
        gap = None
        for q in case:
            weights = self.weights[q]
            sign, size = (weights < 0).astype(np.int64), np.abs(weights)
            slack = self.slacks[sign, np.arange(len(sign))]
            counts = (size > 0) & (slack >= 0)
            sure = counts & (slack >= self.all_of_them)
            bound = int(self.least[q]) - int(weights[sign > 0].sum()) - int(size[sure].sum())
            counts &= ~sure
            unit = max(1, int(np.gcd.reduce(size[counts]))) if counts.any() else 1
            bound = -(-bound // unit)
            room = int(size[counts].sum()) // unit - bound
            if room < 0:
                return None
            gap = room if gap is None else min(gap, room)
            for value in np.unique(size[counts]).tolist():
                chosen = np.flatnonzero(counts & (size == value))
                slacks.append(slack[chosen])
                losses.append(self.losses[sign[chosen], :, chosen].T)
                worth.append(value // unit)
                begin.append(begin[-1] + _words(len(chosen)))
                if begin[-1] > _WIDEST:
                    raise TooLargeError("neurons count too differently for branching.")
            rows.append(len(worth))
            min_sums.append(bound)
        goal = tuple(np.array(row, np.int64) for row in (rows, begin, worth, min_sums))
        return _CaseSearch(self.first, goal, _laid_out(slacks, losses, begin, len(self.options)), gap or 0)

    def moves(self, picked: Ints) -> tuple[FeatureMove, ...]:
        """Return the moves of an option per feature."""
        chosen = (self.options[o] for o in picked.tolist())
        return tuple(self.near.moves[k] for k in chosen if k is not None)


def _words(lanes: int) -> int:
    from sugenet.engines.walk.branch_kernels import LANES, VECTOR

    return -(-lanes // (LANES * VECTOR)) * VECTOR


def _laid_out(slacks: list[Ints], losses: list[Ints], begin: list[int], options: int) -> tuple[Any, Any]:
    """Return slacks and losses of all lanes. Groups are padded to complete vectors by lanes that are lost
    from the start. Losses beyond a slack are cut to the slack plus one.
    """
    largest = max((int(slack.max(initial=0)) for slack in slacks), default=0) + 1
    kinds = [kind for kind in (np.int8, np.int32) if largest <= np.iinfo(kind).max]  # two: little is compiled
    if not kinds:
        raise TooLargeError("the first layer's sums are too large for branching: they must stay below 2^31.")
    slack = np.full(64 * begin[-1], -1, kinds[0])
    loss = np.zeros((options, 64 * begin[-1]), kinds[0])
    for start, lane_slacks, taken in zip(begin, slacks, losses, strict=False):
        slack[64 * start : 64 * start + len(lane_slacks)] = lane_slacks
        loss[:, 64 * start : 64 * start + len(lane_slacks)] = np.minimum(taken, lane_slacks + 1)
    return slack, loss


@dataclass
class _Stack:
    """Position of a search: slacks, free features and options at every depth."""

    state: Ints
    arrays: tuple[Any, ...]
    work: tuple[Any, ...]


class _CaseSearch:
    """Search of one case with `branch_kernels`."""

    def __init__(self, first: Ints, goal: tuple[Ints, ...], lanes: tuple[Any, Any], gap: int) -> None:
        from sugenet.engines.walk import branch_kernels

        self.kernels: Any = branch_kernels
        self.first, self.goal, self.gap = first, goal, gap
        self.slack, loss = lanes
        ones = len(loss) > 0 and loss.max(initial=0) <= 1
        planes = pack(loss > 0).reshape(-1) if ones else np.zeros(0, np.uint64)
        self.options = (loss, first, len(self.slack), planes)
        total = int((goal[2] * np.diff(goal[1])).sum()) * 64
        self.shift = max(0, total.bit_length() - _DIGITS)
        self.nodes, self.is_whole = 0, False
        self.violation: Ints = np.zeros(0, np.int64)

    def run(self, quota: int, up: Callable[[], bool]) -> bool:
        """Search up to `quota` nodes; return whether there is a violation."""
        stack, status = self._stack(), self.kernels.GOES_ON
        none = np.zeros((0, len(self.first) - 1), np.int64)
        while status == self.kernels.GOES_ON and stack.state[self.kernels.NODES] < quota:
            if up():
                raise TimeUpError
            status = self._go(stack, -1, none, min(_SLICE, quota - int(stack.state[self.kernels.NODES])))
        self.is_whole = status == self.kernels.WHOLE
        return self._is_violated(stack, status)

    def at_length(self, clock: Clock) -> Ints | None:
        """Search everything, split into subtrees that threads share; return a violation, which does not
        depend on the number of threads.
        """
        stack = self._stack()
        aside = np.zeros((_ROOM, len(self.first) - 1), np.int64)
        status = self.kernels.GOES_ON
        while status == self.kernels.GOES_ON:
            clock.see()
            status = self._go(stack, _DEEPEST, aside)
        if self._is_violated(stack, status):
            return self.violation
        subtrees = aside[: stack.state[self.kernels.ASIDE]]

        def search(number: int, is_stopped: Callable[[], bool]) -> list[Ints] | None:
            """Return the violation of a subtree, if it has one; None if stopped."""
            stack, status = self._stack(subtrees[number]), self.kernels.GOES_ON
            while status == self.kernels.GOES_ON:
                if is_stopped():
                    return None
                status = self._go(stack, -1, aside[:0])
            return (
                [stack.arrays[3][stack.state[self.kernels.DEPTH]]] if status == self.kernels.VIOLATION else []
            )

        results = search_in_order(len(subtrees), lambda: search, bool, clock.up, clock.threads)
        violations = [violation for _, result in sorted(results.items()) for violation in result]
        if not violations and len(results) < len(subtrees):
            raise TimeUpError
        return violations[0] if violations else None

    def _is_violated(self, stack: _Stack, status: int) -> bool:
        self.violation = stack.arrays[3][stack.state[self.kernels.DEPTH]]
        return bool(status == self.kernels.VIOLATION)

    def _go(self, stack: _Stack, deepest: int, aside: Ints, quota: int = _SLICE) -> int:
        before = int(stack.state[self.kernels.NODES])
        status = self.kernels.branch(
            stack.state,
            quota,
            deepest,
            aside,
            self.options,
            self.goal,
            stack.arrays,
            stack.work,
            self.shift,
        )
        self.nodes += int(stack.state[self.kernels.NODES]) - before
        return int(status)

    def _stack(self, picked: Iterable[int] = ()) -> _Stack:
        features, lanes = len(self.first) - 1, len(self.slack)
        options, words, rows = int(self.first[-1]), lanes // self.kernels.LANES, len(self.goal[3])
        widest = int(np.diff(self.first).max(initial=1))
        loss = self.options[0]
        depths = features + 1
        size = depths * (lanes * loss.itemsize + 16 * features + 8 * widest) + 8 * options * (
            words + rows + 4
        )
        make_sure(size, "the stack of a search", "Ask about fewer features.")
        slack, pick = np.empty((depths, lanes), loss.dtype), np.full((depths, features), -1)
        free = np.zeros((depths, features), np.int64)
        taken = [(f, o) for f, o in enumerate(picked) if o >= 0]
        rest = sorted(set(range(features)) - {f for f, _ in taken})
        wide = self.slack.astype(np.int64)
        for f, o in taken:
            pick[0, f] = o
            wide -= loss[o]
        slack[0] = np.maximum(wide, -1)
        free[0, : len(rest)] = rest
        n_free, left = np.zeros(depths, np.int64), np.full(depths, -1)
        n_free[0] = len(rest)
        arrays = (slack, free, n_free, pick, np.zeros((depths, widest), np.int64), left)
        work = (
            np.zeros(words, np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(rows, np.int64),
            np.zeros(options * words, np.uint64),
            np.zeros((options, rows), np.int64),
            np.zeros(options, np.bool_),
            np.zeros(words, np.uint64),
            np.zeros(words, np.uint64),
            np.zeros(options, np.int64),
            np.zeros(features, np.int64),
            np.zeros((features, 2), np.int64),
        )
        return _Stack(np.zeros(self.kernels.STATE, np.int64), arrays, work)
