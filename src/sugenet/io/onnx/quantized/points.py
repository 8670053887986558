"""What is done to every value by itself, and how values are laid out."""

from __future__ import annotations

from dataclasses import replace
from math import inf, prod

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire, remapped
from sugenet.io.onnx.graph import Node
from sugenet.io.onnx.quantized.numbers import (
    clip_to,
    floats_of,
    number_of,
    rising,
    row_of,
    whole_of,
    word,
)
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.quantized.values import (
    FixedArray,
    LevelArray,
    LevelTensor,
    PendingAddition,
    PendingAverage,
    PendingConcat,
    PendingSum,
    QuantTail,
    RawInput,
    Value,
)
from sugenet.io.onnx.quantized.walk import ADVICE, Walk

__all__ = ["at_the_end", "cast", "clipped", "of_input", "reshaped", "scaled", "turned", "unchanged"]


def clipped(walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Relu and Clip."""
    low, high = 0.0, inf
    if node.op == "Clip":
        ends = [given[k] if k < len(given) else None for k in (1, 2)]
        low, high = (
            float(node.attributes.get(name, default)) if end is None else float(number_of(end))
            for name, end, default in (("min", ends[0], -inf), ("max", ends[1], inf))
        )
    value = given[0]
    if isinstance(value, LevelTensor):
        return replace(value, table=clip_to(value.table, ((low, high),)), grid=None)
    if isinstance(value, LevelArray):
        table = np.clip(value.values, low, high).astype(np.int64) - value.low
        name = node.outputs[0]
        wire = LevelWire(name, value.wire.shape, value.wire.top)
        walk.operations.append(remapped(value.wire, name, rising(table, value.wire.top), str(node)))
        walk.lows[name] = value.low
        return replace(value, name=name, wire=wire)
    if isinstance(value, PendingSum) and value.op == "sums":
        return replace(value, rescaled=(*value.rescaled, lambda x: clip_to(x, ((low, high),))))
    if isinstance(value, PendingSum | PendingAddition | PendingAverage | PendingConcat):
        return replace(value, clips=(*value.clips, (low, high)))
    if isinstance(value, RawInput):
        return replace(value, steps=(*value.steps, lambda x: clip_to(x, ((low, high),))))
    raise FileError(f"it clips {word(value)}.")


def scaled(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Mul, Sub and Div of the input, or of sums that are rescaled."""
    left, right = given
    if isinstance(left, FixedArray) and node.op == "Mul":
        left, right = right, left
    if isinstance(left, RawInput) and isinstance(right, FixedArray):
        return of_input(node, left, right)
    if (
        isinstance(left, PendingSum)
        and left.op == "sums"
        and isinstance(right, FixedArray)
        and node.op == "Mul"
    ):
        if not left.rescaled:
            raise FileError("it multiplies sums of 32 bits. Cast them to float first.")
        row = row_of(floats_of(right), left.shape, len(left.weights))
        if (row < 0).any():
            raise FileError("a scale is negative.")
        return replace(left, rescaled=(*left.rescaled, lambda x: np.asarray(x * row[:, None])))
    raise FileError(f"it combines {word(left)} with {word(right)}; write it as part of a layer.")


def of_input(node: Node, value: RawInput, other: FixedArray) -> RawInput:
    """Arithmetic of the input in float32, such as its normalization."""
    array = floats_of(other)
    held = np.broadcast_to(
        array.reshape(array.shape[-len(value.shape) :] if array.ndim > len(value.shape) else array.shape),
        value.shape,
    ).reshape(-1)
    if node.op in ("Mul", "Div") and (held <= 0).any():
        raise FileError("it turns the input around: factors must be positive.")
    apply = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[node.op]
    return replace(value, steps=(*value.steps, lambda x: np.asarray(apply(x, held), np.float32)))


def cast(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Cast to float32, of sums or of whole numbers."""
    value = given[0]
    if node.attributes.get("to") != 1:
        raise FileError("it casts to something else than float32.")
    node.attributes.get("saturate"), node.attributes.get("round_mode")
    if isinstance(value, PendingSum) and value.op == "sums" and not value.rescaled:
        return replace(value, rescaled=(lambda x: x.astype(np.float32),))
    if isinstance(value, LevelArray):
        return LevelTensor.of(value, QuantGrid(1, 0, value.low, value.low + value.wire.top))
    raise FileError(f"it casts {word(value)}.")


def reshaped(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Flatten, Reshape and Squeeze, which move nothing."""
    value = given[0]
    shape = getattr(value, "shape", None)
    if shape is None or not isinstance(value, RawInput | LevelArray | LevelTensor | PendingSum):
        raise FileError(f"it reshapes {word(value)}.")
    size = prod(shape)
    if node.op == "Flatten":
        if int(node.attributes.get("axis", 1)) != 1:
            raise FileError("its axis is not 1.")
        new: tuple[int, ...] = (size,)
    elif node.op == "Squeeze":
        axes = node.attributes.get("axes") or (
            whole_of(given[1]).reshape(-1).tolist() if len(given) > 1 and given[1] is not None else None
        )
        if axes is None:
            axes = [k + 1 for k, long in enumerate(shape) if long == 1]
        drop = {int(axis) % (len(shape) + 1) for axis in axes}
        if 0 in drop or any(shape[axis - 1] != 1 for axis in drop):
            raise FileError(f"it squeezes axes {list(axes)} of data of shape {shape}.")
        new = tuple(long for k, long in enumerate(shape) if k + 1 not in drop)
    else:
        target = whole_of(given[1]).reshape(-1).tolist()
        if node.attributes.get("allowzero", 0) and 0 in target:
            raise FileError("its allowzero makes an empty tensor.")
        kept = [shape[k - 1] if long == 0 and k else long for k, long in enumerate(target)][1:]
        known = prod(long for long in kept if long > 0)
        new = tuple(size // max(known, 1) if long == -1 else long for long in kept)
        if prod(new) != size or not new or (target[0] == -1 and -1 in target[1:]):
            raise FileError(f"it reshapes samples of shape {shape} to {target}, across the batch.")
    if isinstance(value, PendingSum):
        if len(new) != 1 or value.window.positions != (1, 1):
            raise FileError("it reshapes sums in front of their quantizer.")
        return replace(value, shape=new)
    if isinstance(value, LevelTensor | LevelArray):
        levels = value.levels if isinstance(value, LevelTensor) else value
        moved = replace(levels, shape=new)
        return moved if isinstance(value, LevelArray) else replace(value, levels=moved, shape=new)
    return replace(value, shape=new)


def unchanged(_walk: Walk, _node: Node, given: list[Value | None]) -> Value:
    """Identity and Dropout."""
    if given[0] is None or any(value is not None for value in given[1:]):
        for value in given[1:]:
            if value is not None and not isinstance(value, FixedArray):
                raise FileError("it has another input that depends on the data.")
    assert given[0] is not None
    return given[0]


def turned(_walk: Walk, _node: Node, _given: list[Value | None]) -> Value:
    """Transposed data, which are refused."""
    raise FileError(f"{ADVICE['Transpose']}.")


def at_the_end(_walk: Walk, node: Node, given: list[Value | None]) -> Value:
    """Softmax and the like, in front of which the class scores are."""
    value = given[0]
    if not isinstance(value, LevelTensor | LevelArray | PendingSum):
        raise FileError(f"it takes {word(value)}.")
    rank = len(value.shape) + 1
    axis = node.attributes.get("axis", 0 if node.op == "ArgMax" else -1)
    if node.op != "Sigmoid" and (rank != 2 or axis % rank != 1):
        raise FileError(f"its axis is {axis}, but class scores lie on axis 1 of 2.")
    for name in ("keepdims", "axis"):
        node.attributes.get(name)
    if node.attributes.get("select_last_index", 0):
        raise FileError("a tie goes to the last class there. Let it go to the first.")
    return QuantTail(value, node.inputs[0], (str(node),), node.op in ("ArgMax", "Hardmax"))
