"""Fitted steps of a scikit-learn pipeline, turned around: which raw column each column is computed from.

A step can be turned around if each of its columns is computed from one column before it, and

- rises with it, in float arithmetic: ``(x - mean) / scale`` does, because rounding never changes an order; or
- is decided by the category, or by the bin, that the column before it holds.

Values are always those of the step's own `transform`. Nothing here repeats the arithmetic of scikit-learn.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.errors import EncodingError
from sugenet.nn.columns import is_gap

__all__ = ["Cells", "ColumnMap", "StepColumn", "as_column", "follow", "least_reaching"]

Cells: TypeAlias = npt.NDArray[Any]
ColumnMap: TypeAlias = Callable[[Cells], Cells]

_RISING = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Binarizer")
_SUPPORTED = (
    "ColumnTransformer, FeatureUnion, OneHotEncoder, OrdinalEncoder, StandardScaler, MinMaxScaler, "
    "MaxAbsScaler, RobustScaler, Binarizer, KBinsDiscretizer, SimpleImputer, selectors of columns, and "
    "FunctionTransformer without a function"
)
_ZERO = np.uint64(1 << 63)
_PARTS = 256
"""Number of parts into which each step of a search divides the floats that remain."""


@dataclass(frozen=True)
class StepColumn:
    """One column between two steps, computed from one raw column."""

    raw: int | None
    """Index of the raw column; None for a constant."""
    values: ColumnMap
    """From raw values to the values of this column."""
    is_raw: bool = True
    """Whether it holds the raw values unchanged."""
    is_affine: bool = True
    """Whether all steps before it only shift and scale."""
    is_injective: bool = True
    """Whether all steps before it give different values for different raw numbers of their training data."""
    categories: tuple[Any, ...] | None = None
    """Raw values for which it is defined, if a step read them as categories."""
    gauge: ColumnMap | None = None
    """Rising map of raw numbers that decides the value, if `values` itself does not rise."""
    marks: tuple[float, ...] = ()
    """Numbers of the gauge at which the value can change."""
    bins: tuple[float, ...] = ()
    """All its values, if a step sorted numbers into bins."""
    fills: tuple[Any, ...] = ()
    """Raw values that could stand for a gap, if a step fills gaps."""
    ends: tuple[float, float] | None = None
    """Raw training range, if a step recorded it."""


def as_column(values: Sequence[Any]) -> Cells:
    """Return values as an array: floats if all of them are numbers, else objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    numeric = all(isinstance(value, int | float | np.number | np.bool_) for value in out.tolist())
    return out.astype(np.float64) if numeric else out


