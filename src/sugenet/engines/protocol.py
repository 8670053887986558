"""What an engine is: a name, and a way to decide problems within the time of a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec

from sugenet.errors import NetworkError, QuestionError, TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Open, Outcome, Problem

__all__ = ["Engine"]


@cache
def _is_installed(package: str) -> bool:
    """Looked for once: on disk that takes longer than many a question."""
    return find_spec(package) is not None


@dataclass(frozen=True)
class Engine:
    """Called with a problem and a clock, it says that the problem holds, fails or stays open."""

    name: str
    run: Callable[[Problem, Clock], Outcome]
    package: str | None = None
    """What it needs besides sugenet."""
    install: str = ""
    """How to get that."""

    def __call__(self, problem: Problem, clock: Clock | None = None) -> Outcome:
        """Decide a problem, without a time limit unless a clock has one; what is too large for it is open."""
        self.need()
        try:
            return self.run(problem, Clock() if clock is None else clock)
        except (TooLargeError, NetworkError) as error:
            return Open(self.name, str(error), {})

    @property
    def is_there(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.package is None or _is_installed(self.package)

    def need(self) -> None:
        """Raise `QuestionError` where the package that it needs is not there."""
        if not self.is_there:
            raise QuestionError(
                f"the solver {self.name!r} needs the package {self.package!r}, which is not installed; "
                f"{self.install}"
            )

    def within(self, seconds: float) -> Engine:
        """The same for a part of the time."""
        return replace(self, run=lambda problem, clock: self.run(problem, clock.within(seconds)))
