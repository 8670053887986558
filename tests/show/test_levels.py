"""Neurons of several levels as people see them: rules, what moves them, meters with bands, chains of reasons;
each against all inputs of small networks.
"""

import json
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import Condition, PoolLayer
from sugenet.errors import NetworkError
from sugenet.reason.reasons.chain import key_of, trace_reasons
from sugenet.show import html, match_meters, report, slack_histogram, view_neuron, view_trace
from tests.problem.levels import KINDS, every_input, lively_network
from tests.problem.small import random_sample
from tests.show.garden import garden


def nets(kind, many=4):
    rng = np.random.default_rng(7)
    for _ in range(many):
        network = lively_network(rng, kind)
        yield network, random_sample(network, rng), rng


# -- rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rules_of_later_layers_are_the_minimal_ones_by_brute_force(kind):
    """A rule holds exactly where some rule of the list does, and no condition of it can be weakened."""
    seen = 0
    for network, _, _ in nets(kind):
        for number, layer in enumerate(network.layers[1:], start=2):
            top = network.layers[number - 2].max_level
            height = layer.max_level or 1
            if top is None or (top + 1) ** layer.inputs > 2000:
                continue
            rows = np.array(list(product(range(top + 1), repeat=layer.inputs)))
            found = layer.activity(rows)
            for j, level in product(range(1, layer.outputs + 1), range(1, height + 1)):
                data = view_neuron(network, number, j, level=level, limit=10**6).data()
                reached = found[:, j - 1] >= level
                if not data["rules"]:
                    assert reached.all() or not reached.any()
                    continue
                rules = [rule["conditions"] for rule in data["rules"]]
                assert data["rule_count"] == len(rules)
                by_rules = np.zeros(len(rows), bool)
                for rule in rules:
                    by_rules |= fits(rows, rule)
                    for place in range(len(rule)):
                        weaker = [weaken(one) if k == place else one for k, one in enumerate(rule)]
                        assert not reached[fits(rows, weaker)].all()
                assert (by_rules == reached).all()
                seen += 1
    assert seen or kind in ("conv", "pool")  # too many levels there to go through


def fits(rows, rule):
    return np.all(
        [
            rows[:, one["input"] - 1] >= one["at_least"]
            if one["at_least"] is not None
            else rows[:, one["input"] - 1] <= one["at_most"]
            for one in rule
        ],
        axis=0,
    )


def weaken(one):
    if one["at_least"] is not None:
        return one | {"at_least": one["at_least"] - 1}
    return one | {"at_most": one["at_most"] + 1}


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_number_of_changed_inputs_is_the_least(kind):
    for network, x, _ in nets(kind):
        trace = network.trace(x)
        for number, layer in enumerate(network.layers[1:], start=2):
            before = trace.layers[number - 2]
            top = network.layers[number - 2].max_level
            if top is None or (top + 1) ** layer.inputs > 2000:
                continue
            own = before.levels
            rows = np.array(list(product(range(top + 1), repeat=layer.inputs)))
            found, apart = layer.activity(rows), (rows != own).sum(axis=1)
            for j, level in product(range(1, layer.outputs + 1), range(1, (layer.max_level or 1) + 1)):
                seen = view_neuron(network, number, j, level=level, sample=x).data()["sample"]
                turned = (found[:, j - 1] >= level) != (seen["level"] >= level)
                assert seen["changes"] == (int(apart[turned].min()) if turned.any() else None)
                assert seen["level"] == layer.activity(own[None, :])[0, j - 1]


def test_the_words_of_a_neuron():
    network = garden()
    assert str(view_neuron(network, 2, 2, level=2, sample=[2, 3, 1])).splitlines() == [
        "neuron 2 of layer 2: level 1 at a match count of 4, 2 at 7, of 9",
        "inputs: neuron 1 of layer 1 (weight +2, levels 0..3); neuron 2 of layer 1 (weight -1, levels 0..3)",
        "minimal rules for level 2: 2",
        "  if neuron 1 of layer 1 >= 3 and neuron 2 of layer 1 <= 2, then it is at least 2",
        "  if neuron 1 of layer 1 >= 2 and neuron 2 of layer 1 <= 0, then it is at least 2",
        "on this sample: 5 matches, so it is at level 1",
        "  1 changed input would lift it to 2, for example",
        "    if neuron 1 of layer 1 >= 2",
    ]
    with pytest.raises(NetworkError, match="layer 1, neuron 1 has levels 1 to 3 above 0, not 0"):
        view_neuron(network, 1, 1, level=0)
    with pytest.raises(NetworkError, match="layer 1: there is no neuron 3: the layer has 2"):
        view_neuron(network, 1, 3)


def test_a_level_that_is_always_or_never_reached():
    layer = sg.nn.QuantizedLayer([[1]], [[0, 1, 9]], [2])
    network = sg.Network(sg.nn.Encoder([sg.nn.integer(0, 2)]), [layer], sg.nn.Head([[1], [-1]], tops=[3]))
    lines = [str(view_neuron(network, 1, 1, level=level)).splitlines()[-1] for level in (1, 2, 3)]
    assert lines[0] == "level 1: always reached"
    assert lines[1].startswith("  if x1 >= 1")
    assert lines[2] == "level 3: never reached"
    assert view_neuron(network, 1, 1).data()["level"] == 2
    assert view_neuron(network, 1, 1).data()["steps"] == [0, 1, None]
    assert "never" not in str(view_trace(network, [1], 1))
    assert view_trace(network, [1]).data()["layers"][0]["tau"] == [[0, 1, None]]


