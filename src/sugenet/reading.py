"""Opening of files for reading: a regular file of limited size, or a `FileError`.

Pipes, devices and sockets are refused at once, also at the end of a link. A file that grows while it is read,
or that does not state its size, is refused when it passes the limit.
"""

import io
import os
import stat
from typing import Any

from sugenet.errors import FileError

__all__ = ["open_file", "open_text", "read_file"]

_CHUNK = 1 << 20
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY"))
"""Flags that open a pipe without waiting for its writer, so that it can be refused."""


def open_file(path: str | os.PathLike[str], limit: int) -> io.BufferedReader:
    """Open a regular file of at most `limit` bytes; the stream raises `FileError` beyond that.

    Raises
    ------
    FileError
        For a pipe, a device, a socket, or a file that is too large.
    OSError
        If the file is missing, is a folder, or must not be read.

    Examples
    --------
    >>> open_file("/dev/null", 100)
    Traceback (most recent call last):
    sugenet.errors.FileError: it is not a file but a device. Give the path of a file.
    """
    return io.BufferedReader(_Bounded(path, limit))


def open_text(
    path: str | os.PathLike[str], limit: int, encoding: str = "utf-8-sig", newline: str | None = ""
) -> io.TextIOWrapper:
    """Open a regular file as text; by default, line ends stay unchanged, as CSV requires."""
    return io.TextIOWrapper(open_file(path, limit), encoding=encoding, newline=newline)


def read_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return all bytes of a regular file of at most `limit` bytes."""
    with open_file(path, limit) as stream:
        return stream.read()


class _Bounded(io.FileIO):
    """Regular file, read up to a limit."""

    def __init__(self, path: str | os.PathLike[str], most: int) -> None:
        super().__init__(path, opener=lambda name, flags: os.open(name, flags | _FLAGS))
        self._most = most
        try:
            about = os.fstat(self.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FileError(f"it is not a file but {_kind(about.st_mode)}. Give the path of a file.")
            self._check(about.st_size)
        except BaseException:
            self.close()
            raise
        self._size = about.st_size

    def readinto(self, buffer: Any) -> int:
        """Read bytes, as for any stream, within the limit."""
        count = super().readinto(buffer)
        self._check(self.tell())
        return count

    def readall(self) -> bytes:
        """Return the rest of the file, in one piece if it has the stated length."""
        parts, wanted = [], max(0, self._size - self.tell()) + 1
        while part := self.read(wanted):
            self._check(self.tell())
            parts.append(part)
            wanted = _CHUNK
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _check(self, size: int) -> None:
        if size > self._most:
            raise FileError(f"it has more than {self._most:,} bytes, the limit for such a file.")


def _kind(mode: int) -> str:
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
