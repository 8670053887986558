"""Neighbourhood of a sample: the moves of each feature, their weights, and a budget for the sum of weights.

It also counts the sets of moves within the budget. Weights are integer multiples of a common unit. If exact
costs, such as differences of floats, need more than 60 bits, they are rounded down to multiples of a power of
two. The budget then admits slightly more than it should, never less. A proof for such a neighbourhood holds
for the exact one. A violation counts only if its exact cost is within the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import floor, inf, lcm, prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import QuestionError, TooLargeError
from sugenet.nn import Coding, Network, OneHot, Span, Steps
from sugenet.problem.clock import Clock
from sugenet.problem.moves import FeatureMove, Leads, MoveColumns, Moves, Reached, Way
from sugenet.reprs import ShortRepr

__all__ = [
    "FeatureMove",
    "Neighbourhood",
    "Weigh",
    "build",
    "combinations_of",
    "expansion_seconds",
    "feature_index",
    "features_that_fit",
    "heaviest",
    "is_soon_expanded",
    "joined",
    "meets",
    "one_more",
    "pairs_of",
    "row_of",
    "see_time",
    "sets_within",
    "starts_in",
]

_BITS = 60
_EXACT = 1 << 53
_NUMBERS = ({int}, {float})
_EXACT_SUMS = 500_000
"""Number of steps after which sets are counted with rounded weights."""
_LARGEST = 10**300
_CELLS_A_SECOND = 1 << 26
"""Approximate number of values written per second when a network is expanded."""
_SOON = 1.0
"""If expansion takes more seconds than this, levels are left to engines that read them directly, as long as
those may help.
"""


@dataclass(frozen=True, eq=False)
class Neighbourhood(ShortRepr):
    """All samples that a region allows around one sample.

    A feature makes at most one move, and the weights sum to at most the budget.
    """

    network: Network
    sample: tuple[Any, ...]
    states: tuple[int, ...]
    moves: Moves
    """Ordered by feature."""
    budget: int | None
    """None allows any set of moves."""
    unit: Fraction
    """Value of one unit of weight in the region's own terms."""
    limit: Fraction | None = None
    """Exact limit for the sum of prices; None for no limit."""

    def admits(self, moves: Iterable[FeatureMove]) -> bool:
        """Return whether a set of moves is allowed, by exact prices."""
        chosen = list(moves)
        if len({move.feature for move in chosen}) < len(chosen):
            return False
        return self.limit is None or sum((move.price for move in chosen), Fraction(0)) <= self.limit

    @cached_property
    def columns(self) -> MoveColumns:
        """The moves as arrays."""
        return self.moves.columns()

    def only(self, keep: Callable[[Way], bool]) -> Neighbourhood:
        """Return the neighbourhood with only the moves that `keep` accepts; `keep` must not use
        the feature.
        """
        moves = self.moves.where(keep)
        return self if len(moves) == len(self.moves) else replace(self, moves=moves)

    def fixing(self, features: Collection[int]) -> Neighbourhood:
        """Return the neighbourhood with some features fixed."""
        ways = {feature: rows for feature, rows in self.moves.ways.items() if feature not in features}
        return replace(self, moves=Moves(ways))

    def has(self, move: FeatureMove) -> bool:
        """Return whether the neighbourhood contains a move."""
        return move[1:] in self.moves.ways.get(move.feature, ())

    def move_to(self, feature: int, value: Any) -> FeatureMove | None:
        """Return the move of a feature to a raw value."""
        ways = self.moves.ways.get(feature, ())
        return next((FeatureMove(feature, *way) for way in ways if way.value == value), None)

    def moves_to(self, values: Sequence[Any]) -> tuple[FeatureMove, ...]:
        """Return the moves that take the sample to other raw values, as far as such moves exist."""
        pairs = enumerate(zip(self.sample, values, strict=True))
        moves = (self.move_to(feature, after) for feature, (before, after) in pairs if before != after)
        return tuple(move for move in moves if move is not None)

    @cached_property
    def lightest(self) -> int:
        """The smallest weight of a move; 0 without moves."""
        return int(self.columns.weights.min()) if len(self.moves) else 0

    @property
    def places(self) -> dict[int, slice]:
        """For each movable feature, the slice of its moves."""
        return self.moves.places

    @cached_property
    def sample_states(self) -> npt.NDArray[np.int64]:
        """The states as an array."""
        return np.array(self.states, np.int64)

    @cached_property
    def inputs(self) -> Any:
        """The input of the first layer at the sample itself: one row of levels or bits."""
        network = self.network
        if network.reads_levels:
            return np.array([self.states])
        if network.encoder.has_one_bit_each:
            return network.encoder.bits_of_levels([self.states])
        return network.inputs(row_of(self.sample))

    def moved(self, moves: Iterable[FeatureMove]) -> tuple[Any, ...]:
        """Return the raw sample after some moves."""
        values = list(self.sample)
        for move in moves:
            values[move.feature] = move.value
        return tuple(values)


