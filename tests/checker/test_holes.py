"""False certificates that were accepted once, each built by hand from the definition."""

from __future__ import annotations

import json
from base64 import b64encode
from fractions import Fraction
from math import inf
from zlib import compress

import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Encoder, Head, Network, OneHot, RealLayer, threshold
from sugenet.checker.query import Case, Inequality, Query, QueryBox
from sugenet.errors import CertificateError, EncodingError, QuestionError


def high_from(cut, *, whole=False):
    """Class high iff x is at least the cut."""
    return Network(Encoder([threshold(cut, whole=whole)], ["x"]), [], Head([[-1], [1]]), ["low", "high"])


def certificate(network, question, answer, proof=None, witness=None, **more):
    about = {"format": "sugenet certificate", "version": 2, "network": network.fingerprint}
    contents = {"question": question, "answer": answer, "witness": witness, "proof": proof, **more}
    return json.loads(json.dumps(about | contents))


def refused(data, network, words=None, **more):
    with pytest.raises(CertificateError, match=words):
        sg.check(data, network, **more)


BOUNDS = {"kind": "bounds"}


def test_a_multiplier_belongs_to_a_patch():
    first = RealLayer([[1], [1]], [1, 3])  # on iff x >= 1, iff x >= 3
    net = Network(Encoder.of_reals(1, 0, 4, names=["x"]), [first], Head([[1, 1], [1, -1]]), ["a", "b"])
    case = {"lower": [2], "upper": [4], "condition": [[[[[0, 1], [1, -1]], 1]]]}  # violated: Y_0 - Y_1 >= 1
    question = {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]}
    assert sg.check(certificate(net, question, "refuted", witness=[4]), net)
    for patch in (0.5, True, "0", None, -1, 1, 2**63):
        forged = {
            "by": "split",
            "neuron": 0,
            "on": {"by": "multipliers", "mix": [1], "shares": [[patch, 0, 1000]]},
            "off": {"by": "impossible", "shares": [[0, 1]]},
        }
        proof = {"kind": "patches", "cases": [{"grid": 1, "patches": [[1]], "closures": [forged]}]}
        refused(certificate(net, question, "proved", proof), net)


@pytest.mark.parametrize("plain", [False, True])
def test_an_empty_conjunction_is_always_met(plain):
    layer = DenseLayer([[1, 1], [1, -1]], tau=[1, 1])
    net = Network(Encoder.of_bits(2), [layer], Head([[1, -1], [-1, 1]]))
    case = {"lower": [0, 0], "upper": [1, 1], "condition": [[], [[[[0, 1]], 1000000]]]}
    question = {"kind": "query", "inputs": 2, "outputs": 2, "cases": [case]}
    assert sg.check(certificate(net, question, "refuted", witness=[0, 0]), net)
    for proof in (
        BOUNDS,
        {"kind": "branches"},
        {"kind": "combinations", "sets": 4},
        {"kind": "sweep", "sets": 4},
        {"kind": "dual", "cases": [0, 0], "multipliers": ""},
        {"kind": "dual", "cases": [0], "multipliers": ""},
    ):
        refused(certificate(net, question, "proved", proof), net, "always met", plain=plain)


def test_a_box_holds_its_sample():
    net = high_from(10.0)
    about = {"sample": [5], "label": 0, "target": None, "ties": "lowest"}
    for limit in ([12, 20], {"one of": [12]}, [6, 7]):
        region = {"kind": "Box", "limits": [[0, limit]]}
        question = {
            "kind": "whatif",
            **about,
            "cost": {"kind": "L1"},
            "movable": [0],
            "region": region,
            "limit": None,
        }
        words = "outside the box"
        refused(certificate(net, question, "none", BOUNDS), net, words)
        refused(certificate(net, question, "counterfactual", None, [12], value="7", lower="0"), net, words)
        refused(
            certificate(net, question, "counterfactual", BOUNDS, [20], value="15", lower="15"), net, words
        )
        refused(certificate(net, {"kind": "robust", **about, "region": region}, "proved", BOUNDS), net, words)
    with pytest.raises(QuestionError, match="outside the box"):
        sg.whatif(net, [5.0], sg.L1, region=sg.Box({"x": (12, 20)}))
    with pytest.raises(QuestionError, match="outside the box"):
        sg.verify(net, sg.Robust([5.0], sg.Box({"x": (12, 20)})))


def test_a_value_is_a_float_or_it_is_none():
    net, v = high_from(5.0), 5 - Fraction(3, 4) / 2**50  # below 5, above the float before 5
    about = {"sample": [10], "label": 1, "target": None, "ties": "lowest"}
    regions = [
        {"kind": "L1", "radius": str(10 - v)},
        {"kind": "Linf", "radius": str(10 - v)},
        {"kind": "Box", "limits": [[0, [str(v), 20]]]},
    ]
    condition = [[[[[0, 1], [1, -1]], 0]]]
    case = {"lower": [str(v)], "upper": [20], "condition": condition}
    for question in (
        *({"kind": "robust", **about, "region": region} for region in regions),
        {"kind": "always", "label": 1, "where": [[0, [str(v), 20]]]},
        {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]},
    ):
        assert sg.check(certificate(net, question, "proved", BOUNDS), net)
        refused(certificate(net, question, "refuted", witness=[str(v)]), net, "not a value")
    assert sg.verify(net, sg.Robust([10.0], sg.L1(10 - v))).outcome == "proved"
    with pytest.raises(EncodingError, match="must be a finite number"):
        net.predict([[v]])


