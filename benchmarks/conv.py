"""How fast a binarized convolutional network answers, side by side with PyTorch and ONNX Runtime.

Run: python -m benchmarks.conv [--quick] [--one-core]

A network of the shape of CNV (six convolutions of 3x3, two poolings, three dense layers, on 32x32 pixels of
three bytes) with random weights and thresholds answers batches of 256 samples on all cores, then one sample
at a time. Every system gets the samples in the form it likes best, in memory already: bytes, or float32. All
are timed in the same run and take turns. Of each peer several forms run (memory layouts, ways to write the
sign), and its fastest one is the one that is compared.

On a machine that others use, long calls are interrupted more often than short ones, which flatters whoever is
faster. With --one-core every system has one thread, and processor time is measured in place of the clock: it
stands still while others run.
"""

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._measure import Watch, machine, take_turns
from sugenet.bits import prepare
from sugenet.bits.threads import cores
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, Network, PoolLayer, Window

SHAPE = (3, 32, 32)
CONVS = (64, 64, "pool", 128, 128, "pool", 256, 256)
DENSE = (512, 512)
CLASSES = 10
BATCH = 256
CHECKED = 64  # samples whose hidden bits are all compared

OURS, RAW = "sugenet", "sugenet, reading raw samples included"
System = Callable[[], Any]


