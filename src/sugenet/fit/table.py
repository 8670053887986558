"""CSV readers that report the position of every error.

A file is read into columns of numbers and categories, or into rated alternatives, whose cells are levels or
exact numbers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import NUMBER, read_number
from sugenet.errors import CapacityError, EncodingError, FileError, refuse
from sugenet.fit.capacities import Ratings
from sugenet.fit.columns import ColumnTypes, Missing, RawColumn, RawTable, raw_columns, understood
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.packed import open_archive
from sugenet.io.plain.texts import csv_rows, otherwise_separated, recognized_delimiter
from sugenet.nn.columns import is_gap
from sugenet.reading import open_text, read_file

__all__ = [
    "CellRows",
    "FileColumns",
    "RatedTable",
    "Table",
    "called",
    "read_arrays",
    "read_cases",
    "read_cells",
    "read_columns",
    "read_ratings",
    "read_table",
    "refuse_missing",
    "refuse_unnamed",
    "typed_column",
    "understand",
]

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER = re.compile(rf"(?!.*/){NUMBER}")
"""Fractions are read as names, like dates."""
_WITH_COMMAS = re.compile(r"[+-]?\d[\d,.]*,[\d,.]*\d([eE][+-]?\d+)?")
_MOST_CLASSES = 100
_UNPACKED = 1 << 30
_ZEROS = re.compile(r"0[0-9]+$")
"""Codes such as 00123, which are not numbers."""
_MOSTLY = 0.9  # a column with this share of numbers was meant to be numeric


@dataclass(frozen=True, eq=False)
class Table:
    """The samples of a file: `X` for `train`, with class indices `y` and the names of both."""

    X: npt.NDArray[Any]
    """One column per name, of dtype object with bool, int, float or str, and None for gaps; for a ``.npz``
    file the numbers as stored."""
    y: npt.NDArray[np.int64]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kind of each column, see `ColumnType.kind`."""
    classes: tuple[str, ...]
    weights: tuple[Fraction, ...] | None = None
    """The weight of each sample, if a column holds them; samples of weight 0 are left out."""
    columns: ColumnTypes | None = None
    """The columns as they were understood; None for a ``.npz`` file."""
    delimiter: str | None = None
    """The separator between the cells of the file."""

    @property
    def samples(self) -> Any:
        """The samples for `train`: with the names of the columns, if the file has names."""
        if self.columns is None:
            return self.X
        return RawTable(RawColumn(name, self.X[:, i]) for i, name in enumerate(self.names))

    def __str__(self) -> str:
        counts = [f"{self.kinds.count(kind)} {kind}" for kind in dict.fromkeys(self.kinds)]
        return (
            f"{len(self.y)} samples of {len(self.names)} columns ({', '.join(counts)}), "
            f"classes {', '.join(self.classes)}"
        )


def read_table(
    path: str | Path,
    target: str,
    *,
    weights: str | None = None,
    ignore: Iterable[str] = (),
    delimiter: str | None = None,
    types: Mapping[str, str] | None = None,
    missing: Missing = "refuse",
) -> Table:
    r"""Read a CSV file whose first line names the columns.

    The values of a column decide its kind, see `understand`. Nothing else is guessed: a stray text in a
    column of numbers, a decimal comma or a line of the wrong length raises an error with its position.

    Parameters
    ----------
    path
        The file, UTF-8; also compressed by gzip, as ``.csv.gz``.
    target
        The column that holds the classes.
    weights
        The column with the weight of each row. Rows of weight 0 are left out.
    ignore
        Columns to leave out, such as identifiers.
    delimiter
        The separator between cells. None: a comma, semicolon, tab or bar, if only one of them separates the
        names in the first line.
    types
        Types of columns by name, instead of those found.
    missing
        ``"refuse"`` gaps; ``"category"`` and ``"impute"`` accept them, as in `train`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fruit.csv"
    ...     _ = file.write_text("weight,colour,fruit\n150,red,apple\n120.5,yellow,banana\n140,green,apple\n")
    ...     table = read_table(file, target="fruit")
    >>> print(table)
    3 samples of 2 columns (1 number, 1 category), classes apple, banana
    """
    file = Path(path)
    raw, cells, sign, counts = read_columns(
        file, target, weights=weights, ignore=ignore, delimiter=delimiter, types=types
    )
    if not raw:
        raise EncodingError(f"{called(file)} has no column besides the target {target!r}.")
    try:
        columns = understood(raw, types, missing)
        columns.check()
    except EncodingError as error:
        raise EncodingError(f"{called(file)}: {error}") from None
    y, classes = _classes(file, target, cells)
    X = np.stack([column.values for column in raw], axis=1)
    kind = {name: one.kind for one in columns.columns for name in one.columns}
    names = tuple(column.name for column in raw)
    return Table(X, y, names, tuple(kind[name] for name in names), classes, counts, columns, sign)


