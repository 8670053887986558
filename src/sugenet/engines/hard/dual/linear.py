"""Multipliers from a linear program: the problem with every staircase replaced by its convex hull.

Variables are the inputs, the sums and the levels of all layers. The solver's dual value of the equation that
defines a sum is that neuron's multiplier. The resulting bound is valid for any values.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sugenet.engines.hard.dual.bound import Branch, Multipliers, Relaxed
from sugenet.engines.hard.dual.guides import SCALE
from sugenet.engines.hard.dual.star import Star
from sugenet.engines.hard.dual.sums import Pieces, QuantizedSums, Reals
from sugenet.nn.arrays import Ints

__all__ = ["Solved", "fits", "solve"]

_CELLS = 1 << 21
"""Number of weights up to which a linear program pays off."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Multipliers of one row, and the solution of the linear program."""

    given: Multipliers
    sums: list[Reals]
    levels: list[Reals]
    """Values of the inputs and of every layer; in general not integers."""
    options: Ints
    """Option of each feature nearest to the solution."""
    infeasible: bool


def fits(relaxed: Relaxed) -> bool:
    """Return whether the problem is small enough: all layers dense, and few options."""
    if not all(isinstance(layer, QuantizedSums) and layer.dense is not None for layer in relaxed.layers):
        return False
    first = relaxed.layers[0].outputs if relaxed.layers else len(relaxed.rows)
    columns = len(relaxed.inputs.features) if _is_box(relaxed) else relaxed.inputs.count
    return columns * first + sum(layer.inputs * layer.outputs for layer in relaxed.layers[1:]) <= _CELLS


def _is_box(relaxed: Relaxed) -> bool:
    return relaxed.inputs.single and relaxed.inputs.budget is None


def solve(node: Branch, case: int, seconds: float | None = None) -> Solved | None:
    """Solve the linear program of a node for one case; None if the solver gives up."""
    program = _Program(node, case)
    solution = program.run(seconds)
    if solution is not None and solution.status == 2:
        return program.ray(seconds)
    return None if solution is None or solution.status != 0 else program.read(solution)


