"""Rewrite ONNX graphs in plain operators before they are read.

`plain_graph` rewrites FINN's dataflow graphs: matrix-vector units, thresholding, sliding windows, pooling and
label selection. All domains and endings of their names are supported, also the old domain ``finn``. A unit
with bipolar inputs and weights counts matches. Other units multiply. A value reaches a threshold if it is at
least as large. Attributes about hardware (folding, memories, paths, estimates) do not affect values. They are
skipped by name.

`narrowed` finds quantizers of few bits in a QDQ file. QuantizeLinear, Clip and DequantizeLinear in a row, as
in files of Brevitas (QCDQ), become the one `Quant` that they are. Then the file is read as QONNX.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Graph, Node
from sugenet.io.onnx.operators import DATAFLOW, DATAFLOW_ENDINGS, OLD_DOMAIN
from sugenet.io.plain.refusals import Ledger, expected, refuse_if, within

__all__ = ["narrowed", "plain_graph"]

_GENERAL = "finn.custom_op.general"
_POPCOUNT = "XnorPopcountMatMul"
_HARDWARE = frozenset(
    [
        "PE",
        "SIMD",
        "M",
        "WMEM",
        "TMEM",
        "resType",
        "mem_mode",
        "ram_style",
        "ram_style_thresholds",
        "ram_style_mask",
        "runtime_writeable_weights",
        "accDataType",
        "weightDataType",
        "numInputVectors",
        "resDataType",
        "backend",
        "preferred_impl_style",
        "code_gen_dir_npysim",
        "code_gen_dir_cppsim",
        "code_gen_dir_ipgen",
        "executable_path",
        "ipgen_path",
        "ip_path",
        "ip_vlnv",
        "exec_mode",
        "cycles_rtlsim",
        "cycles_estimate",
        "rtlsim_trace",
        "res_estimate",
        "res_hls",
        "res_synth",
        "rtlsim_so",
        "sim_cycles",
        "slr",
        "mem_port",
        "partition_id",
        "device_id",
        "inFIFODepth",
        "outFIFODepth",
        "inFIFODepths",
        "outFIFODepths",
        "output_hook",
        "io_chrc_in",
        "io_chrc_out",
        "io_chrc_period",
        "io_chrc_pads_in",
        "io_chrc_pads_out",
        "cpp_interface",
        "gen_top_module",
        "ipgen_ignore",
        "uniform_thres",
        "deep_pipeline",
        "depth_trigger_uram",
        "depth_trigger_bram",
        "parallel_window",
        "inWidth",
        "outWidth",
        "impl_style",
        "depth",
        "depth_monitor",
        "folded_shape",
        "normal_shape",
        "shape",
        "generated_outshapes",
        "dataType",
        "NumIters",
        "ElemWidth",
        "StreamWidth",
        "Direction",
        "Protocol",
        "intfWidth",
        "streamWidth",
        "burstMode",
        "direction",
        "inputDataType",
        "outputDataType",
        "pumpedMemory",
        "pumpedCompute",
        "dynamic_mode",
    ]
)
_WAY = (
    "Read the model from before it was made for hardware: the streamlined one, such as FINN's "
    "intermediate_models/step_streamline.onnx, or the QONNX export"
)


@dataclass
class _Rewriting:
    """The nodes so far, and their new constants."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def constant(self, node: Node, index: int, what: str) -> Array:
        """Return a parameter of a node, a matrix."""
        name = node.inputs[index] if index < len(node.inputs) else ""
        array = self.graph.constants.get(name)
        if array is None or array.ndim != 2 or array.dtype.kind not in "fiu":
            raise FileError(f"its {what} are not a matrix in the file. {_WAY}.")
        return array

    def kept(self, array: Array) -> str:
        """Return a name for a new constant."""
        name = f"dataflow constant {len(self.constants)}"
        self.constants[name] = array
        return name

    def chain(self, node: Node, steps: list[tuple[str, list[str], Mapping[str, Any]]]) -> None:
        """Replace a node by a sequence of operators."""
        value = node.inputs[0]
        for number, (op, more, attributes) in enumerate(steps):
            last = number == len(steps) - 1
            made = node.outputs if last else (f"{node.outputs[0]} step {number}",)
            domain = _GENERAL if op in ("MultiThreshold", "Im2Col", "MaxPoolNHWC") else ""
            self.nodes.append(
                Node(node.number, op, domain, node.name, (value, *more), made, dict(attributes), str(node))
            )
            value = made[0]


_Steps = list[tuple[str, list[str], Mapping[str, Any]]]


def plain_graph(graph: Graph) -> Graph:
    """Return the graph with every dataflow node in plain operators; the graph itself if there is none.

    Raises
    ------
    FileError
        If a dataflow node, or an attribute of one, is not supported. The message names it and suggests a fix.
    """
    graph = _with_differences(graph)
    if not any(_is_ours(node) for node in graph.nodes):
        return graph
    made = _Rewriting(graph)
    for node in graph.nodes:
        if not _is_ours(node):
            made.nodes.append(node)
            continue
        with within(node):
            _rewrite(made, node)
    read = {name for node in made.nodes for name in node.inputs}
    before = {name for node in graph.nodes for name in node.inputs}
    kept = {name: array for name, array in graph.constants.items() if name in read or name not in before}
    return replace(graph, nodes=tuple(made.nodes), constants={**kept, **made.constants})


