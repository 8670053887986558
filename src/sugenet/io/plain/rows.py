"""CSV, row by row: the one reader of all that come as lines of cells."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import TextIO

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if

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
    refuse_if(
        len(delimiter) != 1 or delimiter in '\r\n"',
        f"delimiter={delimiter!r} must be one letter, such as ';'.",
    )

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


def otherwise_separated(cells: list[str], delimiter: str, fits: Callable[[list[str]], bool]) -> str:
    r"""What to add to the complaint about a first line that does not fit: another sign, if the line fits when
    that stands between its cells; else nothing, since names may hold such a sign too.

    Examples
    --------
    >>> otherwise_separated(["size;colour"], ",", lambda cells: "size" in cells)
    " Its cells have semicolons between them, not commas: say delimiter=';'."
    >>> otherwise_separated(["size;cm", "colour"], ",", lambda cells: "weight" in cells)
    ''
    """
    text = delimiter.join(cells)
    others = {sign: [cell.strip() for cell in text.split(sign)] for sign in _OTHERS if sign in text}
    separator = next((sign for sign, split in others.items() if sign != delimiter and fits(split)), None)
    if separator is None:
        return ""
    wanted = _OTHERS.get(delimiter, repr(delimiter))
    return f" Its cells have {_OTHERS[separator]} between them, not {wanted}: say delimiter={separator!r}."
