"""What an engine says of a query: it holds, with a proof; it fails, with a witness; or it is open,
with what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Fails", "Holds", "Interrupted", "Open", "Outcome"]


@dataclass(frozen=True)
class Holds:
    """No input of the query violates the property; `proof` is JSON that the engine's checker re-does."""

    engine: str
    proof: dict[str, Any]


@dataclass(frozen=True)
class Fails:
    """An input that violates the property, in raw values, replayed exactly."""

    engine: str
    witness: tuple[Any, ...]


@dataclass(frozen=True)
class Open:
    """Neither shown; `facts` are what was found out on the way."""

    engine: str
    reason: str
    facts: dict[str, Any]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the facts that were known then."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__("interrupted")
        self.facts = facts


Outcome: TypeAlias = Holds | Fails | Open
