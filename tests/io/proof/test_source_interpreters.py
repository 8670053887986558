"""What was read from arrays, state dicts and Keras files is compared with the source before it returns; a
reader that errs is caught.
"""

from dataclasses import replace

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io import Bits, from_state_dict, read_bnnquanalyst, read_npz
from sugenet.io import importers as importers_module
from sugenet.io.exact.ops import BatchNorm, Convolution, Flatten, LinearOp, MaxPool, OpChain, Sign
from tests.io.arrays import test_arrays
from tests.io.larq import test_larq

F = np.float32


def altered(chain, kind, change):
    """The chain with its first operation of a kind changed, as a reader that errs would have read it."""
    place = next(number for number, op in enumerate(chain.ops) if isinstance(op, kind))
    op = chain.ops[place]
    return replace(chain, ops=(*chain.ops[:place], replace(op, **change(op)), *chain.ops[place + 1 :]))


def misread(monkeypatch, kind, change):
    """Importers read every chain with this mistake."""
    plain = importers_module._imported
    monkeypatch.setattr(
        importers_module, "_imported", lambda chain, *more: plain(altered(chain, kind, change), *more)
    )


STATE = {
    "c.weight": np.linspace(-1, 1, 54, dtype=F).reshape(3, 2, 3, 3) ** 3,
    "c.bias": np.array([0.5, -0.25, 1.5], F),
    "n.weight": np.array([1.0, -0.5, 2.0], F),
    "n.bias": np.array([0.25, 0.5, -0.75], F),
    "n.running_mean": np.array([0.5, -0.5, 1.0], F),
    "n.running_var": np.array([1.0, 2.0, 0.5], F),
    "d.weight": np.cos(np.arange(48, dtype=F)).reshape(4, 12),
}
TEXT = "conv:c(weights=sign, pad=1) batchnorm:n sign maxpool flatten(order=HWC) linear:d(weights=sign)"


def state_dict():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return from_state_dict(STATE, TEXT, shape=(2, 5, 4), inputs=Bits()).report


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (Convolution, lambda op: {"bias": None}),
        (Convolution, lambda op: {"weights": op.weights[:, ::-1]}),
        (BatchNorm, lambda op: {"mean": op.mean + 3}),
        (BatchNorm, lambda op: {"gamma": abs(op.gamma)}),
        (MaxPool, lambda op: {"stride": (2, 1), "kernel": (2, 3)}),
        (Flatten, lambda op: {"order": "CHW"}),
        (LinearOp, lambda op: {"weights": op.weights[::-1]}),
    ],
    ids=["bias", "channels", "mean", "gamma", "stride", "order", "classes"],
)
def test_a_misread_state_dict_is_refused(monkeypatch, kind, change):
    assert "equal to PyTorch's functions in float64 on" in str(state_dict())
    misread(monkeypatch, kind, change)
    with pytest.raises(
        FileError,
        match="state dict: what was read is not what the source computes; the first difference is at",
    ):
        state_dict()


def keras(tmp_path):
    random = np.random.default_rng(0)
    kernel, depth, dense = (
        test_larq.latent(random, 3, 2, 2, 4),
        test_larq.latent(random, 2, 2, 4, 1),
        test_larq.latent(random, 24, 3),
    )
    quant = {"input_quantizer": "ste_sign", "use_bias": False}
    layers = [
        (
            "QuantConv2D",
            {
                "filters": 4,
                "kernel_size": [3, 2],
                "padding": "same",
                "pad_values": 1.0,
                "kernel_quantizer": "ste_sign",
                **quant,
            },
            {"kernel": kernel},
        ),
        ("BatchNormalization", {"axis": [3]}, test_larq.statistics(random, 4)),
        (
            "QuantDepthwiseConv2D",
            {
                "kernel_size": [2, 2],
                "strides": [2, 2],
                "padding": "same",
                "depthwise_quantizer": "ste_sign",
                **quant,
            },
            {"depthwise_kernel": depth},
        ),
        ("Flatten", {}, {}),
        ("QuantDense", {"units": 3, "kernel_quantizer": "ste_sign", **quant}, {"kernel": dense}),
        ("Activation", {"activation": "softmax"}, {}),
    ]
    path = test_larq.write(tmp_path / "net.h5", layers, (5, 4, 2))
    return importers_module.read_larq(path, inputs=Bits()).report


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (Convolution, lambda op: {"weights": op.weights[:, :, ::-1]}),
        (BatchNorm, lambda op: {"mean": op.mean + 3}),
        (Sign, lambda op: {"low": 0.0}),
        (Flatten, lambda op: {"order": "CHW"}),
    ],
    ids=["kernel", "mean", "low", "order"],
)
def test_a_misread_keras_file_is_refused(monkeypatch, tmp_path, kind, change):
    pytest.importorskip("h5py", reason="h5py is not installed")
    assert "equal to Keras' layers computed in float64 by NumPy on" in str(keras(tmp_path))
    misread(monkeypatch, kind, change)
    with pytest.raises(FileError, match=r"net.h5: what was read is not what the source computes"):
        keras(tmp_path)


@pytest.mark.parametrize(
    ("kind", "change"),
    [(LinearOp, lambda op: {"bias": op.bias + 2}), (LinearOp, lambda op: {"weights": -op.weights})],
)
def test_misread_arrays_are_refused(monkeypatch, tmp_path, kind, change):
    random = np.random.default_rng(1)
    np.savez(tmp_path / "counts.npz", **test_arrays.bits(random))
    np.savez(tmp_path / "blocks.npz", **test_arrays.msakai(random))
    folder = test_arrays.folder(tmp_path / "folder", random)
    reads = {
        "match counts counted by NumPy": lambda: read_npz(tmp_path / "counts.npz", inputs=Bits()).report,
        "blocks computed in float64 by NumPy": lambda: read_npz(tmp_path / "blocks.npz").report,
        "blocks computed in float64": lambda: read_bnnquanalyst(folder, inputs=Bits()).report,
    }
    for who, read in reads.items():
        assert f"equal to {who}" in str(read())
    misread(monkeypatch, kind, change)
    for read in reads.values():
        with pytest.raises(FileError, match="what was read is not what the source computes"):
            read()


def test_a_comparison_can_be_left_out_and_the_report_says_so():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    found = from_state_dict(STATE, TEXT, shape=(2, 5, 4), inputs=Bits(), prove=False).report
    assert found.proof is None
    assert "nothing was compared with the source" in str(found)


def test_a_feature_that_never_turns_raises_no_alarm(tmp_path):
    """Its threshold is at the largest float, where an interpreter would compute with infinity."""
    arrays = test_arrays.msakai(np.random.default_rng(4))
    arrays["input_bn/gamma"][:2] = 0
    np.savez(tmp_path / "net.npz", **arrays)
    assert read_npz(tmp_path / "net.npz").report.proof.samples > 100


def test_chains_are_altered_as_said():
    ops = (LinearOp("a", np.eye(2)), Sign("s"))
    assert altered(OpChain("x", (2,), ops), Sign, lambda op: {"low": 0.0}).ops[1].low == 0.0
