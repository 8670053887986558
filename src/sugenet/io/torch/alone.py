"""Compare each PyTorch operation of a module alone with PyTorch's own, at numbers that samples may not reach.

These are numbers at and next to every break, zero, the operation's own constants, and numbers far from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import passed
from sugenet.io.exact.ops import Affine, Convolution, LinearOp
from sugenet.io.torch.piecewise import FARTHEST, Piecewise
from sugenet.io.torch.signals import Signal, SignalNode
from sugenet.nn.arrays import Array

__all__ = ["Operation", "Reading", "mapped"]

Reading: TypeAlias = Callable[[Any, Any, Callable[[Any], Signal | None]], tuple[Any, Signal]]
"""Runs an operation on arguments, some of them followed, and reads it. Returns its result and its signal."""

_SMALL = (2.0**-30, 2.0**-10, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 20.0, 127.0, 256.0)
_LARGE = (2.0**15, 2.0**20, 2.0**60)
_SIZES = (1.0, 2.0**-6, 2.0**12, 0.25, 64.0)
"""Magnitudes of the inputs of a layer, one per sample."""
_MAX_BREAKS, _FEW_BREAKS = 64, 8
"""Maximum number of breaks that are tried, and the maximum for tracing back an operation's own constants."""
_MOVES = frozenset(
    ("view", "_unsafe_view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "t")
)
"""Operations that move numbers without reading them."""
_ROUNDS = ("add", "sub", "rsub", "mul", "div", "fake_quantize")
"""Prefixes of the names of elementwise operations whose results are rounded."""
_ULPS, _ULPS_OF_LAYERS = 16, 512
"""Maximum rounding error of a result, in units in the last place."""
_PARALLEL = Affine("another branch", np.array([2.0]), np.array([0.25]))


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation that ran and was read."""

    torch: Any
    name: str
    where: str
    args: Any
    kwargs: Any
    arguments: Mapping[str, Any]
    """The arguments by name, including defaults that PyTorch left out."""
    result: Any
    """The dtype of the result."""
    tracked: Sequence[tuple[Any, Signal]]
    """Arguments that depend on the input, with their signals."""
    read: Reading
    expected: Signal
    """The signal that it was read as."""

    def compare(self) -> bool:
        """Run the operation on chosen numbers, and refuse it if its result differs from the one read.

        Return False if its arguments cannot take any of these numbers.
        """
        first = self.tracked[0][1]
        if self.expected.tail and self.expected.tail != first.tail:
            self._compare_order()
        elif any(self.expected.node is signal.node for _, signal in self.tracked):
            return self._compare_numbers()
        else:
            self._of_one_kind()._compare_layer()
        return True

    # -- numbers, each by itself -----------------------------------------------------------------------------

    def _compare_numbers(self) -> bool:
        numbers = self._numbers()
        arguments = [_values(signal.function, numbers) for _, signal in self.tracked]
        wanted = _values(self.expected.function, numbers)
        wide, *tables = (np.array(row, np.float64) for row in (wanted, *arguments))
        sizes = np.abs(np.array([*tables, wide])).max(axis=0) + self._scalar()
        node = self.expected.node
        batch, size = len(node.values), node.values[0].size
        for start in range(0, len(numbers), batch * size):
            indices = (np.arange(batch * size) + start).reshape(batch, size) % len(numbers)
            fresh = _fresh(node, np.array(numbers, np.float64)[indices])
            actual, reading = self._again({id(node): fresh}, [table[indices] for table in tables])
            if reading.function != self.expected.function:
                raise self._refused("it was read in two ways")
            at, got = indices[:, reading.order.reshape(-1)], actual.reshape(batch, -1)
            off = self._ulp() * _ULPS * sizes
            for row, column in np.argwhere(~(np.abs(got - wide[at]) <= off[at])).tolist():
                index, value = at[row, column], float(got[row, column])
                if not self._by_rounding(
                    numbers[index], [row[index] for row in arguments], value, off[index]
                ):
                    raise self._refused(
                        f"at {float(arguments[0][index]):.9g} it gives {value:.9g}, "
                        f"but it was read as giving {wide[index]:.9g}"
                    )
        return bool(numbers)

    def _by_rounding(self, x: Fraction, arguments: Sequence[Fraction], value: float, off: float) -> bool:
        """Return whether rounding explains another value.

        That is the value of a neighbouring number, if the operation rounds or its arguments were rounded.
        """
        exact = not self.name.removeprefix("_").startswith(_ROUNDS) and all(
            Fraction(self._cast(np.array([float(number)]), tensor.dtype).double().item()) == number
            for number, (tensor, _) in zip(arguments, self.tracked, strict=True)
        )
        beside = [x + way * max(abs(x), Fraction(1)) / (1 << 16) for way in (-1, 1)]
        return not exact and any(abs(float(self.expected.function.value(y)) - value) <= off for y in beside)

    def _numbers(self) -> list[Fraction]:
        """Return the numbers of the node at which the operation is tried.

        They are floats of the type of its arguments, so that the arguments are known exactly.
        """
        functions = [signal.function for _, signal in self.tracked]
        kind = next((t.dtype for t, _ in self.tracked if t.dtype.is_floating_point), self.torch.float32)
        if all(f.is_identity for f in (*functions, self.expected.function)) and self.name in _MOVES:
            wanted = [Fraction(sign * v) for v in _SMALL for sign in (1, -1)]
        else:
            wanted = self._marks(functions)
        there = np.array([float(x) for x in wanted])
        near = np.concatenate([there * (1 + way * self._ulp()) for way in (0, 1, -1)])
        rounded = self._cast(near, kind).double().numpy()
        candidates = [Fraction(x) for x in np.unique(rounded[np.isfinite(rounded)]).tolist()]
        pairs = [(tensor, f) for (tensor, _), f in zip(self.tracked, functions, strict=True)]
        return [x for x in candidates if all(self._fits(f.value(x), tensor) for tensor, f in pairs)]

    def _marks(self, functions: Sequence[Piecewise]) -> list[Fraction]:
        """Return the interesting numbers: zero, breaks and numbers between them, constants, and large
        numbers.
        """
        breaks = sorted({t for f in (*functions, self.expected.function) for t in f.breaks})
        constants = [Fraction(v) for v in self._scalars() if np.isfinite(v)]
        ends = [Fraction(sign * v) for v in (*_SMALL, *_LARGE) for sign in (1, -1)]
        some = breaks[:: -(-len(breaks) // _MAX_BREAKS)] if breaks else []
        marks = [Fraction(0), *constants, *ends, *some, *((a + b) / 2 for a, b in pairwise(some))]
        if len(breaks) <= _FEW_BREAKS:
            lines = {line for f in functions for line in f.lines if len(line) == 2 and line[0]}
            marks += [(mark - start) / slope for slope, start in lines for mark in constants]
        if len(breaks) > FARTHEST:  # unbounded rounding is followed only this far
            marks = [x for x in marks if breaks[0] < x < breaks[-1]]
        return marks

    def _fits(self, value: Fraction, tensor: Any) -> bool:
        """Return whether a tensor of this type can hold a number, at least rounded."""
        if tensor.dtype.is_floating_point:
            return bool(abs(value) < self.torch.finfo(tensor.dtype).max / 4)
        if tensor.dtype == self.torch.bool:
            return value in (0, 1)
        ends = self.torch.iinfo(tensor.dtype)
        return bool(value.denominator == 1 and ends.min <= value <= ends.max)

    def _scalars(self) -> list[float]:
        """Return the constant numbers among the arguments."""
        scalars: list[float] = []
        ours = {id(tensor) for tensor, _ in self.tracked}
        for leaf in _leaves(self.arguments):
            if isinstance(leaf, int | float):
                scalars.append(float(leaf))
            elif isinstance(leaf, self.torch.Tensor) and id(leaf) not in ours and leaf.numel() <= 16:
                scalars += leaf.detach().double().reshape(-1).tolist()
        return scalars

    def _scalar(self) -> float:
        return max((abs(v) for v in self._scalars() if np.isfinite(v)), default=0.0)

    # -- layers, and the ends of networks --------------------------------------------------------------------

    def _of_one_kind(self) -> Operation:
        """Return the operation with all arguments over maps, if some are and some are not."""
        if len({len(signal.node.shape) for _, signal in self.tracked}) == 1:
            return self
        laid = [(tensor, signal, signal.maps(self.where)) for tensor, signal in self.tracked]
        return replace(
            self,
            tracked=[(tensor, replace(old, node=new.node, order=new.order)) for tensor, old, new in laid],
        )

    def _compare_layer(self) -> None:
        """Compare a layer, pooling, or a sum of branches on samples of several magnitudes.

        Some samples are all positive, some all negative.
        """
        nodes = list({id(signal.node): signal.node for _, signal in self.tracked}.values())
        laid = self._samples(nodes[0])
        root = _fresh(nodes[0], laid)
        fresh = {id(node): root if k == 0 else _parallel(root, node) for k, node in enumerate(nodes)}
        tables = [
            _spread(signal.function, fresh[id(signal.node)].values.reshape(len(laid), -1))
            for _, signal in self.tracked
        ]
        actual, reading = self._again(fresh, tables)
        start, *later = reading.node.path()
        wanted = passed([node.op for node in later if node.op is not None], start.values)
        wanted = _spread(reading.function, wanted.reshape(len(laid), -1))[:, reading.order.reshape(-1)]
        got = actual.reshape(wanted.shape)
        size = np.maximum(np.abs(wanted), np.abs(laid).max(axis=1, keepdims=True)).max(axis=1, keepdims=True)
        off = ~(np.abs(got - wanted) <= self._ulp() * _ULPS_OF_LAYERS * size)
        if off.any():
            row, column = (int(k) for k in np.argwhere(off)[0])
            raise self._refused(
                f"on chosen numbers its value {column} is {got[row, column]:.9g}, but it was read as giving "
                f"{wanted[row, column]:.9g}"
            )

    def _compare_order(self) -> None:
        """Check that the operation keeps the largest score the largest."""
        tensor, signal = self.tracked[0]
        random = np.random.default_rng(0)
        batch, size = len(signal.node.values), signal.node.values[0].size
        laid = random.integers(-16, 0, (batch, size)) / 8.0
        laid[np.arange(batch), random.integers(0, size, batch)] = 2.0
        scores = laid[:, signal.order.reshape(-1)]
        plain = replace(signal, function=Piecewise.identity())
        again = replace(self, tracked=[(tensor, plain)])
        actual, _ = again._again({id(signal.node): _fresh(signal.node, laid)}, [laid])
        rows = actual.reshape(len(laid), -1)
        picks = self.name in ("argmax", "max", "topk")
        if ((rows[:, 0] if picks else rows.argmax(axis=1)) != scores.argmax(axis=1)).any():
            raise self._refused("it does not leave the largest of chosen numbers the largest")

    def _samples(self, node: SignalNode) -> Array:
        random = np.random.default_rng(0)
        batch, size = len(node.values), node.values[0].size
        laid = random.integers(1, 9, (batch, size)) * np.resize(_SIZES, batch)[:, None]
        mixed = np.where(random.integers(0, 2, laid.shape) > 0, laid, -laid)
        sides = np.arange(batch)[:, None] % 3
        laid = np.where(sides == 0, mixed, np.where(sides == 1, -laid, laid))
        if all(tensor.dtype.is_floating_point for tensor, _ in self.tracked):
            return np.asarray(laid)
        return np.asarray(np.abs(np.rint(laid)) % 100)

    # -- one run ---------------------------------------------------------------------------------------------

    def _again(self, fresh: Mapping[int, SignalNode], tables: Sequence[Array]) -> tuple[Array, Signal]:
        """Run and read the operation on the numbers of the nodes, with the values of each tensor from its
        table.
        """
        stand_ins, known = {}, {}
        for (tensor, signal), table in zip(self.tracked, tables, strict=True):
            made = self._cast(table[:, signal.order.reshape(-1)], tensor.dtype)
            stand_ins[id(tensor)] = made.reshape(tensor.shape).to(tensor.device)
            known[id(stand_ins[id(tensor)])] = replace(signal, node=fresh[id(signal.node)], reach=0.0)
        args, kwargs = mapped([self.args, self.kwargs], lambda leaf: stand_ins.get(id(leaf), leaf))
        try:
            out, reading = self.read(args, kwargs, lambda value: known.get(id(value)))
        except FileError as error:
            raise self._refused(str(error).removeprefix(f"{self.where}: ").rstrip(".")) from None
        return np.asarray(out, np.float64), reading

    def _cast(self, values: Array, dtype: Any) -> Any:
        return self.torch.from_numpy(np.array(values, np.float64, order="C")).to(dtype)

    def _ulp(self) -> float:
        kinds = [self.result, *(tensor.dtype for tensor, _ in self.tracked)]
        return max((self.torch.finfo(kind).eps for kind in kinds if kind.is_floating_point), default=2.0**-23)

    def _refused(self, why: str) -> FileError:
        return FileError(
            f"{self.where}: {self.name} was compared alone with PyTorch's own: {why}. Nothing was imported. "
            "This is a fault of the reader: please report it with the module."
        )


def _fresh(node: SignalNode, values: Array) -> SignalNode:
    """Return a node of the same shape with other numbers, at the input if the node is there."""
    laid = values.reshape(len(values), *node.shape)
    root = SignalNode(node.shape, laid, channels_last=node.channels_last)
    if node.op is None:
        return root
    return SignalNode(node.shape, laid, Affine("chosen numbers", np.ones(1), np.zeros(1)), root)


def _parallel(root: SignalNode, node: SignalNode) -> SignalNode:
    """Return a node in the shape of another, with numbers of its own that are made of those of the root."""
    if node.shape == root.shape:
        return root.then(_PARALLEL)
    where, rows = _PARALLEL.where, np.zeros((node.shape[0], root.shape[0]))
    rows[np.arange(len(rows)), np.arange(len(rows)) % root.shape[0]] = 2.0
    maps = Convolution(where, rows[:, :, None, None]) if len(node.shape) == 3 else LinearOp(where, rows)
    return root.then(maps).then(_PARALLEL)


def _values(function: Piecewise, numbers: Iterable[Fraction]) -> list[Fraction]:
    return list(numbers) if function.is_identity else [function.value(x) for x in numbers]


def _spread(function: Piecewise, values: Array) -> Array:
    """Apply a function to every number of an array, in exact arithmetic up to the last step."""
    if function.is_identity:
        return values
    distinct, indices = np.unique(values, return_inverse=True)
    table = np.array([float(function.value(Fraction(x))) for x in distinct.tolist()])
    return np.asarray(table[indices.reshape(values.shape)])


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list | tuple) else [value]


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the arguments with each leaf changed."""
    if isinstance(value, Mapping):
        return {key: mapped(part, change) for key, part in value.items()}
    return (
        type(value)(mapped(part, change) for part in value) if type(value) in (list, tuple) else change(value)
    )
