"""What one layer hands to the next in C: packed words of bits, or an array of levels.

Each reader says what it wants, and what stands before it writes just that. Dense layers read bits in their
own order; convolutions and pooling read them pixel by pixel, the channels of a pixel in words of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Head, Layer
from sugenet.io.c99.text import Text, unsigned_type

__all__ = ["SET", "Signal", "Values", "Words", "pack", "wanted"]

SET = """static void @_set(uint32_t *words, uint32_t place, int on)
{
    words[place >> 5] |= (uint32_t)(on != 0) << (place & 31);
}"""


@dataclass(frozen=True)
class Words:
    """Packed bits: in order, or, where there is a shape, pixel by pixel."""

    bits: int
    shape: tuple[int, int, int] | None = None

    ctype = "uint32_t"
    member = "words"

    @property
    def per_pixel(self) -> int:
        """Words of one pixel."""
        return 0 if self.shape is None else -(-self.shape[0] // 32)

    @property
    def length(self) -> int:
        """Number of words."""
        if self.shape is None:
            return max(1, -(-self.bits // 32))
        return self.per_pixel * self.shape[1] * self.shape[2]

    def place(self, flat: str) -> str:
        """Where the bit of a flat number stands, as an expression."""
        if self.shape is None:
            return flat
        pixels, stride = self.shape[1] * self.shape[2], 32 * self.per_pixel
        return f"{flat} % {pixels}u * {stride}u + {flat} / {pixels}u"

    def store(self, text: Text, flat: str, condition: str, _level: str) -> str:
        """A statement that keeps a bit."""
        name = text.helper("set", SET)
        return f"{name}(out, {self.place(flat)}, {condition});"

    @property
    def clear(self) -> str:
        """What comes before the first bit is stored."""
        return f"    for (uint32_t i = 0; i < {self.length}u; i++) out[i] = 0;\n"


@dataclass(frozen=True)
class Values:
    """One number a value, in its flat order; bits are 0 and 1."""

    length: int
    top: int

    clear = ""

    @property
    def ctype(self) -> str:
        """Type of a value."""
        return unsigned_type(self.top)

    @property
    def member(self) -> str:
        """Name in the buffer that holds it."""
        return f"levels{self.ctype.strip('uint_')}"

    def store(self, _text: Text, flat: str, condition: str, level: str) -> str:
        """A statement that keeps a level."""
        return f"out[{flat}] = ({self.ctype})({level or condition});"


Signal = Words | Values


def wanted(reader: Layer | Head, top: int) -> Signal:
    """What a layer or the head reads, where the largest level is `top`."""
    plain = int(np.abs(reader.weights).max(initial=0)) <= 1
    if isinstance(reader, Head):
        return Words(reader.inputs) if reader.tops is None and plain else Values(reader.inputs, top)
    if reader.tops is not None or not plain or (reader.every is None and reader.groups > 1):
        return Values(reader.inputs, top)
    return Words(reader.inputs, None if reader.window is None else reader.window.shape)


def pack(rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    """Rows of bits as words, the first bit lowest."""
    wide = np.zeros((len(rows), max(1, -(-rows.shape[1] // 32)) * 32), bool)
    wide[:, : rows.shape[1]] = rows
    weights = np.uint64(1) << np.arange(32, dtype=np.uint64)
    words = (wide.reshape(len(rows), -1, 32) * weights).sum(axis=2, dtype=np.uint64)
    return np.asarray(words, np.uint32)
