"""All small k-level neurons against the definition (docs/theory.md 3.4): one integral, nested steps, minimal
level vectors and their number, and a cascade of two.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    QuantizedLayer,
    QuantizedNeuron,
    integer,
)

WEIGHTS = range(-2, 3)


def neurons(tops, height):
    """Every neuron over inputs with these tops: all weights, and all rising steps, from always to never."""
    for weights in product(WEIGHTS, repeat=len(tops)):
        size = sum(abs(w) * t for w, t in zip(weights, tops, strict=True))
        for tau in combinations_with_replacement(range(size + 2), height):
            yield weights, tau


def literals(weights, tops):
    """The thermometer literals (input, level), each with its size and whether it says *at least*."""
    return [
        (i, v, abs(w), w > 0)
        for i, (w, t) in enumerate(zip(weights, tops, strict=True))
        for v in range(1, t + 1)
    ]


@pytest.mark.parametrize(("tops", "height"), [((1,), 3), ((4,), 2), ((1, 2), 2), ((2, 2), 1), ((3, 1), 2)])
def test_a_level_is_one_integral_over_thermometer_literals(tops, height):
    """y = M S_mu(l), S by its definition: of all sets of literals the best min(mu, the worst literal)."""
    for weights, tau in neurons(tops, height):
        stair = QuantizedNeuron(weights, tau, tops)
        own = literals(weights, tops)
        sizes = np.array([size for *_, size, _ in own])
        masks = np.array(list(product([0, 1], repeat=len(own))), int).reshape(-1, len(own))
        reached = masks @ sizes  # mu of each set, from how many steps its weights reach
        mu = [Fraction(sum(int(total) >= t for t in tau), height) for total in reached]
        for levels in product(*(range(t + 1) for t in tops)):
            held = [int((levels[i] >= v) == up) for i, v, _, up in own]
            worst = [min((h for h, m in zip(held, mask, strict=True) if m), default=1) for mask in masks]
            integral = max(min(a, Fraction(b)) for a, b in zip(mu, worst, strict=True))
            sum_ = sum(w * a for w, a in zip(weights, levels, strict=True))
            below = sum(min(w, 0) * t for w, t in zip(weights, tops, strict=True))
            assert stair.level(levels) == height * integral == sum(sum_ >= t + below for t in tau)
            steps = [stair.step(m).active(_bits(levels, tops)) for m in range(1, height + 1)]
            assert steps == sorted(steps, reverse=True)  # nested: each step implies the one before
            assert sum(steps) == stair.level(levels)


def _bits(levels, tops):
    return [1 if a >= v else -1 for a, t in zip(levels, tops, strict=True) for v in range(1, t + 1)]


@pytest.mark.parametrize("tops", [(3,), (2, 2), (1, 3)])
def test_rules_are_minimal_and_all_of_them(tops):
    for weights, tau in neurons(tops, 2):
        stair = QuantizedNeuron(weights, tau, tops)
        for level in (1, 2):
            rules = list(stair.rules(level))
            assert len(rules) == len(set(rules)) == stair.rule_count(level)
            boxes = [_allowed(rule, tops) for rule in rules]
            for levels in product(*(range(t + 1) for t in tops)):
                fires = any(all(a in row for a, row in zip(levels, box, strict=True)) for box in boxes)
                assert fires == (stair.level(levels) >= level)
            for rule, box in zip(rules, boxes, strict=True):
                for condition in rule:  # a level weaker, and it is no longer so
                    k = condition.place - 1
                    step = min(box[k]) - 1 if condition.at_least is not None else max(box[k]) + 1
                    wider = [*box[:k], [*box[k], step], *box[k + 1 :]]
                    assert any(stair.level(levels) < level for levels in product(*wider))


def _allowed(rule, tops):
    found = [list(range(t + 1)) for t in tops]
    for condition in rule:
        k = condition.place - 1
        low, high = condition.at_least, condition.at_most
        found[k] = [a for a in found[k] if (low is None or a >= low) and (high is None or a <= high)]
    return found


def test_a_cascade_of_two_is_that_of_its_steps():
    """Every neuron over two levels behind two fixed ones: the cut gives the same counts, bit by bit."""
    encoder = Encoder([integer(0, 2), integer(0, 1)])
    rows = list(product(range(3), range(2)))
    first = QuantizedLayer([[1, -1], [2, 1]], [[1, 3], [2, 4]], encoder.tops)
    between = [
        [sum(m >= t for t in own) for m, own in zip(counts, first.tau.tolist(), strict=True)]
        for counts in [[x + (1 - y), 2 * x + y] for x, y in rows]
    ]
    for weights, tau in neurons((2, 2), 2):
        network = Network(encoder, [first, QuantizedLayer([weights], [tau], [2, 2])], Head([[1]], tops=[2]))
        last = [
            sum(
                sum(w * a if w > 0 else -w * (2 - a) for w, a in zip(weights, row, strict=True)) >= t
                for t in tau
            )
            for row in between
        ]
        assert network.match_counts(rows, engine="definition")[:, 0].tolist() == last
        assert network.expanded.match_counts(rows, engine="definition")[:, 0].tolist() == last
        bits = network.expanded.hidden(rows)[1]
        assert bits.tolist() == [[y >= m for m in (1, 2)] for y in last]


@pytest.mark.parametrize("inputs", [0, 1, 7, 8, 9, 65])
def test_equal_neighbours_are_multiplied_once_and_give_the_same(inputs):
    """Rows that repeat, rows that come again later, and rows that differ in one weight only, the last."""
    rng = np.random.default_rng(inputs)
    rows = np.repeat(rng.integers(-3, 4, (3, inputs)), [2, 1, 3], axis=0)
    rows = np.concatenate([rows, rows[:1], rows[:1]])
    if inputs:
        rows[-1, -1] += 1
    tops = np.full(inputs, 2)
    layer = LevelLayer(rows, np.zeros(len(rows), int), tops)
    levels = rng.integers(0, 3, (5, inputs))
    expected = [
        [
            sum(abs(w) * (a if w > 0 else 2 - a) for w, a in zip(row, own, strict=True))
            for row in rows.tolist()
        ]
        for own in levels.tolist()
    ]
    assert layer.match_counts(levels).tolist() == expected
    bits = DenseLayer(rows, np.zeros(len(rows), int)).match_counts(levels > 0)
    held = [
        [sum(abs(w) for w, a in zip(row, own, strict=True) if (w > 0) == (a > 0)) for row in rows.tolist()]
        for own in levels.tolist()
    ]
    assert bits.tolist() == held
    if inputs > 1:
        assert layer.runs[1].tolist() == [0, 0, 1, 2, 2, 2, 3, 4]
