"""The command line as people use it: real processes for what only a process shows, `main` for the rest."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sugenet as sg
from sugenet.cli import main
from sugenet.cli.commands import parser_of_all
from sugenet.cli.parser import options_of


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_demo_is_short_and_ends_with_the_page(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sugenet", "demo"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert "343 of 359 right" in done.stdout
    assert "checked by separate code: 4 of 4." in done.stdout
    assert len(done.stdout.splitlines()) <= 40
    assert done.stdout.splitlines()[-1].endswith(": sugenet-demo.html")
    assert (tmp_path / "sugenet-demo.html").read_text().startswith("<!doctype html>")
    assert done.stderr == ""


def test_summary(capsys):
    code, out, _ = run(capsys, "summary", "digits")
    assert code == 0
    assert "network 192-64-10" in out
    assert "held-out accuracy: 0.9554" in out
    code, out, _ = run(capsys, "summary", "digits", "--json")
    assert json.loads(out)["fingerprint"] == sg.models.digits().fingerprint


def test_predict_reads_csv_npy_npz_images_and_standard_input(capsys, tmp_path, monkeypatch):
    net, (X, y) = sg.models.digits(), sg.models.samples("digits")
    expected = net.predict(X[:5]).tolist()

    def classes(*arguments):
        code, out, _ = run(capsys, "predict", "digits", *arguments, "--json")
        assert code == 0
        return [row["index"] for row in json.loads(out)["predictions"]]

    np.save(tmp_path / "x.npy", X[:5])
    np.save(tmp_path / "one.npy", X[0])
    np.save(tmp_path / "images.npy", X[:5].reshape(5, 8, 8))
    np.savez(tmp_path / "x.npz", X=X[:5], y=y[:5])
    with open(tmp_path / "named.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["extra", *net.encoder.names, "digit"])
        writer.writerows([["?", *row, int(label)] for row, label in zip(X[:5].tolist(), y[:5], strict=True)])
    np.savetxt(tmp_path / "plain.csv", X[:5], delimiter=",", fmt="%d")
    for name in ("x.npy", "images.npy", "x.npz", "named.csv", "plain.csv"):
        assert classes(tmp_path / name) == expected
    assert classes(tmp_path / "one.npy") == expected[:1]
    monkeypatch.setattr("sys.stdin", io.StringIO((tmp_path / "plain.csv").read_text()))
    assert classes("-") == expected
    _, out, _ = run(capsys, "predict", "digits", tmp_path / "named.csv", "--label-column", "digit")
    assert f"{int((net.predict(X[:5]) == y[:5]).sum())} of 5 right" in out
    image = Image.fromarray((X[3].reshape(8, 8).astype(int) * 255 // 16).astype(np.uint8))
    image.save(tmp_path / "digit.png")
    assert classes(tmp_path / "digit.png") == [int(net.predict(X[3:4])[0])]
    for i in range(5):
        (tmp_path / "folder" / str(y[i])).mkdir(parents=True, exist_ok=True)
        shades = (X[i].reshape(8, 8).astype(int) * 255 // 16).astype(np.uint8)
        Image.fromarray(shades).save(tmp_path / "folder" / str(y[i]) / f"{i}.png")
    assert classes(tmp_path / "folder") == [expected[i] for i in np.argsort(y[:5], kind="stable")]
    _, out, _ = run(capsys, "predict", "digits", tmp_path / "folder")
    assert f"{int((net.predict(X[:5]) == y[:5]).sum())} of 5 right" in out


@pytest.mark.parametrize("engine", ["definition", "numpy", "numba"])
def test_engines_agree(capsys, engine):
    _, out, _ = run(capsys, "predict", "breast_cancer", "--engine", engine, "--threads", 1)
    assert "112 of 113 right: 99.12 %" in out


def test_trace(capsys):
    _, out, _ = run(capsys, "trace", "digits", "--index", 7, "--layer", 1, "--limit", 2, "--prove")
    assert "prediction: 3" in out
    assert "64 Sugeno integrals by sorting equal the activity" in out
    _, out, _ = run(capsys, "trace", "digits", "--index", 7, "--json")
    data = json.loads(out)
    assert data["label"] == "3"
    assert sum(data["layers"][0]["active"]) == 24


def test_rules_of_example_1(capsys, tmp_path):
    network = sg.Network.of_bits([sg.nn.DenseLayer([[1, 1, -1, 1]], [2])], sg.nn.Head([[-1], [1]]))
    sg.save(network, tmp_path / "example.sugenet")
    (tmp_path / "x.csv").write_text("1,-1,1,-1\n")
    _, out, _ = run(capsys, "rules", tmp_path / "example.sugenet", tmp_path / "x.csv", "--neuron", 1)
    assert out.count("then the neuron activates") == 6
    assert "1 matches < 2, so it is not active" in out
    _, out, _ = run(capsys, "rules", tmp_path / "example.sugenet", "--neuron", 1, "--limit", 2, "--json")
    data = json.loads(out)
    assert (data["tau"], data["rule_count"], len(data["rules"])) == (2, 6, 2)


def test_whatif_finds_the_cheapest_change_and_check_holds_it(capsys, tmp_path):
    file = tmp_path / "c.json"
    code, out, _ = run(capsys, "whatif", "digits", "--index", 7, "-o", file)
    assert code == 0
    assert "proved to be the least" in out
    code, out, _ = run(capsys, "check", file, "digits")
    assert code == 0
    assert out.startswith("the certificate holds: the sample has class 3; the witness changes it at cost")
    code, _, err = run(capsys, "check", file, "breast_cancer")
    assert code == 1
    assert "is for the network" in err
    claim = json.loads(file.read_text())
    claim["value"] = "1"
    file.write_text(json.dumps(claim))
    code, _, err = run(capsys, "check", file, "digits")
    assert code == 1
    assert "the witness costs" in err
    code, out, _ = run(
        capsys,
        "whatif",
        "breast_cancer",
        "--index",
        3,
        "--cost",
        "Hamming",
        "--target",
        "benign",
        "--keep",
        "mean radius",
        "--json",
    )
    data = json.loads(out)
    assert data["outcome"] == "found"
    assert "mean radius" not in data["changes"]


@pytest.mark.parametrize("more", [(), ("--levels", 4, "--weight-bits", 8)], ids=["bits", "levels"])
def test_train_writes_a_model_that_predicts(capsys, tmp_path, more):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    rows = [["size", "colour", "kind"]]
    for _ in range(120):
        size, colour = int(rng.integers(0, 50)), str(rng.choice(["red", "green"]))
        rows.append([size, colour, "big" if size > 25 else "small"])
    with open(tmp_path / "data.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    code, out, err = run(
        capsys,
        "train",
        tmp_path / "data.csv",
        "--label-column",
        "kind",
        "-o",
        tmp_path / "m.sugenet",
        "--hidden",
        "8",
        "--epochs",
        15,
        *more,
    )
    assert code == 0
    assert "120 samples of 2 columns" in err
    assert "written to" in out
    layer = sg.load(tmp_path / "m.sugenet").layers[0]
    assert isinstance(layer, sg.nn.QuantizedLayer if more else sg.nn.DenseLayer)
    assert (np.abs(layer.weights).max() > 1) == bool(more)
    code, out, _ = run(
        capsys, "predict", tmp_path / "m.sugenet", tmp_path / "data.csv", "--label-column", "kind"
    )
    assert code == 0
    assert float(re.search(r"([\d.]+) %", out)[1]) > 80


def test_a_network_trained_against_a_region_is_swept(capsys, tmp_path):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (150, 3, 3), dtype=np.uint8)
    np.savez(tmp_path / "d.npz", X=X, y=np.where(X[:, 0].astype(int).sum(axis=1) > 384, "dark", "light"))
    line = ("train", tmp_path / "d.npz", "-o", tmp_path / "m.sugenet", "--hidden", 8, "--epochs", 8)
    more = ("--cut-at", "64,128,192", "--robust", "linf:10", "--json")
    code, out, err = run(capsys, *line, *more)
    assert code == 0
    assert "under attack" in err
    assert 0 < json.loads(out)["under_attack"] <= json.loads(out)["test_accuracy"]
    network = sg.load(tmp_path / "m.sugenet")
    assert network.encoder.codings[0].cuts == (64, 128, 192)
    line = ("sweep", tmp_path / "m.sugenet", tmp_path / "d.npz", "--ask", "verify", "--linf", 10)
    code, out, _ = run(capsys, *line, "--first", 20, "-o", tmp_path / "r.db", "--jobs", 1, "--quiet")
    assert code == 0
    assert "certified accuracy: " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nowhere.sugenet"], "no such file"),
        (["predict", "digits", "nowhere.csv"], "nowhere.csv cannot be read: there is no such file"),
        (["predict", "digits", "--index", "9999"], "--index 9999 is not one of the 359 samples"),
        (["predict", "digits", "--index", "-1"], "--index -1 is not one of"),
        (["trace", "digits"], "there are 359 samples. Choose one with --index"),
        (["trace", "digits", "--index", "0", "--layer", "5"], "there is no layer 5"),
        (
            ["rules", "digits", "--neuron", "65"],
            "layer 1: there is no neuron 65: the layer has 64, numbered from 1",
        ),
        (["rules", "digits", "--neuron", "1", "--limit", "-1"], "--limit -1 must be from 0 to 100000"),
        (
            ["rules", "digits", "--neuron", "1", "--limit", "1" + "0" * 20],
            "--limit 100000000000000000000 must be from 0 to 100000",
        ),
        (["trace", "digits", "--index", "1", "--limit", "-1"], "--limit -1 must not be negative"),
        (["predict", "digits", "--limit", "-1"], "--limit -1 must not be negative"),
        (["overview", "digits", "--limit", "0"], "--limit 0 must be at least 1"),
        (["predict", "digits", "--threads", "99999999999"], "--threads 99999999999 must be from 1 to 1024"),
        (["predict", "digits", "--threads", "0"], "--threads 0 must be from 1 to 1024"),
        (["predict", "digits", "--label-column", "kind"], "--label-column kind needs a CSV file"),
        (
            ["whatif", "digits", "--index", "7", "-o", "nowhere/c.json"],
            "'nowhere/c.json' cannot be written: there is no folder",
        ),
        (["whatif", "digits", "--index", "7", "--target", "ten"], "--target ten is not a class"),
        (["whatif", "digits", "--index", "7", "--keep", "nose"], "no feature 'nose'"),
        (["whatif", "digits", "--index", "7", "--max-cost", "far"], "--max-cost 'far' is not a number"),
        (["check", "nowhere.json", "digits"], "nowhere.json cannot be read"),
        (["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet"], "nowhere.csv"),
        (["train", ".", "--label-column", "y", "-o", "x.sugenet"], "sugenet: . is a folder"),
        (["train", "nowhere.csv", "--label-column", "y", "-o", "."], "'.' cannot be written: it is a folder"),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "nowhere/m.sugenet"],
            "'nowhere/m.sugenet' cannot be written: there is no folder",
        ),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet", "--threads", "99999999999"],
            "--threads 99999999999 must be from 1 to 1024",
        ),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet", "--levels", "1"],
            "--levels 1 must be from 2 to 256",
        ),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet", "--levels", "2.5"],
            "--levels 2.5 is not an integer",
        ),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet", "--weight-bits", "9"],
            "--weight-bits 9 must be from 1 to 8",
        ),
        (
            ["train", "nowhere.csv", "--label-column", "y", "-o", "x.sugenet", "--hidden", "a"],
            "--hidden a is not a list of integers",
        ),
    ],
)
def test_bad_input_ends_with_one_line_and_code_2(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("sugenet: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1,2,3\n", "has 3 columns and no header with the feature names"),
        ("radius\n1\n", "has 1 column and no header"),
        ("mean radius,mean texture\n1,2\n", "has no column 'mean perimeter'"),
    ],
)
def test_bad_tables_are_named(capsys, tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    code, _, err = run(capsys, "predict", "breast_cancer", tmp_path / "t.csv")
    assert code == 2
    assert message in err


def test_bad_cells_files_and_pictures_are_named(capsys, tmp_path):
    names = sg.models.breast_cancer().encoder.names
    (tmp_path / "cell.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 29 + ["wide"]) + "\n")
    (tmp_path / "short.csv").write_text(",".join(names) + "\n1,2\n")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY garbage")
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "shape.npy", np.zeros((2, 7)))
    (tmp_path / "bad.png").write_bytes(b"\x89PNG nothing")
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "small.png")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    for name, message in (
        ("cell.csv", "line 2, column worst fractal dimension: 'wide' is not a number"),
        ("short.csv", "line 2: 2 cells, but the first line has 30"),
        ("bad.npy", "its array has format version (32, 103), and 1.0 and 2.0 are known"),
        ("pickled.npy", "its array has dtype object, but samples are numbers or texts"),
        ("shape.npy", "array of shape (2, 7), but the model reads samples of 30 features"),
        ("bad.png", "is not a readable image"),
        (".", "bad.npy is not an image file, but a folder of samples holds images alone"),
        ("small.png", "5 x 5 = 25 pixels, but the model reads 30"),
        ("binary.csv", "is not in UTF-8"),
    ):
        code, _, err = run(capsys, "predict", "breast_cancer", tmp_path / name)
        assert code == 2, name
        assert message in err, name


def test_usage_errors_and_help_leave_with_their_codes(capsys):
    code, out, err = run(capsys, "predict", "digits", "--limit", "many")
    assert (code, out) == (2, "")
    assert err == "sugenet: --limit many is not an integer.\nTry: sugenet predict --help\n"
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "summary" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error():
    line = f"{sys.executable} -m sugenet predict digits --limit 300 | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def process(line, **environment):
    """A shell line as a process, with output buffered as usual; {sugenet} stands for the command."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    script = "set -o pipefail\n" + line.format(sugenet=f"{sys.executable} -m sugenet")
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=kept | environment
    )


