"""Columns of one type each, and the pandas data frame that they make. pandas is imported on use."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from sugenet.errors import SugenetError

__all__ = ["Column", "index_of", "pandas_frame", "renamed", "retyped", "side_by_side"]


class Column(NamedTuple):
    """Values of one kind; None if unknown.

    Kinds are ``int``, ``float``, ``bool``, ``text``, ``category``, ``date``, ``exact`` (fractions) and
    ``object``.
    """

    kind: str
    values: Sequence[Any]
    categories: Sequence[Any] = ()
    """Values that a category may have, in order."""


_NULLABLE = {"int": "Int64", "bool": "boolean", "float": "float64", "text": "string", "date": "datetime64[s]"}
_PLAIN = _NULLABLE | {"int": "int64", "bool": "bool"}


def pandas_frame(columns: Mapping[str, Column], index: Any = None) -> Any:
    """Return columns as a pandas data frame.

    Integers and booleans have nullable types if a value is unknown.

    Raises
    ------
    SugenetError
        If pandas is not installed.
    """
    pd = _pandas()

    def array(column: Column) -> Any:
        values = list(column.values)
        if column.kind == "category":
            return pd.Categorical(values, categories=list(column.categories))
        types = _NULLABLE if any(value is None for value in values) else _PLAIN
        return pd.array(values, dtype=types.get(column.kind, object))

    return pd.DataFrame({name: array(column) for name, column in columns.items()}, index=index)


def index_of(table: Any) -> Any:
    """Return the index of a pandas data frame; None for other samples."""
    is_pandas = all(hasattr(table, name) for name in ("columns", "dtypes", "iloc", "reindex"))
    return table.index if is_pandas else None


def side_by_side(answers: Any, samples: Any) -> Any:
    """Join two frames with the same index; a sample's column with the name of an answer's is renamed."""
    labels = [renamed(label, answers.columns) for label in samples.columns]
    return _pandas().concat([answers, samples.set_axis(labels, axis=1)], axis=1)


def renamed(label: Any, answers: Container[Any]) -> Any:
    """Return the name of a sample's column beside those of answers."""
    return f"{label} (feature)" if label in answers else label


def retyped(values: Sequence[Any], series: Any) -> Any:
    """Return values as a series with the index and type of another one, unless that changes a value.

    Categories are added if they are missing. Dates without a time zone are in UTC.
    """
    pd = _pandas()
    new, dtype = pd.Series(list(values), index=series.index, dtype=object), series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        more = [value for value in dict.fromkeys(new.dropna()) if value not in dtype.categories]
        dtype = pd.CategoricalDtype([*dtype.categories, *more], dtype.ordered)
    try:
        if isinstance(dtype, pd.DatetimeTZDtype):
            return pd.to_datetime(new, utc=True).astype(dtype)
        cast = new.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return new.infer_objects()
    pairs = zip(cast, new, strict=True)
    same = dtype.kind == "M" or all(a == b for a, b in pairs if not (pd.isna(a) and pd.isna(b)))
    return cast if same else new.infer_objects()


def _pandas() -> Any:
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError as error:
        raise SugenetError("a data frame requires pandas: pip install pandas.") from error
    return pd
