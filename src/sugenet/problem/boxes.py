"""Boxes of raw values: some features between bounds or at one of several categories, the others free or
fixed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np

from sugenet.capacity.arguments import number_text, read_number
from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.nn import Coding, Network, OneHot, Span
from sugenet.nn.domain import span_data
from sugenet.problem.neighbourhood import Neighbourhood, build, feature_index, joined, meets, pairs_of
from sugenet.reprs import ShortRepr
from sugenet.visible import visible

__all__ = ["Box", "limit_text", "limits_data", "limits_of", "plain", "plain_row", "span_of_limit"]

_LONG = 12
"""Numbers with more characters were computed, not written by a person."""


@dataclass(frozen=True)
class Box(ShortRepr):
    """Region with some features between bounds, both included, or at one of several categories.

    The other features stay fixed.

    Parameters
    ----------
    limits : mapping
        The limit of each feature, by name or by index from 0. A limit is a pair (low, high), with None for no
        bound, a single value, or a set of categories.

    Raises
    ------
    QuestionError
        If a limit does not fit its feature.

    Examples
    --------
    >>> from sugenet.nn import Head, Network, Encoder, integer
    >>> net = Network(Encoder([integer(0, 3)] * 2, ["a", "b"]), [], Head([[1] * 6, [-1] * 6]))
    >>> [(move.feature, move.value) for move in Box({"a": (1, 2)}).around(net, [2, 0]).moves]
    [(0, 1)]

    See Also
    --------
    Always : a claim about all inputs within limits.
    Free : features without limits.
    """

    limits: tuple[tuple[Any, Any], ...]

    def __init__(self, limits: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        object.__setattr__(
            self,
            "limits",
            tuple((feature, _frozen(feature, limit)) for feature, limit in pairs_of(limits, "limits")),
        )

    def placed(self, network: Network) -> dict[int, Any]:
        """Return the limits by index of the feature.

        Parameters
        ----------
        network : Network
            The network that is asked about.

        Returns
        -------
        dict
            Limit by index.
        """
        by_index: dict[int, Any] = {}
        for feature, limit in self.limits:
            index = feature_index(network, feature)
            if index in by_index:
                raise QuestionError(
                    f"feature {network.encoder.names[index]} has limits twice. Give their intersection."
                )
            by_index[index] = limit
        return by_index

    def spans(self, network: Network) -> dict[int, Span]:
        """Return the limits by index of the feature, as sets of values.

        Parameters
        ----------
        network : Network
            The network that is asked about.

        Returns
        -------
        dict
            `Span` by index.
        """
        names, codings = network.encoder.names, network.encoder.codings
        return {f: span_of_limit(codings[f], limit, names[f]) for f, limit in self.placed(network).items()}

    def around(self, network: Network, x: Any, limits: Mapping[int, Span] | None = None) -> Neighbourhood:
        """Return the neighbourhood of a raw sample, which must be in the box; `limits` as in `build`.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.
        limits : mapping, default: None
            Further limits of features, by index from 0. None: no further limits.

        Returns
        -------
        Neighbourhood
            The sample and its moves.
        """
        values, spans = network.encoder.values(x), self.see(network, x)
        both = dict(spans)
        for feature, limit in (limits or {}).items():
            span, is_empty = joined(network.encoder.codings[feature], spans.get(feature), limit)
            if span is None or is_empty:
                raise QuestionError(
                    f"nothing in the box has {network.encoder.names[feature]} within its limits."
                )
            both[feature] = span
        return build(network, values, _free, None, spans, limits=both)

    def see(self, network: Network, x: Any) -> dict[int, Span]:
        """Return the limits, after checking that a raw sample meets them.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        x : array, list or mapping
            One raw sample.

        Returns
        -------
        dict
            `Span` by index.
        """
        values, spans = network.encoder.values(x), self.spans(network)
        for feature, span in spans.items():
            if not meets(network.encoder.codings[feature], values[feature], span):
                name = network.encoder.names[feature]
                raise QuestionError(
                    f"the sample has {name} = {values[feature]!r}, which is outside the "
                    f"box ({limit_text(name, self.placed(network)[feature])})."
                )
        return spans

    def of(self, network: Network) -> Neighbourhood:
        """Return all samples of the box; features that are not named are free."""
        spans, values = self.spans(network), []
        known: dict[Any, Any] = {}
        for feature, (name, coding) in enumerate(
            zip(network.encoder.names, network.encoder.codings, strict=True)
        ):
            span, domain = spans.get(feature), network.domain.span(feature)
            key = (id(coding), span, domain)
            if key not in known:
                both, is_empty = joined(coding, span, domain)
                known[key] = [] if is_empty else list(_first(coding, both))
            if not known[key]:
                limit = self.placed(network).get(feature, (None, None))
                raise QuestionError(
                    f"nothing that can occur has {limit_text(name, limit)}: the box is empty."
                )
            values.append(known[key][0])
        return build(network, values, _free, None, limits=spans)

    def words(self, network: Network) -> str:
        """Return the limits in words, by name and in the order of the features, however they were given.

        Features without limits are free.

        Parameters
        ----------
        network : Network
            The network that is asked about.

        Returns
        -------
        str
            The limits, separated by commas.

        Examples
        --------
        >>> from sugenet.nn import Head, Network, Encoder, integer
        >>> net = Network(Encoder([integer(0, 3)] * 2, ["a", "b"]), [], Head([[1] * 6, [-1] * 6]))
        >>> Box({1: {3.0}, "a": (1, None)}).words(net), Box({}).words(net)
        ('a >= 1 and b = 3', 'any input')
        """
        spans, names = sorted(self.spans(network).items()), network.encoder.names
        return str(Box([(names[feature], _limit(span)) for feature, span in spans])) if spans else "any input"

    def __str__(self) -> str:  # around a sample, features without limits stay fixed
        return " and ".join(limit_text(str(f), limit) for f, limit in self.limits) or "no feature changed"


def _free(_feature: int, _distance: Fraction, _flips: int) -> Fraction:
    return _NOTHING


_NOTHING = Fraction(0)


def _first(coding: Coding, span: Span | None) -> Iterator[Any]:
    """Yield a value of the first state that has one within a span."""
    if isinstance(coding, OneHot):
        yield from (c for c in coding.categories if span is None or span.holds(c))
        return
    low, high = coding.ends
    seed = min(max(0, low), high)
    for state in range(coding.states):
        move = coding.move(seed, state, span)
        if move is not None:
            yield move.value
            return


def span_of_limit(coding: Coding, limit: Any, name: str) -> Span:
    """Return a limit as a set of values: a pair of bounds, a value, or a set of values."""
    if isinstance(limit, tuple):
        if len(limit) != 2:
            raise QuestionError(f"a limit is a pair (low, high), a value or a set of values, not {limit!r}.")
        if isinstance(coding, OneHot):
            if limit == (None, None):
                return Span(values=coding.categories)
            raise QuestionError(
                f"bounds {limit} need numbers, but the feature is a category: "
                f"{', '.join(map(str, coding.categories))}."
            )
        low, high = limit
        if low is not None and high is not None and low > high:
            raise QuestionError(f"no number is from {low} to {high}: the limits of {name} are empty.")
        return Span(low, high)
    listed = limit if isinstance(limit, frozenset) else (limit,)
    if not listed:
        raise QuestionError(f"the limits of {name} allow no value.")
    if isinstance(coding, OneHot):
        states = {coding.state(value) for value in listed}  # raises if a value is not a category
        return Span(values=tuple(coding.categories[state] for state in sorted(states)))
    return Span(values=tuple(sorted({coding.number(value) for value in listed})))


def _limit(span: Span) -> Any:
    """Return a set of values as a limit."""
    return (span.low, span.high) if span.values is None else frozenset(span.values)


def plain(value: Any) -> Any:
    """Return a raw value as in JSON: exact fractions as text."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Fraction) else value


