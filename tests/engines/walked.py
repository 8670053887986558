"""Everything that a walk should find, by brute force in plain Python, for tests."""

from __future__ import annotations

from itertools import product

import numpy as np

from sugenet.bnn.layer import dense_of
from sugenet.problem.front import first_layer

MASK = (1 << 64) - 1


def splitmix64(value):
    z = (value + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def digest_of(patterns):
    total = 0
    for pattern in patterns:
        z = 0
        for neuron in pattern:
            z ^= splitmix64(neuron + 1)
        total += splitmix64(z)
    return f"{total & MASK:016x}"


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
    """Number of sets, number of patterns, digest, and the sets that reach the goal, all by the definition."""
    near = problem.near
    network, first = near.network, first_layer(near.network)
    sets = list(sets_of(near, budget))
    rows = np.array([near.moved(moves) for moves in sets], object)
    active = first.activity(network.cut.inputs(np.concatenate([rows, np.array([near.sample], object)])))
    patterns = {frozenset(np.flatnonzero(row != active[-1]).tolist()) for row in active[:-1]}
    bad = problem.goal.violates(network.match_counts(rows, engine="definition"))
    return (
        len(sets),
        len(patterns),
        digest_of(patterns),
        [moves for moves, is_bad in zip(sets, bad, strict=True) if is_bad],
    )


def pieces(near):
    """What the checker walks, by the definition alone."""
    network, first = near.network.cut, first_layer(near.network)
    rows = np.array([near.sample, *(near.moved([move]) for move in near.moves)], object)
    counts = first.match_counts(network.inputs(rows)) - first.tau
    features = {}
    for move, gain in zip(near.moves, counts[1:] - counts[0], strict=True):
        features.setdefault(move.feature, []).append((move.weight, gain))
    later = [(dense_of(layer).weights, dense_of(layer).tau) for layer in network.layers[1:]]
    return counts[0], list(features.values()), near.budget, later, network.head.weights
