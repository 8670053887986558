"""Neighbours of binarized networks: Tsetlin machines, logic gates, TensorFlow Lite and our own exports:
``python -m benchmarks.neighbours [--quick] [--seed N]``.

Random models are compared with their own frameworks. A part whose framework is not installed says so, and its
figure is null. Trained logic-gate networks are asked for robustness, and the same questions go to a SAT
solver.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks._gates import SETS, Clauses, trained
from tests.fuzzing import exports, logic_gates, truth_tables, tsetlin_machines

QUESTION = 1.0
"""Seconds for each question, for sugenet and for the SAT solver."""
wrong: list[str] = []


def counted(what: str, compare: Callable[[int], Any], seed: int, seconds: float, count: int) -> str:
    """Compare models one after the other until the time or the number is reached; return "equal of tried"."""
    equal = tried = 0
    start = time.perf_counter()
    while tried < count and time.perf_counter() - start < seconds:
        found = compare(seed * 100_003 + tried)
        tried += 1
        if found is True or found is None or found == []:
            equal += 1
        else:
            wrong.append(f"{what}, seed {seed * 100_003 + tried - 1}: {found}")
    print(f"{what:<44}{equal:>7,} of {tried:,} equal in {time.perf_counter() - start:.1f} s", flush=True)
    return f"{equal} of {tried}"


def missing(what: str, package: str) -> None:
    print(f"{what:<44}not run: {package} is not installed", flush=True)


def tsetlin(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Models of tmu, and robustness of one that it trained."""
    counted("Tsetlin machines as arrays, definition", tsetlin_machines.compare, options.seed, seconds, 1000)
    counted("look-up tables, definition", truth_tables.compare, options.seed, seconds, 1000)
    logging.disable(logging.CRITICAL)
    if not tsetlin_machines.has_tmu():
        missing("Tsetlin machines, tmu", "tmu")
        return {"tsetlin_equal": None, "tsetlin_decided": None}
    logging.disable(logging.CRITICAL)
    equal = counted("Tsetlin machines, tmu", tsetlin_machines.compare_tmu, options.seed, seconds, 1500)
    from tmu.models.classification.vanilla_classifier import TMClassifier

    make, *_ = SETS["cancer"]
    bits, labels = make()
    model = TMClassifier(20, T=20, s=5.0, platform="CPU", seed=1)
    for _ in range(5):
        model.fit(bits.astype(np.uint32), labels.astype(np.uint32))
    net = sg.io.from_tsetlin(model)
    decided = asked = 0
    for row in bits[: 5 if options.quick else 40]:
        for flips in (1, 3, 8):
            answer = sg.verify(net, row, sg.Hamming(flips), time_limit=QUESTION)
            asked += 1
            decided += see("tmu", net, answer)
    print(f"{'  robustness, trained by tmu on cancer':<44}{decided:>7,} of {asked:,} decided", flush=True)
    return {"tsetlin_equal": equal, "tsetlin_decided": f"{decided} of {asked}"}


def see(what: str, net: sg.Network, answer: Any) -> bool:
    """Check an answer; return whether it is decided."""
    if answer.outcome == "undecided":
        return False
    try:
        sg.check(answer, net)
    except sg.errors.SugenetError as error:
        wrong.append(f"{what}: {error}")
    return True


