"""Certified accuracy over radii, from sweeps that differ only in the radius, or from one sweep of `whatif`.

`whatif` tells how far each sample is safe: up to which radius its class is proved to stay, and from which
radius on it is known to change.

A sample that is proved at a radius is proved at every smaller one. A sample that is refuted is refuted at
every larger one. Proofs and refutations of one sweep also count at the radii of the others, so the curve
never rises.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from sugenet.capacity.arguments import number_text
from sugenet.capacity.thresholds import exact_number
from sugenet.checker.form import exact
from sugenet.errors import QuestionError, SoundnessError, refuse
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Network
from sugenet.plottable import Plottable
from sugenet.problem.regions import BALLS, L2, Prices
from sugenet.reason.questions import Robust, WhatIf, class_of, data_of
from sugenet.reprs import roughly
from sugenet.sweeps.samples import Row
from sugenet.sweeps.tally import Between

if TYPE_CHECKING:
    from sugenet.sweeps.results import Results

__all__ = [
    "AccuracyCurve",
    "CurvePoint",
    "Safety",
    "chosen_radii",
    "curve_of",
    "curve_points",
    "radius_text",
    "safety_of_radii",
    "safety_of_whatif",
]

_RADII = 12
"""Number of radii of a curve from `whatif`, if none are given."""
_SHORT = 8
"""Radii of more characters are rounded."""


_End: TypeAlias = tuple[Fraction | float, bool]
_EVERYTHING: _End = (math.inf, False)


@dataclass
class Safety:
    """The results for one sample at all radii: its class, and how far it keeps it.

    `proved` and `trusted` are the largest radii within which the class stays: proved, or claimed by a solver.
    Each comes with whether the radius itself is included. `broken` is the smallest radius at which the class
    is known to change.
    """

    label: int
    truth: int | None
    proved: list[_End] = field(default_factory=list)
    trusted: list[_End] = field(default_factory=list)
    broken: Fraction | None = None

    def is_proved(self, radius: Fraction) -> bool:
        """Return whether the class is proved to stay within a radius."""
        return _reaches(self.proved, radius)

    def is_trusted(self, radius: Fraction) -> bool:
        """Return whether only a solver claims that the class stays, without a certificate."""
        return _reaches(self.trusted, radius)

    def is_refuted(self, radius: Fraction) -> bool:
        """Return whether a change within the radius is known."""
        return self.broken is not None and self.broken <= radius

    def breaks(self, radius: Fraction) -> None:
        """Record a change at a radius."""
        self.broken = radius if self.broken is None else min(self.broken, radius)


def _reaches(ends: Iterable[_End], radius: Fraction) -> bool:
    return any(radius < end or (inside and radius == end) for end, inside in ends)


def safety_of_radii(files: Iterable[tuple[Fraction, Iterable[Row]]]) -> dict[int, Safety]:
    """Return the safety of each sample from rows of `Robust` at several radii.

    Raises
    ------
    FileError
        If two rows give one sample different classes.
    SoundnessError
        If one row proves what another refutes.
    """
    safety: dict[int, Safety] = {}
    for radius, rows in files:
        for row in rows:
            safe = _joined(safety, row)
            if row.outcome == "refuted":
                safe.breaks(radius)
            elif row.outcome == "proved":
                (safe.proved if row.certified else safe.trusted).append((radius, True))
    return _without_contradiction(safety)


def safety_of_whatif(rows: Iterable[Row], limit: Fraction | None) -> dict[int, Safety]:
    """Return the safety of each sample from rows of `WhatIf`.

    The class stays below the lower bound, and changes at the cost. The search ended at the limit. Costs and
    the limit are as in certificates: squares under L2.
    """
    safety: dict[int, Safety] = {}
    for row in rows:
        safe = _joined(safety, row)
        if row.cost is not None:
            safe.breaks(exact(row.cost))
        ends = safe.proved if row.certified else safe.trusted
        if row.outcome == "none":
            ends.append(_EVERYTHING if limit is None else (limit, True))
        elif row.lower is not None:
            ends.append((exact(row.lower), False))
    return _without_contradiction(safety)


def _joined(safety: dict[int, Safety], row: Row) -> Safety:
    """Return the safety of the sample of a row, whose classes must be the same everywhere."""
    safe = safety.setdefault(row.sample, Safety(row.index, row.truth))
    refuse_if(
        row.index != safe.label,
        f"sample {row.sample} has class number {safe.label} in one file and {row.index} in another, "
        f"though network and samples are the same: one of the files is damaged. Check them.",
    )
    if row.truth is not None:
        refuse_if(
            safe.truth not in (None, row.truth),
            f"the right class of sample {row.sample} has number {safe.truth} in one file and {row.truth} "
            f"in another. Sweep again with the same classes.",
        )
        safe.truth = row.truth
    return safe


def _without_contradiction(safety: dict[int, Safety]) -> dict[int, Safety]:
    for sample, safe in safety.items():
        if safe.broken is not None and safe.is_proved(safe.broken):
            raise SoundnessError(
                f"sample {sample} is proved to keep its class within {radius_text(safe.broken)}, and "
                f"refuted there. One of the two is wrong: check their certificates."
            )
    return safety


def chosen_radii(safety: Mapping[int, Safety], *, squares: bool) -> list[Fraction]:
    """Return radii at which something changes, evenly chosen if there are many.

    Long radii are rounded up to four digits, and to three decimals under L2, since they may be irrational.
    """
    sizes = {Fraction(end) for safe in safety.values() for end, _ in safe.proved if 0 < end < math.inf}
    sizes |= {safe.broken for safe in safety.values() if safe.broken is not None}
    sizes = {_root_above(size) if squares else _short_above(size) for size in sizes}
    ordered = sorted(sizes)
    if len(ordered) <= _RADII:
        return ordered
    return sorted({ordered[round(k * (len(ordered) - 1) / (_RADII - 1))] for k in range(_RADII)})


def _root_above(square: Fraction) -> Fraction:
    """Return the smallest float with three decimals whose square is at least the given one."""
    decimals = _decimals(math.isqrt(math.ceil(square * 10**6)), Fraction(1, 1000))
    return next(root for root in decimals if root**2 >= square)


def _short_above(size: Fraction) -> Fraction:
    """Return a short size unchanged, otherwise the smallest float with four digits that is at least as
    large.
    """
    if len(number_text(size)) <= _SHORT:
        return size
    unit = Fraction(10) ** (math.floor(math.log10(size)) - 3)
    return next(decimal for decimal in _decimals(math.ceil(size / unit), unit) if decimal >= size)


def _decimals(index: int, unit: Fraction) -> Iterator[Fraction]:
    """Yield the floats nearest to the multiples of a unit, from one index on."""
    return (Fraction(float(number * unit)) for number in count(index))


def radius_text(radius: Fraction) -> str:
    """Format a radius as a user would type it; a long one with four digits.

    Examples
    --------
    >>> [radius_text(Fraction(value)) for value in (0.25, "1/3", 3.735e-05, 0.1234567891)]
    ['0.25', '1/3', '3.735e-05', '0.1235']
    """
    text = number_text(radius)
    return text if len(text) <= _SHORT else roughly(radius, 4)


@dataclass(frozen=True)
class CurvePoint:
    """All samples at one radius; each is counted once."""

    radius: Fraction
    certified: int
    """Correctly classified and proved."""
    on_trust: int
    """Correctly classified; a solver claims that the class stays."""
    refuted: int
    """Correctly classified, or not known to be wrong, and refuted."""
    wrong: int
    """Wrongly classified."""
    open: int
    """The rest: undecided, without an answer, or proved and not known to be right."""

    @property
    def accuracy(self) -> Between:
        """Certified accuracy."""
        total = self.certified + self.on_trust + self.refuted + self.wrong + self.open
        upper = total - self.refuted - self.wrong
        return Between(Fraction(self.certified, total or 1), Fraction(upper, total or 1))

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data; exact numbers are text."""
        return {
            "radius": str(self.radius),
            **self.accuracy.data(),
            "certified": self.certified,
            "on_trust": self.on_trust,
            "refuted": self.refuted,
            "wrong": self.wrong,
            "open": self.open,
        }


