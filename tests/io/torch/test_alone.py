"""Each operation is compared alone with PyTorch's own, with arguments that PyTorch leaves out: faults that no
sample of the whole network meets are refused by name.
"""

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io.exact.ops import AveragePool, MaxPool, Pad  # noqa: E402
from sugenet.io.torch import reader  # noqa: E402


class Sign(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


class Do(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def shifted(features, shift, eps=0.0):
    norm = nn.BatchNorm1d(features, eps=eps)
    norm.running_mean.fill_(-shift)
    return norm


def dense(*between, shift=-1.5, size=64):
    """A sum that is far smaller than 1.5 on nearly all samples, something behind it, and a sign."""
    torch.manual_seed(0)
    first, last = nn.Linear(size, 1, bias=False), nn.Linear(1, 2, bias=False)
    first.weight.data = torch.where(torch.rand(1, size) > 0.5, 1.0, -1.0) / 32
    last.weight.data = torch.tensor([[1.0], [-1.0]])
    return nn.Sequential(first, *between, shifted(1, shift, 1e-5), Sign(), last).eval()


def maps(*between):
    conv = nn.Conv2d(1, 1, 2, bias=False)
    conv.weight.data.fill_(1.0)
    ends = (nn.Flatten(), Do(lambda x: x + 0.5), Sign(), nn.LazyLinear(2, bias=False))
    module = nn.Sequential(conv, *between, *ends).eval()
    module(torch.zeros(1, 1, 5, 5))
    module[-1].weight.data = torch.where(module[-1].weight >= 0, 1.0, -1.0)
    return module


# -- arguments that PyTorch leaves out -----------------------------------------------------------------------


def test_whole_bounds_of_a_hard_tanh_are_bounds():
    """PyTorch leaves out -1 and 1, which equal the operator's defaults; a clipped sum never reaches 1.5."""
    net = sg.from_torch(dense(nn.Hardtanh(-1, 1)), torch.ones(1, 64), inputs=sg.Bits())
    answer = sg.verify(net, sg.Always(net.classes[1], {}))
    assert answer.outcome == "proved"
    sg.check(answer.certificate, net)


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: x[:, ::1],
        torch.ops.aten.slice.Tensor,
        torch.ops.aten.hardtanh.default,
        lambda x: torch.ops.aten.hardtanh.default(x, -1),
    ],
)
def test_every_default_is_known(cut):
    module = dense(Do(cut), shift=-0.25, size=8)
    found = sg.from_torch(module, torch.ones(1, 8), inputs=sg.Bits()).report
    X = np.array(list(product([-1, 1], repeat=8)))
    with torch.no_grad():
        assert (found.network.logits(X) == module(torch.tensor(X, dtype=torch.float32)).numpy()).all()


def test_decimals_of_a_rounding_are_not_passed_over():
    module = dense(Do(lambda x: torch.round(x, decimals=1)))
    with pytest.raises(FileError, match=r"1 \(Do\): round cannot be read. It rounds to decimals"):
        sg.from_torch(module, torch.ones(1, 64), inputs=sg.Bits())


def bounded(random):
    """Something that clips, with whole or other bounds, and how it is written."""
    low = random.choice([-1, -1.0, -2, 0, 0.0, -0.5, -3, True])
    high = low + random.choice([1, 1.0, 2, 0.5, 3, 6])
    return random.choice(
        [
            lambda: nn.Hardtanh(low, high),
            nn.Hardtanh,
            nn.ReLU6,
            nn.ReLU,
            lambda: Do(lambda x: torch.clamp(x, low, high)),
            lambda: Do(lambda x: torch.clamp(x, min=low)),
            lambda: Do(lambda x: torch.clip(x, max=high)),
            lambda: Do(lambda x: x.clamp_min(low).clamp_max(high)),
            lambda: Do(lambda x: F.hardtanh(x, max_val=max(high, 0))),
            lambda: Do(lambda x: torch.maximum(x, torch.tensor(float(low)))),
            lambda: nn.Threshold(low, low),
        ]
    )()


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_all_kinds(seed):
    """All samples of small modules with clips of any spelling, or a refusal by name."""
    random = Random(seed)
    first, last = nn.Linear(7, 4), nn.Linear(4, 3)
    for layer, unit in ((first, random.choice([0.25, 0.5, 1.0])), (last, 1.0)):
        layer.weight.data = torch.tensor(
            np.array(random.choices([-1.0, 1.0], k=layer.weight.numel()))
        ).float()
        layer.weight.data = layer.weight.data.reshape(layer.out_features, -1) * unit
        layer.bias.data = torch.tensor([random.choice([-1.0, -0.25, 0.0, 0.5]) for _ in layer.bias])
    shift = random.choice([-1.5, -1, -0.5, 0.25, 1, 2])
    module = nn.Sequential(first, bounded(random), shifted(4, shift), Sign(), last).eval()
    if isinstance(module[1], nn.Threshold):
        with pytest.raises(FileError, match=r"1 \(Threshold\): threshold cannot be read"):
            sg.from_torch(module, torch.ones(1, 7), inputs=sg.Bits())
        return
    found = sg.from_torch(module, torch.ones(1, 7), inputs=sg.Bits()).report
    X = np.array(list(product([-1, 1], repeat=7)))
    with torch.no_grad():
        assert (found.network.logits(X) == module(torch.tensor(X, dtype=torch.float32)).numpy()).all()


