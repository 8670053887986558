"""scikit-learn estimators that train networks, learn Sugeno integrals and turn features into bits.

`BNNClassifier` trains with `train` and predicts with the exact packed network. The Sugeno estimators learn
from tables and predict with integers alone.

``from sugenet.fit.estimators import BNNClassifier`` requires scikit-learn. `BNNClassifier.fit` also requires
PyTorch, but a fitted classifier predicts without it. The other estimators require scikit-learn alone.

scikit-learn passes folds of the data, so a value that is missing from a fold must still be readable. To
predict, estimators only compare numbers with cuts. The values seen imply nothing else: `BNNClassifier`
predicts 17.5 and -3 in a column of positive integers, although questions to `network_` do not allow them.
Only categories and exact integers form closed sets.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from functools import lru_cache
from math import inf
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.errors import EncodingError, SugenetError, how_to_install
from sugenet.fit.capacities import Ratings
from sugenet.fit.columns import Missing, RawColumn, RawTable, refuse_gaps
from sugenet.fit.encoding import CodingChoice, informative, learn_coding, learn_encoder
from sugenet.fit.pipelines import TrainingColumns, compose
from sugenet.fit.scores import Scores
from sugenet.fit.search import check_searchable
from sugenet.fit.settings import Epoch, Settings
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
from sugenet.fit.trainer import as_table, train
from sugenet.fit.weights import class_factors, sample_weights, taken
from sugenet.nn import Coding, Domain, Encoder, Network, OneHot, Steps, bit, network_of, thermometer
from sugenet.nn.columns import Columns, Preparation
from sugenet.nn.samples import columns_of, labels_of, named_rows, rows_of

__all__ = [
    "BNNClassifier",
    "FeatureBinarizer",
    "SugenoClassifier",
    "SugenoRegressor",
]

try:
    from sklearn.base import (  # type: ignore[import-untyped]
        BaseEstimator,
        ClassifierMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.metrics import d2_absolute_error_score  # type: ignore[import-untyped]
    from sklearn.utils import Tags, check_random_state  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        _check_feature_names_in,
        check_array,
        check_is_fitted,
        check_X_y,
        validate_data,
    )
except ImportError as error:
    raise ImportError(
        f"sugenet.fit.estimators needs scikit-learn 1.6 or later ({error}). Install it "
        f"{how_to_install('sklearn')}."
    ) from error


_Table: TypeAlias = npt.NDArray[Any]
_TEXTS = (str, bytes)
_BOOLS = (bool, np.bool_)
_OTHERS = (*_TEXTS, *_BOOLS, date, np.datetime64, type(None))
"""Types of values that are not numbers."""


class _Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Shared base class of the estimators."""

    def _set_parameters(self, values: Mapping[str, Any]) -> None:
        """Store each argument of `__init__` unchanged under its name, as scikit-learn requires."""
        for name, value in values.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that categories are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _training_data(self, X: Any, y: Any, *, gaps: bool = False) -> tuple[_Table, _Table]:
        if y is None:
            raise EncodingError(
                f"This {type(self).__name__} requires y to be passed, but the target y is None."
            )
        table, labels = _read_features(self, X, fit=True, y=y, gaps=gaps)
        return table, np.asarray(labels)


def _classes_of(labels: _Table) -> tuple[_Table, _Table]:
    """Return the classes, and the class index of each sample."""
    check_classification_targets(labels)
    kinds, numbers = np.unique(labels, return_inverse=True)
    if len(kinds) < 2:
        raise EncodingError(
            f"y holds one class only, {kinds.tolist()[0]!r}. At least two classes are needed."
        )
    return kinds, numbers


