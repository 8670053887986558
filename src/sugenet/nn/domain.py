"""Domains: the inputs that can occur, given by limits of each feature (such as its training range) and laws
over several features. A domain restricts questions; it does not change what the network computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, isnan
from numbers import Real
from typing import Any

from sugenet.capacity.arguments import plain
from sugenet.errors import EncodingError
from sugenet.nn.codings import Coding, Span, Steps
from sugenet.nn.encoder import Encoder
from sugenet.nn.laws import Law
from sugenet.reprs import set_fields

__all__ = ["Domain", "span_data", "span_of"]

_SHOWN = 3
_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
"""A fraction as written in JSON."""


@dataclass(frozen=True)
class Domain:
    """Set of the inputs that can occur, given by limits and laws. Without either, every input can occur.

    Parameters
    ----------
    limits : mapping, default: None
        A `Span` for each limited feature, by index from 0.
    laws : iterable of Law, default: ()
        Conditions that every input obeys.

    Raises
    ------
    NetworkError
        If a limit allows no value.

    Examples
    --------
    >>> from sugenet.nn import threshold
    >>> encoder = Encoder([threshold(18.0, low=0.0), threshold(1.0, low=0.0)], ["age", "packs"])
    >>> domain = Domain({0: Span(0, 90)}, [Law("if packs >= 1 then age >= 16", encoder)])
    >>> print(domain)
    inputs within limits of 1 feature that obey "if packs >= 1 then age >= 16"
    >>> domain.broken([12, 2]), domain.broken([12, 0])
    ('if packs >= 1 then age >= 16', None)

    See Also
    --------
    Network.within : the network for questions about these inputs.
    """

    limits: Mapping[int, Span] = field(default_factory=dict)
    laws: tuple[Law, ...] = ()

    def __init__(self, limits: Mapping[int, Span] | None = None, laws: Iterable[Law] = ()) -> None:
        distinct = tuple({law.text: law for law in laws}.values())
        set_fields(self, limits=dict(sorted((limits or {}).items())), laws=distinct)

    def __bool__(self) -> bool:
        return bool(self.limits or self.laws)

    def __hash__(self) -> int:
        return hash((tuple(self.limits.items()), self.laws))

    def span(self, feature: int) -> Span | None:
        """Return the limit of a feature; None if only its coding limits it."""
        return self.limits.get(feature)

    @cached_property
    def only_limits(self) -> Domain:
        """The same domain without its laws."""
        return Domain(self.limits)

    @cached_property
    def only_laws(self) -> Domain:
        """The same domain without its limits."""
        return Domain({}, self.laws)

    def broken(self, values: Sequence[Any]) -> str | None:
        """Return the text of the first law that a raw sample breaks; None if it obeys all."""
        return next((law.text for law in self.laws if not law.holds(values)), None)

    def outside(self, values: Sequence[Any], features: Iterable[int] | None = None) -> int | None:
        """Return the first feature, of those given or of all, whose value is outside its limits."""
        indices = self.limits if features is None else [f for f in features if f in self.limits]
        return next((f for f in indices if not self.limits[f].holds(values[f])), None)

    def both(self, other: Domain, encoder: Encoder) -> Domain:
        """Return the intersection with another domain."""
        limits = dict(self.limits)
        for feature, limit in other.limits.items():
            mine, span = limits.get(feature), _fitting(limit, encoder.codings[feature])
            joined = span if mine is None or span is None else mine.both(span)
            if joined is None or span is None:
                raise EncodingError(f"no value of {encoder.names[feature]} is within its limits.")
            limits[feature] = joined
        return Domain(limits, (*self.laws, *other.laws))

    def data(self) -> dict[str, Any]:
        """Return the domain as JSON, with laws as they were written."""
        limits = [[feature, span_data(span)] for feature, span in self.limits.items()]
        return {"limits": limits, "laws": [law.text for law in self.laws]}

    @classmethod
    def of(cls, data: Any, encoder: Encoder, each: Callable[[], None] = lambda: None) -> Domain:
        """Read the domain that `data` wrote, for the same features; `each` is called before each law."""
        if not isinstance(data, dict) or sorted(data) != ["laws", "limits"]:
            raise EncodingError("a domain has limits and laws, and nothing else.")
        limits: dict[int, Span] = {}
        for feature, span in data["limits"]:
            if type(feature) is not int or not 0 <= feature < encoder.features or feature in limits:
                raise EncodingError(f"limits of feature {str(feature)[:40]}, which there is not, or twice.")
            limits[feature] = span_of(span, encoder.codings[feature])
        texts = data["laws"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise EncodingError("laws are text.")
        laws = []
        for text in texts:
            each()
            laws.append(Law(text, encoder))
        return cls(limits, laws)

    def __str__(self) -> str:
        parts = []
        if self.limits:
            parts.append(f"within limits of {len(self.limits)} feature{'s' * (len(self.limits) > 1)}")
        if self.laws:
            shown = " and ".join(f'"{law.text}"' for law in self.laws[:_SHOWN])
            more = f" and {len(self.laws) - _SHOWN} more" if len(self.laws) > _SHOWN else ""
            parts.append(f"that obey {shown}{more}")
        return f"inputs {' '.join(parts)}" if parts else "any input"


def _fitting(span: Span, coding: Coding) -> Span | None:
    """Restrict a span to the values of a feature; None if there are none. A bit is off at -1 and at 0."""
    if not isinstance(coding, Steps):
        kept = tuple(value for value in span.values or () if value in coding.categories)
        return Span(values=kept) if kept else None
    bounds = [end for end in (span.low, span.high) if end is not None] if span.values is None else span.values
    if not all(isinstance(value, Real) and not isnan(value) and abs(value) != inf for value in bounds):
        raise EncodingError(f"{span} limits a number, but not by numbers.")
    if coding.bipolar:
        kept = ((-1, 0) if span.holds(0) or span.holds(-1) else ()) + ((1,) if span.holds(1) else ())
    elif span.values is None:
        return span
    else:
        good = (value for value in span.values if coding.low <= value <= coding.high)
        kept = tuple(value for value in good if not coding.whole or value == value // 1)
    return Span(values=kept) if kept else None


def span_data(span: Span) -> Any:
    """Return a span as JSON: two bounds, or a list of values."""
    if span.values is not None:
        return {"one of": [_plain(value) for value in span.values]}
    return [_plain(span.low), _plain(span.high)]


def span_of(data: Any, coding: Coding) -> Span:
    """Read the span that `span_data` wrote."""
    numbers = hasattr(coding, "cuts")

    def raw(value: Any) -> Any:
        if not numbers:
            return value
        if isinstance(value, str):
            if _WRITTEN.fullmatch(value) is None:  # a power could use all memory
                raise EncodingError(f"{value[:40]!r} limits a number, but is not a fraction.")
            return Fraction(value)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or isnan(value)
        ):
            raise EncodingError(f"{str(value)[:40]!r} limits a number, but is none.")
        return value

    if isinstance(data, dict) and list(data) == ["one of"] and isinstance(data["one of"], list):
        return Span(values=tuple(map(raw, data["one of"])))
    if not (numbers and isinstance(data, list) and len(data) == 2):
        raise EncodingError("limits of a feature are two bounds of a number, or {'one of': [values]}.")
    return Span(*map(raw, data))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else plain(value)