# -- chains --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_a_chain_suffices(kind):
    """The decisive conditions force the class, each link's conditions force its level, features force all."""
    for network, x, _ in nets(kind, many=6):
        chain = trace_reasons(network, x)
        X = every_input(network)
        labels = network.predict(X, engine="definition")
        assert chain.index == network.predict(np.array([x], object))[0]
        values = [network.inputs(X), *network.hidden(X)]
        held = met(values[-1], chain.decisive)
        assert (labels[held] == chain.index).all()
        for (number, key), link in chain.links.items():
            assert key == key_of(link.wanted)
            below = met(values[number - 1], link.literals)
            assert below.any()
            assert met(values[number][below], [link.wanted]).all()
        same = [c.state(v) for c, v in zip(network.encoder.codings, x, strict=True)]
        kept = np.ones(len(X), bool)
        for f in chain.features:
            kept &= np.array([network.encoder.codings[f].state(v) == same[f] for v in X[:, f]])
        assert (labels[kept] == chain.index).all()
        assert json.loads(json.dumps(chain.data()))["label"] == network.classes[chain.index]
        assert html(chain)


def met(values, conditions):
    rows = np.asarray(values).astype(int)
    kept = np.ones(len(rows), bool)
    for one in conditions:
        assert isinstance(one, Condition)
        kept &= np.array([one.holds(int(v)) for v in rows[:, one.place - 1]])
    return kept


@pytest.mark.parametrize("kind", KINDS)
def test_no_condition_of_a_step_can_be_weakened(kind):
    seen = 0
    for network, x, _ in nets(kind, many=6):
        chain = trace_reasons(network, x)
        for (number, _), link in chain.links.items():
            layer = network.layers[number - 1]
            top = 1 if number == 1 else network.layers[number - 2].max_level or 1
            if number == 1 or (top + 1) ** layer.inputs > 2000:
                continue
            rows = np.array(list(product(range(top + 1), repeat=layer.inputs)))
            dtype = bool if network.layers[number - 2].max_level is None else int
            found = layer.activity(rows.astype(dtype))
            for place in range(len(link.literals)):
                weaker = [looser(one) if k == place else one for k, one in enumerate(link.literals)]
                if isinstance(layer, PoolLayer) and len(link.literals) == 1:
                    continue  # one that reaches the level is enough, whatever the others are
                assert not met(found[met(rows, weaker)], [link.wanted]).all()
                seen += 1
    assert seen or kind in ("conv", "pool")  # too many levels there to go through


def looser(one):
    if one.at_least is not None:
        return Condition(one.place, at_least=one.at_least - 1)
    return Condition(one.place, at_most=one.at_most + 1)


# -- figures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bands_hold_for_every_input_of_the_region(kind):
    for network, x, rng in nets(kind, many=3):
        region = sg.L0(1) if rng.random() < 0.5 else sg.AnyInput()
        X = every_input(network)
        same = np.array([[a == b for a, b in zip(row, x, strict=True)] for row in X])
        inside = X[(~same).sum(axis=1) <= (1 if isinstance(region, sg.L0) else len(x))]
        inputs = network.inputs(inside)
        for number, layer in enumerate(network.layers, start=1):
            meters = match_meters(network, x, number, region=region, limit=100).meters
            pooled = isinstance(layer, PoolLayer) and layer.top is not None
            counts = layer.activity(inputs) if pooled else layer.match_counts(inputs)
            inputs = layer.activity(inputs)
            for meter in meters:
                own = counts[:, int(meter.name.split()[1]) - 1]
                assert meter.low <= own.min()
                assert own.max() <= meter.high
                values = inputs[:, int(meter.name.split()[1]) - 1]
                if meter.state.startswith("locked"):
                    assert (values == values[0]).all()
        assert html(network.trace(x))
        assert html(network)


def test_words_of_meters():
    network, x = garden(), [2, 3, 1]
    assert [m.state for m in match_meters(network, x).meters] == ["level 1 of 3", "level 0 of 3"]
    assert [m.state for m in match_meters(network, x, region=sg.Free(["wind"])).meters] == [
        "level 1, may be 1 to 2",
        "locked at level 0",
    ]
    drawn = html(network.trace(x))
    assert "matches above the nearest step (M - tau); 0 or more reaches it" in drawn
    assert "within 3 matches of a step" in drawn
    slack = slack_histogram(network, [x, [0, 0, 0]])
    assert sum(slack.counts) == 4


def test_report_of_a_network_of_levels():
    page = report(garden(), [2, 3, 1])
    assert "2 conditions on the levels of the last hidden layer suffice for water" in page
    assert "&gt;= 1 (it is 1)" in page or "≥ 1 (it is 1)" in page
    assert "soil" in page
    assert "Not asked, or not answered" not in page
