"""Learning the encoder: from columns of raw values to bits that a binarized network can read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError
from sugenet.fit.columns import (
    ColumnType,
    Missing,
    RawColumn,
    check_missing,
    raw_columns,
    refuse_gaps,
    understood,
)
from sugenet.nn import (
    Coding,
    Columns,
    Encoder,
    OneHot,
    Preparation,
    Steps,
    bit,
    integer,
    thermometer,
    threshold,
    unused,
)

__all__ = ["CodingChoice", "informative", "learn_coding", "learn_encoder", "reads_levels", "short_between"]

CodingChoice = Literal["auto", "bits", "cuts", "integers"]
_MOST_CATEGORIES = 100
_FILL = "Fill them in, or remove the rows."


def learn_encoder(
    X: Any,
    *,
    coding: CodingChoice = "auto",
    cuts: int | Sequence[Any] = 4,
    names: Iterable[object] | None = None,
    low: float = -inf,
    high: float = inf,
    types: Mapping[str, str] | None = None,
    missing: Missing = "refuse",
) -> Encoder:
    """Learn how to turn raw features into bits.

    Parameters
    ----------
    X
        Samples, one row each: a data frame, or numbers, booleans, dates or texts; an object array may mix
        them, column by column.
    coding
        ``"cuts"`` compares every number with `cuts` quantiles of its column (one is a threshold, more are a
        thermometer). ``"bits"`` accepts -1, 0 and +1 unchanged. ``"integers"`` keeps integers exactly, as
        levels from `low` to `high` (default: 0 to 255 for uint8 arrays, else the smallest and largest value
        seen). ``"auto"`` decides by column (`understand`): numbers and dates get cuts, booleans, texts and
        groups of one-hot columns one bit per value, -1/+1 one bit. Arrays of booleans are bits.
    cuts
        The number of quantile cuts per numeric feature, or the cuts themselves in increasing order, the same
        for all features, or a list for each column. A column with few different values gets fewer cuts, a
        constant one none. Of given cuts, a column gets those that separate its values.
    names
        Names of the features (default: the columns of X, if it has names).
    low, high
        The raw values that can occur in numeric features; explanations never leave this range.
    types
        Types of columns by name, instead of those found, see `understand`.
    missing
        ``"refuse"`` gaps, give them a ``"category"`` of their own, or ``"impute"`` a value.

    Examples
    --------
    >>> rows = [[1.37, "red"], [2.0, "blue"], [4.5, "red"], [5.0, "red"]]
    >>> encoder = learn_encoder(rows, cuts=1, names=["size", "colour"])
    >>> [encoder.words(place) for place in range(encoder.width)]
    ['size >= 3', 'colour = blue', 'colour = red']
    >>> learn_encoder(np.array([[0, 7], [3, 9]], np.uint8), coding="integers").tops
    (255, 255)
    """
    if coding not in get_args(CodingChoice):
        raise EncodingError(
            f"coding={coding!r} is not known; it is one of {', '.join(get_args(CodingChoice))}."
        )
    if isinstance(cuts, bool) or not isinstance(cuts, int | Sequence) or (isinstance(cuts, int) and cuts < 1):
        raise EncodingError(f"cuts={cuts!r} must be an integer of at least 1, or the cuts themselves.")
    columns = raw_columns(X, names)
    if coding == "auto" and not _is_binary(X):
        return _of_columns(columns, cuts, low, high, types, check_missing(missing))
    for name, value, usual in (("types", types, None), ("missing", missing, "refuse")):
        if value != usual:
            raise EncodingError(f"{name}= needs columns of several types, and coding='auto'. Leave it out.")
    refuse_gaps(columns, f"{_FILL} With coding='auto', missing= can do it.")
    if all(column.values.dtype == np.uint8 for column in columns):
        low, high = max(low, 0.0), min(high, 255.0)
    codings = [
        learn_coding(column.values, column.name, coding, _cuts_of(cuts, i), low, high)
        for i, column in enumerate(columns)
    ]
    return informative(Encoder(codings, [column.name for column in columns]))


def _is_binary(X: Any) -> bool:
    """Return whether X is an array of booleans or of bytes, such as pixels, whose columns have one type."""
    return isinstance(X, np.ndarray) and X.dtype in (np.bool_, np.uint8)


def _cuts_of(cuts: int | Sequence[Any], column: int) -> int | Sequence[float]:
    """Return the cuts of a column: its own list, or those of all columns."""
    if isinstance(cuts, int) or not cuts or not isinstance(cuts[0], Sequence):
        return cuts
    return cuts[column]  # type: ignore[no-any-return]


class _CodedFeature(NamedTuple):
    """A feature: its name, how it is read from columns, and its coding."""

    name: str
    preparation: Preparation
    coding: Coding


def _of_columns(
    columns: list[RawColumn],
    cuts: int | Sequence[Any],
    low: float,
    high: float,
    types: Mapping[str, str] | None,
    missing: Missing,
) -> Encoder:
    """Return the encoder of columns by their types."""
    kinds = understood(columns, types, missing)
    kinds.check()
    index = {column.name: i for i, column in enumerate(columns)}
    features = [
        feature
        for one in kinds.columns
        for i in [index[one.columns[0]]]
        for feature in _features(one, columns[i], _cuts_of(cuts, i), low, high, missing)
    ]
    doors = Columns(
        tuple(column.name for column in columns),
        tuple(feature.preparation for feature in features),
    )
    is_plain = len(columns) == len(features) and all(
        feature.preparation == Preparation((feature.name,))
        and (isinstance(feature.coding, Steps) or set(map(type, feature.coding.categories)) == {str})
        for feature in features
    )
    return informative(
        Encoder(
            [feature.coding for feature in features],
            [feature.name for feature in features],
            columns=None if is_plain else doors,
        )
    )


def _features(
    one: ColumnType,
    column: RawColumn,
    cuts: int | Sequence[float],
    low: float,
    high: float,
    missing: Missing,
) -> list[_CodedFeature]:
    """Return the features of a column: one, several for the parts of a date, none if it is left out."""
    name, is_imputed = column.name, missing == "impute"
    gap = (None,) if one.gaps and missing == "category" else ()
    fill = column.fill(one.kind) if is_imputed and one.is_used and len(one.columns) == 1 else None
    if one.kind == "one-hot":
        return [_CodedFeature(one.name, Preparation(one.columns, "one-hot"), OneHot(one.categories))]
    if one.kind == "constant" and column.numbers is not None and len(column.present) and not gap:
        fill = column.fill(one.kind) if is_imputed else None
        return [_CodedFeature(name, Preparation((name,), fill=fill), unused(low, high, column.is_whole))]
    if not one.is_used:
        return []
    if one.kind == "date":
        return [_part(column, how, cuts, fill, gap) for how in one.how]
    if one.kind == "category" or (one.kind == "bool" and column.different != [-1, 1]):
        values = (False, True) if one.kind == "bool" else tuple(column.different)
        return [_CodedFeature(name, Preparation((name,), fill=fill), OneHot((*values, *gap)))]
    if gap and len(column.different) == 2:
        return [_CodedFeature(name, Preparation((name,)), OneHot((*column.different, None)))]
    assert column.numbers is not None
    numbers = column.present if column.present.dtype.kind in "iu" else column.numbers
    if one.kind == "number":
        numbers = column.numbers
    elif numbers.dtype.kind == "f":
        numbers = numbers.astype(np.int64)
    how: CodingChoice = "auto" if one.kind == "bool" else "cuts"
    coding = learn_coding(numbers, name, how, cuts, low, high)
    if gap and isinstance(coding, Steps):
        ranges = Preparation((name,), "ranges", cuts=coding.cuts)
        return [_CodedFeature(name, ranges, OneHot((*ranges.labels, None)))]
    return [_CodedFeature(name, Preparation((name,), fill=fill), coding)]


def _part(
    column: RawColumn, how: str, cuts: int | Sequence[float], fill: Any, gap: tuple[None, ...]
) -> _CodedFeature:
    """Return a part of a date as an integer, or as a category if gaps are one."""
    since = " since 1970-01-01" if how in ("days", "seconds") else ""
    name, preparation = f"{column.name} ({how}{since})", Preparation((column.name,), how)
    part = RawColumn(name, preparation.read([column.present], unused(whole=True), lambda _: column.name))
    if fill is not None:
        preparation = replace(preparation, fill=preparation.value([fill], unused(whole=True)))
    if gap:
        return _CodedFeature(name, preparation, OneHot((*part.different, None)))
    coding = learn_coding(part.values, name, "cuts", cuts)
    return _CodedFeature(name, preparation, coding)


def informative(encoder: Encoder) -> Encoder:
    """Return the encoder; raise an error if it has no bit, because nothing could be learned from it."""
    if not encoder.width:
        raise EncodingError(
            "every feature is constant, so there is nothing to learn from. Check the columns of X."
        )
    return encoder


def reads_levels(encoder: Encoder) -> bool:
    """Return whether the first layer should read levels: every feature is an integer with a cut at every
    step, and not all are bits.
    """
    all_steps = all(isinstance(coding, Steps) and coding.every_step for coding in encoder.codings)
    return all_steps and any(coding.width > 1 for coding in encoder.codings)


def learn_coding(
    column: npt.NDArray[Any],
    name: str,
    coding: CodingChoice,
    cuts: int | Sequence[float],
    low: float = -inf,
    high: float = inf,
) -> Coding:
    """Learn the coding of one feature, as `learn_encoder` does for each."""
    refuse_gaps([RawColumn(name, column)], _FILL)
    if coding == "bits":
        bit().read(column, name)  # raises an error that names the value
        return bit()
    if coding == "auto" and _is_text(column):
        return _categories(column, name)
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        culprit = next(value for value in column if not isinstance(value, int | float | np.number | np.bool_))
        raise EncodingError(f"{name} needs numbers for coding={coding!r}, but holds {culprit!r}.") from None
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers)))
        raise EncodingError(
            f"{name} is {column.tolist()[row]!r} in sample {row}; only finite numbers can be cut."
        )
    is_integer = column.dtype.kind in "biu" or (
        column.dtype == object and all(isinstance(value, int | np.integer) for value in column)
    )
    for end, wrong in ((low, numbers < low), (high, numbers > high)):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise EncodingError(
                f"{name} is {column.tolist()[row]!r} in sample {row}, beyond {end:g}. Widen low and high, "
                f"or correct the data."
            )
    if coding == "integers":
        return _integers(numbers, name, low, high)
    seen = np.unique(numbers)
    if coding == "auto" and (column.dtype == bool or set(seen.tolist()) == {-1.0, 1.0} or _all_bools(column)):
        return bit()
    if is_integer and set(seen.tolist()) == {0.0, 1.0} and (low, high) == (-inf, inf):
        return threshold(1, 0, 1, whole=True)
    indices = (
        _quantile_cuts(numbers, seen, cuts, is_integer)
        if isinstance(cuts, int)
        else [float(cut) for cut in cuts if seen[0] < cut <= seen[-1]]
    )
    return thermometer(indices, low, high, is_integer) if indices else unused(low, high, is_integer)


def _integers(numbers: npt.NDArray[np.float64], name: str, low: float, high: float) -> Steps:
    if (numbers != np.floor(numbers)).any():
        row = int(np.argmax(numbers != np.floor(numbers)))
        raise EncodingError(
            f"{name} is {numbers.tolist()[row]} in sample {row}, which is not an integer. "
            f"Use coding='cuts' for such numbers."
        )
    smallest = int(numbers.min()) if low == -inf else int(low)
    largest = int(numbers.max()) if high == inf else int(high)
    if largest - smallest > 1 << 16:
        raise EncodingError(
            f"{name} runs from {smallest} to {largest}: too many levels to keep each. Use coding='cuts'."
        )
    return integer(smallest, largest)


def _quantile_cuts(
    numbers: npt.NDArray[np.float64], seen: npt.NDArray[np.float64], cuts: int, is_integer: bool
) -> list[float]:
    """Return cuts between neighbouring values, such that the shares of samples below come nearest to equal
    steps.
    """
    if len(seen) < 2:
        return []
    below = np.searchsorted(np.sort(numbers), seen[1:], side="left") / len(numbers)
    chosen = {int(np.argmin(np.abs(below - part / (cuts + 1)))) for part in range(1, cuts + 1)}
    return [short_between(float(seen[index]), float(seen[index + 1]), is_integer) for index in sorted(chosen)]


def short_between(a: float, b: float, is_integer: bool) -> float:
    """Return the shortest decimal number c near the midpoint with a < c <= b: people read cuts."""
    middle = a + (b - a) / 2
    if is_integer:
        return float(np.ceil(middle)) if np.ceil(middle) > a else b
    for digits in range(1, 18):
        short = float(f"{middle:.{digits}g}")
        if a < short <= b:
            return short
    return b


def _categories(column: npt.NDArray[Any], name: str) -> OneHot:
    kinds = sorted(set(column.tolist()), key=str)
    if len(kinds) > _MOST_CATEGORIES:
        raise EncodingError(
            f"{name} has {len(kinds)} different texts in {len(column)} samples: it looks like an "
            "identifier. Leave the column out, or group its values."
        )
    return OneHot(tuple(kinds))


def _is_text(column: npt.NDArray[Any]) -> bool:
    return column.dtype.kind in "US" or (
        column.dtype == object and any(isinstance(value, str) for value in column)
    )


def _all_bools(column: npt.NDArray[Any]) -> bool:
    return column.dtype == object and all(isinstance(value, bool | np.bool_) for value in column)
