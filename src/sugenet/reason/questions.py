"""Questions that `verify` decides: each comes down to problems, and holds iff none of them has a violation.

A question describes itself in words and as JSON; the JSON is what a certificate is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import Network, OneHot
from sugenet.checker.query import Query
from sugenet.errors import QuestionError
from sugenet.problem.boxes import limits_data, plain
from sugenet.problem.goal import Goal, at_least, loses, wins
from sugenet.problem.keeps import Keeps, Ties
from sugenet.problem.merging import merged
from sugenet.problem.neighbourhood import Neighbourhood, place_of, row_of
from sugenet.problem.pairs import Joint, abreast, twins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Box, Region, region_data
from sugenet.problem.sourced import of_network

__all__ = [
    "Agree",
    "Always",
    "Fair",
    "Monotone",
    "Never",
    "Question",
    "Robust",
    "class_of",
    "plain",
    "problems_of",
    "region_data",
]


def class_of(network: Network, label: Any) -> int:
    """Number of a class given by name or number."""
    if isinstance(label, str) and label in network.classes:
        return network.classes.index(label)
    if (
        isinstance(label, bool)
        or not isinstance(label, int | np.integer)
        or not 0 <= label < len(network.classes)
    ):
        raise QuestionError(
            f"there is no class {label!r}. The classes are {', '.join(network.classes)}, numbered from 0."
        )
    return int(label)


def _places(network: Network, features: Iterable[Any]) -> list[int]:
    """Numbers of features, each once."""
    return list(dict.fromkeys(place_of(network, feature) for feature in features))


def _limits(where: Any) -> Box:
    return where if isinstance(where, Box) else Box({} if where is None else where)


@dataclass(frozen=True, eq=False)
class Robust:
    """The class of a sample stays what it is throughout a region; or, with a target,
    does not become that class there.

    Parameters
    ----------
    sample
        One raw sample: values in the order of the features, or by name.
    region
        `Hamming`, `L0`, `L1`, `L2`, `Linf`, `Free`, `Box` or `Anything`.
    target
        The class that must not be reached, by name or number; any other than the sample's unless given.
    ties
        ``lowest``: a tie goes to the lowest class, as in `predict`. ``against``: a tie counts as a change.
    """

    sample: Any
    region: Region
    target: Any = None
    ties: Ties = "lowest"

    def values(self, network: Network) -> list[Any]:
        """The sample as a list in the order of the features."""
        return network.encoder.values(self.sample)

    def keeps(self, network: Network) -> Keeps:
        """The property."""
        kept = self.__dict__.get("_keeps")
        if kept is None or kept.network is not network:
            label = int(network.predict(row_of(self.values(network)))[0])
            kept = Keeps(
                network, label, None if self.target is None else class_of(network, self.target), self.ties
            )
            self.__dict__["_keeps"] = kept
        return kept

    def near(self, network: Network) -> Neighbourhood:
        """The region around the sample."""
        if not hasattr(self.region, "around"):
            raise QuestionError(
                f"region={self.region!r} is no region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or Anything()."
            )
        return self.region.around(network, self.values(network))

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        keeps = self.keeps(network)
        sample = [plain(value) for value in self.values(network)]
        return {
            "kind": "robust",
            "sample": sample,
            "label": keeps.label,
            "region": region_data(network, self.region),
            "target": keeps.target,
            "ties": self.ties,
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"{self.keeps(network)}, with {self.region}"


@dataclass(frozen=True, eq=False)
class Always:
    """Every input within limits has a class; features without limits are free.

    Parameters
    ----------
    label
        The class, by name or number.
    where
        Limits as in `Box`.
    """

    label: Any
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "always",
            "label": class_of(network, self.label),
            "where": limits_data(network, _limits(self.where)),
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"the class is {network.classes[class_of(network, self.label)]} for {_limits(self.where)}"


@dataclass(frozen=True, eq=False)
class Never:
    """No input within limits has a class; features without limits are free."""

    label: Any
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "never",
            "label": class_of(network, self.label),
            "where": limits_data(network, _limits(self.where)),
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return (
            f"the class is never {network.classes[class_of(network, self.label)]} for {_limits(self.where)}"
        )


@dataclass(frozen=True, eq=False)
class Monotone:
    """Raising one feature, with all others as they are, never lowers the class number; or, with a label,
    never loses that class.

    Parameters
    ----------
    feature
        By name or number from 0; a number, not a category.
    label
        The class that raising the feature must not lose; without it classes are taken as
        ordered by their numbers.
    rising
        False: lowering the feature instead.
    where
        Limits as in `Box`, for all features.
    """

    feature: Any
    label: Any = None
    rising: bool = True
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "monotone",
            "feature": place_of(network, self.feature),
            "label": None if self.label is None else class_of(network, self.label),
            "rising": bool(self.rising),
            "where": limits_data(network, _limits(self.where)),
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        name = network.encoder.names[place_of(network, self.feature)]
        effect = (
            "lowers the class"
            if self.label is None
            else f"loses class {network.classes[class_of(network, self.label)]}"
        )
        return f"{'raising' if self.rising else 'lowering'} {name} never {effect}, for {_limits(self.where)}"


@dataclass(frozen=True, eq=False)
class Fair:
    """No two inputs that differ in protected features alone get different classes.

    Parameters
    ----------
    protected
        Features by name or number from 0.
    where
        Limits as in `Box`, for both inputs.
    """

    protected: Iterable[Any]
    where: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "protected",
            (self.protected,) if isinstance(self.protected, str | int) else tuple(self.protected),
        )

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "fair",
            "protected": _places(network, self.protected),
            "where": limits_data(network, _limits(self.where)),
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        names = ", ".join(network.encoder.names[place_of(network, feature)] for feature in self.protected)
        return f"the class does not depend on {names}, for {_limits(self.where)}"


@dataclass(frozen=True, eq=False)
class Agree:
    """Another network over the same features gives the same class to every input within limits."""

    other: Network
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "agree",
            "other": self.other.fingerprint,
            "where": limits_data(network, _limits(self.where)),
        }

    def describe(self, network: Network) -> str:  # noqa: ARG002 as the other questions
        """The question's claim in words."""
        return f"the two networks give the same class, for {_limits(self.where)}"


