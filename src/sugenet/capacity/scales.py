"""Bounded totally ordered scales with an order reversal: the L of paper section 2.2.

Values are only compared, so nothing depends on rounding. The only exception would be the order reversal of
the unit interval: `1 - 0.3` is not a float. It is therefore stored as an exact number (`Complement`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain, read_number
from sugenet.errors import CapacityError, ScaleError
from sugenet.reprs import quoted

__all__ = [
    "BOOLEAN",
    "UNIT",
    "Bipolar",
    "Boolean",
    "Complement",
    "Level",
    "Ordinal",
    "Scale",
    "UnitInterval",
    "Value",
    "common_scale",
    "has_floats",
    "need_scale",
]

Value: TypeAlias = Any
"""An element of a scale: 0 or 1; a float or Fraction in [0, 1]; a `Level`.

Two values of one scale compare exactly.
"""

Codes: TypeAlias = npt.NDArray[Any]
"""Values of one scale as an array whose own order is the order of the scale (ranks for ordinal scales)."""


class Scale(ABC):
    """A bounded totally ordered set with bottom, top and an order-reversing involution."""

    bottom: Value
    top: Value

    @property
    @abstractmethod
    def levels(self) -> tuple[Value, ...] | None:
        """All values from bottom to top, or None if there are infinitely many."""

    @abstractmethod
    def check(self, value: object, what: str = "value") -> Value:
        """Return `value` as an element of the scale, or raise `ScaleError` naming `what`."""

    @abstractmethod
    def reverse(self, value: Value) -> Value:
        """Return the order reversal of an element, the paper's `1 - value`; it is its own inverse."""

    @abstractmethod
    def codes(self, values: object, what: str = "values") -> Codes:
        """Check many values at once and return them as an array ordered like the scale."""

    @abstractmethod
    def reverse_codes(self, codes: Codes) -> Codes:
        """Return the order reversal of codes."""

    @abstractmethod
    def parse(self, text: str) -> Value:
        """Read an element from its `str` text."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the scale as JSON data; `Scale.from_json` reads it back."""

    def decode(self, codes: Codes) -> npt.NDArray[Any]:
        """Turn codes back into elements."""
        return codes

    def element(self, code: Any) -> Value:
        """Turn one code back into an element."""
        return code.item() if isinstance(code, np.generic) else code

    def value_to_json(self, value: Value) -> Any:
        """Return one element as JSON data: a number if that is exact, else the text of `str`."""
        return value if isinstance(value, int | float) else str(value)

    def value_from_json(self, data: Any) -> Value:
        """Read one element from JSON data."""
        return self.parse(data) if isinstance(data, str) else self.check(data)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Scale:
        """Read a scale from the output of `to_json`."""
        match data:
            case {"kind": "boolean"}:
                return BOOLEAN
            case {"kind": "unit"}:
                return UNIT
            case {"kind": "ordinal", "levels": list(names)}:
                return Ordinal(names)
            case {"kind": "bipolar", "levels": list(names)}:
                return Bipolar(names)
        raise ScaleError(
            f"{quoted(data)} does not describe a scale. It must be like {{'kind': 'ordinal', 'levels': "
            f"['bad', 'good']}}."
        )


