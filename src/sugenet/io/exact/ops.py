"""What a trained file says, operation by operation and in the file's own numbers: every reader makes an
`OpChain`, `lower` makes it exact.

Values flow as arrays (samples, channels, height, width) or (samples, features). Channel-last files are turned
to channel-first by their reader; only `Flatten` remembers in which order the pixels are laid out. A few words
in a file can ask for any amount of memory, so readers check how large maps, windows and numbers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "Affine",
    "AveragePool",
    "BatchNorm",
    "Branches",
    "Clip",
    "Convolution",
    "Flatten",
    "Floats",
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
    "numbers",
    "op_word",
    "rounded",
]

Floats: TypeAlias = npt.NDArray[Any]
"""Parameters as they stand in the file: float32 stays float32, so that each is the exact number it is."""


@dataclass(frozen=True, eq=False)
class LinearOp:
    """``y = x @ weights.T + bias``."""

    where: str
    """Which node or module it comes from, in words for an error message."""
    weights: Floats
    """Shape (outputs, inputs), already as used in the forward pass: signs taken, scales multiplied in."""
    bias: Floats | None = None


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
    """``y = scale * x + shift``: one number for all, one a channel, or one a feature of flat values."""

    where: str
    scale: Floats
    shift: Floats


@dataclass(frozen=True, eq=False)
class BatchNorm:
    """``y = gamma * (x - mean) / sqrt(var + eps) + beta``, one of each a channel."""

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
class Sign:
    """Two values: `high` where x > 0, `low` where x < 0, and at 0 as `zero` says (+1: high, -1: low, 0:
    neither, as torch.sign).
    """

    where: str
    zero: Literal[1, -1, 0] = 1
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class Quantize:
    """How many thresholds a value reaches: a quantizer, whatever rounds and whatever counts thresholds.

    What a quantizer's codes stand for is said by an `Affine` behind it.
    """

    where: str
    thresholds: Floats
    """One row for all values, or one a channel: exact numbers that never fall."""
    strict: npt.NDArray[np.bool_]
    """For each threshold whether a value must be above it; else reaching it is enough."""

    @property
    def top(self) -> int:
        """The largest count."""
        return int(np.shape(self.thresholds)[1])


Rounding: TypeAlias = Literal["half even", "half up", "half down", "floor", "ceil", "to zero", "from zero"]
"""Of a half: to the even number, away from zero (up), towards zero (down)."""


def rounded(where: str, low: int, high: int, rounding: Rounding = "half even") -> Quantize:
    """The whole numbers ``low..high`` that values are rounded to, counted from `low`.

    Examples
    --------
    >>> steps = rounded("here", -1, 2)
    >>> steps.thresholds.tolist(), steps.strict.tolist()
    ([[-0.5, 0.5, 1.5]], [False, True, False])
    """
    codes = np.arange(low, high)  # a value leaves each of these for the next
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
    """Largest value in a window; padding never counts."""

    where: str
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    """A ceil mode is written as larger pads at the bottom and right."""


@dataclass(frozen=True, eq=False)
class AveragePool:
    """Mean of a window. `kernel` None: of the whole map (global pooling)."""

    where: str
    kernel: tuple[int, int] | None = None
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    count_pads: bool = False
    """Whether padding counts as zeros in the mean."""
    beyond: tuple[int, int] = (0, 0)
    """How many of the pads at the bottom and right never count:
    what a ceil mode adds to those that were asked for.
    """


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
    """The sum of branches that begin at the same values; one without operations is these values."""

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
    | Sign
    | Quantize
    | MaxPool
    | AveragePool
    | Pad
    | Flatten
)


def op_word(op: Op) -> str:
    """The kind of an operation, in words."""
    return type(op).__name__.removesuffix("Op")


def every(ops: Iterable[Op]) -> Iterator[Op]:
    """All operations, those of branches too, branch by branch.

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

    Tails that do not change which score is largest (softmax, log-softmax, arg-max, top-k) are left out by the
    reader and named in `left_out`.
    """

    source: str
    """File or module, for messages."""
    shape: tuple[int, ...]
    """Of one sample: (channels, height, width) or (features,)."""
    ops: tuple[Op, ...]
    channels_last: bool = False
    """Whether raw samples come as (height, width, channels)."""
    left_out: tuple[str, ...] = ()
    picks: Picks = ""
    """What they show instead of a number for each class that compares as the scores do: the class of the
    largest score first, the largest scores themselves, or a mark at the class;
    nothing of the kind where it is empty.
    """
    judged_alone: int = 0
    """Operations of the source that its reader compared, each alone, with the framework's own."""

    def __post_init__(self) -> None:
        assert len(self.shape) in (1, 3)
        assert all(isinstance(size, int | np.integer) and size > 0 for size in self.shape)


def numbers(values: list[Fraction]) -> npt.NDArray[Any]:
    """Exact numbers as an array: float64 where all of them are floats, else Fractions."""
    floats = [float(value) for value in values]
    return (
        np.array(floats)
        if all(Fraction(f) == v for f, v in zip(floats, values, strict=True))
        else np.array(values, dtype=object)
    )


_VALUES = 1 << 22
_LARGEST = 2.0**128
"""No float32 is larger; products of a few such numbers are floats still."""


def check_maps(where: str, shape: Sequence[int], window: Sequence[int] = ()) -> None:
    """Refuse a layer with more values, or whose windows read more values in all, than are read.

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


def check_numbers(where: str, array: npt.NDArray[Any]) -> None:
    """Refuse parameters that are no numbers to compute with.

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
