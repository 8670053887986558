"""A grammar of small PyTorch modules for differential tests: pads, convolutions, pools, norms and signs in
every order that runs.

Parameters are dyadic, so that float64 is exact but for batch norms; a sample is left out where a value behind
one is within rounding of 0.
"""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import sugenet as sg
from sugenet.errors import SugenetError

_SAMPLES = 48
_NEAR = 1e-9


def approx(x: Any) -> Any:
    """ApproxSign of Bi-Real and ReActNet: forward a sign, backward a piecewise quadratic function."""
    left, middle, right = ((x < bound).to(x.dtype) for bound in (-1, 0, 1))
    smooth = (-1) * left + (x * x + 2 * x) * (1 - left)
    smooth = smooth * middle + (-x.pow(2) + 2 * x) * (1 - middle)
    smooth = smooth * right + 1 * (1 - right)
    return torch.sign(x).detach() - smooth.detach() + smooth


SIGNS = {
    "ge": lambda x: torch.where(x >= 0, 1.0, -1.0).to(x.dtype),
    "gt": lambda x: torch.where(x > 0, 1.0, -1.0).to(x.dtype),
    "sign": torch.sign,
    "float": lambda x: (x >= 0).to(x.dtype) * 2 - 1,
    "bits": lambda x: (x > 0).to(x.dtype),
    "lt": lambda x: torch.where(x < 0, 1.0, -1.0).to(x.dtype),
    "tanh": lambda x: (F.hardtanh(x).sign() + 0.125).sign(),
    "method": lambda x: x.ge(0).to(x.dtype).mul(2).sub(1),
    "inplace": lambda x: x.clone().sign_().add_(0.5).sign_(),
    "fill": lambda x: torch.ones_like(x).masked_fill(x < 0, -1.0),
    "scaled": lambda x: torch.where(x >= 0, 0.75, -0.25).to(x.dtype),
    "through": lambda x: x + (torch.where(x >= 0, 1.0, -1.0).to(x.dtype) - x).detach(),
    "approx": approx,
    "clipped": lambda x: torch.round(torch.clamp((x + 1) / 2, 0, 1)) * 2 - 1,
}


THREE = ("sign", "approx")
"""Signs that are 0 at 0."""


