"""All combinations of few free features in Gray-code order, for layers and sums that planes cannot hold
(docs/theory.md 7.4).

Wide first layers have hundreds of fragile neurons, so that patterns hardly repeat and keeping them is of no
use. But one feature turns few neurons, these turn few behind them, and so on: every layer is brought up to
date from what has changed in the layer before, and nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from sugenet.bits.threads import share
from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.memory import make_sure
from sugenet.engines.walk.judge import PatternJudge
from sugenet.engines.walk.sweep import lanes_for
from sugenet.problem.clock import Clock
from sugenet.problem.moves import FeatureMove
from sugenet.problem.problem import Problem

__all__ = ["Stepped", "has_slices", "step_through"]

_PART = 1 << 16
"""Combinations that are gone through without a look at the clock, about 20 ms."""
_ROUND = 128
"""Parts after which somebody may be told, and violations are looked at."""
_VECTOR, _FULL = 512, np.uint64((1 << 64) - 1)
_PLANES = 6
"""At least so many: what 15 rows add, twice, fits."""


@dataclass(frozen=True)
class Stepped:
    """What going through all combinations has shown."""

    sets: int
    """Combinations gone through, about, where there is a violation."""
    violation: tuple[FeatureMove, ...] | None


def has_slices(judge: PatternJudge) -> bool:
    """Whether the layers behind the first are neurons of weights -1, 0 and 1 that can be kept bit-sliced."""
    if judge.later is None or judge.votes is None or len(judge.later[0]) < 2:
        return False
    return all(len(rows) and np.abs(rows).max(initial=0) <= 1 for rows in judge.later[0][:-1])


def step_through(problem: Problem, judge: PatternJudge, clock: Clock) -> Stepped | None:
    """Go through all combinations of moves until one reaches the goal; None when the time was up. The sample
    itself is known not to. What is found does not depend on the number of threads.
    """
    return _Steps(problem, judge, clock).run()


class _Steps:
    """One problem: features that stay within a part come first, those that tell parts apart behind them."""

    def __init__(self, problem: Problem, judge: PatternJudge, clock: Clock) -> None:
        self.near, self.clock = problem.near, clock
        start, rows = lanes_for(problem.front)
        center = start.astype(np.int64) + _middle(rows, problem)
        order = np.argsort(np.abs(2 * center[: len(problem.front.fragile)] + 1), kind="stable")
        self.start, rows = start.copy(), rows.copy()
        self.start[: len(order)], rows[:, : len(order)] = start[order], rows[:, order]
        worth = problem.importance()
        features = sorted(self.near.places, key=lambda feature: (worth[feature], feature))
        self.options: list[list[int | None]] = [
            [None, *range(self.near.places[f].start, self.near.places[f].stop)] for f in features
        ]
        nothing = np.zeros_like(start)
        self.gains = [np.array([nothing if k is None else rows[k] for k in own]) for own in self.options]
        self.inner = 0
        while self.inner < len(features) and prod(map(len, self.options[: self.inner + 1])) <= _PART:
            self.inner += 1
        self.outer = [len(own) for own in self.options[self.inner :]]
        self.parts, self.total = prod(self.outer), prod(map(len, self.options))
        self.sliced = _Sliced(problem, judge, order, len(start) // 64)
        self.inside = np.concatenate([*self.gains[: self.inner], np.zeros((1, len(start)), start.dtype)])
        self.first = np.cumsum([0, *map(len, self.options[: self.inner])]).astype(np.int64)
        self.lock, self.stopped = Lock(), False
        self.found: list[tuple[int, list[int]]] = []

    def run(self) -> Stepped | None:
        for begin in range(0, self.parts, _ROUND):
            end = min(begin + _ROUND, self.parts)
            share(partial(self._go, begin), end - begin, 1, self.clock.threads)
            if self.stopped:
                return None
            if self.found:
                part, inside = min(self.found)
                chosen = [own[k] for own, k in zip(self.options, inside + self._outside(part), strict=True)]
                moves = sorted(k for k in chosen if k is not None)
                sets = end * (self.total // self.parts)
                return Stepped(sets, tuple(self.near.moves[k] for k in moves))
            if end % (8 * _ROUND) == 0:
                self.clock.tell(f"exhaust: {end / self.parts:.0%} of {self.total:,} combinations")
        return Stepped(self.total, None)

    def _outside(self, part: int) -> list[int]:
        """The options of the features that tell parts apart."""
        chosen = []
        for many in self.outer:
            part, option = divmod(part, many)
            chosen.append(option)
        return chosen

    def _go(self, first: int, begin: int, end: int) -> None:
        from sugenet.engines.walk.gray_kernels import walk_gray

        for part in range(first + begin, first + end):
            with self.lock:
                self.stopped = self.stopped or self.clock.up()
                if self.stopped:
                    return
            lanes = self.start.copy()
            for gains, option in zip(self.gains[self.inner :], self._outside(part), strict=True):
                lanes += gains[option]
            choices = np.zeros(self.inner, np.int64)
            if walk_gray(lanes, choices, self.inside, self.first, *self.sliced.fresh()):
                with self.lock:
                    self.found.append((part, choices.tolist()))


def _middle(rows: Any, problem: Problem) -> Ints:
    """Half of what the features can add to the lanes, about."""
    starts = [moves.start for moves in problem.near.places.values()]
    if not starts:
        return np.zeros(rows.shape[1], np.int64)
    wide = rows.astype(np.int64)
    ends = np.maximum.reduceat(wide, starts, axis=0) + np.minimum.reduceat(wide, starts, axis=0)
    return np.asarray(ends.sum(axis=0) // 2)


class _Sliced:
    """The layers behind the first at the sample, bit-sliced, as `gray_kernels` reads them."""

    def __init__(self, problem: Problem, judge: PatternJudge, order: Any, words: int) -> None:
        from sugenet.engines.walk.gray_kernels import BLOCK

        assert judge.later is not None
        *hidden, _ = judge.later[0]
        taus = judge.later[1]
        blocks = [-(-len(rows) // _VECTOR) for rows in hidden]
        room = sum(2 * rows.shape[1] * many for rows, many in zip(hidden, blocks, strict=True))
        make_sure(16 * BLOCK * room, "the later layers in slices", "Ask about a smaller region.")
        ends = np.cumsum([0, words, *(BLOCK * many for many in blocks)])  # words that each layer reads
        self.now = np.zeros(ends[-1], np.uint64)
        self.there = np.zeros(ends[-1], np.uint64)  # a bit for every neuron
        self.there[:words] = _FULL
        active, shapes = np.zeros(len(order), bool), []
        slices: list[Any] = []
        planes: list[Any] = []
        for number, (rows, many) in enumerate(zip(hidden, blocks, strict=True)):
            rows = rows[:, order]
            margin = np.where(active, np.maximum(rows, 0), np.maximum(-rows, 0)).sum(axis=1) - taus[number]
            order = np.argsort(np.abs(2 * margin + 1), kind="stable")  # those that turn often stand together
            rows, margin = rows[order], margin[order]
            count = max(_PLANES, (int(np.abs(margin).max()) + rows.shape[1]).bit_length() + 1)
            both = bool((rows != 0).all())
            own = _columns(rows.T, both=both)
            first, place = (sum(len(part) for part in parts) for parts in (slices, planes))
            read = max(1, -(-rows.shape[1] // 64))
            size = BLOCK * many
            shapes.append((read, many, count, 1 if both else 2, first + size, place, first, ends[number]))
            slices.append(np.concatenate([np.zeros(size, np.uint64), own]))
            planes.append(_planes(margin, count, many))
            active = margin >= 0
            here = slice(ends[number + 1], ends[number + 2])
            self.now[here], self.there[here] = _words(active[None]), _words(np.ones((1, len(active)), bool))
        shapes.append((-(-len(active) // 64), 0, 0, 0, 0, 0, 0, ends[len(hidden)]))
        votes, least = problem.goal.neurons(problem.near.network.cut.head)
        votes = votes[:, order]
        cases = np.cumsum([0, *map(len, problem.goal.members)]).astype(np.int64)
        members = np.array([one for case in problem.goal.members for one in case], np.int64)
        self.shapes, self.planes, self.rows = (
            np.array(shapes, np.int64),
            *map(np.concatenate, (planes, slices)),
        )
        self.votes, self.missing = np.ascontiguousarray(votes.T), least - votes @ active
        self.cases, self.members = cases, members

    def fresh(self) -> tuple[Any, ...]:
        """Everything at the sample, to be walked from."""
        layers = len(self.shapes) - 1
        owed = np.zeros(layers, np.uint64)
        state = (self.planes.copy(), self.rows, owed, self.now.copy(), self.there)
        return layers, self.shapes, *state, self.votes, self.missing.copy(), self.cases, self.members


def _words(truths: Bits) -> Any:
    """Rows of truth values as words, as many as whole vectors have."""
    padded = np.pad(truths, ((0, 0), (0, -truths.shape[1] % _VECTOR)))
    return np.packbits(np.ascontiguousarray(padded), bitorder="little").view(np.uint64)


def _columns(weights: Ints, *, both: bool) -> Any:
    """For each input, turned off and then turned on, the rows of bits that it adds, 1 less for all: where all
    weights are -1 or +1 one row that counts twice, else one of those that win and one of those that do not
    lose.
    """
    off, on = -weights, weights
    parts = [off > 0, on > 0] if both else [off > 0, off >= 0, on > 0, on >= 0]
    size = -(-weights.shape[1] // _VECTOR) * _VECTOR // 64
    return np.stack([_words(part).reshape(-1, size) for part in parts], axis=1).reshape(-1)


def _planes(margins: Ints, count: int, blocks: int) -> Any:
    """Bits of whole numbers in two's complement, vector by vector."""
    bits = (margins[None] >> np.arange(count)[:, None]) & 1
    words = _words(bits.astype(bool)).reshape(count, blocks, -1)
    return np.ascontiguousarray(words.transpose(1, 0, 2)).reshape(-1)
