"""A logic-gate network in the numbers of its source: cuts of raw inputs, layers of gates with two inputs, and
one sum of gates per class.

The number of a gate is its truth table, read as a binary number: the bit worth 8 is the output for inputs
00, the bit worth 1 that for 11. So 1 is AND, 7 is OR and 6 is XOR, as in difflogic and torchlogix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Ints

__all__ = ["IDENTITY", "GateLayer", "GateProgram", "InputCuts", "gate_layer"]

IDENTITY = 3
"""The gate that gives its first input."""
_GATES = 16


@dataclass(frozen=True, eq=False)
class GateLayer:
    """Gates that read the same values; gate j reads values ``first[j]`` and ``second[j]``."""

    where: str
    first: Ints
    second: Ints
    gates: Ints
    """Numbers of the gates, from 0 to 15."""
    carried: int = 0
    """Number of gates at the end that are not in the source. They carry values past this layer."""


@dataclass(frozen=True, eq=False)
class InputCuts:
    """Cuts of raw inputs: bit k of a feature is ``x > values[feature, k]``."""

    where: str
    values: npt.NDArray[Any]
    """One row per feature, in the file's own floats."""
    order: Ints
    """For each value that the first layer can read: ``feature * (number of cuts) + k``."""


@dataclass(frozen=True, eq=False)
class GateProgram:
    """A logic-gate network as its source states it.

    The score of class k is ``(number of active members[k] + offsets[k]) / divisor``.
    """

    source: str
    shape: tuple[int, ...]
    """Shape of one raw sample."""
    thresholds: InputCuts | None
    """None: raw inputs are bits."""
    layers: tuple[GateLayer, ...]
    members: tuple[Ints, ...]
    """For each class, the values of the last layer that it sums."""
    divisor: float
    offsets: tuple[float, ...]

    @property
    def features(self) -> int:
        """Number of raw features."""
        return int(np.prod(self.shape))

    @property
    def width(self) -> int:
        """Number of bits that the first layer can read."""
        return self.features if self.thresholds is None else len(self.thresholds.order)


def gate_layer(where: str, first: Any, second: Any, gates: Any, inputs: int) -> GateLayer:
    """Return a checked layer that reads `inputs` values.

    Examples
    --------
    >>> gate_layer("layer 1", [0, 1], [1, 2], [6, 16], inputs=3)
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: layer 1: gate 1 has number 16, and gates are numbered from 0 to 15.
    """
    rows = [np.asarray(values) for values in (first, second, gates)]
    refuse_if(
        any(row.ndim != 1 or row.dtype.kind not in "iu" for row in rows),
        where,
        "the inputs and the numbers of gates must be three rows of integers.",
    )
    refuse_if(
        len({len(row) for row in rows}) > 1,
        where,
        f"{len(rows[0])} first inputs, {len(rows[1])} second inputs and {len(rows[2])} gates do not fit.",
    )
    refuse_if(not len(rows[2]), where, "there are no gates.")
    for row, word in zip(rows[:2], ("first", "second"), strict=True):
        wrong = np.flatnonzero((row < 0) | (row >= inputs))
        refuse_if(
            len(wrong),
            where,
            f"the {word} input of gate {wrong[:1].sum()} is {row[wrong[:1]].sum()}, but there are "
            f"{inputs:,} values, numbered from 0.",
        )
    wrong = np.flatnonzero((rows[2] < 0) | (rows[2] >= _GATES))
    refuse_if(
        len(wrong),
        where,
        f"gate {wrong[:1].sum()} has number {rows[2][wrong[:1]].sum()}, and gates are numbered from 0 to 15.",
    )
    one, two, ids = (row.astype(np.int64) for row in rows)
    return GateLayer(where, one, two, ids)
