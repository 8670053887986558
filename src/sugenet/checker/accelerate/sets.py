"""Count the sets of changes of a question without enumerating them."""

from collections import Counter
from collections.abc import Sequence
from math import prod

from sugenet.checker.limit import Limit

__all__ = ["as_words", "sets_of"]


def sets_of(
    weights: Sequence[Sequence[int]], budget: int | None, limit: Limit, *, sums: int, work: int | None = None
) -> int | None:
    """Return the number of sets with at most one option per feature and weights within the budget.

    Return None if their weights have more than `sums` distinct sums, or if counting takes more than `work`
    steps.

    Examples
    --------
    >>> rows = [[1], [1], [1, 2]]
    >>> sets_of(rows, 2, Limit(), sums=100), sets_of(rows, None, Limit(), sums=100)
    (8, 12)
    """
    if budget is None:
        return prod(len(row) + 1 for row in weights)
    if budget < 0:
        return 0
    counts, steps = {0: 1}, 0
    for row in weights:
        more = dict(counts)
        for weight, times in Counter(row).items():
            limit.look()
            steps += len(counts)
            if work is not None and steps > work:
                return None
            for used, count in counts.items():
                if used + weight <= budget:
                    more[used + weight] = more.get(used + weight, 0) + count * times
        counts = more
        if len(counts) > sums:
            return None
    return sum(counts.values())


def as_words(count: int) -> str:
    """Return a number as text for a message, however large it is."""
    return f"{count:,}" if count < 10**30 else "more than 10^30"
