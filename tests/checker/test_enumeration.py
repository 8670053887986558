"""Enumeration: which form a question gets, that all forms say the same, and that none is believed blindly."""

from __future__ import annotations

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.checker.accelerate import enumeration
from sugenet.errors import CertificateError

ENUMERATE = {"kind": "enumerate"}


def network(widths, seed=0, bias=40):
    rng = np.random.default_rng(seed)
    sizes = zip(widths[1:], widths, strict=False)
    layers = [DenseLayer(rng.choice([-1, 1], (n, m)), [(m + 1) // 2] * n) for n, m in sizes]
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (2, widths[-1])), bias=[bias, 0]))


def claim(net, region, label=0):
    """That the class of one sample stays, whether that is so or not."""
    answer = sg.verify(net, sg.Robust([1] * net.encoder.features, region))
    found = dict(answer.certificate) | {"answer": "proved", "witness": None, "proof": ENUMERATE}
    assert found["question"]["label"] == label
    return found


FORMS = [
    ((9, 12), sg.AnyInput(), 512, "branch and bound"),
    ((9, 12, 6), sg.AnyInput(), 512, "walk"),
    ((9, 90, 6), sg.AnyInput(), 512, "walk"),
    ((16, 90, 6), sg.AnyInput(), 65_536, "blocks"),
    ((9, 12, 6), sg.Hamming(9), 512, "walk"),
    ((9, 12), sg.Hamming(2), 46, "walk"),
    ((9, 90, 6), sg.Hamming(2), 46, "walk"),
]


@pytest.mark.parametrize(("widths", "region", "sets", "form"), FORMS)
def test_the_question_chooses_the_form(widths, region, sets, form):
    net = network(widths, bias=2 * widths[-1] + 2)
    said = f"none of the {sets:,} sets of changes is a violation"
    assert sg.check(claim(net, region), net) == f"{said} ({form})"
    assert sg.check(claim(net, region), net, plain=True) == f"{said} (plain form)"


def test_many_sets_within_a_budget_go_in_blocks(monkeypatch):
    monkeypatch.setattr(enumeration, "_MANY", 40)
    net = network((9, 90, 6), bias=20)
    said = sg.check(claim(net, sg.Hamming(2)), net)
    assert said == "none of the 46 sets of changes is a violation (blocks)"
    net = network((9, 12), bias=30)  # no later layer, which blocks are made for
    assert sg.check(claim(net, sg.Hamming(2)), net).endswith("(walk)")


def test_what_a_form_refuses_goes_to_the_next():
    """Scores of 61 bits are too large for branch and bound, later weights of 2 for blocks."""
    net = network((9, 90))
    head = Head(net.head.weights, bias=[1 << 70, 0], scale=[(1 << 61) + 1, 1 << 61])
    fine = Network.of_bits(net.layers, head)
    assert sg.check(claim(fine, sg.AnyInput()), fine).endswith("(walk)")
    first, second = network((16, 90, 6)).layers
    heavy = Network.of_bits(
        [first, DenseLayer(2 * second.weights, 2 * second.tau)], Head([[1] * 6, [-1] * 6], [40, 0])
    )
    assert sg.check(claim(heavy, sg.AnyInput()), heavy).endswith("(walk)")


@pytest.mark.parametrize(("widths", "region", "sets", "form"), FORMS)
def test_every_form_sees_violations(widths, region, sets, form):
    """Without a bias some of these classes change: the definition says which."""
    refused = 0
    for seed in range(8):
        net = network(widths, seed, bias=0)
        x = [1] * widths[0]
        answer = sg.verify(net, sg.Robust(x, region))
        if not isinstance(answer, sg.Refuted):
            continue
        lie = dict(answer.certificate) | {"answer": "proved", "witness": None, "proof": ENUMERATE}
        for plain in (False, True):
            with pytest.raises(CertificateError, match="is a violation"):
                sg.check(lie, net, plain=plain)
        refused += 1
    assert refused, (sets, form)


def test_a_form_that_sees_another_number_of_sets_is_refused(monkeypatch):
    net = network((9, 12), bias=30)
    monkeypatch.setattr(enumeration, "_seen", lambda *_: 511)
    with pytest.raises(CertificateError, match="there are 512 sets of changes, and the branch and bound saw"):
        sg.check(claim(net, sg.AnyInput()), net)


def test_the_proof_has_no_fields():
    net = network((9, 12), bias=30)
    whole = claim(net, sg.Hamming(2))
    for more in ({"sets": 46}, {"patterns": 3}, {"digest": "0" * 16}):
        with pytest.raises(CertificateError, match="that it must not have"):
            sg.check(whole | {"proof": ENUMERATE | more}, net)
    for kind in ("walk", "sweep", "combinations", "branches", "bounds", "rup", "parts"):
        with pytest.raises(CertificateError, match=f"unknown kind '{kind}'"):
            sg.check(whole | {"proof": {"kind": kind}}, net)
