"""How far the ladder is from the best engine of each problem, and what each of its rows costs.

``python -m benchmarks.ladder [--quick]`` takes the problems of `ladder.csv`, a table with the seconds that
each engine takes alone. For each it follows the rows of `sugenet.engines.ladder.RUNGS` in their order: the
seconds of those that leave the problem open, up to their limits, and of the first that decides it. The best
single choice is the fastest engine that decides it. Nothing is measured, so two runs give the same figures.
The table also keeps the seconds that the ladder took when it was written. If they are now more by over 5 % in
the geometric mean, the program fails. `--quick` takes every fourth problem.

``--measure`` measures the table anew: processor time of one thread, and at most 1 s for each engine.
``--accept`` keeps the ladder's seconds of today in it.

``--fit [--quick]`` runs every row alone on everyday questions about the shipped models and, if `SUGENET_ZOO`
is set, on networks of the zoo, and prints its constants fitted anew. Rows for hard questions, those that
start above 0.1 s, are run only on questions that no cheaper row decides. The fit takes the tenth percentile
of the measured seconds as `start`, and the median of what is left, divided by the size in the table, as a
factor of the size. Rows without a size get the mean; a question that is left open when the time is up counts
with that time.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp, inf, log
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from benchmarks.levels import qnn
from sugenet.bits import prepare
from sugenet.engines.bounds import BOUNDS
from sugenet.engines.hard.dual.deciding import DUAL
from sugenet.engines.hard.learn.solver import BRIEFLY, CDCL
from sugenet.engines.ladder import RUNGS, Facts, Rung, decide
from sugenet.engines.walk.anneal import SEARCH
from sugenet.engines.walk.branches import BRANCH, BRANCH_BRIEFLY
from sugenet.engines.walk.choices import EXHAUST
from sugenet.engines.walk.sets import FLIPS
from sugenet.problem.clock import Clock
from sugenet.problem.goal import loses
from sugenet.problem.problem import Open, Problem

QUICK = {"samples": 3, "inputs": 1, "limit": 0.3, "turns": 2}
FULL = {"samples": 20, "inputs": 3, "limit": 5.0, "turns": 3}
HARD = 0.1
"""Seconds from which on a row is for hard questions."""
SMALLEST = 1e-4
"""Seconds of expected size below which a question says nothing about the factor of a row."""
TABLE = Path(__file__).with_name("ladder.csv")
LIMIT, LOSS = 1.0, 1.05
"""Seconds for each engine of the table, and how many times the ladder's seconds may become."""
FLOOR = 2e-4
"""Seconds that count for whatever takes less."""
ENGINES = {
    "bounds": BOUNDS,
    "branch briefly": BRANCH_BRIEFLY,
    "cdcl briefly": BRIEFLY,
    "branch": BRANCH,
    "flips": FLIPS,
    "exhaust": EXHAUST,
    "search": SEARCH,
    "cdcl": CDCL,
    "dual": DUAL,
}
"""The columns of the table. CP-SAT is the ladder's last resort, and has none."""
PREPARE = "prepare"


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


# -- the table ----------------------------------------------------------------------------------------------

Times = dict[str, tuple[float, bool]]
"""For each engine that was tried, its seconds and whether it decided the problem."""


def problems(*, with_zoo: bool = True) -> Iterator[tuple[str, Callable[[], Problem]]]:
    """Yield the name of each problem of the table, and a function that makes it anew."""
    networks: list[tuple[str, sg.Network, Any]] = []
    for name in ("digits", "breast_cancer"):
        samples, _ = sg.models.samples(name)
        networks.append((name, getattr(sg.models, name)(), samples[:10]))
    zoo = _zoo.folder() if with_zoo else None
    special: list[tuple[str, sg.Network, Any, list[sg.Region]]] = []
    if zoo is not None:
        networks += [(name, network, rows[:2]) for name, network, rows in _zoo.quanalyst(zoo)]
        networks += [(name, n, _zoo.right(n, X, y, 2)) for name, n, X, y in _zoo.npaq(zoo)]
        X, y = _zoo.mnist(zoo)
        wide, deep = _zoo.lfc(zoo), _zoo.msakai(zoo)
        balls: list[sg.Region] = [sg.Linf(8), sg.Linf(25), sg.Hamming(1), sg.L0(1)]
        special.append(("lfc", wide, _zoo.right(wide, X, y, 2), balls))
        some = [sg.Linf(1), sg.Linf(4), sg.Hamming(2), sg.Free(range(300, 330))]
        special.append(("msakai", deep, _zoo.right(deep, X, y, 2), some))
        data = np.load(zoo / "qnn" / "mnist_mlp.npz")
        special.append(("qnn", qnn(data), data["x"][:2], [sg.Linf(1), sg.Linf(3), sg.L0(1)]))
    every = [(name, n, rows, regions(n.encoder.features)) for name, n, rows in networks]
    for name, network, rows, asked in [*every, *special]:
        labels = network.predict(rows)
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            for region in asked:

                def make(network=network, row=row, region=region, label=int(label)) -> Problem:
                    near = region.around(network, np.asarray(row).tolist())
                    return Problem(near, loses(network.head, label))

                yield f"{name} {number}, {region}", make


def read_table() -> dict[str, tuple[Times, float]]:
    """Return the seconds of the engines for each problem, and those of the ladder."""
    found = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, ladder = row.pop("problem"), row.pop("ladder")
            cells = {engine: cell for engine, cell in row.items() if cell}
            times = {e: (float(c.rstrip("?")) / 1e3, not c.endswith("?")) for e, c in cells.items()}
            found[name] = times, float(ladder) / 1e3
    return found


