"""Which operation of an ONNX graph is read by which rule, where its first input is data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.flow import OPEN_BATCH, Flow
from sugenet.io.onnx.fold import of_samples
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.onnx.layers import convolution, gathered, gemm, linear, padded, patches, pooled, reduced
from sugenet.io.onnx.patterns import batch_norm, multi_threshold
from sugenet.io.onnx.shapes import REARRANGING, rearrangement
from sugenet.io.onnx.values import Constant, Curve, Failure, Mix, SignTable, Value, WindowRows, settled

__all__ = ["RULES", "Rule", "arrays_of", "flow_of"]

Rule: TypeAlias = Callable[[Node, list[Value | None]], Value]


def flow_of(given: Sequence[Value | None]) -> Flow:
    """The first input, which must be the only data, as a flow."""
    first = given[0]
    if first is None or isinstance(first, Constant | Failure):
        raise FileError("its first input must be the data, and its parameters constants.")
    if any(value is not None and not isinstance(value, Constant) for value in given[1:]):
        raise FileError(
            "two of its inputs depend on the data. Weights and parameters must be constants; residual "
            "connections are not supported."
        )
    return settled(first, "Cut the model before it, or move it to the end.")


def arrays_of(given: Sequence[Value | None]) -> list[Array | None]:
    """The constants among the inputs."""
    return [value.array if isinstance(value, Constant) else None for value in given]


def _parameter(given: Sequence[Value | None], place: int, what: str) -> Array:
    value = given[place]
    if not isinstance(value, Constant) or value.of_batch or of_samples(value.array):
        raise FileError(f"its {what} are missing.")
    return value.array


def _optional(given: Sequence[Value | None], place: int) -> Array | None:
    value = given[place]
    if isinstance(value, Constant) and (value.of_batch or of_samples(value.array)):
        raise FileError(f"its input {place} depends on the size of the batch.")
    return value.array if isinstance(value, Constant) else None


def _sole(rule: Callable[[Node, Flow, Sequence[Value | None]], Value]) -> Rule:
    return lambda node, given: rule(node, flow_of(given), given)


def _rearranged(node: Node, given: list[Value | None]) -> Value:
    """The same value in another shape, or with its axes in another order."""
    if any(value is not None and not isinstance(value, Constant) for value in given[1:]):
        raise FileError("its shape or axes depend on the values of the input.")
    value = settled(given[0], "") if isinstance(given[0], Mix) else given[0]
    if not isinstance(value, Flow | SignTable | Curve):
        raise FileError(
            "it rearranges a value that waits for another operation, or a parameter that depends on the "
            "input."
        )
    flow = value if isinstance(value, Flow) else value.flow
    moved = flow.rearranged(rearrangement(node.op, flow.sizes, arrays_of(given), node.attributes))
    return moved if isinstance(value, Flow) else replace(value, flow=moved)


def _shape(node: Node, given: list[Value | None]) -> Value:
    value = given[0]
    if not isinstance(value, Flow | SignTable | Curve | Mix):
        raise FileError("it asks for the shape of something that has none here.")
    flow = value if isinstance(value, Flow) else value.other if isinstance(value, Mix) else value.flow
    array = np.array(
        flow.sizes[slice(node.attributes.get("start"), node.attributes.get("end"))]
        if node.op == "Shape"
        else prod(flow.sizes),
        np.int64,
    )
    return Constant(array, bool((array % OPEN_BATCH == 0).any()))


def _same(_: Node, given: list[Value | None]) -> Value:
    value = given[0]
    assert value is not None
    return value


def _dropout(_: Node, given: list[Value | None]) -> Value:
    training = _optional(given, 2)
    if training is not None and training.any():
        raise FileError(
            "it drops values at random (training mode). Export the model in evaluation mode: model.eval()."
        )
    value = given[0]
    if value is None or isinstance(value, Constant):
        raise FileError("its first input must be the data.")
    return value


def _matmul(node: Node, given: list[Value | None]) -> Value:
    if isinstance(given[0], WindowRows) and isinstance(given[1], Constant):
        return linear(node, given[0], given[1].array)
    if isinstance(given[0], Constant):
        raise FileError("it multiplies weights from the left. Write it as data times weights.")
    return linear(node, flow_of(given), _parameter(given, 1, "weights"))


def _gemm(node: Node, flow: Flow, given: Sequence[Value | None]) -> Value:
    return gemm(node, flow, _parameter(given, 1, "weights"), _optional(given, 2))


def _conv(node: Node, flow: Flow, given: Sequence[Value | None]) -> Value:
    return convolution(node, flow, _parameter(given, 1, "weights"), _optional(given, 2))


def _norm(node: Node, flow: Flow, given: Sequence[Value | None]) -> Value:
    return batch_norm(node, flow, [_parameter(given, place, "parameters") for place in (1, 2, 3, 4)])


def _pool_nhwc(node: Node, flow: Flow, _: Sequence[Value | None]) -> Value:
    if len(flow.axes) != 4:
        raise FileError("it needs four axes.")
    return pooled(replace(node, op="MaxPool"), flow.transposed((0, 3, 1, 2))).transposed((0, 2, 3, 1))


RULES: dict[str, Rule] = {
    **dict.fromkeys(REARRANGING, _rearranged),
    "AveragePool": _sole(lambda node, flow, _: pooled(node, flow)),
    "BatchNormalization": _sole(_norm),
    "Conv": _sole(_conv),
    "Dropout": _dropout,
    "Gather": _sole(lambda node, flow, given: gathered(node, flow, _parameter(given, 1, "indices"))),
    "Gemm": _sole(_gemm),
    "GlobalAveragePool": _sole(lambda node, flow, _: pooled(node, flow)),
    "GlobalMaxPool": _sole(lambda node, flow, _: pooled(node, flow)),
    "Identity": _same,
    "Im2Col": _sole(lambda node, flow, _: patches(node, flow)),
    "MatMul": _matmul,
    "MaxPool": _sole(lambda node, flow, _: pooled(node, flow)),
    "MaxPoolNHWC": _sole(_pool_nhwc),
    "MultiThreshold": _sole(
        lambda node, flow, given: multi_threshold(node, flow, _parameter(given, 1, "thresholds"))
    ),
    "Pad": _sole(lambda node, flow, given: padded(node, flow, arrays_of(given))),
    "ReduceMax": _sole(lambda node, flow, given: reduced(node, flow, arrays_of(given))),
    "ReduceMean": _sole(lambda node, flow, given: reduced(node, flow, arrays_of(given))),
    "ReduceSum": _sole(lambda node, flow, given: reduced(node, flow, arrays_of(given))),
    "Shape": _shape,
    "Size": _shape,
}
"""By the name of the operation; the others are element by element, or the end of the network."""
