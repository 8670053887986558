"""The model text and the arrays in a Keras 2 `.h5` file, read with h5py, in a process of its own.

The HDF5 library trusts its files: on some damaged ones it crashes or never ends. A process of its own turns
both into an error. Nothing in a file is run, no link out of it is followed, and no array is read before its
size is known to be right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError, how_to_install
from sugenet.io.exact.sizes import check_numbers

__all__ = ["DAMAGED", "Contents", "main", "read_contents"]

_MAX_FILE = 1 << 30
_MAX_CONFIG = 1 << 24
_MAX_LAYERS = 10_000
_MAX_SPARE = 1 << 26
"""Bytes up to which an array may be larger than what the file stores for it (compression)."""
_SECONDS, _BYTES_A_SECOND = 10.0, 20e6
DAMAGED = "The file is damaged, or no model that Keras 2 saved: write model.save('net.h5')."
_REFUSED = 3
"""Exit code of the reading process when it has something to say."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What stands in a file: the configuration as text, and the arrays of each layer by the last
    word of their names.
    """

    model: str
    arrays: dict[str, dict[str, npt.NDArray[Any]]]


def read_contents(path: str | Path, *, apart: bool = True) -> Contents:
    """Read a file, in a process of its own unless told otherwise.

    Raises
    ------
    FileError
        For files that are damaged, or are not of Keras.
    """
    place = Path(path)
    _check(place)
    if not apart or not sys.executable:
        return _read(place)
    seconds = _SECONDS + place.stat().st_size / _BYTES_A_SECOND
    command = [sys.executable, "-W", "ignore", "-m", "sugenet.io.larq.hdf5_contents", str(place.resolve())]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise FileError(f"HDF5 did not end with it in {seconds:.0f} seconds. {DAMAGED}") from None
    except OSError as error:
        raise FileError(f"the process that reads it could not be started: {error}.") from None
    if done.returncode == _REFUSED:
        raise FileError(done.stderr.decode(errors="replace")[-2000:])
    if done.returncode:
        raise FileError(f"the HDF5 library broke down on it (exit code {done.returncode}). {DAMAGED}")
    return _unpacked(done.stdout)


def main(arguments: Sequence[str]) -> int:
    """Read one file and write its contents to standard output: the other side of `read_contents`."""
    from safetensors.numpy import save

    try:
        found = _read(Path(arguments[0]))
    except FileError as error:
        sys.stderr.buffer.write(str(error).encode())
        return _REFUSED
    places = [(layer, name) for layer, arrays in found.arrays.items() for name in arrays]
    tensors = {
        str(k): np.ascontiguousarray(found.arrays[layer][name]) for k, (layer, name) in enumerate(places)
    }
    sys.stdout.buffer.write(
        save(tensors, {"model": found.model, "places": json.dumps([places, list(found.arrays)])})
    )
    return 0


def _unpacked(raw: bytes) -> Contents:
    from safetensors.numpy import load

    try:
        about = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        places, layers = json.loads(about["places"])
        tensors = load(raw)
        arrays: dict[str, dict[str, npt.NDArray[Any]]] = {layer: {} for layer in layers}
        for k, (layer, name) in enumerate(places):
            arrays[layer][name] = tensors[str(k)]
        return Contents(about["model"], arrays)
    except Exception as error:
        raise FileError(
            f"the process that reads it answered nonsense ({type(error).__name__}). {DAMAGED}"
        ) from None


def _check(place: Path) -> None:
    try:
        size = place.stat().st_size
        with place.open("rb") as stream:
            start = stream.read(8)
    except OSError as error:
        raise FileError(f"it cannot be opened: {error.strerror or error}.") from None
    if start != b"\x89HDF\r\n\x1a\n":
        raise FileError(
            "it is no HDF5 file."
            + (" Keras 3 (.keras) is not read: save as .h5." if start[:2] == b"PK" else "")
        )
    if size > _MAX_FILE:
        raise FileError(f"it has {size} bytes, more than the {_MAX_FILE} (1 GiB) that a network may take.")
    _check_heaps(place.read_bytes())


def _check_heaps(raw: bytes) -> None:
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
                raise FileError(f"a heap of texts is broken at byte {place}. {DAMAGED}")
            place += step
        at = raw.find(b"GCOL", at + 4)


def _read(place: Path) -> Contents:
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise FileError(f"reading Keras and Larq files needs h5py; {how_to_install('larq')}") from None
    try:
        with h5py.File(place, "r") as file:
            return _contents(h5py, file)
    except FileError:
        raise
    except Exception as error:
        why = str(error).strip().splitlines()[:1]
        raise FileError(
            f"HDF5 cannot read it: {why[0][:160] if why else type(error).__name__}. {DAMAGED}"
        ) from None


def _contents(h5py: Any, file: Any) -> Contents:
    if "model_config" not in file.attrs:
        raise FileError(
            "it holds weights without a model (no model_config). Save the whole model: model.save('net.h5'), "
            "not save_weights."
        )
    raw = _attribute(file, "model_config")
    text = raw.decode() if isinstance(raw, bytes) else str(raw)
    if len(text) > _MAX_CONFIG:
        raise FileError(f"its model_config has {len(text)} characters. {DAMAGED}")
    weights = _group(h5py, file, "model_weights")
    if len(weights) > _MAX_LAYERS:
        raise FileError(f"it has {len(weights)} layers. {DAMAGED}")
    for name in file:
        if name not in ("model_weights", "optimizer_weights"):
            raise FileError(
                f"its group {name[:80]!r} would be left over: a model of Keras has none of that "
                f"name. {DAMAGED}"
            )
    return Contents(text, {layer: _arrays(h5py, weights, layer) for layer in weights})


def _group(h5py: Any, parent: Any, name: str) -> Any:
    found = parent.get(name) if isinstance(parent.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(found, h5py.Group):
        raise FileError(f"its group {name[:80]!r} is missing. {DAMAGED}")
    return found


def _arrays(h5py: Any, weights: Any, layer: str) -> dict[str, npt.NDArray[Any]]:
    group = _group(h5py, weights, layer)
    arrays: dict[str, npt.NDArray[Any]] = {}
    names = _names(group)
    for name in names:
        *folders, last = name.split("/")
        if len(folders) > 16:
            raise FileError(f"{layer}: the array {name[:80]!r} is nested too deeply. {DAMAGED}")
        inner = group
        for folder in folders:
            inner = _group(h5py, inner, folder)
        word = last.split(":")[0]
        if word in arrays:
            raise FileError(f"{layer}: two arrays are called {word[:80]!r}. {DAMAGED}")
        arrays[word] = _array(h5py, inner, last, f"{layer}: {name[:80]!r}")
    _nothing_left(h5py, group, layer, set(names))
    return arrays


def _nothing_left(h5py: Any, group: Any, layer: str, names: set[str]) -> None:
    """Refuse an array in the group of a layer that its list does not name."""

    def left(name: str, found: Any) -> str | None:
        return name if isinstance(found, h5py.Dataset) and name not in names else None

    name = group.visititems(left)
    if name is not None:
        raise FileError(
            f"{layer}: its array {name[:80]!r} would be left over: "
            f"it is not in the layer's list of weights. {DAMAGED}"
        )


def _names(group: Any) -> list[str]:
    """The names of a layer's arrays; long lists are split into several attributes."""
    rows: list[Any] = []
    keys = ["weight_names"] if "weight_names" in group.attrs else [f"weight_names{k}" for k in range(1000)]
    for key in keys:
        if key not in group.attrs:
            break
        value = _attribute(group, key)
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
            raise FileError(f"its list of weights is none. {DAMAGED}")
        rows += list(value)
    if len(rows) > 64:
        raise FileError(f"a layer with {len(rows)} arrays. {DAMAGED}")
    return [row.decode() if isinstance(row, bytes) else str(row) for row in rows]


def _attribute(owner: Any, key: str) -> Any:
    about = owner.attrs.get_id(key)
    if about.get_space().get_simple_extent_npoints() * about.get_type().get_size() > _MAX_CONFIG:
        raise FileError(f"its attribute {key!r} is too long. {DAMAGED}")
    return owner.attrs[key]


def _array(h5py: Any, group: Any, name: str, what: str) -> npt.NDArray[Any]:
    data = group.get(name) if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external or data.shape is None:
        raise FileError(f"{what} is missing, or stands in another file. {DAMAGED}")
    if data.dtype.kind not in "fiu" or data.dtype.itemsize > 8:
        raise FileError(f"{what} has dtype {data.dtype}, but numbers are needed. {DAMAGED}")
    size = prod(data.shape) * data.dtype.itemsize
    if size > _MAX_SPARE and data.id.get_storage_size() < size:
        raise FileError(
            f"{what} of shape {data.shape} takes {size} bytes, but the file stores "
            f"{data.id.get_storage_size()}. {DAMAGED}"
        )
    array = np.asarray(data[()])
    check_numbers(what, array)
    return array


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
