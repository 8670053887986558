"""Columns: how the features of a sample are read from the columns of the user's table.

A network reads features. A table has columns: dates, one-hot groups, cells without a value. `Columns` says
how one becomes the other, so that a sample may be given in either form. This is the meaning, for every kind
of sample (dicts, rows, data frames, CSV files):

- With names, each feature is read from the column of its own name or from its raw columns; giving both raises
  an error. Without names, a row with one value per feature holds the features, and any other row holds the
  raw columns in their order. Samples with names may lack raw columns that no feature reads.
- A gap is None, NaN, NaT, `pandas.NA` or a text of `GAPS` (any case, blanks around it ignored), unless a
  category has that name. A gap becomes `fill`. Without `fill`, it is the category None. Without that
  category, it raises an error.
- A category may be given as itself or as its text: ``3``, ``3.0`` and ``"3"`` are one category, and so are
  ``True``, ``"true"`` and ``"TRUE"``.
- ``"value"`` reads the cell itself.
- ``"one-hot"`` reads one column per category: exactly one is 1 (or True), the others are 0 (or False). If all
  of them are gaps, the feature is a gap.
- ``"days"``, ``"seconds"``, ``"year"``, ``"month"`` and ``"weekday"`` read a date: `datetime.date`,
  `datetime.datetime`, `numpy.datetime64`, `pandas.Timestamp`, or text such as ``2020-12-31`` and
  ``2020-12-31 23:59:00``. They give days and seconds since 1970-01-01 00:00, the year, the month from 1 to
  12, and the weekday from 1 (Monday) to 7. Moments with a time zone are converted to UTC. The time of day has
  no effect except for seconds, where a fraction of a second raises an error. Numbers are left as they are.
- ``"ranges"`` reads a number as one of the ranges between `cuts` (`range_labels`). The lower end belongs to
  its range, the upper end to the next. Labels are left as they are.

So a value of the feature stands for itself, and a sample that was read once reads the same again.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import chain, pairwise
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import NUMBER, is_float, number_text, read_number
from sugenet.errors import EncodingError
from sugenet.nn.codings import Coding, OneHot, Steps
from sugenet.nn.samples import columns_of, joined, labels_of, rows_of
from sugenet.reprs import ShortRepr, quoted, set_fields
from sugenet.visible import see_name, visible

__all__ = ["GAPS", "Columns", "Preparation", "is_gap", "moment_of", "range_labels"]

GAPS = ("", "NA", "N/A", "NaN", "NaT", "<NA>", "null", "None", "?")
"""Texts of a missing value, in any case and with blanks around them."""
_GAPS = frozenset(text.lower() for text in GAPS)
_DATES = ("days", "seconds", "year", "month", "weekday")
_HOW = ("value", "one-hot", *_DATES, "ranges")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d+)?(?:(Z)|([+-]\d\d):?(\d\d))?)?", re.ASCII
)
_EXACT = 2**53
"""Floats hold every integer up to here."""
_NUMBER = re.compile(NUMBER)


def is_gap(value: Any) -> bool:
    """Return whether a cell of a table has no value: None, NaN, NaT, `pandas.NA`, or a text of `GAPS`.

    Parameters
    ----------
    value : object
        A cell of a table.

    Returns
    -------
    bool
        True for a missing value.

    Examples
    --------
    >>> [is_gap(value) for value in (None, float("nan"), np.datetime64("NaT"), " n/a ", "", False, "no")]
    [True, True, True, True, True, False, False]

    See Also
    --------
    Preparation : what a gap is replaced with.
    """
    if value is None or isinstance(value, str):
        return value is None or value.strip().lower() in _GAPS
    unequal = value != value  # noqa: PLR0124  NaN and NaT; pandas.NA returns itself
    return bool(unequal) if isinstance(unequal, bool | np.bool_) else unequal is value


def moment_of(value: Any) -> tuple[np.datetime64, bool] | None:
    """Return a date or moment in whole seconds (UTC), and whether it has a fraction of a second.

    None for values that are not dates.

    Parameters
    ----------
    value : object
        A cell of a table.

    Returns
    -------
    tuple or None
        The moment as `numpy.datetime64`, and True if a fraction of a second was cut off.

    Examples
    --------
    >>> moment_of("1969-12-31"), moment_of("2020-01-01 01:30:00.5+02:00"), moment_of("31.12.2020")
    ((np.datetime64('1969-12-31T00:00:00'), False), (np.datetime64('2019-12-31T23:30:00'), True), None)

    See Also
    --------
    Preparation : features read from dates.
    """
    if isinstance(value, str):
        match = _MOMENT.fullmatch(value.strip())
        if match is None:
            return None
        day, time, fraction, _, hours, minutes = match.groups()
        try:
            moment = np.datetime64(f"{day}T{time or '00:00'}", "s")
        except ValueError:  # such as February 30
            return None
        away = 0 if hours is None else 60 * int(hours) + int(f"{hours[0]}{minutes}")
        return moment - np.timedelta64(away, "m"), bool(fraction) and bool(fraction.strip(".0"))
    if hasattr(value, "to_datetime64"):  # of pandas, in UTC
        value = value.to_datetime64()
    elif isinstance(value, datetime):
        offset = value.utcoffset()
        value = np.datetime64(value.replace(tzinfo=None)) - np.timedelta64(offset or 0, "us")
    elif isinstance(value, date):
        value = np.datetime64(value)
    if not isinstance(value, np.datetime64) or np.isnat(value):
        return None
    whole = value.astype("datetime64[s]")
    return whole, bool(whole != value)


def range_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the ranges between cuts. A cut belongs to the range above it.

    Parameters
    ----------
    cuts : sequence of float
        Rising numbers.

    Returns
    -------
    tuple of str
        One name per range, lowest first; one more than cuts.

    Examples
    --------
    >>> range_labels([20, 40.5]), range_labels([0]), range_labels([])
    (('below 20', '20 up to 40.5', '40.5 or more'), ('below 0', '0 or more'), ('any number',))

    See Also
    --------
    Preparation : features read as ranges.
    """
    texts = [number_text(cut) for cut in cuts]
    if not texts:
        return ("any number",)
    between = [f"{low} up to {high}" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *between, f"{texts[-1]} or more")


