"""Translate PyTorch operations that ran into operations of the chain.

These are elementwise operations (as exact functions of one number), layers, pooling, padding, reshapes, and
final operations that keep the largest score the largest.

`OPERATIONS` is the table of all readable operations, by name in PyTorch's core.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Convolution,
    Leaky,
    LinearOp,
    MaxPool,
    Op,
    Pad,
    Sign,
    numbers,
)
from sugenet.io.torch.piecewise import Piecewise
from sugenet.io.torch.signals import Signal, concatenated, exact, joined, natural
from sugenet.nn.arrays import Array, Indices

__all__ = ["ON_ROWS", "OPERATIONS", "Call"]


_HINTS = {
    "native_dropout": "Dropout is in training mode: call module.eval() first.",
    "bernoulli": "The forward pass is random: call module.eval() first.",
    "native_layer_norm": "Use BatchNorm in eval mode, whose statistics are fixed.",
    "native_group_norm": "Use BatchNorm in eval mode, whose statistics are fixed.",
    "fake_quantize_per_channel_affine_cachemask": "Activations can have one scale for all channels.",
    "gelu": "Before a sign use Hardtanh, ReLU or nothing.",
    "silu": "Before a sign use Hardtanh, ReLU or nothing.",
    "elu": "Before a sign use Hardtanh, ReLU or nothing.",
    "copy": (
        "It writes into a part of another tensor, as circular padding does: use zero padding, and "
        "torch.where instead of slices."
    ),
    "bmm": "Use a linear layer whose weights do not depend on the input.",
    "reflection_pad2d": "Pad with one value: ZeroPad2d or ConstantPad2d.",
    "replication_pad2d": "Pad with one value: ZeroPad2d or ConstantPad2d.",
    "signbit": "Use x < 0, which ignores negative zero.",
    "copysign": "Use torch.where(x >= 0, 1, -1), which ignores negative zero.",
    "_local_scalar_dense": (
        "The forward pass looks at values of its input (.item() or if): "
        "its operations must not depend on them."
    ),
    "nonzero": "The forward pass looks at values of its input: its operations must not depend on them.",
}


@dataclass(frozen=True, eq=False)
class Call:
    """One operation that ran: its arguments by name, the signals among them, and its result."""

    name: str
    where: str
    args: dict[str, Any]
    find: Callable[[Any], Signal | None]
    values: Mapping[int, Array]
    """Tensors among the arguments, by identity, as they were before the operation."""
    out: Any
    """The result, as an array."""
    narrowed: bool = False
    """Whether floats of 32 or more bits became floats of 16."""

    def numpy(self, value: Any) -> Array:
        """Return a tensor, an array or a number as an array."""
        return self.values[id(value)] if id(value) in self.values else np.asarray(value)

    def signal(self, name: str = "self") -> Signal:
        """Return the signal of an argument, which must depend on the input."""
        return self.followed(self.args.get(name, self.args.get("input")), "first argument")

    def followed(self, value: Any, called: str) -> Signal:
        """Return the signal of a value, which must depend on the input."""
        signal = self.find(value)
        if signal is None:
            raise self.refused(f"Its {called} does not depend on the input.")
        return signal

    def constant(self, name: str) -> Array | None:
        """Return an argument as an array, or None if it is missing; it must not depend on the input."""
        tensor = self.args.get(name)
        if tensor is None:
            return None
        self.refuse_if(self.find(tensor) is not None, f"Its {name} depends on the input.")
        return self.numpy(tensor)

    def array(self, name: str) -> Array:
        """Return the same as `constant`, for a required argument."""
        array = self.constant(name)
        assert array is not None
        return array

    @property
    def result(self) -> Array:
        """The result in float64."""
        return np.asarray(self.out, dtype=np.float64)

    def actual(self, name: str = "self") -> Array:
        """Return the argument's own values."""
        return np.asarray(self.numpy(self.args.get(name, self.args.get("input"))), dtype=np.float64)

    def settled(self, name: str = "self") -> Signal:
        """Return the signal of an argument, with everything elementwise written as operations."""
        return self.signal(name).settled(self.actual(name), self.where)

    def refuse_if(self, wrong: object, why: str) -> None:
        """Refuse the operation if something is wrong."""
        if wrong:
            raise self.refused(why)

    def refused(self, why: str = "") -> FileError:
        """Return the error to raise."""
        return FileError(
            f"{self.where}: {self.name} cannot be read. {why or _HINTS.get(self.name) or _WORKS}"
        )


