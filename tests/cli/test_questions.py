"""The questions on the command line: what is printed, exit codes,
certificates that travel through files, kind refusals.
"""

from __future__ import annotations

import json

import pytest

import sugenet as sg
from sugenet.cli import asking, main
from sugenet.problem.regions import BALLS
from tests.fuzzing.bombs import bits
from tests.io.queries import around
from tests.problem.clocks import hold


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--hamming", 1), 0, "the class stays 3, with up to 1 bit flipped: proved"),
        (("--l0", 2), 1, "refuted by"),
        (("--linf", 1), 0, "every feature changed by up to 1: proved"),
        (("--l1", 2), 0, "raw changes of up to 2 in all: proved"),
        (("--l2", "3/2"), 0, "within a distance of 1.5: proved"),
        (("--free", "pixel (0,0)"), 0, "1 feature free: proved"),
        (("--where", "0 <= pixel (0,1) <= 9"), 0, "0 <= pixel (0,1) <= 9: proved"),
        (("--any-input",), 1, "refuted by"),
        (("--hamming", 1, "--target", 8), 0, "the class does not become 8"),
        (("--l0", 1, "--engine", "bounds"), 3, "undecided"),
        (("--l0", 1, "--engine", "cpsat"), 0, "holds, not certified: OR-Tools"),
    ],
)
def test_verify_a_sample(capsys, arguments, code, words):
    found, out, _ = run(capsys, "verify", "digits", "--index", 7, *arguments)
    assert (found, words in out) == (code, True), out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--always", "benign"), 1),
        (("--never", "benign"), 1),
        (("--monotone", "mean radius", "--target", "malignant"), 1),
        (("--monotone", "mean radius", "--falling"), 1),
        (("--fair", "mean radius,mean area"), 1),
        (("--agree", "breast_cancer"), 0),
        (("--always", "benign", "--where", "mean radius <= 12", "--where", "100 <= worst area <= 200"), 1),
    ],
)
def test_verify_all_inputs(capsys, arguments, code):
    found, out, _ = run(capsys, "verify", "breast_cancer", *arguments, "--json")
    assert found == code
    assert json.loads(out)["outcome"] == {0: "proved", 1: "refuted"}[code]


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "digits", "--index", 7, "--l0", 1),
        ("verify", "digits", "--index", 7, "--l0", 2),
        ("whatif", "digits", "--index", 7),
        ("whatif", "breast_cancer", "--index", 3, "--price", "worst radius=2", "--price", "mean texture=1"),
        ("why", "digits", "--index", 8, "--hamming", 3, "--minimal", "size"),
        ("count", "digits", "--index", 7, "--hamming", 2),
    ],
)
def test_certificates_travel_through_files(capsys, tmp_path, arguments):
    path = tmp_path / "certificate.json"
    run(capsys, *arguments, "-o", path)
    code, out, _ = run(capsys, "check", path, arguments[1])
    assert code == 0
    assert out.startswith("the certificate holds: ")
    damaged = json.loads(path.read_text())
    damaged["network"] = "0" * 64
    path.write_text(json.dumps(damaged))
    code, _, err = run(capsys, "check", path, arguments[1])
    assert code == 1
    assert "is for the network 000000000000" in err


def test_two_networks_in_files(capsys, tmp_path):
    model, path = tmp_path / "simple.sugenet", tmp_path / "c.json"
    sg.save(sg.nn.simplify(sg.models.breast_cancer()), model)
    assert run(capsys, "verify", "breast_cancer", "--agree", model, "-o", path)[0] == 0
    assert run(capsys, "check", path, "breast_cancer", model)[0] == 0
    code, _, err = run(capsys, "check", path, "breast_cancer")
    assert (code, "give the other one too" in err) == (1, True)


def test_a_query_of_a_file(capsys, tmp_path):
    query = tmp_path / "q.vnnlib"
    net = sg.models.digits()
    X, _ = sg.models.samples("digits")
    from sugenet.io import write_vnnlib

    write_vnnlib(around(X[7].tolist(), eps=1, label=3, outputs=10, low=0, high=16), query)
    assert net.encoder.features == 64
    assert run(capsys, "verify", "digits", "--query", query)[0] == 0


def test_the_question_for_other_solvers(capsys, tmp_path):
    path = tmp_path / "question.opb"
    assert run(capsys, "verify", "digits", "--index", 7, "--l0", 1, "--export", path)[0] == 0
    assert path.read_text().startswith("*")
    assert (tmp_path / "question.opb.map.json").exists()


