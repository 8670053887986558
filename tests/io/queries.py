"""Queries about the numbers around a point, without a network."""

from fractions import Fraction

import numpy as np

from sugenet.capacity.arguments import exact_number
from sugenet.problem.query import Query


def around(center, eps, label, outputs, *, low=None, high=None):
    """Local robustness around a point, by its numbers alone."""
    x = [Fraction(exact_number(value, "center")) for value in center]
    reach = list(eps) if np.ndim(eps) else [eps] * len(x)
    lower, upper = ([a + sign * Fraction(e) for a, e in zip(x, reach, strict=True)] for sign in (-1, 1))
    lower = lower if low is None else [max(value, Fraction(low)) for value in lower]
    upper = upper if high is None else [min(value, Fraction(high)) for value in upper]
    return Query.within(lower, upper, label, outputs)
