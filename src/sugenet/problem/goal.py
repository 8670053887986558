"""Goals: violations as linear inequalities in integers over the match counts of the classes.

Inequalities are joined by *and* and *or*. Every question reduces to this form: another class wins, a chosen
class wins, two networks disagree, the outputs meet a condition of a file. An inequality over match counts of
the last layer is itself a threshold over the last hidden neurons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.errors import QuestionError, TooLargeError
from sugenet.nn import Head, Network
from sugenet.nn.arrays import Ints
from sugenet.nn.layers import SUM_BITS
from sugenet.reprs import ShortRepr

__all__ = ["Goal", "LabelGoal", "Ties", "Votes", "at_least", "lawful", "loses", "wins"]


@dataclass(frozen=True)
class Votes:
    """The inequality that the sum of ``factors[k] * M_k`` over the classes is at least `least`.

    All numbers are integers without a common factor.

    Examples
    --------
    >>> Votes.of([4, -2, 0], 3)
    Votes(factors=(2, -1, 0), least=2)
    """

    factors: tuple[int, ...]
    least: int

    @classmethod
    def of(cls, factors: Iterable[int], bound: int) -> Votes:
        """Divide by the common factor and round the bound up; for integers the inequality stays the same."""
        row = tuple(int(value) for value in factors)
        common = gcd(*row)
        if not common:  # always or never true
            return cls(row, int(bound > 0))
        return cls(tuple(value // common for value in row), -(-int(bound) // common))


@dataclass(frozen=True)
class Goal:
    """A violation: all inequalities of some case hold.

    Examples
    --------
    >>> goal = wins(Head([[1, 1], [1, -1], [-1, 1]]), 1)
    >>> counts = np.array([[2, 1, 1], [1, 2, 0], [1, 1, 1]])
    >>> goal.violates(counts), goal.shortfall(counts[:2])
    (array([False,  True, False]), array([2, 0]))
    """

    cases: tuple[tuple[Votes, ...], ...]
    sum_bits: int = SUM_BITS
    """Number of bits that is enough for every match count (`Head.sum_bits`)."""

    @cached_property
    def votes(self) -> tuple[Votes, ...]:
        """The distinct inequalities."""
        return tuple(dict.fromkeys(vote for case in self.cases for vote in case))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """For each case, the indices of its inequalities."""
        index = {vote: number for number, vote in enumerate(self.votes)}
        return tuple(tuple(index[vote] for vote in case) for case in self.cases)

    @cached_property
    def factors(self) -> npt.NDArray[Any]:
        """One row per inequality: int64 if sums of match counts fit, else Python integers.

        A match count is below ``2^sum_bits``, so no intermediate sum or difference, in any order, exceeds
        ``|least| + 2^sum_bits * sum(|factors|)``.
        """
        rows = [vote.factors for vote in self.votes]
        large = any(
            abs(vote.least) + (sum(map(abs, vote.factors)) << self.sum_bits) >= 1 << 63 for vote in self.votes
        )
        return np.array(rows, dtype=object if large else np.int64).reshape(len(rows), -1 if rows else 0)

    @cached_property
    def least(self) -> npt.NDArray[Any]:
        """The bound of each inequality."""
        return np.array([vote.least for vote in self.votes], dtype=self.factors.dtype)

    def missing(self, counts: Ints) -> npt.NDArray[Any]:
        """Return how much is missing, for each row of match counts and each inequality; it holds if 0 or
        less.
        """
        return np.asarray(self.least - counts.astype(self.factors.dtype) @ self.factors.T)

    def violates(self, counts: Ints) -> npt.NDArray[np.bool_]:
        """Return whether match counts of the classes, one row per sample, are a violation."""
        return np.asarray(self.shortfall(counts) <= 0)

    def shortfall(self, counts: Ints) -> npt.NDArray[Any]:
        """Return how much the nearest case is missing at its worst inequality, exactly; 0 or less is a
        violation.
        """
        if not self.cases:
            return np.ones(len(counts), np.int64)
        if not all(self.cases):
            return np.zeros(len(counts), np.int64)
        missing = self.missing(counts)
        if len(self.votes) == len(self.cases) and max(map(len, self.cases)) == 1:  # one inequality per case
            return np.asarray(missing.min(axis=1))
        worst = np.array([missing[:, list(case)].max(axis=1) for case in self.members])
        return np.asarray(worst.min(axis=0))

    def neurons(self, head: Head) -> tuple[Ints, Ints]:
        """Return the inequalities as thresholds over the last hidden neurons: weights and least sums, one row
        each.

        Inequality q holds iff the sum of ``weights[q, i]`` over the active neurons i, or times their levels,
        is at least ``least[q]``.
        """
        known = self.__dict__.get("_neurons")
        if known is None or known[0] is not head:
            known = self.__dict__["_neurons"] = (head, self._neurons_of(head))
        return known[1]

    def _neurons_of(self, head: Head) -> tuple[Ints, Ints]:
        if not self.votes:
            return np.zeros((0, head.inputs), np.int64), np.zeros(0, np.int64)
        weights = self.factors.astype(object) @ head.weights.astype(object)
        below = np.minimum(head.weights, 0)
        below = below.sum(axis=1) if head.tops is None else below @ head.tops
        shift = self.factors.astype(object) @ below.astype(object)
        bounds = self.least.astype(object) + shift
        if max(int(np.abs(weights).sum(axis=1).max(initial=0)), int(np.abs(bounds).max())) >= 1 << 62:
            raise TooLargeError(
                "the scores of the classes are too finely divided: as integers they exceed 62 bits."
            )
        return weights.astype(np.int64), bounds.astype(np.int64)


def _beats(head: Head, a: int, b: int, *, strictly: bool) -> Votes:
    """Return the inequality that class a scores more than class b, or at least as much."""
    slopes, offsets, _ = head.integers
    factors = [0] * head.outputs
    factors[a], factors[b] = slopes[a], -slopes[b]
    return Votes.of(factors, offsets[b] - offsets[a] + strictly)


def _kept(head: Head, name: tuple[str, int, str], cases: Callable[[], tuple[tuple[Votes, ...], ...]]) -> Goal:
    """Return a goal from the head's cache: the samples of a data set share a few goals."""
    known: dict[Any, Goal] = head.__dict__.setdefault("_goals", {})
    if name not in known:
        known[name] = Goal(cases(), head.sum_bits)
    return known[name]


