"""Can it fail: a question decided for every input it is about, with a certificate (docs/theory.md 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sugenet.bnn import Network
from sugenet.bnn.cutting import is_cut
from sugenet.engines.ladder import decide
from sugenet.errors import QuestionError, SoundnessError, TooLargeError
from sugenet.problem.boxes import plain_row
from sugenet.problem.clock import Clock
from sugenet.problem.pairs import Joint
from sugenet.problem.problem import Fails, Holds, Open, Outcome
from sugenet.problem.query import Query, of_network
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import Question, described, problems_of
from sugenet.reason.questions.real_boxes import query_about
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided
from sugenet.reason.winning import winners

__all__ = ["verify"]


def verify(
    network: Network,
    question: Question,
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
    network
        The network.
    question
        `Robust`, `Always`, `Never`, `Monotone`, `Fair`, `Agree`, or a `Query` that `read_vnnlib` gives. A
        query speaks of the file that the network was read from: its inputs are in the order and the numbers
        of that file. All others speak of raw samples.
    within
        Ask about inputs that can occur: ``"data"``, laws as text or a `Domain`, as in `Network.within`.
    engine
        ``auto`` climbs the ladder of engines, cheapest first; or one by name: see `sugenet.engines.ladder`.
    time_limit
        Seconds after which what is known so far is given.
    threads
        How many may work at once; one for each core unless said.
    seed
        Of searches.
    notify
        Is told what is going on.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.reason import Hamming, Robust
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(verify(net, Robust([-1, -1, +1, -1], Hamming(1))))
    the class stays off, with up to 1 bit flipped: proved by bounds through all layers
    >>> answer = verify(net, Robust([-1, -1, +1, -1], Hamming(2)))
    >>> type(answer).__name__, answer.labels, answer.changes
    ('Refuted', ('on',), {'x1': (-1, 1), 'x2': (-1, 1)})
    """
    if not isinstance(question, Question):
        raise QuestionError(
            f"{question!r} is no question. Ask Robust, Always, Never, Monotone, Fair, Agree or a Query that "
            f"read_vnnlib gives."
        )
    network = network.within(within)
    if network.keeps_reals and not isinstance(question, Query):
        question, network = query_about(network, question), network.by_itself()
    if network.domain and isinstance(question, Query) and network.keeps_reals:
        raise QuestionError("real-valued queries know no limits or laws of the network: ask without them.")
    clock = Clock(time_limit, threads, seed, notify)
    claim = described(network, question)
    joint: Joint | None = None
    try:
        if isinstance(question, Query) and network.keeps_reals:
            from sugenet.engines.hard.reals.deciding import decide_query

            found = decide_query(network, of_network(network, question), clock)
        else:
            problems, joint = problems_of(network, question)
            found = _all(problems, clock, engine)
    except KeyboardInterrupt as stop:
        found = Open("", "interrupted", getattr(stop, "facts", {}))
    except TooLargeError as error:
        if is_cut(network.layers, network.head):
            raise
        found = Open("", str(error), {})  # two sides are made of the steps of all neurons
    if isinstance(found, Holds):
        certificate = None
        if found.proof is not None:
            certificate = envelope(network, question, witness=None, proof=found.proof, answer="proved")
        return Proved(network, question, claim, found.engine, clock.seconds, certificate, found.sets)
    if isinstance(found, Fails):
        return _refuted(network, question, claim, found, joint, clock)
    facts = dict(found.facts)
    proof = facts.pop("proof", None)
    known = None if proof is None else facts["proved_up_to"]
    certificate = envelope(
        network, question, witness=None, proof=proof, answer="undecided", proved_up_to=known
    )
    return Undecided(network, question, claim, found.reason, facts, found.engine, clock.seconds, certificate)


def _all(problems: Any, clock: Clock, engine: str) -> Outcome:
    """Problems one after another: one violation is enough, and all must hold."""
    held: list[Holds] = []
    still_open = None
    for problem in problems:
        found = decide(problem, clock, engine)
        if isinstance(found, Fails):
            return found
        if isinstance(found, Open):
            still_open = found
            continue
        held.append(found)
    if still_open is not None:
        return still_open
    if len(held) == 1:
        return held[0]
    proofs = [found.proof for found in held]
    engines = ", ".join(dict.fromkeys(found.engine for found in held)) or "an empty question"
    return Holds(engines, None if None in proofs else proofs)


def _refuted(
    network: Network,
    question: Question,
    claim: str,
    found: Fails,
    joint: Joint | None,
    clock: Clock,
) -> Refuted:
    rows = [tuple(found.witness)] if joint is None else list(joint.pair(found.witness))
    networks = [network] if joint is None else [joint.left, joint.right]
    known = found.counts if joint is None and network.lawful is network else None  # of the same classes
    labels = tuple(net.classes[winners(net, row, known)[0]] for net, row in zip(networks, rows, strict=True))
    if joint is not None and labels[0] == labels[1]:
        raise SoundnessError(
            f"the two inputs of a violation have the same class {labels[0]}. Please report this input."
        )
    if joint is None or joint.left is not joint.right:  # two networks read the same input
        witness: Any = plain_row(rows[0], network)
        rows = rows[:1]
    else:
        witness = [plain_row(row, network) for row in rows]
    certificate = envelope(network, question, witness=witness, proof=None, answer="refuted")
    row = rows[0] if len(rows) == 1 else tuple(rows)
    return Refuted(network, question, claim, row, labels, found.engine, clock.seconds, certificate)