@dataclass(frozen=True)
class Preparation:
    """How one feature is read from raw columns.

    Parameters
    ----------
    columns : sequence of str
        The raw columns: one; for ``"one-hot"`` one per category, in the order of the categories.
    how : str, default: "value"
        ``"value"``, ``"one-hot"``, ``"days"``, ``"seconds"``, ``"year"``, ``"month"``, ``"weekday"`` or
        ``"ranges"``.
    fill : str, int, float or bool, default: None
        Value of the feature that replaces a gap. None: a gap is the category None or an error.
    cuts : sequence of float, default: ()
        Rising numbers between the ranges, for ``"ranges"``.

    Raises
    ------
    EncodingError
        If `how` is unknown or does not fit the columns or the cuts, if the columns are not different names,
        if the cuts are not finite and rising, or if certificates cannot hold `fill`.

    Examples
    --------
    >>> Preparation(("born",), "days").value(["1970-01-03"], Steps((0.0,), whole=True))
    2
    >>> colour = Preparation(("colour_red", "colour_blue"), "one-hot")
    >>> colour.value([0, 1], OneHot(("red", "blue"))), colour.value(["red"], OneHot(("red", "blue")))
    ('blue', 'red')
    >>> Preparation(("age",), fill=30).value(["NA"], Steps((18.0,), whole=True))
    30

    See Also
    --------
    Columns : the preparations of all features.
    range_labels : names of the ranges.
    """

    columns: tuple[str, ...]
    how: str = "value"
    fill: Any = None
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        columns, cuts = tuple(self.columns), Steps(tuple(self.cuts)).cuts
        fill = OneHot((self.fill,)).categories[0]
        set_fields(self, columns=columns, cuts=cuts, fill=fill)
        if self.how not in _HOW:
            raise EncodingError(f"Unknown how={quoted(self.how)}. Use {', '.join(map(repr, _HOW))}.")
        if not all(isinstance(column, str) for column in columns) or len(set(columns)) < len(columns):
            raise EncodingError(f"columns {columns} must be names, each a different one.")
        if (len(columns) < 2) if self.how == "one-hot" else (len(columns) != 1):
            wanted = "at least two columns" if self.how == "one-hot" else "one column"
            raise EncodingError(f"how={self.how!r} reads {wanted}, but {len(columns)} are given.")
        if cuts and self.how != "ranges":
            raise EncodingError(f"cuts are for how='ranges', but how is {self.how!r}.")
        if not all(map(isfinite, cuts)):
            raise EncodingError(f"cuts {cuts} must be finite.")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the ranges."""
        return range_labels(self.cuts)

    def value(self, cells: Sequence[Any], coding: Coding) -> Any:
        """Return the value of the feature for the cells of one sample.

        The cells are those of the raw columns, or one value of the feature.
        """
        cell = cells[0] if len(cells) == 1 else self._member(cells, coding)
        categories = coding.by_text if isinstance(coding, OneHot) else {}
        if is_gap(cell) and not (isinstance(cell, str) and categories.get(cell.strip()) is not None):
            if self.fill is None and "None" not in categories:
                raise EncodingError(
                    f"the value is missing ({quoted(cell)}). Give one, or train with missing='category' or "
                    "missing='impute'."
                )
            return self.fill
        if isinstance(coding, OneHot):
            cell = _category(cell, coding)
        if self.how in _DATES:
            cell = self._of_date(cell)
        elif self.how == "ranges":
            return self._in_range(cell)
        is_text = isinstance(cell, str | Decimal) and isinstance(coding, Steps)
        return read_number(cell, error=EncodingError) if is_text else cell

    @property
    def is_part(self) -> bool:
        """Whether the feature is a part of its column from which the rest does not follow: year, month,
        weekday.
        """
        return self.how in ("year", "month", "weekday")

    def cells(self, value: Any, coding: Coding) -> dict[str, Any]:
        """Return the cells that are read as a value of the feature, by raw column.

        Days and seconds become `datetime.date` and `datetime.datetime`. Other values stand for themselves.

        Examples
        --------
        >>> Preparation(("born",), "days").cells(2, Steps((0.0,), whole=True))
        {'born': datetime.date(1970, 1, 3)}
        >>> Preparation(("is_red", "is_blue"), "one-hot").cells("blue", OneHot(("red", "blue")))
        {'is_red': 0, 'is_blue': 1}
        """
        if self.how == "one-hot" and isinstance(coding, OneHot):
            known = [category for category in coding.categories if category is not None]
            bits = [None if value is None else int(category == value) for category in known]
            return dict(zip(self.columns, bits, strict=True))
        if self.how in ("days", "seconds") and value is not None:
            moment = np.datetime64(int(value), "D" if self.how == "days" else "s").item()
            value = moment if isinstance(moment, date) else value  # else it is beyond the calendar
        return {self.columns[0]: value}

    def _member(self, cells: Sequence[Any], coding: Coding) -> Any:
        """Return the category of the column that is on; None if all cells are gaps."""
        if all(map(is_gap, cells)):
            return None
        bits = [_bit(cell) for cell in cells]
        if None in bits or sum(bit is True for bit in bits) != 1 or not isinstance(coding, OneHot):
            shown = ", ".join(f"{visible(c)} = {quoted(v)}" for c, v in zip(self.columns, cells, strict=True))
            raise EncodingError(f"exactly one of its columns must be 1 and the others 0, but {shown}.")
        return coding.categories[bits.index(True)]

    def _of_date(self, cell: Any) -> Any:
        moment = moment_of(cell)
        if moment is None:
            if isinstance(cell, str) and not _NUMBER.fullmatch(cell.strip()):
                raise EncodingError(
                    f"{quoted(cell)} is not a date such as 2020-12-31 or 2020-12-31 23:59:00, "
                    f"nor a number ({self.how})."
                )
            return cell
        if moment[1] and self.how == "seconds":
            raise EncodingError(f"{quoted(str(cell))} has a fraction of a second. Round it to seconds.")
        return int(_parts(np.array([moment[0]]), self.how)[0])

    def _in_range(self, cell: Any) -> Any:
        labels = self.labels
        if isinstance(cell, str) and cell.strip() in labels:
            return cell.strip()
        try:
            number = read_number(
                int(cell) if isinstance(cell, bool | np.bool_) else cell, error=EncodingError
            )
        except EncodingError:
            raise EncodingError(
                f"{quoted(cell)} is neither a number nor one of the ranges {', '.join(labels)}."
            ) from None
        return labels[bisect_right(self.cuts, number)]

    def read(
        self, cells: Sequence[npt.NDArray[Any]], coding: Coding, where: Callable[[int], str]
    ) -> npt.NDArray[Any]:
        """Return the column of the feature from its raw columns, or from a column of its values.

        The result holds what `value` returns for each row. Errors begin with the place of the row.
        """
        cells = [_column(column.tolist()) if column.dtype == object else column for column in cells]
        column = self._fast(cells, coding)
        if column is not None:
            return column
        lists = [list(column) if column.dtype.kind == "M" else column.tolist() for column in cells]
        rows: list[Any] = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
        kinds = set(chain.from_iterable(map(type, column) for column in lists)) - {str, type(None)}
        # 1, 1.0 and True are equal, but not spelled alike
        keys = (
            rows if len(kinds) < 2 else list(zip(rows, *(map(type, column) for column in lists), strict=True))
        )
        known: dict[Any, Any] = {}
        try:
            for key, row in zip(keys, rows, strict=True):
                if key not in known:
                    known[key] = self.value([row] if len(lists) == 1 else row, coding)
            values = [known[key] for key in keys]
        except TypeError:  # not hashable: the coding refuses it
            values = lists[0]
        except EncodingError as error:
            wrong = next(index for index, key in enumerate(keys) if key not in known)
            raise EncodingError(f"{where(wrong)}: {error}") from None
        return _column(values)

    def _fast(self, cells: Sequence[npt.NDArray[Any]], coding: Coding) -> npt.NDArray[Any] | None:
        """Return the column if its values are decided by few array operations."""
        first = cells[0]
        if len(cells) > 1:
            return self._fast_member(cells, coding)
        if first.dtype.kind == "M" and self.how in _DATES and not np.isnat(first).any():
            whole = first.astype("datetime64[s]")
            return None if self.how == "seconds" and (whole != first).any() else _parts(whole, self.how)
        if first.dtype.kind not in "biuf" or first.dtype.itemsize > 8:
            return None
        if isinstance(coding, OneHot) and self.how != "ranges":
            different, inverse = np.unique(first, return_inverse=True)
            with suppress(EncodingError):  # raised again below, with its row
                return _column([self.value([cell], coding) for cell in different.tolist()])[inverse]
            return None
        gaps = np.isnan(first) if first.dtype.kind == "f" else np.zeros(len(first), bool)
        if self.how != "ranges":
            is_exact = isinstance(self.fill, int | float) and is_float(self.fill)
            filled = np.where(gaps, float(self.fill), first.astype(np.float64)) if is_exact else None
            return filled if gaps.any() else first
        is_known = self.fill is not None or (isinstance(coding, OneHot) and None in coding.categories)
        if not (np.abs(first[~gaps]) < _EXACT).all() or (gaps.any() and not is_known):
            return None
        labels = np.array([*self.labels, self.fill], dtype=object)
        states = np.searchsorted(np.array(self.cuts, np.float64), first, side="right")
        return np.asarray(labels[np.where(gaps, len(labels) - 1, states)])

    def _fast_member(self, cells: Sequence[npt.NDArray[Any]], coding: Coding) -> npt.NDArray[Any] | None:
        if any(cell.dtype.kind not in "biuf" for cell in cells) or not isinstance(coding, OneHot):
            return None
        table = np.stack(cells, axis=1)
        if not (((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all()):
            return None
        categories = np.empty(coding.width, dtype=object)
        categories[:] = coding.categories
        return np.asarray(categories[table.argmax(axis=1)])


@dataclass(frozen=True)
class Columns(ShortRepr):
    """The raw columns of a table, and how each feature is read from them.

    Parameters
    ----------
    names : sequence of str
        Raw columns of the table, in order. Samples with names may lack those that no feature reads.
    features : sequence of Preparation
        One preparation per feature, in the order of the raw columns.

    Raises
    ------
    EncodingError
        If the names are not different, if one begins or ends with a blank, if a feature reads a column that
        does not exist, or if the features are not in the order of their columns.

    Examples
    --------
    >>> columns = Columns(("a_x", "a_y", "b"), (Preparation(("a_x", "a_y"), "one-hot"), Preparation(("b",))))
    >>> codings = OneHot(("x", "y")), Steps((0.5,))
    >>> columns.rows([{"b": 2.5, "a_x": 0, "a_y": 1}, {"a_x": 1, "a_y": 0, "b": 0.5}], ["a", "b"], codings)
    array([['y', 2.5],
           ['x', 0.5]], dtype=object)
    >>> columns.rows([["x", 2.5]], ["a", "b"], codings), columns.rows([[1, 0, 2.5]], ["a", "b"], codings)
    (array([['x', 2.5]], dtype=object), array([['x', 2.5]], dtype=object))

    See Also
    --------
    Preparation : how one feature is read.
    Encoder : codings of all features.
    """

    names: tuple[str, ...]
    features: tuple[Preparation, ...]

    def __post_init__(self) -> None:
        set_fields(self, names=tuple(self.names), features=tuple(self.features))
        for name in self.names:
            see_name(name, "column name", EncodingError)
        index = {name: position for position, name in enumerate(self.names)}
        if len(index) < len(self.names):
            raise EncodingError(f"column names {quoted(self.names)} must be different.")
        read = [column for feature in self.features for column in feature.columns]
        unknown = set(read) - index.keys()
        if unknown:
            raise EncodingError(f"the column {min(unknown)!r} does not exist.")
        starts = [index[feature.columns[0]] for feature in self.features]
        if starts != sorted(starts):
            raise EncodingError("features must be in the order of the columns that they are read from.")

    def check(self, names: Sequence[str], codings: Sequence[Coding]) -> None:
        """Raise an error unless the preparations fit features with these names and codings."""
        if len(self.features) != len(names):
            raise EncodingError(
                f"{len(self.features)} preparations for {len(names)} features. Give one for each."
            )
        raw = set(self.names)
        for name, coding, feature in zip(names, codings, self.features, strict=True):
            if name in raw and feature.columns != (name,):
                raise EncodingError(
                    f"the feature {name!r} has the name of a raw column that it is not. Rename the feature."
                )
            categories = coding.categories if isinstance(coding, OneHot) else ()
            if feature.how == "one-hot" and len(categories) - (None in categories) != len(feature.columns):
                raise EncodingError(
                    f"{name} is read from {len(feature.columns)} columns, but has {len(categories)} "
                    "categories."
                )
            if feature.fill is not None:
                coding.read(np.array([feature.fill], dtype=object), f"fill of {name}")

    def data(self) -> dict[str, Any]:
        """Return the columns as JSON, for files and the page; features refer to raw columns by index."""
        index = {name: position for position, name in enumerate(self.names)}
        features = [
            {
                "columns": [index[column] for column in feature.columns],
                "how": feature.how,
                "fill": feature.fill,
                "cuts": list(feature.cuts),
            }
            for feature in self.features
        ]
        return {"names": list(self.names), "features": features}

    def rows(self, X: Any, names: Sequence[str], codings: Sequence[Coding]) -> npt.NDArray[Any]:
        """Return samples as an array with one row per sample and one column per feature.

        Parameters
        ----------
        X
            Samples as in `Encoder.rows`, given as raw columns, as features, or as some of both with names.
        names, codings
            Names and codings of the features.
        """
        known = labels_of(X)
        sources = self.sources(known, names)
        labels = list(self.names)
        if known is not None:
            read = set(chain.from_iterable(feature.columns for feature in self.features))
            unread = sorted(set(map(str, known)).intersection(self.names) - read)
            labels = list(dict.fromkeys(chain(chain.from_iterable(sources), unread)))
        cells = columns_of(X, labels)
        if cells is None:
            array = rows_of(X, labels)
            if known is None and array.ndim == 2 and array.shape[1] == len(names):
                sources, labels = [(name,) for name in names], list(names)
            if array.ndim != 2 or array.shape[1] != len(labels):
                return array  # the caller says which shapes it reads
            cells = list(array.T)
        by_label = dict(zip(labels, cells, strict=True))
        columns = []
        for name, feature, source, coding in zip(names, self.features, sources, codings, strict=True):
            where = f"{visible(name)}, sample {{}}".format
            columns.append(feature.read([by_label[label] for label in source], coding, where))
        if any(isinstance(coding, OneHot) for coding in codings):  # a category keeps its type beside numbers
            columns = [column.astype(object) for column in columns]
        return joined(columns, len(cells[0]))

    def sources(self, labels: Sequence[Any] | None, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the labels that each feature is read from: its own name if it is there, or raw columns.

        Labels that no feature reads are left to the caller.
        """
        known = set(map(str, labels or ()))
        if labels is not None and len(labels) == len(names) and known.isdisjoint((*names, *self.names)):
            return [(name,) for name in names]  # numbered, as in a frame created without names
        sources = []
        for name, feature in zip(names, self.features, strict=True):
            twice = [column for column in feature.columns if column in known and column != name]
            if twice and name in known:
                raise EncodingError(
                    f"the samples give {name!r} twice: by its own name and by "
                    f"{', '.join(map(repr, twice))}. Leave one out."
                )
            sources.append((name,) if name in known else feature.columns)
        return sources


