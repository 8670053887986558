"""What raw samples of an imported network may be: whole numbers, real numbers, or bits.

The file does not say; the user does.
"""

from __future__ import annotations

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
    divided by 255 have step 1/255.

    Examples
    --------
    >>> Integers(0, 255, step=Fraction(1, 255)).value(51)
    Fraction(1, 5)
    """

    low: int = 0
    high: int = 255
    step: Any = 1
    start: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", Fraction(exact_number(self.step, "step")))
        object.__setattr__(self, "start", Fraction(exact_number(self.start, "start")))
        if not (isinstance(self.low, int) and isinstance(self.high, int) and self.low <= self.high):
            raise FileError(f"Integers({self.low}, {self.high}): give whole numbers, the least first.")
        if self.high - self.low > 1 << 16:
            raise FileError(
                f"Integers({self.low}, {self.high}) has more than 65,536 steps. Use Reals for inputs that "
                f"are binarized at once."
            )
        if not self.step:
            raise FileError("Integers with step 0 have all the same value.")

    def value(self, x: int) -> Fraction:
        """What a raw number enters the network as."""
        return Fraction(self.start + self.step * x)


@dataclass(frozen=True)
class Reals(Brief):
    """Floats between two bounds; for networks that binarize their input at once,
    each input at a threshold.
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
