"""Shape rules of ONNX operators, shared by readers and interpreters. They define the result of Reshape,
Flatten, Transpose, Squeeze, Unsqueeze and Expand, and the axes of an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "REARRANGING",
    "Rearrangement",
    "axes_of",
    "axis_within",
    "integers",
    "rearrangement",
    "reduced_axes",
    "tail_axis",
]

_Inputs: TypeAlias = Sequence[Any]
"""Arrays, or None for an omitted optional input; five of them, or more."""
_Attributes: TypeAlias = Mapping[str, Any]
_Shape: TypeAlias = tuple[int, ...]


def integers(value: Any, what: str, length: int | None = None) -> tuple[int, ...]:
    """Check a list of integers of reasonable size, from an attribute or a constant."""
    array = np.asarray(value)
    empty = array.size == 0 and array.ndim == 1
    refuse_if(
        not empty
        and (
            array.dtype.kind not in "iu"
            or array.ndim > 1
            or array.size > 64
            or any(abs(v) >= 1 << 62 for v in array.ravel().tolist())
        ),
        f"{what} should be a short list of integers.",
    )
    numbers = tuple(int(v) for v in array.reshape(-1))
    refuse_if(
        length is not None and len(numbers) != length,
        f"{what} has {len(numbers)} numbers, but {length} are needed.",
    )
    return numbers


def axis_within(axis: Any, rank: int, last: int = -1) -> int:
    """Return an axis counted from the front; `last` is the largest allowed (default: the last axis)."""
    refuse_if(
        not isinstance(axis, int) or not -rank <= axis <= (rank - 1 if last < 0 else last),
        f"its axis is {axis}, but the data have {rank} axes.",
    )
    return int(axis + rank if axis < 0 else axis)


def axes_of(inputs: _Inputs, attributes: _Attributes, rank: int, index: int = 1) -> tuple[int, ...] | None:
    """Return the axes of an operator, from an attribute, or from an input since opset 13; None if it names
    none.
    """
    named = attributes.get("axes") if inputs[index] is None else inputs[index]
    if named is None:
        return None
    axes = integers(named, "axes")
    refuse_if(
        any(not -rank <= axis < rank for axis in axes),
        f"axes {list(axes)} do not exist in {rank} dimensions.",
    )
    return tuple(axis % rank for axis in axes)


def reduced_axes(inputs: _Inputs, attributes: _Attributes, rank: int) -> tuple[int, ...] | None:
    """Return the axes that Reduce... reduces, in order; None if it leaves everything as it is."""
    axes, noop = axes_of(inputs, attributes, rank), attributes["noop_with_empty_axes"]
    if not axes:
        return None if noop else tuple(range(rank))
    return tuple(sorted(set(axes)))


def tail_axis(node: Node, opset: int, rank: int) -> int:
    """Return the axis of Softmax, ArgMax and similar operators (default: the last; before opset 13, the
    second).
    """
    return axis_within(node.attributes.get("axis", -1 if opset >= 13 else 1), rank)


@dataclass(frozen=True)
class Rearrangement:
    """The values of a tensor, unchanged, in another shape, or with its axes in another order."""

    sizes: _Shape
    order: tuple[int, ...] | None = None
    copies: bool = False
    """Whether values are repeated."""

    def __call__(self, array: Array) -> Array:
        """Return the array rearranged."""
        if self.order is not None:
            return np.transpose(array, self.order)
        return np.broadcast_to(array, self.sizes) if self.copies else array.reshape(self.sizes)


def rearrangement(op: str, shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the effect of an operator of `REARRANGING` on a tensor.

    Parameters
    ----------
    op
        The operator.
    shape
        Shape of its first input.
    inputs
        All its inputs. The first is ignored.
    attributes
        The attributes of the node, with defaults.

    Raises
    ------
    FileError
        If the result is not a shape, or does not fit this tensor.
    """
    return REARRANGING[op](shape, inputs, attributes)


def _reshape(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return a shape in which 0 copies a size and -1 is inferred."""
    sizes = list(integers(inputs[1], "its shape"))
    if not attributes["allowzero"]:
        refuse_if(0 in sizes[len(shape) :], f"it copies an axis that does not exist into shape {sizes}.")
        sizes = [shape[k] if size == 0 else size for k, size in enumerate(sizes)]
    empty = 0 in sizes and (prod(shape) > 0 or -1 in sizes)
    refuse_if(
        sizes.count(-1) > 1 or min(sizes, default=1) < -1 or empty,
        f"it makes shape {sizes}, which is not a shape.",
    )
    if -1 in sizes:
        rest, left = divmod(prod(shape), prod(size for size in sizes if size != -1))
        refuse_if(left, f"it makes shape {sizes} of {prod(shape)} values.")
        sizes[sizes.index(-1)] = rest
    return Rearrangement(tuple(sizes))


def _flatten(shape: _Shape, _: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return two axes: those before `axis`, and the others."""
    axis = axis_within(attributes["axis"], len(shape), len(shape))
    return Rearrangement((prod(shape[:axis]), prod(shape[axis:])))


def _transpose(shape: _Shape, _: _Inputs, attributes: _Attributes) -> Rearrangement:
    rank = len(shape)
    order = integers(attributes.get("perm", tuple(range(rank))[::-1]), "perm")
    refuse_if(
        sorted(order) != list(range(rank)), f"its perm is {list(order)}, but the data have {rank} axes."
    )
    return Rearrangement(tuple(shape[axis] for axis in order), order)


def _squeeze(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the shape without axes of size 1."""
    axes = axes_of(inputs, attributes, len(shape))
    dropped = [k for k, size in enumerate(shape) if size == 1] if axes is None else axes
    refuse_if(any(shape[axis] != 1 for axis in dropped), "it drops an axis that is larger than 1.")
    return Rearrangement(tuple(size for k, size in enumerate(shape) if k not in dropped))


def _unsqueeze(shape: _Shape, inputs: _Inputs, attributes: _Attributes) -> Rearrangement:
    """Return the shape with more axes of size 1."""
    count = len(integers(attributes.get("axes", ()) if inputs[1] is None else inputs[1], "axes"))
    axes = axes_of(inputs, attributes, len(shape) + count) or ()
    refuse_if(len(set(axes)) != count, "it adds an axis twice.")
    rest = iter(shape)
    return Rearrangement(tuple(1 if k in axes else next(rest) for k in range(len(shape) + count)))


def _expand(shape: _Shape, inputs: _Inputs, _: _Attributes) -> Rearrangement:
    sizes = integers(inputs[1], "its shape")
    try:
        target = np.broadcast_shapes(shape, sizes)
    except ValueError:
        raise FileError(f"its shape {list(sizes)} does not fit the data.") from None
    return Rearrangement(target, copies=prod(target) != prod(shape))


REARRANGING: dict[str, Callable[[_Shape, _Inputs, _Attributes], Rearrangement]] = {
    "Expand": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Operators that leave every value as it is."""
