"""The text of a C file under construction, and the signals between its layers.

Functions and constants are added in order. Each helper is written once and only if used, so that compilers do
not warn. A signal is packed words of bits, or an array of levels.

Each reader states the form of its inputs, and the writer before it uses that form. Dense layers read bits in
their own order. Convolutions and pooling read them pixel by pixel, with separate words for each pixel's
channels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Head, Layer
from sugenet.nn.arrays import Bits

__all__ = ["SET", "Signal", "Text", "Values", "Words", "literal", "pack", "wanted"]

_MAX_NUMBERS = 1 << 24
_SIGNED = (("int8_t", 8), ("int16_t", 16), ("int32_t", 32), ("int64_t", 64))
_UNSIGNED = (("uint8_t", 8), ("uint16_t", 16), ("uint32_t", 32))


def literal(value: Any) -> str:
    """Return a number as an exact C literal."""
    if isinstance(value, float):
        if value in (np.inf, -np.inf):
            return "INFINITY" if value > 0 else "-INFINITY"
        return str(int(value)) + ".0" if value == int(value) and abs(value) < 2**53 else value.hex()
    return f"INT64_C({value})" if abs(value) >= 1 << 31 else str(value)


class Text:
    """The text so far; all names start with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.parts: list[str] = []
        self.bytes = 0
        """Bytes of all constants."""
        self._helpers: set[str] = set()
        self._numbers = 0

    def add(self, lines: str) -> None:
        """Add lines; ``@`` is replaced by the prefix."""
        self.parts.append(lines.replace("@", self.prefix))

    def helper(self, name: str, lines: str) -> str:
        """Write a helper at its first use, and return its full name."""
        if name not in self._helpers:
            self._helpers.add(name)
            self.add(lines)
        return f"{self.prefix}_{name}"

    def constant(self, name: str, ctype: str, values: Any) -> str:
        """Write an array of constants, and return its full name."""
        flat = np.asarray(values).reshape(-1).tolist()
        self._numbers += len(flat)
        refuse_if(
            self._numbers > _MAX_NUMBERS,
            f"it needs more than {_MAX_NUMBERS:,} constants, too many for a C file.",
        )
        size = 8 if ctype == "double" else int("".join(filter(str.isdigit, ctype))) // 8
        self.bytes += size * len(flat)
        spelled = (f"0x{value:08x}u" for value in flat) if ctype == "uint32_t" else map(literal, flat)
        self.add(f"static const {ctype} @_{name}[{max(len(flat), 1)}] = {{\n{_wrapped(spelled) or '0'}\n}};")
        return f"{self.prefix}_{name}"

    def numbers(self, name: str, values: Any) -> str:
        """Write signed integers in the smallest type that holds them."""
        array = np.asarray(values)
        return self.constant(name, self.type_of(array), array)

    @staticmethod
    def type_of(values: Any) -> str:
        """Return the smallest type of some integers, excluding its minimum, which C cannot write as a
        literal.
        """
        array = np.asarray(values)
        bits = max(int(array.max(initial=0)), -int(array.min(initial=0))).bit_length() + 1
        return next(name for name, size in _SIGNED if bits <= size)

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


SET = """static void @_set(uint32_t *words, uint32_t place, int on)
{
    words[place >> 5] |= (uint32_t)(on != 0) << (place & 31);
}"""


@dataclass(frozen=True)
class Words:
    """Packed bits: in order, or pixel by pixel if there is a shape."""

    bits: int
    shape: tuple[int, int, int] | None = None

    ctype = "uint32_t"
    member = "words"

    @property
    def per_pixel(self) -> int:
        """Words per pixel."""
        return 0 if self.shape is None else -(-self.shape[0] // 32)

    @property
    def length(self) -> int:
        """Number of words."""
        if self.shape is None:
            return max(1, -(-self.bits // 32))
        return self.per_pixel * self.shape[1] * self.shape[2]

    def index(self, flat: str) -> str:
        """Return the position of the bit with a flat index, as an expression."""
        if self.shape is None:
            return flat
        pixels, stride = self.shape[1] * self.shape[2], 32 * self.per_pixel
        return f"{flat} % {pixels}u * {stride}u + {flat} / {pixels}u"

    def store(self, text: Text, flat: str, condition: str, _level: str) -> str:
        """Return a statement that stores a bit."""
        name = text.helper("set", SET)
        return f"{name}(out, {self.index(flat)}, {condition});"

    @property
    def clear(self) -> str:
        """Return the statement before the first bit is stored."""
        return f"    for (uint32_t i = 0; i < {self.length}u; i++) out[i] = 0;\n"


@dataclass(frozen=True)
class Values:
    """One number per value, in flat order; bits are 0 and 1."""

    length: int
    top: int

    clear = ""

    @property
    def ctype(self) -> str:
        """Type of a value: the smallest that holds all."""
        return next(name for name, size in _UNSIGNED if self.top.bit_length() <= size)

    @property
    def member(self) -> str:
        """Name of its member in the buffer."""
        return f"levels{self.ctype.strip('uint_')}"

    def store(self, _text: Text, flat: str, condition: str, level: str) -> str:
        """Return a statement that stores a level."""
        return f"out[{flat}] = ({self.ctype})({level or condition});"


Signal = Words | Values


def wanted(reader: Layer | Head, top: int) -> Signal:
    """Return the signal that a layer or the head reads, if the largest level is `top`."""
    plain = int(np.abs(reader.weights).max(initial=0)) <= 1
    if isinstance(reader, Head):
        return Words(reader.inputs) if reader.tops is None and plain else Values(reader.inputs, top)
    if reader.tops is not None or not plain or (reader.every is None and reader.groups > 1):
        return Values(reader.inputs, top)
    return Words(reader.inputs, None if reader.window is None else reader.window.shape)


def pack(rows: Bits) -> npt.NDArray[np.uint32]:
    """Pack rows of bits into words, the first bit lowest."""
    wide = np.zeros((len(rows), max(1, -(-rows.shape[1] // 32)) * 32), bool)
    wide[:, : rows.shape[1]] = rows
    weights = np.uint64(1) << np.arange(32, dtype=np.uint64)
    words = (wide.reshape(len(rows), -1, 32) * weights).sum(axis=2, dtype=np.uint64)
    return np.asarray(words, np.uint32)
