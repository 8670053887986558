"""Checkpoints and state dicts with a declared architecture; the accuracies that their authors' files have."""

import gzip
import os
import pickle
import struct
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.thinned import examples

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from sugenet.errors import FileError  # noqa: E402
from sugenet.io.arrays.reader import read_npz  # noqa: E402
from sugenet.io.exact.domains import Bits, Integers  # noqa: E402
from sugenet.io.exact.lower import lower  # noqa: E402
from sugenet.io.exact.ops import BatchNorm, LinearOp, Sign  # noqa: E402
from sugenet.io.importers import from_state_dict  # noqa: E402
from sugenet.io.torch.architecture import (  # noqa: E402
    Architecture,
    Part,
    known_layout,
)
from sugenet.io.torch.saved import read_checkpoint  # noqa: E402
from tests.io.chains import chain_of_state_dict, evaluate  # noqa: E402

ZOO = os.environ.get("SUGENET_ZOO")
needs_zoo = pytest.mark.skipif(ZOO is None, reason="SUGENET_ZOO does not name a folder of public networks")
PIXELS = Integers(0, 255, step=Fraction(1, 255))


def images(count):
    def idx(name):
        data = gzip.decompress((Path(ZOO) / "mnist" / name).read_bytes())
        shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
        return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)[:count]

    return idx("t10k-images-idx3-ubyte.gz"), idx("t10k-labels-idx1-ubyte.gz")


# -- files of others -----------------------------------------------------------------------------------------


@needs_zoo
def test_brevitas_tfc_has_its_accuracy():
    chain = chain_of_state_dict(Path(ZOO) / "brevitas" / "TFC_1W1A.tar", bits=1)
    x, y = images(10_000)
    imported = lower(chain, PIXELS)
    assert [layer.flipped for layer in imported.layers[1:]] == [1, 2, 15]
    assert (imported.network.predict(x.reshape(-1, 784)) == y).mean() == 0.9338


@needs_zoo
@pytest.mark.parametrize(
    ("name", "accuracy"),
    [
        ("mnist-100-bnn_1blk_50", 0.705),
        ("mnist-100-bnn_1blk_50_sparse=0.05", 0.7795),
        ("mnist-25-bnn_25_1blk_20", 0.369),
    ],
)
def test_npaq_has_its_accuracy(name, accuracy):
    """Pixels are resized by Pillow's bilinear filter, which averages over the shrunken area; PyTorch's
    without antialias gives 63.7 %.
    """
    chain = chain_of_state_dict(Path(ZOO) / "npaq" / f"{name}.pt")
    side = round(chain.shape[0] ** 0.5)
    x, y = images(2000)
    small = np.array(
        [np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR)) for image in x]
    )
    network = lower(chain, Bits()).network  # torch.sign: that 0 never occurs is proved here
    assert (network.predict(small.reshape(len(small), -1) / 255 > 0.1307) == y).mean() == accuracy


@needs_zoo
def test_msakai_checkpoint_is_its_npz():
    folder = Path(ZOO) / "msakai"
    ours, theirs = chain_of_state_dict(folder / "mnist.pt"), read_npz(folder / "mnist.npz")
    assert [type(op) for op in ours.ops] == [type(op) for op in theirs.ops]
    for a, b in zip(ours.ops, theirs.ops, strict=True):
        if isinstance(a, LinearOp):
            assert np.array_equal(a.weights, b.weights)
            assert np.array_equal(a.bias, b.bias)
        elif isinstance(a, BatchNorm):
            assert a.eps == b.eps
            assert all(
                np.array_equal(getattr(a, part), getattr(b, part))
                for part in ("gamma", "beta", "mean", "var")
            )


# -- declarations --------------------------------------------------------------------------------------------


