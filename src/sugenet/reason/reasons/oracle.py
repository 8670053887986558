"""Test whether a set of features suffices: the core of every reason, repeated for one sample and region.

A set S of features is *sufficient* if the class stays the same whatever the other features do inside the
region. Results are kept. A counterexample shows that every sufficient set contains one of the features it
changes (a *contrastive set*). A sufficient set makes all its supersets sufficient. The CDCL solver keeps its
clauses between questions, and reports the fixed features that it really used.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.hard.learn.solver import Core, Found, Solver, solver_of
from sugenet.engines.ladder import decide
from sugenet.engines.walk.choices import is_for_blocks
from sugenet.errors import TooLargeError
from sugenet.problem import (
    ENUMERATED,
    Clock,
    Fails,
    FeatureMove,
    FirstLayer,
    Holds,
    Open,
    Problem,
    combinations_of,
    is_soon_expanded,
    replayed,
    row_of,
    sets_within,
)
from sugenet.reprs import ShortRepr

__all__ = ["Contrast", "Features", "Oracle"]

Features: TypeAlias = frozenset[int]

_SMALL = 2e6
"""Number of sets or combinations that are enumerated directly and not passed to the solver."""
_SMALL_DEEP = 2.0**26
"""The same for more hidden layers, which make the solver slow."""
_SMALL_BLOCKS = 2.0**30
"""The same if 512 combinations are evaluated at once."""
_QUICK = 0.1
"""Seconds for dual bounds, if there are too many steps for other engines."""
_TRIALS = 1 << 16
"""Number of inputs that are evaluated to find more counterexamples from one."""
_SHALLOW = 2
"""Number of hidden layers up to which the solver runs first."""


@dataclass(frozen=True)
class Contrast(ShortRepr):
    """Features that can change the class together, with one example."""

    features: Features
    moves: tuple[FeatureMove, ...] = ()
    """Moves of the example; empty if it was read from the data of an answer."""
    read: tuple[tuple[int, Any], ...] = ()
    """Data that was read instead: features and their values, as JSON."""

    @property
    def values(self) -> dict[int, Any]:
        """Return the values of the changed features, in the order of the features."""
        return dict(sorted([*self.read, *((move.feature, move.value) for move in self.moves)]))


@dataclass
class Oracle:
    """Tests of sets of features for one problem."""

    problem: Problem
    clock: Clock
    contrasts: list[Contrast] = field(default_factory=list)
    sufficient: list[Features] = field(default_factory=list)
    proved: tuple[Features, Any] | None = None
    """The set that an engine last proved sufficient, and its proof; only one, since proofs may be large."""

    @cached_property
    def features(self) -> Features:
        """Features that can change inside the region; the others are in no reason."""
        return frozenset(self.problem.near.places)

    def freed(self, fixed: Iterable[int]) -> Problem:
        """Return the problem with some features fixed and all others free within the region."""
        return Problem(self.problem.near.fixing(set(fixed)), self.problem.goal)

    def known(self, fixed: Features) -> bool | None:
        """Return the known result for a set, if any."""
        if any(not (contrast.features & fixed) for contrast in self.contrasts):
            return False
        return True if any(enough <= fixed for enough in self.sufficient) else None

    def ask(self, fixed: Features, *, bounds: bool = True) -> bool | None:
        """Return whether a set of features is sufficient; None if undecided.

        `bounds=False`: bounds alone were tried before.
        """
        answer = self.known(fixed)
        if answer is not None or self.clock.up():
            return answer
        problem = self.freed(fixed)
        if bounds and self.is_bounded(problem):
            self.sufficient.append(fixed)
            return True
        walked = _is_small(problem) or self._solver is None
        return self._decided(problem, fixed) if walked else self._solved(fixed)

    def frees(self, enough: Features, chunk: Features) -> bool:
        """Return whether bounds alone prove that a sufficient set suffices without some of its features."""
        is_free = self.is_bounded(self.freed(enough - chunk))
        if is_free:
            self.sufficient.append(enough - chunk)
        return is_free

    def is_bounded(self, problem: Problem) -> bool:
        """Return whether bounds alone exclude every violation."""
        bounds = BOUNDS if is_soon_expanded(self.problem.near) else DUAL.within(_QUICK)
        return isinstance(bounds(problem, self.clock), Holds)

    def _decided(self, problem: Problem, fixed: Features) -> bool | None:
        proofs, parts = [], self._parts(problem, fixed)
        for part in parts:
            outcome = decide(part, self.clock)
            if isinstance(outcome, Fails):
                self.learn(problem.near.moves_to(outcome.witness))
                return False
            if not isinstance(outcome, Holds):
                return None
            proofs.append(outcome.proof)
        self.sufficient.append(fixed)
        if parts[0] is problem or all(proof == ENUMERATED for proof in proofs):  # others are about parts only
            self.proved = fixed, proofs[0]
        return True

    def _parts(self, problem: Problem, fixed: Features) -> list[Problem]:
        """Return problems that contain every violation.

        If one more fixed feature would suffice, every violation moves that feature, so it is moved at once.
        """
        near = problem.near
        freed = next((more for known in self.sufficient if len(more := known - fixed) == 1), frozenset())
        for feature in freed & set(near.places):
            rest, parts = near.fixing({feature}), []
            for way in near.moves.ways[feature]:
                states = (*near.states[:feature], way.state, *near.states[feature + 1 :])
                moved = replace(
                    rest,
                    sample=near.moved([FeatureMove(feature, *way)]),
                    states=states,
                    budget=None if near.budget is None else near.budget - way.weight,
                    limit=None if near.limit is None else near.limit - way.price,
                )
                parts.append(Problem(moved, problem.goal))
            return parts
        return [problem]

    def exchange(self, enough: Features) -> None:
        """Find more counterexamples that change one feature of a sufficient set, from the last one.

        Its other moves are tried with each move of each other feature of the set, as they are and with one
        of them more or less.
        """
        near, moves = self.problem.near, self.contrasts[-1].moves if self.contrasts else ()
        base = {move.feature: move for move in moves if move.feature not in enough}
        unknown = [f for f in enough & self.features if self.known(enough - {f}) is None]
        if len(moves) - len(base) != 1 or not unknown:
            return
        try:
            first_layer = self.problem.first_layer
            gains = first_layer.deltas
        except TooLargeError:
            return
        others = [k for k in range(len(gains)) if near.moves[k].feature not in enough]
        trials = [base]
        trials += [{f: move for f, move in base.items() if f != out} for out in base]
        trials += [{**base, near.moves[k].feature: near.moves[k]} for k in others]
        rows = [k for f in unknown for k in range(*near.places[f].indices(len(gains)))]
        for trial in trials[: max(1, _TRIALS // len(rows))]:
            start = first_layer.margins + first_layer.rows(list(trial.values())).sum(axis=0)
            bad = self.problem.goal.violates(first_layer.scores(start + gains[rows] >= 0))
            for k in np.array(rows)[bad].tolist():
                move = near.moves[k]
                if self.known(enough - {move.feature}) is None and near.admits([*trial.values(), move]):
                    self.learn((*trial.values(), move))

    @cached_property
    def _solver(self) -> Solver | None:
        return solver_of(self.problem, self.clock.seed)

    @cached_property
    def _staying(self) -> dict[int, list[int]]:
        """Return for each feature the literals that fix it at its value."""
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
        """Keep a counterexample after dropping redundant changes; None if only rounding allows it."""
        if isinstance(replayed(self.problem, "a search for reasons", moves), Open):
            return None
        kept = self._thinned(list(moves))
        contrast = Contrast(frozenset(move.feature for move in kept), tuple(kept))
        self.contrasts = [known for known in self.contrasts if not contrast.features <= known.features]
        self.contrasts.append(contrast)
        return contrast

    def _thinned(self, moves: list[FeatureMove]) -> list[FeatureMove]:
        """Drop changes one after another while the rest still changes the class."""
        near, goal, kept = self.problem.near, self.problem.goal, list(moves)
        first_layer: FirstLayer | None
        try:
            first_layer = self.problem.first_layer if is_soon_expanded(near) else None
            rows = first_layer.rows(moves) if first_layer is not None else np.zeros(0)
        except TooLargeError:  # otherwise by the network itself
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
        """Return a proof that a set is sufficient; None if the time is up."""
        if self.proved is not None and self.proved[0] == fixed:
            return self.proved[1]
        outcome = decide(self.freed(fixed), self.clock.for_proof())
        return outcome.proof if isinstance(outcome, Holds) else None

    def enough(self, fixed: Features) -> Features:
        """Return the smallest set known to be sufficient inside a sufficient one."""
        return min((known for known in self.sufficient if known <= fixed), key=len, default=fixed)


def _is_small(problem: Problem) -> bool:
    """Return whether enumerating all sets or combinations is fast compared with the solver."""
    combinations = combinations_of(problem.near)
    count = min(sets_within(problem.near), combinations)
    if len(problem.near.network.layers) <= _SHALLOW:
        return count <= _SMALL
    if count <= _SMALL_DEEP:
        return True
    return count == combinations <= _SMALL_BLOCKS and is_for_blocks(problem)
