"""Quantizers of Keras models as their programs describe them, one output at a time: for the judge."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.larq.keras_file import KerasLayer

__all__ = ["Levels", "bias_of", "kernel_of", "levels_of", "name_of"]

_Array = npt.NDArray[Any]
_ORDER = {
    "binary": "use_01 alpha use_stochastic_rounding",
    "ternary": "alpha threshold use_stochastic_rounding number_of_unrolls",
    "quantizedbits": "bits integer symmetric keep_negative alpha",
}
_WORDS = {"None": None, "True": True, "False": False}


@dataclass(frozen=True, eq=False)
class Levels:
    """What an activation does: for each of its cuts whether a value must be above it or may be at it, and
    what each count of cuts stands for.
    """

    cuts: tuple[float, ...]
    above: tuple[bool, ...]
    values: tuple[float, ...]


def name_of(quantizer: Any) -> str:
    """The name of a quantizer without case and underscores; empty where there is none."""
    if isinstance(quantizer, dict):
        settings = quantizer.get("config")
        quantizer = settings if isinstance(settings, str) else quantizer.get("class_name")
    if quantizer is None:
        return ""
    return str(quantizer).rpartition(">")[2].partition("(")[0].strip().lower().replace("_", "")


def _settings(quantizer: Any) -> dict[str, Any]:
    """The settings of a quantizer, also of one written as a call."""
    if isinstance(quantizer, dict) and isinstance(quantizer.get("config"), dict):
        return dict(quantizer["config"])
    text = quantizer.get("config") if isinstance(quantizer, dict) else quantizer
    inside = re.search(r"\((.*)\)", str(text))
    found: dict[str, Any] = {}
    order = _ORDER.get(name_of(quantizer), "").split()
    for place, word in enumerate(inside[1].split(",") if inside and inside[1].strip() else []):
        key, _, value = word.rpartition("=")
        value = value.strip().strip("'\"")
        found[key.strip() or order[place]] = (
            _WORDS[value] if value in _WORDS else value if "auto" in value else float(value)
        )
    return found


def levels_of(quantizer: Any) -> Levels | None:
    """What an activation does; None where values go through as they are."""
    name, given = name_of(quantizer), _settings(quantizer)
    scale = float(np.float32(given.get("alpha") or 1.0)) if name in _ORDER else 1.0
    match name:
        case "" | "noop" | "noopquantizer" | "linear":
            return None
        case "steheaviside" | "binarysigmoid":
            return Levels((0.0,), (True,), (0.0, 1.0))
        case "binarytanh":
            return Levels((0.0,), (True,), (-1.0, 1.0))
        case "ternarytanh":
            return Levels((-0.5, 0.5), (True, True), (-1.0, 0.0, 1.0))
        case "binary":
            return Levels((0.0,), (False,), (0.0 if given.get("use_01") else -scale, scale))
        case "ternary":
            threshold = given.get("threshold")
            cut = float(np.float32(0.33 if threshold is None else threshold))
            return Levels((-cut, cut), (cut != 0, cut == 0), (-scale, 0.0, scale))
    return Levels((0.0,), (False,), (-1.0, 1.0))


def kernel_of(layer: KerasLayer, which: str) -> _Array:
    """Trained floats behind their quantizer, in float64."""
    trained = layer.arrays[which]
    trained = trained if trained.dtype.kind == "f" else trained.astype(np.float32)
    w = trained.astype(np.float64)
    if layer.kind in ("BinaryDense", "BinaryConv2D", "TernaryDense", "TernaryConv2D"):
        return _of_height(layer, trained)
    if not layer.kind.startswith("Q"):
        return w
    quantizer = layer.config.get(which.replace("_kernel", "") + "_quantizer")
    given = _settings(quantizer)
    match name_of(quantizer):
        case "" | "noop" | "noopquantizer" | "linear":
            return w
        case "steheaviside":
            return np.asarray(np.heaviside(w, 0))
        case "magnitudeawaresign":
            # in the floats of the file, as the program does
            sizes = np.abs(trained).mean(axis=tuple(range(trained.ndim - 1)))
            return np.asarray(np.copysign(sizes.astype(np.float64), np.where(w == 0, 1.0, w)))
        case "stetern":
            one = trained.dtype.type
            bar = one(given.get("threshold_value", 0.05))
            if given.get("ternary_weight_networks"):
                bar = one(0.7) * np.abs(trained).sum() / trained.size
            up, down = trained - one(bar), trained + one(bar)
            return np.asarray((up > 0).astype(np.float64) - (down < 0))
        case "binary" | "ternary" as kind:
            flat = trained.reshape(-1, trained.shape[-1])
            rows = [_qkeras(kind, given, column) for column in flat.T]
            return np.array(rows, np.float64).T.reshape(w.shape)
    return np.where(w < 0, -1.0, 1.0)


def _of_height(layer: KerasLayer, trained: _Array) -> _Array:
    """Of hls4ml's examples, in the floats of the layer."""
    one: Any = np.float64 if "float64" in str(layer.config.get("dtype")) else np.float32
    height = one(layer.config["H"])
    w = trained.astype(one) / height
    if layer.kind.startswith("Ternary"):
        codes = (w > one(0.5)).astype(np.float64) - (w <= one(-0.5))
    else:
        codes = 2.0 * np.rint(np.clip(one(0.5) * w + one(0.5), 0, 1)).astype(np.float64) - 1
    return np.asarray(codes * float(height))