def loses(head: Head, label: int, *, ties: str = "lowest") -> Goal:
    """Return the goal that some other class wins against `label`.

    A tie goes to the lowest class, or with ``ties="against"`` always to the other class.
    """
    others = [k for k in range(head.outputs) if k != label]
    return _kept(
        head,
        ("loses", label, ties),
        lambda: tuple((_beats(head, k, label, strictly=ties == "lowest" and k > label),) for k in others),
    )


def wins(head: Head, target: int, *, ties: str = "lowest") -> Goal:
    """Return the goal that class `target` wins.

    A tie goes to the lowest class, or with ``ties="against"`` always to the target.
    """
    others = [k for k in range(head.outputs) if k != target]
    return _kept(
        head,
        ("wins", target, ties),
        lambda: (tuple(_beats(head, target, k, strictly=ties == "lowest" and k < target) for k in others),),
    )


def lawful(network: Network, goal: Goal) -> Goal:
    """Return the goal of a violation by an input that obeys the network's laws, over the classes of
    `network.lawful`.
    """
    if not network.domain.laws:
        return goal
    obeys = Votes((*[0] * network.head.outputs, -1), 0)
    rows = [[Votes((*vote.factors, 0), vote.least) for vote in case] for case in goal.cases]
    return Goal(tuple((*row, obeys) for row in rows), goal.sum_bits)


def at_least(head: Head, factors: Sequence[int], bound: int) -> Votes:
    """Return the inequality that the sum of ``factors[k]`` times the score of class k is at least `bound`."""
    slopes, offsets, unit = head.integers
    counts = [int(f) * a for f, a in zip(factors, slopes, strict=True)]
    return Votes.of(
        counts, int(bound) * unit - sum(int(f) * b for f, b in zip(factors, offsets, strict=True))
    )


Ties = Literal["lowest", "against"]
"""``lowest``: a tie goes to the lowest class, as in `predict`.

``against``: any tie at the top counts as a violation.
"""


@dataclass(frozen=True)
class LabelGoal(ShortRepr):
    """The property that the class stays `label` or, with a target, does not become `target`."""

    network: Network
    label: int
    target: int | None = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        count = self.network.head.outputs
        for what, value in (("label", self.label), ("target", self.target)):
            if value is not None and not 0 <= value < count:
                raise QuestionError(f"{what}={value} is not a class: classes are numbered 0 to {count - 1}.")
        if self.target == self.label:
            name = self.network.class_texts[self.label]
            raise QuestionError(f"the target, {name}, is the class that the sample has already.")
        if self.ties not in ("lowest", "against"):
            raise QuestionError(f"ties={self.ties!r} must be 'lowest' or 'against'.")

    @cached_property
    def goal(self) -> Goal:
        """The goal that violates the property."""
        head = self.network.head
        goal = (
            loses(head, self.label, ties=self.ties)
            if self.target is None
            else wins(head, self.target, ties=self.ties)
        )
        return lawful(self.network, goal)

    def __str__(self) -> str:
        names = self.network.class_texts
        tie = "; a tie counts as a change" if self.ties == "against" else ""
        if self.target is None:
            return f"the class stays {names[self.label]}{tie}"
        return f"the class does not become {names[self.target]}{tie}"
