"""Networks as plain arrays: both npz conventions, BNNQuanalyst's folders, and damaged files of each."""

import io
import os
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sugenet.errors import FileError
from sugenet.io.arrays import reader as arrays_reader
from sugenet.io.arrays.reader import read_arrays, read_bnnquanalyst, read_npz
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.lower import lower
from tests.io.chains import evaluate
from tests.thinned import examples
from tests.zoo import readers

ZOO = os.environ.get("SUGENET_ZOO")
needs_zoo = pytest.mark.skipif(ZOO is None, reason="SUGENET_ZOO does not name a folder of public networks")


def msakai(random, sizes=(6, 5, 4), classes=3, with_input=True):
    def norm(name, size):
        columns = {
            part: random.standard_normal(size).astype(np.float32) for part in ("gamma", "beta", "avg_mean")
        }
        return {f"{name}/{part}": value for part, value in columns.items()} | {
            f"{name}/avg_var": random.uniform(0.1, 2, size).astype(np.float32),
            f"{name}/N": np.array(7),
        }

    arrays = norm("input_bn", sizes[0]) if with_input else {}
    for b, (before, after) in enumerate(pairwise(sizes)):
        arrays |= {
            f"blocks/{b}/lin/W": random.choice([-1.0, 1.0], (after, before)),
            f"blocks/{b}/lin/b": random.standard_normal(after),
        }
        arrays |= norm(f"blocks/{b}/bn", after)
    return arrays | {
        "output_lin/W": random.choice([-1.0, 1.0], (classes, sizes[-1])),
        "output_lin/b": random.standard_normal(classes),
    }


def bits(random, sizes=(7, 5, 4, 6)):
    arrays = {}
    for k, (before, after) in enumerate(pairwise(sizes)):
        arrays |= {
            f"W{k}": random.integers(0, 2, (after, before), np.uint8),
            f"T{k}": random.integers(-1, before + 1, after),
        }
    return arrays


@pytest.fixture
def random():
    return np.random.default_rng(3)


# -- npz -----------------------------------------------------------------------------------------------------


def test_blocks_of_linear_layer_and_batch_norm(tmp_path, random):
    arrays = msakai(random)
    np.savez(tmp_path / "net.npz", **arrays)
    chain = read_npz(tmp_path / "net.npz")
    x = random.uniform(0, 1, (50, 6))
    expected = readers.msakai_float(arrays)(x * 255)
    np.testing.assert_allclose(evaluate(chain, x), expected.scores, atol=1e-5)
    bare = msakai(random, with_input=False)
    np.savez_compressed(tmp_path / "bare.npz", **bare)
    chain = read_npz(tmp_path / "bare.npz")
    assert chain.shape == (6,)
    assert type(chain.ops[0]).__name__ == "LinearOp"


def test_match_counts_against_thresholds(tmp_path, random):
    arrays = bits(random)
    np.savez(tmp_path / "net.npz", **arrays)
    x = random.integers(0, 2, (60, 7)).astype(bool)
    on = x
    for k in (0, 1):
        on = (on[:, None, :] == arrays[f"W{k}"]).sum(axis=2) > arrays[f"T{k}"]
    counts = (on[:, None, :] == arrays["W2"]).sum(axis=2)
    imported = lower(read_npz(tmp_path / "net.npz"), Bits())
    assert np.array_equal(imported.network.match_counts(x), counts)
    assert all(layer.ties == 0 for layer in imported.layers)
    few = lower(read_npz(tmp_path / "net.npz", features=4, outputs=2, above=100), Integers(0, 255)).network
    raw = random.integers(0, 256, (40, 4))
    raw[0] = [100, 101, 100, 101]
    padded = np.concatenate([raw > 100, np.zeros((40, 3), bool)], axis=1)
    assert np.array_equal(
        few.match_counts(raw),
        lower(read_npz(tmp_path / "net.npz"), Bits()).network.match_counts(padded)[:, :2],
    )


