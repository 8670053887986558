"""What the command line advises can be typed there, what it does not use it refuses, and its codes are those
of the docs.
"""

import ast
import gzip
import inspect
import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.cli import main
from sugenet.cli.commands import parse, parser_of_all
from sugenet.cli.files import _SETTINGS
from sugenet.cli.output import as_typed, as_typed_hints
from sugenet.cli.parser import options_of
from sugenet.nn import DenseLayer, Head, Network

SOURCE = Path(sg.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"


def run(capsys, line, *more):
    code = main([*shlex.split(line), *map(str, more)])
    out = capsys.readouterr()
    return code, out.out, out.err


# -- advice --------------------------------------------------------------------------------------------------

REFUSALS = ("refuse", "refuse_if", "required", "Refusal")
"""What raises an error for a caller, or becomes one."""
PACKAGES = ("nn", "fit", "io", "reason", "sweeps", "problem", "engines", "show", "checker")
NEVER_THERE = {
    # of an architecture, an ONNX node or a PyTorch layer, as the file spells it
    *(
        "weights",
        "scale",
        "learned",
        "dim",
        "spatial",
        "ceil_mode",
        "track_running_stats",
        "largest",
        "plain",
        "alpha",
    ),
    *("shared_axes", "slope", "lut_rank", "feature_dim", "encode", "platform"),
    *("temperature", "fill", "pad", "top", "low", "high", "every", "parts", "tau", "height"),
    # of values that the command line makes itself, always right
    *("region", "cost", "target", "where", "label", "eps", "start", "step", "confidence", "samples", "share"),
    *("coding", "cuts", "other", "index", "data", "plus", "how", "smallest"),
    "clamp",  # Tsetlin machines are read in Python only
}
"""Words with = in messages that say nothing of an argument, or that no command line leads to."""


def advised():
    """The arguments that messages of the library speak of, each with a place."""
    for package in PACKAGES:
        for file in sorted((SOURCE / package).rglob("*.py")):
            for raised in ast.walk(ast.parse(file.read_text())):
                refuses = isinstance(raised, ast.Call) and ast.unparse(raised.func) in REFUSALS
                for part in ast.walk(raised) if refuses or isinstance(raised, ast.Raise) else ():
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        for word in re.findall(r"(?<![\w.])([a-z_]+)=", part.value):
                            yield word, f"{file.relative_to(SOURCE)}, line {part.lineno}"


def test_every_argument_that_messages_speak_of_is_an_option():
    _, commands = parser_of_all()
    options = {action.dest for command in commands.values() for action in options_of(command)}
    known = options | {"prove", "strict"} | NEVER_THERE
    said = dict(advised())
    found = {word: place for word, place in said.items() if word not in known}
    assert not found, f"give these an option of the command line, or say why none is needed: {found}"
    assert "architecture" in said


def test_messages_in_the_words_of_a_command():
    _, commands = parser_of_all()
    flags = {action.dest: action.option_strings[-1] for action in options_of(commands["convert"])}
    assert as_typed("Declare zero=1 or zero=-1.", flags) == "Declare --zero 1 or --zero -1."
    assert as_typed("image=(3, 4) has 12 values", flags) == "--image 3x4 has 12 values"
    assert as_typed("prove=False goes without it.", flags) == "--no-proof goes without it."
    assert as_typed("say delimiter='\\t'.", {"delimiter": "--delimiter"}) == "say --delimiter tab."
    assert as_typed("say delimiter=';'.", {"delimiter": "--delimiter"}) == "say --delimiter ';'."
    assert as_typed("hidden=() has none", {"hidden": "--hidden"}) == "--hidden '' has none"
    assert as_typed("linear:a(weights=quantized, bits=2)", flags) == "linear:a(weights=quantized, bits=2)"
    assert as_typed("x_bits=2 and bits=2", flags) == "x_bits=2 and --bits 2"
    assert as_typed("=7 is not NAME=I", {}) == "=7 is not NAME=I"
    assert as_typed_hints("bits=2, method='sample'") == "bits=2, --method sample"


def test_the_advice_of_convert_leads_to_a_model(capsys, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    weights = torch.tensor([[1.0, -1, 1, 1], [-1, 1, 1, -1], [1, 1, -1, 1]])
    torch.save({"a.weight": weights, "b.weight": weights[:2, :3]}, "net.pt")
    code, _, err = run(capsys, "convert net.pt -o net.sugenet")
    assert code == 2
    assert "--architecture 'linear:a sign linear:b'" in err
    assert (
        run(capsys, "convert net.pt -o net.sugenet --inputs bits --architecture 'linear:a sign linear:b'")[0]
        == 0
    )
    Path("layers.txt").write_text("linear:a\nsign(zero=0)\nlinear:b\n")
    code, _, err = run(capsys, "convert net.pt -o net.sugenet --architecture layers.txt")
    assert (code, "--inputs 0..255 for pixels, --inputs 0..255/255 where" in err) == (2, True)
    code, _, err = run(capsys, "convert net.pt -o net.sugenet --architecture layers.txt --inputs bits")
    assert (code, "Declare --zero 1 or --zero -1" in err) == (2, True)
    line = "convert net.pt -o net.sugenet --architecture layers.txt --inputs bits --zero 1"
    code, out, _ = run(capsys, f"{line} --classes no,yes --image 2x2")
    assert (code, "equal to" in out) == (0, True)
    network = sg.load("net.sugenet")
    assert network.classes == ("no", "yes")
    assert network.encoder.names[1] == "pixel (0,1)"
    Path("names.txt").write_text("a, b\nc\nd\ne\n")
    code, out, _ = run(capsys, f"{line} --names names.txt --no-proof")
    assert (code, "nothing was compared" in out) == (0, True)
    assert sg.load("net.sugenet").encoder.names == ("a, b", "c", "d", "e")
    code, _, err = run(capsys, f"{line} --names p,q,r,s --image 2x2")
    assert (code, "--names and --image both say" in err) == (2, True)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("0..255/255", 1), ("0..255*2/255-1", 1), ("0..255", 255), ("-3..3+1/2", 3.5), ("0..9/0.5", 18)],
)
def test_inputs_are_as_they_are_typed(kind, value):
    from sugenet.cli.files import _inputs, _kind

    inputs = _inputs(_kind(kind))
    assert inputs.value(inputs.high) == value


