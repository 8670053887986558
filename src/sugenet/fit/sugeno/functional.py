"""Sugeno utility functionals: a Sugeno integral of the features' utilities, each from the levels of a feature
to those of the target (docs/theory.md 11.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import Criteria, Focal, Ordinal
from sugenet.fit.sugeno.closures import Bools, Ints, minimal

__all__ = ["UtilityFunctional", "held", "reaching"]


@dataclass(frozen=True)
class UtilityFunctional:
    """S_mu(phi_1(x_1), ..., phi_n(x_n)), all by whole numbers.

    Parameters
    ----------
    cuts
        ``cuts[i][j - 1]`` is the level that feature i must reach for a utility of at least j; 0 is always
        reached, a level that the feature does not have never.
    focal
        The focal sets of mu: features from 0, and the level of the target that they are worth.

    Examples
    --------
    >>> meal = UtilityFunctional(((1, 2), (2, 3)), (((0,), 1), ((0, 1), 2)))
    >>> meal.ranks(np.array([[0, 3], [2, 0], [1, 3], [2, 3]])).tolist()
    [0, 1, 1, 2]
    """

    cuts: tuple[tuple[int, ...], ...]
    focal: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def height(self) -> int:
        """The best level of the target."""
        return len(self.cuts[0])

    def ranks(self, table: Ints) -> Ints:
        """The level of the target for each row of levels of the features."""
        best = np.zeros(len(table), dtype=np.int64)
        for j, sets in self.by_level():
            best[reaching(held(table, self.cuts, j), sets)] = j
        return best

    def utilities(self, feature: int, levels: int) -> tuple[int, ...]:
        """phi of a feature: the level of the target that each of its levels is worth."""
        steps = np.array(self.cuts[feature])
        return tuple(int((steps <= level).sum()) for level in range(levels))

    def capacity(self, names: Sequence[str], scale: Ordinal) -> Focal:
        """Mu as a set function over the features, on the scale of the target."""
        members = [(tuple(names[i] for i in body), scale.levels[level]) for body, level in self.focal]
        return Focal(Criteria(names), dict(members), scale)

    def corners(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        """For each level of the target the levels of features that suffice: pairs of feature and level."""
        found = []
        for j, sets in self.by_level():
            for body in sets:
                needs = tuple((int(i), self.cuts[i][j - 1]) for i in np.flatnonzero(body))
                found.append((j, tuple((i, level) for i, level in needs if level > 0)))
        return found

    def by_level(self) -> list[tuple[int, Bools]]:
        """For each level of the target from 1 the minimal sets of features that are worth it."""
        out = []
        for j in range(1, self.height + 1):
            bodies = [body for body, level in self.focal if level >= j]
            sets = np.zeros((len(bodies), len(self.cuts)), dtype=bool)
            for row, body in enumerate(bodies):
                sets[row, list(body)] = True
            out.append((j, minimal(sets)))
        return out


def held(table: Ints, cuts: Any, level: int) -> Bools:
    """Which features reach their cut of a level of the target, for each row."""
    return np.asarray(table >= np.asarray(cuts)[:, level - 1])


def reaching(rows: Bools, sets: Bools) -> Bools:
    """Which rows contain one of the sets."""
    if not len(sets):
        return np.zeros(len(rows), dtype=bool)
    inside: npt.NDArray[np.bool_] = rows.astype(np.float32) @ sets.T.astype(np.float32) == sets.sum(axis=1)
    return np.asarray(inside.any(axis=1))
