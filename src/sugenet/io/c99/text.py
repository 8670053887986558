"""The text of a C file in the making: its functions and constants, each helper written once and only where
something uses it, so that compilers have nothing to warn of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sugenet.errors import FileError

__all__ = ["Text", "integer_type", "literal", "unsigned_type"]

_MAX_NUMBERS = 1 << 24
_SIGNED = (("int8_t", 8), ("int16_t", 16), ("int32_t", 32), ("int64_t", 64))
_UNSIGNED = (("uint8_t", 8), ("uint16_t", 16), ("uint32_t", 32))


def integer_type(low: int, high: int) -> str:
    """The smallest type that holds a range, its least value aside, which C cannot spell."""
    bits = max(high, -low).bit_length() + 1
    return next(name for name, size in _SIGNED if bits <= size)


def unsigned_type(top: int) -> str:
    """The smallest type that holds 0..top."""
    return next(name for name, size in _UNSIGNED if top.bit_length() <= size)


def literal(value: Any) -> str:
    """A number as C spells it, exactly."""
    if isinstance(value, float):
        if value in (np.inf, -np.inf):
            return "INFINITY" if value > 0 else "-INFINITY"
        return str(int(value)) + ".0" if value == int(value) and abs(value) < 2**53 else value.hex()
    return f"INT64_C({value})" if abs(value) >= 1 << 31 else str(value)


class Text:
    """What has been written so far; `prefix` begins every name in it."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.parts: list[str] = []
        self.bytes = 0
        """Of all constants."""
        self._helpers: set[str] = set()
        self._numbers = 0

    def add(self, lines: str) -> None:
        """Write lines; ``@`` stands for the prefix."""
        self.parts.append(lines.replace("@", self.prefix))

    def helper(self, name: str, lines: str) -> str:
        """Write a helper the first time it is asked for; give its full name."""
        if name not in self._helpers:
            self._helpers.add(name)
            self.add(lines)
        return f"{self.prefix}_{name}"

    def constant(self, name: str, ctype: str, values: Any) -> str:
        """Write an array of constants; give its full name."""
        flat = np.asarray(values).reshape(-1).tolist()
        self._numbers += len(flat)
        if self._numbers > _MAX_NUMBERS:
            raise FileError(f"it needs more than {_MAX_NUMBERS:,} constants, too many for a C file.")
        size = 8 if ctype == "double" else int("".join(filter(str.isdigit, ctype))) // 8
        self.bytes += size * len(flat)
        spelled = (f"0x{value:08x}u" for value in flat) if ctype == "uint32_t" else map(literal, flat)
        self.add(f"static const {ctype} @_{name}[{max(len(flat), 1)}] = {{\n{_wrapped(spelled) or '0'}\n}};")
        return f"{self.prefix}_{name}"

    def numbers(self, name: str, values: Any) -> str:
        """Write signed whole numbers in the smallest type that holds them."""
        array = np.asarray(values)
        return self.constant(name, self.type_of(array), array)

    @staticmethod
    def type_of(values: Any) -> str:
        """The smallest type of some whole numbers."""
        array = np.asarray(values)
        return integer_type(int(array.min(initial=0)), int(array.max(initial=0)))

    def __str__(self) -> str:
        return "\n\n".join(self.parts) + "\n"


def _wrapped(tokens: Iterable[str]) -> str:
    lines, line = [], ""
    for word in tokens:
        if len(line) + len(word) + 2 > 110:
            lines.append(line)
            line = ""
        line += f" {word}," if line else f"    {word},"
    lines.append(line)
    return "\n".join(lines)
