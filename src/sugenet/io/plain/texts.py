"""Read text: strict JSON from a file, and standard input as UTF-8.

JSON is read strictly, and within limits: no repeated keys, no NaN, no numbers of very many digits.
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
    if not isinstance(data, dict):
        raise FileError(f"{name} holds {type(data).__name__}, but a JSON object is needed.")
    return data


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
