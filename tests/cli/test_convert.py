"""``sugenet convert``: files in, files out, with the report."""

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.cli import main
from tests.fuzzing.tflite_files import tflite_model


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_model_goes_to_c(capsys, tmp_path):
    code, out, _ = run(capsys, "convert", "digits", "-o", tmp_path / "digits.c")
    assert code == 0
    assert "digits as C" in out
    assert "int digits_predict(const uint8_t x[64]);" in (tmp_path / "digits.c").read_text(encoding="ascii")


def test_a_model_goes_to_onnx_and_back(capsys, tmp_path):
    code, out, _ = run(capsys, "convert", "digits", "-o", tmp_path / "digits.onnx")
    assert code == 0
    assert "written to" in out
    code, out, _ = run(
        capsys,
        "convert",
        tmp_path / "digits.onnx",
        "-o",
        tmp_path / "again.sugenet",
        "--inputs",
        "0..16",
        "--json",
    )
    assert code == 0
    report = json.loads(out)
    again = sg.load(tmp_path / "again.sugenet")
    assert report["fingerprint"] == again.fingerprint
    assert report["layers"]
    X, _ = sg.models.samples("digits")
    assert (again.predict(X) == sg.models.digits().predict(X)).all()


def test_a_match_count_file_is_converted(capsys, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "net.npz",
        W0=rng.integers(0, 2, (5, 6)),
        T0=np.full(5, 2),
        W1=rng.integers(0, 2, (3, 5)),
        T1=np.zeros(3, int),
    )
    code, out, _ = run(
        capsys,
        "convert",
        tmp_path / "net.npz",
        "-o",
        tmp_path / "net.sugenet",
        "--inputs",
        "bits",
        "--classes",
        "a,b,c",
    )
    assert code == 0
    assert "5 neurons, 0 flipped" in out
    assert sg.load(tmp_path / "net.sugenet").classes == ("a", "b", "c")


