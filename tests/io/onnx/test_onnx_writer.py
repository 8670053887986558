"""Networks written as ONNX: ONNX Runtime gives the same bits, match counts, scores and classes;
the file can be read back.
"""

import gzip
import os
from base64 import b64decode
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import FileError
from sugenet.io.exact.domains import Bits, Integers, Reals
from sugenet.io.exact.lower import lower
from sugenet.io.importers import read_onnx
from sugenet.io.native.file import network_from
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.writer import onnx_bytes, write_onnx
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    RealLayer,
    Steps,
    Window,
    integer,
    threshold,
    unused,
)
from tests.fuzzing.every_network import every_network, samples_of
from tests.fuzzing.exports import round_trip
from tests.io.chains import read_chain
from tests.nn.nets import networks, raw, samples
from tests.problem.levels import KINDS, every_input, lively_network
from tests.thinned import examples

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def run(content, x):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"x": np.asarray(x, np.float64)}), strict=True))


def numbers(network, X):
    """Raw samples as the file takes them: categories by their numbers."""
    columns = [
        [coding.categories.index(value) for value in column]
        if isinstance(coding, OneHot)
        else column.astype(float)
        for coding, column in zip(network.encoder.codings, X.T, strict=True)
    ]
    return np.array(columns, float).T


def check(network, X):
    content = onnx_bytes(network, hidden=True)
    proto = onnx.load_model_from_string(content)
    onnx.checker.check_model(proto, full_check=True)
    assert proto.ir_version <= 10
    assert all(item.version <= 17 for item in proto.opset_import)
    found = run(content, numbers(network, np.asarray(X, object)))
    assert np.array_equal(found["class"], network.predict(X, engine="definition"))
    assert np.array_equal(found["match_counts"], network.match_counts(X, engine="definition"))
    assert np.array_equal(found["scores"], network.logits(X, engine="definition"))
    for place, bits in enumerate(network.hidden(X), start=1):
        assert np.array_equal(found[f"hidden_{place}"], bits)
    return content


def test_bits_written_as_minus_one_are_level_0():
    network = Network(Encoder.of_bits(2), [LevelLayer([[1, -1]], [0], [1, 1])], Head([[0], [1]]))
    check(network, raw([(-1, 1), (1, -1), (-1, -1), (0, 1)]))


@given(st.data())
@settings(max_examples=examples(60))
def test_dense_and_level_networks_of_every_coding(data):
    network = data.draw(networks(most=data.draw(st.sampled_from([1, 1, 3]))))
    check(network, raw(data.draw(samples(network))))


@pytest.mark.parametrize("kind", KINDS)
def test_networks_of_several_levels(kind):
    network = lively_network(np.random.default_rng(5), kind)
    check(network, every_input(network))


