"""A capacity that fits ratings as well as any."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

from sugenet.errors import CapacityError
from sugenet.fit.capacities.answers import CapacityFit, certificate_of
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.costs import Costs
from sugenet.fit.capacities.envelopes import Envelopes, envelopes_of
from sugenet.fit.capacities.largest import least_largest_error
from sugenet.fit.capacities.maxitive import least_maxitive_error, turned
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.reading import answer_from
from sugenet.fit.capacities.spaces import need_ratings
from sugenet.fit.capacities.total import least_total_cost
from sugenet.problem.clock import Clock

__all__ = ["fit_capacity"]


def fit_capacity(
    ratings: Ratings,
    loss: Literal["largest", "total"] = "largest",
    *,
    maxitive: int | None = None,
    minitive: int | None = None,
    costs: Mapping[str, Any] | Any = None,
    time_limit: float | None = None,
) -> CapacityFit:
    """A capacity whose Sugeno integrals are as near to the ratings as those of any capacity.

    Parameters
    ----------
    ratings
        The samples.
    loss
        ``"largest"``: the largest error of all samples is least. ``"total"``: the sum of the costs of all
        samples, each times its weight, is least.
    maxitive, minitive
        With ``"largest"``: only capacities that are k-maxitive (no focal set has more than k criteria), or
        k-minitive.
    costs
        With ``"total"``: what an error costs. Unless said, its size (in levels on a scale of levels).
        ``{"over": 2, "under": 1}`` for what a value above and below the rating costs for each unit; on a
        scale of levels also a table: ``costs[rating][value]``, levels worst first.
    time_limit
        Seconds, for all but the plain ``"largest"``; none unless given. When they are up, ``"total"`` gives
        the best capacity that is at hand, and `least`, below which no cost can be; `maxitive` and `minitive`
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
        return _least_total(ratings, Costs.of(ratings, costs), clock)
    if costs is not None:
        raise CapacityError("costs are for loss='total'. The largest error is the same in both directions.")
    if ratings.is_weighted:
        raise CapacityError(
            "the samples have weights, which mean nothing to the largest error. Use ratings.unweighted(), or "
            "loss='total'."
        )
    if limits is not None:
        return _least_limited(ratings, *limits, clock)
    if time_limit is not None:
        raise CapacityError("time_limit is for loss='total', maxitive and minitive. Leave it out.")
    return _least_largest(ratings)


def _limits(ratings: Ratings, maxitive: int | None, minitive: int | None) -> tuple[str, int] | None:
    if maxitive is not None and minitive is not None:
        raise CapacityError("maxitive and minitive are both given. Choose one.")
    n = len(ratings.criteria)
    for name, given in (("maxitive", maxitive), ("minitive", minitive)):
        if given is not None:
            if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= given <= n:
                raise CapacityError(f"{name}={given!r} must be a whole number from 1 to {n}, the criteria.")
            return name, int(given)
    return None


def _least_largest(ratings: Ratings) -> CapacityFit:
    samples = ratings.samples
    error, because = least_largest_error(samples)
    found = envelopes_of(ratings, Tolerance.of(samples, error))
    proof = {
        "kind": "envelopes",
        "because": list(because) if error else [],
        "lower": list(found.lower_from),
        "upper": list(found.upper_from),
    }
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None}
    return _answer(ratings, question, Fraction(error, samples.unit), proof, known=found)


def _least_limited(ratings: Ratings, name: str, k: int, clock: Clock) -> CapacityFit:
    samples = ratings.samples
    found = least_maxitive_error(samples if name == "maxitive" else turned(samples), k, clock)
    capacity = [[list(chosen), str(Fraction(worth, samples.unit))] for chosen, worth in found.weights]
    proof = {"kind": "sets", "because": found.because if found.error else None, "capacity": capacity}
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None} | {name: k}
    return _answer(ratings, question, Fraction(found.error, samples.unit), proof)


def _least_total(ratings: Ratings, costs: Costs, clock: Clock) -> CapacityFit:
    found = least_total_cost(ratings.samples, costs, clock)
    written = [str(Fraction(int(level), ratings.samples.unit)) for level in costs.levels.tolist()]
    proof = {
        "kind": "flow",
        "fitted": [written[place] for place in found.places.tolist()],
        "parts": [
            [k, written[t], m, written[s], str(Fraction(much, costs.unit))]
            for k, t, m, s, much in found.parts
        ],
    }
    question = {"kind": "fit", "loss": "total", "costs": costs.given}
    error, least = (Fraction(cost, costs.unit) for cost in (found.cost, found.least))
    return _answer(ratings, question, error, proof, None if least == error else least)


def _answer(
    ratings: Ratings,
    question: dict[str, Any],
    error: Fraction,
    proof: dict[str, Any],
    least: Fraction | None = None,
    known: Envelopes | None = None,
) -> CapacityFit:
    claim = {"answer": "fitted"} if least is None else {"answer": "between", "least": str(least)}
    certificate = certificate_of(ratings, question, **claim, error=str(error), proof=proof)
    found = answer_from(ratings, certificate, known)
    assert isinstance(found, CapacityFit)
    return found
