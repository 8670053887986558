"""Search for a counterexample by an integer program: patterns of patches, coupled to the inputs that produce
them. It proves nothing; its point is evaluated exactly.

Each open first-layer neuron is on or off, and its sum is on that side of its threshold, with a small margin
for rounding. The sums are those of one input of the box, so patterns that no input produces together are
excluded. Neighbouring patches agree through their weights, as in `bound`.
"""
# mypy: disable-error-code="import-untyped"

from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.reals.bound import Reach, couplings

__all__ = ["coupled_point"]

_ROOM = 1 / 64  # between a sum and its threshold, for each unit of the largest weight
_MOST = 1 << 16  # largest number of patterns of a program
_PATIENCE = 120.0  # seconds, if there is no time limit


def coupled_point(
    reach: Reach, time_limit: float | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]] | None:
    """Return inputs, and values near which they meet the conjunction with a margin; None if none were found.

    Parameters
    ----------
    reach
        The conjunction over its box.
    time_limit
        Seconds that the program may take.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, csr_array, hstack

    box_layers, patches, gains = reach.first_layer, reach.patches.found, reach._gains
    neurons = sorted({j for patch in patches for j in patch.cone})
    starts = np.cumsum([0, *(len(patch.patterns) for patch in patches)])
    if not neurons or starts[-1] > _MOST:
        return None
    rows, inputs = box_layers.rows(neurons)
    z, free = int(starts[-1]), reach.patches.free
    y = z + len(neurons)
    x = y + len(free)
    size = x + len(inputs)
    column = {j: z + k for k, j in enumerate(neurons)}
    chosen, agree, _ = couplings(patches, [slice(None)] * len(patches), starts, column, size)
    lines = np.zeros((len(reach.slack.rows), size))
    for number, gain in enumerate(gains):
        lines[:, starts[number] : starts[number + 1]] = gain.T.astype(float)
    lines[:, y:x] = reach.slack.rows[:, free].astype(float)
    scale = np.maximum(np.abs(lines).max(axis=1), 1.0)

    lower, upper = box_layers.lower[inputs] / box_layers.grid, box_layers.upper[inputs] / box_layers.grid
    min_sums = np.maximum(rows, 0) @ lower + np.minimum(rows, 0) @ upper
    max_sums = np.maximum(rows, 0) @ upper + np.minimum(rows, 0) @ lower
    room = _ROOM * max(1, int(np.abs(rows).max(initial=0)))
    on, off = (
        box_layers.high[neurons] / box_layers.grid + room,
        box_layers.low[neurons] / box_layers.grid - room,
    )
    taps, side = csr_array(rows.astype(float)), np.arange(len(neurons))
    nothing = csr_array((len(neurons), x))

    def tied(values: npt.NDArray[np.float64]) -> Any:
        return coo_array((values, (side, z + side)), shape=(len(neurons), size)).tocsr()

    constraints = [
        LinearConstraint(chosen, 1, 1),
        LinearConstraint(agree, 0, 0),
        LinearConstraint(lines / scale[:, None], (0.5 - reach._fixed.astype(float)) / scale, np.inf),
        LinearConstraint(hstack([nothing, taps]).tocsr() - tied(on - min_sums), min_sums, np.inf),
        LinearConstraint(hstack([nothing, taps]).tocsr() - tied(max_sums - off), -np.inf, off),
    ]
    bounds = Bounds(
        np.concatenate([np.zeros(y), np.full(len(free), -1.0), lower]),
        np.concatenate([np.ones(x), upper]),
    )
    integrality = np.zeros(size)
    integrality[z:y] = 1
    options = {"time_limit": _PATIENCE if time_limit is None else max(time_limit, 0.1), "mip_rel_gap": 1e9}
    aim = -(lines / scale[:, None]).sum(axis=0)  # stops at the first solution
    solution = milp(aim, constraints=constraints, bounds=bounds, integrality=integrality, options=options)
    return None if solution.x is None else (np.asarray(inputs), np.asarray(solution.x[x:]))
