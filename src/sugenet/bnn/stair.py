"""A neuron of several levels: a staircase over a match count, and the level-valued Sugeno integral that it is
(docs/theory.md 3.4).

Input i has levels 0..tops[i]; its literal at level v is "input i is at least v" where the weight is positive
and "input i is below v" where it is negative. Step m is the threshold capacity over these literals with the
weight of their input; the neuron is the maximum of the steps, each cut at its level.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sugenet.bnn.level_vectors import count_minimal, minimal_vectors
from sugenet.bnn.neuron import Neuron
from sugenet.brief import Brief
from sugenet.capacity import Nested, SetFunction
from sugenet.errors import NetworkError

__all__ = ["NEVER", "Condition", "Stair"]

NEVER = 1 << 31
"""A step that no match count reaches."""


@dataclass(frozen=True, order=True)
class Condition(Brief):
    """A level that an input must reach, or must not exceed."""

    place: int
    """Number of the input, from 1."""
    at_least: int | None = None
    at_most: int | None = None

    @property
    def relation(self) -> str:
        """What it asks of the level, without saying whose."""
        return f">= {self.at_least}" if self.at_least is not None else f"<= {self.at_most}"

    def holds(self, level: int) -> bool:
        """Whether a level is as it asks."""
        return (self.at_least is None or level >= self.at_least) and (
            self.at_most is None or level <= self.at_most
        )

    def __str__(self) -> str:
        return f"input {self.place} {self.relation}"


@dataclass(frozen=True)
class Stair(Brief):
    """A neuron that gives the number of its steps that its match count reaches.

    Parameters
    ----------
    weights
        One whole number for each input.
    tau
        Rising thresholds on the match count, one a step.
    tops
        The largest level of each input.

    Examples
    --------
    >>> neuron = Stair([+2, -1], tau=[2, 5], tops=[2, 3])
    >>> neuron.match_count([1, 1]), neuron.level([1, 1]), neuron.level([2, 1])
    (4, 1, 2)
    >>> [" and ".join(map(str, rule)) for rule in neuron.rules(1)]
    ['input 1 >= 1', 'input 2 <= 1']
    >>> neuron.rule_count(2), sorted(map(str, next(neuron.rules(2))))
    (2, ['input 1 >= 2', 'input 2 <= 2'])
    >>> print(neuron)
    level 1 at a match count of 2, 2 at 5, of 7
    """

    weights: tuple[int, ...]
    tau: tuple[int, ...]
    tops: tuple[int, ...]

    def __init__(self, weights: Iterable[int], tau: Iterable[int], tops: Iterable[int]) -> None:
        for name, values in (("weights", weights), ("tau", tau), ("tops", tops)):
            object.__setattr__(self, name, tuple(operator.index(value) for value in values))
        if len(self.weights) != len(self.tops) or min(self.tops, default=0) < 0:
            raise NetworkError("every input of a neuron has one weight and one top, which is 0 or more.")
        if not self.tau or list(self.tau) != sorted(self.tau):
            raise NetworkError("a staircase has at least one step, and its steps rise.")

    @property
    def height(self) -> int:
        """The largest level: the number of steps."""
        return len(self.tau)

    @cached_property
    def size(self) -> int:
        """The largest match count."""
        return sum(abs(weight) * top for weight, top in zip(self.weights, self.tops, strict=True))

    def match_count(self, levels: Sequence[Any]) -> int:
        """M: the weights of the literals that hold."""
        if len(levels) != len(self.weights):
            raise NetworkError(
                f"there are {len(levels)} levels, but the neuron has {len(self.weights)} inputs."
            )
        total = 0
        for place, (weight, top, given) in enumerate(
            zip(self.weights, self.tops, levels, strict=True), start=1
        ):
            level = int(given)
            if level != given or not 0 <= level <= top:
                raise NetworkError(f"level {given} of input {place} is not in 0..{top}.")
            total += weight * level if weight > 0 else -weight * (top - level)
        return total

    def level(self, levels: Sequence[Any]) -> int:
        """How many steps the match count reaches."""
        count = self.match_count(levels)
        return sum(count >= tau for tau in self.tau)

    def reaches(self, level: int) -> int:
        """The match count from which on the neuron is at a level or above."""
        if not 1 <= level <= self.height:
            raise NetworkError(
                f"there is no level {level}: the neuron has levels 1 to {self.height} above 0."
            )
        return self.tau[level - 1]

    def step(self, level: int) -> Neuron:
        """Whether the neuron reaches a level, as a binary neuron over the thermometer bits of its inputs,
        input by input, lowest level first.
        """
        bits = [weight for weight, top in zip(self.weights, self.tops, strict=True) for _ in range(top)]
        return Neuron(bits, self.reaches(level))

    def capacity(self) -> SetFunction:
        """mu: the maximum over the levels m of min(m / height, mu_m), where mu_m is the capacity of step m.
        Its Sugeno integral of the polarized thermometer bits is the level, over the height.
        """
        return Nested({Fraction(m, self.height): self.step(m).capacity() for m in range(1, self.height + 1)})

    def rules(self, level: int) -> Iterator[tuple[Condition, ...]]:
        """Yield the minimal conditions on the levels of the inputs that lift the neuron to a level:
        no condition can be weakened.
        """
        for vector in minimal_vectors(self._gains, self.reaches(level)):
            yield tuple(self._condition(place, gain) for place, gain in vector)

    def rule_count(self, level: int) -> int | None:
        """How many minimal rules there are for a level, or None where counting them would take too long."""
        return count_minimal(self._gains, self.reaches(level))

    @cached_property
    def _gains(self) -> list[list[int]]:
        return [
            [abs(weight) * v for v in range(top + 1)] if weight else [0]
            for weight, top in zip(self.weights, self.tops, strict=True)
        ]

    def _condition(self, place: int, gain: int) -> Condition:
        weight, top = self.weights[place], self.tops[place]
        if weight > 0:
            return Condition(place + 1, at_least=gain // weight)
        return Condition(place + 1, at_most=top - gain // -weight)

    def __str__(self) -> str:
        shown = [
            f"{m} at {'any' if tau <= 0 else tau}"
            for m, tau in enumerate(self.tau, start=1)
            if tau <= self.size
        ]
        if not shown:
            return f"always level 0, of {self.height}"
        first = shown[0].replace(" at ", " at a match count of ", 1)
        dots = [*shown[1:4], "..."] if len(shown) > 5 else shown[1:-1]
        last = shown[-1:] if len(shown) > 1 else []
        return f"level {', '.join([first, *dots, *last])}, of {self.size}"
