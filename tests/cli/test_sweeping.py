"""A whole data set on the command line: asked in the words for one sample, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from time import monotonic, sleep

import numpy as np
import pytest
from PIL import Image

import sugenet as sg
from sugenet.cli import main
from sugenet.cli.asking import ASKERS, flags_of
from sugenet.cli.commands import parser_of_all
from sugenet.cli.parser import options_of
from sugenet.cli.sweeping import _ELSEWHERE
from sugenet.sweeps import read_results

ALONE = [kind for kind in ASKERS if kind != "predict"]
"""Those that a command of the same name asks about one sample."""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def asked(*words):
        code = main([str(word) for word in words])
        out = capsys.readouterr()
        return code, out.out, out.err

    return asked


# -- the same words ------------------------------------------------------------------------------------------

QUESTIONS = {
    "verify": [
        ["--hamming", "2"],
        ["--l1", "3/2", "--target", "8", "--ties", "against", "--engine", "bounds"],
    ],
    "whatif": [
        ["--cost", "L1", "-n", "3"],
        ["--price", "pixel (2,5)=2", "--price", "pixel (4,4)=1", "--max-cost", "3", "--engine", "flips"],
        ["--keep", "pixel (2,5)", "--where", "pixel (4,4) <= 16 and pixel (3,3) >= 0"],
    ],
    "why": [["--hamming", "2", "--minimal", "size", "-n", "all"], ["--free", "pixel (2,5),pixel (4,4)"]],
    "count": [["--hamming", "2"], ["--l0", "1", "--method", "sample"], ["--where", "pixel (4,4) <= 16"]],
}


@pytest.mark.parametrize(
    ("kind", "words"), [(kind, words) for kind, asked in QUESTIONS.items() for words in asked]
)
def test_a_sweep_answers_as_the_command_for_one_sample_does(run, kind, words):
    words = [*words, "--seed", "4"]
    code, _, err = run("sweep", "digits", "--ask", kind, "--first", 3, "--jobs", 1, *words, "-o", "r.db")
    assert code in (0, 3), err
    settled = []
    with closing(read_results("r.db")) as found:
        for row in found.rows():
            _, out, err = run(kind, "digits", "--index", row.sample, "--threads", 1, "--json", *words)
            alone, kept = json.loads(out), found.data(row.sample)
            for data in (alone, kept):
                data.pop("seconds", None)
            assert kept == alone
            settled.append(row.settled)
    assert code == (0 if all(settled) else 3)
    assert len(settled) == 3


def test_predictions_are_those_of_predict(run):
    assert run("sweep", "digits", "--ask", "predict", "--jobs", 1, "-o", "r.db")[0] == 0
    rows = json.loads(run("predict", "digits", "--json")[1])["predictions"]
    with closing(read_results("r.db")) as found:
        kept = [found.data(row["sample"]) for row in rows]
        assert [row.truth for row in found.rows()] == [row["truth"] for row in rows]
    for name in ("label", "index", "scores", "is_tie"):
        assert [row[name] for row in kept] == [row[name] for row in rows]


def test_a_sweep_writes_the_tables_that_results_writes(run):
    pytest.importorskip("pyarrow")
    words = ("--ask", "whatif", "--first", 3, "--jobs", 1, "-o", "r.db")
    assert run("sweep", "digits", *words, "--csv", "a.csv", "--parquet", "a.parquet")[0] == 0
    assert run("results", "r.db", "--csv", "b.csv", "--parquet", "b.parquet")[0] == 0
    for kind in ("csv", "parquet"):
        with open(f"a.{kind}", "rb") as one, open(f"b.{kind}", "rb") as other:
            assert one.read() == other.read()
    header = run("results", "r.db", "--csv", "-")[1].split("\r\n")[0]
    assert header.startswith("sample,outcome,label,")
    assert 'label_after,n_changes,is_minimum,"pixel (0,0)"' in header
    assert run("sweep", "digits", *words, "--parquet", "-")[0] == 2


def test_every_option_about_a_sample_has_its_place():
    parsers = parser_of_all()[1]
    sweep = {action.dest: action for action in options_of(parsers["sweep"])}
    for kind in ALONE:
        for action in options_of(parsers[kind]):
            flag = action.option_strings[-1]
            if flag in _ELSEWHERE:
                assert action.dest not in sweep
                continue
            twin = sweep[action.dest]
            assert twin.option_strings == action.option_strings
            assert (twin.choices, twin.metavar, twin.nargs) == (action.choices, action.metavar, action.nargs)
            shared = ("label_column", "delimiter", "output", "time_limit", "seed", "json", "quiet", "help")
            shared += ("within", "law")
            assert (action.dest in ASKERS[kind].options) != (action.dest in shared), flag


VALUES = {"where": "x1=1", "price": "x1=1", "cost": "L0", "keep": "x1", "free": "x1", "target": "on"}
VALUES |= {"minimal": "subset", "ties": "lowest", "engine": "auto", "method": "auto"}
NAMES = sorted({name for kind in ASKERS.values() for name in kind.options})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ASKERS)
def test_what_means_nothing_to_the_question_is_refused_even_as_its_default(run, kind, name):
    flag = "-n" if name == "n" else flags_of([name])
    words = [flag] if name == "any_input" else [flag, VALUES.get(name, "1")]
    code, out, err = run("sweep", "digits", "--ask", kind, *words, "--first", 10**6, "-o", "r.db")
    assert (code, out) == (2, "")
    refused = err == f"sugenet: {flag} is not used by --ask {kind}. Leave it out.\n"
    assert refused == (name not in ASKERS[kind].options), err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *[
            ([flag, "1"], f"{flag} is not an option of this command: {words}")
            for flag, words in _ELSEWHERE.items()
        ],
        (["--hamming", "1", "--linf", "1"], "give one region, not --hamming and --linf"),
        (["--backend-option", "scheduler_host"], "--backend-option scheduler_host is not KEY=VALUE"),
        (["--backend-option", "a b=1", "--backend", "dask"], "--backend-option a b=1 is not KEY=VALUE"),
        (
            ["--linf", "1", "--backend-option", "a=1"],
            "--backend-option needs --backend",
        ),
        (["--jobs", "0"], "--jobs 0 must be from 1 to"),
        (["--first", "0"], "--first 0 must be from 1 to"),
        (["--total-time", "-1"], "--total-time -1 must be a number of seconds"),
        (["--tim-limit", "1"], "there is no option --tim-limit. Did you mean --time-limit?"),
        (
            ["--linf", "1", "--backend", "nowhere"],
            "the backend nowhere cannot be used: joblib does not know it",
        ),
        (["--linf", "1", "--engine", "nobody"], "nobody"),
        (["--linf", "1", "--target", "ten"], "--target ten is not a class"),
    ],
)
def test_what_makes_no_sense_is_refused(run, words, said):
    code, out, err = run("sweep", "digits", "--ask", "verify", *words, "-o", "r.db")
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_text_is_no_results_file(run, tmp_path):
    (tmp_path / "r.db").write_text("hello")
    code, _, err = run("sweep", "digits", "--ask", "predict", "-o", "r.db")
    assert code == 2
    assert "is not a results file" in err
    assert (tmp_path / "r.db").read_text() == "hello"
    code, _, err = run("sweep", "digits", "--ask", "predict", "-o", "-")
    assert "-o needs a file, because results are not text" in err


def test_a_backend_that_is_not_installed_is_named(run):
    if find_spec("joblibspark") is not None:
        pytest.skip("joblibspark is installed here")
    code, _, err = run("sweep", "digits", "--ask", "predict", "--backend", "spark", "-o", "r.db")
    assert code == 2
    assert err == (
        "sugenet: --backend spark needs joblibspark, which is not installed. "
        "Install it: pip install joblibspark\n"
    )


def test_work_on_a_dask_cluster_that_runs_elsewhere(run):
    distributed = pytest.importorskip("distributed")
    ask = ("sweep", "digits", "--ask", "verify", "--hamming", 2, "--first", 6)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", protocol="tcp"
    ) as cluster:
        there = ("--backend", "dask", "--backend-option", f"scheduler_host={cluster.scheduler_address}")
        code, _, err = run(*ask, *there, "-o", "there.db")
        assert code == 0, err
    assert run(*ask, "--jobs", 1, "-o", "here.db")[0] == 0
    assert rows_of("there.db") == rows_of("here.db")


# -- what is asked about -------------------------------------------------------------------------------------


def test_the_first_samples_of_a_folder_of_images(run, tmp_path):
    X, y = sg.models.samples("digits")
    for i in range(6):
        folder = tmp_path / "set" / str(y[i])
        folder.mkdir(parents=True, exist_ok=True)
        shades = (X[i].reshape(8, 8).astype(int) * 255 // 16).astype(np.uint8)
        Image.fromarray(shades).save(folder / f"{i}.png")
    code, out, _ = run(
        *("sweep", "digits", "set", "--ask", "verify", "--hamming", 1, "--first", 4, "--jobs", 1),
        *("-o", "r.db", "--json"),
    )
    data = json.loads(out)
    assert code == 0
    assert (data["results"], data["samples"], data["answered"]) == ("r.db", 4, 4)
    with closing(read_results("r.db")) as found:
        assert [row.truth for row in found.rows()] == sorted(y[:6].tolist())[:4]
        assert data["right"] == sum(row.truth == row.index for row in found.rows())


# -- how it ends ---------------------------------------------------------------------------------------------

ASK = ("sweep", "digits", "--ask", "verify", "--hamming", 2, "--first", 8, "--jobs", 1, "-o", "r.db")


def rows_of(path):
    with closing(read_results(path)) as found:
        return [(row.sample, row.outcome, found.data(row.sample)["certificate"]) for row in found.rows()]


def test_a_total_time_ends_it_and_the_same_command_goes_on(run):
    code, out, _ = run(*ASK, "--total-time", 0)
    assert code == 3
    assert "time limit reached: 8 of 8 samples have no answer. Run the same command to resume." in out
    assert rows_of("r.db") == []
    code, out, err = run(*ASK)
    assert code == 0
    assert "no answer" not in out
    assert "to see the answers: sugenet results r.db" in err
    first = rows_of("r.db")
    assert [sample for sample, *_ in first] == list(range(8))
    again = run(*ASK, "--quiet")
    assert (again[0], again[2]) == (0, "")
    assert rows_of("r.db") == first


def test_other_questions_samples_and_time_limits_need_another_file(run):
    run(*ASK)
    first = rows_of("r.db")
    for change, said in (
        (["--hamming", 3], "radius 2, not kind Hamming, radius 3"),
        (["--first", 7], "it is about 8 samples, not about 7"),
        (["--seed", 7], "its seed is 0, not 7"),
        (["--engine", "flips"], "its settings are engine auto, not engine flips"),
        (["--time-limit", 7], "was made with no time limit, not a time limit of 7 s"),
    ):
        code, _, err = run(*ASK, *change)
        assert (code, said in err) == (2, True), err
    assert rows_of("r.db") == first


def test_the_undecided_are_asked_again_with_more_time(run):
    ask = ("sweep", "digits", "--ask", "whatif", "--first", 3, "--jobs", 1, "-o", "r.db")
    code, out, _ = run(*ask, "--time-limit", 0)
    assert code == 3
    assert "undecided  3  100 %" in out
    assert "To ask again about undecided samples: --retry and a longer --time-limit" in out
    code, out, _ = run(*ask, "--time-limit", 60, "--retry")
    assert code == 0
    assert "found    3  100 %" in out


def test_ctrl_c_ends_it_soon_and_the_same_command_goes_on(tmp_path):
    ask = [sys.executable, "-m", "sugenet", "sweep", "digits", "--ask", "whatif", "--cost", "L1"]
    ask += ["--first", "12", "--time-limit", "600", "--jobs", "2", "-o", "r.db"]
    how = {"cwd": tmp_path, "text": True, "env": dict(os.environ)}  # readline may have set a width elsewhere
    running = subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    end = monotonic() + 120
    while not has_rows(tmp_path / "r.db") and monotonic() < end:
        sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    kept = rows_of(tmp_path / "r.db")
    assert kept
    if len(kept) < 12:
        assert (running.returncode, out) == (130, "")
        said = f"{len(kept)} of 12 samples have an answer in r.db. Run the same command to resume."
        assert f"sugenet: interrupted: {said}\n" in err
    assert "Traceback" not in err
    done = subprocess.run(ask, capture_output=True, check=False, **how)
    assert (done.returncode, "found    12  100 %" in done.stdout) == (0, True)
    whole = rows_of(tmp_path / "r.db")
    assert [row for row in whole if row[0] in {sample for sample, *_ in kept}] == kept


def has_rows(path):
    try:
        return bool(rows_of(path))
    except sg.errors.SugenetError:
        return False
