"""Staircases cut into their steps: the same network over bits alone (docs/theory.md 3.4).

A neuron of M steps becomes M binary neurons with the same weights, and who reads its level reads these M bits
instead, each with the weight that the level had. Convolutions and pooling stay what they are, with M channels
for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.bnn.conv import ConvLayer, PoolLayer
from sugenet.bnn.geometry import Window
from sugenet.bnn.head import Head
from sugenet.bnn.layer import Binary, Layer, dense_of, gives, tops_of
from sugenet.bnn.layers import DenseLayer, LevelLayer
from sugenet.bnn.memory import make_sure
from sugenet.bnn.stairs import StairConv, StairLayer

__all__ = ["cut_layers", "is_cut"]

_Places: TypeAlias = npt.NDArray[np.intp]

_INSTEAD = "Ask what works on levels: predictions, and the engine 'dual'."


def is_cut(layers: Sequence[Layer], head: Head) -> bool:
    """Whether nothing behind the first layer knows more than two levels."""
    later = any(tops_of(layer) is not None for layer in layers[1:])
    return head.tops is None and not later and all(gives(layer) is None for layer in layers)


def cut_layers(layers: Sequence[Layer], head: Head, *, from_levels: bool) -> tuple[tuple[Binary, ...], Head]:
    """Layers and head over bits that give the same match counts of the classes.

    `from_levels` says whether the first layer reads levels, and not the bits of the encoder.
    """
    found: list[Binary] = []
    source: _Places | None = None  # which value each bit belongs to; None: each is one
    tops = tops_of(layers[0]) if layers and from_levels else None
    for number, layer in enumerate(layers):
        binary = _first(layer, tops) if number == 0 and tops is not None else _over_bits(layer, source)
        following = layers[number + 1] if number + 1 < len(layers) else None
        binary, source = _arranged(binary, layer, following)
        found.append(binary)
    if head.tops is None:
        return tuple(found), head
    weights = head.weights if source is None else _spread(head.weights, source)
    return tuple(found), Head(weights, head.bias, head.scale)


def _first(layer: Layer, tops: tuple[int, ...]) -> Binary:
    """The first layer, which goes on reading levels where it is no pool."""
    if isinstance(layer, StairLayer):
        _make_sure(layer.outputs * layer.height, layer.inputs)
        return layer.cut()
    if isinstance(layer, StairConv):
        return layer.cut()
    if isinstance(layer, PoolLayer):  # over the thermometer bits of each feature in turn
        pool, places = dense_of(layer.cut()), _by_channel(layer.window.shape, tops[0])
        return DenseLayer(pool.weights[:, np.argsort(places, kind="stable")], pool.tau)
    return layer


def _over_bits(layer: Layer, source: _Places | None) -> Binary:
    if isinstance(layer, StairConv):
        layer = layer.cut()
    if isinstance(layer, ConvLayer) and layer.top is not None:
        return _conv_over_bits(layer)
    if isinstance(layer, PoolLayer):
        return layer.cut()
    if isinstance(layer, StairLayer):
        _make_sure(layer.outputs * layer.height, layer.inputs)
        layer = layer.cut()
    if isinstance(layer, LevelLayer):
        rows = layer.weights if source is None else _spread(layer.weights, source)
        return DenseLayer(rows, layer.tau, flipped=layer.flipped, ties=layer.ties)
    return layer


def _conv_over_bits(layer: ConvLayer) -> ConvLayer:
    """A convolution of levels as one of their thermometer bits, channel by channel."""
    top = layer.top or 1
    old = layer.window
    window = Window((old.shape[0] * top, *old.shape[1:]), old.kernel, old.stride, old.dilation, old.pads)
    _make_sure(len(layer.weights), layer.weights[0].size * top)
    kernel = np.repeat(layer.weights, top, axis=1)
    return ConvLayer(kernel, layer.tau.reshape(layer.output_shape), window, layer.groups)


def _arranged(binary: Binary, layer: Layer, following: Layer | None) -> tuple[Binary, _Places | None]:
    """The cut layer with its bits in the order that the next one needs, and the value of each bit.

    Bits of maps stand channel by channel, level by level, pixel by pixel; others value by value.
    """
    top = gives(layer)
    if top is None:
        return binary, None
    maps = layer.output_shape if isinstance(layer, StairConv | PoolLayer) else None
    wanted = following.window.shape if isinstance(following, StairConv | ConvLayer | PoolLayer) else maps
    if wanted == maps or wanted is None:
        return binary, _by_channel(maps, top) if maps else np.repeat(np.arange(layer.outputs), top)
    here = _by_channel(maps, top) if maps else np.repeat(np.arange(layer.outputs), top)
    there = _by_channel(wanted, top)
    # the bits of a value stand in the order of their levels on both sides
    order = np.empty(len(here), np.intp)
    order[np.argsort(there, kind="stable")] = np.argsort(here, kind="stable")
    if isinstance(binary, LevelLayer):
        return LevelLayer(binary.weights[order], binary.tau[order], binary.tops), there
    dense = dense_of(binary)
    return DenseLayer(dense.weights[order], dense.tau[order]), there


def _by_channel(shape: tuple[int, int, int], top: int) -> _Places:
    """The value of each bit of maps that stand channel by channel, level by level, pixel by pixel."""
    channels, pixels = shape[0], shape[1] * shape[2]
    values = np.arange(channels * pixels).reshape(channels, 1, pixels)
    return np.broadcast_to(values, (channels, top, pixels)).reshape(-1)


def _spread(weights: Ints, source: _Places) -> Ints:
    _make_sure(len(weights), len(source))
    return np.ascontiguousarray(weights[:, source])


def _make_sure(rows: int, columns: int) -> None:
    make_sure(8 * rows * columns, f"{rows:,} steps over {columns:,} inputs", _INSTEAD)
