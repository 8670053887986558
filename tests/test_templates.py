"""The templates of an engine and of a reader run when they are copied, and say what to write next."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import sugenet
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.io.exact.domains import Bits
from sugenet.io.exact.ops import LinearOp, OpChain
from sugenet.io.proof.interpreters import interpreter_of_chain
from sugenet.problem.goal import loses
from sugenet.problem.problem import Fails, Holds, Open, Problem
from sugenet.problem.regions import Hamming

SOURCE = Path(sugenet.__file__).parent


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Copy a template into a package of its own."""

    def copy(package):
        folder = tmp_path / f"my_{package}"
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "mine.py").write_bytes((SOURCE / package / "TEMPLATE.py").read_bytes())
        monkeypatch.syspath_prepend(tmp_path)
        return import_module(f"my_{package}.mine")

    return copy


@pytest.mark.parametrize(("package", "next_step"), [("engines", "_find(): "), ("io", "_chain_of(): ")])
def test_a_copy_runs_and_says_what_to_write_next(package, next_step, tmp_path):
    copy = tmp_path / "mine.py"
    copy.write_bytes((SOURCE / package / "TEMPLATE.py").read_bytes())
    done = subprocess.run([sys.executable, copy, "FILE"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"NotImplementedError: {next_step}return ")


def test_an_engine_is_complete_once_it_finds_and_proves(copied, monkeypatch):
    mine = copied("engines")
    network = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    problem = Problem(Hamming(2).around(network, [1, 1, -1]), loses(network.head, 0))
    monkeypatch.setattr(mine, "_find", lambda _problem, _clock: None)
    with pytest.raises(NotImplementedError, match=r"_prove\(\): return a proof"):
        mine.TEMPLATE(problem)
    monkeypatch.setattr(mine, "_prove", lambda _problem, _clock: None)
    assert isinstance(mine.TEMPLATE(problem), Open)
    monkeypatch.setattr(mine, "_prove", lambda _problem, _clock: {"kind": "enumerate"})
    assert mine.TEMPLATE(problem) == Holds("template", {"kind": "enumerate"})
    monkeypatch.setattr(mine, "_find", lambda problem, _clock: tuple(problem.near.moves)[:2])
    assert mine.TEMPLATE(problem) == Fails("template", (0, 0, -1))


def test_a_reader_is_complete_once_it_has_a_chain_and_an_interpreter(copied, monkeypatch):
    mine = copied("io")
    chain = OpChain("mine", (2,), (LinearOp("scores", np.array([[1.0, 1.0], [1.0, -1.0]])),))
    monkeypatch.setattr(mine, "_chain_of", lambda _path: chain)
    with pytest.raises(NotImplementedError, match=r"_interpreter_of\(\): return an interpreter"):
        mine.read_template("FILE", inputs=Bits())
    monkeypatch.setattr(mine, "_interpreter_of", lambda _path: interpreter_of_chain(chain))
    network = mine.read_template("FILE", inputs=Bits())
    assert network.predict([[1, 1], [1, -1]]).tolist() == [0, 1]