def least_reaching(
    rising: ColumnMap, targets: Sequence[float], low: float, high: float
) -> list[float | None]:
    """Return for each target the smallest float64 from `low` to `high` whose image reaches it, or None.

    This searches among all floats, so it is exact for any map that does not fall, whatever its rounding.

    Examples
    --------
    >>> least_reaching(lambda x: (x - 0.3) / 0.1, [3.0, 1e300], -1e200, 1e200)
    [0.6000000000000001, None]
    """
    wanted = np.array(targets, np.float64)[:, None]
    first, last = (
        np.full_like(wanted, _rank(low), np.uint64),
        np.full_like(wanted, _rank(high) + 1, np.uint64),
    )
    while (first < last).any():
        points = first + ((last - first) // _PARTS + 1) * np.arange(_PARTS, dtype=np.uint64)
        points = np.minimum(points, np.maximum(last, first + 1) - 1)
        values = rising(_float(np.minimum(points, _rank(high)).ravel())).reshape(points.shape)
        unreached = np.sum(~(values.astype(np.float64) >= wanted), axis=1, keepdims=True)
        below = np.take_along_axis(points, np.maximum(unreached - 1, 0), axis=1)
        above = np.take_along_axis(points, np.minimum(unreached, _PARTS - 1), axis=1)
        is_open = first < last
        first = np.where(is_open & (unreached > 0), below + 1, first)
        last = np.where(is_open & (unreached < _PARTS), above, last)
    smallest = _float(np.minimum(first, _rank(high))).ravel().tolist()
    missing = (first > _rank(high)).ravel().tolist()
    return [None if is_missing else value for value, is_missing in zip(smallest, missing, strict=True)]


def _rank(value: float) -> np.uint64:
    """Return the index of a finite float64 in the order of all of them; 2^63 for zero."""
    size = np.abs(np.float64(value)).view(np.uint64)
    return np.uint64(_ZERO - size if value < 0 else _ZERO + size)


def _float(ranks: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    is_negative = ranks < _ZERO
    sizes = np.where(is_negative, _ZERO - ranks, ranks - _ZERO).view(np.float64)
    return np.where(is_negative, -sizes, sizes)


def follow(step: Any, where: str, columns: list[StepColumn], fillers: dict[int, Any]) -> list[StepColumn]:
    """Return the columns that a fitted step makes of the columns before it.

    Parameters
    ----------
    step
        The step.
    where
        Its name, for messages.
    columns
        The columns before it.
    fillers
        For raw columns that hold categories one of them; this function adds entries.

    Raises
    ------
    EncodingError
        If the step cannot be turned around. The message names it.
    """
    kind = type(step).__name__ if type(step).__module__.partition(".")[0] == "sklearn" else ""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    match kind:
        case "Pipeline":
            for name, inner in step.steps:
                columns = follow(inner, f"{where}, {name}", columns, fillers)
            return columns
        case "ColumnTransformer":
            return _split(step, where, columns, fillers)
        case "FeatureUnion" if not step.transformer_weights:
            united = [(name, inner) for name, inner in step.transformer_list if not _is_dropped(inner)]
            return [
                one for name, inner in united for one in follow(inner, f"{where}, {name}", columns, fillers)
            ]
        case "FunctionTransformer" if step.func is None:
            return columns
        case "OneHotEncoder" | "OrdinalEncoder":
            return _encoded(step, where, columns, fillers)
        case "KBinsDiscretizer":
            return _binned(_Leaf(step, where, [0.0] * len(columns)), columns)
        case "SimpleImputer":
            return _filled(step, where, columns)
    if kind in _RISING:
        return _scaled(_Leaf(step, where, [0.0] * len(columns)), columns)
    if kind and hasattr(step, "get_support"):
        return [column for column, kept in zip(columns, step.get_support().tolist(), strict=True) if kept]
    raise _refused(step, where, _reason(kind))


def _reason(kind: str) -> str:
    if kind == "FunctionTransformer":
        return "it calls a function of its own"
    if kind == "FeatureUnion":
        return "it has transformer_weights"
    return f"only these steps of scikit-learn can: {_SUPPORTED}"


def _refused(step: Any, where: str, why: str) -> EncodingError:
    return EncodingError(f"{where}: the step {type(step).__name__} cannot be turned around, because {why}.")


def _is_dropped(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


def _split(step: Any, where: str, columns: list[StepColumn], fillers: dict[int, Any]) -> list[StepColumn]:
    names = list(getattr(step, "feature_names_in_", ()))
    out = []
    for name, inner, selection in step.transformers_:
        chosen = (
            [] if _is_dropped(inner) else [columns[index] for index in _indices(selection, names, columns)]
        )
        out += follow(inner, f"{where}, {name}", chosen, fillers) if chosen else []
    return out


def _indices(selection: Any, names: list[Any], columns: Sequence[Any]) -> list[int]:
    """Return the indices of columns that are given by names, indices, a mask or a slice."""
    if isinstance(selection, slice):
        start, stop = selection.start, selection.stop
        if isinstance(start, str) or isinstance(stop, str):  # both ends are included
            start = None if start is None else names.index(start)
            stop = None if stop is None else names.index(stop) + 1
        return list(range(len(columns)))[slice(start, stop, selection.step)]
    several = [selection] if isinstance(selection, str | int) else list(selection)
    if several and all(isinstance(one, bool | np.bool_) for one in several):
        return [index for index, chosen in enumerate(several) if chosen]
    return [names.index(one) if isinstance(one, str) else range(len(columns))[one] for one in several]


@dataclass(frozen=True)
class _Leaf:
    """A step without steps inside, applied to one column while the others hold a filler."""

    step: Any
    where: str
    fillers: list[Any]

    def table(self, index: int, cells: Cells) -> Cells:
        """Return what the step makes of a column. Numbers that are not finite become NaN."""
        cells = np.asarray(cells)
        wild = np.isinf(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), bool)
        numeric = cells.dtype.kind in "biuf" and as_column(self.fillers).dtype != object
        table = np.empty((len(cells), len(self.fillers)), np.float64 if numeric else object)
        table[:] = self.fillers
        table[:, index] = cells
        if wild.any():
            table[wild, index] = 0.0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # names of columns, and overflow
            made = self.step.transform(table)
        made = np.asarray(made.toarray() if hasattr(made, "toarray") else made)
        if wild.any():
            made = np.where(wild[:, None], np.nan, made)
        return made

    def after(self, column: StepColumn, index: int, output: int) -> ColumnMap:
        """Return the map to one column of the step."""
        return lambda cells: np.asarray(self.table(index, column.values(cells))[:, output])


def _scaled(leaf: _Leaf, columns: list[StepColumn]) -> list[StepColumn]:
    scale = getattr(leaf.step, "scale_", None)
    if scale is not None and not (np.asarray(scale) > 0).all():
        raise _refused(leaf.step, leaf.where, "a scale of it is not positive")
    return [
        replace(
            column,
            values=leaf.after(column, index, index),
            is_raw=False,
            is_affine=column.is_affine
            and hasattr(leaf.step, "scale_")
            and not getattr(leaf.step, "clip", False),
            is_injective=column.is_injective and hasattr(leaf.step, "scale_"),
            bins=(),
        )
        for index, column in enumerate(columns)
    ]


def _filled(step: Any, where: str, columns: list[StepColumn]) -> list[StepColumn]:
    if step.add_indicator:
        raise _refused(step, where, "of add_indicator: use a SimpleImputer without it")
    if not (is_gap(step.missing_values) or isinstance(step.missing_values, str)):
        raise _refused(step, where, f"it replaces the value {step.missing_values!r}, which is not a gap")
    known = [plain(value) for value in step.statistics_.tolist()]
    is_empty = [not isinstance(value, str) and is_gap(value) for value in known]
    leaf = _Leaf(step, where, [0.0 if empty else v for empty, v in zip(is_empty, known, strict=True)])
    kept = [index for index, empty in enumerate(is_empty) if step.keep_empty_features or not empty]
    out = []
    for output, index in enumerate(kept):
        column = columns[index]
        fill = known[index] if column.is_raw else _raw_value(column, known[index])
        out.append(
            replace(column, values=leaf.after(column, index, output), fills=(*column.fills, fill))
            if column.raw is not None
            else column
        )
    return out


def _raw_value(column: StepColumn, value: Any) -> Any:
    """Return a raw number that becomes a value, or the nearest above it."""
    if column.gauge is not None or column.categories is not None or not isinstance(value, int | float):
        return None
    return value if column.is_raw else least_reaching(column.values, [value], -1e300, 1e300)[0]


def _binned(leaf: _Leaf, columns: list[StepColumn]) -> list[StepColumn]:
    out = []
    widths = [int(n) for n in leaf.step.n_bins_]
    is_ordinal, start = leaf.step.encode == "ordinal", 0
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        edges = leaf.step.bin_edges_[index]
        low, high = (_raw_value(column, float(edge)) for edge in (edges[0], edges[-1]))
        # the one bin of a constant column has no ends
        is_known = low is not None and high is not None and isfinite(low) and isfinite(high)
        ends = (low, high) if is_known else None
        made = replace(
            column,
            is_raw=False,
            is_affine=False,
            is_injective=False,
            ends=ends if column.ends is None else column.ends,
            bins=(),
        )
        if is_ordinal:
            bins = () if column.gauge or column.categories else tuple(map(float, range(width)))
            out.append(replace(made, values=leaf.after(column, index, index), bins=bins))
            continue
        gauge = _bin_of(leaf, column, index, slice(start, start + width))
        for output in range(width):
            one = replace(made, values=leaf.after(column, index, start + output))
            if column.gauge is None and column.categories is None and column.raw is not None:
                marks = tuple(float(mark) for mark in (output, output + 1) if 0 < mark < width)
                one = replace(one, gauge=gauge, marks=marks)
            out.append(one)
        start += width
    return out


def _bin_of(leaf: _Leaf, column: StepColumn, index: int, group: slice) -> ColumnMap:
    """Return the map to the index of the bin, from one column per bin."""
    return lambda cells: leaf.table(index, column.values(cells))[:, group].argmax(axis=1)


def _encoded(step: Any, where: str, columns: list[StepColumn], fillers: dict[int, Any]) -> list[StepColumn]:
    known = [list(map(plain, categories.tolist())) for categories in step.categories_]
    leaf = _Leaf(step, where, [categories[0] for categories in known])
    tables = [leaf.table(index, as_column(categories)) for index, categories in enumerate(known)]
    sources = [
        _source(step, where, column, categories) for column, categories in zip(columns, known, strict=True)
    ]
    for column, source in zip(columns, sources, strict=True):
        if column.raw is not None and source.categories:
            fillers.setdefault(column.raw, source.categories[0])
    out = []
    for output in range(tables[0].shape[1]):
        index = next(
            (i for i, table in enumerate(tables) if (table[:, output] != table[0, output]).any()), None
        )
        if index is None:
            out.append(StepColumn(None, _constant(tables[0][0, output]), is_raw=False))
        else:
            out.append(replace(sources[index], values=leaf.after(columns[index], index, output)))
    return out


def _constant(value: Any) -> ColumnMap:
    return lambda cells: np.full(len(cells), value)


def _source(step: Any, where: str, column: StepColumn, known: list[Any]) -> StepColumn:
    """Return what decides the values of an encoder's columns: raw categories, or bins of a raw number."""
    made = replace(column, is_raw=False, is_affine=False, is_injective=False, bins=())
    if column.raw is None or column.gauge is not None:
        return made
    if column.categories is not None:
        inner = column.values(as_column(column.categories)).tolist()
        kept = [one for one, value in zip(column.categories, inner, strict=True) if value in known]
        return replace(made, categories=tuple(kept))
    if column.is_raw:
        return replace(made, categories=tuple(known))
    if column.bins:
        return replace(made, gauge=column.values, marks=tuple(sorted(map(float, known))))
    raise _refused(step, where, "it reads numbers that an earlier step computed, as if they were categories")
