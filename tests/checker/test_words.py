"""The checker's walk in words against the definition, set by set."""

from __future__ import annotations

from itertools import pairwise
from threading import Lock

import numpy as np
import pytest

from sugenet.checker.accelerate import words
from sugenet.checker.accelerate.integers import violations
from sugenet.checker.accelerate.words import WordWalk
from sugenet.checker.limit import Limit
from tests.checker.plainly import counts_plainly


def drawn(rng, options, widths, classes=3, weights=(-1, 1), head=(-1, 1), prices=(1,), gains=(-1, 1)):
    """A sample and what may change: features of one option, and some of more (or of so many options each),
    with layers and classes.
    """
    base = np.append(rng.integers(-3, 3, widths[0] - 2), [-1, 0])
    sizes = [] if isinstance(options, int) else options
    while isinstance(options, int) and sum(sizes) < options:
        sizes.append(min(int(rng.choice([1, 1, 1, 3])), options - sum(sizes)))
    features = [
        [(int(rng.choice(prices)), np.append(rng.choice(gains, widths[0] - 2), [1, -1])) for _ in range(many)]
        for many in sizes
    ]
    layers = []
    for before, size in pairwise(widths):
        rows = rng.choice(weights, (size, before))
        middle = np.abs(rows).sum(axis=1) // 2
        layers.append((rows, middle + rng.integers(-1, 2, size)))
    return base, features, layers, rng.choice(head, (classes, widths[-1]))


def all_sets(base, features, budget):
    """M - tau of the first layer for every set, the empty one first."""
    margins, spent = base[None], np.zeros(1, np.int64)
    for row in features:
        more = [(margins, spent)]
        for price, gain in row:
            fits = spent + price <= budget
            more.append((margins[fits] + gain, spent[fits] + price))
        margins, spent = (np.concatenate(parts) for parts in zip(*more, strict=True))
    return margins


def counts_of(margins, layers, head):
    """Match counts of the classes: literals that hold."""
    bits = margins >= 0
    for rows, tau in layers:
        bits = bits @ np.maximum(rows, 0).T + ~bits @ np.maximum(-rows, 0).T >= tau
    return bits @ np.maximum(head, 0).T + ~bits @ np.maximum(-head, 0).T


def walked(base, features, budget, layers, head, cases, threads=1):
    """How many sets the walk met, how many of them meet a case, and how many were only counted; the sample
    aside.
    """
    walk = WordWalk(base, features, budget, layers, head, cases, Limit(None, None))
    assert walk.is_for()
    assert (walk.sample()[0] == counts_plainly(base, layers, head)).all()
    found, lock = [0, 0, 0], Lock()

    def use(_first, seen):
        with lock:  # several threads tell what they saw
            found[0] += int(seen.set_counts.sum()) + seen.n_others
            found[1] += int(seen.set_counts[violations(cases, head, walk.counts(seen.patterns))].sum())
            found[2] += seen.n_others

    walk.each(use, threads=threads)
    return found


def agrees(base, features, budget, layers, head, rng, *, compared=True):
    """The walk meets every set, and finds those that meet a case: half of them, the last ones, and none."""
    counts = counts_of(all_sets(base, features, budget), layers, head)
    factors = [rng.permutation([1, -1, *[0] * (len(head) - 2)]).tolist() for _ in range(2)]
    values = [counts @ np.array(row) for row in factors]
    singles = sum(price <= budget for row in features for price, _ in row)  # told with their patterns
    for least in ([int(np.median(value)) for value in values], [int(value.max()) for value in values]):
        for cases in (
            [[(factors[0], least[0])], [(factors[1], least[1])]],
            [[(factors[0], least[0]), (factors[1], least[1])]],
            [[(factors[0], int(values[0].max()) + 1)]],
        ):
            found = walked(base, features, budget, layers, head, cases)
            met = violations(cases, head, counts[1:])
            assert found[:2] == [len(met), int(met.sum())]
            assert not compared or found[2] >= len(met) - int(met.sum()) - singles  # nobody else is looked at


@pytest.mark.parametrize("options", [1, 2, 63, 64, 65])
@pytest.mark.parametrize("widths", [(9, 1), (63, 64, 65), (20, 33, 12, 7), (70, 20, 20, 20, 9)])
def test_all_sets_of_few_options(options, widths):
    rng = np.random.default_rng(options + len(widths))
    agrees(*(problem := drawn(rng, options, widths))[:2], 2, *problem[2:], rng)


