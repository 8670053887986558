"""What the file that a network was read from calls its numbers,
so that questions about the file can be asked of the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from sugenet.brief import Brief
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import CapacityError, NetworkError

__all__ = ["Source"]

Outputs = Literal["equal", "ordered", "other"]


@dataclass(frozen=True)
class Source(Brief):
    """How the numbers of a network are those of its source; by themselves, unless said.

    Parameters
    ----------
    start, step
        A raw number x of the network is ``start + step * x`` in the source.
    outputs
        ``equal``: the source's outputs are the scores. ``ordered``: every two of them compare as the scores
        do, as behind a softmax. ``other``: neither, as where part of the source was not read.
    remark
        Why they are not equal.

    Examples
    --------
    >>> pixels = Source(step=Fraction(1, 255))
    >>> pixels.inputs([0, 51])
    (Fraction(0, 1), Fraction(1, 5))
    """

    start: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    outputs: Outputs = "equal"
    remark: str = ""

    def __post_init__(self) -> None:
        for name in ("start", "step"):
            try:
                object.__setattr__(self, name, Fraction(exact_number(getattr(self, name), name)))
            except CapacityError as error:
                raise NetworkError(str(error)) from None
        if not self.step:
            raise NetworkError("step is 0, so that all raw numbers would be the same in the source.")
        if self.outputs not in get_args(Outputs):
            raise NetworkError(f"outputs={self.outputs!r} must be one of {', '.join(get_args(Outputs))}.")

    @property
    def is_plain(self) -> bool:
        """Whether raw numbers are the source's own."""
        return self.start == 0 and self.step == 1

    def inputs(self, x: Iterable[Any]) -> tuple[Any, ...]:
        """A raw sample of the network, such as a counterexample, in the numbers of the source."""
        if self.is_plain:
            return tuple(x)
        return tuple(self.start + self.step * Fraction(value) for value in x)
