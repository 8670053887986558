"""Text that comes in: JSON from a file, strictly, and standard input as UTF-8."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sugenet.errors import FileError
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.plain.strict import strict_json

__all__ = ["read_json", "read_standard_input"]

SIZE_LIMIT = 1 << 28


def read_json(path: str | Path, most: int = SIZE_LIMIT) -> dict[str, Any]:
    """Read a JSON object of at most so many bytes from a file, packed by gzip or not, ``-`` for standard
    input; strictly: no key twice, no NaN.
    """
    name = "standard input" if str(path) == "-" else str(path)
    most = min(most, SIZE_LIMIT)
    try:
        if str(path) == "-":
            text = read_standard_input("JSON", most)
        elif Path(path).stat().st_size > most:
            raise FileError(f"{name} is larger than {most:,} bytes.")
        else:
            text = unzipped(Path(path).read_bytes(), most).decode("utf-8")
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
        text: str = raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"standard input is no text in UTF-8: byte {error.start} is wrong. Give {kind}."
        ) from None
    except (OSError, ValueError):
        raise FileError(f"standard input is closed. Give a file, or {kind} on standard input.") from None
    if len(text) > limit:
        raise FileError(f"standard input has more than {limit:,} letters. Split it.")
    return text.removeprefix("\ufeff")
