"""Blocks of all combinations of features without a budget, against the definition."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from sugenet.checker.accelerate import words
from sugenet.checker.accelerate.arrays import bits_layer
from sugenet.checker.accelerate.integers import ArrayProblem
from sugenet.checker.accelerate.words import blocks_seen
from sugenet.checker.limit import Limit
from tests.checker.plainly import seen_plainly
from tests.checker.test_words import counts_of


def drawn(rng, features, widths, weights=(-1, 1), gains=(-1, 1), head=(-1, 1), classes=3):
    """A question without a budget: features of one or two options, on both sides of their own state."""
    base = rng.integers(-2, 2, widths[0])
    rows = [
        [(1, rng.choice(gains, widths[0]).astype(np.int64)) for _ in range(many)]
        for many in rng.choice([1, 2], features)
    ]
    layers = []
    for before, size in pairwise(widths):
        own = rng.choice(weights, (size, before))
        layers.append((own, np.abs(own).sum(axis=1) // 2 + rng.integers(-1, 2, size)))
    stays = [int(rng.integers(len(row) + 1)) for row in rows]
    return base, rows, stays, layers, rng.choice(head, (classes, widths[-1]))


def agrees(base, rows, stays, layers, head):
    """A violation is seen where there is one: in most combinations, in few, and in none."""
    still = np.zeros_like(base)
    sums = [base + sum(chosen) for chosen in product(*([still, *(gain for _, gain in row)] for row in rows))]
    counts = counts_of(np.array(sums), layers, head)
    some, other = [1, -1, 0], [0, 1, -1]
    values, others = counts @ np.array(some), counts @ np.array(other)
    top, later = int(values.max()), [bits_layer(*layer) for layer in layers]
    rest = int(others[values == top].max())
    for cases, bad in (
        ([[(some, int(np.median(values)))]], True),
        ([[(some, top)]], True),
        ([[(some, top + 1)]], False),
        ([[(some, top), (other, rest)]], True),
        ([[(some, top), (other, rest + 1)]], False),
        ([[(some, top), (other, rest + 1)], [(some, top + 1)], [(other, int(others.max()))]], True),
        ([], False),
    ):
        whole = ArrayProblem(base, rows, stays, None, later, head, cases, Limit(None, None))
        assert blocks_seen(whole, threads=1) == (None if bad else len(sums)), cases
        assert len(sums) > 100 or seen_plainly(whole) == (None if bad else len(sums))


@pytest.mark.parametrize(
    "widths",
    [(1, 1), (63, 64), (64, 65, 63), (65, 1, 70), (20, 511, 512), (30, 513, 9), (12, 10, 10, 10, 10)],
)
@pytest.mark.parametrize("group", [1, 8, 512])
def test_as_by_the_definition(widths, group, monkeypatch):
    together = words.joined
    monkeypatch.setattr(words, "joined", lambda features, most: together(features, min(most, group)))
    rng = np.random.default_rng(sum(widths))
    agrees(*drawn(rng, 6, widths))
    agrees(*drawn(rng, 4, widths, weights=(-1, 0, 1), gains=(-2, 0, 1), head=(-2, 0, 1, 3)))


def test_more_neurons_that_turn_than_are_summed_at_once():
    rng = np.random.default_rng(1)
    for weights in ((-1, 1), (-1, 0, 1)):
        for width in (119, 120, 121, 300):
            agrees(*drawn(rng, 5, (width, 40, 20), weights=weights, gains=(-4, 4)))


@pytest.mark.parametrize("width", [60, 64, 120, 128, 300])
def test_neurons_that_all_others_change_alike(width):
    rng = np.random.default_rng(width)
    half = np.where(np.arange(width) < width // 2, 1, -1)
    gains = [np.ones(width, np.int64), -np.ones(width, np.int64), half, 2 * half]
    rows = [[(1, gain)] for gain in gains]
    for sparse in (False, True):
        kinds = [np.ones(width, int), -np.ones(width, int), half, -half]
        weights = np.array([kind * (np.arange(width) > 2 * sparse) for kind in kinds for _ in range(5)])
        tau = np.tile([1, width // 4, width // 2, 3 * width // 4, width - 3], 4)
        for base in (-1, 0):
            head = rng.choice([-1, 1], (3, 20))
            agrees(np.full(width, base), rows, [0, 1, 0, 1], [(weights, tau)], head)


def test_one_feature():
    agrees(*drawn(np.random.default_rng(3), 1, (20, 9)))


@pytest.mark.parametrize("far", [20, 63, 64, 200, 1 << 20])
def test_sums_of_all_sizes(far):
    rng = np.random.default_rng(far)
    base, rows, stays, layers, head = drawn(rng, 6, (70, 20, 12), gains=(-far, -1, 0, 1, far))
    agrees(base, rows, stays, layers, head)
