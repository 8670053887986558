"""Small random networks with every coding, and everything inside a neighbourhood,
for tests against brute force.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    bit,
    integer,
    thermometer,
    threshold,
)

CODINGS = [
    bit(),
    thermometer([1, 2, 3], 0, 4, True),
    OneHot(("a", "b", "c")),
    threshold(2, 0, 3, True),
    integer(0, 2),
    threshold(9, 0, 3, True),
]


def random_network(rng, features=None, depth=None, width=None, classes=3):
    """A network over a few features of mixed codings, with ternary weights,
    real biases and sometimes scales.
    """
    encoder = Encoder([CODINGS[k] for k in rng.integers(0, len(CODINGS), features or rng.integers(1, 5))])
    layers, size = [], encoder.width
    if encoder.tops is not None and rng.random() < 0.3:
        layers.append(
            LevelLayer(rng.integers(-1, 2, (4, encoder.features)), rng.integers(0, size + 1, 4), encoder.tops)
        )
        size = 4
    for _ in range(rng.integers(0, 3) if depth is None else depth):
        m = int(rng.integers(1, 6)) if width is None else width
        weights = rng.integers(-1, 2, (m, size))
        layers.append(DenseLayer(weights, [int(rng.integers(0, abs(row).sum() + 2)) for row in weights]))
        size = m
    bias = [Fraction(int(rng.integers(-4, 5)), 3) for _ in range(classes)]
    scale = [Fraction(int(rng.integers(1, 4)), 2) for _ in range(classes)] if rng.random() < 0.3 else 1
    return Network(encoder, layers, Head(rng.integers(-1, 2, (classes, size)), bias, scale))


def raw_values(coding):
    return (
        list(coding.categories)
        if isinstance(coding, OneHot)
        else list(range(int(coding.low), int(coding.high) + 1))
    )


def random_sample(network, rng):
    return [values[rng.integers(len(values))] for values in map(raw_values, network.encoder.codings)]


def samples_inside(near):
    """Every sample that a neighbourhood's moves reach within its budget, the sample itself included."""
    options = [[None, *(m for m in near.moves if m.feature == f)] for f in range(len(near.sample))]
    for chosen in product(*options):
        moves = [m for m in chosen if m is not None]
        if near.budget is None or sum(m.weight for m in moves) <= near.budget:
            yield near.moved(moves)


def violating(cascade, steps):
    """Whether steps of a cascade, one row an assignment, are a violation; by direct evaluation."""
    rows = np.asarray(steps, dtype=np.int64).reshape(len(steps), cascade.steps)
    ok = np.ones(len(rows), bool)
    for chain in cascade.chains:
        part = rows[:, chain.steps.start : chain.steps.stop]
        ok &= (np.diff(part, axis=1) <= 0).all(axis=1)
    if cascade.budget is not None:
        prices, limit = cascade.budget
        ok &= [
            sum(p for p, taken in zip(prices, row, strict=True) if taken) <= limit for row in rows.tolist()
        ]
    values = rows
    for layer in cascade.layers:
        values = (values @ layer.weights.T >= layer.least).astype(np.int64)
    met = np.zeros(len(rows), bool)
    for case in cascade.cases:
        met |= values[:, list(case)].all(axis=1) if case else True
    return ok & met


def true_sum(coefficients, literals, values):
    """The coefficients of the literals that are true when variable v is ``values[v - 1]``, summed."""
    pairs = zip(coefficients, literals, strict=True)
    return sum(c for c, v in pairs if bool(values[abs(v) - 1]) == (v > 0))
