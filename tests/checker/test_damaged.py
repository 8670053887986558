"""Certificates with fields that say more than they must, or that are damaged, are refused."""

from __future__ import annotations

import copy

import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.errors import CertificateError

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
        ({"kind": "Anything", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "L0", "radius": "4", "total": "0"}, "a field 'total' that it must not have"),
        ({"kind": "L0", "radius": "4", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "Linf", "radius": "1", "strict": True}, "a field 'strict' that it must not have"),
        ({"kind": "L0", "radius": "4", "region": {"kind": "Free"}}, "a field 'region' that it must not have"),
        ({"kind": "L0", "radius": "-1"}, "'-1' must not be below 0"),
        ({"kind": "L0", "radius": "1e1000000000"}, "not a number such as 3"),
        ({"kind": "L0", "radius": "1e-1000000000"}, "not a number such as 3"),
        ({"kind": "Prices", "radius": "4", "prices": []}, "unknown kind of region"),
        ({"kind": "Free", "features": [-1, -2, -3, -4]}, "a feature must be a number from 0 to 3"),
        ({"kind": "Free", "features": "0123"}, "features must be a list"),
        ({"kind": "Box", "limits": [[-1, [0, 1]]]}, "a feature must be a number from 0 to 3"),
        ({"kind": "Box", "limits": [[0, [0, 1]], [0, [1, 1]]]}, "a feature has limits twice"),
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
        ({"cost": {"kind": "Box", "limits": []}}, "unknown cost"),
        ({"cost": {"kind": "Prices", "prices": [[0, "-1"]], "per_unit": False}}, "'-1' must not be below 0"),
        ({"movable": [-1, -2]}, "a feature must be a number from 0 to 3"),
        ({"region": {"kind": "Free", "features": ["0", "1"]}}, "a feature must be a number from 0 to 3"),
        ({"limit": "-5"}, "'-5' must not be below 0"),
        ({"target": -1}, "a class must be a number from 0 to 1"),
        ({"label": True}, "a class must be a number from 0 to 1"),
    ],
)
def test_a_counterfactual_question_that_says_more_than_it_must_is_refused(change, words):
    certificate = copy.deepcopy(sg.whatif(NET, X, limit=0).certificate)
    assert sg.check(certificate, NET)
    certificate["question"] |= {"limit": None} | change
    with pytest.raises(CertificateError, match=words):
        sg.check(certificate, NET)


def test_damage_is_always_a_certificate_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for field in ("network", "answer", "proof"):
        with pytest.raises(CertificateError, match=r"nested too deeply|must be a JSON object"):
            sg.check(sg.verify(NET, sg.Robust(X, sg.L0(0))).certificate | {field: deep}, NET)
    proved = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="pysat").certificate
    for data in ("AAAA", None, 3):
        with pytest.raises(CertificateError, match=r"unknown compression method|a compressed proof is text"):
            sg.check(proved | {"proof": proved["proof"] | {"data": data}}, NET)


def test_a_walk_with_too_few_sets_is_refused_at_once():
    net = sg.models.digits()
    x = sg.models.samples("digits")[0][7]
    certificate = copy.deepcopy(sg.verify(net, sg.Robust(x, sg.L0(1)), engine="flips").certificate)
    certificate["question"]["region"]["radius"] = "40"
    with pytest.raises(CertificateError, match=r"more than 10\^30 sets of changes, not 193"):
        sg.check(certificate, net)


def test_cuts_have_whole_factors():
    answer = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="cdcl")
    proof = answer.certificate["proof"] | {"cuts": [[1, 0.5, 0]]}
    with pytest.raises(CertificateError, match=r"the cut \[1, 0.5, 0\] adds no first-layer row"):
        sg.check(answer.certificate | {"proof": proof}, NET)


def test_what_is_no_value_of_its_feature_is_named():
    counted = copy.deepcopy(sg.count(NET, X, sg.L0(1)).certificate)
    counted["question"]["sample"] = [1, 1, 7, 1]
    with pytest.raises(CertificateError, match="x3 is 7"):
        sg.check(counted, NET)
    found = copy.deepcopy(sg.whatif(NET, X, sg.L1).certificate)
    found["witness"] = [1, {}, 1, 1]
    with pytest.raises(CertificateError, match=r"needs numbers, but holds \{\}"):
        sg.check(found, NET)
