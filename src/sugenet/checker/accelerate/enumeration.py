"""Enumerate all sets of changes that a question allows: none may be a violation.

To be ensured: one form evaluates every set. The question determines the form, not the certificate:

1. A large network, such as one of convolutions: a walk that does not write out its neurons (`large`).
2. One hidden layer: branch and bound, without a budget (`branches`) or within one (`budgets`). With few sets,
   or if it takes longer than to enumerate them, the next form follows.
3. Very many sets, or many sets and more neurons that can turn than a word has bits: blocks of 512 sets
   (`words`).
4. All others, and problems whose numbers are too large for these forms: a walk from set to set (`walk`).

`rules` has the definition. The number of sets is computed without enumerating them (`sets`). If a form visits
a different number, the certificate is refused.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sugenet.checker.accelerate.arrays import Summing, expansions_of
from sugenet.checker.accelerate.integers import ArrayProblem, array_problem, reachable
from sugenet.checker.limit import Limit
from sugenet.checker.problem import max_together, priced
from sugenet.checker.setting import Setting
from sugenet.errors import CertificateError, TooLargeError

__all__ = [
    "as_words",
    "check_enumeration",
    "is_large",
    "sets_of",
]

_CELLS = 1 << 24
"""Largest number of changes times neurons or features, or of weights of later layers that are not dense, for
which everything is written out.
"""
_FEW = 1 << 16
"""Up to this many combinations, a large network is walked without being written out. From this many sets, if
they turn more neurons than a word has bits, they are enumerated in blocks.
"""
_MANY = 1 << 24
"""From this many sets, all are enumerated in blocks."""
_FEWEST, _NODE = 1000, 1 << 14
"""Nodes of a branch and bound within a budget that are always visited, and about as many sets as can be
enumerated in the time of one.
"""
_MOST = 10**13
"""Largest number of sets that are enumerated one by one."""
_WORD = 64
_WORK = 1 << 22
"""Number of steps after which counting the sets in advance is given up."""


def check_enumeration(setting: Setting, limit: Limit) -> str:
    """Check that no set of changes is a violation; return the number of sets and the form that enumerated
    them.
    """
    options, budget = priced(setting, limit)
    prices = [row for _, row in options.values()]
    if budget is not None and budget < 0:
        raise CertificateError("no input of the region meets the limits.")
    is_free = budget is None or sum(map(max, prices)) <= budget
    sets = sets_of(prices, None if is_free else budget, limit, sums=_WORK, work=_WORK)
    if is_large(setting) and not (is_free and sets is not None and sets > _FEW):
        from sugenet.checker.accelerate.large import Large

        return _said("walk", Large(setting, limit).sets_seen(), sets)
    problem = array_problem(setting, limit)
    if is_free:
        problem = replace(problem, budget=None)
    refusal: TooLargeError | None = None
    for form in _forms(problem, sets):
        try:
            return _said(form, _seen(form, replace(problem, limit=limit.part()), sets), sets)
        except TooLargeError as error:  # the next form may work
            refusal = error
    assert refusal is not None
    raise refusal


def _said(form: str, seen: int | None, sets: int | None) -> str:
    if seen is None:
        raise CertificateError("a change that the certificate excludes is a violation.")
    if not seen and form == "branch and bound":
        return f"no set of changes is a violation ({form})"
    if sets is not None and seen != sets:
        raise CertificateError(f"there are {as_words(sets)} sets of changes, and the {form} saw {seen:,}.")
    return f"none of the {as_words(seen)} sets of changes is a violation ({form})"


def _forms(problem: ArrayProblem, sets: int | None) -> Iterator[str]:
    """Yield the forms for a question, the fastest first."""
    if not problem.later and (problem.budget is None or sets is None or sets > _FEW):
        yield "branch and bound"
    if sets is None or sets >= _MANY or (sets >= _FEW and _turning(problem) > _WORD):
        yield "blocks"
    yield "walk"


def _turning(problem: ArrayProblem) -> int:
    """Return how many neurons of the first layer can turn."""
    lightest = (min(price for price, _ in row) for row in problem.features)
    low, high = reachable(problem.base, problem.features, max_together(lightest, problem.budget))
    return int(np.count_nonzero((low >= 0) != (high >= 0)))


def _seen(form: str, problem: ArrayProblem, sets: int | None) -> int | None:
    """Return the number of sets that a form visited (0: not counted), or None if one is a violation; load
    compiled code if needed.
    """
    if form == "branch and bound":
        if problem.budget is None:
            from sugenet.checker.accelerate.branches import branches_seen

            return branches_seen(problem)
        from sugenet.checker.accelerate.budgets import is_reached

        few = None if sets is None or sets > _MOST else max(_FEWEST, sets // _NODE)
        return None if is_reached(problem, few) else sets or 0
    if sets is not None and sets > _MOST:
        raise TooLargeError(
            f"there are {as_words(sets)} sets of changes, and at most {_MOST:,} are enumerated."
        )
    if form == "blocks":
        from sugenet.checker.accelerate.words import blocks_seen

        return blocks_seen(problem)
    from sugenet.checker.accelerate.walk import walk_seen

    return walk_seen(problem)


def is_large(setting: Setting) -> bool:
    """Return whether a question about one network would use much memory with its neurons written out."""
    networks = expansions_of(setting.networks)
    layers = networks[0].layers
    if len(networks) > 1 or not layers:
        return False
    changes = sum(map(len, setting.options.values()))
    written_out = sum(layer.inputs * layer.outputs for layer in layers[1:] if not isinstance(layer, Summing))
    return changes * max(layers[0].outputs, len(networks[0].codings)) > _CELLS or written_out > _CELLS


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
