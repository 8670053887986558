"""Degrees of possibility from probabilities and from readings (docs/theory.md 12.8).

Three ways lead from a probability distribution p to a possibility distribution, all with the same order and
with 1 for the most probable value:

- ``"ratio"``: p / max p, which is exp(-gap) for the softmax of a network.
- ``"antipignistic"``: the sum over all values of the smaller of both probabilities.
- ``"specificity"``: the sum of all probabilities that are not larger: the most specific distribution
  whose possibility of every set is at least the probability of the set.

Reference: Dubois [Dub06].
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

from sugenet.capacity.arguments import exact_number
from sugenet.errors import QuestionError, refuse
from sugenet.logic.readings import Reading

__all__ = ["by_value", "degrees_of", "possibilities"]

_TRANSFORMS = ("ratio", "antipignistic", "specificity")
_EXACT = Context(prec=60)
_MOST_DIGITS = 50


def by_value(stated: Any, values: Sequence[str], about: str, may_lack: bool = False) -> list[Fraction]:
    """Return stated numbers in the order of the values of a variable; values are compared as text.

    If some may lack, they have 0; otherwise each value needs a number, and no other has one.
    """
    if not isinstance(stated, Mapping):
        raise QuestionError(f"{about} is a {type(stated).__name__}. Give a number for each value.")
    known = {str(value): number for value, number in stated.items()}
    wrong = set(known) - set(values) if may_lack else set(known) ^ set(values)
    if wrong or len(known) < len(stated):
        raise QuestionError(
            f"{about} has numbers for {', '.join(map(str, stated))[:60]}. "
            f"Give one for each of {', '.join(values)}."
        )
    return [
        Fraction(exact_number(known.get(value, 0), f"{about}, {value}", QuestionError)) for value in values
    ]


def possibilities(
    probabilities: Mapping[Any, Any], transform: str = "antipignistic", digits: int | None = None
) -> dict[str, Fraction]:
    """Return the possibility distribution of a probability distribution.

    Reference: Dubois [Dub06].

    Parameters
    ----------
    probabilities
        The probability of each value. They are divided by their sum, exactly.
    transform
        ``"antipignistic"`` (default), ``"specificity"`` (minimum specificity) or ``"ratio"``.
    digits
        Round degrees to this many digits after the point, at most 50 (default: not rounded).

    Examples
    --------
    >>> p = {"3": 0.5, "8": 0.25, "5": 0.25}
    >>> [str(degree) for degree in possibilities(p).values()]
    ['1', '3/4', '3/4']
    >>> [str(degree) for degree in possibilities(p, "specificity").values()]
    ['1', '1/2', '1/2']
    """
    values = list(dict.fromkeys(map(str, probabilities))) if isinstance(probabilities, Mapping) else []
    exact = dict(zip(values, by_value(probabilities, values, "probabilities"), strict=True))
    total = sum(exact.values())
    refuse(
        QuestionError,
        (transform not in _TRANSFORMS, f"transform={transform!r} is not one of {', '.join(_TRANSFORMS)}."),
        (
            digits is not None and (type(digits) is not int or not 0 <= digits <= _MOST_DIGITS),
            f"digits={digits!r} must be an integer from 0 to {_MOST_DIGITS}.",
        ),
        (
            not exact or total <= 0 or min(exact.values()) < 0,
            f"the probabilities {dict(probabilities)} must be at least 0, and not all 0.",
        ),
    )
    unit = lcm(*(p.denominator for p in exact.values()))
    whole = {value: p.numerator * (unit // p.denominator) for value, p in exact.items()}
    amounts, top = list(whole.values()), max(whole.values())
    shares: Mapping[str, Callable[[int], Fraction]] = {
        "ratio": lambda p: Fraction(p, top),
        "antipignistic": lambda p: Fraction(sum(min(p, q) for q in amounts), sum(amounts)),
        "specificity": lambda p: Fraction(sum(q for q in amounts if q <= p), sum(amounts)),
    }
    degrees = {value: shares[transform](p) for value, p in whole.items()}
    return degrees if digits is None else {value: round(degree, digits) for value, degree in degrees.items()}


def degrees_of(
    reading: Reading, transform: str = "ratio", digits: int = 6, temperature: Any = 1
) -> dict[str, Fraction]:
    """Return the degrees of possibility of a reading: those of the softmax of its scores.

    Parameters
    ----------
    reading
        The reading.
    transform
        ``"ratio"`` (default), ``"antipignistic"`` or ``"specificity"``.
    digits
        Digits after the point to which degrees are rounded (default: 6). Everything that follows from the
        rounded degrees is exact.
    temperature
        Number by which gaps are divided before the softmax (default: 1).

    Examples
    --------
    >>> door = Reading.given("door", {"open": 0, "shut": 1, "ajar": 3})
    >>> {value: float(degree) for value, degree in degrees_of(door).items()}
    {'open': 1.0, 'shut': 0.367879, 'ajar': 0.049787}
    """
    heat = Fraction(exact_number(temperature, "temperature", QuestionError))
    refuse(
        QuestionError,
        (not isinstance(reading, Reading), f"{str(reading)[:60]!r} is not a Reading. Make one: Reading.of."),
        (heat <= 0, f"temperature is {temperature!r}: give a number above 0."),
    )
    ratios = {
        value: _ratio(Fraction(gap) / heat) for value, gap in zip(reading.values, reading.gaps, strict=True)
    }
    return possibilities(ratios, transform, digits)


@lru_cache(maxsize=1 << 14)
def _ratio(gap: Fraction) -> Fraction:
    """Return exp(-gap), rounded to many digits; readings of one network share their gaps."""
    return Fraction(_EXACT.exp(_EXACT.divide(Decimal(-gap.numerator), Decimal(gap.denominator))))
