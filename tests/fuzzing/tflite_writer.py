"""Write TensorFlow Lite files for tests: a small writer of FlatBuffers and FlexBuffers.

It shares nothing with the reader in src. A file is written front to back, parents before children.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Model", "flatbuffer", "flexbuffer"]


@dataclass
class _Number:
    kind: str
    value: Any


def flatbuffer(root: dict[int, Any], mark: bytes = b"TFL3") -> bytes:
    """Bytes of a table. A table is a dictionary of slots; values are tuples (kind, number), text,
    arrays, tables, and lists of tables or texts.
    """
    raw = bytearray(8)
    raw[4:8] = mark

    def align(size: int, ahead: int = 0) -> None:
        while (len(raw) + ahead) % size:
            raw.append(0)

    def point(at: int, target: int) -> None:
        struct.pack_into("<I", raw, at, target - at)

    def table(fields: dict[int, Any]) -> int:
        kinds = {slot: value[0] if isinstance(value, tuple) else "I" for slot, value in fields.items()}
        places, size = {}, 4
        for slot, kind in sorted(kinds.items(), key=lambda one: -struct.calcsize("<" + one[1])):
            wide = struct.calcsize("<" + kind)
            size += -size % wide
            places[slot], size = size, size + wide
        top = max(fields, default=-1) + 1
        align(2)
        fields_at = len(raw)
        raw.extend(struct.pack("<HH", 4 + 2 * top, size))
        for slot in range(top):
            raw.extend(struct.pack("<H", places.get(slot, 0)))
        align(8)
        at = len(raw)
        raw.extend(bytes(size))
        struct.pack_into("<i", raw, at, at - fields_at)
        for slot, value in fields.items():
            if isinstance(value, tuple):
                struct.pack_into("<" + value[0], raw, at + places[slot], value[1])
            else:
                point(at + places[slot], child(value))
        return at

    def child(value: Any) -> int:
        if isinstance(value, dict):
            return table(value)
        if isinstance(value, str):
            align(4)
            at = len(raw)
            raw.extend(struct.pack("<I", len(value.encode())) + value.encode() + b"\0")
            return at
        if isinstance(value, list):
            align(4)
            at = len(raw)
            raw.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
            for k, one in enumerate(value):
                point(at + 4 + 4 * k, child(one))
            return at
        array = np.ascontiguousarray(value)
        align(16, ahead=4)
        at = len(raw)
        raw.extend(struct.pack("<I", array.size) + array.astype(array.dtype.newbyteorder("<")).tobytes())
        return at

    point(0, table(root))
    align(16)
    return bytes(raw)


def flexbuffer(values: dict[str, int | str]) -> bytes:
    """Bytes of a map of integers and texts, sorted by key, with offsets of four bytes."""
    raw, keys, texts = bytearray(), {}, {}
    for key in sorted(values):
        keys[key] = len(raw)
        raw += key.encode() + b"\0"
    for key, value in values.items():
        if isinstance(value, str):
            while len(raw) % 4:
                raw.append(0)
            raw += struct.pack("<I", len(value.encode()))
            texts[key] = len(raw)
            raw += value.encode() + b"\0"
    while len(raw) % 4:
        raw.append(0)
    raw += struct.pack("<I", len(values))
    keys_at = len(raw)
    for key in sorted(values):
        raw += struct.pack("<I", len(raw) - keys[key])
    raw += struct.pack("<I", len(raw) - keys_at) + struct.pack("<II", 4, len(values))
    values_at = len(raw)
    for key in sorted(values):
        value = values[key]
        raw += (
            struct.pack("<I", len(raw) - texts[key]) if isinstance(value, str) else struct.pack("<i", value)
        )
    for key in sorted(values):
        raw.append((5 << 2 | 2) if isinstance(values[key], str) else (1 << 2 | 2))
    while len(raw) % 4:
        raw.append(0)
    raw += struct.pack("<I", len(raw) - values_at) + bytes([9 << 2 | 2, 4])
    return bytes(raw)


_KINDS = {"f4": 0, "i4": 2, "u1": 3, "i8": 4, "i2": 7, "i1": 9}
_CODES = {
    "ADD": 0, "AVERAGE_POOL_2D": 1, "CONCATENATION": 2, "CONV_2D": 3, "DEPTHWISE_CONV_2D": 4, "DEQUANTIZE": 6,
    "FULLY_CONNECTED": 9, "LOGISTIC": 14, "MAX_POOL_2D": 17, "MUL": 18, "RELU": 19, "RELU_N1_TO_1": 20,
    "RELU6": 21, "RESHAPE": 22, "SOFTMAX": 25, "TANH": 28, "PAD": 34, "TRANSPOSE": 39, "MEAN": 40,
    "SQUEEZE": 43, "LOG_SOFTMAX": 50, "ARG_MAX": 56, "PADV2": 60, "EXPAND_DIMS": 70, "LEAKY_RELU": 98,
    "QUANTIZE": 114,
}  # fmt: skip
_TYPES = {
    "CONV_2D": 1, "DEPTHWISE_CONV_2D": 2, "AVERAGE_POOL_2D": 5, "MAX_POOL_2D": 5, "FULLY_CONNECTED": 8,
    "SOFTMAX": 9, "CONCATENATION": 10, "ADD": 11, "RESHAPE": 17, "MEAN": 27, "SQUEEZE": 30, "ARG_MAX": 40,
    "LEAKY_RELU": 75,
}  # fmt: skip
_VERSIONS = {
    "CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "AVERAGE_POOL_2D": 2,
    "MAX_POOL_2D": 2, "RELU": 2, "RELU6": 2, "RELU_N1_TO_1": 1, "SOFTMAX": 2, "PAD": 2, "PADV2": 2, "MEAN": 2,
    "CONCATENATION": 2, "DEQUANTIZE": 2, "TRANSPOSE": 2, "LEAKY_RELU": 2, "QUANTIZE": 2, "LOGISTIC": 2,
}  # fmt: skip


@dataclass
class Model:
    """A graph that grows operator by operator; tensors are numbers."""

    tensors: list[dict[int, Any]] = field(default_factory=list)
    buffers: list[dict[int, Any]] = field(default_factory=lambda: [{}])
    operators: list[dict[int, Any]] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    grids: list[Any] = field(default_factory=list)

    def tensor(
        self, shape: Any, kind: str, scale: Any = None, zero: Any = 0, axis: int = 0, data: Any = None
    ) -> int:
        made: dict[int, Any] = {
            0: np.array(shape, np.int32),
            1: ("b", _KINDS[kind]),
            2: ("I", 0),
            3: f"t{len(self.tensors)}",
        }
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            zeros = np.broadcast_to(np.asarray(zero, np.int64), scales.shape)
            made[4] = {2: scales, 3: np.array(zeros), 6: ("i", axis)}
        if data is not None:
            made[2] = ("I", len(self.buffers))
            self.buffers.append({0: np.frombuffer(np.asarray(data, kind).tobytes(), np.uint8)})
        self.tensors.append(made)
        self.shapes.append(tuple(shape))
        self.grids.append((scale, zero))
        return len(self.tensors) - 1

    def operator(
        self,
        name: str,
        inputs: list[int],
        outputs: list[int],
        options: dict[int, Any] | None = None,
        custom: dict[str, Any] | None = None,
    ) -> None:
        if name not in self.codes:
            self.codes.append(name)
        made: dict[int, Any] = {
            0: ("I", self.codes.index(name)),
            1: np.array(inputs, np.int32),
            2: np.array(outputs, np.int32),
        }
        if options is not None:
            made |= {3: ("B", _TYPES[name]), 4: options}
        if custom is not None:
            made[5] = np.frombuffer(flexbuffer(custom), np.uint8)
        self.operators.append(made)

    def raw(self, inputs: list[int], outputs: list[int]) -> bytes:
        codes = [
            {0: ("b", min(_CODES[name], 127)), 2: ("i", _VERSIONS.get(name, 1)), 3: ("i", _CODES[name])}
            if name in _CODES
            else {0: ("b", 32), 1: name, 2: ("i", 1), 3: ("i", 32)}
            for name in self.codes
        ]
        graph = {
            0: self.tensors, 1: np.array(inputs, np.int32), 2: np.array(outputs, np.int32), 3: self.operators,
            4: "main",
        }  # fmt: skip
        return flatbuffer({0: ("I", 3), 1: codes, 2: [graph], 3: "made by a test", 4: self.buffers})
