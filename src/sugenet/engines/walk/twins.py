"""The kernels of the walks, each with a twin in NumPy for work that does not pay for compilation.

Twins are the same source, run uncompiled; work over many lanes or patterns is done by NumPy.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from itertools import pairwise
from typing import Any

import numpy as np

from sugenet.bits.compile_policy import Account, CompilePolicy, plain
from sugenet.engines.walk import kernels
from sugenet.engines.walk.lanes import GOLDEN, LANES

__all__ = [
    "fetched",
    "shortfalls",
    "turned",
    "unseen",
    "walk_sets",
    "words_of",
]

_WALKING, _JUDGING = Account(1 << 18), Account(1 << 24)  # about a second of sets, and of inequalities


def words_of(bits: Any) -> Any:
    """Return rows of truth values as words, lowest bit first; their number must fill complete words."""
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)


def turned(lanes: Any, index: int, rows: Any, where: int) -> Any:
    """Do the same as `lanes.turned`."""
    sums = lanes.reshape(-1)[index : index + LANES] + rows.reshape(-1)[where : where + LANES]
    return words_of(sums >= 0)[0]


def fetched(_words: Any, _index: int) -> None:
    """Do nothing: a hint to the cache is not needed."""


def _put(to, row, start):
    to[row] = start


def _add(acc, depth, rows, k):
    acc[depth + 1] = acc[depth] + rows[k]


def _hashes(keys: Any) -> Any:
    """Fold the words of each pattern into one."""
    h = keys[:, 0]
    for w in range(1, keys.shape[1]):
        h = (h ^ (h >> np.uint64(29))) * GOLDEN ^ keys[:, w]
    return h * GOLDEN


def _line(acc, depth, rows, first, end, weight, high, recent, fresh, begin):
    light = weight[first:end] <= high
    keys = words_of(acc[depth] + rows[first:end][light] >= 0)
    indices = (_hashes(keys) >> np.uint64(40)) & np.uint64(len(recent) - 1)
    order = np.argsort(indices, kind="stable")
    keys_, indices_ = keys[order], indices[order]
    begins = np.diff(indices_, prepend=np.uint64(1 << 63)) != 0
    before = np.where(begins[:, None], recent[indices_], np.roll(keys_, 1, axis=0))
    ends = np.roll(begins, -1)
    recent[indices_[ends]] = keys_[ends]
    new = np.empty(len(keys), bool)
    new[order] = (keys_ != before).any(axis=1)
    last = begin + int(new.sum())
    fresh[begin:last] = keys[new]
    return last, len(keys)


def _shortfalls(counts, shift, votes, out):
    starts, classes, factors, min_sums, cases, members = votes
    columns = counts.astype(np.int64) + shift
    missing = [
        min_sums[q] - columns[:, classes[a:b]] @ factors[a:b] for q, (a, b) in enumerate(pairwise(starts))
    ]
    out[:] = 1
    for c, (a, b) in enumerate(pairwise(cases)):
        worst = np.max([missing[q] for q in members[a:b]], axis=0) if b > a else np.zeros(len(out), np.int64)
        out[:] = worst if c == 0 else np.minimum(out, worst)


_LEAVES = {"turned": turned, "fetch": fetched, "_put": _put, "_add": _add, "_line": _line}

walk_sets = CompilePolicy(kernels.walk_sets, plain(kernels.walk_sets, **_LEAVES), _WALKING)
unseen = CompilePolicy(kernels.unseen, plain(kernels.unseen, **_LEAVES), _WALKING)
shortfalls = CompilePolicy(kernels.shortfalls, _shortfalls, _JUDGING)
