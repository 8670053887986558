"""The shape of values on their way through Keras layers, and what every rule takes from a layer: arrays of
known shape, whole numbers, windows and pads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Op, check_maps
from sugenet.io.larq.keras_file import KerasLayer

__all__ = ["MAX_SIDE", "LayerWalk", "Pads", "maps_of", "pads_of", "parameter", "two", "whole"]

Pads: TypeAlias = tuple[int, int, int, int]
MAX_SIDE = 1 << 16


@dataclass(frozen=True, eq=False)
class LayerWalk:
    """The shape of the maps so far, channels first, and the operations."""

    shape: tuple[int, ...]
    rank: int
    """Axes that Keras counts besides the batch: 1 for features, 2 for rows of channels, 3 for maps."""
    ops: tuple[Op, ...] = ()
    left_out: tuple[str, ...] = ()

    def then(self, *ops: Op, shape: tuple[int, ...] | None = None) -> LayerWalk:
        """With more operations behind them."""
        shape = self.shape if shape is None else shape
        return replace(self, ops=(*self.ops, *ops), shape=shape, rank=1 if len(shape) == 1 else self.rank)


def parameter(layer: KerasLayer, name: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array of a layer, which must have this shape."""
    found = layer.arrays.get(name)
    if found is None:
        raise FileError(
            f"{layer.where}: its array {name!r} is missing from the file. "
            f"It has {', '.join(layer.arrays) or 'none'}."
        )
    if found.shape != shape:
        raise FileError(f"{layer.where}: its array {name!r} has shape {found.shape}, but {shape} is needed.")
    return found if found.dtype.kind == "f" else found.astype(np.float32)


def whole(layer: KerasLayer, key: str, otherwise: Any = None) -> int:
    """A setting that is a whole number from 1."""
    value = layer.config.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1 << 20:
        raise FileError(f"{layer.where}: {key} is {str(value)[:40]!r}, but a whole number from 1 is needed.")
    return value


def two(layer: KerasLayer, key: str, otherwise: Any = 1) -> tuple[int, int]:
    """Height and width; of one dimension the width."""
    value = layer.config.get(key, otherwise)
    row = value if isinstance(value, list) else [value] * (1 if layer.kind.endswith("1D") else 2)
    if len(row) not in (1, 2) or not all(
        isinstance(v, int) and not isinstance(v, bool) and 0 < v <= MAX_SIDE for v in row
    ):
        raise FileError(f"{layer.where}: {key} is {str(value)[:40]!r}, but whole numbers from 1 are needed.")
    return (1, row[0]) if len(row) == 1 else (row[0], row[1])


def maps_of(walk: LayerWalk, layer: KerasLayer) -> tuple[int, int, int]:
    """Channels, height and width of the values that come in."""
    if walk.rank != (2 if "1D" in layer.kind else 3):
        raise FileError(f"{layer.where}: reads maps, but values of shape {walk.shape} come in.")
    if layer.config.get("data_format", "channels_last") not in ("channels_last", None):
        raise FileError(f"{layer.where}: data_format is channels_first. Only channels_last is read.")
    return walk.shape[0], walk.shape[1], walk.shape[2]


def pads_of(
    layer: KerasLayer, sizes: tuple[int, int], spans: tuple[int, int], stride: tuple[int, int]
) -> tuple[Pads, tuple[int, int]]:
    """Pads as TensorFlow lays them, the odd one behind; and the size of the result."""
    kind = layer.config.get("padding", "valid")
    if kind not in ("valid", "same") and (
        kind != "causal" or not layer.kind.endswith(("Conv1D", "Convolution1D"))
    ):
        raise FileError(
            f"{layer.where}: padding {str(kind)[:40]!r}. valid, same, "
            f"and in one dimension causal can be read."
        )
    before, after, out = [0, 0], [0, 0], []
    for axis, (size, span, step) in enumerate(zip(sizes, spans, stride, strict=True)):
        if kind == "same":
            total = max((-(-size // step) - 1) * step + span - size, 0)
            before[axis], after[axis] = total // 2, total - total // 2
        elif kind == "causal" and axis == 1:
            before[axis] = span - 1
        out.append((size + before[axis] + after[axis] - span) // step + 1)
        if out[-1] < 1:
            raise FileError(f"{layer.where}: a window of {spans} does not fit maps of {sizes}.")
    check_maps(layer.where, (1, *out), spans)
    return (before[0], before[1], after[0], after[1]), (out[0], out[1])
