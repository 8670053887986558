"""A neighbourhood of a sample: the moves that each feature may make, what each weighs,
and a budget for their sum.

Weights are whole numbers of a common unit. Where exact costs are too finely divided for 60 bits (differences
of floats, say), they are rounded down to multiples of a power of two: then the budget admits a little more
than it should, never less. A proof for such a neighbourhood holds for the exact one; a violation counts only
when its exact cost is within the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from math import floor, lcm
from typing import Any, ClassVar, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from sugenet.bnn import Network, Span, Steps
from sugenet.bnn.codings import Coding
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.moves import Columns, FeatureMove, Moves, Way, columns_of, listed

__all__ = [
    "FeatureMove",
    "Neighbourhood",
    "Weigh",
    "build",
    "pairs_of",
    "place_of",
    "row_of",
    "whole_weights",
]

_BITS = 60
_EXACT = 1 << 53
_NUMBERS = ({int}, {float})


@dataclass(frozen=True, eq=False)
class Neighbourhood(Brief):
    """All samples that a region allows around one: at most one move a feature,
    weights summing to at most the budget.
    """

    network: Network
    sample: tuple[Any, ...]
    states: tuple[int, ...]
    moves: Sequence[FeatureMove]
    """Ordered by feature."""
    budget: int | None
    """None: any set of moves."""
    unit: Fraction
    """What one unit of weight is worth in the region's own terms."""
    limit: Fraction | None = None
    """What prices may sum to exactly; None: anything."""

    def admits(self, moves: Iterable[FeatureMove]) -> bool:
        """Whether a set of moves is allowed, by exact prices."""
        chosen = list(moves)
        if len({move.feature for move in chosen}) < len(chosen):
            return False
        return self.limit is None or sum((move.price for move in chosen), Fraction(0)) <= self.limit

    @cached_property
    def columns(self) -> Columns:
        """The moves as arrays."""
        return columns_of(self.moves)

    def only(self, keep: Callable[[FeatureMove | Way], bool]) -> Neighbourhood:
        """The same with some of the moves, chosen by anything but their feature."""
        moves = self.moves
        kept = (
            moves.where(lambda _, way: keep(way))
            if isinstance(moves, Moves)
            else tuple(move for move in moves if keep(move))
        )
        return self if len(kept) == len(moves) else replace(self, moves=kept)

    def fixing(self, features: Collection[int]) -> Neighbourhood:
        """The same with some features that stay as they are."""
        moves = self.moves
        if isinstance(moves, Moves):
            return replace(
                self,
                moves=Moves(
                    {feature: ways for feature, ways in moves.ways.items() if feature not in features}
                ),
            )
        return replace(self, moves=tuple(move for move in moves if move.feature not in features))

    def has(self, move: FeatureMove) -> bool:
        """Whether a move is one of these."""
        if isinstance(self.moves, Moves):  # without making them all
            ways = self.moves.ways.get(move.feature, ())
            return any(way.state == move.state and FeatureMove(move.feature, *way) == move for way in ways)
        return move in self.moves[self.places.get(move.feature, slice(0))]

    def move_to(self, feature: int, value: Any) -> FeatureMove | None:
        """The move of a feature to a raw value."""
        if isinstance(self.moves, Moves):  # without making them all
            own = (
                FeatureMove(feature, *way) for way in self.moves.ways.get(feature, ()) if way.value == value
            )
            return next(own, None)
        return next(
            (move for move in self.moves[self.places.get(feature, slice(0))] if move.value == value), None
        )

    def moves_to(self, values: Sequence[Any]) -> tuple[FeatureMove, ...]:
        """What takes the sample to other raw values, as far as there are such moves."""
        pairs = enumerate(zip(self.sample, values, strict=True))
        found = (self.move_to(feature, after) for feature, (before, after) in pairs if before != after)
        return tuple(move for move in found if move is not None)

    @property
    def ways(self) -> dict[int, tuple[Way, ...]]:
        """The moves of each feature that can move, without the feature."""
        moves = self.moves
        if isinstance(moves, Moves):
            return moves.ways
        own = {feature: moves[place] for feature, place in self.places.items()}
        return {
            f: tuple(Way(move.state, move.value, move.distance, move.price, move.weight) for move in row)
            for f, row in own.items()
        }

    @cached_property
    def lightest(self) -> int:
        """The least weight of a move; 0 without moves."""
        return int(self.columns.weights.min()) if len(self.moves) else 0

    @cached_property
    def places(self) -> dict[int, slice]:
        """For each feature that can move, where its moves are."""
        features = self.columns.features
        ends = [*np.flatnonzero(np.diff(features, prepend=-1)).tolist(), len(features)]
        return {int(features[start]): slice(start, stop) for start, stop in pairwise(ends)}

    @cached_property
    def inputs(self) -> Any:
        """What the first layer reads at the sample itself: one row of levels or bits."""
        network = self.network
        if network.reads_levels:
            return np.array([self.states])
        if network.encoder.has_one_bit_each:
            return network.encoder.bits_of_levels([self.states])
        return network.inputs(row_of(self.sample))

    def moved(self, moves: Iterable[FeatureMove]) -> tuple[Any, ...]:
        """The raw sample after some moves."""
        values = list(self.sample)
        for move in moves:
            values[move.feature] = move.value
        return tuple(values)


