"""Compute the constants of an ONNX graph in NumPy, in the file's own element types and order of operations.

The same functions compute the three values of a sign (`patterns`), so each operation has one definition.
"""

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
from sugenet.io.onnx.operators import (
    REARRANGING,
    axes_of,
    constant_value,
    integers,
    rearrangement,
    reduced_axes,
)
from sugenet.io.plain.refusals import refuse_if, required

__all__ = [
    "ELEMENTWISE",
    "OTHERS",
    "Folder",
    "Quantizer",
    "of_samples",
    "quantizer_of",
    "refuse_shifted_sign",
    "sliced",
    "thin",
]

_Inputs: TypeAlias = Sequence[Any]
"""Arrays, or None for an omitted optional input; five of them, or more."""
_Attributes: TypeAlias = Mapping[str, Any]
_Function: TypeAlias = Callable[[_Inputs, _Attributes], Array]


def _steps_of(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    """Return the smallest and largest integer of a QONNX `Quant`."""
    if signed:
        return -(1 << bits - 1) + narrow, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1 - narrow


def of_samples(array: Array) -> bool:
    """Return whether an array is as long as a batch of any size, as made by `ones_like`.

    It is the same for each sample, and stored once.
    """
    return any(size and size % OPEN_BATCH == 0 for size in array.shape)


def thin(array: Array) -> Array:
    """Return the array cut to length one along each axis along which it is stored once."""
    return array[
        tuple(
            slice(0, 1) if not stride and size > 1 else slice(None)
            for size, stride in zip(array.shape, array.strides, strict=True)
        )
    ]


@dataclass
class Folder:
    """A calculator of constants, with a limit on the total number of values."""

    values: int
    """Number of values that may still be computed."""

    def __call__(self, op: str, inputs: _Inputs, attributes: _Attributes) -> Array:
        """Return the result of an operation on constants."""
        function = required(
            ELEMENTWISE.get(op) or OTHERS.get(op),
            "it is not among the operations that are computed on constants.",
        )
        refuse_if(
            op not in ELEMENTWISE
            and op not in ("Shape", "Size")
            and any(array is not None and of_samples(array) for array in inputs),
            "it moves or joins constants of all samples of a batch, which is not supported.",
        )
        shapes = [array.shape for array in inputs if array is not None]
        inputs = [None if array is None else thin(array) for array in inputs] if op in ELEMENTWISE else inputs
        self._spend(op, inputs)
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(function(inputs, attributes))
            return np.broadcast_to(result, np.broadcast_shapes(*shapes)) if op in ELEMENTWISE else result
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

    def _spend(self, op: str, inputs: _Inputs) -> None:
        shapes = [array.shape for array in inputs if array is not None]
        made = sum(map(prod, shapes))
        if op in ELEMENTWISE:
            try:
                made = prod(np.broadcast_shapes(*shapes))
            except ValueError:
                raise FileError(
                    f"its constants have shapes {', '.join(map(str, shapes))}, which do not fit together."
                ) from None
        elif op in ("Expand", "ConstantOfShape") and shapes:
            sizes = integers(inputs[1] if op == "Expand" else inputs[0], "its shape")
            made = prod(max(size, 1) for size in sizes if size % OPEN_BATCH) * (
                prod(shapes[0]) if op == "Expand" else 1
            )
        elif op == "Range" and len(shapes) == 3 and all(array.size for array in inputs[:3]):
            first, last, step = (float(array.reshape(-1)[0]) for array in inputs[:3])
            made = int(min(abs((last - first) / (step or 1)), 1e18)) if isfinite(last - first) else 1 << 60
        elif op == "Gather" and len(shapes) == 2:
            made = prod(shapes[0]) * max(prod(shapes[1]), 1)
        self.values -= max(made, 1)
        refuse_if(
            self.values < 0,
            "the constants of the graph grow far beyond what the file holds. Simplify the model first.",
        )


def _one(function: Callable[[Any], Any]) -> _Function:
    return lambda inputs, _: function(inputs[0])


def _two(function: Callable[[Any, Any], Any]) -> _Function:
    return lambda inputs, _: function(inputs[0], inputs[1])


def _many(function: Callable[[Any, Any], Any]) -> _Function:
    return lambda inputs, _: np.asarray(reduce(function, [array for array in inputs if array is not None]))


def _mean(inputs: _Inputs, attributes: _Attributes) -> Array:
    total = _many(np.add)(inputs, attributes)
    return np.asarray(total / np.asarray(sum(array is not None for array in inputs), total.dtype))


def _divide(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iu":
        return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))  # towards zero
    return a / b


