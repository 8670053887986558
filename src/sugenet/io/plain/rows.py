"""Read CSV row by row; the only reader of lines of cells."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import TextIO

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if

__all__ = ["LINE_LIMIT", "SEPARATORS", "csv_rows", "otherwise_separated", "recognized_delimiter"]

LINE_LIMIT = 1 << 22
"""Maximum number of characters of a line (default)."""


def csv_rows(
    lines: TextIO, name: str, *, delimiter: str = ",", quotes: bool = True, longest: int = LINE_LIMIT
) -> Iterator[tuple[int, list[str]]]:
    r"""Yield rows, each with the number of its last line and its stripped cells.

    Empty lines are skipped. Rows are read one at a time, since a large file can be wrong early.

    Parameters
    ----------
    lines
        The text, opened with ``newline=""``.
    name
        Name of the text in errors.
    delimiter
        The separator of cells.
    quotes
        Whether cells may be quoted.
    longest
        Maximum number of characters of a line.

    Raises
    ------
    FileError
        If a line is too long or is not CSV; the message has the line number.

    Examples
    --------
    >>> from io import StringIO
    >>> list(csv_rows(StringIO('a, b\n\n1,"2, 3"\n'), "example"))
    [(1, ['a', 'b']), (3, ['1', '2, 3'])]
    """
    refuse_if(
        len(delimiter) != 1 or delimiter in '\r\n"',
        f"delimiter={delimiter!r} must be one character, such as ';'.",
    )

    def bounded() -> Iterator[str]:
        while line := lines.readline(longest + 1):
            if len(line) > longest:
                raise FileError(
                    f"{name}, line {reader.line_num + 1}: it has more than {longest:,} characters. "
                    f"Give one sample per line."
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


SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
"""Signs between cells, and their names."""


def otherwise_separated(cells: list[str], delimiter: str, fits: Callable[[list[str]], bool]) -> str:
    r"""Return a hint about another delimiter, for the error about a first line that does not fit.

    It is empty unless the line fits with that delimiter, since names may contain one, too.

    Examples
    --------
    >>> otherwise_separated(["size;colour"], ",", lambda cells: "size" in cells)
    " Its cells have semicolons between them, not commas: say delimiter=';'."
    >>> otherwise_separated(["size;cm", "colour"], ",", lambda cells: "weight" in cells)
    ''
    """
    text = delimiter.join(cells)
    others = {sign: [cell.strip() for cell in text.split(sign)] for sign in SEPARATORS if sign in text}
    separator = next((sign for sign, split in others.items() if sign != delimiter and fits(split)), None)
    if separator is None:
        return ""
    wanted = SEPARATORS.get(delimiter, repr(delimiter))
    return f" Its cells have {SEPARATORS[separator]} between them, not {wanted}: say delimiter={separator!r}."


def recognized_delimiter(lines: TextIO, fits: Callable[[list[str]], bool]) -> str:
    r"""Return the only sign that splits the first line into several cells that fit; else a comma.

    Examples
    --------
    >>> from io import StringIO
    >>> recognized_delimiter(StringIO("size;colour, dark\n1,5;2\n"), lambda cells: "size" in cells)
    ';'
    >>> recognized_delimiter(StringIO("size;colour,dark\n"), lambda cells: True)
    ','
    """
    first = next((line for line in iter(lambda: lines.readline(LINE_LIMIT), "") if line.strip()), "")
    lines.seek(0)
    try:
        splits = {sign: next(csv.reader([first], delimiter=sign), []) for sign in SEPARATORS}
    except csv.Error:  # which reading the rows reports
        return ","
    fitting = [
        sign for sign, cells in splits.items() if len(cells) > 1 and fits([cell.strip() for cell in cells])
    ]
    return fitting[0] if len(fitting) == 1 else ","
