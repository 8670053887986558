"""Networks of more than two levels on bytes against the definition: every kind of layer, every seam."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.bnn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    Window,
    packed,
)
from sugenet.bnn.packed import Levels, Maps, Packed, Plain, PlainHead, Rows
from sugenet.errors import EncodingError

ENGINES = ["numba", "numpy"]
TOPS = [1, 2, 3, 15, 255, 256, 1000]


def staircases(rng, low, high, height):
    """Steps of each kind in turn: at even distances, anywhere, all equal, always reached, never."""
    rows = []
    for j, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        kind = j % 5
        if kind == 0:
            span = max(most - least, 1) * rng.uniform(0.05, 1.2)
            row = np.ceil(least + rng.uniform(0, 1) * (most - least) + span * np.arange(height) / height)
        elif kind == 1:
            row = np.sort(rng.integers(least - 2, most + 3, height))
        elif kind == 2:
            row = np.full(height, (least + most) // 2)
        elif kind == 3:
            row = np.full(height, least - int(rng.integers(0, 2)))
        else:
            row = np.full(height, most + 1)
        rows.append(row.astype(np.int64))
    return np.array(rows)


def stairs(rng, inputs, outs, height, tops, most=128):
    """A dense layer; weights from -most to most - 1, both ends among them."""
    weights = rng.integers(-most, most, (outs, inputs))
    weights[0, 0], weights[-1, -1] = -most, most - 1
    tops = np.broadcast_to(tops, inputs)
    low, high = np.minimum(weights, 0) @ tops, np.maximum(weights, 0) @ tops
    return QuantizedLayer.from_sums(weights, staircases(rng, low, high, height).tolist(), tops)


def quantized_conv(rng, shape, outs, height, top, kernel=3, groups=1, most=128, pad=0, **geometry):
    window = Window(shape, kernel, **geometry)
    weights = rng.integers(-most, most, (outs, shape[0] // groups, *window.kernel))
    flat = weights.reshape(outs, -1)
    low, high = np.minimum(flat, 0).sum(axis=1) * top, np.maximum(flat, 0).sum(axis=1) * top
    return QuantizedConv(weights, staircases(rng, low, high, height), window, groups, top=top, pad=pad)


def network(rng, layers, tops, classes=4, most=128, head_tops=None):
    tops = np.broadcast_to(tops, layers[0].inputs) if layers else np.asarray(tops)
    encoder = Encoder([Encoder.of_integers(1, 0, int(top)).codings[0] for top in tops])
    votes = rng.integers(-most, most, (classes, layers[-1].outputs if layers else len(tops)))
    return Network(encoder, layers, Head(votes, tops=head_tops))


def check(net, X, engine):
    expected, values = [], net.inputs(X)
    for layer in net.layers:
        values = layer.activity(values)
        expected.append(values)
    counts = net.head.match_counts(values)
    for threads in (1, 2, None):
        assert np.array_equal(net.match_counts(X, engine=engine, threads=threads), counts)
    found = net.hidden(X, engine=engine)
    assert len(found) == len(expected)
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True), start=1):
        assert (ours.dtype == bool) == (theirs.dtype == bool)
        assert np.array_equal(ours, theirs), f"layer {number}"


def raw(rng, net, batch):
    tops = np.array(net.encoder.tops)
    X = rng.integers(0, tops + 1, (batch, len(tops)))
    X[:1], X[1:2] = 0, tops
    return X


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("engine", ENGINES)
def test_dense_networks(engine, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    width, height = st.sampled_from([1, 31, 32, 33, 63, 64, 65]), st.sampled_from(TOPS)
    tops = rng.integers(0, data.draw(height) + 1, data.draw(width))
    most = data.draw(st.sampled_from([1, 2, 8, 128, 129, 2000]))
    layers, before = [], tops
    for _ in range(data.draw(st.integers(1, 3))):
        inputs = layers[-1].outputs if layers else len(tops)
        layers.append(stairs(rng, inputs, data.draw(width), data.draw(height), before, most))
        before = layers[-1].height
    net = network(rng, layers, tops, head_tops=np.full(layers[-1].outputs, before))
    check(net, raw(rng, net, data.draw(st.sampled_from([0, 1, 5, 97]))), engine)


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("engine", ENGINES)
def test_networks_of_convolutions_and_pooling(engine, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    channels, height = st.sampled_from([1, 3, 4, 16, 20, 33]), st.sampled_from(TOPS[:5])
    small, top = st.integers(1, 2), data.draw(height)
    layers, shape, first = [], (data.draw(channels), 6, 5), top
    for _ in range(data.draw(st.integers(1, 3))):
        kernel = tuple(data.draw(st.integers(1, min(3, side))) for side in shape[1:])
        about = {"stride": (data.draw(small), data.draw(small))}
        if data.draw(st.integers(0, 3)) == 0:
            pads = tuple(data.draw(st.integers(0, side - 1)) for side in kernel) * 2
            layers.append(
                PoolLayer(Window(shape, kernel, pads=pads, **about), rng.random(shape[0]) < 0.5, top)
            )
        else:
            groups = data.draw(st.sampled_from([g for g in range(1, shape[0] + 1) if shape[0] % g == 0]))
            fits = all(2 * k - 1 <= side for k, side in zip(kernel, shape[1:], strict=True))
            about |= {"dilation": data.draw(small) if fits else 1}
            about |= {"pads": data.draw(st.tuples(*[st.integers(0, 2)] * 4))}
            outs = groups * data.draw(st.integers(1, max(1, 70 // groups)))
            pad, after = data.draw(st.integers(0, top)), data.draw(height)
            layers.append(quantized_conv(rng, shape, outs, after, top, kernel, groups, pad=pad, **about))
            top = after
        shape = layers[-1].output_shape
    if data.draw(st.booleans()):
        layers.append(stairs(rng, layers[-1].outputs, 20, 7, top))
        top = 7
    net = network(rng, layers, first, head_tops=np.full(layers[-1].outputs, top))
    check(net, raw(rng, net, data.draw(st.sampled_from([1, 2, 7]))), engine)


def seams(rng):
    """Layers of levels beside layers of bits, and levels beyond bytes beside levels in them."""
    shape = (3, 4, 4)
    conv = quantized_conv(rng, shape, 5, 7, 3)
    wide = stairs(rng, 48, 9, 300, 3)
    level = LevelLayer(rng.integers(-2, 3, (20, 9)), rng.integers(20, 60, 20), [4] * 9)
    dense = DenseLayer(rng.choice([-1, 1], (6, 20)), rng.integers(8, 12, 6))
    binary = QuantizedLayer(rng.integers(-3, 4, (9, 6)), np.sort(rng.integers(0, 8, (9, 4))), [1] * 6)
    yield "levels alone", [conv], (Levels,), 7
    yield "bits behind levels", [stairs(rng, 5, 9, 4, 2), level, dense], (Levels, Rows), None
    yield "levels behind bits", [stairs(rng, 5, 9, 4, 2), level, dense, binary], (Levels, Rows, Levels), 4
    yield "levels beyond bytes", [wide, stairs(rng, 9, 7, 5, 300), stairs(rng, 7, 4, 2, 5)], (Levels,), 2
    yield "weights beyond bytes", [stairs(rng, 6, 9, 15, 3), stairs(rng, 9, 5, 3, 15, 1000)], (Levels,), 3
    yield "maps of dense layers", [stairs(rng, 5, 48, 3, 2), conv], (Levels, Levels), 7
    other = quantized_conv(rng, (4, 4, 5), 6, 2, 7, 2)
    yield "maps of other maps", [quantized_conv(rng, shape, 20, 7, 3), other], (Levels, Levels), 2
    window = Window((5, 2, 2), 2, pads=(0, 1, 0, 0))
    kernel = rng.integers(-1, 2, (4, 5, 2, 2))
    bits = ConvLayer(kernel, rng.integers(0, 40, (4, *window.positions)), window, top=7)
    yield "binary kernels over levels", [conv, bits], (Levels, Maps, Rows), None
    heavy = ConvLayer(200 * kernel, rng.integers(0, 8000, (4, *window.positions)), window, top=7)
    yield "and heavy ones", [conv, heavy], (Levels, Plain, Rows), None
    maps = ConvLayer(rng.integers(-1, 2, (2, 4, 1, 1)), [1, 2], Window((4, 1, 2), 1))
    yield "maps behind them", [conv, bits, maps], (Levels, Maps, Rows), None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", range(len(list(seams(np.random.default_rng(0))))))
def test_every_seam(engine, number):
    rng = np.random.default_rng(number)
    name, layers, kinds, top = list(seams(rng))[number]
    first = layers[0]
    tops = first.tops if isinstance(first, QuantizedLayer) else [first.top] * first.inputs
    head_tops = None if top is None else np.full(layers[-1].outputs, top)
    net = network(rng, layers, tops, most=2 if top is None else 128, head_tops=head_tops)
    form = net.packed(engine)
    assert tuple(type(stage) for stage in (*form.stages, form.tail)) == kinds, name
    check(net, raw(rng, net, 20), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_staircases_over_the_bits_of_an_encoder(engine):
    rng = np.random.default_rng(0)
    layer = QuantizedLayer(rng.integers(-3, 4, (9, 70)), np.sort(rng.integers(50, 90, (9, 4))), [1] * 70)
    net = Network.of_bits([layer], Head(rng.integers(-3, 4, (3, 9)), tops=[4] * 9))
    check(net, rng.choice([-1, 1], (33, 70)), engine)
    bare = Head(rng.integers(-3, 4, (3, 70)), tops=[1] * 70)
    bits = rng.random((5, 70)) < 0.5
    assert np.array_equal(Packed.of((), bare, engine).match_counts(bits), bare.match_counts(bits))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("weights", "top"),
    [([127] * 519 + [1], 255), ([127] * 66_310 + [1], 255), ([128, 1], 255), ([1], (1 << 31) - 1)],
)
def test_sums_at_the_edges_of_floats_and_of_31_bits(engine, sign, weights, top):
    """Steps at what 24 bits hold and at the largest sum, and sums one below, at and one above them."""
    row = sign * np.array(weights)
    size = int(np.abs(row).sum()) * top
    edges = sorted({1, min(1 << 24, size - 1), (1 << 24) + 1, size - 2, size - 1, size})
    layer = QuantizedLayer(
        np.tile(row, (len(edges), 1)), [[1, edge, edge] for edge in edges], [top] * len(row)
    )
    counts = [count for edge in edges for count in (edge - 1, edge, edge + 1) if 0 <= count <= size]
    levels = np.zeros((len(counts), len(row)), np.int64)
    for sample, left in enumerate(counts):
        full = min(left // (weights[0] * top), len(row) - 1)  # all weights but the last are equal
        levels[sample, :full] = top
        left -= full * weights[0] * top
        for column in sorted({full, len(row) - 1}):
            levels[sample, column] = min(left // weights[column], top)
            left -= int(levels[sample, column]) * weights[column]
    levels = levels if sign > 0 else top - levels
    assert layer.match_counts(levels)[:, 0].tolist() == counts
    head = Head(np.eye(len(edges), dtype=int), tops=[3] * len(edges))
    form = Packed.of([layer], head, engine)
    assert np.array_equal(form.match_counts(levels), head.match_counts(layer.activity(levels)))


def test_chunks_and_forms_of_no_width(monkeypatch):
    rng = np.random.default_rng(0)
    net = network(
        rng, [stairs(rng, 5, 48, 3, 2), quantized_conv(rng, (3, 4, 4), 5, 7, 3)], 2, head_tops=[7] * 20
    )
    monkeypatch.setattr(packed, "_CHUNK_BYTES", 1)
    X = raw(rng, net, 65)
    assert len(list(net.packed("numpy")._chunks(X))) == 2
    check(net, X, "numpy")
    head = Head(np.zeros((2, 0), int), tops=[])
    assert isinstance(packed.compiled((), head).tail, PlainHead)
    assert packed.compiled((), head).match_counts(np.zeros((3, 0), int)).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_beyond_the_top_are_refused(engine):
    layer = QuantizedLayer([[1, 1]], [[1, 2]], [3, 3])
    form = Packed.of([layer], Head([[1]], tops=[2]), engine)
    with pytest.raises(EncodingError, match=r"ranges from 0 to 4, but levels must be in 0..3"):
        form.match_counts(np.array([[0, 4]]))
