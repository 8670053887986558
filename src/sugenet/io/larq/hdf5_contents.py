"""Read the model text and the arrays of a Keras `.h5` file, or its weights alone, in a separate process.

The HDF5 library trusts its files: on some damaged ones it crashes or never ends. A separate process turns
both into an error. Nothing in a file is run, no link out of it is followed, and an array is read only after
its size has been checked.
"""

import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.hdf5 import Contents, Hdf5File, Hdf5Format
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Array

__all__ = ["CONTAINERS", "DAMAGED", "KERAS"]

_MAX_CONFIG = 1 << 24
_MAX_LAYERS = 10_000
CONTAINERS = ("layers", "_layer_checkpoint_dependencies")
"""Groups for the layers of a model in files by path: Keras 3, and early `.keras` files."""
_TRAINED = ("optimizer", "_optimizer", "metrics", "_metrics", "loss", "_loss_tracker", "_compile_metrics")
"""Groups for resuming training, which are not part of the network."""
DAMAGED = "The file is damaged, or no model that Keras saved: write model.save('net.h5')."


def _contents(hdf5: Hdf5File, file: Any) -> Contents:
    if "model_config" in file.attrs:
        raw = _attribute(file, "model_config")
        text = raw.decode() if isinstance(raw, bytes) else str(raw)
        refuse_if(len(text) > _MAX_CONFIG, f"its model_config has {len(text)} characters. {DAMAGED}")
        for name in file:
            refuse_if(
                name not in ("model_weights", "optimizer_weights"),
                f"its group {name[:80]!r} would be left over: a model of Keras has none of that "
                f"name. {DAMAGED}",
            )
        return Contents(text, _by_layer(hdf5, hdf5.group(file, "model_weights")))
    if "layer_names" in file.attrs or "layer_names0" in file.attrs:
        return Contents("", _by_layer(hdf5, file))
    if any(name in file for name in CONTAINERS):
        return _by_path(hdf5, file)
    raise FileError(f"it holds neither a model nor weights of Keras. {DAMAGED}")


def _by_layer(hdf5: Hdf5File, weights: Any) -> dict[str, dict[str, Array]]:
    """Read weights as Keras 2 stores them: one group per layer, with a list of its arrays."""
    refuse_if(len(weights) > _MAX_LAYERS, f"it has {len(weights)} layers. {DAMAGED}")
    return {layer: _arrays(hdf5, weights, layer) for layer in weights}


def _by_path(hdf5: Hdf5File, file: Any) -> Contents:
    """Read weights as Keras 3 stores them, and Keras 2 in `.keras` files.

    The arrays ``vars/0``, ``vars/1``, ... are below a path of containers and classes.
    """
    arrays: dict[str, dict[str, Array]] = {}
    names, indices = dict[str, str](), list[str]()
    file.visititems(lambda path, _: indices.append(path) if len(indices) <= 8 * _MAX_LAYERS else True)
    refuse_if(len(indices) > 8 * _MAX_LAYERS, f"it has more than {8 * _MAX_LAYERS} groups. {DAMAGED}")
    for path in indices:
        if path.split("/")[0] in _TRAINED:
            continue
        item, (owner, _, last) = file[path], path.rpartition("/")
        if isinstance(item, hdf5.h5py.Group):
            if last == "vars" and "name" in item.attrs:
                value = _attribute(item, "name")
                names[owner] = value.decode() if isinstance(value, bytes) else str(value)
            continue
        above, _, where = owner.rpartition("/")
        refuse_if(where != "vars", f"its array {path[:80]!r} would be left over. {DAMAGED}")
        group = hdf5.group(file, owner)
        arrays.setdefault(above, {})[last] = hdf5.array(group, last, repr(path[:80]))
    return Contents("", arrays, {"names": names})


def _arrays(hdf5: Hdf5File, weights: Any, layer: str) -> dict[str, Array]:
    """Return the arrays of a layer, or of all layers of a nested model, by their full names."""
    group = hdf5.group(weights, layer)
    arrays: dict[str, Array] = {}
    names = _names(group)
    for name in names:
        *folders, last = name.split("/")
        refuse_if(len(folders) > 16, f"{layer}: the array {name[:80]!r} is nested too deeply. {DAMAGED}")
        inner = group
        for folder in folders:
            inner = hdf5.group(inner, folder)
        refuse_if(name in arrays, f"{layer}: two arrays are called {name[:80]!r}. {DAMAGED}")
        arrays[name] = hdf5.array(inner, last, f"{layer}: {name[:80]!r}")
    _nothing_left(hdf5, group, layer, set(names))
    return arrays


def _nothing_left(hdf5: Hdf5File, group: Any, layer: str, names: set[str]) -> None:
    """Refuse an array in the group of a layer that its list does not name."""

    def left(name: str, item: Any) -> str | None:
        return name if isinstance(item, hdf5.h5py.Dataset) and name not in names else None

    name = group.visititems(left)
    refuse_if(
        name is not None,
        f"{layer}: its array {str(name)[:80]!r} would be left over: "
        f"it is not in the layer's list of weights. {DAMAGED}",
    )


def _names(group: Any) -> list[str]:
    """Return the names of a layer's arrays; long lists are split into several attributes."""
    rows: list[Any] = []
    keys = ["weight_names"] if "weight_names" in group.attrs else [f"weight_names{k}" for k in range(1000)]
    for key in takewhile(group.attrs.__contains__, keys):
        value = _attribute(group, key)
        refuse_if(
            not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes),
            f"its list of weights is invalid. {DAMAGED}",
        )
        rows += list(value)
    refuse_if(len(rows) > 4 * _MAX_LAYERS, f"a layer with {len(rows)} arrays. {DAMAGED}")
    return [row.decode() if isinstance(row, bytes) else str(row) for row in rows]


def _attribute(owner: Any, key: str) -> Any:
    about = owner.attrs.get_id(key)
    refuse_if(
        about.get_space().get_simple_extent_npoints() * about.get_type().get_size() > _MAX_CONFIG,
        f"its attribute {key!r} is too long. {DAMAGED}",
    )
    return owner.attrs[key]


KERAS = Hdf5Format("sugenet.io.larq.hdf5_contents", _contents, DAMAGED, "Keras and Larq", "larq")
"""Files of Keras."""

if __name__ == "__main__":
    sys.exit(KERAS.main())
