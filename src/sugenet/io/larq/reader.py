"""Read models of Keras, Larq, QKeras and hls4ml's examples as chains.

The file has kernels as trained floats; their quantizers say how they are used.

Keras stores maps as (height, width, channels). The chain has channels first, and flattens record Keras'
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Clip,
    Convolution,
    Flatten,
    Leaky,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Quantize,
    Sign,
    check_maps,
    every,
    forked,
    numbers,
)
from sugenet.io.larq.keras_file import KerasLayer, read_layers
from sugenet.io.larq.quantizers import (
    HLS4ML,
    bias_used,
    check_precision,
    input_steps,
    kernel_used,
    setting,
    signed,
    steps_of,
)
from sugenet.io.plain.refusals import Ledger, refuse_if, required, within
from sugenet.nn.arrays import Array

__all__ = ["chain_of_layers", "read_model"]

_Pads: TypeAlias = tuple[int, int, int, int]
_MAX_SIDE = 1 << 16


@dataclass(frozen=True, eq=False)
class _Walk:
    """The current shape of the maps, channels first, and the operations so far."""

    shape: tuple[int, ...]
    rank: int
    """Number of axes in Keras besides the batch: 1 for features, 2 for rows of channels, 3 for maps."""
    ops: tuple[Op, ...] = ()
    left_out: tuple[str, ...] = ()

    def then(self, *ops: Op, shape: tuple[int, ...] | None = None) -> _Walk:
        """Append operations."""
        shape = self.shape if shape is None else shape
        return replace(self, ops=(*self.ops, *ops), shape=shape, rank=1 if len(shape) == 1 else self.rank)


def _parameter(layer: KerasLayer, name: str, shape: tuple[int, ...]) -> Array:
    """Return an array of a layer, which must have this shape."""
    array = required(
        layer.arrays.get(name),
        f"{layer.where}: its array {name!r} is missing from the file. "
        f"It has {', '.join(layer.arrays) or 'none'}.",
    )
    refuse_if(
        array.shape != shape,
        layer.where,
        f"its array {name!r} has shape {array.shape}, but {shape} is needed.",
    )
    return array if array.dtype.kind == "f" else array.astype(np.float32)


def _integer(layer: KerasLayer, key: str, otherwise: Any = None) -> int:
    """Return a setting that is a positive integer."""
    value = layer.config.get(key, otherwise)
    refuse_if(
        not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1 << 20,
        f"{layer.where}: {key} is {str(value)[:40]!r}, but an integer from 1 is needed.",
    )
    return int(value)


def _two(layer: KerasLayer, key: str, otherwise: Any = 1) -> tuple[int, int]:
    """Return height and width; in one dimension, the width."""
    value = layer.config.get(key, otherwise)
    row = value if isinstance(value, list) else [value] * (1 if layer.kind.endswith("1D") else 2)
    refuse_if(
        len(row) not in (1, 2)
        or not all(isinstance(v, int) and not isinstance(v, bool) and 0 < v <= _MAX_SIDE for v in row),
        layer.where,
        f"{key} is {str(value)[:40]!r}, but integers from 1 are needed.",
    )
    return (1, row[0]) if len(row) == 1 else (row[0], row[1])


def _maps_of(walk: _Walk, layer: KerasLayer) -> tuple[int, int, int]:
    """Return channels, height and width of the input."""
    refuse_if(
        walk.rank != (2 if "1D" in layer.kind else 3),
        layer.where,
        f"reads maps, but values of shape {walk.shape} come in.",
    )
    refuse_if(
        layer.config.get("data_format", "channels_last") not in ("channels_last", None),
        layer.where,
        "data_format is channels_first. Only channels_last is read.",
    )
    return walk.shape[0], walk.shape[1], walk.shape[2]


def _pads_of(
    layer: KerasLayer, sizes: tuple[int, int], spans: tuple[int, int], stride: tuple[int, int]
) -> tuple[_Pads, tuple[int, int]]:
    """Return the pads as TensorFlow computes them, the odd one at the end, and the size of the result."""
    kind = layer.config.get("padding", "valid")
    refuse_if(
        kind not in ("valid", "same")
        and (kind != "causal" or not layer.kind.endswith(("Conv1D", "Convolution1D"))),
        layer.where,
        f"padding {str(kind)[:40]!r}. valid, same, and in one dimension causal can be read.",
    )
    before, after, out = [0, 0], [0, 0], []
    for axis, (size, span, step) in enumerate(zip(sizes, spans, stride, strict=True)):
        if kind == "same":
            total = max((-(-size // step) - 1) * step + span - size, 0)
            before[axis], after[axis] = total // 2, total - total // 2
        elif kind == "causal" and axis == 1:
            before[axis] = span - 1
        out.append((size + before[axis] + after[axis] - span) // step + 1)
        refuse_if(out[-1] < 1, layer.where, f"a window of {spans} does not fit maps of {sizes}.")
    check_maps(layer.where, (1, *out), spans)
    return (before[0], before[1], after[0], after[1]), (out[0], out[1])


def _bias(layer: KerasLayer, outputs: int) -> Array | None:
    return bias_used(
        layer, _parameter(layer, "bias", (outputs,)) if layer.config.get("use_bias", True) else None
    )


def _dense(walk: _Walk, layer: KerasLayer) -> _Walk:
    units, features = _integer(layer, "units"), walk.shape[0]
    kernel = kernel_used(layer, "kernel", _parameter(layer, "kernel", (features, units)))
    signs, bias = input_steps(layer), _bias(layer, units)
    if len(walk.shape) == 3:  # Keras applies a dense layer to the channels of every pixel
        return walk.then(
            *signs, Convolution(layer.where, kernel.T[:, :, None, None], bias), shape=(units, *walk.shape[1:])
        )
    return walk.then(*signs, LinearOp(layer.where, kernel.T, bias), shape=(units,))


def _convolution(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels, *sizes = _maps_of(walk, layer)
    filters, groups, size = (
        _integer(layer, "filters"),
        _integer(layer, "groups", 1),
        _two(layer, "kernel_size"),
    )
    refuse_if(
        channels % groups or filters % groups,
        layer.where,
        f"{groups} groups do not divide {channels} input and {filters} output channels.",
    )
    flat = layer.kind.endswith("1D")
    shape = (*size[1 if flat else 0 :], channels // groups, filters)
    kernel = kernel_used(layer, "kernel", _parameter(layer, "kernel", shape))
    weights = (kernel[None] if flat else kernel).transpose(3, 2, 0, 1)
    return _convolved(walk, layer, (sizes[0], sizes[1]), weights, groups)


def _depthwise(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels, *sizes = _maps_of(walk, layer)
    times, size = _integer(layer, "depth_multiplier", 1), _two(layer, "kernel_size")
    refuse_if(_integer(layer, "groups", 1) != 1, layer.where, "groups in a depthwise convolution.")
    kernel = kernel_used(layer, "depthwise", _parameter(layer, "depthwise_kernel", (*size, channels, times)))
    weights = kernel.transpose(2, 3, 0, 1).reshape(channels * times, 1, *size)
    return _convolved(walk, layer, (sizes[0], sizes[1]), weights, channels)


def _convolved(walk: _Walk, layer: KerasLayer, sizes: tuple[int, int], weights: Array, groups: int) -> _Walk:
    stride, dilation = _two(layer, "strides"), _two(layer, "dilation_rate")
    spans = tuple(d * (k - 1) + 1 for k, d in zip(weights.shape[2:], dilation, strict=True))
    pads, out = _pads_of(layer, sizes, (spans[0], spans[1]), stride)
    value = layer.config.get("pad_values", 0.0) if layer.kind.startswith("Quant") else 0.0
    refuse_if(
        not isinstance(value, int | float) or value not in (-1, 0, 1),
        layer.where,
        f"pad_values is {str(value)[:40]!r}; 0, 1 and -1 can be read.",
    )
    refuse_if(
        value and layer.config.get("padding") == "causal",
        layer.where,
        "causal padding with pad_values, which Larq does not have.",
    )
    padding: tuple[Op, ...] = ()
    if value and any(pads):
        padding, pads = (Pad(layer.where, pads, float(value)),), (0, 0, 0, 0)
    op = Convolution(layer.where, weights, _bias(layer, len(weights)), stride, dilation, pads, groups)
    return walk.then(*input_steps(layer), *padding, op, shape=(len(weights), *out))


_IGNORED = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "GaussianNoise",
    "GaussianDropout",
    "ActivityRegularization",
    "NoOp",
)
"""Layers that do nothing at inference."""
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
"""Settings for calling, building or training a layer, which do not affect its result."""


def read_model(
    path: str | Path, weights: str | Path | None = None, *, apart: bool = True
) -> tuple[OpChain, list[KerasLayer]]:
    """Return the operations of a Keras model, and the layers of its file; TensorFlow is not required.

    Parameters
    ----------
    path
        The file: `.h5`, `.keras`, or `.json`.
    weights
        The file of its weights, if the first one is `.json`.
    apart
        Whether to run the HDF5 library in a separate process, since it crashes on some damaged files. False
        is faster by half a second.

    Raises
    ------
    FileError
        If the file is damaged, or has branches, layers without an exact meaning as a binarized network, or
        quantizers of more than one bit.
    """
    name = Path(path).name
    with within(name):
        layers = read_layers(path, weights, apart=apart)
        return replace(chain_of_layers(layers), source=name), layers


def chain_of_layers(layers: list[KerasLayer]) -> OpChain:
    """Return the operations of Keras layers, in order."""
    shape, rank = _input_shape(layers[0])
    check_maps("a sample", shape)
    walk, known = _Walk(shape, rank), dict[str, _Walk]()
    for source_layer in _joined(layers):
        if source_layer.reads:
            walk = _before(source_layer, [known[name] for name in source_layer.reads])
        layer = replace(source_layer, config=Ledger(source_layer.config), arrays=Ledger(source_layer.arrays))
        if layer.kind == "InputLayer":
            layer.config.pass_over("dtype")
        else:
            if walk.left_out and not (
                layer.kind in ("Activation", "QActivation", "Softmax") or layer.kind in _IGNORED
            ):
                raise FileError(
                    f"{layer.where}: follows {walk.left_out[-1]}, which can only be the end of a network."
                )
            why = f"this layer cannot be read. {_HINTS.get(layer.kind, _WORKS)}"
            rule = required(_RULES.get(layer.kind), layer.where, why)
            _check_author(layer)
            check_precision(layer.where, layer.config.get("dtype"))
            walk = _activated(rule(walk, layer), layer)
            check_maps(layer.where, walk.shape)
        _nothing_left(layer)
        known[layer.name] = walk
    refuse_if(
        not any(isinstance(op, Sign | Quantize) for op in every(walk.ops)),
        "no sign was found on the way from the input to the output, so this is not a binarized network.",
    )
    return OpChain("model", shape, walk.ops, len(shape) == 3, walk.left_out)


def _before(layer: KerasLayer, walks: list[_Walk]) -> _Walk:
    """Return the input of a layer: one value, or the sum of branches since they split."""
    first, *others = walks
    for other in others:
        refuse_if(
            other.shape != first.shape or other.rank != first.rank or other.left_out or first.left_out,
            layer.where,
            f"adds values of shapes {first.shape} and {other.shape}.",
        )
        first = replace(first, ops=forked(layer.where, first.ops, other.ops))
    return first


def _joined(layers: list[KerasLayer]) -> list[KerasLayer]:
    """Combine a comparison and the choice after it: ``where(x >= 0, 1, -1)``."""
    joined: list[KerasLayer] = []
    for layer in layers:
        before = joined[-1] if joined else layer
        if layer.kind == "Where" and before.kind in _COMPARED and layer is not before:
            settings = {**layer.config, "compared": before.kind, "limits": before.config.get("called_with")}
            joined[-1] = replace(layer, config=Ledger(settings), reads=before.reads)
        else:
            joined.append(layer)
    return joined


def _check_author(layer: KerasLayer) -> None:
    """Refuse a class with the name of a known one but another author."""
    refuse_if(
        layer.package and layer.kind not in HLS4ML,
        layer.where,
        f"a class of its own ({layer.package}), so its name does not say what it does. "
        "Use the layers of Keras, Larq or QKeras, or export the model to ONNX: python -m tf2onnx.convert.",
    )


def _nothing_left(layer: KerasLayer) -> None:
    """Refuse unused settings and arrays of a layer; unset settings (null) are ignored."""
    layer.config.pass_over(*_TRAINING)
    for key in layer.config.left():
        if layer.config[key] is not None and layer.config[key] is not False:
            raise FileError(
                f"{layer.where}: its setting {key[:40]!r} ({str(layer.config[key])[:40]}) is not known."
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
    "GreaterEqual": "After a comparison use where(x >= 0, 1, -1).",
    "Greater": "After a comparison use where(x > 0, 1, -1).",
    "LayerNormalization": "Use BatchNormalization, whose statistics are fixed.",
}


def _input_shape(first: KerasLayer) -> tuple[tuple[int, ...], int]:
    """Return the shape of a sample, channels first, and the number of its axes in Keras."""
    batch_shape = first.config.get("batch_input_shape", first.config.get("batch_shape"))
    sizes = batch_shape[1:] if isinstance(batch_shape, list) else []
    refuse_if(
        not 1 <= len(sizes) <= 3,
        first.where,
        "the shape of a sample is not known. Give the first layer an input_shape and save again.",
    )
    refuse_if(
        not all(isinstance(size, int) and 0 < size <= _MAX_SIDE for size in sizes),
        first.where,
        f"samples of shape {tuple(sizes)}. Every side must be known: give a full input_shape and save again.",
    )
    if len(sizes) == 1:
        return (sizes[0],), 1
    return ((sizes[1], 1, sizes[0]), 2) if len(sizes) == 2 else ((sizes[2], sizes[0], sizes[1]), 3)


def _batch_norm(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels = walk.shape[0]
    axis = layer.config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    refuse_if(
        isinstance(axis, bool) or axis not in (-1, walk.rank),
        layer.where,
        f"axis {str(axis)[:40]!r} is not the channel axis.",
    )
    for key in ("renorm", "virtual_batch_size"):
        refuse_if(
            layer.config.get(key),
            layer.where,
            f"{key} makes another layer of it. Use the plain BatchNormalization.",
        )
    mean, var = (_parameter(layer, name, (channels,)) for name in ("moving_mean", "moving_variance"))
    gamma = _parameter(layer, "gamma", (channels,)) if layer.config.get("scale", True) else np.ones_like(mean)
    beta = _parameter(layer, "beta", (channels,)) if layer.config.get("center", True) else np.zeros_like(mean)
    refuse_if((var < 0).any(), f"{layer.where}: moving_variance is negative at {int(np.argmax(var < 0))}.")
    return walk.then(
        BatchNorm(layer.where, gamma, beta, mean, var, setting(layer.where, layer.config, "epsilon", 1e-3))
    )


def _pool(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels, *sizes = _maps_of(walk, layer)
    kernel = _two(layer, "pool_size", 2)
    stride = _two(layer, "strides") if layer.config.get("strides") is not None else kernel
    pads, out = _pads_of(layer, (sizes[0], sizes[1]), kernel, stride)
    pool = MaxPool if layer.kind.startswith("Max") else AveragePool
    return walk.then(pool(layer.where, kernel, stride, pads), shape=(channels, *out))


def _global_pool(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels, *sizes = _maps_of(walk, layer)
    window = sizes[0], sizes[1]
    pooled: Op = MaxPool(layer.where, window, (1, 1)) if "Max" in layer.kind else AveragePool(layer.where)
    if layer.config.get("keepdims"):
        return walk.then(pooled, shape=(channels, 1, 1))
    return walk.then(pooled, Flatten(layer.where), shape=(channels,))


def _flatten(walk: _Walk, layer: KerasLayer) -> _Walk:
    refuse_if(
        layer.config.get("data_format", "channels_last") not in ("channels_last", None),
        layer.where,
        "data_format is channels_first. Only channels_last is read.",
    )
    if len(walk.shape) == 1:
        return walk
    return walk.then(Flatten(layer.where, "HWC"), shape=(prod(walk.shape),))


def _reshape(walk: _Walk, layer: KerasLayer) -> _Walk:
    target = layer.config.get("target_shape")
    if target in ([-1], [prod(walk.shape)]):
        return _flatten(walk, layer)
    raise FileError(
        f"{layer.where}: reshapes to {str(target)[:40]}. Only flat features can be made of maps: use Flatten."
    )


def _pad(walk: _Walk, layer: KerasLayer) -> _Walk:
    channels, *sizes = _maps_of(walk, layer)
    padding = layer.config.get("padding", 1)
    rows = padding if isinstance(padding, list) else [padding, padding]
    if layer.kind.endswith("1D"):
        rows = [[0, 0], rows]
    flat = [side for row in rows for side in (row if isinstance(row, list) else [row, row])]
    refuse_if(
        len(flat) != 4 or not all(isinstance(side, int) and 0 <= side <= _MAX_SIDE for side in flat),
        layer.where,
        f"padding is {str(padding)[:40]}, but integers are needed.",
    )
    top, bottom, left, right = flat
    return walk.then(
        Pad(layer.where, (top, left, bottom, right)),
        shape=(channels, sizes[0] + top + bottom, sizes[1] + left + right),
    )


def _rescale(walk: _Walk, layer: KerasLayer) -> _Walk:
    scale, offset = (layer.config.get(key, default) for key, default in (("scale", 1.0), ("offset", 0.0)))
    refuse_if(
        not all(isinstance(value, int | float) and abs(value) < inf for value in (scale, offset)),
        layer.where,
        "scale and offset must be one number each.",
    )
    # The form that Keras converts them to.
    single = np.float64 if layer.config.get("dtype") == "float64" else np.float32
    return walk.then(
        Affine(
            layer.where, numbers([Fraction(single(scale).item())]), numbers([Fraction(single(offset).item())])
        )
    )


def _relu(walk: _Walk, layer: KerasLayer) -> _Walk:
    refuse_if(
        layer.config.get("threshold"), layer.where, "a ReLU with a threshold of its own. Use the plain one."
    )
    top = layer.config.get("max_value")
    high = inf if top is None else setting(layer.where, layer.config, "max_value", inf)
    slope = _slope(layer, "negative_slope", 0.0)
    if not slope:
        return walk.then(Clip(layer.where, 0.0, high))
    return walk.then(Leaky(layer.where, np.array([slope])), Clip(layer.where, -inf, high))


def _slope(layer: KerasLayer, key: str, otherwise: float) -> float:
    """Return a slope as the 32-bit float that Keras uses."""
    value = layer.config.get(key)
    slope = otherwise if value is None else setting(layer.where, layer.config, key, otherwise)
    return slope if layer.config.get("dtype") == "float64" else float(np.float32(slope))


def _leaky(walk: _Walk, layer: KerasLayer) -> _Walk:
    """Read LeakyReLU, whose slope is called `alpha` in Keras 2, and PReLU with one slope per channel."""
    if layer.kind == "LeakyReLU":
        key = "alpha" if "alpha" in layer.config else "negative_slope"
        return walk.then(Leaky(layer.where, np.array([_slope(layer, key, 0.3)])))
    layer.config.pass_over("alpha_initializer", "alpha_regularizer", "alpha_constraint", "shared_axes")
    there = layer.arrays.get("alpha")
    slopes = _parameter(layer, "alpha", walk.shape[:1] if there is None else there.shape)
    refuse_if(
        not slopes.ndim or slopes.shape[-1:] != walk.shape[:1] or slopes.size != slopes.shape[-1],
        layer.where,
        f"slopes of shape {slopes.shape} for values of shape {walk.shape}. "
        "Only one per channel can be: shared_axes=[1, 2].",
    )
    return walk.then(Leaky(layer.where, slopes.reshape(-1)))


def _activated(walk: _Walk, layer: KerasLayer) -> _Walk:
    """Apply the activation at the end of a layer."""
    value = "softmax" if layer.kind == "Softmax" else layer.config.get("activation")
    if value is None or value == "linear":
        return walk
    name = value if isinstance(value, str) else ""
    if name in _TAILS:
        axis = layer.config.get("axis", -1) if layer.kind == "Softmax" else -1
        refuse_if(
            isinstance(axis, bool) or axis not in (-1, walk.rank),
            layer.where,
            f"axis {str(axis)[:40]!r} is not the axis of the classes.",
        )
        return replace(walk, left_out=(*walk.left_out, f"{name} at {layer.where}"))
    if walk.left_out:
        raise FileError(
            f"{layer.where}: follows {walk.left_out[-1]}, which can only be the end of a network."
        )
    if name in ("relu", "relu6"):
        return walk.then(Clip(layer.where, 0.0, 6.0 if name == "relu6" else inf))
    if name == "hard_tanh":
        return walk.then(Clip(layer.where, -1.0, 1.0))
    return walk.then(*steps_of(layer.where, "activation", value))


def _quantizer(walk: _Walk, layer: KerasLayer) -> _Walk:
    """Apply a quantizer that is a separate layer."""
    settings = {key: value for key, value in layer.config.items() if key not in _TRAINING}
    return walk.then(*signed(layer.where, "quantizer", {"class_name": layer.kind, "config": settings}))


def _sign(walk: _Walk, layer: KerasLayer) -> _Walk:
    """Apply ``keras.ops.sign``, which is 0 at 0."""
    return walk.then(Sign(layer.where, zero=0))


def _where(walk: _Walk, layer: KerasLayer) -> _Walk:
    """Apply ``keras.ops.where(x >= 0, 1, -1)``."""
    kind, limits, chosen = (layer.config.get(key) for key in ("compared", "limits", "called_with"))
    plain = all(isinstance(value, int | float) for value in (limits or [None])[1:])
    if kind is None or not isinstance(limits, list) or limits[:1] != [None] or len(limits) != 2 or not plain:
        raise FileError(f"{layer.where}: chooses by something else than a comparison with a number.")
    values = chosen if isinstance(chosen, list) else []
    refuse_if(
        len(values) != 3 or values[0] is not None or not all(isinstance(v, int | float) for v in values[1:]),
        layer.where,
        "chooses between something else than two numbers.",
    )
    high, low, limit = float(values[1]), float(values[2]), Fraction(limits[1])
    refuse_if(
        not all(abs(number) < inf for number in (high, low, float(limit))),
        layer.where,
        "compares with or chooses an invalid number.",
    )
    shift = () if limit == 0 else (Affine(layer.where, np.ones(1), numbers([-limit])),)
    return walk.then(*shift, Sign(layer.where, zero=1 if kind == "GreaterEqual" else -1, low=low, high=high))


def _ignored(walk: _Walk, layer: KerasLayer) -> _Walk:
    layer.config.pass_over(*layer.config)
    return walk


def _same(walk: _Walk, _layer: KerasLayer) -> _Walk:
    return walk


_RULES: dict[str, Callable[[_Walk, KerasLayer], _Walk]] = {
    **dict.fromkeys(("Dense", "QuantDense", "QDense", "BinaryDense", "TernaryDense"), _dense),
    **dict.fromkeys(("Conv1D", "Conv2D", "Convolution1D", "Convolution2D"), _convolution),
    **dict.fromkeys(("QuantConv1D", "QuantConv2D", "QConv1D", "QConv2D"), _convolution),
    **dict.fromkeys(("BinaryConv2D", "TernaryConv2D"), _convolution),
    **dict.fromkeys(("DepthwiseConv2D", "QuantDepthwiseConv2D", "QDepthwiseConv2D"), _depthwise),
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
    **dict.fromkeys(("LeakyReLU", "PReLU"), _leaky),
}