@dataclass(frozen=True)
class Boolean(Scale):
    """The two-element scale, written 0 and 1.

    Examples
    --------
    >>> BOOLEAN.reverse(0), BOOLEAN.check(True)
    (1, 1)
    """

    bottom = 0
    top = 1

    @property
    def levels(self) -> tuple[Value, ...]:
        """0 and 1."""
        return (0, 1)

    def check(self, value: object, what: str = "value") -> Value:
        """Accept 0, 1 and every value equal to them."""
        try:
            if value == 0 or value == 1:  # noqa: PLR1714 a set would need a hashable value
                return int(value)
        except (TypeError, ValueError):
            pass
        raise ScaleError(f"{what} is {plain(value)!r}, but the scale is Boolean: give 0 or 1.")

    def reverse(self, value: Value) -> Value:
        """Swap 0 and 1."""
        return 1 - value

    def codes(self, values: object, what: str = "values") -> Codes:
        """Return the values as int8."""
        array = _array(values, what)
        try:
            wrong = ~((array == 0) | (array == 1))
        except TypeError:
            wrong = np.ones(array.shape, bool)
        _refuse(array, np.asarray(wrong), f"{what}: the scale is Boolean, give 0 or 1")
        return array.astype(np.int8)

    def reverse_codes(self, codes: Codes) -> Codes:
        """Swap 0 and 1."""
        return 1 - codes

    def parse(self, text: str) -> Value:
        """Read ``0`` or ``1``."""
        return self.check({"0": 0, "1": 1}.get(text.strip(), text))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"kind": "boolean"}``."""
        return {"kind": "boolean"}

    def __str__(self) -> str:
        return "{0, 1}"


class Complement(Fraction):
    """The exact number `1 - x` of a float `x` for which the float subtraction would round; prints as ``1 -
    0.3``.
    """

    origin: float

    @classmethod
    def of(cls, origin: float) -> Complement:
        """Return the complement of a float."""
        numerator, denominator = origin.as_integer_ratio()
        self = cls(denominator - numerator, denominator)
        self.origin = origin
        return self

    def __str__(self) -> str:
        return f"1 - {self.origin!r}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return Complement.of, (self.origin,)

    def __copy__(self) -> Complement:
        return self

    def __deepcopy__(self, memo: Any) -> Complement:
        return self


@dataclass(frozen=True)
class UnitInterval(Scale):
    """The interval [0, 1] in floats and exact fractions, which compare exactly with each other.

    Examples
    --------
    >>> UNIT.reverse(0.25), UNIT.reverse(0.3), UNIT.reverse(UNIT.reverse(0.3))
    (0.75, 1 - 0.3, 0.3)
    >>> UNIT.check(7)
    Traceback (most recent call last):
    ...
    sugenet.errors.ScaleError: value is 7, which is not in [0, 1]. Rescale it, or use an Ordinal scale.
    """

    bottom = 0
    top = 1

    @property
    def levels(self) -> None:
        """None: there are infinitely many."""
        return

    def check(self, value: object, what: str = "value") -> Value:
        """Accept numbers in [0, 1], and text such as ``1/3`` as an exact fraction."""
        number: Any = value
        if isinstance(value, str | Decimal):
            return self.parse(str(value))
        if isinstance(value, np.generic):
            number = value.item()
        if isinstance(number, bool):
            number = int(number)
        if not isinstance(number, int | float | Fraction):
            raise ScaleError(f"{what} is {plain(value)!r}, which is not a number in [0, 1].")
        if isinstance(number, float) and isnan(number):
            raise ScaleError(
                f"{what} is NaN. Only numbers in [0, 1] can be compared: fill or drop missing values first."
            )
        if not 0 <= number <= 1:
            raise ScaleError(
                f"{what} is {plain(value)!r}, which is not in [0, 1]. Rescale it, or use an Ordinal scale."
            )
        return number

    def reverse(self, value: Value) -> Value:
        """Return `1 - value`, as a float if that is exact, else as an exact number."""
        if isinstance(value, Complement):
            return value.origin
        if not isinstance(value, float):
            return 1 - value
        difference = 1.0 - value
        return difference if (1.0 - difference) - value == 0 else Complement.of(value)

    def codes(self, values: object, what: str = "values") -> Codes:
        """Return integers as int64, floats as float64, and arrays with fractions as objects; exact values
        stay exact.
        """
        array = _array(values, what)
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
            if array.size and not (array.min() >= 0 and array.max() <= 1):  # NaN fails both
                good = (array >= 0) & (array <= 1)
                _refuse(
                    array,
                    ~good,
                    f"{what}: not in [0, 1]; rescale, fill missing values, or use an Ordinal scale",
                )
            return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        checked: list[Any] = []
        for value in np.asarray(values, dtype=object).ravel():
            try:
                checked.append(self.check(value, what))
            except ScaleError as error:
                where = _where(np.unravel_index(len(checked), array.shape))
                raise ScaleError(f"{error} It is{where}." if where else str(error)) from None
        kinds = {type(value) for value in checked}
        dtype = np.int64 if kinds <= {int} else np.float64 if kinds <= {int, float} else object
        out = np.empty(len(checked), dtype=dtype)
        out[:] = checked
        return out.reshape(array.shape)

    def reverse_codes(self, codes: Codes) -> Codes:
        """Return `1 - codes`, as floats if all of them are exact."""
        if codes.dtype == np.int64:
            return 1 - codes
        if codes.dtype == object:
            return np.array([self.reverse(value) for value in codes.ravel()], dtype=object).reshape(
                codes.shape
            )
        difference = 1.0 - codes
        inexact = (
            1.0 - difference
        ) - codes != 0  # the exact rounding error of the subtraction, since 1 >= codes
        if not inexact.any():
            return np.asarray(difference)
        sample = codes.ravel()[:: max(1, codes.size >> 10)]
        if 2 * len(np.unique(sample)) < len(sample):  # values recur: make few objects
            distinct = np.unique(codes)
            reversed_values = _objects([self.reverse(value) for value in distinct.tolist()])
            return np.asarray(reversed_values[np.searchsorted(distinct, codes)])
        out = difference.astype(object)
        distinct, indices = np.unique(codes[inexact], return_inverse=True)
        out[inexact] = _objects([Complement.of(value) for value in distinct.tolist()])[indices]
        return np.asarray(out)

    def parse(self, text: str) -> Value:
        """Read ``0.5`` as a float, ``1/3`` as a fraction, ``1 - 0.3`` as an exact complement."""
        word = text.strip()
        try:
            if word.startswith("1 - "):
                return self.reverse(self.check(read_number(word[4:], "value")))
            return self.check(read_number(word, "value"))
        except ScaleError:
            raise
        except CapacityError as error:
            raise ScaleError(
                f"{quoted(text)} is not a number in [0, 1]. Write it like 0.5, 1/3 or 1 - 0.3."
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return ``{"kind": "unit"}``."""
        return {"kind": "unit"}

    def __str__(self) -> str:
        return "[0, 1]"


