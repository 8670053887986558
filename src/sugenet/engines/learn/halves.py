"""A cascade as halves of thresholds, as the kernels of the search read them: settled variables left out, and
no weight of 0 written anywhere (docs/theory.md 7.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.errors import TooLargeError
from sugenet.problem.cascade import Cascade

__all__ = ["Halves", "SparseHalves", "Written", "halves_of"]

_FITS = 3 << 59
"""Sizes of rows that the proof's checker still takes."""


@dataclass(frozen=True, eq=False)
class Halves:
    """``literals[k] -> weights[k] @ inputs <= bounds[k]`` over the variables `inputs`; literal -1: always."""

    literals: Ints
    weights: npt.NDArray[Any]
    bounds: npt.NDArray[Any]
    inputs: Ints

    @property
    def fit(self) -> bool:
        """Whether their sums are well within 64 bits; floats are near enough to say so."""
        sizes = np.abs(self.weights).sum(axis=1).astype(np.float64) + np.abs(self.bounds.astype(np.float64))
        return bool((sizes < _FITS).all())

    def reduced(self) -> Halves:
        """Divide each by its common factor, which changes nothing for whole numbers."""
        if not self.weights.size:
            return self
        common = np.maximum(np.gcd.reduce(self.weights, axis=1), 1)
        if (common == 1).all():
            return self
        return replace(self, weights=self.weights // common[:, None], bounds=self.bounds // common)


def _multiplier(weights: npt.NDArray[Any], prices: npt.NDArray[Any]) -> Fraction:
    """The least multiple of the prices that leaves no priced move with a gain."""
    best = Fraction(0)
    sizes = np.abs(prices)
    for size in np.unique(sizes):
        if size:
            chosen = sizes == size
            best = max(best, Fraction(int((-weights[chosen] * np.sign(prices[chosen])).max()), int(size)))
    return best


@dataclass(frozen=True, eq=False)
class Written:
    """A cascade as halves."""

    blocks: list[Halves]
    fixed: npt.NDArray[np.int8]
    """Of each variable of the cascade its value, where that follows without any choice; else -1."""
    cuts: list[tuple[int, int, int, int]]
    """Of each cut the variable, whether it is of the half that says false, and the multiples of the half and
    of the budget.
    """


def halves_of(cascade: Cascade, facts: Sequence[int]) -> Written:
    """The thresholds of variables that are not fixed, over those that are not: two halves each, of the
    goal's inequalities the first alone; and the budget with its cuts.

    Facts are signed variable numbers, from 1, of first-layer neurons that are fixed throughout.
    """
    fixed = np.full(cascade.starts[-1], -1, np.int8)
    found: list[Halves] = []
    cuts: list[tuple[int, int, int, int]] = []
    known = np.array(facts, np.int64)
    fixed[np.abs(known) - 1] = known > 0
    for number, layer in enumerate(cascade.layers):
        first, behind = cascade.starts[number], cascade.starts[number + 1]
        below, own = fixed[first:behind], fixed[behind : cascade.starts[number + 2]]
        free, rows = np.flatnonzero(below < 0), np.flatnonzero(own < 0)
        weights, least = layer.weights[rows], layer.least[rows]
        # before anything is folded away: whoever checks a proof has all of it
        if not Halves(rows, weights, least, first + np.arange(len(below))).fit:
            raise TooLargeError(
                "the scores of the classes are too finely divided: as whole numbers they leave 60 bits."
            )
        if len(free) < len(below):
            least = least - weights[:, below == 1].sum(axis=1)
            weights = weights[:, free]
        low = np.minimum(weights, 0).sum(axis=1)
        always, never = low >= least, np.maximum(weights, 0).sum(axis=1) < least
        own[rows[always]], own[rows[never]] = 1, 0
        rows = np.flatnonzero(own < 0)
        if always.any() or never.any():
            open_ones = ~(always | never)
            weights, least = weights[open_ones], least[open_ones]
        halves = Halves(2 * (behind + rows), -weights, -least, first + free)
        goal = number == len(cascade.layers) - 1
        if not goal:
            halves = _paired(halves, Halves(halves.literals + 1, weights, least - 1, halves.inputs))
        if number == 0 and cascade.budget is not None:
            budget, cuts = _with_budget(halves, cascade.budget)
            found += budget
        found.append(halves.reduced())
    return Written(found, fixed, cuts)


def _with_budget(
    halves: Halves, budget: tuple[npt.NDArray[Any], int]
) -> tuple[list[Halves], list[tuple[int, int, int, int]]]:
    """The budget, and the cut of each half; and how each cut is made."""
    prices, limit = budget
    none = np.array([-1])
    spent = Halves(none, prices[None, :], np.array([limit], object), halves.inputs)
    if not spent.fit:
        raise TooLargeError("the costs are too finely divided: as whole numbers they leave 60 bits.")
    literals, rows, bounds, made = [], [], [], []
    for literal, weights, bound in zip(
        halves.literals.tolist(), halves.weights, halves.bounds.tolist(), strict=True
    ):
        share = _multiplier(weights, prices)
        if share > 0:
            q, p = share.denominator, share.numerator
            row, most = q * weights.astype(object) + p * prices, q * bound + p * limit
            if int(np.abs(row).sum()) + abs(most) < _FITS:
                made.append((literal >> 1, literal & 1, q, p))
                literals.append(literal)
                rows.append(row)
                bounds.append(most)
    cuts = Halves(
        np.array(literals, np.int64),
        np.array(rows, object).reshape(len(rows), len(prices)),
        np.array(bounds, object),
        halves.inputs,
    )
    return [spent.reduced(), cuts.reduced()], made


def _paired(yes: Halves, no: Halves) -> Halves:
    """Halves of the same thresholds, each beside its other."""
    return Halves(
        np.stack([yes.literals, no.literals], axis=1).reshape(-1),
        np.stack([yes.weights, no.weights], axis=1).reshape(2 * len(yes.bounds), len(yes.inputs)),
        np.stack([yes.bounds, no.bounds], axis=1).reshape(-1),
        yes.inputs,
    )


@dataclass(frozen=True, eq=False)
class SparseHalves:
    """Halves as the kernels read them: what loads each, and what each literal loads."""

    cap: Ints
    top: Ints
    row_from: Ints
    row_literal: npt.NDArray[np.int32]
    row_load: Ints
    column_from: Ints
    column_half: npt.NDArray[np.int32]
    column_load: Ints

    @classmethod
    def of(cls, blocks: Sequence[Halves], variables: int) -> SparseHalves:
        caps, halves, literals, loads, start = [], [], [], [], 0
        for block in blocks:
            rows, columns = np.nonzero(block.weights)
            weights = block.weights[rows, columns].astype(np.int64)
            caps.append((block.bounds - np.minimum(block.weights, 0).sum(axis=1)).astype(np.int64))
            halves.append(start + rows)
            literals.append(2 * block.inputs[columns] + (weights < 0))
            loads.append(np.abs(weights))
            start += len(block.literals)
        half, literal, load = (np.concatenate(parts) for parts in (halves, literals, loads))
        if len(load) and load.max() > load.min():  # the heaviest first
            order = np.lexsort((-load, half))
            half, literal, load = half[order], literal[order], load[order]
        row_from = np.searchsorted(half, np.arange(start + 1)).astype(np.int64)
        by_literal = np.argsort(literal, kind="stable")
        top = np.zeros(start, np.int64)
        some = np.flatnonzero(np.diff(row_from))
        top[some] = load[row_from[some]]
        return cls(
            np.concatenate(caps),
            top,
            row_from,
            literal.astype(np.int32),
            load,
            np.searchsorted(literal[by_literal], np.arange(2 * variables + 1)).astype(np.int64),
            half[by_literal].astype(np.int32),
            load[by_literal],
        )
