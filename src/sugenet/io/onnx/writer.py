"""Write networks as ONNX files of standard operations. ONNX Runtime computes the same bits, match counts and
classes.

Every sum consists of integers below 2^24 (float32) or 2^53 (float64), so it is exact in any order of
summation. Raw features are compared with their cuts in float64. Operator set 15, file format version 8.
"""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.files import write_bytes
from sugenet.io.native.file import network_bytes
from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.wire import blob, floats, number, numbers
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn import (
    NEVER,
    ConvLayer,
    Encoder,
    Head,
    Layer,
    Network,
    OneHot,
    PoolLayer,
    QuantizedConv,
    RealLayer,
    Steps,
    Window,
    network_of,
)
from sugenet.nn.packed import parts_of

__all__ = ["CERTAIN", "PROPERTY", "onnx_bytes", "write_onnx"]

_IR_VERSION, _OPSET = 8, 15
_KINDS = {np.dtype(text).newbyteorder("="): kind for kind, text in DTYPES.items()}
_EXACT32, _EXACT64 = 1 << 24, 1 << 53
_BEYOND = 1 << 62
"""Larger than every sum."""
_ULP = 2.0**-52
_MAX_BYTES = 1 << 30
_MAX_ROWS = 1 << 20
"""Largest number of rows of a table with one row per match count."""
PROPERTY = "sugenet"
"""Name of the property that holds the network itself, as base64 of the bytes that `save` writes."""
CERTAIN = "certain"
"""Name of the output that says whether floats decide a layer over real numbers exactly."""