def test_a_checkpoint_is_converted_when_what_it_does_not_say_is_said(capsys, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(0)
    norm = {f"features.3.{part}": torch.ones(3) for part in ("weight", "bias", "running_mean", "running_var")}
    torch.save(
        {"features.2.weight": torch.randn(3, 4), **norm, "fc.weight": torch.randn(2, 3)}, tmp_path / "fc.pt"
    )
    code, out, err = run(capsys, "convert", tmp_path / "fc.pt", "-o", tmp_path / "fc.sugenet")
    assert (code, out) == (2, "")
    assert "--bits 1" in err
    code, out, _ = run(capsys, "convert", tmp_path / "fc.pt", "-o", tmp_path / "fc.sugenet", "--bits", 1)
    assert code == 0
    assert sg.load(tmp_path / "fc.sugenet").predict([[0.1, 0.9, 0.2, 0.8]]).shape == (1,)
    code, out, err = run(capsys, "convert", tmp_path / "fc.pt", "-o", tmp_path / "fc.sugenet", "--bits", 2)
    assert (code, out) == (2, "")
    assert "fc.pt: early releases of Brevitas wrote it" in err
    last = {f"features.7.{part}": torch.ones(1) for part in ("weight", "bias", "running_mean", "running_var")}
    weights = {"features.2.weight": torch.randn(3, 4), "features.6.weight": torch.randn(2, 3)}
    torch.save({**weights, **norm, **last}, tmp_path / "tfc.pt")
    tfc = ["convert", tmp_path / "tfc.pt", "-o", tmp_path / "tfc.sugenet", "--inputs", "0..255/255", "--bits"]
    assert run(capsys, *tfc, "1,2")[0] == 0
    assert sg.load(tmp_path / "tfc.sugenet").layers[0].height == 2
    code, _, err = run(capsys, *tfc, "0")
    assert code == 2
    assert "an integer from 1 to 8 is needed" in err
    torch.save({"c.weight": torch.randn(3, 1, 2, 2), "d.weight": torch.randn(2, 12)}, tmp_path / "conv.pt")
    layers = "conv:c(weights=sign) sign flatten linear:d(weights=sign)"
    given = [
        "convert",
        tmp_path / "conv.pt",
        "-o",
        tmp_path / "conv.sugenet",
        "--inputs",
        "bits",
        "--architecture",
        layers,
    ]
    code, out, err = run(capsys, *given)
    assert (code, out) == (2, "")
    assert "--shape 1,28,28" in err
    code, out, _ = run(capsys, *given, "--shape", "1,3,3")
    assert code == 0
    assert "12 neurons" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "digits", "-o", "x.onnx", "--bits", "1"], "--bits is for imports"),
        (["convert", "nowhere.onnx", "-o", "x.sugenet"], "nowhere.onnx"),
        (["convert", "README.md", "-o", "x.sugenet"], "no kind that can be imported"),
        (["convert", "digits", "-o", "x.txt"], "must end in .sugenet, .onnx or .c"),
        (
            ["convert", "a.onnx", "-o", "x.sugenet", "--inputs", "floats"],
            "--inputs floats is not a kind of input",
        ),
        (
            ["convert", "a.onnx", "-o", "x.sugenet", "--inputs", "0..255/0"],
            "--inputs 0..255/0 is not a kind of input",
        ),
    ],
)
def test_what_cannot_be_converted_is_named(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_a_keras_model_as_text_is_converted_with_its_weights(capsys, tmp_path):
    pytest.importorskip("h5py", reason="h5py is not installed")
    from tests.fuzzing.keras_files import save

    rng = np.random.default_rng(0)
    layers = [("fc1", 5, {"batch_input_shape": [None, 6]}), ("act", 0, {}), ("fc2", 3, {})]
    signed = {"kernel_quantizer": "ste_sign", "use_bias": False}
    entries = [
        {
            "class_name": "QuantDense" if units else "SteSign",
            "config": {"name": name, **more, **({"units": units, **signed} if units else {})},
            "name": name,
        }
        for name, units, more in layers
    ]
    weights = {"fc1": {"kernel": rng.uniform(-1, 1, (6, 5))}, "fc2": {"kernel": rng.uniform(-1, 1, (5, 3))}}
    model = {"class_name": "Sequential", "config": {"name": "net", "layers": entries}}
    path, arrays = save(tmp_path, model, weights, "pair")
    line = ["convert", path, "-o", tmp_path / "net.sugenet", "--inputs", "bits"]
    code, _, err = run(capsys, *line)
    assert (code, "Give those too: --weights-file net.weights.h5" in err) == (2, True)
    code, _, err = run(capsys, "convert", arrays, "-o", tmp_path / "net.sugenet")
    assert (code, "model.json with --weights-file net.weights.h5" in err) == (2, True)
    code, out, _ = run(capsys, *line, "--weights-file", arrays)
    assert (code, "equal to Keras' layers" in out) == (0, True)
    code, _, err = run(capsys, "convert", "digits", "-o", tmp_path / "x.onnx", "--weights-file", arrays)
    assert (code, "--weights-file is for imports" in err) == (2, True)
    (tmp_path / "net.pb").write_bytes(b"")
    code, _, err = run(capsys, "convert", tmp_path / "net.pb", "-o", tmp_path / "net.sugenet")
    assert (code, "python -m tf2onnx.convert --graphdef" in err) == (2, True)


def test_an_8_bit_file_is_read_with_the_kernels_that_are_chosen(tmp_path, capsys):
    (tmp_path / "net.tflite").write_bytes(tflite_model(1).raw)
    line = ["convert", tmp_path / "net.tflite", "-o", tmp_path / "net.sugenet"]
    code, out, _ = run(capsys, *line, "--kernels", "micro")
    assert (code, "rounded like the micro kernels" in out) == (0, True)
    (tmp_path / "net.tflite").write_bytes(b"TFL3")
    code, _, err = run(capsys, *line)
    assert (code, "TFL3 is not in its head" in " ".join(err.split())) == (2, True)
