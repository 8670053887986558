"""Declare the raw samples of an imported network: integers, real numbers or bits. Compute the exact
thresholds of signs and quantizers on them.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError
from sugenet.io.exact.steps import Pipeline, sign_of
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import Encoder, Steps
from sugenet.reprs import ShortRepr

__all__ = ["Bits", "CutInputs", "Inputs", "Integers", "Reals", "cut_inputs", "line_of"]


@dataclass(frozen=True)
class Integers(ShortRepr):
    """Declare that raw samples are integers from `low` to `high`. The network reads x as ``start + step *
    x``.

    Parameters
    ----------
    low : int, default: 0
        Smallest value.
    high : int, default: 255
        Largest value.
    step : number or sequence, default: 1
        1/255 for uint8 pixels divided by 255. A sequence has one number per channel of images, or per feature
        of flat samples.
    start : number or sequence, default: 0
        The network's input for the raw value 0.

    Raises
    ------
    FileError
        If the range is empty.

    Examples
    --------
    >>> Integers(0, 255, step=Fraction(1, 255)).value(51)
    Fraction(1, 5)
    >>> normal = Integers(0, 255, step=[Fraction(1, 255), Fraction(1, 510)], start=[0, -0.5])  # two channels
    >>> [str(normal.value(51, channel)) for channel in range(2)]
    ['1/5', '-2/5']

    See Also
    --------
    Bits : samples of bits.
    Reals : samples of floats.
    from_torch : takes it as ``inputs=``.
    """

    low: int = 0
    high: int = 255
    step: Any = 1
    start: Any = 0

    def __post_init__(self) -> None:
        for name in ("step", "start"):
            object.__setattr__(self, name, _exact(getattr(self, name), name))
        sizes = {len(row) for row in (self.step, self.start) if isinstance(row, tuple)}
        refuse_if(
            len(sizes) > 1, f"Integers: {len(self.steps)} steps and {len(self.starts)} starts do not fit."
        )
        refuse_if(
            not (isinstance(self.low, int) and isinstance(self.high, int) and self.low <= self.high),
            f"Integers({self.low}, {self.high}): give integers, the smallest first.",
        )
        refuse_if(
            self.high - self.low > 1 << 16,
            f"Integers({self.low}, {self.high}) has more than 65,536 steps. Use Reals for inputs that "
            f"are binarized at once.",
        )
        refuse_if(not all(self.steps), "Integers with step 0 have all the same value.")

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """The step of each channel or feature; a single one if it is the same for all."""
        return self.step if isinstance(self.step, tuple) else (self.step,)

    @property
    def starts(self) -> tuple[Fraction, ...]:
        """The start of each channel or feature; a single one if it is the same for all."""
        return self.start if isinstance(self.start, tuple) else (self.start,)

    @property
    def channels(self) -> int:
        """Number of channels or features with steps or starts of their own; 1 if they are the same for
        all.
        """
        return max(len(self.steps), len(self.starts))

    def value(self, x: int, channel: int = 0) -> Fraction:
        """Return the network's input for a raw number, in one channel if channels differ."""
        step, start = (row[channel] if len(row) > 1 else row[0] for row in (self.steps, self.starts))
        return Fraction(start + step * x)


