"""A question as thresholds over 0/1 variables with their implications: the subject of a propagation proof.

To be ensured: every input that violates the question makes all thresholds true at once. So if they are
contradictory, there is no such input. Each row is two implications ``guard -> weights @ inputs >= least``,
one for a true neuron and one for a false one. The budget is an implication without a guard. Each *cut* is an
implication plus a multiple of the budget, and follows from both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.integers import ArrayProblem, dense_rows, over_neurons
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem, max_together, numbered
from sugenet.errors import CertificateError

__all__ = ["Implication", "ThresholdSystem", "implications_of", "reach", "system_of", "thresholds_of"]

_LARGE = 1 << 61


@dataclass(frozen=True, eq=False)
class ThresholdSystem:
    """Thresholds over 0/1 variables, layer by layer.

    Variables from 0: the steps, the rows of each layer, and then one for each case of the goal.
    """

    chains: tuple[tuple[int, ...], ...]
    """Steps of each feature, in order; each implies the one before it. Together they are 0, 1, 2, ..."""
    budget: tuple[tuple[int, ...], int] | None
    """Prices of the steps, and the largest total price of the true ones."""
    layers: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]
    """Weights and least sums. A row is true iff the weights of the true variables of the previous layer
    (first: the steps) reach its least sum.
    """
    cases: tuple[tuple[int, ...], ...]
    """Rows of the last layer; in some case all of them are true."""

    @property
    def starts(self) -> list[int]:
        """The first variable of the steps, of each layer and of the cases; at the end the number of
        variables.
        """
        sizes = [sum(map(len, self.chains)), *(len(bounds) for _, bounds in self.layers), len(self.cases)]
        return list(accumulate(sizes, initial=0))


def thresholds_of(problem: ArrayProblem) -> ThresholdSystem:
    """Return a question in integers as thresholds over 0/1 variables, with the goal's inequalities last.

    Each feature's options, including its own state, are in order. Step k is true iff the option is the k-th
    or a later one.
    """
    problem.limit.take(24 * len(problem.base) * sum(map(len, problem.features)), "the steps of all features")
    chains, budget, first = _steps(problem.offered, problem.base, problem.budget)
    layers = [first]
    layers += [(weights, tau + np.minimum(weights, 0).sum(axis=1)) for weights, tau in problem.layers]
    parts, cases = numbered(problem.cases)
    problem.limit.take(50 * len(parts) * problem.head.shape[1], "the inequalities over the last neurons")
    shape, rows = (len(parts), problem.head.shape[1]), []
    for part in parts:
        problem.limit.look()
        rows.append(over_neurons(problem.head, *part))
    small = all(int(np.abs(row).sum()) + abs(bound) < _LARGE for row, bound in rows)
    kind: Any = np.int64 if small else object  # Python integers cannot overflow
    weights = np.array([row for row, _ in rows], kind).reshape(shape)
    layers.append((weights, np.array([bound for _, bound in rows], kind)))
    return ThresholdSystem(chains, budget, tuple(layers), tuple(map(tuple, cases)))


_Layer: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def _steps(
    offered: Iterable[Sequence[tuple[int, Any]]], base: Sequence[int] | npt.NDArray[Any], budget: int | None
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], int] | None, _Layer]:
    """Return the steps of each feature, the budget over them, and the first layer."""
    chains, columns, prices = list[tuple[int, ...]](), list[Any](), list[int]()
    start, spent = np.array(base, np.int64), 0
    for row in offered:
        start, spent = start + np.array(row[0][1], np.int64), spent + row[0][0]
        chains.append(tuple(range(len(columns), len(columns) + len(row) - 1)))
        for (price, gain), (after, higher) in pairwise(row):
            columns.append(np.subtract(higher, gain))
            prices.append(after - price)
    first = np.array(columns, np.int64).reshape(len(columns), len(start)).T, -start
    return tuple(chains), None if budget is None else (tuple(prices), budget - spent), first


def system_of(problem: IntegerProblem) -> ThresholdSystem:
    """Return a problem in plain form as thresholds over 0/1 variables."""
    limit, width = problem.limit, len(problem.base)
    limit.take(24 * width * sum(map(len, problem.offered)), "the steps of all features")
    chains, budget, first = _steps(problem.offered, problem.base, problem.budget)
    layers = [first]
    for rows in (*problem.layers, problem.inequalities):
        limit.take(8 * len(rows) * width, "a layer of thresholds")
        layers.append(dense_rows(rows, width))
        width = len(rows)
    return ThresholdSystem(chains, budget, tuple(layers), tuple(map(tuple, problem.cases)))


def reach(thresholds: ThresholdSystem) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return bounds of the first layer's sums.

    They start from each feature's cheapest option. The best features change, as many as the budget allows.
    """
    weights = thresholds.layers[0][0].astype(np.int64)
    rows = len(weights)
    prices, limit = ((0,) * weights.shape[1], 0) if thresholds.budget is None else thresholds.budget
    options = []
    for chain in thresholds.chains:
        sums = np.concatenate([np.zeros((1, rows), np.int64), np.cumsum(weights[:, list(chain)].T, axis=0)])
        costs = list(accumulate((int(prices[step]) for step in chain), initial=0))
        options.append((sums, costs, costs.index(min(costs))))
    room = int(limit) - sum(min(costs) for _, costs, _ in options)
    base = np.zeros(rows, np.int64)
    up, down, extra = [np.zeros(rows, np.int64)], [np.zeros(rows, np.int64)], []
    for sums, costs, cheapest in options:
        more = [cost - costs[cheapest] for cost in costs]
        gains = sums[[k for k, cost in enumerate(more) if cost <= room or k == cheapest]] - sums[cheapest]
        base += sums[cheapest]
        up.append(gains.max(axis=0))
        down.append((-gains).max(axis=0))
        extra.append(min(cost for k, cost in enumerate(more) if k != cheapest) if len(more) > 1 else 0)
    fits = max_together(extra, room)
    best = [np.sort(np.array(gains), axis=0)[::-1][:fits].sum(axis=0) for gains in (up, down)]
    return base - best[1], base + best[0]


