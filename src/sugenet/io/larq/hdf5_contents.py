"""The model text and the arrays in a Keras 2 `.h5` file, read with h5py, in a process of its own.

The HDF5 library trusts its files: on some damaged ones it crashes or never ends. A process of its own turns
both into an error. Nothing in a file is run, no link out of it is followed, and no array is read before its
size is known to be right.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents, check_file, child_array, child_group, opened, read_apart, write_contents

__all__ = ["DAMAGED", "main", "read_contents"]

_MAX_CONFIG = 1 << 24
_MAX_LAYERS = 10_000
_SECONDS = 10.0
DAMAGED = "The file is damaged, or no model that Keras 2 saved: write model.save('net.h5')."


def read_contents(path: str | Path, *, apart: bool = True) -> Contents:
    """Read a file, in a process of its own unless told otherwise.

    Raises
    ------
    FileError
        For files that are damaged, or are not of Keras.
    """
    place = Path(path)
    check_file(place, DAMAGED, " Keras 3 (.keras) is not read: save as .h5.")
    if not apart or not sys.executable:
        return _read(place)
    return read_apart("sugenet.io.larq.hdf5_contents", place, _SECONDS, DAMAGED)


def main(arguments: Sequence[str]) -> int:
    """Read one file and write its contents to standard output: the other side of `read_contents`."""
    return write_contents(lambda: _read(Path(arguments[0])))


def _read(place: Path) -> Contents:
    return opened(place, _contents, DAMAGED, "Keras and Larq", "larq")


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
    weights = child_group(h5py, file, "model_weights", DAMAGED)
    if len(weights) > _MAX_LAYERS:
        raise FileError(f"it has {len(weights)} layers. {DAMAGED}")
    for name in file:
        if name not in ("model_weights", "optimizer_weights"):
            raise FileError(
                f"its group {name[:80]!r} would be left over: a model of Keras has none of that "
                f"name. {DAMAGED}"
            )
    return Contents(text, {layer: _arrays(h5py, weights, layer) for layer in weights})


def _arrays(h5py: Any, weights: Any, layer: str) -> dict[str, npt.NDArray[Any]]:
    group = child_group(h5py, weights, layer, DAMAGED)
    arrays: dict[str, npt.NDArray[Any]] = {}
    names = _names(group)
    for name in names:
        *folders, last = name.split("/")
        if len(folders) > 16:
            raise FileError(f"{layer}: the array {name[:80]!r} is nested too deeply. {DAMAGED}")
        inner = group
        for folder in folders:
            inner = child_group(h5py, inner, folder, DAMAGED)
        word = last.split(":")[0]
        if word in arrays:
            raise FileError(f"{layer}: two arrays are called {word[:80]!r}. {DAMAGED}")
        arrays[word] = child_array(h5py, inner, last, f"{layer}: {name[:80]!r}", DAMAGED)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
