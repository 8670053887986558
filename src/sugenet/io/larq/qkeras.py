"""QKeras' quantizers `binary` and `ternary` by the words of a file, for kernels, biases and activations.

A kernel's scale is worked out from its trained floats, one for each entry of the last axis:
``alpha="auto"`` is the least-squares factor ``mean(x q) / (mean(q q) + 1e-7)``, ``"auto_po2"`` the nearest
power of two to it. A kernel quantizer without alpha has ``"auto_po2"``, which QKeras' layers set; an
activation without alpha has 1. QKeras computes in float32: where its rounding could decide which power or
which weight it is, the file is refused.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Op, Sign, Stairs
from sugenet.io.plain.ledger import Ledger

__all__ = ["bias_used", "is_qkeras", "kernel_used", "steps_of"]

_Array = npt.NDArray[Any]
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
"""What says how it is trained: used and not trained, values go through as they are."""
_EPSILON = 1e-7
_NEAR = 1e-5
"""How near a decision of float32 arithmetic may be before it is refused."""
_STORED = "Store the quantized weights instead: qkeras.utils.model_save_quantized_weights(model)."


@dataclass(frozen=True, eq=False)
class _Quantizer:
    """A quantizer by its name, and its settings."""

    where: str
    name: str
    settings: Ledger[Any]

    def number(self, key: str, otherwise: float, least: float = 0.0) -> float:
        value = self.settings.get(key)
        value = otherwise if value is None else value
        if not isinstance(value, int | float) or not least <= value < inf:
            raise FileError(
                f"{self.where}: {key} is {str(value)[:40]!r}, but a number from {least:g} is needed."
            )
        return float(value)

    def flag(self, key: str, otherwise: bool = False) -> bool:
        value = self.settings.get(key, otherwise)
        if value not in (0, 1):
            raise FileError(f"{self.where}: {key} is {str(value)[:40]!r}, but yes or no is needed.")
        return bool(value)

    def closed(self) -> None:
        """Refuse settings that nothing was made of."""
        self.settings.pass_over(*_IDLE)
        for key in self.settings.left():
            if self.settings[key] is not None:
                raise FileError(
                    f"{self.where}: its setting {key[:40]!r} ({str(self.settings[key])[:40]}) is not known, "
                    "so neither is what it does."
                )


def is_qkeras(value: Any) -> bool:
    """Whether a value names a quantizer of QKeras."""
    name = value.get("class_name") if isinstance(value, dict) else value
    if isinstance(value, dict) and isinstance(value.get("config"), str):
        name = value["config"]
    return isinstance(name, str) and name.split(">")[-1].partition("(")[0].strip() in _PLACES


def _named(where: str, key: str, value: Any) -> _Quantizer:
    """A quantizer from its configuration, or from a call such as ``binary(alpha='auto')``."""
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
        given = dict(zip(_PLACES[name], map(ast.literal_eval, tree.args), strict=False))
        assert len(tree.args) <= len(_PLACES[name])
        for word in tree.keywords:
            assert word.arg is not None
            assert word.arg not in given
            given[word.arg] = ast.literal_eval(word.value)
    except (SyntaxError, ValueError, AssertionError, KeyError, RecursionError, MemoryError, TypeError):
        raise FileError(f"{where} {text[:60]!r} cannot be read as a quantizer of QKeras.") from None
    return _Quantizer(f"{where} {name}", name, Ledger(given))


def kernel_used(where: str, key: str, value: Any, kernel: _Array) -> _Array:
    """A kernel as the forward pass uses it, in Keras' layout: the last axis is the output."""
    if value is None:
        return kernel
    if not is_qkeras(value):
        raise FileError(f"{where}: {key} {_said(value)} is not known. binary and ternary can be read.")
    quantizer = _named(where, key, value)
    alpha = quantizer.settings.get("alpha")
    alpha = "auto_po2" if alpha is None else alpha
    if quantizer.name == "quantized_bits":
        raise FileError(
            f"{quantizer.where}: kernels of several bits are not read from QKeras; binary and ternary are. "
            "Export the model to QONNX: qonnx.converters.from_keras."
        )
    used = (
        _binary(quantizer, alpha, kernel)
        if quantizer.name == "binary"
        else _ternary(quantizer, alpha, kernel)
    )
    quantizer.closed()
    return used


def bias_used(where: str, value: Any, bias: _Array) -> _Array:
    """A bias as the forward pass uses it: as it stands, or in fixed point."""
    if value is None:
        return bias
    if not is_qkeras(value) or _named(where, "bias_quantizer", value).name != "quantized_bits":
        raise FileError(f"{where}: bias_quantizer {_said(value)} is not read; quantized_bits or none is.")
    quantizer = _named(where, "bias_quantizer", value)
    alpha = quantizer.settings.get("alpha")
    factor = _factor(quantizer, 1.0 if alpha is None else alpha, bias)
    bits, integer = (quantizer.number(word, start) for word, start in (("bits", 8), ("integer", 0)))
    signed, symmetric = quantizer.flag("keep_negative", True), quantizer.flag("symmetric")
    if quantizer.number("qnoise_factor", 1.0) != 1:
        raise FileError(f"{quantizer.where}: qnoise_factor mixes quantized and trained numbers.")
    quantizer.closed()
    if bits != int(bits) or integer != int(integer) or not 2 <= bits <= 24 or integer > 24:
        raise FileError(
            f"{quantizer.where}: {bits:g} bits, {integer:g} of them before the point, are not read."
        )
    unit = 2.0 ** (integer - (bits - signed))
    top = 2.0 ** (bits - signed)
    codes = np.clip(np.rint(bias.astype(np.float64) / unit), -top + symmetric if signed else 0.0, top - 1)
    return np.asarray(codes * unit * float(factor)).astype(bias.dtype)


