"""A capacity that fits ratings as well as any."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

import numpy as np

from sugenet.capacity import Focal, SetFunction
from sugenet.checker.rated import RatedSamples
from sugenet.errors import CapacityError
from sugenet.fit.capacities.answers import CapacityFit, certificate_of, words_of
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.costs import Costs
from sugenet.fit.capacities.envelopes import envelopes_of
from sugenet.fit.capacities.largest import least_largest_error
from sugenet.fit.capacities.maxitive import least_maxitive_error, turned
from sugenet.fit.capacities.ratings import Ratings
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
        Seconds, for ``"total"``; none unless given.
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
    return _least_largest(ratings) if limits is None else _least_limited(ratings, *limits, clock)


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
    size = Fraction(error, samples.unit)
    proof = {
        "kind": "envelopes",
        "because": list(because) if error else [],
        "lower": list(found.lower_from),
        "upper": list(found.upper_from),
    }
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None}
    certificate = certificate_of(ratings, question, answer="fitted", error=str(size), proof=proof)
    words = _because(ratings, because) if error else ""
    return CapacityFit(ratings, found, certificate, "largest", _plain(size), found.lower, words)


def _least_limited(ratings: Ratings, name: str, k: int, clock: Clock) -> CapacityFit:
    samples = ratings.samples if name == "maxitive" else turned(ratings.samples)
    found = least_maxitive_error(samples, k, clock)
    size = Fraction(found.error, samples.unit)
    proof = {
        "kind": "sets",
        "because": found.because if found.error else None,
        "capacity": [[list(chosen), _written(samples, worth)] for chosen, worth in found.weights],
    }
    question = {"kind": "fit", "loss": "largest", "maxitive": None, "minitive": None} | {name: k}
    certificate = certificate_of(ratings, question, answer="fitted", error=str(size), proof=proof)
    names = ratings.criteria.names
    weights = [({names[i] for i in chosen}, ratings.value(worth)) for chosen, worth in found.weights]
    mu: SetFunction = Focal(ratings.criteria, weights, ratings.scale)  # type: ignore[arg-type]
    if name == "minitive":
        mu = mu.conjugate()
    words = ""
    if found.error:
        forced = "that all criteria are worth top" if found.because is None else f"sample {found.because}"
        words = f"Among {k}-{name} capacities {forced} forces that."
    return CapacityFit(ratings, None, certificate, "largest", _plain(size), mu, words)


def _least_total(ratings: Ratings, costs: Costs, clock: Clock) -> CapacityFit:
    samples = ratings.samples
    found = least_total_cost(samples, costs, clock)
    fitted = costs.levels[found.places]
    size = Fraction(found.cost, costs.unit)
    proof = {
        "kind": "flow",
        "fitted": [_written(samples, value) for value in fitted.tolist()],
        "parts": [
            [k, _written(samples, costs.levels[t]), l, _written(samples, costs.levels[s]), _text(much, costs)]
            for k, t, l, s, much in found.parts
        ],
    }
    question = {"kind": "fit", "loss": "total", "costs": costs.given}
    certificate = certificate_of(ratings, question, answer="fitted", error=str(size), proof=proof)
    between = envelopes_of(ratings, Tolerance(samples, fitted, fitted))
    moved = int(np.count_nonzero(fitted != samples.a))
    words = f"{moved} of {len(ratings)} samples get another value than their rating."
    return CapacityFit(ratings, between, certificate, "total", _plain(size), between.lower, words)


def _written(samples: RatedSamples, whole: int) -> str:
    return str(Fraction(int(whole), samples.unit))


def _text(much: int, costs: Costs) -> str:
    return str(Fraction(much, costs.unit))


def _plain(size: Fraction) -> int | Fraction:
    """A whole number as an int."""
    return size.numerator if size.denominator == 1 else size


def _because(ratings: Ratings, because: tuple[int, ...]) -> str:
    value, samples = ratings.value, ratings.samples
    k = because[0]
    rating = words_of(value(samples.ratings[k]))
    if len(because) == 1:
        low, high = words_of(value(min(samples.rows[k]))), words_of(value(max(samples.rows[k])))
        return f"Sample {k} forces that: it is rated {rating}, and its values go from {low} to {high}."
    l = because[1]
    return f"Samples {k} and {l}, rated {rating} and {words_of(value(samples.ratings[l]))}, force that."
