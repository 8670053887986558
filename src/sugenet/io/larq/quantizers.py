"""Larq's quantizers by the words of a file: what they make of values, and of the floats that were trained."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Op, Sign
from sugenet.io.plain.ledger import Ledger

__all__ = ["SIGNS", "check_precision", "precision", "quantized", "setting", "signed"]

SIGNS = ("stesign", "approxsign", "swishsign", "steheaviside")
"""Quantizers with two values, without case and underscores."""
_SCALED, _TERNARY, _NONE = "magnitudeawaresign", "stetern", ("noop", "noopquantizer", "linear")


def signed(where: str, key: str, value: Any) -> tuple[Op, ...]:
    """A quantizer of values as an operation."""
    found = _named(where, key, value)
    if found is None:
        return ()
    name, _ = found
    if name not in SIGNS:
        raise FileError(
            f"{where}: {key} {name!r} has more than two values, or depends on all inputs at once. "
            "ste_sign, approx_sign, swish_sign and ste_heaviside can be read."
        )
    return (Sign(where, zero=-1, low=0.0, high=1.0),) if name == "steheaviside" else (Sign(where),)


def quantized(where: str, key: str, value: Any, kernel: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A kernel as the forward pass uses it, in Keras' layout: the last axis is the output."""
    found = _named(where, key, value)
    if found is None:
        return kernel
    name, settings = found
    one = kernel.dtype.type(1)
    signs = np.where(kernel >= 0, one, -one)
    if name == "steheaviside":
        return np.asarray(np.where(kernel > 0, one, one * 0))
    if name in SIGNS:
        return np.asarray(signs)
    if name == _SCALED:
        return np.asarray(np.abs(kernel).mean(axis=tuple(range(kernel.ndim - 1))) * signs)
    if name == _TERNARY:
        return _ternary(where, settings, kernel)
    raise FileError(
        f"{where}: {key} {name!r} is not known. ste_sign, approx_sign, swish_sign, magnitude_aware_sign, "
        "ste_tern and ste_heaviside can be read."
    )


def _ternary(where: str, settings: Ledger[Any], kernel: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values beyond a threshold; early releases of Larq clip them first, which can change a threshold that is
    a share of their mean.
    """
    clip, by_mean = settings.get("clip_value", 1.0), settings.get("ternary_weight_networks")
    single = kernel.dtype.type

    def ternary(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        t = (
            single(0.7) * np.abs(x).sum() / x.size
            if by_mean
            else setting(where, settings, "threshold_value", 0.05)
        )
        return np.asarray(np.sign(np.sign(x + single(t)) + np.sign(x - single(t))))

    plain = ternary(kernel)
    if clip is not None and not np.array_equal(plain, ternary(np.clip(kernel, -single(clip), single(clip)))):
        raise FileError(
            f"{where}: its kernel has values beyond clip_value {clip}, where releases of Larq differ: early "
            "ones clip before they make weights ternary, later ones do not. "
            "Store the clipped or the ternary weights."
        )
    return plain


def setting(where: str, settings: Any, key: str, otherwise: float) -> float:
    """A number that is not negative."""
    value = settings.get(key, otherwise)
    if not isinstance(value, int | float) or not 0 <= value < inf:
        raise FileError(f"{where}: {key} is {str(value)[:40]!r}, but a number is needed.")
    return float(value)


def precision(dtype: Any) -> Any:
    """The name of the numbers that a layer computes in, also from a policy."""
    if isinstance(dtype, dict):
        dtype = dtype.get("config")
        dtype = dtype.get("name") if isinstance(dtype, dict) else dtype
    return dtype


def check_precision(where: str, dtype: Any) -> None:
    """Refuse layers that compute in numbers so coarse that their rounding is part of the network."""
    dtype = precision(dtype)
    if dtype not in (None, "float32", "float64"):
        raise FileError(
            f"{where}: computes in {str(dtype)[:40]}, whose rounding would be part of the network. "
            f"float32 can be read."
        )


def _named(where: str, key: str, value: Any) -> tuple[str, Ledger[Any]] | None:
    """Name without case and underscores, and settings that are all known;
    None where values go through as they are.
    """
    given: Any = {}
    if isinstance(value, dict):
        value, given = value.get("class_name"), value.get("config")
        if isinstance(given, str):  # a function: its name stands here
            value, given = given, {}
    if value is None:
        return None
    name = str(value).split(">")[-1].replace("_", "").lower()
    settings: Ledger[Any] = Ledger(given if isinstance(given, dict) else {})
    settings.pass_over(
        "name", "trainable", "metrics", "beta", "precision", "threshold_value", "ternary_weight_networks"
    )
    check_precision(where, settings.get("dtype"))
    clip = settings.get("clip_value", 1.0)
    if clip is not None and (
        not isinstance(clip, int | float) or isinstance(clip, bool) or not 0 < clip < inf
    ):
        raise FileError(
            f"{where}: clip_value of {key} is {str(clip)[:40]!r}, but a number above 0 is needed."
        )
    if name in (*SIGNS, _SCALED, _TERNARY, *_NONE):
        for left in settings.left():
            if settings[left] is not None:
                raise FileError(
                    f"{where}: {left[:40]!r} of {key} is not a setting of Larq's {name}, "
                    f"so what it does is not known."
                )
    return None if name in _NONE else (name, settings)
