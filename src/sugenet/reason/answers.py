"""Answers to "what would change it": one type for each outcome; each prints as a sentence and goes to JSON."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from sugenet.reason.property import Keeps

__all__ = ["Counterfactual", "NoCounterfactual", "OpenCounterfactual", "show_cost"]


def show_cost(cost: str, value: Fraction) -> str:
    """A cost in words."""
    number = str(int(value)) if value.denominator == 1 else f"{float(value):.6g}"
    many = "" if value == 1 else "s"
    match cost:
        case "L0":
            return f"{number} feature{many} changed"
        case "Hamming":
            return f"{number} bit{many} flipped"
        case "L1":
            return f"raw changes of {number} in all"
        case "L2":
            return f"a raw distance of {sqrt(value):.6g} (sum of squares {number})"
    return f"no raw change larger than {number}"


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A changed sample that violates the property, with what is proved about its cost."""

    prop: Keeps
    cost: str
    value: Fraction
    """Its cost; for L2 the sum of squares."""
    lower: Fraction
    """No counterfactual is cheaper than this: equal to `value` when it is proved to be a minimum."""
    sample: tuple[Any, ...]
    changed: tuple[Any, ...]
    engine: str
    certificate: dict[str, Any]

    @property
    def is_minimum(self) -> bool:
        """Whether nothing cheaper exists, proved."""
        return self.lower == self.value

    @property
    def label(self) -> int:
        """Class of the changed sample."""
        return self.prop.network.trace(list(self.changed)).predicted

    def changes(self) -> dict[str, tuple[Any, Any]]:
        """What changed, by feature: before and after."""
        names = self.prop.network.encoder.names
        return {n: (a, b) for n, a, b in zip(names, self.sample, self.changed, strict=True) if a != b}

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {
            "outcome": "minimum" if self.is_minimum else "found",
            "property": str(self.prop),
            "cost": self.cost,
            "value": str(self.value),
            "lower": str(self.lower),
            "label": self.prop.network.classes[self.label],
            "changes": {name: list(pair) for name, pair in self.changes().items()},
            "engine": self.engine,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        names = self.prop.network.classes
        listed = [f"{name} from {before} to {after}" for name, (before, after) in self.changes().items()]
        shown = "; ".join(listed[:6]) + (f"; and {len(listed) - 6} more" if len(listed) > 6 else "")
        proof = "proved to be the least" if self.is_minimum else f"the least is at least {show_cost(self.cost, self.lower)}"
        tie = " (a tie)" if self.label == self.prop.label else ""
        return f"{names[self.prop.label]} becomes {names[self.label]}{tie} with {show_cost(self.cost, self.value)}, {proof}: {shown}"


@dataclass(frozen=True, eq=False)
class NoCounterfactual:
    """Nothing allowed violates the property: proved."""

    prop: Keeps
    cost: str
    limit: Fraction | None
    """Within this cost; None: at any cost."""
    engine: str
    certificate: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        limit = None if self.limit is None else str(self.limit)
        return {"outcome": "none", "property": str(self.prop), "cost": self.cost, "limit": limit, "certificate": self.certificate}

    def __str__(self) -> str:
        within = "whatever is changed" if self.limit is None else f"with up to {show_cost(self.cost, self.limit)}"
        return f"{self.prop}, {within}: proved"


@dataclass(frozen=True, eq=False)
class OpenCounterfactual:
    """Time ran out before anything was found: what is proved so far, and what to try."""

    prop: Keeps
    cost: str
    lower: Fraction
    """No counterfactual is cheaper than this."""
    reason: str
    certificate: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {"outcome": "undecided", "property": str(self.prop), "cost": self.cost, "lower": str(self.lower), "reason": self.reason}

    def __str__(self) -> str:
        return f"undecided: {self.reason}. Proved so far: any change needs at least {show_cost(self.cost, self.lower)}. Allow more time."
