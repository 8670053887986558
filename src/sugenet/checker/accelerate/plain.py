"""The plain forms: what the fast code of enumeration, propagation, lemmas and counts does, in a few lines
each, for small cases.

To be ensured: that a reader sees at a glance that it is right. ``check(..., plain=True)`` uses these
instead of the compiled ones; each has the parameters and the answer of the fast form beside it, so that
tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.products import Ints
from sugenet.checker.accelerate.thresholds import Implication
from sugenet.checker.accelerate.whole import Options, Whole
from sugenet.checker.limit import Limit
from sugenet.errors import CheckLimitError

__all__ = [
    "PlainPropagation",
    "need_small",
    "plain_counts",
    "plain_followed",
    "plain_seen",
    "sets_within",
]

_SETS = 1 << 14
"""Sets of options that are gone through."""
_WEIGHTS = 1 << 14
"""Weights and literals that are propagated over."""


def need_small(size: int, what: str, most: int = _SETS) -> None:
    """Refuse what would take long in the plain form."""
    if size > most:
        raise CheckLimitError(
            f"not checked within the limit: plain=True is for at most {most:,} {what}, and there are more. "
            f"Check without it."
        )


# -- sets and counts -----------------------------------------------------------------------------------------


def sets_within(features: Options, budget: int | None, limit: Limit) -> Iterator[list[Ints]]:
    """What the options of every set add that has at most one option a feature and fits the budget."""
    lightest, seen = sorted(min(price for price, _ in row) for row in features), 0
    for many in range(len(features) + 1):
        if budget is not None and sum(lightest[:many]) > budget:
            return  # so many features do not fit, nor do more
        for some in combinations(features, many):
            for options in product(*some):
                limit.look()
                seen += 1
                need_small(seen, "sets of changes")
                if budget is None or sum(price for price, _ in options) <= budget:
                    yield [gain for _, gain in options]


def plain_seen(whole: Whole) -> int | None:
    """How many sets of options there are, one by one; None: one of them is a violation."""
    sets = 0
    for gains in sets_within(whole.features, whole.budget, whole.limit):
        sets += 1
        counts = plain_counts(sum(gains, whole.base), whole.layers, whole.head)
        if whole.violates(counts[None])[0]:
            return None
    return sets


def plain_counts(margins: Ints, layers: Iterable[tuple[Ints, Ints]], head: Ints) -> Ints:
    """Match counts of the classes, from M - tau of the first layer: literals that hold, layer by layer."""
    active = margins >= 0
    for weights, tau in layers:
        active = _held(weights, active) >= tau
    return _held(head, active)


def _held(weights: Ints, active: npt.NDArray[np.bool_]) -> Ints:
    return np.asarray(np.where(weights > 0, weights * active, -weights * ~active).sum(axis=1))


# -- propagation ---------------------------------------------------------------------------------------------


def _literals_left(clause: Iterable[int], true: set[int]) -> list[int] | None:
    """Literals of a clause that are not false; None where one is true."""
    return None if any(x in true for x in clause) else [x for x in clause if -x not in true]


def _contradicts(
    true: set[int], clauses: Iterable[Iterable[int]], implications: Iterable[tuple[Implication, range]] = ()
) -> bool:
    """Add what follows to the true literals until nothing new does; whether there is a contradiction."""
    clauses, implications = list(clauses), list(implications)
    before = -1
    while len(true) > before:
        before = len(true)
        for clause in clauses:
            left = _literals_left(clause, true)
            if left is not None and len(left) < 2:
                if not left:
                    return True
                true.add(left[0])
        for implication, names in implications:
            true |= _implied(implication, names, true)
        if any(-literal in true for literal in true):
            return True
    return False


def _implied(implication: Implication, names: range, true: set[int]) -> set[int]:
    """What an implication over these variables says now; a contradiction is {1, -1}."""
    guard, least = implication.guard, implication.least
    if -guard in true:
        return set()
    pairs = zip(names, implication.weights.tolist(), strict=True)
    wish = [(name if weight > 0 else -name, weight) for name, weight in pairs]
    most = sum(max(weight, 0) if -x not in true else min(weight, 0) for x, weight in wish)
    if most < least:
        return {-guard} if guard else {1, -1}
    if guard and guard not in true:
        return set()
    return {x for x, weight in wish if abs(weight) > most - least and -x not in true}


class PlainPropagation:
    """The clauses that are known so far, as lists of literals; see `Propagation` for the fast form."""

    def __init__(self, layers: list[list[Implication]], starts: Sequence[int], limit: Limit) -> None:
        self.limit, self.clauses, self.fixed = limit, [], set()  # type: Limit, list[list[int]], set[int]
        inputs = [range(a + 1, b + 1) for a, b in pairwise(starts[: len(layers) + 1])]
        self.implications = [
            (one, names) for layer, names in zip(layers, inputs, strict=True) for one in layer
        ]
        need_small(sum(len(names) for _, names in self.implications), "weights", _WEIGHTS)
        self.over = False

    def take(self, given: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]) -> None:
        """Draw the conclusions of the implications and of clauses that are given."""
        self.clauses += _lists(*given)
        self.over = _contradicts(self.fixed, self.clauses, self.implications)

    def first_that_fails(self, clauses: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]) -> int | None:
        """Number of the first of more clauses that does not follow; each that does is taken in."""
        for number, clause in enumerate(_lists(*clauses)):
            self.limit.look()
            if self.over:
                return None
            assumed = self.fixed | {-literal for literal in clause}
            if not _contradicts(assumed, self.clauses, self.implications):
                return number
            self.clauses.append(clause)
            self.over = _contradicts(self.fixed, self.clauses, self.implications)
        return None


def _lists(literals: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> list[list[int]]:
    return [part.tolist() for part in np.split(literals, np.cumsum(sizes))[: len(sizes)]]


def plain_followed(
    literals: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    given: int,
    steps: npt.NDArray[np.int64],
    variables: int,  # noqa: ARG001 as the fast one
    limit: Limit,
) -> int:
    """Take in the given clauses, then follow the steps; -1, -2 or a clause, as `followed` says.

    What has followed without assuming anything stays, also when the clauses that it came from go.
    """
    need_small(len(literals), "literals", _WEIGHTS)
    signed = np.where(literals % 2, -(literals // 2) - 1, literals // 2 + 1)
    clauses = _lists(signed, np.diff(starts))
    there: dict[int, list[int]] = {}
    fixed: set[int] = set()
    for clause in chain(range(given), steps.tolist()):
        limit.look()
        if clause < 0:
            del there[-1 - clause]
            continue
        assumed = fixed | {-literal for literal in clauses[clause]}
        if clause >= given and not _contradicts(assumed, there.values()):
            return int(clause)
        there[clause] = clauses[clause]
        if _contradicts(fixed, there.values()):
            return -1
    return -2
