"""Rated samples as arrays, and which of them no capacity can meet together, at a given tolerance: by sets as
packed bits.

With lo = a - d and hi = a + d a capacity is to give every sample a value from lo to hi. That is mu(P) >= lo
for P = {x >= lo} and mu(Q) <= hi for Q = {x > hi}, and two things can be in the way (docs/theory.md 10.1),
a sample alone, whose values are all below lo or all above hi; and a pair k, m with lo_k > hi_l where P_k is
part of Q_l.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.rated import RatedSamples

__all__ = ["Pairs", "SampleArrays", "Tolerance", "packed"]

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


def packed(held: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Rows of truth values as 64-bit words."""
    count, n = held.shape
    words = -(-n // 64)
    bits = np.zeros((count, words * 64), dtype=bool)
    bits[:, :n] = held
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


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
        return packed(self.reached), packed(~self.above), ranks[:count], ranks[count:]

    def clashes(self) -> Pairs:
        """All pairs k, m in each other's way: arrays of the k and of the m."""
        reached, below, low, high = self._words
        count = len(low)
        step = max(1, _BLOCK // max(count, 1))
        found = []
        for start in range(0, count, step):
            part = slice(start, start + step)
            clash = low[part, None] > high[None, :]
            for word in range(reached.shape[1]):
                clash &= (reached[part, None, word] & below[None, :, word]) == 0
            k, m = np.nonzero(clash)
            found.append((k + start, m))
        return np.concatenate([k for k, _ in found]), np.concatenate([m for _, m in found])

    def still(self, pairs: Pairs) -> Pairs:
        """Those of some pairs that are in each other's way."""
        reached, below, low, high = self._words
        k, m = pairs
        clash = (low[k] > high[m]) & ~(reached[k] & below[m]).any(axis=1)
        return k[clash], m[clash]
