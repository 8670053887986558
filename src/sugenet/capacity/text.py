"""Syntax of rules, laws and formulas: comparison signs, tokens, the grammar of *not*, *and* and *or*, names,
values and headers.

The reader reports the position of an error in a line.
"""

from __future__ import annotations

import json
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from sugenet.capacity.criteria import Criteria, Criterion
from sugenet.capacity.scales import BOOLEAN, UNIT, Ordinal, Scale, Value
from sugenet.errors import RuleSyntaxError, ScaleError, SugenetError
from sugenet.reprs import cut

__all__ = [
    "DEEPEST",
    "OPPOSITE",
    "SAME",
    "SIGNS",
    "TURNED",
    "Connectives",
    "Reader",
    "Token",
    "compares",
    "next_line",
    "read_header",
    "text_lines",
    "tokens_of",
    "write_header",
    "write_name",
    "write_value",
]

_T = TypeVar("_T")
_F = TypeVar("_F")
_SHOWN = 120
"""Largest number of characters of a line in an error."""
RESERVED = frozenset({"if", "and", "or", "then", "for", "every", "always", "true", "false", "a", "S"})
WORD = re.compile(r"[^\W\d]\w*")
NUMBER = re.compile(r"0|-?[1-9][0-9]*")
TOKEN = re.compile(
    r"""\s*(?: (?P<quoted>"(?:[^"\\]|\\.)*") | (?P<sign>>=|<=|≥|≤) | (?P<mark>[:,()\[\]<])"""
    r"""     | (?P<bare>1\ -\ [0-9.][0-9.eE+-]* | [^\s:,()\[\]"<>=≤≥]+) )""",
    re.VERBOSE | re.DOTALL,
)


# -- conditions ---------------------------------------------------------------------------------------------

DEEPEST = 100
"""Largest depth of nested brackets in a law or a formula."""

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
SIGNS = (">=", "<=", "!=", "==", "<", ">", "=", "≤", "≥", "≠")
"""Signs in an order in which the first match is the longest."""
TURNED = {">=": "<=", "<=": ">=", "<": ">", ">": "<", "=": "=", "!=": "!="}
"""The same comparison, with the sides swapped."""
OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
SAME = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
"""Other spellings of a sign."""


def compares(left: Any, sign: str, right: Any) -> bool:
    """Return whether two values satisfy the comparison of a sign.

    Examples
    --------
    >>> [compares(1, sign, 2) for sign in TURNED]
    [False, True, True, False, False, True]
    """
    return bool(_COMPARE[sign](left, right))


class Token(NamedTuple):
    """A piece of a text: the name of the group that it matched, and its start, from 0."""

    kind: str
    text: str
    place: int


