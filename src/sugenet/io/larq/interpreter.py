"""Run Keras layers in float64 as Keras, Larq and QKeras describe them, channels last.

Imports are compared with this interpreter. It shares only the parser of the file with the reader. Windows are
processed tap by tap on (samples, height, width, channels), and quantizers one output at a time.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from sugenet.io.larq.keras_file import KerasLayer
from sugenet.io.plain.refusals import required
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage
from sugenet.nn.arrays import Array

__all__ = ["interpreter_of_layers"]

_ORDER = {
    "binary": "use_01 alpha use_stochastic_rounding",
    "ternary": "alpha threshold use_stochastic_rounding number_of_unrolls",
    "quantizedbits": "bits integer symmetric keep_negative alpha",
}
_WORDS = {"None": None, "True": True, "False": False}


@dataclass(frozen=True, eq=False)
class _ActivationSteps:
    """The steps of an activation.

    For each cut: whether a value must be above it or may be equal to it. For each number of reached cuts: its
    value.
    """

    cuts: tuple[float, ...]
    above: tuple[bool, ...]
    values: tuple[float, ...]


def _name_of(quantizer: Any) -> str:
    """Return the name of a quantizer without case and underscores; empty if there is none."""
    if isinstance(quantizer, dict):
        settings = quantizer.get("config")
        quantizer = settings if isinstance(settings, str) else quantizer.get("class_name")
    if quantizer is None:
        return ""
    return str(quantizer).rpartition(">")[2].partition("(")[0].strip().lower().replace("_", "")


def _settings(quantizer: Any) -> dict[str, Any]:
    """Return the settings of a quantizer, also of one written as a call."""
    if isinstance(quantizer, dict) and isinstance(quantizer.get("config"), dict):
        return dict(quantizer["config"])
    text = quantizer.get("config") if isinstance(quantizer, dict) else quantizer
    inside = re.search(r"\((.*)\)", str(text))
    settings: dict[str, Any] = {}
    order = _ORDER.get(_name_of(quantizer), "").split()
    for index, word in enumerate(inside[1].split(",") if inside and inside[1].strip() else []):
        key, _, value = word.rpartition("=")
        value = value.strip().strip("'\"")
        settings[key.strip() or order[index]] = (
            _WORDS[value] if value in _WORDS else value if "auto" in value else float(value)
        )
    return settings


def _levels_of(quantizer: Any) -> _ActivationSteps | None:
    """Return the steps of an activation; None if it leaves values unchanged."""
    name, settings = _name_of(quantizer), _settings(quantizer)
    scale = float(np.float32(settings.get("alpha") or 1.0)) if name in _ORDER else 1.0
    match name:
        case "" | "noop" | "noopquantizer" | "linear":
            return None
        case "steheaviside" | "binarysigmoid":
            return _ActivationSteps((0.0,), (True,), (0.0, 1.0))
        case "binarytanh":
            return _ActivationSteps((0.0,), (True,), (-1.0, 1.0))
        case "ternarytanh":
            return _ActivationSteps((-0.5, 0.5), (True, True), (-1.0, 0.0, 1.0))
        case "binary":
            return _ActivationSteps((0.0,), (False,), (0.0 if settings.get("use_01") else -scale, scale))
        case "ternary":
            threshold = settings.get("threshold")
            cut = float(np.float32(0.33 if threshold is None else threshold))
            return _ActivationSteps((-cut, cut), (cut != 0, cut == 0), (-scale, 0.0, scale))
    return _ActivationSteps((0.0,), (False,), (-1.0, 1.0))


def _kernel_of(layer: KerasLayer, which: str) -> Array:
    """Return the trained floats after their quantizer, in float64."""
    trained = layer.arrays[which]
    trained = trained if trained.dtype.kind == "f" else trained.astype(np.float32)
    w = trained.astype(np.float64)
    if layer.kind in ("BinaryDense", "BinaryConv2D", "TernaryDense", "TernaryConv2D"):
        return _of_height(layer, trained)
    if not layer.kind.startswith("Q"):
        return w
    quantizer = layer.config.get(which.replace("_kernel", "") + "_quantizer")
    settings = _settings(quantizer)
    match _name_of(quantizer):
        case "" | "noop" | "noopquantizer" | "linear":
            return w
        case "steheaviside":
            return np.asarray(np.heaviside(w, 0))
        case "magnitudeawaresign":
            # In the floats of the file, as in the program.
            sizes = np.abs(trained).mean(axis=tuple(range(trained.ndim - 1)))
            return np.asarray(np.copysign(sizes.astype(np.float64), np.where(w == 0, 1.0, w)))
        case "stetern":
            one = trained.dtype.type
            bar = one(settings.get("threshold_value", 0.05))
            if settings.get("ternary_weight_networks"):
                bar = one(0.7) * np.abs(trained).sum() / trained.size
            up, down = trained - one(bar), trained + one(bar)
            return np.asarray((up > 0).astype(np.float64) - (down < 0))
        case "binary" | "ternary" as kind:
            flat = trained.reshape(-1, trained.shape[-1])
            rows = [_qkeras(kind, settings, column) for column in flat.T]
            return np.array(rows, np.float64).T.reshape(w.shape)
    return np.where(w < 0, -1.0, 1.0)


def _of_height(layer: KerasLayer, trained: Array) -> Array:
    """Quantize as hls4ml's examples do, in the floats of the layer."""
    one: Any = np.float64 if "float64" in str(layer.config.get("dtype")) else np.float32
    height = one(layer.config["H"])
    w = trained.astype(one) / height
    if layer.kind.startswith("Ternary"):
        codes = (w > one(0.5)).astype(np.float64) - (w <= one(-0.5))
    else:
        codes = 2.0 * np.rint(np.clip(one(0.5) * w + one(0.5), 0, 1)).astype(np.float64) - 1
    return np.asarray(codes * float(height))


