"""State dicts as chains: parameters from a file, their order and use from an `Architecture`, every size checked against the next."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Chain, Clip, Convolution, Flatten, Linear, MaxPool, Op, Pad, Sign
from sugenet.io.torch.architecture import Architecture, Part
from sugenet.io.torch.checkpoint import Arrays, arrays_of_state, read_checkpoint
from sugenet.io.torch.piecewise import numbers

__all__ = ["chain_of_state_dict", "known_layout"]

_FLOOR = "1/65536"
_MAX_SIDE = 1 << 16


def chain_of_state_dict(
    state: str | Path | Mapping[str, Any],
    architecture: str | Architecture | None = None,
    shape: tuple[int, ...] | None = None,
) -> Chain:
    """The operations of a network of which the parameters are at hand.

    Parameters
    ----------
    state
        A checkpoint of `torch.save`, or its state dict with tensors or arrays.
    architecture
        The layers, as text or as an `Architecture`. None for a layout that `known_layout` knows.
    shape
        Of one sample: (channels, height, width), or (features,), which is taken from the first linear layer unless said.

    Examples
    --------
    >>> state = {"a.weight": np.array([[0.3, -0.2]]), "a.bias": np.array([0.5]), "b.weight": np.array([[1.0], [-1.0]])}
    >>> chain = chain_of_state_dict(state, "linear:a(weights=sign) sign linear:b")
    >>> chain.shape, chain.ops[0].weights.tolist()
    ((2,), [[1.0, -1.0]])
    """
    source = Path(state).name if isinstance(state, str | Path) else "state dict"
    arrays = read_checkpoint(state) if isinstance(state, str | Path) else arrays_of_state(state)
    if architecture is None:
        architecture = known_layout(arrays)
        if architecture is None:
            shown = ", ".join(list(arrays)[:6])
            raise FileError(
                f"{source}: its parameters {shown}... follow no known layout. Say what they are for: "
                "architecture='linear:fc1(weights=sign) batchnorm:bn1 sign linear:fc2(weights=sign)'."
            )
    parts = Architecture.parse(architecture) if isinstance(architecture, str) else architecture
    try:
        sizes = shape if shape is not None else _first_shape(parts, arrays)
        if len(sizes) not in (1, 3) or not all(isinstance(size, int) and 0 < size <= _MAX_SIDE for size in sizes):
            raise FileError(f"shape={sizes} must be (features,) or (channels, height, width).")
        ops, seen = [], sizes
        for part in parts:
            op, seen = _op(part, arrays, seen)
            ops.append(op)
    except FileError as error:
        raise FileError(f"{source}: {error}") from None
    return Chain(source, tuple(sizes), tuple(ops))


def known_layout(state: Mapping[str, Any]) -> Architecture | None:
    """The architecture of a state dict whose names say it: BNN verification (msakai), NPAQ, and Brevitas' TFC, SFC and LFC; else None.

    Examples
    --------
    >>> names = ("fc1.weight", "bn1.weight", "bn1.running_mean", "fc5.weight")
    >>> print(known_layout({name: np.ones((2, 2)) for name in names}))
    linear:fc1(weights=ternary) batchnorm:bn1 sign(zero=0) linear:fc5(weights=ternary)
    """
    names = list(state)
    for layout in (_msakai, _npaq, _bnn_pynq):
        text = layout(names, state)
        if text is not None:
            return Architecture.parse(text)
    return None


def _msakai(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """A sign on normalized pixels, then blocks with weights +-1, in Chainer's batch norm."""
    count = sum(name.startswith("hidden_layers.") and name.endswith(".0.weight") for name in names)
    if "input_block.0.running_var" not in names or "output_layer.weight" not in names or not count:
        return None
    blocks = " ".join(f"linear:hidden_layers.{b}.0 batchnorm:hidden_layers.{b}.1(eps=2e-5) sign" for b in range(count))
    return f"batchnorm:input_block.0(eps=2e-5) sign {blocks} linear:output_layer"


def _npaq(names: list[str], _state: Mapping[str, Any]) -> str | None:
    """Latent weights through torch.sign, so that zeros stay zeros; inputs are bits."""
    linear = [name.removesuffix(".weight") for name in names if name.startswith("fc") and name.endswith(".weight")]
    norms = [name.removesuffix(".running_mean") for name in names if name.startswith("bn") and name.endswith(".running_mean")]
    if not linear or not norms or len(linear) != len(norms) + 1 or any("." in name for name in linear + norms):
        return None
    blocks = " ".join(f"linear:{a}(weights=ternary) batchnorm:{b} sign(zero=0)" for a, b in zip(linear, norms, strict=False))
    return f"{blocks} linear:{linear[-1]}(weights=ternary)"


