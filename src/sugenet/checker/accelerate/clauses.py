"""The canonical clauses of a question, written down again from the question in whole numbers.

To be ensured: an input that violates the question satisfies all of them. They are described in
`sugenet.engines.outside.cnf`; here other code makes them, and their digest must be that of the proof.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.whole import Whole, over_neurons
from sugenet.checker.limit import Limit
from sugenet.checker.problem import most_together
from sugenet.errors import CertificateError

__all__ = ["Clause", "clauses_of", "written"]

_CLAUSES = 20_000_000
_CLAUSE = 250  # bytes that a clause takes as Python objects
_BLOCK = 1 << 16  # clauses that are written as numbers at a time

Clause: TypeAlias = tuple[int, ...]


class _Clauses(list[Clause]):
    """Clauses written down so far, and the number of the last variable."""

    last = 0
    most = _CLAUSES
    counted = 0

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self.limit = limit

    def make_room(self, more: int, names: int = 0) -> None:
        """See that so many clauses more are not too many, and that there is memory for them."""
        if len(self) + more > self.most:
            raise CertificateError(
                f"the proof is of other clauses: the question takes more than {self.most:,}."
            )
        self.limit.take(_CLAUSE * (len(self) - self.counted), "the clauses of the question")
        self.counted = len(self)
        self.limit.fits(2 * _CLAUSE * more + 150 * names, "the clauses of the question")

    def threshold(
        self, root: int, start: int, gains: list[list[int]], avoid: list[list[Clause]], most: int | None
    ) -> int:
        """`root` is true iff start plus one gain of each group is 0 or more.

        1 or 0: it always or never is; -1: it depends.
        """
        self.limit.look()
        rows = [(row, literals) for row, literals in zip(gains, avoid, strict=True) if set(row) != {0}]
        largest = _best([max(row) for row, _ in rows], most)
        smallest = [-loss for loss in _best([-min(row) for row, _ in rows], most)]
        if start + largest[0] < 0 or start + smallest[0] >= 0:
            self.append((root,) if start + smallest[0] >= 0 else (-root,))
            return int(start + smallest[0] >= 0)
        here = [(start, root)]
        for k, (row, literals) in enumerate(rows):
            self.make_room(len(here) * len(row), len(here) * len(row))  # at least one clause for each below
            totals = sorted({total + gain for total, _ in here for gain in row})
            names: dict[int, int] = {}
            for total in totals:
                if total + smallest[k + 1] < 0 <= total + largest[k + 1]:
                    self.last += 1
                    names[total] = self.last
            for total, node in here:
                for gain, instead in zip(row, literals, strict=True):
                    next_ = names.get(total + gain)
                    if next_ is not None:
                        self.append((*instead, -node, next_))
                        self.append((*instead, node, -next_))
                    elif total + gain + smallest[k + 1] >= 0:
                        self.append((*instead, node))
                    else:
                        self.append((*instead, -node))
                if total + min(row) in names:
                    self.append((-names[total + min(row)], node))
                if total + max(row) in names:
                    self.append((-node, names[total + max(row)]))
            here = list(names.items())
            for (_, low), (_, high) in pairwise(here):
                self.append((-low, high))
        self.make_room(0)
        return -1


def clauses_of(whole: Whole, room: int = _CLAUSES) -> tuple[int, list[Clause]]:
    """Number of variables and the canonical clauses of a question, which must not be too many."""
    limit = whole.limit
    out = _Clauses(limit)
    out.most = min(room, _CLAUSES)
    limit.take(
        60 * len(whole.base) * sum(map(len, whole.features)), "what each change adds, as Python integers"
    )
    limit.take(60 * sum(weights.size for weights, _ in whole.layers), "the weights, as Python integers")
    avoid: list[list[Clause]] = []
    for options in whole.features:
        chain = [out.last + k for k in range(1, len(options) + 1)]
        out.last += len(chain)
        out += [(-after, before) for before, after in pairwise(chain)]
        avoid.append(
            [(*(-v for v in chain[k - 1 : k] if k), *chain[k : k + 1]) for k in range(len(options) + 1)]
        )
    layers = [(-np.minimum(weights, 0).sum(axis=1) - tau, weights) for weights, tau in whole.layers]
    pairs, cases = whole.inequalities
    limit.take(50 * len(pairs) * whole.head.shape[1], "the inequalities over the last neurons")
    votes, least = np.empty((len(pairs), whole.head.shape[1]), object), np.empty(len(pairs), object)
    for number, pair in enumerate(pairs):
        limit.look()
        votes[number], least[number] = over_neurons(whole.head, *pair)
    layers.append((-least, votes))
    roots = out.last
    out.last += len(whole.base) + sum(len(margins) for margins, _ in layers)
    last_row = out.last
    rows = [[last_row - len(pairs) + 1 + number for number in case] for case in cases]
    named = len(rows) > 1 and all(rows) and any(len(row) > 1 for row in rows)
    if named:
        out.last += len(rows)
    most, offered = None, whole.offered
    if whole.budget is not None:
        out.last += 1
        asserted = out.last
        out.threshold(
            asserted, whole.budget, [[-price for price, _ in options] for options in offered], avoid, None
        )
        out.append((asserted,))
        most = most_together((min(price for price, _ in options) for options in whole.features), whole.budget)
    gains = [np.array([gain for _, gain in options]).T.tolist() for options in offered]
    known = [
        out.threshold(roots + 1 + j, margin, [row[j] for row in gains], avoid, most)
        for j, margin in enumerate(whole.base.tolist())
    ]
    for margins, weights in layers:
        free = [i for i, value in enumerate(known) if value < 0]
        on = [i for i, value in enumerate(known) if value == 1]
        before, roots = roots, roots + len(known)
        switch: list[list[Clause]] = [[(before + 1 + i,), (-before - 1 - i,)] for i in free]
        known = [
            out.threshold(
                roots + 1 + j, margin + sum(row[i] for i in on), [[0, row[i]] for i in free], switch, None
            )
            for j, (margin, row) in enumerate(zip(margins.tolist(), weights.tolist(), strict=True))
        ]
    if not all(rows):
        return out.last, list(out)
    if named:
        for number, row in enumerate(rows, start=last_row + 1):
            out += [(-number, variable) for variable in row]
            out.append((*dict.fromkeys(-variable for variable in row), number))
        out.append(tuple(range(last_row + 1, last_row + 1 + len(rows))))
    elif len(rows) == 1:
        out += [(variable,) for variable in rows[0]]
    else:
        out.append(tuple(dict.fromkeys(row[0] for row in rows)))
    return out.last, list(out)


def _best(values: list[int], most: int | None) -> list[int]:
    """From each place on, the sum of the `most` largest values."""
    kept: list[int] = []
    total, sums = 0, [0]
    for value in reversed(values):
        total += value
        if most is not None:
            insort(kept, -value)
            total += sum(kept[most:])  # these are negative
            del kept[most:]
        sums.append(total)
    return sums[::-1]


def written(
    clauses: Sequence[Clause], limit: Limit
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], str]:
    """Clauses one after another, literal v as 2v - 2 and -v as 2v - 1; where each begins;
    and the digest of them as numbers.
    """
    starts = np.zeros(len(clauses) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, clauses), np.int64, len(clauses)), out=starts[1:])
    limit.take(4 * int(starts[-1]) + 16 * len(clauses), "the clauses of the question")
    literals, digest = np.empty(int(starts[-1]), np.int32), sha256()
    for first in range(0, len(clauses), _BLOCK):
        limit.look()
        block = clauses[first : first + _BLOCK]
        begin, end = int(starts[first]), int(starts[first + len(block)])
        numbers = np.fromiter(
            chain.from_iterable((*clause, 0) for clause in block), "<i4", end - begin + len(block)
        )
        digest.update(numbers.tobytes())
        kept = numbers[numbers != 0]
        literals[begin:end] = np.where(kept > 0, 2 * kept - 2, -2 * kept - 1)
    return literals, starts, digest.hexdigest()
