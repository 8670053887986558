"""Targets as levels: numbers as they are or in groups, names by their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import exact_number
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.sugeno.closures import Bools, Ints

__all__ = ["Target", "costs_of", "named_target", "nearest_ranks", "number_target"]


@dataclass(frozen=True)
class Target:
    """The levels of a target, worst first, and the level of each sample."""

    levels: npt.NDArray[Any]
    ranks: Ints
    is_number: bool

    @property
    def reached(self) -> Bools:
        """Whether each sample reaches each level from 1."""
        return np.asarray(self.ranks[:, None] >= np.arange(1, len(self.levels)))

    @property
    def gaps(self) -> npt.NDArray[np.float64]:
        """From each level to the next; 1 for names."""
        return np.diff(self.levels.astype(np.float64)) if self.is_number else np.ones(len(self.levels) - 1)


def number_target(y: npt.NDArray[Any], most: int) -> Target:
    """Every value of y; of more than `most` values groups of about the same size, each said by its median.

    Examples
    --------
    >>> number_target(np.array([1.0, 2.0, 3.0, 4.0, 50.0, 60.0]), 2).levels.tolist()
    [2.0, 50.0]
    """
    values, ranks = np.unique(y, return_inverse=True)
    if len(values) <= most:
        return Target(values, ranks.reshape(-1).astype(np.int64), True)
    edges = np.unique(np.quantile(y, np.arange(1, most) / most, method="higher"))
    groups = np.searchsorted(edges, y, side="right")
    kept, ranks = np.unique(groups, return_inverse=True)
    medians = np.array([np.quantile(y[groups == group], 0.5, method="lower") for group in kept])
    return Target(medians, ranks.reshape(-1).astype(np.int64), True)


def nearest_ranks(y: Any, levels: npt.NDArray[Any]) -> Ints:
    """The rank of the level that is nearest to each number, exactly; of two the lower one.

    Examples
    --------
    >>> nearest_ranks([0.4, 0.5, 0.6], np.array([0, 1])).tolist()
    [0, 0, 1]
    """
    known = [Fraction(exact_number(level, "a level")) for level in levels.tolist()]
    values = np.asarray(y, dtype=object).ravel().tolist()
    found: dict[Any, int] = {}
    for place, value in enumerate(values):
        if value not in found:
            gaps = [abs(level - exact_number(value, f"y[{place}]")) for level in known]
            found[value] = gaps.index(min(gaps))
    return np.array([found[value] for value in values], dtype=np.int64)


def named_target(y: npt.NDArray[Any], order: Sequence[Any]) -> Target:
    """Names in their order; names that do not occur keep their level."""
    if isinstance(order, str) or len(set(order)) != len(order) or len(order) < 2:
        raise SugenetError(f"order is {order!r}. Give all levels of y once, worst first.")
    places = {name: place for place, name in enumerate(order)}
    strange = next((value for value in y.tolist() if value not in places), None)
    if strange is not None:
        raise EncodingError(f"y holds {strange!r}, which is not in its order: {' < '.join(map(str, order))}.")
    ranks = np.array([places[value] for value in y.tolist()], dtype=np.int64)
    levels = np.array(list(order), dtype=y.dtype if y.dtype.kind != "U" else None)
    return Target(levels, ranks, False)


def costs_of(costs: Any, labels: Sequence[Any], ranks: Ints) -> npt.NDArray[np.float64]:
    """What an error on each sample costs: 1 unless said for its label."""
    if costs is None:
        return np.ones(len(ranks))
    known = list(labels)
    if not isinstance(costs, Mapping):
        raise SugenetError(
            f"costs is {costs!r}. Give a mapping from values of y to what an error on them costs."
        )
    for label, cost in costs.items():
        if label not in known:
            raise SugenetError(f"costs speaks of {label!r}, which is not in y.")
        if (
            isinstance(cost, bool)
            or not isinstance(cost, int | float | np.number)
            or not 0 < cost < float("inf")
        ):
            raise SugenetError(f"costs[{label!r}] is {cost!r}; it must be a number above 0.")
    return np.array([float(costs.get(label, 1)) for label in known])[ranks]
