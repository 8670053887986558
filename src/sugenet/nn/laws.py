"""Conditions on features as text, and laws made of them: ``if smoker = yes then age >= 16``.

A condition compares a feature with a value. Conditions are joined by *not*, *and*, *or* and brackets, and by
*if ... then ...* in a law. `conjuncts` reads conditions that must all hold, for boxes and rules.

A law has two readings, which share only its syntax: `holds` evaluates it on raw values, and `clauses` writes
it as clauses over steps and categories of the features. At least one literal of each clause must hold.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, floor, inf, nextafter
from typing import Any, NamedTuple, TypeAlias

from sugenet.capacity.arguments import NUMBER, nearest_float, read_number
from sugenet.capacity.text import DEEPEST, OPPOSITE, SAME, SIGNS, TURNED, Connectives, compares
from sugenet.errors import CapacityError, RuleSyntaxError, TooLargeError
from sugenet.nn.codings import OneHot, Steps
from sugenet.nn.encoder import Encoder
from sugenet.reprs import quoted

__all__ = ["Clause", "FeatureCondition", "Law", "Literal", "conjuncts", "some_obey"]

_MOST = 4096
"""Largest number of clauses of one law."""
_WRITTEN = r"[-+]?[0-9.][0-9A-Za-z_./]*(?:(?<=[eE])[-+][0-9]+)?"
"""Text that starts like a number; `read_number` parses it or raises an error."""
_TRIED = 100_000
"""Number of clauses examined after which it stays open whether the laws can be obeyed."""
_YES = (True, "yes", "true", "Yes", "True", "y", 1)


class Literal(NamedTuple):
    """A feature reaches a cut or has a category; if not `on`, it does not."""

    feature: int
    at: Any
    on: bool


Clause: TypeAlias = frozenset[Literal]


class FeatureCondition(NamedTuple):
    """A condition on one feature, numbered from 0."""

    feature: int
    sign: str
    value: Any


class _Connected(NamedTuple):
    kind: str
    """``and``, ``or``, or ``not`` with one part."""
    parts: tuple[Any, ...]


_Formula: TypeAlias = FeatureCondition | _Connected


@dataclass(frozen=True)
class Law:
    """Condition that every input obeys, over the features of an encoder.

    Parameters
    ----------
    text : str
        Text such as ``if smoker = yes then age >= 16``.
    encoder : Encoder
        Encoder whose features the law names.

    Raises
    ------
    RuleSyntaxError
        If the text is not a law about these features.

    Examples
    --------
    >>> from sugenet.nn import bit, integer
    >>> encoder = Encoder([OneHot(("yes", "no")), integer(0, 99), bit()], ["smoker", "age", "sick"])
    >>> law = Law("if smoker then age >= 16 and not sick", encoder)
    >>> law.holds(["yes", 12, 0]), law.holds(["no", 12, 1]), len(law.clauses)
    (False, True, 2)

    See Also
    --------
    Network.within : takes laws as text.
    """

    text: str
    encoder: Encoder = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise RuleSyntaxError(f"a law is text such as 'if a >= 1 then b < 2', not {quoted(self.text)}.")
        object.__setattr__(self, "text", self.text.strip())
        if not self.clauses:
            raise RuleSyntaxError(f"the law {quoted(self.text)} holds for every input, so it says nothing.")
        if not some_obey(self.clauses, self.encoder):
            raise RuleSyntaxError(f"no input can obey the law {quoted(self.text)}.")

    @cached_property
    def _formula(self) -> _Formula:
        return _Parser(self.text, self.encoder).law()

    def holds(self, values: Sequence[Any]) -> bool:
        """Return whether a raw sample, in the order of the features, obeys the law."""
        return _holds(self._formula, values, self.encoder)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The law as clauses; empty if every input obeys it."""
        minimal = _smallest(_clauses(self._formula, True, self.encoder))
        return tuple(sorted(minimal, key=lambda clause: sorted((f, str(at), on) for f, at, on in clause)))

    def __str__(self) -> str:
        return self.text


def _number(coding: Steps, value: Any) -> Any:
    """Return a raw number in a form that compares exactly."""
    number = 0 if coding.bipolar and value == -1 else value
    return number if isinstance(number, float) else Fraction(number)


