"""Constants of an ONNX graph, computed in NumPy in the file's own element types and in the graph's own
order of operations.

The same functions work out what becomes of the three values of a sign (`patterns`), so there is one
meaning of each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import floor, isfinite, prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Rounding
from sugenet.io.onnx.flow import OPEN_BATCH
from sugenet.io.onnx.graph import DTYPES, Array
from sugenet.io.onnx.operators import constant_value
from sugenet.io.onnx.shapes import REARRANGING, axes_of, integers, rearrangement, reduced_axes

__all__ = [
    "ELEMENTWISE",
    "OTHERS",
    "Folder",
    "Quantizer",
    "of_samples",
    "quantizer_of",
    "thin",
]

_Given: TypeAlias = Sequence[Any]
"""Arrays, or None for an optional input that is left out; five of them, or more."""
_Attributes: TypeAlias = Mapping[str, Any]
_Function: TypeAlias = Callable[[_Given, _Attributes], Array]


def _steps_of(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    """Least and largest whole number of a QONNX `Quant`."""
    if signed:
        return -(1 << bits - 1) + narrow, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1 - narrow


def of_samples(array: Array) -> bool:
    """Whether an array is as long as a batch of any size, as `ones_like` makes it:
    the same for each sample, and stored once.
    """
    return any(size and size % OPEN_BATCH == 0 for size in array.shape)


def thin(array: Array) -> Array:
    """The array cut to one along each axis along which it is stored once."""
    return array[
        tuple(
            slice(0, 1) if not stride and size > 1 else slice(None)
            for size, stride in zip(array.shape, array.strides, strict=True)
        )
    ]


@dataclass
class Folder:
    """Computes constants, within a bound on how many values may be made in all."""

    values: int
    """How many more values may be made."""

    def __call__(self, op: str, given: _Given, attributes: _Attributes) -> Array:
        """The result of an operation on constants."""
        function = ELEMENTWISE.get(op) or OTHERS.get(op)
        if function is None:
            raise FileError("it is not among the operations that are computed on constants.")
        if (
            op not in ELEMENTWISE
            and op not in ("Shape", "Size")
            and any(array is not None and of_samples(array) for array in given)
        ):
            raise FileError("it moves or joins constants of all samples of a batch, which is not supported.")
        shapes = [array.shape for array in given if array is not None]
        given = [None if array is None else thin(array) for array in given] if op in ELEMENTWISE else given
        self._spend(op, given)
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(function(given, attributes))
            return np.broadcast_to(found, np.broadcast_shapes(*shapes)) if op in ELEMENTWISE else found
        except FileError:
            raise
        except (
            ArithmeticError,
            AttributeError,
            IndexError,
            KeyError,
            MemoryError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise FileError(f"its constants do not fit together ({str(error)[:120]}).") from None

    def _spend(self, op: str, given: _Given) -> None:
        shapes = [array.shape for array in given if array is not None]
        made = sum(map(prod, shapes))
        if op in ELEMENTWISE:
            try:
                made = prod(np.broadcast_shapes(*shapes))
            except ValueError:
                raise FileError(
                    f"its constants have shapes {', '.join(map(str, shapes))}, which do not fit together."
                ) from None
        elif op in ("Expand", "ConstantOfShape") and shapes:
            sizes = integers(given[1] if op == "Expand" else given[0], "its shape")
            made = prod(max(size, 1) for size in sizes if size % OPEN_BATCH) * (
                prod(shapes[0]) if op == "Expand" else 1
            )
        elif op == "Range" and len(shapes) == 3 and all(array.size for array in given[:3]):
            first, last, step = (float(array.reshape(-1)[0]) for array in given[:3])
            made = int(min(abs((last - first) / (step or 1)), 1e18)) if isfinite(last - first) else 1 << 60
        elif op == "Gather" and len(shapes) == 2:
            made = prod(shapes[0]) * max(prod(shapes[1]), 1)
        self.values -= max(made, 1)
        if self.values < 0:
            raise FileError(
                "the constants of the graph grow far beyond what the file holds. Simplify the model first."
            )


def _one(function: Callable[[Any], Any]) -> _Function:
    return lambda given, _: function(given[0])


def _two(function: Callable[[Any, Any], Any]) -> _Function:
    return lambda given, _: function(given[0], given[1])


def _many(function: Callable[[Any, Any], Any]) -> _Function:
    return lambda given, _: np.asarray(reduce(function, [array for array in given if array is not None]))


def _mean(given: _Given, attributes: _Attributes) -> Array:
    total = _many(np.add)(given, attributes)
    return np.asarray(total / np.asarray(sum(array is not None for array in given), total.dtype))


def _divide(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iu":
        return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))  # towards zero
    return a / b


def _clip(given: _Given, attributes: _Attributes) -> Array:
    low, high = (attributes.get(key) if given[k] is None else given[k] for k, key in ((1, "min"), (2, "max")))
    found: Any = given[0]
    for bound, function in ((low, np.maximum), (high, np.minimum)):
        if bound is not None:
            found = function(found, np.asarray(bound, found.dtype))
    return np.asarray(found)


def _cast(given: _Given, attributes: _Attributes) -> Array:
    kind = attributes.get("to", 0)
    if kind not in DTYPES:
        raise FileError(f"it makes element type {kind}, which is not supported. Use float32.")
    return np.asarray(given[0].astype(np.dtype(DTYPES[kind]).newbyteorder("=")))


def _bipolar(given: _Given, _: _Attributes) -> Array:
    x, scale = given[0], given[1]
    return np.asarray(np.where(x >= 0, x.dtype.type(1), x.dtype.type(-1)) * scale)


_ROUNDINGS: dict[str, tuple[Rounding, Callable[[Any], Any]]] = {
    "ROUND": ("half even", np.rint),
    "HALF_EVEN": ("half even", np.rint),
    "HALF_UP": ("half up", lambda x: np.trunc(x + np.copysign(0.5, x))),
    "HALF_DOWN": ("half down", lambda x: np.copysign(np.ceil(np.abs(x) - 0.5), x)),
    "CEIL": ("ceil", np.ceil),
    "FLOOR": ("floor", np.floor),
    "ROUND_TO_ZERO": ("to zero", np.trunc),
    "DOWN": ("to zero", np.trunc),
    "UP": ("from zero", lambda x: np.copysign(np.ceil(np.abs(x)), x)),
}
_BITS = 16
"""The widest quantizer that is read: 65,536 levels."""


@dataclass(frozen=True)
class Quantizer:
    """What a QONNX `Quant` rounds to: whole numbers ``low..high``."""

    low: int
    high: int
    rounding: Rounding
    round: Callable[[Any], Any]


def quantizer_of(bits: Array, attributes: _Attributes) -> Quantizer:
    """The quantizer of a node, from its number of bits and its attributes."""
    count = float(bits.reshape(-1)[0]) if bits.size == 1 else 0.0
    mode = str(attributes["rounding_mode"]).upper()
    signed, narrow = bool(attributes["signed"]), bool(attributes["narrow"])
    if mode not in _ROUNDINGS:
        raise FileError(f"it rounds by {mode[:40]!r}. Known are {', '.join(_ROUNDINGS)}.")
    if not 1 <= count <= _BITS or count != int(count):
        raise FileError(f"it quantizes to {count:g} bits, but one whole number of 1 to {_BITS} is needed.")
    low, high = _steps_of(int(count), signed, narrow)
    if low == high:
        raise FileError("it has one level only: signed and narrow with one bit. Use BipolarQuant.")
    return Quantizer(low, high, *_ROUNDINGS[mode])


def _quant(given: _Given, attributes: _Attributes) -> Array:
    """Whole codes times a scale, both exact in float64; no code is decided by a float near its edge."""
    x, scale, zero = (np.asarray(array) for array in given[:3])
    quantizer = quantizer_of(given[3], attributes)
    single = scale.astype(np.float32) == scale
    if not single.all() or not (scale > 0).all() or not (zero == np.rint(zero)).all():
        raise FileError("its scale must be positive and a float32, and its zero point a whole number.")
    wide, size, shift = np.broadcast_arrays(*(array.astype(np.float64) for array in (x, scale, zero)))
    place = wide / size + shift
    half = quantizer.rounding.startswith("half")
    near = np.floor(place) + 0.5 if half else np.rint(place)  # where the code changes
    for index in np.argwhere(np.abs(place - near) <= 2.0**-40 * (1 + np.abs(place))).tolist():
        at = tuple(index)
        exact = Fraction(float(wide[at])) / Fraction(float(size[at])) + Fraction(float(shift[at]))
        below = floor(exact)
        part = exact - below  # which quarter it is in is all that any rounding asks
        place[at] = below + (
            0 if not part else 0.5 if part == Fraction(1, 2) else 0.25 if part < 0.5 else 0.75
        )
    codes = np.asarray(quantizer.round(np.clip(place, quantizer.low, quantizer.high)))
    return np.asarray((codes - shift) * size)


ELEMENTWISE: dict[str, _Function] = {
    "Abs": _one(np.abs),
    "Add": _two(np.add),
    "And": _two(np.logical_and),
    "BipolarQuant": _bipolar,
    "Cast": _cast,
    "Ceil": _one(np.ceil),
    "Clip": _clip,
    "Div": _two(_divide),
    "Equal": _two(np.equal),
    "Exp": _one(np.exp),
    "Floor": _one(np.floor),
    "Greater": _two(np.greater),
    "GreaterOrEqual": _two(np.greater_equal),
    "Identity": _one(lambda x: x),
    "IntQuant": _quant,
    "Less": _two(np.less),
    "LessOrEqual": _two(np.less_equal),
    "Log": _one(np.log),
    "Max": _many(np.maximum),
    "Mean": _mean,
    "Min": _many(np.minimum),
    "Mul": _two(np.multiply),
    "Neg": _one(np.negative),
    "Not": _one(np.logical_not),
    "Or": _two(np.logical_or),
    "Pow": lambda given, _: np.asarray(np.power(given[0], given[1])).astype(given[0].dtype, copy=False),
    "Quant": _quant,
    "Reciprocal": _one(lambda x: np.asarray(1, x.dtype) / x),
    "Relu": _one(lambda x: np.maximum(x, np.asarray(0, x.dtype))),
    "Round": _one(np.rint),
    "Rsqrt": _one(lambda x: np.asarray(1, x.dtype) / np.sqrt(x)),
    "Sign": _one(np.sign),
    "Sqrt": _one(np.sqrt),
    "Sub": _two(np.subtract),
    "Sum": _many(np.add),
    "Tanh": _one(np.tanh),
    "Where": lambda given, _: np.asarray(np.where(given[0], given[1], given[2])),
    "Xor": _two(np.logical_xor),
}
"""Operations that treat every element alike, with broadcasting."""


def _reduce(function: Callable[..., Any]) -> _Function:
    def run(given: _Given, attributes: _Attributes) -> Array:
        array, keep = given[0], bool(attributes["keepdims"])
        axes = reduced_axes(given, attributes, array.ndim)
        if axes is None:
            return np.asarray(array)
        if not array.size and function not in (np.sum, np.prod):
            raise FileError(f"it reduces an array of shape {array.shape}, which holds nothing.")
        return np.asarray(function(array, axis=axes, keepdims=keep), array.dtype)

    return run


def _slice(given: _Given, attributes: _Attributes) -> Array:
    array = given[0]
    starts, ends = (
        attributes.get(key) if given[k] is None else given[k] for k, key in ((1, "starts"), (2, "ends"))
    )
    first, last = integers(starts, "starts"), integers(np.clip(np.asarray(ends), -(1 << 40), 1 << 40), "ends")
    axes = axes_of(given, attributes, array.ndim, 3) or tuple(range(len(first)))
    steps = (1,) * len(first) if given[4] is None else integers(given[4], "steps")
    cut = [slice(None)] * array.ndim
    for axis, a, b, step in zip(axes, first, last, steps, strict=True):
        cut[axis] = slice(a, b if step > 0 or b >= -array.shape[axis] else None, step)
    return np.asarray(array[tuple(cut)])


def _full(given: _Given, attributes: _Attributes) -> Array:
    return np.broadcast_to(attributes["value"].reshape(-1)[0], integers(given[0], "its shape"))


def _rearranged(op: str) -> _Function:
    return lambda given, attributes: rearrangement(op, given[0].shape, given, attributes)(given[0])


OTHERS: dict[str, _Function] = {
    **{op: _rearranged(op) for op in REARRANGING},
    "Concat": lambda given, attributes: np.concatenate(
        [array for array in given if array is not None], int(attributes.get("axis", 0))
    ),
    "Constant": lambda _, attributes: constant_value(attributes),
    "ConstantOfShape": _full,
    "Gather": lambda given, attributes: np.take(given[0], given[1], attributes["axis"]),
    "Range": lambda given, _: np.arange(given[0].item(), given[1].item(), given[2].item()).astype(
        given[0].dtype
    ),
    "ReduceMax": _reduce(np.max),
    "ReduceMean": _reduce(np.mean),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Shape": lambda given, attributes: np.array(
        given[0].shape[slice(attributes["start"], attributes.get("end"))], np.int64
    ),
    "Size": lambda given, _: np.asarray(given[0].size, np.int64),
    "Slice": _slice,
}
"""Other operations that are computed on constants."""
