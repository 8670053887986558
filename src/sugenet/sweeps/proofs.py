"""What of an answer can be checked: its certificates, and whether they prove anything."""

from __future__ import annotations

from typing import Any

from sugenet.reason.asking import Found
from sugenet.reason.counterfactuals import Counterfactual
from sugenet.reason.reasons import Reasons
from sugenet.reason.verdicts import Refuted

__all__ = ["certificates_of", "is_checkable", "trusted_in"]


def certificates_of(answer: Found) -> list[dict[str, Any]]:
    """All certificates of an answer, the main one first; none where nothing was certified."""
    match answer:
        case Reasons():
            return [reason.certificate for reason in answer.reasons]
        case Counterfactual():
            return [answer.certificate, *(other.certificate for other in answer.others)]
    certificate = getattr(answer, "certificate", None)
    return [] if certificate is None else [certificate]


def is_checkable(answer: Found) -> bool:
    """Whether `check` finds a proof or a witness in every certificate of an answer."""
    found = certificates_of(answer)
    if isinstance(
        answer, Counterfactual | Refuted
    ):  # a witness is enough, where no solver is trusted besides
        return trusted_in(found) is None
    return bool(found) and all(one["proof"] is not None for one in found) and trusted_in(found) is None


def trusted_in(certificates: list[dict[str, Any]]) -> str | None:
    """The solver whose word some of the certificates rest on; None: nobody is trusted."""
    proofs = (one["proof"] for one in certificates)
    return next((str(proof["solver"]) for proof in proofs if proof and proof["kind"] == "trust"), None)
