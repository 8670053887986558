"""The ladder of engines: each problem goes to the cheapest engine first, and what it leaves open to the next.

Engines by name: ``bounds``, ``dual`` (multipliers and branching), ``search`` (finds, never proves),
``flips`` (all sets of moves within the budget), ``exhaust`` (all combinations of few free features),
``branch`` (branch and bound over free features before one hidden layer),
``cdcl`` (our own solver with proof), and the solvers ``cpsat``, ``pysat``, ``exact``.
"""

from __future__ import annotations

from typing import Any

from sugenet.engines.bounds import BOUNDS
from sugenet.engines.dual.deciding import DUAL
from sugenet.engines.learn.solver import BRIEFLY, CDCL
from sugenet.engines.outside import SOLVERS
from sugenet.engines.protocol import Engine
from sugenet.engines.walk.anneal import SEARCH
from sugenet.engines.walk.blocks import in_planes
from sugenet.engines.walk.branches import BRANCH, BRANCH_BRIEFLY
from sugenet.engines.walk.choices import EXHAUST, MOST_COMBINATIONS
from sugenet.engines.walk.sets import FLIPS
from sugenet.errors import QuestionError
from sugenet.problem.clock import Clock
from sugenet.problem.outcomes import Fails, Interrupted, Open, Outcome
from sugenet.problem.problem import Problem
from sugenet.problem.sizes import combinations_of, is_soon_cut, sets_within

__all__ = ["ENGINES", "decide"]

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (BOUNDS, DUAL, SEARCH, FLIPS, EXHAUST, BRANCH, CDCL, *SOLVERS.values())
}

_CPSAT = SOLVERS["cpsat"]
_INSTANT = 2.0**16
"""Sets that are walked through in less time than it takes to set up a search with learning."""
_FEW = 3e5
"""Sets that are walked through before anything is searched for."""
_WALK = 3e8
"""Sets of moves that are walked through before a solver is asked."""
_BLOCKS = 3e12
"""The same times the neurons behind the first layer, where walks go by blocks (`late`)."""
_WALK_LATE = 1e11
"""Sets of moves that are walked through when the solvers have given up."""
_EXHAUST = 2.0**26
"""Combinations that are walked through before a solver is asked."""
_LEVELS = 30.0
"""Seconds that dual bounds get for levels before anything else is tried."""
_FIRST_TRY = 10.0
"""Seconds that our solver gets before longer walks are tried."""
_LARGE = 256
"""Features from which on learning for some milliseconds pays before anything is walked or searched; smaller
networks are walked as soon, and their first question need not wait for the solver to be compiled.
"""
_RATE = 1e8
"""Combinations that are gone through in a second, roughly."""
_RATE_WIDE, _WIDE = 1e6, 64
"""The same where more neurons of one hidden layer can turn than a word has bits."""
_BRANCH, _MANY_TURN = 60.0, 10
"""Seconds that branching gets. It comes first where so many times as many neurons can turn as features can
move.
"""
_AT_FIRST = 0.2
"""Seconds that learning gets before branching elsewhere: it is sooner done where neurons read little, and far
behind where they read much.
"""


def decide(problem: Problem, clock: Clock, engine: str = "auto") -> Outcome:
    """Decide a problem by one engine, or by the ladder."""
    if not isinstance(engine, str) or (engine != "auto" and engine not in ENGINES):
        raise QuestionError(f"engine={engine!r} is no engine. Choose auto, {', '.join(ENGINES)}.")
    if problem.begins_bad:
        return Fails("evaluation", problem.near.sample)
    if engine != "auto":
        return ENGINES[engine](problem, clock)
    tried: list[Open] = []
    steps = _ladder(problem)
    for step in steps:
        if clock.up():
            break
        clock.tell(f"{step.name} ...")
        try:
            found = step(problem, clock)
        except KeyboardInterrupt as stop:
            raise Interrupted(_facts(tried) | getattr(stop, "facts", {})) from None
        if not isinstance(found, Open):
            return found
        clock.tell(f"{step.name}: {found.reason}")
        tried.append(found)
    why = "the time was up"
    if not clock.up():
        why = "; ".join(f"{attempt.engine}: {attempt.reason}" for attempt in tried)
        if steps[-1] is CDCL and not _CPSAT.is_there:
            why += f"; CP-SAT might decide it, and is not installed; {_CPSAT.install}"
    return Open(", ".join(dict.fromkeys(attempt.engine for attempt in tried)), why, _facts(tried))


