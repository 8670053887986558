"""What users hand in, read once: exact numbers, sequences in order, values as they are shown in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from sugenet.errors import CapacityError

__all__ = ["exact_number", "in_order", "is_too_long", "number_words", "plain", "read_number", "show_number"]

_POWERS = 10_000
_WRITTEN = 1e15
"""Whole floats up to here are written without their point."""


def plain(value: object) -> object:
    """A NumPy scalar as the Python value that it is, to be shown."""
    return value.item() if isinstance(value, np.generic) else value


def in_order(values: object, what: str) -> list[Any]:
    """The values as a list, where their order says what they belong to.

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


def exact_number(value: Any, what: str) -> int | Fraction:
    """Take an int, Fraction, Decimal or float as the exact number it is."""
    value = plain(value)
    if isinstance(value, Decimal) and is_too_long(value):
        raise CapacityError(f"{what} is {value}, a larger or finer number than can be meant.")
    try:
        if isinstance(value, str) or (isinstance(value, float) and not isfinite(value)):
            raise ValueError
        exact = Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise CapacityError(f"{what} is {value!r}, which is not a finite number.") from None
    return exact.numerator if exact.denominator == 1 else exact


_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")
_FRACTION = re.compile(r"[-+]?[0-9]{1,4000}/[0-9]{1,4000}")
_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def read_number(value: Any, what: str) -> int | float | Fraction:
    """Read a number as Python reads it: ``12`` is an integer, ``0.1`` the nearest float64, ``1/10`` exact.

    Examples
    --------
    >>> read_number("0.1", "x"), read_number("1/10", "x"), read_number(" 12 ", "x"), read_number(0.5, "x")
    (0.1, Fraction(1, 10), 12, 0.5)
    """
    value = str(value) if isinstance(value, Decimal) else plain(value)
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FRACTION.fullmatch(text) and int(text.split("/")[1]):
            return Fraction(text)
        value = float(text) if _FLOAT.fullmatch(text) else None
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, int | Fraction):
        return value
    raise CapacityError(f"{what} is {value!r}, which is not a finite number.")


def is_too_long(value: Decimal) -> bool:
    """Whether a decimal, written out as a fraction, would fill the memory.

    Examples
    --------
    >>> is_too_long(Decimal("1e999999999")), is_too_long(Decimal("1e-300"))
    (True, False)
    """
    return value.is_finite() and abs(value.adjusted()) > _POWERS


def show_number(value: int | Fraction) -> str:
    """An exact number as text: a float as it was written, a number of very many digits as about what it is.

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


def number_words(value: Any) -> str:
    """A number in the fewest digits that read back as it: decimals where there are some, a whole float
    without its point, else a fraction; anything else as it is written.

    Examples
    --------
    >>> [number_words(value) for value in (Fraction(5, 2), Fraction(1, 3), 13.0, 0.1, Fraction(0.1), 1e-7)]
    ['2.5', '1/3', '13', '0.1', '0.1', '1e-07']
    >>> number_words(2**60 + 1), number_words("left")
    ('1152921504606846977', 'left')
    """
    value = plain(value)
    if isinstance(value, Decimal) and value.is_finite() and not is_too_long(value):
        value = Fraction(value)
    if isinstance(value, float):
        return str(int(value)) if value == value // 1 and abs(value) < _WRITTEN else repr(value)
    if not isinstance(value, Fraction):
        return str(value)
    if value.denominator == 1:
        return str(value.numerator)
    near = repr(float(value)) if abs(value) < _WRITTEN else "0"
    return near if value in (Fraction(near), Fraction(float(near))) else str(value)