def starts_in(owners: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return, for sorted numbers, whether each is the first of its value."""
    return np.concatenate([[True], owners[1:] != owners[:-1]])[: len(owners)]


def row_of(values: Iterable[Any]) -> Any:
    """Return one raw sample as an array: of integers or floats if all values are such (fastest to read), else
    of the values as they are.
    """
    row = tuple(values)
    kinds = set(map(type, row))
    if kinds in _NUMBERS:
        array = np.array([row])
        if array.dtype.kind in "if" and array.min() > -_EXACT and array.max() < _EXACT:  # false for NaN
            return array
    array = np.empty((1, len(row)), dtype=object)
    array[0] = row
    return array


Weigh: TypeAlias = Callable[[int, Fraction, int], Fraction | None]
"""Maps the feature, the size of the raw change and the number of bits it flips to the weight of the move;
None if the move is not allowed.
"""


def pairs_of(entries: Any, what: str) -> list[tuple[Any, Any]]:
    """Return pairs of a feature and its entry, from a mapping, an object with `items` such as a series, or
    pairs.
    """
    items = getattr(entries, "items", None)
    try:
        pairs = [
            () if isinstance(pair, str) else tuple(pair) for pair in (items() if callable(items) else entries)
        ]
    except TypeError:
        pairs = [()]
    if any(len(pair) != 2 or hasattr(pair[1], "to_numpy") for pair in pairs):
        raise QuestionError(
            f"{what} are needed by feature, such as {{'age': ...}}, or as pairs of a feature and its value."
        )
    return [(feature, value) for feature, value in pairs]


def feature_index(network: Network, feature: Any) -> int:
    """Return the index of a feature given by name or by index from 0."""
    names = network.encoder.names
    index = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < len(names):
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        raise QuestionError(
            f"there is no feature {feature!r}. Features have names ({shown}), "
            f"or numbers from 0 to {len(names) - 1}."
        )
    return int(index)


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
    """Return all moves of some features that a weighing allows, within a budget.

    Parameters
    ----------
    network, x
        The network that reads the raw sample, and the sample.
    weigh, budget
        The cost of a move (None: its distance), and the budget for all moves together (None: unlimited).
    movable
        Features that may move (default: all).
    by_feature
        Whether the weighing depends on the feature itself.
    far
        How far a feature may move.
    limits
        Limits on features, in addition to the values that can occur. If the sample's own value is outside,
        the cheapest move into the limits becomes part of the sample, and its price is taken off the budget.
        Among equally cheap moves, the move to its own state is preferred, then the lowest state.

    Raises
    ------
    QuestionError
        If the limits and the budget leave no input.
    """
    encoder = network.encoder
    values = encoder.values(x)
    is_row = isinstance(x, np.ndarray) and x.shape == (1, len(values)) and x.dtype.kind in "if"
    states = encoder.levels(x if is_row else row_of(values))[0].tolist()
    allowed = _AllowedMoves(network, weigh, far, limits or {}, by_feature)
    keys = allowed.alike(values)
    if weigh is None and keys is values and movable is None and len(values):
        shared = allowed.leads.ways(encoder.codings[0], values, states)
        if shared is not None:
            moves = Moves(dict(enumerate(map(shared.__getitem__, values))))
            return Neighbourhood(network, tuple(values), tuple(states), moves, None, Fraction(1))
    features = range(encoder.features) if movable is None else sorted(set(movable))
    groups: dict[Any, _Priced] = {}
    starts: dict[Any, tuple[Reached, Fraction]] = {}
    one_of = dict(zip(map(keys.__getitem__, features), features, strict=True))
    for key, feature in one_of.items():
        priced = allowed.of(feature, values[feature], states[feature])
        if allowed.is_outside(feature, values[feature]):
            starts[key], priced = allowed.entered(feature, priced, states[feature])
        groups[key] = priced
    allowed.see_fixed(features, values)
    for feature in features if starts else ():
        if keys[feature] in starts:
            way, price = starts[keys[feature]]
            values[feature], states[feature] = way.value, way.state
            budget = None if budget is None else budget - price
    if budget is not None and budget < 0:
        raise QuestionError("no input within the limits is so near.")
    owners = {feature: keys[feature] for feature in features}
    scale = _scale([([price for _, price in groups[key]], n) for key, n in Counter(owners.values()).items()])
    limit_units = None if budget is None else floor(Fraction(budget) * scale)
    ways = {key: _weighed(group, scale, limit_units) for key, group in groups.items()}
    moves = Moves({feature: ways[key] for feature, key in owners.items()})
    unit = Fraction(1, scale)
    return Neighbourhood(network, tuple(values), tuple(states), moves, limit_units, unit, budget)


_Priced: TypeAlias = list[tuple[Reached, Fraction]]


@dataclass(frozen=True)
class _AllowedMoves:
    """The states that features may move to, each with its price."""

    network: Network
    weigh: Weigh | None
    far: Fraction | None
    limits: Mapping[int, Span]
    by_feature: bool
    known: dict[int, Fraction | None] = field(default_factory=dict)
    """Prices by distance, for codings with every integer; there the distance is the number of bits."""

    @cached_property
    def leads(self) -> Leads:
        """The moves that codings allow from values."""
        return Leads(self.far)

    def alike(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return a key for each feature. Features with the same key have the same moves: they share the
        coding, the value and the span of values that can occur.
        """
        encoder = self.network.encoder
        parts: list[Iterable[Any]] = [values]
        if len(set(map(type, values))) > 1:  # 1 and 1.0 are equal, but move to different values
            parts.append(map(type, values))
        if not encoder.has_one_kind:
            parts.append(encoder.kinds)
        spans = (self.network.domain.limits, self.limits)
        parts += [map(limits.get, range(encoder.features)) for limits in spans if limits]
        if self.by_feature:
            parts.append(range(encoder.features))
        return values if len(parts) == 1 else list(zip(*parts, strict=True))

    def is_outside(self, feature: int, value: Any) -> bool:
        """Return whether a value of the sample is outside the limits of its feature."""
        limit = self.limits.get(feature)
        return limit is not None and not meets(self.network.encoder.codings[feature], value, limit)

    def see_fixed(self, features: Sequence[int], values: Sequence[Any]) -> None:
        """Check that the features that may not move are within their limits."""
        moving = set(features)
        for feature in self.limits:
            if feature not in moving and self.is_outside(feature, values[feature]):
                name = self.network.encoder.names[feature]
                raise QuestionError(f"{name} must stay, and is outside its limits.")

    def of(self, feature: int, value: Any, state: int) -> _Priced:
        """Return the states that a feature may move to.

        Its own state is included if only another value of that state is within the limits.
        """
        coding, span = self.network.encoder.codings[feature], self.network.domain.span(feature)
        both, is_empty = joined(coding, self.limits.get(feature), span)
        reached = [] if is_empty else self.leads(coding, value, state, both)
        is_outside = self.is_outside(feature, value)
        if is_outside and not is_empty:
            move = coding.move(value, state, both)
            if move is not None:
                reached = [*reached, Reached(state, move.value, move.distance, 0)]
        if self.far is not None:
            reached = [way for way in reached if way.distance <= self.far]
        if self.weigh is None:
            return [(way, way.distance) for way in reached]
        if self.by_feature or is_outside or not (isinstance(coding, Steps) and coding.every_step):
            priced = [(way, self.weigh(feature, way.distance, way.flips)) for way in reached]
        else:
            for way in reached:
                if way.flips not in self.known:
                    self.known[way.flips] = self.weigh(feature, way.distance, way.flips)
            priced = [(way, self.known[way.flips]) for way in reached]
        return [(way, price) for way, price in priced if price is not None]

    def entered(self, feature: int, priced: _Priced, state: int) -> tuple[tuple[Reached, Fraction], _Priced]:
        """Return the cheapest move into the limits, and all others with the additional cost over it."""
        if not priced:
            name = self.network.encoder.names[feature]
            raise QuestionError(f"no allowed value of {name} is within its limits.")
        first = min(priced, key=lambda pair: (pair[1], pair[0].state != state, pair[0].state))
        return first, [(way, price - first[1]) for way, price in priced if way is not first[0]]


def _weighed(priced: _Priced, scale: int, limit: int | None) -> tuple[Way, ...]:
    """Return the moves within a budget, by state, with weights in integer units."""
    ways = [
        Way(way.state, way.value, way.distance, price, price.numerator * scale // price.denominator)
        for way, price in priced
    ]
    allowed = ways if limit is None else [way for way in ways if way.weight <= limit]
    return tuple(sorted(allowed, key=lambda way: way.state))


def joined(coding: Coding, one: Span | None, two: Span | None) -> tuple[Span | None, bool]:
    """Return the intersection of two spans of a feature (None: everything), and whether it is empty."""
    if one is None or two is None:
        return one or two, False
    if isinstance(coding, Steps) and coding.bipolar:  # off is both -1 and 0
        kept = tuple(value for value in (0, 1) if coding.holds(one, value) and coding.holds(two, value))
        return Span(values=kept) if kept else None, not kept
    both = one.both(two)
    return both, both is None


def meets(coding: Coding, value: Any, span: Span) -> bool:
    """Return whether a raw value is within a limit."""
    return span.holds(value) if isinstance(coding, OneHot) else coding.holds(span, coding.number(value))


def _scale(groups: Sequence[tuple[list[Fraction], int]]) -> int:
    """Return the common scale of groups of prices, each with its multiplicity."""
    scale = lcm(1, *{price.denominator for prices, _ in groups for price in prices})
    total = sum(
        count * sum(price.numerator * (scale // price.denominator) for price in prices)
        for prices, count in groups
    )
    return scale if total < 1 << _BITS else 1 << max(0, _BITS - 1 - (total // scale).bit_length())


# -- how large it is -----------------------------------------------------------------------------------------


def features_that_fit(near: Neighbourhood, budget: int | None = None) -> int:
    """Return an upper bound on the number of features that a set of moves within the budget changes."""
    limit = near.budget if budget is None else budget
    if limit is None:
        return len(near.places)
    lightest = sorted(int(near.columns.weights[moves].min()) for moves in near.places.values())
    return sum(1 for used in accumulate(lightest) if used <= limit)


def heaviest(near: Neighbourhood) -> int:
    """Return the sum of the heaviest moves of all features; a budget of this size allows any set of moves."""
    return sum(int(near.columns.weights[moves].max()) for moves in near.places.values())


def combinations_of(near: Neighbourhood) -> float:
    """Return the number of ways to choose at most one move per feature, ignoring the budget.

    It is infinite if it exceeds the range of floats.
    """
    return _as_float(prod(moves.stop - moves.start + 1 for moves in near.places.values()))


def sets_within(near: Neighbourhood, budget: int | None = None) -> float:
    """Return the number of allowed sets of moves, including the empty set.

    If costs are finely divided, the number is slightly too large.
    """
    limit = near.budget if budget is None else budget
    if limit is None or limit >= heaviest(near):
        return combinations_of(near)
    by_feature = [Counter(near.columns.weights[moves].tolist()) for moves in near.places.values()]
    totals = {0: 1}
    work = 0
    for weights in by_feature:
        work += len(totals) * len(weights)
        if work > _EXACT_SUMS:
            return _about(by_feature, limit)
        totals = one_more(totals, weights, limit)
    return _as_float(sum(totals.values()))


def one_more(totals: Mapping[int, int], weights: Mapping[int, int], limit: int) -> dict[int, int]:
    """Return the number of sets by total weight, up to a limit, after one more feature is added.

    `totals` counts the sets without the feature, and `weights` counts its moves by weight.
    """
    after = dict(totals)
    for used, count in totals.items():
        for weight, n_moves in weights.items():
            if used + weight <= limit:
                after[used + weight] = after.get(used + weight, 0) + count * n_moves
    return after


def _as_float(count: int) -> float:
    return float(count) if count < _LARGEST else inf


def _about(by_feature: list[Counter[int]], limit: int) -> float:
    """Return the number of sets with weights rounded down to a thousandth of the limit."""
    grain = max(1, limit // 1000)
    counts = np.zeros(limit // grain + 1)
    counts[0] = 1.0
    with np.errstate(over="ignore"):  # infinite if beyond the range of floats
        for weights in by_feature:
            after = counts.copy()
            for weight, n_moves in weights.items():
                step = weight // grain
                if step < len(counts):
                    after[step:] += n_moves * counts[: len(counts) - step]
            counts = after
        return float(counts.sum())


# -- networks of more than two levels ------------------------------------------------------------------------


def expansion_seconds(near: Neighbourhood) -> float:
    """Estimate the seconds needed to expand a network of levels into steps, with the effect of each move on
    them.

    It is 0 if there is nothing to expand.
    """
    if not near.network.has_levels:
        return 0.0
    cells, read = 0, 1
    for number, layer in enumerate(near.network.layers):
        weights, height = layer.weights, layer.height
        if layer.every is None and weights.size:  # a convolution has one kernel per position
            written = layer.outputs * height * (weights.size // len(weights)) * read
            cells += written * (1 if number == 0 else 1 + int(np.abs(weights).max()))
        if number == 0:
            cells += 8 * len(near.moves) * layer.outputs * height
        read = height
    return cells / _CELLS_A_SECOND


def is_soon_expanded(near: Neighbourhood) -> bool:
    """Return whether the network has few steps, or none to expand."""
    return expansion_seconds(near) <= _SOON


def see_time(near: Neighbourhood, clock: Clock) -> None:
    """Check that the remaining time suffices to expand the network; the expansion itself does not check the
    clock.

    Raises
    ------
    TooLargeError
        If it does not.
    """
    left = clock.left()
    if left is not None and expansion_seconds(near) > left:
        raise TooLargeError(
            "writing out all steps of all neurons would take longer than the time that is left. "
            "Allow more time."
        )
