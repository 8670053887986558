"""Questions about networks that keep real numbers as they are, as queries over boxes of them."""

from __future__ import annotations

from fractions import Fraction
from math import isinf
from typing import Any

from sugenet.bnn import Network, Steps
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import QuestionError
from sugenet.problem.boxes import Box
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.problem.regions import Anything, Free, Linf
from sugenet.reason.questions.inputs import Always, Never
from sugenet.reason.questions.names import class_of
from sugenet.reason.questions.reading import Question
from sugenet.reason.questions.samples import Robust

__all__ = ["query_about"]


def query_about(network: Network, question: Question) -> Query:
    """The query over a box of real inputs that a question comes down to; in the network's own numbers."""
    match question:
        case Query():
            return question
        case Robust():
            keeps, values = question.keeps(network), question.values(network)
            ends = _around(network, values, question.region)
            strict = keeps.ties == "lowest"
            ways = (
                _loses(network, keeps.label, strict=strict)
                if keeps.target is None
                else _wins(network, keeps.target, strict=strict)
            )
        case Always() | Never():
            ends = _between(network, question.box, None)
            label = class_of(network, question.label)
            ways = (_loses if isinstance(question, Always) else _wins)(network, label, strict=True)
        case _:
            raise QuestionError(
                f"{type(question).__name__} goes through the states of features, but the network reads real "
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
        case Anything():
            return _between(network, Box({}), None)
    raise QuestionError(
        f"{region} is no box of real inputs, which this network reads. Ask about Linf(r), Box(...), "
        "Free([...]) or Anything(); or import the network with inputs=Integers(...)."
    )


def _between(network: Network, box: Box, values: list[Any] | None) -> list[tuple[Fraction, Fraction]]:
    """Limits of all features: those of a box, and for the others the value of a sample or all that they can
    be.
    """
    limits, found = box.placed(network), []
    for feature in range(network.encoder.features):
        limit = limits.get(feature, (None, None) if values is None else Fraction(values[feature]))
        if isinstance(limit, frozenset):
            raise QuestionError(
                f"{network.encoder.names[feature]} is limited to single values, but the network reads real "
                "numbers. Give a pair (low, high), or one value."
            )
        low, high = limit if isinstance(limit, tuple) else (limit, limit)
        ends = [None if end is None else Fraction(exact_number(end, "bound")) for end in (low, high)]
        found.append(_within(network, feature, *ends))
        if values is not None and not found[-1][0] <= Fraction(values[feature]) <= found[-1][1]:
            raise QuestionError(
                f"the sample has {network.encoder.names[feature]} = {values[feature]!r}, which is outside "
                "the box."
            )
    return found


def _within(
    network: Network, feature: int, low: Fraction | None, high: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Bounds cut to what the feature can be."""
    coding, name = network.encoder.codings[feature], network.encoder.names[feature]
    assert isinstance(coding, Steps)
    ends = []
    for end, most, narrower in ((low, coding.low, max), (high, coding.high, min)):
        known = [*([] if end is None else [end]), *([] if isinf(most) else [Fraction(most)])]
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
    """Class k scores at least as much as another one; more, where a tie goes to the other one."""
    least = Fraction(1, network.head.integers[2]) if strict and k > other else 0
    return Inequality({k: 1, other: -1}, least)


def _loses(network: Network, label: int, *, strict: bool) -> list[list[Inequality]]:
    others = (k for k in range(network.head.outputs) if k != label)
    return [[_beats(network, k, label, strict=strict)] for k in others]


def _wins(network: Network, label: int, *, strict: bool) -> list[list[Inequality]]:
    others = (k for k in range(network.head.outputs) if k != label)
    return [[_beats(network, label, k, strict=strict) for k in others]]
