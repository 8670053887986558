"""Weights as whole numbers times one unit a row: -1, 0 and +1 for a binarized layer,
whatever scale the file keeps them at.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.ops import Convolution, LinearOp

__all__ = ["bias_of", "exact_weights", "in_units", "quantized"]

_LARGEST = 1 << 16
"""Weights in units; those of sixteen bits are the largest that are read."""


def in_units(weights: Any, where: str) -> tuple[Ints, list[Fraction]]:
    """Write each row of weights as whole numbers times a positive unit, the largest there is, exactly;
    `FileError` where a row has none.

    Examples
    --------
    >>> rows, units = in_units(np.array([[0.5, -0.5, 0.5], [2, 0, -3]]), "layer 1")
    >>> rows.tolist(), [str(unit) for unit in units]
    ([[1, -1, 1], [2, 0, -3]], ['1/2', '1'])
    """
    found = quantized(weights, where)
    if isinstance(found, str):
        raise FileError(found)
    return found


def quantized(weights: Any, where: str) -> tuple[Ints, list[Fraction]] | str:
    """The same, or what to say of a row that has no unit."""
    array = np.asarray(weights)
    rows = array.reshape(len(array), -1)
    if rows.dtype != object and not np.isfinite(rows).all():
        raise FileError(
            f"{where}: row {int(np.argmax(~np.isfinite(rows).all(axis=1)))} of the weights holds a number "
            f"that is not finite."
        )
    found = np.zeros(rows.shape, np.int64)
    units = []
    for k, row in enumerate(rows):
        sizes = np.unique(np.abs(row[row != 0])).tolist()
        if len(sizes) <= 1:
            units.append(Fraction(sizes[0] if sizes else 1))
            found[k] = np.where(row > 0, 1, np.where(row < 0, -1, 0))
            continue
        unit = _common([Fraction(size) for size in sizes])
        if unit is None:
            return (
                f"{where}: row {k} of the weights is not quantized: it holds weights of size "
                f"{float(sizes[0]):.6g} and {float(sizes[1]):.6g}{' and more' if len(sizes) > 2 else ''}, "
                f"which are no small multiples of one number. A binarized layer has one size a row, a "
                f"quantized one multiples of a scale: export weights as the network uses them."
            )
        units.append(unit)
        whole = {size: int(Fraction(size) / unit) for size in sizes}
        found[k] = [0 if not v else whole[abs(v)] if v > 0 else -whole[abs(v)] for v in row.tolist()]
    return found.reshape(array.shape), units


def _common(sizes: list[Fraction]) -> Fraction | None:
    """The largest number of which all are multiples; None where one is too large a multiple."""
    unit = sizes[0]
    for size in sizes[1:]:
        bottom = lcm(unit.denominator, size.denominator)
        unit = Fraction(gcd(int(unit * bottom), int(size * bottom)), bottom)
        if sizes[-1] > _LARGEST * unit:
            return None
    return unit


def exact_weights(weights: Any, where: str) -> npt.NDArray[Any]:
    """Weights as the exact numbers they are."""
    array = np.asarray(weights)
    if not np.isfinite(array.astype(float)).all():
        raise FileError(f"{where}: a weight is not a finite number.")
    distinct, places = np.unique(array, return_inverse=True)
    exact = np.array([Fraction(value) for value in distinct.tolist()], dtype=object)
    return exact[places].reshape(array.shape)


def bias_of(op: LinearOp | Convolution) -> list[Fraction]:
    """The exact bias of each output; zeros where there is none."""
    count = len(op.weights)
    if op.bias is None:
        return [Fraction(0)] * count
    row = np.asarray(op.bias).reshape(-1)
    if row.size != count or not np.isfinite(row.astype(float)).all():
        raise FileError(
            f"{op.where}: the bias holds {row.size} numbers for {count} outputs, or one that is not finite."
        )
    return [Fraction(value) for value in row.tolist()]
