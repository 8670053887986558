"""The Sugeno integral of a table for many samples at once: sort, then find by halving where values and worths
cross (docs/theory.md 6.5).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from sugenet.capacity.scales import Codes

__all__ = ["integrals_by_table"]

CHUNK = 8192  # samples at a time: a chunk of 20 criteria stays in the cache
FLAT = np.uint64(31)  # the low bits of a float that make room for the number of its criterion while sorting


def integrals_by_table(table: Codes, X: Codes) -> Codes:
    """Integrals of the rows of `X` with respect to the table; both are codes of one scale."""
    if X.dtype != np.float64 or table.dtype != np.float64 or not 1 <= X.shape[1] <= 32:
        return _by_argsort(table, X)
    if table[0] < 0 or X.min(initial=0) < 0:
        return _by_argsort(table, X)  # codes of complements, which do not order like their bits
    chunks = [np.ascontiguousarray(X[start : start + CHUNK]) for start in range(0, len(X), CHUNK)]
    if len(chunks) < 4:
        parts = [_by_halving(table, chunk) for chunk in chunks]
    else:  # NumPy lets go of the interpreter inside its loops, so two threads help
        with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1)) as pool:
            parts = list(pool.map(lambda chunk: _by_halving(table, chunk), chunks))
    return np.concatenate([*parts, np.zeros(0)])


def _by_argsort(table: Codes, X: Codes) -> Codes:
    """The plain twin, for codes of any kind: look up the worth of the best k values for every k."""
    rising = np.argsort(X, axis=1)
    masks = np.cumsum((1 << rising.astype(np.int32))[:, ::-1], axis=1, dtype=np.int32)
    values = np.take_along_axis(X, rising, axis=1)[:, ::-1]
    rated = np.minimum(values, table[masks])
    return np.asarray(np.maximum(rated.max(axis=1), table[0])) if X.shape[1] else np.repeat(table[:1], len(X))


def _by_halving(table: Codes, X: npt.NDArray[np.float64]) -> Codes:
    """Sort floats with the number of their criterion in the lowest bits,
    which is exact unless two differ in those bits only.
    """
    count, n = X.shape
    # floats >= 0 order like their bits
    keys = (np.abs(X).view(np.uint64) & ~FLAT) | np.arange(n, dtype=np.uint64)
    keys.sort(axis=1)
    neighbours = keys.ravel()[1:] ^ keys.ravel()[:-1]
    if n > 1:
        neighbours[n - 1 :: n] = FLAT + np.uint64(1)  # the last of a sample and the first of the next
        if neighbours.size and neighbours.min() <= FLAT:
            return _by_argsort(table, X)  # ties or near ties: the plain way orders them exactly
    # row k: the criterion with the k-th best value
    order = np.ascontiguousarray((keys & FLAT).astype(np.int32)[:, ::-1].T)
    best = np.left_shift(np.int32(1), order)
    for k in range(1, n):
        best[k] |= best[k - 1]  # row k: the mask of the k + 1 best
    flat_order, flat_best, values = order.ravel(), best.ravel(), X.ravel()
    sample = np.arange(count)
    start = sample * n
    # the first k whose worth reaches its value, n if none
    low, high = (
        np.zeros(count, np.intp),
        np.full(count, n, np.intp),
    )
    for _ in range(n.bit_length()):
        middle = np.minimum((low + high) >> 1, n - 1)
        place = middle * count + sample
        reached = table.take(flat_best.take(place)) >= values.take(start + flat_order.take(place))
        high = np.where(reached & (low < high), middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    place = np.minimum(low, n - 1) * count + sample
    at = np.where(low < n, values.take(start + flat_order.take(place)), 0.0)
    before = np.where(
        low > 0, table.take(flat_best.take((np.maximum(low, 1) - 1) * count + sample)), table[0]
    )
    return np.asarray(np.maximum(at, before))
