"""Summary of a results file: outcomes, certified accuracy, times.

Certified accuracy is the share of all samples that are correctly classified *and* proved to keep their class.
If some answers are not known, it is an interval: the lower end counts proved samples, the upper end all that
are not refuted.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.plottable import Plottable
from sugenet.reason.phrases import percent_text, short_number
from sugenet.reprs import time_text
from sugenet.sweeps.samples import REFUSED, Row

__all__ = [
    "TRUSTING",
    "Between",
    "SweepTally",
    "TimeBin",
    "listed",
    "tally_of",
]

TRUSTING = frozenset({"proved", "none", "found"})
"""Outcomes that claim something; if such a row is not certified, a solver is trusted."""
_ORDER = (
    *("proved", "refuted", "found", "none", "counted", "estimated"),
    *("predicted", "undecided", REFUSED),
)
"""The order in which outcomes are listed; others follow."""
_STEPS = (1, 3)
"""Times are counted from 1 to 3 and from 3 to 10 of each power of ten: about half a decade each."""
_SOON = -3
"""The power of ten, in seconds, below which all times are counted together."""
_BAR = 40
"""Characters of the longest bar of a text histogram."""
_SHOWN = 5


class Between(NamedTuple):
    """A share of samples, known as an interval."""

    lower: Fraction
    upper: Fraction

    def data(self) -> dict[str, str]:
        """Return both ends as JSON data: exact numbers as text."""
        return {name: str(end) for name, end in self._asdict().items()}

    @property
    def words(self) -> tuple[str, str]:
        """Return both ends in percent; if they differ, rounded so that they stay bounds."""
        if self.lower == self.upper:
            return (percent_text(self.lower),) * 2
        return percent_text(self.lower, -1), percent_text(self.upper, +1)

    def __str__(self) -> str:
        low, high = self.words
        return low if self.lower == self.upper else f"{low} to {high}"


class TimeBin(NamedTuple):
    """The number of answers that took at least `low` and less than `high` seconds."""

    low: float
    high: float
    answers: int

    @property
    def words(self) -> str:
        """Return the times for display."""
        high = time_text(self.high)
        return f"{time_text(self.low)} to {high}" if self.low else f"under {high}"


@dataclass(frozen=True)
class SweepTally(Plottable):
    """Summary of the rows of a sweep; made by `Results.tally`.

    Examples
    --------
    >>> from sugenet import Hamming, Robust, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> tally = sweep(models.digits(), X[:4], Robust(each, Hamming(2)), y=y[:4], jobs=1).tally()
    >>> print(tally.headline())
    the class stays what it is, with up to 2 bits flipped
      proved   2  50.00 %
      refuted  2  50.00 %
      samples  4    100 %
    accuracy: 75.00 % (3 of 4 answers right)
    certified accuracy: 50.00 %

    See Also
    --------
    Results.tally : makes the summary.
    Row : one row.
    AccuracyCurve : certified accuracy over radii.
    """

    kind: str
    """Kind of question: ``robust``, ``whatif``, ``why``, ``count`` or ``predict``."""
    asked: str
    """The question in words."""
    samples: int
    """Number of samples of the data set."""
    rows: tuple[Row, ...]
    """Rows of answered samples, in order."""
    squares: bool = False
    """Whether costs are sums of squares, as under L2."""
    has_truth: bool = False
    """Whether the true classes are known."""
    has_target: bool = False
    """Whether only changes to one class count, so that a proved sample may still change to another."""

    # -- how many --------------------------------------------------------------------------------------------

    @property
    def answered(self) -> int:
        """Samples with an answer."""
        return len(self.rows)

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Indices of the samples without an answer."""
        there = {row.sample for row in self.rows}
        return tuple(sample for sample in range(self.samples) if sample not in there)

    @property
    def undecided(self) -> tuple[Row, ...]:
        """Rows that more time could change."""
        return tuple(row for row in self.rows if not row.settled)

    @property
    def on_trust(self) -> tuple[Row, ...]:
        """Rows whose claim relies on a solver alone: they have no certificate."""
        return tuple(row for row in self.rows if row.outcome in TRUSTING and not row.certified)

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """Number of samples per outcome; those without an answer are ``missing``."""
        counter = Counter(row.outcome for row in self.rows)
        known = [word for word in _ORDER if word in counter]
        listed = {word: counter[word] for word in (*known, *sorted(set(counter) - set(_ORDER)))}
        return listed | ({"missing": len(self.missing)} if self.missing else {})

    def share(self, outcome: str) -> Fraction:
        """Return the share of an outcome among all samples of the data set."""
        return _share(self.outcomes.get(outcome, 0), self.samples)

    # -- certified accuracy ----------------------------------------------------------------------------------

    @property
    def right(self) -> int | None:
        """Number of answered samples whose class is right; None if the true classes are not known."""
        return sum(row.index == row.truth for row in self.rows) if self.has_truth else None

    @property
    def accuracy(self) -> Between | None:
        """Share of samples whose class is right; those without an answer may be right."""
        if not self.has_truth:
            return None
        wrong = sum(_is_wrong(row) for row in self.rows)
        return Between(_share(self.right or 0, self.samples), _share(self.samples - wrong, self.samples))

    @property
    def certified(self) -> Between | None:
        """Certified accuracy, as an interval: right and proved, and right and not refuted.

        It exists only for `Robust` if all changes count, and is None otherwise. If the true classes are not
        known, it is the share of samples that are proved, and not refuted. Samples for which a solver is
        trusted count as not refuted.
        """
        if self.kind != "robust" or self.has_target:
            return None
        good = sum(row.outcome == "proved" and row.certified and self._is_right(row) for row in self.rows)
        bad = sum(row.outcome == "refuted" or _is_wrong(row) for row in self.rows)
        return Between(_share(good, self.samples), _share(self.samples - bad, self.samples))

    def _is_right(self, row: Row) -> bool:
        return row.truth == row.index or not self.has_truth

    @cached_property
    def costs(self) -> tuple[Fraction, ...]:
        """Minimum costs that are proved, for `WhatIf`, in increasing order."""
        return tuple(sorted(exact(row.cost) for row in self.rows if row.cost and row.cost == row.lower))

    # -- times -----------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Sum of all times."""
        return math.fsum(row.seconds for row in self.rows)

    @property
    def median(self) -> float | None:
        """Median time of an answer; None if there are no answers."""
        return median(row.seconds for row in self.rows) if self.rows else None

    @property
    def largest(self) -> float | None:
        """The longest time of an answer."""
        return max((row.seconds for row in self.rows), default=None)

    @cached_property
    def times(self) -> tuple[TimeBin, ...]:
        """Histogram of the times, in half decades from the shortest to the longest."""
        return _binned([row.seconds for row in self.rows])

    def hardest(self, limit: int = _SHOWN) -> tuple[Row, ...]:
        """Return the rows that took longest, the longest first."""
        return tuple(sorted(self.rows, key=lambda row: (-row.seconds, row.sample))[:limit])

    # -- said ------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data, except settled rows; shares are exact, as text."""
        return {
            "kind": self.kind,
            "question": self.asked,
            "samples": self.samples,
            "answered": self.answered,
            "outcomes": self.outcomes,
            "right": self.right,
            "accuracy": self.accuracy and self.accuracy.data(),
            "certified_accuracy": self.certified and self.certified.data(),
            "costs": self._cost_data(),
            "on_trust": [row.sample for row in self.on_trust],
            "seconds": self.seconds,
            "median_seconds": self.median,
            "largest_seconds": self.largest,
            "times": [one._asdict() for one in self.times],
            "hardest": [{"sample": row.sample, "seconds": row.seconds} for row in self.hardest()],
            "undecided": [row.sample for row in self.undecided],
            "missing": list(self.missing),
        }

    def _cost_data(self) -> dict[str, Any] | None:
        if not self.costs:
            return None
        ends = {"least": self.costs[0], "median": median(self.costs), "largest": self.costs[-1]}
        return {name: str(cost) for name, cost in ends.items()} | {"squares": self.squares}

    def text(self, limit: int = _SHOWN) -> str:
        """Return the summary as text, with at most `limit` samples per list."""
        lines = [self.headline()]
        if self.rows:
            lines += ["", *self._time_lines()]
            hard = [f"{row.sample} ({time_text(row.seconds)})" for row in self.hardest(limit)]
            lines += [f"hardest: {', '.join(hard)}"] if hard else []
        lines += _counted("undecided", [row.sample for row in self.undecided], limit)
        lines += _counted("not certified", [row.sample for row in self.on_trust], limit)
        lines += _counted("missing", self.missing, limit)
        return "\n".join(lines)

    def headline(self) -> str:
        """Return the question, the number of samples per outcome, and the accuracy."""
        return "\n".join([self.asked, *self._outcome_lines(), *self.accuracy_lines(), *self._cost_lines()])

    def __str__(self) -> str:
        return self.text()

    def _outcome_lines(self) -> list[str]:
        rows = [
            (word, f"{count:,}", percent_text(_share(count, self.samples)))
            for word, count in [*self.outcomes.items(), ("samples", self.samples)]
        ]
        wide = [max(len(row[column]) for row in rows) for column in range(3)]
        return [f"  {word:<{wide[0]}}  {count:>{wide[1]}}  {share:>{wide[2]}}" for word, count, share in rows]

    def accuracy_lines(self) -> list[str]:
        """Return the accuracy in words."""
        lines = []
        if self.accuracy is not None:
            lines.append(f"accuracy: {self.accuracy} ({self.right:,} of {self.answered:,} answers right)")
        if self.certified is not None:
            name = "certified accuracy" if self.has_truth else "proved (the right classes are not known)"
            lines.append(f"{name}: {self.certified}")
        return lines

    def _cost_lines(self) -> list[str]:
        if not self.costs:
            return []
        what = "sums of squares" if self.squares else "costs"
        numbers = [
            short_number(Fraction(cost)) for cost in (self.costs[0], median(self.costs), self.costs[-1])
        ]
        count_text = f"{len(self.costs):,} proved to be least"
        return [f"{what}: from {numbers[0]} to {numbers[2]}, median {numbers[1]} ({count_text})"]

    def _time_lines(self) -> list[str]:
        lines = [
            f"times: {time_text(self.seconds)} in all, median {time_text(self.median or 0)}, "
            f"longest {time_text(self.largest or 0)}"
        ]
        max_answers = max(one.answers for one in self.times)
        names = [one.words for one in self.times]
        wide, number = max(map(len, names)), len(f"{max_answers:,}")
        for name, one in zip(names, self.times, strict=True):
            bar = "#" * math.ceil(_BAR * one.answers / max_answers)
            lines.append(f"  {name:>{wide}}  {one.answers:>{number},}  {bar}".rstrip())
        return lines


