"""Local search: simulated annealing over sets of moves.

It finds most violations in milliseconds and proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from sugenet.bits import pack
from sugenet.bits.threads import share
from sugenet.engines.protocol import Engine
from sugenet.engines.walk.patterns import PatternGoal
from sugenet.engines.walk.sweep import lanes_for
from sugenet.errors import TooLargeError
from sugenet.problem import (
    Clock,
    FeatureMove,
    Open,
    Outcome,
    Problem,
    combinations_of,
    heaviest,
    replayed,
    see_time,
    sets_within,
)

__all__ = ["SEARCH", "Patience", "search"]

_SETTLED = 2.0**24
"""Number of sets that a walk enumerates so fast that a long search does not pay off."""
_STEPS = 20_000
_WORK = 1 << 28
_HOT, _COLD = 2.0, 0.25  # temperatures, in units of the largest factor of the goal
_WARM = 1.0  # start temperature of a patient search
_LONG, _LONGEST = 50_000, 400_000  # steps of its attempts
_TURNS, _AT_ONCE = 16, 4  # attempts before they get longer; attempts that share the threads
_NEVER = 1 << 60


def _search(problem: Problem, clock: Clock) -> Outcome:
    few = min(sets_within(problem.near), combinations_of(problem.near)) <= _SETTLED
    moves = search(problem, clock, restarts=4 if few else 16, light=False)
    if moves is None:
        return Open("search", "local search found nothing", {})
    return replayed(problem, "search", moves)


SEARCH = Engine("search", _search)
"""Finds violations, never proves."""


def search(
    problem: Problem,
    clock: Clock,
    *,
    turn: int = 0,
    restarts: int = 16,
    light: bool = True,
    keep: Callable[[tuple[FeatureMove, ...]], object] | None = None,
) -> tuple[FeatureMove, ...] | None:
    """Return a set of moves inside the neighbourhood that reaches the goal, as light as the search can
    make it; or None.

    Parameters
    ----------
    problem
        The problem.
    clock
        Checked before every attempt. If the time is up, the best set so far is returned; otherwise the answer
        depends only on its seed and the turn.
    turn
        Another turn may find another answer.
    restarts
        Attempts without success after which the search gives up.
    light
        Whether to continue for lighter sets after one is found.
    keep
        Called with every set as soon as it is found, so that Ctrl-C loses none.
    """
    near, annealer = problem.near, _Annealer.of(problem, clock)
    if annealer is None:
        return None
    rng = np.random.default_rng(clock.seed + turn)
    best: list[int] | None = None
    moves: tuple[FeatureMove, ...] | None = None
    budget, failures = annealer.most if near.budget is None else min(near.budget, annealer.most), 0
    while failures < restarts and not clock.up():
        chosen = annealer.attempt(rng, budget, best if best is not None and failures % 2 else [])
        if chosen is None:
            failures += 1
            continue
        best = annealer.thinned(chosen)
        moves = tuple(near.moves[k] for k in sorted(best))
        if keep is not None:
            keep(moves)
        budget = sum(move.weight for move in moves) - 1
        if not light or budget < near.lightest:
            break
    return moves


class Patience:
    """A resumable search: longer and longer attempts from the empty set, for a set lighter than the best so
    far. The result depends on the seed and the number of steps, not on threads.

    Parameters
    ----------
    within
        Function from a budget to the problem of sets within it.
    clock
        Checked before every attempt.
    keep
        Called with every set as soon as it is found.
    """

    def __init__(
        self,
        within: Callable[[int], Problem],
        clock: Clock,
        keep: Callable[[tuple[FeatureMove, ...]], object],
    ) -> None:
        self.within, self.clock, self.keep = within, clock, keep
        self.rng = np.random.default_rng(clock.seed + 1)
        self.budget = -1
        self.attempts = 0
        self.annealer: _Annealer | None = None

    def go_on(self, budget: int, steps: int) -> bool:
        """Search sets within a budget for `steps` steps; return True as soon as one was found."""
        if budget != self.budget:
            self.budget, self.attempts = budget, 0
            self.annealer = _Annealer.of(self.within(budget), self.clock)
        annealer = self.annealer
        if annealer is None or annealer.later is None:
            return False
        while steps > 0 and not self.clock.up():
            annealer.steps = min(_LONG << self.attempts // _TURNS, _LONGEST)
            seeds = self.rng.integers(1, 1 << 63, _AT_ONCE)
            results: dict[int, list[int]] = {}

            def attempt(begin: int, end: int, seeds: Any = seeds, into: Any = results) -> None:
                for turn in range(begin, end):
                    if not self.clock.up():
                        moves = annealer.attempt(np.random.default_rng(seeds[turn]), budget, [], _WARM)
                        if moves is not None:
                            into[turn] = annealer.thinned(moves)

            share(attempt, _AT_ONCE, 1, self.clock.threads)
            self.attempts += _AT_ONCE
            steps -= _AT_ONCE * annealer.steps
            if results:
                weights = annealer.near.columns.weights
                best = min(results, key=lambda turn: (int(weights[results[turn]].sum()), turn))
                self.keep(tuple(annealer.near.moves[k] for k in sorted(results[best])))
                return True
        return False


class _Annealer:
    """The problem as arrays for the compiled annealing."""

    @classmethod
    def of(cls, problem: Problem, clock: Clock) -> _Annealer | None:
        """Return the annealer; None if nothing can turn, or if the network, sums or costs are too large."""
        with suppress(TooLargeError):
            see_time(problem.near, clock)
            if problem.near.moves and len(problem.first_layer.fragile):
                return cls(problem, clock)
        return None

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.near, self.clock = problem.near, clock
        self.patterns = PatternGoal(problem.first_layer, problem.goal)
        near = problem.near
        weights = near.columns.weights.tolist()
        if sum(weights) >= _NEVER:
            raise TooLargeError(
                "the costs are too finely divided to search: as integers they exceed 60 bits."
            )
        start, rows = lanes_for(problem.first_layer)
        self.options = {
            feature: list(range(moves.start, moves.stop)) for feature, moves in near.places.items()
        }
        self.places = {feature: index for index, feature in enumerate(self.options)}
        self.most = heaviest(near)
        self.lanes, self.rows = start, rows
        kind = start.dtype if start.dtype.itemsize > 2 else np.dtype(np.int16)
        none = [np.zeros_like(start)]
        stacked = np.array(
            [row for numbers in self.options.values() for row in (*none, *rows[numbers])], kind
        )
        self.start, self.stacked = start.astype(kind).reshape(-1, 64), stacked.reshape(len(stacked), -1, 64)
        self.first = np.cumsum([0, *(len(numbers) + 1 for numbers in self.options.values())]).astype(np.int64)
        self.weight = np.array(
            [w for numbers in self.options.values() for w in (0, *(weights[k] for k in numbers))], np.int64
        )
        later, votes = self.patterns.later, self.patterns.votes
        self.later = None if later is None or votes is None else _planes(*later)
        work = self.start.size + (0 if self.later is None else self.later[1].size)  # of one step
        self.steps = max(_STEPS // 20, min(_STEPS, _WORK // work))
        self.unit = float(
            max((abs(factor) for vote in problem.goal.votes for factor in vote.factors if factor), default=1)
        )

    def attempt(
        self, rng: np.random.Generator, budget: int, before: list[int], hot: float = _HOT
    ) -> list[int] | None:
        """Return indices of moves that reach the goal within the budget, or None; start from the empty set or
        from a part of earlier moves.
        """
        from sugenet.engines.walk import anneal_kernels

        anneal: Any = anneal_kernels.anneal

        if self.later is None:
            return self._descend(rng, budget)
        chosen = np.zeros(len(self.options), np.int64)
        used = 0
        for number in rng.permutation(before).tolist():
            move = self.near.moves[number]
            if used + move.weight <= budget:
                used += move.weight
                index, numbers = self.places[move.feature], self.options[move.feature]
                chosen[index] = 1 + numbers.index(number)
        fixed = (self.start, self.stacked, self.first, self.weight)
        seed = np.uint64(rng.integers(1, 1 << 63))
        if (
            anneal(
                chosen,
                *fixed,
                budget,
                self.steps,
                hot * self.unit,
                _COLD * self.unit,
                seed,
                self.later,
                self.patterns.votes,
            )
            > 0
        ):
            return None
        return [
            numbers[k - 1] for numbers, k in zip(self.options.values(), chosen.tolist(), strict=True) if k
        ]

    def _descend(self, rng: np.random.Generator, budget: int) -> list[int] | None:
        """Repeatedly take a move with the smallest shortfall; for networks that the annealing cannot read."""
        moves = self.near.moves
        chosen: list[int] = []
        lanes, lowest = self.lanes.astype(np.int64), None
        while True:
            taken, room = {moves[k].feature for k in chosen}, budget - sum(moves[k].weight for k in chosen)
            free = [k for k, move in enumerate(moves) if move.feature not in taken and move.weight <= room]
            if not free:
                return None
            parts = []
            for k in range(0, len(free), self.patterns.batch):
                if self.clock.up():
                    return None
                parts.append(
                    self.patterns.shortfall(
                        self.patterns.pack(lanes + self.rows[free[k : k + self.patterns.batch]] >= 0)
                    )
                )
            short = np.concatenate(parts)
            if lowest is not None and short.min() > lowest:
                return None
            lowest = short.min()
            chosen.append(free[int(rng.choice(np.flatnonzero(short == lowest)))])
            lanes += self.rows[chosen[-1]]
            if lowest <= 0:
                return chosen

    def thinned(self, chosen: list[int]) -> list[int]:
        """Drop moves, heaviest first, as long as the rest still reaches the goal."""
        moves = self.near.moves
        lanes = self.lanes + self.rows[chosen].astype(np.int64).sum(axis=0)
        for number in sorted(chosen, key=lambda k: (-moves[k].weight, k)):
            without = lanes - self.rows[number]
            if self.patterns.shortfall(self.patterns.pack(without[None] >= 0))[0] <= 0:
                chosen, lanes = [k for k in chosen if k != number], without
        return chosen


def _planes(weights: list[Any], taus: list[Any], shift: Any) -> tuple[Any, ...]:
    """Return layers as words of literals, one row per layer, binary digit of the weights and input word, as
    `anneal` reads them.
    """
    sizes = np.array([len(tau) for tau in taus], np.int64)
    widest = int(sizes.max()) + 63
    tau = np.full((len(taus), widest), _NEVER)
    rows, indices = [], []
    for number, (signed, thresholds) in enumerate(zip(weights, taus, strict=True)):
        tau[number, : len(thresholds)] = thresholds
        for digit in range(max(1, int(np.abs(signed).max(initial=0)).bit_length())):
            has = (np.abs(signed) >> digit & 1).astype(bool)
            both = np.stack([pack(has & (signed > 0)), pack(has & (signed < 0))])
            indices += [(number, word, digit) for word in range(both.shape[2])]
            rows += [
                np.pad(both[:, :, word], ((0, 0), (0, widest - len(thresholds))))
                for word in range(both.shape[2])
            ]
    positive, negative = np.array(rows, np.uint64).reshape(-1, 2, widest).transpose(1, 0, 2).copy()
    return (
        np.array(indices, np.int64).reshape(-1, 3),
        positive,
        negative,
        tau,
        sizes,
        np.asarray(shift, np.int64),
    )