@dataclass(frozen=True)
class AccuracyCurve(Plottable):
    """Certified accuracy at several radii; made by `curve_of`.

    Examples
    --------
    >>> from sugenet import Hamming, WhatIf, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> found = sweep(models.digits(), X[:4], WhatIf(each, Hamming), y=y[:4], jobs=1)
    >>> curve = curve_of([found], [1, 2])
    >>> [(str(point.radius), str(point.accuracy)) for point in curve.points]
    [('1', '75.00 %'), ('2', '50.00 %')]

    See Also
    --------
    curve_of : computes a curve.
    SweepTally : summary of one sweep.
    """

    asked: str
    """The region in words, with R for the radius."""
    cost: str
    """How the radius is measured: ``Linf``, ``L2``, ``Hamming`` and so on."""
    samples: int
    accuracy: Between | None
    """Accuracy without any change; None if the true classes are not known."""
    points: tuple[CurvePoint, ...]
    """By increasing radius."""
    has_target: bool = False
    """Whether only changes to one class count, so that this is not certified accuracy."""

    @property
    def what(self) -> str:
        """The quantity on the vertical axis."""
        if self.accuracy is None:
            return "share proved"
        return "share right and proved" if self.has_target else "certified accuracy"

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data; exact numbers are text."""
        return {
            "shows": self.what,
            "region": self.asked,
            "cost": self.cost,
            "samples": self.samples,
            "accuracy": self.accuracy and self.accuracy.data(),
            "points": [point.data() for point in self.points],
        }

    @cached_property
    def table(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return the header of the table and its rows, in words."""
        name = "proved" if self.accuracy is None or self.has_target else "certified"
        rows: list[tuple[str, ...]] = []
        if self.accuracy is not None and all(point.radius for point in self.points):
            rows.append(("0", *self.accuracy.words, *[""] * 5))
        for point in self.points:
            counts = (point.certified, point.on_trust, point.refuted, point.wrong, point.open)
            rows.append(
                (radius_text(point.radius), *point.accuracy.words, *(f"{count:,}" for count in counts))
            )
        head = ("R", "at least", "at most", name, "not certified", "refuted", "wrong", "open")
        return head, tuple(rows)

    def __str__(self) -> str:
        head, rows = self.table
        wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True)).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join([f"{self.what} of {self.samples:,} samples, {self.asked}", *lines])