@pytest.mark.parametrize("kind", ["0..255/0", "0..255*0", "0...9", "5", "0..9*", "0..9/1/0", "bit", "0..9+"])
def test_inputs_that_mean_nothing(capsys, tmp_path, kind):
    code, _, err = run(capsys, f"convert digits -o {tmp_path}/a.sugenet --inputs '{kind}'")
    assert code == 2
    assert "is not" in err


def test_the_advice_of_count_can_be_typed(capsys):
    code, out, _ = run(capsys, "count digits --index 7 --hamming 9 --time-limit 0 --quiet")
    assert code == 3
    assert "with --method sample" in out
    assert (
        parse(["count", "digits", "--index", "7", "--hamming", "9", "--method", "sample"]).method == "sample"
    )


def test_cells_with_something_else_between_them(capsys, tmp_path):
    X, y = sg.models.samples("breast_cancer")
    net = sg.models.breast_cancer()
    rows = [[*map(str, row), net.classes[k]] for row, k in zip(X[:3].tolist(), y[:3], strict=True)]
    file = tmp_path / "p.csv"
    file.write_text("\n".join(";".join(row) for row in [[*net.encoder.names, "kind"], *rows]))
    code, _, err = run(capsys, f"predict breast_cancer {file} --label-column kind --delimiter , --quiet")
    assert (code, "have semicolons between them, not commas: say --delimiter ';'." in err) == (2, True)
    read = run(capsys, f"predict breast_cancer {file} --label-column kind --delimiter ';' --json --quiet")
    assert read == run(capsys, f"predict breast_cancer {file} --label-column kind --json --quiet")
    file.write_text(file.read_text().replace(";", ","))
    assert read[0] == 0
    assert read == run(capsys, f"predict breast_cancer {file} --label-column kind --json --quiet")
    file.write_text(";".join(net.encoder.names))
    code, _, err = run(capsys, f"predict breast_cancer {file} --delimiter ';' --quiet")
    assert (code, "has a line of names and no samples below it" in err) == (2, True)


