"""Formulas over readings: conditions on values, lists of allowed rows, *and*, *or*.

Only conditions are negated, so that a formula and its negation have the same form. The possibility takes
linear time if the form allows it (docs/theory.md 12.2).

`sugenet.logic.parsing` reads formulas from text. A formula is written to JSON in the checker's form, and read
back.

The joint possibility is the minimum over the readings, so the joint gap is the largest of theirs. A formula
is as possible as its most possible interpretation. Gaps reverse the order: *or* takes the minimum, a term the
maximum, and necessity is the gap of the negation. So Pi of a disjunction of terms and N of a conjunction of
clauses take one pass. More generally, Pi takes one pass if the parts of every *and* have disjoint readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any, TypeAlias

from sugenet.errors import QuestionError, TooLargeError, refuse
from sugenet.logic.readings import Gap, Reading
from sugenet.reprs import ShortRepr

__all__ = [
    "Best",
    "Every",
    "Gaps",
    "Listed",
    "LogicFormula",
    "OneOf",
    "Some",
    "data_of",
    "easiest",
    "formula_of",
    "holds",
    "indices_in",
    "is_decomposable",
    "joined",
    "listed_rows",
    "negated",
    "predicate_rows",
]

_MOST = 1 << 20
"""Maximum number of rows on which a predicate is evaluated."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Condition that a reading, by position, has one of some values, by index."""

    place: int
    allowed: frozenset[int]


@dataclass(frozen=True)
class Listed(ShortRepr):
    """Condition that some readings jointly have values from a list of rows; if not `on`, that they do not."""

    places: tuple[int, ...]
    rows: frozenset[tuple[int, ...]]
    on: bool = True


@dataclass(frozen=True)
class Every(ShortRepr):
    """Conjunction: all parts hold. It is true if there are no parts."""

    parts: tuple[LogicFormula, ...]


@dataclass(frozen=True)
class Some(ShortRepr):
    """Disjunction: some part holds. It is false if there are no parts."""

    parts: tuple[LogicFormula, ...]


LogicFormula: TypeAlias = OneOf | Listed | Every | Some


def holds(formula: LogicFormula, values: Sequence[int]) -> bool:
    """Return whether values, by index, satisfy a formula: the definition.

    Examples
    --------
    >>> either = Some((OneOf(0, frozenset({1})), Listed((0, 1), frozenset({(0, 2)}))))
    >>> holds(either, [0, 2]), holds(either, [0, 1])
    (True, False)
    """
    match formula:
        case OneOf():
            return values[formula.place] in formula.allowed
        case Listed():
            return (tuple(values[index] for index in formula.places) in formula.rows) == formula.on
        case Every():
            return all(holds(part, values) for part in formula.parts)
    return any(holds(part, values) for part in formula.parts)


def negated(formula: LogicFormula, sizes: Sequence[int]) -> LogicFormula:
    """Return the negation, for readings with these numbers of values."""
    match formula:
        case OneOf(place, allowed):
            return OneOf(place, frozenset(range(sizes[place])) - allowed)
        case Listed(places, rows, on):
            return Listed(places, rows, not on)
        case Every(parts):
            return Some(tuple(negated(part, sizes) for part in parts))
    return Every(tuple(negated(part, sizes) for part in formula.parts))


def indices_in(formula: LogicFormula) -> frozenset[int]:
    """Return the readings of a formula."""
    match formula:
        case OneOf():
            return frozenset([formula.place])
        case Listed():
            return frozenset(formula.places)
    return frozenset().union(*(indices_in(part) for part in formula.parts))


# -- rows ----------------------------------------------------------------------------------------------------


