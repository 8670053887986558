"""Widest intervals of a reason: `inflate` replaces each fixed feature by an interval, or a set of categories,
in which it may move while the class stays.

The result is the claim that the class stays in a box, and one counterexample beyond each end of it. So both
are certified by existing kinds of certificates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sugenet.errors import QuestionError
from sugenet.nn import Network, OneHot
from sugenet.problem import AnyInput, Box, Clock, Free, Linf, feature_index, plain_row
from sugenet.problem.boxes import limit_text
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import Robust
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import Sentences

__all__ = ["Inflated", "inflate"]


@dataclass(frozen=True)
class Inflated(Sentences):
    """A reason with an interval, or a set of categories, for each feature: the answer to `inflate`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Encoder, Head, Network, integer
    >>> from sugenet.reason import why
    >>> encoder = Encoder([integer(0, 9)] * 2, ["a", "b"])
    >>> net = Network(encoder, [DenseLayer([[1] * 18], [6])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(inflate(why(net, [8, 1], "AnyInput")))
    on, for any input, because a >= 6 (proved; widest)

    See Also
    --------
    inflate : gives it.
    check : verifies its certificates.
    """

    network: Network
    reason: Reason
    limits: dict[str, Any]
    """Limit of each feature of the reason, as in `Box`; only ends inside the region."""
    verdict: Proved | Undecided
    """The claim that the class stays while the features are within these limits."""
    beyond: tuple[dict[str, Any], ...]
    """For each end, the certificate of a counterexample in the next state."""
    is_widest: bool
    """Whether every end has such a counterexample, so that no interval can be widened."""

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Certificate of the claim."""
        return self.verdict.certificate

    def conditions(self) -> list[str]:
        """Return the limits in words."""
        return [limit_text(name, limit) for name, limit in self.limits.items()]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            "outcome": self.verdict.outcome,
            "conditions": self.conditions(),
            "is_widest": self.is_widest,
            "certificate": self.certificate,
            "beyond": list(self.beyond),
        }

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return the sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        region = self.reason.question.described_region(self.network)
        where = f"{'for' if region.startswith('any input') else 'with'} {region}"
        listed = " and ".join(self.conditions()) or "nothing needs to be known"
        status = mark(self.verdict.outcome) + ("; widest" if self.is_widest else "")
        return f"{self.reason.label}, {where}, because {listed} ({status})"

    def __str__(self) -> str:
        return self.said()


def inflate(
    reason: Reason | Reasons,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Inflated:
    """Widen each feature of a reason to the largest interval in which the class stays.

    One feature after another is widened to both sides, state by state of its coding. No interval of the
    result can be widened further; another order of the features may give other intervals.

    Parameters
    ----------
    reason : Reason or Reasons
        A reason, or an answer of `why`, of which the first reason is taken. Its region must be a box:
        `AnyInput`, `Linf`, `Free` or `Box`.
    time_limit : float, default: None
        Seconds after which the intervals so far are given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Inflated
        Limits of each feature, the proved claim, and a counterexample beyond each end.

    Raises
    ------
    QuestionError
        If the reason is not proved, holds for a share of the inputs only, or its region has a budget.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Encoder, Head, Network, integer
    >>> from sugenet.reason import why
    >>> encoder = Encoder([integer(0, 9)] * 2, ["a", "b"])
    >>> net = Network(encoder, [DenseLayer([[1] * 18], [6])], Head([[-1], [1]]), classes=["off", "on"])
    >>> inflate(why(net, [8, 1], "AnyInput")).conditions()
    ['a >= 6']

    See Also
    --------
    why : finds a reason.
    """
    one = reason.reasons[0] if isinstance(reason, Reasons) and reason.reasons else reason
    if not isinstance(one, Reason) or not one.is_found or one.question.precision is not None:
        raise QuestionError("inflate needs a proved reason that holds for all inputs of its region.")
    return _Widening(one, Clock(time_limit, threads, seed, notify)).run()


class _Widening:
    """State of the search for one reason."""

    def __init__(self, reason: Reason, clock: Clock) -> None:
        self.network, self.reason, self.clock = reason.network, reason, clock
        question = reason.question
        self.sample = question.values(self.network)
        self.codings = self.network.lawful.encoder.codings
        self.near = question.near(self.network)
        self.whole = self._region(question.region)
        self.states = {
            f: sorted({self.near.states[f], *(way.state for way in self.near.moves.ways.get(f, ()))})
            for f in reason.features
        }
        self.chosen = {f: [self.near.states[f]] for f in reason.features}
        """States of each feature of the reason, in the order of the coding."""
        self.verdict = self._verify(self.chosen)
        self.ends: list[tuple[int, int, Refuted | None]] = []
        """Each state beyond an end, with its counterexample."""

    def _region(self, region: Any) -> dict[int, Any]:
        """Return the region as limits by feature; features without limits stay fixed."""
        features = range(self.network.encoder.features)
        match region:
            case AnyInput():
                return dict.fromkeys(features, (None, None))
            case Free():
                return {feature_index(self.network, f): (None, None) for f in region.features}
            case Box():
                return region.placed(self.network)
            case Linf():
                return {f: self._ball(f, region.size) for f in features}
        raise QuestionError(
            f"{region} limits the changes of all features together, so intervals have no meaning. Use "
            "AnyInput(), Linf(r), Free([...]) or Box(...)."
        )

    def _ball(self, feature: int, radius: Fraction) -> Any:
        coding, value = self.codings[feature], self.sample[feature]
        if isinstance(coding, OneHot):
            return (None, None) if radius >= 1 else frozenset([value])
        center = Fraction(coding.number(value))
        return center - radius, center + radius

    def run(self) -> Inflated:
        """Widen every feature, then collect what shows that none can be widened further."""
        for feature in sorted(self.chosen):
            if isinstance(self.codings[feature], OneHot):
                for state in self.states[feature]:
                    self._widen(feature, [state])
                continue
            start = self.near.states[feature]
            self._widen(feature, [state for state in self.states[feature] if state > start])
            self._widen(feature, [state for state in self.states[feature] if state < start][::-1])
            self.clock.tell(f"{self.network.encoder.names[feature]} is widened")
        question, beyond = self.reason.question, []
        for feature, state, refuted in self.ends:
            if refuted is not None:
                box = self._box({**self.chosen, feature: [*self.chosen[feature], state]})
                asked = Robust(question.sample, box, question.target, question.ties)
                witness = plain_row(refuted.witness, self.network)
                shown = envelope(self.network, asked, witness=witness, proof=None, answer="refuted")
                beyond.append(shown)
        assert not isinstance(self.verdict, Refuted), "a reason does not suffice: please report it"
        limits = {self.network.encoder.names[f]: self._limit(f, rows) for f, rows in self.chosen.items()}
        limits = {name: limit for name, limit in limits.items() if limit != (None, None)}
        widest = self.verdict.is_proved and len(beyond) == len(self.ends)
        return Inflated(self.network, self.reason, limits, self.verdict, tuple(beyond), widest)

    def _widen(self, feature: int, states: Sequence[int]) -> None:
        """Add as many of some states as possible, the first ones first."""
        states = [state for state in states if state not in self.chosen[feature]]
        before, good, bad, tried, shown = self.chosen, 0, len(states) + 1, len(states), None
        while bad - good > 1:  # the first `good` states hold, the first `bad` do not
            wider = {**before, feature: [*before[feature], *states[:tried]]}
            verdict = self._verify(wider)
            if isinstance(verdict, Proved):
                good, self.chosen, self.verdict = tried, wider, verdict
            else:
                bad, shown = tried, verdict if isinstance(verdict, Refuted) else None
            tried = (good + bad) // 2
        if bad <= len(states):
            self.ends.append((feature, states[bad - 1], shown))

    def _verify(self, chosen: dict[int, list[int]]) -> Proved | Refuted | Undecided:
        question, clock = self.reason.question, self.clock
        asked = Robust(question.sample, self._box(chosen), question.target, question.ties)
        how: dict[str, Any] = {"threads": clock.threads, "seed": clock.seed}
        return verify(self.network, asked, time_limit=clock.left(), **how)

    def _box(self, chosen: dict[int, list[int]]) -> Box:
        """Return the box in which features of the reason have some states."""
        limits = dict(self.whole)
        for feature, states in chosen.items():
            if feature not in limits:
                continue
            limit = self._limit(feature, states)
            if limit == (None, None):
                continue
            if isinstance(limit, tuple):
                both = zip(limit, self._ends(feature), strict=True)
                limit = tuple(whole if end is None else end for end, whole in both)
            limits[feature] = limit
        names = self.network.encoder.names
        return Box([(names[f], limit) for f, limit in limits.items()])

    def _ends(self, feature: int) -> tuple[Any, Any]:
        """Return the ends of a feature in the region."""
        whole = self.whole[feature]
        if isinstance(whole, tuple):
            return whole
        if isinstance(whole, frozenset) and len(whole) > 1:
            raise QuestionError(f"{self.network.encoder.names[feature]} has single values, not an interval.")
        (value,) = whole if isinstance(whole, frozenset) else (whole,)
        return value, value

    def _limit(self, feature: int, states: Sequence[int]) -> Any:
        """Return the limit that leaves a feature some states, with None for an end of the region."""
        coding, known = self.codings[feature], self.states[feature]
        if isinstance(coding, OneHot):
            if set(states) == set(known):
                return None, None
            return frozenset(coding.categories[state] for state in states)
        low, high = (coding.interval(end) for end in (min(states), max(states)))
        assert low is not None
        assert high is not None
        ends = (
            None if min(states) == known[0] else low[0],
            None if max(states) == known[-1] else high[1],
        )
        return tuple(int(end) if end is not None and coding.whole else end for end in ends)
