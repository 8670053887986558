"""Raw values of a certificate, read once: what a feature has, may have, and how far that is.

To be ensured: a value within limits is one that the encoder takes; a state within limits is missed by
nobody, and the value that stands for it lies within them too. Scores are worked out by the definition, in
fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot, Span, Steps
from sugenet.bnn.codings import Coding
from sugenet.checker.form import exact
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = [
    "ALL_CHANGES",
    "OPTION_BYTES",
    "allowed",
    "bits_flipped",
    "distance",
    "meets",
    "number",
    "raw",
    "row_of",
    "rows_of",
    "scores",
    "top",
]

OPTION_BYTES = 500
"""Bytes that a change takes as Python objects."""
ALL_CHANGES = "the list of all changes that the question allows"


def raw(network: Network, values: Sequence[Any]) -> tuple[Any, ...]:
    """A raw sample of a certificate; fractions are written as text."""
    if not isinstance(values, list | tuple) or len(values) != network.encoder.features:
        raise CertificateError(
            f"a sample has {len(values)} values, but the network reads {network.encoder.features} features."
        )
    pairs = zip(network.encoder.codings, values, strict=True)
    return tuple(
        exact(value) if isinstance(coding, Steps) and isinstance(value, str) else value
        for coding, value in pairs
    )


def rows_of(rows: Sequence[Sequence[Any]]) -> npt.NDArray[Any]:
    """Raw samples as an array that keeps their values: of whole numbers where all are, else of objects."""
    if all(type(value) is int and abs(value) < 1 << 53 for row in rows for value in row):
        return np.array(rows, np.int64).reshape(len(rows), len(rows[0]))
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            array[number, place] = value
    return array


def row_of(values: Sequence[Any]) -> npt.NDArray[Any]:
    """One raw sample as an array: of whole numbers where all are, which is read faster."""
    if all(type(value) is int and abs(value) < 1 << 53 for value in values):
        return np.array([values], np.int64)
    return rows_of([values])


def scores(network: Network, row: Sequence[Any]) -> list[Fraction]:
    """Exact scores of the classes, by the definition."""
    return list(network.head.scores(network.match_counts(row_of(row), engine="definition"))[0])


def top(values: Sequence[Fraction]) -> list[int]:
    """The classes with the highest score, the lowest first."""
    best = max(values)
    return [k for k, value in enumerate(values) if value == best]


def number(coding: Steps, value: Any) -> Fraction:
    """A raw number; of a bipolar bit, -1 is 0."""
    return Fraction(0 if coding.bipolar and value == -1 else value)


def distance(coding: Coding, before: Any, after: Any) -> Fraction:
    """Size of a raw change; 1 between categories."""
    if isinstance(coding, OneHot):
        return Fraction(int(before != after))
    return abs(number(coding, after) - number(coding, before))


def bits_flipped(coding: Coding, before: Any, after: Any) -> int:
    """How many bits of a feature a raw change flips."""
    flipped = coding.bits(coding.state(before)) != coding.bits(coding.state(after))
    silent = coding.silent if isinstance(coding, Steps) else ()
    return int(flipped.sum()) - sum(bool(flipped[place]) for place in silent)


def meets(coding: Coding, value: Any, limit: Any) -> bool:
    """Whether a raw value is within a limit of a certificate: a pair of bounds, or a list of values."""
    if isinstance(limit, dict):
        listed = [
            Fraction(v) if isinstance(coding, Steps) and isinstance(v, str) else v for v in limit["one of"]
        ]
        if isinstance(coding, Steps):
            return number(coding, value) in [number(coding, v) for v in listed]
        return value in listed
    low, high = limit
    if isinstance(coding, OneHot):
        if low is not None or high is not None:
            raise CertificateError("a category has bounds, which only numbers can have.")
        return True
    exactly = number(coding, value)
    return (low is None or exactly >= Fraction(low)) and (high is None or exactly <= Fraction(high))


def allowed(coding: Coding, bounds: Any, limit: Limit, span: Span | None = None) -> list[tuple[int, Any]]:
    """States that have a value within bounds, and within a span, each with such a value."""
    found: dict[int, Any] = {}
    if isinstance(coding, Steps) and isinstance(bounds, dict):
        for value in bounds["one of"]:
            limit.take(OPTION_BYTES, ALL_CHANGES)
            listed = Fraction(value) if isinstance(value, str) else value
            if span is None or span.holds(listed):
                found.setdefault(coding.state(listed), listed)
        return sorted(found.items(), key=lambda pair: pair[0])
    for state in range(coding.states):
        limit.take(OPTION_BYTES, ALL_CHANGES)
        candidates = (
            [coding.categories[state]]
            if isinstance(coding, OneHot)
            else _some_inside(coding, state, bounds, span)
        )
        good = [value for value in candidates if meets(coding, value, bounds)]
        good = [value for value in good if span is None or span.holds(value)]
        if good:
            found[state] = good[0]
    return list(found.items())


def _some_inside(coding: Steps, state: int, limit: Any, span: Span | None) -> list[Any]:
    """Candidates for a value of a state within bounds and a span: the ends of the intervals, zero,
    and their roundings to whole numbers; or the values of the span.
    """
    ends = coding.interval(state)
    if ends is None:
        return []
    if span is not None and span.values is not None:
        return [value for value in span.values if coding.state(value) == state]
    marks = [Fraction(end) for end in ends if abs(end) != float("inf")] + [Fraction(0)]
    marks += [Fraction(end) for end in limit if end is not None]
    if span is not None:
        marks += [Fraction(end) for end in (span.low, span.high) if end is not None]
    if coding.whole:
        marks = [Fraction(way) for mark in marks for way in (mark.__floor__(), mark.__ceil__())]
    inside = [
        m
        for m in marks
        if (ends[0] == -float("inf") or m >= ends[0]) and (ends[1] == float("inf") or m <= ends[1])
    ]
    return [int(m) if coding.whole else m for m in inside]
