"""TensorFlow Lite files: 8-bit networks against recorded outputs of LiteRT, binarized ones against recorded
outputs of Larq Compute Engine, and refusals.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, SugenetError
from sugenet.io import Integers, import_file, read_tflite
from sugenet.io.tflite.arithmetic import fixed, rescaled, rescaler
from sugenet.io.tflite.file import read_tflite_file
from sugenet.io.tflite.interpreter import IntegerRunner
from tests.fuzzing import lce_files
from tests.fuzzing.tflite_files import compare, tflite_model
from tests.fuzzing.tflite_writer import Model

HERE = Path(__file__).parent
LITERT = pytest.mark.skipif(find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed")
LCE = os.environ.get("SUGENET_LCE_PYTHON")
DENSE = "FULLY_CONNECTED"


def scores(network, rows):
    return network.head.logits(network.match_counts(rows))


# -- 8 bits --------------------------------------------------------------------------------------------------


def test_random_networks_give_what_litert_gave():
    with np.load(HERE / "litert.npz") as held:
        count = sum(name.startswith("raw") for name in held)
        assert count > 15
        for k in range(count):
            rows, outputs = held[f"rows{k}"], held[f"outputs{k}"]
            network = read_tflite(held[f"raw{k}"].tobytes())
            assert np.array_equal(scores(network, rows.astype(float)).astype(outputs.dtype), outputs), k


def test_files_of_tensorflows_converter_give_what_litert_gave():
    with np.load(HERE / "res_int8.npz") as held:
        network = import_file(HERE / "res_int8.tflite", inputs=Integers(0, 255, start=-128))
        rows = held["samples"].astype(float) + 128
        assert np.array_equal(scores(network, rows), held["outputs"])
        assert network.encoder.shape == (6, 6, 2)
    with np.load(HERE / "cnn_float.npz") as held:
        network = read_tflite(HERE / "cnn_float.tflite")
        classes = network.predict(held["samples"].astype(float))
        chosen = held["outputs"][np.arange(len(classes)), classes]
        assert np.array_equal(chosen, held["outputs"].max(axis=1))  # they can tie in 8 bits
        assert "its 8-bit outputs can tie" in network.report.remarks[0]
        assert network.report.proof.levels


def said(raw, **options):
    """ "read", or the message of the refusal."""
    try:
        return "read" if read_tflite(raw, **options).report.proof.bits else "not compared"
    except SugenetError as error:
        return str(error)


def test_random_networks_agree_with_the_interpreter():
    found = [said(tflite_model(seed).raw, kernels=("reference", "micro")[seed % 2]) for seed in range(40)]
    assert [text for text in found if "fault of the reader" in text] == []
    assert found.count("read") > 35


@LITERT
@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1200, 100))
def test_many_random_networks_agree_with_litert(start):
    assert [seed for seed in range(start, start + 100) if not compare(seed)] == []


def test_factors_are_rounded_by_their_definition():
    for multiplier, shift in [fixed(real) for real in (0.25, 0.5, 1 / 3, 0.013, 1.7, 2.0**-20, 3e-10, 0.0)]:
        x = np.concatenate([np.arange(-300, 300), np.arange(-(1 << 22), 1 << 22, 104_729)])
        for value, found in zip(x.tolist(), rescaled(x, multiplier, shift).tolist(), strict=True):
            high = (2 * value * 2 ** max(shift, 0) * multiplier + (1 << 31)) // (1 << 32)
            down = 2 ** max(-shift, 0)
            wanted = (abs(high) * 2 + down) // (2 * down) * (1 if high >= 0 else -1)
            assert found == (wanted if down > 1 else high)


def test_dense_layers_of_both_kernels_part_only_next_to_ties():
    x, w, y = np.float32(1), np.ones(1, np.float32), np.float32(4)
    sums = np.arange(-40, 40)[None, :]
    once, twice = (rescaler(kernels, True, x, w, y)(sums)[0] for kernels in ("reference", "micro"))
    assert once.tolist() == [int(np.sign(s) * np.floor(abs(s) / 4 + 0.5)) for s in sums[0]]
    assert set(sums[0][once != twice].tolist()) == {s for s in range(-40, 40) if s > 0 and s % 4 == 1}


def test_a_wrong_scale_is_found_by_the_interpreter(monkeypatch):
    monkeypatch.setattr("sugenet.io.tflite.reader.fixed", lambda real: fixed(real * 1.01))
    found = [said(tflite_model(seed).raw) for seed in range(40)]
    assert sum("what was read is not what the source computes" in text for text in found) > 3


def dense(
    weights, *, scale=1.0, bias=None, out=1.0, zero=0, options=None, extra=None, kind="FULLY_CONNECTED"
):
    """A file with one dense layer."""
    model, rows = Model(), np.array(weights)
    x = model.tensor((1, rows.shape[1]), "i1", 1.0, zero)
    w = model.tensor(rows.shape, "i1", scale, 0, 0, rows)
    y = model.tensor((1, len(rows)), "i1", out, 0)
    inputs = [x, w]
    if bias is not None:
        inputs.append(model.tensor((len(rows),), "i4", scale, 0, 0, bias))
    model.operator(kind, inputs, [y], options)
    if extra is not None:
        y = extra(model, y)
    return model.raw([x], [y])


def test_one_layer_by_its_definition():
    network = read_tflite(dense([[1, -1], [2, 3]], bias=[1, -4], out=2.0, zero=3, options={0: ("b", 1)}))
    every = list(product(range(-128, 128, 5), repeat=2))
    for row, found in zip(every, scores(network, np.array(every, float)).tolist(), strict=True):
        a, b = (q - 3 for q in row)
        for total, level in zip((a - b + 1, 2 * a + 3 * b - 4), found, strict=True):
            half = (abs(total) + 1) // 2 * (1 if total > 0 else -1)
            assert level == min(max(half, 0), 127)


def test_the_same_samples_as_bytes_and_as_8_bit_integers():
    raw = dense([[1, -1], [2, 3]])
    signed, plain = read_tflite(raw), read_tflite(raw, inputs=Integers(0, 255, start=-128))
    rows = np.random.default_rng(0).integers(0, 256, (50, 2))
    assert np.array_equal(scores(signed, rows - 128), scores(plain, rows))
    answer = sg.verify(plain, sg.Robust(rows[0], sg.Linf(1)))
    assert sg.check(answer, plain)


def softmax_then_argmax(model, y):
    s = model.tensor((1, 2), "i1", 1 / 256, -128)
    model.operator("SOFTMAX", [y], [s], {0: ("f", 1.0)})
    c, axis = model.tensor((1,), "i8"), model.tensor((1,), "i4", data=[1])
    model.operator("ARG_MAX", [s, axis], [c], {0: ("b", 4)})
    return c


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (dense([[1, 1]], kind="MUL"), r"operator 0, MUL \(t2\): only additions of branches are supported\."),
        (dense([[1, 1]], kind="GATHER"), r"operator 0, GATHER \(t2\): it is not supported in 8-bit files\."),
        (dense([[1, 1]], options={0: ("b", 4)}), "fused activation is TANH"),
        (dense([[1, 1]], options={0: ("b", 77)}), "fused_activation_function is 77, which is not known"),
        (dense([[1, 1]], options={1: ("b", 1)}), "its option weights_format is 1, which is not read"),
        (dense([[1, 1]], options={9: ("b", 1)}), r"an option that is not known \(field 9\)"),
        (dense([[1, 1]], scale=[0.0]), "a scale is not a positive number"),
        (dense([[1, 1]], scale=[np.nan]), "a scale is not a positive number"),
        (dense([[1, 1]], out=1e-9), "its factor is so large that sums leave 32 bits"),
        (dense([[1, 1]], bias=[2**31 - 1]), "sums can reach 2,147,483,9.., beyond the 32 bits"),
        (dense([[1, 1], [1, 0]], extra=softmax_then_argmax), "it comes after operator 1, SOFTMAX"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(raw, text):
    with pytest.raises(FileError, match=text):
        read_tflite(raw)


def test_options_that_mean_nothing_are_refused(tmp_path):
    raw = dense([[1, -1], [2, 3]])
    (tmp_path / "net.tflite").write_bytes(raw)
    for options, text in (
        ({"zero": 1}, "zero= has no use"),
        ({"strict": False}, "strict= has no use"),
        ({"kernels": "fast"}, "kernels='fast' is not known. Use reference, micro"),
        ({"inputs": Integers(0, 9)}, r"Declare inputs=Integers\(-128, 127\)"),
    ):
        with pytest.raises(FileError, match=text):
            read_tflite(raw, **options)
    with pytest.raises(FileError, match="kernels= is for a TensorFlow Lite file"):
        import_file(tmp_path / "net.onnx", kernels="micro")
    with pytest.raises(FileError, match="kernels= has no use: it has no 8-bit layers"):
        read_tflite(lce_files.made(HERE / "lce")[0], kernels="micro")


# -- Larq Compute Engine -------------------------------------------------------------------------------------


def test_files_of_larq_compute_engine_give_what_it_gave():
    files = lce_files.made(HERE / "lce")
    assert len(files) > 3
    assert {path.name: lce_files.outcome(path) for path in files} == {path.name: "equal" for path in files}


def test_every_operator_of_larq_compute_engine_is_in_the_kept_files():
    names = {op.name for path in lce_files.made(HERE / "lce") for op in read_tflite_file(path).operators}
    assert {"LceQuantize", "LceBconv2d", "LceBMaxPool2d", "LceDequantize"} <= names


@pytest.mark.slow
@pytest.mark.skipif(not LCE, reason="SUGENET_LCE_PYTHON is not set (make lce)")
def test_many_files_of_larq_compute_engine(tmp_path):
    maker = Path(lce_files.__file__).with_name("lce_maker.py")
    subprocess.run([LCE, str(maker), str(tmp_path), "0", "200"], check=True, capture_output=True)
    found = {path.name: lce_files.outcome(path) for path in lce_files.made(tmp_path)}
    assert [(name, text) for name, text in found.items() if text.startswith("different")] == []
    assert sum(text == "equal" for text in found.values()) > 180


# -- damaged files -------------------------------------------------------------------------------------------


def test_damaged_files_are_refused_or_read():
    random, found = np.random.default_rng(0), []
    files = [
        dense([[1, -1], [2, 3]], bias=[1, 2]),
        tflite_model(3).raw,
        lce_files.made(HERE / "lce")[0].read_bytes(),
    ]
    for number in range(300):
        raw = bytearray(files[number % 3])
        if number % 5 == 0:
            raw = raw[: int(random.integers(0, len(raw)))]
        for place in random.integers(0, max(len(raw), 1), int(random.integers(1, 4))):
            if place < len(raw):
                raw[place] = int(random.choice([0, 1, 127, 128, 255, int(random.integers(0, 256))]))
        found.append(said(bytes(raw), inputs=Integers(-4, 4) if number % 3 == 2 else None))
    assert [text for text in found if "fault" in text] == []
    assert 20 < found.count("read") < 280


def test_the_interpreter_knows_nothing_of_levels():
    file = read_tflite_file(dense([[1, -1], [2, 3]]))
    found, tensors = IntegerRunner(file, "reference", file.outputs[0].key)(np.array([[5, 6], [-128, 127]]))
    assert found.tolist() == [[-1, 28], [-128, 125]]
    assert [tensor.shape for tensor in tensors.values()] == [(2, 2), (2, 2)]
    module = sys.modules["sugenet.io.tflite.interpreter"]
    assert not any(name.startswith(("sugenet.io.exact", "sugenet.nn")) for name in vars(module))


@pytest.mark.parametrize("seed", [147000, 1420000])
def test_steps_after_a_pool_of_transposed_maps_stay_after_it(seed):
    """The pool sees other channels than its source has, so steps per channel cannot move before it."""
    made = tflite_model(seed)
    network = read_tflite(made.raw, inputs=None if made.floats else Integers(-128, 127))
    assert network.report.proof.scores
