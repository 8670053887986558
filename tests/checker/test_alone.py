"""The checker alone: a copy of it checks certificates with the standard library and loads nothing else."""

import json
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate.arrays import Picking, Summing, backed
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.network import Categories, Numbers, load_network
from sugenet.errors import FileError
from sugenet.io.native.file import network_bytes
from sugenet.nn import (
    DenseLayer,
    Head,
    Network,
    OneHot,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    Window,
    integer,
)
from sugenet.nn.encoder import Encoder
from tests.checker import make_golden, test_learned
from tests.checker.loading import statements_in

SOURCE = Path(sg.__file__).parent
RUN = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
rows = []
for words in json.load(sys.stdin):
    for name in [name for name in sys.modules if name.split(".")[0] == "sugenet"]:
        del sys.modules[name]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        from sugenet.checker.__main__ import main
        code = main(words)
    loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("sugenet", "numpy", "numba"))
    rows.append([code, said.getvalue(), loaded])
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The checker and what it imports, without the rest of the package."""
    package = tmp_path_factory.mktemp("copied") / "sugenet"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("errors.py", "reading.py", "visible.py"):
        shutil.copy(SOURCE / name, package / name)
    shutil.copytree(SOURCE / "checker", package / "checker", ignore=shutil.ignore_patterns("__pycache__"))
    return package.parent


def run_alone(where, commands):
    """Run the checker without installed packages; of each command its exit code, what it says and loads."""
    command = [sys.executable, "-I", "-S", "-c", RUN, str(where)]
    asked = json.dumps([list(map(str, words)) for words in commands])
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def chosen():
    """One certificate of each question, answer and proof; and of wholes."""
    kept, golden = {}, make_golden.stored()
    for row in golden["certificates"]:
        certificate = row["certificate"]
        proof = certificate.get("proof")
        kind = "several" if isinstance(proof, list) else proof and proof["kind"]
        if kind != "drup" and "Error" not in row["said"] and row["network"] != "breast cancer":  # slow
            kept.setdefault((certificate["question"]["kind"], certificate["answer"], kind), row)
    for row in golden["wholes"]:
        key = row["certificate"]["whole"]["kind"], row["certificate"]["answer"], None
        kept.setdefault(key, row | {"network": "codes", "other": None})
    return kept


@pytest.fixture(scope="module")
def checked(copied, tmp_path_factory):
    """What the checker alone says of each of them."""
    folder, rows, commands = tmp_path_factory.mktemp("files"), chosen(), []
    for name, network in make_golden.stored()["networks"].items():
        (folder / f"{name}.sugenet").write_bytes(network_bytes(network))
    for number, row in enumerate(rows.values()):
        (folder / f"{number}.json").write_text(json.dumps(row["certificate"]))
        files = [folder / f"{name}.sugenet" for name in (row["network"], row["other"]) if name is not None]
        commands.append([folder / f"{number}.json", *files])
    return dict(zip(rows, run_alone(copied, commands), strict=True))


def test_a_copy_checks_certificates_with_the_standard_library(checked):
    kinds = {kind for *_, kind in checked}
    assert kinds == {None, "several", "bound", "enumerate", "lemma", "dual", "patches", "partition", "order"}
    assert {"sum", "stated", "sudoku"} <= {question for question, *_ in checked}
    for key, (code, said, loaded) in checked.items():
        assert (code, said[:22]) == (0, "the certificate holds:"), (key, said)
        assert [name for name in loaded if name.split(".")[0] != "sugenet"] == []
        assert [name for name in loaded if "accelerate" in name] == []


def test_a_rule_is_loaded_if_a_proof_needs_it(checked):
    for (_, _, kind), (_, _, loaded) in checked.items():
        assert ("sugenet.checker.multipliers" in loaded) == (kind == "dual")
        assert ("sugenet.checker.patterns" in loaded) == (kind == "patches")


def test_certificates_about_ratings_need_no_arrays(copied):
    """There is no file of ratings alone, so these are checked from Python."""
    rows = []
    for row in make_golden.stored()["learned"]:
        samples = test_learned.ANSWERS[row["name"]][0].samples
        values = [samples.rows, samples.ratings, list(map(str, samples.weights))]
        rows.append([row["certificate"], *values, samples.top, samples.criteria, samples.levels])
    code = """
import json, sys
sys.path.insert(0, sys.argv[1])
from fractions import Fraction
from sugenet.checker import check
from sugenet.checker.learned_form import RatedSamples
for certificate, rows, ratings, weights, top, criteria, levels in json.load(sys.stdin):
    named = tuple(criteria), None if levels is None else tuple(levels)
    exact = tuple(map(Fraction, weights))
    samples = RatedSamples(tuple(map(tuple, rows)), tuple(ratings), exact, top, *named)
    print(check(certificate, samples, plain=True))
