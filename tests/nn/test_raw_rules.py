"""Rules in raw features against all raw states: they activate exactly where the neuron does, none contains
another, their number is right.
"""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    RawNeuron,
    bit,
    integer,
    thermometer,
    threshold,
)
from sugenet.show import view_neuron

KINDS = [
    bit(),
    thermometer([1, 2, 3], 0, 4, True),
    OneHot(("a", "b", "c")),
    threshold(2, 0, 3, True),
    integer(0, 2),
    threshold(9, 0, 3, True),
]


@st.composite
def first_layers(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    encoder = Encoder([KINDS[k] for k in rng.integers(0, len(KINDS), rng.integers(1, 4))])
    tau = [int(rng.integers(-1, encoder.width + 2))]
    if encoder.tops is not None and rng.random() < 0.3:
        layer = LevelLayer(rng.integers(-1, 2, (1, encoder.features)), tau, encoder.tops)
    else:
        layer = DenseLayer(rng.integers(-1, 2, (1, encoder.width)), tau)
    return Network(encoder, [layer], Head([[1], [-1]]))


@given(first_layers(), st.data())
def test_raw_rules_say_exactly_when_the_neuron_is_active(network, data):  # docs/theory.md 3.3
    encoder, layer = network.encoder, network.layers[0]
    points = list(product(*([s for s in range(c.states) if c.reachable(s)] for c in encoder.codings)))
    inputs = np.array(points) if isinstance(layer, LevelLayer) else encoder.bits_of_levels(points)
    active = layer.activity(inputs)[:, 0].tolist()
    raw = RawNeuron.of(network, 1)
    rules = list(raw.rules())
    regions = [
        frozenset(p for p in points if all(p[f] in states for f, states in rule.states)) for rule in rules
    ]
    assert [any(p in region for region in regions) for p in points] == active
    assert len(set(regions)) == len(regions)
    assert not any(a < b for a in regions for b in regions)
    assert raw.count() == len(rules)
    place = data.draw(st.integers(0, len(points) - 1))
    others = [
        sum(a != b for a, b in zip(points[place], p, strict=True))
        for p, on in zip(points, active, strict=True)
        if on != active[place]
    ]
    turn = raw.turn(points[place])
    assert (turn is None) == (not others)
    if turn is not None:
        assert turn[0] == min(others)
        moved = list(points[place])
        for feature, (state,) in turn[1].states:
            moved[feature] = state
        assert active[points.index(tuple(moved))] != active[place]
    assert "neuron 1 of layer 1" in str(view_neuron(network, 1, 1))


def test_a_thermometer_shows_only_what_is_minimal():
    encoder = Encoder([thermometer([4, 8, 12], low=0, high=16, whole=True)], ["p"])
    network = Network(encoder, [DenseLayer([[-1, -1, -1]], [2])], Head([[1], [-1]]))
    text = str(view_neuron(network, 1, 1))
    assert "minimal rules in raw features: 1\n  if p < 8, then the neuron activates" in text
    two_sided = Network(encoder, [DenseLayer([[-1, 0, 1]], [1])], Head([[1], [-1]]))
    assert "if p < 4 or p >= 12" in str(view_neuron(two_sided, 1, 1))


def test_exact_pixels_are_shown_without_listing_their_levels():
    rng = np.random.default_rng(0)
    network = Network(
        Encoder.of_integers(100),
        [LevelLayer(rng.choice([-1, 1], (2, 100)), [255 * 50] * 2, [255] * 100)],
        Head([[1, 1], [-1, 1]]),
    )
    text = str(view_neuron(network, 1, 2, limit=1, sample=[0] * 100))
    assert "minimal rules in raw features: too many to count, 1 of them shown" in text
    assert "on this sample:" in text
