"""Values with a bound on their rounding, arithmetic on them, and the arguments of an operator of a file.

Floats are computed in float64, integers and booleans in the file's own type. Every value has a bound on its
distance to the result of exact arithmetic. So an interpreter never counts rounding as a difference, and never
misses another difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.onnx.operators import INPUTS, MANY, integers
from sugenet.io.plain.refusals import refuse_if, required

__all__ = [
    "ROUND",
    "SINGLE",
    "Decision",
    "OpCall",
    "Operator",
    "Tensor",
    "UncomparableError",
    "constant",
    "exact_products",
    "floats",
    "is_single",
    "kind_of",
    "made_of",
    "monotone",
    "of_tensors",
    "operands",
    "product",
    "quotient",
    "rising",
    "sum_of",
]

ROUND = 2.0**-53
"""Half a unit in the last place of float64."""
SINGLE = 2.0**-24
"""The same for float32."""


class UncomparableError(FileError):
    """An operator or input that the interpreter does not support: the import cannot be compared."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of the graph."""

    values: Array
    kind: np.dtype[Any]
    """Type in the file. Floats that depend on the data are always kept in float64."""
    error: Array
    """Error bound of each value, of any shape that broadcasts to that of the values."""
    data: bool
    """Whether it depends on the input of the graph."""
    signs: bool = False
    """Whether it depends on the input only through decisions, element by element. A reader may compute such
    values in the file's floats.
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
        """Shape of the values."""
        return self.values.shape

    def moved(self, move: Callable[[Array], Array]) -> Tensor:
        """Return the same values in other positions."""
        error = np.zeros(()) if self.exact else move(self.errors.copy())
        return Tensor(move(self.values), self.kind, error, self.data, self.signs)


def constant(array: Array, kind: np.dtype[Any] | None = None) -> Tensor:
    """Return numbers of the file."""
    return Tensor(array, kind or array.dtype, np.zeros(()), False)


def made_of(tensors: Sequence[Tensor], values: Array, kind: np.dtype[Any], error: Array) -> Tensor:
    """Return the result of an elementwise operation."""
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
    """The input and the decision of a node with a jump, such as Sign."""

    name: str
    before: Array
    high: Array
    low: Array
    margin: Array
    """Error bound of the value before it."""
    levels: Array | None = None
    """Output of a node with more than two levels, counted from 0. `before` is then relative to the nearest
    threshold.
    """
    unbased: bool = False
    """Whether the node does not know its lowest level, so that levels are its integer outputs."""


@dataclass
class OpCall:
    """One operator of the graph, with its inputs."""

    node: Node
    """Node with counted attributes and their defaults."""
    opset: int
    inputs: list[Tensor | None]
    spend: Callable[[int], None]
    """Function that takes a number of values or steps from the budget, and refuses if it is exhausted."""
    decisions: list[Decision] = field(default_factory=list)

    def tensor(self, index: int) -> Tensor:
        """Return a required input."""
        return required(self.optional(index), f"its input {index} is missing.")

    def optional(self, index: int) -> Tensor | None:
        """Return an optional input."""
        return self.inputs[index] if index < len(self.inputs) else None

    def __getitem__(self, name: str) -> Any:
        return self.node.attributes[name]

    def real(self, name: str) -> float:
        """Return a number. A default is rounded to the file's 32 bits, like a number in the file."""
        return float(np.float32(self[name]))

    def numbers(self, name: str, default: Any = None) -> tuple[int, ...] | None:
        """Return a list of integers; None if it is omitted."""
        value = self.node.attributes.get(name, default)
        return None if value is None else integers(value, f"its {name}")

    def listed(self, index: int, name: str) -> tuple[int, ...] | None:
        """Return a list of integers from an input, or from an attribute as in older operator sets.

        Return None if both are missing.
        """
        value = self.parameters()[index]
        return self.numbers(name) if value is None else integers(value, f"its {name}")

    def parameters(self) -> list[Array | None]:
        """Return the inputs that configure the operator, by position, at least five. They may not depend on
        the data.
        """
        refuse_if(
            any(tensor is not None and tensor.data and not tensor.exact for tensor in self.inputs[1:]),
            "its shape, axes or the like depend on the input.",
        )
        arrays = [None if tensor is None else tensor.values for tensor in self.inputs]
        return [*arrays, *[None] * (5 - len(arrays))]

    def made(self, *shapes: tuple[int, ...]) -> None:
        """Count the values that are about to be computed."""
        self.spend(sum(prod(shape) for shape in shapes))

    def decide(self, before: Array, high: Array, low: Array, margin: Array) -> None:
        """Record a decision, for the comparison layer by layer."""
        rows = np.broadcast_arrays(before, high, low, margin)
        self.decisions.append(Decision(str(self.node), rows[0], rows[1], rows[2], rows[3]))

    def count(self, before: Array, levels: Array, margin: Array, unbased: bool = False) -> None:
        """Record the level of a node."""
        broadcast_levels, apart, slack = np.broadcast_arrays(levels.astype(np.int64), before, margin)
        self.decisions.append(
            Decision(
                str(self.node),
                apart,
                broadcast_levels > 0,
                broadcast_levels == 0,
                slack,
                broadcast_levels,
                unbased,
            )
        )