def tokens_of(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """Yield the tokens of a text, by a pattern with named groups.

    A rest that no group matches comes last, as a token without a kind.

    Examples
    --------
    >>> [token.text for token in tokens_of(re.compile(r" *(?P<word>[a-z]+)"), "a law ?!")]
    ['a', 'law', '?!']
    """
    index, end = 0, len(text.rstrip())
    while index < end:
        match = pattern.match(text, index)
        if match is None:
            index = end - len(text[index:end].lstrip())
            yield Token("", text[index:], index)
            return
        kind = str(match.lastgroup)
        yield Token(kind, match[kind], match.start(kind))
        index = match.end()


class Connectives(ABC, Generic[_F]):
    """Reader of conditions joined by *not*, *and*, *or*, in decreasing precedence."""

    @abstractmethod
    def word(self, word: str) -> bool:
        """Take this word if it is next."""

    @abstractmethod
    def plain(self) -> _F:
        """Read a condition that has no connective outside of brackets."""

    @abstractmethod
    def joined(self, word: str, parts: tuple[_F, ...]) -> _F:
        """Return the parts joined by *and* or *or*."""

    @abstractmethod
    def opposite(self, part: _F) -> _F:
        """Return the negation of a part."""

    def either(self) -> _F:
        """Read parts with *or* between them."""
        return self._several("or", self._each)

    def _each(self) -> _F:
        return self._several("and", self._one)

    def _several(self, word: str, read: Callable[[], _F]) -> _F:
        parts = [read()]
        while self.word(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else self.joined(word, tuple(parts))

    def _one(self) -> _F:
        on = True
        while self.word("not"):
            on = not on
        formula = self.plain()
        return formula if on else self.opposite(formula)

    def implies(self, body: _F, conclusion: _F) -> _F:
        """Return *if* body *then* conclusion."""
        return self.joined("or", (self.opposite(body), conclusion))


# -- names, values and lines ---------------------------------------------------------------------------------


def write_name(name: Criterion) -> str:
    """Return a criterion as written in a rule: in quotes unless it is a number or a plain word."""
    if isinstance(name, int):
        return str(name)
    return name if WORD.fullmatch(name) and name not in RESERVED else json.dumps(name, ensure_ascii=False)


def write_value(value: Value, scale: Scale) -> str:
    """Return a value as written in a rule: levels in quotes unless they are plain words or integers, 0.0 and
    1.0 as 0 and 1.
    """
    if isinstance(scale, Ordinal):
        return write_name(value)
    return str(int(value)) if value in (scale.bottom, scale.top) else str(value)


def write_header(criteria: Criteria, scale: Scale) -> list[str]:
    """Return the lines that state the criteria and the scale."""
    shown = (
        " < ".join(write_value(level, scale) for level in scale.levels)
        if isinstance(scale, Ordinal)
        else str(scale)
    )
    return [f"criteria: {', '.join(map(write_name, criteria))}".rstrip(), f"scale: {shown}"]


def text_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty or comments, with their numbers."""
    return (
        (number, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def read_header(lines: Iterator[tuple[int, str]]) -> tuple[Criteria, Scale]:
    """Read the output of `write_header`."""
    reader = next_line(lines, "criteria: price, comfort, safety")
    names = [] if reader.at_end else reader.separated(",", reader.name)
    criteria = _wrapped(lambda: Criteria(names), reader)
    reader = next_line(lines, "scale: bad < ok < good")
    rest = reader.rest()
    if rest in ("{0, 1}", "[0, 1]"):
        return criteria, BOOLEAN if rest == "{0, 1}" else UNIT
    levels = reader.separated("<", reader.name)
    return criteria, _wrapped(lambda: Ordinal(levels), reader)


def next_line(lines: Iterator[tuple[int, str]], example: str) -> Reader:
    """Return a reader for the rest of the next line, which must begin like the example."""
    number, line = next(lines, (None, ""))
    reader = Reader(line, example, number)
    reader.take(example.partition(":")[0])
    reader.take(":")
    return reader


def _wrapped(make: Callable[[], _T], reader: Reader) -> _T:
    try:
        return make()
    except SugenetError as error:
        reader.fail(str(error).rstrip("."), back=1, cause=error)


class Reader:
    """Reader of the words of one line, one after the other; its errors have the position and a correct
    example.
    """

    def __init__(self, line: str, example: str, number: int | None = None) -> None:
        self.line, self.example, self.number = line, example, number
        self.tokens = [
            Token(kind, SAME.get(text, text) if kind == "sign" else text, index)
            for kind, text, index in tokens_of(TOKEN, line)
        ]
        self.next = 0
        if self.tokens and not self.tokens[-1].kind:
            self.next = len(self.tokens) - 1
            first = self.tokens[-1].text[0]
            self.fail("a quote that is never closed" if first == '"' else f"cannot read {first}")

    @property
    def at_end(self) -> bool:
        """Return whether all words are taken."""
        return self.next == len(self.tokens)

    def take(self, *expected: str) -> str:
        """Take one of the expected words or marks."""
        kind, text, _ = self._peek(" or ".join(expected))
        if kind == "quoted" or text not in expected:
            self.fail(f"found {text}, expected {' or '.join(expected)}")
        self.next += 1
        return text

    def separated(self, mark: str, read: Callable[[], _T]) -> list[_T]:
        """Read one or more items to the end, with this mark between them."""
        items = [read()]
        while not self.at_end:
            self.take(mark)
            items.append(read())
        return items

    def sees(self, word: str) -> bool:
        """Return whether the next word or mark is this one."""
        return not self.at_end and self.tokens[self.next][:2] in {("bare", word), ("mark", word)}

    def name(self) -> Criterion:
        """Take a name: a word, a number, or text in quotes."""
        kind, text, _ = self._peek("a name")
        if kind not in ("bare", "quoted") or (kind == "bare" and text in RESERVED):
            hint = ', which a name can only be in quotes: "' + text + '"' if kind == "bare" else ""
            self.fail(f"found {text}, expected a name{hint}")
        self.next += 1
        if kind == "quoted":
            return self._unquoted(text)
        return int(text) if NUMBER.fullmatch(text) else text

    def criterion(self, criteria: Criteria, taken: Sequence[Criterion]) -> Criterion:
        """Take the name of a criterion that is not among those taken."""
        name = self.name()
        if name not in criteria.names:
            known = [write_name(known) for known in criteria.names]
            more = f" and {len(known) - 8} more" if len(known) > 8 else ""
            self.fail(
                f"unknown criterion {write_name(name)}; the criteria are {', '.join(known[:8])}{more}", back=1
            )
        if name in taken:
            self.fail(f"criterion {write_name(name)} occurs twice", back=1)
        return name

    def value(self, scale: Scale) -> Value:
        """Parse a value of the scale."""
        kind, text, _ = self._peek("a value")
        if kind not in ("bare", "quoted") or (
            kind == "bare" and text in RESERVED and isinstance(scale, Ordinal)
        ):
            self.fail(f"found {text}, expected a value of the scale {scale}")
        self.next += 1
        try:
            return scale.check(self._unquoted(text)) if kind == "quoted" else scale.parse(text)
        except ScaleError as error:
            self.fail(str(error).rstrip("."), back=1, cause=error)

    def rest(self) -> str:
        """Return the text that is not taken yet."""
        return "" if self.at_end else self.line[self.tokens[self.next][2] :].strip()

    def end(self) -> None:
        """Raise an error if anything is left."""
        if not self.at_end:
            self.fail(f"found {self.tokens[self.next][1]} after the end")

    def fail(self, complaint: str, back: int = 0, cause: Exception | None = None) -> NoReturn:
        """Raise an error about the next word, or about the one `back` words earlier."""
        number = self.next - back
        index = self.tokens[number][2] if 0 <= number < len(self.tokens) else len(self.line.rstrip())
        where = f"column {index + 1}" if self.number is None else f"line {self.number}, column {index + 1}"
        first = max(0, index - _SHOWN // 2)
        shown = self.line.rstrip("\n")[first : first + _SHOWN]
        mark = " " * (index - first) + "^"
        message = f"{where}: {cut(complaint, letters=400)}."
        raise RuleSyntaxError(
            f"{message}\n    {shown}\n    {mark}\nWrite it like this: {self.example}"
        ) from cause

    def _peek(self, expected: str) -> tuple[str, str, int]:
        if self.at_end:
            self.fail(f"the text ends, expected {expected}")
        return self.tokens[self.next]

    def _unquoted(self, text: str) -> str:
        try:
            return str(json.loads(text, strict=False))
        except ValueError as error:
            self.fail(
                f"{text} has an unknown escape; write \\\\ for a backslash",
                back=1,
                cause=error,
            )
