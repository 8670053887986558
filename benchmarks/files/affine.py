"""Something affine on raw inputs, in front of the first layer: mean and deviation by channel or feature,
batch norm, real-valued features; and first layers in floats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped
from sugenet.errors import FileError

__all__ = ["kinds"]

SAMPLES = 300
PIXELS = sg.Integers(0, 255, step=Fraction(1, 255))


def kinds() -> Iterator[Kind]:
    """All kinds of this family."""
    for name in ("mean and deviation by channel", "batch norm by channel", "batch norm of one channel"):
        yield Kind(f"{name}, padded convolution", "torch", _torch(name, PIXELS))
        yield Kind(f"{name}, padded convolution", "torch.onnx", _exported(name, PIXELS))
    for name in ("mean and deviation by feature", "batch norm by feature"):
        yield Kind(f"{name}, bytes", "torch", _torch(name, PIXELS))
        yield Kind(f"{name}, real features", "torch", _torch(name, sg.Reals()))
        yield Kind(f"{name}, real features", "torch.onnx", _exported(name, sg.Reals()))
    yield Kind("real features, nothing in front", "torch", _torch("nothing", sg.Reals()))
    yield Kind("first convolution in floats, bytes", "torch", _torch("floats", PIXELS))
    yield Kind("batch norm by feature, state dict", "torch.save", _state_dict)
    yield Kind("Sub, Div, ternary Gemm", "onnx", _by_hand)
    yield Kind("batch norm, QuantConv2D same", "h5py", _larq)
    yield Kind("clipped inputs", "onnx", _clipped)


def compared(network: Any, samples: Any, scores: Any) -> Read:
    """All scores of all samples, beyond the rounding of floats."""
    mine, theirs = network.logits(samples), np.asarray(scores, np.float64)
    off = np.abs(mine - theirs.reshape(mine.shape)) > 1e-6 * (1 + np.abs(theirs).max())
    return Read(len(mine), int(off.any(axis=1).sum()))


def drawn(inputs: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Samples as the network reads them, and as they enter the source."""
    rng = np.random.default_rng(1)
    if isinstance(inputs, sg.Reals):
        rows = rng.normal(size=(SAMPLES, *shape)) * 3
        return rows, rows
    rows = rng.integers(0, 256, (SAMPLES, *shape))
    return rows, rows / 255


# -- PyTorch -------------------------------------------------------------------------------------------------