def tally_of(
    rows: Iterable[Row],
    samples: int,
    kind: str,
    asked: str = "",
    *,
    squares: bool = False,
    has_truth: bool | None = None,
    has_target: bool = False,
) -> SweepTally:
    """Summarize the rows of a data set.

    Parameters
    ----------
    rows
        At most one per sample.
    samples
        Number of samples of the data set.
    kind, asked
        Kind of question, as in its `data`, and the question in words.
    squares
        Whether costs are sums of squares, as under L2.
    has_truth
        Whether the true classes are known (default: whether some row has one).
    has_target
        Whether only changes to one class count.

    Examples
    --------
    >>> def row(sample, truth, outcome):
    ...     done = outcome != "undecided"
    ...     return Row(sample, 1, truth, outcome, done, done, "bounds", 0.5, None, None, None, "0")
    >>> rows = [row(0, 1, "proved"), row(1, 1, "refuted"), row(2, 0, "proved"), row(3, 1, "undecided")]
    >>> tally = tally_of(rows, 5, "robust")
    >>> tally.outcomes
    {'proved': 2, 'refuted': 1, 'undecided': 1, 'missing': 1}
    >>> print(tally.certified)
    20.00 % to 60.00 %
    """
    ordered = tuple(sorted(rows, key=lambda row: row.sample))
    numbers = [row.sample for row in ordered]
    if len(set(numbers)) < len(numbers):
        twice = next(a for a, b in pairwise(numbers) if a == b)
        raise QuestionError(f"sample {twice} has two rows, but each sample has one answer.")
    if numbers and not 0 <= numbers[0] <= numbers[-1] < samples:
        wrong = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise QuestionError(f"there is a row of sample {wrong}, but there are {samples:,} samples.")
    known = any(row.truth is not None for row in ordered) if has_truth is None else has_truth
    return SweepTally(kind, asked, samples, ordered, squares, known, has_target)


