"""Compare each node of an ONNX file alone, as it was read, with the interpreter of ONNX operators. The inputs
are at, next to and beyond the numbers of the node, which samples of the whole network may never reach.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import laid_out, passed
from sugenet.io.exact.ops import OpChain
from sugenet.io.onnx.flow import OPEN_BATCH, Flow
from sugenet.io.onnx.graph import DTYPES, Array, Graph, Node, Port
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.onnx.reader import GraphWalk
from sugenet.io.onnx.values import Constant, Failure, ScoreTail, Value

__all__ = ["compare_nodes"]

_LADDER = (2.0**-10, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 20.0, 127.0, 256.0, 2.0**20, 2.0**60)
_ENDS = (8.0, 2.0**20, np.inf)
"""The numbers of a sample have one magnitude: up to the first of these, between two, or beyond."""
_SIZES = (1.0, 2.0**-6, 2.0**12, 0.25)
_MOST_NODES = 32
"""Largest number of nodes of a part of the graph that starts at one tensor and is read and run alone."""
_MOST_NUMBERS = 64
_WORK, _LEAST = 1 << 19, 4
"""Largest number of values that the interpreter computes for one node, and the smallest number of samples.
The most informative samples are first.
"""
_NEAR = 2.0**-20
"""Largest difference of values from rounding in the file's own floats, relative to the largest."""


def compare_nodes(graph: Graph) -> int:
    """Return how many nodes were compared alone. A node that was misread is refused by name.

    A node that reads two values is compared together with the nodes that compute them from one. If the
    interpreter or the reader cannot separate a node from the others, it is compared only within the whole
    network.

    Parameters
    ----------
    graph
        A file that was read as a whole.

    Raises
    ------
    FileError
        If a node computes something else than the operations that were read.
    """
    walk = GraphWalk(graph)
    walk.chain()
    makers = {name: node for node in walk.graph.nodes for name in node.outputs if name}
    return sum(_is_compared(walk, node, makers) for node in walk.graph.nodes)


def _is_compared(walk: GraphWalk, node: Node, makers: Mapping[str, Node]) -> bool:
    value = walk.values.get(node.outputs[0]) if node.outputs else None
    if value is None or isinstance(value, Constant | Failure | ScoreTail):
        return False
    flow = value.flow
    if flow.batch not in flow.axes:
        return False
    axis = flow.axes.index(flow.batch)
    for start, nodes in _parts(walk.values, node, makers):
        part = _graph(walk, start, nodes, node.outputs[0])
        try:
            chain = GraphWalk(part).chain()
        except FileError:
            continue  # preceding nodes may make it readable: a sign before a sum
        try:
            _compare(chain, Interpreter(part, node.outputs[0]), part, node, axis)
        except UncomparableError:
            return False
        return True
    return False


def _parts(
    values: Mapping[str, Value], node: Node, makers: Mapping[str, Node]
) -> Iterator[tuple[str, list[Node]]]:
    """Yield the parts of the graph that end with a node and start at one tensor, the smallest first."""
    nodes, open_ = [node], _data(values, node)
    while len(nodes) <= _MOST_NODES:
        if len(open_) == 1 and _is_start(values[next(iter(open_))]):
            yield next(iter(open_)), nodes[::-1]
        last = max(open_, key=lambda name: makers[name].number if name in makers else -1, default="")
        if last not in makers:
            return
        made = makers[last]
        open_ = {name for name in open_ if name not in made.outputs} | _data(values, made)
        nodes = sorted({made.number: made, **{n.number: n for n in nodes}}.values(), key=lambda n: -n.number)


def _data(values: Mapping[str, Value], node: Node) -> set[str]:
    return {name for name in node.inputs if name and not isinstance(values.get(name), Constant)}


def _is_start(value: Value | None) -> bool:
    return isinstance(value, Flow) and value.axes[0] == value.batch and value.dtype.kind in "fiu"


def _graph(walk: GraphWalk, start: str, nodes: Sequence[Node], end: str) -> Graph:
    flow = walk.values[start]
    assert isinstance(flow, Flow)
    code = next(code for code, kind in DTYPES.items() if np.dtype(kind).newbyteorder("=") == flow.dtype)
    batch, *sizes = flow.sizes
    port = Port(start, (None if batch == OPEN_BATCH else batch, *sizes), code)
    read = {name for node in nodes for name in node.inputs}
    constants = {name: v.array for name, v in walk.values.items() if isinstance(v, Constant) and name in read}
    return replace(
        walk.graph,
        nodes=tuple(nodes),
        constants=constants,
        inputs=(port,),
        outputs=(Port(end, None),),
        raw=b"",
    )