def listed_rows(readings: Sequence[Reading], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Listed:
    """Return a list of rows of values that are allowed together, for the readings of these names."""
    indices = _places(readings, names)
    allowed = set()
    for row in rows:
        if isinstance(row, str) or len(row) != len(indices):
            raise QuestionError(f"the row {row!r} must have a value for each of {', '.join(names)}.")
        numbers = []
        for index, value in zip(indices, row, strict=True):
            known = readings[index].values
            if str(value) not in known:
                raise QuestionError(
                    f"the row {tuple(row)!r} has {value!r}, but {readings[index].name} is one of "
                    f"{', '.join(known)}."
                )
            numbers.append(known.index(str(value)))
        allowed.add(tuple(numbers))
    return Listed(indices, frozenset(allowed))


def predicate_rows(
    readings: Sequence[Reading], names: Sequence[str], predicate: Callable[..., Any]
) -> Listed:
    """Return the rows of values, as text, for which a Python function is true; it is called once for each.

    Examples
    --------
    >>> two = [Reading.given(name, {"1": 0, "2": 3}) for name in "ab"]
    >>> sorted(predicate_rows(two, ["a", "b"], lambda a, b: int(a) < int(b)).rows)
    [(0, 1)]
    """
    indices = _places(readings, names)
    sizes = [len(readings[index].values) for index in indices]
    if prod(sizes) > _MOST:
        raise TooLargeError(
            f"a predicate over {', '.join(names)} has {prod(sizes):,} rows, more than {_MOST:,}. "
            f"Say it as several, over fewer readings each."
        )
    values = [readings[index].values for index in indices]
    rows = product(*map(range, sizes))
    return Listed(
        indices,
        frozenset(row for row in rows if predicate(*(v[k] for v, k in zip(values, row, strict=True)))),
    )


def _places(readings: Sequence[Reading], names: Sequence[str]) -> tuple[int, ...]:
    known = {reading.name: index for index, reading in enumerate(readings)}
    wrong = next((name for name in names if name not in known), None)
    refuse(
        QuestionError,
        (isinstance(names, str), f"names={names!r} must be a list of names of readings."),
        (wrong is not None, f"there is no reading {wrong!r}. There are {', '.join(known)}."),
        (
            len(set(names)) < len(names) or not names,
            f"names={list(names)!r} must name some readings, each once.",
        ),
    )
    return tuple(known[name] for name in names)


# -- JSON ----------------------------------------------------------------------------------------------------


def data_of(formula: LogicFormula) -> dict[str, Any]:
    """Return a formula as JSON data."""
    match formula:
        case OneOf(place, allowed):
            return {"kind": "one of", "reading": place, "classes": sorted(allowed)}
        case Listed(places, rows, on):
            return {"kind": "rows", "readings": list(places), "rows": sorted(map(list, rows)), "on": on}
    kind = "every" if isinstance(formula, Every) else "some"
    return {"kind": kind, "parts": [data_of(part) for part in formula.parts]}


def formula_of(data: Mapping[str, Any]) -> LogicFormula:
    """Return a formula from its JSON."""
    match data["kind"]:
        case "one of":
            return OneOf(data["reading"], frozenset(data["classes"]))
        case "rows":
            return Listed(tuple(data["readings"]), frozenset(map(tuple, data["rows"])), data["on"])
        case "every":
            return Every(tuple(map(formula_of, data["parts"])))
        case "some":
            return Some(tuple(map(formula_of, data["parts"])))
    raise QuestionError(f"there is no formula of kind {str(data['kind'])[:40]!r}.")


Gaps = Sequence[Sequence[Gap]]
"""For each reading the gaps of its values."""
Best = tuple[Gap, dict[int, int]]
"""A gap, and values of some readings that attain it; the others have their best values."""


def is_decomposable(formula: LogicFormula) -> bool:
    """Return whether the parts of every *and* have disjoint readings; conditions on one reading are
    merged.
    """
    if isinstance(formula, OneOf | Listed):
        return True
    if isinstance(formula, Every):
        seen: set[int] = set()
        for part in joined(formula.parts):
            mine = indices_in(part)
            if mine & seen:
                return False
            seen |= mine
    return all(is_decomposable(part) for part in formula.parts)


def easiest(formula: LogicFormula, gaps: Gaps) -> Best | None:
    """Return the minimum gap with which a decomposable formula holds; None if it never holds.

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
            options = [one for one in (easiest(part, gaps) for part in parts) if one is not None]
            return min(options, key=lambda one: one[0], default=None)
    largest: Gap = 0
    values: dict[int, int] = {}
    for part in joined(formula.parts):
        one = easiest(part, gaps)
        if one is None:
            return None
        largest = max(largest, one[0])
        values |= one[1]
    return largest, values


def _easiest_row(formula: Listed, gaps: Gaps) -> Best | None:
    """Return the minimum for a list of rows, or for its negation: the first missing combination by increasing
    gap.
    """
    indices, rows = formula.places, formula.rows
    if formula.on:
        candidates = ((max(gaps[p][v] for p, v in zip(indices, row, strict=True)), row) for row in rows)
        best = min(candidates, default=None)
        return None if best is None else (best[0], dict(zip(indices, best[1], strict=True)))
    levels = sorted({gap for index in indices for gap in gaps[index]})
    for level in levels:
        open_values = [[v for v, gap in enumerate(gaps[p]) if gap <= level] for p in indices]
        row = _outside(open_values, rows)
        if row is not None:
            return level, dict(zip(indices, row, strict=True))
    return None


def _outside(values: list[list[int]], rows: frozenset[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return a combination that is not a row: one exists among one more than the number of rows."""
    return next((row for row in islice(product(*values), len(rows) + 1) if row not in rows), None)


def joined(parts: Sequence[LogicFormula]) -> list[LogicFormula]:
    """Return the parts of an *and*, flattened, with the conditions on one reading merged."""
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
    return [*(OneOf(index, allowed) for index, allowed in conditions.items()), *others]
