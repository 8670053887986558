"""Every answer and every question goes to JSON and comes back as the same type, which says the same; what is
damaged, or about another network, is refused.
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, integer, thermometer
from sugenet.nn.source import Source
from sugenet.reason import (
    CheckedRule,
    Count,
    Counted,
    CountOpen,
    CountSampled,
    NetworkRule,
    Predict,
    Predicted,
    Reason,
    Reasons,
    Rulebook,
    Rules,
    Suffices,
    WhatIf,
    Why,
    answer_of,
    ask,
    question_of,
)
from sugenet.reason.questions import data_of
from tests.io.queries import around
from tests.problem.small import random_network, random_sample, raw_values
from tests.thinned import examples

NET = Network(
    Encoder(
        [integer(0, 3), OneHot(("left", "right")), thermometer([0.1, 0.5], 0, 1)], ["size", "side", "share"]
    ),
    [DenseLayer([[1, 1, 1, -1, 1, 1, 0], [1, -1, 1, 1, 0, -1, 1], [-1, 1, 1, 1, 0, 1, 1]], [3, 2, 3])],
    Head([[1, 1, -1], [-1, 1, 1]], [0, Fraction(1, 3)]),
    ["no", "yes"],
)
OTHER = Network(NET.encoder, [], Head([[1] * 7, [-1] * 7]), NET.classes)
X = [2, "left", Fraction(1, 4)]
FLOAT = [1, "right", 0.3]
EACH = {"sample": "each", "label": None}
IDLE = Network(NET.encoder, [], Head([[0] * 7, [0] * 7], [1, 0]), NET.classes)
FILED = Network(
    Encoder.of_integers(2, 0, 9), [], Head([[1] * 18, [-1] * 18]), source=Source(1, Fraction(-1, 4))
)

ANSWERS = {
    "proved": lambda: sg.verify(NET, sg.Robust(X, sg.L0(0))),
    "proved by a walk": lambda: sg.verify(IDLE, sg.Robust(X, sg.Hamming(2)), engine="flips"),
    "trusted": lambda: sg.verify(IDLE, sg.Always("no"), engine="cpsat"),
    "refuted": lambda: sg.verify(NET, sg.Robust(FLOAT, sg.L1(Fraction(7, 3)), ties="against")),
    "refuted pair": lambda: sg.verify(NET, sg.Fair("side", {"size": (1, 3)})),
    "refuted agreement": lambda: sg.verify(NET, sg.Agree(OTHER, {"side": "left"})),
    "refuted query": lambda: sg.verify(FILED, around([0, -1], 1, 0, 2)),
    "proved query": lambda: sg.verify(FILED, around([0, -1], Fraction(1, 4), 0, 2)),
    "undecided": lambda: sg.verify(NET, sg.Never(1), engine="bounds"),
    "undecided, up to": lambda: sg.verify(NET, sg.Robust(X, sg.AnyInput()), engine="flips"),
    "minimum": lambda: sg.whatif(NET, X, sg.L2, max_cost=1.5),
    "several": lambda: sg.whatif(NET, FLOAT, n=4),
    "largest": lambda: sg.whatif(
        NET, FLOAT, sg.Linf, n="all", region=sg.Box({"size": (None, 3), "side": {"right"}})
    ),
    "prices": lambda: sg.whatif(NET, X, sg.Prices({"side": 0.3, 0: Fraction(1, 7)}, per_unit=True)),
    "none": lambda: sg.whatif(IDLE, X, target="yes", keep=["side"], max_cost=2),
    "open": lambda: sg.whatif(NET, X, sg.L1, engine="bounds", time_limit=0),
    "reasons": lambda: sg.why(NET, X, sg.AnyInput(), n="all"),
    "reasons within a fraction": lambda: sg.why(NET, X, sg.Linf(Fraction(1, 2))),
    "reasons within a whole float": lambda: sg.why(NET, X, sg.L0(2.0)),
    "reasons while free by name": lambda: sg.why(NET, X, sg.Free(["size", "share"])),
    "a reason": lambda: sg.why(NET, FLOAT, sg.Linf(0.2), minimal="size", target=1).reasons[0],
    "no reasons": lambda: sg.why(NET, X, sg.AnyInput(), n="all", minimal="size", time_limit=0),
    "predicted": lambda: ask(NET, Predict(X)),
    "counted": lambda: sg.count(NET, X, sg.Hamming(2), where={"size": {1, 2}}),
    "counted in a box": lambda: sg.count(NET, X, sg.Box({"size": (1, 3), "share": (0.25, None)})),
    "counted all": lambda: sg.count(NET),
    "count open": lambda: sg.count(NET, where={"side": "left"}, method="walk", time_limit=0),
    "estimated": lambda: sg.count(NET, X, sg.AnyInput(), method="sample", samples=20),
    "rule": lambda: sg.check_rule(NET, "size >= 2 and side = left -> yes"),
    "rule of values": lambda: sg.check_rule(NET, NetworkRule(NET, ((0, 2), (1, "left")), 1)),
    "book": lambda: sg.rulebook(NET, "yes"),
}
ABOUT = {
    "proved by a walk": IDLE,
    "trusted": IDLE,
    "none": IDLE,
    "refuted query": FILED,
    "proved query": FILED,
}


@cache
def answered(name):
    return ANSWERS[name]()


def there_and_back(answer, network, other=None):
    data = answer.data()
    assert json.loads(json.dumps(data)) == data
    again = answer_of(json.loads(json.dumps(data)), network, other)
    assert type(again) is type(answer)
    assert again.data() == data
    assert str(again) == str(answer)
    assert type(again.question) is type(answer.question)
    assert data_of(network, again.question) == data_of(network, answer.question)
    return again


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_come_back_as_they_were(name):
    answer = answered(name)
    again = there_and_back(answer, ABOUT.get(name, NET), OTHER)
    if hasattr(answer, "engine"):
        assert (again.engine, again.is_certified) == (answer.engine, answer.is_certified)
    if getattr(answer, "certificate", None) is not None and getattr(answer, "is_certified", False):
        assert sg.check(again.certificate, ABOUT.get(name, NET), OTHER if "agreement" in name else None)


def test_every_type_of_answer_is_tried():
    public = {sg.Proved, sg.Refuted, sg.Undecided, sg.Counterfactual, sg.NoCounterfactual}
    public |= {
        sg.OpenCounterfactual,
        Reason,
        Reasons,
        Counted,
        CountOpen,
        CountSampled,
        Predicted,
        CheckedRule,
        Rulebook,
    }
    assert {type(answered(name)) for name in ANSWERS} == public
    assert len(answered("several").others) == 3
    assert answered("refuted query").data()["source_witness"]
    assert answered("no reasons").data()["question"]["kind"] == "why"


def limits(network):
    """Limits of some features."""
    one = []
    for name, coding in zip(network.encoder.names, network.encoder.codings, strict=True):
        values = st.sampled_from(raw_values(coding))
        if isinstance(coding, OneHot):
            limit = st.frozensets(values, min_size=1) | values
        else:
            limit = st.tuples(st.none() | values, st.none() | st.just(Fraction(9, 2))) | values
        one.append(st.none() | st.tuples(st.just(name), limit))
    return st.tuples(*one).map(lambda rows: sg.Box([row for row in rows if row is not None]))


@st.composite
def questions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    network = random_network(rng)
    x, some = random_sample(network, rng), st.integers(0, network.encoder.features - 1)
    radius = st.sampled_from([0, 2, 0.7, Fraction(1, 3), Fraction(5, 2), 2**70])
    balls = st.sampled_from([sg.Hamming, sg.L0, sg.L1, sg.L2, sg.Linf])
    region = st.builds(lambda kind, size: kind(size), balls, radius)
    region |= st.builds(sg.Free, st.lists(some)) | st.just(sg.AnyInput()) | limits(network)
    label = int(network.predict(np.array([x], object))[0])
    target = draw(st.none() | st.integers(0, 2).filter(lambda k: k != label))
    ties, fixed = draw(st.sampled_from(["lowest", "against"])), st.frozensets(some).map(sorted).map(tuple)
    costs = balls | st.dictionaries(some, radius, min_size=1).map(
        lambda prices: sg.Prices(prices, len(prices) > 1)
    )
    within = st.none() | region.filter(lambda r: isinstance(r, sg.Linf | sg.Free | sg.Box | sg.AnyInput))
    made = st.one_of(
        st.builds(sg.Robust, st.just(x), region, st.just(target), st.just(ties)),
        st.builds(Why, st.just(x), region, st.just(target), st.just(ties)),
        st.builds(Suffices, st.just(x), region, st.just(target), st.just(ties), fixed),
        st.builds(
            WhatIf, st.just(x), costs, st.just(target), fixed, within, st.none() | radius, st.just(ties)
        ),
        st.builds(sg.Always, st.integers(0, 2), limits(network)),
        st.builds(sg.Never, st.integers(0, 2), st.none()),
        st.builds(sg.Monotone, some, st.none() | st.integers(0, 2), st.booleans(), limits(network)),
        st.builds(sg.Fair, st.lists(some, min_size=1), limits(network)),
        st.builds(sg.Agree, st.just(network), limits(network)),
        st.builds(Count, st.just(x), region, limits(network)),
        st.builds(lambda where: Count(where=where), limits(network)),
        st.builds(Predict, st.just(x)),
        st.builds(Rules, st.frozensets(st.integers(0, 2)).map(sorted).map(tuple)),
    )
    return network, draw(made)


@settings(max_examples=examples(80))
@given(questions())
def test_questions_come_back_as_they_were(asked):
    network, question = asked
    data = question.data(network)
    again = question_of(json.loads(json.dumps(data)), network, network)
    assert type(again) is type(question)
    assert again.data(network) == data
    assert again.describe(network)
    if not hasattr(question, "about") or (isinstance(question, Count | sg.Agree) and question.sample is None):
        return
    whole = question.about(sg.each)
    data = whole.data(network)
    assert data["sample"] == "each"
    assert data.get("label") is None
    again = question_of(json.loads(json.dumps(data)), network)
    assert type(again) is type(question)
    assert again.sample is sg.each
    assert again.data(network) == data
    assert again.describe(network)
    assert again.about(question.sample).data(network) == question.data(network)


def nested():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("proved", lambda d: d.pop("claim"), "no field 'claim'"),
        ("proved", lambda d: d.pop("certificate"), "no field 'certificate'"),
        ("proved", lambda d: d.update(more=1), "a field 'more' that it must not have"),
        ("proved", lambda d: d.update(outcome="refuted"), "'outcome' does not fit"),
        ("proved", lambda d: d["certificate"].update(network="0" * 64), "the network 000000000000, not"),
        ("proved", lambda d: d["certificate"].update(format="letter"), "not a sugenet certificate"),
        ("proved", lambda d: d["certificate"].update(version=2), "version 3"),
        ("proved", lambda d: d["certificate"].update(answer="perhaps"), "no such answer: 'perhaps'"),
        (
            "proved",
            lambda d: d["certificate"]["question"].update(label=0),
            "'label' of the question says 0, but 1",
        ),
        ("proved", lambda d: d["certificate"]["question"].pop("label"), "the question has no field 'label'"),
        ("proved", lambda d: d["certificate"]["question"].update(total=1), "'total' that it must not have"),
        (
            "proved",
            lambda d: d["certificate"]["question"].update(kind="guess"),
            "no kind of question 'guess'",
        ),
        ("refuted", lambda d: d["changes"].clear(), "'changes' does not fit"),
        ("refuted", lambda d: d["conditions"].clear(), "'conditions' does not fit"),
        ("refuted", lambda d: d["certificate"]["witness"].pop(), "damaged"),
        (
            "refuted agreement",
            lambda d: d["certificate"]["question"].update(other="1" * 64),
            "other network 1111",
        ),
        ("minimum", lambda d: d.update(lower="0"), "'lower' does not fit"),
        ("minimum", lambda d: d["certificate"]["question"].update(limit="2"), "'limit' of the question"),
        ("minimum", lambda d: d["certificate"]["question"]["cost"].update(kind="L9"), "no cost 'L9'"),
        ("several", lambda d: d["others"][0].pop("cost"), "'others' does not fit"),
        ("a reason", lambda d: d.update(status="minimal"), "'status' does not fit"),
        ("reasons", lambda d: d["core"].append("size"), "'core' does not fit"),
        ("reasons", lambda d: d["contrasts"].append({"nobody": 1}), "damaged"),
        ("counted", lambda d: d["counts"].update(no=0), "'counts' does not fit"),
        ("count open", lambda d: d.update(outcome="counted"), "damaged|no field"),
        ("predicted", lambda d: d.update(index=1 - d["index"]), "'index' does not fit"),
        ("predicted", lambda d: d["matches"].pop(), "damaged"),
        ("predicted", lambda d: d["matches"].__setitem__(0, 4), "a class has 4 matches of 3"),
        ("predicted", lambda d: d["matches"].__setitem__(0, True), "a class has True matches"),
        ("predicted", lambda d: d.update(outcome="proved"), "no such answer: 'proved'"),
        ("proved", lambda d: d["certificate"]["question"].update(EACH), "its question says each"),
        ("minimum", lambda d: d["certificate"]["question"].update(EACH), "its question says each"),
        ("counted", lambda d: d["certificate"]["question"].update(sample="each"), "its question says each"),
        ("counted in a box", lambda d: d["certificate"]["question"].update(sample="each"), "says each"),
        ("predicted", lambda d: d["question"].update(sample="each"), "its question says each"),
        ("estimated", lambda d: d["hits"].pop("no"), "no field 'no'"),
        (
            "proved",
            lambda d: d["certificate"]["question"]["region"].update(radius="1e1000000000"),
            "a number such as 3",
        ),
        (
            "proved",
            lambda d: d["certificate"]["question"]["sample"].__setitem__(2, "1e1000000000"),
            "a number such as 3",
        ),
        ("minimum", lambda d: d["certificate"].update(value="1e1000000000"), "a number such as 3"),
        (
            "minimum",
            lambda d: d["certificate"]["question"].update(limit="1e1000000000"),
            "a number such as 3",
        ),
        (
            "counted",
            lambda d: d["certificate"]["question"]["where"].append([2, ["1e1000000000", None]]),
            "a number such as 3",
        ),
        ("proved", lambda d: d.update(claim=nested()), "'claim' does not fit"),
        ("proved", lambda d: d.update(claim=7), "'claim' does not fit"),
        ("proved", lambda d: d["certificate"].update(proof="bounds"), "it is of no kind"),
        ("proved", lambda d: d["certificate"]["proof"].pop("kind"), "it is of no kind"),
        ("open", lambda d: d["certificate"].pop("proof"), "no field 'proof'"),
        ("open", lambda d: d.update(reason=False), "damaged"),
        ("refuted", lambda d: d.update(labels=[False]), "'labels' that it must not"),
        ("undecided, up to", lambda d: d.update(facts=None), "damaged"),
        ("undecided, up to", lambda d: d.update(facts=[]), "'facts' of the answer is not what it must be"),
        ("count open", lambda d: d.update(reason=1), "damaged"),
        ("reasons", lambda d: d.update(region=None), "'region' does not fit"),
        ("book", lambda d: d.update(seconds=10**400), "its 'seconds' field is not a valid duration"),
        ("rule", lambda d: d.update(rule="size >= 1 -> yes"), "'rule' does not fit"),
        ("rule", lambda d: d["figures"].update(coverage="1"), "'figures' does not fit"),
        ("book", lambda d: d.pop("kind"), "no field 'kind'"),
    ],
)
def test_damaged_answers_are_refused(name, change, message):
    data = copy.deepcopy(answered(name).data())
    change(data)
    with pytest.raises(CertificateError, match=message):
        answer_of(data, NET, OTHER)


@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in ABOUT])
def test_answers_about_another_network_are_refused(name):
    data = answered(name).data()
    if data.get("certificate") is not None or name in ("rule", "rule of values", "book"):
        with pytest.raises(CertificateError, match=r"is (about|for) the network"):
            answer_of(data, IDLE)
    else:  # nothing is claimed that could be checked: only what does not fit is seen
        with pytest.raises(CertificateError, match=r"field|damaged"):
            answer_of(data, FILED)


def test_what_is_no_answer_is_refused():
    with pytest.raises(CertificateError, match="an answer is a JSON object"):
        answer_of([1], NET)
    with pytest.raises(QuestionError, match="give the other one too"):
        question_of(sg.Agree(OTHER).data(NET), NET)
    with pytest.raises(QuestionError, match="no field 'kind'"):
        question_of({}, NET)
    with pytest.raises(QuestionError, match="damaged"):
        question_of([], NET)


def test_answers_from_before_there_were_conditions_are_read():
    network = sg.Network.of_bits([], sg.nn.Head([[1, 1], [-1, -1]]))
    answer = sg.whatif(network, [1, 1])
    data = answer.data()
    assert data.pop("conditions")
    assert str(answer_of(data, network)) == str(answer)
