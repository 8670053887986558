"""``sugenet convert`` of spiking networks: the convention is asked for; every command works on the model."""

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.cli import main
from sugenet.cli.files import SPIKING_NAMES
from sugenet.spiking.network import FIELDS

SAID = ["--steps", 3, "--reset", "zero", "--when", "at-once", "--fires", "reaching", "--code", "latency"]
SAID += ["--decision", "first-spike", "--ties", "lowest"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "net.npz"
    np.savez(path, weight1=np.array([[1.0, 0.5], [0.5, 1.0]]), leak1=0.5, threshold1=1.0)
    return path


def test_a_spiking_network_becomes_a_model_that_can_be_asked(capsys, tmp_path, arrays):
    model = tmp_path / "net.sugenet"
    names = ["--names", "left,right", "--classes", "stop,go"]
    code, out, _ = run(capsys, "convert", arrays, "-o", model, *SAID, *names, "--json")
    assert code == 0
    assert json.loads(out)["fingerprint"] == sg.load(model).fingerprint
    (tmp_path / "x.csv").write_text("time of left,time of right\n0,1\n3,0\n")
    code, out, _ = run(capsys, "predict", model, tmp_path / "x.csv")
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["stop", "go"]
    code, out, _ = run(
        capsys, "whatif", model, tmp_path / "x.csv", "--index", 0, "--cost", "L1", "-o", tmp_path / "c"
    )
    assert "stop becomes go" in out
    code, out, _ = run(capsys, "check", tmp_path / "c", model)
    assert code == 0
    assert "the certificate holds" in out


def test_what_is_missing_is_asked_for_by_name(capsys, tmp_path, arrays):
    code, _, err = run(capsys, "convert", arrays, "-o", tmp_path / "net.sugenet", "--steps", 3)
    assert code == 2
    assert "does not guess" in err
    for option in ("reset", "fires", "code", "decision", "ties"):
        assert f"--{option} (" in err
    assert "--when (" not in err  # nobody knows yet whether there is a reset
    some = SAID[:4]
    _, _, err = run(capsys, "convert", arrays, "-o", tmp_path / "net.sugenet", *some)
    assert "--when (" in err
    (tmp_path / "net.nir").write_bytes(b"")
    _, _, err = run(capsys, "convert", tmp_path / "net.nir", "-o", tmp_path / "net.sugenet", *SAID)
    assert "--step (length of a step)" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--inputs", "bits"], "--inputs is not for spiking networks"),
        (["--no-strict"], "--no-strict is not for spiking networks"),
        (["--grid", "0"], "--grid 0 is not positive"),
        (["--leak", "9/10"], "a leak of 9/10 was given, but the file says about 0.5"),
        (["--layers", "fc1,lif1"], "--layers is for state dicts"),
        (["--step", "1"], "--step is for continuous time"),
        (
            ["--reset", "none", "--when", "at-once"],
            "--reset none with --when at-once: this reset has no time",
        ),
    ],
)
def test_what_means_nothing_is_refused(capsys, tmp_path, arrays, more, said):
    code, _, err = run(capsys, "convert", arrays, "-o", tmp_path / "net.sugenet", *SAID, *more)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_damaged_files_and_others_end_in_a_sentence(capsys, tmp_path):
    for name, content in (("a.nir", b"no"), ("b.nir", b"\x89HDF\r\n\x1a\n" + bytes(99)), ("c.pt", b"PK")):
        (tmp_path / name).write_bytes(content)
        code, _, err = run(
            capsys, "convert", tmp_path / name, "-o", tmp_path / "net.sugenet", *SAID, "--step", 1
        )
        assert (code, "Traceback" in err) == (2, False)
        assert name in err
    code, _, err = run(capsys, "convert", "digits", "-o", tmp_path / "digits.onnx", "--steps", 3)
    assert "--steps is for imports" in err


def test_a_spiking_network_without_a_convention_is_known_as_one(capsys, tmp_path, arrays):
    code, _, err = run(capsys, "convert", arrays, "-o", tmp_path / "net.sugenet")
    assert code == 2
    assert "it holds a spiking network" in err
    assert "--steps" in err
    torch = pytest.importorskip("torch")
    torch.save({"fc.weight": torch.eye(2), "lif.beta": torch.ones(()), "lif.threshold": torch.ones(())},
               tmp_path / "net.pt")  # fmt: skip
    code, _, err = run(capsys, "convert", tmp_path / "net.pt", "-o", tmp_path / "net.sugenet")
    assert code == 2
    assert "it holds neurons of snnTorch" in err


def test_options_are_the_fields_of_a_convention():
    assert {*FIELDS, "steps", "step"} <= set(SPIKING_NAMES)
