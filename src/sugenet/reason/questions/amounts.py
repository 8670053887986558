"""Questions about how many inputs there are, and about all rules of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from sugenet.bnn import Network, OneHot
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.boxes import Box, limits_data, plain
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood
from sugenet.problem.regions import (
    Region,
    region_data,
    region_of,
)
from sugenet.reason.questions.everyone import OfSample, each, sample_in, see_that_it_obeys
from sugenet.reason.questions.inputs import Limited
from sugenet.reason.questions.names import box_of, class_of, number_in

__all__ = ["HowMany", "Rules"]


@dataclass(frozen=True, eq=False)
class HowMany(OfSample, Limited):
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
            return self.box.of(network.lawful)
        if not isinstance(self.region, Neighbourhood):
            near = self.region.around(network.lawful, super().values(network))
            see_that_it_obeys(network, near.sample)
            return near
        if self.region.network is not network.lawful:
            raise QuestionError(_ALONE)
        return self.region

    def values(self, network: Network) -> list[Any] | None:  # type: ignore[override]
        """The sample as a list in the order of the features, where there is one."""
        if isinstance(self.region, Neighbourhood):
            return list(self.region.sample)
        return None if self.sample is None else super().values(network)

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        region, sample = self.region, self.sample if self.sample is each else self.values(network)
        data = None
        if isinstance(region, Neighbourhood):
            moves = [[move.feature, move.state, plain(move.value), move.weight] for move in region.moves]
            data = {"kind": "Moves", "moves": moves, "budget": region.budget}
        elif region is not None:
            data = region_data(network, region)
        return {
            "kind": "count",
            "sample": None if sample is None else self.sample_data(network),
            "region": data,
            "where": limits_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        where = box_of(network, data["where"])
        if data["region"] is None:
            return cls(data["sample"], None, where)
        sample = sample_in(network, data["sample"])
        if data["region"]["kind"] != "Moves":
            return cls(sample, region_of(data["region"], network), where)
        if sample is each:
            raise QuestionError(_ALONE)
        codings, budget = network.encoder.codings, data["region"]["budget"]
        states = tuple(coding.state(value) for coding, value in zip(codings, sample, strict=True))
        # what a move uses of the budget is all that is known of its size
        moves = tuple(
            FeatureMove(
                f,
                state,
                value if isinstance(codings[f], OneHot) else number_in(value),
                Fraction(w),
                Fraction(w),
                w,
            )
            for f, state, value, w in data["region"]["moves"]
        )
        limit = None if budget is None else Fraction(budget)
        return cls(None, Neighbourhood(network, sample, states, moves, budget, Fraction(1), limit), where)

    def describe(self, network: Network) -> str:
        """Where inputs are counted, in words."""
        region = self.region
        words = [region.words(network) if isinstance(region, Box) else str(region)]
        if isinstance(region, Neighbourhood):
            within = "" if region.budget is None else f" within {region.budget * region.unit}"
            words = [f"{len(region.moves)} changes{within}"]
        if self.box.limits:
            limits = self.box.words(network)
            return limits if region is None else f"{words[0]} and {limits}"
        return "any input" if region is None else words[0]


_ALONE = "a neighbourhood has its own sample and network: give it alone, with its network."


@dataclass(frozen=True, eq=False)
class Rules(Brief):
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
