"""Folders of BNN-PYNQ, packed as finnthesizer packs them, against the accelerator by its definition."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import import_file
from sugenet.io.pynq.reader import DESIGNS, read_memory
from sugenet.nn import Encoder, Steps
from tests.fuzzing.pynq_folders import Accelerator, Dense, quantized, random_conv, random_dense, wider


@pytest.mark.parametrize("seed", range(4))
def test_dense_folders(tmp_path, seed):
    random = np.random.default_rng(seed)
    features = [1, 63, 64, 65][seed]
    made = random_dense(random, features, (11, 9), outputs=5)
    folder = made.write(tmp_path / "net")
    X = random.integers(0, 256, (100, features))
    found = sg.read_bnn_pynq(folder, features=features).report
    assert found.network.predict(X).tolist() == [made.highest_bit(x) for x in X]
    assert found.network.classes == tuple(made.classes)
    assert found.proof.layers == 3
    found = sg.read_bnn_pynq(folder, features=features, last="matches").report
    counts = np.array([made.last(x)[0] for x in X])
    assert np.array_equal(found.network.match_counts(X), counts)
    assert (found.network.predict(X) == counts.argmax(axis=1)).all()
    assert "thresholds of layer 2" in str(found)


def test_one_layer_alone(tmp_path):
    """Its padding counts for each class in its own way."""
    random = np.random.default_rng(9)
    made = random_dense(random, 20, (), outputs=4)
    folder = made.write(tmp_path / "net")
    X = random.integers(0, 256, (100, 20))
    found = sg.read_bnn_pynq(folder, features=20).report
    assert found.network.predict(X).tolist() == [made.highest_bit(x) for x in X]
    found = sg.read_bnn_pynq(folder, features=20, last="matches").report
    assert found.network.predict(X).tolist() == [int(np.argmax(made.last(x)[0])) for x in X]


@pytest.mark.parametrize("seed", range(3))
def test_convolutional_folders(tmp_path, seed):
    random = np.random.default_rng(seed)
    made = random_conv(random, side=[7, 8, 9][seed], channels=[(1, 3, 5), (3, 4, 6), (2, 3, 4)][seed])
    folder = made.write(tmp_path / "net")
    found = sg.read_bnn_pynq(folder).report
    side = made.layers[0].side
    X = random.integers(0, 256, (30, made.layers[0].weights.shape[1], side, side))
    X[0], X[1] = 127, 128
    assert np.array_equal(found.network.match_counts(X), [made.last(x)[0] for x in X])
    assert found.proof.layers == 3
    assert found.network.encoder.shape == X.shape[1:]


@pytest.mark.parametrize("seed", range(4))
def test_dense_folders_of_2_bit_activations(tmp_path, seed):
    random = np.random.default_rng(seed)
    features = [1, 63, 64, 65][seed]
    made = wider(random, random_dense(random, features, (11, 9), outputs=5))
    folder = made.write(tmp_path / "net")
    X = random.integers(0, 256, (100, features))
    found = sg.read_bnn_pynq(folder, features=features).report
    assert found.network.predict(X).tolist() == [made.highest_bit(x) for x in X]
    assert found.network.layers[0].height == 2
    assert found.proof.layers == 3
    found = sg.read_bnn_pynq(folder, features=features, last="matches").report
    assert np.array_equal(found.network.logits(X), [made.last(x)[0] for x in X])


@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_convolutional_folders_of_2_bit_activations(tmp_path, seed, bits):
    random = np.random.default_rng(seed)
    made = wider(random, random_conv(random, side=[7, 8][seed], channels=[(1, 3, 5), (3, 4, 6)][seed]), bits)
    found = sg.read_bnn_pynq(made.write(tmp_path / "net")).report
    X = random.integers(0, 256, (20, *found.network.encoder.shape))
    X[0], X[1] = 127, 128
    assert np.array_equal(found.network.logits(X), [made.last(x)[0] for x in X])
    answer = sg.verify(found.network, X[2], sg.L0(1), time_limit=2)
    assert sg.check(answer, found.network) if answer.outcome != "undecided" else True


@pytest.mark.parametrize("name", DESIGNS)
def test_folders_without_a_config_are_told_apart_by_their_thresholds(tmp_path, name):
    layers = DESIGNS[name].layers
    for number, layer in enumerate(layers):
        neurons = layer.height // layer.pe
        for pe in range(layer.pe):
            (tmp_path / f"{number}-{pe}-weights.bin").write_bytes(bytes(8 * layer.words * neurons))
            if name.startswith("lfc") or number < len(layers) - 1:
                (tmp_path / f"{number}-{pe}-thres.bin").write_bytes(bytes(8 * layer.thresholds * neurons))
    assert read_memory(tmp_path).design.name == name


def test_mixtures_that_no_accelerator_has_are_refused(tmp_path):
    random = np.random.default_rng(0)
    made = wider(random, random_dense(random, 64, (8,), outputs=3), bits=2)
    with pytest.raises(FileError, match="first layer reads bits with 2-bit weights"):
        sg.read_bnn_pynq(made.write(tmp_path / "dense"), features=64)
    made = wider(random, random_conv(random, side=7, channels=(1, 3, 5)))
    made.layers[1].thresholds = made.layers[1].thresholds[:, 0]
    with pytest.raises(FileError, match="convolution that gives bits, and reads 2-bit"):
        sg.read_bnn_pynq(made.write(tmp_path / "conv"))


def test_pixels_are_a_table(tmp_path):
    """127 is -1 and 128 is +1, so that nothing is 0; 254 and 255 are both 127."""
    codes = [quantized(pixel) for pixel in range(256)]
    assert (codes[0], codes[127], codes[128], codes[254], codes[255]) == (-128, -1, 1, 127, 127)
    found = sg.read_bnn_pynq(random_conv(np.random.default_rng(0)).write(tmp_path / "net")).report
    encoder = found.network.encoder
    X = np.repeat(np.arange(256)[:, None], encoder.features, axis=1)
    assert np.array_equal(encoder.levels(X)[:, 0].astype(int) - 128, codes)
    coding = encoder.codings[0]
    assert [coding.reachable(code + 128) for code in (-1, 0, 1)] == [True, False, True]
    below = sg.read_bnn_pynq(tmp_path / "net", rounding="floor").report
    assert [below.network.encoder.codings[0].state(v) - 128 for v in (127, 128, 254, 255)] == [
        -1,
        0,
        126,
        127,
    ]


def test_levels_are_looked_up_as_they_are_defined():
    """Tables for one coding and for several, at every kind of number, against state by state."""
    random = np.random.default_rng(3)
    few = [Steps((3.0, 3.5, 7.0), 0, 9, whole=True), Steps((0.0, 12.0), 0, 9, whole=True)]
    for codings in ([few[0]] * 5, few * 3, [Steps((-2.5, -1.0, 40.0), -3, 50, whole=True)] * 2):
        encoder = Encoder(codings)
        low, high = int(codings[0].low), int(codings[0].high)
        for kind in (np.uint8, np.int16, np.int64, np.float64, object):
            X = random.integers(max(low, 0) if kind == np.uint8 else low, high + 1, (20, len(codings)))
            want = [[c.state(int(v)) for c, v in zip(codings, row, strict=True)] for row in X]
            assert np.array_equal(encoder.levels(X.astype(kind)), want)
        for wrong in (low - 1, high + 1):
            with pytest.raises(sg.errors.EncodingError, match=f"x1 is {wrong} in sample 0"):
                encoder.levels([[wrong] * len(codings)])


def test_the_published_designs():
    for design in DESIGNS.values():
        for number in range(len(design.layers) - 1):
            design.pools_behind(number)
    pools = [DESIGNS["cnvW1A1"].pools_behind(number) for number in range(8)]
    assert pools == [False, True, False, True, False, False, False, False]


ZOO = os.environ.get("SUGENET_ZOO")


@pytest.mark.skipif(not ZOO, reason="SUGENET_ZOO does not name a folder of public networks")
def test_the_published_network_of_digits(tmp_path):
    from tests.zoo.readers import idx

    arrays = np.load(Path(ZOO or ".") / "bnn_pynq" / "lfcW1A1_mnist.npz")
    layers = [
        Dense(arrays[f"W{k}"].astype(int), arrays[f"T{k}"].astype(int), layer.simd, layer.pe)
        for k, layer in enumerate(DESIGNS["lfcW1A1"].layers)
    ]
    made = Accelerator(layers, 10, 784, [str(digit) for digit in range(10)])
    folder = made.write(tmp_path / "mnist", config=False)
    images = idx(Path(ZOO or ".") / "mnist" / "t10k-images-idx3-ubyte.gz").reshape(-1, 784)
    labels = idx(Path(ZOO or ".") / "mnist" / "t10k-labels-idx1-ubyte.gz")
    found = sg.read_bnn_pynq(folder, last="matches", prove=False).report
    assert int((found.network.predict(images) == labels).sum()) == 9834
    assert int((sg.read_bnn_pynq(folder, prove=False).predict(images) == labels).sum()) == 9840
    assert found.network.encoder.names[29] == "pixel (1,1)"


# -- folders that are damaged, or said wrongly ---------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    layers = [
        Dense(random.integers(0, 2, (6, 40)), np.full(6, 20), 8, 3),
        Dense(random.integers(0, 2, (4, 6)), np.full(4, 3), 2, 4),
    ]
    return Accelerator(layers, 4, 40, list("abcd")).write(tmp_path / "net")


def changed(path, old, new):
    path.write_text(path.read_text().replace(old, new))


DAMAGES = {
    "no weights": (
        lambda f: (f / "0-1-weights.bin").unlink(),
        "0-1-weights.bin cannot be read: No such file",
    ),
    "cut off": (
        lambda f: (f / "0-1-weights.bin").write_bytes(b"12345"),
        "has 5 bytes, but 16 words of 8 bytes",
    ),
    "short": (lambda f: (f / "0-1-weights.bin").write_bytes(b"\0" * 8), "has 1 words, but 16 are needed"),
    "long": (
        lambda f: (f / "0-0-thres.bin").write_bytes(b"\0" * 800),
        "has more than 32 bytes, the limit for such a file. It needs 2 words",
    ),
    "two a neuron": (lambda f: (f / "0-0-thres.bin").write_bytes(b"\0" * 32), "2-bit activations"),
    "beyond": (lambda f: (f / "0-0-weights.bin").write_bytes(b"\xff" * 128), "words with more than 8 bits"),
    "high": (
        lambda f: (f / "0-0-thres.bin").write_bytes(b"\xff\xff" + b"\0" * 14),
        "threshold 65535 is not one",
    ),
    "left": (lambda f: (f / "7-0-weights.bin").write_bytes(b""), "7-0-weights.bin would be left over"),
    "other": (lambda f: (f / "weights.bin").write_bytes(b""), "weights.bin is not a file of an element"),
    "config": (lambda f: changed(f / "hw/config.h", "L0_PE 3", "L0_PE 5"), "cannot be folded by 5 elements"),
    "wmem": (
        lambda f: changed(f / "hw/config.h", "L0_WMEM 16", "L0_WMEM 17"),
        "WMEM 17 and TMEM 2 do not fit",
    ),
    "key": (lambda f: changed(f / "hw/config.h", "L0_PE", "L0_XX"), "L0_XX is not known"),
    "text": (lambda f: changed(f / "hw/config.h", "#endif", "int x;"), "'int x;"),
    "bits": (
        lambda f: changed(f / "hw/config.h", "L0_WPI 1", "L0_WPI 4"),
        "weights of 4.0 bits and activations of 1.0 bits",
    ),
    "size": (lambda f: changed(f / "hw/config.h", "L0_MW 64", "L0_MW -64"), "L0_MW is -64, but a size"),
    "none": (lambda f: (f / "hw/config.h").write_text(""), "describes no layers"),
    "unlike": (lambda f: (f / "hw/config.h").unlink(), "2 layers have 3, 4 processing elements"),
    "classes": (lambda f: (f / "classes.txt").write_bytes(b"\xff\xfe"), "classes.txt cannot be read"),
    "nameless": (lambda f: (f / "classes.txt").unlink(), "there is no classes.txt. Say how many: outputs=10"),
    "many": (
        lambda f: (f / "classes.txt").write_text("a\n" * 99),
        "99 classes, but the last layer has 64 rows",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_folders(folder, name):
    damage, words = DAMAGES[name]
    assert sg.read_bnn_pynq(folder, features=40).encoder.features == 40
    damage(folder)
    with pytest.raises(FileError, match=r"^net: ") as error:
        sg.read_bnn_pynq(folder, features=40)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "reads 64 bits, of which the last are padding. Say how many are inputs: features=784"),
        ({"features": 99}, "features=99, but the first layer reads 64 bits"),
        ({"features": 40, "outputs": 65}, "65 classes, but the last layer has 64 rows"),
        ({"features": 40, "last": "most"}, "last='most' is not known"),
        ({"features": 40, "rounding": "floor"}, "rounding='floor' is for designs that read pixels"),
        ({"features": 40, "design": "lfcW9"}, "design='lfcW9' is not one of lfcW1A1, lfcW1A2, cnvW1A1"),
        ({"features": 40, "inputs": sg.Bits()}, "reads bytes"),
        ({"features": 40, "zero": 1}, "do not apply here"),
    ],
)
def test_what_is_said_wrongly(folder, options, words):
    with pytest.raises(FileError) as error:
        sg.read_bnn_pynq(folder, **options)
    assert words in str(error.value)


def test_the_same_by_its_kind(folder, tmp_path):
    found = import_file(folder, features=40).report
    assert found.network.fingerprint == sg.read_bnn_pynq(folder, features=40).fingerprint
    with pytest.raises(FileError, match=r"above= is for an \.npz file"):
        import_file(folder, features=40, above=1)
    with pytest.raises(FileError, match="design= is for a folder of BNN-PYNQ"):
        import_file(tmp_path / "net.onnx", design="lfcW1A1")
    shutil.copy(folder / "hw" / "config.h", tmp_path / "config.h")
    shutil.rmtree(folder / "hw")
    again = sg.read_bnn_pynq(folder, tmp_path / "config.h", features=40).report
    assert again.network.fingerprint == found.network.fingerprint


def test_an_older_last_layer_is_shorter(tmp_path):
    """Older folders leave out the rows of the last layer that no class has."""
    random = np.random.default_rng(2)
    made = random_dense(random, 20, (6,), outputs=4)
    folder = made.write(tmp_path / "net")
    X = random.integers(0, 256, (50, 20))
    layer = made.layers[-1]
    rows = -(-4 // layer.pe)
    for pe in range(layer.pe):
        for kind, words in (("weights", 6 // layer.simd), ("thres", 1)):
            path = folder / f"1-{pe}-{kind}.bin"
            path.write_bytes(path.read_bytes()[: 8 * rows * words])
    found = sg.read_bnn_pynq(folder, features=20).report
    assert found.network.predict(X).tolist() == [made.highest_bit(x) for x in X]