class Cut(nn.Module):
    """A sign in one of its spellings."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def forward(self, x: Any) -> Any:
        return SIGNS[self.how](x)

    def extra_repr(self) -> str:
        return self.how


class Do(nn.Module):
    """Any function, shown by its name."""

    def __init__(self, name: str, function: Any) -> None:
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x: Any) -> Any:
        return self.function(x)

    def extra_repr(self) -> str:
        return self.name


class Joined(nn.Module):
    """A shortcut around some parts, added to them or joined with them."""

    def __init__(self, join: str, *way: Any) -> None:
        super().__init__()
        self.join, self.way = join, nn.Sequential(*way)

    def forward(self, x: Any) -> Any:
        y = None if self.join == "halves" else self.way(x)
        match self.join:
            case "-":
                return x - y
            case "halves":
                kept, changed = x.chunk(2, 1)
                return torch.cat([self.way(kept), changed], 1)
            case "join":
                return torch.cat([x, y], 1)
            case "shuffle":
                return torch.cat([y, x], 1).unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
        return x + y


class Vector(nn.Module):
    """Scale and shift with numbers along the channels or features."""

    def __init__(self, scale: Any, shift: Any) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("shift", shift)

    def forward(self, x: Any) -> Any:
        return x * self.scale + self.shift

    def extra_repr(self) -> str:
        return f"{self.scale.flatten().tolist()}, {self.shift.flatten().tolist()}"


@dataclass(frozen=True, eq=False)
class Case:
    """A module with what its samples are."""

    seed: int
    module: Any
    shape: tuple[int, ...]
    inputs: Any
    zero: int | None

    def __str__(self) -> str:
        parts = "\n".join(f"  {name}: {part}" for name, part in self.module.named_children())
        return f"seed {self.seed}, samples {self.shape}, {self.inputs}, zero={self.zero}\n{parts}"


def cases(seed: int) -> Iterator[Case]:
    """Modules without end; the k-th of a seed is always the same."""
    number = seed * 1_000_000
    while True:
        yield case(number)
        number += 1


def case(number: int) -> Case:
    """One module by its number."""
    return _Builder(number).case()


class _Builder:
    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(seed)
        self.parts: list[Any] = []
        self.now: Any = None
        self.fill = self.random.choice([0.0, 0.0, 0.0, 1.0, -1.0, 0.5])

    # -- choices ---------------------------------------------------------------------------------------------

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    def numbers(
        self, *shape: int, of: tuple[float, ...] = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
    ) -> Any:
        count = int(np.prod(shape))
        return torch.tensor([self.random.choice(of) for _ in range(count)]).reshape(shape)

    def weights(self, *shape: int) -> Any:
        kind = self.random.random()
        made = self.numbers(
            *shape,
            of=(-1.0, 1.0) if kind < 0.6 else (-1.0, 0.0, 1.0) if kind < 0.85 else (-2.0, -1.0, 1.0, 3.0),
        )
        return made * (self.pick(0.5, 0.25, 2.0) if self.maybe(0.2) else 1.0)

    def add(self, *parts: Any) -> bool:
        """Put parts behind what is there, if they run."""
        try:
            with torch.no_grad():
                now = self.now
                for part in parts:
                    now = part.eval()(now)
        except (RuntimeError, ValueError, IndexError, NotImplementedError):
            return False
        if not now.numel() or now.numel() > 400:
            return False
        self.parts += parts
        self.now = now
        return True

    # -- a module --------------------------------------------------------------------------------------------

    def case(self) -> Case:
        kind = self.pick("maps", "maps", "maps", "flat", "line")
        shape = {
            "maps": (self.pick(1, 2, 3), self.pick(1, 2, 3, 4), self.pick(1, 2, 3, 4)),
            "line": (self.pick(1, 2), self.pick(2, 3, 5)),
            "flat": (self.pick(1, 2, 3, 5),),
        }[kind]
        self.now = torch.zeros(2, *shape)
        inputs = self.pick(
            sg.Integers(0, 3),
            sg.Integers(0, 2),
            sg.Integers(-1, 2),
            sg.Integers(0, 3, step=Fraction(1, 2), start=-1),
            sg.Bits(),
            sg.Bits(0, 1),
            sg.Reals(),
            sg.Reals(-1.0, 2.0),
        )
        if kind == "maps" and self.maybe(0.1):
            self.add(Do("channels last", lambda x: x.permute(0, 3, 1, 2)))
        if self.maybe(0.2):
            self.elementwise()
        if isinstance(inputs, sg.Reals) or self.maybe(0.1):
            self.pads() if self.maybe(0.2) else None
            self.elementwise() if self.maybe(0.5) else None
            self.sign()
        for _ in range(self.pick(1, 1, 2, 2, 3)):
            self.layer()
            self.between()
            self.sign()
            if self.maybe(0.3):
                self.behind_sign()
            while self.maybe(0.15):
                self.shortcut()
        self.head()
        zero = self.pick(None, None, 1, -1)
        return Case(self.seed, nn.Sequential(*self.parts).eval(), shape, inputs, zero)

    def sign(self) -> None:
        self.add(Cut(self.pick(*SIGNS) if self.maybe(0.6) else "ge"))

    def pads(self) -> None:
        """None to three of them, of every kind."""
        for _ in range(self.pick(0, 1, 1, 2, 2, 3)):
            width = 2 if self.now.ndim == 3 else 4
            sides = tuple(self.pick(0, 0, 1, 1, 2) for _ in range(width))
            if self.maybe(0.06):
                sides = tuple(self.pick(-1, 0, 1) for _ in range(width))
            value = self.fill if self.maybe(0.8) else self.pick(0.0, 1.0, -1.0, 0.5)
            pad = self.pick("zero", "constant", "function", "function", "method", "other")
            if pad == "zero" and (self.fill == 0 or self.maybe(0.2)):
                self.add(nn.ZeroPad1d(sides) if width == 2 else nn.ZeroPad2d(sides))
            elif pad == "constant":
                self.add(nn.ConstantPad1d(sides, value) if width == 2 else nn.ConstantPad2d(sides, value))
            elif pad == "function":
                self.add(Do(f"pad {sides} {value}", lambda x, s=sides, v=value: F.pad(x, s, value=v)))
            elif pad == "method":
                self.add(
                    Do(
                        f"pad width {sides[:2]} {value}",
                        lambda x, s=sides, v=value: F.pad(x, s[:2], "constant", v),
                    )
                )
            elif self.maybe(0.15):
                self.add(self.pick(nn.ReflectionPad2d, nn.ReplicationPad2d, nn.CircularPad2d)(1))

    def layer(self) -> None:
        if self.now.ndim == 2:
            self.linear(self.pick(1, 2, 3, 4))
            return
        if self.maybe(0.5):
            self.pads()
        if self.maybe(0.12):
            self.flatten()
            self.linear(self.pick(2, 3))
            return
        for _ in range(20):
            if self.add(self.convolution()):
                return
        self.flatten()
        self.linear(self.pick(2, 3))

    def convolution(self) -> Any:
        into = self.now.shape[1]
        groups = self.pick(1, 1, 1, into)
        out = groups * self.pick(1, 1, 2)
        flat = self.now.ndim == 3
        kernel = self.pick(1, 2, 3) if flat or self.maybe(0.4) else (self.pick(1, 2, 3), self.pick(1, 2, 3))
        options: dict[str, Any] = {"groups": groups, "bias": self.maybe(0.5)}
        if self.maybe(0.3):
            options["dilation"] = self.pick(1, 2)
        if self.maybe(0.2):
            options["padding"] = "same"
        else:
            options["stride"] = self.pick(1, 1, 2)
            options["padding"] = (
                self.pick(0, 0, 1, 2) if flat or self.maybe(0.6) else (self.pick(0, 1), self.pick(0, 1, 2))
            )
        if self.maybe(0.05):
            options["padding_mode"] = self.pick("reflect", "circular", "replicate")
        if self.maybe(0.08):
            options = {"stride": self.pick(1, 2), "padding": self.pick(0, 1), "groups": groups, "bias": True}
            return self.filled(
                (nn.ConvTranspose1d if flat else nn.ConvTranspose2d)(into, out, kernel, **options)
            )
        made = (nn.Conv1d if flat else nn.Conv2d)(into, out, kernel, **options)
        return self.filled(made)

    def shortcut(self) -> None:
        """A block as in residual networks: with or without signs, and batch norms."""
        join = self.pick("+", "+", "-", "join", "shuffle", "halves")
        if join == "halves" and (self.now.shape[1] < 2 or self.maybe(0.2)):
            join = "+"
        whole, width = self.now, self.now.shape[1]
        if join == "halves":
            self.now = self.now.chunk(2, 1)[0]
            width = self.now.shape[1]
        way = [Cut("ge")] if self.maybe(0.4) else []
        if self.now.ndim == 2:
            way.append(self.filled(nn.Linear(width, width, bias=self.maybe(0.5))))
        else:
            conv = nn.Conv1d if self.now.ndim == 3 else nn.Conv2d
            size = self.pick(1, 3)
            way.append(self.filled(conv(width, width, size, padding=size // 2, bias=self.maybe(0.3))))
        before, self.parts = self.parts, []
        self.add(*way)
        if self.maybe(0.7):
            self.norm()
        if self.maybe(0.4):
            self.sign()
        way, self.parts, self.now = self.parts, before, whole
        self.add(Joined(join, *way))
        if self.maybe(0.3):
            self.pick(self.norm, self.sign)()

    def linear(self, out: int) -> None:
        self.add(self.filled(nn.Linear(self.now.shape[-1], out, bias=self.maybe(0.7))))

    def filled(self, part: Any) -> Any:
        with torch.no_grad():
            part.weight.copy_(self.weights(*part.weight.shape))
            if part.bias is not None:
                part.bias.copy_(self.numbers(*part.bias.shape))
        return part

    def between(self) -> None:
        """What stands between a layer and its sign."""
        for _ in range(self.pick(0, 1, 1, 2, 3)):
            self.pick(self.elementwise, self.elementwise, self.norm, self.pool, self.flatten, self.vector)()

    def elementwise(self) -> None:
        made = self.pick(
            nn.Hardtanh,
            lambda: nn.Hardtanh(-2.0, 0.5, inplace=True),
            lambda: nn.Hardtanh(-1, 1),
            lambda: nn.Hardtanh(-1, 2),
            nn.ReLU,
            nn.ReLU6,
            lambda: Do("clamp(min=-1)", lambda x: x.clamp(min=-1.0)),
            lambda: Do("clamp(max=1)", lambda x: torch.clamp(x, max=1)),
            lambda: Do("2x - 1", lambda x: 2 * x - 1),
            lambda: Do("1 - x", lambda x: 1 - x),
            lambda: Do("(x + 1) / 2", lambda x: (x + 1) / 2),
            lambda: Do("add(alpha=2)", lambda x: torch.add(x, 1, alpha=2)),
            lambda: Do("rsub", lambda x: torch.rsub(x, 0.5)),
            lambda: Do("neg", lambda x: -x),
            lambda: Do("mul_ on a view", lambda x: x.clone().view(x.shape).mul_(2)),
            lambda: Do("maximum", lambda x: torch.maximum(x, torch.tensor(-0.5, dtype=x.dtype))),
            lambda: Do("relu keyword", lambda x: F.relu(input=x, inplace=False)),
            lambda: Do("hardtanh keyword", lambda x: F.hardtanh(x, min_val=-1.5, max_val=2.0)),
            nn.Dropout,
            nn.Identity,
            lambda: nn.LeakyReLU(self.pick(0.25, 0.5, 2.0)),
            lambda: Do("where leaky", lambda x: torch.where(x > 0, 2 * x, x)),
            self.prelu,
        )()
        self.add(made)

    def prelu(self) -> Any:
        count = self.pick(1, self.now.shape[1])
        part = nn.PReLU(count)
        with torch.no_grad():
            part.weight.copy_(
                self.numbers(count, of=(0.25, 0.5, 0.5, 1.0, 2.0, 0.0, *([-0.5] * self.maybe(0.1))))
            )
        return part

    def norm(self) -> None:
        features = self.now.shape[1]
        kind = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}[self.now.ndim]
        exact = self.maybe(0.4)
        norm = kind(features, eps=0.0 if exact else 1e-5, affine=self.maybe(0.8))
        with torch.no_grad():
            norm.running_mean.copy_(self.numbers(features))
            norm.running_var.copy_(
                self.numbers(features, of=(0.25, 1.0, 4.0) if exact else (0.3, 1.0, 2.0, 7.0))
            )
            if norm.affine:
                norm.weight.copy_(self.numbers(features, of=(-2.0, -1.0, 0.0, 0.5, 1.0, 1.0, 1.0)))
                norm.bias.copy_(self.numbers(features))
        self.add(norm)

    def vector(self) -> None:
        """Numbers of their own along the first axis, or one for each place."""
        rank = self.now.ndim - 1
        shape = (
            (self.now.shape[1], *[1] * (rank - 1))
            if rank == 1 or self.maybe(0.95)
            else tuple(self.now.shape[1:])
        )
        scale = self.numbers(*shape, of=(-1.0, 0.5, 1.0, 1.0, 2.0)) if self.maybe(0.5) else torch.ones(1)
        self.add(Vector(scale, self.numbers(*shape)))

    def pool(self) -> None:
        if self.now.ndim == 2:
            return
        flat = self.now.ndim == 3
        kernel = self.pick(1, 2, 3) if flat or self.maybe(0.5) else (self.pick(1, 2, 3), self.pick(1, 2, 3))
        half = kernel // 2 if isinstance(kernel, int) else tuple(k // 2 for k in kernel)
        options: dict[str, Any] = {"padding": self.pick(0, half), "ceil_mode": self.maybe(0.3)}
        if self.maybe(0.7):
            options["stride"] = self.pick(1, 1, 2)
        way = self.pick("max", "max", "average", "average", "adaptive", "mean", "keep")
        if way == "max":
            if self.maybe(0.2):
                options["dilation"] = 2
            self.add((nn.MaxPool1d if flat else nn.MaxPool2d)(kernel, **options))
        elif way == "average":
            options["count_include_pad"] = self.maybe(0.6)
            if not flat and self.maybe(0.15):
                options["divisor_override"] = self.pick(2, 3)
            self.add((nn.AvgPool1d if flat else nn.AvgPool2d)(kernel, **options))
        elif way == "adaptive":
            size = self.pick(1, 1, 2, 3)
            kinds = (
                (nn.AdaptiveMaxPool1d, nn.AdaptiveAvgPool1d)
                if flat
                else (nn.AdaptiveMaxPool2d, nn.AdaptiveAvgPool2d)
            )
            self.add(self.pick(*kinds)(size))
        elif way == "mean":
            axes = (2,) if flat else (2, 3)
            keep = self.maybe(0.5)
            what = self.pick("mean", "sum", "amax")
            self.add(Do(f"{what} {axes} keepdim={keep}", lambda x: getattr(x, what)(axes, keepdim=keep)))
        else:
            self.add((nn.MaxPool1d if flat else nn.MaxPool2d)(3, stride=1, padding=1))

    def flatten(self) -> None:
        if self.now.ndim == 2:
            return
        if self.now.ndim == 4 and self.maybe(0.3):
            self.add(Do("permute, flatten", lambda x: x.permute(0, 2, 3, 1).flatten(1)))
        else:
            self.add(self.pick(nn.Flatten(), Do("view", lambda x: x.reshape(len(x), -1))))

    def behind_sign(self) -> None:
        self.pick(self.pool, self.pads, self.elementwise, self.vector, self.flatten, self.sign)()
        if self.maybe(0.2):
            self.pick(self.pool, self.elementwise, self.vector)()

    def head(self) -> None:
        out = self.pick(1, 2, 3)
        if self.now.ndim > 2 and self.maybe(0.3):
            flat = self.now.ndim == 3
            self.add(self.filled((nn.Conv1d if flat else nn.Conv2d)(self.now.shape[1], out, 1)))
            self.add((nn.AdaptiveAvgPool1d if flat else nn.AdaptiveAvgPool2d)(1), nn.Flatten())
        else:
            self.pool() if self.maybe(0.3) else None
            self.flatten()
            self.linear(out)
        for _ in range(self.pick(0, 0, 1, 2)):
            self.pick(self.norm, self.vector, lambda: self.add(Do("x / 2", lambda x: x / 2)))()
        if self.maybe(0.2):
            self.add(self.pick(nn.Softmax(dim=1), nn.LogSoftmax(dim=-1)))


# -- the comparison ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """``equal``, ``refused``, or ``different``, which a crash is too; and the words for it."""

    kind: str
    text: str = ""


def samples(case: Case) -> Any:
    """Raw samples as the network reads them."""
    random = np.random.default_rng(case.seed)
    shape = (_SAMPLES, *case.shape)
    match case.inputs:
        case sg.Integers():
            raw = random.integers(case.inputs.low, case.inputs.high, shape, endpoint=True).astype(float)
            raw[:2] = np.array([case.inputs.low, case.inputs.high]).reshape(2, *[1] * len(case.shape))
            return raw
        case sg.Bits():
            return random.integers(0, 1, shape, endpoint=True).astype(float)
    low, high = max(case.inputs.low, -3.0), min(case.inputs.high, 3.0)
    return np.clip(
        random.integers(-6, 6, shape, endpoint=True)
        / random.choice([1, 2, 4], (_SAMPLES, *[1] * len(case.shape))),
        low,
        high,
    )


def run_module(case: Case, raw: Any) -> tuple[Any, list[tuple[Any, Any]], Any]:
    """Scores of the module in float64, what each of its signs read and gave, and the samples for which
    rounding decides nothing.
    """
    given = raw
    if isinstance(case.inputs, sg.Integers):
        given = float(case.inputs.start) + float(case.inputs.step) * raw
    elif isinstance(case.inputs, sg.Bits):
        given = np.where(raw > 0, float(case.inputs.high), float(case.inputs.low))
    module = deepcopy(case.module).double()
    rooted = any(isinstance(part, nn.modules.batchnorm._BatchNorm) and part.eps for part in module.modules())
    seen: list[tuple[Any, Any]] = []
    fine = np.ones(len(raw), bool)

    def watch(part: Any, args: Any, out: Any) -> None:
        before, after = (value.detach().numpy().reshape(len(raw), -1) for value in (args[0], out))
        size = np.abs(before)
        near = (size < _NEAR) & (rooted | (size > 0))
        np.logical_and(fine, ~near.any(axis=1), out=fine)
        if part.how in THREE and case.zero is not None:  # what sign(0) is was declared
            np.logical_and(fine, (before != 0).all(axis=1), out=fine)
        if (
            part.how not in THREE or after.all()
        ):  # three values are no bits; what follows may make bits of them
            seen.append((before.copy(), after.copy()))

    for part in module.modules():
        if isinstance(part, Cut):
            part.register_forward_hook(watch)
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            scores = module(torch.from_numpy(given.copy())).numpy().reshape(len(raw), -1)
    finally:
        torch.set_default_dtype(dtype)
    return scores, seen, fine


def outcome(case: Case, *, prove: bool = False) -> Outcome:
    """Import a module and compare it with itself on samples: all scores, and the bits of every sign."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sg.from_torch(
                case.module, torch.zeros(1, *case.shape), inputs=case.inputs, zero=case.zero, prove=prove
            ).report
    except SugenetError as error:
        return Outcome("refused", f"{type(error).__name__}: {error}")
    except Exception as error:  # anything else is a crash
        return Outcome("different", f"{type(error).__name__}: {error}")
    raw = samples(case)
    scores, seen, fine = run_module(case, raw)
    rows = raw.reshape(len(raw), -1)
    mine = found.network.logits(rows)
    if isinstance(case.module[-1], nn.Softmax | nn.LogSoftmax):
        scores = np.log(scores) if isinstance(case.module[-1], nn.Softmax) else scores
        scores, mine = scores - scores[:, :1], mine - mine[:, :1]
    off = (~np.isclose(mine, scores, rtol=1e-9, atol=1e-9)).any(axis=1) & fine
    if off.any():
        k = int(np.argmax(off))
        return Outcome(
            "different", f"sample {raw[k].tolist()}: {mine[k].tolist()} here, {scores[k].tolist()} in PyTorch"
        )
    return _hidden(found, rows[fine], [(b[fine], a[fine]) for b, a in seen])


