"""Composites of several readings, such as a sum of digits: their value follows from the readings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sugenet.errors import QuestionError
from sugenet.logic.readings import Gap, Reading
from sugenet.logic.search import Costs
from sugenet.reprs import Sentences

__all__ = ["Choice", "Composed", "Least", "Wanted", "see_composed"]

Choice = tuple[int, ...]
"""A value for each reading, by index."""
Least = tuple[Gap, Choice]
"""The minimum gap or cost, and values that attain it."""


def see_composed(value: object) -> None:
    """Raise `QuestionError` if this is not a composite."""
    if not isinstance(value, Composed):
        raise QuestionError(
            f"{str(value)[:60]!r} is not a composite of readings. Give a Sum, a Sudoku or a Statement."
        )


@dataclass(frozen=True)
class Wanted:
    """Wanted value of a composite; with `other`, any value except this one."""

    value: Any
    other: bool = False

    def met(self, value: Any) -> bool:
        """Return whether a value is wanted."""
        return bool((value == self.value) != self.other)

    def data(self) -> dict[str, Any]:
        """Return the wanted value as JSON data."""
        return {"value": self.value, "other": self.other}


class Composed(Sentences, ABC):
    """Base class of composites of readings. `value` defines it; all other methods follow from it."""

    kind: ClassVar[str]
    readings: tuple[Reading, ...]

    @abstractmethod
    def value(self, choice: Sequence[int]) -> Any:
        """Return the value of the composite for values of its readings: the definition."""

    @abstractmethod
    def min_gap(self, wanted: Wanted, gaps: Costs | None = None) -> Least | None:
        """Return the minimum gap over all choices that have a wanted value; None if no choice has one.

        The gap of a choice is the largest gap of its readings.
        """

    @abstractmethod
    def min_cost(self, wanted: Wanted, costs: Costs, is_up: Callable[[], bool] | None = None) -> Least | None:
        """Return the minimum total cost of a choice with a wanted value; `TimeoutError` if time `is_up`
        first.
        """

    @abstractmethod
    def words(self, value: Any) -> str:
        """Return the claim that it has a value, in words."""

    @abstractmethod
    def composite_data(self) -> dict[str, Any]:
        """Return the composite as JSON data, without its readings."""

    @cached_property
    def read(self) -> Choice:
        """The most possible value of each reading: the predictions of the networks."""
        return tuple(reading.best for reading in self.readings)

    @property
    def says(self) -> Any:
        """The value of the composite as it is read."""
        return self.value(self.read)

    @property
    def gaps(self) -> list[tuple[Gap, ...]]:
        """For each reading the gaps of its values."""
        return [reading.gaps for reading in self.readings]

    def find(self, wanted: Wanted, allowed: Sequence[Iterable[int]]) -> Choice | None:
        """Return a choice among allowed values with a wanted value."""
        allowed_sets = [set(row) for row in allowed]
        rows = [
            [0 if value in allowed_sets[index] else None for value in range(len(reading.values))]
            for index, reading in enumerate(self.readings)
        ]
        best = self.min_gap(wanted, rows)
        return None if best is None else best[1]

    def is_sensitive(self) -> bool:
        """Whether every change of a single reading changes the value.

        Then the composite is exactly as robust as its parts (docs/theory.md 12.5).
        """
        as_read, says = self.read, self.says
        return all(self.value(other) != says for other in self._neighbours(as_read))

    def deciding(self, indices: Sequence[int]) -> list[int]:
        """Return an irreducible subset of the readings at these positions that suffices for the value.

        The others may change, and readings at other positions stay fixed.
        """
        as_read, wanted = self.read, Wanted(self.says, other=True)
        free: set[int] = set()
        for index in indices:
            tried = free | {index}
            allowed = [
                range(len(reading.values)) if p in tried else [as_read[p]]
                for p, reading in enumerate(self.readings)
            ]
            if self.find(wanted, allowed) is None:
                free = tried
        return [position for position in indices if position not in free]

    def _neighbours(self, choice: Choice) -> Iterator[Choice]:
        for index, reading in enumerate(self.readings):
            for value in range(len(reading.values)):
                if value != choice[index] and reading.network is not None:
                    yield (*choice[:index], value, *choice[index + 1 :])
