"""PyTorch modules read by running them once: signs in every spelling, layers that binarize their weights,
and what is refused.
"""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from sugenet.errors import FileError  # noqa: E402
from sugenet.io.exact.domains import Bits, Integers  # noqa: E402
from sugenet.io.exact.lower import lower  # noqa: E402
from sugenet.io.exact.ops import (  # noqa: E402
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Pad,
    Sign,
)
from sugenet.io.torch.reader import chain_of_module  # noqa: E402
from tests.io.chains import evaluate  # noqa: E402
from tests.io.torch.models import cases  # noqa: E402

MATRIX = cases()


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Straight(torch.autograd.Function):
    """A straight-through sign, 1 at 0, as most training code writes it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad):
        return grad


class Data(torch.autograd.Function):
    """BinaryNet.pytorch's habit: work on .data."""

    @staticmethod
    def forward(ctx, x):
        return x.data.sign()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Bit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.ones_like(x)
        out[x <= 0] = 0
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad


def sign(x):
    return torch.where(x >= 0, 1.0, -1.0)


def settle(module, seed=0):
    """Eval mode with batch-norm statistics that matter, some scales negative,
    and binary weights in linear layers.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.copy_(torch.randn(part.num_features, generator=generator))
                part.running_var.copy_(torch.rand(part.num_features, generator=generator) + 0.5)
                if part.affine:
                    part.weight.copy_(torch.randn(part.num_features, generator=generator))
                    part.bias.copy_(torch.randn(part.num_features, generator=generator))
            elif isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d):
                if part.bias is not None:
                    part.bias.copy_(torch.randn(part.bias.shape, generator=generator))
                if type(part) not in (nn.Linear, nn.Conv1d, nn.Conv2d):
                    part.weight.copy_(torch.randn(part.weight.shape, generator=generator))
                    continue
                part.weight.copy_(
                    torch.where(torch.rand(part.weight.shape, generator=generator) < 0.5, -1.0, 1.0)
                )
    return module.eval()


def same(module, shape, seed=0, samples=40):
    """The chain computes what the module computes; the chain."""
    settle(module, seed)
    x = torch.where(
        torch.rand((samples, *shape), generator=torch.Generator().manual_seed(seed + 1)) < 0.5, -1.0, 1.0
    )
    chain = chain_of_module(module, x[:1])
    with torch.no_grad():
        expected = module(x.clone()).numpy()
    found = evaluate(chain, x.numpy().reshape(samples, *shape))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    return chain


def kinds(chain):
    return [type(op).__name__ for op in chain.ops]


# -- signs ---------------------------------------------------------------------------------------------------

SIGNS = {
    "torch.sign": (torch.sign, 0, -1, 1),
    "sign method in place": (lambda x: x.clone().sign_(), 0, -1, 1),
    "sign of sign + 0.1": (lambda x: torch.sign(torch.sign(x) + 0.1), 1, -1, 1),
    "where >=": (sign, 1, -1, 1),
    "where >": (lambda x: torch.where(x > 0, 1.0, -1.0), -1, -1, 1),
    "where <": (lambda x: torch.where(x < 0, -1.0, 1.0), 1, -1, 1),
    "where <= with tensors": (
        lambda x: torch.where(x <= 0, -torch.ones_like(x), torch.ones_like(x)),
        -1,
        -1,
        1,
    ),
    "comparison turned": (lambda x: torch.where(torch.zeros_like(x) <= x, 1.0, -1.0), 1, -1, 1),
    "float * 2 - 1": (lambda x: (x >= 0).float() * 2 - 1, 1, -1, 1),
    "1 - 2 * float": (lambda x: 1 - 2 * (x < 0).to(x.dtype), 1, -1, 1),
    "type_as": (lambda x: x.gt(0).type_as(x).mul(2).sub(1), -1, -1, 1),
    "two comparisons": (lambda x: (x >= 0).float() - (x < 0).float(), 1, -1, 1),
    "not": (lambda x: (~(x < 0)).float() * 2 - 1, 1, -1, 1),
    "hard tanh before": (lambda x: torch.sign(F.hardtanh(x)), 0, -1, 1),
    "tanh before": (lambda x: sign(torch.tanh(x)), 1, -1, 1),
    "straight-through residue": (lambda x: x + (sign(x) - x).detach(), 1, -1, 1),
    "residue with clip": (lambda x: (sign(x) - x.clamp(-1, 1)).detach() + x.clamp(-1, 1), 1, -1, 1),
    "autograd function": (Straight.apply, 1, -1, 1),
    "autograd function on data": (Data.apply, 0, -1, 1),
    "autograd function with mask": (Bit.apply, -1, 0, 1),
    "masked fill": (lambda x: torch.ones_like(x).masked_fill(x < 0, -1.0), 1, -1, 1),
    "assignment through a mask": (lambda x: Bit.apply(x) * 2 - 1, -1, -1, 1),
    "rounded": (lambda x: 2 * torch.round(((x + 1) / 2).clamp(0, 1)) - 1, -1, -1, 1),
    "floor": (lambda x: torch.floor((x / 4).clamp(-1, 0.5)) * 2 + 1, 1, -1, 1),
    "ceil": (lambda x: torch.ceil((x / 4).clamp(-0.5, 1)) * 2 - 1, -1, -1, 1),
    "heaviside": (lambda x: torch.heaviside(x, torch.tensor(1.0)), 1, 0, 1),
    "bits": (lambda x: (x >= 0).float(), 1, 0, 1),
    "scaled": (lambda x: 0.5 * torch.sign(x), 0, -0.5, 0.5),
}


@pytest.mark.parametrize("name", SIGNS)
def test_every_spelling_of_a_sign_with_its_rule_at_zero(name):
    function, zero, low, high = SIGNS[name]
    chain = same(nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), Lambda(function), nn.Linear(6, 3)), (8,))
    assert kinds(chain) == ["LinearOp", "BatchNorm", "Sign", "LinearOp"]
    found = chain.ops[2]
    assert (found.zero, found.low, found.high) == (zero, low, high)
    assert found.where.startswith("2 (Lambda)")
    at = function(torch.tensor([[0.0, -0.0]]))
    assert at.tolist() == [[{1: high, -1: low, 0: 0.0}[zero]] * 2]


def test_a_sign_that_falls_and_one_beside_zero():
    chain = same(
        nn.Sequential(nn.Linear(4, 3), Lambda(lambda x: torch.where(x <= 0.5, 1.0, -1.0)), nn.Linear(3, 2)),
        (4,),
    )
    _, affine, found, _ = chain.ops
    assert (affine.scale.tolist(), affine.shift.tolist(), found.zero) == ([-1], [0.5], 1)


def test_a_constant_is_the_float32_that_pytorch_uses():
    module = settle(nn.Sequential(Lambda(lambda x: torch.where(x > 0.1307, 1.0, -1.0)), nn.Linear(4, 2)))
    affine = chain_of_module(module, torch.rand(1, 4)).ops[0]
    assert Fraction(affine.shift[0]) == -Fraction(float(np.float32(0.1307)))
    assert (
        torch.tensor(float(np.float32(0.1307)))
        <= 0.1307
        < torch.tensor(float(np.nextafter(np.float32(0.1307), np.float32(1))))
    )


def test_division_stays_exact():
    module = settle(nn.Sequential(Lambda(lambda x: sign(x.float() / 255 - 0.5)), nn.Linear(4, 2)))
    chain = chain_of_module(module, torch.zeros(1, 4, dtype=torch.uint8))
    x = np.array([[0, 127, 128, 255]])
    assert lower(chain, Integers(0, 255)).network.inputs(x).tolist() == [[False, False, True, True]]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: torch.round(x.clamp(0, 3)) * (x < 2).float(),
            r"2 \(Lambda\): gives the values 0, 1, 2, 0 in this order, which neither rise nor fall",
        ),
        (torch.round, r"2 \(Lambda\): rounds numbers without bounds to whole ones"),
        (lambda x: torch.round(x.clamp(0, 3000)), r"2 \(Lambda\): rounds to more than 512 integers"),
        (
            lambda x: (x > 0).float() - (x > 1).float(),
            r"2 \(Lambda\): gives the values 0, 1, 0 in this order",
        ),
        (F.gelu, r"2 \(Lambda\): gelu cannot be read. Before a sign use Hardtanh"),
        (lambda x: x * x, r"2 \(Lambda\): multiplies two values that both depend on the input"),
        (
            lambda x: torch.where(x > 0, x, -0.1 * x),
            r"2 \(Lambda\): is a function with breaks at 0 that is not a sign, a clip or a leaky ReLU",
        ),
        (
            lambda x: sign(x) if x.sum() > 0 else -sign(x),
            r"2 \(Lambda\): .*sum cannot be read|looks at values",
        ),
        (lambda x: sign(F.dropout(x)), "2 .Lambda.:"),
        (lambda x: torch.cat([x, torch.ones(len(x), 1)], 1)[:, :6], "Its part does not depend on the input"),
        (lambda x: x.t().contiguous().t().flip(0), r"2 \(Lambda\): .*axis of the samples"),
        (lambda x: F.layer_norm(x, (6,)), "Use BatchNorm in eval mode"),
        (
            lambda x: torch.softmax(x, 1),
            (
                r"3 \(Linear\): addmm cannot be read. It follows softmax at 2 \(Lambda\), "
                r"which can only be the end"
            ),
        ),
    ],
)
def test_refusals_name_the_module_and_the_remedy(function, message):
    module = settle(nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), Lambda(function), nn.Linear(6, 3)))
    with pytest.raises(FileError, match=message):
        chain_of_module(module, torch.ones(1, 8))


def test_a_shortcut_is_a_sum_of_branches():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            y = sign(self.a(x))
            return sign(self.b(y) + y)

    chain = chain_of_module(settle(Residual()), torch.ones(1, 4))
    (block,) = [op for op in chain.ops if isinstance(op, Branches)]
    assert [[type(op).__name__ for op in branch] for branch in block.branches] == [["LinearOp"], []]


def test_training_mode_is_refused_with_the_remedy():
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), Lambda(sign))
    with pytest.raises(FileError, match=r"1 \(BatchNorm1d\) is in training mode. Call module.eval\(\) first"):
        chain_of_module(module, torch.ones(1, 4))
    with pytest.raises(FileError, match="track_running_stats=False"):
        chain_of_module(
            nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False), Lambda(sign)).eval(),
            torch.ones(1, 4),
        )


@pytest.mark.parametrize(
    ("example", "message"), [(torch.ones(4), "a batch is needed"), (torch.ones(0, 4), "a batch is needed")]
)
def test_examples_must_be_batches(example, message):
    with pytest.raises(FileError, match=message):
        chain_of_module(nn.Linear(4, 2), example)


def test_a_network_without_a_sign_is_none():
    with pytest.raises(FileError, match="no sign and no quantizer was found"):
        chain_of_module(settle(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))), torch.ones(1, 4))
    with pytest.raises(FileError, match=r"a torch.nn.Module is needed"):
        chain_of_module(lambda x: x, torch.ones(1, 4))


# -- layers --------------------------------------------------------------------------------------------------


class BinaryLinear(nn.Linear):
    """Weights binarized in the forward pass, with XNOR-Net's scale."""

    def forward(self, x):
        scale = self.weight.abs().mean(1, keepdim=True)
        return F.linear(x, torch.sign(self.weight) * scale, self.bias)


