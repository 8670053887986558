"""Exact, a pseudo-Boolean solver by cutting planes: the optional package ``exact`` (AGPL-3.0).

It is run without a proof, so what it says of no solution is not certified.
"""

from __future__ import annotations

import signal
import threading
from importlib.metadata import version

from sugenet.engines.protocol import Engine
from sugenet.errors import how_to_install
from sugenet.problem.clock import Clock
from sugenet.problem.formula import Formula, Linear
from sugenet.problem.outcomes import Holds, Open, Outcome, replayed
from sugenet.problem.problem import Problem

__all__ = ["EXACT"]

_SLICE = 0.25  # seconds between two looks at the clock


def _take_signals_back() -> None:
    """Exact catches Ctrl-C for itself and refuses to work afterwards: put back what was there before.

    Only the main thread can.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None:
                signal.signal(number, handler)


def _exact(problem: Problem, clock: Clock) -> Outcome:
    from exact import Exact

    engine = f"Exact {version('exact')}"
    formula = Formula.of(problem)
    if () in formula.clauses:
        return Holds(engine, None)
    solver = Exact([("seed", str(clock.seed + 1))])
    _take_signals_back()
    names = [f"x{number}" for number in range(1, formula.variables + 1)]
    for name in names:
        solver.addVariable(name)
    for gate in formula.gates:
        weights, numbers, least = gate.sum.signed()
        solver.addReification(
            names[gate.variable - 1],
            True,
            [(w, names[v - 1]) for w, v in zip(weights, numbers, strict=True)],
            least,
        )
    for row in (*formula.sums, *(Linear((1,) * len(clause), clause, 1) for clause in formula.clauses)):
        weights, numbers, least = row.signed()
        solver.addConstraint([(w, names[v - 1]) for w, v in zip(weights, numbers, strict=True)], True, least)
    state, late = "TIMEOUT", False
    while state == "TIMEOUT" and not late:
        state = solver.runFull(False, _SLICE)
        late = clock.up()
    if state == "SAT":
        values = solver.getLastSolutionFor(names[: formula.cascade.steps])
        return replayed(problem, engine, formula.cascade.moves(values))
    if state == "UNSAT":
        return Holds(engine, None)
    return Open(engine, "it was stopped" if late else f"it gave up: {state}", {})


EXACT = Engine("exact", _exact, "exact", how_to_install("exact"))
"""Exact; it has one thread."""
