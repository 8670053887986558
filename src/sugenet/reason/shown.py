"""Witnesses: the class that wins at an input, in exact numbers, and a short form of the input to display.

A displayed witness has the promised class and satisfies the question if it is typed back in exactly. Proofs
are about the nearest raw value of a step, such as the float just below a cut; its distance is the cost in the
certificate. The displayed value is a typeable value of the same step, slightly further away. It comes with
the condition for the class: ``mean radius from 13.2 to 12.6 (below 12.62)``.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite, log10
from typing import Any, TypeAlias

import numpy as np

from sugenet.capacity.arguments import exact_number, number_text
from sugenet.nn import Network, OneHot, Steps
from sugenet.nn.arrays import Ints
from sugenet.problem import L1, L2, Box, Linf, Prices, Query, Region, meets, row_of
from sugenet.reason.questions import Agree, Robust, WhatIf
from sugenet.visible import visible

__all__ = [
    "raw_cost",
    "short_pair",
    "short_witness",
    "tie_text",
    "winners",
]


def winners(network: Network, row: Sequence[Any], counts: Ints | None = None) -> tuple[int, ...]:
    """Return the classes with the largest exact score at a raw input, lowest index first; several in a tie.

    Match counts of the classes are not recomputed if they are given.

    Examples
    --------
    >>> from sugenet.nn import Head, Network
    >>> winners(Network.of_bits([], Head([[1, 1], [-1, 1], [1, 1]])), [1, 1])
    (0, 2)
    """
    held = network.match_counts(row_of(row), engine="definition") if counts is None else counts
    scores = network.head.ranked(held)[0]
    return tuple(np.flatnonzero(scores == scores.max()).tolist())


def tie_text(names: Sequence[str]) -> str:
    """Return a phrase for classes that share the largest score."""
    names = [*map(visible, names)]
    return f"a tie of classes {', '.join(names[:-1])} and {names[-1]}"


Admits: TypeAlias = Callable[[Sequence[Any]], bool]

_DIGITS = 6
"""A value of at most this many digits is shown unchanged."""
_SMALL = 4
"""Number of zeros after the decimal point that do not make a number long."""
_FINER = 24
"""Number of powers of ten that are tried; doubles have fewer digits."""
_FURTHER = 10
"""A displayed value is at most one part in this many further away than the nearest one."""


def short_witness(network: Network, question: Any, witness: Sequence[Any]) -> tuple[Any, ...]:
    """Return a witness with every value in few digits, in the same states and thus of the same class.

    The question allows it as it is written.
    """
    if isinstance(question, Query):  # in the numbers of the query's file
        return tuple(witness)
    before = question.values(network) if isinstance(question, Robust | WhatIf) else None
    codings = [network.encoder.codings]
    if isinstance(question, Agree):
        codings.append(question.other.encoder.codings)
    inside, domain = _admits(network, question, before), network.domain
    shown = list(witness)
    free = [
        position for position in range(len(shown)) if before is None or shown[position] != before[position]
    ]

    def admits(row: Sequence[Any]) -> bool:
        can_occur = not domain or (domain.outside(row, free) is None and domain.broken(row) is None)
        return can_occur and inside(row)

    minus = _minus(network, question, before)
    for index in free:
        near = None if before is None else before[index]
        _shorten(
            shown, index, near, [network_codings[index] for network_codings in codings], admits, minus=minus
        )
    return tuple(shown)


def _minus(network: Network, question: Any, before: Sequence[Any] | None) -> bool:
    """Return whether inactive bits are written as -1: unless the sample or the limits write 0."""
    codings = network.encoder.codings
    if before is not None:
        return not any(
            isinstance(coding, Steps) and coding.bipolar and value == 0
            for coding, value in zip(codings, before, strict=True)
        )
    box = getattr(question, "box", None)
    for index, limit in () if box is None else box.placed(network).items():
        coding = codings[index]
        if isinstance(coding, Steps) and coding.bipolar and _holds(limit, 0) and not _holds(limit, -1):
            return False
    return True


def _holds(limit: Any, value: int) -> bool:
    """Return whether a limit contains a number, as it is written."""
    if isinstance(limit, tuple):
        low, high = limit
        return (low is None or low <= value) and (high is None or value <= high)
    return value in limit if isinstance(limit, frozenset) else bool(value == limit)


def short_pair(
    network: Network, question: Any, one: Sequence[Any], other: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return two short witnesses that still differ only in the features that the question names."""
    first = short_witness(network, question, one)
    second = short_witness(network, question, other)
    same = [a == b for a, b in zip(one, other, strict=True)]
    second = tuple(a if alike else b for a, b, alike in zip(first, second, same, strict=True))
    if network.domain.broken(second) is not None:  # it has the values of the first one now
        return tuple(one), tuple(other)
    return first, second


