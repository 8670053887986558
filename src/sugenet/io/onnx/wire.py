"""The wire format of protocol buffers, as far as ONNX files need it: read and write the fields of a message.

Reading needs no third-party package and runs no foreign code. Every field counts against a budget, and
nesting uses no recursion. Tensor data stay views of the file. So a file uses at most a small multiple of its
own size in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.plain.refusals import expected
from sugenet.nn.arrays import Array, Ints

__all__ = ["Budget", "Message", "blob", "floats", "number", "numbers"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DAMAGED = "The file is damaged, or it is not an ONNX file."


@dataclass
class Budget:
    """Number of fields that may still be read before the file is refused."""

    fields: int = 400_000

    def spend(self) -> None:
        """Count one field."""
        self.fields -= 1
        if self.fields < 0:
            raise FileError(
                "it holds more than 400,000 fields, far more than a binarized network needs. "
                "Simplify the model first."
            )


class Message:
    """The fields of one message, each with its values in the order of the file.

    Examples
    --------
    >>> raw = number(1, 8) + blob(2, b"sugenet")
    >>> message = Message(raw, Budget())
    >>> message.number(1), message.text(2), message.number(3, default=-1)
    (8, 'sugenet', -1)
    """

    def __init__(self, raw: Any, budget: Budget) -> None:
        self.budget = budget
        self._fields: dict[int, list[int | memoryview]] = {}
        view = memoryview(raw)
        index, end = 0, len(view)
        while index < end:
            budget.spend()
            key, index = _varint(view, index)
            kind = key & 7
            held = self._fields.setdefault(key >> 3, [])
            if kind == _VARINT:
                value, index = _varint(view, index)
                held.append(value)
            else:
                if kind == _BYTES:
                    size, index = _varint(view, index)
                elif kind in (_FIXED64, _FIXED32):
                    size = 8 if kind == _FIXED64 else 4
                else:
                    raise FileError(f"a field has wire type {kind}, which ONNX does not use. {_DAMAGED}")
                if size > end - index:
                    raise FileError(
                        f"a field of {size} bytes stands where only {end - index} are left. {_DAMAGED}"
                    )
                held.append(view[index : index + size])
                index += size

    def __contains__(self, field: int) -> bool:
        return field in self._fields

    def number(self, field: int, default: int = 0) -> int:
        """Return a signed integer; the last one if there are several."""
        if field not in self._fields:
            return default
        value = self._fields[field][-1]
        return _signed(expected(value, int, f"field {field} should be a number. {_DAMAGED}"))

    def real(self, field: int, default: float = 0.0) -> float:
        """Return a 32-bit float."""
        if field not in self._fields:
            return default
        value = self._fields[field][-1]
        if isinstance(value, int) or len(value) != 4:
            raise FileError(f"field {field} should be a 32-bit float. {_DAMAGED}")
        return float(struct.unpack("<f", value)[0])

    def raw(self, field: int) -> memoryview | None:
        """Return the bytes of a field; None if it is missing."""
        values = self.raws(field)
        return values[-1] if values else None

    def raws(self, field: int) -> list[memoryview]:
        """Return all byte strings of a field."""
        values = self._fields.get(field, [])
        byte_strings = [value for value in values if not isinstance(value, int)]
        if len(byte_strings) < len(values):
            raise FileError(f"field {field} should be bytes, but is a number. {_DAMAGED}")
        return byte_strings

    def text(self, field: int) -> str:
        """Return a text; empty if the field is missing."""
        return self.texts(field)[-1] if field in self._fields else ""

    def texts(self, field: int) -> list[str]:
        """Return all texts of a field."""
        try:
            return [str(value, "utf-8") for value in self.raws(field)]
        except UnicodeDecodeError:
            raise FileError(f"field {field} should be text, but is not UTF-8. {_DAMAGED}") from None

    def messages(self, field: int) -> list[Message]:
        """Return all messages of a field."""
        return [Message(value, self.budget) for value in self.raws(field)]

    def message(self, field: int) -> Message | None:
        """Return one message; None if the field is missing."""
        raws = self.raws(field)
        if len(raws) > 1:  # other programs merge the two
            raise FileError(f"field {field} holds a message twice. {_DAMAGED}")
        return Message(raws[0], self.budget) if raws else None

    def numbers(self, field: int) -> Ints:
        """Return integers, written one by one or packed."""
        values = self._fields.get(field, [])
        if all(isinstance(value, int) for value in values):
            return np.array([_signed(value) for value in values if isinstance(value, int)], np.int64)
        return np.concatenate(
            [np.array([_signed(v)], np.int64) if isinstance(v, int) else _unpacked(v) for v in values]
        )

    def fixed(self, field: int, dtype: str) -> Array:
        """Return floats of a fixed size, written one by one or packed."""
        joined = b"".join(self.raws(field)) if len(self._fields.get(field, ())) != 1 else self.raws(field)[0]
        if len(joined) % np.dtype(dtype).itemsize:
            raise FileError(
                f"field {field} has {len(joined)} bytes, not a multiple of a float's size. {_DAMAGED}"
            )
        return np.frombuffer(joined, dtype)


def _varint(view: memoryview, index: int) -> tuple[int, int]:
    value = shift = 0
    end = len(view)
    while index < end and shift < 70:
        byte = view[index]
        index += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, index
        shift += 7
    raise FileError(f"a number does not end. {_DAMAGED}")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _unpacked(view: memoryview) -> Ints:
    """Return the numbers of a packed field, all at once."""
    data = np.frombuffer(view, np.uint8)
    last = np.flatnonzero(data < 128)
    if len(data) and (not len(last) or last[-1] != len(data) - 1):
        raise FileError(f"a list of numbers does not end. {_DAMAGED}")
    first = np.concatenate([[0], last[:-1] + 1]) if len(last) else last
    sizes = last - first + 1
    if sizes.max(initial=0) > 10:
        raise FileError(f"a number does not end. {_DAMAGED}")
    unpacked = np.zeros(len(last), np.uint64)
    for step in range(int(sizes.max(initial=0))):
        more = sizes > step
        unpacked[more] |= (data[first[more] + step] & 127).astype(np.uint64) << np.uint64(7 * step)
    return unpacked.astype(np.int64)


def number(field: int, value: int) -> bytes:
    """Return a field with an integer."""
    return _coded(field << 3 | _VARINT) + _coded(value & 0xFFFFFFFFFFFFFFFF)


def numbers(field: int, values: Iterable[int]) -> bytes:
    """Return a field with several integers, one by one."""
    return b"".join(number(field, int(value)) for value in values)


def blob(field: int, value: bytes | str) -> bytes:
    """Return a field with bytes, text or a message."""
    raw = value.encode() if isinstance(value, str) else value
    return _coded(field << 3 | _BYTES) + _coded(len(raw)) + raw


def floats(field: int, values: Iterable[float]) -> bytes:
    """Return a field with 32-bit floats, one by one."""
    return b"".join(_coded(field << 3 | _FIXED32) + struct.pack("<f", value) for value in values)


def _coded(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
