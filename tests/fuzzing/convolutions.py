"""Small networks of convolutions and pools for forged certificates: pads, strides, groups, levels, and images
that lie pixel by pixel.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sugenet.io.exact.pixels import pixel_by_pixel
from sugenet.nn import Network
from tests.problem.large import small_conv_network
from tests.problem.small import raw_values

__all__ = ["conv_network"]


def conv_network(rng: np.random.Generator, most: int = 150) -> Network:
    """A network with at most so many raw inputs, every third one over wide kernels."""
    while True:
        network = small_conv_network(rng)
        if (
            network.encoder.features > 1
            and prod(len(raw_values(coding)) for coding in network.encoder.codings) <= most
        ):
            break
    if rng.random() < 0.35 and network.encoder.width == network.encoder.features:
        shape = network.layers[0].window.shape
        network = Network(*pixel_by_pixel(network.encoder, network.layers, network.head, shape))
    return network
