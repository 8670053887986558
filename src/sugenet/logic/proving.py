"""Proofs that no choice of classes has a value: what a certificate about a whole adds to those of its parts.

The claim is written as the checker writes it, a small network over the classes of the readings, and search
with learning proves it. So the checker follows clauses instead of searching.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from sugenet.checker.accelerate.thresholds import system_of
from sugenet.checker.composed_form import WholeSaid
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem
from sugenet.checker.reading import Sizes, read
from sugenet.checker.wholes import FormulaWhole, Wish, composed_whole
from sugenet.engines.hard.learn.solver import Core, Found, Solver
from sugenet.errors import SoundnessError
from sugenet.logic.composed import Composed, Wanted
from sugenet.logic.readings import Gap
from sugenet.problem.cascade import Cascade, FeatureSteps, Thresholds
from sugenet.problem.clock import Clock

__all__ = ["lemma_of", "proof_that_none"]

_FEW = 1000
"""Choices that the checker enumerates, or as many as a formula has parts; more need clauses."""


def proof_that_none(
    whole: Composed,
    wanted: Wanted,
    costs: Sequence[Mapping[int, Gap]],
    below: Gap | None = None,
    clock: Clock | None = None,
) -> dict[str, Any] | None:
    """Prove that no choice has a wanted value at a sum of costs below a bound.

    Parameters
    ----------
    whole, wanted
        What it is about.
    costs
        For each reading the classes that it may have, by number, and what each costs.
    below
        The bound (default: none).
    clock
        The time (default: without limit).

    Returns
    -------
    dict or None
        The proof as JSON; None if no choice is cheap enough, so that nothing is left to prove.

    Raises
    ------
    TimeoutError
        If the time is up first.
    """
    least = sum(min(row.values()) for row in costs) if all(costs) else None
    if least is None or (below is not None and least >= below):
        return None
    said = read(WholeSaid, whole.whole_data(), Sizes(), "the whole")
    judged = composed_whole(said, [reading.values for reading in whole.readings])
    if not isinstance(judged, FormulaWhole):
        return {"kind": "enumerate"}
    rows = [{k: Fraction(cost) for k, cost in row.items()} for row in costs]
    wish = Wish(wanted.value, wanted.other, None if below is None else Fraction(below))
    problem = judged.problem(rows, wish, Limit(None, None))
    if prod(len(costs[place]) for place in judged.places) <= max(_FEW, sum(map(len, problem.layers))):
        return {"kind": "enumerate"}
    return lemma_of(problem, clock or Clock())


def lemma_of(problem: IntegerProblem, clock: Clock) -> dict[str, Any]:
    """Clauses that show that a problem has no violation, as JSON; `TimeoutError` if the time is up first."""
    solver = Solver(_cascade(problem), has_cuts=False)  # each would be as long as all costs, and say little
    match solver.solve(clock):
        case Core():
            return solver.proof()
        case Found():
            raise SoundnessError("there are classes that the answer excludes. Please report this question.")
    raise TimeoutError


def _cascade(problem: IntegerProblem) -> Cascade:
    """A problem of the checker as the search reads it."""
    system = system_of(problem)
    chains = []
    for number, steps in enumerate(system.chains):
        options: tuple[Any, ...] = (None, *steps)
        chains.append(FeatureSteps(number, steps[0], options))
    budget = None if system.budget is None else (np.array(system.budget[0], object), system.budget[1])
    layers = tuple(Thresholds(weights, least) for weights, least in system.layers)
    return Cascade(tuple(chains), budget, layers, system.cases)
