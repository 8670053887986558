"""Reading CSV files into columns of numbers and categories, with the place of whatever is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import NUMBER, read_number
from sugenet.errors import CapacityError, EncodingError, FileError
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.packed import open_archive
from sugenet.io.plain.rows import csv_rows, otherwise_separated
from sugenet.reading import open_text, read_file

__all__ = [
    "CellRows",
    "Table",
    "called",
    "read_arrays",
    "read_cells",
    "read_table",
    "refuse_missing",
    "refuse_unnamed",
    "typed_column",
]

_MISSING = {"", "?", "na", "n/a", "nan", "null"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(rf"(?!.*/){NUMBER}")
"""Fractions are names, as dates are."""
_WITH_COMMAS = re.compile(r"[+-]?\d[\d,.]*,[\d,.]*\d([eE][+-]?\d+)?")
_MOST_CLASSES = 100
_UNPACKED = 1 << 30
_MOSTLY = 0.9  # a column with this share of numbers was meant to be numeric


@dataclass(frozen=True, eq=False)
class Table:
    """The samples of a file: `X` for `train`, with class numbers `y` and the words for both."""

    X: npt.NDArray[Any]
    """A column a feature: of objects, int, float or str; of a ``.npz`` file the numbers as they are."""
    y: npt.NDArray[np.int64]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """``"whole"``, ``"number"`` or ``"category"`` for each feature."""
    classes: tuple[str, ...]

    def __str__(self) -> str:
        counts = [
            f"{self.kinds.count(kind)} {kind}"
            for kind in ("whole", "number", "category")
            if kind in self.kinds
        ]
        return (
            f"{len(self.y)} samples of {len(self.names)} features ({', '.join(counts)}), "
            f"classes {', '.join(self.classes)}"
        )


def read_table(path: str | Path, target: str, *, ignore: Iterable[str] = (), delimiter: str = ",") -> Table:
    r"""Read a CSV file whose first line names the columns.

    A column of whole numbers, or of numbers, is numeric; any other is a category. Nothing is guessed: a
    missing value, a stray text in a numeric column or a line of the wrong length is refused, with its place.

    Parameters
    ----------
    path
        The file, UTF-8; also packed by gzip, as ``.csv.gz``.
    target
        The column that holds the classes.
    ignore
        Columns to leave out, such as identifiers.
    delimiter
        What stands between the cells.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fruit.csv"
    ...     _ = file.write_text("weight,colour,fruit\n150,red,apple\n120.5,yellow,banana\n140,green,apple\n")
    ...     table = read_table(file, target="fruit")
    >>> print(table)
    3 samples of 2 features (1 number, 1 category), classes apple, banana
    """
    file, skip = Path(path), set(ignore)
    header, rows = read_cells(file, delimiter, [target, *sorted(skip)])
    used = [place for place, name in enumerate(header) if name not in skip and name != target]
    refuse_unnamed(file, header, used)
    if not used:
        raise EncodingError(f"{called(file)} has no column besides the target {target!r}.")
    refuse_missing(file, header, rows, [*used, header.index(target)])
    X, kinds = np.empty((len(rows), len(used)), dtype=object), []
    for column, place in enumerate(used):
        kind, values = typed_column(file, header[place], [(line, cells[place]) for line, cells in rows])
        X[:, column] = values
        kinds.append(kind)
    y, classes = _classes(file, target, [cells[header.index(target)] for _, cells in rows])
    return Table(X, y, tuple(header[place] for place in used), tuple(kinds), classes)


def read_arrays(path: str | Path) -> Table:
    """Read samples ``X`` and their classes ``y`` from a ``.npz`` file; samples of several axes, such as
    images, are laid flat.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "images.npz"
    ...     np.savez(file, X=np.zeros((3, 8, 8), np.uint8), y=["cat", "dog", "cat"])
    ...     print(read_arrays(file))
    3 samples of 64 features (64 whole), classes cat, dog
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
            X, y = archive.read("X"), archive.read("y", "biuU", "classes are whole numbers or names")
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
    names = tuple(f"x{place}" for place in range(1, X.shape[1] + 1))
    return Table(X, labels, names, (kind,) * len(names), classes)


CellRows = list[tuple[int, list[str]]]
"""The number of the line in the file, and its cells."""


def called(file: Path) -> str:
    """What a file is called in an error."""
    return file.name or str(file)  # the folder "." has no name


def read_cells(file: Path, delimiter: str, wanted: list[str]) -> tuple[list[str], CellRows]:
    """The names of the columns and the rows; the names are looked at first, and every row as it comes, since
    a file can be large.
    """
    header: list[str] | None = None
    rows: CellRows = []
    try:
        with _opened(file) as stream:
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
    return header, rows


def _opened(file: Path) -> TextIO:
    if file.suffix.lower() != ".gz":
        return open_text(file, _UNPACKED)
    raw = unzipped(read_file(file, _UNPACKED), _UNPACKED)
    return TextIOWrapper(BytesIO(raw), encoding="utf-8-sig", newline="")


def _check_header(file: Path, header: list[str], wanted: list[str], delimiter: str) -> None:
    doubled, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise EncodingError(
            f"{called(file)}: the column name {doubled!r} stands twice in the first line. Give each its own."
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


def refuse_unnamed(file: Path, header: list[str], places: list[int]) -> None:
    """Raise `EncodingError` where one of these columns has no name."""
    unnamed = next((place for place in places if not header[place]), None)
    if unnamed is not None:
        raise EncodingError(
            f"{called(file)}: column {unnamed + 1} has no name in the first line. Name it, or leave it out "
            "with ignore='': what pandas writes there are the numbers of the rows, unless index=False."
        )


def refuse_missing(file: Path, header: list[str], rows: CellRows, places: list[int]) -> None:
    """Raise `EncodingError` with the place of a missing value in one of these columns."""
    for line, cells in rows:
        for place in places:
            if cells[place].lower() in _MISSING:
                raise EncodingError(
                    f"{called(file)}, line {line}, column {header[place]!r}: the value is missing "
                    f"({cells[place]!r}). Fill it in, remove the line, or leave the column out with ignore=: "
                    "nothing is guessed."
                )


def typed_column(file: Path, name: str, cells: list[tuple[int, str]]) -> tuple[str, list[Any]]:
    """The kind of a column, and its values: whole numbers, numbers, or texts."""
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
            "Write decimals with a point and nothing between thousands, or leave the column out with "
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
    place = {name: number for number, name in enumerate(classes)}
    return np.array([place[cell] for cell in cells], dtype=np.int64), tuple(classes)
