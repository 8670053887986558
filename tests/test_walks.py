"""The walks of CONTRIBUTING.md are the ways that real calls take: packages in the order in which a call
enters them first.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FrameType
from typing import Any

import numpy as np
import pytest

import sugenet
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.sweeps import work

SOURCE = Path(sugenet.__file__).parent
PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def named(walk: str, page: str) -> list[str]:
    """The packages of a walk, in order."""
    part = page.partition(f"### {walk}\n")[2].partition("\n#")[0]
    return re.findall(r"^\d+\. `(.+?)`", part, re.MULTILINE)


def passed(ready: Callable[[], Callable[[], object]]) -> list[str]:
    """The files that a call enters, in order of the first time.

    What is imported or compiled for the first time on the way does not count,
    so the call is made once before.
    """
    for module in walk_packages([str(SOURCE)], "sugenet."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    ready()()
    call = ready()
    seen: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE) and path.name != "__init__.py":
            seen.setdefault(path.relative_to(SOURCE).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(seen)


def packages(files: list[str]) -> list[str]:
    """Their folders in order; files without a folder are on every way."""
    return list(dict.fromkeys(Path(file).parent.as_posix() for file in files if "/" in file))


def small() -> tuple[Network, list[int]]:
    """A network that nothing has been asked of yet, and a sample that bounds alone do not settle."""
    rng = np.random.default_rng(0)
    layers = [DenseLayer(rng.choice([-1, 1], (m, n)), [n // 2 + 1] * m) for n, m in ((16, 9), (9, 5))]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 5))))
    return network, rng.choice([-1, 1], 16).tolist()


def one_sample(_: Path) -> Callable[[], object]:
    network, sample = small()
    return lambda: network.predict([sample])


def one_question(_: Path) -> Callable[[], object]:
    network, sample = small()

    def ask() -> None:
        answer = sugenet.verify(network, sugenet.Robust(sample, sugenet.Hamming(2)), threads=1)
        assert "proved by flip enumeration" in str(answer)
        assert "137" in sugenet.check(answer, network)

    return ask


def one_file(folder: Path) -> Callable[[], object]:
    path = folder / "network.onnx"
    sugenet.write_onnx(small()[0], path)
    return lambda: sugenet.read_onnx(path, inputs=sugenet.Bits()).report


def one_data_set(folder: Path) -> Callable[[], object]:
    network, sample = small()
    path = folder / "results.db"
    path.unlink(missing_ok=True)
    work._networks.clear()

    def ask() -> None:
        question = sugenet.Robust(sugenet.each, sugenet.Hamming(2))
        with sugenet.sweep(network, [sample], question, store=path, jobs=1) as found:
            assert "1 hold" in str(found.check(jobs=1))

    return ask


@pytest.mark.parametrize("walk", [one_sample, one_question, one_file, one_data_set])
def test_a_walk_is_the_way_of_a_call(walk, tmp_path):
    listed = named(walk.__name__.replace("_", " ").capitalize(), PAGE.read_text())
    assert listed == packages(passed(lambda: walk(tmp_path)))


def test_a_walk_that_is_stale_is_seen():
    page = "### One sample\n\n1. `bits`: ends\n2. `bnn`: begins\n\n### One file\n1. `io`\n"
    assert named("One sample", page) == ["bits", "bnn"]
    assert packages(passed(lambda: one_sample(Path()))) == ["bnn", "bits"]
