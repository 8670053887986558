"""Questions of every kind, as words and as JSON, and read back from it: `question_of`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sugenet.bnn import Domain, Network
from sugenet.checker.form import exact
from sugenet.errors import CertificateError, QuestionError, SugenetError
from sugenet.problem.query import Case, Inequality, Query, QueryBox, of_network
from sugenet.reason.questions.amounts import HowMany, Rules
from sugenet.reason.questions.everyone import Predict
from sugenet.reason.questions.inputs import Agree, Always, Fair, Monotone, Never
from sugenet.reason.questions.names import box_of
from sugenet.reason.questions.samples import Robust, Suffices, WhatIf, Why

__all__ = ["Asked", "Question", "data_of", "described", "described_within", "question_of"]

Question: TypeAlias = Robust | Always | Never | Monotone | Fair | Agree | Query
"""What `verify` decides."""
Asked: TypeAlias = Question | Why | Suffices | WhatIf | HowMany | Predict | Rules
"""What an answer may answer."""


# -- queries, and all of them --------------------------------------------------------------------------------


def described(network: Network, question: Asked) -> str:
    """A question, or what it claims, in words."""
    if isinstance(question, Query):
        return described_within(network, f"no violation of the {question}")
    words = described_within(network, question.describe(network))
    return f"how many inputs of each class there are: {words}" if isinstance(question, HowMany) else words


def described_within(network: Network, words: str) -> str:
    """Words about inputs, with those that can occur where that is known."""
    domain, seen = network.domain, network.encoder.seen
    if not domain:
        return words
    if seen is None or domain.limits != Domain().both(Domain(dict(enumerate(seen))), network.encoder).limits:
        return f"{words}, for {domain}"
    laws = f" {domain.only_laws}".removeprefix(" inputs") if domain.laws else ""
    return f"{words}, for inputs within what was seen in training{laws}"


def data_of(network: Network, question: Asked) -> dict[str, Any]:
    """A question as JSON; a query in the network's own numbers."""
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
    """A query in the numbers of the file that the network was read from."""
    cases = []
    for case in data["cases"]:
        ends = [network.source.inputs(map(exact, case[end])) for end in ("lower", "upper")]
        box = QueryBox(*network.source.turned(*ends))
        rows = [[_inequality(*part) for part in row] for row in case["condition"]]
        cases.append(Case(box, rows))
    return Query(data["inputs"], data["outputs"], cases)


_KINDS: dict[str, Any] = {
    "robust": Robust,
    "why": Why,
    "reason": Suffices,
    "whatif": WhatIf,
    "always": Always,
    "never": Never,
    "monotone": Monotone,
    "fair": Fair,
    "count": HowMany,
    "predict": Predict,
    "rules": Rules,
}


def question_of(data: Mapping[str, Any], network: Network, other: Network | None = None) -> Asked:
    """Read a question from its JSON, as `data` wrote it; `other`: the second network of `Agree`.

    Raises
    ------
    QuestionError
        Where a field is missing, unknown or makes no sense for this network.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> from sugenet.problem.regions import L0
    >>> question_of(Robust([1, -1], L0(1)).data(net), net).region
    L0(radius=1)
    """
    try:
        kind = data["kind"]
        if kind == "query":
            found: Asked = _query_of(network, data)
        elif kind == "agree":
            found = _agree_of(network, data, other)
        elif kind in _KINDS:
            found = _KINDS[kind].of(network, data)
        else:
            raise QuestionError(f"there is no kind of question {str(kind)[:40]!r}.")
        again = data_of(network, found)
    except KeyError as error:
        raise QuestionError(f"the question has no field {error}.") from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        if isinstance(error, SugenetError) and not isinstance(error, CertificateError):
            raise
        said = error if isinstance(error, SugenetError) else f"{type(error).__name__}: {str(error)[:200]}"
        raise QuestionError(f"the question is damaged: {said}") from error
    for name in data:
        if name not in again:
            raise QuestionError(f"the question has a field {str(name)[:40]!r} that it must not have.")
    for name, value in again.items():
        if name not in data:
            raise QuestionError(f"the question has no field {name!r}.")
        if data[name] != value:
            said = f"{str(data[name])[:80]}, but {str(value)[:80]} for this network"
            raise QuestionError(f"the field {name!r} of the question says {said}.")
    return found


def _agree_of(network: Network, data: Mapping[str, Any], other: Network | None) -> Agree:
    if other is None:
        raise QuestionError("the question is about two networks: give the other one too, other=.")
    if other.fingerprint != data["other"]:
        raise QuestionError(
            f"the question is about the other network {str(data['other'])[:12]}, "
            f"not about {other.fingerprint[:12]}."
        )
    return Agree(other, box_of(network, data["where"]))
