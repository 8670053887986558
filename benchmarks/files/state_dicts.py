"""Checkpoints of PyTorch: read by the line that was typed, compared with the module; else told the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped
from sugenet.errors import FileError
from sugenet.io import Integers, import_file

__all__ = ["kinds"]

_SAMPLES = 300
_PIXELS = Integers(-8, 8)


def kinds() -> Iterator[Kind]:
    yield _declared(
        "fcN, bnN", _numbered, "linear:fc1(weights=sign) batchnorm:bn1 sign linear:fc2(weights=sign)"
    )
    for name in ("layers", "features", "classifier", "mod_list"):
        line = f"linear:{name}.0(weights=sign) batchnorm:{name}.1 sign linear:{name}.3(weights=sign)"
        yield _declared(f"{name}.N", _listed(name), line)
    line = (
        "conv:features.0(weights=sign, pad=1) maxpool(kernel=2) batchnorm:features.2 sign flatten "
        "linear:classifier.0(weights=sign)"
    )
    yield _declared("features.N, classifier.N of images", _images, line, (1, 6, 6))
    for name, build in (("fcN, bnN", _numbered), ("layers.N", _listed("layers"))):
        yield Kind(f"{name} without an architecture", "PyTorch", _told(build))


def _declared(name: str, build: Callable[[], Any], line: str, shape: tuple[int, ...] | None = None) -> Kind:
    def attempt(folder: Path) -> Outcome:
        if find_spec("torch") is None:
            return Skipped("PyTorch is not installed")
        import torch

        module, run = build()
        torch.save(module.state_dict(), folder / "net.pt")
        network = import_file(folder / "net.pt", architecture=line, shape=shape, inputs=_PIXELS)
        X = np.random.default_rng(1).integers(-8, 9, (_SAMPLES, *(shape or (20,))))
        with torch.no_grad():
            theirs = run(torch.from_numpy(X.astype(np.float64))).numpy()
        ours = network.head.logits(network.match_counts(X.reshape(_SAMPLES, -1)))
        return Read(_SAMPLES, int((np.abs(ours - theirs) > 1e-9).any(axis=1).sum()))

    return Kind(name, "PyTorch", attempt)


def _told(build: Callable[[], Any]) -> Callable[[Path], Outcome]:
    """Refused, with a line that can be typed."""

    def attempt(folder: Path) -> Outcome:
        if find_spec("torch") is None:
            return Skipped("PyTorch is not installed")
        import torch

        torch.save(build()[0].state_dict(), folder / "net.pt")
        try:
            import_file(folder / "net.pt", inputs=_PIXELS)
        except FileError as error:
            found = re.search(r"architecture='([^']*)'", str(error))
            if found is None:
                raise
            import_file(folder / "net.pt", inputs=_PIXELS, architecture=found[1])
            return Refused(found[0])
        raise AssertionError("net.pt was read without being told what it is")

    return attempt


def _sign(x: Any) -> Any:
    import torch

    return torch.where(x >= 0, 1.0, -1.0).double()


def _shaken(module: Any) -> Any:
    import torch

    torch.manual_seed(0)
    for name, value in module.state_dict().items():
        if value.dtype.is_floating_point:
            value.uniform_(-1, 1)
            if name.endswith("running_var"):
                value.abs_().add_(0.2)
    return module.double().eval()


def _linear(layer: Any, x: Any) -> Any:
    import torch

    return torch.nn.functional.linear(x, _sign(layer.weight), layer.bias)


def _numbered() -> tuple[Any, Callable[[Any], Any]]:
    from torch import nn

    net = nn.Module()
    net.fc1, net.bn1, net.fc2 = nn.Linear(20, 16), nn.BatchNorm1d(16), nn.Linear(16, 5)
    return _shaken(net), lambda x: _linear(net.fc2, _sign(net.bn1(_linear(net.fc1, x))))


def _listed(name: str) -> Callable[[], tuple[Any, Callable[[Any], Any]]]:
    def build() -> tuple[Any, Callable[[Any], Any]]:
        from torch import nn

        net = nn.Module()
        parts = nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.Hardtanh(), nn.Linear(16, 5))
        setattr(net, name, parts)
        return _shaken(net), lambda x: _linear(parts[3], _sign(parts[1](_linear(parts[0], x))))

    return build


def _images() -> tuple[Any, Callable[[Any], Any]]:
    import torch
    from torch import nn

    net = nn.Module()
    net.features = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.MaxPool2d(2), nn.BatchNorm2d(6))
    net.classifier = nn.Sequential(nn.Linear(54, 5))

    def run(x: Any) -> Any:
        conv, pool, norm = net.features
        x = norm(pool(torch.nn.functional.conv2d(x, _sign(conv.weight), conv.bias, padding=1)))
        return _linear(net.classifier[0], _sign(x).flatten(1))

    return _shaken(net), run
