"""Fields of questions: checked one by one, what is wrong is named; the schema says the same."""

import json
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import EncodingError, NetworkError, QuestionError, RuleSyntaxError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps, integer, threshold
from sugenet.web import payload
from sugenet.web.asking import ask
from sugenet.web.fields import checked, question_schema
from sugenet.web.results import sample_data

DIGITS = sg.models.digits()


def mixed():
    """A number, categories of several types, and a bit."""
    codings = [
        integer(0, 3),
        OneHot(("left", "right")),
        OneHot((1, "2020-02-29")),
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


def test_categories_are_found_again_from_json():
    network = mixed()
    sample = [2, "right", "2020-02-29", -1]
    fields = checked(network, {"kind": "whatif", "sample": sample})
    assert fields["sample"] == sample
    found = ask(network, {"kind": "whatif", "sample": sample})
    json.dumps(found, allow_nan=False)
    assert found["outcome"] in ("found", "none")
    with pytest.raises(QuestionError, match="kind is True, which is not a category"):
        checked(network, {"kind": "whatif", "sample": [2, "right", True, -1]})
    with pytest.raises(
        EncodingError, match="sample: size is 4 in sample 0, but it must be an integer from 0 to 3"
    ):
        checked(network, {"kind": "whatif", "sample": [4, "right", 1, -1]})


def test_within_chooses_the_inputs():
    rows = [[2, "right", 1, -1], [1, "right", 1, 1]]
    network = mixed().with_training_range(rows).within("data")
    question = {"kind": "count", "sample": rows[0], "region": {"kind": "AnyInput"}}
    totals = [ask(network, question | more)["total"] for more in ({}, {"within": "data"}, {"within": "any"})]
    assert totals == [4, 4, 32]
    with pytest.raises(QuestionError, match="within is 'all', but must be one of data, any"):
        checked(network, question | {"within": "all"})
    with pytest.raises(NetworkError, match="does not know the range of its training data"):
        checked(mixed(), question | {"within": "data"})


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


def test_numbers_that_javascript_would_round_are_asked_about_as_the_page_has_them():
    encoder = Encoder([threshold(float(2**60), whole=True), threshold(0.5)], ["wide", "share"])
    network = Network(encoder, [DenseLayer([[1, 1]], [2])], Head([[1], [-1]]))
    row = [2**60 + 1, Fraction(3, 4)]
    (shown,) = payload(network, np.array([row], dtype=object), title="t")["samples"]
    assert shown["values"] == [str(2**60 + 1), 0.75]
    whole = np.array([[2**60 + 1, 1]], dtype=object)
    found = sg.sweep(network, whole, sg.WhatIf(sg.each), jobs=1)
    assert sample_data(found, 0)["values"] == [str(2**60 + 1), 1]
    question = {"kind": "verify", "sample": shown["values"], "region": {"kind": "L0", "radius": "1"}}
    assert checked(network, question)["sample"] == row
    answer = ask(network, question)
    assert answer["outcome"] == "refuted"
    sg.check(answer["certificate"], network)
    for bad in ("1/0", "1e400", "٣/٤", "", "0x1", "1_0", True, None):
        with pytest.raises(QuestionError, match=r"sample: share is .*, which is"):
            checked(network, question | {"sample": [1, bad]})
    with pytest.raises(EncodingError, match="sample: share"):
        checked(network, question | {"sample": [1, "9" * 400]})


def test_an_unknown_category_is_told_how_many_there_are():
    kinds = OneHot(tuple(f"kind {number}" for number in range(40)))
    network = Network(Encoder([kinds], ["side"]), [], Head([[1] * 40, [-1] * 40]), ["a", "b"])
    with pytest.raises(QuestionError, match=r"The 40 categories are kind 0, .* kind 11 and 28 more\."):
        ask(network, {"kind": "verify", "sample": ["up"], "region": {"kind": "L0", "radius": "1"}})
