"""Elementwise PyTorch operations as exact functions of one number,
and constants a channel as affine operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.ops import Affine
from sugenet.io.torch.calls import Call, open_ended, rounded_scalar
from sugenet.io.torch.piecewise import Piecewise
from sugenet.io.torch.signals import Signal, exact, joined

__all__ = ["POINTWISE"]

_Array = npt.NDArray[Any]
_COMPARISONS = ("ge", "gt", "le", "lt", "eq", "ne")


def _pointwise(make: Callable[[Call, Piecewise], Piecewise]) -> Callable[[Call], Signal]:
    def rule(call: Call) -> Signal:
        signal = call.signal()
        if call.name in ("sign", "sgn") and signal.odd:
            signal = replace(signal, tail=(), odd=False)
        return replace(open_ended(call, signal), function=make(call, signal.function))

    return rule


def _operand(call: Call, name: str, like: Any, signal: Signal) -> Piecewise | _Array:
    """The other argument: a function of the same numbers, or one constant for each place of a sample."""
    value = call.args[name]
    if isinstance(value, bool | int | float):
        return Piecewise.constant(rounded_scalar(call, value, like))
    other = call.find(value)
    if other is not None:
        open_ended(call, other)
        if not signal.same_place(other):
            raise call.refused("It combines two different layers: only their sum or difference can be read.")
        return other.function
    array = call.numpy(value)
    if array.ndim == 0 and array.dtype == np.float64:  # a tensor without axes is a number like any other
        return Piecewise.constant(rounded_scalar(call, float(array), like))
    if array.size and (array == array.flat[0]).all():
        return Piecewise.constant(exact(array.flat[0]))
    full = (
        np.broadcast_to(array, (len(signal.node.values), *signal.shape))
        if array.ndim <= len(signal.shape) + 1
        else None
    )
    if full is None or (full != full[:1]).any():
        raise call.refused(
            "It uses a constant that is not the same for all samples, or values changed out of sight."
        )
    return np.asarray(full[0])


def _pair(call: Call) -> tuple[Signal, str, str]:
    """The argument that depends on the input, its name, and the name of the other one."""
    for name, other in (("self", "other"), ("other", "self"), ("input", "other")):
        signal = call.find(call.args.get(name)) if name in call.args else None
        if signal is not None:
            return signal, name, other
    raise call.refused()


def _arithmetic(call: Call) -> Signal:
    signal, name, other = _pair(call)
    open_ended(call, signal)
    second = call.find(call.args[other])
    if second is not None and not signal.same_place(second) and call.name in ("add", "sub"):
        return _joined(call)
    operand = _operand(call, other, call.args[name], signal)
    alpha = rounded_scalar(call, call.args.get("alpha", 1), call.args[name])
    if call.args.get("rounding_mode") is not None:
        raise call.refused("It rounds: activations of more than one bit are not binarized.")
    if isinstance(operand, Piecewise):
        return replace(
            signal, function=_combined(call, signal.function, operand, swapped=name == "other", alpha=alpha)
        )
    return _vector(call, signal.settled(call.actual(name), call.where), operand, name == "other", alpha)


def _joined(call: Call) -> Signal:
    """Two branches added, or one taken from the other."""
    left, right = (open_ended(call, call.signal(name)) for name in ("self", "other"))
    if rounded_scalar(call, call.args.get("alpha", 1), call.args["self"]) != 1 or left.shape != right.shape:
        raise call.refused("It adds two branches of other shapes, or one of them times a number.")
    first, second = (
        signal.settled(call.actual(name), call.where) for signal, name in ((left, "self"), (right, "other"))
    )
    return joined(call.where, first, second, 1 if call.name == "add" else -1, call.result)


def _combined(call: Call, f: Piecewise, g: Piecewise, *, swapped: bool, alpha: Fraction) -> Piecewise:
    a, b = (g, f) if swapped else (f, g)
    match call.name:
        case "add":
            return a.added(b.times(alpha))
        case "sub":
            return a.minus(b.times(alpha))
        case "rsub":
            return b.minus(a.times(alpha))
        case "mul":
            return a.multiplied(b)
        case "div":
            if b.breaks or b.lines[0][0] or not b.lines[0][1]:
                raise call.refused("It divides by zero or by something that depends on the input.")
            return a.times(1 / b.lines[0][1])
        case "maximum":
            return a.minus(b).choose(0, b, b, a)
    assert call.name == "minimum"
    return a.minus(b).choose(0, a, a, b)


def _vector(call: Call, signal: Signal, row: _Array, swapped: bool, alpha: Fraction) -> Signal:
    """Constants of their own for each channel or feature."""
    if signal.order.ndim in (2, 3) and len(signal.node.shape) == 1 and signal.node.op is None:
        signal = signal.channels(call.where)
    elif signal.order.ndim == 1:
        signal = signal.flat(call.where)
    values = signal.along_channels(row, call.where)
    one, none = np.ones(1), np.zeros(1)
    match call.name:
        case "add" if alpha == 1:
            scale, shift = one, values
        case "sub" if alpha == 1:
            scale, shift = (-one, values) if swapped else (one, -values)
        case "rsub" if alpha == 1:
            scale, shift = (one, -values) if swapped else (-one, values)
        case "mul":
            scale, shift = values, none
        case "div" if not swapped and values.all():
            scale, shift = np.array([1 / exact(value) for value in values], dtype=object), none
        case _:
            raise call.refused("Only +, -, * and / by constants can stand between a layer and its sign.")
    return signal.rescaled(Affine(call.where, scale, shift), call.result)


def _compared(call: Call) -> Signal:
    signal, name, other = _pair(call)
    operand = _operand(call, other, call.args[name], signal)
    if signal.odd and operand == Piecewise.constant(0):
        signal = replace(signal, tail=(), odd=False)
    open_ended(call, signal)
    if not isinstance(operand, Piecewise):  # a threshold for each channel: x >= t is x - t >= 0
        shift = replace(
            call,
            name="sub",
            out=call.actual(name) - operand,
            numpy=lambda value: value if isinstance(value, np.ndarray) else call.numpy(value),
        )
        signal = _vector(
            shift, signal.settled(call.actual(name), call.where), operand, swapped=False, alpha=Fraction(1)
        )
        difference = signal.function
    else:
        difference = signal.function.minus(operand)
    difference = difference.times(-1) if name == "other" else difference
    found = {
        "ge": lambda d: d.at_least(0),
        "gt": lambda d: d.above(0),
        "le": lambda d: d.above(0).negated(),
        "lt": lambda d: d.at_least(0).negated(),
        "eq": lambda d: d.equal_to(0),
        "ne": lambda d: d.equal_to(0).negated(),
    }[call.name](difference)
    return replace(signal, function=found)


def _where(call: Call) -> Signal:
    mask = call.find(call.args["condition"])
    if mask is None:
        raise call.refused("Its condition does not depend on the input.")
    return _selected(call, mask, "self", "other")


def _masked_fill(call: Call) -> Signal:
    mask = call.find(call.args["mask"])
    if mask is None:
        raise call.refused("Its mask does not depend on the input.")
    return _selected(call, mask, "value", "self")


def _index_put(call: Call) -> Signal:
    indices = call.args["indices"]
    mask = call.find(indices[0]) if len(indices) == 1 else None
    if mask is None or call.args.get("accumulate"):
        raise call.refused("Only x[mask] = number with a mask such as x >= 0 can be.")
    return _selected(call, mask, "values", "self")


def _selected(call: Call, mask: Signal, yes: str, no: str) -> Signal:
    open_ended(call, mask)
    parts = [_operand(call, name, call.out, mask) for name in (yes, no)]
    if not all(isinstance(part, Piecewise) for part in parts):
        raise call.refused("Its two values must be the same for all neurons.")
    return replace(mask, function=mask.function.select(parts[0], parts[1]))  # type: ignore[arg-type]


def _cast(call: Call) -> Signal:
    signal = call.signal()
    into, from_ = call.numpy(call.out).dtype, call.numpy(call.args.get("self", call.args.get("src"))).dtype
    if into.kind == "b" and from_.kind != "b":
        return replace(open_ended(call, signal), function=signal.function.equal_to(0).negated())
    if call.narrowed:
        raise call.refused(
            "It rounds to floats of 16 bits on the way: leave them out, or make the whole module of them."
        )
    steps = signal.function.is_steps and all(level.denominator == 1 for level in signal.function.levels)
    if into.kind in "iu" and from_.kind == "f" and not steps:
        raise call.refused("It rounds real numbers to whole ones.")
    return signal


def _clamped(call: Call, f: Piecewise) -> Piecewise:
    ends = []
    for name, otherwise in (("min", -inf), ("max", inf)):
        value = call.args.get(name, call.args.get(f"{name}_val"))
        if value is not None and not isinstance(value, bool | int | float):
            array = call.numpy(value)
            if call.find(value) is not None or array.size == 0 or (array != array.flat[0]).any():
                raise call.refused("Its bounds must be one number for all.")
            value = array.flat[0].item()
        inexact = isinstance(value, float) and np.isfinite(value)
        ends.append(
            otherwise
            if value is None
            else float(rounded_scalar(call, value, call.args["self"]))
            if inexact
            else value
        )
    return f.clipped(*ends)


def _not(call: Call, f: Piecewise) -> Piecewise:
    if call.name == "bitwise_not" and call.numpy(call.out).dtype.kind != "b":
        raise call.refused("It flips the bits of whole numbers.")
    return f.equal_to(0)


def _fake_quantized(call: Call, f: Piecewise) -> Piecewise:
    """Whole steps of a scale from a zero point, between two codes."""
    if "fake_quant_enabled" in call.args and not bool(np.all(call.numpy(call.args["fake_quant_enabled"]))):
        return f
    scale, zero = (
        exact(np.asarray(call.numpy(call.args[name])).reshape(-1)[0].item())
        for name in ("scale", "zero_point")
    )
    if isinstance(call.args["scale"], float):
        scale = exact(float(np.float32(call.args["scale"])))
    low, high = (int(call.args[name]) for name in ("quant_min", "quant_max"))
    codes = f.times(1 / scale).rounded("round").plus(zero).clipped(low, high)
    return codes.plus(-zero).times(scale)


def _rounded(call: Call, f: Piecewise) -> Piecewise:
    if call.args.get("decimals"):
        raise call.refused("It rounds to decimals. Multiply, round to integers and divide.")
    return f.rounded("round")


def _heaviside(call: Call, f: Piecewise) -> Piecewise:
    at = _operand(call, "values", call.args["self"], call.signal())
    if not isinstance(at, Piecewise):
        raise call.refused("Its value at 0 must be one number for all.")
    return f.choose(0, Piecewise.constant(0), at, Piecewise.constant(1))


POINTWISE: dict[str, Callable[[Call], Signal]] = {
    **dict.fromkeys(("add", "sub", "rsub", "mul", "div", "maximum", "minimum"), _arithmetic),
    **dict.fromkeys(_COMPARISONS, _compared),
    **dict.fromkeys(("logical_not", "bitwise_not"), _pointwise(_not)),
    **dict.fromkeys(("sign", "sgn"), _pointwise(lambda _, f: f.sign())),
    **dict.fromkeys(("clamp", "hardtanh", "clamp_min", "clamp_max"), _pointwise(_clamped)),
    "relu": _pointwise(lambda _, f: f.clipped(0.0, inf)),
    "relu6": _pointwise(lambda _, f: f.clipped(0.0, 6.0)),
    "neg": _pointwise(lambda _, f: f.times(-1)),
    "abs": _pointwise(lambda _, f: f.choose(0, f.times(-1), Piecewise.constant(0), f)),
    "heaviside": _pointwise(_heaviside),
    **dict.fromkeys(
        (
            "fake_quantize_per_tensor_affine_cachemask",
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        ),
        _pointwise(_fake_quantized),
    ),
    "round": _pointwise(_rounded),
    "floor": _pointwise(lambda _, f: f.rounded("floor")),
    "ceil": _pointwise(lambda _, f: f.rounded("ceil")),
    "where": _where,
    "masked_fill": _masked_fill,
    "index_put": _index_put,
    **dict.fromkeys(
        ("_to_copy", "to", "clone", "alias", "detach", "lift_fresh", "contiguous", "positive"), _cast
    ),
}
"""By the name of the operation in PyTorch's core, in-place forms without their underscore."""
