"""What a question comes down to: problems, none of which may have a violation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product
from typing import Any

from sugenet.bnn import Network, OneHot
from sugenet.errors import QuestionError
from sugenet.problem.goal import Goal, Votes, at_least, lawful, loses, wins
from sugenet.problem.neighbourhood import Neighbourhood, place_of
from sugenet.problem.pairs import Joint, abreast, merged, twins
from sugenet.problem.problem import Problem
from sugenet.problem.query import Inequality, Query, of_network
from sugenet.problem.regions import Box
from sugenet.reason.questions.everyone import see_that_some_obey
from sugenet.reason.questions.inputs import Agree, Always, Fair, Monotone, Never
from sugenet.reason.questions.names import class_of
from sugenet.reason.questions.reading import Question
from sugenet.reason.questions.samples import Robust

__all__ = ["problems_of", "some_inside"]


def problems_of(network: Network, question: Question) -> tuple[tuple[Problem, ...], Joint | None]:
    """The problems of a question, and the joint network that they are about where there are two sides."""
    match question:
        case Robust():
            return (question.asked_in(network, question.near(network)),), None
        case Always() | Never():
            near = _inside(network, question.box)
            goal = (loses if isinstance(question, Always) else wins)(
                network.head, class_of(network, question.label)
            )
            return (Problem(near, lawful(network, goal)),), None
        case Monotone():
            return _monotone(network, question)
        case Fair():
            return _fair(network, question)
        case Agree():
            return _agree(network, question)
    return _query(network, of_network(network, question)), None


def _inside(network: Network, box: Box) -> Neighbourhood:
    """All inputs within limits, of which some obey the laws: of none, everything would be proved."""
    near = box.of(network.lawful)
    see_that_some_obey(network, near, box)
    return near


def some_inside(network: Network, box: Box) -> bool:
    """Whether some input that can occur is within limits."""
    try:
        _inside(network, box)
    except QuestionError:
        return False
    return True


def _states(network: Network, feature: int, box: Box) -> list[tuple[int, Any]]:
    """States of a feature that limits allow, in order, each with a raw value within them."""
    near = _inside(network, box)
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
    feature, box = place_of(network, question.feature), question.box
    if isinstance(network.encoder.codings[feature], OneHot):
        raise QuestionError(
            f"feature {network.encoder.names[feature]} is a category, which cannot be raised. "
            f"Ask Fair about it."
        )
    states = _states(network, feature, box)
    # where the states between two may break a law, the two have to be compared themselves
    steps = list(combinations(states, 2) if network.domain.laws else pairwise(states))
    joint = twins(network.lawful, {feature: steps if question.rising else [(b, a) for a, b in steps]})
    count = network.head.outputs
    if question.label is None:
        goal = joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p > q)
    else:
        label = class_of(network, question.label)
        goal = joint.classes_differ((label, q) for q in range(count) if q != label)
    return _two_sided(joint, box, network, [feature], goal)


def _fair(network: Network, question: Fair) -> tuple[tuple[Problem, ...], Joint]:
    features, box = question.features(network), question.box
    if not features:
        raise QuestionError("no feature is protected. Name at least one.")
    pairs = {}
    for feature in features:
        states = _states(network, feature, box)
        alone = len(features) == 1  # then the two inputs can change places, and must differ here
        pairs[feature] = [(a, b) for a in states for b in states if not alone or a[0] < b[0]]
    joint = twins(network.lawful, pairs)
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
    joint, count = abreast(network.lawful, question.other), network.head.outputs
    _inside(network, question.box)
    goal = joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p != q)
    return _two_sided(joint, question.box, network, [], goal)


def _query(network: Network, query: Query) -> tuple[Problem, ...]:
    def vote(part: Inequality) -> Votes:
        factors = dict(part.terms)
        return at_least(network.head, [factors.get(k, 0) for k in range(query.outputs)], part.bound)

    problems, refused = [], None
    for case in query.cases:
        ends = enumerate(zip(case.box.lower, case.box.upper, strict=True))
        try:
            near = _inside(network, Box(dict(ends)))
        except QuestionError as error:
            refused = error
            continue
        cases = tuple(tuple(map(vote, conjunction)) for conjunction in case.condition)
        goal = Goal(cases, network.head.room)
        problems.append(Problem(near, lawful(network, goal)))
    if refused is not None and not problems:  # boxes without an input are left out, unless all of them are
        raise refused
    return tuple(problems)
