"""Read binarized TensorFlow Lite files, as Larq Compute Engine converts them, as a chain of operations.

Its own operators keep signs as bits: bit 1 is -1. A binary convolution counts the bits in which window and
filter differ. All numbers are taken exactly as they are in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TypeAlias

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Picks,
    Sign,
    check_maps,
    forked,
)
from sugenet.io.plain.refusals import refuse_if, required, within
from sugenet.io.tflite.file import (
    ACTIVATIONS,
    FileTensor,
    Operator,
    Options,
    TfliteFile,
    kernel_of,
    padding_of,
    picks_class,
    window_of,
)
from sugenet.nn.arrays import Array

__all__ = ["chain_of_file"]

_BITS = 32
_CLIPS = {"RELU": (0.0, inf), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}


@dataclass(frozen=True, eq=False)
class _Trail:
    """A tensor: the operations that lead to it, and its shape without the batch."""

    ops: tuple[Op, ...]
    shape: tuple[int, ...]
    bits: bool = False
    """Whether it is packed, 32 channels in a number. The shape is the one that is packed."""

    def then(self, *ops: Op | None, shape: tuple[int, ...] | None = None, bits: bool = False) -> _Trail:
        """Return the tensor after more operations."""
        more = tuple(op for op in ops if op is not None)
        return _Trail((*self.ops, *more), self.shape if shape is None else shape, bits)


def chain_of_file(file: TfliteFile) -> OpChain:
    """Return the operations of a file.

    Raises
    ------
    FileError
        If something cannot be read exactly. The message names the operator.
    """
    with within(file.source):
        return _BinaryWalk(file).chain()


@dataclass
class _BinaryWalk:
    """One graph being read."""

    file: TfliteFile
    trails: dict[int, _Trail] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    picks: Picks = ""

    def chain(self) -> OpChain:
        file = self.file
        port, output = file.ends
        shape = port.shape[1:]
        refuse_if(
            port.kind != "float32" or port.shape[:1] != (1,) or len(shape) not in (1, 3) or not prod(shape),
            f"its input {port.key} is {port.kind} of shape {port.shape}, but one sample of float32 is read.",
        )
        self.trails[port.index] = _Trail((), shape)
        for operator in file.needed:
            with within(operator, NetworkError):
                self._take(operator)
        trail = required(self.trails.get(output.index), "its output does not depend on its input.")
        ops = trail.ops if len(trail.shape) == 1 else (*trail.ops, Flatten("the output", "HWC"))
        maps = (shape[2], shape[0], shape[1]) if len(shape) == 3 else shape
        return OpChain(file.source, maps, ops, len(shape) == 3, tuple(self.left_out), self.picks)

    def _take(self, operator: Operator) -> None:
        rule = required(_RULES.get(operator.name), "it is not supported in binarized files.")
        refuse_if(
            bool(self.left_out) and operator.name not in ("RESHAPE", "SQUEEZE"),
            f"it comes after {self.left_out[-1] if self.left_out else ''}, which must be the end.",
        )
        options, out = Options(operator), operator.output
        made = rule(self, operator, options)
        options.check()
        packed = (*made.shape[:-1], -(-made.shape[-1] // _BITS)) if made.bits else made.shape
        refuse_if(
            not self.picks and out.shape != (1, *packed),
            f"its output has shape {out.shape} in the file, but {(1, *packed)} is computed.",
        )
        self.trails[out.index] = made

    def source(self, operator: Operator, *, bits: bool | None = False) -> _Trail:
        """Return the first input."""
        tensor = operator.input(0)
        trail = required(self.trails.get(tensor.index), f"its input {tensor.key} is a constant.")
        refuse_if(
            bits is not None and trail.bits != bits,
            f"its input {tensor.key} is {'' if trail.bits else 'not '}packed in bits.",
        )
        return trail

    def image(self, operator: Operator, *, bits: bool = False) -> _Trail:
        """Return the first input, which must be images."""
        trail = self.source(operator, bits=bits)
        refuse_if(len(trail.shape) != 3, f"its input has shape {operator.input(0).shape}, not images.")
        return trail


def _floats(tensor: FileTensor) -> Array:
    refuse_if(tensor.kind != "float32", f"{tensor.key} is {tensor.kind}, but float32 is needed.")
    return tensor.constant


def _row(tensor: FileTensor, channels: int) -> Array:
    """Return one number per channel."""
    array = _floats(tensor)
    refuse_if(
        array.size not in (1, channels) or array.shape[-1:] not in ((), (array.size,)),
        f"{tensor.key} has shape {array.shape}, but one number for all or for each of {channels} channels "
        "is needed.",
    )
    return array.reshape(-1)


def _clip(operator: Operator, name: str) -> Op | None:
    refuse_if(name not in ("NONE", *_CLIPS), f"its fused activation is {name}, which is not supported.")
    return None if name == "NONE" else Clip(str(operator), *_CLIPS[name])


def _fused(operator: Operator, options: Options) -> Op | None:
    value = options.take("fused_activation_function")
    if value in (None, ""):
        return None
    return _clip(operator, options.choice("fused_activation_function", ACTIVATIONS))


# -- windows -------------------------------------------------------------------------------------------------


def _conv(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read CONV_2D and DEPTHWISE_CONV_2D of floats."""
    trail, kernel = walk.image(operator), _floats(operator.input(1))
    weights, groups = kernel_of(operator, options, kernel, trail.shape[2])
    slide = window_of(operator, options, trail.shape, weights.shape[2:])
    bias = None if operator.optional(2) is None else _row(operator.input(2), len(weights))
    made = Convolution(str(operator), weights, bias, slide.stride, slide.dilation, slide.pads, groups)
    return trail.then(made, _fused(operator, options), shape=(*slide.positions, len(weights)))


