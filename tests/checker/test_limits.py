"""The checker keeps to its limits, reads nothing that it does not know, and says which of the two it was."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate.enumeration import sets_of
from sugenet.checker.accelerate.integers import array_problem
from sugenet.checker.limit import Limit
from sugenet.checker.setting import setting_of
from sugenet.errors import CertificateError, CheckLimitError, NetworkError
from sugenet.io import read_json
from sugenet.io.plain.texts import strict_json
from sugenet.nn import ConvLayer, DenseLayer, Head, LevelLayer, Network, Window
from sugenet.problem.goal import Goal, Votes, loses, wins
from tests.checker.typed import asked_of
from tests.fuzzing.bombs import bits
from tests.fuzzing.truth import Truth, is_true


def proved():
    network = bits(12, 8)
    return network, json.loads(
        json.dumps(sg.verify(network, sg.Robust([0] * 12, sg.Hamming(0)), engine="bounds").certificate)
    )


def walked(radius, features=40):
    network = bits(features, 64, depth=2)
    asked = sg.Robust([0] * features, sg.Hamming(0))
    certificate = json.loads(json.dumps(sg.verify(network, asked).certificate))
    certificate["question"]["region"]["radius"] = str(radius)
    certificate["proof"] = {"kind": "enumerate"}
    return certificate | {"answer": "proved", "witness": None}, network


# -- limits --------------------------------------------------------------------------------------------------


def test_what_was_not_checked_in_time_is_not_called_wrong():
    certificate, network = walked(radius=30)
    with pytest.raises(CheckLimitError, match=r"not checked within the limit: 0\.2 s were not enough"):
        sg.check(certificate, network, time_limit=0.2)
    assert issubclass(CheckLimitError, CertificateError)


def test_what_needs_too_much_memory_is_not_called_wrong():
    certificate, network = walked(radius=30)
    with pytest.raises(CheckLimitError, match="needs more than 200,000 bytes"):
        sg.check(certificate, network, memory_limit=200_000)


@pytest.mark.parametrize(
    "wrong",
    [{"time_limit": -1}, {"time_limit": float("nan")}, {"memory_limit": "1 GB"}, {"memory_limit": True}],
)
def test_limits_are_numbers(wrong):
    network, certificate = proved()
    with pytest.raises(sg.errors.QuestionError, match="must be a number, not negative, or None for no limit"):
        sg.check(certificate, network, **wrong)


def test_more_sets_than_are_enumerated_are_not_called_wrong():
    certificate, network = walked(radius=30, features=64)
    with pytest.raises(CheckLimitError, match="at most 10,000,000,000,000 are enumerated"):
        sg.check(certificate, network)


def test_another_number_of_inputs_is_refused_before_they_are_measured(monkeypatch):
    network = bits(40, 64)
    certificate = json.loads(json.dumps(sg.count(network, [0] * 40, sg.Hamming(2)).certificate))
    certificate["question"]["region"]["radius"] = "30"
    monkeypatch.setattr("sugenet.checker.accelerate.count.array_problem", None)
    with pytest.raises(CertificateError, match="the region has 1,099,138,042,172 inputs, not 821"):
        sg.check(certificate, network)


def test_sets_are_counted_as_they_are_walked():
    rng = np.random.default_rng(0)
    for _ in range(60):
        weights = [rng.integers(0, 5, rng.integers(1, 4)).tolist() for _ in range(rng.integers(0, 5))]
        budget = None if rng.random() < 0.2 else int(rng.integers(0, 9))
        chosen = product(*([0, *row] for row in weights))
        expected = sum(budget is None or sum(choice) <= budget for choice in chosen)
        assert sets_of(weights, budget, Limit(), sums=1000) == expected


def test_a_walk_over_maps_is_seen_without_writing_them_out():
    rng = np.random.default_rng(0)
    first = ConvLayer(rng.choice([-1, 1], (8, 1, 3, 3)), [5] * 8, Window((1, 24, 24), kernel=3, pads=1))
    second = ConvLayer(rng.choice([-1, 1], (8, 8, 3, 3)), [36] * 8, Window((8, 24, 24), kernel=3, pads=1))
    network = Network.of_bits([first, second], Head(rng.choice([-1, 1], (2, second.outputs)), bias=[400, 0]))
    answer = sg.verify(network, sg.Robust([0] * 576, sg.Free((0, 1, 2))), engine="exhaust")
    assert answer.certificate["proof"]["kind"] == "enumerate"
    certificate = json.loads(json.dumps(answer.certificate))
    assert "8 sets of changes" in sg.check(certificate, network, memory_limit=64 << 20)


# -- form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(note=""), "proved has a field 'note' that it must not have"),
        (lambda c: c["proof"].update(note=""), "proof: bound has a field 'note' that it must not have"),
        (
            lambda c: c.update(proved_up_to=None),
            "proved has a field 'proved_up_to' that it must not have",
        ),
        (
            lambda c: c.update(witness=[0] * 12),
            "witness: null is needed, not a list",
        ),
        (lambda c: c.update(answer="undecided"), "undecided has no field 'proved_up_to'"),
        (
            lambda c: c.update(answer="undecided", proved_up_to=None),
            "there is a proof, but nothing that it proves",
        ),
        (lambda c: c.update(version=3.0), "not a sugenet certificate of version 3"),
        (lambda c: c.update(version=True), "not a sugenet certificate of version 3"),
        (lambda c: c.update(proof=None), "proof: a list or a JSON object is needed, not null"),
        (
            lambda c: c.update(proof={"kind": "partition", "order": [], "parts": []}),
            "unknown kind 'partition'",
        ),
    ],
)
def test_nothing_stands_in_a_certificate_that_nobody_reads(change, words):
    network, certificate = proved()
    assert sg.check(certificate, network)
    change(certificate)
    with pytest.raises(CertificateError, match=words):
        sg.check(certificate, network)


@pytest.mark.parametrize("kind", ["robust", "reason"])
def test_the_class_of_the_sample_is_compared_also_if_nothing_is_claimed(kind):
    network = Network.of_bits([], Head([[1, 1], [-1, -1]]))
    certificate = sg.verify(network, sg.Robust([1, 1], sg.AnyInput()), engine="bounds").certificate
    if kind == "reason":
        reason = sg.why(network, [1, 1], sg.AnyInput()).reasons[0].certificate
        certificate = {name: value for name, value in reason.items() if name in certificate}
        certificate |= {"answer": "unknown", "proof": None}
    certificate = json.loads(json.dumps(certificate))
    assert certificate["proof"] is None
    assert sg.check(certificate, network)
    for change, words in (({"label": 1}, "has class 0, not 1"), ({"sample": [0, 0]}, "has class 1, not 0")):
        with pytest.raises(CertificateError, match=words):
            sg.check(certificate | {"question": certificate["question"] | change}, network)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 1}', "the key 'a' stands twice"),
        ('{"b": [{"a": 1, "c": 2, "a": 3}]}', "the key 'a' stands twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "1e999 is not a JSON number"),
        ('{"a": ' + "9" * 5000 + "}", "a number has too many digits, more than 4,300"),
    ],
)
def test_json_is_read_strictly(text, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        strict_json(text)
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(sg.errors.FileError, match=words):
        read_json(path)


def test_json_that_is_nested_deeply_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text("[" * 100_000)
    with pytest.raises(sg.errors.FileError, match="it is nested too deeply"):
        read_json(path)


# -- whole numbers at the edges of 32, 53 and 64 bits --------------------------------------------------------


@pytest.mark.parametrize("edge", [31, 32, 40, 53, 62, 63, 64])
def test_goals_are_exact_at_the_edges(edge):
    """Votes over match counts near 2^31, against Python's own integers."""
    rng = np.random.default_rng(edge)
    for _ in range(200):
        factors = [
            int(s) * max(0, (1 << max(0, edge - 31)) + int(d))
            for s, d in zip(rng.choice([-1, 1], 3), rng.integers(-3, 4, 3), strict=True)
        ]
        counts = np.array([[(1 << 31) - 1 - int(d) for d in rng.integers(0, 4, 3)] for _ in range(4)])
        least = sum(f * int(m) for f, m in zip(factors, counts[0], strict=True)) + int(rng.integers(-1, 2))
        goal = Goal(((Votes(tuple(factors), least),),))
        expected = [sum(f * int(m) for f, m in zip(factors, row, strict=True)) for row in counts]
        assert goal.violates(counts).tolist() == [value >= least for value in expected]
        assert [int(value) for value in goal.shortfall(counts)] == [least - value for value in expected]


