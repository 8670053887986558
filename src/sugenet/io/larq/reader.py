"""Models of Keras, Larq, QKeras and hls4ml's examples as chains.

Kernels stand in the file as the floats that were trained; their quantizer says how they are used.

Keras keeps maps as (height, width, channels). The chain has the channels first,
and flattens remember Keras' order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf, prod
from pathlib import Path

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Flatten,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
    Stairs,
    check_maps,
    every,
    numbers,
)
from sugenet.io.larq import binarynet
from sugenet.io.larq.activations import steps_of
from sugenet.io.larq.keras_file import KerasLayer, read_layers
from sugenet.io.larq.linear_layers import LINEAR
from sugenet.io.larq.quantizers import check_precision, setting, signed
from sugenet.io.larq.walk import MAX_SIDE, LayerWalk, maps_of, pads_of, parameter, two
from sugenet.io.plain.ledger import Ledger

__all__ = ["chain_of_layers", "read_model"]

_IGNORED = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "GaussianNoise",
    "GaussianDropout",
    "ActivityRegularization",
    "NoOp",
)
"""Layers that do nothing when a network is used."""
_COMPARED = ("GreaterEqual", "Greater")
_TAILS = ("softmax", "log_softmax", "sigmoid", "tanh")
_TRAINING = frozenset(
    {
        "name",
        "trainable",
        "batch_input_shape",
        "batch_shape",
        "input_dim",
        "autocast",
        "metrics",
        "activity_regularizer",
        "implementation",
    }
    | {"momentum", "fused", "synchronized", "renorm_clipping", "renorm_momentum"}
    | {
        f"{array}_{what}"
        for array in ("kernel", "bias", "depthwise", "beta", "gamma", "moving_mean", "moving_variance")
        for what in ("initializer", "regularizer", "constraint")
    }
)
"""Settings that say how a layer is called, built or trained, and nothing about what it computes."""


def read_model(
    path: str | Path, weights: str | Path | None = None, *, apart: bool = True
) -> tuple[OpChain, list[KerasLayer]]:
    """The operations of a Keras model, and its layers as they stand in its file; TensorFlow is not needed.

    Parameters
    ----------
    path
        The file: `.h5`, `.keras`, or `.json`.
    weights
        The file of its weights, where the first is `.json`.
    apart
        Whether the HDF5 library runs in a process of its own: it crashes on some damaged files. False is
        faster by half a second.

    Raises
    ------
    FileError
        For damaged files, branches, layers that have no exact meaning as a binarized network, and quantizers
        of more than one bit.
    """
    name = Path(path).name
    try:
        layers = read_layers(path, weights, apart=apart)
        return replace(chain_of_layers(layers), source=name), layers
    except FileError as error:
        raise FileError(f"{name}: {error}") from None


def chain_of_layers(layers: list[KerasLayer]) -> OpChain:
    """The operations of Keras layers in their order."""
    shape, rank = _input_shape(layers[0])
    check_maps("a sample", shape)
    walk, known = LayerWalk(shape, rank), dict[str, LayerWalk]()
    for given in _joined(layers):
        if given.reads:
            walk = _before(given, [known[name] for name in given.reads])
        layer = replace(given, config=Ledger(given.config), arrays=Ledger(given.arrays))
        if layer.kind == "InputLayer":
            layer.config.pass_over("dtype")
        else:
            if walk.left_out and not (
                layer.kind in ("Activation", "QActivation", "Softmax") or layer.kind in _IGNORED
            ):
                raise FileError(
                    f"{layer.where}: stands behind {walk.left_out[-1]}, "
                    f"which can only be the end of a network."
                )
            rule = _RULES.get(layer.kind)
            if rule is None:
                raise FileError(f"{layer.where}: this layer cannot be read. {_HINTS.get(layer.kind, _WORKS)}")
            _check_author(layer)
            check_precision(layer.where, layer.config.get("dtype"))
            walk = _activated(rule(walk, layer), layer)
            check_maps(layer.where, walk.shape)
        _nothing_left(layer)
        known[layer.name] = walk
    if not any(isinstance(op, Sign | Stairs) for op in every(walk.ops)):
        raise FileError(
            "no sign was found on the way from the input to the output, so this is no binarized network."
        )
    return OpChain("model", shape, walk.ops, len(shape) == 3, walk.left_out)


def _before(layer: KerasLayer, walks: list[LayerWalk]) -> LayerWalk:
    """What a layer reads: one value, or the sum of branches from where they part."""
    first, *others = walks
    for other in others:
        if other.shape != first.shape or other.rank != first.rank or other.left_out or first.left_out:
            raise FileError(f"{layer.where}: adds values of shapes {first.shape} and {other.shape}.")
        shared = 0
        while shared < min(len(first.ops), len(other.ops)) and first.ops[shared] is other.ops[shared]:
            shared += 1
        branches = Branches(layer.where, (first.ops[shared:], other.ops[shared:]))
        first = replace(first, ops=(*first.ops[:shared], branches))
    return first


def _joined(layers: list[KerasLayer]) -> list[KerasLayer]:
    """A comparison and the choice behind it as one: ``where(x >= 0, 1, -1)``."""
    found: list[KerasLayer] = []
    for layer in layers:
        before = found[-1] if found else layer
        if layer.kind == "Where" and before.kind in _COMPARED and layer is not before:
            settings = {**layer.config, "compared": before.kind, "limits": before.config.get("called_with")}
            found[-1] = replace(layer, config=Ledger(settings), reads=before.reads)
        else:
            found.append(layer)
    return found


def _check_author(layer: KerasLayer) -> None:
    """Refuse a class that has the name of a known one, and another author."""
    if layer.package and layer.kind not in binarynet.LAYERS:
        raise FileError(
            f"{layer.where}: a class of its own ({layer.package}), so its name does not say what it does. "
            "Use the layers of Keras, Larq or QKeras, or export the model to ONNX: python -m tf2onnx.convert."
        )


def _nothing_left(layer: KerasLayer) -> None:
    """Refuse settings and arrays that the layer was not made of;
    a setting that is not set (null) says nothing.
    """
    layer.config.pass_over(*_TRAINING)
    for key in layer.config.left():
        if layer.config[key] is not None and layer.config[key] is not False:
            raise FileError(
                f"{layer.where}: its setting {key[:40]!r} ({str(layer.config[key])[:40]}) is not known, so "
                f"neither is what it does."
            )
    for name in layer.arrays.left():
        raise FileError(
            f"{layer.where}: its array {name[:80]!r} would be left over: nothing in its settings uses it."
        )


_WORKS = (
    "QuantDense, QuantConv1D/2D, QuantDepthwiseConv2D (also QDense, ... of QKeras and BinaryDense, ... of "
    "hls4ml's examples), BatchNormalization, pooling, padding and Flatten can be."
)
_HINTS = {
    "Lambda": "It holds Python code, which is never run: use layers instead.",
    "Concatenate": "Branches that are added (Add) can be read, others not.",
    "QuantSeparableConv2D": (
        "Its two steps have no sign between: use QuantDepthwiseConv2D and QuantConv2D with an "
        "input quantizer each."
    ),
    "QConv2DBatchnorm": "Its batch norm is folded while it runs: use QConv2D and BatchNormalization.",
    "QBatchNormalization": "Use BatchNormalization, whose numbers are not quantized.",
    "GreaterEqual": "Behind a comparison stands where(x >= 0, 1, -1).",
    "Greater": "Behind a comparison stands where(x > 0, 1, -1).",
    "PReLU": "In front of a sign use nothing, ReLU or hard_tanh.",
    "LeakyReLU": "In front of a sign use nothing, ReLU or hard_tanh.",
    "LayerNormalization": "Use BatchNormalization, whose statistics are fixed.",
}


def _input_shape(first: KerasLayer) -> tuple[tuple[int, ...], int]:
    """The shape of a sample, channels first, and the number of its axes in Keras."""
    given = first.config.get("batch_input_shape", first.config.get("batch_shape"))
    sizes = given[1:] if isinstance(given, list) and given else None
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3:
        raise FileError(
            f"{first.where}: the shape of a sample is not known. "
            f"Give the first layer an input_shape and save again."
        )
    if not all(isinstance(size, int) and 0 < size <= MAX_SIDE for size in sizes):
        raise FileError(
            f"{first.where}: samples of shape {tuple(sizes)}. Every side must be known: give a full "
            f"input_shape and save again."
        )
    if len(sizes) == 1:
        return (sizes[0],), 1
    return ((sizes[1], 1, sizes[0]), 2) if len(sizes) == 2 else ((sizes[2], sizes[0], sizes[1]), 3)


def _batch_norm(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels = walk.shape[0]
    axis = layer.config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    if isinstance(axis, bool) or axis not in (-1, walk.rank):
        raise FileError(f"{layer.where}: axis {str(axis)[:40]!r} is not the channel axis.")
    for key in ("renorm", "virtual_batch_size"):
        if layer.config.get(key):
            raise FileError(
                f"{layer.where}: {key} makes another layer of it. Use the plain BatchNormalization."
            )
    mean, var = (parameter(layer, name, (channels,)) for name in ("moving_mean", "moving_variance"))
    gamma = parameter(layer, "gamma", (channels,)) if layer.config.get("scale", True) else np.ones_like(mean)
    beta = parameter(layer, "beta", (channels,)) if layer.config.get("center", True) else np.zeros_like(mean)
    if (var < 0).any():
        raise FileError(f"{layer.where}: moving_variance is negative at {int(np.argmax(var < 0))}.")
    return walk.then(
        BatchNorm(layer.where, gamma, beta, mean, var, setting(layer.where, layer.config, "epsilon", 1e-3))
    )


def _pool(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels, *sizes = maps_of(walk, layer)
    kernel = two(layer, "pool_size", 2)
    stride = two(layer, "strides") if layer.config.get("strides") is not None else kernel
    pads, out = pads_of(layer, (sizes[0], sizes[1]), kernel, stride)
    pool = MaxPool if layer.kind.startswith("Max") else AveragePool
    return walk.then(pool(layer.where, kernel, stride, pads), shape=(channels, *out))


def _global_pool(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels, *sizes = maps_of(walk, layer)
    whole = sizes[0], sizes[1]
    pooled: Op = MaxPool(layer.where, whole, (1, 1)) if "Max" in layer.kind else AveragePool(layer.where)
    if layer.config.get("keepdims"):
        return walk.then(pooled, shape=(channels, 1, 1))
    return walk.then(pooled, Flatten(layer.where), shape=(channels,))


def _flatten(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    if layer.config.get("data_format", "channels_last") not in ("channels_last", None):
        raise FileError(f"{layer.where}: data_format is channels_first. Only channels_last is read.")
    if len(walk.shape) == 1:
        return walk
    return walk.then(Flatten(layer.where, "HWC"), shape=(prod(walk.shape),))


def _reshape(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    target = layer.config.get("target_shape")
    if target in ([-1], [prod(walk.shape)]):
        return _flatten(walk, layer)
    raise FileError(
        f"{layer.where}: reshapes to {str(target)[:40]}. Only flat features can be made of maps: use Flatten."
    )


def _pad(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels, *sizes = maps_of(walk, layer)
    given = layer.config.get("padding", 1)
    rows = given if isinstance(given, list) else [given, given]
    if layer.kind.endswith("1D"):
        rows = [[0, 0], rows]
    flat = [side for row in rows for side in (row if isinstance(row, list) else [row, row])]
    if len(flat) != 4 or not all(isinstance(side, int) and 0 <= side <= MAX_SIDE for side in flat):
        raise FileError(f"{layer.where}: padding is {str(given)[:40]}, but whole numbers are needed.")
    top, bottom, left, right = flat
    return walk.then(
        Pad(layer.where, (top, left, bottom, right)),
        shape=(channels, sizes[0] + top + bottom, sizes[1] + left + right),
    )


def _rescale(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    scale, offset = (layer.config.get(key, default) for key, default in (("scale", 1.0), ("offset", 0.0)))
    if not all(isinstance(value, int | float) and abs(value) < inf for value in (scale, offset)):
        raise FileError(f"{layer.where}: scale and offset must be one number each.")
    # what Keras turns them into
    single = np.float64 if layer.config.get("dtype") == "float64" else np.float32
    return walk.then(
        Affine(
            layer.where, numbers([Fraction(single(scale).item())]), numbers([Fraction(single(offset).item())])
        )
    )


def _relu(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    if layer.config.get("negative_slope") or layer.config.get("threshold"):
        raise FileError(f"{layer.where}: a ReLU with a slope or threshold of its own. Use the plain one.")
    top = layer.config.get("max_value")
    return walk.then(
        Clip(layer.where, 0.0, inf if top is None else setting(layer.where, layer.config, "max_value", inf))
    )


def _activated(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    """The activation at the end of a layer."""
    value = "softmax" if layer.kind == "Softmax" else layer.config.get("activation")
    if value is None or value == "linear":
        return walk
    name = value if isinstance(value, str) else ""
    if name in _TAILS:
        axis = layer.config.get("axis", -1) if layer.kind == "Softmax" else -1
        if isinstance(axis, bool) or axis not in (-1, walk.rank):
            raise FileError(f"{layer.where}: axis {str(axis)[:40]!r} is not the axis of the classes.")
        return replace(walk, left_out=(*walk.left_out, f"{name} at {layer.where}"))
    if walk.left_out:
        raise FileError(
            f"{layer.where}: stands behind {walk.left_out[-1]}, which can only be the end of a network."
        )
    if name in ("relu", "relu6"):
        return walk.then(Clip(layer.where, 0.0, 6.0 if name == "relu6" else inf))
    if name == "hard_tanh":
        return walk.then(Clip(layer.where, -1.0, 1.0))
    return walk.then(*steps_of(layer.where, "activation", value))


def _quantizer(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    """A quantizer that stands as a layer of its own."""
    settings = {key: value for key, value in layer.config.items() if key not in _TRAINING}
    return walk.then(*signed(layer.where, "quantizer", {"class_name": layer.kind, "config": settings}))


def _sign(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    """``keras.ops.sign``, which is 0 at 0."""
    return walk.then(Sign(layer.where, zero=0))


def _where(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    """``keras.ops.where(x >= 0, 1, -1)``."""
    kind, limits, chosen = (layer.config.get(key) for key in ("compared", "limits", "called_with"))
    plain = all(isinstance(value, int | float) for value in (limits or [None])[1:])
    if kind is None or not isinstance(limits, list) or limits[:1] != [None] or len(limits) != 2 or not plain:
        raise FileError(f"{layer.where}: chooses by something else than a comparison with a number.")
    values = chosen if isinstance(chosen, list) else []
    if len(values) != 3 or values[0] is not None or not all(isinstance(v, int | float) for v in values[1:]):
        raise FileError(f"{layer.where}: chooses between something else than two numbers.")
    high, low, limit = float(values[1]), float(values[2]), Fraction(limits[1])
    if not all(abs(number) < inf for number in (high, low, float(limit))):
        raise FileError(f"{layer.where}: compares with or chooses a number that is none.")
    shift = () if limit == 0 else (Affine(layer.where, np.ones(1), numbers([-limit])),)
    return walk.then(*shift, Sign(layer.where, zero=1 if kind == "GreaterEqual" else -1, low=low, high=high))


def _ignored(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    layer.config.pass_over(*layer.config)
    return walk


def _same(walk: LayerWalk, _layer: KerasLayer) -> LayerWalk:
    return walk


_RULES: dict[str, Callable[[LayerWalk, KerasLayer], LayerWalk]] = {
    **LINEAR,
    **dict.fromkeys(("BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2"), _batch_norm),
    **dict.fromkeys(("MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D"), _pool),
    **dict.fromkeys(
        ("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D"),
        _global_pool,
    ),
    **dict.fromkeys(("ZeroPadding1D", "ZeroPadding2D"), _pad),
    **dict.fromkeys(("Activation", "QActivation", "Softmax"), _same),
    **dict.fromkeys(_IGNORED, _ignored),
    "Add": _same,
    **dict.fromkeys(("SteSign", "ApproxSign", "SwishSign", "SteHeaviside"), _quantizer),
    "Sign": _sign,
    "Where": _where,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Rescaling": _rescale,
    "ReLU": _relu,
}