class FileColumns(NamedTuple):
    """The columns of a CSV file, the cells of its target, its delimiter, and the weights of its rows."""

    columns: list[RawColumn]
    classes: list[str]
    delimiter: str
    weights: tuple[Fraction, ...] | None


def read_columns(
    path: str | Path,
    target: str | None = None,
    *,
    weights: str | None = None,
    ignore: Iterable[str] = (),
    delimiter: str | None = None,
    types: Mapping[str, str] | None = None,
) -> FileColumns:
    """Read the columns of a CSV file without the target and the weights. Rows of weight 0 are left out.

    The parameters are those of `read_table`.
    """
    file, skip = Path(path), set(ignore)
    special = _special((target, weights), skip)
    header, rows, sign = read_cells(file, delimiter, [*special, *sorted(skip)])
    counts = _weights(file, header, rows, weights)
    if counts is not None:
        rows = [row for row, count in zip(rows, counts, strict=True) if count]
        counts = tuple(filter(None, counts))
        if not rows:
            raise EncodingError(f"{called(file)}: the column {weights!r} is zero in every row.")
    used = [index for index, name in enumerate(header) if name not in skip and name not in special]
    refuse_unnamed(file, header, used)
    hint = "Classes and weights are needed in every line: fill them in, or remove the lines"
    refuse_missing(file, header, rows, [header.index(name) for name in special], hint)
    columns = []
    for index in used:
        values = np.empty(len(rows), dtype=object)
        cells = [(line, row[index]) for line, row in rows]
        values[:] = _values(file, header[index], cells, is_free=header[index] in (types or {}))
        columns.append(RawColumn(header[index], values))
    classes = [] if target is None else [row[header.index(target)] for _, row in rows]
    return FileColumns(columns, classes, sign, counts)


def _values(file: Path, name: str, cells: list[tuple[int, str]], *, is_free: bool) -> list[Any]:
    """Return the cells of a column as booleans, integers, numbers or texts, and None for gaps.

    Stray texts among numbers raise an error, unless the column `is_free` to have any.
    """
    present = [(line, cell) for line, cell in cells if not is_gap(cell)]
    texts = [cell for _, cell in present]
    if set(texts) <= {"True", "False"}:
        values: Iterable[Any] = [text == "True" for text in texts]
    elif any(_ZEROS.match(text) for text in texts) or (is_free and not all(map(_NUMBER.fullmatch, texts))):
        values = texts
    else:
        _, values = typed_column(file, name, present)
    following = iter(values)
    return [None if is_gap(cell) else next(following) for _, cell in cells]


