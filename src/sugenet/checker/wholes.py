"""Wholes that are composed of classes: the sum of digits, a grid that is a Sudoku or none, a formula.

To be ensured: `value` is the definition; `least` misses no choice of classes that has a wanted value, so that
what it gives is the least sum of costs, and None means that there is none. It goes through choices from the
first class to the last, and turns back only where nothing below the bound can follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

from sugenet.checker.composed_form import (
    EveryPart,
    Formula,
    NamedClasses,
    NamedRows,
    SomePart,
    WholeSaid,
    WholeStated,
    WholeSum,
)
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["ClassCosts", "ComposedWhole", "composed_whole"]

ClassCosts = Sequence[Mapping[int, Fraction]]
"""For each reading the classes that it may have, by number, and what each costs."""
_Wish = Callable[[Any], bool]


class ComposedWhole(ABC):
    """What all wholes have: the names of the classes of each reading, of which one is chosen."""

    def __init__(self, classes: Sequence[Sequence[str]]) -> None:
        self.classes = [tuple(row) for row in classes]

    def see_value(self, value: Any) -> None:
        """Refuse what can be no value: here anything but true and false."""
        if type(value) is not bool:
            raise CertificateError("the value of such a whole is true or false.")

    @abstractmethod
    def value(self, choice: Sequence[int]) -> Any:
        """The value for a choice of classes: the definition."""

    @abstractmethod
    def least(
        self, costs: ClassCosts, value: Any, other: bool, limit: Limit, below: Fraction | None = None
    ) -> Fraction | None:
        """The least cost of a choice that has a value, or with `other` another one; None where there is none,
        or none `below` a bound.
        """

    def is_sensitive(self, choice: Sequence[int], movable: Sequence[int]) -> bool:
        """Whether changing one of the readings that can change, alone, always changes the value."""
        own = self.value(choice)
        for place in movable:
            for k in range(len(self.classes[place])):
                if k != choice[place] and self.value([*choice[:place], k, *choice[place + 1 :]]) == own:
                    return False
        return True


class _DigitSum(ComposedWhole):
    """Two numbers of digits, the first digit first, are added."""

    def __init__(self, classes: Sequence[Sequence[str]], left: int) -> None:
        super().__init__(classes)
        if not 0 < left < len(classes):
            raise CertificateError("a sum has a number on the left and one on the right.")
        if any(name not in set("0123456789") for row in classes for name in row):
            raise CertificateError("a sum is of digits, but a class is none.")
        self.left = left

    def see_value(self, value: Any) -> None:
        if type(value) is not int:
            raise CertificateError("the value of a sum is an integer.")

    def value(self, choice: Sequence[int]) -> int:
        digits = [row[k] for row, k in zip(self.classes, choice, strict=True)]
        return int("".join(digits[: self.left])) + int("".join(digits[self.left :]))

    def least(
        self, costs: ClassCosts, value: Any, other: bool, limit: Limit, below: Fraction | None = None
    ) -> Fraction | None:
        numbers = [costs[: self.left], costs[self.left :]]
        names = [self.classes[: self.left], self.classes[self.left :]]
        columns = max(map(len, numbers))
        if value < 0 or value >= 10 ** (columns + 1):
            wanted, fits = [0] * (columns + 1), False
        else:
            wanted, fits = [value // 10**column % 10 for column in range(columns + 1)], True
        # column by column from the last: the carry, and whether the digits of the sum are those of the value
        found: dict[tuple[int, bool], Fraction] = {(0, fits): Fraction(0)}
        for column in range(columns):
            limit.look()
            sums = {0: Fraction(0)}
            for row, own in zip(numbers, names, strict=True):
                if column < len(row):
                    place = len(row) - 1 - column
                    more: dict[int, Fraction] = {}
                    for so_far, cost in sums.items():
                        for k, price in row[place].items():
                            digit = so_far + int(own[place][k])
                            if digit not in more or cost + price < more[digit]:
                                more[digit] = cost + price
                    sums = more
            after: dict[tuple[int, bool], Fraction] = {}
            for (carry, same), so_far_cost in found.items():
                for both, price in sums.items():
                    key = (both + carry) // 10, same and (both + carry) % 10 == wanted[column]
                    if key not in after or so_far_cost + price < after[key]:
                        after[key] = so_far_cost + price
            found = after
        ends = [cost for (carry, same), cost in found.items() if (same and carry == wanted[columns]) != other]
        return _below(min(ends, default=None), below)


class _Grid(ComposedWhole):
    """A square of cells, row by row, in which every row, column and box has every digit once, or not."""

    def __init__(self, classes: Sequence[Sequence[str]]) -> None:
        super().__init__(classes)
        self.size = isqrt(len(classes))
        box = isqrt(self.size)
        if not classes or self.size**2 != len(classes) or box**2 != self.size:
            raise CertificateError(f"{len(classes)} cells are no grid.")
        self.digits = [str(digit) for digit in range(1, self.size + 1)]
        self.units: list[list[int]] = []
        for k in range(self.size):
            cells = range(len(classes))
            self.units.append([cell for cell in cells if cell // self.size == k])
            self.units.append([cell for cell in cells if cell % self.size == k])
            self.units.append(
                [cell for cell in cells if box * (cell // self.size // box) + cell % self.size // box == k]
            )
        self.peers = [
            {other for unit in self.units if cell in unit for other in unit} - {cell}
            for cell in range(len(classes))
        ]

    def value(self, choice: Sequence[int]) -> bool:
        written = [row[k] for row, k in zip(self.classes, choice, strict=True)]
        return all(sorted(written[cell] for cell in unit) == sorted(self.digits) for unit in self.units)

    def least(
        self, costs: ClassCosts, value: Any, other: bool, limit: Limit, below: Fraction | None = None
    ) -> Fraction | None:
        by_name = [
            {self.classes[cell][k]: price for k, price in row.items()} for cell, row in enumerate(costs)
        ]
        if value == other:  # no Sudoku is wanted
            return _below(self._least_broken(by_name, limit), below)
        open_cells = [
            {digit: price for digit, price in row.items() if digit in self.digits} for row in by_name
        ]
        return self._filled(dict(enumerate(open_cells)), Fraction(0), below, limit)

    def _least_broken(self, costs: list[dict[str, Fraction]], limit: Limit) -> Fraction | None:
        """A cell without a digit breaks a grid, or two equal ones in a unit; all else is at its least."""
        if not all(costs):
            return None
        least = [min(row.values()) for row in costs]
        total, found = sum(least, Fraction(0)), []
        for a, row in enumerate(costs):
            limit.look()
            for name, price in row.items():
                mine = total - least[a] + price
                if name not in self.digits:
                    found.append(mine)
                found += [mine - least[b] + costs[b][name] for b in self.peers[a] if name in costs[b]]
        return min(found, default=None)

    def _filled(
        self, left: dict[int, dict[str, Fraction]], so_far: Fraction, below: Fraction | None, limit: Limit
    ) -> Fraction | None:
        """The least cost of filling the cells that are left, each with a digit that its peers do not have."""
        limit.look()
        if not all(left.values()):
            return None
        if not left:
            return _below(so_far, below)
        least = {cell: min(row.values()) for cell, row in left.items()}
        total = so_far + sum(least.values(), Fraction(0))
        if below is not None:
            if total >= below:
                return None
            left = {  # what alone would cost too much is none of them
                cell: {d: price for d, price in row.items() if total - least[cell] + price < below}
                for cell, row in left.items()
            }
        cell = min(left, key=lambda one: len(left[one]))
        best: Fraction | None = None
        for digit, price in sorted(left[cell].items(), key=lambda pair: pair[1]):
            rest = {
                one: {d: p for d, p in row.items() if d != digit} if one in self.peers[cell] else row
                for one, row in left.items()
                if one != cell
            }
            found = self._filled(rest, so_far + price, below if best is None else best, limit)
            best = best if found is None else found
            if best == total:
                break
        return best


class _Node(NamedTuple):
    every: bool
    """Whether all parts must hold, or one."""
    places: tuple[int, ...]
    rows: frozenset[tuple[int, ...]]
    """Classes that these readings may have together; or, where it is not `on`, must not."""
    on: bool
    parts: tuple[_Node, ...] | None = None
    """None: a condition."""
    alone: frozenset[int] | None = None
    """The classes of a condition on one reading."""


class _FormulaWhole(ComposedWhole):
    """A formula over classes: conditions, lists of rows, every and some of several."""

    def __init__(self, classes: Sequence[Sequence[str]], formula: Formula) -> None:
        super().__init__(classes)
        self.formula = self._node(formula)

    def _node(self, formula: Formula) -> _Node:
        """A formula whose readings and classes exist."""
        if isinstance(formula, EveryPart | SomePart):
            parts = tuple(map(self._node, formula.parts))
            return _Node(isinstance(formula, EveryPart), (), frozenset(), True, parts)
        if isinstance(formula, NamedClasses):
            formula = NamedRows((formula.reading,), tuple((k,) for k in formula.classes), on=True)
        places, rows = formula.readings, formula.rows
        if any(place >= len(self.classes) for place in places):
            raise CertificateError("a formula names a reading that does not exist.")
        if any(k >= len(self.classes[place]) for row in rows for place, k in zip(places, row, strict=True)):
            raise CertificateError("a formula names a class that does not exist.")
        alone = frozenset(k for (k,) in rows) if len(places) == 1 else None
        return _Node(False, places, frozenset(rows), formula.on, alone=alone)

    def value(self, choice: Sequence[int]) -> bool:
        return bool(self._truth(self.formula, [frozenset([k]) for k in choice]))

    def _truth(self, node: _Node, open_classes: Sequence[frozenset[int]]) -> bool | None:
        """Whether a formula holds for all classes that are open, or for none; None: that is not seen yet."""
        if node.parts is None:
            if node.alone is not None:
                mine = open_classes[node.places[0]]
                inside = mine <= node.alone
                return (inside == node.on) if inside or not mine & node.alone else None
            if any(len(open_classes[place]) != 1 for place in node.places):
                return None
            return (tuple(k for place in node.places for k in open_classes[place]) in node.rows) == node.on
        truths = [self._truth(part, open_classes) for part in node.parts]
        if (not node.every) in truths:  # one part decides
            return not node.every
        return None if None in truths else node.every

    def least(
        self, costs: ClassCosts, value: Any, other: bool, limit: Limit, below: Fraction | None = None
    ) -> Fraction | None:
        wanted = value != other
        if not all(costs):
            return None
        open_classes = [frozenset(row) for row in costs]

        def search(total: Fraction, bound: Fraction | None) -> Fraction | None:
            """`total`: what is chosen costs, and the rest at its least."""
            limit.look()
            truth = self._truth(self.formula, open_classes)
            if truth is (not wanted) or (bound is not None and total >= bound):
                return None
            if truth is wanted:
                return total
            place = self._undecided(self.formula, open_classes)[1]
            before, least, best = open_classes[place], min(costs[place].values()), None
            for k, price in sorted(costs[place].items(), key=lambda pair: (pair[1], pair[0])):
                open_classes[place] = frozenset([k])
                found = search(total - least + price, bound if best is None else best)
                best = best if found is None else found
                if best == total:
                    break
            open_classes[place] = before
            return best

        return search(sum((min(row.values()) for row in costs), Fraction(0)), below)

    def _undecided(self, node: _Node, open_classes: Sequence[frozenset[int]]) -> tuple[int, int]:
        """Of a formula that is not decided yet, how many readings it waits for in the part that waits for the
        fewest, and one of them: choosing its class may decide most.
        """
        if node.parts is None:
            waits = [place for place in node.places if len(open_classes[place]) > 1]
            return len(waits), waits[0]
        parts = [part for part in node.parts if self._truth(part, open_classes) is None]
        found = [self._undecided(part, open_classes) for part in parts]
        return min(found) if node.every else (sum(many for many, _ in found), min(found)[1])


def composed_whole(said: WholeSaid, classes: Sequence[Sequence[str]]) -> ComposedWhole:
    """The whole that a certificate is about."""
    if isinstance(said, WholeSum):
        return _DigitSum(classes, said.left)
    return _FormulaWhole(classes, said.formula) if isinstance(said, WholeStated) else _Grid(classes)


def _below(found: Fraction | None, below: Fraction | None) -> Fraction | None:
    return None if found is None or (below is not None and found >= below) else found
