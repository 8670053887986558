"""A learned model: levels of features in, a level of the target out, all by whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity import Focal, Nested, Ordinal
from sugenet.drawn import Drawn
from sugenet.errors import CapacityError, SugenetError
from sugenet.fit.sugeno.columns import FeatureLevels
from sugenet.fit.sugeno.learning import Bools, Fitted, Ints, best_capacity, learn_terms
from sugenet.fit.sugeno.rules import LevelRule, strongest
from sugenet.fit.sugeno.scorecard import ScoreCard, learn_card
from sugenet.visible import visible

__all__ = ["LearnedModel", "Terms", "learn_model"]

Terms: TypeAlias = int | Literal["card"]
_LARGEST = 1 << 29
"""Of the sum of all gains, which a minimum cut of scipy holds in 32 bits."""
_FINE = 1000
"""Units of a gain of 1."""


@dataclass(frozen=True)
class LearnedModel(Drawn):
    """The greatest of some Sugeno utility functionals, or a score card.

    Parameters
    ----------
    chains
        The features and their levels.
    levels
        The levels of the target, worst first.
    terms
        The functionals as they were fitted; none with a card.
    card
        The score card, or None.
    """

    chains: tuple[FeatureLevels, ...]
    levels: tuple[Any, ...]
    terms: tuple[Fitted, ...]
    card: ScoreCard | None

    def read(self, table: npt.NDArray[Any]) -> Ints:
        """Raw values as levels of the features."""
        return np.column_stack([chain.ranks(table[:, i]) for i, chain in enumerate(self.chains)])

    def ranks(self, table: npt.NDArray[Any]) -> Ints:
        """The level of the target of each row of raw values, by its place."""
        return self.ranks_of(self.read(table))

    def ranks_of(self, rows: Ints) -> Ints:
        """The same, of rows of levels of the features."""
        if self.card is not None:
            return self.card.ranks(rows)
        return np.asarray(np.max([one.least.ranks(rows) for one in self.terms], axis=0))

    def interval(self, table: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """The least and the greatest level that capacities give which fit as well, one at a time."""
        if self.card is not None:
            raise SugenetError(
                "predict_interval is about all capacities that fit equally well, and a score card has no "
                "such set. Give terms=1 or another whole number."
            )
        rows = self.read(table)
        low = [one.least.ranks(rows) for one in self.terms]
        high = [one.upper(rows) for one in self.terms]
        # the least capacity is the one that answers, so only upwards can one term differ
        return np.max(low, axis=0), np.max([*low, *high], axis=0)

    @cached_property
    def scale(self) -> Ordinal:
        """The levels of the target as a scale."""
        return Ordinal([str(level) for level in self.levels])

    @property
    def capacities(self) -> tuple[Focal, ...] | tuple[Nested]:
        """Of each functional, over the features; of a card the one over what features may reach."""
        if self.card is None:
            names = [chain.name for chain in self.chains]
            return tuple(one.least.capacity(names, self.scale) for one in self.terms)
        said = [
            [" ".join([chain.name, *map(str, chain.condition(t))]) for t in range(1, len(chain.steps) + 1)]
            for chain in self.chains
        ]
        return (self.card.capacity(said, self.scale),)

    def utilities(self, term: int = 0) -> dict[str, tuple[Any, ...]]:
        """For each feature the level of the target that each of its levels is worth, in one functional."""
        if self.card is not None:
            raise CapacityError("a score card has points and no utilities; see card_.")
        one = self.terms[term].least
        return {
            chain.name: tuple(self.levels[j] for j in one.utilities(i, len(chain.steps) + 1))
            for i, chain in enumerate(self.chains)
        }

    @cached_property
    def rules(self) -> tuple[LevelRule, ...]:
        """All that is said, nothing twice: the best level among the rules that hold, else the worst one."""
        corners = (
            list(self.card.corners())
            if self.card is not None
            else [corner for one in self.terms for corner in one.least.corners()]
        )
        return strongest(corners, self.chains, self.levels)

    def __str__(self) -> str:
        what = str(self.card) if self.card is not None else f"greatest of {len(self.terms)} Sugeno integrals"
        what = "one Sugeno integral" if len(self.terms) == 1 else what
        levels = " < ".join(visible(str(level)) for level in self.levels)
        return f"{what} over {len(self.chains)} features, levels {levels}"


def learn_model(
    table: npt.NDArray[Any],
    targets: Bools,
    chains: Sequence[FeatureLevels],
    levels: Sequence[Any],
    *,
    weights: npt.NDArray[np.float64],
    gaps: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    terms: Terms,
    cuts: Ints | None,
    smoothing: float,
    smoothness: float,
    points: int,
    rng: np.random.Generator,
) -> LearnedModel:
    """Learn a model of samples that reach some levels of the target.

    `targets` has a column for each level from 1, or one column where `offsets` has one log-odds for each:
    then level j means that the odds are so high. `cuts` are those of given utilities; else they are learned.
    """
    chain_list = tuple(chains)
    rows = np.column_stack([chain.ranks(table[:, i]) for i, chain in enumerate(chain_list)])
    many = [len(chain.steps) + 1 for chain in chain_list]
    card: ScoreCard | None = None
    labels = np.where(targets, 1.0, -1.0) - np.tanh(
        offsets / 2
    )  # an event of odds o is worth it from 1 in 1 + o
    if terms == "card" or smoothing > 0:
        card, odds = learn_card(rows, many, targets, weights, offsets, smoothness, points)
        if terms == "card":
            return LearnedModel(chain_list, tuple(levels), (), card)
        share = (
            np.tanh((odds + offsets) / 2) - np.tanh(offsets / 2)
            if targets.shape[1] == 1
            else np.tanh(odds / 2)
        )
        labels = (1 - smoothing) * labels + smoothing * share
    gains = labels * (weights[:, None] * gaps)
    unit = min(
        _FINE / max(float(np.abs(gains).max()), 1e-300), _LARGEST / max(float(np.abs(gains).sum()), 1e-300)
    )
    whole = np.rint(gains * unit).astype(np.int64)
    if cuts is not None:
        fitted: tuple[Fitted, ...] = (best_capacity(rows, whole, cuts),)
    else:
        fitted = learn_terms(rows, np.array(many), whole, int(terms), rng)
    return LearnedModel(chain_list, tuple(levels), fitted, None)