_WORKS = (
    "Linear, Conv1d/2d, BatchNorm, Hardtanh, clamp, ReLU, max and average pooling, padding, flatten and "
    "reshape, and signs of any spelling can be."
)


def _open_ended(call: Call, signal: Signal) -> Signal:
    """Return the signal; refuse it if it has ended already."""
    if signal.tail:
        raise call.refused(f"It follows {signal.tail[-1]}, which can only be the end of a network.")
    return signal


def _rounded_scalar(call: Call, value: Any, like: Any) -> Fraction:
    """Return a Python number as PyTorch uses it: rounded to the dtype of the tensor it is combined with."""
    call.refuse_if(isinstance(value, float) and not np.isfinite(value), f"It uses the number {value}.")
    if isinstance(value, float):
        dtype = call.numpy(like)[:0].dtype
        return exact(dtype.type(value) if dtype.kind == "f" else np.float32(value))
    return Fraction(value)


_MOST = 1 << 22
"""Largest number of weights of a dense layer that the module does not have itself."""
_COMPARISONS = ("ge", "gt", "le", "lt", "eq", "ne")


def _pointwise(make: Callable[[Call, Piecewise], Piecewise]) -> Callable[[Call], Signal]:
    def rule(call: Call) -> Signal:
        signal = call.signal()
        if call.name in ("sign", "sgn") and signal.odd:
            signal = replace(signal, tail=(), odd=False)
        return replace(_open_ended(call, signal), function=make(call, signal.function))

    return rule


def _operand(call: Call, name: str, like: Any, signal: Signal) -> Piecewise | Array:
    """Return the other argument: a function of the same numbers, or one constant per position of a sample."""
    value = call.args[name]
    if isinstance(value, bool | int | float):
        return Piecewise.constant(_rounded_scalar(call, value, like))
    other = call.find(value)
    if other is not None:
        _open_ended(call, other)
        call.refuse_if(
            not signal.same_position(other),
            "It combines two different layers: only their sum or difference can be read.",
        )
        return other.function
    array = call.numpy(value)
    if array.ndim == 0 and array.dtype == np.float64:  # a tensor without axes is treated as a number
        return Piecewise.constant(_rounded_scalar(call, float(array), like))
    if array.size and (array == array.flat[0]).all():
        return Piecewise.constant(exact(array.flat[0]))
    full = (
        np.broadcast_to(array, (len(signal.node.values), *signal.shape))
        if array.ndim <= len(signal.shape) + 1
        else None
    )
    if full is None or (full != full[:1]).any():
        raise call.refused(
            "It uses a constant that is not the same for all samples, or values changed out of sight."
        )
    return np.asarray(full[0])


def _pair(call: Call) -> tuple[Signal, str, str]:
    """Return the argument that depends on the input, its name, and the name of the other one."""
    for name, other in (("self", "other"), ("other", "self"), ("input", "other")):
        signal = call.find(call.args.get(name)) if name in call.args else None
        if signal is not None:
            return signal, name, other
    raise call.refused()


def _arithmetic(call: Call) -> Signal:
    signal, name, other = _pair(call)
    _open_ended(call, signal)
    second = call.find(call.args[other])
    if second is not None and not signal.same_position(second) and call.name in ("add", "sub"):
        return _joined(call)
    operand = _operand(call, other, call.args[name], signal)
    alpha = _rounded_scalar(call, call.args.get("alpha", 1), call.args[name])
    call.refuse_if(
        call.args.get("rounding_mode") is not None,
        "It rounds: activations of more than one bit are not binarized.",
    )
    swapped = name == "other"
    if isinstance(operand, Piecewise):
        return replace(signal, function=_combined(call, signal.function, operand, swapped, alpha))
    return _vector(call, signal.settled(call.actual(name), call.where), operand, swapped, alpha)


def _joined(call: Call) -> Signal:
    """Read the sum or difference of two branches."""
    left, right = (_open_ended(call, call.signal(name)) for name in ("self", "other"))
    call.refuse_if(
        _rounded_scalar(call, call.args.get("alpha", 1), call.args["self"]) != 1 or left.shape != right.shape,
        "It adds two branches of other shapes, or one of them times a number.",
    )
    first, second = (
        signal.settled(call.actual(name), call.where) for signal, name in ((left, "self"), (right, "other"))
    )
    return joined(call.where, first, second, 1 if call.name == "add" else -1, call.result)


