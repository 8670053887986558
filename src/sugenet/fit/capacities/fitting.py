"""All capacities that fit ratings, or the reason why none does; and a capacity that fits best.

The module finds the smallest set of samples to drop so that some capacity fits the rest (docs/theory.md
10.2). "k clashes with m" is transitive, so samples that clash form chains, and no two kept samples may be in
one chain.
"""

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

import numpy as np

from sugenet.errors import CapacityError
from sugenet.fit.capacities.answers import (
    CapacityFit,
    Conflict,
    Envelopes,
    VersionSpace,
    answer_from,
    certificate_of,
    envelopes_of,
)
from sugenet.fit.capacities.clashes import Tolerance, min_largest_error, min_maxitive_error, turned
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.total import Costs, min_total_cost
from sugenet.fit.chains import fewest_chains
from sugenet.problem.clock import Clock

__all__ = ["fit_capacity", "need_ratings", "version_space"]


_QUESTION = {"kind": "version space"}


def need_ratings(ratings: object) -> None:
    """Raise `CapacityError` if these are not ratings."""
    if not isinstance(ratings, Ratings):
        raise CapacityError(f"ratings is a {type(ratings).__name__}. Give Ratings(X, a).")


def version_space(ratings: Ratings) -> VersionSpace | Conflict:
    """Find all capacities that give every sample its rating: a `VersionSpace`, or a `Conflict` if none does.

    Reference: Sanchez [San76]; Baaj [Baa24].

    Parameters
    ----------
    ratings
        The samples; their weights must be equal, since every sample must be met.

    Examples
    --------
    >>> from sugenet.fit import Ratings
    >>> print(version_space(Ratings([[1, 0], [1, 0]], [1, 0.5], criteria=["room", "food"])))
    No capacity fits all 2 samples: 1 conflict.
    - Sample 0 is rated 1 and reaches that on room alone, where sample 1 is above 0.5; yet that is rated 0.5.
    Fewest samples to drop so that one fits the rest: 1, for instance sample 0.
    """
    need_ratings(ratings)
    if ratings.is_weighted:
        raise CapacityError(
            "the samples have weights, but a version space meets all of them. Use ratings.unweighted(), or "
            "fit_capacity(ratings, loss='total'), where weights count."
        )
    tolerance = Tolerance.of(ratings.samples)
    alone = tolerance.alone
    k, m = tolerance.clashes()
    if not alone.any() and not k.size:
        envelopes = envelopes_of(ratings, tolerance)
        proof = {
            "kind": "envelopes",
            "lower": list(envelopes.lower_from),
            "upper": list(envelopes.upper_from),
        }
        certificate = certificate_of(ratings, _QUESTION, answer="fits", proof=proof)
        return answer_from(ratings, certificate, envelopes)  # type: ignore[return-value]
    both = ~alone[k] & ~alone[m]
    k, m = k[both], m[both]
    fair = np.flatnonzero(~alone)
    number = np.full(len(ratings), -1)
    number[fair] = np.arange(fair.size)
    kept, chains = fewest_chains(fair.size, (number[k], number[m]))
    keep = fair[kept].tolist()
    envelopes = envelopes_of(ratings, tolerance, keep)
    dropped = sorted(set(range(len(ratings))) - set(keep))
    proof = {
        "kind": "chains",
        "chains": [fair[chain].tolist() for chain in chains],
        "lower": list(envelopes.lower_from),
        "upper": list(envelopes.upper_from),
    }
    certificate = certificate_of(ratings, _QUESTION, answer="conflict", dropped=dropped, proof=proof)
    return answer_from(ratings, certificate)  # type: ignore[return-value]


