"""Run an ONNX graph operator by operator, to compare an import with its file.

This code does not know how the reader recognizes layers. Both share only the parser of the file, the tables
of its operators and the rules of their shapes. Unknown operators and attributes, and graphs that need too
much memory, are refused by name. Then the import reports that it was not compared. FINN's dataflow nodes run
like in FINN: they count matches, compare with thresholds, cut windows, pool, and pick the largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node
from sugenet.io.onnx.interpreter.moves import MOVES
from sugenet.io.onnx.interpreter.pointwise import POINTWISE
from sugenet.io.onnx.interpreter.tensors import (
    Decision,
    OpCall,
    Operator,
    Tensor,
    UncomparableError,
    constant,
)
from sugenet.io.onnx.interpreter.windows import WINDOWS
from sugenet.io.onnx.operators import (
    BEHIND_TAILS,
    DATAFLOW,
    DATAFLOW_ENDINGS,
    DOMAINS,
    OLD_DOMAIN,
    TAILS,
    checked,
    left_over,
)
from sugenet.io.plain.refusals import expected, refuse_if

__all__ = ["DATAFLOW_OPERATORS", "OPERATORS", "Computed", "Interpreter"]


def _inner(
    call: OpCall, operators: Mapping[str, Any], op: str, inputs: list[Tensor], attributes: Mapping[str, Any]
) -> Any:
    """Return the result of another operator in place of this one, under its name."""
    node = replace(call.node, op=op, inputs=(), attributes=attributes, origin=str(call.node))
    return operators[op](replace(call, node=checked(node), inputs=[*inputs]))


def _integer(call: OpCall, name: str, default: int = 0) -> int:
    return expected(call.node.attributes.get(name, default), int, f"its attribute {name} is not an integer.")


def _is_bipolar(call: OpCall, name: str) -> bool:
    return str(call.node.attributes.get(name, "")) == "BIPOLAR"


def _matches(call: OpCall, x: Tensor, weights: Array, low: int) -> Tensor:
    """Return how many weights each row of values equals."""
    refuse_if(
        not (np.isin(x.values, (low, 1)) | (x.errors > 0)).all() or not np.isin(weights, (low, 1)).all(),
        f"it counts matches of numbers that are not {low} and 1.",
    )
    call.made((*x.shape[:-1], *weights.shape))
    on = (x.values > (low + 1) / 2).astype(np.float64)
    up = (weights == 1).astype(np.float64)
    count = on @ up + (1 - on) @ (1 - up)
    error = np.zeros(()) if x.exact else x.errors.sum(axis=-1, keepdims=True) / (1 - low)
    return Tensor(count, np.dtype(np.float32), error, x.data)


def _unit(call: OpCall) -> Tensor:
    x, weights = call.tensor(0), call.tensor(1)
    if _integer(call, "binaryXnorMode"):
        sums = _matches(call, x, weights.values, 0)
    elif _is_bipolar(call, "inputDataType") and _is_bipolar(call, "weightDataType"):
        sums = _matches(call, x, weights.values, -1)
    else:
        sums = _inner(call, WINDOWS, "MatMul", [x, weights], {})
    return sums if _integer(call, "noActivation") else _reached(call, sums, call.tensor(2))


def _reached(call: OpCall, x: Tensor, thresholds: Tensor) -> Tensor:
    """Return how many thresholds of its channel, the last axis, each value reaches."""
    scale, bias = (
        (2.0, -1.0) if _is_bipolar(call, "outputDataType") else (1.0, float(_integer(call, "ActVal")))
    )
    attributes = {"out_scale": scale, "out_bias": bias, "data_layout": "NHWC"}
    levels: Tensor = _inner(call, POINTWISE, "MultiThreshold", [x, thresholds], attributes)
    return levels


def _windows(call: OpCall) -> Tensor:
    refuse_if(
        _integer(call, "depthwise") or _integer(call, "is1D"), "it makes windows in a way that is not known."
    )
    names = (("kernel_size", "ConvKernelDim"), ("stride", "Stride"), ("dilations", "Dilation"))
    sizes = {ours: call.numbers(theirs, 1) for ours, theirs in names}
    windows: Tensor = _inner(call, WINDOWS, "Im2Col", [call.tensor(0)], sizes)
    return windows


def _pool(call: OpCall) -> Tensor:
    side = call.numbers("PoolDim") or (0,)
    side = side * 2 if len(side) == 1 else side
    sizes = {"kernel_shape": side, "strides": side, "pads": (0, 0, 0, 0)}
    pooled: Tensor = _inner(call, WINDOWS, "MaxPoolNHWC", [call.tensor(0)], sizes)
    return pooled


def _label(call: OpCall) -> Tensor:
    count = constant(np.array([_integer(call, "K", 1)]))
    indices: Tensor = _inner(call, MOVES, "TopK", [call.tensor(0), count], {})[1]
    return indices


def _named(operator: Operator, *names: str) -> dict[str, Operator]:
    """Return the operator under each name, with every ending that FINN has used."""
    return {name + ending: operator for name in names for ending in ("", *DATAFLOW_ENDINGS)}


_LABEL = _named(_label, "LabelSelect")
_LABELS = set(_LABEL)
"""Operators at the end of a network."""
_HARDWARE: dict[str, Operator] = {
    **_named(_unit, "MVAU", "MatrixVectorActivation", "StreamingFCLayer"),
    **_named(lambda call: _reached(call, call.tensor(0), call.tensor(1)), "Thresholding"),
    **_named(_windows, "ConvolutionInputGenerator"),
    **_named(_pool, "StreamingMaxPool"),
    **_named(
        lambda call: call.tensor(0), "IODMA", "StreamingDataWidthConverter", "StreamingFIFO", "TLastMarker"
    ),
    **_LABEL,
}
"""Nodes whose attributes mostly describe hardware. These attributes are skipped."""
DATAFLOW_OPERATORS: dict[str, Operator] = {
    "XnorPopcountMatMul": lambda call: _matches(call, call.tensor(0), call.tensor(1).values, 0),
    **_HARDWARE,
}


OPERATORS = {**POINTWISE, **WINDOWS, **MOVES, **DATAFLOW_OPERATORS}
"""Every supported operator, by name."""

_ENDS = TAILS | _LABELS
_DOMAINS = DOMAINS | DATAFLOW | {OLD_DOMAIN}
_MOST = 1 << 25
"""Largest number of values of one run."""


@dataclass(frozen=True, eq=False)
class Computed:
    """The result of a run of the graph."""

    scores: Tensor
    """The scores, before softmax and similar operators."""
    decisions: tuple[tuple[Decision, Tensor], ...]
    """Each decision with its result in place, after elementwise operators and before others."""
    values: dict[str, Tensor]
    """The outputs of the graph, by name."""
    spent: int
    """Cost of the run, in computed values and products of 64."""


class Interpreter:
    """A graph that can be run on batches of samples.

    Parameters
    ----------
    graph
        The parsed file.
    output
        The output of the graph that leads to the class scores.
    """

    def __init__(self, graph: Graph, output: str) -> None:
        self.graph, self.output = graph, output
        self.scores = _scores(output, {name: node for node in graph.nodes for name in node.outputs if name})
        self.nodes, needed = graph.leading_to(output, self.scores)
        self.read = {name for node in self.nodes for name in node.inputs} | {output}
        inputs = [port for port in graph.inputs if port.name in needed]
        shape = inputs[0].shape if len(inputs) == 1 else None
        if shape is None:
            raise UncomparableError("it has no single data input of known shape.")
        self.input, self.batch = inputs[0], shape[0]
        """Number of samples per run; None if it is open."""
        self.sample = tuple(size or 1 for size in shape[1:])
        """Shape of one sample."""
        _Budget().spend((self.batch or 1) * prod(self.sample))
        unknown = next(
            (node for node in self.nodes if node.op not in OPERATORS or node.domain not in _DOMAINS), None
        )
        if unknown is not None:
            raise UncomparableError(f"{unknown}: the interpreter does not know this operator.")
        self.fixed: dict[str, Tensor] = {
            name: constant(array) for name, array in graph.constants.items() if name in needed
        }
        self._fold()

    @property
    def kind(self) -> np.dtype[Any]:
        """The element type of the data input."""
        return np.dtype(DTYPES[self.input.dtype]).newbyteorder("=")

    def run(self, x: Array) -> Computed:
        """Run a batch, of a size that the file allows and in the file's shape."""
        kind = self.kind
        raw = Tensor(np.asarray(x, np.float64 if kind.kind == "f" else kind), kind, np.zeros(()), True)
        values = {**self.fixed, self.input.name: raw}
        budget = _Budget()
        decisions: list[tuple[Decision, Tensor]] = []
        stems: dict[str, list[int]] = {}  # the decisions that a tensor depends on
        origins: dict[str, frozenset[str]] = {}  # the tensors that another is an elementwise function of
        for node in self.nodes:
            if all(name in self.fixed for name in node.outputs if name):
                continue
            made = self._step(node, values, budget)
            output = values[node.outputs[0]]
            numbers = list(range(len(decisions), len(decisions) + len(made)))
            data = [
                origins.get(name, frozenset({name})) for name in node.inputs if name and values[name].data
            ]
            if len(set(data)) == 1:  # where branches meet, the signs of each end
                numbers = [number for name in node.inputs for number in stems.get(name, ())] + numbers
            if node.op in POINTWISE:
                origins[node.outputs[0]] = frozenset[str]().union(*data)
            decisions += [(decision, output) for decision in made]
            alike = all(values[name].data or values[name].values.size == 1 for name in node.inputs if name)
            if output.signs and numbers and (alike or node.op not in POINTWISE):
                stems[node.outputs[0]] = numbers
                if node.op in POINTWISE:
                    for number in numbers:
                        if decisions[number][0].before.shape == output.shape:
                            decisions[number] = decisions[number][0], output
        outputs = {port.name: values[port.name] for port in self.graph.outputs if port.name in values}
        return Computed(values[self.scores], tuple(decisions), outputs, budget.spent)

    def _fold(self) -> None:
        """Compute everything that does not depend on the input, once."""
        budget = _Budget()
        for node in self.nodes:
            if all(name in self.fixed for name in node.inputs if name):
                self._step(node, self.fixed, budget)

    def _step(self, node: Node, values: dict[str, Tensor], budget: _Budget) -> list[Decision]:
        inputs = [values[name] if name else None for name in node.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        call = OpCall(node, self.graph.opset, inputs, budget.spend)
        try:
            call.node = node if node.op in _HARDWARE else checked(node)
            with np.errstate(all="ignore"):
                result = OPERATORS[node.op](call)
            if node.op not in _HARDWARE and (left := left_over(call.node)) is not None:
                raise UncomparableError(f"its attribute {left!r} is not known.")
        except FileError as error:
            raise UncomparableError(f"{node}: {error}") from None
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            raise UncomparableError(f"{node}: it does not fit its inputs ({str(error)[:100]}).") from None
        made = result if isinstance(result, tuple) else (result,)
        values.update((name, tensor) for name, tensor in zip(node.outputs, made, strict=False) if name)
        if any(name not in values for name in node.outputs if name and name in self.read):
            raise UncomparableError(f"{node}: only its first output is known.")
        return call.decisions


@dataclass
class _Budget:
    """The cost of a run so far, of at most `_MOST`."""

    spent: int = 0

    def spend(self, count: int) -> None:
        """Count a number of values."""
        self.spent += int(count)
        if self.spent > _MOST:
            raise UncomparableError(
                f"it would take more than the {_MOST:,} values that a comparison may make."
            )


def _scores(output: str, maker: dict[str, Any]) -> str:
    """Return the tensor before the first softmax or similar operator that leads to an output."""
    scores_name = name = output
    while name in maker and maker[name].op in _ENDS | BEHIND_TAILS and maker[name].inputs:
        node = maker[name]
        name = node.inputs[0]
        if node.op in _ENDS:
            scores_name = name
    return scores_name