class BinaryNetLinear(nn.Linear):
    """BinaryNet.pytorch: data are replaced in place, the input too."""

    def forward(self, x):
        if x.size(1) != 8:
            x.data = x.data.sign()
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        out = F.linear(x, self.weight)
        if self.bias is not None:
            self.bias.org = self.bias.data.clone()
            out += self.bias.view(1, -1).expand_as(out)
        return out


class BinaryConv(nn.Conv2d):
    def forward(self, x):
        weight = Straight.apply(self.weight)
        return F.conv2d(
            F.pad(x, (1, 1, 1, 1), value=1.0), weight, self.bias, self.stride, 0, self.dilation, self.groups
        )


def test_layers_that_binarize_in_forward():
    module = nn.Sequential(BinaryLinear(8, 6), nn.BatchNorm1d(6), Lambda(torch.sign), BinaryLinear(6, 3))
    chain = same(module, (8,))
    scale = module[0].weight.detach().abs().mean(1, keepdim=True)
    assert np.array_equal(chain.ops[0].weights, (module[0].weight.detach().sign() * scale).numpy())
    assert chain.ops[0].weights.dtype == np.float32


def test_binarynet_style_replacing_of_data():
    module = nn.Sequential(BinaryNetLinear(8, 6), nn.BatchNorm1d(6), nn.Hardtanh(), BinaryNetLinear(6, 3))
    chain = same(module, (8,))
    assert kinds(chain) == ["LinearOp", "Affine", "BatchNorm", "Sign", "LinearOp", "Affine"]
    assert np.array_equal(chain.ops[0].weights, module[0].weight.org.sign().numpy())
    assert chain.ops[3].zero == 0


