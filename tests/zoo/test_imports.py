"""The public networks, through the importers that users call: published accuracies,
float64 and ONNX Runtime bit for bit.
"""

import gzip
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.io import from_state_dict, import_file, read_bnnquanalyst, read_npz, read_onnx
from sugenet.io.exact.evaluation import apply
from sugenet.io.exact.ops import Sign
from sugenet.io.onnx.graph import read_graph
from tests.io.chains import read_chain
from tests.zoo.readers import idx, msakai_exact, quanalyst_exact, tfc_two_bits

ZOO = os.environ.get("SUGENET_ZOO")
pytestmark = pytest.mark.skipif(not ZOO, reason="SUGENET_ZOO does not name a folder of public networks")
FOLDER = Path(ZOO or ".")
PIXELS = sg.Integers(0, 255, step=Fraction(1, 255))


@pytest.fixture(scope="module")
def mnist():
    images = idx(FOLDER / "mnist" / "t10k-images-idx3-ubyte.gz")
    return images.reshape(len(images), -1), idx(FOLDER / "mnist" / "t10k-labels-idx1-ubyte.gz")


@pytest.mark.parametrize(
    ("read", "right"),
    [
        (lambda: read_onnx(FOLDER / "qonnx" / "TFC_1W1A.onnx", inputs=PIXELS).report, 9296),
        (lambda: from_state_dict(FOLDER / "brevitas" / "TFC_1W1A.tar", bits=1, inputs=PIXELS).report, 9338),
        (lambda: read_npz(FOLDER / "msakai" / "mnist.npz", inputs=PIXELS).report, 9587),
        (lambda: from_state_dict(FOLDER / "msakai" / "mnist.pt", inputs=PIXELS).report, 9587),
        (
            lambda: (
                read_npz(
                    FOLDER / "bnn_pynq" / "lfcW1A1_mnist.npz",
                    features=784,
                    outputs=10,
                    above=127,
                    inputs=sg.Integers(0, 255),
                ).report
            ),
            9834,
        ),
    ],
    ids=["TFC ONNX", "TFC Brevitas", "msakai npz", "msakai pt", "LFC"],
)
def test_published_accuracies(mnist, read, right):
    pytest.importorskip("torch")
    X, y = mnist
    found = read()
    assert int((found.network.predict(X) == y).sum()) == right
    assert all(layer.ties == 0 for layer in found.layers[1:])


def test_tfc_differs_in_no_bit_from_float64_and_ties_as_published(mnist):
    X, _ = mnist
    found = read_onnx(FOLDER / "qonnx" / "TFC_1W1A.onnx", inputs=PIXELS).report
    chain = read_chain(FOLDER / "qonnx" / "TFC_1W1A.onnx")
    x = (X[:2000] / 255.0).reshape(-1, *chain.shape)
    signs = []
    for op in chain.ops:
        x = apply(op, x)
        if isinstance(op, Sign):
            signs.append(x.reshape(len(x), -1) > 0)
    for bits, expected in zip(found.network.hidden(X[:2000], engine="auto"), signs[1:], strict=True):
        assert (bits == expected).all()
    counts = found.network.match_counts(X)
    assert int(found.network.head.tied(counts).sum()) == 32  # 0.32 % of the images
    assert [layer.flipped for layer in found.layers[1:]] == [1, 5, 6]


def test_the_same_network_in_two_files_is_the_same():
    pytest.importorskip("torch")
    one, other = (
        read_npz(FOLDER / "msakai" / "mnist.npz", inputs=PIXELS).report,
        from_state_dict(FOLDER / "msakai" / "mnist.pt", inputs=PIXELS).report,
    )
    assert one.network.fingerprint == other.network.fingerprint
    by_hand = msakai_exact(np.load(FOLDER / "msakai" / "mnist.npz"))
    assert sg.nn.simplify(one.network).layers == sg.nn.simplify(by_hand).layers


def test_bnnquanalyst_folders():
    for folder in sorted(
        path for path in (FOLDER / "bnnquanalyst").iterdir() if path.name.startswith("mnist")
    ):
        network = read_bnnquanalyst(folder, inputs=sg.Bits())
        X = np.random.default_rng(0).random((500, network.encoder.features)) < 0.5
        assert (network.logits(X) == quanalyst_exact(folder).logits(X)).all()


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_two_bit_activations_have_every_level_and_score_of_a_float64_run(mnist, count):
    X, y = mnist
    found = import_file(FOLDER / "qonnx" / "TFC_1W2A.onnx", inputs=PIXELS).report
    levels, scores = tfc_two_bits(read_graph(FOLDER / "qonnx" / "TFC_1W2A.onnx").constants, X[:count] / 255.0)
    hidden = found.network.hidden(X[:count])
    assert len(hidden) == len(levels) == 3
    for mine, theirs in zip(hidden, levels, strict=True):
        assert (mine == theirs).all()
    assert np.abs(found.network.logits(X[:count]) - scores).max() < 1e-12
    assert (found.network.predict(X[:count]) == scores.argmax(axis=1)).all()
    assert {300: 286, 10_000: 9474}[count] == int((found.network.predict(X[:count]) == y[:count]).sum())
    assert "equal to an interpreter" in str(found.proof)


@pytest.mark.parametrize("share", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_the_traffic_network_has_the_hidden_bits_of_onnx_runtime(share, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    packed = next((FOLDER / "traffic").glob("*.onnx.gz"))
    plain = tmp_path / "traffic.onnx"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    found = read_onnx(packed, inputs=sg.Integers(0, 255)).report
    rng = np.random.default_rng(0)
    ramp = np.add.outer(np.arange(30), np.arange(30))[None, :, :, None]
    structured = [np.full((1, 30, 30, 3), v) for v in (0, 1, 127, 128, 254, 255)]
    structured += [np.broadcast_to((ramp * k) % 256, (1, 30, 30, 3)) for k in range(1, 200)]
    structured += [
        np.repeat(np.repeat(rng.integers(0, 256, (1, 10, 10, 3)), 3, axis=1), 3, axis=2) for _ in range(795)
    ]
    X = np.concatenate([rng.integers(0, 256, (1000, 30, 30, 3)), *structured])
    assert len(X) == 2000
    agreement = sg.verify_against(found.reported, plain, X[::share])
    assert agreement.equal, str(agreement)
    assert agreement.layers == 2
    assert "near tie" in str(agreement)
