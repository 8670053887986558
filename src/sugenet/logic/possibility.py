"""Possibility in linear time, where a formula has a form that allows it (docs/theory.md 12.2).

The joint possibility is the minimum over the readings, so the joint gap is the largest of theirs; a formula
is as possible as its most possible interpretation. Gaps turn the order round: *or* takes the least, a term
the largest, and necessity is the gap of the opposite. So Pi of a disjunction of terms and N of a conjunction
of clauses take one pass; more generally Pi does where the parts of every *and* speak of different readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from sugenet.logic.formulas import Every, Listed, LogicFormula, OneOf, Some, places_in
from sugenet.logic.readings import Gap

__all__ = ["Best", "Gaps", "easiest", "is_decomposable"]

Gaps = Sequence[Sequence[Gap]]
"""For each reading the gaps of its values."""
Best = tuple[Gap, dict[int, int]]
"""A gap, and values of some readings that have it; the others have their best."""


def is_decomposable(formula: LogicFormula) -> bool:
    """Whether the parts of every *and* speak of different readings; conditions on one reading are one."""
    if isinstance(formula, OneOf | Listed):
        return True
    if isinstance(formula, Every):
        seen: set[int] = set()
        for part in _joined(formula.parts):
            mine = places_in(part)
            if mine & seen:
                return False
            seen |= mine
    return all(is_decomposable(part) for part in formula.parts)


def easiest(formula: LogicFormula, gaps: Gaps) -> Best | None:
    """The least gap with which a decomposable formula holds; None: it never does.

    Examples
    --------
    >>> gaps = [[0, 2], [3, 0]]
    >>> easiest(Every((OneOf(0, frozenset({1})), OneOf(1, frozenset({0, 1})))), gaps)
    (2, {0: 1, 1: 1})
    """
    match formula:
        case OneOf(place, allowed):
            row = gaps[place]
            best = min(allowed, key=lambda value: (row[value], value), default=None)
            return None if best is None else (row[best], {place: best})
        case Listed():
            return _easiest_row(formula, gaps)
        case Some(parts):
            found = [one for one in (easiest(part, gaps) for part in parts) if one is not None]
            return min(found, key=lambda one: one[0], default=None)
    largest: Gap = 0
    values: dict[int, int] = {}
    for part in _joined(formula.parts):
        one = easiest(part, gaps)
        if one is None:
            return None
        largest = max(largest, one[0])
        values |= one[1]
    return largest, values


def _easiest_row(formula: Listed, gaps: Gaps) -> Best | None:
    """Of a list of rows; of its opposite, the first combination by rising gap that is not in the list."""
    places, rows = formula.places, formula.rows
    if formula.on:
        found = ((max(gaps[p][v] for p, v in zip(places, row, strict=True)), row) for row in rows)
        best = min(found, default=None)
        return None if best is None else (best[0], dict(zip(places, best[1], strict=True)))
    levels = sorted({gap for place in places for gap in gaps[place]})
    for level in levels:
        open_values = [[v for v, gap in enumerate(gaps[p]) if gap <= level] for p in places]
        row = _outside(open_values, rows)
        if row is not None:
            return level, dict(zip(places, row, strict=True))
    return None


def _outside(values: list[list[int]], rows: frozenset[tuple[int, ...]]) -> tuple[int, ...] | None:
    """A combination that is no row: among one more than there are rows, there is one."""
    return next((row for row in islice(product(*values), len(rows) + 1) if row not in rows), None)


def _joined(parts: Sequence[LogicFormula]) -> list[LogicFormula]:
    """Parts of an *and* with those inside of it, conditions on one reading made one."""
    conditions: dict[int, frozenset[int]] = {}
    others: list[LogicFormula] = []
    left = list(reversed(parts))
    while left:
        part = left.pop()
        match part:
            case Every():
                left += reversed(part.parts)
            case OneOf(place, allowed):
                conditions[place] = conditions.get(place, allowed) & allowed
            case _:
                others.append(part)
    return [*(OneOf(place, allowed) for place, allowed in conditions.items()), *others]