def test_binary_convolution_with_padding_of_ones():
    module = nn.Sequential(
        BinaryConv(2, 4, 3), nn.BatchNorm2d(4), Lambda(Straight.apply), nn.Flatten(), nn.Linear(64, 3)
    )
    chain = same(module, (2, 4, 4))
    assert kinds(chain) == ["Pad", "Convolution", "BatchNorm", "Sign", "Flatten", "LinearOp"]
    assert (chain.ops[0].pads, chain.ops[0].value) == ((1, 1, 1, 1), 1.0)


def test_a_whole_convolutional_network_becomes_exact():
    module = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(4, affine=False),
        nn.Hardtanh(inplace=True),
        Lambda(sign),
        nn.Conv2d(4, 6, 3, padding="same", groups=2),
        nn.BatchNorm2d(6),
        Lambda(Straight.apply),
        nn.Dropout(),
        nn.Flatten(),
        nn.Linear(24, 5),
        nn.BatchNorm1d(5),
        nn.LogSoftmax(dim=1),
    )
    settle(module)
    with torch.no_grad():
        module[11].weight.abs_()
    x = torch.where(torch.rand(60, 2, 4, 4, generator=torch.Generator().manual_seed(1)) < 0.5, -1.0, 1.0)
    imported = lower(chain_of_module(module, x[:2]), Bits())
    with torch.no_grad():
        expected = module(x).argmax(1).numpy()
    assert (imported.network.predict(x.numpy()) == expected).all()


