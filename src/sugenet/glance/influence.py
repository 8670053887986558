"""Importance of groups of features: the share of samples that they turn, as a capacity.

A set of groups is worth the share of given samples whose class changes for some values of the features of the
set, while all other features stay. This share grows with the set. Each value is a question that `verify`
answers; those that stay open give bounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from sugenet.capacity import Dense
from sugenet.errors import QuestionError
from sugenet.nn import Network
from sugenet.nn.images import image_of
from sugenet.plottable import Plottable
from sugenet.problem import Clock, Free
from sugenet.reason import Proved, Refuted, Robust, verify
from sugenet.reprs import quoted

__all__ = ["Importance", "Influence", "groups_of", "influence_of", "interval_text"]

_MOST_GROUPS = 12
"""Maximum number of groups: every set of them is a question."""
_ALONE = 7
"""Number of features of a table that are a group of their own."""
_SIDE = 3
"""Number of groups along each side of an image."""
_SECONDS = 1.0
"""Seconds for one question."""

_SAMPLES = 100
"""Maximum number of samples that are asked about."""

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Importance:
    """Importance of one group, or interaction of two: a proved lower and upper bound of each index."""

    groups: tuple[str, ...]
    shapley: Interval
    banzhaf: Interval

    @property
    def is_exact(self) -> bool:
        """Whether both indices are known exactly."""
        return self.shapley[0] == self.shapley[1] and self.banzhaf[0] == self.banzhaf[1]


@dataclass(frozen=True, eq=False)
class Influence(Plottable):
    """Importance of groups of features in turning given samples."""

    network: Network
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    """Name of each group, and its features."""
    samples: tuple[int, ...]
    """Numbers of the samples that were asked about."""
    of: int
    """Number of samples that were to be asked about."""
    lower: tuple[int, ...]
    """For each set of groups, as a bit mask: how many samples it turns, proved by an example each."""
    upper: tuple[int, ...]
    """How many samples it may turn: all but those for which `verify` proved that it does not."""

    @property
    def is_exact(self) -> bool:
        """Whether every question was answered."""
        return bool(self.samples) and self.lower == self.upper

    @property
    def capacity(self) -> Dense | None:
        """The shares as a capacity over the groups; None if a question is open.

        Their largest value is the share of the samples that can be turned at all.
        """
        if not self.is_exact:
            return None
        return Dense([name for name, _ in self.groups], [Fraction(n, len(self.samples)) for n in self.lower])

    def _index(self, members: int, *, is_shapley: bool) -> Interval:
        """Return bounds on the index of a set of groups, which is linear in the shares."""
        n, size, total = len(self.groups), members.bit_count(), max(1, len(self.samples))
        low = high = Fraction(0)
        for mask, ends in enumerate(zip(self.lower, self.upper, strict=True)):
            sign = -1 if (size - (mask & members).bit_count()) % 2 else 1
            others = n - size
            outside = (mask & ~members).bit_count()
            part = (
                Fraction(1, (others + 1) * comb(others, outside)) if is_shapley else Fraction(1, 1 << others)
            )
            small, large = ends if sign > 0 else ends[::-1]
            low += sign * part * small
            high += sign * part * large
        if size == 1:  # the share grows with the set, so the true value is not negative
            low = max(low, Fraction(0))
        return low / total, high / total

    def _importance(self, chosen: Sequence[int]) -> Importance:
        members = sum(1 << k for k in chosen)
        names = tuple(self.groups[k][0] for k in chosen)
        shapley, banzhaf = (self._index(members, is_shapley=yes) for yes in (True, False))
        return Importance(names, shapley, banzhaf)

    @property
    def importance(self) -> list[Importance]:
        """Shapley and Banzhaf value of each group."""
        return [self._importance([k]) for k in range(len(self.groups))]

    @property
    def interactions(self) -> list[Importance]:
        """Shapley and Banzhaf interaction index of each pair of groups, the largest lower bound first.

        Positive: the two turn samples together that neither turns alone. Negative: one replaces the other.
        """
        pairs = [self._importance(pair) for pair in combinations(range(len(self.groups)), 2)]
        return sorted(pairs, key=lambda one: (-one.shapley[0], one.groups))

    def __str__(self) -> str:
        n = len(self.samples)
        if not n:
            return "no sample was asked about in the time"
        among = "" if n == self.of else f" of {self.of:,}"
        known = "exact" if self.is_exact else "bounds, since some questions are open"
        lines = [
            f"Shapley and Banzhaf value of {len(self.groups)} groups of features, {known}: "
            f"the share of {n:,}{among} samples that they turn"
        ]
        ranked = sorted(self.importance, key=lambda one: (-one.shapley[0] - one.shapley[1], one.groups))
        lines += [
            f"  {one.groups[0]}: {interval_text(one.shapley)}, {interval_text(one.banzhaf)}" for one in ranked
        ]
        strong = [one for one in self.interactions if one.shapley[0] > 0][:3]
        lines += [
            f"  {' and '.join(one.groups)} turn more together: interaction {interval_text(one.shapley)}"
            for one in strong
        ]
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        rows = [
            {
                "groups": list(one.groups),
                "shapley": list(map(str, one.shapley)),
                "banzhaf": list(map(str, one.banzhaf)),
            }
            for one in (*self.importance, *self.interactions)
        ]
        return {
            "groups": {name: list(features) for name, features in self.groups},
            "samples": list(self.samples),
            "turned at least": list(self.lower),
            "turned at most": list(self.upper),
            "importance": rows,
        }


def interval_text(ends: Interval) -> str:
    """Return bounds as percentages, rounded outwards.

    Examples
    --------
    >>> interval_text((Fraction(1, 4), Fraction(1, 4))), interval_text((Fraction(1, 3), Fraction(2, 3)))
    ('25.00 %', '33.33 to 66.67 %')
    """
    low, high = int(ends[0] * 10_000 // 1), -int(-ends[1] * 10_000 // 1)
    if ends[0] == ends[1]:
        return f"{float(100 * ends[0]):.2f} %"
    return f"{low / 100:.2f} to {high / 100:.2f} %"


def groups_of(
    network: Network, groups: Mapping[str, Any] | None, ranked: Sequence[int]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return named groups of features.

    By default, the parts of an image, three by three; or single features of a table, those first that come
    first in `ranked`, and all others together.
    """
    names = network.encoder.names
    if groups is not None:
        at = {name: f for f, name in enumerate(names)} | {f: f for f in range(len(names))}
        rows = []
        for name, members in groups.items():
            unknown = next((one for one in members if one not in at), None)
            if unknown is not None:
                raise QuestionError(f"the group {quoted(name)} has no feature {quoted(unknown)} to be about.")
            rows.append((str(name), tuple(sorted({at[one] for one in members}))))
        every = [f for _, members in rows for f in members]
        if not 1 <= len(rows) <= _MOST_GROUPS or len(set(every)) < len(every):
            raise QuestionError(
                f"groups= needs 1 to {_MOST_GROUPS} groups of features, none of them in two groups."
            )
        return tuple(rows)
    image = image_of(network)
    if image is not None:
        columns, tall = image["columns"], image["rows"]
        parts: dict[tuple[int, int], list[int]] = {}
        for f in range(len(names)):
            pixel = f // image["channels"] if image["last"] else f % (columns * tall)
            row, column = divmod(pixel, columns)
            parts.setdefault((row * _SIDE // tall, column * _SIDE // columns), []).append(f)
        words = ("top", "middle", "bottom"), ("left", "centre", "right")
        return tuple((f"{words[0][r]} {words[1][c]}", tuple(parts[r, c])) for r, c in sorted(parts))
    single = sorted(range(len(names)) if len(names) <= _ALONE + 1 else ranked[:_ALONE])
    rest = tuple(f for f in range(len(names)) if f not in single)
    others = [(f"{len(rest)} other features", rest)] if rest else []
    return (*((names[f], (f,)) for f in single), *others)


def influence_of(
    network: Network,
    X: Any,
    numbers: Sequence[int],
    groups: tuple[tuple[str, tuple[int, ...]], ...],
    clock: Clock,
) -> Influence:
    """Return the influence of groups of features on samples, with their numbers in the data set.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[2, 1, 1]], [3])], Head([[-1], [1]]), classes=["off", "on"])
    >>> singles = groups_of(net, None, [0, 1, 2])
    >>> print(influence_of(net, [[1, 1, 1], [-1, -1, -1]], [0, 1], singles, Clock()))
    Shapley and Banzhaf value of 3 groups of features, exact: the share of 2 samples that they turn
      x1: 66.67 %, 75.00 %
      x2: 16.67 %, 25.00 %
      x3: 16.67 %, 25.00 %
    """
    count = 1 << len(groups)
    asked: list[int] = []
    lower, upper = [0] * count, [0] * count
    for row, number in list(zip(X, numbers, strict=True))[:_SAMPLES]:
        if clock.up():
            break
        clock.tell(f"importance of groups: {len(asked):,} samples")
        turned, steady = _turned(network, network.encoder.values(row), groups, clock)
        if clock.up() and not all(a or b for a, b in zip(turned, steady, strict=True)):
            break  # this sample has open questions because the time was up
        asked.append(number)
        for mask in range(count):
            lower[mask] += turned[mask]
            upper[mask] += not steady[mask]
    return Influence(network, groups, tuple(asked), len(numbers), tuple(lower), tuple(upper))


def _turned(
    network: Network, values: Sequence[Any], groups: Sequence[tuple[str, tuple[int, ...]]], clock: Clock
) -> tuple[list[bool], list[bool]]:
    """Return which sets of groups turn a sample, and which do not; small sets are asked about first."""
    count = 1 << len(groups)
    turned, steady = [False] * count, [False] * count
    steady[0] = True
    for mask in sorted(range(1, count), key=lambda mask: (mask.bit_count(), mask)):
        if turned[mask] or clock.up():
            continue
        free = [f for k, (_, members) in enumerate(groups) if mask >> k & 1 for f in members]
        left = clock.left()
        seconds = _SECONDS if left is None else min(left, _SECONDS)
        answer = verify(network, Robust(values, Free(free)), time_limit=seconds, seed=clock.seed)
        if isinstance(answer, Refuted):
            changed = {f for f in free if answer.witness[f] != values[f]}
            small = sum(1 << k for k, (_, members) in enumerate(groups) if changed & set(members))
            for larger in range(count):
                turned[larger] |= larger & small == small
        elif isinstance(answer, Proved):
            steady[mask] = True
    for mask in reversed(range(count)):
        if steady[mask]:  # so is every part of it
            part = mask
            while part:
                steady[part] = True
                part = (part - 1) & mask
    return turned, steady