@pytest.mark.parametrize("command", ["summary digits", "--help", "--version"])
def test_a_pipe_closed_before_a_small_output_is_no_error(command):
    done = process("{sugenet} " + command + " | sh -c 'exec 0<&-; sleep 1'")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_named_in_one_line():
    done = process("{sugenet} summary digits > /dev/full")
    assert (done.returncode, done.stderr) == (2, "sugenet: No space left on device.\n")


def test_an_answer_that_nobody_can_read_is_an_error():
    done = process("{sugenet} summary digits >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_letters_that_the_terminal_lacks_are_spelled_out(tmp_path):
    network = sg.Network.of_bits(
        [sg.nn.DenseLayer([[1, 1]], [1])], sg.nn.Head([[-1], [1]]), classes=["né", "pas né"]
    )
    sg.save(network, tmp_path / "m.sugenet")
    (tmp_path / "x.csv").write_text("1,-1\n")
    line = f"{{sugenet}} predict {tmp_path}/m.sugenet {tmp_path}/x.csv --engine definition"
    done = process(line, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "pas n\\xe9" in done.stdout
    done = process(line + " --json", PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["predictions"][0]["label"] == "pas né"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory"),
        (RecursionError(), "nested too deeply"),
        (PermissionError(13, "Permission denied", "secret"), "sugenet: secret: Permission denied."),
    ],
)
def test_what_the_machine_refuses_is_one_line(capsys, monkeypatch, error, message):
    def fail(network):
        raise error

    monkeypatch.setattr("sugenet.nn.summary", fail)
    code, out, err = run(capsys, "summary", "digits")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_huge_limit_shows_all(capsys):
    many = 10**20
    assert run(capsys, "trace", "digits", "--index", 1, "--layer", 1, "--limit", many)[0] == 0
    code, out, _ = run(capsys, "predict", "digits", "--limit", many)
    assert code == 0
    assert len(out.splitlines()) == 361


def test_a_folder_named_like_a_shipped_model_does_not_hide_it(capsys, monkeypatch, tmp_path):
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "predict", "digits", "--index", 7)[0] == 0


