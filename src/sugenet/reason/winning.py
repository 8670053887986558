"""Which class wins at an input, in exact numbers, and which others share its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sugenet.bnn import Network
from sugenet.bnn.arrays import Ints
from sugenet.problem.neighbourhood import row_of
from sugenet.visible import visible

__all__ = ["tie_words", "winners"]


def winners(network: Network, row: Sequence[Any], counts: Ints | None = None) -> tuple[int, ...]:
    """The classes with the largest exact score at a raw input, lowest number first; several where there is
    a tie. Match counts of the classes, where they are known, are not worked out again.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> winners(Network.of_bits([], Head([[1, 1], [-1, 1], [1, 1]])), [1, 1])
    (0, 2)
    """
    held = network.match_counts(row_of(row), engine="definition") if counts is None else counts
    scores = network.head.ranked(held)[0]
    return tuple(np.flatnonzero(scores == scores.max()).tolist())


def tie_words(names: Sequence[str]) -> str:
    """Classes that share the largest score."""
    names = [*map(visible, names)]
    return f"a tie of classes {', '.join(names[:-1])} and {names[-1]}"
