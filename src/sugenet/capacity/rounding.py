"""Integrals of float samples in float arrays, although worths such as 1/3 or 1 - 0.3 are no
floats, and still exact.

Let up(v) be the least float that is no smaller than v. It keeps the order and moves no float, and the Sugeno
integral is made of minima and maxima alone, so the integral of the worths rounded up is the integral S
rounded up: f = up(S). No float lies between S and f, so the criteria whose values reach S are those whose
values reach f, and S = min(f, mu(these criteria)) by cuts (docs/theory.md 6.12). That question is asked only
where f does not say which of the two it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any

import numpy as np

from sugenet.capacity.base import SetFunction
from sugenet.capacity.scales import UNIT, Codes, UnitInterval, Value

__all__ = ["RoundedUp", "up"]


def up(value: Value) -> float:
    """The least float that is not smaller.

    Examples
    --------
    >>> from fractions import Fraction
    >>> up(0.3), up(1), up(Fraction(1, 3)) > Fraction(1, 3) > 0.3333333333333333
    (0.3, 1.0, True)
    """
    number = float(value)
    return nextafter(number, inf) if number < value else number


@dataclass(frozen=True, eq=False)
class RoundedUp(UnitInterval):
    """The unit interval for one integral over float samples: up(v) codes v,
    and if `flipped`, -up(1 - v) does.

    Flipped codes serve the conjugate, 1 - S_mu(1 - x): the code of 1 - x is simply -x.
    """

    flipped: bool = False
    meant: dict[float, set[Value]] = field(default_factory=dict)
    """For up(v) the values v that were coded, all as values of the integral."""
    tables: dict[tuple[int, bool], Codes] = field(default_factory=dict)

    def flip(self) -> RoundedUp:
        """The scale for the other side of a conjugate."""
        return RoundedUp(not self.flipped, self.meant, self.tables)

    def codes(self, values: Any, what: str = "values") -> Codes:  # noqa: ARG002 the values were checked before
        """Code exact values."""
        numbers = [UNIT.reverse(value) if self.flipped else value for value in values]
        found = [up(number) for number in numbers]
        for code, number in zip(found, numbers, strict=True):
            self.meant.setdefault(code, set()).add(number)
        return np.array(found, dtype=np.float64) * (-1 if self.flipped else 1)

    def table(self, mu: SetFunction) -> Codes:
        """The codes of a table, made once for all parts of a batch."""
        key = id(mu), self.flipped
        if key not in self.tables:
            values = mu.table()
            self.tables[key] = (
                values if values.dtype == np.float64 and not self.flipped else self.codes(values.tolist())
            )
        return self.tables[key]

    def reverse_codes(self, codes: Codes) -> Codes:
        """The codes of the complements on the flipped scale."""
        return -codes

    def element(self, code: Any) -> Value:
        """The value of a sample, which is exactly what its code says."""
        return UNIT.reverse(-float(code)) if self.flipped else float(code)

    def exact(self, mu: SetFunction, X: Codes, found: Codes) -> Codes:
        """The integrals of the samples `X` that `found` has rounded up:
        floats where all of them are, else objects.
        """
        if all(number == code for code, numbers in self.meant.items() for number in numbers):
            return found + 0.0  # no negative zero
        distinct, places = np.unique(found, return_inverse=True)
        meant = [self.meant.get(code, set()) for code in distinct.tolist()]
        rounded = np.array(
            [
                any(number != code for number in numbers)
                for code, numbers in zip(distinct.tolist(), meant, strict=True)
            ]
        )
        rows = np.flatnonzero(rounded[places])
        if not rows.size:
            return found + 0.0
        out = (found + 0.0).astype(object)
        tables = any(codes.dtype == np.float64 and not flipped for (_, flipped), codes in self.tables.items())
        unclear = (X[rows] == found[rows, None]).any(axis=1)  # the float is a value of the sample, too
        for row, ask in zip(rows.tolist(), unclear.tolist(), strict=True):
            numbers = meant[places[row]]
            if ask or tables or len(numbers) > 1:
                out[row] = min(out[row], mu.at(_reaching(X[row].tolist(), out[row])))
            else:
                (out[row],) = numbers
        return out


def _reaching(values: Iterable[float], level: float) -> int:
    return sum(1 << place for place, value in enumerate(values) if value >= level)
