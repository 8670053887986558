"""Questions to a network, as values: each describes itself in words and as JSON, which is what a certificate
is about, and `question_of` reads the JSON back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from sugenet.bnn import Network, OneHot
from sugenet.capacity.thresholds import exact_number
from sugenet.checker.query import Box as QueryBox
from sugenet.checker.query import Case, Inequality, Query
from sugenet.errors import QuestionError, SugenetError
from sugenet.problem.keeps import Keeps, Ties
from sugenet.problem.neighbourhood import Move, Neighbourhood, place_of, row_of
from sugenet.problem.regions import (
    L0,
    L1,
    L2,
    Anything,
    Box,
    Cost,
    Free,
    Hamming,
    Linf,
    Prices,
    Region,
)
from sugenet.problem.sourced import of_network

__all__ = [
    "Agree",
    "Always",
    "Asked",
    "Fair",
    "HowMany",
    "Monotone",
    "Never",
    "Question",
    "Robust",
    "Rules",
    "Suffices",
    "WhatIf",
    "Why",
    "class_of",
    "data_of",
    "described",
    "plain",
    "question_of",
    "raw_of",
    "region_data",
    "region_of",
]


def plain(value: Any) -> Any:
    """A raw value as JSON has it: exact fractions as text."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Fraction) else value


def raw_of(network: Network, row: Iterable[Any]) -> tuple[Any, ...]:
    """A raw sample from its JSON: numbers that are written as text are exact fractions."""
    pairs = zip(network.encoder.codings, row, strict=True)
    return tuple(value if isinstance(coding, OneHot) else _fraction(value) for coding, value in pairs)


def _fraction(value: Any) -> Any:
    """A number that may be written as a fraction; other text stays as it is."""
    return Fraction(value) if isinstance(value, str) and str(Fraction(value)) == value else value


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


def _class_or_none(network: Network, label: Any) -> int | None:
    return None if label is None else class_of(network, label)


def _places(network: Network, features: Iterable[Any]) -> list[int]:
    """Numbers of features, each once."""
    return list(dict.fromkeys(place_of(network, feature) for feature in features))


# -- limits and regions --------------------------------------------------------------------------------------


def _limit_data(limit: Any) -> Any:
    if isinstance(limit, frozenset):
        return {"one of": sorted((plain(value) for value in limit), key=str)}
    return [plain(end) for end in limit] if isinstance(limit, tuple) else {"one of": [plain(limit)]}


def _box_data(network: Network, box: Box) -> list[Any]:
    return [[place, _limit_data(limit)] for place, limit in box.placed(network).items()]


def _box_of(network: Network, limits: Iterable[Any]) -> Box:
    """Limits from their JSON, with features by their names."""
    found = []
    for feature, limit in limits:
        is_category = isinstance(network.encoder.codings[feature], OneHot)
        if isinstance(limit, Mapping):
            values = [value if is_category else _fraction(value) for value in limit["one of"]]
            limit = values[0] if len(values) == 1 and not is_category else frozenset(values)
        else:
            limit = tuple(map(_fraction, limit))
        found.append((network.encoder.names[feature], limit))
    return Box(found)


def region_data(network: Network, region: Region) -> dict[str, Any]:
    """A region as JSON."""
    kind = type(region).__name__
    if isinstance(region, Anything):
        return {"kind": kind}
    if isinstance(region, Box):
        return {"kind": kind, "limits": _box_data(network, region)}
    if isinstance(region, Free):
        return {"kind": kind, "features": _places(network, region.features)}
    return {
        "kind": kind,
        "radius": str(Fraction(region.radius) if not isinstance(region.radius, str) else region.radius),
    }


def region_of(network: Network, data: Mapping[str, Any]) -> Region:
    """A region from its JSON."""
    match data["kind"]:
        case "Anything":
            return Anything()
        case "Box":
            return _box_of(network, data["limits"])
        case "Free":
            return Free([network.encoder.names[feature] for feature in data["features"]])
        case kind if kind in _COSTS:
            radius = _fraction(data["radius"])
            if isinstance(radius, Fraction) and abs(radius) < 1 << 53 and Fraction(float(radius)) == radius:
                radius = int(radius) if radius.denominator == 1 else float(radius)  # as they are given mostly
            return _COSTS[kind](radius)
    raise QuestionError(f"there is no region {str(data['kind'])[:40]!r}.")


