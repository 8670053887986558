"""Every engine against brute force: all regions, tie rules, targets and questions, on small random networks;
certificates that can fail.
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.engines.ladder import ENGINES
from sugenet.errors import CertificateError, EncodingError, NetworkError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, integer, threshold
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Votes
from sugenet.problem.neighbourhood import combinations_of, sets_within
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.reason import (
    L0,
    L1,
    L2,
    Agree,
    Always,
    AnyInput,
    Box,
    Fair,
    Free,
    Hamming,
    Linf,
    Monotone,
    Never,
    Proved,
    Refuted,
    Robust,
    Undecided,
    answer_of,
    check,
    verify,
)
from tests.problem.levels import any_network
from tests.problem.small import random_network, random_sample, raw_values, samples_inside

REGIONS = [
    Hamming(1),
    Hamming(2),
    Hamming(3),
    L0(1),
    L0(2),
    L1(2),
    L2(2),
    Linf(1),
    Linf(3),
    Free([0]),
    Free([0, 1]),
    AnyInput(),
]


def top(network, y):
    row = np.empty((1, len(y)), object)
    row[0] = y
    scores = list(network.head.scores(network.match_counts(row, engine="definition"))[0])
    return [k for k, score in enumerate(scores) if score == max(scores)]


def is_violated(tops, label, target, ties):
    if target is None:
        return tops[0] != label if ties == "lowest" else tops != [label]
    return tops[0] == target if ties == "lowest" else target in tops


def confirmed(answer, network, other=None):
    """The certificate survives JSON and holds; an answer without one says so."""
    certificate = json.loads(json.dumps(answer.certificate))
    assert str(answer)
    json.dumps(answer.data())
    if answer.is_certified:
        assert check(certificate, network, other)
    else:
        assert "not certified: " in str(answer)
        assert str(answer_of(json.loads(json.dumps(answer.data())), network, other)) == str(answer)
        with pytest.raises(CertificateError, match="the answer is not certified"):
            check(certificate, network, other)


def stays_open(engine, near, truth):
    """Whether an engine must leave a problem with or without a violation open, for what it is."""
    if engine == "branch":
        return len(near.network.expanded.layers) > 1
    if engine == "exhaust":
        return near.budget is not None and sets_within(near) != combinations_of(near)
    return {"flips": near.budget is None, "search": not truth, "bounds": truth}.get(engine, False)


@pytest.mark.parametrize("engine", ["auto", *(name for name in ENGINES if name != "exact")])
@pytest.mark.parametrize("seed", range(12))
def test_robustness_is_decided_as_brute_force_says(engine, seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed, features=int(rng.integers(2, 5)))
    x = random_sample(network, rng)
    label = top(network, x)[0]
    missed = 0
    for region in REGIONS:
        target = None if rng.random() < 0.6 else int(rng.choice([k for k in range(3) if k != label]))
        ties = "lowest" if rng.random() < 0.6 else "against"
        near = region.around(network, x)
        truth = any(is_violated(top(network, y), label, target, ties) for y in samples_inside(near))
        here = is_violated(top(network, x), label, target, ties)
        answer = verify(network, Robust(x, region, target, ties), engine=engine)
        if isinstance(answer, Undecided):
            missed += not stays_open(engine, near, truth)
            continue
        assert here or not stays_open(engine, near, truth)
        assert isinstance(answer, Refuted if truth else Proved)
        confirmed(answer, network)
    assert missed <= (4 if engine == "bounds" else 0)


def everything(network):
    rows = list(product(*(raw_values(coding) for coding in network.encoder.codings)))
    return {row: top(network, row)[0] for row in rows}


@pytest.mark.parametrize("engine", ["auto", "cdcl", "exhaust", "cpsat"])
@pytest.mark.parametrize("seed", range(12))
def test_questions_about_all_inputs(engine, seed):
    rng = np.random.default_rng(100 + seed)
    network = any_network(rng, seed, features=3)
    classes = everything(network)
    where = {}
    if seed % 3:
        feature = int(rng.integers(3))
        values = raw_values(network.encoder.codings[feature])
        where = (
            {feature: {values[0], values[-1]}}
            if isinstance(network.encoder.codings[feature], OneHot)
            else {feature: (None, values[1])}
        )
    inside = {
        row: label
        for row, label in classes.items()
        if all(_meets(row[f], limit) for f, limit in where.items())
    }
    asked = []
    for label in range(3):
        asked.append((Always(label, where), all(found == label for found in inside.values())))
        asked.append((Never(label, where), label not in inside.values()))
    for feature, coding in enumerate(network.encoder.codings):
        if len({coding.state(row[feature]) for row in inside}) < 2:
            continue
        others = [f for f in range(network.encoder.features) if f != feature]
        pairs = [(a, b) for a in inside for b in inside if a != b and all(a[f] == b[f] for f in others)]
        asked.append((Fair([feature], where), all(inside[a] == inside[b] for a, b in pairs)))
        if not isinstance(coding, OneHot):
            raised = [(a, b) for a, b in pairs if b[feature] > a[feature]]
            asked.append((Monotone(feature, where=where), all(inside[b] >= inside[a] for a, b in raised)))
            asked.append(
                (
                    Monotone(feature, 1, rising=False, where=where),
                    all(inside[a] == 1 for a, b in raised if inside[b] == 1),
                )
            )
    two = [(a, b) for a in inside for b in inside if a[2:] == b[2:]]
    asked.append((Fair([0, 1], where), all(inside[a] == inside[b] for a, b in two)))
    for question, truth in asked:
        answer = verify(network, question, engine=engine)
        assert isinstance(answer, Proved if truth else Refuted), question
        confirmed(answer, network)


def _meets(value, limit):
    return value in limit if isinstance(limit, set) else value <= limit[1]


@pytest.mark.parametrize("seed", range(12))
def test_two_networks_agree_or_not(seed):
    rng = np.random.default_rng(200 + seed)
    network = random_network(rng, features=3)
    other = random_network(np.random.default_rng(300 + seed), features=3)
    same = Network(network.encoder, network.layers, network.head)
    third = Network(network.encoder, [], type(network.head)(rng.integers(-1, 2, (3, network.encoder.width))))
    for second in (same, third):
        truth = everything(network) == everything(second)
        answer = verify(network, Agree(second))
        assert isinstance(answer, Proved if truth else Refuted)
        confirmed(answer, network, second)
        with pytest.raises(CertificateError, match="about two networks: give the other one too"):
            check(answer.certificate, network)
        if other.fingerprint != second.fingerprint:
            with pytest.raises(CertificateError, match="the other network is not the one"):
                check(answer.certificate, network, other)


def changed_once(value):
    """Copies of JSON with one entry changed."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value + "1"
    elif isinstance(value, dict):
        for key in value:
            for other in changed_once(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        for place in range(len(value)):
            for other in changed_once(value[place]):
                yield [*value[:place], other, *value[place + 1 :]]
        if value:
            yield value[1:]


@pytest.mark.parametrize("engine", ["flips", "exhaust", "cdcl", "auto"])
def test_a_tampered_proof_fails_or_still_proves_its_claim(engine):
    """Whatever is changed in a certificate: what `check` accepts is true."""
    refused = 0
    for seed in range(6):
        rng = np.random.default_rng(400 + seed)
        network = random_network(rng, features=3)
        x = random_sample(network, rng)
        answer = verify(network, Robust(x, Hamming(2) if engine != "exhaust" else Linf(1)), engine=engine)
        if isinstance(answer, Undecided):
            continue
        for part in ("question", "proof", "witness", "answer"):
            for other in changed_once(answer.certificate[part]):
                forged = copy.deepcopy(answer.certificate) | {part: other}
                try:
                    check(forged, network)
                except CertificateError:
                    refused += 1
                    continue
                assert claim_is_true(forged, network)
    assert refused > 20


def claim_is_true(certificate, network):
    question = certificate["question"]
    kinds = {"Hamming": Hamming, "Linf": Linf}
    region = kinds[question["region"]["kind"]](Fraction(question["region"]["radius"]))
    x = question["sample"]
    label = top(network, x)[0]
    found = [
        y
        for y in samples_inside(region.around(network, x))
        if is_violated(top(network, y), label, question["target"], question["ties"])
    ]
    return bool(found) == (certificate["answer"] == "refuted")


def test_another_network_is_refused():
    rng = np.random.default_rng(5)
    network, other = random_network(rng, features=3), random_network(rng, features=3)
    answer = verify(network, Always(0))
    with pytest.raises(CertificateError, match="for the network"):
        check(answer.certificate, other)


@pytest.mark.parametrize("seed", range(10))
def test_a_larger_region_never_turns_refuted_into_proved(seed):
    rng = np.random.default_rng(500 + seed)
    network = random_network(rng, features=6, depth=2, width=9)
    x = random_sample(network, rng)
    for regions in (
        [Hamming(r) for r in range(5)],
        [Linf(r) for r in range(4)],
        [L1(r) for r in range(4)],
        [Free(range(k)) for k in range(6)],
    ):
        answers = [isinstance(verify(network, Robust(x, region)), Refuted) for region in regions]
        assert answers == sorted(answers)


@pytest.mark.parametrize("seed", range(10))
def test_permuting_features_permutes_answers(seed):
    from sugenet.nn import DenseLayer, Head

    rng = np.random.default_rng(600 + seed)
    n, order = 12, rng.permutation(12)
    weights, head = rng.choice([-1, 1], (7, n)), Head(rng.choice([-1, 1], (3, 7)))
    tau = rng.integers(4, 9, 7)
    network = Network.of_bits([DenseLayer(weights, tau)], head)
    permuted = Network.of_bits([DenseLayer(weights[:, order], tau)], head)
    x = rng.choice([-1, 1], n)
    for r in range(4):
        a, b = verify(network, Robust(x, Hamming(r))), verify(permuted, Robust(x[order], Hamming(r)))
        assert type(a) is type(b)


def test_what_cannot_be_asked_is_said():
    rng = np.random.default_rng(1)
    network = random_network(rng, features=3)
    x = random_sample(network, rng)
    with pytest.raises(QuestionError, match="not an engine"):
        verify(network, Robust(x, Hamming(1)), engine="oracle")
    with pytest.raises(QuestionError, match="not a region"):
        verify(network, Robust(x, 3))
    with pytest.raises(QuestionError, match="no class"):
        verify(network, Always("nobody"))
    with pytest.raises(QuestionError, match="no feature"):
        verify(network, Fair(["nothing"]))
    with pytest.raises(QuestionError, match="needs a question"):
        verify(network, "is it good?")
    with pytest.raises(EncodingError, match="not a category"):
        verify(network, Robust(x, Box({0: {object()}})))
    others = set(network.encoder.codings[0].categories) - {x[0]}
    with pytest.raises(QuestionError, match="outside the box"):
        verify(network, Robust(x, Box({0: others})))


def test_time_limit_gives_what_is_known():
    rng = np.random.default_rng(3)
    from sugenet.nn import DenseLayer, Head

    network = Network.of_bits(
        [DenseLayer(rng.choice([-1, 1], (60, 80)), rng.integers(38, 43, 60))],
        Head(rng.choice([-1, 1], (4, 60))),
    )
    x = rng.choice([-1, 1], 80)
    told = []
    answer = verify(network, Robust(x, Hamming(40)), time_limit=0.0, notify=told.append)
    assert isinstance(answer, Undecided)
    assert "undecided" in str(answer)
    assert check(answer.certificate, network)


NET = Network.of_bits(
    [DenseLayer([[1, 1, -1, 1], [-1, 1, 1, 1], [1, -1, 1, 1]], [2, 3, 2])], Head([[1, 1, 1], [-1, -1, 1]])
)
X = [1, 1, 1, 1]


def checked(answer, network, *others):
    return sg.check(json.loads(json.dumps(answer.certificate)), network, *others)


def test_classes_whose_scores_do_not_count():
    head = Head([[1, -1], [1, 1], [-1, 1]], [0, Fraction(1, 3), 0], [0, 0, 1])
    net = Network.of_bits([DenseLayer([[1, 1, -1], [1, -1, 1]], [2, 2])], head)
    other = Network.of_bits(net.layers, Head(head.weights, [0, Fraction(1, 3), 0], [0, 0, 1]))
    for engine in ("auto", "cdcl", "search"):
        answer = sg.verify(net, sg.Agree(other), engine=engine)
        if isinstance(answer, Proved):
            assert checked(answer, net, other)
    assert Votes.of([0, 0], 7) == Votes((0, 0), 1)
    assert Votes.of([0, 0], -7) == Votes((0, 0), 0)


def test_one_output():
    net = Network(Encoder([integer(0, 1)] * 3), [], Head([[1, 1, -1]]))
    for bound in range(-4, 5):
        query = Query(3, 1, [Case(QueryBox([0] * 3, [1] * 3), [[Inequality({0: -1}, bound)]])])
        answer = sg.verify(net, query)
        assert isinstance(answer, Refuted) == (bound <= 3)
        assert checked(answer, net)


def test_limits_prices_and_features_stand_once():
    with pytest.raises(QuestionError, match="limits twice"):
        sg.verify(NET, sg.Always(0, sg.Box([(0, (0, 1)), ("x1", (1, 1))])))
    with pytest.raises(QuestionError, match="two prices"):
        sg.whatif(NET, X, sg.Prices([(0, 1), ("x1", 2)]))
    assert checked(sg.verify(NET, sg.Robust(X, sg.Free([0, "x1", 0]))), NET)
    answer = sg.verify(NET, sg.Fair([0, "x1"]))
    assert checked(answer, NET)


@pytest.mark.parametrize(
    "wrong", [{"time_limit": float("nan")}, {"time_limit": "5"}, {"threads": 0}, {"seed": -1}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(QuestionError, match=next(iter(wrong))):
        sg.verify(NET, sg.Robust(X, sg.L0(1)), **wrong)
    with pytest.raises(QuestionError):
        Clock(**wrong)


def test_what_is_known_at_an_interruption(monkeypatch):
    from sugenet.engines.walk import sets

    net = sg.models.digits()
    x = sg.models.samples("digits")[0][7]
    real, levels = sets.flip_level, []

    def once(problem, level, clock):
        if levels:
            raise KeyboardInterrupt
        levels.append(level)
        return real(problem, level, clock)

    monkeypatch.setattr(sets, "flip_level", once)
    monkeypatch.setattr(sets, "_levels", lambda near: [4, near.budget])
    answer = sg.verify(net, sg.Robust(x, sg.L2(3)), engine="flips")
    assert isinstance(answer, Undecided)
    assert answer.reason == "interrupted"
    if "proved_up_to" in answer.facts:
        assert "raw distance of 2 (sum of squares 4)" in str(answer)
        assert checked(answer, net).startswith("up to a sum of squares of 4")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"engine": ["bounds"]}, QuestionError, "bounds"),
        ({"within": np.array(1)}, NetworkError, "does not say which inputs can occur"),
    ],
)
def test_arguments_of_other_types_are_named(given, error, said):
    net = Network(Encoder([threshold(1.0)]), [], Head([[1], [-1]]))
    with pytest.raises(error, match=said):
        sg.verify(net, sg.Robust([0.0], sg.L0(1)), **given)


