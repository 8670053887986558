"""How many seeded faults do the tests find? `python -m benchmarks.mutants [--quick] [--only PACKAGE]`

Each fault changes one expression of the source. The tests of its package run first, then all that `make test`
runs; a fault is found when a test fails. `--nearest` leaves out the second step, `--root` takes another
checkout, `--quick` tries a few faults with a single file of tests each.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple


class Fault(NamedTuple):
    """One expression of a package, what it becomes, and the tests that are nearest to it."""

    package: str
    old: str
    new: str
    tests: str = ""


FILE = Path(__file__).parent / "files" / "mutants.txt"


def faults() -> list[Fault]:
    """What the file lists, in its order."""
    read = []
    for block in FILE.read_text().split("\n\n")[1:]:
        first, old, new = block.strip("\n").splitlines()
        package, _, tests = first.partition(" ")
        read.append(Fault(package, old[2:], new[2:], tests))
    return read


def file_of(fault: Fault, source: Path) -> Path:
    """The one file of its package that holds the expression."""
    paths = [path for path in sorted((source / fault.package).rglob("*.py")) if fault.old in path.read_text()]
    times = sum(path.read_text().count(fault.old) for path in paths)
    if times != 1:
        raise SystemExit(f"{fault.package}: {fault.old!r} occurs {times} times; it must be unique.")
    return paths[0]


def run(root: Path, *paths: str) -> str | None:
    """Run tests until one fails; which, or None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    jobs = ["-n", "logical", "--dist", "worksteal"]
    inherited = os.environ.get("PYTHONPATH")
    where = os.pathsep.join([str(root / "src"), *([inherited] if inherited else [])])
    done = subprocess.run(
        [*command, *jobs, *paths],
        cwd=root,
        env=os.environ | {"PYTHONPATH": where},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    name = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return name[1] if name else f"exit {done.returncode}"


def seed(fault: Fault, root: Path, *, nearest: bool) -> tuple[str, str, float]:
    """The fault tried: who found it, in which step, after how long."""
    path = file_of(fault, root / "src" / "sugenet")
    before, start = path.read_text(), perf_counter()
    path.write_text(before.replace(fault.old, fault.new))
    try:
        first = fault.tests or f"tests/{fault.package}"
        test, step = run(root, first), "nearest"
        if test is None and not nearest:
            test, step = run(root), "all"
    finally:
        path.write_text(before)
    return (test or "not found"), (step if test else "none"), perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one fault each of a few packages")
    parser.add_argument("--only", metavar="PACKAGE", help="faults of this package alone")
    parser.add_argument("--nearest", action="store_true", help="run the nearest tests alone")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout to try, this one by default")
    options = parser.parse_args()
    seeded = faults()
    chosen = [
        one for one in seeded if options.only in (None, one.package) and (one.tests or not options.quick)
    ]
    for fault in seeded:
        file_of(fault, options.root / "src" / "sugenet")
    steps: list[str] = []
    print(f"{'package':<10}{'fault':<52}{'found by':<9}{'after':>7}  first test")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "main"
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=options.root, capture_output=True, text=True, check=True
        )
        for name in names.stdout.split("\0")[:-1]:
            if (options.root / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(options.root / name, root / name)
        for fault in chosen:
            test, step, seconds = seed(fault, root, nearest=options.nearest or options.quick)
            steps.append(step)
            row = f"{fault.package:<10}{fault.new[:50]:<52}{step:<9}{seconds:>5.0f} s"
            print(f"{row}  {test.rpartition('/')[2][:70]}", flush=True)
    found = sum(step != "none" for step in steps)
    missed = [fault.new for fault, step in zip(chosen, steps, strict=True) if step == "none"]
    result = {"faults": len(chosen), "found": found, "by_nearest": steps.count("nearest"), "missed": missed}
    print("RESULT", json.dumps(result))


if __name__ == "__main__":
    main()
