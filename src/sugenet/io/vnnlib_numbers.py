"""Numbers in VNNLIB files, exactly as they are spelled and within limits; and what is refused there."""

from __future__ import annotations

import re
from fractions import Fraction

from sugenet.checker.query import BIT_LIMIT

__all__ = ["SUPPORTED", "UnsupportedError", "constant_of", "shortened", "sized"]

_NUMBER = re.compile(r"([+-]?)(\d+)?(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
_LONGEST_NUMBER = 20_000  # characters, leading zeros included
SUPPORTED = (
    "Supported are declare-const of X_i and Y_k as Real, and assert with and, or, <=, >=, +, "
    "-, * and numbers."
)


class UnsupportedError(Exception):
    """What is wrong, and the place in the text."""

    def __init__(self, place: int, words: str) -> None:
        super().__init__(words)
        self.place = place


def constant_of(place: int, word: str) -> Fraction:
    """The number that a word spells."""
    found = _NUMBER.fullmatch(word)
    if found is None or not (found[2] or found[3]):
        raise UnsupportedError(place, f"{shortened(word)} is no number or variable. {SUPPORTED}")
    if len(word) > _LONGEST_NUMBER:
        raise UnsupportedError(place, f"{shortened(word)} takes more than 4000 digits.")
    sign, whole, part, power = found[1], found[2] or "", found[3] or "", found[4] or "0"
    digits = (whole + part).strip("0") or "0"  # zeros at the end are counted in the power
    tens = len(whole + part) - len((whole + part).rstrip("0")) - len(part)
    if len(digits) > 4100 or len(power) > 6 or abs(tens + int(power)) > _LONGEST_NUMBER:
        raise UnsupportedError(place, f"{shortened(word)} takes more than 4000 digits.")
    exponent = tens + int(power)
    return sized(place, Fraction(int(sign + digits) * 10 ** max(exponent, 0), 10 ** max(-exponent, 0)))


def sized(place: int, value: Fraction) -> Fraction:
    """A number that is not too long."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BIT_LIMIT:
        raise UnsupportedError(place, "this number takes more than 4000 digits.")
    return value


def shortened(word: str) -> str:
    """A word of a file as it can be shown."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in word[:25])
    return shown if len(word) <= 24 else f"{shown[:20]}..."