def _qkeras(kind: str, given: dict[str, Any], column: _Array) -> list[float]:
    """The weights of one output, as QKeras quantizes them."""
    alpha = given.get("alpha")
    alpha = "auto_po2" if alpha is None else alpha
    x, one = [float(value) for value in column], column.dtype.type

    def power(size: float) -> float:
        return 2.0 ** round(math.log2(size + 1e-7)) if alpha == "auto_po2" else size

    def scale_of(codes: list[float]) -> float:
        above = math.fsum(a * q for a, q in zip(x, codes, strict=True)) / len(x)
        return power(above / (math.fsum(q * q for q in codes) / len(x) + 1e-7))

    if kind == "binary":
        codes = [1.0 if value >= 0 else 0.0 if given.get("use_01") else -1.0 for value in x]
        scale = scale_of(codes) if isinstance(alpha, str) else float(alpha)
    elif isinstance(alpha, str):
        scale, codes = power(2 * max(map(abs, x)) / 3), []
        for _ in range(int(given.get("number_of_unrolls") or 5)):
            codes = [math.copysign(min(abs(round(value / scale)), 1), value) for value in x]
            scale = scale_of(codes)
    else:
        bar = given.get("threshold")
        cut = float(one(0.33 if bar is None else bar))
        codes = [float(np.sign(value)) if abs(value) >= cut else 0.0 for value in x]
        scale = float(alpha)
    return [float(one(scale)) * q for q in codes]


def bias_of(layer: KerasLayer) -> _Array:
    """The bias in float64, in fixed point where its quantizer says so."""
    bias = layer.arrays["bias"].astype(np.float64)
    quantizer = layer.config.get("bias_quantizer") if layer.kind.startswith("Q") else None
    if name_of(quantizer) != "quantizedbits":
        return bias
    given = {"bits": 8, "integer": 0, "keep_negative": True, "symmetric": False} | {
        key: value for key, value in _settings(quantizer).items() if value is not None
    }
    steps = 2 ** (int(given["bits"]) - int(given["keep_negative"]))
    least = int(given["keep_negative"]) * (-steps + int(given["symmetric"]))
    whole = 2 ** int(given["integer"])
    codes = np.clip(np.round(bias * steps / whole), least, steps - 1)
    return np.asarray(float(np.float32(given.get("alpha") or 1)) * whole * codes / steps)
