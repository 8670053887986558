"""Activations of published networks as modules and as ONNX files: signs with a smooth residue (Bi-Real,
ReActNet), several batch norms, PReLU and leaky ReLU before one sign (XNOR-Net).
"""

from io import BytesIO

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from tests.fuzzing.torch_models import approx  # noqa: E402
from tests.io.chains import read_chain  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class ApproxSign(nn.Module):
    def forward(self, x):
        return approx(x)


class Rounded(nn.Module):
    def forward(self, x):
        return torch.round(x)


def shaken(*layers, seed=0):
    """Random numbers everywhere, weights of one size."""
    torch.manual_seed(seed)
    net = nn.Sequential(*layers).eval()
    with torch.no_grad():
        for layer in net.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d):
                layer.weight.copy_(torch.where(torch.randn_like(layer.weight) >= 0, 1.0, -1.0))
            elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
                layer.running_mean.normal_()
                layer.running_var.uniform_(0.5, 2)
                layer.weight.uniform_(-1, 1)
                layer.bias.normal_()
            elif isinstance(layer, nn.PReLU):
                layer.weight.uniform_(0.1, 1)
    return net


def dense(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


CHAINS = {
    "three norms": [nn.BatchNorm1d(8), nn.ReLU(), nn.BatchNorm1d(8), nn.BatchNorm1d(8)],
    "hardtanh": [nn.BatchNorm1d(8), nn.Hardtanh(), nn.BatchNorm1d(8), nn.LeakyReLU(0.1)],
    "prelu per channel": [nn.PReLU(), nn.BatchNorm1d(8), nn.PReLU(8), nn.BatchNorm1d(8)],
}


def exported(net, example):
    file = BytesIO()
    torch.onnx.export(net, example, file, dynamo=False)
    return file.getvalue()


@pytest.mark.parametrize("name", CHAINS)
def test_chains_before_one_sign_are_one_threshold(name, tmp_path):
    net = shaken(dense(6, 8), *CHAINS[name], ApproxSign(), dense(8, 3), nn.BatchNorm1d(3))
    found = sg.from_torch(net, torch.zeros(1, 6), inputs=sg.Integers(0, 255))
    assert found.report.proof.samples > 200
    assert [layer.outputs for layer in found.layers] == [8]
    (tmp_path / "net.onnx").write_bytes(exported(net, torch.zeros(1, 6)))
    again = sg.read_onnx(tmp_path / "net.onnx", inputs=sg.Integers(0, 255))
    samples = torch.randint(0, 256, (200, 6))
    assert (found.predict(samples.numpy()) == again.predict(samples.numpy())).all()
    with torch.no_grad():
        assert (net.double()(samples.double()).argmax(1).numpy() == found.predict(samples.numpy())).all()


def test_pools_between_norms():
    """XNOR-Net: a norm, a ReLU and a max pool, then the norm of the next block."""
    net = shaken(
        nn.Conv2d(1, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.PReLU(4),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(4),
        ApproxSign(),
        nn.Flatten(),
        dense(36, 3),
    )
    found = sg.from_torch(net, torch.zeros(1, 1, 8, 8), inputs=sg.Integers(0, 15))
    samples = torch.randint(0, 16, (100, 1, 8, 8))
    with torch.no_grad():
        wanted = net.double()(samples.double()).argmax(1).numpy()
    assert (found.predict(samples.reshape(100, 64).numpy()) == wanted).all()


def test_a_slope_below_zero_is_refused_by_name():
    net = shaken(dense(6, 8), nn.PReLU(8), ApproxSign(), dense(8, 3))
    with torch.no_grad():
        net[1].weight[3] = -0.25
    with pytest.raises(FileError, match=r"1 \(PReLU\): channel 3 has the slope -0.25 below zero"):
        sg.from_torch(net, torch.zeros(1, 6), inputs=sg.Bits())


def test_a_smooth_sign_is_read_only_if_its_residue_cancels():
    class Half(nn.Module):
        def forward(self, x):
            return torch.sign(x) - x * x + 2 * x * x

    net = shaken(dense(6, 8), Half(), dense(8, 3))
    with pytest.raises(FileError, match="multiplies two values that both depend on the input"):
        sg.from_torch(net, torch.zeros(1, 6), inputs=sg.Bits())
    with pytest.raises(FileError, match="combines two values that both depend on the input"):
        read_chain(exported(net, torch.zeros(1, 6)))


@pytest.mark.parametrize("outputs", [1, 3])
def test_networks_that_end_in_a_sign(outputs, tmp_path):
    """The value of each class is its score; a single output has a class for each of its values."""
    norm, end = nn.BatchNorm1d(8), nn.BatchNorm1d(outputs)
    net = shaken(dense(6, 8), norm, ApproxSign(), dense(8, outputs), end, ApproxSign())
    with torch.no_grad():
        end.running_mean.fill_(0.5), end.bias.zero_()
    found = sg.from_torch(net, torch.zeros(1, 6), inputs=sg.Bits())
    (tmp_path / "net.onnx").write_bytes(exported(net, torch.zeros(1, 6)))
    again = sg.read_onnx(tmp_path / "net.onnx", inputs=sg.Bits())
    samples = torch.cartesian_prod(*[torch.tensor([-1, 1])] * 6)
    with torch.no_grad():
        values = net(samples.float()).round()
    wanted = values.argmax(1) if outputs > 1 else (values[:, 0] > 0).long()
    assert len(set(wanted.tolist())) > 1
    for network in (found, again):
        assert network.predict(samples.numpy()).tolist() == wanted.tolist()
        assert len(network.classes) == max(outputs, 2)
        assert any("sign" in remark for remark in network.report.remarks)
    answer = sg.verify(found, samples[5].numpy(), sg.Hamming(6))
    assert answer.is_refuted
    sg.check(answer, found)


def test_one_output_of_several_levels_says_no_class():
    net = shaken(dense(6, 8), nn.BatchNorm1d(8), ApproxSign(), dense(8, 1), nn.Hardtanh(0, 3))
    rounded = nn.Sequential(*net, Rounded()).eval()
    with pytest.raises(FileError, match="one output of 4 levels, which says no class"):
        sg.from_torch(rounded, torch.zeros(1, 6), inputs=sg.Bits())
