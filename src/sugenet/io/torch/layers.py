"""PyTorch's layers, pooling, padding and reshapes, and the tails that leave the largest score the largest, as
operations of the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Convolution, MaxPool, Op, Pad, numbers
from sugenet.io.torch.calls import Call, open_ended, rounded_scalar
from sugenet.io.torch.signals import Signal, natural

__all__ = ["LAYERS"]


def _reshaped(
    change: Callable[[Call, npt.NDArray[np.intp]], npt.NDArray[np.intp]],
) -> Callable[[Call], Signal]:
    """The same change on the numbers of the places; the batch axis must stay the first."""

    def rule(call: Call) -> Signal:
        signal = call.signal()
        batch, shape = len(signal.node.values), tuple(call.out.shape)
        if shape[:1] != (batch,):
            raise call.refused(
                f"It moves or joins the axis of the samples (shape {shape} for {batch} samples)."
            )
        places = change(call, np.broadcast_to(signal.order, (batch, *signal.shape)))
        return replace(signal, order=np.array(places.reshape(shape)[0]))

    return rule


def _permuted(call: Call, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    match call.name:
        case "permute":
            axes = [axis % places.ndim for axis in call.args["dims"]]
        case "transpose":
            axes = list(range(places.ndim))
            first, second = call.args["dim0"] % places.ndim, call.args["dim1"] % places.ndim
            axes[first], axes[second] = axes[second], axes[first]
        case _:
            axes = list(reversed(range(places.ndim)))
    if axes[0] != 0:
        raise call.refused("It moves the axis of the samples.")
    return places.transpose(axes)


def _sliced(call: Call, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    axis = call.args["dim"] % places.ndim
    where: list[Any] = [slice(None)] * places.ndim
    where[axis] = (
        call.args["index"]
        if call.name == "select"
        else slice(call.args.get("start"), call.args.get("end"), call.args.get("step", 1))
    )
    if axis == 0 and places[tuple(where)].shape != places.shape:
        raise call.refused("It picks samples of the batch.")
    return np.asarray(places[tuple(where)])


def _expanded(call: Call, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return np.broadcast_to(places, tuple(call.out.shape))


# -- layers --------------------------------------------------------------------------------------------------


def _matmul(call: Call) -> Signal:
    return open_ended(call, call.settled()).linear(call.where, call.array("mat2").T, None, call.result)


def _addmm(call: Call) -> Signal:
    if call.find(call.args["self"]) is not None or (call.args.get("beta", 1), call.args.get("alpha", 1)) != (
        1,
        1,
    ):
        raise call.refused("It adds a value that depends on the input, or with a factor.")
    weights, bias = call.array("mat2"), call.array("self")
    if bias.size != weights.shape[1]:
        raise call.refused(f"Its bias has shape {bias.shape} for {weights.shape[1]} neurons.")
    return open_ended(call, call.settled("mat1")).linear(call.where, weights.T, bias.reshape(-1), call.result)


def _linear(call: Call) -> Signal:
    weights = call.array("weight")
    return open_ended(call, call.settled()).linear(call.where, weights, call.constant("bias"), call.result)


def _maps(call: Call) -> Signal:
    return open_ended(call, call.settled()).maps(call.where)


def _two(values: Sequence[int] | int, otherwise: int = 1) -> tuple[int, int]:
    """Numbers for height and width; of one dimension the width."""
    row = [int(value) for value in values] if isinstance(values, Sequence) else [int(values)] * 2
    return (row[0], row[1]) if len(row) == 2 else (otherwise, row[0])


def _convolution(call: Call) -> Signal:
    kernel = call.array("weight")
    if call.args.get("transposed") or kernel.ndim not in (3, 4):
        raise call.refused("Only ordinary convolutions in one or two dimensions can be.")
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


def _grown(call: Call, signal: Signal, op: Op) -> Signal:
    return natural(signal.node.then(op, call.result), call.result.shape[1:])


def _batch_norm(call: Call) -> Signal:
    mean, var = call.constant("running_mean"), call.constant("running_var")
    if mean is None or var is None or call.args.get("training") or call.args.get("train"):
        raise call.refused(
            "It uses the statistics of the batch: call module.eval() first."
            if mean is not None
            else "It was made with track_running_stats=False and has no fixed statistics: train it with them."
        )
    gamma, beta = call.constant("weight"), call.constant("bias")
    eps = float(call.args["eps"] if "eps" in call.args else call.args["epsilon"])
    signal = open_ended(call, call.settled()).channels(call.where)
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
    """Kernel, stride, dilation and pads; a ceil mode shows in the size of the result."""
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
    if divisor is not None:  # the sum of each window, whatever its padding, divided by one number
        node = signal.node.then(AveragePool(call.where, kernel, stride, pads, count_pads=True))
        share = numbers([Fraction(prod(kernel), int(divisor))])
        return natural(node.then(Affine(call.where, share, np.zeros(1)), call.result), call.result.shape[1:])
    counts = bool(call.args.get("count_include_pad", True)) and (high, wide) != (0, 0)
    beyond = (max(pads[2] - high, 0), max(pads[3] - wide, 0)) if counts else (0, 0)
    return _grown(call, signal, AveragePool(call.where, kernel, stride, pads, counts, beyond))


def _adaptive(call: Call) -> Signal:
    signal = _maps(call)
    sizes, wanted = signal.node.shape[1:], _two(call.args["output_size"])
    if any(size % out for size, out in zip(sizes, wanted, strict=True)):
        raise call.refused(f"Its windows differ in size: {wanted} from {sizes}. Use a size that divides.")
    kernel = sizes[0] // wanted[0], sizes[1] // wanted[1]
    pool = MaxPool if call.name == "adaptive_max_pool2d" else AveragePool
    return _grown(call, signal, pool(call.where, kernel, kernel))


def _reduced(call: Call) -> Signal:
    """Mean, sum or largest of whole maps."""
    given = call.signal()
    axes = call.args.get("dim")
    rank = len(given.shape) + 1
    named = (
        {axis % rank for axis in (axes if isinstance(axes, Sequence) else [axes])}
        if axes is not None and axes != []
        else set()
    )
    if named != set(range(2, rank)) or rank not in (3, 4):
        raise call.refused("Only the mean, sum or maximum over whole maps can be.")
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
    if min(sides, default=0) < 0 or any(sides[2 * (signal.order.ndim - 1) :]):
        raise call.refused("Only padding around maps can be, and no cropping.")
    value = rounded_scalar(call, float(call.args.get("value") or 0.0), call.args["self"])
    return _grown(call, signal, Pad(call.where, (top, left, bottom, right), float(value)))


# -- tails ---------------------------------------------------------------------------------------------------


def _tail(call: Call) -> Signal:
    signal = call.signal()
    if call.name in ("argmax", "max") and call.args.get("dim") is None:
        raise call.refused("It takes the largest of the whole batch: say dim=1.")
    if call.name == "topk" and call.args.get("largest", True) is False:
        raise call.refused("It takes the smallest scores: largest=False turns the order of classes around.")
    axis = call.args.get("dim", -1)
    if call.name not in ("sigmoid", "tanh", "log_sigmoid_forward", "log", "exp") and (
        axis is None or axis % (len(signal.shape) + 1) != 1
    ):
        raise call.refused("At the end of a network it can be along the classes, dim=1.")
    if not signal.tail:
        signal = signal.settled(call.actual(), call.where)
    odd = call.name == "tanh" and not signal.tail
    return replace(signal, tail=(*signal.tail, f"{call.name.strip('_')} at {call.where}"), odd=odd)


LAYERS: dict[str, Callable[[Call], Signal]] = {
    **dict.fromkeys(
        ("view", "_unsafe_view", "reshape", "flatten", "squeeze", "unsqueeze"),
        _reshaped(lambda _, places: places),
    ),
    **dict.fromkeys(("permute", "transpose", "t", "numpy_T"), _reshaped(_permuted)),
    **dict.fromkeys(("slice", "select"), _reshaped(_sliced)),
    "expand": _reshaped(_expanded),
    "mm": _matmul,
    "addmm": _addmm,
    "linear": _linear,
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
"""By the name of the operation in PyTorch's core, in-place forms without their underscore."""
