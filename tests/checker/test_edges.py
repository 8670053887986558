"""Numbers at the ends of 31, 53, 63 and 64 bits, in every place of a certificate that has one: each is
refused, or the certificate says something true; in the fast form of the checker and in the plain one.
"""

import json
import re
from base64 import b64decode, b64encode
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import product
from zlib import compress, decompress

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError
from sugenet.nn import DenseLayer, Head, Network
from tests.engines.test_reals import network as real_network
from tests.engines.test_reals import query_around
from tests.fuzzing.forgeries import not_refuted

EDGES = [
    -(2**63),
    1 - 2**63,
    -(2**31),
    -1,
    0,
    1,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
]
INPUTS = list(product([-1, 1], repeat=6))


FREE = (0, 2, 5)


@cache
def subject():
    """A network, a sample whose class no three bits change, and the class of every input."""
    rng = np.random.default_rng(230)
    layer = DenseLayer(rng.choice([-1, 1], (5, 6)), [3] * 5)
    net = Network.of_bits([layer], Head(rng.choice([-1, 1], (2, 5)), bias=[0, 1]))
    x = tuple(rng.choice([-1, 1], 6).tolist())
    return net, x, dict(zip(INPUTS, net.predict(INPUTS).tolist(), strict=True))


def plain_json(data):
    return json.loads(json.dumps(data))


@cache
def certificates():
    net, x, _ = subject()
    asked = sg.Robust(list(x), sg.Hamming(3))
    found = {
        kind: plain_json(sg.verify(net, asked, engine=engine).certificate)
        for kind, engine in (("enumerate", "auto"), ("lemma", "cdcl"), ("dual", "dual"))
    }
    assert {kind: one["proof"]["kind"] for kind, one in found.items()} == {kind: kind for kind in found}
    assert len(found["lemma"]["proof"]["clauses"]) > 1
    text = deepcopy(found["lemma"])
    words = " ".join(str(number) for clause in text["proof"]["clauses"] for number in (*clause, 0))
    text["proof"] |= {"clauses": b64encode(compress(words.encode())).decode(), "encoding": "zlib+base64"}
    found["lemma text"] = text
    some = deepcopy(found["enumerate"])
    some["question"]["region"] = {"kind": "Free", "features": list(FREE)}
    found["free"] = some
    found["whatif"] = plain_json(sg.whatif(net, list(x), sg.Hamming).certificate)
    found["why"] = plain_json(sg.why(net, list(x), sg.Hamming(5)).reasons[0].certificate)
    found["count"] = plain_json(sg.count(net, list(x), sg.Hamming(2)).certificate)
    found["count states"] = plain_json(sg.count(net, list(x), sg.Free(FREE)).certificate)
    return found


def numbers_in(data, way=()):
    """Places of integers, and of text that is one."""
    rows = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in rows:
        if type(value) is int or (type(value) is str and re.fullmatch(r"-?[0-9]{1,30}", value)):
            yield (*way, key)
        yield from numbers_in(value, (*way, key))


def changed(data, way, value):
    found = deepcopy(data)
    place = found
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = str(value) if isinstance(place[way[-1]], str) else value
    return found


def inside(question, y):
    """Whether an input is one that a question is about."""
    x = [max(0, value) for value in question["sample"]]
    differ = {f for f, (a, b) in enumerate(zip(x, y, strict=True)) if a != max(0, b)}
    if differ & set(question.get("fixed", ())):
        return False
    region = question["region"]
    return (
        differ <= set(region["features"])
        if region["kind"] == "Free"
        else len(differ) <= Fraction(region["radius"])
    )


def is_true(found):
    """Whether a certificate about the subject says something true, by all inputs."""
    _, _, labels = subject()
    question, answer = found["question"], found["answer"]
    if question["kind"] == "count":
        counts = [0, 0]
        for y in INPUTS:
            counts[labels[y]] += inside(question, y)
        return counts == found["counts"] and sum(counts) == found["total"]
    label, target = question["label"], question["target"]
    sample = tuple(1 if value > 0 else -1 for value in question["sample"])
    if labels[sample] != label or question["ties"] != "lowest":
        return False
    other = [y for y in INPUTS if labels[y] != label and target in (None, labels[y])]
    if question["kind"] == "whatif":
        kept = [f for f in range(6) if f not in question["movable"]]
        costs = [
            sum(a != b for a, b in zip(sample, y, strict=True))
            for y in other
            if all(sample[f] == y[f] for f in kept)
        ]
        least = min(costs, default=None)
        if answer == "counterfactual":
            return Fraction(found["lower"]) <= least <= Fraction(found["value"])
        return answer == "open" or least is None
    sufficient = not any(inside(question, y) for y in other)
    if question["kind"] == "robust":
        return sufficient
    smaller = len(question["fixed"]) - 1
    fewer = [f for f in product(range(6), repeat=smaller) if len(set(f)) == smaller] if smaller >= 0 else []
    without = [question | {"fixed": list(f)} for f in fewer]
    return sufficient and all(any(inside(one, y) for y in other) for one in without)


def see(found, net, judge=is_true):
    """Refused, or true; whether it was accepted."""
    accepted = False
    for plain in (False, True):
        try:
            sg.check(found, net, plain=plain)
        except CertificateError:
            continue
        assert judge(found), found
        accepted = True
    return accepted


@pytest.mark.parametrize("name", sorted(certificates()))
def test_every_number_of_a_certificate(name):
    net, whole = subject()[0], certificates()[name]
    assert see(whole, net)
    many = 0
    for way in numbers_in(whole):
        for value in (*EDGES, -0.0, 1.0, True):
            many += 1
            see(changed(whole, way, value), net)
    assert many > 20


