"""Counting the inputs of a region by class, in plain form: the definition that compiled forms follow.

To be ensured: the parts of a count make up the region, and each has as many inputs of each class as is
claimed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from sugenet.checker.form import Counted, Partition
from sugenet.checker.problem import IntegerProblem
from sugenet.checker.rules import see_inputs, swings_of
from sugenet.errors import CertificateError

__all__ = ["plain_count"]

_SETTLED = ("off", "on")


def plain_count(certificate: Counted, problem: IntegerProblem) -> str:
    """Count the inputs of each part of a region by class.

    Features are added one after another; inputs that spend the same and have the same margins at every neuron
    that can still turn are counted together.
    """
    see_inputs(problem)
    part_of, names = _parts(certificate.proof, problem)
    classes = len(problem.scores)
    totals = [Counter[int]() for _ in names]
    features = problem.features
    swings = [swings_of(features[position:], len(problem.base)) for position in range(len(features) + 1)]
    start = _settled(problem.base, swings[0])
    groups: Counter[Any] = Counter([(start, 0, part_of.first)])
    for index, row in enumerate(features):
        after: Counter[Any] = Counter()
        for (margins, spent, part), count in groups.items():
            problem.limit.look()
            for number, (price, gain) in enumerate([(0, None), *row]):
                if problem.budget is not None and spent + price > problem.budget:
                    continue
                moved = margins if gain is None else [
                    m if m in _SETTLED else m + g for m, g in zip(margins, gain, strict=True)
                ]  # fmt: skip
                key = _settled(moved, swings[index + 1]), spent + price, part_of.step(part, index, number)
                after[key] += count
        groups = after
    for (margins, _, part), count in groups.items():
        problem.limit.look()
        label = problem.label([m == _SETTLED[1] for m in margins])
        totals[part_of.index(part)][label] += count
    claimed = [list(row) for _, row in certificate.proof.parts]
    for name, counted, claimed_counts in zip(names, totals, claimed, strict=True):
        if len(claimed_counts) != classes or [counted[k] for k in range(classes)] != claimed_counts:
            raise CertificateError(
                f"part {name} has {[counted[k] for k in range(classes)]} inputs of the classes, not "
                f"{claimed_counts}."
            )
    added = tuple(sum(column) for column in zip(*claimed, strict=True))
    if added != certificate.counts or sum(added) != certificate.total:
        raise CertificateError("the counts of the parts do not sum to what is claimed.")
    return f"{certificate.total:,} inputs counted again in {len(claimed)} parts (plain form)"


def _settled(margins: Iterable[Any], swings: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
    """Margins, with those that cannot change sign any more as off or on; at the end all are."""
    return tuple(
        m if m in _SETTLED else _SETTLED[1] if m + low >= 0 else _SETTLED[0] if m + high < 0 else m
        for m, (low, high) in zip(margins, swings, strict=True)
    )


class _ByFirst:
    """Parts by the first feature, in an order, that changes; part 0 is for none."""

    first: Any = None

    def __init__(self, ranks: Sequence[int | None], groups: Sequence[int]) -> None:
        self.ranks, self.groups = ranks, groups

    def step(self, part: Any, index: int, number: int) -> Any:
        """The part after one more feature: the least rank of those that changed."""
        rank = self.ranks[index]
        return rank if number and rank is not None and (part is None or rank < part) else part

    def index(self, part: Any) -> int:
        """The number of a part."""
        return 0 if part is None else self.groups[part]


class _ByState:
    """Parts by the states of some features."""

    first: Any = ()

    def __init__(
        self, states: Sequence[list[int] | None], named: dict[Any, int], order: Sequence[int]
    ) -> None:
        self.states, self.named, self.order = states, named, order

    def step(self, part: Any, index: int, number: int) -> Any:
        """The part after one more feature."""
        feature_states = self.states[index]
        return part if feature_states is None else (*part, feature_states[number])

    def index(self, part: Any) -> int:
        """The number of a part."""
        return self.named[tuple(part[k] for k in self.order)]


def _parts(proof: Partition, problem: IntegerProblem) -> tuple[Any, list[Any]]:
    """How inputs are dealt out to the parts of a count, which must make up the region; and their names."""
    names: list[Any] = [name for name, _ in proof.parts]
    if not names:
        raise CertificateError("the certificate has no parts.")
    return (_by_first(proof, problem) if names[0] is None else _by_state(names, problem)), names


def _by_first(proof: Partition, problem: IntegerProblem) -> _ByFirst:
    """Parts named by the features that change first; the first part is for no change."""
    order, groups = list(proof.order), list[int]()
    features: list[Any] = []
    for number, (name, _) in enumerate(proof.parts[1:], start=1):
        if not isinstance(name, tuple):
            raise CertificateError("the parts do not make up the region: one is not a list of features.")
        groups += [number] * len(name)
        features += name
    if features != order or not set(order) <= set(problem.numbers):
        raise CertificateError(
            "the parts do not make up the region: they must be no change, then each feature in order."
        )
    return _ByFirst([order.index(f) if f in order else None for f in problem.numbers], groups)


def _by_state(names: Sequence[Any], problem: IntegerProblem) -> _ByState:
    """Parts named by pairs of a feature and its state: every combination of the states of some features."""
    pairs: list[list[Any]] = [list(name) if isinstance(name, tuple) else [None] for name in names]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for row in pairs for pair in row):
        raise CertificateError("a part is named by features and their states.")
    fixed = [feature for feature, _ in pairs[0]]
    if len(set(fixed)) < len(fixed) or not set(fixed) <= set(problem.numbers):
        raise CertificateError("the parts do not make up the region: they fix features that cannot change.")
    offered = dict(zip(problem.numbers, problem.states, strict=True))
    known = {f: [problem.own[f], *offered[f]] for f in problem.numbers if f in fixed}
    named: dict[Any, int] = {}
    for number, row in enumerate(pairs):
        if [feature for feature, _ in row] != fixed or not all(state in known[f] for f, state in row):
            raise CertificateError("the parts do not make up the region: one has other features or states.")
        named[tuple(state for _, state in row)] = number
    expected = prod(len(set(states)) for states in known.values())
    if len(named) != len(pairs) or len(pairs) != expected:
        raise CertificateError(
            f"the parts do not make up the region: {len(named)} of {expected} combinations of states."
        )
    inside = list(known)
    return _ByState([known.get(f) for f in problem.numbers], named, [inside.index(f) for f in fixed])