def steps_of(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """A quantizer of activations as operations."""
    quantizer = _named(where, key, value)
    alpha = quantizer.settings.get("alpha")
    if isinstance(alpha, str):
        raise FileError(
            f"{quantizer.where}: alpha={alpha!r} takes the scale from all samples of a batch at once. "
            "Activations need a number: alpha=1."
        )
    if quantizer.name == "quantized_bits":
        raise FileError(f"{quantizer.where}: has more than three values. binary and ternary can be read.")
    scale = float(_factor(quantizer, 1.0 if alpha is None else alpha, np.ones(1, np.float32)))
    if quantizer.name == "binary":
        low = 0.0 if quantizer.flag("use_01") else -scale
        quantizer.closed()
        return (Sign(where, low=low, high=scale),)
    threshold = float(np.float32(quantizer.number("threshold", 0.33)))
    quantizer.settings.pass_over("number_of_unrolls")
    quantizer.closed()
    # -1 up to -threshold, +1 from the threshold on; at a threshold of 0, 0 at 0
    strict = np.array([threshold > 0, threshold == 0])
    stairs = Stairs(where, np.array([[-threshold, threshold]]), strict)
    return (stairs, Affine(where, np.array([scale]), np.array([-scale])))


def _said(value: Any) -> str:
    name = value.get("class_name") if isinstance(value, dict) else value
    return repr(str(name)[:60])


def _factor(quantizer: _Quantizer, alpha: Any, like: _Array) -> Any:
    """A scale that is a number, in the floats of the kernel."""
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not 0 < alpha < inf:
        raise FileError(
            f"{quantizer.where}: alpha is {str(alpha)[:40]!r}; 'auto', 'auto_po2' or a number above 0 can be "
            "read."
        )
    return like.dtype.type(alpha)


def _fitted(quantizer: _Quantizer, alpha: str, x: _Array, codes: _Array) -> _Array:
    """The least-squares scale of codes, one an entry of the last axis, in float64."""
    axes = tuple(range(x.ndim - 1))
    scale = (x * codes).mean(axis=axes) / ((codes * codes).mean(axis=axes) + _EPSILON)
    return _power(quantizer, scale) if alpha == "auto_po2" else np.asarray(scale)


def _power(quantizer: _Quantizer, scale: _Array) -> _Array:
    exponents = np.log2(scale + _EPSILON)
    if (np.abs(exponents - np.floor(exponents) - 0.5) < _NEAR).any():
        at = int(np.argmin(np.abs(exponents - np.floor(exponents) - 0.5)))
        raise FileError(
            f"{quantizer.where}: the scale of output {at} lies half-way between two powers of two, so that "
            f"rounding decides which it is. {_STORED}"
        )
    return np.asarray(2.0 ** np.rint(exponents))


def _binary(quantizer: _Quantizer, alpha: Any, kernel: _Array) -> _Array:
    x = kernel.astype(np.float64)
    codes = np.where(x >= 0, 1.0, 0.0 if quantizer.flag("use_01") else -1.0)
    if alpha in ("auto", "auto_po2"):
        scale = _fitted(quantizer, alpha, x, codes).astype(kernel.dtype)
        return np.asarray(scale * codes.astype(kernel.dtype))
    return np.asarray(_factor(quantizer, alpha, kernel) * codes.astype(kernel.dtype))


def _ternary(quantizer: _Quantizer, alpha: Any, kernel: _Array) -> _Array:
    rounds = int(quantizer.number("number_of_unrolls", 5, least=1))
    if alpha not in ("auto", "auto_po2"):
        threshold = kernel.dtype.type(quantizer.number("threshold", 0.33))
        codes = (np.abs(kernel) >= threshold) * np.sign(kernel)
        return np.asarray(_factor(quantizer, alpha, kernel) * codes)
    if quantizer.settings.get("threshold") is not None:
        raise FileError(f"{quantizer.where}: alpha={alpha!r} works out the threshold, so it can have none.")
    if rounds > 1000:
        raise FileError(f"{quantizer.where}: number_of_unrolls is {rounds}.")
    x = kernel.astype(np.float64)
    scale = 2 * np.abs(x).max(axis=tuple(range(x.ndim - 1))) / 3
    scale = _power(quantizer, scale) if alpha == "auto_po2" else scale
    codes = np.zeros_like(x)
    for _ in range(rounds):
        if not (scale > 0).all():
            raise FileError(
                f"{quantizer.where}: the scale of output {int(np.argmin(scale))} becomes 0, which QKeras "
                f"divides by. {_STORED}"
            )
        size = np.abs(x) / scale
        if alpha == "auto" and (np.abs(size - 0.5) < _NEAR).any():
            raise FileError(
                f"{quantizer.where}: a weight is so near to half of its scale that rounding decides whether "
                f"it is 0. {_STORED}"
            )
        codes = (size > 0.5) * np.sign(x)  # a half is rounded to 0
        scale = _fitted(quantizer, alpha, x, codes)
    return np.asarray(scale.astype(kernel.dtype) * codes.astype(kernel.dtype))
