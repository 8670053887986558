"""Questions about all inputs within limits, which `verify` decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sugenet.bnn import Network
from sugenet.brief import Brief
from sugenet.problem.boxes import Box, limits_data
from sugenet.problem.neighbourhood import place_of
from sugenet.reason.questions.names import box_of, class_of, class_or_none, places

__all__ = ["Agree", "Always", "Fair", "Limited", "Monotone", "Never"]


class Limited(Brief):
    """What questions about all inputs within limits have in common."""

    where: Any

    @property
    def box(self) -> Box:
        """The limits."""
        return self.where if isinstance(self.where, Box) else Box({} if self.where is None else self.where)


@dataclass(frozen=True, eq=False)
class _OfClass(Limited):
    """Something about a class of all inputs within limits."""

    kind: ClassVar[str]
    verb: ClassVar[str]

    label: Any
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        label = class_of(network, self.label)
        return {"kind": self.kind, "label": label, "where": limits_data(network, self.box)}

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        return cls(data["label"], box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        label = network.class_words[class_of(network, self.label)]
        return f"the class {self.verb} {label} for {self.box.words(network)}"


@dataclass(frozen=True, eq=False)
class Always(_OfClass):
    """Every input within limits has a class; features without limits are free.

    Parameters
    ----------
    label
        The class, by name or number.
    where
        Limits as in `Box`.
    """

    kind: ClassVar[str] = "always"
    verb: ClassVar[str] = "is"


@dataclass(frozen=True, eq=False)
class Never(_OfClass):
    """No input within limits has a class; features without limits are free."""

    kind: ClassVar[str] = "never"
    verb: ClassVar[str] = "is never"


@dataclass(frozen=True, eq=False)
class Monotone(Limited):
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
            "label": class_or_none(network, self.label),
            "rising": bool(self.rising),
            "where": limits_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        name = network.encoder.names[data["feature"]]
        return cls(name, data["label"], data["rising"], box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        name, label = network.encoder.feature_words[place_of(network, self.feature)], self.label
        kept = None if label is None else network.class_words[class_of(network, label)]
        effect = "lowers the class" if kept is None else f"loses class {kept}"
        return (
            f"{'raising' if self.rising else 'lowering'} {name} never {effect}, for {self.box.words(network)}"
        )


@dataclass(frozen=True, eq=False)
class Fair(Limited):
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
        return places(network, self.protected)

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "fair",
            "protected": self.features(network),
            "where": limits_data(network, self.box),
        }

    @classmethod
    def of(cls, network: Network, data: Mapping[str, Any]) -> Self:
        """The question from its JSON."""
        names = network.encoder.names
        return cls([names[feature] for feature in data["protected"]], box_of(network, data["where"]))

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        names = ", ".join(
            network.encoder.feature_words[place_of(network, feature)] for feature in self.protected
        )
        return f"the class does not depend on {names}, for {self.box.words(network)}"


@dataclass(frozen=True, eq=False)
class Agree(Limited):
    """Another network over the same features gives the same class to every input within limits."""

    other: Network
    where: Any = None

    def data(self, network: Network) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "kind": "agree",
            "other": self.other.fingerprint,
            "where": limits_data(network, self.box),
        }

    def describe(self, network: Network) -> str:
        """The question's claim in words."""
        return f"the two networks give the same class, for {self.box.words(network)}"