@needs_zoo
def test_public_npz_files():
    pixels = readers.idx(Path(ZOO) / "mnist" / "t10k-images-idx3-ubyte.gz").reshape(-1, 784)[:1000]
    labels = readers.idx(Path(ZOO) / "mnist" / "t10k-labels-idx1-ubyte.gz")[:1000]
    path = Path(ZOO) / "bnn_pynq" / "lfcW1A1_mnist.npz"
    scores = evaluate(read_npz(path, features=784, outputs=10, above=127), pixels)
    theirs = readers.lfc_float(dict(np.load(path)))(pixels).scores
    assert np.array_equal((scores + 1024) / 2, theirs)
    assert (scores.argmax(1) == labels).mean() == (theirs.argmax(1) == labels).mean() > 0.97
    for name in ("mnist", "mnist_rot"):
        arrays = dict(np.load(Path(ZOO) / "msakai" / f"{name}.npz"))
        found = evaluate(read_npz(Path(ZOO) / "msakai" / f"{name}.npz"), pixels / 255)
        assert np.array_equal(found, readers.msakai_float(arrays)(pixels).scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W1": None}, "there is no array 'W1'"),
        ({"T0": np.zeros(3, int)}, r"array 'T0' has shape \(3,\), but \(5,\) is needed"),
        ({"W1": np.zeros((4, 9), np.uint8)}, "array 'W1' has 9 weights a neuron, but 5 values come in"),
        ({"W0": np.full((5, 7), 2)}, "array 'W0' holds other numbers than 0 and 1"),
        ({"W0": np.array([["a"]])}, "array 'W0.npy' has dtype <U1, but numbers are needed"),
        ({"W0": np.array([[{}]], dtype=object)}, "has dtype object"),
        ({"T0": np.array([np.nan] * 5)}, "not finite"),
    ],
)
def test_wrong_arrays_are_named(tmp_path, random, change, message):
    arrays = bits(random) | change
    np.savez(
        tmp_path / "net.npz",
        allow_pickle=True,
        **{name: array for name, array in arrays.items() if array is not None},
    )
    with pytest.raises(FileError, match=message):
        read_npz(tmp_path / "net.npz")


def test_wrong_arguments_and_names(tmp_path, random):
    np.savez(tmp_path / "net.npz", **bits(random))
    for wrong in ({"features": 8}, {"features": 0}, {"outputs": 7}, {"above": float("nan")}):
        with pytest.raises(FileError, match=f"{next(iter(wrong))}="):
            read_npz(tmp_path / "net.npz", **wrong)
    np.savez(tmp_path / "other.npz", a=np.ones(2))
    with pytest.raises(FileError, match=r"other.npz: its arrays a follow no known convention"):
        read_npz(tmp_path / "other.npz")
    with pytest.raises(FileError, match="cannot be read"):
        read_npz(tmp_path / "missing.npz")


def test_a_header_that_claims_too_much_takes_no_memory(tmp_path, monkeypatch):
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        raw, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    with zipfile.ZipFile(tmp_path / "wide.npz", "w") as archive:
        archive.writestr("W0.npy", raw.getvalue())
    with pytest.raises(
        FileError, match=r"of shape \(1000000, 1000000\) takes 8000000000000 bytes, but the file has"
    ):
        read_arrays(tmp_path / "wide.npz")
    np.savez_compressed(tmp_path / "bomb.npz", W0=np.zeros((1 << 11, 1 << 11), np.uint8))
    assert read_arrays(tmp_path / "bomb.npz")["W0"].shape == (1 << 11, 1 << 11)
    monkeypatch.setattr(arrays_reader, "_MAX_BYTES", 1 << 20)
    with pytest.raises(FileError, match="it unpacks to more than"):
        read_arrays(tmp_path / "bomb.npz")


@settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_npz_files_end_in_a_file_error_or_in_arrays(tmp_path, data):
    path = tmp_path / "base.npz"
    if not path.exists():
        np.savez(path, W0=np.ones((3, 4), np.uint8), T0=np.zeros(3, np.int64))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(0, len(raw))) :]
    broken = tmp_path / "broken.npz"
    broken.write_bytes(raw)
    try:
        found = read_arrays(broken)
    except FileError:
        return
    assert sum(array.nbytes for array in found.values()) <= len(raw)


@pytest.mark.parametrize("name", ["scale", "W1/scale", "W7", "blocks/0/lin/scale"])
def test_no_array_is_left_over(tmp_path, random, name):
    for arrays in (bits(random), msakai(random)):
        np.savez(tmp_path / "net.npz", **arrays, **{name: np.ones(2)})
        with pytest.raises(
            FileError, match=f"array '{name}' would be left over|there is no array|follow no known"
        ):
            read_npz(tmp_path / "net.npz")


def test_options_of_the_other_convention_are_refused(tmp_path, random):
    np.savez(tmp_path / "net.npz", **msakai(random))
    with pytest.raises(FileError, match=r"net.npz: above=3 is for files of match counts"):
        read_npz(tmp_path / "net.npz", above=3)


def test_blocks_without_a_linear_layer(tmp_path, random):
    arrays = {name: array for name, array in msakai(random, with_input=False).items() if "/lin/" not in name}
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(FileError, match="array 'blocks/0/bn/gamma' and 9 more would be left over"):
        read_npz(tmp_path / "net.npz")


