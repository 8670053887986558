"""Read PyTorch's quantized modules (torch.ao), which compute in integers, by following a batch through them.

Every operation returns bytes. A layer is a sum of integers and a requantizer in float32. The steps of the
requantizer are found by querying PyTorch's own kernel, on both sides of each step. The network is compared
with the module itself, byte by byte at every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.domains import Inputs, Integers
from sugenet.io.exact.pixels import pixel_names, with_image
from sugenet.io.exact.report import ImportProof, ImportReport, LayerReport, many
from sugenet.io.exact.requantize import quantized_conv, quantized_layer, steps_of
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.proof.near import RawRanges, turning
from sugenet.io.torch.backend import AskedSteps, PackedOperation, ask_steps, other_batch
from sugenet.io.torch.reader import checked_example, require_torch, watched_output
from sugenet.nn import NEVER, Encoder, Head, Layer, Network, PoolLayer, QuantizedLayer, Source, Steps, Window
from sugenet.nn.arrays import Array, Doubles, Ints

__all__ = ["is_quantized", "read_quantized"]

_RAW = 1 << 12
_HINTS = {
    "add": "residual additions of quantized modules are not read: export the model to ONNX (QDQ)",
    "add_relu": "residual additions of quantized modules are not read: export the model to ONNX (QDQ)",
    "cat": "two branches are joined: only one path from input to output can be read",
    "avg_pool2d": "average pooling rounds inside PyTorch: use max pooling, or a convolution",
    "adaptive_avg_pool2d": "average pooling rounds inside PyTorch: use max pooling, or a convolution",
    "mean": "means round inside PyTorch: use max pooling, or a convolution",
}
_KNOWN = "quantize, convolution, linear, relu, max pooling, flatten and dequantize are"
_SAME = frozenset(
    ("view", "_unsafe_view", "reshape", "flatten", "clone", "contiguous", "alias", "detach", "squeeze")
)
_ASKS = frozenset(("_local_scalar_dense", "q_scale", "q_zero_point", "is_pinned", "qscheme"))
_LINEAR = frozenset(("linear", "linear_relu"))
_CONV = frozenset(("conv2d", "conv2d_relu"))
_OPERATIONS = _LINEAR | _CONV | {"quantize_per_tensor", "quantized_max_pool2d", "relu", "dequantize"}


@dataclass(frozen=True, eq=False)
class _QuantizedStep:
    """One operation that ran, and the bytes that it returned, one row per sample."""

    name: str
    where: str
    call: Callable[[Any], Any]
    """The operation with its other arguments."""
    args: tuple[Any, ...]
    shape: tuple[int, ...]
    levels: Ints


class _QuantizedRun:
    """The module on raw integers, with all its operations."""

    def __init__(
        self, torch: Any, module: Any, batch: int, shape: tuple[int, ...], inputs: Integers, source: str
    ) -> None:
        self.torch, self.module, self.inputs, self.source = torch, module, inputs, source
        self.batch, self.shape = batch, shape
        values = [float(inputs.value(x)) for x in range(inputs.low, inputs.high + 1)]
        self.values = np.array(values, np.float32)

    def run(self, rows: Array) -> tuple[list[_QuantizedStep], Doubles]:
        """Run samples in batches as large as the example; return all operations and the output."""
        full = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % self.batch, axis=0)])
        parts = [self._run(full[k : k + self.batch]) for k in range(0, len(full), self.batch)]
        steps = [
            replace(same[0], levels=np.concatenate([step.levels for step in same])[: len(rows)])
            for same in zip(*(part[0] for part in parts), strict=True)
        ]
        return steps, np.concatenate([part[1] for part in parts])[: len(rows)]

    def _run(self, rows: Array) -> tuple[list[_QuantizedStep], Doubles]:
        values = self.values[rows.astype(np.int64) - self.inputs.low]
        batch = self.torch.from_numpy(values.reshape(len(rows), *self.shape))
        recorder = _QuantizedRecorder(self.torch, batch, self.source)
        output = watched_output(self.module, batch, recorder.see)
        refuse_if(
            recorder.key(output) != recorder.last or output.is_quantized,
            self.source,
            "its output is not the result of its last quantized layer, dequantized. End "
            "it with a DeQuantStub.",
        )
        return recorder.steps, output.detach().numpy().astype(np.float64).reshape(len(rows), -1)

    def levels(self, steps: Sequence[_QuantizedStep]) -> Ints:
        """Return the level of every raw number, by querying the quantizer of the inputs.

        It is queried with all numbers at once, and with each alone at every position of a sample.
        """
        refuse_if(
            not steps or steps[0].name != "quantize_per_tensor" or steps[-1].name != "dequantize",
            self.source,
            "it must begin with a QuantStub and end with a DeQuantStub.",
        )
        first = steps[0]
        levels = _bytes(first.call(self.torch.from_numpy(self.values)))
        for value, level in zip(self.values[:_RAW], levels, strict=False):
            alone = _bytes(first.call(self.torch.full((1, *self.shape), float(value))))
            refuse_if(
                (alone != level).any(),
                first.where,
                f"the quantizer gives {float(value):.9g} different levels at different "
                "places. This backend is not known; nothing was imported. Export the model to ONNX.",
            )
        refuse_if(
            (np.diff(levels) < 0).any(),
            first.where,
            "the inputs fall where raw numbers rise. Use a positive step.",
        )
        return levels

    def coding(self, levels: Ints) -> Steps:
        """Return the cuts at which the level of raw numbers increases."""
        cuts: list[float] = [self.inputs.low - 1 + (k + 1) / (levels[0] + 1) for k in range(levels[0])]
        for x, turn in enumerate(np.diff(levels).tolist(), self.inputs.low + 1):
            cuts += [x - (turn - 1 - k) / turn for k in range(turn)]
        cuts += [self.inputs.high + 1.0 + k for k in range(255 - len(cuts))]
        return Steps(tuple(cuts), float(self.inputs.low), float(self.inputs.high), whole=True)


def _bytes(tensor: Any) -> Ints:
    """Return levels 0..255 of a quantized tensor; signed bytes are counted from the minimum."""
    codes = tensor.int_repr().numpy().astype(np.int64)
    return np.asarray(codes + 128 if str(tensor.dtype) == "torch.qint8" else codes)


class _QuantizedRecorder:
    """A recorder of all operations of a module that is one path of bytes from the input to the output."""

    def __init__(self, torch: Any, start: Any, source: str) -> None:
        self.torch, self.start, self.source = torch, start, source
        self.steps: list[_QuantizedStep] = []
        self.alive: list[Any] = []
        self.last = self.key(start)

    def key(self, tensor: Any) -> Any:
        """Return the key of a tensor."""
        return tensor.untyped_storage().data_ptr(), tuple(tensor.shape)

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation, and keep it if it is on the path."""
        out = func(*args, **kwargs)
        name = func._schema.name.split("::")[1].rstrip("_")
        reads = [
            k
            for k, v in enumerate(args)
            if isinstance(v, self.torch.Tensor) and (self.key(v) == self.last or v.is_quantized)
        ]
        if not reads or name in _ASKS:
            return out
        where = f"operation {len(self.steps)} ({name})"
        refuse_if(
            reads != [0] or self.key(args[0]) != self.last or name not in _OPERATIONS | _SAME,
            self.source,
            f"{where} is not read in quantized modules: {_HINTS.get(name, _KNOWN)}.",
        )
        self.alive.append(out)
        self.last = self.key(out)
        if name in _SAME:
            refuse_if(
                out.shape[:1] != self.start.shape[:1],
                self.source,
                f"{where} moves the axis of the samples.",
            )
            return out
        levels = _bytes(out if out.is_quantized else args[0]).reshape(len(out), -1)
        points = (args[0], out) if name != "quantize_per_tensor" else ()
        more = (*args[1:], *kwargs.values(), *points)

        def again(tensor: Any) -> Any:
            return func(tensor, *args[1:], **kwargs)

        self.steps.append(_QuantizedStep(name, where, again, more, tuple(out.shape[1:]), levels))
        return out


