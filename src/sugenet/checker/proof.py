"""Checking a proof that a question has no violation, in the way its kind says.

To be ensured: each part of the question has a proof, and each proof is checked against what the question
says (`setting`), not against what it says of itself.
"""

from __future__ import annotations

from typing import Any

from sugenet.bnn import DenseLayer, Network
from sugenet.checker.bounds import check_bounds
from sugenet.checker.form import check_proof_form
from sugenet.checker.limit import Limit
from sugenet.checker.patches import check_patches
from sugenet.checker.query import query_of
from sugenet.checker.sets import see_sets
from sugenet.checker.setting import Setting, Within, parts_of, setting_of
from sugenet.checker.thresholds import thresholds_of
from sugenet.checker.whole import priced, whole_of
from sugenet.errors import CertificateError

__all__ = ["check_proof"]

_CELLS = 1 << 24
"""Changes times neurons or features, or weights of later layers that are not dense,
up to which everything is written out.
"""


def check_proof(
    question: dict[str, Any],
    proof: Any,
    network: Network,
    other: Network | None,
    limit: Limit,
    within: Within | None = None,
    *,
    plain: bool = False,
) -> str:
    """Check the proof that a question has no violation; `within` as in `setting_of`."""
    if check_proof_form(proof) == "patches":
        if question["kind"] != "query":
            raise CertificateError("dual bounds over patterns prove queries alone.")
        return check_patches(proof, network, query_of(question), limit)
    if question["kind"] == "query" and network.keeps_reals:  # all other proofs go through states
        raise CertificateError("a query over real values needs a proof of kind 'patches'.")
    parts = proof["parts"] if proof["kind"] == "parts" else [proof]
    if not isinstance(parts, list) or len(parts) != parts_of(question):
        raise CertificateError(f"{len(parts)} proofs for {parts_of(question)} parts of the question.")
    kinds = [check_proof_form(part) for part in parts]
    said: dict[str, None] = {}
    for number, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        mine = limit.part()
        setting = setting_of(question, network, other, mine, number, within)
        said[_check_part(kind, part, setting, mine, plain=plain)] = None
    return "; ".join(said)


def _check_part(kind: str, proof: dict[str, Any], setting: Setting, limit: Limit, *, plain: bool) -> str:
    if kind in ("walk", "sweep"):
        options, budget = priced(setting, limit)
        see_sets([prices for _, prices in options.values()], budget, proof["sets"], limit)
    if kind == "dual":
        from sugenet.checker.dual import check_dual

        return check_dual(proof, setting, limit)
    if kind in ("bounds", "walk") and _is_large(setting) and not plain:
        from sugenet.checker.large import Large

        large = Large(setting, limit)
        return large.check_bounds() if kind == "bounds" else large.check_walk(proof)
    whole = whole_of(setting, limit)
    match kind:
        case "bounds":
            return check_bounds(whole)
        case "walk":
            from sugenet.checker.walk import check_walk  # compiled code is loaded when it is needed

            return check_walk(proof, whole, plain=plain)
        case "combinations":
            from sugenet.checker.combinations import check_combinations

            return check_combinations(proof, whole, plain=plain)
        case "branches":
            from sugenet.checker.branches import check_branches

            return check_branches(whole, plain=plain)
        case "sweep":
            from sugenet.checker.sweep import check_sweep

            return check_sweep(proof, whole, plain=plain)
        case "rup":
            from sugenet.checker.rup import check_rup

            return check_rup(proof, thresholds_of(whole), limit=limit, plain=plain)
        case "drup":
            from sugenet.checker.drup import check_drup

            return check_drup(proof, whole, plain=plain)
    raise CertificateError(f"a proof of kind {kind!r} is none of this question.")


def _is_large(setting: Setting) -> bool:
    """Whether a question about one network would take much room if its neurons were written out."""
    layers = setting.cuts[0].layers
    if len(setting.cuts) > 1 or not layers:
        return False
    changes = sum(map(len, setting.options.values()))
    written_out = sum(
        layer.inputs * layer.outputs for layer in layers[1:] if not isinstance(layer, DenseLayer)
    )
    return (
        changes * max(layers[0].outputs, setting.networks[0].encoder.features) > _CELLS
        or written_out > _CELLS
    )
