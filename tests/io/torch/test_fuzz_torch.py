"""PyTorch modules out of a grammar, each imported with its proof and compared with itself: equal,
or refused in words.
"""

from collections import Counter
from itertools import islice

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.fuzzing.torch_models import cases, difference, outcome  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def tried(seed, count, proved=1):
    """Outcomes of so many models; where the proof, made for each or every third, refuses what the reader
    made, that is a difference too.
    """
    seen = Counter()
    for number, case in enumerate(islice(cases(seed), count)):
        found = outcome(case, prove=number % proved == 0)
        assert found.kind != "different", f"{found.text}\n{case}"
        if found.kind == "refused":
            assert "not what the source computes" not in found.text, f"{found.text}\n{case}"
            assert found.text.startswith("FileError: "), f"{found.text}\n{case}"
            assert found.text.endswith("."), found.text
        seen[found.kind] += 1
    return seen


def test_modules_are_equal_or_refused():
    seen = tried(seed=1, count=60, proved=3)
    assert seen["equal"] >= 22  # a reader that refuses everything is right too, and useless


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_many_modules_are_equal_or_refused(seed):
    assert tried(seed, 400)["equal"] >= 160


def test_a_difference_is_seen(monkeypatch):
    from sugenet.io.exact import signals

    monkeypatch.setattr(
        signals,
        "pad_pulls",
        lambda op, weights, kinds, fill: (~kinds.all(axis=1))[None].repeat(len(weights), 0) * 1,
    )
    assert any(difference(case) for case in islice(cases(3), 60))
