"""Words of VNNLIB files: numbers within limits, the declarations of version 2, and unsupported words.

Version 2 declares one network with an input and an output tensor, whose elements are written X[0,2]. They
are numbered in row-major order, like the values of the ONNX tensor in memory. So X[0,2] of shape [1,10] is
X_2 in version 1.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

from sugenet.capacity.arguments import NUMBER, read_number
from sugenet.errors import CapacityError
from sugenet.problem.query import BIT_LIMIT

__all__ = [
    "DECLARING",
    "SUPPORTED",
    "WORD",
    "Declared",
    "UnsupportedError",
    "constant_of",
    "shortened",
    "sized",
    "unsupported_if",
]

SUPPORTED = (
    "Supported are declare-const of X_i and Y_k as Real, and assert with and, or, <=, >=, +, "
    "-, * and numbers."
)


class UnsupportedError(Exception):
    """An error with its position in the text."""

    def __init__(self, place: int, words: str) -> None:
        super().__init__(words)
        self.place = place


def unsupported_if(wrong: object, index: int, message: str) -> None:
    """Raise `UnsupportedError` if something is wrong."""
    if wrong:
        raise UnsupportedError(index, message)


def constant_of(index: int, word: str) -> Fraction:
    """Return the number that a word spells."""
    if re.fullmatch(NUMBER, word) is None:
        raise UnsupportedError(index, f"{shortened(word)} is not a number or variable. {SUPPORTED}")
    try:
        return sized(index, Fraction(read_number(word)))
    except CapacityError as error:
        raise UnsupportedError(index, str(error)) from None


def sized(index: int, value: Fraction) -> Fraction:
    """Return a number after checking that it is not too long."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BIT_LIMIT:
        raise UnsupportedError(index, "this number takes more than 4000 digits.")
    return value


def shortened(word: str) -> str:
    """Return a word of a file, shortened for display."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in word[:25])
    return shown if len(word) <= 24 else f"{shown[:20]}..."


# -- declarations --------------------------------------------------------------------------------------------

DECLARING = (
    "declare-const",
    "vnnlib-version",
    "declare-network",
    "declare-input",
    "declare-output",
    "declare-hidden",
    "isomorphic-to",
    "equal-to",
)
"""Commands whose words are names, not numbers."""
WORD = r"[A-Za-z]\w*\[[^\[\]()\";]*\]|\[[^\[\]()\";]*\]|\"[^\"\n]*\""
"""An element, a shape, or the name of a node. They may contain spaces."""
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_ELEMENT = re.compile(r"([A-Za-z]\w*)(?:\[([^\]]*)\])?", re.ASCII)
_VERSION = re.compile(r"<(\d{1,4})\.(\d{1,4})>", re.ASCII)
_TYPES = ("real", "float16", "float32", "float64", "float", "double")
_MOST = 1 << 24
_ONE = "one network with one input and one output is supported"


@dataclass
class Declared:
    """Tensors by name, each X or Y with its shape."""

    is_new: bool = False
    """Whether the file has declared version 2."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    network: str | None = None

    def counts(self) -> dict[str, int]:
        """Return the number of elements of the input and of the output."""
        return {kind: prod(shape) for kind, shape in self.tensors.values()}

    def take(self, index: int, tokens: list[Any], *, inside: bool, older: bool) -> str | None:
        """Read a declaration. A declaration inside declare-network returns its own name."""
        head = tokens[0]
        unsupported_if(
            older and not self.network,
            index,
            f"{head} is of version 2, and the file declares variables as version 1 does.",
        )
        unsupported_if(
            not inside and head not in ("vnnlib-version", "declare-network"),
            index,
            f"{head} is inside of declare-network.",
        )
        self.is_new = True
        match head:
            case "vnnlib-version":
                version = _VERSION.fullmatch(str(tokens[1])) if len(tokens) == 2 else None
                if version is None or version[1] != "2":
                    raise UnsupportedError(
                        index, "the version is not one that is known: write (vnnlib-version <2.0>)."
                    )
                return None
            case "declare-network":
                self._network(index, tokens)
                return None
            case "declare-input" | "declare-output":
                return self._tensor(index, head, tokens)
        raise UnsupportedError(index, f"{head} is not supported: {_ONE}.")

    def _network(self, index: int, tokens: list[Any]) -> None:
        name, parts = (tokens[1] if len(tokens) > 1 else None), tokens[2:]
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith("declare-"):
            raise UnsupportedError(
                index, "a network is declared like (declare-network f (declare-input ...) ...)."
            )
        unsupported_if(
            self.network is not None or parts != ["declare-input", "declare-output"],
            index,
            f"{_ONE}, declared in this order.",
        )
        self.network = name

    def _tensor(self, index: int, head: str, tokens: list[Any]) -> str:
        unsupported_if(
            not 4 <= len(tokens) <= 5 or not all(isinstance(word, str) for word in tokens),
            index,
            f"a tensor is declared like ({head} X Real [1,10]).",
        )
        _, name, kind, shape, *node = tokens
        unsupported_if(
            not _NAME.fullmatch(name) or name in self.tensors,
            index,
            f"{name[:40]!r} is not a name, or declared twice.",
        )
        unsupported_if(
            kind.lower() not in _TYPES,
            index,
            f"the element type {kind[:40]} is not supported: write Real.",
        )
        unsupported_if(
            not (shape.startswith("[") and shape.endswith("]")) or (node and not node[0].startswith('"')),
            index,
            f"a tensor is declared like ({head} {name} Real [1,10]).",
        )
        sizes = _numbers(index, shape[1:-1])
        unsupported_if(
            0 in sizes or prod(sizes) > _MOST,
            index,
            f"the shape {shape[:60]} has no elements, or more than {_MOST:,}.",
        )
        self.tensors[name] = ("X" if head == "declare-input" else "Y", sizes)
        return head

    def element(self, index: int, word: str) -> tuple[str, int] | None:
        """Return X or Y and the index of an element; None if the word does not name an element."""
        match = _ELEMENT.fullmatch(word)
        if match is None:
            return None
        if match[1] not in self.tensors:
            raise UnsupportedError(index, f"{match[1][:40]} is not declared in the network.")
        kind, shape = self.tensors[match[1]]
        indices = _numbers(index, match[2] or "")
        if len(indices) != len(shape) or any(i >= size for i, size in zip(indices, shape, strict=True)):
            sizes = ",".join(map(str, shape))
            raise UnsupportedError(
                index, f"{word[:40]} is not an element of {match[1]}, which has shape [{sizes}]."
            )
        number = 0
        for i, size in zip(indices, shape, strict=True):
            number = number * size + i
        return kind, number


def _numbers(index: int, text: str) -> tuple[int, ...]:
    numerals = [word.strip() for word in text.split(",")] if text.strip() else []
    if not all(word.isdecimal() and word.isascii() and len(word) < 10 for word in numerals):
        raise UnsupportedError(index, f"[{text[:40]}] are not integers separated by commas.")
    return tuple(int(word) for word in numerals)
