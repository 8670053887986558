"""Quantizers of Larq, QKeras and hls4ml's examples, for values and for trained floats.

QKeras computes a kernel's scale from its trained floats, one per entry of the last axis. ``alpha="auto"`` is
the least-squares factor ``mean(x q) / (mean(q q) + 1e-7)``, and ``"auto_po2"`` the power of two nearest to
it. A kernel quantizer without alpha has ``"auto_po2"``, which QKeras' layers set. An activation without alpha
has 1. QKeras computes in float32. If its rounding could decide which power or weight it is, the file is
refused.

Layers of hls4ml (`BinaryDense`, `TernaryDense` and their convolutions) use a kernel W in [-H, H] as
``H * binary_tanh(W / H)``. Ternary layers use H if W / H > 1/2, -H if W / H <= -1/2, else 0.
``binary_tanh(x)`` is ``2 round((clip(x, -1, 1) + 1) / 2) - 1``. TensorFlow rounds halves to even, so 0
becomes -1, as do positive numbers that are lost next to 1/2 in the layer's floats.
"""

import ast
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Op, Quantize, Sign
from sugenet.io.larq.keras_file import KerasLayer
from sugenet.io.plain.refusals import Ledger, refuse_if
from sugenet.nn.arrays import Array

__all__ = [
    "HLS4ML",
    "bias_used",
    "check_precision",
    "hls4ml_kernel",
    "input_steps",
    "kernel_used",
    "qkeras_bias",
    "qkeras_kernel",
    "qkeras_steps",
    "setting",
    "signed",
    "steps_of",
]

_SIGNS = ("stesign", "approxsign", "swishsign", "steheaviside")
"""Quantizers with two values, without case and underscores."""
_NONE = ("noop", "noopquantizer", "linear")


