"""`verify`: decide a question for every input it covers, with a certificate (docs/theory.md 7).

Each outcome has its own type of answer. It prints as a sentence and is written to JSON and read back with its
certificate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sugenet.capacity.arguments import number_text
from sugenet.checker.form import exact
from sugenet.engines.ladder import decide
from sugenet.errors import QuestionError, SoundnessError, TooLargeError
from sugenet.nn import Network, network_of
from sugenet.nn.binary_expansion import is_expanded
from sugenet.problem import (
    Clock,
    Fails,
    Holds,
    Joint,
    Open,
    Outcome,
    Query,
    TimeUpError,
    of_network,
    plain_row,
)
from sugenet.reason.envelope import (
    Settled,
    Source,
    changes_between,
    changes_data,
    conditions_of,
    envelope,
    is_outcome,
)
from sugenet.reason.phrases import LISTED, advice, changes_listed, show_cost
from sugenet.reason.questions import Agree, Fair, Monotone, Question, Robust, described, problems_of, raw_of
from sugenet.reason.questions.problems import query_about
from sugenet.reason.shown import short_pair, short_witness, tie_text, winners
from sugenet.reprs import quoted
from sugenet.visible import visible

__all__ = [
    "Proved",
    "Refuted",
    "Undecided",
    "verify",
]

_WHOLE, _SOME = 12, 4
"""A witness of up to 12 values is shown whole; of a longer one the first 4."""


@dataclass(frozen=True, eq=False)
class _Verdict(Settled):
    """Base class of the answers about a claim."""

    is_proved = is_outcome("proved")
    is_refuted = is_outcome("refuted")
    is_undecided = is_outcome("undecided")

    network: Network
    question: Question
    claim: str

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claim."""
        return {"claim": described(network, question), **super().known(network, question, data)}


@dataclass(frozen=True, eq=False)
class Proved(_Verdict):
    """The claim holds: the outcome ``"proved"`` of `verify`.

    In addition to `claim`, `question` and `certificate` it has the `engine` and the `seconds` that it took.
    `is_certified` is False if a solver gave no proof; then `certificate` is None.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, [1, 1, -1], "L0(1)").is_proved
    True

    See Also
    --------
    verify : gives this answer.
    check : verifies its certificate.
    """

    outcome: ClassVar[str] = "proved"
    json: ClassVar[Mapping[str, Source]] = {name: name for name in ("claim", "engine", "sets", "seconds")}

    engine: str
    seconds: float
    certificate: dict[str, Any] | None
    sets: int | None = None

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        if not self.is_certified:
            return f"{self.claim}: holds, {self._uncertified}"
        return f"{self.claim}: {mark('proved')} by {self.settled_by}"