Question: TypeAlias = Robust | Always | Never | Monotone | Fair | Agree | Query


def problems_of(network: Network, question: Question) -> tuple[tuple[Problem, ...], Joint | None]:
    """The problems of a question, and the joint network that they are about where there are two sides."""
    match question:
        case Robust():
            return (Problem(question.near(network), question.keeps(network).goal),), None
        case Always() | Never():
            near = _limits(question.where).of(network)
            goal = (loses if isinstance(question, Always) else wins)(
                network.head, class_of(network, question.label)
            )
            return (Problem(near, goal),), None
        case Monotone():
            return _monotone(network, question)
        case Fair():
            return _fair(network, question)
        case Agree():
            return _agree(network, question)
    return _query(network, of_network(network, question)), None


def _states(network: Network, feature: int, box: Box) -> list[tuple[int, Any]]:
    """States of a feature that limits allow, in order, each with a raw value within them."""
    near = box.of(network)
    moved = [(move.state, move.value) for move in near.moves if move.feature == feature]
    return sorted([(near.states[feature], near.sample[feature]), *moved], key=lambda pair: pair[0])


def _two_sided(
    joint: Joint, box: Box, network: Network, free: Sequence[int], goal: Goal
) -> tuple[tuple[Problem, ...], Joint]:
    """All joint inputs whose shared features meet the limits;
    those of `free` are limited by their pairs already.
    """
    limits = box.placed(network)
    near = Box({feature: limit for feature, limit in limits.items() if feature not in free}).of(joint.network)
    return (merged(near, goal),), joint


def _monotone(network: Network, question: Monotone) -> tuple[tuple[Problem, ...], Joint]:
    feature, box = place_of(network, question.feature), _limits(question.where)
    if isinstance(network.encoder.codings[feature], OneHot):
        raise QuestionError(
            f"feature {network.encoder.names[feature]} is a category, which cannot be raised. "
            f"Ask Fair about it."
        )
    states = _states(network, feature, box)
    steps = list(pairwise(states))
    joint = twins(network, {feature: steps if question.rising else [(b, a) for a, b in steps]})
    count = network.head.outputs
    if question.label is None:
        goal = joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p > q)
    else:
        label = class_of(network, question.label)
        goal = joint.classes_differ((label, q) for q in range(count) if q != label)
    return _two_sided(joint, box, network, [feature], goal)


def _fair(network: Network, question: Fair) -> tuple[tuple[Problem, ...], Joint]:
    features, box = _places(network, question.protected), _limits(question.where)
    if not features:
        raise QuestionError("no feature is protected. Name at least one.")
    pairs = {}
    for feature in features:
        states = _states(network, feature, box)
        alone = len(features) == 1  # then the two inputs can change places, and must differ here
        pairs[feature] = [(a, b) for a in states for b in states if not alone or a[0] < b[0]]
    joint = twins(network, pairs)
    count = network.head.outputs
    return _two_sided(
        joint,
        box,
        network,
        features,
        joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p != q),
    )


def _agree(network: Network, question: Agree) -> tuple[tuple[Problem, ...], Joint]:
    if network.classes != question.other.classes:
        raise QuestionError("the two networks have classes of different names, so they cannot agree.")
    joint, count = abreast(network, question.other), network.head.outputs
    goal = joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p != q)
    return _two_sided(joint, _limits(question.where), network, [], goal)


def _query(network: Network, query: Query) -> tuple[Problem, ...]:
    problems = []
    for case in query.cases:
        votes = []
        for conjunction in case.condition:
            rows = []
            for part in conjunction:
                factors = [0] * query.outputs
                for k, value in part.terms:
                    factors[k] = value
                rows.append(at_least(network.head, factors, part.bound))
            votes.append(tuple(rows))
        box = Box(
            {i: (low, high) for i, (low, high) in enumerate(zip(case.box.lower, case.box.upper, strict=True))}
        )
        problems.append(Problem(box.of(network), Goal(tuple(votes))))
    return tuple(problems)
