"""Small text files: JSON in, text out, atomically; and whether a file can be written, asked before long work."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from sugenet.errors import FileError

__all__ = ["check_writable", "read_json", "write_text"]

SIZE_LIMIT = 1 << 28


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        if Path(path).stat().st_size > SIZE_LIMIT:
            raise FileError(f"{path} is larger than {SIZE_LIMIT:,} bytes.")
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} is no JSON file: {error}.") from None
    if not isinstance(data, dict):
        raise FileError(f"{path} holds {type(data).__name__}, but a JSON object is needed.")
    return data


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, target)
    except OSError as error:
        os.unlink(temporary)
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None


def check_writable(path: str | Path) -> None:
    """Raise `FileError` where a file cannot be written, before the work whose result it shall hold. Nothing is changed."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{os.fspath(path)!r} cannot be written: it is a folder. Add the name of a file to the path.")
    if not target.parent.is_dir():
        raise FileError(f"{os.fspath(path)!r} cannot be written: there is no folder {str(target.parent)!r}. Make it first.")
    if target.exists() and not target.is_file():
        raise FileError(f"{os.fspath(path)!r} cannot be written: it is not a file. Choose another path.")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise FileError(f"{os.fspath(path)!r} cannot be written: permission is denied. Choose another folder, or change the permissions.")