def understand(
    table: Any,
    *,
    target: str | None = None,
    names: Iterable[object] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Missing = "refuse",
) -> ColumnTypes:
    """Find the kind of each column of a table.

    Parameters
    ----------
    table : data frame, array, rows, str or Path
        A data frame of pandas, polars or Arrow, an array, rows of values, or the path of a CSV file.
    target : str, default: None
        Column with the classes, which is left out.
    names : iterable, default: None
        Names of the columns. None: those of the table.
    types : mapping, default: None
        Types of columns by name, instead of those found: ``"bool"``, ``"whole"``, ``"number"``,
        ``"category"``, ``"days"``, ``"seconds"``, ``"year"``, ``"month"``, ``"weekday"`` or ``"ignore"``.
        Several parts of a date are joined by ``+``: ``"year+month"``.
    missing : str, default: "refuse"
        ``"refuse"`` gaps, give them a ``"category"`` of their own, or ``"impute"`` the median or the most
        frequent value.

    Returns
    -------
    ColumnTypes
        One entry per column, or per group of one-hot columns. It prints as a table.

    Raises
    ------
    EncodingError
        If a given type does not fit the values of its column.

    Examples
    --------
    >>> rows = [[age, city, age % 2 == 0] for age, city in zip(range(20, 24), ["Rome", "Oslo"] * 2)]
    >>> print(understand(rows, names=["age", "city", "member"]))
    4 rows, 3 columns
    column  kind      gaps  why
    age     whole        0  4 integers from 20 to 23
    city    category     0  2 texts: Oslo, Rome
    member  bool         0  True and False
    To say otherwise: types={'COLUMN': 'TYPE'}. The types are bool, whole, number, category, days, seconds,
    year, month, weekday, ignore.
    """
    if isinstance(table, str | Path):
        refuse(EncodingError, (names is not None, "names= is for tables without names. Leave it out."))
        return understood(read_columns(table, target, types=types).columns, types, missing)
    return understood(raw_columns(table, names, target), types, missing)


def read_arrays(path: str | Path) -> Table:
    """Read samples ``X`` and their classes ``y`` from a ``.npz`` file.

    Samples of several axes, such as images, are flattened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "images.npz"
    ...     np.savez(file, X=np.zeros((3, 8, 8), np.uint8), y=["cat", "dog", "cat"])
    ...     print(read_arrays(file))
    3 samples of 64 columns (64 whole), classes cat, dog
    """
    file = Path(path)
    try:
        with open_archive(file, _UNPACKED) as archive:
            missing = next((name for name in "Xy" if name not in archive.names), None)
            if missing is not None:
                raise FileError(
                    f"it has no array {missing}, only {', '.join(archive.names)[:200] or 'none'}. Call the "
                    "samples X and their classes y."
                )
            X, y = archive.read("X"), archive.read("y", "biuU", "classes are integers or names")
    except (OSError, FileError) as error:
        raise EncodingError(f"{called(file)} cannot be read: {error}") from None
    if X.ndim < 2 or y.shape != X.shape[:1] or not X.size:
        raise EncodingError(
            f"{called(file)}: X has shape {X.shape} and y {y.shape}, but one sample and one class in "
            "each row are needed."
        )
    X = X.reshape(len(X), -1)
    labels, classes = _classes(file, "y", [str(kind) for kind in y.tolist()])
    kind = "number" if X.dtype.kind == "f" else "whole"
    names = tuple(f"x{index}" for index in range(1, X.shape[1] + 1))
    return Table(X, labels, names, (kind,) * len(names), classes)


CellRows = list[tuple[int, list[str]]]
"""The line number in the file, and the cells of the line."""


def called(file: Path) -> str:
    """Return the name of a file in an error message."""
    return file.name or str(file)  # the folder "." has no name


def read_cells(file: Path, delimiter: str | None, wanted: list[str]) -> tuple[list[str], CellRows, str]:
    """Return the names of the columns, the rows and the delimiter, which is recognized if it is None.

    The names are checked at once, and each row when it is read, since a file can be large.
    """
    header: list[str] | None = None
    rows: CellRows = []
    try:
        with _opened(file) as stream:
            if delimiter is None:
                delimiter = recognized_delimiter(stream, lambda cells: set(wanted) <= set(cells))
            for line, cells in csv_rows(stream, called(file), delimiter=delimiter):
                if header is None:
                    header = cells
                    _check_header(file, header, wanted, delimiter)
                elif len(cells) != len(header):
                    raise EncodingError(
                        f"{called(file)}, line {line}: {len(cells)} cells, "
                        f"but the first line names {len(header)} columns."
                    )
                else:
                    rows.append((line, cells))
    except IsADirectoryError:
        raise EncodingError(f"{called(file)} is a folder. A CSV file in UTF-8 is needed.") from None
    except FileError as error:
        where = "" if str(error).startswith(called(file)) else f"{called(file)}: "
        raise EncodingError(f"{where}{error} A CSV file in UTF-8 is needed.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EncodingError(
            f"{called(file)} cannot be read: {error}. A CSV file in UTF-8 is needed."
        ) from error
    if header is None or not rows:
        what = "is empty" if header is None else "has a line of names and no samples below it"
        raise EncodingError(
            f"{called(file)} {what}. A line of column names and one for each sample are needed."
        )
    assert delimiter is not None
    return header, rows, delimiter


