"""Questions as values: about each sample or one, to the verb that answers them, and what came out."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.reason import (
    Counted,
    Predict,
    Predicted,
    Suffices,
    ask,
    is_settled,
    settings_of,
)
from sugenet.reason.questions import Rules
from tests.io.queries import around
from tests.problem.small import random_network, random_sample

NET = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
X = [1, -1, 1, -1]
BALL = sg.Hamming(1)
WHOLE = {
    "verify": sg.Robust(sg.each, BALL, ties="against"),
    "whatif": sg.WhatIf(sg.each, sg.L1, "on", keep=["x1"], max_cost=3),
    "why": sg.Why(sg.each, BALL),
    "count": sg.Count(sg.each, BALL, {"x1": 1}),
    "predict": sg.Predict(sg.each),
}


# -- each ----------------------------------------------------------------------------------------------------


def test_each_is_one_value():
    assert repr(sg.each) == "each"
    assert pickle.loads(pickle.dumps(sg.each)) is sg.each
    assert copy.deepcopy(sg.each) is sg.each
    for question in WHOLE.values():
        assert pickle.loads(pickle.dumps(question)).sample is sg.each


@pytest.mark.parametrize("kind", WHOLE)
def test_a_question_about_each_becomes_one_about_a_sample(kind):
    whole = WHOLE[kind]
    one = whole.about(X)
    assert type(one) is type(whole)
    assert one.sample == X
    given = one.data(NET), whole.data(NET)
    assert {name for name in given[0] if given[0][name] != given[1][name]} <= {"sample", "label"}
    again = one.about([-1, -1, 1, 1])
    assert again.values(NET) == [-1, -1, 1, 1]
    assert ask(NET, again).question.values(NET) == [-1, -1, 1, 1]


def test_what_is_known_of_one_sample_is_not_kept_for_another():
    question = sg.Robust(X, BALL)
    assert question.label_goal(NET).label == 0
    assert question.about([1, 1, -1, 1]).label_goal(NET).label == 1


@pytest.mark.parametrize("kind", WHOLE)
def test_one_answer_is_not_asked_of_each(kind):
    with pytest.raises(
        QuestionError, match=r"Give a sample, or ask all of them: sweep\(network, X, question\)"
    ):
        ask(NET, WHOLE[kind])


def test_verbs_refuse_each():
    for asked in (
        lambda: sg.verify(NET, WHOLE["verify"]),
        lambda: sg.whatif(NET, sg.each),
        lambda: sg.whatif(NET, sg.each, sg.Linf),
        lambda: sg.why(NET, sg.each),
        lambda: sg.count(NET, sg.each, BALL),
    ):
        with pytest.raises(QuestionError, match="sweep"):
            asked()


@pytest.mark.parametrize(
    ("question", "match"),
    [
        (lambda: sg.Robust(sg.each, 3), "region=3 is not a region"),
        (lambda: sg.Robust(sg.each, BALL, target=7), "no class 7"),
        (lambda: sg.Robust(sg.each, BALL, target="on", ties="maybe"), "ties='maybe'"),
        (lambda: sg.WhatIf(sg.each, ties="maybe"), "ties='maybe'"),
        (lambda: sg.WhatIf(sg.each, keep=["nobody"]), "nobody"),
        (lambda: sg.Count(sg.each), "a sample needs a region"),
    ],
)
def test_what_no_sample_could_be_asked_is_refused_of_each(question, match):
    with pytest.raises(sg.errors.SugenetError, match=match):
        question().data(NET)


def test_questions_about_each_in_words():
    assert WHOLE["verify"].describe(NET) == (
        "the class stays what it is; a tie counts as a change, with up to 1 bit flipped"
    )
    assert WHOLE["whatif"].describe(NET) == "the least change by L1 with which the class is on"
    assert sg.WhatIf(sg.each).describe(NET).endswith("the class is not what it is")
    assert sg.Robust(sg.each, BALL, "on").describe(NET).startswith("the class does not become on, ")
    assert sg.Predict(sg.each).describe(NET) == "the class of each sample"


def test_a_certificate_about_each_is_none():
    certificate = copy.deepcopy(sg.verify(NET, sg.Robust(X, sg.Hamming(0))).certificate)
    assert sg.check(certificate, NET)
    certificate["question"] |= {"sample": "each", "label": None}
    with pytest.raises(CertificateError):
        sg.check(certificate, NET)


# -- ask -----------------------------------------------------------------------------------------------------


def content(answer):
    """What an answer says, times aside."""
    return {name: value for name, value in answer.data().items() if name != "seconds"}


def test_ask_answers_as_the_verbs_do():
    rng = np.random.default_rng(3)
    for _ in range(4):
        network = random_network(rng)
        x = random_sample(network, rng)
        pairs = [
            (sg.Robust(x, sg.L0(2), ties="against"), {"engine": "flips"}, sg.verify),
            (sg.Always(0), {}, sg.verify),
            (sg.WhatIf(x, sg.L1, max_cost=4), {"n": 3}, None),
            (sg.Why(x, sg.L0(2)), {"minimal": "size", "n": "all"}, None),
            (sg.Count(x, sg.L0(2)), {"method": "walk"}, None),
            (sg.Count(x, sg.L0(2)), {"method": "sample", "samples": 50, "confidence": 0.9}, None),
        ]
        for question, settings, verb in pairs:
            given = ask(network, question, seed=5, **settings)
            match question:
                case _ if verb is not None:
                    twin = verb(network, question, seed=5, **settings)
                case sg.WhatIf():
                    twin = sg.whatif(network, x, sg.L1, max_cost=4, n=3, seed=5)
                case sg.Why():
                    twin = sg.why(network, x, sg.L0(2), minimal="size", n="all", seed=5)
                case _:
                    twin = sg.count(network, x, sg.L0(2), seed=5, **settings)
            assert type(given) is type(twin)
            assert content(given) == content(twin)


def test_ask_hands_time_threads_and_words_on():
    answer = ask(NET, sg.Robust(X, sg.AnyInput()), engine="flips", threads=1, time_limit=0)
    assert answer.outcome == "undecided"
    said = []
    ask(NET, sg.Robust([-1, -1, 1, -1], sg.Hamming(1)), notify=said.append)
    assert said[0].startswith("bounds")
    with pytest.raises(QuestionError, match="threads=0"):
        ask(NET, WHOLE["why"].about(X), threads=0)


def test_settings_are_those_of_the_question():
    assert settings_of(WHOLE["verify"]) == {"engine": "auto"}
    assert settings_of(WHOLE["whatif"], n="all") == {"n": "all", "engine": "auto"}
    assert settings_of(WHOLE["why"]) == {"minimal": "subset", "n": 1}
    assert settings_of(WHOLE["count"]) == {"method": "auto", "samples": None, "confidence": 0.99}
    assert settings_of(WHOLE["predict"]) == {}
    assert settings_of(around([0], 1, 0, 2)) == {"engine": "auto"}
    with pytest.raises(QuestionError, match=r"n=2 is not a setting of Robust. It has engine."):
        ask(NET, sg.Robust(X, BALL), n=2)
    with pytest.raises(QuestionError, match=r"engine='auto' is not a setting of Predict. It has none."):
        settings_of(WHOLE["predict"], engine="auto")
    for wrong in (Suffices(X, BALL), Rules((0,)), "robust"):
        with pytest.raises(QuestionError, match=f"{type(wrong).__name__} is not a question"):
            ask(NET, wrong)


def test_settings_and_their_defaults_are_those_of_the_verbs():
    from inspect import signature

    shared = {"network", "time_limit", "threads", "seed", "notify", "each", "within", "resume"}
    asked = {"x", "question", "region", "where", "cost", "target", "keep", "max_cost", "ties", "precision"}
    for verb, question in (
        (sg.verify, "verify"),
        (sg.whatif, "whatif"),
        (sg.why, "why"),
        (sg.count, "count"),
    ):
        has = signature(verb).parameters
        expected = {name: has[name].default for name in has if name not in shared | asked}
        assert settings_of(WHOLE[question]) == expected


# -- what came out -------------------------------------------------------------------------------------------


OUT = [
    (sg.Robust(X, sg.Hamming(0)), {}, "proved", True),
    (sg.Robust(X, BALL), {}, "refuted", True),
    (sg.Robust([-1, -1, 1, -1], sg.Hamming(2)), {"engine": "bounds"}, "undecided", False),
    (sg.WhatIf(X), {}, "found", True),
    (sg.WhatIf(X), {"n": "all"}, "found", True),
    (sg.WhatIf(X, max_cost=0), {}, "none", True),
    (sg.WhatIf(X), {"engine": "bounds", "time_limit": 0}, "undecided", False),
    (sg.Why(X, sg.AnyInput()), {"minimal": "size"}, "found", True),
    (sg.Why(X, sg.AnyInput()), {"n": "all"}, "found", True),
    (sg.Why(X, sg.AnyInput()), {"n": 50}, "found", True),
    (sg.Count(X, BALL), {}, "counted", True),
    (sg.Count(X, BALL), {"method": "sample"}, "estimated", True),
    (sg.Count(X, sg.AnyInput()), {"method": "walk", "time_limit": 0}, "undecided", False),
    (sg.Predict(X), {}, "predicted", True),
]


@pytest.mark.parametrize(("question", "settings", "outcome", "settled"), OUT)
def test_what_came_out_in_a_word_and_whether_that_is_all(question, settings, outcome, settled):
    answer = ask(NET, question, **settings)
    settings = {name: value for name, value in settings.items() if name != "time_limit"}
    assert (answer.outcome, is_settled(answer, **settings)) == (outcome, settled)


def test_what_is_not_as_good_as_asked_is_not_settled():
    from dataclasses import replace

    least = ask(NET, sg.WhatIf(X))
    assert not is_settled(replace(least, lower=Fraction(0)))
    assert replace(least, lower=Fraction(0)).outcome == "found"
    assert not is_settled(replace(least, all_listed=False), n=3)
    first = ask(NET, sg.Why(X, sg.AnyInput()))
    minimal, sufficient, unknown = (
        replace(first, reasons=(replace(first.reasons[0], status=status),), all_reasons=False)
        for status in ("minimal", "sufficient", "unknown")
    )
    assert is_settled(minimal)
    assert not is_settled(minimal, minimal="size")
    assert not is_settled(minimal, n=2)
    assert not is_settled(minimal, n="all")
    assert is_settled(replace(minimal, all_reasons=True), n=2)
    assert not is_settled(sufficient)
    assert is_settled(sufficient, minimal=None)
    assert not is_settled(unknown, minimal=None)
    assert [answer.outcome for answer in (minimal, sufficient, unknown)] == ["found", "found", "undecided"]
    none = replace(first, reasons=())
    assert (none.outcome, is_settled(none), is_settled(none, minimal=None)) == ("undecided", False, False)


def test_a_least_cost_that_only_rounding_hides_is_settled():
    from dataclasses import replace

    X, _ = sg.models.samples("breast_cancer")
    found = ask(
        sg.models.breast_cancer(), sg.WhatIf(X[10], sg.L2)
    )  # a sum of squares of floats: docs/limits.md
    assert (found.outcome, found.lower < found.cost, is_settled(found)) == ("found", True, True)
    assert not is_settled(replace(found, lower=found.lower * Fraction(999, 1000)))
    assert not is_settled(replace(found, all_listed=False), n=2)


# -- predictions ---------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_network():
    rng = np.random.default_rng(5)
    for _ in range(20):
        network = random_network(rng)
        x = random_sample(network, rng)
        row = np.array([x], object)
        answer = ask(network, Predict(x))
        assert isinstance(answer, Predicted)
        assert answer.index == network.predict(row, engine="definition")[0]
        assert answer.matches == tuple(network.match_counts(row, engine="definition")[0].tolist())
        assert answer.scores == tuple(network.logits(row)[0].tolist())
        assert answer.possibility == tuple(network.possibility(row)[0].tolist())
        assert answer.is_tie == bool(network.head.tied(np.array([answer.matches]))[0])
        assert answer.certificate is None
        assert answer.is_as_defined()
        assert answer.label in str(answer)
        wrong = Predicted(network, answer.question, tuple(many ^ 1 for many in answer.matches))
        assert not wrong.is_as_defined()


def test_a_tie_is_said():
    network = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    assert (
        str(ask(network, Predict([1, 1])))
        == "class 0, score 0 (1 of 2 matches, a tie that the lowest class wins)"
    )


def test_counts_around_each_keep_their_limits():
    answer = ask(NET, WHOLE["count"].about(X))
    assert isinstance(answer, Counted)
    assert answer.total == 4
