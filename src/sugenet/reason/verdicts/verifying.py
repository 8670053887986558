"""Can it fail: a question decided for every input it is about,
with a certificate (docs/theory.md 7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sugenet.bnn import Network
from sugenet.checker.query import Query
from sugenet.engines.ladder import decide
from sugenet.errors import QuestionError, SoundnessError
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import row_of
from sugenet.problem.outcomes import Fails, Holds, Open, Outcome
from sugenet.problem.pairs import Joint
from sugenet.problem.sourced import of_network
from sugenet.reason.questions import Question, Robust, plain, problems_of
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided

__all__ = ["certificate_of", "verify"]


def verify(
    network: Network,
    question: Question,
    *,
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
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> print(verify(net, Robust([-1, -1, +1, -1], Hamming(1))))
    the class stays off, with up to 1 bit flipped: proved by bounds through all layers
    >>> print(verify(net, Robust([-1, -1, +1, -1], Hamming(2))))
    the class stays off, with up to 2 bits flipped: refuted by flip enumeration. Class on with x1 from -1 to 1; x2 from -1 to 1
    """
    if not isinstance(question, Question):
        raise QuestionError(
            f"{question!r} is no question. Ask Robust, Always, Never, Monotone, Fair, Agree or a Query that "
            f"read_vnnlib gives."
        )
    clock = Clock(time_limit, threads, seed, notify)
    claim = _claim(network, question)
    joint: Joint | None = None
    try:
        if isinstance(question, Query) and network.reads_reals:
            found = _real_query(network, question, clock)
        else:
            problems, joint = problems_of(network, question)
            found = _all(problems, clock, engine)
    except KeyboardInterrupt as stop:
        found = Open("", "interrupted", getattr(stop, "facts", {}))
    certificate = certificate_of(network, question)
    if isinstance(found, Holds):
        return Proved(
            network,
            claim,
            found.engine,
            clock.seconds,
            certificate | {"answer": "proved", "proof": found.proof},
        )
    if isinstance(found, Fails):
        return _refuted(network, question, claim, found, joint, clock, certificate)
    facts = dict(found.facts)
    walked = facts.pop("walk", None)
    certificate |= {"answer": "undecided", "proved_up_to": None}
    if walked is not None:
        certificate |= {"proved_up_to": facts["proved_up_to"], "proof": walked}
    return Undecided(network, claim, found.reason, facts, found.engine, clock.seconds, certificate)


def _all(problems: Any, clock: Clock, engine: str) -> Outcome:
    """Problems one after another: one violation is enough, and all must hold."""
    proofs, engines, still_open = [], [], None
    for problem in problems:
        found = decide(problem, clock, engine)
        if isinstance(found, Fails):
            return found
        if isinstance(found, Open):
            still_open = found
            continue
        proofs.append(found.proof)
        engines.append(found.engine)
    if still_open is not None:
        return still_open
    if len(proofs) == 1:
        return Holds(engines[0], proofs[0])
    trusted = next((proof for proof in proofs if proof["kind"] == "trust"), None)
    if trusted is not None:
        return Holds(", ".join(dict.fromkeys(engines)), trusted)
    return Holds(", ".join(dict.fromkeys(engines)) or "an empty question", {"kind": "parts", "parts": proofs})


def _real_query(network: Network, query: Query, clock: Clock) -> Outcome:
    from sugenet.engines.reals.deciding import decide_query

    return decide_query(network, of_network(network, query), clock)


def _claim(network: Network, question: Question) -> str:
    return f"no violation of the {question}" if isinstance(question, Query) else question.describe(network)


def certificate_of(network: Network, question: Question) -> dict[str, Any]:
    """A certificate without its answer."""
    data = (
        _query_data(of_network(network, question)) if isinstance(question, Query) else question.data(network)
    )
    return {
        "format": "sugenet certificate",
        "version": 2,
        "network": network.fingerprint,
        "question": data,
        "witness": None,
        "proof": None,
    }


def _query_data(query: Query) -> dict[str, Any]:
    cases = [
        {
            "lower": [str(value) for value in case.box.lower],
            "upper": [str(value) for value in case.box.upper],
            "condition": [
                [[[[k, str(value)] for k, value in part.terms], str(part.bound)] for part in row]
                for row in case.condition
            ],
        }
        for case in query.cases
    ]
    return {"kind": "query", "inputs": query.inputs, "outputs": query.outputs, "cases": cases}


def _refuted(
    network: Network,
    question: Question,
    claim: str,
    found: Fails,
    joint: Joint | None,
    clock: Clock,
    certificate: dict[str, Any],
) -> Refuted:
    names = network.encoder.names
    if joint is None:
        rows = [tuple(found.witness)]
        before = question.values(network) if isinstance(question, Robust) else None
        changes = {
            n: (a, b)
            for n, a, b in zip(names, before or rows[0], rows[0], strict=True)
            if before is not None and a != b
        }
    else:
        rows = list(joint.pair(found.witness))
        changes = {n: (a, b) for n, a, b in zip(names, rows[0], rows[1], strict=True) if a != b}
    networks = [network] if joint is None else [joint.left, joint.right]
    labels = tuple(_label(net, row) for net, row in zip(networks, rows, strict=True))
    if joint is not None and labels[0] == labels[1]:
        raise SoundnessError(
            f"the two inputs of a violation have the same class {labels[0]}. Please report this input."
        )
    if joint is None or joint.left is not joint.right:  # two networks read the same input
        witness: Any = [plain(value) for value in rows[0]]
        rows = rows[:1]
    else:
        witness = [[plain(value) for value in row] for row in rows]
    certificate |= {"answer": "refuted", "witness": witness}
    return Refuted(
        network,
        claim,
        rows[0] if len(rows) == 1 else tuple(rows),
        labels,
        changes,
        found.engine,
        clock.seconds,
        certificate,
    )


def _label(network: Network, row: tuple[Any, ...]) -> str:
    if network.reads_reals and any(value != int(value) for value in row):
        return (
            "other"  # a class of the query's condition; the levels between whole numbers have no prediction
        )
    return network.classes[int(network.predict(row_of(row), engine="definition")[0])]
