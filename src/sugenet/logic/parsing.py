"""Formulas as text, in the syntax of laws: ``if valve = open then pressure in {low, mid}``.

A condition compares a reading with a value, or two readings with each other. Conditions are joined by *not*,
*and*, *or*, *if ... then ...*, *iff* and brackets. Order (``<``, ``>=``) is numeric. A name or a value with
blanks or signs in it goes into quotes. An error gives the position, counted from 1.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from sugenet.capacity.arguments import read_number
from sugenet.capacity.text import DEEPEST, SAME, SIGNS, Connectives, compares, tokens_of
from sugenet.errors import CapacityError, RuleSyntaxError
from sugenet.logic.formulas import Every, Listed, LogicFormula, OneOf, Some, negated
from sugenet.logic.readings import Reading
from sugenet.reprs import quoted

__all__ = ["parse_formula"]

_TOKEN = re.compile(
    r"\s*(?:(?P<sign><=|>=|!=|==|->|=|<|>|[(){},])|(?P<quoted>\"[^\"]*\"|'[^']*')"
    r"|(?P<word>(?:(?!->)[^\s<>=!(){},\"'])+))"
)
_LISTED = ("<=", ">=", "!=", "==", "=", "<", ">")
_WORDS = ("and", "or", "not", "if", "then", "iff", "in", "true", "false")
_MOST_IFF = 12
"""Maximum number of *iff*: each writes both of its sides twice."""


class _Word(NamedTuple):
    text: str
    kind: str
    place: int
    """Position in the text, from 1."""


def parse_formula(text: str, readings: Sequence[Reading]) -> LogicFormula:
    """Read a formula over some readings.

    Examples
    --------
    >>> door = Reading.given("door", {"open": 0, "shut": 2})
    >>> lamp = Reading.given("lamp", {"on": 0, "off": 1})
    >>> parse_formula("if door = open then lamp = on", [door, lamp])
    Some(parts=(OneOf(place=0, allowed=frozenset({1})), OneOf(place=1, allowed=frozenset({0}))))
    >>> parse_formula("door = ajar", [door, lamp])
    Traceback (most recent call last):
    sugenet.errors.RuleSyntaxError: formula, place 8: 'ajar' is not a value of door (open, shut) or a reading.
    """
    if not isinstance(text, str):
        raise RuleSyntaxError(f"a formula is text such as 'if a = 1 then b != 2', not {quoted(text)}.")
    return _FormulaReader(text, readings).complete()


class _FormulaReader(Connectives[LogicFormula]):
    """Parser of one formula, word by word."""

    def __init__(self, text: str, readings: Sequence[Reading]) -> None:
        self.readings = readings
        self.known = {reading.name: index for index, reading in enumerate(readings)}
        self.sizes = [len(reading.values) for reading in readings]
        self.words, self.at, self.depth, self.doubled = _split(text), 0, 0, 0

    @property
    def next(self) -> _Word:
        return self.words[self.at]

    def complete(self) -> LogicFormula:
        formula = self._formula()
        if self.next.kind != "end":
            raise _wrong(self.next, "'and', 'or' or the end")
        return formula

    def _formula(self) -> LogicFormula:
        """Read "if F then F", "F, F -> F" or "F iff F", which bind least, or a disjunction."""
        self.depth += 1
        if self.depth > DEEPEST + 1:
            raise RuleSyntaxError(
                f"formula, place {self.next.place}: more than {DEEPEST} brackets, 'then' or '->' inside each "
                f"other. Give it as several formulas."
            )
        try:
            begun = self.word("if")
            left = self.either()
            if begun:
                self._need("then")
            if begun or self._sign("->"):
                return self.implies(left, self._formula())
            where = self.next.place
            if self.word("iff"):
                self.doubled += 1
                if self.doubled > _MOST_IFF:
                    raise RuleSyntaxError(
                        f"formula, place {where}: it has more than {_MOST_IFF} 'iff', each of which "
                        f"doubles it. Say it as several formulas."
                    )
                right = self._formula()
                return Every((self.implies(left, right), Some((left, self.opposite(right)))))
            return left
        finally:
            self.depth -= 1

    def joined(self, word: str, parts: tuple[LogicFormula, ...]) -> LogicFormula:
        return Some(parts) if word == "or" else Every(parts)

    def opposite(self, part: LogicFormula) -> LogicFormula:
        return negated(part, self.sizes)

    def plain(self) -> LogicFormula:
        if self._sign("("):
            formula = self._formula()
            self._need(")")
            return formula
        if self.word("true"):
            return Every(())
        if self.word("false"):
            return Some(())
        return self._condition()

    # -- conditions ------------------------------------------------------------------------------------------

    def _condition(self) -> LogicFormula:
        word = self._take("a condition such as a = 1")
        index = self.known.get(word.text)
        if index is None or _is_reserved(word):
            names = ", ".join(self.known)
            raise RuleSyntaxError(
                f"formula, place {word.place}: {word.text[:40]!r} is not a reading. There are {names}."
            )
        if self.word("in"):
            self._need("{")
            numbers = [self._value(index)]
            while self._sign(","):
                numbers.append(self._value(index))
            self._need("}")
            return OneOf(index, frozenset(numbers))
        sign = self.next
        if sign.kind != "sign" or sign.text not in SIGNS:
            raise _wrong(sign, f"a sign ({', '.join(_LISTED)}) or 'in' after {word.text}")
        self.at += 1
        return self._compared(index, SAME.get(sign.text, sign.text), sign.place)

    def _compared(self, index: int, sign: str, where: int) -> LogicFormula:
        word = self._take("a value or a reading")
        values = self.readings[index].values
        other = None if _is_reserved(word) else self.known.get(word.text)
        is_value = word.text in values and not (word.kind == "word" and word.text.lower() in _WORDS)
        if is_value and other is not None:
            raise RuleSyntaxError(
                f"formula, place {word.place}: {word.text!r} is a reading and a value of "
                f"{self.readings[index].name}. Call the reading something else."
            )
        if sign in ("=", "!=") and other is None and not is_value:
            raise RuleSyntaxError(self._no_value(word, index))
        if other is not None:
            return self._two(index, sign, other, where)
        if sign in ("=", "!="):
            equal = frozenset(k for k, value in enumerate(values) if (value == word.text) == (sign == "="))
            return OneOf(index, equal)
        bound = _number(word.text)
        if bound is None:
            raise _wrong(word, f"a number, since {sign} compares numbers,")
        numbers = self._numbers(index, where)
        return OneOf(index, frozenset(k for k, number in enumerate(numbers) if compares(number, sign, bound)))

    def _two(self, index: int, sign: str, other: int, where: int) -> LogicFormula:
        if index == other:
            name = self.readings[index].name
            raise RuleSyntaxError(f"formula, place {where}: {name} is compared with itself.")
        left: Sequence[str] | Sequence[Fraction] = self.readings[index].values
        right: Sequence[str] | Sequence[Fraction] = self.readings[other].values
        if sign not in ("=", "!="):
            left, right = self._numbers(index, where), self._numbers(other, where)
        pairs = product(range(len(left)), range(len(right)))
        return Listed(
            (index, other), frozenset((a, b) for a, b in pairs if compares(left[a], sign, right[b]))
        )

    def _numbers(self, index: int, where: int) -> list[Fraction]:
        reading, numbers = self.readings[index], []
        for value in reading.values:
            number = _number(value)
            if number is None:
                raise RuleSyntaxError(
                    f"formula, place {where}: {reading.name} has the value {value!r}, which is not a "
                    f"number, so it has no order: use =, != or in."
                )
            numbers.append(number)
        return numbers

    def _value(self, index: int) -> int:
        word = self._take("a value")
        values = self.readings[index].values
        if word.text not in values:
            raise RuleSyntaxError(self._no_value(word, index))
        return values.index(word.text)

    def _no_value(self, word: _Word, index: int) -> str:
        reading = self.readings[index]
        some = ", ".join(reading.values[:12]) + (", ..." if len(reading.values) > 12 else "")
        known = f"not a value of {reading.name} ({some}) or a reading"
        return f"formula, place {word.place}: {word.text[:40]!r} is {known}."

    # -- words -----------------------------------------------------------------------------------------------

    def word(self, word: str) -> bool:
        is_next = self.next.kind == "word" and self.next.text.lower() == word
        self.at += is_next
        return is_next

    def _sign(self, sign: str) -> bool:
        is_next = self.next.kind == "sign" and self.next.text == sign
        self.at += is_next
        return is_next

    def _need(self, wanted: str) -> None:
        if not (self.word(wanted) or self._sign(wanted)):
            raise _wrong(self.next, f"{wanted!r}")

    def _take(self, wanted: str) -> _Word:
        word = self.next
        if word.kind not in ("word", "quoted"):
            raise _wrong(word, wanted)
        self.at += 1
        return word


def _is_reserved(word: _Word) -> bool:
    return word.kind == "word" and word.text.lower() in _WORDS


def _split(text: str) -> list[_Word]:
    tokens = []
    for kind, raw, index in tokens_of(_TOKEN, text):
        if not kind:
            raise RuleSyntaxError(
                f"formula, place {index + 1}: {raw[:20]!r} cannot be read. "
                f"A quote that is opened must be closed."
            )
        tokens.append(_Word(raw[1:-1] if kind == "quoted" else raw, kind, index + 1))
    return [*tokens, _Word("", "end", len(text) + 1)]


def _wrong(word: _Word, wanted: str) -> RuleSyntaxError:
    problem = "it ends" if word.kind == "end" else f"it has {word.text[:40]!r}"
    return RuleSyntaxError(f"formula, place {word.place}: {problem} where {wanted} is needed.")


def _number(text: str) -> Fraction | None:
    if re.fullmatch(r"[-+]?[0-9]{1,50}(?:\.[0-9]{1,50}|/[0-9]{1,50})?", text) is None:
        return None
    with suppress(CapacityError):
        return Fraction(read_number(text))
    return None