def test_a_file_named_like_a_shipped_model_does(capsys, monkeypatch, tmp_path):
    sg.save(sg.models.breast_cancer(), tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    assert "network 60-16-2" in run(capsys, "summary", "digits")[1]
    assert "SAMPLES is missing" in run(capsys, "predict", "digits")[2]


def test_an_option_means_the_same_everywhere():
    """One metavar and one reader of values for each option, whatever the command;
    the shared ones are where they belong.
    """
    _, commands = parser_of_all()
    meanings, has = {}, {}
    for name, parser in commands.items():
        for action in options_of(parser):
            for flag in action.option_strings:
                meanings.setdefault(flag, set()).add((action.metavar, action.nargs, type(action).__name__))
                has.setdefault(flag, set()).add(name)
    assert [flag for flag, kinds in meanings.items() if len(kinds) > 1] == [
        "--monotone",  # of all features to train, or of one that is verified
        "--check",  # a rule, or results
    ]
    asking = {"why", "whatif", "verify", "count"}
    assert has["--json"] == set(commands) - {"demo", "serve", "completion"}
    assert has["--index"] == asking | {"predict", "trace", "rules", "report", "serve"}
    wholes = {"sum", "sudoku", "state"}
    others = {"compare", "rules", "report", "check", "sweep", "results", "fit", "instance", "export"}
    others |= {"overview", "rectify"}
    assert has["--time-limit"] == asking | wholes | others
    assert has["--memory-limit"] == {"check"}
    assert has["--seed"] == has["--time-limit"] - {"check", "export"} | {"train"}
    assert has["--jobs"] == {"sweep", "results", "overview"}
    assert has["--threads"] == has["--seed"] - has["--jobs"] - {"fit"} | {"predict"}
    assert has["-o"] == has["--seed"] - {"overview"} | {"convert", "demo", "export", "page"}


def test_samples_may_come_behind_options(capsys, tmp_path):
    X, _ = sg.models.samples("digits")
    np.save(tmp_path / "x.npy", X[:3])
    assert run(capsys, "predict", "digits", "--limit", 1, tmp_path / "x.npy")[0] == 0
    code, _, err = run(capsys, "predict", "digits", tmp_path / "x.npy", "--limit", 1, tmp_path / "x.npy")
    assert (code, "is one argument too many" in err) == (2, True)


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"sugenet {sg.__version__}\n"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "--checkpoint . cannot be written: it is a folder"),
        ("nowhere/c", "there is no folder 'nowhere'"),
    ],
)
def test_a_checkpoint_without_a_place_is_refused_before_training(
    capsys, monkeypatch, tmp_path, place, message
):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,y\n" + "1,u\n2,v\n" * 10)
    code, _, err = run(
        capsys, "train", "d.csv", "--label-column", "y", "-o", "m.sugenet", "--checkpoint", place
    )
    assert code == 2
    assert message in err
    assert "epoch" not in err


