"""Rectification: the least change of thresholds after which claims about a network are proved (`rectify`).

The search is best-first over commitments, each a bound on one threshold. If a claim fails at an input, some
neuron must change there. Take the first layer in which one does: its inputs are as before, so its match count
is known, and so is the threshold from which on it changes. Each such neuron gives one branch. So no change is
missed, and the first one that is proved is a least one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any

import numpy as np

from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, LevelLayer, Network, network_of
from sugenet.problem import Clock, row_of
from sugenet.reason.questions import Always, Fair, Monotone, Never, class_of
from sugenet.reason.rules import parse_rule
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import Sentences, quoted

__all__ = ["Rectified", "rectify"]

_Key = tuple[int, int]
_Bounds = Mapping[_Key, tuple[int, int]]
"""Lowest and highest threshold by layer and neuron, from 0."""


@dataclass(frozen=True)
class Rectified(Sentences):
    """The least change of thresholds after which claims hold: the answer to `rectify`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(rectify(net, ["x1 = 1 -> on"]))
    1 threshold changed, by 1 in all, the least: neuron 1 of layer 1 from 2 to 1

    See Also
    --------
    rectify : gives it.
    check : verifies the certificates of the claims.
    """

    network: Network | None
    """The changed network; None if none was found."""
    changes: tuple[tuple[int, int, int, int], ...]
    """Layer and neuron from 1, threshold before and after."""
    verdicts: tuple[Proved, ...]
    """Each claim, proved for the changed network."""
    lower: int
    """Every change after which the claims hold has at least this size: the sum over all thresholds."""
    accuracy: tuple[Fraction, Fraction] | None
    """Share of given samples that are classified right, before and after."""
    reason: str = ""
    """Why no change was found."""

    @property
    def size(self) -> int:
        """Size of the change: the sum over all thresholds."""
        return sum(abs(after - before) for _, _, before, after in self.changes)

    @property
    def is_least(self) -> bool:
        """Whether no smaller change is enough."""
        return self.network is not None and self.size == self.lower

    @property
    def outcome(self) -> str:
        """``"rectified"``, ``"none"`` if no change of this size is enough, or ``"undecided"``."""
        return "rectified" if self.network is not None else "none" if not self.reason else "undecided"

    def said(self, mark: Callable[[str], str] = str) -> str:  # noqa: ARG002
        """Return the answer in words.

        Parameters
        ----------
        mark : function, default: str
            As in other answers; not used.

        Returns
        -------
        str
            The changes, or why there are none.
        """
        if self.network is None:
            return (
                f"no change is known: {self.reason or 'none up to the largest size'}; at least {self.lower}"
            )
        if not self.changes:
            return "nothing has to change: all claims are proved"
        rows = [f"neuron {j} of layer {k} from {a} to {b}" for k, j, a, b in self.changes]
        known = "the least" if self.is_least else f"at least {self.lower} needed"
        n, shown = len(rows), ", ".join(rows[:8]) + (", ..." if len(rows) > 8 else "")
        text = f"{n} threshold{'s' * (n > 1)} changed, by {self.size} in all, {known}: {shown}"
        if self.accuracy is None:
            return text
        return f"{text}; accuracy {float(self.accuracy[0]):.2%} before, {float(self.accuracy[1]):.2%} after"

    def __str__(self) -> str:
        return self.said()


def rectify(
    network: Network,
    claims: Iterable[Any],
    X: Any = None,
    y: Any = None,
    *,
    max_change: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Rectified:
    """Find the least change of thresholds after which claims about all inputs hold, and prove them.

    The size of a change is the sum of the differences of all thresholds of hidden neurons. Weights and the
    last layer stay as they are.

    Parameters
    ----------
    network : Network, classifier or pipeline
        A network whose hidden layers are dense, with one threshold per neuron.
    claims : iterable
        `Always`, `Never`, `Monotone` and `Fair`, or rules as text, such as ``"age >= 60 -> yes"``.
    X : array, default: None
        Samples whose accuracy is compared. None: no comparison.
    y : array, default: None
        Class of each sample, by name or index. None: no comparison.
    max_change : int, default: None
        Largest size of a change to look for. None: any.
    time_limit : float, default: None
        Seconds after which the search ends. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Rectified
        The changed network with its proved claims, and a lower bound on the size of every change. If time
        runs out, the change may be larger than the least one.

    Raises
    ------
    QuestionError
        If a claim is of another kind, or the network has other layers.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> found = rectify(net, ["x1 = 1 -> on"])
    >>> found.changes, found.verdicts[0].outcome
    (((1, 1, 2, 1),), 'proved')

    See Also
    --------
    verify : proves or refutes a claim.
    check_rule : proves or refutes a rule.
    """
    network, clock = network_of(network), Clock(time_limit, threads, seed, notify)
    for layer in network.layers:
        if not isinstance(layer, DenseLayer | LevelLayer):
            raise QuestionError(
                f"rectify changes dense layers of single thresholds, not a {layer.kind} layer."
            )
    questions = [_claim(network, one) for one in claims]
    if (X is None) != (y is None):
        raise QuestionError("accuracy needs samples and their classes. Give X and y, or neither.")
    labels = None if y is None else np.array([class_of(network, label) for label in y])

    def hits(changed: Network) -> int:
        return 0 if labels is None else int((changed.predict(X) == labels).sum())

    search = _ThresholdSearch(network, questions, clock)
    best = None
    if time_limit is not None:  # one change that is enough, in half of the time
        best = search.dive(clock.within(time_limit / 2), max_change, hits)
    size, reason, smallest = search.least(max_change, None if best is None else best.size)
    chosen = smallest or best
    if chosen is None:
        return Rectified(None, (), (), size, None, reason)
    accuracy = None
    if labels is not None:
        accuracy = Fraction(hits(network), len(labels)), Fraction(hits(chosen.network), len(labels))
    rows = []
    for at, (old, new) in enumerate(zip(network.layers, chosen.network.layers, strict=True), start=1):
        pairs = zip(old.tau.tolist(), new.tau.tolist(), strict=True)
        rows += [(at, j, a, b) for j, (a, b) in enumerate(pairs, start=1) if a != b]
    return Rectified(chosen.network, tuple(rows), chosen.verdicts, size, accuracy)


@dataclass(frozen=True)
class _Candidate:
    """A changed network for which all claims are proved."""

    network: Network
    verdicts: tuple[Proved, ...]
    size: int


@dataclass
class _ThresholdSearch:
    """Search for changes; `witnesses` are inputs at which claims failed, the last one first."""

    network: Network
    questions: list[Any]
    clock: Clock
    witnesses: list[tuple[Any, Any]] = field(default_factory=list)

    def tried(self, bounds: _Bounds, clock: Clock) -> _Candidate | Undecided | tuple[Any, Any]:
        """Return the changed network if its claims are proved, or an input at which one fails."""
        changed = _moved(self.network, bounds)
        for pair in self.witnesses:
            if _fails(changed, *pair):
                return pair
        verdicts = []
        for question in self.questions:
            verdict = verify(
                changed, question, time_limit=clock.left(), threads=clock.threads, seed=clock.seed
            )
            if isinstance(verdict, Undecided):
                return verdict
            if isinstance(verdict, Refuted):
                rows = verdict.witness if isinstance(verdict.witness[0], tuple) else (verdict.witness,)
                self.witnesses.insert(0, (question, rows))
                return question, rows
            verdicts.append(verdict)
        return _Candidate(changed, tuple(verdicts), _size(self.network, bounds))

    def dive(self, clock: Clock, max_change: int | None, hits: Callable[[Network], int]) -> _Candidate | None:
        """Return a change that is enough, but perhaps not a least one.

        At each input it takes the branch after which most samples are right.
        """
        bounds: _Bounds = {}
        while not clock.up():
            answer = self.tried(bounds, clock)
            if isinstance(answer, _Candidate):
                return answer if max_change is None or answer.size <= max_change else None
            if isinstance(answer, Undecided):
                return None
            ranked = []
            for at, wider in enumerate(_branches(_moved(self.network, bounds), bounds, answer[1])):
                moved = _moved(self.network, wider)
                rank = _fails(moved, *answer), -hits(moved), _size(self.network, wider), at
                ranked.append((rank, wider))
            if not ranked:
                return None
            bounds = min(ranked, key=lambda row: row[0])[1]
        return None

    def least(self, max_change: int | None, known: int | None) -> tuple[int, str, _Candidate | None]:
        """Return a lower bound on the size of a change, why the search ended, and a least change."""
        start: _Bounds = {}
        waiting: list[tuple[int, int, _Bounds]] = [(0, 0, start)]
        seen, lower = {frozenset(start.items())}, 0
        while waiting:
            size, _, bounds = heappop(waiting)
            lower = max(lower, size)
            if size == known or (max_change is not None and size > max_change):
                return size, "", None
            if self.clock.up():
                return lower, f"stopped after {self.clock.seconds:.1f} s", None
            answer = self.tried(bounds, self.clock)
            if isinstance(answer, _Candidate):
                return size, "", answer
            if isinstance(answer, Undecided):
                return lower, answer.reason, None
            self.clock.tell(f"every change has at least the size {lower}")
            for wider in _branches(_moved(self.network, bounds), bounds, answer[1]):
                key = frozenset(wider.items())
                if key not in seen:
                    seen.add(key)
                    heappush(waiting, (_size(self.network, wider), len(seen), wider))
        return lower, "", None


def _claim(network: Network, claim: Any) -> Any:
    """Return a claim as a question; text is a rule."""
    if isinstance(claim, str):
        rule = parse_rule(network, claim)
        return Always(rule.index, rule.box)
    if not isinstance(claim, Always | Never | Monotone | Fair):
        raise QuestionError(
            f"{quoted(claim)} is not a claim to rectify. Give Always, Never, Monotone or Fair."
        )
    return claim


def _fails(network: Network, question: Any, rows: Iterable[Any]) -> bool:
    """Return whether a claim fails at an input, or at a pair of inputs."""
    labels = [int(network.predict(row_of(row))[0]) for row in rows]
    match question:
        case Always():
            return labels[0] != class_of(network, question.label)
        case Never():
            return labels[0] == class_of(network, question.label)
        case Monotone() if question.label is not None:
            return labels[0] == class_of(network, question.label) != labels[1]
        case Monotone():
            return labels[0] > labels[1]
    return labels[0] != labels[1]


def _branches(network: Network, bounds: _Bounds, rows: Iterable[Any]) -> Iterator[_Bounds]:
    """Yield the bounds with which one neuron changes at one of some inputs."""
    for row in rows:
        trace = network.trace(list(row))
        for at, layer in enumerate(trace.layers):
            for j, (match, active) in enumerate(
                zip(layer.matches.tolist(), layer.active.tolist(), strict=True)
            ):
                low, high = bounds.get((at, j), (0, int(layer.sizes[j]) + 1))
                low, high = (max(low, match + 1), high) if active else (low, min(high, match))
                if low <= high:
                    yield {**bounds, (at, j): (low, high)}


def _nearest(network: Network, key: _Key, ends: tuple[int, int]) -> int:
    layer: Any = network.layers[key[0]]
    return min(max(int(layer.tau[key[1]]), ends[0]), ends[1])


def _size(network: Network, bounds: _Bounds) -> int:
    """Return the size of the least change within bounds."""
    return sum(
        abs(_nearest(network, key, ends) - int(network.layers[key[0]].tau[key[1]]))
        for key, ends in bounds.items()
    )


def _moved(network: Network, bounds: _Bounds) -> Network:
    """Return the network with the least change of thresholds within bounds."""
    layers: list[Any] = list(network.layers)
    for at in {at for at, _ in bounds}:
        tau = layers[at].tau.copy()
        for (k, j), ends in bounds.items():
            if k == at:
                tau[j] = _nearest(network, (k, j), ends)
        old = layers[at]
        more = (old.tops,) if isinstance(old, LevelLayer) else ()
        layers[at] = type(old)(old.weights, tau, *more)
    return replace(network, layers=tuple(layers))
