"""Operators that move, pick, repeat or reduce values, and the ends of networks: softmax, the largest
score.
"""

from collections.abc import Callable
from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.interpreter.tensors import (
    ROUND,
    SINGLE,
    OpCall,
    Tensor,
    constant,
    exact_products,
)
from sugenet.io.onnx.operators import (
    REARRANGING,
    axis_within,
    constant_value,
    rearrangement,
    reduced_axes,
    tail_axis,
)
from sugenet.io.plain.refusals import refuse_if

__all__ = ["MOVES"]

_Operator: TypeAlias = Callable[[OpCall], Tensor | tuple[Tensor, ...]]
_Reduction: TypeAlias = Callable[[Tensor, dict[str, Any], int], Tensor]


def _rearranged(call: OpCall) -> Tensor:
    """Apply Reshape and similar operators, which leave every value as it is."""
    x = call.tensor(0)
    move = rearrangement(call.node.op, x.shape, call.parameters(), call.node.attributes)
    if call.node.op == "Expand":
        call.made(move.sizes)
    return x.moved(move)


def _axis(call: OpCall, x: Tensor) -> int:
    return axis_within(call["axis"], x.values.ndim)


def _gather(call: OpCall) -> Tensor:
    x, indices = call.tensor(0), call.tensor(1)
    axis = _axis(call, x)
    count = x.shape[axis]
    index = indices.values
    refuse_if(
        index.dtype.kind not in "iu" or not indices.exact or ((index < -count) | (index >= count)).any(),
        "its index is out of range.",
    )
    call.made((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
    return x.moved(lambda array: np.take(array, np.where(index < 0, index + count, index), axis=axis))


def _gather_elements(call: OpCall) -> Tensor:
    x, indices = call.tensor(0), call.tensor(1)
    axis = _axis(call, x)
    count, index = x.shape[axis], indices.values
    refuse_if(
        index.dtype.kind not in "iu"
        or index.ndim != x.values.ndim
        or ((index < -count) | (index >= count)).any(),
        "its index is out of range.",
    )
    refuse_if(
        any(a > b for k, (a, b) in enumerate(zip(index.shape, x.shape, strict=True)) if k != axis),
        "it picks along more than there is.",
    )
    call.made(index.shape)
    grid = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    grid[axis] = np.where(index < 0, index + count, index)
    unsure = np.where(indices.errors > 0, np.inf, 0.0) if not indices.exact else np.zeros(())
    return Tensor(x.values[tuple(grid)], x.kind, unsure, x.data or indices.data)


def _concat(call: OpCall) -> Tensor:
    parts = [call.tensor(index) for index in range(len(call.inputs))]
    refuse_if(not parts or len({part.kind for part in parts}) != 1, "it joins nothing, or different kinds.")
    axis = axis_within(call.node.attributes.get("axis"), parts[0].values.ndim)
    call.made(*(part.shape for part in parts))
    try:
        values = np.concatenate([part.values for part in parts], axis)
    except ValueError:
        raise FileError("it joins tensors that do not fit together.") from None
    error = (
        np.zeros(())
        if all(part.exact for part in parts)
        else np.concatenate([part.errors for part in parts], axis)
    )
    return Tensor(values, parts[0].kind, error, any(part.data for part in parts))


def _slice(call: OpCall) -> Tensor:
    x = call.tensor(0)
    starts, ends, axes, steps = (
        call.listed(index, name) for index, name in ((1, "starts"), (2, "ends"), (3, "axes"), (4, "steps"))
    )
    if starts is None or ends is None or len(starts) != len(ends):
        raise FileError("its starts or ends are missing.")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    refuse_if(
        len(axes) != len(starts) or len(steps) != len(starts) or 0 in steps, "its axes or steps do not fit."
    )
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        at = axis_within(axis, x.values.ndim)
        size = x.shape[at]
        start, end = (value + size if value < 0 else value for value in (start, end))
        lowest, highest = (0, size) if step > 0 else (-1, size - 1)
        start, end = min(max(start, 0), size if step > 0 else size - 1), min(max(end, lowest), highest)
        chosen = np.array(range(start, end, step) if size else (), np.int64)
        x = x.moved(lambda array, at=at, chosen=chosen: np.take(array, chosen, axis=at))  # type: ignore[misc]
    return x


def _range(call: OpCall) -> Tensor:
    first, last, step = (call.tensor(index) for index in range(3))
    refuse_if(any(t.data or t.values.size != 1 for t in (first, last, step)), "its ends are not constants.")
    a, b, c = (t.values.reshape(-1)[0].item() for t in (first, last, step))
    refuse_if(not c or not all(map(isfinite, (a, b, c))), "its step is zero, or an end is not finite.")
    count = max(int(np.ceil(min((b - a) / c, 1e18))), 0)
    call.made((count,))
    return constant((a + np.arange(count) * c).astype(first.kind))


def _filled(call: OpCall) -> Tensor:
    sizes, fill = call.listed(0, "shape"), call["value"]
    if sizes is None or min(sizes, default=0) < 0 or not call.tensor(0).exact:
        raise FileError("its shape is missing or negative.")
    refuse_if(fill.size != 1, "its value is not one number.")
    call.made(sizes)
    return constant(np.full(sizes, fill.reshape(-1)[0], fill.dtype))


def _shape(call: OpCall) -> Tensor:
    part = slice(call["start"], call.node.attributes.get("end"))
    return constant(np.array(call.tensor(0).shape[part], np.int64))


# -- reductions ----------------------------------------------------------------------------------------------


def _reduce(call: OpCall) -> Tensor:
    x, keep = call.tensor(0), bool(call["keepdims"])
    axes = reduced_axes(call.parameters(), call.node.attributes, x.values.ndim)
    if axes is None:
        return x
    terms = prod(x.shape[axis] for axis in axes)
    return _REDUCTIONS[call.node.op](x, {"axis": axes, "keepdims": keep}, terms)


def _extreme(function: Callable[..., Any]) -> _Reduction:
    def run(x: Tensor, axis: dict[str, Any], terms: int) -> Tensor:
        refuse_if(not terms, "max over an empty axis.")
        error = np.zeros(()) if x.exact else x.errors.max(**axis)
        return Tensor(np.asarray(function(x.values, **axis)), x.kind, error, x.data)

    return run


def _wide(x: Tensor) -> Array:
    return x.values.astype(np.float64 if x.kind.kind == "f" else np.int64)


def _multiplied(x: Tensor, axis: dict[str, Any], terms: int) -> Tensor:
    refuse_if(x.data or not x.exact, "it multiplies data.")
    product = np.asarray(_wide(x).prod(**axis))
    error = np.asarray(terms * SINGLE * np.abs(product)) if x.kind.kind == "f" else np.zeros(())
    return _as(x, product, error)


def _mean(x: Tensor, axis: dict[str, Any], terms: int) -> Tensor:
    refuse_if(x.kind.kind != "f" or not terms, "it averages integers, or nothing.")
    values, error = (part / terms for part in _added(x, axis, terms))
    if terms & (terms - 1):
        error = error + 2 * _unit(x) * np.abs(values)
    return _as(x, values, np.asarray(error))


def _unit(x: Tensor) -> float:
    return ROUND if x.data else SINGLE


def _added(x: Tensor, axis: dict[str, Any], terms: int) -> tuple[Array, Array]:
    """Return sums and their bounds."""
    values = _wide(x)
    size = np.abs(values).sum(**axis)
    fine = x.kind.kind != "f" or exact_products(values, np.ones(1), terms)
    if fine and not x.data and x.kind == np.float32:
        fine = bool((size < 2.0**24).all() and (values == np.floor(values)).all())
    error = np.zeros(()) if fine else (terms + 2) * _unit(x) * size
    return np.asarray(values.sum(**axis)), np.asarray(error if x.exact else error + x.errors.sum(**axis))


_REDUCTIONS: dict[str, _Reduction] = {
    "ReduceMax": _extreme(np.max),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(np.min),
    "ReduceProd": _multiplied,
    "ReduceSum": lambda x, axis, terms: _as(x, *_added(x, axis, terms)),
}


def _as(x: Tensor, values: Array, error: Array) -> Tensor:
    """Return a result in the type of its input. A rounded constant keeps its bound."""
    if x.kind.kind == "f":
        return Tensor(values if x.data else values.astype(x.kind), x.kind, error, x.data)
    return Tensor(values.astype(x.kind), x.kind, error, x.data)


# -- ends ----------------------------------------------------------------------------------------------------


def _soft(call: OpCall) -> Tensor:
    """Apply Softmax and similar operators: along one axis since opset 13, before that over all axes from it
    on.
    """
    x = call.tensor(0)
    axis = tail_axis(call.node, call.opset, x.values.ndim)
    rows = np.moveaxis(x.values, axis, -1) if call.opset >= 13 else x.values.reshape(prod(x.shape[:axis]), -1)
    if call.node.op == "Hardmax":
        normalized = np.zeros_like(rows)
        np.put_along_axis(normalized, rows.argmax(axis=-1)[..., None], 1, axis=-1)
    else:
        apart = rows - rows.max(axis=-1, keepdims=True)
        total = np.exp(apart).sum(axis=-1, keepdims=True)
        normalized = apart - np.log(total) if call.node.op == "LogSoftmax" else np.exp(apart) / total
    back = np.moveaxis(normalized, -1, axis) if call.opset >= 13 else normalized.reshape(x.shape)
    return Tensor(back, x.kind, np.asarray(np.inf), x.data)  # after the scores nothing is compared


def _arg_max(call: OpCall) -> Tensor:
    x = call.tensor(0)
    axis, keep, last = _axis(call, x), call["keepdims"], call["select_last_index"]
    refuse_if(not x.shape[axis], "max over an empty axis.")
    rows = np.flip(x.values, axis) if last else x.values
    indices = rows.argmax(axis=axis, keepdims=bool(keep))
    indices = x.shape[axis] - 1 - indices if last else indices
    return Tensor(indices.astype(np.int64), np.dtype(np.int64), np.asarray(np.inf), x.data)


def _top(call: OpCall) -> tuple[Tensor, Tensor]:
    x, count = call.tensor(0), call.listed(1, "k")
    axis, largest = _axis(call, x), call["largest"]
    if count is None or len(count) != 1 or not 0 <= count[0] <= x.shape[axis]:
        raise FileError("it picks more than there is.")
    order = np.argsort(-x.values if largest else x.values, axis=axis, kind="stable")
    indices = np.take(order, np.arange(count[0]), axis=axis)
    values = np.take_along_axis(x.values, indices, axis)
    endless = np.asarray(np.inf)
    return Tensor(values, x.kind, endless, x.data), Tensor(
        indices.astype(np.int64), np.dtype(np.int64), endless, x.data
    )


MOVES: dict[str, _Operator] = {
    **dict.fromkeys(REARRANGING, _rearranged),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    "ArgMax": _arg_max,
    "Concat": _concat,
    "Constant": lambda call: constant(constant_value(call.node.attributes)),
    "ConstantOfShape": _filled,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Hardmax": _soft,
    "LogSoftmax": _soft,
    "Range": _range,
    "Shape": _shape,
    "Size": lambda call: constant(np.asarray(call.tensor(0).values.size, np.int64)),
    "Slice": _slice,
    "Softmax": _soft,
    "TopK": _top,
}
"""By the name of the operator."""
