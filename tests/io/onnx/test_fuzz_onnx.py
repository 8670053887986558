"""Graphs drawn from a grammar: refused in words that read well, or equal to ONNX Runtime and to the
interpreter on all samples.
"""

from collections import Counter
from itertools import islice

import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from sugenet.io.importers import read_onnx
from tests.fuzzing.onnx_graphs import cases, result
from tests.thinned import examples


def tried(seed, count):
    kinds = Counter()
    for case in islice(cases(seed), count):
        found = result(case)
        assert found.kind != "different", f"{case.name}: {found.text}"
        kinds[found.kind] += 1
    return kinds


def test_some_graphs():
    kinds = tried(11, examples(150))
    assert kinds["equal"] > 0.4 * examples(150), kinds


def test_graphs_that_are_equal_prove_themselves():
    """The comparison that every import makes refuses none of them."""
    proved = 0
    for case in islice(cases(12), 60):
        if result(case).kind == "equal":
            proof = read_onnx(case.raw, inputs=case.inputs).report.proof
            assert proof is not None
            assert proof.interpreters[0].startswith("an interpreter of ONNX operators in float64")
            proved += 1
    assert proved > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 108))
def test_many_graphs(seed):
    kinds = tried(seed, 2000)
    assert kinds["equal"] > 0.4 * 2000, kinds
