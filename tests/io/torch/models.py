"""Small torch modules of every kind that binarized networks are written in,
each with parameters that matter and exact sums.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


class SignWhere(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        return grad


def clipped(x):
    y = F.hardtanh(x)
    return (y.sign() - y).detach() + y


SIGNS = {
    "sign": lambda x: x.sign(),
    "where >=": lambda x: torch.where(x >= 0, 1.0, -1.0),
    "where >": lambda x: torch.where(x > 0, 1.0, -1.0),
    "where <, swapped": lambda x: torch.where(x < 0, -1.0, 1.0),
    "where <=, swapped": lambda x: torch.where(x <= 0, -1.0, 1.0),
    "where, constant first": lambda x: torch.where(torch.zeros(()) <= x, 1.0, -1.0),
    "compare, scale, shift": lambda x: (x >= 0).float() * 2 - 1,
    "two comparisons": lambda x: (x >= 0).float() - (x < 0).float(),
    "sign of sign": lambda x: (x.sign() + 0.1).sign(),
    "sign, zero mended": lambda x: torch.where(x == 0, 1.0, x.sign()),
    "hard tanh": lambda x: F.hardtanh(x).sign(),
    "tanh": lambda x: torch.where(x.tanh() >= 0, 1.0, -1.0),
    "straight through": lambda x: (x.sign() - x).detach() + x,
    "straight through, clipped": clipped,
    "straight through, other way": lambda x: x - (x - torch.where(x >= 0, 1.0, -1.0)).detach(),
    "autograd function": SignWhere.apply,
    "bits": lambda x: (x >= 0).float(),
    "reversed": lambda x: torch.where(x >= 0, -1.0, 1.0),
    "scaled": lambda x: x.sign() * 0.37,
    "rounded": lambda x: 2 * torch.round(torch.clamp((x + 1) / 2, 0, 1)) - 1,
    "per-channel cut": lambda x: torch.where(
        x >= torch.linspace(-1.3, 1.7, x.shape[1]).view(-1, *[1] * (x.ndim - 2)), 1.0, -1.0
    ),
}
"""What stands between a layer and the next, as people write it."""


class Sign(nn.Module):
    """One of the spellings, as a module that can be watched."""

    def __init__(self, how="where >="):
        super().__init__()
        self.how = how

    def forward(self, x):
        return SIGNS[self.how](x)


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


WEIGHTS = {
    "plain": lambda w: w,
    "sign": lambda w: w.sign(),
    "where": lambda w: torch.where(w >= 0, 1.0, -1.0),
    "alpha": lambda w: w.sign() * w.abs().mean(dim=tuple(range(1, w.ndim)), keepdim=True),
    "ternary": lambda w: torch.where(w.abs() > 0.4, w.sign(), torch.zeros(())),
}
"""How latent weights become those of the forward pass; plain ones are -1 and +1 already."""


class Linear(nn.Linear):
    def __init__(self, *args, how="plain", **more):
        super().__init__(*args, **more)
        self.how = how

    def forward(self, x):
        return F.linear(x, WEIGHTS[self.how](self.weight), self.bias)


class Conv(nn.Conv2d):
    def __init__(self, *args, how="plain", **more):
        super().__init__(*args, **more)
        self.how = how

    def forward(self, x):
        return self._conv_forward(x, WEIGHTS[self.how](self.weight), self.bias)


class Conv1(nn.Conv1d):
    how = "plain"


def settle(module, seed, gamma="mixed"):
    """Evaluation mode, with weights and statistics such that signs go both ways; `gamma` says which
    batch-norm scales occur.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.copy_(torch.randn(part.num_features, generator=draw))
                part.running_var.copy_(torch.rand(part.num_features, generator=draw) * 4 + 0.5)
                if part.affine:
                    scale = torch.rand(part.num_features, generator=draw) + 0.25
                    if gamma == "mixed":
                        scale[::2] *= -1
                    if gamma == "zero":
                        scale[::2] = 0
                    part.weight.copy_(scale)
                    part.bias.copy_(torch.randn(part.num_features, generator=draw) * 0.7)
            elif isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d):
                latent = torch.rand(part.weight.shape, generator=draw) * 2 - 1
                part.weight.copy_(
                    torch.where(latent >= 0, 1.0, -1.0)
                    if getattr(part, "how", "plain") == "plain"
                    else latent
                )
                if part.bias is not None:
                    part.bias.copy_(torch.randn(part.bias.shape, generator=draw) * 1.5)
    return module.eval()


@dataclass(frozen=True)
class Case:
    """A module, the shape of one sample, and what samples are made of."""

    name: str
    module: Any
    shape: tuple[int, ...]
    values: tuple[float, ...] = (-1.0, 1.0)

    def samples(self, most=4096, seed=0):
        """All samples where they are few, else random ones."""
        count = 1
        for size in self.shape:
            count *= size
        if len(self.values) ** count <= most:
            rows = torch.tensor(list(product(self.values, repeat=count)))
        else:
            picks = torch.randint(
                len(self.values), (300, count), generator=torch.Generator().manual_seed(seed)
            )
            rows = torch.tensor(self.values)[picks]
        return rows.reshape(-1, *self.shape)