def _clip(inputs: _Inputs, attributes: _Attributes) -> Array:
    low, high = (
        attributes.get(key) if inputs[k] is None else inputs[k] for k, key in ((1, "min"), (2, "max"))
    )
    clipped: Any = inputs[0]
    for bound, function in ((low, np.maximum), (high, np.minimum)):
        if bound is not None:
            clipped = function(clipped, np.asarray(bound, clipped.dtype))
    return np.asarray(clipped)


def _cast(inputs: _Inputs, attributes: _Attributes) -> Array:
    kind = attributes.get("to", 0)
    refuse_if(kind not in DTYPES, f"it makes element type {kind}, which is not supported. Use float32.")
    return np.asarray(inputs[0].astype(np.dtype(DTYPES[kind]).newbyteorder("=")))


def _bipolar(inputs: _Inputs, _: _Attributes) -> Array:
    x, scale = inputs[0], inputs[1]
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
"""The widest supported quantizer: 65,536 levels."""


@dataclass(frozen=True)
class Quantizer:
    """The integers ``low..high`` that a QONNX `Quant` rounds to."""

    low: int
    high: int
    rounding: Rounding
    round: Callable[[Any], Any]
    is_sign: bool = False
    """One signed bit: -1 or +1, which is what QONNX's own program and its converter of QKeras make of it."""


def quantizer_of(bits: Array, attributes: _Attributes) -> Quantizer:
    """Return the quantizer of a node, from its number of bits and its attributes."""
    count = float(bits.reshape(-1)[0]) if bits.size == 1 else 0.0
    mode = str(attributes["rounding_mode"]).upper()
    signed, narrow = bool(attributes["signed"]), bool(attributes["narrow"])
    refuse_if(mode not in _ROUNDINGS, f"it rounds by {mode[:40]!r}. Known are {', '.join(_ROUNDINGS)}.")
    refuse_if(
        not 1 <= count <= _BITS or count != int(count),
        f"it quantizes to {count:g} bits, but one integer from 1 to {_BITS} is needed.",
    )
    if count == 1 and signed:
        return Quantizer(-1, 1, *_ROUNDINGS[mode], is_sign=True)
    low, high = _steps_of(int(count), signed, narrow)
    refuse_if(low == high, "it has one level only: unsigned and narrow with one bit. Use BipolarQuant.")
    return Quantizer(low, high, *_ROUNDINGS[mode])


def refuse_shifted_sign(zero: Array) -> None:
    """Refuse a quantizer of one signed bit with a zero point."""
    refuse_if(
        zero.any(), "it is a sign (one signed bit) with a zero point. Use BipolarQuant, which has none."
    )


