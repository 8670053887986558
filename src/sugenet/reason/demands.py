"""The least change of one neuron after which it is on at some inputs and off at others (for `rectify`).

One step moves the threshold by one, or a weight to the next value of its layer. Inputs with the
same weight and the same values in all demands are interchangeable, so only their numbers count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, pairwise

import numpy as np

from sugenet.nn.arrays import Ints

__all__ = ["Demand", "NeuronChange", "settled"]

_STATES = 50_000
"""Maximum number of changes that are looked at for one neuron."""

Demand = tuple[tuple[int, ...], bool]
"""Inputs of a neuron, and whether it must be on."""


@dataclass(frozen=True)
class NeuronChange:
    """A neuron that meets all demands; without a `row`, it was not found, and `size` is a lower bound."""

    size: int
    row: Ints | None
    tau: int


def _part(weight: int, value: int, top: int) -> int:
    """Return what an input adds to the match count."""
    return weight * value if weight >= 0 else -weight * (top - value)


def settled(
    row: Sequence[int], tau: int, tops: Sequence[int], values: Sequence[int], demands: Sequence[Demand]
) -> NeuronChange | None:
    """Return the least change of a neuron that meets all demands; None if no change does.

    Examples
    --------
    >>> found = settled([1, 1, 1], 2, [1, 1, 1], [-1, 1], [((1, 1, 0), False), ((0, 0, 1), True)])
    >>> found.size, found.row.tolist(), found.tau
    (1, [-1, 1, 1], 2)
    """
    members: dict[tuple[int, ...], list[int]] = {}
    for i, (weight, top) in enumerate(zip(row, tops, strict=True)):
        members.setdefault((weight, top, *(inputs[i] for inputs, _ in demands)), []).append(i)
    groups = list(members)
    at = {value: k for k, value in enumerate(values)}
    # what one input of a group adds to each match count if its weight moves, and how many steps that takes
    gains, steps = {}, {}
    for g, (weight, top, *seen) in enumerate(groups):
        for value in values:
            if value != weight and top:
                gains[g, value] = [_part(value, v, top) - _part(weight, v, top) for v in seen]
                steps[g, value] = abs(at[value] - at[weight])
    widest = max((b - a for a, b in pairwise(values)), default=0)
    rate = max(1, widest * max((top for _, top, *_ in groups), default=0))
    base = [sum(_part(w, v, t) for w, v, t in zip(row, inputs, tops, strict=True)) for inputs, _ in demands]
    is_on = [on for _, on in demands]

    def bound(counts: Sequence[int], level: int) -> int:
        """Return a lower bound on the number of steps that are left."""
        low = min((c for c, on in zip(counts, is_on, strict=True) if on), default=None)
        high = max((c for c, on in zip(counts, is_on, strict=True) if not on), default=None)
        gap = max(0 if low is None else level - low, 0 if high is None else high + 1 - level)
        apart = 0 if low is None or high is None else high + 1 - low
        return max(0, -(-gap // rate), -(-apart // (2 * rate)))

    tick = count()
    start: tuple[int, tuple[tuple[tuple[int, int], int], ...]] = (tau, ())
    waiting = [(bound(base, tau), 0, next(tick), 0, start, tuple(base))]
    best = {start: 0}
    for _ in range(_STATES):
        if not waiting:
            return None
        *_, spent, state, counts = heappop(waiting)
        if spent > best[state]:
            continue
        level, moved = state
        worst = max(
            range(len(demands)),
            key=lambda k: level - counts[k] if is_on[k] else counts[k] + 1 - level,
            default=0,
        )
        if not demands or (counts[worst] >= level) == is_on[worst]:
            new = np.array(row)
            for (g, value), number in moved:
                free = [i for i in members[groups[g]] if new[i] == row[i]]
                new[free[:number]] = value
            return NeuronChange(spent, new, level)
        sign = 1 if is_on[worst] else -1
        after = [(spent + 1, (level - sign, moved), counts)]
        used = dict(moved)
        for (g, value), gain in gains.items():
            full = sum(number for (h, _), number in moved if h == g) >= len(members[groups[g]])
            if gain[worst] * sign <= 0 or full:
                continue
            more = tuple(sorted({**used, (g, value): used.get((g, value), 0) + 1}.items()))
            total = tuple(c + d for c, d in zip(counts, gain, strict=True))
            after.append((spent + steps[g, value], (level, more), total))
        for cost, other, total in after:
            if cost < best.get(other, cost + 1):
                best[other] = cost
                heappush(waiting, (cost + bound(total, other[0]), -cost, next(tick), cost, other, total))
    return NeuronChange(min((row[0] for row in waiting), default=0), None, tau)
