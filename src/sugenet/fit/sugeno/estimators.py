"""scikit-learn estimators that learn Sugeno integrals from tables, and predict with integers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.capacities import Ratings
from sugenet.fit.features import (
    ClassifierMixin,
    Estimator,
    RegressorMixin,
    Table,
    Tags,
    check_is_fitted,
    check_random_state,
    classes_of,
    column_names,
    d2_absolute_error_score,
    read_features,
    titles_of,
)
from sugenet.fit.sugeno import LevelRule, ScoreCard
from sugenet.fit.sugeno.columns import (
    FeatureLevels,
    Target,
    declared_chain,
    declared_for,
    learn_chain,
    named_target,
    nearest_ranks,
    number_target,
    ordered_categories,
    read_directions,
)
from sugenet.fit.sugeno.learning import Bools, Ints
from sugenet.fit.sugeno.model import LearnedModel, Terms, learn_model
from sugenet.fit.weights import class_factors

__all__ = ["SugenoClassifier", "SugenoRegressor"]

_TENTHS = np.arange(1, 10) / 10


class _SugenoEstimator(Estimator):
    """Shared base class of the Sugeno estimators: reads features, learns the model and shows it."""

    def _table(self, X: Any, y: Any) -> tuple[Table, Table]:
        if y is not None:
            self._check_settings()
        table, labels = self._training_data(X, y)
        self._names = titles_of(column_names(X), table)
        orders = declared_for(self.orders, self._names, "orders")
        frame = X if hasattr(X, "columns") else None
        self._orders = [
            order if order is not None or frame is None else ordered_categories(frame.iloc[:, i])
            for i, order in enumerate(orders)
        ]
        return table, labels

    def _check_settings(self) -> None:
        is_integer = isinstance(self.terms, int | np.integer) and not isinstance(self.terms, bool)
        is_named = isinstance(self.terms, str) and self.terms in ("card", "all")
        if not is_named and not (is_integer and self.terms >= 1):
            raise SugenetError(f"terms is {self.terms!r}; give an integer of at least 1, 'card' or 'all'.")
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
                raise SugenetError(f"{name} is {value!r}; give an integer of at least {low}.")
        if self.utilities is not None and self.terms != 1:
            raise SugenetError(
                "utilities are given, so there is one Sugeno integral of them: terms must be 1."
            )

    def _chains(
        self, table: npt.NDArray[Any], target: Target
    ) -> tuple[tuple[FeatureLevels, ...], Ints | None]:
        """Return the features as chains, and the cuts if utilities are given."""
        ways = read_directions(self.directions, self._names)
        if self.utilities is None:
            return tuple(
                learn_chain(table[:, i], name, target.ranks, self._orders[i], self.cuts, ways[i])
                for i, name in enumerate(self._names)
            ), None
        if any(ways):
            raise SugenetError("utilities are given and say which values are better: leave out directions.")
        same = isinstance(self.utilities, str) and self.utilities == "same"
        utilities = (
            [None] * len(self._names) if same else declared_for(self.utilities, self._names, "utilities")
        )
        missing = next((name for name, one in zip(self._names, utilities, strict=True) if one is None), None)
        if missing is not None and not same:
            raise SugenetError(f"utilities has no entry for {missing}. Give one per feature, or 'same'.")
        levels = target.levels.tolist()
        both = [declared_chain(name, one, levels) for name, one in zip(self._names, utilities, strict=True)]
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
        """Return the model, if there is exactly one."""
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            raise AttributeError(
                f"{what} is of one model, but there is one for each class: see model_[class]."
            )
        return self.model_  # type: ignore[no-any-return]

    @property
    def rules_(self) -> tuple[LevelRule, ...] | dict[Any, tuple[LevelRule, ...]]:
        """The model as rules: the prediction is the best level among the rules that hold, else the worst
        level.
        """
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            return {kind: model.rules for kind, model in self.model_.items()}
        return self.model_.rules  # type: ignore[no-any-return]

    @property
    def capacity_(self) -> Any:
        """The capacity of the only Sugeno integral: over the features, or for a card over the levels they
        reach.
        """
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
        """The utility of each level of each feature, as levels of the target, worst first."""
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
        """Return the samples as the only integral reads them: utilities on the scale of the target, and
        levels.
        """
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
        """For each feature, "rising" if larger values are better, else "falling"."""
        return {chain.name: chain.direction for chain in self._one("directions_").chains}


class SugenoRegressor(RegressorMixin, _SugenoEstimator):  # type: ignore[misc]
    """Regressor for numbers and ordered names: a Sugeno integral, or the maximum of several.

    The prediction is monotone in every feature and uses comparisons only. `rules_` states it in full.

    Reference: Brabant, Couceiro and others [BCD20].

    Parameters
    ----------
    terms
        The kind of model.

        - ``1``: one Sugeno integral, with one utility per feature. The model is a table of utilities and a
          few focal sets, and is easy to read. It cannot express every monotone function, because it does not
          compensate: two mediocre features never make a good one.
        - An integer k > 1: the maximum of k such integrals, each with its own utilities. With enough terms it
          expresses any monotone function. The reader must compare k tables, and a feature no longer has a
          single utility.
        - ``"card"``: a score card, with integer points for every level of a feature, and sums to reach. It is
          one Sugeno integral over "the feature reaches the level", and as accurate as models with many terms.
          Its points are easy to read, but it has many rules, and a single point means nothing by itself.
        - ``"all"``: the best of all monotone functions (isotonic regression), as the maximum of as many
          integrals as it needs. A minimum cut finds it: with ``smoothing=0``, no monotone function of the
          cuts has fewer samples on the wrong side of any level. It often has fewer rules than a card.
    utilities
        None: learned. ``"same"``: the features are on the scale of y. Or a mapping from each feature to a
        mapping from its values to levels of y. With given utilities, the capacity has the minimum total
        absolute error of all capacities.
    directions
        Whether larger values are better: ``"rising"``, ``"falling"`` or None (learned, see `directions_`),
        for all, in a list, or in a mapping from features.
    orders
        For features that are names, a mapping from the feature to its names, lowest first. Columns of ordered
        categories (pandas) have their own order.
    order
        Names of the levels of y, worst first; ordered categories have their own order. None for numbers.
    levels
        Largest number of different predictions for numbers; if y has more values, they are grouped. Integers
        stay integers; all other numbers of X and y are read as float64, as everywhere in scikit-learn.
    cuts
        Largest number of cuts per numeric feature.
    smoothing
        Weight of the smooth model (the score card) beside the labels when utilities are learned: 0 for labels
        alone, 1 for the smooth model alone.
    smoothness
        How strongly neighbouring levels of a feature are drawn together in the smooth model.
    points
        Approximate number of points that a score card can give. Fewer are easier to add up, and make fewer
        rules; more are more accurate on some tables.
    costs
        Cost of an error by value of y, as a mapping, or ``"balanced"`` for the same total of every value
        (default: 1 for every value).
    random_state
        Random state for the starting cuts; an integer gives the same model every time.

    Attributes
    ----------
    model_ : LearnedModel
        The learned model, which predicts with integers alone.
    rules_ : tuple of LevelRule
        The whole model: the prediction is the best level among the rules that hold, else the worst level.
    capacity_, capacities_ : SetFunction, tuple of them
        The capacity of the only term, and those of all terms.
    utilities_ : dict
        Utilities of the levels of each feature, if there is one term.
    card_ : ScoreCard
        The score card, with ``terms="card"``.
    directions_ : dict
        The directions, as given or learned.
    levels_ : ndarray
        All possible predictions, worst first.
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
        points: int = 20,
        costs: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any) -> SugenoRegressor:
        """Learn from samples and their targets."""
        order = self.order if self.order is not None else ordered_categories(y)
        table, labels = self._table(X, y)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int | np.integer) or self.levels < 2:
            raise SugenetError(f"levels is {self.levels!r}; give an integer of at least 2.")
        target = (
            named_target(labels, order)
            if order is not None
            else number_target(_numbers(labels), int(self.levels))
        )
        weights = class_factors(self.costs, target.levels.tolist(), target.ranks, name="costs")[target.ranks]
        self.levels_ = target.levels
        self.model_ = self._learn(table, target, target.reached, weights)
        self._named = not target.is_number
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the level of each sample."""
        table = self._read(X)
        return np.asarray(self.levels_[self.model_.ranks(table)])

    def predict_interval(self, X: Any) -> npt.NDArray[Any]:
        """Return the smallest and largest value of each sample over all capacities that fit as well.

        The utilities are those learned or given. If there are several terms, one term at a time varies. With
        ``terms="all"``, these are all monotone functions that fit as well.
        """
        table = self._read(X)
        return np.asarray(self.levels_[np.column_stack(self.model_.interval(table))])

    def ratings(self, X: Any, y: Any) -> Ratings:
        """Return the samples as the Sugeno integral reads them: utilities of their values, rated with levels
        of y.

        Use it for `fit_capacity`, `version_space` and their certificates. Numbers that are not a level are
        rounded to the nearest one.

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
        """Return R^2 for numbers; for names, the share of a constant's absolute error in levels that is
        saved.
        """
        if not getattr(self, "_named", False):
            return float(super().score(X, y, sample_weight))
        truth = named_target(np.asarray(y), self.levels_.tolist()).ranks
        return float(
            d2_absolute_error_score(truth, self.model_.ranks(self._read(X)), sample_weight=sample_weight)
        )


