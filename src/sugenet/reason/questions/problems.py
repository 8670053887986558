"""Translation of a question to problems, none of which may have a violation.

For a network over real numbers, it becomes a query over boxes of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import isinf
from typing import Any

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import QuestionError
from sugenet.nn import Network, OneHot, Steps
from sugenet.problem import (
    AnyInput,
    Box,
    Case,
    Clock,
    Free,
    Goal,
    Inequality,
    Joint,
    Linf,
    Neighbourhood,
    Problem,
    Query,
    QueryBox,
    Votes,
    abreast,
    at_least,
    feature_index,
    lawful,
    loses,
    merged,
    of_network,
    twins,
    wins,
)
from sugenet.reason.questions.kinds import (
    Agree,
    Always,
    Fair,
    Monotone,
    Never,
    Robust,
    class_of,
    see_that_it_obeys,
    see_that_some_obey,
)
from sugenet.reason.questions.reading import Question

__all__ = ["problems_of", "query_about", "some_inside"]


def problems_of(
    network: Network, question: Question, clock: Clock | None = None
) -> tuple[tuple[Problem, ...], Joint | None]:
    """Return the problems of a question, and their joint network if there are two sides.

    Parameters
    ----------
    network : Network
        The network.
    question : question
        A question that `verify` decides.
    clock : Clock, default: None
        The time limit of questions about two inputs or two networks. None: no limit.

    Returns
    -------
    tuple
        The problems, and a joint network for `Monotone`, `Fair` and `Agree`, otherwise None. The claim holds
        if no problem has a violation.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> problems, joint = problems_of(net, Fair(["x1"]))
    >>> len(problems), joint.network.classes
    (1, ('left off', 'left on', 'right off', 'right on'))

    See Also
    --------
    verify : decides the question.
    """
    clock = Clock() if clock is None else clock
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
            return _monotone(network, question, clock)
        case Fair():
            return _fair(network, question, clock)
        case Agree():
            return _agree(network, question, clock)
    return _query(network, of_network(network, question)), None


def _inside(network: Network, box: Box) -> Neighbourhood:
    """Return all inputs within limits; some must obey the laws, or everything would be proved."""
    near = box.of(network.lawful)
    see_that_some_obey(network, near, box)
    return near


def some_inside(network: Network, box: Box) -> bool:
    """Return whether some input that can occur is within limits."""
    try:
        _inside(network, box)
    except QuestionError:
        return False
    return True


def _states(network: Network, feature: int, box: Box) -> list[tuple[int, Any]]:
    """Return the states of a feature within limits, in order, each with a raw value within them."""
    near = _inside(network, box)
    moved = [(move.state, move.value) for move in near.moves if move.feature == feature]
    return sorted([(near.states[feature], near.sample[feature]), *moved], key=lambda pair: pair[0])


def _two_sided(
    joint: Joint, box: Box, network: Network, free: Sequence[int], goal: Goal, clock: Clock
) -> tuple[tuple[Problem, ...], Joint]:
    """Return all joint inputs whose shared features meet the limits.

    Features in `free` are already limited by their pairs.
    """
    limits = box.placed(network)
    near = Box({feature: limit for feature, limit in limits.items() if feature not in free}).of(joint.network)
    return (merged(near, goal, clock),), joint


def _monotone(network: Network, question: Monotone, clock: Clock) -> tuple[tuple[Problem, ...], Joint]:
    feature, box = feature_index(network, question.feature), question.box
    if isinstance(network.encoder.codings[feature], OneHot):
        raise QuestionError(
            f"feature {network.encoder.names[feature]} is a category, which cannot be raised. "
            f"Ask Fair about it."
        )
    states = _states(network, feature, box)
    # if the states between two may break a law, the two must be compared directly
    steps = list(combinations(states, 2) if network.domain.laws else pairwise(states))
    joint = twins(network.lawful, {feature: steps if question.rising else [(b, a) for a, b in steps]})
    count = network.head.outputs
    if question.label is None:
        wrong = [(p, q) for p, q in product(range(count), repeat=2) if p > q]
    else:
        label = class_of(network, question.label)
        wrong = [(label, q) for q in range(count) if q != label]
    (problem,), _ = _two_sided(joint, box, network, [feature], joint.classes_differ(wrong), clock)
    return (replace(problem, proof={"kind": "order"} if joint.is_ordered(wrong) else None),), joint


def _fair(network: Network, question: Fair, clock: Clock) -> tuple[tuple[Problem, ...], Joint]:
    features, box = question.features(network), question.box
    if not features:
        raise QuestionError("no feature is protected. Name at least one.")
    pairs = {}
    for feature in features:
        states = _states(network, feature, box)
        alone = len(features) == 1  # then the two inputs can be swapped, and must differ here
        pairs[feature] = [(a, b) for a in states for b in states if not alone or a[0] < b[0]]
    joint = twins(network.lawful, pairs)
    count = network.head.outputs
    return _two_sided(
        joint,
        box,
        network,
        features,
        joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p != q),
        clock,
    )


def _agree(network: Network, question: Agree, clock: Clock) -> tuple[tuple[Problem, ...], Joint]:
    if network.classes != question.other.classes:
        raise QuestionError("the two networks have classes of different names, so they cannot agree.")
    joint, count = abreast(network.lawful, question.other), network.head.outputs
    _inside(network, question.box)
    goal = joint.classes_differ((p, q) for p, q in product(range(count), repeat=2) if p != q)
    if question.region is None:
        return _two_sided(joint, question.box, network, [], goal, clock)
    spans, values = question.box.spans(joint.network) or None, question.values(network)
    see_that_it_obeys(network, values)
    near = question.region.around(joint.network, values, spans)
    return (merged(near, goal, clock),), joint


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
        goal = Goal(cases, network.head.sum_bits)
        problems.append(Problem(near, lawful(network, goal)))
    if refused is not None and not problems:  # boxes without an input are left out, unless all are empty
        raise refused
    return tuple(problems)


# -- networks that keep real numbers -------------------------------------------------------------------------


def query_about(network: Network, question: Question) -> Query:
    """Return a question as a query over a box of real inputs, in the network's own numbers."""
    match question:
        case Query():
            return question
        case Robust():
            prop, values = question.label_goal(network), question.values(network)
            ends = _around(network, values, question.region)
            strict = prop.ties == "lowest"
            ways = (
                _loses(network, prop.label, strict=strict)
                if prop.target is None
                else _wins(network, prop.target, strict=strict)
            )
        case Always() | Never():
            ends = _between(network, question.box, None)
            label = class_of(network, question.label)
            ways = (_loses if isinstance(question, Always) else _wins)(network, label, strict=True)
        case _:
            raise QuestionError(
                f"{type(question).__name__} enumerates the states of features, but the network reads real "
                "numbers, which have none. Ask Robust(x, Linf(r)), Robust(x, Box(...)), Always, Never or a "
                "Query; or import the network with inputs=Integers(...)."
            )
    low, high = zip(*ends, strict=True)
    return Query(network.encoder.features, network.head.outputs, [Case(QueryBox(low, high), ways)])


