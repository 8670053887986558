"""The data set of a sweep, and the rows of a results file.

A data set has samples, their true classes, and hashes that identify them. A row summarizes the answer about
one sample.
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

from sugenet.capacity.arguments import plain as python_value
from sugenet.errors import CapacityError, EncodingError, NetworkError, QuestionError, refuse
from sugenet.nn import Network
from sugenet.problem.boxes import plain
from sugenet.reason.questions import class_of

__all__ = ["REFUSALS", "REFUSED", "DataSet", "Row", "digest_of", "hash_of"]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Raw samples of a network, in order, with their true classes if known."""

    rows: npt.NDArray[Any]
    labels: npt.NDArray[np.intp]
    """The predicted classes."""
    truths: tuple[int, ...] | None
    hashes: tuple[bytes, ...]

    @classmethod
    def of(cls, network: Network, X: Any, y: Any = None) -> DataSet:
        """Read all samples, so that a value which the network cannot take is reported before any work."""
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
        """Return one raw sample as a question takes it."""
        return _values(self.rows[sample])

    @property
    def digest(self) -> str:
        """Digest of all samples and classes, in order."""
        return digest_of(self.hashes, self.truths)


def digest_of(hashes: Iterable[bytes], truths: Sequence[int | None] | None) -> str:
    """Return the digest that identifies a data set: of all samples and true classes, in order."""
    digest = hashlib.sha256(b"".join(hashes))
    digest.update(json.dumps(truths).encode())
    return digest.hexdigest()


def hash_of(values: list[Any]) -> bytes:
    """Return the digest that identifies a raw sample: that of its values as JSON.

    Equal numbers of different types are the same: an array of floats and one of integers may be the same
    data.

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
    """Return a value as JSON data; non-integers are fractions."""
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
"""The outcome of a sample for which the question makes no sense, such as a target class it already has."""

REFUSALS = (CapacityError, EncodingError, NetworkError, QuestionError)
"""Errors that say so; they do not depend on when or where the question is asked."""


@dataclass(frozen=True, slots=True)
class Row:
    """A summary of the answer about one sample; samples and classes are numbered from 0.

    `index` is the index of the predicted class and `truth` that of the true one, None if unknown. `certified`
    says that there is a proof or a witness for `check`; it is False if a solver is trusted. `cost` and
    `lower` are exact numbers as text, or None: the cost of a counterfactual and its lower bound, as in its
    certificate (under L2 they are squares). `seconds` is the time taken, `time_limit` the limit that applied,
    and `version` that of the program.

    Examples
    --------
    >>> from sugenet import Hamming, Robust, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> row = sweep(models.digits(), X[:1], Robust(each, Hamming(2)), y=y[:1], jobs=1).row(0)
    >>> row.sample, row.index, row.truth, row.outcome, row.certified
    (0, 9, 5, 'refuted', True)

    See Also
    --------
    Results.rows : all rows of a sweep.
    Results.answer : the answer itself.
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
