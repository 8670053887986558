"""What is worked out once for many samples, against what is worked out for each."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import sugenet as sg
from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    Network,
    OneHot,
    Span,
    Steps,
    bit,
    integer,
    thermometer,
    threshold,
)
from sugenet.nn.domain import Domain
from sugenet.problem.cascade import Cascade
from sugenet.problem.first_layer import (
    FirstLayer,
    first_layer,
    gains_by_feature,
    kinds_of,
    margins_of,
    move_gains,
)
from sugenet.problem.goal import loses, wins
from sugenet.problem.neighbourhood import build, row_of
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_network, random_sample

REGIONS = [Hamming(2), L0(1), L1(2), L2(2), Linf(1), Linf(3), AnyInput()]


def moves_written_out(network, values, region):
    """Feature by feature and state by state: where a feature may go."""
    found = []
    for feature, (coding, value) in enumerate(zip(network.encoder.codings, values, strict=True)):
        span = network.domain.span(feature)
        for state in range(coding.states):
            move = None if state == coding.state(value) else coding.move(value, state, span)
            if move is not None and move.distance <= region.radius:
                found.append((feature, state, move.value, type(move.value), move.distance))
    return found


@pytest.mark.parametrize("size", [1, 63, 64, 65])
def test_a_neighbourhood_of_many_features_is_that_of_each(size):
    rng = np.random.default_rng(size)
    for codings in (
        [threshold(128, 0, 255, True)] * size,
        [threshold(0.5 + k % 3, -9, 9) for k in range(size)],
        [(threshold(128, 0, 255, True), bit(), OneHot((0, 1, 2)))[k % 3] for k in range(size)],
    ):
        plain = Network(Encoder(codings), [], Head([[1] * sum(c.width for c in codings)] * 2))
        for domain in (None, Domain({0: Span(0, 1)})):
            network = plain.within(domain)
            for radius in (0, 1, 40, 128, 200):
                drawn = zip(codings, rng.integers(0, 256, size).tolist(), strict=True)
                values = [v if isinstance(c, Steps) and c.high > 100 else v % 2 for c, v in drawn]
                near = Linf(radius).around(network, values)
                found = [(m.feature, m.state, m.value, type(m.value), m.distance) for m in near.moves]
                assert found == moves_written_out(network, values, Linf(radius))


@pytest.mark.parametrize("radius", [0, 1, 3, Fraction(7, 2), 255, 1 << 60])
@pytest.mark.parametrize("kind", [int, float, Fraction])
def test_ways_that_are_shared_are_those_that_are_weighed(radius, kind):
    rng = np.random.default_rng(0)
    for coding in (threshold(4, 0, 9, True), thermometer([2, 5], 0, 9, True), integer(0, 9), bit()):
        network = Network(Encoder([coding] * 9), [], Head([[1] * 9 * coding.width] * 2))
        values = [kind(value) for value in rng.integers(0, coding.high + 1, 9).tolist()]
        far = Fraction(radius)
        weighed = build(network, values, lambda _, d, __: d if d <= far else None, None, far=far)  # noqa: B023
        for x in (values, row_of(values)):
            shared = Linf(radius).around(network, x)
            assert list(shared.moves) == list(weighed.moves)
            assert [repr(move) for move in shared.moves] == [repr(move) for move in weighed.moves]
            assert [repr(value) for value in shared.sample] == [repr(value) for value in weighed.sample]
            assert (shared.states, shared.budget, shared.limit) == (weighed.states, None, None)
            assert shared.unit == weighed.unit


def test_equal_values_of_other_types_lead_to_values_of_their_own():
    coding = threshold(0.25, 0, 9)
    network = Network(Encoder([coding, coding, coding]), [], Head([[1, 1, 1], [-1, 1, 1]]))
    for _ in range(2):  # the second time from what is kept
        near = Linf(2).around(network, [1, 1.0, Fraction(1)])
        assert [(m.feature, m.state, m.distance) for m in near.moves] == [
            (k, 0, Fraction(1) - Fraction(float(np.nextafter(0.25, 0)))) for k in range(3)
        ]
    categories = [OneHot((1, 2)), OneHot((1.0, 2.0)), OneHot((True, 2))]
    network = Network(Encoder(categories), [], Head([[1] * 6, [-1] * 6]))
    moves = AnyInput().around(network, [2, 2.0, 2]).moves
    assert [type(move.value) for move in moves] == [int, float, bool]


def test_what_is_kept_of_a_radius_is_not_used_for_another():
    network = Network(Encoder([threshold(5, 0, 9, True)] * 2), [], Head([[1, 1], [-1, 1]]))
    counts = [
        len(Linf(radius).around(network, [4, 9]).moves) for radius in (0, 1, 4, 5, 1, 0, Fraction(9, 2))
    ]
    assert counts == [0, 1, 1, 2, 1, 0, 1]


@pytest.mark.parametrize(
    "row", [[3, 1], [0.5, 2.0], [1, 2.0], [float("nan"), 1.0], [1 << 53, 0], [1e300, 0.0]]
)
def test_a_row_keeps_every_value(row):
    array = row_of(row)
    exact = len({type(value) for value in row}) == 1 and all(abs(value) < 1 << 53 for value in row)
    assert (array.dtype == object) == (not exact)
    assert [repr(value) for value in array[0].tolist()] == [repr(value) for value in row]


@pytest.mark.parametrize("seed", range(40))
def test_a_first_layer_is_what_each_feature_adds(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        first_layer, first = FirstLayer.of(near), near.network.expanded.layers[0] if network.layers else None
        kinds = np.zeros((len(near.moves), int(first_layer.kinds.max(initial=-1)) + 1), np.int64)
        for part in gains_by_feature(near):
            kinds[part.moves, part.neurons] = part.gains
        assert np.array_equal(first_layer.deltas, kinds[:, first_layer.kinds[first_layer.fragile]])
        again = np.zeros_like(first_layer.deltas)
        for part in first_layer.parts():
            again[part.moves, part.neurons] = part.gains
        assert np.array_equal(again, first_layer.deltas)
        if first is not None:
            cut = network.expanded.inputs(row_of(near.sample))
            assert np.array_equal(margins_of(near, first), first.match_counts(cut)[0] - first.tau)
            assert np.array_equal(kinds_of(first), first_layer.kinds)


@pytest.mark.parametrize("seed", range(30))
def test_a_cascade_has_the_steps_of_each_feature_in_order(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, features=4)
    near = some_of(REGIONS, seed)[0].around(network, random_sample(network, rng))
    cascade = Cascade.of(near, loses(network.head, 0))
    first = cascade.layers[0]
    gains = move_gains(near, first_layer(network))
    columns, prices, base, used = [], [], 0, 0
    for feature, place in near.places.items():
        options = sorted([None, *range(place.start, place.stop)], key=lambda n: _state(near, feature, n))
        rows = [np.zeros(gains.shape[1], int) if n is None else gains[n] for n in options]
        weights = [0 if n is None else near.moves[n].weight for n in options]
        base, used = base + rows[0], used + weights[0]
        columns += [b - a for a, b in pairwise(rows)]
        prices += [b - a for a, b in pairwise(weights)]
    assert first.weights.T.tolist() == [column.tolist() for column in columns]
    if near.budget is not None:
        assert (list(cascade.budget[0]), cascade.budget[1]) == (prices, near.budget - used)
    assert np.array_equal(-first.least, margins_of(near, first_layer(network)) + base)


def _state(near, feature, number):
    return near.states[feature] if number is None else near.moves[number].state


def test_goals_of_a_head_are_made_once_and_travel_with_it():
    head = Head([[1, -1], [-1, 1], [1, 1]])
    assert loses(head, 1) is loses(head, 1)
    assert (
        len(
            {
                id(goal)
                for goal in (loses(head, 1), loses(head, 1, ties="against"), wins(head, 1), loses(head, 0))
            }
        )
        == 4
    )
    goal = loses(head, 1)
    other = Head([[1, 1], [1, 1], [1, -1]])
    first, second = goal.neurons(head)[0].tolist(), goal.neurons(other)[0].tolist()
    assert first == [[2, -2], [2, 0]]
    assert second == [[0, 0], [0, -2]]
    assert goal.neurons(head)[0].tolist() == first
    assert pickle.loads(pickle.dumps(head)) == head


def test_a_question_remembers_its_sample_for_one_encoder_at_a_time():
    layer = DenseLayer([[1, 1]], [1])
    left, right = (
        Network(Encoder.of_bits(2, names), [layer], Head([[1], [-1]])) for names in (["a", "b"], ["b", "a"])
    )
    question = sg.Robust({"a": 1, "b": 0}, sg.L0(1))
    assert [question.values(net) for net in (left, right, left)] == [[1, 0], [0, 1], [1, 0]]
    question.values(left)[0] = 7
    assert question.values(left) == [1, 0]


def test_a_sample_that_is_a_violation_itself_is_replayed():
    tied = Network.of_bits([], Head([[1, 1], [1, 1]]))
    answer = sg.verify(tied, sg.Robust([1, 1], sg.L0(0), ties="against"))
    assert (answer.engine, answer.witness) == ("evaluation", (1, 1))
