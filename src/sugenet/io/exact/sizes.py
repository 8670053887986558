"""How large the maps and windows of a network from elsewhere may be: a few words in a file can ask for any amount of memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sugenet.errors import FileError

__all__ = ["check_maps"]

_MOST = 1 << 22


def check_maps(where: str, shape: Sequence[int], window: Sequence[int] = ()) -> None:
    """Refuse a layer with more values, or whose windows read more values in all, than are read.

    Examples
    --------
    >>> check_maps("conv1", (64, 112, 112), (7, 7))
    >>> check_maps("pad", (1, 100_000, 100_000))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: pad: maps of 1 x 100000 x 100000 are 10,000,000,000 values, more than the 4,194,304 that are read.
    """
    if prod(shape) > _MOST:
        sides = " x ".join(map(str, shape))
        raise FileError(f"{where}: maps of {sides} are {prod(shape):,} values, more than the {_MOST:,} that are read.")
    if prod(shape[1:]) * prod(window) > _MOST:
        sides = " x ".join(map(str, window))
        raise FileError(
            f"{where}: windows of {sides} at {' x '.join(map(str, shape[1:]))} places read more than the {_MOST:,} values that are read."
        )
