"""Everything that a walk should find, by brute force in plain Python, for tests."""

from __future__ import annotations

from itertools import product

import numpy as np

from sugenet.checker.accelerate.arrays import bits_layer
from sugenet.checker.accelerate.walk import WalkSeen
from sugenet.checker.accelerate.walk import walk as walk_layers
from sugenet.checker.limit import Limit
from sugenet.checker.rules import _choices
from sugenet.problem.first_layer import first_layer
from tests.checker.plainly import counts_plainly


def sets_of(near, budget=None):
    """All sets of moves of different features whose weights sum to at most the budget."""
    options = [
        [None, *(m for m in near.moves if m.feature == f)] for f in sorted({m.feature for m in near.moves})
    ]
    for chosen in product(*options):
        moves = [m for m in chosen if m is not None]
        if budget is None or sum(m.weight for m in moves) <= budget:
            yield moves


def expected(problem, budget=None):
    """Number of sets, number of patterns, and the sets that reach the goal, all by the definition."""
    near = problem.near
    network, first = near.network, first_layer(near.network)
    sets = list(sets_of(near, budget))
    rows = np.array([near.moved(moves) for moves in sets], object)
    active = first.activity(network.expanded.inputs(np.concatenate([rows, np.array([near.sample], object)])))
    patterns = {frozenset(np.flatnonzero(row != active[-1]).tolist()) for row in active[:-1]}
    bad = problem.goal.violates(network.match_counts(rows, engine="definition"))
    return (
        len(sets),
        len(patterns),
        [moves for moves, is_bad in zip(sets, bad, strict=True) if is_bad],
    )


def pieces(near):
    """What the checker walks, by the definition alone."""
    network, first = near.network.expanded, first_layer(near.network)
    rows = np.array([near.sample, *(near.moved([move]) for move in near.moves)], object)
    counts = first.match_counts(network.inputs(rows)) - first.tau
    features = {}
    for move, gain in zip(near.moves, counts[1:] - counts[0], strict=True):
        features.setdefault(move.feature, []).append((move.weight, gain))
    later = [(layer.unrolled().weights, layer.unrolled().tau) for layer in network.layers[1:]]
    return counts[0], list(features.values()), near.budget, later, network.head.weights


def walk(base, features, budget, layers, head, violates, **more):
    """The checker's walk, for layers that are weights and tau."""
    later = [bits_layer(weights, tau) for weights, tau in layers]
    return walk_layers(base, features, budget, later, head, violates, **more)


def walked_plainly(base, features, budget, layers, head, violates):
    """What the checker's walk should see, one set after another as the plain rule goes through them."""
    sets, patterns, bad = 0, set(), False
    rows = [[(price, list(gain)) for price, gain in row] for row in features]
    for margins in map(np.array, _choices(rows, list(base), budget, Limit(None, None))):
        sets += 1
        patterns.add(((margins >= 0) != (base >= 0)).tobytes())
        bad |= bool(violates(counts_plainly(margins, layers, head)[None])[0])
    return WalkSeen(sets, len(patterns), bad)
