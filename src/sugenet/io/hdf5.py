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
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError, how_to_install
from sugenet.io.exact.sizes import check_numbers

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
_MAX_FILE = 1 << 30
_MAX_SPARE = 1 << 26
"""Bytes up to which an array may be larger than what the file stores for it (compression)."""
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


def write_contents(read: Callable[[], Contents]) -> int:
    """Read a file and write its contents to standard output, for `read_apart`; the exit code."""
    from safetensors.numpy import save

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
            return contents(h5py, file)
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
        size = place.stat().st_size
        with place.open("rb") as stream:
            start = stream.read(8)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    if start != b"\x89HDF\r\n\x1a\n":
        raise FileError(f"it is no HDF5 file.{of_zip if start[:2] == b'PK' else ''}")
    if size > _MAX_FILE:
        raise FileError(f"it has {size} bytes, more than the {_MAX_FILE} (1 GiB) that a network may take.")
    _check_heaps(place.read_bytes(), damaged)


def _check_heaps(raw: bytes, damaged: str) -> None:
    """Walk the heaps in which HDF5 keeps texts: the library itself never ends on one with an
    object of no size.
    """
    at = raw.find(b"GCOL")
    while at >= 0:
        end = at + int.from_bytes(raw[at + 8 : at + 16], "little")
        place = at + 16
        while place + 16 <= min(end, len(raw)):
            index, size = (
                int.from_bytes(raw[place : place + 2], "little"),
                int.from_bytes(raw[place + 8 : place + 16], "little"),
            )
            step = size if index == 0 else 16 + -(-size // 8) * 8
            if step < 16 or place + step > end:
                raise FileError(f"a heap of texts is broken at byte {place}. {damaged}")
            place += step
        at = raw.find(b"GCOL", at + 4)


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
    size = prod(data.shape) * data.dtype.itemsize
    if size > _MAX_SPARE and data.id.get_storage_size() < size:
        raise FileError(
            f"{what} of shape {data.shape} takes {size} bytes, but the file stores "
            f"{data.id.get_storage_size()}. {damaged}"
        )
    array = np.asarray(data[()])
    check_numbers(what, array)
    return array
