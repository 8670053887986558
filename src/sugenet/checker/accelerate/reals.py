"""Inputs that are real numbers, by the definition: the first layer has thresholds on real sums, kept
exactly.

To be ensured: a witness is worked out in fractions, and refused where a sum is so near a threshold that
rounding in the file that the network was read from could decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, Layer, PoolLayer
from sugenet.checker.accelerate.products import Ints

__all__ = [
    "LONGEST",
    "reads",
    "sums_of",
    "unit_of_all",
]

LONGEST = 1 << 14


def unit_of_all(values: Iterable[Fraction]) -> int | None:
    """The least common denominator; None where it is so long that no honest question needs it,
    and sums would take for ever.
    """
    unit = 1
    for denominator in {value.denominator for value in values}:
        unit = lcm(unit, denominator)
        if unit.bit_length() > LONGEST:
            return None
    return unit


def reads(layer: Layer, j: int) -> tuple[npt.NDArray[np.intp], Ints]:
    """Inputs and weights of neuron j, from 0."""
    if not isinstance(layer, ConvLayer | PoolLayer):
        inputs = np.flatnonzero(layer.weights[j])
        return inputs, layer.weights[j][inputs]
    channels, height, width = layer.window.shape
    out, position = divmod(j, len(layer.window.taps))
    pixels = layer.window.taps[position]
    inside = pixels >= 0
    if isinstance(layer, PoolLayer):
        return out * height * width + pixels[inside], np.ones(int(inside.sum()), np.int64)
    per = channels // layer.groups
    start = out // (len(layer.weights) // layer.groups) * per
    places = (start + np.arange(per))[:, None] * height * width + pixels[inside]
    return places.reshape(-1), layer.weights[out].reshape(per, -1)[:, inside].reshape(-1)


def sums_of(layer: Layer, weights: Ints, values: Ints) -> Ints:
    """Weighted sums of all neurons with other weights of the same shape."""
    if isinstance(layer, ConvLayer):
        return (
            ConvLayer(weights, np.zeros(len(weights), np.int64), layer.window, layer.groups, top=1)
            .sums(values[None])
            .reshape(-1)
        )
    return np.asarray(weights @ values)
