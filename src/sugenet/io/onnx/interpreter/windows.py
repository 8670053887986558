"""Products and sliding windows: matrix products, convolutions, pooling, padding and batch normalization."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.interpreter.tensors import (
    ROUND,
    SINGLE,
    OpCall,
    Operator,
    Tensor,
    exact_products,
)
from sugenet.io.onnx.operators import integers
from sugenet.io.plain.refusals import refuse_if, required

__all__ = ["WINDOWS", "cut", "window_axes"]

# -- sums of products ----------------------------------------------------------------------------------------


def _summed(
    rows: Tensor, values: Array, errors: Array, weights: Array, spread: Array | None
) -> tuple[Array, Array]:
    """Return ``values @ weights`` and the bound of each sum, for values of shape (..., terms).

    `spread` bounds the weights.
    """
    terms, weights = len(weights), np.ascontiguousarray(weights)
    result = (values.reshape(-1, terms) @ weights).reshape(*values.shape[:-1], weights.shape[1])
    bound: Any = np.zeros(())
    if not rows.exact:
        bound = errors @ np.abs(weights)
    if spread is not None:
        bound = bound + (np.abs(values) + (0.0 if rows.exact else errors)) @ spread
    if rows.kind.kind == "f" and not exact_products(values, weights, terms):
        unit = ROUND if rows.data else SINGLE
        max_values = np.abs(values).max(axis=-1, keepdims=True, initial=0)
        bound = bound + (terms + 2) * unit * max_values * np.abs(weights).sum(axis=0)
    return result, np.asarray(bound)


def _matrices(call: OpCall, left: Tensor, right: Tensor) -> Tensor:
    refuse_if(
        right.data or left.values.ndim < 1 or right.values.ndim != 2 or left.shape[-1] != right.shape[0],
        "it multiplies other things than data and a matrix of the file.",
    )
    call.made(left.shape, (*left.shape[:-1], right.shape[1]))
    call.spend(prod(left.shape) * right.shape[1] // 64)
    result, bound = _summed(
        left,
        left.values.astype(np.float64),
        np.asarray(left.errors),
        right.values.astype(np.float64),
        None if right.exact else np.asarray(right.errors),
    )
    kind = left.kind
    return Tensor(result if left.data or kind.kind == "f" else result.astype(kind), kind, bound, left.data)


def _gemm(call: OpCall) -> Tensor:
    left, right, added = call.tensor(0), call.tensor(1), call.optional(2)
    refuse_if(left.values.ndim != 2 or right.values.ndim != 2, "its operands are not matrices.")
    left = left.moved(np.transpose) if call["transA"] else left
    right = right.moved(np.transpose) if call["transB"] else right
    alpha, beta = call.real("alpha"), call.real("beta")
    product = _matrices(call, left, right)
    values, error = product.values * alpha, product.error * abs(alpha)
    if alpha != 1:
        error = error + 2 * ROUND * np.abs(values)
    if added is not None:
        refuse_if(
            added.data or not _fits(added.shape, values.shape),
            "its summand is not a constant of the shape of its result.",
        )
        shift = added.values.astype(np.float64) * beta
        plain = (
            beta == 1
            and alpha == 1
            and product.exact
            and exact_products(np.concatenate([values.reshape(-1), shift.reshape(-1)]), np.ones(1), 2)
        )
        values = values + shift
        if beta != 1:
            error = error + SINGLE * np.abs(shift)  # a reader may round it to the file's floats
        error = error if plain else error + 2 * ROUND * (np.abs(values) + np.abs(shift))
        error = error + abs(beta) * added.error
    return Tensor(values, product.kind, np.asarray(error), product.data)


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to another without changing it."""
    return len(shape) <= len(target) and all(
        a in (1, b) for a, b in zip(shape[::-1], target[::-1], strict=False)
    )


# -- windows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """The taps of a window along one axis, for each position: their indices, and which of them are inside."""

    places: Array
    inside: Array
    counted: Array
    """Whether a tap is inside, or in the padding that the file defines."""


