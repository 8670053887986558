"""What every solver's answer goes through: a witness is replayed by the definition,
a bare word is marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Protocol

from sugenet.errors import SoundnessError
from sugenet.problem.outcomes import Fails, Holds, Open, Outcome
from sugenet.problem.problem import Problem

__all__ = ["Solver", "never", "out_of_time", "replayed", "trusted"]


def never() -> bool:
    """Do not stop."""
    return False


class Solver(Protocol):
    """A function that decides a problem."""

    def __call__(
        self,
        problem: Problem,
        *,
        time_limit: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        stop: Callable[[], bool] = never,
    ) -> Outcome:
        """Say whether no allowed moves reach the goal.

        Parameters
        ----------
        problem
            The question.
        time_limit
            Seconds, with the time that writing the formula takes; none unless given.
        threads, seed
            For solvers that use them; None is a thread for each core.
        stop
            Asked now and then whether to give up.
        """


def replayed(problem: Problem, engine: str, values: Sequence[Any]) -> Fails | Open:
    """The witness that values of the steps stand for, once the definition agrees."""
    moves = problem.cascade.moves(values)
    witness = problem.near.moved(moves)
    if not problem.near.admits(moves):
        return Open(
            engine, "a violation was found whose exact cost is beyond the limit by less than rounding", {}
        )
    if not problem.replays(moves):
        raise SoundnessError(
            f"{engine} answered {witness}, which does not reach the goal. Please report this question."
        )
    return Fails(engine, witness)


def trusted(engine: str, **facts: Any) -> Holds:
    """No solution, on the solver's word: it gives no proof that could be checked."""
    return Holds(engine, {"kind": "trust", "solver": engine, **facts})


def out_of_time(time_limit: float | None, stop: Callable[[], bool]) -> Callable[[], str | None]:
    """A function that says why to give up now, or None."""
    end = None if time_limit is None else monotonic() + time_limit

    def why() -> str | None:
        if stop():
            return "it was stopped"
        return f"{time_limit:g} s were not enough" if end is not None and monotonic() >= end else None

    return why