def test_why_and_chain_and_rules(capsys, monkeypatch):
    code, out, _ = run(capsys, "why", "breast_cancer", "--index", 3, "--any-input")
    assert (code, "proved minimal" in out) == (0, True)
    code, out, _ = run(capsys, "why", "breast_cancer", "--index", 3)
    assert (code, "the fewest known to change the class" in out) == (0, True)
    code, out, _ = run(capsys, "why", "breast_cancer", "--index", 3, "--chain", "--limit", 2)
    assert (code, out.startswith("malignant, because these")) == (0, True)
    code, out, _ = run(capsys, "rules", "breast_cancer", "--limit", 1, "--time-limit", 5)
    assert (code, "those that were found" in out) == (0, True)
    hold(monkeypatch, 0.05)
    code, out, _ = run(
        capsys, "rules", "breast_cancer", "--check", "mean radius >= 14 -> malignant", "--time-limit", 1
    )
    assert (code, "refuted" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "digits", "--index", 7), "a region or a claim is missing"),
        (("verify", "digits", "--index", 7, "--hamming", 1, "--linf", 1), "give one region or claim"),
        (("verify", "digits", "--index", 7, "--hamming", "many"), "'many' is not a number"),
        (("verify", "digits", "--index", 7, "--hamming", -1), "a radius is not negative"),
        (("verify", "digits", "--index", 7, "--hamming", 1, "--engine", "crystal ball"), "is not an engine"),
        (
            ("verify", "digits", "--index", 7, "--hamming", 1, "--target", "zebra"),
            "--target zebra is not a class",
        ),
        (("verify", "digits", "--index", 7, "--where", "nose >= 1"), "where a condition on a feature"),
        (("verify", "digits", "--index", 7, "--free", "nose"), "no feature 'nose'"),
        (("verify", "digits", "--query", "nowhere.vnnlib"), "cannot be read"),
        (("verify", "digits", "--always", "zebra"), "--always zebra is not a class"),
        (("verify", "digits", "--monotone", "nose"), "no feature 'nose'"),
        (("verify", "digits", "--index", 7, "--hamming", 1, "--threads", 0), "--threads 0"),
        (
            ("verify", "digits", "--index", 7, "--hamming", 1, "-o", "/nowhere/at/all.json"),
            "/nowhere/at/all.json",
        ),
        (("verify", "digits", "--index", 7, "--hamming", 1, "--export", "question.doc"), "question.doc"),
        (("whatif", "digits", "--index", 7, "-n", "some"), "-n some"),
        (("whatif", "digits", "--index", 7, "--price", "nose=2"), "no feature 'nose'"),
        (("why", "digits", "--index", 7, "-n", "few"), "-n few"),
        (("rules", "digits", "--check", "pixel (0,0) >= 3"), "'->'"),
        (
            ("verify", "digits", "--index", 7, "--hamming", 0, "--l0", 0),
            "give one region or claim, not --hamming and --l0",
        ),
        (
            ("why", "digits", "--index", 7, "--hamming", 0, "--l0", 2),
            "give one region, not --hamming and --l0",
        ),
        (("verify", "digits", "--index", 7, "--l0", 1, "--falling"), "--falling needs --monotone"),
        (
            ("verify", "digits", "--never", 3, "--index", 7),
            "--index is not used by --never",
        ),
        (
            ("verify", "digits", "--fair", "pixel (0,0)", "--target", 3),
            "--target is not used by --fair",
        ),
        (
            ("verify", "digits", "--always", 3, "--ties", "against"),
            "--ties is not used by --always",
        ),
        (("count", "digits", "--hamming", 3), "there are 359 samples. Choose one with --index"),
        (("why", "digits", "--index", 7, "--chain", "--l0", 2), "--l0 is not used by --chain"),
        (
            ("why", "digits", "--index", 7, "--chain", "-o", "c.json"),
            "is not used by --chain",
        ),
        (
            ("whatif", "digits", "--index", 7, "--price", "pixel (0,0)=2", "--cost", "L2"),
            "give --cost, or a --price",
        ),
        (("rules", "digits", "--neuron", 1, "--class", 3), "give one of --neuron and --class"),
        (
            ("rules", "digits", "--check", "pixel (0,0) >= 3 -> 3", "--neuron", 0),
            "give one of --check and --neuron",
        ),
        (
            ("count", "digits", "--index", 7, "--hamming", 1, "--method", "guess"),
            "--method guess is not one of auto, walk, sums, sample",
        ),
    ],
)
def test_refusals_say_what_to_do(capsys, arguments, words):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert words in err, err
    assert "Traceback" not in err