def _combined(call: Call, f: Piecewise, g: Piecewise, swapped: bool, alpha: Fraction) -> Piecewise:
    a, b = (g, f) if swapped else (f, g)
    match call.name:
        case "add" | "sub":
            return a.added(b.times(alpha if call.name == "add" else -alpha))
        case "rsub":
            return b.minus(a.times(alpha))
        case "mul":
            return a.multiplied(b)
        case "div":
            call.refuse_if(
                b.breaks or any(b.lines[0][:-1]) or not b.lines[0][-1],
                "It divides by zero or by something that depends on the input.",
            )
            return a.times(1 / b.lines[0][-1])
        case "maximum":
            return a.minus(b).choose(0, b, b, a)
    assert call.name == "minimum"
    return a.minus(b).choose(0, a, a, b)


def _vector(call: Call, signal: Signal, row: Array, swapped: bool, alpha: Fraction) -> Signal:
    """Read constants that differ between channels or features."""
    if signal.order.ndim in (2, 3) and len(signal.node.shape) == 1 and signal.node.op is None:
        signal = signal.channels(call.where)
    elif signal.order.ndim == 1:
        signal = signal.flat(call.where)
    values = signal.along_channels(row, call.where)
    scale, shift = np.ones(1), np.zeros(1)
    match call.name:
        case "add" if alpha == 1:
            shift = values
        case "sub" | "rsub" if alpha == 1:
            scale, shift = (-scale, values) if swapped == (call.name == "sub") else (scale, -values)
        case "mul":
            scale = values
        case "div" if not swapped and values.all():
            scale = np.array([1 / exact(value) for value in values], dtype=object)
        case _:
            raise call.refused("Only +, -, * and / by constants can stand between a layer and its sign.")
    return signal.rescaled(Affine(call.where, scale, shift), call.result)


def _compared(call: Call) -> Signal:
    signal, name, other = _pair(call)
    operand = _operand(call, other, call.args[name], signal)
    if signal.odd and operand == Piecewise.constant(0):
        signal = replace(signal, tail=(), odd=False)
    _open_ended(call, signal)
    if not isinstance(operand, Piecewise):  # one threshold per channel: x >= t is x - t >= 0
        shift = replace(call, name="sub", out=call.actual(name) - operand)
        signal = _vector(
            shift, signal.settled(call.actual(name), call.where), operand, swapped=False, alpha=Fraction(1)
        )
        difference = signal.function
    else:
        difference = signal.function.minus(operand)
    difference = difference.times(-1) if name == "other" else difference
    function = {
        "ge": lambda d: d.at_least(0),
        "gt": lambda d: d.above(0),
        "le": lambda d: d.above(0).negated(),
        "lt": lambda d: d.at_least(0).negated(),
        "eq": lambda d: d.equal_to(0),
        "ne": lambda d: d.equal_to(0).negated(),
    }[call.name](difference)
    return replace(signal, function=function)


def _index_put(call: Call) -> Signal:
    indices = call.args["indices"]
    mask = call.find(indices[0]) if len(indices) == 1 else None
    if mask is None or call.args.get("accumulate"):
        raise call.refused("Only x[mask] = number with a mask such as x >= 0 can be.")
    return _selected(call, mask, "values", "self")


def _selected(call: Call, mask: Signal, yes: str, no: str) -> Signal:
    _open_ended(call, mask)
    parts = [_operand(call, name, call.out, mask) for name in (yes, no)]
    call.refuse_if(
        not all(isinstance(part, Piecewise) for part in parts),
        "Its two values must be the same for all neurons.",
    )
    return replace(mask, function=mask.function.select(parts[0], parts[1]))  # type: ignore[arg-type]


def _cast(call: Call) -> Signal:
    signal = call.signal()
    into, from_ = call.numpy(call.out).dtype, call.numpy(call.args.get("self", call.args.get("src"))).dtype
    if into.kind == "b" and from_.kind != "b":
        return replace(_open_ended(call, signal), function=signal.function.equal_to(0).negated())
    call.refuse_if(
        call.narrowed,
        "It rounds to floats of 16 bits on the way: leave them out, or make the whole module of them.",
    )
    steps = signal.function.is_steps and all(level.denominator == 1 for level in signal.function.levels)
    call.refuse_if(
        into.kind in "iu" and from_.kind == "f" and not steps, "It rounds real numbers to whole ones."
    )
    return signal


