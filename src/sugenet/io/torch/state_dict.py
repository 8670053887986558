"""Read state dicts as chains: parameters from a file, their order and use from an `Architecture`.

Every size is checked against the next. A state dict does not contain the order, pads, signs or bit widths. If
its names do not imply them, they must be given. Unused parameters are refused by name.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf, prod
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Clip,
    Convolution,
    Flatten,
    Leaky,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
    check_maps,
    numbers,
    rounded,
)
from sugenet.io.plain.refusals import Ledger, refuse_if, required, within
from sugenet.io.torch.architecture import Architecture, Layout, Part, known_layout, recognized_chain
from sugenet.io.torch.saved import Arrays, arrays_of_state, read_checkpoint
from sugenet.nn.arrays import Array

__all__ = ["chain_of_parts", "declared"]

_MAX_SIDE = 1 << 16
_ACTIVATION_SCALE = re.compile(r"act_quant.*\.(learned_value|value|learned_value_\w+)$")
"""A learned scale of activations, which one-bit quantizers do not have in the known layouts."""


def chain_of_parts(
    source: str, parameters: Arrays, parts: Architecture, shape: Sequence[int] | None = None
) -> OpChain:
    """Return the operations of an architecture over named parameters."""
    arrays = Ledger(parameters)
    with within(source):
        sizes = _declared_shape(shape) if shape is not None else _first_shape(parts, arrays)
        check_maps("a sample", sizes)
        ops: list[Op] = []
        seen = sizes
        for part in parts:
            if part.kind == "unused":
                arrays.pass_over(*_unused(part, arrays))
                continue
            op, seen = _op(part, arrays, seen)
            check_maps(str(part), seen, () if isinstance(op, list) else _window(op))
            ops += op if isinstance(op, list) else [op]
        _nothing_left(arrays)
    return OpChain(source, sizes, tuple(ops))


def declared(
    state: str | Path | Mapping[str, Any],
    architecture: str | Architecture | None = None,
    bits: int | Sequence[int] | None = None,
) -> tuple[Arrays, Architecture, str]:
    """Return the parameters of the file, and the architecture that was given or that their names imply.

    If it was not given, also return whose layout it is.
    """
    source = Path(state).name if isinstance(state, str | Path) else "state dict"
    arrays = read_checkpoint(state) if isinstance(state, str | Path) else arrays_of_state(state)
    widths = None if bits is None else _widths(bits, source)
    if architecture is not None:
        refuse_if(
            bits is not None,
            source,
            f"bits={bits} beside an architecture, which says it itself: weights=sign, "
            f"sign, quantize(bits=2). Leave bits= out.",
        )
        parsed = Architecture.parse(architecture) if isinstance(architecture, str) else architecture
        return arrays, parsed, ""
    layout = known_layout(arrays)
    if layout is None:
        _refuse_unsaid(source, arrays)
    with within(source):
        parts = _of_layout(layout, arrays, bits, widths)
    return arrays, parts, f"recognized by its names as {layout.program}'s; as an architecture: {parts}"


def _refuse_unsaid(source: str, arrays: Arrays) -> NoReturn:
    """Refuse a file whose names do not imply an architecture, and suggest one if possible."""
    refuse_if(
        any(name.endswith(".beta") and f"{name[:-5]}.threshold" in arrays for name in arrays),
        source,
        "it holds neurons of snnTorch, and does not say how they run. Give a convention: "
        "sugenet.spiking.from_snntorch, or sugenet convert with --steps and what it asks for then.",
    )
    start = (
        f"{source}: its parameters {', '.join(list(arrays)[:6])}... follow no known layout. "
        "Say what they are for"
    )
    chain = required(
        recognized_chain(arrays),
        f"{start}: architecture='linear:fc1(weights=sign) batchnorm:bn1 sign linear:fc2(weights=sign)'.",
    )
    raise FileError(f"{start}. {chain.told}")


def _of_layout(
    layout: Layout, arrays: Arrays, bits: Any, widths: tuple[int, int, int] | None
) -> Architecture:
    """Return the architecture of a known layout, with the given bits."""
    if not layout.tells_bits:
        scale = next((name for name in arrays if _ACTIVATION_SCALE.search(name)), None)
        unknown = "how many, nor " if widths is None or widths[1] == 1 else ""
        refuse_if(
            scale is not None,
            f"{scale!r} is a learned scale of activations, which 1-bit activations do not "
            f"have: they have more bits, and the file does not say {unknown}whether the scale or "
            "its logarithm is kept. Say it in an architecture: "
            f"quantize:{scale}(bits={2 if unknown or widths is None else widths[1]}, learned=log2).",
        )
        known = required(
            widths,
            f"{layout.program} wrote it, whose files do not say how many bits weights and "
            "activations have. If all of them have one, say bits=1; "
            "for 1-bit weights and 2-bit activations bits=(1, 2).",
        )
        return layout.of_bits(*known)
    refuse_if(
        widths not in (None, (1, 1, 1)), f"bits={bits}, but {layout.program} writes networks of one bit only."
    )
    return layout.architecture


def _widths(bits: int | Sequence[int], source: str) -> tuple[int, int, int]:
    """Return the bits of weights, activations and inputs (default for inputs: those of activations)."""
    row = list(bits) if isinstance(bits, Sequence) and not isinstance(bits, str) else [bits]
    row = row * 2 if len(row) == 1 else row
    refuse_if(
        len(row) not in (2, 3)
        or not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 8 for n in row),
        source,
        f"bits={bits!r}, but an integer from 1 to 8 is needed, or one for weights and one "
        "for activations, and perhaps one for the inputs: bits=(1, 2).",
    )
    return row[0], row[1], row[-1]


def _window(op: Op) -> tuple[int, ...]:
    return (
        op.weights.shape[2:]
        if isinstance(op, Convolution)
        else op.kernel or ()
        if isinstance(op, MaxPool | AveragePool)
        else ()
    )


def _nothing_left(arrays: Ledger[Array]) -> None:
    left = arrays.left()
    if left:
        owner = left[0].rpartition(".")[0] or left[0]
        raise FileError(
            f"{left[0]!r}{f' and {len(left) - 1} more' if len(left) > 1 else ''} would be left over: no part "
            f"of the architecture uses it. Name the part that does, or say that the network does not use "
            f"it: unused:{owner}."
        )


def _unused(part: Part, arrays: Ledger[Array]) -> list[str]:
    names = [name for name in arrays if name == part.name or name.startswith(f"{part.name}.")]
    refuse_if(not names, f"{part}: there is nothing of that name. There are {', '.join(list(arrays)[:8])}.")
    return names


# -- one part ------------------------------------------------------------------------------------------------


def _first_shape(parts: Architecture, arrays: Ledger[Array]) -> tuple[int, ...]:
    for part in parts:
        if part.kind == "linear":
            return (int(_parameter(part, arrays, "weight", 2).shape[1]),)
        if part.kind == "batchnorm":
            return (len(_parameter(part, arrays, "running_mean", 1)),)
        if part.kind not in (
            "affine",
            "sign",
            "quantize",
            "clip",
            "hardtanh",
            "relu",
            "leaky",
            "tensornorm",
            "unused",
        ):
            break
    raise FileError(
        "the shape of a sample is not known. Give shape=(channels, height, width) such as shape=(1, 28, 28)."
    )


def _declared_shape(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    refuse_if(
        len(sizes) not in (1, 3)
        or not all(
            isinstance(size, int | np.integer) and not isinstance(size, bool) and 0 < size <= _MAX_SIDE
            for size in sizes
        ),
        f"shape={shape} must be (features,) or (channels, height, width), of integers up to {_MAX_SIDE}.",
    )
    return tuple(int(size) for size in sizes)


def _parameter(part: Part, arrays: Ledger[Array], name: str, ndim: int) -> Array:
    key = f"{part.name}.{name}"
    if key not in arrays:
        near = [other for other in arrays if other.startswith(f"{part.name}.")] or list(arrays)
        raise FileError(f"{part}: there is no {key!r}. There are {', '.join(near[:8])}.")
    array = arrays[key]
    refuse_if(
        array.ndim != ndim or not array.size,
        f"{part}: {key!r} has shape {array.shape}, but {ndim} dimension{'s' if ndim > 1 else ''} are needed.",
    )
    if array.dtype.kind == "f":
        return array
    refuse_if(
        array.dtype.kind in "iu" and (np.abs(array.astype(np.float64)) > 1 << 53).any(),
        f"{part}: {key!r} holds integers beyond those that floats hold.",
    )
    return array.astype(np.float64)


def _used(part: Part, stored: Array) -> Array:
    """Return weights as the forward pass uses them."""
    one = stored.dtype.type(1)
    match part.text("weights", "stored"):
        case "sign":
            return np.asarray(np.where(stored >= 0, one, -one))
        case "ternary":
            return np.asarray(np.sign(stored))
        case "scaled" | "scaled-all" as rule:
            axes = tuple(range(1 if rule == "scaled" else 0, stored.ndim))
            scale = np.maximum(
                np.abs(stored).mean(axis=axes, keepdims=True), stored.dtype.type(part.number("floor", 0))
            )
            return np.asarray(np.where(stored >= 0, scale, -scale))
        case "quantized":
            return _coded(part, stored)
    return stored


def _coded(part: Part, stored: Array) -> Array:
    """Return integer codes times the step of a quantizer, exactly: such products are float64 numbers."""
    step, (low, high) = float(_step(part, {})), _codes(part)
    indices = (stored.astype(np.float32) / np.float32(step)).astype(np.float64)  # as the program divides
    return np.asarray(np.rint(np.clip(indices, low, high)) * step)


def _bias(part: Part, arrays: Ledger[Array], outputs: int) -> Array | None:
    if part.text("bias", "yes") == "no":
        arrays.pass_over(f"{part.name}.bias")
        return None
    if f"{part.name}.bias" not in arrays:
        return None
    bias = _parameter(part, arrays, "bias", 1)
    refuse_if(len(bias) != outputs, f"{part}: {len(bias)} numbers of bias for {outputs} outputs.")
    return bias


def _codes(part: Part) -> tuple[int, int]:
    """Return the minimum and maximum integer of a quantizer."""
    bits, narrow = part.pair("bits", 0)[0], part.text("narrow", "yes") == "yes"
    if part.text("signed", "yes") == "yes":
        return -(1 << bits - 1) + narrow, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1 - narrow


def _step(part: Part, arrays: Mapping[str, Array]) -> Fraction:
    """Return the step of a quantizer, as the float32 that Brevitas computes: the scale divided by the largest
    integer.
    """
    scale = np.float32(float(part.number("scale", 1)))
    if part.kind == "quantize" and part.name:
        kept = arrays.get(part.name, np.zeros(0))
        refuse_if(kept.size != 1, f"{part}: there is no single number {part.name!r}.")
        scale = np.float32(kept.reshape(-1)[0])
        if part.text("learned", "") == "log2":
            scale = np.float32(2.0) ** scale
        scale = np.abs(scale)
    low, high = _codes(part)
    step = np.float32(scale) / np.float32(max(high, -low))
    refuse_if(
        not (np.isfinite(step) and step > 0),
        f"{part}: its scale is {scale}, but a positive number is needed.",
    )
    return Fraction(float(step))


def _quantizer(part: Part, arrays: Ledger[Array]) -> list[Op]:
    """Return rounding to integer multiples of a step, between two ends."""
    step, (low, high), where = _step(part, arrays), _codes(part), str(part)
    return [
        Affine(where, numbers([1 / step]), np.zeros(1)),
        rounded(where, low, high),
        Affine(where, numbers([step]), numbers([step * low])),
    ]


def _op(part: Part, arrays: Ledger[Array], shape: tuple[int, ...]) -> tuple[Op | list[Op], tuple[int, ...]]:
    """Return the operation, or several, and the shape after it."""
    where = str(part)
    match part.kind:
        case "linear":
            weights = _parameter(part, arrays, "weight", 2)
            refuse_if(
                shape != weights.shape[1:],
                f"{part}: {weights.shape[1]} weights a neuron, but values of shape {shape} come in.",
            )
            return LinearOp(where, _used(part, weights), _bias(part, arrays, len(weights))), (len(weights),)
        case "conv":
            return _convolution(part, arrays, shape)
        case "batchnorm" | "tensornorm":
            return _norm(part, arrays, shape), shape
        case "affine":
            return Affine(
                where, numbers([part.number("scale", 1)]), numbers([part.number("shift", 0)])
            ), shape
        case "quantize":
            return _quantizer(part, arrays), shape
        case "sign":
            low, high = part.float("low", -1.0), part.float("high", 1.0)
            return Sign(where, cast(Any, int(part.text("zero", "1"))), low, high), shape
        case "clip" | "hardtanh" | "relu":
            low, high = {"clip": (-inf, inf), "hardtanh": (-1.0, 1.0), "relu": (0.0, inf)}[part.kind]
            return Clip(where, part.float("low", low), part.float("high", high)), shape
        case "leaky":
            if not part.name:
                return Leaky(where, numbers([part.number("slope", Fraction(1, 100))])), shape
            refuse_if(part.options, f"{part}: its slopes are in the file, so slope= has no use.")
            slopes = _parameter(part, arrays, "weight", 1)
            refuse_if(
                len(slopes) not in (1, shape[0]), f"{part}: {len(slopes)} slopes for {shape[0]} channels."
            )
            return Leaky(where, slopes), shape
        case "flatten":
            return Flatten(where, cast(Any, part.text("order", "CHW"))), (prod(shape),)
    return _map_op(part, shape)


def _norm(part: Part, arrays: Ledger[Array], shape: tuple[int, ...]) -> BatchNorm:
    arrays.pass_over(f"{part.name}.num_batches_tracked")
    mean, var = (_parameter(part, arrays, name, 1) for name in ("running_mean", "running_var"))
    gamma = _parameter(part, arrays, "weight", 1) if f"{part.name}.weight" in arrays else np.ones_like(mean)
    beta = _parameter(part, arrays, "bias", 1) if f"{part.name}.bias" in arrays else np.zeros_like(mean)
    wanted = 1 if part.kind == "tensornorm" else shape[0]
    for name, row in (("running_mean", mean), ("running_var", var), ("weight", gamma), ("bias", beta)):
        refuse_if(
            len(row) != wanted,
            f"{part}: {len(row)} numbers in {part.name}.{name}, but {wanted} are needed for values "
            f"of shape {shape}.",
        )
    refuse_if((var < 0).any(), f"{part}: {part.name}.running_var is negative at {int(np.argmax(var < 0))}.")
    eps = part.float("eps", 1e-4 if part.kind == "tensornorm" else 1e-5)
    refuse_if(
        eps < 0 or (var + eps == 0).any(),
        f"{part}: running_var + eps must be positive, but it is {float(var.min()) + eps}.",
    )
    return BatchNorm(str(part), gamma, beta, mean, var, eps)


def _sides(
    part: Part,
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    reach: tuple[int, int],
) -> tuple[int, int]:
    refuse_if(
        len(shape) != 3,
        f"{part}: reads maps, but values of shape {shape} come in. Give shape=(channels, height, width).",
    )
    high, wide = (
        (size + 2 * pad - span) // step + 1
        for size, pad, span, step in zip(shape[1:], reach, kernel, stride, strict=True)
    )
    refuse_if(high < 1 or wide < 1, f"{part}: a window of {kernel} does not fit values of shape {shape}.")
    return high, wide


def _convolution(part: Part, arrays: Ledger[Array], shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    weights = _parameter(part, arrays, "weight", 4)
    stride, dilation, pad, groups = (
        part.pair("stride", 1),
        part.pair("dilation", 1),
        part.pair("pad", 0),
        part.pair("groups", 1)[0],
    )
    refuse_if(min(*stride, *dilation, groups) < 1, f"{part}: stride, dilation and groups begin at 1.")
    spans = tuple(d * (k - 1) + 1 for k, d in zip(weights.shape[2:], dilation, strict=True))
    high, wide = _sides(part, shape, (spans[0], spans[1]), stride, pad)
    refuse_if(
        weights.shape[1] * groups != shape[0] or len(weights) % groups,
        f"{part}: weights of shape {weights.shape} in {groups} groups do not fit {shape[0]} channels.",
    )
    pads = (pad[0], pad[1], pad[0], pad[1])
    op = Convolution(
        str(part), _used(part, weights), _bias(part, arrays, len(weights)), stride, dilation, pads, groups
    )
    return op, (len(weights), high, wide)


def _map_op(part: Part, shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    """Return pooling and padding."""
    where = str(part)
    if part.kind == "pad":
        (high, wide), value = part.pair("size", 1), part.float("value", 0.0)
        rows, columns = _sides(part, shape, (1, 1), (1, 1), (high, wide))
        return Pad(where, (high, wide, high, wide), value), (shape[0], rows, columns)
    if part.kind == "globalavgpool":
        _sides(part, shape, (1, 1), (1, 1), (0, 0))
        return AveragePool(where), (shape[0], 1, 1)
    kernel, pad = part.pair("kernel", 2), part.pair("pad", 0)
    stride = part.pair("stride", 1) if "stride" in dict(part.options) else kernel
    refuse_if(min(*kernel, *stride) < 1, f"{part}: kernel and stride begin at 1.")
    refuse_if(
        any(2 * reach > span for reach, span in zip(pad, kernel, strict=True)),
        f"{part}: PyTorch pools pad at most half of their kernel.",
    )
    high, wide = _sides(part, shape, kernel, stride, pad)
    pads = (pad[0], pad[1], pad[0], pad[1])
    if part.kind == "maxpool":
        return MaxPool(where, kernel, stride, pads), (shape[0], high, wide)
    return AveragePool(where, kernel, stride, pads, part.text("count_pads", "yes") == "yes"), (
        shape[0],
        high,
        wide,
    )
