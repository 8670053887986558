"""Counterexamples as VNN-COMP's tools read them: the floats of the file violate the query, by the definition
and as ONNX Runtime computes; and the three scripts, run as the competition runs them.
"""

import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError, QuestionError
from sugenet.io import read_instance, read_vnnlib, write_counterexample, write_vnnlib
from sugenet.nn import DenseLayer, Encoder, Head, Network, Source, threshold
from tests.cli.runner import in_process

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.io.queries import around  # noqa: E402


def parsed(path):
    """The word, and the values of X and Y, by a reader that shares nothing with the writer."""
    word, _, rest = Path(path).read_text().partition("\n")
    pairs = re.findall(r"\(([XY])_(\d+) ([^\s()]+)\)", rest)
    values = {kind: [float(v) for k, _, v in pairs if k == kind] for kind in "XY"}
    assert [int(i) for k, i, _ in pairs if k == "X"] == list(range(len(values["X"])))
    return word, values["X"], values["Y"]


class Net:
    """Raw reals in, signs of +-1 sums, +-1 scores: kept as arrays and as an ONNX file."""

    def __init__(self, seed, inputs=4, hidden=7, outputs=3, scale=4.0):
        random = np.random.default_rng(seed)
        self.first, self.last = (
            random.choice([-1.0, 1.0], (inputs, hidden)),
            random.choice([-1.0, 1.0], (hidden, outputs)),
        )
        self.bias = np.float32(random.normal(0, scale, hidden))

    def outputs_at(self, x):
        sums = [
            sum(Fraction(v) * int(w) for v, w in zip(x, column, strict=True)) + Fraction(float(b))
            for column, b in zip(self.first.T, self.bias, strict=True)
        ]
        bits = [1 if s >= 0 else -1 for s in sums]
        return [sum(b * int(w) for b, w in zip(bits, column, strict=True)) for column in self.last.T]

    def write(self, path):
        constants = {"w": self.first, "b": self.bias, "v": self.last, "zero": 0.0, "one": 1.0, "minus": -1.0}
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["s"]),
            helper.make_node("Add", ["s", "b"], ["t"]),
            helper.make_node("GreaterOrEqual", ["t", "zero"], ["g"]),
            helper.make_node("Where", ["g", "one", "minus"], ["h"]),
            helper.make_node("MatMul", ["h", "v"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, len(self.first)])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, self.last.shape[1]])],
            [
                numpy_helper.from_array(np.asarray(value, np.float32), name)
                for name, value in constants.items()
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        Path(path).write_bytes(model.SerializeToString())
        return path


def by_runtime(path, x):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.array([x], np.float32)})[0][0].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_real_counterexamples_hold_as_floats(tmp_path, seed):
    net = Net(seed)
    path = net.write(tmp_path / "net.onnx")
    random = np.random.default_rng(seed)
    center = random.integers(-30, 30, 4) / 10  # tenths are no floats
    label = int(np.argmax(net.outputs_at([Fraction(str(v)) for v in center])))
    query = around([Fraction(str(v)) for v in center], Fraction(7, 10), label, 3)
    write_vnnlib(query, tmp_path / "query.vnnlib")
    network, read = read_instance(path, tmp_path / "query.vnnlib")
    assert read == query
    answer = sg.verify(network, query)
    write_counterexample(answer, tmp_path / "result.txt")
    word, x, y = parsed(tmp_path / "result.txt")
    assert word == {"Refuted": "sat", "Proved": "unsat"}[type(answer).__name__]
    if word == "sat":
        exact = [Fraction(value) for value in x]
        assert query.violated_by(exact, net.outputs_at(exact))
        assert y == net.outputs_at(exact) == by_runtime(path, x)
        assert [float(np.float32(value)) for value in x] == x
    else:
        for _ in range(300):
            point = [Fraction(str(c)) + Fraction(int(random.integers(-70, 71)), 100) for c in center]
            assert not query.violated_by(point, net.outputs_at(point))


def test_whole_numbers_and_thresholds(tmp_path):
    layer, head = DenseLayer([[1, -1, 1], [1, 1, -1]], tau=[2, 2]), Head([[1, 1], [-1, -1]])
    reals = Network(Encoder([threshold(0.1)] * 3), [layer], head)
    query = around([0.0, 0.0, 0.0], Fraction(1, 5), int(reals.predict([[0.0] * 3])[0]), 2)
    answer = sg.verify(reals, query)
    write_counterexample(answer, tmp_path / "result.txt")
    _, x, y = parsed(tmp_path / "result.txt")
    assert reals.logits([x])[0].tolist() == y
    assert query.violated_by([Fraction(value) for value in x], [Fraction(value) for value in y])
    pixels = Source(step=Fraction(1, 255))
    found = Network(Encoder([threshold(100, 0, 255, whole=True)] * 3), [layer], head, source=pixels)
    start = int(found.predict([[0, 0, 0]])[0])
    answer = sg.verify(found, around([0, 0, 0], 1, start, 2, low=0, high=1))
    write_counterexample(answer, tmp_path / "result.txt")
    word, x, _ = parsed(tmp_path / "result.txt")
    assert word == "sat"
    assert all(0 <= value <= 1 for value in x)
    assert found.predict([[round(value * 255) for value in x]])[0] != start


