"""Minimal sets of nonnegative integer weights that reach a threshold: count, list lazily,
list cheapest first (docs/theory.md 6.8).

A minimal set is written in order of decreasing weight; it is minimal exactly when its last, smallest element
is what makes it reach the threshold. So minimal sets are the paths of a small graph of states (next element,
sum so far), which can be counted and searched without ever being listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate
from math import ceil, gcd, lcm
from typing import Any

import numpy as np

from sugenet.errors import TooLargeError

__all__ = [
    "count_minimal",
    "minimal_sets",
    "ranked_combinations",
    "ranked_minimal_sets",
    "subset_counts",
    "to_integers",
    "window_total",
]

DENSE_BITS = 1 << 32  # counts of all sums as one long integer: at most 512 MiB
DENSE_CELLS = 1 << 26
SPARSE_STATES = 3_000_000
FINISHED = -1
LOW = 40  # bits in the lower part of a cost of over 62 bits, such as sums of floats have


def to_integers(weights: Sequence[Any], theta: Any) -> tuple[list[int], int]:
    """Multiply exact weights and threshold by one number so that all are integers and the sets that
    reach it stay the same.
    """
    scale = lcm(1, *(Fraction(weight).denominator for weight in weights))
    return [int(weight * scale) for weight in weights], ceil(theta * scale)


def subset_counts(weights: Sequence[int], size: int, slot: int) -> int:
    """Number of subsets of each sum below `size`, as one integer with `slot` bits for each sum (a polynomial
    evaluated at 2^slot).
    """
    counts, window = 1, (1 << (slot * size)) - 1
    for weight in weights:
        # a heavier one lands beyond the window, and shifting there could take any amount of memory
        if weight < size:
            counts = (counts + (counts << (slot * weight))) & window
    return counts


def window_total(counts: int, slot: int, low: int, high: int) -> int:
    """Sum the slots low..high-1 of a counts integer; all of them together must fit into one slot."""
    if high <= low:
        return 0
    part = (counts >> (slot * low)) & ((1 << (slot * (high - low))) - 1)
    return part % ((1 << slot) - 1)  # 2^slot = 1 modulo 2^slot - 1, so the remainder is the sum of the slots


def count_minimal(weights: Sequence[int], theta: int, below: int | None = None) -> int:
    """Count the minimal sets with sum >= theta, optionally only those with sum < below.

    Examples
    --------
    >>> count_minimal([3, 2, 2, 1], 4)
    4
    >>> count_minimal([1] * 1000, 500) > 10**298
    True
    """
    if theta <= 0:
        return int(below is None or below > 0)
    falling = sorted((weight for weight in weights if weight), reverse=True)
    slot = len(falling) + 2
    limit = theta + (falling[0] if falling else 0) if below is None else below
    if slot * theta > DENSE_BITS:
        return _count_sparse(falling, theta, limit)
    counts, total, window = 1, 0, (1 << (slot * theta)) - 1
    for weight in falling:
        total += window_total(counts, slot, max(0, theta - weight), min(theta, limit - weight))
        if weight < theta:
            counts = (counts + (counts << (slot * weight))) & window
    return total


def _count_sparse(falling: list[int], theta: int, limit: int) -> int:
    """Count with a dictionary of sums, for weights too large for one slot a sum."""
    rest, total = sum(falling), 0
    counts = {0: 1}
    for weight in falling:
        rest -= weight
        grown: dict[int, int] = {}
        for reached, ways in counts.items():
            if theta <= reached + weight < limit:
                total += ways
            for after in (reached, reached + weight):
                if after < theta <= after + rest:
                    grown[after] = grown.get(after, 0) + ways
        counts = grown
        if len(counts) > SPARSE_STATES:
            raise TooLargeError(
                f"{len(falling)} weights with over {SPARSE_STATES:,} different sums: too many to count "
                "exactly. Write decimal weights as fractions (Fraction('0.1'), not 0.1), "
                "or round them to small integers."
            )
    return total


def minimal_sets(weights: Sequence[Any], theta: Any) -> Iterator[int]:
    """Yield the minimal sets with sum >= theta as masks, lazily, at most n steps apart;
    weights may be any exact numbers.

    Examples
    --------
    >>> [bin(mask) for mask in minimal_sets([3, 2, 2, 1], 4)]
    ['0b11', '0b101', '0b1001', '0b110']
    """
    if theta <= 0:
        yield 0
        return
    order = sorted((i for i, weight in enumerate(weights) if weight), key=lambda i: -weights[i])
    falling = [weights[i] for i in order]
    # rest[k]: what elements k, k+1, ... can still add
    rest = list(accumulate(reversed(falling), initial=0))[::-1]
    stack = [(0, 0, 0)] if rest[0] >= theta else []
    while stack:
        k, reached, mask = stack.pop()
        if reached + rest[k + 1] >= theta:
            stack.append((k + 1, reached, mask))
        reached, mask = reached + falling[k], mask | 1 << order[k]
        if reached >= theta:
            yield mask
        else:
            stack.append((k + 1, reached, mask))


def ranked_combinations(places: Sequence[int], size: int, costs: Sequence[int]) -> Iterator[int]:
    """Yield the sets of `size` places, 1 <= size <= their number, as masks, cheapest first;
    `costs` are by place.

    With places by rising cost, a set is its members' positions. Every set but the first has one parent, with
    its first moved member one step back: so a member moves on while there is room before the next moved one,
    or the member before it begins to move. No set costs less than its parent.

    Examples
    --------
    >>> [bin(mask) for mask in ranked_combinations([0, 1, 2], 2, costs=[9, 1, 5])]
    ['0b110', '0b11', '0b101']
    """
    order = sorted(places, key=lambda place: costs[place])
    price, single = [costs[place] for place in order], [1 << place for place in order]
    # member `size` does not exist: nothing has moved
    heap = [(sum(price[:size]), sum(single[:size]), size, size, len(order))]

    while heap:
        # members from `member` on have moved, it stands at `at`, the next one at `end`
        total, mask, member, at, end = heappop(heap)
        yield mask
        if member < size and at + 1 < end:
            heappush(
                heap,
                (total + price[at + 1] - price[at], mask ^ single[at + 1] ^ single[at], member, at + 1, end),
            )
        before, end = member - 1, at if member < size else end
        if before >= 0 and member < end:
            heappush(
                heap,
                (
                    total + price[member] - price[before],
                    mask ^ single[member] ^ single[before],
                    before,
                    member,
                    end,
                ),
            )


def ranked_minimal_sets(weights: Sequence[int], theta: int, costs: Sequence[int]) -> Iterator[int]:
    """Yield the minimal sets with sum >= theta as masks, cheapest first.

    Best-first search in the graph of states, guided by the exact cost of the cheapest completion,
    so no step is wasted.

    Examples
    --------
    >>> [bin(mask) for mask in ranked_minimal_sets([3, 2, 2, 1], 4, costs=[9, 1, 1, 1])]
    ['0b110', '0b11', '0b101', '0b1001']
    """
    if theta <= 0:
        yield 0
        return
    order = sorted((i for i, weight in enumerate(weights) if weight), key=lambda i: (-weights[i], costs[i]))
    unit = gcd(*(costs[i] for i in order)) or 1
    falling, price = [weights[i] for i in order], [costs[i] // unit for i in order]
    if sum(falling) < theta:
        return
    impossible = sum(price) + 1
    completion = _completions(falling, theta, price, impossible)
    heap = [(completion(0, 0), 0, 0, 0, 0)]
    while heap:
        total, _, k, reached, mask = heappop(heap)
        if k == FINISHED:
            yield mask
            continue
        spent = total - completion(k, reached)
        while True:  # walk down a cheapest path; the other branch of each fork waits in the heap
            after, taken = reached + falling[k], mask | 1 << order[k]
            with_k = spent + price[k] + (0 if after >= theta else completion(k + 1, after))
            without_k = spent + completion(k + 1, reached)
            k += 1
            if with_k == total:
                if without_k < impossible:
                    heappush(heap, (without_k, -k, k, reached, mask))
                if after >= theta:
                    yield taken
                    break
                reached, mask, spent = after, taken, spent + price[k - 1]
            elif with_k < impossible:
                heappush(heap, (with_k, -k, FINISHED if after >= theta else k, after, taken))


def _completions(
    falling: list[int], theta: int, price: list[int], impossible: int
) -> Callable[[int, int], int]:
    """Cost of the cheapest way to complete a state (k, sum so far);
    `impossible` or more where there is none.
    """
    n, rest = len(falling), sum(falling)
    if (n + 1) * theta <= DENSE_CELLS:
        if 1 << 62 <= impossible < 1 << 62 + LOW:
            return _wide_completions(falling, theta, price, impossible)
        dtype = np.int64 if impossible < 1 << 62 else object
        last = np.full(theta, impossible, dtype=dtype)
        rows = [last]
        for k in reversed(range(n)):
            weight = falling[k]
            # sums from theta - weight on are finished by element k
            row = np.full(theta, price[k], dtype=dtype)
            if weight < theta:
                row[: theta - weight] += last[weight:]
            last = np.minimum(row, last)
            rows.append(last)
        rows.reverse()
        return lambda k, reached: rows[k].item(reached)

    sums: list[set[int]] = [{0}]
    for weight in falling:
        rest -= weight
        sums.append({s for reached in sums[-1] for s in (reached, reached + weight) if s < theta <= s + rest})
        if sum(map(len, sums)) > SPARSE_STATES:
            raise TooLargeError(
                f"{n} weights with over {SPARSE_STATES:,} different sums: too many to rank exactly. Write "
                "decimal weights as fractions (Fraction('0.1'), not 0.1), round them to small integers, or "
                "take the focal sets in any order."
            )
    table: list[dict[int, int]] = [{} for _ in sums]
    for k in reversed(range(n)):
        for reached in sums[k]:
            after = reached + falling[k]
            with_k = price[k] + (0 if after >= theta else table[k + 1].get(after, impossible))
            table[k][reached] = min(with_k, table[k + 1].get(reached, impossible))
    return lambda k, reached: table[k].get(reached, impossible)


def _wide_completions(
    falling: list[int], theta: int, price: list[int], impossible: int
) -> Callable[[int, int], int]:
    """The same with costs of up to 102 bits, each in two integers."""
    part = (1 << LOW) - 1
    high, low = np.full(theta, impossible >> LOW), np.full(theta, impossible & part)
    rows = [(high, low)]
    for k in reversed(range(len(falling))):
        weight = falling[k]
        above, below = np.full(theta, price[k] >> LOW), np.full(theta, price[k] & part)
        if weight < theta:
            above[: theta - weight] += high[weight:]
            below[: theta - weight] += low[weight:]
            above += below >> LOW
            below &= part
        cheaper = (above < high) | ((above == high) & (below < low))
        high, low = np.where(cheaper, above, high), np.where(cheaper, below, low)
        rows.append((high, low))
    rows.reverse()
    return lambda k, reached: rows[k][0].item(reached) << LOW | rows[k][1].item(reached)
