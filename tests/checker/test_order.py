"""The rule `order`: what it accepts holds for every pair of inputs, engine and checker agree, and forgeries
fail.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.order import _is_excluded
from sugenet.errors import CertificateError
from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    QuantizedLayer,
    integer,
    thermometer,
)

VALUES = [range(4), range(4), ["a", "b"]]


def drawn(seed):
    """A small network of bits or levels, with many weights 0, so that about half are monotone."""
    rng = np.random.default_rng(seed)
    kind, depth, classes = seed % 3, int(rng.integers(0, 3)), int(rng.integers(2, 4))
    cuts = integer(0, 3) if kind == 1 else thermometer([1, 2, 3], 0, 3, True)
    codings = [cuts, cuts] if kind == 1 else [cuts, cuts, OneHot(("a", "b"))]
    encoder, layers = Encoder(codings, ["p", "q", "r"][: len(codings)]), []
    tops = np.full(2, 3) if kind == 1 else np.ones(encoder.width, int)
    for _ in range(max(depth, kind == 1)):
        weights = rng.integers(-1, 2, (3, len(tops))) * (rng.random((3, len(tops))) < 0.6)
        tau = rng.integers(1, np.abs(weights) @ tops + 2)
        if kind == 2:
            layers.append(QuantizedLayer(weights, np.stack([tau, tau + 1], axis=1), tops))
            tops = np.full(3, 2)
        else:
            layers.append(DenseLayer(weights, tau) if (tops == 1).all() else LevelLayer(weights, tau, tops))
            tops = np.ones(3, int)
    rows = rng.integers(-1, 2, (classes, len(tops)))
    scale, bias = (1, 0) if seed % 2 else (rng.integers(0, 3, classes), rng.integers(-2, 3, classes))
    head = Head(rows, bias, scale, tops=None if (tops == 1).all() else tops)
    return Network(encoder, layers, head)


def never_lower(network, feature, rising, allowed=lambda _: True):
    """By definition, over all pairs of inputs that differ in one feature."""
    rows = [row for row in product(*VALUES[: network.encoder.features]) if allowed(row)]
    label = dict(zip(rows, network.predict(np.array(rows, dtype=object)).tolist(), strict=True))
    pairs = [(a, (*a[:feature], value, *a[feature + 1 :])) for a in rows for value in range(4)]
    return all(
        label[b] >= label[a]
        for a, b in pairs
        if b in label and (b[feature] - a[feature]) * (1, -1)[not rising] > 0
    )


def claimed(network, question):
    """The certificate of the question by order, whether or not it holds."""
    answer = sg.verify(network, question, engine="bounds")
    if answer.outcome == "proved":
        return answer.certificate
    blank = {key: answer.certificate[key] for key in answer.certificate if key != "proved_up_to"}
    return {**blank, "witness": None, "proof": {"kind": "order"}, "answer": "proved"}


@pytest.mark.parametrize("laws", [False, True])
def test_engine_and_checker_agree_and_are_right(laws):
    accepted = refused = 0
    for seed in range(60):
        network = drawn(seed)
        if laws:
            network = network.within(["p != 2"])
        for feature, rising in product((0, 1), (True, False)):
            question = sg.Monotone(feature, rising=rising)
            answer = sg.verify(network, question, engine="bounds")
            by_order = answer.outcome == "proved" and answer.proof_kind == "order"
            forged = {**claimed(network, question), "proof": {"kind": "order"}}
            for plain in (False, True):
                if by_order:
                    assert "signs of weights" in sg.check(forged, network, plain=plain)
                else:
                    with pytest.raises(CertificateError, match="signs of weights do not exclude a violation"):
                        sg.check(forged, network, plain=plain)
            if by_order:
                assert never_lower(network, feature, rising, lambda row: not laws or row[0] != 2)
            accepted, refused = accepted + by_order, refused + (not by_order)
    assert min(accepted, refused) > 30


def test_a_class_that_is_kept():
    network = Network(Encoder([thermometer([1, 2])], ["p"]), [], Head([[0, -1], [1, 1], [0, 1]]))
    kept = sg.verify(network, sg.Monotone("p", 1))
    assert (kept.outcome, kept.proof_kind) == ("proved", "order")
    assert str(kept).endswith("proved by the signs of weights along all paths")
    assert sg.verify(network, sg.Monotone("p", 0)).outcome == "refuted"


def test_it_is_about_two_inputs_of_one_network():
    network = drawn(0)
    for question in (sg.Never(0), sg.Agree(network)):
        forged = {**claimed(network, question), "proof": {"kind": "order"}}
        with pytest.raises(
            CertificateError, match="a proof of kind 'order' is about two inputs of one network"
        ):
            sg.check(forged, network, network if isinstance(question, sg.Agree) else None)


def test_a_fair_network_reads_nothing_protected():
    """Both orders are excluded only if the protected feature has no path to the class."""
    weights = [[1, 1, 0, 0], [1, -1, 0, 0]]
    encoder = Encoder([thermometer([1, 2]), thermometer([1, 2])], ["p", "q"])
    network = Network(encoder, [DenseLayer(weights, [1, 1])], Head([[1, 0], [0, 1]]))
    forged = claimed(network, sg.Fair(["q"]))
    assert sg.check({**forged, "proof": {"kind": "order"}}, network)
    forged = claimed(network, sg.Fair(["p"]))
    with pytest.raises(CertificateError):
        sg.check({**forged, "proof": {"kind": "order"}}, network)


def test_constant_scores_are_compared_with_the_class_they_lose_to():
    """Several inequalities of a case are about no neuron: the largest bound among them counts."""
    head = Head([[-6], [-7], [6]], (Fraction(1, 3), 1, 0), (1, 0, 0))
    network = Network(Encoder([thermometer([2], 0)], ["p"]), [], head)
    assert never_lower(network, 0, True)
    answer = sg.verify(network, sg.Monotone("p"), engine="bounds")
    assert answer.is_proved
    assert sg.check(answer, network)


@pytest.mark.parametrize(("bound", "excluded"), [(-1, False), (0, False), (Fraction(1, 2), True)])
def test_opposite_inequalities_that_one_sum_meets_exclude_nothing(bound, excluded):
    """On the left s >= 0, on the right -s >= bound: with 0, both hold where s is 0."""
    form = form_of(Network.of_bits([], Head([[1, 1], [0, 0]])))
    case = [([1, -1, 0, 0], Fraction(0)), ([0, 0, -1, 1], Fraction(bound))]
    assert _is_excluded(case, form, [(True, False)] * 2) is excluded
    assert not _is_excluded(case, form, [(True, False), (True, True)])