def curve_points(
    safety: Mapping[int, Safety],
    samples: int,
    radii: Iterable[Fraction],
    *,
    squares: bool = False,
    has_truth: bool | None = None,
) -> tuple[Between | None, tuple[CurvePoint, ...]]:
    """Return the accuracy, and certified accuracy at each radius.

    `squares`: `safety` has squares of radii. If the true classes are not known, every class counts as right,
    and there is no accuracy.
    """
    if has_truth is None:
        has_truth = any(safe.truth is not None for safe in safety.values())
    right = {sample for sample, safe in safety.items() if safe.truth == safe.label or not has_truth}
    wrong = {sample for sample in safety if safety[sample].truth is not None} - right
    points = []
    for radius in sorted(set(radii)):
        size = radius**2 if squares else radius
        counts = dict.fromkeys(("certified", "on_trust", "refuted", "wrong", "open"), 0)
        for sample, safe in safety.items():
            if sample in wrong:
                counts["wrong"] += 1
            elif safe.is_refuted(size):
                counts["refuted"] += 1
            elif sample in right and safe.is_proved(size):
                counts["certified"] += 1
            elif sample in right and safe.is_trusted(size):
                counts["on_trust"] += 1
            else:
                counts["open"] += 1
        counts["open"] += samples - len(safety)
        points.append(CurvePoint(radius, **counts))
    of = max(samples, 1)
    accuracy = Between(Fraction(len(right), of), Fraction(samples - len(wrong), of)) if has_truth else None
    return accuracy, tuple(points)


# -- from results --------------------------------------------------------------------------------------------


