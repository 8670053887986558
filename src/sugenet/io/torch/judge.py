"""A state dict run by PyTorch itself in float64, part by part as the architecture says: the judge of what the
reader made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.io.proof.judges import Seen, SourceJudge, Stage
from sugenet.io.torch.architecture import Architecture, Part

__all__ = ["judges_of_state_dict"]

_Array = npt.NDArray[Any]


def judges_of_state_dict(
    arrays: Mapping[str, _Array], architecture: Architecture, shape: tuple[int, ...]
) -> list[SourceJudge]:
    """PyTorch's own functions on the parameters by their names; none where PyTorch is not installed."""
    if find_spec("torch") is None:
        return []
    return [
        SourceJudge(
            "PyTorch's functions in float64", lambda x: _run(arrays, architecture, shape, x), follows=True
        )
    ]


def _run(arrays: Mapping[str, _Array], architecture: Architecture, shape: tuple[int, ...], x: _Array) -> Seen:
    import torch

    stages: list[Stage] = []
    now = torch.from_numpy(np.ascontiguousarray(x, np.float64).reshape(len(x), *shape))
    with torch.no_grad():
        for part in architecture:
            before = now
            now = _past(torch, part, arrays, now)
            if part.kind == "quantize":
                codes = (before / _unit(torch, part, arrays)).reshape(len(x), -1)
                low, high = _ends(part)
                levels = torch.round(now.reshape(len(x), -1) / _unit(torch, part, arrays)) - low
                cut = (torch.floor(codes) + 0.5).clamp(low + 0.5, high - 0.5)
                stages.append(Stage.of_levels(str(part), (codes - cut).numpy(), levels.long().numpy()))
            if part.kind == "sign":
                flat = before.reshape(len(x), -1).numpy()
                on, off = flat > 0, flat < 0
                at_zero = {"1": (True, False), "-1": (False, True), "0": (False, False)}[
                    part.text("zero", "1")
                ]
                stages.append(
                    Stage(str(part), flat, on | ((flat == 0) & at_zero[0]), off | ((flat == 0) & at_zero[1]))
                )
    scores = now.reshape(len(x), -1).numpy()
    return Seen(scores, tuple(stages), scores)


def _past(torch: Any, part: Part, arrays: Mapping[str, _Array], x: Any) -> Any:
    functional = torch.nn.functional

    def tensor(name: str) -> Any:
        array = arrays.get(f"{part.name}.{name}")
        return None if array is None else torch.from_numpy(np.array(array, np.float64))

    def two(key: str, otherwise: str) -> list[int]:
        row = [int(word) for word in part.text(key, otherwise).split("x")]
        return row * (3 - len(row))

    def one(key: str, otherwise: float) -> float:
        return float(part.number(key, otherwise))

    match part.kind:
        case "linear" | "conv":
            weight, bias = (
                _weight(torch, part, arrays[f"{part.name}.weight"]),
                None if part.text("bias", "yes") == "no" else tensor("bias"),
            )
            if part.kind == "linear":
                return functional.linear(x, weight, bias)
            stride, pad, dilation = two("stride", "1"), two("pad", "0"), two("dilation", "1")
            return functional.conv2d(x, weight, bias, stride, pad, dilation, int(part.text("groups", "1")))
        case "batchnorm":
            mean, var = tensor("running_mean"), tensor("running_var")
            return functional.batch_norm(x, mean, var, tensor("weight"), tensor("bias"), eps=one("eps", 1e-5))
        case "tensornorm":
            wide = (x - tensor("running_mean")) / (tensor("running_var") + one("eps", 1e-4)).sqrt()
            gain, shift = tensor("weight"), tensor("bias")
            return wide * (1 if gain is None else gain) + (0 if shift is None else shift)
        case "affine":
            return x * one("scale", 1) + one("shift", 0)
        case "quantize":
            unit, ends = _unit(torch, part, arrays), _ends(part)
            return torch.round((x / unit).clamp(*ends)) * unit
        case "sign":
            low, high = one("low", -1), one("high", 1)
            zero = {"1": high, "-1": low, "0": (low + high) / 2}[part.text("zero", "1")]
            return torch.where(x > 0, high, torch.where(x < 0, low, zero)).to(torch.float64)
        case "clip" | "hardtanh" | "relu":
            given = dict(part.options)
            if part.kind != "clip":
                return functional.hardtanh(x) if part.kind == "hardtanh" else functional.relu(x)
            return (
                x.clamp(
                    one("low", 0) if "low" in given else None, one("high", 0) if "high" in given else None
                )
                if given
                else x
            )
        case "maxpool":
            return functional.max_pool2d(
                x, two("kernel", "2"), two("stride", part.text("kernel", "2")), two("pad", "0")
            )
        case "avgpool":
            kernel, stride = two("kernel", "2"), two("stride", part.text("kernel", "2"))
            return functional.avg_pool2d(
                x, kernel, stride, two("pad", "0"), count_include_pad=part.text("count_pads", "yes") == "yes"
            )
        case "globalavgpool":
            return functional.adaptive_avg_pool2d(x, 1)
        case "pad":
            high, wide = two("size", "1")
            return functional.pad(x, (wide, wide, high, high), value=one("value", 0))
        case "flatten":
            return (
                x.permute(0, 2, 3, 1) if part.text("order", "CHW") == "HWC" and x.ndim == 4 else x
            ).flatten(1)
    assert part.kind == "unused", part
    return x


def _of_quantizer(part: Part) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in part.options if key in ("bits", "scale"))


def _ends(part: Part) -> tuple[int, int]:
    """The whole numbers that a quantizer of Brevitas keeps: two's complement, less one where narrow."""
    states, less = 2 ** int(part.text("bits", "0")), int(part.text("narrow", "yes") == "yes")
    if part.text("signed", "yes") == "no":
        return 0, states - 1 - less
    return less - states // 2, states // 2 - 1


def _unit(torch: Any, part: Part, arrays: Mapping[str, _Array]) -> Any:
    """One whole number of a quantizer, in the floats of the file."""
    scale = torch.tensor(float(part.number("scale", 1)), dtype=torch.float32)
    if part.name:
        scale = torch.from_numpy(np.array(arrays[part.name], np.float32)).reshape(())
        scale = torch.exp2(scale) if part.text("learned", "") == "log2" else scale
    return (scale.abs() / max(map(abs, _ends(part)))).double()


def _weight(torch: Any, part: Part, stored: _Array) -> Any:
    """Trained weights as the forward pass uses them."""
    w = torch.from_numpy(np.array(stored, np.float64))
    match part.text("weights", "stored"):
        case "stored":
            return w
        case "ternary":
            return w.sign()
        case "sign":
            return (w >= 0).double() * 2 - 1
        case "quantized":
            unit, (low, high) = _unit(torch, Part("quantize", "", _of_quantizer(part)), {}), _ends(part)
            codes = torch.from_numpy(np.array(stored, np.float32)) / unit.float()
            return torch.round(codes.clamp(low, high)).double() * unit
    rows = stored.reshape(len(stored), -1) if part.text("weights", "") == "scaled" else stored.reshape(1, -1)
    kind = stored.dtype.type if stored.dtype.kind == "f" else np.float64
    # in the floats of the file, as the program does
    sizes = np.maximum(np.abs(rows).mean(axis=1), kind(float(part.number("floor", 0))))
    wide = torch.from_numpy(sizes.astype(np.float64)).reshape(-1, *[1] * (w.ndim - 1))
    return torch.where(w >= 0, wide, -wide)