@dataclass(frozen=True)
class Task:
    """The network and the samples, once for all systems."""

    network: Network
    x: Any  # uint8

    @classmethod
    def random(cls, seed: int = 0) -> "Task":
        rng = np.random.default_rng(seed)
        layers: list[Any] = []
        shape = SHAPE
        for out in CONVS:
            if isinstance(out, str):
                layers.append(PoolLayer(Window(shape, 2, 2)))
            else:
                top = None if layers else 255
                weights = rng.choice([-1, 1], (out, shape[0], 3, 3))
                middle, spread = (weights[0].size, 8) if top is None else (weights[0].size * top, 8 * top)
                layers.append(
                    ConvLayer(
                        weights,
                        middle // 2 + rng.integers(-spread, spread + 1, out),
                        Window(shape, 3),
                        top=top,
                    )
                )
            shape = layers[-1].output_shape
        width = layers[-1].outputs
        for out in DENSE:
            layers.append(
                DenseLayer(rng.choice([-1, 1], (out, width)), width // 2 + rng.integers(-8, 9, out))
            )
            width = out
        network = Network(
            Encoder.of_integers(int(np.prod(SHAPE))), layers, Head(rng.choice([-1, 1], (CLASSES, width)))
        )
        return cls(network, rng.integers(0, 256, (BATCH, int(np.prod(SHAPE))), np.uint8))

    def products(self) -> int:
        """Products of one sample."""
        layers = [layer for layer in self.network.layers if not isinstance(layer, PoolLayer)]
        positions = [len(layer.window.taps) if isinstance(layer, ConvLayer) else 1 for layer in layers]
        kernels = [layer.weights.size for layer in layers]
        return int(np.dot(kernels, positions)) + self.network.head.weights.size

    def floats(self) -> list[tuple[str, Any, Any]]:
        """Each layer as kind, weights and bias, so that the sum is at least 1 where the neuron is active and
        at most -1 where it is not.
        """
        found: list[tuple[str, Any, Any]] = []
        for layer in self.network.layers:
            if isinstance(layer, PoolLayer):
                found.append(("pool", None, None))
                continue
            weights = layer.weights.astype(np.float32)
            tau = layer.tau.reshape(len(weights), -1)[:, 0]  # without padding all positions have the same
            flat = layer.weights.reshape(len(weights), -1)
            if (
                isinstance(layer, ConvLayer) and layer.top is not None
            ):  # M = sum + top * negative weights, doubled to leave 1 on each side
                least = tau - layer.top * (flat < 0).sum(axis=1)
                found.append(("conv", 2 * weights, (1 - 2 * least).astype(np.float32)))
            else:  # s = 2 M - n has the parity of n
                kind = "conv" if isinstance(layer, ConvLayer) else "dense"
                found.append((kind, weights, (flat.shape[1] - 2 * tau + 1).astype(np.float32)))
        return [*found, ("head", self.network.head.weights.astype(np.float32), None)]


# The peers. Each returns its forms for the batch and for one sample, or says that it is not installed.


def torch_systems(
    task: Task, threads: int
) -> tuple[dict[str, System], dict[str, System], Callable[[], list[Any]]] | None:
    try:
        import torch
        from torch.nn import functional
    except ImportError as error:
        print(f"PyTorch is missing ({error}): its figures are null.")
        return None
    torch.set_num_threads(threads)
    images = torch.from_numpy(task.x.astype(np.float32)).reshape(-1, *SHAPE)
    steps = [
        (kind, *(None if a is None else torch.from_numpy(a) for a in arrays))
        for kind, *arrays in task.floats()
    ]

    class Float(torch.nn.Module):
        """Pooling goes in front of the sign, which is then a quarter of the work; the sign is in place."""

        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList()
            for kind, w, b in steps:
                if kind == "pool":
                    self.parts.append(torch.nn.MaxPool2d(2))
                    continue
                part = (
                    torch.nn.Conv2d(w.shape[1], w.shape[0], 3)
                    if kind == "conv"
                    else torch.nn.Linear(w.shape[1], w.shape[0], b is not None)
                )
                part.weight.data = w
                if b is not None:
                    part.bias.data = b
                self.parts.append(part)

        def forward(self, h: Any) -> Any:
            for number, part in enumerate(self.parts):
                if number and isinstance(part, torch.nn.Linear) and h.dim() == 4:
                    h = h.flatten(1)
                h = part(h)
                following = self.parts[number + 1] if number + 1 < len(self.parts) else None
                if following is not None and not isinstance(following, torch.nn.MaxPool2d):
                    h = h.sign_()
            return h

    plain, last = Float().eval(), Float().eval().to(memory_format=torch.channels_last)
    models = {"": (plain, torch.contiguous_format), ", channels last": (last, torch.channels_last)}
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frozen = torch.jit.optimize_for_inference(torch.jit.trace(plain, images[:2]))
            models[", traced and frozen"] = (frozen, torch.contiguous_format)
        except Exception as error:  # an extra form, which newer versions may not have
            print(
                f"PyTorch cannot trace and freeze the network here ({type(error).__name__}); "
                f"its other forms run."
            )

    def call(model: Any, x: Any) -> System:
        def run() -> Any:
            with torch.inference_mode():
                return model(x)

        return run

    batch, single = {}, {}
    for name, (model, layout) in models.items():
        x = images.contiguous(memory_format=layout)
        batch[f"PyTorch float32{name}"] = call(model, x)
        single[f"PyTorch float32{name}"] = call(model, x[:1].clone(memory_format=layout))

    def layers() -> list[Any]:
        with torch.inference_mode():
            out, h = [], images
            for kind, w, b in steps:
                if kind == "pool":
                    h = functional.max_pool2d(h, 2)
                elif kind == "conv":
                    h = functional.conv2d(h, w, b).sign_()
                elif kind == "dense":
                    h = functional.linear(h.flatten(1), w, b).sign_()
                else:
                    return [*out, functional.linear(h, w).numpy()]
                out.append(h.flatten(1).numpy() > 0)
        raise AssertionError("no head")

    return batch, single, layers


def onnx_systems(task: Task, threads: int) -> tuple[dict[str, System], dict[str, System]] | None:
    try:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        print(f"ONNX or ONNX Runtime is missing ({error}): its figures are null.")
        return None

    def session(*, clip: bool, pool_first: bool) -> Any:
        """The sign as a node of its own, or as a clip to -1..1, which convolutions absorb;
        sums are never between the two.
        """
        steps, nodes, name = task.floats(), [], "x"
        tensors = [
            numpy_helper.from_array(np.float32(side), which)
            for which, side in (("low", -1), ("high", 1))
            if clip
        ]

        def add(kind: str, inputs: list[str], **attributes: Any) -> str:
            nodes.append(helper.make_node(kind, inputs, [f"v{len(nodes)}"], **attributes))
            return f"v{len(nodes) - 1}"

        def signed(name: str) -> str:
            return add("Clip", [name, "low", "high"]) if clip else add("Sign", [name])

        for number, (kind, w, b) in enumerate(steps):
            if kind == "pool":
                name = add("MaxPool", [name], kernel_shape=[2, 2], strides=[2, 2])
                name = signed(name) if pool_first else name
                continue
            if kind == "dense" and steps[number - 1][0] in ("conv", "pool"):
                name = add("Flatten", [name])
            tensors += [
                numpy_helper.from_array(a, f"{n}{number}") for n, a in (("w", w), ("b", b)) if a is not None
            ]
            given = [name, f"w{number}", *([f"b{number}"] if b is not None else [])]
            name = add("Conv", given) if kind == "conv" else add("Gemm", given, transB=1)
            if kind != "head" and not (pool_first and steps[number + 1][0] == "pool"):
                name = signed(name)
        graph = helper.make_graph(
            nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *SHAPE])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", CLASSES])],
            tensors,
        )
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    x = task.x.astype(np.float32).reshape(-1, *SHAPE)
    one = x[:1].copy()
    forms = {
        "ONNX Runtime float32": session(clip=False, pool_first=True),
        "ONNX Runtime float32, sign as clip": session(clip=True, pool_first=False),
    }
    batch = {name: lambda s=s: s.run(None, {"x": x})[0] for name, s in forms.items()}
    return batch, {name: lambda s=s: s.run(None, {"x": one})[0] for name, s in forms.items()}