def _shorten(
    shown: list[Any], index: int, near: Any, codings: Sequence[Any], admits: Admits, *, minus: bool
) -> None:
    """Replace one value by a shorter one, if one is allowed."""
    value = shown[index]
    if any(isinstance(coding, OneHot) for coding in codings):
        return
    if codings[0].bipolar:
        candidates: Iterator[Any] = iter([-1] if minus and value == 0 else [])
    else:
        candidates = _shorter(value, near, codings)
    for candidate in candidates:
        shown[index] = candidate
        if admits(shown):
            return
    shown[index] = value


def _shorter(value: Any, near: Any, codings: Sequence[Steps]) -> Iterator[Any]:
    """Yield values of fewer digits in the same step, the shortest first, none much further from `near`."""
    n_digits = _length(value)
    if n_digits <= _DIGITS:
        return
    exact = Fraction(value)
    known = near is not None and isfinite(near)
    further = max(abs(exact) / 1000, abs(exact - Fraction(near)) / _FURTHER if known else Fraction(0))
    ways = (exact > Fraction(near),) if known else (True, False)
    is_integer = any(coding.whole for coding in codings)
    ends = [coding.interval(coding.state(value)) for coding in codings]
    first = _power(further) + 1
    for power in range(first, first - _FINER, -1):
        if is_integer and power < 0:
            return
        unit = Fraction(10) ** power
        for rising in ways:
            decimal = unit * (-(-exact // unit) if rising else exact // unit)
            try:
                number = int(decimal) if is_integer else float(decimal)
            except OverflowError:  # beyond the range of floats
                continue
            inside = all(end is not None and end[0] <= number <= end[1] for end in ends)
            if inside and abs(decimal - exact) <= further and _length(number) < n_digits:
                yield number


def _power(value: Fraction) -> int:
    """Return the largest power of ten that is at most this number."""
    return floor(log10(value.numerator) - log10(value.denominator)) if value else 0


def _length(value: Any) -> int:
    """Return the number of digits of a number without zeros at either end.

    The leading zeros of a very small number count. A fraction is counted as it was written.
    """
    text = number_text(value)
    if "/" in text:
        return 0
    number = Decimal(text)
    return len("".join(map(str, number.as_tuple().digits)).strip("0")) + max(0, -_SMALL - number.adjusted())


# -- what a question allows ----------------------------------------------------------------------------------


def _admits(network: Network, question: Any, before: Sequence[Any] | None) -> Admits:
    """Return whether a raw input may be shown: it is inside the limits, or close enough to the sample."""
    if before is None:
        box = getattr(question, "box", None)
        return lambda shown: box is None or _in_box(network, box, shown)
    if isinstance(question, Robust):
        return lambda shown: _in_region(network, question.region, before, shown)
    assert isinstance(question, WhatIf)
    max_cost, region = question.most, question.region

    def allowed(shown: Sequence[Any]) -> bool:
        inside = region is None or _in_region(network, region, before, shown)
        return inside and (max_cost is None or raw_cost(network, question.cost, before, shown) <= max_cost)

    return allowed


def _in_region(network: Network, region: Region, before: Sequence[Any], shown: Sequence[Any]) -> bool:
    """Return whether a sample lies in the region itself, given that its states do."""
    match region:
        case L1() | Linf():
            return raw_cost(network, type(region), before, shown) <= exact_number(region.radius, "radius")
        case L2():
            return raw_cost(network, L2, before, shown) <= exact_number(region.radius, "radius") ** 2
        case Box():
            return _in_box(network, region, shown)
    return True


def _in_box(network: Network, box: Box, shown: Sequence[Any]) -> bool:
    limits, codings = box.spans(network), network.encoder.codings
    return all(meets(codings[index], shown[index], limit) for index, limit in limits.items())


def raw_cost(network: Network, cost: Any, before: Sequence[Any], shown: Sequence[Any]) -> Fraction:
    """Return the cost of a change in raw values; 0 if only states matter, which are those of the witness."""
    prices = cost.exact(network) if isinstance(cost, Prices) and cost.per_unit else {}
    if cost not in (L1, L2, Linf) and not prices:
        return Fraction(0)
    codings, sizes = network.encoder.codings, []
    for index, (old, new) in enumerate(zip(before, shown, strict=True)):
        if old == new:
            continue
        coding = codings[index]
        if isinstance(coding, OneHot) or coding.bipolar:
            size = Fraction(1)
        else:
            size = abs(Fraction(new) - Fraction(old))
        sizes.append(size * prices.get(index, 1))
    if cost is Linf:
        return max(sizes, default=Fraction(0))
    return sum((size**2 if cost is L2 else size for size in sizes), Fraction(0))
