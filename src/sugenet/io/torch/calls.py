"""One PyTorch operation that ran, with what is known of its arguments;
and what to say of operations that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.torch.signals import Signal, exact

__all__ = ["HINTS", "Call", "open_ended", "rounded_scalar"]

_Array = npt.NDArray[Any]

HINTS = {
    "native_dropout": "Dropout is in training mode: call module.eval() first.",
    "bernoulli": "The forward pass is random: call module.eval() first.",
    "native_layer_norm": "Use BatchNorm in eval mode, whose statistics are fixed.",
    "native_group_norm": "Use BatchNorm in eval mode, whose statistics are fixed.",
    "fake_quantize_per_channel_affine_cachemask": "Activations can have one scale for all channels.",
    "gelu": "In front of a sign use Hardtanh, ReLU or nothing.",
    "silu": "In front of a sign use Hardtanh, ReLU or nothing.",
    "elu": "In front of a sign use Hardtanh, ReLU or nothing.",
    "_prelu_kernel": "In front of a sign use Hardtanh, ReLU or nothing.",
    "copy": (
        "It writes into a part of another tensor, as circular padding does: use zero padding, and "
        "torch.where instead of slices."
    ),
    "cat": "Two branches are joined: only one path from input to output can be read.",
    "bmm": "Use a linear layer whose weights do not depend on the input.",
    "reflection_pad2d": "Pad with one value: ZeroPad2d or ConstantPad2d.",
    "replication_pad2d": "Pad with one value: ZeroPad2d or ConstantPad2d.",
    "signbit": "Use x < 0, which knows no negative zero.",
    "copysign": "Use torch.where(x >= 0, 1, -1), which knows no negative zero.",
    "_local_scalar_dense": (
        "The forward pass looks at values of its input (.item() or if): "
        "its operations must not depend on them."
    ),
    "nonzero": "The forward pass looks at values of its input: its operations must not depend on them.",
}


@dataclass(frozen=True, eq=False)
class Call:
    """One operation that ran: its arguments by name, the signals among them, and what came out."""

    name: str
    where: str
    args: dict[str, Any]
    find: Callable[[Any], Signal | None]
    numpy: Callable[[Any], _Array]
    out: Any
    narrowed: bool = False
    """Whether floats of 32 or more bits became floats of 16."""

    def signal(self, name: str = "self") -> Signal:
        """The argument, which must depend on the input."""
        found = self.find(self.args.get(name, self.args.get("input")))
        if found is None:
            raise self.refused("Its first argument does not depend on the input.")
        return found

    def constant(self, name: str) -> _Array | None:
        """The argument as an array, or None where there is none; it must not depend on the input."""
        tensor = self.args.get(name)
        if tensor is None:
            return None
        if self.find(tensor) is not None:
            raise self.refused(f"Its {name} depends on the input.")
        return self.numpy(tensor)

    def array(self, name: str) -> _Array:
        """As `constant`, of an argument that PyTorch demands."""
        found = self.constant(name)
        assert found is not None
        return found

    @property
    def result(self) -> _Array:
        """What came out, in float64."""
        first = self.out[0] if isinstance(self.out, tuple | list) else self.out
        return np.asarray(self.numpy(first), dtype=np.float64)

    def actual(self, name: str = "self") -> _Array:
        """The argument's own values."""
        return np.asarray(self.numpy(self.args.get(name, self.args.get("input"))), dtype=np.float64)

    def settled(self, name: str = "self") -> Signal:
        """The argument, with everything elementwise written down."""
        return self.signal(name).settled(self.actual(name), self.where)

    def refused(self, why: str = "") -> FileError:
        """What to raise."""
        return FileError(f"{self.where}: {self.name} cannot be read. {why or HINTS.get(self.name) or _WORKS}")


_WORKS = (
    "Linear, Conv1d/2d, BatchNorm, Hardtanh, clamp, ReLU, max and average pooling, padding, flatten and "
    "reshape, and signs of any spelling can be."
)


def open_ended(call: Call, signal: Signal) -> Signal:
    """The signal, refused where it is at its end already."""
    if signal.tail:
        raise call.refused(f"It stands behind {signal.tail[-1]}, which can only be the end of a network.")
    return signal


def rounded_scalar(call: Call, value: Any, like: Any) -> Fraction:
    """A Python number as PyTorch uses it: rounded to the dtype of the tensor that it meets."""
    if isinstance(value, float) and not np.isfinite(value):
        raise call.refused(f"It uses the number {value}.")
    if isinstance(value, float):
        dtype = call.numpy(like)[:0].dtype
        return exact(dtype.type(value) if dtype.kind == "f" else np.float32(value))
    return Fraction(value)
