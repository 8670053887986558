"""Neurons: a match count and the thresholds that it reaches (paper section 3.2, docs/theory.md 3.4).

`Neuron` is the pair (Lam, tau): active iff at least tau of the literals Lam hold. `QuantizedNeuron` has
several thresholds over inputs with several levels, and is the corresponding level-valued Sugeno integral.
Input i has levels 0..tops[i]. Its literal at level v is "input i is at least v" if the weight is positive and
"input i is below v" if it is negative. Step m is the threshold capacity over these literals with the weight
of their input. The neuron is the maximum of the steps, each cut at its level.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, count, groupby, pairwise
from math import comb
from typing import Any

from sugenet.capacity import CardinalityThreshold, Criteria, Nested, SetFunction, WeightedThreshold
from sugenet.capacity.criteria import bits
from sugenet.capacity.thresholds import ranked_minimal_sets
from sugenet.errors import NetworkError, TooLargeError
from sugenet.nn.literals import Literal, active_set, bipolar, lam_of, tau_of
from sugenet.nn.neuron_reasons import NeuronReasons
from sugenet.reprs import ShortRepr, set_fields

__all__ = [
    "NEVER",
    "Condition",
    "Gains",
    "Neuron",
    "QuantizedNeuron",
    "Turn",
    "count_minimal",
    "minimal_vectors",
]

NEVER = 1 << 31
"""A step that no match count reaches."""


@dataclass(frozen=True, order=True)
class Condition(ShortRepr):
    """A bound on the level of an input: at least or at most.

    Examples
    --------
    >>> neuron = QuantizedNeuron([+2, -1], tau=[2, 5], tops=[2, 3])
    >>> [condition] = next(neuron.rules(1))
    >>> print(condition)
    input 1 >= 1
    >>> condition.holds(0), condition.holds(2)
    (False, True)

    See Also
    --------
    QuantizedNeuron.rules : minimal sets of conditions.
    """

    place: int
    """Index of the input, from 1."""
    at_least: int | None = None
    at_most: int | None = None

    @property
    def relation(self) -> str:
        """Return the bound on the level without the name of the input."""
        return f">= {self.at_least}" if self.at_least is not None else f"<= {self.at_most}"

    def holds(self, level: int) -> bool:
        """Return whether a level satisfies the condition."""
        return (self.at_least is None or level >= self.at_least) and (
            self.at_most is None or level <= self.at_most
        )

    def __str__(self) -> str:
        return f"input {self.place} {self.relation}"


@dataclass(frozen=True)
class Turn(ShortRepr):
    """Smallest number of flips that turn a neuron, and the number of sets of that size that do.

    Examples
    --------
    >>> Neuron([+1, +1, -1], tau=2).turn([+1, +1, +1])
    Turn(flips=1, sets=2)
    >>> Neuron([+1, +1, -1], tau=0).turn([+1, +1, +1])
    Turn(flips=None, sets=0)

    See Also
    --------
    Neuron.turn : returns it.
    Neuron.turning_sets : lists the sets.
    """

    flips: int | None
    """None if nothing turns the neuron: it is constant."""
    sets: int


@dataclass(frozen=True)
class Neuron(ShortRepr):
    """A threshold neuron over n bipolar inputs.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    weights : iterable of int
        One integer per input: its sign selects the literal, 0 leaves the input out. In a BNN all are -1, 0 or
        +1; a larger weight counts the literal that many times, as when `simplify` merges equal neurons.
    tau : int
        Smallest match count that activates. Any integer: see `kind`.

    Raises
    ------
    NetworkError
        If a weight is not an integer.

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

    See Also
    --------
    Network.neuron : a neuron of a network.
    sugenet.nn.DenseLayer : many neurons.
    """

    weights: tuple[int, ...]
    tau: int

    def __init__(self, weights: Iterable[Any], tau: int) -> None:
        row = tuple(_integer(weight, f"weight {index}") for index, weight in enumerate(weights, start=1))
        set_fields(self, weights=row, tau=_integer(tau, "tau"))

    @classmethod
    def from_theta(cls, weights: Sequence[Any], theta: Any) -> Neuron:
        """Return the neuron that is active iff the bipolar sum reaches theta; s = theta is active.

        Parameters
        ----------
        weights : list of int
            One weight per input: integers, usually -1, 0 or +1.
        theta : int, float or Fraction
            Threshold on the weighted sum of inputs -1 and +1.

        Returns
        -------
        Neuron
            The neuron with the same output.
        """
        row = [_integer(weight, f"weight {index}") for index, weight in enumerate(weights, start=1)]
        return cls(row, tau_of(theta, sum(map(abs, row))))

    @cached_property
    def lam(self) -> frozenset[Literal]:
        """Literals that the weights select."""
        return lam_of(self.weights)

    @cached_property
    def size(self) -> int:
        """Largest match count: the number of literals, with multiplicity."""
        return sum(abs(weight) for weight in self.weights)

    @property
    def kind(self) -> str:
        """``always`` active, ``never`` active, or a true ``threshold``."""
        return "always" if self.tau <= 0 else "never" if self.tau > self.size else "threshold"

    def match_count(self, x: Iterable[Any]) -> int:
        """Return M: how many literals of Lam hold in x.

        Parameters
        ----------
        x : list of int
            One value per input: -1 or +1.

        Returns
        -------
        int
            The match count.
        """
        held = active_set(x)
        if len(held) != len(self.weights):
            raise NetworkError(
                f"x has {len(held)} coordinates, but the neuron has {len(self.weights)} inputs."
            )
        return sum(abs(self.weights[abs(literal) - 1]) for literal in held & self.lam)

    def active(self, x: Iterable[Any]) -> bool:
        """Return whether M >= tau.

        Parameters
        ----------
        x : list of int
            One value per input: -1 or +1.

        Returns
        -------
        bool
            True if the neuron is active.
        """
        return self.match_count(x) >= self.tau

    def capacity(self) -> SetFunction:
        """Return the paper's mu_{w,tau} over the 2n literals; a weighted threshold if literals count more
        than once.
        """
        literals = Criteria.literals(len(self.weights))
        if all(abs(weight) <= 1 for weight in self.weights):
            return CardinalityThreshold(self.lam, self.tau, literals)
        row = dict.fromkeys(literals, 0)
        row |= {literal: abs(self.weights[abs(literal) - 1]) for literal in self.lam}
        return WeightedThreshold(row, self.tau)

    def rules(self, by: Any = None) -> Iterator[frozenset[Literal]]:
        """Yield the minimal sets of literals that activate the neuron: its focal sets.

        Parameters
        ----------
        by : str, mapping or list, default: None
            Order of the rules. None: in the fastest order. ``"size"``: smallest first. A cost per literal:
            cheapest total first.

        Returns
        -------
        iterator of frozenset
            Each rule is a set of literals.
        """
        return (focal.members for focal in self.capacity().focal_sets(by=by))  # type: ignore[misc]

    def rule_count(self) -> int:
        """Count the minimal rules without listing them."""
        return self.capacity().focal_count()

    def why(self, x: Iterable[Any]) -> NeuronReasons:
        """Return why the neuron is active in x, or not: the focal sets that are active, and the smallest
        flips that change it.

        Parameters
        ----------
        x : list of int
            One value per input: -1 or +1.

        Returns
        -------
        NeuronReasons
            Prints as sentences; its methods list the sets.
        """
        values = bipolar(x)
        self.match_count(values)  # checks the length
        return NeuronReasons(self, values)

    def negated(self) -> Neuron:
        """Return the neuron that is active exactly if this one is not: at least n - tau + 1 of the opposite
        literals.
        """
        return Neuron((-weight for weight in self.weights), self.size - self.tau + 1)

    def turn(self, x: Iterable[Any]) -> Turn:
        """Return the smallest number of inputs to flip so that the neuron changes, and the number of ways
        to do so (docs/theory.md 1.4).

        Parameters
        ----------
        x : list of int
            One value per input: -1 or +1.

        Returns
        -------
        Turn
            The number of flips and the number of ways; None flips for a constant neuron.
        """
        if self.kind != "threshold":
            return Turn(None, 0)
        weights, needed = self._movable(x)
        if set(weights) <= {0, 1}:
            return Turn(needed, comb(sum(weights), needed))
        flips, masks = _smallest(weights, needed)
        return Turn(flips, sum(1 for _ in masks))

    def turning_sets(self, x: Iterable[Any]) -> Iterator[frozenset[int]]:
        """Yield the smallest sets of coordinates whose flip turns the neuron.

        Parameters
        ----------
        x : list of int
            One value per input: -1 or +1.

        Returns
        -------
        iterator of frozenset
            Each set has the numbers of inputs, from 1.
        """
        if self.kind != "threshold":
            return iter(())
        weights, needed = self._movable(x)
        _, masks = _smallest(weights, needed)
        return (frozenset(index + 1 for index in bits(mask)) for mask in masks)

    def _movable(self, x: Iterable[Any]) -> tuple[list[int], int]:
        """Return how much the flip of each coordinate moves M towards the other side of tau, and how much
        is needed.
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
    """Return the smallest number of weights whose sum reaches `needed`, and the sets of that size, as
    masks.
    """
    return next(groupby(ranked_minimal_sets(weights, needed, [1] * len(weights)), key=int.bit_count))


