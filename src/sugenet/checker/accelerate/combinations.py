"""Going through all combinations of options once more, each one feature away from the one before.

To be ensured: every combination is met, and each is judged with all its layers. A step of one feature turns
some neurons of the first layer; each of them changes the match counts of the second layer by its weights,
and so on (`stepping`). Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.later import cores
from sugenet.checker.accelerate.products import Bits, Ints, dense_counts
from sugenet.checker.accelerate.stepping import DIGITS, INEQUALITIES, VECTOR, step_through
from sugenet.checker.accelerate.whole import Whole, reachable
from sugenet.errors import TooLargeError

__all__ = ["combinations_seen"]

_PART = 1 << 15
"""Combinations between two looks at the clock."""
_LARGE = 1 << 62
_TRIED = 64
"""Combinations at which it is seen how many neurons a step of a feature turns."""


def combinations_seen(whole: Whole, threads: int | None = None) -> int | None:
    """How many combinations there are; None: one of them is a violation."""
    limit, layers = whole.limit, [(np.asarray(rows), np.asarray(tau)) for rows, tau in whole.layers]
    if any(np.abs(rows).max(initial=0) > 1 or not len(tau) for rows, tau in layers):
        raise TooLargeError("combinations are for later layers of weights -1, 0 and 1.")
    low, high = reachable(whole.base, whole.features, len(whole.features))
    loose = np.flatnonzero((low >= 0) != (high >= 0))
    loose = loose[_nearest_first((low + high)[loose] // 2)]
    # sums lie between these ends, and no step is longer than from one to the other
    largest = int(max(part[loose].max(initial=0) for part in (-low, high, high - low)))
    if largest >= 1 << 31:
        raise TooLargeError("the sums of the first layer are too large for combinations.")
    kind = np.int8 if largest < 1 << 7 else np.int32
    words = max(1, -(-len(loose) // 64))
    limit.take(4 * 64 * words * 3 * sum(map(len, whole.offered)), "all changes")
    offered = _calm_first(
        whole.base[loose], [np.array([gain[loose] for _, gain in row]) for row in whole.offered]
    )
    tail = _Tail(whole, layers, loose)
    inner = 0
    while inner < len(offered) and prod(map(len, offered[: inner + 1])) <= _PART:
        inner += 1
    first = np.cumsum([0, *map(len, offered[:inner])]).astype(np.int64)
    # what a step from option k of a feature to the next one adds, and back, and at last nothing
    steps = [np.diff(options, axis=0, append=options[-1:]) for options in offered[:inner]]
    up = np.concatenate([*steps, np.zeros((1, len(loose)), np.int64)])
    changes = np.zeros((2 * len(up) - 1, 64 * words), kind)
    changes[:, : len(loose)] = np.concatenate([up[:-1], -up[:-1], up[-1:]])

    def look_at(part: int) -> bool:
        limit.look()
        margins = whole.base[loose].copy()
        for options in offered[inner:]:
            part, k = divmod(part, len(options))
            margins += options[k]
        for options in offered[:inner]:
            margins += options[0]
        sums = np.full(64 * words, -1, kind)
        sums[: len(loose)] = margins
        chosen = np.zeros(inner, np.int64)
        return bool(step_through(sums, chosen, changes.reshape(-1), first, *tail.at_sample()))

    parts = prod(map(len, offered[inner:]))
    with ThreadPoolExecutor(threads or cores()) as pool:
        for begin in range(0, parts, 1 << 10):  # an error in one part ends it soon
            if any(pool.map(look_at, range(begin, min(begin + (1 << 10), parts)))):
                return None
    return prod(map(len, offered))


def _nearest_first(margins: Ints) -> Ints:
    """Order of neurons by how far they are from tau: those that turn often stand together."""
    return np.argsort(np.abs(2 * margins + 1), kind="stable")


def _calm_first(base: Ints, offered: list[Ints]) -> list[Ints]:
    """Features that turn few neurons first, since those are stepped most often; by some combinations."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(options), size=_TRIED) for options in offered]
    sums = base + sum(options[row] for options, row in zip(offered, drawn, strict=True))
    turned = []
    for options, row in zip(offered, drawn, strict=True):
        other = options[(row + 1) % len(options)]
        turned.append(int(((sums - options[row] + other >= 0) != (sums >= 0)).sum()))
    return [offered[k] for k in np.argsort(turned, kind="stable")]


