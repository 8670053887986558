"""Hunting for the least radius: where the largest change is the cost, engines are asked about balls."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from sugenet.brief import roughly
from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.ladder import decide
from sugenet.engines.walk.anneal import search
from sugenet.problem.moves import FeatureMove
from sugenet.problem.problem import Fails, Holds, Open, Outcome, Problem, replayed
from sugenet.problem.sizes import is_soon_cut
from sugenet.reason.counterfactuals.hunt import Hunt

__all__ = ["ByRadius"]

_QUICK = 1.0
"""Seconds that dual bounds get for a radius before all engines are asked."""


class ByRadius:
    """The strategy for the largest change."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt = hunt
        ways = hunt.whole.moves.distinct.values()
        shared = {id(way.price): way.price for rows in ways for way in rows}
        prices = set(shared.values())
        self.radii = sorted(price for price in prices if hunt.most is None or price <= hunt.most)
        self.low = -1
        """Number of the largest radius within which there is nothing, proved."""
        self.is_complete = False
        """Whether the proof is about all that was asked."""

    def search(self) -> None:
        """Search for something, then close in on the least radius from below: by what is soon done first,
        then by all engines; what is open in between stays open.
        """
        self._reached(-1, Holds("bounds", {"kind": "bound"}))  # below the smallest move there is nothing
        if self.radii:
            self.hunt.first(self._ball(self.radii[-1]))
        if self.hunt.engine == "auto":
            self._close_in(self._bounded, onwards=False)
        self._close_in(self._sought, onwards=True)
        self._close_in(lambda problem: decide(problem, self.hunt.clock, self.hunt.engine), onwards=False)

    @property
    def _high(self) -> int:
        """The number of the least radius that is known to do, or one behind the last."""
        best = self.hunt.best
        return len(self.radii) if best is None else bisect_left(self.radii, self.hunt.value(best))

    def _close_in(self, ask: Callable[[Problem], Outcome], *, onwards: bool) -> None:
        """Ask about radii, in steps that grow, at most half of the way to what is known to do. What is open
        ends it, unless it goes `onwards`, or nothing is known to do.
        """
        hunt, radii = self.hunt, self.radii
        low, step = self.low, 1
        while low + 1 < self._high and not hunt.clock.up():
            high = self._high
            place = min(low + step, len(radii) - 1 if high == len(radii) else (low + high) // 2)
            hunt.clock.tell(f"radius {roughly(radii[place])} ...")
            found = ask(self._ball(radii[place]))
            if isinstance(found, Fails):
                hunt.improve(found.witness)
                continue
            if isinstance(found, Holds):
                self._reached(place, found)
            elif not onwards and high < len(radii):
                return
            low, step = place, 2 * step

    def _bounded(self, problem: Problem) -> Outcome:
        """What bounds alone say."""
        return (BOUNDS if is_soon_cut(problem.near) else DUAL.within(_QUICK))(problem, self.hunt.clock)

    def _sought(self, problem: Problem) -> Outcome:
        """What a short search says."""
        moves = None
        if is_soon_cut(problem.near):
            moves = search(problem, self.hunt.clock, restarts=4, light=False)
        return (
            Open("search", "nothing was found", {}) if moves is None else replayed(problem, "search", moves)
        )

    def _ball(self, radius: Fraction) -> Problem:
        """The moves that are no larger than a radius."""
        return Problem(self.hunt.whole.only(lambda move: move.price <= radius), self.hunt.prop.goal)

    def _reached(self, low: int, outcome: Holds) -> None:
        """Up to this radius there is nothing."""
        self.low = low
        self.is_complete = low == len(self.radii) - 1
        self.hunt.proved(outcome, Fraction(0) if self.is_complete else self.radii[low + 1])

    def rising(self, best: tuple[FeatureMove, ...], *, only: bool) -> Iterator[Problem]:
        """Problems that hold ever more sets of moves, from those no larger than the best on; `only` these."""
        least = self.hunt.value(best)
        for radius in [least] if only else [radius for radius in self.radii if radius >= least]:
            problem = self._ball(radius)
            total = int(problem.near.columns.weights.sum())
            yield Problem(replace(problem.near, budget=total, limit=None), problem.goal)