def write_table(table: dict[str, tuple[Times, float]]) -> None:
    """Write milliseconds; a question mark says that the problem stayed open."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", PREPARE, *ENGINES, "ladder"])
        for name, (times, ladder) in table.items():
            cells = {e: f"{1e3 * seconds:.3g}{'' if d else '?'}" for e, (seconds, d) in times.items()}
            writer.writerow(
                [name, *(cells.get(column, "") for column in (PREPARE, *ENGINES)), f"{1e3 * ladder:.4g}"]
            )


def follow(problem: Problem, times: Times) -> tuple[float, bool]:
    """Return the seconds of the ladder, and whether it decides the problem, from the seconds of engines."""
    facts, spent = Facts(problem), times[PREPARE][0]
    names = {id(engine): name for name, engine in ENGINES.items()}
    rungs = [rung for rung in RUNGS if rung.applies(facts)]
    for rung in sorted(rungs, key=lambda rung: rung.seconds(facts)):
        seconds, is_decided = times.get(names.get(id(rung.engine), ""), (0.0, False))
        limit = rung.limit(facts)
        if is_decided and seconds <= limit:
            return spent + seconds, True
        spent += min(seconds, limit)
    return spent, False


def measured(make: Callable[[], Problem], warm: set[tuple[str, int]]) -> Times:
    """Return the processor seconds of every engine that applies, with a fresh problem; the least of two, if
    the first is short. What all engines read of the first layer is measured on its own.
    """
    facts, found = Facts(make()), {PREPARE: (inf, False)}
    tried = {id(rung.engine) for rung in RUNGS if rung.applies(facts)}
    for name, engine in ENGINES.items():
        if id(engine) not in tried:
            continue
        key = name, id(facts.problem.near.network)
        best, is_decided = LIMIT, False
        for turn in range(2 + (key not in warm)):
            problem, begin = make(), time.process_time()
            if not facts.is_dual_first:
                assert problem.first_layer is not None
            start = time.process_time()
            outcome = engine(problem, Clock(LIMIT, threads=1, now=time.process_time))
            seconds = time.process_time() - start
            found[PREPARE] = min(found[PREPARE][0], start - begin), False
            if turn or key in warm:
                best, is_decided = min(best, seconds), not isinstance(outcome, Open)
                if seconds > 0.05:
                    break
        warm.add(key)
        found[name] = best, is_decided
    return found


def measure() -> None:
    """Measure the whole table."""
    prepare()
    table: dict[str, tuple[Times, float]] = {}
    warm: set[tuple[str, int]] = set()
    for name, make in problems():
        if make().begins_bad:
            continue
        times = measured(make, warm)
        table[name] = times, follow(make(), times)[0]
        print(
            f"{name}: " + ", ".join(f"{e} {s:.4f}{'' if d else '?'}" for e, (s, d) in times.items()),
            flush=True,
        )
        write_table(table)


def distance(step: int = 1, *, with_zoo: bool = True) -> dict[str, Any]:
    """Return how far the ladder is from the best single choice, and from where it was, over all problems that
    are there.
    """
    table = read_table()
    best, before, worst, left, asked = [], [], ("", 0.0), [], 0
    today = {}
    for number, (name, make) in enumerate(problems(with_zoo=with_zoo)):
        if number % step or name not in table:
            continue
        times, was = table[name]
        seconds, is_decided = follow(make(), times)
        today[name] = times, seconds
        asked += 1
        before.append(log(max(seconds, FLOOR) / max(was, FLOOR)))
        choices = [times[PREPARE][0] + seconds for seconds, decides in times.values() if decides]
        if not choices:
            continue
        if not is_decided:
            left.append(name)
        ratio = max(seconds, FLOOR) / max(min(choices), FLOOR)
        best.append(log(ratio))
        worst = max(worst, (name, ratio), key=lambda pair: pair[1])
    return {
        "problems": asked,
        "decided": len(best) - len(left),
        "left_open": left,
        "over_best": round(exp(mean(best)), 3),
        "worst": worst,
        "over_before": round(exp(mean(before)), 3),
        "table": today,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer questions, less than a minute")
    parser.add_argument("--fit", action="store_true", help="measure the rows, and fit their constants")
    parser.add_argument("--measure", action="store_true", help="measure the table of engines anew")
    parser.add_argument("--accept", action="store_true", help="keep the ladder's seconds of today")
    options = parser.parse_args()
    if options.fit:
        fit(QUICK if options.quick else FULL)
        return
    if options.measure:
        measure()
    found = distance(4 if options.quick else 1)
    table = found.pop("table")
    if options.accept:
        write_table(read_table() | table)
    decided = found["decided"] + len(found["left_open"])
    print(f"{found['problems']} problems, of which some engine alone decides {decided}")
    print(f"the ladder takes {found['over_best']:.2f} times the best single choice, in the geometric mean")
    print(f"the farthest: {found['worst'][0]}, {found['worst'][1]:.1f} times")
    for name in found["left_open"]:
        print(f"left open, although an engine decides it: {name}")
    print(f"{found['over_before']:.3f} times what is kept in {TABLE.name}")
    print("RESULT", json.dumps(found))
    if found["over_before"] > LOSS and not options.accept:
        sys.exit(f"the ladder has become slower by {found['over_before'] - 1:.0%}: more than {LOSS - 1:.0%}.")


# -- the fit ------------------------------------------------------------------------------------------------


def fit(size: dict[str, float]) -> None:
    """Run every row alone, and print its constants fitted anew."""
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
