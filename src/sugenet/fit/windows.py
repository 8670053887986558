"""Which inputs the neurons of a first layer read, where each sees a window of the image only."""

from __future__ import annotations

from math import isqrt

import numpy as np

from sugenet.bnn import Encoder
from sugenet.bnn.arrays import Bits
from sugenet.errors import SugenetError

__all__ = ["windows"]


def windows(encoder: Encoder, levels: bool, side: int, neurons: int, seed: int) -> Bits:
    """For each neuron the inputs that it reads: those of a square of pixels, whose place is drawn.

    Parameters
    ----------
    encoder
        Of square images, pixels row by row.
    levels
        Whether there is one input for each pixel, not one for each bit.
    side
        Rows and columns of the square, which lies inside the image.
    neurons, seed
        How many squares, and what decides their places.

    Examples
    --------
    >>> from sugenet.bnn import thermometer
    >>> seen = windows(Encoder([thermometer([3, 5])] * 9), levels=False, side=2, neurons=4, seed=0)
    >>> seen.shape, seen.sum(axis=1).tolist()
    ((4, 18), [8, 8, 8, 8])
    """
    image = isqrt(encoder.features)
    if image * image != encoder.features:
        raise SugenetError(
            f"window={side} is for square images, pixels row by row, but {encoder.features} features "
            "are no square. Leave window= out."
        )
    if side > image:
        raise SugenetError(
            f"window={side} is larger than images of {image} x {image} pixels. Give at most {image}."
        )
    corners = np.random.default_rng([seed, 3]).integers(0, image - side + 1, (neurons, 2, 1))
    pixels = np.arange(encoder.features) if levels else np.array(encoder.feature_of, np.int64)
    places = np.stack([pixels // image, pixels % image])
    return np.asarray(((places >= corners) & (places < corners + side)).all(axis=1))
