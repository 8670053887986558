"""Threshold capacities: at least tau of some literals (the paper's mu_{w,tau}), or weights that reach theta
(paper section 2.2).

The module also counts the minimal sets of nonnegative integer weights that reach a threshold, and lists them
lazily or cheapest first (docs/theory.md 6.8).

A minimal set is written in order of decreasing weight. It is minimal if and only if it reaches the threshold
only with its last, smallest element. So minimal sets are the paths of a small graph of states (next element,
sum so far), which can be counted and searched without being listed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, combinations
from math import ceil, comb, gcd, lcm
from typing import Any

import numpy as np

from sugenet.capacity.arguments import exact_number, in_order, plain, show_number
from sugenet.capacity.base import Costs, SetFunction
from sugenet.capacity.criteria import Criteria, Criterion, bits
from sugenet.capacity.scales import BOOLEAN, Boolean, Codes, Value
from sugenet.errors import CapacityError, CriteriaError, TooLargeError
from sugenet.reprs import set_fields

__all__ = [
    "CardinalityThreshold",
    "WeightedThreshold",
    "count_minimal",
    "exact_number",
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
LOW = 40  # bits in the lower part of a cost of over 62 bits, as sums of floats can have


def to_integers(weights: Sequence[Any], theta: Any) -> tuple[list[int], int]:
    """Multiply exact weights and threshold by one number so that all are integers; the same sets reach it."""
    scale = lcm(1, *(Fraction(weight).denominator for weight in weights))
    return [int(weight * scale) for weight in weights], ceil(theta * scale)


def subset_counts(weights: Sequence[int], size: int, slot: int) -> int:
    """Return the number of subsets of each sum below `size`, as one integer with `slot` bits per sum (a
    polynomial evaluated at 2^slot).
    """
    counts, window = 1, (1 << (slot * size)) - 1
    for weight in weights:
        # a heavier one lies beyond the window, and shifting there could take any amount of memory
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
    """Count with a dictionary of sums, for weights too large for one slot per sum."""
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
    """Yield the minimal sets with sum >= theta as masks, lazily, at most n steps apart; weights may be any
    exact numbers.

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
    # rest[k]: the total that elements k, k+1, ... can still add
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