class SugenoClassifier(ClassifierMixin, _SugenoEstimator):  # type: ignore[misc]
    """Classify with a Sugeno integral, or with the maximum of several.

    Of two classes, the second is the level to reach. Ordered classes are the levels of one model. More than
    two classes without an order get one model each, which states its confidence in tenths. The most confident
    model decides; of equally confident ones, that of the most frequent class.

    Reference: Abbaszadeh and Hüllermeier [AH20]; Brabant, Couceiro and others [BCD20].

    Parameters
    ----------
    terms : int, "card" or "all"
        Number of Sugeno integrals, a score card, or the best monotone function, see `SugenoRegressor`
        (default: 1).
    utilities : dict, "same" or None
        Utilities of feature values, for two or for ordered classes; None learns them (default: None).
    directions : str, sequence, dict or None
        ``"rising"`` or ``"falling"``, for all features or for each; None learns it (default: None).
    orders : dict or None
        For features that are names, a mapping from the feature to its names, lowest first (default: None).
    order : sequence, "sorted" or None
        The classes, worst first. Ordered categories have their own order. None sorts two classes, and treats
        more as unordered (default: None).
    cuts : int
        Largest number of cuts per numeric feature (default: 16).
    smoothing : float
        Weight of the smooth model beside the labels, from 0 to 1 (default: 0.5).
    smoothness : float
        How strongly neighbouring levels are drawn together in the smooth model (default: 1.0).
    points : int
        Approximate number of points of a score card (default: 20).
    class_weight : dict, "balanced" or None
        Cost of an error on samples of a class; 1 for classes that are not listed (default: None).
        ``"balanced"`` gives all classes the same total.
    random_state : int, RandomState or None
        An integer gives the same model every time (default: None).

    Attributes
    ----------
    classes_ : ndarray
        The classes, worst first.
    model_ : LearnedModel, or dict of them
        The learned model; for unordered classes, one per class.
    rules_, capacity_, capacities_, utilities_, card_, directions_
        As in `SugenoRegressor`. For unordered classes, `rules_` is a dict, and the other attributes are those
        of ``model_[class]``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Raises
    ------
    SugenetError
        If a setting or a value cannot be used, when `fit` is called.

    See Also
    --------
    BNNClassifier : Train a binarized network.
    sugenet.fit.SugenoRegressor : The same model for numbers and ordered names.

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
        points: int = 20,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._set_parameters(locals())

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the classes of its test data have no order, so a given order fits badly."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.order is not None
        return tags

    def fit(self, X: Any, y: Any) -> SugenoClassifier:
        """Learn from samples and their classes.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.
        y : array
            Class of each sample.

        Returns
        -------
        SugenoClassifier
            The classifier itself.
        """
        order = self.order if self.order is not None else ordered_categories(y)
        table, labels = self._table(X, y)
        kinds = classes_of(labels)[0]
        ordered = order is not None or len(kinds) == 2
        is_sorted = isinstance(order, str) and order == "sorted"
        target = named_target(labels, kinds.tolist() if order is None or is_sorted else order)
        weights = class_factors(self.class_weight, target.levels.tolist(), target.ranks)[target.ranks]
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
        for index, kind in enumerate(target.levels.tolist()):
            class_target = Target(np.array([False, True]), (target.ranks == index).astype(np.int64), False)
            self.model_[kind] = self._learn(table, class_target, class_target.reached, weights, sure, offsets)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each sample.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.

        Returns
        -------
        array
            One class per sample.
        """
        table = self._read(X)
        if not isinstance(self.model_, Mapping):
            return np.asarray(self.classes_[self.model_.ranks(table)])
        sure = np.column_stack([model.ranks(table) for model in self.model_.values()])
        return np.asarray(self.classes_[self._frequent[sure[:, self._frequent].argmax(axis=1)]])

    def predict_interval(self, X: Any) -> npt.NDArray[Any]:
        """Return the smallest and largest class of each sample over all capacities that fit as well.

        The utilities are those learned or given. If there are several terms, one term at a time varies. With
        ``terms="all"``, these are all monotone functions that fit as well.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.

        Returns
        -------
        array
            One row per sample: the smallest and the largest class.
        """
        check_is_fitted(self)
        if isinstance(self.model_, Mapping):
            raise SugenetError("classes without order have no interval. Give order, worst first.")
        table = self._read(X)
        return np.asarray(self.classes_[np.column_stack(self.model_.interval(table))])

    def ratings(self, X: Any, y: Any) -> Ratings:
        """Return the samples as the Sugeno integral reads them: utilities of their values, rated with
        classes.

        Use it for `fit_capacity`, `version_space` and their certificates.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.
        y : array
            Class of each sample.

        Returns
        -------
        Ratings
            Rated alternatives, one per sample.
        """
        check_is_fitted(self)
        return self._ratings(X, named_target(np.asarray(y), self.classes_.tolist()).ranks)


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
