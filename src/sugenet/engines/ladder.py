"""The ladder of engines: the engine with the lowest expected cost runs first. If it leaves a problem open,
the next one runs.

Engines by name:

- ``bounds``
- ``dual``: multipliers and branching
- ``search``: finds, never proves
- ``flips``: all sets of moves within the budget
- ``exhaust``: all combinations of few free features
- ``branch``: branch and bound over features before one hidden layer
- ``cdcl``: search with learning, with a proof
- the solvers ``cpsat``, ``pysat`` and ``exact``

`RUNGS` is the table: which engine applies when, how many seconds it is expected to take, and how long it may
take. ``python -m benchmarks.ladder --fit`` measures the engines and prints its fit beside the table. Without
``--fit`` it says how far the ladder is from the best engine of each problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.hard.learn.solver import BRIEFLY, CDCL
from sugenet.engines.hard.outside import SOLVERS
from sugenet.engines.protocol import Engine
from sugenet.engines.walk.anneal import SEARCH
from sugenet.engines.walk.blocks import in_planes
from sugenet.engines.walk.branches import BRANCH, BRANCH_BRIEFLY
from sugenet.engines.walk.choices import EXHAUST, MAX_COMBINATIONS
from sugenet.engines.walk.sets import FLIPS
from sugenet.errors import QuestionError
from sugenet.problem import (
    Clock,
    Fails,
    Interrupted,
    Open,
    Outcome,
    Problem,
    combinations_of,
    expansion_seconds,
    is_soon_expanded,
    sets_within,
)
from sugenet.reprs import quoted

__all__ = ["ENGINES", "RUNGS", "Facts", "Rung", "decide"]

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (BOUNDS, DUAL, SEARCH, FLIPS, EXHAUST, BRANCH, CDCL, *SOLVERS.values())
}

_CPSAT = SOLVERS["cpsat"]
_SET, _SET_IN_PLANES, _SET_WIDE = 1e-8, 1e-12, 1e-6
"""Seconds of a walk per set of moves; by blocks, per set and neuron after the first layer; and per
combination, if more than `_WORD` neurons of one hidden layer can turn.
"""
_MAX_SETS = 1e11
"""Number of sets of moves beyond which they are not enumerated."""
_WORD, _MANY_TURN = 64, 10
"""Bits of a word, and the ratio of neurons to features from which neurons are very many."""
_LARGE = 256
"""Number of features from which a few milliseconds of learning come first. Walks over smaller networks are as
fast, and their first question need not wait until the solver is compiled.
"""
_LEARNED, _SHORT, _DUAL = 0.67, 3.0, 30.0
"""Approximate seconds of learning; limit of a walk over levels within a budget, and of branching within a
budget that allows too many sets for a walk; and limit of the dual bounds of levels before any other engine.
"""
_MANY_SETS = 1e6
"""Number of sets of moves from which branching within a budget comes first."""


@dataclass(frozen=True)
class Facts:
    """Facts about a problem that the table depends on."""

    problem: Problem

    @cached_property
    def has_levels(self) -> bool:
        """Whether neurons have more than two levels."""
        return self.problem.near.network.has_levels

    @cached_property
    def is_large(self) -> bool:
        """Whether there are many features."""
        return self.problem.near.network.encoder.features >= _LARGE

    @cached_property
    def expansion(self) -> float:
        """Seconds to expand levels to steps."""
        return expansion_seconds(self.problem.near)

    @cached_property
    def combinations(self) -> float:
        """Combinations of moves, if the budget allows about as many sets; else infinite."""
        near = self.problem.near
        combinations = combinations_of(near)
        return combinations if near.budget is None or combinations < sets_within(near) else inf

    @cached_property
    def sets(self) -> float:
        """Sets of moves within the budget, if they are fewer than all combinations; else infinite."""
        return sets_within(self.problem.near) if self.combinations == inf else inf

    @cached_property
    def is_dual_first(self) -> bool:
        """Whether there are levels that are slow to expand to steps, or slow to walk."""
        is_short = self.combinations * _SET <= _LEARNED or self.sets * _SET <= _SHORT
        return self.has_levels and not (is_short and is_soon_expanded(self.problem.near))

    @cached_property
    def each_set(self) -> float:
        """Seconds of a walk per set of moves within a budget."""
        layers = self.problem.near.network.layers
        if self.has_levels or any(layer.kind != "dense" or layer.tops is not None for layer in layers):
            return _SET
        later = [(layer.weights, layer.tau) for layer in layers[1:]]
        blocks = in_planes(later) if later else 0
        return min(_SET, _SET_IN_PLANES * sum(len(tau) for _, tau in later[:blocks])) if blocks else _SET

    @cached_property
    def each_combination(self) -> float:
        """Seconds of a walk per combination."""
        return _SET_WIDE if self.is_wide else _SET

    @cached_property
    def _turning(self) -> int:
        """Number of neurons that can turn, if there is one hidden layer, else 0."""
        network = self.problem.near.network
        return 0 if self.has_levels or len(network.layers) != 1 else len(self.problem.first_layer.fragile)

    @cached_property
    def is_wide(self) -> bool:
        """Whether much of one hidden layer can turn: then branching excludes many combinations at once."""
        return self._turning > _WORD

    @cached_property
    def is_free(self) -> bool:
        """Whether there is one hidden layer and no budget, so that branching is possible."""
        near = self.problem.near
        return near.budget is None and not self.has_levels and len(near.network.layers) == 1

    @cached_property
    def has_many_sets(self) -> bool:
        """Whether there is one hidden layer, or none, and a budget that allows many sets of moves."""
        near = self.problem.near
        is_shallow = not self.has_levels and len(near.network.layers) < 2
        return is_shallow and near.budget is not None and self.sets >= _MANY_SETS and self.combinations == inf

    @cached_property
    def turns_many(self) -> bool:
        """Whether few features turn very many neurons, so that branching soon settles each of them."""
        return self.is_free and self.is_wide and self._turning > _MANY_TURN * len(self.problem.near.places)

    @cached_property
    def patience(self) -> float:
        """Seconds of learning at first: at most as many as the next walk would take."""
        patience = min(10.0, self.combinations * _SET if self.combinations <= MAX_COMBINATIONS else inf)
        return max(patience, min(self.combinations, self.sets) * _SET_WIDE) if self.is_wide else patience


@dataclass(frozen=True)
class Rung:
    """A row of the table: expected cost and time limit of an engine."""

    engine: Engine
    start: float
    """Expected seconds for any problem."""
    applies: Callable[[Facts], bool] = lambda _: True
    size: Callable[[Facts], float] = lambda _: 0.0
    """Further expected seconds, which depend on the problem."""
    limit: Callable[[Facts], float] = lambda _: inf
    """Time limit in seconds."""
    expansions: float = 1.0
    """Further expected seconds, as a multiple of the time to expand levels to steps."""

    def seconds(self, facts: Facts) -> float:
        """Return the expected seconds; if the dual bounds are first, an engine that reads levels as steps
        runs after them.
        """
        waits = _DUAL if facts.is_dual_first and self.expansions else self.expansions * facts.expansion
        return self.start + self.size(facts) + waits

    def step(self, facts: Facts) -> Engine:
        """Return the engine with its time limit."""
        limit = self.limit(facts)
        return self.engine if limit == inf else self.engine.within(limit)


RUNGS = (
    Rung(BOUNDS, 5e-4, lambda f: not f.is_dual_first),
    Rung(
        BRANCH_BRIEFLY,
        9e-4,
        lambda f: f.has_many_sets or (f.is_large and f.is_free and not f.turns_many),
    ),
    Rung(
        BRIEFLY,
        1.7e-3,
        lambda f: f.is_large and not f.has_levels and f.problem.near.budget is None and not f.turns_many,
    ),
    Rung(BRANCH, 2e-3, lambda f: f.turns_many, limit=lambda _: 60.0),
    Rung(FLIPS, 1e-3, lambda f: f.sets <= _MAX_SETS, lambda f: f.sets * f.each_set),
    Rung(
        EXHAUST,
        1e-3,
        lambda f: f.combinations <= MAX_COMBINATIONS,
        lambda f: f.combinations * f.each_combination,
    ),
    Rung(SEARCH, 4e-3, expansions=30.0),
    # learning is faster than branching if neurons read few inputs, and much slower if they read many
    Rung(CDCL, _LEARNED, lambda f: f.is_free and not f.turns_many, limit=lambda _: 0.2),
    Rung(
        BRANCH,
        4.5e-3,
        lambda f: f.is_free and not f.turns_many,
        lambda f: min(f.combinations * _SET, _LEARNED),
        lambda f: min(60.0, f.combinations * _SET_WIDE) if f.is_wide else 60.0,
    ),
    Rung(BRANCH, 0.5, lambda f: f.has_many_sets, limit=lambda f: max(_SHORT, min(60.0, f.sets * f.each_set))),
    Rung(DUAL, 1.0, lambda f: f.has_levels, limit=lambda _: _DUAL, expansions=0.0),
    Rung(
        CDCL,
        0.7,
        size=lambda f: 2.3 if f.sets < inf or f.has_levels else 0.0,  # levels are many bits
        limit=lambda f: 10.0 if f.has_levels else f.patience,
    ),
    # without a limit, after all others have given up
    Rung(DUAL, inf, lambda f: f.has_levels, expansions=0.0),
    Rung(CDCL, inf, lambda f: not f.has_levels),
    Rung(_CPSAT, inf, lambda f: not f.has_levels and _CPSAT.is_there),
)
"""The engines of the ladder, in the order in which those of equal cost are tried."""


def decide(problem: Problem, clock: Clock, engine: str = "auto") -> Outcome:
    """Decide a problem by one engine, or by the ladder."""
    if not isinstance(engine, str) or (engine != "auto" and engine not in ENGINES):
        raise QuestionError(f"engine={quoted(engine)} is not an engine. Choose auto, {', '.join(ENGINES)}.")
    if problem.begins_bad:
        return Fails("evaluation", problem.near.sample)
    if engine != "auto":
        return ENGINES[engine](problem, clock)
    tried: list[Open] = []
    for step in _ladder(problem):
        if clock.up():
            break
        clock.tell(f"{step.name} ...")
        try:
            outcome = step(problem, clock)
        except KeyboardInterrupt as stop:
            raise Interrupted(_facts(tried) | getattr(stop, "facts", {})) from None
        if not isinstance(outcome, Open):
            return outcome
        clock.tell(f"{step.name}: {outcome.reason}")
        tried.append(outcome)
    why = "the time was up"
    if not clock.up():
        why = "; ".join(f"{attempt.engine}: {attempt.reason}" for attempt in tried)
        if not problem.near.network.has_levels and not _CPSAT.is_there:
            why += f"; CP-SAT might decide it, and is not installed; {_CPSAT.install}"
    return Open(", ".join(dict.fromkeys(attempt.engine for attempt in tried)), why, _facts(tried))


def _facts(tried: list[Open]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for attempt in tried:
        facts |= attempt.facts
    return facts


def _ladder(problem: Problem) -> list[Engine]:
    """Return the engines that apply, in the order of their expected cost."""
    facts = Facts(problem)
    rungs = [rung for rung in RUNGS if rung.applies(facts)]
    return [rung.step(facts) for rung in sorted(rungs, key=lambda rung: rung.seconds(facts))]