def plain_row(values: Sequence[Any], network: Network | None = None) -> list[Any]:
    """Return raw values as in JSON: categories as in the network, numbers as integers or floats."""
    if set(map(type, values)) <= {int, float, str} and (network is None or network.encoder.tops is not None):
        return list(values)
    if network is None or network.passes_reals:
        return [plain(value) for value in values]
    return [
        coding.categories[coding.state(value)]
        if isinstance(coding, OneHot)
        else -1
        if coding.bipolar and value == -1
        else coding.number(value)
        for coding, value in zip(network.encoder.codings, values, strict=True)
    ]


def limits_data(network: Network, box: Box) -> list[Any]:
    """Return the limits of a box as JSON."""
    return [[index, span_data(span)] for index, span in box.spans(network).items()]


def limits_of(data: Iterable[Any], network: Network) -> Box:
    """Return the box with these limits."""
    return Box([(index, _limit_of(limit, network.encoder.codings[index])) for index, limit in data])


def _limit_of(data: Any, coding: Coding) -> Any:
    def raw(value: Any) -> Any:
        return value if isinstance(coding, OneHot) or not isinstance(value, str) else exact(value)

    if not isinstance(data, dict):
        return tuple(map(raw, data))
    values = [raw(value) for value in data["one of"]]
    return values[0] if len(values) == 1 else set(values)


def _frozen(feature: Any, limit: Any) -> Any:
    """Return an immutable limit with its bounds parsed; a bool is 1 or 0."""
    if isinstance(limit, set | frozenset):
        return frozenset(limit)
    if not isinstance(limit, list | tuple):
        return limit
    ends = (int(end) if isinstance(end, bool | np.bool_) else end for end in limit)
    what = f"a bound of {feature}"
    return tuple(None if end is None else read_number(end, what, QuestionError) for end in ends)


def limit_text(name: str, limit: Any) -> str:
    """Return a limit of a feature in words."""
    name = visible(name)
    if isinstance(limit, frozenset) and len(limit) == 1:
        (limit,) = limit
    if isinstance(limit, frozenset):
        return f"{name} one of {', '.join(sorted(map(number_text, limit)))}"
    if not isinstance(limit, tuple):
        return f"{name} = {number_text(limit)}"
    low, high = limit
    if low is None and high is None:
        return f"{name} anything"
    if low == high:
        return f"{name} = {number_text(low)}"
    under, high_text = _end_text(high, inf, "<")
    over, low_text = _end_text(low, -inf, ">" if high is None else "<")
    if low is None or high is None:
        return f"{name} {under} {high_text}" if low is None else f"{name} {over} {low_text}"
    return f"{low_text} {over} {name} {under} {high_text}"


def _end_text(end: Any, way: float, sign: str) -> tuple[str, str]:
    """Return a sign and a number. A long end next to a short number is shown as that number, excluded."""
    text = number_text(end)
    if isinstance(end, float) and len(text) > _LONG:
        beyond = number_text(nextafter(end, way))
        if len(beyond) < len(text) - _LONG // 2:
            return sign, beyond
    return f"{sign}=", text
