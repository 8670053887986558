"""One row of a results file: what is known of one sample without reading its answer."""

from __future__ import annotations

from dataclasses import dataclass

from sugenet.errors import CapacityError, EncodingError, NetworkError, QuestionError

__all__ = ["REFUSALS", "REFUSED", "Row"]

REFUSED = "refused"
"""The outcome of a sample that the question makes no sense for, as of the class that it has already."""

REFUSALS = (CapacityError, EncodingError, NetworkError, QuestionError)
"""Errors that say so: wherever and whenever it is asked, the same comes out."""


@dataclass(frozen=True, slots=True)
class Row:
    """The answer about one sample, in short: samples and classes are numbered from 0.

    `label` is the predicted class and `truth` the right one, None where it is not known. `certified` says
    that there is a proof or a witness that `check` can check; it is False where a solver is trusted. `value`
    and `lower` are exact numbers as text, or None: the cost of a counterfactual and its lower bound, as its
    certificate has them (under L2 they are squares). `seconds` is the time that the answer took, `time_limit`
    the one that it had, and `version` that of the program that gave it.
    """

    sample: int
    label: int
    truth: int | None
    outcome: str
    settled: bool
    certified: bool
    engine: str | None
    seconds: float
    time_limit: float | None
    value: str | None
    lower: str | None
    version: str
