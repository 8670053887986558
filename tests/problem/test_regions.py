"""Regions against their meaning: the states that a neighbourhood reaches are those of all raw samples
inside the region.
"""

import json
from fractions import Fraction
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.engines.walk.patterns import PatternGoal
from sugenet.errors import EncodingError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, bit, integer, thermometer, threshold
from sugenet.problem.first_layer import FirstLayer, reach
from sugenet.problem.goal import loses
from sugenet.problem.problem import Problem
from sugenet.problem.regions import (
    BALLS,
    L0,
    L1,
    L2,
    REGIONS,
    AnyInput,
    Box,
    Cost,
    Free,
    Hamming,
    Linf,
    Region,
    region_data,
    region_of,
)
from tests.problem.levels import KINDS as LEVEL_KINDS
from tests.problem.levels import every_input, lively_network

KINDS = [bit(), thermometer([1, 3], 0, 4, True), OneHot(("a", "b", "c")), threshold(2, 0, 3, True)]


def make(seed):
    rng = np.random.default_rng(seed)
    encoder = Encoder([KINDS[k] for k in rng.integers(0, len(KINDS), rng.integers(1, 4))])
    layer = DenseLayer(rng.integers(-1, 2, (5, encoder.width)), rng.integers(0, encoder.width + 1, 5))
    network = Network(encoder, [layer], Head(rng.choice([-1, 1], (2, 5))))
    options = [
        list(c.categories) if isinstance(c, OneHot) else list(range(int(c.low), int(c.high) + 1))
        for c in encoder.codings
    ]
    return network, [values[rng.integers(0, len(values))] for values in options], options


def inside(region, network, x, y):
    """Whether a raw sample is in the region, written out."""
    codings = network.encoder.codings
    changes = [(c, a, b) for c, a, b in zip(codings, x, y, strict=True) if a != b]
    sizes = [Fraction(1) if isinstance(c, OneHot) else Fraction(abs(b - a)) for c, a, b in changes]
    match region:
        case L0():
            return len(changes) <= region.radius
        case L1():
            return sum(sizes) <= region.radius
        case L2():
            return sum(size**2 for size in sizes) <= region.radius**2
        case Linf():
            return max(sizes, default=0) <= region.radius
        case Hamming():
            return (
                sum(int((c.bits(c.state(a)) != c.bits(c.state(b))).sum()) for c, a, b in changes)
                <= region.radius
            )
        case Free():
            return all(a == b or k in region.features for k, (a, b) in enumerate(zip(x, y, strict=True)))
    return True


def states(network, y):
    return tuple(c.state(v) for c, v in zip(network.encoder.codings, y, strict=True))


def reached(near):
    by_feature = {}
    for move in near.moves:
        by_feature.setdefault(move.feature, [None]).append(move)
    for choice in product(*by_feature.values()):
        moves = [move for move in choice if move is not None]
        if near.budget is None or sum(move.weight for move in moves) <= near.budget:
            yield moves


@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [
            L0(1),
            L0(2),
            L1(2),
            L1(3),
            L2(2),
            L2("3/2"),
            Linf(1),
            Linf(2),
            Hamming(1),
            Hamming(3),
            Free([0]),
            AnyInput(),
        ]
    ),
)
def test_a_neighbourhood_reaches_what_the_region_holds(seed, region):
    if isinstance(region, L2) and isinstance(region.radius, str):
        region = L2(Fraction(region.radius))
    network, x, options = make(seed)
    near = region.around(network, x)
    expected = {states(network, y) for y in product(*options) if inside(region, network, x, y)}
    found = list(reached(near))
    assert {states(network, near.moved(moves)) for moves in found} == expected
    first_layer = FirstLayer.of(near)
    first = network.layers[0]
    margins = first.match_counts(near.inputs)[0] - first.tau
    for moves in found:  # neurons that are not fragile stay as they are, and no margin leaves its reach
        row = np.empty((1, len(x)), dtype=object)
        row[0] = near.moved(moves)
        after = first.match_counts(network.inputs(row))[0] - first.tau
        still = np.setdiff1d(np.arange(5), first_layer.fragile)
        assert ((after >= 0) == (margins >= 0))[still].all()
        assert (
            after[first_layer.fragile] - margins[first_layer.fragile] <= reach(near, first_layer.deltas)
        ).all()
        assert (
            margins[first_layer.fragile] - after[first_layer.fragile] <= reach(near, -first_layer.deltas)
        ).all()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", LEVEL_KINDS)
