"""Exact, a pseudo-Boolean solver by cutting planes: the optional package ``exact`` (AGPL-3.0).

Its word is taken on trust.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from importlib.metadata import version

from sugenet.engines.outside.outcome import never, out_of_time, replayed, trusted
from sugenet.problem.formula import Formula, Linear
from sugenet.problem.outcomes import Open, Outcome
from sugenet.problem.problem import Problem

__all__ = ["solve"]

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


def solve(
    problem: Problem,
    *,
    time_limit: float | None = None,
    threads: int | None = None,  # noqa: ARG001 it has one
    seed: int = 0,
    stop: Callable[[], bool] = never,
) -> Outcome:
    """Decide a problem with Exact."""
    from exact import Exact

    engine = f"Exact {version('exact')}"
    late = out_of_time(time_limit, stop)
    formula = Formula.of(problem)
    if () in formula.clauses:
        return trusted(engine, variables=formula.variables, constraints=1)
    solver = Exact([("seed", str(seed + 1))])
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
    state, reason = "TIMEOUT", None
    while state == "TIMEOUT" and reason is None:
        state = solver.runFull(False, _SLICE)
        reason = late()
    if state == "SAT":
        return replayed(problem, engine, solver.getLastSolutionFor(names[: formula.cascade.steps]))
    if state == "UNSAT":
        return trusted(engine, variables=formula.variables, constraints=len(list(formula.constraints())))
    return Open(engine, reason or f"it gave up: {state}", {})