class _QuantizedLayers:
    """The layers of the operations that ran."""

    def __init__(
        self, torch: Any, source: str, shape: tuple[int, ...], raw: Ints, steps: Sequence[_QuantizedStep]
    ) -> None:
        self.torch, self.raw, self.batch = torch, raw, len(steps[0].levels)
        self.layers: list[Layer] = []
        self.reports: list[LayerReport] = []
        self.asked: list[AskedSteps] = []
        refuse_if(
            any(step.name in ("quantize_per_tensor", "dequantize") for step in steps[1:-1]),
            source,
            "it converts integers to floats on the way. Quantize once, at the start.",
        )
        self.share = sum(step.name in _LINEAR | _CONV for step in steps)
        self.ends = np.full(shape, raw[0]), np.full(shape, raw[-1])
        """The minimum and maximum level of each value."""
        now = shape
        for step in steps[1:-1]:
            layer = self._layer(step, now)
            self.layers.append(layer)
            kind = type(layer).__name__.removesuffix("Layer").lower()
            constant = int(layer.constant.sum())
            self.reports.append(LayerReport(step.where, kind, layer.outputs, 0, constant, 0))
            now = step.shape
        last = steps[-1].args[0]
        size, point = Fraction(float(np.float32(last.q_scale()))), _point(last)
        count = prod(now)
        middle = size * (Fraction(255, 2) - point)
        self.head = Head(np.eye(count, dtype=np.int64), [middle] * count, [size / 2] * count, [255] * count)

    def _layer(self, step: _QuantizedStep, shape: tuple[int, ...]) -> Layer:
        before, after = step.args[-2:]
        zero = _point(before)
        if step.name == "relu":
            self.ends = np.maximum(self.ends[0], zero), np.maximum(self.ends[1], zero)
            steps = [[m if m > zero else 0 for m in range(1, 256)]] * prod(shape)
            return QuantizedLayer(np.eye(prod(shape), dtype=np.int64), steps, [255] * prod(shape))
        if step.name == "quantized_max_pool2d":
            kernel, stride, pad, dilation, longer = (*step.args[:-2], *_POOL[len(step.args) - 2 :])
            refuse_if(longer, step.where, "max pooling with ceil_mode is not read.")
            stride = stride or kernel
            window = _window(shape, kernel, stride, pad, dilation)
            low, high = self.ends
            ends = low.min(axis=(1, 2), keepdims=True), high.max(axis=(1, 2), keepdims=True)
            self.ends = np.broadcast_to(ends[0], step.shape), np.broadcast_to(ends[1], step.shape)
            return PoolLayer(window, top=255)
        packed = step.args[0]
        weight, bias = packed.unpack()
        if str(weight.qscheme()) == "torch.per_tensor_affine":
            scales, points = (np.full(len(weight), one) for one in (weight.q_scale(), weight.q_zero_point()))
        else:
            scales, points = (
                row.numpy() for row in (weight.q_per_channel_scales(), weight.q_per_channel_zero_points())
            )
        weights = weight.int_repr().numpy().astype(np.int64)
        weights = weights - points.astype(np.int64).reshape(-1, *[1] * (weights.ndim - 1))
        shift = (
            np.zeros(len(weights), np.float32) if bias is None else bias.detach().numpy().astype(np.float32)
        )
        guess = _Requantizer(before, after, scales.astype(np.float32), shift, step.name.endswith("_relu"))
        if step.name in _LINEAR:
            refuse_if(
                weights.shape[1:] != (prod(shape),),
                step.where,
                f"{weights.shape[1]} weights a neuron for values of shape {shape}.",
            )
            level = self._steps(step, weights, guess, zero)
            return quantized_layer(weights, level, height=255, top=255, zero=zero, reach=_REACH)
        window = _window(shape, weights.shape[2:], packed.stride(), packed.padding(), packed.dilation())
        groups = int(packed.groups())
        level = self._steps(step, weights, guess, zero, window, groups)
        return quantized_conv(weights, level, window, groups, height=255, top=255, zero=zero, reach=_REACH)

    def _steps(
        self,
        step: _QuantizedStep,
        weights: Ints,
        guess: _Requantizer,
        zero: int,
        window: Window | None = None,
        groups: int = 1,
    ) -> Callable[[Ints], Ints]:
        """Return the requantizer of the kernel."""
        before = step.args[-2]
        rows = weights.reshape(len(weights), -1)
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
        requantizer = partial(_levels_of, steps)
        across = (-1, 1, 1) if window is not None else step.shape
        smallest, largest = (requantizer(sums[:, None]).reshape(across) for sums in operation.reach())
        self.ends = np.broadcast_to(smallest, step.shape), np.broadcast_to(largest, step.shape)
        return requantizer

    def remarks(self) -> tuple[str, ...]:
        """Return remarks on which steps were queried, and which were not."""
        if not self.asked:
            return ()
        steps, asked, moved, again, elsewhere = (
            sum(getattr(row, name) for row in self.asked)
            for name in ("steps", "asked", "moved", "again", "elsewhere")
        )
        engine = self.torch.backends.quantized.engine
        remarks = [
            f"{asked:,} of {many(steps, 'step')} of {many(len(self.asked), 'operation')} were asked of "
            f"PyTorch's kernels on both sides (backend {engine}, this processor, one thread, batches of "
            f"{self.batch}), with small and with large bytes; {moved:,} are not where FBGEMM's arithmetic "
            "has them"
        ]
        if asked < steps:
            apart = min(row.apart for row in self.asked)
            remarks.append(
                f"{many(steps - asked, 'step')} could not be asked and are where the arithmetic of FBGEMM "
                f"has them, which may be some sums off; the nearest of them is {apart:.2g} levels from a tie"
            )
        if elsewhere:
            remarks.append(
                f"the module itself depends on the size of batches: {elsewhere:,} of the {again:,} steps "
                f"nearest to a tie are elsewhere in batches of {other_batch(self.batch)}; the network has "
                f"them as in batches of {self.batch}, the size of the example"
            )
        if any(row.quiet for row in self.asked):
            remarks.append(
                "PyTorch's kernels on this processor overflow where two neighbouring products exceed 16 "
                "bits: the network has the sums without overflow, and its steps were asked with small bytes"
            )
        return tuple(remarks)


