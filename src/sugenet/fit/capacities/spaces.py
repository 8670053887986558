"""All capacities that fit ratings, or why none does."""

from __future__ import annotations

import numpy as np

from sugenet.errors import CapacityError
from sugenet.fit.capacities.answers import Conflict, VersionSpace, certificate_of
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.dropping import fewest_chains
from sugenet.fit.capacities.envelopes import envelopes_of
from sugenet.fit.capacities.ratings import Ratings
from sugenet.fit.capacities.reading import answer_from

__all__ = ["need_ratings", "version_space"]

_QUESTION = {"kind": "version space"}


def need_ratings(ratings: object) -> None:
    """Raise `CapacityError` unless these are ratings."""
    if not isinstance(ratings, Ratings):
        raise CapacityError(f"ratings is a {type(ratings).__name__}. Give Ratings(X, a).")


def version_space(ratings: Ratings) -> VersionSpace | Conflict:
    """All that give every sample its rating: a `VersionSpace`, or a `Conflict` where there is none.

    Parameters
    ----------
    ratings
        The samples; their weights must be alike, since every one of them is to be met.

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
        found = envelopes_of(ratings, tolerance)
        proof = {"kind": "envelopes", "lower": list(found.lower_from), "upper": list(found.upper_from)}
        certificate = certificate_of(ratings, _QUESTION, answer="fits", proof=proof)
        return answer_from(ratings, certificate, found)  # type: ignore[return-value]
    both = ~alone[k] & ~alone[m]
    k, m = k[both], m[both]
    fair = np.flatnonzero(~alone)
    number = np.full(len(ratings), -1)
    number[fair] = np.arange(fair.size)
    kept, chains = fewest_chains(fair.size, (number[k], number[m]))
    keep = fair[kept].tolist()
    found = envelopes_of(ratings, tolerance, keep)
    dropped = sorted(set(range(len(ratings))) - set(keep))
    proof = {
        "kind": "chains",
        "chains": [fair[chain].tolist() for chain in chains],
        "lower": list(found.lower_from),
        "upper": list(found.upper_from),
    }
    certificate = certificate_of(ratings, _QUESTION, answer="conflict", dropped=dropped, proof=proof)
    return answer_from(ratings, certificate)  # type: ignore[return-value]
