"""For the checker: bounds on every layer, worked out again in plain integers."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sugenet.bnn.arrays import Bits, Ints
from sugenet.checker.setting import Plain, over_inputs
from sugenet.errors import CertificateError

__all__ = ["check_bounds", "contradicts", "most_features", "reachable"]


def most_features(plain: Plain) -> int:
    """How many features can change together within the budget."""
    if plain.budget is None:
        return len(plain.features)
    total, count = 0, 0
    for price in sorted(min(price for price, _ in options) for options in plain.features):
        total += price
        if total > plain.budget:
            break
        count += 1
    return count


def reachable(plain: Plain) -> tuple[Ints, Ints]:
    """Least and largest margin M - tau of each first-layer neuron: the best change of every feature, of as
    many as can change together.
    """
    fits = most_features(plain)
    ups = np.zeros((len(plain.features), len(plain.base)), np.int64)
    downs = ups.copy()
    for row, options in enumerate(plain.features):
        for _, gain in options:
            ups[row] = np.maximum(ups[row], gain)
            downs[row] = np.minimum(downs[row], gain)
    largest = np.sort(ups, axis=0)[len(ups) - fits :].sum(axis=0)
    least = np.sort(downs, axis=0)[:fits].sum(axis=0)
    return plain.base + least, plain.base + largest


def check_bounds(plain: Plain) -> str:
    """See that bounds alone exclude every violation."""
    plain.limit.fits(48 * len(plain.base) * len(plain.features), "the bounds of the first layer")
    low, high = reachable(plain)
    state = plain.base >= 0
    loose = (low >= 0) != (high >= 0)
    limit = _most_turned(plain, loose)
    for weights, tau in plain.layers:
        plain.limit.look()
        plain.limit.fits(40 * weights.size, "the bounds of a layer")
        counts = _count(weights, state)
        least, most = _swing(weights, state, loose, limit)
        loose = (counts + least >= tau) != (counts + most >= tau)
        state = counts >= tau
        limit = int(loose.sum())
    counts = _count(plain.head, state)
    for case in plain.cases:
        plain.limit.look()
        if contradicts(plain.head, case):
            continue
        if not any(
            _impossible(plain.head, factors, least, counts, state, loose, limit) for factors, least in case
        ):
            raise CertificateError("bounds do not exclude a violation, against what the certificate claims.")
    return "bounds through all layers exclude every violation"


def _count(weights: Ints, state: Bits) -> Ints:
    """Match counts: positive weights of active inputs, negative ones of idle inputs."""
    return np.asarray((np.abs(weights) * np.where(weights > 0, state, ~state)).sum(axis=1))


def _swing(weights: Ints, state: Bits, loose: Bits, limit: int) -> tuple[Ints, Ints]:
    """How much the sums can fall and rise when at most `limit` loose inputs turn."""
    part = weights[:, loose]
    turning = np.where(state[loose], -part, part)
    falls, rises = (
        np.sort(np.minimum(turning, 0), axis=1)[:, :limit],
        np.sort(np.maximum(turning, 0), axis=1)[:, ::-1][:, :limit],
    )
    return falls.sum(axis=1), rises.sum(axis=1)


def _impossible(
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


def _most_turned(plain: Plain, loose: Bits) -> int:
    """How many loose first-layer neurons can turn together: each needs its distance, and the features bring
    only so much in all.
    """
    count = int(loose.sum())
    if plain.budget is None or not count:
        return count
    fits, state = most_features(plain), plain.base >= 0
    need = np.where(state, plain.base + 1, -plain.base)[loose]
    sign = np.where(state, -1, 1)[loose]
    if fits <= 1:
        return max(
            (int((sign * gain[loose] >= need).sum()) for options in plain.features for _, gain in options),
            default=0,
        )
    brought = [
        max(int(np.maximum(sign * gain[loose], 0).sum()) for _, gain in options) for options in plain.features
    ]
    total = sum(sorted(brought)[::-1][:fits])
    used, turned = 0, 0
    for distance in sorted(need.tolist()):
        used += distance
        turned += used <= total
    return min(count, turned)
