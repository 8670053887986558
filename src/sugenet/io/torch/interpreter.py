"""Interpreters of PyTorch sources.

A module runs itself, in float64 if possible. A state dict is run by PyTorch's own functions, part by part
according to the architecture.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from importlib.util import find_spec
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import DOUBLE, SINGLE, nearest
from sugenet.io.exact.ops import Affine, Op, OpChain, Quantize, Sign, every
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage, interpreter_of_stages
from sugenet.io.torch.architecture import Architecture, Part
from sugenet.io.torch.reader import dispatching, first_of, require_torch, signal_of_module
from sugenet.io.torch.signals import SignalNode
from sugenet.nn.arrays import Array

__all__ = ["interpreters_of_module", "interpreters_of_state_dict"]


def interpreters_of_module(module: Any, example: Any, chain: OpChain) -> list[SourceInterpreter]:
    """Return a PyTorch module as its own interpreter: a float64 copy, or itself if that fails."""
    torch = require_torch()
    shape = tuple(int(size) for size in torch.as_tensor(example).shape[1:])
    trial = np.asarray(torch.as_tensor(example).detach().cpu().to(torch.float64).numpy())[:1]
    wide = _Module(torch, module, torch.as_tensor(example), shape, double=True)
    try:
        wide.module = deepcopy(module).double()
        seen = wide(trial)
        ops = list(every(chain.ops))
        if len(wide.ops) == len(ops) and all(_alike(a, b) for a, b in zip(wide.ops, ops, strict=True)):
            return [
                SourceInterpreter(
                    "the module itself in float64",
                    wide,
                    DOUBLE,
                    follows=True,
                    ops=wide.ops,
                    reaches=lambda: wide.reaches,
                )
            ]
        if not seen.stages:
            raise FileError("the copy in float64 cannot be followed.")
    except Exception:  # any error of a module that does not support float64
        pass
    wrapped = _Module(torch, module, torch.as_tensor(example), shape, double=False)
    return [SourceInterpreter("the module itself", wrapped, wrapped.floats)]


def _alike(a: Op, b: Op) -> bool:
    """Return whether two operations are equal up to the last digits of their numbers."""
    fields = (name for name in vars(a) if name != "where")
    return type(a) is type(b) and all(_close(getattr(a, name), getattr(b, name)) for name in fields)


def _close(value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return False
    if isinstance(value, float):
        return bool(np.isclose(value, other, rtol=1e-4, atol=0))
    if not isinstance(value, np.ndarray):
        return bool(value == other)
    x, y = (np.asarray(row, np.float64) for row in (value, other))
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-4, atol=1e-6 * float(np.abs(x).max(initial=0)))


class _Module:
    """A module that runs on float64 samples and shows its signs."""

    def __init__(
        self, torch: Any, module: Any, example: Any, shape: tuple[int, ...], *, double: bool
    ) -> None:
        self.torch, self.module, self.shape, self.double = torch, module, shape, double
        first = next(iter(module.parameters()), None)
        self.device = example.device if first is None else first.device
        floating = example.is_floating_point()
        kind = first.dtype if first is not None and first.is_floating_point() else example.dtype
        self.dtype = (torch.float64 if double else kind) if floating else example.dtype
        self.floats = DOUBLE if double or kind == torch.float64 else SINGLE
        self.reaches: tuple[float, ...] = ()
        self.ops: tuple[Op, ...] = ()

    def __call__(self, x: Array) -> Seen:
        samples = self.torch.from_numpy(
            np.ascontiguousarray(x, dtype=np.float64).reshape(len(x), *self.shape)
        )
        batch = samples.to(self.device, self.dtype)
        with self.torch.no_grad(), _widened(self.torch, self.double):
            outputs = first_of(self.module(batch.clone()))
            plain = np.asarray(outputs.detach().cpu().to(self.torch.float64).numpy())
            try:
                signal, _, _ = signal_of_module(self.module, batch.clone())
            except FileError:
                return Seen(plain)
        if not signal.tail:
            signal = signal.settled(plain, "output")
        signal = signal.flat("output")
        path = list(signal.node.every())
        self.ops = tuple(node.op for node in path if node.op is not None)
        self.reaches = tuple(node.reach for node in path if node.op is not None)
        stages = [
            _stage(node.op, node.before.values, node.values, 16 * self.floats.unit * node.reach)
            if isinstance(node.op, Sign)
            else _level_stage(node.op, node, path[index + 1 :], 16 * self.floats.unit * node.reach)
            for index, node in enumerate(path)
            if isinstance(node.op, Sign | Quantize) and node.before is not None
        ]
        return Seen(plain, tuple(stages), signal.node.values.reshape(len(x), -1)[:, signal.order.reshape(-1)])


def _level_stage(op: Quantize, node: SignalNode, behind: Sequence[SignalNode], slack: float) -> Stage:
    """Return the stage of a quantizer, whose levels are seen from the program's own later values."""
    assert node.before is not None
    counts, before = node.values, node.before.values
    if behind and isinstance(behind[0].op, Affine) and behind[0].op.where == op.where:
        scale, shift = (
            float(np.asarray(row).reshape(-1)[0]) for row in (behind[0].op.scale, behind[0].op.shift)
        )
        counts = (behind[0].values - shift) / scale
    levels = np.rint(counts).astype(np.int64).reshape(len(before), -1)
    apart = nearest(op, before).reshape(levels.shape)
    return Stage.of_levels(op.where, apart, levels, np.abs(apart) <= slack)


