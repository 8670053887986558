"""The `dual` engine: ranges, then slopes, then an attack, then multipliers by ascent or from a linear
program, then branching, with the least promising node first.

An open node is split at a step of one neuron: where its staircase and its hull are furthest apart, first at
the kink of a clip. Only integers are used in the proof.
"""

from base64 import b64encode
from heapq import heappop, heappush
from itertools import count
from typing import Any
from zlib import compress

import numpy as np

from sugenet.engines.hard.dual.attack import Attack
from sugenet.engines.hard.dual.bound import Branch, Multipliers, Relaxed, Weighed
from sugenet.engines.hard.dual.guides import SCALE, ascend, by_slopes
from sugenet.engines.hard.dual.linear import Solved, fits, solve
from sugenet.engines.hard.dual.sums import Pool, QuantizedSums, Reals
from sugenet.engines.protocol import Engine
from sugenet.nn.arrays import Ints
from sugenet.problem import Clock, Holds, Open, Outcome, Problem, replayed

__all__ = ["DUAL"]

_FEW = 16
"""Up to this many free features, features are split instead of neurons if no linear program guides."""
_STEPS = 40
"""Number of ascent steps at a node."""


def _decide(problem: Problem, clock: Clock) -> Outcome:
    return _Deciding(problem, clock).run()


DUAL = Engine("dual", _decide)
"""Multipliers and branching."""


class _Tree:
    """Search tree of a case: closed by ranges, closed by multipliers, or split."""

    def __init__(self) -> None:
        self.leaf: Multipliers | None = None
        self.split: tuple[int, int, int] | None = None
        self.parts: tuple[_Tree, _Tree] | None = None


