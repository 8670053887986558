"""Checking a counterfactual: the sample has its class, the witness changes it at the cost that is claimed,
and nothing cheaper does.

To be ensured: what the proof excludes is everything below the lower bound, or where none exists, everything
up to the limit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sugenet.bnn import Network
from sugenet.checker.domain import can_occur
from sugenet.checker.form import check_proof_form, exact
from sugenet.checker.limit import Limit
from sugenet.checker.proof import check_proof
from sugenet.checker.setting import Within
from sugenet.checker.values import raw, scores, top
from sugenet.checker.witness import changed_as_claimed, changes_of, lies_inside, price_of
from sugenet.errors import CertificateError

__all__ = ["check_counterfactual"]


def check_counterfactual(
    certificate: dict[str, Any], network: Network, limit: Limit, *, plain: bool = False
) -> str:
    """Check the sample, the witness where there is one, and the proof that nothing cheaper does it."""
    question, answer = certificate["question"], certificate["answer"]
    sample = raw(network, question["sample"])
    first = top(scores(network, sample))[0]
    if first != question["label"]:
        raise CertificateError(f"the sample has class {first}, not {question['label']}.")
    said = [f"the sample has class {network.classes[question['label']]}"]
    if answer == "counterfactual":
        said.append(_check_changed(question, certificate, network, sample))
    strict = answer != "none"  # below the lower bound; or up to the limit, where there is none
    bound = certificate["lower"] if strict else question["limit"]
    if strict and exact(bound, least=0) == 0:
        if certificate["proof"] is not None:
            check_proof_form(certificate["proof"])
        return "; ".join(said)
    within = Within.of_cost(question, None if bound is None else Fraction(bound), strict=strict)
    proved = check_proof(question, certificate["proof"], network, None, limit, within, plain=plain)
    said.append(f"{'below' if strict else 'up to'} {bound}: {proved}" if bound is not None else proved)
    return "; ".join(said)


def _check_changed(
    question: dict[str, Any], certificate: dict[str, Any], network: Network, sample: tuple[Any, ...]
) -> str:
    witness = raw(network, certificate["witness"])
    changes = changes_of(network, sample, witness)
    stray = sorted(set(changes) - set(question["movable"]))
    if stray:
        raise CertificateError(f"the witness changes feature {stray[0]}, which must stay.")
    price = price_of(question["cost"], changes)
    if price != exact(certificate["value"]):
        raise CertificateError(f"the witness costs {price}, not {certificate['value']}.")
    if exact(certificate["lower"]) > price:
        raise CertificateError("the lower bound is above the cost of the witness.")
    if question["limit"] is not None and price > Fraction(question["limit"]):
        raise CertificateError(f"the witness costs {price}, above the limit of {question['limit']}.")
    can_occur(network, witness, sample)
    if question["region"] is not None:
        lies_inside(network, question["region"], sample, witness)
    if not changed_as_claimed(question, scores(network, witness)):
        raise CertificateError("the witness does not change the answer as claimed.")
    return f"the witness changes it at cost {price}"
