"""Dual bound: multipliers for the inequalities of a case, the neurons and the budget give an integer that
no input of the neighbourhood can exceed. If it is below 0, the case is excluded (docs/theory.md 7.10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.dual.inputs import Inputs, Taken
from sugenet.engines.hard.dual.star import star_of
from sugenet.engines.hard.dual.sums import (
    Best,
    Pieces,
    Pool,
    QuantizedSums,
    Range,
    Reading,
    Reals,
    reading_of,
)
from sugenet.nn.arrays import Ints
from sugenet.problem.problem import Problem

__all__ = ["Branch", "Multipliers", "Relaxed", "Weighed", "Windows"]

Windows = Mapping[tuple[int, int], tuple[int, int]]
"""The levels that a neuron may have, by layer from 1 and neuron from 0; for layer 0 the options, from 0, of
a feature by its index.
"""
_LARGEST = float(1 << 60)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of the inequalities, the budget and every layer, one row per case."""

    cases: Ints
    """Case of each row."""
    mu: Reals
    """Not negative, and 0 for inequalities of other cases."""
    nu: Reals
    """Not negative."""
    layers: list[Reals]

    def rows(self, which: Ints | slice | list[int]) -> Multipliers:
        """Return some of the rows."""
        layers = [row[which] for row in self.layers]
        return Multipliers(self.cases[which], self.mu[which], self.nu[which], layers)

    def where(self, better: npt.NDArray[np.bool_], other: Multipliers) -> Multipliers:
        """Return these multipliers with the rows of another in which it is better."""
        return Multipliers(
            self.cases,
            np.where(better[:, None], other.mu, self.mu),
            np.where(better, other.nu, self.nu),
            [np.where(better[:, None], b, a) for a, b in zip(self.layers, other.layers, strict=True)],
        )


