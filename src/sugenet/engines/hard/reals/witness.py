"""Exact evaluation of inputs that are real numbers.

A witness is evaluated in fractions. It is refused if a sum is so near a threshold that rounding in the file
from which the network was read could decide.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from sugenet.engines.hard.reals.first_layer import MAX_BITS, common_denominator
from sugenet.errors import CertificateError
from sugenet.nn import Network, RealLayer, Steps
from sugenet.problem.query import Query

__all__ = ["check_real_witness", "real_scores"]


def check_real_witness(witness: Sequence[Any], network: Network, query: Query) -> str:
    """Check in exact arithmetic that an input violates the property; return a description of the check.

    Raises `CertificateError` if it does not.
    """
    raw = [Fraction(value) for value in witness]
    if len(raw) != network.encoder.features or not query.contains(raw):
        raise CertificateError("the witness is not in a box of the query.")
    if not query.violated_by(raw, real_scores(raw, network)):
        raise CertificateError("the witness does not violate the property.")
    return "the witness lies in the box and violates the property, in exact arithmetic"


def real_scores(raw: Sequence[Fraction], network: Network) -> list[Fraction]:
    """Return the exact scores of an input of real numbers.

    Raises `CertificateError` if a sum of the first layer is too near its threshold.
    """
    bits = _real_bits(network, raw)
    for later in network.layers[1:]:
        bits = later.activity(bits)
    return list(network.head.scores(network.head.match_counts(bits))[0])


def _real_bits(network: Network, raw: Sequence[Fraction]) -> Any:
    """Return the activity of a first layer over real numbers, none of them in doubt."""
    first = network.layers[0] if network.layers else None
    if not isinstance(first, RealLayer):
        raise CertificateError("the network does not keep real numbers, so it has no thresholds on them.")
    for coding, value in zip(network.encoder.codings, raw, strict=True):
        assert isinstance(coding, Steps)
        if not coding.low <= value <= coding.high:
            raise CertificateError("the witness leaves the values that a feature can have.")
    if common_denominator(raw) is None:
        raise CertificateError(
            f"the values of the witness have a common denominator of more than {MAX_BITS:,} bits. Round them."
        )
    sums, unit = first.sums_over(raw)
    # an integer sum reaches an end iff it reaches its ceiling
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