def test_text_and_parts_are_one():
    text = (
        "pad(size=1x2, value=-1) conv:c1(weights=scaled, floor=1/65536, stride=2, pad=1x0) "
        "batchnorm:b1(eps=2e-5) sign(zero=-1) flatten"
    )
    net = Architecture.parse(text)
    assert str(net) == text
    assert Architecture.parse(str(net)) == net
    conv = net.parts[1]
    assert conv == Part(
        "conv", "c1", (("weights", "scaled"), ("floor", "1/65536"), ("stride", "2"), ("pad", "1x0"))
    )
    assert (
        conv.number("floor", 0),
        conv.pair("stride", 1),
        conv.pair("pad", 0),
        conv.pair("dilation", 1),
    ) == (
        Fraction(1, 65536),
        (2, 2),
        (1, 0),
        (1, 1),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the architecture is empty"),
        ("linear", "linear: write linear:name with the name of its parameters"),
        ("sign:bn1", "sign:bn1: write sign without a name"),
        ("liner:fc1", "there is no part 'liner'. Parts are linear, conv"),
        (
            "linear:fc1(weight=sign)",
            r"unknown option 'weight'. linear takes bias, bits, floor, scale, weights",
        ),
        ("linear:fc1(weights=signs)", "weights must be one of stored, sign, ternary, scaled"),
        ("batchnorm:b(eps=tiny)", "eps=tiny is not a number"),
        ("maxpool(kernel=1x2x3)", "kernel=1x2x3 is not a number"),
        ("linear:fc1 ((", r"cannot be read at '\(\('"),
        ("affine(scale=1/0)", "is not a number"),
    ],
)
def test_wrong_declarations_are_explained(text, message):
    with pytest.raises(FileError, match=message):
        Architecture.parse(text)


STATE = {
    "a.weight": np.array([[0.5, -0.25, 0.0], [-1.0, 2.0, 3.0]], np.float32),
    "a.bias": np.array([0.5, -0.5], np.float32),
    "n.weight": np.array([1.0, -1.0], np.float32),
    "n.bias": np.zeros(2, np.float32),
    "n.running_mean": np.zeros(2, np.float32),
    "n.running_var": np.ones(2, np.float32),
    "b.weight": np.array([[1.0, -1.0]], np.float32),
}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("stored", [[0.5, -0.25, 0.0], [-1, 2, 3]]),
        ("sign", [[1, -1, 1], [-1, 1, 1]]),
        ("ternary", [[1, -1, 0], [-1, 1, 1]]),
        ("scaled", [[0.25, -0.25, 0.25], [-2, 2, 2]]),
        ("scaled, floor=1/2", [[0.5, -0.5, 0.5], [-2, 2, 2]]),
        ("scaled-all", [[1.125, -1.125, 1.125], [-1.125, 1.125, 1.125]]),
    ],
)
def test_latent_weights_are_used_as_declared(rule, expected):
    linear = chain_of_state_dict(STATE, f"linear:a(weights={rule}) sign linear:b unused:n").ops[0]
    assert linear.weights.tolist() == expected
    assert linear.weights.dtype == np.float32
    assert linear.bias.tolist() == [0.5, -0.5]
    assert chain_of_state_dict(STATE, "linear:a(bias=no) sign linear:b unused:n").ops[0].bias is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linear:c", "there is no 'c.weight'. There are a.weight"),
        ("linear:a linear:a", r"linear:a: 3 weights a neuron, but values of shape \(2,\) come in"),
        ("linear:a batchnorm:n linear:n", "'n.weight' has shape .2,., but 2 dimensions are needed"),
        ("linear:b batchnorm:n", "2 numbers in n.running_mean, but 1 are needed"),
        ("linear:a tensornorm:n", "2 numbers in n.running_mean, but 1 are needed"),
        ("flatten linear:a", "the shape of a sample is not known. Give shape="),
        ("linear:a maxpool", "reads maps, but values of shape"),
    ],
)
def test_sizes_are_checked(text, message):
    with pytest.raises(FileError, match=message):
        chain_of_state_dict(STATE, text)


def test_a_convolutional_state_dict_equals_its_module():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, stride=2),
        nn.BatchNorm2d(4),
        nn.Hardtanh(),
        nn.MaxPool2d(2),
        nn.ZeroPad2d(1),
        nn.Conv2d(4, 6, 2, groups=2, bias=False),
        nn.AvgPool2d(2, stride=1, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 3),
    ).eval()
    text = (
        "conv:0(pad=1, stride=2) batchnorm:1 hardtanh maxpool pad conv:5(groups=2) avgpool(stride=1, pad=1) "
        "relu globalavgpool flatten linear:10"
    )
    chain = chain_of_state_dict(module.state_dict(), text, shape=(2, 8, 8))
    x = torch.randn(5, 2, 8, 8)
    with torch.no_grad():
        np.testing.assert_allclose(evaluate(chain, x.numpy()), module(x).numpy(), atol=1e-5)


