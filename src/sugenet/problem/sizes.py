"""How large a neighbourhood is: how many sets of moves a budget allows, how many features move together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from math import inf, prod

import numpy as np

from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import Neighbourhood

__all__ = [
    "combinations_of",
    "expansion_seconds",
    "features_that_fit",
    "heaviest",
    "is_soon_expanded",
    "one_more",
    "see_time",
    "sets_within",
]

_EXACT_SUMS = 500_000
"""Steps after which sets are counted by rounded weights."""
_LARGEST = 10**300
_CELLS_A_SECOND = 1 << 26
"""Numbers written in a second where a network is cut, roughly."""
_SOON = 1.0
"""Seconds beyond which levels are left to what reads them as they are, as long as that may help."""


def features_that_fit(near: Neighbourhood, budget: int | None = None) -> int:
    """No set of moves within the budget, or another that is given, changes more features than this."""
    limit = near.budget if budget is None else budget
    if limit is None:
        return len(near.places)
    lightest = sorted(int(near.columns.weights[moves].min()) for moves in near.places.values())
    return sum(1 for used in accumulate(lightest) if used <= limit)


def heaviest(near: Neighbourhood) -> int:
    """What the heaviest move of every feature weighs, all together: with such a budget anything goes."""
    return sum(int(near.columns.weights[moves].max()) for moves in near.places.values())


def combinations_of(near: Neighbourhood) -> float:
    """Number of ways to choose at most one move a feature, the budget aside;
    infinite where it is beyond floats.
    """
    return _as_float(prod(moves.stop - moves.start + 1 for moves in near.places.values()))


def sets_within(near: Neighbourhood, budget: int | None = None) -> float:
    """Number of allowed sets of moves, the empty one included;
    where costs are finely divided, a little more.
    """
    limit = near.budget if budget is None else budget
    if limit is None or limit >= heaviest(near):
        return combinations_of(near)
    by_feature = [Counter(near.columns.weights[moves].tolist()) for moves in near.places.values()]
    totals = {0: 1}
    work = 0
    for weights in by_feature:
        work += len(totals) * len(weights)
        if work > _EXACT_SUMS:
            return _about(by_feature, limit)
        totals = one_more(totals, weights, limit)
    return _as_float(sum(totals.values()))


def one_more(totals: Mapping[int, int], weights: Mapping[int, int], limit: int) -> dict[int, int]:
    """How many sets use exactly so much, up to a limit, with another feature: from how many did without it,
    and how many of its moves have which weight.
    """
    after = dict(totals)
    for used, count in totals.items():
        for weight, n_moves in weights.items():
            if used + weight <= limit:
                after[used + weight] = after.get(used + weight, 0) + count * n_moves
    return after


def _as_float(count: int) -> float:
    return float(count) if count < _LARGEST else inf


def _about(by_feature: list[Counter[int]], limit: int) -> float:
    """Number of sets with weights rounded down to a thousandth of the limit."""
    grain = max(1, limit // 1000)
    counts = np.zeros(limit // grain + 1)
    counts[0] = 1.0
    with np.errstate(over="ignore"):  # beyond floats it is infinite
        for weights in by_feature:
            after = counts.copy()
            for weight, n_moves in weights.items():
                step = weight // grain
                if step < len(counts):
                    after[step:] += n_moves * counts[: len(counts) - step]
            counts = after
        return float(counts.sum())


# -- networks of more than two levels ------------------------------------------------------------------------


def expansion_seconds(near: Neighbourhood) -> float:
    """Roughly how long it takes to write a network of levels out as steps, and what each move does to them;
    0 where nothing is cut.
    """
    if not near.network.has_levels:
        return 0.0
    cells, read = 0, 1
    for number, layer in enumerate(near.network.layers):
        weights, height = layer.weights, layer.height
        if layer.every is None and weights.size:  # of a convolution a kernel for every place
            written = layer.outputs * height * (weights.size // len(weights)) * read
            cells += written * (1 if number == 0 else 1 + int(np.abs(weights).max()))
        if number == 0:
            cells += 8 * len(near.moves) * layer.outputs * height
        read = height
    return cells / _CELLS_A_SECOND


def is_soon_expanded(near: Neighbourhood) -> bool:
    """Whether the network has few steps, or none to cut."""
    return expansion_seconds(near) <= _SOON


def see_time(near: Neighbourhood, clock: Clock) -> None:
    """See that what is left of the time suffices to cut the network, which looks at no clock.

    Raises
    ------
    TooLargeError
        Where it does not.
    """
    left = clock.left()
    if left is not None and expansion_seconds(near) > left:
        raise TooLargeError(
            "writing out all steps of all neurons would take longer than the time that is left. "
            "Allow more time."
        )