def _levels_of(steps: Ints, sums: Ints) -> Ints:
    """Return the levels of sums, by the steps of a requantizer."""
    rows = [np.searchsorted(row, row_sums, side="right") for row, row_sums in zip(steps, sums, strict=True)]
    return np.array(rows).reshape(sums.shape)


def _tensor(torch: Any, like: Any, levels: Ints) -> Any:
    """Return levels as a quantized tensor with the scale, zero point and layout of another."""
    signed = str(like.dtype) == "torch.qint8"
    codes = torch.from_numpy((levels - 128).astype(np.int8) if signed else levels.astype(np.uint8))
    tensor = torch._make_per_tensor_quantized_tensor(codes, like.q_scale(), like.q_zero_point())
    if like.dim() == 4 and not like.is_contiguous():
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    return tensor


_POOL: tuple[Any, ...] = (None, [], [0, 0], [1, 1], False)
_REACH = 1 << 24
"""Integers up to this one are exact in float32."""


def _window(shape: tuple[int, ...], kernel: Any, stride: Any, pad: Any, dilation: Any) -> Window:
    size, step, gap, pads = ((int(row[0]), int(row[-1])) for row in (kernel, stride, dilation, pad))
    refuse_if(len(shape) != 3, f"a window over values of shape {shape}, but maps are needed.")
    return Window((shape[0], shape[1], shape[2]), size, step, gap, pads * 2)


