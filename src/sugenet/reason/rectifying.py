"""Rectification: the least change of thresholds, or of thresholds and weights, after which claims about a
network are proved (`rectify`).

The search is best-first over commitments, each that a neuron is on or off at some inputs of its own. If a
claim fails at an input, some neuron must change there. Take the first layer in which one does: its inputs are
as before, so they are known. Each such neuron gives one branch. So no change is missed, and the first one
that is proved is a least one. If weights stay, a commitment is a bound on one threshold.
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
from sugenet.reason.demands import Demand, NeuronChange, settled
from sugenet.reason.questions import Always, Fair, Monotone, Never, class_of
from sugenet.reason.rules import parse_rule
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import Sentences, quoted

__all__ = ["Rectified", "rectify"]

_Key = tuple[int, int]
_Ends = tuple[int, int]
_Bounds = Mapping[_Key, Any]
"""By layer and neuron, from 0: lowest and highest threshold; or, if weights may change, a set of demands."""


@dataclass(frozen=True)
class Rectified(Sentences):
    """The least change of thresholds and weights after which claims hold: the answer to `rectify`.

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
    """Every change after which the claims hold has at least this size."""
    accuracy: tuple[Fraction, Fraction] | None
    """Share of given samples that are classified right, before and after."""
    reason: str = ""
    """Why no change was found."""
    weights: tuple[tuple[int, int, int, int, int], ...] = ()
    """Layer, neuron and input from 1, weight before and after."""
    size: int = 0
    """Size of the change: steps of all thresholds and weights."""

    @property
    def is_least(self) -> bool:
        """Whether no smaller change is enough."""
        return self.network is not None and self.size == self.lower

    @property
    def outcome(self) -> str:
        """``"rectified"``, ``"none"`` if no change of this size is enough, or ``"undecided"``."""
        return "rectified" if self.network is not None else "none" if not self.reason else "undecided"

    def data(self) -> dict[str, Any]:
        """Return everything but the network as JSON data.

        Returns
        -------
        dict
            The changes, their size and lower bound, the accuracy, and each claim with its certificate.
        """
        return {
            "answer": "rectified",
            "outcome": self.outcome,
            "thresholds": [list(row) for row in self.changes],
            "weights": [list(row) for row in self.weights],
            "size": self.size,
            "lower": self.lower,
            "accuracy": None if self.accuracy is None else list(map(str, self.accuracy)),
            "claims": [verdict.data() for verdict in self.verdicts],
            "reason": self.reason,
        }

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
        if not self.size:
            return "nothing has to change: all claims are proved"
        rows = [f"neuron {j} of layer {k} from {a} to {b}" for k, j, a, b in self.changes]
        rows += [f"weight {i} of neuron {j} of layer {k} from {a} to {b}" for k, j, i, a, b in self.weights]
        known = "the least" if self.is_least else f"at least {self.lower} needed"
        shown = ", ".join(rows[:8]) + (", ..." if len(rows) > 8 else "")
        parts = (len(self.changes), "threshold"), (len(self.weights), "weight")
        what = " and ".join(f"{n} {name}{'s' * (n > 1)}" for n, name in parts if n)
        text = f"{what} changed, by {self.size} in all, {known}: {shown}"
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
    weights: bool = False,
    max_change: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Rectified:
    """Find the least change of thresholds after which claims about all inputs hold, and prove them.

    The size of a change is the sum of the differences of all thresholds of hidden neurons. With
    ``weights=True``, weights of hidden neurons may change, too: each move to the next value that occurs in
    the layer, with either sign, is a step of size 1. So a binary layer stays binary. The last layer stays as
    it is.

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
    weights : bool, default: False
        Whether weights of hidden neurons may change, too. Of two changes of the same size, the one with fewer
        weights is tried first. With a time limit, half of the time is for thresholds alone.
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

    search = _RepairSearch(network, questions, clock, _Thresholds(network))
    best = None
    if time_limit is not None:  # one change of thresholds that is enough, in half of the time
        best = search.dive(clock.within(time_limit / 2), max_change, hits)
    if weights:
        search.plan = _Weights(network)
    size, reason, smallest = search.least(max_change, None if best is None else best.size)
    chosen = smallest or best
    if chosen is None:
        return Rectified(None, (), (), size, None, reason)
    accuracy = None
    if labels is not None:
        accuracy = Fraction(hits(network), len(labels)), Fraction(hits(chosen.network), len(labels))
    taus, moved = _differences(network, chosen.network)
    return Rectified(chosen.network, taus, chosen.verdicts, size, accuracy, "", moved, chosen.size)


def _renewed(network: Network, neurons: Mapping[_Key, tuple[Any, int]]) -> Network:
    """Return the network with other weights and thresholds of some neurons; a row of None stays."""
    layers: list[Any] = list(network.layers)
    for at in {at for at, _ in neurons}:
        old = layers[at]
        rows, tau = old.weights.copy(), old.tau.copy()
        for (k, j), (row, level) in neurons.items():
            if k == at:
                tau[j] = level
                rows[j] = rows[j] if row is None else row
        more = (old.tops,) if isinstance(old, LevelLayer) else ()
        layers[at] = type(old)(rows, tau, *more)
    return replace(network, layers=tuple(layers))


@dataclass
class _Thresholds:
    """Commitments as the lowest and highest threshold of each neuron."""

    network: Network

    def turned(self, bounds: _Bounds, key: _Key, match: int, values: Any, *, is_on: bool) -> _Bounds | None:  # noqa: ARG002
        """Return the commitments with which a neuron changes at an input; None if they contradict others."""
        low, high = bounds.get(key, (0, int(self.network.layers[key[0]].sizes[key[1]]) + 1))
        low, high = (max(low, match + 1), high) if is_on else (low, min(high, match))
        return {**bounds, key: (low, high)} if low <= high else None

    def _nearest(self, key: _Key, ends: _Ends) -> tuple[int, int]:
        layer: Any = self.network.layers[key[0]]
        tau = int(layer.tau[key[1]])
        return tau, min(max(tau, ends[0]), ends[1])

    def size(self, bounds: _Bounds) -> int:
        """Return the size of the least change that keeps the commitments."""
        pairs = (self._nearest(key, ends) for key, ends in bounds.items())
        return sum(abs(new - old) for old, new in pairs)

    def weights(self, bounds: _Bounds) -> int:  # noqa: ARG002
        """Return how many weights that change moves."""
        return 0

    def is_open(self, bounds: _Bounds) -> bool:  # noqa: ARG002
        """Return whether that change is not known."""
        return False

    def moved(self, bounds: _Bounds) -> Network:
        """Return the network after that change."""
        return _renewed(
            self.network, {key: (None, self._nearest(key, ends)[1]) for key, ends in bounds.items()}
        )


@dataclass
class _Weights:
    """Commitments as demands: inputs of a neuron at which it must be on, or off."""

    network: Network
    known: dict[tuple[_Key, frozenset[Demand]], NeuronChange | None] = field(default_factory=dict)

    def _settled(self, key: _Key, demands: frozenset[Demand]) -> NeuronChange | None:
        if (key, demands) not in self.known:
            layer: Any = self.network.layers[key[0]]
            self.known[key, demands] = settled(
                layer.weights[key[1]].tolist(),
                int(layer.tau[key[1]]),
                layer.input_tops.tolist(),
                np.unique([layer.weights, -layer.weights]).tolist(),
                sorted(demands),
            )
        return self.known[key, demands]

    def turned(self, bounds: _Bounds, key: _Key, match: int, values: Any, *, is_on: bool) -> _Bounds | None:  # noqa: ARG002
        """Return the commitments with which a neuron changes at an input; None if they contradict others."""
        here = tuple(int(value) for value in values)
        old: frozenset[Demand] = bounds.get(key, frozenset())
        if (here, is_on) in old:
            return None
        demands = old | {(here, not is_on)}
        return None if self._settled(key, demands) is None else {**bounds, key: demands}

    def _changes(self, bounds: _Bounds) -> list[tuple[_Key, NeuronChange]]:
        rows = ((key, self._settled(key, demands)) for key, demands in bounds.items())
        return [(key, change) for key, change in rows if change is not None]

    def size(self, bounds: _Bounds) -> int:
        """Return the size of the least change that keeps the commitments, or a lower bound on it."""
        return sum(change.size for _, change in self._changes(bounds))

    def weights(self, bounds: _Bounds) -> int:
        """Return how many weights that change moves."""
        rows = ((self.network.layers[k], j, change.row) for (k, j), change in self._changes(bounds))
        return sum(0 if row is None else int((row != layer.row(j)).sum()) for layer, j, row in rows)

    def is_open(self, bounds: _Bounds) -> bool:
        """Return whether that change is not known."""
        return any(change.row is None for _, change in self._changes(bounds))

    def moved(self, bounds: _Bounds) -> Network:
        """Return the network after that change."""
        return _renewed(
            self.network, {key: (change.row, change.tau) for key, change in self._changes(bounds)}
        )


@dataclass(frozen=True)
class _Candidate:
    """A changed network for which all claims are proved."""

    network: Network
    verdicts: tuple[Proved, ...]
    size: int


@dataclass
class _RepairSearch:
    """Search for changes; `witnesses` are inputs at which claims failed, the last one first."""

    network: Network
    questions: list[Any]
    clock: Clock
    plan: _Thresholds | _Weights
    witnesses: list[tuple[Any, Any]] = field(default_factory=list)

    def tried(self, bounds: _Bounds, clock: Clock) -> _Candidate | Undecided | tuple[Any, Any]:
        """Return the changed network if its claims are proved, or an input at which one fails."""
        changed = self.plan.moved(bounds)
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
        return _Candidate(changed, tuple(verdicts), self.plan.size(bounds))

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
            for at, wider in enumerate(self.branches(bounds, answer[1])):
                moved = self.plan.moved(wider)
                rank = _fails(moved, *answer), -hits(moved), self.plan.size(wider), at
                ranked.append((rank, wider))
            if not ranked:
                return None
            bounds = min(ranked, key=lambda row: row[0])[1]
        return None

    def least(self, max_change: int | None, known: int | None) -> tuple[int, str, _Candidate | None]:
        """Return a lower bound on the size of a change, why the search ended, and a least change."""
        start: _Bounds = {}
        waiting: list[tuple[int, int, int, _Bounds]] = [(0, 0, 0, start)]
        seen, lower = {frozenset(start.items())}, 0
        while waiting:
            size, *_, bounds = heappop(waiting)
            lower = max(lower, size)
            if size == known or (max_change is not None and size > max_change):
                return size, "", None
            if self.clock.up():
                return lower, f"stopped after {self.clock.seconds:.1f} s", None
            if self.plan.is_open(bounds):
                return lower, "the weights of a neuron have too many ways to change", None
            answer = self.tried(bounds, self.clock)
            if isinstance(answer, _Candidate):
                return size, "", answer
            if isinstance(answer, Undecided):
                return lower, answer.reason, None
            self.clock.tell(f"every change has at least the size {lower}")
            for wider in self.branches(bounds, answer[1]):
                key = frozenset(wider.items())
                if key not in seen:
                    seen.add(key)
                    cost, fewest = self.plan.size(wider), self.plan.weights(wider)
                    heappush(waiting, (cost, fewest, len(seen), wider))
        return lower, "", None

    def branches(self, bounds: _Bounds, rows: Iterable[Any]) -> Iterator[_Bounds]:
        """Yield the commitments with which one neuron changes at one of some inputs."""
        changed = self.plan.moved(bounds)
        for row in rows:
            trace = changed.trace(list(row))
            values = changed.inputs(row_of(row))[0]
            for at, layer in enumerate(trace.layers):
                for j, active in enumerate(layer.active.tolist()):
                    wider = self.plan.turned(bounds, (at, j), int(layer.matches[j]), values, is_on=active)
                    if wider is not None:
                        yield wider
                values = layer.active


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


def _differences(old: Network, new: Network) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the thresholds and the weights that differ, numbered from 1, with their old and new values."""
    taus: list[Any] = []
    weights: list[Any] = []
    for k, (one, other) in enumerate(zip(old.layers, new.layers, strict=True), start=1):
        before: Any
        after: Any
        for before, after, into in ((one.tau, other.tau, taus), (one.weights, other.weights, weights)):
            for index in map(tuple, np.argwhere(before != after).tolist()):
                into.append((k, *(i + 1 for i in index), int(before[index]), int(after[index])))
    return tuple(taus), tuple(weights)