def ranked_combinations(indices: Sequence[int], size: int, costs: Sequence[int]) -> Iterator[int]:
    """Yield the sets of `size` indices, 1 <= size <= their number, as masks, cheapest first; `costs` are by
    index.

    With indices sorted by cost, a set is the positions of its members. Every set but the first has one
    parent, in which its first moved member is one step back. So a child moves that member on if the next
    moved one leaves a gap, or starts to move the member before it. No set costs less than its parent.

    Examples
    --------
    >>> [bin(mask) for mask in ranked_combinations([0, 1, 2], 2, costs=[9, 1, 5])]
    ['0b110', '0b11', '0b101']
    """
    order = sorted(indices, key=lambda index: costs[index])
    price, single = [costs[index] for index in order], [1 << index for index in order]
    # member `size` does not exist: nothing has moved
    heap = [(sum(price[:size]), sum(single[:size]), size, size, len(order))]

    while heap:
        # members from `member` on have moved; it is at `at`, the next one at `end`
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

    Best-first search in the graph of states, guided by the exact cost of the cheapest completion, so no step
    is wasted.

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
        while True:  # follow a cheapest path; the other branch of each fork waits in the heap
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
    """Return the cost of the cheapest completion of a state (k, sum so far); `impossible` or more if there is
    none.
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
    """Return the same with costs of up to 102 bits, each in two integers."""
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


@dataclass(frozen=True)
class CardinalityThreshold(SetFunction):
    """A set function worth 1 on the sets with at least `tau` members of `lam`, else 0 (docs/theory.md 6.7).

    Parameters
    ----------
    lam
        The criteria or literals that count; an integer n means 1..n.
    tau
        The number that must hold. Below 1 every set is worth 1, above the size of `lam` every set is worth 0.
        Such a function is not a capacity, but it is a valid set function, and `is_capacity` is False.
    criteria
        All criteria, if there are more than `lam`: for a neuron the 2n literals, `Criteria.literals(n)`.

    Examples
    --------
    The neuron of the paper's Example 1:

    >>> mu = CardinalityThreshold({1, 2, -3, 4}, tau=2, criteria=Criteria.literals(4))
    >>> mu({1}), mu({1, 2}), mu({1, 3}), mu.focal_count()
    (0, 1, 0, 6)
    >>> print(mu)
    at least 2 of {1, 2, -3, 4}
    >>> print(CardinalityThreshold(3, tau=0))
    at least 0 of {1, 2, 3}: constant, worth 1 on every set (always)
    >>> print(mu.conjugate())
    at least 3 of {1, 2, -3, 4}
    """

    criteria: Criteria
    lam: frozenset[Criterion]
    tau: int
    scale: Boolean = BOOLEAN

    def __init__(
        self,
        lam: int | Iterable[Criterion],
        tau: int,
        criteria: Criteria | int | Iterable[Criterion] | None = None,
    ) -> None:
        chosen = Criteria(sorted(lam, key=_literal_order) if isinstance(lam, set | frozenset) else lam)
        universe = chosen if criteria is None else Criteria(criteria)
        try:
            count = operator.index(tau)
        except TypeError:
            raise CapacityError(
                f"tau={plain(tau)!r} must be an integer: how many of {len(chosen)} must hold."
            ) from None
        universe.mask(chosen.names)
        set_fields(self, criteria=universe, lam=frozenset(chosen.names), tau=count)

    @cached_property
    def lam_mask(self) -> int:
        """The mask of `lam` among the criteria."""
        return self.criteria.mask(self.lam)

    def at(self, mask: int) -> Value:
        """Count the members of `lam`."""
        return int((mask & self.lam_mask).bit_count() >= self.tau)

    def table(self) -> Codes:
        """Count for all masks at once."""
        self._fits_table()
        held = np.arange(1 << len(self.criteria), dtype=np.uint32) & np.uint32(self.lam_mask)
        return np.asarray(np.bitwise_count(held).astype(np.int64) >= self.tau, dtype=np.int8)

    def conjugate(self) -> CardinalityThreshold:
        """Return the threshold "at least n - tau + 1 of the same literals"."""
        return CardinalityThreshold(self.lam, len(self.lam) - self.tau + 1, self.criteria)

    def threshold_form(self) -> tuple[tuple[Any, ...], Any]:
        """Return weight 1 for the members of `lam`."""
        return tuple(self.lam_mask >> index & 1 for index in range(len(self.criteria))), self.tau

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield the tau-element subsets of `lam`."""
        if self.tau <= 0:
            return iter([(0, 1)])
        if self.tau > len(self.lam):
            return iter([])
        indices = list(bits(self.lam_mask))
        if costs is not None and len({costs[index] for index in indices}) > 1:
            return ((mask, 1) for mask in ranked_combinations(indices, self.tau, costs))
        return ((sum(chosen), 1) for chosen in combinations([1 << index for index in indices], self.tau))

    def focal_count(self) -> int:
        """Return the binomial n choose tau."""
        return comb(len(self.lam), max(self.tau, 0))

    def _phrase(self) -> str:
        shown = self.criteria.show(self.lam_mask) if len(self.lam) <= 12 else f"{len(self.lam)} criteria"
        return f"at least {show_number(self.tau)} of {shown}"


