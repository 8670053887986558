"""Whole networks on packed words against the definition: maps, rows, and every seam between them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import NetworkError
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, LevelLayer, Network, PoolLayer, Window, packed
from sugenet.nn.head import WIDE
from sugenet.nn.packed import Levels, Maps, Packed, Plain, Rows

ENGINES = ["numba", "numpy"]


def conv(rng, shape, outs, kernel=3, pads=0, top=None, most=1, zeros=False, groups=1, **about):
    window = Window(shape, kernel, pads=pads, **about)
    size = (outs, shape[0] // groups, *window.kernel)
    weights = rng.integers(-most, most + 1, size) if zeros else most * rng.choice([-1, 1], size)
    sizes = ConvLayer(weights, np.zeros(outs, int), window, groups, top).sizes
    return ConvLayer(
        weights,
        (sizes // 2 + rng.integers(-2, 3, sizes.shape)).reshape(outs, *window.positions),
        window,
        groups,
        top,
    )


def pool(rng, shape, kernel=2, stride=2, pads=0):
    return PoolLayer(Window(shape, kernel, stride, pads=pads), rng.random(shape[0]) < 0.5)


def dense(rng, inputs, outs, most=1, zeros=False):
    weights = (
        rng.integers(-most, most + 1, (outs, inputs)) if zeros else most * rng.choice([-1, 1], (outs, inputs))
    )
    return DenseLayer(weights, np.abs(weights).sum(axis=1) // 2 + rng.integers(-2, 3, outs))


def network(rng, layers, classes=4, most=1, zeros=False):
    first = layers[0]
    tops = first.tops if isinstance(first, LevelLayer) else getattr(first, "top", None)
    encoder = (
        Encoder.of_bits(first.inputs)
        if tops is None
        else Encoder.of_integers(first.inputs, 0, int(np.max(tops)))
    )
    width = layers[-1].outputs
    votes = (
        rng.integers(-most, most + 1, (classes, width)) if zeros else rng.choice([-1, 1], (classes, width))
    )
    return Network(encoder, layers, Head(votes))


def raw(rng, net, batch):
    top = max(net.encoder.tops)
    return rng.integers(0, top + 1, (batch, net.encoder.features))


def check(net, X, engine):
    expected = net.hidden(X) if len(X) else [np.zeros((0, layer.outputs), bool) for layer in net.layers]
    counts = net.head.match_counts(expected[-1])
    assert np.array_equal(net.match_counts(X, engine=engine), counts)
    assert np.array_equal(net.match_counts(X, engine=engine, threads=1), counts)
    found = net.hidden(X, engine=engine)
    assert len(found) == len(expected)
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True), start=1):
        assert ours.dtype == bool
        assert np.array_equal(ours, theirs), f"layer {number}"


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("engine", ENGINES)
def test_networks_of_convolutions_pooling_and_dense_layers(engine, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    width = st.sampled_from([1, 3, 17, 63, 64, 65])
    flag, top = st.booleans(), data.draw(st.sampled_from([None, 1, 3, 255]))
    pads = data.draw(st.tuples(*[st.integers(0, 2)] * 4))
    layers = [
        conv(rng, (data.draw(width), 6, 7), data.draw(width), pads=pads, top=top, zeros=data.draw(flag))
    ]
    layers.append(pool(rng, layers[-1].output_shape, pads=data.draw(st.integers(0, 1))))
    layers.append(
        conv(
            rng,
            layers[-1].output_shape,
            data.draw(width),
            2,
            zeros=data.draw(flag),
            dilation=data.draw(st.integers(1, 1)),
            pads=1,
        )
    )
    if data.draw(flag):
        layers.append(pool(rng, layers[-1].output_shape, stride=1))
    for _ in range(data.draw(st.integers(0, 2))):
        layers.append(
            dense(
                rng,
                layers[-1].outputs,
                data.draw(width),
                data.draw(st.sampled_from([1, 1, 3])),
                data.draw(flag),
            )
        )
    net = network(rng, layers, zeros=data.draw(flag), most=data.draw(st.sampled_from([1, 1, 4])))
    check(net, raw(rng, net, data.draw(st.sampled_from([0, 1, 3]))), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [0, 1, 3, 65])
def test_batches_and_chunks(engine, batch, monkeypatch):
    rng = np.random.default_rng(batch)
    net = network(rng, [conv(rng, (3, 5, 5), 70, top=255), conv(rng, (70, 3, 3), 65, 2), dense(rng, 260, 30)])
    X = raw(rng, net, batch)
    check(net, X, engine)
    monkeypatch.setattr(packed, "_CHUNK_BYTES", 1)
    assert len(list(net.packed(engine)._chunks(X))) == (2 if batch == 65 else 1)
    check(net, X, engine)


def seams(rng):
    """Layers in every order of kinds, and weights larger than 1 on each side of a seam."""
    bits = (2, 4, 4)
    yield "the head reads maps", [conv(rng, bits, 5)], (Maps, Rows)
    yield "the head reads pooled bits", [pool(rng, (66, 4, 4))], (Maps, Rows)
    yield "wide maps of input bits", [conv(rng, (65, 4, 4), 64)], (Maps, Rows)
    yield (
        "grouped",
        [conv(rng, (64, 4, 4), 64, groups=64, zeros=True), conv(rng, (64, 2, 2), 32, 2, groups=2)],
        (Maps, Rows),
    )
    yield (
        "heavy dense layer behind maps",
        [conv(rng, bits, 5), dense(rng, 20, 6, most=3, zeros=True)],
        (Maps, Rows),
    )
    yield (
        "heavy dense layer without zeros",
        [conv(rng, bits, 5), dense(rng, 20, 6, most=2), dense(rng, 6, 7, most=3)],
        (Maps, Rows),
    )
    yield (
        "heavy kernels",
        [conv(rng, bits, 5, most=3), conv(rng, (5, 2, 2), 6, 2, most=4, zeros=True)],
        (Maps, Rows),
    )
    yield (
        "kernels too heavy to pack",
        [conv(rng, bits, 5), conv(rng, (5, 2, 2), 6, 1, most=200, zeros=True)],
        (Maps, Plain, Rows),
    )
    yield (
        "and maps behind them",
        [conv(rng, bits, 5, most=300), pool(rng, (5, 2, 2)), dense(rng, 5, 3)],
        (Plain, Maps, Rows),
    )
    yield (
        "dense in front of maps",
        [dense(rng, 9, 32, most=2), conv(rng, bits, 5), dense(rng, 20, 4)],
        (Rows, Maps, Rows),
    )
    yield (
        "two dense in front of maps",
        [dense(rng, 9, 8), dense(rng, 8, 32, most=3), conv(rng, bits, 5)],
        (Rows, Maps, Rows),
    )
    yield (
        "maps, dense, maps",
        [conv(rng, bits, 5), dense(rng, 20, 32), pool(rng, bits), dense(rng, 8, 3)],
        (Maps, Rows, Maps, Rows),
    )
    level = LevelLayer(rng.integers(-2, 3, (32, 6)), rng.integers(5, 12, 32), [3] * 6)
    yield "levels in front of maps", [level, conv(rng, bits, 5), dense(rng, 20, 4)], (Levels, Maps, Rows)
    yield "dense alone", [dense(rng, 9, 8, most=2)], (Rows,)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", range(len(list(seams(np.random.default_rng(0))))))
def test_every_seam_between_kinds_of_layers(engine, number):
    rng = np.random.default_rng(number)
    name, layers, kinds = list(seams(rng))[number]
    for zeros, most in ((False, 1), (True, 3)):
        net = network(rng, layers, zeros=zeros, most=most)
        form = net.packed(engine)
        assert tuple(type(stage) for stage in (*form.stages, form.tail)) == kinds, name
        check(net, raw(rng, net, 20), engine)


def test_a_network_without_layers_and_one_of_no_width():
    for head in (Head([[1, -1], [1, 1]]), Head(np.zeros((2, 0), int))):
        bits = np.zeros((3, head.inputs), bool)
        for engine in ENGINES:
            assert np.array_equal(Packed.of((), head, engine).match_counts(bits), head.match_counts(bits))
            assert Packed.of((), head, engine).hidden(bits) == []


def test_kernels_of_the_fast_kind_stay_behind_maps_of_odd_width():
    """Bits behind the last channel match in any case, so that a dense layer without zeros remains one."""
    rng = np.random.default_rng(1)
    net = network(rng, [conv(rng, (1, 4, 4), 5), dense(rng, 20, 6)])
    assert net.packed("numba").tail.network.layers[0].is_dense
    assert net.packed("numba").tail.shift == 4 * (64 - 5)


@pytest.mark.parametrize("width", [1, 63, 64, 65])
def test_wide_weights_run_as_levels(width):
    """Dense layers and heads whose weights would need very many copies of their inputs."""
    random = np.random.default_rng(width)
    first = DenseLayer(
        random.integers(-(10**6), 10**6, (width, width)), random.integers(-9, 10**6 * width, width)
    )
    second = DenseLayer(random.choice([-1, 0, 1], (5, width)), random.integers(0, 4, 5))
    wide_head = Head(random.integers(-(10**7), 10**7, (3, 5)), bias=[0, Fraction(1, 3), -2])
    plain_head = Head(random.choice([-1, 1], (3, 5)))
    bits = random.random((40, width)) < 0.5
    for head in (wide_head, plain_head):
        for layers in ([first, second], [second, DenseLayer(10**6 * np.eye(5, dtype=int), [10**6] * 5)]):
            network = Network.of_bits(layers, head)
            expected = network.match_counts(bits, engine="definition")
            for engine in ("auto", "numba", "numpy"):
                assert np.array_equal(network.match_counts(bits, engine=engine), expected)
                hidden = zip(network.hidden(bits, engine), network.hidden(bits), strict=True)
                assert all(np.array_equal(one, two) for one, two in hidden)


def test_match_counts_are_bounded_row_by_row():
    rows = np.ones((2, 3), np.int64)
    rows[0, 0] = (1 << 31) - 3
    assert DenseLayer(rows, [1, 1]).sizes.tolist() == [(1 << 31) - 1, 3]
    rows[0, 0] += 1
    with pytest.raises(NetworkError, match="match counts must stay below"):
        DenseLayer(rows, [1, 1])


@pytest.mark.parametrize("engine", ["auto", *ENGINES, "definition"])
def test_a_wide_head_at_the_limit_is_evaluated(engine):
    """A large weight and many inputs, where only the sum of each row stays below 2^31."""
    rows = np.ones((2, 40), np.int64)
    rows[0, 0], rows[1, 3] = (1 << 31) - 40, -((1 << 31) - 40)
    network = Network.of_bits([], Head(rows))
    bits = np.array([[1] * 40, [0] * 40, [1, 0, 0, 1] * 10], bool)
    expected = [[sum(abs(w) for w, b in zip(row, x, strict=True) if b == (w > 0)) for row in rows.tolist()]
                for x in bits]  # fmt: skip
    assert network.match_counts(bits, engine=engine).tolist() == expected


def test_sums_too_large_for_a_walk_are_decided_all_the_same():
    """Sums whose distance to a threshold needs 32 bits are left to a solver, though the inputs are few."""
    big = (1 << 30) - 1
    network = Network.of_bits(
        [DenseLayer([[big, big, 1], [-big, 1, big]], [1, 2 * big + 1])], Head(np.eye(2))
    )
    bits = list(product((0, 1), repeat=3))
    labels = network.predict(np.array(bits, bool), engine="definition").tolist()
    for x, label in zip(bits, labels, strict=True):
        for radius in (1, 2):
            near = [b for b, y in zip(bits, labels, strict=True)
                    if y != label and sum(p != q for p, q in zip(x, b, strict=True)) <= radius]  # fmt: skip
            answer = sg.verify(network, sg.Robust(x, sg.L0(radius)))
            assert isinstance(answer, sg.Refuted if near else sg.Proved), answer
            sg.check(answer.certificate, network)


def test_levels_are_bounded_row_by_row():
    for room, made in ((56, lambda rows, tops: LevelLayer(rows, [1, 1], tops)),
                       (WIDE, lambda rows, tops: Head(rows, tops=tops))):  # fmt: skip
        rows = np.array([[(1 << room) - 7, 1, 1], [1, 1, 1]])
        assert made(rows, [1, 3, 3]).sizes.tolist() == [(1 << room) - 1, 7]
        for tops in ([1, 3, 4], [2, 0, 0], [0, 1 << room, 0], [1 << room + 2, 1 << 40, 1 << 40]):
            with pytest.raises(NetworkError, match="match counts must stay below"):
                made(rows, tops)
