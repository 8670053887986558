"""Dual bounds with branching, against all inputs of small networks of every kind of layer; every proof is
checked, and every witness is a violation.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sugenet import Agree, Fair, Monotone, Robust, check, verify
from sugenet.bits.window import Window
from sugenet.engines.hard.dual.bound import Multipliers, Relaxed
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
)
from sugenet.nn.codings import integer
from sugenet.problem.goal import LabelGoal
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, Linf
from sugenet.reason.verdicts import Proved, Refuted


def _stairs(rng, inputs, outputs, steps, tops):
    weights = rng.integers(-3, 4, (outputs, inputs))
    ends = np.abs(weights) @ np.asarray(tops)
    return QuantizedLayer(
        weights, np.sort(rng.integers(0, ends[:, None] + 2, (outputs, steps)), axis=1), tops
    )


def _dense(rng):
    """Two layers of staircases, and scores that are levels themselves: ties and clips are common."""
    first = _stairs(rng, 4, 5, 3, [3] * 4)
    second = _stairs(rng, 5, 3, 4, [3] * 5)
    return Network(Encoder([integer(0, 3)] * 4), [first, second], Head(np.eye(3, dtype=int), tops=[4] * 3))


def _mixed(rng):
    """A staircase behind bits, a binary layer behind levels, and a head over bits."""
    first = QuantizedLayer(rng.integers(-2, 3, (4, 5)), np.sort(rng.integers(0, 6, (4, 2)), axis=1), [1] * 5)
    second = LevelLayer(rng.integers(-2, 3, (4, 4)), rng.integers(1, 8, 4), [2] * 4)
    third = DenseLayer(rng.integers(-1, 2, (3, 4)), rng.integers(1, 4, 3))
    head = Head(rng.integers(-2, 3, (3, 3)), bias=rng.integers(-2, 3, 3).tolist())
    return Network(Encoder.of_bits(5), [first, second, third], head)


def _pooled(rng, every, pad):
    """A convolution of levels, pooling of levels, and a head that weighs them."""
    kernel = rng.integers(-2, 3, (2, 1, 2, 2))
    steps = np.sort(rng.integers(-6, 8, (2, 3)), axis=1)
    conv = QuantizedConv(kernel, steps, Window((1, 2, 2), kernel=2, pads=pad), top=2, pad=min(pad, 1))
    pool = PoolLayer(Window(conv.output_shape, kernel=2, pads=1), every=[every, not every], top=3)
    head = Head(rng.integers(-2, 3, (3, pool.outputs)), tops=[3] * pool.outputs)
    return Network(Encoder([integer(0, 2)] * 4), [conv, pool], head)


def _bits(rng):
    """A binary convolution and binary pooling."""
    conv = ConvLayer(rng.choice([-1, 1], (2, 1, 2, 2)), rng.integers(0, 5, 2), Window((1, 3, 3), kernel=2))
    pool = PoolLayer(Window(conv.output_shape, kernel=2), every=[False, True])
    return Network(
        Encoder.of_bits(9), [conv, pool], Head(rng.integers(-2, 3, (2, pool.outputs)), bias=[0, 1])
    )


KINDS = {
    "stairs": _dense,
    "mixed": _mixed,
    "pool of levels": lambda rng: _pooled(rng, every=False, pad=0),
    "padded": lambda rng: _pooled(rng, every=True, pad=1),
    "bits": _bits,
}


def _everything(network):
    rows = np.array(list(product(*(range(c.states) for c in network.encoder.codings))))
    return rows, network.head.classes(network.match_counts(rows, engine="definition"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_that_of_all_inputs(kind):
    seen = set()
    for seed in range(8):
        rng = np.random.default_rng([seed, len(kind)])
        network = KINDS[kind](rng)
        rows, classes = _everything(network)
        sample = rng.integers(0, [c.states for c in network.encoder.codings])
        label = int(classes[(rows == sample).all(axis=1)][0])
        for region in (Linf(1), L0(2), L1(2)):
            far = np.abs(rows - sample)
            inside = {
                "Linf": (far <= 1).all(axis=1),
                "L0": (far > 0).sum(axis=1) <= 2,
                "L1": far.sum(axis=1) <= 2,
            }[type(region).__name__]
            answer = verify(network, Robust(sample, region), engine="dual")
            assert isinstance(answer, Refuted if (classes[inside] != label).any() else Proved)
            assert check(answer.certificate, network)
            seen.add(type(answer))
    assert seen == {Proved, Refuted}


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_never_below_what_an_input_gives(seed):
    """Whatever the multipliers: at any input, the goal's excess weighed by them is at most the bound."""
    rng = np.random.default_rng(seed)
    for kind, made in KINDS.items():
        network = made(rng)
        rows, _ = _everything(network)
        sample = rows[rng.integers(len(rows))]
        near = L1(3).around(network, sample) if seed % 2 else Linf(2).around(network, sample)
        label = int(network.predict(sample[None])[0])
        relaxed = Relaxed(Problem(near, LabelGoal(network, label).goal))
        node, many = relaxed.node({}), len(relaxed.cases)
        mu = np.zeros((many, len(relaxed.rows)), np.int64)
        for case, (row,) in enumerate(relaxed.cases):
            mu[case, row] = rng.integers(0, 9)
        given = Multipliers(
            np.arange(many),
            mu,
            rng.integers(0, 50, many),
            [rng.integers(-20, 21, (many, layer.multipliers)) for layer in relaxed.layers],
        )
        values = relaxed.see(node, given).value
        far = np.abs(rows - sample)
        inside = rows[far.sum(axis=1) <= 3 if seed % 2 else (far <= 2).all(axis=1)]
        hidden = network.hidden(inside)[-1].astype(np.int64)
        short = hidden @ relaxed.rows.T - relaxed.least
        for case, (row,) in enumerate(relaxed.cases):
            met = short[:, row] >= 0 if relaxed.stars[case] is not None else np.ones(len(inside), bool)
            if met.any():
                assert values[case] >= (mu[case, row] * short[met, row]).max(), kind


