"""Raw features to bits as a scikit-learn transformer, and the encoder that it learns.

scikit-learn hands over folds of the data, so a value that a fold did not show must still be read: numbers are
only compared with cuts, and nothing is concluded from the values seen (as `learn_encoder` may, which sees all
of them). Only categories and exact integers are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Coding, Encoder, OneHot, Steps, bit, thermometer, unused
from sugenet.bnn.samples import named_rows, rows_of
from sugenet.errors import EncodingError, SugenetError, how_to_install
from sugenet.fit.encoding import CodingChoice, learn_encoder

try:
    from sklearn.base import BaseEstimator, TransformerMixin  # type: ignore[import-untyped]
    from sklearn.utils import Tags  # type: ignore[import-untyped]
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data  # type: ignore[import-untyped]
except ImportError as error:
    raise ImportError(
        f"sugenet.fit.estimators needs scikit-learn 1.6 or later ({error}). Install it "
        f"{how_to_install('sklearn')}."
    ) from error

__all__ = ["FeatureBinarizer", "column_names", "encoder_of", "read_features"]

_Table: TypeAlias = npt.NDArray[Any]
_TEXTS = (str, bytes)
_BOOLS = (bool, np.bool_)


class FeatureBinarizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turn features into bits: numbers by cuts, texts by categories; booleans are bits already.

    Parameters
    ----------
    cuts
        How many cuts each number gets, at quantiles of the training data; or the cuts themselves, rising: one
        list for all features, or a list of lists, one for each. Bit t of a feature is on iff its value is at
        least cut t (a thermometer).
    coding
        ``"auto"`` gives numbers cuts, texts one bit for each category, booleans one bit. ``"cuts"`` takes
        numbers alone, ``"bits"`` takes -1, 0 and +1 as they are, and ``"integers"`` gives whole numbers a cut
        at every step from the least to the largest seen.

    Attributes
    ----------
    encoder_ : Encoder
        What was learned; ``BNNClassifier(encoder=...)`` takes it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had names.

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
        self.cuts = cuts
        self.coding = coding

    def fit(self, X: Any, y: Any = None) -> FeatureBinarizer:  # noqa: ARG002  # a pipeline hands over y
        """Learn cuts and categories; y is not looked at."""
        table = read_features(self, X, fit=True)
        self.encoder_ = encoder_of(table, self.coding, self.cuts, column_names(X))
        self._ends = [
            (float(np.min(table[:, i])), float(np.max(table[:, i])))
            if isinstance(coding, Steps)
            else (0.0, 0.0)
            for i, coding in enumerate(self.encoder_.codings)
        ]
        return self

    def transform(self, X: Any) -> npt.NDArray[np.bool_]:
        """Bits, one row a sample."""
        check_is_fitted(self)
        return self.encoder_.encode(read_features(self, X, fit=False))

    def inverse_transform(self, X: Any) -> _Table:
        """Raw values that have these bits: the category, or for a number the middle between its cuts.

        Below the first cut stands the least value seen in training, above the last one the largest, where
        they lie there. Bits that no raw value has, such as two categories at once, are refused.
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
        """What each bit says, as ``age >= 18`` or ``colour = red``."""
        check_is_fitted(self)
        spoken = Encoder(self.encoder_.codings, _check_feature_names_in(self, input_features))
        return np.array([spoken.words(place) for place in range(spoken.width)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """For scikit-learn: categories are taken, and bits come out whatever the type of X."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def read_features(
    estimator: Any, X: Any, *, fit: bool, y: Any = None, names: Sequence[str] | None = None
) -> Any:
    """Check X as scikit-learn does, and y where it is given; numbers come as float64, anything else as it is.

    Sets or compares `n_features_in_` and `feature_names_in_` of the estimator, which refuses columns in
    another order. Where it was fitted without names, columns must be those of `names`; without these
    scikit-learn warns and takes them as they come, as its checks demand of transformers.
    """
    if names is not None and hasattr(X, "columns") and not hasattr(estimator, "feature_names_in_"):
        X = rows_of(X, names)
    # a list that mixes numbers and texts stays mixed
    if isinstance(X, Sequence) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)
    least = 2 if fit else 1
    if y is None:
        return _plain(validate_data(estimator, X, reset=fit, dtype=None, ensure_min_samples=least))
    table, labels = validate_data(estimator, X, y, reset=fit, dtype=None, ensure_min_samples=least)
    return _plain(table), labels


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame; None for arrays, and for frames made without names."""
    return named_rows(X)[1] if hasattr(X, "columns") else None


def encoder_of(
    table: _Table, coding: CodingChoice, cuts: Any, names: Iterable[object] | None = None
) -> Encoder:
    """Learn an encoder column by column, from what `read_features` gives."""
    if coding not in get_args(CodingChoice):
        raise SugenetError(
            f"coding={coding!r} is not known; it is one of {', '.join(get_args(CodingChoice))}."
        )
    titles = (
        [f"x{i}" for i in range(1, table.shape[1] + 1)] if names is None else [str(name) for name in names]
    )
    given = _given_cuts(cuts, table.shape[1])
    if coding in ("bits", "integers"):
        return learn_encoder(table, coding=coding, names=titles)
    codings: list[Coding] = []
    for i, title in enumerate(titles):
        column = table[:, i]
        if coding == "auto" and _holds(column, _BOOLS, all):
            codings.append(bit())
        elif coding == "auto" and _holds(column, _TEXTS, any):
            codings += learn_encoder(column[:, None].astype(object), names=[title]).codings
        elif given is not None:
            codings.append(thermometer(given[i]))
        else:
            numbers = _floats(column, title)[:, None]
            constant = (numbers == numbers[0]).all()  # a feature that says nothing gets no bit
            codings += (
                [unused()]
                if constant
                else learn_encoder(numbers, coding="cuts", cuts=int(cuts), names=[title]).codings
            )
    encoder = Encoder(codings, titles)
    if not encoder.width:
        raise EncodingError(
            "every feature is constant, so there is nothing to learn from. Check the columns of X."
        )
    return encoder


def _plain(table: Any) -> _Table:
    """Numbers as float64, so that their type decides nothing; uint8 stays, whose range is known."""
    array = np.asarray(table)
    if array.dtype.kind == "O" and not any(_holds(column, (*_TEXTS, *_BOOLS), any) for column in array.T):
        return np.stack([_floats(column, f"feature {i}") for i, column in enumerate(array.T)], axis=1)
    return array.astype(np.float64) if array.dtype.kind in "iuf" and array.dtype != np.uint8 else array


def _holds(column: _Table, kinds: tuple[type, ...], how_many: Callable[[Iterable[bool]], bool]) -> bool:
    if column.dtype != object:
        column = column[:1]  # one type for all
    return how_many(isinstance(value, kinds) for value in column.tolist())


def _floats(column: _Table, name: str) -> npt.NDArray[np.float64]:
    try:
        return column.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"{name} cannot be read: {error}. Give numbers, or texts for categories.") from error
    except ValueError as error:
        raise EncodingError(
            f"{name} needs numbers, but {error}. Texts are for columns of categories."
        ) from error


def _given_cuts(cuts: Any, features: int) -> list[list[float]] | None:
    """The cuts of each feature, or None where `cuts` says how many to find."""
    if not isinstance(cuts, Iterable):
        if isinstance(cuts, _BOOLS) or not isinstance(cuts, int | np.integer) or cuts < 1:
            raise SugenetError(f"cuts={cuts!r} must be a whole number of at least 1, or the cuts themselves.")
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
        raise SugenetError(f"cuts={cuts!r} holds what is no number ({error}).") from error


def _values(on: npt.NDArray[np.bool_], coding: Coding, name: str, ends: tuple[float, float]) -> list[Any]:
    """Raw values of a feature by its bits."""
    known = {
        coding.bits(state).tobytes(): _value(coding, state, ends)
        for state in range(coding.states)
        if coding.reachable(state)
    }
    for row, group in enumerate(on):
        if group.tobytes() not in known:
            shown = "".join("1" if one else "0" for one in group)
            raise EncodingError(
                f"the bits {shown} of {name} in sample {row} belong to no value. "
                f"Give bits that transform made."
            )
    return [known[group.tobytes()] for group in on]


def _value(coding: Coding, state: int, ends: tuple[float, float]) -> Any:
    """A raw value of a state: in an open interval the end of the training data where it lies
    there, else the middle.
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