def test_keep_takes_several_names_as_fair_does(capsys, tmp_path):
    line = "whatif breast_cancer --index 3 --quiet --json"
    together = run(capsys, f"{line} --keep 'mean radius, mean area'")
    apart = run(capsys, f"{line} --keep 'mean radius' --keep 'mean area'")
    found = [json.loads(out) for _, out, _ in (together, apart)]
    assert found[0]["certificate"] == found[1]["certificate"]
    assert json.dumps(found[0]["certificate"]) != json.loads(run(capsys, line)[1])["certificate"]
    code, out, _ = run(capsys, "whatif digits --index 7 --keep 'pixel (2,5),pixel (4,4)' --quiet")
    assert (code, "pixel (2,5)" in out, "pixel (4,4)" in out) == (0, False, False)


def test_a_table_is_asked_about_within_its_range(capsys, tmp_path):
    pytest.importorskip("torch")
    rows = [f"{a},{b},{'yes' if a > 6 else 'no'}" for a in range(3, 13) for b in range(20, 25)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    made = f"train {tmp_path}/t.csv --label-column y --hidden 3 --epochs 30 -o {tmp_path}/t.sugenet --quiet"
    assert run(capsys, made)[0] == 0
    assert sg.load(tmp_path / "t.sugenet").is_within_data
    assert "asked about: inputs within what was seen" in run(capsys, f"summary {tmp_path}/t.sugenet")[1]
    line = f"verify {tmp_path}/t.sugenet --fair a --json"
    options = ("", " --within data", " --within any")
    found = {more: json.loads(run(capsys, line + more)[1]) for more in options}
    assert found[""]["certificate"] == found[" --within data"]["certificate"]
    assert "domain" not in found[" --within any"]["certificate"]
    assert run(capsys, line + " --within some")[0] == 2
    for row in found[""]["certificate"]["witness"]:
        assert 3 <= row[0] <= 12
        assert 20 <= row[1] <= 24


def test_what_was_seen_can_be_given(capsys, tmp_path):
    net = Network.of_bits([DenseLayer([[1, 1, -1]], tau=[2])], Head([[-1], [1]]))
    sg.save(net, tmp_path / "n.sugenet")
    np.save(tmp_path / "X.npy", [[1, -1, 1], [1, 1, 1]])
    (tmp_path / "x.csv").write_text("1,-1,1\n")
    line = f"verify {tmp_path}/m.sugenet {tmp_path}/x.csv --any-input --within data --quiet"
    sg.save(net, tmp_path / "m.sugenet")
    code, _, err = run(capsys, line)
    assert (code, "sugenet convert MODEL --seen SAMPLES" in err) == (2, True)
    made = f"convert {tmp_path}/n.sugenet -o {tmp_path}/m.sugenet --seen {tmp_path}/X.npy"
    assert run(capsys, made)[0] == 0
    assert (
        sg.load(tmp_path / "m.sugenet").encoder.seen
        == net.with_training_range([[1, -1, 1], [1, 1, 1]]).encoder.seen
    )
    assert run(capsys, line)[0] == 1
    assert run(capsys, f"{made} --zero 1")[0] == 2


# -- options that mean nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("why digits --index 7 --chain --threads 2", "--threads is not used by --chain"),
        ("why digits --index 7 --chain --minimal size", "--minimal is not used by --chain"),
        ("why digits --index 7 --chain -n 3", "-n is not used by --chain"),
        ("why digits --index 7 --limit 3", "--limit needs --chain"),
        ("trace digits --index 7 --limit 3", "--limit needs --layer"),
        ("predict digits --engine definition --threads 2", "--threads is not used by --engine definition"),
        ("predict digits --delimiter ';'", "--delimiter is for CSV files"),
        ("rules digits --index 3", "--index is not used by the rules of a network"),
        ("rules digits --layer 2", "--layer is not used by the rules of a network"),
        ("rules digits --threads 2", "--threads is not used by the rules of a network"),
        ("rules digits --neuron 1 --seed 3", "--seed is not used by --neuron"),
        ("rules digits --neuron 1 --time-limit 3", "--time-limit is not used by --neuron"),
        ("rules digits --check 'a -> b' --limit 3", "--limit is not used by --check"),
        ("rules digits --check 'a -> b' --index 3", "--index is not used by --check"),
        ("count digits --where 'pixel (0,0)=0' --label-column a", "--label-column needs a sample"),
        ("verify digits --always 3 --label-column a", "--label-column is not used by --always"),
        ("verify digits --always 3 --delimiter ';'", "--delimiter is not used by --always"),
        ("train {csv} --label-column y -o {out} --tau-goal 3", "--tau-goal needs --tau-decay"),
        ("train {csv} --label-column y -o {out} --coding bits --cuts 3", "--cuts needs a coding with cuts"),
        (
            "train {csv} --label-column y -o {out} --coding bits --cut-at 3",
            "--cut-at needs a coding with cuts",
        ),
        (
            "train {csv} --label-column y -o {out} --cuts 2 --cut-at 3",
            "--cuts and --cut-at exclude each other",
        ),
        ("train {csv} --label-column y -o {out} --bound-share 0.5", "--bound-share needs --robust"),
        ("train {csv} --label-column y -o {out} --robust l2:3", "'l2:3' is not a region to train against"),
        ("train {csv} --label-column y -o {out} --robust linf:0", "allows no change"),
        ("train {csv} --label-column y -o {out} --robust linf:9", "every sample can become any other"),
        ("train {csv} --label-column y -o {out} --cut-at 3,2", "3,2 must be increasing"),
        ("train {csv} -o {out}", "--label-column is missing: name the CSV column with the class"),
        (
            "train {csv}.npz -o {out} --label-column y",
            "--label-column is for CSV files; a .npz file has its classes in y",
        ),
        ("convert digits -o {onnx} --image 8x8", "--image is for imports"),
        ("convert digits -o {onnx} --no-strict", "--no-strict is for imports"),
        ("convert digits -o {onnx} --no-proof", "--no-proof is for imports"),
        ("convert digits -o {onnx} --seen {csv}", "--seen is for imports"),
    ],
)
def test_options_that_mean_nothing_are_refused(capsys, tmp_path, line, words):
    (tmp_path / "d.csv").write_text("a,y\n1,u\n2,v\n")
    (tmp_path / "d.csv.npz").write_bytes(b"")
    paths = {"csv": tmp_path / "d.csv", "out": tmp_path / "m.sugenet", "onnx": tmp_path / "m.onnx"}
    code, out, err = run(capsys, line.format(**paths))
    assert (code, out) == (2, "")
    assert words in err


