"""A quantized module on raw whole numbers: every operation that ran, and the bytes that it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Steps
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.domains import Integers
from sugenet.io.torch.reader import first_of, forward_failed

__all__ = ["CONV", "LINEAR", "QuantizedRun", "QuantizedStep"]

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
LINEAR = frozenset(("linear", "linear_relu"))
CONV = frozenset(("conv2d", "conv2d_relu"))
_OPERATIONS = LINEAR | CONV | {"quantize_per_tensor", "quantized_max_pool2d", "relu", "dequantize"}


@dataclass(frozen=True, eq=False)
class QuantizedStep:
    """One operation that ran: what it is, and the bytes that it gave, one row a sample."""

    name: str
    where: str
    call: Callable[[Any], Any]
    """The operation with its other arguments."""
    args: tuple[Any, ...]
    shape: tuple[int, ...]
    levels: Ints


class QuantizedRun:
    """The module on raw whole numbers, showing every operation."""

    def __init__(
        self, torch: Any, module: Any, batch: int, shape: tuple[int, ...], inputs: Integers, source: str
    ) -> None:
        self.torch, self.module, self.inputs, self.source = torch, module, inputs, source
        self.batch, self.shape = batch, shape
        values = [float(inputs.value(x)) for x in range(inputs.low, inputs.high + 1)]
        self.values = np.array(values, np.float32)

    def run(self, rows: npt.NDArray[Any]) -> tuple[list[QuantizedStep], npt.NDArray[np.float64]]:
        """All operations of samples, in batches as large as the example, and what came out."""
        full = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % self.batch, axis=0)])
        parts = [self._run(full[k : k + self.batch]) for k in range(0, len(full), self.batch)]
        steps = [
            replace(same[0], levels=np.concatenate([step.levels for step in same])[: len(rows)])
            for same in zip(*(part[0] for part in parts), strict=True)
        ]
        return steps, np.concatenate([part[1] for part in parts])[: len(rows)]

    def _run(self, rows: npt.NDArray[Any]) -> tuple[list[QuantizedStep], npt.NDArray[np.float64]]:
        given = self.values[rows.astype(np.int64) - self.inputs.low]
        batch = self.torch.from_numpy(given.reshape(len(rows), *self.shape))
        recorder = _recorder(self.torch)(batch, self.module)
        try:
            with self.torch.no_grad(), recorder:
                output = first_of(self.module(batch))
        except FileError:
            raise
        except Exception as error:  # whatever the module's own code raises
            raise forward_failed(self.module, batch, error) from error
        if recorder.key(output) != recorder.last or output.is_quantized:
            raise FileError(
                f"{self.source}: its output is not the result of its last quantized layer, dequantized. End "
                "it with a DeQuantStub."
            )
        return recorder.steps, output.detach().numpy().astype(np.float64).reshape(len(rows), -1)

    def levels(self, steps: Sequence[QuantizedStep]) -> Ints:
        """The level of every raw number, asked of the quantizer of the inputs: all at once, and each alone at
        every place of a sample.
        """
        if not steps or steps[0].name != "quantize_per_tensor" or steps[-1].name != "dequantize":
            raise FileError(f"{self.source}: it must begin with a QuantStub and end with a DeQuantStub.")
        first = steps[0]
        levels = _bytes(first.call(self.torch.from_numpy(self.values)))
        for value, level in zip(self.values[:_RAW], levels, strict=False):
            alone = _bytes(first.call(self.torch.full((1, *self.shape), float(value))))
            if (alone != level).any():
                raise FileError(
                    f"{first.where}: the quantizer gives {float(value):.9g} different levels at different "
                    "places. This backend is not known; nothing was imported. Export the model to ONNX."
                )
        if (np.diff(levels) < 0).any():
            raise FileError(f"{first.where}: the inputs fall where raw numbers rise. Use a positive step.")
        return levels

    def coding(self, levels: Ints) -> Steps:
        """Cuts where the level of raw numbers is more."""
        cuts: list[float] = [self.inputs.low - 1 + (k + 1) / (levels[0] + 1) for k in range(levels[0])]
        for x, turn in enumerate(np.diff(levels).tolist(), self.inputs.low + 1):
            cuts += [x - (turn - 1 - k) / turn for k in range(turn)]
        cuts += [self.inputs.high + 1.0 + k for k in range(255 - len(cuts))]
        return Steps(tuple(cuts), float(self.inputs.low), float(self.inputs.high), whole=True)


def _bytes(tensor: Any) -> Ints:
    """Levels 0..255 of a quantized tensor: signed bytes are counted from the least."""
    whole = tensor.int_repr().numpy().astype(np.int64)
    return np.asarray(whole + 128 if str(tensor.dtype) == "torch.qint8" else whole)


def _again(operation: Any, args: tuple[Any, ...], options: dict[str, Any], tensor: Any) -> Any:
    """An operation that ran, on another tensor."""
    return operation(tensor, *args, **options)


def _recorder(torch: Any) -> Any:
    """The class that sees every operation; made here, since it needs PyTorch's own base class."""
    from torch.utils._python_dispatch import TorchDispatchMode

    @dataclass
    class WholeRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
        start: Any
        module: Any
        steps: list[QuantizedStep] = field(default_factory=list)
        alive: list[Any] = field(default_factory=list)

        def __post_init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.last: Any = self.key(self.start)

        def key(self, tensor: Any) -> Any:
            return tensor.untyped_storage().data_ptr(), tuple(tensor.shape)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            name = func._schema.name.split("::")[1].rstrip("_")
            reads = [
                k
                for k, v in enumerate(args)
                if isinstance(v, torch.Tensor) and (self.key(v) == self.last or v.is_quantized)
            ]
            if not reads or name in _ASKS:
                return out
            where = f"operation {len(self.steps)} ({name})"
            if reads != [0] or self.key(args[0]) != self.last or name not in _OPERATIONS | _SAME:
                raise FileError(
                    f"{type(self.module).__name__}: {where} is not read in quantized modules: "
                    f"{_HINTS.get(name, _KNOWN)}."
                )
            self.alive.append(out)
            self.last = self.key(out)
            if name not in _SAME:
                levels = _bytes(out if out.is_quantized else args[0]).reshape(len(out), -1)
                more = tuple(args[1:]) + tuple((kwargs or {}).values())
                points = (args[0], out) if name != "quantize_per_tensor" else ()
                call = partial(_again, func, args[1:], kwargs or {})
                self.steps.append(
                    QuantizedStep(name, where, call, (*more, *points), tuple(out.shape[1:]), levels)
                )
            elif out.shape[:1] != self.start.shape[:1]:
                raise FileError(f"{type(self.module).__name__}: {where} moves the axis of the samples.")
            return out

    return WholeRecorder
