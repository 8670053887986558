"""Check a reason for a share of the inputs, by counting.

To be ensured: the inputs that agree with the sample on some features are counted as a region of their own,
from the question and not from the certificate. The share may fall and rise again as features are dropped. So
"minimal" says that no single feature can be dropped, and "minimum" that no smaller set reaches the share.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import comb

from sugenet.checker.form import (
    Count,
    Limits,
    Minimal,
    Minimum,
    OneOf,
    Reason,
    Share,
    Shares,
    Sufficient,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import row_of
from sugenet.checker.network import Categories
from sugenet.checker.setting import Asked, inputs_asked
from sugenet.errors import CertificateError, refuse

__all__ = ["check_shares"]

Counting = Callable[[Share, Asked, Limit], str]


def check_shares(
    certificate: Sufficient | Minimal | Minimum, proof: Shares, asked: Asked, limit: Limit, count: Counting
) -> str:
    """Check the claims of a reason with a precision, with a function that counts again; return what was
    checked.
    """
    question, smaller = certificate.question, proof.others
    fixed = frozenset(question.fixed)
    claimed = [frozenset(one.fixed) for one in smaller]
    refuse(
        CertificateError,
        (question.precision is None, "shares of inputs are counted, but the question names no share."),
        (frozenset(proof.reason.fixed) != fixed, "the inputs of another set of features are counted."),
        (bool(certificate.witness), "counterexamples say nothing about a share of the inputs."),
        (
            isinstance(certificate, Minimum) and bool(certificate.contrasts),
            "counterexamples say nothing about a share of the inputs.",
        ),
        (len(set(claimed)) < len(claimed), "the inputs of a set of features are counted twice."),
    )
    assert question.precision is not None
    if isinstance(certificate, Minimum):
        movable = _movable(asked, limit)
        n_sets = sum(comb(len(movable), size) for size in range(len(fixed)))
        if len(claimed) != n_sets or not all(one <= movable and len(one) < len(fixed) for one in claimed):
            raise CertificateError(f"not all of the {n_sets:,} smaller sets of features are counted.")
    elif set(claimed) != ({fixed - {f} for f in fixed} if isinstance(certificate, Minimal) else set()):
        raise CertificateError("the inputs of other sets of features are counted than those of the claim.")
    kept, total = _kept(proof.reason, asked, limit, count)
    if kept < question.precision * total:
        raise CertificateError(f"{kept} of {total} inputs keep the class, less than {question.precision}.")
    for one in smaller:
        kept_too, total_too = _kept(one, asked, limit.part(), count)
        if kept_too >= question.precision * total_too:
            raise CertificateError(f"the share is also reached while only features {sorted(one.fixed)} stay.")
    statements = [
        f"while {_features_text(len(fixed))}, {kept:,} of {total:,} inputs keep the class: "
        f"counted again, at least {question.precision}"
    ]
    if isinstance(certificate, Minimum):
        statements.append(f"the share is smaller for all {len(smaller):,} smaller sets of features")
    elif isinstance(certificate, Minimal) and fixed:
        statements.append(f"without {'any one of them' if len(fixed) > 1 else 'it'}, the share is smaller")
    return "; ".join(statements)


def _features_text(count: int) -> str:
    return f"these {count} features stay" if count > 1 else "this feature stays" if count else "nothing stays"


def _movable(asked: Asked, limit: Limit) -> frozenset[int]:
    """Return the features that can have another state inside the region."""
    assert isinstance(asked.question, Reason)
    free = replace(asked, question=replace(asked.question, fixed=()))
    _, others, budget = inputs_asked(free).states(limit)
    return frozenset(f for f, row in others.items() if budget is None or min(o.price for o in row) <= budget)


def _kept(one: Share, asked: Asked, limit: Limit, count: Counting) -> tuple[int, int]:
    """Count the inputs that agree with the sample on some features.

    Return how many of them keep the class, and how many there are.
    """
    question = asked.question
    assert isinstance(question, Reason)
    about = Count(sample=question.sample, region=question.region, where=_staying(asked, one.fixed))
    count(one, replace(asked, question=about), limit)
    counts = one.counts[: asked.network.head.outputs]  # one more class contains the inputs that break a law
    total = sum(counts)
    if not total:
        raise CertificateError("no input of the region obeys the laws.")
    kept = counts[question.label] if question.target is None else total - counts[question.target]
    return kept, total


def _staying(asked: Asked, fixed: Iterable[int]) -> Limits:
    """Return limits that fix features at the values of the sample."""
    question = asked.question
    assert isinstance(question, Reason)
    limits, sample = [], row_of(asked.network, question.sample)
    for feature in sorted(fixed):
        value = sample[feature]
        is_category = isinstance(asked.network.codings[feature], Categories)
        limits.append((feature, OneOf((value,)) if is_category else (Fraction(value), Fraction(value))))
    return tuple(limits)
