"""Binary expansion: replace staircases by their steps, for the same network over bits (docs/theory.md 3.4).

A neuron with M steps becomes M binary neurons with the same weights. A neuron that read its level reads these
M bits instead, each with the weight of the level. Convolutions and pooling keep their kind, with M channels
per channel.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.nn.arrays import Ints, make_sure
from sugenet.nn.conv import ConvLayer
from sugenet.nn.head import Head
from sugenet.nn.layers import DenseLayer, Layer, dense_layer

__all__ = ["expanded_layers", "is_expanded", "owners_of"]

_Places: TypeAlias = npt.NDArray[np.intp]

_INSTEAD = "Ask what works on levels: predictions, and the engine 'dual'."


def is_expanded(layers: Sequence[Layer], head: Head) -> bool:
    """Return whether all layers after the first have at most two levels."""
    later = any(layer.tops is not None for layer in layers[1:])
    return head.tops is None and not later and all(layer.is_binary for layer in layers)


def expanded_layers(
    layers: Sequence[Layer], head: Head, *, from_levels: bool
) -> tuple[tuple[Layer, ...], Head]:
    """Return layers and a head over bits that give the same match counts of the classes.

    `from_levels` says whether the first layer reads levels instead of the bits of the encoder.
    """
    _make_sure(layers, head)
    made: list[Layer] = []
    source: _Places | None = None  # the value to which each bit belongs; None: each bit is a value
    for number, layer in enumerate(layers):
        on_levels = number == 0 and from_levels and layer.tops is not None
        binary = _first(layer) if on_levels else _over_bits(layer, source)
        following = layers[number + 1] if number + 1 < len(layers) else None
        binary, source = _arranged(binary, layer, following)
        made.append(binary)
    if head.tops is None:
        return tuple(made), head
    weights = head.weights if source is None else _spread(head.weights, source)
    return tuple(made), Head(weights, head.bias, head.scale)


def owners_of(layers: Sequence[Layer]) -> tuple[_Places | None, ...]:
    """Return, for each layer, the neuron (from 0) to which each bit of the expanded layer belongs.

    None if the layer itself gives bits. The bits of a neuron are in the order of their levels.
    """
    return tuple(
        _owners(layer, following) for layer, following in zip(layers, (*layers[1:], None), strict=False)
    )


def _first(layer: Layer) -> Layer:
    """Return the first layer, which still reads levels unless it is a pool."""
    if layer.every is None or layer.window is None:
        return layer.expanded()
    # over the thermometer bits of each feature in turn
    pool, indices = layer.unrolled(), _by_channel(layer.window.shape, layer.height)
    return DenseLayer(pool.weights[:, np.argsort(indices, kind="stable")], pool.tau)


def _over_bits(layer: Layer, source: _Places | None) -> Layer:
    binary = layer.expanded()
    if binary.tops is None:
        return binary
    if isinstance(binary, ConvLayer):  # over the thermometer bits of its levels, channel by channel
        top = binary.top or 1
        kernel, tau = np.repeat(binary.weights, top, axis=1), binary.tau.reshape(binary.output_shape)
        return ConvLayer(kernel, tau, binary.window.widened(top), binary.groups)
    rows = binary.weights if source is None else _spread(binary.weights, source)
    return DenseLayer(rows, binary.tau, **binary.marks)


def _arranged(binary: Layer, layer: Layer, following: Layer | None) -> tuple[Layer, _Places | None]:
    """Return the expanded layer, its bits as the next layer reads them, and the value of each bit."""
    here, there = _owners(layer, None), _owners(layer, following)
    if here is None or there is None or np.array_equal(here, there):
        return binary, there
    # the bits of a value are in the order of their levels on both sides
    order = np.empty(len(here), np.intp)
    order[np.argsort(there, kind="stable")] = np.argsort(here, kind="stable")
    dense = binary if binary.kind == "dense" else binary.unrolled()
    return dense_layer(dense.weights[order], dense.tau[order], dense.tops), there


def _owners(layer: Layer, following: Layer | None) -> _Places | None:
    """Return the value to which each bit belongs.

    Bits of maps are ordered by channel, level and pixel; other bits by value.
    """
    if layer.is_binary:
        return None
    maps = layer.output_shape
    if following is not None and following.window is not None:
        maps = following.window.shape
    top = layer.height
    return np.repeat(np.arange(layer.outputs), top) if maps is None else _by_channel(maps, top)


def _by_channel(shape: tuple[int, int, int], top: int) -> _Places:
    """Return the value of each bit of maps whose bits are ordered by channel, level and pixel."""
    channels, pixels = shape[0], shape[1] * shape[2]
    values = np.arange(channels * pixels).reshape(channels, 1, pixels)
    return np.broadcast_to(values, (channels, top, pixels)).reshape(-1)


def _spread(weights: Ints, source: _Places) -> Ints:
    return np.ascontiguousarray(weights[:, source])


def _make_sure(layers: Sequence[Layer], head: Head) -> None:
    """Check that all weights fit into memory once each step has its own, before any are written."""
    steps = [layer.height for layer in layers]
    needed = head.weights.size * (steps[-1] if steps else 1)
    for layer, height, read in zip(layers, steps, [1, *steps], strict=False):
        needed += layer.weights.size * height * read if layer.every is None else 0
    neurons = sum(layer.outputs * n_steps for layer, n_steps in zip(layers, steps, strict=True))
    make_sure(8 * needed, f"a network of {neurons:,} neurons, one for each step,", _INSTEAD)