class _Program:
    """A linear program. Columns: inputs, then sums and levels of each layer's moving neurons, then the excess
    of the inequalities. Rows: the definitions of sums, the hulls, the budget, the inequalities.
    """

    def __init__(self, node: Branch, case: int) -> None:
        self.node, self.number, self.relaxed = node, case, node.relaxed
        self.case, self.star = self.relaxed.cases[case], self.relaxed.stars[case]
        self.entries: list[tuple[Any, Any, Any]] = []
        self.low: list[Reals] = []
        self.high: list[Reals] = []
        self.columns = 0
        self._inputs()
        self.sums: list[Ints] = []
        self.moving: list[Ints] = []
        self.wanted = self._wanted()
        self.equal: list[Reals] = []
        self.rows = 0
        before, still = self._columns_of_inputs()
        for number, layer in enumerate(self.relaxed.layers):
            assert isinstance(layer, QuantizedSums)
            assert layer.dense is not None
            reach, levels, mine = node.reach[number], node.levels[number + 1], self.wanted[number]
            weights = layer.dense[mine]
            here = np.full(layer.outputs, -1)
            here[mine] = self._more(reach.low[mine], reach.high[mine])
            rows = self.rows + np.arange(len(mine))
            self._put(rows, here[mine], np.ones(len(mine)))
            self._matrix(rows, before, -(weights if number else self._over_columns(weights)))
            self.equal.append(layer.base[mine] + weights @ still)
            self.rows += len(mine)
            self.sums.append(here)
            moves = mine[levels.low[mine] < levels.high[mine]]
            if self.star is not None and number + 1 == len(self.relaxed.layers):
                moves = moves[:0]  # the sums themselves are compared
            level_columns = np.full(layer.outputs, -1)
            level_columns[moves] = self._more(levels.low[moves], levels.high[moves])
            still = np.where(level_columns >= 0, 0, levels.low)
            before = level_columns
            self.moving.append(level_columns)
        self.last, self.still = before, still
        self.below: list[float] = []
        self.lines: list[tuple[Any, Any, Any]] = []
        self.many = 0
        self._hulls()

    def _wanted(self) -> list[Ints]:
        """Return the neurons of every layer whose sums matter: they move and a later layer reads them, or
        they have a window.
        """
        wanted: list[Ints] = []
        read = self.relaxed.rows[list(self.case)].any(axis=0)
        star = [] if self.star is None else self.star.neurons
        for number in reversed(range(len(self.relaxed.layers))):
            layer, levels = self.relaxed.layers[number], self.node.levels[number + 1]
            marks = read & (levels.low < levels.high)
            if number + 1 == len(self.relaxed.layers):
                marks[star] = True
            marks[[unit for at, unit in self.node.windows if at == number + 1]] = True
            wanted.append(np.flatnonzero(marks))
            assert isinstance(layer, QuantizedSums)
            assert layer.dense is not None
            read = layer.dense[marks].any(axis=0)
        return wanted[::-1]

    def _more(self, low: Any, high: Any) -> Ints:
        indices = self.columns + np.arange(len(low))
        self.low.append(np.asarray(low, np.float64))
        self.high.append(np.asarray(high, np.float64))
        self.columns += len(low)
        return indices

    def _put(self, rows: Any, columns: Any, values: Any) -> None:
        self.entries.append((rows, columns, values))

    def _matrix(self, rows: Ints, columns: Ints, weights: Reals) -> None:
        """Add weights over the columns that exist."""
        there = np.flatnonzero(columns >= 0)
        part = weights[:, there]
        i, j = np.nonzero(part)
        self._put(rows[i], columns[there[j]], part[i, j])

    def _inputs(self) -> None:
        inputs, open_ = self.relaxed.inputs, self.node.open_
        if _is_box(self.relaxed):
            low, high = self.node.levels[0]
            indices = inputs.place[inputs.starts]
            self.own = self._more(low[indices], high[indices])
        else:
            self.own = self._more(np.zeros(inputs.count), open_.astype(np.float64))

    def _columns_of_inputs(self) -> tuple[Ints, Ints]:
        """Return the columns, and the constant part of the inputs."""
        inputs = self.relaxed.inputs
        still = inputs.start.copy()
        if _is_box(self.relaxed):
            still[inputs.place[inputs.starts]] = 0
        return self.own, still

    def _over_columns(self, weights: Ints) -> Ints:
        """Return weights of the inputs as weights of the columns."""
        inputs = self.relaxed.inputs
        return weights[:, inputs.place[inputs.starts]] if _is_box(self.relaxed) else inputs.gains(weights)

    def _line(self, columns: Any, values: Any, upper: float) -> None:
        """Add the row: the sum of values times columns is at most `upper`."""
        self.lines.append((np.full(len(columns), self.many), columns, values))
        self.below.append(upper)
        self.many += 1

    def _hulls(self) -> None:
        inputs = self.relaxed.inputs
        if not _is_box(self.relaxed):
            for start, stop in zip(inputs.starts, inputs.stops, strict=True):  # one option per feature
                self._line(self.own[start:stop], np.ones(stop - start), 1.0)
                self._line(self.own[start:stop], -np.ones(stop - start), -1.0)
            if inputs.budget is not None:
                self._line(self.own, inputs.prices.astype(np.float64), float(inputs.budget))
        for level_columns, sums, pieces in zip(self.moving, self.sums, self.node.pieces, strict=True):
            assert pieces is not None
            stops = np.append(pieces.starts[1:], len(pieces.neuron))
            for neuron in np.flatnonzero(level_columns >= 0).tolist():
                mine = slice(pieces.starts[neuron], stops[neuron])
                for slope, offset, sign in _hull(
                    pieces, mine
                ):  # sign * (level - slope * sum) <= sign * offset
                    self._line([level_columns[neuron], sums[neuron]], [sign, -sign * slope], sign * offset)
        self.first = self.many
        excess = self.columns
        self._more([-np.inf], [np.inf])
        self.excess = excess
        if self.star is not None:
            self._compare(self.star, excess)
            return
        there = np.flatnonzero(self.last >= 0)
        for row in self.case:
            weights = self.relaxed.rows[row]
            if not self.relaxed.layers:
                weights = self._over_columns(weights[None])[0]
            min_sum = float(self.relaxed.least[row] - self.relaxed.rows[row] @ self.still)
            self._line([*self.last[there], excess], [*(-weights[there].astype(np.float64)), 1.0], -min_sum)

    def _compare(self, star: Star, excess: int) -> None:
        """Add the comparisons of a star as lines over sums: the other neuron is above (or below) the value
        that the level of the center allows.
        """
        pieces = self.node.pieces[-1]
        assert pieces is not None
        layer, sums = self.relaxed.layers[-1], self.sums[-1]
        assert isinstance(layer, QuantizedSums)
        mine = pieces.of_neuron(star.center)
        for row in star.rows:
            if not row.theirs:  # equivalent to a window on the center
                continue
            limit = row.bound(pieces.level[mine])
            steps, reach = layer.steps[row.neuron], self.node.reach[-1]
            if row.theirs < 0:
                ends = np.append(steps - 1, reach.high[row.neuron])[np.clip(limit, 0, layer.top)]
                ends, fine = np.minimum(ends, reach.high[row.neuron]), limit >= 0
                fine &= ends >= reach.low[row.neuron]
            else:
                ends = np.append(reach.low[row.neuron], steps)[np.clip(limit, 0, layer.top)]
                ends, fine = np.maximum(ends, reach.low[row.neuron]), limit <= layer.top
                fine &= ends <= reach.high[row.neuron]
            sign = -1.0 if row.theirs > 0 else 1.0
            points = [
                (s, int(end))
                for low, high, end, ok in zip(
                    pieces.low[mine].tolist(), pieces.high[mine].tolist(), ends, fine, strict=True
                )
                if ok
                for s in (low, high)
            ]
            other = sums[row.neuron]
            for slope, offset in _envelope(points, sign):  # sign * (other - slope * center) <= sign * offset
                self._line([other, sums[star.center], excess], [sign, -sign * slope, 1.0], sign * offset)

    def _matrices(self, more: int = 0) -> tuple[Any, Any]:
        from scipy.sparse import csr_array  # type: ignore[import-untyped]

        made: list[Any] = []
        for parts, rows in ((self.entries, self.rows), (self.lines, self.many)):
            if not parts:
                made.append(None)
                continue
            i, j, v = (np.concatenate([np.asarray(part[k]) for part in parts]) for k in range(3))
            made.append(csr_array((v.astype(np.float64), (i, j)), shape=(rows, self.columns + more)))
        return made[0], made[1]

    def run(self, seconds: float | None) -> Any:
        cost = np.zeros(self.columns)
        cost[self.excess] = -1.0
        return self._solve(cost, *self._matrices(), seconds)

    def _solve(self, cost: Reals, equal: Any, lines: Any, seconds: float | None, more: int = 0) -> Any:
        from scipy.optimize import linprog  # type: ignore[import-untyped]

        bounds = np.stack(
            [
                np.concatenate([*self.low, np.zeros(more)]),
                np.concatenate([*self.high, np.full(more, np.inf)]),
            ],
            axis=1,
        )
        options = {} if seconds is None else {"time_limit": max(0.01, seconds)}
        return linprog(
            cost,
            A_ub=lines,
            b_ub=np.array(self.below),
            A_eq=equal,
            b_eq=None if equal is None else np.concatenate(self.equal),
            bounds=bounds,
            method="highs-ipm" if self.columns > 8 * self.rows else "highs",
            options=options,
        )

    def ray(self, seconds: float | None) -> Solved | None:
        """Return why no point exists: multipliers of contradictory sums, without the inequalities."""
        from scipy.sparse import csr_array, hstack, identity

        if not self.rows:
            return None
        equal, lines = self._matrices()
        slack = csr_array(identity(self.rows))
        wide = hstack([equal, slack, -slack]).tocsr()
        narrow = hstack([lines, csr_array((self.many, 2 * self.rows))]).tocsr()
        cost = np.concatenate([np.zeros(self.columns), np.ones(2 * self.rows)])
        solution = self._solve(cost, wide, narrow, seconds, 2 * self.rows)
        return self.read(solution, infeasible=True) if solution.status == 0 else None

    def read(self, solution: Any, *, infeasible: bool = False) -> Solved:
        relaxed, inputs = self.relaxed, self.relaxed.inputs
        scale = float(SCALE)
        mu = np.zeros((1, len(relaxed.rows)))
        if not infeasible and self.star is None:
            for index, row in enumerate(self.case):
                mu[0, row] += max(0.0, -solution.ineqlin.marginals[self.first + index] * scale)
        layers, start = [], 0
        for layer, mine in zip(relaxed.layers, self.wanted, strict=True):
            slopes = np.zeros((1, layer.outputs))
            slopes[0, mine] = -solution.eqlin.marginals[start : start + len(mine)] * scale
            layers.append(slopes)
            start += len(mine)
        nu = np.zeros(1)
        if inputs.budget is not None and not _is_box(relaxed):
            nu[0] = max(0.0, -solution.ineqlin.marginals[2 * len(inputs.features)] * scale)
        point = solution.x
        sums = [
            np.where(here >= 0, point[here], (reach.low + reach.high) / 2)
            for here, reach in zip(self.sums, self.node.reach, strict=True)
        ]
        levels = [
            np.where(self.moving[k] >= 0, point[self.moving[k]], self.node.levels[k + 1].low)
            for k in range(len(self.sums))
        ]
        if _is_box(relaxed):
            near = np.abs(
                inputs.start[inputs.place]
                + inputs.change
                - np.repeat(point[self.own], inputs.stops - inputs.starts)
            )
        else:
            near = -point[self.own]
        near = np.where(self.node.open_, near, np.inf)
        options = np.array(
            [a + int(np.argmin(near[a:b])) for a, b in zip(inputs.starts, inputs.stops, strict=True)],
            np.int64,
        )
        return Solved(
            Multipliers(np.array([self.number]), np.rint(mu), nu, layers), sums, levels, options, infeasible
        )


