"""The least largest error of any capacity, and which samples force it (docs/theory.md 10.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.fit.capacities.arrays import SampleArrays
from sugenet.fit.capacities.clashes import Pairs, Tolerance

__all__ = ["forced_alone", "forced_by_pairs", "least_largest_error"]

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


def least_largest_error(samples: SampleArrays, seed: int = 0) -> tuple[int, tuple[int, ...]]:
    """The least error, in whole numbers of `samples`, and the sample or pair of samples that forces it.

    Whether a pair forces more than some error is quick to see, how much it forces is not. So some of those
    that force more are drawn, the worst of them raises the error, and few are left for the next round.
    """
    alone = forced_alone(samples)
    worst = int(np.argmax(alone))
    error = int(alone[worst])
    because: tuple[int, ...] = (worst,)
    rng = np.random.default_rng(seed)
    drawn = _DRAWN if samples.x.dtype != object else _DRAWN // 100
    left = Tolerance.of(samples, error).clashes()
    while left[0].size:
        some = rng.integers(0, left[0].size, min(drawn, left[0].size))
        k, m = left[0][some], left[1][some]
        forced = forced_by_pairs(samples, (k, m))
        worst = int(np.argmax(forced))
        error, because = int(forced[worst]), (int(k[worst]), int(m[worst]))
        left = Tolerance.of(samples, error).still(left)
    return error, because
