"""Glucose of python-sat on clauses alone, for small cases.

Its proofs are about clauses, so they are for external checkers (`refuted`). Its answer that there is no
solution is not certified here.
"""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np

from sugenet.engines.hard.outside.cnf import Cnf
from sugenet.engines.protocol import Engine
from sugenet.errors import TooLargeError
from sugenet.problem import Clock, Holds, Open, Outcome, Problem, replayed

__all__ = ["PYSAT", "hearing_ctrl_c", "refuted"]

_CONFLICTS = 1000  # between two checks of the clock


@contextmanager
def _solved(cnf: Cnf, clock: Clock, *, with_proof: bool) -> Iterator[tuple[Any, bool | None]]:
    """Yield a solver that has run, and whether there is a solution; None if the time was up."""
    from pysat.solvers import Solver

    with Solver("glucose4", bootstrap_with=cnf.clauses, with_proof=with_proof) as solver:
        answer, late = None, False
        while answer is None and not late:
            solver.conf_budget(_CONFLICTS)
            with hearing_ctrl_c():
                answer = solver.solve_limited()
            late = clock.up()
        yield solver, answer


def _pysat(problem: Problem, clock: Clock) -> Outcome:
    engine = f"Glucose 4 of python-sat {version('python-sat')}"
    try:
        cnf = Cnf.of(problem)
    except TooLargeError as error:
        return Open(engine, str(error), {})
    with _solved(cnf, clock, with_proof=False) as (solver, answer):
        if answer is None:
            return Open(engine, "it was stopped", {"clauses": len(cnf.clauses)})
        if answer:
            model = set(solver.get_model())
            values = [step + 1 in model for step in range(cnf.cascade.steps)]
            return replayed(problem, engine, cnf.cascade.moves(values))
        return Holds(engine, None)


def refuted(cnf: Cnf, clock: Clock) -> tuple[bool | None, list[tuple[int, ...] | int]]:
    """Return whether clauses have a solution (None: the time was up). If not, also return the lemmas of the
    refutation, and the indices (from 0) of lemmas that are no longer needed.
    """
    with _solved(cnf, clock, with_proof=True) as (solver, answer):
        return answer, _needed(cnf, solver.get_proof()) if answer is False else []


PYSAT = Engine("pysat", _pysat, "pysat", "pip install python-sat")
"""Glucose 4 on clauses alone, for small cases; it has one thread and uses no random numbers."""


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """Convert python-sat's error for Ctrl-C, which it catches itself, into `KeyboardInterrupt`.

    It leaves its own handler installed, which would jump into a call that has ended. Python's handler is
    restored and receives the interrupt.
    """
    try:
        yield
    except Exception as error:
        if "keyboard interrupt" not in str(error).lower():
            raise
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is not None:
                signal.signal(signal.SIGINT, handler)
            if callable(handler):
                handler(signal.SIGINT, None)
        raise KeyboardInterrupt from None


def _needed(cnf: Cnf, lines: Iterable[str]) -> list[tuple[int, ...] | int]:
    """Return the lemmas that the contradiction needs, each dropped after its last use."""
    from sugenet.engines.hard.outside.trim import flat, propagate_all

    lemmas: list[tuple[int, ...]] = []
    known: dict[tuple[int, ...], list[int]] = {}
    steps: list[int] = []
    n_clauses = len(cnf.clauses)
    for number, clause in enumerate(cnf.clauses):
        known.setdefault(tuple(sorted(clause)), []).append(number)
    for line in lines:
        literals = tuple(int(word) for word in line.removeprefix("d").split()[:-1])
        key = tuple(sorted(literals))
        if not line.startswith("d"):
            known.setdefault(key, []).append(n_clauses + len(lemmas))
            steps.append(known[key][-1])
            lemmas.append(literals)
        elif known.get(key):
            steps.append(-1 - known[key].pop())
    _, used, uses = propagate_all(
        *flat([*cnf.clauses, *lemmas]), n_clauses, np.array(steps, np.int64), cnf.variables
    )
    numbers: dict[int, int] = {}
    last: dict[int, list[int]] = {}
    needed: list[tuple[int, ...] | int] = []
    for index in np.flatnonzero(used[n_clauses:]).tolist():
        last.setdefault(int(uses[n_clauses + index]), []).append(index)
    for index, lemma in enumerate(lemmas):
        if used[n_clauses + index]:
            numbers[index] = len(numbers)
            needed += [lemma, *(numbers[gone] for gone in last.get(n_clauses + index, ()))]
    return needed