def _binary_conv(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read LceBconv2d: packed signs in; packed signs out, or floats."""
    trail, out = walk.image(operator, bits=True), operator.outputs[0]
    channels = trail.shape[2]
    stated = options.take("channels_in")
    refuse_if(stated != channels, f"its channels_in is {stated}, but its input has {channels} channels.")
    weights, groups = _unpacked(operator.input(1), channels)
    slide = window_of(operator, options, trail.shape, weights.shape[2:])
    fill = options.take("pad_values") or 0
    refuse_if(fill not in (0, 1), f"its pad_values is {fill}, but 0 or 1 is read.")
    pad, pads, where = None, slide.pads, str(operator)
    if fill and any(pads):
        pad, pads = Pad(where, pads, 1.0), (0, 0, 0, 0)
    conv = Convolution(where, weights, None, slide.stride, slide.dilation, pads, groups)
    shape = (*slide.positions, len(weights))
    clip = _fused(operator, options)
    refuse_if(
        (clip is not None or out.kind == "int32") and any(pads),
        "its padding is 0, which goes with float outputs without an activation only.",
    )
    if out.kind == "int32":  # the thresholds contain the activation
        tensor = operator.input(4)
        refuse_if(
            tensor.kind != "int32" or tensor.constant.shape != (len(weights),),
            f"its thresholds have shape {tensor.shape} of {tensor.kind}, for {len(weights)} channels.",
        )
        # The bit is 1, for -1, if more than t products are -1: if the sum is below size - 2 t.
        size = prod(weights.shape[1:])
        shift = 2.0 * tensor.constant.astype(np.float64) - size
        return trail.then(pad, conv, Affine(where, np.ones(1), shift), Sign(where), shape=shape, bits=True)
    refuse_if(out.kind != "float32", f"its outputs are {out.kind}, but float32 or packed signs are read.")
    scale, shift = (_row(operator.input(k), len(weights)) for k in (2, 3))
    return trail.then(pad, conv, clip, Affine(where, scale, shift), shape=shape)


def _unpacked(tensor: FileTensor, channels: int) -> tuple[Array, int]:
    """Return a packed filter as signs (out, in / groups, height, width), and the number of groups."""
    packed = tensor.constant
    refuse_if(
        tensor.kind != "int32" or packed.ndim != 4,
        f"its filter is {tensor.kind} of shape {tensor.shape}, but packed signs are needed.",
    )
    words = -(-channels // _BITS)
    groups = words // max(packed.shape[3], 1)
    inside = channels // max(groups, 1)
    refuse_if(
        not groups
        or packed.shape[3] * groups != words
        or len(packed) % groups
        or (groups > 1 and (channels % groups or inside % _BITS)),
        f"its filter has shape {tensor.shape} for {channels} channels.",
    )
    raw = np.ascontiguousarray(packed).astype("<i4").view(np.uint8)
    bits = np.unpackbits(raw.reshape(*packed.shape[:3], -1), axis=3, bitorder="little")
    refuse_if(bits[..., inside:].any(), "its filter has bits beyond its channels.")
    return 1.0 - 2.0 * bits[..., :inside].transpose(0, 3, 1, 2), groups


def _pool(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read MAX_POOL_2D, AVERAGE_POOL_2D and LceBMaxPool2d."""
    packed = operator.name == "LceBMaxPool2d"
    trail = walk.image(operator, bits=packed)
    kernel = options.take("filter_height"), options.take("filter_width")
    slide = window_of(operator, options, trail.shape, kernel)
    shape = (*slide.positions, trail.shape[2])
    kind = AveragePool if operator.name == "AVERAGE_POOL_2D" else MaxPool
    pool = kind(str(operator), kernel, slide.stride, slide.pads)
    return trail.then(pool, _fused(operator, options), shape=shape, bits=packed)


def _mean(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read MEAN over height and width."""
    trail, where = walk.image(operator), str(operator)
    axes = sorted(axis % 4 for axis in operator.input(1).constant.reshape(-1).tolist())
    refuse_if(axes != [1, 2], f"it averages axes {axes}, but only height and width are supported.")
    channels = trail.shape[2]
    if options.take("keep_dims"):
        return trail.then(AveragePool(where), shape=(1, 1, channels))
    return trail.then(AveragePool(where), Flatten(where, "HWC"), shape=(channels,))


# -- the rest ------------------------------------------------------------------------------------------------


def _quantize(walk: _BinaryWalk, operator: Operator, _options: Options) -> _Trail:
    """Read LceQuantize: the sign of each value, +1 at 0."""
    return walk.source(operator).then(Sign(str(operator)), bits=True)


def _dequantize(walk: _BinaryWalk, operator: Operator, _options: Options) -> _Trail:
    """Read LceDequantize: -1 and +1."""
    refuse_if(
        operator.outputs[0].kind != "float32", f"its output is {operator.outputs[0].kind}, not float32."
    )
    return walk.source(operator, bits=True).then()


def _dense(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read FULLY_CONNECTED of floats."""
    trail, weights, where = walk.source(operator), _floats(operator.input(1)), str(operator)
    options.take("keep_num_dims")
    refuse_if(
        weights.ndim != 2 or weights.shape[1] != prod(trail.shape),
        f"its weights have shape {weights.shape} for {prod(trail.shape)} inputs.",
    )
    flat = Flatten(where, "HWC") if len(trail.shape) == 3 else None
    bias = (
        None
        if operator.optional(2) is None
        else np.resize(_row(operator.input(2), len(weights)), len(weights))
    )
    return trail.then(
        flat, LinearOp(where, weights, bias), _fused(operator, options), shape=weights.shape[:1]
    )


def _arithmetic(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read ADD, SUB and MUL: with a constant per channel, or the sum of two branches."""
    one, other, where = operator.input(0), operator.input(1), str(operator)
    options.take("pot_scale_int16")
    if one.data is not None and operator.name != "SUB":
        one, other = other, one
    trail = walk.trails.get(one.index)
    if trail is None or trail.bits:
        raise FileError("its first input is a constant, or packed in bits.")
    if other.data is not None:
        row = _row(other, trail.shape[-1])
        ones, zeros = np.ones(1), np.zeros(1)
        scale = row if operator.name == "MUL" else ones
        shift = {"MUL": zeros, "ADD": row, "SUB": -row}[operator.name]
        return trail.then(Affine(where, scale, shift), _fused(operator, options))
    second = walk.trails.get(other.index)
    refuse_if(operator.name != "ADD", "it combines two branches. Only their sum is read.")
    if second is None or second.bits or second.shape != trail.shape:
        raise FileError(f"it adds tensors of shapes {one.shape} and {other.shape}.")
    refuse_if(trail.ops == second.ops, "it adds a tensor to itself.")
    return replace(trail, ops=forked(where, trail.ops, second.ops)).then(_fused(operator, options))


def _relu(walk: _BinaryWalk, operator: Operator, _options: Options) -> _Trail:
    """Read RELU, RELU6 and RELU_N1_TO_1."""
    return walk.source(operator).then(_clip(operator, operator.name))


def _pad(walk: _BinaryWalk, operator: Operator, _options: Options) -> _Trail:
    """Read PAD with zeros."""
    trail = walk.image(operator)
    top, left, bottom, right = padding_of(operator)
    height, width, channels = trail.shape
    shape = (height + top + bottom, width + left + right, channels)
    check_maps(str(operator), shape)
    return trail.then(Pad(str(operator), (top, left, bottom, right)), shape=shape)


def _reshape(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read RESHAPE and SQUEEZE that flatten images, or change nothing."""
    trail, out = walk.source(operator, bits=None), operator.outputs[0]
    options.take("new_shape"), options.take("squeeze_dims")
    new = operator.optional(1)
    refuse_if(new is not None and new.data is None, "its new shape depends on the input.")
    shape = out.shape[1:]
    refuse_if(
        out.shape[:1] != (1,) or prod(shape) != prod(operator.input(0).shape), f"it reshapes to {out.shape}."
    )
    if shape == trail.shape or walk.picks:
        return trail
    refuse_if(
        trail.bits or len(trail.shape) != 3 or len(shape) != 1,
        f"it reshapes {operator.input(0).shape} to {out.shape}. Only images are flattened.",
    )
    return trail.then(Flatten(str(operator), "HWC"), shape=shape)


def _tail(walk: _BinaryWalk, operator: Operator, options: Options) -> _Trail:
    """Read SOFTMAX, LOG_SOFTMAX, LOGISTIC and ARG_MAX at the end."""
    trail = walk.source(operator)
    if picks_class(operator, options, trail.shape):
        walk.picks = "class"
    walk.left_out.append(str(operator))
    return trail.then()


_Rule: TypeAlias = Callable[[_BinaryWalk, Operator, Options], _Trail]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("ADD", "MUL", "SUB"), _arithmetic),
    **dict.fromkeys(("ARG_MAX", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX"), _tail),
    **dict.fromkeys(("AVERAGE_POOL_2D", "LceBMaxPool2d", "MAX_POOL_2D"), _pool),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _conv),
    **dict.fromkeys(("RELU", "RELU6", "RELU_N1_TO_1"), _relu),
    **dict.fromkeys(("RESHAPE", "SQUEEZE"), _reshape),
    "FULLY_CONNECTED": _dense,
    "LceBconv2d": _binary_conv,
    "LceDequantize": _dequantize,
    "LceQuantize": _quantize,
    "MEAN": _mean,
    "PAD": _pad,
}
