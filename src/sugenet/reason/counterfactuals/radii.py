"""Hunting for the least radius: where the largest change is the cost, engines are asked about balls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sugenet.engines.ladder import decide
from sugenet.problem.moves import FeatureMove, Moves
from sugenet.problem.outcomes import Fails, Holds
from sugenet.problem.problem import Problem
from sugenet.reason.counterfactuals.hunt import Hunt

__all__ = ["ByRadius"]


class ByRadius:
    """The strategy for the largest change."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt, moves = hunt, hunt.whole.moves
        own = list(moves.ways.values()) if isinstance(moves, Moves) else [moves]
        ways = {id(rows): rows for rows in own}.values()  # features alike share theirs
        prices = {move.price for rows in ways for move in rows}
        self.radii = sorted(price for price in prices if hunt.most is None or price <= hunt.most)
        self.is_complete = False
        """Whether the proof is about all that was asked."""

    def value(self, moves: tuple[FeatureMove, ...]) -> Fraction:
        """The largest of some changes."""
        return max((move.price for move in moves), default=Fraction(0))

    def search(self) -> None:
        """Double the radius until something is found, then close in on the least radius; what is open in
        between stays open.
        """
        hunt, radii = self.hunt, self.radii
        low, high, at = -1, len(radii), 0
        hunt.proved(Holds("bounds", {"kind": "bounds"}))  # below the smallest move there is nothing
        self._reached(low)
        while low + 1 < high and not hunt.clock.up():
            place = min(at, high - 1) if high == len(radii) else (low + high) // 2
            hunt.clock.tell(f"radius {float(radii[place]):.6g} ...")
            found = decide(self._ball(radii[place]), hunt.clock, hunt.engine)
            if isinstance(found, Holds):
                low = place
                hunt.proved(found)
                self._reached(low)
            elif isinstance(found, Fails):
                hunt.best = self._thinned(hunt.whole.moves_to(found.witness))
                high = radii.index(self.value(hunt.best))
            elif high < len(radii) or place == len(radii) - 1:
                break
            at = min(2 * place + 2, len(radii) - 1)

    def _ball(self, radius: Fraction) -> Problem:
        """The moves that are no larger than a radius."""
        return Problem(self.hunt.whole.only(lambda move: move.price <= radius), self.hunt.prop.goal)

    def _reached(self, low: int) -> None:
        """Up to this radius there is nothing."""
        self.is_complete = low == len(self.radii) - 1
        self.hunt.lower = Fraction(0) if self.is_complete else self.radii[low + 1]

    def _thinned(self, moves: tuple[FeatureMove, ...]) -> tuple[FeatureMove, ...]:
        """Leave out what is not needed, largest changes first."""
        for move in sorted(moves, key=lambda m: -m.price):
            if self.hunt.clock.up():
                break
            fewer = tuple(m for m in moves if m is not move)
            if self.hunt.everything.replays(fewer):
                moves = fewer
        return moves

    def rising(self, best: tuple[FeatureMove, ...], *, only: bool) -> Iterator[Problem]:
        """Problems that hold ever more sets of moves, from those no larger than the best on; `only` these."""
        least = self.value(best)
        for radius in [least] if only else [radius for radius in self.radii if radius >= least]:
            problem = self._ball(radius)
            total = int(problem.near.columns.weights.sum())
            yield Problem(replace(problem.near, budget=total, limit=None), problem.goal)

    def ordered(
        self,
        found: list[tuple[FeatureMove, ...]],
        *,
        only: Fraction | None,  # noqa: ARG002
    ) -> list[tuple[FeatureMove, ...]]:
        """Sets of moves, smallest first; where `only` one size is asked for, there are no others."""
        return sorted(found, key=lambda moves: (self.value(moves), len(moves)))
