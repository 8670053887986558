"""The one way a file is written: whole or not at all; and what to say where a file cannot be reached."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sugenet.errors import FileError

__all__ = ["advice", "check_writable", "write_bytes", "write_text"]


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


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `FileError` where a file cannot be written, before the work whose result it shall hold.

    Nothing is changed.
    """
    try:
        target = _target_of(path)
        _mode_of(target)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be written: {advice(error)}") from error


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


def _target_of(path: str | os.PathLike[str]) -> Path:
    """Where a path leads, links followed."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        named = Path(path).parent  # as it was given, unless it is a link that leads to nothing
        raise FileError(
            f"there is no folder {str(target.parent if named.is_dir() else named)!r}. Make it first."
        )
    return target


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