# -- faults that are seeded ----------------------------------------------------------------------------------


def unread(call):
    """As if the operation did nothing."""
    return call.signal()


def without_upper_bound(call):
    signal = call.signal()
    return replace(signal, function=signal.function.clipped(-1.0, float("inf")))


def above(call):
    """As if >= were >."""
    signal = call.signal()
    return replace(signal, function=signal.function.above(0))


def far_off(call):
    """As if there were a bound that only huge numbers meet."""
    signal = call.signal()
    return replace(signal, function=signal.function.clipped(-(2.0**30), 2.0**30))


def padded_with_zeros(call):
    """As if padding counted in a max pool."""
    signal = call.settled().maps(call.where)
    node = signal.node.then(Pad(call.where, (1, 1, 1, 1))).then(MaxPool(call.where, (2, 2), (2, 2)))
    return replace(signal, node=node, order=np.arange(node.values[0].size).reshape(node.shape))


def pads_counted(call):
    signal = call.settled().maps(call.where)
    pool = AveragePool(call.where, (2, 2), (2, 2), (1, 1, 1, 1), count_pads=True)
    node = signal.node.then(pool)
    return replace(signal, node=node, order=np.arange(node.values[0].size).reshape(node.shape))


def smallest(call):
    """As if what turns the order around kept it."""
    return replace(call.signal(), tail=("neg at the end",))


FAULTS = {
    "a clip that is lost": ("hardtanh", unread, dense(nn.Hardtanh(-1.0, 1.0))),
    "a bound that is lost": ("hardtanh", without_upper_bound, dense(nn.Hardtanh(-1.0, 1.0))),
    "a bound that is not there": ("clone", far_off, dense(Do(torch.clone))),
    "zero on the wrong side": ("ge", above, dense()),
    "padding that counts": ("max_pool2d_with_indices", padded_with_zeros, maps(nn.MaxPool2d(2, 2, 1))),
    "padding in means": ("avg_pool2d", pads_counted, maps(nn.AvgPool2d(2, 2, 1, count_include_pad=False))),
    "an order turned around": ("neg", smallest, nn.Sequential(dense(), Do(torch.neg))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_by_the_name_of_the_operation(monkeypatch, fault):
    name, wrong, module = FAULTS[fault]
    example = torch.ones(1, 1, 5, 5) if isinstance(module[0], nn.Conv2d) else torch.ones(1, 64)
    monkeypatch.setitem(reader.OPERATIONS, name, wrong)
    with pytest.raises(FileError, match=rf"\): {name} was compared alone with PyTorch's own: .*Nothing was"):
        sg.from_torch(module, example, inputs=sg.Bits())


def test_the_first_fault_is_missed_by_samples_of_the_whole_network(monkeypatch):
    """So comparing each operation alone is needed: samples at the threshold are within rounding of it."""
    monkeypatch.setitem(reader.OPERATIONS, "hardtanh", unread)
    monkeypatch.setattr(reader.Operation, "compare", lambda _: False)
    found = sg.from_torch(dense(nn.Hardtanh(-1, 1)), torch.ones(1, 64), inputs=sg.Bits()).report
    assert found.proof.samples > 200


def test_the_report_counts_operations_that_were_compared_alone():
    module = dense(nn.Hardtanh(-1, 1))
    found = sg.from_torch(module, torch.ones(1, 64), inputs=sg.Bits()).report
    assert found.operations_compared_alone == 6  # mm, hardtanh, batch norm, ge, where, mm
    assert found.data()["operations_compared_alone"] == found.operations_compared_alone
    assert f"; {found.operations_compared_alone} operations compared alone" in str(found)
    plain = sg.from_torch(module, torch.ones(1, 64), inputs=sg.Bits(), prove=False).report
    assert plain.operations_compared_alone == 0


def filled(x):
    return torch.ones_like(x).masked_fill_(x < 0, -1.0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_floats_and_constants_that_are_written_in_place(dtype):
    first, _, norm, _, last = dense(nn.Hardtanh(-1, 1), shift=-0.125, size=8)
    module = nn.Sequential(first, nn.Hardtanh(-1, 1), norm, Do(filled), last).to(dtype).eval()
    found = sg.from_torch(module, torch.ones(1, 8, dtype=dtype), inputs=sg.Bits()).report
    assert found.operations_compared_alone == 6
