"""Run a Tsetlin machine clause by clause, or by tmu itself, to verify the reader."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.exact.booleans import Booleans
from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage, interpreter_of_stages
from sugenet.io.tsetlin.reader import Clauses

__all__ = ["interpreters_of_clauses"]

_Array = npt.NDArray[Any]


def interpreters_of_clauses(clauses: Clauses, booleans: Booleans) -> list[SourceInterpreter]:
    """Return an interpreter that looks for false literals, and the model of tmu, if it was read from one."""
    interpreters = [
        interpreter_of_stages(
            "clauses searched for false literals by NumPy",
            lambda x, stages: _voted(clauses, booleans, x, stages),
        )
    ]
    if clauses.machine is not None:
        interpreters.append(
            SourceInterpreter(f"predict of {clauses.source}", lambda x: _predicted(clauses, booleans.read(x)))
        )
    return interpreters


def _voted(clauses: Clauses, booleans: Booleans, x: _Array, stages: list[Stage]) -> _Array:
    on = booleans.read(x)
    if booleans.stem:
        stages.append(Stage.of_bits("bins", on - 0.5, on))
    sums = np.zeros((len(on), len(clauses.weights)), np.int64)
    held = np.zeros((len(on), len(clauses.include)), bool)
    for j, literals in enumerate(map(np.flatnonzero, clauses.include)):
        if literals.size:
            inputs, negated = literals % clauses.inputs, literals >= clauses.inputs
            held[:, j] = ~(on[:, inputs] == negated).any(axis=1)
        sums += np.outer(held[:, j], clauses.weights[:, j])
    stages.append(Stage.of_bits("clauses", held - 0.5, held))
    if len(clauses.weights) == 1:
        return np.hstack([np.zeros((len(on), 1)), sums + 0.5])
    if clauses.saturates:
        assert clauses.clamp is not None
        stages.append(
            Stage.of_levels(
                "clamp", 0.5 + 0 * sums, np.clip(sums + clauses.clamp, 0, 2 * clauses.clamp).astype(np.int64)
            )
        )
        sums = np.clip(sums, -clauses.clamp, clauses.clamp)
    return sums.astype(np.float64)


def _predicted(clauses: Clauses, on: _Array) -> Seen:
    _, scores = clauses.machine.predict(
        on.astype(np.uint32), clip_class_sum=clauses.clamp is not None, return_class_sums=True
    )
    return Seen(np.asarray(scores, np.float64), (), np.asarray(scores, np.float64))
