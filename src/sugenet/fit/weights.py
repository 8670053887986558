"""Weights of samples and classes: checked once, with the same meaning for every estimator."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import SugenetError
from sugenet.reprs import quoted

__all__ = ["check_class_weight", "class_factors", "sample_weights", "taken"]

_Floats = npt.NDArray[np.float64]


def check_class_weight(given: Any, name: str = "class_weight") -> None:
    """Raise an error unless this is None, ``"balanced"`` or a mapping from classes to numbers above 0.

    Examples
    --------
    >>> check_class_weight({"stay": 1, "leave": 0})
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: class_weight['leave'] is 0; it must be a number above 0.
    """
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise SugenetError(
            f"{name} is {quoted(given)}. Give a mapping from classes (values of y) to the cost of an error, "
            "or 'balanced'."
        )
    for label, weight in given.items():
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float | np.number)
            or not 0 < weight < float("inf")
        ):
            raise SugenetError(f"{name}[{label!r}] is {weight!r}; it must be a number above 0.")


def class_factors(
    given: Any,
    labels: Sequence[Any],
    ranks: npt.NDArray[np.int64],
    weights: _Floats | None = None,
    name: str = "class_weight",
) -> _Floats:
    """Return the weight of each class, which is the cost of an error on its samples.

    Parameters
    ----------
    given
        A mapping from classes to weights, 1 for classes that are not listed; ``"balanced"``: all classes that
        occur have the same total weight; None: 1 for all.
    labels
        The classes. A key of the mapping is a class, or its text.
    ranks
        The class index of each sample.
    weights
        The weight of each sample (default: 1).
    name
        The argument, for errors.

    Examples
    --------
    >>> ranks = np.array([0, 0, 0, 1])
    >>> class_factors({"leave": 3}, ["stay", "leave"], ranks).tolist()
    [1.0, 3.0]
    >>> class_factors("balanced", ["stay", "leave"], ranks).round(3).tolist()
    [0.667, 2.0]
    """
    check_class_weight(given, name)
    factors = np.ones(len(labels))
    if isinstance(given, str):
        totals = np.bincount(ranks, weights, minlength=len(labels))
        factors[totals > 0] = totals.sum() / np.count_nonzero(totals) / totals[totals > 0]
        return factors
    known, texts = list(labels), [str(label) for label in labels]
    named: dict[int, Any] = {}
    for label, weight in (given or {}).items():
        if label not in known and str(label) not in texts:
            raise SugenetError(
                f"{name} names {quoted(label)}, which is not in y. The classes are {', '.join(texts[:12])}."
            )
        index = known.index(label) if label in known else texts.index(str(label))
        if index in named:
            raise SugenetError(
                f"{name} names the class {texts[index]} twice, as {named[index]!r} and {label!r}."
            )
        named[index], factors[index] = label, weight
    return factors


def sample_weights(given: Any, samples: int, name: str = "sample_weight") -> _Floats | None:
    """Return the weights of samples, None if there are none; a sample of weight 0 is not used.

    Examples
    --------
    >>> sample_weights([1, 2.5], samples=2).tolist()
    [1.0, 2.5]
    >>> sample_weights([1, -2], samples=2)
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: sample_weight[1] is -2.0; it must be a finite number of at least 0.
    """
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SugenetError(f"{name} holds a value that is not a number ({error}).") from None
    if weights.shape != (samples,):
        raise SugenetError(f"{name} has shape {weights.shape}, but {samples} samples need ({samples},).")
    wrong = ~((weights >= 0) & (weights < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SugenetError(
            f"{name}[{row}] is {weights.tolist()[row]}; it must be a finite number of at least 0."
        )
    if not weights.any():
        raise SugenetError(f"{name} is zero for all samples. At least one must have a weight above 0.")
    return weights


def taken(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of a table of any library, as the same kind of table.

    Examples
    --------
    >>> taken([[1], [2], [3]], np.array([0, 2]))
    [[1], [3]]
    """
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "column_names") else X[rows]
