"""A whole network at a glance: every number against its definition over all inputs of small networks."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.capacity import banzhaf, interactions, shapley
from sugenet.errors import CertificateError, QuestionError
from sugenet.glance import Claim, overview
from sugenet.glance.atlas import class_name, over_features, paths_to
from sugenet.glance.claims import evenly, fixed, margin_bounds, margins
from sugenet.glance.covering import covering_of, fewest, last_layer
from sugenet.glance.influence import groups_of, influence_of
from sugenet.glance.power import duel, voting_power
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, Network, Real, RealLayer, Window, integer
from sugenet.problem.clock import Clock
from tests.problem.levels import KINDS, every_input, lively_network


def binary(rng, layers=1, inputs=5):
    """A binary network over bits, with a copy, an opposite, a constant and a needless neuron."""
    made, width = [], inputs
    for _ in range(layers):
        rows = rng.choice([-1, 1], (3, width))
        rows = np.vstack([rows, rows[0], -rows[1], rows[2], rng.choice([-1, 1], width)])
        tau = np.array([2, 3, 1, 2, width - 3 + 1, width + 1, 2])  # the sixth is never on
        made.append(DenseLayer(rows, tau))
        width = len(rows)
    votes = rng.choice([-1, 1], (3, width))
    votes[:, 6] = 1  # the seventh votes for all classes alike
    return Network.of_bits(made, Head(votes, [Fraction(1, 3), 0, Fraction(-1, 2)]), classes=["a", "b", "c"])


def all_of(network):
    return np.array([[*row] for row in every_input(network).tolist()], object)


def labels_of(network, X):
    return network.predict(X, engine="definition").tolist()


def classes_with(network, X, layer, unit, value):
    """Classes if a neuron, or all positions of a channel, is fixed; by the definition."""
    values = network.inputs(X)
    for number, one in enumerate(network.layers, start=1):
        values = one.activity(values)
        if number == layer:
            channels = one.outputs if one.output_shape is None else one.output_shape[0]
            width = one.outputs // channels
            values[:, unit * width : (unit + 1) * width] = value
    return network.head.classes(network.head.match_counts(values)).tolist()


def networks():
    rng = np.random.default_rng(5)
    yield "one layer", binary(rng)
    yield "two layers", binary(rng, 2)
    kernel = rng.choice([-1, 1], (2, 1, 2, 2))
    conv = ConvLayer(kernel, [2, 3], Window((1, 3, 3), 2))
    maps = Head(rng.choice([-1, 1], (2, 8)))
    yield "bits in maps", Network(Encoder.of_bits(9), [conv], maps)
    for kind in KINDS:
        yield kind, lively_network(np.random.default_rng(KINDS.index(kind)), kind)


NETWORKS = dict(networks())
FAST = ("two layers", "bits in maps", "onehot", "conv", "pooled")
PARAMS = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS]


@pytest.fixture(scope="module", params=PARAMS)
def seen(request):
    network = NETWORKS[request.param]
    X = all_of(network)
    return X, labels_of(network, X), overview(network, X, time_limit=None, samples=24)


def test_all_claims_hold(seen):
    _, _, found = seen
    assert found.check().endswith("checked")
    assert len(found.claims) >= len(found.network.classes)


def test_neurons_are_on_and_decide_as_defined(seen):
    _, _, found = seen
    network, X = found.network, found.X
    labels, hidden = np.array(labels_of(network, X)), network.hidden(X)
    for one in found.atlas.neurons:
        layer = network.layers[one.layer - 1]
        channels = layer.outputs if layer.output_shape is None else layer.output_shape[0]
        here = hidden[one.layer - 1].reshape(len(X), channels, -1)[:, one.number - 1]
        for k, share in enumerate(one.on):
            values = here[labels == k]
            top = layer.height * values.size
            assert share == (Fraction(int(values.sum()), top) if values.size else None)
        changed = np.zeros(len(X), bool)
        for value in (0, layer.height):
            changed |= labels != classes_with(network, X, one.layer, one.number - 1, value)
        assert one.decides == Fraction(int(changed.sum()), len(X))


def test_marks_say_what_is_true_of_all_inputs(seen):
    X, labels, found = seen
    network = found.network
    hidden = network.hidden(X)
    for one in found.atlas.neurons:
        layer = network.layers[one.layer - 1]
        if layer.output_shape is not None:
            assert not any(mark.endswith(": proved") for mark in one.marks)
            continue
        column = hidden[one.layer - 1][:, one.number - 1]
        for mark in one.marks:
            words, _, status = mark.partition(": ")
            if status != "proved":
                continue
            if words.startswith("always"):
                assert set(column.tolist()) == {words == "always on"}
            elif words == "decides nothing":
                assert classes_with(network, X, one.layer, one.number - 1, 0) == labels
            else:
                other = hidden[one.layer - 1][:, int(words.split()[-1]) - 1]
                assert (column == (other if words.startswith("same") else ~other)).all()


def test_a_neuron_that_is_fixed_is_off_for_every_input():
    for name in ("one layer", "two layers"):
        network = NETWORKS[name]
        for layer, one in enumerate(network.layers, start=1):
            for j in range(one.outputs):
                assert not fixed(network, layer, j).hidden(all_of(network))[layer - 1][:, j].any()


def test_planted_neurons_are_found():
    for name in ("one layer", "two layers"):
        found = overview(NETWORKS[name], all_of(NETWORKS[name]), samples=12)
        first = found.atlas.of(1)
        assert "same as neuron 1: proved" in first[3].marks
        assert "opposite of neuron 2: proved" in first[4].marks
        assert "always off: proved" in first[5].marks
        last = found.atlas.of(len(found.network.layers))
        assert "decides nothing: proved" in last[6].marks


def test_the_largest_margins_are_those_of_all_inputs(seen):
    X, _, found = seen
    network = found.network
    scores = network.head.scores(network.match_counts(X, engine="definition")).tolist()
    for k, one in enumerate(found.prototypes.classes):
        over = [row[k] - max(s for j, s in enumerate(row) if j != k) for row in scores]
        assert one.best == one.bound == max(over)
        assert one.is_exact
        assert margins(network, k, [list(one.witness)]) == [max(over)]


def test_least_margins_and_bounds_without_time(seen):
    X, _, found = seen
    network = found.network
    least = min(margins(network, 0, X))
    best, _, bound, claim = margin_bounds(network, 0, None, Clock(), least=True, words="at least")
    assert best == bound == least
    assert claim.check()
    *_, wide, none = margin_bounds(network, 0, None, Clock(0), words="at most")
    assert wide >= max(margins(network, 0, X))
    assert none is None


def test_single_changes_and_radii_are_those_of_all_inputs(seen):
    X, labels, found = seen
    frail = found.fragility
    network = found.network
    states = network.encoder.levels(X)
    label_at = {tuple(row): label for row, label in zip(states.tolist(), labels, strict=True)}
    points = np.array(list(label_at))
    classes = np.array(list(label_at.values()))
    for row, turned, label, one in zip(frail.X, frail.turned, frail.labels, frail.radii, strict=True):
        here = network.encoder.levels([row.tolist()])[0]
        apart = points != here
        other = classes != label
        alone = {int(np.flatnonzero(change)[0]) for change in apart[other] if change.sum() == 1}
        assert set(np.flatnonzero(turned).tolist()) == alone
        radius = min(apart[other].sum(axis=1).tolist(), default=None)
        if radius is None:
            assert one.never
        else:
            assert one.found == one.lower == radius
            assert one.is_exact
            assert network.predict_one(list(one.after)) != network.classes[label]
    total = Fraction(int(frail.turned[:, 0].sum()), len(frail.turned))
    assert frail.share(0) == total
    for (f, g), _ in frail.pairs:
        assert any(one.features in ((f, g), (g, f)) for one in frail.radii)


def test_groups_turn_the_samples_that_their_features_turn(seen):
    X, labels, found = seen
    network = found.network
    value = found.influence
    assert value.is_exact
    states = network.encoder.levels(X)
    for mask, count in enumerate(value.lower):
        free = [f for k, (_, members) in enumerate(value.groups) if mask >> k & 1 for f in members]
        stays = np.setdiff1d(np.arange(states.shape[1]), free)
        turned = 0
        for row, label in zip(found.X.tolist(), network.predict(found.X).tolist(), strict=True):
            here = network.encoder.levels([row])[0]
            alike = (states[:, stays] == here[stays]).all(axis=1)
            turned += any(labels[k] != label for k in np.flatnonzero(alike))
        assert count == turned
    mu = value.capacity
    for index, shares in (("shapley", shapley(mu)), ("banzhaf", banzhaf(mu))):
        for one in value.importance:
            assert getattr(one, index) == (shares[one.groups[0]],) * 2
        pairs = interactions(mu, 2, index) if len(value.groups) > 1 else {}
        for one in value.interactions:
            assert getattr(one, index) == (pairs[frozenset(one.groups)],) * 2


def test_open_questions_give_bounds():
    network = NETWORKS["one layer"]
    X = all_of(network)[:6]
    groups = groups_of(network, {"a": [0, 1], "b": ["x3"], "c": [3, 4]}, [])
    exact = influence_of(network, X, range(6), groups, Clock())
    wide = replace(exact, lower=(0,) * 8, upper=(0, *[6] * 7))
    assert wide.capacity is None
    assert not any(one.is_exact for one in wide.importance)
    for one, other in zip(exact.importance, wide.importance, strict=True):
        for index in ("shapley", "banzhaf"):
            (low, high), (value, _) = getattr(other, index), getattr(one, index)
            assert low <= value <= high
    assert "bounds, since some questions are open" in str(wide)
    assert "no sample" in str(influence_of(network, X, range(6), groups, Clock(0)))


@pytest.mark.parametrize(
    "groups", [{"a": ["nothing"]}, {"a": [0], "b": [0]}, {}, {str(k): [k] for k in range(13)}]
)
def test_wrong_groups_are_refused(groups):
    with pytest.raises(QuestionError, match="group"):
        overview(sg.models.breast_cancer(), groups=groups, samples=1, time_limit=1)


def test_it_is_data_and_text(seen):
    *_, found = seen
    data = found.data()
    assert len(data["claims"]) == len(found.claims)
    assert len(data["neurons"]) == len(found.atlas.neurons)
    assert str(found.network) in str(found)
    assert "<svg" in found._repr_html_()


# -- parts ---------------------------------------------------------------------------------------------------


def test_names_follow_from_shares():
    half, more = Fraction(1, 2), Fraction(2, 3)
    assert class_name([half, half], "ab") == ("on in less than half of every class", "no class apart")
    assert class_name([more, None], "ab") == ("on in more than half of every class", "no class apart")
    name, family = class_name([more] * 3 + [half] * 2, "abcde")
    assert (name, family) == ("off for d and e", "d, e | a, b, c")
    assert class_name([half] * 3 + [more] * 2, "abcde")[1] == family
    assert class_name([more] * 7 + [half] * 8, "abcdefghijklmno")[0] == "on for a, b, c, d, e and 2 more"


def test_paths_add_up_along_all_weights():
    rng = np.random.default_rng(2)
    first, second = rng.integers(-2, 3, (4, 6)), rng.integers(-2, 3, (3, 4))
    encoder = Encoder([integer(0, 3), integer(0, 3)])
    network = Network(encoder, [DenseLayer(first, [1] * 4), DenseLayer(second, [1] * 3)], Head([[1, 1, 1]]))
    votes = [2, -1, 1]
    by_hand = [
        sum(votes[k] * second[k, j] * first[j, i] for j in range(4) for k in range(3)) for i in range(6)
    ]
    paths = paths_to(network, votes, 2)
    assert paths.tolist() == by_hand
    assert over_features(network, paths[None, :])[0].tolist() == [sum(by_hand[:3]), sum(by_hand[3:])]


def test_samples_are_taken_from_each_class_in_turn():
    assert evenly([0, 0, 0, 1, 1, 2], 4) == [0, 3, 5, 1]
    assert evenly([1, 1], 9) == [0, 1]


def test_without_samples_inputs_are_random_and_called_so():
    found = overview(sg.models.breast_cancer(), time_limit=2, samples=20)
    assert found.kind == "random"
    assert "20 random inputs" in str(found)


def test_without_time_it_says_what_is_missing():
    X, y = sg.models.samples("digits")
    found = overview(sg.models.digits(), X[:9], y[:9], time_limit=0)
    assert found.missing
    assert all(one.best is not None and one.best <= one.bound for one in found.prototypes.classes if one.best)
    assert found.fragility.radii == ()


def test_real_numbers_have_no_single_changes():
    network = Network(
        Encoder([Real(low=0, high=1), Real(low=0, high=1)]), [RealLayer([[1, -1]], [0])], Head([[1], [-1]])
    )
    found = overview(network, [[0.25, 0.5], [0.5, 0.25]])
    assert found.fragility is None
    assert any("real numbers" in reason for reason in found.missing)
    with pytest.raises(QuestionError, match="Give samples"):
        overview(network)


def test_a_false_claim_is_found():
    network = NETWORKS["one layer"]
    claim = overview(network, all_of(network)).claims[0]
    with pytest.raises(CertificateError):
        Claim(claim.words, NETWORKS["two layers"], claim.answer).check()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"samples": 0}, "samples=0"),
        ({"jobs": True}, "jobs=True"),
        ({"y": [0]}, "y needs X"),
        ({"X": [[1] * 5], "y": [0, 1]}, "1 samples and 2 classes"),
        ({"X": np.zeros((0, 5))}, "no samples"),
    ],
)
def test_wrong_arguments_are_refused(wrong, words):
    with pytest.raises(QuestionError, match=words):
        overview(NETWORKS["one layer"], **wrong)


# -- rules ---------------------------------------------------------------------------------------------------


def test_rules_hold_for_all_inputs_and_cover_their_samples(seen):
    X, labels, found = seen
    network = found.network
    covering = found.feature_rules
    table = dict(zip(found.numbers, found.X.tolist(), strict=True))
    scores = network.head.scores(network.match_counts(X, engine="definition")).tolist()
    for one in covering.rules:
        index, rule = one.rule.index, one.rule
        inside = rule.grid.inside(rule.masks, rule.grid.places(X))
        assert all(labels[k] == index for k in np.flatnonzero(inside))
        over = [
            scores[k][index] - max(s for j, s in enumerate(scores[k]) if j != index)
            for k in np.flatnonzero(inside)
        ]
        assert one.least <= min(over)
        if covering.rules.index(one) in covering.chosen:
            assert one.least == one.found == min(over)
        within = rule.grid.inside(rule.masks, rule.grid.places([table[k] for k in table]))
        assert set(one.samples) == {number for number, yes in zip(table, within, strict=True) if yes}
    assert covering.uncovered == []
    assert covering.reaches


def test_rules_over_neurons_follow_the_last_layer(seen):
    *_, found = seen
    network = found.network
    hidden = network.hidden(found.X)[-1]
    labels = labels_of(network, found.X)
    for one in found.neuron_rules.rules:
        rule = one.rule
        inside = rule.grid.inside(rule.masks, rule.grid.places(hidden.astype(int)))
        covered = {found.numbers[k] for k in np.flatnonzero(inside)}
        assert set(one.samples) == covered
        assert {labels[k] for k in np.flatnonzero(inside)} == {rule.index}


def test_the_fewest_sets_are_fewest():
    rng = np.random.default_rng(3)
    for _ in range(300):
        sets = [frozenset(np.flatnonzero(rng.random(9) < 0.35).tolist()) for _ in range(6)]
        target = int(rng.integers(1, 10))
        sizes = [
            bin(choice).count("1")
            for choice in range(1 << 6)
            if len(frozenset().union(*(s for k, s in enumerate(sets) if choice >> k & 1))) >= target
        ]
        chosen, lower = fewest(sets, target)
        if not sizes:
            assert (chosen, lower) == (tuple(range(6)), 0)
        else:
            assert len(chosen) == lower == min(sizes)
            assert len(frozenset().union(*(sets[k] for k in chosen))) >= target


def test_few_rules_over_neurons_cover_the_shipped_table():
    network = sg.models.breast_cancer()
    X, _ = sg.models.samples("breast_cancer")
    hidden = network.hidden(X, "auto")[-1].astype(int)
    found = covering_of(
        last_layer(network, [f"neuron {k}" for k in range(1, 17)]), hidden, range(113), Clock()
    )
    assert found.reaches
    assert len(found.chosen) == found.lower <= 12


def test_power_is_that_of_the_vote_of_all_patterns():
    rng = np.random.default_rng(8)
    for _ in range(12):
        head = Head(rng.integers(-2, 3, (3, 4)), [Fraction(int(k), 3) for k in rng.integers(-3, 4, 3)])
        network = Network.of_bits([], head)
        patterns = np.array([[k >> j & 1 for j in range(4)] for k in range(16)], bool)
        scores = head.scores(head.match_counts(patterns)).tolist()
        total = [Fraction(0)] * 4
        for one, other in ((0, 1), (0, 2), (1, 2)):
            wins = [row[one] >= row[other] for row in scores]
            for j in range(4):
                total[j] += Fraction(sum(wins[k] != wins[k ^ 1 << j] for k in range(16)), 16)
        assert [banzhaf for _, banzhaf in voting_power(network)] == [value / 3 for value in total]
        assert duel(network, 1, 0)(0b1111) == duel(network, 1, 0)(set(range(1, 5)))
    assert voting_power(Network.of_bits([], Head([[1, 1]]))) is None


def test_claims_within_a_domain_say_so():
    encoder = Encoder([integer(0, 9)] * 2, ["a", "b"])
    first = DenseLayer([[1] * 9 + [0] * 9, [0] * 9 + [1] * 9], [5, 2])
    net = Network(encoder, [first], Head([[1, -1], [-1, 1]]), ["left", "right"])
    samples = [[0, 1], [1, 3], [3, 0]]
    known = net.with_training_range(samples).within("data")
    seen = sg.overview(known, samples)
    words = [claim.words for claim in seen.claims]
    assert "neuron 1 of layer 1 is always off, among inputs within limits of 2 features" in words
    assert "claims and changes are among inputs within limits of 2 features, rules for any input" in str(seen)
    assert not any("always off" in claim.words for claim in sg.overview(net, samples).claims)
    assert "among" not in str(sg.overview(net, samples))


def test_bounds_are_rounded_so_that_they_stay_true():
    third = Fraction(1, 3)
    head = Head([[1], [-1]], [-third, third], [third, third])
    seen = sg.overview(Network.of_bits([], head), [[1], [-1]])
    numbers = [claim.words.rpartition(" ")[2] for claim in seen.prototypes.claims]
    assert numbers == ["0", "1.33334"]  # 4/3 is larger than 1.33333


def test_nothing_is_called_proved_if_the_time_was_up_at_once():
    net = Network.of_bits([], Head([[1, 1], [-1, 0]]), classes=["on", "off"])
    seen = sg.overview(net, [[1, 1]], time_limit=0)
    lines = str(seen.prototypes).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "on: largest margin at least 3; the weights allow at most 3",
        "off: largest margin unknown; the weights allow at most 3",
    ]
    assert not seen.claims
