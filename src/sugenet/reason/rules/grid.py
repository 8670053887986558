"""The codewords of a network as a grid, feature by feature, and boxes in it, as numbers, limits and words.

A *place* is the index of a possible state of a feature, from 0. A *box* has one bit mask of allowed places
per feature: neighbouring ones for a number, any for a category. Coverage is a share of all codewords, with
equal weights.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sugenet.errors import QuestionError
from sugenet.nn import Network, OneHot, Steps
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.network import EngineChoice
from sugenet.visible import visible

__all__ = ["Grid", "Masks", "Share", "indices_of"]

Masks: TypeAlias = tuple[int, ...]
"""The allowed places of a box, as one bit mask per feature."""

_BATCH = 1 << 14
_NODES = 20_000
"""Maximum number of splits for the exact share of a union."""


class Share(NamedTuple):
    """Share of all codewords; a lower bound if it is not exact."""

    value: Fraction
    exact: bool


@dataclass(frozen=True, eq=False)
class Grid:
    """All codewords that can occur.

    Examples
    --------
    >>> from sugenet.nn import Encoder, Head, OneHot, thermometer
    >>> encoder = Encoder([thermometer([4, 8, 12], 0, 16, True), OneHot(("left", "right"))], ["size", "side"])
    >>> grid = Grid(Network(encoder, [], Head([[1] * 5, [-1] * 5])))
    >>> grid.sizes, grid.total, grid.coverage((0b0110, 0b11))
    ((4, 2), 8, Fraction(1, 2))
    >>> grid.words((0b0110, 0b10)), grid.limits((0b0110, 0b11))
    (['4 <= size < 12', 'side = right'], ((0, (4, 11)),))
    """

    network: Network

    @cached_property
    def states(self) -> tuple[tuple[int, ...], ...]:
        """For each feature, the states that can occur."""
        return tuple(
            tuple(s for s in range(coding.states) if coding.reachable(s))
            for coding in self.network.encoder.codings
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of these states for each feature."""
        return tuple(map(len, self.states))

    @cached_property
    def live(self) -> list[int]:
        """Features with more than one place."""
        return [feature for feature, size in enumerate(self.sizes) if size > 1]

    @cached_property
    def full(self) -> Masks:
        """The box of all codewords."""
        return tuple((1 << size) - 1 for size in self.sizes)

    @cached_property
    def total(self) -> int:
        """Number of codewords."""
        return prod(self.sizes)

    def is_number(self, feature: int) -> bool:
        """Return whether the places of a feature are ordered."""
        return isinstance(self.network.encoder.codings[feature], Steps)

    # -- codewords -------------------------------------------------------------------------------------------

    def places(self, X: Any) -> Ints:
        """Return the places of raw samples, one row each."""
        levels = self.network.encoder.levels(X)
        columns = [np.searchsorted(states, levels[:, f]) for f, states in enumerate(self.states)]
        return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((len(levels), 0), np.int64)

    def classes(self, indices: Ints, engine: EngineChoice = "auto") -> Ints:
        """Return the classes of codewords, one row of places each."""
        labels = np.empty(len(indices), np.int64)
        for low in range(0, len(indices), _BATCH):
            inputs = self._inputs(indices[low : low + _BATCH])
            if engine == "definition":
                for layer in self.network.layers:
                    inputs = layer.activity(inputs)
                counts = self.network.head.match_counts(inputs)
            else:
                counts = self.network.packed(engine).match_counts(inputs)
            labels[low : low + _BATCH] = self.network.head.classes(counts)
        return labels

    def _inputs(self, indices: Ints) -> Any:
        columns = self._levels if self.network.reads_levels else self._codes
        parts = [codes[indices[:, feature]] for feature, codes in enumerate(columns)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(indices), 0), bool)

    @cached_property
    def _levels(self) -> list[Ints]:
        return [np.array(states, np.int64)[:, None] for states in self.states]

    @cached_property
    def _codes(self) -> list[Bits]:
        codings = self.network.encoder.codings
        return [
            np.array([c.bits(s) for s in states], bool).reshape(len(states), c.width)
            for c, states in zip(codings, self.states, strict=True)
        ]

    def table(self, engine: EngineChoice = "auto", stop: Callable[[], bool] = lambda: False) -> Ints:
        """Return the class of every codeword, one axis per feature of `live`; raises `TimeoutError` if it is
        stopped.
        """
        shape = [self.sizes[feature] for feature in self.live]
        labels = np.empty(self.total, np.int64)
        for low in range(0, self.total, _BATCH):
            if stop():
                raise TimeoutError
            numbers = np.arange(low, min(low + _BATCH, self.total))
            indices = np.zeros((len(numbers), len(self.sizes)), np.int64)
            if self.live:
                indices[:, self.live] = np.stack(np.unravel_index(numbers, shape), axis=1)
            labels[numbers] = self.classes(indices, engine)
        return labels.reshape(shape)

    def values(self, indices: Iterable[int]) -> tuple[Any, ...]:
        """Return a raw sample with these places."""
        codings = self.network.encoder.codings
        return tuple(
            _value(coding, states[p]) for coding, states, p in zip(codings, self.states, indices, strict=True)
        )

    # -- boxes -----------------------------------------------------------------------------------------------

    def coverage(self, masks: Masks) -> Fraction:
        """Return the share of all codewords in a box."""
        return Fraction(prod(mask.bit_count() for mask in masks), self.total)

    def conditions(self, masks: Masks) -> tuple[int, ...]:
        """Return the features that a box limits."""
        return tuple(f for f, (mask, full) in enumerate(zip(masks, self.full, strict=True)) if mask != full)

    def inside(self, masks: Masks, indices: Ints) -> Bits:
        """Return which codewords, one row of places each, lie in a box."""
        is_inside = np.ones(len(indices), bool)
        for feature in self.conditions(masks):
            allowed = np.array([masks[feature] >> p & 1 for p in range(self.sizes[feature])], bool)
            is_inside &= allowed[indices[:, feature]]
        return is_inside

    def span(self, feature: int, mask: int) -> tuple[int | None, int | None]:
        """Return the lowest and highest state of an interval of places; None at the end of the possible
        range.
        """
        states, indices = self.states[feature], indices_of(mask)
        low, high = indices[0], indices[-1]
        return (None if low == 0 else states[low]), (None if high == len(states) - 1 else states[high])

    def limits(self, masks: Masks) -> tuple[tuple[int, Any], ...]:
        """Return a box as limits for `sugenet.Box`, in raw values."""
        limits: list[tuple[int, Any]] = []
        for feature in self.conditions(masks):
            coding = self.network.encoder.codings[feature]
            if isinstance(coding, OneHot):
                limits.append(
                    (feature, frozenset(coding.categories[index] for index in indices_of(masks[feature])))
                )
                continue
            low, high = self.span(feature, masks[feature])
            ends = [None if s is None else coding.interval(s) for s in (low, high)]
            row = [None if pair is None else pair[k] for k, pair in enumerate(ends)]
            limits.append((feature, tuple(int(v) if v is not None and coding.whole else v for v in row)))
        return tuple(limits)

    def words(self, masks: Masks) -> list[str]:
        """Return one condition per feature in the syntax of `parse_rule`, safe to show."""
        conditions = []
        for feature in self.conditions(masks):
            coding, name = self.network.encoder.codings[feature], self.network.encoder.feature_text[feature]
            if isinstance(coding, OneHot):
                chosen = [visible(str(coding.categories[index])) for index in indices_of(masks[feature])]
                conditions.append(
                    f"{name} = {chosen[0]}" if len(chosen) == 1 else f"{name} in {{{', '.join(chosen)}}}"
                )
            else:
                low, high = self.span(feature, masks[feature])
                conditions.append(
                    coding.describe_several(
                        name, range(low or 0, (coding.width if high is None else high) + 1)
                    )
                )
        return conditions

    def check_box(self, masks: Masks) -> Masks:
        """Check a box from elsewhere."""
        if len(masks) != len(self.full):
            raise QuestionError(f"the box has {len(masks)} features, the network {len(self.full)}.")
        for feature, (mask, full) in enumerate(zip(masks, self.full, strict=True)):
            indices = indices_of(mask)
            gap = self.is_number(feature) and bool(indices) and indices[-1] - indices[0] >= len(indices)
            if not mask or mask & ~full or gap:
                name = self.network.encoder.names[feature]
                raise QuestionError(
                    f"a box must allow {name} some states that can occur, neighbouring ones for a number."
                )
        return masks

    def union(self, boxes: Sequence[Masks]) -> Share:
        """Return the share of all codewords that lie in some box.

        It is exact, by splitting feature by feature; otherwise a lower bound from disjoint boxes.
        """
        rows = [{f: mask[f] for f in self.conditions(mask)} for mask in boxes]
        budget = [_NODES]
        value = self._union(rows, budget)
        if value is not None:
            return Share(value, True)
        apart: list[Masks] = []
        for masks in sorted(boxes, key=self.coverage, reverse=True):
            if not any(all(a & b for a, b in zip(masks, other, strict=True)) for other in apart):
                apart.append(masks)
        return Share(sum(map(self.coverage, apart), Fraction(0)), False)

    def _union(self, rows: list[dict[int, int]], budget: list[int]) -> Fraction | None:
        budget[0] -= 1
        if budget[0] < 0:
            return None
        if not all(rows) or not rows:
            return Fraction(int(bool(rows)))
        if len(rows) == 1:
            return prod(
                (Fraction(mask.bit_count(), self.sizes[f]) for f, mask in rows[0].items()), start=Fraction(1)
            )
        used = Counter(feature for row in rows for feature in row)
        feature = max(used, key=lambda f: (used[f], -f))
        groups = Counter(
            tuple(bool(row.get(feature, self.full[feature]) >> index & 1) for row in rows)
            for index in range(self.sizes[feature])
        )
        total = Fraction(0)
        for members, count in groups.items():
            rest = [
                {f: m for f, m in row.items() if f != feature}
                for row, member in zip(rows, members, strict=True)
                if member
            ]
            part = self._union(rest, budget)
            if part is None:
                return None
            total += part * Fraction(count, self.sizes[feature])
        return total


def indices_of(mask: int) -> list[int]:
    """Return the places of a mask in increasing order."""
    return [index for index in range(mask.bit_length()) if mask >> index & 1]


def _value(coding: Steps | OneHot, state: int) -> Any:
    if isinstance(coding, OneHot):
        return coding.categories[state]
    ends = coding.interval(state)
    assert ends is not None
    value = min(max(0.0, ends[0]), ends[1])
    return int(value) if coding.whole else value