def _opened(file: Path) -> TextIO:
    if file.suffix.lower() != ".gz":
        return open_text(file, _UNPACKED)
    raw = unzipped(read_file(file, _UNPACKED), _UNPACKED)
    return TextIOWrapper(BytesIO(raw), encoding="utf-8-sig", newline="")


def _check_header(file: Path, header: list[str], wanted: list[str], delimiter: str) -> None:
    doubled, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise EncodingError(
            f"{called(file)}: the column name {doubled!r} occurs twice in the first line. Give each its own."
        )
    for name in wanted:
        if name not in header:
            near = get_close_matches(name, header[:1000], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            parts = [part.strip() for part in name.split(",")]
            if len(parts) > 1 and set(parts) <= set(header):
                hint = f" Name one at a time: {' '.join(f'ignore={part!r}' for part in parts)}."
            raise EncodingError(
                f"{called(file)} has no column {name!r}.{hint} The columns are {', '.join(header[:20])}."
                f"{otherwise_separated(header, delimiter, lambda cells: set(wanted) <= set(cells))}"
            )


def refuse_unnamed(file: Path, header: list[str], indices: list[int]) -> None:
    """Raise `EncodingError` if one of these columns has no name."""
    unnamed = next((index for index in indices if not header[index]), None)
    if unnamed is not None:
        raise EncodingError(
            f"{called(file)}: column {unnamed + 1} has no name in the first line. Name it, or leave it out "
            "with ignore=''. pandas writes the row index there, unless index=False."
        )


def refuse_missing(
    file: Path,
    header: list[str],
    rows: CellRows,
    indices: list[int],
    hint: str = "Fill it in, remove the line, or leave the column out with ignore=",
) -> None:
    """Raise `EncodingError` with the position of a missing value in one of these columns."""
    for line, cells in rows:
        for index in indices:
            if is_gap(cells[index]):
                n_more = sum(is_gap(other[index]) for _, other in rows) - 1
                raise EncodingError(
                    f"{called(file)}, line {line}, column {header[index]!r}: the value is missing "
                    f"({cells[index]!r}){f', and in {n_more:,} further lines' if n_more else ''}. "
                    f"{hint}: nothing is guessed."
                )


def typed_column(file: Path, name: str, cells: list[tuple[int, str]]) -> tuple[str, list[Any]]:
    """Return the kind of a column, and its values: integers, numbers or texts."""
    texts = [cell for _, cell in cells]
    if all(_WHOLE.fullmatch(text) for text in texts):
        return "whole", [int(text) for text in texts]
    numeric = [_NUMBER.fullmatch(text) is not None for text in texts]
    if all(numeric):
        return "number", [_number(file, name, line, text) for line, text in cells]
    if sum(numeric) >= _MOSTLY * len(texts):
        line, text = cells[numeric.index(False)]
        raise EncodingError(
            f"{called(file)}, line {line}, column {name!r}: {text!r} is not a number, "
            f"as most of the column is."
        )
    commas = [_WITH_COMMAS.fullmatch(text) is not None for text in texts]
    if any(commas) and sum(numeric) + sum(commas) >= _MOSTLY * len(texts):
        line, text = cells[commas.index(True)]
        raise EncodingError(
            f"{called(file)}, line {line}, column {name!r}: {text!r} reads like a number with a comma in it. "
            "Write decimals with a point and without a thousands separator, or leave the column out with "
            "ignore=: nothing is guessed."
        )
    return "category", texts


def _number(file: Path, name: str, line: int, text: str) -> float:
    try:
        return float(read_number(text))
    except (CapacityError, OverflowError):
        raise EncodingError(
            f"{called(file)}, line {line}, column {name!r}: {text[:60]!r} is beyond all floats."
        ) from None


def _classes(file: Path, target: str, cells: list[str]) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    numbers = all(_NUMBER.fullmatch(cell) for cell in cells)
    classes = sorted(set(cells), key=(lambda cell: (float(cell), cell)) if numbers else None)
    if not 2 <= len(classes) <= _MOST_CLASSES:
        raise EncodingError(
            f"{called(file)}: the target {target!r} has {len(classes)} different values, but 2 to "
            f"{_MOST_CLASSES} classes are needed. Choose another column, or group its values into classes."
        )
    index = {name: number for number, name in enumerate(classes)}
    return np.array([index[cell] for cell in cells], dtype=np.int64), tuple(classes)


_RATING = re.compile(
    r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][+-]?\d{1,2})?|\d{1,18}/0*[1-9]\d{0,17}", re.ASCII
)
"""Ratings are exact decimals, so that the midpoint of 0.3 and 0.4 is 0.35."""


