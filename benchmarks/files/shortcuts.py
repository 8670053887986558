"""Residual networks, float last layers behind averages and batch norms, and floats at both ends."""

import io
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped
from sugenet.errors import FileError

_SHAPE = (1, 5, 5)


def kinds() -> Iterable[Kind]:
    """Each network twice where it can be: as a module, and as the ONNX file that PyTorch writes of it."""
    try:
        import torch
    except ImportError:
        yield Kind("residual networks", "PyTorch", lambda _: Skipped("PyTorch is not installed"))
        return
    made = _Networks(torch)
    for name, make in (
        ("additions of -1 and +1, batch norm, average, float layer", made.residual),
        ("additions of -1 and +1, flattened, float layer", made.flat),
        ("a batch norm added to -1 and +1, then a sign", made.real),
        ("batch norm, average, float layer", made.averaged),
        ("a stream of real values (Bi-Real)", made.stream),
        ("joined channels (dense network)", made.joined),
    ):
        yield Kind(name, "PyTorch module", _module(torch, make))
        yield Kind(name, "torch.onnx", _onnx(torch, make))
    yield Kind("float first and last layers, strict=False", "torch.onnx", _partly(torch, made.floats))
    for name, make, inputs in (
        ("a long stream of real values (Bi-Real)", made.long_stream, sg.Bits()),
        ("a stream from a first layer over pixels (Bi-Real)", made.stream, sg.Integers(0, 255)),
    ):
        yield Kind(name, "PyTorch module", _refused(torch, make, inputs))


def _samples() -> Any:
    return np.random.default_rng(0).integers(0, 2, (300, *_SHAPE))


def _scores(torch: Any, module: Any, X: Any) -> Any:
    with torch.no_grad():
        found = module.double()(torch.from_numpy(X))
    module.float()
    return found.numpy()


def _different(mine: Any, theirs: Any, near: float) -> int:
    return int((np.abs(mine - theirs) > near).any(axis=1).sum())


def _module(torch: Any, make: Callable[[], Any]) -> Callable[[Path], Outcome]:
    def attempt(_: Path) -> Outcome:
        module, X = make(), _samples()
        found = sg.from_torch(module, torch.zeros(1, *_SHAPE), inputs=sg.Bits()).report
        return Read(len(X), _different(found.network.logits(X), _scores(torch, module, X * 2.0 - 1), 1e-10))

    return attempt


def _exported(torch: Any, module: Any, path: Path) -> Path:
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        more = {"dynamic_axes": {"x": {0: "samples"}}, "input_names": ["x"], "dynamo": False}
        torch.onnx.export(module, (torch.zeros(1, *_SHAPE),), str(path), **more)
    return path


def _run(path: Path, X: Any) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(path)).run(None, {"x": X.astype(np.float32)})[0]


def _onnx(torch: Any, make: Callable[[], Any]) -> Callable[[Path], Outcome]:
    def attempt(folder: Path) -> Outcome:
        try:
            path = _exported(torch, make(), folder / "net.onnx")
            X = _samples()
            theirs = _run(path, X * 2.0 - 1)
        except ImportError as error:
            return Skipped(f"{error.name} is not installed")
        found = sg.read_onnx(path, inputs=sg.Bits()).report
        return Read(len(X), _different(found.network.logits(X), theirs, 1e-4))

    return attempt


def _partly(torch: Any, make: Callable[[], Any]) -> Callable[[Path], Outcome]:
    def attempt(folder: Path) -> Outcome:
        X = np.random.default_rng(0).normal(size=(300, *_SHAPE))
        try:
            path = _exported(torch, make(), folder / "net.onnx")
            theirs = _run(path, X)
        except ImportError as error:
            return Skipped(f"{error.name} is not installed")
        found = sg.read_onnx(path, strict=False).report
        return Read(len(X), _different(found.scores(X.astype(np.float32)), theirs, 1e-4))  # type: ignore[attr-defined]

    return attempt