def _exact(value: Any, name: str) -> Any:
    """Return an exact number, or a row of them."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return Fraction(exact_number(value, name))
    row = tuple(Fraction(exact_number(one.item() if hasattr(one, "item") else one, name)) for one in value)
    refuse_if(not row, f"Integers: {name} has no numbers.")
    return row


@dataclass(frozen=True)
class Reals(ShortRepr):
    """Declare that raw samples are floats between two bounds. Each float is taken as an exact number.

    They are compared with thresholds if the network starts with a sign of its inputs. Otherwise they stay
    real numbers.

    Parameters
    ----------
    low : float, default: -inf
        Smallest value.
    high : float, default: inf
        Largest value.

    Raises
    ------
    FileError
        If the range is empty.

    Examples
    --------
    >>> Reals(0, 255).high
    255

    See Also
    --------
    Integers : samples of integers.
    from_torch : takes it as ``inputs=``.
    """

    low: float = -inf
    high: float = inf

    def __post_init__(self) -> None:
        refuse_if(not self.low <= self.high, f"Reals({self.low}, {self.high}): give the least first.")


@dataclass(frozen=True)
class Bits:
    """Declare that raw samples are bits, which the network reads as `low` and `high`.

    Raw samples may be written with 0 or -1 for off.

    Parameters
    ----------
    low : number, default: -1
        The network's input for a bit that is off.
    high : number, default: 1
        The network's input for a bit that is on.

    Raises
    ------
    FileError
        If a value is not a finite number.

    Examples
    --------
    >>> Bits(0, 1).high
    1

    See Also
    --------
    Integers : samples of integers.
    from_torch : takes it as ``inputs=``.
    """

    low: Any = -1
    high: Any = 1


Inputs: TypeAlias = Integers | Reals | Bits


def line_of(inputs: Inputs | None) -> tuple[Any, Any]:
    """Return start and step of the inputs of a network. A bit is the raw number 0 or 1."""
    if isinstance(inputs, Bits) and inputs.low != inputs.high:
        return Fraction(inputs.low), Fraction(inputs.high) - Fraction(inputs.low)
    return (inputs.start, inputs.step) if isinstance(inputs, Integers) else (Fraction(0), Fraction(1))


_LARGEST_FLOAT = 1.7976931348623157e308
_CUTS = 1 << 14


class CutInputs(NamedTuple):
    """Cuts on raw inputs, feature by feature."""

    encoder: Encoder
    rises: npt.NDArray[np.bool_]
    """Whether the count of thresholds rises with the feature. If it falls, the cuts that are reached are
    those that the count has lost.
    """
    ties: npt.NDArray[np.bool_]
    """Whether a raw number is exactly at the first threshold."""
    first: int
    """Number of cuts that are left out because every raw number reaches them."""


def cut_inputs(
    lines: Sequence[Pipeline],
    thresholds: Sequence[Sequence[Fraction]],
    strict: Sequence[bool],
    domain: Integers | Reals,
) -> CutInputs:
    """Return a cut for every threshold of each feature: one for a sign, several for a quantizer.

    Cuts that every raw number reaches, or none, are left out.
    """
    known: dict[tuple[Pipeline, tuple[Fraction, ...]], tuple[tuple[float, ...], bool, bool]] = {}
    same: dict[tuple[int, int], tuple[tuple[float, ...], bool, bool]] = {}
    """Results by object identity, since features of one channel share objects. Hashing many fractions is
    slow.
    """
    for line, row in zip(lines, thresholds, strict=True):
        if (id(line), id(row)) in same:
            continue
        key = (line, tuple(row))
        if key not in known:
            refuse_if(
                (len(known) + 1) * len(row) > _CUTS and len(row) > 1,
                f"a quantizer of the inputs with more than {_CUTS:,} different thresholds is not read. "
                "Use fewer bits, or leave it out and read integers: inputs=Integers(...).",
            )
            cuts = [
                _cut(Pipeline((*line.parts, (Fraction(1), -at))), domain, strict=above)
                for at, above in zip(row, strict, strict=True)
            ]
            ordered = cuts if cuts[0][1] else cuts[::-1]
            known[key] = _apart([cut for cut, _, _ in ordered], domain), *cuts[0][1:]
        same[id(line), id(row)] = known[key]
    picked = [same[id(line), id(row)] for line, row in zip(lines, thresholds, strict=True)]
    low, high, is_integer = float(domain.low), float(domain.high), isinstance(domain, Integers)
    rows = {cuts for cuts, _, _ in picked}
    always, never = (
        min(sum(cut <= low for cut in cuts) for cuts in rows),
        min(sum(cut > high for cut in cuts) for cuts in rows),
    )
    first = min(always, len(strict) - 1)
    last = max(len(strict) - never, first + 1)
    coding = {cuts: Steps(cuts[first:last], low, high, is_integer) for cuts in rows}
    encoder = Encoder([coding[cuts] for cuts, _, _ in picked])
    rises, ties = (np.array([entry[k] for entry in picked]) for k in (1, 2))
    return CutInputs(encoder, rises, ties, first)


def _apart(cuts: Sequence[float], domain: Integers | Reals) -> tuple[float, ...]:
    """Return strictly rising cuts.

    If several thresholds lie between the same two raw numbers, or beyond all of them, the extra cuts are
    placed outside the raw numbers.
    """
    rising: list[float] = []
    for index, cut in enumerate(cuts):
        after = cuts[index + 1 :].count(cut)
        before = cuts[:index].count(cut)
        if not before and not after:
            rising.append(cut)
        elif isinstance(domain, Integers):
            rising.append(cut - after / (before + after + 1))
        elif cut == domain.low:
            rising.append(_float(_code(cut) - after))
        elif cut == inf and domain.high < _LARGEST_FLOAT:
            rising.append(_float(_code(domain.high) + 1 + before))
        else:
            raise FileError(
                f"a quantizer of the inputs has thresholds at {cut:.17g} with no float between them. "
                "Read integers: inputs=Integers(...)."
            )
    return tuple(rising)


def _cut(line: Pipeline, domain: Integers | Reals, strict: bool = False) -> tuple[float, bool, bool]:
    """Return the smallest value at which the bit changes, whether it then turns on, and whether zero
    occurs.
    """

    def sign(x: Fraction) -> int:
        return line(domain.value(int(x)) if isinstance(domain, Integers) else x).sign()

    rises = line.direction() * (sign_of(domain.step) if isinstance(domain, Integers) else 1) >= 0
    min_sign = 1 if strict else 0

    def on(x: Fraction) -> bool:  # the bit that turns on as x rises: that of the sign, or its opposite
        return (sign(x) >= min_sign) == rises

    if isinstance(domain, Integers):
        cut = float(_first(lambda integer: on(Fraction(integer)), domain.low, domain.high + 1))
        ties = any(sign(Fraction(x)) == 0 for x in (int(cut) - 1, int(cut)) if domain.low <= x <= domain.high)
        return cut, rises, ties
    low, high = max(domain.low, -_LARGEST_FLOAT), min(domain.high, _LARGEST_FLOAT)
    index = _first(lambda code: on(Fraction(_float(code))), _code(low), _code(high) + 1)
    cut = _float(index) if index <= _code(high) else inf
    near = [code for code in (index - 1, index) if _code(low) <= code <= _code(high)]
    return cut, rises, any(sign(Fraction(_float(code))) == 0 for code in near)


def _first(test: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first of low..high-1 that passes a monotone test; high if none does."""
    while low < high:
        middle = (low + high) // 2
        if test(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _code(value: float) -> int:
    """Return floats as integers in the same order."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _float(code: int) -> float:
    bits = code if code >= 0 else (-code) | (1 << 63)
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