def listed(numbers: Iterable[int], limit: int) -> str:
    """Format numbers with runs combined: the first `limit` of them, and a count of the rest.

    Examples
    --------
    >>> listed([1, 2, 3, 7, 9, 10], 5), listed([1, 2, 3, 7, 9, 10], 2)
    ('1-3, 7, 9-10', '1-3, 7 and 2 more')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:limit]]
    left = sum(map(len, runs[limit:]))
    return ", ".join(texts) + (f" and {left:,} more" if left else "")


def _counted(name: str, numbers: Sequence[int], limit: int) -> list[str]:
    """Return a line that names samples, if there are any."""
    which = f", samples {listed(numbers, limit)}" if limit else ""
    return [f"{name}: {len(numbers):,}{which}"] if numbers else []


def _share(part: int, of: int) -> Fraction:
    return Fraction(part, of) if of else Fraction(0)


def _is_wrong(row: Row) -> bool:
    return row.truth is not None and row.truth != row.index


def _binned(seconds: list[float]) -> tuple[TimeBin, ...]:
    if not seconds:
        return ()
    top = math.ceil(math.log10(max([*seconds, 10.0**_SOON]))) + 1
    edges = [0.0, *(float(f"{step}e{power}") for power in range(_SOON, top + 1) for step in _STEPS)]
    counts = Counter(bisect_right(edges, one) - 1 for one in seconds)
    indices = range(min(counts), max(counts) + 1)
    return tuple(TimeBin(edges[k], edges[k + 1], counts[k]) for k in indices)