def _with_differences(graph: Graph) -> Graph:
    """Return the graph with ``(-x) + y`` written as ``y - x``, as straight-through estimators of QKeras
    have it.
    """
    negated = {
        node.outputs[0]: node.inputs[0] for node in graph.nodes if (node.op, node.domain) == ("Neg", "")
    }
    nodes = list(graph.nodes)
    for k, node in enumerate(nodes):
        if (node.op, node.domain) != ("Add", "") or len(node.inputs) != 2:
            continue
        first, second = node.inputs
        if (first in negated) != (second in negated):
            pair = (second, negated[first]) if first in negated else (first, negated[second])
            nodes[k] = replace(node, op="Sub", inputs=pair, origin=str(node))
    return replace(graph, nodes=tuple(nodes)) if negated else graph


def _is_ours(node: Node) -> bool:
    return node.domain == OLD_DOMAIN or node.domain in DATAFLOW or node.op == _POPCOUNT


def _rewrite(made: _Rewriting, node: Node) -> None:
    kind = node.op
    for ending in DATAFLOW_ENDINGS:
        kind = kind.removesuffix(ending)
    rule = _RULES.get(kind)
    if rule is None and node.domain == OLD_DOMAIN:
        made.nodes.append(replace(node, domain=_GENERAL))
        return
    if rule is None:
        raise FileError(f"this node of a dataflow graph is not read. {_NEAREST.get(kind, _WAY)}.")
    attributes = Ledger(node.attributes)
    rule(made, replace(node, attributes=attributes))
    left = [name for name in attributes.left() if name not in _HARDWARE]
    if left:
        raise FileError(
            f"its attribute {left[0]!r} is {str(node.attributes[left[0]])[:40]!r}, "
            f"which is not known. {_WAY}."
        )


def _integer(node: Node, name: str, default: int | None = None) -> int:
    value = node.attributes.get(name, default)
    return expected(value, int, f"its attribute {name} is {value!r}, but an integer is required.")


def _two(node: Node, name: str, default: int | None = None) -> tuple[int, int]:
    """Return one number for both axes, or one for each."""
    value = node.attributes.get(name, default)
    both = (value, value) if isinstance(value, int) else value
    if not isinstance(both, tuple) or len(both) != 2 or not all(isinstance(v, int) and v > 0 for v in both):
        raise FileError(f"its attribute {name} is {value!r}, but one or two sizes are needed.")
    return both[0], both[1]


def _is(node: Node, name: str, *types: str) -> bool:
    return str(node.attributes.get(name, "")) in types


def _counted(made: _Rewriting, weights: Array, on: tuple[int, int]) -> _Steps:
    """Add match counts: half of the product of -1 and +1 plus half of the number of terms."""
    low, high = on
    refuse_if(
        not np.isin(weights, on).all(),
        f"its weights are said to be {low} and {high}, but hold other numbers.",
    )
    signs = np.where(weights == high, 1.0, -1.0).astype(np.float32)

    def number(value: float) -> list[str]:
        return [made.kept(np.array([value], np.float32))]

    steps: _Steps = [("Mul", number(2), {}), ("Add", number(-1), {})] if low == 0 else []
    steps.append(("MatMul", [made.kept(signs)], {}))
    return [*steps, ("Mul", number(0.5), {}), ("Add", number(len(weights) / 2), {})]


def _popcount(made: _Rewriting, node: Node) -> None:
    made.chain(node, _counted(made, made.constant(node, 1, "weights"), (0, 1)))


def _unit(made: _Rewriting, node: Node) -> None:
    """Rewrite a matrix-vector unit, with or without thresholds."""
    weights = made.constant(node, 1, "weights")
    sizes = (_integer(node, "MW"), _integer(node, "MH"))
    refuse_if(weights.shape != sizes, f"its weights have shape {weights.shape}, but (MW, MH) is {sizes}.")
    steps: _Steps
    if _integer(node, "binaryXnorMode", 0):
        steps = _counted(made, weights, (0, 1))
    elif _is(node, "inputDataType", "BIPOLAR") and _is(node, "weightDataType", "BIPOLAR"):
        steps = _counted(made, weights, (-1, 1))
    else:
        steps = [("MatMul", [made.kept(weights)], {})]
    bare = bool(_integer(node, "noActivation", 0))
    refuse_if(
        bare != (len([name for name in node.inputs if name]) == 2),
        f"it has {len(node.inputs)} inputs, which does not fit noActivation={int(bare)}.",
    )
    if bare:
        node.attributes.get("ActVal")  # of the missing activation
    else:
        steps.append(_thresholds(made, node, made.constant(node, 2, "thresholds"), sizes[1]))
    made.chain(node, steps)