def _point(tensor: Any) -> int:
    """Return the level of 0."""
    return int(tensor.q_zero_point()) + (128 if str(tensor.dtype) == "torch.qint8" else 0)


class _Requantizer:
    """Bytes of integer sums as FBGEMM computes them in float32.

    The bias is added in units of the sum, then one factor is applied, and the result is rounded half to even.
    """

    def __init__(self, before: Any, after: Any, scales: Any, bias: Any, relu: bool) -> None:
        unit = (np.float32(before.q_scale()) * scales).astype(np.float32)
        self.bias = (bias / unit).astype(np.float32)[:, None]
        self.factor = (unit / np.float32(after.q_scale())).astype(np.float32)[:, None]
        self.zero = _point(after)
        self.min_level = self.zero if relu else 0

    def doubt(self, steps: Ints) -> Doubles:
        """Return how far the sums at and below each step are from a tie, in levels; infinite if there is
        none.
        """
        ties = np.arange(1, 256) - self.zero - 0.5
        near = [
            np.abs((steps - k + self.bias.astype(float)) * self.factor.astype(float) - ties) for k in (0, 1)
        ]
        return np.where(steps == NEVER, np.inf, np.minimum(*near))

    def __call__(self, sums: Ints) -> Ints:
        moved = sums.astype(np.float32) + self.bias
        rounded = np.rint((moved * self.factor).astype(np.float32)).astype(np.int64)
        return np.asarray(np.clip(rounded + self.zero, self.min_level, 255))


_SAMPLES, _NEAR = 256, 8