@dataclass(frozen=True, eq=False)
class RatedTable:
    """The rows of a file: one cell per criterion, and the rating of each row if there is one."""

    file: str
    criteria: tuple[str, ...]
    lines: tuple[int, ...]
    """Line numbers in the file, from 1."""
    names: tuple[str, ...] | None
    """Names of the rows, if a column holds them."""
    cells: tuple[tuple[str, ...], ...]
    target: str | None
    grades: tuple[str, ...] | None
    weights: tuple[Fraction, ...] | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each row in sentences: its line in the file, and its name."""
        if self.names is None:
            return tuple(f"line {line}" for line in self.lines)
        return tuple(f"line {line} ({name})" for line, name in zip(self.lines, self.names, strict=True))

    def ratings(self, order: Sequence[str] | None = None) -> Ratings:
        """Return the rows as ratings on one scale: levels in this order, worst first, or numbers in [0,
        1].
        """
        if self.grades is None or self.target is None:
            raise EncodingError(f"{self.file}: no column holds ratings. Name it: target=...")
        rated = [self._value(row, self.target, cell, order) for row, cell in enumerate(self.grades)]
        return Ratings(self.values(order), rated, order, self.criteria, self.weights, self.labels)

    def values(self, order: Sequence[str] | None = None) -> npt.NDArray[Any]:
        """Return the cells of the criteria on that scale, one row per sample."""
        rows = [
            [self._value(row, name, cell, order) for name, cell in zip(self.criteria, cells, strict=True)]
            for row, cells in enumerate(self.cells)
        ]
        return np.array(rows, dtype=object)

    def columns(self, orders: Mapping[str, Sequence[str]]) -> npt.NDArray[Any]:
        """Return the cells as estimators read them: texts if a column has an order, else floats."""
        columns = [
            self._column(name, list(texts), orders.get(name))
            for name, texts in zip(self.criteria, zip(*self.cells, strict=True), strict=True)
        ]
        return np.array(columns, dtype=object).T

    def targets(self, order: Sequence[str] | None) -> npt.NDArray[Any]:
        """Return the ratings in the same form."""
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
        if not _RATING.fullmatch(text):
            raise EncodingError(
                f"{where} is not a number. Give the names of the levels, worst first: order='bad<ok<good'."
            )
        number = Fraction(text)
        if not 0 <= number <= 1:
            raise EncodingError(
                f"{where} is not from 0 to 1. Give the levels, worst first, such as order='1<2<3'. If "
                "columns have their own scales, terms=1 learns the worth of their values."
            )
        return number.numerator if number.denominator == 1 else number

    def _level(self, row: int, name: str, text: str, order: Sequence[str]) -> str:
        if text in order:
            return text
        near = get_close_matches(text, order, n=1)
        hint = (
            f" Did you mean {near[0]!r}?"
            if near
            else f" If it names the rows, give name={name!r}. If columns have their own scales, "
            "terms=1 learns the worth of their values."
        )
        levels = " < ".join(order) if len(order) <= 12 else f"{order[0]} < ... < {order[-1]}"
        raise EncodingError(
            f"{self.file}, line {self.lines[row]}, column {name!r}: {text!r} is not one of {levels}.{hint}"
        )


def read_ratings(
    path: str | Path,
    target: str,
    *,
    name: str | None = None,
    weights: str | None = None,
    ignore: Iterable[str] = (),
    delimiter: str | None = None,
) -> RatedTable:
    r"""Read rated alternatives from a CSV file whose first line names the columns.

    Parameters
    ----------
    path
        The file, UTF-8; also compressed by gzip, as ``.csv.gz``.
    target
        The column of the overall ratings; all columns that are not named here are criteria.
    name
        The column with the name of each row.
    weights
        The column with the weight of each row.
    ignore
        Columns to leave out.
    delimiter
        The separator between cells. None: recognized, as in `read_table`.

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
    special = _special((target, name, weights), skip)
    header, rows, _ = read_cells(file, delimiter, [*special, *sorted(skip)])
    used = [index for index, column in enumerate(header) if column not in skip and column not in special]
    return _rated(file, header, rows, used, target=target, name=name, weights=weights)


