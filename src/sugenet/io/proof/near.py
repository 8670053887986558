"""Choose samples for a comparison: random ones, values at and next to every cut, and pairs of samples between
which one neuron changes.

Take one sample that leaves a neuron off and one that turns it on. Change one feature after another. At
some step the neuron changes. Bisection finds it. In the first layer these are samples with tau - 1 and tau
matches. In later layers they are as near to that as a change of one feature allows.

`directed` does the same for any encoder: a test of a network written in another language runs its samples.
There, each feature has a few *representatives*: its categories, or the values at and next to its cuts and
limits. If there are few combinations, all of them are samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nextafter, prod
from typing import Any

import numpy as np

from sugenet.io.exact.domains import Bits, Inputs, Integers, Reals
from sugenet.nn import Encoder, Network, OneHot, Real, Steps
from sugenet.nn.arrays import Array, Doubles, Ints

__all__ = ["Directed", "RawRanges", "directed", "turning"]

_CUTS = 8
_FAR = 2.0**200
"""A feature with a larger cut never changes. Floats near it would overflow in any interpreter."""


@dataclass(frozen=True, eq=False)
class RawRanges:
    """Raw numbers of each feature: the smallest and the largest possible, the cuts at which a bit changes,
    and whether they are integers.
    """

    low: Doubles
    high: Doubles
    cut: Doubles
    whole: bool
    cuts: Doubles
    """Some of the cuts of each feature, one row per choice."""

    @classmethod
    def of_encoder(cls, encoder: Encoder) -> RawRanges:
        """Return the ranges of a network."""
        steps = [coding for coding in encoder.codings if isinstance(coding, Steps)]
        assert len(steps) == encoder.features
        known: dict[int, list[float]] = {}
        for coding in steps:
            if id(coding) not in known:
                turns = sorted({float(np.ceil(cut)) for cut in coding.cuts}) if coding.whole else coding.cuts
                inside = [cut for cut in turns if coding.low < cut <= coding.high and abs(cut) < _FAR]
                some = (
                    [inside[k * len(inside) // _CUTS] for k in range(_CUTS)] if inside else [np.nan] * _CUTS
                )
                middle = inside[len(inside) // 2] if inside else np.nan
                known[id(coding)] = [coding.low, coding.high, middle, *some]
        low, high, cut, *cuts = np.array([known[id(coding)] for coding in steps]).reshape(-1, 3 + _CUTS).T
        is_integer = all(coding.whole or coding.bipolar for coding in steps)
        return cls(low, high, cut, is_integer, np.array(cuts))

    @classmethod
    def of_inputs(cls, inputs: Inputs | None, features: int) -> RawRanges:
        """Return the ranges of a float stem."""
        ends: tuple[float, float]
        match inputs:
            case Integers():
                ends, is_integer = (inputs.low, inputs.high), True
            case Bits():
                ends, is_integer = (0, 1), True
            case Reals():
                ends, is_integer = (inputs.low, inputs.high), False
            case None:
                ends, is_integer = (-np.inf, np.inf), False
        low, high = (np.full(features, float(end)) for end in ends)
        return cls(low, high, np.full(features, np.nan), is_integer, np.full((1, features), np.nan))

    def samples(self, count: int, random: np.random.Generator) -> Doubles:
        """Return samples of several kinds in turn: anywhere, at the ends of the domain, at and next to the
        cuts, with few features changed.
        """
        makers = (self._anywhere, self._ends, self._cuts, self._changed)
        return np.concatenate(
            [maker(len(range(k, count, len(makers))), random) for k, maker in enumerate(makers)]
        )

    def in_float32(self, rows: Doubles) -> Doubles:
        """Return samples rounded to float32. If that leaves the domain, round to the next one inside."""
        near = rows.astype(np.float32)
        near = np.where(near.astype(np.float64) > self.high, np.nextafter(near, np.float32(-np.inf)), near)
        near = np.where(near.astype(np.float64) < self.low, np.nextafter(near, np.float32(np.inf)), near)
        rounded = near.astype(np.float64)
        return np.where((self.low <= rounded) & (rounded <= self.high), rounded, rows)

    def _anywhere(self, count: int, random: np.random.Generator) -> Doubles:
        shape = (count, len(self.low))
        low, high = (
            np.where(np.isfinite(self.low), self.low, -np.inf),
            np.where(np.isfinite(self.high), self.high, np.inf),
        )
        if self.whole:
            return np.asarray(np.floor(low + random.random(shape) * (high - low + 1)))
        middle = np.where(np.isfinite(self.cut), self.cut, np.clip(0.0, low, high))
        sampled = middle + random.standard_normal(shape) * np.maximum(
            np.abs(middle), 1.0
        ) * 10.0 ** random.uniform(-3, 1, (count, 1))
        bounded = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            spread = low + random.random(shape) * (high - low)
        return np.clip(np.where(bounded & (random.random((count, 1)) < 0.5), spread, sampled), low, high)

    def _ends(self, count: int, random: np.random.Generator) -> Doubles:
        low, high = self._reach()
        return np.where(random.random((count, len(low))) < random.random((count, 1)), high, low)

    def _reach(self) -> tuple[Doubles, Doubles]:
        """Return two numbers of each feature: the ends of its domain, or far on both sides of its cut."""
        far = 1e3 * np.maximum(1.0, np.abs(np.nan_to_num(self.cut)))
        middle = np.nan_to_num(self.cut)
        return np.where(np.isfinite(self.low), self.low, middle - far), np.where(
            np.isfinite(self.high), self.high, middle + far
        )

    def _cuts(self, count: int, random: np.random.Generator) -> Doubles:
        rows = self._anywhere(count, random)
        at = np.take_along_axis(self.cuts, random.integers(0, len(self.cuts), rows.shape), axis=0)
        below = at - 1 if self.whole else np.nextafter(at, -np.inf)
        beside = np.where(random.random(rows.shape) < 0.5, at, below)
        few = random.random(rows.shape) < random.choice([0.02, 0.5, 1.0], (count, 1))
        return np.clip(np.where(np.isfinite(beside) & few, beside, rows), self.low, self.high)

    def _changed(self, count: int, random: np.random.Generator) -> Doubles:
        low, high = self._reach()
        base = np.where(random.random((count, 1)) < 0.5, low, high)
        other = self._anywhere(count, random)
        return np.where(random.random(other.shape) < 4 / other.shape[1], other, base)

    def extremes(self, weights: Ints) -> tuple[Doubles, Doubles]:
        """Return the samples at which neurons of a first layer have the fewest and the most matches, one row
        per neuron.
        """
        low, high = self._reach()
        return np.where(weights > 0, low, high), np.where(weights > 0, high, low)


def turning(
    network: Network,
    domain: RawRanges,
    hidden: Callable[[Doubles], Sequence[Array]],
    pool: Doubles,
    count: int,
    random: np.random.Generator,
    *,
    direct: bool,
) -> Doubles:
    """Return pairs of samples between which a neuron changes, or passes one of its steps.

    There are up to `count` neurons per hidden layer. `direct` means that the network reads the samples
    themselves. Then its first layer shows where its neurons are on and off.
    """
    seen = hidden(pool)
    starts, ends, targets = [], [], []
    for layer, bits in enumerate(seen):
        lower, upper = bits.min(axis=0).astype(int), bits.max(axis=0).astype(int)
        for neuron in random.permutation(np.flatnonzero(lower < upper))[:count].tolist():
            step = int(random.integers(lower[neuron], upper[neuron])) + 1
            column = bits[:, neuron] >= step
            starts.append(pool[random.choice(np.flatnonzero(~column))])
            ends.append(pool[random.choice(np.flatnonzero(column))])
            targets.append((layer, neuron, step))
        if layer == 0 and direct:
            low, high, chosen = _outer(network, domain, bits, count, random)
            if chosen:
                first, last = (hidden(np.array(rows))[0] for rows in (low, high))
                for k, neuron in enumerate(chosen):
                    if first[k, neuron] < last[k, neuron]:
                        starts.append(low[k])
                        ends.append(high[k])
                        targets.append((0, neuron, int(last[k, neuron])))
    if not targets:
        return pool[:0]
    return np.concatenate(_halved(hidden, np.array(starts), np.array(ends), targets, random, domain.whole))


def _outer(
    network: Network, domain: RawRanges, bits: Array, count: int, random: np.random.Generator
) -> tuple[list[Doubles], list[Doubles], list[int]]:
    """Return neurons of the first layer that random samples do not change, with samples that do."""
    layer = network.layers[0]
    never = (bits == bits[:1]).all(axis=0) & ~layer.constant
    chosen = random.permutation(np.flatnonzero(never))[:count].tolist()
    if not chosen or layer.every is not None or layer.inputs != len(domain.low):
        return [], [], []
    rows = np.array([layer.row(j) for j in chosen])
    low, high = domain.extremes(rows)
    return list(low), list(high), chosen


def _halved(
    hidden: Callable[[Doubles], Sequence[Array]],
    starts: Doubles,
    ends: Doubles,
    targets: list[tuple[int, int, int]],
    random: np.random.Generator,
    is_integer: bool,
) -> tuple[Doubles, Doubles]:
    rank = np.argsort(random.random(starts.shape), axis=1)

    def on(rows: Doubles) -> Array:
        seen = hidden(rows)
        return np.array([seen[layer][k, neuron] >= step for k, (layer, neuron, step) in enumerate(targets)])

    off_at, on_at = np.zeros(len(starts), int), np.full(len(starts), starts.shape[1])
    while (on_at - off_at > 1).any():
        middle = (off_at + on_at) // 2
        active = on(np.where(rank < middle[:, None], ends, starts))
        on_at, off_at = np.where(active, middle, on_at), np.where(active, off_at, middle)
    lower, upper = (
        np.where(rank < off_at[:, None], ends, starts),
        np.where(rank < on_at[:, None], ends, starts),
    )
    if not is_integer:
        return lower, upper
    while (np.abs(upper - lower) > 1).any():  # one feature is left: bisect its values
        middle_rows = np.trunc((lower + upper) / 2)
        active = on(middle_rows)[:, None]
        moved = np.abs(upper - lower).max(axis=1, keepdims=True) > 1
        lower, upper = (
            np.where(moved & ~active, middle_rows, lower),
            np.where(moved & active, middle_rows, upper),
        )
    return lower, upper


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
    low, high = max(coding.low, -_ENDLESS), min(coding.high, _ENDLESS)
    around = [value for value in (low, high) if abs(value) < _ENDLESS]
    if coding.whole:
        first = [int(-(-cut // 1)) for cut in (*coding.cuts, *around) if abs(cut) < _ENDLESS]
        kept = {value for cut in first or [0] for value in (cut - 1, cut)}
        return tuple(sorted(v for v in kept if low <= v <= high)) or (int(-(-coding.low // 1)),)
    sampled = [] if not isinstance(coding, Real) else (random.normal(size=5) * _WIDE).tolist()
    cuts = [cut for cut in coding.cuts if abs(cut) < _ENDLESS]
    beside = {value for cut in cuts for value in (nextafter(cut, -_ENDLESS), cut)} | {*around, *sampled}
    return tuple(sorted(v for v in beside or {0.0} if low <= v <= high)) or (float(coding.low),)


_ENDLESS = 2.0**1000


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
