"""What all files share: written whole or not at all, what to do about an error;
JSON and standard input as text.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from sugenet.errors import FileError
from sugenet.io.strict import strict_json

__all__ = ["advice", "check_writable", "read_json", "read_standard_input", "write_bytes", "write_text"]

SIZE_LIMIT = 1 << 28


def read_json(path: str | Path, most: int = SIZE_LIMIT) -> dict[str, Any]:
    """Read a JSON object of at most so many bytes from a file, ``-`` for standard input; strictly:
    no key twice, no NaN.
    """
    name = "standard input" if str(path) == "-" else str(path)
    most = min(most, SIZE_LIMIT)
    try:
        if str(path) == "-":
            text = read_standard_input("JSON", most)
        elif Path(path).stat().st_size > most:
            raise FileError(f"{name} is larger than {most:,} bytes.")
        else:
            text = Path(path).read_text(encoding="utf-8")
        data = strict_json(text)
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
    except RecursionError:
        raise FileError(f"{name} is no JSON file: it is nested too deeply.") from None
    except (UnicodeDecodeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text in UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], raw: bytes) -> None:
    """Write a file whole or not at all.

    The bytes go to a temporary file beside the target, which takes its place in one step when all is on the
    disk: a failure leaves no half-written file, and an older one stays as it was. Links are followed, and
    permissions of an older file are kept.

    Raises
    ------
    FileError
        When the path cannot be written.
    """
    try:
        _replace(_target_of(path), raw)
    except (OSError, ValueError) as error:
        raise FileError(
            f"{os.fspath(path)!r} cannot be written: {advice(error)} Nothing was changed."
        ) from error


def _target_of(path: str | os.PathLike[str]) -> Path:
    """Where a path leads, links followed."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        named = Path(path).parent  # as it was given, unless it is a link that leads to nothing
        raise FileError(
            f"there is no folder {str(target.parent if named.is_dir() else named)!r}. Make it first."
        )
    return target


def _replace(target: Path, raw: bytes) -> None:
    """Put `raw` in the place of `target` in one step, or leave everything as it was."""
    mode = _mode_of(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}.sugenet.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:  # an interrupt too leaves nothing behind
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # where folders can be opened, the new name is made to last as well
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _mode_of(target: Path) -> int | None:
    """Permissions of the file to be replaced, None when there is none; refuses what must not be replaced."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not stat.S_ISREG(mode):
        raise FileExistsError
    if not os.access(target, os.W_OK):
        raise PermissionError
    return stat.S_IMODE(mode)


def advice(error: Exception) -> str:
    """What is wrong with a file, and what to do."""
    match error:
        case FileError():
            return str(error)
        case FileNotFoundError() | NotADirectoryError():
            return "there is no such file or folder. Check the path."
        case IsADirectoryError():
            return "it is a folder. Add the name of a file to the path."
        case PermissionError():
            return "permission is denied. Choose another folder, or change the permissions."
        case FileExistsError():
            return "it is not a file. Choose another path."
        case OSError(strerror=str(reason)):
            return f"{reason}. Check the disk and the path."
        case _:
            return f"{error}. Check the path."


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `FileError` where a file cannot be written, before the work whose result it shall hold.

    Nothing is changed.
    """
    try:
        target = _target_of(path)
        if _mode_of(target) is None and not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be written: {advice(error)}") from error
