"""Hunting where costs add up: sets of moves are walked through at rising weights, then engines are asked
about all that is cheaper than the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import floor

from sugenet.brief import roughly
from sugenet.engines.ladder import decide
from sugenet.engines.walk.anneal import Patience
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.moves import FeatureMove
from sugenet.problem.problem import ENUMERATED, Fails, Holds, Problem
from sugenet.problem.regions import Linf
from sugenet.problem.sizes import heaviest, is_soon_cut, sets_within
from sugenet.reason.counterfactuals.answers import Counterfactual
from sugenet.reason.counterfactuals.hunt import Hunt

__all__ = ["ByLevels", "is_least_but_for_rounding"]

_EXACT_LEVELS = 400
_WALK = 3e8
"""Sets of moves that are walked through level by level before anything else."""
_WALK_LATE = 3e10
"""Sets of moves that are walked through level by level once a longer search has been tried; beyond, the
ladder of engines is asked.
"""
_LADDER = 1e11
"""Sets beyond which proofs are rare, and a long search comes first."""
_SOME, _MANY = 4_000_000, 60_000_000
"""Steps of the longer search, and of the long one."""


class ByLevels:
    """The strategy for every cost but the largest change; a level is a sum of weights."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt, self.near, self.unit = hunt, hunt.whole, hunt.whole.unit
        total = heaviest(self.near)
        self.top = total if hunt.most is None else min(total, int(hunt.most / self.unit // 1))
        """The largest weight that is asked about."""
        self.patience = Patience(self._within, hunt.clock, hunt.take)

    @property
    def is_complete(self) -> bool:
        """Whether the proof is about all that was asked."""
        return self.hunt.lower > self.top * self.unit

    def search(self) -> None:
        """Search for something, then prove or find something cheaper."""
        hunt, clock, lightest = self.hunt, self.hunt.clock, self.near.lightest
        if lightest:  # below the lightest move there is nothing
            self._proved(min(lightest, self.top + 1) - 1, Holds("bounds", {"kind": "bound"}))
        hunt.first(self._within(self.top))
        if hunt.engine == "auto":
            self._walk_up(_WALK)
            if sets_within(self.near, self._below(self.top)) > _WALK_LATE:  # else all that is left is walked
                self._go_on(_SOME)
            self._walk_up(_WALK_LATE)
            if sets_within(self.near, self._below(self.top)) > _LADDER:
                self._go_on(_MANY)
        while not clock.up() and not self._is_ended:
            budget = self._below(self.top)
            found = decide(self._asked(budget), clock, hunt.engine)
            if isinstance(found, Holds):
                self._proved(budget, found)
                continue
            before = hunt.best
            if isinstance(found, Fails):
                hunt.improve(found.witness)
            if hunt.best is before:  # open, or no better: a difference that rounding hides
                break
        while hunt.engine == "auto" and clock.time_limit is not None and self._go_on(_MANY):
            pass

    def _walk_up(self, most: float) -> None:
        """Walk through levels, rising, as long as there are not too many sets."""
        clock, proved = self.hunt.clock, 0
        for level in self._steps():
            if clock.up() or self._is_ended:
                break
            walked = self._last(proved, self._below(level), most)
            if self.hunt.lower <= walked * self.unit and not self._walk(walked):
                break
            if walked < self._below(level):
                break
            proved = walked

    def _last(self, low: int, high: int, most: float) -> int:
        """The largest weight up to `high` with so many sets at most, if those up to `low` are few enough."""
        if sets_within(self.near, high) <= most:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if sets_within(self.near, middle) <= most else (low, middle)
        return low

    def _go_on(self, steps: int) -> bool:
        """Search on for something lighter than the best, from the start once more whenever something is
        found; False where nothing is left to search, or the time is up.
        """
        hunt = self.hunt
        if hunt.best is None or not is_soon_cut(self.near):
            return False
        patience = self.patience
        hunt.clock.tell("search on ...")
        while not hunt.clock.up() and not self._is_ended and hunt.best is not None:
            best = _weight(hunt.best)
            if not patience.go_on(min(best - 1, self.top), steps):
                return not hunt.clock.up() and patience.annealer is not None and not self._is_ended
            hunt.improve(hunt.whole.moved(hunt.best))
            if hunt.best is None or _weight(hunt.best) >= best:  # no cheaper, by less than rounding
                return False
        return False

    def _within(self, budget: int) -> Problem:
        """The moves that a budget in whole units allows."""
        near = self.near.only(lambda move: move.weight <= budget)
        return Problem(replace(near, budget=budget), self.hunt.prop.goal)

    def _asked(self, budget: int) -> Problem:
        """What engines are asked: while nothing is known, all as the certificate says it, without a budget
        where there is no limit.
        """
        if self.hunt.best is not None:
            return self._within(budget)
        if self.hunt.most is not None:
            return self._within(floor(self.hunt.most / self.unit))
        return self._within(self.top) if self.hunt.engine == "flips" else self.hunt.everything

    def _below(self, level: int) -> int:
        """A level, or just below the best that is known."""
        best = self.hunt.best
        return min(level, self.top if best is None else _weight(best) - 1)

    @property
    def _is_ended(self) -> bool:
        return self.hunt.lower > self._below(self.top) * self.unit

    def _walk(self, level: int) -> bool:
        """Walk all sets up to a weight; False when that was not possible."""
        hunt, clock = self.hunt, self.hunt.clock
        try:
            found = flip_level(self._within(level), level, clock)
        except TooLargeError as error:
            clock.tell(f"flips: {error}")
            return False
        if found is None:
            return False
        if found.violation is not None:
            before = hunt.best
            hunt.improve(hunt.whole.moved(found.violation))
            return hunt.best is not before  # else beyond the limit, or no cheaper, by less than rounding
        clock.tell(
            f"none of the {found.sets:,} changes up to {roughly(level * self.unit)} changes the answer"
        )
        self._proved(level, Holds("flips", ENUMERATED, found.sets))
        return True

    def _proved(self, level: int, outcome: Holds) -> None:
        if (level + 1) * self.unit > self.hunt.lower:
            self.hunt.proved(outcome, (level + 1) * self.unit)

    def _steps(self) -> list[int]:
        """Levels to walk, rising: every total that can occur while these are few, or all moves weigh the
        same; else growing steps.
        """
        totals = {0}
        every = self.near.columns.weights
        if len(every) and every.min() == every.max() > 0:
            each = int(every[0])
            return list(range(each, self.top + 1, each))[:_EXACT_LEVELS] or [self.top]
        for moves in self.near.places.values():
            weights = set(every[moves].tolist())
            totals |= {total + weight for total in totals for weight in weights if total + weight <= self.top}
            if len(totals) > _EXACT_LEVELS:
                step = int(every[every > 0].min())
                steps = []
                while step < self.top:
                    steps.append(step)
                    step = step * 3 // 2 + 1
                return [*steps, self.top]
        return sorted(totals - {0}) or [self.top]

    def rising(self, best: tuple[FeatureMove, ...], *, only: bool) -> Iterator[Problem]:
        """Problems that hold ever more sets of moves, from those that cost no more than the best on; `only`
        these.
        """
        least = _weight(best)
        for budget in [least] if only else [step for step in self._steps() if step >= least]:
            problem = self._within(budget)
            yield Problem(replace(problem.near, limit=self.hunt.most), problem.goal)


def is_least_but_for_rounding(found: Counterfactual) -> bool:
    """Whether nothing cheaper is left but what the rounding of costs to whole weights hides, as it may where
    they are sums of floats: then more time could not prove more.
    """
    if found.is_minimum or found.question.cost is Linf:
        return found.is_minimum
    near = Hunt(found.network, found.question, "auto", Clock()).whole
    return found.lower >= _weight(near.moves_to(found.changed)) * near.unit


def _weight(moves: tuple[FeatureMove, ...]) -> int:
    return sum(move.weight for move in moves)
