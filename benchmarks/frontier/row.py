"""What a row of the frontier reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """One line of the table, and what it adds to the RESULT line."""

    work: str
    before: str
    """The figure that the row began with; measured in the same run where ``same_run`` says so."""
    now: str
    figures: Mapping[str, Any]
    same_run: bool = False
