"""HDF5 files, which their library trusts: on some damaged ones it crashes or never ends. Read in a process of
its own, both become an error; no link out of a file is followed, and no array is read before its size is
known to be right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError, how_to_install
from sugenet.io.exact.ops import check_numbers
from sugenet.reading import open_file

__all__ = [
    "Contents",
    "check_file",
    "child_array",
    "child_group",
    "opened",
    "read_apart",
    "write_contents",
]

_REFUSED = 3
"""Exit code of the reading process when it has something to say."""
_MAX_FILE = 1 << 29
_MAX_SPARE = 1 << 26
"""Bytes by which all arrays may be larger than the file (compression, several names for one)."""
_MAX_PROCESS = 1 << 28
_MAX_TEXTS, _CHUNK = 1 << 18, 1 << 20
_BYTES_A_SECOND = 20e6


@dataclass(frozen=True, eq=False)
class Contents:
    """What stands in a file: how it is put together, as text, and for each layer its arrays by name."""

    model: str
    arrays: dict[str, dict[str, npt.NDArray[Any]]]
    notes: dict[str, dict[str, str]] = field(default_factory=dict)
    """What else the file says, by subject."""


def read_apart(module: str, place: Path, seconds: float, damaged: str) -> Contents:
    """What a module finds in a file, run in a process of its own; `damaged` is said of files that it cannot
    read.
    """
    seconds += place.stat().st_size / _BYTES_A_SECOND
    command = [sys.executable, "-W", "ignore", "-m", module, str(place.resolve())]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise FileError(f"HDF5 did not end with it in {seconds:.0f} seconds. {damaged}") from None
    except OSError as error:
        raise FileError(f"the process that reads it could not be started: {error}.") from None
    if done.returncode == _REFUSED:
        raise FileError(done.stderr.decode(errors="replace")[-2000:])
    if done.returncode:
        raise FileError(f"the HDF5 library broke down on it (exit code {done.returncode}). {damaged}")
    return _unpacked(done.stdout, damaged)


def write_contents(place: Path, read: Callable[[], Contents]) -> int:
    """Read a file and write its contents to standard output, for `read_apart`; the exit code."""
    from safetensors.numpy import save

    _limit_memory(3 * place.stat().st_size + _MAX_PROCESS)
    try:
        found = read()
    except FileError as error:
        sys.stderr.buffer.write(str(error).encode())
        return _REFUSED
    places = [(layer, name) for layer, arrays in found.arrays.items() for name in arrays]
    tensors = {
        str(k): np.ascontiguousarray(found.arrays[layer][name]) for k, (layer, name) in enumerate(places)
    }
    sys.stdout.buffer.write(
        save(
            tensors,
            {
                "model": found.model,
                "places": json.dumps([places, list(found.arrays)]),
                "notes": json.dumps(found.notes),
            },
        )
    )
    return 0


def _limit_memory(most: int) -> None:
    """Take at most so many further bytes in this process: a packed part may unpack without end."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
        most += pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    except (ImportError, OSError, ValueError, IndexError):
        return


def _unpacked(raw: bytes, damaged: str) -> Contents:
    from safetensors.numpy import load

    try:
        about = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        places, layers = json.loads(about["places"])
        tensors = load(raw)
        arrays: dict[str, dict[str, npt.NDArray[Any]]] = {layer: {} for layer in layers}
        for k, (layer, name) in enumerate(places):
            arrays[layer][name] = tensors[str(k)]
        return Contents(about["model"], arrays, json.loads(about["notes"]))
    except Exception as error:
        raise FileError(
            f"the process that reads it answered nonsense ({type(error).__name__}). {damaged}"
        ) from None


@dataclass
class _Library:
    """What is used of h5py, and how many bytes arrays may still take."""

    HardLink: type
    Group: type
    Dataset: type
    left: int


def opened(
    place: Path, contents: Callable[[Any, Any], Contents], damaged: str, whose: str, extra: str
) -> Contents:
    """The contents of a file, from the library and the open file."""
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise FileError(f"reading {whose} files needs h5py; {how_to_install(extra)}") from None
    try:
        with h5py.File(place, "r") as file:
            size = place.stat().st_size + _MAX_SPARE
            return contents(_Library(h5py.HardLink, h5py.Group, h5py.Dataset, size), file)
    except FileError:
        raise
    except Exception as error:
        why = str(error).strip().splitlines()[:1]
        raise FileError(
            f"HDF5 cannot read it: {why[0][:160] if why else type(error).__name__}. {damaged}"
        ) from None


def check_file(place: Path, damaged: str, of_zip: str = "") -> None:
    """Refuse what is no HDF5 file, is too large, or would keep the library busy for ever; `of_zip` is said of
    zip archives.
    """
    try:
        with open_file(place, _MAX_FILE) as stream:
            start = stream.read(8)
            if start != b"\x89HDF\r\n\x1a\n":
                raise FileError(f"it is no HDF5 file.{of_zip if start[:2] == b'PK' else ''}")
            _check_heaps(stream, damaged)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None


def _check_heaps(stream: BinaryIO, damaged: str) -> None:
    """Walk the heaps in which HDF5 keeps texts: the library itself never ends on one with an
    object of no size.
    """
    total, steps = stream.seek(0, 2), 0
    for at in _places_of(b"GCOL", stream):
        stream.seek(at + 8)
        place, end = at + 16, at + int.from_bytes(stream.read(8), "little")
        while place + 16 <= min(end, total):
            stream.seek(place)
            raw = stream.read(16)
            index, size = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[8:], "little")
            step = size if index == 0 else 16 + -(-size // 8) * 8
            steps += 1
            if step < 16 or place + step > end or steps > _MAX_TEXTS:
                raise FileError(f"a heap of texts is broken at byte {place}. {damaged}")
            place += step


def _places_of(mark: bytes, stream: BinaryIO) -> list[int]:
    """Where a mark stands in a file, found piece by piece."""
    found: list[int] = []
    start, before = stream.seek(0), b""
    while chunk := stream.read(_CHUNK):
        raw = before + chunk
        at = raw.find(mark)
        while at >= 0:
            found.append(start - len(before) + at)
            at = raw.find(mark, at + 1)
        start, before = start + len(chunk), raw[-len(mark) + 1 :]
    return found


def child_group(h5py: Any, parent: Any, name: str, damaged: str) -> Any:
    """A group inside another, which no link leads out of."""
    found = parent.get(name) if isinstance(parent.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(found, h5py.Group):
        raise FileError(f"its group {name[:80]!r} is missing. {damaged}")
    return found


def child_array(h5py: Any, group: Any, name: str, what: str, damaged: str) -> npt.NDArray[Any]:
    """An array of numbers inside a group."""
    data = group.get(name) if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external or data.shape is None:
        raise FileError(f"{what} is missing, or stands in another file. {damaged}")
    if data.dtype.kind not in "fiu" or data.dtype.itemsize > 8:
        raise FileError(f"{what} has dtype {data.dtype}, but numbers are needed. {damaged}")
    size = max(prod(data.shape), prod(data.chunks or ())) * data.dtype.itemsize
    h5py.left -= size
    if h5py.left < 0:
        raise FileError(
            f"{what} of shape {data.shape} takes {size} bytes, and its arrays together far more than the "
            f"file. {damaged}"
        )
    array = np.asarray(data[()])
    check_numbers(what, array)
    return array
