"""Run logic-gate networks gate by gate, from their truth tables, to verify the reader."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.io.gates.program import GateProgram

__all__ = ["GateRun", "run_gates"]


class GateRun(NamedTuple):
    """Values of all gates for a batch, layer by layer, and the class scores."""

    layers: list[npt.NDArray[np.bool_]]
    scores: npt.NDArray[np.float64]


def run_gates(program: GateProgram, rows: npt.NDArray[Any]) -> GateRun:
    """Evaluate a network on samples in the numbers of its source, one flat row per sample."""
    if program.thresholds is None:
        values = rows > 0.5
    else:
        cuts = program.thresholds.values.astype(np.float64)
        bits = np.array([row[:, None] > cuts for row in rows]).reshape(len(rows), -1)
        values = bits[:, program.thresholds.order]
    seen = []
    for layer in program.layers:
        index = 3 - 2 * values[:, layer.first].astype(np.int64) - values[:, layer.second]
        values = (layer.gates >> index & 1).astype(bool)
        seen.append(values)
    ends = zip(program.members, program.offsets, strict=True)
    sums = [values[:, part].sum(axis=1) + offset for part, offset in ends]
    return GateRun(seen, np.array(sums, np.float64).T / program.divisor)