def _facts(tried: list[Open]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for attempt in tried:
        facts |= attempt.facts
    return facts


def _ladder(problem: Problem) -> list[Engine]:
    """Engines in the order in which they are worth a try."""
    combinations = combinations_of(problem.near)
    sets = combinations if problem.near.budget is None else sets_within(problem.near)
    if problem.near.budget is None or combinations < sets:
        count, soon, late, walk = combinations, _EXHAUST, MOST_COMBINATIONS, EXHAUST
    else:
        count, soon, late, walk = sets, _soon(problem, sets), _WALK_LATE, FLIPS
    levels = problem.near.network.has_levels
    large = problem.near.network.encoder.features >= _LARGE
    brief = large and not levels and problem.near.budget is None and count > _INSTANT
    first = [BOUNDS, BRIEFLY] if brief else [BOUNDS]
    if large and _has_one_layer(problem):
        first.insert(1, BRANCH_BRIEFLY)
    last = [_CPSAT] if _CPSAT.is_there else []
    if _turns_many(problem):
        later = [walk] if count <= late else []
        return [BOUNDS, BRANCH.within(_BRANCH), SEARCH, CDCL.within(_FIRST_TRY), *later, CDCL, *last]
    if count <= soon and is_soon_cut(problem.near):
        patient = [BRANCH.within(count / _RATE_WIDE)] if _is_wide(problem) and walk is EXHAUST else []
        steps = [*first, *patient, walk] if count <= _FEW else [*first, SEARCH, *patient, walk]
        return [*steps, DUAL if levels else CDCL]  # where sums are too large for a walk
    later = [walk] if count <= late else []
    if levels:  # which are many bits to all others
        return [DUAL.within(_LEVELS), SEARCH, CDCL.within(_FIRST_TRY), *later, DUAL]
    # no longer than the walk would take that comes next
    patience = min(_FIRST_TRY, count / _RATE) if later and walk is EXHAUST else _FIRST_TRY
    if _is_wide(problem):
        patience = max(patience, count / _RATE_WIDE)
    branching = [CDCL.within(_AT_FIRST), BRANCH.within(_BRANCH)] if _has_one_layer(problem) else []
    return [*first, SEARCH, *branching, CDCL.within(patience), *later, CDCL, *last]


def _has_one_layer(problem: Problem) -> bool:
    """Whether the network has one hidden layer and the region no budget, so that branching is for it."""
    near = problem.near
    return near.budget is None and not near.network.has_levels and len(near.network.layers) == 1


def _turns_many(problem: Problem) -> bool:
    """The same, and whether few features can turn very many neurons, so that each of them is soon settled:
    learning and going through all combinations are slow then.
    """
    return _has_one_layer(problem) and len(problem.front.fragile) > max(
        _WIDE, _MANY_TURN * len(problem.near.places)
    )


def _is_wide(problem: Problem) -> bool:
    """Whether the network has one hidden layer, of which much can turn: branching over the inputs then rules
    out many combinations at once, and going through them is slow.
    """
    network = problem.near.network
    return not network.has_levels and len(network.layers) == 1 and len(problem.front.fragile) > _WIDE


def _soon(problem: Problem, sets: float) -> float:
    """Sets of moves that are walked through before a solver is asked."""
    layers = problem.near.network.layers
    if sets <= _WALK or problem.near.network.has_levels or len(layers) < 2:
        return _WALK
    later = [(layer.weights, layer.tau) for layer in layers[1:]]
    over_bits = all(layer.kind == "dense" and layer.tops is None for layer in layers)
    if not over_bits or not in_planes(later):
        return _WALK
    return max(_WALK, _BLOCKS / sum(len(tau) for _, tau in later[: in_planes(later)]))
