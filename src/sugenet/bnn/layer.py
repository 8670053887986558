"""Any layer: one type for all kinds, and what can be said of each."""

from __future__ import annotations

from typing import TypeAlias

from sugenet.bnn.conv import ConvLayer, PoolLayer
from sugenet.bnn.layers import DenseLayer, LevelLayer

__all__ = ["Layer", "dense_of", "tops_of"]

Layer: TypeAlias = DenseLayer | LevelLayer | ConvLayer | PoolLayer


def tops_of(layer: Layer) -> tuple[int, ...] | None:
    """The largest level of each input that the layer reads, or None when it reads bits."""
    if isinstance(layer, LevelLayer):
        return tuple(layer.tops.tolist())
    if isinstance(layer, ConvLayer) and layer.top is not None:
        return (layer.top,) * layer.inputs
    return None


def dense_of(layer: Layer) -> DenseLayer:
    """The layer as neurons over bits."""
    return layer if isinstance(layer, DenseLayer) else layer.unrolled()