def _clamped(call: Call, f: Piecewise) -> Piecewise:
    ends = []
    for name, otherwise in (("min", -inf), ("max", inf)):
        value = call.args.get(name, call.args.get(f"{name}_val"))
        if value is not None and not isinstance(value, bool | int | float):
            array = call.numpy(value)
            call.refuse_if(
                call.find(value) is not None or array.size == 0 or (array != array.flat[0]).any(),
                "Its bounds must be one number for all.",
            )
            value = array.flat[0].item()
        inexact = isinstance(value, float) and np.isfinite(value)
        ends.append(
            otherwise
            if value is None
            else float(_rounded_scalar(call, value, call.args["self"]))
            if inexact
            else value
        )
    return f.clipped(*ends)


def _not(call: Call, f: Piecewise) -> Piecewise:
    call.refuse_if(
        call.name == "bitwise_not" and call.numpy(call.out).dtype.kind != "b",
        "It flips the bits of integers.",
    )
    return f.equal_to(0)


def _fake_quantized(call: Call, f: Piecewise) -> Piecewise:
    """Read rounding to integer multiples of a scale from a zero point, between two codes."""
    if "fake_quant_enabled" in call.args and not bool(np.all(call.numpy(call.args["fake_quant_enabled"]))):
        return f
    scale, zero = (
        exact(np.asarray(call.numpy(call.args[name])).reshape(-1)[0].item())
        for name in ("scale", "zero_point")
    )
    if isinstance(call.args["scale"], float):
        scale = exact(float(np.float32(call.args["scale"])))
    low, high = (int(call.args[name]) for name in ("quant_min", "quant_max"))
    codes = f.times(1 / scale).rounded("round").plus(zero).clipped(low, high)
    return codes.plus(-zero).times(scale)


def _rounded(call: Call, f: Piecewise) -> Piecewise:
    call.refuse_if(
        call.args.get("decimals"), "It rounds to decimals. Multiply, round to integers and divide."
    )
    return f.rounded("round")


def _power(call: Call, f: Piecewise) -> Piecewise:
    exponent = call.args["exponent"]
    call.refuse_if(exponent not in (1, 2, 3, 4), "Its exponent must be 1, 2, 3 or 4.")
    power = f
    for _ in range(int(exponent) - 1):
        power = power.multiplied(f)
    return power


def _leaky(call: Call) -> Signal:
    """Read leaky ReLU, and PReLU with one slope or one per channel."""
    slope = call.args["negative_slope"] if call.name == "leaky_relu" else call.array("weight")
    if np.size(slope) == 1:
        value = np.asarray(slope).reshape(-1)[0].item()
        exactly = (
            _rounded_scalar(call, value, call.args["self"]) if call.name == "leaky_relu" else exact(value)
        )
        return _pointwise(lambda _, f: f.choose(0, f.times(exactly), Piecewise.constant(0), f))(call)
    signal = _open_ended(call, call.settled()).channels(call.where)
    full = np.broadcast_to(slope, (len(call.result), *signal.shape))[0]
    return signal.rescaled(Leaky(call.where, signal.along_channels(full, call.where)), call.result)


def _heaviside(call: Call, f: Piecewise) -> Piecewise:
    at = _operand(call, "values", call.args["self"], call.signal())
    if not isinstance(at, Piecewise):
        raise call.refused("Its value at 0 must be one number for all.")
    return f.choose(0, Piecewise.constant(0), at, Piecewise.constant(1))


ON_ROWS = frozenset(
    ("view", "_unsafe_view", "reshape", "mm", "addmm", "linear", "detach", "alias", "clone", "t")
)
"""Operations that can follow a merge of the batch with the first axis of the samples."""
_VIEWS = ("view", "_unsafe_view", "reshape")


def _reshaped(
    change: Callable[[Call, Indices], Indices],
) -> Callable[[Call], Signal]:
    """Apply the same change to the indices of the positions; the batch axis must stay first."""

    def rule(call: Call) -> Signal:
        signal = call.signal()
        batch, shape = len(signal.node.values), tuple(call.out.shape)
        if call.name in _VIEWS and (signal.rows or shape[:1] != (batch,)) and shape[0] % batch == 0:
            rows = shape[0] // batch  # a linear layer along the last axis sees rows as samples
            order = signal.order.reshape(rows, *shape[1:]) if rows > 1 else signal.order.reshape(shape[1:])
            return replace(signal, order=order, rows=rows if rows > 1 else 0)
        call.refuse_if(
            shape[:1] != (batch,),
            f"It moves or joins the axis of the samples (shape {shape} for {batch} samples).",
        )
        indices = change(call, np.broadcast_to(signal.order, (batch, *signal.shape)))
        return replace(signal, order=np.array(indices.reshape(shape)[0]))

    return rule


