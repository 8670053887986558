"""Search with learning for a cascade of thresholds: decides a problem exactly,
and proves it where nothing is found.

Clauses are learned from conflicts as in any such solver; what differs is that the thresholds are never
written as clauses. A threshold explains itself by a focal set: as few of the assigned inputs as suffice. With
a budget, each first-layer threshold is joined by its *cut*, the threshold plus a multiple of the budget,
which sees that a neuron far from turning needs more moves than are left.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any, TypeAlias
from zlib import compress

import numpy as np
import numpy.typing as npt

from sugenet.engines.protocol import Engine
from sugenet.errors import QuestionError, TooLargeError
from sugenet.problem.cascade import Cascade
from sugenet.problem.clock import Clock
from sugenet.problem.front import Front
from sugenet.problem.outcomes import Holds, Open, Outcome, replayed
from sugenet.problem.problem import Problem
from sugenet.problem.sizes import is_soon_cut, see_time

__all__ = ["CDCL", "Core", "Found", "Solver", "Stopped", "facts_of", "solver_of"]

_SLICE = 8_000_000
_LOG = 1 << 20
_LARGEST_LOG = 1 << 28
_FITS = 3 << 59
"""Sizes of rows that the proof's checker still takes."""
_PLAIN = 2000
_HEAVY_LAYERS = 4_000_000
"""Products of the hidden layers beyond which the solver is not built."""


@dataclass(frozen=True)
class Found:
    """An assignment of all variables of the cascade."""

    values: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Core:
    """There is none; the assumptions named cannot all hold. Empty: there is none whatever is assumed."""

    literals: tuple[int, ...]


@dataclass(frozen=True)
class Stopped:
    """Neither shown."""

    reason: str


Answer: TypeAlias = Found | Core | Stopped


@dataclass(frozen=True, eq=False)
class _HalfRow:
    """``literal -> weights @ inputs <= bound``; literal -1: always."""

    literal: int
    weights: npt.NDArray[Any]
    bound: int

    @property
    def size(self) -> int:
        return int(np.abs(self.weights).sum()) + abs(self.bound)


def facts_of(front: Front, cascade: Cascade) -> list[int]:
    """First-layer neurons that no allowed set of moves can turn, as signed variable numbers from 1."""
    fixed = np.ones(len(front.active), bool)
    fixed[front.fragile] = False
    first = cascade.starts[1] + 1
    return [int(first + j) if front.active[j] else -int(first + j) for j in np.flatnonzero(fixed)]


def solver_of(problem: Problem, seed: int) -> Solver | None:
    """The solver of a problem; None where the network is too large for it."""
    try:
        if not is_soon_cut(problem.near):
            return None
        layers = problem.near.network.cut.layers[1:]
        if sum(layer.inputs * layer.outputs for layer in layers) > _HEAVY_LAYERS:
            return None
        return Solver(problem.cascade, facts_of(problem.front, problem.cascade), seed=seed)
    except TooLargeError:
        return None


