"""Reading of user arguments: exact numbers, ordered sequences, and values as shown in messages."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np

from sugenet.errors import CapacityError
from sugenet.visible import visible

__all__ = [
    "NUMBER",
    "exact_number",
    "float_number",
    "in_order",
    "is_float",
    "magnitude",
    "nearest_float",
    "number_text",
    "plain",
    "rating_text",
    "read_number",
    "show_number",
    "written",
]

_WRITTEN = 1e15
"""Integral floats up to this size are written without a decimal point."""
_WRITTEN_BITS = 14_000
"""Larger counts are given as text, because Python refuses to write them."""


def plain(value: Any) -> Any:
    """Return a NumPy scalar as the equal Python value, for messages."""
    return value.item() if isinstance(value, np.generic) else value


def in_order(values: object, what: str) -> list[Any]:
    """Return the values as a list; their order must be defined, since it says what they belong to.

    Examples
    --------
    >>> in_order((3, 1), "weights")
    [3, 1]
    >>> in_order({3, 1}, "weights")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sugenet.errors.CapacityError: weights is {1, 3}, a set, which has no order. Give a list,
    or a mapping from criteria.
    """
    if isinstance(values, AbstractSet):
        raise CapacityError(
            f"{what} is {values!r}, a set, which has no order. Give a list, or a mapping from criteria."
        )
    if (
        isinstance(values, str | Mapping)
        or not isinstance(values, Iterable)
        or (isinstance(values, np.ndarray) and values.ndim != 1)
    ):
        raise CapacityError(f"{what} is {plain(values)!r}. Give a list of values, one for each criterion.")
    return list(values)


NUMBER = r"[+-]?(?:[0-9]+(?:/[0-9]+)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
"""Pattern of a number in text."""
_SPELLED = re.compile(NUMBER)
_DIGITS = 4300
"""Largest number of digits of an integer, or of a part of a fraction: Python's own limit."""
_SHOWN = 60


def read_number(value: Any, what: str = "", error: type[Exception] = CapacityError) -> int | float | Fraction:
    """Read a number: text with the syntax of Python, any other value exactly.

    Python arguments, command line, CSV files, server, rules, laws and VNN-LIB files all share this function.
    ``12`` is an integer of any size, a decimal such as ``0.1``, ``5.`` or ``1e-3`` is the nearest float64,
    and ``1/10`` is that fraction. A `Decimal` is read as its text.

    Parameters
    ----------
    value
        Text, int, float, Fraction, Decimal or a NumPy scalar.
    what
        The name of the value, for the message; empty if its position is named elsewhere.
    error
        The type of the exception (default: `CapacityError`).

    Returns
    -------
    int, float or Fraction
        The number; a NumPy scalar as the Python number equal to it.

    Raises
    ------
    error
        For anything else: infinity, NaN, a decimal beyond the range of floats, a bool, other text.

    Examples
    --------
    >>> [read_number(text, "radius") for text in ("12", "0.1", ".5", "1e-3", " 1/10 ", str(2**53 + 1))]
    [12, 0.1, 0.5, 0.001, Fraction(1, 10), 9007199254740993]
    >>> read_number("0x10", "radius")
    Traceback (most recent call last):
    ...
    sugenet.errors.CapacityError: radius is '0x10', which is not a number such as 12, 0.5, 1e-3 or 1/3.
    """
    kind = type(value)
    if kind is int or (kind is float and isfinite(value)):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        return _spelled(value.strip(), what, error)
    if isinstance(value, Decimal) and value.is_finite():
        return _spelled(str(value), what, error)
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.floating):
        raise error(f"{_said(what, value)} is not a number.")
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        raise error(f"{_said(what, value)} is not a finite number.")
    if isinstance(value, np.floating):  # more digits than float64 has
        exact = Fraction(*value.as_integer_ratio())
        return float(value) if is_float(exact) else exact
    return value if isinstance(value, float | Fraction) else int(value)


def _spelled(text: str, what: str, error: type[Exception]) -> int | float | Fraction:
    if _SPELLED.fullmatch(text) is None:
        raise error(f"{_said(what, text)} is not a number such as 12, 0.5, 1e-3 or 1/3.")
    if any(letter in text for letter in ".eE"):
        number = float(text)
        if not isfinite(number):
            raise error(f"{_said(what, text)} is beyond all floats. Write its digits out.")
        return number
    parts = text.split("/")
    if max(len(part.lstrip("+-")) for part in parts) > _DIGITS:
        raise error(f"{_said(what, text)} takes more than {_DIGITS} digits.")
    if len(parts) == 1:
        return int(text)
    if int(parts[1]) == 0:
        raise error(f"{_said(what, text)} is not a number: it divides by zero.")
    return Fraction(int(parts[0]), int(parts[1]))


