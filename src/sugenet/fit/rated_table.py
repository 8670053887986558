"""Rated alternatives in a CSV file: cells as they are written, read as levels or as exact numbers, with the
place of whatever is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError
from sugenet.fit.capacities import Ratings
from sugenet.fit.table import called, read_cells, refuse_missing, refuse_unnamed, typed_column

__all__ = ["RatedTable", "read_cases", "read_ratings"]

_NUMBER = re.compile(
    r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][+-]?\d{1,2})?|\d{1,18}/0*[1-9]\d{0,17}", re.ASCII
)
"""Ratings are the decimals that they are, so that the middle of 0.3 and 0.4 is 0.35."""


@dataclass(frozen=True, eq=False)
class RatedTable:
    """The rows of a file: a cell for each criterion, and the rating of each row where there is one."""

    file: str
    criteria: tuple[str, ...]
    lines: tuple[int, ...]
    """In the file, from 1."""
    names: tuple[str, ...] | None
    """What the rows are called, where a column says it."""
    cells: tuple[tuple[str, ...], ...]
    target: str | None
    grades: tuple[str, ...] | None
    weights: tuple[Fraction, ...] | None

    @property
    def labels(self) -> tuple[str, ...]:
        """What each row is called in sentences: its line in the file, and its name."""
        if self.names is None:
            return tuple(f"line {line}" for line in self.lines)
        return tuple(f"line {line} ({name})" for line, name in zip(self.lines, self.names, strict=True))

    def ratings(self, order: Sequence[str] | None = None) -> Ratings:
        """The rows as ratings, all on one scale: levels in this order, worst first, or numbers in [0, 1]."""
        if self.grades is None or self.target is None:
            raise EncodingError(f"{self.file}: no column holds ratings. Name it: target=...")
        rated = [self._value(row, self.target, cell, order) for row, cell in enumerate(self.grades)]
        return Ratings(self.values(order), rated, order, self.criteria, self.weights, self.labels)

    def values(self, order: Sequence[str] | None = None) -> npt.NDArray[Any]:
        """The cells of the criteria on that scale, a row a sample."""
        table = np.empty((len(self.cells), len(self.criteria)), dtype=object)
        for row, cells in enumerate(self.cells):
            for column, cell in enumerate(cells):
                table[row, column] = self._value(row, self.criteria[column], cell, order)
        return table

    def columns(self, orders: Mapping[str, Sequence[str]]) -> npt.NDArray[Any]:
        """The cells as estimators take them: texts where a column has an order, else floats."""
        table = np.empty((len(self.cells), len(self.criteria)), dtype=object)
        for place, name in enumerate(self.criteria):
            texts = [cells[place] for cells in self.cells]
            table[:, place] = self._column(name, texts, orders.get(name))
        return table

    def targets(self, order: Sequence[str] | None) -> npt.NDArray[Any]:
        """The ratings likewise."""
        if self.grades is None or self.target is None:
            raise EncodingError(f"{self.file}: no column holds ratings. Name it: target=...")
        column = np.array(self._column(self.target, list(self.grades), order), dtype=object)
        return column if order is not None else column.astype(np.float64)

    def _column(self, name: str, texts: list[str], order: Sequence[str] | None) -> list[Any]:
        if order is not None:
            return [self._level(row, name, text, order) for row, text in enumerate(texts)]
        kind, values = typed_column(Path(self.file), name, list(zip(self.lines, texts, strict=True)))
        if kind == "category":
            raise EncodingError(
                f"{self.file}: column {name!r} holds names such as {values[0]!r}, and nothing says which are "
                f"better. Give their order, worst first: order='{name}=bad<ok<good'."
            )
        return [float(value) for value in values]

    def _value(self, row: int, name: str, text: str, order: Sequence[str] | None) -> Any:
        if order is not None:
            return self._level(row, name, text, order)
        where = f"{self.file}, line {self.lines[row]}, column {name!r}: {text!r}"
        if not _NUMBER.fullmatch(text):
            raise EncodingError(
                f"{where} is no number. Give the names of the levels, worst first: order='bad<ok<good'."
            )
        number = Fraction(text)
        if not 0 <= number <= 1:
            raise EncodingError(
                f"{where} is not from 0 to 1. Give the levels, worst first, such as order='1<2<3'; or, where "
                "columns are on scales of their own, terms=1 learns what their values are worth."
            )
        return number.numerator if number.denominator == 1 else number

    def _level(self, row: int, name: str, text: str, order: Sequence[str]) -> str:
        if text in order:
            return text
        near = get_close_matches(text, order, n=1)
        hint = (
            f" Did you mean {near[0]!r}?"
            if near
            else f" Where it names the rows, say name={name!r}; where columns are on scales of their own, "
            "terms=1 learns what their values are worth."
        )
        levels = " < ".join(order) if len(order) <= 12 else f"{order[0]} < ... < {order[-1]}"
        raise EncodingError(
            f"{self.file}, line {self.lines[row]}, column {name!r}: {text!r} is none of {levels}.{hint}"
        )


def read_ratings(
    path: str | Path,
    target: str,
    *,
    name: str | None = None,
    weights: str | None = None,
    ignore: Iterable[str] = (),
    delimiter: str = ",",
) -> RatedTable:
    r"""Read rated alternatives from a CSV file whose first line names the columns.

    Parameters
    ----------
    path
        The file, UTF-8; also packed by gzip, as ``.csv.gz``.
    target
        The column that holds the overall ratings; all columns that are not named here are criteria.
    name
        The column that says what each row is called.
    weights
        The column that says how much each row counts.
    ignore
        Columns to leave out.
    delimiter
        What stands between the cells.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "flats.csv"
    ...     _ = file.write_text("flat,light,quiet,grade\nA,good,bad,ok\nB,ok,good,ok\n")
    ...     table = read_ratings(file, "grade", name="flat")
    >>> print(table.ratings(["bad", "ok", "good"]))
    2 samples on 2 criteria (light, quiet), scale bad < ok < good
    >>> table.labels
    ('line 2 (A)', 'line 3 (B)')
    """
    file, skip = Path(path), set(ignore)
    special = [column for column in (target, name, weights) if column is not None]
    twice = next((column for column in special if special.count(column) > 1 or column in skip), None)
    if twice is not None:
        raise EncodingError(f"the column {twice!r} is named for two things. Give each its own.")
    header, rows = read_cells(file, delimiter, [*special, *sorted(skip)])
    used = [place for place, column in enumerate(header) if column not in skip and column not in special]
    return _table(file, header, rows, used, target=target, name=name, weights=weights)


def read_cases(
    path: str | Path,
    criteria: Sequence[str],
    *,
    name: str | None = None,
    spare: Iterable[str] = (),
    delimiter: str = ",",
) -> RatedTable:
    """Read alternatives that have no rating yet: the same criteria, in any order.

    Parameters
    ----------
    path
        The file.
    criteria
        The columns that must be there.
    name
        The column that says what each row is called, where the file has it.
    spare
        Further columns that may be there, and are passed over.
    delimiter
        What stands between the cells.
    """
    file, known = Path(path), {*criteria, *spare, *([] if name is None else [name])}
    header, rows = read_cells(file, delimiter, list(criteria))
    strange = next((column for column in header if column not in known), None)
    if strange is not None:
        raise EncodingError(
            f"{called(file)}: the column {strange!r} is no criterion. They are {', '.join(criteria)}. "
            f"Leave it out of both files with ignore={strange!r}, or take it away."
        )
    used = [header.index(column) for column in criteria]
    return _table(file, header, rows, used, name=name if name in header else None)


def _table(
    file: Path,
    header: list[str],
    rows: list[tuple[int, list[str]]],
    used: list[int],
    target: str | None = None,
    name: str | None = None,
    weights: str | None = None,
) -> RatedTable:
    if not used:
        raise EncodingError(f"{called(file)} has no column besides those that are no criteria.")
    refuse_unnamed(file, header, used)
    needed = [header.index(column) for column in (target, weights) if column is not None]
    refuse_missing(file, header, rows, [*used, *needed])

    def column(title: str | None) -> tuple[str, ...] | None:
        return None if title is None else tuple(cells[header.index(title)] for _, cells in rows)

    counts = None
    if weights is not None:
        counts = tuple(_weight(file, line, weights, cells[header.index(weights)]) for line, cells in rows)
    return RatedTable(
        called(file),
        tuple(header[place] for place in used),
        tuple(line for line, _ in rows),
        column(name),
        tuple(tuple(cells[place] for place in used) for _, cells in rows),
        target,
        column(target),
        counts,
    )


def _weight(file: Path, line: int, name: str, text: str) -> Fraction:
    if not _NUMBER.fullmatch(text) or Fraction(text) < 0:
        raise EncodingError(
            f"{called(file)}, line {line}, column {name!r}: {text!r} is no weight, a number of at least 0."
        )
    return Fraction(text)
