"""Raw samples directed to the thresholds of neurons, for any encoder: a test of a network written in another
language runs them.

Each feature has a few *representatives*: its categories, or the values at and next to its cuts and limits. If
there are few combinations, all of them are samples. Otherwise samples are random ones and pairs between which
one neuron changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nextafter, prod
from typing import Any

import numpy as np

from sugenet.io.proof.near import RawRanges, turning
from sugenet.nn import Encoder, Network, OneHot, Real, Steps
from sugenet.nn.arrays import Array, Doubles

__all__ = ["Directed", "directed"]

_POOL = 256
_WIDE = 4.0
"""Largest size of a representative of a feature without limits and cuts."""


@dataclass(frozen=True, eq=False)
class Directed:
    """Samples as the network reads them, and as other programs do: each category as its index."""

    raw: Array
    numbers: Doubles
    near: int
    """Number of the samples that lie next to a threshold of a neuron."""
    every: bool
    """Whether they reach every input of the first layer."""


def directed(network: Network, count: int, seed: int = 0, *, every: int = 0) -> Directed:
    """Return at most `count` samples of a network.

    If there are at most `every` combinations of representatives, or at most `count`, return all of them.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> network = Network.of_bits([DenseLayer([[1, -1]], [2])], Head([[1], [-1]]))
    >>> directed(network, 4).raw.tolist()
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]
    >>> directed(network, 3).every
    False
    """
    encoder, random = network.encoder, np.random.default_rng(seed)
    values = _representatives(encoder, random)
    sizes = [len(column) for column in values]
    passes_reals = any(isinstance(coding, Real) for coding in encoder.codings)
    if prod(sizes) <= max(count, every):
        grid = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), int)
        return _samples(encoder, values, grid.astype(np.float64), 0, not passes_reals)
    high = np.array(sizes, np.float64) - 1
    cuts = np.where(high > 0, np.ceil(high / 2), np.nan)
    domain = RawRanges(np.zeros(len(sizes)), high, cuts, True, np.tile(cuts, (8, 1)))

    def hidden(rows: Doubles) -> list[Any]:
        return network.hidden(_samples(encoder, values, rows, 0, False).raw)

    pool = domain.samples(min(_POOL, count), random)
    share = max(1, count // (4 * max(1, len(network.layers))))
    direct = network.reads_levels or encoder.width == len(sizes)
    near = turning(network, domain, hidden, pool, share, random, direct=direct)[: count // 2]
    more = domain.samples(count, random)[: count - len(near)]
    return _samples(encoder, values, np.concatenate([near, more]), len(near), False)


def _representatives(encoder: Encoder, random: np.random.Generator) -> list[tuple[Any, ...]]:
    """Return values of each feature, rising: at least one per state."""
    known: dict[Any, tuple[Any, ...]] = {}
    for coding in encoder.codings:
        if coding not in known:
            known[coding] = _values(coding, random)
    return [known[coding] for coding in encoder.codings]


def _values(coding: Any, random: np.random.Generator) -> tuple[Any, ...]:
    if isinstance(coding, OneHot):
        return coding.categories
    assert isinstance(coding, Steps)
    if coding.bipolar:
        return (-1, 1)
    low, high = max(coding.low, -_FAR), min(coding.high, _FAR)
    around = [value for value in (low, high) if abs(value) < _FAR]
    if coding.whole:
        first = [int(-(-cut // 1)) for cut in (*coding.cuts, *around) if abs(cut) < _FAR]
        kept = {value for cut in first or [0] for value in (cut - 1, cut)}
        return tuple(sorted(v for v in kept if low <= v <= high)) or (int(-(-coding.low // 1)),)
    sampled = [] if not isinstance(coding, Real) else (random.normal(size=5) * _WIDE).tolist()
    cuts = [cut for cut in coding.cuts if abs(cut) < _FAR]
    beside = {value for cut in cuts for value in (nextafter(cut, -_FAR), cut)} | {*around, *sampled}
    return tuple(sorted(v for v in beside or {0.0} if low <= v <= high)) or (float(coding.low),)


_FAR = 2.0**1000


def _samples(
    encoder: Encoder, values: list[tuple[Any, ...]], rows: Doubles, near: int, every: bool
) -> Directed:
    """Return the samples of indices of representatives."""
    indices = rows.astype(np.int64)
    numbers = np.empty(indices.shape, np.float64)
    is_named = any(isinstance(coding, OneHot) for coding in encoder.codings)
    raw = np.empty(indices.shape, object) if is_named else numbers
    for feature, (coding, column) in enumerate(zip(encoder.codings, values, strict=True)):
        at = indices[:, feature]
        if isinstance(coding, OneHot):
            numbers[:, feature] = at
            raw[:, feature] = [column[k] for k in at.tolist()]
        else:
            numbers[:, feature] = np.array(column, np.float64)[at]
            if is_named:
                raw[:, feature] = [column[k] for k in at.tolist()]
    return Directed(raw, numbers, near, every)
