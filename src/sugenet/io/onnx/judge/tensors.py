"""Values with a bound on their rounding, and what an operator of a file is called with.

Floats are computed in float64, whole numbers and booleans in the file's own kind. With every value goes a
bound on how far it may lie from the number that exact arithmetic gives, so that a judge never counts a
difference that is rounding, and never misses another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Node, Subgraph

__all__ = [
    "ROUND",
    "SINGLE",
    "Decision",
    "OpCall",
    "Tensor",
    "UncomparableError",
    "constant",
    "exact_products",
    "is_single",
    "made_of",
]

ROUND = 2.0**-53
"""Half a unit in the last place of float64."""
SINGLE = 2.0**-24
"""The same of float32."""


class UncomparableError(FileError):
    """What the interpreter does not know or will not take: the import cannot be compared."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of the graph."""

    values: Array
    kind: np.dtype[Any]
    """In the file; floats that depend on the data are kept in float64 whatever they are in the file."""
    error: Array
    """How far each value may be from the exact one; of any shape that broadcasts to that of the values."""
    data: bool
    """Whether it depends on the input of the graph."""
    signs: bool = False
    """Whether it depends on it through decisions alone, element by element: a reader may work such values out
    in the file's floats.
    """

    @property
    def errors(self) -> Array:
        """The bound of each value."""
        return np.broadcast_to(self.error, self.values.shape)

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return not self.error.any()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the values."""
        return self.values.shape

    def moved(self, move: Callable[[Array], Array]) -> Tensor:
        """The same values in other places."""
        error = np.zeros(()) if self.exact else move(self.errors.copy())
        return Tensor(move(self.values), self.kind, error, self.data, self.signs)


def constant(array: Array, kind: np.dtype[Any] | None = None) -> Tensor:
    """Numbers of the file."""
    return Tensor(array, kind or array.dtype, np.zeros(()), False)


def made_of(tensors: Sequence[Tensor], values: Array, kind: np.dtype[Any], error: Array) -> Tensor:
    """What an operation made element by element of others."""
    data = [tensor for tensor in tensors if tensor.data]
    return Tensor(
        np.asarray(values),
        kind,
        np.asarray(error),
        bool(data),
        bool(data) and all(tensor.signs for tensor in data),
    )


@dataclass(frozen=True, eq=False)
class Decision:
    """What a node that jumps, such as Sign, saw and decided."""

    name: str
    before: Array
    high: Array
    low: Array
    margin: Array
    """How far the value before it may be from the exact one."""
    levels: Array | None = None
    """What a node with more than two levels gave, counted from 0;
    `before` is then less the nearest of its thresholds.
    """
    unbased: bool = False
    """Whether the node does not know the least of its levels, so that they are the whole numbers it gave."""


@dataclass
class OpCall:
    """One operator of the graph, with its inputs; keeps count of which attributes were asked for."""

    node: Node
    opset: int
    inputs: list[Tensor | None]
    spend: Callable[[int], None]
    """Takes a number of values or steps from what may be used; refuses when nothing is left."""
    decisions: list[Decision] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    def tensor(self, place: int) -> Tensor:
        """An input that must be there."""
        found = self.optional(place)
        if found is None:
            raise UncomparableError(f"its input {place} is missing.")
        return found

    def optional(self, place: int) -> Tensor | None:
        """An input that may be left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, as it stands in the file."""
        self.asked.add(name)
        return self.node.attributes.get(name, default)

    def number(self, name: str, default: int = 0) -> int:
        """A whole number."""
        value = self.attribute(name, default)
        if not isinstance(value, int):
            raise UncomparableError(f"its attribute {name} is no whole number.")
        return value

    def real(self, name: str, default: float) -> float:
        """A number; a default is rounded to the file's 32 bits, as one that is written down."""
        value = self.attribute(name, default)
        if not isinstance(value, int | float):
            raise UncomparableError(f"its attribute {name} is no number.")
        return float(np.float32(value))

    def text(self, name: str, default: str) -> str:
        """A word."""
        value = self.attribute(name, default)
        if not isinstance(value, str):
            raise UncomparableError(f"its attribute {name} is no text.")
        return value

    def numbers(self, name: str, default: Any = None) -> tuple[int, ...] | None:
        """A list of whole numbers."""
        value = self.attribute(name, default)
        if value is None:
            return None
        if isinstance(value, int):
            value = (value,)
        if isinstance(value, Subgraph) or not all(isinstance(v, int) for v in value) or len(value) > 64:
            raise UncomparableError(f"its attribute {name} is no short list of whole numbers.")
        return tuple(value)

    def listed(self, place: int, name: str) -> tuple[int, ...] | None:
        """A list of whole numbers from an input, or as older operator sets have it from an attribute; None
        where neither is there.
        """
        given = self.optional(place)
        if given is None:
            return self.numbers(name)
        if given.data and not given.exact:
            raise UncomparableError(f"its {name} depend on the input.")
        if given.values.dtype.kind not in "iu" or given.values.ndim > 1 or given.values.size > 64:
            raise UncomparableError(f"its {name} are no short list of whole numbers.")
        return tuple(int(v) for v in given.values.reshape(-1))

    def made(self, *shapes: tuple[int, ...]) -> None:
        """Say how many values are about to be made."""
        self.spend(sum(prod(shape) for shape in shapes))

    def decide(self, before: Array, high: Array, low: Array, margin: Array) -> None:
        """Note a decision, for the comparison layer by layer."""
        rows = np.broadcast_arrays(before, high, low, margin)
        self.decisions.append(Decision(str(self.node), rows[0], rows[1], rows[2], rows[3]))

    def count(self, before: Array, levels: Array, margin: Array, unbased: bool = False) -> None:
        """Note which level a node gave."""
        given, apart, slack = np.broadcast_arrays(levels.astype(np.int64), before, margin)
        self.decisions.append(Decision(str(self.node), apart, given > 0, given == 0, slack, given, unbased))


def is_single(array: Array) -> Array:
    """Which values are float32 numbers."""
    with np.errstate(over="ignore"):
        return np.asarray(array.astype(np.float32) == array)


def _grain(array: Array) -> int:
    """An exponent such that every value is a multiple of two to that power."""
    if (array == np.rint(array)).all():  # most often
        return 0
    nonzero = array[array != 0]
    if not nonzero.size:
        return 0
    mantissa, exponent = np.frexp(nonzero)
    whole = (mantissa * 2.0**53).astype(np.int64)
    return int((exponent - 53 + np.log2((whole & -whole).astype(np.float64)).astype(np.int64)).min())


def exact_products(left: Array, right: Array, terms: int) -> bool:
    """Whether sums of so many products are exact in float64, in whatever order they are added."""
    most = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0))
    if not np.isfinite(most):
        return False
    grain = _grain(left) + _grain(right)
    return grain > -1000 and most * max(terms, 1) < 2.0 ** min(53 + grain, 1000)