def _hidden(found: Any, rows: Any, seen: list[tuple[Any, Any]]) -> Outcome:
    """Each sign is a layer, or the bits that the network reads,
    as often as it is there and in any order of its neurons.
    """
    if not len(rows):
        return Outcome("equal")
    layers = found.network.hidden(rows)
    known = [Counter(map(bytes, layer.T.copy())) for layer in layers]
    constant = [number for number, (_, after) in enumerate(seen) if len(np.unique(after)) == 1]
    for number, (_, after) in enumerate(seen):
        if number < max(constant, default=0):  # a later sign is the same whatever this one is
            continue
        levels = np.unique(after)
        bits = after == levels[-1] if len(levels) > 1 else np.full(after.shape, after.flat[0] > 0)
        ours = Counter(map(bytes, bits.T.copy()))
        if len(levels) == 2 and ours not in known and not _made_of(ours, known, found.network.inputs(rows)):
            return Outcome("different", f"sign {number} is no layer of the network")
    return Outcome("equal")


def _made_of(ours: Any, known: Any, inputs: Any) -> bool:
    """A sign of bits or inputs: each of its columns, or the reverse of it,
    is a column known already, or constant.
    """
    columns = set().union(*known) | (set(map(bytes, inputs.T.copy())) if inputs.dtype == bool else set())
    for column in ours:
        row = np.frombuffer(column, bool)
        if len(set(row)) > 1 and column not in columns and (~row).tobytes() not in columns:
            return False
    return True


def difference(case: Case) -> str | None:
    """What is wrong with the import of a module; None where it is right or refused."""
    found = outcome(case)
    return f"{found.text}\n{case}" if found.kind == "different" else None