@pytest.mark.parametrize("seed", range(150))
def test_verdicts_about_huge_heads_are_right(seed):
    """Answers, and what the checker makes of them, against Python's own integers."""
    rng = np.random.default_rng(seed)
    inputs, edge = int(rng.integers(1, 4)), int(rng.choice([31, 32, 53, 62, 63, 64, 80]))
    most = ((1 << 31) - 1) // inputs
    weights = [
        [int(rng.choice([-1, 0, 1])) * (most - int(rng.integers(0, 3))) for _ in range(inputs)]
        for _ in range(2)
    ]
    scale = [Fraction(max(0, (1 << max(0, edge - 31)) + int(rng.integers(-2, 3)))) for _ in range(2)]
    bias = [a * sum(map(abs, row)) + int(rng.integers(-1, 2)) for a, row in zip(scale, weights, strict=True)]
    network = Network.of_bits([], Head(weights, bias, scale))
    truth = Truth(network)
    rows = np.array(truth.inputs)
    assert network.predict(rows, engine="definition").tolist() == [truth.label(x) for x in truth.inputs]
    for goal, found in ((loses(network.head, 0), 1), (wins(network.head, 1), 1)):
        counts = network.match_counts(rows, engine="definition")
        assert goal.violates(counts).tolist() == [truth.label(x) == found for x in truth.inputs]
    question = {"kind": "always", "label": 0, "where": []}
    plain = array_problem(setting_of(asked_of(question, network), Limit()), Limit())
    assert plain.violates(network.match_counts(rows, engine="definition")).tolist() == [
        truth.label(x) != 0 for x in truth.inputs
    ]
    for engine in ("auto", "bounds", "flips", "exhaust", "cdcl"):
        answer = sg.verify(network, sg.Always(0), engine=engine, time_limit=5)
        assert is_true(answer.certificate, network)
        if answer.certificate["answer"] != "undecided":
            sg.check(json.loads(json.dumps(answer.certificate)), network)


