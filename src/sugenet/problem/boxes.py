"""Boxes of raw values: some features between bounds or at one of several categories,
the others free or as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np

from sugenet.bnn import Network, OneHot, Span
from sugenet.bnn.codings import Coding
from sugenet.brief import Brief
from sugenet.capacity.arguments import exact_number, number_words
from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.problem.moves import Moves, Way, listed
from sugenet.problem.neighbourhood import Neighbourhood, build, pairs_of, place_of

__all__ = ["Box", "limit_words", "limits_data", "limits_of", "meets", "plain", "plain_row", "states_within"]

_LONG = 12
"""A number of more letters is one that nobody wrote."""


@dataclass(frozen=True)
class Box(Brief):
    """Some features between bounds, both included, or at one of several categories;
    the others as they are in the sample.

    Parameters
    ----------
    limits
        For a feature, by name or number from 0: a pair (low, high), None for no bound; a single value; or a
        set of categories.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network, Encoder, integer
    >>> net = Network(Encoder([integer(0, 3)] * 2, ["a", "b"]), [], Head([[1] * 6, [-1] * 6]))
    >>> [(move.feature, move.value) for move in Box({"a": (1, 2)}).around(net, [2, 0]).moves]
    [(0, 1)]
    """

    limits: tuple[tuple[Any, Any], ...]

    def __init__(self, limits: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        object.__setattr__(
            self, "limits", tuple((feature, _frozen(limit)) for feature, limit in pairs_of(limits, "limits"))
        )

    def placed(self, network: Network) -> dict[int, Any]:
        """Limits by number of the feature."""
        found: dict[int, Any] = {}
        for feature, limit in self.limits:
            place = place_of(network, feature)
            if place in found:
                raise QuestionError(
                    f"feature {network.encoder.names[place]} has limits twice. Give what both allow."
                )
            found[place] = limit
        return found

    def around(self, network: Network, x: Any) -> Neighbourhood:
        """The neighbourhood of a raw sample, which must lie in the box itself."""
        values = network.encoder.values(x)
        allowed = self.placed(network)
        for feature, limit in allowed.items():
            if not meets(network.encoder.codings[feature], values[feature], limit):
                name = network.encoder.names[feature]
                raise QuestionError(
                    f"the sample has {name} = {values[feature]!r}, which is outside the "
                    f"box ({limit_words(name, limit)})."
                )
        return self.among(network, values, allowed)

    def of(self, network: Network) -> Neighbourhood:
        """All samples of the box, with features that are not named free."""
        allowed = self.placed(network)
        whole = {feature: allowed.get(feature, (None, None)) for feature in range(network.encoder.features)}
        values = []
        known: dict[Any, dict[int, Any]] = {}
        for feature, (name, coding) in enumerate(
            zip(network.encoder.names, network.encoder.codings, strict=True)
        ):
            key = (id(coding), whole[feature], span := network.domain.span(feature))
            if key not in known:
                known[key] = _options(coding, whole[feature], span)
            if not known[key]:
                raise QuestionError(
                    f"nothing that can occur has {limit_words(name, whole[feature])}: the box is empty."
                )
            values.append(next(iter(known[key].values())))
        return self.among(network, values, whole)

    @staticmethod
    def among(network: Network, values: list[Any], allowed: Mapping[int, Any]) -> Neighbourhood:
        """Features with limits anywhere inside them, the others as they are."""
        near = build(network, values, lambda _, distance, __: distance, None, ())
        nothing = Fraction(0)
        known: dict[Any, tuple[Way, ...]] = {}  # features alike share their ways
        ways: dict[int, tuple[Way, ...]] = {}
        for feature, limit in sorted(allowed.items()):
            coding, value = network.encoder.codings[feature], values[feature]
            key = (id(coding), limit, type(value), value, span := network.domain.span(feature))
            if key not in known:
                options = _options(coding, limit, span, value).items()
                known[key] = tuple(
                    Way(state, there, nothing, nothing, 0)
                    for state, there in options
                    if state != near.states[feature]
                )
            ways[feature] = known[key]
        return Neighbourhood(network, near.sample, near.states, listed(Moves(ways)), None, Fraction(1))

    def words(self, network: Network) -> str:
        """The limits in words, by name and in the order of the features, however they were given.

        Examples
        --------
        >>> from sugenet.bnn import Head, Network, Encoder, integer
        >>> net = Network(Encoder([integer(0, 3)] * 2, ["a", "b"]), [], Head([[1] * 6, [-1] * 6]))
        >>> Box({1: 3, "a": (1, None)}).words(net)
        'a >= 1 and b = 3'
        """
        placed = sorted(self.placed(network).items())
        return str(Box([(network.encoder.names[feature], limit) for feature, limit in placed]))

    def __str__(self) -> str:
        return " and ".join(limit_words(str(feature), limit) for feature, limit in self.limits) or "any input"


def plain(value: Any) -> Any:
    """A raw value as JSON has it: exact fractions as text."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Fraction) else value


def plain_row(values: Sequence[Any]) -> list[Any]:
    """Raw values as JSON has them."""
    if set(map(type, values)) <= {int, float, str}:
        return list(values)
    return [plain(value) for value in values]


def limits_data(network: Network, box: Box) -> list[Any]:
    """The limits of a box as JSON."""
    return [[place, _limit_data(limit)] for place, limit in box.placed(network).items()]


def limits_of(data: Iterable[Any], network: Network) -> Box:
    """The box whose limits these are."""
    return Box([(place, _limit_of(limit, network.encoder.codings[place])) for place, limit in data])


def _limit_data(limit: Any) -> Any:
    if isinstance(limit, frozenset):
        return {"one of": sorted((plain(value) for value in limit), key=str)}
    return [plain(end) for end in limit] if isinstance(limit, tuple) else {"one of": [plain(limit)]}


