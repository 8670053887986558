"""Random Keras and Larq models in `.h5` files, and the same layers run by PyTorch in float64,
on channels first.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from sugenet.io.exact.lower import lower
from sugenet.io.larq.reader import read_model
from tests.fuzzing.keras_files import WAYS, save, with_model_within
from tests.fuzzing.keras_steps import ACTIVATIONS, SIGNS, padded, signed, stepped
from tests.fuzzing.source_state_dicts import draw_inputs, dyadic

__all__ = ["make", "write"]


def write(
    folder: Path,
    layers: list[tuple[str, dict[str, Any], dict[str, Any]]],
    shape: tuple[int, ...],
    functional: bool,
    way: str = "h5",
    nesting: Random | None = None,
) -> tuple[Path, Path | None]:
    """Files as Keras saves them; `layers` are class, configuration and arrays by name."""
    entries, weights = [], {}
    for number, (kind, config, arrays) in enumerate(layers):
        name = f"{kind.lower()}_{number}"
        about: dict[str, Any] = {"name": name, "trainable": True, "dtype": "float32", **config}
        if number == 0 and not functional:
            about["batch_input_shape"] = [None, *shape]
        before = entries[-1]["name"] if entries else "input_1"
        entries.append(
            {"class_name": kind, "config": about, "name": name, "inbound_nodes": [[[before, 0, 0, {}]]]}
        )
        weights[name] = arrays
    last = entries[-1]["name"]
    if nesting is not None and len(entries) > 1:
        entries = with_model_within(entries, nesting, functional)
        last = entries[-1]["name"]
    model: dict[str, Any] = {"class_name": "Sequential", "config": {"name": "sequential", "layers": entries}}
    if functional:
        about = {
            "name": "input_1",
            "batch_input_shape": [None, *shape],
            "dtype": "float32",
            "sparse": False,
            "ragged": False,
        }
        first = {"class_name": "InputLayer", "config": about, "name": "input_1", "inbound_nodes": []}
        ends = {"input_layers": [["input_1", 0, 0]], "output_layers": [[last, 0, 0]]}
        model = {"class_name": "Functional", "config": {"name": "model", "layers": [first, *entries], **ends}}
    return save(folder, model, weights, way)


def make(random: Random) -> tuple[Any, ...]:
    """A case of `tests.fuzzing.sources`, less its seed."""
    net = _Net(random)
    signed = net.begin()
    if len(net.given) > 1:
        for _ in range(random.randint(0, 2)):
            net.block(
                random.choice([net.conv, net.conv, net.depthwise, net.dense])
                if len(net.given) == 3
                else net.conv
            )
        if random.random() < 0.25:
            net.global_pool()
        if len(net.shape) > 1:
            net.flatten()
    for _ in range(random.randint(0, 2)):
        net.block(net.dense)
    net.dense(random.randint(2, 4))
    if random.random() < 0.3:
        net.norm()
    if random.random() < 0.4:
        tail = random.choice(
            [("Activation", {"activation": "softmax"}), ("Softmax", {"axis": -1}), ("Dropout", {"rate": 0.5})]
        )
        net.layers.append((*tail, {}))
    good = random.random() > 0.15 or not net.spoil()
    layers, functional = net.layers, random.random() < 0.5
    way, nested = random.choice(WAYS), random.random() < 0.3
    seed = random.randrange(1 << 30)

    def read(folder: Path, inputs: Any, zero: Any) -> Any:
        nesting = Random(seed) if nested else None
        files = write(folder, layers, net.given, functional, way, nesting)
        return lower(read_model(*files, apart=False)[0], inputs, zero=zero)

    text = f"{way}{', a model within' if nested else ''}: " + "; ".join(
        f"{kind} {config} {sorted(arrays)}" for kind, config, arrays in layers
    )
    return (
        "Keras",
        text,
        read,
        net.run if good else None,
        net.given,
        draw_inputs(random, signed),
        random.choice([None, None, 1]),
    )


class _Net:
    """Layers as Keras writes them, and functions on (samples, channels, height,
    width) or (samples, features).
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        rank = random.choice([1, 2, 3, 3, 3])
        self.given = (*tuple(random.randint(2, 6) for _ in range(rank - 1)), random.randint(1, 4))
        self.layers: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.steps: list[Any] = []
        channels, sides = self.given[-1], self.given[:-1]
        self.shape = (channels,) if rank == 1 else (channels, *([1] * (3 - rank)), *sides)

    def run(self, x: Any, _zero: Any) -> tuple[Any, list[Any]]:
        before: list[Any] = []
        x = x.movedim(-1, 1)
        if x.ndim == 3:
            x = x[:, :, None]
        for step in self.steps:
            x = step(x, before)
        return x.flatten(1), before

    def add(self, kind: str, config: dict[str, Any], arrays: dict[str, Any], *steps: Any) -> None:
        self.layers.append((kind, config, arrays))
        x = torch.zeros(1, *self.shape, dtype=torch.float64)
        for step in steps:
            self.steps.append(step)
            x = step(x, [])
        self.shape = tuple(x.shape[1:])

    @property
    def rows(self) -> bool:
        """Whether the model has one dimension besides the channels."""
        return len(self.given) == 2

    # -- layers ----------------------------------------------------------------------------------------------

    def begin(self) -> bool:
        if self.random.random() < 0.3:
            scale, offset = (float(v) for v in dyadic(self.random, 2))
            self.add("Rescaling", {"scale": scale, "offset": offset}, {}, lambda x, _: x * scale + offset)
        if self.random.random() < 0.4:
            name = self.random.choice(list(ACTIVATIONS))
            self.add("Activation", {"activation": name}, {}, signed(name))
            return True
        return False

    def block(self, linear: Any) -> None:
        if self.random.random() < 0.25:
            self.zero_padding()
        linear()
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            self.random.choice([self.norm, self.norm, self.pool, self.relu, self.nothing])()
        if self.random.random() < 0.5:
            name = self.random.choice([*ACTIVATIONS, "binary", "ternary_tanh", "ternary"])
            as_layer = self.random.random() < 0.3 and name == "ste_sign"
            kind, config = (
                ("SteSign", {"clip_value": 1.0})
                if as_layer
                else ("QActivation" if name in ("binary", "ternary") else "Activation", {"activation": name})
            )
            if name == "ternary":
                config = {"activation": "ternary(alpha=0.5, threshold=0.25)"}
            self.add(kind, config, {}, stepped(name))
            if self.random.random() < 0.4:
                self.pool()

    def quantizer(self) -> tuple[dict[str, Any], list[Any]]:
        """An input quantizer, as a word or with its settings."""
        name = (
            self.random.choice([None, *SIGNS]) if self.steps else self.random.choice([None, None, "ste_sign"])
        )
        if name is None:
            return self.random.choice([{}, {"input_quantizer": None}]), []
        settings = {
            "class_name": "SteHeaviside" if name == "ste_heaviside" else name,
            "config": {"clip_value": 1.0, "dtype": "float32"},
        }
        plain = name in ("approx_sign", "SwishSign") or self.random.random() < 0.5
        return {"input_quantizer": name if plain else settings}, [signed(name)]

    def kernel(self, *shape: int) -> tuple[Any, Any, Any]:
        """Trained floats, those that are used, and the quantizer."""
        stored = dyadic(self.random, *shape, zeros=True) / 2
        signs = np.where(stored >= 0, 1.0, -1.0)
        name = self.random.choice(
            ["ste_sign", "ste_sign", "magnitude_aware_sign", "ste_tern", "twn", "ste_heaviside", None]
        )
        if name is None:
            used = (signs * np.abs(stored.reshape(-1, shape[-1])[0])).astype(np.float32)
            return used, used, self.random.choice([None, {"class_name": "NoOp", "config": {"precision": 1}}])
        if name == "magnitude_aware_sign":
            return stored, signs * np.abs(stored).mean(axis=tuple(range(len(shape) - 1))), name
        if name == "ste_heaviside":
            return stored, (stored > 0) * 1.0, name
        if name in ("ste_tern", "twn"):
            bar = np.float32(0.7) * np.abs(stored).sum() / stored.size if name == "twn" else np.float32(0.3)
            settings = {"threshold_value": 0.3, "ternary_weight_networks": name == "twn", "clip_value": 1.0}
            used = np.where(stored > bar, 1.0, np.where(stored < -bar, -1.0, 0.0))
            used[np.abs(stored) == bar] = np.sign(stored[np.abs(stored) == bar]) if bar else 0
            return stored, used, {"class_name": "SteTern", "config": settings}
        return stored, signs, name

    def bias(self, size: int, config: dict[str, Any], arrays: dict[str, Any]) -> Any:
        config["use_bias"] = self.random.random() < 0.5
        if config["use_bias"]:
            arrays["bias"] = dyadic(self.random, size, zeros=True)
        return torch.from_numpy(arrays["bias"]).double() if config["use_bias"] else None

    def activation(self, config: dict[str, Any]) -> list[Any]:
        name = self.random.choice([None, None, None, "linear", "relu", "hard_tanh"])
        if name:
            config["activation"] = name
        functions = {"relu": F.relu, "hard_tanh": F.hardtanh}
        return [lambda x, _: functions[name](x)] if name in functions else []

    def dense(self, units: int | None = None) -> None:
        last, units = units is not None, units or self.random.randint(1, 4)
        stored, used, quantizer = self.kernel(self.shape[0], units)
        given, signs = self.quantizer()
        kind = self.random.choice(["QuantDense"] * 9 + ["BinaryDense", "TernaryDense", "QDense"])
        config, arrays = {"units": units, "kernel_quantizer": quantizer, **given}, {"kernel": stored}
        if kind != "QuantDense":
            config, signs, used = {"units": units, **self.foreign(kind)}, [], self.used(kind, stored)
        bias, w = self.bias(units, config, arrays), torch.from_numpy(np.asarray(used, np.float64)).T
        after = [] if last else self.activation(config)

        def step(x: Any, _: Any) -> Any:
            return F.linear(x.movedim(1, -1), w, bias).movedim(-1, 1)

        self.add(kind, config, arrays, *signs, step, *after)

    def foreign(self, kind: str) -> dict[str, Any]:
        """Settings of QKeras' and hls4ml's layers."""
        if kind == "QDense":
            return {
                "kernel_quantizer": {"class_name": "ternary", "config": {"alpha": 0.5, "threshold": 0.375}}
            }
        return {"H": 1.0, "kernel_lr_multiplier": 3.5, "bias_lr_multiplier": None}

    def used(self, kind: str, stored: Any) -> Any:
        """The same kernels as those layers use them."""
        if kind == "QDense":
            return np.where(np.abs(stored) >= 0.375, 0.5 * np.sign(stored), 0.0)
        if kind == "BinaryDense":
            return np.where(stored > 0, 1.0, -1.0)
        return np.where(stored > 0.5, 1.0, np.where(stored <= -0.5, -1.0, 0.0))

    def window(self) -> tuple[dict[str, Any], list[int], list[int], list[int]]:
        """Kernel, stride and dilation, with the words for them."""
        size = [
            1 if self.rows and not axis else self.random.randint(1, min(3, side))
            for axis, side in enumerate(self.shape[1:])
        ]
        stride, dilation = [1, 1], [1, 1]
        if self.random.random() < 0.5:
            stride = [1 if self.rows else self.random.randint(1, 3), self.random.randint(1, 3)]
        elif self.random.random() < 0.5:
            dilation = [1 if self.rows else 2, 2]
        config: dict[str, Any] = {
            "padding": self.random.choice(["valid", "same", "same", *(["causal"] if self.rows else [])])
        }
        if (
            any(d * (k - 1) + 1 > side for d, k, side in zip(dilation, size, self.shape[1:], strict=True))
            and config["padding"] == "valid"
        ):
            config["padding"] = "same"
        cut = 1 if self.rows else 0
        config |= {"kernel_size": size[cut:], "strides": stride[cut:], "dilation_rate": dilation[cut:]}
        return config, size, stride, dilation

    def conv(self) -> None:
        channels = self.shape[0]
        config, size, stride, dilation = self.window()
        groups = self.random.choice([g for g in range(1, channels + 1) if channels % g == 0])
        filters = groups * self.random.randint(1, 3)
        stored, used, quantizer = self.kernel(*size[1 if self.rows else 0 :], channels // groups, filters)
        given, signs = self.quantizer()
        config |= {"filters": filters, "kernel_quantizer": quantizer, **given} | (
            {"groups": groups} if groups > 1 else {}
        )
        fill = self.fill(config)
        arrays = {"kernel": stored}
        bias = self.bias(filters, config, arrays)
        w = torch.from_numpy(np.asarray(used, np.float64))
        w = (w[None] if self.rows else w).permute(3, 2, 0, 1)

        def step(x: Any, _: Any) -> Any:
            return F.conv2d(
                padded(x, config["padding"], size, stride, dilation, fill),
                w,
                bias,
                stride,
                0,
                dilation,
                groups,
            )

        self.add(
            "QuantConv1D" if self.rows else "QuantConv2D",
            config,
            arrays,
            *signs,
            step,
            *self.activation(config),
        )

    def depthwise(self) -> None:
        if self.rows or len(self.shape) == 1:
            return
        channels, times = self.shape[0], self.random.randint(1, 2)
        config, size, stride, dilation = self.window()
        stored, used, quantizer = self.kernel(*size, channels, times)
        given, signs = self.quantizer()
        config |= {"depth_multiplier": times, "depthwise_quantizer": quantizer, **given}
        fill = self.fill(config)
        arrays = {"depthwise_kernel": stored}
        bias = self.bias(channels * times, config, arrays)
        w = (
            torch.from_numpy(np.asarray(used, np.float64))
            .permute(2, 3, 0, 1)
            .reshape(channels * times, 1, *size)
        )

        def step(x: Any, _: Any) -> Any:
            return F.conv2d(
                padded(x, config["padding"], size, stride, dilation, fill),
                w,
                bias,
                stride,
                0,
                dilation,
                channels,
            )

        self.add("QuantDepthwiseConv2D", config, arrays, *signs, step, *self.activation(config))

    def fill(self, config: dict[str, Any]) -> float:
        if config["padding"] == "causal" or self.random.random() < 0.5:
            return 0.0
        config["pad_values"] = self.random.choice([0.0, 1.0, -1.0])
        return float(config["pad_values"])

    def norm(self) -> None:
        size = self.shape[0]
        arrays = {
            "moving_mean": dyadic(self.random, size, zeros=True),
            "moving_variance": np.abs(dyadic(self.random, size)),
        }
        scale, center = self.random.random() < 0.7, self.random.random() < 0.7
        if scale:
            arrays["gamma"] = dyadic(self.random, size, zeros=True)
        if center:
            arrays["beta"] = dyadic(self.random, size, zeros=True)
        rank = 1 if len(self.shape) == 1 else len(self.given)
        eps = self.random.choice([1e-3, 1e-4, 0.25])
        config = {
            "axis": self.random.choice([-1, rank, [rank]]),
            "scale": scale,
            "center": center,
            "epsilon": eps,
            "momentum": 0.9,
        }
        rows = [torch.from_numpy(arrays[part]).double() if part in arrays else None for part in _PARTS]
        self.add(
            "BatchNormalization",
            config,
            arrays,
            lambda x, _: F.batch_norm(x, rows[2], rows[3], rows[0], rows[1], eps=eps),
        )

    def pool(self) -> None:
        if len(self.shape) == 1:
            return
        size = [
            1 if self.rows and not axis else self.random.randint(1, min(3, side))
            for axis, side in enumerate(self.shape[1:])
        ]
        stride = self.random.choice([None, [1, 1], [1, 2], [2, 1]])
        used = size if stride is None else [1 if self.rows else stride[0], stride[1]]
        padding, largest = self.random.choice(["valid", "same"]), self.random.random() < 0.6
        cut = 1 if self.rows else 0
        config = {
            "pool_size": size[cut:],
            "strides": None if stride is None else used[cut:],
            "padding": padding,
        }

        def step(x: Any, _: Any) -> Any:
            if largest:
                return F.max_pool2d(padded(x, padding, size, used, [1, 1], -torch.inf), size, used)
            ones = torch.ones_like(x[:1, :1])
            sums, counts = (
                F.avg_pool2d(padded(v, padding, size, used, [1, 1], 0.0), size, used) for v in (x, ones)
            )
            return sums / counts

        self.add(f"{'Max' if largest else 'Average'}Pooling{'1D' if self.rows else '2D'}", config, {}, step)

    def global_pool(self) -> None:
        largest, keep = self.random.random() < 0.4, self.random.random() < 0.4
        kind = f"Global{'Max' if largest else 'Average'}Pooling{'1D' if self.rows else '2D'}"

        def step(x: Any, _: Any) -> Any:
            return x.amax(dim=(2, 3), keepdim=keep) if largest else x.mean(dim=(2, 3), keepdim=keep)

        self.add(kind, {"keepdims": keep} if keep else {}, {}, step)

    def zero_padding(self) -> None:
        if len(self.shape) == 1:
            return
        sides = [self.random.randint(0, 2) for _ in range(4)]
        if self.rows:
            sides[:2] = [0, 0]
        top, bottom, left, right = sides
        padding = [left, right] if self.rows else [[top, bottom], [left, right]]
        kind = "ZeroPadding1D" if self.rows else "ZeroPadding2D"
        self.add(kind, {"padding": padding}, {}, lambda x, _: F.pad(x, (left, right, top, bottom)))

    def relu(self) -> None:
        top = self.random.choice([None, 1.5, 6.0])
        slope = self.random.choice([0.0, 0.0, 0.25, 2.0])
        config = {"max_value": top, "negative_slope": slope, "threshold": 0.0}
        self.add(
            "ReLU",
            config,
            {},
            lambda x, _: F.leaky_relu(x, slope).clamp(max=top) if top else F.leaky_relu(x, slope),
        )
        if self.random.random() < 0.3:
            key = self.random.choice(["alpha", "negative_slope"])
            self.add("LeakyReLU", {key: 0.5}, {}, lambda x, _: F.leaky_relu(x, 0.5))

    def nothing(self) -> None:
        self.add("Dropout", {"rate": 0.5, "noise_shape": None, "seed": None}, {}, lambda x, _: x)

    def flatten(self) -> None:
        kind, config = self.random.choice(
            [("Flatten", {"data_format": "channels_last"}), ("Reshape", {"target_shape": [-1]})]
        )
        self.add(kind, config, {}, lambda x, _: x.movedim(1, -1).flatten(1))

    # -- what must be refused --------------------------------------------------------------------------------

    def spoil(self) -> bool:
        """Say something that is not read; whether there was a place for it."""
        number = self.random.randrange(len(self.layers))
        kind, config, arrays = self.layers[number]
        if kind == "Dropout":
            return False
        if self.random.random() < 0.4 and arrays:
            arrays = arrays | {"extra": np.ones(2, np.float32)}
        else:
            more = [
                {"dtype": "mixed_float16"},
                {"blur": 2},
                {"data_format": "channels_first", "blur": 1},
                {"dtype": {"class_name": "Policy", "config": {"name": "mixed_bfloat16"}}},
            ]
            config = config | self.random.choice(more)
        self.layers[number] = (kind, config, arrays)
        return True


_PARTS = ("gamma", "beta", "moving_mean", "moving_variance")
