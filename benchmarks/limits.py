"""Whether questions about large networks stay within their time and memory.

Run: python -m benchmarks.limits [--quick] [--seconds 1 5 25] [--only TEXT]

Every question is asked in a process of its own whose address space is limited to 8 GB, of three networks with
random weights: one of the shape of CNV (3x32x32 bytes), the same with one class far ahead, and one of the
shape of LFC (784 bits, three layers of 1024). Small questions that need the same kernels go first, so that
compiling them does not count. A question may be answered, be left open or be refused as too large; anything
else is a failure. An overrun is what it took beyond its limit, as a share of it.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measure import machine
from benchmarks.conv import Task
from sugenet.bits import prepare
from sugenet.errors import TooLargeError
from sugenet.nn import DenseLayer, Head, Network

MEMORY = 8_000_000 << 10  # bytes of address space
GRACE = 1.0  # seconds that every question may take beyond a tenth of its limit
PIXEL = 1500

Ask = Callable[[Network, Any, float], Any]


def lfc() -> Network:
    rng = np.random.default_rng(0)
    layers, width = [], 784
    for size in (1024, 1024, 1024):
        layers.append(DenseLayer(rng.choice([-1, 1], (size, width)), np.full(size, width // 2)))
        width = size
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (10, width))))


def ahead(network: Network, lead: int = 100) -> Network:
    """The same with one class far ahead of the others: so that some questions have proofs."""
    head = network.head
    return Network(
        network.encoder,
        network.layers,
        Head(head.weights, [lead, *[0] * (head.outputs - 1)]),
        network.classes,
    )


NETWORKS: dict[str, Callable[[], Network]] = {
    "CNV": lambda: Task.random().network,
    "CNV ahead": lambda: ahead(Task.random().network),
    "LFC": lfc,
}


def _robust(region: str) -> Ask:
    def ask(network: Network, x: Any, seconds: float) -> Any:
        from sugenet import reason

        regions = {
            "Free(1)": lambda: reason.Free([PIXEL % network.encoder.features]),
            "Free(2)": lambda: reason.Free([100, 101]),
            "Box": lambda: reason.Box(dict.fromkeys(range(100, 110), (None, None))),
            "AnyInput": reason.AnyInput,
        }
        kind, _, radius = region.partition(" ")
        chosen = getattr(reason, kind)(int(radius)) if radius else regions[region]()
        return reason.verify(network, reason.Robust(x, chosen), time_limit=seconds)

    return ask


def _verify(question: Callable[[Any, Network], Any]) -> Ask:
    def ask(network: Network, x: Any, seconds: float) -> Any:  # noqa: ARG001
        from sugenet import reason

        return reason.verify(network, question(reason, network), time_limit=seconds)

    return ask


def _whatif(cost: str) -> Ask:
    def ask(network: Network, x: Any, seconds: float) -> Any:
        from sugenet import reason

        chosen = reason.Prices({0: 1, 5: 2, 7: 3}) if cost == "Prices" else getattr(reason, cost)
        return reason.whatif(network, x, chosen, time_limit=seconds)

    return ask


def _why(region: str) -> Ask:
    def ask(network: Network, x: Any, seconds: float) -> Any:
        from sugenet import reason

        return reason.why(
            network,
            x,
            {"any": None, "L0": reason.L0(1), "Free": reason.Free([1, 2])}[region],
            time_limit=seconds,
        )

    return ask


def _count(region: str) -> Ask:
    def ask(network: Network, x: Any, seconds: float) -> Any:
        from sugenet import reason

        chosen = {"L0": reason.L0(1), "Free": reason.Free([1, 2]), "Hamming": reason.Hamming(1), "any": None}[
            region
        ]
        return reason.count(network, *(() if chosen is None else (x, chosen)), time_limit=seconds)

    return ask


def _rulebook(network: Network, x: Any, seconds: float) -> Any:
    from sugenet import reason

    return reason.rulebook(network, X=[x], most=1, time_limit=seconds)


def _check_rule(network: Network, x: Any, seconds: float) -> Any:  # noqa: ARG001
    from sugenet import reason

    return reason.check_rule(network, "x1 >= 1 and x2 >= 1 -> 3", time_limit=seconds)


def _report(network: Network, x: Any, seconds: float) -> Any:  # noqa: ARG001
    from sugenet.show import report

    return f"{len(str(report(network, [x])))} characters"


def _payload(network: Network, x: Any, seconds: float) -> Any:  # noqa: ARG001
    from sugenet.web.page_data import payload

    return f"{len(json.dumps(payload(network, [x], title='a network')))} characters"


QUESTIONS: dict[str, Ask] = {
    **{
        f"robust {r}": _robust(r)
        for r in ("Free(1)", "Free(2)", "Box", "AnyInput", "Hamming 1", "L0 1", "Hamming 2", "L0 2")
    },
    **{f"robust {r}": _robust(r) for r in ("L1 3", "L2 2", "Linf 1", "Linf 8")},
    "always": _verify(lambda r, _: r.Always(3)),
    "never": _verify(lambda r, _: r.Never(3)),
    "monotone": _verify(lambda r, _: r.Monotone(5)),
    "fair": _verify(lambda r, _: r.Fair([5])),
    "agree": _verify(lambda r, network: r.Agree(ahead(network, 1))),
    **{f"whatif {cost}": _whatif(cost) for cost in ("L0", "L1", "L2", "Linf", "Hamming", "Prices")},
    **{f"why {region}": _why(region) for region in ("any", "L0", "Free")},
    **{f"count {region}": _count(region) for region in ("L0", "Free", "Hamming", "any")},
    "rulebook": _rulebook,
    "check_rule": _check_rule,
    "report": _report,
    "payload": _payload,
}
QUICK = [
    ("CNV", "robust Free(1)"),
    ("CNV ahead", "robust Free(2)"),
    ("CNV ahead", "robust Hamming 1"),
    ("CNV", "robust Linf 8"),
    ("CNV", "whatif L0"),
    ("CNV", "count Free"),
    ("CNV", "check_rule"),
    ("LFC", "robust Hamming 2"),
    ("LFC", "count any"),
]
UNTIMED = ("report", "payload")


def warm_up() -> None:
    """Load or compile what questions use, on a network that takes no time."""
    from sugenet import reason

    prepare()
    rng = np.random.default_rng(0)
    small = Network.of_bits(
        [DenseLayer(rng.choice([-1, 1], (3, 12)), [6] * 3)] * 1, Head(rng.choice([-1, 1], (3, 3)))
    )
    x = [1] * 12
    for engine in ("search", "flips", "exhaust", "cdcl", "cpsat"):
        reason.verify(small, reason.Robust(x, reason.Hamming(3)), engine=engine)
    reason.count(small, method="walk")
    reason.count(small, method="sums")
    reason.why(small, x, reason.AnyInput())


def one(name: str, question: str, seconds: float) -> None:
    """Ask one question in this process, and say how it went in one line of JSON."""
    warm_up()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    network = NETWORKS[name]()
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, 3072).tolist() if name.startswith("CNV") else rng.choice([-1, 1], 784).tolist()
    network.predict([x])
    begin, spent = time.perf_counter(), time.process_time()
    try:
        answer = QUESTIONS[question](network, x, seconds)
        kind, words = type(answer).__name__, str(answer)
    except TooLargeError as error:
        kind, words = "TooLargeError", str(error)
    took, spent = time.perf_counter() - begin, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        json.dumps(
            {
                "kind": kind,
                "words": " ".join(words.split())[:160],
                "seconds": round(took, 2),
                "cpu": round(spent, 2),
                "mb": memory,
            }
        )
    )


def run(name: str, question: str, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.limits", "--one", name, question, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 * seconds + 120, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {"kind": "FAILED", "words": last[:160], "seconds": 0.0, "cpu": 0.0, "mb": 0}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few questions at 1 second")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 5, 25])
    parser.add_argument("--only", default="", help="questions whose network or name has this text")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], options.one[1], float(options.one[2]))
        return
    print(machine())
    pairs = (
        QUICK if options.quick else [(network, question) for network in NETWORKS for question in QUESTIONS]
    )
    worst, peak, answered, asked, failed = 0.0, 0, 0, 0, 0
    print(f"{'network':10} {'question':18} {'limit':>6} {'took':>7} {'CPU':>7} {'MB':>6}  answer")
    for seconds in [1.0] if options.quick else options.seconds:
        for name, question in pairs:
            if options.only not in f"{name} {question}":
                continue
            found = run(name, question, seconds)
            figures = (
                f"{name:10} {question:18} {seconds:6g} {found['seconds']:7.2f} "
                f"{found['cpu']:7.2f} {found['mb']:6}"
            )
            print(f"{figures}  {found['kind']}: {found['words']}", flush=True)
            if question not in UNTIMED:
                worst = max(worst, (found["seconds"] - GRACE) / seconds)
            peak = max(peak, found["mb"])
            failed += found["kind"] == "FAILED"
            if name.startswith("CNV"):
                asked += 1
                answered += found["kind"] not in (
                    "Undecided",
                    "TooLargeError",
                    "FAILED",
                    "OpenCounterfactual",
                    "CountOpen",
                )
    result = {
        "worst_overrun": round(worst, 2),
        "cnv_asked": asked,
        "cnv_answered": answered,
        "failed": failed,
        "peak_mb": peak,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
