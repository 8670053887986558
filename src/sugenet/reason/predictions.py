"""Which class a sample has: `Predicted`, with the match counts that decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sugenet.bnn import Network
from sugenet.errors import CertificateError
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.envelope import Recorded, Source
from sugenet.reason.questions import Predict

__all__ = ["Predicted"]


@dataclass(frozen=True, eq=False)
class Predicted(Recorded):
    """The class of a sample. There is no certificate: who doubts it predicts again, by the definition."""

    outcome: ClassVar[str] = "predicted"
    certificate: ClassVar[None] = None
    is_certified: ClassVar[bool] = False
    json: ClassVar[Mapping[str, Source]] = {
        "outcome": "outcome",
        "class": "label",
        "label": lambda answer: answer.network.classes[answer.label],
        "matches": "matches",
        "scores": "scores",
        "tie": "is_tie",
        "question": lambda answer: answer.question.data(answer.network),
    }

    network: Network
    question: Predict
    matches: tuple[int, ...]
    """Match count M of every class, which decides all else."""

    @property
    def label(self) -> int:
        """The class with the largest exact score; of equal ones the lowest number."""
        return int(self.network.head.classes(self._counts)[0])

    @property
    def scores(self) -> tuple[float, ...]:
        """Score of every class, rounded once."""
        return tuple(self.network.head.logits(self._counts)[0].tolist())

    @property
    def is_tie(self) -> bool:
        """Whether other classes have the same exact score."""
        return bool(self.network.head.tied(self._counts)[0])

    @property
    def possibility(self) -> tuple[float, ...]:
        """pi of every class: 1 for the best."""
        return tuple(self.network.head.possibility(self._counts)[0].tolist())

    @property
    def _counts(self) -> Any:
        return np.array([self.matches], dtype=np.int64)

    def is_as_defined(self) -> bool:
        """Whether the definition, neuron by neuron, has the same match counts."""
        row = row_of(self.question.values(self.network))
        return tuple(self.network.match_counts(row, engine="definition")[0].tolist()) == self.matches

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """The match counts, if they can be those of the network."""
        sizes, matches = network.head.sizes.tolist(), data["matches"]
        for many, size in zip(matches, sizes, strict=True):
            if type(many) is not int or not 0 <= many <= size:
                raise CertificateError(f"a class has {str(many)[:40]} matches of {size}.")
        return {"matches": tuple(matches)}

    def __str__(self) -> str:
        label, head = self.label, self.network.head
        tie = ", a tie that the lowest class wins" if self.is_tie else ""
        found = f"{self.matches[label]} of {int(head.sizes[label])} matches"
        return f"class {self.network.class_words[label]}, score {self.scores[label]:.6g} ({found}{tie})"