class _Tail:
    """The layers behind the first at the sample: planes of each, and what turning a neuron adds."""

    def __init__(self, whole: Whole, layers: list[tuple[Ints, Ints]], loose: Any) -> None:
        active, order = np.asarray(whole.base) >= 0, np.arange(len(whole.base))
        self.read, self.inside = [_words(active[loose][None], 1)], [_words(np.ones((1, len(loose)), bool), 1)]
        planes, rows, digits, both = [], [], [], []
        for place, (weights, tau) in enumerate(layers):
            margins = dense_counts(weights, active[None])[0] - tau
            active = margins >= 0
            weights = weights[:, loose if place == 0 else order]
            order = _nearest_first(margins)
            weights, margins = weights[order], margins[order]
            whole.limit.take(weights.size, "the later layers in planes")
            most = int(np.abs(margins).max()) + weights.shape[1]
            digits.append(max(DIGITS + 1, most.bit_length() + 1))
            planes.append(_planes(margins, digits[-1]))
            both.append(bool((weights != 0).all()))
            rows.append(_turned(weights.T, 64 * self.read[-1].size, twice=both[-1]))
            self.read.append(_words((margins >= 0)[None], VECTOR))
            self.inside.append(_words(np.ones((1, len(tau)), bool), VECTOR))
        ends, at, begins = (
            np.cumsum([0, *(part.size for part in parts)]).astype(np.int64)
            for parts in (self.read, planes, rows)
        )
        self.planes = np.concatenate([np.zeros(0, np.uint64), *planes])
        self.layers = (
            np.concatenate([part.reshape(-1) for part in self.inside]),
            ends,
            at,
            np.array(digits, np.int64),
            np.concatenate([np.zeros(0, np.uint64), *rows]),
            begins,
            np.array(both, np.bool_),
        )
        self._score(whole, dense_counts(whole.head, active[None])[0], order if layers else loose)

    def _score(self, whole: Whole, counts: Ints, order: Ints) -> None:
        """What each inequality misses at the sample, where the classes have these match counts, and what
        neurons of the last layer, in this order, add to that when they go on and when they go off; at last a
        row of nothing.
        """
        parts, cases = whole.inequalities
        factors = np.array([list(row) for row, _ in parts], object).reshape(len(parts), len(whole.head))
        worth = (factors @ whole.head.astype(object)).T
        here = factors @ counts.astype(object)
        short = np.array([least for _, least in parts], object) - here
        if np.abs(worth).sum() + np.abs(short).sum() >= _LARGE:
            raise TooLargeError("the scores are too finely divided for combinations.")
        worth = worth[order]
        wide = -(-max(1, len(parts)) // INEQUALITIES) * INEQUALITIES
        width = 64 * self.read[-1].size
        rows = np.zeros((2 * width + 1, wide), np.int64)
        for begin, gained in ((0, -worth), (width, worth)):
            rows[begin : begin + len(worth), : len(parts)] = gained
        members = np.zeros((len(cases), len(parts)), np.bool_)
        for row, case in zip(members, cases, strict=True):
            row[case] = True
        self.head = (rows.reshape(-1), members)
        self.short = np.zeros(wide, np.int64)
        self.short[: len(parts)] = short

    def at_sample(self) -> tuple[Any, ...]:
        """Everything as it is at the sample, to be changed."""
        read = np.concatenate([part.reshape(-1) for part in self.read])
        return (read, self.planes.copy(), self.short.copy()), self.layers, self.head


def _planes(numbers: Ints, digits: int) -> npt.NDArray[np.uint64]:
    """Binary digits of whole numbers in two's complement: for each vector of numbers its lowest digits, the
    next ones, and so on.
    """
    bits = (np.asarray(numbers, np.int64) >> np.arange(digits)[:, None]) & 1 > 0
    vectors = _words(bits, VECTOR).reshape(digits, -1, VECTOR)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(-1)


def _words(truths: Bits, vector: int) -> npt.NDArray[np.uint64]:
    """Rows of truth values as words, the first the lowest bit; a multiple of so many, and one at least."""
    wide = max(1, -(-truths.shape[1] // (64 * vector))) * 64 * vector
    padded = np.zeros((len(truths), wide), bool)
    padded[:, : truths.shape[1]] = truths
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _turned(weights: Ints, width: int, *, twice: bool) -> npt.NDArray[np.uint64]:
    """For each neuron before (a row of weights, out of so many) what it adds when it goes on, then for each
    when it goes off, plus 1, as rows of bits: those that win, and those that do not lose. Without a weight of
    0 these are the same, and one row counts twice. At last rows of nothing.
    """
    size = _words(weights[:1] > 0, VECTOR).shape[1]
    rows = np.zeros((2 * width + 1, 1 if twice else 2, size), np.uint64)
    for begin, gained in ((0, weights), (width, -weights)):
        rows[begin : begin + len(weights), 0] = _words(gained > 0, VECTOR)
        if not twice:
            rows[begin : begin + len(weights), 1] = _words(gained >= 0, VECTOR)
    return rows.reshape(-1)
