"""Bounds on every layer, worked out again in plain integers.

To be ensured: no change that the question allows turns a neuron that is said to be settled, and no more
neurons turn together than is said; then an inequality of a violation that cannot be met for such neurons
cannot be met at all.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sugenet.bnn.arrays import Bits, Ints
from sugenet.checker.whole import Whole, over_inputs
from sugenet.errors import CertificateError

__all__ = ["check_bounds", "contradicts", "impossible", "swing"]


def _most_features(whole: Whole) -> int:
    """How many features can change together within the budget."""
    if whole.budget is None:
        return len(whole.features)
    total, count = 0, 0
    for price in sorted(min(price for price, _ in options) for options in whole.features):
        total += price
        if total > whole.budget:
            break
        count += 1
    return count


def _reachable(whole: Whole) -> tuple[Ints, Ints]:
    """Least and largest margin M - tau of each first-layer neuron: the best change of every feature, of as
    many as can change together.
    """
    fits = _most_features(whole)
    ups = np.zeros((len(whole.features), len(whole.base)), np.int64)
    downs = ups.copy()
    for row, options in enumerate(whole.features):
        for _, gain in options:
            ups[row] = np.maximum(ups[row], gain)
            downs[row] = np.minimum(downs[row], gain)
    largest = np.sort(ups, axis=0)[len(ups) - fits :].sum(axis=0)
    least = np.sort(downs, axis=0)[:fits].sum(axis=0)
    return whole.base + least, whole.base + largest


def check_bounds(whole: Whole) -> str:
    """See that bounds alone exclude every violation."""
    whole.limit.fits(48 * len(whole.base) * len(whole.features), "the bounds of the first layer")
    low, high = _reachable(whole)
    state = whole.base >= 0
    loose = (low >= 0) != (high >= 0)
    limit = _most_turned(whole, loose)
    for weights, tau in whole.layers:
        whole.limit.look()
        whole.limit.fits(40 * weights.size, "the bounds of a layer")
        counts = _count(weights, state)
        least, most = swing(weights, state, loose, limit)
        loose = (counts + least >= tau) != (counts + most >= tau)
        state = counts >= tau
        limit = int(loose.sum())
    counts = _count(whole.head, state)
    for case in whole.cases:
        whole.limit.look()
        if contradicts(whole.head, case):
            continue
        if not any(
            impossible(whole.head, factors, least, counts, state, loose, limit) for factors, least in case
        ):
            raise CertificateError("bounds do not exclude a violation, against what the certificate claims.")
    return "bounds through all layers exclude every violation"


def _count(weights: Ints, state: Bits) -> Ints:
    """Match counts: positive weights of active inputs, negative ones of idle inputs."""
    return np.asarray((np.abs(weights) * np.where(weights > 0, state, ~state)).sum(axis=1))


def swing(weights: Ints, state: Bits, loose: Bits, limit: int) -> tuple[Ints, Ints]:
    """How much the sums can fall and rise when at most `limit` loose inputs turn."""
    part = weights[:, loose]
    turning = np.where(state[loose], -part, part)
    falls, rises = (
        np.sort(np.minimum(turning, 0), axis=1)[:, :limit],
        np.sort(np.maximum(turning, 0), axis=1)[:, ::-1][:, :limit],
    )
    return falls.sum(axis=1), rises.sum(axis=1)


def impossible(
    head: Ints, factors: list[int], least: int, counts: Ints, state: Bits, loose: Bits, limit: int
) -> bool:
    """Whether an inequality over the classes' match counts cannot hold."""
    row = over_inputs(factors, head)
    here = sum(f * int(m) for f, m in zip(factors, counts, strict=True))
    gains = sorted(
        (
            max(0, -w if s else w)
            for w, s, u in zip(row.tolist(), state.tolist(), loose.tolist(), strict=True)
            if u
        ),
        reverse=True,
    )
    return bool(here + sum(gains[:limit]) < least)


def contradicts(head: Ints, case: list[tuple[list[int], int]]) -> bool:
    """Whether two inequalities of a case say ``s >= a`` and ``-s >= b`` of the same sum s of neurons,
    with a + b above 0.
    """
    sums = []
    for factors, least in case:
        row = over_inputs(factors, head)
        sums.append(
            (row.tolist(), least + sum(f * int(np.minimum(head[k], 0).sum()) for k, f in enumerate(factors)))
        )
    return any(
        all(x == -y for x, y in zip(p, q, strict=True)) and a + b > 0
        for (p, a), (q, b) in combinations(sums, 2)
    )


def _most_turned(whole: Whole, loose: Bits) -> int:
    """How many loose first-layer neurons can turn together: each needs its distance, and the features bring
    only so much in all.
    """
    count = int(loose.sum())
    if whole.budget is None or not count:
        return count
    fits, state = _most_features(whole), whole.base >= 0
    need = np.where(state, whole.base + 1, -whole.base)[loose]
    sign = np.where(state, -1, 1)[loose]
    if fits <= 1:
        return max(
            (int((sign * gain[loose] >= need).sum()) for options in whole.features for _, gain in options),
            default=0,
        )
    brought = [
        max(int(np.maximum(sign * gain[loose], 0).sum()) for _, gain in options) for options in whole.features
    ]
    total = sum(sorted(brought)[::-1][:fits])
    used, turned = 0, 0
    for distance in sorted(need.tolist()):
        used += distance
        turned += used <= total
    return min(count, turned)
