"""Save networks to `.sugenet` files and load them: exact, with a digest, atomic (docs/format.md)."""

import io
import os

from sugenet.errors import FileError
from sugenet.files import advice, write_bytes
from sugenet.io.native.container import MAX_FILE, Document, Tensors, seal, unseal
from sugenet.io.native.document import from_document, to_document
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn import Network, network_of
from sugenet.reading import open_file

__all__ = ["load", "network_bytes", "network_from", "save"]


def save(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network to a file.

    Before anything is written, the bytes are read back and must give an equal network. They go to a temporary
    file first, which replaces the target in one step: a failure leaves no half-written file.

    Parameters
    ----------
    network : Network
        Any network; its notes and the marks of its layers are kept too. Its `report` is not.
    path : str or Path
        File to write, usually with the ending ``.sugenet``. An existing file is replaced.

    Returns
    -------
    None
        The file is the same, byte for byte, for equal networks.

    Raises
    ------
    FileError
        If the path cannot be written, or the format cannot represent something, such as a category that is a
        tuple.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer, Head
    >>> layer, head = DenseLayer([[+1, -1, +1]], tau=[2]), Head([[+1], [-1]])
    >>> net = Network.of_bits([layer], head, classes=["on", "off"])
    >>> with TemporaryDirectory() as folder:
    ...     save(net, f"{folder}/small.sugenet")
    ...     load(f"{folder}/small.sugenet") == net
    True

    See Also
    --------
    load : reads the file.
    write_onnx : writes a file for other programs.
    """
    with within(f"the network cannot be saved to {os.fspath(path)!r}"):
        raw = network_bytes(network_of(network))
    write_bytes(path, raw)


def network_bytes(network: Network) -> bytes:
    """Return the bytes that `save` writes: equal for equal networks, and read back first."""
    raw = seal(*to_document(network))
    refuse_if(
        network_from(raw) != network,
        "the written file reads back as another network. This is a bug in sugenet: please report it.",
    )
    return raw


def network_from(raw: bytes) -> Network:
    """Return the network in the bytes of a file."""
    return _checked(*unseal(io.BytesIO(raw), len(raw)))


def load(path: str | os.PathLike[str]) -> Network:
    """Read a network from a file that `save` wrote.

    Loading runs no code from the file, and allocates memory only for checked contents.

    Parameters
    ----------
    path : str or Path
        A file of at most 1 GiB.

    Returns
    -------
    Network
        Equal to the one that was saved, with the same fingerprint, marks and notes.

    Raises
    ------
    FileError
        If the file is missing, damaged in any bit, written by a newer sugenet, or by another program.

    Examples
    --------
    >>> load("nowhere.sugenet")
    Traceback (most recent call last):
    sugenet.errors.FileError: 'nowhere.sugenet' cannot be read: there is no such file or folder.
    Check the path.

    See Also
    --------
    save : writes such a file.
    read_onnx : reads networks of other programs.
    """
    try:
        with open_file(path, MAX_FILE) as stream:
            document, tensors = unseal(stream, os.fstat(stream.fileno()).st_size)
        return _checked(document, tensors)
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be read: {advice(error)}") from error


def _checked(document: Document, tensors: Tensors) -> Network:
    try:
        return from_document(document, tensors)
    except FileError as error:
        raise FileError(
            f"{error} The file is whole, but sugenet did not write it so: save the network again."
        ) from error