STACKS = {
    "conv1d": (
        nn.Sequential(
            nn.Conv1d(3, 4, 3, padding=1, dilation=1, stride=2),
            nn.BatchNorm1d(4),
            Lambda(sign),
            nn.Flatten(),
            nn.Linear(16, 2),
        ),
        (3, 8),
        ["Convolution", "BatchNorm", "Sign", "Flatten", "LinearOp"],
    ),
    "pool 1d": (
        nn.Sequential(nn.Conv1d(3, 4, 3), Lambda(sign), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(12, 2)),
        (3, 8),
        ["Convolution", "Sign", "MaxPool", "Flatten", "LinearOp"],
    ),
    "average": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3), Lambda(sign), nn.AvgPool2d(2, padding=1), nn.Flatten(), nn.Linear(36, 2)
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Flatten", "LinearOp"],
    ),
    "average without pads": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3),
            Lambda(sign),
            nn.AvgPool2d(2, padding=1, count_include_pad=False),
            nn.Flatten(),
            nn.Linear(36, 2),
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Flatten", "LinearOp"],
    ),
    "global average": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3), Lambda(sign), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Flatten", "LinearOp"],
    ),
    "mean": (
        nn.Sequential(nn.Conv2d(1, 4, 3), Lambda(sign), Lambda(lambda x: x.mean((2, 3))), nn.Linear(4, 2)),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Flatten", "LinearOp"],
    ),
    "sum": (
        nn.Sequential(nn.Conv2d(1, 4, 3), Lambda(sign), Lambda(lambda x: x.sum((2, 3))), nn.Linear(4, 2)),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Affine", "Flatten", "LinearOp"],
    ),
    "adaptive": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3), Lambda(sign), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 2)
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "AveragePool", "Flatten", "LinearOp"],
    ),
    "global max": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.AdaptiveMaxPool2d(1),
            nn.BatchNorm2d(4),
            Lambda(sign),
            nn.Flatten(),
            nn.Linear(4, 2),
        ),
        (1, 6, 6),
        ["Convolution", "MaxPool", "BatchNorm", "Sign", "Flatten", "LinearOp"],
    ),
    "ceil mode": (
        nn.Sequential(
            nn.Conv2d(1, 4, 2), Lambda(sign), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(36, 2)
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "MaxPool", "Flatten", "LinearOp"],
    ),
    "dilated pool": (
        nn.Sequential(
            nn.Conv2d(1, 4, 1),
            Lambda(sign),
            nn.MaxPool2d(2, stride=1, dilation=2, padding=1),
            nn.Flatten(),
            nn.Linear(144, 2),
        ),
        (1, 6, 6),
        ["Convolution", "Sign", "MaxPool", "Flatten", "LinearOp"],
    ),
    "odd same padding": (
        nn.Sequential(
            nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(1, 4, 2), Lambda(sign), nn.Flatten(), nn.Linear(144, 2)
        ),
        (1, 6, 6),
        ["Pad", "Convolution", "Sign", "Flatten", "LinearOp"],
    ),
    "view": (
        nn.Sequential(
            nn.Linear(6, 4),
            Lambda(sign),
            Lambda(lambda x: x.view(x.size(0), 2, 2).reshape(-1, 4)),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "Sign", "LinearOp"],
    ),
    "head in maps": (
        nn.Sequential(
            Lambda(lambda x: x.view(-1, 1, 4, 4)),
            nn.Conv2d(1, 2, 3),
            Lambda(sign),
            nn.Flatten(),
            nn.Linear(8, 2),
        ),
        (16,),
        ["Convolution", "Sign", "Flatten", "LinearOp"],
    ),
    "features turned around": (
        nn.Sequential(
            nn.Linear(6, 4),
            Lambda(sign),
            Lambda(lambda x: x.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "Sign", "LinearOp"],
    ),
    "half of the features": (
        nn.Sequential(nn.Linear(6, 4), Lambda(sign), Lambda(lambda x: x[:, 1::2]), nn.Linear(2, 2)),
        (6,),
        ["LinearOp", "Sign", "LinearOp"],
    ),
    "batch norm by hand": (
        nn.Sequential(
            nn.Linear(6, 4),
            Lambda(
                lambda x: (
                    (x - torch.arange(4) / 8) / torch.tensor([3.0, 7, 5, 9]) * torch.tensor([1.0, -1, 2, 1])
                    + 0.25
                )
            ),
            Lambda(sign),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "Affine", "Affine", "Affine", "Affine", "Sign", "LinearOp"],
    ),
    "thresholds": (
        nn.Sequential(
            nn.Linear(6, 4),
            Lambda(lambda x: torch.where(x >= torch.tensor([0.5, 1, -1.5, 3]), 1.0, -1.0)),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "Affine", "Sign", "LinearOp"],
    ),
    "unsqueezed batch norm": (
        nn.Sequential(
            nn.Linear(6, 4),
            Lambda(lambda x: x[:, :, None]),
            nn.BatchNorm1d(4),
            Lambda(lambda x: sign(x.squeeze(2))),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "BatchNorm", "Sign", "LinearOp"],
    ),
    "relu and clamp": (
        nn.Sequential(
            nn.Linear(6, 4),
            nn.ReLU(inplace=True),
            nn.BatchNorm1d(4),
            Lambda(lambda x: sign(x.clamp(max=2))),
            nn.Linear(4, 2),
        ),
        (6,),
        ["LinearOp", "Clip", "BatchNorm", "Sign", "LinearOp"],
    ),
}