def test_patterns_of_steps_have_the_scores_of_the_definition(kind, wide, monkeypatch):
    """By levels and by packed steps, which of them depends on the size."""
    monkeypatch.setattr("sugenet.engines.walk.patterns._UNROLLED", 0 if wide else 1 << 22)
    rng = np.random.default_rng(LEVEL_KINDS.index(kind))
    network = lively_network(rng, kind)
    everything = every_input(network)
    x = everything[int(rng.integers(len(everything)))]
    problem = Problem(L0(2).around(network, x), loses(network.head, int(network.predict(x[None])[0])))
    first_layer, patterns = problem.first_layer, PatternGoal(problem.first_layer, problem.goal)
    for moves in [(), *((move,) for move in problem.near.moves[:40])]:
        row = np.empty((1, len(x)), dtype=object)
        row[0] = problem.near.moved(moves)
        added = np.zeros_like(first_layer.margins) if not moves else first_layer.rows(moves)[0]
        turned = (first_layer.margins + added >= 0)[None]
        counts = network.match_counts(row, engine="definition")
        assert (first_layer.scores(turned) == counts).all()
        reached = patterns.reached(patterns.pack(turned ^ first_layer.active[first_layer.fragile]))
        assert reached[0] == problem.goal.violates(counts)[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda n: L0(-1).around(n, [0] * n.encoder.features), QuestionError, "a radius is not negative"),
        (lambda n: Free(["nose"]).around(n, [0] * n.encoder.features), QuestionError, "no feature 'nose'"),
        (lambda n: Free([9]).around(n, [0] * n.encoder.features), QuestionError, "numbers from 0 to"),
        (lambda n: L0(1).around(n, [0, 0]), EncodingError, "the sample has 2 values"),
        (lambda _: Free(1.0), QuestionError, r"Free\(1.0\) needs features by name or number"),
        (lambda _: Free([[1]]), QuestionError, "needs features by name or number"),
    ],
)
def test_regions_that_make_no_sense_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Network.of_bits([DenseLayer([[1, 1, 1]], [1])], Head([[1], [-1]])))


def test_regions_say_what_they_are():
    texts = [str(r) for r in (Hamming(1), L0(2), L1(3), L2(4), Linf(5), Free([1, 2]), AnyInput())]
    assert texts[0] == "up to 1 bit flipped"
    assert texts[-1] == "any input"
    assert len(set(texts)) == 7


MIXED = Network(
    Encoder([integer(0, 9), OneHot(("1/2", "b")), threshold(0.5)], ["size", "kind", "level"]),
    [],
    Head([[1] * 12, [-1] * 12]),
)


@pytest.mark.parametrize(
    ("region", "data"),
    [
        (Hamming(2), {"kind": "Hamming", "radius": "2"}),
        (L0(1), {"kind": "L0", "radius": "1"}),
        (L1(0.5), {"kind": "L1", "radius": "1/2"}),
        (L2(Fraction(1, 3)), {"kind": "L2", "radius": "1/3"}),
        (Linf(0.1), {"kind": "Linf", "radius": str(Fraction(0.1))}),
        (AnyInput(), {"kind": "AnyInput"}),
        (Free(["level", 0]), {"kind": "Free", "features": [2, 0]}),
        (
            Box({"size": (None, 4), "kind": {"1/2"}}),
            {"kind": "Box", "limits": [[0, [None, 4]], [1, {"one of": ["1/2"]}]]},
        ),
        (
            Box({"size": 3, "level": (Fraction(1, 3), 1)}),
            {"kind": "Box", "limits": [[0, {"one of": [3]}], [2, ["1/3", 1]]]},
        ),
    ],
)
def test_regions_go_to_json_and_come_back(region, data):
    assert region_data(MIXED, region) == data
    back = region_of(json.loads(json.dumps(data)), MIXED)
    assert type(back) is type(region)
    assert region_data(MIXED, back) == data
    x = [3, "1/2", 0.4]
    assert list(back.around(MIXED, x).moves) == list(region.around(MIXED, x).moves)


def test_every_region_has_one_name():
    assert [kind.__name__ for kind in REGIONS.values()] == list(REGIONS)
    assert set(REGIONS.values()) == set(get_args(Region))
    assert set(BALLS.values()) == set(get_args(Cost))


def test_limits_on_a_bit_are_limits_on_its_two_values():
    net = Network(Encoder.of_bits(1, ["b"]), [], Head([[-1], [1]]))
    for box, where, counts in (
        ({0, 1}, (None, -1), (1, 0)),
        ({-1}, (-1, -1), (1, 0)),
        ({-1, 1}, (0, 0), (1, 0)),
        ((-1, 1), (-2, -0.5), (1, 0)),
        ((-1, 1), (-0.5, 2), (1, 1)),
    ):
        assert sg.count(net, [-1], sg.Box({"b": box}), where={"b": where}).counts == counts