def _holds(formula: _Formula, values: Sequence[Any], encoder: Encoder) -> bool:
    if isinstance(formula, _Connected):
        truths = (_holds(part, values, encoder) for part in formula.parts)
        if formula.kind == "not":
            return not next(truths)
        return all(truths) if formula.kind == "and" else any(truths)
    coding, value = encoder.codings[formula.feature], values[formula.feature]
    if isinstance(coding, OneHot):
        return bool((value == formula.value) == (formula.sign == "="))
    return compares(_number(coding, value), formula.sign, _number(coding, formula.value))


# -- clauses -------------------------------------------------------------------------------------------------


def _clauses(formula: _Formula, on: bool, encoder: Encoder) -> set[Clause]:
    """Return a formula, or its negation if not `on`, as clauses; an empty clause never holds."""
    if isinstance(formula, FeatureCondition):
        return {clause for clause in _compared(formula, on, encoder) if not _is_certain(clause, encoder)}
    if formula.kind == "not":
        return _clauses(formula.parts[0], not on, encoder)
    parts = [_clauses(part, on, encoder) for part in formula.parts]
    if (formula.kind == "and") == on:
        return _smallest(clause for part in parts for clause in part)
    joined: set[Clause] = {frozenset()}
    for part in parts:
        if len(joined) * len(part) > _MOST:
            raise TooLargeError(f"a law comes to more than {_MOST:,} clauses. Give it as several laws.")
        wider = (a | b for a, b in product(joined, part))
        joined = _smallest(clause for clause in wider if not _is_certain(clause, encoder))
    return joined


def _is_certain(clause: Clause, encoder: Encoder) -> bool:
    """Return whether the literals of a clause on one feature cover all its values."""
    for feature in {literal.feature for literal in clause}:
        literals = [literal for literal in clause if literal.feature == feature]
        coding = encoder.codings[feature]
        if isinstance(coding, OneHot):
            states = coding.categories
            if all(any((state == at) == on for _, at, on in literals) for state in states):
                return True
        elif any(
            not below.on and any(above.on and above.at <= below.at for above in literals)
            for below in literals
        ):
            return True
    return False


def _smallest(clauses: Any) -> set[Clause]:
    """Return the clauses without those that contain another."""
    minimal: list[Clause] = []
    for clause in sorted(set(clauses), key=len):
        if not any(smaller <= clause for smaller in minimal):
            minimal.append(clause)
    return set(minimal)


def _compared(formula: FeatureCondition, on: bool, encoder: Encoder) -> set[Clause]:
    feature, sign, value = formula
    coding = encoder.codings[feature]
    if isinstance(coding, OneHot):
        return {frozenset([Literal(feature, value, (sign == "=") == on)])}
    exact = Fraction(_number(coding, value))
    above, beyond = _cut(coding, exact), _cut(coding, exact, beyond=True)
    truths = {
        ">=": [[(above, True)]],
        ">": [[(beyond, True)]],
        "<": [[(above, False)]],
        "<=": [[(beyond, False)]],
        "=": [[(above, True)], [(beyond, False)]],
        "!=": [[(above, False), (beyond, True)]],
    }[sign if on else OPPOSITE[sign]]
    clauses = set()
    for row in truths:
        literals = [(_reaches(coding, cut), cut, sense) for cut, sense in row]
        if any(sure is sense for sure, _, sense in literals if sure is not None):
            continue  # the clause always holds
        clauses.add(frozenset(Literal(feature, cut, sense) for sure, cut, sense in literals if sure is None))
    return clauses


def _cut(coding: Steps, value: Fraction, *, beyond: bool = False) -> float:
    """Return the cut reached by exactly the values >= `value`, or > it if `beyond`."""
    if coding.whole:
        number = floor(value) + 1 if beyond else ceil(value)
        near = nearest_float(number)
        if abs(near) != inf and near != number:
            raise RuleSyntaxError(f"a law compares with {value}, but floats have no {number}.")
        return near
    near = nearest_float(value)
    if abs(near) == inf:
        return near
    if Fraction(near) < value or (beyond and Fraction(near) == value):
        near = nextafter(near, inf)
    return near


