"""Limits and laws of inputs that can occur, as the page has them: what a feature may move to, clauses over
its states, and the domain as certificates spell it out.
"""

from __future__ import annotations

from math import inf, isfinite, nextafter
from typing import Any

from sugenet.bnn import Network, Steps
from sugenet.bnn.codings import Coding, Span
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.laws import Law
from sugenet.errors import EncodingError
from sugenet.reason.envelope import domain_data

__all__ = ["certified", "clauses", "limit"]

_EXACT = 1 << 53
"""JavaScript rounds whole numbers beyond."""


def limit(coding: Coding, span: Span) -> tuple[Any, ...] | list[float | None]:
    """What a feature is limited to: two ends, None for no end, or a tuple of its values.

    Examples
    --------
    >>> from fractions import Fraction
    >>> limit(Steps((1.0,), low=0.0), Span(None, Fraction(1, 3)))
    [0.0, 0.3333333333333333]
    >>> limit(Steps((1.0,)), Span(values=(Fraction(1, 3), 2)))
    (2,)
    """
    if not isinstance(coding, Steps):
        return span.values or ()
    if coding.bipolar:  # off, if the span holds -1 or 0
        return tuple(value for value in (0, 1) if coding.holds(span, value))
    if span.values is not None:
        return tuple(value for value in span.values if coding.has(value))
    low = coding.low if span.low is None else max(coding.low, _rounded(span.low, inf))
    high = coding.high if span.high is None else min(coding.high, _rounded(span.high, -inf))
    if low > high or (coding.whole and any(_is_rounded(end) for end in (span.low, span.high))):
        raise EncodingError(f"the page cannot hold limits from {span.low} to {span.high}: it rounds them.")
    return [end if isfinite(end) else None for end in (low, high)]


def _rounded(end: Any, towards: float) -> float:
    """The nearest float from there on: states begin and end at floats, so none is lost."""
    try:
        near = float(end)
    except OverflowError:
        near = inf if end > 0 else -inf
    outside = near < end if towards > 0 else near > end
    return nextafter(near, towards) if outside else near


def _is_rounded(end: Any) -> bool:
    """Whether a bound of integers is too large to be held exactly."""
    return end is not None and abs(end) >= _EXACT and _rounded(end, inf) != end


def clauses(law: Law, encoder: Encoder) -> list[list[list[Any]]]:
    """The clauses of a law: for each literal the feature, the place of its cut or category among those of the
    encoder, and whether it is reached.
    """
    return [
        [[f, _place(encoder.codings[f], at), on] for f, at, on in sorted(clause, key=lambda one: one[0])]
        for clause in law.clauses
    ]


def _place(coding: Coding, at: Any) -> int:
    return coding.cuts.index(at) if isinstance(coding, Steps) else coding.categories.index(at)


def certified(network: Network) -> dict[str, Any] | None:
    """The domain as a certificate has it; None where JavaScript would round it."""
    data: dict[str, Any] = domain_data(network)["domain"]
    ends = [end for _, span in data["limits"] for end in (span["one of"] if isinstance(span, dict) else span)]
    ends += [at for law in data["laws"] for clause in law["clauses"] for _, at, _ in clause]
    return None if any(type(end) is int and abs(end) >= _EXACT for end in ends) else data
