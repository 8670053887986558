"""Set functions made of others: the conjugate as a view, pointwise join and meet, nested levels."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from heapq import merge
from itertools import islice, pairwise, product
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sugenet.capacity.base import (
    TABLE_LIMIT,
    Costs,
    SetFunction,
    by_cost,
    need_set_function,
    take_all,
    up_to_limit,
)
from sugenet.capacity.criteria import Criteria, bits, minimal_transversals
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes, Scale, Value, common_scale, need_scale
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold, count_minimal, to_integers
from sugenet.errors import CapacityError, CriteriaError
from sugenet.reprs import set_fields

__all__ = ["Conjugate", "Join", "Meet", "Nested"]

Candidates: TypeAlias = Iterator[tuple[int, Value] | None]
"""Candidates for focal sets, with their worth, and None for each set that is not focal, so that this work can
be counted.
"""

WORTHS = "The worth of single sets and the integral need no list."


class _Composite(SetFunction):
    """A set function made of others: its focal sets are among some candidates."""

    is_ranked: ClassVar[bool] = True
    """Whether candidates are in the order of costs."""

    @abstractmethod
    def _candidates(self, costs: Costs = None) -> Candidates:
        """Yield the sets that may be focal, and None in place of those that are not."""

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield the candidates that are focal."""
        if costs is None or self.is_ranked:
            return (pair for pair in self._candidates(costs) if pair is not None)
        instead = "Take them lazily in any order: by=None."
        return iter(by_cost(take_all(self.focal_masks(), "an order by cost", instead), costs))

    def focal_count(self) -> int:
        """Count by a table if one fits, else by listing; sets that are not focal count as work, too."""
        if len(self.criteria) <= TABLE_LIMIT:
            return super().focal_count()
        listed = up_to_limit(self._candidates(), f"the number for a {type(self).__name__}", WORTHS)
        return sum(pair is not None for pair in listed)


@dataclass(frozen=True)
class Conjugate(_Composite):
    """mu^c(A) = 1 - mu(complement of A), computed from `base` on demand.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Conjugate(Focal(["a", "b", "c"], {("a", "b"): 1, ("c",): 0.25}))
    >>> mu({"a"}), sorted(sorted(focal.members) for focal in mu.focal_sets())
    (0.75, [['a'], ['a', 'c'], ['b'], ['b', 'c']])
    """

    is_ranked = False
    base: SetFunction

    def __post_init__(self) -> None:
        need_set_function(self.base, "base")

    @property
    def criteria(self) -> Criteria:  # type: ignore[override]
        """The criteria of the base."""
        return self.base.criteria

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        """The scale of the base."""
        return self.base.scale

    def at(self, mask: int) -> Value:
        """Return 1 - mu(complement)."""
        return self.scale.reverse(self.base.at(self.criteria.full ^ mask))

    def table(self) -> Codes:
        """Return the reversed table of the base."""
        return self.scale.reverse_codes(self.base.table()[::-1])

    def conjugate(self) -> SetFunction:
        """Return the base."""
        return self.base

    def _candidates(self, costs: Costs = None) -> Candidates:  # noqa: ARG002 they come by level
        """Yield minimal transversals, level by level, of the base's focal sets above that level (a strict
        cut, docs/theory.md 6.3).
        """
        full, scale = self.criteria.full, self.scale
        pairs = take_all(
            self.base.focal_masks(),
            "the list of focal sets of a conjugate",
            f"These are those of its base. {WORTHS}",
        )
        for level in sorted({scale.bottom, *(weight for _, weight in pairs)}):
            worth = scale.reverse(level)
            if worth > scale.bottom:
                for mask in minimal_transversals(focal for focal, weight in pairs if weight > level):
                    # if the base is worth less, the set belongs to a lower level and is yielded there
                    yield (mask, worth) if self.base.at(full ^ mask) == level else None

    def _phrase(self) -> str:
        return f"conjugate of ({self.base})"


@dataclass(frozen=True)
class _Combined(_Composite):
    """Shared base class of join and meet: members over the same criteria."""

    members: tuple[SetFunction, ...]
    criteria: Criteria
    scale: Scale

    def __init__(self, members: Iterable[SetFunction]) -> None:
        if not isinstance(members, Iterable):
            name = type(self).__name__
            raise CapacityError(f"{name} of {members!r}: give a list of set functions, {name}([mu, nu]).")
        kept = tuple(members)
        for number, member in enumerate(kept):
            need_set_function(member, f"member {number}")
        if not kept:
            raise CapacityError(f"{type(self).__name__} of no set functions. Give at least one.")
        for other in kept[1:]:
            if other.criteria != kept[0].criteria:
                raise CriteriaError(
                    f"{type(self).__name__} of set functions over different criteria: "
                    f"{kept[0].criteria.show(kept[0].criteria.full)} and "
                    f"{other.criteria.show(other.criteria.full)}. Build them over one Criteria."
                )
        set_fields(
            self,
            members=kept,
            criteria=kept[0].criteria,
            scale=common_scale([member.scale for member in kept]),
        )

    def _tables(self) -> list[Codes]:
        self._fits_table()
        return [self.scale.codes(member.scale.decode(member.table())) for member in self.members]

    def _phrase(self) -> str:
        return (
            f"{type(self).__name__.lower()} of {len(self.members)} set functions over "
            f"{len(self.criteria)} criteria"
        )


