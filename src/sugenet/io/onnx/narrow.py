"""Quantizers of few bits in a QDQ file. QuantizeLinear, Clip and DequantizeLinear in a row, as in files of
Brevitas (QCDQ), become the one `Quant` that they are. Then the file is read as QONNX.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sugenet.io.onnx.graph import Array, Graph, Node

__all__ = ["narrowed"]

_QUANTIZED = {"QuantizeLinear", "DequantizeLinear"}
_MOST_BITS = 8


def narrowed(graph: Graph) -> Graph:
    """Return a graph with each quantizer as one node, if a Clip makes some of them narrow.

    A graph with other integer operations, or quantizers that are not such a row, stays as it is.
    """
    reads = Counter(name for node in graph.nodes for name in node.inputs)
    reads.update(port.name for port in graph.outputs)
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    constants, nodes, left_out = dict(graph.constants), [], set[int]()
    clips = 0
    for node in graph.nodes:
        if node.op != "DequantizeLinear" or node.domain:
            nodes.append(node)
            continue
        row = [node]
        while row[-1].op != "QuantizeLinear":
            before = makers.get(row[-1].inputs[0])
            if before is None or before.op not in ("Clip", "QuantizeLinear") or reads[before.outputs[0]] != 1:
                return graph
            row.append(before)
        made = _quant(row[::-1], constants)
        if made is None:
            return graph
        clips += len(row) > 2
        left_out |= {other.number for other in row}
        nodes.append(made)
    nodes = [node for node in nodes if node.number not in left_out or node.op == "Quant"]
    if not clips or any(node.op in _QUANTIZED for node in nodes):
        return graph
    used = {name for node in nodes for name in node.inputs}
    lost = {name for node in graph.nodes if node.number in left_out for name in node.inputs} - used
    kept = {name: array for name, array in constants.items() if name not in lost}
    return replace(graph, nodes=tuple(nodes), constants=kept)


def _quant(row: list[Node], constants: dict[str, Array]) -> Node | None:
    """Return the node for QuantizeLinear, Clips and DequantizeLinear; None if it is something else."""
    first, *clips, last = row
    names = [name for node in (first, last) for name in node.inputs[1:3]]
    arrays = [constants.get(name) for name in names]
    plain = all(node.attributes.keys() <= {"axis"} for node in (first, last))
    if len(arrays) != 4 or any(array is None for array in arrays) or not plain:
        return None
    scale, zero, *others = (np.asarray(array) for array in arrays)
    same = zip((scale, zero), others, strict=True)
    if not all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in same) or zero.dtype.str[1:] not in (
        "i1",
        "u1",
    ):
        return None
    ends = np.iinfo(zero.dtype)
    low, high = ends.min, ends.max
    for clip in clips:
        bounds = [constants.get(name) for name in clip.inputs[1:3]]
        if (
            len(bounds) != 2
            or any(bound is None or np.size(bound) != 1 for bound in bounds)
            or clip.attributes
        ):
            return None
        low, high = max(low, int(np.ravel(bounds[0])[0])), min(high, int(np.ravel(bounds[1])[0]))  # type: ignore[arg-type]
    kind = _kind(low, high)
    shape: tuple[int, ...] = ()
    if scale.size > 1:  # one scale per channel: only constants have a known rank
        x, axis = constants.get(first.inputs[0]), int(first.attributes.get("axis", 1))
        if x is None or scale.ndim != 1 or not -x.ndim <= axis < x.ndim or x.shape[axis] != scale.size:
            return None
        shape = tuple(scale.size if k == axis % x.ndim else 1 for k in range(x.ndim))
    if kind is None or (zero.size > 1 and zero.shape != scale.shape):
        return None
    bits, attributes = kind
    inputs = [first.inputs[0]]
    for word, array in (("scale", scale), ("zero", zero.astype(np.float32)), ("bits", np.float32(bits))):
        name = f"{last.outputs[0]} ({word})"
        constants[name] = np.asarray(array).reshape(shape if np.size(array) > 1 else ())
        inputs.append(name)
    return replace(
        last,
        op="Quant",
        domain="qonnx.custom_op.general",
        inputs=tuple(inputs),
        attributes=attributes,
        origin=str(first),
    )


def _kind(low: int, high: int) -> tuple[int, Mapping[str, object]] | None:
    """Return the number of bits and the attributes of a quantizer to the integers from low to high."""
    for bits in range(1, _MOST_BITS + 1):
        for signed in (1, 0):
            for narrow in (0, 1):
                bottom = narrow - (1 << bits - 1) if signed else 0
                top = (1 << bits - 1) - 1 if signed else (1 << bits) - 1 - narrow
                if (bottom, top) == (low, high) and bottom < top:
                    return bits, {"signed": signed, "narrow": narrow, "rounding_mode": "ROUND"}
    return None
