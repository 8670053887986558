"""The neurosymbolic Sugeno integral: how much a capacity over interpretations supports a formula.

The formula may be graded (docs/theory.md 12.1).

An interpretation gives a value to every reading. F_mu(phi) = S_mu(l_phi), the Sugeno integral of the truth of
phi; for a Boolean phi it is mu of its models. If mu is the possibility of the readings, it is the result of
`read` as gaps. Any other capacity of `sugenet.capacity` over the interpretations works, too.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.capacity import BOOLEAN, UNIT, Necessity, Possibility, Scale, SetFunction, sugeno
from sugenet.capacity.arguments import exact_number, number_text
from sugenet.capacity.base import need_set_function
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic.degrees import by_value
from sugenet.logic.formulas import Every, Listed, LogicFormula, OneOf, Some, holds, indices_in, joined
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading, see_names

__all__ = ["Distortion", "integrate", "interpretations", "necessity_of", "possibility_of"]

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
            f"need no list: read(Statement.of(readings, formula)). Nor does integrate with a capacity per "
            f"reading, or with a Distortion."
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
    if not readings:
        raise QuestionError("give at least one reading.")
    rows = zip(interpretations(readings), _all(readings), strict=True)
    return {
        name: min(degree[r.gaps[k]] for r, k in zip(readings, choice, strict=True)) for name, choice in rows
    }


@dataclass(frozen=True, eq=False)
class Distortion:
    """Set function over interpretations by the share of a set: the greatest worth whose share is reached.

    The share of a set is its probability if the readings are independent. One step is a threshold capacity,
    ``[(1/2, 1)]`` the majority. It is a capacity if a step is worth 1.

    Parameters
    ----------
    steps
        Pairs of a share above 0 and a worth, up to 1. The worth of smaller shares than the first is 0.
    probabilities
        For some readings the weight of each value; the values of the others count alike (default: all
        alike).

    Examples
    --------
    >>> two = [Reading.given(name, {"no": 0, "yes": 1}) for name in "ab"]
    >>> integrate(Distortion([(0.5, 0.5), (1, 1)]), two, "a = yes or b = yes")
    Fraction(1, 2)
    """

    steps: Sequence[tuple[Any, Any]]
    probabilities: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pairs = self.steps if isinstance(self.steps, Sequence) else ()
        is_paired = all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs)
        exact = [
            (Fraction(exact_number(share, "a share")), Fraction(exact_number(worth, "a worth")))
            for share, worth in (pairs if is_paired else ())
        ]
        if not isinstance(self.probabilities, Mapping):
            raise QuestionError("probabilities must have the weights of the values for each reading by name.")
        if not exact or any(not (0 < share <= 1 and 0 <= worth <= 1) for share, worth in exact):
            raise QuestionError(
                f"steps={str(self.steps)[:60]} must be pairs of a share above 0 and a worth, up to 1."
            )
        object.__setattr__(self, "steps", tuple(sorted(exact)))

    def worth(self, share: Fraction) -> Fraction:
        """Return the worth of a set with this share."""
        return max((worth for least_share, worth in self.steps if share >= least_share), default=Fraction(0))

    def weights(self, readings: Sequence[Reading]) -> list[list[Fraction]]:
        """Return the weights of the values of every reading, which add up to 1."""
        unknown = sorted(set(self.probabilities) - {reading.name for reading in readings})
        if unknown:
            raise QuestionError(f"there is no reading {unknown[0]!r} to weigh.")
        rows = []
        for reading in readings:
            stated = self.probabilities.get(reading.name, dict.fromkeys(reading.values, 1))
            row = by_value(stated, reading.values, f"the weights of {reading.name}")
            if min(row) < 0 or not sum(row):
                raise QuestionError(f"the weights of {reading.name} must be at least 0, and not all 0.")
            rows.append([weight / sum(row) for weight in row])
        return rows


Truth: TypeAlias = str | LogicFormula | Callable[[Mapping[str, str]], Any]
Belief: TypeAlias = Callable[[Mapping[str, str]], Any] | Mapping[str, Mapping[Any, Any]]


def integrate(
    capacity: SetFunction | Mapping[str, SetFunction] | Distortion,
    readings: Sequence[Reading],
    truth: Truth,
    belief: Belief | None = None,
) -> Any:
    """Return the Sugeno integral of min(truth, belief) by a capacity over interpretations.

    This is the form of neurosymbolic inference by De Smet and De Raedt, the integral of a logic function
    times a belief function, with the minimum as product. Logic, belief and measure are three arguments.
    Without a belief it is F_mu(phi), for a Boolean formula the worth of its models.

    Reference: De Smet and De Raedt [DD25].

    Parameters
    ----------
    capacity
        The measure, as one of:

        - A set function of `sugenet.capacity` whose criteria are `interpretations(readings)`, or some of
          them. Interpretations that are not criteria add nothing. So capacities with few focal sets or few
          weights work with any number of interpretations.
        - A mapping from each reading to a set function over its values: the readings are integrated one
          after the other, the first outermost. This takes one pass if no reading occurs in two parts of the
          formula.
        - A `Distortion`, such as a threshold on the share of the models. It takes one pass for the same
          formulas.
    readings
        The variables.
    truth
        A formula, as text or as a value; or a function that gives the degree of truth, on the capacity's
        scale, of an interpretation: the values of the readings by name.
    belief
        The degree of belief in an interpretation, as a function of the values of the readings by name; or the
        degrees of the values of each reading, of which an interpretation has the least (default: 1).

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold
    >>> two = [Reading.given(name, {"no": 0, "yes": 1}) for name in "ab"]
    >>> most = CardinalityThreshold(interpretations(two), 3)  # in at least three of the four cases
    >>> integrate(most, two, "a = yes or b = yes"), integrate(most, two, "a = yes")
    (1, 0)
    >>> seen = {"a": {"no": 0.25, "yes": 1}, "b": {"no": 1, "yes": 0.5}}
    >>> integrate(Distortion([(0.25, 1)]), two, "a = yes and b = yes", belief=seen)
    Fraction(1, 2)
    """
    see_names(readings)
    formula = parse_formula(truth, readings) if isinstance(truth, str) else truth
    if not callable(formula) and not isinstance(formula, LogicFormula):
        raise QuestionError(
            f"truth is a {type(truth).__name__}. Give a formula, or a function of the values."
        )
    beliefs: Any = belief
    if isinstance(belief, Mapping):
        strange = sorted(set(map(str, belief)) ^ {reading.name for reading in readings})
        if strange:
            raise QuestionError(
                f"belief must have degrees for each reading and no other: see {strange[0]!r}."
            )
        beliefs = [
            [_unit(degree, f"the belief in {r.name}") for degree in row]
            for r in readings
            for row in [by_value(belief[r.name], r.values, f"the belief in {r.name}")]
        ]
    elif belief is not None and not callable(belief):
        raise QuestionError(
            f"belief is a {type(belief).__name__}. Give degrees by reading, or a function of the values."
        )
    if isinstance(capacity, SetFunction):
        return _over_interpretations(capacity, readings, formula, beliefs)
    product_of = _Independent if isinstance(capacity, Mapping) else _Shares
    return product_of(capacity, readings, formula, beliefs).integral()  # type: ignore[arg-type]


def _degree_of(formula: Any, beliefs: Any, readings: Sequence[Reading], ends: tuple[Any, Any]) -> Any:
    """Return the function min(truth, belief) of a choice of values."""

    def degree(choice: Sequence[int]) -> Any:
        values = {r.name: r.values[k] for r, k in zip(readings, choice, strict=True)}
        truth = formula(values) if callable(formula) else holds(formula, choice)
        truth = ends[bool(truth)] if isinstance(truth, bool | np.bool_) else truth
        if beliefs is None:
            return truth
        if callable(beliefs):
            return min(truth, beliefs(values))
        return min(truth, *(row[k] for row, k in zip(beliefs, choice, strict=True)))

    return degree


def _over_interpretations(
    capacity: SetFunction, readings: Sequence[Reading], formula: Any, beliefs: Any
) -> Any:
    _see_beliefs(beliefs, capacity.scale)
    degree = _degree_of(formula, beliefs, readings, (capacity.scale.bottom, capacity.scale.top))
    return sugeno(capacity, {name: degree(_choice_of(str(name), readings)) for name in capacity.criteria})


def _choice_of(name: str, readings: Sequence[Reading]) -> list[int]:
    """Return the values of an interpretation from its name."""
    partial: list[tuple[str, list[int]]] = [(name, [])]
    for number, reading in enumerate(readings):
        end = "" if number == len(readings) - 1 else ", "
        begins = [f"{reading.name}={value}{end}" for value in reading.values]
        partial = [
            (rest.removeprefix(begin), [*choice, k])
            for rest, choice in partial
            for k, begin in enumerate(begins)
            if rest.startswith(begin)
        ]
    whole = next((choice for rest, choice in partial if not rest), None)
    if whole is None:
        raise QuestionError(
            f"the criterion {name[:60]!r} of the capacity is not an interpretation of these readings: "
            f"make it over interpretations(readings)."
        )
    return whole


def _see_beliefs(beliefs: Any, scale: Scale) -> None:
    """Refuse degrees of belief that are numbers if the capacity has levels with names."""
    if isinstance(beliefs, list) and scale not in (BOOLEAN, UNIT):
        raise QuestionError(
            f"degrees of belief by reading are numbers, and the capacity has the levels {scale}. "
            f"Give the belief as a function of the values, with levels."
        )


def _unit(degree: Any, what: str) -> Fraction:
    exact = Fraction(exact_number(degree, what, QuestionError))
    if not 0 <= exact <= 1:
        raise QuestionError(f"{what} is {number_text(exact)}, which is not from 0 to 1.")
    return exact


class _OnePass:
    """A formula integrated part by part, if its parts are about different readings; else by enumeration."""

    def __init__(self, readings: Sequence[Reading], formula: Any, beliefs: Any) -> None:
        self.readings, self.formula, self.beliefs = readings, formula, beliefs
        self.by_parts = not callable(formula) and not callable(beliefs)

    def see_size(self, indices: Iterable[int]) -> None:
        size = prod(len(self.readings[index].values) for index in indices)
        if size > _MOST:
            raise TooLargeError(
                f"this formula has {size:,} interpretations that no part decides alone, more than {_MOST:,}. "
                f"Write it so that each reading occurs once, or use a capacity with few focal sets."
            )


def _parts_of(formula: LogicFormula) -> list[LogicFormula] | None:
    """Return the parts of an *and* or *or* if they are about different readings."""
    assert isinstance(formula, Every | Some)
    parts = joined(formula.parts) if isinstance(formula, Every) else list(formula.parts)
    counts = Counter(index for part in parts for index in indices_in(part))
    return parts if max(counts.values(), default=0) <= 1 else None


class _Independent(_OnePass):
    """The readings one after the other, each by its own capacity (docs/theory.md 12.10)."""

    def __init__(
        self, measures: Mapping[str, SetFunction], readings: Any, formula: Any, beliefs: Any
    ) -> None:
        super().__init__(readings, formula, beliefs)
        strange = sorted(set(measures) ^ {reading.name for reading in readings})
        if strange:
            raise QuestionError(f"give a capacity for each reading and no other: see {strange[0]!r}.")
        self.measures = [measures[reading.name] for reading in readings]
        for mu, reading in zip(self.measures, readings, strict=True):
            need_set_function(mu, f"the capacity of {reading.name}")
            if list(map(str, mu.criteria)) != list(reading.values):
                raise QuestionError(
                    f"the capacity of {reading.name} must be over its values, {', '.join(reading.values)}."
                )
        scales = {mu.scale for mu in self.measures}
        if len(scales) > 1:
            raise QuestionError("the capacities of the readings are on different scales. Use one for all.")
        self.scale = next(iter(scales))
        _see_beliefs(beliefs, self.scale)

    def integral(self) -> Any:
        everything = range(len(self.readings))
        if not self.by_parts:
            self.see_size(everything)
            degree = _degree_of(
                self.formula, self.beliefs, self.readings, (self.scale.bottom, self.scale.top)
            )
            return self.nested(everything, degree, [])
        mine = indices_in(self.formula)
        return min(
            self.value(self.formula), *(self.belief(k) for k in everything if k not in mine), self.scale.top
        )

    def belief(self, index: int) -> Any:
        """The integral of the belief in one reading."""
        return self.alone(index, lambda value: self.scale.top)  # noqa: ARG005

    def alone(self, index: int, truth: Callable[[int], Any]) -> Any:
        mu, row = self.measures[index], None if self.beliefs is None else self.beliefs[index]
        values = [truth(k) if row is None else min(truth(k), row[k]) for k in range(len(mu.criteria))]
        return sugeno(mu, dict(zip(mu.criteria, values, strict=True)))

    def value(self, formula: LogicFormula) -> Any:
        """The integral of a formula and of the belief in its readings."""
        bottom, top = self.scale.bottom, self.scale.top
        if isinstance(formula, OneOf):
            return self.alone(formula.place, lambda k: top if k in formula.allowed else bottom)
        parts = None if isinstance(formula, Listed) else _parts_of(formula)
        if parts is None:
            indices = sorted(indices_in(formula))
            self.see_size(indices)

            def degree(choice: Sequence[int]) -> Any:
                full = [0] * len(self.readings)
                for index, k in zip(indices, choice, strict=True):
                    full[index] = k
                return top if holds(formula, full) else bottom

            return self.nested(indices, degree, [], with_belief=True)
        if isinstance(formula, Every):
            return min((self.value(part) for part in parts), default=top)
        beliefs = [min((self.belief(k) for k in indices_in(part)), default=top) for part in parts]
        return max(
            (
                min(self.value(part), *beliefs[:number], *beliefs[number + 1 :], top)
                for number, part in enumerate(parts)
            ),
            default=bottom,
        )

    def nested(
        self,
        indices: Sequence[int],
        degree: Callable[[Sequence[int]], Any],
        choice: list[int],
        with_belief: bool = False,
    ) -> Any:
        """The integral over these readings, the first outermost."""
        if len(choice) == len(indices):
            return degree(choice)
        index = indices[len(choice)]

        def inner(k: int) -> Any:
            return self.nested(indices, degree, [*choice, k], with_belief)

        if with_belief:
            return self.alone(index, inner)
        mu = self.measures[index]
        return sugeno(mu, {name: inner(k) for k, name in enumerate(mu.criteria)})


class _Shares(_OnePass):
    """The share of the models, weighted value by value, at every level of belief."""

    def __init__(self, distortion: Distortion, readings: Any, formula: Any, beliefs: Any) -> None:
        super().__init__(readings, formula, beliefs)
        if not isinstance(distortion, Distortion):
            raise QuestionError(
                f"capacity is a {type(distortion).__name__}. Give a set function, a mapping from readings "
                f"to set functions, or a Distortion."
            )
        self.distortion, self.weights = distortion, distortion.weights(readings)

    def integral(self) -> Any:
        if not self.by_parts:
            self.see_size(range(len(self.readings)))
            degree = _degree_of(self.formula, self.beliefs, self.readings, (Fraction(0), Fraction(1)))
            shares: dict[Fraction, Fraction] = {}
            for choice in product(*(range(len(reading.values)) for reading in self.readings)):
                level = _unit(degree(choice), "a degree of truth or belief")
                share = prod((row[k] for row, k in zip(self.weights, choice, strict=True)), start=Fraction(1))
                shares[level] = shares.get(level, Fraction(0)) + share
            return max(
                min(
                    level,
                    self.distortion.worth(sum((s for v, s in shares.items() if v >= level), Fraction(0))),
                )
                for level in shares
            )
        levels = {degree for row in self.beliefs or () for degree in row} | {Fraction(1)}
        best = Fraction(0)
        for level in sorted(levels, reverse=True):
            if level > best:
                rows = (
                    self.weights
                    if self.beliefs is None
                    else [
                        [
                            weight if degree >= level else Fraction(0)
                            for weight, degree in zip(*pair, strict=True)
                        ]
                        for pair in zip(self.weights, self.beliefs, strict=True)
                    ]
                )
                mine = indices_in(self.formula)
                rest = prod((sum(row) for k, row in enumerate(rows) if k not in mine), start=Fraction(1))
                best = max(best, min(level, self.distortion.worth(rest * self.share(self.formula, rows))))
        return best

    def share(self, formula: LogicFormula, rows: list[list[Fraction]]) -> Fraction:
        """The weight of the models of a formula over its own readings."""
        if isinstance(formula, OneOf):
            return sum((rows[formula.place][k] for k in formula.allowed), Fraction(0))
        parts = None if isinstance(formula, Listed) else _parts_of(formula)
        if parts is not None:
            totals = [prod((sum(rows[k]) for k in indices_in(part)), start=Fraction(1)) for part in parts]
            models = [self.share(part, rows) for part in parts]
            if isinstance(formula, Every):
                return prod(models, start=Fraction(1))
            none = prod((t - m for t, m in zip(totals, models, strict=True)), start=Fraction(1))
            return prod(totals, start=Fraction(1)) - none
        indices = sorted(indices_in(formula))
        self.see_size(indices)
        full, total = [0] * len(self.readings), Fraction(0)
        for choice in product(*(range(len(self.readings[index].values)) for index in indices)):
            for index, k in zip(indices, choice, strict=True):
                full[index] = k
            if holds(formula, full):
                total += prod((rows[p][k] for p, k in zip(indices, choice, strict=True)), start=Fraction(1))
        return total
