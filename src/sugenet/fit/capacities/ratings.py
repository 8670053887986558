"""Samples with ratings, to learn capacities from: read once, checked, and stored as exact integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import UNIT, Criteria, Ordinal, Scale
from sugenet.capacity.arguments import exact_number, plain
from sugenet.capacity.criteria import Criterion
from sugenet.capacity.scales import Value, need_scale
from sugenet.checker.form import exact
from sugenet.errors import CapacityError, CriteriaError, ScaleError, SugenetError, TooLargeError
from sugenet.fit.capacities.clashes import SampleArrays
from sugenet.fit.sugeno.columns import ordered_categories
from sugenet.nn.samples import named_rows
from sugenet.reprs import Sentences, set_fields
from sugenet.visible import visible

__all__ = ["Ratings", "see_writable"]

_LONGEST = 10_000
"""Largest number of bits of the common denominator of all values, and of a weight."""

_FAST = 60
"""Bits after the binary point that fit in NumPy integers."""


def see_writable(number: Fraction, what: str) -> None:
    """Raise `TooLargeError` if a number could not be written."""
    if max(number.numerator, number.denominator).bit_length() > _LONGEST:
        raise TooLargeError(f"{what} is a number of over {_LONGEST:,} bits. Round it.")


@dataclass(frozen=True, eq=False)
class Ratings(Sentences):
    """Samples rated on several criteria, each with an overall rating.

    Parameters
    ----------
    X
        One sample per row: a list of lists, an array, a data frame or a list of mappings.
    a
        The overall rating of each sample, on the same scale.
    scale
        The scale of all values: a `Scale`, or the names of its levels, worst first (default: the levels of
        ordered categories, else the unit interval).
    criteria
        Names of the criteria, in the order of the columns; columns with names are found by name (default: the
        names of the columns, else 1, 2, ...).
    weights
        Weight of each sample in ``fit_capacity(..., loss="total")`` (default: all equal).
    labels
        Name of each sample in sentences (default: sample 0, sample 1, ...).

    Examples
    --------
    >>> stays = Ratings(
    ...     [["good", "bad"], ["ok", "good"], ["bad", "ok"]],
    ...     ["ok", "ok", "bad"],
    ...     scale=["bad", "ok", "good"],
    ...     criteria=["room", "food"],
    ... )
    >>> print(stays)
    3 samples on 2 criteria (room, food), scale bad < ok < good
    >>> Ratings([[0.5, 1.5]], [0.5])
    Traceback (most recent call last):
    ...
    sugenet.errors.ScaleError: X: not in [0, 1]; rescale, fill missing values, or use an Ordinal scale.
    Found 1.5 at [0, 1].
    """

    criteria: Criteria
    scale: Scale
    X: npt.NDArray[Any]
    """Codes of the scale: ranks of levels, else the numbers."""
    a: npt.NDArray[Any]
    weights: tuple[Fraction, ...]
    labels: tuple[str, ...] | None

    def __init__(
        self,
        X: Any,
        a: Any,
        scale: Scale | Sequence[Any] | None = None,
        criteria: Criteria | int | Iterable[Criterion] | None = None,
        weights: Any = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        chosen = _scale(X, a, scale)
        names = None if criteria is None else Criteria(criteria)
        rows, column_names = named_rows(X, None if names is None else names.names)
        if rows.ndim != 2:
            raise CriteriaError(
                f"X has shape {rows.shape}. Give one row a sample, with one value for each criterion."
            )
        names = (
            Criteria(column_names if column_names is not None else rows.shape[1]) if names is None else names
        )
        if rows.shape[1] != len(names):
            raise CriteriaError(
                f"X has {rows.shape[1]} columns for {len(names)} criteria. Give one column for each."
            )
        if not len(names):
            raise CriteriaError("X has no columns. Give at least one criterion.")
        ratings = _column(a, len(rows))
        set_fields(
            self,
            criteria=names,
            scale=chosen,
            X=chosen.codes(rows, "X"),
            a=chosen.codes(ratings, "a"),
            weights=_weights(weights, len(rows)),
            labels=_labels(labels, len(rows)),
        )
        for array in (self.X, self.a):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.a)

    @property
    def is_weighted(self) -> bool:
        """Whether some samples count more than others."""
        return len(set(self.weights)) > 1

    def unweighted(self) -> Ratings:
        """Return the same samples, all with the same weight."""
        return self._of(range(len(self)), self.a, None)

    def without(self, dropped: Iterable[int]) -> Ratings:
        """Return the samples without the dropped ones, which are given by index from 0."""
        gone = set(dropped)
        unknown = sorted(map(str, gone - set(range(len(self)))))
        if unknown:
            raise CapacityError(f"there is no sample {unknown[0]}: the indices are 0 to {len(self) - 1}.")
        kept = [index for index in range(len(self)) if index not in gone]
        return self._of(kept, self.a[kept], [self.weights[index] for index in kept])

    def rated(self, a: Sequence[Value]) -> Ratings:
        """Return the same samples with other ratings."""
        return self._of(range(len(self)), self.scale.codes(a, "a"), self.weights)

    def _of(self, indices: Sequence[int], a: npt.NDArray[Any], weights: Any) -> Ratings:
        decode = self.scale.decode
        labels = None if self.labels is None else [self.labels[index] for index in indices]
        return Ratings(decode(self.X[list(indices)]), decode(a), self.scale, self.criteria, weights, labels)

    def label(self, sample: int) -> str:
        """Return the name of a sample, given by its index from 0, in sentences, safe to show."""
        return f"sample {sample}" if self.labels is None else visible(self.labels[sample])

    @cached_property
    def samples(self) -> SampleArrays:
        """The same samples as plain integers, for the checker and for exact arithmetic."""
        levels = tuple(map(str, self.scale.names)) if isinstance(self.scale, Ordinal) else None
        power = self._power if self.scale == UNIT else None
        if power is not None:
            top = 2 << power
            scaled = [(np.ldexp(codes, power + 1)).astype(np.int64) for codes in (self.X, self.a)]
            rows, ratings = tuple(map(tuple, scaled[0].tolist())), tuple(scaled[1].tolist())
        elif self.scale == UNIT:
            top = self._denominator
            rows = tuple(tuple(_integer(value, top) for value in row) for row in self.X.tolist())
            ratings = tuple(_integer(value, top) for value in self.a.tolist())
        else:
            top = 1 if levels is None else len(levels) - 1
            levels = ("0", "1") if levels is None else levels
            rows, ratings = tuple(map(tuple, self.X.tolist())), tuple(self.a.tolist())
        return SampleArrays(rows, ratings, self.weights, top, self.criteria.names, levels)

    @property
    def _power(self) -> int | None:
        """The smallest power of two that is a common denominator of floats, if that is small."""
        if object in (self.X.dtype, self.a.dtype):
            return None
        part, power = np.frexp(np.append(self.X.ravel(), self.a).astype(np.float64))
        digits = np.ldexp(part, 53).astype(np.int64)
        last = np.frexp((digits & -digits).astype(np.float64))[1] - 1  # number of trailing zeros
        exponent = max(0, int(np.where(digits == 0, 0, 53 - power - last).max()))
        return exponent if exponent < _FAST else None

    @cached_property
    def _denominator(self) -> int:
        """Twice a common denominator of all values, so that halves of differences are integers."""
        common = 1
        for value in {*self.X.ravel().tolist(), *self.a.tolist()}:
            common = lcm(common, value.as_integer_ratio()[1])
            if common.bit_length() > _LONGEST:
                raise TooLargeError(
                    f"the values of X and a have a common denominator of over {_LONGEST:,} bits. "
                    f"Round them, or use an Ordinal scale."
                )
        return 2 * common

    def value(self, integer: int) -> Value:
        """Return the value of the scale that an integer of `samples` represents."""
        if self.scale != UNIT:
            return self.scale.element(integer)
        value = Fraction(int(integer), self.samples.top)
        if value.denominator == 1:
            return int(value)
        return float(value) if self._has_floats and Fraction(float(value)) == value else value

    @cached_property
    def _has_floats(self) -> bool:
        """Whether some value was given as a float; if not, everything learned is exact, too."""
        return any(isinstance(value, float) for codes in (self.X, self.a) for value in codes.ravel().tolist())

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of criteria, scale, values, ratings and weights; a certificate names it."""
        return self.samples.fingerprint

    def data(self) -> dict[str, Any]:
        """Return the ratings as JSON; `of` reads them back."""
        to_json = self.scale.value_to_json
        element = self.scale.element
        return {
            "criteria": list(self.criteria),
            "scale": self.scale.to_json(),
            "X": [[to_json(element(code)) for code in row] for row in self.X],
            "a": [to_json(element(code)) for code in self.a],
            "weights": None if set(self.weights) == {1} else [str(weight) for weight in self.weights],
            "labels": None if self.labels is None else list(self.labels),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Ratings:
        """Read ratings from the output of `data`.

        Examples
        --------
        >>> ratings = Ratings([[0.5, 0.25]], [0.5])
        >>> Ratings.of(ratings.data()) == ratings
        True
        """
        fields = ("criteria", "scale", "X", "a", "weights", "labels")
        if not isinstance(data, Mapping) or set(data) != set(fields):
            raise CapacityError(f"these are not ratings: the fields must be {', '.join(fields)}.")
        try:
            scale = Scale.from_json(data["scale"])
            read = scale.value_from_json
            rows = np.array([[read(value) for value in row] for row in data["X"]], dtype=object)
            weights = None if data["weights"] is None else [exact(weight) for weight in data["weights"]]
            ratings = [read(value) for value in data["a"]]
            return cls(rows, ratings, scale, data["criteria"], weights, data["labels"])
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, SugenetError):
                raise
            raise CapacityError(
                f"the ratings are damaged: {type(error).__name__}: {str(error)[:200]}"
            ) from error

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Ratings) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        names = [str(name) for name in self.criteria]
        listed = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])} and {len(names) - 5} more"
        weighted = ", weighted" if self.is_weighted else ""
        count = "1 sample" if len(self) == 1 else f"{len(self)} samples"
        on = "1 criterion" if len(names) == 1 else f"{len(names)} criteria"
        return f"{count} on {on} ({listed}), scale {self.scale}{weighted}"