class FeatureBinarizer(TransformerMixin, _Estimator):  # type: ignore[misc]
    """Transformer from features to bits: cuts for numbers, categories for texts; booleans are already bits.

    Parameters
    ----------
    cuts
        The number of cuts per numeric feature, at quantiles of the training data; or the cuts themselves in
        increasing order: one list for all features, or one list per feature. Bit t of a feature is on if and
        only if its value is at least cut t (a thermometer).
    coding
        ``"auto"`` uses cuts for numbers, one bit per category for texts and one bit for booleans. ``"cuts"``
        accepts numbers only. ``"bits"`` accepts -1, 0 and +1 unchanged. ``"integers"`` puts a cut at every
        step from the smallest to the largest integer seen.

    Attributes
    ----------
    encoder_ : Encoder
        The learned encoder, which can be passed to ``BNNClassifier(encoder=...)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had names.

    Examples
    --------
    >>> binarizer = FeatureBinarizer(cuts=2).fit([[1.0, "red"], [2.0, "blue"], [4.0, "red"], [8.0, "red"]])
    >>> binarizer.get_feature_names_out(["size", "colour"]).tolist()
    ['size >= 2', 'size >= 6', 'colour = blue', 'colour = red']
    >>> binarizer.transform([[3.5, "blue"]])
    array([[ True, False,  True, False]])
    >>> binarizer.inverse_transform([[True, False, True, False]])
    array([[4.0, 'blue']], dtype=object)
    >>> FeatureBinarizer(cuts=[0, 10]).fit_transform([[-3], [0], [99]]).astype(int).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """

    def __init__(self, *, cuts: Any = 4, coding: CodingChoice = "auto") -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any = None) -> FeatureBinarizer:  # noqa: ARG002  # a pipeline hands over y
        """Learn cuts and categories; y is ignored."""
        table = _read_features(self, X, fit=True)
        self.encoder_ = _encoder_of(table, self.coding, self.cuts, _column_names(X))
        self._ends = [
            (float(np.min(table[:, i])), float(np.max(table[:, i])))
            if isinstance(coding, Steps)
            else (0.0, 0.0)
            for i, coding in enumerate(self.encoder_.codings)
        ]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return the bits, one row per sample."""
        check_is_fitted(self)
        return self.encoder_.encode(_read_features(self, X, fit=False))

    def inverse_transform(self, X: Any) -> _Table:
        """Return raw values that have these bits: the category, or for a number the midpoint between its
        cuts.

        Below the first cut the result is the smallest training value, and above the last cut the largest, if
        these values lie there. Bits that no raw value has, such as two categories at once, raise an error.
        """
        check_is_fitted(self)
        bits = np.asarray(X)
        if bits.ndim != 2 or bits.shape[1] != self.encoder_.width:
            raise EncodingError(
                f"X has shape {bits.shape}, but bits of shape (samples, {self.encoder_.width}) are needed."
            )
        codings = self.encoder_.codings
        numeric = all(isinstance(coding, Steps) for coding in codings)
        out: _Table = np.empty((len(bits), len(codings)), dtype=np.float64 if numeric else object)
        for i, coding in enumerate(codings):
            group = self.encoder_.group(i)
            on = bits[:, group.start : group.stop] > 0
            out[:, i] = _values(on, coding, self.encoder_.names[i], self._ends[i])
        return out

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the meaning of each bit, such as ``age >= 18`` or ``colour = red``."""
        check_is_fitted(self)
        spoken = Encoder(self.encoder_.codings, _check_feature_names_in(self, input_features))
        return np.array([spoken.words(index) for index in range(spoken.width)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that categories are accepted, and that the output is bits for every type of X."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _read_features(
    estimator: Any,
    X: Any,
    *,
    fit: bool,
    y: Any = None,
    names: Sequence[str] | None = None,
    gaps: bool = False,
) -> Any:
    """Check X, and y if given, as scikit-learn does; return numbers as float64 and other values unchanged.

    Sets or compares `n_features_in_` and `feature_names_in_` of the estimator, which rejects columns in
    another order. If it was fitted without names, the columns must be those of `names`. If `names` is missing
    too, scikit-learn warns and accepts the columns in the given order, as its checks require of transformers.
    With `gaps`, the caller deals with missing and infinite values.
    """
    if names is not None and hasattr(X, "columns") and not hasattr(estimator, "feature_names_in_"):
        X = rows_of(X, names)
    if isinstance(X, np.ndarray | Sequence) and labels_of(X) is not None:
        raise EncodingError("scikit-learn reads names from data frames only. Pass pandas.DataFrame(X).")
    # a list that mixes numbers and texts stays mixed
    if isinstance(X, Sequence) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)
    how = {
        "dtype": None,
        "ensure_min_samples": 2 if fit else 1,
        "ensure_all_finite": not gaps,
        "estimator": estimator,
    }
    if not hasattr(X, "columns"):
        data = validate_data(estimator, *((X,) if y is None else (X, y)), reset=fit, **how)
    else:
        validate_data(estimator, X, reset=fit, skip_check_array=True)  # names
        array = _array_of(X)  # scikit-learn cannot convert each mixture of types
        data = check_array(array, input_name="X", **how) if y is None else check_X_y(array, y, **how)
    return _plain(data) if y is None else (_plain(data[0]), data[1])