def is_quantized(module: Any) -> bool:
    """Return whether a module has layers of torch.ao.nn.quantized, whose weights are packed."""
    return hasattr(module, "modules") and any(
        type(part).__module__.startswith(("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized"))
        for part in module.modules()
    )


def read_quantized(
    module: Any,
    example: Any,
    inputs: Inputs | None,
    *,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    image: Any = None,
    prove: bool = True,
) -> ImportReport:
    """Return the exact network of a quantized module, compared with it byte by byte."""
    torch = require_torch()
    source = type(module).__name__
    batch, *sizes = (int(size) for size in checked_example(torch, example, source).shape)
    shape = tuple(sizes)
    if not isinstance(inputs, Integers):
        raise FileError(
            f"{source}: say what raw samples are: inputs=Integers(0, 255, step=Fraction(1, 255)) for pixels "
            "divided by 255; a quantized module rounds them in float32."
        )
    refuse_if(
        inputs.channels > 1,
        source,
        "a quantized module rounds its inputs with one scale: use one step and start for all channels.",
    )
    with _one_thread(torch):
        runner = _QuantizedRun(torch, module, batch, shape, inputs, source)
        steps, _ = runner.run(np.full((batch, prod(shape)), inputs.low))
        _all_used(source, module, steps)
        try:
            made = _QuantizedLayers(torch, source, shape, runner.levels(steps), steps)
        except NetworkError as error:
            raise FileError(f"{source}: {error}") from error
        called = pixel_names(shape) if names is None else names
        encoder = Encoder([runner.coding(made.raw)] * prod(shape), called, shape if len(shape) > 1 else None)
        about = Source(inputs.start, inputs.step, "equal")
        network = Network(encoder, made.layers, made.head, classes, {"source": source}, about)
        imported = ImportReport(network, tuple(made.reports), made.remarks(), shape)
        imported = imported if image is None else with_image(imported, image, names)
        return _proved(imported, runner) if prove else imported


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Use one thread: queries are many small calls, which threads only slow down."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _all_used(source: str, module: Any, steps: Sequence[_QuantizedStep]) -> None:
    """Refuse a module with a layer that did not run, or with parameters outside of layers."""
    used = sum(step.name in _LINEAR | _CONV for step in steps)
    there = [path for path, part in module.named_modules() if hasattr(part, "_packed_params")]
    layers = [path for path in there if not path.endswith("._packed_params")]
    refuse_if(
        used != len(layers),
        f"{source}: {used} layers ran, but it holds {len(layers)}: {', '.join(layers[:8])}. Each must "
        "be used "
        "exactly once.",
    )
    floats = next((name for name, _ in module.named_parameters()), None)
    refuse_if(
        floats is not None,
        source,
        f"its float parameter {floats!r} is used by nothing that was read. Remove it, or quantize its layer.",
    )


def _proved(imported: ImportReport, runner: _QuantizedRun) -> ImportReport:
    """Compare every byte of the module with the network, and return the import."""
    network, random = imported.network, np.random.default_rng(0)
    domain = RawRanges.of_encoder(network.encoder)
    hidden = partial(network.hidden, engine="numpy")
    pool = domain.samples(_SAMPLES, random)
    near = turning(network, domain, hidden, pool, _NEAR, random, direct=True)
    rows = np.concatenate([pool, near])
    steps, scores = runner.run(rows)
    ours = hidden(rows)
    for layer, step in zip(ours, steps[1:-1], strict=True):
        differs = layer != step.levels
        if differs.any():
            sample, index = (int(k) for k in np.argwhere(differs)[0])
            raise FileError(
                f"{runner.source}: {step.where}: value {index} of sample {sample} is "
                f"{int(step.levels[sample, index])} in PyTorch, where its kernel, asked alone, gives "
                f"{int(layer[sample, index])}. This backend computes in a way that is not known; nothing was "
                "imported. Export the model to ONNX instead."
            )
    mine = network.logits(rows)
    refuse_if(
        not np.array_equal(mine.astype(np.float32), scores.astype(np.float32)),
        runner.source,
        "its scores are not those of the network. Please report this.",
    )
    count = sum(layer.size for layer in ours)
    compared = ("the module itself, byte by byte",)
    proof = ImportProof(compared, len(rows), len(near), len(ours), (), count, scores.size, 0, 0, True)
    return replace(imported, proof=proof)