def _dense(sign="where >=", how="plain", bias=False, **norm):
    return nn.Sequential(
        Linear(9, 6, bias=bias, how=how),
        nn.BatchNorm1d(6, **norm),
        Sign(sign),
        nn.Dropout(),
        Linear(6, 3, bias=bias, how=how),
    )


def _conv(*first_layer, tail=0, sign="where >=", flatten=None):
    return nn.Sequential(*first_layer, flatten or nn.Flatten(), nn.Linear(tail, 3, bias=False))


def _hwc(x):
    return x.permute(0, 2, 3, 1).flatten(1)


def _cases():
    """Every case, made anew."""
    for sign in SIGNS:
        yield f"dense, {sign}", _dense(sign), (9,)
    for how in WEIGHTS:
        yield f"dense, weights {how}", _dense(how=how, bias=True), (9,)
    yield "dense, batch norm without scale", _dense(affine=False), (9,)
    yield "dense, no batch norm", nn.Sequential(nn.Linear(9, 6), Sign(), nn.Linear(6, 3)), (9,)
    yield (
        "dense, batch norm on the scores",
        nn.Sequential(nn.Linear(9, 6), Sign(), nn.Linear(6, 3), nn.BatchNorm1d(3), nn.LogSoftmax(1)),
        (9,),
    )
    yield (
        "dense, relu before batch norm",
        nn.Sequential(nn.Linear(9, 6), nn.ReLU(), nn.BatchNorm1d(6), Sign(), nn.Linear(6, 3)),
        (9,),
    )
    yield (
        "dense, two hidden",
        nn.Sequential(
            Linear(9, 7),
            nn.BatchNorm1d(7),
            Sign("sign"),
            Linear(7, 5),
            nn.BatchNorm1d(5),
            Sign(),
            Linear(5, 3),
            nn.Softmax(1),
        ),
        (9,),
    )
    yield (
        "dense, image input",
        nn.Sequential(nn.Flatten(), nn.Linear(9, 6), nn.BatchNorm1d(6), Sign(), nn.Linear(6, 3)),
        (1, 3, 3),
    )
    yield (
        "dense, affine by hand",
        nn.Sequential(
            nn.Linear(9, 6), Lambda(lambda x: (x - 0.3) / 1.7 * 0.9 + 0.2), Sign(), nn.Linear(6, 3)
        ),
        (9,),
    )
    yield (
        "dense, batch norm unsqueezed",
        nn.Sequential(
            nn.Linear(9, 6),
            Lambda(lambda x: x.unsqueeze(2)),
            nn.BatchNorm1d(6),
            Lambda(lambda x: x.squeeze(2)),
            Sign(),
            nn.Linear(6, 3),
        ),
        (9,),
    )
    yield (
        "dense, features turned",
        nn.Sequential(
            nn.Linear(9, 6),
            Sign("where >"),
            Lambda(lambda x: x.view(-1, 2, 3).transpose(1, 2).reshape(-1, 6)),
            nn.Linear(6, 3),
        ),
        (9,),
    )

    yield (
        "conv, batch norm, sign, pool",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), nn.MaxPool2d(2, 1), tail=8),
        (1, 3, 4),
    )
    yield (
        "conv, pool, batch norm, sign",
        _conv(Conv(1, 4, 2), nn.MaxPool2d(2, 1), nn.BatchNorm2d(4), Sign(), tail=8),
        (1, 3, 4),
    )
    yield "conv, sign only", _conv(Conv(1, 4, 2, bias=True), Sign("where >"), tail=24), (1, 3, 4)
    yield (
        "conv, average, batch norm, sign",
        _conv(Conv(1, 4, 2), nn.AvgPool2d(2, 1), nn.BatchNorm2d(4), Sign(), tail=8),
        (1, 3, 4),
    )
    yield (
        "conv, sign, average",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), nn.AvgPool2d(2, 1), tail=8),
        (1, 3, 4),
    )
    yield (
        "conv, sign, global average",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), nn.AdaptiveAvgPool2d(1), tail=4),
        (1, 3, 4),
    )
    yield (
        "conv, sign, mean",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), Lambda(lambda x: x.mean((2, 3))), tail=4),
        (1, 3, 4),
    )
    yield (
        "conv, ceil mode",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), nn.MaxPool2d(2, 2, ceil_mode=True), tail=8),
        (1, 3, 4),
    )
    yield (
        "conv, padded pool",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), nn.MaxPool2d(3, 2, padding=1), tail=8),
        (1, 3, 4),
    )
    yield (
        "conv, zero padding",
        _conv(Conv(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), Sign(), tail=48),
        (1, 3, 4),
    )
    for value in (1.0, -1.0):
        yield (
            f"conv, padding {value:+.0f}",
            _conv(nn.ConstantPad2d(1, value), Conv(1, 4, 3), nn.BatchNorm2d(4), Sign(), tail=48),
            (1, 3, 4),
        )
    yield "conv, stride", _conv(Conv(1, 4, 2, stride=(1, 2)), nn.BatchNorm2d(4), Sign(), tail=16), (1, 3, 4)
    yield (
        "conv, dilation",
        _conv(Conv(1, 4, 2, dilation=(2, 1)), nn.BatchNorm2d(4), Sign(), tail=12),
        (1, 3, 4),
    )
    yield "conv, groups", _conv(Conv(2, 4, 2, groups=2), nn.BatchNorm2d(4), Sign(), tail=8), (2, 2, 3)
    yield (
        "conv, depthwise then 1x1",
        _conv(
            Conv(2, 2, 2, groups=2),
            nn.BatchNorm2d(2),
            Sign(),
            Conv(2, 4, 1),
            nn.BatchNorm2d(4),
            Sign(),
            tail=8,
        ),
        (2, 2, 3),
    )
    yield "conv, alpha", _conv(Conv(1, 4, 2, how="alpha"), nn.BatchNorm2d(4), Sign(), tail=24), (1, 3, 4)
    yield "conv, ternary", _conv(Conv(1, 4, 2, how="ternary"), nn.BatchNorm2d(4), Sign(), tail=24), (1, 3, 4)
    yield (
        "conv, flattened pixel by pixel",
        _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign("where >"), flatten=Lambda(_hwc), tail=24),
        (1, 3, 4),
    )
    yield (
        "conv, two layers",
        _conv(
            Conv(1, 3, 2, padding=1, how="sign"),
            nn.BatchNorm2d(3),
            Sign("sign"),
            Conv(3, 4, 2, how="sign"),
            nn.BatchNorm2d(4),
            Sign(),
            nn.MaxPool2d(2),
            tail=8,
        ),
        (1, 3, 4),
    )
    yield (
        "conv, channels last input",
        nn.Sequential(
            Lambda(lambda x: x.permute(0, 3, 1, 2)),
            Conv(2, 4, 2),
            nn.BatchNorm2d(4),
            Sign(),
            nn.Flatten(),
            nn.Linear(8, 3),
        ),
        (2, 3, 2),
    )
    yield (
        "conv, flat input",
        nn.Sequential(
            Lambda(lambda x: x.view(-1, 1, 3, 4)),
            Conv(1, 4, 2),
            nn.BatchNorm2d(4),
            Sign(),
            nn.Flatten(),
            nn.Linear(24, 3),
        ),
        (12,),
    )
    yield (
        "sequence",
        _conv(Conv1(2, 4, 3, padding=1), nn.BatchNorm1d(4), Sign(), nn.MaxPool1d(2), tail=12),
        (2, 6),
    )
    yield (
        "sequence, dilated, depthwise",
        _conv(Conv1(2, 4, 2, groups=2, dilation=2), nn.BatchNorm1d(4), Sign(), tail=16),
        (2, 6),
    )
    yield (
        "sign of maps, then batch norm of the next",
        _conv(
            Conv(1, 4, 2),
            Sign("straight through, clipped"),
            Conv(4, 4, 2),
            nn.MaxPool2d((1, 2)),
            nn.BatchNorm2d(4),
            Sign("bits"),
            tail=4,
        ),
        (1, 3, 4),
    )