def _qkeras(kind: str, settings: dict[str, Any], column: Array) -> list[float]:
    """Return the weights of one output, as QKeras quantizes them."""
    alpha = settings.get("alpha")
    alpha = "auto_po2" if alpha is None else alpha
    x, one = [float(value) for value in column], column.dtype.type

    def power(size: float) -> float:
        return 2.0 ** round(math.log2(size + 1e-7)) if alpha == "auto_po2" else size

    def scale_of(codes: list[float]) -> float:
        above = math.fsum(a * q for a, q in zip(x, codes, strict=True)) / len(x)
        return power(above / (math.fsum(q * q for q in codes) / len(x) + 1e-7))

    if kind == "binary":
        codes = [1.0 if value >= 0 else 0.0 if settings.get("use_01") else -1.0 for value in x]
        scale = scale_of(codes) if isinstance(alpha, str) else float(alpha)
    elif isinstance(alpha, str):
        scale, codes = power(2 * max(map(abs, x)) / 3), []
        for _ in range(int(settings.get("number_of_unrolls") or 5)):
            codes = [math.copysign(min(abs(round(value / scale)), 1), value) for value in x]
            scale = scale_of(codes)
    else:
        bar = settings.get("threshold")
        threshold = float(one(0.33 if bar is None else bar))
        codes = [float(np.sign(value)) if abs(value) >= threshold else 0.0 for value in x]
        scale = float(alpha)
    return [float(one(scale)) * q for q in codes]


def _bias_of(layer: KerasLayer) -> Array:
    """Return the bias in float64, in fixed point if it has such a quantizer."""
    bias = layer.arrays["bias"].astype(np.float64)
    quantizer = layer.config.get("bias_quantizer") if layer.kind.startswith("Q") else None
    if _name_of(quantizer) != "quantizedbits":
        return bias
    settings = {"bits": 8, "integer": 0, "keep_negative": True, "symmetric": False} | {
        key: value for key, value in _settings(quantizer).items() if value is not None
    }
    steps = 2 ** (int(settings["bits"]) - int(settings["keep_negative"]))
    lowest = int(settings["keep_negative"]) * (-steps + int(settings["symmetric"]))
    span = 2 ** int(settings["integer"])
    codes = np.clip(np.round(bias * steps / span), lowest, steps - 1)
    return np.asarray(float(np.float32(settings.get("alpha") or 1)) * span * codes / steps)


