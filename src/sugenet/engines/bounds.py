"""Polarized bounds through all layers: values that no allowed set of moves can change (docs/theory.md 7.2).

The first layer is bounded feature by feature, with the budget. In later layers an unknown neuron counts as
both off and on. With a budget, the number of neurons that can turn at once is bounded too. A neuron is
settled if not even the worst choice of that many inputs carries it over its threshold.
"""

from dataclasses import dataclass

import numpy as np

from sugenet.engines.protocol import Engine
from sugenet.nn import DenseLayer, Layer, SparseLayer
from sugenet.nn.arrays import Bits, Ints
from sugenet.problem import Clock, FirstLayer, Holds, Open, Problem, features_that_fit, see_time

__all__ = ["BOUNDS", "Bounded", "bound", "by_bounds", "turned_at_once"]


@dataclass(frozen=True)
class Bounded:
    """Result of the bounds for a problem."""

    unsettled: tuple[int, ...]
    """Neurons of each layer that may turn."""
    open_cases: tuple[int, ...]
    """Cases of the goal that the bounds do not exclude; if empty, no violation exists."""


def by_bounds(problem: Problem) -> Holds | Open:
    """Decide a problem by bounds alone, if they suffice."""
    bounded = bound(problem)
    if not bounded.open_cases:
        return Holds("bounds", {"kind": "bound"})
    facts = {
        "unsettled": list(bounded.unsettled),
        "open_cases": len(bounded.open_cases),
        "cases": len(problem.goal.cases),
    }
    return Open(
        "bounds", f"bounds leave {len(bounded.open_cases)} of {len(problem.goal.cases)} cases open", facts
    )


def _in_time(problem: Problem, clock: Clock) -> Holds | Open:
    if problem.proof is not None:
        return Holds("bounds", problem.proof)
    if not problem.near.moves and not problem.reaches(()):  # nothing moves, so no layer needs to be cut
        return Holds("bounds", {"kind": "bound"})
    see_time(problem.near, clock)
    return by_bounds(problem)


BOUNDS = Engine("bounds", _in_time)
"""Visits every layer once."""


def bound(problem: Problem) -> Bounded:
    """Bound every layer and the inequalities of the goal."""
    first_layer, network = problem.first_layer, problem.near.network.expanded
    unknown = np.zeros(len(first_layer.active), bool)
    unknown[first_layer.fragile] = True
    active, max_turned = first_layer.active, turned_at_once(first_layer)
    counts = [int(unknown.sum())]
    for layer in network.layers[1:]:
        matches, low, high = _matches(layer, active, unknown, max_turned)
        active = matches >= layer.tau
        unknown = (low >= layer.tau) != (high >= layer.tau)
        max_turned = int(unknown.sum())
        counts.append(max_turned)
    weights, min_sums = problem.goal.neurons(network.head)
    high = weights @ active + _changes(weights, active, unknown, max_turned)[1]
    possible = (high >= min_sums).tolist()
    cases = tuple(
        number
        for number, case in enumerate(problem.goal.members)
        if all(possible[row] for row in case) and not (len(case) > 1 and _contradict(weights, min_sums, case))
    )
    return Bounded(tuple(counts), cases)


def _matches(layer: Layer, active: Bits, unknown: Bits, max_turned: int) -> tuple[Ints, Ints, Ints]:
    """Return the match counts of a layer, and their minimum and maximum if at most `max_turned` unknown
    inputs turn.

    Convolutions and sparse layers are not unrolled: possible losses and gains are sums of this layer, too, of
    the inputs that are on and those that are off. After them, no turned input counts more than the largest
    weight.
    """
    if isinstance(layer, DenseLayer):
        rows, owner = layer.runs
        at = layer.columns[active].sum(axis=0) - layer.run_lowest
        low, high = _changes(rows, active, unknown, max_turned)
        return at[owner], (at + low)[owner], (at + high)[owner]
    here = layer.match_counts(active[None, :])[0]
    if not unknown.any():
        return here, here, here
    on, off = (active & unknown).astype(np.int64)[None, :], (~active & unknown).astype(np.int64)[None, :]
    if layer.every is not None:
        lost, won = layer.match_counts(on > 0)[0], layer.match_counts(off > 0)[0]
        return here, here - np.minimum(lost, max_turned), here + np.minimum(won, max_turned)
    both, window = np.concatenate([on, off]), layer.window
    weights = layer.factors if isinstance(layer, SparseLayer) else layer.weights
    limit = max_turned * int(np.abs(weights).max(initial=0))

    def sums(part: Ints) -> Ints:
        if isinstance(layer, SparseLayer):
            return layer.weighted(both, part)
        assert window is not None
        return window.sums(both, part, layer.groups).reshape(2, -1)

    (plus_on, plus_off), (minus_on, minus_off) = map(sums, (np.maximum(weights, 0), np.maximum(-weights, 0)))
    lost, won = plus_on + minus_off, plus_off + minus_on
    return here, here - np.minimum(lost, limit), here + np.minimum(won, limit)


def _contradict(weights: Ints, min_sums: Ints, case: tuple[int, ...]) -> bool:
    """Return whether two inequalities of a case over opposite weights cannot both hold."""
    bounds: dict[bytes, int] = {}
    for row in case:
        same = weights[row].tobytes()
        bounds[same] = max(bounds.get(same, int(min_sums[row])), int(min_sums[row]))
    return any(
        bounds.get((-weights[row]).tobytes(), -int(min_sums[row])) + int(min_sums[row]) > 0 for row in case
    )


def _changes(weights: Ints, active: Bits, unknown: Bits, max_turned: int) -> tuple[Ints, Ints]:
    """Return by how much the weighted sums of active inputs can fall and rise if at most `max_turned` of
    the unknown inputs turn.
    """
    change = np.where(active[unknown], -1, 1) * weights[:, unknown]  # contribution of turning an input
    if max_turned < change.shape[1]:
        change = np.sort(change, axis=1)
        return np.minimum(change[:, :max_turned], 0).sum(axis=1), np.maximum(
            change[:, change.shape[1] - max_turned :], 0
        ).sum(axis=1)
    return np.minimum(change, 0).sum(axis=1), np.maximum(change, 0).sum(axis=1)


def turned_at_once(first_layer: FirstLayer) -> int:
    """Return an upper bound on the number of first-layer neurons that an allowed set of moves turns.

    Each neuron needs its distance to the threshold. The total over all neurons is at most the total
    contribution of the moved features.
    """
    fragile, near = len(first_layer.fragile), first_layer.neighbourhood
    if near.budget is None or not fragile:
        return fragile
    fits = features_that_fit(near)
    need = np.where(first_layer.margins >= 0, first_layer.margins + 1, -first_layer.margins)
    sign = np.where(first_layer.margins >= 0, -1, 1)
    best, brought = 0, []
    for part in first_layer.parts():
        toward = part.gains * sign[part.neurons]  # contribution of a move towards turning each neuron
        best = max(best, int((toward >= need[part.neurons]).sum(axis=1).max()))
        brought.append(int(np.maximum(toward, 0).sum(axis=1).max()))
    if fits <= 1:
        return best
    total = sum(sorted(brought, reverse=True)[:fits])
    return min(fragile, int((np.cumsum(np.sort(need)) <= total).sum()))
