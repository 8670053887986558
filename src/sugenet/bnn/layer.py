"""Any layer: one type for all kinds, and what can be said of each."""

from __future__ import annotations

from typing import TypeAlias

from sugenet.bnn.conv import ConvLayer, PoolLayer
from sugenet.bnn.layers import DenseLayer, LevelLayer
from sugenet.bnn.reals import RealLayer
from sugenet.bnn.stairs import StairConv, StairLayer
from sugenet.errors import NetworkError

__all__ = ["Binary", "Layer", "dense_of", "gives", "tops_of"]

Binary: TypeAlias = DenseLayer | LevelLayer | ConvLayer | PoolLayer | RealLayer
"""What gives bits, pooling where it reads bits."""

Layer: TypeAlias = Binary | StairLayer | StairConv


def tops_of(layer: Layer) -> tuple[int, ...] | None:
    """The largest level of each input that the layer reads, or None when it reads bits."""
    if isinstance(layer, LevelLayer | StairLayer):
        return tuple(layer.tops.tolist())
    if isinstance(layer, ConvLayer | PoolLayer | StairConv) and layer.top is not None:
        return (layer.top,) * layer.inputs
    return None


def gives(layer: Layer) -> int | None:
    """The largest level that the layer gives, or None when it gives bits."""
    if isinstance(layer, StairLayer | StairConv):
        return layer.height
    return layer.top if isinstance(layer, PoolLayer) else None


def dense_of(layer: Layer) -> DenseLayer:
    """The layer as neurons over bits; staircases have to be cut first."""
    assert not isinstance(layer, StairLayer | StairConv)
    if isinstance(layer, RealLayer):
        raise NetworkError(
            "the first layer reads real numbers as they are: it has no neurons over bits to cut, unroll or "
            "simplify."
        )
    return layer if isinstance(layer, DenseLayer) else layer.unrolled()
