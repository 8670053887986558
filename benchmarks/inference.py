"""How fast a binarized network answers, side by side with PyTorch, ONNX Runtime,
NumPy and the machine's own limit.

Run: python -m benchmarks.inference [--quick] [--picture docs/img/roofline.svg]

A network of 784-1024-1024-1024-10 with random weights answers batches of 4096 samples on all cores, then one
sample at a time. Every system gets the samples in the form it likes best, in memory already. All are timed in
the same run and take turns.
"""

import argparse
import json
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Point, Watch, machine, roofline, take_turns
from sugenet.bits import PackedLayer, PackedNetwork, pack, prepare, unpack
from sugenet.bits.threads import cores, share

SIZES = (784, 1024, 1024, 1024, 10)
BATCH = 4096
PRODUCTS = sum(n * m for n, m in pairwise(SIZES))  # for one sample

OURS, FLOAT, INT8, ONNX, NUMPY, LIMIT, OWN_LIMIT = (
    "sugenet",
    "PyTorch float32",
    "PyTorch int8, products alone",
    "ONNX Runtime float32",
    "sugenet, NumPy engine",
    "limit: XOR, popcount, add in registers",
    "limit: the kernel's own operations in registers",
)
PACKING = "sugenet, packing of booleans included"


@dataclass(frozen=True)
class Task:
    """The network and the samples, once for all systems."""

    x: Any  # booleans
    weights: list[Any]  # -1 and +1
    taus: list[Any]

    @classmethod
    def random(cls, seed: int = 0) -> "Task":
        rng = np.random.default_rng(seed)
        pairs = list(pairwise(SIZES))
        return cls(
            rng.random((BATCH, SIZES[0])) < 0.5,
            [rng.choice([-1, 1], (m, n)).astype(np.int8) for n, m in pairs],
            [n // 2 + rng.integers(-8, 9, m) for n, m in pairs],
        )

    def network(self, engine: Any) -> PackedNetwork:
        *layers, head = (
            PackedLayer.from_arrays(w, tau, engine=engine)
            for w, tau in zip(self.weights, self.taus, strict=True)
        )
        return PackedNetwork(layers, head)

    def biases(self) -> list[Any]:
        """Added to the bipolar sum s = 2 M - n, these make it positive iff M >= tau, and never 0: sign()
        alone is left to do.
        """
        return [(n - 2 * tau + 1).astype(np.float32) for (n, tau) in zip(SIZES, self.taus, strict=False)]


# The peers. Each returns the systems it can time, or says that it is not installed.


def torch_systems(
    task: Task, threads: int
) -> tuple[dict[str, Callable[[], Any]], Callable[[], Any], Callable[[], list[Any]]] | None:
    try:
        import torch
        from torch.nn import functional
    except ImportError as error:
        print(f"PyTorch is missing ({error}): its figures are null.")
        return None
    torch.set_num_threads(threads)
    weights = [torch.from_numpy(w.astype(np.float32)) for w in task.weights]
    biases = [torch.from_numpy(b) for b in task.biases()]
    x = torch.from_numpy(np.where(task.x, 1, -1).astype(np.float32))
    one = x[:1].clone()
    integers = [torch.from_numpy(w).t() for w in task.weights]
    activations = [
        torch.from_numpy(np.random.default_rng(1).choice([-1, 1], (BATCH, n)).astype(np.int8))
        for n in SIZES[:-1]
    ]

    def forward(h: Any) -> Any:
        with torch.inference_mode():
            for w, b in zip(weights[:-1], biases[:-1], strict=True):
                h = functional.linear(
                    h, w, b
                ).sign_()  # batch norm and threshold are in the bias, the sign is in place
            return functional.linear(h, weights[-1])

    def products() -> Any:
        with torch.inference_mode():
            return [torch._int_mm(a, w) for a, w in zip(activations, integers, strict=True)]

    def layers() -> list[Any]:
        with torch.inference_mode():
            out, h = [], x
            for w, b in zip(weights[:-1], biases[:-1], strict=True):
                h = functional.linear(h, w, b).sign_()
                out.append(h.numpy() > 0)
            return [*out, functional.linear(h, weights[-1]).numpy()]

    return {FLOAT: lambda: forward(x), INT8: products}, lambda: forward(one), layers


def onnx_systems(task: Task, threads: int) -> dict[str, Callable[[], Any]] | None:
    try:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        print(f"ONNX or ONNX Runtime is missing ({error}): its figure is null.")
        return None
    nodes, tensors, name = [], [], "x"
    for k, (w, b) in enumerate(zip(task.weights, task.biases(), strict=True)):
        last = k == len(task.weights) - 1
        tensors += [
            numpy_helper.from_array(w.astype(np.float32), f"w{k}"),
            numpy_helper.from_array(b * (not last), f"b{k}"),
        ]
        nodes.append(helper.make_node("Gemm", [name, f"w{k}", f"b{k}"], ["y" if last else f"s{k}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Sign", [f"s{k}"], [f"h{k}"]))
            name = f"h{k}"
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", SIZES[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", SIZES[-1]])],
        tensors,
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    x = np.where(task.x, 1, -1).astype(np.float32)
    return {ONNX: lambda: session.run(None, {"x": x})}


