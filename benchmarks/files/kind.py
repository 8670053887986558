"""What is known of one kind of file once it has been tried."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Kind", "Outcome", "Read", "Refused", "Skipped"]


@dataclass(frozen=True)
class Read:
    """It was read, and its scores were compared with those of its own tool."""

    samples: int
    different: int


@dataclass(frozen=True)
class Refused:
    """It was refused; ``way`` is the part of the message that says what to do instead, found in it."""

    way: str


@dataclass(frozen=True)
class Skipped:
    """Its tool is not installed here."""

    why: str


Outcome = Read | Refused | Skipped


@dataclass(frozen=True)
class Kind:
    """One kind of file: who writes it, and how it is tried in an empty folder."""

    name: str
    tool: str
    attempt: Callable[[Path], Outcome]
