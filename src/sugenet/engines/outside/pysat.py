"""Glucose of python-sat on clauses alone, for small cases.

What it says of no solution comes with a proof that `check_drup` re-checks.
"""

from __future__ import annotations

import signal
import threading
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from typing import Any
from zlib import compress

import numpy as np

from sugenet.engines.outside.cnf import Cnf
from sugenet.engines.protocol import Engine
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.outcomes import Holds, Open, Outcome, replayed
from sugenet.problem.problem import Problem

__all__ = ["PYSAT", "hearing_ctrl_c"]

_CONFLICTS = 1000  # between two looks at the clock


def _pysat(problem: Problem, clock: Clock) -> Outcome:
    from pysat.solvers import Solver

    engine = f"Glucose 4 of python-sat {version('python-sat')}"
    try:
        cnf = Cnf.of(problem)
    except TooLargeError as error:
        return Open(engine, str(error), {})
    with Solver("glucose4", bootstrap_with=cnf.clauses, with_proof=True) as solver:
        answer, late = None, False
        while answer is None and not late:
            solver.conf_budget(_CONFLICTS)
            with hearing_ctrl_c():
                answer = solver.solve_limited()
            late = clock.up()
        if answer is None:
            return Open(engine, "it was stopped", {"clauses": len(cnf.clauses)})
        if answer:
            model = set(solver.get_model())
            values = [step + 1 in model for step in range(cnf.cascade.steps)]
            return replayed(problem, engine, cnf.cascade.moves(values))
        return Holds(engine, {"solver": engine, **_proof(cnf, solver.get_proof())})


PYSAT = Engine("pysat", _pysat, "pysat", "pip install python-sat")
"""Glucose 4 on clauses alone, small cases only; it has one thread and draws no random numbers."""


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """Turn the error by which python-sat tells of Ctrl-C, which it takes itself, into what Python does.

    It leaves its own handler behind, which would jump into a call that has ended: Python's takes its place
    again, and hears of the interrupt.
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


def _proof(cnf: Cnf, lines: Iterable[str]) -> dict[str, Any]:
    """The lemmas that the contradiction needs, each dropped after its last use."""
    from sugenet.engines.outside.trim import flat, propagate_all

    lemmas: list[tuple[int, ...]] = []
    known: dict[tuple[int, ...], list[int]] = {}
    steps: list[int] = []
    for number, clause in enumerate(cnf.clauses):
        known.setdefault(tuple(sorted(clause)), []).append(number)
    for line in lines:
        dropped, literals = (
            line.startswith("d"),
            tuple(int(word) for word in line.removeprefix("d").split()[:-1]),
        )
        key = tuple(sorted(literals))
        if not dropped:
            known.setdefault(key, []).append(len(cnf.clauses) + len(lemmas))
            steps.append(known[key][-1])
            lemmas.append(literals)
        elif known.get(key):
            steps.append(-1 - known[key].pop())
    given = len(cnf.clauses)
    _, used, uses = propagate_all(
        *flat([*cnf.clauses, *lemmas]), given, np.array(steps, np.int64), cnf.variables
    )
    return {
        "kind": "drup",
        "clauses": given,
        "variables": cnf.variables,
        **_packed(cnf, lemmas, given, used, uses),
    }


def _packed(cnf: Cnf, lemmas: list[tuple[int, ...]], given: int, used: Any, uses: Any) -> dict[str, Any]:
    """The needed lemmas as numbers: how many literals, the literals; -1 and the number of a lemma to drop."""
    numbers: dict[int, int] = {}
    last: dict[int, list[int]] = {}
    stream: list[int] = []
    for clause in np.flatnonzero(used[given:]).tolist():
        last.setdefault(int(uses[given + clause]), []).append(clause)
    for clause, lemma in enumerate(lemmas):
        if used[given + clause]:
            numbers[clause] = given + len(numbers)
            stream += [len(lemma), *lemma]
            for gone in last.get(given + clause, ()):
                stream += [-1, numbers[gone]]
    digest = sha256(
        np.concatenate(
            [*(np.array([*clause, 0], "<i4") for clause in cnf.clauses), np.zeros(0, "<i4")]
        ).tobytes()
    ).hexdigest()
    return {
        "cnf": digest,
        "lemmas": len(numbers),
        "data": b64encode(compress(np.array(stream, "<i4").tobytes(), 9)).decode(),
    }
