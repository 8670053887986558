"""Minimal level vectors: the least levels of several inputs whose gains together reach what is needed
(docs/theory.md 3.3).

Each input has rising gains, 0 first. A vector takes one gain of each; it is minimal when no gain that it
takes can be lowered by one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

__all__ = ["Gains", "count_minimal", "minimal_vectors"]

Gains = Sequence[Sequence[int]]

_COUNT_WORK = 1 << 24


def minimal_vectors(gains: Gains, need: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the minimal vectors lazily, as (input, gain) for the inputs whose gain is not 0, beginning with
    one of the fewest inputs.

    Examples
    --------
    >>> list(minimal_vectors([[0, 2, 4], [0, 1]], need=3))
    [((0, 4),), ((0, 2), (1, 1))]
    """
    if need <= 0:
        yield ()
        return
    order = sorted(range(len(gains)), key=lambda i: -gains[i][-1])
    rest = list(accumulate((gains[i][-1] for i in reversed(order)), initial=0))[::-1]
    stack: list[tuple[int, int, int, tuple[tuple[int, int], ...]]] = [(0, 0, 1 << 62, ())]
    while stack:
        k, total, least_step, chosen = stack.pop()
        if total >= need:
            if total - need < least_step:
                yield tuple(sorted(chosen))
            continue
        if k == len(order) or total + rest[k] < need:
            continue
        stack.append((k + 1, total, least_step, chosen))
        for below, gain in pairwise(gains[order[k]]):
            step = min(least_step, gain - below)
            if total + gain - need < step:  # else this gain, or one before, could be lowered
                stack.append((k + 1, total + gain, step, (*chosen, (order[k], gain))))


def count_minimal(gains: Gains, need: int) -> int | None:
    """Exact number of minimal vectors, or None where counting them would take too long."""
    if need <= 0:
        return 1
    steps = {b - a for own in gains for a, b in pairwise(own)}
    work = (max(steps, default=0)) * need * sum(map(len, gains))
    if work > _COUNT_WORK:
        return None
    total = 0
    # vectors whose sum exceeds the need by this much: all steps must be larger
    for excess in range(max(steps, default=0)):
        target = need + excess
        ways = [1] + [0] * target
        for own in gains:
            allowed = [b for a, b in pairwise(own) if b - a > excess]
            if allowed:
                ways = [w + sum(ways[s - gain] for gain in allowed if gain <= s) for s, w in enumerate(ways)]
        total += ways[target]
    return total
