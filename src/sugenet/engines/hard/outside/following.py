"""The log of a pseudo-Boolean solver (VeriPB 1.1, as Exact writes it) as steps of a lemma proof."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from re import fullmatch
from typing import Any, TypeAlias
from zlib import compress

from sugenet.problem.cascade import Cascade
from sugenet.problem.formula import Linear

__all__ = ["constraints_of", "lemma_of", "used_of"]

_WORDS = 3_000_000
"""Words of a log from which on it is too large for a proof."""
_SMALL = 2000
"""Words of a proof from which on it is packed."""
_Step: TypeAlias = list[str | int]
"""A sum: words as in a proof, but constraints by their number in the log."""


def constraints_of(cascade: Cascade, facts: Sequence[int]) -> Iterator[Linear]:
    """The constraints of a problem in the order in which the checker numbers them, and then some facts."""
    starts = cascade.starts
    for number, layer in enumerate(cascade.layers):
        inputs = range(starts[number] + 1, starts[number + 1] + 1)
        rows = zip(layer.weights.tolist(), layer.least.tolist(), strict=True)
        for guard, (row, least) in enumerate(rows, start=starts[number + 1] + 1):
            for sign, bound in ((1, least), (-1, 1 - least)):
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
    """Numbers of constraints without those that always hold and those of neurons that facts settle."""
    settled = {2 * (abs(fact) - cascade.starts[1]) for fact in facts}
    idle = settled | {number - 1 for number in settled}
    return [number for number, row in enumerate(rows, 1) if row.least > 0 and number not in idle]


def lemma_of(log: Iterable[str], given: Sequence[int], there: int) -> dict[str, Any] | None:
    """The steps of a log that its conclusion needs, as a proof has them; None if one cannot be translated.

    Parameters
    ----------
    log
        Its lines.
    given
        For each constraint that the solver was given, its number for the checker.
    there
        How many constraints the checker has before the first step.
    """
    numbers, steps, size = [0], dict[int, _Step | tuple[int, ...]](), 0
    for line in log:
        kind, *words = line.split() or ["*"]
        size += len(words)
        if kind == "c":
            return _proof(steps, numbers, int(words[0]), there)
        if kind in ("pseudo-Boolean", "*"):
            continue
        if kind != "l" and words != [">=", "0", ";"]:  # that 0 is at least 0 has no number in a proof
            step = _clause(words) if kind == "rup" else _sum(words) if kind == "pol" else None
            if step is None or size > _WORDS:
                return None
            steps[len(numbers)] = step
        numbers.append(given[int(words[0]) - 1] if kind == "l" else 0)
    return None


def _clause(words: list[str]) -> tuple[int, ...] | None:
    *terms, sign, least, end = words
    if [sign, least, end, *terms[::2]] != [">=", "1", ";", *["+1"] * (len(terms) // 2)]:
        return None
    return tuple(int(word.replace("~", "-").replace("x", "")) for word in terms[1::2])


def _sum(words: list[str]) -> _Step | None:
    found: _Step = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.isdigit():
            found.append({"*": f"*{word}", "d": f"/{word}"}.get(after, int(word)))
        elif word not in ("*", "d"):
            found.append(word)
    return (
        found
        if all(fullmatch(r"~?x[0-9]+|[+s]|[*/][0-9]+", w) for w in found if isinstance(w, str))
        else None
    )


def _proof(
    steps: dict[int, _Step | tuple[int, ...]], numbers: list[int], end: int, there: int
) -> dict[str, Any] | None:
    """The steps that one of them needs, numbered as the checker numbers them."""
    needed = {end}
    for number, step in reversed(steps.items()):
        if number in needed:  # a clause may need everything before it
            needed.update(
                range(number) if isinstance(step, tuple) else (w for w in step if isinstance(w, int))
            )
    found: list[list[int] | str] = []
    for number, step in steps.items():
        if number not in needed:
            continue
        words = [numbers[w] if isinstance(w, int) else w for w in step if isinstance(step, list)]
        if 0 in words:
            return None
        found.append(" ".join(map(str, words)) if isinstance(step, list) else list(step))
        numbers[number] = there + len(found)
    sums = sum(isinstance(step, str) for step in found)
    text = "\n".join(f"p {s} 0" if isinstance(s, str) else " ".join(map(str, [*s, 0])) for s in [*found, []])
    proof: dict[str, Any] = {"clauses": [*found, []], **({"sums": sums} if sums else {})}
    if text.count(" ") > _SMALL:
        proof |= {"clauses": b64encode(compress(text.encode(), 9)).decode(), "encoding": "zlib+base64"}
    return proof