@pytest.mark.parametrize(
    ("options", "widths"),
    [(511, (12, 9)), (512, (30, 12, 12, 8)), (513, (65, 20, 8)), (513, (12, 6, 6, 6, 6))],
)
def test_blocks_that_are_full_and_one_more(options, widths):
    rng = np.random.default_rng(options)
    agrees(*(problem := drawn(rng, options, widths))[:2], 2, *problem[2:], rng)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(
    ("sizes", "pairs"),
    [  # behind the first option
        ([1, 6, 2, 2, *[1] * 23], 511),
        ([1, *[1] * 12, 6, 2, *[1] * 13], 512),
        ([1, *[1] * 27, 6], 513),
        ([1, 3, 3, *[2] * 9, 9], 477),
    ],
)
def test_pairs_of_options_that_fill_blocks(sizes, pairs, paired, monkeypatch):
    rng = np.random.default_rng(pairs)
    monkeypatch.setattr(words, "_PAIRS", paired << 26)
    for widths, prices in (((40, 30, 9), (1,)), ((70, 20, 20, 12), (1, 2)), ((12, 9), (2, 3, 3))):
        problem = drawn(rng, sizes, widths, prices=prices, gains=(-2, -1, 0, 0, 1))
        budget = 3 * prices[0] + (prices != (1,))
        walk = WordWalk(*problem[:2], budget, *problem[2:], [], Limit(None, None))
        walk.prepare()
        _, _, starts, ends = walk.fixed[1]
        assert ends[1] == (starts[1, 1] + pairs if paired else 0)
        agrees(*problem[:2], budget, *problem[2:], rng)


@pytest.mark.parametrize("paired", [False, True])
def test_sets_are_told_with_their_first_option(paired, monkeypatch):
    rng = np.random.default_rng(6)
    monkeypatch.setattr(words, "_PAIRS", paired << 26)
    for prices, budget in (((1,), 4), ((1, 2, 5), 6), ((0, 1, 2), 3)):
        base, features, layers, head = drawn(rng, 13, (30, 12, 10), prices=prices)
        always = [[([0, 0, 0], 0)]]
        walk = WordWalk(base, features, budget, layers, head, always, Limit(None, None))
        walk.prepare()
        first, behind = 0, len(features)
        for row in features:
            behind -= 1
            for price, gain in row:
                rest = features[len(features) - behind :]
                margins = all_sets(base + gain, rest, budget - price) if price <= budget else base[:0, None]
                counts = counts_of(margins, layers, head).tolist() if len(margins) else []
                found = []
                for seen in walk.patterns(first):
                    assert seen.n_others == 0
                    for one, many in zip(walk.counts(seen.patterns).tolist(), seen.set_counts, strict=True):
                        found += [one] * many
                assert sorted(found) == sorted(counts)
                first += 1


@pytest.mark.parametrize("seed", range(12))
def test_weights_prices_and_scores_of_all_kinds(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    kinds = {
        "weights": [(-1, 1), (-1, 0, 1), (-1, 0, 0, 0, 1)][seed % 3],
        "head": [(-1, 1), (-1, 0, 1), (-3, -1, 0, 2), (-7, 5, 900)][seed % 4],
        "prices": [(1,), (1, 2), (1, 2, 5), (3,), (0, 1, 2)][seed % 5],
        "gains": [(-1, 1), (-2, 0, 1), (-1, 0, 0, 5)][seed // 4],
    }
    problem = drawn(rng, int(rng.integers(10, 20)), (24, 17, 11, 13)[: 2 + seed % 3], **kinds)
    for budget in (max(1, kinds["prices"][0]), 6):
        agrees(*problem[:2], budget, *problem[2:], rng, compared=seed % 4 < 2)
        with monkeypatch.context() as patch:
            patch.setattr(words, "_PAIRS", 0)
            agrees(*problem[:2], budget, *problem[2:], rng, compared=seed % 4 < 2)


def test_layers_that_cannot_go_in_words_are_judged_behind_them():
    rng = np.random.default_rng(5)
    base, features, layers, head = drawn(rng, 30, (20, 15, 12, 9))
    agrees(base, features, 2, [*layers[:2], (3 * layers[2][0], 3 * layers[2][1])], head, rng, compared=False)
    walk = WordWalk(base, features, 2, [(2 * layers[0][0], layers[0][1])], head, [], Limit(None, None))
    assert not walk.is_for()


def test_more_inputs_that_differ_than_are_summed_at_once():
    rng = np.random.default_rng(8)
    for width in (8, 12, 16, 20, 32, 33, 70, 150):
        base, features, layers, head = drawn(rng, 70, (width, 40, 10), gains=(-2, -1, 1, 2))
        agrees(base // 2, features, 2, layers, head, rng)


def test_a_table_that_is_full_is_told_in_parts(monkeypatch):
    rng = np.random.default_rng(2)
    monkeypatch.setattr(words, "_STEPS", 3)
    for options, budget in ((70, 2), (60, 3)):  # the second time with more patterns than the table has
        base, features, layers, head = drawn(rng, options, (40, 30))
        counts = counts_of(all_sets(base, features, budget), layers, head)
        for threads in (1, 2):
            assert walked(base, features, budget, layers, head, [], threads=threads)[0] == len(counts) - 1
        monkeypatch.setattr(words, "_TABLE", 1 << 11)
