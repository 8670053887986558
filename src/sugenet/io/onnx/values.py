"""Possible values of a name in an ONNX graph: a constant, the data, or a value on the way to a sign.

All forms of a sign depend on the data only through its sign. So such a value is kept as a `SignTable` of its
values below, at and above zero. It is computed element by element, and the three numbers are read when they
are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Branches, Picks, Sign, every
from sugenet.io.onnx.flow import Flow, FlowLink, shape_of
from sugenet.io.onnx.graph import Array
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "Constant",
    "Curve",
    "Data",
    "Failure",
    "Mix",
    "ScoreTail",
    "SignTable",
    "Value",
    "WindowRows",
    "joined",
    "settled",
    "sizes_of",
]

_MOST_OPS = 1 << 12
"""Largest number of operations of all branches. A branch that two shortcuts read counts twice."""


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers that do not depend on the input."""

    array: Array
    of_batch: bool = False
    """Whether they depend on the size of a batch."""
    minus: tuple[Array, Array] | None = None
    """The two operands, if this is a difference, for straight-through estimators of weights."""


@dataclass(frozen=True, eq=False)
class SignTable:
    """A value that depends only on the sign of the data: its values below, at and above zero."""

    flow: Flow
    values: Array
    where: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Curve:
    """The data through a rising function that is 0 at 0, such as tanh. Only a sign can follow."""

    flow: Flow
    where: str


@dataclass(frozen=True, eq=False)
class Mix:
    """``a * table + b * other`` with a and b each -1 or +1: the result of a straight-through estimator,
    before `other` cancels. So `other` may be an unsupported value.
    """

    table: SignTable
    a: int
    other: Flow | Curve | Failure | Mix
    b: int
    where: str

    @property
    def flow(self) -> Flow:
        """Data of the same shape."""
        if isinstance(self.other, Curve):
            return self.other.flow
        return self.other if isinstance(self.other, Flow) else self.table.flow

    def cancels(self, value: Value | None) -> bool:
        """Return whether a value is the other one."""
        if isinstance(self.other, Curve) and isinstance(value, Curve) and self.other.where == value.where:
            return self.other.flow.link is value.flow.link and self.other.flow.axes == value.flow.axes
        if not isinstance(self.other, Flow) or not isinstance(value, Flow):
            return value is self.other
        return self.other.link is value.link and self.other.axes == value.axes

    def failure(self) -> Failure | None:
        """Return the unsupported value in it, if there is one."""
        return (
            self.other.failure()
            if isinstance(self.other, Mix)
            else self.other
            if isinstance(self.other, Failure)
            else None
        )


@dataclass(frozen=True, eq=False)
class WindowRows:
    """The windows of a convolution, each as a row of a matrix (FINN's Im2Col)."""

    flow: Flow
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class ScoreTail:
    """Class scores after operations that keep their order, such as softmax."""

    flow: Flow
    left_out: tuple[str, ...]
    picks: Picks = ""
    """The visible part of the largest scores, if some are picked. The values before them decide."""
    shares: bool = False
    """Whether they are positive, so that logarithms keep their order."""


@dataclass(frozen=True, eq=False)
class Failure:
    """An unsupported value. It matters only if the class scores depend on it."""

    error: FileError
    number: int
    sizes: tuple[int, ...] | None = None
    """Its shape, if it was made element by element."""


Data: TypeAlias = Flow | SignTable | Curve | Mix | WindowRows | ScoreTail
Value: TypeAlias = Constant | Data | Failure


def settled(value: Data, doing: str) -> Flow:
    """Return the data as a flow of operations. A table becomes a `Sign`."""
    match value:
        case Flow():
            return value
        case SignTable():
            return _signed(value)
        case Curve():
            raise FileError(
                f"it comes after {value.where}, whose curve only a sign may follow. Use hard tanh or clip, "
                f"which are exact."
            )
        case Mix():
            if (failure := value.failure()) is not None:
                raise failure.error
            assert not isinstance(value.other, Failure)
            other = settled(value.other, doing)
            return joined(value.where, [(_signed(value.table), value.a), (other, value.b)])
        case WindowRows():
            raise FileError("only a matrix product can follow Im2Col.")
        case ScoreTail():
            raise FileError(
                f"it comes after {value.left_out[-1]}, which must be the end of the network. {doing}"
            )


