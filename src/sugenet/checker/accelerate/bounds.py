"""Bounds on every layer, recomputed.

To be ensured: no change that the question allows turns a neuron that is called settled, and no more neurons
turn together than the bound says. If such neurons cannot meet an inequality of a violation, nothing can.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Bits, Ints, Layer, Picking, Summing, bits_layer
from sugenet.checker.accelerate.integers import ArrayProblem, Demand, over_neurons, reachable
from sugenet.checker.limit import Limit
from sugenet.checker.problem import max_together
from sugenet.errors import CertificateError

__all__ = ["check_bounds", "exclude", "max_turned"]


def check_bounds(problem: ArrayProblem) -> str:
    """Check that bounds alone exclude every violation."""
    base, features, limit = problem.base, problem.features, problem.limit
    limit.fits(48 * len(base) * len(features), "the bounds of the first layer")
    together = max_together((min(price for price, _ in options) for options in features), problem.budget)
    low, high = reachable(base, features, together)
    loose, every = (low >= 0) != (high >= 0), np.arange(len(base))
    parts = ((every, np.array([gain for _, gain in options])) for options in features)
    turning = max_turned(base, loose, together, problem.budget, parts)
    layers = [bits_layer(weights, tau) for weights, tau in problem.layers]
    return exclude(problem.cases, layers, problem.head, base >= 0, loose, turning, limit)


def exclude(
    cases: list[list[Demand]],
    layers: Sequence[Layer],
    head: Ints,
    state: Bits,
    loose: Bits,
    turning: int,
    limit: Limit,
) -> str:
    """Check that no case can be met if at most `turning` of the loose neurons of the first layer turn.

    Parameters
    ----------
    cases
        The violations.
    layers, head
        The later layers, and the weights of the classes.
    state, loose, turning
        The first-layer neurons that are active at the sample, those that can turn, and how many can turn
        together.
    limit
        Limit of time and memory.
    """
    for layer in layers:
        limit.look()
        if isinstance(layer, Summing):
            limit.fits(40 * layer.weights.size, "the bounds of a layer")
        counts = layer.match_counts(state[None])[0]
        falls, rises = _swing(layer, state, loose, turning)
        state, loose = counts >= layer.tau, (counts - falls >= layer.tau) != (counts + rises >= layer.tau)
        turning = int(loose.sum())
    for case in cases:
        limit.look()
        rows = [over_neurons(head, *part) for part in case]
        if not (_contradict(rows) or any(_is_impossible(*row, state, loose, turning) for row in rows)):
            raise CertificateError("bounds do not exclude a violation, although the certificate claims so.")
    return "bounds through all layers exclude every violation"


def _swing(layer: Layer, state: Bits, loose: Bits, turning: int) -> tuple[Ints, Ints]:
    """Return by how much match counts can fall and rise if at most `turning` loose inputs turn."""
    if isinstance(layer, Summing):
        part = layer.weights[:, loose]
        turns = np.where(state[loose], -part, part)
        falls, rises = (np.sort(np.minimum(sign * turns, 0), axis=1)[:, :turning] for sign in (1, -1))
        return -falls.sum(axis=1), -rises.sum(axis=1)
    on, off = ((loose & marks)[None] for marks in (state, ~state))
    if isinstance(layer, Picking):
        return np.minimum(layer.match_counts(on)[0], turning), np.minimum(layer.match_counts(off)[0], turning)
    max_change = turning * int(np.abs(layer.weights).max(initial=0))
    plus, minus = np.maximum(layer.weights, 0), np.maximum(-layer.weights, 0)
    falls, rises = (
        layer.sums(first, plus)[0] + layer.sums(second, minus)[0] for first, second in ((on, off), (off, on))
    )
    return np.minimum(falls, max_change), np.minimum(rises, max_change)


def _is_impossible(row: npt.NDArray[Any], bound: int, state: Bits, loose: Bits, turning: int) -> bool:
    """Return whether an inequality over neurons cannot hold, whichever of the loose ones turn."""
    gains = np.where(state, -row, row)[loose]
    return bool(row[state].sum() + sum(sorted(np.maximum(gains, 0), reverse=True)[:turning]) < bound)


def _contradict(rows: list[tuple[npt.NDArray[Any], int]]) -> bool:
    """Return whether two inequalities say ``s >= a`` and ``-s >= b`` about the same sum s, with a + b above
    0.
    """
    return any((p == -q).all() and a + b > 0 for (p, a), (q, b) in combinations(rows, 2))


def max_turned(
    base: Ints, loose: Bits, together: int, budget: int | None, parts: Iterable[tuple[Ints, Ints]]
) -> int:
    """Return how many loose first-layer neurons can turn together.

    Each requires its distance from the threshold, and the total gain of the features is limited. For each
    feature, `parts` contains neurons and the gains of its options in them.
    """
    count = int(loose.sum())
    if budget is None or not count:
        return count
    need, sign = np.where(base >= 0, base + 1, -base), np.where(base >= 0, -1, 1)
    brought = []
    for neurons, gains in parts:
        can_turn = loose[neurons]
        some = neurons[can_turn]
        toward = gains[:, can_turn] * sign[some]
        turned = toward >= need[some] if together <= 1 else np.maximum(toward, 0)
        brought.append(int(turned.sum(axis=1).max()))
    if together <= 1:
        return max(brought, default=0)
    return max_together(need[loose].tolist(), sum(sorted(brought)[::-1][:together]))
