"""Operations of a trained file, in the file's own numbers. Every reader returns an `OpChain`, and `lower`
makes it exact.

Values are arrays (samples, channels, height, width) or (samples, features). Readers turn channel-last files
into channel-first. Only `Flatten` remembers the order of the pixels. A small file can ask for any amount of
memory, so readers check the size of maps, windows and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Array, Bits

__all__ = [
    "Affine",
    "AveragePool",
    "BatchNorm",
    "Branches",
    "Clip",
    "Convolution",
    "Flatten",
    "Floats",
    "Leaky",
    "LinearOp",
    "MaxPool",
    "Op",
    "OpChain",
    "Pad",
    "Picks",
    "Quantize",
    "Rounding",
    "Sign",
    "check_maps",
    "check_numbers",
    "every",
    "forked",
    "numbers",
    "op_word",
    "rounded",
]

Floats: TypeAlias = Array
"""Parameters as in the file. float32 stays float32, so that each is an exact number."""


@dataclass(frozen=True, eq=False)
class LinearOp:
    """``y = x @ weights.T + bias``."""

    where: str
    """The node or module that it comes from, in words for an error message."""
    weights: Floats
    """Shape (outputs, inputs), as used in the forward pass: signs taken, scales multiplied in."""
    bias: Floats | None = None
    maps: tuple[int, int, int] | None = None
    """Shape of the outputs of a layer between maps, both channel by channel, that is not a convolution."""


@dataclass(frozen=True, eq=False)
class Convolution:
    """A convolution in two dimensions (height 1 for one dimension)."""

    where: str
    weights: Floats
    """Shape (outputs, inputs / groups, kernel height, kernel width)."""
    bias: Floats | None = None
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Top, left, bottom, right."""
    groups: int = 1


@dataclass(frozen=True, eq=False)
class Affine:
    """``y = scale * x + shift``: one number for all, one per channel, or one per feature of flat values."""

    where: str
    scale: Floats
    shift: Floats


@dataclass(frozen=True, eq=False)
class BatchNorm:
    """``y = gamma * (x - mean) / sqrt(var + eps) + beta``, with one of each per channel."""

    where: str
    gamma: Floats
    beta: Floats
    mean: Floats
    var: Floats
    eps: float


@dataclass(frozen=True, eq=False)
class Clip:
    """``y = min(max(x, low), high)``: hard tanh with -1 and 1, ReLU with 0 and infinity."""

    where: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Leaky:
    """``y = x`` if x >= 0, else ``y = slope * x``: leaky ReLU, or PReLU with one slope per channel."""

    where: str
    slope: Floats


@dataclass(frozen=True, eq=False)
class Sign:
    """Two values: `high` if x > 0, `low` if x < 0.

    `zero` defines the value at 0 (+1: high, -1: low, 0: neither, as in torch.sign).
    """

    where: str
    zero: Literal[1, -1, 0] = 1
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class Quantize:
    """The number of thresholds that a value reaches: any quantizer, rounding or count of thresholds.

    An `Affine` after it defines the values of the codes.
    """

    where: str
    thresholds: Floats
    """One row for all values, or one per channel: exact numbers that never fall."""
    strict: Bits
    """Whether a value must be above each threshold. If not, reaching it is enough."""

    @property
    def top(self) -> int:
        """The largest count."""
        return int(np.shape(self.thresholds)[1])


Rounding: TypeAlias = Literal["half even", "half up", "half down", "floor", "ceil", "to zero", "from zero"]
"""Rounding of a half: to the even number, away from zero (up), or towards zero (down)."""


def rounded(where: str, low: int, high: int, rounding: Rounding = "half even") -> Quantize:
    """Return the quantizer that rounds values to the integers ``low..high``, counted from `low`.

    Examples
    --------
    >>> steps = rounded("here", -1, 2)
    >>> steps.thresholds.tolist(), steps.strict.tolist()
    ([[-0.5, 0.5, 1.5]], [False, True, False])
    """
    codes = np.arange(low, high)  # a value moves from each of these to the next
    half, integers = codes + 0.5, codes.astype(np.float64)
    match rounding:
        case "half even":
            cuts, strict = half, codes % 2 == 0
        case "half up" | "half down":
            cuts, strict = half, (codes < 0) == (rounding == "half up")
        case "floor":
            cuts, strict = integers + 1, np.zeros(len(codes), bool)
        case "ceil":
            cuts, strict = integers, np.ones(len(codes), bool)
        case "to zero":
            cuts, strict = np.where(codes < 0, integers, integers + 1), codes < 0
        case "from zero":
            cuts, strict = np.where(codes < 0, integers + 1, integers), codes >= 0
    return Quantize(where, cuts[None], np.asarray(strict))


@dataclass(frozen=True, eq=False)
class MaxPool:
    """Largest value in a window. Padding never counts."""

    where: str
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    """Ceil mode is written as larger pads at the bottom and right."""


@dataclass(frozen=True, eq=False)
class AveragePool:
    """Mean of a window. If `kernel` is None, mean of the whole map (global pooling)."""

    where: str
    kernel: tuple[int, int] | None = None
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    count_pads: bool = False
    """Whether padding counts as zeros in the mean."""
    beyond: tuple[int, int] = (0, 0)
    """Number of pads at the bottom and right that never count: those that ceil mode adds."""


