"""What a hunt for a counterfactual knows: what may change, the best change so far, and the cost below which
nothing is.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from sugenet.bnn import Network, Steps
from sugenet.errors import QuestionError
from sugenet.problem.boxes import plain
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood, whole_weights
from sugenet.problem.outcomes import Fails, Holds, replayed
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Box, surroundings
from sugenet.reason.counterfactuals.answers import Counterfactual
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import WhatIf

__all__ = ["Hunt"]


class Hunt:
    """One question on its way."""

    def __init__(self, network: Network, question: WhatIf, engine: str, clock: Clock) -> None:
        self.network, self.question, self.engine, self.clock = network, question, engine, clock
        self.prop, self.values, self.most = question.keeps(network), question.values(network), question.most
        movable = question.movable(network)
        self.whole = self._allowed(surroundings(network, self.values, question.cost, None, movable))
        """All moves that may be made."""
        self.best: tuple[FeatureMove, ...] | None = None
        self.proof: dict[str, Any] | None = None
        self.how = "flips"
        """Which engine gave the proof."""
        self.lower = Fraction(0)
        """Nothing is cheaper than this, by the proof."""

    def _allowed(self, near: Neighbourhood) -> Neighbourhood:
        """Moves that stay in the region."""
        region = self.question.region
        if region is None:
            return near
        if isinstance(region, Box):  # a box has values of its own; those of the cost must lie in it too
            kept = self._inside(region, near)
        else:
            inside = {(m.feature, m.state, m.value) for m in region.around(self.network, self.values).moves}
            kept = [m for m in near.moves if (m.feature, m.state, m.value) in inside]
        scale = whole_weights([move.price for move in kept])
        moves = tuple(replace(move, weight=floor(move.price * scale)) for move in kept)
        return replace(near, moves=moves, unit=Fraction(1, scale))

    def _inside(self, box: Box, near: Neighbourhood) -> list[FeatureMove]:
        """Moves to values within limits; the sample must be there itself."""
        box.around(self.network, self.values)
        limits, codings = box.placed(self.network), self.network.encoder.codings
        if any(
            isinstance(limit, frozenset) and len(limit) > 1 and isinstance(codings[feature], Steps)
            for feature, limit in limits.items()
        ):
            raise QuestionError(
                "region= limits a number by values. Give bounds (low, high); "
                "only categories are listed one by one."
            )
        alone = {feature: Box({feature: limit}) for feature, limit in limits.items()}
        return [m for m in near.moves if m.feature in alone and self._stays(alone[m.feature], m)]

    def _stays(self, box: Box, move: FeatureMove) -> bool:
        changed = list(self.values)
        changed[move.feature] = move.value
        try:
            box.around(self.network, changed)
        except QuestionError:
            return False
        return True

    @property
    def everything(self) -> Problem:
        """All sets of moves, whatever they cost."""
        return Problem(self.whole, self.prop.goal)

    def proved(self, outcome: Holds) -> None:
        """Keep a proof."""
        self.proof, self.how = outcome.proof, outcome.engine

    def found(self, moves: tuple[FeatureMove, ...], value: Fraction) -> Counterfactual:
        """The answer that some moves of a cost are, evaluated by the definition."""
        replay = replayed(self.everything, self.how, moves)
        assert isinstance(replay, Fails), "without a limit no cost is beyond it"
        changed = replay.witness
        lower = min(self.lower, value)
        witness = [plain(value) for value in changed]
        certificate = self.certificate("counterfactual", witness, value=str(value), lower=str(lower))
        how = self.how if lower > 0 else "search"
        return Counterfactual(self.network, self.question, value, lower, changed, how, certificate)

    def certificate(self, answer: str, witness: list[Any] | None = None, **more: Any) -> dict[str, Any]:
        """A certificate with the proof so far."""
        return envelope(self.network, self.question, answer=answer, witness=witness, proof=self.proof, **more)
