"""Short reprs: a value prints in at most ten lines at a prompt."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["Sentences", "ShortRepr", "cut", "quoted", "roughly", "set_fields", "time_text"]

LINES, LETTERS = 10, 1000
_ROOM = 240
"""Number of characters for a field, if not all fields fit."""
_WRITTEN_BITS = 400
"""Larger integers are shown by their size: Python refuses to print huge ones."""


def cut(text: str, lines: int = LINES, letters: int = LETTERS) -> str:
    r"""Return the beginning of a text, with a note if it was cut.

    Examples
    --------
    >>> cut("a b", letters=9), cut("a long sentence", letters=9), cut("1\n2\n3", lines=2)
    ('a b', 'a lon ...', '1\n...')
    """
    rows = text.split("\n")
    if len(rows) > lines:
        text = "\n".join([*rows[: lines - 1], "..."])
    return text if len(text) <= letters else f"{text[: letters - 4]} ..."


def roughly(value: Any, digits: int = 6, *, up: bool | None = None) -> str:
    """Return an exact number rounded to a few digits, also beyond the largest float.

    A bound is rounded up or down, so that it stays true.

    Examples
    --------
    >>> roughly(Fraction(1, 3)), roughly(2, 4), roughly(Fraction(-(10**400), 3))
    ('0.333333', '2', '-3.33333e+399')
    >>> roughly(Fraction(1, 3), up=True), roughly(Fraction(2, 3), up=False), roughly(Fraction(5, 2), up=True)
    ('0.333334', '0.666666', '2.5')
    """
    if up is not None:
        exact = Fraction(value)
        with localcontext(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR):
            return f"{Decimal(exact.numerator) / Decimal(exact.denominator):g}"
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        exact = Fraction(value)
        with localcontext(prec=digits):
            return f"{Decimal(exact.numerator) / Decimal(exact.denominator):.{digits}g}"


def quoted(value: Any, letters: int = 60) -> str:
    """Return a user's value for an error message: quoted if it is text, on one line, and of limited length.

    Examples
    --------
    >>> quoted("x >= 1"), quoted("(" * 1000, letters=9), quoted([1, 2])
    ("'x >= 1'", "'((((( ...'", '[1, 2]')
    """
    if isinstance(value, str):
        return repr(cut(value, letters=letters))
    return cut(" ".join(repr(value).split()), letters=letters)


def set_fields(value: object, **fields: object) -> None:
    """Set fields of a frozen value while its class constructs it."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


class Sentences:
    """Base class of values that print as sentences; the repr adds the type, in at most ten lines."""

    __slots__ = ()

    def said(self, mark: Callable[[str], str] = str) -> str:  # noqa: ARG002
        """Return the sentences with `mark` applied to each verdict, but not to names that equal such a
        word.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        return str(self)

    def __str__(self) -> str:
        return self.said()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in cls.__dict__:  # before a dataclass adds one with all its fields
            cls.__repr__ = Sentences.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {cut(str(self), letters=LETTERS - len(name) - 4)}>"


class ShortRepr:
    """Base class of dataclasses with a short repr; long parts are cut and counted."""

    __slots__ = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = ShortRepr.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = [field.name for field in fields(self) if field.repr]  # type: ignore[arg-type]
        name = type(self).__qualname__
        for room in (LETTERS, _ROOM, LETTERS // (2 * len(shown) + 1)):
            text = f"{name}({', '.join(f'{one}={_short(getattr(self, one), room)}' for one in shown)})"
            if len(text) <= LETTERS and text.count("\n") < LINES:
                return text
        return cut(text)


def _short(value: Any, room: int) -> str:
    """Return a repr of about this many characters."""
    match value:
        case bool() | float() | None:
            return repr(value)
        case int():
            return repr(value) if value.bit_length() <= _WRITTEN_BITS else f"<{value.bit_length()} bits>"
        case np.ndarray():
            text = repr(value) if value.size <= room else ""
            shape = " x ".join(map(str, value.shape)) or "one"
            return text if 0 < len(text) <= room else f"<array of {shape}, {value.dtype}>"
        case str():
            return repr(value if len(value) <= room else f"{value[:room]}...")
        case Mapping():
            pairs = (f"{_short(key, room)}: {_short(one, room)}" for key, one in value.items())
            return _joined(pairs, len(value), room, "{}")
        case tuple() if type(value) is tuple:
            return _joined((_short(one, room) for one in value), len(value), room, "()")
        case list():
            return _joined((_short(one, room) for one in value), len(value), room, "[]")
        case AbstractSet() if value:
            ends = "{}" if isinstance(value, set) else ("frozenset({", "})")
            return _joined((_short(one, room) for one in value), len(value), room, ends)
    return cut(repr(value), letters=max(room, 40))


def _joined(parts: Iterable[str], total: int, room: int, ends: Any) -> str:
    """Return the parts that fit, and the number of the others."""
    shown: list[str] = []
    used = 0
    for part in parts:
        used += len(part) + 2
        if shown and used > room:
            break
        shown.append(part)
    left = total - len(shown)
    comma = "," if total == 1 and ends == "()" else ""
    more = f", ... {left:,} more" if left else ""
    return f"{ends[0]}{', '.join(shown)}{more}{comma}{ends[1]}"


def time_text(seconds: float) -> str:
    """Format a time: three digits, and a suitable unit.

    Examples
    --------
    >>> [time_text(seconds) for seconds in (0, 0.00042, 0.03, 2.5, 300, 8000, 200_000)]
    ['0 s', '0.42 ms', '30 ms', '2.5 s', '5 min', '2.22 h', '2.31 days']
    """
    if seconds and seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    units = ((172_800, 86_400, "days"), (7200, 3600, "h"), (120, 60, "min"), (0, 1, "s"))
    size, unit = next((size, unit) for lower, size, unit in units if seconds >= lower)
    return f"{seconds / size:.3g} {unit}"