@dataclass
class _Builder:
    """The fields of a graph under construction."""

    nodes: list[bytes] = field(default_factory=list)
    constants: dict[bytes, str] = field(default_factory=dict)
    tensors: list[bytes] = field(default_factory=list)
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)

    def add(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        made = name or f"v{len(self.nodes)}"
        body = (
            b"".join(blob(1, input_name) for input_name in inputs)
            + blob(2, made)
            + blob(3, f"{op}_{len(self.nodes)}")
            + blob(4, op)
            + b"".join(blob(5, _attribute(key, value)) for key, value in attributes.items())
        )
        self.nodes.append(body)
        return made

    def constant(self, array: Array) -> str:
        """Add a constant. Equal constants are stored once."""
        body = numbers(1, array.shape) + number(2, _KINDS[array.dtype])
        data = blob(9, np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        key = body + data
        if key not in self.constants:
            self.constants[key] = f"c{len(self.constants)}"
            self.tensors.append(body + blob(8, self.constants[key]) + data)
        return self.constants[key]

    def weights(self, array: Array, dtype: Any) -> str:
        """Add weights, stored in bytes if they fit."""
        small = np.abs(array).max(initial=0) <= 127
        kept = self.constant(np.ascontiguousarray(array, np.int8 if small else np.int64))
        return self.add("Cast", kept, to=_KINDS[np.dtype(dtype)])

    def reshape(self, value: str, *sizes: int) -> str:
        """Add a reshape of a value."""
        return self.add("Reshape", value, self.constant(np.array(sizes, np.int64)))

    def reached(self, value: str, cuts: Array, axis: int) -> str:
        """Count the cuts that each value reaches; the cuts are along the last axis of an array."""
        index = self.constant(np.array([axis], np.int64))
        on = self.add("GreaterOrEqual", self.add("Unsqueeze", value, index), self.constant(cuts))
        return self.add("ReduceSum", self.add("Cast", on, to=1), index, keepdims=0)

    def pad(self, maps: str, pads: Sequence[int], fill: float) -> str:
        """Add pixels of one value around maps."""
        around = np.array([0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]], np.int64)
        return self.add("Pad", maps, self.constant(around), self.constant(np.asarray(fill, np.float32)))

    def slide(self, op: str, window: Window, *inputs: str, pads: Sequence[int], **attributes: Any) -> str:
        """Add a convolution or pooling."""
        return self.add(
            op,
            *inputs,
            kernel_shape=window.kernel,
            strides=window.stride,
            dilations=window.dilation,
            pads=pads,
            **attributes,
        )

    def bipolar(self, bits: str) -> str:
        """Convert booleans to -1 and +1."""
        one = np.ones(1, np.float32)
        return self.add("Where", bits, self.constant(one), self.constant(-one))

    def give(self, value: str, name: str, dtype: Any, shape: tuple[Any, ...]) -> str:
        """Make a value an output."""
        self.outputs.append(_port(name, dtype, shape))
        return self.add("Identity", value, name=name)

    def model(self, about: Mapping[str, str]) -> bytes:
        """Return the whole file, with texts about it."""
        graph = (
            b"".join(blob(1, node) for node in self.nodes)
            + blob(2, "sugenet")
            + b"".join(blob(5, tensor) for tensor in self.tensors)
            + b"".join(blob(11, port) for port in self.inputs)
            + b"".join(blob(12, port) for port in self.outputs)
        )
        notes = b"".join(blob(14, blob(1, key) + blob(2, text)) for key, text in about.items())
        return (
            number(1, _IR_VERSION)
            + blob(2, "sugenet")
            + blob(7, graph)
            + blob(8, blob(1, "") + number(2, _OPSET))
            + notes
        )


def write_onnx(network: Network, path: str | os.PathLike[str], *, hidden: bool = False) -> None:
    """Write a network as an ONNX file that ONNX Runtime and others evaluate exactly.

    The input ``x`` holds raw samples as float64 of shape (samples, features); a category is given by its
    index. The outputs are ``class`` (int64), ``scores`` (float64, the same floats as `Network.logits`),
    ``match_counts`` (int64), and optionally ``hidden_1``, ``hidden_2``, ... (bool, or int64 if a layer has
    levels). The class is decided in exact integers, never by the rounded scores. In a tie, the lowest class
    wins. The file does not check its inputs.

    ONNX has no place for categories, limits and laws, so the file also holds the network itself, in the
    property ``sugenet``. `read_onnx` gives back an equal network.

    A first layer over real numbers is computed in float64. The output ``certain`` (bool) says for which
    samples rounding cannot change a neuron; for these, the class and the scores are exact.

    Parameters
    ----------
    network : Network
        The network.
    path : str or Path
        The file to write. An existing file is replaced atomically.
    hidden : bool, default: False
        Whether the activities of the hidden layers are outputs too.

    Returns
    -------
    None
        The file is complete when this returns.

    Raises
    ------
    FileError
        If the path cannot be written, or the file would be larger than 1 GiB.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer, Head
    >>> layer, head = DenseLayer([[+1, -1, +1]], tau=[2]), Head([[+1], [-1]])
    >>> net = Network.of_bits([layer], head, classes=["on", "off"])
    >>> with TemporaryDirectory() as folder:
    ...     write_onnx(net, f"{folder}/small.onnx")
    ...     os.listdir(folder)
    ['small.onnx']

    See Also
    --------
    read_onnx : reads such a file.
    write_c : writes a C file.
    """
    with within(f"the network cannot be written to {os.fspath(path)!r}"):
        raw = onnx_bytes(network_of(network), hidden=hidden)
    write_bytes(path, raw)


def onnx_bytes(network: Network, *, hidden: bool = False) -> bytes:
    """Return the bytes of the file that `write_onnx` writes."""
    graph = _Builder()
    graph.inputs.append(_port("x", np.float64, ("samples", network.encoder.features)))
    made = _levels(graph, network.encoder) if network.reads_levels else _encoded(graph, network.encoder)
    levels = network.reads_levels
    for index, layer in enumerate(network.layers, start=1):
        with within(f"layer {index}"):
            made = _layer(graph, layer, _signal(graph, made, levels, layer.tops is not None))
        levels = layer.max_level is not None
        if hidden:
            shown = graph.add("Cast", made, to=7) if levels else made
            graph.give(shown, f"hidden_{index}", np.int64 if levels else np.bool_, ("samples", layer.outputs))
    _head(graph, network.head, _signal(graph, made, levels, network.head.tops is not None))
    about = {
        "classes": "\n".join(network.classes),
        "features": "\n".join(network.encoder.names),
        "fingerprint": network.fingerprint,
        **_stored(network),
    }
    raw = graph.model(about)
    refuse_if(len(raw) > _MAX_BYTES, f"the file would have {len(raw):,} bytes, more than {_MAX_BYTES:,}.")
    return raw


def _stored(network: Network) -> dict[str, str]:
    """Return the network as a text, or why it has none."""
    try:
        return {PROPERTY: b64encode(network_bytes(network)).decode()}
    except FileError as error:
        return {"without the network": str(error)}


# -- the parts of a network ----------------------------------------------------------------------------------


def _signal(graph: _Builder, made: str, levels: bool, wanted: bool) -> str:
    """Return the input of a layer in floats: levels, or bits as -1 and +1."""
    if levels:
        return made
    return graph.add("Cast", made, to=1) if wanted else graph.bipolar(made)


def _encoded(graph: _Builder, encoder: Encoder) -> str:
    """Add the bits of raw features, as booleans."""
    low: list[float] = []
    high: list[float] = []
    for coding in encoder.codings:
        if isinstance(coding, OneHot):
            low += list(range(coding.width))
            high += list(range(coding.width))
        else:
            low += list(coding.cuts)
            high += [np.inf] * coding.width
    x = "x"
    if encoder.feature_of != tuple(range(encoder.features)):
        x = graph.add("Gather", x, graph.constant(np.array(encoder.feature_of, np.int64)), axis=1)
    bits = graph.add("GreaterOrEqual", x, graph.constant(_shortest(np.array(low, np.float64))))
    if not np.isinf(high).all():
        bits = graph.add("And", bits, graph.add("LessOrEqual", x, graph.constant(np.array(high, np.float64))))
    return bits


def _shortest(row: Array) -> Array:
    """Return one number if all are equal."""
    return row[:1] if len(row) and (row == row[0]).all() else row


def _levels(graph: _Builder, encoder: Encoder) -> str:
    """Count the cuts that each raw feature reaches."""
    codings = [coding for coding in encoder.codings if isinstance(coding, Steps)]
    assert len(codings) == encoder.features
    if all(
        coding.whole
        and not coding.bipolar  # a bit may be written as -1
        and coding.cuts == tuple(range(int(coding.low) + 1, int(coding.high) + 1))
        for coding in codings
    ):
        lows = _shortest(np.array([coding.low for coding in codings], np.float64))
        shifted = graph.add("Sub", "x", graph.constant(lows)) if lows.any() else "x"
        return graph.add("Cast", shifted, to=1)
    cuts = np.full((encoder.features, max([1, *(coding.width for coding in codings)])), np.inf)
    for row, coding in zip(cuts, codings, strict=True):
        row[: coding.width] = coding.cuts
    return graph.reached("x", cuts, 2)


def _layer(graph: _Builder, layer: Layer, signal: str) -> str:
    """Add the activity of a layer, as booleans of shape (samples, outputs), or as levels in float32."""
    if isinstance(layer, RealLayer):
        return _of_reals(graph, layer)
    if isinstance(layer, PoolLayer):
        return _pool(graph, layer, signal)
    return (_dense if layer.window is None else _convolution)(graph, layer, signal)


def _dense(graph: _Builder, layer: Layer, signal: str) -> str:
    """Count the steps that the sums of a dense layer reach, or compare them with their threshold."""
    dtype: Any
    largest = int(layer.sizes.max(initial=0)) + 2
    if layer.is_binary and layer.tops is not None and largest >= _EXACT64:
        # parts of the weights in float64, combined in int64
        wide, dtype = graph.add("Cast", signal, to=11), np.int64
        parts = [
            (shift, graph.add("MatMul", wide, graph.weights(part.T, np.float64)))
            for shift, part in parts_of(layer.weights, int(layer.input_tops.max(initial=1)))
        ]
        sums = _together(graph, parts)
    else:
        sums, dtype = _sums(graph, layer.weights, largest, signal)
    if not layer.is_binary:
        return _climbed(graph, sums, layer.steps, layer.lowest, dtype, 2)
    theta: Array = (
        2 * np.clip(layer.tau, 0, layer.sizes + 1) - layer.sizes
        if layer.tops is None
        else layer.sum_thresholds[:, 0]
    )
    return graph.add("GreaterOrEqual", sums, graph.constant(theta.astype(dtype)))


def _of_reals(graph: _Builder, layer: RealLayer) -> str:
    """Compare sums of real numbers in float64, and say where rounding cannot change a neuron.

    A float64 sum of n products differs from the exact one by less than ``n * ulp`` times the sum of their
    sizes, where an ulp is 2^-52. The bound adds the rounding of the weights, of the threshold and of the
    bound itself.
    """
    within_limit = layer.outputs * layer.inputs <= _MAX_BYTES // 32
    refuse_if(not within_limit, "written as one matrix, it would have more than 32 million weights.")
    weights = np.zeros((layer.inputs, layer.outputs), np.float64)
    for neuron, (indices, row) in enumerate(layer.reads()):
        weights[indices, neuron] = row
    theta = np.array([_nearest((low + high) / 2) for low, high in layer.theta])
    sums = graph.add("MatMul", "x", graph.constant(weights))
    sizes = graph.add("MatMul", graph.add("Abs", "x"), graph.constant(np.abs(weights)))
    limits = graph.constant(theta)
    share = graph.constant(np.full(1, 2 * (layer.inputs + 4) * _ULP))
    slack = graph.add("Mul", graph.add("Add", sizes, graph.constant(np.abs(theta) + _SMALLEST)), share)
    far = graph.add("Greater", graph.add("Abs", graph.add("Sub", sums, limits)), slack)
    axis = graph.constant(np.array([1], np.int64))
    doubts = graph.add("ReduceSum", graph.add("Cast", graph.add("Not", far), to=1), axis, keepdims=0)
    none = graph.add("Less", doubts, graph.constant(np.full(1, 0.5, np.float32)))
    graph.give(none, CERTAIN, np.bool_, ("samples",))
    return graph.add("GreaterOrEqual", sums, limits)


def _nearest(number: Fraction) -> float:
    """Return the nearest float: infinity beyond all floats, where nothing is certain."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


_SMALLEST = 2.0**-960
"""Added to sums of sizes, so that a bound on rounding does not underflow."""


def _climbed(graph: _Builder, sums: str, steps: Array, lowest: Array, dtype: Any, axis: int) -> str:
    """Count the steps that each sum reaches; channels are the first axis of `steps`."""
    ends = (-_BEYOND, _BEYOND) if dtype is np.int64 else (-np.inf, np.inf)
    reached = np.where(steps == NEVER, ends[1], np.where(steps <= lowest[:, None], ends[0], steps))
    shaped = reached.astype(dtype).reshape(len(steps), *(1,) * (axis - 2), -1)
    return graph.reached(sums, shaped, axis)


def _convolution(graph: _Builder, layer: Layer, signal: str) -> str:
    """Do the same for the sums of a convolution, whose floats are float32."""
    assert isinstance(layer, ConvLayer | QuantizedConv)
    window, flat = layer.window, layer.weights.reshape(len(layer.weights), -1)
    sizes = np.abs(flat).sum(axis=1) * layer.top if isinstance(layer, QuantizedConv) else layer.sizes
    is_wide = int(sizes.max(initial=0)) + 2 >= _EXACT32
    try:
        weight_parts = parts_of(flat, int(layer.top or 1), _EXACT32) if is_wide else []
    except OverflowError:  # no part of the weights has exact sums in float32
        return _dense(graph, layer.unrolled(), signal)
    maps, pads = graph.reshape(signal, -1, *window.shape), window.pads
    if isinstance(layer, QuantizedConv) and layer.pad and any(pads):
        maps, pads = graph.pad(maps, pads, layer.pad), (0, 0, 0, 0)

    def slid(weights: Array) -> str:
        return graph.slide(
            "Conv", window, maps, graph.weights(weights, np.float32), pads=pads, group=layer.groups
        )

    dtype: Any = np.int64 if is_wide else np.float32
    if is_wide:
        parts = [(shift, slid(part.reshape(layer.weights.shape))) for shift, part in weight_parts]
        sums = _together(graph, parts)
    else:
        sums = slid(layer.weights)
    if isinstance(layer, QuantizedConv):
        lowest = np.minimum(flat, 0).sum(axis=1) * layer.top
        made = _climbed(graph, sums, layer.steps, lowest, dtype, 4)
    else:
        theta = _thresholds_of(layer)
        shaped = theta.reshape(len(layer.weights), *((1, 1) if theta.shape[1] == 1 else window.positions))
        made = graph.add("GreaterOrEqual", sums, graph.constant(shaped.astype(dtype)))
    return graph.reshape(made, -1, layer.outputs)


def _thresholds_of(layer: ConvLayer) -> Array:
    """Return thresholds on the sums of a convolution of bits or levels: one row per channel."""
    sizes, channels = layer.sizes, (len(layer.weights), -1)
    tau: Array = np.clip(layer.tau, 0, sizes + 1)
    if layer.top is None:
        theta, step = 2 * tau - sizes, 2
    else:  # the contribution of negative weights at level 0
        theta, step = tau - layer.match_counts(np.zeros((1, layer.inputs), np.int64))[0], 1
    return _common(theta.reshape(channels), tau.reshape(channels), sizes.reshape(channels), step)


def _together(graph: _Builder, parts: list[tuple[int, str]]) -> str:
    """Add integer-valued floats, each times a power of two, in int64."""
    total = ""
    for shift, part in parts:
        term = graph.add("Cast", part, to=7)
        if shift:
            term = graph.add("Mul", term, graph.constant(np.array([1 << shift], np.int64)))
        total = graph.add("Add", total, term) if total else term
    return total


def _sums(graph: _Builder, weights: Array, largest: int, signal: str) -> tuple[str, Any]:
    """Add the sums of a layer, in the smallest floats in which the largest sum is exact."""
    dtype = np.float32 if largest < _EXACT32 else np.float64
    if dtype is np.float64:
        signal = graph.add("Cast", signal, to=11)
    return graph.add("MatMul", signal, graph.weights(weights.T, dtype)), dtype


def _common(theta: Array, tau: Array, sizes: Array, step: int) -> Array:
    """Return one threshold per channel if one works for all positions.

    Any number above ``theta - step`` up to theta gives the same neuron. Positions at the border of zero
    padding have fewer taps and their own tau, but usually one threshold on the sum.
    """
    above = np.where(tau <= 0, -_BEYOND, theta - step)
    upto = np.where(tau > sizes, _BEYOND, theta)
    lower, upper = above.max(axis=1), upto.min(axis=1)
    if (lower < upper).all():
        return np.asarray(np.where(upper == _BEYOND, lower + 1, upper))[:, None]
    return theta


def _pool(graph: _Builder, layer: PoolLayer, signal: str) -> str:
    """Add max pooling for *any*. For *every*, add it between two changes of sign."""
    window = layer.window
    maps = graph.reshape(signal, -1, *window.shape)
    turn = None
    if layer.every.any():
        turn = graph.constant(_shortest(np.where(layer.every, -1, 1).astype(np.float32))[:, None, None])
        maps = graph.add("Mul", maps, turn)
    pads = window.pads
    if any(pad >= size for pad, size in zip(pads, window.kernel * 2, strict=True)):  # too many for runtimes
        # below every possible value, also with its sign changed
        maps = graph.pad(maps, pads, -1 - (layer.top or 0))
        pads = (0, 0, 0, 0)
    maps = graph.slide("MaxPool", window, maps, pads=pads)
    if turn is not None:
        maps = graph.add("Mul", maps, turn)
    flat = graph.reshape(maps, -1, layer.outputs)
    if layer.top is not None:
        return flat
    return graph.add("Greater", flat, graph.constant(np.zeros(1, np.float32)))


def _head(graph: _Builder, head: Head, signal: str) -> None:
    """Add match counts, scores and class."""
    sums, dtype = _head_sums(graph, head, signal)
    if head.tops is None:
        twice = graph.add("Add", sums, graph.constant(_shortest(head.sizes).astype(dtype)))
        if dtype is np.int64:
            counts = graph.add("Div", twice, graph.constant(np.full(1, 2, dtype)))
        else:
            counts = graph.add("Mul", twice, graph.constant(np.full(1, 0.5, dtype)))
    else:
        below = -np.minimum(head.weights, 0) @ head.tops
        counts = graph.add("Add", sums, graph.constant(_shortest(below).astype(dtype)))
    exact = counts if dtype is np.int64 else graph.add("Cast", counts, to=7)
    integer_counts = graph.give(exact, "match_counts", np.int64, ("samples", head.outputs))
    wide = counts if dtype is np.float64 else graph.add("Cast", counts, to=11)
    slopes, offsets, unit = head.integers
    reduced = _reduced(slopes, offsets, head)
    ranks = (
        _scaled(graph, wide, *reduced, head)
        or _marked(graph, _scaled(graph, integer_counts, *reduced, head, limit=_BEYOND))
        or _looked_up(graph, integer_counts, _ranks(head))
    )
    graph.give(graph.add("ArgMax", ranks, axis=1, keepdims=0), "class", np.int64, ("samples",))
    scores = _scaled(graph, wide, slopes, offsets, head) if unit < _EXACT64 else None
    if (
        scores is None
        and unit == 1
        and (kept := _scaled(graph, integer_counts, slopes, offsets, head, limit=_BEYOND))
    ):
        scores = graph.add("Cast", kept, to=11)
    elif scores is not None:
        scores = graph.add("Div", scores, graph.constant(np.full(1, unit, np.float64)))
    else:
        scores = _looked_up(graph, integer_counts, head.logits(_counts(head)))
    graph.give(scores, "scores", np.float64, ("samples", head.outputs))


def _head_sums(graph: _Builder, head: Head, signal: str) -> tuple[str, Any]:
    """Add the sums of a head: in floats, or in int64 if float64 does not represent all of them."""
    largest = 2 * int(head.sizes.max(initial=0))
    if largest < _EXACT64:
        return _sums(graph, head.weights, largest, signal)
    wide = graph.add("Cast", signal, to=11)
    parts = parts_of(head.weights, int(head.input_tops.max(initial=1)))
    return _together(
        graph,
        [(shift, graph.add("MatMul", wide, graph.weights(part.T, np.float64))) for shift, part in parts],
    ), np.int64


def _marked(graph: _Builder, ranks: str | None) -> str | None:
    """Mark the largest of some integers, which floats may not tell apart."""
    if ranks is None:
        return None
    largest = graph.add("ReduceMax", ranks, axes=(1,), keepdims=1)
    return graph.add("Cast", graph.add("Equal", ranks, largest), to=1)


def _reduced(slopes: list[int], offsets: list[int], head: Head) -> tuple[list[int], list[int]]:
    """Return smaller integers that put all scores in the same order, ties included.

    A common offset and a common factor change no comparison. If that is not enough for float64, the integers
    are rounded, provided that rounding keeps the order of all possible scores.
    """
    min_offset = min(offsets)
    factor = gcd(*slopes, *(offset - min_offset for offset in offsets)) or 1
    a, b = [slope // factor for slope in slopes], [(offset - min_offset) // factor for offset in offsets]
    sizes = head.sizes.tolist()
    largest = max(abs(slope) * size + offset for slope, offset, size in zip(a, b, sizes, strict=True))
    if largest < _EXACT64 or sum(sizes) > _MAX_ROWS:
        return a, b
    # a power of two, which leaves short numbers as they are
    unit = 1 << (largest // _EXACT64).bit_length() + 1
    near_a, near_b = ([(2 * value + unit) // (2 * unit) for value in row] for row in (a, b))
    both = sorted(
        (a[k] * m + b[k], near_a[k] * m + near_b[k]) for k, size in enumerate(sizes) for m in range(size + 1)
    )
    same = all((x < y) == (p < q) and p <= q for (x, p), (y, q) in pairwise(both))
    return (near_a, near_b) if same else (a, b)


def _scaled(
    graph: _Builder, counts: str, slopes: list[int], offsets: list[int], head: Head, limit: int = _EXACT64
) -> str | None:
    """Add ``slope * count + offset``, in float64 or in int64 with another limit; return None if that would
    not be exact.
    """
    if any(abs(a) * int(n) + abs(b) >= limit for a, b, n in zip(slopes, offsets, head.sizes, strict=True)):
        return None
    if any(max(abs(a), abs(b)) >= limit for a, b in zip(slopes, offsets, strict=True)):
        return None
    dtype = np.float64 if limit == _EXACT64 else np.int64
    scaled, shifts = (_shortest(np.array(row, dtype)) for row in (slopes, offsets))
    if (scaled != 1).any():
        counts = graph.add("Mul", counts, graph.constant(scaled))
    return graph.add("Add", counts, graph.constant(shifts)) if shifts.any() else counts


def _counts(head: Head) -> Array:
    """Return every match count, one row each, the same for all classes."""
    max_count = int(head.sizes.max(initial=0))
    refuse_if(
        max_count > _MAX_ROWS,
        f"its scores are fractions that need a table, and {max_count:,} match counts are too many for one.",
    )
    return np.repeat(np.arange(max_count + 1)[:, None], head.outputs, axis=1)


def _ranks(head: Head) -> list[Any]:
    """Return the rank of the exact score among all possible ones, for every match count and class."""
    rows = list(head.scores(_counts(head)))
    index = {score: rank for rank, score in enumerate(sorted({score for row in rows for score in row}))}
    return [[index[score] for score in row] for row in rows]


def _looked_up(graph: _Builder, counts: str, rows: Any) -> str:
    """Look up a number for every match count and class, from a table with one row per match count."""
    return graph.add("GatherElements", graph.constant(np.array(rows, np.float64)), counts, axis=0)


# -- fields of the file --------------------------------------------------------------------------------------


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        return blob(1, name) + floats(2, [value]) + number(20, 1)
    if isinstance(value, int):
        return blob(1, name) + number(3, value) + number(20, 2)
    return blob(1, name) + numbers(8, value) + number(20, 7)


def _port(name: str, dtype: Any, shape: tuple[Any, ...]) -> bytes:
    """Return an input or output: sizes are numbers, or texts if they are open."""
    sizes = b"".join(blob(1, blob(2, size) if isinstance(size, str) else number(1, size)) for size in shape)
    kind = number(1, _KINDS[np.dtype(dtype)]) + blob(2, sizes)
    return blob(1, name) + blob(2, blob(1, kind))