def _compare(chain: OpChain, program: Interpreter, part: Graph, node: Node, axis: int) -> None:
    """Refuse a node whose values differ from the chain; `axis` of its result is that of the samples."""
    size, batch = prod(program.sample), program.batch or 1
    spent = program.run(np.zeros((batch, *program.sample))).spent // batch
    rows = _rows(part, size, program.kind)
    rows = rows[: max(_LEAST, _WORK // max(spent, 1))]
    if program.batch is not None:
        rows = np.resize(rows, (-(-len(rows) // batch) * batch, size))
    shape = (batch if program.batch is not None else len(rows), *program.sample)
    for samples in rows.reshape(-1, shape[0], size):
        scores = program.run(samples.reshape(shape)).scores
        got, error = (
            np.moveaxis(np.asarray(row, np.float64), axis, 0).reshape(len(samples), -1)
            for row in (scores.values, np.broadcast_to(scores.error, scores.values.shape))
        )
        wanted = passed(chain.ops, laid_out(chain, samples)).reshape(got.shape)
        largest = np.maximum(np.abs(wanted).max(axis=1), np.abs(samples).max(axis=1))[:, None]
        off = ~(np.abs(got - wanted) <= _NEAR * largest + error)
        if off.any():
            row, column = (int(k) for k in np.argwhere(off)[0])
            raise FileError(
                f"{part.source}: {node} was compared alone with the interpreter of ONNX operators: on chosen "
                f"numbers its value {column} is {got[row, column]:.9g}, but it was read as giving "
                f"{wanted[row, column]:.9g}. Nothing was imported. This is a fault of the reader: please "
                "report it with the file."
            )


def _rows(part: Graph, size: int, kind: np.dtype[Any]) -> Array:
    """Return samples for a tensor: mixed, negative and positive numbers of several magnitudes, and every
    number at which the result may change.
    """
    random = np.random.default_rng(0)
    plain = random.integers(1, 9, (3 * len(_SIZES), size)) * np.repeat(_SIZES, 3)[:, None]
    signs = np.tile([[0.0], [-1.0], [1.0]], (len(_SIZES), 1))
    signs = np.where(signs == 0, random.choice([-1.0, 1.0], plain.shape), signs)
    blocks = []
    numbers, low = _numbers(part), 0.0
    for high in _ENDS:
        some = numbers[(np.abs(numbers) <= high) & (np.abs(numbers) >= low)]
        low = np.nextafter(high, np.inf)
        count = min(_MOST_NUMBERS, -(-len(some) // size)) if len(some) else 0
        blocks.append(np.resize(some, (count, size)))
    rows = np.concatenate([blocks[0], signs * plain, *blocks[1:]])
    if kind.kind == "f":
        return rows.astype(kind).astype(np.float64)
    ends = np.iinfo(kind)
    return np.asarray(np.clip(np.rint(rows), max(ends.min, -(2**31)), min(ends.max, 2**31)))


def _numbers(part: Graph) -> Array:
    """Return zero, the numbers of the nodes, their neighbours in float32, and small and large numbers."""
    node_numbers = [float(v) for node in part.nodes for v in node.attributes.values() if isinstance(v, float)]
    for array in part.constants.values():
        if array.dtype.kind in "fiu" and array.size:
            flat = np.unique(array.astype(np.float64))
            node_numbers += flat[
                np.linspace(0, len(flat) - 1, min(len(flat), _MOST_NUMBERS)).astype(int)
            ].tolist()
    marks = np.array([*node_numbers, *_LADDER], np.float32)
    marks = np.concatenate([marks, -marks])
    marks = marks[np.isfinite(marks) & (np.abs(marks) <= np.float32(2.0**60)) & (np.abs(marks) > 1e-30)]
    near = [np.nextafter(marks, np.float32(way)) for way in (-np.inf, np.inf)]
    return np.unique(np.concatenate([[0.0], marks, *near]).astype(np.float64))
