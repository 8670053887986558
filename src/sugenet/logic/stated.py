"""Statements about several readings: formulas as text, allowed rows, Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sugenet.errors import QuestionError
from sugenet.logic.composed import Composed, Least, Wanted
from sugenet.logic.formulas import (
    Every,
    LogicFormula,
    data_of,
    easiest,
    holds,
    is_decomposable,
    listed_rows,
    negated,
    predicate_rows,
)
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading, gap_text, see_names
from sugenet.logic.search import Choices, Costs
from sugenet.reprs import cut
from sugenet.visible import visible

__all__ = ["Statement"]

_LONGEST = 200
"""Maximum number of characters of a statement in a sentence."""


@dataclass(frozen=True, eq=False)
class Statement(Composed):
    """Statement about readings; its value is whether it holds.

    Examples
    --------
    >>> valve = Reading.given("valve", {"open": 0, "shut": 4})
    >>> flow = Reading.given("flow", {"none": 0, "some": 3, "much": 7})
    >>> rule = Statement.of([valve, flow], "if valve = open then flow != none")
    >>> print(rule)
    as read it does not hold that if valve = open then flow != none; that it holds is behind by 3 points
    """

    kind: ClassVar[str] = "stated"

    readings: tuple[Reading, ...]
    formula: LogicFormula
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "readings", tuple(self.readings))
        see_names(self.readings)
        if not self.readings:
            raise QuestionError("a statement needs a reading that it is about.")

    @classmethod
    def of(cls, readings: Iterable[Reading], *claims: str) -> Statement:
        """Return the statement that all formulas, given as text, hold (`sugenet.logic.parse_formula`)."""
        all_readings = tuple(readings)
        see_names(all_readings)
        parts = [parse_formula(claim, all_readings) for claim in claims]
        if not parts:
            raise QuestionError("state something: a formula such as 'a = 1 or b != 2'.")
        text = claims[0] if len(claims) == 1 else " and ".join(f"({claim})" for claim in claims)
        return cls(all_readings, parts[0] if len(parts) == 1 else Every(tuple(parts)), text.strip())

    @classmethod
    def of_rows(
        cls, readings: Iterable[Reading], names: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> Statement:
        """Return the statement that the values of some readings are in a list of rows."""
        all_readings = tuple(readings)
        listed = listed_rows(all_readings, names, rows)
        return cls(all_readings, listed, f"{', '.join(names)} are one of {len(listed.rows)} rows")

    @classmethod
    def of_predicate(
        cls, readings: Iterable[Reading], names: Sequence[str], predicate: Callable[..., Any]
    ) -> Statement:
        """Return the statement that a Python function is true for the values of some readings, given as text.

        It is called once for each combination of values.
        """
        all_readings = tuple(readings)
        called = getattr(predicate, "__name__", "a predicate")
        shown = "the predicate" if called == "<lambda>" else called
        return cls(
            all_readings, predicate_rows(all_readings, names, predicate), f"{shown}({', '.join(names)})"
        )

    def also(self, other: Statement) -> Statement:
        """Return the conjunction of both statements, about the same readings."""
        if list(map(_described, other.readings)) != list(map(_described, self.readings)):
            raise QuestionError("the two statements are not about the same readings.")
        return Statement(
            self.readings, Every((self.formula, other.formula)), f"({self.text}) and ({other.text})"
        )

    def value(self, choice: Sequence[int]) -> bool:
        """Return whether it holds."""
        return holds(self.formula, choice)

    def min_gap(self, wanted: Wanted, gaps: Costs | None = None) -> Least | None:
        """Return the minimum gap in one pass if the form allows it, else by bisection, one SAT call per
        step.
        """
        formula = self._formula(wanted)
        if gaps is None and is_decomposable(formula):
            best = easiest(formula, self.gaps)
            if best is None:
                return None
            return best[0], tuple(
                best[1].get(index, read_value) for index, read_value in enumerate(self.read)
            )
        return self._choices(formula).min_gap(self.gaps if gaps is None else gaps)

    def min_cost(self, wanted: Wanted, costs: Costs, is_up: Callable[[], bool] | None = None) -> Least | None:
        """Return the minimum cost by MaxSAT."""
        return self._choices(self._formula(wanted)).min_cost(costs, is_up)

    def _formula(self, wanted: Wanted) -> LogicFormula:
        return self.formula if wanted.met(True) else self._opposite

    @cached_property
    def _opposite(self) -> LogicFormula:
        return negated(self.formula, [len(reading.values) for reading in self.readings])

    def _choices(self, formula: LogicFormula) -> Choices:
        choices = Choices([len(reading.values) for reading in self.readings])
        choices.demand(formula)
        return choices

    def words(self, value: Any) -> str:
        """Return whether it holds, in words."""
        return f"it {'holds' if value else 'does not hold'} that {cut(visible(self.text), letters=_LONGEST)}"

    def composite_data(self) -> dict[str, Any]:
        """Return the statement as JSON data."""
        return {"kind": self.kind, "formula": data_of(self.formula)}

    def __str__(self) -> str:
        says = self.says
        other = self.min_gap(Wanted(not says))
        far = "is impossible" if other is None else f"is behind by {gap_text(other[0])}"
        return f"as read {self.words(says)}; that it {'does not' if says else 'holds'} {far}"


def _described(reading: Reading) -> tuple[Any, ...]:
    """Return everything that identifies a reading."""
    network = reading.network
    read = None if network is None else (network.fingerprint, list(network.encoder.values(reading.sample)))
    return reading.name, reading.values, reading.gaps, read
