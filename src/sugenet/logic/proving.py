"""Proofs that no choice of classes has a value: what a certificate about a whole adds to those of its parts.

The claim is written as the checker writes it, a small network over the classes of the readings, and search
with learning proves it. So the checker follows clauses instead of searching.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sugenet.checker.composed_form import WholeSaid
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem
from sugenet.checker.reading import Sizes, read
from sugenet.checker.wholes import FormulaWhole, Wish, composed_whole
from sugenet.engines.learn.solver import Core, Found, Solver
from sugenet.errors import SoundnessError
from sugenet.logic.composed import Composed, Wanted
from sugenet.logic.readings import Gap
from sugenet.problem.cascade import Cascade, FeatureSteps, Thresholds
from sugenet.problem.clock import Clock

__all__ = ["lemma_of", "proof_that_none"]

_FEW = 1000
"""Choices that the checker enumerates; more need clauses."""


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
    if not isinstance(judged, FormulaWhole) or prod(len(costs[k]) for k in judged.places) <= _FEW:
        return {"kind": "enumerate"}
    rows = [{k: Fraction(cost) for k, cost in row.items()} for row in costs]
    wish = Wish(wanted.value, wanted.other, None if below is None else Fraction(below))
    return lemma_of(judged.problem(rows, wish, Limit(None, None)), clock or Clock())


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
    chains, columns, prices = list[FeatureSteps](), list[Any](), list[int]()
    for row in problem.offered:
        options: tuple[Any, ...] = (None, *row[1:])
        chains.append(FeatureSteps(len(chains), len(columns), options))
        for (price, gain), (higher, more) in pairwise(row):
            prices.append(higher - price)
            columns.append(np.subtract(more, gain))
    width = len(problem.base)
    weights = np.array(columns, np.int64).reshape(len(columns), width).T
    layers = [Thresholds(weights, -np.array(problem.base, np.int64))]
    for rows in (*problem.layers, problem.inequalities):
        weights = np.zeros((len(rows), width), np.int64)
        for number, (row_weights, _) in enumerate(rows):
            weights[number, list(row_weights)] = list(row_weights.values())
        layers.append(Thresholds(weights, np.array([least for _, least in rows], np.int64)))
        width = len(rows)
    budget = None if problem.budget is None else (np.array(prices, object), problem.budget)
    return Cascade(tuple(chains), budget, tuple(layers), tuple(map(tuple, problem.cases)))
