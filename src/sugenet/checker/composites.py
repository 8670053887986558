"""Wholes composed of classes: the sum of digits, a Sudoku grid, a formula.

To be ensured: `value` is the definition. `refute` accepts only if no choice of classes has a wanted value at
a cost below the bound. A sum is enumerated column by column. A formula or grid is enumerated choice by
choice, or becomes a small network over classes (`Formula.problem`) that the rule *lemma* refutes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt, lcm
from typing import Any, NamedTuple, TypeAlias

from sugenet.checker.composed_form import (
    CompositeClaim,
    CompositeProof,
    CompositeStated,
    CompositeSum,
    EveryPart,
    Formula,
    NamedClasses,
    NamedRows,
    SomePart,
)
from sugenet.checker.form import Lemma
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem, Row
from sugenet.checker.rules import prove
from sugenet.errors import CertificateError

__all__ = ["ClassCosts", "CompositeFormula", "StatementComposite", "Wish", "composite_of"]

ClassCosts = Sequence[Mapping[int, Fraction]]
"""For each reading, its possible classes by index, with their costs."""
_BYTES = 300
"""Bytes per part of a formula."""


class Wish(NamedTuple):
    """A value, or any `other` value, at a total cost below a bound, if there is one."""

    value: Any
    other: bool
    below: Fraction | None = None

    def met(self, value: Any) -> bool:
        """Return whether a value is wanted."""
        return bool((value == self.value) != self.other)


class CompositeFormula(ABC):
    """Base of all wholes: it has the class names of each reading, of which one class is chosen."""

    def __init__(self, classes: Sequence[Sequence[str]]) -> None:
        self.classes = [tuple(row) for row in classes]

    def see_value(self, value: Any) -> None:
        """Refuse a value of the wrong kind: here anything but true and false."""
        if type(value) is not bool:
            raise CertificateError("the value of such a composite is true or false.")

    @abstractmethod
    def value(self, choice: Sequence[int]) -> Any:
        """Return the value for a choice of classes: the definition."""

    @abstractmethod
    def refute(
        self, proof: CompositeProof, costs: ClassCosts, wish: Wish, limit: Limit, *, plain: bool = False
    ) -> None:
        """Refuse a proof unless it shows that no choice is as wished; `plain` as in `check`."""

    def is_sensitive(self, choice: Sequence[int], movable: Sequence[int]) -> bool:
        """Return whether changing one movable reading alone always changes the value."""
        current_value = self.value(choice)
        for index in movable:
            for k in range(len(self.classes[index])):
                if (
                    k != choice[index]
                    and self.value([*choice[:index], k, *choice[index + 1 :]]) == current_value
                ):
                    return False
        return True


class _DigitSum(CompositeFormula):
    """The sum of two numbers, given by their digits, the first digit first."""

    def __init__(self, classes: Sequence[Sequence[str]], left: int) -> None:
        super().__init__(classes)
        if not 0 < left < len(classes):
            raise CertificateError("a sum has a number on the left and one on the right.")
        if any(name not in set("0123456789") for row in classes for name in row):
            raise CertificateError("a sum needs digits, but a class is not a digit.")
        self.left = left

    def see_value(self, value: Any) -> None:
        if type(value) is not int:
            raise CertificateError("the value of a sum is an integer.")

    def value(self, choice: Sequence[int]) -> int:
        digits = [row[k] for row, k in zip(self.classes, choice, strict=True)]
        return int("".join(digits[: self.left])) + int("".join(digits[self.left :]))

    def refute(
        self,
        proof: CompositeProof,
        costs: ClassCosts,
        wish: Wish,
        limit: Limit,
        *,
        plain: bool = False,  # noqa: ARG002 it has one form
    ) -> None:
        if isinstance(proof, Lemma):
            raise CertificateError("a sum is enumerated, column by column.")
        value = wish.value
        numbers = [costs[: self.left], costs[self.left :]]
        names = [self.classes[: self.left], self.classes[self.left :]]
        columns = max(map(len, numbers))
        if value < 0 or value >= 10 ** (columns + 1):
            wanted, fits = [0] * (columns + 1), False
        else:
            wanted, fits = [value // 10**column % 10 for column in range(columns + 1)], True
        # column by column from the last: the carry, and whether the digits of the sum equal those of the
        # value
        cheapest: dict[tuple[int, bool], Fraction] = {(0, fits): Fraction(0)}
        for column in range(columns):
            limit.look()
            sums = {0: Fraction(0)}
            for row, digit_names in zip(numbers, names, strict=True):
                if column < len(row):
                    index = len(row) - 1 - column
                    more: dict[int, Fraction] = {}
                    for so_far, cost in sums.items():
                        for k, price in row[index].items():
                            digit = so_far + int(digit_names[index][k])
                            if digit not in more or cost + price < more[digit]:
                                more[digit] = cost + price
                    sums = more
            after: dict[tuple[int, bool], Fraction] = {}
            for (carry, same), so_far_cost in cheapest.items():
                for both, price in sums.items():
                    key = (both + carry) // 10, same and (both + carry) % 10 == wanted[column]
                    if key not in after or so_far_cost + price < after[key]:
                        after[key] = so_far_cost + price
            cheapest = after
        for (carry, same), cost in cheapest.items():
            is_wanted = (same and carry == wanted[columns]) != wish.other
            if is_wanted and (wish.below is None or cost < wish.below):
                raise CertificateError(f"there are digits that do it at a cost of {cost}.")


class _ClassRows(NamedTuple):
    """Some readings have the classes of one of the rows; or, if not `on`, of none of them."""

    places: tuple[int, ...]
    rows: frozenset[tuple[int, ...]]
    on: bool = True
    height: int = 0


class _PartCount(NamedTuple):
    """The number of true parts, times the sign, is at least a bound."""

    sign: int
    least: int
    parts: tuple[_Node, ...]
    height: int


_Node: TypeAlias = _PartCount | _ClassRows


def _count(sign: int, threshold: int, parts: Iterable[_Node]) -> _PartCount:
    children = tuple(parts)
    return _PartCount(sign, threshold, children, 1 + max((part.height for part in children), default=0))


def _holds(node: _Node, choice: Sequence[int]) -> bool:
    if isinstance(node, _ClassRows):
        return (tuple(choice[index] for index in node.places) in node.rows) == node.on
    return node.sign * sum(_holds(part, choice) for part in node.parts) >= node.least


def _expanded(node: _Node) -> _Node:
    """Return a formula with conditions on one reading each: a row of several becomes all of its classes."""
    if isinstance(node, _PartCount):
        return _count(node.sign, node.least, map(_expanded, node.parts))
    if len(node.places) == 1:
        return node
    rows = []
    for row in sorted(node.rows):
        conditions = [
            _ClassRows((index,), frozenset([(k,)])) for index, k in zip(node.places, row, strict=True)
        ]
        rows.append(_count(1, len(conditions), conditions))
    return _count(1, 1, rows) if node.on else _count(-1, 0, rows)


class StatementComposite(CompositeFormula):
    """A formula over classes: conditions on readings, and counts of the parts that hold."""

    def __init__(self, classes: Sequence[Sequence[str]], formula: Formula) -> None:
        super().__init__(classes)
        self.places: set[int] = set()
        """The readings that occur in it."""
        self.root = self._node(formula)

    def _node(self, formula: Formula) -> _Node:
        """Return a formula after checking that its readings and classes exist."""
        if isinstance(formula, EveryPart | SomePart):
            parts = list(map(self._node, formula.parts))
            return _count(1, len(parts) if isinstance(formula, EveryPart) else 1, parts)
        if isinstance(formula, NamedClasses):
            formula = NamedRows((formula.reading,), tuple((k,) for k in formula.classes), on=True)
        indices, rows = formula.readings, formula.rows
        if any(index >= len(self.classes) for index in indices):
            raise CertificateError("a formula names a reading that does not exist.")
        if any(k >= len(self.classes[index]) for row in rows for index, k in zip(indices, row, strict=True)):
            raise CertificateError("a formula names a class that does not exist.")
        self.places.update(indices)
        return _ClassRows(indices, frozenset(rows), formula.on)

    def value(self, choice: Sequence[int]) -> bool:
        return _holds(self.root, choice)

    def refute(
        self, proof: CompositeProof, costs: ClassCosts, wish: Wish, limit: Limit, *, plain: bool = False
    ) -> None:
        if isinstance(proof, Lemma):
            problem = self.problem(costs, wish, limit)
            if plain or proof.encoding is None:  # short proofs: faster than loading compiled code
                prove(proof, problem)
                return
            from sugenet.checker.accelerate.rup import check_rup
            from sugenet.checker.accelerate.thresholds import system_of

            check_rup(proof, system_of(problem), limit=limit)
            return
        rows = [
            row if index in self.places else dict([min(row.items(), key=lambda pair: pair[1])])
            for index, row in enumerate(costs)
        ]
        for choice in product(*rows):
            limit.look()
            cost = sum((row[k] for row, k in zip(rows, choice, strict=True)), Fraction(0))
            if wish.met(self.value(choice)) and (wish.below is None or cost < wish.below):
                raise CertificateError(f"the classes {str(list(choice))[:60]} do it at a cost of {cost}.")

    def problem(self, costs: ClassCosts, wish: Wish, limit: Limit) -> IntegerProblem:
        """Return the refuted claim in integers.

        Each reading is a feature with its classes as options, the cheapest first. Each condition on a reading
        is a neuron of the first layer, and each count is a neuron of a later layer. A violation is a choice
        below the bound with the wanted value.
        """
        layers, nodes = list[list[Row]](), [_expanded(self.root)]
        for level in range(max(1, nodes[0].height), 0, -1):
            before, layer = dict[_Node, int](), list[Row]()
            for node in nodes:
                here = node if isinstance(node, _PartCount) and node.height == level else _count(1, 1, [node])
                limit.take(_BYTES * (1 + len(here.parts)), "a formula as layers")
                weights: dict[int, int] = {}
                for part in here.parts:  # a part that occurs twice counts twice
                    index = before.setdefault(part, len(before))
                    weights[index] = weights.get(index, 0) + here.sign
                layer.append((weights, here.least))
            layers.insert(0, layer)
            nodes = list(before)
        unit = lcm(*(price.denominator for row in costs for price in row.values()))
        rows = [sorted((int(price * unit), k) for k, price in row.items()) for row in costs]
        conditions = [node for node in nodes if isinstance(node, _ClassRows)]  # all conditions
        limit.take(8 * len(conditions) * sum(map(len, rows)), "the conditions of a formula")
        first = [k for (_, k), *_ in rows]
        start, features = [_holds(node, first) for node in conditions], []
        for index, ((price, _), *more) in enumerate(rows):
            options = []
            for higher, k in more:
                limit.look()
                changed = [*first[:index], k, *first[index + 1 :]]
                gain = [
                    _holds(node, changed) - held if index in node.places else 0
                    for node, held in zip(conditions, start, strict=True)
                ]
                options.append((higher - price, gain))
            features += [options] if options else []
        budget = None
        if wish.below is not None:
            budget = (wish.below * unit).__ceil__() - 1 - sum(row[0][0] for row in rows)
        n_features = len(features)
        goal: Row = ({0: 1}, 1) if wish.met(True) else ({0: -1}, 0)
        return IntegerProblem(
            [held - 1 for held in start],
            features,
            list(range(n_features)),
            [[]] * n_features,
            [0] * n_features,
            (),
            budget,
            layers,
            [goal],
            [[0]],
            [],
            limit,
        )


class _Grid(StatementComposite):
    """A square of cells, row by row; its value says whether rows, columns and boxes contain
    each digit once.
    """

    def __init__(self, classes: Sequence[Sequence[str]]) -> None:
        CompositeFormula.__init__(self, classes)
        size, self.places = isqrt(len(classes)), set(range(len(classes)))
        box = isqrt(size)
        if not classes or size**2 != len(classes) or box**2 != size:
            raise CertificateError(f"{len(classes)} cells do not make a grid.")
        self.digits = [str(digit) for digit in range(1, size + 1)]
        self.units: list[list[int]] = []
        for k in range(size):
            cells = range(len(classes))
            self.units.append([cell for cell in cells if cell // size == k])
            self.units.append([cell for cell in cells if cell % size == k])
            self.units.append(
                [cell for cell in cells if box * (cell // size // box) + cell % size // box == k]
            )
        parts: list[_Node] = []
        for unit, digit in product(self.units, self.digits):
            conditions = [
                _ClassRows((cell,), frozenset([(self.classes[cell].index(digit),)]))
                for cell in unit
                if digit in self.classes[cell]
            ]
            parts += [_count(1, 1, conditions), _count(-1, -1, conditions)]
        self.root = _count(1, len(parts), parts)

    def value(self, choice: Sequence[int]) -> bool:
        written = [row[k] for row, k in zip(self.classes, choice, strict=True)]
        return all(sorted(written[cell] for cell in unit) == sorted(self.digits) for unit in self.units)


def composite_of(description: CompositeClaim, classes: Sequence[Sequence[str]]) -> CompositeFormula:
    """Return the composite that a certificate is about."""
    if isinstance(description, CompositeSum):
        return _DigitSum(classes, description.left)
    return (
        StatementComposite(classes, description.formula)
        if isinstance(description, CompositeStated)
        else _Grid(classes)
    )
