"""Numbers as they are meant: fractions and decimals as they are written, floats as the numbers they are or
as the shortest decimal that names them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from sugenet.capacity.arguments import plain, read_number
from sugenet.errors import NetworkError

__all__ = ["Floats", "exact", "meant", "on_grid"]

Floats: TypeAlias = Literal["exact", "decimal"]
"""How floats are read: 0.9 in a float32 is 15099494/16777216 exactly, and 9/10 as a decimal."""


def exact(value: Any, what: str) -> Fraction:
    """An exact number: a float as it is, text as `read_number` reads it.

    Examples
    --------
    >>> exact("9/10", "leak"), exact("0.9", "leak") == Fraction(0.9), exact(0.5, "leak")
    (Fraction(9, 10), True, Fraction(1, 2))
    >>> exact("fast", "leak")
    Traceback (most recent call last):
    ...
    sugenet.errors.NetworkError: leak is 'fast', which is not a number such as 12, 0.5, 1e-3 or 1/3.
    """
    plain_value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return Fraction(read_number(plain_value, what, NetworkError))


def meant(value: Any, what: str, floats: Floats) -> Fraction:
    """A number of a file as it is meant.

    Examples
    --------
    >>> meant(np.float32(0.9), "leak", "decimal"), meant(np.float32(0.9), "leak", "exact")
    (Fraction(9, 10), Fraction(7549747, 8388608))
    """
    if floats == "exact" or not isinstance(value, np.floating | float):
        return exact(plain(value), what)
    if not np.isfinite(value):
        raise NetworkError(f"{what} is {value!r}, which is not a finite number.")
    return Fraction(repr(value) if isinstance(value, float) else np.format_float_scientific(value))


def on_grid(value: Fraction, grid: Fraction | None) -> Fraction:
    """The nearest multiple of a grid, of two the even one; as it is where there is no grid.

    Examples
    --------
    >>> on_grid(Fraction(7, 10), Fraction(1, 4)), on_grid(Fraction(7, 10), None)
    (Fraction(3, 4), Fraction(7, 10))
    """
    return value if grid is None else round(value / grid) * grid