def row_of(values: Iterable[Any]) -> Any:
    """One raw sample as an array: of whole numbers or floats where all are, which is read fastest, else of
    the values as they are.
    """
    row = tuple(values)
    kinds = set(map(type, row))
    if kinds in _NUMBERS:
        array = np.array([row])
        if array.dtype.kind in "if" and array.min() > -_EXACT and array.max() < _EXACT:  # no NaN is
            return array
    array = np.empty((1, len(row)), dtype=object)
    array[0] = row
    return array


Weigh: TypeAlias = Callable[[int, Fraction, int], Fraction | None]
"""From the feature, the size of the raw change and the number of bits it flips to its weight; None when the
move is not allowed.
"""


def pairs_of(given: Any, what: str) -> list[tuple[Any, Any]]:
    """Features with something said of each: a mapping, anything else that has items as a
    series has, or pairs.
    """
    items = getattr(given, "items", None)
    try:
        pairs = [
            () if isinstance(pair, str) else tuple(pair) for pair in (items() if callable(items) else given)
        ]
    except TypeError:
        pairs = [()]
    if any(len(pair) != 2 or hasattr(pair[1], "to_numpy") for pair in pairs):
        raise QuestionError(
            f"{what} are needed by feature, such as {{'age': ...}}, "
            f"or as pairs of a feature and what is said of it."
        )
    return [(feature, said) for feature, said in pairs]


def place_of(network: Network, feature: Any) -> int:
    """Number of a feature given by name or number from 0."""
    names = network.encoder.names
    place = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        raise QuestionError(
            f"there is no feature {feature!r}. Features have names ({shown}), "
            f"or numbers from 0 to {len(names) - 1}."
        )
    return int(place)


