"""Compare two networks of any sources: equal on all inputs, or the smallest input on which they differ and
where the difference begins.

The smallest input is the nearest one to a sample: if none is given, to the lowest value of every feature.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf
from typing import Any

import numpy as np

from sugenet.errors import QuestionError, refuse
from sugenet.nn import Network, OneHot, Steps, network_of
from sugenet.problem.boxes import Box, plain_row
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import joined, meets
from sugenet.problem.regions import BALLS
from sugenet.reason.phrases import show_cost
from sugenet.reason.questions import Agree
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import Sentences, quoted

__all__ = ["ComparedNetworks", "FirstDifference", "compare"]

_OUTCOMES = {"proved": "equal", "refuted": "different", "undecided": "undecided"}


@dataclass(frozen=True)
class FirstDifference(Sentences):
    """The first layer, and the first neuron of it, that differ on an input.

    Examples
    --------
    >>> print(FirstDifference(layer=2, neuron=1, left=0, right=1, differing=3, of=8))
    first difference: layer 2, neuron 1 is 0 in the first network and 1 in the second (3 of 8 differ)

    See Also
    --------
    compare : gives it.
    """

    layer: int
    """Number of the hidden layer, from 1; 0 for the scores of the classes."""
    neuron: int
    """Number of the neuron or class, from 1."""
    left: Any
    """Its bit, level or score in the first network."""
    right: Any
    """The same in the second network."""
    differing: int
    """Number of neurons of the layer that differ."""
    of: int
    """Number of neurons of the layer."""

    def said(self, mark: Callable[[str], str] = str) -> str:  # noqa: ARG002
        """Return one sentence."""
        where = f"layer {self.layer}, neuron" if self.layer else "scores, class"
        return (
            f"first difference: {where} {self.neuron} is {self.left} in the first network and {self.right} "
            f"in the second ({self.differing} of {self.of} differ)"
        )


@dataclass(frozen=True, eq=False)
class ComparedNetworks(Sentences):
    """Two networks compared: the answer of `compare`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> one, two = (Network.of_bits([DenseLayer([[1, 1, -1]], [tau])], Head([[-1], [1]])) for tau in (2, 3))
    >>> found = compare(one, two)
    >>> found.outcome, found.first.layer, found.first.neuron
    ('different', 1, 1)
    >>> found.witness, found.distance, found.is_smallest
    ((0, 1, 0), 1, True)

    See Also
    --------
    compare : gives it.
    """

    verdict: Proved | Refuted | Undecided
    """The answer to the question `Agree`, with its certificate."""
    first: FirstDifference | None
    """Where the difference begins on the witness, if the networks differ and their layers line up."""
    remark: str
    """Why `first` is missing, if the networks differ."""
    near: tuple[Any, ...] | None = None
    """The sample to which the smallest input is nearest; None if no smallest input was looked for."""
    distance: int | None = None
    """Distance of the witness from `near`, in terms of `cost`."""
    cost: str = "L0"
    """``"L0"``, the number of other values, or ``"L1"``, the sum of the differences."""
    nearer: Proved | Undecided | None = None
    """The answer to the question `Agree` about all inputs that are nearer than the witness; None if the
    witness is `near` itself.
    """

    @property
    def outcome(self) -> str:
        """``"equal"``, ``"different"`` or ``"undecided"``."""
        return _OUTCOMES[self.verdict.outcome]

    @property
    def is_equal(self) -> bool:
        """Whether the networks give the same class for every input, as was proved."""
        return self.verdict.outcome == "proved"

    @property
    def witness(self) -> tuple[Any, ...] | None:
        """The input on which the networks differ, if they do."""
        return self.verdict.witness if isinstance(self.verdict, Refuted) else None

    @property
    def is_smallest(self) -> bool:
        """Whether no nearer input than the witness tells the networks apart, as was proved."""
        return self.distance == 0 or isinstance(self.nearer, Proved)

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The certificate, for ``check(comparison.verdict, left, right)``; that of `nearer` is its own."""
        return self.verdict.certificate

    def data(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        first, near = self.first, self.near
        return {
            "outcome": self.outcome,
            "verdict": self.verdict.data(),
            "first": None
            if first is None
            else {
                "layer": first.layer,
                "neuron": first.neuron,
                "left": str(first.left),
                "right": str(first.right),
                "differing": first.differing,
                "of": first.of,
            },
            "remark": self.remark,
            "smallest": None
            if near is None
            else {
                "near": plain_row(near, self.verdict.network),
                "cost": self.cost,
                "distance": self.distance,
                "proved": self.is_smallest,
                "nearer": None if self.nearer is None else self.nearer.data(),
            },
        }

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return the sentences, with `mark` applied to the verdict."""
        after = str(self.first) if self.first is not None else self.remark
        return "\n".join(filter(None, (self.verdict.said(mark), self._size(mark), after)))

    def _size(self, mark: Callable[[str], str]) -> str:
        """Return a sentence about the distance of the witness."""
        question, network = self.verdict.question, self.verdict.network
        lowest = _lowest(network, question.box) if isinstance(question, Agree) else None
        if self.near is None or self.distance is None:
            broken = None if lowest is None or self.witness is None else network.domain.broken(lowest)
            return "" if broken is None else f'no smallest difference: the lowest values break "{broken}"'
        start = "the lowest values" if list(self.near) == lowest else "the sample"
        start = f"smallest difference: {show_cost(self.cost, Fraction(self.distance))} from {start}"
        if self.is_smallest:
            return f"{start}, {mark('proved')} to be the smallest"
        known = f" ({self.nearer.reason})" if isinstance(self.nearer, Undecided) else ""
        return f"{start}, {mark('not proved')} to be the smallest{known}"


def compare(
    left: Network,
    right: Network,
    *,
    where: Any = None,
    within: Any = None,
    near: Any = None,
    cost: str = "L0",
    smallest: bool = True,
    engine: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> ComparedNetworks:
    """Decide whether two networks give every input the same class, and find where they differ.

    The networks may have different layers and cuts. Their features and classes must have the same names, and
    their features the same values: give importers the same ``inputs=``, ``names=`` and ``classes=``.

    Parameters
    ----------
    left : Network, classifier or pipeline
        The first network. Its limits and laws say which inputs count.
    right : Network, classifier or pipeline
        The second network.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.
    within : str, list of str or Domain, default: None
        Which inputs can occur, as in `verify`. None: the domain of the first network.
    near : array, list or mapping, default: None
        Sample to which the input found is nearest. None: the lowest value of every feature within its limits,
        or its first category. For bits, the smallest input then has the fewest bits on. If these values break
        a law, no smallest input is looked for.
    cost : {"L0", "L1"}, default: "L0"
        Distance: number of features with another value, or sum of the differences of integers.
    smallest : bool, default: True
        Whether to look for the nearest input. False: any input will do, which takes less time.
    engine : str, default: "auto"
        As in `verify`.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    ComparedNetworks
        Its `outcome` is ``"equal"``, ``"different"`` or ``"undecided"``. A `witness` `is_smallest` if it was
        proved that no nearer input tells the networks apart.

    Raises
    ------
    QuestionError
        If the networks have other features or classes, or the distance has no meaning for them.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, simplify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1], [1, 1, -1]], [2, 9])], Head([[-1, 1], [1, 0]]))
    >>> print(compare(net, simplify(net)))
    the two networks give the same class, for any input: proved by bounds through all layers

    See Also
    --------
    Agree : the question that it asks.
    verify_against : compares a network with its source on samples.
    """
    first, second = network_of(left).within(within), network_of(right)
    unused = [name for name, is_given in (("near", near is not None), ("cost", cost != "L0")) if is_given]
    refuse(
        QuestionError,
        (not isinstance(smallest, bool), f"smallest={smallest!r} must be True or False."),
        (not smallest and unused, f"{' and '.join(unused)}: not used with smallest=False. Leave one out."),
    )
    clock = Clock(time_limit, notify=notify)
    how: dict[str, Any] = {"engine": engine, "threads": threads, "seed": seed, "notify": notify}
    search = _Smallest(first, second, where, near, cost) if smallest else None
    verdict = verify(first, Agree(second, where), time_limit=time_limit, **how)
    if not isinstance(verdict, Refuted):
        return ComparedNetworks(verdict, None, "")
    if search is None or search.near is None:
        return ComparedNetworks(verdict, *_first(first, second, verdict.witness))
    verdict, nearer = search.run(verdict, clock, how)
    distance, begins = search.distance(verdict.witness), _first(first, second, verdict.witness)
    return ComparedNetworks(verdict, *begins, tuple(search.near), distance, cost, nearer)


class _Smallest:
    """Search for the nearest input to a sample on which two networks differ."""

    def __init__(self, left: Network, right: Network, where: Any, near: Any, cost: str) -> None:
        if cost not in ("L0", "L1"):
            raise QuestionError(f"Unknown cost {quoted(cost)}. Use 'L0' or 'L1'.")
        codings = left.encoder.codings
        is_whole = all(isinstance(coding, Steps) and coding.whole for coding in codings)
        if cost == "L1" and not is_whole:
            raise QuestionError("cost='L1' needs features that are integers. Use cost='L0'.")
        self.left, self.right, self.where, self.cost = left, right, where, cost
        box = Agree(right, where).box
        if near is None:
            self.near = _lowest(left, box)
            if self.near is not None and left.domain.broken(self.near) is not None:
                self.near = None
            return
        self.near = left.encoder.values(near)
        broken = left.domain.broken(self.near)
        if broken is not None:
            raise QuestionError(f'near breaks the law "{broken}". Give a sample that obeys it.')
        spans = box.spans(left)
        outside = next((f for f, span in spans.items() if not meets(codings[f], self.near[f], span)), None)
        outside = left.domain.outside(self.near) if outside is None else outside
        if outside is not None:
            name = left.encoder.names[outside]
            raise QuestionError(f"near is outside the limits of {name}. Give a sample within them.")

    def distance(self, row: Any) -> int:
        """Return the distance of a raw sample."""
        assert self.near is not None
        cells = zip(self.left.encoder.codings, self.near, row, strict=True)
        changed = [(coding, a, b) for coding, a, b in cells if not _is_same(coding, a, b)]
        if self.cost == "L0":
            return len(changed)
        steps = [1 if _is_bit(coding) else int(abs(Fraction(a) - Fraction(b))) for coding, a, b in changed]
        return sum(steps)

    def run(
        self, verdict: Refuted, clock: Clock, how: dict[str, Any]
    ) -> tuple[Refuted, Proved | Undecided | None]:
        """Return the verdict with the nearest witness found, and the answer about all nearer inputs.

        No input within `proved` differs. Small distances are decided first, as that is fast.
        """
        proved, nearer = -1, None
        distance = self.distance(verdict.witness)
        while proved < distance - 1:
            radius = min((proved + distance) // 2, max(2 * proved, proved + 1))
            question = Agree(self.right, self.where, self.near, BALLS[self.cost](radius))
            nearest = verify(self.left, question, time_limit=clock.left(), **how)
            if isinstance(nearest, Refuted):
                verdict = replace(
                    verdict,
                    witness=nearest.witness,
                    labels=nearest.labels,
                    engine=nearest.engine,
                    seconds=clock.seconds,
                    certificate={**verdict.certificate, "witness": nearest.certificate["witness"]},
                )
                distance = self.distance(verdict.witness)
                continue
            nearer = nearest
            if isinstance(nearest, Undecided):
                break
            proved = radius
        return verdict, nearer


def _lowest(network: Network, box: Box) -> list[Any] | None:
    """Return the lowest value of every feature within limits; None if a feature has none."""
    spans, row = box.spans(network), list[Any]()
    for feature, coding in enumerate(network.encoder.codings):
        span, _ = joined(coding, spans.get(feature), network.domain.span(feature))
        if isinstance(coding, OneHot):
            row.append(next(value for value in coding.categories if span is None or span.holds(value)))
            continue
        low: Any = coding.ends[0]
        if coding.low == -inf:
            low = None if span is None else span.low if span.values is None else min(span.values)
            if low is None:
                return None
            low = ceil(low) if coding.whole else low
        moves = (coding.move(low, state, span) for state in range(coding.states))
        row.append(next(move.value for move in moves if move is not None))
    return row


def _is_bit(coding: Any) -> bool:
    return isinstance(coding, Steps) and coding.bipolar


def _is_same(coding: Any, one: Any, other: Any) -> bool:
    """Return whether two values of a feature are the same; a bit may be written 0 or -1."""
    if _is_bit(coding):
        return bool(coding.state(one) == coding.state(other))
    return bool(one == other)


def _first(left: Network, right: Network, witness: Any) -> tuple[FirstDifference | None, str]:
    """Return the first layer and neuron that differ on a raw sample, or why none can be named."""
    sizes = [[layer.outputs for layer in network.layers] for network in (left, right)]
    row = np.empty((1, left.encoder.features), object)
    row[0] = witness
    shown = [network.hidden(row) for network in (left, right)]
    for number, (one, two) in enumerate(zip(*shown, strict=False), start=1):
        if one.shape != two.shape:
            break
        if (one != two).any():
            return _located(number, one[0].astype(int), two[0].astype(int)), ""
    if sizes[0] != sizes[1]:
        return None, (
            f"the layers do not line up: {sizes[0]} neurons in the first network and {sizes[1]} in the second"
        )
    one, two = (
        network.head.scores(network.match_counts(row, engine="definition")) for network in (left, right)
    )
    return _located(0, one[0], two[0]), ""


def _located(layer: int, one: Any, two: Any) -> FirstDifference:
    differing = np.flatnonzero(one != two)
    neuron = int(differing[0])
    return FirstDifference(layer, neuron + 1, one[neuron], two[neuron], len(differing), len(one))
