"""QuantizeLinear and DequantizeLinear: where floats become levels, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sugenet.errors import FileError
from sugenet.io.exact.integers import Wire, remapped
from sugenet.io.onnx.graph import Node
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.joins import averaged, side_by_side, sum_of_two
from sugenet.io.onnx.quantized.numbers import (
    rising,
    word,
)
from sugenet.io.onnx.quantized.runtime import Grid
from sugenet.io.onnx.quantized.sums import summed
from sugenet.io.onnx.quantized.values import (
    Added,
    Averaged,
    Joined,
    Levels,
    Linear,
    Raw,
    Tensor,
    Value,
)
from sugenet.io.onnx.quantized.walk import Walk

__all__ = ["dequantize", "quantize", "quantized"]


def dequantize(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    levels = given[0]
    if not isinstance(levels, Levels):
        raise FileError(f"it dequantizes {word(levels)}, but whole numbers are needed.")
    grid, _ = walk.grid(node, given, levels.kind)
    return Tensor.of(levels, Grid(grid.scale, grid.zero, levels.low, levels.low + levels.wire.top))


def quantize(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    grid, kind = walk.grid(node, given)
    return quantized(walk, node, given[0], grid, kind, node.outputs[0])


def quantized(walk: Walk, node: Node, value: Value | None, grid: Grid, kind: Any, name: str) -> Levels:
    match value:
        case Raw():
            if walk.start is not None:
                raise FileError("the input is quantized twice. Let one quantizer feed all branches.")
            made = walk.levels(name, value.shape, grid.low, grid.high, kind)
            walk.start, walk.start_grid, walk.first = made.wire, grid, value
            return made
        case Tensor():
            return _mapped(walk, node, value, grid, kind, name)
        case Linear():
            return summed(walk, node, value, grid, kind, name)
        case Added():
            return sum_of_two(walk, node, value, grid, kind, name)
        case Averaged():
            return averaged(walk, node, value, grid, kind, name)
        case Joined():
            return side_by_side(walk, value, grid, kind, name)
    raise FileError(f"it quantizes {word(value)}, which is not supported.")


def _mapped(walk: Walk, node: Node, value: Tensor, grid: Grid, kind: Any, name: str) -> Levels:
    table = runtime.quantized(value.table, grid)
    made = walk.levels_on(name, value.shape, grid, kind)
    wire = value.levels.wire
    walk.operations.append(remapped(wire, name, rising(table, grid.top), str(node)))
    return replace(made, wire=Wire(name, wire.shape, grid.top))
