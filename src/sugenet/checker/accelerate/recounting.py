"""Counting very many inputs within a budget again, by the first feature in order that changes (`words`).

To be ensured: the parts are those of the certificate, whose order was found to be one of the region's
features; every input is in the part of the first feature that it changes, and counts for its class.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from sugenet.checker.accelerate.arrays import Arrays
from sugenet.checker.accelerate.counting import CountRegion
from sugenet.checker.accelerate.products import dense_counts
from sugenet.checker.accelerate.whole import Demand
from sugenet.checker.accelerate.words import SetsSeen, WordWalk

__all__ = ["MANY", "counted_in_words"]

MANY = 1 << 24
"""Inputs from which on they are counted so."""


def counted_in_words(
    region: CountRegion, order: list[int], names: list[Any], chosen: list[int]
) -> list[list[int]] | None:
    """Counts by class of some parts; None where the region or the network is not one for it."""
    whole, network = region.whole, region.network
    idle = [feature for feature in region.features if feature not in set(order)]
    features = [*order, *idle]
    if whole.budget is None or not features or not len(whole.base) or None not in names:
        return None
    options = [region.options(feature) for feature in features]
    bits = whole.base[None] >= 0
    for weights, tau in whole.layers:
        bits = dense_counts(weights, bits) >= tau
    own = int(network.classes(dense_counts(whole.head, bits))[0])
    walk = WordWalk(
        whole.base, options, int(whole.budget), whole.layers, whole.head, _others(network, own), region.limit
    )
    if not walk.is_for():
        return None
    part_of = {feature: number for number, name in enumerate(names) if name is not None for feature in name}
    part_of |= dict.fromkeys(idle, names.index(None))
    owner = [part_of[feature] for feature, row in zip(features, options, strict=True) for _ in row]
    found, lock = {number: np.zeros(len(network.head), np.int64) for number in chosen}, Lock()
    if names.index(None) in found:  # nothing changes
        found[names.index(None)][own] += 1

    def use(first: int, seen: SetsSeen) -> None:
        some = len(seen.patterns) > 0
        classes = network.classes(walk.counts(seen.patterns)) if some else np.zeros(0, np.int64)
        with lock:
            np.add.at(found[owner[first]], classes, seen.many)
            found[owner[first]][own] += seen.calm

    walk.each([first for first, number in enumerate(owner) if number in found], use)
    return [found[number].tolist() for number in chosen]


def _others(network: Arrays, own: int) -> list[list[Demand]]:
    """For each other class the inequality that it comes before a class: a larger score, or the same and a
    lower number.
    """
    slopes, offsets = network.integers  # of scores, as integers
    cases = []
    for rival in range(len(slopes)):
        if rival != own:
            factors = [0] * len(slopes)
            factors[rival], factors[own] = slopes[rival], -slopes[own]
            cases.append([(factors, offsets[own] - offsets[rival] + (rival > own))])
    return cases