def _thresholds(
    made: _Rewriting, node: Node, rows: Array, channels: int
) -> tuple[str, list[str], Mapping[str, Any]]:
    refuse_if(
        len(rows) not in (1, channels), f"its thresholds have {len(rows)} rows for {channels} channels."
    )
    start, bipolar = _integer(node, "ActVal", 0), _is(node, "outputDataType", "BIPOLAR")
    refuse_if(
        bipolar and (start or rows.shape[1] != 1),
        f"it gives -1 and +1, but has ActVal {start} and {rows.shape[1]} thresholds a channel.",
    )
    scale, bias = (2.0, -1.0) if bipolar else (1.0, float(start))
    full = np.repeat(rows, channels // len(rows), axis=0)
    attributes = {"out_scale": scale, "out_bias": bias, "data_layout": "NHWC"}
    return "MultiThreshold", [made.kept(full)], attributes


def _thresholding(made: _Rewriting, node: Node) -> None:
    rows, channels = made.constant(node, 1, "thresholds"), _integer(node, "NumChannels")
    steps = node.attributes.get("numSteps", rows.shape[1])
    refuse_if(
        steps != rows.shape[1], f"it has {rows.shape[1]} thresholds a channel, but numSteps is {steps}."
    )
    made.chain(node, [_thresholds(made, node, rows, channels)])


def _windows(made: _Rewriting, node: Node) -> None:
    refuse_if(
        _integer(node, "depthwise", 0) or _integer(node, "is1D", 0),
        f"depthwise and one-dimensional windows are not read. {_WAY}.",
    )
    kernel, side, stride, spread = (
        _two(node, name, default)
        for name, default in (("ConvKernelDim", None), ("IFMDim", None), ("Stride", 1), ("Dilation", 1))
    )
    out = _two(node, "OFMDim", None)
    wanted = tuple(
        (s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(side, kernel, stride, spread, strict=True)
    )
    refuse_if(
        out != wanted, f"its OFMDim is {out}, but windows of {kernel} over {side} pixels give {wanted}."
    )
    _integer(node, "IFMChannels")
    attributes = {"kernel_size": kernel, "stride": stride, "dilations": spread, "pad_amount": (0, 0, 0, 0)}
    made.chain(node, [("Im2Col", [], attributes)])


def _pool(made: _Rewriting, node: Node) -> None:
    side, window = _two(node, "ImgDim"), _two(node, "PoolDim")
    _integer(node, "NumChannels")
    node.attributes.get("CeilMode")  # of windows that do not fit, which are refused
    refuse_if(
        any(size % step for size, step in zip(side, window, strict=True)),
        f"its windows of {window} do not fit into {side} pixels. {_WAY}.",
    )
    made.chain(node, [("MaxPoolNHWC", [], {"kernel_shape": window, "strides": window, "pads": (0, 0, 0, 0)})])


def _same(made: _Rewriting, node: Node) -> None:
    refuse_if(
        len([name for name in node.inputs if name]) != 1,
        f"it has {len(node.inputs)} inputs, but one is needed.",
    )
    node.attributes.get("NumChannels")
    made.chain(node, [("Identity", [], {})])


def _label(made: _Rewriting, node: Node) -> None:
    """Rewrite the indices of the K largest scores. The first of them is the class."""
    _integer(node, "Labels")
    count = made.kept(np.array([_integer(node, "K")]))
    made.nodes.append(
        Node(
            node.number,
            "TopK",
            "",
            node.name,
            (node.inputs[0], count),
            (f"{node.outputs[0]} scores", *node.outputs),
            {},
            str(node),
        )
    )


_RULES: dict[str, Callable[[_Rewriting, Node], None]] = {
    _POPCOUNT: _popcount,
    "ConvolutionInputGenerator": _windows,
    "IODMA": _same,
    "LabelSelect": _label,
    "MVAU": _unit,
    "MatrixVectorActivation": _unit,
    "StreamingDataWidthConverter": _same,
    "StreamingFCLayer": _unit,
    "StreamingFIFO": _same,
    "StreamingMaxPool": _pool,
    "TLastMarker": _same,
    "Thresholding": _thresholding,
}
_NEAREST = dict.fromkeys(
    ("StreamingDataflowPartition", "GenericPartition"),
    "It stands for a model in a file of its own, which its attribute 'model' names: read that, or the "
    "model from before CreateDataflowPartition",
)


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
        for signed in (1, 0) if bits > 1 else (0,):  # one signed bit is a sign
            for narrow in (0, 1):
                bottom = narrow - (1 << bits - 1) if signed else 0
                top = (1 << bits - 1) - 1 if signed else (1 << bits) - 1 - narrow
                if (bottom, top) == (low, high) and bottom < top:
                    return bits, {"signed": signed, "narrow": narrow, "rounding_mode": "ROUND"}
    return None
