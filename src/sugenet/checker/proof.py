"""Checking a proof that a question has no violation, in the way its kind says.

To be ensured: each part of the question has a proof, and each proof is checked against what the question
says (`setting`), not against what it says of itself.
"""

from __future__ import annotations

from sugenet.checker.bounds import check_bounds
from sugenet.checker.enumeration import check_enumeration, is_large
from sugenet.checker.form import (
    Bound,
    Drup,
    Dual,
    Enumerate,
    Lemma,
    Patches,
    Proof,
    QueryAsked,
    Single,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import InputSet
from sugenet.checker.patches import check_patches
from sugenet.checker.query import query_of
from sugenet.checker.setting import Asked, Setting, parts_of, setting_of
from sugenet.checker.thresholds import thresholds_of
from sugenet.checker.whole import whole_of
from sugenet.errors import CertificateError

__all__ = ["check_proof"]


def check_proof(
    asked: Asked, proof: Proof, limit: Limit, inputs: InputSet | None = None, *, plain: bool = False
) -> str:
    """Check the proof that a question has no violation; `inputs` as in `setting_of`."""
    question, network = asked.question, asked.network
    if isinstance(question, QueryAsked):
        query = query_of(question, network)
        if network.keeps_reals:  # all other proofs go through integers
            if not isinstance(proof, Patches):
                raise CertificateError("a query over real numbers needs a proof of kind 'patches'.")
            if asked.limits or network.domain.laws:
                raise CertificateError("a query over real numbers has neither limits nor laws.")
            return check_patches(proof, network, query, limit)
    parts = proof if isinstance(proof, tuple) else (proof,)
    if len(parts) != parts_of(question):
        raise CertificateError(f"{len(parts)} proofs for {parts_of(question)} parts of the question.")
    said: dict[str, None] = {}
    for number, part in enumerate(parts):
        mine = limit.part()
        setting = setting_of(asked, mine, number, inputs)
        said[_check_part(part, setting, mine, plain=plain)] = None
    return "; ".join(said) or "the query has no cases, so nothing violates it"


def _check_part(proof: Single, setting: Setting, limit: Limit, *, plain: bool) -> str:
    match proof:
        case Patches():
            raise CertificateError("a proof of kind 'patches' is about real numbers alone.")
        case Enumerate():
            return check_enumeration(setting, limit, plain=plain)
        case Dual():
            from sugenet.checker.dual import check_dual

            return check_dual(proof, setting, limit)
    if isinstance(proof, Bound) and is_large(setting) and not plain:
        from sugenet.checker.large import Large

        return Large(setting, limit).check_bounds()
    whole = whole_of(setting, limit)
    match proof:
        case Bound():
            return check_bounds(whole)
        case Lemma():
            from sugenet.checker.rup import check_rup  # compiled code is loaded when it is needed

            return check_rup(proof, thresholds_of(whole), limit=limit, plain=plain)
        case Drup():
            from sugenet.checker.drup import check_drup

            return check_drup(proof, whole, plain=plain)
