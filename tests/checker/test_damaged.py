"""Certificates with fields that say more than they must, or that are damaged, are refused."""

from __future__ import annotations

import copy

import pytest

import sugenet as sg
from sugenet.errors import CertificateError, CheckLimitError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from tests.fuzzing.bombs import bits

NET = Network.of_bits(
    [DenseLayer([[1, 1, -1, 1], [-1, 1, 1, 1], [1, -1, 1, 1]], [2, 3, 2])], Head([[1, 1, 1], [-1, -1, 1]])
)
X = [1, 1, 1, 1]


def robust(**region):
    certificate = copy.deepcopy(sg.verify(NET, sg.Robust(X, sg.L0(0))).certificate)
    certificate["question"]["region"] = region
    return certificate


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ({"kind": "AnyInput", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "L0", "radius": "4", "total": "0"}, "a field 'total' that it must not have"),
        ({"kind": "L0", "radius": "4", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "Linf", "radius": "1", "strict": True}, "a field 'strict' that it must not have"),
        ({"kind": "L0", "radius": "4", "region": {"kind": "Free"}}, "a field 'region' that it must not have"),
        ({"kind": "L0", "radius": "-1"}, "the radius -1 is negative"),
        ({"kind": "L0", "radius": "1e1000000000"}, "radius: a number such as 3 or -7/2 is needed, not '1e"),
        ({"kind": "L0", "radius": "1e-1000000000"}, "radius: a number such as 3 or -7/2 is needed, not '1e"),
        ({"kind": "Prices", "radius": "4", "prices": []}, "region: unknown kind 'Prices'"),
        ({"kind": "Free", "features": [-1, -2, -3, -4]}, "features: a feature from 0 to 3 is needed, not -1"),
        ({"kind": "Free", "features": "0123"}, "features: a list is needed, not '0123'"),
        ({"kind": "Box", "limits": [[-1, [0, 1]]]}, "limits: a feature from 0 to 3 is needed, not -1"),
        (
            {"kind": "Box", "limits": [[0, [0, 1]], [0, [1, 1]]]},
            "a feature has limits or a price twice",
        ),
    ],
)
def test_a_region_that_says_more_than_it_must_is_refused(region, words):
    with pytest.raises(CertificateError, match=words):
        sg.check(robust(**region), NET)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": {"kind": "L0", "radius": "0"}}, "a field 'radius' that it must not have"),
        ({"cost": {"kind": "L0", "total": "0"}}, "a field 'total' that it must not have"),
        ({"cost": {"kind": "Box", "limits": []}}, "cost: unknown kind 'Box'"),
        ({"cost": {"kind": "Prices", "prices": [[0, "-1"]], "per_unit": False}}, "cost: a price is negative"),
        ({"movable": [-1, -2]}, "movable: a feature from 0 to 3 is needed, not -1"),
        (
            {"region": {"kind": "Free", "features": ["0", "1"]}},
            "a feature from 0 to 3 is needed, not '0'",
        ),
        ({"limit": "-5"}, "question: the limit -5 is negative"),
        ({"target": -1}, "target: a class from 0 to 1 is needed, not -1"),
        ({"label": True}, "label: a class from 0 to 1 is needed, not True"),
    ],
)
def test_a_counterfactual_question_that_says_more_than_it_must_is_refused(change, words):
    certificate = copy.deepcopy(sg.whatif(NET, X, max_cost=0).certificate)
    assert sg.check(certificate, NET)
    certificate["question"] |= {"limit": None} | change
    with pytest.raises(CertificateError, match=words):
        sg.check(certificate, NET)


def test_damage_is_always_a_certificate_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    certificate = sg.verify(NET, sg.Robust(X, sg.L0(0))).certificate
    for field, words in (
        ("network", "network: text is needed, not a list"),
        ("answer", "unknown answer a list"),
        ("proof", "proof: a JSON object is needed, not a list"),
    ):
        with pytest.raises(CertificateError, match=words):
            sg.check(certificate | {field: deep}, NET)
    with pytest.raises(CertificateError, match="the certificate is nested too deeply"):
        sg.check(certificate | {"proof": {"kind": "dual", "cases": deep, "multipliers": ""}}, NET)
    proved = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="cdcl").certificate
    for data, words in (
        ("AAAA", "unknown compression method"),
        (None, "clauses: text or a list is needed, not null"),
        (3, "clauses: text or a list is needed, not 3"),
    ):
        packed = proved["proof"] | {"clauses": data, "encoding": "zlib+base64"}
        with pytest.raises(CertificateError, match=words):
            sg.check(proved | {"proof": packed}, NET)


def test_too_many_sets_are_refused_at_once():
    net = bits(256, 16, depth=2)
    certificate = copy.deepcopy(sg.verify(net, sg.Robust([0] * 256, sg.L0(0)), engine="flips").certificate)
    certificate["question"]["region"]["radius"] = "40"
    with pytest.raises(CheckLimitError, match=r"more than 10\^30 sets of changes, and at most"):
        sg.check(certificate, net)


def test_cuts_have_whole_factors():
    answer = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="cdcl")
    proof = answer.certificate["proof"] | {"cuts": [[1, 0.5, 0]]}
    with pytest.raises(CertificateError, match=r"cuts: an integer is needed, not 0\.5"):
        sg.check(answer.certificate | {"proof": proof}, NET)


def test_what_is_no_value_of_its_feature_is_named():
    counted = copy.deepcopy(sg.count(NET, X, sg.L0(1)).certificate)
    counted["question"]["sample"] = [1, 1, 7, 1]
    with pytest.raises(CertificateError, match="feature 2: 7 is not a value of its feature"):
        sg.check(counted, NET)
    found = copy.deepcopy(sg.whatif(NET, X, sg.L1).certificate)
    found["witness"] = [1, {}, 1, 1]
    with pytest.raises(CertificateError, match="witness: a raw value is needed, not a JSON object"):
        sg.check(found, NET)


def test_a_refuted_query_is_for_as_many_inputs_and_outputs():
    """The second case, which the witness does not need, is read too."""
    boxes = [QueryBox([0] * 4, [1] * 4), QueryBox([0] * 4, [0] * 4)]
    query = Query(4, 2, [Case(box, [[Inequality({0: 1, 1: -1}, -9)]]) for box in boxes])
    good = sg.verify(NET, query).certificate
    assert good["answer"] == "refuted"
    assert sg.check(good, NET)
    for change, words in (
        (lambda q: q["cases"][1]["lower"].pop(), "a box of the query does not have 4 inputs"),
        (lambda q: q["cases"][1]["upper"].append(1), "a box of the query does not have 4 inputs"),
        (lambda q: q.update(inputs=5), "a box of the query does not have 5 inputs"),
        (lambda q: q.update(outputs=3), "another number of inputs or outputs"),
    ):
        bad = copy.deepcopy(good)
        change(bad["question"])
        with pytest.raises(CertificateError, match=words):
            sg.check(bad, NET)
