"""The layers of Larq, QKeras and hls4ml's examples written for Keras 3, after their descriptions: what Keras
itself computes and saves for the tests.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
from keras import layers, ops

__all__ = [
    "BinaryDense",
    "QActivation",
    "QConv2D",
    "QDense",
    "QuantConv2D",
    "QuantDense",
    "SteSign",
    "TernaryDense",
    "binary",
    "binary_tanh",
    "keras",
    "ste_sign",
    "ternary",
    "ternary_tanh",
]

_EPSILON = 1e-7


@keras.saving.register_keras_serializable("Larq")
def ste_sign(x: Any) -> Any:
    return ops.where(x >= 0, 1.0, -1.0)


@keras.saving.register_keras_serializable("Larq")
class SteSign(layers.Layer):
    def __init__(self, clip_value: float = 1.0, **more: Any) -> None:
        super().__init__(**more)
        self.clip_value = clip_value

    def call(self, x: Any) -> Any:
        return ste_sign(x)

    def get_config(self) -> Any:
        return {**super().get_config(), "clip_value": self.clip_value}


class _Quantized:
    """A layer whose kernel and inputs go through `ste_sign`."""

    def __init__(
        self, size: int, *given: Any, input_quantizer: Any = None, kernel_quantizer: Any = None, **more: Any
    ) -> None:
        super().__init__(size, *given, **more)
        self.input_quantizer, self.kernel_quantizer = input_quantizer, kernel_quantizer

    def call(self, x: Any) -> Any:
        kept = self._kernel
        self._kernel = ste_sign(kept) if self.kernel_quantizer else kept
        try:
            return super().call(ste_sign(x) if self.input_quantizer else x)
        finally:
            self._kernel = kept

    def get_config(self) -> Any:
        own = {"input_quantizer": self.input_quantizer, "kernel_quantizer": self.kernel_quantizer}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable("Larq")
class QuantDense(_Quantized, layers.Dense):
    pass


@keras.saving.register_keras_serializable("Larq")
class QuantConv2D(_Quantized, layers.Conv2D):
    pass


# -- QKeras, in float32 as it computes -----------------------------------------------------------------------


def _scale(alpha: Any, x: Any, codes: Any) -> Any:
    if not isinstance(alpha, str):
        return 1.0 if alpha is None else float(alpha)
    axes = tuple(range(len(x.shape) - 1))
    above, below = (ops.mean(v, axis=axes, keepdims=True) for v in (x * codes, codes * codes))
    return _power(alpha, above / (below + _EPSILON))


def _power(alpha: str, scale: Any) -> Any:
    return 2.0 ** ops.round(ops.log(scale + _EPSILON) / ops.log(2.0)) if "po2" in alpha else scale


def binary(x: Any, use_01: bool = False, alpha: Any = None, use_stochastic_rounding: bool = False) -> Any:
    signs = ops.sign(x)
    signs = signs + (1.0 - ops.abs(signs))
    signs = (signs + 1.0) / 2.0 if use_01 else signs
    return _scale(alpha, x, signs) * signs


def ternary(
    x: Any,
    alpha: Any = None,
    threshold: Any = None,
    use_stochastic_rounding: bool = False,
    number_of_unrolls: int = 5,
) -> Any:
    if not isinstance(alpha, str):
        cut = 0.33 if threshold is None else threshold
        return _scale(alpha, x, x) * ops.cast(ops.abs(x) >= cut, "float32") * ops.sign(x)
    scale = _power(alpha, 2 * ops.max(ops.abs(x), axis=tuple(range(len(x.shape) - 1)), keepdims=True) / 3.0)
    codes = x
    for _ in range(number_of_unrolls):
        rounded = scale * ops.round(x / scale)
        codes = ops.cast(ops.abs(rounded) >= scale / 2.0, "float32") * ops.sign(x)
        scale = _scale(alpha, x, codes)
    return scale * codes


def quantized_bits(
    x: Any, bits: int = 8, integer: int = 0, symmetric: int = 0, keep_negative: bool = True, **_: Any
) -> Any:
    steps, whole = 2.0 ** (bits - keep_negative), 2.0**integer
    return (
        whole
        * ops.clip(ops.round(x * steps / whole), keep_negative * (-steps + symmetric), steps - 1)
        / steps
    )


_QUANTIZERS = {"binary": binary, "ternary": ternary, "quantized_bits": quantized_bits}


def _apply(quantizer: Any, x: Any, *, trained: bool = False) -> Any:
    """A quantizer by its configuration; that of a kernel has a scale by itself."""
    settings = dict(quantizer["config"])
    if trained and settings.get("alpha") is None:
        settings["alpha"] = "auto_po2"
    return _QUANTIZERS[quantizer["class_name"]](x, **settings)


class _OfQKeras:
    def __init__(
        self,
        size: int,
        *given: Any,
        kernel_quantizer: Any = None,
        bias_quantizer: Any = None,
        kernel_range: Any = None,
        bias_range: Any = None,
        **more: Any,
    ) -> None:
        super().__init__(size, *given, **more)
        self.kernel_quantizer, self.bias_quantizer = kernel_quantizer, bias_quantizer

    def call(self, x: Any) -> Any:
        kernel, bias = self._kernel, self.bias
        self._kernel = _apply(self.kernel_quantizer, kernel, trained=True)
        if self.bias_quantizer is not None and bias is not None:
            self.bias = _apply(self.bias_quantizer, bias)
        try:
            return super().call(x)
        finally:
            self._kernel, self.bias = kernel, bias

    def get_config(self) -> Any:
        own = {"kernel_quantizer": self.kernel_quantizer, "bias_quantizer": self.bias_quantizer}
        return {**super().get_config(), **own, "kernel_range": None, "bias_range": None}


@keras.saving.register_keras_serializable("qkeras")
class QDense(_OfQKeras, layers.Dense):
    pass


@keras.saving.register_keras_serializable("qkeras")
class QConv2D(_OfQKeras, layers.Conv2D):
    pass


@keras.saving.register_keras_serializable("qkeras")
class QActivation(layers.Layer):
    def __init__(self, activation: Any, **more: Any) -> None:
        super().__init__(**more)
        self.activation = activation

    def call(self, x: Any) -> Any:
        if isinstance(self.activation, str):
            name, _, inside = self.activation.rstrip(")").partition("(")
            return eval(f"f(x, {inside})", {"f": _QUANTIZERS[name], "x": x})
        return _apply(self.activation, x)

    def get_config(self) -> Any:
        return {**super().get_config(), "activation": self.activation}


# -- hls4ml's examples ---------------------------------------------------------------------------------------


@keras.saving.register_keras_serializable()
def binary_tanh(x: Any) -> Any:
    return 2 * ops.round(ops.clip(0.5 * x + 0.5, 0, 1)) - 1


@keras.saving.register_keras_serializable()
def ternary_tanh(x: Any) -> Any:
    return ops.where(x > 0.5, 1.0, ops.where(x <= -0.5, -1.0, 0.0))


class _OfHeight:
    def __init__(self, size: int, H: float = 1.0, **more: Any) -> None:  # its name in the file
        super().__init__(size, **more)
        self.H = H

    def call(self, x: Any) -> Any:
        kept = self._kernel
        self._kernel = self.H * type(self).rule(kept / self.H)
        try:
            return super().call(x)
        finally:
            self._kernel = kept

    def get_config(self) -> Any:
        return {**super().get_config(), "H": self.H, "kernel_lr_multiplier": 7.3, "bias_lr_multiplier": None}


@keras.saving.register_keras_serializable()
class BinaryDense(_OfHeight, layers.Dense):
    rule = staticmethod(binary_tanh)


@keras.saving.register_keras_serializable()
class TernaryDense(_OfHeight, layers.Dense):
    rule = staticmethod(ternary_tanh)
