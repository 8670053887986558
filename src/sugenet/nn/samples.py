"""Raw samples as rows in the order of a network's features: by name if they have names, else in their own
order and shape.

Tables and rows of other libraries are recognized by their attributes (columns, an index, keys), so none of
these libraries has to be installed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError

__all__ = [
    "cells_of",
    "columns_of",
    "indices_of",
    "is_single",
    "is_table",
    "joined",
    "labels_of",
    "named_rows",
    "rows_of",
    "shape_text",
    "values_of",
]

_SHOWN = 5
_EXACT = 1 << 53  # float64 is exact for all integers up to here


def rows_of(X: Any, names: Sequence[str], shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
    """Return a batch as an array with one row per sample; the caller checks the length of the rows.

    Parameters
    ----------
    X
        Rows of values in the order of the features. Or samples in the shape of the source, or one of them. Or
        samples with names: a data frame, a mapping from names to values for one sample, or a list of
        mappings. Names must be those of the features, in any order. Integers from 0 that are not names are
        indices of features, as in a frame created without names.
    names
        Names of the features, in their order.
    shape
        Shape of one sample in the source, if it has one.
    """
    rows = _named(X, names)
    if rows is not None:
        return rows
    array = _array(X)
    # NumPy converted numbers next to text into text, or rounded integers next to floats
    if isinstance(X, list | tuple) and (
        array.dtype.kind in "US" or (array.dtype.kind == "f" and bool((np.abs(array) >= _EXACT).any()))
    ):
        array = np.array(X, dtype=object)
    return _flat(array, len(names), shape)


def _array(X: Any, dtype: Any = None) -> npt.NDArray[Any]:
    try:
        return np.asarray(X, dtype=dtype)
    except ValueError as error:  # NumPy's error for rows of different lengths
        raise EncodingError(
            f"the samples make no table: {str(error)[:120]}. Give each of them as many values."
        ) from None


def is_single(X: Any, rows: npt.NDArray[Any]) -> bool:
    """Return whether samples that were read as rows are a single sample, not a batch.

    Examples
    --------
    >>> batch = np.zeros((1, 2))
    >>> is_single([0, 0], np.zeros(2)), is_single({"a": 0, "b": 0}, batch), is_single([[0, 0]], batch)
    (True, True, False)
    """
    if rows.ndim == 1:
        return True
    if len(rows) != 1 or _labels(X) is not None:
        return False
    if _named_row(X) is not None:
        return True
    if isinstance(X, list | tuple) and _named_row(X[0]) is not None:
        return False
    return bool(np.shape(X)[0] != 1)  # in the shape of the source


def is_table(X: Any) -> bool:
    """Return whether samples are a table with named columns, such as a data frame.

    Examples
    --------
    >>> is_table({"a": 0, "b": 0}), is_table([[0, 0]]), is_table(np.zeros(1, [("a", "i4"), ("b", "i4")]))
    (False, False, True)
    """
    return _labels(X) is not None and getattr(X, "ndim", 2) != 0


def values_of(x: Any, names: Sequence[str], shape: tuple[int, ...] | None = None) -> list[Any]:
    """Return one sample as a list of plain values, one per feature. A flat sample needs no brackets of its
    own.
    """
    rows = _named(x, names)
    if rows is None:
        array = x if isinstance(x, np.ndarray) else _array(x, object)
        rows = array.reshape(1, -1) if array.ndim < 2 or shape is None else _flat(array, len(names), shape)
    if rows.ndim != 2 or len(rows) != 1:
        raise EncodingError(
            f"x has shape {rows.shape}, but one sample is needed, of shape {shape_text(len(names), shape)}."
        )
    if rows.shape[1] != len(names):
        raise EncodingError(
            f"the sample has {rows.shape[1]} values, but the network reads {len(names)} features."
        )
    if rows.dtype.kind in "biuf" and rows.dtype.itemsize <= 8:  # plain numbers need no further work
        return list(rows[0].tolist())
    return [value.item() if isinstance(value, np.generic) else value for value in rows[0].tolist()]


def named_rows(X: Any, names: Iterable[object] | None = None) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Return training samples as rows, and their names: those given, else their own; None if they have
    none.

    The numbers 0, 1, 2, ... in order, as in a frame created without names, do not count as names.
    """
    feature_names = None if names is None else [str(name) for name in names]
    labels = labels_of(X)
    label_names = [str(label) for label in labels or ()]
    if feature_names is None and labels is not None and labels != list(range(len(labels))):
        feature_names = label_names
    return rows_of(X, label_names if feature_names is None else feature_names), feature_names


