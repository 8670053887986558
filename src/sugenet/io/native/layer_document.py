"""Layers of a `.sugenet` file: their entries in the document, and their tensors (docs/format.md)."""

import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.native.container import Document, Tensors
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import ConvLayer, Layer, PoolLayer, QuantizedConv, RealLayer, SparseLayer, Window
from sugenet.nn.arrays import Array, Bits
from sugenet.nn.layers import dense_layer
from sugenet.nn.reals import Theta

__all__ = [
    "fields",
    "fractions",
    "layer_in",
    "layer_out",
    "layer_size",
    "tensor",
    "weights_in",
    "weights_out",
]

_INTEGERS = ("int8", "int16", "int32", "int64")
_MARKS = ("flipped", "ties")
_FRACTION = re.compile(r"(-?[0-9]{1,4300})(?:/([0-9]{1,4300}))?", re.ASCII)
_GEOMETRY = {"shape": 3, "kernel": 2, "stride": 2, "dilation": 2, "pads": 4}
_PLAIN: dict[str, type] = {"kind": str, "inputs": int, "outputs": int, "weights": str, "marks": list}
_POOL: dict[str, type] = {"kind": str, **dict.fromkeys(_GEOMETRY, list)}
_MAPS: dict[str, type] = {**_POOL, "groups": int, "outputs": int}
_FIELDS: dict[str, dict[str, type]] = {
    "dense": _PLAIN,
    "level": _PLAIN,
    "conv": {**_MAPS, "top": object, "weights": str, "marks": list},
    "pool": _POOL,
    "stairs": {"kind": str, "inputs": int, "outputs": int, "steps": int, "reads": str, "weights": str},
    "stairs conv": {**_MAPS, "top": int, "pad": int, "steps": int, "weights": str},
    "level pool": {**_POOL, "top": int},
    "real": {"kind": str, "inputs": int, "outputs": int, "weights": str, "theta": list},
    "real conv": {**_MAPS, "weights": str, "theta": list},
    "sparse": {"kind": str, "inputs": int, "outputs": int, "reads": int},
}
"""The entry of each kind of layer, in the order in which it is written."""


