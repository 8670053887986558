"""Hostile files, many clients and kills: ``python -m benchmarks.hostile [--quick] [--seed N]``.

Every command that reads a file is given files made to hurt: pipes, devices and endless files, archives that
unpack to gigabytes, pickles that call, sizes that lie, names that steer a terminal; and good files with bits
and lengths changed. Each command runs in a process of its own. A refusal shall take at most 5 s and 600 MB
above the process, say why, and show no traceback. The files are those of the tests.

Then 50 clients ask a server everyday questions, others ask it for predictions, and sweeps are killed at
random moments, the start of their workers included.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from benchmarks import _load
from benchmarks._measure import machine
from tests.fuzzing import hostile
from tests.fuzzing.kills import kills

MUTATED = 2000
QUICK_SECONDS = 14.0
"""For hostile files and for changed ones, half of it each."""
QUICK_LOAD = 3.0
KILLS, QUICK_KILLS = 100, 2


@dataclass
class Tally:
    """What became of the files of one reader."""

    files: int = 0
    read: int = 0
    tracebacks: list[str] = field(default_factory=list)
    spoofed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    megabytes: float = 0.0
    slowest: str = ""
    largest: str = ""

    def add(self, name: str, found: hostile.Outcome) -> None:
        self.files += 1
        self.read += found.code == 0
        if found.crashed:
            self.tracebacks.append(f"{name}: {found.said.strip()[-200:]!r} (exit code {found.code})")
        if found.spoofed:
            self.spoofed.append(name)
        if found.seconds > self.seconds:
            self.seconds, self.slowest = found.seconds, name
        if found.megabytes > self.megabytes:
            self.megabytes, self.largest = found.megabytes, name
        self.cpu = max(self.cpu, found.cpu)

    def row(self, name: str) -> str:
        return (
            f"{name:<26}{self.files:>7}{self.read:>7}{len(self.tracebacks):>12}{len(self.spoofed):>9}"
            f"{self.seconds:>8.2f}{self.cpu:>7.2f}{self.megabytes:>7.0f}"
        )


def within(seconds: float, attacks: Iterable[hostile.Attack]) -> Iterator[hostile.Attack]:
    start = time.monotonic()
    for attack in attacks:
        if time.monotonic() - start > seconds:
            return
        yield attack


def files(quick: bool, seed: int) -> dict[str, float]:
    """Run all hostile files, or as many as there is time for, and good ones changed at random."""
    known = list(hostile.attacks())
    chosen: Iterable[hostile.Attack] = known
    changed: Iterable[hostile.Attack] = islice(hostile.mutations(seed), MUTATED)
    if quick:
        random.Random(seed).shuffle(known)
        chosen, changed = within(QUICK_SECONDS / 2, known), within(QUICK_SECONDS / 2, hostile.mutations(seed))
    tallies: dict[str, Tally] = defaultdict(Tally)
    whole = Tally()
    with hostile.Runner() as runner:
        for group in (chosen, changed):
            for attack in group:
                found = runner.run(attack)
                tallies[attack.name.partition(":")[0]].add(attack.name, found)
                whole.add(attack.name, found)
    print(
        f"{'files, by reader':<26}{'files':>7}{'read':>7}{'tracebacks':>12}{'spoofed':>9}"
        f"{'s':>8}{'CPU s':>7}{'MB':>7}"
    )
    for name in sorted(tallies):
        print(tallies[name].row(name))
    print(whole.row("all"))
    print(f"slowest: {whole.slowest}\nlargest: {whole.largest}")
    for text in whole.tracebacks:
        print(f"TRACEBACK {text}")
    for text in whole.spoofed:
        print(f"SPOOFED {text}")
    return {
        "files": whole.files,
        "tracebacks": len(whole.tracebacks),
        "worst_s": round(whole.seconds, 2),
        "worst_cpu_s": round(whole.cpu, 2),
        "worst_mb": round(whole.megabytes),
        "spoofed": len(whole.spoofed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="some seconds for each part, within 50 s")
    parser.add_argument(
        "--seed", type=int, default=None, help="which files are changed; another one each day, unless given"
    )
    options = parser.parse_args()
    seed = int(time.time() // 86400) if options.seed is None else options.seed
    print(f"{machine()}\nseed {seed}\n")
    figures = files(options.quick, seed)
    figures |= _load.load(seconds=QUICK_LOAD if options.quick else 60.0)
    figures |= _load.predictions(seconds=QUICK_LOAD if options.quick else 10.0)
    killed = kills(QUICK_KILLS if options.quick else KILLS, seed)
    figures |= {"gone_s" if name == "worst_s" else name: value for name, value in killed.items()}
    for name, value in figures.items():
        print(f"{name:<26}{value:>12,}")
    print("RESULT " + json.dumps(figures))


if __name__ == "__main__":
    main()
