"""What a hunt for a counterfactual knows: what may change, the best change so far, and the cost below which
nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sugenet.bnn import Network
from sugenet.engines.walk.anneal import search
from sugenet.engines.walk.descent import Descent
from sugenet.problem.boxes import plain_row
from sugenet.problem.clock import Clock
from sugenet.problem.moves import Moves
from sugenet.problem.neighbourhood import FeatureMove
from sugenet.problem.problem import Fails, Holds, Problem, replayed
from sugenet.problem.regions import Linf, surroundings
from sugenet.problem.sizes import is_soon_cut
from sugenet.reason.counterfactuals.answers import Counterfactual
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import WhatIf

__all__ = ["Hunt"]

_FINE = 1 << 60
"""Costs in all, as whole numbers, from which on they are too finely divided to search."""


class Hunt:
    """One question on its way."""

    def __init__(self, network: Network, question: WhatIf, engine: str, clock: Clock) -> None:
        self.network, self.question, self.engine, self.clock = network, question, engine, clock
        self.prop, self.values, self.most = question.keeps(network), question.values(network), question.most
        movable = question.movable(network)
        self.whole = surroundings(network.lawful, self.values, question.cost, None, movable, question.region)
        """All moves that may be made."""
        self.best: tuple[FeatureMove, ...] | None = None
        self.proof: dict[str, Any] | None = None
        self.how = "flips"
        """Which engine gave the proof."""
        self.sets: int | None = None
        """How many sets of moves it enumerated."""
        self.lower = self.shown = Fraction(0)
        """Nothing is cheaper than this; and by the proof."""
        self.is_shown = True
        """Whether the last engine that raised the bound gave a proof."""

    @property
    def everything(self) -> Problem:
        """All sets of moves, whatever they cost."""
        return Problem(self.whole, self.prop.goal)

    @property
    def is_there(self) -> bool:
        """Whether the sample itself violates the property."""
        counts = self.whole.network.packed("auto").match_counts(self.whole.inputs, self.clock.threads)
        return bool(self.prop.goal.violates(counts)[0])

    def value(self, moves: Iterable[FeatureMove]) -> Fraction:
        """What moves cost together."""
        prices = (move.price for move in moves)
        return max(prices, default=Fraction(0)) if self.question.cost is Linf else sum(prices, Fraction(0))

    def rank(self, moves: tuple[FeatureMove, ...]) -> tuple[Any, ...]:
        """Its place among sets of moves: cheapest first, then those of fewest changes, then by features and
        where they go.
        """
        return self.value(moves), len(moves), [(move.feature, move.state) for move in moves]

    def take(self, moves: tuple[FeatureMove, ...]) -> None:
        """Keep what is within the limit and cheaper than the best so far, or costs the same with fewer
        changes.
        """
        cheap = self.value(moves), len(moves)
        if (self.most is None or cheap[0] <= self.most) and (
            self.best is None or cheap < (self.value(self.best), len(self.best))
        ):
            self.best = moves

    def first(self, asked: Problem) -> None:
        """Search for something that changes the answer, whatever it costs, and make it cheaper: the same
        search under every cost, so that what one finds, all find. `asked`: all moves, within the limit.
        """
        clock, soon = self.clock, is_soon_cut(self.whole)
        if clock.up() or not self.whole.moves:
            return
        clock.tell("search ...")
        descent = Descent(self.everything, self.question.cost is Linf, clock, self.take)
        far = (self.most is None or not soon) and descent.far()
        found = None
        if soon:
            found = search(asked, clock, light=self.question.cost is not Linf, keep=self.take)
            if found is None and not clock.up():
                found = self._alike()
        if found is not None:
            descent.nearer(found)
        elif far or descent.far():
            descent.down()

    def _alike(self) -> tuple[FeatureMove, ...] | None:
        """Moves that change the answer, found as if all cost the same, without a limit; None where that has
        been searched already.
        """
        near = self.whole
        if self.most is None and int(near.columns.weights.sum()) < _FINE:
            return None
        moves = near.moves
        alike = {key: tuple(way._replace(weight=1) for way in rows) for key, rows in moves.distinct.items()}
        moves = Moves({feature: alike[id(rows)] for feature, rows in moves.ways.items()})
        found = search(Problem(replace(near, moves=moves), self.prop.goal), self.clock, light=False)
        return None if found is None else near.moves_to(near.moved(found))

    def improve(self, witness: tuple[Any, ...]) -> None:
        """Keep what an engine found, and what is cheaper on the way back to the sample."""
        moves = self.whole.moves_to(witness)
        self.take(moves)
        Descent(self.everything, self.question.cost is Linf, self.clock, self.take).nearer(moves)

    def proved(self, outcome: Holds, lower: Fraction) -> None:
        """Keep what an engine says, and its proof if it gives one."""
        self.how, self.sets, self.lower = outcome.engine, outcome.sets, lower
        self.is_shown = outcome.proof is not None
        if self.is_shown:
            self.proof, self.shown = outcome.proof, lower

    def found(self, moves: tuple[FeatureMove, ...], value: Fraction) -> Counterfactual:
        """The answer that some moves of a cost are, evaluated by the definition."""
        replay = replayed(self.everything, self.how, moves)
        assert isinstance(replay, Fails), "without a limit no cost is beyond it"
        changed = replay.witness
        lower = min(self.lower, value)
        witness = plain_row(changed, self.network)
        shown = str(min(self.shown, value))
        certificate = self.certificate("counterfactual", witness, value=str(value), lower=shown)
        how, sets = (self.how, self.sets) if lower > 0 else ("search", None)
        return Counterfactual(self.network, self.question, value, lower, changed, how, certificate, sets=sets)

    def certificate(self, answer: str, witness: list[Any] | None = None, **more: Any) -> dict[str, Any]:
        """A certificate with the proof so far."""
        return envelope(self.network, self.question, answer=answer, witness=witness, proof=self.proof, **more)
