"""Questions as JSON: the same answers as the functions give, and nothing that JSON cannot carry."""

import json
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.nn import DenseLayer, Head, Network
from sugenet.reason import verify as reason_verify
from sugenet.web import asking, worker
from sugenet.web.asking import ask
from tests.fuzzing.bombs import bits

DIGITS = sg.models.digits()
X, _ = sg.models.samples("digits")
SAMPLE = X[7].tolist()
TUMOUR = sg.models.breast_cancer()
B, _ = sg.models.samples("breast_cancer")
L0 = {"kind": "L0", "radius": "2"}


def plainly(answer):
    """An answer after a way through JSON, without what differs each time."""
    return {
        name: value
        for name, value in json.loads(json.dumps(answer, allow_nan=False)).items()
        if name != "seconds"
    }


def test_verify_is_robust():
    asked = ask(
        DIGITS, {"kind": "verify", "sample": SAMPLE, "region": {"kind": "L0", "radius": "1"}, "target": "5"}
    )
    told = reason_verify(DIGITS, sg.Robust(SAMPLE, sg.L0(1), "5"))
    assert plainly(asked) == plainly(told.data() | {"kind": "verify", "sentence": str(told)})


def test_whatif_keeps_what_must_stay():
    question = {"kind": "whatif", "sample": SAMPLE, "cost": "L0", "target": None, "n": 2}
    first = ask(DIGITS, question)
    assert (first["is_minimum"], first["cost"], len(first["others"])) == (True, "2", 1)
    held = list(first["changes"])
    second = ask(DIGITS, question | {"keep": held})
    assert not set(held) & set(second["changes"])


@pytest.mark.parametrize("cost", ["L0", "Hamming", "L1", "L2", "Linf"])
def test_every_cost_has_a_certificate_that_holds(cost):
    found = ask(TUMOUR, {"kind": "whatif", "sample": B[3].tolist(), "cost": cost})
    assert found["outcome"] == "found"
    sg.check(json.loads(json.dumps(found["certificate"])), TUMOUR)


def test_reasons_are_told_as_they_are_found():
    parts = []
    found = ask(
        DIGITS,
        {"kind": "why", "sample": SAMPLE, "region": L0, "minimal": "size", "n": 4},
        on_part=parts.append,
    )
    assert (found["outcome"], found["reasons"]) == ("found", parts)
    assert len(parts) == 4


def test_a_rule_is_decided_and_counted():
    network, text = (
        Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"]),
        "x1 = 1 and x2 = 1 -> on",
    )
    told = sg.reason.check_rule(network, text)
    asked = ask(network, {"kind": "rule", "text": text})
    assert (asked["outcome"], asked["rule"], asked["sentence"]) == ("proved", str(told.rule), str(told))
    assert asked["figures"] == plainly(told.figures.data())


def test_numbers_that_javascript_would_round_are_text_but_not_in_certificates():
    found = ask(
        DIGITS, {"kind": "count", "sample": SAMPLE, "region": {"kind": "AnyInput"}, "time_limit": 0.1}
    )
    assert found["total"] == str(4**64)
    given = {
        "n": 2**53,
        "certificate": {"n": 2**53},
        "f": Fraction(1, 3),
        "a": np.arange(2),
        "i": float("inf"),
        "s": {1},
    }
    assert asking.cleaned(given) == {
        "n": str(2**53),
        "certificate": {"n": 2**53},
        "f": "1/3",
        "a": [0, 1],
        "i": "inf",
        "s": [1],
    }


def test_what_is_interrupted_says_so(monkeypatch):
    def stop(*_given, each=None, **_named):
        if each is not None:
            each(sg.why(DIGITS, SAMPLE, sg.L0(2), minimal="size").reasons[0])
        raise KeyboardInterrupt

    for name in ("count", "why", "coverage"):
        monkeypatch.setattr(asking, name, stop)
    counted = ask(DIGITS, {"kind": "count", "sample": SAMPLE, "region": L0})
    assert (counted["outcome"], counted["reason"], counted["certificate"]) == (
        "undecided",
        "interrupted",
        None,
    )
    reasons = ask(DIGITS, {"kind": "why", "sample": SAMPLE, "region": L0})
    assert (reasons["outcome"], len(reasons["reasons"])) == ("found", 1)
    rule = ask(DIGITS, {"kind": "rule", "text": "pixel (3,3) >= 12 -> 3"})
    assert (rule["outcome"], rule["figures"]) == ("refuted", None)


def test_a_certificate_is_checked_within_limits(monkeypatch):
    network = bits(depth=2)
    certificate = sg.verify(network, sg.Robust([0] * 64, sg.Hamming(0))).certificate
    certificate["question"]["region"]["radius"] = "8"
    certificate["proof"] = {"kind": "enumerate"}
    body = json.dumps({"certificate": certificate}).encode()
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.2)
    said = json.loads(worker._check(network, body))
    assert said["holds"] is None
    assert "not checked within the limit" in said["said"]
    twice = json.loads(worker._check(network, body.replace(b'"answer"', b'"answer": "refuted", "answer"')))
    assert twice == {"status": 400, "error": "the body is not JSON: the key 'answer' stands twice."}


def test_a_rule_is_decided_before_it_is_counted_how_far_it_reaches():
    network = Network.of_bits([], Head([[1, 1, 1], [-1, -1, -1]]))
    told = []
    question = {"kind": "rule", "text": "x1 = 1 -> 0"}
    answer = ask(network, question, on_part=told.append, notify=told.append)
    counting = next(place for place, one in enumerate(told) if str(one).startswith("counting how many"))
    parts = [one for one in told if isinstance(one, dict)]
    assert told.index(parts[0]) < counting
    assert (parts[0]["kind"], parts[0]["figures"]) == ("rule", None)
    assert parts[0]["verdict"] == answer["verdict"]
    assert answer["sentence"].startswith(parts[0]["sentence"])
    assert len(parts) == 1
    assert answer["figures"]["covered"] == 4
