"""What an engine says of a problem: it holds, with a proof; it fails, with a witness; or it is open, with
what is known. A witness comes from moves that the definition has replayed, whoever found them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sugenet.bnn.arrays import Ints
from sugenet.errors import SoundnessError
from sugenet.problem.neighbourhood import FeatureMove
from sugenet.problem.problem import Problem

__all__ = [
    "ENUMERATED",
    "Enumerated",
    "Fails",
    "Holds",
    "Interrupted",
    "Open",
    "Outcome",
    "replayed",
]

ENUMERATED = {"kind": "enumerate"}
"""The proof that enumeration gives: the checker enumerates once more."""


@dataclass(frozen=True)
class Holds:
    """No input of the problem is a violation. `proof` is JSON for the checker; None if there is none."""

    engine: str
    proof: Any
    sets: int | None = None
    """Sets of moves that the engine enumerated; None if it did not, or does not know."""


@dataclass(frozen=True)
class Fails:
    """An input that is a violation, in raw values, replayed exactly."""

    engine: str
    witness: tuple[Any, ...]
    counts: Ints | None = field(default=None, compare=False)
    """Match counts of the classes of the problem's network at the witness, one row, where they are known."""


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


def replayed(problem: Problem, engine: str, moves: tuple[FeatureMove, ...]) -> Fails | Open:
    """The witness that moves lead to, once the definition agrees; open where only rounding allows them."""
    if not problem.near.admits(moves):
        return Open(
            engine, "a violation was found whose exact cost is beyond the limit by less than rounding", {}
        )
    witness = problem.near.moved(moves)
    counts = problem.replay(moves)
    if counts is None:
        raise SoundnessError(
            f"{engine} answered {witness}, which does not reach the goal. Please report this question."
        )
    return Fails(engine, witness, counts)


@dataclass(frozen=True)
class Enumerated:
    """What going through sets of moves, one by one, has shown."""

    sets: int
    """Sets gone through."""
    patterns: int | None
    """Different sets of first-layer neurons that they turn; None where they were not kept."""
    violation: tuple[FeatureMove, ...] | None
    """Moves that reach the goal, or None: then none of the sets does."""
