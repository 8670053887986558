"""Readings: the predictions of networks as variables (docs/theory.md 12.1).

The values of a reading are the classes. The gap of a class is the number of points between its score and the
best one.

A gap is exact: g_k = max s_j - s_k in rational numbers, so the possibility of the class is exp(-g_k). Gaps of
different networks compare like their possibilities, whatever the scales of their heads. They are compared,
never rounded. Smaller gaps are more possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sugenet.capacity.arguments import number_text
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import QuestionError, refuse
from sugenet.nn import Network
from sugenet.problem.neighbourhood import row_of
from sugenet.reprs import ShortRepr
from sugenet.visible import visible

__all__ = ["Gap", "Reading", "exact_gap", "gap_text", "readings_of", "see_names"]

Gap: TypeAlias = int | Fraction
"""Exact distance to the best score."""


def exact_gap(value: Any) -> Gap:
    """Return an exact number, as an integer if possible."""
    number = Fraction(value)
    return int(number) if number.denominator == 1 else number


def gap_text(gap: Gap) -> str:
    """Return a gap in words: points are units of the score."""
    return "1 point" if gap == 1 else f"{number_text(gap)} points"


@dataclass(frozen=True, eq=False)
class Reading(ShortRepr):
    """Variable over a few values, each with its gap to the best.

    Examples
    --------
    >>> from sugenet.nn import Head
    >>> net = Network.of_bits([], Head([[1, 1, 1], [1, 1, -1], [-1, 1, 1]]), classes=["low", "mid", "high"])
    >>> Reading.of(net, [1, 1, -1], "valve").gaps
    (2, 0, 4)
    >>> Reading.given("door", {"open": 3, "shut": 0}).best
    1
    """

    name: str
    values: tuple[str, ...]
    gaps: tuple[Gap, ...]
    network: Network | None = field(default=None, repr=False)
    """The network that read it; None if the gaps are given: then nothing can change it."""
    sample: Any = field(default=None, repr=False)
    """The raw sample that was read."""
    base: Network | None = field(default=None, repr=False)
    """The network with all its classes, if `network` chooses among some."""

    @classmethod
    def of(
        cls, network: Network, sample: Any, name: str = "x", among: Iterable[Any] | None = None
    ) -> Reading:
        """Return the reading of a raw sample by a network; `among` restricts its classes."""
        values = network.encoder.values(sample)
        return readings_of(network, [values], [name], among)[0]

    @classmethod
    def given(cls, name: str, gaps: Mapping[Any, Any]) -> Reading:
        """Return a variable whose gaps are given, by value; the best has 0."""
        values = tuple(str(value) for value in gaps)
        exact = tuple(exact_gap(exact_number(gap, f"the gap of {value}")) for value, gap in gaps.items())
        refuse(
            QuestionError,
            (
                min(exact, default=None) != 0,
                f"the gaps of {name!r} are {dict(gaps)}: the best value must have the gap 0.",
            ),
            (
                len(set(values)) < len(values),
                f"{name!r} has two values that are written alike: {', '.join(values)}.",
            ),
        )
        return cls(name, values, exact)

    @property
    def best(self) -> int:
        """Index of the most possible value; in a tie the first, as in `predict`."""
        return self.gaps.index(0)

    @property
    def margin(self) -> Gap | None:
        """The gap of the second best value; None if there is only one."""
        others = [gap for index, gap in enumerate(self.gaps) if index != self.best]
        return min(others, default=None)

    def __str__(self) -> str:
        sure = "the only value" if self.margin is None else f"ahead by {gap_text(self.margin)}"
        return f"{visible(self.name)} = {visible(self.values[self.best])}, {sure}"


def readings_of(
    network: Network, X: Any, names: Sequence[str] | None = None, among: Iterable[Any] | None = None
) -> tuple[Reading, ...]:
    """Return the readings of several raw samples by a network, evaluated together.

    Examples
    --------
    >>> from sugenet import models
    >>> X, y = models.samples("digits")
    >>> print(*readings_of(models.digits(), X[:2], ["left", "right"]), sep="; ")
    left = 9, ahead by 0.5 points; right = 9, ahead by 4.75 points
    """
    chosen = network if among is None else network.with_classes(among)
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object
    rows = X if is_table else [network.encoder.values(x) for x in X]
    named = [f"x{number}" for number in range(1, len(rows) + 1)] if names is None else list(names)
    if len(named) != len(rows):
        raise QuestionError(f"there are {len(named)} names for {len(rows)} samples.")
    if not len(rows):
        return ()
    kept = [network.classes.index(name) for name in chosen.classes]
    ranked = network.head.ranked(
        network.match_counts(rows if is_table else np.concatenate([row_of(row) for row in rows]))
    )[:, kept]
    unit = network.head.integers[2]
    behind = (ranked.max(axis=1, keepdims=True) - ranked).tolist()
    base = None if chosen is network else network
    return tuple(
        Reading(
            name, chosen.classes, tuple(exact_gap(Fraction(one, unit)) for one in gaps), chosen, row, base
        )
        for name, gaps, row in zip(named, behind, rows, strict=True)
    )


def see_names(readings: Sequence[Reading]) -> None:
    """Refuse two readings with the same name, and anything else than readings."""
    wrong: list[Any] = [readings] if not isinstance(readings, Sequence) else []
    wrong = wrong or [reading for reading in readings if not isinstance(reading, Reading)]
    if wrong:
        raise QuestionError(
            f"{str(wrong[0])[:60]!r} is not a Reading. Make one with Reading.of(network, sample, name)."
        )
    names = [reading.name for reading in readings]
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    refuse(
        QuestionError,
        (twice is not None, f"two readings are called {twice!r}: give each a name of its own."),
    )
