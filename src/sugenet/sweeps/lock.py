"""One writer at a time: a lock beside the results file that ends with its process, however that ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sugenet.errors import FileError
from sugenet.files import advice

__all__ = ["Lock"]


class Lock:
    """The right to write to a results file, until it is released or the process ends.

    The system gives the lock back when a process is killed, so nothing stale is ever left. The file that
    carries it is removed at the end, by its holder, who alone may.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(path.name + "-lock")
        try:
            self._handle = self._taken()
        except BlockingIOError:
            raise FileError(
                f"another sweep is writing to '{path}'. Wait for it to end, or give another file."
            ) from None
        except OSError as error:
            raise FileError(f"'{path}' cannot be written: {advice(error)}") from error

    def _taken(self) -> int:
        while True:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _lock(handle)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), os.stat(self._file)):
                        return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its holder removed it between the two lines

    def release(self) -> None:
        """Let others write."""
        with suppress(OSError):  # where open files cannot be removed, it stays, and does no harm
            os.unlink(self._file)
        os.close(self._handle)


if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            raise BlockingIOError from None
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