def test_known_layouts():
    wrapped = {f"module.{name}": value for name, value in STATE.items()}
    assert chain_of_state_dict(wrapped, "linear:a batchnorm:n sign linear:b").shape == (3,)
    newer = {f"features.{k}.weight": np.ones((4, 4), np.float32) for k in (2, 6)}
    norm = {
        f"features.3.{part}": np.ones(4, np.float32)
        for part in ("weight", "bias", "running_mean", "running_var")
    }
    scalar = {
        f"features.7.{part}": np.ones(1, np.float32)
        for part in ("weight", "bias", "running_mean", "running_var")
    }
    state = {
        "features.2.weight": newer["features.2.weight"],
        **norm,
        "features.6.weight": newer["features.6.weight"],
        **scalar,
    }
    assert str(known_layout(state).architecture) == (
        "affine(scale=2, shift=-1) sign linear:features.2(weights=sign) batchnorm:features.3 sign "
        "linear:features.6(weights=sign) tensornorm:features.7"
    )
    last = chain_of_state_dict(state, bits=1).ops[-1]
    assert (last.eps, last.gamma.tolist()) == (1e-4, [1.0])
    assert known_layout(STATE) is None
    with pytest.raises(
        FileError, match=r"follow no known layout. Say what they are for. By names and shapes"
    ):
        chain_of_state_dict(STATE)
    with pytest.raises(FileError, match=r"follow no known layout. Say what they are for: architecture="):
        chain_of_state_dict(STATE | {"a.scale": np.ones(2)})


# -- what a file does not say --------------------------------------------------------------------------------


def brevitas(blocks=2, width=4, features=6, classes=3, old=True):
    """A state dict in the layout of Brevitas' FC: in the first releases ending in `fc`,
    later in a scalar norm.
    """
    random = np.random.default_rng(0)

    def norm(size):
        columns = {
            part: random.standard_normal(size).astype(np.float32)
            for part in ("weight", "bias", "running_mean")
        }
        return columns | {"running_var": random.uniform(0.5, 2, size).astype(np.float32)}

    state, before = {}, features
    for b in range(blocks):
        state[f"features.{4 * b + 2}.weight"] = random.uniform(-1, 1, (width, before)).astype(np.float32)
        state |= {f"features.{4 * b + 3}.{part}": column for part, column in norm(width).items()}
        state[f"features.{4 * b + 3}.num_batches_tracked"] = np.array(7)
        before = width
    last = random.uniform(-1, 1, (classes, width)).astype(np.float32)
    if old:
        return state | {"fc.weight": last}
    end = {f"features.{4 * blocks + 3}.{part}": column for part, column in norm(1).items()}
    return state | {f"features.{4 * blocks + 2}.weight": last} | end


@pytest.mark.parametrize("old", [True, False])
def test_brevitas_files_are_read_when_their_bits_are_said(old):
    """Files of 1-bit and of 2-bit networks have the same names and the same kind of numbers."""
    state = brevitas(old=old)
    with pytest.raises(
        FileError, match=r"Brevitas wrote it, whose files do not say how many bits .* say bits=1; "
    ):
        from_state_dict(state)
    if old:
        for bits in (2, (1, 2), (2, 1), (1, 1, 2)):
            with pytest.raises(FileError, match=r"early releases of Brevitas wrote it.* Say them in an"):
                from_state_dict(state, bits=bits)
    found = from_state_dict(state, bits=1).report
    x = np.random.default_rng(1).uniform(0, 1, (200, 6))
    h = np.where(2 * x - 1 >= 0, 1.0, -1.0)
    for b in range(2):
        w, n = (
            state[f"features.{4 * b + 2}.weight"],
            {part: state[f"features.{4 * b + 3}.{part}"] for part in STATISTICS},
        )
        h = np.where(normed(h @ latent(w, old, axis=1).T, n, 1e-5) >= 0, 1.0, -1.0)
    scores = h @ latent(state["fc.weight" if old else "features.10.weight"], old, axis=None).T
    if not old:
        scores = normed(scores, {part: state[f"features.11.{part}"] for part in STATISTICS}, 1e-4)
    assert (found.network.predict(x) == scores.argmax(axis=1)).all()