def _stage(op: Sign, before: Array, values: Array, slack: float) -> Stage:
    """Return the stage of a sign; its values may be rounded, as those of ``x + (sign(x) - x)``."""
    before, flat = before.reshape(len(values), -1), values.reshape(len(values), -1)
    near = 1e-6 * (op.high - op.low)
    high, low = (np.abs(flat - value) <= near for value in (op.high, op.low))
    clean = bool(np.all((flat == op.high) | (flat == op.low) | ~(high | low)))
    above, below = before > 0, before < 0
    turned = (np.abs(before) <= slack) & (
        (above & ~high) | (below & ~low) | (~above & ~below & (high if op.zero != 1 else ~high))
    )
    return Stage(op.where, before, high, low, clean, turned)


@contextmanager
def _widened(torch: Any, double: bool) -> Iterator[None]:
    """Make the forward pass create float64 numbers in place of float32 numbers."""
    if not double:
        yield
        return

    def wide(value: Any) -> Any:
        return torch.float64 if value is torch.float32 else value

    def widened(func: Any, args: Any, kwargs: Any) -> Any:
        return func(*map(wide, args), **{key: wide(value) for key, value in kwargs.items()})

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with dispatching(widened):
            yield
    finally:
        torch.set_default_dtype(before)


def interpreters_of_state_dict(
    arrays: Mapping[str, Array], architecture: Architecture, shape: tuple[int, ...]
) -> list[SourceInterpreter]:
    """Return an interpreter that runs PyTorch's functions on the named parameters; none without PyTorch."""
    if find_spec("torch") is None:
        return []
    name = "PyTorch's functions in float64"
    return [interpreter_of_stages(name, lambda x, stages: _run(arrays, architecture, shape, x, stages))]


def _run(
    arrays: Mapping[str, Array],
    architecture: Architecture,
    shape: tuple[int, ...],
    x: Array,
    stages: list[Stage],
) -> Array:
    import torch

    now = torch.from_numpy(np.ascontiguousarray(x, np.float64).reshape(len(x), *shape))
    with torch.no_grad():
        for part in architecture:
            before = now
            now = _past(torch, part, arrays, now)
            if part.kind == "quantize":
                codes = (before / _unit(torch, part, arrays)).reshape(len(x), -1)
                low, high = _ends(part)
                levels = torch.round(now.reshape(len(x), -1) / _unit(torch, part, arrays)) - low
                thresholds = (torch.floor(codes) + 0.5).clamp(low + 0.5, high - 0.5)
                stages.append(Stage.of_levels(str(part), (codes - thresholds).numpy(), levels.long().numpy()))
            if part.kind == "sign":
                flat, zero = before.reshape(len(x), -1).numpy(), part.text("zero", "1")
                on, off = flat > 0, flat < 0
                at = flat == 0
                stages.append(Stage(str(part), flat, on | (at & (zero == "1")), off | (at & (zero == "-1"))))
    return np.asarray(now.numpy())


