"""Two networks as one, side by side over common raw features: for questions about pairs of inputs or about
two networks.

Each feature of the joint network has its own states. A joint state stands for one state of the feature in the
left network and one in the right. The joint first layer counts the gain of each joint state on either side.
Later layers and heads are placed side by side, with staircases split into steps.

`merged` joins the equal parts of both sides. Neurons that are equal throughout a neighbourhood become one,
and neurons that never turn are removed. If two networks share most of their neurons, this often proves them
equal at once. The remaining neurons keep their order. The checker does the same with its own code, so both
refer to the same neurons.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import QuestionError
from sugenet.nn import Coding, DenseLayer, Domain, Encoder, Head, LevelLayer, Network, OneHot, Steps
from sugenet.nn.arrays import Ints, make_sure
from sugenet.problem.clock import Clock
from sugenet.problem.first_layer import first_layer, margins_of, move_gains, reach
from sugenet.problem.goal import Goal, Votes, wins
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.problem.problem import Problem

__all__ = ["Joint", "Pair", "Pairs", "Placed", "Side", "abreast", "merged", "twins"]

_SMALLER = "Questions about two sides are for smaller networks."


@dataclass(frozen=True)
class Side:
    """A feature of the joint network: its coding, and for each state the state and raw value
    left and right.
    """

    coding: Coding
    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Joint:
    """Two networks side by side."""

    left: Network
    right: Network
    network: Network
    sides: tuple[Side, ...]

    def pair(self, sample: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the left and right raw samples of a raw sample of the joint network."""
        rows = [value if isinstance(value, Pair) else Pair(value, value) for value in sample]
        return tuple(pair.left for pair in rows), tuple(pair.right for pair in rows)

    def classes_differ(self, pairs: Iterable[tuple[int, int]]) -> Goal:
        """Return the goal that the left network gives class p and the right one class q, for some pair (p,
        q).
        """
        k, m = self.left.head.outputs, self.right.head.outputs
        lefts = [
            [Votes((*vote.factors, *[0] * m), vote.least) for vote in wins(self.left.head, p).cases[0]]
            for p in range(k)
        ]
        rights = [
            [Votes((*[0] * k, *vote.factors), vote.least) for vote in wins(self.right.head, q).cases[0]]
            for q in range(m)
        ]
        room = max(self.left.head.sum_bits, self.right.head.sum_bits)
        return Goal(tuple((*lefts[p], *rights[q]) for p, q in pairs), room)

    def is_ordered(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Return whether signs of weights show that one network, twice, never gives p left and q right.

        That is so if no change from left to right lowers the lead of p over q.
        """
        network, first = self.left, first_layer(self.left)
        rises = falls = np.zeros(first.outputs, bool)
        for feature, side in enumerate(self.sides):
            if side.left != side.right:
                gains = _gains(network, first, feature)
                change = gains[:, list(side.right)] - gains[:, list(side.left)]
                rises, falls = rises | (change > 0).any(axis=1), falls | (change < 0).any(axis=1)
        for layer in _later(network, 1):
            up, down = layer.weights > 0, layer.weights < 0
            rises, falls = (up @ rises) | (down @ falls), (up @ falls) | (down @ rises)
        slopes, weights = network.head.integers[0], network.expanded.head.weights.astype(object)
        leads = (slopes[p] * weights[p] - slopes[q] * weights[q] for p, q in pairs)
        return not any((((lead > 0) & falls) | ((lead < 0) & rises)).any() for lead in leads)


@dataclass(frozen=True)
class Pair:
    """Raw values of one feature left and right."""

    left: Any
    right: Any


class Pairs(OneHot):
    """The pairs of raw values that a feature may have left and right; certificates do not contain them."""

    @staticmethod
    def _see(category: Any) -> None:
        assert isinstance(category, Pair)


def abreast(left: Network, right: Network) -> Joint:
    """Return two networks over the same features as one; both read the same raw sample.

    Their codings may have different cuts.
    """
    if left.encoder.names != right.encoder.names:
        raise QuestionError(
            "the two networks have features of different names, so they do not read the same samples."
        )
    _see_that_it_fits(left, left.encoder.width)
    sides = []
    for name, a, b in zip(left.encoder.names, left.encoder.codings, right.encoder.codings, strict=True):
        if isinstance(a, OneHot) or isinstance(b, OneHot):
            if a != b:
                raise QuestionError(f"feature {name} is coded as {a} in one network and as {b} in the other.")
            sides.append(Side(a, tuple(range(a.states)), tuple(range(a.states))))
            continue
        if (a.low, a.high, a.whole, a.bipolar) != (b.low, b.high, b.whole, b.bipolar):
            raise QuestionError(f"feature {name} can take other values in one network than in the other.")
        merged = Steps(tuple(sorted({*a.cuts, *b.cuts})), a.low, a.high, a.whole, a.bipolar)
        reached = [sum(cut <= merged.cuts[t] for cut in a.cuts) for t in range(merged.width)]
        other = [sum(cut <= merged.cuts[t] for cut in b.cuts) for t in range(merged.width)]
        sides.append(Side(merged, (0, *reached), (0, *other)))
    return _joint(left, right, sides, left.domain)


Placed: TypeAlias = tuple[int, Any]
"""A state and a raw value with that state."""


def twins(network: Network, pairs: dict[int, list[tuple[Placed, Placed]]]) -> Joint:
    """Return one network twice, side by side.

    Features in `pairs` may take the listed pairs of states left and right. All others are equal on both
    sides.
    """
    _see_that_it_fits(
        network, sum(coding.width for f, coding in enumerate(network.encoder.codings) if f not in pairs)
    )
    sides = []
    for feature, coding in enumerate(network.encoder.codings):
        if feature not in pairs:
            sides.append(Side(coding, tuple(range(coding.states)), tuple(range(coding.states))))
            continue
        values = tuple(Pair(a[1], b[1]) for a, b in pairs[feature])
        if not values:
            raise QuestionError(
                f"feature {network.encoder.names[feature]} takes one value only, "
                f"so there is nothing to compare."
            )
        sides.append(
            Side(
                Pairs(values), tuple(a[0] for a, _ in pairs[feature]), tuple(b[0] for _, b in pairs[feature])
            )
        )
    spans = {f: span for f, span in network.domain.limits.items() if f not in pairs}  # pairs have their own
    return _joint(network, network, sides, Domain(spans))


def _joint(left: Network, right: Network, sides: Sequence[Side], domain: Domain) -> Joint:
    depth = max(len(left.layers), len(right.layers), 1)
    later = list(zip(_later(left, depth), _later(right, depth), strict=True))
    encoder = Encoder([side.coding for side in sides], left.encoder.names)
    one = _over(left, encoder, [side.left for side in sides])
    two = _over(right, encoder, [side.right for side in sides])
    head = Head(
        _blocks(left.expanded.head.weights, right.expanded.head.weights),
        (*left.head.bias, *right.head.bias),
        (*left.head.scale, *right.head.scale),
    )
    layers = [DenseLayer(np.concatenate([one.weights, two.weights]), np.concatenate([one.tau, two.tau]))]
    for a, b in later:
        layers.append(DenseLayer(_blocks(a.weights, b.weights), np.concatenate([a.tau, b.tau])))
    names = [*(f"left {name}" for name in left.classes), *(f"right {name}" for name in right.classes)]
    return Joint(left, right, Network(encoder, layers, head, names, domain=domain), tuple(sides))


def _see_that_it_fits(network: Network, width: int) -> None:
    outputs = network.expanded.layers[0].outputs if network.layers else network.encoder.width
    make_sure(32 * outputs * width, f"{outputs:,} neurons over {width:,} bits of two sides", _SMALLER)


def _over(network: Network, encoder: Encoder, states: Sequence[tuple[int, ...]]) -> DenseLayer:
    """Return the first layer over the bits of a joint encoder, from the gain of each state in the match
    counts.
    """
    _see_that_it_fits(network, encoder.width)
    first = first_layer(network)
    weights = np.zeros((first.outputs, encoder.width), np.int64)
    tau = np.clip(first.tau, 0, first.sizes + 1)  # the same decisions, without overflow
    for feature, (coding, feature_states) in enumerate(zip(encoder.codings, states, strict=True)):
        gains = _gains(network, first, feature)[:, list(feature_states)]
        group = encoder.group(feature)
        if isinstance(coding, OneHot):
            weights[:, group.start : group.stop] = gains
        else:
            weights[:, group.start : group.stop] = np.diff(gains, axis=1)
            tau = tau - gains[:, 0]
    return DenseLayer(weights, tau - np.minimum(weights, 0).sum(axis=1))


def _gains(network: Network, first: DenseLayer | LevelLayer, feature: int) -> Ints:
    """Return the gain of each state of a feature in the match count of each neuron."""
    coding = network.encoder.codings[feature]
    if first.tops is not None:
        column, top = first.weights[:, feature, None], int(first.tops[feature])
        levels = np.arange(coding.states)
        return np.asarray(np.where(column > 0, column * levels, -column * (top - levels)))
    group = network.encoder.group(feature)
    part = first.weights[:, group.start : group.stop]
    bits = (
        np.array([coding.bits(state) for state in range(coding.states)])
        .reshape(coding.states, coding.width)
        .T
    )
    return np.asarray(np.maximum(part, 0) @ bits - np.minimum(part, 0) @ ~bits)


def _later(network: Network, depth: int) -> list[DenseLayer]:
    """Return the layers after the first, padded with identity layers if the network is not as deep."""
    layers = [layer.unrolled() for layer in network.expanded.layers[1:]]
    width = network.expanded.head.inputs
    while len(layers) < depth - 1:
        layers.append(DenseLayer(np.eye(width, dtype=np.int64), np.ones(width, np.int64)))
    return layers


def _blocks(a: Ints, b: Ints) -> Ints:
    shape = (a.shape[0] + b.shape[0], a.shape[1] + b.shape[1])
    make_sure(16 * shape[0] * shape[1], "a layer of two networks side by side", _SMALLER)
    out = np.zeros(shape, np.int64)
    out[: a.shape[0], : a.shape[1]], out[a.shape[0] :, a.shape[1] :] = a, b
    return out


def merged(near: Neighbourhood, goal: Goal, clock: Clock) -> Problem:
    """Return the same problem over fewer neurons.

    Raises
    ------
    TimeUpError
        If the time is up before a layer is merged.
    """
    clock.see()
    network = near.network
    first = first_layer(network)
    assert isinstance(first, DenseLayer)
    gains, margins = move_gains(near, first), margins_of(near, first)
    far = replace(near, budget=None)  # as in the checker, whatever may move together
    up, down = margins + reach(far, gains), margins - reach(far, -gains)
    constant = np.where(down >= 0, 1, np.where(up < 0, 0, -1))
    kept, source, fixed = _classes(-margins, np.ascontiguousarray(gains.T), constant)
    layers = [DenseLayer(first.weights[kept], first.tau[kept])]
    for layer in network.layers[1:]:
        clock.see()
        dense = layer.unrolled()
        weights, thresholds = _folded(
            dense.weights, dense.tau + _sides(dense.weights)[0], source, fixed, len(kept)
        )
        low, high = _sides(weights)
        constant = np.where(low >= thresholds, 1, np.where(high < thresholds, 0, -1))
        kept, source, fixed = _classes(thresholds, weights, constant)
        layers.append(DenseLayer(weights[kept], (thresholds - low)[kept]))
    clock.see()
    before = np.minimum(network.head.weights, 0).sum(axis=1)
    weights, shifts = _folded(
        network.head.weights, np.zeros(network.head.outputs, np.int64), source, fixed, len(kept)
    )
    shifts = before - np.minimum(weights, 0).sum(axis=1) + shifts  # now missing from the match counts
    cases = tuple(tuple(_moved(vote, shifts) for vote in case) for case in goal.cases)
    smaller = Network(network.encoder, layers, Head(weights), network.classes, domain=network.domain)
    return Problem(replace(near, network=smaller), Goal(cases, goal.sum_bits))


def _moved(vote: Votes, shifts: Ints) -> Votes:
    return Votes(
        vote.factors, vote.least + sum(f * int(s) for f, s in zip(vote.factors, shifts, strict=True))
    )


def _classes(thresholds: Ints, rows: Ints, constant: Ints) -> tuple[list[int], list[tuple[int, bool]], Ints]:
    """Return the neurons ``row @ v >= least`` to keep, the first of each kind.

    Return also, for each neuron, its position among them (-1: constant) and whether it is the opposite of
    that one, and its value if it is constant.
    """
    indices: dict[tuple[int, bytes], int] = {}
    kept: list[int] = []
    source: list[tuple[int, bool]] = []
    rows = _narrow(rows)
    for number, (bound, row, negated) in enumerate(zip(thresholds.tolist(), rows, -rows, strict=True)):
        same, opposite = (bound, row.tobytes()), (1 - bound, negated.tobytes())
        if constant[number] >= 0:
            source.append((-1, False))
        elif same in indices:
            source.append((indices[same], False))
        elif opposite in indices:
            source.append((indices[opposite], True))
        else:
            indices[same] = len(kept)
            source.append((len(kept), False))
            kept.append(number)
    return kept, source, np.maximum(constant, 0)


def _narrow(rows: Ints) -> Any:
    """Return the same integers, as bytes if they are small: sums and comparisons of bytes are faster."""
    is_small = rows.size and rows.min() > -128 and rows.max() < 128
    return rows.astype(np.int8) if is_small else rows


def _sides(rows: Ints) -> tuple[Ints, Ints]:
    """Return the smallest and the largest sum of each row over bits."""
    narrow = _narrow(rows)
    return (
        np.minimum(narrow, 0).sum(axis=1, dtype=np.int64),
        np.maximum(narrow, 0).sum(axis=1, dtype=np.int64),
    )


def _folded(
    weights: Ints, thresholds: Ints, source: list[tuple[int, bool]], fixed: Ints, count: int
) -> tuple[Ints, Ints]:
    """Return the weights over the neurons that are kept, and the new thresholds."""
    bound = thresholds.copy()
    index, opposite = np.array(source, np.int64).reshape(-1, 2).T
    constant = np.flatnonzero((index < 0) & (fixed > 0))
    bound -= weights[:, constant].sum(axis=1)
    used, firsts = np.unique(index, return_index=True)
    firsts = firsts[used >= 0]  # the neurons that are kept, in order, each as it is
    assert len(firsts) == count
    out = weights[:, firsts]
    for column in np.setdiff1d(np.flatnonzero(index >= 0), firsts).tolist():
        if opposite[column]:
            out[:, index[column]] -= weights[:, column]
            bound -= weights[:, column]
        else:
            out[:, index[column]] += weights[:, column]
    return out, bound
