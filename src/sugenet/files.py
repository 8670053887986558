"""Writing of files, whole or not at all, and messages for files that are not accessible."""

import errno
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from sugenet.errors import FileError

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["advice", "check_owner", "check_writable", "target_of", "write_bytes", "write_text"]

_MOST_LINKS = 40
_END = ".sugenet.tmp"
"""Ending of files that are being written."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text in UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], raw: bytes) -> None:
    """Write a file whole or not at all.

    The bytes go to a temporary file next to the target, which replaces it in one step when everything is on
    disk. A failure leaves no half-written file, and an older file stays unchanged. The temporary file has no
    name if the file system supports that; otherwise, if its process was killed, the next write to the folder
    removes it. Links are followed, except for those of other users in folders that everybody may write to.
    Permissions of an older file are kept.

    Raises
    ------
    FileError
        If the path cannot be written.
    """
    try:
        _replace(target_of(path), raw)
    except (OSError, ValueError) as error:
        raise FileError(
            f"{os.fspath(path)!r} cannot be written: {advice(error)} Nothing was changed."
        ) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `FileError` if a file cannot be written, before the work that computes its contents.

    Nothing is changed.
    """
    try:
        target = target_of(path)
        _mode_of(target)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be written: {advice(error)}") from error


def advice(error: Exception) -> str:
    """Return a message with the problem of a file and the fix."""
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


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the final path of a file to write, with links followed.

    Raises
    ------
    FileError
        If the folder does not exist, or another user could have chosen the path.
    """
    _check_links(Path(os.fsdecode(path)).absolute())
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        named = Path(path).parent  # the path as given, unless it is a broken link
        raise FileError(
            f"there is no folder {str(target.parent if named.is_dir() else named)!r}. Make it first."
        )
    check_owner(target)
    return target


def check_owner(file: Path) -> None:
    """Raise `FileError` for a file or link of another user in a folder that everybody may write to."""
    if os.name == "nt" or not os.lstat(file.parent).st_mode & stat.S_IWOTH:
        return
    with suppress(FileNotFoundError):
        known = os.lstat(file)
        if known.st_uid not in (0, os.geteuid()):
            kind = "link" if stat.S_ISLNK(known.st_mode) else "file"
            raise FileError(
                f"{str(file)!r} is a {kind} of another user in a folder that everybody may write to. "
                f"Choose another name or folder."
            )


def _check_links(path: Path, depth: int = 0) -> None:
    """Check the owners of all links on a path."""
    if depth > _MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    for index in (*reversed(path.parents), path):
        if index.is_symlink():
            check_owner(Path(os.path.realpath(index.parent), index.name))
            _check_links(index.parent / os.readlink(index), depth + 1)


def _mode_of(target: Path) -> int | None:
    """Return the permissions of the file to be replaced, None if there is none; refuse files that must
    stay.
    """
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
    """Replace `target` by `raw` in one step, or leave everything unchanged."""
    mode = _mode_of(target)
    start = _start()
    _remove_leftovers(target.parent, start)
    temporary = target.with_name(f"{start}{secrets.token_hex(8)}{_END}")
    with ExitStack() as stack:
        opener = partial(_opened, 0o666 if mode is None else mode & 0o600)
        try:
            with open(temporary, "xb", opener=opener) as stream:
                if fcntl is not None:
                    stack.callback(os.close, os.dup(stream.fileno()))  # the lock stays until all is done
                stream.write(raw)
                stream.flush()
                os.fsync(stream.fileno())
                if not os.fstat(stream.fileno()).st_nlink:
                    _name(stream.fileno(), temporary)
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:  # an interrupt leaves no file either
            with suppress(OSError):
                os.unlink(temporary)
            raise
    with suppress(OSError), _folder(target) as folder:  # the new name is synchronized to disk, too
        os.fsync(folder)


# -- temporary files -----------------------------------------------------------------------------------------


def _start() -> str:
    """Return the beginning of this machine's temporary names: only here is known whether their processes
    run.
    """
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return f".{zlib.crc32(name.encode()):08x}-"


def _opened(bits: int, temporary: str, flags: int) -> int:
    """Open a new file, locked as long as its process lives; if possible, one without a name."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with suppress(OSError):
            return _locked(os.open(os.path.dirname(temporary), os.O_TMPFILE | os.O_WRONLY, bits))
    while True:
        handle = _locked(os.open(temporary, flags, bits))
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # removed as a leftover before it was locked


def _locked(handle: int) -> int:
    if fcntl is not None:
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _name(handle: int, path: Path) -> None:
    """Give a file without a name this name."""
    with _folder(path) as folder:
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder, follow_symlinks=True)


def _remove_leftovers(folder: Path, start: str) -> None:
    """Remove temporary files of killed processes: nobody holds a lock on them."""
    if fcntl is None or not os.access(folder, os.R_OK):
        return
    for name in os.listdir(folder):
        if name.startswith(start) and name.endswith(_END):
            with suppress(OSError):
                handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if os.fstat(handle).st_uid == os.geteuid():
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(folder / name)
                finally:
                    os.close(handle)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """Open the folder of a file."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)
