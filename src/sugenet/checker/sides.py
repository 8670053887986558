"""Two networks side by side, with equal or opposite neurons merged.

To be ensured: each remaining neuron is on for the same inputs as those that it replaces. Rows are numbered
after merging, in the order of the networks.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from sugenet.checker.limit import Limit

__all__ = ["merged"]

Row: TypeAlias = tuple[dict[int, int], int]
"""Weights of bits of the previous layer, and the threshold for the sum over the active ones."""
Side: TypeAlias = tuple[int, list[list[Row]], list[dict[int, int]]]
"""Number of neurons of the first layer, the later layers, and the weights of the classes."""


def merged(
    base: list[int],
    features: list[list[tuple[int, list[int]]]],
    swings: Sequence[tuple[int, int]],
    sides: Sequence[Side],
    limit: Limit,
) -> tuple[list[int], list[list[tuple[int, list[int]]]], list[list[Row]], list[Row]]:
    """Return two sides with equal or opposite neurons merged, and constant neurons folded into later rows.

    The first neuron of each group is kept. `swings` says how far features lower and raise each neuron. A row
    of the head contains the amount to add to its bound.
    """
    depth = max(len(later) for _, later, _ in sides)
    looks: list[Any] = []
    truths: list[bool | None] = []
    for j, (margin, (low, high)) in enumerate(zip(base, swings, strict=True)):
        limit.look()
        looks.append((-margin, tuple(gain[j] for row in features for _, gain in row)))
        truths.append(_truth(low, high, -margin))
    folded = _Folded(looks, truths, _opposite)
    base = [base[j] for j in folded.firsts]
    features = [[(price, [gain[j] for j in folded.firsts]) for price, gain in row] for row in features]
    layers, widths = [], [width for width, _, _ in sides]
    for rows in zip(*(_deepened(width, later, depth) for width, later, _ in sides), strict=True):
        limit.look()
        made = [folded.row(row) for row in _beside(rows, widths)]
        widths = [len(part) for part in rows]
        truths = [
            _truth(sum(min(w, 0) for w in row.values()), sum(max(w, 0) for w in row.values()), threshold)
            for row, threshold in made
        ]
        looks = [(threshold, frozenset(row.items())) for row, threshold in made]
        folded = _Folded(looks, truths, _opposite_row)
        layers.append([made[j] for j in folded.firsts])
    heads = [[(weights, 0) for weights in head] for _, _, head in sides]
    return base, features, layers, [folded.row(row) for row in _beside(heads, widths)]


def _truth(low: int, high: int, threshold: int) -> bool | None:
    """Return whether a sum between two ends reaches a threshold; None if that depends on the sum."""
    return True if low >= threshold else False if high < threshold else None


def _opposite(look: Any) -> Any:
    return 1 - look[0], tuple(-gain for gain in look[1])


def _opposite_row(look: Any) -> Any:
    return 1 - look[0], frozenset((bit, -weight) for bit, weight in look[1])


def _deepened(width: int, later: list[list[Row]], depth: int) -> list[list[Row]]:
    """Return later layers, padded to a depth with layers that pass bits on."""
    width = len(later[-1]) if later else width
    return later + [[({j: 1}, 1) for j in range(width)]] * (depth - len(later))


def _beside(parts: Sequence[Sequence[Row]], widths: Sequence[int]) -> Iterator[Row]:
    """Yield the rows of both sides over the bits of both, one after another."""
    start = 0
    for rows, width in zip(parts, widths, strict=True):
        for weights, threshold in rows:
            yield {start + bit: weight for bit, weight in weights.items()}, threshold
        start += width


class _Folded:
    """The neurons to keep among equal or opposite ones, and constant neurons."""

    def __init__(self, looks: Sequence[Any], truths: Sequence[bool | None], opposite: Any) -> None:
        self.firsts: list[int] = []
        self.truths = truths
        self.place: list[tuple[int, int]] = []
        seen: dict[Any, int] = {}
        for number, (look, truth) in enumerate(zip(looks, truths, strict=True)):
            contrary = opposite(look)
            if truth is not None:
                self.place.append((-1, 0))
            elif look not in seen and contrary in seen:
                self.place.append((seen[contrary], -1))
            else:
                if look not in seen:
                    seen[look] = len(self.firsts)
                    self.firsts.append(number)
                self.place.append((seen[look], 1))

    def row(self, row: Row) -> Row:
        """Return a row over the neurons that are kept; constant and opposite neurons change the bound."""
        weights, threshold = dict[int, int](), row[1]
        for bit, weight in row[0].items():
            target, sign = self.place[bit]
            if self.truths[bit] is None:
                weights[target] = weights.get(target, 0) + sign * weight
            if self.truths[bit] or sign == -1:
                threshold -= weight
        return {bit: weight for bit, weight in weights.items() if weight}, threshold