def _category(cell: Any, coding: OneHot) -> Any:
    """Return the category that a cell denotes; the cell itself if there is none."""
    text = cell.strip() if isinstance(cell, str) else number_text(cell)
    if not isinstance(cell, str) or (text not in coding.by_text and _NUMBER.fullmatch(text)):
        value = read_number(text) if isinstance(cell, str) else cell
        equal = next((category for category in coding.categories if category == value), None)
        if equal is not None:
            return equal
    truth = (text.capitalize(), text.lower(), text.upper()) if text.lower() in ("true", "false") else ()
    return next((coding.by_text[one] for one in (text, *truth) if one in coding.by_text), cell)


def _bit(cell: Any) -> bool | None:
    """Return whether a cell of a one-hot group is on; None if it is neither on nor off."""
    text = number_text(cell).strip().lower() if not isinstance(cell, str) else cell.strip().lower()
    return {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}.get(text)


def _parts(moments: npt.NDArray[np.datetime64], how: str) -> npt.NDArray[np.int64]:
    """Return a part of moments in whole seconds, as integers."""
    unit = {"seconds": "s", "year": "Y", "month": "M"}.get(how, "D")
    counts = moments.astype(f"datetime64[{unit}]").astype(np.int64)
    if how == "year":
        return np.asarray(counts + 1970)
    if how == "month":
        return np.asarray(counts % 12 + 1)
    return np.asarray((counts + 3) % 7 + 1 if how == "weekday" else counts)  # 1970-01-01 was a Thursday


def _column(values: list[Any]) -> npt.NDArray[Any]:
    """Return values as a column: of integers, floats or bools if all of them are, else of objects."""
    kinds = set(map(type, values))
    if kinds in ({float}, {bool}) or (kinds == {int} and max(map(abs, values)) < 1 << 62):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
