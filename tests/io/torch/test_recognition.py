"""What names and shapes tell of a state dict and what they do not; the line that is told can be typed."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from sugenet.errors import FileError  # noqa: E402
from sugenet.io import Bits, from_state_dict  # noqa: E402
from sugenet.io.torch.architecture import recognized_chain  # noqa: E402


def shaken(module, seed=0):
    """Random numbers in every parameter, so that none can be taken for another."""
    torch.manual_seed(seed)
    for name, value in module.state_dict().items():
        if value.dtype.is_floating_point:
            value.uniform_(-1, 1)
            if name.endswith("running_var"):
                value.abs_().add_(0.2)
    return module.eval()


class Numbered(nn.Module):
    """fc1, bn1, fc2, ..., as most course work and BinaryNet.pytorch have it."""

    def __init__(self, together=True):
        super().__init__()
        pairs = [(9, 8), (8, 7), (7, 3)]
        for k, (a, b) in enumerate(pairs, 1):
            setattr(self, f"fc{k}", nn.Linear(a, b))
            if together and k < len(pairs):
                setattr(self, f"bn{k}", nn.BatchNorm1d(b))
        for k, (_, b) in enumerate(pairs[:-1] if not together else [], 1):
            setattr(self, f"bn{k}", nn.BatchNorm1d(b))


def listed(name, *layers):
    net = nn.Module()
    setattr(net, name, nn.Sequential(*layers))
    return net


def dense(a=9):
    return nn.Linear(a, 8), nn.BatchNorm1d(8), nn.Hardtanh(), nn.Linear(8, 3, bias=False), nn.BatchNorm1d(3)


def run(module, x):
    """What the line means, layer by layer: signed weights, a sign in front of every layer but the first."""
    kinds = (nn.Linear, nn.BatchNorm1d)
    found = [(name, layer) for name, layer in module.named_modules() if isinstance(layer, kinds)]
    if any("fc" in name for name, _ in found):  # by number, whatever the order in the file
        found.sort(key=lambda pair: (int(pair[0][2:]), pair[0][:2] == "bn"))
    for place, (_, layer) in enumerate(found):
        if isinstance(layer, nn.Linear):
            x = torch.where(x >= 0, 1.0, -1.0).double() if place else x
            x = nn.functional.linear(x, torch.where(layer.weight >= 0, 1.0, -1.0).double(), layer.bias)
        else:
            x = layer(x)
    return x


@pytest.mark.parametrize(
    ("module", "layout"),
    [
        (Numbered(), "fcN, bnN"),
        (Numbered(together=False), "fcN, bnN"),
        (listed("layers", *dense()), "layers.N"),
        (listed("features", *dense()), "features.N"),
        (
            listed("classifier", nn.Linear(9, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
            "classifier.N",
        ),
        (listed("net", nn.BatchNorm1d(9), nn.Linear(9, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), "net.N"),
    ],
)
def test_the_line_that_is_told_can_be_typed_and_means_what_was_said(module, layout):
    state = shaken(module).state_dict()
    with pytest.raises(
        FileError, match=r"follow no known layout. Say what they are for. By names"
    ) as refused:
        from_state_dict(state, inputs=Bits())
    said = str(refused.value)
    assert f"one chain of layers ({layout})" in said
    for asked in ("weights=stored", "sign(zero=0)", "affine(scale=2, shift=-1)", "eps=1e-5"):
        assert asked in said
    line = re.search(r"architecture='([^']*)'", said)[1]
    assert line == str(recognized_chain({name: value.numpy() for name, value in state.items()}).architecture)
    if layout == "net.N":  # real numbers behind a batch norm, which is a case of its own
        assert line.startswith("batchnorm:net.0 sign linear:net.1(weights=sign) batchnorm:net.2 sign")
        return
    found = from_state_dict(state, line, inputs=Bits()).report
    assert not any("recognized" in remark for remark in found.remarks)
    bits = np.random.default_rng(0).integers(0, 2, (300, 9))
    scores = run(module.double(), torch.from_numpy(2.0 * bits - 1)).detach().numpy()
    network = found.network
    np.testing.assert_allclose(network.head.logits(network.match_counts(bits)), scores, atol=1e-9)


def test_convolutions_ask_for_pads_strides_pools_and_the_shape():
    net = nn.Module()
    net.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 6, 3))
    net.classifier = nn.Sequential(nn.Linear(24, 3))
    with pytest.raises(FileError) as refused:
        from_state_dict(shaken(net).state_dict())
    said = str(refused.value)
    for asked in (
        "stride=1 and pad=0",
        "maxpool, avgpool",
        "4 pixels per channel",
        "shape=(channels, height",
    ):
        assert asked in said
    line = re.search(r"architecture='([^']*)'", said)[1]
    assert line == (
        "conv:features.0(weights=sign) batchnorm:features.1 sign conv:features.3(weights=sign) sign flatten "
        "linear:classifier.0(weights=sign)"
    )
    assert from_state_dict(net.state_dict(), line, shape=(1, 6, 6), inputs=Bits()).report.shape == (
        1,
        6,
        6,
    )


def test_binary_weights_are_not_asked_about_and_zeros_are():
    state = {"fc1.weight": np.array([[1, -1], [-1, 1.0]]), "fc2.weight": np.array([[0.5, -0.5], [0.5, 0.5]])}
    chain = recognized_chain(state)
    assert str(chain.architecture) == "linear:fc1 sign linear:fc2"
    assert "weights=" not in chain.told
    assert (
        "ternary where 0 stays 0"
        in recognized_chain(state | {"fc2.weight": np.array([[0.5, 0], [2, 1]])}).told
    )
    assert recognized_chain({"fc1.weight": np.array([[1, 0], [-1, 1.0]])}).modules[0].is_binary


def norm(name, size):
    return {f"{name}.{part}": np.ones(size) for part in ("weight", "bias", "running_mean", "running_var")}


@pytest.mark.parametrize(
    "state",
    [
        {"fc1.weight": np.ones((4, 3)), "fc2.weight": np.ones((2, 5))},  # 4 go out, 5 come in
        {"fc1.weight": np.ones((4, 3)), **norm("bn1", 5)},
        {"fc1.weight": np.ones((4, 3)), **norm("bn1", 4), **norm("bn2", 4)},
        {"fc1.weight": np.ones((4, 3)), "fc1.scale": np.ones(4)},
        {"fc1.weight": np.ones((4, 3)), "fc1.bias": np.ones(3)},
        {"fc1.weight": np.ones((4, 3, 2))},
        {"fc1.weight": np.ones((4, 3)), "c.weight": np.ones((2, 4, 1, 1))},  # flat values into a convolution
        {"a b.weight": np.ones((4, 3))},
        {"fc'1.weight": np.ones((4, 3))},
        {"weight": np.ones((4, 3))},
        norm("bn1", 4),
        # two orders fit: as listed, and by their numbers
        {"fc1.weight": np.ones((4, 4)), "fc2.weight": np.ones((4, 4)), **norm("bn1", 4)},
    ],
)
def test_what_is_no_chain_is_not_told_as_one(state):
    assert recognized_chain(state) is None
    with pytest.raises(FileError, match="Say what they are for: architecture="):
        from_state_dict(state)


STATISTICS = ("weight", "bias", "running_mean", "running_var")


@pytest.mark.parametrize("numbers", [(1, 5), (1, 2, 5), (1, 2, 3, 4, 5)])
def test_known_layouts_are_told_and_their_line_gives_the_same_network(numbers):
    random, before, state = np.random.default_rng(0), 6, {}
    for k in numbers:
        state[f"fc{k}.weight"] = random.uniform(-1, 1, (4, before))
        if k != numbers[-1]:
            state |= {f"bn{k}.{part}": random.uniform(0.5, 2, 4) for part in STATISTICS}
        before = 4
    found = from_state_dict(state, inputs=Bits(), zero=1).report
    said = next(remark for remark in found.remarks if remark.startswith("recognized by its names as NPAQ's"))
    assert said in str(found)
    line = said.partition("as an architecture: ")[2]
    again = from_state_dict(state, line, inputs=Bits(), zero=1).report
    assert again.network.fingerprint == found.network.fingerprint
    assert again.remarks == ()


def test_names_that_many_programs_use_are_not_taken_for_one_of_them():
    """fc1, bn1, fc2 without the fc5 of NPAQ: signs, eps and binarized weights are anybody's."""
    state = {"fc1.weight": np.ones((4, 3)), "fc2.weight": np.ones((2, 4)), **norm("bn1", 4)}
    with pytest.raises(FileError, match="By names and shapes it is one chain"):
        from_state_dict(state, inputs=Bits())