@dataclass(frozen=True, init=False)
class Join(_Combined):
    """Pointwise maximum.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold, Necessity
    >>> mu = Join([CardinalityThreshold([1, 2, 3], tau=2), Necessity({1: 1, 2: 0, 3: 0})])
    >>> mu({1}), mu({2}), mu({2, 3}), mu.focal_count()
    (1, 0, 1, 2)
    """

    def at(self, mask: int) -> Value:
        """Return the largest worth that a member gives."""
        return max(member.at(mask) for member in self.members)

    def table(self) -> Codes:
        """Return the maximum of the tables."""
        return reduce(np.maximum, self._tables())

    def conjugate(self) -> SetFunction:
        """Return the meet of the conjugates."""
        return Meet(member.conjugate() for member in self.members)

    def _candidates(self, costs: Costs = None) -> Candidates:
        """Yield the focal sets of the members; some are not focal in the join."""
        for number, mask in _merge([member.focal_masks(costs) for member in self.members], costs):
            kept = self.is_focal(mask) and not any(
                earlier.is_focal(mask) for earlier in self.members[:number]
            )
            yield (mask, self.at(mask)) if kept else None


@dataclass(frozen=True, init=False)
class Meet(_Combined):
    """Pointwise minimum.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold, Possibility
    >>> mu = Meet([CardinalityThreshold([1, 2, 3], tau=2), Possibility({1: 1, 2: 0.5, 3: 0})])
    >>> mu({1}), mu({2, 3}), mu({1, 3})
    (0, 0.5, 1)
    """

    is_ranked = False

    def at(self, mask: int) -> Value:
        """Return the smallest worth that a member gives."""
        return min(member.at(mask) for member in self.members)

    def table(self) -> Codes:
        """Return the minimum of the tables."""
        return reduce(np.minimum, self._tables())

    def conjugate(self) -> SetFunction:
        """Return the join of the conjugates."""
        return Join(member.conjugate() for member in self.members)

    def _candidates(self, costs: Costs = None) -> Candidates:  # noqa: ARG002 unions come in no order of cost
        """Yield unions of one focal set of each member: every focal set of the meet is such a union."""
        seen: set[int] = set()
        instead = f"These are those of one of its members. {WORTHS}"
        listed = [
            take_all(member.focal_masks(), "the list of focal sets of a meet", instead)
            for member in self.members
        ]
        for parts in product(*([mask for mask, _ in pairs] for pairs in listed)):
            mask = reduce(int.__or__, parts)
            kept = mask not in seen and self.is_focal(mask)
            seen.add(mask)
            yield (mask, self.at(mask)) if kept else None