def fit_capacity(
    ratings: Ratings,
    loss: Literal["largest", "total"] = "largest",
    *,
    maxitive: int | None = None,
    minitive: int | None = None,
    costs: Mapping[str, Any] | Any = None,
    time_limit: float | None = None,
) -> CapacityFit:
    """Find a capacity whose Sugeno integrals are as near to the ratings as those of any capacity.

    The equations S_mu(x) = a of the samples are a system of max-min fuzzy relational equations, in which the
    worths of the sets are unknown. With ``loss="largest"``, the smallest largest error is the Chebyshev
    distance of this system: 0 if it is solvable. (The set of all criteria must be worth the top, which can
    make the distance larger than that of the equations alone.)

    Reference: Baaj [Baa23]; Baaj [Baa24]; Beliakov, Gagolewski and James [BGJ20].

    Parameters
    ----------
    ratings
        The samples.
    loss
        ``"largest"`` minimizes the largest error of all samples. ``"total"`` minimizes the sum of the costs
        of all samples, each times its weight.
    maxitive, minitive
        With ``"largest"``: only capacities that are k-maxitive (no focal set has more than k criteria), or
        k-minitive.
    costs
        With ``"total"``, the cost of an error (default: its size, in levels on a scale of levels). ``{"over":
        2, "under": 1}`` sets the cost per unit of a value above and below the rating. On a scale of levels it
        can also be a table: ``costs[rating][value]``, levels worst first.
    time_limit
        Seconds, for all but the plain ``"largest"`` (default: no limit). If time runs out, ``"total"``
        returns the best capacity found, and the lower bound `least` on every cost; `maxitive` and `minitive`
        raise `TooLargeError`.
    """
    need_ratings(ratings)
    if loss not in ("largest", "total"):
        raise CapacityError(f"loss={loss!r} is neither 'largest' nor 'total'.")
    clock = Clock(time_limit)
    limits = _limits(ratings, maxitive, minitive)
    if loss == "total":
        if limits is not None:
            raise CapacityError(
                f"{limits[0]} is for loss='largest': of the total cost no exact way is known to us."
            )
        return _min_total(ratings, Costs.of(ratings, costs), clock)
    if costs is not None:
        raise CapacityError("costs are for loss='total'. The largest error is the same in both directions.")
    if ratings.is_weighted:
        raise CapacityError(
            "the samples have weights, which mean nothing to the largest error. Use ratings.unweighted(), or "
            "loss='total'."
        )
    if limits is not None:
        return _min_limited(ratings, *limits, clock)
    if time_limit is not None:
        raise CapacityError("time_limit is for loss='total', maxitive and minitive. Leave it out.")
    return _min_largest(ratings)


def _limits(ratings: Ratings, maxitive: int | None, minitive: int | None) -> tuple[str, int] | None:
    if maxitive is not None and minitive is not None:
        raise CapacityError("maxitive and minitive are both given. Choose one.")
    n = len(ratings.criteria)
    for name, limit in (("maxitive", maxitive), ("minitive", minitive)):
        if limit is not None:
            if isinstance(limit, bool) or not isinstance(limit, Integral) or not 1 <= limit <= n:
                raise CapacityError(
                    f"{name}={limit!r} must be an integer from 1 to {n}, the number of criteria."
                )
            return name, int(limit)
    return None


def _min_largest(ratings: Ratings) -> CapacityFit:
    samples = ratings.samples
    error, because = min_largest_error(samples)
    envelopes = envelopes_of(ratings, Tolerance.of(samples, error))
    proof = {
        "kind": "envelopes",
        "because": list(because) if error else [],
        "lower": list(envelopes.lower_from),
        "upper": list(envelopes.upper_from),
    }
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None}
    return _answer(ratings, question, Fraction(error, samples.unit), proof, known=envelopes)


def _min_limited(ratings: Ratings, name: str, k: int, clock: Clock) -> CapacityFit:
    samples = ratings.samples
    greatest = min_maxitive_error(samples if name == "maxitive" else turned(samples), k, clock)
    capacity = [[list(chosen), str(Fraction(worth, samples.unit))] for chosen, worth in greatest.weights]
    proof = {"kind": "sets", "because": greatest.because if greatest.error else None, "capacity": capacity}
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None} | {name: k}
    return _answer(ratings, question, Fraction(greatest.error, samples.unit), proof)


def _min_total(ratings: Ratings, costs: Costs, clock: Clock) -> CapacityFit:
    cheapest = min_total_cost(ratings.samples, costs, clock)
    written = [str(Fraction(int(level), ratings.samples.unit)) for level in costs.levels.tolist()]
    proof = {
        "kind": "flow",
        "fitted": [written[index] for index in cheapest.places.tolist()],
        "parts": [
            [k, written[t], m, written[s], str(Fraction(much, costs.unit))]
            for k, t, m, s, much in cheapest.parts
        ],
    }
    question = {"kind": "fit", "loss": "total", "costs": costs.given}
    error, lower = (Fraction(cost, costs.unit) for cost in (cheapest.cost, cheapest.least))
    return _answer(ratings, question, error, proof, None if lower == error else lower)


def _answer(
    ratings: Ratings,
    question: dict[str, Any],
    error: Fraction,
    proof: dict[str, Any],
    lower: Fraction | None = None,
    known: Envelopes | None = None,
) -> CapacityFit:
    claim = {"answer": "fitted"} if lower is None else {"answer": "between", "least": str(lower)}
    certificate = certificate_of(ratings, question, **claim, error=str(error), proof=proof)
    answer = answer_from(ratings, certificate, known)
    assert isinstance(answer, CapacityFit)
    return answer