@dataclass(frozen=True)
class WeightedThreshold(SetFunction):
    """A set function worth 1 on the sets whose weights sum to at least `theta`, else 0: the paper's threshold
    constraint (docs/theory.md 6.8).

    Parameters
    ----------
    weights
        Nonnegative numbers, by criterion or in order for criteria 1..n. Floats are read as exact binary
        numbers. For signed weights use `WeightedThreshold.signed`.
    theta
        The threshold. The function is a capacity if and only if 0 < theta <= the sum of the weights.
    criteria
        Names in the order of `weights`, if these are a sequence.

    Examples
    --------
    >>> mu = WeightedThreshold({"price": 3, "comfort": 2, "safety": 2}, theta=4)
    >>> mu({"price"}), mu({"comfort", "safety"}), mu.focal_count()
    (0, 1, 3)
    >>> WeightedThreshold([0.1, 0.2], theta=0.3)({1, 2})  # exactly a little more than the float 0.3
    1
    """

    criteria: Criteria
    weights: tuple[Any, ...]
    theta: Any
    scale: Boolean = BOOLEAN

    def __init__(
        self,
        weights: Mapping[Criterion, Any] | Sequence[Any],
        theta: Any,
        criteria: Criteria | int | Iterable[Criterion] | None = None,
    ) -> None:
        listed = [] if isinstance(weights, Mapping) else in_order(weights, "weights")
        universe = Criteria(
            (list(weights) if isinstance(weights, Mapping) else len(listed)) if criteria is None else criteria
        )
        row = universe.row(weights, "weights") if isinstance(weights, Mapping) else listed
        if len(row) != len(universe):
            raise CriteriaError(f"{len(row)} weights for {len(universe)} criteria. Give one weight for each.")
        exact = tuple(
            exact_number(weight, f"the weight of {name}") for name, weight in zip(universe, row, strict=True)
        )
        negative = next((name for name, weight in zip(universe, exact, strict=True) if weight < 0), None)
        if negative is not None:
            raise CapacityError(
                f"the weight of {negative} is {plain(row[universe.place(negative)])}, so adding it would "
                "lower the sum. Use WeightedThreshold.signed, which counts the opposite literal instead."
            )
        set_fields(self, criteria=universe, weights=exact, theta=exact_number(theta, "theta"))

    @classmethod
    def signed(cls, weights: Sequence[Any], theta: Any) -> WeightedThreshold:
        """Return the constraint sum of w_i x_i >= theta on bits x_i, with weights of any sign, over the 2n
        literals.

        A negative weight becomes the weight of the opposite literal: -w x = -w + w (1 - x).

        Examples
        --------
        >>> mu = WeightedThreshold.signed([2, -3], theta=0)
        >>> mu({1, -2}), mu({1, 2}), mu({-1, -2}), mu.theta
        (1, 0, 1, 3)
        """
        exact = [
            exact_number(weight, f"weight {index}")
            for index, weight in enumerate(in_order(weights, "weights"), start=1)
        ]
        by_literal: dict[Criterion, Any] = {
            sign * i: max(sign * weight, 0) for i, weight in enumerate(exact, start=1) for sign in (1, -1)
        }
        shift = sum(-weight for weight in exact if weight < 0)
        return cls(by_literal, exact_number(theta, "theta") + shift, Criteria.literals(len(exact)))

    @cached_property
    def integers(self) -> tuple[list[int], int]:
        """Return the same function with integer weights and threshold."""
        return to_integers(self.weights, self.theta)

    def at(self, mask: int) -> Value:
        """Sum the weights."""
        weights, theta = self.integers
        return int(sum(weights[index] for index in bits(mask)) >= theta)

    def table(self) -> Codes:
        """Sum for all masks at once."""
        self._fits_table()
        weights, theta = self.integers
        sums = np.zeros(1, dtype=np.int64 if sum(weights) + abs(theta) < 1 << 62 else object)
        for weight in weights:
            sums = np.concatenate([sums, sums + weight])
        return np.asarray(sums >= theta).astype(np.int8)

    def conjugate(self) -> WeightedThreshold:
        """Return the threshold of the sets whose complement stays below theta: sum > W - theta.

        For integers this is sum >= W - theta + 1.

        Sums are multiples of a unit. If theta is one, too, the next multiple is W - theta + unit; else no sum
        is W - theta. So the weights are unchanged, and conjugating twice restores theta.
        """
        unit = Fraction(1, lcm(1, *(weight.denominator for weight in self.weights)))
        step = unit if (self.theta / unit).denominator == 1 else 0
        return WeightedThreshold(self.weights, sum(self.weights) - self.theta + step, self.criteria)

    def threshold_form(self) -> tuple[tuple[Any, ...], Any]:
        """Return the weights and theta."""
        return self.weights, self.theta

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield the minimal sets that reach theta: lazily for all weights, or by cost through a table of
        sums.
        """
        weights, theta = self.integers
        masks = minimal_sets(weights, theta) if costs is None else ranked_minimal_sets(weights, theta, costs)
        return ((mask, 1) for mask in masks)

    def focal_count(self) -> int:
        """Count by a dynamic program over sums."""
        return count_minimal(*self.integers)

    def _phrase(self) -> str:
        if len(self.weights) > 12:
            return f"weights of {len(self.weights)} criteria reach {show_number(self.theta)}"
        terms = " + ".join(
            f"{show_number(weight)} {name}" for name, weight in zip(self.criteria, self.weights, strict=True)
        )
        return f"{terms} >= {show_number(self.theta)}"


def _literal_order(name: Criterion) -> tuple[str, int, int]:
    """Return a sort key: names alphabetically, numbers and literals by coordinate, the positive one first."""
    return (name, 0, 0) if isinstance(name, str) else ("", abs(name), -name)
