"""Run an input query like Marabou: evaluate all equations and signs in float64, repeatedly, until every
variable has a value. It does not use layers.
"""

from typing import Any

import numpy as np

from sugenet.io.marabou.reader import InputQuery
from sugenet.io.proof.interpreters import Seen, SourceInterpreter
from sugenet.nn.arrays import Array

__all__ = ["interpreter_of_query"]


def interpreter_of_query(contents: InputQuery) -> SourceInterpreter:
    """Return an interpreter that computes the variables one by one."""
    return SourceInterpreter("its equations and signs, variable by variable", lambda x: _run(contents, x))


def _run(contents: InputQuery, x: Array) -> Seen:
    values: dict[int, Any] = {v: x[:, k].astype(np.float64) for k, v in enumerate(contents.inputs)}
    open_signs, equations = dict(contents.signs), [e for e in contents.equations if e.sign == "="]
    moved = True
    while moved:
        moved = False
        for f, b in list(open_signs.items()):
            if b in values:
                values[f] = np.where(values[b] >= 0, 1.0, -1.0)
                del open_signs[f]
                moved = True
        for equation in list(equations):
            unknown = [v for v in equation.terms if v not in values]
            if len(unknown) == 1 and unknown[0] not in contents.signs:
                total = float(equation.scalar) - sum(
                    float(c) * values[v] for v, c in equation.terms.items() if v in values
                )
                values[unknown[0]] = total / float(equation.terms[unknown[0]])
                equations.remove(equation)
                moved = True
    scores = np.stack([np.broadcast_to(values[v], len(x)) for v in contents.outputs], axis=1)
    return Seen(scores, (), scores)