def test_what_is_no_query_has_no_such_file(tmp_path):
    net = sg.models.digits()
    answer = sg.verify(net, sg.Robust(sg.models.samples("digits")[0][7], sg.L0(1)))
    with pytest.raises(QuestionError, match="are of queries"):
        write_counterexample(answer, tmp_path / "result.txt")
    assert not (tmp_path / "result.txt").exists()


def test_files_that_do_not_fit_are_refused(instance, tmp_path):
    folder, _ = instance
    write_vnnlib(around([0, 0, 0], 1, 0, 2), tmp_path / "three.vnnlib")
    with pytest.raises(FileError, match="the query has 3 inputs and 2 outputs, the network 4 and 3"):
        read_instance(folder / "net.onnx", tmp_path / "three.vnnlib")


# -- the command line and the scripts ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("instance")
    net = Net(1)
    net.write(folder / "net.onnx")
    center = [Fraction(1, 2)] * 4
    label = int(np.argmax(net.outputs_at(center)))
    for name, eps in (("far", Fraction(5)), ("near", Fraction(1, 1000))):
        write_vnnlib(around(center, eps, label, 3), folder / f"{name}.vnnlib")
    return folder, net


def test_the_scripts_do_what_the_competition_asks(instance, tmp_path):
    folder, net = instance
    code, out, err = in_process(["vnncomp", str(tmp_path / "scripts")])
    assert code == 0, err
    assert [Path(word).name for word in out.split() if word.endswith(".sh")] == [
        "install_tool.sh",
        "prepare_instance.sh",
        "run_instance.sh",
    ]
    source = str(Path(sg.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source}

    def run(script, *words):
        path = tmp_path / "scripts" / script
        assert os.access(path, os.X_OK)
        return subprocess.run(
            [str(path), *map(str, words)], env=env, capture_output=True, text=True, check=False
        )

    files = folder / "net.onnx", folder / "far.vnnlib"
    assert run("prepare_instance.sh", "v1", "test", *files).returncode == 0
    assert run("prepare_instance.sh", "v1", "test", folder / "net.onnx", folder / "no.vnnlib").returncode != 0
    assert run("run_instance.sh", "v2", "test", *files, tmp_path / "r", 60).returncode == 1
    words = {}
    for name in ("far", "near"):
        result = tmp_path / f"{name}.txt"
        done = run(
            "run_instance.sh", "v1", "test", folder / "net.onnx", folder / f"{name}.vnnlib", result, 60
        )
        assert done.returncode == 0, done.stderr
        words[name], x, y = parsed(result)
        query = read_vnnlib(folder / f"{name}.vnnlib")
        if words[name] == "sat":
            exact = [Fraction(value) for value in x]
            assert query.violated_by(exact, net.outputs_at(exact))
            assert by_runtime(folder / "net.onnx", x) == y
    assert words == {"far": "sat", "near": "unsat"}
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    done = run("run_instance.sh", "v1", "test", broken, folder / "far.vnnlib", tmp_path / "b.txt", 60)
    assert (tmp_path / "b.txt").read_text() == "error\n"
    assert "Traceback" not in done.stderr


def test_counterexamples_on_the_command_line(instance, tmp_path):
    folder, net = instance
    model, result = tmp_path / "net.sugenet", tmp_path / "result.txt"
    line = ["convert", str(folder / "net.onnx"), "-o", str(model), "--inputs=reals:-5..6"]
    code, _, err = in_process(line)
    assert code == 0, err
    query = str(folder / "far.vnnlib")
    code, _, err = in_process(["verify", str(model), "--query", query, "--counterexample", str(result)])
    assert code == 1, err
    word, x, _ = parsed(result)
    exact = [Fraction(value) for value in x]
    assert word == "sat"
    assert read_vnnlib(query).violated_by(exact, net.outputs_at(exact))
    code, _, _ = in_process(
        ["verify", str(model), "--query", str(folder / "near.vnnlib"), "--counterexample", str(result)]
    )
    assert code == 0
    assert result.read_text() == "unsat\n"
    code, _, err = in_process(
        ["verify", "digits", "--index", "7", "--hamming", "1", "--counterexample", "r.txt"]
    )
    assert code == 2
    assert "--counterexample needs --query" in err


def test_time_that_is_up_is_a_timeout():
    from sugenet.io.competition import outcome_word
    from sugenet.reason import Undecided

    query = around([0], 1, 0, 2)
    answers = [
        Undecided(None, query, "", reason, {}, "", 0.0, {}) for reason in ("the time was up", "too large")
    ]
    assert [outcome_word(answer) for answer in answers] == ["timeout", "unknown"]