def layer_out(name: str, layer: Layer, tensors: Tensors, *, reads_levels: bool) -> Document:
    """Return the entry of a layer, and add its tensors under its name.

    The first layer may read the levels of the encoder, or its bits. A later one reads the outputs of the
    layer before.
    """
    kind = _kind(layer)
    if isinstance(layer, SparseLayer):
        parts = {"reads": layer.reads, "weights": layer.factors, "tau": layer.tau}
        tensors.update((f"{name}.{key}", _smallest(part)) for key, part in parts.items())
        sizes = {"inputs": layer.inputs, "outputs": layer.outputs, "reads": layer.reads.shape[1]}
        return {"kind": kind, **sizes}
    values: Document = {
        "kind": kind,
        **({} if layer.window is None else {key: list(getattr(layer.window, key)) for key in _GEOMETRY}),
        "inputs": layer.inputs,
        "outputs": len(layer.weights),
        "groups": layer.groups,
        "top": None if layer.window is None or layer.tops is None else int(layer.tops[0]),
    }
    if layer.every is not None:
        tensors[f"{name}.every"] = _pack(layer.every)
    else:
        marks = {mark: flags for mark in _MARKS if (flags := getattr(layer, mark)) is not None}
        for mark, flags in marks.items():
            tensors[f"{name}.{mark}"] = _pack(flags)
        values |= {"marks": list(marks), **_thresholds_out(name, layer, tensors, reads_levels)}
        rows = layer.weights
        if layer.window is not None:
            rows = rows.reshape(len(rows), -1)
        values["weights"] = weights_out(name, rows, tensors)
        if isinstance(layer, RealLayer):
            shape = (
                (len(rows), layer.outputs // max(len(rows), 1)) if layer.window is not None else (len(rows),)
            )
            values |= _theta_out(name, layer.theta, shape, tensors)
    return {key: values[key] for key in _FIELDS[kind]}


def _kind(layer: Layer) -> str:
    """Return the name of a kind of layer in the file."""
    if layer.kind == "dense" and layer.is_binary:
        return "dense" if layer.tops is None else "level"
    maps = "" if layer.window is None else " conv"
    return {
        "dense": "stairs",
        "conv": "conv" if layer.is_binary else "stairs conv",
        "pool": "pool" if layer.is_binary else "level pool",
        "real": f"real{maps}",
        "sparse": "sparse",
    }[layer.kind]


def _thresholds_out(name: str, layer: Layer, tensors: Tensors, reads_levels: bool) -> Document:
    """Write thresholds; those of a convolution are written once if all positions share them."""
    if layer.kind == "real":
        return {}
    if isinstance(layer, QuantizedConv):
        tensors[f"{name}.steps"] = _smallest(layer.steps)
        return {"pad": layer.pad, "steps": layer.height}
    tau = layer.tau
    if layer.window is not None:
        tau = tau.reshape(len(layer.weights), -1)
        tau = tau[:, 0] if bool((tau == tau[:, :1]).all()) else tau
    tensors[f"{name}.tau"] = _smallest(tau)
    return {} if layer.is_binary else {"steps": layer.height, "reads": "levels" if reads_levels else "bits"}


def _theta_out(name: str, theta: Theta, shape: tuple[int, ...], tensors: Tensors) -> Document:
    """Write the different thresholds in order of first use, and a tensor with one index per neuron."""
    number: dict[tuple[Fraction, Fraction], int] = {}
    indices = np.array([number.setdefault(ends, len(number)) for ends in theta], np.int64).reshape(shape)
    same = indices.ndim == 2 and bool((indices == indices[:, :1]).all())
    tensors[f"{name}.theta"] = _smallest(indices[:, 0] if same else indices)
    return {"theta": [[str(low), str(high)] for low, high in number]}


def _theta_in(
    name: str, part: Document, shape: tuple[int, ...], tensors: Tensors
) -> list[tuple[Fraction, Fraction]]:
    ends = [fractions(row) if isinstance(row, list) else None for row in part["theta"]]
    refuse_if(
        any(pair is None or len(pair) != 2 for pair in ends),
        f"{name}: theta must be pairs of exact numbers, written as '3' or '-1/2'.",
    )
    array = tensors.get(f"{name}.theta")
    indices = tensor(
        tensors, f"{name}.theta", _INTEGERS, shape[:1] if array is not None and array.ndim == 1 else shape
    )
    refuse_if(
        indices.min(initial=0) < 0 or indices.max(initial=-1) >= len(ends),
        f"{name}: a neuron names a theta that is not there.",
    )
    known = [(pair[0], pair[1]) for pair in ends if pair is not None]
    return [known[index] for index in indices.reshape(-1).tolist()]


def fractions(values: list[Any]) -> list[Fraction] | None:
    """Return exact numbers, written as ``3`` or ``-1/2``; None if one is written in another way."""
    matches = [_FRACTION.fullmatch(value) if isinstance(value, str) else None for value in values]
    pairs = [(int(match[1]), int(match[2] or 1)) for match in matches if match]
    return (
        [Fraction(p, q) for p, q in pairs] if len(pairs) == len(values) and all(q for _, q in pairs) else None
    )


def layer_size(entry: Any, what: str) -> int:
    """Check the fields of an entry, and count the numbers of its arrays in memory before any is created."""
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        known = ", ".join(map(repr, _FIELDS))
        raise FileError(f"{what} is of kind {str(kind)[:80]!r}, but {known} are known.")
    parts = fields(entry, what, **_FIELDS[kind])
    if kind in ("stairs", "stairs conv"):
        _check_counts(what, parts["steps"])
    if kind == "sparse":
        _check_counts(what, parts["inputs"], parts["outputs"], parts["reads"])
        return int(2 * parts["outputs"] * parts["reads"])
    if kind in ("dense", "level", "stairs", "real"):
        _check_counts(what, parts["inputs"], parts["outputs"])
        return int(parts["outputs"] * (parts["inputs"] + parts.get("steps", 0)))
    for key, length in _GEOMETRY.items():
        refuse_if(
            len(parts[key]) != length
            or not all(type(value) is int and 0 <= value < 1 << 16 for value in parts[key]),
            f"{what}: {key} must be {length} integers in 0..65535.",
        )
    n_positions = prod(size + sum(parts["pads"]) for size in parts["shape"][1:])  # an upper bound
    taps = n_positions * prod(parts["kernel"])
    if kind in ("pool", "level pool"):
        return int(taps + prod(parts["shape"]))
    _check_counts(what, parts["groups"], parts["outputs"])
    if kind == "stairs conv":
        kernel = parts["shape"][0] * prod(parts["kernel"])
        return int(taps + parts["outputs"] * (kernel + parts["steps"]))
    return int(taps + parts["outputs"] * (n_positions + parts["shape"][0] * prod(parts["kernel"])))


def layer_in(name: str, part: Document, tops: tuple[int, ...] | None, tensors: Tensors) -> Layer:
    """Return the layer of an entry that `layer_size` has checked; `tops` are the largest levels of its
    inputs.
    """
    kind = part["kind"]
    if kind == "sparse":
        sizes = (part["outputs"], part["reads"])
        reads, factors = (tensor(tensors, f"{name}.{key}", _INTEGERS, sizes) for key in ("reads", "weights"))
        tau = tensor(tensors, f"{name}.tau", _INTEGERS, sizes[:1])
        return SparseLayer(reads, factors, tau, part["inputs"])
    window = Window(*(part[key] for key in _GEOMETRY)) if "kernel" in part else None
    if "weights" not in part:
        assert window is not None
        return PoolLayer(window, _flags_in(f"{name}.every", window.shape[0], tensors), part.get("top"))
    if kind == "level" or _reads(name, part) == "levels":
        refuse_if(tops is None, f"{name} reads levels, but a feature is a category and has none.")
    else:
        tops = (1,) * part["inputs"] if kind == "stairs" else None
    refuse_if(
        not all(mark in _MARKS for mark in part.get("marks", [])),
        f"{name} has marks {str(part.get('marks'))[:80]}, but there are {' and '.join(_MARKS)}.",
    )
    marks = {mark: _flags_in(f"{name}.{mark}", part["outputs"], tensors) for mark in part.get("marks", [])}
    if window is None:
        if kind == "real":
            rows = weights_in(name, part, tensors)
            return RealLayer(rows, _theta_in(name, part, (part["outputs"],), tensors))
        shape = (part["outputs"], part["steps"]) if kind == "stairs" else (part["outputs"],)
        tau = tensor(tensors, f"{name}.tau", _INTEGERS, shape)
        return dense_layer(weights_in(name, part, tensors), tau, tops, **marks)
    return _maps_in(name, part, window, tensors, marks)


def _reads(name: str, part: Document) -> str | None:
    reads: str | None = part.get("reads")
    refuse_if(
        reads not in ("levels", "bits", None),
        f"{name} reads {str(reads)[:80]!r}, but 'levels' and 'bits' are known.",
    )
    return reads


def _maps_in(name: str, part: Document, window: Window, tensors: Tensors, marks: Document) -> Layer:
    """Return a convolution; thresholds that all positions share are stored once per channel."""
    kind, count, groups = part["kind"], part["outputs"], part["groups"]
    per_group = window.shape[0] // max(groups, 1)
    rows = weights_in(name, {**part, "inputs": per_group * prod(window.kernel)}, tensors)
    kernel = rows.reshape(count, per_group, *window.kernel)
    if kind == "stairs conv":
        steps = tensor(tensors, f"{name}.steps", _INTEGERS, (count, part["steps"]))
        return QuantizedConv(kernel, steps, window, groups, top=part["top"], pad=part["pad"])
    if kind == "real conv":
        theta = _theta_in(name, part, (count, len(window.taps)), tensors)
        if len(theta) == count != count * len(window.taps):
            theta = [ends for ends in theta for _ in range(len(window.taps))]
        return RealLayer(kernel, theta, window, groups)
    known = tensors.get(f"{name}.tau")
    shape = (count,) if known is not None and known.ndim == 1 else (count, len(window.taps))
    tau = tensor(tensors, f"{name}.tau", _INTEGERS, shape)
    refuse_if(
        part["top"] is not None and type(part["top"]) is not int,
        f"{name}: top must be an integer or null.",
    )
    full = tau if tau.ndim == 1 else tau.reshape(count, *window.positions)
    return ConvLayer(kernel, full, window, groups, part["top"], **marks)


def _flags_in(name: str, count: int, tensors: Tensors) -> Bits:
    return _unpack(tensor(tensors, name, ("uint8",), (_octets(count),)), count)


def _check_counts(what: str, *counts: int) -> None:
    refuse_if(
        not all(0 <= count < 1 << 31 for count in counts),
        f"{what} has a number of inputs or outputs that is not in 0..2^31-1.",
    )


def weights_out(name: str, weights: Array, tensors: Tensors) -> str:
    """Add the tensors of weights, and return their form."""
    if weights.min(initial=0) < -1 or weights.max(initial=0) > 1:
        tensors[f"{name}.weights"] = _smallest(weights)
        return "integer"
    tensors[f"{name}.positive"] = _pack(weights > 0)
    if weights.all():
        return "binary"
    tensors[f"{name}.nonzero"] = _pack(weights != 0)
    return "ternary"


def weights_in(name: str, part: Document, tensors: Tensors) -> Array:
    """Return the weights of an entry, from their tensors."""
    rows, columns, form = part["outputs"], part["inputs"], part["weights"]
    if form == "integer":
        return tensor(tensors, f"{name}.weights", _INTEGERS, (rows, columns))
    refuse_if(
        form not in ("binary", "ternary"),
        f"{name} has weights {form[:80]!r}, but 'binary', 'ternary' and 'integer' are known.",
    )
    plane = rows, _octets(columns)
    signs = 2 * _unpack(tensor(tensors, f"{name}.positive", ("uint8",), plane), columns).astype(np.int8) - 1
    if form == "ternary":
        signs *= _unpack(tensor(tensors, f"{name}.nonzero", ("uint8",), plane), columns)
    return signs


def _octets(bits: int) -> int:
    return -(-bits // 8)


def _pack(flags: Bits) -> npt.NDArray[np.uint8]:
    """Return rows of bits, each starting at a new byte: bit i is bit i % 8 of byte i // 8."""
    return np.packbits(flags, axis=-1, bitorder="little")


def _unpack(octets: Array, count: int) -> Bits:
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").view(np.bool_)


def _smallest(values: Array) -> Array:
    """Return the same integers in the shortest of int8, int16, int32 and int64 that holds them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return values.astype(
        next(name for name in _INTEGERS if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    )


def tensor(tensors: Tensors, name: str, kinds: Sequence[str], shape: tuple[int, ...]) -> Array:
    """Return a tensor of one of these dtypes and exactly this shape."""
    array = tensors.get(name)
    if array is None or array.dtype.name not in kinds or array.shape != shape:
        actual = "there is none" if array is None else f"it is {array.dtype.name} of shape {array.shape}"
        raise FileError(f"the tensor {name} must be {' or '.join(kinds)} of shape {shape}, but {actual}.")
    return array


def fields(value: Any, what: str, **kinds: type) -> Document:
    """Check that a JSON object has exactly these keys with values of these types."""
    if not isinstance(value, dict) or value.keys() != kinds.keys():
        actual = ", ".join(value)[:200] if isinstance(value, dict) else type(value).__name__
        raise FileError(f"{what} needs {', '.join(kinds)}, but has {actual}.")
    for key, kind in kinds.items():
        refuse_if(
            kind is not object and type(value[key]) is not kind,
            f"{what}: {key} must be {kind.__name__}, not {type(value[key]).__name__}.",
        )
    return value
