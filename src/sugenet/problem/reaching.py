"""Where the codings of features lead to from a value: the other states, each at its nearest raw value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from sugenet.bnn import Span, Steps
from sugenet.bnn.codings import Coding
from sugenet.problem.moves import Way

__all__ = ["Leads", "Reached"]


class Reached(NamedTuple):
    """Another state of a feature: its nearest raw value, how far that is, and how many bits flip."""

    state: int
    value: Any
    distance: Fraction
    flips: int


_Answers: TypeAlias = tuple[dict[Any, list[Reached]], dict[Any, tuple[Way, ...]]]
"""Where values lead to, and the same at the price of the distance."""


class Leads:
    """Where codings lead to from a value, each asked once:
    the samples of a data set have the same values again and again.
    """

    _kept: ClassVar[WeakKeyDictionary[Steps, dict[Any, _Answers]]] = WeakKeyDictionary()
    _most, _short = 1 << 12, 16
    """How many answers are kept of a coding, and how long each may be."""
    _domain = 1 << 10
    """Values of a coding that are all asked at once."""

    def __init__(self, far: Fraction | None) -> None:
        self.far = far
        self.own: dict[tuple[int, type], _Answers] = {}

    def __call__(self, coding: Coding, here: Any, state: int, span: Span | None) -> list[Reached]:
        if span is not None or not isinstance(coding, Steps):  # equal ones may have values of other types
            return _reached(coding, here, state, self.far, span)
        known = self._of(coding, type(here))[0]
        found = known.get(here)
        if found is None:
            found = _reached(coding, here, state, self.far, None)
            if len(found) <= self._short:
                known[here] = found
        return found

    def ways(
        self, coding: Coding, values: Sequence[Any], states: Sequence[int]
    ) -> dict[Any, tuple[Way, ...]] | None:
        """For each of some values of one type the ways that a coding of few whole numbers leads, each at the
        price of its distance; None for other codings, and where prices might leave 60 bits together.
        """
        if self.far is None or not isinstance(coding, Steps) or not coding.whole:
            return None
        if coding.states > self._short or len(values) * coding.states * self.far >= 1 << 60:
            return None
        found = self._of(coding, type(values[0]))[1]
        missing = set(values) - found.keys()
        if not missing:
            return found
        anywhere = Leads(None)
        small = type(values[0]) is int and coding.high - coding.low < self._domain
        if small and not anywhere._of(coding, int)[0]:  # all of them, for the samples to come
            for value in range(ceil(coding.low), floor(coding.high) + 1):
                anywhere(coding, value, coding.state(value), None)
        for value in missing:
            reached = anywhere(coding, value, states[values.index(value)], None)
            near = (way for way in reached if way.distance <= self.far)
            found[value] = tuple(
                Way(way.state, way.value, way.distance, way.distance, int(way.distance)) for way in near
            )
        return found

    def _of(self, coding: Steps, kind: type) -> _Answers:
        key = (id(coding), kind)
        if key not in self.own:
            parts = self._kept.setdefault(coding, {})
            if sum(len(known) for known, _ in parts.values()) >= self._most:
                parts.clear()
            self.own[key] = parts.setdefault((kind, self.far), ({}, {}))
        return self.own[key]


def _reached(coding: Coding, here: Any, own: int, far: Fraction | None, span: Span | None) -> list[Reached]:
    """The other states that can occur: up and down from its own, of numbers as far as one may go."""
    if isinstance(coding, Steps) and coding.every_step:  # very many, and all of them whole numbers
        low = int(coding.low)
        most = coding.states if far is None else min(coding.states, floor(far))
        return [
            Reached(state, low + state, _whole(abs(state - own)), abs(state - own))
            for state in range(max(0, own - most), min(coding.states, own + most + 1))
            if state != own and (span is None or span.holds(low + state))
        ]
    found = []
    for states in (range(own - 1, -1, -1), range(own + 1, coding.states)):
        for state in states:
            move = coding.move(here, state, span)
            if move is None:
                continue
            if far is not None and move.distance > far and isinstance(coding, Steps):
                break  # all others this way are further still, whatever they are limited to
            found.append(Reached(state, move.value, move.distance, coding.flips(own, state)))
    return sorted(found, key=lambda way: way.state)


@cache
def _whole(number: int) -> Fraction:
    return Fraction(number)
