"""Sugeno integrals as scikit-learn estimators: learned from tables, answered by whole numbers alone.

``from sugenet.fit.estimators import SugenoClassifier, SugenoRegressor`` needs scikit-learn, and no PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.capacities import Ratings
from sugenet.fit.estimators_binarizer import column_names, read_features
from sugenet.fit.sugeno.closures import Bools, Ints
from sugenet.fit.sugeno.columns import (
    FeatureLevels,
    given_chain,
    given_for,
    learn_chain,
    ordered_categories,
    read_directions,
)
from sugenet.fit.sugeno.model import LearnedModel, Terms, learn_model
from sugenet.fit.sugeno.rules import LevelRule
from sugenet.fit.sugeno.scorecard import ScoreCard
from sugenet.fit.sugeno.targets import Target, costs_of, named_target, nearest_ranks, number_target

# isort: split
# These come after estimators_binarizer, which says what to install where scikit-learn is missing.
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.metrics import d2_absolute_error_score  # type: ignore[import-untyped]
from sklearn.utils import Tags, check_random_state  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

__all__ = ["SugenoClassifier", "SugenoRegressor"]

_TENTHS = np.arange(1, 10) / 10


class _SugenoEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: how features are read, how a model is learned and looked at."""

    def __sklearn_tags__(self) -> Tags:
        """For scikit-learn: categories are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _table(self, X: Any, y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        if y is None:
            raise EncodingError(
                f"This {type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_settings()
        table, labels = read_features(self, X, fit=True, y=y)
        names = column_names(X)
        self._names = (
            [f"x{i}" for i in range(1, table.shape[1] + 1)] if names is None else list(map(str, names))
        )
        given = given_for(self.orders, self._names, "orders")
        frame = X if hasattr(X, "columns") else None
        self._orders = [
            order if order is not None or frame is None else ordered_categories(frame.iloc[:, i])
            for i, order in enumerate(given)
        ]
        return table, np.asarray(labels)

    def _check_settings(self) -> None:
        whole = isinstance(self.terms, int | np.integer) and not isinstance(self.terms, bool)
        if self.terms != "card" and not (whole and self.terms >= 1):
            raise SugenetError(f"terms is {self.terms!r}; give a whole number of at least 1, or 'card'.")
        for name, low, high in (("smoothing", 0, 1), ("smoothness", 0, 1e9)):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float | np.number)
                or not low <= value <= high
            ):
                raise SugenetError(f"{name} is {value!r}; give a number from {low} to {high:g}.")
        for name, low in (("cuts", 1), ("points", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
                raise SugenetError(f"{name} is {value!r}; give a whole number of at least {low}.")
        if self.utilities is not None and self.terms != 1:
            raise SugenetError(
                "utilities are given, so there is one Sugeno integral of them: terms must be 1."
            )

    def _chains(
        self, table: npt.NDArray[Any], target: Target
    ) -> tuple[tuple[FeatureLevels, ...], Ints | None]:
        """The features as chains, and the cuts where utilities are given."""
        ways = read_directions(self.directions, self._names)
        if self.utilities is None:
            return tuple(
                learn_chain(table[:, i], name, target.ranks, self._orders[i], self.cuts, ways[i])
                for i, name in enumerate(self._names)
            ), None
        if any(ways):
            raise SugenetError("utilities are given and say which values are better: leave out directions.")
        same = isinstance(self.utilities, str) and self.utilities == "same"
        given = [None] * len(self._names) if same else given_for(self.utilities, self._names, "utilities")
        missing = next((name for name, one in zip(self._names, given, strict=True) if one is None), None)
        if missing is not None and not same:
            raise SugenetError(
                f"utilities does not speak of {missing}. Give those of every feature, or 'same'."
            )
        levels = target.levels.tolist()
        both = [given_chain(name, one, levels) for name, one in zip(self._names, given, strict=True)]
        return tuple(chain for chain, _ in both), np.array([cuts for _, cuts in both])

    def _learn(
        self,
        table: npt.NDArray[Any],
        target: Target,
        reached: Bools,
        weights: npt.NDArray[np.float64],
        levels: Sequence[Any] | None = None,
        offsets: npt.NDArray[np.float64] | None = None,
    ) -> LearnedModel:
        chains, cuts = self._chains(table, target)
        if len(target.levels) == 1:  # one value only: it is the answer
            card = ScoreCard(tuple((0,) * (len(chain.steps) + 1) for chain in chains), ())
            return LearnedModel(chains, tuple(target.levels.tolist()), (), card)
        return learn_model(
            table,
            reached,
            chains,
            target.levels.tolist() if levels is None else levels,
            weights=weights,
            gaps=target.gaps if offsets is None else np.ones(len(offsets)),
            offsets=np.zeros(reached.shape[1]) if offsets is None else offsets,
            terms=self.terms,
            cuts=cuts,
            smoothing=0.0 if cuts is not None else float(self.smoothing),
            smoothness=float(self.smoothness),
            points=int(self.points),
            rng=np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _read(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(read_features(self, X, fit=False, names=self._names))

    def _one(self, what: str) -> LearnedModel:
        """The model, where there is one."""
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            raise AttributeError(
                f"{what} is of one model, but there is one for each class: see model_[class]."
            )
        return self.model_  # type: ignore[no-any-return]

    @property
    def rules_(self) -> tuple[LevelRule, ...] | dict[Any, tuple[LevelRule, ...]]:
        """What was learned, as rules: the best level among those that hold is the answer, else the worst."""
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            return {kind: model.rules for kind, model in self.model_.items()}
        return self.model_.rules  # type: ignore[no-any-return]

    @property
    def capacity_(self) -> Any:
        """The capacity of one Sugeno integral: over the features, or with a card over what they reach."""
        model = self._one("capacity_")
        if len(model.capacities) > 1:
            raise AttributeError("there are several terms, each with a capacity: see capacities_.")
        return model.capacities[0]

    @property
    def capacities_(self) -> tuple[Any, ...]:
        """The capacity of every term."""
        return self._one("capacities_").capacities

    @property
    def utilities_(self) -> dict[str, tuple[Any, ...]]:
        """For each feature what its levels are worth, as levels of the target, worst first."""
        model = self._one("utilities_")
        if len(model.terms) != 1:
            raise AttributeError("utilities_ is of one Sugeno integral: see model_.utilities(term).")
        return model.utilities()

    @property
    def card_(self) -> ScoreCard:
        """The score card, with ``terms="card"``."""
        model = self._one("card_")
        if model.card is None:
            raise AttributeError("there is no score card: give terms='card'.")
        return model.card

    def _ratings(self, X: Any, ranks: Ints) -> Ratings:
        """Samples as the only integral sees them: utilities on the scale of the target, and its levels."""
        model = self._one("ratings")
        if len(model.terms) != 1:
            raise SugenetError("ratings are those of one Sugeno integral. Give terms=1.")
        one = model.terms[0].least
        rows = model.read(self._read(X))
        phi = [np.array(one.utilities(i, len(chain.steps) + 1)) for i, chain in enumerate(model.chains)]
        worth = np.column_stack([phi[i][rows[:, i]] for i in range(len(phi))])
        return Ratings(
            model.scale.decode(worth),
            model.scale.decode(ranks),
            model.scale,
            [chain.name for chain in model.chains],
        )

    @property
    def directions_(self) -> dict[str, str]:
        """For each feature whether larger values are better ("rising") or smaller ones."""
        return {chain.name: chain.direction for chain in self._one("directions_").chains}


class SugenoRegressor(RegressorMixin, _SugenoEstimator):  # type: ignore[misc]
    """A Sugeno integral, or the greatest of several, for numbers and for ordered names.

    The answer is monotone in every feature, comes from comparisons alone, and is said in full by `rules_`.

    Parameters
    ----------
    terms
        What kind of model. ``1``: one Sugeno integral of one utility for each feature: a table of utilities
        and a few focal sets, which is read at once, but cannot say all that is monotone (no compensation: two
        middling features never make a good one). A whole number k > 1: the greatest of k such integrals, each
        with utilities of its own, which with enough of them is any monotone function; to read it is to read k
        tables side by side, and no feature has *the* utility any more. ``"card"``: a score card with whole
        points for every level of a feature and sums to reach. It is one Sugeno integral over "the feature
        reaches the level", and as accurate as models with many terms; its points are read at once, but its
        rules are many, and a point means nothing by itself.
    utilities
        None: learned. ``"same"``: the features are on the scale of y. Or a mapping from each feature to a
        mapping from its values to levels of y. With given utilities the capacity has the least total
        absolute error that any capacity has.
    directions
        Whether larger values are better: ``"rising"``, ``"falling"`` or None (learned, see `directions_`),
        for all, in a list, or in a mapping from features.
    orders
        A mapping from features that are names to these, least first. Columns of ordered categories (pandas)
        bring theirs.
    order
        Levels of y by name, worst first; ordered categories bring theirs. None for numbers.
    levels
        At most so many different answers for numbers; more values of y are put in groups. Integers stay
        integers; all other numbers of X and y are read as float64, as everywhere in scikit-learn.
    cuts
        At most so many cuts for each number.
    smoothing
        How much a smooth model (the score card) has its say beside the labels when utilities are learned: 0
        for labels alone, 1 for the smooth model alone.
    smoothness
        How much neighbouring levels of a feature are drawn together in the smooth model.
    points
        The most points that a score card gives; fewer are easier to add up.
    costs
        What an error costs on samples with some values of y, as a mapping; 1 unless said.
    random_state
        Where cuts begin is drawn; a whole number gives the same model every time.

    Attributes
    ----------
    model_ : LearnedModel
        What was learned; it answers by whole numbers alone.
    rules_ : tuple of LevelRule
        All it says: the best level among the rules that hold, else the worst level.
    capacity_, capacities_ : SetFunction, tuple of them
        Of the only term, and of all.
    utilities_ : dict
        What the levels of each feature are worth, for one term.
    card_ : ScoreCard
        With ``terms="card"``.
    directions_ : dict
        As given or learned.
    levels_ : ndarray
        The answers that can come, worst first.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> X = [["good", "bad"], ["ok", "good"], ["good", "good"], ["bad", "bad"]]
    >>> y = ["ok", "ok", "good", "bad"]
    >>> scale = ["bad", "ok", "good"]
    >>> model = SugenoRegressor(utilities="same", order=scale).fit(X, y)
    >>> model.predict([["good", "ok"], ["bad", "good"]])
    array(['ok', 'bad'], dtype='<U4')
    >>> model.predict_interval([["good", "ok"], ["bad", "good"]]).tolist()
    [['ok', 'ok'], ['bad', 'ok']]
    >>> for rule in model.rules_:
    ...     print(rule)
    if x1 >= good and x2 >= good then at least good
    if x1 >= ok then at least ok
    """

    def __init__(
        self,
        terms: Terms = 1,
        *,
        utilities: Any = None,
        directions: Any = None,
        orders: Any = None,
        order: Sequence[Any] | None = None,
        levels: int = 10,
        cuts: int = 16,
        smoothing: float = 0.5,
        smoothness: float = 1.0,
        points: int = 1000,
        costs: Mapping[Any, float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.terms = terms
        self.utilities = utilities
        self.directions = directions
        self.orders = orders
        self.order = order
        self.levels = levels
        self.cuts = cuts
        self.smoothing = smoothing
        self.smoothness = smoothness
        self.points = points
        self.costs = costs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SugenoRegressor:
        """Learn from samples and their targets."""
        order = self.order if self.order is not None else ordered_categories(y)
        table, labels = self._table(X, y)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int | np.integer) or self.levels < 2:
            raise SugenetError(f"levels is {self.levels!r}; give a whole number of at least 2.")
        target = (
            named_target(labels, order) if order is not None else number_target(_numbers(labels), self.levels)
        )
        weights = costs_of(self.costs, target.levels.tolist(), target.ranks)
        self.levels_ = target.levels
        self.model_ = self._learn(table, target, target.reached, weights)
        self._named = not target.is_number
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The level of each sample."""
        table = self._read(X)
        return np.asarray(self.levels_[self.model_.ranks(table)])

    def predict_interval(self, X: Any) -> npt.NDArray[Any]:
        """Least and greatest value of each sample over all capacities that fit the training data as well.

        With the utilities that were learned or given, and of several terms one at a time.
        """
        table = self._read(X)
        return np.asarray(self.levels_[np.column_stack(self.model_.interval(table))])

    def ratings(self, X: Any, y: Any) -> Ratings:
        """Samples as the Sugeno integral sees them: utilities of their values, rated with levels of y.

        For `fit_capacity`, `version_space` and their certificates. Numbers that are no level are put to the
        nearest one.

        Examples
        --------
        >>> from sugenet.fit import fit_capacity
        >>> X, y = [[0, 2], [1, 1], [2, 0], [2, 2]], [1, 1, 0, 2]
        >>> model = SugenoRegressor(utilities="same").fit(X, y)
        >>> fit_capacity(model.ratings(X, y), loss="total").error
        0
        """
        check_is_fitted(self)
        if self._named:
            ranks = named_target(np.asarray(y), self.levels_.tolist()).ranks
        else:
            ranks = nearest_ranks(y, self.levels_)
        return self._ratings(X, ranks)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 for numbers; for names the share of a constant's absolute error, in levels, that is saved."""
        if not getattr(self, "_named", False):
            return float(super().score(X, y, sample_weight))
        truth = named_target(np.asarray(y), self.levels_.tolist()).ranks
        return float(
            d2_absolute_error_score(truth, self.model_.ranks(self._read(X)), sample_weight=sample_weight)
        )


