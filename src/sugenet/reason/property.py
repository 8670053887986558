"""What a decision must not do: become another class, or one class in particular; with ties as the network breaks them, or against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.bnn.layers import Ints
from sugenet.errors import QuestionError

__all__ = ["Keeps", "Ties"]

Ties = Literal["lowest", "against"]
"""``lowest``: a tie goes to the lowest class, as in `predict`. ``against``: any tie at the top counts as a violation."""


@dataclass(frozen=True)
class Keeps:
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
            raise QuestionError(f"target={self.target} is the class that the sample has already.")
        if self.ties not in ("lowest", "against"):
            raise QuestionError(f"ties={self.ties!r} must be 'lowest' or 'against'.")

    def violates(self, counts: Ints) -> npt.NDArray[np.bool_]:
        """Whether match counts of the classes, one row a case, violate the property; in exact integers."""
        scores = self.network.head.ranked(counts)
        if self.target is None:
            if self.ties == "lowest":
                return np.asarray(np.argmax(scores, axis=1) != self.label)
            others = np.delete(scores, self.label, axis=1)
            return np.asarray((others >= scores[:, [self.label]]).any(axis=1))
        rest = np.delete(scores, self.target, axis=1)
        if self.ties == "against":
            return np.asarray((scores[:, [self.target]] >= rest).all(axis=1))
        return np.asarray(np.argmax(scores, axis=1) == self.target)

    def shortfall(self, counts: Ints) -> npt.NDArray[Any]:
        """How far each case is from violating, in exact integers: smaller is nearer; for search only."""
        scores = self.network.head.ranked(counts)
        if self.target is None:
            others = np.delete(scores, self.label, axis=1)
            return np.asarray(scores[:, self.label] - others.max(axis=1))
        rest = np.delete(scores, self.target, axis=1)
        return np.asarray(rest.max(axis=1) - scores[:, self.target])

    def __str__(self) -> str:
        names = self.network.classes
        tie = "; a tie counts as a change" if self.ties == "against" else ""
        if self.target is None:
            return f"the class stays {names[self.label]}{tie}"
        return f"the class does not become {names[self.target]}{tie}"
