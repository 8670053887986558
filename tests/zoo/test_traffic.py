"""The traffic-sign queries of VNN-COMP 2023, over real boxes: a proof that is checked, counterexamples that
ONNX Runtime confirms.
"""

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sugenet as sg
from sugenet.engines.hard.reals.deciding import decide_query
from sugenet.engines.hard.reals.witness import check_real_witness
from sugenet.io import read_onnx, read_vnnlib
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Fails, Holds
from tests.checker.typed import check_patches

ZOO = os.environ.get("SUGENET_ZOO")
pytestmark = pytest.mark.skipif(not ZOO, reason="SUGENET_ZOO does not name a folder of public networks")
FOLDER = Path(ZOO or ".") / "traffic"


@cache
def traffic():
    return read_onnx(next(FOLDER.glob("*.onnx.gz")), inputs=sg.Reals(0, 255)).report


def asked(idx, eps):
    return read_vnnlib(FOLDER / f"model_30_idx_{idx}_eps_{eps}.00000.vnnlib.gz")


def test_every_threshold_of_the_first_layer_is_zero():
    assert set(traffic().network.layers[0].theta) == {(0, 0)}


def test_8258_is_robust_within_1():
    network, query = traffic().network, asked(8258, 1)
    outcome = decide_query(network, query, Clock())
    assert isinstance(outcome, Holds)
    said = check_patches(outcome.proof, network, query)
    assert said.startswith("none of 42 ways to violate the property can occur")


@pytest.mark.parametrize(
    ("idx", "eps"),
    [pytest.param(8258, 3, marks=pytest.mark.slow), (8258, 5), (7040, 1), (11985, 1)],
)
def test_counterexamples_of_whole_pixels(idx, eps, tmp_path):
    network, query = traffic().network, asked(idx, eps)
    outcome = decide_query(network, query, Clock())
    assert isinstance(outcome, Fails)
    assert all(type(value) is int for value in outcome.witness)
    check_real_witness(outcome.witness, network, query)
    onnxruntime = pytest.importorskip("onnxruntime")
    plain = tmp_path / "traffic.onnx"
    plain.write_bytes(gzip.decompress(next(FOLDER.glob("*.onnx.gz")).read_bytes()))
    session = onnxruntime.InferenceSession(str(plain), providers=["CPUExecutionProvider"])
    image = np.array(outcome.witness, np.float32)
    assert query.contains(image)
    (scores,) = session.run(None, {session.get_inputs()[0].name: image.reshape(1, 30, 30, 3)})
    assert query.violated_by(image, scores[0])