STATISTICS = ("weight", "bias", "running_mean", "running_var")


def latent(w, scaled, axis):
    sizes = np.abs(w.astype(float)).mean(axis=axis, keepdims=True) if scaled else 1.0
    return np.where(w >= 0, 1.0, -1.0) * sizes


def normed(x, n, eps):
    return n["weight"] * (x - n["running_mean"]) / np.sqrt(n["running_var"].astype(float) + eps) + n["bias"]


@pytest.mark.parametrize(
    "name",
    [
        "features.0.act_quant_proxy.fused_activation_quant_proxy.tensor_quant.scaling_impl.learned_value",
        "features.4.act_quant.fused_activation_quant_proxy.tensor_quant.scaling_impl.value",
    ],
)
@pytest.mark.parametrize("bits", [None, 1])
def test_a_learned_scale_of_activations_means_more_than_one_bit(name, bits):
    state = brevitas() | {name: np.array(0.5, np.float32)}
    with pytest.raises(
        FileError, match=f"'{name}' is a learned scale of activations, .* they have more bits"
    ):
        from_state_dict(state, bits=bits)
    with pytest.raises(FileError, match=r"does not say whether the scale or .*bits=3, learned=log2"):
        from_state_dict(state, bits=(1, 3))


@needs_zoo
def test_tfc_asks_for_its_bits():
    path = Path(ZOO) / "brevitas" / "TFC_1W1A.tar"
    with pytest.raises(FileError, match=r"TFC_1W1A.tar: Brevitas wrote it, .* say bits=1"):
        from_state_dict(path)
    x, y = images(10_000)
    assert (from_state_dict(path, bits=1, inputs=PIXELS).predict(x.reshape(-1, 784)) == y).mean() == 0.9338


def test_bits_beside_an_architecture_are_refused():
    with pytest.raises(FileError, match="bits=1 beside an architecture, which says it itself"):
        from_state_dict(STATE, "linear:a batchnorm:n sign linear:b", bits=1)


@pytest.mark.parametrize("blocks", [1, 3])
def test_npaq_networks_made_from_a_description(blocks):
    """`mod_list` holds a linear layer, a batch norm and a hard tanh for each block, then a linear layer;
    every linear layer signs its input.
    """
    torch.manual_seed(blocks)
    layers, before = [], 9
    for _ in range(blocks):
        layers += [nn.Linear(before, 5), nn.BatchNorm1d(5), nn.Hardtanh()]
        before = 5
    layers.append(nn.Linear(5, 10))
    net = nn.Module()
    net.mod_list = nn.ModuleList(layers)
    for layer in layers:
        if isinstance(layer, nn.BatchNorm1d):
            layer.running_mean.normal_()
            layer.weight.data.normal_()
    layers[0].weight.data[0, 0] = 0  # a sparse one
    net.eval().double()
    found = from_state_dict(net.state_dict(), inputs=Bits()).report
    x = torch.randint(0, 2, (300, 9)).double() * 2 - 1
    with torch.no_grad():
        h = x
        for layer in net.mod_list:
            h = (
                nn.functional.linear(h.sign(), layer.weight.sign(), layer.bias)
                if isinstance(layer, nn.Linear)
                else layer(h)
            )
    assert (found.network.predict(x.numpy() > 0) == h.argmax(1).numpy()).all()
    assert known_layout(net.state_dict()).program == "NPAQ"


