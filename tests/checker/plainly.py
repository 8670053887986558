"""Questions of the compiled rules as the plain rules read them, for comparison."""

from itertools import accumulate

import numpy as np

from sugenet.checker.accelerate.integers import over_neurons
from sugenet.checker.form import Enumerate
from sugenet.checker.lemma import check_lemma
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem, numbered
from sugenet.checker.rules import prove
from sugenet.errors import CertificateError
from tests.checker.typed import proof_of_data

__all__ = ["counts_plainly", "integers_of", "lemma_plainly", "seen_plainly", "thresholds_plainly"]


def _rows(weights, least):
    return [
        ({bit: int(w) for bit, w in enumerate(row) if w}, int(bound))
        for row, bound in zip(np.asarray(weights).tolist(), np.asarray(least).tolist(), strict=True)
    ]


def _problem(base, features, stays, budget, layers, inequalities, cases):
    rows = [
        [(int(price), np.asarray(gain).astype(object).tolist()) for price, gain in row] for row in features
    ]
    numbers, states = list(range(len(rows))), [list(range(len(row))) for row in rows]
    bounds = None if budget is None else int(budget)
    first = np.asarray(base).astype(object).tolist()
    return IntegerProblem(
        first, rows, numbers, states, list(stays), (0,) * len(rows), bounds, layers, inequalities, cases, [],
        Limit(None, None),
    )  # fmt: skip


def integers_of(whole):
    """A question in arrays, in lists."""
    later = [_rows(weights, tau + np.minimum(weights, 0).sum(axis=1)) for weights, tau in whole.layers]
    parts, cases = numbered(whole.cases)
    pairs = [over_neurons(whole.head, *part) for part in parts]
    inequalities = [
        ({bit: int(w) for bit, w in enumerate(row.tolist()) if w}, int(bound)) for row, bound in pairs
    ]
    cases = [list(case) for case in cases]
    return _problem(whole.base, whole.features, whole.stays, whole.budget, later, inequalities, cases)


def seen_plainly(whole):
    """How many sets of options there are; None: one of them is a violation."""
    try:
        return int(prove(Enumerate(), integers_of(whole)).split()[3].replace(",", ""))
    except CertificateError:
        return None


def thresholds_plainly(system):
    """Thresholds over steps as a question whose features stay at their first option."""
    weights, least = system.layers[0]
    prices, budget = (None, None) if system.budget is None else system.budget
    features = []
    for chain in system.chains:
        costs = list(accumulate((0 if prices is None else int(prices[step]) for step in chain), initial=0))
        gains = np.cumsum(np.asarray(weights).astype(object)[:, list(chain)], axis=1).T
        features.append(list(zip(costs[1:], gains, strict=True)))
    later = [_rows(*layer) for layer in system.layers[1:]]
    base = -np.asarray(least).astype(object)
    cases = [list(case) for case in system.cases]
    return _problem(base, features, [0] * len(features), budget, later[:-1], later[-1], cases)


def lemma_plainly(data, system, assumed=()):
    """What the plain rule says of a proof about thresholds."""
    return check_lemma(proof_of_data(data), thresholds_plainly(system), assumed)


def counts_plainly(margins, layers, head):
    """Match counts of the classes, from M - tau of the first layer: literals that hold, layer by layer."""
    bits = [margin >= 0 for margin in margins]
    for weights, tau in layers:
        bits = [held >= least for held, least in zip(_held(weights, bits), tau, strict=True)]
    return np.array(_held(head, bits))


def _held(weights, bits):
    return [
        sum(abs(w) for w, bit in zip(row, bits, strict=True) if (w > 0) == bit) for row in weights.tolist()
    ]
