"""``sugenet convert``: files in, files out, with the report."""

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.cli import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_model_goes_to_onnx_and_back(capsys, tmp_path):
    code, out, _ = run(capsys, "convert", "digits", "-o", tmp_path / "digits.onnx")
    assert code == 0
    assert "written to" in out
    code, out, _ = run(capsys, "convert", tmp_path / "digits.onnx", "-o", tmp_path / "again.sugenet", "--inputs", "0..16", "--json")
    assert code == 0
    report = json.loads(out)
    again = sg.load(tmp_path / "again.sugenet")
    assert report["fingerprint"] == again.fingerprint
    assert report["layers"]
    X, _ = sg.models.samples("digits")
    assert (again.predict(X) == sg.models.digits().predict(X)).all()


def test_a_match_count_file_is_converted(capsys, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "net.npz", W0=rng.integers(0, 2, (5, 6)), T0=np.full(5, 2), W1=rng.integers(0, 2, (3, 5)), T1=np.zeros(3, int))
    code, out, _ = run(capsys, "convert", tmp_path / "net.npz", "-o", tmp_path / "net.sugenet", "--inputs", "bits", "--classes", "a,b,c")
    assert code == 0
    assert "5 neurons, 0 flipped" in out
    assert sg.load(tmp_path / "net.sugenet").classes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "nowhere.onnx", "-o", "x.sugenet"], "nowhere.onnx"),
        (["convert", "README.md", "-o", "x.sugenet"], "no kind that can be imported"),
        (["convert", "digits", "-o", "x.txt"], "must end in .sugenet or .onnx"),
        (["convert", "a.onnx", "-o", "x.sugenet", "--inputs", "floats"], "--inputs floats is not bits, reals, or integers"),
        (["convert", "a.onnx", "-o", "x.sugenet", "--inputs", "0..255/0"], "--inputs 0..255/0 is not bits, reals, or integers"),
    ],
)
def test_what_cannot_be_converted_is_named(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
