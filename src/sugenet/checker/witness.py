"""Replay an input that is claimed to violate a question.

To be ensured: it is an input of the network that the question is about (`meaning`), and its scores, by the
definition, are a violation. The answer is then true, whoever found it.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from sugenet.checker.form import Agree, Always, Fair, Monotone, Never, QueryAsked, Reason, Robust, WhatIf
from sugenet.checker.meaning import row_of, scores, top
from sugenet.checker.network import Categories
from sugenet.checker.setting import Asked, inputs_asked, sample_of, see_other, see_query
from sugenet.errors import CertificateError

_LONGEST = 1 << 14

__all__ = ["changed_as_claimed", "check_witness", "violating"]


def check_witness(asked: Asked, witness: Sequence[Sequence[Any]]) -> str:
    """Replay an input, or a pair of inputs, that is claimed to violate the question; return the finding."""
    question, network = asked.question, asked.network
    rows = [row_of(network, row) for row in witness]
    if isinstance(question, Monotone | Fair):
        return _check_pair(asked, question, rows)
    if len(rows) != 1:
        raise CertificateError("the question is about one input, and the witness is two.")
    x = rows[0]
    if isinstance(question, QueryAsked):
        return _check_query_witness(asked, question, x)
    if isinstance(question, Robust):
        sample_of(asked)
        violating(asked, x)
        return (
            f"the witness lies in the region and has class {network.class_texts[top(scores(network, x))[0]]}"
        )
    inputs_asked(asked).see(x)
    label = top(scores(network, x))[0]
    if isinstance(question, Agree):
        other = see_other(asked)
        second = top(scores(other, row_of(other, witness[0])))[0]
        if label == second:
            raise CertificateError("the two networks agree on the witness.")
        return (
            f"the witness has class {network.class_texts[label]} in one network and "
            f"{network.class_texts[second]} in the other"
        )
    assert isinstance(question, Always | Never)
    if (label == question.label) == isinstance(question, Always):
        raise CertificateError("the witness is not a violation.")
    return f"the witness lies within the limits and has class {network.class_texts[label]}"


def _check_pair(asked: Asked, question: Monotone | Fair, rows: list[tuple[Any, ...]]) -> str:
    if len(rows) != 2:
        raise CertificateError("the question is about two inputs, and the witness is one.")
    network, inputs = asked.network, inputs_asked(asked)
    for row in rows:
        inputs.see(row)
    special = {question.feature} if isinstance(question, Monotone) else set(question.protected)
    differ = {f for f, (a, b) in enumerate(zip(*rows, strict=True)) if a != b}
    if not differ <= special:
        raise CertificateError(
            f"the two witnesses differ in feature {min(differ - special)}, which must be equal."
        )
    p, q = (top(scores(network, row))[0] for row in rows)
    if isinstance(question, Monotone):
        if isinstance(network.codings[question.feature], Categories):
            raise CertificateError("a category cannot be raised.")
        before, after = (row[question.feature] for row in rows)
        if not (after > before if question.rising else after < before):
            raise CertificateError("the feature does not move in the direction of the question.")
        bad = q < p if question.label is None else p == question.label != q
    else:
        bad = p != q
    if not bad:
        raise CertificateError("the two witnesses are not a violation.")
    return f"the two witnesses have the classes {network.class_texts[p]} and {network.class_texts[q]}"


def _check_query_witness(asked: Asked, question: QueryAsked, x: tuple[Any, ...]) -> str:
    network = asked.network
    see_query(asked, question)
    if network.passes_reals:
        _see_unit(x)
        class_scores = network.real_scores(x)
    else:
        class_scores = scores(network, x)
    refused = "the query has no cases."
    for part, case in enumerate(question.cases):
        try:
            inputs_asked(asked, part).see(x)
        except CertificateError as error:
            refused = str(error)
            continue
        refused = "the outputs of the witness do not meet the condition of the query."
        if any(
            all(sum(factor * class_scores[k] for k, factor in terms) >= bound for terms, bound in row)
            for row in case.condition
        ):
            return "the witness lies in a box of the query, and its outputs meet the condition there"
    raise CertificateError(refused)


def _see_unit(values: Sequence[Fraction]) -> None:
    """Refuse real numbers whose sums would take too long."""
    unit = 1
    for denominator in {Fraction(value).denominator for value in values}:
        unit = lcm(unit, denominator)
        if unit.bit_length() > _LONGEST:
            raise CertificateError(
                f"the values of the witness have a common denominator of more than {_LONGEST:,} bits. "
                f"Round them."
            )


# -- changes of a sample -------------------------------------------------------------------------------------


def changed_as_claimed(question: Robust | Reason | WhatIf, class_scores: list[Fraction]) -> bool:
    """Return whether scores violate "the class stays", with the tie rule."""
    tops, label, target = top(class_scores), question.label, question.target
    if target is None:
        return tops[0] != label if question.ties == "lowest" else tops != [label]
    return tops[0] == target if question.ties == "lowest" else target in tops


def violating(asked: Asked, row: tuple[Any, ...], what: str = "the witness") -> None:
    """Check that an input is in the region of a question about a sample, and changes the answer."""
    question = asked.question
    assert isinstance(question, Robust | Reason)
    inputs_asked(asked).see(row, what)
    if not changed_as_claimed(question, scores(asked.network, row)):
        raise CertificateError(f"{what} does not change the answer as claimed.")