_TAILS = ("softmax", "log_softmax", "sigmoid", "tanh")
_NOTHING = (
    *("InputLayer", "Softmax", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise"),
    *("GaussianDropout", "Add", "Activation", "QActivation", "ActivityRegularization", "NoOp"),
)


def interpreter_of_layers(layers: Sequence[KerasLayer], signs: Sequence[str] = ()) -> SourceInterpreter:
    """Return the reference interpreter of a Keras model.

    `signs` are the layers of its signs in the order of the chain that was read. There, branches follow one
    another.
    """

    def run(x: Array) -> Seen:
        seen = _Pass(layers).run(x)
        left, ordered = list(seen.stages), []
        for where in signs:
            matching = next((stage for stage in left if stage.name == where), None)
            if matching is None:
                return seen
            left.remove(matching)
            ordered.append(matching)
        return seen if left else replace(seen, stages=tuple(ordered))

    return SourceInterpreter("Keras' layers computed in float64 by NumPy", run, follows=True)


@dataclass
class _Pass:
    """One forward pass of a batch, with the signs on its way."""

    layers: Sequence[KerasLayer]
    stages: list[Stage] = field(default_factory=list)
    compared: tuple[str, float] = ("", 0.0)
    """The comparison that decides a choice."""

    def run(self, x: Array) -> Seen:
        about = self.layers[0].config
        sizes = about["batch_input_shape"] if "batch_input_shape" in about else about["batch_shape"]
        x = np.asarray(x, np.float64).reshape(len(x), *sizes[1:])
        known: dict[str, Array] = {}
        for layer in self.layers:
            if layer.reads:
                x = sum((known[name] for name in layer.reads[1:]), known[layer.reads[0]])
            x = known[layer.name] = self.activated(layer, self.past(layer, x))
        scores = x.reshape(len(x), -1)
        return Seen(scores, tuple(self.stages), scores)

    def past(self, layer: KerasLayer, x: Array) -> Array:
        """Apply a layer without its activation."""
        kind, config = layer.kind, layer.config
        if kind.startswith("Quant"):
            kind = kind.removeprefix("Quant")
            x = self.quantized(layer, config.get("input_quantizer"), x)
        kind = (
            kind
            if kind == "QActivation"
            else kind.removeprefix("Q").removeprefix("Binary").removeprefix("Ternary")
        )
        match kind:
            case "SteSign" | "ApproxSign" | "SwishSign" | "SteHeaviside":
                return self.quantized(layer, kind, x)
            case "GreaterEqual" | "Greater" | "Where":
                return self.chosen(layer, x)
            case "Sign":
                return self.signed(layer, x)
        why = "nothing is known of this layer that the import could be compared with."
        return required(_RULES.get(kind), layer.where, why)(layer, x)

    def activated(self, layer: KerasLayer, x: Array) -> Array:
        value = layer.config.get("activation")
        if value is None or value in ("linear", *_TAILS):
            return x
        if value in ("relu", "relu6"):
            return np.minimum(np.maximum(x, 0), 6 if value == "relu6" else np.inf)
        return np.clip(x, -1, 1) if value == "hard_tanh" else self.quantized(layer, value, x)

    def quantized(self, layer: KerasLayer, quantizer: Any, x: Array) -> Array:
        """Apply a quantizer."""
        levels = _levels_of(quantizer)
        return x if levels is None else self.stepped(layer, levels, x)

    def stepped(self, layer: KerasLayer, levels: _ActivationSteps, x: Array) -> Array:
        """Apply one or several steps."""
        counts = np.zeros(x.shape, np.int64)
        near = np.full(x.shape, np.inf)
        for cut, above in zip(levels.cuts, levels.above, strict=True):
            counts += x > cut if above else x >= cut
            near = np.where(np.abs(x - cut) < np.abs(near), x - cut, near)
        flat, before = (  # in the order of the neurons of the exact network: channels first
            np.moveaxis(values, -1, 1).reshape(len(x), -1) for values in (counts, near)
        )
        self.stages.append(
            Stage(layer.where, before, flat > 0, flat == 0)
            if len(levels.cuts) == 1
            else Stage.of_levels(layer.where, before, flat)
        )
        return np.array(levels.values)[counts]

    def chosen(self, layer: KerasLayer, x: Array) -> Array:
        """Apply ``where(x >= limit, high, low)``, in its two steps."""
        arguments = layer.config["called_with"]
        if layer.kind != "Where":
            self.compared = (layer.kind, float(arguments[1]))
            return x
        kind, limit = self.compared
        return self.stepped(
            layer,
            _ActivationSteps((limit,), (kind == "Greater",), (float(arguments[2]), float(arguments[1]))),
            x,
        )

    def signed(self, layer: KerasLayer, x: Array) -> Array:
        """Apply ``keras.ops.sign``, which is 0 at 0."""
        flat = np.moveaxis(x, -1, 1).reshape(len(x), -1)
        self.stages.append(Stage(layer.where, flat, flat > 0, flat < 0))
        return np.sign(x)


def _biased(layer: KerasLayer, x: Array) -> Array:
    return x + _bias_of(layer) if layer.config.get("use_bias", True) else x


def _sides(layer: KerasLayer, key: str, otherwise: Any) -> list[int]:
    """Return a setting for height and width; rows of values are maps of height 1."""
    value = layer.config.get(key)
    value = otherwise if value is None else value
    row = (
        list(value) if isinstance(value, list | tuple) else [value] * (1 if layer.kind.endswith("1D") else 2)
    )
    return [1] * (2 - len(row)) + [int(side) for side in row]


def _taps(
    layer: KerasLayer,
    x: Array,
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> Iterator[tuple[int, int, Array]]:
    """Yield for each tap of a window its position in the kernel, and the values under it at all positions."""
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


def _on_maps(rule: Callable[[KerasLayer, Array], Array]) -> Callable[[KerasLayer, Array], Array]:
    """Extend a rule for maps to rows."""

    def applied(layer: KerasLayer, x: Array) -> Array:
        return rule(layer, x) if x.ndim == 4 else rule(layer, x[:, None])[:, 0]

    return applied


def _convolution(layer: KerasLayer, x: Array) -> Array:
    kernel = _kernel_of(layer, "kernel")
    kernel = kernel if kernel.ndim == 4 else kernel[None]
    groups = int(layer.config.get("groups", 1))
    parts: list[Any] = [0.0] * groups
    for i, j, values in _windows(layer, x, kernel):
        for g, (inside, weights) in enumerate(
            zip(np.split(values, groups, axis=-1), np.split(kernel[i, j], groups, axis=-1), strict=True)
        ):
            parts[g] = parts[g] + inside @ weights
    return _biased(layer, np.concatenate(parts, axis=-1))


def _depthwise(layer: KerasLayer, x: Array) -> Array:
    kernel = _kernel_of(layer, "depthwise_kernel")
    total: Any = 0.0
    for i, j, values in _windows(layer, x, kernel):
        total = total + values[..., None] * kernel[i, j]
    return _biased(layer, total.reshape(*total.shape[:3], -1))


def _windows(layer: KerasLayer, x: Array, kernel: Array) -> Iterator[tuple[int, int, Array]]:
    fill = (
        float(layer.config.get("pad_values") or 0)
        if layer.kind.startswith("Quant") and layer.config.get("padding") == "same"
        else 0.0
    )
    return _taps(
        layer, x, kernel.shape[:2], _sides(layer, "strides", 1), _sides(layer, "dilation_rate", 1), fill
    )


def _pool(layer: KerasLayer, x: Array) -> Array:
    size = _sides(layer, "pool_size", 2)
    stride = _sides(layer, "strides", layer.config.get("pool_size", 2))
    # Padding is not a number.
    values = np.stack([tap for _, _, tap in _taps(layer, x, size, stride, (1, 1), np.nan)])
    return np.asarray(
        np.nanmax(values, axis=0) if layer.kind.startswith("Max") else np.nanmean(values, axis=0)
    )


def _global_pool(layer: KerasLayer, x: Array) -> Array:
    axes, keep = tuple(range(1, x.ndim - 1)), bool(layer.config.get("keepdims"))
    return np.asarray(
        x.max(axis=axes, keepdims=keep) if "Max" in layer.kind else x.mean(axis=axes, keepdims=keep)
    )


def _batch_norm(layer: KerasLayer, x: Array) -> Array:
    mean, variance = (layer.arrays[name].astype(np.float64) for name in ("moving_mean", "moving_variance"))
    x = (x - mean) / np.sqrt(variance + float(layer.config.get("epsilon", 1e-3)))
    if layer.config.get("scale", True):
        x = x * layer.arrays["gamma"]
    return x + layer.arrays["beta"] if layer.config.get("center", True) else x


def _zero_padding(layer: KerasLayer, x: Array) -> Array:
    padding: Any = layer.config.get("padding", 1)
    rows = padding if isinstance(padding, list) and x.ndim == 4 else [padding] * (x.ndim - 2)
    around = [tuple(row) if isinstance(row, list) else (row, row) for row in rows]
    return np.pad(x, [(0, 0), *around, (0, 0)])


def _rescaling(layer: KerasLayer, x: Array) -> Array:
    one = np.float64 if layer.config.get("dtype") == "float64" else np.float32
    scale, offset = (
        float(one(layer.config.get(key, value))) for key, value in (("scale", 1.0), ("offset", 0.0))
    )
    return x * scale + offset


def _relu(layer: KerasLayer, x: Array) -> Array:
    top, slope = layer.config.get("max_value"), np.float32(layer.config.get("negative_slope") or 0)
    return np.minimum(np.where(x > 0, x, float(slope) * x), np.inf if top is None else float(top))


def _leaky(layer: KerasLayer, x: Array) -> Array:
    if layer.kind == "PReLU":
        return np.where(x > 0, x, layer.arrays["alpha"].astype(np.float64) * x)
    slope = layer.config.get("alpha", layer.config.get("negative_slope"))
    return np.where(x > 0, x, float(np.float32(0.3 if slope is None else slope)) * x)


_RULES: dict[str, Callable[[KerasLayer, Array], Array]] = {
    **dict.fromkeys(_NOTHING, lambda _, x: x),
    "Dense": lambda layer, x: _biased(layer, x @ _kernel_of(layer, "kernel")),
    **dict.fromkeys(("Conv1D", "Conv2D", "Convolution1D", "Convolution2D"), _on_maps(_convolution)),
    "DepthwiseConv2D": _depthwise,
    **dict.fromkeys(
        ("MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D"), _on_maps(_pool)
    ),
    **dict.fromkeys(
        ("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalAveragePooling1D", "GlobalAveragePooling2D"),
        _global_pool,
    ),
    **dict.fromkeys(("BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2"), _batch_norm),
    **dict.fromkeys(("ZeroPadding1D", "ZeroPadding2D"), _zero_padding),
    **dict.fromkeys(("Flatten", "Reshape"), lambda _, x: x.reshape(len(x), -1)),
    "Rescaling": _rescaling,
    "ReLU": _relu,
    **dict.fromkeys(("LeakyReLU", "PReLU"), _leaky),
}
