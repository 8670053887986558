"""One row of a results file: what is known of one sample without reading its answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from sugenet.checker.form import exact
from sugenet.errors import CertificateError

__all__ = ["REFUSED", "Row", "check_row"]

REFUSED = "refused"
"""The outcome of a sample that the question makes no sense for, as of the class that it has already."""


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


def check_row(row: Row, samples: int, classes: int) -> None:
    """Refuse a row that says what cannot be, such as a class that there is not: it was written by others.

    Raises
    ------
    CertificateError
        It names what.
    """
    numbers = {"sample": (row.sample, samples), "class": (row.label, classes)}
    if row.truth is not None:
        numbers["true class"] = row.truth, classes
    for name, (number, end) in numbers.items():
        if type(number) is not int or not 0 <= number < end:
            raise CertificateError(f"there is no {name} {str(number)[:20]}")
    times = {"time": row.seconds} | ({} if row.time_limit is None else {"time limit": row.time_limit})
    for name, time in times.items():
        if type(time) not in (int, float) or not (isfinite(time) and time >= 0):
            raise CertificateError(f"its {name} is {str(time)[:20]}")
    if not all(isinstance(word, str) for word in (row.outcome, row.engine or "", row.version)):
        raise CertificateError("a word in it is none")
    for cost in (row.value, row.lower):
        if cost is not None:
            try:
                float(exact(cost))
            except (ArithmeticError, ValueError, CertificateError):
                raise CertificateError(f"{str(cost)[:20]!r} is no cost") from None
