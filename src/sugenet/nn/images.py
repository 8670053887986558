"""The rule that decides which samples are images."""

from math import isqrt
from typing import Any

import numpy as np

from sugenet.nn.codings import Steps
from sugenet.nn.network import Network

__all__ = ["grid_of", "image_of"]

MOST_PIXELS = 4096
"""Larger images are shown as tables."""
COLOURS = (1, 3)
"""Numbers of channels of an image: grey, or red, green and blue."""


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


def image_of(network: Network) -> dict[str, Any] | None:
    """Return how a sample is an image: rows, columns, and channels that come first or last; None if it is not
    one.
    """
    grid = grid_of(network)
    if grid is not None:
        return {"rows": grid[0], "columns": grid[1], "channels": 1, "last": True}
    shape, codings = network.encoder.shape or (), network.encoder.codings
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or not (shape[0] in COLOURS or shape[2] in COLOURS):
        return None
    last = shape[2] in COLOURS
    rows, columns, channels = shape if last else (*shape[1:], shape[0])
    first = codings[0]
    if min(rows, columns) < 4 or rows * columns > MOST_PIXELS or not isinstance(first, Steps):
        return None
    ends = first.low, first.high
    if not np.isfinite(ends).all() or first.low == first.high:
        return None
    if any(not isinstance(coding, Steps) or (coding.low, coding.high) != ends for coding in codings):
        return None
    return {"rows": rows, "columns": columns, "channels": channels, "last": last}