def packed(numbers, kind):
    return b64encode(compress(np.array(numbers, kind).tobytes())).decode()


def test_every_multiplier():
    net, whole = subject()[0], certificates()["dual"]
    numbers = np.frombuffer(decompress(b64decode(whole["proof"]["multipliers"])), "<i8").tolist()
    assert numbers
    for place in range(len(numbers)):
        for value in EDGES[:-2]:
            more = [*numbers[:place], value, *numbers[place + 1 :]]
            see(changed(whole, ("proof", "multipliers"), packed(more, "<i8")), net)
    for value in EDGES[:-2]:
        see(changed(whole, ("proof", "multipliers"), packed([value] * len(numbers), "<i8")), net)


def test_every_split():
    net, whole = subject()[0], certificates()["dual"]
    for layer, unit, level in product(
        [0, 1, 2**31, 2**63], [0, 4, 2**31, -1, 2**63], [0, 1, 2**31, 2**53, 2**63]
    ):
        split = [layer, unit, level, 0, 0]
        forged = deepcopy(whole)
        forged["proof"] |= {"cases": [split for _ in whole["proof"]["cases"]], "multipliers": ""}
        see(forged, net)


def test_every_literal_of_a_text():
    net, whole = subject()[0], certificates()["lemma text"]
    words = decompress(b64decode(whole["proof"]["clauses"])).split()
    for place in range(-1, len(words)):
        for value in (*EDGES, "-0", "+1", "00", "1.0", "1e3", "9" * 5000):
            more = (
                [*words[:place], str(value).encode(), *words[place + 1 :]]
                if place >= 0
                else [str(value).encode(), b"0", b"0"]
            )
            text = b64encode(compress(b" ".join(more) + b"\n")).decode()
            see(changed(whole, ("proof", "clauses"), text), net)


def test_every_number_of_patches():
    seen = 0
    for seed in range(6):
        net = real_network("real, dense", seed)
        whole = plain_json(sg.verify(net, query_around(net, seed, Fraction(1, 3)), time_limit=5).certificate)
        if whole["answer"] != "proved" or whole["proof"]["kind"] != "patches":
            continue
        seen += 1
        ways = [way for way in numbers_in(whole) if way[0] == "proof"]
        for way in ways[:: max(1, len(ways) // 30)]:
            for value in EDGES:
                see(changed(whole, way, value), net, lambda found, net=net: not_refuted(found, net, None))
    assert seen


# -- questions with large numbers ----------------------------------------------------------------------------


def test_a_factor_whose_negation_leaves_64_bits():
    """Over two bits, the second inequality is met; -(-2^63) must not turn its sign in the first."""
    net = Network.of_bits([], Head([[1, 0], [0, 1]]), classes=list("ab"))
    for exponent in (31, 53, 61, 62, 63, 64, 200):
        bound = Fraction(3, 2) + 2 ** (exponent - 1)
        never = [[[0, str(-(2 ** (exponent - 1)))], [1, "1/2"]], str(bound)]
        case = {"lower": ["-1", "-1"], "upper": ["1", "1"], "condition": [[never], [[[[0, "1"]], "1"]]]}
        about = {"format": "sugenet certificate", "version": 3, "network": net.fingerprint}
        about["question"] = {"kind": "query", "inputs": 2, "outputs": 2, "cases": [case]}
        sg.check(about | {"answer": "refuted", "witness": [1, 1], "proof": None}, net)
        rup = {"kind": "lemma", "variables": 8, "facts": [], "cuts": [], "clauses": [[]]}
        for proof in (rup, {"kind": "bound"}, {"kind": "enumerate"}):
            for plain in (False, True):
                with pytest.raises(CertificateError):
                    sg.check(about | {"answer": "proved", "witness": None, "proof": proof}, net, plain=plain)


def test_cuts_with_large_factors():
    net, whole = subject()[0], certificates()["lemma"]
    for q, p in product([0, 1, 2**31, 2**53, 2**60, 2**63, 2**1100], repeat=2):
        for literal in (7, -7, 0, -(2**63), 2**63):
            forged = deepcopy(whole)
            forged["proof"]["cuts"] = [[literal, q, p]]
            forged["proof"]["clauses"] = [[]]
            see(forged, net)
            forged["question"]["region"]["radius"] = "6"
            see(forged, net)


@pytest.mark.parametrize(
    ("depth", "width", "form"), [(1, 64, "branch and bound"), (2, 64, "walk"), (2, 90, "walk")]
)
def test_budgets_beyond_64_bits_allow_everything(depth, width, form):
    rng = np.random.default_rng(0)
    layers = [DenseLayer(rng.choice([-1, 1], (width, n)), [n // 2] * width) for n in (8, width)]
    net = Network.of_bits(layers[:depth], Head(rng.choice([-1, 1], (2, width)), bias=[900, 0]))
    x = [1] * 8
    asked = {"kind": "robust", "sample": x, "label": 0, "target": None, "ties": "lowest"}
    about = {
        "format": "sugenet certificate",
        "version": 3,
        "network": net.fingerprint,
        "answer": "proved",
        "witness": None,
    }
    for radius in (8, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30):
        whole = about | {
            "question": asked | {"region": {"kind": "Hamming", "radius": str(radius)}},
            "proof": {"kind": "enumerate"},
        }
        assert sg.check(whole, net) == f"none of the 256 sets of changes is a violation ({form})"
