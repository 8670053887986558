"""Reasons for a share of the inputs, by exact counts (docs/theory.md 8.2).

The inputs that agree with the sample on some features are counted as a region of their own. The share that
keeps the class may fall and rise again as features are dropped. So a set is *minimal* here if no single
feature can be dropped, and *minimum* if no smaller set reaches the share.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations
from math import comb
from typing import Any

from sugenet.errors import TooLargeError
from sugenet.nn import Network, OneHot
from sugenet.problem import Box, Clock, Neighbourhood
from sugenet.reason.counts import Counted, CountOpen, count
from sugenet.reason.counts.space import combinations_within
from sugenet.reason.questions import Count, Why
from sugenet.reason.reasons.oracle import Features

__all__ = ["Probable", "probable", "share_of"]

_SECONDS = 20.0
"""Most seconds for the count of one set of features."""
_INPUTS = 1 << 26
"""Most inputs that are counted for one set of features; the checker counts every set again."""
_SETS = 3000
"""Most sets of features that are counted to show that a reason is a smallest one."""


@dataclass
class Probable:
    """A set of features with the counts that show its share, and that others do not reach it."""

    features: Features
    status: str = "unknown"
    proof: dict[str, Any] | None = None
    is_stopped: bool = False


def probable(
    network: Network,
    question: Why,
    near: Neighbourhood,
    features: Features,
    minimal: str | None,
    clock: Clock,
    *,
    is_stopped: bool,
) -> Probable:
    """Drop features from a set as long as the share of the question is reached."""
    search = _SetCounts(network, question, clock)
    if is_stopped:
        return Probable(features, is_stopped=True)
    try:
        if minimal == "size":
            smallest = search.smallest(frozenset(near.places), len(features))
            if smallest is not None:
                return smallest
        return search.dropped(features, once=minimal is None)
    except KeyboardInterrupt:
        best = Probable(search.best or features, is_stopped=True)
        if search.best is not None:
            best.status, best.proof = "sufficient", search.proof(search.best, ())
        return best


@dataclass
class _SetCounts:
    """Counts of inputs that agree with the sample, by features; None if they could not be counted."""

    network: Network
    question: Why
    clock: Clock
    known: dict[Features, dict[str, Any] | None] = field(default_factory=dict)
    best: Features | None = None
    """The last set that was seen to reach the share."""

    def counted(self, fixed: Features) -> dict[str, Any] | None:
        """Return the count of a set of features as a certificate has it."""
        if fixed not in self.known:
            self.known[fixed] = self._counted(fixed)
        return self.known[fixed]

    def _counted(self, fixed: Features) -> dict[str, Any] | None:
        network, question, left = self.network, self.question, self.clock.left()
        codings, sample = network.encoder.codings, question.values(network)
        box = Box((f, {sample[f]} if isinstance(codings[f], OneHot) else sample[f]) for f in sorted(fixed))
        try:
            if combinations_within(Count(question.sample, question.region, box).near(network)) > _INPUTS:
                return None
            answer = count(
                network,
                question.sample,
                question.region,
                where=box,
                time_limit=_SECONDS if left is None else min(left, _SECONDS),
                threads=self.clock.threads,
            )
        except TooLargeError:
            return None
        if isinstance(answer, CountOpen) and answer.reason.startswith("interrupted"):
            raise KeyboardInterrupt
        if not isinstance(answer, Counted):
            return None
        kept = {name: answer.certificate[name] for name in ("counts", "total", "method", "proof")}
        return {"fixed": sorted(fixed), **kept}

    def share(self, fixed: Features) -> Fraction | None:
        """Return the share of the inputs that keep the class while some features stay; None if unknown."""
        counted = self.counted(fixed)
        return None if counted is None else share_of(self.network, self.question, counted)

    def reaches(self, fixed: Features) -> bool | None:
        """Return whether a set of features reaches the share; None if it could not be counted in time."""
        share = None if self.clock.up() and fixed not in self.known else self.share(fixed)
        if share is not None and share >= self.question.precision:
            self.best = fixed
        return None if share is None else bool(share >= self.question.precision)

    def proof(self, fixed: Features, others: Iterable[Features]) -> dict[str, Any]:
        """Return the counts as a proof."""
        rows = [self.counted(other) for other in others]
        return {"kind": "shares", "reason": self.counted(fixed), "others": rows}

    def dropped(self, features: Features, *, once: bool) -> Probable:
        """Drop features one by one, those first that lose least, until none can be dropped."""
        if self.reaches(features) is None:
            return Probable(features)
        while not once:
            enough = [f for f in sorted(features) if self.reaches(features - {f})]
            if not enough:
                break
            shares = {f: self.share(features - {f}) or 0 for f in enough}
            for feature in sorted(enough, key=lambda f: -shares[f]):
                if self.reaches(features - {feature}):
                    features -= {feature}
                    self.clock.tell(f"{len(features)} features keep the class for this share")
        without = [features - {f} for f in sorted(features)]
        if not once and all(self.reaches(other) is False for other in without):
            return Probable(features, "minimal", self.proof(features, without))
        return Probable(features, "sufficient", self.proof(features, ()))

    def smallest(self, movable: Features, most: int) -> Probable | None:
        """Return a smallest set; None if there are too many sets to count."""
        smaller: list[Features] = []
        for size in range(most + 1):
            if len(smaller) + comb(len(movable), size) > _SETS:
                return None
            rows = [frozenset(row) for row in combinations(sorted(movable), size)]
            for row in rows:
                enough = self.reaches(row)
                if enough is None:
                    return None
                if enough:
                    return Probable(row, "minimum", self.proof(row, smaller))
            smaller = list(chain(smaller, rows))
        return None


def share_of(network: Network, question: Any, counted: dict[str, Any]) -> Fraction:
    """Return the share of the counted inputs that keep the class."""
    goal = question.label_goal(network)
    counts = counted["counts"][: network.head.outputs]  # those that break a law are counted apart
    kept = counts[goal.label] if goal.target is None else sum(counts) - counts[goal.target]
    return Fraction(kept, sum(counts))
