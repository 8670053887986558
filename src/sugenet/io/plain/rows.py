"""CSV, row by row: the one reader of all that come as lines of cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from sugenet.errors import FileError

__all__ = ["LINE_LIMIT", "csv_rows", "otherwise_separated"]

LINE_LIMIT = 1 << 22
"""Letters of a line, unless more are expected."""


def csv_rows(
    lines: TextIO, name: str, *, delimiter: str = ",", quotes: bool = True, longest: int = LINE_LIMIT
) -> Iterator[tuple[int, list[str]]]:
    r"""Rows, each with the number of its last line and its cells without the spaces around them.

    Only empty lines are passed over. Rows come one at a time, since a file can be large and wrong early.

    Parameters
    ----------
    lines
        The text, opened with ``newline=""``.
    name
        What it is called in an error.
    delimiter
        What stands between the cells.
    quotes
        Whether a cell may stand in quotation marks.
    longest
        Letters of a line.

    Raises
    ------
    FileError
        With the line, where it is too long or no CSV.

    Examples
    --------
    >>> from io import StringIO
    >>> list(csv_rows(StringIO('a, b\n\n1,"2, 3"\n'), "example"))
    [(1, ['a', 'b']), (3, ['1', '2, 3'])]
    """
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise FileError(f"delimiter={delimiter!r} must be one letter, such as ';'.")

    def bounded() -> Iterator[str]:
        while line := lines.readline(longest + 1):
            if len(line) > longest:
                raise FileError(
                    f"{name}, line {reader.line_num + 1}: it has more than {longest:,} letters. "
                    f"Give one sample a line."
                )
            yield line

    reader = csv.reader(
        bounded(),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise FileError(f"{name}, line {reader.line_num}: it cannot be read as CSV: {error}.") from None


_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


def otherwise_separated(cells: list[str], delimiter: str) -> str:
    r"""What to add to the complaint about a first line that does not fit, where something else stands
    between its cells; nothing where nothing does.

    Examples
    --------
    >>> otherwise_separated(["size;colour"], ",")
    " Its cells have semicolons between them, not commas: say delimiter=';'."
    >>> otherwise_separated(["size", "colour"], ",")
    ''
    """
    text = delimiter.join(cells)
    found = next((sign for sign in _OTHERS if sign != delimiter and sign in text), None)
    if found is None or (found == "," and len(cells) > 1):
        return ""
    wanted = _OTHERS.get(delimiter, repr(delimiter))
    return f" Its cells have {_OTHERS[found]} between them, not {wanted}: say delimiter={found!r}."
