"""Harder questions, with the figures they began with beside today's.

Run: python -m benchmarks.frontier [--quick] [--only hamming4 sparse ...]

Each row is a module of this folder with a function ``run(quick)``. ``--quick`` takes a few questions of each
row; the full run takes hours. Rows that read public networks need the folder in SUGENET_ZOO and say so
where it is not set.
"""

import argparse
import importlib
import json
import pkgutil
import time
from typing import Any

import benchmarks.frontier
from benchmarks._measure import Watch, machine

_NOT_ROWS = {"__main__", "row"}


def rows() -> list[str]:
    """Names of all rows: every public module of this folder."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.frontier.__path__))
    return [name for name in names if name not in _NOT_ROWS and not name.startswith("_")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few questions of each row")
    parser.add_argument("--only", nargs="+", choices=rows(), default=rows(), help="these rows alone")
    chosen = parser.parse_args()
    print(machine())
    figures: dict[str, Any] = {}
    for name in chosen.only:
        watch, start = Watch(), time.perf_counter()
        row = importlib.import_module(f"benchmarks.frontier.{name}").run(chosen.quick)
        seconds = time.perf_counter() - start
        print(f"\n{row.work}")
        print(f"  began with  {row.before}{' (same run)' if row.same_run else ''}")
        print(f"  now         {row.now}")
        print(
            f"  took        {seconds:.1f} s; other programs {watch.others():.0%} of the machine", flush=True
        )
        figures |= row.figures
    print(f"RESULT {json.dumps(figures)}")


if __name__ == "__main__":
    main()
