"""Layers between maps that are not convolutions: transposed convolutions, adaptive pools whose windows
differ in size, and linear layers along the last axis.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Sign(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


def norm(channels):
    return nn.BatchNorm2d(channels)


MODELS = {
    "transposed": (
        (2, 3, 4),
        [nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1), norm(3), Sign()],
    ),
    "transposed groups": (
        (4, 3, 3),
        [nn.ConvTranspose2d(4, 4, (2, 3), groups=2, dilation=2, bias=False), norm(4), Sign()],
    ),
    "transposed row": ((2, 5), [nn.ConvTranspose1d(2, 3, 2, stride=2), nn.BatchNorm1d(3), Sign()]),
    "adaptive": ((2, 5, 7), [nn.AdaptiveAvgPool2d((3, 4)), norm(2), Sign()]),
    "adaptive max of signs": ((2, 5, 7), [nn.AdaptiveMaxPool2d((3, 4)), nn.Conv2d(2, 3, 2), norm(3), Sign()]),
    "last axis": ((3, 5), [nn.Linear(5, 4), nn.BatchNorm1d(3), Sign()]),
    "last axis of maps": ((2, 3, 4), [nn.Linear(4, 5, bias=False), Sign()]),
}


@pytest.mark.parametrize("name", MODELS)
def test_layers_between_maps_are_equal_to_pytorch(name):
    shape, layers = MODELS[name]
    torch.manual_seed(0)
    with torch.no_grad():
        size = nn.Sequential(*layers).eval()(torch.zeros(1, *shape)).numel()
        net = nn.Sequential(Sign(), *layers, nn.Flatten(), nn.Linear(size, 3)).eval()
        for layer in net:
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
                for row in (layer.running_mean, layer.weight, layer.bias):
                    row.normal_()
            elif hasattr(layer, "weight"):
                layer.weight.copy_(torch.where(torch.randn_like(layer.weight) >= 0, 1.0, -1.0))
    found = sg.from_torch(net, torch.zeros(1, *shape), inputs=sg.Integers(-2, 2))
    samples = np.random.default_rng(0).integers(-2, 3, (200, *shape))
    with torch.no_grad():
        wanted = net.double()(torch.from_numpy(samples).double()).numpy()
    assert np.allclose(found.logits(samples.reshape(200, -1)), wanted, atol=1e-5)


def test_what_is_not_read_is_refused_by_name():
    for layer, message in (
        (nn.Sequential(nn.Conv2d(2, 2, 2), nn.AdaptiveMaxPool2d((4, 3))), "Put a sign before it"),
        (nn.ConvTranspose3d(2, 2, 1), "Only convolutions in one or two dimensions"),
        (nn.ConvTranspose2d(2, 64, 9, stride=8), "As a dense layer it has"),
    ):
        shape = (2, 2, 2, 2) if isinstance(layer, nn.ConvTranspose3d) else (2, 7, 9)
        net = nn.Sequential(Sign(), layer, Sign(), nn.Flatten())
        with pytest.raises(FileError, match=message):
            sg.from_torch(net.eval(), torch.zeros(1, *shape), inputs=sg.Integers(-2, 2))
