"""Functions behind the class scores, such as softmax: refused if 32-bit floats let classes tie that the
scores keep apart.

In exact arithmetic they rise, so the class is the same without them. A sigmoid of 22 and one of 30 are both 1
in 32-bit floats. So every pair of scores that two classes can have is compared, with room for the rounding of
any implementation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Head
from sugenet.errors import FileError

__all__ = ["see_apart"]

_Floats = npt.NDArray[np.float64]

_CURVES: dict[str, Callable[[_Floats], _Floats]] = {
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "log_sigmoid_forward": lambda x: -np.logaddexp(0, -x),
    "tanh": np.tanh,
    "log": np.log,
}
_SHARES = ("softmax", "log_softmax", "logsoftmax")
_SCORES = 1 << 20
"""Scores of all classes, at most."""
_STEP = 2.0**-16
"""Softmax subtracts the largest score, and keeps others that are lower by this below it."""
_ROOM = 2.0**-20
"""Share of a result by which two of them must differ: 8 roundings of a 32-bit float."""
_LEAST = 2.0**-110
"""Results nearer to 0 may be rounded to 0."""


def see_apart(head: Head, left_out: Iterable[str], source: str) -> None:
    """See that functions left out at the end keep the classes apart that the head keeps apart.

    Parameters
    ----------
    head
        The class scores.
    left_out
        What stands behind them, in order, each named by its function first.
    source
        File or module, for messages.

    Raises
    ------
    FileError
        If classes with different scores can tie behind one of them.
    """
    named = [(_function(name), name) for name in left_out]
    curves = [(kind, name) for kind, name in named if kind in _CURVES or kind in _SHARES]
    if not curves:
        return
    kind, name = curves[0]
    advice = "Remove it: the scores alone have the same order."
    if any(other != "log" for other, _ in curves[1:]):
        raise FileError(f"{source}: {curves[1][1]} stands behind {name}. Remove both, and keep the scores.")
    if kind in _SHARES:
        steps = [2 * scale for scale, size in zip(head.scale, head.sizes, strict=True) if scale and size]
        if steps and min(steps) < _STEP:
            raise FileError(
                f"{source}: scores only {float(min(steps)):.3g} apart can tie behind {name}. {advice}"
            )
        return
    values, others = _reachable(head, f"{source}: {name}:")
    pairs = others >= 0
    for kind, name in curves:
        with np.errstate(all="ignore"):
            after = _CURVES[kind](values)
        high, low = after[pairs], after[others[pairs]]
        size = np.maximum(np.abs(high), np.abs(low))
        tie = ~((high - low > _ROOM * size) & (size > _LEAST))
        if tie.any():
            at = int(np.flatnonzero(pairs)[np.argmax(tie)])
            raise FileError(
                f"{source}: behind {name} classes with the scores {values[others[at]]:.6g} and "
                f"{values[at]:.6g} tie in 32-bit floats. {advice}"
            )
        values = after


def _function(name: str) -> str:
    """The function that something left out is named by: ``tanh at 3 (Tanh)``, ``node 16 (Softmax 'x')``."""
    found = re.match(r"(?:node \d+ \()?(\w+)", name)
    return "" if found is None else found[1].lower()


def _reachable(head: Head, what: str) -> tuple[_Floats, npt.NDArray[np.intp]]:
    """All scores that classes can have, rising; and for each the place of the next lower one of another
    class, -1 if there is none.
    """
    if int(head.sizes.sum()) > _SCORES:
        raise FileError(f"{what} too many possible scores to see that no two classes tie. Remove it.")
    rows = sorted(
        (scale * (2 * matches - int(size)) + bias, k)
        for k, (scale, bias, size) in enumerate(zip(head.scale, head.bias, head.sizes, strict=True))
        for matches in range(int(size) + 1)
    )
    below, last, first = np.full(len(rows), -1), dict[int, int](), 0  # the first of those that are as large
    for at, (score, k) in enumerate(rows):
        if score > rows[first][0]:
            for place in range(first, at):  # the last place of each class, those of the largest scores last
                last.pop(rows[place][1], None)
                last[rows[place][1]] = place
            first = at
        below[at] = next((place for other, place in reversed(last.items()) if other != k), -1)
    return np.array([float(score) for score, _ in rows]), below