def test_questions_about_two_sides_are_proved_too():
    found = set()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        layers = [DenseLayer(rng.integers(-1, 2, (3, 4)), rng.integers(1, 4, 3))]
        network = Network(Encoder.of_bits(4), layers, Head(rng.integers(-1, 2, (2, 3)), bias=[0, seed % 2]))
        for question in (Fair([0]), Monotone(1)):
            answer = verify(network, question, engine="dual")
            assert type(answer) is type(verify(network, question, engine="exhaust"))
            assert check(answer.certificate, network)
            found.add(type(answer))
    assert found == {Proved, Refuted}


def test_multipliers_beyond_64_bits_are_made_smaller():
    network = _dense(np.random.default_rng(0))
    near = Linf(1).around(network, [1, 1, 1, 1])
    relaxed = Relaxed(Problem(near, LabelGoal(network, int(network.predict([[1, 1, 1, 1]])[0])).goal))
    node = relaxed.node({})
    huge = Multipliers(
        np.array([0]),
        np.full((1, len(relaxed.rows)), 1e30),
        np.zeros(1),
        [np.full((1, layer.multipliers), -1e30) for layer in relaxed.layers],
    )
    kept, values = relaxed.integers(node, huge)
    exact = relaxed.see(
        node,
        Multipliers(
            kept.cases,
            kept.mu.astype(object),
            kept.nu.astype(object),
            [o.astype(object) for o in kept.layers],
        ),
    )
    assert int(values[0]) == int(exact.value[0])


def test_neurons_that_never_turn_leave_layers_of_none():
    """Two sides of a network whose neurons are constant: nothing is left of the layer."""
    network = Network(
        Encoder([integer(0, 2)] * 2),
        [QuantizedLayer([[1, 1]], [[0, 0]], [2, 2])],
        Head([[1], [-1]], tops=[2]),
    )
    for question, other in ((Fair([0]), None), (Agree(network), network)):
        answer = verify(network, question, engine="dual")
        assert isinstance(answer, Proved)
        assert check(answer.certificate, network, other).startswith("dual bounds")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("large", [1 << 33, 1 << 40, 1 << 50])
def test_large_scores_over_many_thresholds_are_decided_without_overflow(large):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tops = rng.integers(1, 4, 4)
        tau = np.repeat(rng.integers(1, 6, (3, 1)), 3, axis=1)  # three levels in one step
        head = Head(rng.integers(-large, large + 1, (2, 3)), [large, 0], tops=[3] * 3)
        network = Network(
            Encoder([integer(0, int(top)) for top in tops]),
            [QuantizedLayer(rng.integers(-2, 3, (3, 4)), tau, tops)],
            head,
        )
        rows = list(product(*(range(top + 1) for top in tops)))
        x = rows[int(rng.integers(len(rows)))]
        label = network.predict([x])[0]
        near = [row for row in rows if max(abs(a - b) for a, b in zip(x, row, strict=True)) <= 1]
        answer = verify(network, Robust(x, Linf(1)), engine="dual")
        assert isinstance(answer, Proved) == bool((network.predict(near) == label).all())
        check(answer.certificate, network)
