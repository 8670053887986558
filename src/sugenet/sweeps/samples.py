"""A data set as a sweep takes it: rows, their true classes, and what tells one from another; and one row of a
results file: what is known of one sample without reading its answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.capacity.arguments import plain as python_value
from sugenet.errors import CapacityError, EncodingError, NetworkError, QuestionError, refuse
from sugenet.problem.boxes import plain
from sugenet.reason.questions import class_of

__all__ = ["REFUSALS", "REFUSED", "DataSet", "Row", "digest_of", "hash_of"]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Raw samples of a network in their order, with their true classes where they are known."""

    rows: npt.NDArray[Any]
    labels: npt.NDArray[np.intp]
    """What the network says."""
    truths: tuple[int, ...] | None
    hashes: tuple[bytes, ...]

    @classmethod
    def of(cls, network: Network, X: Any, y: Any = None) -> DataSet:
        """Read them all, so that a value which the network cannot take is told before any work."""
        rows = network.encoder.rows(X)
        labels = network.predict(rows)
        truths = None if y is None else _truths(network, y)
        n_truths = len(rows) if truths is None else len(truths)
        refuse(
            QuestionError,
            (
                n_truths != len(rows),
                f"y has {n_truths} classes for {len(rows)} samples. Give one for each.",
            ),
            (not len(rows), "there are no samples. Give at least one."),
        )
        hashes = tuple(hash_of(_values(row)) for row in rows)
        return cls(rows, labels, truths, hashes)

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, sample: int) -> list[Any]:
        """One raw sample as a question takes it."""
        return _values(self.rows[sample])

    @property
    def digest(self) -> str:
        """Of all samples and classes in their order."""
        return digest_of(self.hashes, self.truths)


def digest_of(hashes: Iterable[bytes], truths: Sequence[int | None] | None) -> str:
    """What a data set is known by: a digest of all samples and true classes in their order."""
    digest = hashlib.sha256(b"".join(hashes))
    digest.update(json.dumps(truths).encode())
    return digest.hexdigest()


def hash_of(values: list[Any]) -> bytes:
    """What a raw sample is known by: a digest of its values as JSON has them. Equal numbers are the same,
    whatever their type: an array of floats and one of integers may be the same data.

    Examples
    --------
    >>> hash_of([1, 2.5]).hex()[:12]
    '18d0ae1f8ab1'
    >>> hash_of([1, 2.5]) == hash_of([1.0, Fraction(5, 2)])
    True
    """
    text = json.dumps([_one(value) for value in values], separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _one(value: Any) -> Any:
    """A value as JSON has it; numbers that are not whole as fractions."""
    if type(value) is int:
        return value
    value = python_value(value)
    if isinstance(value, float) and isfinite(value):
        value = Fraction(value)
    is_integer = isinstance(value, bool | Fraction) and value == int(value)
    return int(value) if is_integer else plain(value)


def _values(row: npt.NDArray[Any]) -> list[Any]:
    return [python_value(value) for value in row.tolist()]


def _truths(network: Network, y: Any) -> tuple[int, ...]:
    refuse(
        QuestionError,
        (
            isinstance(y, str) or np.ndim(y) != 1,
            "y must be a list or array with the class of each sample, by name or number.",
        ),
    )
    return tuple(class_of(network, python_value(label)) for label in y)


REFUSED = "refused"
"""The outcome of a sample that the question makes no sense for, as of the class that it has already."""

REFUSALS = (CapacityError, EncodingError, NetworkError, QuestionError)
"""Errors that say so: wherever and whenever it is asked, the same comes out."""


@dataclass(frozen=True, slots=True)
class Row:
    """The answer about one sample, in short: samples and classes are numbered from 0.

    `index` is the number of the predicted class and `truth` that of the right one, None if it is not known.
    `certified` says that there is a proof or a witness that `check` can check; it is False if a solver is
    trusted. `cost` and `lower` are exact numbers as text, or None: the cost of a counterfactual and its lower
    bound, as its certificate has them (under L2 they are squares). `seconds` is the time that the answer
    took, `time_limit` the one that it had, and `version` that of the program that gave it.
    """

    sample: int
    index: int
    truth: int | None
    outcome: str
    settled: bool
    certified: bool
    engine: str | None
    seconds: float
    time_limit: float | None
    cost: str | None
    lower: str | None
    version: str