def _refused(torch: Any, make: Callable[[], Any], inputs: Any) -> Callable[[Path], Outcome]:
    def attempt(_: Path) -> Outcome:
        module = make()
        try:
            sg.from_torch(module, torch.zeros(1, *_SHAPE), inputs=inputs)
        except FileError as error:
            ways = ("Put a sign before the addition", "Take the sign of the first layer before the shortcut")
            found = [way for way in ways if way in str(error)]
            return Refused(found[0]) if found else Read(0, 1)
        return Read(0, 1)

    return attempt


class _Networks:
    """Small networks with signs and -1 and +1 as weights, as they are written in PyTorch."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.nn = torch, torch.nn
        nn = torch.nn

        class Cut(nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

        class Kernel(nn.Conv2d):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return self._conv_forward(x, torch.where(self.weight >= 0, 1.0, -1.0).to(x.dtype), None)

        class Added(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, *way: Any) -> None:
                super().__init__()
                self.way = nn.Sequential(*way)

            def forward(self, x: Any) -> Any:
                return self.way(x) + x

        class Joined(Added):
            def forward(self, x: Any) -> Any:
                return torch.cat([x, self.way(x)], 1)

        self.cut, self.kernel, self.added, self.grown = Cut, Kernel, Added, Joined

    def _layer(self, ins: int, outs: int) -> tuple[Any, Any]:
        return self.kernel(ins, outs, 3, 1, 1, bias=False), self.nn.BatchNorm2d(outs)

    def _trained(self, *parts: Any) -> Any:
        self.torch.manual_seed(0)
        module = self.nn.Sequential(*parts)
        for part in module.modules():
            if isinstance(part, self.nn.BatchNorm2d):
                for row, low, high in (
                    (part.running_mean, -1, 1),
                    (part.running_var, 0.3, 4),
                    (part.weight.data, -1, 1.5),
                ):
                    row.uniform_(low, high)
        return module.eval()

    def _front(self) -> list[Any]:
        first = [*self._layer(1, 4), self.cut(), self.added(*self._layer(4, 4), self.cut())]
        return [*first, self.added(*self._layer(4, 4), self.cut())]

    def _pooled(self) -> list[Any]:
        return [self.nn.BatchNorm2d(4), self.nn.AdaptiveAvgPool2d(1), self.nn.Flatten(), self.nn.Linear(4, 3)]

    def residual(self) -> Any:
        return self._trained(*self._front(), *self._pooled())

    def flat(self) -> Any:
        return self._trained(*self._front(), self.nn.Flatten(), self.nn.Linear(100, 3))

    def real(self) -> Any:
        first_layer = [*self._layer(1, 4), self.cut(), self.added(*self._layer(4, 4)), self.cut()]
        return self._trained(*first_layer, self.nn.Flatten(), self.nn.Linear(100, 3))

    def averaged(self) -> Any:
        return self._trained(*self._layer(1, 4), self.cut(), *self._pooled())

    def floats(self) -> Any:
        first_layer = [self.nn.Conv2d(1, 3, 3), self.nn.ReLU(), self.nn.BatchNorm2d(3), self.cut()]
        tail = [self.nn.Flatten(), self.nn.Linear(36, 6), self.nn.ReLU(), self.nn.Linear(6, 3)]
        return self._trained(*first_layer, *self._layer(3, 4), self.cut(), *tail)

    def joined(self) -> Any:
        blocks = [
            self.grown(self.nn.BatchNorm2d(width), self.cut(), self._layer(width, 2)[0]) for width in (4, 6)
        ]
        end = [self.nn.BatchNorm2d(8), self.cut(), self.nn.Flatten(), self.nn.Linear(200, 3)]
        return self._trained(*self._layer(1, 4), self.cut(), *blocks, *end)

    def long_stream(self) -> Any:
        return self.stream(8, 5)

    def stream(self, width: int = 4, count: int = 2) -> Any:
        blocks = [self.added(self.cut(), *self._layer(width, width)) for _ in range(count)]
        return self._trained(
            *self._layer(1, width), *blocks, self.cut(), self.nn.Flatten(), self.nn.Linear(25 * width, 3)
        )