def labels_of(X: Any) -> list[Any] | None:
    """Return the names of the values of samples: of a table, of one sample, or of the first of several;
    None if they have no names.
    """
    labels = _labels(X)
    if labels is None:
        row = _named_row(X) or _named_row(X[0] if isinstance(X, list | tuple) and X else X)
        labels = None if row is None else row[0]
    return labels


def shape_text(features: int, shape: tuple[int, ...] | None, *batch: str) -> str:
    """Describe the shapes that a sample may have, or a batch with ``"samples"``."""
    flat = f"({', '.join([*batch, str(features)])}{'' if batch else ','})"
    return flat if shape is None or len(shape) < 2 else f"{flat} or ({', '.join([*batch, *map(str, shape)])})"


def _flat(array: npt.NDArray[Any], features: int, shape: tuple[int, ...] | None) -> npt.NDArray[Any]:
    """Return samples in the shape of the source as rows; axes of length 1 may be omitted."""
    if array.ndim == 2 and (shape is None or array.shape[1] == features):
        return array
    wanted = _longer((features,) if shape is None else shape)
    if array.ndim > 2 and _longer(array.shape[1:]) == wanted:
        return array.reshape(len(array), features)
    if shape is not None and array.ndim > 1 and _longer(array.shape) == wanted:
        return array.reshape(1, features)
    return array


