"""Random state dicts with the words that declare them, and the same layers run by PyTorch in float64."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from sugenet.io import Bits, Integers, Reals, from_state_dict

__all__ = ["draw_inputs", "dyadic", "make"]


def dyadic(random: Random, *shape: int, zeros: bool = False) -> Any:
    """Quarters between -2 and 2."""
    values = [k / 4 for k in range(-8, 9) if k or zeros]
    return np.array([random.choice(values) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)


def draw_inputs(random: Random, signed: bool) -> Any:
    """What raw samples are; real numbers only where the network takes their sign at once."""
    choices = [
        Bits(),
        Bits(),
        Bits(0, 1),
        Integers(0, 3),
        Integers(-2, 5, step=0.25, start=0.5),
        Integers(0, 7, step=-0.5),
    ]
    return random.choice([*choices, None, Reals()] if signed else choices)


def make(random: Random) -> tuple[Any, ...]:
    """A case of `tests.fuzzing.sources`, less its seed."""
    net = _Net(random)
    signed = net.begin()
    if len(net.shape) == 3:
        for _ in range(random.randint(0, 2)):
            net.block(net.conv)
        if random.random() < 0.2:
            net.pool("globalavgpool")
        net.flatten()
    for _ in range(random.randint(0, 2)):
        net.block(net.linear)
    net.linear(random.randint(2, 4))
    if random.random() < 0.3:
        random.choice([net.affine, net.norm, net.tensornorm])()
    text, state, given = " ".join(net.words), net.state, net.given
    if random.random() < 0.08:  # something that nothing uses
        state = state | {
            random.choice(["extra.weight", "l0.scale", "l0.act_quant.scaling_impl.value"]): np.ones(
                2, np.float32
            )
        }
    elif random.random() < 0.1:
        state, text = state | {"extra.bias": np.ones(2, np.float32)}, text + " unused:extra"

    def read(_folder: Any, inputs: Any, zero: Any) -> Any:
        return from_state_dict(state, text, shape=given, inputs=inputs, zero=zero, prove=False).report

    used = "extra.weight" not in state and not any(
        name.startswith("l0.") and name.split(".")[-1] in ("scale", "value") for name in state
    )
    zero = random.choice([None, None, None, 1, -1])
    return (
        "state dict",
        f"{text} {sorted(state)}",
        read,
        net.run if used else None,
        given,
        draw_inputs(random, signed),
        zero,
    )


class _Net:
    """Words, parameters and functions, layer by layer."""

    def __init__(self, random: Random) -> None:
        self.random = random
        flat = random.random() < 0.35
        self.given = (
            (random.randint(1, 6),)
            if flat
            else (random.randint(1, 3), random.randint(1, 6), random.randint(2, 6))
        )
        self.shape = self.given
        self.words: list[str] = []
        self.state: dict[str, Any] = {}
        self.steps: list[Any] = []

    def run(self, x: Any, zero: int | None) -> tuple[Any, list[Any]]:
        before: list[Any] = []
        for step in self.steps:
            x = step(x, before, zero)
        return x, before

    def add(self, word: str, options: dict[str, Any], step: Any) -> None:
        said = ", ".join(f"{key}={value}" for key, value in options.items())
        self.words.append(f"{word}({said})" if said else word)
        self.steps.append(lambda x, before, zero: step(x))
        trial = step(torch.zeros(1, *self.shape, dtype=torch.float64))
        self.shape = tuple(trial.shape[1:])

    def name(self) -> str:
        return f"l{len(self.words)}"

    # -- layers ----------------------------------------------------------------------------------------------

    def begin(self) -> bool:
        """Perhaps a rescaling, and perhaps a sign at once."""
        if self.random.random() < 0.3:
            self.random.choice([self.affine, self.norm, self.clip])()
        if self.random.random() < 0.4:
            self.sign()
            return True
        return False

    def block(self, linear: Any) -> None:
        """A layer with a sign behind, and anything between and after."""
        if len(self.shape) == 3:
            for _ in range(self.random.choice([0, 0, 0, 1, 2])):
                self.pad()
        linear()
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            self.random.choice([self.norm, self.norm, self.affine, self.clip, self.pool, self.pool])()
        self.sign()
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.random.choice([self.pool, self.pool, self.affine, self.clip, self.sign])()

    def weights(self, *shape: int) -> tuple[Any, Any, dict[str, Any]]:
        """Stored weights, those that are used, and the words for it."""
        rule = self.random.choice(["sign", "sign", "ternary", "scaled", "scaled-all", "stored"])
        stored = dyadic(self.random, *shape, zeros=True)
        signs = np.where(stored >= 0, 1.0, -1.0)
        rows = stored.reshape(len(stored), -1)
        wide = (-1, *[1] * (len(shape) - 1))
        options: dict[str, Any] = {"weights": rule}
        if rule == "ternary":
            return stored, np.sign(stored), options
        if rule == "stored":
            used = (signs * np.abs(rows[:, 0]).reshape(wide)).astype(np.float32)
            return used, used, {} if self.random.random() < 0.5 else options
        if rule == "sign":
            return stored, signs, options
        sizes = (
            np.abs(rows).mean(axis=1)
            if rule == "scaled"
            else np.full(len(rows), np.abs(rows).mean(), np.float32)
        )
        if self.random.random() < 0.5:
            options["floor"] = self.random.choice(["1/65536", "0.5", "1"])
            sizes = np.maximum(
                sizes, np.float32({"1/65536": 1 / 65536, "0.5": 0.5, "1": 1}[options["floor"]])
            )
        return stored, signs * sizes.reshape(wide), options

    def bias(self, name: str, size: int, options: dict[str, Any]) -> Any:
        if self.random.random() < 0.5:
            return None
        self.state[f"{name}.bias"] = dyadic(self.random, size, zeros=True)
        if self.random.random() < 0.2:
            options["bias"] = "no"
            return None
        return torch.from_numpy(self.state[f"{name}.bias"]).double()

    def linear(self, size: int | None = None) -> None:
        name, outs = self.name(), size or self.random.randint(1, 5)
        if len(self.shape) == 3:
            self.flatten()
            name = self.name()
        stored, used, options = self.weights(outs, self.shape[0])
        self.state[f"{name}.weight"] = stored
        bias, w = self.bias(name, outs, options), torch.from_numpy(np.asarray(used, np.float64))
        self.add(f"linear:{name}", options, lambda x: F.linear(x, w, bias))

    def conv(self) -> None:
        name, channels = self.name(), self.shape[0]
        groups = self.random.choice([g for g in range(1, channels + 1) if channels % g == 0])
        outs = groups * self.random.randint(1, 3)
        kernel = [self.random.randint(1, min(3, side)) for side in self.shape[1:]]
        stored, used, options = self.weights(outs, channels // groups, *kernel)
        stride, pad, dilation = (
            [self.random.choice(row) for _ in range(2)] for row in ([1, 1, 2, 3], [0, 0, 1, 2], [1, 1, 1, 2])
        )
        while any(
            side + 2 * p < d * (k - 1) + 1
            for side, p, d, k in zip(self.shape[1:], pad, dilation, kernel, strict=True)
        ):
            pad = [p + 1 for p in pad]
        for key, value, usual in (
            ("stride", stride, [1, 1]),
            ("pad", pad, [0, 0]),
            ("dilation", dilation, [1, 1]),
        ):
            if value != usual:
                options[key] = value[0] if value[0] == value[1] else f"{value[0]}x{value[1]}"
        if groups > 1:
            options["groups"] = groups
        self.state[f"{name}.weight"] = stored
        bias, w = self.bias(name, outs, options), torch.from_numpy(np.asarray(used, np.float64))
        self.add(f"conv:{name}", options, lambda x: F.conv2d(x, w, bias, stride, pad, dilation, groups))

    def norm(self) -> None:
        name, size = self.name(), self.shape[0]
        self.numbers(name, size)
        eps = self.random.choice([None, None, 2e-5, 0.25])
        rows = [
            torch.from_numpy(self.state[f"{name}.{p}"]).double() if f"{name}.{p}" in self.state else None
            for p in _PARTS
        ]
        used = 1e-5 if eps is None else eps
        self.add(
            f"batchnorm:{name}",
            {} if eps is None else {"eps": eps},
            lambda x: F.batch_norm(x, rows[2], rows[3], rows[0], rows[1], eps=used),
        )

    def tensornorm(self) -> None:
        name = self.name()
        self.numbers(name, 1)
        gamma, beta, mean, var = (
            float(self.state.get(f"{name}.{p}", [usual])[0])
            for p, usual in zip(_PARTS, (1, 0, 0, 1), strict=True)
        )
        self.add(f"tensornorm:{name}", {}, lambda x: (x - mean) / (var + 1e-4) ** 0.5 * gamma + beta)

    def numbers(self, name: str, size: int) -> None:
        self.state[f"{name}.running_mean"] = dyadic(self.random, size, zeros=True)
        self.state[f"{name}.running_var"] = np.abs(dyadic(self.random, size))
        if self.random.random() < 0.8:
            self.state[f"{name}.weight"] = dyadic(self.random, size, zeros=True)
            self.state[f"{name}.bias"] = dyadic(self.random, size, zeros=True)
        if self.random.random() < 0.5:
            self.state[f"{name}.num_batches_tracked"] = np.array(3)

    def affine(self) -> None:
        scale, shift = (float(dyadic(self.random, 1)[0]) for _ in range(2))
        self.add("affine", {"scale": scale, "shift": shift}, lambda x: x * scale + shift)

    def clip(self) -> None:
        kind = self.random.choice(["clip", "hardtanh", "relu", "leaky"])
        if kind == "leaky":
            slope = self.random.choice([0.25, 0.5, 2.0])
            self.add(kind, {"slope": slope}, lambda x: F.leaky_relu(x, slope))
            return
        if kind != "clip":
            self.add(kind, {}, F.hardtanh if kind == "hardtanh" else F.relu)
            return
        low, high = (float(v) for v in dyadic(self.random, 2))
        options = {key: value for key, value in (("low", low), ("high", high)) if self.random.random() < 0.8}
        self.add(
            "clip", options, lambda x: x.clamp(options.get("low"), options.get("high")) if options else x
        )

    def sign(self) -> None:
        rule = self.random.choice([1, 1, 1, -1, 0])
        low, high = self.random.choice(
            [(-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, -1.0), (-0.5, 0.75)]
        )
        options: dict[str, Any] = {} if rule == 1 else {"zero": rule}
        if (low, high) != (-1.0, 1.0):
            options |= {"low": low, "high": high}
        said = ", ".join(f"{key}={value}" for key, value in options.items())
        self.words.append(f"sign({said})" if said else "sign")

        def step(x: Any, before: list[Any], zero: int | None) -> Any:
            declared = (
                rule == 0 and zero is not None
            )  # the user says what 0 shall be, so there the import may differ
            before.append(torch.where(x == 0, 1e-12, x) if declared else x)
            at = {1: high, -1: low, 0: (low + high) / 2}[rule]
            return torch.where(x > 0, high, torch.where(x < 0, low, at)).double()

        self.steps.append(step)

    def pool(self, kind: str | None = None) -> None:
        if len(self.shape) != 3:
            return
        kind = kind or self.random.choice(["maxpool", "maxpool", "avgpool"])
        if kind == "globalavgpool":
            self.add(kind, {}, lambda x: F.adaptive_avg_pool2d(x, 1))
            return
        kernel = [self.random.randint(1, min(3, side)) for side in self.shape[1:]]
        stride = self.random.choice([None, [1, 1], [1, 2], [2, 2]])
        pad = [self.random.choice([0, 0, k // 2]) for k in kernel]
        options = {"kernel": f"{kernel[0]}x{kernel[1]}"}
        if stride:
            options["stride"] = f"{stride[0]}x{stride[1]}"
        if any(pad):
            options["pad"] = f"{pad[0]}x{pad[1]}"
        if kind == "maxpool":
            self.add(kind, options, lambda x: F.max_pool2d(x, kernel, stride, pad))
            return
        count = self.random.random() < 0.5
        if not count:
            options["count_pads"] = "no"
        self.add(kind, options, lambda x: F.avg_pool2d(x, kernel, stride, pad, count_include_pad=count))

    def pad(self) -> None:
        high, wide = self.random.randint(0, 2), self.random.randint(0, 2)
        value = self.random.choice([0.0, 0.0, 1.0, -1.0, 0.5])
        options = {"size": f"{high}x{wide}"} | ({"value": value} if value else {})
        self.add("pad", options, lambda x: F.pad(x, (wide, wide, high, high), value=value))

    def flatten(self) -> None:
        last = self.random.random() < 0.3
        self.add(
            "flatten",
            {"order": "HWC"} if last else {},
            lambda x: (x.permute(0, 2, 3, 1) if last else x).flatten(1),
        )


_PARTS = ("weight", "bias", "running_mean", "running_var")