def _permuted(call: Call, indices: Indices) -> Indices:
    match call.name:
        case "permute":
            axes = [axis % indices.ndim for axis in call.args["dims"]]
        case "transpose":
            axes = list(range(indices.ndim))
            first, second = call.args["dim0"] % indices.ndim, call.args["dim1"] % indices.ndim
            axes[first], axes[second] = axes[second], axes[first]
        case _:
            axes = list(reversed(range(indices.ndim)))
    call.refuse_if(axes[0] != 0, "It moves the axis of the samples.")
    return indices.transpose(axes)


def _sliced(call: Call, indices: Indices) -> Indices:
    axis = call.args["dim"] % indices.ndim
    where: list[Any] = [slice(None)] * indices.ndim
    where[axis] = (
        call.args["index"]
        if call.name == "select"
        else slice(call.args.get("start"), call.args.get("end"), call.args.get("step", 1))
    )
    call.refuse_if(
        axis == 0 and indices[tuple(where)].shape != indices.shape, "It picks samples of the batch."
    )
    return np.asarray(indices[tuple(where)])


def _concatenated(call: Call) -> Signal:
    """Join signals along an axis."""
    tensors = [tensor for tensor in call.args["tensors"] if np.size(call.numpy(tensor))]
    parts = [call.followed(tensor, "part") for tensor in tensors]
    parts = [
        _open_ended(call, part).settled(call.numpy(tensor).astype(np.float64), call.where)
        for part, tensor in zip(parts, tensors, strict=True)
    ]
    axis = call.args["dim"] % call.out.ndim
    call.refuse_if(axis == 0, "It joins samples of the batch.")
    return concatenated(call.where, parts, axis - 1, call.result)


# -- layers --------------------------------------------------------------------------------------------------


def _addmm(call: Call) -> Signal:
    call.refuse_if(
        call.find(call.args["self"]) is not None
        or (call.args.get("beta", 1), call.args.get("alpha", 1))
        != (
            1,
            1,
        ),
        "It adds a value that depends on the input, or with a factor.",
    )
    weights, bias = call.array("mat2"), call.array("self")
    call.refuse_if(
        bias.size != weights.shape[1], f"Its bias has shape {bias.shape} for {weights.shape[1]} neurons."
    )
    return _open_ended(call, call.settled("mat1")).linear(
        call.where, weights.T, bias.reshape(-1), call.result
    )


def _linear(call: Call) -> Signal:
    weights = call.array("mat2").T if call.name == "mm" else call.array("weight")
    return _open_ended(call, call.settled()).linear(call.where, weights, call.constant("bias"), call.result)


def _maps(call: Call) -> Signal:
    return _open_ended(call, call.settled()).maps(call.where)


def _two(values: Sequence[int] | int, otherwise: int = 1) -> tuple[int, int]:
    """Return numbers for height and width; in one dimension, the one for the width."""
    row = [int(value) for value in values] if isinstance(values, Sequence) else [int(values)] * 2
    return (row[0], row[1]) if len(row) == 2 else (otherwise, row[0])


def _convolution(call: Call) -> Signal:
    kernel = call.array("weight")
    call.refuse_if(kernel.ndim not in (3, 4), "Only convolutions in one or two dimensions can be.")
    if call.args.get("transposed"):
        return _transposed(call, kernel if kernel.ndim == 4 else kernel[:, :, None, :])
    weights = kernel if kernel.ndim == 4 else kernel[:, :, None, :]
    high, wide = _two(call.args["padding"], 0)
    op = Convolution(
        call.where,
        weights,
        call.constant("bias"),
        _two(call.args["stride"]),
        _two(call.args["dilation"]),
        (high, wide, high, wide),
        int(call.args["groups"]),
    )
    return _grown(call, _maps(call), op)


