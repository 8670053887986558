"""Folding by evaluation: the twin of `fold` that evaluates a framework's own arithmetic at every sum."""

import numpy as np

from sugenet.nn import DenseLayer
from sugenet.nn.folding import thresholds


def fold_by_evaluation(weights, value, *, zero=1):
    """The layer of which `value` gives, in an array (sums, neurons), the numbers whose sign is taken."""
    rows = np.array(weights, np.int64)
    sizes = np.abs(rows).sum(axis=1)
    # a short column repeats its last sum
    counts = np.minimum(np.arange(int(sizes.max(initial=0)) + 1)[:, None], sizes)
    values = np.asarray(value((2 * counts - sizes).astype(np.float64)))

    def decide(j):
        column = values[: int(sizes[j]) + 1, j]
        rises, falls = (column[1:] > column[:-1]).any(), (column[1:] < column[:-1]).any()
        assert not (rises and falls)
        signs = np.sign(column).astype(int)
        return int(rises) - int(falls), lambda count: int(signs[count])

    folded, tau, flipped, ties = thresholds(rows, sizes, decide, zero)
    return DenseLayer(folded, tau, flipped=flipped, ties=ties)