def _bnn_pynq(names: list[str], state: Mapping[str, Any]) -> str | None:
    """Pixels 0..1 become 2x - 1 and a sign.

    Early releases scale the weights of every neuron by their mean size, and those of the scores all alike; later ones use plain signs
    and end in a scalar norm.
    """
    weights = [name.removesuffix(".weight") for name in names if name.endswith(".weight")]
    if not weights or not all(name == "fc" or (name.startswith("features.") and name.split(".")[-1].isdigit()) for name in weights):
        return None
    shapes = {name: np.shape(state[f"{name}.weight"]) for name in weights}
    norms = [name for name in weights if f"{name}.running_mean" in state]
    scalar = [name for name in norms if prod(shapes[name]) == 1]
    last = next(name for name in reversed(weights) if name not in norms) if len(norms) < len(weights) else ""
    parts = ["affine(scale=2, shift=-1) sign"]
    for name in weights:
        if name in scalar:
            parts.append(f"tensornorm:{name}")
        elif name in norms:
            parts.append(f"batchnorm:{name} sign")
        elif len(shapes[name]) == 2:
            how = "scaled-all" if name == last else "scaled"
            parts.append(f"linear:{name}({'weights=sign' if scalar else f'weights={how}, floor={_FLOOR}'})")
        else:
            return None
    return " ".join(parts) if norms else None


# -- one part ------------------------------------------------------------------------------------------------------------------


def _first_shape(parts: Architecture, arrays: Arrays) -> tuple[int, ...]:
    for part in parts:
        if part.kind == "linear":
            return (int(_parameter(part, arrays, "weight", 2).shape[1]),)
        if part.kind == "batchnorm":
            return (len(_parameter(part, arrays, "running_mean", 1)),)
        if part.kind not in ("affine", "sign", "clip", "hardtanh", "relu"):
            break
    raise FileError("the shape of a sample is not known. Give shape=(channels, height, width).")


def _parameter(part: Part, arrays: Arrays, name: str, ndim: int) -> npt.NDArray[Any]:
    key = f"{part.name}.{name}"
    if key not in arrays:
        near = [other for other in arrays if other.startswith(f"{part.name}.")] or list(arrays)
        raise FileError(f"{part}: there is no {key!r}. There are {', '.join(near[:8])}.")
    array = arrays[key]
    if array.ndim != ndim or not array.size:
        raise FileError(f"{part}: {key!r} has shape {array.shape}, but {ndim} dimension{'s' if ndim > 1 else ''} are needed.")
    return array


