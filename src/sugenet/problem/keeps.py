"""What a decision must not do: become another class, or one class in particular; with ties as the network
breaks them, or against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sugenet.bnn import Network
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.goal import Goal, lawful, loses, wins

__all__ = ["Keeps", "Ties"]

Ties = Literal["lowest", "against"]
"""``lowest``: a tie goes to the lowest class, as in `predict`.

``against``: any tie at the top counts as a violation.
"""


@dataclass(frozen=True)
class Keeps(Brief):
    """The class stays `label`; or, with a target, it does not become `target`."""

    network: Network
    label: int
    target: int | None = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        count = self.network.head.outputs
        for what, value in (("label", self.label), ("target", self.target)):
            if value is not None and not 0 <= value < count:
                raise QuestionError(f"{what}={value} is no class: they are numbered 0 to {count - 1}.")
        if self.target == self.label:
            name = self.network.class_words[self.label]
            raise QuestionError(f"the target, {name}, is the class that the sample has already.")
        if self.ties not in ("lowest", "against"):
            raise QuestionError(f"ties={self.ties!r} must be 'lowest' or 'against'.")

    @cached_property
    def goal(self) -> Goal:
        """What violates it."""
        head = self.network.head
        goal = (
            loses(head, self.label, ties=self.ties)
            if self.target is None
            else wins(head, self.target, ties=self.ties)
        )
        return lawful(self.network, goal)

    def __str__(self) -> str:
        names = self.network.class_words
        tie = "; a tie counts as a change" if self.ties == "against" else ""
        if self.target is None:
            return f"the class stays {names[self.label]}{tie}"
        return f"the class does not become {names[self.target]}{tie}"
