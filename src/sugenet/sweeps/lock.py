"""One writer at a time: locks on a results file that end with their process, however that ends.

A database has two things that nobody else may write meanwhile: the file, which can have several names, and
the log beside it, which is found by name. So there is a lock on the name, which a file beside it carries, and
one on the file itself. A file with several names is refused: what a killed sweep left in the log of one name
would be missing under the other.
"""

from __future__ import annotations

import os
import struct
from contextlib import ExitStack, suppress
from pathlib import Path

from sugenet.errors import FileError
from sugenet.files import advice

__all__ = ["Lock"]


class Lock:
    """The right to write to a results file, until it is released or the process ends.

    The system gives the locks back when a process is killed, so nothing stale is ever left. The file that
    carries the lock on the name is removed at the end, by its holder, who alone may.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._beside = path, path.with_name(path.name + "-lock")
        with ExitStack() as stack:
            try:
                self._handle = self._taken()
                stack.callback(self._let_go)
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
                stack.callback(os.close, self._file)
                _lock_file(self._file)
                stack.callback(_unlock_file, self._file)
            except BlockingIOError:
                raise FileError(
                    f"another sweep is writing to '{path}'. Wait for it to end, or give another file."
                ) from None
            except OSError as error:
                raise FileError(f"'{path}' cannot be written: {advice(error)}") from error
            if (names := os.fstat(self._file).st_nlink) > 1:
                raise FileError(
                    f"'{path}' has {names} names (hard links), but a results file can have only one. "
                    f"Copy it, and give the copy."
                )
            self._ends = stack.pop_all()

    def _taken(self) -> int:
        while True:
            handle = os.open(self._beside, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
            try:
                _lock(handle)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), os.stat(self._beside)):
                        return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its holder removed it between the two lines

    def _let_go(self) -> None:
        with suppress(OSError):  # where open files cannot be removed, it stays, and does no harm
            os.unlink(self._beside)
        os.close(self._handle)

    def check(self) -> None:
        """Raise `FileError` where the file that is being written is not the one of its name any more."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                return
        raise FileError(
            f"'{self._path}' was removed or replaced while this sweep wrote to it. Give the command again."
        )

    def release(self) -> None:
        """Let others write. The connection to the database must be closed: SQLite's locks go, too."""
        self._ends.close()


_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            raise BlockingIOError from None

    def _lock_file(handle: int, how: int = 0) -> None:
        """There is none beside SQLite's own: the one on the name has to do."""

    def _unlock_file(handle: int) -> None:
        """Nor is there anything to unlock."""

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_file(handle: int, how: int = fcntl.F_WRLCK) -> None:
        """Lock the first byte for this open file: SQLite locks others, and its locks and ours do not meet."""
        if hasattr(fcntl, "F_OFD_SETLK"):
            first = struct.pack("hhqqi", how, os.SEEK_SET, 0, 1, 0)
            try:
                fcntl.fcntl(handle, fcntl.F_OFD_SETLK, first)
            except BlockingIOError:
                raise
            except PermissionError:  # as some systems say it
                raise BlockingIOError from None
            except OSError:  # not every file system has such locks: the one on the name has to do
                pass

    def _unlock_file(handle: int) -> None:
        """Unlock it also for processes that were forked meanwhile, which have it open."""
        _lock_file(handle, fcntl.F_UNLCK)
