"""Encoders: raw samples to bits, feature by feature, and bits to words (docs/theory.md 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, floor, inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import read_number
from sugenet.errors import EncodingError
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.codings import Coding, OneHot, Real, Span, Steps, bit, integer, threshold
from sugenet.nn.columns import Columns, Preparation
from sugenet.nn.samples import rows_of, shape_text, values_of
from sugenet.reprs import ShortRepr, set_fields
from sugenet.visible import see_name, visible

__all__ = ["Encoder"]

_TEXT = (str, bytes, Decimal)
_FEW = 8
"""Largest number of distinct values of a numeric feature that are all remembered."""
_TABLE, _TABLES = 1 << 16, 1 << 22
"""Largest number of steps of a domain whose levels are looked up, and of all codings together."""


@dataclass(frozen=True)
class Encoder(ShortRepr):
    """One coding per raw feature, in order. The bits of the features follow one another.

    Parameters
    ----------
    codings : iterable of Coding
        One per feature.
    names : iterable, default: None
        Names of the features. None: ``x1``, ``x2``, ...
    shape : iterable of int, default: None
        Shape of one sample in the source, such as (height, width, channels). Its flat order is that of the
        features, and samples may also be given in this shape. It has no other effect, and encoders that
        differ only in it are equal.
    seen : iterable of Span, default: None
        Range of each feature in the training data, if known (`with_training_range`): a range, or a few
        values. It has no other effect either.
    columns : Columns, default: None
        How the features are read from the columns of a table, if samples may also be given as these.
        Encoders that differ only in it are equal, too.

    Raises
    ------
    EncodingError
        If names, shape, ranges or columns do not fit the codings, or a name repeats or begins or ends with a
        blank.

    Examples
    --------
    >>> from sugenet.nn import OneHot, threshold
    >>> encoder = Encoder([threshold(14.5), OneHot(("left", "right"))], ["radius", "side"])
    >>> encoder.encode([[15.0, "right"], [3.2, "left"]])
    array([[ True, False,  True],
           [False,  True, False]])
    >>> encoder.words(0), encoder.words(2, on=False), encoder.group(1)
    ('radius >= 14.5', 'side != right', range(1, 3))

    See Also
    --------
    threshold : codes a number as one bit.
    OneHot : codes a category.
    Network : reads what the encoder gives.
    """

    codings: tuple[Coding, ...]
    names: tuple[str, ...]
    shape: tuple[int, ...] | None = field(default=None, compare=False)
    seen: tuple[Span, ...] | None = field(default=None, compare=False)
    columns: Columns | None = field(default=None, compare=False)

    def __init__(
        self,
        codings: Iterable[Coding],
        names: Iterable[object] | None = None,
        shape: Iterable[int] | None = None,
        seen: Iterable[Span] | None = None,
        columns: Columns | None = None,
    ) -> None:
        kept = _shared(tuple(codings))
        feature_names = (
            tuple(f"x{i}" for i in range(1, len(kept) + 1))
            if names is None
            else tuple(str(name) for name in names)
        )
        if len(feature_names) != len(kept):
            raise EncodingError(
                f"{len(feature_names)} feature names for {len(kept)} features. Give one for each, or none."
            )
        for name in feature_names:
            see_name(name, "feature name", EncodingError)
        plain = [" ".join(name.split()) for name in feature_names]  # laws read several blanks as one
        if len(set(plain)) < len(plain):
            raise EncodingError(f"the feature name {Counter(plain).most_common(1)[0][0]!r} stands twice.")
        sizes = None if shape is None else tuple(int(size) for size in shape)
        if sizes is not None and (min(sizes, default=0) < 1 or prod(sizes) != len(kept)):
            raise EncodingError(
                f"samples of shape {sizes} do not have {len(kept)} values, one for each feature."
            )
        spans = None if seen is None else tuple(seen)
        if spans is not None and len(spans) != len(kept):
            raise EncodingError(f"{len(spans)} ranges seen for {len(kept)} features. Give one for each.")
        if columns is not None:
            if sizes is not None:
                raise EncodingError("samples with a shape are not read from the columns of a table.")
            columns.check(feature_names, kept)
        set_fields(self, codings=kept, names=feature_names, shape=sizes, seen=spans, columns=columns)

    @classmethod
    def of_bits(cls, n: int, names: Iterable[object] | None = None) -> Encoder:
        """Return an encoder of inputs that are bits already: -1 or 0 is off, +1 is on.

        Parameters
        ----------
        n : int
            Number of inputs.
        names : list of str, default: None
            Names of the features. None: x1, x2, ...

        Returns
        -------
        Encoder
            One bit per feature.
        """
        return cls([bit()] * n, names)

    @classmethod
    def of_thresholds(
        cls,
        cuts: Sequence[float],
        names: Iterable[object] | None = None,
        *,
        low: float = -inf,
        high: float = inf,
        whole: bool = False,
    ) -> Encoder:
        """Return an encoder with one threshold per feature and one domain (`low`, `high`, `whole`).

        Parameters
        ----------
        cuts : list of float
            One threshold per feature; a value that equals it is on.
        names : list of str, default: None
            Names of the features. None: x1, x2, ...
        low : float, default: -inf
            Smallest value of every feature.
        high : float, default: inf
            Largest value of every feature.
        whole : bool, default: False
            Whether values are integers.

        Returns
        -------
        Encoder
            One bit per feature.
        """
        return cls([threshold(float(cut), low, high, whole) for cut in cuts], names)

    @classmethod
    def of_integers(
        cls,
        n: int,
        low: int = 0,
        high: int = 255,
        names: Iterable[object] | None = None,
        shape: Iterable[int] | None = None,
    ) -> Encoder:
        """Return an encoder that keeps integers exactly, such as uint8 pixels.

        Parameters
        ----------
        n : int
            Number of features.
        low : int, default: 0
            Smallest value.
        high : int, default: 255
            Largest value.
        names : list of str, default: None
            Names of the features. None: x1, x2, ...
        shape : list of int, default: None
            Shape of one sample, such as (28, 28). None: a row.

        Returns
        -------
        Encoder
            One cut at every integer after `low`.
        """
        return cls([integer(low, high)] * n, names, shape)

    @classmethod
    def of_reals(
        cls, n: int, low: float = -inf, high: float = inf, names: Iterable[object] | None = None
    ) -> Encoder:
        """Return an encoder that keeps real numbers unchanged, for a `RealLayer`.

        Parameters
        ----------
        n : int
            Number of features.
        low : float, default: -inf
            Smallest value.
        high : float, default: inf
            Largest value.
        names : list of str, default: None
            Names of the features. None: x1, x2, ...

        Returns
        -------
        Encoder
            No cuts.
        """
        return cls([Real(low=low, high=high)] * n, names)

    @cached_property
    def preparations(self) -> dict[str, Preparation]:
        """How each feature is read from raw columns, by name; empty if samples have no other form."""
        return {} if self.columns is None else dict(zip(self.names, self.columns.features, strict=True))

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((coding.width for coding in self.codings), initial=0))

    @property
    def features(self) -> int:
        """Number of raw features."""
        return len(self.codings)

    @property
    def width(self) -> int:
        """Number of bits."""
        return self._starts[-1]

    @cached_property
    def tops(self) -> tuple[int, ...] | None:
        """Largest level of each feature; None if a feature is a category, which has no levels."""
        if not all(isinstance(coding, Steps) for coding in self.codings):
            return None
        return tuple(coding.width for coding in self.codings)

    def group(self, feature: int) -> range:
        """Return the indices of the bits of a feature, which change together.

        Parameters
        ----------
        feature : int
            Index of the feature, from 0.

        Returns
        -------
        range
            Indices of its bits, from 0.
        """
        return range(self._starts[feature], self._starts[feature + 1])

    @cached_property
    def feature_of(self) -> tuple[int, ...]:
        """Feature of each bit."""
        return tuple(feature for feature in range(self.features) for _ in self.group(feature))

    @cached_property
    def feature_text(self) -> tuple[str, ...]:
        """Names of the features, safe to show."""
        return tuple(map(visible, self.names))

    def words(self, index: int, on: bool = True) -> str:
        """Describe a bit that is on or off.

        Parameters
        ----------
        index : int
            Index of the bit, from 0.
        on : bool, default: True
            Whether the bit is on.

        Returns
        -------
        str
            Condition such as ``age >= 16``.
        """
        feature = self.feature_of[index]
        return self.codings[feature].words(self.names[feature], index - self._starts[feature], on)

    def rows(self, X: Any) -> npt.NDArray[Any]:
        """Return raw samples as an array with one row per sample, in the order of the features.

        Samples with names (data frames, dicts) are read by name, in any order of columns. Samples in `shape`
        are flattened. Samples that are given as the columns of a table are read as `columns` says.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, or one sample.

        Returns
        -------
        array
            One row per sample.

        Examples
        --------
        >>> encoder = Encoder.of_bits(2, ["a", "b"])
        >>> encoder.rows([{"b": 1, "a": 0}, {"a": 1, "b": 0}]).tolist()
        [[0, 1], [1, 0]]
        >>> Encoder.of_integers(4, shape=(2, 2)).rows([[[1, 2], [3, 4]]]).tolist()
        [[1, 2, 3, 4]]
        """
        if self.columns is not None:
            X = self.columns.rows(X, self.names, self.codings)
        return rows_of(X, self.names, self.shape)

    def with_training_range(self, X: Any) -> Encoder:
        """Return the same encoder with the training range of each feature.

        A range is the categories, the values of a number with at most eight of them, or else its minimum and
        maximum.

        Parameters
        ----------
        X : array, data frame or list
            Raw samples, one per row.

        Returns
        -------
        Encoder
            The same encoder with `seen` set.

        Examples
        --------
        >>> from sugenet.nn import threshold
        >>> encoder = Encoder([OneHot(("a", "b")), threshold(2.5)], ["kind", "size"])
        >>> encoder.with_training_range([["a", size] for size in range(10)]).seen
        (Span(low=None, high=None, values=('a',)), Span(low=0, high=9, values=None))
        """
        rows = self.rows(X)
        self._read(rows)  # raises an error, with the name, for a value that its feature cannot have
        if not len(rows):
            raise EncodingError("there are no samples.")
        spans = []
        for feature, coding in enumerate(self.codings):
            column = self._column(rows, feature)
            different = set((np.unique(column) if column.dtype.kind in "biuf" else column).tolist())
            different = {value.item() if isinstance(value, np.generic) else value for value in different}
            if isinstance(coding, OneHot):
                spans.append(Span(values=tuple(c for c in coding.categories if c in different)))
            elif coding.bipolar:  # off is both -1 and 0
                off = (-1, 0) if different & {-1, 0} else ()
                spans.append(Span(values=(*off, *((1,) if 1 in different else ()))))
            elif len(different) <= _FEW:
                spans.append(Span(values=tuple(sorted(different))))
            else:
                spans.append(Span(min(different), max(different)))
        return replace(self, seen=tuple(spans))

    def values(self, x: Any) -> list[Any]:
        """Return one raw sample as a list of values in the order of the features.

        The sample is a row, has names, or is an array in `shape`. Numbers given as text are parsed, and True
        and False become 1 and 0.

        Parameters
        ----------
        x : array, list or mapping
            One raw sample.

        Returns
        -------
        list
            One value per feature.
        """
        if self.columns is not None:
            rows = self.rows(x)
            x = rows if rows.ndim > 1 else self.rows(rows[None])
        elif type(x) is list and len(x) == self.features and set(map(type, x)) <= {int, float}:
            return list(x)
        values = values_of(x, self.names, self.shape)
        if type(x) is np.ndarray and x.dtype.kind in "biuf":
            return values
        if len(values) != self.features or not any(
            issubclass(kind, (*_TEXT, bool)) for kind in set(map(type, values))
        ):
            return values
        return [
            _number_of(value, name) if isinstance(coding, Steps) else value
            for name, coding, value in zip(self.names, self.codings, values, strict=True)
        ]

    def encode(self, X: Any) -> Bits:
        """Return the bits of raw samples, one row per sample.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.

        Returns
        -------
        array of bool
            One column per bit.
        """
        X = self.rows(X)
        columns = self._read(X)
        if columns is None:
            return np.asarray(X, dtype=bool)
        out = np.zeros((columns.shape[0], self.width), bool)
        plain = self._plain_cuts
        if plain is not None:
            return np.asarray(columns >= plain)
        for feature, coding in enumerate(self.codings):
            group, column = self.group(feature), columns[:, feature, None]
            if isinstance(coding, OneHot):
                out[:, group.start : group.stop] = column == np.arange(coding.width)
            else:
                out[:, group.start : group.stop] = column >= coding.array
        return out

    def levels(self, X: Any) -> Ints:
        """Return the state of every feature: the number of cuts reached, or the index of the category.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.

        Returns
        -------
        array of int
            One column per feature.
        """
        X = self.rows(X)
        states = self._integer_levels(X)
        if states is not None:
            return states
        columns = self._read(X)
        if columns is None:
            return np.asarray(X).astype(np.int64)
        plain = self._plain_cuts
        if plain is not None:
            return np.asarray(columns >= plain, dtype=np.int64)
        out = np.zeros((len(columns), self.features), np.int64)
        lows = self._unit_steps
        if lows is not None:
            return np.asarray(columns - lows, dtype=np.int64)
        for feature, coding in enumerate(self.codings):
            if isinstance(coding, OneHot):
                out[:, feature] = columns[:, feature]
            else:
                out[:, feature] = np.searchsorted(coding.array, columns[:, feature], side="right")
        return out

    def _integer_levels(self, array: npt.NDArray[Any]) -> Ints | None:
        """Return the levels of integers in one common domain without converting them to floats.

        If each step has a cut, the integers are their own levels. Otherwise levels are looked up, if the
        domain is small.
        """
        if array.dtype.kind not in "iu" or array.shape[1:] != (self.features,) or not array.size:
            return None
        domain, tables = self._uniform, None
        if domain is None or domain.bipolar:
            return None
        if self._unit_steps is None:
            tables = self._level_tables
            if tables is None:
                return None
        low, high = ceil(domain.low), floor(domain.high)
        bytes_ = array.dtype == np.uint8 and low <= 0 and high >= 255  # always inside
        if not bytes_ and (array.min() < low or array.max() > high):
            return None
        states = array if low == 0 else array.astype(np.int64) - low
        if tables is not None:
            states = tables[0][0][states] if tables[1] is None else tables[0][tables[1], states]
        return np.asarray(states)

    @cached_property
    def passes_reals(self) -> bool:
        """Whether all features are real numbers that are kept unchanged."""
        return bool(self.codings) and all(isinstance(coding, Real) for coding in self.codings)

    def reals(self, X: Any) -> npt.NDArray[Any]:
        """Return raw samples as real numbers: floats, or exact numbers if one is not a float.

        Parameters
        ----------
        X : array, data frame, list or mapping
            A batch of raw samples, one per row.

        Returns
        -------
        array
            One column per feature.
        """
        rows = self.rows(X)
        numbers = self._read(rows)
        assert numbers is not None
        if not np.isfinite(numbers).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(numbers))[0])
            raise EncodingError(
                f"{self.feature_text[column]} is {numbers[row, column]} in sample {row}, "
                f"but it must be finite."
            )
        if rows.dtype.kind in "iuO":
            exact = np.array([[Fraction(v) for v in row] for row in rows.tolist()], object)
            if any(v != f for v, f in zip(exact.reshape(-1), numbers.reshape(-1).tolist(), strict=True)):
                return exact.reshape(rows.shape)
        return numbers

    @cached_property
    def _level_tables(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp] | None] | None:
        """Table of the level of each raw number, one row per distinct coding, and the row of each feature
        (None if there is one row). None if the domain is not common, integer and small.
        """
        domain = self._uniform
        if domain is None or domain.bipolar or not domain.whole or domain.high - domain.low > _TABLE:
            return None
        rows: dict[Steps, int] = {}
        steps = [coding for coding in self.codings if isinstance(coding, Steps)]
        which = np.array([rows.setdefault(coding, len(rows)) for coding in steps])
        low, high = ceil(domain.low), floor(domain.high)
        if len(rows) * (high - low + 1) > _TABLES:
            return None
        values = np.arange(low, high + 1, dtype=np.float64)
        tables = np.stack([np.searchsorted(coding.array, values, side="right") for coding in rows])
        kind = np.uint8 if max(coding.width for coding in rows) < 256 else np.int64
        return tables.astype(kind), which if len(rows) > 1 else None

    def bits_of_levels(self, levels: Any) -> Bits:
        """Return the bits of given states, one row per sample.

        Parameters
        ----------
        levels : array of int
            One row per sample and one state per feature.

        Returns
        -------
        array of bool
            One column per bit.
        """
        rows = np.asarray(levels)
        if self.has_one_bit_each:
            return np.asarray(rows > 0)
        features, offsets, is_alone = self._bit_owners
        states = rows[:, features]
        return np.where(is_alone, states == offsets, states > offsets)

    @cached_property
    def _bit_owners(self) -> tuple[Ints, Ints, Bits]:
        """For every bit its feature, its index there, and whether the feature is a category (one bit on)."""
        features = np.repeat(np.arange(len(self.codings)), [coding.width for coding in self.codings])
        offsets = np.concatenate([np.arange(coding.width) for coding in self.codings])
        return (
            features,
            offsets,
            np.array([not isinstance(coding, Steps) for coding in self.codings])[features],
        )

    @property
    def has_one_bit_each(self) -> bool:
        """Whether every feature is a number with one cut, so that its state is its bit."""
        return self._plain_cuts is not None

    @cached_property
    def has_one_kind(self) -> bool:
        """Whether all features have the same coding."""
        return max(self.kinds, default=0) == 0

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """For each feature a number; features with the same coding share it."""
        known: dict[int, int] = {}
        return tuple(known.setdefault(id(coding), len(known)) for coding in self.codings)

    @cached_property
    def _plain_cuts(self) -> npt.NDArray[np.float64] | None:
        """Cuts of the features if each has exactly one: then encoding is a single comparison."""
        if all(isinstance(coding, Steps) and coding.width == 1 for coding in self.codings):
            return np.array([coding.cuts[0] for coding in self.codings if isinstance(coding, Steps)])
        return None

    @cached_property
    def _unit_steps(self) -> npt.NDArray[np.float64] | None:
        """If every feature is an integer with a cut at every step: the minimum of each feature, which is
        level 0.
        """
        lows = [coding.low for coding in self.codings if isinstance(coding, Steps) and coding.every_step]
        return np.array(lows) if len(lows) == self.features else None

    def _read(self, X: Any) -> npt.NDArray[np.float64] | None:
        """Check raw samples and return one float64 column per feature.

        None for boolean input of an encoder that reads every bit, which needs no conversion.
        """
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != self.features:
            hint = " One sample needs brackets of its own: [[...]]." if array.ndim == 1 else ""
            wanted = shape_text(self.features, self.shape, "samples")
            raise EncodingError(
                f"X has shape {array.shape}, but samples have {self.features} features: give {wanted}.{hint}"
            )
        if array.dtype == bool and all(
            isinstance(coding, Steps) and coding.bipolar and coding.cuts for coding in self.codings
        ):
            return None
        if array.dtype.kind in "biuf" and self._uniform is not None:
            return _read_uniform(array, self._uniform, self.names)
        return (
            np.stack(
                [
                    coding.read(self._column(array, feature), self.names[feature])
                    for feature, coding in enumerate(self.codings)
                ],
                axis=1,
            )
            if self.features
            else np.zeros((len(array), 0))
        )

    def _column(self, rows: npt.NDArray[Any], feature: int) -> npt.NDArray[Any]:
        """Return a column of raw samples, with numbers parsed if they are text."""
        column, name = rows[:, feature], self.names[feature]
        if column.dtype.kind not in "OUS" or isinstance(self.codings[feature], OneHot):
            return column
        values = column.tolist()
        if set(map(type, values)) in ({float}, {int}, {bool}):  # a column of a table with other types
            numbers = np.array(values)
            return column if numbers.dtype.kind == "O" else numbers
        read = np.empty(len(column), dtype=object)
        read[:] = [_number_of(value, name) for value in values]
        return read

    @cached_property
    def _uniform(self) -> Steps | None:
        """Common domain, if all features are numbers with the same one: then a batch is checked at once."""
        kinds = {
            (coding.low, coding.high, coding.whole, coding.bipolar) if isinstance(coding, Steps) else None
            for coding in self.codings
        }
        if len(kinds) != 1 or None in kinds:
            return None
        first = self.codings[0]
        assert isinstance(first, Steps)
        return first


def _number_of(value: Any, name: str) -> Any:
    """Return a number given as text, as a `Decimal` or as a truth value; return other values unchanged."""
    if isinstance(value, bool):
        return int(value)
    return read_number(value, name, EncodingError) if isinstance(value, _TEXT) else value


def _shared(codings: tuple[Coding, ...]) -> tuple[Coding, ...]:
    """Return the same codings, with one shared object for equal ones, so that cached properties are
    computed once.
    """
    by_id = {id(coding): coding for coding in codings}
    known: dict[Coding, Coding] = {}
    one = {
        key: known.setdefault(coding, coding) if isinstance(coding, Steps) else coding
        for key, coding in by_id.items()
    }
    return tuple(one[id(coding)] for coding in codings)


def _read_uniform(array: npt.NDArray[Any], domain: Steps, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    numbers = domain.read(array.reshape(-1), "X") if array.size and _inside(array, domain) else None
    if numbers is None:
        for feature, name in enumerate(names):  # find the invalid value and name its feature
            domain.read(array[:, feature], name)
        return array.astype(np.float64)
    return numbers.reshape(array.shape)


def _inside(array: npt.NDArray[Any], domain: Steps) -> bool:
    lowest = -1 if domain.bipolar else domain.low
    with np.errstate(invalid="ignore"):
        good = np.all((array >= lowest) & (array <= domain.high))
    return bool(good) and not (domain.whole and array.dtype.kind == "f" and np.any(array != np.floor(array)))
