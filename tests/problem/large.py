"""Convolutional networks for tests: small ones with everything that a convolution can have,
and one of the size of CNV.
"""

from __future__ import annotations

import numpy as np

from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    Network,
    OneHot,
    PoolLayer,
    Window,
    integer,
    thermometer,
)

SHAPE = (3, 32, 32)


def small_conv_network(rng):
    """Levels, bits or coded features under a convolution with groups, pads and strides; pooling, a second
    convolution, a dense layer.
    """
    shape = (int(rng.integers(1, 3)), int(rng.integers(2, 4)), int(rng.integers(2, 4)))
    size = int(np.prod(shape))
    kind = rng.integers(3)
    top = int(rng.integers(1, 3)) if kind == 0 else None
    groups = shape[0] if rng.random() < 0.3 else 1
    window = Window(shape, int(rng.integers(1, 3)), int(rng.integers(1, 3)), 1, int(rng.integers(0, 2)))
    weights = rng.integers(-2, 3, (int(rng.integers(1, 3)) * groups, shape[0] // groups, *window.kernel))
    most = int(np.abs(weights).sum() // len(weights)) * (top or 1)
    layers = [
        ConvLayer(weights, rng.integers(0, most + 2, (len(weights), *window.positions)), window, groups, top)
    ]
    if rng.random() < 0.6:
        before = layers[-1].output_shape
        layers.append(PoolLayer(Window(before, min(2, *before[1:]), 1), rng.random(before[0]) < 0.5))
    if rng.random() < 0.6:
        before = layers[-1].output_shape
        kernel = rng.integers(-2, 3, (2, before[0], *[min(2, *before[1:])] * 2))
        layers.append(
            ConvLayer(
                kernel,
                rng.integers(0, int(np.abs(kernel).sum()) // 2 + 2, 2),
                Window(before, kernel.shape[2:]),
            )
        )
    width = layers[-1].outputs
    if rng.random() < 0.5:
        rows = rng.integers(-2, 3, (4, width))
        layers.append(DenseLayer(rows, rng.integers(0, int(np.abs(rows).sum()) // 4 + 2, 4)))
        width = 4
    head = Head(rng.integers(-2, 3, (3, width)), rng.integers(-1, 2, 3).tolist())
    return Network(_encoder(rng, kind, size, top), layers, head)


def _encoder(rng, kind, size, top):
    if kind == 0:
        return Encoder([integer(0, top)] * size)
    if kind == 1:
        return Encoder.of_bits(size)
    codings = []
    while size:
        width = int(rng.integers(1, min(size, 3) + 1))
        numbers = thermometer(list(range(1, width + 1)), 0, width, whole=True)
        codings.append(OneHot(tuple("abc"[:width])) if rng.random() < 0.5 else numbers)
        size -= width
    return Encoder(codings)


def one_convolution(seed=0):
    """A convolution of 64x3x3x3 over 3x32x32 bytes."""
    rng = np.random.default_rng(seed)
    layer = ConvLayer(
        rng.choice([-1, 1], (64, 3, 3, 3)),
        27 * 255 // 2 + rng.integers(-400, 400, 64),
        Window(SHAPE, 3),
        top=255,
    )
    return Network(Encoder([integer(0, 255)] * 3072), [layer], Head(rng.choice([-1, 1], (10, layer.outputs))))


def cnv(lead=0, seed=0):
    """Six convolutions, two poolings and three dense layers; the class of one sample may be far ahead."""
    rng = np.random.default_rng(seed)
    layers, shape, top = [], SHAPE, 255
    for out in (64, 64, "pool", 128, 128, "pool", 256, 256):
        if out == "pool":
            layers.append(PoolLayer(Window(shape, 2, 2)))
        else:
            weights = rng.choice([-1, 1], (out, shape[0], 3, 3))
            middle, spread = weights[0].size * (top or 1) // 2, 8 * (top or 1)
            layers.append(
                ConvLayer(weights, middle + rng.integers(-spread, spread + 1, out), Window(shape, 3), top=top)
            )
            top = None
        shape = layers[-1].output_shape
    width = layers[-1].outputs
    for size in (512, 512):
        layers.append(DenseLayer(rng.choice([-1, 1], (size, width)), np.full(size, width // 2)))
        width = size
    return Network(
        Encoder([integer(0, 255)] * 3072), layers, Head(rng.choice([-1, 1], (10, width)), [lead, *[0] * 9])
    )


def image(seed=1):
    """A sample for them."""
    return np.random.default_rng(seed).integers(0, 256, 3072).tolist()
