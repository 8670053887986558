"""Activations of Larq, QKeras and hls4ml's examples, by the words of a file."""

from __future__ import annotations

from typing import Any

from sugenet.io.exact.ops import Op
from sugenet.io.larq import binarynet, qkeras
from sugenet.io.larq.quantizers import signed

__all__ = ["steps_of"]


def steps_of(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """A quantizer of values as operations."""
    if qkeras.is_qkeras(value):
        return qkeras.steps_of(where, key, value)
    name = value.get("config") if isinstance(value, dict) else value
    if isinstance(name, str) and name.split(">")[-1] in binarynet.ACTIVATIONS:
        return binarynet.steps_of(where, name.split(">")[-1])
    return signed(where, key, value)