@dataclass(frozen=True, eq=False)
class Refuted(_Verdict):
    """The claim does not hold: the outcome ``"refuted"`` of `verify`.

    `witness` is an input, or a pair of inputs, that violates the claim. `label` and `index` are its class,
    and `changes()` returns its differences from the sample.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, [1, 1, -1], "L0(2)").label
    'off'

    See Also
    --------
    verify : gives this answer.
    check : verifies its certificate.
    """

    outcome: ClassVar[str] = "refuted"
    json: ClassVar[Mapping[str, Source]] = {
        "claim": "claim",
        "label": "label",
        "index": "index",
        "labels": lambda answer: answer.labels if len(answer.labels) > 1 else ...,
        "indices": lambda answer: answer.indices if len(answer.labels) > 1 else ...,
        "tied": lambda answer: answer.tied or ...,
        "changes": lambda answer: changes_data(answer.changes()),
        "conditions": "conditions",
        "witness": lambda answer: answer.certificate["witness"],
        "source_witness": lambda answer: (
            ... if answer.source_witness is None else [*map(str, answer.source_witness)]
        ),
        "engine": "engine",
        "seconds": "seconds",
    }

    witness: tuple[Any, ...]
    """Raw sample; for questions about pairs, two of them."""
    labels: tuple[str, ...]
    """Names of their classes: for one input, for two inputs, or for one input of two networks."""
    engine: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def label(self) -> str:
        """Name of the class of the witness; for a pair, of its first input."""
        return self.labels[0]

    @property
    def index(self) -> int:
        """Number of the class `label`, from 0."""
        return self.indices[0]

    @property
    def indices(self) -> tuple[int, ...]:
        """Numbers of the classes `labels`, from 0."""
        other = self.question.other if isinstance(self.question, Agree) else self.network
        networks = (self.network, other)
        return tuple(net.classes.index(name) for net, name in zip(networks, self.labels, strict=False))

    @property
    def is_pair(self) -> bool:
        """Whether the witness is a pair of inputs."""
        return len(self.labels) == 2 and not isinstance(self.question, Agree)

    @cached_property
    def example(self) -> tuple[Any, ...]:
        """The witness in few digits for display: it has the same class and also violates the claim."""
        if self.is_pair:
            return short_pair(self.network, self.question, *self.witness)
        return short_witness(self.network, self.question, self.witness)

    def changes(self) -> dict[str, tuple[Any, Any]]:
        """Return the differences between `example` and the sample of the question, or between the two of a
        pair.
        """
        if self.is_pair:
            return changes_between(self.network, *self.example)
        if isinstance(self.question, Robust):
            return changes_between(self.network, self.question.values(self.network), self.example)
        return {}

    @property
    def is_long(self) -> bool:
        """Whether the sentence leaves out part of the witness; `example` is complete."""
        if isinstance(self.question, Robust):
            return len(self.changes()) > LISTED
        return self.network.encoder.features > _WHOLE and not isinstance(self.question, Query)

    @cached_property
    def tied(self) -> tuple[str, ...]:
        """The classes that share the largest score at the witness, if the tie itself violates the claim."""
        if self.is_pair or not (
            isinstance(self.question, Query) or getattr(self.question, "ties", "") == "against"
        ):
            return ()
        labels = winners(self.network, self.witness)
        return tuple(self.network.classes[k] for k in labels) if len(labels) > 1 else ()

    def conditions(self) -> dict[str, str]:
        """Return the condition on each changed value, as text."""
        return conditions_of(self.network, self.changes())

    @property
    def is_certified(self) -> bool:
        """Whether it can be checked: always, since a witness can be replayed."""
        return True

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claim and the witness, whose classes are recomputed."""
        row, networks = data["certificate"]["witness"], [network]
        if isinstance(question, Monotone | Fair):
            witness: tuple[Any, ...] = tuple(raw_of(network, one) for one in row)
            rows = list(witness)
        else:
            witness = raw_of(network, row)
            networks += [question.other] if isinstance(question, Agree) else []
            rows = [witness] * len(networks)
        networks *= len(rows) // len(networks)
        labels = tuple(net.classes[winners(net, one)[0]] for net, one in zip(networks, rows, strict=True))
        return {**super().known(network, question, data), "witness": witness, "labels": labels}

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        subject = f"Class {' and '.join(map(visible, self.labels))}"
        if self.tied:
            subject = tie_text(self.tied).capitalize()
        changes = self.changes()
        if changes:
            shown = f"with {changes_listed(self.network, changes)}"
            if self.is_pair and len(self.example[0]) <= _WHOLE:
                named = zip(self.network.encoder.names, self.example[0], strict=True)
                rest = [f"{visible(name)} = {number_text(one)}" for name, one in named if name not in changes]
                shown += f", where {'; '.join(rest)}" if rest else ""
        elif isinstance(self.question, Robust):
            shown = "for the sample itself"
        else:
            values = self.example if self.source_witness is None else self.source_witness
            rows = zip(self.network.encoder.names, values, strict=True)
            pairs = [f"{visible(name)} = {number_text(value)}" for name, value in rows]
            few = len(pairs) if len(pairs) <= _WHOLE else _SOME
            shown = f"for {'; '.join(pairs[:few])}" + ("; ..." if len(pairs) > few else "")
            shown += "" if self.source_witness is None else ", in the numbers of the file, as the query"
        return f"{self.claim}: {mark('refuted')} by {self.settled_by}. {subject} {shown}"

    @property
    def source_witness(self) -> tuple[Any, ...] | None:
        """Return the witness in the numbers of the query's file, if they differ from the network's own."""
        is_native = self.network.source.is_plain or not isinstance(self.question, Query)
        return None if is_native else self.network.source.inputs(self.witness)


@dataclass(frozen=True, eq=False)
class Undecided(_Verdict):
    """The claim is neither proved nor refuted: the outcome ``"undecided"`` of `verify`.

    `reason` says why the search ended, and `facts` contains the partial results.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> verify(net, [1, 1, -1], "AnyInput", engine="flips").outcome
    'undecided'

    See Also
    --------
    verify : gives this answer.
    check : verifies its certificate.
    """

    outcome: ClassVar[str] = "undecided"
    json: ClassVar[Mapping[str, Source]] = {
        name: name for name in ("claim", "reason", "facts", "engine", "seconds")
    }

    reason: str
    facts: dict[str, Any]
    engine: str
    seconds: float
    certificate: dict[str, Any]

    @property
    def is_certified(self) -> bool:
        """Whether it can be checked: always, since it claims nothing beyond the certificate."""
        return False

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict.

        Parameters
        ----------
        mark : function, default: str
            Function from a verdict such as ``proved`` to the text to show for it.

        Returns
        -------
        str
            The answer in words.
        """
        known = ""
        if "proved_up_to" in self.facts and isinstance(self.question, Robust):
            kind = type(self.question.region).__name__
            known = (
                f" Proved so far: it holds up to {show_cost(kind, exact(self.facts['proved_up_to']), -1)}."
            )
        if "open_cases" in self.facts:
            known += (
                f" Bounds exclude {self.facts['cases'] - self.facts['open_cases']} of {self.facts['cases']} "
                f"ways to violate it."
            )
        return f"{self.claim}: {mark('undecided')} ({self.reason}).{known} {advice(self.reason)}"


