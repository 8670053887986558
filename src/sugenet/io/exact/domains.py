"""What raw samples of an imported network may be: whole numbers, real numbers, or bits.

The file does not say; the user does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

from sugenet.brief import Brief
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError

__all__ = ["BitInputs", "Inputs", "Integers", "Reals"]


@dataclass(frozen=True)
class Integers(Brief):
    """Whole numbers ``low..high``, of which x enters the network as ``start + step * x``: uint8 pixels
    divided by 255 have step 1/255. Both may be rows of numbers, one for each channel of images or each
    feature of flat samples: what is done to samples before they enter the network.

    Examples
    --------
    >>> Integers(0, 255, step=Fraction(1, 255)).value(51)
    Fraction(1, 5)
    >>> normal = Integers(0, 255, step=[Fraction(1, 255), Fraction(1, 510)], start=[0, -0.5])  # two channels
    >>> [str(normal.value(51, channel)) for channel in range(2)]
    ['1/5', '-2/5']
    """

    low: int = 0
    high: int = 255
    step: Any = 1
    start: Any = 0

    def __post_init__(self) -> None:
        for name in ("step", "start"):
            object.__setattr__(self, name, _exact(getattr(self, name), name))
        sizes = {len(row) for row in (self.step, self.start) if isinstance(row, tuple)}
        if len(sizes) > 1:
            raise FileError(f"Integers: {len(self.step)} steps and {len(self.start)} starts do not fit.")
        if not (isinstance(self.low, int) and isinstance(self.high, int) and self.low <= self.high):
            raise FileError(f"Integers({self.low}, {self.high}): give whole numbers, the least first.")
        if self.high - self.low > 1 << 16:
            raise FileError(
                f"Integers({self.low}, {self.high}) has more than 65,536 steps. Use Reals for inputs that "
                f"are binarized at once."
            )
        if not all(self.steps):
            raise FileError("Integers with step 0 have all the same value.")

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """The step of each channel or feature; one where it is the same for all."""
        return self.step if isinstance(self.step, tuple) else (self.step,)

    @property
    def starts(self) -> tuple[Fraction, ...]:
        """The start of each channel or feature; one where it is the same for all."""
        return self.start if isinstance(self.start, tuple) else (self.start,)

    @property
    def channels(self) -> int:
        """For how many channels or features steps or starts are given; 1 where they are the same for all."""
        return max(len(self.steps), len(self.starts))

    def value(self, x: int, channel: int = 0) -> Fraction:
        """What a raw number enters the network as, in a channel where these differ."""
        step, start = (row[channel] if len(row) > 1 else row[0] for row in (self.steps, self.starts))
        return Fraction(start + step * x)


def _exact(value: Any, name: str) -> Any:
    """An exact number, or a row of them."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return Fraction(exact_number(value, name))
    row = tuple(Fraction(exact_number(one.item() if hasattr(one, "item") else one, name)) for one in value)
    if not row:
        raise FileError(f"Integers: {name} has no numbers.")
    return row


@dataclass(frozen=True)
class Reals(Brief):
    """Floats between two bounds, each the exact number that it is; compared with a threshold where a network
    takes the sign of its inputs at once, else kept as they are.
    """

    low: float = -inf
    high: float = inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise FileError(f"Reals({self.low}, {self.high}): give the least first.")


@dataclass(frozen=True)
class BitInputs:
    """Bits that enter the network as `low` and `high`: -1 and +1 unless said.

    Raw samples may be written with 0 or -1 for off.
    """

    low: Any = -1
    high: Any = 1


Inputs: TypeAlias = Integers | Reals | BitInputs