# The machine's own limit: the operations of a kernel, on registers alone.


def register_loops(threads: int) -> tuple[dict[str, Callable[[], Any]], float]:
    """Return loops without loads on all cores, and how many products one call of each stands for."""
    from numba import njit

    from sugenet.bits.kernels import LANES

    parts = 16 * threads  # handed to the threads like the blocks of a batch
    turns = 2 * BATCH * PRODUCTS // (parts * 16 * _STEPS * LANES * 64)
    systems: dict[str, Callable[[], Any]] = {}
    for name, plain, cells in (
        (LIMIT, True, 16),
        (OWN_LIMIT, False, 12),
    ):  # as many sums as make the loop fastest
        loop = _register_loop(plain=plain, cells=cells)

        @njit(nogil=True)  # type: ignore[untyped-decorator]
        def run(turns: int, room: Any, loop: Any = loop) -> None:
            loop(turns, room)

        def task(start: int, stop: int, run: Any = run, turns: int = turns * 16 // cells) -> None:
            run((stop - start) * turns, np.arange(32 * LANES, dtype=np.uint64))

        task(0, 1)
        systems[name] = lambda task=task: share(task, parts, 1, threads)
    return systems, float(parts * turns * 16 * _STEPS * LANES * 64)


_STEPS = 4  # words in one turn of a loop, so that counting the turns costs nothing


def _register_loop(*, plain: bool, cells: int) -> Any:
    """A loop over `cells` sums: XOR, popcount, add for each word (`plain`), or for two words the five
    operations of the dense kernel.
    """
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from sugenet.bits import kernels

    vector, i64 = kernels._VECTOR, kernels.I64

    def typed(_: Any, turns: Any, room: Any) -> Any:  # noqa: ARG001
        def emit(context: Any, b: Any, signature: Any, args: Any) -> Any:
            place = b.bitcast(
                context.make_array(signature.args[1])(context, b, args[1]).data, vector.as_pointer()
            )

            def at(k: int) -> Any:
                return b.gep(place, [ir.Constant(i64, k)])

            start = [b.load(at(k)) for k in range(2 * cells)]
            for load in start:
                load.align = 8
            entry, loop, done = b.block, b.function.append_basic_block(), b.function.append_basic_block()
            b.branch(loop)
            b.position_at_end(loop)
            k, states = b.phi(i64), [b.phi(vector) for _ in range(cells if plain else 2 * cells)]
            k.add_incoming(ir.Constant(i64, 0), entry)
            for state, first in zip(states, start, strict=False):
                state.add_incoming(first, entry)
            total, before = list(states[:cells]), list(states[cells:])
            for step in range(_STEPS if plain else _STEPS // 2):
                for c in range(
                    cells
                ):  # the running sum takes the place of the sample, so that no turn repeats the one before
                    if plain:
                        value = b.xor(total[c], start[step])
                    else:
                        middle, after = b.xor(total[c], start[2 * step]), b.xor(total[c], start[2 * step + 1])
                        value, before[c] = kernels._falls(context, b, before[c], middle, after), after
                    total[c] = b.add(total[c], kernels.ones(b, value))
            following = b.add(k, ir.Constant(i64, 1))
            k.add_incoming(following, loop)
            for state, new in zip(states, total + before, strict=True):
                state.add_incoming(new, loop)
            b.cbranch(b.icmp_signed("<", following, args[0]), loop, done)
            b.position_at_end(done)
            for number, new in enumerate(total + before):
                b.store(new, at(number)).align = 8
            return context.get_dummy_value()

        return types.void(types.intp, room), emit

    return intrinsic(typed)


def memory_bandwidth(threads: int, seconds: float) -> float:
    """Bytes a second that all cores together read from memory."""
    parts = [np.ones(1 << 25, np.int64) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)
    best = take_turns({"read": lambda: list(pool.map(np.max, parts))}, seconds, least=3)["read"]
    return sum(part.nbytes for part in parts) / best


def mismatches(task: Task, network: PackedNetwork, layers: Callable[[], list[Any]]) -> int:
    """Count bits and logits that differ from PyTorch's float result."""
    *hidden, logits = layers()
    words = pack(task.x)
    wrong = 0
    for ours, theirs in zip(network.hidden(words), hidden, strict=True):
        wrong += int((unpack(ours, theirs.shape[1]) != theirs).sum())
    return wrong + int((2 * network.match_counts(words) - SIZES[-2] != logits).sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="end within 50 seconds")
    parser.add_argument("--picture", type=Path, help="write a roofline picture (SVG) here")
    options = parser.parse_args()
    threads = cores()
    prepare("numba", notify=print)
    task = Task.random()
    network, plain = task.network("numba"), task.network("numpy")
    words = pack(task.x)
    one = words[:1].copy()

    systems: dict[str, Callable[[], Any]] = {OURS: lambda: network.match_counts(words)}
    systems[PACKING] = lambda: network.match_counts(pack(task.x))
    torch, onnx = torch_systems(task, threads), onnx_systems(task, threads)
    systems |= torch[0] if torch else {}
    systems |= onnx or {}
    systems[NUMPY] = lambda: plain.match_counts(words)
    loops, loop_products = register_loops(threads)
    systems |= loops

    wrong = mismatches(task, network, torch[2]) if torch else None
    assert np.array_equal(plain.match_counts(words), network.match_counts(words)), "the two engines differ"
    watch = Watch()
    seconds = take_turns(systems, 15 if options.quick else 60)
    singles = {OURS: lambda: network.match_counts(one)} | ({FLOAT: torch[1]} if torch else {})
    single = take_turns(singles, 3 if options.quick else 10)

    rate = {name: (loop_products if name in loops else BATCH * PRODUCTS) / t for name, t in seconds.items()}
    shape = "-".join(map(str, SIZES))
    print(
        f"\n"
        f"{machine()}; {threads} threads; Python {platform.python_version()}, "
        f"NumPy {np.__version__}{_versions()}"
    )
    print(f"Network {shape}, {PRODUCTS:,} products a sample. Shortest times; the systems took turns.\n")
    print(f"{'batch of 4096':<50}{'ms':>10}{'T products/s':>15}{'sugenet is faster by':>23}")
    for name in systems:
        shown = "" if name in loops else f"{seconds[name] * 1e3:.2f}"
        factor = "" if name in loops or name == OURS else f"{seconds[name] / seconds[OURS]:.1f}"
        print(f"{name:<50}{shown:>10}{rate[name] / 1e12:>15.3f}{factor:>23}")
    print(f"\n{'one sample':<50}{'µs':>10}")
    for name, t in single.items():
        print(f"{name:<50}{t * 1e6:>10.1f}{'':>15}{'' if name == OURS else f'{t / single[OURS]:.1f}':>23}")
    plain_part, own_part = rate[OURS] / rate[LIMIT], rate[OURS] / rate[OWN_LIMIT]
    print(
        f"\n"
        f"{plain_part:.0%} of the limit of XOR, popcount, add; {own_part:.0%} of the limit of the "
        f"kernel's own operations."
    )
    others = watch.others()
    print(f"Other programs used {others:.0%} of the cores meanwhile.", end="\n" if others < 0.05 else " ")
    if others >= 0.05:
        print(
            "The figures are not to be trusted: short calls find gaps that long ones do not. "
            "Run this on a quiet machine."
        )
    if options.picture:
        picture(options.picture, rate, single, network, threads)

    def ratio(times: dict[str, float], name: str) -> float | None:
        return round(times[name] / times[OURS], 2) if name in times else None

    result = {
        "vs_torch_f32": ratio(seconds, FLOAT),
        "vs_torch_int8": ratio(seconds, INT8),
        "vs_onnxruntime": ratio(seconds, ONNX),
        "fraction_of_limit": round(rate[OURS] / rate[LIMIT], 3),
        "batch1_vs_torch_f32": ratio(single, FLOAT),
        "mismatches": wrong,
    }
    print("RESULT", json.dumps(result))


def picture(
    path: Path, rate: dict[str, float], single: dict[str, float], network: PackedNetwork, threads: int
) -> None:
    """Draw each system at its products per byte (weights once a batch,
    samples and activations written and read once).
    """

    def bytes_moved(batch: int, bits: int) -> float:
        activations = SIZES[0] + 2 * sum(SIZES[1:-1])
        return (PRODUCTS + batch * activations) * bits / 8 + batch * SIZES[-1] * 4

    points = [Point(OURS, BATCH * PRODUCTS / bytes_moved(BATCH, 1), rate[OURS], "batch 4096")]
    batches = {
        batch: pack(np.random.default_rng(batch).random((batch, SIZES[0])) < 0.5) for batch in (1, 8, 64, 512)
    }
    times = take_turns(
        {str(batch): lambda words=words: network.match_counts(words) for batch, words in batches.items()}, 8
    )
    for batch in batches:
        x, y = batch * PRODUCTS / bytes_moved(batch, 1), batch * PRODUCTS / times[str(batch)]
        points.append(Point(OURS, x, y, f"batch {batch}", right=batch in (1, 8)))
    for name, bits in ((FLOAT, 32), (INT8, 8), (ONNX, 32)):
        if name in rate:
            points.append(
                Point(
                    name,
                    BATCH * PRODUCTS / bytes_moved(BATCH, bits),
                    rate[name],
                    "batch 4096",
                    right=name != ONNX,
                )
            )
    if FLOAT in single:
        points.append(Point(FLOAT, PRODUCTS / bytes_moved(1, 32), PRODUCTS / single[FLOAT], "batch 1"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(roofline(points, rate[LIMIT], memory_bandwidth(threads, 8)), encoding="utf-8")
    print(f"wrote {path}")


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