def test_a_time_limit_beyond_all_floats_is_no_limit():
    net = Network(Encoder([threshold(1.0)]), [], Head([[1], [-1]]))
    assert isinstance(sg.verify(net, sg.Robust([0.0], sg.L0(1)), time_limit=10**400), Refuted)


def test_boxes_beyond_all_floats():
    net = Network(Encoder([threshold(1.0)]), [], Head([[1], [-1]]))
    with pytest.raises(QuestionError, match="box is empty"):
        sg.verify(net, sg.Always(0, {0: (10**400, None)}))


@pytest.mark.parametrize("law", [None, "x != 3"])
def test_boxes_of_a_query_without_an_input_are_left_out(law):
    """No integer is from 6/5 to 17/10, and with the law none is from 3 to 3."""
    ladder = DenseLayer([[1, 1, 1]], [2])
    network = Network(Encoder([integer(0, 3)], ["x"]), [ladder], Head([[1], [-1]]))  # class 0 from x = 2
    empty = (Fraction(6, 5), Fraction(17, 10)) if law is None else (3, 3)

    def asked(*boxes, of=0):
        wrong = [[Inequality({of: 1, 1 - of: -1}, 0)]]
        query = Query(1, 2, [Case(QueryBox([low], [high]), wrong) for low, high in boxes])
        answer = sg.verify(network, query, within=law)
        assert checked(answer, network)
        return answer

    for boxes in ([(0, 1), empty], [empty, (0, 1)], [(0, 0), empty, (1, 1)]):
        assert isinstance(asked(*boxes, of=1), Refuted)
        answer = asked(*boxes)
        assert isinstance(answer, Proved)
        proof = answer.certificate["proof"]
        parts = proof if isinstance(proof, list) else [proof]
        assert len(parts) == len(boxes) - 1
        for wrong in ([], [*parts, parts[0]]):
            forged = answer.certificate | {"proof": wrong}
            with pytest.raises(CertificateError, match="proofs for"):
                sg.check(forged, network)
    with pytest.raises(QuestionError, match=r"box is empty|nothing to ask about"):
        asked(empty, (empty[0], empty[0]))
    only = copy.deepcopy(answer.certificate)
    only["question"]["cases"] = only["question"]["cases"][1:2]
    with pytest.raises(CertificateError, match="about no input"):
        sg.check(only | {"proof": []}, network)


def test_none_is_a_category_like_any_other():
    network = Network(Encoder([OneHot((None, "b"))]), [], Head([[-1, 1], [1, -1]]))
    answer = sg.verify(network, sg.Robust(["b"], sg.Box({"x1": {None, "b"}})))
    assert isinstance(answer, Refuted)
    checked(answer, network)
    forged = answer.certificate | {"answer": "proved", "witness": None, "proof": {"kind": "bound"}}
    with pytest.raises(CertificateError, match="do not exclude"):
        sg.check(forged, network)
