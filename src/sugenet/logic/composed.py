"""A whole that is composed of several readings, such as a sum of digits: its value follows from theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sugenet.logic.readings import Gap, Reading
from sugenet.logic.search import Costs
from sugenet.reprs import Sentences

__all__ = ["Choice", "Composed", "Least", "Wanted"]

Choice = tuple[int, ...]
"""A value for each reading, by its number."""
Least = tuple[Gap, Choice]
"""The least gap or cost, and values that have it."""


@dataclass(frozen=True)
class Wanted:
    """A value that a whole shall have; or, with `other`, any but that."""

    value: Any
    other: bool = False

    def met(self, value: Any) -> bool:
        """Whether a value is wanted."""
        return bool((value == self.value) != self.other)

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"value": self.value, "other": self.other}


class Composed(Sentences, ABC):
    """A whole over readings. What it computes is `value`; all else are ways to ask about that."""

    kind: ClassVar[str]
    readings: tuple[Reading, ...]

    @abstractmethod
    def value(self, choice: Sequence[int]) -> Any:
        """The value of the whole for values of its readings: the definition."""

    @abstractmethod
    def min_gap(self, wanted: Wanted, gaps: Costs | None = None) -> Least | None:
        """How possible it is: the least gap over all choices that have a wanted value, the gap of a choice
        being the largest of its readings'. None: no choice has such a value.
        """

    @abstractmethod
    def min_cost(self, wanted: Wanted, costs: Costs, is_up: Callable[[], bool] | None = None) -> Least | None:
        """The least sum of costs of a choice with a wanted value; `TimeoutError` where time `is_up` first."""

    @abstractmethod
    def words(self, value: Any) -> str:
        """That it has a value, in words."""

    @abstractmethod
    def composite_data(self) -> dict[str, Any]:
        """What it is, as JSON, but for its readings."""

    @cached_property
    def read(self) -> Choice:
        """The most possible value of each reading: what the networks say."""
        return tuple(reading.best for reading in self.readings)

    @property
    def says(self) -> Any:
        """The value of the whole as it is read."""
        return self.value(self.read)

    @property
    def gaps(self) -> list[tuple[Gap, ...]]:
        """For each reading the gaps of its values."""
        return [reading.gaps for reading in self.readings]

    def find(self, wanted: Wanted, allowed: Sequence[Iterable[int]]) -> Choice | None:
        """Some choice among allowed values with a wanted value."""
        allowed_sets = [set(row) for row in allowed]
        rows = [
            [0 if value in allowed_sets[index] else None for value in range(len(reading.values))]
            for index, reading in enumerate(self.readings)
        ]
        best = self.min_gap(wanted, rows)
        return None if best is None else best[1]

    def is_sensitive(self) -> bool:
        """Whether every change of one reading alone, as they are read, changes the value: then the whole is
        as safe as its parts, no more and no less (docs/theory.md 12.5).
        """
        as_read, says = self.read, self.says
        return all(self.value(other) != says for other in self._neighbours(as_read))

    def deciding(self, indices: Sequence[int]) -> list[int]:
        """Some of the readings at these places that suffice for the value as they are, of which none can be
        left out; the others may be anything, those at no such place stay.
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