def _module(name: str) -> tuple[Any, tuple[int, ...]]:
    import torch
    from torch import nn

    torch.manual_seed(len(name))

    class Sign(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    class BinaryLinear(nn.Linear):
        def forward(self, x: Any) -> Any:
            return nn.functional.linear(x, torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype))

    class BinaryConv(nn.Conv2d):
        def forward(self, x: Any) -> Any:
            weights = torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype)
            return nn.functional.conv2d(x, weights, None, self.stride, self.padding)

    class Scaled(nn.Module):
        def __init__(self, mean: Any, std: Any) -> None:
            super().__init__()
            shape = (1, -1, 1, 1) if len(mean) == 3 else (1, -1)
            self.register_buffer("mean", torch.tensor(mean).reshape(shape))
            self.register_buffer("std", torch.tensor(std).reshape(shape))

        def forward(self, x: Any) -> Any:
            return (x - self.mean) / self.std

    def normed(layer: Any) -> Any:
        with torch.no_grad():
            layer.weight.normal_(), layer.bias.normal_(), layer.running_mean.normal_()
            layer.running_var.uniform_(0.1, 2)
        return layer

    def linear(n: int, m: int) -> Any:
        return BinaryLinear(n, m, bias=False)

    rng = np.random.default_rng(0)
    features = name.endswith("feature") or name == "nothing"
    channels = 1 if name == "batch norm of one channel" else 3
    first_layer = {
        "mean and deviation by channel": lambda: Scaled([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        "mean and deviation by feature": lambda: Scaled(
            (rng.normal(size=20) * 3).astype("f4"), (rng.random(20) + 0.1).astype("f4")
        ),
        "batch norm by feature": lambda: normed(nn.BatchNorm1d(20)),
        "nothing": nn.Identity,
        "floats": nn.Identity,
    }.get(name, lambda: normed(nn.BatchNorm2d(channels)))()
    if features:
        first = [first_layer, linear(20, 12), normed(nn.BatchNorm1d(12)), Sign(), linear(12, 10)]
        return nn.Sequential(*first, normed(nn.BatchNorm1d(10)), Sign(), linear(10, 4)).eval(), (20,)
    conv = (nn.Conv2d if name == "floats" else BinaryConv)(channels, 6, 3, padding=1, bias=name == "floats")
    first = [first_layer, conv, normed(nn.BatchNorm2d(6)), nn.MaxPool2d(2), Sign(), nn.Flatten()]
    last = [linear(96, 10), normed(nn.BatchNorm1d(10)), Sign(), linear(10, 4)]
    return nn.Sequential(*first, *last).eval(), (channels, 8, 8)


def _scores(module: Any, values: Any) -> Any:
    import torch

    with torch.no_grad():
        return module.double()(torch.tensor(values, dtype=torch.float64)).numpy()


def _torch(name: str, inputs: Any) -> Callable[[Path], Outcome]:
    def attempt(_folder: Path) -> Outcome:
        try:
            import torch
        except ImportError:
            return Skipped("torch is not installed")
        module, shape = _module(name)
        found = sg.from_torch(module, torch.rand(1, *shape), inputs=inputs).report
        samples, values = drawn(inputs, shape)
        return compared(found.network, samples, _scores(module, values))

    return attempt


def _exported(name: str, inputs: Any) -> Callable[[Path], Outcome]:
    def attempt(folder: Path) -> Outcome:
        try:
            import onnx  # noqa: F401
            import torch
        except ImportError:
            return Skipped("torch and onnx are not installed")
        import warnings

        module, shape = _module(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module,
                (torch.rand(1, *shape),),
                str(folder / "net.onnx"),
                dynamo=False,
                input_names=["x"],
                dynamic_axes={"x": {0: "n"}},
            )
        found = sg.read_onnx(folder / "net.onnx", inputs=inputs).report
        samples, values = drawn(inputs, shape)
        return compared(found.network, samples, _scores(module, values))

    return attempt


def _state_dict(folder: Path) -> Outcome:
    try:
        import torch
    except ImportError:
        return Skipped("torch is not installed")
    module, shape = _module("batch norm by feature")
    torch.save(module.state_dict(), folder / "net.pth")
    words = (
        "batchnorm:0 linear:1(weights=sign) batchnorm:2 sign linear:4(weights=sign) batchnorm:5 sign "
        "linear:7(weights=sign)"
    )
    found = sg.io.from_state_dict(folder / "net.pth", words, inputs=PIXELS).report
    samples, values = drawn(PIXELS, shape)
    return compared(found.network, samples, _scores(module, values))


# -- ONNX ----------------------------------------------------------------------------------------------------


def _graph(folder: Path, *first_layer: tuple[str, Any]) -> tuple[Path, Any]:
    """Elementwise nodes with a constant each, then a ternary layer, a sign and scores."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(3)
    arrays = {"w": rng.choice([-1.0, 0.0, 1.0], (12, 16)), "b": rng.normal(size=12)}
    arrays |= {
        "zero": np.zeros(1),
        "one": np.ones(1),
        "less": -np.ones(1),
        "v": rng.choice([-1.0, 1.0], (12, 4)),
    }
    nodes, last = [], "x"
    for number, (op, values) in enumerate(first_layer):
        names = [f"c{number}_{k}" for k in range(len(values))]
        arrays |= dict(zip(names, values, strict=True))
        nodes.append(helper.make_node(op, [last, *names], [f"y{number}"]))
        last = f"y{number}"
    nodes += [
        helper.make_node("Gemm", [last, "w", "b"], ["s"], transB=1),
        helper.make_node("GreaterOrEqual", ["s", "zero"], ["on"]),
        helper.make_node("Where", ["on", "one", "less"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["scores"]),
    ]
    ends = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", k]) for n, k in (("x", 16), ("scores", 4))
    ]
    kept = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx", {n: np.asarray(a, np.float32).astype(np.float64) for n, a in arrays.items()}


def _by_hand(folder: Path) -> Outcome:
    try:
        import onnx  # noqa: F401
    except ImportError:
        return Skipped("onnx is not installed")
    rng = np.random.default_rng(4)
    path, known = _graph(folder, ("Sub", [rng.random(16)]), ("Div", [rng.random(16) + 0.1]))
    samples, values = drawn(PIXELS, (16,))
    sums = (values - known["c0_0"]) / known["c1_0"] @ known["w"].T + known["b"]
    return compared(sg.read_onnx(path, inputs=PIXELS), samples, np.where(sums >= 0, 1, -1) @ known["v"])


def _clipped(folder: Path) -> Outcome:
    try:
        import onnx  # noqa: F401
    except ImportError:
        return Skipped("onnx is not installed")
    path, _ = _graph(folder, ("Clip", [np.array(0.25), np.array(0.75)]))
    try:
        sg.read_onnx(path, inputs=PIXELS)
    except FileError as error:
        way = "Clip the samples before they enter the network"
        return Refused(way) if way in str(error) else Read(0, 1)
    return Read(0, 1)


# -- Larq ----------------------------------------------------------------------------------------------------


def _larq(folder: Path) -> Outcome:
    try:
        import h5py
    except ImportError:
        return Skipped("h5py is not installed")
    rng = np.random.default_rng(5)
    norm = {name: rng.normal(size=3).astype("f4") for name in ("gamma", "beta", "moving_mean")}
    norm["moving_variance"] = (rng.random(3) + 0.1).astype("f4")
    kernel, dense = (rng.normal(size=size).astype("f4") for size in ((3, 3, 3, 4), (144, 5)))
    signs = {"kernel_quantizer": "ste_sign", "use_bias": False, "activation": "linear"}
    window = {"kernel_size": [3, 3], "strides": [1, 1], "padding": "same", "filters": 4}
    about = {"name": "bn", "axis": [3], "epsilon": 0.001, "center": True, "scale": True}
    layers = [
        ("BatchNormalization", about | {"batch_input_shape": [None, 6, 6, 3]}, norm),
        ("QuantConv2D", {"name": "conv", **window, **signs, "input_quantizer": None}, {"kernel": kernel}),
        ("Flatten", {"name": "flat"}, {}),
        ("QuantDense", {"name": "fc", "units": 5, **signs, "input_quantizer": "ste_sign"}, {"kernel": dense}),
    ]
    entries = [{"class_name": kind, "config": config} for kind, config, _ in layers]
    model = {"class_name": "Sequential", "config": {"name": "net", "layers": entries}}
    with h5py.File(folder / "net.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(model).encode()
        root = file.create_group("model_weights")
        for _, config, arrays in layers:
            group = root.create_group(config["name"])
            group.attrs["weight_names"] = [f"{config['name']}/{part}:0".encode() for part in arrays]
            for part, array in arrays.items():
                group.create_dataset(f"{config['name']}/{part}:0", data=array)
    samples, values = drawn(PIXELS, (6, 6, 3))
    exact = {name: array.astype(np.float64) for name, array in norm.items()}
    scaled = exact["gamma"] * (values - exact["moving_mean"]) / np.sqrt(exact["moving_variance"] + 0.001)
    padded = np.pad(scaled + exact["beta"], ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    sums = np.einsum("nyxcij,ijco->nyxo", windows, np.where(kernel >= 0, 1.0, -1.0))
    bits = np.where(sums >= 0, 1.0, -1.0).reshape(SAMPLES, -1)
    found = sg.read_larq(folder / "net.h5", inputs=PIXELS).report
    return compared(found.network, samples, bits @ np.where(dense >= 0, 1.0, -1.0))
