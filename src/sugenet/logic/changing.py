"""Counterfactuals of a composite: the cheapest changes of its images, with proof (docs/theory.md 12.6).

The cost of changing a reading to each class is known only by bounds at first. The search finds the cheapest
choice by these bounds, then asks `whatif` about its parts, which raises or confirms the bounds. It repeats
this until the cheapest choice by bounds really has that cost.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sugenet.checker.form import exact
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic.answers import ComposedChange, NoComposedChange, OpenComposedChange
from sugenet.logic.asking import see_network
from sugenet.logic.composed import Composed, Least, Wanted, see_composed
from sugenet.logic.envelopes import PartOf, certificate_of, proof_that_none
from sugenet.logic.readings import Gap
from sugenet.nn import Network
from sugenet.problem.clock import Clock
from sugenet.problem.regions import L0, L1, L2, Cost, Hamming
from sugenet.reason.counterfactuals import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counterfactuals.answers import Answer
from sugenet.reason.counterfactuals.searching import nearest
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import WhatIf, named_cost
from sugenet.reprs import quoted

__all__ = ["whatif"]

_ANY = -1
"""Placeholder for a class: any other."""


def whatif(
    composed: Composed,
    value: Any = None,
    cost: type[Cost] | str = L0,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> ComposedChange | NoComposedChange | OpenComposedChange:
    """Find the cheapest changes of the images that give a composite another value.

    The answer proves that no cheaper changes exist.

    Parameters
    ----------
    composed
        A `Sum`, a `Sudoku` or a `Statement`.
    value
        The wanted sum (default: any other than the current one). A statement or a Sudoku has one other value.
    cost
        `L0`, `L1`, `L2` (squares) or `Hamming`; the costs of all images are added up.
    time_limit, threads, seed, notify
        As in `sugenet.whatif`; the time is for all parts together.

    Examples
    --------
    >>> from sugenet import models
    >>> from sugenet.logic import Sum
    >>> X, y = models.samples("digits")
    >>> print(whatif(Sum.of(models.digits(), X[[7]], X[[4]])))  # doctest: +ELLIPSIS
    3 + 6 = 9; 3 + 1 = 4 with 2 features changed, proved to be the least: right 1 from 6 to 1 (pixel (5,2) ...
    """
    see_composed(composed)
    cost = named_cost(cost)
    if cost not in (L0, L1, L2, Hamming):
        raise QuestionError(
            f"cost={quoted(cost)} does not add up over several images. Use 'L0', 'L1', 'L2' or 'Hamming'."
        )
    clock = Clock(time_limit, threads, seed, notify)
    wanted = _other(composed, value)
    searcher = _CompositeSearch(composed, wanted, cost, clock)
    with suppress(KeyboardInterrupt, TimeoutError):  # results up to then are kept
        searcher.go()
    question = {"kind": "whatif", "cost": {"kind": cost.__name__}, **wanted.data()}
    known, best = searcher.known()
    lower, proof = searcher.proved(None if known is None else known[0])
    if lower is None:
        certificate = certificate_of(composed, question, "none", searcher.parts, proof=proof)
        return NoComposedChange(composed, certificate, clock.seconds)
    shown = {"lower": str(lower), "proof": proof}
    if best is None:
        certificate = certificate_of(composed, question, "open", searcher.parts, **shown)
        return OpenComposedChange(composed, certificate, clock.seconds)
    more = {"choice": list(best[1]), "cost": str(best[0]), **shown}
    return ComposedChange(
        composed, certificate_of(composed, question, "counterfactual", searcher.parts, **more), clock.seconds
    )


def _other(composed: Composed, value: Any) -> Wanted:
    """Return the wanted value; refuse the current one."""
    if value is None:
        return Wanted(composed.says, other=True)
    fits = (isinstance(value, int) and not isinstance(value, bool)) == (composed.kind == "sum")
    if not fits or not isinstance(value, int):
        kind = "an integer" if composed.kind == "sum" else "True or False"
        raise QuestionError(f"value={quoted(value)} must be {kind}.")
    if value == composed.says:
        raise QuestionError(f"{composed.words(value)} already, as it is read: ask for another value.")
    return Wanted(value)


class _CompositeSearch:
    """Search with lower and upper bounds on the cost of each class for each reading."""

    def __init__(self, whole: Composed, wanted: Wanted, cost: type[Cost], clock: Clock) -> None:
        self.whole, self.wanted, self.cost, self.clock = whole, wanted, cost, clock
        self.places = set(see_network(whole))
        self.integer_steps = cost in (L0, Hamming)
        self.parts: list[PartOf] = []
        self.settled: set[tuple[int, int]] = set()
        self.once: set[tuple[int, int]] = set()
        """Questions that were asked and left undecided."""
        self.lower: list[list[Gap | None]] = []
        self.upper: list[list[Gap | None]] = []
        steps: list[Gap] = []
        for index, reading in enumerate(whole.readings):
            current, n_values = whole.read[index], len(reading.values)
            first = None if reading.network is None else self._min_step(reading.network)
            steps += [] if first is None else [first]
            self.lower.append([0 if k == current else first for k in range(n_values)])
            self.upper.append([0 if k == current else None for k in range(n_values)])

        self.step = min(steps)
        """Minimum cost of any change."""
        self.cheapest: Least = (self.step, ())
        self.best: Least | None = None

    def _min_step(self, network: Network) -> Gap:
        """Return the minimum cost of another class; bits of silent cuts cost nothing."""
        silent = any(getattr(coding, "silent", ()) for coding in network.encoder.codings)
        return int(self.cost is L0 or (self.cost is Hamming and not silent))

    def least(self, costs: list[list[Gap | None]], clock: Clock | None = None) -> Least | None:
        """Return the cheapest choice by some costs."""
        return self.whole.min_cost(self.wanted, costs, (clock or self.clock).up)

    def known(self) -> tuple[Least | None, Least | None]:
        """Return the cheapest choices by bounds and among those found, recomputed in a little extra time if
        possible.
        """
        lower: Least | None = self.cheapest
        best = self.best
        if best is not None:  # its parts may have become cheaper since
            best = sum(self.upper[p][k] or 0 for p, k in enumerate(best[1])), best[1]
        with suppress(TimeoutError):
            lower = self.least(self.lower, self.clock.for_proof())
        with suppress(TimeoutError):
            best = self.least(self.upper, self.clock.for_proof())
        return lower, best

    def proved(self, lower: Gap | None) -> tuple[Gap | None, dict[str, Any] | None]:
        """Return a lower bound with its proof, None if no changes suffice.

        If no proof is found in time, it is the bound by the smallest step, or 0.
        """
        rows = [{k: cost for k, cost in enumerate(row) if cost is not None} for row in self.lower]
        for bound in (lower, self.step):
            with suppress(TimeoutError, TooLargeError):
                return bound, proof_that_none(self.whole, self.wanted, rows, bound, self.clock.for_proof())
        return 0, None

    def go(self) -> None:
        """Ask until the cheapest choice by lower bounds is settled, or the time is up."""
        while not self.clock.up():
            cheapest = self.least(self.lower)
            if cheapest is None:
                return
            self.cheapest = cheapest
            self.best = best = self.least(self.upper)
            if best is not None and best[0] <= cheapest[0]:
                return
            missing = [
                (p, k)
                for p, k in enumerate(cheapest[1])
                if k != self.whole.read[p] and (p, k) not in self.settled
            ]
            if not missing:
                return
            for index, k in missing:
                if (index, _ANY) not in self.settled:
                    self._ask(index, None, None)
                elif (index, k) not in self.settled:
                    rest = cheapest[0] - (self.lower[index][k] or 0)
                    self._ask(index, k, None if best is None else best[0] - rest)
                if self.clock.up():
                    return

    def _ask(self, index: int, target: int | None, limit: Gap | None) -> None:
        """Find the cost of changing one reading to a class, or to any other, up to a limit."""
        reading, asked = self.whole.readings[index], (index, _ANY if target is None else target)
        network = reading.network
        assert network is not None
        goal = "change" if target is None else f"become {reading.values[target]}"
        self.clock.tell(f"{reading.name}: what would make it {goal}?")
        max_cost = None if limit is None or self.cost is L2 else limit
        question = WhatIf(network.encoder.values(reading.sample), self.cost, target, max_cost=max_cost)
        how: dict[str, Any] = {"seed": self.clock.seed, "notify": self.clock.notify}
        seconds, threads = self._seconds(asked), self.clock.threads
        answer = _shown(nearest(network, question, time_limit=seconds, threads=threads, **how))
        assert answer.certificate is not None
        self.parts.append((index, answer.certificate))
        is_open = isinstance(answer, OpenCounterfactual)
        if isinstance(answer, Counterfactual):
            is_open = not answer.is_minimum
        if asked in self.once or not is_open or self.clock.time_limit is None:
            self.settled.add(asked)  # otherwise it is asked once more, with all remaining time
        self.once.add(asked)
        current = self.whole.read[index]
        others = [k for k in range(len(reading.values)) if k != current and target in (None, k)]
        self._learn(index, others, self._bound(index, answer))
        if answer.interrupted:
            raise KeyboardInterrupt

    def _seconds(self, asked: tuple[int, int]) -> float | None:
        """Return the seconds for one question: a third of the time, at least one second; everything the
        second time.
        """
        left = self.clock.left()
        return None if left is None else max(left / (1 if asked in self.once else 3), min(left, 1.0))

    def _bound(self, index: int, answer: Answer) -> Gap | None:
        """Return the minimum cost of the classes in question; None if they cannot be reached."""
        if isinstance(answer, Counterfactual):
            became = answer.index
            known, value = self.upper[index][became], _short(answer.cost)
            self.upper[index][became] = value if known is None else min(known, value)
            if answer.is_minimum:
                self.settled.add((index, became))
        if not isinstance(answer, NoCounterfactual):
            return _short(answer.lower)
        limit = answer.max_cost
        return None if limit is None else limit.__floor__() + 1 if self.integer_steps else _short(limit)

    def _learn(self, index: int, others: list[int], bound: Gap | None) -> None:
        """Raise lower bounds of classes."""
        for k in others:
            known = self.lower[index][k]
            if bound is None:
                self.lower[index][k] = None
                self.settled.add((index, k))
            elif known is not None:
                self.lower[index][k] = max(known, bound)


def _shown(answer: Answer) -> Answer:
    """Return an answer with only the values that its certificate proves."""
    match answer:
        case Counterfactual():
            return replace(answer, lower=exact(answer.certificate["lower"]))
        case NoCounterfactual(certificate=None):
            contents: dict[str, Any] = {"answer": "open", "witness": None, "proof": None, "lower": "0"}
            certificate = envelope(answer.network, answer.question, **contents)
            reason = f"{answer.engine} gives no proof"
            return OpenCounterfactual(answer.network, answer.question, Fraction(0), reason, certificate)
    return answer


def _short(value: Fraction) -> Gap:
    return int(value) if value.denominator == 1 else value
