"""Grids of images that must form a Sudoku (docs/theory.md 12.4).

The module computes how possible that is, the most possible Sudoku, and the best threshold between valid and
invalid grids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import isqrt
from typing import Any, ClassVar

from sugenet.errors import QuestionError
from sugenet.logic.composed import Choice, Composed, Least, Wanted
from sugenet.logic.readings import Gap, Reading, exact_gap, gap_text, readings_of, see_names
from sugenet.logic.search import Choices, Costs
from sugenet.nn import Network
from sugenet.reprs import ShortRepr
from sugenet.visible import visible

__all__ = ["GapLine", "Sudoku", "units"]

_LARGEST = 25


@lru_cache
def units(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the rows, columns and boxes of a grid, as cell indices, row by row."""
    box, side = isqrt(size), range(size)
    rows = [tuple(size * r + c for c in side) for r in side]
    columns = [tuple(size * r + c for r in side) for c in side]
    boxes = [
        tuple(size * (box * (b // box) + k // box) + box * (b % box) + k % box for k in side) for b in side
    ]
    return (*rows, *columns, *boxes)


@lru_cache
def _peers(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of cells in the same row, column or box."""
    return tuple(sorted({pair for unit in units(size) for pair in combinations(sorted(unit), 2)}))


@lru_cache(maxsize=8)
def _choices(values: tuple[tuple[str, ...], ...]) -> Choices:
    """Return the rules of a Sudoku as clauses."""
    size = isqrt(len(values))
    choices = Choices([len(row) for row in values])
    indices = [{value: k for k, value in enumerate(row)} for row in values]
    known = [str(digit) for digit in range(1, size + 1)]
    for cell, index_of in enumerate(indices):
        for value, k in index_of.items():
            if value not in known:
                choices.add([-choices.of(cell, k)])
    for digit in known:
        for unit in units(size):
            mine = [choices.of(c, indices[c][digit]) for c in unit if digit in indices[c]]
            choices.add(mine)  # redundant, but helps the solver
            choices.add_apart(mine)
    return choices


@dataclass(frozen=True, eq=False)
class Sudoku(Composed):
    """Grid whose cells are read, row by row; its value is whether it is a Sudoku.

    Reference: Baaj and Marquis [BM25].

    Examples
    --------
    >>> rows = ["1234", "3412", "2143", "4321"]
    >>> clear = [{v: 0 if v == own else 9 for v in "1234"} for row in rows for own in row]
    >>> clear[5] = {"1": 0, "2": 8, "3": 5, "4": 2}  # a 4 that looks like a 1
    >>> grid = Sudoku([Reading.given(f"cell {k}", gaps) for k, gaps in enumerate(clear)])
    >>> print(grid)
    as read it is not a Sudoku: row 2 has two 1; the most possible Sudoku is behind by 2 points
    >>> grid.digits(grid.min_gap(Wanted(True))[1])[1]
    '3412'
    """

    kind: ClassVar[str] = "sudoku"

    cells: tuple[Reading, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(self.cells))
        n_cells = len(self.cells)
        size = isqrt(n_cells)
        if not n_cells or size**2 != n_cells or isqrt(size) ** 2 != size or size > _LARGEST:
            raise QuestionError(
                f"a grid of {n_cells} cells is not a Sudoku: it has 16, 81, 256 or 625 of them."
            )
        see_names(self.cells)

    @classmethod
    def of(cls, network: Network, cells: Any) -> Sudoku:
        """Return the grid of raw samples, row by row, that one network reads; it chooses only among the
        grid's digits.
        """
        size = isqrt(len(cells))
        names = [f"cell ({k // size + 1},{k % size + 1})" for k in range(len(cells))] if size else []
        digits = [str(digit) for digit in range(1, size + 1)]
        missing = [digit for digit in digits if digit not in network.classes]
        if missing:
            raise QuestionError(
                f"the grid needs the digits 1 to {size}, but the network has no class {missing[0]!r}. "
                f"Its classes are {', '.join(network.classes)}."
            )
        among = digits if set(network.classes) - set(digits) else None
        return cls(readings_of(network, cells, names, among))

    @property
    def readings(self) -> tuple[Reading, ...]:  # type: ignore[override]
        """The cells."""
        return self.cells

    @cached_property
    def size(self) -> int:
        """Number of cells of a row."""
        return isqrt(len(self.cells))

    def value(self, choice: Sequence[int]) -> bool:
        """Return whether it is a Sudoku: every row, column and box has every digit."""
        written = [reading.values[value] for reading, value in zip(self.cells, choice, strict=True)]
        digits = {str(digit) for digit in range(1, self.size + 1)}
        return all({written[cell] for cell in unit} == digits for unit in units(self.size))

    def digits(self, choice: Sequence[int]) -> list[str]:
        """Return the rows of a grid as text."""
        written = [visible(reading.values[value]) for reading, value in zip(self.cells, choice, strict=True)]
        sign = "" if all(len(value) == 1 for value in written) else " "
        return [sign.join(written[r : r + self.size]) for r in range(0, len(written), self.size)]

    def min_gap(self, wanted: Wanted, gaps: Costs | None = None) -> Least | None:
        """Return the minimum gap by bisection, one SAT call per step; an invalid grid is found by pairs of
        cells.
        """
        rows = self.gaps if gaps is None else gaps
        if wanted.met(True) and wanted.met(False):
            raise QuestionError("a grid is a Sudoku or is none.")
        if not wanted.met(True):
            return self._min_broken(rows, is_sum=False)
        best = self._choices.min_gap(rows)
        assert best is None or self.value(best[1])
        return best

    def min_cost(self, wanted: Wanted, costs: Costs, is_up: Callable[[], bool] | None = None) -> Least | None:
        """Return the minimum cost by MaxSAT; for an invalid grid, by pairs of cells."""
        if not wanted.met(True):
            return self._min_broken(costs, is_sum=True)
        best = self._choices.min_cost(costs, is_up)
        assert best is None or self.value(best[1])
        return best

    @property
    def _choices(self) -> Choices:
        return _choices(tuple(cell.values for cell in self.cells))

    def _min_broken(self, costs: Costs, *, is_sum: bool) -> Least | None:
        """Return the minimum for an invalid grid; all other cells have their minimum.

        It has one cell without a digit, or two equal digits in a row, column or box.
        """
        allowed = [[(cost, k) for k, cost in enumerate(row) if cost is not None] for row in costs]
        if not all(allowed):
            return None
        best = [min(row) for row in allowed]
        base: Gap = sum(cost for cost, _ in best) if is_sum else max(cost for cost, _ in best)
        known = {str(digit) for digit in range(1, self.size + 1)}
        candidates: list[tuple[Gap, tuple[tuple[int, int], ...]]] = []
        more: list[dict[str, tuple[Gap, int]]] = []
        for cell, row in enumerate(allowed):
            values, lowest = self.cells[cell].values, best[cell][0]
            more.append({values[k]: ((cost - lowest) if is_sum else cost, k) for cost, k in row})
            candidates += [
                (extra, ((cell, k),)) for value, (extra, k) in more[-1].items() if value not in known
            ]
        for a, b in _peers(self.size):
            for value, (extra, k) in more[a].items():
                if value in more[b]:
                    other, j = more[b][value]
                    candidates.append((extra + other if is_sum else max(extra, other), ((a, k), (b, j))))
        if not candidates:
            return None
        extra, changed = min(candidates)
        choice = [k for _, k in best]
        for cell, k in changed:
            choice[cell] = k
        return (base + extra if is_sum else max(base, extra)), tuple(choice)

    def deciding(self, indices: Sequence[int]) -> list[int]:
        """Return, for an invalid grid, a cell without a digit, or two equal digits in a row, column or
        box.
        """
        written = [cell.values[k] for cell, k in zip(self.cells, self.read, strict=True)]
        known = {str(digit) for digit in range(1, self.size + 1)}
        alone = [[k] for k, value in enumerate(written) if value not in known]
        equal = [[a, b] for a, b in _peers(self.size) if written[a] == written[b]]
        chosen = min((*alone, *equal), key=lambda cells: len(set(cells) & set(indices)), default=None)
        return super().deciding(indices) if chosen is None else [k for k in chosen if k in indices]

    def conflict(self, choice: Choice | None = None) -> str | None:
        """Return what violates the rules in a grid (default: as it is read); None if it is a Sudoku."""
        chosen = self.read if choice is None else choice
        written = [reading.values[value] for reading, value in zip(self.cells, chosen, strict=True)]
        digits = {str(digit) for digit in range(1, self.size + 1)}
        for number, unit in enumerate(units(self.size)):
            seen = [written[cell] for cell in unit]
            name = f"{('row', 'column', 'box')[number // self.size]} {number % self.size + 1}"
            wrong = next((value for value in seen if value not in digits), None)
            if wrong is not None:
                return f"{name} has {visible(wrong)}"
            twice = next((value for value in sorted(seen) if seen.count(value) > 1), None)
            if twice is not None:
                return f"{name} has two {twice}"
        return None

    def words(self, value: Any) -> str:
        """Return whether it is valid, in words."""
        return "the grid is a Sudoku" if value else "the grid is not a Sudoku"

    def composite_data(self) -> dict[str, Any]:
        """Return the grid as JSON data."""
        return {"kind": self.kind}

    def __str__(self) -> str:
        conflict = self.conflict()
        if conflict is None:
            return "as read it is a Sudoku"
        best = self.min_gap(Wanted(True))
        far = "no digits make it one" if best is None else f"is behind by {gap_text(best[0])}"
        if best is None:
            return f"as read it is not a Sudoku: {conflict}; {far}"
        return f"as read it is not a Sudoku: {conflict}; the most possible Sudoku {far}"


@dataclass(frozen=True)
class GapLine(ShortRepr):
    """Threshold on the gap: a composite counts as true if its gap is at most this; None: never.

    Examples
    --------
    >>> line = GapLine.fit([0, 2, 1, 30, 9, None], [True, True, True, False, False, False])
    >>> line, line.says(3), line.says(9), line.says(None)
    (GapLine(most=Fraction(11, 2)), True, False, False)
    """

    most: Gap | None

    @classmethod
    def fit(cls, gaps: Iterable[Gap | None], truths: Iterable[Any]) -> GapLine:
        """Return the threshold with the most correct decisions, midway between two gaps; in a tie the
        lowest.
        """
        rows = list(zip(gaps, map(bool, truths), strict=True))
        if not rows:
            raise QuestionError("a line needs some wholes whose truth is known.")
        levels = sorted({gap for gap, _ in rows if gap is not None})
        right = sum(not truth for _, truth in rows)  # if nothing counts as true
        best: tuple[int, Gap | None] = (right, None)
        for index, level in enumerate(levels):
            right += sum(1 if truth else -1 for gap, truth in rows if gap == level)
            if right > best[0]:
                above = levels[index + 1] if index + 1 < len(levels) else level
                best = (right, exact_gap(Fraction(level + above) / 2))
        return cls(best[1])

    def says(self, gap: Gap | None) -> bool:
        """Return whether a composite with this gap counts as true."""
        return gap is not None and self.most is not None and gap <= self.most
