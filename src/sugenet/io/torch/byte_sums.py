"""Which whole sums a neuron can have, and bytes that give them: a question is asked with bytes, but a
requantizer's steps are places among sums.

With sizes ``|w|`` in units of their greatest common divisor, M the largest of them and n(r) the least sum of
the others that leaves r modulo M, a sum t is made of n(t mod M) and a number of M, after other weights were
filled up as far as is needed; the upper half is the lower one turned around. Where no weight has to be used
more often than its bytes allow, these are all sums that there are (docs/theory.md 9.7); else a table of all
sums is made, weight by weight, where it is small enough.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints

__all__ = ["ByteSums"]

Levels: TypeAlias = npt.NDArray[np.int16]
_FAR = 1 << 40
_CELLS = 1 << 26


class ByteSums:
    """The sums ``weights @ (a - zero)`` of levels ``low <= a <= high``.

    Examples
    --------
    >>> sums = ByteSums(np.array([6, -10]), np.zeros(2, int), np.full(2, 255), zero=0)
    >>> sums.least, sums.largest, sums.unit, sums.certain
    (-2550, 1530, 2, True)
    >>> wanted = np.array([-2549, 0, 7])
    >>> sums.below(wanted).tolist(), sums.above(wanted).tolist()
    ([-2550, 0, 6], [-2544, 0, 8])
    >>> (sums.levels(np.array([8])) @ [6, -10]).tolist()
    [8]
    """

    def __init__(self, weights: Ints, low: Ints, high: Ints, zero: int) -> None:
        self.start = np.where(weights > 0, low, high)
        self.signs = np.sign(weights)
        live = np.flatnonzero((weights != 0) & (high > low))
        self.least = int(weights @ (self.start - zero))
        sizes, self.caps = np.abs(weights[live]), (high - low)[live]
        self.unit = int(np.gcd.reduce(sizes)) if len(live) else 1
        self.live, self.sizes = live, sizes // self.unit
        self.top = int(self.sizes @ self.caps)
        self.largest = self.least + self.unit * self.top

    @cached_property
    def _parts(self) -> tuple[int, Ints, Ints, Ints, Ints]:
        """The place of M; n(r), and how often each other size is in it; where these sizes are; and how much
        of each place is left for filling.
        """
        big = int(np.lexsort((self.caps, self.sizes))[-1])
        modulus = int(self.sizes[big])
        order = np.argsort(-self.caps, kind="stable")
        _, first = np.unique(self.sizes[order], return_index=True)
        places = order[first][::-1]  # large ones first: few of them make a sum
        places = places[self.sizes[places] < modulus]
        sizes, rest = self.sizes[places], np.arange(modulus)
        before = (rest[:, None] - sizes[None, :]) % modulus
        least = np.where(rest == 0, 0, _FAR)
        while len(sizes):
            shorter = np.minimum(least, (least[before] + sizes).min(axis=1))
            if (shorter == least).all():
                break
            least = shorter
        counts, now = np.zeros((modulus, len(sizes)), np.int64), rest
        while now.any():
            rows = np.flatnonzero(now)
            last = (least[before[now[rows]]] + sizes).argmin(axis=1)
            counts[rows, last] += 1
            now = now.copy()
            now[rows] = before[now[rows], last]
        left = self.caps.copy()
        left[places] -= counts.max(axis=0, initial=0)
        left[big] = 0
        left = np.maximum(left, 0)
        return big, least, counts, places, left

    @property
    def certain(self) -> bool:
        """Whether what is made here is all that there is."""
        return self._roomy or self._table is not None

    @cached_property
    def _table(self) -> list[Bits] | None:
        """Which totals the first weights have, from none of them to all; None where there is no need, or
        where it is too large.
        """
        if self._roomy or len(self.live) * self.top > _CELLS:
            return None
        found = [np.arange(self.top + 1) == 0]
        for size, cap in zip(self.sizes.tolist(), self.caps.tolist(), strict=True):
            now, part = found[-1], 1
            while cap:
                part = min(part, cap)
                more = now.copy()
                more[part * size :] |= now[: -part * size]
                now, cap, part = more, cap - part, 2 * part
            found.append(now)
        return found

    @cached_property
    def _roomy(self) -> bool:
        """Whether no weight has to be used more often than half of its bytes."""
        if not len(self.live):
            return True
        big, least, counts, places, _ = self._parts
        modulus = int(self.sizes[big])
        often = 2 * counts.max(axis=0, initial=0) <= self.caps[places]
        return bool(often.all() and least.max() + modulus <= modulus * self.caps[big])

    def below(self, sums: Any) -> Ints:
        """For each sum the largest that can be made and is not larger; the least where there is none."""
        wanted = (np.asarray(sums, np.int64) - self.least) // self.unit
        return self._nearest(wanted, -1)

    def above(self, sums: Any) -> Ints:
        """For each sum the least that can be made and is not smaller; the largest where there is none."""
        wanted = -((self.least - np.asarray(sums, np.int64)) // self.unit)
        return self._nearest(wanted, 1)

    def _nearest(self, wanted: Ints, way: int) -> Ints:
        found = np.clip(wanted, 0, self.top)
        while True:
            missing = np.flatnonzero(~self._makes(found))  # 0 and the top can be made, so that it ends
            if not len(missing):
                return np.asarray(self.least + self.unit * found)
            found[missing] += way

    def _makes(self, totals: Ints) -> Bits:
        if not len(self.live):
            return np.ones(len(totals), bool)
        if self._table is not None:
            return np.asarray(self._table[-1][totals])
        if self._roomy:
            big, least, *_ = self._parts
            small = np.minimum(totals, self.top - totals)
            return np.asarray(least[small % self.sizes[big]] <= small)
        return self._fits(self._used(totals, np.arange(len(self.live))))

    def _fits(self, used: Levels) -> Bits:
        return np.asarray(((used >= 0) & (used <= self.caps.astype(np.int16))).all(axis=1))

    def levels(self, sums: Ints, *, loud: bool = False) -> Levels:
        """Levels, one row each, with sums that can be made, as small as can be or as large."""
        found = np.repeat(self.start[None, :].astype(np.int16), len(sums), axis=0)
        if len(self.live):
            used = self._split((np.asarray(sums) - self.least) // self.unit, loud)
            assert self._fits(used).all()
            found[:, self.live] += self.signs[self.live].astype(np.int16) * used
        return found

    def _split(self, totals: Ints, loud: bool) -> Levels:
        """How far each live weight is from its start."""
        if self._table is not None:
            return self._looked_up(totals, loud)
        rises = self.signs[self.live] > 0
        order = np.lexsort((-self.sizes, rises != loud))
        used = np.zeros((len(totals), len(order)), np.int16)
        for upper, turned in ((False, order), (True, order[::-1])):
            rows = np.flatnonzero((2 * totals > self.top) == upper)
            used[rows] = self._used(totals[rows], turned)
        if not (fits := self._fits(used)).all():
            used[~fits] = self._used(totals[~fits], np.arange(len(order)))
        return used

    def _looked_up(self, totals: Ints, loud: bool) -> Levels:
        """From the last weight to the first, as many or as few of each as leave a total of the rest."""
        assert self._table is not None
        used, rest = np.zeros((len(totals), len(self.live)), np.int16), totals.copy()
        for k in reversed(range(len(self.live))):
            most = (self.signs[self.live[k]] > 0) == loud
            counts = np.arange(self.caps[k] + 1)[:: -1 if most else 1]
            left = rest[:, None] - counts * self.sizes[k]
            fits = (left >= 0) & self._table[k][np.maximum(left, 0)]
            used[:, k] = taken = counts[fits.argmax(axis=1)]
            rest -= taken * self.sizes[k]
        return used

    def _used(self, totals: Ints, order: Ints) -> Levels:
        """The same by n(r), filled in an order; the upper half is turned around."""
        big, least, counts, places, left = self._parts
        modulus = int(self.sizes[big])
        upper = 2 * totals > self.top
        small = np.where(upper, self.top - totals, totals)
        room = np.concatenate([[0], np.cumsum((left * self.sizes)[order])])
        amount = np.clip(small - least.max(), 0, room[-1])
        full = np.searchsorted(room, amount, side="right") - 1
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        used = (rank < full[:, None]) * left.astype(np.int16)
        rows = np.flatnonzero(full < len(order))
        place = order[full[rows]]
        part = (amount[rows] - room[full[rows]]) // self.sizes[place]
        used[rows, place] += part.astype(np.int16)
        rest = small - room[full]
        rest[rows] -= part * self.sizes[place]
        used[:, places] += counts[rest % modulus].astype(np.int16)
        multiples = (rest - least[rest % modulus]) // modulus
        used[:, big] = np.clip(multiples, -1, 256)  # beyond its bytes either way: it does not fit
        return np.asarray(np.where(upper[:, None], self.caps.astype(np.int16) - used, used), np.int16)
