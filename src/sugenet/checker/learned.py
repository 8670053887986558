"""What was learned about capacities from rated samples, checked by the definition.

To be ensured: the certificate is about these samples; every capacity from the least to the greatest that it
names gives every sample what is claimed; and the samples that it names force what is claimed to be best. The
capacities are made here, from the samples alone (docs/theory.md 10): the least one worth at least `low` where
a sample reaches that, and the greatest one worth at most `high` where a sample is above that.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.flow import check_flow, only
from sugenet.checker.limit import Limit
from sugenet.checker.rated import RatedSamples
from sugenet.checker.reading import exact
from sugenet.errors import CertificateError, CheckLimitError

__all__ = ["check_learned"]

_TOP = {"format", "version", "ratings", "question", "answer", "proof"}
_ANSWERS = {"fits": set[str](), "conflict": {"dropped"}, "fitted": {"error"}, "between": {"error", "least"}}
_MOST_SETS = 10_000_000


def check_learned(certificate: dict[str, Any], samples: RatedSamples, limit: Limit) -> str:
    """Check a certificate about rated samples; say what was checked."""
    if certificate.get("ratings") != samples.fingerprint:
        raise CertificateError(
            f"the certificate is for the ratings {str(certificate.get('ratings'))[:12]}, "
            f"not for {samples.fingerprint[:12]}."
        )
    answer, question = certificate.get("answer"), certificate.get("question")
    if not isinstance(answer, str) or answer not in _ANSWERS:
        raise CertificateError(f"unknown answer {str(answer)[:40]!r}.")
    only(certificate, _TOP | _ANSWERS[answer], "the certificate")
    if not isinstance(question, dict) or not isinstance(certificate["proof"], dict):
        raise CertificateError("question and proof of a certificate are JSON objects.")
    if answer in ("fits", "conflict"):
        only(question, {"kind"}, "the question")
        _is(question, {"kind": "version space"}, "the question")
        return (_check_fits if answer == "fits" else _check_conflict)(certificate, samples, limit)
    error = _size(certificate["error"])
    if question.get("loss") == "total":
        only(question, {"kind", "loss", "costs"}, "the question")
        _is(question, {"kind": "fit"}, "the question")
        least = error if answer == "fitted" else _size(certificate["least"])
        fitted = check_flow(question["costs"], error, least, certificate["proof"], samples, limit)
        _check_between(samples, range(len(fitted)), fitted, fitted, None, limit)
        cost = "of that cost" if answer == "fitted" else f"that costs {error}"
        return f"the total cost of no capacity is below {least}, and some capacity {cost} was checked"
    if answer == "between":
        raise CertificateError("only of the total cost bounds can be claimed.")
    only(question, {"kind", "loss", "maxitive", "minitive"}, "the question")
    _is(question, {"kind": "fit", "loss": "largest"}, "the question")
    units = error * samples.unit
    if units.denominator != 1:
        raise CertificateError(
            f"the error {error} cannot be: it is no difference of two values, nor half of one."
        )
    if question["maxitive"] is None and question["minitive"] is None:
        return _check_largest(int(units), error, certificate["proof"], samples, limit)
    return _check_limited(question, int(units), error, certificate["proof"], samples, limit)


def _is(data: dict[str, Any], wanted: dict[str, Any], what: str) -> None:
    for name, value in wanted.items():
        if data.get(name) != value:
            raise CertificateError(f"{what} has {name} {str(data.get(name))[:40]!r}, not {value!r}.")


def _size(value: Any) -> Fraction:
    if type(value) is not str:
        raise CertificateError("an error is written as text, such as 1 or 3/10.")
    return exact(value, least=0)


def _numbers(value: Any, samples: RatedSamples, what: str) -> list[int]:
    """Numbers of samples, none twice."""
    if not isinstance(value, list):
        raise CertificateError(f"{what} must be a list.")
    for one in value:
        if type(one) is not int or not 0 <= one < len(samples.rows):
            raise CertificateError(f"{what} must name samples from 0 to {len(samples.rows) - 1}.")
    if len(set(value)) < len(value):
        raise CertificateError(f"{what} names a sample twice.")
    return value


# -- what capacities give ------------------------------------------------------------------------------------


def _check_between(
    samples: RatedSamples,
    kept: Any,
    low: npt.NDArray[Any],
    high: npt.NDArray[Any],
    proof: dict[str, Any] | None,
    limit: Limit,
) -> None:
    """See that the least and the greatest capacity of the samples that the proof names (else of all) give
    every sample that is kept a value from its `low` to its `high`; then so does every capacity between.
    """
    x, rows = samples.x, list(kept)
    lower = rows if proof is None else _numbers(proof["lower"], samples, "lower")
    upper = rows if proof is None else _numbers(proof["upper"], samples, "upper")
    if not set(lower) | set(upper) <= set(rows):
        raise CertificateError("a capacity is made of a sample that is dropped.")
    if not rows:
        return
    part, lows, highs = x[rows], low[rows], high[rows]
    least, greatest = part.min(axis=1), part.max(axis=1)
    for k in dict.fromkeys(lower):
        limit.look()
        reached = np.flatnonzero(x[k] >= low[k])
        if low[k] and not reached.size:
            raise CertificateError(f"sample {k} has no value as high as what it is to get.")
        if reached.size:
            least = np.maximum(least, np.minimum(part[:, reached].min(axis=1), low[k]))
    for k in dict.fromkeys(upper):
        limit.look()
        below = np.flatnonzero(x[k] <= high[k])
        if high[k] < samples.top and not below.size:
            raise CertificateError(f"sample {k} has no value as low as what it is to get.")
        if below.size:
            greatest = np.minimum(greatest, np.maximum(part[:, below].max(axis=1), high[k]))
    for name, values in (("least", least), ("greatest", greatest)):
        wrong = np.flatnonzero((values < lows) | (values > highs))
        if wrong.size:
            raise CertificateError(
                f"the {name} capacity does not give sample {rows[wrong[0]]} what is claimed."
            )


def _alone(samples: RatedSamples, k: int) -> bool:
    return not min(samples.rows[k]) <= samples.ratings[k] <= max(samples.rows[k])


def _clash(samples: RatedSamples, k: int, m: int) -> bool:
    """Whether no capacity gives both samples their ratings: k is rated higher, and wherever k reaches its
    rating m is above its own.
    """
    high, low = samples.ratings[k], samples.ratings[m]
    both = zip(samples.rows[k], samples.rows[m], strict=True)
    return high > low and all(one < high or other > low for one, other in both)


def _check_fits(certificate: dict[str, Any], samples: RatedSamples, limit: Limit) -> str:
    proof = certificate["proof"]
    only(proof, {"kind", "lower", "upper"}, "the proof")
    _is(proof, {"kind": "envelopes"}, "the proof")
    _check_between(samples, range(len(samples.rows)), samples.a, samples.a, proof, limit)
    many = len(samples.rows)
    return f"exactly the capacities from the least to the greatest give all {many} samples their ratings"


def _check_conflict(certificate: dict[str, Any], samples: RatedSamples, limit: Limit) -> str:
    proof = certificate["proof"]
    only(proof, {"kind", "chains", "lower", "upper"}, "the proof")
    _is(proof, {"kind": "chains"}, "the proof")
    count = len(samples.rows)
    dropped = _numbers(certificate["dropped"], samples, "dropped")
    if not dropped:
        raise CertificateError("a conflict is claimed, but no sample is dropped.")
    kept = sorted(set(range(count)) - set(dropped))
    chains = proof["chains"]
    if not isinstance(chains, list) or not all(isinstance(chain, list) and chain for chain in chains):
        raise CertificateError("chains must be a list of lists of samples.")
    fair = [k for k in range(count) if not _alone(samples, k)]
    if sorted(_numbers([k for chain in chains for k in chain], samples, "chains")) != fair:
        raise CertificateError("the chains do not hold every sample that can be met alone.")
    for chain in chains:
        limit.look()
        for k, m in pairwise(chain):
            # "clashes with" is transitive, so all of a chain clash with each other
            if not _clash(samples, k, m):
                raise CertificateError(f"samples {k} and {m} of a chain do not clash.")
    if len(chains) != len(kept):
        raise CertificateError(
            f"{len(kept)} samples are kept, but {len(chains)} chains allow another number."
        )
    _check_between(samples, kept, samples.a, samples.a, proof, limit)
    fewest = len(dropped)
    return f"no capacity fits all {count} samples; some fit without {fewest} of them, and none without fewer"


# -- best fits -----------------------------------------------------------------------------------------------


def _check_largest(
    units: int, error: Fraction, proof: dict[str, Any], samples: RatedSamples, limit: Limit
) -> str:
    only(proof, {"kind", "because", "lower", "upper"}, "the proof")
    _is(proof, {"kind": "envelopes"}, "the proof")
    because = _numbers(proof["because"], samples, "because")
    if not _forces(samples, because, units):
        raise CertificateError(f"the samples named force no error of {error}.")
    low, high = np.maximum(samples.a - units, 0), np.minimum(samples.a + units, samples.top)
    _check_between(samples, range(len(samples.rows)), low, high, proof, limit)
    return (
        f"no capacity errs by less than {error} on each of {len(samples.rows)} samples, and exactly those "
        f"from the least to the greatest err by no more"
    )


def _forces(samples: RatedSamples, because: list[int], units: int) -> bool:
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
    question: dict[str, Any],
    units: int,
    error: Fraction,
    proof: dict[str, Any],
    samples: RatedSamples,
    limit: Limit,
) -> str:
    """Capacities without focal sets of more than `size` criteria; k-minitive ones are that upside down."""
    only(proof, {"kind", "because", "capacity"}, "the proof")
    _is(proof, {"kind": "sets"}, "the proof")
    maxitive, minitive = question["maxitive"], question["minitive"]
    size, n = (maxitive if minitive is None else minitive), len(samples.criteria)
    if type(size) is not int or not 1 <= size <= n or (maxitive is not None and minitive is not None):
        raise CertificateError(f"either maxitive or minitive must be a number from 1 to {n}, the other null.")
    x, a = (samples.x, samples.a) if minitive is None else (samples.top - samples.x, samples.top - samples.a)
    weights = _weights(proof["capacity"], size, samples)
    values = np.zeros_like(a)
    for places, worth in weights:
        limit.look()
        values = np.maximum(values, np.minimum(x[:, places].min(axis=1), worth))
    wrong = np.flatnonzero((values < a - units) | (values > a + units))
    if wrong.size:
        raise CertificateError(f"the capacity errs by more than {error} on sample {wrong[0]}.")
    _check_sets_force(proof["because"], x, a, size, units, limit)
    kind = "maxitive" if minitive is None else "minitive"
    return f"no {size}-{kind} capacity errs by less than {error} on each sample, and this one errs by no more"


def _weights(value: Any, size: int, samples: RatedSamples) -> list[tuple[list[int], int]]:
    n, found = len(samples.criteria), []
    for one in value if isinstance(value, list) else [None]:
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[0], list):
            raise CertificateError("a capacity is a list of sets and what each is worth.")
        places, worth = one[0], _size(one[1]) * samples.unit
        if (
            not 1 <= len(places) <= size
            or not all(type(i) is int and 0 <= i < n for i in places)
            or len(set(places)) < len(places)
        ):
            raise CertificateError(f"a focal set must be of 1 to {size} different criteria.")
        if worth.denominator != 1 or not 0 < worth <= samples.top:
            raise CertificateError("a focal set must be worth more than bottom and at most top.")
        found.append((places, int(worth)))
    if not any(worth == samples.top for _, worth in found):
        raise CertificateError("this is no capacity: no set is worth top.")
    return found


def _check_sets_force(
    because: Any, x: npt.NDArray[Any], a: npt.NDArray[Any], size: int, units: int, limit: Limit
) -> None:
    """See that every set of so few criteria is of no use to a sample at a smaller error, or cannot be worth
    top where no sample is named.
    """
    if not units:
        if because is not None:
            raise CertificateError("an error of 0 needs no sample that forces it.")
        return
    if because is not None and (type(because) is not int or not 0 <= because < len(a)):
        raise CertificateError("because must be the number of a sample, or null.")
    n = x.shape[1]
    if sum(comb(n, many) for many in range(1, size + 1)) > _MOST_SETS:
        raise CheckLimitError("not checked within the limit: there are too many sets of criteria.")
    for many in range(1, size + 1):
        for places in combinations(range(n), many):
            limit.look()
            least = x[:, list(places)].min(axis=1)
            over = least - a
            if because is None:
                forced = over.max()
            else:
                pushed = np.minimum((a[because] - a + 1) // 2, over).max()
                forced = max(a[because] - least[because], pushed)
            if forced < units:
                raise CertificateError("the sample named forces no such error: a set of criteria serves it.")