def _reaches(coding: Steps, cut: float) -> bool | None:
    """Return whether all values that can occur reach a cut (True) or none (False); None if some do."""
    if cut <= coding.low or (coding.whole and cut - 1 < coding.low):
        return True
    return False if cut > coding.high or cut == inf else None


def some_obey(
    clauses: Iterable[Clause], encoder: Encoder, states: Mapping[int, Iterable[int]] | None = None
) -> bool:
    """Return whether some input obeys all clauses, or True if deciding takes too long.

    `states`: the states that each feature may have (default: any), for an encoder that has all steps of the
    clauses.
    """
    wanted = list(clauses)
    indices: dict[int, dict[Any, int]] = {}  # for each feature, the states of a cut or a category, as bits
    free: dict[int, int] = {}
    for feature in {literal.feature for clause in wanted for literal in clause}:
        coding = encoder.codings[feature]
        if isinstance(coding, OneHot):
            indices[feature] = {category: 1 << state for state, category in enumerate(coding.categories)}
            free[feature] = (1 << coding.states) - 1
        else:
            named = {at for clause in wanted for f, at, _ in clause if f == feature}
            finer = replace(coding, cuts=tuple(sorted({*coding.cuts, *named})), silent=())
            full = (1 << finer.states) - 1
            indices[feature] = {cut: full >> (t + 1) << (t + 1) for t, cut in enumerate(finer.cuts)}
            free[feature] = sum(1 << state for state in range(finer.states) if finer.reachable(state))
        if states is not None:
            free[feature] = sum(1 << state for state in set(states[feature]))

    def holding(literal: Literal) -> int:
        pattern = indices[literal.feature][literal.at]
        return pattern if literal.on else ~pattern

    rows = [[(literal.feature, holding(literal)) for literal in clause] for clause in wanted]
    return _chosen(rows, free, [_TRIED])


def _chosen(rows: Sequence[Sequence[tuple[int, int]]], free: dict[int, int], left: list[int]) -> bool:
    """Return whether some choice of free states makes one literal of each row hold."""
    left[0] -= 1 + len(rows)
    if left[0] < 0 or not all(free.values()):
        return left[0] < 0
    open_rows = []
    for row in rows:
        if any(free[f] & ~states == 0 for f, states in row):
            continue
        possible = [(f, states) for f, states in row if free[f] & states]
        if not possible:
            return False
        open_rows.append(possible)
    if not open_rows:
        return True
    first = min(open_rows, key=len)
    for f, states in first:
        if _chosen(open_rows, {**free, f: free[f] & states}, left):
            return True
        free = {**free, f: free[f] & ~states}  # the literal fails in the remaining cases
        if not free[f]:
            return False
    return False


# -- reading -------------------------------------------------------------------------------------------------


def conjuncts(text: str, encoder: Encoder, what: str = "condition") -> list[tuple[FeatureCondition, ...]]:
    """Read conditions that must all hold: each is one comparison, or several values that a feature may have.

    Examples
    --------
    >>> from sugenet.nn import integer
    >>> encoder = Encoder([OneHot(("Paris", "Rome")), integer(0, 99)], ["city", "age"])
    >>> [[sign, value] for [(_, sign, value)] in conjuncts("city = Rome and not age >= 30", encoder)]
    [['=', 'Rome'], ['<', 30]]
    """
    return list(_conjuncts(_Parser(text, encoder, what).conditions(), True, f"the {what} {quoted(text)}"))


def _conjuncts(formula: _Formula, on: bool, subject: str) -> Iterator[tuple[FeatureCondition, ...]]:
    """Yield the conditions of a formula, or of its negation if not `on`."""
    if isinstance(formula, FeatureCondition):
        yield (formula if on else formula._replace(sign=OPPOSITE[formula.sign]),)
    elif formula.kind == "not" or (formula.kind == "and") == on:
        for part in formula.parts:
            yield from _conjuncts(part, on != (formula.kind == "not"), subject)
    else:
        parts = [list(_conjuncts(part, on, subject)) for part in formula.parts]
        several = tuple(comparison for part in parts for row in part for comparison in row)
        alike = {(feature, sign) for feature, sign, _ in several} == {(several[0].feature, "=")}
        if not alike or any(len(part) > 1 for part in parts):
            raise RuleSyntaxError(
                f"{subject} joins conditions by 'or', which is for values of one feature only. Ask about "
                "each alternative on its own."
            )
        yield several