PIXELS = tuple(float(v) for v in range(4))


def _pixel_cases():
    """Cases whose raw inputs are whole numbers."""
    yield "pixels, dense", nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), Sign(), nn.Linear(6, 3)), (5,)
    yield (
        "pixels, scaled",
        nn.Sequential(
            Lambda(lambda x: x / 3 * 2 - 1), nn.Linear(5, 6), nn.BatchNorm1d(6), Sign(), nn.Linear(6, 3)
        ),
        (5,),
    )
    yield (
        "pixels, binarized at once",
        nn.Sequential(
            Lambda(lambda x: x / 3 - 0.4), Sign(), nn.Linear(5, 6), nn.BatchNorm1d(6), Sign(), nn.Linear(6, 3)
        ),
        (5,),
    )
    yield "pixels, conv", _conv(Conv(1, 4, 2), nn.BatchNorm2d(4), Sign(), tail=8), (1, 2, 3)


def cases():
    """All cases by name, each settled with its own seed."""
    found = {}
    for number, (name, module, shape) in enumerate(_cases()):
        gamma = "zero" if name == "dense, scaled" else "positive" if "scores" in name else "mixed"
        found[name] = Case(name, settle(module, number, gamma), shape)
    for number, (name, module, shape) in enumerate(_pixel_cases(), start=100):
        found[name] = Case(name, settle(module, number), shape, PIXELS)
    return found


def watched(module, x):
    """What the module gives, and what every `Sign` in it gave on the way."""
    seen = []
    hooks = [
        part.register_forward_hook(lambda _, __, out: seen.append(out))
        for part in module.modules()
        if isinstance(part, Sign)
    ]
    with torch.no_grad():
        out = module(x)
    for hook in hooks:
        hook.remove()
    return out, seen