def _array_of(table: Any) -> _Table:
    """Return a table of any library as an array, of objects if its columns have several types."""
    columns = columns_of(table, [str(label) for label in labels_of(table) or ()]) or []
    kinds = {column.dtype.kind for column in columns}
    if kinds <= set("iuf") or (len(kinds) == 1 and kinds != {"O"}):
        return np.stack(columns, axis=1)
    array = np.empty((len(table), len(columns)), dtype=object)
    for index, column in enumerate(columns):
        cells = RawColumn("", column)
        array[:, index] = list(column)
        if cells.numbers is not None and not cells.is_bool:
            array[cells.gaps, index] = np.nan
    return array


def _column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame, or None for arrays and for frames made without names."""
    return named_rows(X)[1] if hasattr(X, "columns") else None


def _titles(names: Iterable[object] | None, table: _Table) -> list[str]:
    """Return names as texts; x1, x2 and so on without them."""
    return [f"x{i}" for i in range(1, table.shape[1] + 1)] if names is None else list(map(str, names))


def _encoder_of(
    table: _Table, coding: CodingChoice, cuts: Any, names: Iterable[object] | None = None
) -> Encoder:
    """Learn an encoder column by column, from the output of `_read_features`."""
    if coding not in get_args(CodingChoice):
        raise SugenetError(
            f"coding={coding!r} is not known; it is one of {', '.join(get_args(CodingChoice))}."
        )
    titles = _titles(names, table)
    feature_cuts = _declared_cuts(cuts, table.shape[1])
    if coding in ("bits", "integers"):
        return learn_encoder(table, coding=coding, names=titles)
    codings: list[Coding] = []
    for i, title in enumerate(titles):
        column = table[:, i]
        if coding == "auto" and _holds(column, _BOOLS, all):
            codings.append(bit())
        elif coding == "auto" and _holds(column, _TEXTS, any):
            codings.append(learn_coding(column.astype(object), title, "auto", 1))
        elif feature_cuts is not None:
            codings.append(thermometer(feature_cuts[i]))
        else:
            codings.append(learn_coding(_floats(column, title), title, "cuts", int(cuts)))
    return informative(Encoder(codings, titles))


def _plain(table: Any) -> _Table:
    """Return numbers as float64, so that their type does not matter; uint8 stays, since its range is
    known.
    """
    array = np.asarray(table)
    if array.dtype.kind == "O" and not any(_holds(column, _OTHERS, any) for column in array.T):
        return np.stack([_floats(column, f"feature {i}") for i, column in enumerate(array.T)], axis=1)
    return array.astype(np.float64) if array.dtype.kind in "iuf" and array.dtype != np.uint8 else array


def _holds(column: _Table, kinds: tuple[type, ...], quantifier: Callable[[Iterable[bool]], bool]) -> bool:
    if column.dtype != object:
        column = column[:1]  # one type for all
    return quantifier(isinstance(value, kinds) for value in column.tolist())


def _floats(column: _Table, name: str) -> npt.NDArray[np.float64]:
    try:
        return column.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"{name} cannot be read: {error}. Give numbers, or texts for categories.") from error
    except ValueError as error:
        raise EncodingError(
            f"{name} needs numbers, but {error}. Texts are for columns of categories."
        ) from error


def _declared_cuts(cuts: Any, features: int) -> list[list[float]] | None:
    """Return the cuts of each feature, or None if `cuts` is a number of cuts to find."""
    if not isinstance(cuts, Iterable):
        if isinstance(cuts, _BOOLS) or not isinstance(cuts, int | np.integer) or cuts < 1:
            raise SugenetError(f"cuts={cuts!r} must be an integer of at least 1, or the cuts themselves.")
        return None
    rows = list(cuts)
    several = [isinstance(row, Iterable) for row in rows]
    if any(several) and (len(rows) != features or not all(several)):
        raise SugenetError(
            f"cuts holds {len(rows)} entries for {features} features. "
            f"Give one list for each feature, or one for all."
        )
    try:
        return (
            [[float(cut) for cut in row] for row in rows]
            if any(several)
            else [[float(cut) for cut in rows]] * features
        )
    except (TypeError, ValueError) as error:
        raise SugenetError(f"cuts={cuts!r} holds a value that is not a number ({error}).") from error


def _values(on: npt.NDArray[np.bool_], coding: Coding, name: str, ends: tuple[float, float]) -> list[Any]:
    """Return raw values of a feature that have the given bits."""
    known = {
        coding.bits(state).tobytes(): _value(coding, state, ends)
        for state in range(coding.states)
        if coding.reachable(state)
    }
    for row, group in enumerate(on):
        if group.tobytes() not in known:
            shown = "".join("1" if one else "0" for one in group)
            raise EncodingError(
                f"the bits {shown} of {name} in sample {row} do not belong to any value. "
                f"Give bits that transform made."
            )
    return [known[group.tobytes()] for group in on]


def _value(coding: Coding, state: int, ends: tuple[float, float]) -> Any:
    """Return a raw value of a state.

    In an open interval, this is the end of the training data if it lies there, else the midpoint.
    """
    if isinstance(coding, OneHot):
        return coding.categories[state]
    interval = coding.interval(state)
    assert interval is not None
    low, high = interval
    is_below, is_above = state == 0 and coding.low == -inf, state == coding.width and coding.high == inf
    if is_below or is_above:
        wanted = ends[0] / 2 + ends[1] / 2 if not coding.cuts else ends[0] if is_below else ends[1]
    elif coding.whole:
        wanted = (low + high) // 2
    else:
        wanted = low / 2 + coding.cuts[state] / 2
    return min(max(wanted, low), high)


_TENTHS = np.arange(1, 10) / 10


class _SugenoEstimator(_Estimator):
    """Shared base class of the Sugeno estimators: reads features, learns the model and shows it."""

    def _table(self, X: Any, y: Any) -> tuple[_Table, _Table]:
        if y is not None:
            self._check_settings()
        table, labels = self._training_data(X, y)
        self._names = _titles(_column_names(X), table)
        orders = declared_for(self.orders, self._names, "orders")
        frame = X if hasattr(X, "columns") else None
        self._orders = [
            order if order is not None or frame is None else ordered_categories(frame.iloc[:, i])
            for i, order in enumerate(orders)
        ]
        return table, labels

    def _check_settings(self) -> None:
        is_integer = isinstance(self.terms, int | np.integer) and not isinstance(self.terms, bool)
        if self.terms != "card" and not (is_integer and self.terms >= 1):
            raise SugenetError(f"terms is {self.terms!r}; give an integer of at least 1, or 'card'.")
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
        return np.asarray(_read_features(self, X, fit=False, names=self._names))

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
        Largest number of points of a score card; fewer are easier to add up.
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
        points: int = 1000,
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

        The utilities are those learned or given. If there are several terms, one term at a time varies.
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

    Parameters
    ----------
    terms : int or "card"
        Number of Sugeno integrals, or a score card, see `SugenoRegressor` (default: 1).
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
        Largest number of points of a score card (default: 1000).
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
        points: int = 1000,
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
        kinds = _classes_of(labels)[0]
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

        The utilities are those learned or given. If there are several terms, one term at a time varies.

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


class BNNClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classify with a binarized network, or with one of more levels.

    Parameters
    ----------
    hidden : sequence of int or None
        Sizes of the hidden layers; ``()`` for none. None for (64, 32), or the layer that `depth` grows
        (default: None).
    cuts : int, or dict from feature to int or cuts
        How numbers become bits, see `FeatureBinarizer` (default: 4).
    coding : str
        How numbers and texts are coded, see `FeatureBinarizer` (default: "auto").
    encoder : Encoder or None
        From raw features to bits, instead of `cuts` and `coding` (default: None).
    types : dict or None
        Types of columns by name, instead of those found, see `sugenet.fit.understand` (default: None).
    missing : str
        "refuse" gaps, give them a "category" of their own, or "impute" the median or the most frequent value
        (default: "refuse").
    epochs : int
        Number of passes over the training data (default: 60).
    batch : int
        Samples per step (default: 64).
    rate : float
        Step size of Adam at the start; it falls to 0 along a cosine (default: 0.01).
    validation_share : float
        Share of each class that is held out to choose the best epoch (default: 0.1).
    patience : int or None
        Stop if validation accuracy has not risen for so many epochs; None never stops early (default: None).
    smoothing : float
        Label smoothing of the loss (default: 0.1).
    class_weight : dict, "balanced" or None
        Cost of an error on samples of a class; 1 for classes that are not listed (default: None).
        ``"balanced"`` gives all classes the same total.
    noise : float
        Probability that an input bit is flipped in training (default: 0.0).
    sparsity : float
        Share of the weights of every hidden neuron that are 0 (default: 0.0).
    features : int or None
        The largest number of features that the network reads, chosen in training (default: None).
    tau_decay : float
        Strength of the pull towards thresholds that few literals decide (default: 0.0).
    tau_goal : int
        Number of literals that is few enough (default: 4).
    levels : int
        Levels that a hidden neuron can give; 2 for bits (default: 2).
    weight_bits : int
        1 for weights of -1 and +1; 2 to 8 for larger integers (default: 1).
    window : int or None
        For square images, the side of the square that a neuron of the first layer reads (default: None).
    robust : Linf, Hamming, str or None
        Region to train against, such as ``"linf:25"``, in units of the features (default: None).
    bound_share : float
        With `robust`, the share of the loss that is about interval bounds (default: 0.1).
    monotone : dict or None
        Features that may only raise the class, ``"rising"`` or +1, or only lower it, ``"falling"`` or -1. Of
        two classes the second in `classes_` is the higher one (default: None).
    depth : int or None
        Grow one hidden layer by boosting trees of this depth, in place of gradient descent (default: None).
    minutes : float or None
        Choose `hidden`, `cuts` and settings by cross-validation within this time (default: None).
    threads : int
        Threads of PyTorch (default: 1).
    random_state : int, RandomState or None
        An integer gives the same network every time (default: None).

    Attributes
    ----------
    network_ : Network
        The exact network; one-hot columns are one feature. ``sugenet.save(classifier.network_, path)``
        saves it.
    classes_ : ndarray
        The classes, in the order of the network's classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had names.
    history_ : tuple of Epoch
        One entry per epoch; empty after `from_network`.
    n_iter_ : int
        Number of epochs.
    scores_ : Scores or None
        Recall of each class, balanced accuracy, the accuracy of the best constant answer, and a `warning` if
        the network is hardly better, on the samples that chose the epoch; None after `from_network`.

    Raises
    ------
    SugenetError
        If a setting is out of range, when `fit` is called.
    EncodingError
        If a value cannot be read, such as a category that is not in the training data.

    See Also
    --------
    SugenoClassifier : Learn a Sugeno integral, whose rules are easy to read.
    sugenet.fit.train : The same training without scikit-learn.

    Notes
    -----
    The defaults are those of `train`, with two exceptions that follow scikit-learn: every fit draws new
    random numbers (default of `random_state`), and no test samples are held out. Columns have the types that
    `sugenet.fit.understand` finds.

    Since folds differ, `predict` reads more than questions to `network_` allow. It compares any number in a
    column of integers with the cuts as it is, and reads one-hot columns of which none is 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2)).round(3)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> classifier = BNNClassifier(hidden=(8,), epochs=10, batch=16, cuts=3, random_state=0).fit(X, y)
    >>> classifier.predict([[0.9, 0.5], [0.1, 0.5]])
    array(['high', 'low'], dtype='<U4')
    >>> print(classifier.network_)
    network 6-8-2 over 2 features, classes high, low
    """

    def __init__(
        self,
        hidden: Sequence[int] | None = None,
        *,
        cuts: Any = 4,
        coding: CodingChoice = "auto",
        encoder: Encoder | None = None,
        types: Mapping[str, str] | None = None,
        missing: Missing = "refuse",
        epochs: int = 60,
        batch: int = 64,
        rate: float = 0.01,
        validation_share: float = 0.1,
        patience: int | None = None,
        smoothing: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
        noise: float = 0.0,
        sparsity: float = 0.0,
        features: int | None = None,
        tau_decay: float = 0.0,
        tau_goal: int = 4,
        levels: int = 2,
        weight_bits: int = 1,
        window: int | None = None,
        robust: Any = None,
        bound_share: float = 0.1,
        monotone: Any = None,
        depth: int | None = None,
        minutes: float | None = None,
        threads: int = 1,
        random_state: Any = None,
    ) -> None:
        self._set_parameters(locals())

    @classmethod
    def from_network(cls, network: Network, classes: Iterable[object] | None = None) -> BNNClassifier:
        """Return a fitted classifier that predicts as a network does, such as one from ``sugenet.load``.

        Parameters
        ----------
        network : Network
            Any network.
        classes : list, default: None
            The label that `predict` returns for each class. None: the names of the network's classes, as
            integers if all of them are integers.

        Returns
        -------
        BNNClassifier
            The fitted classifier.

        Examples
        --------
        >>> from sugenet.nn import Head
        >>> classifier = BNNClassifier.from_network(Network.of_bits([], Head([[+1, +1], [-1, -1]])))
        >>> classifier.predict([[1, 1], [-1, -1]]), classifier.classes_
        (array([0, 1]), array([0, 1]))
        """
        if not isinstance(network, Network):
            raise SugenetError(
                f"network is a {type(network).__name__}, but a Network is needed; "
                f"sugenet.load reads one from a file."
            )
        kinds = _named(network.classes) if classes is None else np.asarray(list(classes))
        if len(kinds) != len(network.classes):
            raise SugenetError(f"{len(kinds)} classes are given, but the network has {len(network.classes)}.")
        classifier = cls(
            hidden=tuple(layer.outputs for layer in network.layers),
            encoder=network.encoder,
            levels=1 + max((layer.max_level or 1 for layer in network.layers), default=1),
        )
        names = _columns_of(network.encoder).names
        classifier.n_features_in_ = len(names)
        if names != Encoder(network.encoder.codings).names:
            classifier.feature_names_in_ = np.array(names, dtype=object)
        return classifier._keep(network, kinds, ())

    def to_network(self, pipeline: Any = None, X: Any = None) -> Network:
        """Return the exact network; raise an error if the classifier is not fitted yet.

        Parameters
        ----------
        pipeline : Pipeline, default: None
            A fitted pipeline whose last step is this classifier: the network is then over its raw columns, as
            `sugenet.from_sklearn` returns it. None: `network_`.
        X : data frame or array, default: None
            Rows in raw columns, as in `sugenet.from_sklearn`.

        Returns
        -------
        Network
            The network.
        """
        check_is_fitted(self)
        if pipeline is None:
            return network_of(self.network_, X)
        try:
            return _composed(pickle.dumps(pipeline)) if X is None else self._compose(pipeline, X)
        except (pickle.PicklingError, AttributeError, TypeError):  # a step that cannot be pickled
            return self._compose(pipeline, X)

    def _compose(self, pipeline: Any, X: Any = None) -> Network:
        return compose(pipeline, self.network_, getattr(self, "_seen", None), X)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BNNClassifier:
        """Learn from samples and their classes; requires PyTorch.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.
        y : array
            Class of each sample.
        sample_weight : array or None
            Weight of each sample in the loss and in the choice of the best epoch (default: None). A sample of
            weight 0 is left out.

        Returns
        -------
        BNNClassifier
            The classifier itself.
        """
        table, labels = self._training_data(X, y, gaps=True)
        weights = sample_weights(sample_weight, len(labels))
        if weights is not None:
            rows = np.flatnonzero(weights)
            X = taken(X, rows) if hasattr(X, "columns") else X
            table, labels, weights = (part[rows] for part in (table, labels, weights))
        kinds, numbers = _classes_of(labels)
        titles = _column_names(X)
        if (
            self.encoder is not None
            and titles is not None
            and titles != list(_columns_of(self.encoder).names)
        ):
            self.encoder.rows(X)  # raises an error that lists the wrong names
            raise EncodingError(
                "the columns of X are not in the order of the encoder's features. Put them in that order."
            )
        encoder, read = self.encoder, dict[str, Any]()
        samples = table if titles is None else X
        if self.minutes is not None:
            wrong = [
                name for name, usual in (("cuts", 4), ("coding", "auto")) if getattr(self, name) != usual
            ]
            check_searchable(dict.fromkeys(wrong, True))
            read = {"types": self.types, "missing": self.missing}
        elif encoder is None:
            declared = _declared_cuts(self.cuts, table.shape[1])
            encoder = learn_encoder(
                samples,
                coding=self.coding,
                cuts=int(self.cuts) if declared is None else declared,
                types=self.types,
                missing=self.missing,
            )
        elif self.types is not None or self.missing != "refuse":
            raise SugenetError(
                "types= and missing= are for a learned encoder. Leave these or the encoder out."
            )
        if self.minutes is None:
            names = _columns_of(encoder).names
            samples = _table_of(table, names) if table.shape[1] == len(names) else table
        trained = train(
            samples,
            numbers,
            self.hidden,
            encoder=encoder,
            classes=kinds.tolist(),
            monotone=self.monotone,
            settings=self._settings(),
            sample_weight=weights,
            minutes=self.minutes,
            test_share=0,  # scikit-learn has its own ways to test
            **read,
        )
        cells = [
            RawColumn(name, column) for name, column in zip(_titles(titles, table), table.T, strict=True)
        ]
        self._seen = TrainingColumns.of(cells, self.types)
        is_table = self.encoder is None and getattr(X, "dtype", None) != np.uint8
        network = as_table(trained.network) if is_table else trained.network
        return self._keep(network, kinds, trained.history, trained.scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each sample; a tie goes to the first class.

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
        return np.asarray(self.classes_[self._reader.predict(table)])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the softmax of the scores, one column per class.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.

        Returns
        -------
        array of float
            One row per sample; each row sums to 1.
        """
        table = self._read(X)
        return self._reader.probability(table)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the scores of the classes; for two classes, the second score minus the first.

        They are exact for networks that `fit` made.

        Parameters
        ----------
        X : array or data frame
            Samples, one row each.

        Returns
        -------
        array of float
            One row of scores per sample; for two classes one number per sample.
        """
        table = self._read(X)
        logits = self._reader.logits(table)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def _read(self, X: Any) -> RawTable:
        check_is_fitted(self)
        names = _columns_of(self.network_.encoder).names
        table = _table_of(_read_features(self, X, fit=False, names=names, gaps=True), names)
        if self.missing == "refuse":
            hint = "Fill them in, or fit with missing='category' or missing='impute'."
            refuse_gaps([RawColumn(name, table[name]) for name in names], hint)
        return table

    def _keep(
        self,
        network: Network,
        kinds: npt.NDArray[Any],
        history: tuple[Epoch, ...],
        scores: Scores | None = None,
    ) -> BNNClassifier:
        self.network_, self.classes_, self.scores_ = network, kinds, scores
        self._reader = replace(network, encoder=_by_column(network.encoder), domain=Domain())
        self.history_, self.n_iter_ = history, len(history)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn whether gaps are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags

    def _settings(self) -> Settings:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = [field.name for field in fields(Settings) if field.name != "seed"]
        return Settings(seed=seed, **{name: plain(getattr(self, name)) for name in names})


@lru_cache(maxsize=4)
def _composed(pickled: bytes) -> Network:
    """Return the network of a pipeline from its whole state, so that equal pipelines are converted once."""
    pipeline = pickle.loads(pickled)
    classifier: BNNClassifier = pipeline.steps[-1][1]
    return classifier._compose(pipeline)


def _table_of(rows: _Table, names: Sequence[str]) -> RawTable:
    """Return rows as a table with these names."""
    return RawTable(RawColumn(name, rows[:, index]) for index, name in enumerate(names))


def _columns_of(encoder: Encoder) -> Columns:
    """Return the columns that an encoder reads: its features, if it has no others."""
    plain_features = tuple(Preparation((name,)) for name in encoder.names)
    return encoder.columns or Columns(encoder.names, plain_features)


def _by_column(encoder: Encoder) -> Encoder:
    """Return an encoder with the same bits that reads all numbers, and one-hot columns one by one."""
    columns = _columns_of(encoder)
    codings: list[Coding] = []
    names: list[str] = []
    features: list[Preparation] = []
    for name, coding, feature in zip(encoder.names, encoder.codings, columns.features, strict=True):
        if feature.how == "one-hot":
            codings += [thermometer([1.0])] * len(feature.columns)
            names += feature.columns
            features += [Preparation((column,)) for column in feature.columns]
        else:
            codings.append(thermometer(coding.cuts) if type(coding) is Steps else coding)
            names.append(name)
            features.append(feature)
    read = dict.fromkeys(column for feature in features for column in feature.columns)
    unread = (name for name in columns.names if name not in read)
    return Encoder(codings, names, columns=Columns((*read, *unread), tuple(features)))


def _named(names: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return class names as integers if all of them spell integers, else as text."""
    are_integers = all(name.lstrip("-").isdecimal() and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names]) if are_integers else np.array(names)
