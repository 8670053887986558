"""An ONNX file under construction: nodes and constants in, bytes out.

Operation set 15, file format version 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.wire import blob, floats, number, numbers

__all__ = ["Builder", "port"]

_IR_VERSION, _OPSET = 8, 15
_KINDS = {np.dtype(text).newbyteorder("="): kind for kind, text in DTYPES.items()}


@dataclass
class Builder:
    """The fields of a graph while it is built."""

    nodes: list[bytes] = field(default_factory=list)
    constants: dict[bytes, str] = field(default_factory=dict)
    tensors: list[bytes] = field(default_factory=list)
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)

    def add(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node and give the name of its output."""
        made = name or f"v{len(self.nodes)}"
        body = (
            b"".join(blob(1, given) for given in inputs)
            + blob(2, made)
            + blob(3, f"{op}_{len(self.nodes)}")
            + blob(4, op)
            + b"".join(blob(5, _attribute(key, value)) for key, value in attributes.items())
        )
        self.nodes.append(body)
        return made

    def constant(self, array: Array) -> str:
        """A constant; equal ones are kept once."""
        body = numbers(1, array.shape) + number(2, _KINDS[array.dtype])
        data = blob(9, np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        key = body + data
        if key not in self.constants:
            self.constants[key] = f"c{len(self.constants)}"
            self.tensors.append(body + blob(8, self.constants[key]) + data)
        return self.constants[key]

    def weights(self, array: Array, dtype: Any) -> str:
        """Weights, kept in bytes where they fit."""
        small = np.abs(array).max(initial=0) <= 127
        kept = self.constant(np.ascontiguousarray(array, np.int8 if small else np.int64))
        return self.add("Cast", kept, to=_KINDS[np.dtype(dtype)])

    def bipolar(self, bits: str) -> str:
        """Booleans as -1 and +1."""
        one = np.ones(1, np.float32)
        return self.add("Where", bits, self.constant(one), self.constant(-one))

    def give(self, value: str, name: str, dtype: Any, shape: tuple[Any, ...]) -> str:
        """Make a value an output."""
        self.outputs.append(port(name, dtype, shape))
        return self.add("Identity", value, name=name)

    def model(self, about: Mapping[str, str]) -> bytes:
        """The whole file, with texts about it."""
        graph = (
            b"".join(blob(1, node) for node in self.nodes)
            + blob(2, "sugenet")
            + b"".join(blob(5, tensor) for tensor in self.tensors)
            + b"".join(blob(11, port) for port in self.inputs)
            + b"".join(blob(12, port) for port in self.outputs)
        )
        notes = b"".join(blob(14, blob(1, key) + blob(2, text)) for key, text in about.items())
        return (
            number(1, _IR_VERSION)
            + blob(2, "sugenet")
            + blob(7, graph)
            + blob(8, blob(1, "") + number(2, _OPSET))
            + notes
        )


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        return blob(1, name) + floats(2, [value]) + number(20, 1)
    if isinstance(value, int):
        return blob(1, name) + number(3, value) + number(20, 2)
    return blob(1, name) + numbers(8, value) + number(20, 7)


def port(name: str, dtype: Any, shape: tuple[Any, ...]) -> bytes:
    """An input or output: sizes are numbers, or texts where they are open."""
    sizes = b"".join(blob(1, blob(2, size) if isinstance(size, str) else number(1, size)) for size in shape)
    kind = number(1, _KINDS[np.dtype(dtype)]) + blob(2, sizes)
    return blob(1, name) + blob(2, blob(1, kind))
