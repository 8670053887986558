"""A PyTorch module as the judge of what was read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import DOUBLE, SINGLE, nearest
from sugenet.io.exact.ops import Affine, Op, OpChain, Sign, Stairs, every
from sugenet.io.proof.judges import Seen, SourceJudge, Stage
from sugenet.io.torch.reader import first_of, require_torch, signal_of_module
from sugenet.io.torch.signals import SignalNode

__all__ = ["judges_of_module"]

_Array = npt.NDArray[Any]


def judges_of_module(module: Any, example: Any, chain: OpChain) -> list[SourceJudge]:
    """A PyTorch module as the judge of what was read from it: a copy in float64, or the module as it is where
    there can be none.
    """
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
                SourceJudge(
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
    except Exception:  # whatever a module does that float64 does not allow
        pass
    own = _Module(torch, module, torch.as_tensor(example), shape, double=False)
    return [SourceJudge("the module itself", own, own.floats)]


def _alike(a: Op, b: Op) -> bool:
    """Whether two operations are the same but for the last digits of their numbers."""
    if type(a) is not type(b):
        return False
    for name, value in vars(a).items():
        other = getattr(b, name)
        if name == "where" or value is other:
            continue
        if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
            if value is None or other is None or np.shape(value) != np.shape(other):
                return False
            x, y = np.asarray(value, np.float64), np.asarray(other, np.float64)
            if not np.allclose(x, y, rtol=1e-4, atol=1e-6 * float(np.abs(x).max(initial=0))):
                return False
        elif isinstance(value, float):
            if not np.isclose(value, other, rtol=1e-4, atol=0):
                return False
        elif value != other:
            return False
    return True


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

    def __call__(self, x: _Array) -> Seen:
        given = self.torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64).reshape(len(x), *self.shape))
        batch = given.to(self.device, self.dtype)
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
            else _level_stage(node.op, node, path[place + 1 :], 16 * self.floats.unit * node.reach)
            for place, node in enumerate(path)
            if isinstance(node.op, Sign | Stairs) and node.before is not None
        ]
        return Seen(plain, tuple(stages), signal.node.values.reshape(len(x), -1)[:, signal.order.reshape(-1)])


def _level_stage(op: Stairs, node: SignalNode, behind: Sequence[SignalNode], slack: float) -> Stage:
    """A quantizer, whose levels are seen from the program's own values behind it."""
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


def _stage(op: Sign, before: _Array, values: _Array, slack: float) -> Stage:
    """A sign that gives its values up to rounding, as ``x + (sign(x) - x)`` does, gives them."""
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
    """Numbers that the forward pass makes as float32 are made as float64."""
    if not double:
        yield
        return
    from torch.utils._python_dispatch import TorchDispatchMode

    class Wider(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            wide = {
                key: torch.float64 if value is torch.float32 else value
                for key, value in (kwargs or {}).items()
            }
            return func(*(torch.float64 if value is torch.float32 else value for value in args), **wide)

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Wider():  # type: ignore[no-untyped-call]
            yield
    finally:
        torch.set_default_dtype(before)
