"""Twins do what kernels do, to the last word; and small first questions are answered without compiling."""

import copy
import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from sugenet.bits.compile_policy import ENGINE, Account, CompilePolicy, is_ready, plain
from sugenet.bits.engine import engine_named
from sugenet.engines.walk import twins as walks
from sugenet.errors import SugenetError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.clock import Clock
from sugenet.problem.regions import AnyInput, Free, Hamming
from sugenet.reason import Robust, count, verify
from sugenet.reason.counts import twins as counts

numba = pytest.importorskip("numba")


@numba.njit(nogil=True)
def _twice(x):
    return numba.uint64(2) * x


@numba.njit(nogil=True)
def _four_times(x):
    return _twice(_twice(x))


def test_plain_runs_the_source_with_what_it_calls_replaced():
    large = np.uint64(1 << 63)
    assert plain(_four_times)(np.uint64(3)) == 12
    assert plain(_four_times)(large) == 0  # words wrap around, without a warning
    assert plain(_four_times, _twice=lambda x: x + 1)(5) == 7
    assert not is_ready(_four_times, (numba.types.uint64,))


def test_a_kernel_is_compiled_once_that_pays(monkeypatch):
    monkeypatch.delenv(ENGINE, raising=False)
    kernel = numba.njit(_twice.py_func)
    both = CompilePolicy(kernel, lambda x: ("twin", int(x)), Account(10))
    assert both(6, np.uint64(1)) == ("twin", 1)
    assert both(4, np.uint64(1)) == ("twin", 1)
    assert both(1, np.uint64(1)) == 2
    assert both(1, np.uint64(4)) == 8  # and stays
    monkeypatch.setenv(ENGINE, "numba")
    assert CompilePolicy(kernel, lambda _: "twin", Account(10))(0, np.uint64(1)) == 2


class _Asked:
    """A kernel that counts how often numba is asked for the type of an argument."""

    def __init__(self, kernel):
        self.kernel, self.overloads, self.asked = kernel, kernel.overloads, 0

    def typeof_pyval(self, value):
        self.asked += 1
        return self.kernel.typeof_pyval(value)

    def __call__(self, *args):
        return self.kernel(*args)


def test_types_of_arguments_are_asked_for_once(monkeypatch):
    monkeypatch.delenv(ENGINE, raising=False)
    kernel = _Asked(numba.njit(lambda x, _y: x))
    both = CompilePolicy(kernel, lambda x, _y: ("twin", x), Account(0))
    words, more = np.arange(6, dtype=np.uint64), (np.zeros((2, 2)), 3)
    kernel.kernel(words, more)
    assert both(1, words, more) is words
    assert kernel.asked == 2
    assert both(1, words.copy(), (np.ones((2, 2)), 4)).tolist() == words.tolist()
    assert kernel.asked == 2
    read_only = words.copy()
    read_only.flags.writeable = False
    different = (
        (words.astype(np.int64), more),
        (words[::2], more),
        (read_only, more),
        (words.reshape(2, 3), more),
        (words, (np.zeros((2, 2)).T[:1], 3)),
        (words, (np.zeros((2, 2)), 3, 3)),
        (words, (np.zeros((2, 2)), 3.0)),
        (words, (np.zeros((2, 2)), True)),
    )
    for number, args in enumerate(different, start=2):
        both(1, *args)
        assert kernel.asked == 2 * number


class _Both:
    """Runs the kernel and the twin on the same arguments and compares all that they give and change."""

    def __init__(self, pair: CompilePolicy, scratch: tuple[int, ...] = ()) -> None:
        self.pair, self.scratch, self.calls = pair, scratch, 0

    def __call__(self, _steps, *args):
        self.calls += 1
        others = copy.deepcopy(args)
        expected, found = self.pair.kernel(*args), self.pair.twin(*others)
        np.testing.assert_equal(found, expected)
        for number, (other, arg) in enumerate(zip(others, args, strict=True)):
            if number not in self.scratch:
                np.testing.assert_equal(other, arg, err_msg=f"argument {number}")
            elif isinstance(expected, int):  # so many rows count
                np.testing.assert_equal(other[:expected], arg[:expected], err_msg=f"argument {number}")
        return expected


def _both(monkeypatch, module: ModuleType, **scratch: tuple[int, ...]) -> dict[str, _Both]:
    pairs = {name: _Both(getattr(module, name), without) for name, without in scratch.items()}
    for name, pair in pairs.items():
        monkeypatch.setattr(module, name, pair)
    return pairs