def test_integers_beyond_the_floats_are_values_too():
    big = 2**53
    net = high_from(float(big + 2), whole=True)
    region = {"kind": "L1", "radius": 9}
    about = {"sample": [big + 10], "label": 1, "target": None, "ties": "lowest"}
    question = {"kind": "robust", **about, "region": region}
    assert sg.check(certificate(net, question, "refuted", witness=[big + 1]), net)
    refused(certificate(net, question, "proved", BOUNDS), net)
    answer = sg.verify(net, sg.Robust([big + 10], sg.L1(9)))
    assert answer.witness == (big + 1,)
    assert sg.verify(net, sg.Robust([big + 10], sg.L1(8))).outcome == "proved"
    assert net.predict([[big + 1], [big + 2]]).tolist() == [0, 1]


def test_counts_take_region_and_limits_together():
    net = high_from(10.0)
    with pytest.raises(QuestionError):
        sg.count(net, [5.0], sg.L1(5), where={"x": (12, 20)})
    with pytest.raises(QuestionError):
        sg.count(net, [5.0], sg.L0(0), where={"x": (6, 7)})
    assert sg.count(net, [5.0], sg.L1(5), where={"x": {5, 15}}).counts == (1, 0)
    assert sg.count(net, [5.0], sg.L1(9), where={"x": (5, 15)}).counts == (1, 1)
    assert sg.count(net, [5.0], sg.L0(1), where={"x": (6, 7)}).counts == (1, 0)
    proof = {"kind": "partition", "order": [], "parts": [[None, [0, 1]]]}
    for region, where in (({"kind": "L1", "radius": 5}, [12, 20]), ({"kind": "L0", "radius": 0}, [6, 7])):
        question = {"kind": "count", "sample": [5], "region": region, "where": [[0, where]]}
        forged = certificate(net, question, "counted", proof, counts=[0, 1], total=1, method="walk")
        del forged["witness"]
        refused(forged, net, "no input")
    moves = {"kind": "Moves", "moves": [[0, 1, 15, 1]], "budget": None}
    question = {"kind": "count", "sample": [5], "region": moves, "where": []}
    forged = certificate(net, question, "counted", proof, counts=[1, 1], total=2, method="walk")
    del forged["witness"]
    refused(forged, net)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "-9223372036854775808 0 0",
        "9223372036854775808 0 0",
        "-2147483648 0 0",
        "4294967296 0 0",
        "-0 0",
        "00 0",
        "1-1 0 0",
        "- 0 0",
        "0",
    ],
)
def test_literals_are_seen_before_they_are_cast(text, plain):
    from sugenet.checker.form import Robust as Asked
    from sugenet.checker.form import sizes_of
    from sugenet.checker.limit import Limit
    from sugenet.checker.reading import read
    from sugenet.checker.setting import Asked as About
    from sugenet.checker.setting import setting_of
    from sugenet.checker.thresholds import thresholds_of
    from sugenet.checker.whole import whole_of

    net = Network(Encoder.of_bits(4), [DenseLayer([[1, 1, 1, 1]], [2])], Head([[-1], [1]]), ["off", "on"])
    about = {"sample": [1, 1, 0, 0], "label": 1, "target": None, "ties": "lowest"}
    question = {"kind": "robust", **about, "region": {"kind": "L0", "radius": 2}}
    asked = About(read(Asked, question, sizes_of(net), "the question"), net, {})
    total = thresholds_of(whole_of(setting_of(asked, Limit()), Limit())).starts[-1]
    packed = b64encode(compress(f"{text}\n".encode())).decode()
    proof = {
        "kind": "rup",
        "variables": total,
        "facts": [],
        "cuts": [],
        "clauses": packed,
        "encoding": "zlib+base64",
    }
    assert sg.check(certificate(net, question, "refuted", witness=[0, 0, 0, 0]), net)
    refused(certificate(net, question, "proved", proof), net, plain=plain)


def test_infinity_is_not_a_value():
    for cut, label, value in ((inf, 0, inf), (-1.7976931348623157e308, 1, -inf)):
        net = high_from(cut)
        with pytest.raises(EncodingError, match="must be a finite number"):
            net.predict([[value]])
        assert sg.verify(net, sg.Always(label)).outcome == "proved"
        question = {"kind": "always", "label": label, "where": []}
        refused(certificate(net, question, "refuted", witness=[value]), net)
        with pytest.raises(EncodingError):
            sg.verify(net, sg.Robust([value], sg.L0(1)))