def window_axes(
    attributes: Mapping[str, Any],
    sizes: Sequence[int],
    kernel: Sequence[int] | None,
    spend: Callable[[int], None],
) -> list[_Axis]:
    """Return the windows along each axis of pixels."""
    kernel = required(kernel, "it has no kernel_shape.")
    rank = len(sizes)
    strides, dilations = (
        integers(attributes.get(name, (1,) * rank), name) for name in ("strides", "dilations")
    )
    pads = integers(attributes.get("pads", (0,) * (2 * rank)), "pads")
    mode = attributes.get("auto_pad") or "NOTSET"
    ceil = bool(attributes.get("ceil_mode"))
    refuse_if(
        len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank or len(kernel) != rank,
        "its attributes have the wrong number of axes.",
    )
    refuse_if(
        min((*strides, *dilations, *kernel)) < 1
        or min(pads) < 0
        or mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
        "its attributes make no windows.",
    )
    axes = []
    for k, (size, taps, step, spread) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        reach = (taps - 1) * spread + 1
        before, behind = (pads[k], pads[k + rank]) if mode == "NOTSET" else (0, 0)
        if mode.startswith("SAME"):
            count = (size + step - 1) // step
            total = max((count - 1) * step + reach - size, 0)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            behind = total - before
        else:
            room = size + before + behind - reach
            refuse_if(room < 0, "its window does not fit.")
            count = room // step + 1
            # one more, which starts before the trailing padding
            if ceil and room % step and count * step < size + before:
                count += 1
        spend(count * taps)
        indices = np.arange(count)[:, None] * step - before + np.arange(taps)[None, :] * spread
        axes.append(
            _Axis(
                indices, (indices >= 0) & (indices < size), (indices >= -before) & (indices < size + behind)
            )
        )
    return axes


def cut(array: Array, axes: Sequence[_Axis], fill: float, spend: Callable[[int], None]) -> Array:
    """Return windows of maps (n, c, pixels...), as (n, c, positions..., taps...)."""
    spend(prod((*array.shape[:2], *(size for axis in axes for size in axis.places.shape))))
    for at, axis in enumerate(axes, start=2):  # its position is at this axis, its tap at the last
        array = np.take(array, np.clip(axis.places, 0, array.shape[at] - 1), axis=at)
        mask = axis.inside.reshape(*axis.inside.shape, *[1] * (array.ndim - at - 2))
        array = np.where(mask, array, fill)
        array = np.moveaxis(array, at + 1, -1)
    assert array.ndim == 2 + 2 * len(axes)
    return array


def _maps(call: OpCall) -> Tensor:
    x = call.tensor(0)
    refuse_if(x.values.ndim < 3 or not x.values.size, "it slides over data without pixels.")
    return x


