"""Precomputed answers: spelled as the page asks, within their time."""

import json

import sugenet as sg
from sugenet.web import asking
from sugenet.web.asking import precompute
from sugenet.web.fields import checked

DIGITS = sg.models.digits()
X, _ = sg.models.samples("digits")
SAMPLE = X[7].tolist()
L0 = {"kind": "L0", "radius": "2"}


def test_precomputed_answers_are_spelled_as_the_page_asks():
    told = []
    pairs = precompute(DIGITS, X[7], notify=told.append)
    asked = [
        {name: value for name, value in pair["question"].items() if name not in ("sample", "n")}
        for pair in pairs
    ]
    assert {"kind": "whatif", "cost": "L0", "target": None, "keep": []} in asked
    assert {"kind": "whatif", "cost": "L0", "target": "9", "keep": []} in asked
    assert {"kind": "verify", "region": {"kind": "L0", "radius": "1"}, "target": None} in asked
    assert {"kind": "why", "region": L0, "minimal": "size"} in asked
    assert {"kind": "why", "region": {"kind": "AnyInput"}, "minimal": "subset"} in asked
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


def test_nothing_is_precomputed_without_time():
    assert precompute(DIGITS, X[7], time_limit=0.0) == []


def test_an_interrupt_is_the_last_thing_that_happens(monkeypatch):
    monkeypatch.setattr(
        asking,
        "ask",
        lambda *_given, **_named: {"kind": "whatif", "outcome": "undecided", "reason": "interrupted"},
    )
    assert len(precompute(DIGITS, X[7])) == 1
