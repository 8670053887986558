"""Engine interface: a name, and a function that decides problems within the time of a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec

from sugenet.errors import NetworkError, QuestionError, TooLargeError
from sugenet.problem import Clock, Open, Outcome, Problem

__all__ = ["Engine"]


@cache
def _is_installed(package: str) -> bool:
    """Return whether a package is installed; cached, because the search on disk is slower than many
    questions.
    """
    return find_spec(package) is not None


@dataclass(frozen=True)
class Engine:
    """Callable that takes a problem and a clock and returns that the problem holds, fails or stays open."""

    name: str
    run: Callable[[Problem, Clock], Outcome]
    package: str | None = None
    """Package that the engine requires."""
    install: str = ""
    """How to install the package."""

    def __call__(self, problem: Problem, clock: Clock | None = None) -> Outcome:
        """Decide a problem (default: no time limit); a problem that is too large is open."""
        self.need()
        try:
            return self.run(problem, Clock() if clock is None else clock)
        except (TooLargeError, NetworkError) as error:
            return Open(self.name, str(error), {})

    @property
    def is_there(self) -> bool:
        """Whether the required package is installed."""
        return self.package is None or _is_installed(self.package)

    def need(self) -> None:
        """Raise `QuestionError` if the required package is not installed."""
        if not self.is_there:
            raise QuestionError(
                f"the solver {self.name!r} needs the package {self.package!r}, which is not installed; "
                f"{self.install}"
            )

    def within(self, seconds: float) -> Engine:
        """Return the same engine with a time limit of its own."""
        return replace(self, run=lambda problem, clock: self.run(problem, clock.within(seconds)))
