"""Read untrusted NumPy files within limits: sizes are checked before memory is allocated, and decompression
bombs are refused early.
"""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Array
from sugenet.reading import open_file

__all__ = ["Archive", "open_archive", "read_array", "refusing"]

_CHUNK = 1 << 20
_ENTRIES = 10_000
_DIMENSIONS, _HEADER = 8, 10_000
# Unpacked bytes allowed for any file, and the largest ratio to its own size for a large one.
_FREELY, _RATIO = 1 << 26, 64
_LETTERS = 0x110000


class Archive:
    """The arrays of an open `.npz` file by name; each is read on request."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> None:
        self._archive, self._entries = archive, entries

    @property
    def names(self) -> list[str]:
        """Return the names of the arrays, in file order."""
        return list(self._entries)

    def read(self, name: str, kinds: str = "biuf", wanted: str = "numbers are needed") -> Array:
        """Read one array, whose dtype must be of one of some kinds; `wanted` describes them in words."""
        entry = self._entries[name]
        with self._archive.open(entry) as stream:
            return read_array(stream, entry.file_size, f"array {entry.filename[:80]!r}", kinds, wanted)  # type: ignore[arg-type]


@contextmanager
def open_archive(path: str | Path, limit: int) -> Iterator[Archive]:
    """Open a `.npz` file that unpacks to at most `limit` bytes and is not suspiciously compressed."""
    with (
        refusing("it is not a .npz file, or damaged"),
        open_file(path, limit) as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        entries = archive.infolist()
        allowed = min(limit, max(_FREELY, _RATIO * os.fstat(stream.fileno()).st_size))
        refuse_if(
            len(entries) > _ENTRIES, f"it holds {len(entries):,} arrays, but {_ENTRIES:,} are the most."
        )
        refuse_if(
            sum(entry.file_size for entry in entries) > allowed,
            f"it unpacks to more than {allowed:,} bytes, which is more than it may.",
        )
        by_name: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            refuse_if(name in by_name, f"the array {name[:80]!r} stands twice in it.")
            refuse_if(
                entry.flag_bits & 1, f"array {name[:80]!r} is locked by a password. Save it without one."
            )
            refuse_if(
                entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
                f"array {name[:80]!r} is packed in a way that NumPy never does. Save it with numpy.savez.",
            )
            by_name[name] = entry
        yield Archive(archive, by_name)


def read_array(stream: BinaryIO, size: int, what: str, kinds: str, wanted: str) -> Array:
    """Read the array in the `size` bytes of a `.npy` stream."""
    shape, fortran, dtype = _header(stream, what)
    refuse_if(
        dtype.kind not in kinds or dtype.hasobject or not dtype.itemsize,
        f"{what} has dtype {str(dtype)[:40]}, but {wanted}.",
    )
    takes = prod(shape) * dtype.itemsize
    refuse_if(
        len(shape) > _DIMENSIONS or not all(0 <= side < 1 << 40 for side in shape) or not 0 <= takes <= size,
        f"{what} of shape {str(shape)[:80]} takes {takes} bytes, but the file has {size} for it.",
    )
    raw = bytearray()
    # In steps: read at once, a compressed stream may exceed its stated size.
    while chunk := stream.read(min(_CHUNK, takes + 1 - len(raw))):
        raw += chunk
        if len(raw) > takes:
            break
    refuse_if(
        len(raw) != takes,
        f"{what} of shape {shape} takes {takes} bytes, but {'more' if len(raw) > takes else len(raw)} "
        f"are there.",
    )
    flat = np.frombuffer(raw, dtype)
    refuse_if(
        dtype.kind == "b" and takes and flat.view(np.uint8).max() > 1,
        f"{what} contains bytes that are neither true nor false.",
    )
    refuse_if(
        dtype.kind == "U"
        and takes
        and flat.view(np.dtype("u4").newbyteorder(dtype.byteorder)).max() >= _LETTERS,
        f"{what} contains invalid characters.",
    )
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(stream: BinaryIO, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    refuse_if(
        version not in ((1, 0), (2, 0)), f"{what} has format version {version}, and 1.0 and 2.0 are known."
    )
    read, width = (
        (np.lib.format.read_array_header_1_0, 2)
        if version == (1, 0)
        else (np.lib.format.read_array_header_2_0, 4)
    )
    start = stream.read(width)
    length = int.from_bytes(start, "little")
    # Checked first: the header is read in one piece, regardless of its stated length.
    refuse_if(length > _HEADER, f"{what} has a header of {length} bytes, but {_HEADER} are the most.")
    try:
        shape, fortran, dtype = read(BytesIO(start + stream.read(length)))
    except Exception:  # of many types, with messages of Python's parser
        raise FileError(f"{what} has a damaged header. Save the array again, with numpy.save.") from None
    return shape, fortran, dtype


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn errors of libraries about a damaged file into a `FileError`; disk errors pass through."""
    try:
        yield
    except (FileError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError:
        raise FileError(f"{what}: it does not fit into memory.") from None
    except Exception as error:
        reason = (
            getattr(error, "strerror", None) or str(error).splitlines()[0][:160]
            if str(error)
            else type(error).__name__
        )
        raise FileError(f"{what}: {str(reason).rstrip('.')}.") from None
