"""The chain of reasons through neurons of several levels: conditions on levels in place of literals
(docs/theory.md 3.4).

A neuron is wanted at a level or above, or at one or below; that asks the same of its inputs, each by as
little as suffices, and so on down. Bits are levels 0 and 1. No condition of a step can be weakened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.bnn import Condition, Network
from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import Layer
from sugenet.brief import Brief

__all__ = ["Step", "decisive_levels", "follow"]


@dataclass(frozen=True)
class Step(Brief):
    """A neuron that is wanted at a level, from or up to it, and what of its inputs suffices."""

    layer: int
    wanted: Condition
    level: int
    matches: int
    tau: int
    because: tuple[Condition, ...]


def follow(
    network: Network, values: Sequence[Ints], wanted: Iterable[Condition]
) -> tuple[list[Step], list[Condition]]:
    """Steps from conditions on the last layer down, and what they ask of the inputs of the first layer.

    `values` has the inputs of the first layer and the level of every neuron, layer by layer.
    """
    steps: list[Step] = []
    asked = list(wanted)
    for number in range(len(network.layers), 0, -1):
        layer, below = network.layers[number - 1], _Asked()
        for condition in asked:
            level = int(values[number][condition.place - 1])
            step = _sum_step if layer.every is None else _pool_step
            matches, tau, because = step(layer, condition, values[number - 1], below)
            below.add(because)
            steps.append(Step(number, condition, level, matches, tau, because))
        asked = below.conditions()
    return steps, asked


class _Asked:
    """Conditions on the values of a layer: of several on one value and side the strongest."""

    def __init__(self) -> None:
        self.lows: dict[int, int] = {}
        self.highs: dict[int, int] = {}

    def add(self, conditions: Iterable[Condition]) -> None:
        for one in conditions:
            if one.at_least is not None:
                self.lows[one.place] = max(one.at_least, self.lows.get(one.place, 0))
            elif one.at_most is not None:
                self.highs[one.place] = min(one.at_most, self.highs.get(one.place, one.at_most))

    def conditions(self) -> list[Condition]:
        found = [Condition(place, at_least=low) for place, low in self.lows.items()]
        found += [Condition(place, at_most=high) for place, high in self.highs.items()]
        return sorted(found, key=lambda one: (one.place, one.at_least is None))

    def knows(self, place: int) -> bool:
        return place in self.lows or place in self.highs


def _row(layer: Layer, j: int) -> tuple[Ints, list[int], Ints]:
    """Weights, thresholds and tops of a neuron, from 0."""
    return layer.row(j), layer.thresholds_of(j), layer.input_tops


def _sum_step(
    layer: Layer, wanted: Condition, inputs: Ints, below: _Asked
) -> tuple[int, int, tuple[Condition, ...]]:
    weights, taus, tops = _row(layer, wanted.place - 1)
    levels = np.asarray(inputs, np.int64)
    matches = int(np.where(weights > 0, weights * levels, -weights * (tops - levels)).sum())
    if wanted.at_least is not None:
        tau = taus[wanted.at_least - 1]
        return matches, tau, _least(weights, tops, levels, max(tau, 0), below)
    assert wanted.at_most is not None
    tau = taus[wanted.at_most]
    size = int(np.abs(weights) @ tops)  # what fails must be more than what tau leaves
    return matches, tau, _least(-weights, tops, levels, max(size - tau + 1, 0), below)


def _least(weights: Ints, tops: Ints, levels: Ints, need: int, below: _Asked) -> tuple[Condition, ...]:
    """Conditions that bring a match count to what is needed: inputs that bring little are let go first,
    the others lowered as far as there is room.
    """
    held = np.where(weights > 0, levels, tops - levels)
    brought, room = np.abs(weights) * held, int((np.abs(weights) * held).sum()) - need
    kept = np.flatnonzero(brought).tolist()
    for place in sorted(kept, key=lambda i: (below.knows(i + 1), int(brought[i]), i)):
        if brought[place] <= room:
            kept.remove(place)
            room -= int(brought[place])
    found = []
    for place in kept:
        spared = min(room // abs(int(weights[place])), int(held[place]))
        room -= spared * abs(int(weights[place]))
        value = int(held[place]) - spared
        if value and weights[place] > 0:
            found.append(Condition(place + 1, at_least=value))
        elif value:
            found.append(Condition(place + 1, at_most=int(tops[place]) - value))
    return tuple(found)


def _pool_step(
    layer: Any, wanted: Condition, inputs: Ints, below: _Asked
) -> tuple[int, int, tuple[Condition, ...]]:
    """The largest is at least what one of them is, and at most what all are; the least the other way."""
    window = layer.window
    channel, position = divmod(wanted.place - 1, len(window.taps))
    taps = window.taps[position]
    places = [channel * window.shape[1] * window.shape[2] + int(tap) for tap in taps if tap >= 0]
    every, rises = bool(layer.every[channel]), wanted.at_least is not None
    values = [int(inputs[place]) for place in places]
    result = min(values) if every else max(values)
    asked = {"at_least": wanted.at_least} if rises else {"at_most": wanted.at_most}
    fitting = [Condition(place + 1, **asked) for place in places]
    tau = wanted.at_least if rises else (wanted.at_most or 0) + 1
    if rises == every:
        return result, tau or 0, tuple(fitting)
    good = [one for one, value in zip(fitting, values, strict=True) if one.holds(value)]
    return result, tau or 0, (min(good, key=lambda one: (not below.knows(one.place), one.place)),)


def decisive_levels(network: Network, label: int, levels: Ints) -> list[Condition]:
    """Conditions on the levels that the head reads that suffice for the class; none can be weakened."""
    head = network.head
    slopes, offsets, _ = head.integers
    tops = [1] * head.inputs if head.tops is None else head.tops.tolist()
    here = [int(level) for level in levels]
    counts = head.match_counts(np.asarray(levels, bool if head.tops is None else np.int64)[None, :])[
        0
    ].tolist()
    room, rows = [], []  # for each rival: by how much it loses, and what one level of each input brings it
    for k in range(head.outputs):
        if k == label:
            continue
        lead = slopes[label] * counts[label] + offsets[label] - slopes[k] * counts[k] - offsets[k]
        room.append(lead - (1 if k < label else 0))  # a tie goes to the lowest
        weights = zip(head.weights[label].tolist(), head.weights[k].tolist(), strict=True)
        rows.append([slopes[label] * own - slopes[k] * other for own, other in weights])

    def costs(place: int, rises: bool) -> list[int]:
        """What one level up, or down, costs against each rival."""
        return [max(0, -row[place] if rises else row[place]) for row in rows]

    sides = [(place, rises) for place in range(head.inputs) for rises in (False, True)]
    way = {(place, rises): tops[place] - here[place] if rises else here[place] for place, rises in sides}
    for side in sorted(sides, key=lambda s: (sum(costs(*s)) * way[s], s)):  # all the way, where that fits
        cost = costs(*side)
        if all(one * way[side] <= left for one, left in zip(cost, room, strict=True)):
            room = [left - one * way[side] for one, left in zip(cost, room, strict=True)]
            way.pop(side)
    found = []
    for (place, rises), most in way.items():
        cost = costs(place, rises)
        by = min([most, *(left // one for one, left in zip(cost, room, strict=True) if one)])
        room = [left - one * by for one, left in zip(cost, room, strict=True)]
        found.append(
            Condition(place + 1, at_most=here[place] + by)
            if rises
            else Condition(place + 1, at_least=here[place] - by)
        )
    return sorted(found, key=lambda one: (one.place, one.at_least is None))