def test_a_certificate_on_standard_output_is_alone_there(capsys):
    code, out, err = run(capsys, "verify", "digits", "--index", 7, "--l0", 1, "-o", "-")
    assert (code, json.loads(out)["answer"]) == (0, "proved")
    assert (
        err == "the class stays 3, with up to 1 feature changed: proved by flip enumeration (193 changes)\n"
    )
    assert run(capsys, "verify", "digits", "--index", 7, "--l0", 1, "-o", "-", "--quiet")[1:] == (out, "")


def test_where_there_is_no_certificate_the_answer_is_given_and_the_reason(capsys, tmp_path):
    path = tmp_path / "c.json"
    code, out, err = run(capsys, "count", "digits", "--index", 7, "--l0", 9, "--time-limit", 0, "-o", path)
    assert (code, err) == (3, "no certificate written: not everything was counted\n")
    assert "of them counted: stopped after" in out
    assert not path.exists()


def test_rules_that_are_checked_have_certificates(capsys, tmp_path):
    path = tmp_path / "c.json"
    code, _, _ = run(
        capsys,
        "rules",
        "breast_cancer",
        "--check",
        "mean radius >= 14 -> malignant",
        "--time-limit",
        1,
        "-o",
        path,
    )
    assert code == 1
    assert run(capsys, "check", path, "breast_cancer")[0] == 0


def test_a_radius_of_0_is_a_region(capsys):
    code, out, _ = run(capsys, "verify", "digits", "--index", 7, "--hamming", 0)
    assert (code, "with up to 0 bits flipped: proved" in out) == (0, True)
    code, out, _ = run(capsys, "count", "digits", "--index", 7, "--l0", 0)
    assert (code, out.startswith("1 input")) == (0, True)
    code, out, _ = run(capsys, "why", "digits", "--index", 7, "--l0", 0)
    assert (code, "with up to 0 features changed: nothing needs to be known" in out) == (0, True)


def test_names_with_commas_can_be_listed(capsys, tmp_path):
    network = sg.Network(
        sg.nn.Encoder.of_bits(3, ["a", "b, c", "b"]), [], sg.nn.Head([[1, 1, 1], [-1, -1, -1]])
    )
    sg.save(network, tmp_path / "m.sugenet")
    (tmp_path / "x.csv").write_text("1,1,1\n")
    for names, found in (("b, c,a", ["b, c", "a"]), ("b,a", ["b", "a"]), (" b, c ", ["b, c"])):
        _, out, _ = run(
            capsys, "verify", tmp_path / "m.sugenet", tmp_path / "x.csv", "--free", names, "--json"
        )
        free = json.loads(out)["certificate"]["question"]["region"]["features"]
        assert [network.encoder.names[feature] for feature in free] == found


def test_a_check_that_does_not_end_in_time_is_undecided(capsys, tmp_path):
    path, model = tmp_path / "certificate.json", tmp_path / "deep.sugenet"
    network = bits(depth=2)
    sg.save(network, model)
    certificate = sg.verify(network, sg.Robust([0] * 64, sg.Hamming(0))).certificate
    certificate["question"]["region"]["radius"] = "8"
    certificate["proof"] = {"kind": "enumerate"}
    path.write_text(json.dumps(certificate))
    code, out, err = run(capsys, "check", path, model, "--time-limit", 0.2)
    assert (code, out) == (3, "")
    assert "not checked within the limit: 0.2 s were not enough. Allow more: --time-limit." in err
    code, out, err = run(capsys, "check", path, model, "--memory-limit", 1, "--json")
    assert (code, json.loads(out)["holds"]) == (3, None)
    assert "Allow more: --memory-limit." in json.loads(out)["error"]
    path.write_text(path.read_text().replace('"answer"', '"answer": "refuted", "answer"'))
    code, _, err = run(capsys, "check", path, model)
    assert code == 2
    assert "the key 'answer' stands twice" in err


def test_every_ball_is_a_region_and_a_cost(capsys):
    for name in BALLS:
        assert run(capsys, "verify", "digits", "--index", 7, f"--{name.lower()}", 0)[0] == 0
        assert run(capsys, "whatif", "digits", "--index", 7, "--cost", name, "--max-cost", 0)[0] == 0
    assert {*BALLS, "Free", "AnyInput"} == {name.title().replace("_", "") for name in asking.REGIONS}