@pytest.mark.parametrize("name", STACKS)
def test_layers_of_every_kind(name):
    module, shape, expected = STACKS[name]
    assert kinds(same(module, shape)) == expected


def test_channels_last_input_and_flatten_order():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(16, 2)

        def forward(self, x):
            y = sign(self.conv(x.permute(0, 3, 1, 2)))
            return self.fc(y.permute(0, 2, 3, 1).flatten(1))

    chain = same(Last(), (4, 4, 3))
    assert chain.channels_last
    assert chain.shape == (3, 4, 4)
    assert [op.order for op in chain.ops if isinstance(op, Flatten)] == ["HWC"]


def test_a_module_that_works_in_numpy_is_known_by_what_it_does():
    class Outside(nn.Module):
        def forward(self, x):
            return torch.from_numpy(np.where(x.numpy() > 0, 1.0, -1.0).astype(np.float32))

    chain = same(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), Outside(), nn.Linear(4, 2)), (6,))
    assert chain.ops[2].zero == -1
    assert chain.ops[2].where == "2 (Outside)"

    class Wrong(nn.Module):
        def forward(self, x):
            return torch.from_numpy(np.tanh(x.numpy()))

    with pytest.raises(
        FileError, match=r"1 \(Wrong\): works outside PyTorch, and on chosen numbers it is not a step at 0"
    ):
        chain_of_module(settle(nn.Sequential(nn.Linear(6, 4), Wrong(), nn.Linear(4, 2))), torch.ones(1, 6))


