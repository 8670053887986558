"""Relation between the numbers of a network and of the file it was read from, so that questions about the
file can be answered on the network.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import NetworkError, refuse
from sugenet.reprs import ShortRepr

__all__ = ["Source"]

Outputs = Literal["equal", "ordered", "other"]


@dataclass(frozen=True)
class Source(ShortRepr):
    """Relation between the numbers of a network and of its source (default: they are the same).

    Parameters
    ----------
    start : number or sequence of numbers, default: 0
        A raw number x of the network is ``start + step * x`` in the source. One number for all features or
        one per feature.
    step : number or sequence of numbers, default: 1
        Likewise; not 0.
    outputs : {"equal", "ordered", "other"}, default: "equal"
        ``equal``: the source's outputs are the scores. ``ordered``: any two of them compare as the scores do,
        as after a softmax. ``other``: neither, for example because part of the source was not read.
    remark : str, default: ""
        Reason why they are not equal.

    Raises
    ------
    NetworkError
        If `start` or `step` is not a finite number, they do not fit each other, a step is 0, or `outputs` is
        unknown.

    Examples
    --------
    >>> pixels = Source(step=Fraction(1, 255))
    >>> pixels.inputs([0, 51])
    (Fraction(0, 1), Fraction(1, 5))

    See Also
    --------
    Network : keeps it as `source`.
    """

    start: Fraction | tuple[Fraction, ...] = Fraction(0)
    step: Fraction | tuple[Fraction, ...] = Fraction(1)
    outputs: Outputs = "equal"
    remark: str = ""

    def __post_init__(self) -> None:
        for name in ("start", "step"):
            setting = getattr(self, name)
            exact: Any = (
                tuple(Fraction(exact_number(value, name, NetworkError)) for value in setting)
                if isinstance(setting, list | tuple)
                else Fraction(exact_number(setting, name, NetworkError))
            )
            object.__setattr__(self, name, exact)
        refuse(
            NetworkError,
            (
                isinstance(self.start, tuple) != isinstance(self.step, tuple)
                or (
                    isinstance(self.start, tuple)
                    and isinstance(self.step, tuple)
                    and len(self.start) != len(self.step)
                ),
                "start and step must be one number each, or one for every feature.",
            ),
            (
                not all(self.step if isinstance(self.step, tuple) else (self.step,)),
                "step is 0, so that all raw numbers would be the same in the source.",
            ),
            (
                self.outputs not in get_args(Outputs),
                f"outputs={self.outputs!r} must be one of {', '.join(get_args(Outputs))}.",
            ),
        )

    @property
    def is_plain(self) -> bool:
        """Whether raw numbers are those of the source."""
        return self.start == 0 and self.step == 1

    def inputs(self, x: Iterable[Any]) -> tuple[Any, ...]:
        """Return a raw sample of the network, such as a counterexample, in the numbers of the source."""
        if self.is_plain:
            return tuple(x)
        values = [Fraction(value) for value in x]
        return tuple(
            start + step * v for v, (start, step) in zip(values, self.lines(len(values)), strict=True)
        )

    def lines(self, features: int) -> list[tuple[Fraction, Fraction]]:
        """Return start and step of each of `features` features."""
        starts = self.start if isinstance(self.start, tuple) else (self.start,) * features
        steps = self.step if isinstance(self.step, tuple) else (self.step,) * features
        return list(zip(starts, steps, strict=True))

    def turned(self, lower: Iterable[Any], upper: Iterable[Any]) -> tuple[list[Any], list[Any]]:
        """Return the two ends of every feature, swapped if its step is negative, so that the smaller is
        first.
        """
        ends = list(zip(lower, upper, strict=True))
        lines = self.lines(len(ends))
        kept = [pair if step > 0 else pair[::-1] for pair, (_, step) in zip(ends, lines, strict=True)]
        return [low for low, _ in kept], [high for _, high in kept]
