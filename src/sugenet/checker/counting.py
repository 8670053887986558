"""Count the inputs of a region by class, in plain form: the definition that compiled forms follow.

To be ensured: the parts of a count make up the region, and each part has the claimed number of inputs of each
class.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from sugenet.checker.form import Counted, Partition, Share
from sugenet.checker.problem import IntegerProblem, swings_of
from sugenet.checker.rules import see_inputs
from sugenet.errors import CertificateError

__all__ = ["plain_count", "see_parts", "see_totals"]

_SETTLED = ("off", "on")


def plain_count(certificate: Counted | Share, problem: IntegerProblem) -> str:
    """Count the inputs of each part of a region by class.

    Features are added one after another. Inputs with the same cost and the same margins at every neuron that
    can still turn are counted together.
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
    see_totals(certificate)
    return f"{certificate.total:,} inputs counted again in {len(claimed)} parts (plain form)"


def _settled(margins: Iterable[Any], swings: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
    """Return margins, with on or off for those that cannot change sign any more; at the end all
    are settled.
    """
    return tuple(
        m if m in _SETTLED else _SETTLED[1] if m + low >= 0 else _SETTLED[0] if m + high < 0 else m
        for m, (low, high) in zip(margins, swings, strict=True)
    )


class _ByFirst:
    """Parts by the first feature, in an order, that changes; part 0 contains the input without changes."""

    first: Any = None

    def __init__(self, ranks: Sequence[int | None], groups: Sequence[int]) -> None:
        self.ranks, self.groups = ranks, groups

    def step(self, part: Any, index: int, number: int) -> Any:
        """Return the part after one more feature: the lowest rank of the changed features."""
        rank = self.ranks[index]
        return rank if number and rank is not None and (part is None or rank < part) else part

    def index(self, part: Any) -> int:
        """Return the index of a part."""
        return 0 if part is None else self.groups[part]


class _ByState:
    """Parts by the states of some features."""

    first: Any = ()

    def __init__(
        self, states: Sequence[list[int] | None], named: dict[Any, int], order: Sequence[int]
    ) -> None:
        self.states, self.named, self.order = states, named, order

    def step(self, part: Any, index: int, number: int) -> Any:
        """Return the part after one more feature."""
        feature_states = self.states[index]
        return part if feature_states is None else (*part, feature_states[number])

    def index(self, part: Any) -> int:
        """Return the index of a part."""
        return self.named[tuple(part[k] for k in self.order)]


def see_totals(certificate: Counted | Share) -> None:
    """Check that the counts of the parts sum to those of the region."""
    added = tuple(sum(column) for column in zip(*(row for _, row in certificate.proof.parts), strict=True))
    if added != certificate.counts or sum(added) != certificate.total:
        raise CertificateError("the counts of the parts do not sum to the claimed counts.")


def _parts(proof: Partition, problem: IntegerProblem) -> tuple[Any, list[Any]]:
    """Return how inputs are assigned to the parts of a count, and the names of the parts.

    The parts must make up the region.
    """
    numbers = problem.numbers
    known = {f: [problem.own[f], *states] for f, states in zip(numbers, problem.states, strict=True)}
    names, fixed = see_parts(proof, known)
    if fixed is None:
        order = list(proof.order)
        groups = [number for number, name in enumerate(names) for _ in name or ()]
        return _ByFirst([order.index(f) if f in order else None for f in numbers], groups), names
    named = {tuple(state for _, state in name): number for number, name in enumerate(names)}
    inside = [f for f in numbers if f in fixed]
    states_of = [known[f] if f in fixed else None for f in numbers]
    return _ByState(states_of, named, [inside.index(f) for f in fixed]), names


def see_parts(proof: Partition, known: Mapping[int, Sequence[int]]) -> tuple[list[Any], list[int] | None]:
    """Check that parts make up a region without overlap; return their names, and the features whose states
    name them.

    The features are None if parts are named by the feature that changes first; the first part is then for no
    change. `known` contains the states of each feature that can change.
    """
    names: list[Any] = [name for name, _ in proof.parts]
    if not names:
        raise CertificateError("the certificate has no parts.")
    if names[0] is None:
        if not all(isinstance(name, tuple) for name in names[1:]):
            raise CertificateError("the parts do not make up the region: one is not a list of features.")
        order = [feature for name in names[1:] for feature in name]
        if order != list(proof.order) or not set(order) <= set(known):
            raise CertificateError(
                "the parts do not make up the region: no change must come first, then each feature in order."
            )
        return names, None
    pairs: list[list[Any]] = [list(name) if isinstance(name, tuple) else [None] for name in names]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for row in pairs for pair in row):
        raise CertificateError("a part is named by features and their states.")
    fixed = [feature for feature, _ in pairs[0]]
    if len(set(fixed)) < len(fixed) or not set(fixed) <= set(known):
        raise CertificateError("the parts do not make up the region: they fix features that cannot change.")
    for row in pairs:
        if [feature for feature, _ in row] != fixed or not all(state in known[f] for f, state in row):
            raise CertificateError("the parts do not make up the region: one has other features or states.")
    n_named, expected = len({tuple(row) for row in pairs}), prod(len(set(known[f])) for f in fixed)
    if n_named != len(pairs) or len(pairs) != expected:
        raise CertificateError(
            f"the parts do not make up the region: {n_named} of {expected} combinations of states."
        )
    return names, fixed