def sizes_of(value: Value | None) -> tuple[int, ...] | None:
    """Return the shape of a value, if it is known."""
    if isinstance(value, Failure):
        return value.sizes
    if isinstance(value, WindowRows) or value is None:
        return None
    return value.array.shape if isinstance(value, Constant) else value.flow.sizes


def joined(where: str, parts: Sequence[tuple[Flow, int]]) -> Flow:
    """Return the sum of two flows, each times +1 or -1: a shortcut."""
    flows = [flow for flow, _ in parts]
    if {"raw", "maps"} <= {flow.kind for flow in flows}:
        flows = [flow.maps(len(flow.sizes) - 2) for flow in flows]
    elif any(flow.kind == "raw" for flow in flows):
        flows = [flow.flat(flow.inner, where) for flow in flows]
    left, right = flows
    indices = _order(left)
    refuse_if(
        (left.sizes, left.kind, indices) != (right.sizes, right.kind, _order(right)) or None in indices,
        f"it adds data of shapes {shape_of(left.sizes)} and {shape_of(right.sizes)}, or with their axes "
        "in different orders. Only additions of the same shape and order can be read.",
    )
    trails = [flow.link.trail() for flow in flows]
    shared = 0
    while all(shared < len(trail) for trail in trails) and trails[0][shared] is trails[1][shared]:
        shared += 1
    branches, notes = [], []
    for trail, flow, (_, sign) in zip(trails, flows, parts, strict=True):
        ops = [link.op for link in trail[shared:] if link.op is not None]
        if sign < 0:
            ops.append(Affine(where, -np.ones((), flow.dtype), np.zeros((), flow.dtype)))
        branches.append(tuple(ops))
        notes += [note for link in trail[shared:] for note in link.notes]
    size = sum(1 for branch in branches for _ in every(branch))
    refuse_if(
        size > _MOST_OPS,
        f"its branches have {size:,} operations in all, more than the {_MOST_OPS:,} that are read.",
    )
    start = trails[0][shared - 1] if shared else _first(left.link)
    link = start.then(Branches(where, tuple(branches)), tuple(dict.fromkeys(notes)))
    return replace(left, link=link, whole=left.whole and right.whole)


def _order(flow: Flow) -> list[int | None]:
    """Return the logical axis of each axis after the batch: -1 for none, None for a mixture."""
    return [
        (flow.parts.index(axis) if axis in flow.parts else None) if axis else -1 for axis in flow.axes[1:]
    ]


def _first(link: FlowLink) -> FlowLink:
    while link.before is not None:
        link = link.before
    return link


def _signed(table: SignTable) -> Flow:
    dtype = table.values.dtype if table.values.dtype.kind == "f" else np.dtype(np.float32)
    refuse_if(
        not np.isfinite(table.values.astype(np.float64)).all(),
        f"{table.where} and what follows it give {table.values.tolist()} below, "
        f"at and above zero: not finite.",
    )
    below, at, above = (float(value) for value in table.values)
    one, none = np.ones((), dtype), np.zeros((), dtype)
    flow = table.flow
    is_integer = all(value == int(value) for value in (below, at, above))
    refuse_if(
        below == above,
        f"{table.where} and what follows it give {below} both below and above zero: this is not a sign.",
    )
    if below > above:
        flow = flow.then(Affine(table.where, -one, none))
    if at in (below, above):
        zero: Literal[1, -1] = 1 if at == max(below, above) else -1
        flow = flow.then(Sign(table.where, zero, min(below, above), max(below, above)), table.notes)
    else:
        refuse_if(
            Fraction(at) - Fraction(below) != Fraction(above) - Fraction(at),
            f"{table.where} and what follows it give {below}, {at} and {above} below, at and above zero: "
            f"this is not a sign.",
        )
        size = abs(above - below) / 2
        flow = flow.then(Sign(table.where, 0, -size, size), table.notes)
        if at:
            flow = flow.then(Affine(table.where, one, np.asarray(at, dtype)))
    return replace(flow, dtype=dtype, whole=is_integer)