def _quant(inputs: _Inputs, attributes: _Attributes) -> Array:
    """Return integer codes times a scale, both exact in float64. No code depends on the rounding of a
    float.
    """
    x, scale, zero = (np.asarray(array) for array in inputs[:3])
    quantizer = quantizer_of(inputs[3], attributes)
    single = scale.astype(np.float32) == scale
    refuse_if(
        not single.all() or not (scale > 0).all() or not (zero == np.rint(zero)).all(),
        "its scale must be positive and a float32, and its zero point an integer.",
    )
    if quantizer.is_sign:
        refuse_shifted_sign(zero)
        return _bipolar((x, scale), attributes)
    wide, size, shift = np.broadcast_arrays(*(array.astype(np.float64) for array in (x, scale, zero)))
    position = wide / size + shift
    half = quantizer.rounding.startswith("half")
    near = np.floor(position) + 0.5 if half else np.rint(position)  # the points where the code changes
    for index in np.argwhere(np.abs(position - near) <= 2.0**-40 * (1 + np.abs(position))).tolist():
        at = tuple(index)
        exact = Fraction(float(wide[at])) / Fraction(float(size[at])) + Fraction(float(shift[at]))
        below = floor(exact)
        part = exact - below  # any rounding depends only on the quarter
        position[at] = below + (
            0 if not part else 0.5 if part == Fraction(1, 2) else 0.25 if part < 0.5 else 0.75
        )
    codes = np.asarray(quantizer.round(np.clip(position, quantizer.low, quantizer.high)))
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
    "Pow": lambda inputs, _: np.asarray(np.power(inputs[0], inputs[1])).astype(inputs[0].dtype, copy=False),
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
    "Where": lambda inputs, _: np.asarray(np.where(inputs[0], inputs[1], inputs[2])),
    "Xor": _two(np.logical_xor),
}
"""Elementwise operations, with broadcasting."""


def _reduce(function: Callable[..., Any]) -> _Function:
    def run(inputs: _Inputs, attributes: _Attributes) -> Array:
        array, keep = inputs[0], bool(attributes["keepdims"])
        axes = reduced_axes(inputs, attributes, array.ndim)
        if axes is None:
            return np.asarray(array)
        refuse_if(
            not array.size and function not in (np.sum, np.prod),
            f"it reduces an array of shape {array.shape}, which holds nothing.",
        )
        return np.asarray(function(array, axis=axes, keepdims=keep), array.dtype)

    return run


def sliced(inputs: _Inputs, attributes: _Attributes) -> Array:
    """Return a slice of an array, as the operation `Slice` takes it."""
    array = inputs[0]
    starts, ends = (
        attributes.get(key) if inputs[k] is None else inputs[k] for k, key in ((1, "starts"), (2, "ends"))
    )
    first, last = integers(starts, "starts"), integers(np.clip(np.asarray(ends), -(1 << 40), 1 << 40), "ends")
    axes = axes_of(inputs, attributes, array.ndim, 3) or tuple(range(len(first)))
    steps = (1,) * len(first) if inputs[4] is None else integers(inputs[4], "steps")
    slices = [slice(None)] * array.ndim
    for axis, a, b, step in zip(axes, first, last, steps, strict=True):
        slices[axis] = slice(a, b if step > 0 or b >= -array.shape[axis] else None, step)
    return np.asarray(array[tuple(slices)])


def _full(inputs: _Inputs, attributes: _Attributes) -> Array:
    return np.broadcast_to(attributes["value"].reshape(-1)[0], integers(inputs[0], "its shape"))


def _rearranged(op: str) -> _Function:
    return lambda inputs, attributes: rearrangement(op, inputs[0].shape, inputs, attributes)(inputs[0])


OTHERS: dict[str, _Function] = {
    **{op: _rearranged(op) for op in REARRANGING},
    "Concat": lambda inputs, attributes: np.concatenate(
        [array for array in inputs if array is not None], int(attributes.get("axis", 0))
    ),
    "Constant": lambda _, attributes: constant_value(attributes),
    "ConstantOfShape": _full,
    "Gather": lambda inputs, attributes: np.take(inputs[0], inputs[1], attributes["axis"]),
    "Range": lambda inputs, _: np.arange(inputs[0].item(), inputs[1].item(), inputs[2].item()).astype(
        inputs[0].dtype
    ),
    "ReduceMax": _reduce(np.max),
    "ReduceMean": _reduce(np.mean),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Shape": lambda inputs, attributes: np.array(
        inputs[0].shape[slice(attributes["start"], attributes.get("end"))], np.int64
    ),
    "Size": lambda inputs, _: np.asarray(inputs[0].size, np.int64),
    "Slice": sliced,
}
"""Other operations that are computed on constants."""
