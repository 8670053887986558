"""Check a proof that a question has no violation, by the rule for its kind.

To be ensured: each part of the question has a proof, and each proof is checked against the question
(`setting`), not against its own description of it. Compiled forms of the rules are loaded only if needed;
`rules` contains the plain ones.
"""

from sugenet.checker.form import (
    Bound,
    Dual,
    Enumerate,
    Lemma,
    Order,
    Patches,
    Proof,
    QueryAsked,
    Single,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import InputSet
from sugenet.checker.problem import problem_of
from sugenet.checker.setting import Asked, Setting, parts_of, see_query, setting_of
from sugenet.errors import CertificateError

__all__ = ["check_proof"]

_LEAST = 0.1
"""If a compiled check takes at least this many seconds, a part of it is repeated in the plain form."""


def check_proof(
    asked: Asked, proof: Proof, limit: Limit, inputs: InputSet | None = None, *, plain: bool = False
) -> str:
    """Check the proof that a question has no violation; `inputs` as in `setting_of`."""
    question, network = asked.question, asked.network
    if isinstance(question, QueryAsked):
        see_query(asked, question)
        if network.passes_reals:  # all other proofs use integers
            if not isinstance(proof, Patches):
                raise CertificateError("a query over real numbers needs a proof of kind 'patches'.")
            from sugenet.checker.patterns import check_patterns

            return check_patterns(proof, network, question, limit)
    parts = proof if isinstance(proof, tuple) else (proof,)
    numbers = parts_of(asked)
    if len(parts) != len(numbers):
        raise CertificateError(f"{len(parts)} proofs for {len(numbers)} parts of the question.")
    summaries: dict[str, None] = {}
    for number, part in zip(numbers, parts, strict=True):
        mine = limit.part()
        setting = setting_of(asked, mine, number, inputs)
        summaries[_check_part(part, setting, mine, plain=plain)] = None
    return "; ".join(summaries) or "the query has no cases, so nothing violates it"


def _check_part(proof: Single, setting: Setting, limit: Limit, *, plain: bool) -> str:
    if isinstance(proof, Patches):
        raise CertificateError("a proof of kind 'patches' is about real numbers alone.")
    if isinstance(proof, Order):
        from sugenet.checker.order import check_order

        return check_order(setting, limit)
    sums = isinstance(proof, Lemma) and proof.sums  # no compiled form exists
    if not plain and not sums:
        began = limit.spent()
        summary = _compiled(proof, setting, limit)
        if limit.spent() - began >= _LEAST:
            from sugenet.checker.accelerate.again import check_again

            check_again(proof, setting, limit.spent() - began)
        return summary
    if isinstance(proof, Dual):
        from sugenet.checker.multipliers import check_multipliers

        return check_multipliers(proof, setting, limit)
    from sugenet.checker.rules import prove

    return prove(proof, problem_of(setting, limit))


def _compiled(proof: Single, setting: Setting, limit: Limit) -> str:
    """Check a proof with the compiled form of its rule."""
    from sugenet.checker.accelerate.enumeration import check_enumeration, is_large
    from sugenet.checker.accelerate.integers import array_problem

    match proof:
        case Enumerate():
            return check_enumeration(setting, limit)
        case Dual():
            from sugenet.checker.accelerate.dual import check_dual

            return check_dual(proof, setting, limit)
        case Bound():
            if is_large(setting):
                from sugenet.checker.accelerate.large import Large

                return Large(setting, limit).check_bounds()
            from sugenet.checker.accelerate.bounds import check_bounds

            return check_bounds(array_problem(setting, limit))
        case Lemma():
            from sugenet.checker.accelerate.rup import check_rup
            from sugenet.checker.accelerate.thresholds import thresholds_of

            return check_rup(proof, thresholds_of(array_problem(setting, limit)), limit=limit)
    raise CertificateError(f"a proof of kind {proof.tag[1]!r} is not expected here.")