def _around(network: Network, values: list[Any], region: Any) -> list[tuple[Fraction, Fraction]]:
    match region:
        case Linf():
            radius = Fraction(exact_number(region.radius, "radius"))
            if radius < 0:
                raise QuestionError(f"the radius {region.radius} is below 0.")
            return [
                _within(network, feature, Fraction(value) - radius, Fraction(value) + radius)
                for feature, value in enumerate(values)
            ]
        case Box():
            return _between(network, region, values)
        case Free():
            free = Box(dict.fromkeys(region.features, (None, None)))
            return _between(network, free, values)
        case AnyInput():
            return _between(network, Box({}), None)
    raise QuestionError(
        f"{region} is not a box of real inputs, which this network reads. Ask about Linf(r), Box(...), "
        "Free([...]) or AnyInput(); or import the network with inputs=Integers(...)."
    )


def _between(network: Network, box: Box, values: list[Any] | None) -> list[tuple[Fraction, Fraction]]:
    """Return limits of all features: those of a box; for others, the value of a sample or the full range."""
    limits, intervals = box.placed(network), []
    for feature in range(network.encoder.features):
        limit = limits.get(feature, (None, None) if values is None else Fraction(values[feature]))
        if isinstance(limit, frozenset):
            raise QuestionError(
                f"{network.encoder.names[feature]} is limited to single values, but the network reads real "
                "numbers. Give a pair (low, high), or one value."
            )
        low, high = limit if isinstance(limit, tuple) else (limit, limit)
        ends = [None if end is None else Fraction(exact_number(end, "bound")) for end in (low, high)]
        intervals.append(_within(network, feature, *ends))
        if values is not None and not intervals[-1][0] <= Fraction(values[feature]) <= intervals[-1][1]:
            raise QuestionError(
                f"the sample has {network.encoder.names[feature]} = {values[feature]!r}, which is outside "
                "the box."
            )
    return intervals


def _within(
    network: Network, feature: int, low: Fraction | None, high: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Return bounds cut to the range of the feature."""
    coding, name = network.encoder.codings[feature], network.encoder.names[feature]
    assert isinstance(coding, Steps)
    ends = []
    for end, extreme, narrower in ((low, coding.low, max), (high, coding.high, min)):
        known = [*([] if end is None else [end]), *([] if isinf(extreme) else [Fraction(extreme)])]
        if not known:
            raise QuestionError(
                f"{name} has no bound {'below' if narrower is max else 'above'}: give one in the question, "
                "or import the network with inputs=Reals(low, high)."
            )
        ends.append(narrower(known))
    if ends[0] > ends[1]:
        raise QuestionError(f"nothing that can occur has {name} from {low} to {high}: the box is empty.")
    return ends[0], ends[1]


def _beats(network: Network, k: int, other: int, *, strict: bool) -> Inequality:
    """Return that class k scores at least as much as another, or more if a tie goes to the other."""
    min_lead = Fraction(1, network.head.integers[2]) if strict and k > other else 0
    return Inequality({k: 1, other: -1}, min_lead)


def _loses(network: Network, label: int, *, strict: bool) -> list[list[Inequality]]:
    others = (k for k in range(network.head.outputs) if k != label)
    return [[_beats(network, k, label, strict=strict)] for k in others]


def _wins(network: Network, label: int, *, strict: bool) -> list[list[Inequality]]:
    others = (k for k in range(network.head.outputs) if k != label)
    return [[_beats(network, label, k, strict=strict) for k in others]]
