"""Column types: the kind of each column of a table, the evidence for it, and how to say otherwise.

They are the same for CSV files, data frames of pandas, polars and Arrow, arrays, scikit-learn and the command
line. The same values give the same kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import number_text, plain
from sugenet.errors import EncodingError, SugenetError
from sugenet.nn.columns import is_gap, moment_of
from sugenet.nn.samples import cells_of, labels_of, named_rows
from sugenet.reprs import Sentences, ShortRepr, cut, quoted

__all__ = [
    "ColumnType",
    "ColumnTypes",
    "Missing",
    "RawColumn",
    "RawTable",
    "alone_among",
    "by_beginning",
    "check_missing",
    "one_hot_groups",
    "raw_columns",
    "refuse_gaps",
    "understood",
]

Missing = Literal["refuse", "category", "impute"]
_DATES = ("days", "seconds", "year", "month", "weekday")
"""How a date can be read, alone or several joined by ``+``."""
_TYPES = ("bool", "whole", "number", "category", *_DATES, "ignore")
"""Types that can be given for a column."""
_REFUSED = ("text", "identifier")
_FEW, _MANY, _LONG = 20, 100, 24
"""Fewer different values identify nothing; more texts are not a category; longer ones are not names."""
_MOSTLY = Fraction(9, 10)
"""Share of the rows with texts of their own in a column that identifies them."""
_EXACT = 2.0**53
_NUMBERS = (int, float, np.number, np.bool_, Decimal, Fraction)
_BOOLS = (bool, np.bool_)
_NAMED_ID = re.compile(r"(?i:(.*[^a-z0-9])?(id|uuid|guid|key|index|row|nr|no)|unnamed: \d+)|.*[a-z]I[dD]")
_ENDS = re.compile(r"[_=.: ]+")
"""Signs between the name of a one-hot group and its categories."""


@dataclass(frozen=True)
class ColumnType(ShortRepr):
    """The kind of one column, or of several columns that are one-hot, and the evidence for it."""

    columns: tuple[str, ...]
    """One name, or those of a one-hot group."""
    kind: str
    """``"bool"``, ``"whole"``, ``"number"``, ``"category"``, ``"date"``, ``"one-hot"``, ``"constant"``,
    ``"identifier"``, ``"text"`` or ``"ignore"``."""
    why: str
    gaps: int
    """Number of rows without a value."""
    example: Any
    """First value that is there, as it is in the table."""
    how: tuple[str, ...] = ("value",)
    """For dates, the numbers that are read: days, seconds, year, month or weekday."""
    is_alone: bool = True
    """Whether no other column or group has the name that the columns of a group share."""

    @property
    def name(self) -> str:
        """The name of the feature: that of the column, or for a group what its columns share.

        A group has the names of all its columns if they share nothing, or if the name is that of another.
        """
        if len(self.columns) == 1:
            return self.columns[0]
        return (self.is_alone and _stem(self.columns)) or "/".join(self.columns)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of a one-hot group: what follows the shared beginning of its columns."""
        stem = _stem(self.columns)
        return (
            tuple(name[len(stem) :].lstrip("_=.: ") or name for name in self.columns)
            if stem
            else self.columns
        )

    @property
    def is_used(self) -> bool:
        """Whether a network can learn from it."""
        return self.kind not in (*_REFUSED, "constant", "ignore")

    def data(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        example = self.example if isinstance(self.example, str | int | float | None) else str(self.example)
        return {
            "columns": list(self.columns),
            "kind": self.kind,
            "why": self.why,
            "gaps": self.gaps,
            "example": example,
        }


@dataclass(frozen=True)
class ColumnTypes(Sentences):
    """The columns of a table as they were understood; prints as a table."""

    rows: int
    columns: tuple[ColumnType, ...]
    missing: Missing = "refuse"
    torn: tuple[tuple[str, ...], ...] = ()
    """Columns that would be a one-hot group if their gaps were in the same rows."""

    def __str__(self) -> str:
        head = ("column", "kind", "gaps", "why")
        lines = [(cut(one.name, 1, 30), one.kind, f"{one.gaps:,}", one.why) for one in self.columns]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        columns = sum(len(one.columns) for one in self.columns)
        table = [
            "  ".join(
                cell.rjust(width) if index == 2 else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in (head, *lines)
        ]
        return "\n".join(
            [
                f"{self.rows:,} row{'s' * (self.rows != 1)}, {columns} column{'s' * (columns != 1)}",
                *table,
                f"To say otherwise: types={{'COLUMN': 'TYPE'}}. The types are {', '.join(_TYPES)}.",
                *self.problems,
            ]
        )

    def data(self) -> dict[str, Any]:
        """Return the columns for JSON."""
        return {
            "rows": self.rows,
            "columns": [one.data() for one in self.columns],
            "problems": list(self.problems),
        }

    @property
    def problems(self) -> tuple[str, ...]:
        """Decisions that are needed before a network can learn from the table; empty if there are none."""
        refused = [one for one in self.columns if one.kind in _REFUSED]
        gaps = [one for one in self.columns if one.gaps and (one.is_used or one.kind == "constant")]
        problems = []
        if refused:
            each = ", ".join(f"{quoted(one.name)} ({one.kind}: {one.why})" for one in refused)
            ignored = ", ".join(f"{one.name!r}: 'ignore'" for one in refused)
            problems.append(
                f"{each} {'is' if len(refused) == 1 else 'are'} not used. Leave "
                f"{'it' if len(refused) == 1 else 'them'} out: types={{{ignored}}}; or give another type."
            )
        empty = [one for one in gaps if one.kind == "one-hot"]
        if empty and self.missing != "refuse":
            each = ", ".join(f"{quoted(one.name)} ({one.gaps:,})" for one in empty)
            problems.append(
                f"There are rows without a value in all columns of a one-hot group: {each}. Give the group a "
                "column of its own for them, or remove these rows."
            )
        for names in self.torn:
            listed = ", ".join(map(quoted, names))
            apart = ", ".join(f"{name!r}: 'bool'" for name in names)
            problems.append(
                f"{listed} are one-hot columns (exactly one is 1) except for gaps in different rows. Fill "
                "these gaps with 0 or 1, or empty all columns in these rows. To read them as separate "
                f"columns, of which several may be 1: types={{{apart}}}."
            )
        if gaps and self.missing == "refuse":
            counts = {one.name: one.gaps for one in gaps}
            problems.append(
                f"{_gap_text(counts, self.rows)} Use missing='category' for a category of gaps, "
                "missing='impute' for the median or most frequent value, or leave columns out: "
                f"types={{{gaps[0].name!r}: 'ignore'}}."
            )
        return tuple(problems)

    def check(self) -> None:
        """Raise `EncodingError` if something has to be decided first."""
        if self.problems:
            raise EncodingError(" ".join(self.problems))


def check_missing(missing: str) -> Any:
    """Return how gaps are treated; raise an error unless it is a known word."""
    if missing not in get_args(Missing):
        raise SugenetError(f"missing={missing!r} is not known; it is one of {', '.join(get_args(Missing))}.")
    return missing


def refuse_gaps(columns: Iterable[RawColumn], hint: str) -> None:
    """Raise an error that lists all columns with gaps and ends with a hint."""
    counts = {column.name: int(column.gaps.sum()) for column in columns if column.gaps.any()}
    if counts:
        rows = next(len(column.values) for column in columns)
        raise EncodingError(f"{_gap_text(counts, rows)} {hint}")


def _gap_text(counts: Mapping[str, int], rows: int) -> str:
    each = ", ".join(f"{quoted(name)} ({count:,})" for name, count in counts.items())
    return f"There are gaps (NaN, None or empty cells) in {rows:,} rows: {each}."


# -- the values of a column ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of one column, and the order of its categories if the table has one."""

    name: str
    values: npt.NDArray[Any]
    levels: tuple[Any, ...] | None = None
    is_named: bool = True
    """Whether the name is the table's own."""

    @cached_property
    def gaps(self) -> npt.NDArray[np.bool_]:
        """Rows without a value."""
        kind = self.values.dtype.kind
        if kind in "biu":
            return np.zeros(len(self.values), bool)
        if kind == "f":
            return np.asarray(np.isnan(self.values))
        if kind == "M":
            return np.asarray(np.isnat(self.values))
        return np.array([is_gap(value) for value in self.values.tolist()], bool)

    @cached_property
    def present(self) -> npt.NDArray[Any]:
        """Values that are there."""
        return self.values[~self.gaps] if self.gaps.any() else self.values

    @cached_property
    def is_bool(self) -> bool:
        """Whether all values are True or False."""
        return self.present.dtype == bool or self._holds(_BOOLS)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64] | None:
        """Values as floats; None if one is not a number, or an integer that floats do not hold."""
        if not self.has_large and (self.present.dtype.kind in "biuf" or self._holds(_NUMBERS)):
            return self.present.astype(np.float64)
        return None

    @cached_property
    def has_large(self) -> bool:
        """Whether there are integers of 2^53 or more, which floats round."""
        if self.present.dtype.kind in "iu":
            return bool(((self.present >= 1 << 53) | (self.present <= -(1 << 53))).any())
        return self.present.dtype == object and any(
            isinstance(value, int | np.integer) and abs(int(value)) >= 1 << 53 for value in self.present
        )

    @cached_property
    def is_whole(self) -> bool:
        """Whether all values are integers; floats count if they are exact and have no fraction."""
        numbers = self.numbers
        if numbers is None or not np.isfinite(numbers).all():
            return False
        if self.present.dtype.kind in "biu":
            return True
        return bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) < _EXACT).all())

    @cached_property
    def is_switch(self) -> bool:
        """Whether the values are 0 and 1, or False and True."""
        return self.is_whole and set(self.different) == {0, 1}

    @cached_property
    def different(self) -> list[Any]:
        """Different values: numbers in order, others in the order of their categories."""
        if self.numbers is not None:
            seen = np.unique(self.numbers).tolist()
            return [int(value) for value in seen] if self.is_whole else seen
        try:
            seen = set(map(plain, self.present.tolist()))
        except TypeError:
            raise EncodingError(
                f"{self.name} holds {quoted(self.present[0])}, which is not a single value."
            ) from None
        if self.levels is not None:
            return [level for level in map(plain, self.levels) if level in seen]
        return sorted(seen, key=str)

    def fill(self, kind: str) -> Any:
        """Return the value that replaces gaps: the median of numbers and dates (the lower one of two), else
        the most frequent value (the first in their order).
        """
        if kind == "date":
            assert self.moments is not None
            return np.sort(self.moments)[(len(self.moments) - 1) // 2]
        if kind in ("whole", "number", "constant") and self.numbers is not None:
            middle = float(np.sort(self.numbers)[(len(self.numbers) - 1) // 2])
            return int(middle) if self.is_whole else middle
        counts = Counter(map(plain, self.present.tolist()))
        common = max(self.different, key=lambda value: counts[value])
        return common == 1 if kind == "bool" and self.different == [0, 1] else common

    def _holds(self, kinds: tuple[type, ...]) -> bool:
        return self.present.dtype == object and all(isinstance(value, kinds) for value in self.present)

    @cached_property
    def moments(self) -> npt.NDArray[np.datetime64] | None:
        """Dates and times, as exact as they are written; None if a value is not a date."""
        if self.present.dtype.kind == "M":
            return self.present
        if self.present.dtype.kind not in "OU":
            return None
        moments = []
        for value in self.present.tolist():
            moment = moment_of(value)
            if moment is None:
                return None
            moments.append(moment[0] + np.timedelta64(int(moment[1]), "ms"))
        return np.array(moments, "datetime64[ms]")


class RawTable:
    """Columns as a table with names, which an encoder reads by name."""

    def __init__(self, columns: Iterable[RawColumn]) -> None:
        self._values = {column.name: column.values for column in columns}
        self.columns = list(self._values)

    def __len__(self) -> int:
        return len(self._values[self.columns[0]])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._values[name]


def raw_columns(
    table: Any, names: Iterable[object] | None = None, target: str | None = None
) -> list[RawColumn]:
    """Return the columns of a table with their own types, without the target."""
    is_frame = hasattr(table, "columns") and not isinstance(table, Mapping)
    labels = labels_of(table) if is_frame and names is None else None
    if labels is None:
        rows, known = named_rows(table, names)
        if rows.ndim != 2 or not rows.size:
            raise EncodingError(
                f"X has shape {rows.shape}, but one row for each sample and one column for each "
                f"feature is needed."
            )
        titles = known or [f"x{i}" for i in range(1, rows.shape[1] + 1)]
        if len(titles) != rows.shape[1]:
            raise EncodingError(
                f"{len(titles)} feature names for {rows.shape[1]} features. Give one for each, or none."
            )
        columns = [RawColumn(title, rows[:, i], is_named=known is not None) for i, title in enumerate(titles)]
    else:
        is_named = labels != list(range(len(labels)))
        columns = [
            RawColumn(
                str(label) if is_named else f"x{index + 1}",
                cells_of(table[label]),
                _levels(table[label]),
                is_named,
            )
            for index, label in enumerate(labels)
        ]
        if columns and not len(columns[0].values):
            raise EncodingError("the table has no rows.")
    if target is not None and target not in [column.name for column in columns]:
        raise EncodingError(f"target={quoted(target)} is not a column.")
    return [column for column in columns if column.name != target]


def _levels(series: Any) -> tuple[Any, ...] | None:
    """Return the categories of a column of pandas or polars in their order; None without one."""
    kind = getattr(series, "dtype", None)
    levels = getattr(kind, "categories", None)
    is_ordered = getattr(kind, "ordered", type(kind).__name__ == "Enum")
    return tuple(levels) if is_ordered and levels is not None else None


# -- kinds ---------------------------------------------------------------------------------------------------


def understood(
    columns: list[RawColumn], types: Mapping[str, str] | None = None, missing: str = "refuse"
) -> ColumnTypes:
    """Find the kinds of columns, and the groups of one-hot columns among them."""
    declared = _given(types, [column.name for column in columns])
    how: Missing = check_missing(missing)
    switches = [column for column in columns if column.name not in declared and column.is_switch]
    groups = one_hot_groups(switches)
    alone = alone_among(groups, [column.name for column in columns])
    first = {group[0]: group for group in groups}
    inside = {name for group in groups for name in group}
    kinds = []
    for column in columns:
        if column.name in first:
            why = f"one of {len(first[column.name])} columns is 1 in every row"
            gaps = int(column.gaps.sum())
            why += f", except {gaps:,} without a value" if gaps else ""
            group = first[column.name]
            is_alone = group in alone
            kinds.append(ColumnType(group, "one-hot", why, gaps, _example(column), is_alone=is_alone))
        elif column.name not in inside:
            kinds.append(
                _declared(column, declared[column.name], missing)
                if column.name in declared
                else _found(column, missing)
            )
    rest = [column for column in switches if column.name not in inside]
    return ColumnTypes(len(columns[0].values) if columns else 0, tuple(kinds), how, _torn(rest))


def _given(types: Mapping[str, str] | None, names: list[str]) -> dict[str, str]:
    declared = {str(name): str(kind) for name, kind in (types or {}).items()}
    unknown = next((name for name in declared if name not in names), None)
    if unknown is not None:
        raise EncodingError(
            f"types={{{unknown!r}: {declared[unknown]!r}}} names no column. The columns are "
            f"{cut(', '.join(names), letters=200)}."
        )
    for name, kind in declared.items():
        if not set(kind.split("+")) <= set(_DATES) and kind not in _TYPES:
            raise EncodingError(
                f"types={{{name!r}: {kind!r}}} is not known; a type is one of {', '.join(_TYPES)}, or parts "
                "of a date such as 'year+month'."
            )
    return declared


def _found(column: RawColumn, missing: str) -> ColumnType:
    """Return the kind that the values show."""
    different = column.different
    n, rows = len(different), len(column.present)
    if n < 2 and not (n and missing == "category" and column.gaps.any()):
        why = f"always {_shown(_example(column))}" if n else "no value in any row"
        return _typed(column, "constant", why, missing)
    if column.levels is not None:
        return _typed(column, "category", _listed(n, "ordered categories", different, " < "), missing)
    if column.is_bool:
        return _typed(column, "bool", "True and False", missing)
    if column.numbers is not None:
        if different == [-1, 1]:
            return _typed(column, "bool", "-1 and +1", missing)
        kind = "whole" if column.is_whole else "number"
        id_why = _identifies(column) if column.is_whole and n == rows else None
        if id_why is not None:
            return _typed(column, "identifier", id_why, missing)
        return _typed(column, kind, _span(column), missing)
    if column.moments is not None:
        return _dated(column, missing)
    what = "integers beyond 2^53" if column.has_large else "texts"
    if n > _FEW and n >= _MOSTLY * rows:
        length = sum(len(str(value)) for value in different) / n
        why = f"{n:,} different {what} in {rows:,} rows"
        return _typed(
            column, "text" if length > _LONG and not column.has_large else "identifier", why, missing
        )
    if n > _MANY:
        return _typed(column, "text", f"{n:,} different {what}, more than {_MANY}", missing)
    return _typed(column, "category", _listed(n, what, different), missing)


def _identifies(column: RawColumn) -> str | None:
    """Return the evidence that different integers number the rows; None without it."""
    assert column.numbers is not None
    rows = len(column.present)
    if not column.is_named or rows < _FEW:
        return None
    if _NAMED_ID.fullmatch(column.name):
        return f"{rows:,} integers in {rows:,} rows, and its name"
    if rows >= _MANY and (np.diff(column.numbers) == 1).all():
        return f"rows are numbered from {number_text(column.different[0])}"
    return None


def _declared(column: RawColumn, wanted: str, missing: str) -> ColumnType:
    """Return the type that was given; raise an error if the values do not fit it."""
    stated, different = "as given", column.different
    if wanted == "ignore":
        return _typed(column, "ignore", stated, missing)
    if len(different) < 2:
        return _found(column, missing)
    if wanted == "category":
        return _typed(
            column, "category", f"{stated}: {_listed(len(different), 'values', different)}", missing
        )
    if wanted in ("whole", "number", "bool"):
        fits = {"whole": column.is_whole, "number": column.numbers is not None}.get(
            wanted, column.is_whole and different in ([0, 1], [-1, 1])
        )
        if not fits:
            unlike = [one for one in different if not isinstance(one, int | float) or one != one // 1]
            wrong = [*unlike, different[-1]][0]
            raise EncodingError(
                f"types={{{column.name!r}: {wanted!r}}} does not fit: the column holds {quoted(wrong)}."
            )
        return _typed(column, wanted, f"{stated}: {_span(column)}", missing)
    if column.moments is None:
        raise EncodingError(
            f"types={{{column.name!r}: {wanted!r}}} needs dates such as 2024-03-31, but the column holds "
            f"{quoted(different[0])}."
        )
    return _dated(column, missing, wanted)


def _dated(column: RawColumn, missing: str, wanted: str | None = None) -> ColumnType:
    """Return a date: as days, as seconds if times of day occur, or as the parts that were given.

    If gaps are a category, the date is read as its year, which can be one.
    """
    assert column.moments is not None
    days = column.moments.astype("datetime64[D]")
    has_times, has_fractions = (
        bool((column.moments.astype(f"datetime64[{unit}]") != column.moments).any()) for unit in "Ds"
    )
    has_category = missing == "category" and bool(column.gaps.any())
    if has_category and wanted is not None and {"days", "seconds"} & set(wanted.split("+")):
        raise EncodingError(
            f"types={{{column.name!r}: {wanted!r}}} has gaps, and days have no category for them. Use "
            f"missing='impute', or types={{{column.name!r}: 'year'}}."
        )
    how, reason = wanted or "days", ""
    if wanted is None and has_category:
        how, reason = "year", ", so that gaps are a category"
    elif wanted is None and has_fractions:
        reason = ", since times have fractions of a second"
    elif wanted is None and has_times:
        how = "seconds"
    parts = tuple(how.split("+"))
    why = f"{days.min()} to {days.max()}, read as {' and '.join(parts)}{reason}"
    return _typed(column, "date", why, missing, parts)


def _listed(n: int, what: str, values: list[Any], sign: str = ", ") -> str:
    """Return a number of values and the first of them."""
    return f"{n} {what}: {cut(sign.join(map(number_text, values[:_FEW])), 1, 30)}"


def _span(column: RawColumn) -> str:
    seen = column.different
    kind = "integers" if column.is_whole else "numbers"
    return f"{len(seen):,} {kind} from {number_text(seen[0])} to {number_text(seen[-1])}"


def _typed(
    column: RawColumn, kind: str, why: str, missing: str, how: tuple[str, ...] = ("value",)
) -> ColumnType:
    gaps = int(column.gaps.sum())
    if gaps and len(column.present) and kind not in (*_REFUSED, "ignore"):
        filled = column.fill(kind) if missing == "impute" else None
        why += {
            "impute": f"; gaps become {_shown(filled)}",
            "category": "; gaps are a category",
            "refuse": "",
        }[missing]
    return ColumnType((column.name,), kind, why, gaps, _example(column), how)


def _example(column: RawColumn) -> Any:
    """Return the first value that is there; a date as text."""
    first = column.present[0] if len(column.present) else None
    return str(first) if isinstance(first, np.datetime64) else plain(first)


def _shown(value: Any) -> str:
    text = number_text(value) if isinstance(value, int | float) else str(value)
    return cut(text.removesuffix("T00:00:00.000000000").removesuffix("T00:00:00.000"), 1, 20)


# -- one-hot columns -----------------------------------------------------------------------------------------


def one_hot_groups(columns: list[RawColumn]) -> list[tuple[str, ...]]:
    """Return groups of columns of 0 and 1 of which exactly one is 1 in every row, or all are gaps.

    Columns whose names share a beginning are tried first, then the others in their order. Groups without a
    shared beginning require 20 rows, since two columns are opposite by chance in fewer.
    """
    if len(columns) < 2:
        return []
    on = np.zeros((len(columns), len(columns[0].values)), np.float32)
    for row, column in zip(on, columns, strict=True):
        row[~column.gaps] = column.numbers
    gaps = np.stack([column.gaps for column in columns])
    both, rows = on @ on.T, on.shape[1]
    counts, names = both.diagonal(), [column.name for column in columns]

    def is_group(members: list[int]) -> bool:
        inside = both[np.ix_(members, members)]
        alike = bool((gaps[members] == gaps[members[:1]]).all())
        known = rows - gaps[members[0]].sum() if members else 0
        return len(members) > 1 and alike and inside.sum() == counts[members].sum() == known

    groups: list[list[int]] = []
    free = set(range(len(columns)))
    for members in by_beginning(names):
        if free.issuperset(members) and is_group(members):
            groups.append(members)
            free -= set(members)
    for start in sorted(free) if rows >= _FEW else ():
        members = [start] if start in free else []
        for index in sorted(free):
            if index > start and members and not both[index, members].any():
                members.append(index)
            if is_group(members):
                groups.append(members)
                free -= set(members)
                break
    return [tuple(names[index] for index in members) for members in groups]


def by_beginning(names: Sequence[str]) -> list[list[int]]:
    """Return the indices of names that share a beginning, the fewest first."""
    by_name: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        for match in _ENDS.finditer(name):
            by_name.setdefault(name[: match.end()], []).append(index)
    return sorted(by_name.values(), key=len)


def _torn(columns: list[RawColumn]) -> tuple[tuple[str, ...], ...]:
    """Return columns with a shared beginning of which gaps alone hide that they are one-hot."""
    torn: dict[tuple[str, ...], None] = {}
    for members in by_beginning([column.name for column in columns]):
        inside = [columns[index] for index in members]
        gaps = np.stack([column.gaps for column in inside])
        on = np.zeros(gaps.shape, bool)
        for row, column in zip(on, inside, strict=True):
            row[~column.gaps] = column.numbers == 1
        full = on[:, ~gaps.any(axis=0)]
        if len(inside) > 1 and gaps.any() and full.any(axis=1).all() and (on.sum(axis=0) < 2).all():
            is_one_hot = (full.sum(axis=0) == 1).all()
            if is_one_hot and not any(name.name in group for name in inside for group in torn):
                torn[tuple(column.name for column in inside)] = None
    return tuple(torn)


def alone_among(groups: Sequence[tuple[str, ...]], names: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the groups whose shared name is not that of a column or of another group."""
    stems = Counter([*names, *map(_stem, groups)])
    return {group for group in groups if stems[_stem(group)] == 1}


def _stem(names: tuple[str, ...]) -> str:
    """Return what the names of a one-hot group share, without the sign after it; empty if nothing.

    Examples
    --------
    >>> _stem(("colour_red", "colour_rose")), _stem(("red", "blue"))
    ('colour', '')
    """
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    shared = "".join(letters[0] for letters in alike)
    ends = [match.end() for match in _ENDS.finditer(shared)]
    return _ENDS.sub("", shared[: ends[-1]][::-1], count=1)[::-1] if ends else ""
