"""Pi-NeSy's own code (Baaj, Marquis) on the equations of `benchmarks._rules`, in a process of its own.

The folder pi-nesy in SUGENET_PEERS is a clone of github.com/ibaaj/pi-nesy whose install.sh was run for the
CPU. Without it nothing is compared. The equations, and the tolerance beyond which a sample is left out, are
the same for both; Pi-NeSy computes in float32 and takes differences of up to 0.001 for equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sugenet.fit import RuleFit

__all__ = ["compared", "folder"]

_THEIRS = """
import json, os, sys, time
folder, tolerance, systems = json.load(sys.stdin)
sys.path[:0] = [folder + "/src/possibilistic_rule_based_systems", folder + "/lib"]
shown, sys.stdout = sys.stdout, sys.stderr  # what it prints is not an answer
import possibilistic_learning as learning
found = []
for partition, data in systems:
    start = time.perf_counter()
    distances, _ = learning.get_threshold_map([tolerance], data, data, partition)
    s, r, _, _ = learning.RuleParametersLearning(data, data, partition, distances, tolerance)
    found.append(([float(p) for p in s], [float(p) for p in r], time.perf_counter() - start))
shown.write(json.dumps(found))
shown.flush()
os._exit(0)  # its library may crash when Python ends, as its README says
"""


def folder() -> Path | None:
    """Return the folder of Pi-NeSy with its compiled library, if it is there."""
    path = Path(os.environ.get("SUGENET_PEERS", ".")) / "pi-nesy"
    return path if list(path.glob("lib/cpu_computation_py*")) else None


def _degree(truth: Any, cell: Sequence[str]) -> float:
    """Return the degree of a cell by a truth: a value, or the degrees of values."""
    return (
        float(max(truth[value] for value in cell))
        if isinstance(truth, Mapping)
        else float(str(truth) in cell)
    )


def compared(
    learned: RuleFit,
    samples: Sequence[Mapping[str, Any]],
    truths: Sequence[Mapping[str, Any]],
    tolerance: float,
) -> tuple[float, float]:
    """Return the largest difference of a parameter, and Pi-NeSy's seconds."""
    systems = []
    for output in learned.fits:
        base, zeros = learned.base, [(0, 0)] * len(learned.base.rules_of(output))
        # a rule has the columns (s, 1) in the rows of its conclusion, and (1, r) in the others
        rows = base.with_parameters(output, zeros).matrix(output)
        partition = [[k + 1 if not row[2 * k] else -k - 1 for k in range(len(zeros))] for row in rows]
        cells = base.cells(output)
        data = [
            ([float(degree) for degree in vector], [_degree(truth[output], cell) for cell in cells])
            for vector, truth in zip(base.vectors(output, samples), truths, strict=True)
        ]
        systems.append((partition, data))
    path = folder()
    assert path is not None
    told = subprocess.run(
        [sys.executable, "-c", _THEIRS],
        input=json.dumps((str(path.resolve()), tolerance, systems)),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    largest, seconds = 0.0, 0.0
    for output, (s, r, spent) in zip(learned.fits, json.loads(told.stdout), strict=True):
        for rule, *theirs in zip(learned.base.rules_of(output), s, r, strict=True):
            largest = max(
                largest, *(abs(float(p) - q) for p, q in zip((rule.s, rule.r), theirs, strict=True))
            )
        seconds += spent
    return largest, seconds
