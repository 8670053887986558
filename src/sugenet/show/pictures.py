"""Samples that are images, drawn with characters."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from sugenet.bnn import Network, Steps

__all__ = ["picture"]

SHADES = " .:-=+*#%@"


def picture(network: Network, x: Any) -> str | None:
    """Draw a sample whose features are the pixels of a square image; None when they are not.

    Features count as pixels when there is a square number of them, at least 16, all numbers with the same finite range.
    """
    side = isqrt(network.encoder.features)
    ranges = {(c.low, c.high) if isinstance(c, Steps) else None for c in network.encoder.codings}
    if side < 4 or side * side != network.encoder.features or len(ranges) != 1:
        return None
    ends = ranges.pop()
    if ends is None or not all(map(np.isfinite, ends)) or ends[0] == ends[1]:
        return None
    share = (np.asarray(x, dtype=float).reshape(side, side) - ends[0]) / (ends[1] - ends[0])
    shades = np.clip((share * len(SHADES)).astype(int), 0, len(SHADES) - 1)
    return "\n".join("".join(SHADES[shade] * 2 for shade in row).rstrip() for row in shades)
