"""Operations of an ONNX graph that move axes about and leave every value as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from sugenet.errors import FileError
from sugenet.io.onnx.flow import Flow
from sugenet.io.onnx.fold import axes_of, integers
from sugenet.io.onnx.graph import Array, Node

__all__ = ["expand", "flatten", "reshape", "squeeze", "transpose", "unsqueeze"]


def reshape(node: Node, flow: Flow, given: Sequence[Array | None]) -> Flow:
    """Another shape; 0 copies a size, -1 stands for what is left."""
    sizes = list(integers(given[1], "its shape"))
    there = flow.sizes
    if not node.attributes.get("allowzero", 0):
        if any(size == 0 and k >= len(there) for k, size in enumerate(sizes)):
            raise FileError(f"it copies an axis that does not exist into shape {sizes}.")
        sizes = [there[k] if size == 0 else size for k, size in enumerate(sizes)]
    if sizes.count(-1) > 1 or any(size < -1 or size == 0 for size in sizes):
        raise FileError(f"it makes shape {sizes}, which is none.")
    if -1 in sizes:
        known = prod(size for size in sizes if size != -1)
        if prod(there) % known:
            raise FileError(f"it makes shape {sizes} of {prod(there)} values.")
        sizes[sizes.index(-1)] = prod(there) // known
    return flow.reshaped(sizes)


def flatten(node: Node, flow: Flow, _: Sequence[Array | None]) -> Flow:
    """Two axes: those before `axis`, and the others."""
    axis = node.attributes.get("axis", 1)
    rank = len(flow.axes)
    if not isinstance(axis, int) or not -rank <= axis <= rank:
        raise FileError(f"its axis is {axis}, but the data have {rank} axes.")
    axis += rank if axis < 0 else 0
    return flow.reshaped((prod(flow.sizes[:axis]), prod(flow.sizes[axis:])))


def transpose(node: Node, flow: Flow, _: Sequence[Array | None]) -> Flow:
    """The axes in another order."""
    rank = len(flow.axes)
    order = integers(node.attributes.get("perm", tuple(range(rank))[::-1]), "perm")
    if sorted(order) != list(range(rank)):
        raise FileError(f"its perm is {list(order)}, but the data have {rank} axes.")
    return flow.transposed(order)


def squeeze(node: Node, flow: Flow, given: Sequence[Array | None]) -> Flow:
    """Without axes of size 1."""
    axes = axes_of(given, node.attributes, len(flow.axes))
    dropped = [k for k, axis in enumerate(flow.axes) if not axis] if axes is None else axes
    if any(flow.axes[axis] for axis in dropped):
        raise FileError("it drops an axis that is larger than 1.")
    return replace(flow, axes=tuple(axis for k, axis in enumerate(flow.axes) if k not in dropped))


def unsqueeze(node: Node, flow: Flow, given: Sequence[Array | None]) -> Flow:
    """With more axes of size 1."""
    count = len(integers(node.attributes.get("axes", ()) if given[1] is None else given[1], "axes"))
    axes = axes_of(given, node.attributes, len(flow.axes) + count) or ()
    if len(set(axes)) != count:
        raise FileError("it adds an axis twice.")
    rest = iter(flow.axes)
    return replace(flow, axes=tuple(() if k in axes else next(rest) for k in range(len(flow.axes) + count)))


def expand(_: Node, flow: Flow, given: Sequence[Array | None]) -> Flow:
    """Broadcasting, as long as it makes no copies."""
    sizes = integers(given[1], "its shape")
    wide = flow.padded(max(len(sizes), len(flow.axes)))
    if any(
        size not in (1, there)
        for size, there in zip(sizes, wide.sizes[len(wide.sizes) - len(sizes) :], strict=True)
    ):
        raise FileError("it makes copies of the data, which is not supported.")
    return wide
