"""Rated samples as arrays; which of them no capacity can meet together, at a given tolerance, by sets as
packed bits; and the least largest error of any capacity with the samples that force it (docs/theory.md 10.3),
also among k-maxitive capacities (10.4).

With lo = a - d and hi = a + d a capacity is to give every sample a value from lo to hi. That is mu(P) >= lo
for P = {x >= lo} and mu(Q) <= hi for Q = {x > hi}, and two things can be in the way (docs/theory.md 10.1),
a sample alone, whose values are all below lo or all above hi; and a pair k, m with lo_k > hi_l where P_k is
part of Q_l.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.words import pack
from sugenet.checker.rated import RatedSamples
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock

__all__ = [
    "Greatest",
    "Pairs",
    "SampleArrays",
    "Tolerance",
    "forced_alone",
    "forced_by_pairs",
    "min_largest_error",
    "min_maxitive_error",
    "turned",
]

_SMALL = 1 << 61


class SampleArrays(RatedSamples):
    """Samples with their values and ratings as arrays too."""

    @cached_property
    def x(self) -> npt.NDArray[Any]:
        """The rows as an array, of Python's numbers where they are large."""
        shape = len(self.rows), len(self.criteria)
        return np.array(self.rows, dtype=self._kind).reshape(shape)

    @cached_property
    def a(self) -> npt.NDArray[Any]:
        """The ratings as an array."""
        return np.array(self.ratings, dtype=self._kind)

    @property
    def _kind(self) -> Any:
        return np.int64 if self.top < _SMALL else object


Pairs = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
_BLOCK = 1 << 22
"""Pairs that are looked at together."""


