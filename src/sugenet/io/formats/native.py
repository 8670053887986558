"""Networks to `.sugenet` files and back: exact, sealed by a digest, written whole or not at all (docs/format.md)."""

from __future__ import annotations

import io
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sugenet.bnn import Network
from sugenet.errors import FileError
from sugenet.io.formats.container import Document, Tensors, seal, unseal
from sugenet.io.formats.document import from_document, to_document

__all__ = ["load", "save"]


def save(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network to a file.

    The file is the same byte for byte whenever the network is. Before anything is written, the bytes are read back and must give an
    equal network. They go to a temporary file beside the target, which takes its place in one step when all is on the disk: a failure
    leaves no half-written file, and an older one stays as it was.

    Parameters
    ----------
    network
        Any network; its notes and the marks of its layers are kept too.
    path
        Where to write, by custom with the ending ``.sugenet``. A file that is there is replaced.

    Raises
    ------
    FileError
        When the path cannot be written, or the network holds what the format has no place for, such as a category that is a tuple.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.bnn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[+1, -1, +1]], tau=[2])], Head([[+1], [-1]]), classes=["on", "off"])
    >>> with TemporaryDirectory() as folder:
    ...     save(net, f"{folder}/small.sugenet")
    ...     load(f"{folder}/small.sugenet") == net
    True
    """
    if not isinstance(network, Network):
        raise FileError(f"network is a {type(network).__name__}, but only a Network can be saved.")
    try:
        raw = seal(*to_document(network))
        if from_document(*unseal(io.BytesIO(raw), len(raw))) != network:
            raise FileError("what was written reads back as another network. This is a bug in sugenet: please report it.")
    except FileError as error:
        raise FileError(f"the network cannot be saved to {os.fspath(path)!r}: {error}") from error
    try:
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise FileError(f"there is no folder {str(target.parent)!r}. Make it first.")
        _replace(target, raw)
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be written: {_advice(error)} Nothing was changed.") from error


def load(path: str | os.PathLike[str]) -> Network:
    """Read a network from a file that `save` wrote.

    Loading runs no code from the file, and takes memory only for what the file was checked to hold.

    Parameters
    ----------
    path
        A file of at most 1 GiB.

    Returns
    -------
    Network
        Equal to the one that was saved, with the same fingerprint, marks and notes.

    Raises
    ------
    FileError
        When the file is missing, damaged in any bit, written by a newer sugenet, or by another program.

    Examples
    --------
    >>> load("nowhere.sugenet")
    Traceback (most recent call last):
    sugenet.errors.FileError: 'nowhere.sugenet' cannot be read: there is no such file or folder. Check the path.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # asked before opening, which waits for ever at a pipe
            raise FileError("it is not a file. Give the path of a file that sugenet wrote.")
        with open(path, "rb") as stream:
            document, tensors = unseal(stream, os.fstat(stream.fileno()).st_size)
        return _checked(document, tensors)
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be read: {_advice(error)}") from error


def _checked(document: Document, tensors: Tensors) -> Network:
    try:
        return from_document(document, tensors)
    except FileError as error:
        raise FileError(f"{error} The file is whole, but sugenet did not write it so: save the network again.") from error


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


def _advice(error: Exception) -> str:
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
