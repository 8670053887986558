"""Names of raw features that are pixels, and images that the user knows of where the file has flat rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.bnn import Encoder
from sugenet.errors import FileError
from sugenet.io.exact.report import Imported

__all__ = ["pixel_names", "with_image", "with_shape"]

_CHANNELS = (1, 3, 4)


def pixel_names(shape: Sequence[int]) -> list[str] | None:
    """Names of the raw features of images of shape (channels, height, width) or (height, width), in order;
    None for what is no image.

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
    front = [f"channel {c} " for c in range(channels[0])] if channels and channels[0] > 1 else [""]
    return [f"{c}pixel ({y},{x})" for c in front for y in range(height) for x in range(width)]


def with_image(found: Imported, image: Any, names: object = None) -> Imported:
    """The same import for samples that are images of this shape: (height, width), (height, width, channels)
    or (channels, height, width), as the rows of the file are laid out.
    """
    sizes, encoder = _sizes(image), found.network.encoder
    if names is not None:
        raise FileError("names= and image= both say what features are called. Leave one of them out.")
    if getattr(found, "stem", None) is not None:
        raise FileError("image= has no use: a part in floats reads the pixels. Leave it out.")
    if prod(sizes) != encoder.features:
        raise FileError(
            f"image={sizes} has {prod(sizes)} values, but the network reads {encoder.features} features."
        )
    shape = encoder.shape or found.shape
    own = tuple(size for size in shape if size != 1)
    if len(own) > 1:
        if own != tuple(size for size in sizes if size != 1):
            raise FileError(
                f"image={sizes}: samples of the source have the shape {shape} already. Leave image out."
            )
        return found
    colours_last = len(sizes) == 3 and (sizes[2] in _CHANNELS or sizes[0] not in _CHANNELS)
    maps = (sizes[2], *sizes[:2]) if colours_last else sizes
    called = pixel_names(maps)
    assert called is not None
    if colours_last:
        order = np.arange(prod(sizes)).reshape(maps).transpose(1, 2, 0).reshape(-1)
        called = [called[place] for place in order.tolist()]
    return _shaped(found, called, sizes)


def with_shape(found: Imported, shape: tuple[int, ...]) -> Imported:
    """The same import for samples of this shape, (channels, height, width) or (height, width), where the
    source was followed as flat rows.
    """
    flat = len(found.shape) == 1 and getattr(found, "stem", None) is None
    called = pixel_names(shape) if flat and prod(shape) == found.network.encoder.features else None
    return found if called is None else _shaped(found, called, shape)


def _shaped(found: Imported, names: list[str], shape: tuple[int, ...]) -> Imported:
    encoder = Encoder(found.network.encoder.codings, names, shape)
    return replace(found, network=replace(found.network, encoder=encoder))


def _sizes(image: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(image)
    except TypeError:
        sizes = ()
    whole = all(
        isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    if len(sizes) not in (2, 3) or not whole:
        raise FileError(
            f"image={image!r} must be (height, width), such as (28, 28), or with channels, such as "
            f"(32, 32, 3) or (3, 32, 32)."
        )
    return tuple(int(size) for size in sizes)
