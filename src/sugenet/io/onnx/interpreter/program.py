"""Runs an ONNX graph operator by operator, for comparing an import with its file.

Nothing here knows how the reader recognizes layers; both share the parser of the file, the tables of its
operators and the rules of their shapes, and nothing else. An operator or an attribute that is not known, and
a graph that would take too much memory, are refused by name: then the import says that it was not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node
from sugenet.io.onnx.interpreter.dataflow import DATAFLOW_OPERATORS, HARDWARE, LABELS
from sugenet.io.onnx.interpreter.moves import MOVES
from sugenet.io.onnx.interpreter.pointwise import POINTWISE
from sugenet.io.onnx.interpreter.tensors import Decision, OpCall, Tensor, UncomparableError, constant
from sugenet.io.onnx.interpreter.windows import WINDOWS
from sugenet.io.onnx.operators import BEHIND_TAILS, DATAFLOW, DOMAINS, OLD_DOMAIN, TAILS, checked, left_over

__all__ = ["OPERATORS", "Computed", "Interpreter"]

OPERATORS = {**POINTWISE, **WINDOWS, **MOVES, **DATAFLOW_OPERATORS}
"""Every operator that is known, by its name."""

_ENDS = TAILS | LABELS
_DOMAINS = DOMAINS | DATAFLOW | {OLD_DOMAIN}
_MOST = 1 << 25
"""Values that one run may make."""


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run of the graph gave."""

    scores: Tensor
    """In front of softmax and the like."""
    decisions: tuple[tuple[Decision, Tensor], ...]
    """Each with what became of it in place, every element alike, before anything else."""
    values: dict[str, Tensor]
    """The outputs of the graph, by name."""
    spent: int
    """How much was computed, in values made and products of 64."""


class Interpreter:
    """A graph that can be run on batches of samples.

    Parameters
    ----------
    graph
        The parsed file.
    output
        Which output of the graph leads to the class scores.
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
        """How many samples a run takes; None where that is open."""
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
        """Of the data input."""
        return np.dtype(DTYPES[self.input.dtype]).newbyteorder("=")

    def run(self, x: Array) -> Computed:
        """Run a batch whose size the file allows, in the file's shape."""
        kind = self.kind
        raw = Tensor(np.asarray(x, np.float64 if kind.kind == "f" else kind), kind, np.zeros(()), True)
        values = {**self.fixed, self.input.name: raw}
        budget = _Budget()
        decisions: list[tuple[Decision, Tensor]] = []
        stems: dict[str, list[int]] = {}  # the decisions that a tensor stems from
        origins: dict[str, frozenset[str]] = {}  # the tensors that another is a function of, place by place
        for node in self.nodes:
            if all(name in self.fixed for name in node.outputs if name):
                continue
            made = self._step(node, values, budget)
            output = values[node.outputs[0]]
            numbers = list(range(len(decisions), len(decisions) + len(made)))
            data = [
                origins.get(name, frozenset({name})) for name in node.inputs if name and values[name].data
            ]
            if len(set(data)) == 1:  # where branches meet, the signs of each are over
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
        """Compute what does not depend on the input, once."""
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
            call.node = node if node.op in HARDWARE else checked(node)
            with np.errstate(all="ignore"):
                result = OPERATORS[node.op](call)
            if node.op not in HARDWARE and (left := left_over(call.node)) is not None:
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
    """What a run has spent, of `_MOST`."""

    spent: int = 0

    def spend(self, count: int) -> None:
        """Take a number of values."""
        self.spent += int(count)
        if self.spent > _MOST:
            raise UncomparableError(
                f"it would take more than the {_MOST:,} values that a comparison may make."
            )


def _scores(output: str, maker: dict[str, Any]) -> str:
    """The tensor in front of the first softmax or the like that leads to an output."""
    scores_name = name = output
    while name in maker and maker[name].op in _ENDS | BEHIND_TAILS and maker[name].inputs:
        node = maker[name]
        name = node.inputs[0]
        if node.op in _ENDS:
            scores_name = name
    return scores_name
