"""Answers of engines that give no proof: they say so, and nothing that checks them is confused."""

from __future__ import annotations

import json

import pytest

import sugenet as sg
from sugenet import logic
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.engines import ladder
from sugenet.errors import CertificateError
from sugenet.logic.changing import _shown
from sugenet.reason import NoCounterfactual, OpenCounterfactual, answer_of, check_answer
from sugenet.reason.rechecking import is_checkable

NET = Network.of_bits([DenseLayer([[1] * 6], [6])], Head([[1], [-1]]), classes=["0", "1"])
X = [-1] * 6


SAID = "not certified: OR-Tools CP-SAT"


@pytest.fixture(autouse=True)
def cpsat(monkeypatch):
    """The ladder has one engine, CP-SAT, which gives no proof."""
    pytest.importorskip("ortools")
    monkeypatch.setattr(ladder, "_ladder", lambda _problem: [ladder.ENGINES["cpsat"]])


def again(answer):
    found = answer_of(json.loads(json.dumps(answer.data())), NET)
    assert (str(found), found.data()) == (str(answer), answer.data())
    return found


def test_a_claim_without_a_proof_has_no_certificate():
    answer = sg.verify(NET, sg.Robust(X, sg.Hamming(2)))
    assert answer.certificate is None
    assert not answer.is_certified
    assert f"up to 2 bits flipped: holds, {SAID}" in str(answer)
    assert str(answer).endswith(" gives no proof")
    for refused in (answer.certificate, answer.data()):
        with pytest.raises(CertificateError, match="the answer is not certified"):
            sg.check(refused, NET)
    assert not is_checkable(again(answer))
    seen = check_answer(again(answer))
    assert seen.status == "trusted"
    assert SAID in seen.words


def test_a_proof_in_clauses_is_not_a_certificate():
    pytest.importorskip("pysat")
    answer = sg.verify(NET, sg.Robust(X, sg.Hamming(2)), engine="pysat")
    assert (answer.outcome, answer.certificate, answer.is_certified) == ("proved", None, False)
    assert "holds, not certified: Glucose 4 of python-sat" in str(answer)


def test_the_domain_of_a_claim_without_a_certificate_is_kept():
    within = NET.within("x1 = -1 or x2 = -1")
    answer = sg.verify(within, sg.Robust(X, sg.Hamming(2)))
    assert answer.certificate is None
    assert answer_of(json.loads(json.dumps(answer.data())), NET).network.domain == within.domain


def test_a_counterfactual_keeps_the_certificate_of_its_witness():
    answer = sg.whatif(NET, X, sg.Hamming, engine="cpsat")
    assert (answer.cost, answer.lower, answer.is_minimum, answer.is_certified) == (6, 6, True, False)
    assert f"the least, {SAID}" in str(answer)
    assert "the witness changes it at cost 6" in sg.check(answer.certificate, NET)
    assert answer.certificate["lower"] == "1"  # by bounds
    assert check_answer(again(answer)).status == "trusted"
    assert not is_checkable(answer)


def test_no_counterfactual_without_a_proof():
    answer = sg.whatif(NET, X, sg.Hamming, max_cost=3, engine="cpsat")
    assert isinstance(answer, NoCounterfactual)
    assert answer.certificate is None
    assert f"holds, {SAID}" in str(answer)
    assert check_answer(again(answer)).status == "trusted"


def test_a_reason_without_a_proof_is_unknown():
    found = sg.why(NET, X, sg.AnyInput())
    for reason in found.reasons:
        assert (reason.status == "unknown") == (reason.proof_kind is None)
        assert reason.is_certified == (reason.status != "unknown")
        sg.check(reason.certificate, NET)


def test_a_whole_uses_only_what_is_certified():
    whole = sg.logic.Sum.of(NET, [X], [X])
    found = logic.verify(whole, sg.Hamming(2))
    assert found.outcome == "undecided"
    sg.check(found.certificate, NET)
    told = sg.whatif(NET, X, sg.Hamming, max_cost=3, engine="cpsat")
    assert isinstance(_shown(told), OpenCounterfactual)
    sg.check(_shown(told).certificate, NET)
    least = sg.whatif(NET, X, sg.Hamming, engine="cpsat")
    assert (_shown(least).lower, _shown(least).is_certified) == (1, True)