def curve_of(results: Sequence[Results], radii: Iterable[Any] | None = None) -> AccuracyCurve:
    """Compute certified accuracy over radii.

    Parameters
    ----------
    results : sequence of Results
        Several sweeps of `Robust` that differ only in the radius, or one of `WhatIf`.
    radii : iterable of numbers, default: None
        The radii, for one sweep of `WhatIf`. None: those at which something changes.

    Returns
    -------
    AccuracyCurve
        Bounds on certified accuracy at each radius.

    Raises
    ------
    QuestionError
        If the sweeps are about different networks, samples or questions. The message names the difference.
        Also if there are no results, a question has no radius, or a radius is negative.
    CapacityError
        If a radius is not a finite number.
    FileError
        If a results file is damaged, or two files give a sample different classes.
    SoundnessError
        If a sample is both proved and refuted at a radius.

    Examples
    --------
    >>> from sugenet import Hamming, WhatIf, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> found = sweep(models.digits(), X[:4], WhatIf(each, Hamming), y=y[:4], jobs=1)
    >>> print(curve_of([found], [1, 2]))
    certified accuracy of 4 samples, up to R bits flipped
    R  at least  at most  certified  not certified  refuted  wrong  open
    0   75.00 %  75.00 %
    1   75.00 %  75.00 %          3         0        0      1     0
    2   50.00 %  50.00 %          2         0        1      1     0

    See Also
    --------
    sweep : returns results.
    AccuracyCurve : the curve.
    Results.tally : summary of one sweep.
    """
    refuse(QuestionError, (not results, "a curve needs results. Give at least one file."))
    first, *others = results
    network, question = first.network, first.question
    if isinstance(question, WhatIf):
        if others:
            raise QuestionError(
                f"{_name(first)} asks whatif, which has the whole curve. Give it alone, without "
                f"{_name(others[0])}."
            )
        squares = question.cost is L2
        safety = safety_of_whatif(first.rows(), question.most)
        sizes = chosen_radii(safety, squares=squares) if radii is None else [_radius(one) for one in radii]
        asked = "a price of up to R" if isinstance(question.cost, Prices) else question.cost.phrase("R")
        cost = question.cost_name
    else:
        sizes = [_radius_of(one) for one in results]
        _check_alike(results, sizes)
        refuse(
            QuestionError,
            (radii is not None, "radii are those of the files, except for one file that asks whatif."),
        )
        squares, safety = (
            False,
            safety_of_radii((r, one.rows()) for r, one in zip(sizes, results, strict=True)),
        )
        assert isinstance(question, Robust)
        cost = type(question.region).__name__
        asked = BALLS[cost].phrase("R")
    known = any(one.has_truths for one in results)
    accuracy, points = curve_points(safety, first.samples, sizes, squares=squares, has_truth=known)
    more = _also(network, question)
    aims = question.target is not None
    return AccuracyCurve(asked + more, cost, first.samples, accuracy, points, aims)


def _also(network: Network, question: Robust | WhatIf) -> str:
    """Return the other conditions of a question, in words."""
    parts = []
    if question.target is not None:
        parts.append(f"only changes to {network.class_texts[class_of(network, question.target)]} count")
    if question.ties == "against":
        parts.append("a tie counts as a change")
    if isinstance(question, WhatIf):
        fixed = network.encoder.features - len(question.movable(network))
        parts += [f"{fixed} feature{'' if fixed == 1 else 's'} must stay"] * bool(fixed)
        parts += [f"within {question.region}"] * (question.region is not None)
    return "".join(f"; {part}" for part in parts)


def _name(results: Results) -> str:
    return "results in memory" if results.path is None else os.path.basename(results.path)


def _radius(value: Any) -> Fraction:
    radius = Fraction(exact_number(value, "radius"))
    refuse(QuestionError, (radius < 0, f"radius is {value}, but a radius is not negative."))
    return radius


def _radius_of(results: Results) -> Fraction:
    question = results.question
    if not isinstance(question, Robust):
        raise QuestionError(
            f"{_name(results)} asks {data_of(results.network, question)['kind']}, but a curve is made of "
            f"sweeps of verify with a radius, or of one of whatif."
        )
    radius = getattr(question.region, "radius", None)
    if radius is None:
        raise QuestionError(f"{_name(results)} asks about {question.region}, which has no radius.")
    return _radius(radius)


def _check_alike(results: Sequence[Results], radii: Sequence[Fraction]) -> None:
    """Refuse sweeps that differ in more than the radius, or not at all."""
    first = results[0]
    seen = {radii[0]: first}
    for other, radius in zip(results[1:], radii[1:], strict=True):
        wrong = _difference(first, other)
        refuse(
            QuestionError, (wrong is not None, f"{_name(first)} and {_name(other)} make no curve: {wrong}.")
        )
        if radius in seen:
            raise QuestionError(
                f"{_name(seen[radius])} and {_name(other)} have the same radius, {radius_text(radius)}. "
                f"Give one of them."
            )
        seen[radius] = other


def _difference(first: Results, other: Results) -> str | None:
    """Return how two sweeps differ apart from the radius; None if they do not."""
    if first.network.fingerprint != other.network.fingerprint:
        mine, its = first.network.fingerprint[:12], other.network.fingerprint[:12]
        return f"one is about the network {mine}, the other about {its}"
    if first.samples != other.samples:
        return f"one is about {first.samples:,} samples, the other about {other.samples:,}"
    if first.digest != other.digest:
        return "they are about other samples, or other true classes"
    asked = [data_of(one.network, one.question) for one in (first, other)]
    for data in asked:
        data["region"] = data["region"]["kind"]  # without the radius
    for name, value in asked[0].items():
        if value != asked[1][name]:
            return f"they differ in more than the radius: {name} {value} and {name} {asked[1][name]}"
    return None