def gates(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Modules of torchlogix, and robustness of trained networks, also by a SAT solver."""
    counted("logic gates as arrays, definition", logic_gates.compare_arrays, options.seed, seconds / 2, 1000)
    counted(
        "logic gates as circuits, definition", logic_gates.compare_circuit, options.seed, seconds / 2, 1000
    )
    equal = None
    if logic_gates.has_torchlogix():
        name = "logic gates, modules of torchlogix"
        equal = counted(name, logic_gates.compare, options.seed, seconds, 1500)
    else:
        missing("logic gates, modules of torchlogix", "torchlogix")
    has_sat = find_spec("pysat") is not None
    if not has_sat:
        missing("logic gates, SAT solver", "python-sat")
    print(
        "\nrobustness: does the class stay if 1, 2, 4 or 8 bits flip? Seconds for all questions, "
        f"at most {QUESTION:g} each\n"
        f"{'set':<8}{'layers':>8}{'gates':>7}{'accuracy':>10}{'asked':>7}{'decided':>9}{'robust':>8}"
        f"{'by SAT':>8}{'sugenet s':>11}{'SAT s':>9}{'ratio':>8}"
    )
    total = decided = 0
    ours = theirs = 0.0
    names = [name for name in SETS if not (options.quick and name == "digits")]
    for name in names:
        row = _asked(name, options, has_sat)
        total, decided = total + row[0], decided + row[1]
        ours, theirs = ours + row[2], theirs + row[3]
    ratio = round(theirs / ours, 2) if has_sat and ours else None
    if has_sat:
        print(
            "SAT is Glucose 4.2 on a variable per gate and totalizers; encoding the network is not counted.\n"
            "difflogic_verify encodes gates like this, and runs Kissat on two copies of the network.\n"
            "It was not run: its solver and its tables (adult, compas, law, ...) are not available here."
        )
    wide(options)
    return {"gates": equal, "gates_decided": f"{decided} of {total}", "vs_sat": ratio}


def wide(options: argparse.Namespace) -> None:
    """Random gates of the sizes that were published for MNIST, half of them wires, each asked once."""
    print(f"\n{'random layers':<24}{'read s':>8}{'1,000 rows s':>14}{'1 flip':>13}{'s':>7}{'check s':>9}")
    for count in (8_000,) if options.quick else (8_000, 64_000):
        random, layers, width = np.random.default_rng(options.seed), [], 784
        for _ in range(6):
            reads = random.integers(0, width, (2, count))
            layers.append((*reads, np.where(random.random(count) < 0.5, 3, random.integers(0, 16, count))))
            width = count
        start = time.perf_counter()
        net = sg.from_logic_gates(layers, features=784, outputs=10)
        read = time.perf_counter() - start
        rows, start = random.integers(0, 2, (1000, 784)), time.perf_counter()
        net.predict(rows)
        predicted, start = time.perf_counter() - start, time.perf_counter()
        answer = sg.verify(net, rows[0], sg.Hamming(1))
        asked, start = time.perf_counter() - start, time.perf_counter()
        see(f"6 x {count}", net, answer)
        checked = time.perf_counter() - start
        name, seconds = f"6 x {count:,} gates", f"{asked:>7.1f}{checked:>9.1f}"
        print(f"{name:<24}{read:>8.1f}{predicted:>14.1f}{answer.outcome:>13}{seconds}", flush=True)


def _asked(name: str, options: argparse.Namespace, has_sat: bool) -> tuple[int, int, float, float]:
    model = trained(name, 150 if options.quick else 600, options.seed)
    net = sg.from_logic_gates(
        model.layers, features=model.bits.shape[1], outputs=model.outputs, temperature=model.tau
    )
    accuracy = (net.predict(model.bits) == model.labels).mean()
    random = np.random.default_rng(options.seed)
    rows = model.bits[random.choice(len(model.bits), 4 if options.quick else 20, replace=False)]
    sg.verify(net, rows[0], sg.Hamming(2), time_limit=QUESTION)  # compile
    solver = Clauses(model) if has_sat else None
    asked = decided = robust = by_sat = 0
    ours = theirs = 0.0
    for row in rows:
        own = int(net.predict([row])[0])
        for flips in (1, 2, 4, 8):
            asked += 1
            start = time.perf_counter()
            answer = sg.verify(net, row, sg.Hamming(flips), time_limit=QUESTION)
            ours += time.perf_counter() - start
            is_decided = see(name, net, answer)
            decided += is_decided
            robust += answer.outcome == "proved"
            if solver is None:
                continue
            solver.prepare(own)
            start = time.perf_counter()
            expected = solver.is_robust(row, own, flips, QUESTION)
            theirs += time.perf_counter() - start
            by_sat += expected is not None
            if is_decided and expected not in (None, answer.outcome == "proved"):
                wrong.append(f"{name}: SAT says robust is {expected} for {flips} flips of {row.tolist()}")
    size = sum(len(ids) for *_, ids in model.layers)
    times = f"{by_sat:>8}{ours:>11.2f}{theirs:>9.2f}{theirs / max(ours, 1e-9):>8.2f}"
    if not has_sat:
        times = f"{'-':>8}{ours:>11.2f}{'-':>9}{'-':>8}"
    print(
        f"{name:<8}{len(model.layers):>8}{size:>7,}{accuracy:>10.1%}{asked:>7}{decided:>9}{robust:>8}{times}",
        flush=True,
    )
    return asked, decided, ours, theirs


def tensorflow_lite(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Files for TensorFlow Lite, and those of Larq Compute Engine."""
    found: dict[str, Any] = {"tflite_equal": None, "lce_equal": None}
    if not (_is_there("ai_edge_litert") and _is_there("tests.fuzzing.tflite_files")):
        missing("int8 files, LiteRT", "ai-edge-litert")
    else:
        compare = import_module("tests.fuzzing.tflite_files").compare
        found["tflite_equal"] = counted("int8 files, LiteRT", compare, options.seed, seconds, 1000)
    lce = import_module("tests.fuzzing.lce_files") if _is_there("tests.fuzzing.lce_files") else None
    files = [] if options.lce is None or lce is None else lce.made(Path(options.lce))
    if not files or lce is None:
        missing("files of Larq Compute Engine", "a folder of its files (--lce)")
        return found
    results = [lce.compare(file) for file in files]
    read = [one for one in results if one is not None]
    found["lce_equal"] = f"{sum(read)} of {len(read)}"
    wrong.extend(f"LCE file {file}" for file, one in zip(files, results, strict=True) if one is False)
    print(f"{'files of Larq Compute Engine':<44}{found['lce_equal']} equal", flush=True)
    return found


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer models and questions, within 50 seconds")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random models (default: 0)")
    parser.add_argument("--lce", help="folder of files that larq-compute-engine made")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seconds = 2.5 if options.quick else 120.0
    result = tsetlin(options, seconds) | gates(options, seconds) | tensorflow_lite(options, seconds)
    count = 60 if options.quick else 1000
    back = counted("networks to ONNX and back", exports.round_trip, options.seed, seconds, count)
    result |= {"written_and_read_back": back, "wrong": len(wrong), "quick": options.quick}
    for line in wrong[:20]:
        print("WRONG", line)
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