def _hull(pieces: Pieces, mine: slice) -> list[tuple[float, float, float]]:
    """Return lines above and below one staircase: slope, offset, and +1 for above."""
    level, low, high = (part[mine].tolist() for part in (pieces.level, pieces.low, pieces.high))
    above = [*zip(low, level, strict=True), (high[-1], level[-1])]
    below = [(low[0], level[0]), *zip(high, level, strict=True)]
    upper_lines = [(slope, offset, 1.0) for slope, offset in _envelope(above, 1.0) if slope]
    return upper_lines + [(slope, offset, -1.0) for slope, offset in _envelope(below, -1.0) if slope]


def _envelope(points: list[tuple[int, int]], sign: float) -> list[tuple[float, float]]:
    """Return lines above points in rising order, or below if the sign is negative: slopes and offsets."""
    chain: list[tuple[int, int]] = []
    for s, h in points:
        if chain and chain[-1][0] == s:
            if sign * h <= sign * chain[-1][1]:
                continue
            chain.pop()
        while (
            len(chain) > 1
            and sign
            * (
                (h - chain[-2][1]) * (chain[-1][0] - chain[-2][0])
                - (chain[-1][1] - chain[-2][1]) * (s - chain[-2][0])
            )
            >= 0
        ):
            chain.pop()
        chain.append((s, h))
    if len(chain) == 1:
        return [(0.0, float(chain[0][1]))]
    lines = ((a, p, (q - p) / (b - a)) for (a, p), (b, q) in pairwise(chain))
    return [(slope, p - slope * a) for a, p, slope in lines]
