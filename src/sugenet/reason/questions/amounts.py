"""Questions about how many inputs there are, and about all rules of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sugenet.bnn import Network
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.boxes import limits_data
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.problem.regions import (
    Region,
    region_data,
    region_of,
)
from sugenet.reason.questions.everyone import OfSample, sample_in, see_that_it_obeys, see_that_some_obey
from sugenet.reason.questions.inputs import Limited
from sugenet.reason.questions.names import box_of, class_of

__all__ = ["HowMany", "Rules"]


@dataclass(frozen=True, eq=False)
class HowMany(OfSample, Limited):
    """How many inputs of each class there are around a sample, within limits, or in the whole domain: what
    `count` answers, with parameters as there.
    """

    sample: Any = None
    region: Region | None = None
    where: Any = None

    def __post_init__(self) -> None:
        if self.region is None:
            if self.sample is not None:
                raise QuestionError("a sample needs a region around it, such as Hamming(2) or Anything().")
        elif not hasattr(self.region, "around"):
            raise QuestionError(
                f"region={self.region!r} is not a region. Give one such as Hamming(2), Linf(4), "
                f"Free([...]) or Anything()."
            )
        elif self.sample is None:
            raise QuestionError(
                "a region needs a sample: count(network, x, region). For limits alone, where={...}."
            )

    def near(self, network: Network) -> Neighbourhood:
        """Where inputs are counted."""
        if self.region is None:
            near = self.box.of(network.lawful)
        else:
            values = super().values(network)
            near = self.region.around(network.lawful, values, self.box.spans(network) or None)
            see_that_it_obeys(network, values)
        see_that_some_obey(network, near, self.box)
        return near

    def values(self, network: Network) -> list[Any] | None:  # type: ignore[override]
        """The sample as a list in the order of the features, if there is one."""
        return None if self.sample is None else super().values(network)

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "count",
            "sample": None if self.sample is None else self.sample_data(network),
            "region": None if self.region is None else region_data(network, self.region),
            "where": limits_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        where = box_of(network, data["where"])
        if data["region"] is None:
            return cls(data["sample"], None, where)
        return cls(sample_in(network, data["sample"]), region_of(data["region"], network), where)

    def describe(self, network: Network) -> str:
        """Where inputs are counted, in words."""
        if self.region is None:
            return self.box.words(network)
        words = self.described_region(network)
        return f"{words} and {self.box.words(network)}" if self.box.limits else words


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