def test_sizes_beyond_the_bounds_are_refused_when_a_layer_is_made():
    window = Window((1, 2, 2), kernel=2)
    with pytest.raises(NetworkError, match="too large"):
        ConvLayer([[[[1 << 40] * 2] * 2]], [1], window)
    with pytest.raises(NetworkError, match="too large"):
        ConvLayer([[[[1 << 44] * 2] * 2]], [1], window, top=1 << 10)
    with pytest.raises(NetworkError, match="levels are too many"):
        LevelLayer([[1, 1, 1, 1]], [1], [1 << 62] * 4)
    for tau in (1 << 63) - 1, -(1 << 63), (1 << 62) + 1:
        with pytest.raises(NetworkError, match=r"tau\[0\] is beyond 2\^62"):
            DenseLayer([[1]], [tau])
        with pytest.raises(NetworkError, match=r"tau\[0\] is beyond 2\^62"):
            ConvLayer([[[[1, 1], [1, 1]]]], [tau], window)


@pytest.mark.parametrize("tau", [1 << 62, -(1 << 62), 1 << 31, -1, 0])
def test_thresholds_far_away_decide_as_they_say(tau):
    layers = [DenseLayer([[1, -1], [1, 1]], [tau, 1]), DenseLayer([[1, 1], [1, -1]], [1, tau])]
    network = Network.of_bits(layers, Head([[1, 0], [0, 1]]))
    truth = Truth(network)
    for engine in ("bounds", "flips", "exhaust", "cdcl"):
        for label in (0, 1):
            answer = sg.verify(network, sg.Always(label), engine=engine)
            assert is_true(answer.certificate, network)
            if answer.certificate["answer"] != "undecided":
                sg.check(json.loads(json.dumps(answer.certificate)), network)
    assert network.predict(np.array(truth.inputs)).tolist() == [truth.label(x) for x in truth.inputs]
    for question in (sg.Monotone(0), sg.Fair([1]), sg.Agree(network)):
        answer = sg.verify(network, question)
        assert is_true(answer.certificate, network, network)
        if answer.certificate["answer"] != "undecided":
            sg.check(json.loads(json.dumps(answer.certificate)), network, network)


def _beyond_64_bits():
    """Four inputs, all of class 0, whose scores fit no machine word and whose weights are wide."""
    weights, scale = [[67108864, -67108864], [3, -67108864]], [Fraction(236345639831), Fraction(67004534638)]
    return Network.of_bits(
        [], Head(weights, [a * sum(map(abs, row)) for a, row in zip(scale, weights, strict=True)], scale)
    )


def test_few_inputs_are_answered_whatever_the_size_of_the_scores():
    network = _beyond_64_bits()
    everything = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    assert (
        network.predict(everything).tolist()
        == [0] * 4
        == network.predict(everything, engine="definition").tolist()
    )
    assert network.predict(everything, engine="numpy").tolist() == [0] * 4
    for question in (sg.Always(0), sg.Robust([1, 0], sg.Hamming(1)), sg.Agree(network)):
        answer = sg.verify(network, question)
        assert isinstance(answer, sg.Proved)
        assert "changes is a violation" in sg.check(
            json.loads(json.dumps(answer.certificate)), network, network
        )
    answer = sg.whatif(network, [1, 0])
    assert answer.data()["outcome"] == "none"
    sg.check(answer.certificate, network)
    for asked, total in (((), 4), (([1, 0], sg.Hamming(1)), 3)):
        found = sg.count(network, *asked)
        assert found.counts == (total, 0)
        sg.check(found.certificate, network)


def test_more_time_is_advised_only_where_it_ran_out():
    _, network = walked(radius=4)
    asked = sg.Robust([0] * 40, sg.Hamming(4))
    assert "Allow more time" not in str(sg.verify(network, asked, engine="bounds"))
    assert "Allow more time" in str(sg.verify(network, asked, engine="flips", time_limit=0))