@dataclass(frozen=True, eq=False)
class Tolerance:
    """Samples, and the whole numbers between which the value of each must lie."""

    samples: SampleArrays
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]

    @classmethod
    def of(cls, samples: SampleArrays, error: int = 0) -> Tolerance:
        """Values may be off by this error."""
        top = samples.top
        return cls(samples, np.maximum(samples.a - error, 0), np.minimum(samples.a + error, top))

    @cached_property
    def reached(self) -> npt.NDArray[np.bool_]:
        """P: where the values are at least the lower bound."""
        return np.asarray(self.samples.x >= self.low[:, None], dtype=bool)

    @cached_property
    def above(self) -> npt.NDArray[np.bool_]:
        """Q: where the values are above the upper bound."""
        return np.asarray(self.samples.x > self.high[:, None], dtype=bool)

    @property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Samples that no capacity can meet: all their values are too low, or all too high."""
        return np.asarray(~self.reached.any(axis=1) | self.above.all(axis=1))

    @cached_property
    def _words(self) -> tuple[Any, ...]:
        """P and the complement of Q in words, and both bounds as small numbers of the same order."""
        ranks = np.unique(np.concatenate([self.low, self.high]), return_inverse=True)[1].reshape(-1)
        count = len(self.low)
        return pack(self.reached), pack(~self.above), ranks[:count], ranks[count:]

    def clashes(self) -> Pairs:
        """All pairs k, m in each other's way: arrays of the k and of the m."""
        reached, below, low, high = self._words
        count = len(low)
        step = max(1, _BLOCK // max(count, 1))
        blocks = []
        for start in range(0, count, step):
            part = slice(start, start + step)
            clash = low[part, None] > high[None, :]
            for word in range(reached.shape[1]):
                clash &= (reached[part, None, word] & below[None, :, word]) == 0
            k, m = np.nonzero(clash)
            blocks.append((k + start, m))
        return np.concatenate([k for k, _ in blocks]), np.concatenate([m for _, m in blocks])

    def still(self, pairs: Pairs) -> Pairs:
        """Those of some pairs that are in each other's way."""
        reached, below, low, high = self._words
        k, m = pairs
        clash = (low[k] > high[m]) & ~(reached[k] & below[m]).any(axis=1)
        return k[clash], m[clash]


_DRAWN = 100_000
"""Pairs that are valued in one round; of large numbers, a hundredth."""


def forced_alone(samples: SampleArrays) -> npt.NDArray[Any]:
    """For each sample the error that it forces alone: how far its rating lies outside of its values."""
    over = samples.x.min(axis=1) - samples.a
    under = samples.a - samples.x.max(axis=1)
    return np.asarray(np.maximum(np.maximum(over, under), 0))


def forced_by_pairs(samples: SampleArrays, pairs: Pairs) -> npt.NDArray[Any]:
    """For pairs k, m with a_k > a_l the error that each forces."""
    (k, m), x, a = pairs, samples.x, samples.a
    halves = (a[k] - a[m] + 1) // 2
    apart = np.maximum(a[k, None] - x[k], x[m] - a[m, None]).min(axis=1)
    return np.asarray(np.maximum(np.minimum(halves, apart), 0))


def min_largest_error(samples: SampleArrays) -> tuple[int, tuple[int, ...]]:
    """The least error, in whole numbers of `samples`, and the sample or pair of samples that forces it.

    Whether a pair forces more than some error is quick to see, how much it forces is not. So some of those
    that force more are drawn, the worst of them raises the error, and few are left for the next round.
    """
    alone = forced_alone(samples)
    worst = int(np.argmax(alone))
    error = int(alone[worst])
    because: tuple[int, ...] = (worst,)
    rng = np.random.default_rng(0)
    sample_size = _DRAWN if samples.x.dtype != object else _DRAWN // 100
    left = Tolerance.of(samples, error).clashes()
    while left[0].size:
        some = rng.integers(0, left[0].size, min(sample_size, left[0].size))
        k, m = left[0][some], left[1][some]
        forced = forced_by_pairs(samples, (k, m))
        worst = int(np.argmax(forced))
        error, because = int(forced[worst]), (int(k[worst]), int(m[worst]))
        left = Tolerance.of(samples, error).still(left)
    return error, because


_MOST = 200_000
"""Sets of criteria that are looked at."""


@dataclass(frozen=True)
class Greatest:
    """The least error, the sample that forces it (None: that all criteria together are worth top), and the
    greatest k-maxitive capacity that errs by no more: sets as places of criteria, and what each is worth.
    """

    error: int
    because: int | None
    weights: tuple[tuple[tuple[int, ...], int], ...]


def turned(samples: SampleArrays) -> SampleArrays:
    """The samples upside down: what is k-maxitive for them is k-minitive for the others."""
    top = samples.top
    rows = tuple(tuple(top - value for value in row) for row in samples.rows)
    ratings = tuple(top - rating for rating in samples.ratings)
    return SampleArrays(rows, ratings, samples.weights, top, samples.criteria, samples.levels)


def min_maxitive_error(samples: SampleArrays, k: int, clock: Clock) -> Greatest:
    """The least largest error of a k-maxitive capacity."""
    n = len(samples.criteria)
    n_sets = sum(comb(n, size) for size in range(1, k + 1))
    if n_sets > _MOST:
        raise TooLargeError(
            f"there are {n_sets:,} sets of at most {k} of {n} criteria; the limit is {_MOST:,}. "
            f"Allow smaller sets, or leave maxitive and minitive away: then no sets are listed."
        )
    sets = [chosen for size in range(1, k + 1) for chosen in combinations(range(n), size)]
    ratings, indices = np.unique(samples.a, return_inverse=True)
    best = np.full(len(samples.a), samples.top + 1, dtype=samples.a.dtype)
    full = samples.top + 1
    for chosen in sets:
        min_values = samples.x[:, chosen].min(axis=1)
        pushed, all_of = _pushed(samples, min_values, ratings)
        best = np.minimum(
            best, np.maximum(np.maximum(samples.a - min_values, 0), pushed[indices.reshape(-1)])
        )
        full = min(full, all_of)
        if clock.up():
            raise TooLargeError(
                f"not all {n_sets:,} sets of at most {k} criteria were seen within {clock.time_limit:g} s. "
                f"Allow more time, or smaller sets."
            )
    worst = int(np.argmax(best))
    error, because = (int(best[worst]), worst) if best[worst] >= full else (int(full), None)
    return Greatest(error, because, tuple(_greatest(samples, sets, error)))


def _pushed(
    samples: SampleArrays, min_values: npt.NDArray[Any], ratings: npt.NDArray[Any]
) -> tuple[Any, int]:
    """For each rating the error below which a set cannot be worth so much, since others would be pushed
    above theirs; and the same for top.
    """
    over = np.maximum(min_values - samples.a, 0)
    some = np.flatnonzero(over)
    if not some.size:
        return np.zeros_like(ratings), 0
    halves = np.maximum((ratings[:, None] - samples.a[some] + 1) // 2, 0)
    return np.minimum(halves, over[some]).max(axis=1), int(over.max())


def _greatest(samples: SampleArrays, sets: list[tuple[int, ...]], error: int) -> Any:
    """Each set with the most that it can be worth; those that add nothing to smaller ones left out."""
    high = np.minimum(samples.a + error, samples.top)
    worth: dict[tuple[int, ...], int] = {}
    for chosen in sets:
        pushed = samples.x[:, chosen].min(axis=1) > high
        upper = int(high[pushed].min()) if pushed.any() else samples.top
        smaller = max((worth[part] for part in combinations(chosen, len(chosen) - 1) if part), default=0)
        worth[chosen] = max(upper, smaller)
        if upper > smaller:
            yield chosen, upper
