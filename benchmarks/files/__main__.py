"""Every kind of file, written with its own tool and read back; or refused with a way.

Run: python -m benchmarks.files [--quick] [--only keras finn ...]

Each module of this folder has a function ``kinds()``. Where a kind is read, all scores of some hundred
samples are compared with those of the tool that wrote it.
"""

import argparse
import importlib
import json
import pkgutil
import tempfile
from pathlib import Path
from typing import Any

import benchmarks.files
from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped

_NOT_FAMILIES = {"__main__", "kind"}


def families() -> list[str]:
    """Names of all families: every public module of this folder."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.files.__path__))
    return [name for name in names if name not in _NOT_FAMILIES and not name.startswith("_")]


def attempt(kind: Kind) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return kind.attempt(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the same kinds, shorter timings")
    parser.add_argument("--only", nargs="+", choices=families(), default=families())
    chosen = parser.parse_args()
    read = refused = wrong = skipped = 0
    figures: dict[str, Any] = {}
    for family in chosen.only:
        module = importlib.import_module(f"benchmarks.files.{family}")
        for kind in module.kinds():
            outcome = attempt(kind)
            match outcome:
                case Read(samples, different):
                    read += different == 0
                    wrong += different > 0
                    said = f"read, {samples} samples, {different} different"
                case Refused(way):
                    refused += 1
                    said = f"refused: {way}"
                case Skipped(why):
                    skipped += 1
                    said = f"skipped: {why}"
            print(f"{family:12} {kind.name:48} {kind.tool:18} {said}", flush=True)
        if hasattr(module, "timed"):
            figures |= module.timed(chosen.quick)
    counted = {"kinds_read": read, "kinds_refused_with_a_way": refused, "wrong": wrong, "skipped": skipped}
    print(f"RESULT {json.dumps(counted | figures)}")


if __name__ == "__main__":
    main()