def _longer(shape: Iterable[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


# -- names ---------------------------------------------------------------------------------------------------


def _named(X: Any, names: Sequence[str]) -> npt.NDArray[Any] | None:
    """Return the rows of samples with names, in the order of the features; None if they have no names."""
    if type(X) is np.ndarray and X.dtype.names is None:
        return None
    columns = columns_of(X, names)
    if columns is not None:
        return joined(columns, np.size(X) if isinstance(X, np.ndarray) else len(X))
    row = _named_row(X)
    if row is not None:
        indices = indices_of(row[0], names)
        _check_single(*row)
        return _objects([row[1]], indices)
    if isinstance(X, list | tuple) and X and _named_row(X[0]) is not None:
        parts = [_named(sample, names) for sample in X]
        if any(part is None for part in parts):
            raise EncodingError("some samples have names and some have none. Give all of them alike.")
        return np.concatenate([part for part in parts if part is not None])
    return None


def columns_of(X: Any, names: Sequence[str]) -> list[npt.NDArray[Any]] | None:
    """Return the columns of a table, in the order of the names; None if X is not a table."""
    labels = _labels(X)
    _check_way(X, names)
    if labels is None:
        return None
    table = X.reshape(-1) if isinstance(X, np.ndarray) else X
    return [cells_of(table[labels[index]]) for index in indices_of(labels, names)]


def cells_of(column: Any) -> npt.NDArray[Any]:
    """Return the values of one column of a table."""
    kind: Any = getattr(column, "type", None)
    if hasattr(kind, "index_type"):  # a dictionary of Arrow in chunks gives gaps the last category
        column = column.cast(kind.value_type)
    return np.asarray(column)


def joined(columns: list[npt.NDArray[Any]], rows: int) -> npt.NDArray[Any]:
    """Join columns: as one type if that changes no value, else as objects."""
    kinds = {column.dtype for column in columns}
    integer_columns = [column for column in columns if column.dtype.kind in "iu" and column.size]
    small = all(kind.kind in "biuf" for kind in kinds) and all(
        max(int(c.max()), -int(c.min())) <= _EXACT for c in integer_columns
    )
    if columns and (len(kinds) == 1 or small):
        return np.stack(columns, axis=1)
    out = np.empty((rows, len(columns)), dtype=object)
    for index, column in enumerate(columns):
        out[:, index] = list(column) if column.dtype.kind == "M" else column  # NumPy makes dates integers
    return out


def _labels(X: Any) -> list[Any] | None:
    """Return the column names of a table or of an array of records; None if X is neither."""
    if isinstance(X, np.ndarray):
        return None if X.dtype.names is None else list(X.dtype.names)
    labels = getattr(X, "column_names", getattr(X, "columns", None))  # `columns` of Arrow are not names
    return None if labels is None or callable(labels) or isinstance(X, Mapping) else list(labels)


def _named_row(x: Any) -> tuple[list[Any], list[Any]] | None:
    """Return the names and values of one sample with names: a mapping, a series with an index,
    a named tuple, a record.
    """
    if isinstance(x, Mapping):
        return list(x), list(x.values())
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return list(x._fields), list(x)
    if isinstance(x, np.void) and x.dtype.names is not None:
        return list(x.dtype.names), [x[name] for name in x.dtype.names]
    index = getattr(x, "index", None)
    if index is not None and not callable(index) and hasattr(x, "to_numpy"):
        values = x.to_numpy()
        return list(index), list(values) if values.dtype.kind == "M" else values.tolist()
    return None


def _check_way(X: Any, names: Sequence[str]) -> None:
    """Raise an error for a frame whose rows are named like the features, and for a series that is one column
    of a frame: both are transposed.
    """
    index = getattr(X, "index", None)
    if isinstance(X, Mapping) or index is None or callable(index):
        return
    known = set(names)
    if getattr(X, "columns", None) is not None:
        rows, columns = ({str(label) for label in labels} for labels in (index, X.columns))
        if rows == known != columns:
            raise EncodingError(
                "the names of the features are those of the rows. Give one row for each sample: X.T."
            )
    elif str(getattr(X, "name", None)) in known and not known.intersection(str(label) for label in index):
        raise EncodingError(
            f"a series with the name {X.name!r} is one column of a table. Give whole samples: the table, "
            f"or one row of it."
        )


def _check_single(labels: Sequence[Any], values: Sequence[Any]) -> None:
    """Raise an error if one sample has a column of values in place of a value."""
    for label, value in zip(labels, values, strict=True):
        if hasattr(value, "__len__") and not isinstance(value, str | bytes) and np.ndim(value) > 0:
            raise EncodingError(
                f"names with values are one sample, but {str(label)!r} has {len(value)} values. Give several "
                f"samples as a data frame, or as a list of dicts, one for each."
            )


def indices_of(labels: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the index of the label of each feature; raise an error unless labels and names are the same."""
    index_of = {str(label): index for index, label in enumerate(labels)}
    if len(index_of) < len(labels):
        doubled = Counter(map(str, labels)).most_common(1)[0][0]
        raise EncodingError(f"the samples have two columns {doubled!r}. Give each feature one.")
    if index_of.keys() != set(names):
        integers = [
            int(label)
            for label in labels
            if isinstance(label, int | np.integer) and not isinstance(label, bool)
        ]
        if len(integers) == len(labels) and sorted(integers) == list(range(len(names))):
            return (
                [integers.index(index) for index in range(len(names))]
                if integers != list(range(len(names)))
                else integers
            )
        raise EncodingError(_misfit(index_of, names))
    return [index_of[name] for name in names]


def _misfit(labels: Mapping[str, int], names: Sequence[str]) -> str:
    missing = [name for name in names if name not in labels]
    known = set(names)
    unknown = [label for label in labels if label not in known]
    parts = [f"lack {_some(missing)}"] * bool(missing) + [
        f"have {_some(unknown)}, which the network does not know"
    ] * bool(unknown)
    return (
        f"samples with names are read by name, but these {' and '.join(parts)}. Rename or leave out columns; "
        "or give the values alone, in the order of the features: X.to_numpy(), or list(x.values()) of a dict."
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _objects(rows: Sequence[Sequence[Any]], indices: Sequence[int]) -> npt.NDArray[Any]:
    """Return the values of rows at some indices, unchanged."""
    out = np.empty((len(rows), len(indices)), dtype=object)
    for number, row in enumerate(rows):
        out[number] = [row[index] for index in indices]
    return out
