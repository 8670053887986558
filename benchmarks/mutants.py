"""How many seeded faults do the tests find? `python -m benchmarks.mutants [--quick] [--only PACKAGE]`

Each fault changes one expression of the source. A fault is found when a test fails with this fault alone.
The nearest tests come first: those that name the changed module, then those of its package. The faults
that are left are seeded together and all that `make test` runs is run once; then each of them is tried
alone on the tests that failed. `--slow` tries the faults that `make test` misses on the tests of their
package that it leaves out. `--nearest` leaves out the run of everything, `--root` takes another checkout,
`--quick` tries a few faults with a single file of tests each. A test that fails without a fault finds none.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import NamedTuple


class Fault(NamedTuple):
    """One expression of a package, what it becomes, and the tests that are nearest to it."""

    package: str
    old: str
    new: str
    tests: str = ""


FILE = Path(__file__).parent / "files" / "mutants.txt"
NO_TESTS = 5
"""Exit code of pytest if no test was selected."""
LONGEST = 1800
"""Seconds for a run of tests: a fault can make one run on for ever."""


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


@contextmanager
def seeded(chosen: Iterable[Fault], root: Path) -> Iterator[None]:
    """Change the source of a copy, and change it back at the end."""
    before: dict[Path, str] = {}
    try:
        for fault in chosen:
            path = file_of(fault, root / "src" / "sugenet")
            before.setdefault(path, path.read_text())
            path.write_text(path.read_text().replace(fault.old, fault.new))
        yield
    finally:
        for path, text in before.items():
            path.write_text(text)


def environment(root: Path) -> dict[str, str]:
    """The environment in which the source of a copy is imported."""
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root / "src"), *([inherited] if inherited else [])])
    }


def run(root: Path, *options: str, marked: str = "not slow") -> list[str]:
    """Run tests; the names of those that failed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", marked, "-p", "no:cacheprovider", *options],
            cwd=root,
            env=environment(root),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return ["exit at the time limit"]
    if done.returncode in (0, NO_TESTS):
        return []
    names = re.findall(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return names or [f"exit {done.returncode}"]


def finder(fault: Fault, root: Path, steps: Iterable[list[str]], *, marked: str = "not slow") -> str | None:
    """The first test that fails with the fault and passes without it."""
    for tests in steps:
        left_out: list[str] = []
        while True:
            with seeded([fault], root):
                failed = run(root, "-x", *tests, *left_out, marked=marked)
            if not failed:
                break
            if failed[0].startswith("exit "):  # no test has a name, say as nothing can be imported
                if not run(root, "-x", *tests, *left_out, marked=marked):
                    return failed[0]
                break
            if not run(root, failed[0], marked=""):
                return failed[0]
            left_out += ["--deselect", failed[0]]
    return None


def near(fault: Fault, root: Path) -> list[list[str]]:
    """The tests that name the changed module, then those of its package."""
    path = file_of(fault, root / "src" / "sugenet")
    folder = root / "tests" / fault.package
    word = re.compile(rf"\b{path.parent.name if path.stem == '__init__' else path.stem}\b")
    naming = [str(file) for file in sorted(folder.rglob("test_*.py")) if word.search(file.read_text())]
    return [naming, [str(folder)]] if naming else [[str(folder)]]


def nearest(fault: Fault, root: Path, *, quick: bool) -> str | None:
    """The first test near the fault that finds it."""
    steps = [[fault.tests]] if fault.tests else []
    if not (quick and steps):
        doctests = str(file_of(fault, root / "src" / "sugenet"))
        steps += [[doctests, *tests] for tests in near(fault, root)]
    return finder(fault, root, steps)


def together(chosen: list[Fault], root: Path) -> dict[Fault, str]:
    """Of faults that no test near them finds, those that others find, and the first test that does."""
    with seeded(chosen, root):
        failed = run(root, "-n", "logical", "--dist", "worksteal")
    failed = [name for name in failed if not name.startswith("exit ")]
    tried = {fault: finder(fault, root, [failed]) for fault in chosen if failed}
    return {fault: test for fault, test in tried.items() if test}


def copy_of(root: Path, to: Path) -> Path:
    """Copy the files of a checkout that git knows."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    for name in names.stdout.split("\0")[:-1]:
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    return to


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one fault each of a few packages")
    parser.add_argument("--only", metavar="PACKAGE", help="faults of this package alone")
    parser.add_argument("--nearest", action="store_true", help="run the nearest tests alone")
    parser.add_argument("--slow", action="store_true", help="try what is missed on the slow tests, too")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout to try, this one by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults tried at a time")
    options = parser.parse_args()
    chosen = [
        one for one in faults() if options.only in (None, one.package) and (one.tests or not options.quick)
    ]
    for fault in faults():
        file_of(fault, options.root / "src" / "sugenet")

    print(f"{'package':<10}{'fault':<52}{'found by':<9}{'after':>7}  first test")
    steps: dict[Fault, str] = {}

    def show(fault: Fault, step: str, test: str, seconds: float) -> None:
        steps[fault] = step
        row = f"{fault.package:<10}{fault.new[:50]:<52}{step:<9}{seconds:>5.0f} s"
        print(f"{row}  {test.rpartition('/')[2][:70]}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        first = copy_of(options.root, Path(folder) / "0")
        if not options.quick:  # tests that hold the clock never end while kernels are missing
            warm_up = [sys.executable, "-m", "sugenet", "warm-up", "--quiet"]
            subprocess.run(warm_up, cwd=first, env=environment(first), check=True, capture_output=True)
        copies.put(first)
        for number in range(1, options.jobs):  # with the compiled kernels
            copies.put(Path(shutil.copytree(first, Path(folder) / str(number))))

        def attempt(fault: Fault) -> tuple[str | None, float]:
            root, start = copies.get(), perf_counter()
            try:
                return nearest(fault, root, quick=options.quick), perf_counter() - start
            finally:
                copies.put(root)

        with ThreadPoolExecutor(options.jobs) as pool:
            for fault, (test, seconds) in zip(chosen, pool.map(attempt, chosen), strict=True):
                if test or options.nearest or options.quick:
                    show(fault, "nearest" if test else "none", test or "not found", seconds)
        root = copies.get()
        left = [fault for fault in chosen if fault not in steps]
        if left:
            start = perf_counter()
            found = together(left, root)
            for fault in left:
                test = found.get(fault)
                show(fault, "all" if test else "none", test or "not found", perf_counter() - start)
        missed = [fault for fault in chosen if steps[fault] == "none"]
        for fault in missed if options.slow else []:
            start = perf_counter()
            test = finder(fault, root, near(fault, root), marked="slow")
            show(fault, "slow" if test else "none", test or "not found", perf_counter() - start)
    counts = list(steps.values())
    result = {
        "faults": len(chosen),
        "found": counts.count("nearest") + counts.count("all"),
        "by_nearest": counts.count("nearest"),
        "missed": [fault.new for fault in missed],
    }
    if options.slow:  # what the tests of its package that `make test` leaves out add
        result["found_by_all"] = len(counts) - counts.count("none")
    print("RESULT", json.dumps(result))


if __name__ == "__main__":
    main()
