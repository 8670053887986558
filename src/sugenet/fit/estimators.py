"""Binarized networks as scikit-learn estimators: trained by `train`, answered by the exact packed network.

``from sugenet.fit.estimators import BNNClassifier`` needs scikit-learn, and `fit` needs PyTorch; a fitted
classifier predicts without it. Here are also the estimators that learn Sugeno integrals from tables, which
need scikit-learn alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Encoder, Network
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit.encoding import CodingChoice
from sugenet.fit.estimators_binarizer import FeatureBinarizer, column_names, encoder_of, read_features
from sugenet.fit.progress import Epoch
from sugenet.fit.settings import Settings
from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor
from sugenet.fit.trainer import train

# isort: split
# These come after estimators_binarizer, which says what to install where scikit-learn is missing.
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
from sklearn.utils import Tags, check_random_state  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

__all__ = ["BNNClassifier", "FeatureBinarizer", "SugenoClassifier", "SugenoRegressor"]


class BNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A binarized network as a classifier, or one with more levels.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers; ``()`` for none.
    cuts, coding
        How numbers and texts become bits, see `FeatureBinarizer`.
    encoder
        From raw features to bits, in place of `cuts` and `coding`.
    epochs, batch, rate, validation_share, patience, smoothing, noise, sparsity, tau_decay, tau_goal
        As in `Settings`; `sparsity` is the share of weights that are 0.
    threads
        As in `Settings`: threads of PyTorch.
    levels, weight_bits
        As in `Settings`: 2 levels and weights of one bit are a binarized network, more of them a quantized
        one, as exact.
    window
        As in `Settings`: for square images, the side of the square that a neuron of the first layer reads.
    robust, bound_share
        As in `Settings`: a region to train against, such as ``"linf:25"``, in units of the features.
    random_state
        A whole number gives the same network every time; None another one each time.

    Attributes
    ----------
    network_ : Network
        The exact network. ``sugenet.save(classifier.network_, path)`` keeps it.
    classes_ : ndarray
        The classes, in the order of the network's.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had names.
    history_ : tuple of Epoch
        How training went; empty after `from_network`.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    Defaults are those of `train` and of ``sugenet train``, but for two that are scikit-learn's ways: unless
    `random_state` is given every fit draws anew, and no test samples are held out.

    Numbers and booleans are taken, and texts as categories; a category that training did not show is refused
    by name. There are no weights of samples or classes.

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
        hidden: Sequence[int] = (64, 32),
        *,
        cuts: Any = 4,
        coding: CodingChoice = "auto",
        encoder: Encoder | None = None,
        epochs: int = 60,
        batch: int = 64,
        rate: float = 0.01,
        validation_share: float = 0.1,
        patience: int | None = None,
        smoothing: float = 0.1,
        noise: float = 0.0,
        sparsity: float = 0.0,
        tau_decay: float = 0.0,
        tau_goal: int = 4,
        levels: int = 2,
        weight_bits: int = 1,
        window: int | None = None,
        robust: Any = None,
        bound_share: float = 0.1,
        threads: int = 1,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.cuts = cuts
        self.coding = coding
        self.encoder = encoder
        self.epochs = epochs
        self.batch = batch
        self.rate = rate
        self.validation_share = validation_share
        self.patience = patience
        self.smoothing = smoothing
        self.noise = noise
        self.sparsity = sparsity
        self.tau_decay = tau_decay
        self.tau_goal = tau_goal
        self.levels = levels
        self.weight_bits = weight_bits
        self.window = window
        self.robust = robust
        self.bound_share = bound_share
        self.threads = threads
        self.random_state = random_state

    @classmethod
    def from_network(cls, network: Network, classes: Iterable[object] | None = None) -> BNNClassifier:
        """A fitted classifier that answers as a network does, such as one from ``sugenet.load``.

        Parameters
        ----------
        network
            Any network.
        classes
            What `predict` answers for each class. Unless given, the names of the network's classes; whole
            numbers where all are such.

        Examples
        --------
        >>> from sugenet.bnn import Head
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
        classifier.n_features_in_ = network.encoder.features
        if network.encoder.names != Encoder(network.encoder.codings).names:
            classifier.feature_names_in_ = np.array(network.encoder.names, dtype=object)
        return classifier._keep(network, kinds, ())

    def to_network(self) -> Network:
        """The exact network, `network_`; says so where the classifier is not fitted yet."""
        check_is_fitted(self)
        return self.network_

    def fit(self, X: Any, y: Any) -> BNNClassifier:
        """Learn from samples and their classes; needs PyTorch."""
        if y is None:
            raise EncodingError("This BNNClassifier requires y to be passed, but the target y is None.")
        table, labels = read_features(self, X, fit=True, y=y)
        check_classification_targets(labels)
        kinds, numbers = np.unique(labels, return_inverse=True)
        if len(kinds) < 2:
            raise EncodingError(
                f"y holds one class only, {kinds.tolist()[0]!r}. At least two classes are needed."
            )
        names = column_names(X)
        if self.encoder is not None and names is not None and names != list(self.encoder.names):
            self.encoder.rows(X)  # says which names are wrong
            raise EncodingError(
                "the columns of X are not in the order of the encoder's features. Put them in that order."
            )
        encoder = encoder_of(table, self.coding, self.cuts, names) if self.encoder is None else self.encoder
        trained = train(
            table,
            numbers,
            self.hidden,
            encoder=encoder,
            classes=kinds.tolist(),
            settings=self._settings(),
            test_share=0,  # scikit-learn has its own ways to test
        )
        return self._keep(trained.network, kinds, trained.history)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each sample; a tie goes to the first class."""
        table = self._read(X)
        return np.asarray(self.classes_[self.network_.predict(table)])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Softmax of the scores, one column for each class."""
        table = self._read(X)
        return self.network_.probability(table)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of the classes, or of two classes the second's minus the first's;
        exact for networks that `fit` made.
        """
        table = self._read(X)
        logits = self.network_.logits(table)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def __sklearn_tags__(self) -> Tags:
        """For scikit-learn: categories are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _read(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(read_features(self, X, fit=False, names=self.network_.encoder.names))

    def _keep(self, network: Network, kinds: npt.NDArray[Any], history: tuple[Epoch, ...]) -> BNNClassifier:
        self.network_, self.classes_ = network, kinds
        self.history_, self.n_iter_ = history, len(history)
        return self

    def _settings(self) -> Settings:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = (
            "epochs",
            "batch",
            "rate",
            "validation_share",
            "patience",
            "smoothing",
            "noise",
            "sparsity",
            "tau_decay",
            "tau_goal",
            "levels",
            "weight_bits",
            "window",
            "robust",
            "bound_share",
            "threads",
        )
        values = {name: getattr(self, name) for name in names}
        plain = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()
        }
        return Settings(seed=seed, **plain)


def _named(names: tuple[str, ...]) -> npt.NDArray[Any]:
    """Class names as text, or as the whole numbers they spell."""
    whole = all(name.lstrip("-").isdecimal() and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names]) if whole else np.array(names)
