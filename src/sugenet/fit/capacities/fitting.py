"""A capacity that fits ratings as well as any."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from sugenet.capacity.scales import UNIT
from sugenet.errors import CapacityError
from sugenet.fit.capacities.answers import CapacityFit, certificate_of, words_of
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.envelopes import envelopes_of
from sugenet.fit.capacities.largest import least_largest_error
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.spaces import need_ratings

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
    if loss == "total":
        if maxitive is not None or minitive is not None:
            raise CapacityError("maxitive and minitive are for loss='largest'; with loss='total' no exact way is known.")
        raise NotImplementedError
    if costs is not None:
        raise CapacityError("costs are for loss='total'.")
    if ratings.is_weighted:
        raise CapacityError(
            "the samples have weights, which mean nothing to the largest error. Use ratings.unweighted(), or "
            "loss='total'."
        )
    if maxitive is not None or minitive is not None:
        raise NotImplementedError
    return _least_largest(ratings)


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
    fitted = tuple(_integrals(found.lower, ratings))
    return CapacityFit(
        ratings,
        found,
        certificate,
        "largest",
        size.numerator if size.denominator == 1 else size,
        found.lower,
        fitted,
        _because(ratings, because) if error else "",
    )


def _because(ratings: Ratings, because: tuple[int, ...]) -> str:
    value, samples = ratings.value, ratings.samples
    k = because[0]
    rating = words_of(value(samples.ratings[k]))
    if len(because) == 1:
        low, high = words_of(value(min(samples.rows[k]))), words_of(value(max(samples.rows[k])))
        return f"Sample {k} forces that: it is rated {rating}, and its values go from {low} to {high}."
    l = because[1]
    return f"Samples {k} and {l}, rated {rating} and {words_of(value(samples.ratings[l]))}, force that."


def _integrals(mu: Any, ratings: Ratings) -> list[Any]:
    from sugenet.capacity import sugeno

    X = ratings.scale.decode(ratings.X)
    return list(sugeno(mu, X, scale=ratings.scale).tolist())