def signed(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """Return a quantizer of values as an operation."""
    quantizer = _named(where, key, value)
    if quantizer is None:
        return ()
    name, _ = quantizer
    refuse_if(
        name not in _SIGNS,
        where,
        f"{key} {name!r} has more than two values, or depends on all inputs at once. "
        "ste_sign, approx_sign, swish_sign and ste_heaviside can be read.",
    )
    return (Sign(where, zero=-1, low=0.0, high=1.0),) if name == "steheaviside" else (Sign(where),)


def _larq_kernel(where: str, key: str, value: Any, kernel: Array) -> Array:
    """Return a kernel as the forward pass uses it, in Keras' layout: the last axis is the output."""
    quantizer = _named(where, key, value)
    if quantizer is None:
        return kernel
    name, settings = quantizer
    one = kernel.dtype.type(1)
    signs = np.where(kernel >= 0, one, -one)
    match name:
        case "steheaviside":
            return np.asarray(np.where(kernel > 0, one, one * 0))
        case "stesign" | "approxsign" | "swishsign":
            return np.asarray(signs)
        case "magnitudeawaresign":
            return np.asarray(np.abs(kernel).mean(axis=tuple(range(kernel.ndim - 1))) * signs)
        case "stetern":
            return _ternary(where, settings, kernel)
    raise FileError(
        f"{where}: {key} {name!r} is not known. ste_sign, approx_sign, swish_sign, magnitude_aware_sign, "
        "ste_tern and ste_heaviside can be read."
    )


def _ternary(where: str, settings: Ledger[Any], kernel: Array) -> Array:
    """Return the ternary values of a kernel, by a threshold.

    Early releases of Larq clip values first, which can change a threshold that is a share of their mean.
    """
    clip, by_mean = settings.get("clip_value", 1.0), settings.get("ternary_weight_networks")
    single = kernel.dtype.type

    def ternary(x: Array) -> Array:
        t = (
            single(0.7) * np.abs(x).sum() / x.size
            if by_mean
            else setting(where, settings, "threshold_value", 0.05)
        )
        return np.asarray(np.sign(np.sign(x + single(t)) + np.sign(x - single(t))))

    plain = ternary(kernel)
    refuse_if(
        clip is not None and not np.array_equal(plain, ternary(np.clip(kernel, -single(clip), single(clip)))),
        where,
        f"its kernel has values beyond clip_value {clip}, where releases of Larq differ: early "
        "ones clip before they make weights ternary, later ones do not. "
        "Store the clipped or the ternary weights.",
    )
    return plain


def setting(where: str, settings: Any, key: str, otherwise: float) -> float:
    """Return a nonnegative number."""
    value = settings.get(key, otherwise)
    refuse_if(
        not isinstance(value, int | float) or not 0 <= value < inf,
        where,
        f"{key} is {str(value)[:40]!r}, but a number is needed.",
    )
    return float(value)


def _precision(dtype: Any) -> Any:
    """Return the name of the dtype that a layer computes in, also from a policy."""
    if isinstance(dtype, dict):
        dtype = dtype.get("config")
        dtype = dtype.get("name") if isinstance(dtype, dict) else dtype
    return dtype


def check_precision(where: str, dtype: Any) -> None:
    """Refuse layers whose dtype is so coarse that rounding is part of the network."""
    dtype = _precision(dtype)
    refuse_if(
        dtype not in (None, "float32", "float64"),
        where,
        f"computes in {str(dtype)[:40]}, whose rounding would be part of the network. float32 can be read.",
    )


def _named(where: str, key: str, value: Any) -> tuple[str, Ledger[Any]] | None:
    """Return the name without case and underscores, and the settings, all of them known.

    None if values stay unchanged.
    """
    _check_owner(where, key, value)
    config: Any = {}
    if isinstance(value, dict):
        value, config = value.get("class_name"), value.get("config")
        if isinstance(config, str):  # a function, given by its name
            value, config = config, {}
    if value is None:
        return None
    name = str(value).split(">")[-1].replace("_", "").lower()
    settings: Ledger[Any] = Ledger(config if isinstance(config, dict) else {})
    settings.pass_over(
        "name", "trainable", "metrics", "beta", "precision", "threshold_value", "ternary_weight_networks"
    )
    check_precision(where, settings.get("dtype"))
    clip = settings.get("clip_value", 1.0)
    refuse_if(
        clip is not None
        and (not isinstance(clip, int | float) or isinstance(clip, bool) or not 0 < clip < inf),
        where,
        f"clip_value of {key} is {str(clip)[:40]!r}, but a number above 0 is needed.",
    )
    if name in (*_SIGNS, "magnitudeawaresign", "stetern", *_NONE):
        for left in settings.left():
            refuse_if(
                settings[left] is not None,
                where,
                f"{left[:40]!r} of {key} is not a setting of Larq's {name}, so its effect is not known.",
            )
    return None if name in _NONE else (name, settings)


def _check_owner(where: str, key: str, value: Any) -> None:
    """Refuse a quantizer with the name of a known one but another author."""
    registered = value.get("registered_name") or value.get("class_name") if isinstance(value, dict) else value
    package = str(registered or "").rpartition(">")[0]
    refuse_if(
        package.lower() not in ("", "larq", "keras", "qkeras"),
        where,
        f"{key} {str(registered)[:60]!r} is of a program of its own, so its name does not say "
        "what it does. Use Larq's quantizers.",
    )


_PLACES = {
    "binary": ("use_01", "alpha", "use_stochastic_rounding"),
    "ternary": ("alpha", "threshold", "use_stochastic_rounding", "number_of_unrolls"),
    "quantized_bits": (
        "bits",
        "integer",
        "symmetric",
        "keep_negative",
        "alpha",
        "use_stochastic_rounding",
        "scale_axis",
        "qnoise_factor",
        "var_name",
        "use_ste",
        "use_variables",
    ),
}
"""Settings of each quantizer in the order in which they can be written without a name."""
_IDLE = ("use_stochastic_rounding", "name", "trainable", "dtype", "var_name", "use_ste", "use_variables")
"""Settings for training, which do not affect inference."""
_EPSILON = 1e-7
_NEAR = 1e-5
"""How close a decision of float32 arithmetic may be before it is refused."""
_STORED = "Store the quantized weights instead: qkeras.utils.model_save_quantized_weights(model)."


@dataclass(frozen=True, eq=False)
class _Quantizer:
    """A quantizer: its name and settings."""

    where: str
    name: str
    settings: Ledger[Any]

    def number(self, key: str, otherwise: float, least: float = 0.0) -> float:
        value = self.settings.get(key)
        value = otherwise if value is None else value
        refuse_if(
            not isinstance(value, int | float) or not least <= value < inf,
            self.where,
            f"{key} is {str(value)[:40]!r}, but a number from {least:g} is needed.",
        )
        return float(value)

    def flag(self, key: str, otherwise: bool = False) -> bool:
        value = self.settings.get(key, otherwise)
        refuse_if(value not in (0, 1), self.where, f"{key} is {str(value)[:40]!r}, but yes or no is needed.")
        return bool(value)

    def closed(self) -> None:
        """Refuse unused settings."""
        self.settings.pass_over(*_IDLE)
        for key in self.settings.left():
            refuse_if(
                self.settings[key] is not None,
                f"{self.where}: its setting {key[:40]!r} ({str(self.settings[key])[:40]}) is not known.",
            )


def _is_qkeras(value: Any) -> bool:
    """Return whether a value names a quantizer of QKeras."""
    name = value.get("class_name") if isinstance(value, dict) else value
    if isinstance(value, dict) and isinstance(value.get("config"), str):
        name = value["config"]
    return isinstance(name, str) and name.split(">")[-1].partition("(")[0].strip() in _PLACES


def _qkeras_named(where: str, key: str, value: Any) -> _Quantizer:
    """Read a quantizer from its configuration, or from a call such as ``binary(alpha='auto')``."""
    where = f"{where}: {key}"
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        name = str(value.get("class_name")).split(">")[-1]
        return _Quantizer(f"{where} {name}", name, Ledger(value["config"]))
    text = str(value.get("config") if isinstance(value, dict) else value)
    try:
        tree = ast.parse(text if "(" in text else f"{text}()", mode="eval").body
        assert isinstance(tree, ast.Call)
        assert isinstance(tree.func, ast.Name)
        name = tree.func.id
        settings = dict(zip(_PLACES[name], map(ast.literal_eval, tree.args), strict=False))
        assert len(tree.args) <= len(_PLACES[name])
        for word in tree.keywords:
            assert word.arg is not None
            assert word.arg not in settings
            settings[word.arg] = ast.literal_eval(word.value)
    except (SyntaxError, ValueError, AssertionError, KeyError, RecursionError, MemoryError, TypeError):
        raise FileError(f"{where} {text[:60]!r} cannot be read as a quantizer of QKeras.") from None
    return _Quantizer(f"{where} {name}", name, Ledger(settings))


def qkeras_kernel(where: str, key: str, value: Any, kernel: Array) -> Array:
    """Return a kernel as the forward pass uses it, in Keras' layout: the last axis is the output."""
    if value is None:
        return kernel
    refuse_if(
        not _is_qkeras(value),
        where,
        f"{key} {_quoted_name(value)} is not known. binary and ternary can be read.",
    )
    quantizer = _qkeras_named(where, key, value)
    alpha = quantizer.settings.get("alpha")
    alpha = "auto_po2" if alpha is None else alpha
    refuse_if(
        quantizer.name == "quantized_bits",
        quantizer.where,
        "kernels of several bits are not read from QKeras; binary and ternary are. "
        "Export the model to QONNX: qonnx.converters.from_keras.",
    )
    used = (
        _qkeras_binary(quantizer, alpha, kernel)
        if quantizer.name == "binary"
        else _qkeras_ternary(quantizer, alpha, kernel)
    )
    quantizer.closed()
    return used


def qkeras_bias(where: str, value: Any, bias: Array) -> Array:
    """Return a bias as the forward pass uses it: unchanged, or in fixed point."""
    if value is None:
        return bias
    refuse_if(
        not _is_qkeras(value) or _qkeras_named(where, "bias_quantizer", value).name != "quantized_bits",
        where,
        f"bias_quantizer {_quoted_name(value)} is not read; quantized_bits or none is.",
    )
    quantizer = _qkeras_named(where, "bias_quantizer", value)
    alpha = quantizer.settings.get("alpha")
    factor = _factor(quantizer, 1.0 if alpha is None else alpha, bias)
    bits, integer = (quantizer.number(word, start) for word, start in (("bits", 8), ("integer", 0)))
    signed, symmetric = quantizer.flag("keep_negative", True), quantizer.flag("symmetric")
    refuse_if(
        quantizer.number("qnoise_factor", 1.0) != 1,
        quantizer.where,
        "qnoise_factor mixes quantized and trained numbers.",
    )
    quantizer.closed()
    refuse_if(
        bits != int(bits) or integer != int(integer) or not 2 <= bits <= 24 or integer > 24,
        quantizer.where,
        f"{bits:g} bits, {integer:g} of them before the point, are not read.",
    )
    unit = 2.0 ** (integer - (bits - signed))
    top = 2.0 ** (bits - signed)
    codes = np.clip(np.rint(bias.astype(np.float64) / unit), -top + symmetric if signed else 0.0, top - 1)
    return np.asarray(codes * unit * float(factor)).astype(bias.dtype)


def qkeras_steps(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """Return a quantizer of activations as operations."""
    quantizer = _qkeras_named(where, key, value)
    alpha = quantizer.settings.get("alpha")
    refuse_if(
        isinstance(alpha, str),
        quantizer.where,
        f"alpha={alpha!r} takes the scale from all samples of a batch at once. "
        "Activations need a number: alpha=1.",
    )
    refuse_if(
        quantizer.name == "quantized_bits",
        quantizer.where,
        "has more than three values. binary and ternary can be read.",
    )
    scale = float(_factor(quantizer, 1.0 if alpha is None else alpha, np.ones(1, np.float32)))
    if quantizer.name == "binary":
        low = 0.0 if quantizer.flag("use_01") else -scale
        quantizer.closed()
        return (Sign(where, low=low, high=scale),)
    threshold = float(np.float32(quantizer.number("threshold", 0.33)))
    quantizer.settings.pass_over("number_of_unrolls")
    quantizer.closed()
    # -1 up to -threshold, +1 from the threshold on; if the threshold is 0, 0 at 0.
    strict = np.array([threshold > 0, threshold == 0])
    steps = Quantize(where, np.array([[-threshold, threshold]]), strict)
    return (steps, Affine(where, np.array([scale]), np.array([-scale])))


def _quoted_name(value: Any) -> str:
    name = value.get("class_name") if isinstance(value, dict) else value
    return repr(str(name)[:60])


def _factor(quantizer: _Quantizer, alpha: Any, like: Array) -> Any:
    """Return a numeric scale, in the floats of the kernel."""
    refuse_if(
        not isinstance(alpha, int | float) or isinstance(alpha, bool) or not 0 < alpha < inf,
        quantizer.where,
        f"alpha is {str(alpha)[:40]!r}; 'auto', 'auto_po2' or a number above 0 can be read.",
    )
    return like.dtype.type(alpha)


def _fitted(quantizer: _Quantizer, alpha: str, x: Array, codes: Array) -> Array:
    """Return the least-squares scale of codes, one per entry of the last axis, in float64."""
    axes = tuple(range(x.ndim - 1))
    scale = (x * codes).mean(axis=axes) / ((codes * codes).mean(axis=axes) + _EPSILON)
    return _power(quantizer, scale) if alpha == "auto_po2" else np.asarray(scale)


def _power(quantizer: _Quantizer, scale: Array) -> Array:
    exponents = np.log2(scale + _EPSILON)
    distances = np.abs(exponents - np.floor(exponents) - 0.5)
    refuse_if(
        (distances < _NEAR).any(),
        f"{quantizer.where}: the scale of output {int(np.argmin(distances))} lies half-way between two "
        f"powers of two, so that rounding decides which it is. {_STORED}",
    )
    return np.asarray(2.0 ** np.rint(exponents))


def _qkeras_binary(quantizer: _Quantizer, alpha: Any, kernel: Array) -> Array:
    x = kernel.astype(np.float64)
    codes = np.where(x >= 0, 1.0, 0.0 if quantizer.flag("use_01") else -1.0)
    if alpha in ("auto", "auto_po2"):
        scale = _fitted(quantizer, alpha, x, codes).astype(kernel.dtype)
        return np.asarray(scale * codes.astype(kernel.dtype))
    return np.asarray(_factor(quantizer, alpha, kernel) * codes.astype(kernel.dtype))


def _qkeras_ternary(quantizer: _Quantizer, alpha: Any, kernel: Array) -> Array:
    rounds = int(quantizer.number("number_of_unrolls", 5, least=1))
    if alpha not in ("auto", "auto_po2"):
        threshold = kernel.dtype.type(quantizer.number("threshold", 0.33))
        codes = (np.abs(kernel) >= threshold) * np.sign(kernel)
        return np.asarray(_factor(quantizer, alpha, kernel) * codes)
    refuse_if(
        quantizer.settings.get("threshold") is not None,
        quantizer.where,
        f"alpha={alpha!r} works out the threshold, so it can have none.",
    )
    refuse_if(rounds > 1000, quantizer.where, f"number_of_unrolls is {rounds}.")
    x = kernel.astype(np.float64)
    scale = 2 * np.abs(x).max(axis=tuple(range(x.ndim - 1))) / 3
    scale = _power(quantizer, scale) if alpha == "auto_po2" else scale
    codes = np.zeros_like(x)
    for _ in range(rounds):
        refuse_if(
            not (scale > 0).all(),
            f"{quantizer.where}: the scale of output {int(np.argmin(scale))} becomes 0, which QKeras "
            f"divides by. {_STORED}",
        )
        size = np.abs(x) / scale
        refuse_if(
            alpha == "auto" and (np.abs(size - 0.5) < _NEAR).any(),
            quantizer.where,
            f"a weight is so near to half of its scale that rounding decides whether it is 0. {_STORED}",
        )
        codes = (size > 0.5) * np.sign(x)  # a half is rounded to 0
        scale = _fitted(quantizer, alpha, x, codes)
    return np.asarray(scale.astype(kernel.dtype) * codes.astype(kernel.dtype))


HLS4ML = ("BinaryDense", "TernaryDense", "BinaryConv2D", "TernaryConv2D")
_HLS4ML_ACTIVATIONS = ("binary_tanh", "ternary_tanh", "binary_sigmoid")


def hls4ml_kernel(layer: KerasLayer, kernel: Array) -> Array:
    """Return a kernel as the forward pass uses it."""
    refuse_if(
        "H" not in layer.config,
        layer.where,
        "it has no setting 'H', so it is not the layer of hls4ml's examples, and what it "
        "does with its kernel is not known. QuantDense of Larq or QDense of QKeras can be read.",
    )
    height = layer.config.get("H")
    refuse_if(
        not isinstance(height, int | float) or isinstance(height, bool) or not 0 < height < inf,
        layer.where,
        f"H is {str(height)[:40]!r}, but a number above 0 is needed.",
    )
    layer.config.pass_over("kernel_lr_multiplier", "bias_lr_multiplier")
    single: Any = np.float64 if _precision(layer.config.get("dtype")) == "float64" else np.float32
    size, half = single(height), single(0.5)
    refuse_if(not size > 0, layer.where, f"H is {height!r}, which is 0 in its floats.")
    w = kernel.astype(single) / size
    if layer.kind.startswith("Ternary"):
        return np.asarray(np.where(w > half, size, np.where(w <= -half, -size, single(0))))
    return np.asarray(np.where(half * w + half > half, size, -size))


def _hls4ml_steps(where: str, name: str) -> tuple[Op, ...]:
    """Return an activation as operations."""
    if name == "ternary_tanh":
        cuts = Quantize(where, np.array([[-0.5, 0.5]]), np.array([True, True]))
        return (cuts, Affine(where, np.array([1.0]), np.array([-1.0])))
    return (Sign(where, zero=-1, low=0.0 if name == "binary_sigmoid" else -1.0),)


def steps_of(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """Return a quantizer of values as operations."""
    if _is_qkeras(value):
        return qkeras_steps(where, key, value)
    name = value.get("config") if isinstance(value, dict) else value
    if isinstance(name, str) and name.split(">")[-1] in _HLS4ML_ACTIVATIONS:
        return _hls4ml_steps(where, name.split(">")[-1])
    return signed(where, key, value)


# -- by the class of a layer ---------------------------------------------------------------------------------

_QKERAS = ("QDense", "QConv1D", "QConv2D", "QDepthwiseConv2D")


def kernel_used(layer: KerasLayer, which: str, kernel: Array) -> Array:
    """Return a kernel as the forward pass of its layer uses it."""
    key = f"{which}_quantizer"
    if layer.kind in HLS4ML:
        return hls4ml_kernel(layer, kernel)
    if layer.kind in _QKERAS:
        layer.config.pass_over(f"{which}_range", "bias_range")  # used only for warnings and initial values
        return qkeras_kernel(layer.where, key, layer.config.get(key), kernel)
    if layer.kind.startswith("Quant"):
        return _larq_kernel(layer.where, key, layer.config.get(key), kernel)
    return kernel


def bias_used(layer: KerasLayer, bias: Array | None) -> Array | None:
    """Return a bias as the forward pass of its layer uses it."""
    quantizer = layer.config.get("bias_quantizer") if layer.kind in _QKERAS else None
    return None if bias is None else qkeras_bias(layer.where, quantizer, bias)


def input_steps(layer: KerasLayer) -> tuple[Op, ...]:
    """Return the operations that a layer first applies to its inputs."""
    key = "input_quantizer"
    return signed(layer.where, key, layer.config.get(key)) if layer.kind.startswith("Quant") else ()
