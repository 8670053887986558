"""Robustness queries on public networks, decided and certified, with CP-SAT alone beside: ``python -m
benchmarks.verify [--quick]``.

(a) msakai mnist, the first correctly classified test images, L-inf 1, 2, 4 and Hamming 1 to 4; a tie counts
    as misclassified, as in its
instances. (b) the networks of BNNQuanalyst with their inputs, Hamming 1 to 6. (c) those of NPAQ, Hamming 1
to 4. (d) lfcW1A1, Hamming 1 to
4. (e) the 15 traffic-sign queries of VNN-COMP 2023 over real boxes. Every certificate is checked by
   `sugenet.check` in the same run. CP-SAT
gets the plain encoding of the same queries, with the same time limit and threads; where it did not finish,
the limit counts as its time, so the ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass
from statistics import mean, median

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.bits import prepare
from sugenet.errors import CertificateError
from sugenet.reason import Proved, Refuted

QUICK = {"a": 2, "b": 1, "c": 2, "d": 1, "limit": 5.0, "cpsat": 4}
FULL = {"a": 100, "b": 5, "c": 20, "d": 20, "limit": 60.0, "cpsat": 40}


@dataclass
class Case:
    group: str
    name: str
    network: sg.Network
    question: object


def cases(zoo, size, quick):
    found = []
    X, y = _zoo.mnist(zoo)
    network = _zoo.msakai(zoo)
    regions = [sg.Linf(r) for r in (1, 2, 4)] + [sg.Hamming(r) for r in range(1, size["radius"] + 1)]
    for number, x in enumerate(_zoo.right(network, X, y, size["a"])):
        found += [
            Case("a", f"mnist {number} {region}", network, sg.Robust(x.tolist(), region, ties="against"))
            for region in regions
        ]
    for name, network, inputs in _zoo.quanalyst(zoo):
        for number, x in enumerate(inputs[: size["b"]]):
            found += [
                Case("b", f"{name} {number} Hamming {r}", network, sg.Robust(x.tolist(), sg.Hamming(r)))
                for r in range(1, 7)
            ]
    for name, network, images, labels in _zoo.npaq(zoo):
        for number, x in enumerate(_zoo.right(network, images, labels, size["c"])):
            found += [
                Case("c", f"{name} {number} Hamming {r}", network, sg.Robust(x.tolist(), sg.Hamming(r)))
                for r in range(1, 5)
            ]
    network = _zoo.lfc(zoo)
    for number, x in enumerate(_zoo.right(network, X, y, size["d"])):
        found += [
            Case("d", f"lfc {number} Hamming {r}", network, sg.Robust(x.tolist(), sg.Hamming(r)))
            for r in range(1, 3 if quick else 5)
        ]
    signs = _zoo.traffic(zoo)
    for path in sorted(
        (zoo / "traffic").glob("*.vnnlib.gz"),
        key=lambda p: (p.name.split("_")[3], float(p.name.split("_")[5][:-10])),
    ):
        words = path.name.split("_")
        name = f"traffic {words[3]} eps {float(words[5].removesuffix('.vnnlib.gz')):g}"
        found.append(Case("e", name, signs.network, sg.read_vnnlib(path)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few images and short limits, within 50 s")
    parser.add_argument("--groups", default="abcde", help="which sets (default abcde)")
    parser.add_argument("--images", type=int, metavar="N", help="images of (a) and (d)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of each query")
    parser.add_argument(
        "--radius",
        type=int,
        metavar="R",
        help="largest Hamming radius of (a) (default 3 with --quick, else 4)",
    )
    options = parser.parse_args()
    size = dict(QUICK if options.quick else FULL)
    if options.images is not None:
        size |= {"a": options.images, "d": min(size["d"], options.images)}
    if options.limit is not None:
        size["limit"] = options.limit
    size["radius"] = options.radius or (3 if options.quick else 4)
    zoo = _zoo.folder()
    names = (
        "decided",
        "of",
        "median_s",
        "mean_s",
        "vs_cpsat_alone",
        "certified",
        "traffic_proved",
        "traffic_refuted",
    )
    if zoo is None:
        print("RESULT " + json.dumps(dict.fromkeys(names)))
        return
    prepare()
    every = [case for case in cases(zoo, size, options.quick) if case.group in options.groups]
    warm_up(every)
    seconds: list[float] = []
    outcomes: list[tuple[Case, object]] = []
    tally: dict[str, Counter[str]] = {}
    certified = 0
    print(f"{'query':<44}{'answer':<11}{'engine':<12}{'seconds':>9}{'check s':>9}")
    for case in every:
        start = time.perf_counter()
        answer = sg.verify(case.network, case.question, time_limit=size["limit"])
        seconds.append(time.perf_counter() - start)
        outcomes.append((case, answer))
        kind = type(answer).__name__.lower()
        tally.setdefault(case.group, Counter())[kind] += 1
        start = time.perf_counter()
        checked = certificate_holds(answer, case.network)
        certified += checked
        spent = f"{time.perf_counter() - start:.2f}" if checked else "-"
        print(
            f"{case.name:<44}{kind:<11}{getattr(answer, 'engine', ''):<12}{seconds[-1]:>9.3f}{spent:>9}",
            flush=True,
        )
    print()
    for group, counts in tally.items():
        own = [s for s, (case, _) in zip(seconds, outcomes, strict=True) if case.group == group]
        print(
            f"({group}) {dict(counts)}, mean {mean(own):.3f} s, median {median(own):.3f} s, worst "
            f"{max(own):.2f} s"
        )
    ratio = beside_cpsat(outcomes, seconds, size)
    decided = sum(isinstance(answer, Proved | Refuted) for _, answer in outcomes)
    result = {
        "decided": decided,
        "of": len(outcomes),
        "median_s": round(median(seconds), 4),
        "mean_s": round(mean(seconds), 3),
        "vs_cpsat_alone": ratio,
        "certified": certified,
        "traffic_proved": tally.get("e", {}).get("proved", 0),
        "traffic_refuted": tally.get("e", {}).get("refuted", 0),
    }
    print("RESULT " + json.dumps(result))


def warm_up(every: list[Case]) -> None:
    """Load or compile everything before anything is timed."""
    seen = set()
    for case in every:
        if case.group not in seen and case.group != "e":
            seen.add(case.group)
            certificate_holds(sg.verify(case.network, case.question, time_limit=5.0), case.network)


def certificate_holds(answer: object, network: sg.Network) -> bool:
    if not isinstance(answer, Proved | Refuted):
        return False
    try:
        sg.check(json.loads(json.dumps(answer.certificate)), network)
    except CertificateError as error:
        print(f"NOT CERTIFIED: {error}")
        return False
    return True


def beside_cpsat(outcomes: list[tuple[Case, object]], seconds: list[float], size: dict) -> float | None:
    """The same queries by CP-SAT alone, on a sample spread evenly over all that were decided;
    the ratio of total times.
    """
    able = [
        k
        for k, (case, answer) in enumerate(outcomes)
        if case.group in "abc" and isinstance(answer, Proved | Refuted)
    ]
    if not able:
        return None
    chosen = [able[round(place)] for place in np.linspace(0, len(able) - 1, min(size["cpsat"], len(able)))]
    ours = theirs = 0.0
    late = 0
    for k in chosen:
        case, answer = outcomes[k]
        start = time.perf_counter()
        other = sg.verify(case.network, case.question, engine="cpsat", time_limit=size["limit"])
        spent = time.perf_counter() - start
        if isinstance(other, Proved | Refuted):
            assert type(other) is type(answer), f"CP-SAT says {other}, we say {answer}"
        else:
            late += 1
        ours, theirs = ours + seconds[k], theirs + spent
        print(
            f"CP-SAT alone: {case.name:<44}{type(other).__name__.lower():<11}{spent:>9.2f} s, ours "
            f"{seconds[k]:.3f} s",
            flush=True,
        )
    print(
        f"CP-SAT alone left {late} of {len(chosen)} open after {size['limit']:g} s; {theirs:.1f} s against "
        f"our {ours:.2f} s"
    )
    return round(theirs / ours, 1)


if __name__ == "__main__":
    main()
