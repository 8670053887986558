"""Read text: strict JSON from a file, CSV row by row, and standard input as UTF-8."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

from sugenet.errors import FileError
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.refusals import expected, refuse_if
from sugenet.reading import read_file

__all__ = [
    "LINE_LIMIT",
    "SEPARATORS",
    "csv_rows",
    "otherwise_separated",
    "read_json",
    "read_standard_input",
    "recognized_delimiter",
    "strict_json",
]

_DIGITS = 4300
"""Maximum number of digits of an integer; longer ones take disproportionately long to read."""


def strict_json(text: str) -> Any:
    """Read JSON; raise `ValueError` with a description if a lenient reader would have to guess.

    Deep nesting raises `RecursionError`.

    Examples
    --------
    >>> strict_json('{"n": [3, 0.5]}')
    {'n': [3, 0.5]}
    >>> strict_json('{"n": 3, "n": 4}')
    Traceback (most recent call last):
    ValueError: the key 'n' stands twice
    """
    return json.loads(
        text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_short
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(pairs)
    if len(known) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} stands twice")
    return known


def _refuse(number: str) -> Any:
    raise ValueError(f"{number[:80]} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _short(number: str) -> int:
    if len(number) > _DIGITS:
        raise ValueError(f"a number has too many digits, more than {_DIGITS:,}")
    return int(number)


SIZE_LIMIT, MEMORY_LIMIT = 1 << 28, 1 << 29
_TAKEN = {"{": 200, "[": 64, ",": 40, '"': 32}
"""Upper bound on the bytes of memory per JSON character."""


def read_json(path: str | Path, memory: int = MEMORY_LIMIT) -> dict[str, Any]:
    """Read a JSON object from a file, optionally compressed with gzip, or from standard input (``-``).

    It may take at most `memory` bytes. Reading is strict: no repeated keys, no NaN.
    """
    name = "standard input" if str(path) == "-" else str(path)
    limit = min(memory // 2, SIZE_LIMIT)
    try:
        if str(path) == "-":
            text = read_standard_input("JSON", limit)
        else:
            text = unzipped(read_file(path, limit), limit).decode("utf-8")
        refuse_if(
            2 * len(text) + sum(size * text.count(sign) for sign, size in _TAKEN.items()) > memory,
            f"{name} holds more parts than fit into {memory:,} bytes of memory.",
        )
        data = strict_json(text)
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
    except RecursionError:
        raise FileError(f"{name} is not a JSON file: it is nested too deeply.") from None
    except FileError as error:
        raise error if str(error).startswith(name) else FileError(f"{name}: {error}") from None
    except ValueError as error:
        raise FileError(f"{name} is not a JSON file: {error}.") from None
    return expected(data, dict, f"{name} holds {type(data).__name__}, but a JSON object is needed.")


def read_standard_input(kind: str, limit: int) -> str:
    """Read standard input as UTF-8, like files, regardless of the locale; `kind` is the expected content."""
    stream = sys.stdin
    try:
        if stream is None:
            raise ValueError
        raw = getattr(stream, "buffer", stream).read(limit + 1)
        if len(raw) > limit:
            raise FileError(f"standard input has more than {limit:,} characters. Split it.")
        text: str = raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"standard input is not UTF-8 text: byte {error.start} is wrong. Give {kind}."
        ) from None
    except FileError:
        raise
    except (OSError, ValueError):
        raise FileError(f"standard input is closed. Give a file, or {kind} on standard input.") from None
    return text.removeprefix("\ufeff")


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
