"""Words that answers share: who settled a question, what a change costs, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import ceil, floor, isqrt
from typing import Any

from sugenet.bnn import Network
from sugenet.capacity.arguments import number_text
from sugenet.visible import visible

__all__ = [
    "LISTED",
    "advice",
    "changes_listed",
    "engine_text",
    "part_text",
    "percent_text",
    "short_number",
    "show_cost",
    "uncovered_text",
    "value_text",
]

LISTED = 6
"""Changes that a sentence lists; more are counted."""

_ENGINES = {
    "evaluation": "evaluating one input",
    "bounds": "bounds through all layers",
    "dual": "dual bounds with branching",
    "search": "local search",
    "flips": "flip enumeration",
    "exhaust": "exhaustion of all combinations",
    "branch": "branch and bound over the features",
    "cdcl": "our own solver with threshold propagation",
    "program": "an integer program over patterns of patches",
    "patches": "patterns of patches and an exact linear bound",
}


def uncovered_text(names: Iterable[str]) -> str:
    """Which fields of an answer nothing shows, in words.

    Examples
    --------
    >>> uncovered_text(["engine", "seconds"])
    'not covered by a certificate: engine, seconds'
    """
    return f"not covered by a certificate: {', '.join(names)}"


def engine_text(engine: str, sets: int | None = None) -> str:
    """What settled a question, in words, and how many sets of changes it enumerated.

    Examples
    --------
    >>> engine_text("flips", 1200)
    'flip enumeration (1,200 changes)'
    """
    phrase = _ENGINES.get(engine, visible(engine))
    return phrase if sets is None else f"{phrase} ({sets:,} changes)"


def percent_text(share: Fraction, towards: int = 0) -> str:
    """A share in percent with two decimals: the nearest, or rounded down (-1) or up (+1), so that a bound
    stays one; 0 and 100 are written only where they are exact.

    Examples
    --------
    >>> [percent_text(Fraction(2, 3), towards) for towards in (-1, 0, 1)]
    ['66.66 %', '66.67 %', '66.67 %']
    >>> [percent_text(share) for share in (Fraction(0), Fraction(1), Fraction(99_999, 100_000))]
    ['0 %', '100 %', 'over 99.99 %']
    """
    if share in (0, 1):
        return "100 %" if share else "0 %"
    exact = 10_000 * share
    parts = floor(exact) if towards < 0 else ceil(exact) if towards > 0 else round(exact)
    if towards <= 0 and parts == 0:
        return "under 0.01 %" if towards == 0 else "over 0 %"
    if towards >= 0 and parts == 10_000:
        return "over 99.99 %" if towards == 0 else "under 100 %"
    return f"{parts // 100}.{parts % 100:02d} %"


def part_text(share: Fraction, digits: int, towards: int = 0) -> str:
    """A part of a whole in few digits, rounded down (-1) or up (+1) where it is a bound; or one in how many,
    or all but so many, since nearly all is not all.

    Examples
    --------
    >>> [part_text(Fraction(2, 3), 3, towards) for towards in (-1, 0, 1)]
    ['0.666', '0.667', '0.667']
    >>> [part_text(share, 3) for share in (Fraction(1), Fraction(1, 70_000), Fraction(69_999, 70_000))]
    ['1', '1 in 70,000', 'all but 1 in 70,000']
    """
    if share in (0, 1):
        return str(share)
    if share >= Fraction(1, 1000):
        near = _rounded(share, digits, towards)
        return f"all but {part_text(1 - share, digits, -towards)}" if near == 1 else str(near.normalize())
    ratio = 1 / share
    integer = ceil(ratio) if towards < 0 else floor(ratio) if towards > 0 else round(ratio)
    return f"1 in {integer:,}" if ratio < 10**15 else f"1 in 10^{len(str(integer)) - (towards >= 0)}"


def short_number(value: Fraction, towards: int = 0) -> str:
    """An exact number for people: as it reads back, in up to six digits; else about what it is, or rounded
    down (-1) or up (+1) to six of them, so that a bound stays one when it is typed in.

    Examples
    --------
    >>> [short_number(Fraction(value)) for value in (2_000_000, 2.5, 0.1, "1/10")]
    ['2000000', '2.5', '0.1', '1/10']
    >>> [short_number(Fraction(2, 3), towards) for towards in (-1, 0, 1)]
    ['0.666666', 'about 0.666667', '0.666667']
    """
    if value.denominator == 1 or abs(value) >= 1 << 1023:  # beyond that there are no floats
        return str(value)
    near = _rounded(value, 6, 0)
    if value == float(near):
        return number_text(float(near))
    if value == Fraction(near):  # a decimal, but no float: what is typed in as a decimal would be another
        return str(value)
    if towards == 0:
        return f"about {number_text(float(near))}"
    rounded = _rounded(value, 6, towards)
    while (Fraction(float(rounded)) - value) * towards < 0:  # the float of a decimal may be on the other side
        rounded = Context(prec=6).add(rounded, towards * Decimal(1).scaleb(rounded.adjusted() - 5))
    return number_text(float(rounded))


def _rounded(value: Fraction, digits: int, towards: int) -> Decimal:
    """Some digits of a number."""
    how = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[towards]
    return Context(prec=digits, rounding=how).divide(Decimal(value.numerator), Decimal(value.denominator))


_COSTS = {
    "L0": "{number} feature{s} changed",
    "Hamming": "{number} bit{s} flipped",
    "L1": "raw changes of {number} in all",
    "L2": "a raw distance of {root} (sum of squares {number})",
    "Prices": "a price of {number}",
    "Linf": "a largest raw change of {number}",
}


def show_cost(cost: str, value: Fraction, towards: int = 0) -> str:
    """A cost in words; a bound is rounded `towards` one side."""
    number, root = short_number(value, towards), _root(value, towards) if cost == "L2" else ""
    return _COSTS.get(cost, _COSTS["Linf"]).format(number=number, s="" if value == 1 else "s", root=root)


def _root(value: Fraction, towards: int) -> str:
    """A distance whose square is known."""
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    if root**2 == value:
        return short_number(root, towards)
    how = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[towards]
    fine = Context(prec=60)
    root60 = fine.sqrt(fine.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return f"{'' if towards else 'about '}{number_text(float(Context(prec=6, rounding=how).plus(root60)))}"


def advice(reason: str, smaller: str = "ask about a smaller region") -> str:
    """What to do next: more time helps only where it ran out."""
    if any(
        phrase in reason for phrase in ("time was up", "time is up", "time limit", "stopped", "interrupted")
    ):
        return f"Allow more time, or {smaller}."
    return f"{smaller[0].upper()}{smaller[1:]}, or try another engine."


def changes_listed(network: Network, changes: Mapping[str, tuple[Any, Any]], limit: int = LISTED) -> str:
    """Some changes, each to a value that can be typed, with the condition that it fulfils where other values
    do so too; and how many more there are.
    """
    listed = [
        f"{visible(name)} from {number_text(before)} to {value_text(network, name, after)}"
        for name, (before, after) in islice(changes.items(), limit)
    ]
    return "; ".join(listed) + (f"; and {len(changes) - limit} more" if len(changes) > limit else "")


def value_text(network: Network, name: str, value: Any) -> str:
    """A raw value of a feature, with the condition that it fulfils."""
    coding = network.encoder.codings[network.encoder.names.index(name)]
    span = coding.span(coding.state(value))
    return f"{number_text(value)} ({span})" if span else number_text(value)
