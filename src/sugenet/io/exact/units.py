"""Weights as whole numbers times one unit a row: -1, 0 and +1 for a binarized layer,
whatever scale the file keeps them at.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.ops import Convolution, LinearOp

__all__ = ["bias_of", "exact_weights", "in_units"]

_LARGEST = 127


def in_units(weights: Any, where: str) -> tuple[Ints, list[Fraction]]:
    """Write each row of weights as whole numbers times a positive unit, exactly;
    `FileError` where a row has no such unit.

    Examples
    --------
    >>> rows, units = in_units(np.array([[0.5, -0.5, 0.5], [2, 0, -4]]), "layer 1")
    >>> rows.tolist(), [str(unit) for unit in units]
    ([[1, -1, 1], [1, 0, -2]], ['1/2', '2'])
    """
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
        exact = [Fraction(size) for size in sizes[: _LARGEST + 1]]
        unit = exact[0]
        ratios = [size / unit for size in exact]
        if len(sizes) > _LARGEST or any(ratio.denominator > 1 or ratio > _LARGEST for ratio in ratios):
            raise FileError(
                f"{where}: row {k} of the weights is not binary: it holds weights of size "
                f"{float(exact[0]):.6g} and {float(exact[1]):.6g}{' and more' if len(sizes) > 2 else ''}. A "
                f"binarized layer has one size a row: export weights as the network uses them."
            )
        units.append(unit)
        found[k] = [int(Fraction(value) / unit) for value in row.tolist()]
    return found.reshape(array.shape), units


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
