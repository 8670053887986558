"""Samples that are images, drawn with characters, and the rule that decides which samples are images."""

from math import isqrt
from typing import Any

import numpy as np

from sugenet.nn import Network, Steps

__all__ = ["grid_of", "picture", "shades"]

SHADES = " .:-=+*#%@"


def grid_of(network: Network) -> tuple[int, int] | None:
    """Return the rows and columns of a sample as an image, or None if it is not an image.

    Features count as pixels if their number is a square of at least 16, and all are numbers with the same
    finite range. In addition, they must be named "pixel ..." or have the default names x1, x2, ... A table
    has names of its own.

    Examples
    --------
    >>> from sugenet import models
    >>> grid_of(models.digits()), grid_of(models.breast_cancer())
    ((8, 8), None)
    """
    codings = network.encoder.codings
    side = isqrt(len(codings))
    first = codings[0] if codings else None
    if side < 4 or side * side != len(codings) or not isinstance(first, Steps):
        return None
    ends = first.low, first.high
    if not np.isfinite(ends).all() or first.low == first.high:
        return None
    if any(not isinstance(c, Steps) or (c.low, c.high) != (first.low, first.high) for c in codings):
        return None
    names = network.encoder.names
    if not all("pixel" in name.lower() for name in names) and names != tuple(
        f"x{i}" for i in range(1, len(names) + 1)
    ):
        return None
    return side, side


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