@dataclass(frozen=True)
class Nested(_Composite):
    """max over m of min(a_m, mu_m): a Boolean set function mu_m says which sets reach level a_m
    (docs/theory.md 6.11).

    Every set function on a finite scale has this form, which suits statements such as "3 of 5 is ok, all 5 is
    good". The usual mu_1 >= mu_2 >= ... is not required: a set that reaches a level also reaches all lower
    ones.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold, Ordinal
    >>> scale = Ordinal(["bad", "ok", "good"])
    >>> mu = Nested({"ok": CardinalityThreshold(5, tau=3), "good": CardinalityThreshold(5, tau=5)}, scale)
    >>> mu({1, 2}), mu({1, 2, 4}), mu.focal_count()
    ('bad', 'ok', 11)
    """

    levels: tuple[tuple[Value, SetFunction], ...]
    scale: Scale

    def __init__(self, levels: Mapping[Any, SetFunction], scale: Scale = UNIT) -> None:
        need_scale(scale)
        if not isinstance(levels, Mapping):
            raise CapacityError(
                f"levels is {levels!r}. Give a mapping from levels to Boolean set functions: "
                f"Nested({{1: mu}})."
            )
        checked = sorted(
            ((scale.check(level, "a level"), mu) for level, mu in levels.items()), key=lambda pair: pair[0]
        )
        if not checked:
            raise CapacityError("Nested without levels. Give at least one: Nested({1: mu}).")
        for (level, _), (following, _) in pairwise(checked):
            if level == following:
                raise CapacityError(
                    f"level {level} occurs twice, also as {following!r}. Every level needs one set function."
                )
        if checked[0][0] == scale.bottom:
            raise CapacityError(
                f"level {checked[0][0]} is the bottom of the scale, which every set reaches. Leave it out."
            )
        for level, mu in checked:
            need_set_function(mu, f"level {level}")
            if mu.scale != BOOLEAN:
                raise CapacityError(
                    f"the set function at level {level} has scale {mu.scale}; "
                    f"every level needs a Boolean one."
                )
            if mu.criteria != checked[0][1].criteria:
                raise CriteriaError(
                    f"the set function at level {level} is over other criteria than the first."
                )
        set_fields(self, levels=tuple(checked), scale=scale)

    @property
    def criteria(self) -> Criteria:  # type: ignore[override]
        """The criteria of the members."""
        return self.levels[0][1].criteria

    def at(self, mask: int) -> Value:
        """Return the highest level reached."""
        return next((level for level, mu in reversed(self.levels) if mu.at(mask)), self.scale.bottom)

    def table(self) -> Codes:
        """Return the highest level reached, for all sets."""
        self._fits_table()
        values = self.scale.codes([self.scale.bottom, *(level for level, _ in self.levels)])
        highest = np.zeros(1 << len(self.criteria), np.intp)
        for number, (_, mu) in enumerate(self.levels, start=1):
            highest[mu.table() == 1] = number
        return np.asarray(values[highest])

    def conjugate(self) -> SetFunction:
        """Return a nested function with the conjugates in reverse order if the levels are known to be nested,
        else a view.
        """
        if self._gaps() is None:
            return Conjugate(self)
        lower = [self.scale.bottom, *(level for level, _ in self.levels)]
        flipped = {
            self.scale.reverse(below): mu.conjugate()
            for below, (_, mu) in zip(lower, self.levels, strict=False)
        }
        if self.levels[-1][0] != self.scale.top:
            # no set reaches the top, so in the conjugate all sets do
            flipped[self.scale.reverse(self.levels[-1][0])] = self._always()
        reached = {level: mu for level, mu in flipped.items() if mu.constant != BOOLEAN.bottom}
        return Nested(reached or flipped, self.scale)

    def _always(self) -> SetFunction:
        """Return a function worth 1 on every set, in the form of the levels: a threshold of 0."""
        form = self.levels[-1][1].conjugate().threshold_form()
        assert form is not None
        theta = min(0, form[1])  # below all others, so that the levels stay nested
        mu = self.levels[0][1]
        if isinstance(mu, CardinalityThreshold):
            return CardinalityThreshold(mu.lam, theta, mu.criteria)
        return WeightedThreshold(form[0], theta, mu.criteria)

    def _candidates(self, costs: Costs = None) -> Candidates:
        """Yield the focal sets of each level; some reach a higher one."""
        for number, mask in _merge([mu.focal_masks(costs) for _, mu in self.levels], costs):
            higher = any(mu.at(mask) for _, mu in self.levels[number + 1 :])
            yield None if higher else (mask, self.levels[number][0])

    def focal_count(self) -> int:
        """Count by formula if all levels are thresholds with the same weights, else by table or listing."""
        gaps = self._gaps()
        return super().focal_count() if gaps is None else sum(count_minimal(*gap) for gap in gaps)

    def _gaps(self) -> list[tuple[list[int], int, int | None]] | None:
        """Return the weights, theta and next theta of each level, for thresholds with the same weights and
        increasing thetas.
        """
        forms = [mu.threshold_form() for _, mu in self.levels]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms) or any(weights != known[0][0] for weights, _ in known):
            return None
        thetas = [theta for _, theta in known]
        if thetas != sorted(thetas):
            return None
        gaps = []
        for theta, following in zip(thetas, [*thetas[1:], None], strict=True):
            exact = to_integers([*known[0][0], 0 if following is None else following], theta)
            gaps.append((exact[0][:-1], exact[1], None if following is None else exact[0][-1]))
        return gaps

    def _phrase(self) -> str:
        return "; ".join(f"{level} if {mu}" for level, mu in self.levels)


def _merge(streams: list[Iterator[tuple[int, Value]]], costs: Costs) -> Iterator[tuple[int, int]]:
    """Merge streams of focal sets, by cost if each is ordered by cost, else in turn.

    Yields (index of the stream, mask).
    """
    if costs is None:
        return _in_turn(streams)

    def tagged(number: int, stream: Iterator[tuple[int, Value]]) -> Iterator[tuple[int, int, int]]:
        for mask, _ in stream:
            yield sum(costs[index] for index in bits(mask)), number, mask

    return (
        (number, mask)
        for _, number, mask in merge(*(tagged(number, stream) for number, stream in enumerate(streams)))
    )


def _in_turn(streams: list[Iterator[tuple[int, Value]]]) -> Iterator[tuple[int, int]]:
    """Yield one set of each stream in turn, so that no stream waits for the end of another."""
    running = list(enumerate(streams))
    while running:
        left = []
        for number, stream in running:
            for mask, _ in islice(stream, 1):
                left.append((number, stream))
                yield number, mask
        running = left
