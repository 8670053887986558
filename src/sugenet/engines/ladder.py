"""The ladder of engines: each problem goes to the cheapest engine first, and what it leaves open to the next.

Engines by name: ``bounds``, ``search`` (finds, never proves), ``flips`` (all sets of moves within the
budget), ``exhaust`` (all combinations of few free features), ``cdcl`` (our own solver with proof), and the
solvers ``cpsat``, ``pysat``, ``exact``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, prod
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np

from sugenet.engines.bounds import by_bounds
from sugenet.engines.walk.anneal import search
from sugenet.engines.walk.choices import exhaust
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import NetworkError, QuestionError, SoundnessError, TooLargeError
from sugenet.problem.outcomes import Fails, Holds, Interrupted, Open, Outcome
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Move, Neighbourhood

__all__ = ["ENGINES", "Clock", "combinations_of", "decide", "sets_within"]

_FEW = 3e5
"""Sets that are walked through before anything is searched for."""
_SETTLED = 2.0**24
"""Sets that a walk settles so soon that a long search does not pay."""
_WALK = 3e8
"""Sets of moves that are walked through before a solver is asked."""
_WALK_LATE = 1e11
"""Sets of moves that are walked through when the solvers have given up."""
_EXHAUST = 2**26
_EXHAUST_LATE = 2**34
_EXACT_SUMS = 4_000_000
"""Steps after which sets are counted by rounded weights."""
_FIRST_TRY = 10.0
"""Seconds that our solver gets before longer walks are tried."""


@dataclass
class Clock:
    """How long an engine may go on, with how many threads, and whom to tell."""

    time_limit: float | None = None
    threads: int | None = None
    seed: int = 0
    notify: Callable[[str], None] | None = None
    start: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        given: list[tuple[str, Any, Any]] = [
            ("time_limit", self.time_limit, Real),
            ("threads", self.threads, Integral),
        ]
        for name, value, kinds in (*given, ("seed", self.seed, Integral)):
            if value is None and name != "seed":
                continue
            least = {"threads": 1, "seed": 0}.get(name, -inf)
            if isinstance(value, bool) or not isinstance(value, kinds) or not value >= least:
                kind = (
                    "a number of seconds, or None"
                    if name == "time_limit"
                    else f"a whole number, at least {least}"
                )
                raise QuestionError(f"{name}={value!r} must be {kind}.")

    def left(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.start

    def up(self) -> bool:
        """Whether the time is up."""
        return self.time_limit is not None and self.seconds >= self.time_limit

    def within(self, seconds: float) -> Clock:
        """A clock for a part of the time."""
        left = self.left()
        return Clock(seconds if left is None else min(seconds, left), self.threads, self.seed, self.notify)

    def tell(self, words: str) -> None:
        """Report progress."""
        if self.notify is not None:
            self.notify(words)


def decide(problem: Problem, clock: Clock, engine: str = "auto") -> Outcome:
    """Decide a problem by one engine, or by the ladder."""
    if engine != "auto" and engine not in ENGINES:
        raise QuestionError(f"engine={engine!r} is no engine. Choose auto, {', '.join(ENGINES)}.")
    if problem.replays(()):
        return Fails("evaluation", problem.near.sample)
    if engine != "auto":
        return _tried(engine, ENGINES[engine], problem, clock)
    tried: list[Open] = []
    for name, run in _ladder(problem):
        if clock.up():
            break
        clock.tell(f"{name} ...")
        try:
            found = _tried(name, run, problem, clock)
        except KeyboardInterrupt as stop:
            raise Interrupted(_facts(tried) | getattr(stop, "facts", {})) from None
        if not isinstance(found, Open):
            return found
        clock.tell(f"{name}: {found.reason}")
        tried.append(found)
    why = (
        "the time was up"
        if clock.up()
        else "; ".join(f"{attempt.engine}: {attempt.reason}" for attempt in tried)
    )
    return Open(", ".join(dict.fromkeys(attempt.engine for attempt in tried)), why, _facts(tried))


def _facts(tried: list[Open]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for attempt in tried:
        facts |= attempt.facts
    return facts


def _ladder(problem: Problem) -> list[tuple[str, Any]]:
    """Engines in the order in which they are worth a try."""
    sets, free = sets_within(problem.near), combinations_of(problem.near)
    steps: list[tuple[str, Any]] = [("bounds", _bounds)]
    walks: list[tuple[float, float, str, Any]] = (
        [(sets, _WALK_LATE, "flips", _flips)] if problem.near.budget is not None else []
    )
    walks.append((free, _EXHAUST_LATE, "exhaust", _exhaust))
    walks.sort(key=lambda walk: walk[0])
    count, most, name, run = walks[0]
    if count <= _FEW:
        return [*steps, (name, run)]
    steps.append(("search", _search))
    if count <= (_EXHAUST if name == "exhaust" else _WALK):
        return [*steps, (name, run)]
    steps.append(("cdcl", lambda p, c: _cdcl(p, c.within(_FIRST_TRY))))
    if count <= most:
        steps.append((name, run))
    return [*steps, ("cdcl", _cdcl), ("cpsat", _solver("cpsat"))]


def _tried(name: str, run: Any, problem: Problem, clock: Clock) -> Outcome:
    try:
        found: Outcome = run(problem, clock)
    except (TooLargeError, NetworkError) as error:
        return Open(name, str(error), {})
    return found


def _found(problem: Problem, moves: tuple[Move, ...], engine: str) -> Fails | Open:
    if not problem.near.admits(moves):
        return Open(
            engine, "a violation was found whose exact cost is beyond the limit by less than rounding", {}
        )
    if not problem.replays(moves):
        raise SoundnessError(
            f"{engine} gave the moves {moves}, which are no violation. Please report this input."
        )
    return Fails(engine, problem.near.moved(moves))


def _bounds(problem: Problem, clock: Clock) -> Outcome:  # noqa: ARG001
    return by_bounds(problem)


def _search(problem: Problem, clock: Clock) -> Outcome:
    few = min(sets_within(problem.near), combinations_of(problem.near)) <= _SETTLED
    moves = search(
        problem.front, problem.goal, seed=clock.seed, restarts=4 if few else 16, light=False, stop=clock.up
    )
    return (
        Open("search", "local search found nothing", {})
        if moves is None
        else _found(problem, moves, "search")
    )


def _flips(problem: Problem, clock: Clock) -> Outcome:
    budget = problem.near.budget
    if budget is None:
        return Open("flips", "flip enumeration needs a budget, and the region has none", {})
    proved: dict[str, Any] = {}
    for level in _levels(problem.near):
        try:
            found = flip_level(problem, 0, level, threads=clock.threads, stop=clock.up)
        except KeyboardInterrupt:
            raise Interrupted(proved) from None
        if found is None:
            return Open("flips", f"the time was up on the way to {level * problem.near.unit}", proved)
        if found.violation is not None:
            return _found(problem, found.violation, "flips")
        clock.tell(
            f"flips: none of the {found.sets:,} changes up to {level * problem.near.unit} is a violation"
        )
        record = {"kind": "walk", "sets": found.sets, "patterns": found.patterns, "digest": found.digest}
        proved = {"proved_up_to": str(level * problem.near.unit), "walk": record}
    return Holds("flips", record)


def _levels(near: Neighbourhood) -> list[int]:
    """Budgets to walk, each much more work than the one before, the whole budget last."""
    assert near.budget is not None
    levels: list[int] = []
    done = 0.0
    lightest = near.lightest
    for parts in range(1, 8):
        level = lightest * parts
        if level >= near.budget or lightest == 0:
            break
        sets = sets_within(near, level)
        if sets > 50 * max(done, 1e4):
            levels.append(level)
            done = sets
    return [*levels, near.budget]


def _exhaust(problem: Problem, clock: Clock) -> Outcome:
    if problem.near.budget is not None and sets_within(problem.near) != combinations_of(problem.near):
        return Open("exhaust", "exhaustion is for regions without a budget, and this one has one", {})
    if combinations_of(problem.near) > _EXHAUST_LATE:
        return Open(
            "exhaust",
            f"there are {combinations_of(problem.near):.3g} combinations, too many to go through",
            {},
        )
    found = exhaust(problem, threads=clock.threads, stop=clock.up)
    if found is None:
        return Open("exhaust", "the time was up", {})
    if found.violation is not None:
        return _found(problem, found.violation, "exhaust")
    return Holds(
        "exhaust", {"kind": "walk", "sets": found.sets, "patterns": found.patterns, "digest": found.digest}
    )


def _cdcl(problem: Problem, clock: Clock) -> Outcome:
    from sugenet.engines.learn.solver import solve

    return solve(problem, time_limit=clock.left(), stop=clock.up, seed=clock.seed, notify=clock.notify)


def _solver(name: str) -> Any:
    def run(problem: Problem, clock: Clock) -> Outcome:
        from sugenet.engines.outside import solver_named

        found: Outcome = solver_named(name)(
            problem, time_limit=clock.left(), threads=clock.threads, seed=clock.seed, stop=clock.up
        )
        return found

    return run


ENGINES: dict[str, Any] = {
    "bounds": _bounds,
    "search": _search,
    "flips": _flips,
    "exhaust": _exhaust,
    "cdcl": _cdcl,
    "cpsat": _solver("cpsat"),
    "pysat": _solver("pysat"),
    "exact": _solver("exact"),
}


def combinations_of(near: Neighbourhood) -> float:
    """Number of ways to choose at most one move a feature, the budget aside;
    infinite where it is beyond floats.
    """
    total = prod(moves.stop - moves.start + 1 for moves in near.places.values())
    return float(total) if total < 10**300 else inf


def sets_within(near: Neighbourhood, budget: int | None = None) -> float:
    """Number of allowed sets of moves, the empty one included;
    where costs are finely divided, a little more.
    """
    limit = near.budget if budget is None else budget
    if limit is None:
        return combinations_of(near)
    by_feature = [Counter(near.columns.weights[moves].tolist()) for moves in near.places.values()]
    if limit >= sum(max(weights) for weights in by_feature):
        return combinations_of(near)
    totals = {0: 1}
    work = 0
    for weights in by_feature:
        work += len(totals) * len(weights)
        if work > _EXACT_SUMS:
            return _about(by_feature, limit)
        after = dict(totals)
        for used, count in totals.items():
            for weight, many in weights.items():
                if used + weight <= limit:
                    after[used + weight] = after.get(used + weight, 0) + count * many
        totals = after
    total = sum(totals.values())
    return float(total) if total < 10**300 else inf


def _about(by_feature: list[Counter[int]], limit: int) -> float:
    """Number of sets with weights rounded down to a thousandth of the limit."""
    grain = max(1, limit // 1000)
    counts = np.zeros(limit // grain + 1)
    counts[0] = 1.0
    with np.errstate(over="ignore"):  # beyond floats it is infinite
        for weights in by_feature:
            after = counts.copy()
            for weight, many in weights.items():
                step = weight // grain
                if step < len(counts):
                    after[step:] += many * counts[: len(counts) - step]
            counts = after
        return float(counts.sum())
