"""Read a PyTorch module as a chain: run it once on a few samples, and follow every operation.

A layer is read from its computations, not from its class. So the reader handles layers that binarize their
weights in `forward`, straight-through signs written as autograd functions, functional calls, and modules of
any library. They are read as the operations that they perform, with the weights that they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from sugenet.errors import FileError, how_to_install
from sugenet.io.exact.ops import OpChain
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.io.torch.alone import Operation, mapped
from sugenet.io.torch.operations import ON_ROWS, OPERATIONS, Call
from sugenet.io.torch.piecewise import Piecewise
from sugenet.io.torch.signals import Signal, chain_of_signal, exact, start
from sugenet.nn.arrays import Array, Doubles

__all__ = [
    "chain_of_module",
    "checked_example",
    "dispatching",
    "first_of",
    "require_torch",
    "signal_of_module",
    "watched_output",
]

_PROBES = (-8.0, -1.0, -1e-3, -0.0, 0.0, 1e-3, 1.0, 8.0)
_ROWS = 4
_MAKES_CONSTANTS = frozenset(
    (
        "ones_like",
        "zeros_like",
        "full_like",
        "empty_like",
        "new_empty",
        "new_zeros",
        "new_ones",
        "new_full",
        "new_empty_strided",
    )
)
"""Operations that use the shape of their argument and not its values."""


_SAME_NUMBERS = frozenset(
    ("t", "transpose", "permute", "view", "_unsafe_view", "reshape", "detach", "alias", "clone", "_to_copy")
)
"""Operations that return the numbers of their first argument, possibly in other positions."""


def chain_of_module(module: Any, example: Any, *, alone: bool = True) -> OpChain:
    """Return the operations of a PyTorch module in eval mode, from raw samples to scores.

    Parameters
    ----------
    module
        Any `torch.nn.Module` whose forward pass takes one tensor and does not branch on its values.
    example
        A batch of at least one sample, a tensor or an array of shape (samples, ...).
    alone
        Whether each operation is compared alone with PyTorch's own (default: True).

    Raises
    ------
    FileError
        If something cannot be read exactly. The error names the module by its path, the operation, and the
        nearest alternative that works.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> class Sign(nn.Module):
    ...     def forward(self, x):
    ...         return torch.where(x >= 0, 1.0, -1.0)
    >>> hidden = (nn.Flatten(), nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Hardtanh(), Sign())
    >>> net = nn.Sequential(*hidden, nn.Linear(3, 2), nn.Softmax(dim=1))
    >>> chain = chain_of_module(net.eval(), torch.zeros(1, 2, 2))
    >>> [(type(op).__name__, op.where) for op in chain.ops][1:4]
    [('BatchNorm', '2 (BatchNorm1d)'), ('Sign', '4 (Sign)'), ('LinearOp', '5 (Linear)')]
    >>> chain.left_out
    ('softmax at 6 (Softmax)',)
    """
    torch = require_torch()
    _check_mode(torch, module)
    source = type(module).__name__
    batch = _batch(torch, module, example)
    _check_evaluation(torch, module, batch)
    signal, actual, n_compared = signal_of_module(module, batch, alone=alone)
    chain = chain_of_signal(source, signal, actual, f"output of {source}")
    return replace(chain, compared_alone=n_compared)


def signal_of_module(module: Any, batch: Any, *, alone: bool = False) -> tuple[Signal, Doubles, int]:
    """Return the output of a module for a batch as a signal, its values, and the number of compared
    operations.

    The signal has all nodes before it. Operations are compared alone only if requested.
    """
    torch = require_torch()
    _check_mode(torch, module)
    recorder = _Recorder(torch, alone)
    recorder.put(batch, start(_numpy(torch, batch).astype(np.float64)))
    with _watched(torch, module, recorder):
        output = watched_output(module, batch, recorder.see)
    unused = next(
        (
            name
            for name, value in module.named_parameters()
            if value.numel() and value.untyped_storage().data_ptr() not in recorder.read
        ),
        None,
    )
    refuse_if(
        unused is not None,
        f"{type(module).__name__}: its parameter {unused!r} would be left over: the forward pass does "
        "not use it. Take it out of the module if the network does not need it.",
    )
    lost = recorder.lost.get(recorder.key(output)) if isinstance(output, torch.Tensor) else None
    refuse_if(lost is not None, f"{type(module).__name__}: the output is one of the values of {lost}.")
    signal = required(
        recorder.find(output),
        f"{type(module).__name__}: the output cannot be traced back to the input. The forward pass "
        "leaves PyTorch on the way (NumPy, lists) or returns something that is not a tensor.",
    )
    return signal, _numpy(torch, output).astype(np.float64), recorder.n_compared


def first_of(output: Any) -> Any:
    """Return the output of a module, or the first of several outputs."""
    while isinstance(output, tuple | list) and output:
        output = output[0]
    return output


def require_torch() -> Any:
    """Return PyTorch, or raise an error that says how to install it."""
    try:
        import torch
    except ImportError:
        raise FileError(
            f"reading PyTorch modules and checkpoints needs PyTorch; {how_to_install('torch')}"
        ) from None
    return torch


def _numpy(torch: Any, value: Any) -> Array:
    tensor = torch.as_tensor(value).detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return np.asarray(tensor.cpu().resolve_conj().resolve_neg().numpy())


def checked_example(torch: Any, example: Any, source: str) -> Any:
    """Return the example as a tensor, or raise an error that describes a valid example."""
    wanted = "a batch of samples, such as torch.zeros(1, 784) or torch.zeros(1, 1, 28, 28)"
    refuse_if(
        example is None,
        source,
        f"no example is given, and a module does not say what it reads. Give {wanted}.",
    )
    try:
        tensor = torch.as_tensor(example).detach()
    except Exception as error:  # PyTorch raises many kinds of errors for invalid tensors
        raise FileError(
            f"{source}: the example, of type {type(example).__name__}, is not a tensor "
            f"({str(error).splitlines()[0][:120]}). Give {wanted}."
        ) from None
    refuse_if(
        tensor.ndim < 2 or not tensor.numel(),
        f"example has shape {tuple(tensor.shape)}, but a batch is needed: (samples, features) or "
        f"(samples, channels, ...).",
    )
    refuse_if(
        tensor.is_complex() or (tensor.is_floating_point() and not bool(torch.isfinite(tensor).all())),
        source,
        f"the example has a value that is not a finite number. Give {wanted}.",
    )
    return tensor


def watched_output(module: Any, batch: Any, see: Callable[[Any, Any, Any], Any]) -> Any:
    """Return the output of a module for a batch, or the first of several, with every operation run by `see`.

    Refuse the module if it cannot take the batch.
    """
    try:
        with require_torch().no_grad(), dispatching(see):
            output = module(batch)
    except FileError:
        raise
    except Exception as error:  # any error of PyTorch or of the module's own code
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileError(
            f"{type(module).__name__}: its forward pass fails on samples of shape {tuple(batch.shape[1:])} "
            f"and type {str(batch.dtype).removeprefix('torch.')}: {why}. Give an example with samples of the "
            "shape and type that the module reads."
        ) from error
    return first_of(output)


def _batch(torch: Any, module: Any, example: Any) -> Any:
    """Return the example, the same numbers in another order, and numbers of both signs.

    They are enough to detect misread operations.
    """
    tensor = checked_example(torch, example, type(module).__name__)
    first = next(iter(module.parameters()), tensor)
    if tensor.is_floating_point() and first.is_floating_point():
        tensor = tensor.to(first.dtype)
    random = np.random.default_rng(0)
    row = _numpy(torch, tensor[:1])
    rows = [row.reshape(-1)[random.permutation(row.size)].reshape(row.shape) for _ in range(_ROWS)]
    if row.dtype.kind == "f":
        rows += [random.standard_normal(row.shape) for _ in range(_ROWS)]
    else:
        rows += [
            random.integers(0, 2 if row.dtype.kind == "b" else 127, row.shape, endpoint=True)
            for _ in range(_ROWS)
        ]
    more = torch.from_numpy(np.concatenate(rows)).to(tensor.dtype)
    return torch.cat([tensor[:_ROWS], more.to(tensor.device)]).to(first.device)


def _check_mode(torch: Any, module: Any) -> None:
    refuse_if(
        not isinstance(module, torch.nn.Module), f"a torch.nn.Module is needed, not {type(module).__name__}."
    )
    kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
    for path, part in module.named_modules():
        refuse_if(
            part.training and isinstance(part, kinds),
            f"{path or 'the module'} ({type(part).__name__}) is in training mode. Call module.eval() first.",
        )


def _check_evaluation(torch: Any, module: Any, batch: Any) -> None:
    """Refuse a module in training mode that computes something else in evaluation mode, through a custom
    layer.
    """
    modes = [(part, part.training) for part in module.modules()]
    if not any(training for _, training in modes):
        return
    try:
        with torch.no_grad():
            outputs = [first_of(module(batch.clone()))]
            module.eval()
            outputs.append(first_of(module(batch.clone())))
    except Exception:
        return  # it is run again later, and failures are reported then
    finally:
        for part, training in modes:
            part.training = training
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        return
    learning, deciding = (_numpy(torch, output).astype(np.float64) for output in outputs)
    refuse_if(
        not np.array_equal(learning, deciding, equal_nan=True),
        f"{type(module).__name__} is in training mode, where it computes something else than in "
        "evaluation mode. Call module.eval() first.",
    )


@contextmanager
def _watched(torch: Any, module: Any, recorder: _Recorder) -> Iterator[None]:
    """Tell the recorder which module is running, and probe modules that hide their operations."""
    from torch.utils._python_dispatch import _disable_current_modes

    handles = []

    def enter(where: str) -> Any:
        return lambda _module, _args: recorder.stack.append(where)

    def leave(part: Any, args: Any, output: Any) -> None:
        where = recorder.stack.pop()
        if not (len(args) == 1 and isinstance(args[0], torch.Tensor) and isinstance(output, torch.Tensor)):
            return
        before = recorder.find(args[0])
        lost = recorder.lost.get(recorder.key(output))
        refuse_if(
            lost is not None,
            where,
            f"gives values of {lost}. Write new tensors, and use only those that can be followed.",
        )
        if before is not None and recorder.find(output) is None and output.shape == args[0].shape:
            with _disable_current_modes():
                recorder.put(output, _probed(torch, part, args[0], before, where))

    for path, part in module.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            continue
        where = f"{path} ({type(part).__name__})" if path else f"forward of {type(part).__name__}"
        handles += [part.register_forward_pre_hook(enter(where)), part.register_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _probed(torch: Any, part: Any, example: Any, before: Signal, where: str) -> Signal:
    """Recognize a module with hidden operations by its results on chosen numbers.

    It must be a step at 0 that is the same at every position.
    """
    forward = type(part).forward
    count = example[:1].numel()
    seen: dict[float, set[float]] = {}
    for shift in range(len(_PROBES)):
        row = np.array([_PROBES[(index + shift) % len(_PROBES)] for index in range(count)])
        out = forward(part, torch.tensor(row, dtype=example.dtype).reshape(example[:1].shape))
        for x, y in zip(
            row.tolist(), _numpy(torch, out).astype(np.float64).reshape(-1).tolist(), strict=True
        ):
            seen.setdefault(x, set()).add(y)  # 0.0 and -0.0 are one key
    below, at, above = (
        {y for x, ys in seen.items() if np.sign(x) == side for y in ys} for side in (-1, 0, 1)
    )
    refuse_if(
        not (len(below) == len(at) == len(above) == 1 and below != above),
        f"{where}: works outside PyTorch, and on chosen numbers it is not a step at 0: it gives "
        f"{sorted(below)[:3]} below 0, {sorted(at)[:3]} at 0 and {sorted(above)[:3]} above. Write it in "
        f"PyTorch operations.",
    )
    parts = [Piecewise.constant(exact(next(iter(values)))) for values in (below, at, above)]
    return Signal(before.node, before.order, before.function.choose(0, *parts), where)


def dispatching(see: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a context in which a function runs every operation of PyTorch, given it and its arguments."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatching(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return see(func, args, kwargs or {})

    return Dispatching()  # type: ignore[no-untyped-call]


@dataclass
class _Recorder:
    """A recorder of all operations, which tracks the tensors that depend on the input."""

    torch: Any
    alone: bool
    """Whether each operation is compared alone with PyTorch's own."""
    n_compared: int = 0
    """Number of compared operations."""
    signals: dict[Any, Signal] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)
    """Every tensor seen, so that no memory is reused and its address identifies it."""
    stack: list[str] = field(default_factory=list)
    lost: dict[Any, str] = field(default_factory=dict)
    """Tensors that depend on the input but are not followed, with the reasons."""
    exact: dict[Any, Any] = field(default_factory=dict)
    """Integers times a scale, as weight quantizers make them; their product is not rounded."""
    read: set[int] = field(default_factory=set)
    """Memory that some operation read."""

    # -- tensors ---------------------------------------------------------------------------------------------

    def key(self, tensor: Any) -> Any:
        """Return the key of a tensor."""
        memory = tensor.untyped_storage().data_ptr()
        return memory, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())

    def keep(self, tensor: Any) -> Any:
        """Return the key of a tensor, and keep its memory from being reused."""
        self.alive.append(tensor.detach())
        return self.key(tensor)

    def find(self, value: Any) -> Signal | None:
        """Return the signal of a value, if it is followed."""
        return self.signals.get(self.key(value)) if isinstance(value, self.torch.Tensor) else None

    def put(self, tensor: Any, signal: Signal) -> None:
        """Follow a tensor."""
        key = self.keep(tensor)
        self.signals[key] = signal
        self.lost.pop(key, None)

    def lose(self, tensors: Iterable[Any], why: str) -> None:
        """Stop following tensors."""
        for tensor in tensors:
            if isinstance(tensor, self.torch.Tensor) and tensor.numel():
                key = self.keep(tensor)
                self.signals.pop(key, None)
                self.lost[key] = why

    def lose_views(self, tensor: Any, why: str) -> None:
        """Stop following other tensors that share the memory of one which an operation wrote to."""
        key = self.key(tensor)
        for other in [k for k in self.signals if k[0] == key[0] and k != key]:
            del self.signals[other]
            self.lost[other] = why

    def tensors(self, bound: Mapping[str, Any]) -> list[Any]:
        """Return the tensors among the arguments of an operation."""
        parts = (value if isinstance(value, list | tuple) else [value] for value in bound.values())
        return [v for part in parts for v in part if isinstance(v, self.torch.Tensor)]

    def keep_exact(self, func: Any, name: str, args: Any, out: Any) -> None:
        """Follow quantized weights: codes times a scale, also in another shape."""
        torch = self.torch
        if "fake_quantize_per" in name:
            out = _results(out)[0]
            scale = torch.as_tensor(args[1]).double()
            if "channel" in name:
                scale = scale.reshape([-1 if k == args[3] else 1 for k in range(out.ndim)])
            else:
                scale = scale.float().double().reshape(())
            self.exact[self.keep(out)] = torch.round(out.double() / scale) * scale
        elif not (isinstance(out, torch.Tensor) and out.dtype == torch.float32 and out.ndim > 1):
            return
        elif name == "mul" and all(isinstance(v, torch.Tensor) for v in args):
            codes, scale = sorted(args, key=lambda v: v.numel())[::-1]
            are_integers = codes.shape == out.shape and bool((codes == codes.round()).all())
            wide = codes.double() * scale.double() if are_integers else out
            if not torch.equal(wide.double(), out.double()):
                self.exact[self.keep(out)] = wide
        elif name in _SAME_NUMBERS and self.key(args[0]) in self.exact:
            wide = self.exact[self.key(args[0])]
            self.exact[self.keep(out)] = func(wide, *args[1:]) if name != "_to_copy" else wide

    # -- operations ------------------------------------------------------------------------------------------

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation, and follow tensors that depend on the input."""
        name, bound = _bound(func, args, kwargs)
        tensors = self.tensors(bound)
        self.read |= {v.untyped_storage().data_ptr() for v in tensors}
        where = self.stack[-1] if self.stack else "forward"
        lost = next((self.lost[key] for key in map(self.key, tensors) if key in self.lost), None)
        is_followed = any(self.find(v) is not None for v in tensors)
        if name in _MAKES_CONSTANTS or (lost is None and not is_followed):
            out = func(*args, **kwargs)
            self.keep_exact(func, name, args, out)
            return out
        if lost is None and name in ("split", "split_with_sizes"):
            return self._split(func, args, kwargs, where)
        if lost is None:
            return self._follow(func, args, kwargs, where)
        refuse_if(
            name in ("_local_scalar_dense", "nonzero", "equal"),
            where,
            f"{name} looks at values of {lost}: the operations must not depend on them.",
        )
        out = func(*args, **kwargs)
        self.lose(_results(out), lost)  # results of lost values are lost too
        return out

    def _split(self, func: Any, args: Any, kwargs: Any, where: str) -> list[Any]:
        """Follow the parts of a tensor, each as a slice."""
        _, bound = _bound(func, args, kwargs)
        tensor, axis, parts, start = bound["self"], bound["dim"], [], 0
        for part in func(*args, **kwargs):
            ends = start, start + part.shape[axis]
            parts.append(self._follow(self.torch.ops.aten.slice.Tensor, (tensor, axis, *ends), {}, where))
            start = ends[1]
        return parts

    def _follow(self, func: Any, args: Any, kwargs: Any, where: str) -> Any:
        """Run an operation whose arguments are followed; follow its first result, or the class."""
        name, bound = _bound(func, args, kwargs)
        tensors = self.tensors(bound)
        tracked = {id(v): (v, known_signal) for v in tensors if (known_signal := self.find(v)) is not None}
        constants = {}
        if self.alone and func._schema.is_mutable:  # their values before an operation that writes
            constants = {id(v): v.detach().clone() for v in tensors if id(v) not in tracked}
        find = {key: signal for key, (_, signal) in tracked.items()}
        out, first, signal = self._read(func, args, kwargs, where, lambda v: find.get(id(v)))
        if self.alone:
            again = partial(self._read_again, func, where, constants)
            pairs = list(tracked.values())
            operation = Operation(
                self.torch, name, where, args, kwargs, bound, first.dtype, pairs, again, signal
            )
            self.n_compared += operation.compare()
        self.lose(
            (result for result in _results(out) if result is not first),
            f"{where} ({name} gives more than one result, and only the first, or the class, is followed)",
        )
        for argument in func._schema.arguments:
            value = bound.get(argument.name)
            if argument.alias_info and argument.alias_info.is_write and isinstance(value, self.torch.Tensor):
                self.lose_views(value, f"{where} ({name} changed it in place through a view)")
        self.put(first, signal)
        return out

    def _read(
        self, func: Any, args: Any, kwargs: Any, where: str, find: Callable[[Any], Signal | None]
    ) -> tuple[Any, Any, Signal]:
        """Run and read an operation: return its output, the followed part of it, and the signal."""
        torch = self.torch
        name, bound = _bound(func, args, kwargs)
        tensors = self.tensors(bound)
        # A call in place changes them.
        values = {id(v): _numpy(torch, self.exact.get(self.key(v), v)).copy() for v in tensors}
        out = None if name not in OPERATIONS else func(*args, **kwargs)
        # The classes, not their scores.
        first = _results(out)[1 if name in ("max", "topk") and isinstance(out, tuple | list) else 0]
        result = None if first is None else _numpy(torch, first).copy()
        narrowed = (
            first is not None
            and first.dtype in (torch.float16, torch.bfloat16)
            and any(v.dtype in (torch.float32, torch.float64) for v in tensors)
        )
        call = Call(name, where, bound, find, values, result, narrowed)
        signals = [known_signal for v in tensors if (known_signal := find(v)) is not None]
        return out, first, _ruled(call, signals)

    def _read_again(
        self,
        func: Any,
        where: str,
        constants: dict[int, Any],
        args: Any,
        kwargs: Any,
        find: Callable[[Any], Signal | None],
    ) -> tuple[Array, Signal]:
        """Run and read an operation on other numbers, with the constants as they were before it."""
        args, kwargs = mapped([args, kwargs], lambda v: constants[id(v)].clone() if id(v) in constants else v)
        _, first, signal = self._read(func, args, kwargs, where, find)
        return _numpy(self.torch, first), signal


def _results(out: Any) -> Any:
    """Yield all results of an operation."""
    return out if isinstance(out, tuple | list) else [out]


def _bound(func: Any, args: Any, kwargs: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of an operation and all its arguments by name.

    In-place forms lose their underscore. PyTorch leaves out arguments that equal the operator's own defaults.
    """
    schema = func._schema
    name = schema.name.removeprefix("aten::")
    positional = zip((argument.name for argument in schema.arguments), args, strict=False)
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return name.rstrip("_") if not name.startswith("__") else name, {**defaults, **dict(positional), **kwargs}


def _ruled(call: Call, tracked: list[Signal]) -> Signal:
    if call.name not in OPERATIONS:
        raise call.refused()
    call.refuse_if(
        call.name not in ON_ROWS and any(operand.rows for operand in tracked),
        "It works on samples whose first axis was merged with the batch: only a linear layer can.",
    )
    try:
        signal = OPERATIONS[call.name](call)
    except FileError as error:
        text = str(error)
        raise FileError(text if text.startswith(call.where) else f"{call.where}: {text}") from None
    if any(signal.node is operand.node for operand in tracked) and not signal.function.is_identity:
        largest = float(np.abs(call.result).max(initial=0.0))
        signal = replace(signal, reach=max(largest, *(operand.reach for operand in tracked)))
    changed = all(signal.function != operand.function for operand in tracked)
    return replace(signal, written_at=call.where) if changed and not signal.function.is_identity else signal