def is_single(array: Array) -> Array:
    """Return which values are float32 numbers."""
    with np.errstate(over="ignore"):
        return np.asarray(array.astype(np.float32) == array)


def _grain(array: Array) -> int:
    """Return an exponent such that every value is a multiple of two to that power."""
    if (array == np.rint(array)).all():  # the usual case
        return 0
    nonzero = array[array != 0]
    if not nonzero.size:
        return 0
    mantissa, exponent = np.frexp(nonzero)
    integer_mantissa = (mantissa * 2.0**53).astype(np.int64)
    return int(
        (
            exponent
            - 53
            + np.log2((integer_mantissa & -integer_mantissa).astype(np.float64)).astype(np.int64)
        ).min()
    )


def exact_products(left: Array, right: Array, terms: int) -> bool:
    """Return whether sums of this many products are exact in float64, in any order of addition."""
    max_product = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0))
    if not np.isfinite(max_product):
        return False
    grain = _grain(left) + _grain(right)
    return grain > -1000 and max_product * max(terms, 1) < 2.0 ** min(53 + grain, 1000)


# -- arithmetic ----------------------------------------------------------------------------------------------

Operator: TypeAlias = Callable[[OpCall], Tensor]


def operands(call: OpCall) -> list[Tensor]:
    """Return all inputs, none of which may be missing, and count their broadcast."""
    tensors, count = [call.tensor(index) for index in range(len(call.inputs))], INPUTS.get(call.node.op, 1)
    refuse_if(
        len(tensors) != count and (count != MANY or not tensors),
        f"it has {len(tensors)} inputs, but {count} are needed.",
    )
    try:
        call.made(np.broadcast_shapes(*(tensor.shape for tensor in tensors)))
    except ValueError:
        raise FileError("its inputs have shapes that do not fit together.") from None
    return tensors


def of_tensors(function: Callable[..., Tensor]) -> Operator:
    """Return the operator that is a function only of its inputs."""
    return lambda call: function(*operands(call))


def floats(tensor: Tensor, data: bool) -> Array:
    """Return the values as the operator computes with them: floats with data in float64."""
    return tensor.values.astype(np.float64, copy=False) if data and tensor.kind.kind == "f" else tensor.values


