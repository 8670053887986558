"""Text that comes in: JSON from a file, strictly, and standard input as UTF-8.

JSON is read as strictly as it is defined, and no larger than it can be meant: no key twice, no NaN, no number
of endless digits.
"""

from __future__ import annotations

import json
import sys
from math import isfinite
from pathlib import Path
from typing import Any

from sugenet.errors import FileError
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.refusals import refuse_if
from sugenet.reading import read_file

__all__ = ["read_json", "read_standard_input", "strict_json"]

_DIGITS = 4300
"""Of a whole number: beyond, reading it takes longer than its text suggests."""


def strict_json(text: str) -> Any:
    """Read JSON; raise `ValueError` with what is wrong, in words, where a lenient reader would guess;
    `RecursionError` where it is deep.

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
    raise ValueError(f"{number[:80]} is no number of JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _short(number: str) -> int:
    if len(number) > _DIGITS:
        raise ValueError(f"a number has too many digits, more than {_DIGITS:,}")
    return int(number)


SIZE_LIMIT, MEMORY_LIMIT = 1 << 28, 1 << 29
_TAKEN = {"{": 200, "[": 64, ",": 40, '"': 32}
"""Bytes of memory that a sign of JSON stands for, at most."""


def read_json(path: str | Path, memory: int = MEMORY_LIMIT) -> dict[str, Any]:
    """Read a JSON object that takes at most so many bytes of memory from a file, packed by gzip or not,
    ``-`` for standard input; strictly: no key twice, no NaN.
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
        raise FileError(f"{name} is no JSON file: it is nested too deeply.") from None
    except FileError as error:
        raise error if str(error).startswith(name) else FileError(f"{name}: {error}") from None
    except ValueError as error:
        raise FileError(f"{name} is no JSON file: {error}.") from None
    if not isinstance(data, dict):
        raise FileError(f"{name} holds {type(data).__name__}, but a JSON object is needed.")
    return data


def read_standard_input(kind: str, limit: int) -> str:
    """Standard input as UTF-8, as files are read, whatever the locale says; `kind` is what it should hold."""
    stream = sys.stdin
    try:
        if stream is None:
            raise ValueError
        raw = getattr(stream, "buffer", stream).read(limit + 1)
        if len(raw) > limit:
            raise FileError(f"standard input has more than {limit:,} letters. Split it.")
        text: str = raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"standard input is no text in UTF-8: byte {error.start} is wrong. Give {kind}."
        ) from None
    except FileError:
        raise
    except (OSError, ValueError):
        raise FileError(f"standard input is closed. Give a file, or {kind} on standard input.") from None
    return text.removeprefix("\ufeff")
