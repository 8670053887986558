"""Layers of staircases on bytes against sums written out in integers, for both engines."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.bits import LevelConv, LevelMaps, PackedPool
from sugenet.bits.level_kernels import COMPARED, COUNTED, LINE, LONG_LINE
from sugenet.bits.lines import lines_of
from sugenet.bits.numba_engine import on_a_line
from sugenet.bits.numba_maps import _own_room
from sugenet.bits.window import Window
from sugenet.errors import EncodingError, NetworkError, SugenetError
from tests.thinned import examples

ENGINES = ["numba", "numpy"]


def by_hand(layer, flat):
    """One layer, tap by tap."""
    slide, (outs, high, wide) = layer.slide, layer.output_shape
    maps = np.asarray(flat).astype(int).reshape(-1, *slide.shape)
    found = np.zeros((len(maps), outs, high, wide), int)
    for c, row, column in np.ndindex(outs, high, wide):
        values, weights = [], []
        for y, x in np.ndindex(slide.kernel):
            place_y = row * slide.stride[0] + y * slide.dilation[0] - slide.pads[0]
            place_x = column * slide.stride[1] + x * slide.dilation[1] - slide.pads[1]
            inside = 0 <= place_y < slide.shape[1] and 0 <= place_x < slide.shape[2]
            if isinstance(layer, PackedPool):
                if inside:
                    values.append(maps[:, c, place_y, place_x])
                continue
            per_in = layer.weights.shape[1]
            group = c // (outs // layer.groups)
            for i in range(per_in):
                pixel = maps[:, group * per_in + i, place_y, place_x] if inside else layer.pad
                values.append(np.broadcast_to(pixel, len(maps)))
                weights.append(layer.weights[c, i, y, x])
        if isinstance(layer, PackedPool):
            found[:, c, row, column] = (np.min if layer.every[c] else np.max)(values, axis=0)
        else:
            sums = sum(w * v for w, v in zip(weights, values, strict=True))
            if layer.steps is not None:
                sums = (sums[:, None] >= layer.steps[c]).sum(axis=1)
            found[:, c, row, column] = sums
    return found.reshape(len(maps), outs * high * wide)


def even(rng, low, high, height):
    """Steps as rounding a product gives them, inside the sums and beyond."""
    slope = (high - low + 1) / height * rng.uniform(0.02, 1.1, len(low))
    start = rng.uniform(low - 2, high + 2)
    return np.ceil(start[:, None] + slope[:, None] * np.arange(height)).astype(np.int64)


def conv(rng, shape, outs, height, top, kernel=1, groups=1, uneven=False, **about):
    size = Window(shape, kernel).kernel
    weights = rng.integers(-128, 128, (outs, shape[0] // groups, *size))
    ends = [f(weights, 0).sum(axis=(1, 2, 3)) * top for f in (np.minimum, np.maximum)]
    steps = None
    if height is not None:
        anywhere = np.sort(rng.integers(ends[0][:, None] - 3, ends[1][:, None] + 4, (outs, height)))
        steps = anywhere if uneven else even(rng, *ends, height)
    return LevelConv.from_arrays(weights, steps, shape, top=top, groups=groups, **about)


def check(layers, x, engine):
    maps, values = LevelMaps(layers, engine), x
    for layer in layers:
        values = by_hand(layer, values)
    last = layers[-1]
    sums = isinstance(last, LevelConv) and last.steps is None
    for threads in (1, 2):
        assert np.array_equal((maps.sums if sums else maps.levels)(x, threads), values)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [0, 1, 5, 6, 7, 96, 97, 300])
def test_batches(engine, batch):
    rng = np.random.default_rng(batch)
    layers = [conv(rng, (33, 1, 1), 70, 255, 255), conv(rng, (70, 1, 1), 10, None, 255)]
    check(layers, rng.integers(0, 256, (batch, 33)), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [1, 3, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130])
def test_widths(engine, width):
    rng = np.random.default_rng(width)
    layers = [conv(rng, (width, 1, 1), width, 3, 15, uneven=True), conv(rng, (width, 1, 1), width, 15, 3)]
    check(layers, rng.integers(0, 16, (13, width)), engine)


@settings(max_examples=15)
@given(st.data())
@pytest.mark.parametrize("engine", ENGINES)
def test_chains_of_convolutions_and_pooling(engine, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    small, top = st.integers(1, 2), data.draw(st.sampled_from([1, 3, 255]))
    shape = (data.draw(st.sampled_from([1, 3, 8, 17])), 5, 4)
    x, layers = rng.integers(0, top + 1, (2, int(np.prod(shape)))), []
    for _ in range(data.draw(st.integers(1, 3))):
        kernel = tuple(data.draw(st.integers(1, min(2, side))) for side in shape[1:])
        stride = (data.draw(small), data.draw(small))
        if data.draw(st.integers(0, 3)) == 0:
            pads = tuple(data.draw(st.integers(0, side - 1)) for side in kernel) * 2
            layers.append(PackedPool(shape, kernel, stride, 1, pads, rng.random(shape[0]) < 0.5, top))
        else:
            groups = data.draw(st.sampled_from([g for g in range(1, shape[0] + 1) if shape[0] % g == 0]))
            outs = groups * data.draw(st.integers(1, max(1, 40 // groups)))
            about = {"stride": stride, "pads": data.draw(st.tuples(*[st.integers(0, 2)] * 4))}
            about |= {"dilation": data.draw(small) if shape[1:] == (5, 4) else 1}
            about |= {"pad": data.draw(st.integers(0, top)), "uneven": data.draw(st.booleans())}
            height = data.draw(st.sampled_from([1, 2, 15, 255]))
            layers.append(conv(rng, shape, outs, height, top, kernel, groups, **about))
            top = height
        shape = layers[-1].output_shape
    check(layers, x, engine)


def test_every_end_of_a_tile_is_taken_and_quads_without_weights_are_left_out():
    rng = np.random.default_rng(0)
    shapes = [((9, 1, 1), 3, False), ((99, 1, 1), 255, False), ((99, 1, 1), 255, True)]
    wide = [conv(rng, shape, 20, height, 255, uneven=uneven) for shape, height, uneven in shapes]
    kinds = [LevelMaps([layer], "numba")._program._arrays[2][:, 6].tolist() for layer in wide]
    assert kinds == [[LINE], [LONG_LINE], [COMPARED]]
    depthwise = conv(rng, (64, 4, 4), 64, None, 3, 3, groups=64)
    blocks = LevelMaps([depthwise], "numba")._program._arrays[2]
    assert set(blocks[:, 6]) == {COUNTED}
    assert (
        blocks[:, [0, 2]].tolist() == [[1, 9 * 4]] * 4
    )  # vectors of 16 neurons, each with its own 16 channels
    carried = LevelConv.from_arrays(np.eye(64, dtype=int)[:, :, None, None], None, (64, 2, 2), top=3)
    assert LevelMaps([carried], "numba")._program._arrays[2][:, 2].tolist() == [4] * 4
    x = rng.integers(0, 4, (3, 256))
    dense = LevelConv.dense(np.eye(256, dtype=int)[::-1], None, (64, 2, 2), 3)
    check([dense], x, "numba")


def test_threads_that_share_one_sample():
    """All threads begin together, or late: the sums are the same, and who comes late touches nothing."""
    rng = np.random.default_rng(0)
    layers = [conv(rng, (8, 16, 16), 48, 255, 255, 3, pads=1)]
    layers.append(PackedPool((48, 16, 16), 2, 2, every=rng.random(48) < 0.5, top=255))
    layers += [conv(rng, (48, 8, 8), 64, 15, 255, 3), conv(rng, (64, 6, 6), 10, None, 15, 6)]
    program = LevelMaps(layers, "numba")._program
    x = rng.integers(0, 256, (1, 8 * 16 * 16), np.uint8)
    alone = program.sums(x, 1)
    program._call_together(x, program._no_levels, together := np.empty_like(alone), 3)
    assert np.array_equal(together, alone)
    with pytest.raises(SugenetError, match="threads is 0, but must be 1 or more"):
        program._call_together(x, program._no_levels, together, 0)
    with ThreadPoolExecutor(3) as pool:
        for _ in range(25):
            team, sums = np.zeros(2 * len(layers) + 2, np.int64), np.zeros_like(alone)
            arena, start = on_a_line(program._fresh), threading.Barrier(3)

            def work(team=team, sums=sums, arena=arena, start=start):
                own = _own_room()
                start.wait()
                program._run(x, 0, 1, 1, *program._arrays, arena, *own, team, program._no_levels, sums)

            for done in [pool.submit(work) for _ in range(3)]:
                done.result()
            assert np.array_equal(sums, alone)
            kept, sums[:] = arena.copy(), 0
            program._run(x, 0, 1, 1, *program._arrays, arena, *_own_room(), team, program._no_levels, sums)
            assert not sums.any()
            assert np.array_equal(arena, kept)


@settings(max_examples=examples(200))
@given(st.data())
def test_a_line_that_is_proved_is_the_steps(data):
    """All sums of small ranges, in both kinds of floats; even steps are found, others never claimed."""
    least, size = data.draw(st.integers(-200, 100)), data.draw(st.integers(0, 200))
    height = data.draw(st.integers(1, 20))
    if data.draw(st.booleans()):
        slope, start = data.draw(st.floats(0.01, 30)), data.draw(st.floats(-250, 250))
        steps = np.ceil(start + slope * np.arange(height)).astype(np.int64)
    else:
        steps = np.sort(data.draw(st.lists(st.integers(-300, 300), min_size=height, max_size=height)))
    sums = np.arange(least, least + size + 1)
    levels = np.searchsorted(steps, sums, side="right")
    for dtype in (np.float32, np.float64):
        lines = lines_of(np.array([steps]), np.array([least]), np.array([least + size]), dtype)
        if lines.proved[0]:
            assert lines.levels(sums[None])[0].tolist() == levels.tolist()


def test_lines_are_found_where_steps_are_even_and_not_where_they_are_not():
    rng = np.random.default_rng(0)
    low, high = np.full(500, -(1 << 21)), np.full(500, 1 << 21)
    steps = even(rng, low, high, 255)
    assert lines_of(steps, low, high, np.float64).proved.all()
    small, large = low >> 7, high >> 7
    assert lines_of(even(rng, small, large, 15), small, large, np.float32).proved.mean() > 0.9
    bent = steps.copy()
    bent[:, 128:] += 3 * (steps[:, 1:2] - steps[:, :1])
    inside = (steps > low[:, None]) & (bent <= high[:, None])
    claimed = lines_of(bent, low, high, np.float64).proved
    assert not claimed[inside[:, :4].all(axis=1) & inside[:, 200:].all(axis=1)].any()
    # one step, and a jump of all levels at once, at every distance from 0
    for jump in (1, 7):
        for at in (-(1 << 30), -(1 << 24) - 1, -1, 0, 1, (1 << 24) + 1, (1 << 30) + 1):
            row = np.full((1, jump), at)
            lines = lines_of(row, np.array([at - 5]), np.array([at + 5]), np.float64)
            assert lines.proved.all()
            assert lines.levels(np.array([[at - 5, at - 1, at, at + 5]])).tolist() == [[0, 0, jump, jump]]


def test_what_is_wrong_is_said():
    with pytest.raises(NetworkError, match="must stay below 2\\^31"):
        LevelConv.from_arrays(np.full((1, 9, 1, 1), 1 << 22), [[1]], (9, 1, 1), top=255)
    with pytest.raises(NetworkError, match="too large"):
        LevelConv.from_arrays(np.full((1, 1, 1, 1), 1 << 30), [[1]], (1, 1, 1), top=255)
    with pytest.raises(NetworkError, match="steps must not fall"):
        LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), [[2, 1]], (1, 1, 1), top=1)
    with pytest.raises(NetworkError, match="0 <= pad <= top"):
        LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), [[1]], (1, 1, 1), top=1, pad=2)
    with pytest.raises(NetworkError, match="one row for each of 1 output channels"):
        LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), [1], (1, 1, 1), top=1)
    with pytest.raises(NetworkError, match="do not fit an input of 3 channels in 2 groups"):
        LevelConv.from_arrays(np.ones((2, 1, 1, 1), int), None, (3, 1, 1), top=1, groups=2)
    with pytest.raises(NetworkError, match="weights has type float64"):
        LevelConv.from_arrays(np.ones((1, 1, 1, 1)), [[1]], (1, 1, 1), top=1)
    one = LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), [[1, 2]], (1, 1, 1), top=3)
    last = LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), None, (1, 1, 1), top=2)
    with pytest.raises(NetworkError, match="only the last layer may have none"):
        LevelMaps([last, one], "numpy")
    with pytest.raises(NetworkError, match=r"levels up to 2, but layer 1 reads levels up to 1"):
        LevelMaps([one, LevelConv.from_arrays(np.ones((1, 1, 1, 1), int), None, (1, 1, 1), top=1)], "numpy")
    with pytest.raises(NetworkError, match="has steps"):
        LevelMaps([one], "numpy").sums(np.zeros((1, 1), int))
    with pytest.raises(NetworkError, match="layers is empty"):
        LevelMaps([], "numpy")
    maps = pickle.loads(pickle.dumps(LevelMaps([one, last], "numpy")))
    assert repr(maps) == "LevelMaps(1x1x1 -> 1x1x1 -> 1x1x1, engine='numpy')"
    assert maps.sums(np.array([[3], [1]])).tolist() == [[2], [1]]
    with pytest.raises(EncodingError, match=r"ranges from 0 to 9, but levels must be in 0..3"):
        maps.sums(np.array([[0], [9]]))
    with pytest.raises(EncodingError, match="integers of shape"):
        maps.sums(np.array([[0.5]]))
