"""Conflict-driven search for a cascade of thresholds: decides a problem exactly, with a proof if there is
no solution.

Clauses are learned from conflicts as in any CDCL solver, but thresholds are never written as clauses. A
threshold is explained by a focal set: as few assigned inputs as suffice. With a budget, each first-layer
threshold has a *cut*, the threshold plus a multiple of the budget. The cut detects that a neuron far from
turning needs more moves than are left.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary
from zlib import compress

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.learn.halves import halves_of
from sugenet.engines.protocol import Engine
from sugenet.errors import QuestionError, TooLargeError
from sugenet.problem import (
    Cascade,
    Clock,
    FirstLayer,
    Holds,
    Open,
    Outcome,
    Problem,
    is_soon_expanded,
    replayed,
    see_time,
)

__all__ = ["BRIEFLY", "CDCL", "Core", "Found", "Solver", "Stopped", "facts_of", "solver_of"]

_SLICE = 8_000_000
_LOG, _LARGE_LOG = 1 << 14, 1 << 20
"""Words that a search can write at once: initial and maximum number."""
_LARGEST_LOG = 1 << 28
_STORED = 2e-7
"""Approximate seconds per word that turn the log of a search into its proof."""
_PLAIN = 2000
"""Words of a proof that is stored uncompressed."""
_EFFORT = 6
"""Compression level of a longer proof."""
_ENDLESS = 1 << 62
_TAME = 50
"""Conflicts of one call before the search goes wild."""
_FEW_STEPS, _MANY_TURN = 40, 10
"""With at most this many steps, and this many times as many neurons of one hidden layer that can turn, the
search never goes wild: everything follows from the inputs, and clauses about single neurons help little.
"""
_BRIEF, _SPARSE = 2_000_000, 4096
"""Work of a brief search (about ten milliseconds), and the number of loads beyond which it gets a quarter:
if neurons read many inputs, local search is faster.
"""
_LIGHT_LAYERS = 1 << 17
"""Number of weights up to which a brief search pays off."""
_HEAVY_LAYERS = 4_000_000
"""Products of the hidden layers beyond which the solver is not built. Weights of 0 in dense layers do not
count.
"""


@dataclass(frozen=True)
class Found:
    """An assignment of all variables of the cascade."""

    values: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Core:
    """No solution exists: the named assumptions cannot all hold. Empty: none exists under any assumptions."""

    literals: tuple[int, ...]


@dataclass(frozen=True)
class Stopped:
    """The search stopped without a result."""

    reason: str


Answer: TypeAlias = Found | Core | Stopped


def facts_of(first_layer: FirstLayer, cascade: Cascade) -> list[int]:
    """Return the first-layer neurons that no allowed set of moves can turn, as signed variables from 1."""
    fixed = np.ones(len(first_layer.active), bool)
    fixed[first_layer.fragile] = False
    first = cascade.starts[1] + 1
    indices = np.flatnonzero(fixed)
    facts: list[int] = np.where(first_layer.active[indices], first + indices, -first - indices).tolist()
    return facts


def solver_of(problem: Problem, seed: int) -> Solver | None:
    """Return the solver of a problem; None if the network is too large for it."""
    try:
        if not is_soon_expanded(problem.near):
            return None
        layers = problem.near.network.expanded.layers[1:]
        if _is_heavy(layers, _HEAVY_LAYERS):
            return None
        return Solver(problem.cascade, facts_of(problem.first_layer, problem.cascade), seed=seed)
    except TooLargeError:
        return None


class Solver:
    """Solver of one cascade, callable repeatedly under different assumptions; learned clauses are kept.

    Parameters
    ----------
    cascade
        Constraints that must hold.
    facts
        Signed variable numbers (from 1) of first-layer neurons that are always fixed, from `facts_of`.
    seed
        Breaks ties between variables.
    has_cuts
        Whether first-layer thresholds have cuts (default: True).
    """

    def __init__(
        self, cascade: Cascade, facts: Sequence[int] = (), *, seed: int = 0, has_cuts: bool = True
    ) -> None:
        self.cascade, self.facts, self.has_cuts = cascade, tuple(facts), has_cuts
        self.own = cascade.starts[-1]
        self.variables = self.own + len(cascade.cases)
        self.cuts: list[tuple[int, int, int, int]] = []
        self.log: list[npt.NDArray[np.int32]] = []
        self.over = not cascade.cases
        self.last = -1
        if not self.over:
            self._build(seed)

    def _build(self, seed: int) -> None:
        from sugenet.engines.hard.learn import half_kernels, kernels

        self.kernels: Any = kernels
        cascade, n = self.cascade, self.variables
        halves = halves_of(cascade, self.facts, has_cuts=self.has_cuts)
        self.cuts, fixed, out, tops = halves.cuts, halves.fixed, halves.literals, halves.tops
        column_from, column_half, column_load, owned_from, owned = half_kernels.columns(
            out, halves.starts, halves.loading, halves.loads, n
        )
        before, after = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        if cascade.steps > len(cascade.chains):
            for chain in cascade.chains:
                for a, b in pairwise(chain.steps):
                    after[a], before[b] = b, a
        base = np.where(out >= 0, 0, tops)
        rank, (first, noise) = self._rank(), _drawn(seed, n.bit_length())

        def ints(size: int, fill: int = 0) -> npt.NDArray[np.int32]:
            return np.full(size, fill, np.int32) if fill else np.zeros(size, np.int32)

        numbers = np.zeros(kernels.NUMBERS, np.int64)
        numbers[[kernels.REDUCE, kernels.VARIABLES, kernels.HALVES]] = 2000, n, len(out)
        numbers[kernels.RANDOM] = first
        numbers[kernels.TAME] = _ENDLESS if self._moves_many() else _TAME
        self.machine = kernels.Machine(
            row_from=halves.starts,
            row_literal=halves.loading,
            row_load=halves.loads,
            column_from=column_from,
            column_half=column_half,
            column_load=column_load,
            cap=halves.caps,
            top=tops,
            out=out,
            owned_from=owned_from,
            owned=owned,
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
            slack=halves.caps.copy(),
            base=base,
            limit=base.copy(),
            arena=ints(max(1 << 16, 8 * n)),
            watch=ints(2 * n, -1),
            rank=rank,
            ranked=rank.copy(),
            activity=(noise[:n] + (rank == 0)) * 1e-6,
            heap=ints(n),
            heap_at=ints(n, -1),
            phase=self._phase(),
            mark=np.zeros(n, np.int8),
            clause=ints(n + 1),
            why=ints(n + 2),
            why_load=np.zeros(n + 2, np.int64),
            dirty=ints(len(out)),
            is_dirty=np.zeros(len(out), np.int8),
            stamp=ints(n + 2, -1),
            log=ints(max(_LOG, 16 * n)),  # at least as much as `run` needs
            numbers=numbers,
            reals=np.array([1.0, 0.0, 0.0]),
        )
        clauses = [[2 * (self.own + c) for c in range(len(cascade.cases))]]
        for c, case in enumerate(cascade.cases):
            clauses += [[2 * (self.own + c) + 1, 2 * (cascade.starts[-2] + row)] for row in case]
        self.given = len(clauses)
        flat = np.array([x for clause in clauses for x in clause], np.int32)
        known = np.flatnonzero(fixed >= 0)
        units = (2 * known + (fixed[known] == 0)).astype(np.int32)
        kernels.begin(self.machine, units, flat, np.array([len(clause) for clause in clauses], np.int64))

    def _moves_many(self) -> bool:
        """Return whether few steps move very many neurons of a single hidden layer."""
        cascade = self.cascade
        if len(cascade.layers) != 2 or cascade.steps > _FEW_STEPS:  # with the goal, one hidden layer
            return False
        return len(cascade.layers[0].least) - len(self.facts) > _MANY_TURN * cascade.steps

    def _rank(self) -> npt.NDArray[np.int8]:
        """Return the ranks: steps are chosen first, together with first-layer neurons if fewer of these can
        turn. Everything else follows from either.
        """
        cascade = self.cascade
        rank = np.ones(self.variables, np.int8)
        rank[: cascade.steps] = 0
        if len(cascade.layers) > 1 and len(cascade.layers[0].least) - len(self.facts) < cascade.steps:
            rank[: cascade.starts[2]] = 0
        return rank

    def _phase(self) -> npt.NDArray[np.int8]:
        """Return the initial values to try: the opposite of the value at the sample; true for inequalities
        and cases of the goal.
        """
        cascade = self.cascade
        phase = np.zeros(self.variables, np.int8)
        held: list[int] = []
        for chain in cascade.chains:
            stay = chain.options.index(None)
            held += [1] * stay + [0] * (len(chain.options) - 1 - stay)
        values = np.array(held, np.int64)
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
    def loads(self) -> int:
        """Number of nonzero weights of thresholds and literals that are not settled in advance."""
        return 0 if self.over else len(self.machine.row_load)

    @property
    def conflicts(self) -> int:
        """Number of conflicts so far."""
        return 0 if not self.cascade.cases else int(self.machine.numbers[self.kernels.CONFLICTS])

    def solve(
        self, clock: Clock, assumptions: Iterable[int] = (), *, work: int = _ENDLESS, afresh: bool = True
    ) -> Answer:
        """Search for an assignment in which the assumptions, signed variable numbers from 1, are true, for
        about `work` units. Unless `afresh`, a stopped search is resumed.
        """
        assumed = list(dict.fromkeys(int(literal) for literal in assumptions))
        if any(not 1 <= abs(literal) <= self.own for literal in assumed):
            raise QuestionError(
                f"assumptions are signed variable numbers from 1 to {self.own}, unlike {assumed}."
            )
        if self.over:
            return Core(())
        machine = self.machine
        self.last = -1
        if afresh:
            self.kernels.back_to_start(machine)
        codes = np.array([self._code(literal) for literal in assumed], np.int32)
        while True:
            code = self.kernels.run(machine, codes, self.given, min(_SLICE, work))
            work -= int(machine.numbers[self.kernels.WORK])
            self._drain()
            if code == self.kernels.SATISFIED:
                return Found(machine.value[0 : 2 * self.own : 2] > 0)
            if code in (self.kernels.UNSATISFIABLE, self.kernels.FAILED):
                self.over = code == self.kernels.UNSATISFIABLE
                self.last = int(machine.numbers[self.kernels.NEXT]) - (not self.over)
                return Core(
                    tuple(-self._sign(int(x)) for x in machine.clause[: machine.numbers[self.kernels.SIZE]])
                )
            if code == self.kernels.ARENA_FULL:
                self.machine = machine = machine._replace(
                    arena=np.concatenate([machine.arena, np.zeros_like(machine.arena)])
                )
            if code == self.kernels.LOG_FULL and len(machine.log) < _LARGE_LOG:
                self.machine = machine = machine._replace(log=np.zeros(2 * len(machine.log), np.int32))
            words, left = sum(map(len, self.log)), clock.left()
            if work <= 0 or (left is not None and left <= _STORED * words):  # time for the proof is needed
                return Stopped("stopped")
            if words >= _LARGEST_LOG:
                return Stopped("the proof outgrew the memory set aside for it")

    def _drain(self) -> None:
        used = int(self.machine.numbers[self.kernels.LOG_USED])
        if used:
            self.log.append(self.machine.log[:used].copy())
            self.machine.numbers[self.kernels.LOG_USED] = 0

    # -- the proof -------------------------------------------------------------------------------------------

    def proof(self) -> dict[str, Any]:
        """Return why the last search found no assignment: clauses that follow one after another, the empty
        one last, and only those needed.

        Under assumptions, the empty clause follows from these clauses together with the assumptions.
        """
        flat = self._needed() if self.cascade.cases else [0]
        cuts = [[-row - 1 if negative else row + 1, q, p] for row, negative, q, p in self.cuts]
        lemma = {"kind": "lemma", "variables": self.variables, "facts": list(self.facts), "cuts": cuts}
        if len(flat) <= _PLAIN:
            return {**lemma, "clauses": _split(flat)}
        text = " ".join(map(str, flat)).replace(" 0 ", " 0\n")
        packed = b64encode(compress(text.encode(), _EFFORT)).decode()
        return {**lemma, "encoding": "zlib+base64", "clauses": packed}

    def _needed(self) -> list[int]:
        """Return the clauses on which the last one rests, with the empty clause at the end and a 0 after
        each.
        """
        if self.last < 0:
            raise QuestionError("there is no proof: nothing was refuted.")
        self.kernels.back_to_start(self.machine)
        log = np.concatenate(self.log)
        self.log = [log]
        starts = self.kernels.starts_of(log, self.last + 1)
        needed, _ = self.kernels.trim(self.machine, log, starts, self.last)
        flat: list[int] = self.kernels.literals_of(log, starts, needed, self.given).tolist()
        return flat if flat and (len(flat) == 1 or flat[-2] == 0) else [*flat, 0]


@lru_cache(maxsize=4)
def _drawn(seed: int, digits: int) -> tuple[int, npt.NDArray[np.float64]]:
    """Return a number, and 2^digits others between 0 and 1, derived from a seed."""
    rng = np.random.default_rng(seed)
    return int(rng.integers(1, 1 << 62)), rng.random(1 << digits)


def _split(flat: list[int]) -> list[list[int]]:
    clauses: list[list[int]] = [[]]
    for literal in flat[:-1]:
        if literal:
            clauses[-1].append(literal)
        else:
            clauses.append([])
    return clauses


_PAUSED: WeakKeyDictionary[Problem, tuple[int, Solver]] = WeakKeyDictionary()
"""Stopped solvers, with their seed: they are resumed if the same problem is asked again."""


def _cdcl(problem: Problem, clock: Clock) -> Outcome:
    clock.tell("search with learning")
    see_time(problem.near, clock)
    return _searched(problem, clock, lambda _: _ENDLESS)


def _searched(problem: Problem, clock: Clock, work: Callable[[int], int]) -> Outcome:
    """Search for an amount of work that depends on the number of loads."""
    cascade = problem.cascade
    seed, solver = _PAUSED.pop(problem, (clock.seed, None))
    afresh = solver is None or seed != clock.seed
    if solver is None or afresh:
        solver = Solver(cascade, facts_of(problem.first_layer, cascade), seed=clock.seed)
    match solver.solve(clock, work=work(solver.loads), afresh=afresh):
        case Found(values=values):
            return replayed(problem, "cdcl", cascade.moves(values))
        case Core():
            return Holds("cdcl", solver.proof())
        case Stopped(reason=reason):
            _PAUSED[problem] = clock.seed, solver
            return Open("cdcl", reason, {"conflicts": solver.conflicts})


def _briefly(problem: Problem, clock: Clock) -> Outcome:
    """Search for a few conflicts, if the thresholds can be written at once."""
    layers = problem.near.network.expanded.layers[1:]
    size = len(problem.near.moves) * len(problem.first_layer.fragile)
    if size + sum(layer.inputs * layer.outputs for layer in layers) > _LIGHT_LAYERS:
        return Open("cdcl", "the network is too large to be learned from at once", {})
    return _searched(problem, clock, lambda loads: _BRIEF if loads <= _SPARSE else _BRIEF // 4)


def _is_heavy(layers: Sequence[Any], limit: int) -> bool:
    """Return whether layers have more products than a limit."""
    products = [layer.inputs * layer.outputs for layer in layers]
    if sum(products) <= limit:
        return False
    dense = [
        int(np.count_nonzero(layer.factors if layer.kind == "sparse" else layer.weights))
        if layer.kind in ("dense", "sparse")
        else 0
        for layer in layers
    ]
    return sum(one or product for one, product in zip(dense, products, strict=True)) > limit


CDCL = Engine("cdcl", _cdcl)
"""The CDCL solver of sugenet; its proof is checked by `check_rup`."""
BRIEFLY = Engine("cdcl", _briefly)
"""The same for a few milliseconds, if that pays off."""
