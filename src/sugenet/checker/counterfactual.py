"""Check a counterfactual: the class of the sample, the witness and its cost, and that no cheaper change
exists.

To be ensured: the proof excludes everything below the lower bound or, if no counterfactual exists, everything
up to the limit.
"""

from fractions import Fraction
from typing import Any

from sugenet.checker.form import Counterfactual, NoCounterfactual, OpenCounterfactual, WhatIf
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import cheaper, row_of, scores
from sugenet.checker.setting import Asked, sample_of
from sugenet.checker.witness import changed_as_claimed
from sugenet.errors import CertificateError, refuse

__all__ = ["check_counterfactual"]


def check_counterfactual(
    certificate: Counterfactual | OpenCounterfactual | NoCounterfactual,
    asked: Asked,
    limit: Limit,
    *,
    plain: bool = False,
) -> str:
    """Check the sample, the witness if there is one, and the proof that no cheaper change exists."""
    question, network = certificate.question, asked.network
    sample = sample_of(asked)
    # raises if a box does not contain the sample
    cheaper(asked.lawful, network, sample, question, asked.limits, None, strict=False)
    statements = [f"the sample has class {network.class_texts[question.label]}"]
    if isinstance(certificate, Counterfactual):
        statements.append(_check_changed(question, certificate, asked, sample))
    strict = not isinstance(certificate, NoCounterfactual)  # below the lower bound, or up to the limit
    bound = question.limit if isinstance(certificate, NoCounterfactual) else certificate.lower
    if strict and bound is not None and bound <= 0:
        if certificate.proof is not None or bound < 0:
            raise CertificateError("nothing costs less than 0, so there is nothing to prove.")
        return "; ".join(statements)
    if certificate.proof is None:
        raise CertificateError(f"there is no proof that nothing below {bound} changes the answer.")
    exact = None if bound is None else Fraction(bound)
    inputs = cheaper(asked.lawful, network, sample, question, asked.limits, exact, strict=strict)
    from sugenet.checker.proof import check_proof

    proved = check_proof(asked, certificate.proof, limit, inputs, plain=plain)
    statements.append(f"{'below' if strict else 'up to'} {bound}: {proved}" if bound is not None else proved)
    return "; ".join(statements)


def _check_changed(
    question: WhatIf, certificate: Counterfactual, asked: Asked, sample: tuple[Any, ...]
) -> str:
    witness = row_of(asked.network, certificate.witness)
    bound = None if question.limit is None else Fraction(question.limit)
    inputs = cheaper(asked.lawful, asked.network, sample, question, asked.limits, bound, strict=False)
    inputs.see(witness)
    price = inputs.cost(witness)
    refuse(
        CertificateError,
        (price != certificate.value, f"the witness costs {price}, not {certificate.value}."),
        (certificate.lower > price, "the lower bound is above the cost of the witness."),
        (
            not changed_as_claimed(question, scores(asked.network, witness)),
            "the witness does not change the answer as claimed.",
        ),
    )
    return f"the witness changes it at cost {price}"