def _limit_of(data: Any, coding: Coding) -> Any:
    def raw(value: Any) -> Any:
        return value if isinstance(coding, OneHot) or not isinstance(value, str) else exact(value)

    return {raw(value) for value in data["one of"]} if isinstance(data, dict) else tuple(map(raw, data))


def _frozen(limit: Any) -> Any:
    if isinstance(limit, set | frozenset):
        return frozenset(limit)
    return tuple(limit) if isinstance(limit, list | tuple) else limit


def limit_words(name: str, limit: Any) -> str:
    """A limit of a feature in words."""
    if isinstance(limit, frozenset) and len(limit) == 1:
        (limit,) = limit
    if isinstance(limit, frozenset):
        return f"{name} one of {', '.join(sorted(map(number_words, limit)))}"
    if not isinstance(limit, tuple):
        return f"{name} = {number_words(limit)}"
    low, high = limit
    if low is None and high is None:
        return f"{name} anything"
    if low == high:
        return f"{name} = {number_words(low)}"
    under, most = _end_words(high, inf, "<")
    over, least = _end_words(low, -inf, ">" if high is None else "<")
    if low is None or high is None:
        return f"{name} {under} {most}" if low is None else f"{name} {over} {least}"
    return f"{least} {over} {name} {under} {most}"


def _end_words(end: Any, way: float, sign: str) -> tuple[str, str]:
    """A sign and a number: the number next to the end left out, where that is the one that people wrote."""
    own = number_words(end)
    if isinstance(end, float) and len(own) > _LONG:
        beyond = number_words(nextafter(end, way))
        if len(beyond) < len(own) - _LONG // 2:
            return sign, beyond
    return f"{sign}=", own


def meets(coding: Coding, value: Any, limit: Any) -> bool:
    """Whether a raw value is within a limit."""
    if not isinstance(limit, tuple):
        listed = limit if isinstance(limit, frozenset) else (limit,)
        off = not isinstance(coding, OneHot) and coding.bipolar and value in (-1, 0)  # which are alike
        return value in listed or (off and (-1 in listed or 0 in listed))
    if isinstance(coding, OneHot):
        if limit != (None, None):
            raise QuestionError(
                f"bounds {limit} need numbers, but the feature is a category: "
                f"{', '.join(map(str, coding.categories))}."
            )
        return True
    if len(limit) != 2:
        raise QuestionError(f"a limit is a pair (low, high), a value or a set of values, not {limit!r}.")
    number = Fraction(0 if coding.bipolar and value == -1 else value)
    low, high = (None if end is None else Fraction(exact_number(end, "bound")) for end in limit)
    return (low is None or number >= low) and (high is None or number <= high)


def _options(coding: Coding, limit: Any, span: Span | None, near: Any = None) -> dict[int, Any]:
    """States that have a raw value within a limit and a span, each with one such value: the nearest to
    `near`, where that is given.
    """
    if isinstance(coding, OneHot):
        good = {state: c for state, c in enumerate(coding.categories) if span is None or span.holds(c)}
        return {state: c for state, c in good.items() if meets(coding, c, limit)}
    if isinstance(limit, frozenset) or not isinstance(limit, tuple):
        listed = sorted(limit) if isinstance(limit, frozenset) else [limit]
        return {coding.state(value): value for value in listed if span is None or span.holds(value)}
    if len(limit) != 2:
        raise QuestionError(f"a limit is a pair (low, high), a value or a set of values, not {limit!r}.")
    if span is not None and span.values is not None:
        kept = [value for value in span.values if meets(coding, value, limit)]
        wanted = Fraction(0 if near is None else near)
        kept.sort(key=lambda value: -abs(Fraction(value) - wanted))  # of each state the nearest stays
        return dict(sorted({coding.state(value): value for value in kept}.items()))
    low, high = (None if end is None else Fraction(exact_number(end, "bound")) for end in limit)
    if span is not None:
        low, high = _narrower(low, high, span)
    found = {}
    for state in range(coding.states):
        ends = coding.interval(state)
        value = None if ends is None else _inside(ends, low, high, near, whole=coding.whole)
        if value is not None:
            found[state] = value
    return found


def states_within(network: Network, feature: int, limit: Any, value: Any) -> set[int]:
    """States of a feature that have a raw value within a limit that can occur: a sample's own always can."""
    coding = network.encoder.codings[feature]
    found = set(_options(coding, limit, network.domain.span(feature)))
    return found | {coding.state(value)} if meets(coding, value, limit) else found


def _narrower(
    low: Fraction | None, high: Fraction | None, span: Span
) -> tuple[Fraction | None, Fraction | None]:
    lows = [end for end in (low, None if span.low is None else Fraction(span.low)) if end is not None]
    highs = [end for end in (high, None if span.high is None else Fraction(span.high)) if end is not None]
    return max(lows, default=None), min(highs, default=None)


def _inside(
    ends: tuple[float, float], low: Fraction | None, high: Fraction | None, near: Any, *, whole: bool
) -> Any:
    """A number of an interval that also lies between bounds, nearest to `near`; None when there is none.

    A float unless none is inside.
    """
    least = ends[0] if low is None or low <= ends[0] else low
    most = ends[1] if high is None or high >= ends[1] else high
    if whole:
        least = least if least in (inf, -inf) else ceil(least)
        most = most if most in (inf, -inf) else floor(most)
    if least > most:
        return None
    wanted = 0 if near is None else near
    value = min(max(wanted, least), most)
    if whole:
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:  # beyond all floats, which are what can occur
        return None
    for candidate in (nearest, nextafter(nearest, inf), nextafter(nearest, -inf)):
        if least <= candidate <= most and abs(candidate) != inf:
            return candidate
    return value
