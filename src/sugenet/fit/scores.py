"""Right and wrong answers of a network by class, compared with the best constant answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.reprs import Sentences

__all__ = ["Scores"]


@dataclass(frozen=True)
class Scores(Sentences):
    """Answers of a network on samples, counted by class.

    All figures come from these counts. Every sample counts once, whatever its weight in training.

    Examples
    --------
    >>> scores = Scores(("leave", "stay"), ((1, 17), (0, 440)), "test")
    >>> print(scores)
      always stay         96.07%  440 of 458
      balanced accuracy   52.78%
      recall of leave      5.56%  1 of 18
      recall of stay     100.00%  440 of 440
    >>> print(scores.warning)
    The network is hardly better than always answering stay. Of 458 test samples it is right on 441, the
    constant answer on 440. Balanced accuracy is 52.78%. Its explanations may be about noise. Train with
    class_weight="balanced" (--class-weight balanced).
    """

    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Number of samples of each class (row) with each answer (column)."""
    part: str
    """The samples: ``"test"``, ``"validation"`` (they chose the epoch) or ``"training"``."""
    weighted: bool = False
    """Whether training weighed classes or samples."""

    @classmethod
    def of(
        cls,
        classes: tuple[str, ...],
        y: npt.NDArray[np.int64],
        answers: npt.NDArray[np.int64],
        part: str,
        weighted: bool,
    ) -> Scores:
        """Count classes and answers, both given by index."""
        size = len(classes)
        counts = np.bincount(y * size + answers, minlength=size * size).reshape(size, size)
        return cls(classes, tuple(map(tuple, counts.tolist())), part, weighted)

    @property
    def totals(self) -> tuple[int, ...]:
        """Number of samples of each class."""
        return tuple(map(sum, self.confusion))

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return self._right / sum(self.totals)

    @property
    def majority(self) -> str:
        """The most frequent class of these samples."""
        return self.classes[self._most]

    @property
    def baseline(self) -> float:
        """Accuracy of always answering the most frequent class."""
        return self.totals[self._most] / sum(self.totals)

    @property
    def recall(self) -> dict[str, float | None]:
        """Share of right answers among the samples of each class; None if there are no such samples."""
        return {
            name: self.confusion[index][index] / total if total else None
            for index, (name, total) in enumerate(zip(self.classes, self.totals, strict=True))
        }

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that occur."""
        return float(self._balanced)

    @property
    def warning(self) -> str | None:
        """The sentence for a network that is hardly better than a constant answer; else None.

        Balanced accuracy is less than a tenth of the way from that of a constant answer, 1 divided by the
        number of classes, to 1. Or, if nothing was weighed in training, the network is right on at most
        2 sqrt(d) more samples than the constant answer (two standard errors of a sign test). Here d is the
        number of samples on which only one of them is right.
        """
        present = sum(total > 0 for total in self.totals)
        if present < 2:
            return f"All {self.part} samples are of class {self.majority}. Hold out more samples."
        best = self.totals[self._most]
        gained, lost = (
            self._right - self.confusion[self._most][self._most],
            best - self.confusion[self._most][self._most],
        )
        close = 10 * (self._balanced - Fraction(1, present)) < 1 - Fraction(1, present)
        chance = gained <= lost or (gained - lost) ** 2 <= 4 * (gained + lost)
        if not close and (self.weighted or not chance):
            return None
        advice = (
            "Its columns may not separate the classes, or training was too short."
            if self.weighted
            else 'Train with class_weight="balanced" (--class-weight balanced).'
        )
        return (
            f"The network is hardly better than always answering {self.majority}. Of {sum(self.totals)} "
            f"{self.part} samples it is right on {self._right}, the constant answer on {best}. Balanced "
            f"accuracy is {self.balanced_accuracy:.2%}. Its explanations may be about noise. {advice}"
        )

    def data(self) -> dict[str, Any]:
        """Return all figures for JSON."""
        names = (
            "part",
            "accuracy",
            "majority",
            "baseline",
            "balanced_accuracy",
            "recall",
            "confusion",
            "warning",
        )
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        total = sum(self.totals)
        rows = [
            (f"always {self.majority}", f"{self.baseline:.2%}", f"{self.totals[self._most]} of {total}"),
            ("balanced accuracy", f"{self.balanced_accuracy:.2%}", ""),
        ]
        for index, (name, share) in enumerate(self.recall.items()):
            counted = f"{self.confusion[index][index]} of {self.totals[index]}"
            rows.append(
                (f"recall of {name}", "", f"no {self.part} samples")
                if share is None
                else (f"recall of {name}", f"{share:.2%}", counted)
            )
        width = max(len(first) for first, _, _ in rows)
        return "\n".join(
            f"  {first:<{width}}  {share:>7}  {counts}".rstrip() for first, share, counts in rows
        )

    @property
    def _right(self) -> int:
        return sum(row[index] for index, row in enumerate(self.confusion))

    @property
    def _most(self) -> int:
        return self.totals.index(max(self.totals))

    @property
    def _balanced(self) -> Fraction:
        shares = [Fraction(row[index], sum(row)) for index, row in enumerate(self.confusion) if any(row)]
        return sum(shares, Fraction(0)) / len(shares)
