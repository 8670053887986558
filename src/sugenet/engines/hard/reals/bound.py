"""Bounds on a conjunction of inequalities over all patches: valid for any multipliers, tight for those of a
linear program.

The patches choose their patterns separately, and multipliers couple the neurons that several of them share.
For any multipliers, the sum over patches of the best pattern, plus the best value of each shared neuron, is
an upper bound over all inputs (weak duality). So a linear program may propose multipliers in floats: they are
rounded, and the bound is computed in integers.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.reals.first_layer import BoxFirstLayer
from sugenet.engines.hard.reals.patterns import BoxPatches, Patch
from sugenet.nn import Head
from sugenet.problem.query import Inequality

__all__ = ["Proposal", "Reach", "Slack", "couplings"]

_ROOM = 1 << 30
_PATIENCE = 120.0  # seconds for one linear program
_UNITS = (1 << 8, 1 << 20)


@dataclass(frozen=True, eq=False)
class Slack:
    """Inequalities of a conjunction over the signs of the last layer: each holds iff
    ``rows @ signs + constants >= 0``.
    """

    rows: npt.NDArray[Any]
    constants: npt.NDArray[Any]
    units: tuple[int, ...]
    """Factor by which each inequality was multiplied to get integers."""

    @classmethod
    def of(cls, head: Head, conjunction: Sequence[Inequality]) -> Slack:
        """Return the inequalities in integers, each in its own unit."""
        rows, constants, units = [], [], []
        for part in conjunction:
            factors = [(k, value * head.scale[k]) for k, value in part.terms]
            rest = sum((value * head.bias[k] for k, value in part.terms), Fraction(-part.bound))
            unit = lcm(rest.denominator, *(factor.denominator for _, factor in factors))
            integer_factors = [(k, int(factor * unit)) for k, factor in factors]
            small = (
                max(abs(factor) for _, factor in integer_factors)
                * max(1, int(np.abs(head.weights).max(initial=0)))
                < _ROOM
            )
            kind: Any = np.int64 if small and abs(rest * unit) < 1 << 60 else object
            rows.append(
                sum(
                    (factor * head.weights[k].astype(kind) for k, factor in integer_factors),
                    np.zeros(head.inputs, kind),
                )
            )
            constants.append(int(rest * unit))
            units.append(unit)
        kind = object if any(row.dtype == object for row in rows) else np.int64
        return cls(
            np.array(rows, kind).reshape(len(rows), head.inputs), np.array(constants, kind), tuple(units)
        )


@dataclass(frozen=True)
class Proposal:
    """Multipliers for a bound, and the values of the neurons in the linear program."""

    mix: tuple[int, ...]
    """Weight of each inequality."""
    shares: tuple[tuple[int, int, int], ...]
    """Patch, neuron and multiplier."""
    bound: int
    """Bound on the weighted sum of the inequalities."""
    values: dict[int, float]
    """Value of each shared neuron, from off to on, in the linear program."""
    chosen: dict[int, bool]
    """Values of the neurons of each patch in its heaviest pattern."""


@dataclass(frozen=True, eq=False)
class Reach:
    """One conjunction over one box."""

    first_layer: BoxFirstLayer
    patches: BoxPatches
    slack: Slack

    def by_bounds(self) -> list[int]:
        """Return an upper bound of each inequality for any values of the open neurons of the last layer."""
        states = self.first_layer.states[-1].astype(self.slack.rows.dtype)
        max_sums = (
            self.slack.rows @ states
            + np.abs(self.slack.rows) @ (states == 0).astype(states.dtype)
            + self.slack.constants
        )
        return [int(value) for value in max_sums]

    @cached_property
    def _fixed(self) -> npt.NDArray[Any]:
        """Contribution of settled neurons and constants to each inequality."""
        return np.asarray(
            self.slack.rows @ self.first_layer.states[-1].astype(self.slack.rows.dtype) + self.slack.constants
        )

    @cached_property
    def _gains(self) -> list[npt.NDArray[Any]]:
        """Contribution of each pattern of every patch to each inequality."""
        rows = self.slack.rows
        if rows.dtype == object or int(np.abs(rows).sum(axis=1).max(initial=0)) >= 1 << 52:
            return [patch.signs.astype(rows.dtype) @ rows[:, patch.outs].T for patch in self.patches.found]
        near = rows.astype(np.float64)  # integers that floats represent, so their sums are exact
        return [np.rint(patch.signs @ near[:, patch.outs].T).astype(np.int64) for patch in self.patches.found]

    def allowed(self, fixed: Mapping[int, bool]) -> list[npt.NDArray[np.intp]]:
        """Return the patterns of every patch that agree with some first-layer neurons."""
        allowed = []
        for patch in self.patches.found:
            keep = np.ones(len(patch.patterns), bool)
            for index, neuron in enumerate(patch.cone):
                if neuron in fixed:
                    keep &= patch.patterns[:, index] == fixed[neuron]
            allowed.append(np.flatnonzero(keep))
        return allowed

    def bound(
        self, mix: Sequence[int], shares: Sequence[tuple[int, int, int]], fixed: Mapping[int, bool]
    ) -> int:
        """Return an exact bound on the weighted sum of the inequalities: below 0, the conjunction never
        holds.
        """
        kind = self.slack.rows.dtype
        if (
            sum(mix) * max(1, int(np.abs(self.slack.rows).max(initial=0))) * self.slack.rows.shape[1]
            >= 1 << 60
        ):
            kind = np.dtype(object)
        weights = np.array(mix, kind)
        total = sum(part * int(value) for part, value in zip(mix, self._fixed.tolist(), strict=True))
        free = self.patches.free
        total += int(np.abs(weights @ self.slack.rows[:, free].astype(kind)).sum())
        by_patch: dict[int, list[tuple[int, int]]] = {}
        rest: Counter[int] = Counter()
        for number, neuron, share in shares:
            by_patch.setdefault(number, []).append((neuron, share))
            rest[neuron] -= share
        for number, (patch, gains, rows) in enumerate(
            zip(self.patches.found, self._gains, self.allowed(fixed), strict=True)
        ):
            if not len(rows):
                return -1
            values = gains[rows].astype(kind) @ weights
            for neuron, share in by_patch.get(number, ()):
                values = values + patch.patterns[rows, patch.cone.index(neuron)].astype(kind) * share
            total += int(values.max())
        return total + sum(
            value * fixed[neuron] if neuron in fixed else max(0, value) for neuron, value in rest.items()
        )

    def decoupled(self) -> list[int]:
        """Return the bound of every inequality alone, without multipliers."""
        ones = np.eye(len(self.slack.rows), dtype=int).tolist()
        return [self.bound(row, (), {}) for row in ones]

    def propose(self, fixed: Mapping[int, bool], time_limit: float | None) -> Proposal | None:
        """Return multipliers from a linear program over pattern weights; None if it is not solved in time."""
        allowed = self.allowed(fixed)
        if not all(map(len, allowed)):
            return Proposal((1,) * len(self.slack.rows), (), -1, {}, {})
        solved = _solved(self, allowed, fixed, time_limit)
        if solved is None:
            return None
        mix, shares, values, chosen = solved
        for unit in _UNITS:
            integer_mix = tuple(max(0, round(part * unit)) for part in mix)
            kept = tuple(
                (patch, neuron, round(share * unit)) for patch, neuron, share in shares if round(share * unit)
            )
            proposal = Proposal(integer_mix, kept, self.bound(integer_mix, kept, fixed), values, chosen)
            if proposal.bound < 0:
                break
        return proposal


def couplings(
    patches: Sequence[Patch],
    allowed: Sequence[Any],
    starts: npt.NDArray[Any],
    column: Mapping[int, int],
    width: int,
) -> tuple[Any, Any, list[tuple[int, int]]]:
    """Return rows of a program over weights of patterns. One row per patch is the sum of its weights. One row
    for each neuron of a patch that has a column is the weights of patterns with the neuron on, minus that
    column. The last value names these, by patch and neuron.
    """
    from scipy.sparse import csr_array

    n_patterns, names, entries = int(starts[-1]), list[tuple[int, int]](), [np.zeros((3, 0))]
    for number, (patch, rows) in enumerate(zip(patches, allowed, strict=True)):
        for index, neuron in enumerate(patch.cone):
            if neuron in column:
                on = np.append(np.flatnonzero(patch.patterns[rows, index]) + starts[number], column[neuron])
                entries.append(np.stack([np.append(np.ones(len(on) - 1), -1.0), 0 * on + len(names), on]))
                names.append((number, neuron))
    values, row_of, column_of = np.concatenate(entries, axis=1)
    agree = csr_array((values, (row_of.astype(int), column_of.astype(int))), shape=(len(names), width))
    owner = np.repeat(np.arange(len(patches)), np.diff(starts))
    chosen = csr_array((np.ones(n_patterns), (owner, np.arange(n_patterns))), shape=(len(patches), width))
    return chosen, agree, names


def _solved(
    reach: Reach, allowed: list[npt.NDArray[np.intp]], fixed: Mapping[int, bool], time_limit: float | None
) -> tuple[list[float], list[tuple[int, int, float]], dict[int, float], dict[int, bool]] | None:
    """Solve the linear program: weights of patterns that sum to 1 per patch and agree in the neurons that
    patches share.
    """
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    patches, gains = reach.patches.found, reach._gains
    starts = np.cumsum([0, *(len(rows) for rows in allowed)])
    shared = Counter(j for patch in patches for j in patch.cone)
    z_of = {
        j: int(starts[-1]) + k
        for k, j in enumerate(j for j in sorted(shared) if shared[j] > 1 and j not in fixed)
    }
    free = reach.patches.free.tolist()
    y_of = int(starts[-1]) + len(z_of)
    t_of = y_of + len(free)
    chosen_rows, agree, names = couplings(patches, allowed, starts, z_of, t_of + 1)
    equal = vstack([chosen_rows, agree]).tocsr()
    right = np.concatenate([np.ones(len(patches)), np.zeros(len(names))])
    slack = reach.slack.rows
    lines = np.zeros((len(slack), t_of + 1))
    for number, rows in enumerate(allowed):
        lines[:, starts[number] : starts[number + 1]] = gains[number][rows].T.astype(float)
    lines[:, y_of:t_of] = slack[:, free].astype(float)
    bounds = np.array([(0.0, 1.0)] * y_of + [(-1.0, 1.0)] * len(free) + [(-np.inf, np.inf)])
    options = {"time_limit": _PATIENCE if time_limit is None else max(min(time_limit, _PATIENCE), 0.1)}
    if len(slack) == 1:
        bounds[t_of] = 0.0
        solution = linprog(-lines[0], A_eq=equal, b_eq=right, bounds=bounds, method="highs", options=options)
        mix = [1.0]
    else:
        aim = np.zeros(t_of + 1)
        aim[t_of] = -1.0
        lines[:, t_of] = -1.0
        offsets = reach._fixed.astype(float)
        solution = linprog(
            aim,
            A_ub=-lines,
            b_ub=offsets,
            A_eq=equal,
            b_eq=right,
            bounds=bounds,
            method="highs",
            options=options,
        )
        mix = [] if solution.x is None else (-solution.ineqlin.marginals).tolist()
    if solution.x is None or solution.status != 0:
        return None
    pulls = solution.eqlin.marginals[len(patches) :].tolist()
    shares = [(p, j, pull) for (p, j), pull in zip(names, pulls, strict=True)]
    chosen: dict[int, bool] = {}
    for number, (patch, rows) in enumerate(zip(patches, allowed, strict=True)):
        heaviest = rows[int(np.argmax(solution.x[starts[number] : starts[number + 1]]))]
        chosen.update(zip(patch.cone, patch.patterns[heaviest].tolist(), strict=True))
    return mix, shares, {j: float(solution.x[k]) for j, k in z_of.items()}, chosen
