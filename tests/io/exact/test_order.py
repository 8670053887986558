"""One order of features: a network read from a file takes samples, queries and names as the file has them,
channels last or first.
"""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.cli import main
from sugenet.errors import EncodingError, NetworkError, QuestionError
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import LinearOp, OpChain, Sign
from sugenet.io.exact.pixels import pixel_by_pixel, pixel_order
from sugenet.io.exact.relaxed import split
from sugenet.io.vnnlib import write_vnnlib
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    PoolLayer,
    Source,
    Window,
    integer,
    threshold,
)
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from tests.io.queries import around

TOP = 3
SHAPE = (2, 2, 2)  # height, width, channels


# -- queries about a file ------------------------------------------------------------------------------------


def channels_last_file(path, rng, *, tail=None, divide=1):
    """An ONNX file over images of shape (height, width, channels), as TensorFlow writes them."""
    onnx = pytest.importorskip("onnx")
    helper, tensors = onnx.helper, onnx.numpy_helper
    kernel = rng.choice([-1.0, 1.0], (3, SHAPE[2], 1, 2)).astype(np.float32)
    bias = (rng.integers(-3, 4, 3) / divide + 0.25 / divide).astype(np.float32)
    last = rng.choice([-1.0, 1.0], (6, 3)).astype(np.float32)
    constants = [
        tensors.from_array(a, n)
        for n, a in {"kernel": kernel, "bias": bias, "last": last, "zero": np.zeros(1, np.float32)}.items()
    ]
    constants += [
        tensors.from_array(np.array([value], np.float32), name) for name, value in (("one", 1), ("minus", -1))
    ]
    nodes = [
        helper.make_node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["first", "kernel", "bias"], ["sums"]),
        helper.make_node("GreaterOrEqual", ["sums", "zero"], ["on"]),
        helper.make_node("Where", ["on", "one", "minus"], ["bits"]),
        helper.make_node("Flatten", ["bits"], ["flat"]),
        helper.make_node("MatMul", ["flat", "last"], ["scores"]),
    ]
    if tail is not None:
        nodes.append(helper.make_node(tail, ["scores"], ["end"], axis=1))
    batch = [
        helper.make_tensor_value_info(*about)
        for about in (("x", 1, ["n", *SHAPE]), ("scores" if tail is None else "end", 1, ["n", 3]))
    ]
    graph = helper.make_graph(nodes, "net", batch[:1], batch[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.save(model, path)
    return path


def outputs_of(path, X):
    """What ONNX Runtime says, for flat samples in the order of the file."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.asarray(X, np.float32).reshape(-1, *SHAPE)})[0]


ALL = np.array(list(product(range(TOP + 1), repeat=8)))


def some_query(rng, path, scale=1):
    """A box in which few inputs can change, and the question whether the class of one of its corners
    is left somewhere.
    """
    low = rng.integers(0, TOP + 1, 8)
    high = np.where(rng.random(8) < 0.4, rng.integers(low, TOP + 1), low)
    label = int(outputs_of(path, [low / scale])[0].argmax())
    rows = [[Inequality({k: 1, label: -1}, 0)] for k in range(3) if k != label]
    return Query(
        8,
        3,
        [
            Case(
                QueryBox([Fraction(int(v)) / scale for v in low], [Fraction(int(v)) / scale for v in high]),
                rows,
            )
        ],
    )


def violations(path, query, scale=1):
    """The whole samples of the query's one box that violate it, one by one."""
    low, high = (
        np.array([float(value * scale) for value in ends])
        for ends in (query.cases[0].box.lower, query.cases[0].box.upper)
    )
    inside = ALL[((low <= ALL) & (high >= ALL)).all(axis=1)]
    scores = outputs_of(path, inside / scale)
    return [
        x
        for x, y in zip(inside, scores, strict=True)
        if query.violated_by([Fraction(int(v)) / scale for v in x], y.tolist())
    ]


@pytest.mark.parametrize("scale", [1, 4])
def test_queries_about_a_channels_last_file_are_about_its_own_pixels(tmp_path, scale):
    rng = np.random.default_rng(scale)
    proved = refuted = 0
    for number in range(6):
        path = channels_last_file(tmp_path / f"net{number}.onnx", rng, divide=scale)
        found = sg.read_onnx(path, inputs=Integers(0, TOP, step=Fraction(1, scale))).report
        sg.save(found.network, tmp_path / "net.sugenet")
        for network in (found.network, sg.load(tmp_path / "net.sugenet")):
            for _ in range(4):
                query = some_query(rng, path, scale)
                write_vnnlib(query, tmp_path / "q.vnnlib")
                answer = sg.verify(network, sg.read_vnnlib(tmp_path / "q.vnnlib"))
                wrong = violations(path, query, scale)
                if isinstance(answer, sg.Proved):
                    proved += 1
                    assert not wrong
                else:
                    refuted += 1
                    x = network.source.inputs(answer.witness)
                    assert query.contains(x)
                    assert query.violated_by(x, outputs_of(path, [[float(value) for value in x]])[0].tolist())
                sg.check(answer.certificate, network)
    assert proved > 4
    assert refuted > 4


def test_queries_on_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(7)
    path = channels_last_file(tmp_path / "net.onnx", rng)
    assert main(["convert", str(path), "-o", str(tmp_path / "net.sugenet"), "--inputs", f"0..{TOP}"]) == 0
    codes = set()
    for _ in range(10):
        query = some_query(rng, path)
        low, high = (query.cases[0].box.lower, query.cases[0].box.upper)
        fixed = Query(
            8, 3, [Case(QueryBox(low, low if rng.random() < 0.5 else high), query.cases[0].condition)]
        )
        write_vnnlib(fixed, tmp_path / "q.vnnlib")
        code = main(["verify", str(tmp_path / "net.sugenet"), "--query", str(tmp_path / "q.vnnlib")])
        codes.add(code)
        if code == 0:
            assert not violations(path, fixed)
        elif low == fixed.cases[0].box.upper:
            assert violations(path, fixed)
    capsys.readouterr()
    assert codes == {0, 1}


def test_a_query_is_answered_in_the_numbers_it_was_asked_in():
    chain = OpChain(
        "net",
        (2,),
        (LinearOp("a", np.array([[1.0, 1.0]])), Sign("s"), LinearOp("b", np.array([[1.0], [-1.0]]))),
    )
    network = lower(chain, Integers(0, 4, step=Fraction(1, 4), start=Fraction(1, 3))).network
    query = Query(
        2, 2, [Case(QueryBox([Fraction(4, 3)] * 2, [Fraction(4, 3)] * 2), [[Inequality({0: 1, 1: -1}, 0)]])]
    )
    answer = sg.verify(network, query)
    assert answer.witness == (4, 4)
    assert answer.data()["source_witness"] == ["4/3", "4/3"]
    assert str(answer).endswith("x1 = 4/3; x2 = 4/3, in the numbers of the file, as the query")
    other = sg.verify(network, sg.Always(1))  # asked in the network's own numbers
    assert "source_witness" not in other.data()
    assert "file" not in str(other)


def test_bits_of_a_file_have_the_files_values():
    chain = OpChain(
        "net",
        (2,),
        (LinearOp("fc", np.array([[1.0, 1.0]])), Sign("sign"), LinearOp("out", np.array([[1.0], [-1.0]]))),
    )
    network = lower(chain, Bits(-1, 1)).network
    for low, high, holds in (
        ((1, 1), (1, 1), True),
        ((-1, 1), (1, 1), True),
        ((-1, -1), (1, 1), False),
        ((-1, -1), (-1, -1), False),
    ):
        query = Query(2, 2, [Case(QueryBox(low, high), [[Inequality({1: 1, 0: -1}, 0)]])])
        assert isinstance(sg.verify(network, query), sg.Proved) == holds


def test_what_is_not_the_files_output_is_not_asked(tmp_path):
    rng = np.random.default_rng(3)
    plain, soft, hard = (
        channels_last_file(tmp_path / f"{tail}.onnx", rng, tail=tail) for tail in (None, "Softmax", "Hardmax")
    )
    compared = some_query(rng, plain)
    absolute = Query(8, 3, [Case(compared.cases[0].box, [[Inequality({0: 1}, 1)]])])
    read = {path: sg.read_onnx(path, inputs=Integers(0, TOP)) for path in (plain, soft, hard)}
    assert [read[path].source.outputs for path in (plain, soft, hard)] == ["equal", "ordered", "other"]
    sg.verify(read[plain], absolute)
    sg.verify(read[soft], compared)
    for copy in (read[soft], sg.nn.simplify(read[soft]), read[soft].unrolled()):
        with pytest.raises(
            QuestionError,
            match=r"more than compare outputs, and the network's scores only compare as .*Softmax",
        ):
            sg.verify(copy, absolute)
        with pytest.raises(QuestionError, match="more than compare outputs"):
            sg.reason.problems_of(copy, absolute)
    sg.save(read[soft], tmp_path / "soft.sugenet")
    with pytest.raises(QuestionError, match="more than compare outputs"):
        sg.verify(sg.load(tmp_path / "soft.sugenet"), absolute)
    with pytest.raises(
        QuestionError, match="a query is about the whole file, but its outputs are not the network's scores"
    ):
        sg.verify(read[hard], compared)


def test_a_part_of_a_file_answers_no_query_about_it():
    floats = np.random.default_rng(0).normal(size=(3, 4))
    ops = (
        LinearOp("stem", floats),
        Sign("s1"),
        LinearOp("fc", np.ones((2, 3))),
        Sign("s2"),
        LinearOp("out", np.eye(2) * 2 - 1),
    )
    found = split(OpChain("net", (4,), ops))  # what raw samples are is not said, so that nothing reads them
    assert found.stem is not None
    with pytest.raises(QuestionError, match="a part of it is computed in floats: stem, s1"):
        sg.verify(found.network, around([1] * found.network.encoder.features, 0, 0, 2))


def test_a_source_checks_its_numbers():
    with pytest.raises(NetworkError, match="step is 0"):
        Source(step=0)
    with pytest.raises(NetworkError, match="outputs='same' must be one of equal, ordered, other"):
        Source(outputs="same")
    with pytest.raises(NetworkError, match="start"):
        Source(start="much")


# -- shapes --------------------------------------------------------------------------------------------------


def test_samples_in_the_shape_of_the_file(tmp_path):
    rng = np.random.default_rng(5)
    path = channels_last_file(tmp_path / "net.onnx", rng)
    found = sg.read_onnx(path, inputs=Integers(0, TOP)).report
    network = found.network
    X = rng.integers(0, TOP + 1, (20, *SHAPE))
    flat = X.reshape(20, -1)
    scores = outputs_of(path, flat)
    assert found.shape == network.encoder.shape == SHAPE
    assert (network.logits(X) == scores).all()
    assert (network.logits(flat) == scores).all()
    assert (network.logits(X[3]) == scores[3]).all()
    assert network.trace(X[3]).scores == network.trace(flat[3]).scores
    assert network.encoder.names[:3] == (
        "channel 0 pixel (0,0)",
        "channel 1 pixel (0,0)",
        "channel 0 pixel (0,1)",
    )
    assert sg.whatif(network, X[3]).changed == sg.whatif(network, flat[3]).changed
    assert sg.count(network, X[3], sg.L0(1)).counts == sg.count(network, flat[3].tolist(), sg.L0(1)).counts
    assert str(sg.verify_against(found.reported, path, X)).startswith("equal on 20 samples")
    np.save(tmp_path / "X.npy", X)
    assert (sg.io.read_samples(tmp_path / "X.npy", network)[0] == flat).all()


def test_a_shape_that_does_not_fit_is_refused_with_both(tmp_path):
    network = Network(Encoder.of_integers(12, 0, 3, shape=(2, 3, 2)), [], Head(np.ones((2, 36), int)))
    for wrong in ((5, 2, 2, 3), (5, 3, 2, 2), (2, 2, 3), (4, 12, 2), (12, 2)):
        with pytest.raises(
            EncodingError, match=r"X has shape .*: give \(samples, 12\) or \(samples, 2, 3, 2\)"
        ) as caught:
            network.predict(np.zeros(wrong, int))
        assert str(wrong) in str(caught.value)
        with pytest.raises(
            EncodingError, match=r"one sample is needed, of shape \(12,\) or \(2, 3, 2\)|X has shape .*: give"
        ):
            sg.whatif(network, np.zeros(wrong, int))
        np.save(tmp_path / "X.npy", np.zeros(wrong, int))
        with pytest.raises(sg.errors.FileError, match=r"samples of shape \(12,\) or \(2, 3, 2\)"):
            sg.io.read_samples(tmp_path / "X.npy", network)
    with pytest.raises(EncodingError, match="samples of shape \\(2, 2\\) do not have 3 values"):
        Encoder([threshold(1)] * 3, shape=(2, 2))


def test_axes_of_length_1_may_be_left_out():
    network = Network(
        Encoder.of_integers(6, 0, 3, shape=(1, 2, 3)), [], Head(np.arange(36).reshape(2, 18) % 3 - 1)
    )
    X = np.random.default_rng(0).integers(0, 4, (4, 6))
    expected = network.match_counts(X)
    for shape in ((4, 1, 2, 3), (4, 2, 3), (4, 2, 3, 1)):
        assert (network.match_counts(X.reshape(shape)) == expected).all()
    for shape in ((1, 2, 3), (2, 3)):
        assert (network.match_counts(X[1].reshape(shape)) == expected[1]).all()
    flat = Network(Encoder.of_integers(6, 0, 3), [], network.head)
    assert (flat.match_counts(X.reshape(4, 1, 6)) == expected).all()
    with pytest.raises(EncodingError, match="X has shape"):
        flat.match_counts(X.reshape(4, 2, 3))


# -- the twin whose channels come first ----------------------------------------------------------------------


def window_of(rng, shape):
    while True:
        kernel, stride, dilation = (tuple(map(int, rng.integers(1, 3, 2))) for _ in range(3))
        try:
            return Window(shape, kernel, stride, dilation, tuple(map(int, rng.integers(0, 2, 4))))
        except NetworkError:
            continue


def first_layer(rng, kind, shape, top):
    channels = shape[0]
    if kind == "pool":
        while True:
            try:
                return PoolLayer(window_of(rng, shape), rng.random(channels) < 0.5)
            except NetworkError:
                continue
    if kind == "conv":
        window, groups = window_of(rng, shape), int(rng.choice([1, channels]))
        outs = groups * int(rng.integers(1, 3))
        weights = rng.integers(-1, 2, (outs, channels // groups, *window.kernel))
        taus = rng.integers(0, 2 + 4 * (top or 1), (outs, *window.positions))
        return ConvLayer(weights, taus, window, groups, top)
    count = int(np.prod(shape))
    weights = rng.integers(-1, 2, (4, count))
    if kind == "level":
        return LevelLayer(weights, rng.integers(1, count, 4), [top] * count)
    return DenseLayer(weights, rng.integers(1, count // 2, 4))


KINDS = [("conv", None), ("conv", 2), ("level", 2), ("dense", None), ("pool", None), ("none", None)]


def twins(seed, kind, top, most=3):
    """A network over images channel by channel, the same pixel by pixel, and for each feature of the second
    its place in the first.
    """
    rng = np.random.default_rng(seed)
    shape = (2, *map(int, rng.integers(2, most + 1, 2)))
    count = int(np.prod(shape))
    encoder = Encoder(
        [integer(0, top)] * count
        if top
        else [threshold(float(cut), 0, 3, whole=True) for cut in rng.integers(1, 4, count)]
    )
    layers = [] if kind == "none" else [first_layer(rng, kind, shape, top)]
    width = layers[0].outputs if layers else count
    if layers and rng.random() < 0.5:
        layers.append(DenseLayer(rng.integers(-1, 2, (3, width)), rng.integers(1, 3, 3)))
        width = 3
    first = Network(
        encoder, layers, Head(rng.choice([-1, 1], (3, width)), bias=rng.integers(0, 2, 3).tolist())
    )
    encoder, layers, head = pixel_by_pixel(first.encoder, first.layers, first.head, shape)
    last = Network(Encoder(encoder.codings, encoder.names, (*shape[1:], shape[0])), layers, head)
    return first, last, pixel_order(shape), rng


def rows(rng, network, count=12):
    return rng.integers(0, 4 if not network.reads_levels else 3, (count, network.encoder.features))


@pytest.mark.parametrize(("kind", "top"), KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_network_pixel_by_pixel_computes_what_its_twin_does(kind, top, seed, tmp_path):
    first, last, order, rng = twins(seed, kind, top)
    X = rows(rng, first)
    moved = X[:, order]
    assert last.encoder.names == tuple(first.encoder.names[place] for place in order)
    for engine in ("definition", "numpy", "numba"):
        assert (first.match_counts(X, engine=engine) == last.match_counts(moved, engine=engine)).all()
        for ours, theirs in zip(
            first.hidden(X, engine), last.hidden(moved.reshape(-1, *last.encoder.shape), engine), strict=True
        ):
            assert (ours == theirs).all()
    for other in (last.unrolled(), sg.nn.simplify(last)):
        assert (other.logits(moved) == last.logits(moved)).all()
        assert other.encoder.shape == last.encoder.shape
    if last.layers:
        ours, theirs = first.trace(X[0]), last.trace(moved[0])
        for a, b in zip(ours.layers, theirs.layers, strict=True):
            assert [a.matches.tolist(), a.tau.tolist(), a.sizes.tolist()] == [
                b.matches.tolist(),
                b.tau.tolist(),
                b.sizes.tolist(),
            ]
        neuron = first.neuron(1, 1)
        bits = [bit for place in order for bit in first.encoder.group(int(place))]
        assert last.neuron(1, 1).weights == tuple(np.array(neuron.weights)[bits])
    sg.save(last, tmp_path / "last.sugenet")
    again = sg.load(tmp_path / "last.sugenet")
    assert (again, again.encoder.shape, again.fingerprint) == (last, last.encoder.shape, last.fingerprint)


@pytest.mark.parametrize(("kind", "top"), KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_questions_pixel_by_pixel_have_the_answers_of_the_twin(kind, top, seed):
    first, last, order, rng = twins(seed + 100, kind, top, most=2)
    x = rows(rng, first, 1)[0]
    moved = x[order]
    region = sg.Linf(1)
    asked = [sg.verify(net, sg.Robust(row.tolist(), region)) for net, row in ((first, x), (last, moved))]
    assert type(asked[0]) is type(asked[1])
    sg.check(asked[1].certificate, last)
    changes = [sg.whatif(net, row.tolist(), sg.L1) for net, row in ((first, x), (last, moved))]
    assert type(changes[0]) is type(changes[1])
    if isinstance(changes[0], sg.reason.Counterfactual):
        assert changes[0].cost == changes[1].cost
        sg.check(changes[1].certificate, last)
    assert sg.count(first, x.tolist(), sg.L0(1)).counts == sg.count(last, moved.tolist(), sg.L0(1)).counts
    reasons = [sg.why(net, row.tolist(), region, minimal="size") for net, row in ((first, x), (last, moved))]
    assert len(reasons[0].reasons[0].features) == len(reasons[1].reasons[0].features)
    query = around(
        moved.tolist(), 1, int(last.predict(moved[None])[0]), 3, low=0, high=3 if top is None else top
    )
    back = np.argsort(order)
    box = query.cases[0].box
    turned = Query(
        query.inputs,
        3,
        [
            Case(
                QueryBox([box.lower[i] for i in back], [box.upper[i] for i in back]), query.cases[0].condition
            )
        ],
    )
    assert type(sg.verify(last, query)) is type(sg.verify(first, turned))


@pytest.mark.parametrize(("kind", "top"), KINDS)
def test_exports_pixel_by_pixel(kind, top, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    first, last, order, rng = twins(7, kind, top)
    X = rows(rng, first)
    sg.write_onnx(last, tmp_path / "last.onnx")
    session = runtime.InferenceSession(str(tmp_path / "last.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(["match_counts"], {"x": X[:, order].astype(np.float64)})[0]
    assert (found == first.match_counts(X)).all()


def test_the_page_reads_samples_in_the_order_of_the_file():
    _, last, _, rng = twins(3, "conv", 2)
    X = rows(rng, last, 3)
    made = sg.web.payload(last, X.reshape(3, *last.encoder.shape), title="net")
    assert [sample["values"] for sample in made["samples"]] == X.tolist()
    assert [name for name, _ in made["features"]] == list(last.encoder.names)
    json.dumps(made)