@pytest.mark.parametrize(
    "change",
    [
        {"mod_list.2.weight": np.ones(5)},
        {"mod_list.4.weight": np.ones((5, 5))},
        {"head.weight": np.ones((5, 5))},
    ],
)
def test_a_list_of_other_modules_is_not_taken_for_npaq(change):
    state = {"mod_list.0.weight": np.ones((5, 9)), "mod_list.3.weight": np.ones((10, 5))}
    state |= {f"mod_list.1.{part}": np.ones(5) for part in STATISTICS}
    assert from_state_dict(state, inputs=Bits(), zero=1).report.shape == (9,)
    with pytest.raises(FileError, match=r"follow no known layout|'head.weight' would be left over"):
        from_state_dict(state | change, inputs=Bits(), zero=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "linear:a sign linear:b",
            r"state dict: 'n.weight' and 3 more would be left over: no part .* unused:n\.",
        ),
        (
            "linear:a batchnorm:n sign linear:b unused:a.scale unused:q",
            "unused:q: there is nothing of that name",
        ),
        ("linear:a batchnorm:n sign linear:b", r"'a.scale' would be left over: .* unused:a\."),
    ],
)
def test_no_parameter_is_left_over(text, message):
    state = STATE if "n.weight" in message else STATE | {"a.scale": np.ones(2)}
    with pytest.raises(FileError, match=message):
        from_state_dict(state, text)
    from_state_dict(
        STATE | {"n.num_batches_tracked": np.array(3)},
        "linear:a(weights=sign) batchnorm:n sign linear:b",
        inputs=Bits(),
    )
    with pytest.raises(FileError, match=r"'a.scale' is a float and not a tensor"):
        from_state_dict(STATE | {"a.scale": 0.5}, "linear:a batchnorm:n sign linear:b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linear:a(weights=sign, weights=stored)", "weights is given twice"),
        ("linear:a(weights=sign, floor=1)", "floor is for weights=scaled"),
        ("batchnorm:n(eps=1x2)", "eps is one number, not two"),
        ("conv:c(groups=2x3)", "groups is one number, not two"),
        ("linear:a batchnorm:n(eps=-2)", "running_var . eps must be positive"),
        ("linear:a sign(low=1/3)", "low=1/3 is not a float"),
    ],
)
def test_no_word_of_a_declaration_is_passed_over(text, message):
    with pytest.raises(FileError, match=message):
        chain_of_state_dict(STATE, text)


def test_a_state_dict_that_starts_with_a_convolution():
    torch.manual_seed(0)
    conv, norm, fc = nn.Conv2d(2, 3, 3, padding=1, stride=2), nn.BatchNorm2d(3), nn.Linear(12, 4)
    norm.running_mean.normal_()
    norm.weight.data.normal_()
    module = nn.Sequential(conv, norm, nn.Flatten(), fc).eval().double()
    text = "conv:0(weights=sign, pad=1, stride=2) batchnorm:1 sign flatten linear:3(weights=sign)"
    with pytest.raises(
        FileError,
        match=r"the shape of a sample is not known. Give shape=\(channels, .* such as shape=\(1, 28, 28\)",
    ):
        from_state_dict(module.state_dict(), text, inputs=Bits())
    with pytest.raises(
        FileError, match=r"shape=\(2, 4\) must be \(features,\) or \(channels, height, width\)"
    ):
        from_state_dict(module.state_dict(), text, shape=(2, 4), inputs=Bits())
    found = from_state_dict(module.state_dict(), text, shape=(2, 4, 4), inputs=Bits()).report
    for layer in (conv, fc):
        layer.weight.data = torch.where(layer.weight >= 0, 1.0, -1.0).double()
    x = torch.randint(0, 2, (200, 2, 4, 4)).double() * 2 - 1
    with torch.no_grad():
        h = norm(conv(x))
        scores = fc(torch.where(h >= 0, 1.0, -1.0).double().flatten(1))
    assert (found.network.predict(x.flatten(1).numpy() > 0) == scores.argmax(1).numpy()).all()


def test_a_checkpoint_with_two_networks_is_refused(tmp_path):
    state = {name: torch.from_numpy(value) for name, value in STATE.items()}
    torch.save({"model": state, "net": state}, tmp_path / "two.pt")
    with pytest.raises(FileError, match=r"two.pt: it holds several state dicts: model, net"):
        read_checkpoint(tmp_path / "two.pt")
    itself = {}
    itself["model"] = itself
    torch.save(itself, tmp_path / "itself.pt")
    with pytest.raises(FileError, match=r"itself.pt: "):
        read_checkpoint(tmp_path / "itself.pt")


