"""Random state dicts, Keras files, arrays and folders against PyTorch's own layers; random exports against
all samples gone through.

The networks and questions are made by `tests.fuzzing`, from seeds, so that a failure can be made again; what
was found once stands below it as the smallest file that shows it.
"""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("h5py", reason="h5py is not installed")

from sugenet.io import Bits, from_state_dict
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import Convolution, Flatten, LinearOp, OpChain, Pad, Quantize, Sign
from sugenet.io.larq.reader import read_model
from tests.fuzzing import exports, sources
from tests.fuzzing.source_keras import write
from tests.io.chains import evaluate


@pytest.mark.parametrize("seed", range(8))
def test_what_is_read_is_what_the_source_computes(seed):
    seen = Counter()
    for case in islice(sources.cases(seed), 30):
        accepted, wrong = sources.outcome(case)
        assert wrong is None, wrong
        seen[accepted] += 1
    assert seen[True] >= 9, "too few of the files are accepted for the comparison to mean much"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_more_sources(seed):
    for case in islice(sources.cases(seed), 500):
        assert sources.difference(case) is None


@pytest.mark.parametrize("seed", range(4))
def test_an_exported_question_has_the_same_answer(seed):
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    pytest.importorskip("pysat", reason="python-sat is not installed")
    for case in islice(exports.cases(seed), 40):
        assert exports.difference(case) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_more_exports(seed):
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    pytest.importorskip("pysat", reason="python-sat is not installed")
    for case in islice(exports.cases(seed), 500):
        assert exports.difference(case) is None


# -- what was found once -------------------------------------------------------------------------------------


def test_the_sign_of_padded_zeros_is_one(tmp_path):
    """Zeros laid around bits are signed with them when the next layer takes signs of its input."""
    kernel, dense = np.ones((1, 2, 1, 1), np.float32), np.array([[1.0, -1.0]] * 2, np.float32)
    layers = [
        ("Activation", {"activation": "ste_sign"}, {}),
        ("ZeroPadding2D", {"padding": [[0, 0], [1, 0]]}, {}),
        (
            "QuantConv2D",
            {
                "filters": 1,
                "kernel_size": [1, 2],
                "input_quantizer": "ste_sign",
                "kernel_quantizer": "ste_sign",
                "use_bias": False,
            },
            {"kernel": kernel},
        ),
        ("Activation", {"activation": "ste_sign"}, {}),
        ("Flatten", {}, {}),
        ("QuantDense", {"units": 2, "kernel_quantizer": "ste_sign", "use_bias": False}, {"kernel": dense}),
    ]
    network = lower(read_model(*write(tmp_path, layers, (1, 2, 1), False), apart=False)[0], Bits()).network
    assert network.head.logits(network.match_counts([[1, 1], [0, 1], [1, 0]])).tolist() == [
        [2, -2],
        [2, -2],
        [2, -2],
    ]


def test_two_pads_of_different_values():
    state = {"c.weight": np.ones((1, 1, 1, 3), np.float32), "d.weight": np.ones((2, 3), np.float32)}
    text = "pad(size=0x1) pad(size=0x0, value=1) conv:c sign(low=0) flatten linear:d"
    found = from_state_dict(state, text, shape=(1, 1, 3), inputs=Bits()).report
    assert found.network.head.logits(
        found.network.match_counts([[1, 1, 1], [0, 0, 1], [0, 1, 0]])
    ).tolist() == [[3, 3], [1, 1], [2, 2]]


def test_a_sign_that_turns_its_input_around_and_another_behind():
    state = {"c.weight": np.ones((1, 3), np.float32), "d.weight": np.ones((2, 1), np.float32)}
    found = from_state_dict(
        state, "linear:c sign(low=1, high=-1) sign(zero=0, low=1, high=-1) linear:d", inputs=Bits()
    ).report
    assert found.network.head.logits(found.network.match_counts([[1, 1, 0], [1, 0, 0]])).tolist() == [
        [1, 1],
        [-1, -1],
    ]


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("kernel", [[0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
def test_padding_around_bits_that_are_always_one(kernel, value):
    """A sign of 0 and 1 is 1 always: then no level of the maps stands for another number around them."""
    ops = (
        Sign("first", zero=-1, low=0.0),
        Sign("always"),
        Pad("pad", (1, 0, 1, 0), value),
        Convolution("conv", np.array(kernel).reshape(1, 1, 2, 1)),
        Quantize("steps", np.array([[-0.5, 0.5]]), np.array([True, False])),
        Flatten("flat"),
        LinearOp("out", np.eye(3)),
    )
    chain = OpChain("net", (1, 2, 1), ops)
    bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    network = lower(chain, Bits()).network
    expected = evaluate(chain, (2.0 * bits - 1).reshape(-1, 1, 2, 1))
    assert network.head.logits(network.match_counts(bits)).tolist() == expected.tolist()
