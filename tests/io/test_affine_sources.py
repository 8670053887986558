"""Every kind of file with something affine on raw inputs, written with its own tool: all scores of hundreds
of samples.
"""

from __future__ import annotations

import pytest

from benchmarks.files.affine import kinds
from benchmarks.files.kind import Read, Refused, Skipped


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: f"{kind.tool}: {kind.name}")
def test_a_kind_is_read_or_refused_with_a_way(kind, tmp_path):
    outcome = kind.attempt(tmp_path)
    if isinstance(outcome, Skipped):
        pytest.skip(outcome.why)
    if kind.name == "clipped inputs":
        assert isinstance(outcome, Refused)
    else:
        assert outcome == Read(300, 0)
