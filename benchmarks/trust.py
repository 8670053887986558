"""Attacks on what must be trusted: ``python -m benchmarks.trust [--quick] [--minutes M] [--seed N]``.

Forged certificates go to the checker: real ones damaged at random, numbers of other types, integers at the
edges of the machine. Questions at the edges of floats are answered by enumeration, and no question may have
both an accepted proof and an accepted counterexample. The same question goes through Python, the command
line, the server, CSV files, rules and laws. Random models are imported, and each of their operations is
compared alone with the framework's own. Last, reasons of a public MNIST network are timed (SUGENET_ZOO names
its folder).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from statistics import median

import torch

import sugenet as sg
from benchmarks import _zoo
from sugenet.bits import prepare
from sugenet.errors import SugenetError
from tests.checker import test_attacks, test_twin
from tests.fuzzing import forgeries, torch_models
from tests.fuzzing.faces import compare_faces

SHARES = {"forged": 0.35, "questions": 0.3, "faces": 0.15, "imports": 0.2}
QUICK = 26.0
"""Seconds of all attacks."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all attacks for half a minute")
    parser.add_argument("--minutes", type=float, default=20.0, help="of all attacks (default: 20)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    prepare()
    seconds = QUICK if options.quick else 60 * options.minutes
    forged, accepted = attacked(options.seed, SHARES["forged"] * seconds)
    print(f"{forged:>9,} forged certificates, {len(accepted)} false ones accepted", flush=True)
    asked, contradictions = questioned(options.seed, SHARES["questions"] * seconds)
    print(f"{asked:>9,} questions by enumeration, {len(contradictions)} contradictions", flush=True)
    compared, differ = faced(options.seed, SHARES["faces"] * seconds)
    print(f"{compared:>9,} answers compared between faces, {len(differ)} differ", flush=True)
    judged, refused = imported(options.seed, SHARES["imports"] * seconds)
    print(f"{judged:>9,} operations of imports compared alone, {len(refused)} differ", flush=True)
    for what in (*accepted, *contradictions, *differ, *refused):
        print("FOUND " + str(what)[:2000])
    result = {
        "forgeries": forged,
        "accepted": len(accepted),
        "contradiction_questions": asked,
        "contradictions": len(contradictions),
        "faces_compared": compared,
        "faces_differ": len(differ),
        "operations_judged_alone": judged,
        "operations_differ": len(refused),
        "why_mnist_median_s": reasons(2 if options.quick else 20),
    }
    print("RESULT " + json.dumps(result))


def attacked(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many forged certificates were tried, and the false ones that were accepted."""
    found, tried = [], 0
    end = time.perf_counter() + seconds / 2
    for forgery in forgeries.forgeries(seed):
        tried += 1
        wrong = forgeries.difference(forgery)
        found += [wrong] if wrong else []
        if time.perf_counter() > end:
            break
    end = time.perf_counter() + seconds / 2
    while time.perf_counter() < end:
        for values in (test_attacks.spellings, test_attacks.edges):
            try:
                tried += test_attacks.attack(seed, values, 20)
            except AssertionError as error:
                found.append(str(error))
        seed += 1
    return tried, found


def questioned(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many questions were compared with enumeration, and those where something differs."""
    checks: list[Callable[[int], None]] = [
        test_twin.check_verdict,
        test_twin.check_counterfactual,
        test_twin.check_count,
        test_twin.check_pairs,
    ]
    found, asked, end = [], 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for check in checks:
            asked += 1
            try:
                check(seed + asked)
            except AssertionError as error:
                found.append(f"{check.__name__}({seed + asked}): {error}")
    return asked, found


def faced(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many answers of different faces were compared, and those that differ."""
    compared, differ, end = 0, [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        many, wrong = compare_faces(seed, 2)
        compared, differ, seed = compared + many, differ + list(wrong), seed + 1
    return compared, differ


def imported(seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many operations of random PyTorch models were compared alone, and those that differ."""
    judged, found, end = 0, [], time.perf_counter() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in torch_models.cases(seed):
            try:
                report = sg.from_torch(
                    case.module, torch.zeros(1, *case.shape), inputs=case.inputs, zero=case.zero
                )
                judged += report.operations_judged_alone
            except SugenetError as error:
                found += [str(error)] if "alone" in str(error) else []
            if time.perf_counter() > end:
                break
    return judged, found


def reasons(images: int) -> float | None:
    """Median seconds of a minimal reason of a public MNIST network in an L-inf ball of radius 1."""
    zoo = _zoo.folder()
    if zoo is None:
        print("SUGENET_ZOO is not set: reasons of MNIST were not timed.")
        return None
    network = _zoo.msakai(zoo)
    samples = _zoo.right(network, *_zoo.mnist(zoo), images + 1)
    times = []
    for x in samples:
        start = time.perf_counter()
        sg.why(network, x.tolist(), sg.Linf(1), time_limit=60)
        times.append(time.perf_counter() - start)
    return round(median(times[1:]), 3)  # the first one compiles


if __name__ == "__main__":
    main()