def test_an_interrupted_training_writes_its_best_epoch_and_ends_with_0(capsys, monkeypatch, tmp_path):
    pytest.importorskip("torch")
    import sugenet.fit

    def stop(epoch):
        raise KeyboardInterrupt

    monkeypatch.setattr(sugenet.fit, "print_progress", stop)
    (tmp_path / "d.csv").write_text("a,y\n" + "1,u\n2,v\n" * 10)
    code, out, _ = run(
        capsys, "train", tmp_path / "d.csv", "--label-column", "y", "-o", tmp_path / "m.sugenet"
    )
    assert code == 0
    assert "(interrupted)" in out
    assert sg.load(tmp_path / "m.sugenet").classes == ("u", "v")


def test_an_option_before_the_command_is_shown_its_place(capsys):
    code, _, err = run(capsys, "--json", "predict", "digits")
    assert (code, err.splitlines()[0]) == (2, "sugenet: --json must come after the command.")


def test_a_network_of_another_program_must_be_converted_first(capsys, tmp_path):
    path = tmp_path / "my net.onnx"
    path.write_bytes(b"anything")
    code, _, err = run(capsys, "summary", path)
    assert code == 2
    assert err.endswith(f"Convert it first: sugenet convert '{path}' -o model.sugenet\n")


@pytest.mark.parametrize(
    "words",
    [
        ("summary", "-"),
        ("train", "-", "--label-column", "y", "-o", "m.sugenet"),
        ("verify", "digits", "--query", "-"),
    ],
)
def test_standard_input_is_for_texts(capsys, words):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "only samples and certificates are read from standard input" in err


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "digits", "digits"),
        ("check", "digits", "digits"),
        ("verify", "digits", "--query", "digits"),
    ],
)
def test_the_name_of_a_shipped_model_is_no_file(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *words)
    assert (code, err) == (
        2,
        "sugenet: digits cannot be read: there is no such file or folder. Check the path.\n",
    )