@dataclass(frozen=True, eq=False)
class Branch:
    """Ranges of all sums and levels within windows."""

    windows: Windows
    open_: npt.NDArray[np.bool_]
    """Open options of the features."""
    levels: list[Range]
    """Ranges of the inputs and of the levels of every layer."""
    reach: list[Range]
    """Ranges of the match counts of every layer, or of the levels of a pool."""
    empty: bool
    relaxed: Relaxed

    @cached_property
    def pieces(self) -> list[Pieces | None]:
        """Staircases of every layer."""
        return [
            Pieces.of(layer.steps, reach) if isinstance(layer, QuantizedSums) else None
            for layer, reach in zip(self.relaxed.layers, self.reach, strict=True)
        ]

    @cached_property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Inequalities that the ranges alone leave possible."""
        rows, min_sums = self.relaxed.rows, self.relaxed.least
        low, high = self.levels[-1]
        top = np.maximum(rows * low, rows * high).sum(axis=1)
        return np.asarray(top >= min_sums)

    def excludes(self, case: Sequence[int]) -> bool:
        """Return whether the ranges alone exclude a case."""
        return self.empty or not self.possible[list(case)].all()


@dataclass(frozen=True, eq=False)
class Weighed:
    """A bound, and the values of every layer at which its part is reached."""

    value: Reals
    worth: list[Reals]
    """Worth of the levels of every layer."""
    best: list[Best]
    taken: Taken

    def rows(self, which: Ints) -> Weighed:
        """Return some of the rows."""
        best = [Best(*(part[which] for part in one)) for one in self.best]
        taken = Taken(*(part[which] for part in self.taken))
        return Weighed(self.value[which], [one[which] for one in self.worth], best, taken)


class Relaxed:
    """A problem as layers of sums and staircases."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.layers: list[Reading] = [reading_of(layer) for layer in problem.near.network.layers]
        self.inputs = Inputs(problem.near)
        self.rows, self.least = problem.goal.neurons(problem.near.network.head)
        self.cases = problem.goal.members
        compares = bool(self.layers) and isinstance(self.layers[-1], QuantizedSums)
        self.stars = [star_of(self.rows, self.least, case) if compares else None for case in self.cases]

    def node(self, windows: Windows, before: Branch | None = None) -> Branch:
        """Return the ranges of all layers within windows, from `before`, which differs in one layer's
        windows.
        """
        first = min((layer for layer, _ in windows), default=0) if before is None else -1
        if before is not None:
            changed = [key for key, window in windows.items() if before.windows.get(key) != window]
            first = min((layer for layer, _ in changed), default=len(self.layers) + 1)
        if before is None or first == 0:
            open_ = self._open(windows)
            levels, reach, first = [self.inputs.box(open_)], [], 0
        else:
            open_, levels, reach = before.open_, before.levels[:first], before.reach[: first - 1]
            first -= 1
        empty = levels[0].empty
        for number, layer in enumerate(self.layers[first:], start=first):
            if empty:
                break
            there = self.inputs.reach(layer, open_) if number == 0 else layer.reach(levels[-1])
            layer_windows = [(unit, window) for (at, unit), window in windows.items() if at == number + 1]
            if layer_windows:
                there = Range(there.low.copy(), there.high.copy())
            for unit, (low, high) in layer_windows:
                layer.within(there, unit, low, high)
            empty = there.empty
            reach.append(there)
            levels.append(layer.levels(there))
        return Branch(windows, open_, levels, reach, empty, self)

    def _open(self, windows: Windows) -> npt.NDArray[np.bool_]:
        """Return the options within the windows of their features."""
        open_ = self.inputs.everything()
        for (layer, index), (low, high) in windows.items():
            if layer == 0:
                start, stop = int(self.inputs.starts[index]), int(self.inputs.stops[index])
                open_[start : start + low] = False
                open_[start + high + 1 : stop] = False
        return open_

    def see(self, node: Branch, multipliers: Multipliers) -> Weighed:
        """Return the bound: exact for integers, only a guide for floats."""
        worth: Any = multipliers.mu @ self.rows
        total: Any = -(multipliers.mu @ self.least)
        asked, best = [], []
        for number in reversed(range(len(self.layers))):
            layer, slopes = self.layers[number], multipliers.layers[number]
            asked.append(worth)
            pieces = node.pieces[number]
            if pieces is not None:
                assert isinstance(layer, QuantizedSums)
                layer_best = pieces.best(worth, slopes)
                if number + 1 == len(self.layers):
                    layer_best = self._compared(pieces, multipliers.cases, worth, slopes, layer_best)
                total = total + slopes @ layer.base
            else:
                assert isinstance(layer, Pool)
                layer_best = layer.best(worth, slopes, node.levels[number], node.reach[number])
            best.append(layer_best)
            total = total + layer_best.value.sum(axis=1)
            worth = layer.back(slopes)
        taken = self.inputs.best(worth, multipliers.nu, node.open_)
        asked.append(worth)
        return Weighed(total + worth @ self.inputs.start + taken.value, asked[::-1], best[::-1], taken)

    def _compared(self, pieces: Pieces, cases: Ints, worth: Reals, slopes: Reals, layer_best: Best) -> Best:
        """Do the same for a case that is a star: levels that do not meet it are left out."""
        if all(self.stars[case] is None for case in cases.tolist()):
            return layer_best
        value, level, at = layer_best.value.copy(), layer_best.level.copy(), layer_best.at.copy()
        for row, case in enumerate(cases.tolist()):
            star = self.stars[case]
            if star is not None:
                best, reached = star.best(pieces, worth[row], slopes[row])
                value[row, star.neurons] = 0
                value[row, star.center] = best
                for neuron, there, s in reached:
                    level[row, neuron], at[row, neuron] = there, s
        return Best(value, level, at)

    def integers(self, node: Branch, multipliers: Multipliers) -> tuple[Multipliers, Reals]:
        """Return integer multipliers, scaled down if sums would exceed 62 bits, and their bounds."""
        top = float(node.levels[-1].high.max(initial=1))
        sums = np.abs(self.rows).sum(axis=1, dtype=np.float64) * top + np.abs(self.least)
        largest: Any = np.abs(multipliers.mu).astype(np.float64) @ sums
        for layer, slopes in zip(self.layers, multipliers.layers, strict=True):
            largest = largest + 2 * (np.abs(slopes) @ np.maximum(layer.sizes, 1).astype(np.float64))
        if self.inputs.budget is not None and self.inputs.count:
            paid = float(self.inputs.prices.astype(np.float64).sum())
            largest = largest + multipliers.nu * (self.inputs.budget + paid)
        unit = np.minimum(1.0, _LARGEST / np.maximum(largest, 1.0))
        kept = Multipliers(
            multipliers.cases,
            np.rint(multipliers.mu * unit[:, None]).astype(np.int64),
            np.rint(multipliers.nu * unit).astype(np.int64),
            [np.rint(values * unit[:, None]).astype(np.int64) for values in multipliers.layers],
        )
        return kept, self.see(node, kept).value