def _integer(value: Any, what: str) -> int:
    try:
        number = int(value)
        if number == value:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise NetworkError(f"{what} is {value!r}, which is not an integer. Take the signs of real weights first.")


@dataclass(frozen=True)
class QuantizedNeuron(ShortRepr):
    """A neuron that gives the number of its steps that its match count reaches.

    Reference: Baaj and Prade [BP26]; Jacob and others [JKC18].

    Parameters
    ----------
    weights : iterable of int
        One integer per input.
    tau : iterable of int
        Rising thresholds on the match count, one per step.
    tops : iterable of int
        Largest level of each input.

    Raises
    ------
    NetworkError
        If weights and tops differ in number, a top is negative, there are no steps, or steps decrease.
    TypeError
        If a number is not an integer.

    Examples
    --------
    >>> neuron = QuantizedNeuron([+2, -1], tau=[2, 5], tops=[2, 3])
    >>> neuron.match_count([1, 1]), neuron.level([1, 1]), neuron.level([2, 1])
    (4, 1, 2)
    >>> [" and ".join(map(str, rule)) for rule in neuron.rules(1)]
    ['input 1 >= 1', 'input 2 <= 1']
    >>> neuron.rule_count(2), sorted(map(str, next(neuron.rules(2))))
    (2, ['input 1 >= 2', 'input 2 <= 2'])
    >>> print(neuron)
    level 1 at a match count of 2, 2 at 5, of 7

    See Also
    --------
    Neuron : a neuron with one threshold over bits.
    QuantizedLayer : many neurons with levels.
    Network.neuron : a neuron of a network.
    """

    weights: tuple[int, ...]
    tau: tuple[int, ...]
    tops: tuple[int, ...]

    def __init__(self, weights: Iterable[int], tau: Iterable[int], tops: Iterable[int]) -> None:
        rows = {"weights": weights, "tau": tau, "tops": tops}
        set_fields(self, **{name: tuple(map(operator.index, values)) for name, values in rows.items()})
        if len(self.weights) != len(self.tops) or min(self.tops, default=0) < 0:
            raise NetworkError("every input of a neuron has one weight and one top, which is 0 or more.")
        if not self.tau or list(self.tau) != sorted(self.tau):
            raise NetworkError("a staircase has at least one step, and its steps rise.")

    @property
    def height(self) -> int:
        """Largest level: the number of steps."""
        return len(self.tau)

    @cached_property
    def size(self) -> int:
        """Largest match count."""
        return sum(abs(weight) * top for weight, top in zip(self.weights, self.tops, strict=True))

    def match_count(self, levels: Sequence[Any]) -> int:
        """Return M: the sum of the weights of the literals that hold."""
        if len(levels) != len(self.weights):
            raise NetworkError(
                f"there are {len(levels)} levels, but the neuron has {len(self.weights)} inputs."
            )
        total = 0
        for index, (weight, top, value) in enumerate(
            zip(self.weights, self.tops, levels, strict=True), start=1
        ):
            level = int(value)
            if level != value or not 0 <= level <= top:
                raise NetworkError(f"level {value} of input {index} is not in 0..{top}.")
            total += weight * level if weight > 0 else -weight * (top - level)
        return total

    def level(self, levels: Sequence[Any]) -> int:
        """Return how many steps the match count reaches."""
        count = self.match_count(levels)
        return sum(count >= tau for tau in self.tau)

    def reaches(self, level: int) -> int:
        """Return the smallest match count at which the neuron reaches a level."""
        if not 1 <= level <= self.height:
            raise NetworkError(
                f"there is no level {level}: the neuron has levels 1 to {self.height} above 0."
            )
        return self.tau[level - 1]

    def step(self, level: int) -> Neuron:
        """Return a binary neuron that is active iff this one reaches a level.

        It reads the thermometer bits of the inputs, input by input, lowest level first.
        """
        bits = [weight for weight, top in zip(self.weights, self.tops, strict=True) for _ in range(top)]
        return Neuron(bits, self.reaches(level))

    def capacity(self) -> SetFunction:
        """Return mu: the maximum over the levels m of min(m / height, mu_m), where mu_m is the capacity of
        step m. Its Sugeno integral of the polarized thermometer bits is the level divided by the height.
        """
        return Nested({Fraction(m, self.height): self.step(m).capacity() for m in range(1, self.height + 1)})

    def rules(self, level: int) -> Iterator[tuple[Condition, ...]]:
        """Yield the minimal conditions on the levels of the inputs that lift the neuron to a level:
        no condition can be weakened.
        """
        for vector in minimal_vectors(self._gains, self.reaches(level)):
            yield tuple(self._condition(index, gain) for index, gain in vector)

    def rule_count(self, level: int) -> int | None:
        """Count the minimal rules for a level; None if counting would take too long."""
        return count_minimal(self._gains, self.reaches(level))

    @cached_property
    def _gains(self) -> list[list[int]]:
        return [
            [abs(weight) * v for v in range(top + 1)] if weight else [0]
            for weight, top in zip(self.weights, self.tops, strict=True)
        ]

    def _condition(self, index: int, gain: int) -> Condition:
        weight, top = self.weights[index], self.tops[index]
        if weight > 0:
            return Condition(index + 1, at_least=gain // weight)
        return Condition(index + 1, at_most=top - gain // -weight)

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


# -- minimal level vectors (docs/theory.md 3.3) ----------------------------------------------------------

Gains = Sequence[Sequence[int]]
"""Rising gains of each input, 0 first. A vector takes one gain per input; it is minimal if none of its
gains can be replaced by the one before.
"""

_COUNT_WORK = 1 << 24


def minimal_vectors(
    gains: Gains, need: int, max_steps: int | None = None
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the minimal vectors lazily, as (input, gain) for the inputs whose gain is not 0, beginning with
    one of the fewest inputs. Raise `TooLargeError` after a number of search steps (default: no limit).

    Examples
    --------
    >>> list(minimal_vectors([[0, 2, 4], [0, 1]], need=3))
    [((0, 4),), ((0, 2), (1, 1))]
    """
    if need <= 0:
        yield ()
        return
    order = sorted(range(len(gains)), key=lambda i: -gains[i][-1])
    rest = list(accumulate((gains[i][-1] for i in reversed(order)), initial=0))[::-1]
    stack: list[tuple[int, int, int, tuple[tuple[int, int], ...]]] = [(0, 0, 1 << 62, ())]
    for step_number in count():
        if not stack:
            return
        if step_number == max_steps:
            raise TooLargeError("there are too many rules to list. Give fewer cuts or levels.")
        k, total, min_step, chosen = stack.pop()
        if total >= need:
            if total - need < min_step:
                yield tuple(sorted(chosen))
            continue
        if k == len(order) or total + rest[k] < need:
            continue
        stack.append((k + 1, total, min_step, chosen))
        for below, gain in pairwise(gains[order[k]]):
            step = min(min_step, gain - below)
            if total + gain - need < step:  # otherwise this gain, or an earlier one, could be lowered
                stack.append((k + 1, total + gain, step, (*chosen, (order[k], gain))))


def count_minimal(gains: Gains, need: int) -> int | None:
    """Return the exact number of minimal vectors, or None if counting would take too long."""
    if need <= 0:
        return 1
    steps = {b - a for input_gains in gains for a, b in pairwise(input_gains)}
    work = (max(steps, default=0)) * need * sum(map(len, gains))
    if work > _COUNT_WORK:
        return None
    total = 0
    # vectors whose sum exceeds `need` by this much: all steps must be larger
    for excess in range(max(steps, default=0)):
        target = need + excess
        ways = [1] + [0] * target
        for row in gains:
            allowed = [b for a, b in pairwise(row) if b - a > excess]
            if allowed:
                ways = [w + sum(ways[s - gain] for gain in allowed if gain <= s) for s, w in enumerate(ways)]
        total += ways[target]
    return total
