"""Read ONNX, QONNX and FINN files as an `OpChain`. The graph is processed once, in order. Everything is
recognized by its computation.

Names of tensors and nodes decide nothing. An unsupported node becomes a `Failure`, which is raised only if
the class scores depend on it.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import OpChain, Picks
from sugenet.io.onnx.flow import MAX_VALUES, OPEN_BATCH, Flow
from sugenet.io.onnx.fold import ELEMENTWISE, OTHERS, Folder, of_samples
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node, Port, Subgraph, read_graph
from sugenet.io.onnx.layers import (
    concatenated,
    convolution,
    gathered,
    gemm,
    linear,
    padded,
    patches,
    pooled,
    reduced,
    sliced_channels,
)
from sugenet.io.onnx.operators import (
    BEHIND_TAILS,
    DOMAINS,
    REARRANGING,
    TAILS,
    checked,
    left_over,
    rearrangement,
    tail_axis,
)
from sugenet.io.onnx.patterns import POINTWISE, batch_norm, elementwise, multi_threshold
from sugenet.io.onnx.rewriting import plain_graph
from sugenet.io.onnx.values import (
    Constant,
    Curve,
    Failure,
    Mix,
    ScoreTail,
    SignTable,
    Value,
    WindowRows,
    settled,
    sizes_of,
)
from sugenet.io.plain.refusals import refuse_if, within

__all__ = ["ACCEPTED", "RULES", "GraphWalk", "arrays_of", "flow_of", "read_file"]

_VALUES_PER_WEIGHT = 32
_MOST_AXES = 16
_MOST_INPUTS = 5
"""Number of inputs that every node has: missing ones at the end count as omitted."""
_PICKS: dict[str, Picks] = {"ArgMax": "class", "Hardmax": "marks", "TopK": "scores"}
_SAME_SIZES = {"Cast", "Concat", "Gather", "Identity", "Reshape", "Shape", "Slice", "Squeeze", "Unsqueeze"}
_NEAREST = {
    "ConvTranspose": (
        "a transposed convolution is not supported. Use from_torch, or write it as a plain one"
    ),
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
        Path of the file, compressed with gzip or not, its bytes, or the graph that was read from it.
        Tensors in side files are read from the same folder.

    Returns
    -------
    The operations from the raw input to the class scores, in the numbers of the file, the file itself, and
    the output that the chain leads to. Softmax and similar operations at the end are left out and named in
    ``left_out``.

    Raises
    ------
    FileError
        If the file cannot be read, or contains unsupported operations. The message names the node, the
        reason, and an alternative.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer, Head, Network
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


# -- rules ---------------------------------------------------------------------------------------------------

Rule: TypeAlias = Callable[[Node, list[Value | None]], Value]


def flow_of(inputs: Sequence[Value | None]) -> Flow:
    """Return the first input, which must be the only data, as a flow."""
    first = inputs[0]
    if first is None or isinstance(first, Constant | Failure):
        raise FileError("its first input must be the data, and its parameters constants.")
    refuse_if(
        any(value is not None and not isinstance(value, Constant) for value in inputs[1:]),
        "two of its inputs depend on the data. Weights and parameters must be constants; residual "
        "connections are not supported.",
    )
    return settled(first, "Cut the model before it, or move it to the end.")


def _shared_sizes(inputs: Sequence[Value | None]) -> tuple[int, ...] | None:
    """Return the shape of the result of an elementwise operation, if it is known."""
    shapes = [sizes_of(value) for value in inputs if value is not None]
    try:
        return None if None in shapes else np.broadcast_shapes(*filter(None, shapes))
    except ValueError:
        return None


def arrays_of(inputs: Sequence[Value | None]) -> list[Array | None]:
    """Return the constants among the inputs."""
    return [value.array if isinstance(value, Constant) else None for value in inputs]


def _parameter(inputs: Sequence[Value | None], index: int, what: str) -> Array:
    value = inputs[index]
    if not isinstance(value, Constant) or value.of_batch or of_samples(value.array):
        raise FileError(f"its {what} are missing.")
    return value.array


def _optional(inputs: Sequence[Value | None], index: int) -> Array | None:
    value = inputs[index]
    refuse_if(
        isinstance(value, Constant) and (value.of_batch or of_samples(value.array)),
        f"its input {index} depends on the size of the batch.",
    )
    return value.array if isinstance(value, Constant) else None


def _layer(function: Callable[..., Value], *parameters: str) -> Rule:
    """Return a rule that reads data and constants.

    Each constant is given by its name, or "" if it is optional.
    """

    def run(node: Node, inputs: list[Value | None]) -> Value:
        flow = flow_of(inputs)
        arrays = [
            _parameter(inputs, k, what) if what else _optional(inputs, k)
            for k, what in enumerate(parameters, 1)
        ]
        return function(node, flow, *arrays)

    return run


def _shaped_by(function: Callable[..., Value]) -> Rule:
    """Return a rule that reads data, and constants that define positions."""
    return lambda node, inputs: function(node, flow_of(inputs), arrays_of(inputs))


def _rearranged(node: Node, inputs: list[Value | None]) -> Value:
    """Return the same value in another shape, or with its axes in another order."""
    refuse_if(
        any(value is not None and not isinstance(value, Constant) for value in inputs[1:]),
        "its shape or axes depend on the values of the input.",
    )
    value = settled(inputs[0], "") if isinstance(inputs[0], Mix) else inputs[0]
    if not isinstance(value, Flow | SignTable | Curve):
        raise FileError(
            "it rearranges a value that waits for another operation, or a parameter that depends on the "
            "input."
        )
    flow = value.flow
    moved = flow.rearranged(rearrangement(node.op, flow.sizes, arrays_of(inputs), node.attributes))
    return moved if isinstance(value, Flow) else replace(value, flow=moved)


def _shape(node: Node, inputs: list[Value | None]) -> Value:
    value = inputs[0]
    if not isinstance(value, Flow | SignTable | Curve | Mix):
        raise FileError("it asks for the shape of something that has none here.")
    sizes, get = value.flow.sizes, node.attributes.get
    array = np.array(sizes[slice(get("start"), get("end"))] if node.op == "Shape" else prod(sizes), np.int64)
    return Constant(array, bool((array % OPEN_BATCH == 0).any()))


def _same(_: Node, inputs: list[Value | None]) -> Value:
    value = inputs[0]
    assert value is not None
    return value


def _dropout(_: Node, inputs: list[Value | None]) -> Value:
    training = _optional(inputs, 2)
    refuse_if(
        training is not None and training.any(),
        "it drops values at random (training mode). Export the model in evaluation mode: model.eval().",
    )
    value = inputs[0]
    if value is None or isinstance(value, Constant):
        raise FileError("its first input must be the data.")
    return value


def _matmul(node: Node, inputs: list[Value | None]) -> Value:
    if isinstance(inputs[0], WindowRows) and isinstance(inputs[1], Constant):
        return linear(node, inputs[0], inputs[1].array)
    refuse_if(
        isinstance(inputs[0], Constant),
        "it multiplies weights from the left. Write it as data times weights.",
    )
    return linear(node, flow_of(inputs), _parameter(inputs, 1, "weights"))


def _pool_nhwc(node: Node, flow: Flow) -> Value:
    refuse_if(len(flow.axes) != 4, "it needs four axes.")
    return pooled(replace(node, op="MaxPool"), flow.transposed((0, 3, 1, 2))).transposed((0, 2, 3, 1))


def _concat(node: Node, inputs: list[Value | None]) -> Value:
    values = [value for value in inputs if value is not None]  # omitted ones are at the end
    refuse_if(
        any(isinstance(value, Constant) for value in values),
        "it joins the data with a constant. Join values that depend on the input.",
    )
    refuse_if("axis" not in node.attributes, "its attribute axis is missing. Name the axis of the channels.")
    return concatenated(node, [settled(value, "") for value in values])  # type: ignore[arg-type]


def _slice(node: Node, inputs: list[Value | None]) -> Value:
    refuse_if(
        any(value is not None and not isinstance(value, Constant) for value in inputs[1:]),
        "its ends depend on the values of the input.",
    )
    flow = settled(inputs[0], "")  # type: ignore[arg-type]
    return sliced_channels(node, flow, arrays_of(inputs))


RULES: dict[str, Rule] = {
    **dict.fromkeys(REARRANGING, _rearranged),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"), _layer(pooled)),
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceSum"), _shaped_by(reduced)),
    "BatchNormalization": _layer(batch_norm, *("parameters",) * 4),
    "Concat": _concat,
    "Conv": _layer(convolution, "weights", ""),
    "Dropout": _dropout,
    "Gather": _layer(gathered, "indices"),
    "Gemm": _layer(gemm, "weights", ""),
    "Identity": _same,
    "Im2Col": _layer(patches),
    "MatMul": _matmul,
    "MaxPoolNHWC": _layer(_pool_nhwc),
    "MultiThreshold": _layer(multi_threshold, "thresholds"),
    "Pad": _shaped_by(padded),
    "Shape": _shape,
    "Size": _shape,
    "Slice": _slice,
}
"""The rule of each operation whose first input is data. Other operations are elementwise, or the end of the
network.
"""
ACCEPTED = {*RULES, *TAILS, *BEHIND_TAILS, *ELEMENTWISE, *OTHERS, *POINTWISE}
"""Every operation that a file may contain. The interpreter must support each of them."""


# -- the walk ------------------------------------------------------------------------------------------------


@dataclass
class GraphWalk:
    """The values of the names of the graph, so far."""

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
        """Process the graph from the data input to the outputs."""
        nodes, needed = self.graph.leading_to(*(port.name for port in self.graph.outputs))
        data = [port for port in self.graph.inputs if port.name in needed]
        if len(data) != 1:
            named = ", ".join(repr(port.name[:40]) for port in data[:5])
            raise FileError(
                f"it has {len(data)} data inputs ({named}), but one is needed."
                if data
                else "its outputs do not depend on any input."
            )
        self.values[data[0].name] = _start(data[0])
        with within(f"the data input {data[0].name[:60]!r}"):
            self._small_enough(self.values[data[0].name])
        for node in nodes:
            self._take(node)
        flow, left_out, picks = self._scores()
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

    # -- outputs ---------------------------------------------------------------------------------------------

    def _scores(self) -> tuple[Flow, tuple[str, ...], Picks]:
        """Return the class scores: the input of a node that picks a class, else the only output.

        Also return which part of the picked scores is visible.
        """
        outputs = {
            port.name: self.values[port.name] for port in self.graph.outputs if port.name in self.values
        }
        refuse_if(not outputs, "it has no output that a node makes.")
        tails: dict[str, ScoreTail] = {}
        failures: list[Failure] = []
        for name, value in outputs.items():
            try:
                if isinstance(value, Failure):
                    raise value.error
                if isinstance(value, Constant):
                    continue
                tail = value if isinstance(value, ScoreTail) else ScoreTail(settled(value, ""), ())
                flow = tail.flow
                tails[name] = replace(
                    tail,
                    flow=replace(
                        flow.flat(flow.inner, f"output {name[:60]!r}"), axes=(flow.batch, flow.inner)
                    ),
                )
            except FileError as error:
                failures.append(Failure(error, value.number if isinstance(value, Failure) else 1 << 30))
        picked = {name: tail for name, tail in tails.items() if tail.picks}
        deciding = {name: tail for name, tail in picked.items() if tail.picks != "scores"} or picked or tails
        if not tails or (failures and not any(tail.picks for tail in deciding.values())):
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
        inputs = [self.values.get(name) if name else None for name in node.inputs]
        inputs += [None] * (_MOST_INPUTS - len(inputs))
        failed = next((value for value in inputs if isinstance(value, Failure)), None)
        others = [value for value in inputs[:2] if value is not failed]
        cancelling = node.op in ("Add", "Sub") and isinstance(others[0] if others else None, SignTable | Mix)
        made: Value
        try:
            made = failed if failed is not None and not cancelling else self._read(node, inputs)
        except FileError as error:
            made = failed or Failure(FileError(f"{node}: {error}"), node.number)
        if isinstance(made, Failure) and node.op in ELEMENTWISE:
            made = replace(made, sizes=_shared_sizes(inputs))
        for index, name in enumerate(node.outputs):
            if not name:
                continue
            if index and isinstance(made, ScoreTail) and node.op == "TopK":
                self.values[name] = replace(made, picks="class")
            elif index:
                self.values[name] = (
                    made
                    if isinstance(made, Failure)
                    else Failure(FileError(f"{node}: its output {index} is not supported."), node.number)
                )
            else:
                self.values[name] = made

    def _read(self, node: Node, inputs: list[Value | None]) -> Value:
        """Return the value of a node. All its attributes must be used."""
        self._known(node)
        counted = checked(node) if node.op in ACCEPTED else node
        made = self._value(counted, inputs)
        self._small_enough(made)
        if (unused := left_over(counted)) is not None:
            raise FileError(
                f"its attribute {unused} is {str(node.attributes[unused])[:60]!r}, "
                f"which is not supported here."
            )
        return made

    def _small_enough(self, value: Value) -> None:
        """Refuse a sample that grows beyond any reasonable size. A small file must not use much time or
        memory.
        """
        flow = getattr(value, "flow", None)
        size = 0 if flow is None else prod(piece.size for piece in flow.inner)
        if isinstance(value, WindowRows):
            size *= prod(value.kernel)
        if flow is not None and len(flow.axes) > _MOST_AXES:
            raise FileError(
                f"it makes data with {len(flow.axes)} axes, but {_MOST_AXES} at most are supported."
            )
        refuse_if(
            size > self.most,
            f"a sample has {size:,} values there, but with as few weights as the file holds "
            f"{self.most:,} are supported. Export the model for smaller samples or less padding.",
        )

    def _known(self, node: Node) -> None:
        refuse_if(
            (node.domain, node.op) in self.graph.functions,
            "it is a function that the file defines itself. Write functions out "
            "first: onnx.inliner.inline_local_functions(model).",
        )
        refuse_if(
            node.domain not in DOMAINS,
            f"its domain {node.domain[:60]!r} is not known. Known are the standard one, QONNX, "
            f"FINN and Brevitas.",
        )
        refuse_if(
            any(isinstance(value, Subgraph) for value in node.attributes.values()) and node.op != "Constant",
            f"{_NEAREST.get(node.op, 'it holds a graph or another attribute that is not supported')}.",
        )

    def _value(self, node: Node, inputs: list[Value | None]) -> Value:
        data = [value for value in inputs if value is not None and not isinstance(value, Constant)]
        if not data:
            return self._constant(node, inputs)
        if any(isinstance(value, ScoreTail) for value in data):
            return self._behind_tail(node, inputs)
        rule = RULES.get(node.op)
        if rule is not None:
            return rule(node, inputs)
        if node.op in TAILS:
            return self._tail(node, inputs)
        if node.op in _NEAREST:
            raise FileError(f"{_NEAREST[node.op]}.")
        return elementwise(node, inputs, self.fold)

    def _constant(self, node: Node, inputs: Sequence[Value | None]) -> Constant:
        constants = [value for value in inputs if isinstance(value, Constant)]
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
        folded = self.fold(node.op, arrays_of(inputs), node.attributes)
        of_batch = any(value.of_batch for value in constants)
        # their number depends on the batch, their values do not
        if node.op in (
            "ConstantOfShape",
            "Expand",
        ):
            of_batch = node.op == "Expand" and constants[0].of_batch
        elif node.op in ("Shape", "Size"):
            of_batch = bool((folded % OPEN_BATCH == 0).any())
        if node.op == "Sub" and not of_batch and folded.shape == constants[0].array.shape:
            return Constant(folded, minus=(constants[0].array, constants[1].array))
        if of_batch and node.op in _SAME_SIZES:
            of_batch = bool((folded % OPEN_BATCH == 0).any()) if folded.dtype.kind in "iu" else True
        return Constant(folded, of_batch)

    def _tail(self, node: Node, inputs: Sequence[Value | None]) -> ScoreTail:
        flow = flow_of(inputs)
        if node.op == "Sigmoid":
            return ScoreTail(flow, (str(node),), shares=True)
        axis = tail_axis(node, self.graph.opset, len(flow.axes))
        refuse_if(
            node.op == "TopK" and not node.attributes["largest"],
            "it picks the smallest scores. Negate the scores and pick the largest.",
        )
        named = (
            f"{node}, where a tie goes to the last class instead of the first"
            if node.attributes.get("select_last_index", 0)
            else str(node)
        )
        flow.features(axis, str(node))  # refuses if some scores are on other axes
        return ScoreTail(flow, (named,), _PICKS.get(node.op, ""), node.op == "Softmax")

    def _behind_tail(self, node: Node, inputs: Sequence[Value | None]) -> ScoreTail:
        tail = inputs[0]
        if not isinstance(tail, ScoreTail) or any(isinstance(value, ScoreTail) for value in inputs[1:]):
            raise FileError(
                "it combines class scores with something else. Only a chain of layers is supported."
            )
        last = f"it comes after {tail.left_out[-1]}, which must be the end of the network."
        refuse_if(node.op not in TAILS | BEHIND_TAILS, last)
        if node.op == "Cast":
            kind = np.dtype(DTYPES.get(node.attributes.get("to", 0), "V")).kind
            refuse_if(
                kind not in ("f" if not tail.picks else "fiu"),
                f"it casts class scores to element type {node.attributes.get('to')}, "
                f"which can change the class.",
            )
            return tail
        if tail.picks:  # the class itself, or its score
            refuse_if(node.op in TAILS or node.op == "Log", last)
            for name in node.attributes:
                node.attributes.get(name)  # only its shape can change now
            return tail
        if node.op == "Log":
            refuse_if(not tail.shares, "it takes logarithms of values that may be negative.")
            return replace(tail, shares=False, left_out=(*tail.left_out, str(node)))
        if node.op in TAILS:
            next_tail = self._tail(node, [tail.flow])
            return replace(next_tail, left_out=(*tail.left_out, *next_tail.left_out))
        moved = RULES[node.op](node, [tail.flow, *inputs[1:]])
        assert isinstance(moved, Flow)
        return replace(tail, flow=moved)


def _start(port: Port) -> Flow:
    """Return the data input as declared."""
    if port.shape is None:
        raise FileError(
            f"the data input {port.name[:60]!r} has no declared shape. Export the model with one."
        )
    refuse_if(
        len(port.shape) < 2,
        f"the data input {port.name[:60]!r} has {len(port.shape)} axes, but a batch axis and one or more "
        f"others are needed.",
    )
    dtype = np.dtype(DTYPES.get(port.dtype, "V")).newbyteorder("=")
    refuse_if(
        dtype.kind not in "fiu" or dtype == np.float16,
        f"the data input {port.name[:60]!r} has element type {port.dtype}, but float32, float64 or integers "
        f"are required.",
    )
    batch, *sizes = port.shape
    wrong = next((size for size in sizes if size is None or size < 1), 1)
    known = [size or 0 for size in sizes]
    refuse_if(
        wrong != 1 or prod(known) > MAX_VALUES or batch == 0,
        f"the data input {port.name[:60]!r} has shape {str(port.shape)[:80]}, but only the batch may be "
        f"open, and a sample may have up to {MAX_VALUES:,} values. "
        f"Export the model for one size of samples.",
    )
    refuse_if(
        batch is not None and batch >= MAX_VALUES,
        f"the data input {port.name[:60]!r} is declared for batches of {batch}.",
    )
    kept = known if len(known) <= 3 else [size for size in known if size > 1]
    refuse_if(
        len(kept) > 3,
        f"the data input {port.name[:60]!r} has {len(kept)} axes besides the batch. "
        f"Up to three are supported.",
    )
    flow = Flow.start(known, dtype, batch or OPEN_BATCH)
    return (
        flow if len(known) <= 3 else replace(flow, parts=tuple(part for part in flow.parts if part) or ((),))
    )
