"""QuantizeLinear and DequantizeLinear: where floats become levels, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire, remapped
from sugenet.io.onnx.graph import Node
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.joins import averaged, side_by_side, sum_of_two
from sugenet.io.onnx.quantized.numbers import (
    rising,
    word,
)
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.sums import summed
from sugenet.io.onnx.quantized.values import (
    LevelArray,
    LevelTensor,
    PendingAddition,
    PendingAverage,
    PendingConcat,
    PendingSum,
    RawInput,
    Value,
)
from sugenet.io.onnx.quantized.walk import Walk

__all__ = ["dequantize", "quantize", "quantized"]


def dequantize(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """DequantizeLinear."""
    levels = given[0]
    if not isinstance(levels, LevelArray):
        raise FileError(f"it dequantizes {word(levels)}, but whole numbers are needed.")
    grid, _ = walk.grid(node, given, levels.kind)
    return LevelTensor.of(levels, QuantGrid(grid.scale, grid.zero, levels.low, levels.low + levels.wire.top))


def quantize(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """QuantizeLinear."""
    grid, kind = walk.grid(node, given)
    return quantized(walk, node, given[0], grid, kind, node.outputs[0])


def quantized(
    walk: Walk, node: Node, value: Value | None, grid: QuantGrid, kind: Any, name: str
) -> LevelArray:
    """The levels of a float tensor, by the arithmetic of what made it."""
    match value:
        case RawInput():
            if walk.start is not None:
                raise FileError("the input is quantized twice. Let one quantizer feed all branches.")
            made = walk.levels(name, value.shape, grid.low, grid.high, kind)
            walk.start, walk.start_grid, walk.first = made.wire, grid, value
            return made
        case LevelTensor():
            return _mapped(walk, node, value, grid, kind, name)
        case PendingSum():
            return summed(walk, node, value, grid, kind, name)
        case PendingAddition():
            return sum_of_two(walk, node, value, grid, kind, name)
        case PendingAverage():
            return averaged(walk, node, value, grid, kind, name)
        case PendingConcat():
            return side_by_side(walk, value, grid, kind, name)
    raise FileError(f"it quantizes {word(value)}, which is not supported.")


def _mapped(walk: Walk, node: Node, value: LevelTensor, grid: QuantGrid, kind: Any, name: str) -> LevelArray:
    table = runtime.quantized(value.table, grid)
    made = walk.levels_on(name, value.shape, grid, kind)
    wire = value.levels.wire
    walk.operations.append(remapped(wire, name, rising(table, grid.top), str(node)))
    return replace(made, wire=LevelWire(name, wire.shape, grid.top))
