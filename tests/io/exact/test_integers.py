"""Requantizers as steps, two levels as one weighted sum, branches as a chain, against the obvious way."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire, Pooling, Staircase, chained, remapped
from sugenet.io.exact.requantize import joined, quantized_conv, quantized_layer, steps_of
from sugenet.nn import NEVER, Encoder, Head, Network, PoolLayer, Window
from tests.thinned import examples


@given(st.integers(1, 40), st.integers(-30, 30), st.integers(1, 9))
def test_steps_are_where_the_requantizer_rises(divisor, shift, height):
    def level(sums):
        return np.clip((sums * 7 + shift) // divisor, 0, height)

    (found,) = steps_of(level, np.array([-20]), np.array([25]), height)
    for m, step in enumerate(found.tolist(), start=1):
        reached = [s for s in range(-20, 26) if level(np.array([s]))[0] >= m]
        assert step == (reached[0] if reached else NEVER)


def test_layers_give_the_requantizer_of_their_sums():
    random = np.random.default_rng(0)
    weights = random.integers(-5, 6, (3, 4))
    bias = np.array([[3], [-2], [0]])

    def level(sums):
        return np.clip(np.rint((sums + bias) * 0.3), 0, 6).astype(int)

    layer = quantized_layer(weights, level, height=6, top=3, zero=1)
    rows = np.array(list(product(range(4), repeat=4)))
    assert np.array_equal(layer.activity(rows), level(weights @ (rows - 1).T).T)

    kernel = random.integers(-5, 6, (3, 2, 2, 2))
    window = Window((2, 3, 3), kernel=2, pads=1)
    conv = quantized_conv(kernel, level, window, height=6, top=3, zero=2)
    images = random.integers(0, 4, (20, 2, 3, 3))
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=2) - 2
    sums = np.array(
        [
            [
                [[(padded[n, :, y : y + 2, x : x + 2] * kernel[c]).sum() for x in range(4)] for y in range(4)]
                for c in range(3)
            ]
            for n in range(20)
        ]
    )
    wanted = level(sums.transpose(1, 0, 2, 3).reshape(3, -1)).reshape(3, 20, 16).transpose(1, 0, 2)
    assert np.array_equal(conv.activity(images.reshape(20, -1)), wanted.reshape(20, -1))
    with pytest.raises(FileError, match=r"its sums can reach .* wrap around"):
        quantized_layer(weights, level, height=6, top=3, reach=5)


@settings(max_examples=examples(60))
@given(st.integers(0, 12), st.integers(1, 12), st.integers(1, 20), st.integers(-9, 9), st.integers(2, 9))
def test_a_table_of_a_weighted_sum_is_one(p, q, divisor, shift, size):
    a, b = np.meshgrid(np.arange(size), np.arange(size + 1), indexing="ij")
    table = np.clip((p * a + q * b + shift) // divisor, 0, 5)
    one, other, steps, wrong = joined(table, 5)
    made = np.searchsorted(steps[0], one * a + other * b, side="right")
    assert wrong == 0
    assert np.array_equal(made, table)


def test_a_table_of_no_weighted_sum_is_counted():
    table = np.array(
        [[0, 1, 1], [0, 0, 1], [1, 1, 1]]
    )  # rises with b alone from (0, 0), with a alone from (1, 0)
    *_, wrong = joined(table, 1)
    assert wrong > 0


# -- chains --------------------------------------------------------------------------------------------------


def conv(where, sources, result, weights, steps, window, groups=1, pad=0):
    return Staircase(where, sources, result, weights, np.asarray(steps), window, groups, pad)


def drawn_steps(random, weights, height, top):
    rows = weights.reshape(len(weights), -1)
    low, high = np.minimum(rows, 0).sum(axis=1) * top, np.maximum(rows, 0).sum(axis=1) * top
    return np.sort(random.integers(low[:, None] - 1, high[:, None] + 2, (len(rows), height)), axis=1)


def evaluated(operations, start, images):
    """Every wire by the layers that each operation is by itself."""
    from sugenet.nn import QuantizedConv

    held = {start: images}
    for op in operations:
        flat = np.concatenate([held[s].reshape(len(images), -1) for s in op.sources], axis=1)
        if isinstance(op, Pooling):
            held[op.result] = PoolLayer(op.window, top=op.sources[0].top).activity(flat)
        else:
            top = max(source.top for source in op.sources)
            layer = QuantizedConv(op.weights, op.steps, op.window, op.groups, top=top, pad=op.pad)
            held[op.result] = layer.activity(flat)
    return held


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_branches_become_a_chain(stride, seed):
    """A residual block with another top in each branch, a function of single levels and a pool behind."""
    random = np.random.default_rng(seed)
    x = LevelWire("x", (2, 4, 4), 3)
    size = 4 // stride
    a, b, s = (LevelWire(name, (2, size, size), top) for name, top in (("a", 5), ("b", 4), ("s", 2)))
    m, n, p = (
        LevelWire("m", (2, size, size), 6),
        LevelWire("n", (2, size, size), 3),
        LevelWire("p", (2, 1, 1), 3),
    )
    first, second = random.integers(-3, 4, (2, 2, 3, 3)), random.integers(-3, 4, (2, 1, 3, 3))
    side = random.integers(-3, 4, (2, 2, 1, 1))
    both = np.concatenate([2 * np.eye(2, dtype=int), 3 * np.eye(2, dtype=int)], axis=1)[:, :, None, None]
    skip = s if stride == 2 else x
    operations = [
        conv(
            "a", (x,), a, first, drawn_steps(random, first, 5, 3), Window(x.shape, 3, stride, pads=1), pad=1
        ),
        conv("b", (a,), b, second, drawn_steps(random, second, 4, 5), Window(a.shape, 3, pads=1), 2, 2),
        *([conv("s", (x,), s, side, drawn_steps(random, side, 2, 3), Window(x.shape, 1, 2))] * (stride == 2)),
        conv("m", (b, skip), m, both, drawn_steps(random, both, 6, 4), Window((4, size, size), 1)),
        remapped(m, "n", np.array([[1, 3, 6]]), "n"),
        Pooling("p", (n,), p, Window(n.shape, size)),
    ]
    layers, places = chained(x, operations, p)
    images = random.integers(0, 4, (50, 32))
    network = Network(Encoder.of_integers(32, 0, 3), layers, Head(np.eye(2, dtype=int), tops=[3, 3]))
    held = evaluated(operations, x, images)
    shown = network.hidden(images)
    by_name = {wire.name: values for wire, values in held.items()}
    assert np.array_equal(shown[-1], by_name["p"])
    for place in places:
        assert np.array_equal(shown[place.layer][:, place.start : place.stop], by_name[place.name]), place
    assert len(layers) == 4  # the function of single levels is part of the sum


def test_a_value_cannot_be_carried_past_a_pool():
    x = LevelWire("x", (1, 2, 2), 3)
    p, r = LevelWire("p", (1, 1, 1), 3), LevelWire("r", (1, 1, 1), 3)
    weights = np.ones((1, 5, 1, 1), int)
    operations = [
        Pooling("the pool", (x,), p, Window(x.shape, 2)),
        conv("r", (p, x), r, weights, [[1, 2, 3]], Window((5, 1, 1), 1)),
    ]
    with pytest.raises(FileError, match="the pool: 'x' is needed after this pool"):
        chained(x, operations, r)
