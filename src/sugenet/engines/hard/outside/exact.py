"""Exact, a pseudo-Boolean solver by cutting planes: the optional package ``exact`` (AGPL-3.0).

Its log becomes a lemma proof. If that cannot be, what it says of no solution is not certified.
"""

from __future__ import annotations

import signal
import threading
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from sugenet.engines.hard.learn.solver import facts_of
from sugenet.engines.hard.outside.following import constraints_of, lemma_of, used_of
from sugenet.engines.protocol import Engine
from sugenet.errors import how_to_install
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Holds, Open, Outcome, Problem, replayed

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

    engine, cascade = f"Exact {version('exact')}", problem.cascade
    facts = facts_of(problem.first_layer, cascade)
    rows = list(constraints_of(cascade, facts))
    used = used_of(rows, cascade, facts)
    variables = cascade.starts[-1] + len(cascade.cases)
    names = [f"x{number}" for number in range(1, variables + 1)]
    with TemporaryDirectory() as folder:
        solver = Exact([("seed", str(clock.seed + 1)), ("proof-log", f"{folder}/log")])
        _take_signals_back()
        for name in names:
            solver.addVariable(name)
        for k in used:
            weights, numbers, min_sum = rows[k - 1].signed()
            terms = [(w, names[v - 1]) for w, v in zip(weights, numbers, strict=True)]
            solver.addConstraint(terms, True, min_sum)
        state, late = "TIMEOUT", False
        while state == "TIMEOUT" and not late:
            state = solver.runFull(False, _SLICE)
            late = clock.up()
        if state == "SAT":
            return replayed(problem, engine, cascade.moves(solver.getLastSolutionFor(names[: cascade.steps])))
        if state != "UNSAT":
            return Open(engine, "it was stopped" if late else f"it gave up: {state}", {})
        del solver  # which ends the log
        with Path(folder, "log.proof").open() as log:
            steps = lemma_of(log, used, len(rows))
    about = {"kind": "lemma", "variables": variables, "facts": facts, "cuts": []}
    return Holds(engine, None if steps is None else about | steps)


EXACT = Engine("exact", _exact, "exact", how_to_install("exact"))
"""Exact; it has one thread."""