def verify(
    network: Network,
    question: Any,
    region: Any = None,
    *,
    within: Any = None,
    engine: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Proved | Refuted | Undecided:
    """Decide whether a claim holds for every input that it is about.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    question : question, array, list or mapping
        `Robust`, `Always`, `Never`, `Monotone`, `Fair` or `Agree`; a `Query` that `read_vnnlib` gives, in the
        order and the numbers of its file; or one raw sample `x`, together with `region`.
    region : region or str, default: None
        Only with a sample: ``verify(network, x, L0(1))`` is short for ``verify(network, Robust(x, L0(1)))``.
        A value, or text such as ``"L0(1)"``.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur: ``"data"`` for the range of the training data, ``"any"`` for
        any values, laws as text, or a `Domain`, as in `Network.within`. None: the domain of the network.
    engine : str, default: "auto"
        ``"auto"`` tries engines in the order of their expected cost. Or the name of one: see
        `sugenet.engines.ladder`.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Proved, Refuted or Undecided
        Its `outcome` is ``"proved"``, ``"refuted"`` or ``"undecided"``.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.
    EncodingError
        If the sample has a value that its feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import Hamming, Robust
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(verify(net, [-1, -1, +1, -1], Hamming(1)))
    the class stays off, with up to 1 bit flipped: proved by bounds through all layers
    >>> answer = verify(net, Robust([-1, -1, +1, -1], Hamming(2)))
    >>> answer.outcome, answer.is_refuted, answer.label, answer.changes()
    ('refuted', True, 'on', {'x1': (-1, 1), 'x2': (-1, 1)})

    See Also
    --------
    whatif : the cheapest change that gives another class.
    sweep : one question about each sample of a data set.
    check : verifies the certificate of an answer.
    """
    question = _question_in(question, region)
    network = network_of(network).within(within)
    if network.passes_reals and not isinstance(question, Query):
        question, network = query_about(network, question), network.by_itself()
    if network.domain and isinstance(question, Query) and network.passes_reals:
        raise QuestionError("real-valued queries know no limits or laws of the network: ask without them.")
    clock = Clock(time_limit, threads, seed, notify)
    claim = described(network, question)
    joint: Joint | None = None
    try:
        if isinstance(question, Query) and network.passes_reals:
            from sugenet.engines.hard.reals.deciding import decide_query

            outcome = decide_query(network, of_network(network, question), clock)
        else:
            problems, joint = problems_of(network, question, clock)
            outcome = _all(problems, clock, engine)
    except KeyboardInterrupt as stop:
        outcome = Open("", "interrupted", getattr(stop, "facts", {}))
    except TimeUpError:
        outcome = Open("", "the time was up", {})
    except TooLargeError as error:
        if is_expanded(network.layers, network.head):
            raise
        outcome = Open("", str(error), {})  # two-sided problems use the steps of all neurons
    if isinstance(outcome, Holds):
        certificate = None
        if outcome.proof is not None:
            certificate = envelope(network, question, witness=None, proof=outcome.proof, answer="proved")
        return Proved(network, question, claim, outcome.engine, clock.seconds, certificate, outcome.sets)
    if isinstance(outcome, Fails):
        return _refuted(network, question, claim, outcome, joint, clock)
    facts = dict(outcome.facts)
    proof = facts.pop("proof", None)
    known = None if proof is None else facts["proved_up_to"]
    certificate = envelope(
        network, question, witness=None, proof=proof, answer="undecided", proved_up_to=known
    )
    return Undecided(
        network, question, claim, outcome.reason, facts, outcome.engine, clock.seconds, certificate
    )


def _question_in(question: Any, region: Any) -> Question:
    """Return the question: as it is given, or `Robust` for a sample and a region."""
    if isinstance(question, Question):
        if region is not None:
            raise QuestionError(
                f"{type(question).__name__} is a question of its own. Leave out region={quoted(region)}."
            )
        return question
    if region is None:
        raise QuestionError(
            f"verify needs a question, not {quoted(question)}. For one sample add a region: "
            f"verify(network, x, L0(1)). Questions are Robust, Always, Never, Monotone, Fair and Agree, and "
            f"read_vnnlib reads one from a file."
        )
    return Robust(question, region)


def _all(problems: Any, clock: Clock, engine: str) -> Outcome:
    """Decide problems one after another: one violation refutes the claim, and all must hold to prove it."""
    held: list[Holds] = []
    still_open = None
    for problem in problems:
        outcome = decide(problem, clock, engine)
        if isinstance(outcome, Fails):
            return outcome
        if isinstance(outcome, Open):
            still_open = outcome
            continue
        held.append(outcome)
    if still_open is not None:
        return still_open
    if len(held) == 1:
        return held[0]
    proofs = [one.proof for one in held]
    engines = ", ".join(dict.fromkeys(one.engine for one in held)) or "an empty question"
    return Holds(engines, None if None in proofs else proofs)


def _refuted(
    network: Network,
    question: Question,
    claim: str,
    outcome: Fails,
    joint: Joint | None,
    clock: Clock,
) -> Refuted:
    rows = [tuple(outcome.witness)] if joint is None else list(joint.pair(outcome.witness))
    networks = [network] if joint is None else [joint.left, joint.right]
    known = outcome.counts if joint is None and network.lawful is network else None  # in the same classes
    labels = tuple(net.classes[winners(net, row, known)[0]] for net, row in zip(networks, rows, strict=True))
    if joint is not None and labels[0] == labels[1]:
        raise SoundnessError(
            f"the two inputs of a violation have the same class {labels[0]}. Please report this input."
        )
    if joint is None or joint.left is not joint.right:  # two networks that read the same input
        witness: Any = plain_row(rows[0], network)
        rows = rows[:1]
    else:
        witness = [plain_row(row, network) for row in rows]
    certificate = envelope(network, question, witness=witness, proof=None, answer="refuted")
    row = rows[0] if len(rows) == 1 else tuple(rows)
    return Refuted(network, question, claim, row, labels, outcome.engine, clock.seconds, certificate)
