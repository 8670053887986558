"""Numbers in VNNLIB files, read as all text is and within limits; and what is refused there."""

from __future__ import annotations

import re
from fractions import Fraction

from sugenet.capacity.arguments import NUMBER, read_number
from sugenet.errors import CapacityError
from sugenet.problem.query import BIT_LIMIT

__all__ = ["SUPPORTED", "UnsupportedError", "constant_of", "shortened", "sized"]

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
    if re.fullmatch(NUMBER, word) is None:
        raise UnsupportedError(place, f"{shortened(word)} is no number or variable. {SUPPORTED}")
    try:
        return sized(place, Fraction(read_number(word)))
    except CapacityError as error:
        raise UnsupportedError(place, str(error)) from None


def sized(place: int, value: Fraction) -> Fraction:
    """A number that is not too long."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BIT_LIMIT:
        raise UnsupportedError(place, "this number takes more than 4000 digits.")
    return value


def shortened(word: str) -> str:
    """A word of a file as it can be shown."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in word[:25])
    return shown if len(word) <= 24 else f"{shown[:20]}..."