def random_maps(seed):
    """A network of convolutions and pools, and samples for it."""
    random = np.random.default_rng(seed)
    pick = lambda *sizes: random.integers(-1, 2, sizes)  # noqa: E731
    shape = (int(random.integers(1, 4)), int(random.integers(3, 7)), int(random.integers(3, 7)))
    top = int(random.integers(2, 6)) if random.random() < 0.3 else None
    layers = []
    encoder = (
        Encoder.of_bits(int(np.prod(shape)))
        if top is None
        else Encoder([integer(1, 1 + top)] * int(np.prod(shape)))
    )
    for place in range(int(random.integers(1, 4))):
        if place and min(shape[1:]) > 1 and random.random() < 0.4:
            pads = random.integers(0, 2, 4).tolist()
            window = Window(shape, 2, int(random.integers(1, 3)), 1, pads)
            layers.append(PoolLayer(window, random.random(shape[0]) < 0.5))
        else:
            groups = int(random.choice([g for g in (1, shape[0]) if shape[0] % g == 0]))
            kernel = [min(int(random.integers(1, 3)), size) for size in shape[1:]]
            window = Window(
                shape,
                kernel,
                int(random.integers(1, 3)),
                int(random.integers(1, 3)) if place == 0 else 1,
                random.integers(0, 2, 4).tolist(),
            )
            out = groups * int(random.integers(1, 3))
            weights = pick(out, shape[0] // groups, *kernel)
            least = ConvLayer(weights, [0] * out, window, groups, top if place == 0 else None).sizes.max(
                initial=1
            )
            tau = random.integers(-1, least + 2, (out, *window.positions))
            layers.append(
                ConvLayer(
                    weights,
                    tau if random.random() < 0.5 else tau[:, 0, 0],
                    window,
                    groups,
                    top if place == 0 else None,
                )
            )
        shape = layers[-1].output_shape
    if random.random() < 0.5:
        layers.append(DenseLayer(pick(4, int(np.prod(shape))), random.integers(0, 5, 4)))
    head = Head(pick(3, layers[-1].outputs), random.integers(-2, 3, 3), [1, Fraction(1, 3), 2])
    network = Network(encoder, layers, head)
    X = (
        random.choice([-1, 1], (20, encoder.features))
        if top is None
        else random.integers(1, 2 + top, (20, encoder.features))
    )
    return network, X


@pytest.mark.parametrize("seed", range(60))
def test_convolutions_and_pools(seed):
    check(*random_maps(seed))


@pytest.mark.parametrize(
    "head",
    [
        Head([[1, -1], [-1, 1], [1, 1]], bias=[0.1, 0.2, 0.3]),
        Head([[1, -1], [-1, 1], [1, 1]], bias=[0.1, 0.2, 0.3], scale=[0.7, 0.1, Fraction(1, 3)]),
        Head([[1, -1], [-1, 1], [1, 1]], bias=Fraction(1, 10**30), scale=Fraction(10**20 + 1, 10**19)),
        Head([[1, -1], [1, -1], [1, -1]], bias=[Fraction(1, 10**25), Fraction(2, 10**25), 0]),
        Head([[1, -1], [1, 1], [1, 1]], scale=[1, 0, 0], bias=[0, 1, 1]),
        Head([[3, -2], [-1, 1], [0, 0]]),
    ],
)
def test_the_class_is_exact_where_floats_are_not(head):
    X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    check(Network.of_bits([], head), X)


def test_thresholds_are_compared_as_float64():
    cut = 0.1 + 2**-50
    network = Network(Encoder([threshold(cut), threshold(0.1)]), [], Head([[1, 0], [0, 1], [-1, -1]]))
    X = np.array(
        [
            [np.nextafter(cut, 0), np.nextafter(0.1, 0)],
            [cut, 0.1],
            [np.nextafter(cut, 1), np.float32(0.1)],
            [-1e300, 1e-300],
        ]
    )
    check(network, X)


def test_large_sums_are_exact():
    random = np.random.default_rng(3)
    encoder = Encoder([Steps(tuple(range(1, 40_000)), 0, 39_999, True)] * 3)
    weights = random.integers(-300, 301, (5, 3))
    layer = LevelLayer(weights, [20_000_001, 1, 12_345_678, 16_777_217, 9], encoder.tops)
    X = random.integers(0, 40_000, (50, 3))
    check(Network(encoder, [layer], Head(random.integers(-1, 2, (3, 5)))), X)
    wide = DenseLayer(np.full((1, 3), (1 << 24) + 1), [1 << 25])
    check(Network.of_bits([wide], Head([[1], [-1]])), np.array([[1, 1, -1], [1, -1, -1], [1, 1, 1]]))


def test_levels_that_are_no_steps_of_one():
    encoder = Encoder([Steps((0.5, 2.5)), Steps((1.0,), 0, 3, True), unused()])
    layer = LevelLayer([[1, -1, 1], [-1, 1, 0]], [2, 1], encoder.tops)
    check(
        Network(encoder, [layer], Head([[1, 0], [0, 1]])),
        np.array([[0.5, 1, 9], [2.4, 0, 9], [3, 3, 9], [-1, 2, 9.0]]),
    )


def test_a_common_threshold_is_found_for_zero_padding():
    """Positions at the border have their own tau, but come from one threshold on the sum:
    the file says that one.
    """
    window = Window((1, 4, 4), 3, pads=1)
    sizes = ConvLayer(np.ones((2, 1, 3, 3), int), [0, 0], window).sizes
    theta = np.repeat([1, -2], 16)
    layer = ConvLayer(np.ones((2, 1, 3, 3), int), (-(-(theta + sizes) // 2)).reshape(2, 4, 4), window)
    network = Network.of_bits([layer, PoolLayer(Window((2, 4, 4), 2, 2))], Head(np.eye(3, 8, dtype=int)))
    X = np.random.default_rng(0).choice([-1, 1], (40, 16))
    back = lower(read_chain(check(network, X)), Reals()).network
    assert np.array_equal(back.match_counts(X), network.match_counts(X))


# -- and back ------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=examples(40))
def test_dense_networks_read_back(data):
    network = data.draw(networks(categories=False))
    X = raw(data.draw(samples(network)))
    if any(coding.width != 1 for coding in network.encoder.codings) or network.reads_levels:
        return
    chain = read_chain(onnx_bytes(network))
    back = lower(chain, Reals()).network
    assert np.array_equal(back.predict(X.astype(float)), network.predict(X))


@pytest.mark.parametrize("seed", range(20))
def test_integer_networks_read_back(seed):
    random = np.random.default_rng(seed)
    encoder = Encoder.of_integers(5, -2, 6)
    layers = [
        LevelLayer(random.integers(-1, 2, (6, 5)), random.integers(0, 30, 6), encoder.tops),
        DenseLayer(random.integers(-1, 2, (4, 6)), random.integers(0, 4, 4)),
    ]
    network = Network(encoder, layers, Head(random.integers(-1, 2, (3, 4)), bias=[0, 1, Fraction(1, 2)]))
    X = random.integers(-2, 7, (100, 5))
    back = lower(read_chain(onnx_bytes(network)), Integers(-2, 6)).network
    assert np.array_equal(back.predict(X), network.predict(X))


def test_maps_read_back():
    read = 0
    for seed in range(examples(60)):
        network, X = random_maps(seed)
        try:
            chain = read_chain(onnx_bytes(network))
        except FileError as error:
            assert "maps that were made from flat features" in str(error)  # noqa: PT017, a threshold for each position is no chain
            continue
        domain = Integers(1, 1 + network.layers[0].top) if network.reads_levels else Reals()
        try:
            back = lower(chain, domain).network
        except FileError as error:
            assert "constant" in str(error) or "pool" in str(error).lower(), str(error)  # noqa: PT017
            continue
        assert np.array_equal(back.predict(X), network.predict(X))
        read += 1
    assert read >= examples(20)


def interpreted(content, x, output):
    """An output of the file, by the interpreter of operators that imports are compared with."""
    found = Interpreter(read_graph(content), output).run(x).values[output]
    return found.values


@given(st.data())
@settings(max_examples=examples(60))
def test_written_networks_of_every_coding_by_the_interpreter(data):
    network = data.draw(networks(most=data.draw(st.sampled_from([1, 1, 3]))))
    X = raw(data.draw(samples(network)))
    content, x = onnx_bytes(network, hidden=True), numbers(network, np.asarray(X, object))
    assert np.array_equal(interpreted(content, x, "scores"), network.logits(X, engine="definition"))
    assert np.array_equal(interpreted(content, x, "class"), network.predict(X, engine="definition"))
    for place, bits in enumerate(network.hidden(X), start=1):
        assert np.array_equal(interpreted(content, x, f"hidden_{place}"), bits)


def test_written_maps_by_the_interpreter_and_by_the_reader():
    """Every export is run by another program; those that can be read back prove themselves,
    and have the same classes.
    """
    read = 0
    for seed in range(60, 60 + examples(40)):
        network, X = random_maps(seed)
        content = check(network, X)
        assert np.array_equal(
            interpreted(content, np.asarray(X, float), "scores"), network.logits(X, engine="definition")
        )
        domain = Integers(1, 1 + network.layers[0].top) if network.reads_levels else Reals()
        try:
            back = read_onnx(content, inputs=domain).report
        except FileError as error:
            assert "what was read is not" not in str(error)  # noqa: PT017
            continue
        assert back.proof is not None
        assert np.array_equal(back.network.predict(X), network.predict(X))
        read += 1
    assert read >= examples(12)


def test_a_published_network_goes_out_and_back():
    folder = os.environ.get("SUGENET_ZOO")
    if not folder:
        pytest.skip("SUGENET_ZOO is not set: the folder of published networks is not at hand")
    network = lower(read_chain(Path(folder) / "qonnx" / "TFC_1W1A.onnx")).network
    X = np.random.default_rng(0).random((200, 784))
    content = check(network, X)
    back = lower(read_chain(content), Reals()).network
    assert np.array_equal(back.predict(X), network.predict(X))


# -- files ---------------------------------------------------------------------------------------------------

SMALL = Network.of_bits([DenseLayer([[1, -1, 1]], [2])], Head([[1], [-1]]), classes=["on", "off"])


def test_files_are_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "net.onnx"
    write_onnx(SMALL, path)
    first = path.read_bytes()
    assert first == onnx_bytes(SMALL)
    assert {"class", "scores", "match_counts"} == set(run(first, [[1, -1, 1]]))
    about = {entry.key: entry.value for entry in onnx.load_model_from_string(first).metadata_props}
    assert network_from(b64decode(about.pop("sugenet"))) == SMALL
    assert about == {"classes": "on\noff", "features": "x1\nx2\nx3", "fingerprint": SMALL.fingerprint}

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(FileError, match=r"No space left on device.*Nothing was changed"):
        write_onnx(SMALL, path, hidden=True)
    assert os.listdir(tmp_path) == ["net.onnx"]
    assert path.read_bytes() == first


@pytest.mark.parametrize("path", ["", "nowhere/net.onnx", "a\x00b"])
def test_paths_that_cannot_be_written(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=r"cannot be written.*Nothing was changed"):
        write_onnx(SMALL, path)
    with pytest.raises(FileError, match="it is a folder"):
        write_onnx(SMALL, tmp_path)


def test_sums_too_large_for_one_convolution():
    layer = ConvLayer(np.full((1, 1, 2, 2), 1 << 23), [1], Window((1, 2, 2), 2))
    check(Network.of_bits([layer], Head([[1], [-1]])), np.array(list(product([-1, 1], repeat=4))))


def test_match_counts_that_float64_does_not_tell_apart():
    layer = PoolLayer(Window((2, 1, 1), 1), top=2)
    for bias in ([0, 0], [0, 1], [Fraction(1, 1), Fraction(2, 1)]):
        head = Head([[1 << 55, 1], [1 << 55, 0]], bias, tops=[2, 2])
        network = Network(Encoder.of_integers(2, 0, 2), [layer], head)
        check(network, every_input(network))


# -- networks of every kind ----------------------------------------------------------------------------------


def test_every_network_goes_out_and_comes_back():
    """ONNX Runtime gives the same numbers, and the reader gives the same network."""
    for seed in range(examples(60)):
        assert round_trip(seed), seed
        network = every_network(seed)
        X = samples_of(network, np.random.default_rng(seed))
        if not network.passes_reals:
            check(network, X)
            continue
        found = run(onnx_bytes(network), X.astype(float))
        sure = found["certain"]
        assert sure.any()
        assert np.array_equal(found["class"][sure], network.predict(X)[sure])
        assert np.array_equal(found["scores"][sure], network.logits(X)[sure])


@pytest.mark.slow
def test_many_networks_go_out_and_come_back():
    assert all(round_trip(seed) for seed in range(50, 1000))


def test_floats_that_may_be_wrong_are_not_certain():
    """Samples whose exact sum is the threshold, or next to it, are never certain."""
    layer = RealLayer([[1, 1, 1], [3, -1, 1 << 55]], [Fraction(3, 10), 0])
    network = Network(Encoder.of_reals(3), [layer], Head([[1, 1], [-1, 1]]))
    X = np.array([[0.1, 0.1, 0.1], [0.1, 0.3, 0.0], [1.0, 1.0, 1.0], [1e-320, 3e-320, 0.0], [1e308] * 3])
    certain = run(onnx_bytes(network), X)["certain"]
    assert certain.tolist() == [False, False, True, False, False]


def test_a_file_that_was_changed_is_not_believed(tmp_path):
    raw = onnx_bytes(SMALL)
    proto = onnx.load_model_from_string(raw)
    proto.graph.initializer[0].raw_data = proto.graph.initializer[0].raw_data[::-1][:-1] + b"\x01"
    with pytest.raises(FileError, match=r"not the file that this version of sugenet writes .* Give inputs="):
        read_onnx(proto.SerializeToString())
    held = next(entry for entry in proto.metadata_props if entry.key == "sugenet")
    held.value = held.value[:40] + "!"
    with pytest.raises(FileError, match="its property 'sugenet' is not a network"):
        read_onnx(proto.SerializeToString())
    assert "read from the network in the file" in str(read_onnx(raw).report)
    assert "read from the network" not in str(read_onnx(raw, inputs=Bits()).report)
    (tmp_path / "net.onnx.gz").write_bytes(gzip.compress(raw))
    assert read_onnx(tmp_path / "net.onnx.gz") == SMALL
    assert read_onnx(onnx_bytes(SMALL, hidden=True), prove=False).report.proof is None


def test_constants_that_no_node_reads_are_remarked_upon():
    proto = onnx.load_model_from_string(onnx_bytes(SMALL))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), "spare"))
    report = read_onnx(proto.SerializeToString(), inputs=Bits()).report
    assert "ignored: no node reads the constant 'spare'" in report.remarks
    assert report.network.predict([[1, -1, 1]]).tolist() == SMALL.predict([[1, -1, 1]]).tolist()
