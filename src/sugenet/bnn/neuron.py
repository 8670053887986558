"""A hidden neuron as the pair (Lam, tau): active iff at least tau of the literals Lam hold
(paper section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import comb
from typing import Any

from sugenet.bnn.literals import Literal, active_set, lam_of, tau_of
from sugenet.brief import Brief
from sugenet.capacity import CardinalityThreshold, Criteria, SetFunction, WeightedThreshold
from sugenet.capacity.criteria import bits
from sugenet.capacity.thresholds import ranked_minimal_sets
from sugenet.errors import NetworkError

__all__ = ["Neuron", "Turn"]


@dataclass(frozen=True)
class Turn(Brief):
    """The least number of flips that turn a neuron, and how many sets of that size do it."""

    flips: int | None
    """None when nothing turns it: the neuron is constant."""
    sets: int


@dataclass(frozen=True)
class Neuron(Brief):
    """A threshold neuron over n bipolar inputs.

    Parameters
    ----------
    weights
        One integer for each input: its sign selects the literal, 0 leaves the input out. In a BNN all are -1,
        0 or +1; a larger size counts the literal that many times (it arises when `simplify` merges neurons
        that are the same).
    tau
        Least match count that activates. Any integer: see `kind`.

    Examples
    --------
    The neuron of the paper's Example 1:

    >>> neuron = Neuron.from_theta([+1, +1, -1, +1], theta=0)
    >>> neuron.tau, sorted(neuron.lam, key=abs)
    (2, [1, 2, -3, 4])
    >>> x = [+1, -1, +1, -1]
    >>> neuron.match_count(x), neuron.active(x), neuron.turn(x)
    (1, False, Turn(flips=1, sets=3))
    >>> [sorted(flips) for flips in neuron.turning_sets(x)]
    [[2], [3], [4]]
    >>> neuron.rule_count()
    6
    >>> print(neuron)
    active iff at least 2 of 4 literals hold
    """

    weights: tuple[int, ...]
    tau: int

    def __init__(self, weights: Iterable[Any], tau: int) -> None:
        row = tuple(_whole(weight, f"weight {place}") for place, weight in enumerate(weights, start=1))
        object.__setattr__(self, "weights", row)
        object.__setattr__(self, "tau", _whole(tau, "tau"))

    @classmethod
    def from_theta(cls, weights: Sequence[Any], theta: Any) -> Neuron:
        """The neuron that is active iff the bipolar sum reaches theta; s = theta is active."""
        row = [_whole(weight, f"weight {place}") for place, weight in enumerate(weights, start=1)]
        return cls(row, tau_of(theta, sum(map(abs, row))))

    @cached_property
    def lam(self) -> frozenset[Literal]:
        """The literals that the weights select."""
        return lam_of(self.weights)

    @cached_property
    def size(self) -> int:
        """The largest match count: the number of literals, with their multiplicity."""
        return sum(abs(weight) for weight in self.weights)

    @property
    def kind(self) -> str:
        """``always`` active, ``never`` active, or a true ``threshold``."""
        return "always" if self.tau <= 0 else "never" if self.tau > self.size else "threshold"

    def match_count(self, x: Iterable[Any]) -> int:
        """M: how many literals of Lam hold in x."""
        held = active_set(x)
        if len(held) != len(self.weights):
            raise NetworkError(
                f"x has {len(held)} coordinates, but the neuron has {len(self.weights)} inputs."
            )
        return sum(abs(self.weights[abs(literal) - 1]) for literal in held & self.lam)

    def active(self, x: Iterable[Any]) -> bool:
        """Whether M >= tau."""
        return self.match_count(x) >= self.tau

    def capacity(self) -> SetFunction:
        """The paper's mu_{w,tau} over the 2n literals; a weighted threshold where literals
        count more than once.
        """
        literals = Criteria.literals(len(self.weights))
        if all(abs(weight) <= 1 for weight in self.weights):
            return CardinalityThreshold(self.lam, self.tau, literals)
        row = dict.fromkeys(literals, 0)
        row |= {literal: abs(self.weights[abs(literal) - 1]) for literal in self.lam}
        return WeightedThreshold(row, self.tau)

    def rules(self, by: Any = None) -> Iterator[frozenset[Literal]]:
        """Yield the minimal sets of literals that activate the neuron: its focal sets."""
        return (focal.members for focal in self.capacity().focal_sets(by=by))  # type: ignore[misc]

    def rule_count(self) -> int:
        """How many minimal rules there are, without listing them."""
        return self.capacity().focal_count()

    def negated(self) -> Neuron:
        """The neuron that is active exactly when this one is not: opposite literals,
        at least n - tau + 1 of them.
        """
        return Neuron((-weight for weight in self.weights), self.size - self.tau + 1)

    def turn(self, x: Iterable[Any]) -> Turn:
        """Least number of inputs to flip so that the neuron changes,
        and how many ways there are (docs/theory.md 1.4).
        """
        if self.kind != "threshold":
            return Turn(None, 0)
        weights, needed = self._movable(x)
        if set(weights) <= {0, 1}:
            return Turn(needed, comb(sum(weights), needed))
        least, found = _smallest(weights, needed)
        return Turn(least, sum(1 for _ in found))

    def turning_sets(self, x: Iterable[Any]) -> Iterator[frozenset[int]]:
        """Yield the smallest sets of coordinates whose flip turns the neuron."""
        if self.kind != "threshold":
            return iter(())
        weights, needed = self._movable(x)
        _, found = _smallest(weights, needed)
        return (frozenset(place + 1 for place in bits(mask)) for mask in found)

    def _movable(self, x: Iterable[Any]) -> tuple[list[int], int]:
        """For each coordinate how much its flip moves M towards the other side of tau,
        and how much is needed.
        """
        held = active_set(x)
        m = self.match_count([1 if i in held else -1 for i in range(1, len(self.weights) + 1)])
        matched = held & self.lam
        active = m >= self.tau
        moved = [
            abs(w) if (i * ((w > 0) - (w < 0)) in matched) == active else 0
            for i, w in enumerate(self.weights, start=1)
        ]
        return moved, m - self.tau + 1 if active else self.tau - m

    def __str__(self) -> str:
        if self.kind == "always":
            return f"always active (tau = {self.tau})"
        if self.kind == "never":
            return f"never active (tau = {self.tau} of {self.size} literals)"
        counted = "" if self.size == len(self.lam) else f", counted {self.size} times in all,"
        return f"active iff at least {self.tau} of {len(self.lam)} literals{counted} hold"


def _smallest(weights: list[int], needed: int) -> tuple[int, Iterator[int]]:
    """The least number of weights that reach what is needed, and the sets of so many that do, as masks."""
    return next(groupby(ranked_minimal_sets(weights, needed, [1] * len(weights)), key=int.bit_count))


def _whole(value: Any, what: str) -> int:
    try:
        number = int(value)
        if number == value:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise NetworkError(
        f"{what} is {value!r}, which is not a whole number. Take the signs of real weights first."
    )