@dataclass(frozen=True, eq=False)
class Pad:
    """Pixels of one value around the maps."""

    where: str
    pads: tuple[int, int, int, int]
    value: float = 0.0


@dataclass(frozen=True, eq=False)
class Flatten:
    """Maps to flat features, channel by channel ("CHW") or pixel by pixel ("HWC")."""

    where: str
    order: Literal["CHW", "HWC"] = "CHW"


@dataclass(frozen=True, eq=False)
class Branches:
    """The sum of branches that start at the same values. A branch without operations is these values."""

    where: str
    branches: tuple[tuple[Op, ...], ...]


Picks: TypeAlias = Literal["", "class", "scores", "marks"]
Op: TypeAlias = (
    LinearOp
    | Convolution
    | Affine
    | BatchNorm
    | Branches
    | Clip
    | Leaky
    | Sign
    | Quantize
    | MaxPool
    | AveragePool
    | Pad
    | Flatten
)


def op_word(op: Op) -> str:
    """Return the kind of an operation, in words."""
    return type(op).__name__.removesuffix("Op")


def forked(where: str, left: Sequence[Op], right: Sequence[Op]) -> tuple[Op, ...]:
    """Return the operations that lead to a sum: those that both sides share, and a branch for each."""
    shared = 0
    while shared < min(len(left), len(right)) and left[shared] is right[shared]:
        shared += 1
    return (*left[:shared], Branches(where, (tuple(left[shared:]), tuple(right[shared:]))))


def every(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield all operations, including those of branches, branch by branch.

    Examples
    --------
    >>> chain = (Sign("a"), Branches("b", ((Sign("c"),), ())), Sign("d"))
    >>> [op.where for op in every(chain)]
    ['a', 'c', 'd']
    """
    for op in ops:
        if isinstance(op, Branches):
            for branch in op.branches:
                yield from every(branch)
        else:
            yield op


@dataclass(frozen=True, eq=False)
class OpChain:
    """All operations from the raw input to the class scores.

    Readers leave out tails that do not change which score is largest (softmax, log-softmax, arg-max, top-k),
    and name them in `left_out`.
    """

    source: str
    """File or module, for messages."""
    shape: tuple[int, ...]
    """Shape of one sample: (channels, height, width) or (features,)."""
    ops: tuple[Op, ...]
    channels_last: bool = False
    """Whether raw samples have the shape (height, width, channels)."""
    left_out: tuple[str, ...] = ()
    picks: Picks = ""
    """What the tails return instead of one number per class in the order of the scores: the class of the
    largest score first, the largest scores themselves, or a mark at the class. Empty if they return such
    numbers.
    """
    compared_alone: int = 0
    """Number of operations of the source that its reader compared one by one with those of the framework."""

    def __post_init__(self) -> None:
        assert len(self.shape) in (1, 3)
        assert all(isinstance(size, int | np.integer) and size > 0 for size in self.shape)


def numbers(values: list[Fraction]) -> Array:
    """Return exact numbers as an array: float64 if all of them are floats, else Fractions."""
    floats = [float(value) for value in values]
    return (
        np.array(floats)
        if all(Fraction(f) == v for f, v in zip(floats, values, strict=True))
        else np.array(values, dtype=object)
    )


_VALUES = 1 << 22
_LARGEST = 2.0**128
"""No float32 is larger, and products of a few such numbers are still floats."""


def check_maps(where: str, shape: Sequence[int], window: Sequence[int] = ()) -> None:
    """Refuse a layer that has too many values, or whose windows read too many values in total.

    Examples
    --------
    >>> check_maps("conv1", (64, 112, 112), (7, 7))
    >>> check_maps("pad", (1, 100_000, 100_000))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: pad: maps of 1 x 100000 x 100000 are 10,000,000,000 values, more than
    the 4,194,304 that are read.
    """
    if prod(shape) > _VALUES:
        sides = " x ".join(map(str, shape))
        raise FileError(
            f"{where}: maps of {sides} are {prod(shape):,} values, more than the {_VALUES:,} that are read."
        )
    if prod(shape[1:]) * prod(window) > _VALUES:
        sides = " x ".join(map(str, window))
        raise FileError(
            f"{where}: windows of {sides} at {' x '.join(map(str, shape[1:]))} places read more than the "
            f"{_VALUES:,} values that are read."
        )


def check_numbers(where: str, array: Array) -> None:
    """Refuse parameters that are not finite, or too large.

    Examples
    --------
    >>> check_numbers("fc1.weight", np.array([1.0, np.nan]))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: fc1.weight holds numbers that are not finite, or larger than 2^128.
    """
    refuse_if(
        array.dtype.kind not in "biuf" or array.dtype.itemsize > 8,
        f"{where} has dtype {str(array.dtype)[:40]}, but numbers are needed.",
    )
    refuse_if(
        not np.isfinite(array).all() or (array.dtype == np.float64 and (np.abs(array) > _LARGEST).any()),
        f"{where} holds numbers that are not finite, or larger than 2^128.",
    )
