"""Keras layers run in float64 as Keras and Larq describe them, channels last:
the judge of what the reader made of them.

It shares the parser of the file with the reader, and nothing else: windows are walked tap by tap on (samples,
height, width, channels).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.larq.judge_quantizers import ActivationSteps, bias_of, kernel_of, levels_of
from sugenet.io.larq.keras_file import KerasLayer
from sugenet.io.proof.judges import Seen, SourceJudge, Stage

__all__ = ["judge_of_layers"]

_Array = npt.NDArray[Any]
_TAILS = ("softmax", "log_softmax", "sigmoid", "tanh")
_NOTHING = (
    "InputLayer",
    "Softmax",
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "GaussianNoise",
    "GaussianDropout",
    "Add",
)
_QUANTIZERS = ("SteSign", "ApproxSign", "SwishSign", "SteHeaviside")


def judge_of_layers(layers: Sequence[KerasLayer], signs: Sequence[str] = ()) -> SourceJudge:
    """Who says what a Keras model computes; `signs` are the layers of its signs in the order of the chain
    that was read, where branches stand one after the other.
    """

    def run(x: _Array) -> Seen:
        seen = _Pass(layers).run(x)
        left, ordered = list(seen.stages), []
        for where in signs:
            found = next((stage for stage in left if stage.name == where), None)
            if found is None:
                return seen
            left.remove(found)
            ordered.append(found)
        return seen if left else replace(seen, stages=tuple(ordered))

    return SourceJudge("Keras' layers computed in float64 by NumPy", run, follows=True)


@dataclass
class _Pass:
    """One batch on its way, with the signs that it met."""

    layers: Sequence[KerasLayer]
    stages: list[Stage] = field(default_factory=list)
    compared: tuple[str, float] = ("", 0.0)
    """The comparison that a choice goes by."""

    def run(self, x: _Array) -> Seen:
        about = self.layers[0].config
        sizes = about["batch_input_shape"] if "batch_input_shape" in about else about["batch_shape"]
        x = np.asarray(x, np.float64).reshape(len(x), *sizes[1:])
        known: dict[str, _Array] = {}
        for layer in self.layers:
            if layer.reads:
                x = sum((known[name] for name in layer.reads[1:]), known[layer.reads[0]])
            x = known[layer.name] = self.activated(layer, self.past(layer, x))
        scores = x.reshape(len(x), -1)
        return Seen(scores, tuple(self.stages), scores)

    def past(self, layer: KerasLayer, x: _Array) -> _Array:
        """A layer without its activation."""
        kind, config = layer.kind, layer.config
        if kind.startswith("Quant"):
            kind = kind.removeprefix("Quant")
            x = self.quantized(layer, config.get("input_quantizer"), x)
        kind = (
            kind
            if kind == "QActivation"
            else kind.removeprefix("Q").removeprefix("Binary").removeprefix("Ternary")
        )
        if kind in _QUANTIZERS:
            return self.quantized(layer, kind, x)
        if kind in ("GreaterEqual", "Greater", "Where"):
            return self.chosen(layer, x)
        if kind == "Sign":
            return self.signed(layer, x)
        if kind in _NOTHING or kind in ("Activation", "QActivation", "ActivityRegularization", "NoOp"):
            return x
        for names, rule in _RULES.items():
            if kind in names:
                return rule(layer, x)
        raise FileError(
            f"{layer.where}: nothing is known of this layer that the import could be compared with."
        )

    def activated(self, layer: KerasLayer, x: _Array) -> _Array:
        value = layer.config.get("activation")
        if value is None or value in ("linear", *_TAILS):
            return x
        if value in ("relu", "relu6"):
            return np.minimum(np.maximum(x, 0), 6 if value == "relu6" else np.inf)
        return np.clip(x, -1, 1) if value == "hard_tanh" else self.quantized(layer, value, x)

    def quantized(self, layer: KerasLayer, quantizer: Any, x: _Array) -> _Array:
        """Values behind a quantizer."""
        levels = levels_of(quantizer)
        return x if levels is None else self.stepped(layer, levels, x)

    def stepped(self, layer: KerasLayer, levels: ActivationSteps, x: _Array) -> _Array:
        """Values behind one or several steps."""
        counts = np.zeros(x.shape, np.int64)
        near = np.full(x.shape, np.inf)
        for cut, above in zip(levels.cuts, levels.above, strict=True):
            counts += x > cut if above else x >= cut
            near = np.where(np.abs(x - cut) < np.abs(near), x - cut, near)
        flat, before = (  # in the order in which the exact network has its neurons: channels first
            np.moveaxis(values, -1, 1).reshape(len(x), -1) for values in (counts, near)
        )
        self.stages.append(
            Stage(layer.where, before, flat > 0, flat == 0)
            if len(levels.cuts) == 1
            else Stage.of_levels(layer.where, before, flat)
        )
        return np.array(levels.values)[counts]

    def chosen(self, layer: KerasLayer, x: _Array) -> _Array:
        """``where(x >= limit, high, low)``, in its two steps."""
        given = layer.config["called_with"]
        if layer.kind != "Where":
            self.compared = (layer.kind, float(given[1]))
            return x
        kind, limit = self.compared
        return self.stepped(
            layer, ActivationSteps((limit,), (kind == "Greater",), (float(given[2]), float(given[1]))), x
        )

    def signed(self, layer: KerasLayer, x: _Array) -> _Array:
        """``keras.ops.sign``, which is 0 at 0."""
        flat = np.moveaxis(x, -1, 1).reshape(len(x), -1)
        self.stages.append(Stage(layer.where, flat, flat > 0, flat < 0))
        return np.sign(x)


def _kernel(layer: KerasLayer, which: str = "kernel") -> _Array:
    return kernel_of(layer, which)


def _biased(layer: KerasLayer, x: _Array) -> _Array:
    return x + bias_of(layer) if layer.config.get("use_bias", True) else x


def _dense(layer: KerasLayer, x: _Array) -> _Array:
    return _biased(layer, x @ _kernel(layer))


def _sides(layer: KerasLayer, key: str, otherwise: Any) -> list[int]:
    """A setting for height and width; rows of values are maps of height 1."""
    value = layer.config.get(key)
    value = otherwise if value is None else value
    row = (
        list(value) if isinstance(value, list | tuple) else [value] * (1 if layer.kind.endswith("1D") else 2)
    )
    return [1] * (2 - len(row)) + [int(side) for side in row]


def _taps(
    layer: KerasLayer,
    x: _Array,
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> Iterator[tuple[int, int, _Array]]:
    """For each tap of a window its place in the kernel, and the values under it at all positions."""
    around, out = [(0, 0)], []
    for axis in (0, 1):
        length, span = x.shape[1 + axis], (size[axis] - 1) * dilation[axis] + 1
        padding = layer.config.get("padding", "valid")
        if padding == "same":
            out.append(-(-length // stride[axis]))
            total = max((out[-1] - 1) * stride[axis] + span - length, 0)
            around.append((total // 2, total - total // 2))
        else:
            before = span - 1 if padding == "causal" and axis == 1 else 0
            out.append((length + before - span) // stride[axis] + 1)
            around.append((before, 0))
    wide = np.pad(x, [*around, (0, 0)], constant_values=fill)
    for i, j in product(range(size[0]), range(size[1])):
        top, left = i * dilation[0], j * dilation[1]
        rows, columns = (
            slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip((top, left), out, stride, strict=True)
        )
        yield i, j, wide[:, rows, columns]


def _on_maps(rule: Callable[[KerasLayer, _Array], _Array]) -> Callable[[KerasLayer, _Array], _Array]:
    """A rule for maps, on rows too."""

    def applied(layer: KerasLayer, x: _Array) -> _Array:
        return rule(layer, x) if x.ndim == 4 else rule(layer, x[:, None])[:, 0]

    return applied


def _convolution(layer: KerasLayer, x: _Array) -> _Array:
    kernel = _kernel(layer)
    kernel = kernel if kernel.ndim == 4 else kernel[None]
    groups = int(layer.config.get("groups", 1))
    parts: list[Any] = [0.0] * groups
    for i, j, values in _windows(layer, x, kernel):
        for g, (inside, weights) in enumerate(
            zip(np.split(values, groups, axis=-1), np.split(kernel[i, j], groups, axis=-1), strict=True)
        ):
            parts[g] = parts[g] + inside @ weights
    return _biased(layer, np.concatenate(parts, axis=-1))


def _depthwise(layer: KerasLayer, x: _Array) -> _Array:
    kernel = _kernel(layer, "depthwise_kernel")
    total: Any = 0.0
    for i, j, values in _windows(layer, x, kernel):
        total = total + values[..., None] * kernel[i, j]
    return _biased(layer, total.reshape(*total.shape[:3], -1))


def _windows(layer: KerasLayer, x: _Array, kernel: _Array) -> Iterator[tuple[int, int, _Array]]:
    fill = (
        float(layer.config.get("pad_values") or 0)
        if layer.kind.startswith("Quant") and layer.config.get("padding") == "same"
        else 0.0
    )
    return _taps(
        layer, x, kernel.shape[:2], _sides(layer, "strides", 1), _sides(layer, "dilation_rate", 1), fill
    )


def _pool(layer: KerasLayer, x: _Array) -> _Array:
    size = _sides(layer, "pool_size", 2)
    stride = _sides(layer, "strides", layer.config.get("pool_size", 2))
    # what is padded is not a number
    values = np.stack([found for _, _, found in _taps(layer, x, size, stride, (1, 1), np.nan)])
    return np.asarray(
        np.nanmax(values, axis=0) if layer.kind.startswith("Max") else np.nanmean(values, axis=0)
    )


def _global_pool(layer: KerasLayer, x: _Array) -> _Array:
    axes, keep = tuple(range(1, x.ndim - 1)), bool(layer.config.get("keepdims"))
    return np.asarray(
        x.max(axis=axes, keepdims=keep) if "Max" in layer.kind else x.mean(axis=axes, keepdims=keep)
    )


def _batch_norm(layer: KerasLayer, x: _Array) -> _Array:
    mean, variance = (layer.arrays[name].astype(np.float64) for name in ("moving_mean", "moving_variance"))
    x = (x - mean) / np.sqrt(variance + float(layer.config.get("epsilon", 1e-3)))
    if layer.config.get("scale", True):
        x = x * layer.arrays["gamma"]
    return x + layer.arrays["beta"] if layer.config.get("center", True) else x


def _zero_padding(layer: KerasLayer, x: _Array) -> _Array:
    given: Any = layer.config.get("padding", 1)
    rows = given if isinstance(given, list) and x.ndim == 4 else [given] * (x.ndim - 2)
    around = [tuple(row) if isinstance(row, list) else (row, row) for row in rows]
    return np.pad(x, [(0, 0), *around, (0, 0)])


def _rescaling(layer: KerasLayer, x: _Array) -> _Array:
    one = np.float64 if layer.config.get("dtype") == "float64" else np.float32
    scale, offset = (
        float(one(layer.config.get(key, value))) for key, value in (("scale", 1.0), ("offset", 0.0))
    )
    return x * scale + offset


def _relu(layer: KerasLayer, x: _Array) -> _Array:
    top = layer.config.get("max_value")
    return np.clip(x, 0, np.inf if top is None else float(top))


_RULES: dict[tuple[str, ...], Callable[[KerasLayer, _Array], _Array]] = {
    ("Dense",): _dense,
    ("Conv1D", "Conv2D", "Convolution1D", "Convolution2D"): _on_maps(_convolution),
    ("DepthwiseConv2D",): _depthwise,
    ("MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D"): _on_maps(_pool),
    (
        "GlobalMaxPooling1D",
        "GlobalMaxPooling2D",
        "GlobalAveragePooling1D",
        "GlobalAveragePooling2D",
    ): _global_pool,
    ("BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2"): _batch_norm,
    ("ZeroPadding1D", "ZeroPadding2D"): _zero_padding,
    ("Flatten", "Reshape"): lambda _, x: x.reshape(len(x), -1),
    ("Rescaling",): _rescaling,
    ("ReLU",): _relu,
}