# -- exit codes ----------------------------------------------------------------------------------------------

CODES = {
    "predict digits --index 7": 0,
    "verify digits --index 7 --hamming 1": 0,
    "verify digits --index 7 --linf 16": 1,
    "check {forged} digits": 1,
    "verify digits --index 7": 2,
    "predict nowhere.sugenet": 2,
    "verify digits --index 7 --linf 3 --time-limit 0": 3,
    "whatif digits --index 7 --cost L2 --time-limit 0": 3,
    "count digits --index 7 --hamming 9 --time-limit 0": 3,
}


@pytest.mark.parametrize(("line", "code"), CODES.items())
def test_exit_codes_are_those_of_the_docs(capsys, tmp_path, line, code):
    forged = tmp_path / "forged.json"
    if "forged" in line:
        assert run(capsys, f"verify digits --index 7 --hamming 1 -o {forged} --quiet")[0] == 0
        certificate = json.loads(forged.read_text())
        certificate["question"]["region"]["radius"] = 60
        forged.write_text(json.dumps(certificate))
    assert run(capsys, line.format(forged=forged))[0] == code
    documented = re.findall(r"^\| (\d+) \| ", (DOCS / "cli.md").read_text(), re.MULTILINE)
    assert str(code) in documented
    assert documented == ["0", "1", "2", "3", "70", "130"]  # the last ones: test_hostile_names, test_terminal


# -- training ------------------------------------------------------------------------------------------------


def test_training_has_one_set_of_defaults():
    """On the command line, in `train` and in scikit-learn."""
    from sugenet.fit import Settings, learn_encoder, train

    estimators = pytest.importorskip("sugenet.fit.estimators")
    _, commands = parser_of_all()
    typed = {action.dest: action.default for action in options_of(commands["train"])}
    wanted = {field.name: field.default for field in fields(Settings)}
    assert {name: typed[name] for name in wanted} == wanted
    assert set(_SETTINGS) | {"seed", "threads"} == set(wanted)
    plain, learned, fitted, coded = (
        {name: value.default for name, value in inspect.signature(function).parameters.items()}
        for function in (train, learn_encoder, estimators.BNNClassifier, estimators.FeatureBinarizer)
    )
    assert typed["hidden"] is plain["hidden"] is fitted["hidden"] is None
    assert plain["settings"] == Settings()
    assert plain["test_share"] == typed["test_share"]
    assert {name: fitted[name] for name in wanted if name != "seed"} == {
        name: value for name, value in wanted.items() if name != "seed"
    }
    for name in ("cuts", "coding"):
        assert typed[name] == learned[name] == fitted[name] == coded[name]