def _transposed(call: Call, kernel: Array) -> Signal:
    """Read a transposed convolution as a dense layer between maps."""
    signal, groups = _maps(call), int(call.args["groups"])
    maps = _as_maps(call.result.shape[1:])
    rows = _dense(call, maps, signal.node.shape, kernel.dtype)
    stride, pads, spread = (
        _two(call.args[name], one) for name, one in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    (into, out), (_, high, wide) = (len(kernel) // groups, kernel.shape[1]), maps
    for y, x, ky, kx in np.ndindex(*signal.node.shape[1:], *kernel.shape[2:]):
        row, column = (at * s - p + k * d for at, s, p, k, d in zip((y, x), stride, pads, (ky, kx), spread))  # noqa: B905
        if 0 <= row < high and 0 <= column < wide:
            for g in range(groups):
                block = kernel[g * into : (g + 1) * into, :, ky, kx].T
                rows[g * out : (g + 1) * out, row, column, g * into : (g + 1) * into, y, x] += block
    bias = call.constant("bias")
    each = None if bias is None else np.repeat(bias, high * wide)
    return _grown(call, signal, LinearOp(call.where, rows.reshape(prod(maps), -1), each, maps))


def _as_maps(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return a shape of maps; one dimension counts as height 1."""
    return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (shape[0], 1, shape[1])


def _dense(call: Call, maps: tuple[int, ...], shape: tuple[int, ...], dtype: Any) -> Array:
    """Return zero weights of a dense layer between maps."""
    size = prod(maps) * prod(shape)
    call.refuse_if(size > _MOST, f"As a dense layer it has {size:,} weights, more than {_MOST:,}.")
    return np.zeros((*maps, *shape), dtype)


def _grown(call: Call, signal: Signal, op: Op) -> Signal:
    return natural(signal.node.then(op, call.result), call.result.shape[1:])


def _batch_norm(call: Call) -> Signal:
    mean, var = call.constant("running_mean"), call.constant("running_var")
    call.refuse_if(
        mean is None or var is None or call.args.get("training") or call.args.get("train"),
        "It uses the statistics of the batch: call module.eval() first."
        if mean is not None
        else "It was made with track_running_stats=False and has no fixed statistics: train it with them.",
    )
    gamma, beta = call.constant("weight"), call.constant("bias")
    eps = float(call.args["eps"] if "eps" in call.args else call.args["epsilon"])
    signal = _open_ended(call, call.settled()).channels(call.where)
    if len(signal.node.shape) == 1:
        mean, var, gamma, beta = (
            None if v is None else signal.along_channels(v, call.where) for v in (mean, var, gamma, beta)
        )
    assert mean is not None
    gamma = np.ones_like(mean) if gamma is None else gamma
    beta = np.zeros_like(mean) if beta is None else beta
    return signal.rescaled(BatchNorm(call.where, gamma, beta, mean, np.asarray(var), eps), call.result)


def _window(
    call: Call, signal: Signal
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Return kernel, stride, dilation and pads; ceil mode is seen from the size of the result."""
    kernel = _two(call.args["kernel_size"])
    stride = _two(call.args.get("stride") or call.args["kernel_size"])
    dilation = _two(call.args.get("dilation", 1))
    high, wide = _two(call.args.get("padding", 0), 0)
    sizes, ends = signal.node.shape[1:], []
    for axis, pad in ((0, high), (1, wide)):
        reach = (call.result.shape[-2:][axis] - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        ends.append(max(reach - sizes[axis] - pad, pad if not call.args.get("ceil_mode") else 0))
    return kernel, stride, dilation, (high, wide, ends[0], ends[1])


def _max_pool(call: Call) -> Signal:
    signal = _maps(call)
    kernel, stride, dilation, pads = _window(call, signal)
    return _grown(call, signal, MaxPool(call.where, kernel, stride, pads, dilation))


def _average_pool(call: Call) -> Signal:
    signal = _maps(call)
    kernel, stride, _, pads = _window(call, signal)
    high, wide = _two(call.args.get("padding", 0), 0)
    divisor = call.args.get("divisor_override")
    if divisor is not None:  # the sum of each window, regardless of padding, divided by one number
        node = signal.node.then(AveragePool(call.where, kernel, stride, pads, count_pads=True))
        share = numbers([Fraction(prod(kernel), int(divisor))])
        return natural(node.then(Affine(call.where, share, np.zeros(1)), call.result), call.result.shape[1:])
    counts = bool(call.args.get("count_include_pad", True)) and (high, wide) != (0, 0)
    beyond = (max(pads[2] - high, 0), max(pads[3] - wide, 0)) if counts else (0, 0)
    return _grown(call, signal, AveragePool(call.where, kernel, stride, pads, counts, beyond))


def _adaptive(call: Call) -> Signal:
    signal = _maps(call)
    sizes, wanted = signal.node.shape[1:], _two(call.args["output_size"])
    is_max = call.name == "adaptive_max_pool2d"
    if any(size % out for size, out in zip(sizes, wanted, strict=True)):
        return _uneven_max(call, signal, wanted) if is_max else _uneven_average(call, signal, wanted)
    kernel = sizes[0] // wanted[0], sizes[1] // wanted[1]
    return _grown(call, signal, (MaxPool if is_max else AveragePool)(call.where, kernel, kernel))


def _bounds(size: int, count: int) -> list[tuple[int, int]]:
    """Return the first pixel of each window along one axis, and the one after its last."""
    return [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]


def _uneven_average(call: Call, signal: Signal, wanted: tuple[int, int]) -> Signal:
    channels, *sizes = signal.node.shape
    rows = _dense(call, (channels, *wanted), signal.node.shape, object)
    rows[...] = Fraction(0)
    windows = product(*(enumerate(_bounds(*pair)) for pair in zip(sizes, wanted, strict=True)))
    for (y, (top, bottom)), (x, (left, right)) in windows:
        share = Fraction(1, (bottom - top) * (right - left))
        for c in range(channels):
            rows[c, y, x, c, top:bottom, left:right] = share
    maps = (channels, *wanted)
    return _grown(call, signal, LinearOp(call.where, rows.reshape(prod(maps), -1), None, maps))


def _uneven_max(call: Call, signal: Signal, wanted: tuple[int, int]) -> Signal:
    """Read windows of different sizes as windows of one size, in which the last pixel is repeated."""
    channels, *sizes = signal.node.shape
    sign = signal.node.op
    if not isinstance(sign, Sign):
        raise call.refused(
            f"Its windows differ in size: {wanted} from {tuple(sizes)}. Put a sign before it, or use a size "
            "that divides."
        )
    picked, kernel = [], []
    for size, count in zip(sizes, wanted, strict=True):
        bounds = _bounds(size, count)
        kernel.append(max(end - start for start, end in bounds))
        picked.append([min(start + k, end - 1) for start, end in bounds for k in range(kernel[-1])])
    maps = (channels, len(picked[0]), len(picked[1]))
    rows = _dense(call, maps, signal.node.shape, np.int8)
    for (y, top), (x, left) in product(*map(enumerate, picked)):
        rows[range(channels), y, x, range(channels), top, left] = 1
    node = signal.node.then(LinearOp(call.where, rows.reshape(prod(maps), -1), None, maps))
    node = node.then(replace(sign, where=call.where))  # copies of signs are signs
    window = kernel[0], kernel[1]
    return natural(node.then(MaxPool(call.where, window, window), call.result), call.result.shape[1:])


def _reduced(call: Call) -> Signal:
    """Read the mean, sum or maximum of whole maps."""
    operand = call.signal()
    axes = call.args.get("dim")
    rank = len(operand.shape) + 1
    named = (
        {axis % rank for axis in (axes if isinstance(axes, Sequence) else [axes])}
        if axes is not None and axes != []
        else set()
    )
    call.refuse_if(
        named != set(range(2, rank)) or rank not in (3, 4),
        "Only the mean, sum or maximum over whole maps can be.",
    )
    signal = _maps(call)
    if call.name == "amax":
        kernel = signal.node.shape[1], signal.node.shape[2]
        return _grown(call, signal, MaxPool(call.where, kernel, (1, 1)))
    if call.name == "mean":
        return _grown(call, signal, AveragePool(call.where))
    node = signal.node.then(AveragePool(call.where))
    size = np.array([float(prod(signal.node.shape[1:]))])
    return natural(node.then(Affine(call.where, size, np.zeros(1)), call.result), call.result.shape[1:])


def _pad(call: Call) -> Signal:
    sides = [int(side) for side in call.args["pad"]]
    signal = _maps(call)
    wide = sides[:4] if signal.order.ndim == 3 else [*sides[:2], 0, 0]
    left, right, top, bottom = [*wide, 0, 0, 0, 0][:4]
    call.refuse_if(
        min(sides, default=0) < 0 or any(sides[2 * (signal.order.ndim - 1) :]),
        "Only padding around maps can be, and no cropping.",
    )
    value = _rounded_scalar(call, float(call.args.get("value") or 0.0), call.args["self"])
    return _grown(call, signal, Pad(call.where, (top, left, bottom, right), float(value)))


# -- tails ---------------------------------------------------------------------------------------------------


def _tail(call: Call) -> Signal:
    signal = call.signal()
    call.refuse_if(
        call.name in ("argmax", "max") and call.args.get("dim") is None,
        "It takes the largest of the whole batch: say dim=1.",
    )
    call.refuse_if(
        call.name == "topk" and call.args.get("largest", True) is False,
        "It takes the smallest scores: largest=False turns the order of classes around.",
    )
    axis = call.args.get("dim", -1)
    call.refuse_if(
        call.name not in ("sigmoid", "tanh", "log_sigmoid_forward", "log", "exp")
        and (axis is None or axis % (len(signal.shape) + 1) != 1),
        "At the end of a network it can be along the classes, dim=1.",
    )
    if not signal.tail:
        signal = signal.settled(call.actual(), call.where)
    odd = call.name == "tanh" and not signal.tail
    return replace(signal, tail=(*signal.tail, f"{call.name.strip('_')} at {call.where}"), odd=odd)


OPERATIONS: dict[str, Callable[[Call], Signal]] = {
    **dict.fromkeys(("add", "sub", "rsub", "mul", "div", "maximum", "minimum"), _arithmetic),
    **dict.fromkeys(_COMPARISONS, _compared),
    **dict.fromkeys(("logical_not", "bitwise_not"), _pointwise(_not)),
    **dict.fromkeys(("sign", "sgn"), _pointwise(lambda _, f: f.sign())),
    **dict.fromkeys(("clamp", "hardtanh", "clamp_min", "clamp_max"), _pointwise(_clamped)),
    "relu": _pointwise(lambda _, f: f.clipped(0.0, inf)),
    "relu6": _pointwise(lambda _, f: f.clipped(0.0, 6.0)),
    "neg": _pointwise(lambda _, f: f.times(-1)),
    "abs": _pointwise(lambda _, f: f.choose(0, f.times(-1), Piecewise.constant(0), f)),
    "heaviside": _pointwise(_heaviside),
    "pow": _pointwise(_power),
    **dict.fromkeys(("leaky_relu", "_prelu_kernel"), _leaky),
    **dict.fromkeys(
        (
            "fake_quantize_per_tensor_affine_cachemask",
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        ),
        _pointwise(_fake_quantized),
    ),
    "round": _pointwise(_rounded),
    "floor": _pointwise(lambda _, f: f.rounded("floor")),
    "ceil": _pointwise(lambda _, f: f.rounded("ceil")),
    "where": lambda call: _selected(
        call, call.followed(call.args["condition"], "condition"), "self", "other"
    ),
    "masked_fill": lambda call: _selected(call, call.followed(call.args["mask"], "mask"), "value", "self"),
    "index_put": _index_put,
    **dict.fromkeys(
        ("_to_copy", "to", "clone", "alias", "detach", "lift_fresh", "contiguous", "positive"), _cast
    ),
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "flatten", "squeeze", "unsqueeze"),
        _reshaped(lambda _, indices: indices),
    ),
    **dict.fromkeys(("permute", "transpose", "t", "numpy_T"), _reshaped(_permuted)),
    **dict.fromkeys(("slice", "select"), _reshaped(_sliced)),
    "cat": _concatenated,
    "expand": _reshaped(lambda call, indices: np.broadcast_to(indices, tuple(call.out.shape))),
    **dict.fromkeys(("mm", "linear"), _linear),
    "addmm": _addmm,
    "convolution": _convolution,
    **dict.fromkeys(
        (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_no_training",
            "cudnn_batch_norm",
            "batch_norm",
        ),
        _batch_norm,
    ),
    "max_pool2d_with_indices": _max_pool,
    "max_pool2d": _max_pool,
    "avg_pool2d": _average_pool,
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_max_pool2d"), _adaptive),
    **dict.fromkeys(("mean", "sum", "amax"), _reduced),
    "constant_pad_nd": _pad,
    **dict.fromkeys(
        (
            "_softmax",
            "_log_softmax",
            "softmax",
            "log_softmax",
            "sigmoid",
            "tanh",
            "log_sigmoid_forward",
            "argmax",
            "topk",
            "max",
        ),
        _tail,
    ),
}
"""Operations by name in PyTorch's core; in-place forms without their underscore."""
