"""The least and greatest capacity within a tolerance, and where they come from (docs/theory.md 10.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import Conjugate, Focal
from sugenet.capacity.dualizing import containing_none_before
from sugenet.capacity.moebius import lower_envelope, upper_envelope
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.ratings import Ratings

__all__ = ["Envelopes", "envelopes_of"]


@dataclass(frozen=True, slots=True)
class Envelopes:
    """All capacities within a tolerance: those from `lower` to `upper`."""

    lower: Focal
    upper: Conjugate
    lower_from: tuple[int, ...]
    """The samples that the focal sets of `lower` come from."""
    upper_from: tuple[int, ...]


def envelopes_of(ratings: Ratings, tolerance: Tolerance, samples: Iterable[int] | None = None) -> Envelopes:
    """The envelopes of those samples, all unless said; whether something lies between them, others see."""
    top = ratings.samples.top
    places = list(range(len(ratings)) if samples is None else samples)
    reached, below = _masks(tolerance.reached), _masks(~tolerance.above)
    low, high = tolerance.low.tolist(), tolerance.high.tolist()
    lower_from = _needed(places, reached, [-worth for worth in low], [worth > 0 for worth in low])
    upper_from = _needed(places, below, high, [worth < top for worth in high])
    value = ratings.value
    full = ratings.criteria.full
    return Envelopes(
        lower_envelope(ratings.criteria, [(reached[k], value(low[k])) for k in lower_from], ratings.scale),
        upper_envelope(
            ratings.criteria, [(full ^ below[k], value(high[k])) for k in upper_from], ratings.scale
        ),
        tuple(lower_from),
        tuple(upper_from),
    )


def _masks(held: npt.NDArray[np.bool_]) -> list[int]:
    rows = np.packbits(held, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def _needed(places: list[int], masks: list[int], costs: list[Any], told: list[bool]) -> list[int]:
    """The samples whose set holds no set of one that says as much or more; one of those that are alike."""
    order = sorted((k for k in places if told[k]), key=lambda k: (costs[k], masks[k].bit_count(), k))
    return sorted(order[number] for number in containing_none_before([masks[k] for k in order]))
