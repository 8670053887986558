"""Checking a proof that a question has no violation, in the way its kind says.

To be ensured: each part of the question has a proof, and each proof is checked against what the question
says (`setting`), not against what it says of itself.
"""

from __future__ import annotations

from sugenet.bnn import DenseLayer
from sugenet.checker.bounds import check_bounds
from sugenet.checker.form import (
    Bounds,
    Branches,
    Combinations,
    Drup,
    Dual,
    Parts,
    Patches,
    Proof,
    QueryAsked,
    Rup,
    Single,
    Sweep,
    Trust,
    Walk,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import InputSet
from sugenet.checker.patches import check_patches
from sugenet.checker.query import query_of
from sugenet.checker.sets import see_sets
from sugenet.checker.setting import Asked, Setting, parts_of, setting_of
from sugenet.checker.thresholds import thresholds_of
from sugenet.checker.whole import priced, whole_of
from sugenet.errors import CertificateError

__all__ = ["check_proof"]

_CELLS = 1 << 24
"""Changes times neurons or features, or weights of later layers that are not dense,
up to which everything is written out.
"""


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
    parts = proof.parts if isinstance(proof, Parts) else (proof,)
    numbers = parts_of(asked)
    if len(parts) != len(numbers):
        raise CertificateError(f"{len(parts)} proofs for {len(numbers)} parts of the question.")
    said: dict[str, None] = {}
    for number, part in zip(numbers, parts, strict=True):
        mine = limit.part()
        setting = setting_of(asked, mine, number, inputs)
        said[_check_part(part, setting, mine, plain=plain)] = None
    return "; ".join(said) or "the query has no cases, so nothing violates it"


def _check_part(proof: Single, setting: Setting, limit: Limit, *, plain: bool) -> str:
    match proof:
        case Trust():
            raise CertificateError(f"there is no proof to check: the answer trusts {proof.solver[:80]}.")
        case Patches():
            raise CertificateError("a proof of kind 'patches' is about real numbers alone.")
        case Walk() | Sweep():
            options, budget = priced(setting, limit)
            see_sets([prices for _, prices in options.values()], budget, proof.sets, limit)
        case Dual():
            from sugenet.checker.dual import check_dual

            return check_dual(proof, setting, limit)
    if isinstance(proof, Bounds | Walk) and _is_large(setting) and not plain:
        from sugenet.checker.large import Large

        large = Large(setting, limit)
        return large.check_bounds() if isinstance(proof, Bounds) else large.check_walk(proof)
    whole = whole_of(setting, limit)
    match proof:
        case Bounds():
            return check_bounds(whole)
        case Walk():
            from sugenet.checker.walk import check_walk  # compiled code is loaded when it is needed

            return check_walk(proof, whole, plain=plain)
        case Combinations():
            from sugenet.checker.combinations import check_combinations

            return check_combinations(proof, whole, plain=plain)
        case Branches():
            from sugenet.checker.branches import check_branches

            return check_branches(whole, plain=plain)
        case Sweep():
            from sugenet.checker.sweep import check_sweep

            return check_sweep(proof, whole, plain=plain)
        case Rup():
            from sugenet.checker.rup import check_rup

            return check_rup(proof, thresholds_of(whole), limit=limit, plain=plain)
        case Drup():
            from sugenet.checker.drup import check_drup

            return check_drup(proof, whole, plain=plain)


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
