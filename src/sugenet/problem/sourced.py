"""A query about the file that a network was read from, as one about the network: in the network's own
numbers, or refused.
"""

from __future__ import annotations

from sugenet.bnn import Network
from sugenet.errors import QuestionError
from sugenet.problem.query import Case, Query, QueryBox

__all__ = ["of_network"]


def of_network(network: Network, query: Query) -> Query:
    """The query with its inputs in the raw numbers of the network; `QuestionError` where outputs of the
    source are not the scores.
    """
    if (query.inputs, query.outputs) != (network.encoder.features, network.head.outputs):
        raise QuestionError(
            f"the query has {query.inputs} inputs and {query.outputs} outputs, the network "
            f"{network.encoder.features} features and {network.head.outputs} classes."
        )
    source = network.source
    if source.outputs == "other":
        raise QuestionError(
            f"a query is about the whole file, but its outputs are not the network's scores: {source.remark}."
        )
    parts = [part for case in query.cases for conjunction in case.condition for part in conjunction]
    if source.outputs == "ordered" and not all(
        part.bound == 0 and sorted(v for _, v in part.terms) == [-1, 1] for part in parts
    ):
        raise QuestionError(
            f"the query does more than compare outputs, and the network's scores only compare as the file's "
            f"outputs do: {source.remark}."
        )
    if source.is_plain:
        return query
    cases = []
    for case in query.cases:
        lines = source.lines(query.inputs)
        ends = (
            [(value - start) / step for value, (start, step) in zip(row, lines, strict=True)]
            for row in (case.box.lower, case.box.upper)
        )
        cases.append(Case(QueryBox(*source.turned(*ends)), case.condition))
    return Query(query.inputs, query.outputs, cases)
