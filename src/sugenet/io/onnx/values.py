"""What a name in an ONNX graph can stand for while the graph is walked: a constant, the data, or something on
its way to a sign.

The many spellings of a sign have one thing in common: they depend on the data only through its sign. So the
walk keeps such a value as a `SignTable` of what it is below, at and above zero, works it out element by
element, and looks at the three numbers when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Picks, Sign
from sugenet.io.onnx.flow import Flow
from sugenet.io.onnx.graph import Array

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
    "settled",
]


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers that do not depend on the input."""

    array: Array
    of_batch: bool = False
    """Whether they depend on the size of a batch."""
    minus: tuple[Array, Array] | None = None
    """Of which two the difference was taken, for straight-through estimators of weights."""


@dataclass(frozen=True, eq=False)
class SignTable:
    """A value that depends on the sign of the data alone: what it is below, at and above zero."""

    flow: Flow
    values: Array
    where: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Curve:
    """The data through a rising function that is 0 at 0, such as tanh: only a sign can follow."""

    flow: Flow
    where: str


@dataclass(frozen=True, eq=False)
class Mix:
    """``a * table + b * other`` with a and b each -1 or +1: what a straight-through estimator leaves, waiting
    for `other` to cancel.
    """

    table: SignTable
    a: int
    other: Flow
    b: int
    where: str


@dataclass(frozen=True, eq=False)
class WindowRows:
    """The windows of a convolution, each laid out as a row of a matrix (FINN's Im2Col)."""

    flow: Flow
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class ScoreTail:
    """Class scores behind operations that keep their order, such as softmax."""

    flow: Flow
    left_out: tuple[str, ...]
    picks: Picks = ""
    """What is shown of the largest scores, where they are picked: what stands before is what decides."""
    shares: bool = False
    """Whether they are positive, so that logarithms keep their order."""


@dataclass(frozen=True, eq=False)
class Failure:
    """Something that cannot be represented; it matters only if the class scores depend on it."""

    error: FileError
    number: int


Data: TypeAlias = Flow | SignTable | Curve | Mix | WindowRows | ScoreTail
Value: TypeAlias = Constant | Data | Failure


def settled(value: Data, doing: str) -> Flow:
    """The data as a flow of operations; a table becomes a `Sign`."""
    match value:
        case Flow():
            return value
        case SignTable():
            return _signed(value)
        case Curve():
            raise FileError(
                f"it stands behind {value.where}, whose curve only a sign may follow. Use hard tanh or clip, "
                f"which are exact."
            )
        case Mix():
            raise FileError(
                f"it reads {value.where}, which adds a sign to real values (a residual connection). Only "
                "chains of layers are supported; (sign(x) - x) + x is recognized where it "
                "adds up to the sign."
            )
        case WindowRows():
            raise FileError("only a matrix product can follow Im2Col.")
        case ScoreTail():
            raise FileError(
                f"it stands behind {value.left_out[-1]}, which must be the end of the network. {doing}"
            )


def _signed(table: SignTable) -> Flow:
    dtype = table.values.dtype if table.values.dtype.kind == "f" else np.dtype(np.float32)
    if not np.isfinite(table.values.astype(np.float64)).all():
        raise FileError(
            f"{table.where} and what follows it give {table.values.tolist()} below, "
            f"at and above zero: not finite."
        )
    below, at, above = (float(value) for value in table.values)
    one, none = np.ones((), dtype), np.zeros((), dtype)
    flow = table.flow
    whole = all(value == int(value) for value in (below, at, above))
    if below == above:
        raise FileError(
            f"{table.where} and what follows it give {below} both below and above zero: this is no sign."
        )
    if below > above:
        flow = flow.then(Affine(table.where, -one, none))
    if at in (below, above):
        zero: Literal[1, -1] = 1 if at == max(below, above) else -1
        flow = flow.then(Sign(table.where, zero, min(below, above), max(below, above)), table.notes)
    else:
        if Fraction(at) - Fraction(below) != Fraction(above) - Fraction(at):
            raise FileError(
                f"{table.where} and what follows it give {below}, {at} and {above} below, at and above zero: "
                f"this is no sign."
            )
        size = abs(above - below) / 2
        flow = flow.then(Sign(table.where, 0, -size, size), table.notes)
        if at:
            flow = flow.then(Affine(table.where, one, np.asarray(at, dtype)))
    return replace(flow, dtype=dtype, whole=whole)
