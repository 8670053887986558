"""Dense layers and convolutions of Keras, Larq, QKeras and hls4ml's examples as operations."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Convolution, LinearOp, Op, Pad
from sugenet.io.larq import binarynet, qkeras
from sugenet.io.larq.keras_file import KerasLayer
from sugenet.io.larq.quantizers import quantized, signed
from sugenet.io.larq.walk import LayerWalk, maps_of, pads_of, parameter, two, whole

__all__ = ["LINEAR"]

_QKERAS = ("QDense", "QConv1D", "QConv2D", "QDepthwiseConv2D")


def _quantized(layer: KerasLayer, which: str, kernel: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A kernel as the forward pass uses it."""
    key = f"{which}_quantizer"
    if layer.kind in binarynet.LAYERS:
        return binarynet.kernel_used(layer, kernel)
    if layer.kind in _QKERAS:
        layer.config.pass_over(f"{which}_range", "bias_range")  # only of warnings and initial values
        return qkeras.kernel_used(layer.where, key, layer.config.get(key), kernel)
    if layer.kind.startswith("Quant"):
        return quantized(layer.where, key, layer.config.get(key), kernel)
    return kernel


def _bias(layer: KerasLayer, outputs: int) -> npt.NDArray[Any] | None:
    quantizer = layer.config.get("bias_quantizer") if layer.kind in _QKERAS else None
    if not layer.config.get("use_bias", True):
        return None
    return qkeras.bias_used(layer.where, quantizer, parameter(layer, "bias", (outputs,)))


def _signed(layer: KerasLayer) -> tuple[Op, ...]:
    return (
        signed(layer.where, "input_quantizer", layer.config.get("input_quantizer"))
        if layer.kind.startswith("Quant")
        else ()
    )


def _dense(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    units, features = whole(layer, "units"), walk.shape[0]
    kernel = _quantized(layer, "kernel", parameter(layer, "kernel", (features, units)))
    signs, bias = _signed(layer), _bias(layer, units)
    if len(walk.shape) == 3:  # Keras applies a dense layer to the channels of every pixel
        return walk.then(
            *signs, Convolution(layer.where, kernel.T[:, :, None, None], bias), shape=(units, *walk.shape[1:])
        )
    return walk.then(*signs, LinearOp(layer.where, kernel.T, bias), shape=(units,))


def _convolution(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels, *sizes = maps_of(walk, layer)
    filters, groups, size = whole(layer, "filters"), whole(layer, "groups", 1), two(layer, "kernel_size")
    if channels % groups or filters % groups:
        raise FileError(
            f"{layer.where}: {groups} groups do not divide {channels} input and {filters} output channels."
        )
    flat = layer.kind.endswith("1D")
    shape = (*size[1 if flat else 0 :], channels // groups, filters)
    kernel = _quantized(layer, "kernel", parameter(layer, "kernel", shape))
    weights = (kernel[None] if flat else kernel).transpose(3, 2, 0, 1)
    return _convolved(walk, layer, (sizes[0], sizes[1]), weights, groups)


def _depthwise(walk: LayerWalk, layer: KerasLayer) -> LayerWalk:
    channels, *sizes = maps_of(walk, layer)
    times, size = whole(layer, "depth_multiplier", 1), two(layer, "kernel_size")
    if whole(layer, "groups", 1) != 1:
        raise FileError(f"{layer.where}: groups in a depthwise convolution.")
    kernel = _quantized(layer, "depthwise", parameter(layer, "depthwise_kernel", (*size, channels, times)))
    weights = kernel.transpose(2, 3, 0, 1).reshape(channels * times, 1, *size)
    return _convolved(walk, layer, (sizes[0], sizes[1]), weights, channels)


def _convolved(
    walk: LayerWalk, layer: KerasLayer, sizes: tuple[int, int], weights: npt.NDArray[Any], groups: int
) -> LayerWalk:
    stride, dilation = two(layer, "strides"), two(layer, "dilation_rate")
    spans = tuple(d * (k - 1) + 1 for k, d in zip(weights.shape[2:], dilation, strict=True))
    pads, out = pads_of(layer, sizes, (spans[0], spans[1]), stride)
    value = layer.config.get("pad_values", 0.0) if layer.kind.startswith("Quant") else 0.0
    if not isinstance(value, int | float) or value not in (-1, 0, 1):
        raise FileError(f"{layer.where}: pad_values is {str(value)[:40]!r}; 0, 1 and -1 can be read.")
    if value and layer.config.get("padding") == "causal":
        raise FileError(f"{layer.where}: causal padding with pad_values, which Larq does not have.")
    padding: tuple[Op, ...] = ()
    if value and any(pads):
        padding, pads = (Pad(layer.where, pads, float(value)),), (0, 0, 0, 0)
    op = Convolution(layer.where, weights, _bias(layer, len(weights)), stride, dilation, pads, groups)
    return walk.then(*_signed(layer), *padding, op, shape=(len(weights), *out))


LINEAR = {
    **dict.fromkeys(("Dense", "QuantDense", "QDense", "BinaryDense", "TernaryDense"), _dense),
    **dict.fromkeys(("Conv1D", "Conv2D", "Convolution1D", "Convolution2D"), _convolution),
    **dict.fromkeys(("QuantConv1D", "QuantConv2D", "QConv1D", "QConv2D"), _convolution),
    **dict.fromkeys(("BinaryConv2D", "TernaryConv2D"), _convolution),
    **dict.fromkeys(("DepthwiseConv2D", "QuantDepthwiseConv2D", "QDepthwiseConv2D"), _depthwise),
}
"""For each class of linear layers what it does to values on their way."""