def float_number(value: Any, what: str = "", error: type[Exception] = CapacityError) -> float:
    """Read a number with `read_number`, and require that it is a float64; other numbers are not rounded.

    Examples
    --------
    >>> float_number("0.1", "cut"), float_number(3, "cut")
    (0.1, 3.0)
    >>> float_number(Fraction(1, 10), "cut")
    Traceback (most recent call last):
    ...
    sugenet.errors.CapacityError: cut is Fraction(1, 10), which is not a float64. Round it first.
    """
    number = read_number(value, what, error)
    if isinstance(number, float):
        return number
    if not is_float(number):
        raise error(f"{_said(what, value)} is not a float64. Round it first.")
    return float(number)


def exact_number(value: Any, what: str, error: type[Exception] = CapacityError) -> int | Fraction:
    """Return a Python number as an exact number, read by `read_number`; text raises an error.

    Examples
    --------
    >>> exact_number(0.5, "radius"), exact_number(Decimal("0.1"), "radius") == Fraction(0.1)
    (Fraction(1, 2), True)
    """
    if isinstance(value, str):
        raise error(f"{what} is the text {_shown(value)}. Give a number.")
    exact = Fraction(read_number(value, what, error))
    return exact.numerator if exact.denominator == 1 else exact


def nearest_float(number: int | float | Fraction) -> float:
    """Return the float64 nearest to a number; infinity if it is out of range.

    Examples
    --------
    >>> nearest_float(Fraction(1, 10)), nearest_float(-(10**400))
    (0.1, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def is_float(number: int | float | Fraction) -> bool:
    """Return whether a number is a finite float64."""
    near = nearest_float(number)
    return isfinite(near) and near == number


def _said(what: str, value: object) -> str:
    return f"{what} is {_shown(value)}, which" if what else _shown(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def show_number(value: int | Fraction) -> str:
    """Return an exact number as text: a float as it was written, a number with very many digits rounded.

    Examples
    --------
    >>> tenth = Fraction(0.1)
    >>> [show_number(number) for number in (Fraction(1, 3), tenth, tenth + Fraction(0.7), 10**5000)]
    ['1/3', '0.1', 'about 0.8', 'about 10^5000']
    """
    if value.denominator == 1 and value.numerator.bit_length() < 10_000:
        return str(value)
    power = round((abs(value.numerator).bit_length() - value.denominator.bit_length()) * 0.30103)
    if abs(power) > 300:
        return f"about {'-' if value < 0 else ''}10^{power}"
    if value.denominator < 10**6:
        return str(value)
    return repr(float(value)) if float(value) == value else f"about {float(value):.6g}"


def number_text(value: Any) -> str:
    """Return a short text of a number that `read_number` reads back exactly.

    A float is written as a decimal, an integer without a decimal point, any other number as a fraction. Other
    values are written as they are, safe to show.

    Examples
    --------
    >>> [number_text(value) for value in (Fraction(5, 2), Fraction(1, 3), 13.0, 0.1, Fraction(0.1), 1e-7)]
    ['2.5', '1/3', '13', '0.1', '0.1', '1e-07']
    >>> number_text(Fraction(1, 10)), number_text(2**60 + 1), number_text("left")
    ('1/10', '1152921504606846977', 'left')
    """
    value = plain(value)
    if isinstance(value, Decimal) and value.is_finite():
        value = _spelled(str(value), "the number", CapacityError)
    if isinstance(value, Fraction) and value.denominator > 1 and is_float(value):
        value = float(value)
    if isinstance(value, float):
        return str(int(value)) if value == value // 1 and abs(value) < _WRITTEN else repr(value)
    return visible(str(value))


def rating_text(value: Any) -> str:
    """Return a rating as text: its exact decimal if there is one, else as `number_text`.

    Examples
    --------
    >>> rating_text(Fraction(7, 20)), rating_text(Fraction(1, 3)), rating_text(0.35)
    ('0.35', '1/3', '0.35')
    """
    if isinstance(value, Fraction) and 0 < abs(value) < _WRITTEN and Fraction(repr(float(value))) == value:
        return number_text(float(value))
    return number_text(value)


def magnitude(count: int) -> str:
    """Return a count as text, written in full if that is readable."""
    if count < 10**15:
        return f"{count:,}"
    # at most one too small, without writing a huge number
    power = (count.bit_length() - 1) * 30103 // 100000
    return f"about 10^{power + (count >= 10 ** (power + 1))}"


def written(count: int | None) -> int | str | None:
    """Return a count for JSON: the number itself if it can be written."""
    return count if count is None or count.bit_length() < _WRITTEN_BITS else magnitude(count)
