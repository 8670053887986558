"""What an import is compared with: the source itself, or an evaluation of it in floats that shares nothing
with the way to the exact network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.evaluation import DOUBLE, Floats, laid_out, nearest, passed
from sugenet.io.exact.ops import Op, OpChain, Quantize, Sign

__all__ = ["Run", "Seen", "SourceInterpreter", "Stage", "interpreter_of_chain", "interpreter_of_stages"]

_Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stage:
    """A sign or a quantizer of the reference: for each sample and neuron the value before it,
    and whether it gave the high or the low value, or which level.
    """

    name: str
    before: _Array
    """Less its threshold, so that the sign turns at 0; of a quantizer less the nearest of its thresholds."""
    high: _Array
    low: _Array
    clean: bool = True
    """Whether the sign gave exactly its two values; where it gave them up to rounding,
    this goes on behind it.
    """
    turned: _Array | None = None
    """Where rounding inside the sign itself, written in several steps,
    decided against the value before it.
    """
    levels: _Array | None = None
    """What a quantizer gave, counted from 0; None of a sign."""

    @classmethod
    def of_levels(cls, name: str, before: _Array, levels: _Array, turned: _Array | None = None) -> Stage:
        """A quantizer."""
        return cls(name, before, levels > 0, levels == 0, turned=turned, levels=levels)

    @classmethod
    def of_bits(cls, name: str, before: _Array, high: _Array) -> Stage:
        """A sign that gives its high or its low value at every number."""
        return cls(name, before, high, ~high)

    @classmethod
    def of_op(cls, op: Sign | Quantize, before: _Array, after: _Array) -> Stage:
        """A sign or a quantizer, from the values before and after it."""
        flat = after.reshape(len(after), -1)
        if isinstance(op, Sign):
            return cls(op.where, before.reshape(flat.shape), flat == op.high, flat == op.low)
        return cls.of_levels(op.where, nearest(op, before).reshape(flat.shape), flat.astype(np.int64))

    @property
    def values(self) -> _Array:
        """Where it is high, or its levels."""
        return self.high if self.levels is None else self.levels

    def at(self, order: Any) -> Stage:
        """The same with its values in another order."""
        turned, levels = (None if row is None else row[:, order] for row in (self.turned, self.levels))
        before, high, low = (row[:, order] for row in (self.before, self.high, self.low))
        return Stage(self.name, before, high, low, self.clean, turned, levels)


@dataclass(frozen=True, eq=False)
class Seen:
    """What a reference says about a batch."""

    outputs: _Array
    stages: tuple[Stage, ...] = ()
    scores: _Array | None = None
    """The class scores in front of tails such as softmax, where they can be seen."""
    error: _Array | None = None
    """How far each score may be from the exact one, where the reference knows that itself."""


Run: TypeAlias = Callable[[_Array], Seen]


@dataclass(frozen=True, eq=False)
class SourceInterpreter:
    """Who says what the source computes: float64 samples in the shape and the numbers of the source
    in, its values out.
    """

    name: str
    """In words that follow "compared with"."""
    run: Run
    floats: Floats = DOUBLE
    """What it computes in."""
    follows: bool = False
    """Whether its stages are the signs of the chain, one by one."""
    ops: Sequence[Op] | None = None
    """The chain's operations with the interpreter's own numbers, where these may be others: constants that it
    computes in its own floats.
    """
    reaches: Callable[[], Sequence[float]] | None = None
    """For each operation of the chain, after a run: the largest number that the interpreter met on
    the way through it.
    """


def interpreter_of_stages(name: str, run: Callable[[_Array, list[Stage]], _Array]) -> SourceInterpreter:
    """An interpreter in float64 with the signs of the chain, one by one: a function from samples to scores
    that adds each sign and quantizer to a list.
    """

    def seen(x: _Array) -> Seen:
        stages: list[Stage] = []
        scores = run(x, stages).reshape(len(x), -1)
        return Seen(scores, tuple(stages), scores)

    return SourceInterpreter(name, seen, follows=True)


def interpreter_of_chain(chain: OpChain) -> SourceInterpreter:
    """The operations as a reader found them, in float64: it knows nothing of lowering,
    but what was misread it misreads too.
    """
    return interpreter_of_stages(
        "the operations as read, evaluated in float64",
        lambda x, stages: passed(
            chain.ops, laid_out(chain, x), lambda *seen: stages.append(Stage.of_op(*seen))
        ),
    )
