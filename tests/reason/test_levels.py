"""Every question about networks of more than two levels: answers, certificates and chains against brute
force by the definition.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate import enumeration
from sugenet.errors import CheckLimitError
from sugenet.nn import Encoder, Head, LevelLayer, Network, QuantizedLayer, RealLayer, integer
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.reason.rules import book as whole
from sugenet.sweeps.checking import check_results
from tests.checker.typed import without_form
from tests.fuzzing.forgeries import _changed, real
from tests.fuzzing.truth import Truth, is_true
from tests.nn.level_nets import slow_levels, stairs
from tests.problem.clocks import hold
from tests.problem.levels import KINDS, every_input, lively_network
from tests.problem.small import random_sample
from tests.reason.test_reasons import truth as reasons_of
from tests.reason.test_rulebooks import assert_true_and_prime, everything


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_true_and_its_certificate_is_accepted(kind, monkeypatch):
    """All kinds of questions and proofs; in the plain form as well, and without writing neurons out."""
    rng = np.random.default_rng(KINDS.index(kind))
    network = lively_network(rng, kind)
    other = Network(network.encoder, (), Head(rng.integers(-1, 2, (3, network.encoder.width))))
    labels = [Truth(network).label(x) for x in every_input(network).tolist()]
    assert network.predict(every_input(network)).tolist() == labels
    pool = [json.loads(json.dumps(found)) for found in real(network, other, rng)]
    for certificate in pool:
        assert is_true(certificate, network, other)
        said = sg.check(certificate, network, other)
        sg.check(certificate, network, other, plain=True)
        monkeypatch.setattr(enumeration, "_CELLS", -1)
        assert without_form(sg.check(certificate, network, other)) == without_form(said)
        monkeypatch.undo()
        forged, how = _changed(rng, certificate, pool)
        if is_accepted(forged, network, other):
            assert is_true(forged, network, other), how
    assert {"refuted", "counted"} <= {certificate["answer"] for certificate in pool}


def is_accepted(certificate, network, other):
    try:
        sg.check(certificate, network, other, time_limit=4)
    except sg.errors.CertificateError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_all_reasons(kind):
    rng = np.random.default_rng(100 + KINDS.index(kind))
    network = lively_network(rng, kind)
    x = random_sample(network, rng)
    for region in (sg.L0(2), sg.Linf(1)):
        reasons, contrasts = reasons_of(network, x, region)
        found = sg.why(network, x, region, n="all")
        assert found.all_reasons
        assert {frozenset(reason.features) for reason in found.reasons} == reasons
        assert {contrast.features for contrast in found.contrasts} == contrasts
        for reason in found.reasons:
            sg.check(json.loads(json.dumps(reason.certificate)), network)


@pytest.mark.parametrize("kind", KINDS)
def test_rulebooks(kind, monkeypatch):
    network = lively_network(np.random.default_rng(200 + KINDS.index(kind)), kind)
    X, y = everything(network)
    book = sg.rulebook(network)
    assert book.complete
    assert book.predict(X) == y
    assert_true_and_prime(book, network)
    assert book.check().startswith(f"{len(book)} rules hold")
    for rule in book.rules[:3]:
        assert sg.check_rule(network, rule).holds
    monkeypatch.setattr(whole, "CODEWORDS", 0)  # as in large networks
    grown = sg.rulebook(network, X=X[::5])
    assert_true_and_prime(grown, network)
    grown.check()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_by_every_method(kind):
    rng = np.random.default_rng(300 + KINDS.index(kind))
    network = lively_network(rng, kind)
    labels = network.predict(every_input(network), engine="definition").tolist()
    expected = [labels.count(k) for k in range(3)]
    for method in ("auto", "sums", "walk"):
        found = sg.count(network, method=method)
        assert list(found.counts) == expected
        sg.check(json.loads(json.dumps(found.certificate)), network)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_suffices_step_by_step(kind):
    """Each step by the definition of its layer over all levels that the one before can give; and nothing of
    it can be left out or weakened.
    """
    rng = np.random.default_rng(400 + KINDS.index(kind))
    network = lively_network(rng, kind)
    for _ in range(3):
        x = random_sample(network, rng)
        found = sg.trace_reasons(network, x)
        assert found.index == network.predict([x], engine="definition")[0]
        reasons, _ = reasons_of(network, x, sg.AnyInput())
        assert any(reason <= set(found.features) for reason in reasons)
        json.dumps(found.data())
        for (number, key), link in found.links.items():
            assert key == (link.neuron if link.active else -link.neuron)
            place, level, at_least = _named(link.wanted)
            step = place, level
            assert (place, at_least) == (link.neuron, link.active)
            if number == 1:
                continue
            layer, tops = network.layers[number - 1], _tops(network.layers[number - 2])
            wanted = [_named(one) for one in link.literals]
            if np.prod([top + 1 for top in tops]) > 1000:
                continue
            assert _forced(layer, tops, wanted, step, link.active)
            for weaker in _weaker(wanted, tops):
                assert not _forced(layer, tops, weaker, step, link.active)


def _named(condition):
    """Which neuron, which level, and whether it must be reached or must not."""
    if condition.at_least is not None:
        return condition.place, condition.at_least, True
    return condition.place, condition.at_most + 1, False


def _tops(layer):
    return [getattr(layer, "height", None) or getattr(layer, "top", None) or 1] * layer.outputs


def _forced(layer, tops, wanted, step, active):
    """Whether a neuron reaches its level, or does not, wherever its inputs are at least or below levels."""
    ranges = [set(range(top + 1)) for top in tops]
    for place, level, at_least in wanted:
        ranges[place - 1] &= set(range(level, tops[place - 1] + 1) if at_least else range(level))
    return all(
        (slow_levels(layer, list(values))[step[0] - 1] >= step[1]) == active for values in product(*ranges)
    )


def _weaker(wanted, tops):
    """The same conditions with one of them a level weaker, or left out where there is none."""
    for k, (place, level, at_least) in enumerate(wanted):
        level += -1 if at_least else 1
        rest = wanted[:k] + wanted[k + 1 :]
        yield rest + ([(place, level, at_least)] if 1 <= level <= tops[place - 1] else [])


def test_networks_of_different_levels_are_compared():
    """Two depths, two heights, one of them binary: where they agree, and where they do not."""
    rng = np.random.default_rng(5)
    encoder = Encoder.of_integers(3, 0, 3)
    for turn in range(6):
        first = stairs(rng, 3, encoder.tops)
        deep = Network(
            encoder,
            [first, QuantizedLayer([[1, 0, -1], [1, 1, 1]], [[1, 3], [2, 6]], [3] * 3)],
            Head([[1, 0], [0, 1]], [0, turn % 2], tops=[2, 2]),
        )
        flat = Network(encoder, [LevelLayer([[1, 1, -1]], [4], encoder.tops)], Head([[1], [-1]]))
        same = Network(encoder, deep.expanded.layers, deep.expanded.head)
        for left, right in ((deep, flat), (flat, deep), (deep, same), (deep, deep)):
            answer = sg.verify(left, sg.Agree(right))
            rows = every_input(left)
            equal = bool((left.predict(rows) == right.predict(rows)).all())
            assert isinstance(answer, sg.Proved if equal else sg.Refuted)
            sg.check(json.loads(json.dumps(answer.certificate)), left, right)
        assert isinstance(sg.verify(deep, sg.Agree(same)), sg.Proved)


def test_saturated_outputs_tie_and_the_lowest_class_wins():
    """Both outputs are at their top for large x; then class 0 wins, and where a tie counts as a change,
    nothing is robust there.
    """
    encoder = Encoder([integer(0, 9)])
    outputs = QuantizedLayer([[1], [2]], [[3, 6], [3, 6]], encoder.tops)
    network = Network(encoder, [outputs], Head(np.eye(2, dtype=int), tops=[2, 2]))
    assert network.predict([[x] for x in range(10)]).tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert isinstance(sg.verify(network, sg.Robust([8], sg.Linf(2))), sg.Proved)
    assert isinstance(sg.verify(network, sg.Robust([8], sg.Linf(3))), sg.Refuted)
    assert isinstance(sg.verify(network, sg.Robust([8], sg.Linf(1), ties="against")), sg.Refuted)
    found = sg.whatif(network, [8], sg.L1)
    assert (found.cost, found.changed) == (3, (5,))


def test_a_sweep_over_levels(tmp_path):
    network = lively_network(np.random.default_rng(7), "dense")
    X = every_input(network)[::6].astype(int)
    for number, question in enumerate(
        (
            sg.Robust(sg.each, sg.Linf(1)),
            sg.WhatIf(sg.each),
            sg.Why(sg.each, sg.L0(1)),
            sg.Count(sg.each, sg.L0(1)),
        )
    ):
        results = sg.sweep(network, X, question, store=tmp_path / f"{number}.sqlite", jobs=1)
        assert len(results) == len(X)
        assert {checked.status for checked in check_results(results, jobs=1).checks} == {"holds"}


# -- real values ---------------------------------------------------------------------------------------------


def query(lower, upper):
    return Query(len(lower), 2, [Case(QueryBox(lower, upper), [[Inequality({1: 1, 0: -1}, 1)]])])


def test_real_boxes_before_quantized_layers():
    """A first layer over real numbers is binary; what is behind it may have levels."""
    first = RealLayer([[1, 1], [1, -1]], [Fraction(5, 2), Fraction(1, 2)])
    behind = QuantizedLayer([[1, 1], [1, -1]], [[1, 2], [1, 2]], [1, 1])
    network = Network(Encoder.of_reals(2, 0, 3), [first, behind], Head([[1, 0], [0, 1]], tops=[2, 2]))
    for low, high in ((0, 1), (2, 3), (Fraction(9, 4), Fraction(5, 2))):
        box = query([Fraction(low), Fraction(0)], [Fraction(high), Fraction(1, 4)])
        answer = sg.verify(network, box)
        points = product(*(np.linspace(float(a), float(b), 21) for a, b in ((low, high), (0, 0.25))))
        worst = False
        for a, b in points:
            bits = [a + b >= 2.5, a - b >= 0.5]
            levels = [sum(bits), bits[0] + (1 - bits[1])]
            worst |= 2 * (levels[1] - levels[0]) >= 1
        assert isinstance(answer, sg.Refuted if worst else sg.Proved)
        sg.check(json.loads(json.dumps(answer.certificate)), network)


# -- too large -----------------------------------------------------------------------------------------------


def wide_network():
    """A network that is small as it is, and 34 GB once each of its steps has weights of its own."""
    neurons, steps, inputs = 1024, 4096, 1024
    tau = np.broadcast_to(np.arange(steps), (neurons, steps))
    layer = QuantizedLayer(np.ones((neurons, inputs), int), tau, [9] * inputs)
    head = Head(np.ones((2, neurons), int) * [[1], [0]], tops=[steps] * neurons)
    return Network(Encoder.of_integers(inputs, 0, 9), [layer], head)


def test_a_network_that_is_too_large_once_it_is_cut():
    """Nobody falls over: what needs its steps says so, and what does not need them answers."""
    network, x = wide_network(), [1] * 1024
    answer = sg.verify(network, sg.Robust(x, sg.L0(1)), engine="flips")
    assert isinstance(answer, sg.Undecided)
    assert "4,194,304 neurons, one for each step" in str(answer)
    assert not isinstance(sg.whatif(network, x, sg.L0, max_cost=1), sg.Counterfactual)
    assert isinstance(sg.verify(network, sg.Fair([0])), sg.Undecided)
    reason = sg.why(network, x, sg.Free([0, 1])).reasons[0]
    sg.check(json.loads(json.dumps(reason.certificate)), network)
    certificate = json.loads(json.dumps(answer.certificate)) | {
        "answer": "proved",
        "proof": {"kind": "bound"},
    }
    del certificate["proved_up_to"]
    with pytest.raises(CheckLimitError, match="not checked within the limit: a network of 4,194,304 neurons"):
        sg.check(certificate, network)


def test_what_is_too_large_to_cut_in_time_is_never_cut(monkeypatch):
    """Steps by the hundred thousand: dual bounds decide it, or the answer says that it is open; counting says
    so at once.
    """
    rng = np.random.default_rng(0)
    encoder = Encoder.of_integers(40, 0, 255)
    first = QuantizedLayer.from_sums(
        rng.integers(-9, 10, (200, 40)), np.tile(np.arange(255) * 80, (200, 1)), encoder.tops
    )
    network = Network(encoder, [first], Head(rng.integers(-5, 6, (3, 200)), tops=[255] * 200))
    x = rng.integers(0, 256, 40)
    hold(monkeypatch)
    answer = sg.verify(network, sg.Robust(x, sg.Linf(1)), time_limit=2)
    assert isinstance(answer, sg.Proved)
    sg.check(answer.certificate, network)
    alone = sg.verify(network, sg.Robust(x, sg.Linf(0)), engine="bounds", time_limit=0.2)
    assert isinstance(alone, sg.Proved)
    counted = sg.count(network, time_limit=0.2)
    assert "longer than the time that is left" in str(counted)
    hold(monkeypatch, 0.05)
    single = sg.verify(network, sg.Robust(x, sg.L0(1)), time_limit=0.5)
    assert isinstance(single, sg.Undecided) or "dual" in single.engine
    sg.whatif(network, x, sg.L0, time_limit=0.2)
    sg.why(network, x, sg.Linf(3), time_limit=0.2)
    sg.rulebook(network, X=x[None], time_limit=0.2)
    assert "expanded" not in vars(network)
    sg.check(alone.certificate, network)
