"""Shapley and Banzhaf indices of weighted thresholds by dynamic programs over sums,
in exact integers (docs/theory.md 6.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import comb, factorial
from typing import Any, Literal, TypeAlias

from sugenet.capacity.weights import subset_counts

__all__ = ["Index", "WeightedIndex", "mean_of_sizes", "sum_work"]

Index: TypeAlias = Literal["shapley", "banzhaf"]


def mean_of_sizes(sums: Sequence[Any], n: int, index: Index) -> Any:
    """Weigh sums over the sets of size 0, 1, ... among n criteria as the index does: exactly for integers, in
    floats for floats.
    """
    if index == "banzhaf":
        total = sum(sums)
        return total / 2.0**n if isinstance(total, float) else Fraction(total, 1 << n)
    if sums and isinstance(sums[0], float):
        return sum(value / comb(n, size) for size, value in enumerate(sums)) / (n + 1)
    return Fraction(
        sum(value * factorial(size) * factorial(n - size) for size, value in enumerate(sums) if value),
        factorial(n + 1),
    )


def _largest_size(weights: Sequence[int], theta: int) -> int:
    """Largest number of weights with sum below theta."""
    return sum(reached < theta for reached in accumulate(sorted(weights)))


def sum_work(weights: Sequence[int], theta: int, index: Index) -> int:
    """Bit operations that the dynamic program takes."""
    width = _largest_size(weights, theta) + 1 if index == "shapley" else 1
    return len(weights) ** 2 * theta * width


def _counts(weights: Sequence[int], theta: int, slot: int) -> list[int]:
    """Number of sets of each sum below theta."""
    data = subset_counts(sorted(weights), theta, 8 * slot).to_bytes(slot * theta, "little")
    return [int.from_bytes(data[at : at + slot], "little") for at in range(0, slot * theta, slot)]


def _counts_by_size(weights: Sequence[int], theta: int, shift: int) -> list[int]:
    """Number of sets of each sum below theta, as one integer with `shift` bits for each size."""
    rows, reach = [1] + [0] * (theta - 1), 0
    for weight in sorted(weights):
        reach = min(reach + weight, theta - 1)
        for reached in range(reach, weight - 1, -1):
            if rows[reached - weight]:
                rows[reached] += rows[reached - weight] << shift
    return rows


class WeightedIndex:
    """Indices of sets of positive weights; `below[x]` counts the sets with sum < x,
    for Shapley a slot for each size.

    A count by size is one long integer, a polynomial in z evaluated at 2^slot. Taking one weight w out is
    division by 1 + z x^w, so with w out, below'[x] = below[x] - z below'[x - w] = below[x] - z below[x - w] +
    z^2 below[x - 2w] - ...
    """

    def __init__(self, weights: Sequence[int], theta: int, index: Index) -> None:
        self.n, self.theta, self.index = len(weights), theta, index
        self.slot = -(-(self.n + 1) // 8)  # bytes that hold any sum of counts
        self.width = _largest_size(weights, theta) + 1 if index == "shapley" else 1
        self.shift = 8 * self.slot if index == "shapley" else 0
        rows = (
            _counts_by_size(weights, theta, self.shift) if self.shift else _counts(weights, theta, self.slot)
        )
        self.below = list(accumulate(rows, initial=0))
        self.latest: dict[int, tuple[tuple[int, ...], list[int]]] = {0: ((), self.below)}

    def __call__(self, taken: tuple[int, ...]) -> Fraction:
        if not taken:
            return 1 - self._mean(self.below[self.theta], self.n)
        below, last = self._without(taken[:-1]), taken[-1]
        # the sum over R inside T of (-1)^|T - R| [reaches theta], turned to counts of what stays below
        signs = {0: -1}
        for weight in taken:
            grown = {reached: -sign for reached, sign in signs.items()}
            for reached, sign in signs.items():
                grown[reached + weight] = grown.get(reached + weight, 0) + sign
            signs = grown
        plus = minus = 0
        for reached, sign in signs.items():
            count = sum(
                (-1) ** turn * (below[x] << turn * self.shift)
                for turn, x in enumerate(range(self.theta - reached, 0, -last))
            )
            plus, minus = plus + count * max(sign, 0), minus + count * max(-sign, 0)
        rest = self.n - len(taken)
        return self._mean(plus, rest) - self._mean(minus, rest)

    def _without(self, taken: tuple[int, ...]) -> list[int]:
        """`below` with some weights taken out; the latest answer of each length is kept,
        for sets that come in order.
        """
        length = len(taken)
        if length not in self.latest or self.latest[length][0] != taken:
            out: list[int] = []
            for x, count in enumerate(self._without(taken[:-1])):
                out.append(count - (out[x - taken[-1]] << self.shift) if x >= taken[-1] else count)
            self.latest[length] = (taken, out)
        return self.latest[length][1]

    def _mean(self, count: int, n: int) -> Fraction:
        data = count.to_bytes(self.slot * self.width, "little")
        by_size = [
            int.from_bytes(data[at : at + self.slot], "little") for at in range(0, len(data), self.slot)
        ]
        value: Fraction = mean_of_sizes(by_size, n, self.index)
        return value
