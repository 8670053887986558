"""Lay out thresholds over bits and over each other as layers.

Each threshold is placed at the first depth at which all its inputs are available. Identity neurons carry
values to later layers.

A threshold that is always or never reached is a truth value and takes no neuron. A threshold that repeats
another one, or equals it, is not stored twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import TooLargeError, refuse
from sugenet.nn import DenseLayer
from sugenet.nn.arrays import Ints, make_sure

__all__ = ["Laid", "Ref", "Wiring"]

Ref: TypeAlias = "int | bool"
"""The index of a threshold, or a truth value."""

_LARGEST = 1 << 31
_FEWER = "Ask for fewer steps, fewer neurons or coarser weights (grid=)."


@dataclass(frozen=True, eq=False)
class _Unit:
    """A threshold, reached iff the weighted sum of its inputs is at least `bound`."""

    sources: Ints | None
    """Indices of thresholds; None: all the bits, in order."""
    weights: Ints
    bound: int
    depth: int
    words: str


@dataclass(frozen=True, eq=False)
class Laid:
    """Layers, and the positions of the requested thresholds in the last layer."""

    layers: tuple[DenseLayer, ...]
    indices: Mapping[int, int]
    words: tuple[tuple[str, ...], ...]
    """For each layer, what each neuron means."""


class Wiring:
    """Thresholds, first to last.

    Examples
    --------
    >>> wiring = Wiring(2)
    >>> both, some = wiring.over_bits([1, 1], 2, "both"), wiring.over_bits([3, 3], 2, "one of them")
    >>> one = wiring.over([(1, some), (-1, both)], 1, "just one")
    >>> laid = wiring.laid([one, some])
    >>> [layer.weights.tolist() for layer in laid.layers], [laid.indices[one], laid.indices[some]]
    ([[[1, 1], [1, 1]], [[-1, 1], [0, 1]]], [0, 1])
    >>> wiring.over_bits([1, 1], 3, "more than there are")
    False
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._units: list[_Unit] = []
        self._known: dict[Any, int] = {}

    def over_bits(self, weights: Sequence[int] | Ints, bound: int, phrase: str) -> Ref:
        """Return a threshold over the bits, with one integer weight of any size per bit."""
        return self._threshold(None, np.asarray(weights, object).tolist(), bound, phrase)

    def over(self, terms: Iterable[tuple[int, Ref]], bound: int, phrase: str) -> Ref:
        """Return a threshold over others, each with an integer weight."""
        sums: dict[int, int] = {}
        for weight, ref in terms:
            if isinstance(ref, bool):
                bound -= weight * ref
            else:
                sums[ref] = sums.get(ref, 0) + weight
        kept = {ref: weight for ref, weight in sorted(sums.items()) if weight}
        return self._threshold(list(kept), list(kept.values()), bound, phrase)

    def _threshold(self, sources: list[int] | None, weights: list[int], bound: int, phrase: str) -> Ref:
        """Return a threshold over others, or over all bits, with the smallest integers."""
        divisor = gcd(*weights)
        if not divisor:
            return bool(bound <= 0)
        row, bound = np.array(weights, object) // divisor, -(-bound // divisor)
        low, high = -int(sum(-row[row < 0])), int(sum(row[row > 0]))
        if not low < bound <= high:
            return bound <= low
        if sources is not None and len(sources) == 1 and row[0] > 0:
            return sources[0]
        depth = 1 + max((self._units[ref].depth for ref in sources or ()), default=0)
        numbers = None if sources is None else np.array(sources, np.int64)
        return self._add(numbers, _checked(row, high - low, phrase), bound, depth, phrase)

    def _add(self, sources: Ints | None, weights: Ints, bound: int, depth: int, phrase: str) -> int:
        key = (None if sources is None else sources.tobytes(), weights.tobytes(), bound)
        if key not in self._known:
            if sources is None:
                make_sure(16 * (len(self._units) + 1) * self.bits, "the first layer", _FEWER)
            self._known[key] = len(self._units)
            self._units.append(_Unit(sources, weights, bound, depth, phrase))
        return self._known[key]

    def laid(self, wanted: Iterable[int]) -> Laid:
        """Return layers that end with all wanted thresholds; no layers if none are wanted."""
        goals = sorted(set(wanted))
        needed = self._needed(goals)
        deepest = max((self._units[ref].depth for ref in needed), default=0)
        until = dict.fromkeys(goals, deepest + 1)  # the depth at which it is last read
        for ref in needed:
            unit = self._units[ref]
            for source in () if unit.sources is None else unit.sources.tolist():
                until[source] = max(until.get(source, 0), unit.depth)
        layers, phrases = [], []
        before: dict[int, int] = {}
        for depth in range(1, deepest + 1):
            computed = [ref for ref in needed if self._units[ref].depth == depth]
            carried = [ref for ref in before if until[ref] > depth]
            layers.append(self._layer(computed, carried, before))
            phrases.append(tuple(self._units[ref].words for ref in (*computed, *carried)))
            before = {ref: index for index, ref in enumerate((*computed, *carried))}
        return Laid(tuple(layers), {ref: before[ref] for ref in goals}, tuple(phrases))

    def _needed(self, goals: Sequence[int]) -> list[int]:
        seen, left = set(goals), list(goals)
        while left:
            sources = self._units[left.pop()].sources
            fresh = set() if sources is None else set(sources.tolist()) - seen
            seen |= fresh
            left += fresh
        return sorted(seen)

    def _layer(
        self, computed: Sequence[int], carried: Sequence[int], before: Mapping[int, int]
    ) -> DenseLayer:
        width = len(before) if before else self.bits
        make_sure(16 * (len(computed) + len(carried)) * width, "a layer", _FEWER)
        rows = np.zeros((len(computed) + len(carried), width), np.int64)
        tau = np.ones(len(rows), np.int64)
        for index, ref in enumerate(computed):
            unit = self._units[ref]
            columns = slice(None) if unit.sources is None else [before[k] for k in unit.sources.tolist()]
            rows[index, columns] = unit.weights
            tau[index] = unit.bound - np.minimum(unit.weights, 0).sum()  # on the match count
        for index, ref in enumerate(carried, start=len(computed)):
            rows[index, before[ref]] = 1
        return DenseLayer(rows, tau)


def _checked(row: Ints, size: int, phrase: str) -> Ints:
    refuse(
        TooLargeError,
        (
            size >= _LARGEST,
            f"whether {phrase} is a sum of integers of up to {size.bit_length()} bits, and exact sums "
            "are limited to 31. Weights and leaks with smaller denominators have shorter sums. "
            "Read floats as decimals (floats='decimal'), or round weights to a grid such as 1/64 (grid=).",
        ),
    )
    return np.asarray(row, np.int64)