class SugenoClassifier(ClassifierMixin, _SugenoEstimator):  # type: ignore[misc]
    """A Sugeno integral, or the greatest of several, for two classes, ordered ones, or any.

    Of two classes the second is the level to reach. Ordered classes are the levels of one model. For more
    than two classes without order there is a model for each, which says how sure it is in tenths; the surest
    answers, of equally sure ones the most frequent.

    Parameters
    ----------
    terms, utilities, directions, orders, cuts, smoothing, smoothness, points, random_state
        As in `SugenoRegressor`; utilities are given for two or for ordered classes only.
    order
        The classes, worst first; ``"sorted"`` for the order that numbers and names have; ordered categories
        bring theirs. None: two classes as sorted, more without order.
    costs
        What an error costs on samples of some classes, as a mapping; 1 unless said.

    Attributes
    ----------
    classes_ : ndarray
        The classes, worst first.
    model_ : LearnedModel, or dict of them
        What was learned; without order one for each class.
    rules_, capacity_, capacities_, utilities_, card_, directions_
        As in `SugenoRegressor`; without order `rules_` is a dict, and the others are those of
        ``model_[class]``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> X = [[300, 1], [250, 0], [120, 0], [90, 1], [140, 1], [310, 0]]
    >>> y = ["leave", "leave", "take", "take", "take", "leave"]
    >>> model = SugenoClassifier(random_state=0).fit(X, y)
    >>> model.predict([[100, 0], [400, 1]])
    array(['take', 'leave'], dtype='<U5')
    >>> model.directions_["x1"]
    'falling'
    >>> for rule in model.rules_:
    ...     print(rule)
    if x1 <= 140 then at least take
    """

    def __init__(
        self,
        terms: Terms = 1,
        *,
        utilities: Any = None,
        directions: Any = None,
        orders: Any = None,
        order: Any = None,
        cuts: int = 16,
        smoothing: float = 0.5,
        smoothness: float = 1.0,
        points: int = 1000,
        costs: Mapping[Any, float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.terms = terms
        self.utilities = utilities
        self.directions = directions
        self.orders = orders
        self.order = order
        self.cuts = cuts
        self.smoothing = smoothing
        self.smoothness = smoothness
        self.points = points
        self.costs = costs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """For scikit-learn: classes of its own data have no order, so one that is said fits badly."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.order is not None
        return tags

    def fit(self, X: Any, y: Any) -> SugenoClassifier:
        """Learn from samples and their classes."""
        order = self.order if self.order is not None else ordered_categories(y)
        table, labels = self._table(X, y)
        check_classification_targets(labels)
        kinds = np.unique(labels)
        if len(kinds) < 2:
            raise EncodingError(
                f"y holds one class only, {kinds.tolist()[0]!r}. At least two classes are needed."
            )
        ordered = order is not None or len(kinds) == 2
        target = named_target(labels, kinds.tolist() if order is None or _is_sorted(order) else order)
        weights = costs_of(self.costs, target.levels.tolist(), target.ranks)
        self.classes_ = target.levels
        if ordered:
            self.model_: Any = self._learn(table, target, target.reached, weights)
            return self
        if self.utilities is not None:
            raise SugenetError(
                "utilities are levels of y, but the classes have no order. Give order, worst first."
            )
        self._frequent = np.argsort(-np.bincount(target.ranks), kind="stable")
        sure = [float(p) for p in (0.0, *_TENTHS)]
        offsets = np.log(_TENTHS / (1 - _TENTHS))
        self.model_ = {}
        for place, kind in enumerate(target.levels.tolist()):
            own = Target(np.array([False, True]), (target.ranks == place).astype(np.int64), False)
            self.model_[kind] = self._learn(table, own, own.reached, weights, sure, offsets)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each sample."""
        table = self._read(X)
        if not isinstance(self.model_, Mapping):
            return np.asarray(self.classes_[self.model_.ranks(table)])
        sure = np.column_stack([model.ranks(table) for model in self.model_.values()])
        return np.asarray(self.classes_[self._frequent[sure[:, self._frequent].argmax(axis=1)]])

    def predict_interval(self, X: Any) -> npt.NDArray[Any]:
        """Least and greatest class of each sample over all capacities that fit the training data as well.

        With the utilities that were learned or given, and of several terms one at a time.
        """
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            raise SugenetError("classes without order have no interval. Give order, worst first.")
        table = self._read(X)
        return np.asarray(self.classes_[np.column_stack(self.model_.interval(table))])

    def ratings(self, X: Any, y: Any) -> Ratings:
        """Samples as the Sugeno integral sees them: utilities of their values, rated with classes.

        For `fit_capacity`, `version_space` and their certificates.
        """
        check_is_fitted(self)
        return self._ratings(X, named_target(np.asarray(y), self.classes_.tolist()).ranks)


def _is_sorted(order: Any) -> bool:
    return isinstance(order, str) and order == "sorted"


def _numbers(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if y.dtype.kind in "iuf":
        return y
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise EncodingError(
            f"y holds names ({error}), and nothing says which are better. Give order, worst first, or y as "
            f"ordered categories."
        ) from error
