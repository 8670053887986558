"""A data set as a sweep takes it: rows, their true classes, and what tells one from another."""

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
from sugenet.errors import QuestionError
from sugenet.problem.boxes import plain
from sugenet.reason.questions import class_of

__all__ = ["DataSet", "digest_of", "hash_of"]


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
        if truths is not None and len(truths) != len(rows):
            raise QuestionError(f"y has {len(truths)} classes for {len(rows)} samples. Give one for each.")
        if not len(rows):
            raise QuestionError("there are no samples. Give at least one.")
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
    whole = hashlib.sha256(b"".join(hashes))
    whole.update(json.dumps(truths).encode())
    return whole.hexdigest()


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
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and isfinite(value):
        value = Fraction(value)
    is_whole = isinstance(value, bool | Fraction) and value == int(value)
    return int(value) if is_whole else plain(value)


def _values(row: npt.NDArray[Any]) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in row.tolist()]


def _truths(network: Network, y: Any) -> tuple[int, ...]:
    if isinstance(y, str) or np.ndim(y) != 1:
        raise QuestionError("y must be a list or array with the class of each sample, by name or number.")
    return tuple(class_of(network, _item(label)) for label in y)


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
