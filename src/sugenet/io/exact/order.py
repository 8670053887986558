"""A network over the inputs of its source in the source's own order,
where lowering took images channel by channel.

A dense layer has its columns moved. A convolution of images of shape (height, width, channels) is one over
images with a single channel whose rows hold the channels of each pixel side by side: its kernel is as many
times wider, and so is its step. So the order lives in the kernel itself, and whatever reads the layer sees
inputs numbered as in the file. A pool becomes the convolution that counts its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from sugenet.bnn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    Layer,
    RealLayer,
    StairConv,
    Window,
)
from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import dense_layer
from sugenet.errors import FileError
from sugenet.io.exact.ops import OpChain
from sugenet.io.exact.signals import flat_order

__all__ = ["pixel_by_pixel", "pixel_order", "source_shape"]


def source_shape(chain: OpChain) -> tuple[int, ...]:
    """Shape of one sample as the source has it."""
    return (
        (*chain.shape[1:], chain.shape[0]) if chain.channels_last and len(chain.shape) == 3 else chain.shape
    )


def pixel_order(shape: Sequence[int]) -> npt.NDArray[np.intp]:
    """For each place of a flat image that lies pixel by pixel, its place channel by channel; `shape` is
    (channels, height, width).

    Examples
    --------
    >>> pixel_order((2, 1, 3)).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    return flat_order(np.arange(prod(shape)), tuple(shape), "HWC")


def pixel_by_pixel(
    encoder: Encoder, layers: Iterable[Layer], head: Head, shape: Sequence[int]
) -> tuple[Encoder, tuple[Layer, ...], Head]:
    """The same network for images that lie pixel by pixel; `shape` is (channels, height, width)."""
    kept, order = tuple(layers), pixel_order(shape)
    bits = np.array([bit for feature in order.tolist() for bit in encoder.group(feature)], dtype=np.intp)
    moved = Encoder(
        [encoder.codings[feature] for feature in order.tolist()],
        [encoder.names[feature] for feature in order.tolist()],
    )
    if not kept:
        return moved, kept, Head(head.weights[:, bits], head.bias, head.scale)
    first, marks = kept[0], {name: getattr(kept[0], name, None) for name in ("flipped", "ties")}
    new: Layer
    if first.every is not None and not first.is_binary:
        raise FileError(
            "max pooling of raw levels that lie pixel by pixel. Pool behind the first layer, or lay "
            "the samples out channel by channel."
        )
    if first.window is None:
        if isinstance(first, RealLayer):
            new = RealLayer(first.weights[:, order], first.theta)
        elif first.tops is None:
            new = DenseLayer(first.weights[:, bits], first.tau, **marks)
        else:
            new = dense_layer(first.weights[:, order], first.tau, first.tops[order], **marks)
        return moved, (new, *kept[1:]), head
    kernel, slide = _widened(first.weights, first.window, first.groups)
    if isinstance(first, RealLayer):
        new = RealLayer(kernel, first.theta, slide)
    elif isinstance(first, StairConv):
        new = StairConv(kernel, first.steps, slide, top=first.top, pad=first.pad)
    else:
        top = None if first.tops is None else int(first.tops[0])
        new = ConvLayer(kernel, first.tau.reshape(first.output_shape), slide, 1, top, **marks)
    return moved, (new, *kept[1:]), head


def _widened(weights: Ints, window: Window, groups: int) -> tuple[Ints, Window]:
    """Kernel and window over one channel that holds all channels of a pixel side by side;
    a dilated kernel gets zeros between.
    """
    (channels, height, width), (top, left, bottom, right) = window.shape, window.pads
    outs, per_in, high, wide = weights.shape
    apart = window.dilation[1]
    kernel = np.zeros((outs, high, apart * (wide - 1) + 1, channels), np.int64)
    for out in range(outs):
        group = out * groups // outs
        kernel[out, :, ::apart, group * per_in : (group + 1) * per_in] = weights[out].transpose(1, 2, 0)
    flat = kernel.reshape(outs, 1, high, -1)
    slide = Window(
        (1, height, width * channels),
        flat.shape[2:],
        (window.stride[0], window.stride[1] * channels),
        (window.dilation[0], 1),
        (top, left * channels, bottom, right * channels),
    )
    return flat, slide
