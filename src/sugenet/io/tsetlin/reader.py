"""Read a Tsetlin machine: a fitted model of tmu, or its arrays.

A clause is the AND of its literals, so a neuron whose tau is their number. An empty clause is off, as in tmu
when it predicts. The score of a class is the sum of the weights of its clauses that are on; a negative weight
is a vote against the class. Among equal scores the lowest class wins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError
from sugenet.io.exact.booleans import Booleans
from sugenet.io.exact.ops import LinearOp, Op, OpChain, Quantize, Sign
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn.arrays import Bits, Ints, integer_array

__all__ = ["Clauses", "chain_of_clauses", "read_clauses"]

_LARGEST = 1 << 31


@dataclass(frozen=True, eq=False)
class Clauses:
    """Clauses and votes of a machine."""

    source: str
    include: Bits
    """One row per clause: which literals it has. First all inputs, then all negated inputs."""
    weights: Ints
    """One row of votes per class; a single row if the sum of votes decides between two classes."""
    clamp: int | None
    machine: Any = None
    """The model of tmu, if it was read from one."""

    @property
    def inputs(self) -> int:
        """Number of Boolean inputs."""
        return int(self.include.shape[1]) // 2

    @property
    def saturates(self) -> bool:
        """Whether a sum of votes can be beyond the clamp."""
        largest = np.maximum(self.weights, 0).sum(axis=1).max(initial=0)
        smallest = np.minimum(self.weights, 0).sum(axis=1).min(initial=0)
        return self.clamp is not None and len(self.weights) > 1 and bool(max(largest, -smallest) > self.clamp)


def read_clauses(machine: Any, weights: Any, clamp: int | None) -> Clauses:
    """Return the clauses and votes of a machine, or of arrays."""
    refuse_if(
        clamp is not None and (isinstance(clamp, bool) or not isinstance(clamp, int) or clamp < 1),
        f"clamp={clamp!r} is not a positive integer. Give T of the machine.",
    )
    kinds = {kind.__name__ for kind in type(machine).__mro__}
    if "TMBaseModel" in kinds:
        refuse_if(weights is not None, "weights= is for arrays. A model of tmu has its own.")
        return _of_tmu(machine, kinds, clamp)
    refuse_if(weights is None, "weights= is missing: votes of each class, one number per clause.")
    with within("include and weights"):
        return _of_arrays(machine, weights, clamp)


def _of_tmu(machine: Any, kinds: set[str], clamp: int | None) -> Clauses:
    source = f"tmu {type(machine).__name__}"
    refuse_if(
        not kinds & {"TMClassifier", "TMCoalescedClassifier"},
        source,
        "only TMClassifier and TMCoalescedClassifier are read.",
    )
    refuse_if(not machine.initialized, source, "the model is not fitted.")
    refuse_if(
        clamp not in (None, machine.T),
        source,
        f"clamp={clamp}, but the model has T={machine.T}. Leave it out if predict does not clip.",
    )
    count = machine.number_of_classes
    refuse_if(
        list(machine.weight_banks.classes()) != list(range(count)), source, "its classes are not in order."
    )
    votes = [np.asarray(machine.weight_banks[k].get_weights()) for k in range(count)]
    separate = "TMClassifier" in kinds
    banks = [machine.clause_banks[k] for k in range(count)] if separate else [machine.clause_bank]
    include = [_literals(bank, source) for bank in banks]
    arrays = (np.array(include) if separate else include[0]), np.array(votes)
    with within(source):
        made = _of_arrays(*arrays, clamp)
    return Clauses(source, made.include, made.weights, clamp, machine)


def _literals(bank: Any, source: str) -> npt.NDArray[Any]:
    kind = type(bank).__name__
    refuse_if(
        bank.number_of_patches != 1, source, "convolutional clauses, over several patches, are not read."
    )
    if kind == "ClauseBank":
        return np.asarray(bank.get_literals())
    refuse_if(kind != "ClauseBankSparse", source, f"clauses in a {kind} are not read. Use platform='CPU'.")
    lengths = bank.clause_bank_included_length
    include = np.zeros((bank.number_of_clauses, bank.number_of_literals), np.int64)
    for row, literals, length in zip(include, bank.clause_bank_included, lengths, strict=True):
        row[literals[:length, 0]] = 1
    return include


def _of_arrays(include: Any, weights: Any, clamp: int | None) -> Clauses:
    rows, votes = np.asarray(include), np.asarray(weights)
    refuse_if(rows.ndim not in (2, 3) or not rows.size, "include", f"its shape is {rows.shape}.")
    refuse_if(rows.shape[-1] % 2, "include", f"{rows.shape[-1]} literals, but each input has two.")
    refuse_if(not np.isin(rows, (0, 1)).all(), "include", "it holds other numbers than 0 and 1.")
    clauses = rows.shape[:-1]
    wanted = f"{clauses}" if len(clauses) == 2 else f"({len(rows)},) or (classes, {len(rows)})"
    fits = votes.shape == clauses or (len(clauses) == 1 and votes.ndim == 2 and votes.shape[1:] == clauses)
    refuse_if(not fits, "weights", f"the shape is {votes.shape}, but the clauses need {wanted}.")
    try:
        numbers = integer_array(np.atleast_2d(votes), 2, "weights")
    except NetworkError as error:
        refuse_if(True, str(error))
    refuse_if(
        np.abs(numbers.astype(object)).sum(axis=1).max() >= _LARGEST,
        "weights",
        "a sum of votes can reach 2^31.",
    )
    if rows.ndim == 3:
        refuse_if(
            len(rows) < 2, "weights", "one class. Give one row of clauses and one of weights for two classes."
        )
        apart = np.zeros((len(rows), rows[..., 0].size), np.int64)
        for k, row in enumerate(numbers):
            apart[k, k * len(row) : (k + 1) * len(row)] = row
        rows, numbers = rows.reshape(-1, rows.shape[-1]), apart
    return Clauses("Tsetlin machine", rows != 0, numbers, clamp)


def chain_of_clauses(clauses: Clauses, booleans: Booleans) -> OpChain:
    """Return the machine as operations on the bits of an encoder."""
    plain, negated = np.hsplit(clauses.include, 2)
    rows = np.zeros((len(plain), booleans.width))
    for column, value in enumerate(booleans.columns.tolist()):
        rows[:, value] += plain[:, column].astype(np.float64) - negated[:, column]
    bias = negated.sum(axis=1) - np.maximum(clauses.include.sum(axis=1), 1) + 0.5
    votes, scores = clauses.weights.astype(np.float64), np.zeros(len(clauses.weights))
    if len(votes) == 1:  # class 1 iff the sum is at least 0
        votes, scores = np.vstack([0 * votes, votes]), np.array([0, 0.5])
    ops: list[Op] = [*booleans.stem, LinearOp("clauses", rows, bias), Sign("clauses", low=0.0, high=1.0)]
    ops.append(LinearOp("votes", votes, scores))
    if clauses.saturates:
        assert clauses.clamp is not None
        steps = np.arange(-clauses.clamp + 1.0, clauses.clamp + 1.0)
        ops.append(Quantize("clamp", steps[None], np.zeros(len(steps), bool)))
        ops.append(LinearOp("clamped votes", np.eye(len(votes)), np.full(len(votes), -float(clauses.clamp))))
    return OpChain(clauses.source, (booleans.encoder.width,), tuple(ops))
