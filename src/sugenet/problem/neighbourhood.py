"""A neighbourhood of a sample: the moves that each feature may make, what each weighs,
and a budget for their sum.

Weights are whole numbers of a common unit. Where exact costs are too finely divided for 60 bits (differences
of floats, say), they are rounded down to multiples of a power of two: then the budget admits a little more
than it should, never less. A proof for such a neighbourhood holds for the exact one; a violation counts only
when its exact cost is within the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import floor, lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot, Span, Steps
from sugenet.bnn.codings import Coding
from sugenet.brief import Brief
from sugenet.errors import QuestionError
from sugenet.problem.moves import Columns, FeatureMove, Moves, Way, columns_of, listed
from sugenet.problem.reaching import Leads, Reached

__all__ = [
    "FeatureMove",
    "Neighbourhood",
    "Weigh",
    "build",
    "joined",
    "pairs_of",
    "place_of",
    "row_of",
    "starts_in",
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
        starts = np.flatnonzero(starts_in(features))
        ends = [*starts.tolist(), len(features)]
        return dict(zip(features[starts].tolist(), map(slice, ends, ends[1:]), strict=True))

    @cached_property
    def own_states(self) -> npt.NDArray[np.int64]:
        """The states as an array."""
        return np.array(self.states, np.int64)

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


def starts_in(owners: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Of numbers in order: where each is the first of its kind."""
    return np.concatenate([[True], owners[1:] != owners[:-1]])[: len(owners)]


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
    weigh: Weigh | None,
    budget: Fraction | None,
    movable: Iterable[int] | None = None,
    *,
    by_feature: bool = False,
    far: Fraction | None = None,
    limits: Mapping[int, Span] | None = None,
) -> Neighbourhood:
    """All moves of some features that a weighing allows, within a budget.

    Parameters
    ----------
    network, x
        What reads the raw sample, and the sample.
    weigh, budget
        What a move costs (nothing if `weigh` is None), and what all moves may cost together.
    movable
        Features that may move (default: all).
    by_feature
        Whether the weighing depends on the feature itself.
    far
        How far a feature may move.
    limits
        What features are limited to besides what can occur. If the sample's own value is outside, the
        cheapest move into the limits becomes part of the sample, and its price is taken off the budget: of
        equal ones that to its own state, then to the lowest.

    Raises
    ------
    QuestionError
        If the limits and the budget leave no input.
    """
    encoder = network.encoder
    values = encoder.values(x)
    is_row = isinstance(x, np.ndarray) and x.shape == (1, len(values)) and x.dtype.kind in "if"
    states = encoder.levels(x if is_row else row_of(values))[0].tolist()
    keys, asked = _alike(network, values, limits, by_feature=by_feature), Leads(far)
    if weigh is None:
        alike = keys is values and movable is None and len(values) > 0
        shared = asked.ways(encoder.codings[0], values, states) if alike else None
        if shared is not None:
            own = {feature: ways for feature, ways in enumerate(map(shared.__getitem__, values)) if ways}
            moves = listed(Moves(own))
            return Neighbourhood(network, tuple(values), tuple(states), moves, None, Fraction(1))

        def weigh(_: int, distance: Fraction, __: int) -> Fraction | None:
            return distance

    groups: dict[Any, list[tuple[Reached, Fraction]]] = {}
    starts: dict[Any, tuple[Reached, Fraction]] = {}
    known: dict[int, Fraction | None] = {}
    features = range(encoder.features) if movable is None else sorted(set(movable))
    one_of = dict(zip(keys if movable is None else map(keys.__getitem__, features), features, strict=True))
    for key, feature in one_of.items():
        coding, state, own_value = encoder.codings[feature], states[feature], values[feature]
        limit = None if limits is None else limits.get(feature)
        both, is_empty = joined(coding, limit, network.domain.span(feature))
        reached = [] if is_empty else asked(coding, own_value, state, both)
        is_outside = limit is not None and not _allows(coding, limit, own_value)
        if is_outside and not is_empty:
            move = coding.move(own_value, state, both)
            if move is not None and (far is None or move.distance <= far):
                reached = [*reached, Reached(state, move.value, move.distance, 0)]
        if far is not None:
            reached = [way for way in reached if way.distance <= far]
        if not by_feature and isinstance(coding, Steps) and coding.every_step and not is_outside:
            # the same price at the same distance, which is the number of bits
            for way in reached:
                if way.flips not in known:
                    known[way.flips] = weigh(feature, way.distance, way.flips)
            priced = [(way, known[way.flips]) for way in reached]
        else:
            priced = [(way, weigh(feature, way.distance, way.flips)) for way in reached]
        group = [(way, price) for way, price in priced if price is not None]
        if is_outside:
            if not group:
                raise QuestionError(f"no allowed value of {encoder.names[feature]} is within its limits.")
            first = starts[key] = min(
                group, key=lambda pair: (pair[1], pair[0].state != state, pair[0].state)
            )
            group = [(way, price - first[1]) for way, price in group if way is not first[0]]
        if group:
            groups[key] = group
    moving = set(features)
    for feature, span in (limits or {}).items():
        if feature not in moving and not _allows(encoder.codings[feature], span, values[feature]):
            raise QuestionError(f"{encoder.names[feature]} must stay, and is outside its limits.")
    for feature in features if starts else ():
        if keys[feature] in starts:
            way, price = starts[keys[feature]]
            values[feature], states[feature] = way.value, way.state
            budget = None if budget is None else budget - price
    if budget is not None and budget < 0:
        raise QuestionError("no input within the limits is so near.")
    owners = {feature: key for feature, key in enumerate(keys) if key in groups}
    if movable is not None:
        owners = {feature: owners[feature] for feature in features if feature in owners}
    scale = _scale(
        [([price for _, price in groups[key]], many) for key, many in Counter(owners.values()).items()]
    )
    limit_units = None if budget is None else floor(Fraction(budget) * scale)
    weighed = {
        key: [
            Way(way.state, way.value, way.distance, price, price.numerator * scale // price.denominator)
            for way, price in group
        ]
        for key, group in groups.items()
    }
    ways = {
        key: tuple(
            sorted(
                (way for way in group if limit_units is None or way.weight <= limit_units),
                key=lambda way: way.state,
            )
        )
        for key, group in weighed.items()
    }
    moves = listed(Moves({feature: ways[key] for feature, key in owners.items()}))
    unit = Fraction(1, scale)
    return Neighbourhood(network, tuple(values), tuple(states), moves, limit_units, unit, budget)


def joined(coding: Coding, one: Span | None, two: Span | None) -> tuple[Span | None, bool]:
    """What two spans of a feature allow together, None for everything; and whether that is nothing."""
    if one is None or two is None:
        return one or two, False
    if isinstance(coding, Steps) and coding.bipolar:  # off is both -1 and 0
        kept = tuple(value for value in (0, 1) if coding.holds(one, value) and coding.holds(two, value))
        return Span(values=kept) if kept else None, not kept
    both = one.both(two)
    return both, both is None


def _allows(coding: Coding, span: Span, value: Any) -> bool:
    return span.holds(value) if isinstance(coding, OneHot) else coding.holds(span, coding.number(value))


def _alike(
    network: Network, values: Sequence[Any], asked: Mapping[int, Span] | None, *, by_feature: bool
) -> Sequence[Any]:
    """For each feature a key that those share which have the same ways to go: of one coding, one value and
    one span of what can occur.
    """
    encoder, limits = network.encoder, network.domain.limits
    parts: list[Iterable[Any]] = [values]
    if len(set(map(type, values))) > 1:  # 1 and 1.0 are equal, and go to other values
        parts.append(map(type, values))
    if not encoder.has_one_kind:
        parts.append(encoder.kinds)
    parts += [map(given.get, range(encoder.features)) for given in (limits, asked) if given]
    if by_feature:
        parts.append(range(encoder.features))
    return values if len(parts) == 1 else list(zip(*parts, strict=True))


def _scale(groups: Sequence[tuple[list[Fraction], int]]) -> int:
    """The same for groups of prices, each as often as is said."""
    scale = lcm(1, *{price.denominator for prices, _ in groups for price in prices})
    total = sum(
        many * sum(price.numerator * (scale // price.denominator) for price in prices)
        for prices, many in groups
    )
    return scale if total < 1 << _BITS else 1 << max(0, _BITS - 1 - (total // scale).bit_length())