def test_train_says_which_accuracy_it_prints(capsys, tmp_path):
    pytest.importorskip("torch")
    rows = [f"{i},{i % 7},{'high' if i > 30 else 'low'}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,y", *rows]))
    line = f"train {tmp_path}/d.csv --label-column y -o {tmp_path}/m.sugenet --epochs 3 --hidden 4 --quiet"
    code, out, _ = run(capsys, line)
    assert code == 0
    assert re.search(
        r"accuracy [\d.]+% on 6 test samples that took no part in training, [\d.]+% on the 6 samples that "
        r"chose epoch \d of 3;",
        out,
    )
    code, out, _ = run(capsys, f"{line} --test-share 0 --validation-share 0")
    assert (code, "% on the 60 samples that it was trained on, epoch 3 of 3;" in out) == (0, True)
    network = sg.load(tmp_path / "m.sugenet")
    assert network.encoder.seen == network.with_training_range([[i, i % 7] for i in range(60)]).encoder.seen
    code, _, err = run(capsys, f"{line} --test-share 1")
    assert (code, "--test-share 1.0 must be at least 0 and below 1" in err) == (2, True)
    code, out, _ = run(capsys, f"{line} --json")
    data = json.loads(out)
    assert (data["epochs"], data["samples"]) == (3, {"training": 48, "validation": 6, "test": 6})
    assert (data["compared"]["samples"], data["compared"]["differing"]) == (60, 0)


def test_what_a_spreadsheet_writes_is_named(capsys, tmp_path):
    pytest.importorskip("torch")
    rows = [f"{i + 1:02}.01.2026,{i % 4},{'u' if i % 4 > 1 else 'v'}" for i in range(24)]
    (tmp_path / "d.csv").write_text("\n".join(["day,a,y", *rows]))
    line = f"train {tmp_path}/d.csv --label-column y -o {tmp_path}/m.sugenet --epochs 1 --hidden"
    code, _, err = run(capsys, f"{line} 4")
    assert (code, "'day' (identifier: 24 different" in err, "--type day=ignore;" in err) == (2, True, True)
    (tmp_path / "d.csv").write_text(
        "\n".join(["day,a,y", *(f"2026-01-{row}" for row in rows)]).replace(".01.2026", "")
    )
    assert run(capsys, f"{line} 4")[0] == 0
    code, _, err = run(capsys, f"{line} 0")
    assert (code, "at least 1, or --hidden '' for no hidden layer" in err) == (2, True)
    (tmp_path / "latin.csv").write_bytes("day,größe\n".encode("latin-1"))
    code, _, err = run(capsys, f"predict {tmp_path}/m.sugenet {tmp_path}/latin.csv")
    assert (code, "latin.csv is not in UTF-8" in err) == (2, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--target 3", "the target, 3, is the class that the sample has already"),
        ("--max-cost -1", "a largest cost of -1 is negative"),
        ("--witness w.png", "--witness w.png must end in .csv or .npy"),
    ],
)
def test_errors_speak_of_what_was_typed(capsys, line, said):
    code, _, err = run(capsys, f"whatif digits --index 7 {line}")
    assert (code, said in err, "target=" in err or "--label-column" in err) == (2, True, False)


def test_packed_certificates_are_checked(capsys, tmp_path):
    file = tmp_path / "c.json"
    assert run(capsys, f"verify digits --index 7 --hamming 1 -o {file} --quiet")[0] == 0
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(file.read_bytes()))
    code, out, _ = run(capsys, f"check {tmp_path}/c.json.gz digits --quiet")
    assert (code, out.startswith("the certificate holds")) == (0, True)
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(file.read_bytes())[:-6])
    code, _, err = run(capsys, f"check {tmp_path}/cut.json.gz digits --quiet")
    assert (code, "cut.json.gz: it is a gzip archive that is cut off" in err) == (2, True)
