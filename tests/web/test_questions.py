"""Questions as JSON: the same answers as the functions give, checked fields,
and nothing that JSON cannot carry.
"""

import json
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Encoder, Head, Network, OneHot, Steps, integer
from sugenet.errors import EncodingError, QuestionError, RuleSyntaxError
from sugenet.problem.sizes import sets_within
from sugenet.reason import verify as reason_verify
from sugenet.web import questions, worker
from sugenet.web.questions import ask, checked, precompute, question_schema

DIGITS = sg.models.digits()
X, _ = sg.models.samples("digits")
SAMPLE = X[7].tolist()
TUMOUR = sg.models.breast_cancer()
B, _ = sg.models.samples("breast_cancer")
L0 = {"kind": "L0", "radius": "2"}


def mixed():
    """A number, a category that JSON knows, one that it does not, and a bit."""
    codings = [
        integer(0, 3),
        OneHot(("left", "right")),
        OneHot((1, date(2020, 2, 29))),
        Steps((1.0,), 0.0, 1.0, True, True),
    ]
    encoder = Encoder(codings, ["size", "side", "kind", "bit"])
    width = sum(coding.width for coding in codings)
    return Network(
        encoder,
        [DenseLayer([[1] * width, [-1] * width], [4, 4])],
        Head([[1, 1], [-1, 1]]),
        ["small", "large"],
    )


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
    assert (first["outcome"], first["value"], len(first["others"])) == ("minimum", "2", 1)
    held = list(first["changes"])
    second = ask(DIGITS, question | {"immutable": held})
    assert not set(held) & set(second["changes"])


@pytest.mark.parametrize("cost", ["L0", "Hamming", "L1", "L2", "Linf"])
def test_every_cost_has_a_certificate_that_holds(cost):
    found = ask(TUMOUR, {"kind": "whatif", "sample": B[3].tolist(), "cost": cost})
    assert found["outcome"] in ("minimum", "found")
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
        DIGITS, {"kind": "count", "sample": SAMPLE, "region": {"kind": "Anything"}, "time_limit": 0.1}
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
    assert questions._clean(given) == {
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
        monkeypatch.setattr(questions, name, stop)
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


def test_categories_are_found_again_from_json():
    network = mixed()
    sample = [2, "right", "2020-02-29", -1]
    fields = checked(network, {"kind": "whatif", "sample": sample})
    assert fields["sample"] == [2, "right", date(2020, 2, 29), -1]
    found = ask(network, {"kind": "whatif", "sample": sample})
    json.dumps(found, allow_nan=False)
    assert found["outcome"] in ("minimum", "none")
    with pytest.raises(QuestionError, match="kind is True, which is no category"):
        checked(network, {"kind": "whatif", "sample": [2, "right", True, -1]})
    with pytest.raises(
        EncodingError, match="sample: size is 4 in sample 0, but it must be a whole number from 0 to 3"
    ):
        checked(network, {"kind": "whatif", "sample": [4, "right", 1, -1]})


def test_the_schema_says_what_each_feature_takes():
    row, named = question_schema(mixed())["oneOf"][0]["properties"]["sample"]["anyOf"]
    wanted = [
        {"type": "integer", "minimum": 0, "maximum": 3},
        {"enum": ["left", "right"]},
        {"enum": [1, "2020-02-29"]},
        {"enum": [-1, 0, 1]},
    ]
    assert row["prefixItems"] == wanted
    assert named["properties"] == dict(zip(mixed().encoder.names, wanted, strict=True))
    assert named["required"] == list(mixed().encoder.names)
    row, _ = question_schema(DIGITS)["oneOf"][0]["properties"]["sample"]["anyOf"]
    assert row["items"] == {"type": "integer", "minimum": 0, "maximum": 16}


def test_a_rule_that_cannot_be_read_is_said_at_once():
    with pytest.raises(RuleSyntaxError, match="has no '->'"):
        checked(DIGITS, {"kind": "rule", "text": "pixel"})


def test_answers_found_beforehand_are_spelled_as_the_page_asks():
    told = []
    pairs = precompute(DIGITS, X[7], notify=told.append)
    asked = [
        {name: value for name, value in pair["question"].items() if name not in ("sample", "n")}
        for pair in pairs
    ]
    assert {"kind": "whatif", "cost": "L0", "target": None, "immutable": []} in asked
    assert {"kind": "whatif", "cost": "L0", "target": "9", "immutable": []} in asked
    assert {"kind": "verify", "region": {"kind": "L0", "radius": "1"}, "target": None} in asked
    assert {"kind": "why", "region": L0, "minimal": "size"} in asked
    assert {"kind": "why", "region": {"kind": "Anything"}, "minimal": "subset"} in asked
    assert all(pair["question"]["sample"] == SAMPLE for pair in pairs)
    outcomes = {
        pair["question"]["region"]["radius"]: pair["answer"]["outcome"]
        for pair in pairs
        if pair["question"]["kind"] == "verify"
    }
    assert outcomes == {"1": "proved", "2": "refuted"}
    assert told[0] == "question 1: whatif"
    for pair in json.loads(json.dumps(pairs, allow_nan=False)):
        checked(DIGITS, pair["question"])
        for part in [pair["answer"], *pair["answer"].get("reasons", [])]:
            if part.get("certificate"):
                sg.check(part["certificate"], DIGITS)


def test_beforehand_nothing_is_begun_without_time():
    assert precompute(DIGITS, X[7], time_limit=0.0) == []


def test_beforehand_an_interrupt_is_the_last_thing_that_happens(monkeypatch):
    monkeypatch.setattr(
        questions,
        "ask",
        lambda *_given, **_named: {"kind": "whatif", "outcome": "undecided", "reason": "interrupted"},
    )
    assert len(precompute(DIGITS, X[7])) == 1


def test_a_certificate_is_checked_within_limits(monkeypatch):
    network = sg.models.digits()
    certificate = sg.verify(network, sg.Robust(sg.models.samples("digits")[0][1], sg.Hamming(1))).certificate
    certificate["question"]["region"]["radius"] = "8"
    sets = int(sets_within(sg.Hamming(8).around(network, certificate["question"]["sample"])))
    certificate["proof"] = {"kind": "walk", "sets": sets, "patterns": 10**9, "digest": "0" * 16}
    body = json.dumps({"certificate": certificate}).encode()
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.2)
    said = worker._check(network, body)
    assert said["holds"] is None
    assert "not checked within the limit" in said["said"]
    twice = worker._check(network, body.replace(b'"answer"', b'"answer": "refuted", "answer"'))
    assert twice == {"status": 400, "error": "the body is not JSON: the key 'answer' stands twice."}
