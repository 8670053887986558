"""What `sugenet check` loads: the checker, and what reads files and options. The docs state how much."""

import json
import re

import pytest

import sugenet as sg
from sugenet.io.native.file import network_bytes
from tests.checker.loading import SOURCE, loaded_by, statements_in

ELSEWHERE = {
    "bits",
    "nn",
    "capacity",
    "engines",
    "fit",
    "logic",
    "problem",
    "reason",
    "show",
    "sweeps",
    "web",
}
"""Rooms that a check does not enter."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A certificate and the file of its network."""
    folder = tmp_path_factory.mktemp("asked")
    network, sample = sg.models.digits(), sg.models.samples("digits")[0][7]
    answer = sg.verify(network, sg.Robust(sample, sg.L0(1)))
    (folder / "c.json").write_text(json.dumps(answer.certificate))
    (folder / "n.sugenet").write_bytes(network_bytes(network))
    return folder / "c.json", folder / "n.sugenet"


def stated(what):
    """A number of statements that the docs state."""
    page = (SOURCE.parents[1] / "docs" / "certificates.md").read_text()
    (said,) = re.findall(rf"{what} loads ([\d,]+) statements", page)
    return int(said.replace(",", ""))


def test_a_check_loads_the_checker_and_what_reads_files(asked):
    code, said, loaded = loaded_by("sugenet", "check", *asked)
    assert code == 0, said
    # on a slow machine a part is done again, so that what does it counts in any case
    again = "sugenet.checker.accelerate.again"
    ours = {again, *(name for name in loaded if name.split(".")[0] == "sugenet")}
    assert {name.split(".")[1] for name in ours if "." in name} & ELSEWHERE == set()
    assert statements_in(ours) == stated("`sugenet check`")


def test_a_plain_check_loads_no_arrays_and_no_compiler(asked):
    code, said, loaded = loaded_by("sugenet", "check", *asked, "--plain")
    assert code == 0, said
    assert [name for name in loaded if name.split(".")[0] != "sugenet"] == []
    assert not any("accelerate" in name for name in loaded)