def test_a_bit_that_is_off_is_one_value():
    net = Network.of_bits([DenseLayer([[1, 1, 1]], [1])], Head([[-1], [1]]), classes=["off", "on"])
    about = {"sample": [-1, -1, -1], "label": 0, "target": None, "ties": "lowest"}
    question = {
        "kind": "whatif",
        **about,
        "cost": {"kind": "L0"},
        "movable": [0, 1, 2],
        "region": None,
        "limit": None,
    }
    for off in (0, -1):
        data = certificate(net, question, "counterfactual", None, [1, off, off], value="1", lower="0")
        assert sg.check(data, net)
        refused({**data, "value": "3"}, net, "costs 1, not 3")
    refused(certificate(net, question, "counterfactual", None, [True, 0, 0], value="1", lower="0"), net)


def test_proof_fields_beside_a_bound_of_nothing_are_refused():
    net = high_from(10.0)
    about = {"sample": [5], "label": 0, "target": None, "ties": "lowest"}
    question = {
        "kind": "whatif",
        **about,
        "cost": {"kind": "L1"},
        "movable": [0],
        "region": None,
        "limit": None,
    }
    data = certificate(net, question, "counterfactual", None, [10], value="5", lower="0")
    assert sg.check(data, net)
    refused({**data, "proof": BOUNDS}, net, "nothing to prove")
    refused({**data, "lower": "-1"}, net)
    refused({**data, "lower": "6"}, net)


def test_categories_are_told_apart_by_type():
    net = Network(Encoder([OneHot((1, "1", 2.5, None, False))]), [], Head([[1] * 5, [-1] * 5]))
    for value in (1, "1", 2.5, None, False):
        question = {"kind": "always", "label": 0, "where": [[0, {"one of": [value]}]]}
        assert sg.check(certificate(net, question, "refuted", witness=[value]), net) or True
        other = {1: True, "1": 1, 2.5: "2.5", None: "None", False: 0}[value]
        refused(certificate(net, question, "refuted", witness=[other]), net)


@pytest.mark.parametrize("category", [b"x", Fraction(1, 3), inf, (1, 2), object()])
def test_categories_that_no_certificate_can_hold_are_refused(category):
    with pytest.raises(EncodingError, match="which certificates can hold"):
        OneHot((category, "other"))


def test_own_certificates_hold_whatever_the_types_of_values():
    from decimal import Decimal

    import numpy as np

    net = high_from(0.5)
    for value in (True, np.float32(0.25), np.int8(1), Decimal("0.75"), "0.75", Fraction(3, 4)):
        for answer in (
            sg.verify(net, sg.Robust([value], sg.Linf(Fraction(1, 8)))),
            sg.verify(net, sg.Always("high", {"x": (value, None)})),
            sg.whatif(net, [value], sg.L1),
            sg.count(net, [value], sg.L0(1), where={"x": (None, value)}),
        ):
            assert sg.check(json.loads(json.dumps(answer.certificate)), net)


def test_a_query_with_a_box_that_holds_no_value_is_refused():
    net = high_from(2.0, whole=True)
    with pytest.raises(QuestionError, match="nothing that can occur"):
        sg.verify(net, Query(1, 2, [Case(QueryBox([0.25], [0.75]), [[Inequality({0: 1}, 0)]])]))
    case = {"lower": [0.25], "upper": [0.75], "condition": [[[[[0, 1]], 0]]]}
    question = {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]}
    refused(certificate(net, question, "proved", BOUNDS), net, "about no input")


def test_prices_are_not_rounded_in_a_count():
    one = Network(Encoder([threshold(0.0)], ["f"]), [DenseLayer([[1]], [1])], Head([[1], [-1]]))
    two = Network(Encoder([threshold(0.1), threshold(1e300)]), [DenseLayer([[1, 1]], [1])], Head([[1], [-1]]))
    for net, sample, region in (
        (one, [0.0], {"kind": "L1", "radius": "0"}),  # the next float below 0 is 5e-324 away
        (two, [0.0, 0.0], {"kind": "L1", "radius": "1/10"}),  # the float 0.1 is above 1/10
        (two, [0.0, 0.0], {"kind": "L2", "radius": "1/10"}),
    ):
        question = {"kind": "count", "sample": sample, "region": region, "where": []}
        right = [1, 0] if net is one else [0, 1]
        for counts in ([1, 1], [2, 0], [0, 2], right):
            parts = [[[], counts]]
            proof = {"kind": "partition", "order": list(range(len(sample))), "parts": parts}
            more = {"counts": counts, "total": sum(counts), "method": "walk"}
            forged = certificate(net, question, "counted", proof, **more)
            del forged["witness"]
            if counts == right:
                assert sg.check(forged, net)
            else:
                refused(forged, net)


def test_laws_that_leave_no_input_prove_nothing():
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[1], [-1]]), classes=["a", "b"])
    for where, limits in (([[0, [1, 1]]], []), ([], [[0, [1, 1]]])):
        for kind in ("always", "never"):
            question = {"kind": kind, "label": 0, "where": where}
            domain = {"limits": limits, "laws": ["x1 = 0"]}
            refused(certificate(net, question, "proved", BOUNDS, domain=domain), net, "no input")
