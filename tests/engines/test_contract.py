"""One contract for all engines: right answers, proofs that are true, and no more left open than they must;
and faults put into their code, each of which the contract sees.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sugenet.engines.ladder import ENGINES
from tests.engines.contract import judged, questions
from tests.engines.faults import FAULTS

LEFT_OPEN = {
    "auto": 0,
    "dual": 0,
    "bounds": 73,  # 63 have a violation, which bounds cannot show
    "search": 48,  # just those that hold
    "flips": 36,  # without a budget
    "exhaust": 58,  # with one that matters
    "branch": 69,  # more than one hidden layer
    "cdcl": 0,
    "cpsat": 0,
    "pysat": 0,
    "exact": 0,
}
"""Questions out of 111 that an engine may leave open: one that gives up more often has lost something."""


def test_the_questions_are_of_both_kinds():
    assert (len(questions()), sum(bool(asked.bad) for asked in questions())) == (111, 63)
    assert LEFT_OPEN.keys() == {"auto", *ENGINES}


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_an_engine_is_right_and_does_not_give_up(name):
    if name != "auto" and ENGINES[name].package is not None:
        pytest.importorskip(ENGINES[name].package)
    wrong, left = judged(name)
    assert not wrong
    assert left == LEFT_OPEN[name]


@pytest.mark.slow
def test_seeded_faults_are_seen():
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.faults"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert len(seen) == len(FAULTS)
    for fault in FAULTS:
        wrong, left = seen[fault.name]
        assert wrong or left > LEFT_OPEN[fault.engine], f"{fault.name} goes unseen"
