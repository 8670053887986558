"""Questions about one sample: whether its class stays, why, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Self

from sugenet.bnn import Network
from sugenet.capacity.thresholds import exact_number
from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.problem.boxes import Box
from sugenet.problem.goal import Keeps, Ties
from sugenet.problem.neighbourhood import Neighbourhood, place_of, row_of
from sugenet.problem.problem import Problem
from sugenet.problem.regions import (
    BALLS,
    L0,
    L2,
    Anything,
    Cost,
    Free,
    Linf,
    Prices,
    Region,
    region_data,
    region_of,
)
from sugenet.reason.questions.everyone import OfSample, each, sample_in, see_that_it_obeys
from sugenet.reason.questions.names import class_or_none

__all__ = ["Robust", "Suffices", "WhatIf", "Why"]


class _ClassOf(OfSample):
    """What questions about the class of a sample have in common."""

    target: Any
    ties: Ties

    def keeps(self, network: Network) -> Keeps:
        """The property."""
        kept = self.__dict__.get("_keeps")
        if kept is None or kept.network is not network:
            values = self.values(network)
            row = row_of(values)
            counts = network.match_counts(row)
            see_that_it_obeys(network, values)
            label = int(network.head.classes(counts)[0])
            kept = Keeps(network, label, class_or_none(network, self.target), self.ties)
            self.__dict__["_keeps"], self.__dict__["_counts"] = kept, counts
            self.__dict__["_row"] = row
        return kept

    def asked_in(self, network: Network, near: Neighbourhood) -> Problem:
        """Whether the property fails somewhere in a neighbourhood of the sample."""
        goal = self.keeps(network).goal
        return Problem(near, goal, self.__dict__["_counts"] if near.network is network else None)

    def label(self, network: Network) -> int | None:
        """The class of the sample; None where it is asked about each, which has its own."""
        if self.sample is not each:
            return self.keeps(network).label
        target = class_or_none(network, self.target)
        Keeps(network, int(target == 0), target, self.ties)  # refuses what no sample could be asked
        return None

    def claim(self, network: Network) -> str:
        """What the class does, in words."""
        if self.label(network) is not None:
            return str(self.keeps(network))
        tie = "; a tie counts as a change" if self.ties == "against" else ""
        target = class_or_none(network, self.target)
        goal = "stays what it is" if target is None else f"does not become {network.class_words[target]}"
        return f"the class {goal}{tie}"


@dataclass(frozen=True, eq=False)
class _Kept(_ClassOf):
    """Something about the class of a sample throughout a region."""

    kind: ClassVar[str]

    sample: Any
    region: Region
    target: Any = None
    ties: Ties = "lowest"

    def near(self, network: Network) -> Neighbourhood:
        """The region around the sample."""
        kept = self.__dict__.get("_keeps")
        known = kept is not None and kept.network is network
        return self._region().around(network.lawful, self.__dict__["_row"] if known else self.values(network))

    def _region(self) -> Region:
        if not hasattr(self.region, "around"):
            raise QuestionError(
                f"region={self.region!r} is no region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or Anything()."
            )
        return self.region

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": self.kind,
            "sample": self.sample_data(network),
            "label": self.label(network),
            "region": region_data(network, self._region()),
            "target": class_or_none(network, self.target),
            "ties": self.ties,
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any], **more: Any) -> Self:
        """The question from its JSON."""
        sample, region = sample_in(network, data["sample"]), region_of(data["region"], network)
        return cls(sample, region, data["target"], data["ties"], **more)

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"{self.claim(network)}, with {self.described_region(network)}"


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
        names = ", ".join(network.encoder.feature_words[feature] for feature in self.fixed)
        return f"{super().describe(network)}, while {names or 'nothing'} must stay"


@dataclass(frozen=True, eq=False)
class WhatIf(_ClassOf):
    """The least change of a sample that changes its class: what `whatif` answers, with its parameters."""

    sample: Any
    cost: type[Cost] | Prices = L0
    target: Any = None
    immutable: Iterable[Any] = ()
    region: Region | None = None
    limit: Any = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Prices) and self.cost not in BALLS.values():
            raise QuestionError(
                f"cost={self.cost!r} is no cost. Give L0, L1, L2, Linf or Hamming themselves, "
                f"without a radius, or Prices({{...}})."
            )
        if self.region is not None and not isinstance(self.region, Linf | Free | Box | Anything):
            raise QuestionError(
                f"region={self.region!r} has a budget of its own. Use Linf, Free or Box, "
                f"and limit= for the cost."
            )
        one = isinstance(self.immutable, str | int)
        object.__setattr__(self, "immutable", (self.immutable,) if one else tuple(self.immutable))

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
            raise QuestionError(
                f"a limit of {self.limit} is negative, but no change costs less than nothing."
            )
        return limit ** (2 if self.cost is L2 else 1)

    def movable(self, network: Network) -> list[int]:
        """Features that need not stay as they are, by number from 0."""
        fixed = {place_of(network, name) for name in self.immutable}
        return [place for place in range(network.encoder.features) if place not in fixed]

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        most = self.most
        cost: dict[str, Any] = {"kind": self.cost_name}
        if isinstance(self.cost, Prices):
            prices = [[f, str(p)] for f, p in sorted(self.cost.exact(network).items())]
            cost |= {"prices": prices, "per_unit": bool(self.cost.per_unit)}
        return {
            "kind": "whatif",
            "sample": self.sample_data(network),
            "label": self.label(network),
            "target": class_or_none(network, self.target),
            "ties": self.ties,
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
            prices = [(names[feature], exact(price)) for feature, price in data["cost"]["prices"]]
            cost = Prices(prices, data["cost"]["per_unit"])
        elif kind in BALLS:
            cost = BALLS[kind]
        else:
            raise QuestionError(f"there is no cost {str(kind)[:40]!r}.")
        limit = None if data["limit"] is None else exact(data["limit"])
        if limit is not None and cost is L2:  # the limit is the distance, which is written as its square
            limit = Fraction(isqrt(limit.numerator), isqrt(limit.denominator))
        return cls(
            sample_in(network, data["sample"]),
            cost,
            data["target"],
            [name for feature, name in enumerate(names) if feature not in movable],
            None if data["region"] is None else region_of(data["region"], network),
            limit,
            data["ties"],
        )

    def describe(self, network: Network) -> str:
        """The question in words."""
        target, names = class_or_none(network, self.target), network.class_words
        label = self.label(network)
        own = "what it is" if label is None else names[label]
        goal = f"not {own}" if target is None else names[target]
        return f"the least change by {self.cost_name} with which the class is {goal}"
