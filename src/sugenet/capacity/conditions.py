"""How conditions are written: signs that compare, tokens of a line, and the grammar of *not*, *and* and *or*.

Laws, rules and formulas have their own names, values and messages; what they share is here.
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["DEEPEST", "OPPOSITE", "SAME", "SIGNS", "TURNED", "Connectives", "Token", "compares", "tokens_of"]

DEEPEST = 100
"""Brackets inside brackets of a law or a formula."""

_F = TypeVar("_F")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
SIGNS = (">=", "<=", "!=", "==", "<", ">", "=", "≤", "≥", "≠")
"""In an order in which the first that fits is the longest."""
TURNED = {">=": "<=", "<=": ">=", "<": ">", ">": "<", "=": "=", "!=": "!="}
"""The same comparison, written from the other side."""
OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "=": "!=", "!=": "="}
SAME = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
"""Other spellings of a sign."""


def compares(left: Any, sign: str, right: Any) -> bool:
    """Whether two values compare as a sign says.

    Examples
    --------
    >>> [compares(1, sign, 2) for sign in TURNED]
    [False, True, True, False, False, True]
    """
    return bool(_COMPARE[sign](left, right))


class Token(NamedTuple):
    """A piece of a text: the name of the group that it matched, and where it begins, from 0."""

    kind: str
    text: str
    place: int


def tokens_of(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """The tokens of a text, by a pattern whose groups have names; a rest that no group matches comes last, as
    a token without a kind.

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
    """Reads conditions that are joined by *not*, *and*, *or*, in falling strength."""

    @abstractmethod
    def word(self, word: str) -> bool:
        """Take this word, if it comes next."""

    @abstractmethod
    def plain(self) -> _F:
        """Read what has no connective outside of brackets."""

    @abstractmethod
    def joined(self, word: str, parts: tuple[_F, ...]) -> _F:
        """Parts that are joined by *and* or *or*."""

    @abstractmethod
    def opposite(self, part: _F) -> _F:
        """What holds where a part does not."""

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
        """*If* the one *then* the other."""
        return self.joined("or", (self.opposite(body), conclusion))
