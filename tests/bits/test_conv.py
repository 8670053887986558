"""Packed convolutions and pooling, judged by the definition: `ConvLayer.activity` and
`PoolLayer.activity` of `sugenet.nn`.
"""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.bits import (
    EngineName,
    PackedConv,
    PackedMaps,
    PackedPool,
    map_columns,
    pack,
    pack_maps,
    unpack,
    unpack_maps,
)
from sugenet.errors import EncodingError, NetworkError, SugenetError
from sugenet.nn import ConvLayer, PoolLayer, Window
from tests.thinned import examples

ENGINES: list[EngineName] = ["numba", "numpy"]
WIDTHS = [1, 3, 63, 64, 65]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> EngineName:
    name: EngineName = request.param
    return name


def draw_conv(
    rng: np.random.Generator,
    window: Window,
    outs: int,
    groups: int = 1,
    top: int | None = None,
    most: int = 1,
    zeros: bool = True,
) -> ConvLayer:
    """Thresholds near the middle, where answers change, a few of them constant;
    different at every position.
    """
    shape = (outs, window.shape[0] // groups, *window.kernel)
    weights = rng.integers(-most, most + 1, shape) if zeros else most * rng.choice([-1, 1], shape)
    sizes = ConvLayer(weights, np.zeros(outs, int), window, groups, top).sizes
    tau = sizes // 2 + rng.integers(-2, 3, sizes.shape) * (top or 1)
    tau = np.where(rng.random(sizes.shape) < 0.1, rng.choice([-1, 0, 10**9], sizes.shape), tau)
    return ConvLayer(weights, tau.reshape(outs, *window.positions), window, groups, top)


def packed(layer: ConvLayer | PoolLayer) -> PackedConv | PackedPool:
    window = layer.window
    if isinstance(layer, PoolLayer):
        return PackedPool(
            window.shape, window.kernel, window.stride, window.dilation, window.pads, layer.every
        )
    tau = layer.tau.reshape(len(layer.weights), -1)
    about: dict[str, Any] = {"stride": window.stride, "dilation": window.dilation, "pads": window.pads}
    return PackedConv.from_arrays(
        layer.weights, tau, window.shape, groups=layer.groups, top=layer.top, **about
    )


def draw_inputs(rng: np.random.Generator, layer: ConvLayer | PoolLayer, batch: int) -> Any:
    top = layer.top if isinstance(layer, ConvLayer) else None
    values = rng.integers(0, (top or 1) + 1, (batch, layer.inputs))
    return values > 0 if top is None else values


def check(
    layers: list[ConvLayer | PoolLayer], inputs: Any, engine: EngineName, threads: int | None = None
) -> None:
    maps = PackedMaps([packed(layer) for layer in layers], engine)
    values = inputs if maps.top is not None else pack_maps(inputs, layers[0].window.shape)
    expected, activity = [], inputs
    for layer in layers:
        activity = layer.activity(activity) if len(activity) else np.zeros((0, layer.outputs), bool)
        expected.append(activity)
    found = maps.activity(values, threads)
    channels, height, width = layers[-1].output_shape
    assert found.dtype == np.uint64
    assert np.array_equal(
        found, pack_maps(expected[-1], (channels, height, width))
    )  # bits after the last channel too
    for words, activity, layer in zip(maps.hidden(values), expected, layers, strict=True):
        assert np.array_equal(unpack_maps(words, layer.output_shape[0]), activity)


@st.composite
def windows(draw: st.DrawFn, channels: int) -> Window:
    """Any kernel, stride, dilation and padding on each side, over a few pixels; a third of them sequences."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    kernel, stride, dilation = draw(pair), draw(pair), draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    pads = draw(st.tuples(*[st.integers(0, 2)] * 4))
    if draw(st.integers(0, 2)) == 0:
        kernel, pads = (1, kernel[1]), (0, pads[1], 0, pads[3])
    least = [
        d * (k - 1) + 1 - before - after
        for d, k, before, after in zip(dilation, kernel, pads[:2], pads[2:], strict=True)
    ]
    height = 1 if kernel[0] == 1 and pads[0] == 0 == pads[2] else draw(st.integers(max(1, least[0]), 7))
    return Window((channels, height, draw(st.integers(max(1, least[1]), 14))), kernel, stride, dilation, pads)


# Convolutions


@settings(max_examples=examples(60))
@given(st.data())
@pytest.mark.parametrize("name", ENGINES)
def test_convolutions_of_any_geometry(name: EngineName, data: st.DataObject) -> None:
    groups = data.draw(st.sampled_from([1, 1, 2, 3]))
    channels = groups * data.draw(st.sampled_from(WIDTHS))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    window = data.draw(windows(channels))
    outs = groups * data.draw(st.integers(1, 20))
    top = data.draw(st.sampled_from([None, None, 1, 3, 255, 1000]))
    layer = draw_conv(
        rng, window, outs, groups, top, data.draw(st.sampled_from([1, 1, 3])), data.draw(st.booleans())
    )
    check([layer], draw_inputs(rng, layer, data.draw(st.sampled_from([0, 1, 3]))), name)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("channels", WIDTHS)
def test_channels_around_words_and_blocks(engine: EngineName, channels: int, zeros: bool) -> None:
    rng = np.random.default_rng(channels)
    for outs in (1, 15, 16, 17, 63, 64, 65, 130):
        for pads in (0, (1, 0, 2, 1)):
            layer = draw_conv(rng, Window((channels, 5, 6), 3, pads=pads), outs, zeros=zeros)
            check([layer], draw_inputs(rng, layer, 3), engine)


@pytest.mark.parametrize(
    ("channels", "outs", "groups"),
    [(128, 128, 2), (128, 32, 2), (192, 96, 3), (130, 20, 2), (65, 65, 65), (70, 140, 70)],
)
def test_groups_inside_and_across_words_and_depthwise(
    engine: EngineName, channels: int, outs: int, groups: int
) -> None:
    rng = np.random.default_rng(outs)
    for zeros, top in itertools.product([False, True], [None, 9]):
        layer = draw_conv(
            rng, Window((channels, 4, 5), (3, 2), stride=(1, 2), pads=1), outs, groups, top, zeros=zeros
        )
        check([layer], draw_inputs(rng, layer, 3), engine)


@pytest.mark.parametrize("batch", [0, 1, 3, 65])
def test_batches(engine: EngineName, batch: int) -> None:
    """Positions of many samples share a block; samples go through in groups, of one where maps are large."""
    rng = np.random.default_rng(batch)
    for shape in ((65, 3, 3), (2, 40, 41)) if batch < 65 else ((65, 3, 3),):
        for top in (None, 255):
            layer = draw_conv(rng, Window(shape, 3, pads=(0, 1, 1, 0)), 5, top=top)
            check([layer], draw_inputs(rng, layer, batch), engine)


def test_every_kernel_every_tau_and_every_input(engine: EngineName) -> None:
    window = Window((1, 1, 3), (1, 2), pads=(0, 1, 0, 0))
    kernels = list(itertools.product([-1, 0, 1], repeat=2))
    for chosen in (kernels, [kernel for kernel in kernels if 0 not in kernel]):
        weights, tau = (np.array(part) for part in zip(*itertools.product(chosen, range(-1, 5)), strict=True))
        layer = ConvLayer(weights.reshape(-1, 1, 1, 2), tau, window)
        check([layer], np.array(list(itertools.product([False, True], repeat=3))), engine)


@pytest.mark.parametrize(("top", "most"), [(0, 1), (1, 1), (255, 1), (255, 127), (256, 2), (70_000, 127)])
def test_levels_from_the_least_to_the_largest_sums(engine: EngineName, top: int, most: int) -> None:
    rng = np.random.default_rng(top)
    window = Window((7, 4, 4), 3, pads=1)
    for sign in (1, -1):
        weights = np.full((33, 7, 3, 3), sign * most)
        weights[1:] = rng.integers(-most, most + 1, weights[1:].shape)
        sizes = ConvLayer(weights, np.zeros(33, int), window, top=top).sizes
        for less in (0, 1):  # active at the largest sum alone, and just not
            layer = ConvLayer(weights, (sizes + less).reshape(33, 4, 4), window, top=top)
            check([layer], np.array([[top] * 112, [0] * 112]), engine)
        layer = ConvLayer(weights, (sizes // 2).reshape(33, 4, 4), window, top=top)
        check([layer], rng.integers(0, top + 1, (3, 112)), engine)


def test_weights_larger_than_one_are_several_literals(engine: EngineName) -> None:
    rng = np.random.default_rng(5)
    for most, zeros in itertools.product([2, 5, 127], [False, True]):
        layer = draw_conv(rng, Window((66, 3, 3), 2, pads=1), 18, most=most, zeros=zeros)
        check([layer], draw_inputs(rng, layer, 3), engine)


# Pooling and chains


@settings(max_examples=examples(40))
@given(st.data())
@pytest.mark.parametrize("name", ENGINES)
def test_pooling_of_any_geometry(name: EngineName, data: st.DataObject) -> None:
    window = data.draw(
        windows(data.draw(st.sampled_from(WIDTHS))).filter(lambda w: not (w.taps < 0).all(axis=1).any())
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    layer = PoolLayer(window, rng.random(window.shape[0]) < data.draw(st.sampled_from([0, 0.5, 1])))
    dense = rng.random() ** 0.2
    check([layer], rng.random((data.draw(st.sampled_from([0, 1, 3])), layer.inputs)) < dense, name)


@settings(max_examples=examples(40))
@given(st.data())
@pytest.mark.parametrize("name", ENGINES)
def test_chains_of_convolutions_and_pooling(name: EngineName, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = (data.draw(st.sampled_from(WIDTHS)), *data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9))))
    layers: list[ConvLayer | PoolLayer] = []
    for _ in range(data.draw(st.integers(2, 4))):
        kernel = tuple(min(size, data.draw(st.integers(1, 3))) for size in shape[1:])
        pads = tuple(data.draw(st.integers(0, kernel[side % 2] - 1)) for side in range(4))
        window = Window(shape, kernel, data.draw(st.integers(1, 2)), pads=pads)
        if data.draw(st.booleans()) and not (window.taps < 0).all(axis=1).any():
            layers.append(PoolLayer(window, rng.random(shape[0]) < 0.5))
        else:
            top = data.draw(st.sampled_from([None, 3])) if not layers else None
            layers.append(
                draw_conv(
                    rng,
                    window,
                    data.draw(st.sampled_from([1, 17, 64, 65])),
                    top=top,
                    zeros=data.draw(st.booleans()),
                )
            )
        shape = layers[-1].output_shape
    check(layers, draw_inputs(rng, layers[0], data.draw(st.sampled_from([1, 3]))), name)


def test_any_number_of_threads_and_a_second_run_give_the_same(engine: EngineName) -> None:
    """Arenas are used again by later calls, with fewer samples in them."""
    rng = np.random.default_rng(6)
    layers: list[ConvLayer | PoolLayer] = [
        draw_conv(rng, Window((3, 12, 12), 3, pads=1), 64, top=255, zeros=False)
    ]
    layers.append(PoolLayer(Window((64, 12, 12), 2, 2, pads=1), rng.random(64) < 0.5))
    layers.append(draw_conv(rng, Window((64, 7, 7), 3, pads=1), 70, zeros=False))
    inputs = draw_inputs(rng, layers[0], 200)
    maps = PackedMaps([packed(layer) for layer in layers], engine)
    expected = maps.activity(inputs, threads=1)
    check(layers, inputs[:20], engine)
    for threads, some in itertools.product((None, 2, 5), (slice(None), slice(0, 7), slice(100, 165))):
        assert np.array_equal(maps.activity(inputs[some], threads=threads), expected[some])
    with pytest.raises(SugenetError, match="threads is 0, but must be 1 or more"):
        maps.activity(inputs, threads=0)


def test_bits_after_the_last_channel_and_other_layouts_do_not_matter(engine: EngineName) -> None:
    rng = np.random.default_rng(7)
    for layer in (
        draw_conv(rng, Window((70, 4, 4), 2), 20, zeros=False),
        draw_conv(rng, Window((70, 4, 4), 2), 20),
        PoolLayer(Window((70, 4, 4), 2), rng.random(70) < 0.5),
    ):
        maps = PackedMaps([packed(layer)], engine)
        words = pack_maps(rng.random((9, layer.inputs)) < 0.5, (70, 4, 4))
        expected = maps.activity(words)
        dirty = words.copy()
        dirty[:, :, -1] |= ~np.uint64((1 << 6) - 1)
        frozen = words.copy()
        frozen.flags.writeable = False
        for same in (dirty, frozen, np.asfortranarray(words), words.astype(">u8")):
            before = same.copy()
            assert np.array_equal(maps.activity(same), expected)
            assert np.array_equal(same, before)
        assert np.array_equal(maps.activity(words[::-2]), expected[::-2])


def test_copies_count_alike_and_arrays_are_kept(engine: EngineName) -> None:
    rng = np.random.default_rng(8)
    layer = draw_conv(rng, Window((3, 5, 5), 3), 9)
    words = pack_maps(draw_inputs(rng, layer, 4), (3, 5, 5))
    maps = PackedMaps([packed(layer)], engine)
    expected = maps.activity(words)
    for twin in (
        pickle.loads(pickle.dumps(maps)),
        copy.deepcopy(maps),
        maps.with_engine("numpy"),
        maps.with_engine("numba"),
    ):
        assert np.array_equal(twin.activity(words), expected)
    conv = maps.layers[0]
    assert isinstance(conv, PackedConv)
    with pytest.raises(ValueError, match="read-only"):
        conv.weights[0, 0, 0, 0] = 1


def test_packing_maps_is_undone_and_columns_say_where_a_bit_went() -> None:
    rng = np.random.default_rng(9)
    for shape in [(1, 2, 3), (64, 1, 2), (65, 2, 2), (130, 1, 1)]:
        bits = rng.random((5, int(np.prod(shape)))) < 0.5
        words = pack_maps(bits, shape)
        assert np.array_equal(unpack_maps(words, shape[0]), bits)
        columns = map_columns(shape)
        flat = unpack(words.reshape(5, -1), len(columns))
        assert np.array_equal(flat, np.where(columns >= 0, bits[:, columns], False))
        assert pack(bits.reshape(5, shape[0], -1)[:, :, 0]).tolist() == words[:, 0].tolist()


@given(windows(2))
def test_the_geometry_is_that_of_the_definition(window: Window) -> None:
    slide = Window(window.shape, window.kernel, window.stride, window.dilation, window.pads)
    assert slide.positions == window.positions
    assert np.array_equal(slide.taps, window.taps)


ONES = np.ones((2, 3, 2, 2), int)
CONV = PackedConv.from_arrays(ONES, [1, 1], (3, 4, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: PackedConv.from_arrays(ONES[0], [1], (3, 4, 4)),
            NetworkError,
            r"shape \(3, 2, 2\), but must be integers of shape",
        ),
        (
            lambda: PackedConv.from_arrays(ONES * 0.5, [1, 1], (3, 4, 4)),
            NetworkError,
            "weights has type float64",
        ),
        (
            lambda: PackedConv.from_arrays(ONES * -128, [1, 1], (3, 4, 4)),
            NetworkError,
            r"weights\[0, 0, 0, 0\] is -128.*-127..127",
        ),
        (
            lambda: PackedConv.from_arrays(ONES, [1, 1], (4, 4, 4)),
            NetworkError,
            "do not fit an input of 4 channels in 1 groups",
        ),
        (
            lambda: PackedConv.from_arrays(ONES, [1, 1], (9, 4, 4), groups=3),
            NetworkError,
            "2 output channels.*3 groups",
        ),
        (
            lambda: PackedConv.from_arrays(ONES, [1, 1], (3, 1, 4)),
            NetworkError,
            r"window of \(2, 2\) does not fit into \(1, 4\)",
        ),
        (lambda: PackedConv.from_arrays(ONES, [1.5, 1], (3, 4, 4)), NetworkError, "tau has type float64"),
        (
            lambda: PackedConv.from_arrays(ONES, [[1], [1]], (3, 4, 4)),
            NetworkError,
            r"shape \(2, 1\), but must.*\(2,\).*\(2, 9\)",
        ),
        (lambda: PackedConv.from_arrays(ONES, [1, 1], (3, 4, 4), top=-1), NetworkError, "top is -1"),
        (
            lambda: PackedConv.from_arrays(ONES, [1, 1], (3, 4, 4), stride=0),
            NetworkError,
            "stride=0 must be 2 integers",
        ),
        (lambda: PackedPool((3, 4, 4), 2, every=[True]), NetworkError, "must be 3 booleans"),
        (lambda: PackedPool((3, 4, 4), 1, pads=1), NetworkError, "position 0 lies in the padding alone"),
        (lambda: PackedMaps([]), NetworkError, "layers is empty"),
        (
            lambda: PackedMaps([CONV, CONV], "numpy"),
            NetworkError,
            r"layer 0 gives maps of shape \(2, 3, 3\), but layer 1 reads \(3, 4, 4\)",
        ),
        (
            lambda: PackedMaps(
                [PackedPool((3, 4, 4), 1), PackedConv.from_arrays(ONES, [1, 1], (3, 4, 4), top=3)]
            ),
            NetworkError,
            "layer 1 reads levels, but only the first",
        ),
        (
            lambda: PackedMaps([CONV], "numpy").activity(np.zeros((1, 48), bool)),
            EncodingError,
            r"\(batch, 16, 1\).*pack_maps",
        ),
        (
            lambda: PackedMaps([CONV], "numpy").activity(np.zeros((1, 16, 2), np.uint64)),
            EncodingError,
            "3 inputs need shape",
        ),
        (lambda: pack_maps([[1, 0]], (1, 1, 2)), EncodingError, "booleans of shape"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_levels_out_of_range_are_named(engine: EngineName) -> None:
    maps = PackedMaps([PackedConv.from_arrays(ONES, [1, 1], (3, 4, 4), top=3)], engine)
    for wrong, message in ((4, "ranges from 0 to 4, but levels must be in 0..3"), (-1, "from -1 to 0")):
        values = np.zeros((1, 48), int)
        values[0, 7] = wrong
        with pytest.raises(EncodingError, match=message):
            maps.activity(values)
    with pytest.raises(EncodingError, match="levels are integers of shape"):
        maps.activity(np.zeros((1, 48)))