def _reduced(half: _HalfRow) -> _HalfRow:
    """Divide by the common factor, which changes nothing for whole numbers."""
    common = gcd(*(int(w) for w in np.unique(np.abs(half.weights)))) if len(half.weights) else 0
    return half if common <= 1 else _HalfRow(half.literal, half.weights // common, half.bound // common)


def _multiplier(weights: npt.NDArray[Any], prices: npt.NDArray[Any]) -> Fraction:
    """The least multiple of the prices that leaves no priced move with a gain."""
    best = Fraction(0)
    sizes = np.abs(prices)
    for size in np.unique(sizes):
        if size:
            chosen = sizes == size
            best = max(best, Fraction(int((-weights[chosen] * np.sign(prices[chosen])).max()), int(size)))
    return best


class Solver:
    """Decides one cascade, as often as asked, under different assumptions; what was learned is kept.

    Parameters
    ----------
    cascade
        What must hold.
    facts
        Signed variable numbers (from 1) of first-layer neurons that are fixed throughout, `facts_of`.
    seed
        Breaks ties between variables.
    """

    def __init__(self, cascade: Cascade, facts: Sequence[int] = (), *, seed: int = 0) -> None:
        self.cascade, self.facts = cascade, tuple(facts)
        self.own = cascade.starts[-1]
        self.variables = self.own + len(cascade.cases)
        self.cuts: list[tuple[int, int, int, int]] = []
        self.log: list[npt.NDArray[np.int32]] = []
        self.over = not cascade.cases
        self.last = -1
        if not self.over:
            self._build(seed)

    # -- writing the cascade as halves -----------------------------------------------------------------------

    def _halves(self) -> list[list[_HalfRow]]:
        cascade, blocks = self.cascade, []
        fixed = {abs(fact) - 1 for fact in self.facts}
        for number, layer in enumerate(cascade.layers):
            halves = []
            first = cascade.starts[number + 1]
            goal = number == len(cascade.layers) - 1
            for row, least in enumerate(layer.least.tolist()):
                if first + row in fixed:
                    continue
                yes = _HalfRow(2 * (first + row), -layer.weights[row], -least)
                no = _HalfRow(2 * (first + row) + 1, layer.weights[row], least - 1)
                halves += [yes] if goal else [yes, no]
            if any(half.size >= _FITS for half in halves):
                raise TooLargeError(
                    "the scores of the classes are too finely divided: as whole numbers they leave 60 bits."
                )
            if number == 0 and cascade.budget is not None:
                budget = _HalfRow(-1, cascade.budget[0], cascade.budget[1])
                if budget.size >= _FITS:
                    raise TooLargeError(
                        "the costs are too finely divided: as whole numbers they leave 60 bits."
                    )
                halves = [
                    _reduced(budget),
                    *(_reduced(half) for half in halves),
                    *self._cuts(halves, cascade.budget),
                ]
            else:
                halves = [_reduced(half) for half in halves]
            blocks.append(halves)
        return blocks

    def _cuts(self, halves: list[_HalfRow], budget: tuple[npt.NDArray[Any], int]) -> Iterable[_HalfRow]:
        prices, limit = budget
        for half in halves:
            share = _multiplier(half.weights, prices)
            if share > 0:
                q, p = share.denominator, share.numerator
                cut = _HalfRow(
                    half.literal, q * half.weights.astype(object) + p * prices, q * half.bound + p * limit
                )
                if cut.size < _FITS:
                    self.cuts.append((half.literal >> 1, half.literal & 1, q, p))
                    yield _reduced(cut)

    def _build(self, seed: int) -> None:
        from sugenet.engines.learn import kernels

        cascade, n = self.cascade, self.variables
        blocks = self._halves()
        halves = [half for block in blocks for half in block]
        inputs = np.array(cascade.starts[: len(blocks) + 1], np.int64)
        columns, rows, offset = [], [], [0]
        for first, last, block in zip(inputs, inputs[1:], blocks, strict=False):
            weights = np.array([half.weights for half in block], dtype=np.int64).reshape(
                len(block), last - first
            )
            rows.append(weights.ravel())
            columns.append(np.ascontiguousarray(weights.T).ravel())
            offset.append(offset[-1] + weights.size)
        cap = np.array([half.bound - int(np.minimum(half.weights, 0).sum()) for half in halves], np.int64)
        top = np.array([int(np.abs(half.weights).max(initial=0)) for half in halves], np.int64)
        out = np.array([half.literal for half in halves], np.int32)
        order = np.argsort(out, kind="stable")
        order = order[out[order] >= 0]
        owned_from = np.searchsorted(out[order], np.arange(2 * n + 1)).astype(np.int64)
        before, after = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        for chain in cascade.chains:
            for a, b in zip(chain.steps, chain.steps[1:], strict=False):
                after[a], before[b] = b, a
        block_of = np.full(n, len(blocks), np.int64)
        for b in range(len(blocks)):
            block_of[inputs[b] : inputs[b + 1]] = b
        base = np.where(out >= 0, 0, top).astype(np.int64)
        rng = np.random.default_rng(seed)

        def ints(size: int, fill: int = 0) -> npt.NDArray[np.int32]:
            return np.full(size, fill, np.int32)

        numbers = np.zeros(kernels.NUMBERS, np.int64)
        numbers[[kernels.REDUCE, kernels.VARIABLES, kernels.BLOCKS]] = 2000, n, len(blocks)
        self.machine = kernels.Machine(
            columns=np.concatenate(columns),
            rows=np.concatenate(rows),
            offset=np.array(offset, np.int64),
            inputs=inputs,
            halves=np.cumsum([0, *map(len, blocks)]).astype(np.int64),
            block=block_of,
            cap=cap,
            top=top,
            out=out,
            owned_from=owned_from,
            owned=order.astype(np.int32),
            before=before,
            after=after,
            value=np.zeros(2 * n, np.int8),
            free=np.ones(n, np.int8),
            level=ints(n),
            place=ints(n),
            reason=ints(n, -1),
            origin=ints(n, -1),
            trail=ints(n),
            levels=ints(n + 1),
            seen_by=ints(n),
            seen_count=np.zeros(len(blocks) + 1, np.int64),
            slack=cap.copy(),
            base=base,
            limit=base.copy(),
            arena=ints(max(1 << 16, 8 * n)),
            watch=ints(2 * n, -1),
            rank=self._rank(),
            activity=rng.random(n) * 1e-6,
            heap=ints(n),
            heap_at=ints(n, -1),
            phase=self._phase(),
            mark=np.zeros(n, np.int8),
            clause=ints(n + 1),
            why=ints(n + 2),
            why_load=np.zeros(n + 2, np.int64),
            dirty=ints(len(halves)),
            is_dirty=np.zeros(len(halves), np.int8),
            stamp=ints(n + 2, -1),
            log=ints(max(_LOG, 16 * n)),
            numbers=numbers,
            reals=np.array([1.0, 0.0, 0.0]),
        )
        clauses = [[2 * (self.own + c) for c in range(len(cascade.cases))]]
        for c, case in enumerate(cascade.cases):
            clauses += [[2 * (self.own + c) + 1, 2 * (cascade.starts[-2] + row)] for row in case]
        self.given = len(clauses)
        flat = np.array([x for clause in clauses for x in clause], np.int32)
        units = np.array([self._code(fact) for fact in self.facts], np.int32)
        kernels.begin(self.machine, units, flat, np.array([len(clause) for clause in clauses], np.int64))

    def _rank(self) -> npt.NDArray[np.int8]:
        """Steps are chosen first, and with them first-layer neurons where fewer can turn: everything else
        follows from either.
        """
        cascade = self.cascade
        rank = np.ones(self.variables, np.int8)
        rank[: cascade.steps] = 0
        if len(cascade.layers) > 1 and len(cascade.layers[0].least) - len(self.facts) < cascade.steps:
            rank[: cascade.starts[2]] = 0
        return rank

    def _phase(self) -> npt.NDArray[np.int8]:
        """Variables are first tried away from their value at the sample;
        inequalities and cases of the goal as true.
        """
        cascade = self.cascade
        phase = np.zeros(self.variables, np.int8)
        values = np.zeros(cascade.steps, np.int64)
        for chain in cascade.chains:
            values[chain.first : chain.first + chain.options.index(None)] = 1
        for start, layer in zip(cascade.starts, cascade.layers, strict=False):
            phase[start : start + len(values)] = values
            values = (layer.weights @ values >= layer.least).astype(np.int64)
        return phase

    @staticmethod
    def _code(literal: int) -> int:
        return 2 * (abs(literal) - 1) + (literal < 0)

    @staticmethod
    def _sign(code: int) -> int:
        return -(code >> 1) - 1 if code & 1 else (code >> 1) + 1

    # -- searching -------------------------------------------------------------------------------------------

    @property
    def conflicts(self) -> int:
        """Conflicts so far."""
        from sugenet.engines.learn import kernels

        return 0 if not self.cascade.cases else int(self.machine.numbers[kernels.CONFLICTS])

    def solve(self, clock: Clock, assumptions: Iterable[int] = ()) -> Answer:
        """Look for an assignment in which the assumptions, signed variable numbers from 1, are true."""
        from sugenet.engines.learn import kernels

        assumed = list(dict.fromkeys(int(literal) for literal in assumptions))
        if any(not 1 <= abs(literal) <= self.own for literal in assumed):
            raise QuestionError(
                f"assumptions are signed variable numbers from 1 to {self.own}, unlike {assumed}."
            )
        if self.over:
            return Core(())
        machine = self.machine
        self.last = -1
        kernels.back_to_start(machine)
        codes = np.array([self._code(literal) for literal in assumed], np.int32)
        while True:
            code = kernels.run(machine, codes, self.given, _SLICE)
            self._drain()
            if code == kernels.SATISFIED:
                return Found(machine.value[0 : 2 * self.own : 2] > 0)
            if code in (kernels.UNSATISFIABLE, kernels.FAILED):
                self.over = code == kernels.UNSATISFIABLE
                self.last = int(machine.numbers[kernels.NEXT]) - (not self.over)
                return Core(
                    tuple(-self._sign(int(x)) for x in machine.clause[: machine.numbers[kernels.SIZE]])
                )
            if code == kernels.ARENA_FULL:
                self.machine = machine = machine._replace(
                    arena=np.concatenate([machine.arena, np.zeros_like(machine.arena)])
                )
            if clock.up():
                return Stopped("stopped")
            if sum(map(len, self.log)) >= _LARGEST_LOG:
                return Stopped("the proof outgrew the memory set aside for it")

    def _drain(self) -> None:
        from sugenet.engines.learn import kernels

        used = int(self.machine.numbers[kernels.LOG_USED])
        if used:
            self.log.append(self.machine.log[:used].copy())
            self.machine.numbers[kernels.LOG_USED] = 0

    # -- the proof -------------------------------------------------------------------------------------------

    def proof(self) -> dict[str, Any]:
        """Why there was no assignment the last time: clauses that follow one after the other, the empty one
        last, only those needed.

        Under assumptions the empty clause follows from these together with the assumptions.
        """
        facts, clauses = self._needed() if self.cascade.cases else (list(self.facts), [[]])
        cuts = [[-row - 1 if negative else row + 1, q, p] for row, negative, q, p in self.cuts]
        found = {"kind": "rup", "variables": self.variables, "facts": facts, "cuts": cuts}
        if sum(map(len, clauses)) <= _PLAIN:
            return {**found, "clauses": clauses}
        text = "\n".join(" ".join(map(str, [*clause, 0])) for clause in clauses)
        return {**found, "encoding": "zlib+base64", "clauses": b64encode(compress(text.encode(), 9)).decode()}

    def _needed(self) -> tuple[list[int], list[list[int]]]:
        from sugenet.engines.learn import kernels

        if self.last < 0:
            raise QuestionError("there is no proof: nothing was refuted.")
        kernels.back_to_start(self.machine)
        log = np.concatenate(self.log)
        self.log = [log]
        starts = kernels.starts_of(log, self.last + 1)
        needed, asked = kernels.trim(self.machine, log, starts, self.last)
        clauses = []
        for number in np.flatnonzero(needed).tolist():
            if number >= self.given:
                start = int(starts[number]) + 2 + int(log[starts[number] + 1])
                codes = log[start : start + int(log[starts[number]])].tolist()
                clauses.append(sorted((self._sign(x) for x in codes), key=abs))
        if not clauses or clauses[-1]:
            clauses.append([])
        return [fact for fact in self.facts if asked[abs(fact) - 1]], clauses


def _cdcl(problem: Problem, clock: Clock) -> Outcome:
    clock.tell("search with learning")
    see_time(problem.near, clock)
    cascade = problem.cascade
    solver = Solver(cascade, facts_of(problem.front, cascade), seed=clock.seed)
    match solver.solve(clock):
        case Found(values=values):
            return replayed(problem, "cdcl", cascade.moves(values))
        case Core():
            return Holds("cdcl", solver.proof())
        case Stopped(reason=reason):
            return Open("cdcl", reason, {"conflicts": solver.conflicts})


CDCL = Engine("cdcl", _cdcl)
"""Our own solver; its proof is for `check_rup`."""
