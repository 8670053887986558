"""Small random networks with more than two levels, of every kind, for tests against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from sugenet.bnn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    StairConv,
    StairLayer,
    Window,
    bit,
    integer,
    thermometer,
)
from sugenet.bnn.layer import gives
from tests.problem.small import raw_values

KINDS = ("dense", "bits", "middle", "mixed", "identity", "maps", "pooled first")


def stairs(rng, inputs, tops, outputs=None, height=None):
    """Neurons over levels with steps of different number, filled up with such as are never reached."""
    m, height = outputs or int(rng.integers(1, 5)), height or int(rng.integers(2, 5))
    weights = rng.integers(-2, 3, (m, inputs))
    sizes = np.abs(weights) @ np.asarray(tops, np.int64).reshape(inputs)
    tau = [sorted(rng.integers(0, size + 3, height).tolist()) for size in sizes.tolist()]
    for row in tau:
        short = int(rng.integers(0, height))
        if rng.random() < 0.3:
            row[height - short :] = [1 << 40] * short
    return StairLayer(weights, tau, tops)


def level_network(rng, kind, classes=3, most=150):
    """A network of one kind with at most so many raw inputs, at least two classes among them."""
    while True:
        network = _MAKE[kind](rng, classes)
        values = [raw_values(coding) for coding in network.encoder.codings]
        if prod(map(len, values)) <= most:
            rows = np.array(list(product(*values)), object)
            if len(set(network.predict(rows, engine="definition").tolist())) > 1:
                return network


def _numbers(rng, most=4):
    codings = [bit(), thermometer([1, 2, 3], 0, 4, True), integer(0, 2), integer(0, 3)]
    return Encoder([codings[k] for k in rng.integers(0, 4, int(rng.integers(2, most)))])


def _headed(rng, encoder, layers, classes):
    top = gives(layers[-1])
    size = layers[-1].outputs
    bias = [Fraction(int(rng.integers(-4, 5)), 3) for _ in range(classes)] if rng.random() < 0.5 else 0
    scale = [Fraction(int(rng.integers(1, 4)), 2) for _ in range(classes)] if rng.random() < 0.3 else 1
    tops = None if top is None else [top] * size
    return Network(encoder, layers, Head(rng.integers(-2, 3, (classes, size)), bias, scale, tops))


def _dense(rng, classes):
    encoder = _numbers(rng)
    layers = [stairs(rng, encoder.features, encoder.tops)]
    for _ in range(int(rng.integers(0, 2))):
        layers.append(stairs(rng, layers[-1].outputs, [layers[-1].height] * layers[-1].outputs))
    return _headed(rng, encoder, layers, classes)


def _bits(rng, classes):
    """Steps over the bits of the encoder, categories among them."""
    encoder = Encoder([OneHot(("a", "b", "c")), *_numbers(rng, 3).codings])
    first = stairs(rng, encoder.width, [1] * encoder.width)
    return _headed(rng, encoder, [first], classes)


def _middle(rng, classes):
    """Binary neurons over levels, and bits behind them."""
    encoder = _numbers(rng)
    first = stairs(rng, encoder.features, encoder.tops)
    tops = [first.height] * first.outputs
    weights = rng.integers(-2, 3, (3, first.outputs))
    middle = LevelLayer(weights, rng.integers(0, 2 * first.height + 2, 3), tops)
    last = DenseLayer(rng.integers(-1, 2, (2, 3)), rng.integers(0, 3, 2))
    return _headed(rng, encoder, [first, middle, *([last] if rng.random() < 0.5 else [])], classes)


def _mixed(rng, classes):
    """A binary layer, then steps over its bits."""
    encoder = _numbers(rng)
    first = DenseLayer(rng.integers(-1, 2, (4, encoder.width)), rng.integers(0, 3, 4))
    return _headed(rng, encoder, [first, stairs(rng, 4, [1] * 4)], classes)


def _identity(rng, classes):
    """Saturated outputs: the last levels are the scores, and tie where they are at an end."""
    encoder = _numbers(rng)
    first = stairs(rng, encoder.features, encoder.tops)
    last = stairs(rng, first.outputs, [first.height] * first.outputs, outputs=classes, height=2)
    head = Head(np.eye(classes, dtype=int), tops=[2] * classes)
    return Network(encoder, [first, last], head)


def _maps(rng, classes):
    """A convolution of levels with padding, sometimes a pool of levels and another convolution."""
    top = int(rng.integers(1, 3))
    height, width = ((2, 2), (1, 3), (3, 1), (2, 1))[rng.integers(4)]
    encoder = Encoder([integer(0, top) if top > 1 else bit()] * (height * width))
    window = Window((1, height, width), kernel=(min(height, 2), min(width, 2)), pads=int(rng.integers(0, 2)))
    steps = np.sort(rng.integers(-3, 5, (2, int(rng.integers(2, 4)))), axis=1)
    first = StairConv(
        rng.integers(-2, 3, (2, 1, *window.kernel)), steps, window, top=top, pad=int(rng.integers(0, top + 1))
    )
    layers = [first]
    kind = rng.integers(4)
    if kind < 2:
        shape = first.output_shape
        kernel = (min(shape[1], 2), min(shape[2], 2))
        inner = Window(shape, kernel=kernel, pads=int(kind == 0 and min(kernel) == 2))
        layers.append(PoolLayer(inner, every=bool(rng.integers(2)), top=first.height))
    if kind in (1, 2):
        shape = layers[-1].output_shape
        groups = int(rng.integers(1, 3))
        inner = Window(shape, kernel=1)
        kernel = rng.integers(-1, 2, (2, 2 // groups, 1, 1))
        steps = np.sort(rng.integers(-1, 4, (2, 2)), axis=1)
        layers.append(StairConv(kernel, steps, inner, groups, top=first.height))
    if rng.random() < 0.5:
        last = layers[-1]
        layers.append(stairs(rng, last.outputs, [gives(last)] * last.outputs, outputs=2))
    return _headed(rng, encoder, layers, classes)


def _pooled_first(rng, classes):
    """A pool of the raw levels, then steps."""
    encoder = Encoder([integer(0, 2)] * 4)
    pool = PoolLayer(Window((1, 2, 2), kernel=(1, 2)), every=bool(rng.integers(2)), top=2)
    return _headed(rng, encoder, [pool, stairs(rng, pool.outputs, [2] * pool.outputs)], classes)


_MAKE = dict(zip(KINDS, (_dense, _bits, _middle, _mixed, _identity, _maps, _pooled_first), strict=True))
