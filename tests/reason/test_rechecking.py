"""Checking whole answers: each field is compared with what certificates prove, or named as not covered."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, CheckLimitError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, bit, integer
from sugenet.reason import answer_of, check_answer
from sugenet.reason.reasons.hitting import unlisted_change
from sugenet.reason.reasons.oracle import Contrast
from tests.fuzzing.wrappers import altered

BITS = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
"""On iff at least 2 of 4 bits are."""
ENCODER = Encoder([integer(0, 3), OneHot(("left", "right")), bit()], ["size", "side", "b"])
TABLE = Network(ENCODER, [DenseLayer([[1, 1, 1, -1, 1, 1]], [3])], Head([[-1], [1]]), ["no", "yes"])
X = [1, "left", 1]
ANSWERS = {
    "proved": (BITS, lambda: sg.verify(BITS, sg.Robust([1, 1, 1, 1], sg.L0(2)))),
    "refuted": (BITS, lambda: sg.verify(BITS, sg.Robust([1, 1, 1, 1], sg.L0(3)))),
    "refuted for a pair": (TABLE, lambda: sg.verify(TABLE, sg.Fair("side"))),
    "undecided": (TABLE, lambda: sg.verify(TABLE, sg.Never(1), engine="bounds")),
    "undecided, up to": (TABLE, lambda: sg.verify(TABLE, sg.Robust(X, sg.AnyInput()), engine="flips")),
    "minimum": (TABLE, lambda: sg.whatif(TABLE, X, sg.L1)),
    "all of least cost": (BITS, lambda: sg.whatif(BITS, [1, 1, 0, 0], n="all")),
    "several": (BITS, lambda: sg.whatif(BITS, [1, 1, 0, 0], n=3)),
    "no change": (BITS, lambda: sg.whatif(BITS, [1, 1, 1, 1], max_cost=2)),
    "open": (BITS, lambda: sg.whatif(BITS, [1, 1, 1, 1], engine="bounds", time_limit=0)),
    "one reason": (BITS, lambda: sg.why(BITS, [1, 1, 1, 1], sg.AnyInput())),
    "all reasons": (BITS, lambda: sg.why(BITS, [1, 1, 1, 1], sg.AnyInput(), n="all")),
    "all reasons of a table": (TABLE, lambda: sg.why(TABLE, X, sg.AnyInput(), n="all")),
    "counted": (TABLE, lambda: sg.count(TABLE, X, sg.L1(1))),
    "count open": (TABLE, lambda: sg.count(TABLE, method="walk", time_limit=0)),
    "estimated": (TABLE, lambda: sg.count(TABLE, X, sg.AnyInput(), method="sample", samples=20)),
    "predicted": (TABLE, lambda: sg.reason.ask(TABLE, sg.Predict(X))),
    "rule": (TABLE, lambda: sg.check_rule(TABLE, "size >= 2 and side = left -> yes")),
}


def settings_in(name):
    return {"n": "all"} if name.startswith("all") else {}


@pytest.mark.parametrize("name", ANSWERS)
def test_true_answers_are_checked(name):
    network, asked = ANSWERS[name]
    answer = asked()
    again = answer_of(json.loads(json.dumps(answer.data())), network)
    for one in (answer, again):
        found = check_answer(one, **settings_in(name))
        assert found.status in ("holds", "partly", "recomputed", "nothing")
        assert (found.status == "partly") <= bool(found.claims)
    assert found.data()["not_covered"] == list(found.uncovered)


@pytest.mark.parametrize("name", ANSWERS)
def test_each_field_of_an_answer_is_compared_or_named_as_not_covered(name):
    """But for those inside certificates: `check` is for them."""
    network, asked = ANSWERS[name]
    data = json.loads(json.dumps(asked().data()))
    others = {"on": ["off"], "off": ["on"], "yes": ["no"], "no": ["yes"], "minimum": ["minimal", "found"]}
    others |= {"x1": ["x4"], "x4": ["x1"], "proved": ["refuted"], "left": ["right"]}
    for path, false in altered(data, others=others, skip=lambda path: "certificate" in path[:-1]):
        try:
            found = check_answer(answer_of(false, network), **settings_in(name))
        except CertificateError:
            continue
        assert set(found.uncovered) & set(path) or says_less(path, false, data), (path, found)


def says_less(path, false, data):
    """The same sets in another order, another change of a contrastive set that was replayed, a seed that
    draws the same, a claim that follows from the true one and its certificates, or one about another
    sample, where there are none.
    """
    if path[0] in ("contrasts", "all_contrasts", "question", "seed"):
        return True
    one, other = (value_at(path, found) for found in (false, data))
    if path == ("all_reasons",):
        return not one
    if isinstance(other, list):
        return sorted(map(str, one)) == sorted(map(str, other))
    return path == ("lower",) and type(one) is int and one < other


def value_at(path, data):
    for key in path:
        data = data[key]
    return data


def test_no_claim_is_left_uncovered_where_everything_is_listed():
    for name in ("all of least cost", "all reasons", "all reasons of a table"):
        _, asked = ANSWERS[name]
        assert check_answer(asked(), n="all").claims == ()


def test_a_further_counterfactual_that_is_missing_or_about_another_sample():
    answer = sg.whatif(BITS, [1, 1, 0, 0], n="all")
    other = sg.whatif(BITS, [1, 1, 1, 1])
    assert len(answer.others) == 1
    assert check_answer(answer, n="all").status == "holds"
    with pytest.raises(CertificateError, match="2 changes of least cost change the class, but 1"):
        check_answer(replace(answer, others=()), n="all")
    with pytest.raises(CertificateError, match="about another question"):
        check_answer(replace(answer, others=(other,)), n="all")
    with pytest.raises(CertificateError, match="are others, and the cheapest"):
        check_answer(replace(answer, others=(answer,)), n="all")
    assert check_answer(replace(answer, others=()), n=2).claims == ("all_listed",)


def test_a_bound_contrastive_sets_and_reasons_that_are_not_so():
    answer = sg.why(BITS, [1, 1, 0, 0], sg.AnyInput(), n="all")
    for lower in (4, -1):
        with pytest.raises(CertificateError, match=f"to have {lower} features"):
            check_answer(replace(answer, lower=lower))
    for feature, value in ((2, 1), (0, 1), (2, 0)):  # changes nothing, is as it was, or both
        false = Contrast(frozenset({feature}), (), ((feature, value),))
        with pytest.raises(CertificateError, match="contrastive set"):
            check_answer(replace(answer, contrasts=(false,), all_contrasts=True))
    other = Contrast(frozenset({3}), answer.contrasts[0].moves)
    with pytest.raises(CertificateError, match="of other features"):
        check_answer(replace(answer, contrasts=(other,)))
    six = sg.why(BITS, [1, 1, 1, 1], sg.AnyInput(), n="all")
    assert len(six.reasons) == 6
    for kept in (six.reasons[:1], six.reasons[1:], ()):
        with pytest.raises(CertificateError, match="nothing shows that all reasons are listed"):
            check_answer(replace(six, reasons=kept))
    with pytest.raises(CertificateError, match="shortest first, and none contains another"):
        check_answer(replace(six, reasons=six.reasons[:1] * 2))
    about = sg.why(BITS, [1, 1, 1, 0], sg.AnyInput(), n="all")
    with pytest.raises(CertificateError, match="a reason is about another question"):
        check_answer(replace(six, reasons=about.reasons))


def test_reasons_for_a_share_are_not_reasons_for_all_inputs_or_for_another_share():
    whole = sg.why(BITS, [1, 1, 1, 1], sg.AnyInput(), n="all")
    shared = sg.why(BITS, [1, 1, 1, 1], sg.AnyInput(), precision=0.6)
    assert check_answer(shared).claims == ()
    for answer, precision in ((shared, None), (shared, "1/2"), (whole, "1/2")):
        data = answer.data()
        data["question"] = {k: v for k, v in data["question"].items() if k != "precision"}
        data["question"] |= {} if precision is None else {"precision": precision}
        with pytest.raises(CertificateError, match="another precision"):
            check_answer(answer_of(data, BITS))
    for claim in ("contrasts", "all_reasons", "all_contrasts"):
        with pytest.raises(CertificateError, match="not about a share"):
            check_answer(replace(shared, **{claim: getattr(whole, claim)}))


def test_contrastive_sets_are_all_there_where_further_reasons_can_be_proved():
    one = sg.why(BITS, [1, 1, 1, 1], sg.AnyInput())
    assert one.all_contrasts
    assert len(one.reasons) == 1
    assert check_answer(one).claims == ()
    with pytest.raises(CertificateError, match="not all contrastive sets are listed"):
        check_answer(replace(one, contrasts=one.contrasts[1:]))


def test_the_figures_of_a_rule_are_those_of_its_count():
    checked = sg.check_rule(TABLE, "size >= 2 and side = left -> yes")
    other = sg.check_rule(TABLE, "size >= 1 and side = left -> yes").figures
    assert check_answer(checked).claims == ()
    for change in ({"covered": 1}, {"right": 0}, {"total": 3}, {"certificate": other.certificate}):
        with pytest.raises(CertificateError, match=r"count|figures"):
            check_answer(replace(checked, figures=replace(checked.figures, **change)))


def test_a_text_that_does_not_say_what_was_asked_is_refused():
    """The certificate is about 2 changes; words about all of them are another claim."""
    data = sg.verify(BITS, sg.Robust([1, 1, 1, 1], sg.L0(2))).data()
    with pytest.raises(CertificateError, match="'claim' does not fit"):
        answer_of(data | {"claim": "the class stays on, with any input"}, BITS)
    refuted = sg.verify(BITS, sg.Robust([1, 1, 1, 1], sg.L0(3))).data()
    with pytest.raises(CertificateError, match="'label' does not fit"):
        answer_of(refuted | {"label": "on"}, BITS)


def test_limits_are_described_by_name_and_in_the_order_of_the_features():
    asked = [{"b": 1, "size": (1, 2)}, {2: 1, 0: (1, 2)}, {"size": (1, 2), "b": {1}}]
    claims = {sg.verify(TABLE, sg.Always("yes", where)).claim for where in asked}
    assert claims == {"the class is yes for 1 <= size <= 2 and b = 1"}


def test_an_estimate_from_very_many_inputs_is_not_drawn_again():
    answer = ANSWERS["estimated"][1]()
    with pytest.raises(CheckLimitError, match="1,000,000,000,000 draws are too many"):
        check_answer(replace(answer, drawn=10**12))


ABOUT_A_SAMPLE = {
    "verify": lambda net, x, region: sg.verify(net, sg.Robust(x, region)),
    "why": sg.why,
    "count": sg.count,
    "whatif": lambda net, x, region: sg.whatif(net, x, region=region),
}


@pytest.mark.parametrize("verb", ABOUT_A_SAMPLE)
def test_a_box_without_limits_changes_no_feature_and_says_so(verb):
    """In `where` features without limits are free; around a sample they stay."""
    answer = ABOUT_A_SAMPLE[verb](BITS, [1, 1, 1, 1], sg.Box({}))
    data = json.loads(json.dumps(answer.data()))
    assert "any input" not in f"{answer} {data}"
    assert verb == "whatif" or "no feature changed" in str(answer)
    assert check_answer(answer_of(data, BITS)).status == "holds"
    assert sg.count(BITS, where=sg.Box({})).region == "any input"


@pytest.mark.parametrize("verb", ABOUT_A_SAMPLE)
@pytest.mark.parametrize(
    "limits",
    [
        *({"b": limit} for limit in ({-1}, -1, (-1, -1), (None, -1), {-1, 1}, {False})),
        *({"size": limit} for limit in ({1.0, 2}, {True})),
        {"side": (None, None)},
    ],
    ids=str,
)
def test_answers_about_limits_are_read_back_however_those_were_written(verb, limits):
    data = ABOUT_A_SAMPLE[verb](TABLE, [1, "left", 0], sg.Box(limits)).data()
    assert check_answer(answer_of(json.loads(json.dumps(data)), TABLE)).status == "holds"
    data = sg.verify(TABLE, sg.Always("yes", limits)).data()
    assert check_answer(answer_of(json.loads(json.dumps(data)), TABLE)).status == "holds"


@pytest.mark.parametrize("seed", range(30))
def test_duality_by_the_definition(seed):
    rng = np.random.default_rng(seed)
    subsets = [frozenset(row) for size in range(6) for row in combinations(range(5), size)]
    reasons, contrasts = (
        [subsets[k] for k in rng.choice(len(subsets), rng.integers(0, 6), replace=False)] for _ in range(2)
    )
    there = [
        row
        for row in subsets
        if all(row & one for one in reasons) and not any(one <= row for one in contrasts)
    ]
    found = unlisted_change(reasons, contrasts, lambda: None)
    assert found in there if there else found is None


@pytest.mark.parametrize("seed", range(12))
def test_no_reason_can_be_taken_from_all_of_them(seed):
    """On random networks; and contrastive sets that are not minimal do not pass for minimal ones."""
    rng = np.random.default_rng(seed)
    layer = DenseLayer(rng.integers(-1, 2, (3, 5)), rng.integers(0, 3, 3))
    network = Network.of_bits([layer], Head(rng.integers(-1, 2, (2, 3))))
    answer = sg.why(network, rng.integers(0, 2, 5).tolist(), sg.AnyInput(), n="all")
    assert check_answer(copy.deepcopy(answer), n="all").claims == ()
    for place in range(len(answer.reasons)):
        fewer = answer.reasons[:place] + answer.reasons[place + 1 :]
        with pytest.raises(CertificateError):
            check_answer(replace(answer, reasons=fewer))
