"""Close a conjunction by cases: if a bound is not enough, a first-layer neuron is assumed on, then off.

A case is closed by its bound, or because no point of the box has the assumed signs: then some sum of their
margins cannot reach zero. An input of a case that is found during the search is a candidate for a
counterexample.
"""
# mypy: disable-error-code="import-untyped"

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.reals.bound import Proposal, Reach
from sugenet.engines.hard.reals.first_layer import common_denominator
from sugenet.problem.clock import Clock

__all__ = ["Closure", "OutOfBudget", "Splitter", "Witness"]

Closure: TypeAlias = dict[str, Any]
"""The closure of a conjunction, as JSON."""

_SIMPLE = 1000
_SHORT = 1 << 20
_DEEPEST = 300
_NEAR = 1e-6

Rounding: TypeAlias = Callable[[float], Fraction]
_ROUNDINGS: tuple[Rounding, ...] = (
    lambda value: Fraction(round(value)),
    lambda value: Fraction(round(value * _SHORT), _SHORT),
    lambda value: Fraction(value).limit_denominator(_SIMPLE),
    Fraction,
)
"""Points near a solution: integers, short floats, simple fractions, or ends of the box if they are
near.
"""


class OutOfBudget(Exception):  # noqa: N818 a signal, not a mistake
    """There are too many cases, or the time is up."""


class Witness(Exception):  # noqa: N818 a signal, not a mistake
    """A point was accepted as a counterexample; `engine` found it."""

    def __init__(self, engine: str) -> None:
        super().__init__()
        self.engine = engine