@dataclass(frozen=True, eq=False)
class Implication:
    """``guard -> weights @ inputs >= least``; guard 0: always."""

    guard: int
    weights: npt.NDArray[Any]
    least: int


def implications_of(
    thresholds: ThresholdSystem, cuts: Iterable[Sequence[int]], limit: Limit
) -> list[list[Implication]]:
    """Return for each layer the implications over its inputs."""
    layers, starts = [], thresholds.starts
    limit.take(
        sum(50 * weights.size + 400 * len(layer_bounds) for weights, layer_bounds in thresholds.layers),
        "the implications of all neurons",
    )
    for number, (weights, bounds) in enumerate(thresholds.layers):
        if weights.shape != (len(bounds), starts[number + 1] - starts[number]):
            raise CertificateError(f"the weights of layer {number + 1} do not fit.")
        names = range(starts[number + 1] + 1, starts[number + 2] + 1)
        implications = [Implication(name, weights[row], int(bounds[row])) for row, name in enumerate(names)]
        implications += [
            Implication(-name, -weights[row], 1 - int(bounds[row])) for row, name in enumerate(names)
        ]
        layers.append(implications)
    of = {implication.guard: implication for implication in layers[0]}
    if thresholds.budget is not None:
        prices, budget = np.array(thresholds.budget[0], dtype=object), int(thresholds.budget[1])
        layers[0].append(Implication(0, -prices, -budget))
        for guard, q, p in cuts:
            limit.take(120 * len(prices), "the cuts of a proof")
            if guard not in of or q < 0 or p < 0:
                raise CertificateError(
                    f"the cut {[guard, q, p]} adds no first-layer row and budget with factors of 0 or more."
                )
            row = of[guard]
            layers[0].append(
                Implication(guard, q * row.weights.astype(object) - p * prices, q * row.least - p * budget)
            )
    elif any(True for _ in cuts):
        raise CertificateError("there are cuts, but no budget.")
    return layers
