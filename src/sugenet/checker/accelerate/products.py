"""Match counts of many rows of bits at once.

To be ensured: they are those of the definition. Weights are summed as floats, which is fast, only if no sum
can exceed the range in which such floats are exact, in any order of addition.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Bits", "Ints", "dense_counts", "products", "through"]

Bits: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]


def dense_counts(weights: Ints, bits: Bits) -> Ints:
    """Return match counts of neurons for rows of bits: the weights of active inputs, plus the absolute
    negative weights of the others.
    """
    return np.asarray(products(bits, weights) - np.minimum(weights, 0).sum(axis=1))


def through(layers: Iterable[tuple[Ints, Ints]], bits: Bits) -> Bits:
    """Return rows of bits after layers, given as weights and tau."""
    for weights, tau in layers:
        bits = np.asarray(dense_counts(weights, bits) >= tau)
    return bits


def products(rows: npt.NDArray[Any], weights: Ints, top: int = 1) -> Ints:
    """Return weighted sums of rows of bits, or of values up to a top; floats represent all partial sums
    exactly.
    """
    largest = int(np.abs(weights).sum(axis=1).max(initial=0)) * top
    exact: Any = np.float32 if largest < 1 << 24 else np.float64 if largest < 1 << 53 else np.int64
    return np.asarray(rows.astype(exact) @ weights.T.astype(exact)).astype(np.int64)
