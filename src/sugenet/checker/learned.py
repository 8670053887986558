"""Claims about capacities learned from rated samples, checked by the definition.

To be ensured: the certificate is about these samples. Every capacity from the least to the greatest named one
gives every sample the claimed value. The named samples prove that the claimed optimum is the best one. The
capacities are built here, from the samples alone (docs/theory.md 10). The least capacity is worth at least
`low` on the criteria on which a sample reaches `low`. The greatest is worth at most `high` on the criteria on
which a sample is above `high`.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from typing import Any, TypeAlias

from sugenet.checker.flow import check_flow
from sugenet.checker.learned_form import (
    ChainProof,
    CostBetween,
    EnvelopeProof,
    FlowProof,
    ForcedProof,
    LargestError,
    LearnedCertificate,
    RatedSamples,
    RatingConflict,
    RatingsFit,
    SetsProof,
    TotalCost,
)
from sugenet.checker.limit import Limit
from sugenet.checker.reading import Sizes, read
from sugenet.errors import CertificateError, CheckLimitError

__all__ = ["check_learned"]

_MOST_SETS = 10_000_000
_Rows: TypeAlias = Sequence[Sequence[int]]


def check_learned(data: Any, samples: RatedSamples, limit: Limit) -> str:
    """Check a certificate about rated samples; return what was checked."""
    certificate: LearnedCertificate = read(LearnedCertificate, data, Sizes(), "the certificate")
    if certificate.ratings != samples.fingerprint:
        raise CertificateError(
            f"the certificate is for the ratings {certificate.ratings[:12]}, "
            f"not for {samples.fingerprint[:12]}."
        )
    match certificate:
        case RatingsFit():
            return _check_fits(certificate.proof, samples, limit)
        case RatingConflict():
            return _check_conflict(certificate, samples, limit)
    error, question, proof = certificate.error, certificate.question, certificate.proof
    if isinstance(question, TotalCost) and isinstance(proof, FlowProof):
        lower_bound = certificate.least if isinstance(certificate, CostBetween) else error
        fitted = check_flow(question.costs, error, lower_bound, proof, samples, limit)
        _check_between(samples, range(len(fitted)), fitted, fitted, None, limit)
        cost = f"that costs {error}" if isinstance(certificate, CostBetween) else "of that cost"
        return f"the total cost of no capacity is below {lower_bound}, and some capacity {cost} was checked"
    if isinstance(question, LargestError):
        units = error * samples.unit
        if units.denominator != 1 or units > samples.top:  # sums then fit in 64 bits
            raise CertificateError(
                f"the error {error} is impossible: it is not a difference of two values, nor half of one."
            )
        size = question.maxitive if question.minitive is None else question.minitive
        if size is None and isinstance(proof, ForcedProof):
            return _check_largest(int(units), error, proof, samples, limit)
        if size is not None and isinstance(proof, SetsProof):
            is_maxitive = question.minitive is None
            return _check_limited(size, is_maxitive, int(units), error, proof, samples, limit)
    raise CertificateError("the proof is not of the kind that the question needs.")


def _see_samples(named: Sequence[int], samples: RatedSamples, what: str) -> None:
    """Check that samples exist, and that none is named twice."""
    if any(one >= len(samples.rows) for one in named):
        raise CertificateError(f"{what} must name samples from 0 to {len(samples.rows) - 1}.")
    if len(set(named)) < len(named):
        raise CertificateError(f"{what} names a sample twice.")


# -- values of capacities ------------------------------------------------------------------------------------


def _check_between(
    samples: RatedSamples,
    kept: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    proof: EnvelopeProof | ChainProof | None,
    limit: Limit,
) -> None:
    """Check that the least and the greatest capacity of the named samples give every kept sample a value from
    its `low` to its `high`.

    Every capacity between them then does so too. Without a proof, all samples count as named.
    """
    lower, upper = (kept, kept) if proof is None else (proof.lower, proof.upper)
    _see_samples(lower, samples, "lower")
    _see_samples(upper, samples, "upper")
    if not {*lower, *upper} <= {*kept}:
        raise CertificateError("a capacity is made of a sample that is dropped.")
    _see_minimum("least", samples.rows, low, high, lower, kept, limit)
    top = samples.top  # with reversed order, the greatest capacity is the least one
    rows, low, high = _turned(samples.rows, top), [top - end for end in high], [top - end for end in low]
    _see_minimum("greatest", rows, low, high, upper, kept, limit)


def _turned(rows: _Rows, top: int) -> _Rows:
    return [[top - value for value in row] for row in rows]


def _see_minimum(
    name: str,
    rows: _Rows,
    low: Sequence[int],
    high: Sequence[int],
    named: Sequence[int],
    kept: Sequence[int],
    limit: Limit,
) -> None:
    """Check that the least capacity of the named samples gives every kept sample a value from `low` to
    `high`.

    It is worth at least `low` on the criteria on which a named sample reaches `low`.
    """
    worth: dict[int, int] = {}  # sets of criteria as bits
    for k in named:
        limit.look()
        reached = _where(value >= low[k] for value in rows[k])
        if low[k] and not reached:
            end = "high" if name == "least" else "low"
            raise CertificateError(f"sample {k} has no value as {end} as the claimed one.")
        worth[reached] = max(worth.get(reached, 0), low[k])
    for k in kept:
        limit.look()
        every = (1 << len(rows[k])) - 1
        above, there = (_where(value > high[k] for value in rows[k]), _where(v >= low[k] for v in rows[k]))
        is_above = above == every or any(w > high[k] and not s & ~above for s, w in worth.items())
        if is_above or not (there == every or any(w >= low[k] and not s & ~there for s, w in worth.items())):
            raise CertificateError(f"the {name} capacity does not give sample {k} the claimed value.")


def _where(truths: Iterable[bool]) -> int:
    """Return the positions of true values as bits."""
    return sum(1 << index for index, truth in enumerate(truths) if truth)


def _alone(samples: RatedSamples, k: int) -> bool:
    return not min(samples.rows[k]) <= samples.ratings[k] <= max(samples.rows[k])


def _clash(samples: RatedSamples, k: int, m: int) -> bool:
    """Return whether no capacity gives both samples their ratings.

    This is so if k is rated higher, and m is above its own rating on every criterion on which k reaches its
    own.
    """
    high, low = samples.ratings[k], samples.ratings[m]
    both = zip(samples.rows[k], samples.rows[m], strict=True)
    return high > low and all(one < high or other > low for one, other in both)


def _check_fits(proof: EnvelopeProof, samples: RatedSamples, limit: Limit) -> str:
    _check_between(samples, range(len(samples.rows)), samples.ratings, samples.ratings, proof, limit)
    n_samples = len(samples.rows)
    return f"exactly the capacities from the least to the greatest give all {n_samples} samples their ratings"


def _check_conflict(certificate: RatingConflict, samples: RatedSamples, limit: Limit) -> str:
    dropped, proof, count = certificate.dropped, certificate.proof, len(samples.rows)
    _see_samples(dropped, samples, "dropped")
    if not dropped:
        raise CertificateError("a conflict is claimed, but no sample is dropped.")
    kept = sorted(set(range(count)) - set(dropped))
    chains = proof.chains
    fair = [k for k in range(count) if not _alone(samples, k)]
    linked = [k for chain in chains for k in chain]
    _see_samples(linked, samples, "chains")
    if sorted(linked) != fair:
        raise CertificateError("the chains do not hold every sample that can be met alone.")
    for chain in chains:
        limit.look()
        for k, m in pairwise(chain):
            # "clashes with" is transitive, so all samples of a chain clash with each other
            if not _clash(samples, k, m):
                raise CertificateError(f"samples {k} and {m} of a chain do not clash.")
    if len(chains) != len(kept):
        raise CertificateError(
            f"{len(kept)} samples are kept, but {len(chains)} chains allow another number."
        )
    _check_between(samples, kept, samples.ratings, samples.ratings, proof, limit)
    fewest = len(dropped)
    return f"no capacity fits all {count} samples; some fit without {fewest} of them, and none without fewer"


# -- best fits -----------------------------------------------------------------------------------------------


def _check_largest(
    units: int, error: Fraction, proof: ForcedProof, samples: RatedSamples, limit: Limit
) -> str:
    _see_samples(proof.because, samples, "because")
    if not _forces(samples, proof.because, units):
        raise CertificateError(f"the samples named force no error of {error}.")
    low = [max(rating - units, 0) for rating in samples.ratings]
    high = [min(rating + units, samples.top) for rating in samples.ratings]
    _check_between(samples, range(len(samples.rows)), low, high, proof, limit)
    return (
        f"no capacity errs by less than {error} on each of {len(samples.rows)} samples, and exactly those "
        f"from the least to the greatest err by no more"
    )


def _forces(samples: RatedSamples, because: Sequence[int], units: int) -> bool:
    if not units or not because:
        return not units and not because
    if len(because) == 1:
        row, rating = samples.rows[because[0]], samples.ratings[because[0]]
        return max(min(row) - rating, rating - max(row)) >= units
    if len(because) > 2:
        raise CertificateError("because must name one sample or two.")
    k, m = because
    high, low = samples.ratings[k], samples.ratings[m]
    both = zip(samples.rows[k], samples.rows[m], strict=True)
    return (high - low + 1) // 2 >= units and all(max(high - x, y - low) >= units for x, y in both)


def _check_limited(
    size: int,
    is_maxitive: bool,
    units: int,
    error: Fraction,
    proof: SetsProof,
    samples: RatedSamples,
    limit: Limit,
) -> str:
    """Check capacities without focal sets of more than `size` criteria; k-minitive ones with
    reversed order.
    """
    if not 1 <= size <= len(samples.criteria):
        raise CertificateError(f"maxitive or minitive must be from 1 to {len(samples.criteria)}.")
    rows: _Rows = samples.rows
    ratings: Sequence[int] = samples.ratings
    if not is_maxitive:
        rows, ratings = _turned(rows, samples.top), [samples.top - rating for rating in ratings]
    weights = _weights(proof, size, samples)
    for k, (row, rating) in enumerate(zip(rows, ratings, strict=True)):
        limit.look()
        value = max(min(worth, *(row[index] for index in indices)) for indices, worth in weights)
        if abs(value - rating) > units:
            raise CertificateError(f"the capacity errs by more than {error} on sample {k}.")
    _check_sets_force(proof.because, rows, ratings, size, units, limit)
    kind = "maxitive" if is_maxitive else "minitive"
    return f"no {size}-{kind} capacity errs by less than {error} on each sample, and this one errs by no more"


def _weights(proof: SetsProof, size: int, samples: RatedSamples) -> list[tuple[list[int], int]]:
    n, weighted_sets = len(samples.criteria), []
    for indices, share in proof.capacity:
        worth = share * samples.unit
        if not 1 <= len(indices) <= size or max(indices) >= n or len(set(indices)) < len(indices):
            raise CertificateError(f"a focal set must be of 1 to {size} different criteria.")
        if worth.denominator != 1 or not 0 < worth <= samples.top:
            raise CertificateError("a focal set must be worth more than bottom and at most top.")
        weighted_sets.append((list(indices), int(worth)))
    if not any(worth == samples.top for _, worth in weighted_sets):
        raise CertificateError("this is not a capacity: no set is worth top.")
    return weighted_sets


def _check_sets_force(
    because: int | None, rows: _Rows, ratings: Sequence[int], size: int, units: int, limit: Limit
) -> None:
    """Check every set of so few criteria: it is useless to a sample at a smaller error, or, if no sample is
    named, it cannot be worth top.
    """
    if not units:
        if because is not None:
            raise CertificateError("an error of 0 needs no sample that forces it.")
        return
    if because is not None and because >= len(ratings):
        raise CertificateError("because must be the index of a sample, or null.")
    n = len(rows[0]) if rows else 0
    if sum(comb(n, n_criteria) for n_criteria in range(1, size + 1)) > _MOST_SETS:
        raise CheckLimitError("not checked within the limit: there are too many sets of criteria.")
    for set_size in range(1, size + 1):
        for indices in combinations(range(n), set_size):
            limit.look()
            min_values = [min(row[index] for index in indices) for row in rows]
            over = [value - rating for value, rating in zip(min_values, ratings, strict=True)]
            if because is not None:
                high = ratings[because]
                over = [
                    min((high - rating + 1) // 2, more) for rating, more in zip(ratings, over, strict=True)
                ]
                over.append(high - min_values[because])
            if max(over, default=0) < units:
                raise CertificateError("the sample named forces no such error: a set of criteria serves it.")
