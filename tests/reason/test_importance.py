"""Importance of features from all reasons, against the definitions over all orders and all sets."""

from fractions import Fraction
from itertools import chain, combinations, permutations

import numpy as np
import pytest

from sugenet.errors import QuestionError
from sugenet.reason import AnyInput, Hamming, why
from tests.problem.small import random_network, random_sample


def by_definition(reasons, names, index):
    """Every index, by enumeration."""
    worth = lambda coalition: any(reason <= coalition for reason in reasons)  # noqa: E731
    if index == "shapley":
        turns = [0] * len(names)
        orders = list(permutations(range(len(names))))
        for order in orders:
            for k, at in enumerate(order):
                before = {names[i] for i in order[:k]}
                turns[at] += worth(before | {names[at]}) - worth(before)
        return {name: Fraction(n, len(orders)) for name, n in zip(names, turns, strict=True)}
    found = {}
    for name in names:
        others = [other for other in names if other != name]
        sets = list(chain.from_iterable(combinations(others, k) for k in range(len(names))))
        containing = [reason for reason in reasons if name in reason]
        found[name] = {
            "banzhaf": Fraction(sum(worth({*row, name}) - worth(set(row)) for row in sets), len(sets)),
            "ffa": Fraction(len(containing), len(reasons)),
            "deegan-packel": sum((Fraction(1, len(r)) for r in containing), Fraction(0)) / len(reasons),
            "holler-packel": Fraction(len(containing), max(1, sum(map(len, reasons)))),
        }[index]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_indices_by_definition(seed):
    rng = np.random.default_rng(900 + seed)
    network = random_network(rng, features=int(rng.integers(2, 6)))
    x = random_sample(network, rng)
    for region in (Hamming(3), AnyInput()):
        answer = why(network, x, region, n="all")
        names = [network.encoder.names[f] for f in sorted(answer.movable)]
        reasons = [frozenset(reason.names) for reason in answer.reasons]
        for index in ("ffa", "shapley", "banzhaf", "deegan-packel", "holler-packel"):
            values = answer.importance(index)
            assert values == by_definition(reasons, names, index)
            assert {name for name, value in values.items() if value} == set(answer.relevant)
        assert answer.importance() == answer.attribution


def test_misleading_scores_are_marked():
    rng = np.random.default_rng(4)
    for _ in range(20):
        network = random_network(rng, features=5)
        answer = why(network, random_sample(network, rng), Hamming(2), n="all")
        scores = rng.integers(-2, 3, 5).tolist()
        compared = answer.compare_scores(scores)
        sized = dict(zip(network.encoder.names, map(abs, scores), strict=True))
        idle, busy = set(answer.irrelevant), set(answer.relevant)
        assert set(compared.irrelevant) == {name for name in idle if sized[name]}
        assert set(compared.relevant) == {name for name in busy if not sized[name]}
        assert compared.is_misleading == any(sized[a] > sized[b] for a in idle for b in busy)
        assert compared == answer.compare_scores(dict(zip(network.encoder.names, scores, strict=True)))


def test_importance_needs_every_reason():
    rng = np.random.default_rng(1)
    network = random_network(rng, features=4)
    x = random_sample(network, rng)
    answer = why(network, x, AnyInput(), n="all")
    with pytest.raises(QuestionError, match="index='best'"):
        answer.importance("best")
    with pytest.raises(QuestionError, match="no feature 'nobody'"):
        answer.compare_scores({"nobody": 1})
    with pytest.raises(QuestionError, match="all minimal reasons"):
        why(network, x, AnyInput(), precision=0.9).importance()
