"""Operators that move, pick, repeat or reduce values, and the ends of networks: softmax,
the largest score.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import TypeAlias

import numpy as np

from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.judge.tensors import (
    ROUND,
    SINGLE,
    OpCall,
    Tensor,
    UncomparableError,
    constant,
    exact_products,
)

__all__ = ["MOVES"]

_Operator: TypeAlias = Callable[[OpCall], Tensor | tuple[Tensor, ...]]


def _within(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise UncomparableError(f"axis {axis} does not exist in {rank} dimensions.")
    return axis % rank


def _reshape(call: OpCall) -> Tensor:
    x, sizes = call.tensor(0), call.listed(1, "shape")
    keep_zero = bool(call.number("allowzero"))
    if sizes is None:
        raise UncomparableError("its shape is missing.")
    if 0 in sizes[x.values.ndim :] and not keep_zero:
        raise UncomparableError("it copies a size that does not exist.")
    target = [x.shape[k] if size == 0 and not keep_zero else size for k, size in enumerate(sizes)]
    if target.count(-1) > 1 or min(target, default=1) < -1:
        raise UncomparableError("its shape is none.")
    known = prod(size for size in target if size != -1)
    if (known != x.values.size and -1 not in target) or (
        -1 in target and (not known or x.values.size % known)
    ):
        raise UncomparableError("its shape does not fit the data.")
    return x.moved(lambda array: array.reshape(target))


def _flatten(call: OpCall) -> Tensor:
    x, axis = call.tensor(0), call.number("axis", 1)
    rank = x.values.ndim
    if not -rank <= axis <= rank:
        raise UncomparableError(f"axis {axis} does not exist.")
    axis = axis + rank if axis < 0 else axis
    return x.moved(lambda array: array.reshape(prod(array.shape[:axis]), prod(array.shape[axis:])))


def _transpose(call: OpCall) -> Tensor:
    x = call.tensor(0)
    order = call.numbers("perm")
    order = tuple(range(x.values.ndim))[::-1] if order is None else order
    if sorted(order) != list(range(x.values.ndim)):
        raise UncomparableError("its perm does not fit the data.")
    return x.moved(lambda array: np.transpose(array, order))


def _squeeze(call: OpCall) -> Tensor:
    x, axes = call.tensor(0), call.listed(1, "axes")
    dropped = (
        [k for k, size in enumerate(x.shape) if size == 1]
        if axes is None
        else [_within(a, x.values.ndim) for a in axes]
    )
    if any(x.shape[axis] != 1 for axis in dropped):
        raise UncomparableError("it drops an axis that is larger than 1.")
    return x.moved(lambda array: np.squeeze(array, tuple(set(dropped))))


def _unsqueeze(call: OpCall) -> Tensor:
    x, axes = call.tensor(0), call.listed(1, "axes")
    if axes is None:
        raise UncomparableError("its axes are missing.")
    rank = x.values.ndim + len(axes)
    added = {_within(axis, rank) for axis in axes}
    if len(added) != len(axes) or rank > 32:
        raise UncomparableError("it adds an axis twice, or too many.")
    return x.moved(lambda array: np.expand_dims(array, tuple(added)))


def _expand(call: OpCall) -> Tensor:
    x, sizes = call.tensor(0), call.listed(1, "shape")
    if sizes is None or min(sizes, default=1) < 0:
        raise UncomparableError("its shape is missing or negative.")
    try:
        target = np.broadcast_shapes(x.shape, sizes)
    except ValueError:
        raise UncomparableError("its shape does not fit the data.") from None
    call.made(target)
    return x.moved(lambda array: np.ascontiguousarray(np.broadcast_to(array, target)))


def _gather(call: OpCall) -> Tensor:
    x, places = call.tensor(0), call.tensor(1)
    axis = _within(call.number("axis"), x.values.ndim)
    count = x.shape[axis]
    index = places.values
    if index.dtype.kind not in "iu" or not places.exact or ((index < -count) | (index >= count)).any():
        raise UncomparableError("it picks what does not exist.")
    call.made((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
    return x.moved(lambda array: np.take(array, np.where(index < 0, index + count, index), axis=axis))


def _gather_elements(call: OpCall) -> Tensor:
    x, places = call.tensor(0), call.tensor(1)
    axis = _within(call.number("axis"), x.values.ndim)
    count, index = x.shape[axis], places.values
    if (
        index.dtype.kind not in "iu"
        or index.ndim != x.values.ndim
        or ((index < -count) | (index >= count)).any()
    ):
        raise UncomparableError("it picks what does not exist.")
    if any(a > b for k, (a, b) in enumerate(zip(index.shape, x.shape, strict=True)) if k != axis):
        raise UncomparableError("it picks along more than there is.")
    call.made(index.shape)
    grid = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    grid[axis] = np.where(index < 0, index + count, index)
    unsure = np.where(places.errors > 0, np.inf, 0.0) if not places.exact else np.zeros(())
    return Tensor(x.values[tuple(grid)], x.kind, unsure, x.data or places.data)


def _concat(call: OpCall) -> Tensor:
    parts = [call.tensor(place) for place in range(len(call.inputs))]
    axis = call.attribute("axis")
    if not parts or not isinstance(axis, int) or len({part.kind for part in parts}) != 1:
        raise UncomparableError("it joins nothing, or different kinds, or names no axis.")
    axis = _within(axis, parts[0].values.ndim)
    call.made(*(part.shape for part in parts))
    try:
        values = np.concatenate([part.values for part in parts], axis)
    except ValueError:
        raise UncomparableError("it joins what does not fit together.") from None
    error = (
        np.zeros(())
        if all(part.exact for part in parts)
        else np.concatenate([part.errors for part in parts], axis)
    )
    return Tensor(values, parts[0].kind, error, any(part.data for part in parts))


def _slice(call: OpCall) -> Tensor:
    x = call.tensor(0)
    starts, ends, axes, steps = (
        call.listed(place, name) for place, name in ((1, "starts"), (2, "ends"), (3, "axes"), (4, "steps"))
    )
    if starts is None or ends is None or len(starts) != len(ends):
        raise UncomparableError("its starts or ends are missing.")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if len(axes) != len(starts) or len(steps) != len(starts) or 0 in steps:
        raise UncomparableError("its axes or steps do not fit.")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        at = _within(axis, x.values.ndim)
        size = x.shape[at]
        start, end = (value + size if value < 0 else value for value in (start, end))
        lowest, highest = (0, size) if step > 0 else (-1, size - 1)
        start, end = min(max(start, 0), size if step > 0 else size - 1), min(max(end, lowest), highest)
        chosen = np.array(range(start, end, step) if size else (), np.int64)
        x = x.moved(lambda array, at=at, chosen=chosen: np.take(array, chosen, axis=at))  # type: ignore[misc]
    return x


def _range(call: OpCall) -> Tensor:
    first, last, step = (call.tensor(place) for place in range(3))
    if any(t.data or t.values.size != 1 for t in (first, last, step)):
        raise UncomparableError("its ends are no constants.")
    a, b, c = (t.values.reshape(-1)[0].item() for t in (first, last, step))
    if not c or not all(map(isfinite, (a, b, c))):
        raise UncomparableError("its step is zero, or an end is not finite.")
    count = max(int(np.ceil(min((b - a) / c, 1e18))), 0)
    call.made((count,))
    return constant((a + np.arange(count) * c).astype(first.kind))


def _filled(call: OpCall) -> Tensor:
    sizes, value = call.listed(0, "shape"), call.attribute("value")
    if sizes is None or min(sizes, default=0) < 0:
        raise UncomparableError("its shape is missing or negative.")
    fill = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if fill.size != 1:
        raise UncomparableError("its value is not one number.")
    call.made(sizes)
    return constant(np.full(sizes, fill.reshape(-1)[0], fill.dtype))


def _constant(call: OpCall) -> Tensor:
    for name, kind in (
        ("value", None),
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        value = call.attribute(name)
        if value is not None:
            array = np.asarray(value, kind)
            if array.dtype.kind not in "fiub":
                break
            return constant(array)
    raise UncomparableError("it holds no numbers.")


def _shape(call: OpCall) -> Tensor:
    part = slice(call.number("start"), call.attribute("end"))
    return constant(np.array(call.tensor(0).shape[part], np.int64))


def _size(call: OpCall) -> Tensor:
    return constant(np.asarray(call.tensor(0).values.size, np.int64))


# -- reductions ----------------------------------------------------------------------------------------------


def _reduce(call: OpCall) -> Tensor:
    x, axes = call.tensor(0), call.listed(1, "axes")
    keep, noop = bool(call.number("keepdims", 1)), bool(call.number("noop_with_empty_axes"))
    if not axes and noop:
        return x
    chosen = (
        tuple(sorted({_within(axis, x.values.ndim) for axis in axes}))
        if axes
        else tuple(range(x.values.ndim))
    )
    terms = prod(x.shape[axis] for axis in chosen)
    op = call.node.op
    if op in ("ReduceMax", "ReduceMin"):
        if not terms:
            raise UncomparableError("it looks for the largest of nothing.")
        function = np.max if op == "ReduceMax" else np.min
        error = np.zeros(()) if x.exact else x.errors.max(axis=chosen, keepdims=keep)
        return Tensor(np.asarray(function(x.values, axis=chosen, keepdims=keep)), x.kind, error, x.data)
    unit = ROUND if x.data else SINGLE
    values = x.values.astype(np.float64 if x.kind.kind == "f" else np.int64)
    if op == "ReduceProd":
        if x.data or not x.exact:
            raise UncomparableError("it multiplies data.")
        found = np.asarray(values.prod(axis=chosen, keepdims=keep))
        return _as(x, found, np.asarray(terms * unit * np.abs(found)) if x.kind.kind == "f" else np.zeros(()))
    total = np.asarray(values.sum(axis=chosen, keepdims=keep))
    fine = x.kind.kind != "f" or exact_products(values, np.ones(1), terms)
    if fine and not x.data and x.kind == np.float32:
        fine = bool((np.abs(values).sum(axis=chosen) < 2.0**24).all() and (values == np.floor(values)).all())
    error = np.zeros(()) if fine else (terms + 2) * unit * np.abs(values).sum(axis=chosen, keepdims=keep)
    if not x.exact:
        error = error + x.errors.sum(axis=chosen, keepdims=keep)
    if op == "ReduceMean":
        if x.kind.kind != "f" or not terms:
            raise UncomparableError("it averages whole numbers, or nothing.")
        power = terms & (terms - 1) == 0
        total, error = total / terms, error / terms
        error = error if power else error + 2 * unit * np.abs(total)
    return _as(x, total, np.asarray(error))


def _as(x: Tensor, values: Array, error: Array) -> Tensor:
    """A result in the kind of its input; a rounded constant keeps its bound."""
    if x.kind.kind == "f":
        return Tensor(values if x.data else values.astype(x.kind), x.kind, error, x.data)
    return Tensor(values.astype(x.kind), x.kind, error, x.data)


# -- ends ----------------------------------------------------------------------------------------------------


def _soft(call: OpCall) -> Tensor:
    """Softmax and its kin: along one axis since operator set 13, before that over all axes from it on."""
    x = call.tensor(0)
    axis = _within(call.number("axis", -1 if call.opset >= 13 else 1), x.values.ndim)
    rows = np.moveaxis(x.values, axis, -1) if call.opset >= 13 else x.values.reshape(prod(x.shape[:axis]), -1)
    if call.node.op == "Hardmax":
        found = np.zeros_like(rows)
        np.put_along_axis(found, rows.argmax(axis=-1)[..., None], 1, axis=-1)
    else:
        apart = rows - rows.max(axis=-1, keepdims=True)
        total = np.exp(apart).sum(axis=-1, keepdims=True)
        found = apart - np.log(total) if call.node.op == "LogSoftmax" else np.exp(apart) / total
    back = np.moveaxis(found, -1, axis) if call.opset >= 13 else found.reshape(x.shape)
    return Tensor(back, x.kind, np.asarray(np.inf), x.data)  # behind the scores nothing is compared


def _arg_max(call: OpCall) -> Tensor:
    x = call.tensor(0)
    axis, keep, last = (
        _within(call.number("axis"), x.values.ndim),
        call.number("keepdims", 1),
        call.number("select_last_index"),
    )
    if not x.shape[axis]:
        raise UncomparableError("it looks for the largest of nothing.")
    rows = np.flip(x.values, axis) if last else x.values
    found = rows.argmax(axis=axis, keepdims=bool(keep))
    found = x.shape[axis] - 1 - found if last else found
    return Tensor(found.astype(np.int64), np.dtype(np.int64), np.asarray(np.inf), x.data)


def _top(call: OpCall) -> tuple[Tensor, Tensor]:
    x, count = call.tensor(0), call.listed(1, "k")
    axis, largest = _within(call.number("axis", -1), x.values.ndim), call.number("largest", 1)
    call.attribute("sorted")
    if count is None or len(count) != 1 or not 0 <= count[0] <= x.shape[axis]:
        raise UncomparableError("it picks more than there is.")
    order = np.argsort(-x.values if largest else x.values, axis=axis, kind="stable")
    places = np.take(order, np.arange(count[0]), axis=axis)
    values = np.take_along_axis(x.values, places, axis)
    endless = np.asarray(np.inf)
    return Tensor(values, x.kind, endless, x.data), Tensor(
        places.astype(np.int64), np.dtype(np.int64), endless, x.data
    )


MOVES: dict[str, _Operator] = {
    "ArgMax": _arg_max,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Hardmax": _soft,
    "LogSoftmax": _soft,
    "Range": _range,
    "ReduceMax": _reduce,
    "ReduceMean": _reduce,
    "ReduceMin": _reduce,
    "ReduceProd": _reduce,
    "ReduceSum": _reduce,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Softmax": _soft,
    "Squeeze": _squeeze,
    "TopK": _top,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""By the name of the operator."""
