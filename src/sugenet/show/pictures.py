"""Samples that are images, drawn with characters."""

from typing import Any

import numpy as np

from sugenet.nn import Network, Steps
from sugenet.nn.images import grid_of, image_of

__all__ = ["grey_rows", "picture", "shades", "weight_rows"]

SHADES = " .:-=+*#%@"


def _pixels(network: Network, values: Any) -> Any:
    """Return one value per feature as rows, columns and channels; None if samples are not images."""
    about = image_of(network)
    if about is None:
        return None
    array, sides = np.asarray(values), (about["rows"], about["columns"])
    if about["last"]:
        return array.reshape(*sides, about["channels"])
    return np.moveaxis(array.reshape(about["channels"], *sides), 0, 2)


def weight_rows(network: Network, weights: Any) -> list[list[int]] | None:
    """Return one integer per feature as rows of an image, summed over colours; None if it is not one."""
    pixels = _pixels(network, np.asarray(weights, object))
    return None if pixels is None else pixels.sum(axis=2).tolist()


def grey_rows(network: Network, x: Any) -> list[list[float]] | None:
    """Return a sample as rows of an image from 0 to 1, the mean over colours; None if it is not one."""
    pixels = _pixels(network, np.array(network.encoder.values(x), dtype=float))
    if pixels is None:
        return None
    first = network.encoder.codings[0]
    assert isinstance(first, Steps)
    rows: list[list[float]] = np.clip(
        (pixels.mean(axis=2) - first.low) / (first.high - first.low), 0, 1
    ).tolist()
    return rows


def shades(network: Network, x: Any) -> Any:
    """Return the relative value of each pixel of an image, from 0 to 1, as rows and columns; None if it is
    not one.
    """
    grid = grid_of(network)
    if grid is None:
        return None
    first = network.encoder.codings[0]
    assert isinstance(first, Steps)
    values = np.array(network.encoder.values(x), dtype=float).reshape(grid)
    return np.clip((values - first.low) / (first.high - first.low), 0.0, 1.0)


def picture(network: Network, x: Any) -> str | None:
    """Draw a sample whose features are the pixels of a square image with characters; None if they are not."""
    share = shades(network, x)
    if share is None:
        return None
    levels = np.clip((share * len(SHADES)).astype(int), 0, len(SHADES) - 1)
    return "\n".join("".join(SHADES[shade] * 2 for shade in row).rstrip() for row in levels)