def _used(part: Part, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Weights as the forward pass uses them."""
    one = stored.dtype.type(1) if stored.dtype.kind == "f" else np.float32(1)
    match part.text("weights", "stored"):
        case "sign":
            return np.where(stored >= 0, one, -one)
        case "ternary":
            return np.asarray(np.sign(stored))
        case "scaled" | "scaled-all" as rule:
            axes = tuple(range(1 if rule == "scaled" else 0, stored.ndim))
            scale = np.maximum(np.abs(stored).mean(axis=axes, keepdims=True), stored.dtype.type(part.number("floor", 0)))
            return np.asarray(np.where(stored >= 0, scale, -scale))
    return stored


def _bias(part: Part, arrays: Arrays, outputs: int) -> npt.NDArray[Any] | None:
    if part.text("bias", "yes") == "no" or f"{part.name}.bias" not in arrays:
        return None
    bias = _parameter(part, arrays, "bias", 1)
    if len(bias) != outputs:
        raise FileError(f"{part}: {len(bias)} numbers of bias for {outputs} outputs.")
    return bias


def _op(part: Part, arrays: Arrays, shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    """The operation, and the shape behind it."""
    where = str(part)
    match part.kind:
        case "linear":
            weights = _parameter(part, arrays, "weight", 2)
            if shape != weights.shape[1:]:
                raise FileError(f"{part}: {weights.shape[1]} weights a neuron, but values of shape {shape} come in.")
            return Linear(where, _used(part, weights), _bias(part, arrays, len(weights))), (len(weights),)
        case "conv":
            return _convolution(part, arrays, shape)
        case "batchnorm" | "tensornorm":
            return _norm(part, arrays, shape), shape
        case "affine":
            return Affine(where, numbers([part.number("scale", 1)]), numbers([part.number("shift", 0)])), shape
        case "sign":
            zero = cast(Any, int(part.text("zero", "1")))
            return Sign(where, zero, float(part.number("low", -1)), float(part.number("high", 1))), shape
        case "clip" | "hardtanh" | "relu":
            low, high = {"clip": (-inf, inf), "hardtanh": (-1.0, 1.0), "relu": (0.0, inf)}[part.kind]
            given = dict(part.options)
            return (
                Clip(
                    where,
                    float(part.number("low", 0)) if "low" in given else low,
                    float(part.number("high", 0)) if "high" in given else high,
                ),
                shape,
            )
        case "flatten":
            return Flatten(where, cast(Any, part.text("order", "CHW"))), (prod(shape),)
    return _map_op(part, shape)


def _norm(part: Part, arrays: Arrays, shape: tuple[int, ...]) -> BatchNorm:
    mean, var = (_parameter(part, arrays, name, 1) for name in ("running_mean", "running_var"))
    gamma = _parameter(part, arrays, "weight", 1) if f"{part.name}.weight" in arrays else np.ones_like(mean)
    beta = _parameter(part, arrays, "bias", 1) if f"{part.name}.bias" in arrays else np.zeros_like(mean)
    wanted = 1 if part.kind == "tensornorm" else shape[0]
    for name, row in (("running_mean", mean), ("running_var", var), ("weight", gamma), ("bias", beta)):
        if len(row) != wanted:
            raise FileError(f"{part}: {len(row)} numbers in {part.name}.{name}, but {wanted} are needed for values of shape {shape}.")
    if (var < 0).any():
        raise FileError(f"{part}: {part.name}.running_var is negative at {int(np.argmax(var < 0))}.")
    return BatchNorm(str(part), gamma, beta, mean, var, float(part.number("eps", 1e-4 if part.kind == "tensornorm" else 1e-5)))


def _sides(part: Part, shape: tuple[int, ...], kernel: tuple[int, int], stride: tuple[int, int], reach: tuple[int, int]) -> tuple[int, int]:
    if len(shape) != 3:
        raise FileError(f"{part}: reads maps, but values of shape {shape} come in. Give shape=(channels, height, width).")
    high, wide = ((size + 2 * pad - span) // step + 1 for size, pad, span, step in zip(shape[1:], reach, kernel, stride, strict=True))
    if high < 1 or wide < 1:
        raise FileError(f"{part}: a window of {kernel} does not fit values of shape {shape}.")
    return high, wide


def _convolution(part: Part, arrays: Arrays, shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    weights = _parameter(part, arrays, "weight", 4)
    stride, dilation, pad, groups = part.pair("stride", 1), part.pair("dilation", 1), part.pair("pad", 0), part.pair("groups", 1)[0]
    if min(*stride, *dilation, groups) < 1:
        raise FileError(f"{part}: stride, dilation and groups begin at 1.")
    spans = tuple(d * (k - 1) + 1 for k, d in zip(weights.shape[2:], dilation, strict=True))
    high, wide = _sides(part, shape, (spans[0], spans[1]), stride, pad)
    if weights.shape[1] * groups != shape[0] or len(weights) % groups:
        raise FileError(f"{part}: weights of shape {weights.shape} in {groups} groups do not fit {shape[0]} channels.")
    pads = (pad[0], pad[1], pad[0], pad[1])
    op = Convolution(str(part), _used(part, weights), _bias(part, arrays, len(weights)), stride, dilation, pads, groups)
    return op, (len(weights), high, wide)


def _map_op(part: Part, shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    """Pooling and padding."""
    where = str(part)
    if part.kind == "pad":
        (high, wide), value = part.pair("size", 1), float(part.number("value", 0))
        rows, columns = _sides(part, shape, (1, 1), (1, 1), (high, wide))
        return Pad(where, (high, wide, high, wide), value), (shape[0], rows, columns)
    if part.kind == "globalavgpool":
        _sides(part, shape, (1, 1), (1, 1), (0, 0))
        return AveragePool(where), (shape[0], 1, 1)
    kernel, pad = part.pair("kernel", 2), part.pair("pad", 0)
    stride = part.pair("stride", 1) if "stride" in dict(part.options) else kernel
    if min(*kernel, *stride) < 1:
        raise FileError(f"{part}: kernel and stride begin at 1.")
    high, wide = _sides(part, shape, kernel, stride, pad)
    pads = (pad[0], pad[1], pad[0], pad[1])
    if part.kind == "maxpool":
        return MaxPool(where, kernel, stride, pads), (shape[0], high, wide)
    return AveragePool(where, kernel, stride, pads, part.text("count_pads", "yes") == "yes"), (shape[0], high, wide)