assert not {"numpy", "numba"} & set(sys.modules)
"""
    command = [sys.executable, "-I", "-S", "-c", code, str(copied)]
    done = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [row["said"] for row in make_golden.stored()["learned"]]


def test_the_docs_state_how_much_a_plain_check_loads(checked):
    wholes = ("sum", "stated", "sudoku")
    many = {}
    for (question, _, kind), (_, _, loaded) in checked.items():
        name = "whole" if question in wholes else kind
        many[name] = max(many.get(name, 0), statements_in(loaded))
    page = " ".join((SOURCE.parents[1] / "docs" / "certificates.md").read_text().split())
    kinds = (f"proof of kind `{kind}`" for kind in ("bound", "dual", "patches"))
    numbers = (
        re.search(rf"\| a {row}[^|]* \| ([\d,]+) \|", page)[1]
        for row in ("witness", *kinds, "count", "composite")
    )
    stated = [int(number.replace(",", "")) for number in numbers]
    many["rules"] = max(many[kind] for kind in ("bound", "enumerate", "lemma"))
    assert [many[kind] for kind in (None, "rules", "dual", "patches", "partition", "whole")] == stated


def test_false_and_damaged_ones_are_told_apart_by_exit_code(copied, tmp_path):
    network = sg.models.digits()
    sample = sg.models.samples("digits")[0][7]
    certificate = dict(sg.verify(network, sg.Robust(sample, sg.L0(1))).certificate)
    (tmp_path / "n.sugenet").write_bytes(network_bytes(network))
    lie = json.loads(json.dumps(certificate))
    lie["question"]["region"]["radius"] = 2
    for data, words, code in (
        (lie, [], 1),
        (certificate, ["--seconds", "0"], 3),
        ([], [], 1),
        (certificate, [tmp_path / "nowhere"], 2),
        (certificate, ["/dev/zero"], 2),
    ):
        (tmp_path / "c.json").write_text(json.dumps(data))
        ((found, said, _),) = run_alone(copied, [[tmp_path / "c.json", tmp_path / "n.sugenet", *words]])
        assert found == code, said


# -- the network ---------------------------------------------------------------------------------------------


def stairs(seed):
    """Every kind of layer with levels, in a row."""
    rng = np.random.default_rng(seed)
    window = Window((1, 4, 4), kernel=2, pads=int(rng.integers(2)))
    first = QuantizedConv(rng.integers(-2, 3, (2, 1, 2, 2)), [[0, 2, 4], [-3, 1, 9]], window, top=3, pad=1)
    pool = PoolLayer(Window(first.output_shape, kernel=2), [False, True], top=3)
    width = int(np.prod(pool.output_shape))
    last = QuantizedLayer(rng.integers(-1, 2, (3, width)), [[2, 5], [1, 1 << 31], [4, 9]], [3] * width)
    head = Head(rng.integers(-1, 2, (2, 3)), [0, 1], [1, 2], tops=[2] * 3)
    return Network(Encoder([integer(0, 3)] * 16), [first, pool, last], head)


def test_the_file_and_the_network_have_one_form():
    networks = {**make_golden.stored()["networks"], **{f"stairs {seed}": stairs(seed) for seed in range(6)}}
    rng = np.random.default_rng(0)
    for name, network in networks.items():
        form, read = form_of(network), load_network(network_bytes(network))
        assert (read.fingerprint, read.names, read.classes) == (form.fingerprint, form.names, form.classes)
        assert (read.codings, read.reads_levels, read.layers) == (
            form.codings,
            form.reads_levels,
            form.layers,
        )
        assert read.head.scale == form.head.scale
        assert [list(row) for row in read.head.weights] == [list(row) for row in form.head.weights], name
        if not network.passes_reals:
            for _ in range(3):
                states = [int(rng.integers(coding.states)) for coding in network.encoder.codings]
                assert read.scores(states) == form.scores(states) == backed(read).scores(states), name
                assert (form.expanded.counts_at(states) == form.quantized.counts_at(states)).all(), name
            same_arrays(form.quantized, backed(read).quantized)


def same_arrays(one, two):
    """See that a network of the package and its file give the same arrays."""
    assert (one.codings, one.reads_levels, one.lines) == (two.codings, two.reads_levels, two.lines)
    assert (one.head == two.head).all()
    for a, b in zip(one.layers, two.layers, strict=True):
        assert type(a) is type(b)
        assert (a.inputs, a.outputs, a.top) == (b.inputs, b.outputs, b.top)
        names = ["every"] if isinstance(a, Picking) else ["weights", "steps", "tops", "lowest", "sizes"]
        for name in names:
            assert (getattr(a, name) == getattr(b, name)).all(), name
        if not isinstance(a, Summing):
            assert a.window.shape == b.window.shape
            assert (a.window.taps == b.window.taps).all()


def test_arrays_of_lawful_networks_have_a_last_class_for_broken_laws():
    network = Network(
        Encoder([integer(0, 3), OneHot(["a", "b"]), integer(0, 2)]),
        [DenseLayer([[1, -1, 1, 0, 1, 1, -1], [1, 1, 1, 1, -1, 0, 1]], [3, 4])],
        Head([[1, -1], [1, 1]]),
    )
    clauses = (((0, 1.5, True), (1, "a", True)), ((2, 1.0, False), (0, 3.0, True)))
    lawful = backed(load_network(network_bytes(network))).obeying(clauses)
    base, problem = form_of(network), lawful.expanded
    for states in product(*(range(coding.width + isinstance(coding, Numbers)) for coding in lawful.codings)):
        values = [_at(coding, state) for coding, state in zip(lawful.codings, states, strict=True)]
        broken = sum(
            not any(
                (values[f] == at if isinstance(at, str) else values[f] >= at) is on for f, at, on in clause
            )
            for clause in clauses
        )
        own = [
            coding.categories.index(value)
            if isinstance(coding, Categories)
            else sum(value >= cut for cut in coding.cuts)
            for coding, value in zip(base.codings, values, strict=True)
        ]
        counts = problem.counts_at(states)[0].tolist()
        assert counts == [*base.expanded.counts_at(own)[0].tolist(), broken]


def _at(coding, state):
    """A value with a state."""
    if isinstance(coding, Categories):
        return coding.categories[state]
    return coding.low if state == 0 else coding.cuts[state - 1]


def test_a_file_with_another_byte_is_refused():
    raw = network_bytes(make_golden.stored()["networks"]["mixed"])
    rng = np.random.default_rng(1)
    for place in rng.integers(0, len(raw), 60).tolist():
        with pytest.raises(FileError):
            load_network(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
    for end in (0, 7, 30, len(raw) - 1):
        with pytest.raises(FileError):
            load_network(raw[:end])
