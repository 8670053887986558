"""The kernels of counting, each with an equivalent in NumPy for work that is not worth compiling.

The NumPy version of the walk enumerates every combination and uses no bounds.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from collections.abc import Iterator
from typing import Any

import numpy as np

from sugenet.bits.compile_policy import Account, CompilePolicy
from sugenet.engines.walk.twins import words_of
from sugenet.reason.counts import kernels

__all__ = ["merge", "walk"]

_WALKING, _MERGING = Account(1 << 18), Account(1 << 21)  # combinations and sums: about a second
_BATCH = 1 << 12


def _walk(begin, end, root, moves, _limits, tail, _memory, tally, stop) -> None:
    waiting: list[Any] = []

    def tally_waiting() -> None:
        if waiting:
            tally[:] += np.bincount(_labels(np.concatenate(waiting), tail), minlength=len(tally))
            waiting.clear()

    for patterns in _patterns(root, begin, end, moves):
        waiting.append(patterns)
        if stop[0]:
            return
        if sum(map(len, waiting)) >= _BATCH:
            tally_waiting()
    tally_waiting()


def _patterns(root, begin, end, moves) -> Iterator[Any]:
    """Return the patterns of every prefix with each later option that the budget allows as the last one."""
    rows, weight, after, lightest, budget, _, _ = moves
    waiting = [(root, 0, begin, end)]
    while waiting:
        lanes, spent, first, last = waiting.pop()
        light = weight[first:last] <= budget - spent
        yield words_of(lanes + rows[first:last][light] >= 0)
        for k in (first + np.flatnonzero(light)).tolist():
            if spent + weight[k] + lightest[after[k]] <= budget:
                waiting.append((lanes + rows[k], spent + int(weight[k]), int(after[k]), len(rows)))


def _labels(patterns: Any, tail: Any) -> Any:
    """Return the classes of patterns, as positions among the classes that can win."""
    layers, ends, entries, bounds, slope, ranks = tail
    word, shift, flip, mask = entries

    def matches(q: int) -> Any:
        total = np.zeros(len(patterns), np.int64)
        for e in range(ends[q], ends[q + 1]):
            total += np.bitwise_count((patterns[:, word[e]] ^ flip[e]) & mask[e]).astype(np.int64) << shift[e]
        return total

    last = len(layers) - 3
    for layer in range(last):
        active = np.zeros((len(patterns), -(-int(layers[layer + 1] - layers[layer]) // 64) * 64), bool)
        for k, q in enumerate(range(layers[layer], layers[layer + 1])):
            active[:, k] = matches(q) >= bounds[q]
        patterns = words_of(active)
    scores = [
        ranks[k][matches(q)] if len(ranks) else slope[q] * matches(q) + bounds[q]
        for k, q in enumerate(range(layers[last], layers[last + 1]))
    ]
    return np.argmax(scores, axis=0)


def _merge(rows, _table, where):
    _, firsts, which = np.unique(
        rows.view(f"V{8 * rows.shape[1]}").reshape(-1), return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    number = np.empty(len(firsts), np.int64)
    number[order] = np.arange(len(firsts))
    where[:] = number[which]
    return firsts[order]


walk = CompilePolicy(kernels.walk, _walk, _WALKING)
merge = CompilePolicy(kernels.merge, _merge, _MERGING)
