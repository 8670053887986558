"""Reasons for a share of the inputs, by exact counts (docs/theory.md 8.2).

The inputs that agree with the sample on some features are counted as a region of their own. The share that
keeps the class may fall and rise again as features are dropped. So a set is *minimal* here if no single
feature can be dropped, and *minimum* if no smaller set reaches the share. If sets are too large to be
counted, random inputs estimate the share, with a stated confidence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations
from math import comb
from typing import Any

from sugenet.errors import QuestionError, TooLargeError
from sugenet.nn import Network, OneHot
from sugenet.problem import Box, Clock, Neighbourhood
from sugenet.reason.counts import Counted, CountOpen, CountSampled, count
from sugenet.reason.counts.space import combinations_within
from sugenet.reason.questions import Count, Why
from sugenet.reason.reasons.oracle import Features

__all__ = ["Estimated", "Probable", "estimated", "probable", "share_of"]

_SECONDS = 20.0
"""Most seconds for the count of one set of features."""
_INPUTS = 1 << 26
"""Most inputs that are counted for one set of features; the checker counts every set again."""
_SETS = 3000
"""Most sets of features that are counted to show that a reason is a smallest one."""


_DRAWS = 2000
"""Number of inputs drawn to choose the features to drop."""
_FINAL_DRAWS = 20_000
"""Number of inputs drawn to estimate the share of the set that is returned."""
_TRIES = 5
"""Maximum number of sets whose share is estimated in the end."""
_CONFIDENCE = 0.99


@dataclass(frozen=True)
class Estimated:
    """Features that are estimated to reach the share of the question, without proof.

    The share of the inputs that keep the class while these features stay is between `low` and `high`, except
    in at most ``1 - confidence`` of all draws. The inputs were drawn after the features were chosen.
    """

    features: tuple[int, ...]
    low: float
    high: float
    confidence: float
    samples: int
    """Number of inputs drawn."""
    seed: int

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            "features": list(self.features),
            "share": [self.low, self.high],
            "confidence": self.confidence,
            "samples": self.samples,
            "seed": self.seed,
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Estimated":
        """Return the estimate that `data` wrote."""
        low, high = data["share"]
        return cls(tuple(data["features"]), low, high, data["confidence"], data["samples"], data["seed"])


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


def estimated(network: Network, question: Why, features: Features, clock: Clock) -> Estimated | None:
    """Drop features from a set as long as random inputs reach the share; None if nothing can be dropped.

    Few inputs choose the features, then others estimate the share. If it is not certain enough, the feature
    that was dropped last returns, and new inputs are drawn. The confidence counts all these tries.
    """
    target = float(question.precision)

    def drawn(fixed: Features, samples: int, seed: int, confidence: float) -> CountSampled | None:
        if clock.up():
            return None
        try:
            answer = count(
                network,
                question.sample,
                question.region,
                where=_kept(network, question, fixed),
                method="sample",
                samples=samples,
                seed=seed,
                confidence=confidence,
                time_limit=clock.left(),
                threads=clock.threads,
            )
        except (TooLargeError, QuestionError):  # too large to draw from, or no input drawn obeys the laws
            return None
        return answer if isinstance(answer, CountSampled) else None

    def ends(answer: CountSampled) -> tuple[float, float]:
        goal = question.label_goal(network)
        if goal.target is None:
            return answer.intervals[goal.label]
        low, high = answer.intervals[goal.target]
        return 1 - high, 1 - low

    def roughly(fixed: Features) -> float:
        answer = drawn(fixed, _DRAWS, clock.seed, _CONFIDENCE)
        return 0.0 if answer is None else sum(ends(answer)) / 2

    shares = {f: roughly(features - {f}) for f in sorted(features)}
    fixed, dropped = features, []
    for feature in sorted(features, key=lambda f: (-shares[f], f)):
        if roughly(fixed - {feature}) >= target:
            fixed -= {feature}
            dropped.append(feature)
            clock.tell(f"{len(fixed)} features are estimated to keep the class for this share")
    for turn in range(1, _TRIES + 1):
        if not dropped:
            return None
        answer = drawn(fixed, _FINAL_DRAWS, clock.seed + turn, 1 - (1 - _CONFIDENCE) / _TRIES)
        if answer is None:
            return None
        low, high = ends(answer)
        if low >= target:
            kept = tuple(sorted(fixed))
            return Estimated(kept, low, high, _CONFIDENCE, answer.samples, clock.seed + turn)
        fixed |= {dropped.pop()}
    return None


def _kept(network: Network, question: Why, fixed: Features) -> Box:
    """Return the inputs that agree with the sample on some features."""
    codings, sample = network.encoder.codings, question.values(network)
    return Box((f, {sample[f]} if isinstance(codings[f], OneHot) else sample[f]) for f in sorted(fixed))


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
        box = _kept(network, question, fixed)
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
