"""Is a set of features enough: the question behind every reason,
asked many times about one sample and region.

A set S of features is *sufficient* when the class stays whatever the other features do inside the region.
What is learned is kept: a counterexample shows that every sufficient set contains one of the features it
changes (a *contrastive set*); a sufficient set vouches for all sets that contain it; and our solver keeps its
clauses from question to question and says which fixed features it really used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.hard.learn.solver import Core, Found, Solver, solver_of
from sugenet.engines.ladder import decide
from sugenet.engines.walk.choices import is_for_blocks
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.first_layer import FirstLayer
from sugenet.problem.neighbourhood import FeatureMove, combinations_of, is_soon_expanded, row_of, sets_within
from sugenet.problem.problem import Fails, Holds, Open, Problem, replayed
from sugenet.reprs import ShortRepr

__all__ = ["Contrast", "Features", "Oracle"]

Features: TypeAlias = frozenset[int]

_SMALL = 2e6
"""Sets or combinations that are walked through at once rather than asked of the solver."""
_SMALL_DEEP = 2.0**26
"""The same behind more hidden layers, where the solver is slow."""
_SMALL_BLOCKS = 2.0**30
"""The same if 512 combinations are judged at once."""
_QUICK = 0.1
"""Seconds of dual bounds, where there are too many steps for others."""
_SHALLOW = 2
"""Hidden layers up to which the solver is asked first."""


@dataclass(frozen=True)
class Contrast(ShortRepr):
    """Features that, changed together in some way, change the class; and one such way."""

    features: Features
    moves: tuple[FeatureMove, ...] = ()
    """Nothing where it was read from the data of an answer."""
    read: tuple[tuple[int, Any], ...] = ()
    """What was read instead: features and their values, as JSON."""

    @property
    def values(self) -> dict[int, Any]:
        """The values of the changed features, in the order of the features."""
        return dict(sorted([*self.read, *((move.feature, move.value) for move in self.moves)]))


@dataclass
class Oracle:
    """Answers about one problem."""

    problem: Problem
    clock: Clock
    contrasts: list[Contrast] = field(default_factory=list)
    sufficient: list[Features] = field(default_factory=list)
    proved: tuple[Features, Any] | None = None
    """The set that an engine last proved sufficient, and its proof; one, since proofs may be large."""

    @cached_property
    def features(self) -> Features:
        """Features that can change at all inside the region; all others matter to no reason."""
        return frozenset(self.problem.near.places)

    def freed(self, fixed: Iterable[int]) -> Problem:
        """The problem with some features fixed and all others free within the region."""
        return Problem(self.problem.near.fixing(set(fixed)), self.problem.goal)

    def known(self, fixed: Features) -> bool | None:
        """What is known already."""
        if any(not (contrast.features & fixed) for contrast in self.contrasts):
            return False
        return True if any(enough <= fixed for enough in self.sufficient) else None

    def ask(self, fixed: Features) -> bool | None:
        """Whether a set of features is sufficient; None when that could not be decided."""
        answer = self.known(fixed)
        if answer is not None or self.clock.up():
            return answer
        problem = self.freed(fixed)
        if self.is_bounded(problem):
            self.sufficient.append(fixed)
            return True
        walked = _is_small(problem) or self._solver is None
        return self._decided(problem, fixed) if walked else self._solved(fixed)

    def is_bounded(self, problem: Problem) -> bool:
        """Whether bounds alone exclude every violation."""
        bounds = BOUNDS if is_soon_expanded(self.problem.near) else DUAL.within(_QUICK)
        return isinstance(bounds(problem, self.clock), Holds)

    def _decided(self, problem: Problem, fixed: Features) -> bool | None:
        outcome = decide(problem, self.clock)
        if isinstance(outcome, Holds):
            self.sufficient.append(fixed)
            self.proved = fixed, outcome.proof
            return True
        if isinstance(outcome, Fails):
            self.learn(problem.near.moves_to(outcome.witness))
            return False
        return None

    @cached_property
    def _solver(self) -> Solver | None:
        return solver_of(self.problem, self.clock.seed)

    @cached_property
    def _staying(self) -> dict[int, list[int]]:
        """For each feature the literals that say it stays as it is."""
        literals = {}
        for chain in self.problem.cascade.chains:
            start = chain.options.index(None)
            literals[chain.feature] = [
                step + 1 if number < start else -(step + 1) for number, step in enumerate(chain.steps)
            ]
        return literals

    def _solved(self, fixed: Features) -> bool | None:
        assert self._solver is not None
        literals = [literal for feature in sorted(fixed) for literal in self._staying[feature]]
        answer = self._solver.solve(self.clock, literals)
        if isinstance(answer, Found):
            return None if self.learn(self.problem.cascade.moves(answer.values)) is None else False
        if isinstance(answer, Core):
            owner = {abs(literal): feature for feature, row in self._staying.items() for literal in row}
            self.sufficient.append(frozenset(owner[abs(literal)] for literal in answer.literals))
            return True
        return None

    def learn(self, moves: tuple[FeatureMove, ...]) -> Contrast | None:
        """Keep a counterexample, with needless changes dropped; None where only rounding allows it."""
        if isinstance(replayed(self.problem, "a search for reasons", moves), Open):
            return None
        kept = self._thinned(list(moves))
        contrast = Contrast(frozenset(move.feature for move in kept), tuple(kept))
        self.contrasts = [known for known in self.contrasts if not contrast.features <= known.features]
        self.contrasts.append(contrast)
        return contrast

    def _thinned(self, moves: list[FeatureMove]) -> list[FeatureMove]:
        """Drop changes one after another as long as the rest still changes the class."""
        near, goal, kept = self.problem.near, self.problem.goal, list(moves)
        first_layer: FirstLayer | None
        try:
            first_layer = self.problem.first_layer if is_soon_expanded(near) else None
            rows = first_layer.rows(moves) if first_layer is not None else np.zeros(0)
        except TooLargeError:  # then by the network as it is
            first_layer = None
        while len(kept) > 1:
            if first_layer is not None:
                counts = first_layer.scores(first_layer.margins + rows.sum(axis=0) - rows >= 0)
            else:
                fewer = (near.moved(kept[:k] + kept[k + 1 :]) for k in range(len(kept)))
                counts = near.network.match_counts(np.concatenate([row_of(values) for values in fewer]))
            bad = goal.violates(counts)
            if not bad.any():
                break
            index = int(np.argmax(bad))
            kept.pop(index)
            if first_layer is not None:
                rows = np.delete(rows, index, axis=0)
        return kept

    def proof(self, fixed: Features) -> Any:
        """A proof that a set is sufficient; None if there was no time for one."""
        if self.proved is not None and self.proved[0] == fixed:
            return self.proved[1]
        outcome = decide(self.freed(fixed), self.clock.for_proof())
        return outcome.proof if isinstance(outcome, Holds) else None

    def enough(self, fixed: Features) -> Features:
        """The smallest set known to be sufficient inside a sufficient one."""
        return min((known for known in self.sufficient if known <= fixed), key=len, default=fixed)


def _is_small(problem: Problem) -> bool:
    """Whether all sets or combinations are soon walked through, compared with what the solver takes."""
    combinations = combinations_of(problem.near)
    count = min(sets_within(problem.near), combinations)
    if len(problem.near.network.layers) <= _SHALLOW:
        return count <= _SMALL
    if count <= _SMALL_DEEP:
        return True
    return count == combinations <= _SMALL_BLOCKS and is_for_blocks(problem)
