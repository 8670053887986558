"""A cascade as halves of thresholds, as the search kernels read them: without settled variables and without
weights of 0 (docs/theory.md 7.6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Ints
from sugenet.problem.cascade import Cascade, Thresholds

__all__ = ["Halves", "halves_of"]

_FITS = 3 << 59
"""Largest sizes of rows that the proof checker accepts."""


@dataclass(frozen=True, eq=False)
class Halves:
    """A cascade as halves, ``literal -> load <= cap``, with the loads of each, largest first."""

    literals: npt.NDArray[np.int32]
    """Literal that implies each half; -1: the half always holds."""
    caps: Ints
    starts: Ints
    """Index of the first load of each half."""
    loading: npt.NDArray[np.int32]
    loads: Ints
    fixed: npt.NDArray[np.int8]
    """Value of each variable of the cascade if it follows without any choice; else -1."""
    cuts: list[tuple[int, int, int, int]]
    """Of each cut the variable, whether it belongs to the half for false, and the multiples of the half and
    of the budget.
    """

    @property
    def tops(self) -> Ints:
        """Largest load of each half."""
        largest = np.zeros(len(self.literals), np.int64)
        some = np.flatnonzero(self.starts[1:] > self.starts[:-1])
        largest[some] = self.loads[self.starts[some]]
        return largest


def halves_of(cascade: Cascade, facts: Sequence[int], *, has_cuts: bool = True) -> Halves:
    """Return the thresholds of open variables over open variables, and the budget, with its cuts if it has
    any. Each threshold is two halves; for the inequalities of the goal, only the first is used.

    Facts are signed variable numbers, from 1, of first-layer neurons that are always fixed.
    """
    from sugenet.engines.hard.learn import half_kernels

    fixed = np.full(cascade.starts[-1], -1, np.int8)
    known = np.array(facts, np.int64)
    fixed[np.abs(known) - 1] = known > 0
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    cuts: list[tuple[int, int, int, int]] = []
    for number, layer in enumerate(cascade.layers):
        first, behind, end = cascade.starts[number : number + 3]
        below, outputs = fixed[first:behind], fixed[behind:end]
        weights, min_sums = _read(layer.weights), _read(layer.least)
        room = half_kernels.settle(weights, min_sums, below, outputs, _FITS)
        if room < 0:
            raise TooLargeError(
                "the scores of the classes are too finely divided: as integers they exceed 60 bits."
            )
        both = number < len(cascade.layers) - 1
        if number == 0 and cascade.budget is not None:
            rows = np.flatnonzero(outputs < 0) if has_cuts else np.zeros(0, np.intp)
            budget, cuts = _with_budget(layer, rows, behind, both, cascade.budget)
            parts.append(half_kernels.weighted(*map(_read, budget)))
        parts.append(half_kernels.thresholds(weights, min_sums, below, outputs, room, first, behind, both))
    literals, caps, starts, loading, loads = zip(*parts, strict=True)
    ends = np.cumsum([0, *(len(part) for part in loads)])
    return Halves(
        np.concatenate(literals),
        np.concatenate(caps),
        np.concatenate([[0], *(part[1:] + end for part, end in zip(starts, ends, strict=False))]),
        np.concatenate(loading),
        np.concatenate(loads),
        fixed,
        cuts,
    )


def _read(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the form that the kernels read."""
    view = np.ascontiguousarray(array, np.int64).view()
    view.flags.writeable = False
    return view


def _multiplier(weights: npt.NDArray[Any], prices: npt.NDArray[Any]) -> Fraction:
    """Return the smallest multiple of the prices at which no priced move has a gain."""
    best = Fraction(0)
    sizes = np.abs(prices)
    for size in np.unique(sizes):
        if size:
            chosen = sizes == size
            best = max(best, Fraction(int((-weights[chosen] * np.sign(prices[chosen])).max()), int(size)))
    return best


def _with_budget(
    layer: Thresholds,
    rows: npt.NDArray[np.intp],
    behind: int,
    both: bool,
    budget: tuple[npt.NDArray[Any], int],
) -> tuple[tuple[npt.NDArray[Any], ...], list[tuple[int, int, int, int]]]:
    """Return the budget and a cut of each half of some thresholds, as literals, weights and bounds; and the
    derivation of each cut.
    """
    prices, limit = budget
    if int(np.abs(prices).sum()) + abs(limit) >= _FITS:
        raise TooLargeError("the costs are too finely divided: as integers they exceed 60 bits.")
    literals, weights, bounds, made = [-1], [prices], [limit], []
    for row in rows.tolist():
        row_weights, min_sum = layer.weights[row], int(layer.least[row])
        for negative, half, bound in ((0, -row_weights, -min_sum), (1, row_weights, min_sum - 1))[: 1 + both]:
            share = _multiplier(half, prices)
            if share > 0:
                q, p = share.denominator, share.numerator
                cut, upper = q * half.astype(object) + p * prices, q * bound + p * limit
                if int(np.abs(cut).sum()) + abs(upper) < _FITS:
                    made.append((behind + row, negative, q, p))
                    literals.append(2 * (behind + row) + negative)
                    weights.append(cut)
                    bounds.append(upper)
    return (np.array(literals), np.array(weights).reshape(len(weights), len(prices)), np.array(bounds)), made