def _network(rng, inputs, hidden, *, deep, constant=False):
    first = DenseLayer(
        rng.choice([-1, 1], (hidden, inputs)), rng.integers(inputs // 3, inputs // 2 + 2, hidden)
    )
    then = DenseLayer(rng.choice([-1, 0, 1], (7, hidden)), rng.integers(1, hidden // 3 + 1, 7))
    layers = [first, then] if deep else [first]
    return Network.of_bits(
        layers,
        Head(
            np.ones((3, layers[-1].outputs), int)
            if constant
            else rng.choice([-1, 1], (3, layers[-1].outputs))
        ),
    )


@pytest.mark.parametrize("hidden", [5, 65, *(pytest.param(n, marks=pytest.mark.slow) for n in (63, 64, 130))])
def test_walks_do_the_same(monkeypatch, hidden):
    rng = np.random.default_rng(hidden)
    pairs = _both(monkeypatch, walks, walk_sets=(6,), unseen=(1,), shortfalls=())  # room for what is new
    for inputs, deep, constant in ((9, True, False), (12, False, False), (12, True, True)):
        network = _network(rng, inputs, hidden, deep=deep, constant=constant)
        for x in rng.choice([-1, 1], (2, inputs)):
            verify(network, Robust(x, Hamming(3)), engine="flips", threads=1)
            verify(network, Robust(x, AnyInput()), engine="exhaust", threads=1)
    assert all(pair.calls for pair in pairs.values())


@pytest.mark.parametrize("hidden", [5, 65, *(pytest.param(n, marks=pytest.mark.slow) for n in (63, 64, 130))])
def test_counts_are_the_same(monkeypatch, hidden):
    rng = np.random.default_rng(hidden)
    walk = counts.walk
    seen = []

    def both(_steps, *args):
        *before, memory, tally, stop = args
        others = np.zeros_like(tally)
        walk.twin(*before, memory, others, stop)
        walk.kernel(*before, memory, tally, stop)
        assert others.tolist() == tally.tolist()
        seen.append(sum(tally))

    monkeypatch.setattr(counts, "walk", both)
    merge = _both(monkeypatch, counts, merge=(1,))["merge"]
    for inputs, deep in ((9, True), (12, False), (12, True)):
        network = _network(rng, inputs, hidden, deep=deep)
        x = rng.choice([-1, 1], inputs)
        for region in (Hamming(3), AnyInput(), Free(range(4))):
            many = count(network, x, region, method="walk", threads=1)
            assert count(network, x, region, method="sums", threads=1).counts == many.counts
    assert sum(seen)
    assert merge.calls


_FIRST = """
import json, sys
import sugenet as sg
from sugenet import data
found = []
for name in ("digits", "breast_cancer"):
    net, (X, y) = getattr(data, name)(), data.samples(name)
    found.append(net.predict(X).tolist())
    for answer in (
        sg.verify(net, sg.Robust(X[7], sg.Hamming(2))),
        sg.verify(net, sg.Robust(X[46], sg.L0(2))),
        sg.count(net, X[7], sg.Hamming(2)),
    ):
        found.append(answer.certificate)
    found.append([reason.certificate for reason in sg.why(net, X[7], sg.L0(2)).reasons])
print(json.dumps(found, sort_keys=True))
"""


def test_first_answers_need_no_compiler_and_are_the_same(tmp_path):
    def ask(**environment):
        given = {name: value for name, value in os.environ.items() if name != ENGINE} | environment
        return subprocess.run(
            [sys.executable, "-c", _FIRST], env=given, capture_output=True, text=True, check=True
        ).stdout

    twins = ask(NUMBA_CACHE_DIR=str(tmp_path))
    assert not list(tmp_path.rglob("*.nbi"))
    assert json.loads(twins) == json.loads(ask(**{ENGINE: "numba"}))


def test_where_nothing_may_be_compiled_predictions_work_and_questions_are_refused(monkeypatch):
    monkeypatch.delenv(ENGINE, raising=False)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert engine_named() == "numpy"
    with pytest.raises(SugenetError, match="Unset NUMBA_DISABLE_JIT"):
        engine_named("numba")
    with pytest.raises(SugenetError, match="questions need its kernels"):
        Clock()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert engine_named() == "auto"
    Clock()
