"""What the scikit-learn estimators share: their base class, and how they read features and classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, how_to_install
from sugenet.fit.columns import RawColumn
from sugenet.nn.samples import columns_of, labels_of, named_rows, rows_of

__all__ = [
    "BOOLS",
    "TEXTS",
    "ClassifierMixin",
    "Estimator",
    "RegressorMixin",
    "Table",
    "Tags",
    "TransformerMixin",
    "check_is_fitted",
    "check_random_state",
    "classes_of",
    "column_names",
    "d2_absolute_error_score",
    "feature_names_in",
    "floats_of",
    "holds",
    "read_features",
    "titles_of",
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
        _check_feature_names_in as feature_names_in,
    )
    from sklearn.utils.validation import (
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


Table: TypeAlias = npt.NDArray[Any]
TEXTS = (str, bytes)
BOOLS = (bool, np.bool_)
_OTHERS = (*TEXTS, *BOOLS, date, np.datetime64, type(None))
"""Types of values that are not numbers."""


class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
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

    def _training_data(self, X: Any, y: Any, *, gaps: bool = False) -> tuple[Table, Table]:
        if y is None:
            raise EncodingError(
                f"This {type(self).__name__} requires y to be passed, but the target y is None."
            )
        table, labels = read_features(self, X, fit=True, y=y, gaps=gaps)
        return table, np.asarray(labels)


def classes_of(labels: Table) -> tuple[Table, Table]:
    """Return the classes, and the class index of each sample."""
    check_classification_targets(labels)
    kinds, numbers = np.unique(labels, return_inverse=True)
    if len(kinds) < 2:
        raise EncodingError(
            f"y holds one class only, {kinds.tolist()[0]!r}. At least two classes are needed."
        )
    return kinds, numbers


def read_features(
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


def _array_of(table: Any) -> Table:
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


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame, or None for arrays and for frames made without names."""
    return named_rows(X)[1] if hasattr(X, "columns") else None


def titles_of(names: Iterable[object] | None, table: Table) -> list[str]:
    """Return names as texts; x1, x2 and so on without them."""
    return [f"x{i}" for i in range(1, table.shape[1] + 1)] if names is None else list(map(str, names))


def _plain(table: Any) -> Table:
    """Return numbers as float64, so that their type does not matter; uint8 stays, since its range is
    known.
    """
    array = np.asarray(table)
    if array.dtype.kind == "O" and not any(holds(column, _OTHERS, any) for column in array.T):
        return np.stack([floats_of(column, f"feature {i}") for i, column in enumerate(array.T)], axis=1)
    return array.astype(np.float64) if array.dtype.kind in "iuf" and array.dtype != np.uint8 else array


def holds(column: Table, kinds: tuple[type, ...], quantifier: Callable[[Iterable[bool]], bool]) -> bool:
    """Return whether any, or all, values of a column have one of some types."""
    if column.dtype != object:
        column = column[:1]  # one type for all
    return quantifier(isinstance(value, kinds) for value in column.tolist())


def floats_of(column: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column as float64. An error names the feature."""
    try:
        return column.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"{name} cannot be read: {error}. Give numbers, or texts for categories.") from error
    except ValueError as error:
        raise EncodingError(
            f"{name} needs numbers, but {error}. Texts are for columns of categories."
        ) from error