_COSTS: dict[str, type[Cost]] = {kind.__name__: kind for kind in (L0, L1, L2, Linf, Hamming)}


# -- about a sample ------------------------------------------------------------------------------------------


class _OfSample:
    """What questions about one sample have in common."""

    sample: Any
    target: Any
    ties: Ties

    def values(self, network: Network) -> list[Any]:
        """The sample as a list in the order of the features."""
        return network.encoder.values(self.sample)

    def keeps(self, network: Network) -> Keeps:
        """The property."""
        kept = self.__dict__.get("_keeps")
        if kept is None or kept.network is not network:
            label = int(network.predict(row_of(self.values(network)))[0])
            kept = Keeps(network, label, _class_or_none(network, self.target), self.ties)
            self.__dict__["_keeps"] = kept
        return kept


@dataclass(frozen=True, eq=False)
class _Kept(_OfSample):
    """Something about the class of a sample throughout a region."""

    kind: ClassVar[str]

    sample: Any
    region: Region
    target: Any = None
    ties: Ties = "lowest"

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
        return {
            "kind": self.kind,
            "sample": [plain(value) for value in self.values(network)],
            "label": keeps.label,
            "region": region_data(network, self.region),
            "target": keeps.target,
            "ties": self.ties,
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any], **more: Any) -> Self:
        """The question from its JSON."""
        sample, region = raw_of(network, data["sample"]), region_of(network, data["region"])
        return cls(sample, region, data["target"], data["ties"], **more)

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"{self.keeps(network)}, with {self.region}"


class Robust(_Kept):
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

    kind: ClassVar[str] = "robust"


class Why(_Kept):
    """Which features suffice for the class of a sample, whatever the others do inside a region: what `why`
    answers.
    """

    kind: ClassVar[str] = "why"

    def describe(self, network: Network) -> str:
        """The question in words."""
        return f"why {super().describe(network)}"


@dataclass(frozen=True, eq=False)
class Suffices(_Kept):
    """Some features, fixed as they are, suffice for the class of a sample: what a reason claims."""

    kind: ClassVar[str] = "reason"

    fixed: tuple[int, ...] = ()
    """Features by number from 0, rising."""

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {**super().data(network), "fixed": list(self.fixed)}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any], **more: Any) -> Self:
        """The question from its JSON."""
        return super().of(network, data, fixed=tuple(data["fixed"]), **more)

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        names = ", ".join(network.encoder.names[feature] for feature in self.fixed)
        return f"{super().describe(network)}, while {names or 'nothing'} must stay"


