"""The layers of a quantized module: whole weights, and requantizers whose steps PyTorch's kernels were asked
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import NEVER, Head, Layer, PoolLayer, StairLayer, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.report import LayerReport, many
from sugenet.io.exact.requantize import stair_conv, stair_layer, steps_of
from sugenet.io.torch.backend import AskedSteps, PackedOperation, ask_steps, other_batch
from sugenet.io.torch.quantized_run import CONV, LINEAR, QuantizedStep

__all__ = ["QuantizedLayers"]


class QuantizedLayers:
    """The layers of the operations that ran."""

    def __init__(
        self, torch: Any, source: str, shape: tuple[int, ...], raw: Ints, steps: Sequence[QuantizedStep]
    ) -> None:
        self.torch, self.raw, self.batch = torch, raw, len(steps[0].levels)
        self.layers: list[Layer] = []
        self.reports: list[LayerReport] = []
        self.asked: list[AskedSteps] = []
        self.shown: list[int] = []
        """The operation whose bytes each layer gives."""
        if any(step.name in ("quantize_per_tensor", "dequantize") for step in steps[1:-1]):
            raise FileError(f"{source}: it leaves whole numbers on the way. Quantize once, at the start.")
        self.share = sum(step.name in LINEAR | CONV for step in steps)
        self.ends = np.full(shape, raw[0]), np.full(shape, raw[-1])
        """The least and the largest level of each value."""
        now = shape
        for number, step in enumerate(steps[1:-1], 1):
            layer = self._layer(step, now)
            self.layers.append(layer)
            self.shown.append(number)
            kind = type(layer).__name__.removesuffix("Layer").lower()
            constant = int(layer.constant.sum())
            self.reports.append(LayerReport(step.where, kind, layer.outputs, 0, constant, 0))
            now = step.shape
        last = steps[-1].args[0]
        size, point = Fraction(float(np.float32(last.q_scale()))), _point(last)
        count = prod(now)
        middle = size * (Fraction(255, 2) - point)
        self.head = Head(np.eye(count, dtype=np.int64), [middle] * count, [size / 2] * count, [255] * count)

    def _layer(self, step: QuantizedStep, shape: tuple[int, ...]) -> Layer:
        before, after = step.args[-2:]
        zero = _point(before)
        if step.name == "relu":
            self.ends = np.maximum(self.ends[0], zero), np.maximum(self.ends[1], zero)
            steps = [[m if m > zero else 0 for m in range(1, 256)]] * prod(shape)
            return StairLayer(np.eye(prod(shape), dtype=np.int64), steps, [255] * prod(shape))
        if step.name == "quantized_max_pool2d":
            kernel, stride, pad, dilation, longer = (*step.args[:-2], *_POOL[len(step.args) - 2 :])
            if longer:
                raise FileError(f"{step.where}: max pooling with ceil_mode is not read.")
            stride = stride or kernel
            window = _window(shape, kernel, stride, pad, dilation)
            low, high = self.ends
            ends = low.min(axis=(1, 2), keepdims=True), high.max(axis=(1, 2), keepdims=True)
            self.ends = np.broadcast_to(ends[0], step.shape), np.broadcast_to(ends[1], step.shape)
            return PoolLayer(window, top=255)
        packed = step.args[0]
        weight, bias = packed.unpack()
        if str(weight.qscheme()) == "torch.per_tensor_affine":
            scales = np.full(len(weight), weight.q_scale())
            points = np.full(len(weight), weight.q_zero_point())
        else:
            scales, points = (
                row.numpy() for row in (weight.q_per_channel_scales(), weight.q_per_channel_zero_points())
            )
        whole = weight.int_repr().numpy().astype(np.int64)
        whole = whole - points.astype(np.int64).reshape(-1, *[1] * (whole.ndim - 1))
        shift = np.zeros(len(whole), np.float32) if bias is None else bias.detach().numpy().astype(np.float32)
        guess = _Requantizer(before, after, scales.astype(np.float32), shift, step.name.endswith("_relu"))
        if step.name in LINEAR:
            if whole.shape[1:] != (prod(shape),):
                raise FileError(
                    f"{step.where}: {whole.shape[1]} weights a neuron for values of shape {shape}."
                )
            level = self._steps(step, whole, guess, zero)
            return stair_layer(whole, level, height=255, top=255, zero=zero, reach=_REACH)
        window = _window(shape, whole.shape[2:], packed.stride(), packed.padding(), packed.dilation())
        groups = int(packed.groups())
        level = self._steps(step, whole, guess, zero, window, groups)
        return stair_conv(whole, level, window, groups, height=255, top=255, zero=zero, reach=_REACH)

    def _steps(
        self,
        step: QuantizedStep,
        whole: Ints,
        guess: _Requantizer,
        zero: int,
        window: Window | None = None,
        groups: int = 1,
    ) -> _KnownSteps:
        """The requantizer as the kernel has it."""
        before = step.args[-2]
        rows = whole.reshape(len(whole), -1)
        low, high = (ends.reshape(before.shape[1:]) for ends in self.ends)
        if window is not None and max(window.pads):
            low, high = np.minimum(low, zero), np.maximum(high, zero)
        operation = PackedOperation(
            step.where,
            step.call,
            partial(_tensor, self.torch, before),
            rows,
            zero,
            low,
            high,
            len(before),
            window,
            groups,
        )
        far = 255 * np.abs(rows).sum(axis=1)
        first = steps_of(guess, -far, far, 255)
        with self.torch.no_grad():
            steps, asked = ask_steps(operation, first, guess.doubt(first), self.share)
        self.asked.append(asked)
        found = _KnownSteps(steps)
        across = (-1, 1, 1) if window is not None else step.shape
        least, largest = (found(sums[:, None]).reshape(across) for sums in operation.reach())
        self.ends = np.broadcast_to(least, step.shape), np.broadcast_to(largest, step.shape)
        return found

    def remarks(self) -> tuple[str, ...]:
        """What was asked of the kernels, and what was not."""
        if not self.asked:
            return ()
        steps, asked, moved, again, elsewhere = (
            sum(getattr(row, name) for row in self.asked)
            for name in ("steps", "asked", "moved", "again", "elsewhere")
        )
        engine = self.torch.backends.quantized.engine
        found = [
            f"{asked:,} of {many(steps, 'step')} of {many(len(self.asked), 'operation')} were asked of "
            f"PyTorch's kernels on both sides (backend {engine}, this processor, one thread, batches of "
            f"{self.batch}), with small and with large bytes; {moved:,} are not where FBGEMM's arithmetic "
            "has them"
        ]
        if asked < steps:
            apart = min(row.apart for row in self.asked)
            found.append(
                f"{many(steps - asked, 'step')} could not be asked and are where the arithmetic of FBGEMM "
                f"has them, which may be some sums off; the nearest of them is {apart:.2g} levels from a tie"
            )
        if elsewhere:
            found.append(
                f"the module itself depends on the size of batches: {elsewhere:,} of the {again:,} steps "
                f"nearest to a tie are elsewhere in batches of {other_batch(self.batch)}; the network has "
                f"them as in batches of {self.batch}, the size of the example"
            )
        if any(row.quiet for row in self.asked):
            found.append(
                "PyTorch's kernels on this processor overflow where two neighbouring products exceed 16 "
                "bits: the network has the sums without overflow, and its steps were asked with small bytes"
            )
        return tuple(found)


class _KnownSteps:
    """A requantizer by its steps."""

    def __init__(self, steps: Ints) -> None:
        self.steps = steps

    def __call__(self, sums: Ints) -> Ints:
        return np.array(
            [np.searchsorted(row, own, side="right") for row, own in zip(self.steps, sums, strict=True)]
        ).reshape(sums.shape)


def _tensor(torch: Any, like: Any, levels: Ints) -> Any:
    """Levels as a quantized tensor with the scale, the zero point and the layout of another."""
    signed = str(like.dtype) == "torch.qint8"
    whole = torch.from_numpy((levels - 128).astype(np.int8) if signed else levels.astype(np.uint8))
    found = torch._make_per_tensor_quantized_tensor(whole, like.q_scale(), like.q_zero_point())
    if like.dim() == 4 and not like.is_contiguous():
        found = found.contiguous(memory_format=torch.channels_last)
    return found


_POOL: tuple[Any, ...] = (None, [], [0, 0], [1, 1], False)
_REACH = 1 << 24
"""Whole numbers up to here are float32 numbers."""


def _window(shape: tuple[int, ...], kernel: Any, stride: Any, pad: Any, dilation: Any) -> Window:
    (ky, kx), (sy, sx), (py, px), (dy, dx) = (_pair(v) for v in (kernel, stride, pad, dilation))
    if len(shape) != 3:
        raise FileError(f"a window over values of shape {shape}, but maps are needed.")
    return Window((shape[0], shape[1], shape[2]), (ky, kx), (sy, sx), (dy, dx), (py, px, py, px))


def _pair(values: Any) -> tuple[int, int]:
    row = [int(v) for v in values]
    return (row[0], row[-1])


def _point(tensor: Any) -> int:
    """The level that stands for 0."""
    return int(tensor.q_zero_point()) + (128 if str(tensor.dtype) == "torch.qint8" else 0)


class _Requantizer:
    """Bytes of whole sums as FBGEMM computes them, in float32: bias added in units of the sum, one factor,
    rounding half to even.
    """

    def __init__(self, before: Any, after: Any, scales: Any, bias: Any, relu: bool) -> None:
        unit = (np.float32(before.q_scale()) * scales).astype(np.float32)
        self.bias = (bias / unit).astype(np.float32)[:, None]
        self.factor = (unit / np.float32(after.q_scale())).astype(np.float32)[:, None]
        self.zero = _point(after)
        self.least = self.zero if relu else 0

    def doubt(self, steps: Ints) -> npt.NDArray[np.float64]:
        """How far from a tie the sums at and below each step are, in levels; infinite where there is none."""
        ties = np.arange(1, 256) - self.zero - 0.5
        near = [
            np.abs((steps - k + self.bias.astype(float)) * self.factor.astype(float) - ties) for k in (0, 1)
        ]
        return np.where(steps == NEVER, np.inf, np.minimum(*near))

    def __call__(self, sums: Ints) -> Ints:
        moved = sums.astype(np.float32) + self.bias
        rounded = np.rint((moved * self.factor).astype(np.float32)).astype(np.int64)
        return np.asarray(np.clip(rounded + self.zero, self.least, 255))