def test_thresholds_that_are_not_whole(tmp_path):
    """More than 2.75 matches are three."""
    limits = np.array([2.75, 2.25, 2.0, -0.5, -9.0, 3.5, 99.0])
    np.savez(tmp_path / "net.npz", W0=np.ones((7, 4)), T0=limits, W1=np.ones((2, 7)))
    network = lower(read_npz(tmp_path / "net.npz"), Bits()).network
    x = np.array([[k > j for j in range(4)] for k in range(5)])
    expected = x.sum(axis=1)[:, None] > limits
    assert network.match_counts(x)[:, 0].tolist() == expected.sum(axis=1).tolist()


def test_two_arrays_of_one_name(tmp_path):
    raw = io.BytesIO()
    np.save(raw, np.ones((2, 2)))
    with zipfile.ZipFile(tmp_path / "two.npz", "w") as archive:
        archive.writestr("W0.npy", raw.getvalue())
        archive.writestr("W0", raw.getvalue())
    with pytest.raises(FileError, match="the array 'W0' stands twice"):
        read_arrays(tmp_path / "two.npz")


# -- folders of CSV files ------------------------------------------------------------------------------------


def folder(path, random, sizes=(5, 4, 3), classes=2):
    def save(place, **tables):
        place.mkdir(parents=True)
        for name, table in tables.items():
            np.savetxt(place / f"{name}.csv", np.atleast_2d(table), delimiter=",")

    for b, (before, after) in enumerate(pairwise(sizes), start=1):
        norm = {f"bn_{part}": random.standard_normal(after) for part in ("weight", "bias", "mean")} | {
            "bn_var": random.uniform(0.5, 2, after)
        }
        save(
            path / f"blk{b}",
            lin_weight=random.choice([-1.0, 1.0], (after, before)),
            lin_bias=random.standard_normal(after),
            **norm,
        )
    save(
        path / "out_blk",
        lin_weight=random.choice([-1.0, 1.0], (classes, sizes[-1])),
        lin_bias=random.standard_normal(classes),
    )
    return path


def test_bnnquanalyst_folder(tmp_path, random):
    place = folder(tmp_path / "net", random)
    chain = read_bnnquanalyst(place)
    x = random.choice([-1.0, 1.0], (32, 5))
    assert np.array_equal(evaluate(chain, x), readers.quanalyst_float(place)(x).scores)
    assert lower(chain, Bits()).network == readers.quanalyst_exact(place)


@needs_zoo
def test_public_bnnquanalyst_folders():
    places = sorted((Path(ZOO) / "bnnquanalyst").glob("mnist_bnn*"))
    assert len(places) == 6
    for place in places:
        ours = lower(read_bnnquanalyst(place), Bits()).network
        assert ours == readers.quanalyst_exact(place)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "blk1/lin_weight.csv",
            "1,2\n3\n",
            r"net: blk1/lin_weight.csv, line 2: 1 numbers, but 2 stand in the first line",
        ),
        ("blk1/bn_var.csv", "1,1,0,1\n", "blk1/bn_var.csv is not positive at 2"),
        ("blk2/lin_bias.csv", "1,1\n", "blk2/lin_bias.csv has 2 numbers, but 3 neurons need one each"),
        ("blk2/lin_weight.csv", "1,x\n", "line 1: 'x' is not a number"),
        ("blk2/lin_weight.csv", "1,1_0\n", "line 1: '1_0' is not a number"),
        ("out_blk/lin_weight.csv", "1,1\n1,1\n", "has 2 weights a neuron, but 3 values come in"),
        ("out_blk/lin_bias.csv", "", "is empty"),
        ("out_blk/lin_bias.csv", "nan,1", "not a number"),
        ("out_blk/lin_bias.csv", "é", "is not a table of numbers"),
    ],
)
def test_wrong_tables_are_named(tmp_path, random, file, text, message):
    place = folder(tmp_path / "net", random)
    (place / file).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        read_bnnquanalyst(place)


@pytest.mark.parametrize(
    "name", ["blk4/lin_weight.csv", "blk2/scale.csv", "out_blk/bn_weight.csv", "scale.csv", "extra/a.csv"]
)
def test_no_table_is_left_over(tmp_path, random, name):
    place = folder(tmp_path / "net", random)
    (place / "README.txt").write_text("a network")
    read_bnnquanalyst(place)
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("1\n")
    with pytest.raises(
        FileError, match=f"net: ({name}|{Path(name).parent}) would be left over: the network of 2 blocks"
    ):
        read_bnnquanalyst(place)


def test_missing_folders_and_files(tmp_path, random):
    with pytest.raises(FileError, match="has no folder 'out_blk'"):
        read_bnnquanalyst(tmp_path)
    place = folder(tmp_path / "net", random)
    (place / "blk2" / "bn_mean.csv").unlink()
    with pytest.raises(FileError, match=r"blk2/bn_mean.csv cannot be read"):
        read_bnnquanalyst(place)
