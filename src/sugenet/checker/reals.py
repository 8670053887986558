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

from sugenet.bnn import ConvLayer, Layer, Network, PoolLayer, RealLayer, Steps
from sugenet.bnn.arrays import Ints
from sugenet.checker.query import Query
from sugenet.errors import CertificateError

__all__ = [
    "check_real_witness",
    "reads",
    "real_scores",
    "sums_of",
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
    """Exact scores of an input of real numbers.

    Raises `CertificateError` where a sum of the first layer is too near its threshold.
    """
    bits = _real_bits(network, raw)
    for later in network.layers[1:]:
        bits = later.activity(bits)
    return list(network.head.scores(network.head.match_counts(bits))[0])


def _real_bits(network: Network, raw: Sequence[Fraction]) -> Any:
    """Activity of a first layer over real numbers, none of them in doubt."""
    first = network.layers[0] if network.layers else None
    if not isinstance(first, RealLayer):
        raise CertificateError("the network does not keep real numbers, so it has no thresholds on them.")
    for coding, value in zip(network.encoder.codings, raw, strict=True):
        assert isinstance(coding, Steps)
        if not coding.low <= value <= coding.high:
            raise CertificateError("the witness leaves the values that a feature can have.")
    if unit_of_all(raw) is None:
        raise CertificateError(
            f"the values of the witness have a common denominator of more than {_LONGEST:,} bits. Round them."
        )
    sums, unit = first.sums_over(raw)
    # a whole sum reaches an end iff it reaches its ceiling
    known = {ends: (ceil(ends[0] * unit), ceil(ends[1] * unit)) for ends in set(first.theta)}
    bits = np.zeros((1, first.outputs), bool)
    for j, (total, ends) in enumerate(zip(sums, first.theta, strict=True)):
        low, high = known[ends]
        bits[0, j] = total >= high
        if low <= total < high:
            raise CertificateError(
                f"neuron {j + 1} of layer 1 is so near its threshold that the witness shows nothing."
            )
    return bits


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
            ConvLayer(weights, np.zeros(len(weights), np.int64), layer.window, layer.groups, top=1)
            .sums(values[None])
            .reshape(-1)
        )
    return np.asarray(weights @ values)
