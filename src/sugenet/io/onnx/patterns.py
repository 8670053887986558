"""Read elementwise operations of an ONNX graph: every form of a sign, affine maps, clipping, quantizers.

Each rule reads one operation. The forms of a sign need no rules of their own, see `values`. They include
Sign, Where over a comparison, Sign(Sign(x) + 0.1), comparison-cast-scale-shift, BipolarQuant, MultiThreshold,
and straight-through residues.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Clip, Leaky, Quantize, rounded
from sugenet.io.onnx.flow import Flow, shape_of
from sugenet.io.onnx.fold import ELEMENTWISE, Folder, quantizer_of, refuse_shifted_sign, thin
from sugenet.io.onnx.graph import DTYPES, Array, Node
from sugenet.io.onnx.values import (
    Constant,
    Curve,
    Data,
    Failure,
    Mix,
    SignTable,
    Value,
    joined,
    settled,
    sizes_of,
)
from sugenet.io.plain.refusals import expected, refuse_if, required

__all__ = ["POINTWISE", "batch_norm", "elementwise", "multi_threshold"]

_BELOW_AT_ABOVE = {
    "Greater": (False, False, True),
    "GreaterOrEqual": (False, True, True),
    "Less": (True, False, False),
    "LessOrEqual": (True, True, False),
    "Equal": (False, True, False),
}
_SWAPPED = {
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
    "Equal": "Equal",
}
_CURVES = {"Asinh", "Atan", "Erf", "Sinh", "Softsign", "Tanh"}
"""Rising functions that are zero at zero."""
_WIDEST = 1 << 16
_CUT = "Cut the model before it, or move it to the end."
_RESIDUAL = (
    "it combines two values that both depend on the input (a gate or an attention). Only sums of two such "
    "values are supported, as shortcuts have them."
)


def elementwise(node: Node, values: Sequence[Value | None], fold: Folder) -> Data:
    """Read one elementwise operation, at least one of whose inputs is data."""
    refuse_if(
        node.op == "Split",
        "it splits a tensor. Export slices instead: x[:, :8] and x[:, 8:] in place of chunk or split.",
    )
    tables = [value for value in values if isinstance(value, SignTable)]
    data = [value for value in values if value is not None and not isinstance(value, Constant)]
    refuse_if(
        any(value.of_batch for value in values if isinstance(value, Constant)),
        "it combines the data with the size of the batch, so that a sample's answer would "
        "depend on the others.",
    )
    values = [_as_one(value, data[0]) if isinstance(value, Constant) else value for value in values]
    constants = [value for value in values if isinstance(value, Constant)]
    if (
        len(tables) == len(data)
        and all(constant.array.size == 1 for constant in constants)
        and _alike(tables)
    ):
        return _worked_out(node, values, fold)
    if node.op in ("Add", "Sub", "Sum") and len(data) == 2 and not constants:
        return _added(node, data[0], data[1])
    refuse_if(len(data) != 1, _RESIDUAL)
    value = data[0]
    if isinstance(value, Mix) or (isinstance(value, SignTable) and node.op in _BELOW_AT_ABOVE):
        value = settled(value, _CUT)
    if isinstance(value, Curve | Flow) and node.op in _CURVES | {"Sign"} | set(_BELOW_AT_ABOVE):
        return _sign_like(node, values, value)
    flow = settled(value, _CUT)  # type: ignore[arg-type]
    refuse_if(
        node.op not in _RULES, f"{_NEAREST.get(node.op, 'it has no exact meaning for a binarized network')}."
    )
    return _RULES[node.op](node, values, flow)


def _as_one(constant: Constant, value: Value) -> Constant:
    """Return a constant as one number if it is the same for every element of the data, or for every sample.

    Constants of `ones_like`, stored once, are of the second kind.
    """
    full = constant.array
    array = thin(full)
    array = (
        array.reshape(-1)[:1].reshape((1,) * array.ndim)
        if array.size > 1 and (array == array.reshape(-1)[0]).all()
        else array
    )
    if array.shape == full.shape:
        return constant
    flow = value.flow if isinstance(value, Flow | SignTable | Curve) else None
    sizes = () if flow is None else flow.padded(max(len(flow.axes), full.ndim)).sizes
    refuse_if(
        any(size not in (1, there) for size, there in zip(full.shape[::-1], sizes[::-1], strict=False))
        or len(sizes) < full.ndim,
        f"its constant of shape {shape_of(full.shape)} does not fit data of shape {shape_of(sizes)}.",
    )
    return replace(constant, array=array)


def _alike(tables: Sequence[SignTable]) -> bool:
    """Return whether all tables depend on the sign of the same data, element by element."""
    first = tables[0].flow
    return all(table.flow.link is first.link and table.flow.axes == first.axes for table in tables)


def _worked_out(node: Node, values: Sequence[Value | None], fold: Folder) -> SignTable:
    """Return the result for the three values of a table."""
    refuse_if(node.op not in ELEMENTWISE, f"{node.op} of a sign is not supported.")
    arrays = [
        v.array.reshape(()) if isinstance(v, Constant) else v.values if isinstance(v, SignTable) else None
        for v in values
    ]
    tables = [value for value in values if isinstance(value, SignTable)]
    folded = fold(node.op, arrays, node.attributes)
    rank = max(
        v.array.ndim if isinstance(v, Constant) else len(v.flow.axes)
        for v in values
        if isinstance(v, Constant | SignTable)
    )
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return replace(
        tables[0], flow=tables[0].flow.padded(rank), values=np.broadcast_to(folded, 3), notes=notes
    )


# -- straight-through residues -------------------------------------------------------------------------------


def _added(node: Node, left: Value, right: Value) -> Data:
    sign = -1 if node.op == "Sub" else 1
    for mixed, plain, a, b in ((left, right, 1, sign), (right, left, sign, 1)):
        failing = isinstance(plain, Failure) or (isinstance(plain, Mix) and plain.failure() is not None)
        if (
            isinstance(mixed, SignTable)
            and isinstance(plain, Flow | Curve | Failure | Mix)
            and (failing or isinstance(plain, Flow | Curve))
        ):
            refuse_if(failing and sizes_of(plain) != mixed.flow.sizes, _RESIDUAL)
            return Mix(mixed, a, plain, b, str(node))
        if isinstance(mixed, Mix) and mixed.cancels(plain) and mixed.b * a + b == 0:
            note = (
                f"{node}: a straight-through estimator adds and subtracts the same value; read as the "
                "sign alone, though in floating point its own sum can differ from the sign "
                "in the last digit"
            )
            values = mixed.table.values if mixed.a * a > 0 else -mixed.table.values
            return replace(mixed.table, values=values, notes=(*mixed.table.notes, note))
    flows = [settled(value, _CUT) for value in (left, right)]  # type: ignore[arg-type]
    return joined(str(node), [(flows[0], 1), (flows[1], sign)])


# -- signs ---------------------------------------------------------------------------------------------------


def _sign_like(node: Node, values: Sequence[Value | None], value: Curve | Flow) -> Data:
    where = str(node)
    flow = value.flow if isinstance(value, Curve) else value
    if node.op in _CURVES:
        return Curve(flow, where)
    if node.op == "Sign":
        return SignTable(flow, np.array([0 if flow.dtype.kind == "u" else -1, 0, 1], flow.dtype), where)
    first = isinstance(values[0], Constant)
    bound = _constant(values[0] if first else values[1])
    if not isinstance(value, Curve):
        flow = _shifted(flow, -_real(bound, where), where)
    elif not (bound == 0).all():
        raise FileError(
            f"it compares {value.where} with {_few(bound)}; after a curve, only zero can be compared. "
            f"Move the curve out."
        )
    return SignTable(flow, np.array(_BELOW_AT_ABOVE[_SWAPPED[node.op] if first else node.op]), where)


def _shifted(flow: Flow, shift: Array, where: str) -> Flow:
    """Return the data with a constant added; the data itself if the constant is zero."""
    if not (shift != 0).any():
        return flow.padded(max(shift.ndim, len(flow.axes)))
    if np.isinf(shift).any():  # compared with infinity: always or never
        endless = np.isinf(shift)
        flow, (scale, kept) = flow.beside(
            [(~endless).astype(shift.dtype), np.where(endless, np.sign(shift), shift)], where
        )
        return flow.then(Affine(where, scale, kept))
    flow, (kept,) = flow.beside([shift], where)
    return flow.then(Affine(where, np.ones((), shift.dtype), kept))


def multi_threshold(node: Node, x: Flow, thresholds: Array) -> Data:
    """Read a count of the thresholds of its channel that a value reaches, as in QONNX and FINN.

    With one threshold it is a sign.
    """
    refuse_if(
        thresholds.ndim != 2 or not thresholds.size,
        f"its thresholds have shape {thresholds.shape}, but (channels, thresholds) is needed.",
    )
    last = str(node.attributes["data_layout"]).upper().endswith("C") and len(x.axes) > 2
    axis = len(x.axes) - 1 if last else 1
    refuse_if(len(x.axes) < 2, "it needs a batch axis and a channel axis.")
    shape = [1] * len(x.axes)
    shape[axis] = len(thresholds)
    where, rows = str(node), _real(thresholds, str(node))
    scale, bias = (np.float32(node.attributes[key]) for key in ("out_scale", "out_bias"))
    if rows.shape[1] == 1:
        flow = _shifted(x, -rows.reshape(shape), where)
        return SignTable(flow, np.array([bias, scale + bias, scale + bias]), where)
    refuse_if(not np.isfinite(rows).all(), "a threshold is not finite. Leave out those that nothing reaches.")
    flow, indices = x, np.zeros(1, np.intp)
    if len(rows) > 1:  # different everywhere, so that no axis is narrowed
        flow, (indices,) = x.beside([np.arange(len(rows)).reshape(shape)], where)
    counted = Quantize(where, np.sort(rows, axis=1)[indices.reshape(-1)], np.zeros(rows.shape[1], bool))
    is_integer = bool(scale == np.floor(scale) and bias == np.floor(bias))
    flow = flow.then(counted).then(Affine(where, np.asarray(scale), np.asarray(bias)))
    return replace(flow, dtype=flow.real_dtype, whole=is_integer)


# -- affine maps, clipping and quantizers --------------------------------------------------------------------


def _affine(flow: Flow, scale: Array, shift: Array, where: str) -> Flow:
    refuse_if(
        flow.dtype.kind in "iu" and flow.dtype.itemsize < 4,
        f"it calculates in {flow.dtype}, which wraps around. Cast to float32 first.",
    )
    for array in (scale, shift):
        refuse_if(array.dtype != object and not np.isfinite(array).all(), "its constant is not finite.")
    flow, (a, b) = flow.beside([scale, shift], where)
    is_integer = flow.whole and all(
        array.dtype != object and bool((array == np.floor(array)).all()) for array in (a, b)
    )
    return replace(flow.then(Affine(where, a, b)), whole=is_integer)


def _add(node: Node, values: Sequence[Value | None], flow: Flow) -> Flow:
    first = isinstance(values[0], Constant)
    other = _real(_constant(values[0] if first else values[1]), str(node))
    one = np.ones((), other.dtype)
    if node.op == "Add":
        return _affine(flow, one, other, str(node))
    return _affine(flow, -one, other, str(node)) if first else _affine(flow, one, -other, str(node))


def _total(node: Node, values: Sequence[Value | None], flow: Flow) -> Flow:
    """Read Sum and Mean of the data and any number of constants."""
    arrays = [_real(value.array, str(node)) for value in values if isinstance(value, Constant)]
    for array in arrays:
        flow = _affine(flow, np.ones((), array.dtype), array, str(node))
    if node.op == "Mean" and arrays:
        count = np.asarray(len(arrays) + 1, np.float32)
        return _affine(flow, _inverse(count), np.zeros((), np.float32), str(node))
    return flow


def _multiply(node: Node, values: Sequence[Value | None], flow: Flow) -> Flow:
    first = isinstance(values[0], Constant)
    other = _real(_constant(values[0] if first else values[1]), str(node))
    if node.op == "Div":
        refuse_if(first, "it divides by values that depend on the input.")
        refuse_if(flow.dtype.kind in "iu", "it divides integers and drops the rest. Cast to float32 first.")
        refuse_if(
            (other == 0).any() or not np.isfinite(other).all(),
            "it divides by zero, or by what is not a finite number.",
        )
        other = _inverse(other)
    return _affine(flow, other, np.zeros((), np.float32 if other.dtype == object else other.dtype), str(node))


def _inverse(array: Array) -> Array:
    """Return exact reciprocals: floats if these are exact, as for powers of two, else fractions."""
    if array.dtype.kind == "f":
        mantissa, _ = np.frexp(array)
        inverse = np.asarray(1 / array).astype(array.dtype)
        if (np.abs(mantissa) == 0.5).all() and np.isfinite(inverse).all():
            return inverse
    exact = np.array([1 / Fraction(value) for value in array.reshape(-1).tolist()], dtype=object)
    return exact.reshape(array.shape)


def _negate(node: Node, _: Sequence[Value | None], flow: Flow) -> Flow:
    one = np.ones((), flow.real_dtype)
    return _affine(flow, -one, 0 * one, str(node))


def _clip(node: Node, values: Sequence[Value | None], flow: Flow) -> Flow:
    if node.op == "Relu":
        low, high = 0.0, inf
    elif node.op in ("Max", "Min"):
        arrays = [value.array for value in values if isinstance(value, Constant)]
        bounds = [_single(array, "its bound") for array in arrays]
        flow = flow.padded(max([len(flow.axes), *(array.ndim for array in arrays)]))
        low, high = (max(bounds, default=-inf), inf) if node.op == "Max" else (-inf, min(bounds, default=inf))
    else:
        ends = [
            node.attributes.get(name) if value is None else _single(_constant(value), name)
            for name, value in zip(("min", "max"), values[1:3], strict=True)
        ]
        low, high = (
            default if bound is None else float(bound)
            for bound, default in zip(ends, (-inf, inf), strict=True)
        )
    refuse_if(not low <= high, f"it clips between {low} and {high}, which is empty.")
    is_integer = flow.whole and all(bound in (inf, -inf) or bound == int(bound) for bound in (low, high))
    return replace(flow.then(Clip(str(node), low, high)), whole=is_integer)


def _leaky(node: Node, values: Sequence[Value | None], flow: Flow) -> Flow:
    slope = (
        np.asarray(node.attributes["alpha"], np.float32)
        if node.op == "LeakyRelu"
        else _real(_constant(values[1]), str(node))
    )
    refuse_if(not np.isfinite(slope).all(), "a slope is not finite.")
    flow, (slopes,) = replace(flow, dtype=flow.real_dtype).beside([slope], str(node))
    return replace(flow.then(Leaky(str(node), slopes)), whole=False)


def _hard_sigmoid(node: Node, _: Sequence[Value | None], flow: Flow) -> Flow:
    alpha, beta = (np.asarray(node.attributes[key], np.float32) for key in ("alpha", "beta"))
    return _affine(flow, alpha, beta, str(node)).then(Clip(str(node), 0.0, 1.0))


def _round(node: Node, _: Sequence[Value | None], flow: Flow) -> Data:
    last = flow.link.op
    if flow.whole:
        return flow
    dtype = flow.real_dtype
    if not isinstance(last, Clip) or not 0 < last.high - last.low <= _WIDEST:
        raise FileError(
            "it rounds real values without bounds, so the levels are not known. Clip before rounding, "
            f"to {_WIDEST} at most."
        )
    if (last.low, last.high) != (0.0, 1.0):
        low, high = (int(np.rint(bound)) for bound in (last.low, last.high))
        refuse_if(low == high, f"it rounds everything to {low}.")
        flow = flow.then(rounded(str(node), low, high))
        flow = flow.then(Affine(str(node), np.ones((), dtype), np.asarray(low, dtype)))
        return replace(flow, dtype=dtype, whole=True)
    return SignTable(  # a half is rounded to the even number
        _shifted(flow, np.asarray(-0.5, dtype), str(node)), np.array([0, 0, 1], dtype), str(node)
    )


def _cast(node: Node, _: Sequence[Value | None], flow: Flow) -> Flow:
    to = node.attributes.get("to")
    kind = required(
        DTYPES.get(to or 0), f"it casts to element type {to}, which is not supported. Use float32."
    )
    dtype = np.dtype(kind).newbyteorder("=")
    refuse_if(
        dtype.kind == "f" and dtype.itemsize < 4,
        "it casts to float16, which rounds sums. Export the model in float32.",
    )
    refuse_if(
        dtype.kind == "b" or (dtype.kind in "iu" and (not flow.whole or dtype.itemsize < 4)),
        f"it casts real values to {dtype}. Only a sign makes levels: compare with zero before casting.",
    )
    return replace(flow, dtype=dtype)


def _bipolar(node: Node, values: Sequence[Value | None], flow: Flow) -> Data:
    scale = _real(_constant(values[1]), str(node))
    refuse_if(not (scale > 0).all(), f"its scale is {_few(scale)}, but it must be positive.")
    dtype = flow.real_dtype
    if scale.size == 1:
        size = scale.reshape(()).astype(dtype)
        return SignTable(
            flow.padded(max(len(flow.axes), scale.ndim)), np.array([-size, size, size], dtype), str(node)
        )
    plain = settled(SignTable(flow, np.array([-1, 1, 1], dtype), str(node)), "")
    return _affine(plain, scale, np.zeros((), scale.dtype), str(node))


def _quant(node: Node, values: Sequence[Value | None], flow: Flow) -> Data:
    scale, zero, bits = (_real(_constant(values[k]), str(node)) for k in (1, 2, 3))
    quantizer = quantizer_of(bits, node.attributes)
    low, high = quantizer.low, quantizer.high
    refuse_if(
        not (scale > 0).all() or not np.isfinite(scale).all() or not (zero == np.rint(zero)).all(),
        f"its scale is {_few(scale)} and its zero point {_few(zero)}, but positive numbers and whole "
        "numbers are needed.",
    )
    if quantizer.is_sign:
        refuse_shifted_sign(zero)
        return _bipolar(node, values, flow)
    if high - low == 1 and scale.size == zero.size == 1 and quantizer.rounding == "half even":
        even = low % 2 == 0  # a half is rounded to the even level
        size, point = np.float32(scale.reshape(())), int(zero.reshape(()))
        threshold = (Fraction(low) + Fraction(1, 2) - point) * Fraction(float(size))
        if size == scale.reshape(()) and Fraction(float(np.float32(float(threshold)))) == threshold:
            levels = [(level - np.float32(point)) * size for level in (low, low if even else high, high)]
            return SignTable(
                _shifted(flow, np.asarray(-float(threshold), np.float32), str(node)),
                np.array(levels, np.float32),
                str(node),
            )
    dtype = flow.real_dtype
    flow = _affine(replace(flow, dtype=dtype), _inverse(scale), zero, str(node))
    flow = flow.then(rounded(str(node), low, high, quantizer.rounding))
    worth = scale.astype(np.float64)
    shift = (low - zero.astype(np.float64)) * worth
    if not (worth.astype(np.float32) == worth).all():  # the product would be rounded
        worth = np.array([Fraction(v) for v in worth.reshape(-1).tolist()], dtype=object).reshape(worth.shape)
        shift = (low - zero.astype(object)) * worth
    flow = _affine(flow, worth, np.asarray(shift), str(node))
    plain = worth.dtype != object and bool((worth == np.floor(worth)).all())
    return replace(flow, dtype=dtype, whole=plain)


def _binarizer(node: Node, _: Sequence[Value | None], flow: Flow) -> Data:
    bound = np.asarray(node.attributes["threshold"], np.float32)
    return SignTable(_shifted(flow, -bound, str(node)), np.array([0, 0, 1], np.float32), str(node))


_RULES: dict[str, Callable[[Node, Sequence[Value | None], Flow], Data]] = {
    "Add": _add,
    "Binarizer": _binarizer,
    "BipolarQuant": _bipolar,
    "Cast": _cast,
    "Clip": _clip,
    "Div": _multiply,
    "HardSigmoid": _hard_sigmoid,
    "Identity": lambda _, __, flow: flow,
    "IntQuant": _quant,
    "LceDequantize": lambda _, __, flow: flow,
    "LceQuantize": lambda node, _, flow: SignTable(flow, np.array([-1, 1, 1], np.float32), str(node)),
    "LeakyRelu": _leaky,
    "Max": _clip,
    "Mean": _total,
    "Min": _clip,
    "Mul": _multiply,
    "Neg": _negate,
    "PRelu": _leaky,
    "Quant": _quant,
    "Relu": _clip,
    "Round": _round,
    "Sub": _add,
    "Sum": _total,
}
POINTWISE = {*_RULES, *_CURVES, "Sign", *_BELOW_AT_ABOVE}
"""Operations on data that are read here, besides those of a table."""
_NEAREST = {
    "Abs": "the absolute value of real data is not supported: it is not a threshold of a sum",
    "Pow": "powers of real data are not supported: they are not thresholds of a sum",
    "Where": (
        "it chooses between values that depend on the input. Where(x >= 0, 1, -1) with two numbers is a sign"
    ),
}


def batch_norm(node: Node, flow: Flow, *parameters: Array) -> Flow:
    """Read batch normalization with the statistics of the file."""
    refuse_if(
        node.attributes["training_mode"],
        "it takes mean and variance from the batch (training mode). "
        "Export the model in evaluation mode: model.eval().",
    )
    refuse_if(
        not node.attributes["spatial"],
        "it normalizes every pixel by itself (spatial=0), which is not supported.",
    )
    refuse_if(len(flow.axes) < 2, "it needs a batch axis and a channel axis.")
    count = flow.sizes[1]
    refuse_if(
        any(array.shape != (count,) for array in parameters),
        f"its parameters have shapes {', '.join(str(a.shape) for a in parameters)}, "
        f"but ({count},) is needed.",
    )
    refuse_if(not all(np.isfinite(array).all() for array in parameters), "a parameter is not finite.")
    spread = [array.reshape(1, count, *[1] * (len(flow.axes) - 2)) for array in parameters]
    marks = np.arange(count).reshape(spread[0].shape)  # different everywhere, so that no axis is narrowed
    flow, (indices,) = flow.beside([marks], str(node))
    gamma, beta, mean, var = (array.reshape(-1)[indices.reshape(-1)] for array in spread)
    eps = float(np.float32(node.attributes["epsilon"]))
    return replace(flow.then(BatchNorm(str(node), gamma, beta, mean, var, eps)), whole=False)


# -- constants -----------------------------------------------------------------------------------------------


def _constant(value: Value | None) -> Array:
    return expected(value, Constant, "one of its parameters is missing, or depends on the input.").array


def _real(array: Array, what: str) -> Array:
    refuse_if(
        array.dtype.kind not in "fiu" or not array.size or np.isnan(array).any(),
        what,
        "a constant holds no numbers that can be used.",
    )
    return array if array.dtype.kind == "f" else array.astype(np.int64)


def _single(array: Array, what: str) -> float:
    refuse_if(
        array.size != 1 or array.dtype.kind not in "fiu",
        f"{what} has shape {array.shape}, but one number for all is needed.",
    )
    value = float(array.reshape(-1)[0])
    refuse_if(isnan(value), f"{what} is not a number.")
    return value


def _few(array: Any) -> str:
    flat = np.asarray(array).reshape(-1)[:3].tolist()
    return f"{', '.join(f'{value:g}' for value in flat)}{', ...' if np.size(array) > 3 else ''}"
