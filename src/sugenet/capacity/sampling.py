"""Random capacities, exactly uniform over all capacities on a finite scale (docs/theory.md 6.13).

Coupling from the past (Propp and Wilson): a Markov chain redraws the worth of a set uniformly between its
neighbours. It does so for all sets of even size at once and then for those of odd size, since sets of the
same parity are not neighbours. Two chains, started at the least and at the greatest capacity, use the same
random numbers. They start further and further in the past until both meet at present. The update keeps chains
in order, so these two enclose every other chain. The capacity at which they meet has exactly the stationary
law of the chain, which is uniform. All arithmetic is on integers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.capacity.criteria import Criteria, Criterion
from sugenet.capacity.scales import BOOLEAN, UNIT, Scale, need_scale
from sugenet.capacity.tables import Dense
from sugenet.errors import CapacityError, ScaleError, TooLargeError

__all__ = ["random_capacity"]

Ranks = npt.NDArray[np.int64]

CRITERIA_LIMIT = 12
"""Largest number of criteria: beyond it, the chain takes minutes or more to forget its start."""

LEVELS_LIMIT = 40
"""Largest number of levels: lcm(1..levels) * levels must fit into 63 bits."""


def random_capacity(
    criteria: Criteria | int | Iterable[Criterion],
    scale: Scale = BOOLEAN,
    *,
    levels: int | None = None,
    seed: int | np.random.Generator | None = None,
) -> Dense:
    """Draw a capacity, with all capacities exactly equally likely.

    Reference: Propp and Wilson [PW96].

    Parameters
    ----------
    criteria
        Names of the criteria, or their number, at most 12. Up to 8 take milliseconds, 11 and 12 take seconds.
    scale
        A finite scale, or the unit interval together with `levels`.
    levels
        For the unit interval, the number of evenly spaced values 0, 1/(levels-1), ..., 1 to draw from, as
        exact fractions.
    seed
        A seed, or a NumPy generator; the same seed gives the same capacity.

    Examples
    --------
    >>> mu = random_capacity(["price", "comfort", "safety"], seed=4)
    >>> mu.is_capacity, mu({"price"}) in (0, 1)
    (True, True)
    >>> random_capacity(3, levels=5, scale=UNIT, seed=1) == random_capacity(3, levels=5, scale=UNIT, seed=1)
    True
    """
    criteria = Criteria(criteria)
    need_scale(scale)
    n = len(criteria)
    if scale == UNIT:
        if levels is None:
            raise ScaleError(
                "the unit interval has infinitely many values. Say how many to draw from: levels=5 means 0, "
                "1/4, 1/2, 3/4, 1."
            )
        if not isinstance(levels, int | np.integer) or levels < 2:
            raise ScaleError(f"levels={plain(levels)!r} must be an integer of at least 2.")
        values: tuple[Any, ...] = tuple(Fraction(rank, int(levels) - 1) for rank in range(levels))
    else:
        known = scale.levels
        if known is None or levels not in (None, len(known)):
            raise ScaleError(
                f"levels={levels!r} does not fit the scale {scale}. Leave it out: "
                f"a finite scale has its own levels."
            )
        values = known
    if n == 0:
        raise CapacityError(
            "criteria is empty: the empty set would have to be worth both bottom and top. "
            "Give at least one criterion."
        )
    if n > CRITERIA_LIMIT:
        raise TooLargeError(
            f"{n} criteria: drawing exactly uniformly takes minutes beyond {CRITERIA_LIMIT}. Give random "
            "worths to some sets and use Focal, which makes them monotone but not uniform, or draw a "
            "threshold with random weights."
        )
    if len(values) > LEVELS_LIMIT:
        raise TooLargeError(
            f"{len(values)} levels: exact uniform draws are limited to {LEVELS_LIMIT}. Use fewer levels."
        )
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise CapacityError(
            f"seed={plain(seed)!r} is not a seed. Give an integer of at least 0, or a NumPy generator."
        ) from None
    ranks = _Chain(n, len(values)).draw(rng)
    table = np.empty(1 << n, dtype=object)
    table[:] = [values[rank] for rank in ranks.tolist()]
    return Dense(criteria, table, scale)


@dataclass(frozen=True)
class _Chain:
    """The heat-bath chain on capacities with values 0..levels-1; a state is an array by mask, and a leading
    axis may hold several.
    """

    n: int
    levels: int

    @cached_property
    def unit(self) -> int:
        """Upper bound of the random numbers: every number of choices divides it, so all choices are equally
        likely.
        """
        return lcm(*range(1, self.levels + 1))

    @cached_property
    def _halves(self) -> list[tuple[Ranks, Ranks, npt.NDArray[np.bool_]]]:
        """For even and for odd sizes: the sets except the empty and the full one, their neighbours, and which
        of these are subsets.
        """
        masks = np.arange(1, (1 << self.n) - 1)
        singles = 1 << np.arange(self.n)
        halves = []
        for parity in (0, 1):
            chosen = masks[np.bitwise_count(masks) % 2 == parity]
            halves.append((chosen, chosen[:, None] ^ singles, (chosen[:, None] & singles) > 0))
        return halves

    def extremes(self) -> Ranks:
        """Return the least and the greatest capacity."""
        states = np.zeros((2, 1 << self.n), np.int64)
        states[0, -1] = self.levels - 1
        states[1, 1:] = self.levels - 1
        return states

    def sweep(self, states: Ranks, draws: Ranks) -> None:
        """Redraw every set between its neighbours, in place; `draws` has one number below `unit` per mask."""
        for chosen, neighbours, below in self._halves:
            around = states[..., neighbours]
            low = np.where(below, around, 0).max(axis=-1, initial=0)
            high = np.where(below, self.levels - 1, around).min(axis=-1, initial=self.levels - 1)
            states[..., chosen] = low + draws[..., chosen] * (high - low + 1) // self.unit

    def draw(self, rng: np.random.Generator) -> Ranks:
        """Couple from the past: `past[k]` drives the sweep k + 1 steps before the present, for every starting
        time.
        """
        past: list[Ranks] = []
        while True:
            past += [rng.integers(0, self.unit, 1 << self.n) for _ in range(max(1, len(past)))]
            states = self.extremes()
            for draws in reversed(past):
                self.sweep(states, draws)
            if np.array_equal(states[0], states[1]):
                return np.asarray(states[0])
