"""The neurosymbolic Sugeno integral: how much a capacity over interpretations supports a formula.

The formula may be graded (docs/theory.md 12.1).

An interpretation gives a value to every reading. F_mu(phi) = S_mu(l_phi), the Sugeno integral of the truth of
phi; for a Boolean phi it is mu of its models. If mu is the possibility of the readings, it is the result of
`read` as gaps. Any other capacity of `sugenet.capacity` over the interpretations works, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from sugenet.capacity import Necessity, Possibility, SetFunction, sugeno
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic.formulas import LogicFormula, holds
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading, see_names

__all__ = ["integrate", "interpretations", "necessity_of", "possibility_of"]

_MOST = 1 << 16
"""Maximum number of interpretations that are listed."""


def interpretations(readings: Sequence[Reading]) -> list[str]:
    """Return all interpretations by name, such as ``a=1, b=2``; the last reading changes fastest.

    They are the criteria of capacities.

    Examples
    --------
    >>> interpretations([Reading.given("a", {"0": 0, "1": 2}), Reading.given("b", {"on": 0})])
    ['a=0, b=on', 'a=1, b=on']
    """
    return [
        ", ".join(f"{r.name}={r.values[k]}" for r, k in zip(readings, choice, strict=True))
        for choice in _all(readings)
    ]


def _all(readings: Sequence[Reading]) -> list[tuple[int, ...]]:
    see_names(readings)
    count = prod(len(reading.values) for reading in readings)
    if count > _MOST:
        raise TooLargeError(
            f"there are {count:,} interpretations, more than {_MOST:,} to list. Possibility and necessity "
            f"need no list: read(Statement.of(readings, formula))."
        )
    return list(product(*(range(len(reading.values)) for reading in readings)))


def possibility_of(readings: Sequence[Reading]) -> Possibility:
    """Return the possibility measure of the readings over their interpretations: the minimum of theirs.

    Gaps become degrees by their rank among all gaps, from 1 for gap 0 down to above 0. Comparisons stay the
    same.

    Reference: Dubois and Prade [DP14].

    Examples
    --------
    >>> two = [Reading.given("a", {"0": 0, "1": 2}), Reading.given("b", {"0": 5, "1": 0})]
    >>> pi = possibility_of(two)
    >>> pi({"a=1, b=1"}), pi({"a=0, b=0", "a=1, b=0"})
    (Fraction(2, 3), Fraction(1, 3))
    """
    return Possibility(_degrees(readings))


def necessity_of(readings: Sequence[Reading]) -> Necessity:
    """Return the necessity measure: the conjugate.

    Reference: Dubois and Prade [DP14].
    """
    return Necessity(_degrees(readings))


def _degrees(readings: Sequence[Reading]) -> dict[Any, Fraction]:
    levels = sorted({gap for reading in readings for gap in reading.gaps})
    degree = {gap: 1 - Fraction(rank, len(levels)) for rank, gap in enumerate(levels)}
    rows = zip(interpretations(readings), _all(readings), strict=True)
    return {
        name: min(degree[r.gaps[k]] for r, k in zip(readings, choice, strict=True)) for name, choice in rows
    }


def integrate(
    capacity: SetFunction,
    readings: Sequence[Reading],
    truth: str | LogicFormula | Callable[[Mapping[str, str]], Any],
) -> Any:
    """Return F_mu(phi): the Sugeno integral of the truth of a formula by a capacity over interpretations.

    Reference: De Smet and De Raedt [DD25]; Baaj and Prade [BP26].

    Parameters
    ----------
    capacity
        Any set function of `sugenet.capacity` whose criteria are `interpretations(readings)`.
    readings
        The variables.
    truth
        A formula, as text or as a value; or a function that gives the degree of truth, on the capacity's
        scale, of an interpretation: the values of the readings by name.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold
    >>> two = [Reading.given(name, {"no": 0, "yes": 1}) for name in "ab"]
    >>> most = CardinalityThreshold(interpretations(two), 3)  # in at least three of the four cases
    >>> integrate(most, two, "a = yes or b = yes"), integrate(most, two, "a = yes")
    (1, 0)
    """
    names = interpretations(readings)
    if list(capacity.criteria) != names:
        raise QuestionError(
            f"the capacity is over other criteria than the {len(names)} interpretations of these readings: "
            f"make it over interpretations(readings)."
        )
    bottom, top = capacity.scale.bottom, capacity.scale.top
    formula = parse_formula(truth, readings) if isinstance(truth, str) else truth
    degrees = {}
    for name, choice in zip(names, _all(readings), strict=True):
        if callable(formula):
            degrees[name] = formula({r.name: r.values[k] for r, k in zip(readings, choice, strict=True)})
        else:
            degrees[name] = top if holds(formula, choice) else bottom
    return sugeno(capacity, degrees)