@dataclass
class Splitter:
    """Search that closes one conjunction over one box."""

    reach: Reach
    box: tuple[list[Fraction], list[Fraction]]
    accepts: Callable[[list[Fraction]], bool]
    """Whether a point is a counterexample."""
    clock: Clock
    nodes: int
    """Number of cases to examine."""
    best: float | None = None
    """Bound without any case, once known."""

    def close(self, fixed: Mapping[int, bool]) -> Closure:
        """Return a closure of the case `fixed`; raise `OutOfBudget` or `Witness`."""
        if self.nodes <= 0 or len(fixed) > _DEEPEST:
            raise OutOfBudget
        self._left()
        self.nodes -= 1
        if fixed:
            closure = self._realize(fixed, _ROUNDINGS[:1])
            if closure is not None:
                return closure
        proposal = self.reach.propose(fixed, self._left())
        if proposal is None:
            raise OutOfBudget
        if self.best is None:
            self.best = proposal.bound / max(sum(proposal.mix), 1)
        if proposal.bound < 0:
            mix = [part * unit for part, unit in zip(proposal.mix, self.reach.slack.units, strict=True)]
            return {"by": "multipliers", "mix": mix, "shares": [list(share) for share in proposal.shares]}
        neuron, first = self._branch(proposal, fixed)
        sides = {bit: self.close({**fixed, neuron: bit}) for bit in (first, not first)}
        return {"by": "split", "neuron": neuron, "on": sides[True], "off": sides[False]}

    def _left(self) -> float | None:
        """Return the seconds left; None without a limit. Raise `OutOfBudget` if none are left."""
        left = self.clock.left()
        if left is not None and left <= 0:
            raise OutOfBudget
        return left

    def _branch(self, proposal: Proposal, fixed: Mapping[int, bool]) -> tuple[int, bool]:
        """Return the neuron to split at, and the side to examine first."""
        undecided = {j: value for j, value in proposal.values.items() if _NEAR < value < 1 - _NEAR}
        if undecided:
            neuron = min(undecided, key=lambda j: abs(undecided[j] - 0.5))
            return neuron, undecided[neuron] >= 0.5
        signs = {**proposal.chosen, **fixed}
        closure = self._realize(signs, _ROUNDINGS)
        support = [neuron for neuron, _ in closure["shares"]] if closure is not None else list(signs)
        for neuron in support:
            if neuron not in fixed:
                return neuron, signs[neuron]
        raise OutOfBudget  # free neurons of the last layer keep the bound from closing

    def _realize(self, signs: Mapping[int, bool], roundings: Sequence[Rounding]) -> Closure | None:
        """Return a closure which shows that the signs are impossible, or None; raise `Witness` if a point
        with these signs is a counterexample.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        box_layers = self.reach.first_layer
        neurons = sorted(signs)
        rows, inputs = box_layers.rows(neurons)
        turned = np.array([1 if signs[j] else -1 for j in neurons])
        edge = (
            np.array([box_layers.high[j] if signs[j] else -box_layers.low[j] for j in neurons])
            / box_layers.grid
        )
        lower, upper = box_layers.lower[inputs] / box_layers.grid, box_layers.upper[inputs] / box_layers.grid
        bounds = np.concatenate([np.stack([lower, upper], axis=1), [[-np.inf, 1.0]]])
        aim = np.append(np.zeros(len(inputs)), -1.0)
        table = csr_array(np.concatenate([-rows * turned[:, None], np.ones((len(neurons), 1))], axis=1))
        left = self._left()
        options = {} if left is None else {"time_limit": max(left, 0.1)}
        solution = linprog(aim, A_ub=table, b_ub=-edge, bounds=bounds, method="highs", options=options)
        if solution.x is None or solution.status != 0:
            return None
        if -solution.fun >= -_NEAR:
            self.attempt(inputs, solution.x[:-1], roundings)
        if -solution.fun <= _NEAR:
            max_margins = (
                np.maximum(rows * turned[:, None], 0) @ upper + np.minimum(rows * turned[:, None], 0) @ lower
            ) - edge
            # floats cannot tell which of these it is
            alone = [[(neurons[k], 1)] for k in np.flatnonzero(max_margins <= _NEAR).tolist()]
            for kept in [_integer_multipliers(neurons, (-solution.ineqlin.marginals).tolist()), *alone]:
                if self._impossible(kept, signs):
                    return {"by": "impossible", "shares": [list(pair) for pair in kept]}
        return None

    def _impossible(self, shares: list[tuple[int, int]], signs: Mapping[int, bool]) -> bool:
        """Return whether the weighted sum of margins cannot reach zero over the box: on the grid, or else
        with exact ends.
        """
        box_layers = self.reach.first_layer
        rows, inputs = box_layers.rows([j for j, _ in shares])
        weights = np.array([share if signs[j] else -share for j, share in shares], dtype=object)
        total = (weights @ rows.astype(object)).tolist() if shares else []

        def never(lower: Sequence[int], upper: Sequence[int], needed: Fraction | int) -> bool:
            max_sum = sum(
                value * (high if value > 0 else low)
                for value, low, high in zip(total, lower, upper, strict=True)
            )
            return max_sum < needed or (max_sum == needed and any(not signs[j] for j, _ in shares))

        needed = sum(
            share * int(box_layers.low[j]) if signs[j] else -share * int(box_layers.high[j])
            for j, share in shares
        )
        if never(box_layers.lower[inputs].tolist(), box_layers.upper[inputs].tolist(), needed):
            return True
        theta = box_layers.theta
        ends = [[side[i] for i in inputs.tolist()] for side in self.box]
        unit = common_denominator(chain(*ends))
        if unit is None:
            return False
        exact = sum(
            (share * theta[j][0] if signs[j] else -share * theta[j][1] for j, share in shares), Fraction(0)
        )
        lower, upper = ([int(value * unit) for value in side] for side in ends)
        return never(lower, upper, exact * unit)

    def attempt(
        self,
        inputs: npt.NDArray[np.intp],
        values: npt.NDArray[np.float64],
        roundings: Sequence[Rounding] = _ROUNDINGS,
        engine: str = "patches",
    ) -> None:
        """Try points near a solution; raises `Witness` if one is accepted."""
        lower, upper = self.box
        for exact in roundings:
            self._left()
            point = [
                min(max(Fraction((low + high) // 2), low), high)
                for low, high in zip(lower, upper, strict=True)
            ]
            for i, value in zip(inputs.tolist(), values.tolist(), strict=True):
                point[i] = min(max(exact(value), lower[i]), upper[i])
                if exact is Fraction:
                    point[i] = next(
                        (end for end in (lower[i], upper[i]) if abs(end - point[i]) <= _NEAR), point[i]
                    )
            if self.accepts(point):
                raise Witness(engine)


def _integer_multipliers(neurons: Sequence[int], pulls: Sequence[float]) -> list[tuple[int, int]]:
    """Return integer multipliers near the given ones, with the same ratios if these are simple."""
    parts = [(j, Fraction(pull).limit_denominator(_SIMPLE)) for j, pull in zip(neurons, pulls, strict=True)]
    unit = lcm(*(part.denominator for _, part in parts if part > 0))
    return [(j, int(part * unit)) for j, part in parts if part > 0]
