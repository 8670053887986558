"""ONNX, QONNX and FINN files as an `OpChain`: the graph is walked once, in order, and everything is
recognized by what it computes.

No tensor or node name decides anything. What is not understood makes a `Failure` that is raised only if the
class scores depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import OpChain, Picks
from sugenet.io.onnx.dataflow import plain_graph
from sugenet.io.onnx.flow import MAX_VALUES, OPEN_BATCH, Flow
from sugenet.io.onnx.fold import ELEMENTWISE, OTHERS, Folder
from sugenet.io.onnx.graph import DTYPES, Graph, Node, Port, Subgraph, read_graph
from sugenet.io.onnx.operators import BEHIND_TAILS, DOMAINS, TAILS, checked, left_over
from sugenet.io.onnx.patterns import POINTWISE, elementwise
from sugenet.io.onnx.rules import RULES, arrays_of, flow_of
from sugenet.io.onnx.shapes import tail_axis
from sugenet.io.onnx.values import Constant, Failure, ScoreTail, Value, WindowRows, settled

__all__ = ["ACCEPTED", "GraphWalk", "read_file"]

_VALUES_PER_WEIGHT = 32
_MOST_AXES = 16
_MOST_INPUTS = 5
"""Inputs that are left out at the end are as those left out between."""
ACCEPTED = {*RULES, *TAILS, *BEHIND_TAILS, *ELEMENTWISE, *OTHERS, *POINTWISE}
"""Every operation that some file may hold; each must be known to the interpreter that judges imports."""
_PICKS: dict[str, Picks] = {"ArgMax": "class", "Hardmax": "marks", "TopK": "scores"}
_SAME_SIZES = {"Cast", "Concat", "Gather", "Identity", "Reshape", "Shape", "Slice", "Squeeze", "Unsqueeze"}
_NEAREST = {
    "Concat": (
        "it joins two values that depend on the input, as DenseNet does. Only chains of layers are supported"
    ),
    "ConvTranspose": "a transposed convolution is not supported. Write it as a plain one",
    "Einsum": "write it as MatMul, Gemm or Conv",
    "If": "control flow is not supported. Export the model for one fixed path",
    "Loop": "control flow is not supported. Unroll it before exporting",
    "Scan": "control flow is not supported. Unroll it before exporting",
    "Trunc": (
        "it drops the lowest bits of a quantized value, which is not read. Put a Quant there, "
        "which rounds to a scale of its own"
    ),
}


def read_file(source: str | os.PathLike[str] | bytes | Graph) -> tuple[OpChain, Graph, str]:
    """Read a binarized network from an ONNX, QONNX or FINN file.

    Parameters
    ----------
    source
        Path of the file, which may be packed by gzip, its bytes, or the graph that was read from it.
        Tensors in side files are read from the same folder.

    Returns
    -------
    All operations from the raw input to the class scores, in the numbers of the file, where softmax and the
    like at the end are left out and named in ``left_out``; the file itself; and which of its outputs the
    chain leads to.

    Raises
    ------
    FileError
        When the file cannot be read, or holds what no chain can say: the message names the node, the reason,
        and what would work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.io.onnx.writer import write_onnx
    >>> net = Network.of_bits([DenseLayer([[+1, -1, +1]], tau=[2])], Head([[+1], [-1]]))
    >>> with TemporaryDirectory() as folder:
    ...     write_onnx(net, f"{folder}/small.onnx")
    ...     chain, _, _ = read_file(f"{folder}/small.onnx")
    >>> [type(op).__name__ for op in chain.ops]
    ['Affine', 'Sign', 'LinearOp', 'Affine', 'Sign', 'LinearOp', 'Affine', 'Affine']
    """
    graph = source if isinstance(source, Graph) else read_graph(source)
    try:
        walk = GraphWalk(plain_graph(graph))
        return walk.chain(), graph, walk.output
    except FileError as error:
        raise FileError(f"{graph.source}: {error}") from error
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:  # none is known, but files come from anywhere
        raise FileError(
            f"{graph.source}: it could not be understood ({error!r}). If other programs read it, "
            f"please report it."
        ) from error


@dataclass
class GraphWalk:
    """What each name of the graph stands for, so far."""

    graph: Graph

    def __post_init__(self) -> None:
        held = sum(array.size for array in self.graph.constants.values())
        held += sum(
            a.size for node in self.graph.nodes for a in node.attributes.values() if isinstance(a, np.ndarray)
        )
        self.fold = Folder(min(64 * held + (1 << 20), 1 << 28))
        self.most = min(_VALUES_PER_WEIGHT * held + (1 << 14), MAX_VALUES)
        self.notes: list[str] = []
        self.output = ""
        self.values: dict[str, Value] = {
            name: Constant(array) for name, array in self.graph.constants.items()
        }

    def chain(self) -> OpChain:
        """Walk the graph from the data input to the outputs."""
        needed = self._needed()
        data = [port for port in self.graph.inputs if port.name in needed]
        if len(data) != 1:
            named = ", ".join(repr(port.name[:40]) for port in data[:5])
            raise FileError(
                f"it has {len(data)} data inputs ({named}), but one is needed."
                if data
                else "its outputs do not depend on any input."
            )
        self.values[data[0].name] = _start(data[0])
        try:
            self._small_enough(self.values[data[0].name])
        except FileError as error:
            raise FileError(f"the data input {data[0].name[:60]!r}: {error}") from None
        for node in self.graph.nodes:
            if any(name in needed for name in node.outputs if name):
                self._take(node)
        flow, left_out, picks = self._scores()
        self._nothing_left()
        trail = flow.link.trail()
        notes = [note for link in trail for note in link.notes]
        return OpChain(
            self.graph.source,
            flow.shape,
            tuple(link.op for link in trail if link.op is not None),
            flow.channels_last,
            tuple(dict.fromkeys([*notes, *self.notes, *left_out])),
            picks,
        )

    def _nothing_left(self) -> None:
        """Refuse numbers that no node reads: what they are for is not known."""
        read = {name for node in self.graph.nodes for name in node.inputs}
        read |= {port.name for port in (*self.graph.outputs, *self.graph.inputs)}
        nested = any(
            isinstance(value, Subgraph) for node in self.graph.nodes for value in node.attributes.values()
        )
        left = [name for name in self.graph.constants if name not in read]
        if left and not nested:
            raise FileError(
                f"its constant {left[0][:60]!r}{f' and {len(left) - 1} more' if len(left) > 1 else ''} would "
                "be left over: no node reads it. Take it out of the file if the network does not use it."
            )

    def _needed(self) -> set[str]:
        """All names that some output depends on."""
        needed = {port.name for port in self.graph.outputs}
        for node in reversed(self.graph.nodes):
            if any(name in needed for name in node.outputs if name):
                needed |= set(node.inputs)
        return needed

    # -- outputs ---------------------------------------------------------------------------------------------

    def _scores(self) -> tuple[Flow, tuple[str, ...], Picks]:
        """The class scores: what a class is picked by, else the only output;
        and what is shown of those picked.
        """
        outputs = {
            port.name: self.values[port.name] for port in self.graph.outputs if port.name in self.values
        }
        if not outputs:
            raise FileError("it has no output that a node makes.")
        found: dict[str, ScoreTail] = {}
        failures: list[Failure] = []
        for name, value in outputs.items():
            try:
                if isinstance(value, Failure):
                    raise value.error
                if isinstance(value, Constant):
                    continue
                tail = value if isinstance(value, ScoreTail) else ScoreTail(settled(value, ""), ())
                flow = tail.flow
                found[name] = replace(
                    tail,
                    flow=replace(
                        flow.flat(flow.inner, f"output {name[:60]!r}"), axes=(flow.batch, flow.inner)
                    ),
                )
            except FileError as error:
                failures.append(Failure(error, value.number if isinstance(value, Failure) else 1 << 30))
        picked = {name: tail for name, tail in found.items() if tail.picks}
        deciding = {name: tail for name, tail in picked.items() if tail.picks != "scores"} or picked or found
        if not found or (failures and not any(tail.picks for tail in deciding.values())):
            if failures:
                raise min(failures, key=lambda failure: failure.number).error
            raise FileError("its outputs do not depend on the input.")
        self.output, first = next(iter(deciding.items()))
        if any(tail.flow.link is not first.flow.link for tail in deciding.values()):
            named = ", ".join(repr(name[:40]) for name in list(deciding)[:5])
            raise FileError(
                f"it has several outputs that are different values ({named}). "
                f"Keep the class scores as the only output."
            )
        others = tuple(f"output {name[:60]!r}" for name in outputs if name not in deciding)
        return first.flow, (*first.left_out, *others), first.picks

    # -- one node --------------------------------------------------------------------------------------------

    def _take(self, node: Node) -> None:
        given = [self.values.get(name) if name else None for name in node.inputs]
        given += [None] * (_MOST_INPUTS - len(given))
        failed = next((value for value in given if isinstance(value, Failure)), None)
        made: Value
        try:
            made = failed or self._read(node, given)
        except FileError as error:
            made = Failure(FileError(f"{node}: {error}"), node.number)
        for place, name in enumerate(node.outputs):
            if not name:
                continue
            if place and isinstance(made, ScoreTail) and node.op == "TopK":
                self.values[name] = replace(made, picks="class")
            elif place:
                self.values[name] = (
                    made
                    if isinstance(made, Failure)
                    else Failure(FileError(f"{node}: its output {place} is not supported."), node.number)
                )
            else:
                self.values[name] = made

    def _read(self, node: Node, given: list[Value | None]) -> Value:
        """What a node makes; nothing of it may be left over."""
        self._known(node)
        counted = checked(node) if node.op in ACCEPTED else node
        made = self._value(counted, given)
        self._small_enough(made)
        if (unused := left_over(counted)) is not None:
            raise FileError(
                f"its attribute {unused} is {str(node.attributes[unused])[:60]!r}, "
                f"which is not supported here."
            )
        return made

    def _small_enough(self, value: Value) -> None:
        """Refuse a sample that grows far beyond what the file can mean:
        a small file must not cost much time or memory.
        """
        flow = value if isinstance(value, Flow) else getattr(value, "flow", None)
        size = 0 if flow is None else prod(piece.size for piece in flow.inner)
        if isinstance(value, WindowRows):
            size *= prod(value.kernel)
        if flow is not None and len(flow.axes) > _MOST_AXES:
            raise FileError(
                f"it makes data with {len(flow.axes)} axes, but {_MOST_AXES} at most are supported."
            )
        if size > self.most:
            raise FileError(
                f"a sample has {size:,} values there, but with as few weights as the file holds "
                f"{self.most:,} are supported. Export the model for smaller samples or less padding."
            )

    def _known(self, node: Node) -> None:
        if (node.domain, node.op) in self.graph.functions:
            raise FileError(
                "it is a function that the file defines itself. Write functions out "
                "first: onnx.inliner.inline_local_functions(model)."
            )
        if node.domain not in DOMAINS:
            raise FileError(
                f"its domain {node.domain[:60]!r} is not known. Known are the standard one, QONNX, "
                f"FINN and Brevitas."
            )
        if any(isinstance(value, Subgraph) for value in node.attributes.values()) and node.op != "Constant":
            raise FileError(
                f"{_NEAREST.get(node.op, 'it holds a graph or another attribute that is not supported')}."
            )

    def _value(self, node: Node, given: list[Value | None]) -> Value:
        data = [value for value in given if value is not None and not isinstance(value, Constant)]
        if not data:
            return self._constant(node, given)
        if any(isinstance(value, ScoreTail) for value in data):
            return self._behind_tail(node, given)
        rule = RULES.get(node.op)
        if rule is not None:
            return rule(node, given)
        if node.op in TAILS:
            return self._tail(node, given)
        if node.op in _NEAREST:
            raise FileError(f"{_NEAREST[node.op]}.")
        return elementwise(node, given, self.fold)

    def _constant(self, node: Node, given: Sequence[Value | None]) -> Constant:
        constants = [value for value in given if isinstance(value, Constant)]
        if node.op == "Dropout" and constants:
            return constants[0]
        for left, right in (constants, constants[::-1]) if node.op == "Add" and len(constants) == 2 else ():
            if left.minus is not None and np.array_equal(left.minus[1], right.array):
                self.notes.append(
                    f"{node}: a straight-through estimator adds and subtracts the same weights; read as "
                    "their signs alone, though in floating point its own sum can differ from them "
                    "in the last digit"
                )
                return Constant(left.minus[0])
        found = self.fold(node.op, arrays_of(given), node.attributes)
        of_batch = any(value.of_batch for value in constants)
        # how many there are depends on the batch, what they are does not
        if node.op in (
            "ConstantOfShape",
            "Expand",
        ):
            of_batch = node.op == "Expand" and constants[0].of_batch
        elif node.op in ("Shape", "Size"):
            of_batch = bool((found % OPEN_BATCH == 0).any())
        if node.op == "Sub" and not of_batch and found.shape == constants[0].array.shape:
            return Constant(found, minus=(constants[0].array, constants[1].array))
        if of_batch and node.op in _SAME_SIZES:
            of_batch = bool((found % OPEN_BATCH == 0).any()) if found.dtype.kind in "iu" else True
        return Constant(found, of_batch)

    def _tail(self, node: Node, given: Sequence[Value | None]) -> ScoreTail:
        flow = flow_of(given)
        if node.op == "Sigmoid":
            return ScoreTail(flow, (str(node),), shares=True)
        axis = tail_axis(node, self.graph.opset, len(flow.axes))
        if node.op == "TopK" and not node.attributes["largest"]:
            raise FileError("it picks the smallest scores. Negate the scores and pick the largest.")
        named = (
            f"{node}, where a tie goes to the last class instead of the first"
            if node.attributes.get("select_last_index", 0)
            else str(node)
        )
        flow.features(axis, str(node))  # refuses where some scores lie on other axes
        return ScoreTail(flow, (named,), _PICKS.get(node.op, ""), node.op == "Softmax")

    def _behind_tail(self, node: Node, given: Sequence[Value | None]) -> ScoreTail:
        tail = given[0]
        if not isinstance(tail, ScoreTail) or any(isinstance(value, ScoreTail) for value in given[1:]):
            raise FileError(
                "it combines class scores with something else. Only a chain of layers is supported."
            )
        last = f"it stands behind {tail.left_out[-1]}, which must be the end of the network."
        if node.op not in TAILS | BEHIND_TAILS:
            raise FileError(last)
        if node.op == "Cast":
            kind = np.dtype(DTYPES.get(node.attributes["to"], "V")).kind
            if kind not in ("f" if not tail.picks else "fiu"):
                raise FileError(
                    f"it casts class scores to element type {node.attributes['to']}, "
                    f"which can change the class."
                )
            return tail
        if tail.picks:  # the class itself, or its score
            if node.op in TAILS or node.op == "Log":
                raise FileError(last)
            for name in node.attributes:
                node.attributes.get(name)  # only its shape can change now
            return tail
        if node.op == "Log":
            if not tail.shares:
                raise FileError("it takes logarithms of what may be negative.")
            return replace(tail, shares=False, left_out=(*tail.left_out, str(node)))
        if node.op in TAILS:
            found = self._tail(node, [tail.flow])
            return replace(found, left_out=(*tail.left_out, *found.left_out))
        moved = RULES[node.op](node, [tail.flow, *given[1:]])
        assert isinstance(moved, Flow)
        return replace(tail, flow=moved)


def _start(port: Port) -> Flow:
    """The data input as it is declared."""
    if port.shape is None:
        raise FileError(
            f"the data input {port.name[:60]!r} has no declared shape. Export the model with one."
        )
    if len(port.shape) < 2:
        raise FileError(
            f"the data input {port.name[:60]!r} has {len(port.shape)} axes, but a batch axis and one or more "
            f"others are needed."
        )
    dtype = np.dtype(DTYPES.get(port.dtype, "V")).newbyteorder("=")
    if dtype.kind not in "fiu" or dtype == np.float16:
        raise FileError(
            f"the data input {port.name[:60]!r} has element type {port.dtype}, but float32, float64 or whole "
            f"numbers are needed."
        )
    batch, *sizes = port.shape
    wrong = next((size for size in sizes if size is None or size < 1), 1)
    known = [size or 0 for size in sizes]
    if wrong != 1 or prod(known) > MAX_VALUES or batch == 0:
        raise FileError(
            f"the data input {port.name[:60]!r} has shape {str(port.shape)[:80]}, but only the batch may be "
            f"open, and a sample may have up to {MAX_VALUES:,} values. "
            f"Export the model for one size of samples."
        )
    if batch is not None and batch >= MAX_VALUES:
        raise FileError(f"the data input {port.name[:60]!r} is declared for batches of {batch}.")
    kept = known if len(known) <= 3 else [size for size in known if size > 1]
    if len(kept) > 3:
        raise FileError(
            f"the data input {port.name[:60]!r} has {len(kept)} axes beside the batch. "
            f"Up to three are supported."
        )
    flow = Flow.start(known, dtype, batch or OPEN_BATCH)
    return (
        flow if len(known) <= 3 else replace(flow, parts=tuple(part for part in flow.parts if part) or ((),))
    )