# -- hostile files -------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.pt"
    torch.save({name: torch.from_numpy(value) for name, value in STATE.items()}, path)
    return path


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("wrap", [None, "state_dict", "model_state_dict"])
def test_both_formats_of_torch_save(tmp_path, new, wrap):
    state = {name: torch.from_numpy(value) for name, value in STATE.items()} | {
        "half": torch.ones(2, dtype=torch.bfloat16)
    }
    torch.save(
        {wrap: state, "epoch": 3} if wrap else state, tmp_path / "net.tar", _use_new_zipfile_serialization=new
    )
    found = read_checkpoint(tmp_path / "net.tar")
    assert set(found) == {*STATE, "half"}
    assert all(
        np.array_equal(found[name], value) and found[name].dtype == value.dtype
        for name, value in STATE.items()
    )


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_code_is_never_run(tmp_path, saved):
    torch.save({"a": Evil(tmp_path / "ran")}, tmp_path / "evil.pt")
    with pytest.raises(
        FileError,
        match=r"evil.pt: reading it would run code \((posix|nt)\.mkdir\), which is never done. Save the "
        r"parameters alone",
    ):
        read_checkpoint(tmp_path / "evil.pt")
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    with pytest.raises(FileError, match=r"raw.pt: "):
        read_checkpoint(tmp_path / "raw.pt")
    torch.save(nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(FileError, match=r"would run code .torch.nn.modules.linear.Linear"):
        read_checkpoint(tmp_path / "module.pt")
    assert not (tmp_path / "ran").exists()


def test_tensors_that_claim_more_than_the_file_are_refused(tmp_path):
    torch.save({"a": torch.zeros(1).expand(1 << 20, 1 << 20)}, tmp_path / "wide.pt")
    with pytest.raises(FileError, match=r"wide.pt: 'a' of shape \(1048576, 1048576\) takes more than the"):
        read_checkpoint(tmp_path / "wide.pt")


def test_archives_that_unpack_to_more_are_refused(tmp_path, saved):
    with (
        zipfile.ZipFile(saved) as old,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    with pytest.raises(FileError, match="its archive unpacks to more than its"):
        read_checkpoint(tmp_path / "packed.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has 0 bytes"),
        (b"hello", "it is not a checkpoint of torch.save"),
        (b"PK\x03\x04 nothing", "archive is damaged"),
        (b"\x80\x02.", "its pickle is damaged"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(FileError, match=message):
        read_checkpoint(tmp_path / "x.pt")
    with pytest.raises(FileError, match="cannot be opened"):
        read_checkpoint(tmp_path / "missing.pt")


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        {"a": 1},
        {1: torch.ones(2)},
        {"a": torch.tensor([float("nan")])},
        {"a": torch.ones(2, dtype=torch.complex64)},
    ],
)
def test_checkpoints_without_usable_tensors(tmp_path, value):
    torch.save(value, tmp_path / "x.pt")
    with pytest.raises(FileError, match=r"x\.pt: "):
        read_checkpoint(tmp_path / "x.pt")


@pytest.mark.parametrize("new", [True, False])
@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_checkpoints_end_in_a_file_error_or_in_arrays(tmp_path, new, data):
    path = tmp_path / f"base{new}.pt"
    if not path.exists():
        torch.save({"a": torch.ones(3, 4), "b": torch.zeros(2)}, path, _use_new_zipfile_serialization=new)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(0, len(raw))) :]
    broken = tmp_path / "broken.pt"
    broken.write_bytes(raw)
    try:
        found = read_checkpoint(broken)
    except FileError:
        return
    assert sum(array.nbytes for array in found.values()) <= 16 * len(raw)


def test_signs_carry_their_rule():
    assert [
        (op.zero, op.low)
        for op in chain_of_state_dict(STATE, "linear:a sign(zero=-1, low=0) linear:b unused:n").ops
        if isinstance(op, Sign)
    ] == [(-1, 0.0)]