def mismatches(task: Task, layers: Callable[[], list[Any]]) -> int:
    """Count hidden bits, logits and classes that differ from PyTorch's float result."""
    *hidden, logits = layers()
    packed = task.network.packed("numba")
    wrong = sum(
        int((ours != theirs[:CHECKED]).sum())
        for ours, theirs in zip(packed.hidden(task.x[:CHECKED].astype(np.int64)), hidden, strict=True)
    )
    wrong += int((2 * packed.match_counts(task.x) - task.network.head.inputs != logits).sum())
    return wrong + int((task.network.predict(task.x) != logits.argmax(axis=1)).sum())


def processor_time(systems: dict[str, System], seconds: float, least: int) -> dict[str, float]:
    """As `take_turns`, by the clock that counts what this process used."""
    best = dict.fromkeys(systems, float("inf"))
    start, turns = time.perf_counter(), 0
    while turns < least or time.perf_counter() - start < seconds:
        for name, call in systems.items():
            call()
            for _ in range(max(1, min(50, int(0.05 / best[name])))):
                begin = time.process_time()
                call()
                best[name] = min(best[name], time.process_time() - begin)
        turns += 1
    return best


def best_of(times: dict[str, float], peer: str) -> float | None:
    return min((seconds for name, seconds in times.items() if name.startswith(peer)), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="end within 50 seconds")
    parser.add_argument(
        "--one-core", action="store_true", help="processor time of one thread, for machines that others use"
    )
    options = parser.parse_args()
    threads = 1 if options.one_core else cores()
    prepare("numba", notify=print)
    task = Task.random()
    packed, one = task.network.packed("numba"), task.x[:1].copy()

    systems: dict[str, System] = {OURS: lambda: packed.match_counts(task.x, threads)}
    systems[RAW] = lambda: task.network.match_counts(task.x, engine="numba", threads=threads)
    singles: dict[str, System] = {OURS: lambda: packed.match_counts(one, threads)}
    torch, onnx = torch_systems(task, threads), onnx_systems(task, threads)
    for peer in (torch, onnx):
        systems |= peer[0] if peer else {}
        singles |= peer[1] if peer else {}
    wrong = None
    if torch:
        logits = torch[2]()[-1]
        wrong = mismatches(task, torch[2])
        for name in systems.keys() - {OURS, RAW}:
            assert np.array_equal(np.asarray(systems[name]()), logits), f"{name} computes another network"

    watch = Watch()
    measure = processor_time if options.one_core else take_turns
    seconds = measure(systems, 10 if options.quick else 60, least=2)
    single = measure(singles, 4 if options.quick else 15, least=2)

    products, clock = task.products(), " by the processor's clock" if options.one_core else ""
    print(
        f"\n"
        f"{machine()}; {threads} threads; Python {platform.python_version()}, "
        f"NumPy {np.__version__}{_versions()}"
    )
    print(
        f"Network of the shape of CNV, {products:,} products a sample. Shortest times{clock}; "
        f"the systems took turns.\n"
    )
    print(f"{f'batch of {BATCH}':<50}{'ms':>10}{'T products/s':>15}{'sugenet is faster by':>23}")
    for name, t in seconds.items():
        print(
            f"{name:<50}{t * 1e3:>10.2f}{BATCH * products / t / 1e12:>15.3f}"
            f"{'' if name == OURS else f'{t / seconds[OURS]:.1f}':>23}"
        )
    print(f"\n{'one sample':<50}{'µs':>10}")
    for name, t in single.items():
        print(f"{name:<50}{t * 1e6:>10.1f}{'':>15}{'' if name == OURS else f'{t / single[OURS]:.1f}':>23}")
    others = watch.others()
    print(f"\nOther programs used {others:.0%} of the cores meanwhile.", end="\n" if others < 0.05 else " ")
    if others >= 0.05 and options.one_core:
        print("They also emptied the caches.")
    elif others >= 0.05:
        print(
            "The figures are not to be trusted: short calls find gaps that long ones do not. "
            "Run this on a quiet machine."
        )

    def ratio(times: dict[str, float], peer: str) -> float | None:
        best = best_of(times, peer)
        return None if best is None else round(best / times[OURS], 2)

    result = {
        "vs_torch_f32": ratio(seconds, "PyTorch"),
        "vs_onnxruntime": ratio(seconds, "ONNX"),
        "batch1_vs_torch_f32": ratio(single, "PyTorch"),
        "batch1_vs_onnxruntime": ratio(single, "ONNX"),
        "mismatches": wrong,
    }
    print("RESULT", json.dumps(result))


def _versions() -> str:
    found = []
    for name in ("numba", "torch", "onnxruntime"):
        try:
            found.append(f", {name} {__import__(name).__version__}")
        except ImportError:
            continue
    return "".join(found)


if __name__ == "__main__":
    main()