def build(
    network: Network,
    x: Any,
    weigh: Weigh,
    budget: Fraction | None,
    movable: Iterable[int] | None = None,
    *,
    by_feature: bool = False,
    far: Fraction | None = None,
) -> Neighbourhood:
    """All moves of some features that a weighing allows, within a budget; `by_feature`:
    the weighing looks at the feature, too; `far`: how far a number may move.
    """
    encoder = network.encoder
    values = encoder.values(x)
    states = encoder.levels(row_of(values))[0].tolist()
    groups: dict[Any, list[tuple[_Reached, Fraction]]] = {}
    known: dict[int, Fraction | None] = {}
    keys, asked = _alike(network, values, by_feature=by_feature), _Asked(far)
    features = range(encoder.features) if movable is None else sorted(set(movable))
    one_of = dict(zip(keys if movable is None else map(keys.__getitem__, features), features, strict=True))
    nowhere = asked.nowhere(encoder.codings[0], type(values[0])) if keys is values and one_of else ()
    for key, feature in one_of.items():
        if key in nowhere:
            continue
        coding = encoder.codings[feature]
        reached = asked(coding, values[feature], states[feature], network.domain.span(feature))
        if not reached:
            continue
        if not by_feature and isinstance(coding, Steps) and coding.every_step:
            # the same price at the same distance, which is the number of bits
            for way in reached:
                if way.flips not in known:
                    known[way.flips] = weigh(feature, way.distance, way.flips)
            priced = [(way, known[way.flips]) for way in reached]
        else:
            priced = [(way, weigh(feature, way.distance, way.flips)) for way in reached]
        group = [(way, price) for way, price in priced if price is not None]
        if group:
            groups[key] = group
    owners = {feature: key for feature, key in enumerate(keys) if key in groups}
    if movable is not None:
        owners = {feature: owners[feature] for feature in features if feature in owners}
    scale = _scale(
        [([price for _, price in groups[key]], many) for key, many in Counter(owners.values()).items()]
    )
    limit = None if budget is None else floor(Fraction(budget) * scale)
    weighed = {
        key: [
            Way(way.state, way.value, way.distance, price, price.numerator * scale // price.denominator)
            for way, price in group
        ]
        for key, group in groups.items()
    }
    ways = {
        key: tuple(way for way in group if limit is None or way.weight <= limit)
        for key, group in weighed.items()
    }
    moves = listed(Moves({feature: ways[key] for feature, key in owners.items()}))
    return Neighbourhood(network, tuple(values), tuple(states), moves, limit, Fraction(1, scale), budget)


def _alike(network: Network, values: Sequence[Any], *, by_feature: bool) -> Sequence[Any]:
    """For each feature a key that those share which have the same ways to go: of one coding, one value and
    one span of what can occur.
    """
    encoder, limits = network.encoder, network.domain.limits
    parts: list[Iterable[Any]] = [values]
    if len(set(map(type, values))) > 1:  # 1 and 1.0 are equal, and go to other values
        parts.append(map(type, values))
    if not encoder.has_one_kind:
        parts.append(encoder.kinds)
    if limits:
        parts.append(map(limits.get, range(encoder.features)))
    if by_feature:
        parts.append(range(encoder.features))
    return values if len(parts) == 1 else list(zip(*parts, strict=True))


class _Reached(NamedTuple):
    """Another state of a feature: its nearest raw value, how far that is, and how many bits flip."""

    state: int
    value: Any
    distance: Fraction
    flips: int


_Answers: TypeAlias = tuple[dict[Any, list[_Reached]], set[Any]]
"""Where values lead to, and those that lead nowhere."""


class _Asked:
    """Where codings lead to from a value, each asked once:
    the samples of a data set have the same values again and again.
    """

    _kept: ClassVar[WeakKeyDictionary[Steps, dict[Any, _Answers]]] = WeakKeyDictionary()
    _most, _short = 1 << 12, 16
    """How many answers are kept of a coding, and how long each may be."""

    def __init__(self, far: Fraction | None) -> None:
        self.far = far
        self.own: dict[tuple[int, type], _Answers] = {}

    def __call__(self, coding: Coding, here: Any, state: int, span: Span | None) -> list[_Reached]:
        if span is not None or not isinstance(coding, Steps):  # equal ones may have values of other types
            return _reached(coding, here, state, self.far, span)
        known, nowhere = self._of(coding, type(here))
        found = known.get(here)
        if found is None:
            found = _reached(coding, here, state, self.far, None)
            if not found:
                nowhere.add(here)
            if len(found) <= self._short:
                known[here] = found
        return found

    def nowhere(self, coding: Coding, kind: type) -> Collection[Any]:
        """Values of a type from which a coding is known to lead nowhere."""
        return self._of(coding, kind)[1] if isinstance(coding, Steps) else ()

    def _of(self, coding: Steps, kind: type) -> _Answers:
        key = (id(coding), kind)
        if key not in self.own:
            parts = self._kept.setdefault(coding, {})
            if sum(len(known) for known, _ in parts.values()) >= self._most:
                parts.clear()
            self.own[key] = parts.setdefault((kind, self.far), ({}, set()))
        return self.own[key]


def _reached(coding: Coding, here: Any, own: int, far: Fraction | None, span: Span | None) -> list[_Reached]:
    """The other states that can occur: up and down from its own, of numbers as far as one may go."""
    if isinstance(coding, Steps) and coding.every_step:  # very many, and all of them whole numbers
        low = int(coding.low)
        most = coding.states if far is None else min(coding.states, floor(far))
        return [
            _Reached(state, low + state, _whole(abs(state - own)), abs(state - own))
            for state in range(max(0, own - most), min(coding.states, own + most + 1))
            if state != own and (span is None or span.holds(low + state))
        ]
    # a fraction that no float is, or a large number, is taken exactly
    exact = isinstance(coding, Steps) and (
        isinstance(here, Fraction) or (isinstance(here, int) and abs(here) > 1 << 53)
    )
    found = []
    for states in (range(own - 1, -1, -1), range(own + 1, coding.states)):
        for state in states:
            move = coding.move(here, state, span)
            if move is None:
                continue
            distance = abs(Fraction(move.value) - Fraction(here)) if exact else move.distance
            if far is not None and distance > far and isinstance(coding, Steps):
                break  # all behind it are further still, whatever they are limited to
            found.append(_Reached(state, move.value, distance, coding.flips(own, state)))
    return sorted(found, key=lambda way: way.state)


@cache
def _whole(number: int) -> Fraction:
    return Fraction(number)


def whole_weights(prices: Iterable[Fraction]) -> int:
    """How many units make one: a common denominator of all prices,
    or a power of two where their sum would leave 60 bits.
    """
    return _scale([(list(prices), 1)])


def _scale(groups: Sequence[tuple[list[Fraction], int]]) -> int:
    """The same for groups of prices, each as often as is said."""
    scale = lcm(1, *{price.denominator for prices, _ in groups for price in prices})
    total = sum(
        many * sum(price.numerator * (scale // price.denominator) for price in prices)
        for prices, many in groups
    )
    return scale if total < 1 << _BITS else 1 << max(0, _BITS - 1 - (total // scale).bit_length())