def _past(torch: Any, part: Part, arrays: Mapping[str, Array], x: Any) -> Any:
    functional = torch.nn.functional

    def tensor(name: str) -> Any:
        array = arrays.get(f"{part.name}.{name}")
        return None if array is None else torch.from_numpy(np.array(array, np.float64))

    def two(key: str, otherwise: str) -> list[int]:
        row = [int(word) for word in part.text(key, otherwise).split("x")]
        return row * (3 - len(row))

    def one(key: str, otherwise: float) -> float:
        return float(part.number(key, otherwise))

    match part.kind:
        case "linear" | "conv":
            weight, bias = (
                _weight(torch, part, arrays[f"{part.name}.weight"]),
                None if part.text("bias", "yes") == "no" else tensor("bias"),
            )
            if part.kind == "linear":
                return functional.linear(x, weight, bias)
            stride, pad, dilation = two("stride", "1"), two("pad", "0"), two("dilation", "1")
            return functional.conv2d(x, weight, bias, stride, pad, dilation, int(part.text("groups", "1")))
        case "batchnorm":
            mean, var = tensor("running_mean"), tensor("running_var")
            return functional.batch_norm(x, mean, var, tensor("weight"), tensor("bias"), eps=one("eps", 1e-5))
        case "tensornorm":
            wide = (x - tensor("running_mean")) / (tensor("running_var") + one("eps", 1e-4)).sqrt()
            gain, shift = tensor("weight"), tensor("bias")
            return wide * (1 if gain is None else gain) + (0 if shift is None else shift)
        case "affine":
            return x * one("scale", 1) + one("shift", 0)
        case "quantize":
            unit, ends = _unit(torch, part, arrays), _ends(part)
            return torch.round((x / unit).clamp(*ends)) * unit
        case "sign":
            low, high = one("low", -1), one("high", 1)
            zero = {"1": high, "-1": low, "0": (low + high) / 2}[part.text("zero", "1")]
            return torch.where(x > 0, high, torch.where(x < 0, low, zero)).to(torch.float64)
        case "clip" | "hardtanh" | "relu":
            options = dict(part.options)
            if part.kind != "clip":
                return functional.hardtanh(x) if part.kind == "hardtanh" else functional.relu(x)
            return (
                x.clamp(
                    one("low", 0) if "low" in options else None, one("high", 0) if "high" in options else None
                )
                if options
                else x
            )
        case "leaky":
            return (
                functional.prelu(x, tensor("weight"))
                if part.name
                else functional.leaky_relu(x, one("slope", 0.01))
            )
        case "maxpool":
            return functional.max_pool2d(
                x, two("kernel", "2"), two("stride", part.text("kernel", "2")), two("pad", "0")
            )
        case "avgpool":
            kernel, stride = two("kernel", "2"), two("stride", part.text("kernel", "2"))
            return functional.avg_pool2d(
                x, kernel, stride, two("pad", "0"), count_include_pad=part.text("count_pads", "yes") == "yes"
            )
        case "globalavgpool":
            return functional.adaptive_avg_pool2d(x, 1)
        case "pad":
            high, wide = two("size", "1")
            return functional.pad(x, (wide, wide, high, high), value=one("value", 0))
        case "flatten":
            return (
                x.permute(0, 2, 3, 1) if part.text("order", "CHW") == "HWC" and x.ndim == 4 else x
            ).flatten(1)
    assert part.kind == "unused", part
    return x


def _ends(part: Part) -> tuple[int, int]:
    """Return the range of integers of a Brevitas quantizer: two's complement, minus one if narrow."""
    states, less = 2 ** int(part.text("bits", "0")), int(part.text("narrow", "yes") == "yes")
    if part.text("signed", "yes") == "no":
        return 0, states - 1 - less
    return less - states // 2, states // 2 - 1


def _unit(torch: Any, part: Part, arrays: Mapping[str, Array]) -> Any:
    """Return the step of a quantizer, in the floats of the file."""
    scale = torch.tensor(float(part.number("scale", 1)), dtype=torch.float32)
    if part.name:
        scale = torch.from_numpy(np.array(arrays[part.name], np.float32)).reshape(())
        scale = torch.exp2(scale) if part.text("learned", "") == "log2" else scale
    return (scale.abs() / max(map(abs, _ends(part)))).double()


def _weight(torch: Any, part: Part, stored: Array) -> Any:
    """Return trained weights as the forward pass uses them."""
    w = torch.from_numpy(np.array(stored, np.float64))
    match part.text("weights", "stored"):
        case "stored":
            return w
        case "ternary":
            return w.sign()
        case "sign":
            return (w >= 0).double() * 2 - 1
        case "quantized":
            options = tuple(option for option in part.options if option[0] in ("bits", "scale"))
            unit, (low, high) = _unit(torch, Part("quantize", "", options), {}), _ends(part)
            codes = torch.from_numpy(np.array(stored, np.float32)) / unit.float()
            return torch.round(codes.clamp(low, high)).double() * unit
    rows = stored.reshape(len(stored), -1) if part.text("weights", "") == "scaled" else stored.reshape(1, -1)
    kind = stored.dtype.type if stored.dtype.kind == "f" else np.float64
    # In the floats of the file, as in the program.
    sizes = np.maximum(np.abs(rows).mean(axis=1), kind(float(part.number("floor", 0))))
    wide = torch.from_numpy(sizes.astype(np.float64)).reshape(-1, *[1] * (w.ndim - 1))
    return torch.where(w >= 0, wide, -wide)
