"""Layers of a `.sugenet` file: what stands in the document, and the tensors beside it (docs/format.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import (
    ConvLayer,
    DenseLayer,
    Layer,
    LevelLayer,
    PoolLayer,
    RealLayer,
    StairConv,
    StairLayer,
    Window,
)
from sugenet.bnn.reals import Theta
from sugenet.errors import FileError
from sugenet.io.native.container import Document, Tensors

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
_STAIRS: dict[str, type] = {
    "kind": str,
    "inputs": int,
    "outputs": int,
    "steps": int,
    "reads": str,
    "weights": str,
}
_STAIRS_CONV: dict[str, type] = {
    **_POOL,
    "groups": int,
    "outputs": int,
    "top": int,
    "pad": int,
    "steps": int,
    "weights": str,
}
_CONV: dict[str, type] = {
    **_POOL,
    "groups": int,
    "outputs": int,
    "top": object,
    "weights": str,
    "marks": list,
}


def layer_out(name: str, layer: Layer, tensors: Tensors, *, reads_levels: bool) -> Document:
    """The entry of a layer; its tensors are added under its name. The first may read the levels of the
    encoder, or its bits; a later one reads what the layer before gives.
    """
    if isinstance(layer, PoolLayer):
        tensors[f"{name}.every"] = _pack(layer.every)
        if layer.top is None:
            return {"kind": "pool", **_geometry_out(layer.window)}
        return {"kind": "level pool", **_geometry_out(layer.window), "top": layer.top}
    if isinstance(layer, StairLayer):
        tensors[f"{name}.tau"] = _smallest(layer.tau)
        return {
            "kind": "stairs",
            "inputs": layer.inputs,
            "outputs": layer.outputs,
            "steps": layer.height,
            "reads": "levels" if reads_levels else "bits",
            "weights": weights_out(name, layer.weights, tensors),
        }
    if isinstance(layer, StairConv):
        tensors[f"{name}.steps"] = _smallest(layer.steps)
        return {
            "kind": "stairs conv",
            **_geometry_out(layer.window),
            "groups": layer.groups,
            "outputs": len(layer.weights),
            "top": layer.top,
            "pad": layer.pad,
            "steps": layer.height,
            "weights": weights_out(name, layer.weights.reshape(len(layer.weights), -1), tensors),
        }
    if isinstance(layer, RealLayer):
        return _real_out(name, layer, tensors)
    given = {mark: flags for mark in _MARKS if (flags := getattr(layer, mark)) is not None}
    for mark, flags in given.items():
        tensors[f"{name}.{mark}"] = _pack(flags)
    if isinstance(layer, ConvLayer):
        tau = layer.tau.reshape(len(layer.weights), -1)
        same = bool((tau == tau[:, :1]).all())
        tensors[f"{name}.tau"] = _smallest(tau[:, 0] if same else tau)
        form = weights_out(name, layer.weights.reshape(len(tau), -1), tensors)
        about = {
            "groups": layer.groups,
            "outputs": len(tau),
            "top": layer.top,
            "weights": form,
            "marks": list(given),
        }
        return {"kind": "conv", **_geometry_out(layer.window), **about}
    tensors[f"{name}.tau"] = _smallest(layer.tau)
    return {
        "kind": "dense" if isinstance(layer, DenseLayer) else "level",
        "inputs": layer.inputs,
        "outputs": layer.outputs,
        "weights": weights_out(name, layer.weights, tensors),
        "marks": list(given),
    }


def _real_out(name: str, layer: RealLayer, tensors: Tensors) -> Document:
    rows = layer.weights.reshape(len(layer.weights), -1)
    shape = (len(rows), layer.outputs // max(len(rows), 1)) if layer.window is not None else (len(rows),)
    about = (
        {"kind": "real", "inputs": layer.inputs}
        if layer.window is None
        else {"kind": "real conv", **_geometry_out(layer.window), "groups": layer.groups}
    )
    form = {"outputs": len(rows), "weights": weights_out(name, rows, tensors)}
    return {**about, **form, **_theta_out(name, layer.theta, shape, tensors)}


def _theta_out(name: str, theta: Theta, shape: tuple[int, ...], tensors: Tensors) -> Document:
    """The different thresholds in the order of their first use,
    and a tensor with the number of each neuron's.
    """
    number: dict[tuple[Fraction, Fraction], int] = {}
    places = np.array([number.setdefault(ends, len(number)) for ends in theta], np.int64).reshape(shape)
    same = places.ndim == 2 and bool((places == places[:, :1]).all())
    tensors[f"{name}.theta"] = _smallest(places[:, 0] if same else places)
    return {"theta": [[str(low), str(high)] for low, high in number]}


def _theta_in(
    name: str, part: Document, shape: tuple[int, ...], tensors: Tensors
) -> list[tuple[Fraction, Fraction]]:
    ends = [fractions(row) if isinstance(row, list) else None for row in part["theta"]]
    if any(pair is None or len(pair) != 2 for pair in ends):
        raise FileError(f"{name}: theta must be pairs of exact numbers, written as '3' or '-1/2'.")
    found = tensors.get(f"{name}.theta")
    places = tensor(
        tensors, f"{name}.theta", _INTEGERS, shape[:1] if found is not None and found.ndim == 1 else shape
    )
    if places.min(initial=0) < 0 or places.max(initial=-1) >= len(ends):
        raise FileError(f"{name}: a neuron names a theta that is not there.")
    known = [(pair[0], pair[1]) for pair in ends if pair is not None]
    return [known[place] for place in places.reshape(-1).tolist()]


def fractions(values: list[Any]) -> list[Fraction] | None:
    """Exact numbers, written as ``3`` or ``-1/2``; None where one is written otherwise."""
    found = [_FRACTION.fullmatch(value) if isinstance(value, str) else None for value in values]
    pairs = [(int(match[1]), int(match[2] or 1)) for match in found if match]
    return (
        [Fraction(p, q) for p, q in pairs] if len(pairs) == len(values) and all(q for _, q in pairs) else None
    )


def layer_size(entry: Any, what: str) -> int:
    """Check the fields of an entry and count the numbers that its arrays would take in memory,
    before any is made.
    """
    kind = entry.get("kind") if isinstance(entry, dict) else None
    known = {
        "dense": _PLAIN,
        "level": _PLAIN,
        "conv": _CONV,
        "pool": _POOL,
        "stairs": _STAIRS,
        "stairs conv": _STAIRS_CONV,
        "level pool": {**_POOL, "top": int},
        "real": {"kind": str, "inputs": int, "outputs": int, "weights": str, "theta": list},
        "real conv": {**_POOL, "groups": int, "outputs": int, "weights": str, "theta": list},
    }
    if not isinstance(kind, str) or kind not in known:
        raise FileError(f"{what} is of kind {str(kind)[:80]!r}, but {', '.join(map(repr, known))} are known.")
    parts = fields(entry, what, **known[kind])
    if kind in ("stairs", "stairs conv"):
        _check_counts(what, parts["steps"])
    if kind in ("dense", "level", "stairs", "real"):
        _check_counts(what, parts["inputs"], parts["outputs"])
        return int(parts["outputs"] * (parts["inputs"] + parts.get("steps", 0)))
    for key, length in _GEOMETRY.items():
        if len(parts[key]) != length or not all(
            type(value) is int and 0 <= value < 1 << 16 for value in parts[key]
        ):
            raise FileError(f"{what}: {key} must be {length} whole numbers in 0..65535.")
    places = prod(size + sum(parts["pads"]) for size in parts["shape"][1:])  # at most so many positions
    taps = places * prod(parts["kernel"])
    if kind in ("pool", "level pool"):
        return int(taps + prod(parts["shape"]))
    _check_counts(what, parts["groups"], parts["outputs"])
    if kind == "stairs conv":
        kernel = parts["shape"][0] * prod(parts["kernel"])
        return int(taps + parts["outputs"] * (kernel + parts["steps"]))
    return int(taps + parts["outputs"] * (places + parts["shape"][0] * prod(parts["kernel"])))


def layer_in(name: str, part: Document, tops: tuple[int, ...] | None, tensors: Tensors) -> Layer:
    """The layer of an entry that `layer_size` has checked; `tops` are those of what it reads."""
    kind = part["kind"]
    if kind in ("pool", "level pool"):
        window = Window(*(part[key] for key in _GEOMETRY))
        channels = window.shape[0]
        every = _unpack(tensor(tensors, f"{name}.every", ("uint8",), (_octets(channels),)), channels)
        return PoolLayer(window, every, part["top"] if kind == "level pool" else None)
    count = part["outputs"]
    if kind == "stairs":
        if part["reads"] not in ("levels", "bits"):
            raise FileError(f"{name} reads {part['reads'][:80]!r}, but 'levels' and 'bits' are known.")
        if tops is None and part["reads"] == "levels":
            raise FileError(f"{name} reads levels, but a feature is a category and has none.")
        taus = tensor(tensors, f"{name}.tau", _INTEGERS, (count, part["steps"]))
        rows = weights_in(name, part, tensors)
        return StairLayer(rows, taus, tops if part["reads"] == "levels" else [1] * part["inputs"])
    if kind == "stairs conv":
        window = Window(*(part[key] for key in _GEOMETRY))
        per_group = window.shape[0] // max(part["groups"], 1)
        rows = weights_in(name, {**part, "inputs": per_group * prod(window.kernel)}, tensors)
        steps = tensor(tensors, f"{name}.steps", _INTEGERS, (count, part["steps"]))
        kernel = rows.reshape(count, per_group, *window.kernel)
        return StairConv(kernel, steps, window, part["groups"], top=part["top"], pad=part["pad"])
    if kind in ("real", "real conv"):
        return _real_in(name, part, tensors)
    if not all(mark in _MARKS for mark in part["marks"]):
        raise FileError(f"{name} has marks {str(part['marks'])[:80]}, but there are {' and '.join(_MARKS)}.")
    marks = {
        mark: _unpack(tensor(tensors, f"{name}.{mark}", ("uint8",), (_octets(count),)), count)
        for mark in part["marks"]
    }
    if kind == "conv":
        window = Window(*(part[key] for key in _GEOMETRY))
        per_group = window.shape[0] // max(part["groups"], 1)
        weights = weights_in(name, {**part, "inputs": per_group * prod(window.kernel)}, tensors)
        found = tensors.get(f"{name}.tau")
        shape = (count,) if found is not None and found.ndim == 1 else (count, len(window.taps))
        tau = tensor(tensors, f"{name}.tau", _INTEGERS, shape)
        if part["top"] is not None and type(part["top"]) is not int:
            raise FileError(f"{name}: top must be a whole number or null.")
        full = tau if tau.ndim == 1 else tau.reshape(count, *window.positions)
        kernel = weights.reshape(count, per_group, *window.kernel)
        return ConvLayer(kernel, full, window, part["groups"], part["top"], **marks)
    tau = tensor(tensors, f"{name}.tau", _INTEGERS, (count,))
    weights = weights_in(name, part, tensors)
    if kind == "dense":
        return DenseLayer(weights, tau, **marks)
    if tops is None:
        raise FileError(f"{name} reads levels, but a feature is a category and has none.")
    return LevelLayer(weights, tau, tops, **marks)


def _real_in(name: str, part: Document, tensors: Tensors) -> RealLayer:
    count = part["outputs"]
    if part["kind"] == "real":
        rows = weights_in(name, part, tensors)
        return RealLayer(rows, _theta_in(name, part, (count,), tensors))
    window = Window(*(part[key] for key in _GEOMETRY))
    per_group = window.shape[0] // max(part["groups"], 1)
    rows = weights_in(name, {**part, "inputs": per_group * prod(window.kernel)}, tensors)
    theta = _theta_in(name, part, (count, len(window.taps)), tensors)
    if len(theta) == count != count * len(window.taps):  # one for all positions
        theta = [ends for ends in theta for _ in range(len(window.taps))]
    return RealLayer(rows.reshape(count, per_group, *window.kernel), theta, window, part["groups"])


def _geometry_out(window: Window) -> Document:
    return {key: list(getattr(window, key)) for key in _GEOMETRY}


def _check_counts(what: str, *counts: int) -> None:
    if not all(0 <= count < 1 << 31 for count in counts):
        raise FileError(f"{what} has a number of inputs or outputs that is not in 0..2^31-1.")


def weights_out(name: str, weights: npt.NDArray[Any], tensors: Tensors) -> str:
    """Add the tensors of weights, and say in which form they are."""
    if weights.min(initial=0) < -1 or weights.max(initial=0) > 1:
        tensors[f"{name}.weights"] = _smallest(weights)
        return "integer"
    tensors[f"{name}.positive"] = _pack(weights > 0)
    if weights.all():
        return "binary"
    tensors[f"{name}.nonzero"] = _pack(weights != 0)
    return "ternary"


def weights_in(name: str, part: Document, tensors: Tensors) -> npt.NDArray[Any]:
    """The weights of an entry, from their tensors."""
    rows, columns, form = part["outputs"], part["inputs"], part["weights"]
    if form == "integer":
        return tensor(tensors, f"{name}.weights", _INTEGERS, (rows, columns))
    if form not in ("binary", "ternary"):
        raise FileError(f"{name} has weights {form[:80]!r}, but 'binary', 'ternary' and 'integer' are known.")
    plane = rows, _octets(columns)
    signs = 2 * _unpack(tensor(tensors, f"{name}.positive", ("uint8",), plane), columns).astype(np.int8) - 1
    if form == "ternary":
        signs *= _unpack(tensor(tensors, f"{name}.nonzero", ("uint8",), plane), columns)
    return signs


def _octets(bits: int) -> int:
    return -(-bits // 8)


def _pack(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Rows of bits, each from a byte of its own: bit i is bit i % 8 of byte i // 8."""
    return np.packbits(flags, axis=-1, bitorder="little")


def _unpack(octets: npt.NDArray[Any], count: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little").view(np.bool_)


def _smallest(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same whole numbers in the shortest of int8, int16, int32 and int64 that holds them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return values.astype(
        next(name for name in _INTEGERS if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    )


def tensor(tensors: Tensors, name: str, kinds: Sequence[str], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A tensor of one of these kinds and exactly this shape."""
    array = tensors.get(name)
    if array is None or array.dtype.name not in kinds or array.shape != shape:
        found = "there is none" if array is None else f"it is {array.dtype.name} of shape {array.shape}"
        raise FileError(f"the tensor {name} must be {' or '.join(kinds)} of shape {shape}, but {found}.")
    return array


def fields(value: Any, what: str, **kinds: type) -> Document:
    """Check that a JSON object has exactly these keys with values of these types."""
    if not isinstance(value, dict) or value.keys() != kinds.keys():
        found = ", ".join(value)[:200] if isinstance(value, dict) else type(value).__name__
        raise FileError(f"{what} needs {', '.join(kinds)}, but has {found}.")
    for key, kind in kinds.items():
        if kind is not object and type(value[key]) is not kind:
            raise FileError(f"{what}: {key} must be {kind.__name__}, not {type(value[key]).__name__}.")
    return value