@dataclass(frozen=True, eq=False)
class WhatIf(_OfSample):
    """The least change of a sample that changes its class: what `whatif` answers, with its parameters."""

    sample: Any
    cost: type[Cost] | Prices = L0
    target: Any = None
    immutable: Iterable[Any] = ()
    region: Region | None = None
    limit: Any = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Prices) and self.cost not in _COSTS.values():
            raise QuestionError(
                f"cost={self.cost!r} is no cost. Give L0, L1, L2, Linf or Hamming themselves, "
                f"without a radius, or Prices({{...}})."
            )
        if self.region is not None and not isinstance(self.region, Linf | Free | Box | Anything):
            raise QuestionError(
                f"region={self.region!r} has a budget of its own. Use Linf, Free or Box, "
                f"and limit= for the cost."
            )
        object.__setattr__(self, "immutable", tuple(self.immutable))

    @property
    def cost_name(self) -> str:
        """``L0``, ``L1``, ``L2``, ``Linf``, ``Hamming`` or ``Prices``."""
        return "Prices" if isinstance(self.cost, Prices) else self.cost.__name__

    @property
    def most(self) -> Fraction | None:
        """What it may cost; for L2 the sum of squares."""
        if self.limit is None:
            return None
        limit = Fraction(exact_number(self.limit, "limit"))
        if limit < 0:
            raise QuestionError(f"limit={self.limit} is negative, but no change costs less than nothing.")
        return limit ** (2 if self.cost is L2 else 1)

    def movable(self, network: Network) -> list[int]:
        """Features that need not stay as they are, by number from 0."""
        fixed = {place_of(network, name) for name in self.immutable}
        return [place for place in range(network.encoder.features) if place not in fixed]

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        keeps, most = self.keeps(network), self.most
        cost: dict[str, Any] = {"kind": self.cost_name}
        if isinstance(self.cost, Prices):
            prices = [[f, str(p)] for f, p in sorted(self.cost.exact(network).items())]
            cost |= {"prices": prices, "per_unit": bool(self.cost.per_unit)}
        return {
            "kind": "whatif",
            "sample": [plain(value) for value in self.values(network)],
            "label": keeps.label,
            "target": keeps.target,
            "ties": keeps.ties,
            "cost": cost,
            "movable": self.movable(network),
            "region": None if self.region is None else region_data(network, self.region),
            "limit": None if most is None else str(most),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        names, movable, kind = network.encoder.names, set(data["movable"]), data["cost"]["kind"]
        cost: type[Cost] | Prices
        if kind == "Prices":
            prices = [(names[feature], Fraction(price)) for feature, price in data["cost"]["prices"]]
            cost = Prices(prices, data["cost"]["per_unit"])
        elif kind in _COSTS:
            cost = _COSTS[kind]
        else:
            raise QuestionError(f"there is no cost {str(kind)[:40]!r}.")
        limit = None if data["limit"] is None else Fraction(data["limit"])
        if limit is not None and cost is L2:  # the limit is the distance, which is written as its square
            limit = Fraction(isqrt(limit.numerator), isqrt(limit.denominator))
        return cls(
            raw_of(network, data["sample"]),
            cost,
            data["target"],
            [name for feature, name in enumerate(names) if feature not in movable],
            None if data["region"] is None else region_of(network, data["region"]),
            limit,
            data["ties"],
        )

    def describe(self, network: Network) -> str:
        """The question in words."""
        keeps = self.keeps(network)
        names = network.classes
        goal = f"not {names[keeps.label]}" if keeps.target is None else names[keeps.target]
        return f"the least change by {self.cost_name} with which the class is {goal}"


# -- about all inputs ----------------------------------------------------------------------------------------


class _Limited:
    """What questions about all inputs within limits have in common."""

    where: Any

    @property
    def box(self) -> Box:
        """The limits."""
        return self.where if isinstance(self.where, Box) else Box({} if self.where is None else self.where)


@dataclass(frozen=True, eq=False)
class Always(_Limited):
    """Every input within limits has a class; features without limits are free.

    Parameters
    ----------
    label
        The class, by name or number.
    where
        Limits as in `Box`.
    """

    kind: ClassVar[str] = "always"

    label: Any
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        label = class_of(network, self.label)
        return {"kind": self.kind, "label": label, "where": _box_data(network, self.box)}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        return cls(data["label"], _box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"the class is {network.classes[class_of(network, self.label)]} for {self.box}"


@dataclass(frozen=True, eq=False)
class Never(_Limited):
    """No input within limits has a class; features without limits are free."""

    label: Any
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        label = class_of(network, self.label)
        return {"kind": "never", "label": label, "where": _box_data(network, self.box)}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        return cls(data["label"], _box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"the class is never {network.classes[class_of(network, self.label)]} for {self.box}"


@dataclass(frozen=True, eq=False)
class Monotone(_Limited):
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
            "label": _class_or_none(network, self.label),
            "rising": bool(self.rising),
            "where": _box_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        name = network.encoder.names[data["feature"]]
        return cls(name, data["label"], data["rising"], _box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        name, label = network.encoder.names[place_of(network, self.feature)], self.label
        kept = None if label is None else network.classes[class_of(network, label)]
        effect = "lowers the class" if kept is None else f"loses class {kept}"
        return f"{'raising' if self.rising else 'lowering'} {name} never {effect}, for {self.box}"


@dataclass(frozen=True, eq=False)
class Fair(_Limited):
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
        given = (self.protected,) if isinstance(self.protected, str | int) else tuple(self.protected)
        object.__setattr__(self, "protected", given)

    def features(self, network: Network) -> list[int]:
        """Protected features by number from 0, each once."""
        return _places(network, self.protected)

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "fair",
            "protected": self.features(network),
            "where": _box_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        names = network.encoder.names
        return cls([names[feature] for feature in data["protected"]], _box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        names = ", ".join(network.encoder.names[place_of(network, feature)] for feature in self.protected)
        return f"the class does not depend on {names}, for {self.box}"


@dataclass(frozen=True, eq=False)
class Agree(_Limited):
    """Another network over the same features gives the same class to every input within limits."""

    other: Network
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "agree",
            "other": self.other.fingerprint,
            "where": _box_data(network, self.box),
        }

    def describe(self, network: Network) -> str:  # noqa: ARG002 as the other questions
        """The question's claim in words."""
        return f"the two networks give the same class, for {self.box}"


@dataclass(frozen=True, eq=False)
class HowMany(_Limited):
    """How many inputs of each class there are around a sample, within limits, or in the whole domain: what
    `count` answers, with parameters as there.
    """

    sample: Any = None
    region: Region | Neighbourhood | None = None
    where: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.sample, Neighbourhood) and self.region is None:
            object.__setattr__(self, "region", self.sample)
            object.__setattr__(self, "sample", None)
        if self.region is None:
            if self.sample is not None:
                raise QuestionError("a sample needs a region around it, such as Hamming(2) or Anything().")
        elif isinstance(self.region, Neighbourhood):
            if self.sample is not None:
                raise QuestionError(_ALONE)
        elif not hasattr(self.region, "around"):
            raise QuestionError(
                f"region={self.region!r} is no region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or Anything()."
            )
        elif self.sample is None:
            raise QuestionError(
                "a region needs a sample: count(network, x, region). For limits alone, where={...}."
            )

    def near(self, network: Network) -> Neighbourhood:
        """Where inputs are counted, without the limits where there is a region."""
        if self.region is None:
            return self.box.of(network)
        if not isinstance(self.region, Neighbourhood):
            return self.region.around(network, self.sample)
        if self.region.network is not network:
            raise QuestionError(_ALONE)
        return self.region

    def values(self, network: Network) -> list[Any] | None:
        """The sample as a list in the order of the features, where there is one."""
        if isinstance(self.region, Neighbourhood):
            return list(self.region.sample)
        return None if self.sample is None else network.encoder.values(self.sample)

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        region, sample = self.region, self.values(network)
        data = None
        if isinstance(region, Neighbourhood):
            moves = [[move.feature, move.state, plain(move.value), move.weight] for move in region.moves]
            data = {"kind": "Moves", "moves": moves, "budget": region.budget}
        elif region is not None:
            data = region_data(network, region)
        return {
            "kind": "count",
            "sample": None if sample is None else [plain(value) for value in sample],
            "region": data,
            "where": _box_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        where = _box_of(network, data["where"])
        if data["region"] is None:
            return cls(data["sample"], None, where)
        sample = raw_of(network, data["sample"])
        if data["region"]["kind"] != "Moves":
            return cls(sample, region_of(network, data["region"]), where)
        codings, budget = network.encoder.codings, data["region"]["budget"]
        states = tuple(coding.state(value) for coding, value in zip(codings, sample, strict=True))
        moves = tuple(
            Move(
                f,
                state,
                value if isinstance(codings[f], OneHot) else _fraction(value),
                Fraction(w),
                Fraction(w),
                w,
            )
            for f, state, value, w in data["region"]["moves"]
        )  # what a move uses of the budget is all that is known of its size
        limit = None if budget is None else Fraction(budget)
        return cls(None, Neighbourhood(network, sample, states, moves, budget, Fraction(1), limit), where)

    def describe(self, network: Network) -> str:
        """Where inputs are counted, in words."""
        region, names = self.region, network.encoder.names
        words = [str(region)]
        if isinstance(region, Neighbourhood):
            within = "" if region.budget is None else f" within {region.budget * region.unit}"
            words = [f"{len(region.moves)} changes{within}"]
        if self.box.limits:
            limits = str(Box([(names[place_of(network, f)], limit) for f, limit in self.box.limits]))
            return limits if region is None else f"{words[0]} and {limits}"
        return "any input" if region is None else words[0]


_ALONE = "a neighbourhood has its own sample and network: give it alone, with its network."


@dataclass(frozen=True, eq=False)
class Rules:
    """What a network does, or gives some of its classes to, as rules: what `rulebook` answers."""

    classes: tuple[int, ...]

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {"kind": "rules", "classes": [network.classes[label] for label in self.classes]}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        return cls(tuple(class_of(network, name) for name in data["classes"]))

    def describe(self, network: Network) -> str:
        """The question in words."""
        return f"rules for {', '.join(network.classes[label] for label in self.classes)}"


Question: TypeAlias = Robust | Always | Never | Monotone | Fair | Agree | Query
"""What `verify` decides."""
Asked: TypeAlias = Question | Why | Suffices | WhatIf | HowMany | Rules
"""What an answer may answer."""


# -- queries, and all of them --------------------------------------------------------------------------------


def described(network: Network, question: Asked) -> str:
    """A question, or what it claims, in words."""
    return f"no violation of the {question}" if isinstance(question, Query) else question.describe(network)


def data_of(network: Network, question: Asked) -> dict[str, Any]:
    """A question as JSON; a query in the network's own numbers."""
    if not isinstance(question, Query):
        return question.data(network)
    query = of_network(network, question)
    cases = [
        {
            "lower": [str(value) for value in case.box.lower],
            "upper": [str(value) for value in case.box.upper],
            "condition": [
                [[[[k, str(value)] for k, value in part.terms], str(part.bound)] for part in row]
                for row in case.condition
            ],
        }
        for case in query.cases
    ]
    return {"kind": "query", "inputs": query.inputs, "outputs": query.outputs, "cases": cases}


def _query_of(network: Network, data: Mapping[str, Any]) -> Query:
    """A query in the numbers of the file that the network was read from."""
    cases = []
    for case in data["cases"]:
        ends = [network.source.inputs(map(Fraction, case[end])) for end in ("lower", "upper")]
        box = QueryBox(*(ends if network.source.step > 0 else reversed(ends)))
        rows = [[Inequality(dict(terms), bound) for terms, bound in row] for row in case["condition"]]
        cases.append(Case(box, rows))
    return Query(data["inputs"], data["outputs"], cases)


_KINDS: dict[str, Any] = {
    "robust": Robust,
    "why": Why,
    "reason": Suffices,
    "whatif": WhatIf,
    "always": Always,
    "never": Never,
    "monotone": Monotone,
    "fair": Fair,
    "count": HowMany,
    "rules": Rules,
}


def question_of(data: Mapping[str, Any], network: Network, other: Network | None = None) -> Asked:
    """Read a question from its JSON, as `data` wrote it; `other`: the second network of `Agree`.

    Raises
    ------
    QuestionError
        Where a field is missing, unknown or makes no sense for this network.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> question_of(Robust([1, -1], L0(1)).data(net), net).region
    L0(radius=1)
    """
    try:
        kind = data["kind"]
        if kind == "query":
            found: Asked = _query_of(network, data)
        elif kind == "agree":
            found = _agree_of(network, data, other)
        elif kind in _KINDS:
            found = _KINDS[kind].of(network, data)
        else:
            raise QuestionError(f"there is no kind of question {str(kind)[:40]!r}.")
        again = data_of(network, found)
    except KeyError as error:
        raise QuestionError(f"the question has no field {error}.") from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        if isinstance(error, SugenetError):
            raise
        raise QuestionError(f"the question is damaged: {type(error).__name__}: {str(error)[:200]}") from error
    for name in data:
        if name not in again:
            raise QuestionError(f"the question has a field {str(name)[:40]!r} that it must not have.")
    for name, value in again.items():
        if name not in data:
            raise QuestionError(f"the question has no field {name!r}.")
        if data[name] != value:
            said = f"{str(data[name])[:80]}, but {str(value)[:80]} for this network"
            raise QuestionError(f"the field {name!r} of the question says {said}.")
    return found


def _agree_of(network: Network, data: Mapping[str, Any], other: Network | None) -> Agree:
    if other is None:
        raise QuestionError("the question is about two networks: give the other one too, other=.")
    if other.fingerprint != data["other"]:
        raise QuestionError(
            f"the question is about the other network {str(data['other'])[:12]}, "
            f"not about {other.fingerprint[:12]}."
        )
    return Agree(other, _box_of(network, data["where"]))
