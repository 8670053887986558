"""The sum of two numbers whose digits are read by a network.

The possibility of a sum takes one pass over the columns, from the last to the first (docs/theory.md 12.3).

Column j with carry c in and carry d out allows the digits with a + b + c = t_j + 10 d, where t_j is the digit
of the sum. Its minimum gaps form a 2 x 2 matrix over c and d. The gap of a sum is the product of these
matrices, with minimum as sum and maximum as product; for costs, products are sums. A second flag records
whether all digits so far were as wanted, which gives the minimum over any *other* sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic.composed import Composed, Least, Wanted
from sugenet.logic.readings import Gap, Reading, gap_text, readings_of, see_names
from sugenet.logic.search import Costs
from sugenet.nn import Network

__all__ = ["Sum"]

_LONGEST = 4000
"""Maximum number of digits: Python's JSON reads integers of at most 4300."""

_Join: TypeAlias = Callable[[Gap, Gap], Gap]
_Column: TypeAlias = dict[int, tuple[Gap, tuple[tuple[int, int], ...]]]
"""For each sum of two digits, the minimum gap or cost, and values that attain it, by position."""


@dataclass(frozen=True, eq=False)
class Sum(Composed):
    """Sum of two numbers whose digits are read, most significant digit first.

    Reference: Baaj and Marquis [BM25].

    Examples
    --------
    >>> from sugenet import models
    >>> X, y = models.samples("digits")
    >>> total = Sum.of(models.digits(), X[[7, 3]], X[[4]])
    >>> print(total)
    34 + 6 = 40, ahead of any other sum by 3.03125 points
    >>> total.gap(40), total.gap(50)
    (0, Fraction(191, 32))
    """

    kind: ClassVar[str] = "sum"

    left: tuple[Reading, ...]
    right: tuple[Reading, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", tuple(self.left))
        object.__setattr__(self, "right", tuple(self.right))
        see_names(self.readings)
        if not self.left or not self.right:
            raise QuestionError("a sum needs a digit on the left and one on the right.")
        longest = max(len(self.left), len(self.right))
        if longest > _LONGEST:
            raise TooLargeError(f"a number has {longest:,} digits, more than {_LONGEST:,} that are added.")
        for reading in self.readings:
            wrong = next((value for value in reading.values if value not in set("0123456789")), None)
            if wrong is not None:
                raise QuestionError(
                    f"{reading.name} may be {wrong!r}, which is not a digit. A network that reads more than "
                    f"digits is asked about these alone: network.with_classes(['0', '1', ...])."
                )

    @classmethod
    def of(cls, network: Network, left: Any, right: Any) -> Sum:
        """Return the sum of raw samples, one per digit, that one network reads."""
        rows = [*left, *right]
        names = [f"left {index}" for index in range(1, len(left) + 1)]
        names += [f"right {index}" for index in range(1, len(right) + 1)]
        readings = readings_of(network, rows, names)
        return cls(readings[: len(left)], readings[len(left) :])

    @property
    def readings(self) -> tuple[Reading, ...]:  # type: ignore[override]
        """All digits, those of the left number first."""
        return (*self.left, *self.right)

    @cached_property
    def _digits(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(map(int, reading.values)) for reading in self.readings)

    def value(self, choice: Sequence[int]) -> int:
        """The sum."""
        return sum(self.addends(choice))

    def addends(self, choice: Sequence[int]) -> tuple[int, int]:
        """The two numbers."""
        written = [str(digits[value]) for digits, value in zip(self._digits, choice, strict=True)]
        n_left = len(self.left)
        return int("".join(written[:n_left])), int("".join(written[n_left:]))

    def gap(self, total: int) -> Gap | None:
        """Return the gap of a sum to the most possible one; None if no digits give this sum."""
        best = self.min_gap(Wanted(total))
        return None if best is None else best[0]

    @property
    def margin(self) -> Gap | None:
        """Return the gap of any other sum to the one that is read: the smallest margin of the digits.

        It is the necessity of the sum. None if there is no other sum.
        """
        return min((r.margin for r in self.readings if r.margin is not None), default=None)

    def min_gap(self, wanted: Wanted, gaps: Costs | None = None) -> Least | None:
        """Return the minimum gap by the product of carry matrices over minimum and maximum."""
        return self._least(wanted, self.gaps if gaps is None else gaps, max)

    def min_cost(
        self,
        wanted: Wanted,
        costs: Costs,
        is_up: Callable[[], bool] | None = None,  # noqa: ARG002 one pass takes no time
    ) -> Least | None:
        """Return the minimum cost by the product of carry matrices over minimum and sum."""
        return self._least(wanted, costs, lambda a, b: a + b)

    def _least(self, wanted: Wanted, costs: Costs, join: _Join) -> Least | None:
        total = wanted.value
        if isinstance(total, bool) or not isinstance(total, int):
            raise QuestionError(f"a sum is an integer, not {total!r}.")
        if abs(total) > 10 * 10**_LONGEST:
            raise QuestionError(f"a sum has at most {_LONGEST + 1:,} digits: ask about a smaller one.")
        columns = list(self._columns(costs, join))
        digits = [int(digit) for digit in reversed(str(max(total, 0)))]
        fits = total >= 0 and len(digits) <= len(columns) + 1
        digits += [0] * (len(columns) + 1 - len(digits))
        # (carry, whether the sum is as wanted so far) -> minimum, and the values that attain it
        states: dict[tuple[int, bool], tuple[Gap, tuple[Any, ...]]] = {(0, fits): (0, ())}
        for column, digit in zip(columns, digits, strict=False):
            after: dict[tuple[int, bool], tuple[Gap, tuple[Any, ...]]] = {}
            for (carry, same), (so_far, chosen) in states.items():
                for both, (mine, values) in column.items():
                    more, shown = divmod(both + carry, 10)
                    key, cost = (more, same and shown == digit), join(so_far, mine)
                    if key not in after or cost < after[key][0]:
                        after[key] = cost, (chosen, values)
            states = after
        last = digits[len(columns)]
        ends = [end for (carry, same), end in states.items() if (same and carry == last) != wanted.other]
        if not ends:
            return None
        cost, chosen = min(ends, key=lambda end: end[0])
        at: dict[int, int] = {}
        while chosen:
            chosen, pairs = chosen
            at.update(pairs)
        return cost, tuple(at[index] for index in range(len(self.readings)))

    def _columns(self, costs: Costs, join: _Join) -> Iterable[_Column]:
        """Yield each column from the last to the first."""
        n_left = len(self.left)
        lefts, rights = range(n_left - 1, -1, -1), range(len(self.readings) - 1, n_left - 1, -1)
        for number in range(max(len(lefts), len(rights))):
            column: _Column = {0: (0, ())}
            for indices in (lefts, rights):
                if number < len(indices):
                    column = self._joined(column, indices[number], costs, join)
            yield column

    def _joined(self, column: _Column, index: int, costs: Costs, join: _Join) -> _Column:
        joined: _Column = {}
        for before, (so_far, values) in column.items():
            for number, (digit, cost) in enumerate(zip(self._digits[index], costs[index], strict=True)):
                if cost is not None:
                    total = join(so_far, cost)
                    if before + digit not in joined or total < joined[before + digit][0]:
                        joined[before + digit] = total, (*values, (index, number))
        return joined

    def words(self, value: Any) -> str:
        """Return the sum in words."""
        return f"the sum is {value}"

    def equation(self, choice: Sequence[int]) -> str:
        """Return the sum as an equation."""
        left, right = self.addends(choice)
        return f"{left} + {right} = {left + right}"

    def composite_data(self) -> dict[str, Any]:
        """Return the composite as JSON data."""
        return {"kind": self.kind, "left": len(self.left)}

    def __str__(self) -> str:
        sure = "the only sum there is"
        if self.margin is not None:
            sure = f"ahead of any other sum by {gap_text(self.margin)}"
            sure = "with another sum as possible" if self.margin == 0 else sure
        return f"{self.equation(self.read)}, {sure}"
