"""The data input at one point of an ONNX graph: the operations so far, and the meaning of each axis.

Files move axes: channel first or last, flattened, squeezed. So the axes of a tensor are lists of *pieces* of
the logical axes (channels, height, width, or flat features). Transposing and reshaping only regroup the
pieces. An operation that needs channels finds them or reports that they are missing. Axes of size 1 have no
pieces. The first operation that needs channels decides which axis of the raw input holds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Branches, Convolution, Flatten, Op
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.operators import Rearrangement
from sugenet.io.plain.refusals import refuse_if

__all__ = ["MAX_VALUES", "OPEN_BATCH", "Axis", "Flow", "FlowLink", "Piece", "new_axis", "shape_of"]

MAX_VALUES = 1 << 26
"""Largest number of values of one sample at any point of the network."""
OPEN_BATCH = 67_108_879
"""A prime above every size in a network. It represents a batch of any size, and reveals dependence on it."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a logical axis. Two pieces are equal only if they are one object."""

    size: int
    _halves: dict[int, tuple[Piece, Piece]] = field(default_factory=dict)

    def split(self, left: int) -> tuple[Piece, Piece]:
        """Split the piece in two, the first of the given size. The result is always the same two objects."""
        if left not in self._halves:
            self._halves[left] = Piece(left), Piece(self.size // left)
        return self._halves[left]


Axis: TypeAlias = tuple[Piece, ...]


def new_axis(size: int) -> Axis:
    """Return a new axis."""
    return (Piece(size),) if size > 1 else ()


@dataclass(frozen=True, eq=False)
class FlowLink:
    """An operation after others. The first link has no operation.

    Equal operations after one link are one object.
    """

    op: Op | None = None
    before: FlowLink | None = None
    notes: tuple[str, ...] = ()
    _behind: dict[Any, FlowLink] = field(default_factory=dict)

    def then(self, op: Op, notes: tuple[str, ...] = ()) -> FlowLink:
        """Return the link after this one."""
        key = (
            type(op).__name__,
            *(_key(getattr(op, item.name)) for item in fields(op) if item.name != "where"),
        )
        if key not in self._behind:
            self._behind[key] = FlowLink(op, self, notes)
        return self._behind[key]

    def trail(self) -> list[FlowLink]:
        """Return all links from the first operation to this one."""
        links: list[FlowLink] = []
        link: FlowLink | None = self
        while link is not None and link.op is not None:
            links.append(link)
            link = link.before
        return links[::-1]


def _key(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return (
        value.dtype.str,
        value.shape,
        tuple(value.reshape(-1).tolist()) if value.dtype == object else value.tobytes(),
    )


@dataclass(frozen=True, eq=False)
class Flow:
    """The data at one point."""

    link: FlowLink
    axes: tuple[Axis, ...]
    """Axes of the tensor in the graph, including the batch axis."""
    batch: Axis
    kind: Literal["raw", "maps", "flat"]
    parts: tuple[Axis, ...]
    """Pieces of the logical axes: those of the raw input, (channels, height, width), or the flat features."""
    dtype: np.dtype[Any]
    whole: bool
    """Whether all values are known to be integers."""
    shape: tuple[int, ...] = ()
    channels_last: bool = False
    """Whether the channels of one raw sample are last, once decided."""

    @classmethod
    def start(cls, sizes: Sequence[int], dtype: np.dtype[Any], batch: int) -> Flow:
        """Return the raw input, of given sizes without the batch."""
        axes = tuple(new_axis(size) for size in sizes)
        first = new_axis(batch)
        return cls(FlowLink(), (first, *axes), first, "raw", axes, dtype, dtype.kind in "iu")

    @property
    def flow(self) -> Flow:
        """The flow itself, since every value that depends on the data has one."""
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tuple(prod(piece.size for piece in axis) for axis in self.axes)

    @property
    def real_dtype(self) -> np.dtype[Any]:
        """The element type, or float32 if that is not a float type."""
        return self.dtype if self.dtype.kind == "f" else np.dtype(np.float32)

    @property
    def inner(self) -> Axis:
        """All pieces except the batch, in the order of the tensor."""
        return tuple(piece for axis in self.axes for piece in axis if piece not in self.batch)

    def then(self, op: Op, notes: tuple[str, ...] = ()) -> Flow:
        """Return the data after an operation that leaves all axes as they are."""
        return replace(self, link=self.link.then(op, notes))

    # -- plumbing --------------------------------------------------------------------------------------------

    def transposed(self, order: Sequence[int]) -> Flow:
        """Return the same data with its axes in another order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def rearranged(self, move: Rearrangement) -> Flow:
        """Return the same data in another shape, or with its axes in another order."""
        refuse_if(move.copies, "it makes copies of the data, which is not supported.")
        return self.reshaped(move.sizes) if move.order is None else self.transposed(move.order)

    def padded(self, rank: int) -> Flow:
        """Return the same data with leading axes of size 1, up to a rank."""
        return replace(self, axes=((),) * (rank - len(self.axes)) + self.axes)

    def reshaped(self, sizes: Sequence[int]) -> Flow:
        """Return the same data in another shape, if no value has to move."""
        rest = [piece for axis in self.axes for piece in axis][::-1]
        axes: list[Axis] = []
        halves: dict[Piece, tuple[Piece, Piece]] = {}
        for size in sizes:
            axis, need = [], size
            while need > 1:
                piece = rest.pop() if rest else None
                if piece is not None and need % piece.size == 0:
                    axis.append(piece)
                    need //= piece.size
                elif piece is not None and piece.size % need == 0:
                    halves[piece] = piece.split(need)
                    axis.append(halves[piece][0])
                    rest.append(halves[piece][1])
                    need = 1
                else:
                    raise FileError(
                        f"it makes shape {shape_of(sizes)} of {shape_of(self.sizes)}, which mixes axes in a "
                        f"way that is not supported."
                    )
            axes.append(tuple(axis))
        refuse_if(
            rest,
            f"it makes shape {shape_of(sizes)} of {shape_of(self.sizes)}, "
            f"which has another number of values.",
        )
        if not halves:
            return replace(self, axes=tuple(axes))
        return replace(
            self,
            axes=tuple(_refined(axis, halves) for axis in axes),
            parts=tuple(_refined(part, halves) for part in self.parts),
            batch=_refined(self.batch, halves),
        )

    # -- requirements of operations --------------------------------------------------------------------------

    def maps(self, spatial: int) -> Flow:
        """Check that the axes are batch, channels and one or two axes of pixels.

        This decides the meaning of the raw axes.
        """
        refuse_if(
            len(self.axes) != spatial + 2,
            f"it reads {len(self.axes)} axes, but batch, channels and {spatial} of pixels are needed.",
        )
        refuse_if(self.axes[0] != self.batch, "its first axis is not the batch.")
        c, h, w = (self.axes[1], () if spatial == 1 else self.axes[2], self.axes[-1])
        if self.kind == "raw":
            return self._settled(c, h, w)
        refuse_if(
            self.kind == "flat",
            "it reads maps that were made from flat features, which is not supported: only the raw input "
            "may be flat. Cut the model there, or write the layer as a linear one.",
        )
        if self.parts != (c, h, w) and self.parts[1:] == (h, w) and set(c) == set(self.parts[0]):
            return self._shuffled(c)
        refuse_if(
            self.parts != (c, h, w),
            "it reads axes that are not channels, height and width in this order: a transpose or reshape "
            "before it mixes them.",
        )
        return self

    def _shuffled(self, channels: Axis) -> Flow:
        """Return maps whose channels were permuted."""
        before = self.parts[0]
        indices = np.arange(_size(before)).reshape([piece.size for piece in before])
        order = indices.transpose([before.index(piece) for piece in channels]).reshape(-1)
        rows = (order[:, None] == np.arange(len(order))).astype(self.real_dtype)
        where = "channels in another order"
        picked = Convolution(where, rows[:, :, None, None])
        return replace(self.then(Branches(where, ((picked,),))), parts=(channels, *self.parts[1:]))

    def _settled(self, c: Axis, h: Axis, w: Axis) -> Flow:
        raw = _joined(self.parts)
        refuse_if(
            raw not in (c + h + w, h + w + c),
            "the axes of the raw input are in an order that is neither channel first nor channel last.",
        )
        return replace(
            self,
            kind="maps",
            parts=(c, h, w),
            shape=(_size(c), _size(h), _size(w)),
            channels_last=raw != c + h + w,
        )

    def features(self, axis: int, where: str) -> Flow:
        """Check that one axis holds all features, and flatten maps in its order."""
        others = tuple(
            piece
            for number, pieces in enumerate(self.axes)
            for piece in pieces
            if number != axis % len(self.axes)
        )
        refuse_if(
            others != self.batch,
            f"axis {axis % len(self.axes)} of {shape_of(self.sizes)} does not hold all values of a "
            f"sample. Flatten them first.",
        )
        return self.flat(self.axes[axis], where)

    def permuted_features(self, axis: int, where: str) -> tuple[Flow, Array | None]:
        """Do the same as `features`, but accept any order of the features.

        Also return the feature at each position, or None for their own order.
        """
        held = self.axes[axis]
        try:
            return self.features(axis, where), None
        except FileError:
            if self.kind == "raw" or len(held) != len(self.inner):
                raise
        order = tuple(piece for part in self.parts for piece in part)
        flow = replace(
            self, axes=tuple(order if pieces == held else pieces for pieces in self.axes)
        ).features(axis, where)
        indices = np.arange(_size(order)).reshape([piece.size for piece in order])
        return flow, indices.transpose([order.index(piece) for piece in held]).reshape(-1)

    def flat(self, order: Axis, where: str) -> Flow:
        """Return the data as flat features in a given order of their pieces."""
        if self.kind == "flat":
            refuse_if(
                self.parts != (order,),
                "it reads flat features in another order than they were made in: "
                "a transpose before it permutes them.",
            )
            return self
        if self.kind == "maps":
            c, h, w = self.parts
            layout: Literal["CHW", "HWC"] = "CHW" if order == c + h + w else "HWC"
            refuse_if(
                order not in (c + h + w, h + w + c),
                "it flattens maps in an order that is neither channel first nor channel last.",
            )
            return replace(self.then(Flatten(where, layout)), kind="flat", parts=(order,))
        if len(self.parts) == 1:
            refuse_if(
                order != self.parts[0],
                "it permutes the features of the raw input, which is not supported. "
                "Permute the weights instead.",
            )
            return replace(self, kind="flat", shape=(_size(order),))
        for c, h, w in self._readings():
            if order in (c + h + w, h + w + c):
                return self._settled(c, h, w).flat(order, where)
        raise FileError(
            "it flattens the raw input in an order that is neither channel first nor channel last."
        )

    def _readings(self) -> list[tuple[Axis, Axis, Axis]]:
        """Return the possible meanings of the axes of the raw input, the likeliest first."""
        if len(self.parts) == 2:
            first, last = self.parts
            return [((), first, last), (first, (), last), (last, (), first)]
        a, b, c = self.parts
        readings = [(a, b, c), (c, a, b)]
        return readings[::-1] if _size(c) in (1, 3, 4) and _size(a) not in (1, 3, 4) else readings

    # -- numbers combined with the data ----------------------------------------------------------------------

    def beside(self, arrays: Sequence[Array], where: str) -> tuple[Flow, list[Array]]:
        """Return constants that are combined with the data element by element.

        Each is one number, one per channel, or one per feature. Maps are flattened if a constant differs
        between pixels.
        """
        rank = max(len(self.axes), *(array.ndim for array in arrays))
        flow = self.padded(rank)
        full = [array.reshape((1,) * (rank - array.ndim) + array.shape) for array in arrays]
        for array in full:
            refuse_if(
                any(size not in (1, there) for size, there in zip(array.shape, flow.sizes, strict=True)),
                f"its constant of shape {shape_of(array.shape)} does not fit data of "
                f"shape {shape_of(flow.sizes)}.",
            )
        full = [_narrowed(array) for array in full]
        varying = {axis for array in full for axis, size in enumerate(array.shape) if size > 1}
        if not varying:
            return flow, [array.reshape(()) for array in full]
        refuse_if(
            any(piece in flow.batch for axis in varying for piece in flow.axes[axis]),
            "its constant differs from sample to sample of a batch. Export the model with a batch of "
            "one, or an open one.",
        )
        if flow.kind == "raw":
            flow = flow._for_channels(varying)
        (axis, *others) = sorted(varying)
        permuted = flow.axes[axis] != flow.parts[0] and set(flow.axes[axis]) == set(flow.parts[0])
        if flow.kind == "maps" and not others and permuted:
            flow = flow._shuffled(flow.axes[axis])
        if (
            flow.kind == "maps"
            and tuple(piece for axis in sorted(varying) for piece in flow.axes[axis]) == flow.parts[0]
        ):
            return flow, [array.reshape(-1 if array.size > 1 else ()) for array in full]
        if flow.kind != "flat":
            flow = flow.flat(flow.inner, where)
        return flow, [array.reshape(()) if array.size == 1 else flow._spread(array) for array in full]

    def _for_channels(self, varying: set[int]) -> Flow:
        """Choose the raw axes such that a constant varies along the channels, if possible."""
        rest = [axis for number, axis in enumerate(self.axes) if number not in varying and axis != self.batch]
        if len(varying) == 1 and 1 <= len(rest) <= 2 and len(self.parts) > 1:
            h, w = rest if len(rest) == 2 else ((), rest[0])
            c = self.axes[next(iter(varying))]
            if _joined(self.parts) in (c + h + w, h + w + c):
                return self._settled(c, h, w)
        return self

    def _spread(self, array: Array) -> Array:
        """Return one number for each flat feature, in their order."""
        sizes = [
            1 if axis == self.batch and axis else size
            for axis, size in zip(self.axes, self.sizes, strict=True)
        ]
        spread = np.broadcast_to(array, sizes).reshape([piece.size for piece in self.inner] or [1])
        index = {piece: number for number, piece in enumerate(self.inner)}
        return np.ascontiguousarray(
            spread.transpose([index[piece] for piece in self.parts[0]] or [0])
        ).reshape(-1)


def _refined(axis: Iterable[Piece], halves: dict[Piece, tuple[Piece, Piece]]) -> Axis:
    pieces: list[Piece] = []
    rest = list(axis)[::-1]
    while rest:
        piece = rest.pop()
        if piece in halves:
            rest += halves[piece][::-1]
        elif piece.size > 1:
            pieces.append(piece)
    return tuple(pieces)


def _narrowed(array: Array) -> Array:
    """Return the array with every axis along which it is constant cut to length one."""
    for axis, size in enumerate(array.shape):
        first = array[(slice(None),) * axis + (slice(0, 1),)]
        if size > 1 and (array == first).all():
            array = first
    return array


def _joined(parts: Iterable[Axis]) -> Axis:
    return tuple(piece for part in parts for piece in part)


def _size(axis: Axis) -> int:
    return prod(piece.size for piece in axis)


def shape_of(sizes: Iterable[int]) -> str:
    """Return sizes in words."""
    shown = ["batch" if size == OPEN_BATCH else str(size) for size in sizes]
    return f"({', '.join(shown[:8])})"
