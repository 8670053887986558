"""scikit-learn estimators that train networks and turn features into bits.

`BNNClassifier` trains with `train` and predicts with the exact packed network.

``from sugenet.fit.estimators import BNNClassifier`` requires scikit-learn. `BNNClassifier.fit` also requires
PyTorch, but a fitted classifier predicts without it. `FeatureBinarizer` requires scikit-learn alone.

scikit-learn passes folds of the data, so a value that is missing from a fold must still be readable. To
predict, estimators only compare numbers with cuts. The values seen imply nothing else: `BNNClassifier`
predicts 17.5 and -3 in a column of positive integers, although questions to `network_` do not allow them.
Only categories and exact integers form closed sets.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from math import inf
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.columns import Missing, RawColumn, RawTable, refuse_gaps
from sugenet.fit.encoding import CodingChoice, informative, learn_coding, learn_encoder
from sugenet.fit.features import (
    BOOLS,
    TEXTS,
    ClassifierMixin,
    Estimator,
    Table,
    Tags,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    classes_of,
    column_names,
    feature_names_in,
    floats_of,
    holds,
    read_features,
    titles_of,
)
from sugenet.fit.pipelines import TrainingColumns, compose
from sugenet.fit.scores import Scores
from sugenet.fit.search import check_searchable
from sugenet.fit.settings import Epoch, Settings
from sugenet.fit.trainer import as_table, train
from sugenet.fit.weights import sample_weights, taken
from sugenet.nn import (
    Coding,
    Columns,
    Domain,
    Encoder,
    Network,
    OneHot,
    Preparation,
    Steps,
    bit,
    network_of,
    thermometer,
)

__all__ = ["BNNClassifier", "FeatureBinarizer"]


class FeatureBinarizer(TransformerMixin, Estimator):  # type: ignore[misc]
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
        table = read_features(self, X, fit=True)
        self.encoder_ = _encoder_of(table, self.coding, self.cuts, column_names(X))
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
        return self.encoder_.encode(read_features(self, X, fit=False))

    def inverse_transform(self, X: Any) -> Table:
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
        out: Table = np.empty((len(bits), len(codings)), dtype=np.float64 if numeric else object)
        for i, coding in enumerate(codings):
            group = self.encoder_.group(i)
            on = bits[:, group.start : group.stop] > 0
            out[:, i] = _values(on, coding, self.encoder_.names[i], self._ends[i])
        return out

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the meaning of each bit, such as ``age >= 18`` or ``colour = red``."""
        check_is_fitted(self)
        spoken = Encoder(self.encoder_.codings, feature_names_in(self, input_features))
        return np.array([spoken.words(index) for index in range(spoken.width)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that categories are accepted, and that the output is bits for every type of X."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _encoder_of(
    table: Table, coding: CodingChoice, cuts: Any, names: Iterable[object] | None = None
) -> Encoder:
    """Learn an encoder column by column, from the output of `read_features`."""
    if coding not in get_args(CodingChoice):
        raise SugenetError(
            f"coding={coding!r} is not known; it is one of {', '.join(get_args(CodingChoice))}."
        )
    titles = titles_of(names, table)
    feature_cuts = _declared_cuts(cuts, table.shape[1])
    if coding in ("bits", "integers"):
        return learn_encoder(table, coding=coding, names=titles)
    codings: list[Coding] = []
    for i, title in enumerate(titles):
        column = table[:, i]
        if coding == "auto" and holds(column, BOOLS, all):
            codings.append(bit())
        elif coding == "auto" and holds(column, TEXTS, any):
            codings.append(learn_coding(column.astype(object), title, "auto", 1))
        elif feature_cuts is not None:
            codings.append(thermometer(feature_cuts[i]))
        else:
            codings.append(learn_coding(floats_of(column, title), title, "cuts", int(cuts)))
    return informative(Encoder(codings, titles))


def _declared_cuts(cuts: Any, features: int) -> list[list[float]] | None:
    """Return the cuts of each feature, or None if `cuts` is a number of cuts to find."""
    if not isinstance(cuts, Iterable):
        if isinstance(cuts, BOOLS) or not isinstance(cuts, int | np.integer) or cuts < 1:
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


class BNNClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
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
        kinds, numbers = classes_of(labels)
        titles = column_names(X)
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
            RawColumn(name, column) for name, column in zip(titles_of(titles, table), table.T, strict=True)
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
        table = _table_of(read_features(self, X, fit=False, names=names, gaps=True), names)
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


def _table_of(rows: Table, names: Sequence[str]) -> RawTable:
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