def _integer(value: Any, top: int) -> int:
    above, below = value.as_integer_ratio()
    return int(above * (top // below))


def _scale(X: Any, a: Any, scale: Scale | Sequence[Any] | None) -> Scale:
    """Return the given scale, else that of ordered categories; columns with other levels raise an error."""
    if scale is not None and not isinstance(scale, Scale):
        scale = Ordinal(scale)
    levels = ordered_categories(a)
    chosen = Ordinal(levels) if scale is None and levels is not None else scale
    if chosen is None:
        first = np.asarray(a, dtype=object).ravel()[:1].tolist()
        if first and isinstance(first[0], str) and not _is_number(first[0]):
            raise ScaleError(
                f"a holds the text {first[0]!r}, and nothing says which levels are better. "
                f"Give their names, worst first: scale=['bad', 'ok', 'good']."
            )
        chosen = UNIT
    need_scale(chosen)
    columns = getattr(X, "columns", None)
    ordered = (
        {}
        if columns is None or isinstance(X, Mapping)
        else {name: ordered_categories(X[name]) for name in columns}
    )
    for name, categories in {**ordered, "a": levels}.items():
        if categories is not None and isinstance(chosen, Ordinal):
            ranks = [chosen.rank(level) for level in categories]
            if ranks != sorted(ranks):
                raise ScaleError(
                    f"the categories of {name} are ordered {' < '.join(map(str, categories))}, "
                    f"the scale is {chosen}. Give both the same order."
                )
    return chosen


def _is_number(text: str) -> bool:
    try:
        UNIT.parse(text)
    except ScaleError:
        return False
    return True


def _column(a: Any, rows: int) -> npt.NDArray[Any]:
    array = np.asarray(a)
    if array.dtype.kind in "US":
        array = np.asarray(a, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (rows,):
        raise CapacityError(f"a has shape {array.shape}, but X has {rows} samples. Give one rating for each.")
    if not rows:
        raise CapacityError("there are no samples. Give at least one.")
    return array


def _weights(weights: Any, rows: int) -> tuple[Fraction, ...]:
    if weights is None:
        return (Fraction(1),) * rows
    values = np.asarray(weights, dtype=object).ravel().tolist()
    if len(values) != rows:
        raise CapacityError(f"weights has {len(values)} numbers for {rows} samples. Give one for each.")
    fractions = tuple(
        Fraction(exact_number(value, f"weights[{position}]")) for position, value in enumerate(values)
    )
    wrong = next((position for position, weight in enumerate(fractions) if weight < 0), None)
    if wrong is not None:
        raise CapacityError(f"weights[{wrong}] is {plain(values[wrong])}: weights must not be negative.")
    for index, weight in enumerate(fractions):
        see_writable(weight, f"weights[{index}]")
    return fractions


def _labels(labels: Iterable[str] | None, rows: int) -> tuple[str, ...] | None:
    if labels is None:
        return None
    names = tuple(map(str, labels))
    if isinstance(labels, str) or len(names) != rows:
        raise CapacityError(f"labels has {len(names)} names for {rows} samples. Give one for each.")
    return names
