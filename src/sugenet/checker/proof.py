"""Checking a proof that a question has no violation, in the way its kind says.

To be ensured: each part of the question has a proof, and each proof is checked against what the question
says (`setting`), not against what it says of itself.
"""

from __future__ import annotations

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
from sugenet.checker.problem import priced, problem_of
from sugenet.checker.rules import prove
from sugenet.checker.sets import see_sets
from sugenet.checker.setting import Asked, Setting, parts_of, see_query, setting_of
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
        see_query(asked, question)
        if network.keeps_reals:  # all other proofs go through integers
            if not isinstance(proof, Patches):
                raise CertificateError("a query over real numbers needs a proof of kind 'patches'.")
            from sugenet.checker.arrays import origin_of
            from sugenet.checker.patches import check_patches
            from sugenet.checker.query import query_of

            return check_patches(proof, origin_of(network), query_of(question, origin_of(network)), limit)
    parts = proof.parts if isinstance(proof, Parts) else (proof,)
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
    if plain:
        return prove(proof, problem_of(setting, limit))
    from sugenet.checker.whole import whole_of  # compiled code is loaded when it is needed

    if isinstance(proof, Bounds | Walk) and _is_large(setting):
        from sugenet.checker.large import Large

        large = Large(setting, limit)
        return large.check_bounds() if isinstance(proof, Bounds) else large.check_walk(proof)
    whole = whole_of(setting, limit)
    match proof:
        case Bounds():
            from sugenet.checker.bounds import check_bounds

            return check_bounds(whole)
        case Walk():
            from sugenet.checker.walk import check_walk

            return check_walk(proof, whole)
        case Combinations():
            from sugenet.checker.combinations import check_combinations

            return check_combinations(proof, whole)
        case Branches():
            from sugenet.checker.branches import check_branches

            return check_branches(whole)
        case Sweep():
            from sugenet.checker.sweep import check_sweep

            return check_sweep(proof, whole)
        case Rup():
            from sugenet.checker.rup import check_rup
            from sugenet.checker.thresholds import thresholds_of

            return check_rup(proof, thresholds_of(whole), limit=limit)
        case Drup():
            from sugenet.checker.drup import check_drup

            return check_drup(proof, whole)


def _is_large(setting: Setting) -> bool:
    """Whether a question about one network would take much room if its neurons were written out."""
    from sugenet.bnn import DenseLayer
    from sugenet.checker.arrays import cuts_of

    networks = cuts_of(setting.networks)
    layers = networks[0].layers
    if len(networks) > 1 or not layers:
        return False
    changes = sum(map(len, setting.options.values()))
    written_out = sum(
        layer.inputs * layer.outputs for layer in layers[1:] if not isinstance(layer, DenseLayer)
    )
    return changes * max(layers[0].outputs, networks[0].encoder.features) > _CELLS or written_out > _CELLS