def _rounding(tensors: Sequence[Tensor], result: Array, exactly: Array | bool, kind: np.dtype[Any]) -> Array:
    """Return the contribution of one rounded operation to the bound.

    Constants are computed in their own type, correctly rounded like the file's. Data are computed in float64.
    Values that depend only on signs may have been computed in the file's float32.
    """
    if not any(tensor.data for tensor in tensors) or kind.kind != "f":
        return np.zeros(())
    if kind == np.float32 and all(tensor.signs for tensor in tensors if tensor.data):
        fine = exactly & is_single(result)
        if all(tensor.exact for tensor in tensors) and np.all(fine):
            return np.zeros(())
        return SINGLE * np.abs(result)
    return np.zeros(()) if np.all(exactly) else np.where(exactly, 0.0, ROUND * np.abs(result))


def kind_of(tensors: Sequence[Tensor]) -> np.dtype[Any]:
    """Return the type of the result, which is that of the data."""
    return next((tensor.kind for tensor in tensors if tensor.data), tensors[0].kind)


def sum_of(left: Tensor, right: Tensor, sign: int = 1) -> Tensor:
    """Return the sum of two, or their difference if `sign` is -1."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    result = np.asarray(a + b if sign > 0 else a - b)
    kind = kind_of((left, right))
    if kind.kind != "f":
        return made_of((left, right), result, kind, left.error + right.error)
    b = b if sign > 0 else -b
    part = result - a
    lost = (a - (result - part)) + (b - part)
    return made_of(
        (left, right),
        result,
        kind,
        left.error + right.error + _rounding((left, right), result, lost == 0, kind),
    )


def product(left: Tensor, right: Tensor) -> Tensor:
    """Return the product of two."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    result, kind = np.asarray(a * b), kind_of((left, right))
    error = np.abs(a) * right.error + np.abs(b) * left.error + left.error * right.error
    if kind.kind == "f":
        error = error + _rounding((left, right), result, is_single(a) & is_single(b), kind)
    return made_of((left, right), result, kind, error)


def quotient(left: Tensor, right: Tensor) -> Tensor:
    """Return the quotient of two. Integers are divided towards zero."""
    data = left.data or right.data
    a, b = floats(left, data), floats(right, data)
    kind = kind_of((left, right))
    if kind.kind in "iu":
        refuse_if(not np.all(b), "it divides integers by zero.")
        refuse_if(not (left.exact and right.exact), "it divides integers that are not certain.")
        return made_of(
            (left, right),
            (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(kind),
            kind,
            np.zeros(()),
        )
    result = np.asarray(a / b)
    room = np.abs(b) - right.error
    spread = np.where(
        room > 0, (left.error + np.abs(result) * right.error) / np.where(room > 0, room, 1), np.inf
    )
    exactly = is_single(result) & is_single(b) & (result * b == a)
    error = np.zeros(()) if left.exact and right.exact else spread
    return made_of((left, right), result, kind, error + _rounding((left, right), result, exactly, kind))


def monotone(function: Callable[..., Any], *tensors: Tensor) -> Tensor:
    """Return an operator for a function that falls in none of its inputs.

    The values at both ends of the inputs' ranges bound the result.
    """
    arrays = [floats(tensor, any(other.data for other in tensors)) for tensor in tensors]
    result, error = np.asarray(function(*arrays)), np.zeros(())
    if not all(tensor.exact for tensor in tensors):
        pairs = list(zip(arrays, tensors, strict=True))
        low, high = (
            np.asarray(function(*(array + side * tensor.error for array, tensor in pairs)), np.float64)
            for side in (-1, 1)
        )
        error = np.maximum(high - result, result - low)
        error = np.where(np.isnan(error), np.inf, error)
    return made_of(tensors, result, kind_of(tensors), error)


def rising(function: Callable[[Array], Any], roundings: float = 8.0) -> Operator:
    """Return an operator that never falls, whose results are rounded `roundings` times."""

    def run(call: OpCall) -> Tensor:
        (x,) = operands(call)
        result = monotone(function, x)
        if not roundings or x.kind.kind != "f":
            return result
        unit = ROUND if x.data and not (x.kind == np.float32 and x.signs) else SINGLE
        size = np.where(np.isfinite(result.values), np.abs(result.values), 0)
        return replace(result, error=result.error + roundings * unit * size)

    return run
