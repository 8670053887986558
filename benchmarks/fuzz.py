"""Imports against their frameworks, forged certificates, hostile files: ``python -m benchmarks.fuzz [--quick]
[--minutes M] [--seed N]``.

Random models are imported without the comparison that imports make of themselves, and compared with what they
were read from: PyTorch, ONNX Runtime, NumPy, other solvers. Forged certificates go to the checker, which
brute force judges. Files made to hurt are read in processes of their own.
The generators are those of the tests.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.fuzzing import damaged, exports, forgeries, onnx_graphs, sources, torch_models

QUICK = {"PyTorch": 5, "ONNX": 4, "others": 4, "exports": 2, "forged": 6}
"""Seconds for each kind."""
LIMIT, MEMORY = 4.0, 320 << 20
"""Of a check; with --quick a sixteenth of the time."""


@dataclass
class Tried:
    """What became of the cases of one kind."""

    name: str
    models: int = 0
    read: int = 0
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        share = f"{self.read / max(self.models, 1):.0%}"
        return (
            f"{self.name:<10}{self.models:>9,}{self.read:>9,}{share:>7}{self.models / self.seconds:>9.1f}"
            f"{len(self.differences):>13}"
        )


@dataclass
class Worst:
    """The longest and the largest refusal."""

    seconds: float = 0.0
    megabytes: float = 0.0
    slowest: str = ""
    largest: str = ""

    def add(self, what: str, seconds: float, megabytes: float) -> None:
        if seconds > self.seconds:
            self.seconds, self.slowest = seconds, what
        if megabytes > self.megabytes:
            self.megabytes, self.largest = megabytes, what


def of_torch(case: torch_models.Case) -> tuple[bool, str | None]:
    found = torch_models.outcome(case)
    return found.kind == "equal", f"torch {case.seed}: {found.text}" if found.kind == "different" else None


def of_onnx(case: onnx_graphs.Case) -> tuple[bool, str | None]:
    found = onnx_graphs.result(case)
    return found.kind == "equal", f"onnx {case.seed}: {found.text}" if found.kind == "different" else None


def of_export(case: exports.Case) -> tuple[bool, str | None]:
    return True, exports.difference(case)


KINDS: dict[str, tuple[Callable[[int], Iterable], Callable]] = {
    "PyTorch": (torch_models.cases, of_torch),
    "ONNX": (onnx_graphs.cases, of_onnx),
    "others": (sources.cases, sources.outcome),
    "exports": (exports.cases, of_export),
}


def tried(name: str, seconds: float, seed: int) -> Tried:
    """As many random models of a kind as there is time for."""
    cases, judged = KINDS[name]
    found, start = Tried(name), time.perf_counter()
    for case in cases(seed):
        read, difference = judged(case)
        found.models += 1
        found.read += read
        if difference is not None:
            found.differences.append(difference)
        found.seconds = time.perf_counter() - start
        if found.seconds > seconds:
            break
    return found


def forged(seconds: float, seed: int, worst: Worst, limit: float) -> tuple[int, int, int]:
    """How many certificates were forged, how many of them the checker took,
    and how many of these are false.
    """
    count = taken = false = 0
    for forgery in forgeries.bombs():
        outcome = forgeries.tried(forgery, limit, MEMORY)
        count, taken, false = count + 1, taken + outcome.accepted, false + outcome.false
        worst.add(f"certificate, {forgery.how}", outcome.seconds, outcome.megabytes)
    start = time.perf_counter()
    for forgery in forgeries.cases(seed):
        outcome = forgeries.tried(forgery, LIMIT, MEMORY)
        count, taken, false = count + 1, taken + outcome.accepted, false + outcome.false
        if not outcome.accepted:
            worst.add(f"certificate, {forgery.how}", outcome.seconds, outcome.megabytes)
        if outcome.false:
            print(
                f"ACCEPTED THOUGH FALSE ({forgery.how}): {json.dumps(forgery.certificate, default=str)[:500]}"
            )
        if time.perf_counter() - start > seconds:
            return count, taken, false
    raise AssertionError("forgeries have no end")


def hostile(worst: Worst) -> tuple[int, list[str]]:
    """How many hostile files there are, and what crashed."""
    count, crashed = 0, []
    for case, outcome in damaged.measured(damaged.bombs()):
        count += 1
        worst.add(f"{case.ending} file, {case.about}", outcome.seconds, outcome.megabytes)
        if not outcome.kind:
            crashed.append(f"{case.ending}, {case.about}: {outcome.said}")
    return count, crashed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="some seconds for each kind, within 50 s")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each kind, without --quick")
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        help="which models and forgeries; another one each day, unless given",
    )
    options = parser.parse_args()
    seed = int(time.time() // 86400) if options.seed is None else options.seed
    seconds = dict(QUICK) if options.quick else dict.fromkeys(QUICK, 60 * options.minutes)
    warnings.simplefilter("ignore")  # PyTorch's about even kernels
    worst = Worst()
    print(f"{f'seed {seed}':<10}{'models':>9}{'read':>9}{'':>7}{'a second':>9}{'differences':>13}")
    found = []
    for name in KINDS:
        found.append(tried(name, seconds[name], seed))
        print(found[-1], flush=True)
        for text in found[-1].differences[:5]:
            print(f"  DIFFERENT: {text[:400]}")
    count, taken, false = forged(seconds["forged"], seed, worst, LIMIT / 16 if options.quick else LIMIT)
    print(
        f"{count:,} forged certificates, {taken - false:,} taken because they are still true, "
        f"{false} though false"
    )
    files, crashed = hostile(worst)
    print(f"{files} hostile files, {len(crashed)} not refused kindly", *crashed, sep="\n  ")
    print(
        f"slowest refusal {worst.seconds:.2f} s ({worst.slowest}); "
        f"largest {worst.megabytes:.0f} MB ({worst.largest})"
    )
    figures = {
        "models": sum(part.models for part in found),
        "read": sum(part.read for part in found),
        "models_per_s": round(sum(part.models for part in found) / sum(part.seconds for part in found), 1),
        "differences": sum(len(part.differences) for part in found) + len(crashed),
        "forged": count,
        "accepted": false,
        "worst_refusal_s": round(worst.seconds, 2),
        "worst_refusal_mb": round(worst.megabytes),
    }
    print("RESULT " + json.dumps(figures))


if __name__ == "__main__":
    main()
