"""References for an import: the source itself, or a float evaluation of it that shares no code with the
construction of the exact network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.exact.evaluation import DOUBLE, Floats, laid_out, nearest, passed
from sugenet.io.exact.ops import Op, OpChain, Quantize, Sign
from sugenet.nn.arrays import Array

__all__ = ["Run", "Seen", "SourceInterpreter", "Stage", "interpreter_of_chain", "interpreter_of_stages"]


@dataclass(frozen=True, eq=False)
class Stage:
    """A sign or a quantizer of the reference.

    For each sample and neuron it has the value before it, and the result: high or low, or the level.
    """

    name: str
    before: Array
    """Value minus threshold, so that the sign changes at 0. For a quantizer, the nearest threshold counts."""
    high: Array
    low: Array
    clean: bool = True
    """Whether the sign has exactly its two values. If they are rounded, the rounding persists after it."""
    turned: Array | None = None
    """Where rounding inside a sign that consists of several steps contradicts the value before it."""
    levels: Array | None = None
    """Levels of a quantizer, counted from 0; None for a sign."""

    @classmethod
    def of_levels(cls, name: str, before: Array, levels: Array, turned: Array | None = None) -> Stage:
        """Return the stage of a quantizer."""
        return cls(name, before, levels > 0, levels == 0, turned=turned, levels=levels)

    @classmethod
    def of_bits(cls, name: str, before: Array, high: Array) -> Stage:
        """Return the stage of a sign that is high or low at every number."""
        return cls(name, before, high, ~high)

    @classmethod
    def of_op(cls, op: Sign | Quantize, before: Array, after: Array) -> Stage:
        """Return the stage of a sign or a quantizer, from the values before and after it."""
        flat = after.reshape(len(after), -1)
        if isinstance(op, Sign):
            return cls(op.where, before.reshape(flat.shape), flat == op.high, flat == op.low)
        return cls.of_levels(op.where, nearest(op, before).reshape(flat.shape), flat.astype(np.int64))

    @property
    def values(self) -> Array:
        """The mask of high values, or the levels."""
        return self.high if self.levels is None else self.levels

    def at(self, order: Any) -> Stage:
        """Return the same stage with its values in another order."""
        turned, levels = (None if row is None else row[:, order] for row in (self.turned, self.levels))
        before, high, low = (row[:, order] for row in (self.before, self.high, self.low))
        return Stage(self.name, before, high, low, self.clean, turned, levels)


@dataclass(frozen=True, eq=False)
class Seen:
    """The values of a reference for a batch."""

    outputs: Array
    stages: tuple[Stage, ...] = ()
    scores: Array | None = None
    """The class scores before tails such as softmax, if they are visible."""
    error: Array | None = None
    """Error bound of each score, if the reference knows it."""


Run: TypeAlias = Callable[[Array], Seen]


@dataclass(frozen=True, eq=False)
class SourceInterpreter:
    """An implementation of the source.

    It takes float64 samples, in the shape and the numbers of the source, and returns the source's values.
    """

    name: str
    """Name, in words that follow "compared with"."""
    run: Run
    floats: Floats = DOUBLE
    """Its float format."""
    follows: bool = False
    """Whether its stages are the signs of the chain, one by one."""
    ops: Sequence[Op] | None = None
    """The chain's operations with the interpreter's own numbers, if these can differ: constants that it
    computes in its own floats.
    """
    reaches: Callable[[], Sequence[float]] | None = None
    """For each operation of the chain, after a run: the largest intermediate number of the interpreter."""


def interpreter_of_stages(name: str, run: Callable[[Array, list[Stage]], Array]) -> SourceInterpreter:
    """Return a float64 interpreter with the signs of the chain, one by one.

    `run` is a function from samples to scores that adds each sign and quantizer to a list.
    """

    def seen(x: Array) -> Seen:
        stages: list[Stage] = []
        scores = run(x, stages).reshape(len(x), -1)
        return Seen(scores, tuple(stages), scores)

    return SourceInterpreter(name, seen, follows=True)


def interpreter_of_chain(chain: OpChain) -> SourceInterpreter:
    """Return an interpreter of the operations as a reader found them, in float64.

    It is independent of lowering, but it repeats the errors of the reader.
    """
    return interpreter_of_stages(
        "the operations as read, evaluated in float64",
        lambda x, stages: passed(
            chain.ops, laid_out(chain, x), lambda *seen: stages.append(Stage.of_op(*seen))
        ),
    )
