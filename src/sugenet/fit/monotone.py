"""Networks that are monotone by construction: limits on the signs of weights along all paths.

Some neurons of each layer rise with the requested features. They read risen inputs with positive weights and
all others freely. The remaining neurons do not read risen inputs at all. The score of a class minus that of a
lower one never falls if a risen neuron rises. Batch norm increases with the sum, so nothing else is needed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sugenet.errors import SugenetError
from sugenet.fit.sugeno.columns import read_directions
from sugenet.nn import Encoder, OneHot
from sugenet.nn.arrays import Ints
from sugenet.reprs import quoted

__all__ = ["feature_ways", "limits_along"]


def feature_ways(monotone: Any, encoder: Encoder) -> Ints:
    """Return +1 for features that may only raise the class, -1 for those that may only lower it, else 0.

    Parameters
    ----------
    monotone
        Direction by feature: ``"rising"`` or +1, ``"falling"`` or -1.
    encoder
        Encoder of the features.

    Examples
    --------
    >>> from sugenet.nn import thermometer
    >>> encoder = Encoder([thermometer([20, 40]), OneHot(("car", "home"))], ["income", "purpose"])
    >>> feature_ways({"income": "falling"}, encoder)
    array([-1,  0])
    >>> feature_ways({"purpose": +1}, encoder)
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: monotone names 'purpose', a category, which cannot be raised. Leave it out.
    """
    numbers = {None: 0, "rising": 1, "falling": -1}
    ways = [numbers[way] for way in read_directions(monotone, encoder.names, "monotone")]
    for name, coding, way in zip(encoder.names, encoder.codings, ways, strict=True):
        if way and isinstance(coding, OneHot):
            raise SugenetError(
                f"monotone names {quoted(name)}, a category, which cannot be raised. Leave it out."
            )
        if way and not coding.width:
            raise SugenetError(
                f"monotone names {quoted(name)}, which has one value in the data, so the network cannot read "
                "it. Leave it out."
            )
    return np.array(ways)


def limits_along(ways: Ints, sizes: Sequence[int]) -> tuple[list[tuple[Ints, Ints]], Ints]:
    """Return the least and largest sign of each weight of the hidden layers, and the ways of the last one.

    Examples
    --------
    >>> limits, ways = limits_along(np.array([1, 0]), [2])
    >>> limits[0]
    (array([[ 0, -1],
           [ 0, -1]]), array([[1, 1],
           [0, 1]]))
    >>> ways
    array([1, 0])
    """
    limits = []
    for size in sizes:
        risen = np.arange(size) < (size if ways.all() else (size + 1) // 2 if ways.any() else 0)
        reads = risen[:, None] | (ways == 0)
        limits.append((np.where(ways == 1, 0, -1) * reads, np.where(ways == -1, 0, 1) * reads))
        ways = risen.astype(np.int64)
    return limits, ways
