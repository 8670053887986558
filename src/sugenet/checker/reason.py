"""Check that no feature of a reason can be dropped, and that no smaller reason exists.

To be ensured: each counterexample is replayed. A counterexample that changes a single feature of the reason
shows that this feature is necessary. A reason must intersect the changed features of every counterexample, so
a smaller reason would be a smaller hitting set.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sugenet.checker.form import Minimal, Minimum, Sufficient
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import row_of
from sugenet.checker.setting import Asked
from sugenet.checker.witness import violating
from sugenet.errors import CertificateError

__all__ = ["check_reason", "hitting_set_within"]

_WORK = 100_000_000
"""Largest number of sets visited in the search for a smaller reason."""
_MANY = 3000
"""Up to this many sets, supersets of other sets are removed first."""


def check_reason(certificate: Sufficient | Minimal | Minimum, asked: Asked, proved: str, limit: Limit) -> str:
    """Check the claims of a reason other than sufficiency; return what was checked."""
    question, network = certificate.question, asked.network
    fixed, sample = set(question.fixed), row_of(network, question.sample)
    free = replace(asked, question=replace(question, fixed=()))  # a counterexample changes fixed features
    if question.precision is not None and not isinstance(certificate, Sufficient):
        raise CertificateError("counterexamples say nothing about a share of the inputs.")
    statements = [f"these {len(fixed)} features suffice: {proved}"]

    def changed(row: Sequence[Any]) -> set[int]:
        """Return the features that a counterexample changes, after replaying it."""
        limit.look()
        witness = row_of(network, row)
        violating(free, witness, "a counterexample")
        return {f for f, (a, b) in enumerate(zip(sample, witness, strict=True)) if a != b}

    if isinstance(certificate, Minimal | Minimum) and certificate.witness is not None:
        left = set(fixed)
        for feature, row in certificate.witness:
            if changed(row) & fixed != {feature}:
                raise CertificateError(
                    f"the counterexample for feature {feature} changes another one of the reason, "
                    f"or not this one."
                )
            left.discard(feature)
        if left:
            raise CertificateError(f"nothing shows that feature {min(left)} cannot be left out.")
        statements.append("each has a counterexample that leaves the others of them alone")
    if isinstance(certificate, Minimum):
        sets = []
        for changes in certificate.contrasts:
            contrast = list(question.sample)
            for feature, value in changes:
                contrast[feature] = value
            sets.append(changed(contrast))
        if fixed and hitting_set_within(sets, len(fixed) - 1, limit):
            raise CertificateError("the counterexamples do not exclude a smaller reason.")
        statements.append(
            f"no {len(fixed) - 1} features meet all of {len(sets)} counterexamples"
            if fixed
            else "none is smaller than nothing"
        )
    return "; ".join(statements)


def hitting_set_within(sets: list[set[int]], size: int, limit: Limit | None = None) -> bool:
    """Return whether some set of at most `size` elements intersects all sets.

    The search branches on a smallest set that is not hit.

    Examples
    --------
    >>> hitting_set_within([{1, 2}, {2, 3}, {4}], 2), hitting_set_within([{1, 2}, {2, 3}, {4}], 1)
    (True, False)
    """
    work = 0

    def search(left: list[frozenset[int]], room: int, banned: frozenset[int]) -> bool:
        nonlocal work
        if limit is not None:
            limit.look()
        work += len(left) + 1
        if work > _WORK:
            raise CertificateError(
                "there are too many counterexamples to verify that no smaller reason exists."
            )
        if not left:
            return True
        open_sets = sorted((row - banned for row in left), key=len)
        apart: set[int] = set()
        lower = 0
        for row in open_sets:
            if not row & apart:
                lower += 1
                apart |= row
        if lower > room or not open_sets[0]:
            return False
        tried = banned
        for element in sorted(open_sets[0]):
            if search([row for row in left if element not in row], room - 1, tried):
                return True
            tried = tried | {element}
        return False

    needed: list[frozenset[int]] = []  # a hitting set of a set also hits its supersets
    for row in sorted(set(map(frozenset, sets)), key=lambda row: (len(row), sorted(row))):
        if len(needed) > _MANY or not any(smaller <= row for smaller in needed):
            needed.append(row)
    return search(needed, size, frozenset())
