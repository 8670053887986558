"""What each engine of the ladder costs, and the constants of its table fitted anew: ``python -m
benchmarks.ladder [--quick]``.

Every row of `sugenet.engines.ladder.RUNGS` that applies is run alone on everyday questions about the shipped
models and, if `SUGENET_ZOO` is set, on networks of the zoo. Rows for hard questions, those that start above
0.1 s, are run only on questions that no cheaper row decides. The fit takes the tenth percentile of the
measured seconds as `start`, and the median of what is left, divided by the size in the table, as a factor of
the size. Rows without a size get the mean; a question that is left open when the time is up counts with that
time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from statistics import mean, median, quantiles

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from benchmarks.levels import qnn
from sugenet.bits import prepare
from sugenet.engines.ladder import RUNGS, Facts, Rung, decide
from sugenet.problem.clock import Clock
from sugenet.problem.goal import loses
from sugenet.problem.problem import Open, Problem

QUICK = {"samples": 3, "inputs": 1, "limit": 0.3, "turns": 2}
FULL = {"samples": 20, "inputs": 3, "limit": 5.0, "turns": 3}
HARD = 0.1
"""Seconds from which on a row is for hard questions."""
SMALLEST = 1e-4
"""Seconds of expected size below which a question says nothing about the factor of a row."""


@dataclass
class Measured:
    """What was seen of one row of the table."""

    rung: Rung
    seconds: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    decided: int = 0

    def fit(self) -> tuple[float, float | None]:
        """Start, and the factor of the size; None if the row has none, or none was large enough."""
        factors = []
        start = quantiles(self.seconds, n=10)[0] if len(self.seconds) > 1 else self.seconds[0]
        for seconds, size in zip(self.seconds, self.sizes, strict=True):
            if size >= SMALLEST:
                factors.append(max(seconds - start, 0.0) / size)
        return (start, median(factors)) if factors else (mean(self.seconds), None)


def regions(features: int) -> list[sg.Region]:
    """What is asked of every sample."""
    free = [sg.Free(range(min(count, features))) for count in (8, 16, 40)]
    return [sg.Hamming(1), sg.Hamming(2), sg.L0(1), sg.L0(2), sg.Linf(1), sg.Hamming(4), *free]


def questions(size: dict[str, float]) -> Iterator[tuple[bool, sg.Network, list[object], sg.Region]]:
    """Whether it is an everyday question about a shipped model; network, sample and region."""
    for name in ("digits", "breast_cancer"):
        network = getattr(sg.models, name)()
        samples, _ = sg.models.samples(name)
        for sample in samples[: int(size["samples"])]:
            for region in regions(network.encoder.features):
                yield True, network, list(sample), region
    zoo = _zoo.folder()
    if zoo is None:
        return
    inputs = int(size["inputs"])
    networks = [(network, rows[:inputs]) for _, network, rows in _zoo.quanalyst(zoo)[:3]]
    networks += [(n, _zoo.right(n, images, labels, inputs)) for _, n, images, labels in _zoo.npaq(zoo)[:3]]
    for network, rows in networks:
        for sample in rows:
            for region in regions(network.encoder.features):
                yield False, network, sample.tolist(), region
    mnist, (images, labels) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    for sample in _zoo.right(mnist, images, labels, inputs):
        for region in (sg.Linf(1), sg.Hamming(2), sg.Free(range(300, 330)), sg.Free(range(300, 400))):
            yield False, mnist, sample.tolist(), region
    data = np.load(zoo / "qnn" / "mnist_mlp.npz")
    for sample in data["x"][:inputs]:
        for region in (sg.Linf(1), sg.Linf(3), sg.L0(1)):
            yield False, qnn(data), sample.tolist(), region


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer questions, less than a minute")
    size = QUICK if parser.parse_args().quick else FULL
    prepare()
    rows = [Measured(rung) for rung in RUNGS if rung.start < inf]
    deciders: Counter[str] = Counter()
    asked, whole = 0, 0.0
    warm: set[int] = set()
    for is_everyday, network, sample, region in questions(size):
        label = int(network.predict([sample])[0])

        def problem(network=network, sample=sample, region=region, label=label) -> Problem:
            return Problem(region.around(network, sample), loses(network.head, label))

        if is_everyday:
            start = time.perf_counter()
            outcome = decide(problem(), Clock(size["limit"]))
            whole, asked = whole + time.perf_counter() - start, asked + 1
            deciders["open" if isinstance(outcome, Open) else outcome.engine] += 1
        facts = Facts(problem())
        own = [(row.rung.seconds(facts), n) for n, row in enumerate(rows) if row.rung.applies(facts)]
        is_open = True
        for _, number in sorted(own):
            row, best = rows[number], inf
            if row.rung.start >= HARD and not is_open:
                continue
            for _ in range(int(size["turns"]) + (number not in warm)):
                limit = min(size["limit"], row.rung.limit(facts))
                fresh, start = problem(), time.perf_counter()
                outcome = row.rung.engine(fresh, Clock(limit))
                best = min(best, time.perf_counter() - start)
                if best > size["limit"] / 4 and number in warm:
                    break
                warm.add(number)
            row.seconds.append(best)
            row.sizes.append(row.rung.size(facts))
            row.decided += not isinstance(outcome, Open)
            is_open = is_open and isinstance(outcome, Open)
    report(rows, deciders, asked, whole)


def report(rows: list[Measured], deciders: Counter[str], asked: int, whole: float) -> None:
    """Print the table and the fit beside it."""
    print(f"{asked} everyday questions in {whole:.2f} s; every row alone, on these and on the zoo\n")
    print("row  engine    asked  decided  start: table      fitted  size: times the table's   decided alone")
    fitted = {}
    for number, row in enumerate(rows, start=1):
        name = row.rung.engine.name
        if not row.seconds:
            print(f"{number:3}  {name:8} {0:6}")
            continue
        start, factor = row.fit()
        fitted[f"{number} {name}"] = {"start": start, "size": factor}
        shown = "-" if factor is None else f"{factor:.3g}"
        print(
            f"{number:3}  {name:8} {len(row.seconds):6} {row.decided:8}  {row.rung.start * 1e3:9.2f} ms "
            f"{start * 1e3:8.2f} ms  {shown:>24}   {row.decided / len(row.seconds):12.0%}"
        )
    print("\nwho decides everyday questions:", ", ".join(f"{n} {e}" for e, n in deciders.most_common()))
    print("RESULT", json.dumps({"questions": asked, "seconds": whole, "by": deciders, "fitted": fitted}))


if __name__ == "__main__":
    main()
