"""Inputs that are real numbers, by the definition: the first layer has thresholds on real sums, kept
exactly.

To be ensured: a witness is worked out in fractions, and refused where a sum is so near a threshold that
rounding in the file that the network was read from could decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, Layer, LevelLayer, Network, PoolLayer, Steps
from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import Theta
from sugenet.checker.query import Query
from sugenet.errors import CertificateError

__all__ = [
    "check_real_witness",
    "first_layer",
    "lows_of",
    "reads",
    "real_scores",
    "sums_of",
    "thetas_of",
    "unit_of_all",
]

_LONGEST = 1 << 14


def check_real_witness(witness: Sequence[Any], network: Network, query: Query) -> str:
    """Check in exact arithmetic that an input violates the property; say what was checked.

    Raises `CertificateError` where not.
    """
    raw = [Fraction(value) for value in witness]
    if len(raw) != network.encoder.features or not query.contains(raw):
        raise CertificateError("the witness is not in a box of the query.")
    if not query.violated_by(raw, real_scores(raw, network)):
        raise CertificateError("the witness does not violate the property.")
    return "the witness lies in the box and violates the property, in exact arithmetic"


def real_scores(raw: Sequence[Fraction], network: Network) -> list[Fraction]:
    """The scores of an input between whole numbers, by the exact thresholds of the first layer.

    Raises `CertificateError` where a sum lies between the two ends that a threshold is known by.
    """
    layer = first_layer(network)
    levels = [
        value - low
        for value, low in zip(raw, lows_of(network, [(value, value) for value in raw]), strict=True)
    ]
    unit = unit_of_all(levels)
    if unit is None:
        raise CertificateError(
            f"the values of the witness have a common denominator of more than {_LONGEST:,} bits. Round them."
        )
    whole = [int(value * unit) for value in levels]
    if unit * (int(layer.sizes.max(initial=0)) + 1) < 1 << 62:
        sums = sums_of(layer, layer.weights, np.array(whole, np.int64)).tolist()
    else:  # beyond 64 bits, one by one
        parts = (reads(layer, j) for j in range(layer.outputs))
        sums = [
            sum(w * whole[i] for i, w in zip(inputs.tolist(), weights.tolist(), strict=True))
            for inputs, weights in parts
        ]
    thetas = {id(ends): ends for ends in thetas_of(layer)}  # neurons of a kernel share the same pair
    # a whole sum reaches an end iff its ceiling
    on = {key: (ceil(ends[0] * unit), ceil(ends[1] * unit)) for key, ends in thetas.items()}
    bits = np.zeros((1, layer.outputs), bool)
    for j, (total, ends) in enumerate(zip(sums, thetas_of(layer), strict=True)):
        low, high = on[id(ends)]
        bits[0, j] = total >= high
        if low <= total < high:
            raise CertificateError(
                f"neuron {j + 1} of layer 1 is so near its threshold that the witness shows nothing."
            )
    for later in network.layers[1:]:
        bits = later.activity(bits)
    return list(network.head.scores(network.head.match_counts(bits))[0])


def first_layer(network: Network) -> LevelLayer | ConvLayer:
    """The first layer, which must read real values."""
    layer = network.layers[0] if network.layers else None
    if not isinstance(layer, LevelLayer | ConvLayer) or layer.theta is None:
        raise CertificateError("the first layer of the network keeps no thresholds on real values.")
    return layer


def thetas_of(layer: LevelLayer | ConvLayer) -> Theta:
    """Its thresholds on real sums: the ends that they lie between."""
    assert layer.theta is not None
    return layer.theta


def lows_of(network: Network, ends: Sequence[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """The raw value of level 0 of every feature; every raw value between `ends` must have a level."""
    found: dict[int, Fraction] = {}
    lows = []
    for coding, (low, high) in zip(network.encoder.codings, ends, strict=True):
        if id(coding) not in found:
            if not isinstance(coding, Steps) or not coding.every_step:
                raise CertificateError(
                    "a feature is not a whole number with a step of its own for each, "
                    "so real values have no level."
                )
            found[id(coding)] = Fraction(coding.low)
        assert isinstance(coding, Steps)
        if low < coding.low or high > coding.high:
            raise CertificateError("the box leaves the values that a feature can have.")
        lows.append(found[id(coding)])
    return lows


def unit_of_all(values: Iterable[Fraction]) -> int | None:
    """The least common denominator; None where it is so long that no honest question needs it,
    and sums would take for ever.
    """
    unit = 1
    for denominator in {value.denominator for value in values}:
        unit = lcm(unit, denominator)
        if unit.bit_length() > _LONGEST:
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
            ConvLayer(weights, np.zeros(len(weights), np.int64), layer.window, layer.groups)
            .sums(values[None])
            .reshape(-1)
        )
    return np.asarray(weights @ values)