def test_what_changes_out_of_sight_is_noticed():
    class Sly(nn.Module):
        def forward(self, x):
            y = x * 1.0
            y.numpy()[:] += 3.0
            return sign(y)

    with pytest.raises(FileError, match=r"so it was not understood. It may change values out of sight"):
        chain_of_module(settle(nn.Sequential(nn.Linear(6, 4), Sly(), nn.Linear(4, 2))), torch.ones(1, 6))


def test_hooks_are_gone_afterwards():
    module = settle(nn.Sequential(nn.Linear(4, 3), Lambda(sign), nn.Linear(3, 2)))
    chain_of_module(module, torch.ones(1, 4))
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in module.modules())


def test_operations_carry_the_parameters_themselves():
    module = settle(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), Lambda(sign), nn.Linear(3, 2)))
    linear, norm, _, _ = chain_of_module(module, torch.ones(1, 4)).ops
    assert isinstance(linear, LinearOp)
    assert isinstance(norm, BatchNorm)
    assert np.array_equal(linear.bias, module[0].bias.detach().numpy())
    for mine, theirs in (
        (norm.gamma, "weight"),
        (norm.beta, "bias"),
        (norm.mean, "running_mean"),
        (norm.var, "running_var"),
    ):
        assert np.array_equal(mine, getattr(module[1], theirs).detach().numpy())
    assert norm.eps == 1e-5


def test_every_operation_is_met_above():
    met = {kind for _, _, names in STACKS.values() for kind in names}
    assert met >= {
        op.__name__
        for op in (Affine, AveragePool, BatchNorm, Clip, Convolution, Flatten, LinearOp, MaxPool, Pad, Sign)
    }


@pytest.mark.parametrize("name", sorted(MATRIX))
def test_the_matrix_of_modules(name):
    case = MATRIX[name]
    x = case.samples(most=512)
    chain = chain_of_module(case.module, x[:1])
    with torch.no_grad():
        expected = case.module(x.clone()).numpy()
    found = evaluate(chain, x.numpy())
    if chain.left_out:
        assert (found.argmax(1) == expected.argmax(1)).all()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