class Level:
    """One level of an `Ordinal` scale: text or an integer, as its name is, but ordered by its rank.

    Examples
    --------
    >>> bad, good = Ordinal(["worse", "better"]).levels
    >>> bad < good, good == "better", Ordinal([2, 1]).levels, max(Ordinal([2, 1]).levels)
    (True, True, (2, 1), 1)
    """

    scale: Ordinal
    rank: int
    __slots__ = ()

    def _rank_of(self, other: object) -> int:
        if isinstance(other, Level) and other.scale is self.scale:
            return other.rank
        return self.scale.rank(other)

    def __lt__(self, other: object) -> bool:
        return self.rank < self._rank_of(other)

    def __le__(self, other: object) -> bool:
        return self.rank <= self._rank_of(other)

    def __gt__(self, other: object) -> bool:
        return self.rank > self._rank_of(other)

    def __ge__(self, other: object) -> bool:
        return self.rank >= self._rank_of(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _level, (self.scale.names, self.rank)


class _WordLevel(Level, str):
    """A level named by text."""

    __slots__ = ("rank", "scale")


class _NumberLevel(Level, int):
    """A level named by an integer."""


def _named(name: str | int, scale: Ordinal, rank: int) -> Level:
    level = _NumberLevel(name) if isinstance(name, int) else _WordLevel(name)
    level.scale, level.rank = scale, rank
    return level


def _level(names: tuple[str | int, ...], rank: int) -> Level:
    return Ordinal(names).levels[rank]


@dataclass(frozen=True)
class Ordinal(Scale):
    """A finite chain of named levels, worst first.

    Names are text or integers, and levels are returned with these names: ``Ordinal(range(5))`` has the levels
    0 to 4. The text of an integer is accepted for it, too: both 3 and ``'3'``.

    Examples
    --------
    >>> scale = Ordinal(["bad", "ok", "good"])
    >>> bad, ok, good = scale.levels
    >>> bad < ok < good, scale.reverse(bad), max("good", ok, key=scale.check)
    (True, 'good', 'good')
    >>> scale.check("great")
    Traceback (most recent call last):
    ...
    sugenet.errors.ScaleError: value is 'great', which is not a level. The levels are bad < ok < good.
    """

    names: tuple[str | int, ...]

    def __init__(self, names: Iterable[object]) -> None:
        if isinstance(names, str):
            raise ScaleError(
                f"names is the single text {names!r}. Give a list of levels, worst first: "
                f"Ordinal(['bad', 'ok', 'good'])."
            )
        if not isinstance(names, Iterable):
            raise ScaleError(
                f"names is {names!r}. Give a list of levels, worst first: Ordinal(['bad', 'ok', 'good'])."
            )
        if isinstance(names, AbstractSet):
            raise ScaleError(
                f"names is {names!r}, a set, which has no order. Give a list of levels, worst first."
            )
        raw_names = tuple(names)
        strange = [name for name in raw_names if not _can_name(name)]
        if strange:
            raise ScaleError(
                f"{plain(strange[0])!r} cannot be the name of a level. Use text or integers, "
                f"such as '0.5' for 0.5."
            )
        texts = tuple(str(name) for name in raw_names)
        if len(texts) < 2:
            raise ScaleError(f"an ordinal scale needs at least 2 levels, not {len(texts)}: {list(texts)}.")
        doubled = next((word for word in texts if texts.count(word) > 1), None)
        if doubled is not None:
            raise ScaleError(
                f"level {doubled!r} occurs twice in {list(texts)}. Every level needs its own name."
            )
        exact = (
            name if isinstance(name, str) else int(text) for name, text in zip(raw_names, texts, strict=True)
        )
        object.__setattr__(self, "names", tuple(exact))

    @cached_property
    def _by_name(self) -> dict[str, Level]:
        return {str(name): _named(name, self, rank) for rank, name in enumerate(self.names)}

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels, worst first."""
        return tuple(self._by_name.values())

    @property
    def bottom(self) -> Value:
        """The worst level."""
        return self.levels[0]

    @property
    def top(self) -> Value:
        """The best level."""
        return self.levels[-1]

    def rank(self, value: object) -> int:
        """Return the rank of a level, 0 for the worst."""
        return self.check(value).rank  # type: ignore[no-any-return]

    def check(self, value: object, what: str = "value") -> Value:
        """Accept a level or its name."""
        level = self._find(value)
        if level is None:
            raise ScaleError(f"{what} is {plain(value)!r}, which is not a level. The levels are {self}.")
        return level

    def _find(self, value: object) -> Level | None:
        return self._by_name.get(str(value)) if _can_name(value) else None

    def reverse(self, value: Value) -> Value:
        """Return the level as far from the top as `value` is from the bottom."""
        return self.levels[len(self.names) - 1 - self.rank(value)]

    def codes(self, values: object, what: str = "values") -> Codes:
        """Return the ranks of the values."""
        # text arrays drop a final NUL
        array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
        levels = [self._find(value) for value in array.astype(object).ravel().tolist()]
        wrong = np.array([level is None for level in levels], dtype=bool)
        _refuse(array, wrong.reshape(array.shape), f"{what}: not a level; the levels are {self}")
        return np.array([level.rank for level in levels if level is not None], dtype=np.int32).reshape(
            array.shape
        )

    def reverse_codes(self, codes: Codes) -> Codes:
        """Reverse ranks."""
        return len(self.names) - 1 - codes

    def decode(self, codes: Codes) -> npt.NDArray[Any]:
        """Turn ranks into levels."""
        out = np.empty(len(self.names), dtype=object)
        out[:] = self.levels
        return out[codes]

    def element(self, code: Any) -> Value:
        """Turn one rank into its level."""
        return self.levels[int(code)]

    def parse(self, text: str) -> Value:
        """Read the name of a level."""
        return self._by_name.get(text) or self.check(text.strip())

    def value_to_json(self, value: Value) -> Any:
        """Return the name of the level."""
        return int(value) if isinstance(value, int) else str(value)

    def to_json(self) -> dict[str, Any]:
        """Return the names of the levels, worst first."""
        return {"kind": "ordinal", "levels": list(self.names)}

    def __str__(self) -> str:
        return " < ".join(map(str, self.names))


@dataclass(frozen=True)
class Bipolar(Ordinal):
    """A chain of named levels with a neutral one in the middle: negative, neutral and positive marks.

    Its order reversal turns good into equally bad. A set function for it has worths on `positive`.

    Examples
    --------
    >>> scale = Bipolar(["awful", "bad", "neutral", "good", "great"])
    >>> scale.neutral, scale.reverse("great"), str(scale.positive)
    ('neutral', 'awful', 'neutral < good < great')
    """

    def __init__(self, names: Iterable[object]) -> None:
        super().__init__(names)
        if len(self.names) % 2 == 0:
            raise ScaleError(
                f"a bipolar scale has a neutral level in the middle, but {self} has {len(self.names)} "
                f"levels. Give an odd number of levels."
            )

    @property
    def neutral(self) -> Value:
        """The level in the middle."""
        return self.levels[len(self.names) // 2]

    @cached_property
    def positive(self) -> Ordinal:
        """The scale from the neutral level to the best one."""
        return Ordinal(self.names[len(self.names) // 2 :])

    def to_json(self) -> dict[str, Any]:
        """Return the names of the levels, worst first."""
        return {"kind": "bipolar", "levels": list(self.names)}


def has_floats(values: Iterable[Any]) -> bool:
    """Return whether some value came from a float other than 0 and 1; then sums of them are floats, too."""
    return any(isinstance(value, float | Complement) and value not in (0, 1) for value in values)


def _can_name(value: object) -> bool:
    """Return whether this can be the name of a level: text, or an integer."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _refuse(array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], complaint: str) -> None:
    """Raise an error for the first wrong entry, with its position and value."""
    if wrong.any():
        index = tuple(np.argwhere(wrong)[0])
        raise ScaleError(f"{complaint}. Found {plain(array[index])!r}{_where(index)}.")


def _where(position: Sequence[Any]) -> str:
    indices = [int(index) for index in position]
    return f" at {indices if len(indices) > 1 else indices[0]}" if indices else ""


def _objects(values: list[Any]) -> Codes:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _array(values: object, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise ScaleError(
            f"{what}: some entries are single values and others are lists, or lists of other lengths."
        ) from None


def need_scale(scale: object) -> None:
    """Raise `ScaleError` if this is not a scale."""
    if not isinstance(scale, Scale):
        raise ScaleError(
            f"scale is {scale!r}, which is not a scale. Give UNIT, BOOLEAN, "
            f"or an Ordinal(['bad', 'ok', 'good'])."
        )


BOOLEAN = Boolean()
UNIT = UnitInterval()


def common_scale(scales: Sequence[Scale]) -> Scale:
    """Return the common scale of several set functions; Boolean ones are lifted to a unit interval."""
    distinct = list(dict.fromkeys(scales))
    if set(distinct) == {BOOLEAN, UNIT}:
        return UNIT
    if len(distinct) != 1:
        raise ScaleError(
            f"the set functions have different scales: {', '.join(map(str, distinct))}. "
            f"Bring them to one scale first."
        )
    return distinct[0]
