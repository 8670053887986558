"""Read FlatBuffers, and maps of scalars in FlexBuffers, within strict bounds.

Nothing is trusted: every position and every length is checked before it is used, and vectors are views of
the file, so that a small file takes little memory.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Array

__all__ = ["Flat", "FlatTable", "flex_map"]

_TABLES = 1 << 16
"""Largest number of tables in a vector."""
_TEXT = 1 << 12
_KEYS = 1 << 8
Bytes: TypeAlias = bytes | memoryview


class Flat:
    """The bytes of a FlatBuffer.

    Examples
    --------
    >>> Flat(bytes(8)).root
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: it is damaged: the table at byte 0 overlaps its own field table.
    """

    def __init__(self, raw: Bytes) -> None:
        self.raw = raw

    @property
    def root(self) -> FlatTable:
        """The first table."""
        return FlatTable(self, self.follow(0))

    def number(self, kind: str, at: int) -> Any:
        """Return one number, in the notation of `struct`."""
        size = struct.calcsize("<" + kind)
        if not 0 <= at <= len(self.raw) - size:
            raise FileError(f"it is damaged or cut off: it points to byte {at:,} of {len(self.raw):,}.")
        return struct.unpack_from("<" + kind, self.raw, at)[0]

    def follow(self, at: int) -> int:
        """Return the position that an offset points to."""
        return at + int(self.number("I", at))

    def array(self, kind: str, at: int, count: int) -> Array:
        """Return numbers as a view of the file."""
        made = np.dtype(kind).newbyteorder("<")
        if at + count * made.itemsize > len(self.raw):
            raise FileError(f"it is damaged or cut off: {count:,} numbers at byte {at:,} do not fit in it.")
        return np.frombuffer(self.raw, made, count, at)


class FlatTable:
    """One table, with the fields that it has."""

    def __init__(self, flat: Flat, at: int) -> None:
        self.flat, self.at = flat, at
        fields = at - flat.number("i", at)
        size, length = (int(flat.number("H", fields + k)) for k in (0, 2))
        refuse_if(fields == at, f"it is damaged: the table at byte {at:,} overlaps its own field table.")
        refuse_if(
            size < 4
            or size % 2
            or length < 4
            or fields + size > len(flat.raw)
            or at + length > len(flat.raw),
            f"it is damaged: the field table at byte {fields:,} has impossible sizes.",
        )
        positions = flat.array("u2", fields + 4, (size - 4) // 2).tolist()
        refuse_if(
            any(position >= length for position in positions),
            f"it is damaged: the table at byte {at:,} is too short.",
        )
        self._places = {slot: at + position for slot, position in enumerate(positions) if position}

    @property
    def slots(self) -> set[int]:
        """The numbers of the fields that are there."""
        return set(self._places)

    def number(self, slot: int, kind: str, default: Any = 0) -> Any:
        """Return a number, or the default of the format if it is not there."""
        return self.flat.number(kind, self._places[slot]) if slot in self._places else default

    def table(self, slot: int) -> FlatTable | None:
        """Return a table."""
        return FlatTable(self.flat, self.flat.follow(self._places[slot])) if slot in self._places else None

    def array(self, slot: int, kind: str) -> Array | None:
        """Return a vector of numbers."""
        if slot not in self._places:
            return None
        at = self.flat.follow(self._places[slot])
        return self.flat.array(kind, at + 4, int(self.flat.number("I", at)))

    def text(self, slot: int) -> str:
        """Return a text, at most 4,096 bytes of it."""
        raw = self.array(slot, "u1")
        return "" if raw is None else raw[:_TEXT].tobytes().decode("utf-8", "replace")

    def tables(self, slot: int) -> list[FlatTable]:
        """Return a vector of tables."""
        offsets = self.array(slot, "u4")
        if offsets is None:
            return []
        refuse_if(len(offsets) > _TABLES, f"it has {len(offsets):,} tables in a row; {_TABLES:,} are read.")
        start = self.flat.follow(self._places[slot]) + 4
        return [FlatTable(self.flat, start + 4 * k + offset) for k, offset in enumerate(offsets.tolist())]


_INT, _UINT, _FLOAT, _KEY, _STRING, _INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT, _MAP = range(1, 10)
_BOOL = 26
_KINDS = {_INT: "bhiq", _UINT: "BHIQ", _BOOL: "BHIQ", _FLOAT: "?efd"}


def flex_map(raw: Bytes) -> dict[str, int | float | str | bool]:
    """Return the map of numbers and texts that a FlexBuffer consists of.

    Examples
    --------
    >>> flex_map(bytes([97, 0, 1, 3, 1, 1, 1, 7, 4, 2, 36, 1]))
    {'a': 7}
    """
    flat, end = Flat(raw), len(raw)
    refuse_if(end < 3, "its options are cut off.")
    width, packed = _width(int(flat.number("B", end - 1))), int(flat.number("B", end - 2))
    refuse_if(packed >> 2 != _MAP, "its options are not a map.")
    at = _behind(flat, end - 2 - width, width)
    width = 1 << (packed & 3)
    count = _unsigned(flat, at - width, width)
    refuse_if(count > _KEYS, f"its options have {count:,} entries; {_KEYS} are read.")
    keys = _behind(flat, at - 3 * width, width)
    key_width = _width(_unsigned(flat, at - 2 * width, width))
    refuse_if(_unsigned(flat, keys - key_width, key_width) != count, "its options have keys without values.")
    options: dict[str, int | float | str | bool] = {}
    for k in range(count):
        key = _text(flat, _behind(flat, keys + k * key_width, key_width))
        refuse_if(key in options, f"its option {key[:40]!r} is there twice.")
        kind = int(flat.number("B", at + count * width + k))
        options[key] = _value(flat, at + k * width, width, kind >> 2, 1 << (kind & 3), key)
    return options


def _value(flat: Flat, at: int, width: int, kind: int, stored: int, key: str) -> int | float | str | bool:
    if kind in (_INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT):
        at, width, kind = _behind(flat, at, width), stored, kind - _INDIRECT_INT + _INT
    if kind in _KINDS and not (kind == _FLOAT and width == 1):
        value = flat.number(_KINDS[kind][width.bit_length() - 1], at)
        return bool(value) if kind == _BOOL else value
    if kind == _KEY:
        return _text(flat, _behind(flat, at, width))
    if kind == _STRING:
        start = _behind(flat, at, width)
        count = _unsigned(flat, start - stored, stored)
        refuse_if(count > _TEXT, f"its option {key[:40]!r} is longer than {_TEXT:,} bytes.")
        return flat.array("u1", start, count).tobytes().decode("utf-8", "replace")
    raise FileError(f"its option {key[:40]!r} is neither a number nor a text.")


def _width(width: int) -> int:
    refuse_if(width not in (1, 2, 4, 8), f"its options have numbers of {width} bytes.")
    return width


def _unsigned(flat: Flat, at: int, width: int) -> int:
    return int(flat.number("BHIQ"[width.bit_length() - 1], at))


def _behind(flat: Flat, at: int, width: int) -> int:
    """Return the position that lies so many bytes before."""
    return at - _unsigned(flat, at, width)


def _text(flat: Flat, at: int) -> str:
    refuse_if(not 0 <= at < len(flat.raw), "the key of an option lies outside of the options.")
    raw = bytes(flat.raw[at : at + _TEXT])
    refuse_if(b"\0" not in raw, "the key of an option has no end.")
    return raw[: raw.index(b"\0")].decode("utf-8", "replace")
