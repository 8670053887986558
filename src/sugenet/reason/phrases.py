"""Phrases that answers share: the method, the cost of a change, the next step."""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import ceil, floor, isqrt
from typing import Any

from sugenet.capacity.arguments import number_text
from sugenet.nn import Network
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
"""Number of changes that a sentence lists; further ones are counted."""

_ENGINES = {
    "evaluation": "evaluating one input",
    "bounds": "bounds through all layers",
    "dual": "dual bounds with branching",
    "search": "local search",
    "gradient": "a gradient search",
    "flips": "flip enumeration",
    "exhaust": "exhaustion of all combinations",
    "branch": "branch and bound over the features",
    "cdcl": "our own solver with threshold propagation",
    "program": "an integer program over patterns of patches",
    "patches": "patterns of patches and an exact linear bound",
}


def uncovered_text(names: Iterable[str]) -> str:
    """Return a phrase that lists the fields of an answer without proof.

    Examples
    --------
    >>> uncovered_text(["engine", "seconds"])
    'not covered by a certificate: engine, seconds'
    """
    return f"not covered by a certificate: {', '.join(names)}"


def engine_text(engine: str, sets: int | None = None) -> str:
    """Return a phrase that names the engine, and the number of sets of changes that it enumerated.

    Examples
    --------
    >>> engine_text("flips", 1200)
    'flip enumeration (1,200 changes)'
    """
    phrase = _ENGINES.get(engine, visible(engine))
    return phrase if sets is None else f"{phrase} ({sets:,} changes)"


def percent_text(share: Fraction, towards: int = 0) -> str:
    """Return a share in percent with two decimals.

    It is rounded to the nearest value, or down (-1) or up (+1), so that a bound stays valid. 0 and 100 are
    written only if they are exact.

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
    """Return a share in few digits, rounded down (-1) or up (+1) if it is a bound.

    A share near 0 is written as "1 in n", and a share near 1 as "all but 1 in n".

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
    """Return an exact number in at most six digits.

    If these digits are not exact, the number is given as "about" its value. Or it is rounded down (-1) or up
    (+1), so that a bound stays valid when it is typed in.

    Examples
    --------
    >>> [short_number(Fraction(value)) for value in (2_000_000, 2.5, 0.1, "1/10")]
    ['2000000', '2.5', '0.1', '1/10']
    >>> [short_number(Fraction(2, 3), towards) for towards in (-1, 0, 1)]
    ['0.666666', 'about 0.666667', '0.666667']
    """
    if value.denominator == 1 or abs(value) >= 1 << 1023:  # larger than any float
        return str(value)
    near = _rounded(value, 6, 0)
    if value == float(near):
        return number_text(float(near))
    if value == Fraction(near):  # a decimal, but not a float: typed in, it would be another number
        return str(value)
    if towards == 0:
        return f"about {number_text(float(near))}"
    rounded = _rounded(value, 6, towards)
    while (Fraction(float(rounded)) - value) * towards < 0:  # its float may be on the other side
        rounded = Context(prec=6).add(rounded, towards * Decimal(1).scaleb(rounded.adjusted() - 5))
    return number_text(float(rounded))


def _rounded(value: Fraction, digits: int, towards: int) -> Decimal:
    """Return a number rounded to a few digits."""
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
    """Return a cost as text; a bound is rounded `towards` one side."""
    number, root = short_number(value, towards), _root(value, towards) if cost == "L2" else ""
    return _COSTS.get(cost, _COSTS["Linf"]).format(number=number, s="" if value == 1 else "s", root=root)


def _root(value: Fraction, towards: int) -> str:
    """Return a distance, given its square."""
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    if root**2 == value:
        return short_number(root, towards)
    how = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[towards]
    fine = Context(prec=60)
    root60 = fine.sqrt(fine.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return f"{'' if towards else 'about '}{number_text(float(Context(prec=6, rounding=how).plus(root60)))}"


def advice(reason: str, smaller: str = "ask about a smaller region") -> str:
    """Return a hint for the next step: more time helps only if it ran out."""
    if any(
        phrase in reason for phrase in ("time was up", "time is up", "time limit", "stopped", "interrupted")
    ):
        return f"Allow more time, or {smaller}."
    return f"{smaller[0].upper()}{smaller[1:]}, or try another engine."


def changes_listed(network: Network, changes: Mapping[str, tuple[Any, Any]], limit: int = LISTED) -> str:
    """Return a list of some changes as text, and the number of further ones.

    Each change goes to a value that can be typed. If other values do as well, their condition is added.
    """
    listed = [
        f"{visible(name)} from {number_text(before)} to {value_text(network, name, after)}"
        for name, (before, after) in islice(changes.items(), limit)
    ]
    return "; ".join(listed) + (f"; and {len(changes) - limit} more" if len(changes) > limit else "")


def value_text(network: Network, name: str, value: Any) -> str:
    """Return a raw value of a feature with its condition."""
    coding = network.encoder.codings[network.encoder.names.index(name)]
    span = coding.span(coding.state(value))
    return f"{number_text(value)} ({span})" if span else number_text(value)