class _Deciding:
    """State of deciding one problem."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.problem, self.clock = problem, clock
        self.relaxed = Relaxed(problem)
        self.nodes = 0

    def run(self) -> Outcome:
        relaxed = self.relaxed
        self.root = relaxed.node({})
        trees = [_Tree() for _ in relaxed.cases]
        left = [number for number, case in enumerate(relaxed.cases) if not self.root.excludes(case)]
        if left and self.clock.up():
            return self._open()
        if left:
            multipliers, values, seen = self._by_slopes(self.root, left)
            multipliers, seen, left = self._close_rows(left, trees, multipliers, values, seen)
        if left and self.clock.up():
            return self._open()
        if left:
            self.attack = Attack(relaxed, self.root, self.clock)
            if self._attacks(left, seen, turns=4):
                return self._found()
            better, seen = ascend(self.root, multipliers, self.clock, _STEPS)
            multipliers, values = relaxed.integers(self.root, better)
            multipliers, seen, left = self._close_rows(left, trees, multipliers, values, seen)
            if left and self._attacks(left, seen, turns=16):
                return self._found()
        self.small = fits(relaxed)
        for number in left:
            if not self._branch(number, trees[number]):
                if self.attack.found is not None:
                    return self._found()
                return self._open()
        return Holds("dual", self._proof(trees))

    def _open(self) -> Open:
        facts = {"dual_nodes": self.nodes}
        return Open("dual", f"dual bounds leave a case open after {self.nodes} nodes", facts)

    # -- all cases at once -----------------------------------------------------------------------------------

    def _mu(self, cases: list[int]) -> Ints:
        """Return equal multipliers for the inequalities of each case."""
        mu = np.zeros((len(cases), len(self.relaxed.rows)), np.int64)
        for row, case in enumerate(cases):
            for which in self.relaxed.cases[case]:
                mu[row, which] = SCALE // len(self.relaxed.cases[case])
        return mu

    def _close_rows(
        self, left: list[int], trees: list[_Tree], multipliers: Multipliers, values: Reals, seen: Weighed
    ) -> tuple[Multipliers, Weighed, list[int]]:
        """Close the cases whose bound is below 0 and return the others."""
        for row, number in enumerate(left):
            if values[row] < 0:
                trees[number].leaf = multipliers.rows([row])
        rows = np.flatnonzero(values >= 0)
        return multipliers.rows(rows), seen.rows(rows), [left[row] for row in rows.tolist()]

    def _found(self) -> Outcome:
        assert self.attack.found is not None
        return replayed(self.problem, "dual", self.attack.found)

    def _by_slopes(self, node: Branch, cases: list[int]) -> tuple[Multipliers, Reals, Weighed]:
        relaxed, numbers, mu = self.relaxed, np.array(cases), self._mu(cases)
        multipliers, values = relaxed.integers(node, by_slopes(node, numbers, mu, flat=False))
        if self.clock.up():
            return multipliers, values, relaxed.see(node, multipliers)
        other, others = relaxed.integers(node, by_slopes(node, numbers, mu, flat=True))
        multipliers, values = multipliers.where(others < values, other), np.minimum(values, others)
        return multipliers, values, relaxed.see(node, multipliers)

    def _attacks(self, left: list[int], seen: Weighed, turns: int) -> bool:
        """Return whether an attack from the inputs that the bounds favour finds a violation."""
        rows = np.arange(max(len(left), self.attack.most)) % len(left)
        options = self.attack.vertex(seen.worth[0].astype(np.float64))[rows]
        return self.attack.walk(options, np.array(left)[rows], turns)

    # -- one case --------------------------------------------------------------------------------------------

    def _branch(self, number: int, tree: _Tree) -> bool:
        """Return whether a case is excluded."""
        case = self.relaxed.cases[number]
        order = count()
        waiting: list[tuple[float, int, Branch, _Tree]] = [(0.0, next(order), self.root, tree)]
        while waiting:
            if self.clock.up():
                return False
            _, _, node, index = heappop(waiting)
            self.nodes += 1
            unclosed = self._close(node, number, index)
            if self.attack.found is not None:
                return False
            if unclosed is None:
                continue
            value, split = unclosed
            if split is None:
                return False
            index.split = split
            index.parts = (_Tree(), _Tree())
            layer, unit, level = split
            low, high = node.windows.get((layer, unit), (0, 1 << 60))
            for part, window in zip(index.parts, ((low, level - 1), (level, high)), strict=True):
                inside = self.relaxed.node({**node.windows, (layer, unit): window}, node)
                if not inside.excludes(case):
                    heappush(waiting, (-value, next(order), inside, part))
        return True

    def _close(
        self, node: Branch, number: int, index: _Tree
    ) -> tuple[float, tuple[int, int, int] | None] | None:
        """Close a node, or return its distance from that and the place to split it."""
        if any(layer == 0 for layer, _ in node.windows):
            options = self.relaxed.inputs.lightest(node.open_)
            if options is None:
                index.leaf = self._nothing(number)
                return None
            if self.attack.tries(options[None]):
                return None
        before = float(SCALE)
        if node is not self.root:
            multipliers, values, seen = self._by_slopes(node, [number])
            if values[0] < 0:
                index.leaf = multipliers
                return None
            before = values[0]
        star = self.relaxed.stars[number]
        if star is not None:  # a clip is split off before a program is solved
            last = len(self.relaxed.layers) - 1
            kinks = self._kinks(node, last, star.center)
            if kinks:
                return float(before), (last + 1, star.center, kinks[-1])
        if self.small:
            solved = solve(node, number, self.clock.left())
            if solved is not None:
                multipliers, values = self.relaxed.integers(node, solved.given)
                if values[0] < 0:
                    index.leaf = multipliers
                    return None
                if self.attack.walk(solved.options[None], np.array([number]), turns=3):
                    return None
                return float(values[0]), self._where_solved(node, number, multipliers, solved)
        start = by_slopes(node, np.array([number]), self._mu([number]), flat=True)
        better, seen = ascend(node, start, self.clock, _STEPS)
        multipliers, values = self.relaxed.integers(node, better)
        if values[0] < 0:
            index.leaf = multipliers
            return None
        options = self.attack.vertex(seen.worth[0])
        if self.attack.walk(options, np.array([number]), turns=3):
            return None
        return float(values[0]), self._where_seen(node, seen)

    def _nothing(self, number: int) -> Multipliers:
        """Return multipliers which show that the remaining options cost more than the budget."""
        layers = [np.zeros((1, layer.multipliers), np.int64) for layer in self.relaxed.layers]
        mu = np.zeros((1, len(self.relaxed.rows)), np.int64)
        return Multipliers(np.array([number]), mu, np.ones(1, np.int64), layers)

    # -- where to split --------------------------------------------------------------------------------------

    def _where_solved(
        self, node: Branch, number: int, multipliers: Multipliers, solved: Solved
    ) -> tuple[int, int, int] | None:
        """Return where level and sum of the linear program are furthest apart, weighted by their worth."""
        worth = self.relaxed.see(node, multipliers).worth
        best, split = 0.0, None
        star = self.relaxed.stars[number]
        for index, layer in enumerate(self.relaxed.layers):
            assert isinstance(layer, QuantizedSums)
            low, high = node.levels[index + 1]
            stands = (layer.steps <= np.rint(solved.sums[index])[:, None]).sum(axis=1)
            gap = np.abs(worth[index + 1][0] * (solved.levels[index] - stands)) * (low < high)
            if star is not None and index + 1 == len(self.relaxed.layers):
                gap[star.neurons] = 0
                if low[star.center] < high[star.center]:
                    gap[star.center] = star.gap(
                        layer.steps, solved.sums[index], stands, multipliers.layers[index][0]
                    )
            unit = int(np.argmax(gap))
            if gap[unit] > best:
                best, split = float(gap[unit]), (index, unit)
        if split is None:
            return self._anywhere(node)
        index, unit = split
        return index + 1, unit, self._step(node, index, unit, float(solved.sums[index][unit]))

    def _where_seen(self, node: Branch, seen: Weighed) -> tuple[int, int, int] | None:
        """Return where a neuron's sum differs most from that given by the levels before it, by its worth."""
        feature = self._feature(node, seen)
        if feature is not None:
            return feature
        best, split, level = 0.0, None, 0
        for number, layer in enumerate(self.relaxed.layers):
            if not isinstance(layer, QuantizedSums):
                continue
            low, high = node.levels[number + 1]
            gap = np.abs(seen.worth[number + 1][0]) * (high - low)
            unit = int(np.argmax(gap))
            if gap[unit] > best:
                best, split = float(gap[unit]), (number, unit)
                reach = node.reach[number]
                level = self._step(node, number, unit, (reach.low[unit] + reach.high[unit]) / 2)
        return self._anywhere(node) if split is None else (split[0] + 1, split[1], level)

    def _feature(self, node: Branch, seen: Weighed) -> tuple[int, int, int] | None:
        """Return the feature whose options differ most, split in the middle, if few features are free."""
        inputs = self.relaxed.inputs
        gains = np.abs(inputs.gains(seen.worth[0])[0])
        best, split, free = -1.0, None, 0
        for index, (start, stop) in enumerate(
            zip(inputs.starts.tolist(), inputs.stops.tolist(), strict=True)
        ):
            open_ = np.flatnonzero(node.open_[start:stop])
            if len(open_) > 1:
                free += 1
                far = float(np.ptp(gains[start + open_]))
                if far > best:
                    best, split = far, (0, index, int(open_[len(open_) // 2]))
        return split if free <= _FEW else None

    def _anywhere(self, node: Branch) -> tuple[int, int, int] | None:
        """Return any neuron that is not settled, else any feature with several options."""
        for number in range(len(self.relaxed.layers)):
            low, high = node.levels[number + 1]
            if (low < high).any():
                unit = int(np.argmax(high - low))
                return number + 1, unit, int(low[unit] + high[unit] + 1) // 2
        inputs = self.relaxed.inputs
        for index, (start, stop) in enumerate(zip(inputs.starts, inputs.stops, strict=True)):
            open_ = np.flatnonzero(node.open_[start:stop])
            if len(open_) > 1:
                return 0, index, int(open_[len(open_) // 2])
        return None

    def _step(self, node: Branch, number: int, unit: int, at: float) -> int:
        """Return the level at which to split a neuron: the nearer end of its steps if a clip lies beyond it,
        else the step nearest to a sum.
        """
        layer = self.relaxed.layers[number]
        assert isinstance(layer, QuantizedSums)
        low, high = (int(end[unit]) for end in node.levels[number + 1])
        marks = self._kinks(node, number, unit) or list(range(low + 1, high + 1))
        return min(marks, key=lambda level: abs(float(layer.steps[unit, level - 1]) - 0.5 - at))

    def _kinks(self, node: Branch, number: int, unit: int) -> list[int]:
        """Return the levels at which a long flat end of a staircase of several steps is split off."""
        layer = self.relaxed.layers[number]
        assert isinstance(layer, QuantizedSums)
        low, high = (int(end[unit]) for end in node.levels[number + 1])
        if high - low < 2:
            return []
        first, last = (int(end[unit]) for end in node.reach[number])
        inside = layer.steps[unit, low:high]
        step = 2 * (int(inside[-1]) - int(inside[0])) / (len(inside) - 1)
        kinks = [low + 1] if inside[0] - first > step else []
        return [*kinks, high] if last - inside[-1] > step else kinks

    # -- the proof -------------------------------------------------------------------------------------------

    def _proof(self, trees: list[_Tree]) -> dict[str, Any]:
        """Return the trees as nested lists, and the multipliers in that order, packed.

        A leaf is 0 if ranges close it and 1 if multipliers do. A split is layer, neuron, level and its two
        parts.
        """
        data: list[bytes] = []

        def told(tree: _Tree, case: tuple[int, ...]) -> Any:
            if tree.parts is not None and tree.split is not None:
                layer, unit, level = tree.split
                if layer == 0:
                    unit = int(self.relaxed.inputs.features[unit])
                return [layer, unit, level, *(told(part, case) for part in tree.parts)]
            if tree.leaf is None:
                return 0
            leaf = tree.leaf
            pairs = zip(leaf.layers, self.relaxed.layers, strict=True)
            owns = (
                slopes[0][layer.inside.reshape(-1)] if isinstance(layer, Pool) else slopes[0]
                for slopes, layer in pairs
            )
            parts = [leaf.mu[0, list(case)], leaf.nu, *owns]
            data.append(np.concatenate(parts).astype("<i8").tobytes())
            return 1

        cases = [told(tree, case) for tree, case in zip(trees, self.relaxed.cases, strict=True)]
        packed = b64encode(compress(b"".join(data), 6)).decode() if data else ""
        return {"kind": "dual", "cases": cases, "multipliers": packed}
