"""Conflicts between rated samples, as arrays and packed bit sets.

Finds the samples that no capacity can meet together at a given tolerance. Also finds the minimum largest
error of any capacity with the samples that force it (docs/theory.md 10.3), also among k-maxitive capacities
(10.4).

With lo = a - d and hi = a + d, a capacity must give every sample a value from lo to hi. That is mu(P) >= lo
for P = {x >= lo} and mu(Q) <= hi for Q = {x > hi}. Two things can prevent it (docs/theory.md 10.1):

- a single sample whose values are all below lo or all above hi;
- a pair k, m with lo_k > hi_m where P_k is a subset of Q_m.
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
from sugenet.checker.learned_form import RatedSamples
from sugenet.errors import TooLargeError
from sugenet.fit.chains import Pairs
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
    """Samples with their values and ratings, also as arrays."""

    @cached_property
    def x(self) -> npt.NDArray[Any]:
        """The rows as an array, of Python integers if they are large."""
        shape = len(self.rows), len(self.criteria)
        return np.array(self.rows, dtype=self._kind).reshape(shape)

    @cached_property
    def a(self) -> npt.NDArray[Any]:
        """The ratings as an array."""
        return np.array(self.ratings, dtype=self._kind)

    @property
    def _kind(self) -> Any:
        return np.int64 if self.top < _SMALL else object


_BLOCK = 1 << 22
"""Number of pairs that are processed together."""


@dataclass(frozen=True, eq=False)
class Tolerance:
    """Samples, and the integers between which the value of each must lie."""

    samples: SampleArrays
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]

    @classmethod
    def of(cls, samples: SampleArrays, error: int = 0) -> Tolerance:
        """Return the tolerance that allows this error."""
        top = samples.top
        return cls(samples, np.maximum(samples.a - error, 0), np.minimum(samples.a + error, top))

    @cached_property
    def reached(self) -> npt.NDArray[np.bool_]:
        """P: the criteria whose values are at least the lower bound."""
        return np.asarray(self.samples.x >= self.low[:, None], dtype=bool)

    @cached_property
    def above(self) -> npt.NDArray[np.bool_]:
        """Q: the criteria whose values are above the upper bound."""
        return np.asarray(self.samples.x > self.high[:, None], dtype=bool)

    @property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Samples that no capacity can meet: all their values are too low, or all too high."""
        return np.asarray(~self.reached.any(axis=1) | self.above.all(axis=1))

    @cached_property
    def _words(self) -> tuple[Any, ...]:
        """P and the complement of Q as machine words, and both bounds as small integers of the same order."""
        ranks = np.unique(np.concatenate([self.low, self.high]), return_inverse=True)[1].reshape(-1)
        count = len(self.low)
        return pack(self.reached), pack(~self.above), ranks[:count], ranks[count:]

    def clashes(self) -> Pairs:
        """Return all pairs k, m that clash: an array of the k and one of the m."""
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
        """Return those of the given pairs that clash."""
        reached, below, low, high = self._words
        k, m = pairs
        clash = (low[k] > high[m]) & ~(reached[k] & below[m]).any(axis=1)
        return k[clash], m[clash]


_DRAWN = 100_000
"""Number of pairs that are evaluated in one round; a hundredth of it for large numbers."""


def forced_alone(samples: SampleArrays) -> npt.NDArray[Any]:
    """Return the error that each sample forces alone: the distance of its rating from the range of its
    values.
    """
    over = samples.x.min(axis=1) - samples.a
    under = samples.a - samples.x.max(axis=1)
    return np.asarray(np.maximum(np.maximum(over, under), 0))


def forced_by_pairs(samples: SampleArrays, pairs: Pairs) -> npt.NDArray[Any]:
    """Return the error that each pair k, m with a_k > a_m forces."""
    (k, m), x, a = pairs, samples.x, samples.a
    halves = (a[k] - a[m] + 1) // 2
    apart = np.maximum(a[k, None] - x[k], x[m] - a[m, None]).min(axis=1)
    return np.asarray(np.maximum(np.minimum(halves, apart), 0))


def min_largest_error(samples: SampleArrays) -> tuple[int, tuple[int, ...]]:
    """Return the minimum error, in the integers of `samples`, and the sample or pair of samples that forces
    it.

    It is fast to check whether a pair forces more than some error, but slow to compute how much. So some
    pairs that force more are drawn at random, the worst of them raises the error, and few are left for the
    next round.
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
"""Largest number of sets of criteria."""


@dataclass(frozen=True)
class Greatest:
    """The minimum error, the sample that forces it, and the greatest k-maxitive capacity with that error.

    The sample is None if the error is forced because all criteria together are worth top. The capacity is
    given as sets of criterion indices with their worths.
    """

    error: int
    because: int | None
    weights: tuple[tuple[tuple[int, ...], int], ...]


def turned(samples: SampleArrays) -> SampleArrays:
    """Return the samples with the scale reversed: k-maxitive capacities of these are k-minitive for the
    others.
    """
    top = samples.top
    rows = tuple(tuple(top - value for value in row) for row in samples.rows)
    ratings = tuple(top - rating for rating in samples.ratings)
    return SampleArrays(rows, ratings, samples.weights, top, samples.criteria, samples.levels)


def min_maxitive_error(samples: SampleArrays, k: int, clock: Clock) -> Greatest:
    """Return the minimum largest error of a k-maxitive capacity."""
    n = len(samples.criteria)
    n_sets = sum(comb(n, size) for size in range(1, k + 1))
    if n_sets > _MOST:
        raise TooLargeError(
            f"there are {n_sets:,} sets of at most {k} of {n} criteria; the limit is {_MOST:,}. "
            f"Allow smaller sets, or leave out maxitive and minitive: then no sets are listed."
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
                f"not all {n_sets:,} sets of at most {k} criteria were tried within {clock.time_limit:g} s. "
                f"Allow more time, or smaller sets."
            )
    worst = int(np.argmax(best))
    error, because = (int(best[worst]), worst) if best[worst] >= full else (int(full), None)
    return Greatest(error, because, tuple(_greatest(samples, sets, error)))


def _pushed(
    samples: SampleArrays, min_values: npt.NDArray[Any], ratings: npt.NDArray[Any]
) -> tuple[Any, int]:
    """Return, for each rating, the error below which a set cannot be worth this much.

    Below it, other samples would be pushed above their ratings. The same is returned for top.
    """
    over = np.maximum(min_values - samples.a, 0)
    some = np.flatnonzero(over)
    if not some.size:
        return np.zeros_like(ratings), 0
    halves = np.maximum((ratings[:, None] - samples.a[some] + 1) // 2, 0)
    return np.minimum(halves, over[some]).max(axis=1), int(over.max())


def _greatest(samples: SampleArrays, sets: list[tuple[int, ...]], error: int) -> Any:
    """Return each set with its largest possible worth, without those that add nothing to smaller ones."""
    high = np.minimum(samples.a + error, samples.top)
    worth: dict[tuple[int, ...], int] = {}
    for chosen in sets:
        pushed = samples.x[:, chosen].min(axis=1) > high
        upper = int(high[pushed].min()) if pushed.any() else samples.top
        smaller = max((worth[part] for part in combinations(chosen, len(chosen) - 1) if part), default=0)
        worth[chosen] = max(upper, smaller)
        if upper > smaller:
            yield chosen, upper
