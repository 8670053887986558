"""Learning the encoder: from columns of raw values to bits that a binarized network can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isnan
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError
from sugenet.nn import Coding, Encoder, OneHot, Steps, bit, integer, thermometer, threshold, unused
from sugenet.nn.samples import named_rows

__all__ = ["CodingChoice", "informative", "learn_coding", "learn_encoder", "reads_levels", "short_between"]

CodingChoice = Literal["auto", "bits", "cuts", "integers"]
_MOST_CATEGORIES = 100


def learn_encoder(
    X: Any,
    *,
    coding: CodingChoice = "auto",
    cuts: int | Sequence[float] = 4,
    names: Iterable[object] | None = None,
    low: float = -inf,
    high: float = inf,
) -> Encoder:
    """Learn how to turn raw features into bits.

    Parameters
    ----------
    X
        Samples, one row each: numbers, booleans or texts; an object array may mix them, column by column.
    coding
        ``"cuts"`` compares every number with `cuts` quantiles of its column (one is a threshold, more are a
        thermometer). ``"bits"`` accepts -1, 0 and +1 unchanged. ``"integers"`` keeps integers exactly, as
        levels from `low` to `high` (default: 0 to 255 for uint8 arrays, else the smallest and largest value
        seen). ``"auto"`` decides by column: booleans and -1/+1 are bits, other numbers get cuts, texts one
        bit per category.
    cuts
        The number of quantile cuts per numeric feature, or the cuts themselves in increasing order, the same
        for all features. A column with few different values gets fewer cuts, a constant one none. Of given
        cuts, a column gets those that separate its values.
    names
        Names of the features (default: the columns of X, if it has names).
    low, high
        The raw values that can occur in numeric features; explanations never leave this range.

    Examples
    --------
    >>> rows = [[1.37, "red"], [2.0, "blue"], [4.5, "red"], [5.0, "red"]]
    >>> encoder = learn_encoder(rows, cuts=1, names=["size", "colour"])
    >>> [encoder.words(place) for place in range(encoder.width)]
    ['size >= 3', 'colour = blue', 'colour = red']
    >>> learn_encoder(np.array([[0, 7], [3, 9]], np.uint8), coding="integers").tops
    (255, 255)
    """
    X, known = named_rows(X, names)
    columns = _columns(X)
    titles = [f"x{i}" for i in range(1, len(columns) + 1)] if known is None else known
    if len(titles) != len(columns):
        raise EncodingError(
            f"{len(titles)} feature names for {len(columns)} features. Give one for each, or none."
        )
    if coding not in get_args(CodingChoice):
        raise EncodingError(
            f"coding={coding!r} is not known; it is one of {', '.join(get_args(CodingChoice))}."
        )
    if isinstance(cuts, bool) or not isinstance(cuts, int | Sequence) or (isinstance(cuts, int) and cuts < 1):
        raise EncodingError(f"cuts={cuts!r} must be an integer of at least 1, or the cuts themselves.")
    if X.dtype == np.uint8:
        low, high = max(low, 0.0), min(high, 255.0)
    codings = [
        learn_coding(column, title, coding, cuts, low, high)
        for column, title in zip(columns, titles, strict=True)
    ]
    return informative(Encoder(codings, titles))


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


def _columns(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    if array.ndim != 2 or not array.size:
        raise EncodingError(
            f"X has shape {array.shape}, but one row for each sample and one column for each "
            f"feature is needed."
        )
    return [array[:, index] for index in range(array.shape[1])]


def learn_coding(
    column: npt.NDArray[Any],
    name: str,
    coding: CodingChoice,
    cuts: int | Sequence[float],
    low: float = -inf,
    high: float = inf,
) -> Coding:
    """Learn the coding of one feature, as `learn_encoder` does for each."""
    _refuse_missing(column, name)
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
            f"{name} has {len(kinds)} different texts in {len(column)} samples: it looks like a name or a "
            "number for each sample. Leave the column out, or group its values."
        )
    return OneHot(tuple(kinds))


def _is_text(column: npt.NDArray[Any]) -> bool:
    return column.dtype.kind in "US" or (
        column.dtype == object and any(isinstance(value, str) for value in column)
    )


def _all_bools(column: npt.NDArray[Any]) -> bool:
    return column.dtype == object and all(isinstance(value, bool | np.bool_) for value in column)


def _refuse_missing(column: npt.NDArray[Any], name: str) -> None:
    if column.dtype.kind in "biu" or (column.dtype.kind == "f" and not np.isnan(column).any()):
        return
    for row, value in enumerate(column.tolist()):
        if value is None or (isinstance(value, float) and isnan(value)):
            raise EncodingError(
                f"{name} has no value in sample {row}. Fill it in, or remove the sample: nothing is guessed."
            )
