"""Random small networks of staircases of every kind, and their slow twin in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    Layer,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    Window,
    integer,
)

KINDS = ("dense", "mixed", "bits", "onehot", "conv", "pool", "saturated", "flat", "pooled")


def level_network(rng: np.random.Generator, kind: str) -> Network:
    """A network of one kind with few inputs, so that all of them can be gone through."""
    if kind in ("conv", "pool", "flat"):
        return _maps(rng, kind)
    if kind == "bits":
        encoder = Encoder.of_bits(5)
        first: Layer = stairs(rng, 4, [1] * 5)
    elif kind == "pooled":  # the raw levels go into a pool
        encoder = Encoder.of_integers(4, 0, 2)
        first = PoolLayer(Window((1, 2, 2), (1, 2)), bool(rng.integers(2)), top=2)
    elif kind == "onehot":
        encoder = Encoder([OneHot(("a", "b", "c")), integer(0, 2), OneHot(("u", "v"))])
        first = stairs(rng, 4, [1] * encoder.width)
    else:
        encoder = Encoder([integer(0, 3), integer(-1, 1), integer(0, 1), integer(0, 2)])
        first = stairs(rng, 4, encoder.tops)
    layers = [first]
    if kind == "mixed":
        layers.append(LevelLayer(_weights(rng, (4, 4)), rng.integers(-1, 9, 4), [first.max_level] * 4))
        layers.append(DenseLayer(_weights(rng, (3, 4)), rng.integers(0, 5, 3)))
        layers.append(stairs(rng, 3, [1] * 3))
    layers.append(stairs(rng, 3, [layers[-1].max_level or 1] * layers[-1].outputs))
    weights = np.eye(3, dtype=int) if kind == "saturated" else _weights(rng, (3, 3))
    return Network(encoder, layers, Head(weights, rng.integers(-2, 3, 3), tops=[layers[-1].max_level] * 3))


def _maps(rng: np.random.Generator, kind: str) -> Network:
    encoder = Encoder.of_integers(8, 0, 1) if kind == "pool" else Encoder.of_integers(4, 0, 2)
    top = encoder.codings[0].width
    shape = (2, 2, 2) if kind == "pool" else (1, 2, 2)
    first = _stairs_conv(rng, 2, Window(shape, 2, pads=1), top)
    layers: list[Layer] = [first]
    if kind == "pool":
        layers.append(PoolLayer(Window((2, 3, 3), 2, pads=(0, 0, 1, 1)), [False, True], first.height))
    maps = layers[-1].output_shape
    layers.append(_stairs_conv(rng, 2, Window(maps, 2, stride=2), layers[-1].max_level, groups=2))
    if kind == "flat":  # a dense layer between maps, and bits behind levels
        layers.append(stairs(rng, 4, [layers[-1].max_level] * layers[-1].outputs))
        layers.append(_stairs_conv(rng, 2, Window((1, 2, 2), 2, pads=(1, 0, 0, 1)), layers[-1].max_level))
        window = Window(layers[-1].output_shape, 2)
        layers.append(
            ConvLayer(_weights(rng, (2, 2, 2, 2)), rng.integers(0, 9, 2), window, top=layers[-1].max_level)
        )
    last = layers[-1]
    tops = None if last.max_level is None else [last.max_level] * last.outputs
    return Network(encoder, layers, Head(_weights(rng, (3, last.outputs)), tops=tops))


def stairs(rng: np.random.Generator, outputs: int, tops: Any) -> QuantizedLayer:
    """Random steps: some always reached, some never, some at the same place."""
    weights = _weights(rng, (outputs, len(tops)))
    sizes = np.abs(weights) @ np.asarray(tops)
    steps = [np.sort(rng.integers(-1, size + 3, 3)) for size in sizes]
    return QuantizedLayer(weights, steps, tops)


def _stairs_conv(
    rng: np.random.Generator, channels: int, window: Window, top: int, groups: int = 1
) -> QuantizedConv:
    weights = _weights(rng, (channels, window.shape[0] // groups, *window.kernel))
    steps = np.sort(rng.integers(-6, 9, (channels, 2)), axis=1)
    return QuantizedConv(weights, steps, window, groups, top=top, pad=int(rng.integers(0, top + 1)))


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.integers(-3, 4, shape)


def slow_levels(layer: Layer, values: list[int]) -> list[int]:
    """What a layer gives, tap by tap in Python integers, by the words of its definition."""
    if isinstance(layer, QuantizedLayer):
        sums = [sum(int(w) * a for w, a in zip(row, values, strict=True)) for row in layer.weights]
        low = [
            sum(min(int(w), 0) * int(t) for w, t in zip(row, layer.tops, strict=True))
            for row in layer.weights
        ]
        return [sum(s - b >= t for t in own) for s, b, own in zip(sums, low, layer.tau.tolist(), strict=True)]
    if isinstance(layer, DenseLayer | LevelLayer):
        tops = layer.tops.tolist() if isinstance(layer, LevelLayer) else [1] * layer.inputs
        return [
            int(
                sum(abs(w) * (a if w > 0 else t - a) for w, a, t in zip(row, values, tops, strict=True))
                >= tau
            )
            for row, tau in zip(layer.weights.tolist(), layer.tau.tolist(), strict=True)
        ]
    return _slow_maps(layer, values)


def _slow_maps(layer: Any, values: list[int]) -> list[int]:
    window = layer.window
    channels, height, width = window.shape
    (top, left, _, _), (rows, columns) = window.pads, window.positions
    found = []
    for c in range(layer.output_shape[0]):
        for y in range(rows):
            for x in range(columns):
                total, seen, count = 0, [], 0
                for ky in range(window.kernel[0]):
                    for kx in range(window.kernel[1]):
                        py = y * window.stride[0] - top + ky * window.dilation[0]
                        px = x * window.stride[1] - left + kx * window.dilation[1]
                        inside = 0 <= py < height and 0 <= px < width
                        if isinstance(layer, PoolLayer):
                            seen += [values[(c * height + py) * width + px]] if inside else []
                            continue
                        groups = layer.groups
                        own = channels // groups
                        first = c // (layer.output_shape[0] // groups) * own
                        for k in range(own):
                            w = int(layer.weights[c, k, ky, kx])
                            a = values[((first + k) * height + py) * width + px] if inside else None
                            if isinstance(layer, QuantizedConv):
                                total += w * (layer.pad if a is None else a)
                            elif a is not None:
                                count += abs(w) * (a if w > 0 else (layer.top or 1) - a)
                if isinstance(layer, PoolLayer):
                    found.append(min(seen) if layer.every[c] else max(seen))
                elif isinstance(layer, QuantizedConv):
                    found.append(sum(total >= t for t in layer.steps[c].tolist()))
                else:
                    found.append(int(count >= layer.tau[(c * rows + y) * columns + x]))
    return found


def slow_counts(network: Network, row: Any) -> list[int]:
    """Match counts of the classes for what the first layer reads."""
    values = [int(value) for value in row]
    for layer in network.layers:
        values = slow_levels(layer, values)
    head = network.head
    tops = [1] * head.inputs if head.tops is None else head.tops.tolist()
    return [
        sum(abs(w) * (a if w > 0 else t - a) for w, a, t in zip(own, values, tops, strict=True))
        for own in head.weights.tolist()
    ]