def _conv(call: OpCall) -> Tensor:
    x, weights, bias = _maps(call), call.tensor(1), call.optional(2)
    refuse_if(
        weights.data or weights.values.ndim != x.values.ndim or (bias is not None and bias.data),
        "its weights are not constants of the file.",
    )
    w = weights.values.astype(np.float64)
    groups = call["group"]
    kernel = call.numbers("kernel_shape") or w.shape[2:]
    refuse_if(
        kernel != w.shape[2:]
        or groups < 1
        or w.shape[1] * groups != x.shape[1]
        or len(w) % groups
        or not w.size,
        "its weights do not fit the data.",
    )
    axes = window_axes(call.node.attributes, x.shape[2:], kernel, call.spend)
    positions = tuple(len(axis.places) for axis in axes)
    taps = prod(kernel)
    call.spend(len(x.values) * prod(positions) * len(w) * w.shape[1] * taps // 64)

    def rows(array: Array, g: int) -> Array:
        taps_of = cut(array[:, g * w.shape[1] : (g + 1) * w.shape[1]], axes, 0.0, call.spend)
        order = (0, *range(2, 2 + len(axes)), 1, *range(2 + len(axes), taps_of.ndim))
        return taps_of.transpose(order).reshape(len(array), *positions, w.shape[1] * taps)

    made, bounds = [], []
    per = len(w) // groups
    for g in range(groups):
        flat, wide = (a[g * per : (g + 1) * per].reshape(per, -1).T for a in (w, weights.errors))
        laid = rows(x.values.astype(np.float64), g)
        sums, bound = _summed(
            x, laid, laid if x.exact else rows(np.asarray(x.errors), g), flat, None if weights.exact else wide
        )
        made.append(sums)
        bounds.append(np.broadcast_to(bound, sums.shape))
    values, error = (np.moveaxis(np.concatenate(parts, axis=-1), -1, 1) for parts in (made, bounds))
    if bias is not None:
        refuse_if(bias.shape != (len(w),), "its bias does not fit.")
        shift = bias.values.astype(np.float64).reshape(-1, *[1] * len(axes))
        fine = not error.any() and exact_products(
            np.concatenate([values.reshape(-1), shift.reshape(-1)]), np.ones(1), 2
        )
        values = values + shift
        error = error if fine else error + ROUND * np.abs(values)
        error = error + bias.errors.reshape(shift.shape)
    return Tensor(values, x.kind, error if error.any() else np.zeros(()), x.data)


def _windows(call: OpCall, x: Tensor) -> list[_Axis]:
    """Return the windows of pooling. Those of global pooling are whole maps."""
    if call.node.op.startswith("Global"):
        return window_axes({}, x.shape[2:], x.shape[2:], call.spend)
    return window_axes(call.node.attributes, x.shape[2:], call.numbers("kernel_shape"), call.spend)


def _max_pool(call: OpCall) -> Tensor:
    x = _maps(call)
    axes = _windows(call, x)
    last = tuple(range(-len(axes), 0))
    values = cut(x.values.astype(np.float64), axes, -np.inf, call.spend).max(axis=last)
    refuse_if(np.isneginf(values).any(), "a window lies entirely in the padding.")
    error = np.zeros(()) if x.exact else cut(np.asarray(x.errors), axes, 0.0, call.spend).max(axis=last)
    return Tensor(values if x.kind.kind == "f" else values.astype(x.kind), x.kind, error, x.data)


def _average_pool(call: OpCall) -> Tensor:
    x, include = _maps(call), call.node.attributes.get("count_include_pad")
    axes = _windows(call, x)
    count = np.ones((), np.int64)
    for axis in axes:
        count = np.multiply.outer(count, (axis.counted if include else axis.inside).sum(axis=1))
    refuse_if(not count.all(), "a window lies entirely in the padding.")
    return _mean(x, [cut(part, axes, 0.0, call.spend) for part in _parts(x)], count, len(axes))


def _parts(x: Tensor) -> list[Array]:
    return (
        [x.values.astype(np.float64)]
        if x.exact
        else [x.values.astype(np.float64), np.ascontiguousarray(x.errors)]
    )


def _mean(x: Tensor, parts: list[Array], count: Array, rank: int) -> Tensor:
    """Return means over the last axes of values, and of their bounds."""
    last = tuple(range(-rank, 0))
    total = parts[0].sum(axis=last)
    terms = prod(parts[0].shape[-rank:])
    values = total / count
    error = (terms + 2) * ROUND * np.abs(parts[0]).sum(axis=last) / count
    if exact_products(parts[0], np.ones(1), terms):
        error = np.where(
            values * count == total,
            np.where(np.log2(count) % 1 == 0, 0.0, 2 * ROUND * np.abs(values)),
            2 * ROUND * np.abs(values),
        )
    if len(parts) > 1:
        error = error + parts[1].sum(axis=last) / count
    return Tensor(values, x.kind, error if error.any() else np.zeros(()), x.data)


def _max_pool_last(call: OpCall) -> Tensor:
    """Apply QONNX's MaxPoolNHWC."""
    x = call.tensor(0)
    refuse_if(x.values.ndim != 4, "it needs four axes.")
    first = x.moved(lambda array: np.moveaxis(array, -1, 1))
    return _max_pool(replace(call, inputs=[first])).moved(lambda array: np.moveaxis(array, 1, -1))


def _windows_as_rows(call: OpCall) -> Tensor:
    """Apply FINN's Im2Col: the windows of maps (n, h, w, c), as rows of pixels by channels."""
    x = call.tensor(0)

    def pair(name: str, default: tuple[int, ...] | None, count: int = 2) -> tuple[int, ...]:
        numbers = call.numbers(name, default)
        if numbers is None or len(numbers) not in (1, count):
            raise FileError(f"its {name} is missing or has the wrong length.")
        return numbers * count if len(numbers) == 1 else numbers

    kernel, stride, dilation = pair("kernel_size", None), pair("stride", (1, 1)), pair("dilations", (1, 1))
    pads, fill = pair("pad_amount", (0, 0, 0, 0), 4), call.node.attributes.get("pad_value", 0)
    refuse_if(call["depthwise"] or fill or x.values.ndim != 4, "it makes windows in a way that is not known.")
    geometry = {"strides": stride, "dilations": dilation, "pads": pads}
    axes = window_axes(geometry, x.shape[1:3], kernel, call.spend)

    def rows(array: Array) -> Array:
        taps = cut(np.moveaxis(array, -1, 1), axes, 0.0, call.spend).transpose(0, 2, 3, 4, 5, 1)
        return taps.reshape(*taps.shape[:3], -1)  # n y x ky kx c

    return x.moved(rows)


# -- padding and normalization -------------------------------------------------------------------------------


def _pad(call: OpCall) -> Tensor:
    x, fill = call.tensor(0), call.optional(2)
    refuse_if(call["mode"] != "constant", "it pads by copies.")
    rank = x.values.ndim
    amounts, named = call.listed(1, "pads"), call.listed(3, "axes")
    axes = tuple(range(rank)) if named is None else named
    value = call.real("value") if fill is None else float(fill.values.reshape(-1)[0])
    if (
        amounts is None
        or len(amounts) != 2 * len(axes)
        or any(not -rank <= axis < rank for axis in axes)
        or (fill is not None and fill.data)
    ):
        raise FileError("its pads do not fit the data.")
    around = [(0, 0)] * rank
    for k, axis in enumerate(axes):
        around[axis % rank] = amounts[k], amounts[k + len(axes)]
    call.made(
        tuple(max(size + before + behind, 0) for size, (before, behind) in zip(x.shape, around, strict=True))
    )
    refuse_if(
        any(size + before + behind < 0 for size, (before, behind) in zip(x.shape, around, strict=True)),
        "its pads cut away more than there is.",
    )
    kept = tuple(
        slice(max(-before, 0), size - max(-behind, 0))
        for size, (before, behind) in zip(x.shape, around, strict=True)
    )
    wide = [(max(before, 0), max(behind, 0)) for before, behind in around]
    values = np.pad(x.values[kept], wide, constant_values=value)
    return Tensor(values, x.kind, np.zeros(()) if x.exact else np.pad(x.errors[kept], wide), x.data)


def _normalized(call: OpCall) -> Tensor:
    x = call.tensor(0)
    parameters = [call.tensor(index) for index in (1, 2, 3, 4)]
    refuse_if(
        call["training_mode"] or not call["spatial"],
        "it takes the statistics of the batch, or of single pixels.",
    )
    refuse_if(
        x.values.ndim < 2 or any(p.data or p.shape != (x.shape[1],) for p in parameters),
        "its parameters are not constants, one per channel.",
    )
    call.made(x.shape, x.shape)
    gamma, beta, mean, var = (
        p.values.astype(np.float64).reshape(-1, *[1] * (x.values.ndim - 2)) for p in parameters
    )
    root = np.sqrt(var + call.real("epsilon"))
    apart = x.values - mean
    part = apart - x.values
    lost = (x.values - (apart - part)) + (-mean - part)
    error = x.error + np.where(lost == 0, 0.0, ROUND * np.abs(apart))
    term = gamma * apart / root
    result = term + beta
    bound = (
        np.abs(gamma / root) * error * (1 + 8 * ROUND)
        + 8 * ROUND * np.abs(term)
        + np.where(beta == 0, 0.0, ROUND * np.abs(result))
    )
    if not all(p.exact for p in parameters):
        g, b, m, v = (p.errors.reshape(gamma.shape) for p in parameters)
        room = np.where(2 * v < root**2, root**2 - v, 0.0)
        with np.errstate(divide="ignore"):
            bound = bound + 2 * (
                np.abs(apart / root) * g
                + b
                + np.abs((np.abs(gamma) + g) / root) * m
                + np.where(v > 0, np.abs(term) * v / room, 0.0)
            )
    return Tensor(result, x.kind, np.asarray(bound), x.data)


WINDOWS: dict[str, Operator] = {
    "AveragePool": _average_pool,
    "BatchNormalization": _normalized,
    "Conv": _conv,
    "Gemm": _gemm,
    "GlobalAveragePool": _average_pool,
    "GlobalMaxPool": _max_pool,
    "Im2Col": _windows_as_rows,
    "MatMul": lambda call: _matrices(call, call.tensor(0), call.tensor(1)),
    "MaxPool": _max_pool,
    "MaxPoolNHWC": _max_pool_last,
    "Pad": _pad,
}
"""By the name of the operator."""
