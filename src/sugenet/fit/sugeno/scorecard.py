"""Score cards: every level of a feature gives points, and the sum reaches levels of the target.

That is one Sugeno integral over the criteria "the feature reaches this level", with a capacity of nested
weighted thresholds (docs/theory.md 11.3); and the greatest of as many Sugeno utility functionals as there
are minimal ways to reach a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sugenet.brief import Said
from sugenet.capacity import Criteria, Nested, Ordinal, WeightedThreshold
from sugenet.errors import TooLargeError
from sugenet.fit.sugeno.learning import Bools, Ints

__all__ = ["ScoreCard", "learn_card"]

_STEPS = 5_000_000
"""Of the search for minimal ways; then it gives up."""
_RIDGE = 0.01


@dataclass(frozen=True)
class ScoreCard(Said):
    """Whole points for each level of each feature, and the sums that reach each level of the target.

    Parameters
    ----------
    points
        ``points[i][t]`` is what level t of feature i gives; rising, and 0 at level 0.
    thresholds
        The least sum for level 1, 2, ... of the target; rising.

    Examples
    --------
    >>> card = ScoreCard(((0, 2, 3), (0, 1)), (2, 4))
    >>> card.ranks(np.array([[0, 1], [1, 0], [2, 1]])).tolist()
    [0, 1, 2]
    >>> list(card.corners())
    [(1, ((0, 1),)), (2, ((0, 2), (1, 1)))]
    """

    points: tuple[tuple[int, ...], ...]
    thresholds: tuple[int, ...]

    @property
    def height(self) -> int:
        """The best level of the target."""
        return len(self.thresholds)

    def scores(self, table: Ints) -> Ints:
        """The sum of points of each row."""
        columns = [np.array(row)[table[:, i]] for i, row in enumerate(self.points)]
        return np.asarray(np.sum(columns, axis=0, dtype=np.int64))

    def ranks(self, table: Ints) -> Ints:
        """The level of the target for each row of levels of the features."""
        return np.searchsorted(np.array(self.thresholds), self.scores(table), side="right").astype(np.int64)

    def capacity(self, names: Sequence[Sequence[str]], scale: Ordinal) -> Nested:
        """The capacity over the criteria "feature i reaches level t"; `names` has one for each t from 1."""
        gained = [more - less for row in self.points for less, more in pairwise(row)]
        criteria = Criteria([name for row in names for name in row])
        levels = {
            scale.levels[j]: WeightedThreshold(gained, threshold, criteria)
            for j, threshold in enumerate(self.thresholds, start=1)
        }
        return Nested(levels, scale)

    def corners(self) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
        """For each level of the target all minimal ways to reach it: pairs of feature and level."""
        for j, threshold in enumerate(self.thresholds, start=1):
            for way in self._ways(threshold):
                yield j, way

    def _ways(self, threshold: int) -> Iterator[tuple[tuple[int, int], ...]]:
        """Minimal choices of a level for each feature with this sum, by depth-first search."""
        steps = [[t for t in range(len(row)) if not t or row[t] > row[t - 1]] for row in self.points]
        most = [row[-1] for row in self.points]
        rest = [sum(most[i:]) for i in range(len(most) + 1)]
        taken = 0
        waiting: list[tuple[int, int, int, tuple[tuple[int, int], ...]]] = [(0, 0, rest[0] + 1, ())]
        while waiting:
            i, total, slack, way = waiting.pop()
            taken += 1
            if taken > _STEPS:
                raise TooLargeError(
                    "the score card has too many rules to list. Read card_ itself, or give fewer cuts."
                )
            if total + rest[i] < threshold:
                continue
            if i == len(most):
                if total - slack < threshold:  # slack is the least step down: no level can be lowered
                    yield way
                continue
            for place in reversed(range(len(steps[i]))):
                t = steps[i][place]
                down = self.points[i][t] - self.points[i][steps[i][place - 1]] if place else slack
                if total + self.points[i][t] - min(slack, down) < threshold:  # else one could be lowered
                    waiting.append(
                        (i + 1, total + self.points[i][t], min(slack, down), (*way, (i, t)) if t else way)
                    )

    def __str__(self) -> str:
        features = len(self.points)
        return f"score card of {features} features, up to {sum(row[-1] for row in self.points)} points"


def learn_card(
    table: Ints,
    levels: Sequence[int],
    targets: Bools,
    weights: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    smoothness: float,
    points: int,
) -> tuple[ScoreCard, npt.NDArray[np.float64]]:
    """Learn a card, and what it thinks of each sample and level: its log-odds.

    Cumulative logistic regression on "feature i reaches level t", with weights of at least 0; `smoothness`
    draws the weights of one feature together, so that a feature with few samples at a level is near linear.
    Floats serve to learn; the card is rounded to whole numbers.

    Parameters
    ----------
    table, levels
        Levels of the features, and how many each has.
    targets
        Whether each sample reaches each level of the target from 1.
    weights
        What each sample counts.
    offsets
        What is added to the threshold of each level; with several levels of one column of targets, the
        log-odds at which each is reached.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows, place = np.unique(table, axis=0, return_inverse=True)
    grid = np.concatenate([rows[:, [i]] >= np.arange(1, many) for i, many in enumerate(levels)], axis=1)
    owner = np.repeat(np.arange(len(levels)), np.array(levels) - 1)
    width, height = grid.shape[1], targets.shape[1]
    Z = grid.astype(np.float64)
    reached, missed = np.zeros((len(rows), height)), np.zeros((len(rows), height))
    np.add.at(reached, place.reshape(-1), weights[:, None] * targets)
    np.add.at(missed, place.reshape(-1), weights[:, None] * ~targets)
    neighbours = np.flatnonzero(owner[1:] == owner[:-1])

    def loss(v: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        w, theta = v[:width], np.cumsum(v[width:])
        margin = (Z @ w)[:, None] - theta
        over = np.logaddexp(0, margin)
        chance = np.exp(margin - over)
        error = missed * chance - reached * (1 - chance)
        bend = w[neighbours + 1] - w[neighbours]
        slope = Z.T @ error.sum(axis=1) + _RIDGE * w
        np.add.at(slope, neighbours + 1, smoothness * bend)
        np.add.at(slope, neighbours, -smoothness * bend)
        value = float((missed * over + reached * (over - margin)).sum())
        value += float(smoothness * bend @ bend + _RIDGE * w @ w) / 2
        return value, np.concatenate([slope, -np.cumsum(error.sum(axis=0)[::-1])[::-1]])

    begin = np.concatenate([np.full(width, 2.0 / max(len(levels), 1)), [1.0], np.ones(height - 1)])
    bounds = [(0, None)] * width + [(None, None)] + [(0, None)] * (height - 1)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x
    gained, theta = found[:width], np.cumsum(found[width:])
    score = (Z @ gained)[place.reshape(-1)]
    thresholds = theta + offsets if height == 1 else theta
    return _rounded(gained, owner, len(levels), thresholds, points), score[:, None] - thresholds


def _rounded(
    gained: npt.NDArray[np.float64],
    owner: Ints,
    features: int,
    thresholds: npt.NDArray[np.float64],
    points: int,
) -> ScoreCard:
    unit = points / max(float(gained.sum()), 1e-12)
    sums = [np.cumsum(gained[owner == i]) * unit for i in range(features)]
    rows = tuple((0, *(int(value) for value in np.rint(sums_of))) for sums_of in sums)
    most = sum(row[-1] for row in rows)
    wholes = np.ceil(np.clip(thresholds * unit, 0, most + 1)).astype(np.int64)
    return ScoreCard(rows, tuple(int(whole) for whole in np.minimum(np.maximum.accumulate(wholes), most + 1)))