def test_the_margin_of_a_tie_is_0():
    from sugenet.show.predictions import PredictionView

    logits = np.array([[0.1 + 0.2, 0.3, 0.0]])
    view = PredictionView(sg.models.digits(), 0, np.array([0]), logits, np.array([True]))
    assert view.margins.tolist() == [0.0]


def test_rules_that_a_limit_cut_say_so(capsys):
    code, out, err = run(capsys, "rules", "digits", "--time-limit", 0)
    assert code == 3
    assert "->" not in out
    assert err == "stopped after 0 s; there may be more rules. Raise --time-limit.\n"
    assert run(capsys, "rules", "digits", "--limit", 0)[0] == 0


@pytest.mark.slow
def test_after_warm_up_nothing_is_compiled(tmp_path):
    def ask(*words):
        given = {name: value for name, value in os.environ.items() if name != "SUGENET_ENGINE"}
        done = subprocess.run(
            [sys.executable, "-m", "sugenet", *words],
            env={**given, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout, done.stderr

    first, _ = ask("warm-up", "--json")
    assert json.loads(first)["kernels"] > 20
    again, _ = ask("warm-up", "--json")
    assert json.loads(again) == json.loads(first) | {"kernels": 0, "seconds": 0.0}
    assert ask("why", "digits", "--index", "7")[1] == ""
    assert ask("count", "digits", "--index", "7", "--hamming", "4")[1] == ""


def test_images_without_pillow_name_the_extra(capsys, monkeypatch, tmp_path):
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, _, err = run(capsys, "predict", "digits", tmp_path / "a.png")
    assert code == 2
    assert 'Install it from a clone of sugenet: pip install ".[images]"' in err


def test_rules_that_were_interrupted_say_so(capsys, monkeypatch):
    words = []

    def press(_screen, text):
        words.append(text)
        if len(words) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr("sugenet.cli.output.Screen.progress", press)
    code, out, _ = run(capsys, "rules", "breast_cancer", "--limit", 5)
    assert code == 3
    assert out.startswith("1 rule for malignant, benign: ")
    assert out.splitlines()[0].endswith("; interrupted")
    assert words[-1] == "interrupted"


def test_a_model_is_repaired(capsys, tmp_path):
    network = sg.Network.of_bits(
        [sg.nn.DenseLayer([[1, 1, 1]], [2])], sg.nn.Head([[-1], [1]]), classes=["off", "on"]
    )
    sg.save(network, tmp_path / "old.sugenet")
    asked = "rectify", tmp_path / "old.sugenet", "--rule", "x1 = 1 -> on"
    code, said, _ = run(capsys, *asked, "-o", tmp_path / "new.sugenet")
    assert code == 0
    assert said.startswith(
        "1 threshold changed, by 1 in all, the least: neuron 1 of layer 1 from 2 to 1\nwritten"
    )
    repaired = sg.load(tmp_path / "new.sugenet")
    assert sg.check_rule(repaired, "x1 = 1 -> on").holds
    unwritten = tmp_path / "none.sugenet"
    code, said, told = run(capsys, *asked, "--fair", "x1", "--max-change", 0, "--json", "-o", unwritten)
    assert code == 1
    assert "no model written" in told
    assert not unwritten.exists()
    assert json.loads(said)["outcome"] == "none"
    code, _, said = run(capsys, "rectify", tmp_path / "old.sugenet")
    assert (code, "Give --rule" in said) == (2, True)
