"""Questions of every kind in words and as JSON; `question_of` reads them back."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from sugenet.checker.form import exact
from sugenet.errors import CertificateError, QuestionError, SugenetError
from sugenet.nn import Network
from sugenet.problem.query import Case, Inequality, Query, QueryBox, of_network
from sugenet.reason.questions.kinds import (
    Agree,
    Always,
    Count,
    Fair,
    Monotone,
    Never,
    Predict,
    Robust,
    Rules,
    Suffices,
    WhatIf,
    Why,
)

__all__ = ["Asked", "Question", "data_of", "described", "described_within", "question_of", "reading_data"]

Question: TypeAlias = Robust | Always | Never | Monotone | Fair | Agree | Query
"""Questions that `verify` decides."""
Asked: TypeAlias = Question | Why | Suffices | WhatIf | Count | Predict | Rules
"""Questions that an answer may have."""


# -- queries, and all of them --------------------------------------------------------------------------------


def described(network: Network, question: Asked) -> str:
    """Return a question, or its claim, in words."""
    if isinstance(question, Query):
        return described_within(network, f"no violation of the {question}")
    text = described_within(network, question.describe(network))
    return f"how many inputs of each class there are: {text}" if isinstance(question, Count) else text


def described_within(network: Network, text: str) -> str:
    """Return a description of inputs, with restrictions on inputs that can occur, if known."""
    domain = network.domain
    if not domain:
        return text
    if not network.is_within_data:
        return f"{text}, for {domain}"
    laws = f" {domain.only_laws}".removeprefix(" inputs") if domain.laws else ""
    return f"{text}, for inputs within what was seen in training{laws}"


def data_of(network: Network, question: Asked) -> dict[str, Any]:
    """Return a question as JSON data; a query in the network's own numbers."""
    if not isinstance(question, Query):
        return question.data(network)
    query = of_network(network, question)
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


def _inequality(terms: Iterable[Any], bound: str) -> Inequality:
    return Inequality({k: exact(factor) for k, factor in terms}, exact(bound))


def _query_of(network: Network, data: Mapping[str, Any]) -> Query:
    """Return a query in the numbers of the network's source file."""
    cases = []
    for case in data["cases"]:
        ends = [network.source.inputs(map(exact, case[end])) for end in ("lower", "upper")]
        box = QueryBox(*network.source.turned(*ends))
        rows = [[_inequality(*part) for part in row] for row in case["condition"]]
        cases.append(Case(box, rows))
    return Query(data["inputs"], data["outputs"], cases)


_KINDS: dict[str, Any] = {
    kind.kind: kind
    for kind in (Robust, Why, Suffices, WhatIf, Always, Never, Monotone, Fair, Agree, Count, Predict, Rules)
}


@contextmanager
def reading_data(what: str, error: type[SugenetError] = CertificateError) -> Iterator[None]:
    """Convert errors in JSON data from elsewhere to one type of error."""
    try:
        yield
    except KeyError as missing:
        raise error(f"{what} has no field {missing}.") from None
    except RecursionError:
        raise error(f"{what} is nested too deeply.") from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as problem:
        known = isinstance(problem, SugenetError)
        if known and isinstance(problem, CertificateError) == (error is CertificateError):
            raise
        message = str(problem) if known else f"{type(problem).__name__}: {str(problem)[:200]}"
        raise error(f"{what} is damaged: {message}") from problem


def question_of(data: Mapping[str, Any], network: Network, other: Network | None = None) -> Asked:
    """Read a question from the JSON that its `data` wrote.

    Parameters
    ----------
    data : mapping
        JSON data of any question.
    network : Network
        The network of the question.
    other : Network, default: None
        The second network, if the question is `Agree`.

    Returns
    -------
    question
        The question, of the type that it had.

    Raises
    ------
    QuestionError
        If a field is missing, unknown or invalid for this network.

    Examples
    --------
    >>> from sugenet.nn import Head, Network
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> from sugenet.problem.regions import L0
    >>> question_of(Robust([1, -1], L0(1)).data(net), net).region
    L0(radius=1)

    See Also
    --------
    answer_of : reads an answer.
    ask : answers the question.
    """
    with reading_data("the question", QuestionError):
        kind = data["kind"]
        if kind == "query":
            question: Asked = _query_of(network, data)
        elif kind in _KINDS:
            more = {"other": _other_of(data, other)} if kind == "agree" else {}
            question = _KINDS[kind].of(network, data, **more)
        else:
            raise QuestionError(f"there is no kind of question {str(kind)[:40]!r}.")
        again = data_of(network, question)
    for name in data:
        if name not in again:
            raise QuestionError(f"the question has a field {str(name)[:40]!r} that it must not have.")
    for name, value in again.items():
        if name not in data:
            raise QuestionError(f"the question has no field {name!r}.")
        if data[name] != value:
            difference = f"{str(data[name])[:80]}, but {str(value)[:80]} for this network"
            raise QuestionError(f"the field {name!r} of the question says {difference}.")
    return question


def _other_of(data: Mapping[str, Any], other: Network | None) -> Network:
    """Return the second network of a question about two."""
    if other is None:
        raise QuestionError("the question is about two networks: give the other one too, other=.")
    if other.fingerprint != data["other"]:
        raise QuestionError(
            f"the question is about the other network {str(data['other'])[:12]}, "
            f"not about {other.fingerprint[:12]}."
        )
    return other