class _Parser(Connectives[_Formula]):
    """Parser of one law, or of conditions. Names of features may contain blanks or be quoted."""

    def __init__(self, text: str, encoder: Encoder, what: str = "law") -> None:
        self.text, self.encoder, self.place, self.depth = text, encoder, 0, 0
        self.subject = f"the {what} {quoted(text)}"
        self.names = sorted(
            ((name, feature) for feature, name in enumerate(encoder.names)), key=lambda pair: -len(pair[0])
        )

    def law(self) -> _Formula:
        begun = self.word("if")
        formula = self.either()
        if begun and not self.word("then"):
            raise self._wrong("'then'")
        if begun or self._mark("->"):
            formula = self.implies(formula, self.either())
        return self._ended(formula)

    def conditions(self) -> _Formula:
        """Read conditions without *if* and *then*."""
        return self._ended(self.either())

    def _ended(self, formula: _Formula) -> _Formula:
        self._blanks()
        if self.place < len(self.text):
            raise self._wrong("'and', 'or' or the end")
        return formula

    def joined(self, word: str, parts: tuple[_Formula, ...]) -> _Formula:
        return _Connected(word, parts)

    def opposite(self, part: _Formula) -> _Formula:
        return _Connected("not", (part,))

    def plain(self) -> _Formula:
        if not self._mark("("):
            return self._condition()
        self.depth += 1
        if self.depth > DEEPEST:
            raise RuleSyntaxError(
                f"{self.subject} has more than {DEEPEST} brackets inside each other, at "
                f"character {self.place}. Split it."
            )
        formula = self.either()
        if not self._mark(")"):
            raise self._wrong("')'")
        self.depth -= 1
        return formula

    def _condition(self) -> _Formula:
        before = self._number_before()
        feature = self._feature()
        if feature is None:
            raise self._wrong(f"a condition on a feature ({_some(self.encoder.names)})")
        parts: list[FeatureCondition] = []
        if before is not None:
            parts.append(self._comparison(feature, TURNED[before[1]], before[0]))
        sign = self._sign()
        if sign is not None:
            parts.append(self._comparison(feature, sign, self._value(feature)))
        elif before is None and (self.word("in") or self.word(r"one\s+of")):
            several = tuple(self._comparison(feature, "=", value) for value in self._listed(feature))
            return _Connected("or", several) if len(several) > 1 else several[0]
        if not parts:
            return self._comparison(feature, "=", self._truth(feature))
        return parts[0] if len(parts) == 1 else _Connected("and", tuple(parts))

    def _comparison(self, feature: int, sign: str, value: Any) -> FeatureCondition:
        if isinstance(self.encoder.codings[feature], OneHot) and sign not in ("=", "!="):
            raise RuleSyntaxError(
                f"{self.subject} orders {self.encoder.names[feature]}, which is a category: use = or !=."
            )
        coding = self.encoder.codings[feature]
        is_bit = isinstance(coding, Steps) and coding.bipolar and sign not in ("=", "!=")
        if is_bit and compares(-1, sign, value) != compares(0, sign, value):
            raise RuleSyntaxError(
                f"{self.subject} orders {self.encoder.names[feature]} between -1 and 0, but it "
                f"is a bit, and both are off: use = or !=."
            )
        return FeatureCondition(feature, sign, value)

    def _truth(self, feature: int) -> Any:
        """Return the value of a feature that is named without a comparison."""
        coding, name = self.encoder.codings[feature], self.encoder.names[feature]
        if isinstance(coding, OneHot):
            yes = [c for c in coding.categories if any(type(c) is type(y) and c == y for y in _YES)]
            if len(yes) == 1:
                return yes[0]
        elif coding.whole and (coding.low, coding.high) == (0, 1):
            return 1
        raise RuleSyntaxError(f"{self.subject} names {name}, but does not compare it with a value.")

    def _number_before(self) -> tuple[Any, str] | None:
        """Read a number and a sign before a feature, as in ``0 <= x``."""
        start = self.place
        self._blanks()
        match = re.compile(rf"{NUMBER}(?![\w./])").match(self.text, self.place)
        if match is not None:
            self.place = match.end()
            sign = self._sign()
            if sign is not None and match[0] in self.encoder.names:
                raise RuleSyntaxError(
                    f"{self.subject} has {match[0]}, a number that is the name of a "
                    f"feature too. Put the name into quotes, or write the number after the sign."
                )
            if sign is not None:
                return self._number(match[0]), sign
        self.place = start
        return None

    def _feature(self) -> int | None:
        self._blanks()
        quoted = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`").match(self.text, self.place)
        if quoted is not None:
            name = next(part for part in quoted.groups() if part is not None)
            if name in self.encoder.names:
                self.place = quoted.end()
                return self.encoder.names.index(name)
        for name, feature in self.names:
            for spelled in (name, " ".join(name.split())):
                end = self.place + len(spelled)
                if spelled and self.text.startswith(spelled, self.place) and self._is_complete(spelled, end):
                    self.place = end
                    return feature
        return None

    def _is_complete(self, name: str, end: int) -> bool:
        """Return whether a name is a complete word and not the beginning of a longer one."""
        after = self.text[end : end + 1]
        return not (after and (after.isalnum() or after == "_") and (name[-1].isalnum() or name[-1] == "_"))

    def _sign(self) -> str | None:
        self._blanks()
        sign = next((sign for sign in SIGNS if self.text.startswith(sign, self.place)), None)
        self.place += len(sign or "")
        return None if sign is None else SAME.get(sign, sign)

    def _value(self, feature: int) -> Any:
        coding = self.encoder.codings[feature]
        self._blanks()
        if isinstance(coding, OneHot):
            for text in sorted(coding.by_text, key=len, reverse=True):
                for spelled in (f'"{text}"', f"'{text}'", text):
                    end = self.place + len(spelled)
                    if self.text.startswith(spelled, self.place) and self._is_complete(spelled, end):
                        self.place = end
                        return coding.by_text[text]
            raise self._wrong(f"a category of {self.encoder.names[feature]} ({_some(coding.categories)})")
        match = re.compile(_WRITTEN).match(self.text, self.place)
        if match is None:
            raise self._wrong(f"a number, since a law compares {self.encoder.names[feature]} with a value")
        self.place = match.end()
        return self._number(match[0])

    def _number(self, text: str) -> int | float | Fraction:
        try:
            return read_number(text)
        except CapacityError as error:
            hint = " For a range, write 2 <= x <= 5." if ".." in text else ""
            raise RuleSyntaxError(f"{self.subject} cannot be read: {error}{hint}") from None

    def _listed(self, feature: int) -> Iterator[Any]:
        bracket = next((pair for pair in ("{}", "()", "[]") if self._mark(pair[0])), None)
        yield self._value(feature)
        while self._mark(","):
            yield self._value(feature)
        if bracket is not None and not self._mark(bracket[1]):
            raise self._wrong(f"{bracket[1]!r}")

    def word(self, word: str) -> bool:
        self._blanks()
        pattern = re.compile(rf"{word}\b|&&?|∧" if word == "and" else rf"{word}\b", re.IGNORECASE)
        match = pattern.match(self.text, self.place)
        if match is None:
            return False
        self.place = match.end()
        return True

    def _mark(self, mark: str) -> bool:
        self._blanks()
        if not self.text.startswith(mark, self.place):
            return False
        self.place += len(mark)
        return True

    def _blanks(self) -> None:
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1

    def _wrong(self, wanted: str) -> RuleSyntaxError:
        here = self.text[self.place :][:40].strip()
        actual = f"{here!r}" if here else "its end"
        return RuleSyntaxError(f"{self.subject} has {actual} where {wanted} is needed.")


def _some(items: Sequence[Any]) -> str:
    return ", ".join(map(str, items[:4])) + (", ..." if len(items) > 4 else "")