def read_cases(
    path: str | Path,
    criteria: Sequence[str],
    *,
    name: str | None = None,
    spare: Iterable[str] = (),
    delimiter: str | None = None,
) -> RatedTable:
    """Read alternatives that have no rating yet: the same criteria, in any order.

    Parameters
    ----------
    path
        The file.
    criteria
        The required columns.
    name
        The column with the name of each row, if the file has it.
    spare
        Further columns that are allowed, and ignored.
    delimiter
        The separator between cells. None: recognized, as in `read_table`.
    """
    file, known = Path(path), {*criteria, *spare, *([] if name is None else [name])}
    header, rows, _ = read_cells(file, delimiter, list(criteria))
    strange = next((column for column in header if column not in known), None)
    if strange is not None:
        raise EncodingError(
            f"{called(file)}: the column {strange!r} is not a criterion. "
            f"The criteria are {', '.join(criteria)}. "
            f"Leave it out of both files with ignore={strange!r}, or remove it."
        )
    used = [header.index(column) for column in criteria]
    return _rated(file, header, rows, used, name=name if name in header else None)


def _rated(
    file: Path,
    header: list[str],
    rows: list[tuple[int, list[str]]],
    used: list[int],
    target: str | None = None,
    name: str | None = None,
    weights: str | None = None,
) -> RatedTable:
    if not used:
        raise EncodingError(f"{called(file)} has no column that is a criterion.")
    refuse_unnamed(file, header, used)
    needed = [header.index(column) for column in (target, weights) if column is not None]
    refuse_missing(file, header, rows, [*used, *needed])

    def column(title: str | None) -> tuple[str, ...] | None:
        return None if title is None else tuple(cells[header.index(title)] for _, cells in rows)

    return RatedTable(
        called(file),
        tuple(header[index] for index in used),
        tuple(line for line, _ in rows),
        column(name),
        tuple(tuple(cells[index] for index in used) for _, cells in rows),
        target,
        column(target),
        _weights(file, header, rows, weights),
    )


def _special(columns: Iterable[str | None], skip: set[str]) -> list[str]:
    """Return the columns that have a purpose of their own; raise an error if one has two."""
    special = [column for column in columns if column is not None]
    twice = next((column for column in special if special.count(column) > 1 or column in skip), None)
    if twice is not None:
        raise EncodingError(f"the column {twice!r} is named for two things. Give each its own.")
    return special


def _weights(file: Path, header: list[str], rows: CellRows, name: str | None) -> tuple[Fraction, ...] | None:
    if name is None:
        return None
    return tuple(_weight(file, line, name, cells[header.index(name)]) for line, cells in rows)


def _weight(file: Path, line: int, name: str, text: str) -> Fraction:
    if not _RATING.fullmatch(text) or Fraction(text) < 0:
        raise EncodingError(
            f"{called(file)}, line {line}, column {name!r}: {text!r} is not a weight. "
            "Give a number of at least 0."
        )
    return Fraction(text)
