"""Handle raw features that are pixels: their names, their order in the source, and images that the user
declares for files with flat rows.

Lowering processes images channel by channel. If the source has them pixel by pixel, the columns of a dense
layer are moved. A convolution of images of shape (height, width, channels) becomes one over images with a
single channel, whose rows hold the channels of each pixel side by side. Its kernel and its step are wider by
the number of channels. So the kernel contains the order, and readers of the layer see inputs numbered as in
the file. A pool becomes the convolution that counts its window.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.io.exact.ops import OpChain
from sugenet.io.exact.report import ImportReport
from sugenet.io.exact.signals import flat_order
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import (
    ConvLayer,
    Encoder,
    Head,
    Layer,
    QuantizedConv,
    RealLayer,
    Window,
)
from sugenet.nn.arrays import Indices, Ints
from sugenet.nn.layers import dense_layer

__all__ = ["pixel_by_pixel", "pixel_names", "pixel_order", "source_shape", "with_image", "with_shape"]

_CHANNELS = (1, 3, 4)


def pixel_names(shape: Sequence[int]) -> list[str] | None:
    """Return the names of the raw features of images of shape (channels, height, width) or (height, width).

    Return None for other shapes.

    Examples
    --------
    >>> pixel_names((1, 2))
    ['pixel (0,0)', 'pixel (0,1)']
    >>> pixel_names((2, 1, 1))
    ['channel 0 pixel (0,0)', 'channel 1 pixel (0,0)']
    """
    if len(shape) not in (2, 3):
        return None
    *channels, height, width = shape
    prefixes = [f"channel {c} " for c in range(channels[0])] if channels and channels[0] > 1 else [""]
    return [f"{c}pixel ({y},{x})" for c in prefixes for y in range(height) for x in range(width)]


def with_image(imported: ImportReport, image: Any, names: object = None) -> ImportReport:
    """Return the same import for samples that are images of this shape.

    The shape is (height, width), (height, width, channels) or (channels, height, width), like the rows of the
    file.
    """
    sizes, encoder = _sizes(image), imported.network.encoder
    refuse_if(
        names is not None, "names= and image= both say what features are called. Leave one of them out."
    )
    refuse_if(
        getattr(imported, "stem", None) is not None,
        "image= has no use: a part in floats reads the pixels. Leave it out.",
    )
    refuse_if(
        prod(sizes) != encoder.features,
        f"image={sizes} has {prod(sizes)} values, but the network reads {encoder.features} features.",
    )
    shape = encoder.shape or imported.shape
    source_sizes = tuple(size for size in shape if size != 1)
    if len(source_sizes) > 1:
        refuse_if(
            source_sizes != tuple(size for size in sizes if size != 1),
            f"image={sizes}: samples of the source have the shape {shape} already. Leave image out.",
        )
        return imported
    colours_last = len(sizes) == 3 and (sizes[2] in _CHANNELS or sizes[0] not in _CHANNELS)
    maps = (sizes[2], *sizes[:2]) if colours_last else sizes
    called = pixel_names(maps)
    assert called is not None
    if colours_last:
        order = np.arange(prod(sizes)).reshape(maps).transpose(1, 2, 0).reshape(-1)
        called = [called[index] for index in order.tolist()]
    return _shaped(imported, called, sizes)


def with_shape(imported: ImportReport, shape: tuple[int, ...]) -> ImportReport:
    """Return the same import for samples of this shape, if the source was followed as flat rows.

    The shape is (channels, height, width) or (height, width).
    """
    flat = len(imported.shape) == 1 and getattr(imported, "stem", None) is None
    called = pixel_names(shape) if flat and prod(shape) == imported.network.encoder.features else None
    return imported if called is None else _shaped(imported, called, shape)


def _shaped(imported: ImportReport, names: list[str], shape: tuple[int, ...]) -> ImportReport:
    encoder = Encoder(imported.network.encoder.codings, names, shape)
    return replace(imported, network=replace(imported.network, encoder=encoder))


def _sizes(image: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(image)
    except TypeError:
        sizes = ()
    valid = all(
        isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    refuse_if(
        len(sizes) not in (2, 3) or not valid,
        f"image={image!r} must be (height, width), such as (28, 28), or with channels, such as "
        f"(32, 32, 3) or (3, 32, 32).",
    )
    return tuple(int(size) for size in sizes)


def source_shape(chain: OpChain) -> tuple[int, ...]:
    """Return the shape of one sample in the source."""
    return (
        (*chain.shape[1:], chain.shape[0]) if chain.channels_last and len(chain.shape) == 3 else chain.shape
    )


def pixel_order(shape: Sequence[int]) -> Indices:
    """Return the channel-by-channel position of each position of a flat image laid out pixel by pixel.

    `shape` is (channels, height, width).

    Examples
    --------
    >>> pixel_order((2, 1, 3)).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    return flat_order(np.arange(prod(shape)), tuple(shape), "HWC")


def pixel_by_pixel(
    encoder: Encoder, layers: Iterable[Layer], head: Head, shape: Sequence[int]
) -> tuple[Encoder, tuple[Layer, ...], Head]:
    """Return the same network for images laid out pixel by pixel; `shape` is (channels, height, width)."""
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
    refuse_if(
        first.every is not None and not first.is_binary,
        "max pooling of raw levels that lie pixel by pixel. Pool after the first layer, or lay "
        "the samples out channel by channel.",
    )
    if first.window is None:
        if isinstance(first, RealLayer):
            new = RealLayer(first.weights[:, order], first.theta)
        else:
            columns, tops = (bits, None) if first.tops is None else (order, first.tops[order])
            new = dense_layer(first.weights[:, columns], first.tau, tops, **marks)
        return moved, (new, *kept[1:]), head
    kernel, slide = _widened(first.weights, first.window, first.groups)
    if isinstance(first, RealLayer):
        new = RealLayer(kernel, first.theta, slide)
    elif isinstance(first, QuantizedConv):
        new = QuantizedConv(kernel, first.steps, slide, top=first.top, pad=first.pad)
    else:
        top = None if first.tops is None else int(first.tops[0])
        new = ConvLayer(kernel, first.tau.reshape(first.output_shape), slide, 1, top, **marks)
    return moved, (new, *kept[1:]), head


def _widened(weights: Ints, window: Window, groups: int) -> tuple[Ints, Window]:
    """Return kernel and window over one channel that holds all channels of a pixel side by side.

    A dilated kernel gets zeros between.
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
