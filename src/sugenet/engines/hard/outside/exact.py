"""Exact, a pseudo-Boolean solver with cutting planes: the optional package ``exact`` (AGPL-3.0).

Its log (VeriPB 1.1) is converted to a lemma proof. If that fails, the answer that there is no solution is
not certified.
"""

import signal
import threading
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from re import fullmatch
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from zlib import compress

from sugenet.engines.hard.learn.solver import facts_of
from sugenet.engines.protocol import Engine
from sugenet.errors import how_to_install
from sugenet.problem import Cascade, Clock, Holds, Linear, Open, Outcome, Problem, replayed

__all__ = ["EXACT", "constraints_of", "lemma_of", "used_of"]

_SLICE = 0.25  # seconds between two checks of the clock
_WORDS = 3_000_000
"""Number of words from which a log is too large for a proof."""
_SMALL = 2000
"""Number of words from which a proof is packed."""
_Step: TypeAlias = list[str | int]
"""A sum: words as in a proof, but with constraints numbered as in the log."""


def _take_signals_back() -> None:
    """Restore the signal handlers: Exact catches Ctrl-C itself and does not work afterwards.

    Only the main thread can do so.
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
        del solver  # this completes the log
        with Path(folder, "log.proof").open() as log:
            steps = lemma_of(log, used, len(rows))
    about = {"kind": "lemma", "variables": variables, "facts": facts, "cuts": []}
    return Holds(engine, None if steps is None else about | steps)


EXACT = Engine("exact", _exact, "exact", how_to_install("exact"))
"""Exact, with one thread."""


# -- the proof -----------------------------------------------------------------------------------------------


def constraints_of(cascade: Cascade, facts: Sequence[int]) -> Iterator[Linear]:
    """Yield the constraints of a problem in the order in which the checker numbers them, then some facts."""
    starts = cascade.starts
    for number, layer in enumerate(cascade.layers):
        inputs = range(starts[number] + 1, starts[number + 1] + 1)
        rows = zip(layer.weights.tolist(), layer.least.tolist(), strict=True)
        for guard, (row, min_sum) in enumerate(rows, start=starts[number + 1] + 1):
            for sign, bound in ((1, min_sum), (-1, 1 - min_sum)):
                reached = Linear.of([sign * weight for weight in row], inputs, bound)
                coefficients, literals = (
                    (reached.least, *reached.coefficients),
                    (-sign * guard, *reached.literals),
                )
                yield Linear(coefficients, literals, reached.least) if reached.least > 0 else reached
    named = range(starts[-1] + 1, starts[-1] + 1 + len(cascade.cases))
    clauses: list[tuple[int, ...]] = [tuple(named)]
    clauses += [
        (-c, starts[-2] + row + 1) for c, case in zip(named, cascade.cases, strict=True) for row in case
    ]
    clauses += [(-(step + 1), step) for chain in cascade.chains for step in chain.steps[1:]]
    yield from (Linear((1,) * len(clause), clause, 1) for clause in clauses)
    if cascade.budget is not None:
        prices, limit = cascade.budget
        yield Linear.of([-int(price) for price in prices], range(1, starts[1] + 1), -limit)
    yield from (Linear((1,), (fact,), 1) for fact in facts)


def used_of(rows: Sequence[Linear], cascade: Cascade, facts: Sequence[int]) -> list[int]:
    """Return the numbers of constraints, without those that always hold and those of settled neurons."""
    settled = {2 * (abs(fact) - cascade.starts[1]) for fact in facts}
    idle = settled | {number - 1 for number in settled}
    return [number for number, row in enumerate(rows, 1) if row.least > 0 and number not in idle]


def lemma_of(log: Iterable[str], checker_numbers: Sequence[int], there: int) -> dict[str, Any] | None:
    """Return the steps of a log that its conclusion needs, as in a proof; None if one cannot be translated.

    Parameters
    ----------
    log
        Lines of the log.
    checker_numbers
        Checker number of each constraint given to the solver.
    there
        Number of constraints that the checker has before the first step.
    """
    numbers, steps, size = [0], dict[int, _Step | tuple[int, ...]](), 0
    for line in log:
        kind, *tokens = line.split() or ["*"]
        size += len(tokens)
        if kind == "c":
            return _proof(steps, numbers, int(tokens[0]), there)
        if kind in ("pseudo-Boolean", "*"):
            continue
        if kind != "l" and tokens != [">=", "0", ";"]:  # "0 >= 0" has no number in a proof
            step = _clause(tokens) if kind == "rup" else _sum(tokens) if kind == "pol" else None
            if step is None or size > _WORDS:
                return None
            steps[len(numbers)] = step
        numbers.append(checker_numbers[int(tokens[0]) - 1] if kind == "l" else 0)
    return None


def _clause(tokens: list[str]) -> tuple[int, ...] | None:
    *terms, sign, bound, end = tokens
    if [sign, bound, end, *terms[::2]] != [">=", "1", ";", *["+1"] * (len(terms) // 2)]:
        return None
    return tuple(int(word.replace("~", "-").replace("x", "")) for word in terms[1::2])


def _sum(tokens: list[str]) -> _Step | None:
    step: _Step = []
    for word, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if word.isdigit():
            step.append({"*": f"*{word}", "d": f"/{word}"}.get(after, int(word)))
        elif word not in ("*", "d"):
            step.append(word)
    return (
        step if all(fullmatch(r"~?x[0-9]+|[+s]|[*/][0-9]+", w) for w in step if isinstance(w, str)) else None
    )


def _proof(
    steps: dict[int, _Step | tuple[int, ...]], numbers: list[int], end: int, there: int
) -> dict[str, Any] | None:
    """Return the steps that a step needs, numbered as the checker numbers them."""
    needed = {end}
    for number, step in reversed(steps.items()):
        if number in needed:  # a clause may need everything before it
            needed.update(
                range(number) if isinstance(step, tuple) else (w for w in step if isinstance(w, int))
            )
    proof_steps: list[list[int] | str] = []
    for number, step in steps.items():
        if number not in needed:
            continue
        tokens = [numbers[w] if isinstance(w, int) else w for w in step if isinstance(step, list)]
        if 0 in tokens:
            return None
        proof_steps.append(" ".join(map(str, tokens)) if isinstance(step, list) else list(step))
        numbers[number] = there + len(proof_steps)
    sums = sum(isinstance(step, str) for step in proof_steps)
    text = "\n".join(
        f"p {s} 0" if isinstance(s, str) else " ".join(map(str, [*s, 0])) for s in [*proof_steps, []]
    )
    proof: dict[str, Any] = {"clauses": [*proof_steps, []], **({"sums": sums} if sums else {})}
    if text.count(" ") > _SMALL:
        proof |= {"clauses": b64encode(compress(text.encode(), 9)).decode(), "encoding": "zlib+base64"}
    return proof
